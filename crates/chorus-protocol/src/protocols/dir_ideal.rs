//! The ideal of the REC paper (section 3.3): a directory without bounds, so that only writes take copies back.

use crate::directory::DirectoryKind;
use crate::protocols::dir::{LINES, REC_L2};
use crate::protocols::scoped::declarations::TRACKING;
use crate::protocols::scoped::l1::Acquire;
use crate::protocols::scoped::policy::{Coherence, L2Policy, Policy, PrivateStores, Tracking};
use crate::protocols::scoped::protocol::ScopedProtocol;
use crate::protocols::scoped::seeds::UNBOUNDED;
use crate::registry::{Declaration, FaultSpec};
use crate::seed::specs;

const ENTRIES: Tracking = Tracking { entries: DirectoryKind::Unbounded, ..LINES };

const POLICY: Policy = Policy {
    acquire: Acquire::DropsPrivate,
    stores: PrivateStores::PassBy,
    l2: L2Policy { coherence: Coherence::Directory(ENTRIES), ..REC_L2 },
};

static FAULTS: [FaultSpec; UNBOUNDED.len()] = specs(&UNBOUNDED);

static DECLARATION: Declaration = Declaration {
    name: "dir-ideal",
    title: "Directory without bounds",
    summary: "The baseline of the REC paper with room for every line: only writes take copies back.",
    citation: "Ko et al., REC: Enhancing fine-grained cache coherence protocol in multi-GPU systems, section 3.3",
    faults: &FAULTS,
    ..TRACKING
};

/// The protocol the ideal of the REC paper, for the registry.
pub static DIR_IDEAL: ScopedProtocol =
    ScopedProtocol { declaration: &DECLARATION, extends: None, policy: POLICY, seeds: &UNBOUNDED };
