//! The baseline of the REC paper (sections 2.2 and 2.3): every GPU has a directory that tracks which other GPUs hold a line of its memory, one line per entry.
//!
//! L2s keep lines of their own and of other GPUs' memory. Stores to their own stay until they have to leave; stores to another GPU's are written through, and the
//! bytes are kept, too. The home records who reads and who writes, and takes other copies back when a line is written or its entry replaced. Nothing but releases is
//! acknowledged, and private caches are emptied by acquires, as in NHCC.
//!
//! Figure 1 compares this with machines that keep less of other GPUs' memory, which the parameter `remote_caching` makes: nothing of it in L2s, so that there is nothing
//! to track, or nothing in private caches either.

use crate::cache::Replacement;
use crate::directory::DirectoryKind;
use crate::protocols::scoped::l1::Acquire;
use crate::protocols::scoped::policy::{L2Policy, PLAIN, Policy, REMOTE_PARAMETERS, TRACKING, WriteBack};
use crate::protocols::scoped::protocol::ScopedProtocol;
use crate::protocols::scoped::seeds::BOUNDED;
use crate::registry::{Declaration, FaultSpec};
use crate::seed::specs;

/// What the L2s of the REC paper have in common (sections 2.2 and 2.3, Table 2).
pub(super) const REC_L2: L2Policy = L2Policy {
    write_back: WriteBack::AtHome,
    allocates_stores: true,
    release_cleans_home: true,
    directory: DirectoryKind::LineGroups,
    lines_per_entry: Some(1),
    replacement: Replacement::Fifo,
    ..PLAIN
};

const POLICY: Policy = Policy { acquire: Acquire::DropsPrivate, l2: REC_L2 };

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

/// The protocol.
pub static DIR: ScopedProtocol =
    ScopedProtocol { declaration: &DECLARATION, extends: None, policy: POLICY, seeds: &BOUNDED };
