//! Non-hierarchical software coherence (HMG paper, section VI): scopes, and acquires that empty caches.
//!
//! Every line has one home. An acquire wider than a work-group empties the private cache and the L2 of its module, the two caches between it and any home; a
//! release waits until the homes have its stores.

use crate::address::Role;
use crate::controller::Controller;
use crate::protocols::scoped::l1::{Acquire, L1Fault};
use crate::protocols::scoped::messages::{SOFTWARE_NETWORKS, SOFTWARE_TABLE};
use crate::protocols::scoped::policy::{
    ACQUIRE_PARAMETERS, Coherence, L2Fault, L2Policy, PLAIN, Policy, SCOPED, ScopedSeed, build,
};
use crate::registry::{Build, BuildConfig, Declaration, FaultSpec, Protocol};
use crate::seed::{in_l1, in_l2, specs};

const POLICY: Policy =
    Policy { acquire: Acquire::DropsShared, l2: L2Policy { coherence: Coherence::Acquires, ..PLAIN } };

/// How many mistakes fit both software protocols.
pub(super) const SOFTWARE_SEED_COUNT: usize = 18;

/// Mistakes that fit both software protocols.
pub(super) const SOFTWARE_SEEDS: [ScopedSeed; SOFTWARE_SEED_COUNT] = [
    in_l1(L1Fault::KeptCopies, "kept-copies", "an acquire keeps the private copies"),
    in_l1(L1Fault::KeptMisses, "kept-misses", "an acquire leaves private refills on their way to be cached"),
    in_l1(L1Fault::WideHit, "wide-l1-hit", "loads of wide scope hit in the private cache"),
    in_l1(L1Fault::StaleStoreHit, "stale-l1-store-hit", "a store leaves the old private copy readable"),
    in_l1(
        L1Fault::PendingStore,
        "l1-pending-store",
        "a store to a line that is being fetched leaves the refill to be cached",
    ),
    in_l1(L1Fault::StaleAtomic, "stale-l1-atomic", "an atomic leaves the old private copy readable"),
    in_l1(L1Fault::NoRelease, "no-release", "a release waits for nothing"),
    in_l1(L1Fault::LostMerge, "lost-merge", "only the first of several merged loads is answered"),
    in_l1(L1Fault::WholeCopy, "whole-copy", "a store replaces the whole private copy, not only its bytes"),
    in_l1(L1Fault::NoKernelEnd, "no-kernel-end", "the end of a kernel releases nothing"),
    in_l2(L2Fault::AcquireKeepsCopies, "acquire-keeps-copies", "an acquire keeps the copies of shared banks"),
    in_l2(
        L2Fault::AcquireKeepsMisses,
        "acquire-keeps-misses",
        "an acquire leaves copies on their way to a shared bank to be kept",
    ),
    in_l2(L2Fault::ReleaseStaysHere, "release-stays-here", "a release does not reach other modules"),
    in_l2(L2Fault::PendingStore, "pending-store", "a store to a line on its way to an L2 leaves it to be kept"),
    in_l2(L2Fault::StaleStoreHit, "stale-store-hit", "a store leaves the old copy of its L2 readable"),
    in_l2(L2Fault::LostStore, "lost-store", "a store that finds a copy in an L2 goes no further"),
    in_l2(L2Fault::StaleAtomic, "stale-atomic", "an atomic leaves the old copy of its L2 readable"),
    in_l2(L2Fault::WideHit, "wide-hit", "loads of wide scope hit in the L2 of their module"),
];

static FAULTS: [FaultSpec; SOFTWARE_SEED_COUNT] = specs(&SOFTWARE_SEEDS);

static DECLARATION: Declaration = Declaration {
    name: "sw-flat",
    title: "SW non-hierarchical",
    summary: "Scoped software coherence: acquires empty the L1 and the L2 of their module.",
    citation: "Ren et al., HMG: Extending Cache Coherence Protocols Across Modern Hierarchical Multi-GPU Systems, HPCA 2020, section VI",
    virtual_networks: SOFTWARE_NETWORKS,
    messages: &SOFTWARE_TABLE,
    parameters: &ACQUIRE_PARAMETERS,
    faults: &FAULTS,
    ..SCOPED
};

/// The protocol.
pub struct SwFlat;

impl<const W: usize> Build<W> for SwFlat {
    fn build(&self, role: Role, index: u16, config: &BuildConfig) -> Option<Box<dyn Controller<W>>> {
        build(role, index, config, &POLICY, &SOFTWARE_SEEDS)
    }
}

impl Protocol for SwFlat {
    fn declaration(&self) -> &'static Declaration {
        &DECLARATION
    }
}
