//! Bars and means, computed from runs.

use chorus_system::Scale;

use super::{Bar, CYCLES, Group, Markers, Results, SeriesData};
use crate::document::Name;
use crate::experiment::{BASELINE, Chart, Experiment, Figure, Marker, Measure, Series};
use crate::run::{CheckResult, Outcome, Record, RunResult};
use crate::stats::{Mean, correlation};

/// The metrics of the bars of a figure.
pub(super) fn metrics_of(figure: &Figure) -> Vec<String> {
    match figure.measure {
        Measure::SpeedUp | Measure::SpeedUpPerCost => vec![CYCLES.to_owned()],
        Measure::Ratio
        | Measure::RatioOfRates
        | Measure::RatioOfQuotients
        | Measure::Quotient
        | Measure::Average
        | Measure::Rate
        | Measure::Count
        | Measure::Latency => match figure.chart {
            Chart::Bars | Chart::Lines | Chart::Scatter => figure.metric.iter().map(ToString::to_string).collect(),
            Chart::StackedBars => figure.parts.iter().map(|part| part.metric.to_string()).collect(),
        },
    }
}

/// The runs and the definition from which the bars of a figure are computed.
pub(super) struct Source<'a> {
    pub(super) experiment: &'a Experiment,
    pub(super) figure: &'a Figure,
    pub(super) scale: Scale,
    pub(super) results: &'a Results<'a>,
    pub(super) metrics: &'a [String],
}

impl Source<'_> {
    /// The bars of one workload.
    pub(super) fn group(&self, workload: String) -> Group {
        let series = self.figure.series.iter();
        let drawn: Vec<Result<Drawn, String>> = series.map(|series| self.drawn(&workload, series)).collect();
        let by_seed = drawn.iter().map(|drawn| drawn.as_ref().map_or_else(|_| Vec::new(), Drawn::totals)).collect();
        let parts = drawn.iter().map(|drawn| drawn.as_ref().map_or_else(|_| Vec::new(), Drawn::parts)).collect();
        let bars = drawn.into_iter().map(|drawn| drawn.map_or_else(Bar::Missing, |drawn| Bar::Parts(drawn.mean)));
        let baseline = self.baseline(&workload);
        Group::new(workload, baseline, bars.collect(), by_seed).with_parts(parts)
    }

    /// The protocol to which a workload is relative.
    fn baseline(&self, workload: &str) -> Option<String> {
        let found = self.experiment.baseline_of(self.figure, workload);
        found.filter(|_| self.figure.measure.is_relative()).map(str::to_owned)
    }

    /// A bar as the mean over the seeds, and as each seed alone has it.
    fn drawn(&self, workload: &str, series: &Series) -> Result<Drawn, String> {
        let figure = self.figure;
        let protocol = self.chosen(workload, series)?;
        let measured = self.measured(workload, protocol, series.variant.as_deref())?;
        if !figure.measure.is_relative() {
            return Ok(Drawn { mean: over_seeds(&measured), by_seed: measured });
        }
        let baseline = self.measured(workload, BASELINE, figure.baseline_variant_of(series));
        let baseline = baseline.map_err(|why| format!("baseline {why}"))?;
        let cost = series.cost.unwrap_or(1.0);
        let relative = |measured: &Vec<f64>, baseline: &Vec<f64>| -> Vec<f64> {
            let whole: f64 = baseline.iter().sum();
            match figure.measure.is_of_time() {
                true => measured.iter().map(|cycles| whole / cycles / cost).collect(),
                false => measured.iter().map(|value| value / whole).collect(),
            }
        };
        let mean = relative(&over_seeds(&measured), &over_seeds(&baseline));
        if mean.iter().all(|quotient| quotient.is_finite()) {
            let by_seed = measured.iter().zip(&baseline).map(|(measured, baseline)| relative(measured, baseline));
            Ok(Drawn { mean, by_seed: by_seed.collect() })
        } else {
            Err("zero".to_owned())
        }
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

    /// The metrics of the figure for each seed.
    fn measured(&self, workload: &str, protocol: &str, variant: Option<&str>) -> Result<Vec<Vec<f64>>, String> {
        let runs = self.experiment.runs_for(self.figure, workload, protocol, variant, self.scale);
        if runs.is_empty() {
            return Err("not in the matrix".to_owned());
        }
        let of_run = |spec| -> Result<Vec<f64>, String> {
            let result = usable(self.results.get(spec))?;
            self.metrics.iter().map(|metric| self.metric(result, metric)).collect()
        };
        runs.iter().map(of_run).collect()
    }

    /// The means of the figure, each over the workloads that all series have.
    pub(super) fn means(&self, workloads: &[Group], notes: &mut Vec<String>) -> Vec<Group> {
        let figure = self.figure;
        let mut groups = Vec::new();
        for (mean, label, over) in self.experiment.means_of(figure) {
            let members: Vec<&Group> = workloads.iter().filter(|group| over.contains(&group.label)).collect();
            // An average that does not exist says nothing against those that do.
            let common = match figure.measure {
                Measure::Average => members.clone(),
                _ => common(figure.series.len(), &members),
            };
            notes.extend(smaller_mean(&label, &members, &common));
            let bars = (0..figure.series.len()).map(|index| mean_bar(mean, &common, index)).collect();
            let by_seed = (0..figure.series.len()).map(|index| mean_by_seed(mean, &common, index)).collect();
            let parts = (0..figure.series.len()).map(|index| mean_of_parts_by_seed(mean, &common, index)).collect();
            groups.push(Group::new(label, None, bars, by_seed).with_parts(parts));
        }
        groups
    }

    /// The marker of each workload: the quotient of two metrics, each summed over the seeds.
    pub(super) fn markers(&self, marker: &Marker, workloads: &[Group]) -> Markers {
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
            Measure::SpeedUp | Measure::SpeedUpPerCost | Measure::Ratio | Measure::Count | Measure::Latency => {
                Ok(value)
            }
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
pub(super) fn correlations(series: usize, workloads: &[Group], places: &[Option<f64>]) -> Vec<Option<f64>> {
    let of_series = |index: usize| {
        let point = |(group, place): (&Group, &Option<f64>)| Some(((*place)?, group.bars.get(index)?.value()?));
        correlation(&workloads.iter().zip(places).filter_map(point).collect::<Vec<_>>())
    };
    (0..series).map(of_series).collect()
}

/// A bar that can be drawn: its parts as the mean over the seeds, and for each seed.
struct Drawn {
    mean: Vec<f64>,
    by_seed: Vec<Vec<f64>>,
}

impl Drawn {
    /// The height for each seed; empty where there is only one.
    fn totals(&self) -> Vec<f64> {
        match self.by_seed.as_slice() {
            [_] => Vec::new(),
            several => several.iter().map(|parts| parts.iter().sum()).collect(),
        }
    }

    /// The height of each part for each seed; empty where there is only one seed or one part.
    fn parts(&self) -> Vec<Vec<f64>> {
        match (self.by_seed.as_slice(), self.mean.len()) {
            ([_], _) | (_, 1) => Vec::new(),
            (several, _) => several.to_vec(),
        }
    }
}

/// The arithmetic mean of each metric over the seeds.
fn over_seeds(by_seed: &[Vec<f64>]) -> Vec<f64> {
    let metrics = by_seed.first().map_or(0, Vec::len);
    (0..metrics).map(|metric| by_seed.iter().map(|values| values[metric]).sum::<f64>() / by_seed.len() as f64).collect()
}

/// The mean of one series over some workloads for each seed; empty where a workload has only one.
fn mean_by_seed(mean: Mean, workloads: &[&Group], series: usize) -> Vec<f64> {
    let by_seed: Vec<&Vec<f64>> = workloads.iter().filter_map(|group| group.by_seed.get(series)).collect();
    let seeds = by_seed.iter().map(|heights| heights.len()).min().unwrap_or(0);
    let of_seed = |seed: usize| mean.of(&by_seed.iter().map(|heights| heights[seed]).collect::<Vec<_>>());
    (0..seeds).map_while(of_seed).collect()
}

/// The mean of each part of one series over some workloads for each seed; empty where a workload has only one.
fn mean_of_parts_by_seed(mean: Mean, workloads: &[&Group], series: usize) -> Vec<Vec<f64>> {
    let by_seed: Vec<&Vec<Vec<f64>>> = workloads.iter().filter_map(|group| group.parts_by_seed.get(series)).collect();
    let seeds = by_seed.iter().map(|seeds| seeds.len()).min().unwrap_or(0);
    let of_seed = |seed: usize| -> Option<Vec<f64>> {
        let parts = by_seed.first()?.get(seed)?.len();
        let of_part = |part: usize| mean.of(&by_seed.iter().map(|seeds| seeds[seed][part]).collect::<Vec<_>>());
        (0..parts).map(of_part).collect()
    };
    (0..seeds).map_while(of_seed).collect()
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
pub(super) fn missing_bars(series: &[SeriesData], workloads: &[Group]) -> Vec<String> {
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
