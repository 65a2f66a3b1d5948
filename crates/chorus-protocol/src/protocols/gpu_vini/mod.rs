//! GPU-VIni (TC paper, section 4.3): GPU-VI with an L2 that is not inclusive and a separate directory, whose size is
//! independent of the L2's.
//!
//! The private caches are GPU-VI's. The bank's controller manages the L2 and the directory. Data leaves the L2 without
//! a recall, and its directory entry stays. An entry leaves the directory with a recall, and its data stays. A write to
//! a line with recorded copies waits for their invalidation whether its data is in the L2 or not, so writes are atomic.

pub mod directory;
pub mod l2;
mod states;
#[cfg(test)]
mod tests;

use crate::address::Role;
use crate::controller::Controller;
use crate::protocols::vi_protocols::{CACHE_FAULTS, MESSAGES, VIRTUAL_NETWORKS, private_cache, private_cache_seeds};
use crate::protocols::write_through_bank::WriteFault;
use crate::protocols::write_through_l1::L1Fault;
use crate::registry::{
    Build, BuildConfig, Commands, Counters, Declaration, Delivery, FaultSpec, MemoryModel, Promise, Protocol, Reach,
    Values,
};
use crate::rows::appended;
use crate::seed::{LevelSeed, in_l2, seeded_by_level, specs};
use directory::PARAMETERS;
use l2::{GpuViniL2, L2Fault};

/// The faults of the bank.
const BANK_SEEDS: [LevelSeed<L1Fault, L2Fault>; 15] = [
    in_l2(L2Fault::LostInvalidation, "lost-invalidation", "a write neither invalidates nor awaits the last sharer"),
    in_l2(L2Fault::EarlyAck, "early-ack", "a write is performed and acknowledged before its invalidations are"),
    in_l2(L2Fault::BlindMiss, "blind-miss", "a write whose data is not in the L2 invalidates nobody"),
    in_l2(L2Fault::HastyFill, "hasty-fill", "a write is performed when its data arrives, whoever still has a copy"),
    in_l2(
        L2Fault::OverwrittenMiss,
        "overwritten-miss",
        "a line that arrives overwrites the write that it was fetched for",
    ),
    in_l2(L2Fault::ReadInTransit, "read-in-transit", "a reader is served while a write waits for acknowledgements"),
    in_l2(L2Fault::MissingSharer, "missing-sharer", "a second reader of a line is not recorded"),
    in_l2(L2Fault::ForgottenWriter, "forgotten-writer", "a writer that keeps its copy is not recorded"),
    in_l2(L2Fault::ReplacedSharers, "replaced-sharers", "a read miss makes the directory forget the readers before it"),
    in_l2(L2Fault::ForgottenSharers, "forgotten-sharers", "data that leaves the L2 takes its directory entry along"),
    in_l2(L2Fault::SkippedRecall, "skipped-recall", "an entry leaves the directory without a recall"),
    in_l2(L2Fault::HastyRecall, "hasty-recall", "a recall ends with its first acknowledgement"),
    in_l2(L2Fault::LostWriteBack, "lost-write-back", "a dirty line leaves the L2 without being written back"),
    in_l2(L2Fault::Write(WriteFault::WrongWord), "wrong-word", "a store lands one word further"),
    in_l2(L2Fault::Write(WriteFault::WholeLine), "whole-line", "a store replaces the whole line, not only its bytes"),
];

/// The faults of both controllers, in the order in which they are declared.
pub const SEEDS: [LevelSeed<L1Fault, L2Fault>; BANK_SEEDS.len() + CACHE_FAULTS] =
    appended(&BANK_SEEDS, &private_cache_seeds());

/// The faults as the protocol declares them.
pub static FAULTS: [FaultSpec; SEEDS.len()] = specs(&SEEDS);

/// The declaration of GPU-VIni.
pub static DECLARATION: Declaration = Declaration {
    name: "gpu-vini",
    title: "GPU-VIni",
    summary: "GPU-VI with a non-inclusive L2 and a directory beside it.",
    citation: "Singh et al., Cache Coherence for GPU Architectures, HPCA 2013, section 4.3",
    model: MemoryModel::WriteAtomicRc,
    promises: &[Promise::SingleWriter, Promise::Communication],
    virtual_networks: VIRTUAL_NETWORKS,
    delivery: Delivery::InOrder,
    counters: Counters::None,
    reach: Reach::OneModule,
    commands: Commands::None,
    values: Values::Carried,
    parameters: &PARAMETERS,
    tallies: &[],
    messages: &MESSAGES,
    faults: &FAULTS,
};

/// The protocol, to be put into a registry.
pub struct GpuVini;

impl<const W: usize> Build<W> for GpuVini {
    fn build(&self, role: Role, index: u16, config: &BuildConfig) -> Option<Box<dyn Controller<W>>> {
        let (l1_fault, l2_fault) = seeded_by_level(&SEEDS, config);
        match role {
            Role::L1 => Some(Box::new(private_cache(index, config, l1_fault))),
            Role::L2 => Some(Box::new(GpuViniL2::new(index, config, l2_fault))),
            Role::L3 | Role::Tu | Role::Memory => None,
        }
    }
}

impl Protocol for GpuVini {
    fn declaration(&self) -> &'static Declaration {
        &DECLARATION
    }
}
