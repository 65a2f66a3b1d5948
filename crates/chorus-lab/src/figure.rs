//! Figures computed from finished runs.
//!
//! A bar is the quotient of a run and the baseline's run of the same workload; with several seeds, of their arithmetic means. A
//! run without a result, or with a wrong one, gives no bar: the figure says why. Means are taken over the workloads for which
//! every series that has any bar has one, so that they can be compared; the figure says so where these are not all.

use std::collections::BTreeMap;

use chorus_system::Scale;
use serde::Serialize;

use crate::experiment::{Chart, Experiment, Figure, Measure, Show};
use crate::run::{CheckResult, Outcome, Record, RunResult, RunSpec};
use crate::stats::Mean;

/// The name under which [`RunResult::cycles`] stands among the metrics.
pub const CYCLES: &str = "cycles";

/// Finished runs by what was run.
#[derive(Debug, Default)]
pub struct Results<'a>(BTreeMap<&'a RunSpec, &'a Record>);

impl<'a> Results<'a> {
    /// Indexes some records.
    pub fn new(records: impl IntoIterator<Item = &'a Record>) -> Self {
        Results(records.into_iter().map(|record| (&record.spec, record)).collect())
    }

    /// The record of one run.
    pub fn get(&self, spec: &RunSpec) -> Option<&'a Record> {
        self.0.get(spec).copied()
    }
}

/// A figure with its data.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FigureData {
    /// The paper's number.
    pub id: String,
    /// The title.
    pub title: String,
    /// What the vertical axis shows.
    pub axis: String,
    /// What it shows and what it lacks.
    pub caption: String,
    /// The bars of each group.
    pub series: Vec<SeriesData>,
    /// The parts of a stacked bar from the bottom; none for plain bars.
    pub parts: Vec<String>,
    /// One group per workload.
    pub workloads: Vec<Group>,
    /// The mean over the workloads.
    pub mean: Group,
    /// Whether the workloads are drawn, or only the mean.
    #[serde(skip)]
    pub show: Show,
    /// The protocol that everything is normalised to, and its variant of the machine.
    #[serde(skip)]
    pub baseline: (String, Option<String>),
    /// The metrics behind the bars.
    pub metrics: Vec<String>,
    /// What the reader must know: bars that are missing, and means over fewer workloads.
    pub notes: Vec<String>,
}

/// One bar of every group.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SeriesData {
    /// The name in the legend.
    pub label: String,
    /// The protocol.
    pub protocol: String,
    /// The variant of the machine.
    pub variant: Option<String>,
}

/// Bars that stand together, one per series.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Group {
    /// The workload, or the abbreviation of the mean.
    pub label: String,
    /// The bars in the order of the series.
    pub bars: Vec<Bar>,
}

/// One bar.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bar {
    /// The height of each part from the bottom; a plain bar has one.
    Parts(Vec<f64>),
    /// No bar, and why in a word or two.
    Missing(String),
}

impl Bar {
    /// The whole height.
    pub fn value(&self) -> Option<f64> {
        match self {
            Bar::Parts(parts) => Some(parts.iter().sum()),
            Bar::Missing(_) => None,
        }
    }
}

impl FigureData {
    /// Computes a figure from the runs that are there.
    pub fn compute(experiment: &Experiment, figure: &Figure, scale: Scale, results: &Results<'_>) -> FigureData {
        let metrics = metrics_of(figure);
        let source = Source { experiment, figure, scale, results, metrics: &metrics };
        let workloads: Vec<Group> = experiment
            .workloads_of(figure)
            .into_iter()
            .map(|workload| Group { bars: source.bars(&workload), label: workload })
            .collect();
        let series: Vec<SeriesData> = figure
            .series
            .iter()
            .map(|series| SeriesData {
                label: series.label.clone(),
                protocol: series.protocol.to_string(),
                variant: series.variant.as_ref().map(ToString::to_string),
            })
            .collect();
        let common = common(&series, &workloads);
        let notes = notes(&series, &workloads, &common);
        let bars = (0..series.len()).map(|index| mean_bar(figure.mean, &common, index)).collect();
        FigureData {
            id: figure.id.to_string(),
            title: figure.title.clone(),
            axis: figure.axis.clone(),
            caption: figure.caption.clone(),
            series,
            parts: figure.parts.iter().map(|part| part.label.clone()).collect(),
            workloads,
            mean: Group { label: figure.mean.abbreviation().to_owned(), bars },
            show: figure.show,
            baseline: (figure.baseline.to_string(), figure.baseline_variant.as_ref().map(ToString::to_string)),
            metrics,
            notes,
        }
    }

    /// The groups that are drawn.
    pub fn shown(&self) -> impl Iterator<Item = &Group> {
        let workloads: &[Group] = match self.show {
            Show::WorkloadsAndMean => &self.workloads,
            Show::Mean => &[],
        };
        workloads.iter().chain([&self.mean])
    }

    /// The height of a protocol's bar for a workload; the baseline's is 1 also where it is not drawn.
    pub fn value(&self, workload: &str, protocol: &str, variant: Option<&str>) -> Option<f64> {
        let drawn = |series: &SeriesData| series.protocol == protocol && series.variant.as_deref() == variant;
        let group = self.workloads.iter().find(|group| group.label == workload)?;
        match self.series.iter().position(drawn) {
            Some(index) => group.bars.get(index)?.value(),
            // Some other bar of the group shows that the baseline ran.
            None if self.is_baseline(protocol, variant) => {
                group.bars.iter().any(|bar| bar.value().is_some()).then_some(1.0)
            }
            None => None,
        }
    }

    /// Whether a protocol is what the figure is normalised to.
    pub fn is_baseline(&self, protocol: &str, variant: Option<&str>) -> bool {
        self.baseline.0 == protocol && self.baseline.1.as_deref() == variant
    }
}

fn metrics_of(figure: &Figure) -> Vec<String> {
    match figure.measure {
        Measure::SpeedUp => vec![CYCLES.to_owned()],
        Measure::Ratio | Measure::RatioOfRates => match figure.chart {
            Chart::Bars => figure.metric.iter().map(ToString::to_string).collect(),
            Chart::StackedBars => figure.parts.iter().map(|part| part.metric.clone()).collect(),
        },
    }
}

/// Where the bars of a figure come from.
struct Source<'a> {
    experiment: &'a Experiment,
    figure: &'a Figure,
    scale: Scale,
    results: &'a Results<'a>,
    metrics: &'a [String],
}

impl Source<'_> {
    /// The bars of one workload.
    fn bars(&self, workload: &str) -> Vec<Bar> {
        let figure = self.figure;
        let baseline = self.measured(workload, &figure.baseline, figure.baseline_variant.as_deref());
        let bar = |series: &crate::experiment::Series| -> Result<Vec<f64>, String> {
            let measured = self.measured(workload, &series.protocol, series.variant.as_deref())?;
            let baseline = baseline.as_ref().map_err(|why| format!("baseline {why}"))?;
            let whole: f64 = baseline.iter().sum();
            let quotients: Vec<f64> = match figure.measure {
                Measure::SpeedUp => measured.iter().map(|cycles| whole / cycles).collect(),
                Measure::Ratio | Measure::RatioOfRates => measured.iter().map(|value| value / whole).collect(),
            };
            if quotients.iter().all(|quotient| quotient.is_finite()) { Ok(quotients) } else { Err("zero".to_owned()) }
        };
        figure.series.iter().map(|series| bar(series).map_or_else(Bar::Missing, Bar::Parts)).collect()
    }

    /// Each metric of the figure, as the mean over the seeds.
    fn measured(&self, workload: &str, protocol: &str, variant: Option<&str>) -> Result<Vec<f64>, String> {
        let runs = self.experiment.runs_for(self.figure, workload, protocol, variant, self.scale);
        if runs.is_empty() {
            return Err("not in the matrix".to_owned());
        }
        let results = runs.iter().map(|spec| usable(self.results.get(spec))).collect::<Result<Vec<_>, _>>()?;
        self.metrics
            .iter()
            .map(|metric| {
                let values = results.iter().map(|result| self.metric(result, metric));
                let values = values.collect::<Option<Vec<f64>>>().ok_or_else(|| format!("no metric {metric}"))?;
                Mean::Arithmetic.of(&values).ok_or_else(|| "not run".to_owned())
            })
            .collect()
    }

    fn metric(&self, result: &RunResult, metric: &str) -> Option<f64> {
        let value = if metric == CYCLES { result.cycles as f64 } else { *result.metrics.get(metric)? };
        Some(match self.figure.measure {
            Measure::SpeedUp | Measure::Ratio => value,
            Measure::RatioOfRates => value / result.simulated_ns,
        })
    }
}

/// The result of a run that may be drawn, or why it may not.
fn usable(record: Option<&Record>) -> Result<&RunResult, String> {
    match record.map(|record| &record.outcome) {
        None => Err("not run".to_owned()),
        Some(Outcome::Failed(error)) => Err(error.kind.name().to_owned()),
        Some(Outcome::Finished(result)) => match result.result {
            CheckResult::Fail(_) => Err("wrong result".to_owned()),
            CheckResult::Pass | CheckResult::Unchecked => Ok(result),
        },
    }
}

/// The workloads over which means are taken.
fn common<'g>(series: &[SeriesData], workloads: &'g [Group]) -> Vec<&'g Group> {
    let has_bar = |group: &Group, index: usize| group.bars.get(index).and_then(Bar::value).is_some();
    let alive: Vec<usize> =
        (0..series.len()).filter(|&index| workloads.iter().any(|group| has_bar(group, index))).collect();
    workloads.iter().filter(|group| alive.iter().all(|&index| has_bar(group, index))).collect()
}

/// The mean of one series over some workloads, part by part.
fn mean_bar(mean: Mean, workloads: &[&Group], series: usize) -> Bar {
    let bars: Vec<&Vec<f64>> = workloads
        .iter()
        .filter_map(|group| match group.bars.get(series)? {
            Bar::Parts(parts) => Some(parts),
            Bar::Missing(_) => None,
        })
        .collect();
    let parts = bars.first().map_or(0, |parts| parts.len());
    let means: Option<Vec<f64>> = (0..parts)
        .map(|part| mean.of(&bars.iter().filter_map(|bar| bar.get(part).copied()).collect::<Vec<_>>()))
        .collect();
    match means {
        Some(means) if !means.is_empty() => Bar::Parts(means),
        _ => Bar::Missing("no data".to_owned()),
    }
}

fn notes(series: &[SeriesData], workloads: &[Group], common: &[&Group]) -> Vec<String> {
    let mut notes = Vec::new();
    for (index, series) in series.iter().enumerate() {
        let missing: Vec<String> = workloads
            .iter()
            .filter_map(|group| match group.bars.get(index)? {
                Bar::Missing(why) => Some(format!("{} ({why})", group.label)),
                Bar::Parts(_) => None,
            })
            .collect();
        if !missing.is_empty() {
            notes.push(format!("{} has no bar for {}.", series.label, missing.join(", ")));
        }
    }
    if !common.is_empty() && common.len() < workloads.len() {
        let names: Vec<&str> = common.iter().map(|group| group.label.as_str()).collect();
        notes.push(format!("Means are over {} of {} workloads: {}.", names.len(), workloads.len(), names.join(", ")));
    }
    notes
}
