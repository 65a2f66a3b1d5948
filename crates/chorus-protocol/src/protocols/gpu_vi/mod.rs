//! GPU-VI (TC paper, section 4.2): write-through private caches, and an inclusive L2 with the sharers in its tags.
//!
//! A write that reaches a shared line waits at the L2 until every other copy is invalidated and acknowledged, so writes are
//! atomic. Two optimisations of the paper: a store hit writes the private copy at once, before the acknowledgement, and loads of lines
//! with pending writes count as misses. Four virtual networks: requests, answers, invalidations, acknowledgements.

mod l2;

use crate::address::Role;
use crate::controller::Controller;
use crate::protocols::vi_protocols::{MESSAGES, VIRTUAL_NETWORKS, private_cache};
use crate::protocols::write_through_l1::L1Fault;
use crate::registry::{Build, BuildConfig, Counters, Declaration, Delivery, FaultSpec, MemoryModel, Promise, Protocol};
use crate::seed::{Seed, seeded};
use l2::{GpuViL2, L2Fault};

/// In the order of [`FAULTS`].
const SEEDS: [Seed<L1Fault, L2Fault>; 11] = [
    Seed::L2(L2Fault::LostInvalidation),
    Seed::L2(L2Fault::EarlyAck),
    Seed::L2(L2Fault::MissingSharer),
    Seed::L1(L1Fault::StaleRefill),
    Seed::L2(L2Fault::WrongWord),
    Seed::L2(L2Fault::SkippedRecall),
    Seed::L1(L1Fault::IgnoredInvalidation),
    Seed::L1(L1Fault::PendingHit),
    Seed::L1(L1Fault::LostMerge),
    Seed::L1(L1Fault::EmptyFence),
    Seed::L2(L2Fault::LostWriteBack),
];

static FAULTS: [FaultSpec; SEEDS.len()] = [
    FaultSpec { name: "lost-invalidation", breaks: "a write neither invalidates nor awaits the last sharer" },
    FaultSpec { name: "early-ack", breaks: "a write is performed and acknowledged before its invalidations are" },
    FaultSpec { name: "missing-sharer", breaks: "a second reader of a line is not recorded" },
    FaultSpec { name: "stale-refill", breaks: "a read miss that was invalidated still caches its refill" },
    FaultSpec { name: "wrong-word", breaks: "a store lands one word further" },
    FaultSpec { name: "skipped-recall", breaks: "a shared line leaves the L2 without a recall" },
    FaultSpec { name: "ignored-invalidation", breaks: "an invalidation is acknowledged but the copy stays" },
    FaultSpec { name: "pending-hit", breaks: "loads hit lines whose writes are not performed yet" },
    FaultSpec { name: "lost-merge", breaks: "only the first of several merged loads is answered" },
    FaultSpec { name: "empty-fence", breaks: "a fence does not wait for acknowledgements" },
    FaultSpec { name: "lost-write-back", breaks: "a dirty line leaves the L2 without being written back" },
];

static DECLARATION: Declaration = Declaration {
    name: "gpu-vi",
    title: "GPU-VI",
    summary: "Write-through L1s, inclusive L2 with sharers, invalidations with acknowledgements.",
    citation: "Singh et al., Cache Coherence for GPU Architectures, HPCA 2013, section 4.2",
    model: MemoryModel::WriteAtomicRc,
    promises: &[Promise::SingleWriter, Promise::Inclusion, Promise::Communication],
    virtual_networks: VIRTUAL_NETWORKS,
    delivery: Delivery::InOrder,
    counters: Counters::None,
    parameters: &[],
    tallies: &[],
    messages: &MESSAGES,
    faults: &FAULTS,
};

/// The protocol.
pub struct GpuVi;

impl<const W: usize> Build<W> for GpuVi {
    fn build(&self, role: Role, index: u16, config: &BuildConfig) -> Option<Box<dyn Controller<W>>> {
        let (l1_fault, l2_fault) = seeded(&SEEDS, config);
        match role {
            Role::L1 => Some(Box::new(private_cache(index, config, l1_fault))),
            Role::L2 => Some(Box::new(GpuViL2::new(index, config, l2_fault))),
            Role::Memory => None,
        }
    }
}

impl Protocol for GpuVi {
    fn declaration(&self) -> &'static Declaration {
        &DECLARATION
    }
}
