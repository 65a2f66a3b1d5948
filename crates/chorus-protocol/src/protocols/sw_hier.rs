//! Hierarchical software coherence (HMG paper, section VI): as the non-hierarchical one, with a home in every GPU.
//!
//! Requests pass the home within their GPU, so that modules share what it fetched. An acquire of GPU scope empties the private cache and the L2 of its module; one
//! of system scope empties all L2s of its GPU, any of which may be a GPU home with stale lines.

use crate::address::Role;
use crate::controller::Controller;
use crate::protocols::scoped::l1::Acquire;
use crate::protocols::scoped::messages::{SOFTWARE_NETWORKS, SOFTWARE_TABLE};
use crate::protocols::scoped::policy::{
    ACQUIRE_PARAMETERS, Coherence, L2Fault, L2Policy, PLAIN, Policy, SCOPED, ScopedSeed, build,
};
use crate::protocols::scoped::route::Hierarchy;
use crate::protocols::sw_flat::{SOFTWARE_SEED_COUNT, SOFTWARE_SEEDS};
use crate::registry::{Build, BuildConfig, Declaration, FaultSpec, Protocol};
use crate::seed::{followed_by, in_l2, specs};

const POLICY: Policy = Policy {
    acquire: Acquire::DropsShared,
    l2: L2Policy { hierarchy: Hierarchy::GpuHomes, coherence: Coherence::Acquires, ..PLAIN },
};

/// Mistakes that need GPU homes.
const OWN_SEEDS: [ScopedSeed; 4] = [
    in_l2(L2Fault::AcquireOnlyHere, "acquire-only-here", "a system-wide acquire empties the L2 of its module only"),
    in_l2(
        L2Fault::ReleaseStopsAtGpuHome,
        "release-stops-at-gpu-home",
        "a system-wide release does not reach the system homes",
    ),
    in_l2(L2Fault::GpuHomeAnswersAll, "gpu-home-answers-all", "loads of system scope hit in the GPU home"),
    in_l2(L2Fault::AtomicsAtGpuHome, "atomics-at-gpu-home", "system-wide atomics are performed at the GPU home"),
];

const SEEDS: [ScopedSeed; SOFTWARE_SEED_COUNT + OWN_SEEDS.len()] = followed_by(SOFTWARE_SEEDS, OWN_SEEDS);

static FAULTS: [FaultSpec; SEEDS.len()] = specs(&SEEDS);

static DECLARATION: Declaration = Declaration {
    name: "sw-hier",
    title: "SW hierarchical",
    summary: "Scoped software coherence with a home in every GPU: system-wide acquires empty all L2s of their GPU.",
    citation: "Ren et al., HMG: Extending Cache Coherence Protocols Across Modern Hierarchical Multi-GPU Systems, HPCA 2020, section VI",
    virtual_networks: SOFTWARE_NETWORKS,
    messages: &SOFTWARE_TABLE,
    parameters: &ACQUIRE_PARAMETERS,
    faults: &FAULTS,
    ..SCOPED
};

/// The protocol.
pub struct SwHier;

impl<const W: usize> Build<W> for SwHier {
    fn build(&self, role: Role, index: u16, config: &BuildConfig) -> Option<Box<dyn Controller<W>>> {
        build(role, index, config, &POLICY, &SEEDS)
    }
}

impl Protocol for SwHier {
    fn declaration(&self) -> &'static Declaration {
        &DECLARATION
    }
}
