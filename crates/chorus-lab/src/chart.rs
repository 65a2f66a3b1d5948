//! Figures drawn as inline SVG: grouped bars, plain or stacked, lines over what is swept, and points.
//!
//! Colours are those of Okabe and Ito, which stay apart for colour-blind readers. Each has a hatching or a mark of its
//! own, so that they stay apart in greyscale, too. Every bar carries its value, and every bar and point its exact value
//! as a tooltip. Inks come from the page's style sheet, which knows dark mode and print.
//!
//! A drawing is complete without a script. Its groups name what they hold (`data-bar`, `data-group`, `data-frame`), so
//! that the script of a page finds the bar that a reader points at, and can hide, sort and rescale it.

mod axis;
mod bars;
mod legend;
mod lines;
mod palette;
mod scatter;
pub(crate) mod series;
mod stated;

use std::collections::BTreeSet;

use crate::experiment::Chart;
use crate::figure::FigureData;

const LEFT: f64 = 52.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 18.0;
const PLOT_HEIGHT: f64 = 220.0;
/// A wider chart takes the whole width of the page.
const WIDTH_WIDE: f64 = 520.0;

/// A figure drawn as SVG, for the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drawing {
    /// The legend and the SVG element of the chart.
    pub markup: String,
    /// Whether it needs the whole width of a page.
    pub is_wide: bool,
}

/// The chart below its legend. A chart that is wider than the screen scrolls.
fn with_legend(legend: &str, chart: &str, is_wide: bool) -> Drawing {
    let markup = format!("{legend}<div class=\"scroll\">{chart}</div>\n");
    Drawing { markup, is_wide }
}

/// The attribute by which a script knows a bar or a point: the positions of its group and its series.
fn data_bar(group: usize, series: usize) -> String {
    format!(r#" data-bar="{group}.{series}""#)
}

/// Draws a figure. `prefix` makes its pattern names unique on a page; `fills` are the fills of its series.
pub fn draw(figure: &FigureData, prefix: &str, fills: &[usize]) -> Drawing {
    match figure.chart {
        Chart::Bars | Chart::StackedBars => bars::draw(figure, prefix, fills),
        Chart::Lines => lines::draw(figure),
        Chart::Scatter => scatter::draw(figure),
    }
}

/// The fills of the series of each figure: the same for the same name on the whole page, as long as they last.
pub fn fills(figures: &[FigureData]) -> Vec<Vec<usize>> {
    let mut names: Vec<&str> = Vec::new();
    let coloured = figures.iter().filter(|figure| figure.chart == Chart::Bars);
    for label in coloured.flat_map(|figure| &figure.series).map(|series| series.label.as_str()) {
        if !names.contains(&label) {
            names.push(label);
        }
    }
    let of_page = |label: &str| names.iter().position(|name| *name == label).unwrap_or(0) % palette::COLOURS.len();
    figures
        .iter()
        .map(|figure| {
            let fills: Vec<usize> = figure.series.iter().map(|series| of_page(&series.label)).collect();
            let distinct = fills.iter().collect::<BTreeSet<_>>().len() == fills.len();
            if distinct { fills } else { (0..fills.len()).collect() }
        })
        .collect()
}
