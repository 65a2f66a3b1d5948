//! The marks for the paper's own numbers, and for the intervals over the seeds.

use crate::figure::FigureData;
use crate::stated::Stated;
use crate::svg::Svg;

/// The name of the mark in legends.
pub(super) const STATED: &str = "the paper's number";

/// Half the width of the ends of a range.
const END_WIDTH: f64 = 3.0;

/// The paper's numbers for bars and points that are drawn.
pub(super) fn stated_in(figure: &FigureData) -> impl Iterator<Item = &Stated> {
    let (workloads, means) = figure.shown();
    let (first, count) = (figure.workloads.len() - workloads.len(), workloads.len() + means.len());
    figure.stated.iter().filter(move |stated| (first..first + count).contains(&stated.group))
}

/// Marks a number of the paper.
pub(super) fn draw_stated(svg: &mut Svg, title: &str, (x, y): (f64, f64)) {
    svg.open_titled(title);
    svg.raw(&format!(r#"<path class="stated" d="M{x:.1} {y:.1}m0-5l5 5l-5 5l-5-5z"/>"#));
    svg.close();
}

/// Marks the interval over the seeds.
pub(super) fn draw_range(svg: &mut Svg, title: &str, x: f64, (lowest, highest): (f64, f64)) {
    svg.open_titled(title);
    svg.line("range", (x, lowest), (x, highest));
    for y in [lowest, highest] {
        svg.line("range", (x - END_WIDTH, y), (x + END_WIDTH, y));
    }
    svg.close();
}

/// The text that appears over a number of the paper.
pub(super) fn title_of(figure: &FigureData, stated: &Stated) -> String {
    let group = figure.workloads.iter().chain(&figure.means).nth(stated.group);
    let group = group.map_or("", |group| group.label.as_str());
    format!("{group}, {}: {} in the paper ({})", figure.series[stated.series].full_label(), stated.value, stated.claim)
}
