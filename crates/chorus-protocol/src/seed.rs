//! Seeded faults: what each is called, and in which of a protocol's two controllers it sits.

use crate::registry::{BuildConfig, FaultSpec};

/// A fault of one of a protocol's two controllers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Seed<L1, L2> {
    /// What the protocol declares.
    pub spec: FaultSpec,
    /// Where it sits.
    pub place: Place<L1, L2>,
}

/// The controller that a fault sits in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place<L1, L2> {
    /// The private cache.
    L1(L1),
    /// The shared bank.
    L2(L2),
}

/// A fault of the private cache.
pub const fn in_l1<L1, L2>(fault: L1, name: &'static str, breaks: &'static str) -> Seed<L1, L2> {
    Seed { spec: FaultSpec { name, breaks }, place: Place::L1(fault) }
}

/// A fault of the shared bank.
pub const fn in_l2<L1, L2>(fault: L2, name: &'static str, breaks: &'static str) -> Seed<L1, L2> {
    Seed { spec: FaultSpec { name, breaks }, place: Place::L2(fault) }
}

/// All of two lists of faults, which have `N` together.
pub const fn followed_by<L1: Copy, L2: Copy, const A: usize, const B: usize, const N: usize>(
    first: [Seed<L1, L2>; A],
    then: [Seed<L1, L2>; B],
) -> [Seed<L1, L2>; N] {
    assert!(A + B == N, "the lists have another length together");
    let mut all = [first[0]; N];
    let mut index = 0;
    while index < N {
        all[index] = if index < A { first[index] } else { then[index - A] };
        index += 1;
    }
    all
}

/// What a protocol with these faults declares, in their order.
pub const fn specs<L1, L2, const N: usize>(seeds: &[Seed<L1, L2>; N]) -> [FaultSpec; N] {
    let mut specs = [FaultSpec { name: "", breaks: "" }; N];
    let mut index = 0;
    while index < N {
        specs[index] = seeds[index].spec;
        index += 1;
    }
    specs
}

/// The faults to build into the private caches and into the shared banks; `seeds` are in the order in which the protocol declares its
/// faults.
pub fn seeded<L1: Copy, L2: Copy>(seeds: &[Seed<L1, L2>], config: &BuildConfig) -> (Option<L1>, Option<L2>) {
    match config.fault.and_then(|index| seeds.get(usize::from(index))).map(|seed| seed.place) {
        Some(Place::L1(fault)) => (Some(fault), None),
        Some(Place::L2(fault)) => (None, Some(fault)),
        None => (None, None),
    }
}
