//! The figures of a page: charts, each with its data as a table below.

use std::fmt::Write as _;

use super::{Report, data};
use crate::chart;
use crate::figure::FigureData;
use crate::html::{details, escape};

impl Report<'_> {
    /// The headline figure and what belongs to it stand before the claims, the others after them.
    pub(super) fn figures_section(&self, headline: bool) -> String {
        let chosen =
            |id: &str| self.experiment.figures.iter().any(|figure| *figure.id == *id && figure.is_of_headline());
        let fills = chart::fills(self.figures);
        let figures: Vec<String> = self
            .figures
            .iter()
            .zip(&fills)
            .enumerate()
            .filter(|(_, (figure, _))| chosen(&figure.id) == headline)
            .map(|(index, (figure, fills))| figure_block(figure, &format!("f{index}"), fills))
            .collect();
        match (figures.is_empty(), headline) {
            (true, _) => String::new(),
            (false, true) => format!("<div class=\"figures\">\n{}</div>\n", figures.concat()),
            (false, false) => {
                format!("<h2 id=\"figures\">Figures</h2>\n<div class=\"figures\">\n{}</div>\n", figures.concat())
            }
        }
    }
}

/// A figure as a chart with its data as a table. `prefix` makes the names in the chart unique on a page; `fills` are
/// the fills of its series.
pub fn figure_block(figure: &FigureData, prefix: &str, fills: &[usize]) -> String {
    let drawing = chart::draw(figure, prefix, fills);
    let mut out = format!(
        "<div class=\"{}\">\n<h3 id=\"figure-{}\">{}</h3>\n<figure>\n{}<figcaption>{}</figcaption>\n\
         </figure>\n",
        if drawing.is_wide { "block wide" } else { "block" },
        escape(&figure.id),
        escape(&figure.title),
        drawing.markup,
        escape(&figure.caption)
    );
    for note in &figure.notes {
        let _ = writeln!(out, "<p class=\"bad\">{}</p>", escape(note));
    }
    out.push_str(&details("Data", &data::table_of(figure)));
    out.push_str("</div>\n");
    out
}
