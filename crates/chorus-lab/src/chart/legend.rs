//! Legends: names with their samples, as a list above a plot.
//!
//! The list is HTML, so that it wraps on a narrow screen. A script makes buttons of those names that can be hidden.

use std::fmt::Write as _;

use crate::html::escape;
use crate::svg::Svg;

/// The mean width of a character.
const CHAR_WIDTH: f64 = 7.2;

/// The height of a sample.
pub(super) const SAMPLE_HEIGHT: f64 = 14.0;

/// The parts of a chart that a name in its legend stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shows {
    /// Bars or points of one series.
    Series(usize),
    /// One part of every stacked bar.
    Part(usize),
    /// A line with its points.
    Line(usize),
    /// The paper's own numbers.
    Stated,
    /// Numbers that the paper gives as multiples of other bars.
    Implied,
    /// Marks that are always shown.
    Marks,
}

impl Shows {
    fn attribute(self) -> String {
        match self {
            Shows::Series(index) => format!(" data-shows=\"series {index}\""),
            Shows::Part(index) => format!(" data-shows=\"part {index}\""),
            Shows::Line(index) => format!(" data-shows=\"line {index}\""),
            Shows::Stated => " data-shows=\"stated\"".to_owned(),
            Shows::Implied => " data-shows=\"implied\"".to_owned(),
            Shows::Marks => String::new(),
        }
    }
}

/// Draws the names, each behind a sample of a width; `sample` draws what stands before each.
pub(super) fn legend(names: &[(&str, Shows)], width: f64, sample: impl Fn(&mut Svg, Shows)) -> String {
    let mut out = String::from("<ul class=\"names\">");
    for &(name, shows) in names {
        let mut svg = Svg::default();
        sample(&mut svg, shows);
        let (attribute, sample) = (shows.attribute(), svg.finish_sample(width, SAMPLE_HEIGHT));
        let _ = write!(out, "<li{attribute}>{sample}<span>{}</span></li>", escape(name));
    }
    out.push_str("</ul>\n");
    out
}

/// The width of a text at the size of the legend, about.
pub(super) fn text_width(text: &str) -> f64 {
    text.chars().count() as f64 * CHAR_WIDTH
}
