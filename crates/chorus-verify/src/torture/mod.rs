//! The random driver: the controllers of the other two drivers, in millions of random steps.
//!
//! An episode is a random small machine ([`setup`]) that runs a random program ([`program`], drawn by [`draw`]) with
//! random delays of every message, random evictions and every reordering that the protocol's network allows. Some
//! programs are free of data races, so that every value read is known beforehand. The others are racy, and the values
//! of each word must fit one order of its writes. At the end of an episode nothing may be left over. Episode `i`
//! depends on the seed and on `i` alone. A failing episode is made small ([`shrink`]) and can be repeated exactly.

mod boundary;
mod coherence;
pub mod coverage;
mod crew;
pub mod draw;
mod driver;
mod elide;
mod evict;
mod judge;
mod lower;
mod machines;
mod network;
mod operations;
pub mod problem;
pub mod program;
mod random;
pub mod setup;
pub mod shrink;
mod trace;
mod wavefront;

use std::fmt::Write;

use chorus_protocol::registry::{FaultSpec, Protocol};

use coverage::Coverage;
use crew::{run_block, run_episodes};
use draw::draw_episode;
use driver::Driver;
use problem::Problem;
use shrink::{Shrunk, shrink};

/// The settings of the random driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Episodes begin until so many inputs have been consumed.
    pub steps: u64,
    /// The seed of everything that is random.
    pub seed: u64,
    /// The only episode to run, if one is given.
    pub episode: Option<u64>,
    /// Whether wavefronts always wait for a load or an atomic before they go on; otherwise they do in half of the
    /// episodes.
    pub blocking_loads: bool,
    /// Whether a failing episode is made small.
    pub shrinks: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { steps: 15_000_000, seed: 1, episode: None, blocking_loads: false, shrinks: true }
    }
}

/// An episode that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TortureFailure {
    /// The number of the episode, counted from 0.
    pub episode: u64,
    /// The rule that was broken.
    pub problem: Problem,
    /// The number of operations of the episode's program.
    pub operations: usize,
    /// The episode made small, where that was asked for.
    pub shrunk: Option<Shrunk>,
}

/// The result of many random episodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TortureReport {
    /// The name of the protocol.
    pub protocol: &'static str,
    /// The seeded fault of the controllers, if any.
    pub fault: Option<&'static str>,
    /// The settings that were asked for.
    pub settings: Settings,
    /// The number of inputs that controllers consumed.
    pub steps: u64,
    /// The number of inputs that they refused for the time being.
    pub refusals: u64,
    /// The number of episodes begun.
    pub episodes: u64,
    /// The number of operations of all programs.
    pub operations: u64,
    /// The cells of the transition table that were met.
    pub coverage: Coverage,
    /// The first failure, which ends the run.
    pub failure: Option<TortureFailure>,
}

impl TortureReport {
    /// The failure as the catch of the fault that was seeded.
    pub fn catch(&self, fault: FaultSpec) -> Option<TortureCatch> {
        let TortureFailure { episode, problem, .. } = self.failure.as_ref()?;
        Some(TortureCatch { fault, steps: self.steps, episode: *episode, problem: problem.clone() })
    }

    /// Whether no episode failed.
    pub fn passed(&self) -> bool {
        self.failure.is_none()
    }

    /// The command that repeats the failing episode.
    pub fn command(&self) -> Option<String> {
        let failure = self.failure.as_ref()?;
        let fault = self.fault.map_or(String::new(), |fault| format!(" --fault {fault}"));
        let blocking = if self.settings.blocking_loads { " --blocking-loads" } else { "" };
        let (protocol, seed, episode) = (self.protocol, self.settings.seed, failure.episode);
        Some(format!("chorus torture {protocol}{fault}{blocking} --seed {seed} --episode {episode}"))
    }

    /// The failure in words: the broken rule, the command that repeats it, the small program and its last steps. Empty
    /// if no episode failed.
    pub fn failure_text(&self, protocol: &dyn Protocol) -> String {
        let mut text = String::new();
        let (Some(failure), Some(command)) = (&self.failure, self.command()) else { return text };
        let _ = writeln!(text, "episode {}, {} operations: {}", failure.episode, failure.operations, failure.problem);
        let _ = writeln!(text, "repeat with: {command}");
        let Some(shrunk) = &failure.shrunk else { return text };
        let (setup, program) = (&shrunk.episode.setup, &shrunk.episode.program);
        let _ = writeln!(text, "\nshrunk to {} operations: {}", program.operations(), shrunk.problem);
        let _ = writeln!(text, "on {}", setup.describe(protocol));
        for line in program.lines() {
            let _ = writeln!(text, "  {line}");
        }
        let _ = writeln!(text, "\nlast steps: time, controller, input, state before → after, outputs");
        for line in &shrunk.trace {
            let _ = writeln!(text, "  {line}");
        }
        text
    }
}

/// Runs random episodes until one fails or enough steps are made. `fault` indexes the protocol's faults.
pub fn torture(protocol: &'static dyn Protocol, fault: Option<u8>, settings: &Settings) -> TortureReport {
    torture_watched(protocol, fault, settings, &mut |_| {})
}

/// Runs random episodes like [`torture`], and reports the number of steps now and then.
pub fn torture_watched(
    protocol: &'static dyn Protocol,
    fault: Option<u8>,
    settings: &Settings,
    watch: &mut dyn FnMut(u64),
) -> TortureReport {
    let first = settings.episode.unwrap_or(0);
    let draw = |index: u64| {
        let mut episode = draw_episode(protocol, settings.seed, index);
        if settings.blocking_loads {
            episode.setup.loads_in_flight = 1;
        }
        episode
    };
    let driver = || Driver::new(protocol, fault, &draw(first));
    let ran = match settings.episode {
        Some(index) => run_block(&mut driver(), index, 1, &draw),
        None => run_episodes(settings.steps, &draw, &driver, watch),
    };
    let failure = ran.failure.map(|(index, problem)| {
        let episode = draw(index);
        let shrunk = settings.shrinks.then(|| shrink(protocol, fault, &episode, &problem));
        TortureFailure { episode: index, problem, operations: episode.program.operations(), shrunk }
    });
    TortureReport {
        protocol: protocol.name(),
        fault: fault.and_then(|index| protocol.faults().get(usize::from(index))).map(|fault| fault.name),
        settings: *settings,
        steps: ran.steps,
        refusals: ran.refusals,
        episodes: ran.count,
        operations: ran.operations,
        coverage: ran.coverage,
        failure,
    }
}

/// A seeded fault that a random episode showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TortureCatch {
    /// The fault that was seeded.
    pub fault: FaultSpec,
    /// The number of steps made until then.
    pub steps: u64,
    /// The number of the episode that showed it.
    pub episode: u64,
    /// The broken rule that showed it.
    pub problem: Problem,
}

/// Looks for fault number `fault` of a protocol in at most about `steps` steps, with the default seed.
pub fn caught_by_torture(protocol: &'static dyn Protocol, fault: u8, steps: u64) -> Option<TortureCatch> {
    let spec = *protocol.faults().get(usize::from(fault))?;
    let settings = Settings { steps, shrinks: false, ..Settings::default() };
    torture(protocol, Some(fault), &settings).catch(spec)
}
