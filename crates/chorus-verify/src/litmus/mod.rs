//! Litmus tests against protocols.
//!
//! A test is run on a protocol in every order of issuing, delivery and eviction, from empty and from warm caches. Each
//! work-group is beside a private cache of its own, and where the protocol reaches further than a module every
//! [`placement`] is tried. The outcomes reached must be among those that the protocol's memory model allows. The
//! telling outcome must have been reached where the protocol's machine should be able to produce it: a test that never
//! shows a relaxation that is there says nothing about the others. What a protocol cannot show is declared
//! ([`not_shown`]).

mod not_shown;
pub mod placement;
mod suite;

use std::collections::BTreeSet;
use std::fmt::Write;

use chorus_litmus::judge::allowed;
use chorus_litmus::model::Model;
use chorus_litmus::test::{Outcome, Quantifier};
use chorus_protocol::registry::Protocol;

pub use self::placement::Placement;
pub use self::suite::{
    AppliesTo, DISCRIMINATORS, LitmusSuite, SUITES, SuiteError, SuiteTest, device_tests, find, find_in, read_for,
    read_suites, tests, tests_of,
};
use crate::chart::Chart;
use crate::code::NotRunnable;
use crate::config::{MachineConfig, Stores};
use crate::explore::{End, Exploration, OnForbidden};
use crate::judge::provided;
use crate::replay::Replay;
use crate::settings::Settings;

/// The expectation of a test's telling outcome under a memory model, on a machine whose loads block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expectation {
    /// The outcome must never be reached.
    Forbidden,
    /// The outcome must be reached.
    Reachable,
    /// The model allows the outcome, but this machine need not produce it.
    Permitted,
    /// The program has a race, and the model says nothing about it.
    Unspecified,
}

impl Expectation {
    /// The expectation of a letter, as tests write it: `F`, `A`, `a` or `U`.
    pub fn from_letter(letter: &str) -> Option<Expectation> {
        match letter {
            "F" => Some(Expectation::Forbidden),
            "A" => Some(Expectation::Reachable),
            "a" => Some(Expectation::Permitted),
            "U" => Some(Expectation::Unspecified),
            _ => None,
        }
    }

    /// The expectation in a word or two.
    pub fn text(self) -> &'static str {
        match self {
            Expectation::Forbidden => "forbidden",
            Expectation::Reachable => "must be seen",
            Expectation::Permitted => "allowed",
            Expectation::Unspecified => "unspecified",
        }
    }
}

/// The result of running a test.
#[derive(Clone, Debug)]
pub struct LitmusResult {
    /// The name of the protocol.
    pub protocol: &'static str,
    /// The seeded fault of the controllers, if any.
    pub fault: Option<&'static str>,
    /// The test that was run.
    pub test: SuiteTest,
    /// Whether cores waited for their stores.
    pub stores: Stores,
    /// The memory model that the protocol provides on this machine.
    pub model: Model,
    /// The expectation of the telling outcome; nothing if the test has none for the model.
    pub expectation: Option<Expectation>,
    /// The reason why the protocol never shows the telling outcome although it is expected, if one is declared.
    pub declared_not_shown: Option<&'static str>,
    /// The outcomes that were reached.
    pub reached: BTreeSet<Outcome>,
    /// The outcomes that the model allows.
    pub allowed: BTreeSet<Outcome>,
    /// The number of states visited.
    pub states: usize,
    /// The number of moves made.
    pub transitions: u64,
    /// The number of moves to the farthest state.
    pub depth: u32,
    /// Whether the search met its bound.
    pub bounded: bool,
    /// The shortest path to the first violation; a forbidden outcome is one.
    pub failure: Option<Chart>,
    /// The placement in which the violation was found, or the last one.
    pub placement: Placement,
}

impl LitmusResult {
    /// The outcomes reached that the model forbids.
    pub fn forbidden_reached(&self) -> impl Iterator<Item = &Outcome> {
        self.reached.difference(&self.allowed)
    }

    /// Whether an outcome is the telling one: the outcome that the test asks for, or a counterexample to a condition
    /// that should hold for all.
    pub fn telling(&self, outcome: &Outcome) -> bool {
        let test = &self.test.test;
        let holds = test.program.holds(&test.condition, outcome);
        let looked_at = test.filter.as_ref().is_none_or(|filter| test.program.holds(filter, outcome));
        looked_at && holds != (test.quantifier == Quantifier::Forall)
    }

    /// Whether the telling outcome was reached.
    pub fn telling_reached(&self) -> bool {
        self.reached.iter().any(|outcome| self.telling(outcome))
    }

    /// Whether the telling outcome should have been reached and was not, although the search was complete.
    pub fn vacuous(&self) -> bool {
        self.is_missing() && self.declared_not_shown.is_none()
    }

    /// The reason why the telling outcome was not reached, where the protocol declares that it cannot be.
    pub fn not_shown(&self) -> Option<&'static str> {
        self.declared_not_shown.filter(|_| self.is_missing())
    }

    /// Whether the telling outcome was reached although the protocol declares that it cannot be.
    pub fn is_wrongly_declared(&self) -> bool {
        self.declared_not_shown.is_some() && self.telling_reached()
    }

    /// Whether the search was complete, and the telling outcome, which the test expects, was not reached.
    fn is_missing(&self) -> bool {
        let complete = !self.bounded && self.failure.is_none();
        complete && self.expectation == Some(Expectation::Reachable) && !self.telling_reached()
    }

    /// Whether the telling outcome was reached and should never be.
    pub fn unexpected(&self) -> bool {
        self.expectation == Some(Expectation::Forbidden) && self.telling_reached()
    }

    /// Whether the search was complete, nothing forbidden was reached, and everything that must be was. What is
    /// declared as not shown must not be reached.
    pub fn passed(&self) -> bool {
        let is_sound = !self.bounded && self.failure.is_none() && !self.unexpected();
        is_sound && !self.vacuous() && !self.is_wrongly_declared()
    }

    /// One line with the test, its telling outcome, the expectation and the result.
    pub fn summary(&self) -> String {
        let expected = self.expectation.map_or("", Expectation::text);
        let seen = if self.telling_reached() { "seen" } else { "never seen" };
        let verdict = match self.not_shown() {
            Some(_) => "not shown",
            None if self.passed() => "ok",
            None => "FAIL",
        };
        format!(
            "{:<22} {:<45} {expected:<12} {seen:<10} {:>2} of {:>2} allowed outcomes, {:>7} states  {verdict}",
            self.test.name(),
            self.test.test.condition_text(),
            self.reached.intersection(&self.allowed).count(),
            self.allowed.len(),
            self.states,
        )
    }

    /// The test, every outcome with its verdict, and the path to a violation.
    pub fn to_text(&self) -> String {
        let mut text = format!("{} on {}: {}\n", self.test.name(), self.protocol, self.test.question());
        let _ = writeln!(text, "{}", self.test.test);
        let _ = writeln!(text, "{}", self.summary());
        for outcome in self.allowed.union(&self.reached) {
            let (allowed, reached) = (self.allowed.contains(outcome), self.reached.contains(outcome));
            let verdict = match (allowed, reached) {
                (true, true) => "allowed, reached",
                (true, false) => "allowed, not reached",
                (false, _) => "FORBIDDEN, REACHED",
            };
            let telling = if self.telling(outcome) { "*" } else { " " };
            let _ = writeln!(text, "  {telling} {:<40} {verdict}", self.test.test.program.describe(outcome));
        }
        if self.bounded {
            let _ = writeln!(text, "  not finished: the search met its bound after {} states", self.states);
        }
        if self.vacuous() {
            let _ = writeln!(text, "  vacuous: the outcome marked * must be reachable and was not reached");
        }
        if let Some(reason) = self.not_shown() {
            let _ = writeln!(text, "  not shown: {reason}");
        }
        if self.is_wrongly_declared() {
            let _ = writeln!(text, "  wrongly declared: the outcome marked * was reached, and the protocol promises");
            let _ = writeln!(text, "  that it is not: {}", self.declared_not_shown.unwrap_or_default());
        }
        if let Some(chart) = &self.failure {
            let _ = write!(text, "\n{}", chart.to_text());
        }
        if let Some(replay) = self.replay() {
            let _ = writeln!(text, "{}", replay.command("litmus"));
        }
        text
    }

    /// The path to a violation as a replay, if there is one.
    pub fn replay(&self) -> Option<Replay> {
        let stores = self.stores;
        let name = self.placement.name_of(self.test.name());
        let replay = |chart| Replay { stores, ..Replay::of_chart(self.protocol, self.fault, &name, chart) };
        self.failure.as_ref().map(replay)
    }
}

/// The most states that a test visits in one placement, unless told otherwise. Tests of three threads and three
/// locations have tens of millions.
pub const STATE_LIMIT: usize = 200_000_000;

/// Runs a test on a protocol in every placement, beside cores whose stores are as `stores` says. `fault` indexes the
/// protocol's faults. Numbers of states are summed over the placements, up to the first violation.
pub fn run_litmus(
    protocol: &'static dyn Protocol,
    fault: Option<u8>,
    test: &SuiteTest,
    stores: Stores,
) -> Result<LitmusResult, NotRunnable> {
    run_litmus_with(protocol, fault, test, stores, &Settings::with_states(STATE_LIMIT))
}

/// Runs a test like [`run_litmus`], with these settings of the search in each placement.
pub fn run_litmus_with(
    protocol: &'static dyn Protocol,
    fault: Option<u8>,
    test: &SuiteTest,
    stores: Stores,
    settings: &Settings,
) -> Result<LitmusResult, NotRunnable> {
    let mut together: Option<LitmusResult> = None;
    for placement in Placement::all(protocol, &test.test.program) {
        let result = run_placed(protocol, fault, test, stores, placement, settings)?;
        let sum = match together.take() {
            None => result,
            Some(mut earlier) => {
                earlier.reached.extend(result.reached);
                LitmusResult {
                    reached: earlier.reached,
                    states: earlier.states + result.states,
                    transitions: earlier.transitions + result.transitions,
                    depth: earlier.depth.max(result.depth),
                    bounded: earlier.bounded || result.bounded,
                    ..result
                }
            }
        };
        let ends = sum.failure.is_some();
        together = Some(sum);
        if ends {
            break;
        }
    }
    match together {
        Some(result) => Ok(result),
        None => run_placed(protocol, fault, test, stores, Placement::OneModule, settings),
    }
}

/// Runs a test on a protocol in one placement.
pub fn run_placed(
    protocol: &'static dyn Protocol,
    fault: Option<u8>,
    test: &SuiteTest,
    stores: Stores,
    placement: Placement,
    settings: &Settings,
) -> Result<LitmusResult, NotRunnable> {
    let config = MachineConfig { stores, ..MachineConfig::for_placed(&test.test.program, placement)? };
    let model = provided(protocol.model(), &config);
    let mut exploration = Exploration::new(protocol, fault, &config, OnForbidden::Collect);
    let end = exploration.run(settings);
    let reached = exploration.judge().reached().into_keys().collect();
    let (states, transitions, depth) = (exploration.states(), exploration.transitions(), exploration.depth());
    let bounded = matches!(end, End::Bounded(_));
    let failure = match end {
        End::Violated(failure) => Some(Chart::of_failure(&mut exploration, &failure)),
        End::Exhausted | End::Bounded(_) => None,
    };
    let expectation = test.expectation(model);
    let is_expected = expectation == Some(Expectation::Reachable);
    Ok(LitmusResult {
        protocol: protocol.name(),
        fault: fault.and_then(|index| protocol.faults().get(usize::from(index))).map(|fault| fault.name),
        test: test.clone(),
        stores,
        model,
        expectation,
        declared_not_shown: if is_expected { not_shown::reason(protocol, test) } else { None },
        reached,
        allowed: allowed(&test.test.program, model).map(|allowed| allowed.outcomes).unwrap_or_default(),
        states,
        transitions,
        depth,
        bounded,
        failure,
        placement,
    })
}
