//! HMG: hierarchical hardware coherence across GPUs (HMG paper, section V).
//!
//! Every line has a home in each GPU. One of them is the line's home in the system. Requests pass the GPU home, whose
//! directory tracks the modules of its GPU. The directory of the system home tracks whole GPUs. A GPU home passes an
//! invalidation on to the modules that it tracks. This is the one transition that NHCC does not have.

use crate::protocols::nhcc::NHCC;
use crate::protocols::scoped::declarations::WITH_RANGES;
use crate::protocols::scoped::faults::L2Fault;
use crate::protocols::scoped::l1::Acquire;
use crate::protocols::scoped::policy::{L2Policy, PLAIN, Policy, PrivateStores};
use crate::protocols::scoped::protocol::ScopedProtocol;
use crate::protocols::scoped::route::Hierarchy;
use crate::protocols::scoped::seeds::{GPU_HOMES, GROUPED, ScopedSeed};
use crate::registry::{Declaration, FaultSpec};
use crate::rows::appended;
use crate::seed::{in_l2, specs};

const POLICY: Policy = Policy {
    acquire: Acquire::DropsPrivate,
    stores: PrivateStores::PassBy,
    l2: L2Policy { hierarchy: Hierarchy::GpuHomes, ..PLAIN },
};

/// Mistakes that need GPU homes with directories.
const OWN: [ScopedSeed; 3] = [
    in_l2(
        L2Fault::InvalidationNotForwarded,
        "invalidation-not-forwarded",
        "a GPU home keeps an invalidation of the system home to itself",
    ),
    in_l2(L2Fault::MarkNotForwarded, "mark-not-forwarded", "a GPU home does not pass marks on"),
    in_l2(
        L2Fault::StoreOvertakesAtomic,
        "store-overtakes-atomic",
        "a store passes an atomic that waits at the GPU home for its line",
    ),
];

const HIERARCHICAL: [ScopedSeed; GPU_HOMES.len() + OWN.len()] = appended(&GPU_HOMES, &OWN);
const SEEDS: [ScopedSeed; GROUPED.len() + HIERARCHICAL.len()] = appended(&GROUPED, &HIERARCHICAL);

static FAULTS: [FaultSpec; SEEDS.len()] = specs(&SEEDS);

static DECLARATION: Declaration = Declaration {
    name: "hmg",
    title: "HMG",
    summary: "Hierarchical directories across GPUs and modules, without transient states or invalidation acknowledgements.",
    citation: "Ren et al., HMG: Extending Cache Coherence Protocols Across Modern Hierarchical Multi-GPU Systems, HPCA 2020, section V",
    faults: &FAULTS,
    ..WITH_RANGES
};

/// The protocol HMG, for the registry.
pub static HMG: ScopedProtocol =
    ScopedProtocol { declaration: &DECLARATION, extends: Some(&NHCC), policy: POLICY, seeds: &SEEDS };
