//! REC: range-based directory entry coalescing (REC paper, section 4).
//!
//! An entry has a base address and, for each line of its range, a position bit and a bit for every GPU but the home.
//! Reads within a range share an entry. A write concerns its own line alone. An entry that is replaced takes back every
//! line that it tracks, one by one. Everything else is as in the baseline, [`dir`](super::dir).

use crate::cache::Replacement;
use crate::directory::DirectoryKind;
use crate::protocols::dir::{LINES, REC_L2};
use crate::protocols::scoped::declarations::TRACKING;
use crate::protocols::scoped::l1::Acquire;
use crate::protocols::scoped::policy::{Coherence, L2Policy, Policy, PrivateStores, Tracking};
use crate::protocols::scoped::protocol::ScopedProtocol;
use crate::protocols::scoped::seeds::RANGES;
use crate::registry::{Declaration, FaultSpec};
use crate::seed::specs;

const ENTRIES: Tracking = Tracking { entries: DirectoryKind::Ranges, replacement: Replacement::Lru, ..LINES };

const POLICY: Policy = Policy {
    acquire: Acquire::DropsPrivate,
    stores: PrivateStores::PassBy,
    l2: L2Policy { coherence: Coherence::Directory(ENTRIES), ..REC_L2 },
};

static FAULTS: [FaultSpec; RANGES.len()] = specs(&RANGES);

static DECLARATION: Declaration = Declaration {
    name: "rec",
    title: "REC",
    summary: "Directory entries that cover a range of addresses and tell its lines apart.",
    citation: "Ko et al., REC: Enhancing fine-grained cache coherence protocol in multi-GPU systems, section 4",
    faults: &FAULTS,
    ..TRACKING
};

/// The protocol REC, for the registry.
pub static REC: ScopedProtocol =
    ScopedProtocol { declaration: &DECLARATION, extends: None, policy: POLICY, seeds: &RANGES };
