//! The baseline of the HMG paper: shared caches keep nothing of other GPUs' memory (section VI, Figures 2 and 8).
//!
//! Within a GPU the modules are kept coherent as in NHCC. Every private cache that misses on a line of another GPU
//! fetches it anew. Private caches may keep such lines, since acquires empty private caches in all of the paper's
//! protocols.

use crate::protocols::scoped::declarations::WITH_DIRECTORIES;
use crate::protocols::scoped::l1::Acquire;
use crate::protocols::scoped::policy::{Cached, L2Policy, PLAIN, Policy, PrivateStores};
use crate::protocols::scoped::protocol::ScopedProtocol;
use crate::protocols::scoped::seeds::GROUPED;
use crate::registry::{Declaration, FaultSpec};
use crate::seed::specs;

const POLICY: Policy = Policy {
    acquire: Acquire::DropsPrivate,
    stores: PrivateStores::PassBy,
    l2: L2Policy { cached: Cached::ThisGpu, ..PLAIN },
};

static FAULTS: [FaultSpec; GROUPED.len()] = specs(&GROUPED);

static DECLARATION: Declaration = Declaration {
    name: "no-remote",
    title: "No remote caching",
    summary: "Shared caches keep nothing of other GPUs' memory; within a GPU as NHCC.",
    citation: "Ren et al., HMG: Extending Cache Coherence Protocols Across Modern Hierarchical Multi-GPU Systems, HPCA 2020, section VI",
    faults: &FAULTS,
    ..WITH_DIRECTORIES
};

/// The protocol the baseline of the HMG paper, for the registry.
pub static NO_REMOTE: ScopedProtocol =
    ScopedProtocol { declaration: &DECLARATION, extends: None, policy: POLICY, seeds: &GROUPED };
