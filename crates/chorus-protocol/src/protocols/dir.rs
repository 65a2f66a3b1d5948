//! The baseline of the REC paper (sections 2.2 and 2.3): every GPU has a directory that tracks which other GPUs hold a
//! line of its memory, one line per entry.
//!
//! L2s keep lines of their own memory and of other GPUs' memory. Stores to their own memory stay until they have to
//! leave. Stores to another GPU's memory are written through, and the L2 keeps the bytes, too. The home records who
//! reads and who writes. It takes other copies back when a line is written or its entry is replaced. Nothing but
//! releases is acknowledged, and private caches are emptied by acquires, as in NHCC.
//!
//! Figure 1 compares this with machines that keep less of other GPUs' memory. The parameter `remote_caching` makes
//! these machines: L2s keep nothing of other GPUs' memory, so that there is nothing to track, or private caches keep
//! nothing of it either.

use crate::cache::Replacement;
use crate::protocols::scoped::declarations::TRACKING;
use crate::protocols::scoped::l1::Acquire;
use crate::protocols::scoped::parameters::REMOTE_PARAMETERS;
use crate::protocols::scoped::policy::{
    Allocation, Coherence, GROUPS, L2Policy, PLAIN, Policy, PrivateStores, Release, Tracking, WriteBack,
};
use crate::protocols::scoped::protocol::ScopedProtocol;
use crate::protocols::scoped::seeds::BOUNDED;
use crate::registry::{Declaration, FaultSpec};
use crate::seed::specs;

/// The policy that all L2s of the REC paper share (sections 2.2 and 2.3, Table 2).
pub(super) const REC_L2: L2Policy = L2Policy {
    write_back: WriteBack::AtHome,
    allocation: Allocation::All,
    release: Release::ToMemory,
    coherence: Coherence::Directory(LINES),
    ..PLAIN
};

/// The directory of the baseline (section 2.3): one line per entry, first in, first out.
pub(super) const LINES: Tracking = Tracking { lines_per_entry: Some(1), replacement: Replacement::Fifo, ..GROUPS };

const POLICY: Policy = Policy { acquire: Acquire::DropsPrivate, stores: PrivateStores::PassBy, l2: REC_L2 };

static FAULTS: [FaultSpec; BOUNDED.len()] = specs(&BOUNDED);

static DECLARATION: Declaration = Declaration {
    name: "dir",
    title: "Directory per line",
    summary: "One directory per GPU with one line per entry, first in, first out: the baseline of the REC paper.",
    citation: "Ko et al., REC: Enhancing fine-grained cache coherence protocol in multi-GPU systems, sections 2.2 and 2.3",
    parameters: &REMOTE_PARAMETERS,
    faults: &FAULTS,
    ..TRACKING
};

/// The protocol the baseline of the REC paper, for the registry.
pub static DIR: ScopedProtocol =
    ScopedProtocol { declaration: &DECLARATION, extends: None, policy: POLICY, seeds: &BOUNDED };
