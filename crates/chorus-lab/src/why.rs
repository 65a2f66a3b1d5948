//! Why accesses take as long as they do: runs whose accesses are observed, one by one or all together.
//!
//! An access has a chain of intervals that adjoin from its issue to its end ([`chorus_sim::observe`]). Here, the chains
//! that somebody asks for are kept, and all chains are added up to a [`stack::Stack`].

mod json;
pub mod page;
pub mod stack;
pub mod stage;

use std::sync::{Arc, Mutex, PoisonError};

use chorus_sim::Watch;
use chorus_sim::observe::{Access, Interval, Observer, Purpose, Scene, SharedObserver};
use serde_json::Value;

use self::stack::{Stack, Sum};
use self::stage::Stage;
use crate::run::{RunError, RunErrorKind, RunResult, RunSpec};
use crate::setup::Setup;
use crate::simulate::{Manner, simulate_on};

/// The accesses that somebody asks for. Every condition that is given has to hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// The number of the access.
    pub number: Option<u64>,
    /// An address in the line that it touches.
    pub address: Option<u64>,
    /// The private cache that it goes to, and the slot of its wavefront there.
    pub wave: Option<(u16, u16)>,
    /// The most accesses that are kept with their chains: the slowest ones.
    pub slowest: usize,
}

/// An access with its chain.
#[derive(Clone, Debug)]
pub struct Kept {
    /// The access with its number, place and times.
    pub access: Access,
    /// Its intervals in the order of time, which adjoin.
    pub chain: Vec<Interval>,
}

impl Kept {
    fn ticks(&self) -> u64 {
        self.access.ended - self.access.issued
    }
}

/// An observer that keeps the chains of selected accesses and adds all of them up.
#[derive(Debug, Default)]
pub struct Why {
    selection: Selection,
    /// The machine that the run was made on.
    pub scene: Option<Scene>,
    /// The time of all selected accesses.
    pub stack: Stack,
    /// The slowest of the selected accesses, the slowest first.
    pub kept: Vec<Kept>,
}

impl Why {
    fn selects(&self, access: &Access) -> bool {
        let Selection { number, address, wave, .. } = self.selection;
        let line_bytes = self.scene.as_ref().map_or(1, |scene| u64::from(scene.line_bytes));
        number.is_none_or(|number| access.served.number.0 == number)
            && address.is_none_or(|address| access.line == Some(address / line_bytes))
            && wave.is_none_or(|wave| (access.served.cache.0, access.served.wave) == wave)
    }

    /// Keeps an access if it is among the slowest. Of two that take as long, the one with the lower number comes first.
    fn keep(&mut self, access: &Access, chain: &[Interval]) {
        let key = |kept: &Kept| (std::cmp::Reverse(kept.ticks()), kept.access.served.number);
        let own = (std::cmp::Reverse(access.ended - access.issued), access.served.number);
        let place = self.kept.partition_point(|kept| key(kept) < own);
        if place < self.selection.slowest {
            self.kept.insert(place, Kept { access: access.clone(), chain: chain.to_vec() });
            self.kept.truncate(self.selection.slowest);
        }
    }
}

impl Observer for Why {
    fn begin(&mut self, scene: &Scene) {
        self.scene = Some(scene.clone());
    }

    fn access(&mut self, access: &Access, chain: &[Interval]) {
        if !self.selects(access) {
            return;
        }
        let buffer = self.scene.as_ref().and_then(|scene| scene.buffer_of(access.line?));
        self.stack.add(access, buffer, chain);
        // Of all accesses, loads are asked for. Of a line or a wavefront, others may be as interesting.
        let is_narrow = Selection { slowest: 0, ..self.selection } != Selection::default();
        if is_narrow || access.served.purpose == Purpose::Load {
            self.keep(access, chain);
        }
    }
}

/// A run with what was observed in it.
#[derive(Debug)]
pub struct Told {
    /// The result of the run.
    pub result: RunResult,
    /// The accesses that were asked for, and the sum of all.
    pub why: Why,
}

impl Told {
    /// The length of a core cycle in ticks.
    pub fn cycle(&self) -> u64 {
        self.why.scene.as_ref().map_or(1, |scene| scene.cycle)
    }

    /// The purposes of accesses that wavefronts wait for, with their sums.
    pub fn sums(&self) -> impl Iterator<Item = (Purpose, Sum)> {
        let sums = Purpose::AWAITED.into_iter().map(|purpose| (purpose, self.why.stack.of(purpose)));
        sums.filter(|(_, sum)| sum.accesses > 0)
    }

    /// The slowest of the accesses that were asked for, as `chorus why --json` prints them.
    pub fn chains_to_json(&self) -> Value {
        json::chains(self)
    }

    /// The time of all accesses by cause, as `chorus why --aggregate --json` prints it.
    pub fn stacks_to_json(&self) -> Value {
        json::stacks(self)
    }
}

/// Makes one run and says where the time of the selected accesses went. A selection that holds for no access is an
/// error.
pub fn why(spec: &RunSpec, setup: &Setup, manner: Manner<'_>, selection: Selection) -> Result<Told, RunError> {
    let why = Arc::new(Mutex::new(Why { selection, ..Why::default() }));
    let observer: SharedObserver = why.clone();
    let watch = Watch { observer: Some(&observer), ..manner.watch };
    let result = simulate_on(spec, setup, Manner { watch, ..manner })?;
    let why = std::mem::take(&mut *why.lock().unwrap_or_else(PoisonError::into_inner));
    match why.stack.is_empty() {
        true => Err(RunError::new(RunErrorKind::BadInput, nothing(&selection, &why))),
        false => Ok(Told { result, why }),
    }
}

/// The message about a selection that holds for no access.
fn nothing(selection: &Selection, why: &Why) -> String {
    let hint =
        "hint: without --load, --line and --wave, the slowest loads are shown with their numbers, lines and waves";
    let what = match (selection.number, selection.address, selection.wave) {
        (Some(number), ..) => format!("the run has no access of number {number}"),
        (None, Some(address), _) => {
            let end = why.scene.as_ref().and_then(|scene| scene.buffers.last()).map_or(0, |buffer| buffer.end * 4);
            format!("no access touches the line of address {address:#x}; the program's memory ends at {end:#x}")
        }
        (None, None, Some((cache, slot))) => format!("the run has no access of wavefront slot {slot} of L1.{cache}"),
        (None, None, None) => "the run has no access at all".to_owned(),
    };
    format!("{what}\n{hint}")
}

/// Makes a run that is observed: its metrics also say what its accesses waited for.
pub(crate) fn observe(spec: &RunSpec, setup: &Setup, manner: Manner<'_>) -> Result<RunResult, RunError> {
    let mut told = why(spec, setup, manner, Selection::default())?;
    let cycles = |stage: Stage| stage.ticks(&told.why.stack) as f64 / told.cycle() as f64;
    let metrics = Stage::ALL.map(|stage| (stage.metric().to_owned(), cycles(stage)));
    told.result.metrics.extend(metrics);
    Ok(told.result)
}
