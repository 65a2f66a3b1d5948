//! Seeded faults: in which of a protocol's two controllers each one sits.

use crate::registry::BuildConfig;

/// A fault, of one of a protocol's two controllers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Seed<L1, L2> {
    /// In the private cache.
    L1(L1),
    /// In the shared bank.
    L2(L2),
}

/// The faults to build into the private caches and into the shared banks; `seeds` are in the order in which the protocol declares its
/// faults.
pub fn seeded<L1: Copy, L2: Copy>(seeds: &[Seed<L1, L2>], config: &BuildConfig) -> (Option<L1>, Option<L2>) {
    match config.fault.and_then(|index| seeds.get(usize::from(index))) {
        Some(Seed::L1(fault)) => (Some(*fault), None),
        Some(Seed::L2(fault)) => (None, Some(*fault)),
        None => (None, None),
    }
}
