//! NHCC with write-back L2s, which the CPElide paper evaluates and leaves aside (section IV-C), after what the HMG paper says of such L2s (sections IV-B and V-B).
//!
//! Stores without scope stay in the L2 of their module, whoever is home, and the home hears nothing of them. A release hands dirty lines to their homes, at least, and waits
//! until they and the invalidations that they cause have arrived; the copies stay, clean. So the home of a line holds the newest value whenever threads have synchronised, which is what the
//! CPElide paper asks of HMG, and stays dirty itself until it needs the place: nobody looks behind it. The end of a kernel is a release of all
//! that its caches hold. That is the reading of both papers' words: a home that learns of stores in bursts at releases invalidates then, and takes back what its sharers have
//! fetched meanwhile. The paper reports the variant slower than NHCC written through.
//!
//! The parameter `elide` puts CPElide on top (CPElide paper, section VI): the end of a kernel leaves dirty what is remote, and the [Chiplet Coherence Table](crate::chiplet_table) says which L2s have
//! to be written back before a kernel begins. Directories keep copies coherent, so that no acquire is ever needed; those that the table asks for are carried out.

use crate::protocols::nhcc_wt::NHCC_L2;
use crate::protocols::scoped::l1::Acquire;
use crate::protocols::scoped::policy::{COMMAND_TALLIES, ELIDE_PARAMETERS, L2Policy, Policy, TRACKING, WriteBack};
use crate::protocols::scoped::protocol::ScopedProtocol;
use crate::protocols::scoped::seeds::GROUPED_AND_COMMANDED;
use crate::registry::{Commands, Declaration, FaultSpec, Promise};
use crate::seed::specs;

const POLICY: Policy =
    Policy { acquire: Acquire::DropsPrivate, l2: L2Policy { write_back: WriteBack::Everywhere, ..NHCC_L2 } };

static FAULTS: [FaultSpec; GROUPED_AND_COMMANDED.len()] = specs(&GROUPED_AND_COMMANDED);

static DECLARATION: Declaration = Declaration {
    name: "nhcc-wb",
    title: "NHCC, written back",
    summary: "NHCC whose stores without scope stay in the L2 of their module until a release, or until CPElide asks for them.",
    citation: "Dalmia et al., CPElide: Efficient Multi-Chiplet GPU Implicit Synchronization, sections IV-C and VI",
    promises: &[Promise::Tracking, Promise::Communication],
    commands: Commands::Table,
    parameters: &ELIDE_PARAMETERS,
    tallies: &COMMAND_TALLIES,
    faults: &FAULTS,
    ..TRACKING
};

/// The protocol.
pub static NHCC_WB: ScopedProtocol =
    ScopedProtocol { declaration: &DECLARATION, extends: None, policy: POLICY, seeds: &GROUPED_AND_COMMANDED };
