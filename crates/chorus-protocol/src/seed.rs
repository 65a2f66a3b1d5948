//! Seeded faults. A protocol describes each fault once, in one table: its name, what it breaks, and the variant of the
//! enum that makes a controller behave so.

use crate::registry::{BuildConfig, FaultSpec};

/// A row of a protocol's table of faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Seed<F> {
    /// The name and the description that the protocol declares.
    pub spec: FaultSpec,
    /// The fault as controllers know it.
    pub fault: F,
}

impl<F> Seed<F> {
    /// A fault that is declared under `name` and breaks what `breaks` says.
    pub const fn new(fault: F, name: &'static str, breaks: &'static str) -> Seed<F> {
        Seed { spec: FaultSpec { name, breaks }, fault }
    }
}

/// The controller that a fault sits in, for protocols with a private cache and a shared bank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Level<L1, L2> {
    /// The fault sits in private caches.
    L1(L1),
    /// The fault sits in shared banks.
    L2(L2),
}

/// A fault of a protocol with two kinds of controllers.
pub type LevelSeed<L1, L2> = Seed<Level<L1, L2>>;

/// A fault of the private cache.
pub const fn in_l1<L1, L2>(fault: L1, name: &'static str, breaks: &'static str) -> LevelSeed<L1, L2> {
    Seed { spec: FaultSpec { name, breaks }, fault: Level::L1(fault) }
}

/// A fault of the shared bank.
pub const fn in_l2<L1, L2>(fault: L2, name: &'static str, breaks: &'static str) -> LevelSeed<L1, L2> {
    Seed { spec: FaultSpec { name, breaks }, fault: Level::L2(fault) }
}

/// The faults that a protocol with these seeds declares, in their order.
pub const fn specs<F, const N: usize>(seeds: &[Seed<F>; N]) -> [FaultSpec; N] {
    let mut specs = [FaultSpec { name: "", breaks: "" }; N];
    let mut index = 0;
    while index < N {
        specs[index] = seeds[index].spec;
        index += 1;
    }
    specs
}

/// The fault to build in, for a protocol that declares exactly `seeds`.
pub fn seeded<F: Copy>(seeds: &[Seed<F>], config: &BuildConfig) -> Option<F> {
    seeded_behind(&[], seeds, config)
}

/// The fault to build in, for a derived protocol that declares `seeds` behind the faults that it inherits. There is
/// none if the fault is one of those.
pub fn seeded_behind<F: Copy>(inherited: &[FaultSpec], seeds: &[Seed<F>], config: &BuildConfig) -> Option<F> {
    let own = usize::from(config.fault?).checked_sub(inherited.len())?;
    seeds.get(own).map(|seed| seed.fault)
}

/// The faults to build into private caches and into shared banks, for a protocol that declares `seeds`, at most one of
/// which is built in. Derived protocols declare further faults behind these; neither kind of controller then has a
/// fault.
pub fn seeded_by_level<L1: Copy, L2: Copy>(
    seeds: &[LevelSeed<L1, L2>],
    config: &BuildConfig,
) -> (Option<L1>, Option<L2>) {
    match seeded(seeds, config) {
        Some(Level::L1(fault)) => (Some(fault), None),
        Some(Level::L2(fault)) => (None, Some(fault)),
        None => (None, None),
    }
}
