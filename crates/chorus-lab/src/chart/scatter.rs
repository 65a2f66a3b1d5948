//! A point per workload, where its marker and its bar put it, with its name beside it.

use super::axis::{Frame, Scale};
use super::legend::{Legend, text_width};
use super::palette::draw_mark;
use super::{Drawing, LEFT, RIGHT};
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
    let names: Vec<String> = figure.series.iter().enumerate().map(|(index, _)| name(figure, index)).collect();
    let legend = Legend::new(names.iter().map(String::as_str).collect(), SAMPLE_WIDTH, WIDTH - LEFT - RIGHT);
    let top = 26.0 + legend.height();
    let values = figure.workloads.iter().flat_map(|group| &group.bars).filter_map(Bar::value);
    let scale = Scale::up_to(values.fold(if figure.is_relative { 1.0 } else { 0.0 }, f64::max) * 1.08);
    let places = figure.markers.iter().flat_map(|markers| &markers.at).flatten();
    let across = Scale::up_to(places.copied().fold(0.0, f64::max) * 1.02);
    let bottom = top + PLOT_HEIGHT;
    let frame = Frame { left: LEFT, right: WIDTH - RIGHT, top, bottom, scale, has_unity: figure.is_relative };

    let mut svg = Svg::default();
    frame.draw(&mut svg, &figure.axis);
    frame.draw_across(&mut svg, across, figure.swept.as_deref().unwrap_or_default());
    frame.draw_base(&mut svg);
    let mut written: Vec<Name> = Vec::new();
    for (series, place, value, workload) in points(figure) {
        let centre = (frame.x(across, place), frame.y(value));
        svg.open_titled(&format!("{workload}, {}: {place:.4}, {value:.4}", figure.series[series].label));
        draw_mark(&mut svg, series, centre);
        svg.close();
        let name = Name::beside(centre, workload, &frame, &written);
        svg.text("small value", (name.left, name.y + 3.5), Anchor::START, workload);
        written.push(name);
    }
    legend.draw(&mut svg, LEFT, |svg, index, (x, y)| draw_mark(svg, index, (x + SAMPLE_WIDTH / 2.0, y + 6.0)));
    Drawing { markup: svg.finish(&figure.title, WIDTH, bottom + 48.0), is_wide: true }
}

/// A series with how its points go with their places.
fn name(figure: &FigureData, index: usize) -> String {
    let label = &figure.series[index].label;
    match figure.correlations.get(index).copied().flatten() {
        Some(coefficient) => format!("{label}: correlation {coefficient:.2}"),
        None => label.clone(),
    }
}

/// Every point: its series, its place, its value and its workload.
fn points(figure: &FigureData) -> Vec<(usize, f64, f64, &str)> {
    let mut points = Vec::new();
    let places = figure.markers.iter().flat_map(|markers| &markers.at);
    for (group, place) in figure.workloads.iter().zip(places) {
        for (series, bar) in group.bars.iter().enumerate() {
            points.extend(place.zip(bar.value()).map(|(place, value)| (series, place, value, group.label.as_str())));
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
