//! The marks for the paper's own numbers, and for the intervals over the seeds.

use super::legend::Shows;
use crate::figure::FigureData;
use crate::stated::Stated;
use crate::svg::Svg;

/// The name of the mark in legends.
pub(super) const STATED: &str = "the paper's number";

/// The name of the mark of a number that the paper gives as a multiple of another bar.
pub(super) const IMPLIED: &str = "by the paper's quotient with another bar";

/// Half the width of the ends of a range.
const END_WIDTH: f64 = 3.0;

/// The paper's numbers for bars and points that are drawn.
pub(super) fn stated_in(figure: &FigureData) -> impl Iterator<Item = &Stated> {
    let (workloads, means) = figure.shown();
    let (first, count) = (figure.workloads.len() - workloads.len(), workloads.len() + means.len());
    figure.stated.iter().filter(move |stated| (first..first + count).contains(&stated.group))
}

/// The names of the marks that a figure has.
pub(super) fn names_of_marks(figure: &FigureData) -> Vec<(&'static str, Shows)> {
    let has = |is_implied: bool| stated_in(figure).any(|stated| stated.beside.is_some() == is_implied);
    let marks = [(STATED, Shows::Stated, has(false)), (IMPLIED, Shows::Implied, has(true))];
    marks.into_iter().filter(|(.., is_there)| *is_there).map(|(name, shows, _)| (name, shows)).collect()
}

/// Marks a number of the paper.
pub(super) fn draw_stated(svg: &mut Svg, title: &str, is_implied: bool, (x, y): (f64, f64)) {
    let class = if is_implied { "stated implied" } else { "stated" };
    svg.open_titled(title);
    svg.raw(&format!(r#"<path class="{class}" d="M{x:.1} {y:.1}m0-5l5 5l-5 5l-5-5z"/>"#));
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
    let label = |series: usize| figure.series[series].full_label();
    match stated.beside {
        None => format!("{group}, {}: {} in the paper ({})", label(stated.series), stated.value, stated.claim),
        Some(beside) => format!(
            "{group}, {}: {:.3} by the paper's quotient with {} ({})",
            label(stated.series),
            stated.value,
            label(beside),
            stated.claim
        ),
    }
}
