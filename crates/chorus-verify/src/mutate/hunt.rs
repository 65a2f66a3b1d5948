//! The search for one mutant: cheap checks first, and the first that finds it ends the search.

use std::collections::HashMap;
use std::sync::Mutex;

use chorus_protocol::registry::Protocol;

use super::catalogue::Mutant;
use super::operators::Operator;
use super::wrapper::{Cell, MutatedProtocol, Mutation, without_panic};
use crate::check::{
    CheckConfig, CheckReport, Verdict, check_with, configurations, quick_configurations, table_configurations,
};
use crate::faults::{litmus_configurations, programs_of};
use crate::settings::{Reduction, Settings};
use crate::torture;

/// The extent of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// The most states of each of the smallest configurations.
    pub smoke_states: usize,
    /// The number of random steps.
    pub steps: u64,
    /// The seed of random steps.
    pub seed: u64,
    /// The most states of each program made for faults, and of each larger configuration.
    pub states: usize,
    /// The most states of each litmus test. With 0 they are left out.
    pub litmus_states: usize,
}

impl Default for Effort {
    fn default() -> Effort {
        Effort { smoke_states: 100_000, steps: 100_000, seed: 1, states: 100_000, litmus_states: 5_000 }
    }
}

/// The kind of check that found a mutant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Means {
    /// An exploration of one of the smallest configurations.
    Smoke,
    /// A random episode on a random small machine.
    Torture,
    /// An exploration of a larger configuration, or of a program made for faults.
    Check,
    /// An exploration of a litmus test in one of its placements.
    Litmus,
}

impl Means {
    /// Every kind, cheapest first.
    pub const ALL: [Means; 4] = [Means::Smoke, Means::Torture, Means::Check, Means::Litmus];

    /// The name for lists.
    pub fn name(self) -> &'static str {
        match self {
            Means::Smoke => "smoke",
            Means::Torture => "torture",
            Means::Check => "check",
            Means::Litmus => "litmus",
        }
    }
}

/// The fate of a mutant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Some check failed, as it should.
    Found {
        /// The kind of check.
        by: Means,
        /// The broken rule in words.
        rule: String,
    },
    /// No check failed although the protocol behaves differently.
    Survived {
        /// The number of explorations in which some step was changed.
        explorations: usize,
        /// The number of those that met their bound.
        bounded: usize,
        /// Whether some random step was changed.
        in_torture: bool,
    },
    /// No receiver reads what is wrong, or the explorations where steps changed have as many states, moves and
    /// executions as without the mistake.
    Equivalent,
    /// No run met a step that the mistake changes.
    NotReached,
}

/// The size of an exploration that was complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Extent {
    states: usize,
    transitions: u64,
    depth: u32,
    programs: usize,
    executions: usize,
}

impl Extent {
    fn of(report: &CheckReport) -> Option<Extent> {
        let CheckReport { states, transitions, depth, programs, executions, .. } = *report;
        report.passed().then_some(Extent { states, transitions, depth, programs, executions })
    }
}

/// A configuration of the protocol without mistakes: by name, with or without symmetry, and with a cell whose steps are
/// not taken early.
type BaselineKey = (String, bool, Option<Cell>);

/// The searches for all mutants of a protocol. What they have in common is computed once.
pub struct Hunter {
    protocol: &'static dyn Protocol,
    effort: Effort,
    smoke: Vec<CheckConfig>,
    larger: Vec<CheckConfig>,
    litmus: Vec<CheckConfig>,
    baselines: Mutex<HashMap<BaselineKey, (usize, Option<Extent>)>>,
}

/// A check that passed although some step was changed.
struct Passed<'a> {
    config: &'a CheckConfig,
    settings: Settings,
    symmetry: usize,
    extent: Option<Extent>,
}

/// The runs of a mutant that was not found yet.
#[derive(Default)]
struct Trail<'a> {
    changed_in_torture: bool,
    changed: Vec<Passed<'a>>,
}

impl Hunter {
    /// Searches for mutants of a protocol.
    pub fn new(protocol: &'static dyn Protocol, effort: Effort) -> Hunter {
        let smoke = quick_configurations(protocol);
        let mut larger = table_configurations(protocol);
        larger.extend(programs_of(protocol));
        larger.extend(configurations(protocol));
        larger.retain(|config| smoke.iter().all(|other| other.name != config.name));
        let litmus = if effort.litmus_states > 0 { litmus_configurations(protocol) } else { Vec::new() };
        Hunter { protocol, effort, smoke, larger, litmus, baselines: Mutex::default() }
    }

    /// Looks for a mutant.
    pub fn hunt(&self, mutant: &Mutant) -> Fate {
        if mutant.unread {
            return Fate::Equivalent;
        }
        let mutated = mutant.protocol(self.protocol);
        let mut trail = Trail::default();
        let Effort { smoke_states, states, litmus_states, .. } = self.effort;
        let found = self
            .explore(mutated, Means::Smoke, &self.smoke, smoke_states, &mut trail)
            .or_else(|| self.torture(mutated, &mut trail))
            .or_else(|| self.explore(mutated, Means::Check, &self.larger, states, &mut trail))
            .or_else(|| self.explore(mutated, Means::Litmus, &self.litmus, litmus_states, &mut trail));
        match found {
            Some(found) => found,
            None if trail.changed.is_empty() && !trail.changed_in_torture => Fate::NotReached,
            None if self.is_equivalent(mutant, mutated, &trail) => Fate::Equivalent,
            None => Fate::Survived {
                explorations: trail.changed.len(),
                bounded: trail.changed.iter().filter(|passed| passed.extent.is_none()).count(),
                in_torture: trail.changed_in_torture,
            },
        }
    }

    /// Explores configurations one after the other.
    fn explore<'a>(
        &self,
        mutated: &'static MutatedProtocol,
        by: Means,
        configs: &'a [CheckConfig],
        states: usize,
        trail: &mut Trail<'a>,
    ) -> Option<Fate> {
        let settings = Settings::with_states(states);
        for config in configs {
            mutated.notes().clear();
            let report = without_panic(|| check_with(mutated, None, config, &settings));
            let notes = mutated.notes();
            let rule = match &report {
                None => Some("the mutant panicked".to_owned()),
                Some(_) if notes.panicked() => Some("a controller panicked".to_owned()),
                Some(report) => match &report.verdict {
                    Verdict::Violated(chart) => Some(chart.violation.to_string()),
                    Verdict::Pass | Verdict::Bounded(_) => None,
                },
            };
            if let Some(rule) = rule {
                return Some(Fate::Found { by, rule: format!("{}: {rule}", config.name) });
            }
            if let Some(report) = report.filter(|_| notes.changed()) {
                let (symmetry, extent) = (report.symmetry, Extent::of(&report));
                trail.changed.push(Passed { config, settings, symmetry, extent });
            }
        }
        None
    }

    fn torture(&self, mutated: &'static MutatedProtocol, trail: &mut Trail<'_>) -> Option<Fate> {
        let settings = torture::Settings {
            steps: self.effort.steps,
            seed: self.effort.seed,
            shrinks: false,
            ..torture::Settings::default()
        };
        mutated.notes().clear();
        let report = without_panic(|| torture::torture(mutated, None, &settings));
        let notes = mutated.notes();
        trail.changed_in_torture = notes.changed();
        let rule = match report {
            None => "the mutant panicked".to_owned(),
            Some(report) => match report.failure {
                Some(_) if notes.panicked() => "a controller panicked".to_owned(),
                Some(failure) => failure.problem.to_string(),
                None => return None,
            },
        };
        Some(Fate::Found { by: Means::Torture, rule })
    }

    /// Whether every exploration in which a step changed, and there is one, is as large as without the mistake.
    fn is_equivalent(&self, mutant: &Mutant, mutated: &'static MutatedProtocol, trail: &Trail<'_>) -> bool {
        trail.changed.iter().any(|passed| passed.extent.is_some())
            && trail.changed.iter().filter(|passed| passed.extent.is_some()).all(|passed| {
                let cell = mutant.counts.then_some(mutant.mutation.cell);
                let (symmetry, extent) = self.baseline(passed, true, cell);
                if symmetry == passed.symmetry {
                    return extent == passed.extent;
                }
                // A mistake that prefers an agent loses symmetries. Sizes can be compared without them.
                let settings = Settings { reduction: Reduction::None, states: usize::MAX, ..passed.settings };
                let report = without_panic(|| check_with(mutated, None, passed.config, &settings));
                let plain = report.and_then(|report| Extent::of(&report));
                plain.is_some() && plain == self.baseline(passed, false, cell).1
            })
    }

    /// The size of an exploration without the mistake. Steps in `cell` are not taken early.
    fn baseline(&self, passed: &Passed<'_>, symmetric: bool, cell: Option<Cell>) -> (usize, Option<Extent>) {
        let key = (passed.config.name.to_owned(), symmetric, cell);
        // Litmus tests are all called the same.
        let is_shared = passed.config.name != "litmus";
        if is_shared
            && let Ok(known) = self.baselines.lock()
            && let Some(&known) = known.get(&key)
        {
            return known;
        }
        let settings = match symmetric {
            true => passed.settings,
            false => Settings { reduction: Reduction::None, states: usize::MAX, ..passed.settings },
        };
        let protocol: &'static dyn Protocol = match cell {
            Some(cell) => MutatedProtocol::leak(self.protocol, Mutation { cell, operator: Operator::Identity }),
            None => self.protocol,
        };
        let report = check_with(protocol, None, passed.config, &settings);
        let baseline = (report.symmetry, Extent::of(&report));
        if is_shared && let Ok(mut known) = self.baselines.lock() {
            known.insert(key, baseline);
        }
        baseline
    }
}
