//! NHCC with write-back L2s. The CPElide paper evaluates this variant and leaves it aside (section IV-C). The HMG paper
//! describes such L2s (sections IV-B and V-B).
//!
//! Stores without scope stay in the L2 of their module, wherever the home is, and the home hears nothing of them. A
//! release hands dirty lines to their homes, at least. It waits until the lines and the invalidations that they cause
//! have arrived. The copies stay, clean. The home of a line thus holds the newest value whenever threads have
//! synchronised, as the CPElide paper asks of HMG. The home's own copy stays dirty until its place is needed: nobody
//! looks behind it. The end of a kernel is a release of everything that its caches hold.
//!
//! This is our reading of both papers. A home learns of stores in bursts, at releases. It then sends invalidations,
//! which take back what its sharers have fetched meanwhile. The paper reports the variant slower than NHCC written
//! through.
//!
//! The parameter `elide` puts CPElide on top (CPElide paper, section VI). The end of a kernel then leaves remote lines
//! dirty, and the [Chiplet Coherence Table](crate::chiplet_table) says which L2s have to be written back before a
//! kernel begins. Directories keep copies coherent, so no acquire is ever needed. Acquires that the table asks for are
//! carried out all the same.

use crate::protocols::nhcc_wt::NHCC_L2;
use crate::protocols::scoped::declarations::TRACKING;
use crate::protocols::scoped::l1::Acquire;
use crate::protocols::scoped::parameters::ELIDE_PARAMETERS;
use crate::protocols::scoped::policy::{L2Policy, Policy, PrivateStores, WriteBack};
use crate::protocols::scoped::protocol::ScopedProtocol;
use crate::protocols::scoped::seeds::GROUPED_AND_COMMANDED;
use crate::protocols::scoped::tallies::COMMAND_TALLIES;
use crate::registry::{Commands, Declaration, FaultSpec, Promise};
use crate::seed::specs;

const POLICY: Policy = Policy {
    acquire: Acquire::DropsPrivate,
    stores: PrivateStores::PassBy,
    l2: L2Policy { write_back: WriteBack::Everywhere, ..NHCC_L2 },
};

static FAULTS: [FaultSpec; GROUPED_AND_COMMANDED.len()] = specs(&GROUPED_AND_COMMANDED);

static DECLARATION: Declaration = Declaration {
    name: "nhcc-wb",
    title: "NHCC, written back",
    summary: "NHCC whose stores without scope stay in the L2 of their module until a release, or until CPElide asks for them.",
    citation: "Dalmia et al., CPElide: Efficient Multi-Chiplet GPU Implicit Synchronization, sections IV-C and VI",
    promises: &[Promise::Tracking, Promise::MultiCopyAtomicity, Promise::Communication],
    commands: Commands::Table,
    parameters: &ELIDE_PARAMETERS,
    tallies: &COMMAND_TALLIES,
    faults: &FAULTS,
    ..TRACKING
};

/// The protocol NHCC with write-back L2s, for the registry.
pub static NHCC_WB: ScopedProtocol =
    ScopedProtocol { declaration: &DECLARATION, extends: None, policy: POLICY, seeds: &GROUPED_AND_COMMANDED };
