//! Seeded faults: mistakes built into a protocol on request, which the checks must find.
//!
//! A search finds the shortest path to a violation first, so most faults show within a few thousand states somewhere.
//! Every place is therefore looked into briefly before any of them is searched to its end.

use std::fmt::Write;

use chorus_protocol::access::{Order, Scope};
use chorus_protocol::registry::{FaultSpec, Protocol, Reach};

use crate::chart::Chart;
use crate::check::{CheckConfig, Verdict, check_bounded, configurations, quick_configurations};
use crate::config::{Evictions, Loads, MachineConfig};
use crate::explore::STATE_LIMIT;
use crate::heterogeneous;
use crate::litmus::{Placement, SuiteTest, device_tests, tests};
use crate::program::{Op, Step, lines_of};
use crate::replay::Replay;
use crate::scoped;
use crate::words::Words;

/// A seeded fault together with the check that found it.
#[derive(Clone, Debug)]
pub struct Catch {
    /// The name of the protocol.
    pub protocol: &'static str,
    /// The fault that was seeded.
    pub fault: FaultSpec,
    /// The check that found it.
    pub by: Catcher,
    /// The path to the violation.
    pub chart: Chart,
}

/// A check that finds faults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Catcher {
    /// A configuration, by name.
    Configuration(&'static str),
    /// One of [`programs`], by name.
    Program(&'static str),
    /// A litmus test, by name.
    Litmus(String),
}

impl Catcher {
    /// The kind of the check, and its name.
    pub fn words(&self) -> (&'static str, &str) {
        match self {
            Catcher::Configuration(name) => ("configuration", name),
            Catcher::Program(name) => ("program", name),
            Catcher::Litmus(name) => ("litmus test", name),
        }
    }
}

impl Catch {
    /// One line with the fault, the check that found it, and the violation.
    pub fn summary(&self) -> String {
        let (kind, name) = self.by.words();
        format!("{} ({}): caught by {kind} {name}: {}", self.fault.name, self.fault.breaks, self.chart.violation)
    }

    /// The summary, the chart and the replay.
    pub fn to_text(&self) -> String {
        let mut text = self.summary();
        let _ = write!(text, "\n\n{}", self.chart.to_text());
        let _ = writeln!(text, "{}", self.replay().command("check"));
        text
    }

    /// The path to the violation as a replay.
    pub fn replay(&self) -> Replay {
        Replay::of_chart(self.protocol, Some(self.fault.name), self.by.words().1, &self.chart)
    }
}

/// The index of a protocol's fault, by name.
pub fn find_fault(protocol: &dyn Protocol, name: &str) -> Option<u8> {
    protocol.faults().iter().position(|fault| fault.name == name).map(|index| index as u8)
}

/// Kinds of places to look into, as indices into [`places`].
const CONFIGURATIONS: usize = 0;
const PROGRAMS: usize = 1;
const LITMUS: usize = 2;

/// The places to look into one after the other, and the most states to visit in each.
const LOOKS: [(usize, usize); 9] = [
    (CONFIGURATIONS, 10_000),
    (PROGRAMS, 10_000),
    (PROGRAMS, 500_000),
    (LITMUS, 10_000),
    (LITMUS, 100_000),
    (CONFIGURATIONS, 100_000),
    (PROGRAMS, STATE_LIMIT),
    (LITMUS, STATE_LIMIT),
    (CONFIGURATIONS, STATE_LIMIT),
];

/// The places to look into for protocols with several kinds of devices. Configurations with free choices find most of
/// their faults soon, and litmus tests have very many placements there.
const LOOKS_AT_DEVICES: [(usize, usize); 8] = [
    (CONFIGURATIONS, 10_000),
    (PROGRAMS, 20_000),
    (PROGRAMS, 100_000),
    (CONFIGURATIONS, 100_000),
    (LITMUS, 10_000),
    (CONFIGURATIONS, 1_000_000),
    (PROGRAMS, 1_000_000),
    (CONFIGURATIONS, STATE_LIMIT),
];

/// A place in which a fault is looked for: a check with its machine.
struct Place {
    by: Catcher,
    config: CheckConfig,
}

/// Looks for fault number `fault` of a protocol: in the smallest configurations, the programs made for faults and the
/// litmus tests, and last in the larger configurations. Returns nothing if none of them finds it.
pub fn caught(protocol: &'static dyn Protocol, fault: u8) -> Option<Catch> {
    let mut places = places(protocol);
    let looks = if heterogeneous::applies(protocol) { &LOOKS_AT_DEVICES[..] } else { &LOOKS };
    let found = looks.iter().find_map(|&(kind, limit)| look(protocol, fault, &mut places[kind], limit));
    if found.is_some() || heterogeneous::applies(protocol) {
        return found;
    }
    let mut places: Vec<Place> = configurations(protocol).into_iter().map(of_configuration).collect();
    look(protocol, fault, &mut places, STATE_LIMIT)
}

/// Looks for fault number `fault` of a protocol with one check alone: the check of this kind and name, as
/// [`Catcher::words`] gives them.
pub fn caught_by(protocol: &'static dyn Protocol, fault: u8, kind: &str, name: &str) -> Option<Catch> {
    let larger = configurations(protocol).into_iter().map(of_configuration);
    let all = places(protocol).into_iter().flatten().chain(larger);
    let mut named: Vec<Place> = all.filter(|place| place.by.words() == (kind, name)).take(1).collect();
    look(protocol, fault, &mut named, STATE_LIMIT)
}

/// Looks into every place, visiting at most `limit` states in each, and leaves the places in `places` that were not
/// searched to their end.
fn look(protocol: &'static dyn Protocol, fault: u8, places: &mut Vec<Place>, limit: usize) -> Option<Catch> {
    let spec = *protocol.faults().get(usize::from(fault))?;
    let mut unfinished = Vec::new();
    for place in places.drain(..) {
        match check_bounded(protocol, Some(fault), &place.config, limit).verdict {
            Verdict::Violated(chart) => {
                return Some(Catch { protocol: protocol.name(), fault: spec, by: place.by, chart });
            }
            Verdict::Bounded(_) => unfinished.push(place),
            Verdict::Pass => {}
        }
    }
    *places = unfinished;
    None
}

fn of_configuration(config: CheckConfig) -> Place {
    Place { by: Catcher::Configuration(config.name), config }
}

/// The places of each kind: the smallest configurations, the programs made for faults, the litmus tests.
fn places(protocol: &dyn Protocol) -> [Vec<Place>; 3] {
    let place = |config: CheckConfig| Place { by: Catcher::Program(config.name), config };
    let programs = programs_of(protocol).into_iter().map(place).collect();
    if heterogeneous::applies(protocol) {
        let mut suite = device_tests();
        suite.retain(|test| test.test.program.threads.len() <= 3);
        let configurations = configurations(protocol).into_iter().map(of_configuration).collect();
        return [configurations, programs, placed(protocol, suite)];
    }
    let litmus_tests = match protocol.reach() {
        Reach::OneModule => litmus_tests(),
        Reach::AnyMachine => placed(protocol, tests()),
    };
    [quick_configurations(protocol).into_iter().map(of_configuration).collect(), programs, litmus_tests]
}

/// The programs made for faults that are run on a protocol.
pub fn programs_of(protocol: &dyn Protocol) -> Vec<CheckConfig> {
    match protocol.reach() {
        _ if heterogeneous::applies(protocol) => heterogeneous::programs(protocol),
        Reach::OneModule => programs(),
        Reach::AnyMachine => scoped::programs(),
    }
}

/// The litmus tests that are run on a protocol, as configurations.
pub(crate) fn litmus_configurations(protocol: &dyn Protocol) -> Vec<CheckConfig> {
    let [.., litmus] = places(protocol);
    litmus.into_iter().map(|place| place.config).collect()
}

fn of_litmus(name: String, machine: MachineConfig) -> Place {
    let config = CheckConfig { name: "litmus", description: "a litmus test", machine };
    Place { by: Catcher::Litmus(name), config }
}

/// Litmus tests in every placement, from few threads to many.
fn placed(protocol: &dyn Protocol, mut suite: Vec<SuiteTest>) -> Vec<Place> {
    suite.sort_by_key(|test| test.test.program.threads.len());
    let placed = suite.iter().flat_map(|test| {
        let placements = Placement::all(protocol, &test.test.program).into_iter();
        placements.filter_map(|placement| {
            let machine = MachineConfig::for_placed(&test.test.program, placement).ok()?;
            Some(of_litmus(placement.name_of(test.name()), machine))
        })
    });
    placed.collect()
}

/// The litmus tests as places: first those of at most two private caches with shared lines that stay, then all as they
/// are, from few private caches to many.
fn litmus_tests() -> Vec<Place> {
    let machine = |test: &SuiteTest| MachineConfig::for_program(&test.test.program).ok();
    let suite = tests();
    let mut machines: Vec<_> = suite.iter().filter_map(|test| Some((test.name(), machine(test)?))).collect();
    // The last tests of the suite were made for faults that the others miss.
    machines.reverse();
    machines.sort_by_key(|(_, machine)| machine.topology.l1s);
    let small = machines.iter().filter(|(_, machine)| machine.topology.l1s <= 2);
    let shared_lines_stay =
        |machine: &MachineConfig| MachineConfig { evictions: Evictions::PrivateAnytime, ..machine.clone() };
    let small = small.map(|(name, machine)| of_litmus((*name).to_owned(), shared_lines_stay(machine)));
    small.chain(machines.iter().map(|(name, machine)| of_litmus((*name).to_owned(), machine.clone()))).collect()
}

/// The most states that [`look_briefly`] visits in each place.
pub const BRIEF_STATES: usize = 10_000;

/// The catches of each kind of check by itself, when it only looks briefly.
#[derive(Clone, Debug)]
pub struct BriefLook {
    /// The catch of the smallest configurations or of the programs made for faults.
    pub by_configuration: Option<Catch>,
    /// The catch of the litmus tests.
    pub by_litmus: Option<Catch>,
}

/// Looks for a fault with the checks of each kind by themselves, visiting at most [`BRIEF_STATES`] states in each
/// place.
pub fn look_briefly(protocol: &'static dyn Protocol, fault: u8) -> BriefLook {
    let mut places = places(protocol);
    let mut found = |kind: usize| look(protocol, fault, &mut places[kind], BRIEF_STATES);
    BriefLook { by_configuration: found(CONFIGURATIONS).or_else(|| found(PROGRAMS)), by_litmus: found(LITMUS) }
}

/// The number of a protocol's faults that each kind of check finds by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MutationScore {
    /// The number of seeded faults of the protocol.
    pub seeded: usize,
    /// The number found by the smallest configurations and the programs made for faults.
    pub by_configuration: usize,
    /// The number found by litmus tests.
    pub by_litmus: usize,
    /// The names of faults that no check finds, however long it looks.
    pub missed: Vec<&'static str>,
}

/// Counts the faults of a protocol that each kind of check finds by itself, and names those that are not found at all.
pub fn score(protocol: &'static dyn Protocol) -> MutationScore {
    let faults = protocol.faults();
    let mut score = MutationScore { seeded: faults.len(), by_configuration: 0, by_litmus: 0, missed: Vec::new() };
    for (index, fault) in (0..).zip(faults) {
        let BriefLook { by_configuration, by_litmus } = look_briefly(protocol, index);
        score.by_configuration += usize::from(by_configuration.is_some());
        score.by_litmus += usize::from(by_litmus.is_some());
        if by_configuration.is_none() && by_litmus.is_none() && caught(protocol, index).is_none() {
            score.missed.push(fault.name);
        }
    }
    score
}

const X: Words = Words::one(0, 0);
const X1: Words = Words::one(0, 1);
const Y: Words = Words::one(1, 0);
const Z: Words = Words::one(2, 0);

const fn ld(at: Words) -> Op {
    Op::Load { at, order: Order::Relaxed, scope: Scope::Gpu }
}

const fn st(at: Words) -> Op {
    Op::Store { at, values: at.values(1), order: Order::Relaxed, scope: Scope::Gpu }
}

/// Programs made for faults, each with several writes, wavefronts, words or stays of a line in a cache. The
/// configurations with all programs of their length would have more states than can be searched.
pub fn programs() -> Vec<CheckConfig> {
    const WRITER: &[Op] = &[st(X), Op::FENCE, st(Y)];
    const READER: &[Op] = &[ld(Y), Op::FENCE, ld(X)];
    const SECOND_WRITER: &[Op] = &[st(X1), Op::FENCE, st(Y)];
    const SECOND_READER: &[Op] = &[ld(Y), Op::FENCE, ld(X1)];
    const READING_WRITER: &[Op] = &[ld(X), st(X), Op::FENCE, st(Y)];
    let program = |name, description, evictions, threads: &[(u16, &[Op])]| {
        let machine = MachineConfig { evictions, ..machine(threads) };
        CheckConfig { name, description, machine }
    };
    let in_flight = MachineConfig { loads: Loads::NonBlocking, ..machine(&[(0, &[ld(X), ld(X), st(X)])]) };
    let in_flight = CheckConfig {
        name: "in-flight",
        description: "two loads of a word are in flight when it is written",
        machine: in_flight,
    };
    vec![
        in_flight,
        program(
            "two-writes",
            "a fence stands behind two writes",
            Evictions::WhenNeeded,
            &[(0, &[st(X), st(Y), Op::FENCE, st(Z)]), (1, &[ld(X), ld(Z), Op::FENCE, ld(X)])],
        ),
        program(
            "two-writers",
            "another wavefront beside the writer writes too",
            Evictions::WhenNeeded,
            &[(0, &[st(Z)]), (0, WRITER), (1, READER)],
        ),
        program(
            "two-readers",
            "another wavefront beside the reader reads too, and the writer has read before",
            Evictions::WhenNeeded,
            &[(0, READING_WRITER), (1, &[ld(X)]), (1, READER)],
        ),
        program(
            "both-words",
            "a word is read before and after another word of its line is written",
            Evictions::WhenNeeded,
            &[(0, &[ld(X1), st(X), ld(X1)]), (1, &[st(X1)])],
        ),
        program(
            "witness",
            "another wavefront beside the writer has seen the write and tells of it",
            Evictions::WhenNeeded,
            &[(0, &[st(X)]), (0, &[ld(X), Op::FENCE, st(Y)]), (1, READER)],
        ),
        program(
            "line-of-the-writer",
            "another wavefront beside the writer writes another word of the line, and private copies leave",
            Evictions::PrivateAnytime,
            &[(0, &[st(X)]), (0, SECOND_WRITER), (1, SECOND_READER)],
        ),
        program(
            "line-of-the-reader",
            "another wavefront beside the reader writes another word of the line, and private copies leave",
            Evictions::PrivateAnytime,
            &[(0, SECOND_WRITER), (1, &[st(X)]), (1, SECOND_READER)],
        ),
        program(
            "two-stays",
            "the writer has read before, and lines leave the bank and return",
            Evictions::Anytime,
            &[(0, READING_WRITER), (1, READER)],
        ),
    ]
}

/// The machine that a program runs on: that of litmus tests, except that no line leaves.
fn machine(threads: &[(u16, &[Op])]) -> MachineConfig {
    let caches: Vec<u16> = threads.iter().map(|(cache, _)| *cache).collect();
    let lines = lines_of(threads.iter().flat_map(|(_, ops)| *ops));
    let steps = threads.iter().map(|(_, ops)| ops.iter().map(|&op| Step::fixed(op)).collect());
    MachineConfig { evictions: Evictions::WhenNeeded, ..MachineConfig::for_steps(&caches, lines, steps) }
}
