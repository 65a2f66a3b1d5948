//! The baseline of the CPElide paper: VIPER, extended for chiplets (sections II-C and IV-C).
//!
//! A chiplet is a module. A line's home is the L2 of the chiplet in whose memory it lies. Stores to the line stay there
//! until they are written back. Loads and stores of other chiplets are forwarded to the home, and their own L2s keep
//! nothing of them. Within a kernel a line is thus in one L2 at most. Private caches keep any line, write through, and
//! are emptied by acquires. A release waits until the homes have its stores.
//!
//! Between kernels every L2 is written back and emptied, as if others could hold what they wrote: in the paper's
//! baseline chiplets meet at the L3. The parameter `boundaries` leaves this out. The parameter `remote_reads` makes it
//! necessary: L2s then keep what they read of other chiplets' memory, until one of their threads acquires, which drops
//! the lines of other memory than their own, or until a command drops everything.

use crate::protocols::scoped::declarations::WITH_COMMANDS;
use crate::protocols::scoped::l1::Acquire;
use crate::protocols::scoped::parameters::BOUNDARY_PARAMETERS;
use crate::protocols::scoped::policy::{Coherence, L2Policy, PLAIN, Policy, PrivateStores, Spared, WriteBack};
use crate::protocols::scoped::protocol::ScopedProtocol;
use crate::protocols::scoped::seeds::COMMANDED;
use crate::registry::{Commands, Declaration, FaultSpec};
use crate::seed::specs;

/// The policy of the L2s of the CPElide paper, without commands (section IV-C and Table I).
pub(super) const POLICY: Policy = Policy {
    acquire: Acquire::DropsShared,
    stores: PrivateStores::PassBy,
    l2: L2Policy { coherence: Coherence::Acquires(Spared::OwnMemory), write_back: WriteBack::AtHome, ..PLAIN },
};

static FAULTS: [FaultSpec; COMMANDED.len()] = specs(&COMMANDED);

static DECLARATION: Declaration = Declaration {
    name: "viper-chiplet",
    title: "VIPER for chiplets",
    summary: "Remote requests go to the home L2; every L2 is written back and emptied between kernels: the baseline of the CPElide paper.",
    citation: "Dalmia et al., CPElide: Efficient Multi-Chiplet GPU Implicit Synchronization, sections II-C and IV-C",
    commands: Commands::EveryKernel,
    parameters: &BOUNDARY_PARAMETERS,
    faults: &FAULTS,
    ..WITH_COMMANDS
};

/// The protocol VIPER for chiplets, for the registry.
pub static VIPER_CHIPLET: ScopedProtocol =
    ScopedProtocol { declaration: &DECLARATION, extends: None, policy: POLICY, seeds: &COMMANDED };
