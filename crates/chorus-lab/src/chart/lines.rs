//! A line per workload over what is swept, with an arrow on each where its marker is; or a line of means per protocol.
//!
//! The points of a sweep stand at equal distances, whatever their values: sweeps double from point to point. A marker
//! between two points stands where its value lies between theirs on a logarithmic scale.

use super::axis::{Frame, Scale};
use super::legend::{SAMPLE_HEIGHT, Shows, legend};
use super::palette::{draw_mark, line_colour};
use super::stated::{STATED, draw_range, draw_stated, names_of_marks, stated_in, title_of};
use super::{Drawing, LEFT, RIGHT, TOP, data_bar, with_legend};
use crate::figure::{Bar, FigureData, Group, SeriesData};
use crate::interval::Interval;
use crate::svg::{Anchor, Svg};

const WIDTH: f64 = 700.0;
const PLOT_HEIGHT: f64 = 300.0;
const SAMPLE_WIDTH: f64 = 26.0;
/// The distance of the outermost points from the sides of the plot.
const MARGIN: f64 = 34.0;
const ARROW_HEIGHT: f64 = 26.0;

/// Draws a figure of lines.
pub(super) fn draw(figure: &FigureData) -> Drawing {
    let (lines, coloured) = lines_of(figure);
    let frame = Frame {
        left: LEFT,
        right: WIDTH - RIGHT,
        top: TOP,
        bottom: TOP + PLOT_HEIGHT,
        scale: scale(figure, &lines),
        has_unity: figure.is_relative,
    };
    let plot = Plot { frame, figure, points: figure.points(), coloured };

    let mut svg = Svg::default();
    frame.open(&mut svg);
    frame.draw(&mut svg, &figure.axis);
    for (index, series) in plot.points.iter().enumerate() {
        let x = plot.x(index as f64);
        svg.line("axis", (x, frame.bottom), (x, frame.bottom + 4.0));
        svg.text("", (x, frame.bottom + 18.0), Anchor::MIDDLE, &series.label);
    }
    let centre = (frame.left + frame.right) / 2.0;
    svg.text("", (centre, frame.bottom + 38.0), Anchor::MIDDLE, figure.swept.as_deref().unwrap_or_default());
    for (index, line) in lines.iter().enumerate() {
        svg.open("line-of values", &format!(r#" data-line="{index}""#));
        plot.draw_line(&mut svg, index, line);
        if index < coloured {
            plot.draw_marker(&mut svg, index, line);
        }
        svg.close();
    }
    plot.draw_stated(&mut svg);
    frame.draw_base(&mut svg);
    svg.close();
    let chart = svg.finish(&figure.title, WIDTH, frame.bottom + 48.0);
    with_legend(&legend_of(figure, &lines, coloured), &chart, true)
}

/// The legend: the lines, the arrows on them, and the paper's numbers where there are any.
fn legend_of(figure: &FigureData, lines: &[Group], coloured: usize) -> String {
    let mut names: Vec<(&str, Shows)> =
        lines.iter().enumerate().map(|(index, line)| (line.label.as_str(), Shows::Line(index))).collect();
    names.extend(figure.markers.as_ref().map(|markers| (markers.label.as_str(), Shows::Marks)));
    names.extend(names_of_marks(figure));
    let centre = (SAMPLE_WIDTH / 2.0, SAMPLE_HEIGHT / 2.0);
    legend(&names, SAMPLE_WIDTH, |svg, shows| match shows {
        Shows::Stated | Shows::Implied => draw_stated(svg, STATED, shows == Shows::Implied, centre),
        Shows::Line(index) => {
            stroke(svg, index, coloured, &[(0.0, centre.1), (SAMPLE_WIDTH, centre.1)]);
            if index < coloured {
                draw_mark(svg, index, centre);
            }
        }
        Shows::Series(_) | Shows::Part(_) | Shows::Marks => draw_arrow(svg, "var(--ink)", (centre.0, 13.0), 13.0),
    })
}

/// The lines, and how many of them are coloured; the others are dashed means.
fn lines_of(figure: &FigureData) -> (Vec<Group>, usize) {
    let of_means = figure.lines_of_means();
    if !of_means.is_empty() {
        let count = of_means.len();
        return (of_means, count);
    }
    let (workloads, means) = figure.shown();
    (workloads.iter().chain(means).cloned().collect(), workloads.len())
}

/// An axis around all points, and around the baseline.
fn scale(figure: &FigureData, lines: &[Group]) -> Scale {
    let baseline = figure.is_relative.then_some(1.0);
    let stated = || stated_in(figure).map(|stated| stated.value);
    let ranges = || lines.iter().flat_map(|line| &line.intervals).flatten().flat_map(|it| [it.low.max(0.0), it.high]);
    let points = || lines.iter().flat_map(|line| &line.bars).filter_map(Bar::value);
    let values = || points().chain(ranges()).chain(baseline).chain(stated());
    let (lowest, highest) = (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
    let (lowest, highest) = if lowest <= highest { (lowest, highest) } else { (0.0, 1.0) };
    let room = (highest - lowest).max(0.1) * 0.12;
    Scale::between((lowest - room).max(0.0), highest + room)
}

struct Plot<'a> {
    frame: Frame,
    figure: &'a FigureData,
    /// The points of every line.
    points: Vec<&'a SeriesData>,
    /// How many lines are coloured.
    coloured: usize,
}

impl Plot<'_> {
    /// The place of a point, or of what lies between two.
    fn x(&self, index: f64) -> f64 {
        let steps = self.points.len().saturating_sub(1).max(1) as f64;
        let (left, right) = (self.frame.left + MARGIN, self.frame.right - MARGIN);
        left + index / steps * (right - left)
    }

    fn draw_line(&self, svg: &mut Svg, index: usize, line: &Group) {
        let point = |(index, bar): (usize, &Bar)| bar.value().map(|value| (self.x(index as f64), self.frame.y(value)));
        let points: Vec<Option<(f64, f64)>> = line.bars.iter().enumerate().map(point).collect();
        // A point that is missing leaves a gap.
        for piece in points.split(Option::is_none) {
            stroke(svg, index, self.coloured, &piece.iter().flatten().copied().collect::<Vec<_>>());
        }
        for (at, ((place, bar), series)) in points.iter().zip(&line.bars).zip(&self.points).enumerate() {
            let (Some(place), Some(value)) = (place, bar.value()) else { continue };
            svg.open("bar", &self.bar_of(index, at));
            if let Some(interval) = line.interval(at) {
                let Interval { seeds, low, high, .. } = interval;
                let title =
                    format!("{}, {}: 95 % interval {low:.4} to {high:.4} over {seeds} seeds", line.label, series.label);
                draw_range(svg, &title, place.0, (self.frame.y(low.max(0.0)), self.frame.y(high)));
            }
            svg.open_titled(&format!("{}, {}: {value:.4}", line.label, series.label));
            if index < self.coloured {
                draw_mark(svg, index, *place);
            }
            svg.close();
            svg.close();
        }
    }

    /// The group and the series of a point, for scripts. Lines of means are made of the first mean alone.
    fn bar_of(&self, line: usize, point: usize) -> String {
        let (at, lines) = (self.points[point].at, self.figure.lines_of_means());
        let Some(line_of_means) = lines.get(line) else {
            let (workloads, _) = self.figure.shown();
            return data_bar(self.figure.workloads.len() - workloads.len() + line, point);
        };
        let is_it = |series: &SeriesData| series.line.as_ref() == Some(&line_of_means.label) && series.at == at;
        let series = self.figure.series.iter().position(is_it).unwrap_or(point);
        data_bar(self.figure.workloads.len(), series)
    }

    /// Marks what the paper states for points.
    fn draw_stated(&self, svg: &mut Svg) {
        svg.open("values", "");
        for stated in stated_in(self.figure) {
            let place = self.figure.series[stated.series].at;
            let Some(index) = self.points.iter().position(|point| point.at == place) else { continue };
            draw_stated(
                svg,
                &title_of(self.figure, stated),
                stated.beside.is_some(),
                (self.x(index as f64), self.frame.y(stated.value)),
            );
        }
        svg.close();
    }

    /// An arrow down to the line of a workload.
    fn draw_marker(&self, svg: &mut Svg, index: usize, line: &Group) {
        let Some(markers) = &self.figure.markers else { return };
        let Some(at) = markers.at.get(index).copied().flatten() else { return };
        let places: Vec<f64> = self.points.iter().filter_map(|series| series.at).collect();
        let place = position(&places, at);
        let height = |index: usize| line.bars.get(index).and_then(Bar::value);
        let (before, after) = (place.floor() as usize, place.ceil() as usize);
        let (Some(low), Some(high)) = (height(before), height(after)) else { return };
        let y = self.frame.y(low + (high - low) * place.fract());
        svg.open_titled(&format!("{}, {}: {at:.0}", line.label, markers.label));
        draw_arrow(svg, line_colour(index), (self.x(place), y - 6.0), ARROW_HEIGHT);
        svg.close();
    }
}

/// The stroke of a line: one of so many coloured ones, or dashed.
fn stroke(svg: &mut Svg, index: usize, coloured: usize, points: &[(f64, f64)]) {
    if index < coloured {
        svg.polyline("line", points, &format!(r#" stroke="{}""#, line_colour(index)));
    } else {
        svg.polyline("line mean", points, "");
    }
}

/// An arrow from above to its tip.
fn draw_arrow(svg: &mut Svg, colour: &str, (x, y): (f64, f64), height: f64) {
    let shaft = height - 8.0;
    svg.raw(&format!(
        r#"<path class="arrow" style="fill:{colour}" d="M{x:.1} {y:.1}l-5.5-9h4v-{shaft:.1}h3v{shaft:.1}h4z"/>"#
    ));
}

/// Where a value lies among the points of a sweep, counted from the first; outside of them, at the nearest.
fn position(points: &[f64], value: f64) -> f64 {
    let after = points.iter().position(|&point| point > value);
    match after {
        Some(0) => 0.0,
        None => points.len().saturating_sub(1) as f64,
        Some(after) => {
            let (low, high) = (points[after - 1], points[after]);
            // Nothing but zero lies infinitely far to the left.
            let share = if low > 0.0 { (value / low).ln() / (high / low).ln() } else { (value - low) / (high - low) };
            (after - 1) as f64 + share
        }
    }
}

#[cfg(test)]
mod tests {
    use super::position;

    #[test]
    fn a_value_lies_between_points_as_on_a_logarithmic_scale() {
        let points = [0.0, 400.0, 1600.0, 6400.0];
        for (value, expected) in [(0.0, 0.0), (200.0, 0.5), (400.0, 1.0), (800.0, 1.5), (3200.0, 2.5), (6400.0, 3.0)] {
            assert!((position(&points, value) - expected).abs() < 1e-12, "{value}: {}", position(&points, value));
        }
        assert_eq!(position(&points, 100_000.0), 3.0);
        assert_eq!(position(&[400.0, 800.0], 100.0), 0.0);
    }
}
