//! Figures computed from finished runs.
//!
//! A bar, or a point of a line, is the quotient of a run and the baseline's run of the same workload, or a quotient or
//! rate of the run itself. With several seeds it is computed from their arithmetic means. A run without a result, or
//! with a wrong one, gives no bar, and the figure says why.
//!
//! A mean is taken over the workloads for which all series have a bar, so that the means of series can be compared; a
//! series without any bar does not count. The figure says so where these are not all workloads. An average
//! ([`Measure::Average`]) is different: its mean is taken over the workloads that have one.

use std::collections::BTreeMap;

use chorus_system::Scale;
use serde::Serialize;

use crate::document::Name;
use crate::experiment::{BASELINE, Chart, Experiment, Figure, Marker, Measure, Series, Show, full_label};
use crate::run::{CheckResult, Outcome, Record, RunResult, RunSpec};
use crate::stats::{Mean, correlation};

/// The name under which [`RunResult::cycles`] stands among the metrics.
pub const CYCLES: &str = "cycles";

/// Finished runs by what was run.
#[derive(Debug, Default)]
pub struct Results<'a>(BTreeMap<&'a RunSpec, &'a Record>);

impl<'a> Results<'a> {
    /// Indexes records by their runs.
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
    /// The paper's number, such as `7a`.
    pub id: String,
    /// The title above the figure.
    pub title: String,
    /// The title of the vertical axis, with its unit or baseline.
    pub axis: String,
    /// The title of the horizontal axis of lines and points.
    pub swept: Option<String>,
    /// A remark below the figure.
    pub caption: String,
    /// How it is drawn.
    #[serde(skip)]
    pub chart: Chart,
    /// Whether it compares with a baseline.
    pub is_relative: bool,
    /// The bars of each group, or the points of each line.
    pub series: Vec<SeriesData>,
    /// The parts of a stacked bar from the bottom. Other bars have none.
    pub parts: Vec<String>,
    /// One group, or line, per workload.
    pub workloads: Vec<Group>,
    /// The means over workloads. There are none where only the workloads are shown.
    pub means: Vec<Group>,
    /// A place on each line, or the place of each point on the horizontal axis.
    pub markers: Option<Markers>,
    /// How the points of each series go with their places: Pearson's coefficient. Other charts have none.
    pub correlations: Vec<Option<f64>>,
    /// The groups that are drawn: workloads, means or both.
    #[serde(skip)]
    pub show: Show,
    /// The variant in which the baseline runs.
    #[serde(skip)]
    pub baseline_variant: Option<String>,
    /// The metrics behind bars and markers.
    pub metrics: Vec<String>,
    /// Remarks for the reader: bars that are missing, and means over fewer workloads.
    pub notes: Vec<String>,
}

/// One bar of every group, or one point of every line.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SeriesData {
    /// The name in the legend, or below the axis.
    pub label: String,
    /// The protocol, or the name of a choice of protocols.
    pub protocol: String,
    /// The variant in which the protocol runs.
    pub variant: Option<String>,
    /// The place on the horizontal axis.
    pub at: Option<f64>,
    /// The line of the point, where lines are not those of workloads.
    pub line: Option<String>,
}

impl SeriesData {
    /// The name of the bar or point where it stands alone.
    pub fn full_label(&self) -> String {
        full_label(&self.line, &self.label)
    }
}

/// A place for each workload.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Markers {
    /// The meaning of the places, for the legend.
    pub label: String,
    /// The place for each workload. There is none where its run has no usable result.
    pub at: Vec<Option<f64>>,
}

/// Bars that stand together, one per series, or the points of one line.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Group {
    /// The workload, or the kind of the mean and its workloads.
    pub label: String,
    /// The protocol to which the workload is normalised. A mean has none.
    pub baseline: Option<String>,
    /// The bars in the order of the series.
    pub bars: Vec<Bar>,
}

/// One bar of a group, or one point of a line.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bar {
    /// The height of each part from the bottom. A bar that is not stacked has one part.
    Parts(Vec<f64>),
    /// The reason, in a word or two, why there is no bar.
    Missing(String),
}

impl Bar {
    /// The height of the whole bar.
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
            .map(|workload| Group {
                bars: source.bars(&workload),
                baseline: source.baseline(&workload),
                label: workload,
            })
            .collect();
        let series: Vec<SeriesData> = figure.series.iter().map(SeriesData::new).collect();
        let mut notes = missing_bars(&series, &workloads);
        let means = source.means(&workloads, &mut notes);
        let markers = figure.marker.as_ref().map(|marker| source.markers(marker, &workloads));
        let of_marker = figure.marker.iter().flat_map(|marker| [marker.metric.clone(), marker.per.clone()]);
        let per = figure.per.iter().chain(&figure.less).map(ToString::to_string);
        let metrics = metrics.iter().cloned().chain(per).chain(of_marker).collect();
        let correlations = match (figure.chart, &markers) {
            (Chart::Scatter, Some(markers)) => correlations(series.len(), &workloads, &markers.at),
            _ => Vec::new(),
        };
        FigureData {
            id: figure.id.to_string(),
            title: figure.title.clone(),
            axis: figure.axis.clone(),
            swept: figure.swept.clone(),
            caption: figure.caption.clone(),
            chart: figure.chart,
            is_relative: figure.measure.is_relative(),
            series,
            parts: figure.parts.iter().map(|part| part.label.clone()).collect(),
            workloads,
            means,
            markers,
            correlations,
            show: figure.show,
            baseline_variant: figure.baseline_variant.as_ref().map(ToString::to_string),
            metrics,
            notes,
        }
    }

    /// The groups that are drawn: workloads, then means.
    pub fn shown(&self) -> (&[Group], &[Group]) {
        match self.show {
            Show::WorkloadsAndMean | Show::Workloads => (&self.workloads, &self.means),
            Show::Mean => (&[], &self.means),
        }
    }

    /// Lines of means, each with its points. There are none where lines are those of workloads.
    pub fn lines_of_means(&self) -> Vec<Group> {
        let Some(means) = self.means.first() else { return Vec::new() };
        let mut lines: Vec<Group> = Vec::new();
        for (series, bar) in self.series.iter().zip(&means.bars) {
            let Some(label) = &series.line else { continue };
            match lines.iter_mut().find(|line| line.label == *label) {
                Some(line) => line.bars.push(bar.clone()),
                None => lines.push(Group { label: label.clone(), baseline: None, bars: vec![bar.clone()] }),
            }
        }
        lines
    }

    /// The series that stand for the points of every line.
    pub fn points(&self) -> Vec<&SeriesData> {
        let first = self.series.first().and_then(|series| series.line.as_ref());
        self.series.iter().filter(|series| series.line.as_ref() == first).collect()
    }

    /// The height of a protocol's bar for a workload. That of the baseline is 1, also where it is not drawn.
    pub fn value(&self, workload: &str, protocol: &str, variant: Option<&str>) -> Option<f64> {
        let group = self.workloads.iter().find(|group| group.label == workload)?;
        match self.position(protocol, variant) {
            Some(index) => group.bars.get(index)?.value(),
            // Some other bar of the group shows that the baseline ran.
            None if self.is_baseline(group, protocol, variant) => {
                group.bars.iter().any(|bar| bar.value().is_some()).then_some(1.0)
            }
            None => None,
        }
    }

    /// The height of some parts of a protocol's bar for a workload.
    pub fn value_of_parts(&self, workload: &str, protocol: &str, variant: Option<&str>, parts: &[&str]) -> Option<f64> {
        let group = self.workloads.iter().find(|group| group.label == workload)?;
        match group.bars.get(self.position(protocol, variant)?)? {
            Bar::Parts(heights) => {
                let height = |part: &str| heights.get(self.parts.iter().position(|label| label == part)?).copied();
                parts.iter().map(|part| height(part)).sum()
            }
            Bar::Missing(_) => None,
        }
    }

    /// The least place on the horizontal axis at which a protocol reaches a share of its best for a workload.
    pub fn reaches(&self, workload: &str, protocol: &str, share: f64) -> Option<f64> {
        let group = self.workloads.iter().find(|group| group.label == workload)?;
        let points = self.series.iter().zip(&group.bars).filter(|(series, _)| series.protocol == protocol);
        let points: Vec<(f64, f64)> = points.map(|(series, bar)| series.at.zip(bar.value())).collect::<Option<_>>()?;
        let best = points.iter().map(|point| point.1).reduce(f64::max)?;
        points.into_iter().find(|point| point.1 >= share * best).map(|point| point.0)
    }

    fn position(&self, protocol: &str, variant: Option<&str>) -> Option<usize> {
        self.series.iter().position(|series| series.protocol == protocol && series.variant.as_deref() == variant)
    }

    fn is_baseline(&self, group: &Group, protocol: &str, variant: Option<&str>) -> bool {
        let named = group.baseline.as_deref() == Some(protocol) && self.baseline_variant.as_deref() == variant;
        self.is_relative && (protocol == BASELINE || named)
    }
}

impl SeriesData {
    fn new(series: &Series) -> SeriesData {
        SeriesData {
            label: series.label.clone(),
            protocol: series.protocol.to_string(),
            variant: series.variant.as_ref().map(ToString::to_string),
            at: series.at,
            line: series.line.clone(),
        }
    }
}

fn metrics_of(figure: &Figure) -> Vec<String> {
    match figure.measure {
        Measure::SpeedUp | Measure::SpeedUpPerCost => vec![CYCLES.to_owned()],
        Measure::Ratio
        | Measure::RatioOfRates
        | Measure::RatioOfQuotients
        | Measure::Quotient
        | Measure::Average
        | Measure::Rate
        | Measure::Count => match figure.chart {
            Chart::Bars | Chart::Lines | Chart::Scatter => figure.metric.iter().map(ToString::to_string).collect(),
            Chart::StackedBars => figure.parts.iter().map(|part| part.metric.clone()).collect(),
        },
    }
}

/// The runs and the definition from which the bars of a figure are computed.
struct Source<'a> {
    experiment: &'a Experiment,
    figure: &'a Figure,
    scale: Scale,
    results: &'a Results<'a>,
    metrics: &'a [String],
}

impl Source<'_> {
    /// The protocol to which a workload is relative.
    fn baseline(&self, workload: &str) -> Option<String> {
        let found = self.experiment.baseline_of(self.figure, workload);
        found.filter(|_| self.figure.measure.is_relative()).map(str::to_owned)
    }

    /// The bars of one workload.
    fn bars(&self, workload: &str) -> Vec<Bar> {
        let figure = self.figure;
        let bar = |series: &Series| -> Result<Vec<f64>, String> {
            let protocol = self.chosen(workload, series)?;
            let measured = self.measured(workload, protocol, series.variant.as_deref())?;
            if !figure.measure.is_relative() {
                return Ok(measured);
            }
            let baseline = self.measured(workload, BASELINE, figure.baseline_variant_of(series));
            let whole: f64 = baseline.map_err(|why| format!("baseline {why}"))?.iter().sum();
            let cost = series.cost.unwrap_or(1.0);
            let quotients: Vec<f64> = match figure.measure.is_of_time() {
                true => measured.iter().map(|cycles| whole / cycles / cost).collect(),
                false => measured.iter().map(|value| value / whole).collect(),
            };
            if quotients.iter().all(|quotient| quotient.is_finite()) { Ok(quotients) } else { Err("zero".to_owned()) }
        };
        figure.series.iter().map(|series| bar(series).map_or_else(Bar::Missing, Bar::Parts)).collect()
    }

    /// The protocol of a series. Where it is a choice, the fastest one for the workload.
    fn chosen<'s>(&self, workload: &str, series: &'s Series) -> Result<&'s str, String> {
        if series.best_of.is_empty() {
            return Ok(&series.protocol);
        }
        let mut best: Option<(f64, &str)> = None;
        for protocol in series.protocols() {
            let runs = self.experiment.runs_for(self.figure, workload, protocol, series.variant.as_deref(), self.scale);
            let results = runs.iter().map(|spec| usable(self.results.get(spec))).collect::<Result<Vec<_>, _>>();
            let results = results.map_err(|why| format!("{protocol} {why}"))?;
            let cycles: Vec<f64> = results.iter().map(|result| result.cycles as f64).collect();
            let cycles = Mean::Arithmetic.of(&cycles).ok_or_else(|| format!("{protocol} not in the matrix"))?;
            if best.is_none_or(|(least, _)| cycles < least) {
                best = Some((cycles, protocol));
            }
        }
        best.map(|(_, protocol)| protocol).ok_or_else(|| "nothing to choose from".to_owned())
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
                let values = values.collect::<Result<Vec<f64>, _>>()?;
                Mean::Arithmetic.of(&values).ok_or_else(|| "not run".to_owned())
            })
            .collect()
    }

    /// The means of the figure, each over the workloads that all series have.
    fn means(&self, workloads: &[Group], notes: &mut Vec<String>) -> Vec<Group> {
        let (experiment, figure) = (self.experiment, self.figure);
        if figure.show == Show::Workloads {
            return Vec::new();
        }
        let named = figure.mean_over.iter().map(|over| {
            let mean = over.mean.unwrap_or(figure.mean);
            (mean, format!("{} {}", mean.abbreviation(), over.label), experiment.workloads_of_mean(figure, over))
        });
        let mut means: Vec<(Mean, String, Vec<String>)> = named.collect();
        if means.is_empty() {
            let all = workloads.iter().map(|group| group.label.clone()).collect();
            means.push((figure.mean, figure.mean.abbreviation().to_owned(), all));
        }
        let mut groups = Vec::new();
        for (mean, label, over) in means {
            let members: Vec<&Group> = workloads.iter().filter(|group| over.contains(&group.label)).collect();
            // An average that does not exist says nothing against those that do.
            let common = match figure.measure {
                Measure::Average => members.clone(),
                _ => common(figure.series.len(), &members),
            };
            notes.extend(smaller_mean(&label, &members, &common));
            let bars = (0..figure.series.len()).map(|index| mean_bar(mean, &common, index)).collect();
            groups.push(Group { label, baseline: None, bars });
        }
        groups
    }

    /// The marker of each workload: the quotient of two metrics, each summed over the seeds.
    fn markers(&self, marker: &Marker, workloads: &[Group]) -> Markers {
        let at = |group: &Group| -> Option<f64> {
            let runs = self.experiment.runs_for(self.figure, &group.label, &marker.protocol, None, self.scale);
            let results = runs.iter().map(|spec| usable(self.results.get(spec)).ok()).collect::<Option<Vec<_>>>()?;
            let sum = |metric: &str| results.iter().map(|result| result.metrics.get(metric)).sum::<Option<f64>>();
            Some(sum(&marker.metric)? / sum(&marker.per)?).filter(|quotient| quotient.is_finite())
        };
        Markers { label: marker.label.clone(), at: workloads.iter().map(at).collect() }
    }

    fn metric(&self, result: &RunResult, metric: &str) -> Result<f64, String> {
        let counted = |metric: &str| match metric {
            CYCLES => Ok(result.cycles as f64),
            _ => result.metrics.get(metric).copied().ok_or_else(|| format!("no metric {metric}")),
        };
        let sum = |metrics: &[Name]| metrics.iter().map(|metric| counted(metric)).sum::<Result<f64, _>>();
        let value = counted(metric)? - sum(&self.figure.less)?;
        match self.figure.measure {
            Measure::SpeedUp | Measure::SpeedUpPerCost | Measure::Ratio | Measure::Count => Ok(value),
            Measure::RatioOfRates | Measure::Rate => Ok(value / result.simulated_ns),
            Measure::Quotient | Measure::Average | Measure::RatioOfQuotients => {
                let per = sum(&self.figure.per)?;
                match value / per {
                    quotient if quotient.is_finite() => Ok(quotient),
                    _ if value == 0.0 && self.figure.measure == Measure::Average => Err("nothing to count".to_owned()),
                    _ if value == 0.0 => Ok(0.0),
                    _ => Err("divided by zero".to_owned()),
                }
            }
        }
    }
}

/// Pearson's coefficient of the points of each series and their places.
fn correlations(series: usize, workloads: &[Group], places: &[Option<f64>]) -> Vec<Option<f64>> {
    let of_series = |index: usize| {
        let point = |(group, place): (&Group, &Option<f64>)| Some(((*place)?, group.bars.get(index)?.value()?));
        correlation(&workloads.iter().zip(places).filter_map(point).collect::<Vec<_>>())
    };
    (0..series).map(of_series).collect()
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

/// The workloads over which a mean of so many series is taken.
fn common<'g>(series: usize, workloads: &[&'g Group]) -> Vec<&'g Group> {
    let has_bar = |group: &Group, index: usize| group.bars.get(index).and_then(Bar::value).is_some();
    let alive: Vec<usize> = (0..series).filter(|&index| workloads.iter().any(|group| has_bar(group, index))).collect();
    workloads.iter().copied().filter(|group| alive.iter().all(|&index| has_bar(group, index))).collect()
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

/// Says which bars are missing and why.
fn missing_bars(series: &[SeriesData], workloads: &[Group]) -> Vec<String> {
    let missing = |(index, series): (usize, &SeriesData)| {
        let workloads = workloads.iter().filter_map(|group| match group.bars.get(index)? {
            Bar::Missing(why) => Some(format!("{} ({why})", group.label)),
            Bar::Parts(_) => None,
        });
        let workloads: Vec<String> = workloads.collect();
        (!workloads.is_empty()).then(|| format!("{} has no bar for {}.", series.full_label(), workloads.join(", ")))
    };
    series.iter().enumerate().filter_map(missing).collect()
}

/// Says that a mean is over fewer workloads than it should be.
fn smaller_mean(label: &str, workloads: &[&Group], common: &[&Group]) -> Option<String> {
    let names: Vec<&str> = common.iter().map(|group| group.label.as_str()).collect();
    let is_smaller = !names.is_empty() && names.len() < workloads.len();
    is_smaller
        .then(|| format!("{label} is over {} of {} workloads: {}.", names.len(), workloads.len(), names.join(", ")))
}
