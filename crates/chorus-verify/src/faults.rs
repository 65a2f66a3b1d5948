//! Seeded faults: mistakes built into a protocol on request, which the checks must find.
//!
//! A search finds the shortest way to a violation first, so most faults show within a few thousand states somewhere. Every place is therefore
//! looked into briefly before any of them is searched to its end.

use std::fmt::Write;

use chorus_protocol::access::Order;
use chorus_protocol::registry::{FaultSpec, Protocol};

use crate::chart::Chart;
use crate::check::{CheckConfig, Verdict, check_bounded, configurations, smoke_configurations};
use crate::config::{Evictions, MachineConfig};
use crate::explore::STATE_LIMIT;
use crate::litmus::{LitmusTest, tests};
use crate::program::{Location, Op, Program};

/// How a fault was found.
#[derive(Clone, Debug)]
pub struct Catch {
    /// The fault.
    pub fault: FaultSpec,
    /// The kind of check that found it, and which.
    pub by: Catcher,
    /// The way to the violation.
    pub chart: Chart,
}

/// A check that finds faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Catcher {
    /// A configuration, by name.
    Configuration(&'static str),
    /// One of [`programs`], by name.
    Program(&'static str),
    /// A litmus test, by name.
    Litmus(&'static str),
}

impl Catcher {
    /// In words: what kind of check it is, and its name.
    pub fn words(&self) -> (&'static str, &'static str) {
        match *self {
            Catcher::Configuration(name) => ("configuration", name),
            Catcher::Program(name) => ("program", name),
            Catcher::Litmus(name) => ("litmus test", name),
        }
    }
}

impl Catch {
    /// One line: what was wrong, what found it, and how it showed.
    pub fn summary(&self) -> String {
        let (kind, name) = self.by.words();
        format!("{} ({}): caught by {kind} {name}: {}", self.fault.name, self.fault.breaks, self.chart.violation)
    }

    /// The line and the chart.
    pub fn to_text(&self) -> String {
        let mut text = self.summary();
        let _ = write!(text, "\n\n{}", self.chart.to_text());
        text
    }
}

/// The index of a protocol's fault, by name.
pub fn find_fault(protocol: &dyn Protocol, name: &str) -> Option<u8> {
    protocol.faults().iter().position(|fault| fault.name == name).map(|index| index as u8)
}

/// The most states to visit in each place, look by look.
const LOOKS: [usize; 3] = [10_000, 150_000, STATE_LIMIT];

/// A place to look for a fault in.
struct Place {
    by: Catcher,
    config: CheckConfig,
}

/// Looks for fault number `fault` of a protocol: in the smallest configurations, the programs made for faults and the litmus tests, and last in
/// the larger configurations. Nothing if none of them finds it.
pub fn caught(protocol: &'static dyn Protocol, fault: u8) -> Option<Catch> {
    let mut places = smallest_configurations();
    places.extend(programs().into_iter().map(|config| Place { by: Catcher::Program(config.name), config }));
    places.extend(litmus_tests());
    for limit in LOOKS {
        if let Some(catch) = look(protocol, fault, &mut places, limit) {
            return Some(catch);
        }
        // What the smallest configurations do not show at once, single programs show sooner.
        places.sort_by_key(|place| matches!(place.by, Catcher::Configuration(_)));
    }
    let mut places: Vec<Place> = configurations(protocol).into_iter().map(of_configuration).collect();
    look(protocol, fault, &mut places, STATE_LIMIT)
}

/// Looks into every place, visiting at most `limit` states in each, and leaves those that were not searched to their end.
fn look(protocol: &'static dyn Protocol, fault: u8, places: &mut Vec<Place>, limit: usize) -> Option<Catch> {
    let spec = *protocol.faults().get(usize::from(fault))?;
    let mut unfinished = Vec::new();
    for place in places.drain(..) {
        match check_bounded(protocol, Some(fault), &place.config, limit).verdict {
            Verdict::Violated(chart) => return Some(Catch { fault: spec, by: place.by, chart }),
            Verdict::Bounded => unfinished.push(place),
            Verdict::Pass => {}
        }
    }
    *places = unfinished;
    None
}

fn of_configuration(config: CheckConfig) -> Place {
    Place { by: Catcher::Configuration(config.name), config }
}

fn smallest_configurations() -> Vec<Place> {
    smoke_configurations().into_iter().map(of_configuration).collect()
}

/// The litmus tests: those of at most two private caches without evictions, and then all with evictions, from few private caches to many.
fn litmus_tests() -> Vec<Place> {
    let mut tests = tests();
    tests.sort_by_key(|test| test.caches.iter().max().copied());
    let place = |test: &LitmusTest, machine| {
        let config = CheckConfig { name: test.name, description: test.question, machine };
        Place { by: Catcher::Litmus(test.name), config }
    };
    let small = tests.iter().filter(|test| test.caches.iter().all(|&cache| cache < 2));
    let small = small.map(|test| place(test, without_evictions(&test.program, &test.caches)));
    let all = tests.iter().map(|test| place(test, MachineConfig::for_program(&test.program, &test.caches)));
    small.chain(all).collect()
}

const X: Location = Location { line: 0, word: 0 };
const X1: Location = Location { line: 0, word: 1 };
const Y: Location = Location { line: 1, word: 0 };
const Z: Location = Location { line: 2, word: 0 };

fn ld(at: Location) -> Op {
    Op::Load { at, order: Order::Relaxed }
}

fn st(at: Location) -> Op {
    Op::Store { at, value: 1, order: Order::Relaxed }
}

/// Programs made for faults: in which more than one write, wavefront or word takes part, and nothing is evicted. All programs of
/// their length have more states than can be searched, and so have these with evictions.
pub fn programs() -> Vec<CheckConfig> {
    let program = |name, description, threads: &[&[Op]], caches: &[u16]| {
        let program = Program { threads: threads.iter().map(|ops| ops.to_vec()).collect() };
        CheckConfig { name, description, machine: without_evictions(&program, caches) }
    };
    vec![
        program(
            "two-writes",
            "a fence stands behind two writes",
            &[&[st(X), st(Y), Op::Fence, st(Z)], &[ld(X), ld(Z), Op::Fence, ld(X)]],
            &[0, 1],
        ),
        program(
            "two-writers",
            "another wavefront beside the writer's private cache writes too",
            &[&[st(Z)], &[st(X), Op::Fence, st(Y)], &[ld(Y), Op::Fence, ld(X)]],
            &[0, 0, 1],
        ),
        program(
            "two-readers",
            "another wavefront beside the reader's private cache reads too, and the writer has read before",
            &[&[ld(X), st(X), Op::Fence, st(Y)], &[ld(X)], &[ld(Y), Op::Fence, ld(X)]],
            &[0, 1, 1],
        ),
        program(
            "two-words",
            "a word is read before and after another word of its line is written",
            &[&[ld(X1), st(X), ld(X1)], &[st(X1)]],
            &[0, 1],
        ),
    ]
}

/// The machine for a program, without evictions.
fn without_evictions(program: &Program, caches: &[u16]) -> MachineConfig {
    MachineConfig { evictions: Evictions::WhenNeeded, ..MachineConfig::for_program(program, caches) }
}
