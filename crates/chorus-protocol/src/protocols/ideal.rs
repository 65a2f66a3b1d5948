//! Idealised caching without coherence (HMG paper, section VI): the loose upper bound of what caching can give.
//!
//! Requests pass GPU homes as in HMG. No copy is ever given up for coherence: there are no invalidations, acquires drop nothing, loads of any scope may hit
//! anywhere. Stores still travel to their homes and releases wait for that, which is order and not coherence. Copies go stale. The timing driver gives loads the values that coherent caches would hold, so that programs take
//! the way that they would take and what is measured is time alone; the other drivers see the stale copies.

use crate::address::Role;
use crate::controller::Controller;
use crate::protocols::scoped::l1::{Acquire, L1Fault};
use crate::protocols::scoped::policy::{
    Coherence, IDEAL_PARAMETERS, L2Fault, L2Policy, PLAIN, Policy, SCOPED, ScopedSeed, build,
};
use crate::protocols::scoped::route::Hierarchy;
use crate::registry::{Build, BuildConfig, Declaration, FaultSpec, MemoryModel, Protocol, Values};
use crate::seed::{in_l1, in_l2, specs};

const POLICY: Policy = Policy {
    acquire: Acquire::Nothing,
    l2: L2Policy { hierarchy: Hierarchy::GpuHomes, coherence: Coherence::None, ..PLAIN },
};

const SEEDS: [ScopedSeed; 10] = [
    in_l1(L1Fault::StaleStoreHit, "stale-l1-store-hit", "a store leaves the old private copy readable"),
    in_l1(
        L1Fault::PendingStore,
        "l1-pending-store",
        "a store to a line that is being fetched leaves the refill to be cached",
    ),
    in_l1(L1Fault::StaleAtomic, "stale-l1-atomic", "an atomic leaves the old private copy readable"),
    in_l1(L1Fault::LostMerge, "lost-merge", "only the first of several merged loads is answered"),
    in_l1(L1Fault::WholeCopy, "whole-copy", "a store replaces the whole private copy, not only its bytes"),
    in_l2(L2Fault::PendingStore, "pending-store", "a store to a line on its way to an L2 leaves it to be kept"),
    in_l2(L2Fault::StaleStoreHit, "stale-store-hit", "a store leaves the old copy of its L2 readable"),
    in_l2(L2Fault::LostStore, "lost-store", "a store that finds a copy in an L2 goes no further"),
    in_l2(L2Fault::StaleAtomic, "stale-atomic", "an atomic leaves the old copy of its L2 readable"),
    in_l2(L2Fault::LostAtomic, "lost-atomic", "what an atomic wrote at its home goes no further"),
];

static FAULTS: [FaultSpec; SEEDS.len()] = specs(&SEEDS);

static DECLARATION: Declaration = Declaration {
    name: "ideal",
    title: "Ideal",
    summary: "Caches of all GPUs that nobody keeps coherent, with the values of coherent ones: an upper bound.",
    citation: "Ren et al., HMG: Extending Cache Coherence Protocols Across Modern Hierarchical Multi-GPU Systems, HPCA 2020, section VI",
    model: MemoryModel::PerLocation,
    values: Values::Decreed,
    parameters: &IDEAL_PARAMETERS,
    faults: &FAULTS,
    ..SCOPED
};

/// The protocol.
pub struct Ideal;

impl<const W: usize> Build<W> for Ideal {
    fn build(&self, role: Role, index: u16, config: &BuildConfig) -> Option<Box<dyn Controller<W>>> {
        build(role, index, config, &POLICY, &SEEDS)
    }
}

impl Protocol for Ideal {
    fn declaration(&self) -> &'static Declaration {
        &DECLARATION
    }
}
