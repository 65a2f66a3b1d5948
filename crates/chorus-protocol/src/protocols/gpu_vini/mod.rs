//! GPU-VIni (TC paper, section 4.3): GPU-VI with a directory of its own size beside an L2 that is not inclusive.
//!
//! The private caches are GPU-VI's. The bank's controller manages the L2 and the directory: data leaves the L2 without a recall and
//! its directory entry stays, an entry leaves the directory with a recall and its data stays. A write to a line with recorded copies
//! waits for their invalidation whether its data is in the L2 or not, so writes are atomic.

mod directory;
mod l2;
mod states;
#[cfg(test)]
mod tests;

use crate::address::Role;
use crate::controller::Controller;
use crate::protocols::vi_protocols::{MESSAGES, VIRTUAL_NETWORKS, private_cache};
use crate::protocols::write_through_l1::L1Fault;
use crate::registry::{Build, BuildConfig, Counters, Declaration, Delivery, FaultSpec, MemoryModel, Promise, Protocol};
use crate::seed::{Seed, seeded};
use directory::PARAMETERS;
use l2::{GpuViniL2, L2Fault};

/// In the order of [`FAULTS`].
const SEEDS: [Seed<L1Fault, L2Fault>; 16] = [
    Seed::L2(L2Fault::LostInvalidation),
    Seed::L2(L2Fault::EarlyAck),
    Seed::L2(L2Fault::BlindMiss),
    Seed::L2(L2Fault::HastyFill),
    Seed::L2(L2Fault::MissingSharer),
    Seed::L2(L2Fault::ReplacedSharers),
    Seed::L2(L2Fault::ForgottenSharers),
    Seed::L2(L2Fault::SkippedRecall),
    Seed::L2(L2Fault::HastyRecall),
    Seed::L2(L2Fault::LostWriteBack),
    Seed::L2(L2Fault::WrongWord),
    Seed::L1(L1Fault::StaleRefill),
    Seed::L1(L1Fault::IgnoredInvalidation),
    Seed::L1(L1Fault::PendingHit),
    Seed::L1(L1Fault::LostMerge),
    Seed::L1(L1Fault::EmptyFence),
];

static FAULTS: [FaultSpec; SEEDS.len()] = [
    FaultSpec { name: "lost-invalidation", breaks: "a write neither invalidates nor awaits the last sharer" },
    FaultSpec { name: "early-ack", breaks: "a write is performed and acknowledged before its invalidations are" },
    FaultSpec { name: "blind-miss", breaks: "a write whose data is not in the L2 invalidates nobody" },
    FaultSpec { name: "hasty-fill", breaks: "a write is performed when its data arrives, whoever still has a copy" },
    FaultSpec { name: "missing-sharer", breaks: "a second reader of a line is not recorded" },
    FaultSpec { name: "replaced-sharers", breaks: "a read miss makes the directory forget the readers before it" },
    FaultSpec { name: "forgotten-sharers", breaks: "data that leaves the L2 takes its directory entry along" },
    FaultSpec { name: "skipped-recall", breaks: "an entry leaves the directory without a recall" },
    FaultSpec { name: "hasty-recall", breaks: "a recall ends with its first acknowledgement" },
    FaultSpec { name: "lost-write-back", breaks: "a dirty line leaves the L2 without being written back" },
    FaultSpec { name: "wrong-word", breaks: "a store lands one word further" },
    FaultSpec { name: "stale-refill", breaks: "a read miss that was invalidated still caches its refill" },
    FaultSpec { name: "ignored-invalidation", breaks: "an invalidation is acknowledged but the copy stays" },
    FaultSpec { name: "pending-hit", breaks: "loads hit lines whose writes are not performed yet" },
    FaultSpec { name: "lost-merge", breaks: "only the first of several merged loads is answered" },
    FaultSpec { name: "empty-fence", breaks: "a fence does not wait for acknowledgements" },
];

static DECLARATION: Declaration = Declaration {
    name: "gpu-vini",
    title: "GPU-VIni",
    summary: "GPU-VI with a non-inclusive L2 and a directory beside it.",
    citation: "Singh et al., Cache Coherence for GPU Architectures, HPCA 2013, section 4.3",
    model: MemoryModel::WriteAtomicRc,
    promises: &[Promise::SingleWriter, Promise::Communication],
    virtual_networks: VIRTUAL_NETWORKS,
    delivery: Delivery::InOrder,
    counters: Counters::None,
    parameters: &PARAMETERS,
    tallies: &[],
    messages: &MESSAGES,
    faults: &FAULTS,
};

/// The protocol.
pub struct GpuVini;

impl<const W: usize> Build<W> for GpuVini {
    fn build(&self, role: Role, index: u16, config: &BuildConfig) -> Option<Box<dyn Controller<W>>> {
        let (l1_fault, l2_fault) = seeded(&SEEDS, config);
        match role {
            Role::L1 => Some(Box::new(private_cache(index, config, l1_fault))),
            Role::L2 => Some(Box::new(GpuViniL2::new(index, config, l2_fault))),
            Role::Memory => None,
        }
    }
}

impl Protocol for GpuVini {
    fn declaration(&self) -> &'static Declaration {
        &DECLARATION
    }
}
