//! The data that a page carries for its scripts: every bar with the runs behind it, and every run with its command.

use std::collections::HashMap;

use serde::Serialize;

use super::Report;
use crate::dashboard::IndexEntry;
use crate::experiment::{BASELINE, Chart, Figure, Measure};
use crate::figure::{Bar, FigureData, Group};
use crate::run::{Record, RunSpec};
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
        let groups = data.workloads.iter().chain(&data.means).enumerate();
        EmbeddedFigure {
            id: &data.id,
            axis: &data.axis,
            chart: chart_name(data.chart),
            is_relative: data.is_relative,
            series: data.series.iter().map(|series| series.full_label()).collect(),
            parts: &data.parts,
            groups: groups.map(|(at, group)| self.embedded_group(figure, data, (at, group), places)).collect(),
        }
    }

    fn embedded_group<'s>(
        &self,
        figure: &Figure,
        data: &'s FigureData,
        (at, group): (usize, &'s Group),
        places: &Places<'_>,
    ) -> EmbeddedGroup<'s> {
        let is_workload = at < data.workloads.len();
        let bar = |(index, bar): (usize, &'s Bar)| {
            let (parts, missing): (&[f64], &str) = match bar {
                Bar::Parts(parts) => (parts, ""),
                Bar::Missing(why) => (&[], why),
            };
            let of_claim = |stated: &'s Stated| EmbeddedStated {
                value: stated.value,
                claim: &stated.claim,
                beside: stated.beside.map(|beside| data.series[beside].full_label()),
            };
            let is_it = |stated: &&Stated| (stated.group, stated.series) == (at, index);
            let stated = data.stated.iter().filter(is_it);
            let (runs, base) = match is_workload {
                true => self.runs_of_bar(figure, &group.label, index, places),
                false => (Vec::new(), Vec::new()),
            };
            EmbeddedBar {
                parts,
                missing,
                seeds: group.by_seed.get(index).map_or(&[], Vec::as_slice),
                stated: stated.map(of_claim).collect(),
                runs,
                base,
            }
        };
        EmbeddedGroup { label: &group.label, bars: group.bars.iter().enumerate().map(bar).collect() }
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
