//! The data that a page carries for its scripts: every bar with the runs behind it, and every run with its command.

use std::collections::HashMap;

use serde::Serialize;

use super::Report;
use crate::dashboard::IndexEntry;
use crate::experiment::{BASELINE, Chart, Figure, Measure};
use crate::figure::{Bar, FigureData, Group};
use crate::run::{Record, RunResult, RunSpec};
use crate::stated::Stated;

/// Everything that the scripts of a page know.
#[derive(Debug, Serialize)]
pub(super) struct Embedded<'a> {
    /// The entry of this page in an index that is written later.
    entry: IndexEntry,
    paper: &'a str,
    figures: Vec<EmbeddedFigure<'a>>,
    runs: Vec<EmbeddedRun<'a>>,
}

#[derive(Debug, Serialize)]
struct EmbeddedFigure<'a> {
    id: &'a str,
    axis: &'a str,
    chart: &'static str,
    is_relative: bool,
    series: Vec<String>,
    parts: &'a [String],
    /// The groups of bars: workloads, then means.
    groups: Vec<EmbeddedGroup<'a>>,
}

#[derive(Debug, Serialize)]
struct EmbeddedGroup<'a> {
    label: &'a str,
    bars: Vec<EmbeddedBar<'a>>,
}

/// A bar: its parts from the bottom, or the reason why there is none. Runs are positions in the list of runs.
#[derive(Debug, Serialize)]
struct EmbeddedBar<'a> {
    parts: &'a [f64],
    missing: &'a str,
    seeds: &'a [f64],
    /// The error of each part, which stands behind `±`, where there are several seeds.
    part_errors: Vec<f64>,
    stated: Vec<EmbeddedStated<'a>>,
    runs: Vec<usize>,
    /// The runs of the baseline.
    base: Vec<usize>,
}

#[derive(Debug, Serialize)]
struct EmbeddedStated<'a> {
    value: f64,
    claim: &'a str,
    /// The bar of which the value is a multiple.
    beside: Option<String>,
}

#[derive(Debug, Serialize)]
struct EmbeddedRun<'a> {
    index: usize,
    protocol: &'a str,
    changes: String,
    seed: u64,
    status: &'static str,
    cycles: Option<u64>,
    config: &'a str,
    command: String,
    /// The bar that shows what the accesses of the run waited for: its figure, group and series.
    why: Option<(&'a str, usize, usize)>,
}

/// The data of a page about single runs: every series of its figures is about one of them.
#[derive(Debug, Serialize)]
pub(crate) struct OfRuns<'a> {
    paper: &'a str,
    figures: Vec<EmbeddedFigure<'a>>,
    runs: Vec<EmbeddedRun<'a>>,
}

impl<'a> OfRuns<'a> {
    /// The data of some figures, and of the runs that their series are about. `name` begins the names of saved files.
    pub(crate) fn new(name: &'a str, figures: &'a [FigureData], runs: &[&'a RunResult]) -> OfRuns<'a> {
        let run = |(index, result): (usize, &&'a RunResult)| EmbeddedRun {
            index,
            protocol: &result.spec.protocol,
            changes: result.spec.set.join(", "),
            seed: result.spec.seed,
            status: result.result.name(),
            cycles: Some(result.cycles),
            config: &result.config_hash,
            command: result.spec.command(),
            why: None,
        };
        let figure = |data: &'a FigureData| {
            let group = |at, group| embedded_group(data, at, group, |series| (vec![series], Vec::new()));
            let groups = data.workloads.iter().chain(&data.means).enumerate().map(|(at, of)| group(at, of)).collect();
            embedded_figure(data, groups)
        };
        OfRuns {
            paper: name,
            figures: figures.iter().map(figure).collect(),
            runs: runs.iter().enumerate().map(run).collect(),
        }
    }
}

fn embedded_figure<'a>(data: &'a FigureData, groups: Vec<EmbeddedGroup<'a>>) -> EmbeddedFigure<'a> {
    EmbeddedFigure {
        id: &data.id,
        axis: &data.axis,
        chart: chart_name(data.chart),
        is_relative: data.is_relative,
        series: data.series.iter().map(|series| series.full_label()).collect(),
        parts: &data.parts,
        groups,
    }
}

/// A group of bars; `runs_of` finds the runs behind the bar of a series, and those of its baseline.
fn embedded_group<'a>(
    data: &'a FigureData,
    at: usize,
    group: &'a Group,
    runs_of: impl Fn(usize) -> (Vec<usize>, Vec<usize>),
) -> EmbeddedGroup<'a> {
    let bar = |(index, bar): (usize, &'a Bar)| {
        let (parts, missing): (&[f64], &str) = match bar {
            Bar::Parts(parts) => (parts, ""),
            Bar::Missing(why) => (&[], why),
        };
        let of_claim = |stated: &'a Stated| EmbeddedStated {
            value: stated.value,
            claim: &stated.claim,
            beside: stated.beside.map(|beside| data.series[beside].full_label()),
        };
        let is_it = |stated: &&Stated| (stated.group, stated.series) == (at, index);
        let (runs, base) = runs_of(index);
        EmbeddedBar {
            parts,
            missing,
            seeds: group.by_seed.get(index).map_or(&[], Vec::as_slice),
            part_errors: (0..data.parts.len())
                .map_while(|part| Some(group.part_interval(index, part)?.half()))
                .collect(),
            stated: data.stated.iter().filter(is_it).map(of_claim).collect(),
            runs,
            base,
        }
    };
    EmbeddedGroup { label: &group.label, bars: group.bars.iter().enumerate().map(bar).collect() }
}

/// The bars of latency, by the runs that they are about.
type Stacks<'a> = HashMap<RunSpec, (&'a str, usize, usize)>;

/// The positions of runs in the list of all runs of the page.
type Places<'a> = HashMap<&'a RunSpec, usize>;

impl Report<'_> {
    /// The data of the page.
    pub(super) fn embedded(&self) -> Embedded<'_> {
        let places: Places<'_> = self.records.iter().enumerate().map(|(index, record)| (&record.spec, index)).collect();
        let stacks = self.stacks();
        Embedded {
            entry: self.entry(),
            paper: &self.experiment.name,
            figures: self.shown_figures().map(|(figure, data)| self.embedded_figure(figure, data, &places)).collect(),
            runs: (0..).zip(self.records).map(|(index, record)| self.embedded_run(index, record, &stacks)).collect(),
        }
    }

    /// The bars of the figures of latency, by the runs that they are about as nobody observes them.
    fn stacks(&self) -> Stacks<'_> {
        let mut stacks = Stacks::new();
        for (figure, data) in self.shown_figures().filter(|(figure, _)| figure.measure == Measure::Latency) {
            for (at, group) in data.workloads.iter().enumerate() {
                for (place, series) in figure.series.iter().enumerate() {
                    let (protocol, variant) = (&series.protocol, series.variant.as_deref());
                    for run in self.experiment.runs_for(figure, &group.label, protocol, variant, self.scale) {
                        stacks.entry(RunSpec { observed: false, ..run }).or_insert((&data.id, at, place));
                    }
                }
            }
        }
        stacks
    }

    /// The figures of the page with their definitions.
    fn shown_figures(&self) -> impl Iterator<Item = (&Figure, &FigureData)> {
        let definition = |data: &FigureData| self.experiment.figures.iter().find(|figure| *figure.id == *data.id);
        self.figures.iter().filter_map(move |data| Some((definition(data)?, data)))
    }

    fn embedded_run<'s>(&self, index: usize, record: &'s Record, stacks: &Stacks<'s>) -> EmbeddedRun<'s> {
        EmbeddedRun {
            index,
            protocol: &record.spec.protocol,
            changes: self.changes(record),
            seed: record.spec.seed,
            status: record.status(),
            cycles: record.result().map(|result| result.cycles),
            config: &record.config_hash,
            command: record.spec.command(),
            why: stacks.get(&record.spec).copied(),
        }
    }

    fn embedded_figure<'s>(&'s self, figure: &Figure, data: &'s FigureData, places: &Places<'_>) -> EmbeddedFigure<'s> {
        let group = |(at, group): (usize, &'s Group)| {
            let is_workload = at < data.workloads.len();
            embedded_group(data, at, group, |series| match is_workload {
                true => self.runs_of_bar(figure, &group.label, series, places),
                false => (Vec::new(), Vec::new()),
            })
        };
        embedded_figure(data, data.workloads.iter().chain(&data.means).enumerate().map(group).collect())
    }

    /// The runs behind the bar of a workload, and those of its baseline where that is another run.
    fn runs_of_bar(
        &self,
        figure: &Figure,
        workload: &str,
        series: usize,
        places: &Places<'_>,
    ) -> (Vec<usize>, Vec<usize>) {
        let Some(series) = figure.series.get(series) else { return (Vec::new(), Vec::new()) };
        let places_of = |protocol: &str, variant: Option<&str>| -> Vec<usize> {
            let runs = self.experiment.runs_for(figure, workload, protocol, variant, self.scale);
            runs.iter().filter_map(|spec| places.get(spec).copied()).collect()
        };
        let variant = series.variant.as_deref();
        let runs: Vec<usize> =
            series.protocols().into_iter().flat_map(|protocol| places_of(protocol, variant)).collect();
        let base = match figure.measure.is_relative() {
            true => places_of(BASELINE, figure.baseline_variant_of(series)),
            false => Vec::new(),
        };
        let base = if base == runs { Vec::new() } else { base };
        (runs, base)
    }
}

fn chart_name(chart: Chart) -> &'static str {
    match chart {
        Chart::Bars => "bars",
        Chart::StackedBars => "stacked-bars",
        Chart::Lines => "lines",
        Chart::Scatter => "scatter",
    }
}
