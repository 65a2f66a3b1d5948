//! NHCC as the CPElide paper compares with it (section IV-C): HMG within one GPU of chiplets, written through to memory.
//!
//! Caches and directories are those of [`nhcc`](super::nhcc). Every store goes to the home of its line and on to memory, and copies of what was written are kept on the way, in the
//! sender's L2 and at the home, whether or not there were copies before. How many entries directories have and how many lines an entry covers, 12K and four in the paper, is the machine's.

use crate::protocols::scoped::l1::Acquire;
use crate::protocols::scoped::policy::{L2Policy, PLAIN, Policy, TRACKING};
use crate::protocols::scoped::protocol::ScopedProtocol;
use crate::protocols::scoped::seeds::GROUPED;
use crate::registry::{Declaration, FaultSpec};
use crate::seed::specs;

/// What the L2s of the CPElide paper's HMG have in common.
pub(super) const NHCC_L2: L2Policy = L2Policy { allocates_stores: true, ..PLAIN };

const POLICY: Policy = Policy { acquire: Acquire::DropsPrivate, l2: NHCC_L2 };

static FAULTS: [FaultSpec; GROUPED.len()] = specs(&GROUPED);

static DECLARATION: Declaration = Declaration {
    name: "nhcc-wt",
    title: "NHCC, written through",
    summary: "NHCC whose stores reach memory and leave copies in the L2s on their way: the HMG of the CPElide paper.",
    citation: "Dalmia et al., CPElide: Efficient Multi-Chiplet GPU Implicit Synchronization, section IV-C",
    faults: &FAULTS,
    ..TRACKING
};

/// The protocol.
pub static NHCC_WT: ScopedProtocol =
    ScopedProtocol { declaration: &DECLARATION, extends: None, policy: POLICY, seeds: &GROUPED };
