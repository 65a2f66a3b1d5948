//! The suite: kernels whose times and counters are compared with those of a GPU.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

use super::description::{Description, beside};
use super::measured::{Caches, Measured, SuiteRow};
use super::spec_of;
use crate::run::{KernelResult, Record, RunResult, RunSpec};
use crate::stats::correlation;

/// The passes over a program. The first one is cold, the second one warm. Where a profiler counted on the GPU, others
/// follow that replay launches as it does: a cold one, unless the program has one launch, and a warm one.
const PASSES: usize = 2;

/// A case of the suite with the run that answers it.
pub(super) struct Case {
    kernel: String,
    size: u32,
    caches: Caches,
    /// Whether the run has passes that replay launches.
    replays: bool,
    pub(super) spec: RunSpec,
}

/// A number of a case: of the simulated machine, and of the GPU where it was measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Pair {
    /// The number on the GPU.
    pub measured: Option<f64>,
    /// The number on the simulated machine.
    pub simulated: Option<f64>,
    /// A difference that says nothing.
    #[serde(skip)]
    pub noise: f64,
}

impl Pair {
    /// Whether there is a number on both sides.
    pub fn has_both(&self) -> bool {
        self.measured.is_some() && self.simulated.is_some()
    }

    /// The relative error, with its sign. A difference that is noise is no error.
    pub fn error(&self) -> Option<f64> {
        let (measured, simulated) = (self.measured?, self.simulated?);
        match measured {
            _ if (simulated - measured).abs() <= self.noise => Some(0.0),
            0.0 => None,
            measured => Some(simulated / measured - 1.0),
        }
    }
}

/// The numbers of a case on the simulated machine beside those on the GPU.
#[derive(Clone, Debug, Serialize)]
pub struct CaseResult {
    /// The name of the kernel.
    pub kernel: String,
    /// The number of its size.
    pub size: u32,
    /// The state of the caches before: `warm` or `cold`.
    pub caches: &'static str,
    /// Microseconds between events around the launches.
    pub microseconds: Pair,
    /// Counters by the names of the description, in its order.
    pub counters: Vec<(String, Pair)>,
    /// The reason why the machine has no numbers.
    pub trouble: Option<String>,
}

impl CaseResult {
    /// The title of one of its numbers in tables.
    pub fn title(&self, quantity: &str) -> String {
        title(&self.kernel, self.size, self.caches, quantity)
    }

    /// Whether nothing was measured, so that the numbers of the machine are predictions.
    pub fn is_prediction(&self) -> bool {
        self.microseconds.measured.is_none()
    }
}

/// How well the times of one state of the caches agree.
#[derive(Clone, Debug, Serialize)]
pub struct Agreement {
    /// The state of the caches before: `warm` or `cold`.
    pub caches: &'static str,
    /// The cases with a time on both sides.
    pub cases: usize,
    /// The correlation of the logarithms of the times.
    pub correlation: Option<f64>,
    /// The mean of the absolute relative errors.
    pub mean_absolute_error: Option<f64>,
}

/// How many cases have a counter that agrees.
#[derive(Clone, Debug, Serialize)]
pub struct CounterAgreement {
    /// The name of the counter.
    pub name: String,
    /// The state of the caches before: `warm` or `cold`.
    pub caches: &'static str,
    /// The cases with the counter on both sides.
    pub cases: usize,
    /// The cases that are within [`COUNTERS_WITHIN`], or whose difference is noise.
    pub near: usize,
}

/// The relative error up to which a counter agrees.
pub const COUNTERS_WITHIN: f64 = 0.1;

/// The name of the time of a case in titles.
pub const MICROSECONDS: &str = "microseconds";

fn title(kernel: &str, size: u32, caches: &str, quantity: &str) -> String {
    format!("{kernel} {size}, {caches}, {quantity}")
}

/// The titles of all numbers of a row of the list.
pub(super) fn titles(description: &Description, row: &SuiteRow) -> Vec<String> {
    let quantities = || std::iter::once(MICROSECONDS).chain(description.counters.iter().map(|pair| pair.name.as_str()));
    let of = |caches: Caches| quantities().map(move |quantity| title(&row.kernel, row.size, caches.name(), quantity));
    [Caches::Warm, Caches::Cold].into_iter().flat_map(of).collect()
}

/// The cases of a description's list, cold and warm.
pub(super) fn cases(description: &Description, rows: Vec<SuiteRow>, quick: bool) -> Vec<Case> {
    let list = description.path(&description.suite);
    let folder = Path::new(&list).parent().unwrap_or(Path::new(""));
    let replays = description.replay_mib.is_some();
    let passes = [Some(format!("passes={PASSES}")), description.replay_mib.map(|mib| format!("replay_mib={mib}"))];
    let passes: Vec<String> = passes.into_iter().flatten().collect();
    let mut cases = Vec::new();
    for row in rows.into_iter().filter(|row| !quick || row.size == 0) {
        let spec = spec_of(description, &beside(folder, &row.program), &row.sizes, &passes);
        for caches in [Caches::Warm, Caches::Cold] {
            cases.push(Case { kernel: row.kernel.clone(), size: row.size, caches, replays, spec: spec.clone() });
        }
    }
    cases
}

impl Case {
    /// Compares the run of the case with what was measured.
    pub(super) fn judge(&self, description: &Description, measured: &Measured, record: Option<&Record>) -> CaseResult {
        let key = (self.kernel.clone(), self.size, self.caches);
        let result = record.filter(|record| record.trouble().is_none()).and_then(Record::result);
        let trouble = match record {
            None => Some("it was not run".to_owned()),
            Some(record) => record.trouble().map(str::to_owned),
        };
        let simulated = result.map(|result| {
            let cycles: u64 = self.pass_of(result, false).iter().map(|kernel| kernel.cycles).sum();
            let ns_per_cycle = result.simulated_ns / result.cycles as f64;
            cycles as f64 * ns_per_cycle / 1000.0 + description.between_events(self.caches)
        });
        let columns = measured.counters.get(&key);
        let counted = result.map(|result| self.pass_of(result, self.replays));
        let counters = description.counters.iter().map(|pair| {
            let on_gpu = columns.and_then(|columns| sum(&pair.measured, columns));
            let each = counted.iter().flatten().map(|kernel| sum(&pair.simulated, &kernel.metrics));
            let on_machine = each.reduce(|all, one| Some(all? + one?)).flatten();
            (pair.name.clone(), Pair { measured: on_gpu, simulated: on_machine, noise: pair.noise })
        });
        CaseResult {
            kernel: self.kernel.clone(),
            size: self.size,
            caches: self.caches.name(),
            microseconds: Pair { measured: measured.times.get(&key).copied(), simulated, noise: 0.0 },
            counters: counters.collect(),
            trouble,
        }
    }

    /// The launches of the pass that finds the caches as the case says: of one that is timed, or of one that a profiler
    /// counts. What the host does has a name of two words, and is no part of a measurement.
    fn pass_of<'r>(&self, result: &'r RunResult, is_counted: bool) -> Vec<&'r KernelResult> {
        let launches: Vec<&KernelResult> = result.kernels.iter().filter(|kernel| !kernel.name.contains(' ')).collect();
        let passes = match (self.replays, launches.len()) {
            (false, _) => PASSES,
            (true, count) if count == PASSES + 1 => PASSES + 1,
            (true, _) => 2 * PASSES,
        };
        let pass = match (self.caches, is_counted) {
            (Caches::Cold, true) if passes == 2 * PASSES => PASSES,
            (Caches::Cold, _) => 0,
            (Caches::Warm, false) => 1,
            (Caches::Warm, true) => passes - 1,
        };
        let each = launches.len() / passes;
        launches[pass * each..][..each].to_vec()
    }
}

/// The sum of some numbers, if there is any of them.
fn sum(names: &[String], numbers: &BTreeMap<String, f64>) -> Option<f64> {
    names.iter().filter_map(|name| numbers.get(name)).copied().reduce(|all, one| all + one)
}

/// How well the times agree, for each state of the caches.
pub(super) fn agreements(cases: &[CaseResult]) -> Vec<Agreement> {
    let agreement = |caches: Caches| {
        let of_caches = || cases.iter().filter(|case| case.caches == caches.name());
        let both = of_caches().filter_map(|case| case.microseconds.measured.zip(case.microseconds.simulated));
        let points: Vec<(f64, f64)> = both.map(|(measured, simulated)| (measured.ln(), simulated.ln())).collect();
        let errors: Vec<f64> = of_caches().filter_map(|case| Some(case.microseconds.error()?.abs())).collect();
        let mean = (!errors.is_empty()).then(|| errors.iter().sum::<f64>() / errors.len() as f64);
        Agreement {
            caches: caches.name(),
            cases: points.len(),
            correlation: correlation(&points),
            mean_absolute_error: mean,
        }
    };
    [Caches::Warm, Caches::Cold].map(agreement).into()
}

/// How many cases agree in each counter, for each state of the caches.
pub(super) fn counter_agreements(cases: &[CaseResult], description: &Description) -> Vec<CounterAgreement> {
    let mut agreements = Vec::new();
    for (index, counter) in description.counters.iter().enumerate() {
        for caches in [Caches::Warm, Caches::Cold].map(Caches::name) {
            let of_caches = cases.iter().filter(|case| case.caches == caches);
            let both = of_caches.filter_map(|case| case.counters.get(index)).filter(|(_, pair)| pair.has_both());
            let (mut cases, mut near) = (0, 0);
            for (_, pair) in both {
                cases += 1;
                near += usize::from(pair.error().is_some_and(|error| error.abs() <= COUNTERS_WITHIN));
            }
            agreements.push(CounterAgreement { name: counter.name.clone(), caches, cases, near });
        }
    }
    agreements
}

/// The numbers of the machine for all cases that were not measured, as CSV.
pub fn predictions(cases: &[CaseResult]) -> String {
    let names = cases.first().map_or(Vec::new(), |case| case.counters.iter().map(|(name, _)| name.as_str()).collect());
    let header = ["kernel", "size", "caches", "microseconds"].into_iter().chain(names);
    let mut text = header.collect::<Vec<_>>().join(",") + "\n";
    for case in cases.iter().filter(|case| case.is_prediction() && case.trouble.is_none()) {
        let number =
            |pair: &Pair, decimals: usize| pair.simulated.map_or(String::new(), |it| format!("{it:.decimals$}"));
        let counters = case.counters.iter().map(|(_, pair)| number(pair, 0));
        let first = [case.kernel.clone(), case.size.to_string(), case.caches.to_owned(), number(&case.microseconds, 3)];
        text += &(first.into_iter().chain(counters).collect::<Vec<_>>().join(",") + "\n");
    }
    text
}
