//! Counters over time: the growth of each of them in every interval of a run.

use chorus_protocol::save::{self, Restore, Save};

use crate::clock::Ticks;
use crate::machine::NEVER;
use crate::simulate::Metrics;
use crate::stats::Stats;

/// Most intervals of a run. More would fill memory without telling more.
pub const INTERVALS_MAX: usize = 100_000;

/// The growth of counters in each interval of a run. The sum over all intervals is the counter of the whole run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// The length of an interval in core cycles. The last one may be shorter.
    pub every: u64,
    /// The core cycle at which each interval ends.
    pub ends: Vec<u64>,
    /// The counters that are not zero throughout, by their keys, with their growth in each interval.
    pub counters: Vec<(String, Vec<f64>)>,
}

/// Counters at the end of an interval.
#[derive(Save)]
pub(crate) struct Sample {
    pub(crate) time: Ticks,
    pub(crate) stats: Stats,
    pub(crate) tallies: Vec<(String, f64)>,
}

/// The samples of a run that is under way.
#[derive(Restore)]
pub(crate) struct Sampler {
    #[save(built)]
    every: Ticks,
    /// When the next sample is taken.
    pub(crate) next: Ticks,
    pub(crate) samples: Vec<Sample>,
}

impl Sampler {
    /// Takes a sample every so many ticks, or none.
    pub(crate) fn new(every: Option<Ticks>) -> Sampler {
        Sampler { every: every.unwrap_or(0), next: every.unwrap_or(NEVER), samples: Vec::new() }
    }

    /// Adds the sample that is due.
    pub(crate) fn add(&mut self, (stats, tallies): (Stats, Vec<(String, f64)>)) {
        self.samples.push(Sample { time: self.next, stats, tallies });
        self.next += self.every;
    }
}

/// Whether a metric is a count that grows, so that its values in intervals add up.
fn is_counter(key: &str) -> bool {
    !key.starts_with("energy.") && !key.starts_with("table.") && !key.ends_with(".utilisation")
}

impl Series {
    /// The growth of counters from one sample to the next. `metrics` gives the metrics of a sample's counters.
    pub(crate) fn new(
        every: u64,
        samples: &[Sample],
        metrics: impl Fn(&Stats) -> Metrics,
        core: crate::clock::Clock,
    ) -> Series {
        let mut series = Series { every, ..Series::default() };
        let mut before: Vec<f64> = Vec::new();
        for sample in samples {
            let mut counted = metrics(&sample.stats);
            counted.extend(sample.tallies.iter().cloned());
            counted.retain(|key, _| is_counter(key));
            if series.counters.is_empty() {
                series.counters = counted.keys().map(|key| (key.clone(), Vec::new())).collect();
                before = vec![0.0; counted.len()];
            }
            for (((_, growth), before), &now) in series.counters.iter_mut().zip(&mut before).zip(counted.values()) {
                growth.push(now - *before);
                *before = now;
            }
            series.ends.push(core.count(sample.time));
        }
        series.counters.retain(|(_, growth)| growth.iter().any(|&growth| growth != 0.0));
        series
    }
}
