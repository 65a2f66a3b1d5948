//! Non-hierarchical software coherence (HMG paper, section VI): scopes, and acquires that empty caches.
//!
//! Every line has one home. An acquire wider than a work-group empties the private cache and the L2 of its module, the
//! two caches between it and any home. A release waits until the homes have its stores.

use crate::protocols::scoped::declarations::WITH_ACQUIRES;
use crate::protocols::scoped::l1::Acquire;
use crate::protocols::scoped::policy::{Coherence, L2Policy, PLAIN, Policy, PrivateStores, Spared};
use crate::protocols::scoped::protocol::ScopedProtocol;
use crate::protocols::scoped::seeds::SOFTWARE;
use crate::registry::{Declaration, FaultSpec};
use crate::seed::specs;

const POLICY: Policy = Policy {
    acquire: Acquire::DropsShared,
    stores: PrivateStores::PassBy,
    l2: L2Policy { coherence: Coherence::Acquires(Spared::Nothing), ..PLAIN },
};

static FAULTS: [FaultSpec; SOFTWARE.len()] = specs(&SOFTWARE);

static DECLARATION: Declaration = Declaration {
    name: "sw-flat",
    title: "SW non-hierarchical",
    summary: "Scoped software coherence: acquires empty the L1 and the L2 of their module.",
    citation: "Ren et al., HMG: Extending Cache Coherence Protocols Across Modern Hierarchical Multi-GPU Systems, HPCA 2020, section VI",
    faults: &FAULTS,
    ..WITH_ACQUIRES
};

/// The protocol non-hierarchical software coherence, for the registry.
pub static SW_FLAT: ScopedProtocol =
    ScopedProtocol { declaration: &DECLARATION, extends: None, policy: POLICY, seeds: &SOFTWARE };
