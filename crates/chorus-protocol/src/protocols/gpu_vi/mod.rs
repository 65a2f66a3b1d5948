//! GPU-VI (TC paper, section 4.2): write-through private caches, and an inclusive L2 with the sharers in its tags.
//!
//! A write that reaches a shared line waits at the L2 until every other copy is invalidated and acknowledged, so writes
//! are atomic. The paper has two optimisations: a store hit writes the private copy at once, before the
//! acknowledgement, and loads of lines with pending writes count as misses. There are four virtual networks: requests,
//! answers, invalidations, acknowledgements.
//!
//! A variant is derived from [`DECLARATION`], [`MESSAGES`], [`SEEDS`] and the two controllers, [`private_cache`] and
//! [`l2::GpuViL2`]; see [`crate::derived`].

pub mod l2;

use crate::address::Role;
use crate::controller::Controller;
use crate::protocols::vi_protocols::{CACHE_FAULTS, VIRTUAL_NETWORKS, private_cache_seeds};
pub use crate::protocols::vi_protocols::{MESSAGES, private_cache};
pub use crate::protocols::write_through::REQUEST;
use crate::protocols::write_through_bank::WriteFault;
use crate::protocols::write_through_l1::L1Fault;
pub use crate::protocols::write_through_l1::WriteThroughL1;
use crate::registry::{
    Build, BuildConfig, Commands, Counters, Declaration, Delivery, FaultSpec, MemoryModel, Promise, Protocol, Reach,
    Values,
};
use crate::rows::appended;
use crate::seed::{LevelSeed, in_l2, seeded_by_level, specs};
use l2::{GpuViL2, L2Fault};

/// The faults of the bank.
const BANK_SEEDS: [LevelSeed<L1Fault, L2Fault>; 11] = [
    in_l2(L2Fault::LostInvalidation, "lost-invalidation", "a write neither invalidates nor awaits the last sharer"),
    in_l2(L2Fault::EarlyAck, "early-ack", "a write is performed and acknowledged before its invalidations are"),
    in_l2(L2Fault::Miscount, "miscount", "a write awaits an acknowledgement of its own writer too"),
    in_l2(L2Fault::ReadInTransit, "read-in-transit", "a reader is served while a write waits for acknowledgements"),
    in_l2(L2Fault::MissingSharer, "missing-sharer", "a second reader of a line is not recorded"),
    in_l2(L2Fault::ForgottenWriter, "forgotten-writer", "a writer that keeps its copy is not recorded"),
    in_l2(L2Fault::SkippedRecall, "skipped-recall", "a shared line leaves the L2 without a recall"),
    in_l2(L2Fault::HastyRecall, "hasty-recall", "a recall ends with its first acknowledgement"),
    in_l2(L2Fault::LostWriteBack, "lost-write-back", "a dirty line leaves the L2 without being written back"),
    in_l2(
        L2Fault::OverwrittenMiss,
        "overwritten-miss",
        "a line that arrives overwrites the write that it was fetched for",
    ),
    in_l2(L2Fault::Write(WriteFault::WrongWord), "wrong-word", "a store lands one word further"),
];

/// The faults of both controllers, in the order of [`FAULTS`].
pub const SEEDS: [LevelSeed<L1Fault, L2Fault>; BANK_SEEDS.len() + CACHE_FAULTS] =
    appended(&BANK_SEEDS, &private_cache_seeds());

/// The faults as the protocol declares them.
pub static FAULTS: [FaultSpec; SEEDS.len()] = specs(&SEEDS);

/// The declaration of GPU-VI.
pub static DECLARATION: Declaration = Declaration {
    name: "gpu-vi",
    title: "GPU-VI",
    summary: "Write-through L1s, inclusive L2 with sharers, invalidations with acknowledgements.",
    citation: "Singh et al., Cache Coherence for GPU Architectures, HPCA 2013, section 4.2",
    model: MemoryModel::WriteAtomicRc,
    promises: &[Promise::SingleWriter, Promise::Inclusion, Promise::Communication],
    virtual_networks: VIRTUAL_NETWORKS,
    delivery: Delivery::InOrder,
    counters: Counters::None,
    reach: Reach::OneModule,
    commands: Commands::None,
    values: Values::Carried,
    parameters: &[],
    tallies: &[],
    messages: &MESSAGES,
    faults: &FAULTS,
};

/// The protocol GPU-VI, for the registry.
pub struct GpuVi;

impl<const W: usize> Build<W> for GpuVi {
    fn build(&self, role: Role, index: u16, config: &BuildConfig) -> Option<Box<dyn Controller<W>>> {
        let (l1_fault, l2_fault) = seeded_by_level(&SEEDS, config);
        match role {
            Role::L1 => Some(Box::new(private_cache(index, config, l1_fault))),
            Role::L2 => Some(Box::new(GpuViL2::new(index, config, l2_fault))),
            Role::L3 | Role::Tu | Role::Memory => None,
        }
    }
}

impl Protocol for GpuVi {
    fn declaration(&self) -> &'static Declaration {
        &DECLARATION
    }
}
