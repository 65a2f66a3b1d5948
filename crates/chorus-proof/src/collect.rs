//! Runs the checks of one protocol and keeps what came of them.

use std::time::Instant;

use chorus_protocol::registry::{FaultSpec, MemoryModel, Protocol};
use chorus_registry::Registry;
use chorus_verify::check::{CheckConfig, check, configurations, quick_configurations};
use chorus_verify::config::Stores;
use chorus_verify::faults::{BriefLook, Catch, caught, look_briefly};
use chorus_verify::litmus::{DISCRIMINATORS, LitmusResult, SuiteTest, run_litmus};
use chorus_verify::networks::{Attempt, NetworkReport, smallest, try_sharing};
use chorus_verify::torture::{Settings, TortureCatch, caught_by_torture};

use crate::checked::Checked;
use crate::steps::Steps;
use crate::tortured::{Tortured, torture_one};
use crate::words::{count, verdict};

/// How much is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Everything.
    Full,
    /// The smallest configurations, the discriminators, the declared virtual networks and fewer random steps.
    Quick,
}

impl Extent {
    /// A name.
    pub fn name(self) -> &'static str {
        match self {
            Extent::Full => "full",
            Extent::Quick => "quick",
        }
    }

    fn configurations(self, protocol: &dyn Protocol) -> Vec<CheckConfig> {
        match self {
            Extent::Full => configurations(protocol),
            Extent::Quick => quick_configurations(protocol),
        }
    }

    fn tests(self, registry: &Registry, protocol: &dyn Protocol) -> Vec<SuiteTest> {
        let mut tests = registry.litmus_tests_of(protocol);
        if self == Extent::Quick {
            tests.retain(|test| DISCRIMINATORS.contains(&test.name()));
        }
        tests
    }

    /// Steps of the random driver on the sound protocol.
    fn steps(self) -> u64 {
        match self {
            Extent::Full => Settings::default().steps,
            Extent::Quick => 1_000_000,
        }
    }

    /// The most steps in which the random driver must find a fault.
    pub fn steps_per_fault(self) -> u64 {
        match self {
            Extent::Full => 2_000_000,
            Extent::Quick => 200_000,
        }
    }
}

/// The cores beside which litmus tests are run: where writes are atomic, also such as wait for their stores, which then see sequential
/// consistency.
fn cores(protocol: &dyn Protocol) -> &'static [Stores] {
    match protocol.model() {
        MemoryModel::WriteAtomicRc => &[Stores::Posted, Stores::Blocking],
        MemoryModel::Rcpc | MemoryModel::ScForDrf | MemoryModel::Ptx | MemoryModel::PerLocation => &[Stores::Posted],
    }
}

/// A litmus test that was run.
pub struct Tested {
    /// What came of it.
    pub result: LitmusResult,
    /// Wall-clock time.
    pub seconds: f64,
}

impl Tested {
    /// Whether it is one of the tests that tell protocols apart.
    pub fn is_discriminator(&self) -> bool {
        DISCRIMINATORS.contains(&self.result.test.name())
    }
}

/// Litmus tests beside every kind of core.
#[derive(Default)]
pub struct Litmus {
    /// What was run.
    pub tested: Vec<Tested>,
    /// What cannot be run on the machine, with the reason.
    pub not_run: Vec<(String, String)>,
}

impl Litmus {
    /// The tests beside cores of one kind.
    pub fn beside(&self, stores: Stores) -> impl Iterator<Item = &Tested> {
        self.tested.iter().filter(move |tested| tested.result.stores == stores)
    }
}

/// A seeded fault, and what found it.
pub struct FaultSearch {
    /// The fault.
    pub spec: FaultSpec,
    /// What the exhaustive driver found, looking everywhere.
    pub caught: Option<Catch>,
    /// What each kind of check found by itself, where that was asked.
    pub alone: Option<BriefLook>,
    /// What the random driver found by itself.
    pub by_random: Option<TortureCatch>,
}

/// Everything that is known of a protocol.
pub struct Proof {
    /// The protocol.
    pub protocol: &'static dyn Protocol,
    /// Its configurations.
    pub configurations: Vec<Checked>,
    /// Its litmus tests.
    pub litmus: Litmus,
    /// Its virtual networks; where only those declared were tried, the smallest number is not known.
    pub networks: NetworkReport,
    /// What the random driver came to.
    pub random: Tortured,
    /// Its seeded faults.
    pub faults: Vec<FaultSearch>,
    /// Wall-clock time of all of it.
    pub seconds: f64,
}

/// How many faults are found by what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Score {
    /// Faults that the protocol has.
    pub seeded: usize,
    /// Found by the exhaustive driver.
    pub caught: usize,
    /// Found by brief looks into configurations and programs alone, where that was asked.
    pub by_configuration: Option<usize>,
    /// Found by brief looks into litmus tests alone, where that was asked.
    pub by_litmus: Option<usize>,
    /// Found by the random driver alone.
    pub by_random: usize,
}

impl Proof {
    /// Whether every check said yes. A search that met a bound does not.
    pub fn passed(&self) -> bool {
        self.configurations.iter().all(|checked| checked.report.passed())
            && self.litmus.tested.iter().all(|tested| tested.result.passed())
            && self.networks.is_declared_free()
            && self.random.report.passed()
            && self.faults.iter().all(|fault| fault.caught.is_some())
    }

    /// States that all configurations and litmus tests visited.
    pub fn states(&self) -> usize {
        let configurations = self.configurations.iter().map(|checked| checked.report.states);
        configurations.chain(self.litmus.tested.iter().map(|tested| tested.result.states)).sum()
    }

    /// How many faults are found by what.
    pub fn score(&self) -> Score {
        let counted =
            |is_found: &dyn Fn(&FaultSearch) -> bool| self.faults.iter().filter(|fault| is_found(fault)).count();
        let asked = self.faults.iter().any(|fault| fault.alone.is_some());
        let alone = |is_found: &dyn Fn(&BriefLook) -> bool| {
            asked.then(|| counted(&|fault| fault.alone.as_ref().is_some_and(is_found)))
        };
        Score {
            seeded: self.faults.len(),
            caught: counted(&|fault| fault.caught.is_some()),
            by_configuration: alone(&|look| look.by_configuration.is_some()),
            by_litmus: alone(&|look| look.by_litmus.is_some()),
            by_random: counted(&|fault| fault.by_random.is_some()),
        }
    }
}

/// Number of steps of progress that a protocol takes.
pub fn steps(registry: &Registry, protocol: &dyn Protocol, extent: Extent) -> usize {
    let tests = extent.tests(registry, protocol).len() * cores(protocol).len();
    // One for the networks, and one for the random driver.
    extent.configurations(protocol).len() + tests + 2 + protocol.faults().len()
}

/// Runs the checks of one protocol.
pub struct Collector<'a> {
    /// Everything that can be named, and so the litmus tests.
    pub registry: &'a Registry,
    /// The protocol.
    pub protocol: &'static dyn Protocol,
    /// How much is done.
    pub extent: Extent,
    /// Where progress is shown.
    pub progress: &'a dyn Steps,
}

impl Collector<'_> {
    /// Does one step, and says what came of it; with its wall-clock time.
    fn step<T>(&self, what: &str, work: impl FnOnce() -> T, tell: impl FnOnce(&T) -> String) -> (T, f64) {
        let name = self.protocol.name();
        self.progress.begin(&format!("{name}: {what}"));
        let start = Instant::now();
        let value = work();
        let seconds = start.elapsed().as_secs_f64();
        self.progress.finish(&format!("{name}: {what}: {}, {seconds:.1} s", tell(&value)));
        (value, seconds)
    }

    /// Every configuration.
    pub fn configurations(&self) -> Vec<Checked> {
        let checked = |config: CheckConfig| {
            let work = || Checked { report: check(self.protocol, None, &config), seconds: 0.0 };
            let tell =
                |checked: &Checked| format!("{}, {} states", checked.verdict(), count(checked.report.states as u64));
            let (checked, seconds) = self.step(&format!("configuration {}", config.name), work, tell);
            Checked { seconds, ..checked }
        };
        self.extent.configurations(self.protocol).into_iter().map(checked).collect()
    }

    /// Every litmus test beside every kind of core.
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

    /// How few virtual networks will do, or whether those declared do.
    pub fn networks(&self) -> NetworkReport {
        let declared = self.protocol.virtual_networks();
        let only_declared = || {
            let pools: Vec<u8> = (0..declared).collect();
            let attempts = vec![Attempt { sharing: try_sharing(self.protocol, &pools), pools }];
            NetworkReport { protocol: self.protocol.name(), declared, smallest: None, attempts }
        };
        let work = || match self.extent {
            Extent::Full => smallest(self.protocol),
            Extent::Quick => only_declared(),
        };
        let tell = |report: &NetworkReport| {
            if report.is_declared_free() { "free of deadlock" } else { "not free of deadlock" }.to_owned()
        };
        self.step("virtual networks", work, tell).0
    }

    /// The random driver.
    pub fn random(&self) -> Tortured {
        let settings = Settings { steps: self.extent.steps(), ..Settings::default() };
        torture_one(self.protocol, None, &settings, self.progress)
    }

    /// Every seeded fault. Random steps find none by themselves where they say no to the sound protocol.
    pub fn faults(&self, random: &Tortured) -> Vec<FaultSearch> {
        let by_random = |index| caught_by_torture(self.protocol, index, self.extent.steps_per_fault());
        let search = |(index, spec): (u8, &FaultSpec)| {
            let work = || FaultSearch {
                spec: *spec,
                caught: caught(self.protocol, index),
                alone: (self.extent == Extent::Full).then(|| look_briefly(self.protocol, index)),
                by_random: if random.report.passed() { by_random(index) } else { None },
            };
            let tell = |search: &FaultSearch| match &search.caught {
                Some(catch) => {
                    let (kind, name) = catch.by.words();
                    format!("caught by {kind} {name}")
                }
                None => "not caught".to_owned(),
            };
            self.step(&format!("fault {}", spec.name), work, tell).0
        };
        (0..).zip(self.protocol.faults()).map(search).collect()
    }
}
