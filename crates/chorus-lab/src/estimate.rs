//! How long the runs of a reproduction will take, from what earlier runs cost.
//!
//! The cost of a run is known where any build made the same run before. Otherwise it is taken from the same workload on
//! the same machine at the same scale under other protocols, or from the same workload at another scale. The time of
//! the latter is multiplied by the quotient of the machines' compute units: inputs grow as machines do, so accesses at
//! least do so as well. What remains is unknown, and counted as such.

use std::collections::BTreeMap;

use chorus_registry::Registry;
use chorus_system::Scale;
use serde::Serialize;

use crate::run::{Record, RunSpec};
use crate::setup;

/// The known costs of runs.
#[derive(Debug, Default)]
pub struct Costs {
    /// The latest cost of each run.
    exact: BTreeMap<RunSpec, Cost>,
    /// The costs of a workload on a machine at a scale, observed or not.
    alike: BTreeMap<(String, String, Scale, bool), Vec<Cost>>,
}

/// The cost of one run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// Processor time in seconds.
    pub processor_s: f64,
    /// The most memory of the process, in bytes.
    pub memory: Option<u64>,
}

/// Where the cost of a run is known from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Basis {
    /// An earlier run that is the same.
    Same,
    /// Runs of the workload there under other protocols or parameters.
    OtherProtocol,
    /// Runs of the workload at another scale.
    OtherScale,
}

/// The cost of some runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Estimate {
    /// The runs that are asked for.
    pub runs: usize,
    /// Runs that the store has already.
    pub there: usize,
    /// Runs to make that an earlier build made before.
    pub by_same: usize,
    /// Runs to make that are judged by runs under other protocols.
    pub by_other_protocols: usize,
    /// Runs to make that are judged by runs at another scale.
    pub by_other_scales: usize,
    /// Runs to make of which nothing is known.
    pub unknown: usize,
    /// The processor time of all known runs to make, in seconds.
    pub processor_s: f64,
    /// The processor time of the longest run, in seconds.
    pub longest_s: f64,
    /// The most memory that such a run took, in bytes; none where no run says so.
    pub memory_bytes: Option<u64>,
}

impl Costs {
    /// Takes the costs from records of runs.
    pub fn of(records: impl IntoIterator<Item = Record>) -> Costs {
        let mut costs = Costs::default();
        for record in records {
            let Some(result) = record.result() else { continue };
            let cost = Cost { processor_s: result.user_s, memory: result.peak_rss_bytes };
            let RunSpec { system, workload, scale, observed, .. } = &record.spec;
            let key = (system.clone(), workload.clone(), *scale, *observed);
            costs.alike.entry(key).or_default().push(cost);
            costs.exact.insert(record.spec, cost);
        }
        costs
    }

    /// The cost of a run, as far as anything is known about it.
    pub fn of_run(&self, registry: &Registry, spec: &RunSpec) -> Option<(Basis, Cost)> {
        if let Some(cost) = self.exact.get(spec) {
            return Some((Basis::Same, *cost));
        }
        let at = |scale| {
            let key = (spec.system.clone(), spec.workload.clone(), scale, spec.observed);
            self.alike.get(&key).and_then(|costs| average(costs))
        };
        if let Some(cost) = at(spec.scale) {
            return Some((Basis::OtherProtocol, cost));
        }
        // The nearest scale comes first: Scale::ALL rises.
        let mut others: Vec<Scale> = Scale::ALL.into_iter().filter(|scale| *scale != spec.scale).collect();
        others.sort_by_key(|scale| (*scale as i32 - spec.scale as i32).abs());
        let (scale, cost) = others.into_iter().find_map(|scale| at(scale).map(|cost| (scale, cost)))?;
        let units = |scale| compute_units(registry, &RunSpec { scale, set: Vec::new(), ..spec.clone() });
        let growth = units(spec.scale)? / units(scale)?;
        Some((Basis::OtherScale, Cost { processor_s: cost.processor_s * growth, memory: None }))
    }
}

/// The mean time, and the largest memory.
fn average(costs: &[Cost]) -> Option<Cost> {
    let processor_s = costs.iter().map(|cost| cost.processor_s).sum::<f64>() / costs.len() as f64;
    let memory = costs.iter().filter_map(|cost| cost.memory).max();
    (!costs.is_empty()).then_some(Cost { processor_s, memory })
}

fn compute_units(registry: &Registry, spec: &RunSpec) -> Option<f64> {
    let config = setup::resolve(registry, spec).ok()?.system.config;
    Some(f64::from(config.hierarchy.gpus * config.hierarchy.gpms * config.core.count))
}

impl Estimate {
    /// Estimates some runs; `is_there` says which the store has already.
    pub fn new(
        registry: &Registry,
        costs: &Costs,
        runs: &[RunSpec],
        mut is_there: impl FnMut(&RunSpec) -> bool,
    ) -> Estimate {
        let mut estimate = Estimate { runs: runs.len(), ..Estimate::default() };
        for spec in runs {
            if is_there(spec) {
                estimate.there += 1;
                continue;
            }
            let Some((basis, cost)) = costs.of_run(registry, spec) else {
                estimate.unknown += 1;
                continue;
            };
            match basis {
                Basis::Same => estimate.by_same += 1,
                Basis::OtherProtocol => estimate.by_other_protocols += 1,
                Basis::OtherScale => estimate.by_other_scales += 1,
            }
            estimate.add(cost);
        }
        estimate
    }

    fn add(&mut self, cost: Cost) {
        self.processor_s += cost.processor_s;
        self.longest_s = self.longest_s.max(cost.processor_s);
        self.memory_bytes = self.memory_bytes.max(cost.memory);
    }

    /// The time on so many cores: shared evenly, but no less than the longest run.
    pub fn wall_s(&self, jobs: usize) -> f64 {
        (self.processor_s / jobs.max(1) as f64).max(self.longest_s)
    }

    /// Both estimates added up.
    pub fn with(self, other: &Estimate) -> Estimate {
        Estimate {
            runs: self.runs + other.runs,
            there: self.there + other.there,
            by_same: self.by_same + other.by_same,
            by_other_protocols: self.by_other_protocols + other.by_other_protocols,
            by_other_scales: self.by_other_scales + other.by_other_scales,
            unknown: self.unknown + other.unknown,
            processor_s: self.processor_s + other.processor_s,
            longest_s: self.longest_s.max(other.longest_s),
            memory_bytes: self.memory_bytes.max(other.memory_bytes),
        }
    }
}

/// A time in the unit that suits it.
pub fn duration(seconds: f64) -> String {
    match seconds {
        under_minute if under_minute < 60.0 => format!("{under_minute:.1} s"),
        under_hour if under_hour < 3600.0 => format!("{:.1} min", under_hour / 60.0),
        hours => format!("{:.1} h", hours / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::duration;

    #[test]
    fn times_are_in_units_that_suit_them() {
        assert_eq!([5.0, 90.0, 9000.0].map(duration), ["5.0 s", "1.5 min", "2.5 h"]);
    }
}
