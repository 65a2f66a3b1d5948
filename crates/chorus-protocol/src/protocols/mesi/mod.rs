//! MESI (TC paper, section 4.1): write-back, write-allocate private caches, and an inclusive L2 with the directory in its tags.
//!
//! The paper takes the protocol from gem5 (section 7); states carry the names of gem5's two-level MESI. Private caches are joined to the
//! L2 only, so an owner's data reaches another cache by way of the L2. Nothing relies on the order of messages.

mod l1;
mod l1_states;
mod l2;
mod l2_states;
mod messages;

use crate::address::Role;
use crate::controller::Controller;
use crate::registry::{Build, BuildConfig, Counters, Declaration, Delivery, FaultSpec, MemoryModel, Promise, Protocol};
use crate::seed::{Seed, seeded};
use l1::{L1Fault, MesiL1};
use l2::{L2Fault, MesiL2};
use messages::{MESSAGES, VIRTUAL_NETWORKS};

/// In the order of [`FAULTS`].
const SEEDS: [Seed<L1Fault, L2Fault>; 21] = [
    Seed::L2(L2Fault::LostInvalidation),
    Seed::L2(L2Fault::EarlyGrant),
    Seed::L2(L2Fault::MissingSharer),
    Seed::L2(L2Fault::SkippedRecall),
    Seed::L2(L2Fault::LostRecallData),
    Seed::L2(L2Fault::StaleForward),
    Seed::L2(L2Fault::StaleUpgrade),
    Seed::L2(L2Fault::OpenGrant),
    Seed::L2(L2Fault::CrossedWriteBack),
    Seed::L1(L1Fault::StaleFill),
    Seed::L1(L1Fault::IgnoredInvalidation),
    Seed::L1(L1Fault::IgnoredRecall),
    Seed::L1(L1Fault::LostWriteBack),
    Seed::L1(L1Fault::SilentModification),
    Seed::L1(L1Fault::EarlyWrite),
    Seed::L1(L1Fault::SharedAtomic),
    Seed::L1(L1Fault::PassingLoad),
    Seed::L1(L1Fault::LostUnblock),
    Seed::L1(L1Fault::WrongWord),
    Seed::L1(L1Fault::LostMerge),
    Seed::L1(L1Fault::EmptyFence),
];

static FAULTS: [FaultSpec; SEEDS.len()] = [
    FaultSpec {
        name: "lost-invalidation",
        breaks: "a writer's request neither invalidates nor awaits the last sharer",
    },
    FaultSpec { name: "early-grant", breaks: "a writer gets permission before the invalidations are acknowledged" },
    FaultSpec { name: "missing-sharer", breaks: "a second reader of a line is not recorded" },
    FaultSpec { name: "skipped-recall", breaks: "a shared line leaves the L2 without a recall" },
    FaultSpec { name: "lost-recall-data", breaks: "the data of a recalled owner is not written to memory" },
    FaultSpec { name: "stale-forward", breaks: "the L2 takes an owner's data for what it holds already" },
    FaultSpec {
        name: "stale-upgrade",
        breaks: "an upgrade is granted without data though the copy was invalidated meanwhile",
    },
    FaultSpec { name: "open-grant", breaks: "a line may be asked for again before its new owner has reported" },
    FaultSpec {
        name: "crossed-write-back",
        breaks: "a write-back that crosses a question ends the wait for the answer",
    },
    FaultSpec { name: "stale-fill", breaks: "a read miss that was invalidated still caches its refill" },
    FaultSpec { name: "ignored-invalidation", breaks: "an invalidation is acknowledged but the shared copy stays" },
    FaultSpec { name: "ignored-recall", breaks: "a recall is acknowledged but the shared copy stays" },
    FaultSpec { name: "lost-write-back", breaks: "a written line leaves the private cache as if it were clean" },
    FaultSpec { name: "silent-modification", breaks: "an owner that has written its line says that it has not" },
    FaultSpec { name: "early-write", breaks: "a store is performed on a shared copy" },
    FaultSpec { name: "shared-atomic", breaks: "an atomic is performed on a shared copy" },
    FaultSpec { name: "passing-load", breaks: "a load reads a shared copy past the stores that wait to write it" },
    FaultSpec { name: "lost-unblock", breaks: "a new owner does not report that its upgrade was granted" },
    FaultSpec { name: "wrong-word", breaks: "a store lands one word further" },
    FaultSpec { name: "lost-merge", breaks: "only the first of several merged loads is answered" },
    FaultSpec { name: "empty-fence", breaks: "a fence does not wait for the stores that wait for permission" },
];

static DECLARATION: Declaration = Declaration {
    name: "mesi",
    title: "MESI",
    summary: "Write-back L1s that allocate on writes and perform atomics, inclusive L2 with sharers and owners.",
    citation: "Singh et al., Cache Coherence for GPU Architectures, HPCA 2013, section 4.1",
    model: MemoryModel::WriteAtomicRc,
    promises: &[Promise::SingleOwner, Promise::Inclusion, Promise::Communication],
    virtual_networks: VIRTUAL_NETWORKS,
    delivery: Delivery::AnyOrder,
    counters: Counters::None,
    parameters: &[],
    tallies: &[],
    messages: &MESSAGES,
    faults: &FAULTS,
};

/// The protocol.
pub struct Mesi;

impl<const W: usize> Build<W> for Mesi {
    fn build(&self, role: Role, index: u16, config: &BuildConfig) -> Option<Box<dyn Controller<W>>> {
        let (l1_fault, l2_fault) = seeded(&SEEDS, config);
        match role {
            Role::L1 => Some(Box::new(MesiL1::new(index, config, l1_fault))),
            Role::L2 => Some(Box::new(MesiL2::new(index, config, l2_fault))),
            Role::Memory => None,
        }
    }
}

impl Protocol for Mesi {
    fn declaration(&self) -> &'static Declaration {
        &DECLARATION
    }
}
