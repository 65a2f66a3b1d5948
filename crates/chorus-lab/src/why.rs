//! Why accesses take as long as they do: runs whose accesses are observed, one by one or all together.
//!
//! An access has a chain of intervals that adjoin from its issue to its end ([`chorus_sim::observe`]). Here, the chains
//! that somebody asks for are kept, and all chains are added up to a [`stack::Stack`].

pub mod page;
pub mod stack;
pub mod stage;

use std::sync::{Arc, Mutex, PoisonError};

use chorus_sim::Watch;
use chorus_sim::observe::{Access, Interval, Observer, Purpose, Scene, SharedObserver};

use self::stack::Stack;
use self::stage::Stage;
use crate::run::{RunError, RunResult, RunSpec};
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

/// Makes one run and says where the time of the selected accesses went.
pub fn why(
    spec: &RunSpec,
    setup: &Setup,
    manner: Manner<'_>,
    selection: Selection,
) -> Result<(RunResult, Why), RunError> {
    let why = Arc::new(Mutex::new(Why { selection, ..Why::default() }));
    let observer: SharedObserver = why.clone();
    let watch = Watch { observer: Some(&observer), ..manner.watch };
    let result = simulate_on(spec, setup, Manner { watch, ..manner })?;
    let told = std::mem::take(&mut *why.lock().unwrap_or_else(PoisonError::into_inner));
    Ok((result, told))
}

/// Makes a run that is observed: its metrics also say what its accesses waited for.
pub(crate) fn observe(spec: &RunSpec, setup: &Setup, manner: Manner<'_>) -> Result<RunResult, RunError> {
    let (mut result, why) = why(spec, setup, manner, Selection::default())?;
    let cycle = why.scene.as_ref().map_or(1, |scene| scene.cycle);
    let cycles = |stage: Stage| stage.ticks(&why.stack) as f64 / cycle as f64;
    result.metrics.extend(Stage::ALL.map(|stage| (stage.metric().to_owned(), cycles(stage))));
    Ok(result)
}
