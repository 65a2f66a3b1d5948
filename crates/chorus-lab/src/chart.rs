//! Figures drawn as inline SVG: grouped bars, plain or stacked.
//!
//! Colours are those of Okabe and Ito, which stay apart for colour-blind readers; each has a hatching of its own on top, so that
//! they stay apart in greyscale too. Every bar carries its value, and its exact value as a tooltip. Inks come from the page's
//! style sheet ([`STYLE`]), which knows dark mode and print.

use std::collections::BTreeSet;

use crate::figure::{Bar, FigureData, Group};
use crate::svg::{Anchor, Svg};

/// The part of the style sheet that charts need.
pub const STYLE: &str = "
.chart{display:block;width:100%;height:auto;font-family:inherit}
.chart text{fill:var(--ink);font-size:12px}
.chart .small{font-size:10.5px}
.chart .value{font-size:10.5px;paint-order:stroke;stroke:var(--paper);stroke-width:3px;stroke-linejoin:round}
.chart .missing{fill:var(--soft);font-size:10.5px;font-style:italic}
.chart .strong{font-weight:600}
.chart .axis{stroke:var(--ink);stroke-width:1}
.chart .grid{stroke:var(--rule);stroke-width:1}
.chart .unity{stroke:var(--ink);stroke-width:1;stroke-dasharray:4 3;opacity:.6}
.chart .edge{fill:none;stroke:var(--ink);stroke-width:.8}
.chart .hatch{stroke:#000;stroke-width:1.4;stroke-opacity:.55;fill:none}
.chart .dot{fill:#000;fill-opacity:.6}
";

/// Fills, in order of use.
const COLOURS: [&str; 8] = ["#56b4e9", "#e69f00", "#009e73", "#f0e442", "#0072b2", "#d55e00", "#cc79a7", "#bbbbbb"];

/// The hatching on top of each colour, as the content of an 8 by 8 pattern; the first has none.
const HATCHINGS: [&str; 8] = [
    "",
    r#"<path class="hatch" d="M-2 2L2-2M0 8L8 0M6 10L10 6"/>"#,
    r#"<circle class="dot" cx="2" cy="2" r="1.2"/><circle class="dot" cx="6" cy="6" r="1.2"/>"#,
    r#"<path class="hatch" d="M0 4H8"/>"#,
    r#"<path class="hatch" d="M-2 6L2 10M0 0L8 8M6-2L10 2"/>"#,
    r#"<path class="hatch" d="M4 0V8"/>"#,
    r#"<path class="hatch" d="M0 4H8M4 0V8"/>"#,
    r#"<path class="hatch" d="M0 0L8 8M8 0L0 8"/>"#,
];

const LEFT: f64 = 52.0;
const RIGHT: f64 = 12.0;
const PLOT_HEIGHT: f64 = 220.0;
/// The width of a bar with its margin, where there is room.
const BAR_WIDTH_MAX: f64 = 34.0;
/// The least width of a bar; a chart with more bars grows instead.
const BAR_WIDTH_MIN: f64 = 15.0;
/// Narrower bars carry their values turned.
const UPRIGHT_WIDTH: f64 = 27.0;
/// The width that bars share before the chart grows.
const BARS_WIDTH: f64 = 860.0;
const GROUP_GAP: f64 = 26.0;
const LEGEND_LINE: f64 = 20.0;
const WIDTH_MIN: f64 = 430.0;
/// A wider chart takes the whole width of the page.
const WIDTH_WIDE: f64 = 520.0;
/// The mean width of a character at the size of the legend.
const CHAR_WIDTH: f64 = 7.2;
/// The spacing of axis ticks that is aimed at.
const TICKS: f64 = 5.0;

/// A drawn figure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drawing {
    /// The SVG element.
    pub markup: String,
    /// Whether it needs the whole width of a page.
    pub is_wide: bool,
}

/// Draws a figure. `prefix` makes its pattern names unique on a page; `fills` are the fills of its series.
pub fn draw(figure: &FigureData, prefix: &str, fills: &[usize]) -> Drawing {
    let groups: Vec<&Group> = figure.shown().collect();
    let legend: Vec<(&str, usize)> = if figure.parts.is_empty() {
        figure.series.iter().map(|series| series.label.as_str()).zip(fills.iter().copied()).collect()
    } else {
        figure.parts.iter().map(String::as_str).zip(0..).collect()
    };
    let bars = (groups.len() * figure.series.len()).max(1) as f64;
    let gaps = groups.len() as f64 * GROUP_GAP;
    let bar_width = ((BARS_WIDTH - gaps) / bars).clamp(BAR_WIDTH_MIN, BAR_WIDTH_MAX);
    let bars_width = bars * bar_width + gaps;
    let width = (LEFT + bars_width + RIGHT).max(WIDTH_MIN);
    let places = layout_legend(&legend, width - LEFT - RIGHT);
    let top = 14.0 + places.last().map_or(0.0, |last| last.1 + 1.0) * LEGEND_LINE + 12.0;
    let room = if bar_width < UPRIGHT_WIDTH { 1.16 } else { 1.08 };
    let plot = Plot { top, width, bar_width, scale: Scale::up_to(highest(&groups) * room), prefix, figure, fills };

    let mut svg = Svg::default();
    define_hatchings(&mut svg, prefix, &legend);
    draw_legend(&mut svg, prefix, &legend, &places);
    plot.draw_axis(&mut svg);
    // Spare width of a small chart goes to both sides of the bars.
    let mut left = LEFT + (width - LEFT - RIGHT - bars_width + GROUP_GAP) / 2.0;
    for (index, group) in groups.iter().enumerate() {
        plot.draw_group(&mut svg, group, left, std::ptr::eq(*group, &figure.mean) && index > 0);
        left += group.bars.len() as f64 * bar_width + GROUP_GAP;
    }
    plot.draw_base(&mut svg);
    Drawing { markup: svg.finish(&figure.title, width, plot.height()), is_wide: width > WIDTH_WIDE }
}

/// The fills of the series of each figure: the same for the same name on the whole page, as long as they last.
pub fn fills(figures: &[FigureData]) -> Vec<Vec<usize>> {
    let mut names: Vec<&str> = Vec::new();
    for label in figures.iter().flat_map(|figure| &figure.series).map(|series| series.label.as_str()) {
        if !names.contains(&label) {
            names.push(label);
        }
    }
    let of_page = |label: &str| names.iter().position(|name| *name == label).unwrap_or(0) % COLOURS.len();
    figures
        .iter()
        .map(|figure| {
            let fills: Vec<usize> = figure.series.iter().map(|series| of_page(&series.label)).collect();
            let distinct = fills.iter().collect::<BTreeSet<_>>().len() == fills.len();
            if distinct { fills } else { (0..fills.len()).collect() }
        })
        .collect()
}

fn highest(groups: &[&Group]) -> f64 {
    let values = groups.iter().flat_map(|group| &group.bars).filter_map(Bar::value);
    values.fold(1.0, f64::max)
}

/// A vertical axis from zero.
#[derive(Clone, Copy, Debug)]
struct Scale {
    step: f64,
    top: f64,
}

impl Scale {
    /// An axis with round ticks up to a height or little more.
    fn up_to(highest: f64) -> Scale {
        let rough = highest / TICKS;
        let power = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 2.5, 5.0, 10.0].iter().map(|factor| factor * power).find(|&step| step >= rough);
        let step = step.unwrap_or(rough);
        Scale { step, top: (highest / step).ceil() * step }
    }

    fn ticks(self) -> impl Iterator<Item = f64> {
        let count = (self.top / self.step).round() as u32;
        (0..=count).map(move |tick| f64::from(tick) * self.step)
    }
}

struct Plot<'a> {
    top: f64,
    width: f64,
    bar_width: f64,
    scale: Scale,
    prefix: &'a str,
    figure: &'a FigureData,
    fills: &'a [usize],
}

impl Plot<'_> {
    fn stacked(&self) -> bool {
        !self.figure.parts.is_empty()
    }

    fn bottom(&self) -> f64 {
        self.top + PLOT_HEIGHT
    }

    fn height(&self) -> f64 {
        self.bottom() + 26.0 + self.names_height()
    }

    /// The height that the turned names below stacked bars take.
    fn names_height(&self) -> f64 {
        let longest = self.figure.series.iter().map(|series| series.label.chars().count()).max().unwrap_or(0);
        if self.stacked() { longest as f64 * CHAR_WIDTH * 0.65 + 14.0 } else { 0.0 }
    }

    fn y(&self, value: f64) -> f64 {
        self.bottom() - value / self.scale.top * PLOT_HEIGHT
    }

    fn draw_axis(&self, svg: &mut Svg) {
        for tick in self.scale.ticks() {
            let y = self.y(tick);
            svg.line("grid", (LEFT, y), (self.width - RIGHT, y));
            svg.text("small", (LEFT - 6.0, y + 4.0), Anchor::END, &tick_label(tick, self.scale.step));
        }
        let turned = Anchor { side: "middle", turn_degrees: -90 };
        svg.text("", (13.0, self.top + PLOT_HEIGHT / 2.0), turned, &self.figure.axis);
        svg.line("unity", (LEFT, self.y(1.0)), (self.width - RIGHT, self.y(1.0)));
    }

    fn draw_base(&self, svg: &mut Svg) {
        svg.line("axis", (LEFT, self.bottom()), (self.width - RIGHT, self.bottom()));
    }

    fn draw_group(&self, svg: &mut Svg, group: &Group, left: f64, is_mean: bool) {
        let width = self.figure.series.len() as f64 * self.bar_width;
        if is_mean {
            let x = left - GROUP_GAP / 2.0;
            svg.line("grid", (x, self.top), (x, self.bottom()));
        }
        for (index, (bar, series)) in group.bars.iter().zip(&self.figure.series).enumerate() {
            let x = left + index as f64 * self.bar_width;
            let centre = x + self.bar_width / 2.0;
            match bar {
                Bar::Parts(parts) => {
                    self.draw_bar(svg, parts, (x, index), &format!("{}, {}", group.label, series.label))
                }
                Bar::Missing(why) => {
                    let turned = Anchor { side: "start", turn_degrees: -90 };
                    svg.text("missing", (centre + 4.0, self.bottom() - 5.0), turned, why);
                }
            }
            if self.stacked() {
                let turned = Anchor { side: "end", turn_degrees: -45 };
                svg.text("small", (centre + 4.0, self.bottom() + 13.0), turned, &series.label);
            }
        }
        let class = if is_mean { "strong" } else { "" };
        svg.text(class, (left + width / 2.0, self.height() - 8.0), Anchor::MIDDLE, &group.label);
    }

    fn draw_bar(&self, svg: &mut Svg, parts: &[f64], (x, index): (f64, usize), name: &str) {
        let total: f64 = parts.iter().sum();
        let margin = self.bar_width * 0.09;
        let (x, width) = (x + margin, self.bar_width - 2.0 * margin);
        let mut below = 0.0;
        for (part, &value) in parts.iter().enumerate() {
            let (fill, title) = match self.figure.parts.get(part) {
                Some(label) => (part, format!("{name}, {label}: {value:.4} of {total:.4}")),
                None => (self.fills.get(index).copied().unwrap_or(index), format!("{name}: {value:.4}")),
            };
            let corner = (x, self.y(below + value));
            let size = (width, self.y(below) - self.y(below + value));
            svg.open_titled(&title);
            fill_rect(svg, self.prefix, fill, corner, size);
            svg.close();
            below += value;
        }
        let (centre, above) = (x + width / 2.0, self.y(total) - 4.0);
        if self.bar_width < UPRIGHT_WIDTH {
            let turned = Anchor { side: "start", turn_degrees: -90 };
            svg.text("value", (centre + 4.0, above), turned, &short(total));
        } else {
            svg.text("value", (centre, above), Anchor::MIDDLE, &short(total));
        }
    }
}

/// A rectangle in a colour with its hatching and an edge.
fn fill_rect(svg: &mut Svg, prefix: &str, fill: usize, corner: (f64, f64), size: (f64, f64)) {
    let fill = fill % COLOURS.len();
    svg.rect("", corner, size, &format!(r#" fill="{}""#, COLOURS[fill]));
    if !HATCHINGS[fill].is_empty() {
        svg.rect("", corner, size, &format!(r#" fill="url(#{prefix}-{fill})""#));
    }
    svg.rect("edge", corner, size, "");
}

fn define_hatchings(svg: &mut Svg, prefix: &str, legend: &[(&str, usize)]) {
    let used: BTreeSet<usize> = legend.iter().map(|(_, fill)| fill % HATCHINGS.len()).collect();
    svg.raw("<defs>");
    for index in used.into_iter().filter(|&index| !HATCHINGS[index].is_empty()) {
        let hatching = HATCHINGS[index];
        svg.raw(&format!(
            r#"<pattern id="{prefix}-{index}" width="8" height="8" patternUnits="userSpaceOnUse">{hatching}</pattern>"#
        ));
    }
    svg.raw("</defs>");
}

/// The horizontal offset and the row of each name of a legend.
fn layout_legend(legend: &[(&str, usize)], width: f64) -> Vec<(f64, f64)> {
    let (mut x, mut row) = (0.0, 0.0);
    legend
        .iter()
        .map(|(name, _)| {
            let entry = 22.0 + name.chars().count() as f64 * CHAR_WIDTH + 14.0;
            if x > 0.0 && x + entry > width {
                x = 0.0;
                row += 1.0;
            }
            let at = (x, row);
            x += entry;
            at
        })
        .collect()
}

fn draw_legend(svg: &mut Svg, prefix: &str, legend: &[(&str, usize)], places: &[(f64, f64)]) {
    for (&(name, fill), (x, row)) in legend.iter().zip(places) {
        let y = 8.0 + row * LEGEND_LINE;
        fill_rect(svg, prefix, fill, (LEFT + x, y), (14.0, 12.0));
        svg.text("", (LEFT + x + 20.0, y + 10.5), Anchor::START, name);
    }
}

/// A value above a bar.
fn short(value: f64) -> String {
    match value {
        ..10.0 => format!("{value:.2}"),
        10.0..100.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

/// A tick with as many decimals as the step needs.
fn tick_label(tick: f64, step: f64) -> String {
    let decimals = (0..4).find(|&decimals| {
        let scaled = step * 10f64.powi(decimals);
        (scaled - scaled.round()).abs() < 1e-9
    });
    format!("{tick:.*}", decimals.unwrap_or(4) as usize)
}

#[cfg(test)]
mod tests {
    use super::{Scale, tick_label};

    #[test]
    fn an_axis_has_a_few_round_ticks_and_reaches_the_highest_bar() {
        for highest in [0.3, 1.0, 1.88, 4.0, 9.99, 37.0, 1234.0] {
            let scale = Scale::up_to(highest);
            assert!(scale.top >= highest, "{highest}: {scale:?}");
            assert!((3..=7).contains(&scale.ticks().count()), "{highest}: {scale:?}");
        }
    }

    #[test]
    fn ticks_have_the_decimals_of_their_step() {
        assert_eq!(tick_label(0.5, 0.25), "0.50");
        assert_eq!(tick_label(2.0, 0.5), "2.0");
        assert_eq!(tick_label(10.0, 5.0), "10");
    }
}
