//! Figures computed from finished runs.
//!
//! A bar, or a point of a line, is the quotient of a run and the baseline's run of the same workload, or a quotient or
//! rate of the run itself. With several seeds it is computed from their arithmetic means. The interval of the bar is
//! that of its quotients by seed, each of the two runs of one seed. A run without a result, or with a wrong one, gives
//! no bar, and the figure says why.
//!
//! A mean is taken over the workloads for which all series have a bar, so that the means of series can be compared; a
//! series without any bar does not count. The figure says so where these are not all workloads. An average
//! ([`Measure::Average`]) is different: its mean is taken over the workloads that have one.

mod source;

use std::collections::BTreeMap;

use chorus_system::Scale;
use serde::Serialize;

use crate::experiment::{BASELINE, Chart, Experiment, Figure, Series, Show, full_label};
use crate::interval::Interval;
use crate::run::{Record, RunSpec};
use crate::stated::Stated;
use source::{Source, correlations, metrics_of, missing_bars};

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
    /// The paper's own numbers, where its text gives the height of a bar.
    pub stated: Vec<Stated>,
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
    /// The height of each bar for each seed; empty where there is only one seed.
    pub by_seed: Vec<Vec<f64>>,
    /// The height of each part of each bar for each seed; empty where there is only one seed, or bars are not stacked.
    #[serde(skip)]
    pub parts_by_seed: Vec<Vec<Vec<f64>>>,
    /// The mean of each bar over the seeds, with its interval; empty where there is only one seed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub intervals: Vec<Option<Interval>>,
}

impl Group {
    /// A group of bars, with their heights by seed.
    pub(crate) fn new(label: String, baseline: Option<String>, bars: Vec<Bar>, by_seed: Vec<Vec<f64>>) -> Group {
        let mut intervals: Vec<_> = by_seed.iter().map(|heights| Interval::of(heights)).collect();
        if intervals.iter().all(Option::is_none) {
            intervals.clear();
        }
        Group { label, baseline, bars, by_seed, parts_by_seed: Vec::new(), intervals }
    }

    /// The group with the parts of its bars by seed.
    fn with_parts(self, parts_by_seed: Vec<Vec<Vec<f64>>>) -> Group {
        Group { parts_by_seed, ..self }
    }

    /// The interval of a part of a bar, where there are several seeds.
    pub fn part_interval(&self, series: usize, part: usize) -> Option<Interval> {
        let heights = self.parts_by_seed.get(series)?.iter().map(|parts| parts.get(part).copied());
        Interval::of(&heights.collect::<Option<Vec<f64>>>()?)
    }

    /// The interval of a bar, where there are several seeds.
    pub fn interval(&self, series: usize) -> Option<Interval> {
        self.intervals.get(series).copied().flatten()
    }

    /// The least and the greatest height of a bar over the seeds.
    pub fn range(&self, series: usize) -> Option<(f64, f64)> {
        let heights = self.by_seed.get(series)?;
        let least = heights.iter().copied().reduce(f64::min)?;
        Some((least, heights.iter().copied().reduce(f64::max)?))
    }
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
        let workloads: Vec<Group> =
            experiment.workloads_of(figure).into_iter().map(|workload| source.group(workload)).collect();
        let series: Vec<SeriesData> = figure.series.iter().map(SeriesData::new).collect();
        let mut notes = missing_bars(&series, &workloads);
        let means = source.means(&workloads, &mut notes);
        let markers = figure.marker.as_ref().map(|marker| source.markers(marker, &workloads));
        let of_marker = figure.marker.iter().flat_map(|marker| [marker.metric.to_string(), marker.per.to_string()]);
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
            stated: Vec::new(),
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
        let mut lines: Vec<(&String, Vec<usize>)> = Vec::new();
        for (index, series) in self.series.iter().enumerate() {
            let Some(label) = &series.line else { continue };
            match lines.iter_mut().find(|(line, _)| *line == label) {
                Some((_, points)) => points.push(index),
                None => lines.push((label, vec![index])),
            }
        }
        let line = |(label, points): (&String, Vec<usize>)| {
            let bars = points.iter().filter_map(|&point| means.bars.get(point).cloned());
            let by_seed = points.iter().map(|&point| means.by_seed.get(point).cloned().unwrap_or_default());
            Group::new(label.clone(), None, bars.collect(), by_seed.collect())
        };
        lines.into_iter().map(line).collect()
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

    /// The height of a protocol's bar for a workload and one of the seeds, counted from 0.
    pub fn value_of_seed(&self, workload: &str, protocol: &str, variant: Option<&str>, seed: usize) -> Option<f64> {
        let group = self.workloads.iter().find(|group| group.label == workload)?;
        match self.position(protocol, variant) {
            Some(index) => group.by_seed.get(index)?.get(seed).copied(),
            None if self.is_baseline(group, protocol, variant) => {
                group.by_seed.iter().any(|heights| heights.len() > seed).then_some(1.0)
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

    pub(crate) fn position(&self, protocol: &str, variant: Option<&str>) -> Option<usize> {
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
