//! The page that says where the time of accesses went, for one run or for several beside each other.

use std::fmt::Write as _;

use chorus_sim::observe::Purpose;

use super::Told;
use super::stack::Sum;
use super::stage::Stage;
use crate::chart;
use crate::experiment::{Chart, Show};
use crate::figure::{Bar, FigureData, Group, SeriesData};
use crate::html::{Cell, Extras, FIGURE_SCRIPTS, Narrow, contents, count, escape, page_with_scripts, table};
use crate::report::embedded::OfRuns;
use crate::report::figures::figure_block;
use crate::run::RunResult;

const TITLE: &str = "Where time goes";

/// The page as HTML: a figure with a bar for every run, and a table by cause for every run and purpose.
pub fn page(told: &[Told]) -> String {
    let figures = [figure(told)];
    let fills = chart::fills(&figures);
    let mut sections = figure_block(&figures[0], "f0", &fills[0]);
    for (index, told) in told.iter().enumerate() {
        let (run, cycles) = (escape(&told.result.spec.to_string()), count(told.result.cycles));
        let _ = writeln!(sections, "<h2 id=\"run-{index}\">{run}</h2>\n<p>{cycles} cycles.</p>");
        for (purpose, sum) in told.sums() {
            let what = format!(
                "{} {}: {} cycles of latency",
                count(sum.accesses),
                purpose.name(),
                count(sum.ticks() / told.cycle())
            );
            let _ = writeln!(sections, "<h3>{}</h3>\n{}", escape(&what), by_cause(&sum, told.cycle()));
        }
    }
    let results: Vec<&RunResult> = told.iter().map(|told| &told.result).collect();
    let body = format!("<h1>{TITLE}</h1>\n{}{sections}", contents(&sections));
    let extras = Extras { scripts: &FIGURE_SCRIPTS, ..Extras::default() };
    page_with_scripts(TITLE, &body, &OfRuns::new("why", &figures, &results), extras)
}

/// A group of bars for each purpose, a bar for each run, whose parts are stages.
fn figure(told: &[Told]) -> FigureData {
    let series = |told: &Told| SeriesData {
        label: told.result.spec.protocol.clone(),
        protocol: told.result.spec.protocol.clone(),
        variant: None,
        at: None,
        line: None,
    };
    let sums = || told.iter().flat_map(|told| told.sums().map(|(_, sum)| sum.ticks() / told.cycle()));
    let (unit, axis) = match sums().max() {
        Some(1_000_000..) => (1e6, "million core cycles"),
        Some(1_000..) => (1e3, "thousand core cycles"),
        Some(_) | None => (1.0, "core cycles"),
    };
    let group = |purpose: Purpose| {
        let bar = |told: &Told| {
            let (sum, unit) = (told.why.stack.of(purpose), unit * told.cycle() as f64);
            Bar::Parts(Stage::ALL.map(|stage| stage.ticks_of(&sum) as f64 / unit).into())
        };
        Group::new(purpose.name().to_owned(), None, told.iter().map(bar).collect(), Vec::new())
    };
    let is_there = |purpose: &Purpose| told.iter().any(|told| told.why.stack.of(*purpose).accesses > 0);
    FigureData {
        id: "latency".to_owned(),
        title: "Latency of all accesses by what they waited for".to_owned(),
        axis: axis.to_owned(),
        swept: None,
        caption: "Latencies overlap, so their sum is not the time of a run.".to_owned(),
        chart: Chart::StackedBars,
        is_relative: false,
        series: told.iter().map(series).collect(),
        parts: Stage::ALL.map(|stage| stage.name().to_owned()).into(),
        workloads: Purpose::AWAITED.into_iter().filter(is_there).map(group).collect(),
        means: Vec::new(),
        markers: None,
        correlations: Vec::new(),
        show: Show::Workloads,
        baseline_variant: None,
        metrics: Vec::new(),
        stated: Vec::new(),
        notes: Vec::new(),
    }
}

fn by_cause(sum: &Sum, cycle: u64) -> String {
    let headers = [Cell::text("cause"), Cell::number("cycles"), Cell::number("share"), Cell::number("for others")];
    let share = |part: u64, whole: u64| format!("{:.1} %", part as f64 / whole.max(1) as f64 * 100.0);
    let rows = sum.by_time().into_iter().map(|(layer, time)| {
        vec![
            Cell::text(layer.name()),
            Cell::number(count(time.ticks / cycle)),
            Cell::number(share(time.ticks, sum.ticks())),
            Cell::number(share(time.for_others, time.ticks)),
        ]
    });
    table(Narrow::Scroll, &headers, &rows.collect::<Vec<_>>())
}
