//! Runs all checks of one protocol and collects their results.

use std::time::Instant;

use chorus_protocol::registry::{FaultSpec, MemoryModel, Protocol, Reach};
use chorus_registry::Registry;
use chorus_verify::check::{CheckConfig, check, configurations, larger_configurations, quick_configurations};
use chorus_verify::config::Stores;
use chorus_verify::faults::BriefLook;
use chorus_verify::litmus::{DISCRIMINATORS, LitmusResult, SuiteTest, run_litmus};
use chorus_verify::mutate::score as mutate;
use chorus_verify::networks::{Attempt, NetworkReport, default_settings, smallest, try_sharing};
use chorus_verify::torture::Settings;
use rayon::iter::{IntoParallelIterator, ParallelIterator};

use crate::checked::Checked;
use crate::faults::{FaultHunt, FaultSearch};
use crate::mutants::try_sample;
use crate::steps::Steps;
use crate::tortured::{Tortured, torture_one};
use crate::words::{count, mutant_words, verdict};

/// The discriminator that compares scopes.
const CUMULATIVITY: &str = "ISA2+cta-gpu";

/// The amount of checking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Every configuration, litmus test and fault, and the search for the fewest virtual networks.
    Full,
    /// The smallest configurations, the discriminators, the declared virtual networks and fewer random steps.
    Quick,
}

impl Extent {
    /// The word for this extent on pages and in JSON: `full` or `quick`.
    pub fn name(self) -> &'static str {
        match self {
            Extent::Full => "full",
            Extent::Quick => "quick",
        }
    }

    pub(crate) fn configurations(self, protocol: &dyn Protocol) -> Vec<CheckConfig> {
        match self {
            Extent::Full => [configurations(protocol), larger_configurations(protocol)].concat(),
            Extent::Quick => quick_configurations(protocol),
        }
    }

    fn tests(self, registry: &Registry, protocol: &dyn Protocol) -> Vec<SuiteTest> {
        let mut tests = registry.litmus_tests_of(protocol);
        if self == Extent::Quick {
            // In one module all scopes mean the same.
            let is_told = |name: &str| name != CUMULATIVITY || protocol.reach() == Reach::AnyMachine;
            tests.retain(|test| DISCRIMINATORS.contains(&test.name()) && is_told(test.name()));
        }
        tests
    }

    /// The number of steps that the random driver takes on the protocol without a fault.
    fn steps(self) -> u64 {
        match self {
            Extent::Full => Settings::default().steps,
            Extent::Quick => 1_000_000,
        }
    }

    /// The number of mutants of each protocol that are tried unless somebody asks for another number.
    pub fn mutants(self) -> usize {
        match self {
            Extent::Full => 60,
            Extent::Quick => 0,
        }
    }

    /// The number of steps within which the random driver must find a seeded fault.
    pub fn steps_per_fault(self) -> u64 {
        match self {
            Extent::Full => 2_000_000,
            Extent::Quick => 500_000,
        }
    }
}

/// The kinds of core that litmus tests are run with. Cores with posted stores always take part. If the model promises
/// atomic writes, cores that wait for their stores take part too, because they must then see sequential consistency.
fn cores(protocol: &dyn Protocol) -> &'static [Stores] {
    match protocol.model() {
        MemoryModel::WriteAtomicRc => &[Stores::Posted, Stores::Blocking],
        MemoryModel::Rcpc | MemoryModel::ScForDrf | MemoryModel::Ptx | MemoryModel::PerLocation => &[Stores::Posted],
    }
}

/// The result of one litmus test with its time.
pub struct Tested {
    /// The outcomes of the test and the verdict on them.
    pub result: LitmusResult,
    /// Wall-clock time of the test, in seconds.
    pub seconds: f64,
}

impl Tested {
    /// Whether this is one of the tests that tell protocols apart.
    pub fn is_discriminator(&self) -> bool {
        DISCRIMINATORS.contains(&self.result.test.name())
    }
}

/// The results of all litmus tests, with every kind of core.
#[derive(Default)]
pub struct Litmus {
    /// The tests that were run.
    pub tested: Vec<Tested>,
    /// The tests that cannot be run on the machine: name and reason.
    pub not_run: Vec<(String, String)>,
}

impl Litmus {
    /// The results with cores of one kind.
    pub fn beside(&self, stores: Stores) -> impl Iterator<Item = &Tested> {
        self.tested.iter().filter(move |tested| tested.result.stores == stores)
    }
}

/// The results of all checks of one protocol.
pub struct Proof {
    /// The protocol that was checked.
    pub protocol: &'static dyn Protocol,
    /// The results of its configurations.
    pub configurations: Vec<Checked>,
    /// The results of its litmus tests.
    pub litmus: Litmus,
    /// The result of its virtual networks. If only the declared ones were tried, the smallest number is not known.
    pub networks: NetworkReport,
    /// The result of the random driver.
    pub random: Tortured,
    /// The results of its seeded faults.
    pub faults: Vec<FaultSearch>,
    /// The fates of its mutants; none if no mutants were tried.
    pub mutants: Option<mutate::Score>,
    /// Wall-clock time of all checks together, in seconds.
    pub seconds: f64,
}

/// The number of seeded faults, and how many of them each kind of check found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Score {
    /// Number of faults that the protocol declares and that change something.
    pub seeded: usize,
    /// Number of faults that change nothing under this protocol, though they do under others with the same controllers.
    pub without_effect: usize,
    /// Number of faults that were found: by the exhaustive driver, or for [`Extent::Quick`] by either.
    pub caught: usize,
    /// Number of faults that brief looks into configurations and programs found by themselves; none if that was not
    /// asked.
    pub by_configuration: Option<usize>,
    /// Number of faults that brief looks into litmus tests found by themselves; none if that was not asked.
    pub by_litmus: Option<usize>,
    /// Number of faults that the random driver found by itself.
    pub by_random: usize,
}

impl Proof {
    /// Whether every check passed. A search that met a bound did not pass.
    pub fn passed(&self) -> bool {
        self.configurations.iter().all(|checked| checked.report.passed())
            && self.litmus.tested.iter().all(|tested| tested.result.passed())
            && self.networks.is_declared_free()
            && self.random.passed()
            && self.faults.iter().all(|fault| fault.is_caught() || fault.changes_nothing)
    }

    /// Whether some run of the protocol without a mistake broke a rule.
    pub fn shows_violation(&self) -> bool {
        self.configurations.iter().any(|checked| checked.report.chart().is_some())
            || self.litmus.tested.iter().any(|tested| tested.result.failure.is_some())
            || !self.random.report.passed()
    }

    /// Number of states that all configurations and litmus tests visited together.
    pub fn states(&self) -> usize {
        let configurations = self.configurations.iter().map(|checked| checked.report.states);
        configurations.chain(self.litmus.tested.iter().map(|tested| tested.result.states)).sum()
    }

    /// The number of faults that each kind of check found.
    pub fn score(&self) -> Score {
        let counted =
            |is_found: &dyn Fn(&FaultSearch) -> bool| self.faults.iter().filter(|fault| is_found(fault)).count();
        let asked = self.faults.iter().any(|fault| fault.alone.is_some());
        let alone = |is_found: &dyn Fn(&BriefLook) -> bool| {
            asked.then(|| counted(&|fault| fault.alone.as_ref().is_some_and(is_found)))
        };
        Score {
            seeded: counted(&|fault| !fault.changes_nothing),
            without_effect: counted(&|fault| fault.changes_nothing),
            caught: counted(&FaultSearch::is_caught),
            by_configuration: alone(&|look| look.by_configuration.is_some()),
            by_litmus: alone(&|look| look.by_litmus.is_some()),
            by_random: counted(&|fault| fault.by_random.is_some()),
        }
    }
}

/// The number of progress steps that the checks of a protocol and its `mutants` take.
pub fn steps(registry: &Registry, protocol: &dyn Protocol, extent: Extent, mutants: usize) -> usize {
    let tests = extent.tests(registry, protocol).len() * cores(protocol).len();
    // One step is for the virtual networks, and one for the random driver.
    extent.configurations(protocol).len() + tests + 2 + protocol.faults().len() + usize::from(mutants > 0)
}

/// Runs the checks of one protocol.
pub struct Collector<'a> {
    /// Everything that can be named; the litmus tests come from here.
    pub registry: &'a Registry,
    /// The protocol to check.
    pub protocol: &'static dyn Protocol,
    /// The amount of checking.
    pub extent: Extent,
    /// The most mutants that are tried.
    pub mutants: usize,
    /// The display that is told about every step.
    pub progress: &'a dyn Steps,
}

impl Collector<'_> {
    /// Does one step and reports its result as progress. Returns the result and its wall-clock time in seconds.
    fn step<T>(&self, what: &str, work: impl FnOnce() -> T, tell: impl FnOnce(&T) -> String) -> (T, f64) {
        let name = self.protocol.name();
        self.progress.begin(&format!("{name}: {what}"));
        let start = Instant::now();
        let value = work();
        let seconds = start.elapsed().as_secs_f64();
        self.progress.finish(&format!("{name}: {what}: {}, {seconds:.1} s", tell(&value)));
        (value, seconds)
    }

    /// Explores every configuration of this extent.
    pub fn configurations(&self) -> Vec<Checked> {
        let checked = |config: CheckConfig| {
            let work = || Checked::new(&config, check(self.protocol, None, &config), 0.0);
            let tell =
                |checked: &Checked| format!("{}, {} states", checked.verdict(), count(checked.report.states as u64));
            let (checked, seconds) = self.step(&format!("configuration {}", config.name), work, tell);
            Checked { seconds, ..checked }
        };
        self.extent.configurations(self.protocol).into_iter().map(checked).collect()
    }

    /// Runs every litmus test with every kind of core.
    pub fn litmus(&self) -> Litmus {
        let mut litmus = Litmus::default();
        let tests = self.extent.tests(self.registry, self.protocol);
        for &stores in cores(self.protocol) {
            for test in &tests {
                let what = match stores {
                    Stores::Posted => format!("litmus test {}", test.name()),
                    Stores::Blocking => format!("litmus test {}, cores that wait for their stores", test.name()),
                };
                let (result, seconds) = self.step(
                    &what,
                    || run_litmus(self.protocol, None, test, stores),
                    |result| match result {
                        Ok(result) => format!("{}, {} states", verdict(result), count(result.states as u64)),
                        Err(reason) => format!("not run: {reason}"),
                    },
                );
                match result {
                    Ok(result) => litmus.tested.push(Tested { result, seconds }),
                    Err(reason) => litmus.not_run.push((test.name().to_owned(), reason.to_string())),
                }
            }
        }
        litmus
    }

    /// Searches for the smallest number of virtual networks. [`Extent::Quick`] only checks that the declared ones
    /// suffice.
    pub fn networks(&self) -> NetworkReport {
        let declared = self.protocol.virtual_networks();
        let only_declared = || {
            let pools: Vec<u8> = (0..declared).collect();
            let attempts = vec![Attempt { sharing: try_sharing(self.protocol, &pools, &default_settings()), pools }];
            NetworkReport { protocol: self.protocol.name(), declared, smallest: None, attempts }
        };
        let work = || match self.extent {
            Extent::Full => smallest(self.protocol, &default_settings()),
            Extent::Quick => only_declared(),
        };
        let tell = |report: &NetworkReport| {
            if report.is_declared_free() { "free of deadlock" } else { "not free of deadlock" }.to_owned()
        };
        self.step("virtual networks", work, tell).0
    }

    /// Runs the random driver on the protocol without a fault.
    pub fn random(&self) -> Tortured {
        let settings = Settings { steps: self.extent.steps(), ..Settings::default() };
        torture_one(self.protocol, None, &settings, self.progress)
    }

    /// Searches for every seeded fault. `configurations` are those without a fault. The random driver takes part only
    /// if it passed the protocol without a fault: otherwise it would blame the fault for a violation that is always
    /// there.
    pub fn faults(&self, random: &Tortured, configurations: &[Checked]) -> Vec<FaultSearch> {
        let plain = self.extent.configurations(self.protocol).into_iter().zip(configurations).collect();
        let hunt = FaultHunt::new(self.protocol, self.extent, plain, random.report.passed());
        let search = |(index, spec): (u8, &FaultSpec)| {
            self.step(&format!("fault {}", spec.name), || hunt.search(index, *spec), FaultSearch::words).0
        };
        // Most searches have too few states for several threads, so they are made side by side.
        let faults: Vec<(u8, &FaultSpec)> = (0..).zip(self.protocol.faults()).collect();
        faults.into_par_iter().map(search).collect()
    }

    /// Tries a sample of mutants, unless none are asked for. If a check shows a violation of the protocol itself, no
    /// mutant is tried: every one would be found for the violation that is always there.
    pub fn mutants(&self, is_sound: bool) -> Option<mutate::Score> {
        let work = || is_sound.then(|| try_sample(self.protocol, self.mutants, self.progress));
        let tell = |score: &Option<mutate::Score>| {
            score.as_ref().map_or("not tried, the protocol itself is wrong".to_owned(), mutant_words)
        };
        if self.mutants > 0 { self.step("mutants", work, tell).0 } else { None }
    }
}
