//! CPElide with hardware that writes back and empties ranges of addresses instead of whole L2s (CPElide paper, section
//! VI, fine-grained hardware range based flush).
//!
//! Caches and table are those of [`cpelide`](super::cpelide). A command of the table concerns the ranges of one data
//! structure in one chiplet. It reaches the banks page by page, since addresses are translated by pages.

use crate::protocols::scoped::declarations::WITH_COMMANDS;
use crate::protocols::scoped::protocol::ScopedProtocol;
use crate::protocols::scoped::seeds::COMMANDED_BY_PAGE;
use crate::protocols::viper_chiplet::POLICY;
use crate::registry::{Commands, Declaration, FaultSpec};
use crate::seed::specs;

static FAULTS: [FaultSpec; COMMANDED_BY_PAGE.len()] = specs(&COMMANDED_BY_PAGE);

static DECLARATION: Declaration = Declaration {
    name: "cpelide-range",
    title: "CPElide with ranges",
    summary: "As CPElide, with L2s written back and emptied page by page where a data structure needs it.",
    citation: "Dalmia et al., CPElide: Efficient Multi-Chiplet GPU Implicit Synchronization, section VI",
    commands: Commands::TableOfRanges,
    faults: &FAULTS,
    ..WITH_COMMANDS
};

/// The protocol CPElide with ranges, for the registry.
pub static CPELIDE_RANGE: ScopedProtocol =
    ScopedProtocol { declaration: &DECLARATION, extends: None, policy: POLICY, seeds: &COMMANDED_BY_PAGE };
