//! Figures drawn as inline SVG: grouped bars, plain or stacked, lines over what is swept, and points.
//!
//! Colours are those of Okabe and Ito, which stay apart for colour-blind readers. Each has a hatching or a mark of its
//! own, so that they stay apart in greyscale, too. Every bar carries its value, and every bar and point its exact value
//! as a tooltip. Inks come from the page's style sheet ([`STYLE`]), which knows dark mode and print.

mod axis;
mod bars;
mod legend;
mod lines;
mod palette;
mod scatter;
mod stated;

use std::collections::BTreeSet;

use crate::experiment::Chart;
use crate::figure::FigureData;

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
.chart .line{fill:none;stroke-width:2;stroke-linejoin:round}
.chart .mean{stroke:var(--ink);stroke-dasharray:7 4}
.chart .mark{stroke:var(--paper);stroke-width:1}
.chart .stated{fill:var(--paper);stroke:var(--ink);stroke-width:1.6}
.chart .range{stroke:var(--ink);stroke-width:1.2}
.chart .arrow{stroke:var(--paper);stroke-width:1;paint-order:stroke}
";

const LEFT: f64 = 52.0;
const RIGHT: f64 = 12.0;
const PLOT_HEIGHT: f64 = 220.0;
/// A wider chart takes the whole width of the page.
const WIDTH_WIDE: f64 = 520.0;

/// A figure drawn as SVG, for the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drawing {
    /// The SVG element of the chart.
    pub markup: String,
    /// Whether it needs the whole width of a page.
    pub is_wide: bool,
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
