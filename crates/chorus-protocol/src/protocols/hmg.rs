//! HMG: hierarchical hardware coherence across GPUs (HMG paper, section V).
//!
//! Every line has a home in each GPU, one of which is its home in the system. Requests pass the GPU home, whose directory tracks the modules of its GPU; the
//! directory of the system home tracks whole GPUs. An invalidation that reaches a GPU home is passed on to the modules that it tracks: the one transition that
//! NHCC does not have.

use crate::address::Role;
use crate::controller::Controller;
use crate::protocols::nhcc::{DIRECTORY_SEEDS, NHCC_SEEDS, Nhcc};
use crate::protocols::scoped::l1::Acquire;
use crate::protocols::scoped::policy::{
    DIRECTORY_PARAMETERS, L2Fault, L2Policy, PLAIN, Policy, SCOPED, ScopedSeed, build,
};
use crate::protocols::scoped::route::Hierarchy;
use crate::registry::{Build, BuildConfig, Declaration, FaultSpec, Promise, Protocol};
use crate::seed::{followed_by, in_l2, specs};

const POLICY: Policy =
    Policy { acquire: Acquire::DropsPrivate, l2: L2Policy { hierarchy: Hierarchy::GpuHomes, ..PLAIN } };

/// Mistakes that need GPU homes.
const OWN_SEEDS: [ScopedSeed; 5] = [
    in_l2(
        L2Fault::InvalidationNotForwarded,
        "invalidation-not-forwarded",
        "a GPU home keeps an invalidation of the system home to itself",
    ),
    in_l2(L2Fault::MarkNotForwarded, "mark-not-forwarded", "a GPU home does not pass marks on"),
    in_l2(
        L2Fault::ReleaseStopsAtGpuHome,
        "release-stops-at-gpu-home",
        "a system-wide release does not reach the system homes",
    ),
    in_l2(L2Fault::AtomicsAtGpuHome, "atomics-at-gpu-home", "system-wide atomics are performed at the GPU home"),
    in_l2(
        L2Fault::StoreOvertakesAtomic,
        "store-overtakes-atomic",
        "a store passes an atomic that waits at the GPU home for its line",
    ),
];

const SEEDS: [ScopedSeed; NHCC_SEEDS + OWN_SEEDS.len()] = followed_by(DIRECTORY_SEEDS, OWN_SEEDS);

static FAULTS: [FaultSpec; SEEDS.len()] = specs(&SEEDS);

static DECLARATION: Declaration = Declaration {
    name: "hmg",
    title: "HMG",
    summary: "Hierarchical directories across GPUs and modules, without transient states or invalidation acknowledgements.",
    citation: "Ren et al., HMG: Extending Cache Coherence Protocols Across Modern Hierarchical Multi-GPU Systems, HPCA 2020, section V",
    promises: &[Promise::Tracking, Promise::Communication],
    parameters: &DIRECTORY_PARAMETERS,
    faults: &FAULTS,
    ..SCOPED
};

/// The protocol.
pub struct Hmg;

impl<const W: usize> Build<W> for Hmg {
    fn build(&self, role: Role, index: u16, config: &BuildConfig) -> Option<Box<dyn Controller<W>>> {
        build(role, index, config, &POLICY, &SEEDS)
    }
}

impl Protocol for Hmg {
    fn extends(&self) -> Option<&'static dyn Protocol> {
        Some(&Nhcc)
    }

    fn declaration(&self) -> &'static Declaration {
        &DECLARATION
    }
}
