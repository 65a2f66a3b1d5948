//! A point per workload, where its marker and its bar put it, with its name beside it.

use super::axis::{Frame, Scale};
use super::legend::{Shows, legend, text_width};
use super::palette::draw_mark;
use super::{Drawing, LEFT, RIGHT, TOP, data_bar, with_legend};
use crate::figure::{Bar, FigureData};
use crate::svg::{Anchor, Svg};

const WIDTH: f64 = 700.0;
const PLOT_HEIGHT: f64 = 320.0;
const SAMPLE_WIDTH: f64 = 14.0;
/// Names are no nearer to each other than this.
const NAME_HEIGHT: f64 = 11.0;
/// Names of points are written smaller than those of legends.
const NAME_SIZE: f64 = 0.82;

/// Draws a figure of points.
pub(super) fn draw(figure: &FigureData) -> Drawing {
    let values = figure.workloads.iter().flat_map(|group| &group.bars).filter_map(Bar::value);
    let scale = Scale::up_to(values.fold(if figure.is_relative { 1.0 } else { 0.0 }, f64::max) * 1.08);
    let places = figure.markers.iter().flat_map(|markers| &markers.at).flatten();
    let across = Scale::up_to(places.copied().fold(0.0, f64::max) * 1.02);
    let bottom = TOP + PLOT_HEIGHT;
    let frame = Frame { left: LEFT, right: WIDTH - RIGHT, top: TOP, bottom, scale, has_unity: figure.is_relative };

    let mut svg = Svg::default();
    frame.open(&mut svg);
    frame.draw(&mut svg, &figure.axis);
    frame.draw_across(&mut svg, across, figure.swept.as_deref().unwrap_or_default());
    frame.draw_base(&mut svg);
    let mut written: Vec<Name> = Vec::new();
    for (group, series, place, value) in points(figure) {
        let workload = figure.workloads[group].label.as_str();
        let centre = (frame.x(across, place), frame.y(value));
        svg.open("bar values", &data_bar(group, series));
        svg.open_titled(&format!("{workload}, {}: {place:.4}, {value:.4}", figure.series[series].label));
        draw_mark(&mut svg, series, centre);
        svg.close();
        let name = Name::beside(centre, workload, &frame, &written);
        svg.text("small value", (name.left, name.y + 3.5), Anchor::START, workload);
        svg.close();
        written.push(name);
    }
    svg.close();
    with_legend(&legend_of(figure), &svg.finish(&figure.title, WIDTH, bottom + 48.0), true)
}

fn legend_of(figure: &FigureData) -> String {
    let names: Vec<String> = (0..figure.series.len()).map(|index| name(figure, index)).collect();
    let names: Vec<(&str, Shows)> = names.iter().map(String::as_str).zip((0..).map(Shows::Series)).collect();
    legend(&names, SAMPLE_WIDTH, |svg, shows| {
        if let Shows::Series(index) = shows {
            draw_mark(svg, index, (SAMPLE_WIDTH / 2.0, 7.0));
        }
    })
}

/// A series with how its points go with their places.
fn name(figure: &FigureData, index: usize) -> String {
    let label = &figure.series[index].label;
    match figure.correlations.get(index).copied().flatten() {
        Some(coefficient) => format!("{label}: correlation {coefficient:.2}"),
        None => label.clone(),
    }
}

/// Every point: its workload, its series, its place and its value.
fn points(figure: &FigureData) -> Vec<(usize, usize, f64, f64)> {
    let mut points = Vec::new();
    let places = figure.markers.iter().flat_map(|markers| &markers.at);
    for (at, (group, place)) in figure.workloads.iter().zip(places).enumerate() {
        for (series, bar) in group.bars.iter().enumerate() {
            points.extend(place.zip(bar.value()).map(|(place, value)| (at, series, place, value)));
        }
    }
    points
}

/// Where a name stands.
#[derive(Clone, Copy, Debug)]
struct Name {
    left: f64,
    right: f64,
    y: f64,
}

impl Name {
    /// The nearest free place to the right or to the left of a point.
    fn beside((x, y): (f64, f64), text: &str, frame: &Frame, written: &[Name]) -> Name {
        let width = text_width(text) * NAME_SIZE;
        let at = |step: i32, to_right: bool| {
            let left = if to_right { x + 8.0 } else { x - 8.0 - width };
            Name { left, right: left + width, y: y + f64::from(step) * NAME_HEIGHT }
        };
        let places = [0, 1, -1, 2, -2, 3, -3].into_iter().flat_map(|step| [at(step, true), at(step, false)]);
        let mut within = places.filter(|name| {
            name.left > frame.left && name.right < frame.right && name.y > frame.top && name.y < frame.bottom
        });
        let fallback = at(0, true);
        within.find(|name| !written.iter().any(|other| name.meets(other))).unwrap_or(fallback)
    }

    fn meets(&self, other: &Name) -> bool {
        self.left < other.right && other.left < self.right && (self.y - other.y).abs() < NAME_HEIGHT
    }
}
