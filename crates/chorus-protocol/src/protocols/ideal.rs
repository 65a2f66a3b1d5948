//! Idealised caching without coherence (HMG paper, section VI): the loose upper bound of what caching can give.
//!
//! Requests pass GPU homes as in HMG. No copy is ever given up for coherence: there are no invalidations, acquires drop
//! nothing, and loads of any scope may hit anywhere. Stores still travel to their homes, and releases wait for that:
//! this is order and not coherence. Copies go stale. The timing driver gives loads the values that coherent caches
//! would hold, so that programs follow the control flow of a correct execution and only time is idealised. The other
//! drivers see the stale copies.

use crate::protocols::scoped::declarations::SCOPED;
use crate::protocols::scoped::faults::L2Fault;
use crate::protocols::scoped::l1::Acquire;
use crate::protocols::scoped::parameters::IDEAL_PARAMETERS;
use crate::protocols::scoped::policy::{Coherence, L2Policy, PLAIN, Policy, PrivateStores};
use crate::protocols::scoped::protocol::ScopedProtocol;
use crate::protocols::scoped::route::Hierarchy;
use crate::protocols::scoped::seeds::{CACHING, ScopedSeed};
use crate::registry::{Declaration, FaultSpec, MemoryModel, Promise, Values};
use crate::rows::appended;
use crate::seed::{in_l2, specs};

const POLICY: Policy = Policy {
    acquire: Acquire::Nothing,
    stores: PrivateStores::PassBy,
    l2: L2Policy { hierarchy: Hierarchy::GpuHomes, coherence: Coherence::None, ..PLAIN },
};

const OWN: [ScopedSeed; 1] =
    [in_l2(L2Fault::LostAtomic, "lost-atomic", "what an atomic wrote at its home goes no further")];

const SEEDS: [ScopedSeed; CACHING.len() + OWN.len()] = appended(&CACHING, &OWN);

static FAULTS: [FaultSpec; SEEDS.len()] = specs(&SEEDS);

static DECLARATION: Declaration = Declaration {
    name: "ideal",
    title: "Ideal",
    summary: "Caches of all GPUs that nobody keeps coherent, with the values of coherent ones: an upper bound.",
    citation: "Ren et al., HMG: Extending Cache Coherence Protocols Across Modern Hierarchical Multi-GPU Systems, HPCA 2020, section VI",
    model: MemoryModel::PerLocation,
    promises: &[Promise::Progress, Promise::Communication],
    values: Values::Functional,
    parameters: &IDEAL_PARAMETERS,
    faults: &FAULTS,
    ..SCOPED
};

/// The protocol the upper bound of the HMG paper, for the registry.
pub static IDEAL: ScopedProtocol =
    ScopedProtocol { declaration: &DECLARATION, extends: None, policy: POLICY, seeds: &SEEDS };
