//! Hierarchical software coherence (HMG paper, section VI): software coherence with a home in every GPU.
//!
//! Requests pass the home within their GPU, so that modules share the lines that it has fetched. An acquire of GPU
//! scope empties the private cache and the L2 of its module. An acquire of system scope empties all L2s of its GPU,
//! since any of them may be a GPU home with stale lines. Everything else is as in [`sw_flat`](super::sw_flat).

use crate::protocols::scoped::declarations::WITH_ACQUIRES;
use crate::protocols::scoped::faults::L2Fault;
use crate::protocols::scoped::l1::Acquire;
use crate::protocols::scoped::policy::{Coherence, L2Policy, PLAIN, Policy, PrivateStores, Spared};
use crate::protocols::scoped::protocol::ScopedProtocol;
use crate::protocols::scoped::route::Hierarchy;
use crate::protocols::scoped::seeds::{GPU_HOMES, SOFTWARE, ScopedSeed};
use crate::registry::{Declaration, FaultSpec};
use crate::rows::appended;
use crate::seed::{in_l2, specs};

const POLICY: Policy = Policy {
    acquire: Acquire::DropsShared,
    stores: PrivateStores::PassBy,
    l2: L2Policy { hierarchy: Hierarchy::GpuHomes, coherence: Coherence::Acquires(Spared::Nothing), ..PLAIN },
};

/// Mistakes that need GPU homes without directories.
const OWN: [ScopedSeed; 2] = [
    in_l2(L2Fault::AcquireOnlyHere, "acquire-only-here", "a system-wide acquire empties the L2 of its module only"),
    in_l2(L2Fault::GpuHomeAnswersAll, "gpu-home-answers-all", "loads of system scope hit in the GPU home"),
];

const HIERARCHICAL: [ScopedSeed; GPU_HOMES.len() + OWN.len()] = appended(&GPU_HOMES, &OWN);
const SEEDS: [ScopedSeed; SOFTWARE.len() + HIERARCHICAL.len()] = appended(&SOFTWARE, &HIERARCHICAL);

static FAULTS: [FaultSpec; SEEDS.len()] = specs(&SEEDS);

static DECLARATION: Declaration = Declaration {
    name: "sw-hier",
    title: "SW hierarchical",
    summary: "Scoped software coherence with a home in every GPU: system-wide acquires empty all L2s of their GPU.",
    citation: "Ren et al., HMG: Extending Cache Coherence Protocols Across Modern Hierarchical Multi-GPU Systems, HPCA 2020, section VI",
    faults: &FAULTS,
    ..WITH_ACQUIRES
};

/// The protocol hierarchical software coherence, for the registry.
pub static SW_HIER: ScopedProtocol =
    ScopedProtocol { declaration: &DECLARATION, extends: None, policy: POLICY, seeds: &SEEDS };
