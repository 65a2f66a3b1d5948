//! Grouped bars, plain or stacked.

use super::axis::{Frame, Scale, short};
use super::legend::{Shows, legend, text_width};
use super::palette::{define_hatchings, fill_rect};
use super::stated::{STATED, draw_range, draw_stated, names_of_marks, stated_in, title_of};
use super::{Drawing, LEFT, PLOT_HEIGHT, RIGHT, TOP, WIDTH_WIDE, data_bar, with_legend};
use crate::figure::{Bar, FigureData, Group};
use crate::interval::Interval;
use crate::stated::Stated;
use crate::svg::{Anchor, Svg};

/// The width of a bar with its margin, where there is room.
const BAR_WIDTH_MAX: f64 = 34.0;
/// The least width of a bar; a chart with more bars grows instead.
const BAR_WIDTH_MIN: f64 = 15.0;
/// Narrower bars carry their values turned.
const UPRIGHT_WIDTH: f64 = 27.0;
/// The width that bars share before the chart grows.
const BARS_WIDTH: f64 = 860.0;
/// The greatest width of bars in a row; a chart with more has several rows.
const ROW_WIDTH_MAX: f64 = 1200.0;
const ROW_GAP: f64 = 10.0;
const GROUP_GAP: f64 = 26.0;
const WIDTH_MIN: f64 = 430.0;
const SAMPLE_WIDTH: f64 = 14.0;

/// Draws a figure of bars. `prefix` makes its pattern names unique on a page; `fills` are the fills of its series.
pub(super) fn draw(figure: &FigureData, prefix: &str, fills: &[usize]) -> Drawing {
    let (workloads, means) = figure.shown();
    let groups: Vec<&Group> = workloads.iter().chain(means).collect();
    let fills: Vec<usize> = match figure.parts.len() {
        0 => fills.to_vec(),
        parts => (0..parts).collect(),
    };
    let group_width = group_width(figure, &groups);
    let in_row = groups_in_row(groups.len(), group_width);
    let bar_width = bar_width(figure, groups.len());
    let bars_width = in_row as f64 * group_width;
    let width = (LEFT + bars_width + RIGHT).max(WIDTH_MIN);
    let room = if bar_width < UPRIGHT_WIDTH { 1.16 } else { 1.08 };
    let least = if figure.is_relative { 1.0 } else { 0.0 };
    let scale = Scale::up_to(highest(figure, &groups, least) * room);
    let mut top = TOP;

    let mut svg = Svg::default();
    define_hatchings(&mut svg, prefix, fills.iter().copied());
    for (row, groups) in groups.chunks(in_row.max(1)).enumerate() {
        let bottom = top + PLOT_HEIGHT;
        let frame = Frame { left: LEFT, right: width - RIGHT, top, bottom, scale, has_unity: figure.is_relative };
        let plot = Plot { frame, bar_width, prefix, figure, fills: &fills };
        frame.open(&mut svg);
        frame.draw(&mut svg, &figure.axis);
        // Spare width of a small chart goes to both sides of the bars.
        let of_bars = figure.series.len() as f64 * bar_width;
        let mut left = LEFT + (width - LEFT - RIGHT - bars_width + group_width - of_bars) / 2.0;
        for (index, group) in (row * in_row..).zip(groups) {
            let is_first_mean = index == workloads.len() && index > 0;
            let kind = Kind { is_mean: index >= workloads.len(), is_first_mean };
            plot.draw_group(&mut svg, group, figure.workloads.len() - workloads.len() + index, left, kind);
            left += group_width;
        }
        frame.draw_base(&mut svg);
        svg.close();
        top = plot.height() + ROW_GAP;
    }
    let chart = svg.finish(&figure.title, width, top - ROW_GAP);
    with_legend(&legend_of(figure, prefix, &fills), &chart, width > WIDTH_WIDE)
}

/// The legend: the parts of stacked bars, the series of others, and the paper's numbers where there are any.
fn legend_of(figure: &FigureData, prefix: &str, fills: &[usize]) -> String {
    let series = || figure.series.iter().enumerate().map(|(index, series)| (&*series.label, Shows::Series(index)));
    let parts = figure.parts.iter().enumerate().map(|(index, part)| (part.as_str(), Shows::Part(index)));
    let mut names: Vec<(&str, Shows)> = if figure.parts.is_empty() { series().collect() } else { parts.collect() };
    names.extend(names_of_marks(figure));
    legend(&names, SAMPLE_WIDTH, |svg, shows| match shows {
        Shows::Series(index) | Shows::Part(index) => {
            fill_rect(svg, prefix, fills[index], (0.5, 1.0), (SAMPLE_WIDTH - 1.0, 12.0));
        }
        Shows::Line(_) | Shows::Stated | Shows::Implied | Shows::Marks => {
            draw_stated(svg, STATED, shows == Shows::Implied, (SAMPLE_WIDTH / 2.0, 7.0));
        }
    })
}

/// The width of a bar with its margin.
fn bar_width(figure: &FigureData, groups: usize) -> f64 {
    let shared = BARS_WIDTH / groups.max(1) as f64 - GROUP_GAP;
    (shared / figure.series.len().max(1) as f64).clamp(BAR_WIDTH_MIN, BAR_WIDTH_MAX)
}

/// The width of a group with the gap beside it: that of its bars, or of the longest name below.
fn group_width(figure: &FigureData, groups: &[&Group]) -> f64 {
    let of_bars = bar_width(figure, groups.len()) * figure.series.len().max(1) as f64;
    let longest = groups.iter().map(|group| text_width(&group.label)).fold(0.0, f64::max);
    (of_bars + GROUP_GAP).max(longest + GROUP_GAP / 2.0)
}

/// How many groups stand beside each other: all where they fit, else as many in every row.
fn groups_in_row(groups: usize, group_width: f64) -> usize {
    let rows = (groups as f64 * group_width / ROW_WIDTH_MAX).ceil().max(1.0);
    (groups as f64 / rows).ceil() as usize
}

fn highest(figure: &FigureData, groups: &[&Group], least: f64) -> f64 {
    let values = groups.iter().flat_map(|group| &group.bars).filter_map(Bar::value);
    let by_seed = groups.iter().flat_map(|group| &group.intervals).flatten().map(|interval| interval.high);
    let stated = stated_in(figure).map(|stated| stated.value);
    values.chain(by_seed).chain(stated).fold(least, f64::max)
}

/// Whether a group of bars is that of a mean, and whether it is the first of these.
#[derive(Clone, Copy, Debug)]
struct Kind {
    is_mean: bool,
    is_first_mean: bool,
}

struct Plot<'a> {
    frame: Frame,
    bar_width: f64,
    prefix: &'a str,
    figure: &'a FigureData,
    fills: &'a [usize],
}

impl Plot<'_> {
    fn stacked(&self) -> bool {
        !self.figure.parts.is_empty()
    }

    /// Where the names of groups end.
    fn height(&self) -> f64 {
        self.frame.bottom + 26.0 + self.names_height()
    }

    /// The height that the turned names below stacked bars take.
    fn names_height(&self) -> f64 {
        let longest = self.figure.series.iter().map(|series| text_width(&series.label)).fold(0.0, f64::max);
        if self.stacked() { longest * 0.65 + 14.0 } else { 0.0 }
    }

    fn draw_group(&self, svg: &mut Svg, group: &Group, at: usize, left: f64, kind: Kind) {
        let bottom = self.frame.bottom;
        let width = self.figure.series.len() as f64 * self.bar_width;
        if kind.is_first_mean {
            let x = left - GROUP_GAP / 2.0;
            svg.line("grid", (x, self.frame.top), (x, bottom));
        }
        let of = if kind.is_mean { "group of-mean" } else { "group" };
        svg.open(of, &format!(r#" data-group="{at}" data-left="{left:.1}" data-bar-width="{:.2}""#, self.bar_width));
        for (index, (bar, series)) in group.bars.iter().zip(&self.figure.series).enumerate() {
            let x = left + index as f64 * self.bar_width;
            let centre = x + self.bar_width / 2.0;
            svg.open("bar", &data_bar(at, index));
            match bar {
                Bar::Parts(parts) => {
                    self.draw_bar(svg, parts, (x, index), (group, &format!("{}, {}", group.label, series.label)))
                }
                Bar::Missing(why) => {
                    let turned = Anchor { side: "start", turn_degrees: -90 };
                    svg.text("missing", (centre + 4.0, bottom - 5.0), turned, why);
                }
            }
            if self.stacked() {
                let turned = Anchor { side: "end", turn_degrees: -45 };
                svg.text("small", (centre + 4.0, bottom + 13.0), turned, &series.label);
            }
            self.draw_stated(svg, (at, index), centre);
            svg.close();
        }
        let class = if kind.is_mean { "strong" } else { "" };
        svg.text(class, (left + width / 2.0, self.height() - 8.0), Anchor::MIDDLE, &group.label);
        svg.close();
    }

    /// Marks what the paper states for the bar at a position: its group and its series.
    fn draw_stated(&self, svg: &mut Svg, (group, series): (usize, usize), x: f64) {
        let here = |stated: &&Stated| (stated.group, stated.series) == (group, series);
        svg.open("values", "");
        for stated in stated_in(self.figure).filter(here) {
            draw_stated(svg, &title_of(self.figure, stated), stated.beside.is_some(), (x, self.frame.y(stated.value)));
        }
        svg.close();
    }

    fn draw_bar(&self, svg: &mut Svg, parts: &[f64], (x, index): (f64, usize), (group, name): (&Group, &str)) {
        let total: f64 = parts.iter().sum();
        let margin = self.bar_width * 0.09;
        let (x, width) = (x + margin, self.bar_width - 2.0 * margin);
        let y = |value| self.frame.y(value);
        let mut below = 0.0;
        svg.open("values", "");
        for (part, &value) in parts.iter().enumerate() {
            let (fill, title) = match self.figure.parts.get(part) {
                Some(label) => {
                    let error =
                        group.part_interval(index, part).map_or_else(String::new, |it| format!(" ± {:.4}", it.half()));
                    (part, format!("{name}, {label}: {value:.4}{error} of {total:.4}"))
                }
                None => (self.fills.get(index).copied().unwrap_or(index), format!("{name}: {value:.4}")),
            };
            svg.open("part", &format!(r#" data-part="{part}""#));
            svg.open_titled(&title);
            fill_rect(svg, self.prefix, fill, (x, y(below + value)), (width, y(below) - y(below + value)));
            svg.close();
            svg.close();
            below += value;
        }
        let interval = group.interval(index);
        if let (Some(Interval { seeds, mean, low, high }), Some((least, greatest))) = (interval, group.range(index)) {
            let confident = format!("mean of {seeds} seeds {mean:.4}, 95 % interval {low:.4} to {high:.4}");
            let title = format!("{name}: {least:.4} to {greatest:.4} over the seeds; {confident}");
            draw_range(svg, &title, x + width / 2.0, (y(low.max(0.0)), y(high)));
        }
        let top = interval.map_or(total, |interval| interval.high.max(total));
        let (centre, above) = (x + width / 2.0, y(top) - 4.0);
        if self.bar_width < UPRIGHT_WIDTH {
            let turned = Anchor { side: "start", turn_degrees: -90 };
            svg.text("value", (centre + 4.0, above), turned, &short(total));
        } else {
            svg.text("value", (centre, above), Anchor::MIDDLE, &short(total));
        }
        svg.close();
    }
}
