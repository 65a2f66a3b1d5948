//! NHCC as the CPElide paper compares with it (section IV-C): HMG within one GPU of chiplets, written through to
//! memory.
//!
//! Caches and directories are those of [`nhcc`](super::nhcc). Every store goes to the home of its line and on to
//! memory. The sender's L2 and the home keep copies of what was written, whether or not they had copies before. The
//! system says how many entries a directory has and how many lines an entry covers; in the paper these are 12K and
//! four.

use crate::protocols::scoped::declarations::TRACKING;
use crate::protocols::scoped::l1::Acquire;
use crate::protocols::scoped::policy::{Allocation, L2Policy, PLAIN, Policy, PrivateStores};
use crate::protocols::scoped::protocol::ScopedProtocol;
use crate::protocols::scoped::seeds::GROUPED;
use crate::registry::{Declaration, FaultSpec};
use crate::seed::specs;

/// The policy that all L2s of the CPElide paper's HMG share.
pub(super) const NHCC_L2: L2Policy = L2Policy { allocation: Allocation::All, ..PLAIN };

const POLICY: Policy = Policy { acquire: Acquire::DropsPrivate, stores: PrivateStores::PassBy, l2: NHCC_L2 };

static FAULTS: [FaultSpec; GROUPED.len()] = specs(&GROUPED);

static DECLARATION: Declaration = Declaration {
    name: "nhcc-wt",
    title: "NHCC, written through",
    summary: "NHCC whose stores reach memory and leave copies in the L2s on their way: the HMG of the CPElide paper.",
    citation: "Dalmia et al., CPElide: Efficient Multi-Chiplet GPU Implicit Synchronization, section IV-C",
    faults: &FAULTS,
    ..TRACKING
};

/// The protocol NHCC written through, for the registry.
pub static NHCC_WT: ScopedProtocol =
    ScopedProtocol { declaration: &DECLARATION, extends: None, policy: POLICY, seeds: &GROUPED };
