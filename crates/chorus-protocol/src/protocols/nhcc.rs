//! NHCC: non-hierarchical hardware coherence for modules and GPUs (HMG paper, section IV).
//!
//! Every line has one home, whose directory tracks all modules of all GPUs alike. Compared with GPU-VI, there are no
//! transient states and no acknowledgements of invalidations. The memory model does not require that everybody sees a
//! write at once, so only releases wait for invalidations.
//!
//! The parameter `ranges` gives NHCC and HMG the directory of REC.

use crate::protocols::scoped::declarations::WITH_RANGES;
use crate::protocols::scoped::l1::Acquire;
use crate::protocols::scoped::policy::{PLAIN, Policy, PrivateStores};
use crate::protocols::scoped::protocol::ScopedProtocol;
use crate::protocols::scoped::seeds::GROUPED;
use crate::registry::{Declaration, FaultSpec};
use crate::seed::specs;

const POLICY: Policy = Policy { acquire: Acquire::DropsPrivate, stores: PrivateStores::PassBy, l2: PLAIN };

static FAULTS: [FaultSpec; GROUPED.len()] = specs(&GROUPED);

static DECLARATION: Declaration = Declaration {
    name: "nhcc",
    title: "NHCC",
    summary: "One directory per line for all modules of all GPUs, without transient states or invalidation acknowledgements.",
    citation: "Ren et al., HMG: Extending Cache Coherence Protocols Across Modern Hierarchical Multi-GPU Systems, HPCA 2020, section IV",
    faults: &FAULTS,
    ..WITH_RANGES
};

/// The protocol NHCC, for the registry.
pub static NHCC: ScopedProtocol =
    ScopedProtocol { declaration: &DECLARATION, extends: None, policy: POLICY, seeds: &GROUPED };
