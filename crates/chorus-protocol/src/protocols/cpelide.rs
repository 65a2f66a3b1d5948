//! CPElide (CPElide paper, section III): the baseline of the paper, whose L2s are written back and emptied only when
//! somebody needs it.
//!
//! Caches are those of [`viper_chiplet`](super::viper_chiplet). Before each kernel the command processor asks the
//! [Chiplet Coherence Table](crate::chiplet_table) which L2s have to be written back and which have to be emptied. All
//! other L2s keep their lines from kernel to kernel.

use crate::protocols::scoped::declarations::WITH_COMMANDS;
use crate::protocols::scoped::protocol::ScopedProtocol;
use crate::protocols::scoped::seeds::COMMANDED;
use crate::protocols::viper_chiplet::POLICY;
use crate::registry::{Commands, Declaration, FaultSpec};
use crate::seed::specs;

static FAULTS: [FaultSpec; COMMANDED.len()] = specs(&COMMANDED);

static DECLARATION: Declaration = Declaration {
    name: "cpelide",
    title: "CPElide",
    summary: "As VIPER for chiplets, with L2s written back and emptied only where the command processor's table asks for it.",
    citation: "Dalmia et al., CPElide: Efficient Multi-Chiplet GPU Implicit Synchronization, section III",
    commands: Commands::Table,
    faults: &FAULTS,
    ..WITH_COMMANDS
};

/// The protocol CPElide, for the registry.
pub static CPELIDE: ScopedProtocol =
    ScopedProtocol { declaration: &DECLARATION, extends: None, policy: POLICY, seeds: &COMMANDED };
