//! The directory of HMG as the REC paper compares it (sections 2.3 and 5.2): four lines per entry, with one set of
//! sharers for all of them.
//!
//! A write to any of the four lines takes all four back. Everything else is as in the baseline, [`dir`](super::dir).

use crate::protocols::dir::{LINES, REC_L2};
use crate::protocols::scoped::declarations::TRACKING;
use crate::protocols::scoped::l1::Acquire;
use crate::protocols::scoped::policy::{Coherence, L2Policy, Policy, PrivateStores, Tracking};
use crate::protocols::scoped::protocol::ScopedProtocol;
use crate::protocols::scoped::seeds::GROUPED;
use crate::registry::{Declaration, FaultSpec};
use crate::seed::specs;

/// Lines of an entry.
pub const LINES_PER_ENTRY: u32 = 4;

const ENTRIES: Tracking = Tracking { lines_per_entry: Some(LINES_PER_ENTRY), ..LINES };

const POLICY: Policy = Policy {
    acquire: Acquire::DropsPrivate,
    stores: PrivateStores::PassBy,
    l2: L2Policy { coherence: Coherence::Directory(ENTRIES), ..REC_L2 },
};

static FAULTS: [FaultSpec; GROUPED.len()] = specs(&GROUPED);

static DECLARATION: Declaration = Declaration {
    name: "dir-hmg",
    title: "Directory of HMG",
    summary: "The baseline of the REC paper with four lines per entry, which share their sharers.",
    citation: "Ko et al., REC: Enhancing fine-grained cache coherence protocol in multi-GPU systems, sections 2.3 and 5.2",
    faults: &FAULTS,
    ..TRACKING
};

/// The protocol the REC paper's HMG directory, for the registry.
pub static DIR_HMG: ScopedProtocol =
    ScopedProtocol { declaration: &DECLARATION, extends: None, policy: POLICY, seeds: &GROUPED };
