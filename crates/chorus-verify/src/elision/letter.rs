//! L2s to the letter of the CPElide paper's Figure 6.
//!
//! Figure 6 speaks of L2s that keep copies of anything that their chiplet reads, and dirty lines of anything that it
//! writes, while nothing but commands keeps them coherent. Section IV-C describes other L2s, which forward remote
//! requests to the home. With those, values need few of the operations that the table asks for, so that a table that
//! leaves out too many would not show. The L2s here need all of them.
//!
//! Lines lie in the memory of a module without work-groups. Its L2 stands for the level at which chiplets meet.

use chorus_protocol::protocols::scoped::declarations::WITH_COMMANDS;
use chorus_protocol::protocols::scoped::l1::Acquire;
use chorus_protocol::protocols::scoped::policy::{
    Coherence, L2Policy, PLAIN, Policy, PrivateStores, Spared, WriteBack,
};
use chorus_protocol::protocols::scoped::protocol::ScopedProtocol;
use chorus_protocol::registry::{Commands, Declaration};

const POLICY: Policy = Policy {
    acquire: Acquire::DropsShared,
    stores: PrivateStores::PassBy,
    l2: L2Policy { coherence: Coherence::Acquires(Spared::OwnMemory), write_back: WriteBack::Everywhere, ..PLAIN },
};

static DECLARATION: Declaration = Declaration {
    name: "cpelide-letter",
    title: "CPElide, Figure 6 to the letter",
    summary: "L2s that keep and write anything, and that only commands keep coherent.",
    citation: "Dalmia et al., CPElide: Efficient Multi-Chiplet GPU Implicit Synchronization, section III-B",
    commands: Commands::Table,
    ..WITH_COMMANDS
};

static BY_RANGES: Declaration = Declaration { commands: Commands::TableOfRanges, ..DECLARATION };

/// The L2s with commands that concern whole L2s.
pub static LETTER: ScopedProtocol =
    ScopedProtocol { declaration: &DECLARATION, extends: None, policy: POLICY, seeds: &[] };

/// The L2s with commands that concern pages.
pub static LETTER_BY_RANGES: ScopedProtocol =
    ScopedProtocol { declaration: &BY_RANGES, extends: None, policy: POLICY, seeds: &[] };
