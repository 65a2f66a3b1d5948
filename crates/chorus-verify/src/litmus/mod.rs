//! Litmus tests: small programs, each with one telling outcome.
//!
//! A test is run on a protocol in every order of issuing, delivery and eviction, from empty and from warm caches. The outcomes reached must
//! be among those that the protocol's memory model allows; and the telling outcome, where the protocol's machine should be able to produce it, must
//! have been reached, since a test that never shows a relaxation that is there says nothing about the others.

mod coherence;
mod leases;
mod shapes;

use std::collections::BTreeSet;
use std::fmt::{self, Write};

use chorus_protocol::access::{AtomicOp, Order, Scope};
use chorus_protocol::registry::{MemoryModel, Protocol};

use crate::axioms::{Model, allowed};
use crate::chart::Chart;
use crate::config::MachineConfig;
use crate::explore::{End, Exploration, OnForbidden};
use crate::program::{Location, Op, Outcome, Program};
use crate::settings::Settings;

/// What a memory model, on a machine whose loads block and whose stores do not, makes of a test's telling outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expectation {
    /// Must never be reached.
    Forbidden,
    /// Must be reached.
    Reachable,
    /// The model allows it, but this machine need not produce it.
    Permitted,
}

/// Values of registers and of memory in the end that make an outcome the telling one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Condition {
    /// Value of a register: thread, number of the load or atomic in it, value.
    pub registers: Vec<(usize, usize, u32)>,
    /// Final value of a word.
    pub finals: Vec<(Location, u32)>,
}

impl Condition {
    /// Whether an outcome of `program` fulfils it.
    pub fn holds(&self, program: &Program, outcome: &Outcome) -> bool {
        let values = |thread: &[Op]| thread.iter().filter(|op| op.returns_value()).count();
        let register = |thread: usize, number: usize| {
            let earlier: usize = program.threads[..thread].iter().map(|ops| values(ops)).sum();
            outcome.registers.get(earlier + number)
        };
        self.registers.iter().all(|&(thread, number, value)| register(thread, number) == Some(&value))
            && self.finals.iter().all(|&(at, value)| outcome.finals.get(at.index()) == Some(&value))
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let registers = self.registers.iter().map(|(thread, number, value)| format!("T{thread}:r{number}={value}"));
        let finals = self.finals.iter().map(|(at, value)| format!("{at}={value}"));
        f.write_str(&registers.chain(finals).collect::<Vec<_>>().join(" "))
    }
}

/// A litmus test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LitmusTest {
    /// The literature's name, with the synchronisation added to the plain shape.
    pub name: &'static str,
    /// What it asks.
    pub question: &'static str,
    /// What its threads do.
    pub program: Program,
    /// The private cache of each thread.
    pub caches: Vec<u16>,
    /// The telling outcome.
    pub telling: Condition,
    /// What is expected of it under write-atomic release consistency.
    pub write_atomic_rc: Expectation,
    /// What is expected of it under RCpc without write atomicity.
    pub rcpc: Expectation,
    /// What is expected of it where only locations are coherent.
    pub per_location: Expectation,
}

impl LitmusTest {
    /// What is expected of the telling outcome under `model`.
    pub fn expectation(&self, model: MemoryModel) -> Expectation {
        match model {
            MemoryModel::WriteAtomicRc => self.write_atomic_rc,
            MemoryModel::Rcpc => self.rcpc,
            MemoryModel::PerLocation => self.per_location,
        }
    }

    /// The machine that it runs on.
    pub fn machine(&self) -> MachineConfig {
        MachineConfig::for_program(&self.program.to_litmus(&self.caches)).expect("the tests here have no loops")
    }

    /// Beside private caches of the given numbers instead of one for each thread.
    fn on_caches(mut self, caches: &[u16]) -> LitmusTest {
        self.caches = caches.to_vec();
        self
    }
}

/// Every litmus test.
pub fn tests() -> Vec<LitmusTest> {
    let mut tests = coherence::tests();
    tests.extend(shapes::tests());
    tests.extend(leases::tests());
    tests
}

/// The test called `name`.
pub fn find(name: &str) -> Option<LitmusTest> {
    tests().into_iter().find(|test| test.name == name)
}

/// What running a test showed.
#[derive(Clone, Debug)]
pub struct LitmusResult {
    /// The protocol's name.
    pub protocol: &'static str,
    /// The test.
    pub test: LitmusTest,
    /// What is expected of the telling outcome.
    pub expectation: Expectation,
    /// The outcomes reached.
    pub reached: BTreeSet<Outcome>,
    /// The outcomes that the protocol's model allows.
    pub allowed: BTreeSet<Outcome>,
    /// States visited.
    pub states: usize,
    /// Moves made.
    pub transitions: u64,
    /// Moves to the farthest state.
    pub depth: u32,
    /// Whether the search met its bound on states.
    pub bounded: bool,
    /// The shortest way to the first violation, a forbidden outcome among them.
    pub failure: Option<Chart>,
}

impl LitmusResult {
    /// The outcomes reached that the model forbids.
    pub fn forbidden_reached(&self) -> impl Iterator<Item = &Outcome> {
        self.reached.difference(&self.allowed)
    }

    /// Whether the telling outcome was reached.
    pub fn telling_reached(&self) -> bool {
        self.reached.iter().any(|outcome| self.test.telling.holds(&self.test.program, outcome))
    }

    /// Whether the telling outcome should have been reached and was not.
    pub fn vacuous(&self) -> bool {
        self.expectation == Expectation::Reachable && !self.telling_reached()
    }

    /// Whether the search was complete, nothing forbidden was reached, and everything that must be was.
    pub fn passed(&self) -> bool {
        !self.bounded && self.failure.is_none() && !self.vacuous()
    }

    /// One line: the test, its telling outcome, what was expected, what happened.
    pub fn summary(&self) -> String {
        let expected = match self.expectation {
            Expectation::Forbidden => "forbidden",
            Expectation::Reachable => "must be seen",
            Expectation::Permitted => "allowed",
        };
        let seen = if self.telling_reached() { "seen" } else { "never seen" };
        let verdict = if self.passed() { "ok" } else { "FAIL" };
        format!(
            "{:<18} {:<35} {expected:<12} {seen:<10} {:>2} of {:>2} allowed outcomes, {:>7} states  {verdict}",
            self.test.name,
            self.test.telling.to_string(),
            self.reached.intersection(&self.allowed).count(),
            self.allowed.len(),
            self.states,
        )
    }

    /// The test, every outcome with its verdict, and the way to a violation.
    pub fn to_text(&self) -> String {
        let mut text = format!("{} on {}: {}\n", self.test.name, self.protocol, self.test.question);
        let _ = writeln!(text, "  {}", self.test.program);
        let _ = writeln!(text, "{}", self.summary());
        for outcome in self.allowed.union(&self.reached) {
            let (allowed, reached) = (self.allowed.contains(outcome), self.reached.contains(outcome));
            let verdict = match (allowed, reached) {
                (true, true) => "allowed, reached",
                (true, false) => "allowed, not reached",
                (false, _) => "FORBIDDEN, REACHED",
            };
            let telling = if self.test.telling.holds(&self.test.program, outcome) { "*" } else { " " };
            let _ = writeln!(text, "  {telling} {:<40} {verdict}", self.test.program.describe(outcome));
        }
        if self.bounded {
            let _ = writeln!(text, "  not finished: the search met its bound of {} states", self.states);
        }
        if self.vacuous() {
            let _ = writeln!(text, "  vacuous: the outcome marked * must be reachable and was not reached");
        }
        if let Some(chart) = &self.failure {
            let _ = write!(text, "\n{}", chart.to_text());
        }
        text
    }
}

/// Runs a test on a protocol; `fault` indexes the protocol's faults.
pub fn run_litmus(protocol: &'static dyn Protocol, fault: Option<u8>, test: &LitmusTest) -> LitmusResult {
    let config = test.machine();
    let mut exploration = Exploration::new(protocol, fault, &config, OnForbidden::Collect);
    let end = exploration.run(&Settings::default());
    let reached = exploration.judge().reached().into_keys().collect();
    let (states, transitions, depth) = (exploration.states(), exploration.transitions(), exploration.depth());
    let bounded = matches!(end, End::Bounded(_));
    let failure = match end {
        End::Violated(failure) => Some(Chart::of_failure(&mut exploration, &failure)),
        End::Exhausted | End::Bounded(_) => None,
    };
    LitmusResult {
        protocol: protocol.name(),
        test: test.clone(),
        expectation: test.expectation(protocol.model()),
        reached,
        allowed: allowed(&test.program, Model::from(protocol.model()), config.lines),
        states,
        transitions,
        depth,
        bounded,
        failure,
    }
}

const X: Location = Location { line: 0, word: 0 };
const X1: Location = Location { line: 0, word: 1 };
const Y: Location = Location { line: 1, word: 0 };

const FENCE: Op = Op::FENCE;

fn ld(at: Location) -> Op {
    Op::Load { at, order: Order::Relaxed, scope: Scope::Gpu }
}

fn acq(at: Location) -> Op {
    Op::Load { at, order: Order::Acquire, scope: Scope::Gpu }
}

fn st(at: Location, value: u32) -> Op {
    Op::Store { at, value, order: Order::Relaxed, scope: Scope::Gpu }
}

fn rel(at: Location, value: u32) -> Op {
    Op::Store { at, value, order: Order::Release, scope: Scope::Gpu }
}

fn add(at: Location, operand: u32, order: Order) -> Op {
    Op::Atomic { at, op: AtomicOp::Add, operand, order, scope: Scope::Gpu, returns: true }
}

fn registers(registers: &[(usize, usize, u32)]) -> Condition {
    Condition { registers: registers.to_vec(), finals: Vec::new() }
}

impl Condition {
    fn and_finally(mut self, finals: &[(Location, u32)]) -> Condition {
        self.finals = finals.to_vec();
        self
    }
}

/// What write-atomic release consistency, RCpc and coherence of locations make of a telling outcome.
type Expected = [Expectation; 3];

/// A test with a private cache for each thread.
fn test<const N: usize>(
    name: &'static str,
    question: &'static str,
    threads: [&[Op]; N],
    telling: Condition,
    [write_atomic_rc, rcpc, per_location]: Expected,
) -> LitmusTest {
    let program = Program { threads: threads.iter().map(|ops| ops.to_vec()).collect() };
    let caches = (0..N as u16).collect();
    LitmusTest { name, question, program, caches, telling, write_atomic_rc, rcpc, per_location }
}
