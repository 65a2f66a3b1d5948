//! The seeded faults of the DeNovo cache.

use crate::registry::FaultSpec;
use crate::write_tracker::FenceFault;

/// A mistake to build into a DeNovo cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum L1Fault {
    /// An acquire keeps valid words.
    KeptCopies,
    /// An acquire drops owned words too.
    DroppedOwned,
    /// A read that crosses an acquire leaves its words valid.
    KeptRead,
    /// An acquire that is also a release invalidates first and waits then.
    EarlyAcquire,
    /// A store is performed before its words are owned.
    EarlyWrite,
    /// A word that was given away while ReqO was outstanding is owned all the same.
    KeptLost,
    /// A word stays owned that a forwarded request takes away.
    KeptOwned,
    /// A forwarded ReqV takes the word away.
    ReadDowngrade,
    /// Owned words are dropped when the line is replaced.
    LostWriteBack,
    /// A write-back ends with the first answer, whatever words it is for.
    EarlyRelease,
    /// A request that takes words out of a write-back leaves the write-back waiting for them.
    UnfinishedWriteBack,
    /// The answer to a read overwrites owned words.
    OverwrittenOwned,
    /// The answer to a read brings words from before a write of this cache.
    OldRefill,
    /// Ordered accesses are performed on valid words.
    ValidAtomic,
    /// A forwarded ReqV that finds nothing is not answered.
    LostNack,
    /// Fences wait for something else.
    Fence(FenceFault),
}

const fn spec(name: &'static str, breaks: &'static str) -> FaultSpec {
    FaultSpec { name, breaks }
}

/// Each with its name and what it breaks.
pub const L1_FAULTS: [(FaultSpec, L1Fault); 17] = [
    (spec("denovo-kept-copies", "an acquire keeps valid words"), L1Fault::KeptCopies),
    (spec("denovo-dropped-owned", "an acquire drops owned words too"), L1Fault::DroppedOwned),
    (spec("denovo-kept-read", "a read that crosses an acquire leaves its words valid"), L1Fault::KeptRead),
    (spec("denovo-early-acquire", "a fence invalidates before it waits for its stores"), L1Fault::EarlyAcquire),
    (spec("denovo-early-write", "a store is performed before its words are owned"), L1Fault::EarlyWrite),
    (spec("denovo-kept-lost", "a word given away before ReqO is answered is owned all the same"), L1Fault::KeptLost),
    (spec("denovo-kept-owned", "a word stays owned that a forwarded request takes away"), L1Fault::KeptOwned),
    (spec("denovo-read-downgrade", "a forwarded ReqV takes the word away"), L1Fault::ReadDowngrade),
    (spec("denovo-lost-write-back", "owned words are dropped when the line is replaced"), L1Fault::LostWriteBack),
    (spec("denovo-early-release", "a write-back ends with the first answer"), L1Fault::EarlyRelease),
    (
        spec("denovo-unfinished-write-back", "a request that takes words out of a write-back leaves it waiting"),
        L1Fault::UnfinishedWriteBack,
    ),
    (spec("denovo-overwritten-owned", "the answer to a read overwrites owned words"), L1Fault::OverwrittenOwned),
    (spec("denovo-old-refill", "a read's answer brings words from before a write"), L1Fault::OldRefill),
    (spec("denovo-valid-atomic", "ordered accesses are performed on valid words"), L1Fault::ValidAtomic),
    (spec("denovo-lost-nack", "a forwarded ReqV that finds nothing is not answered"), L1Fault::LostNack),
    (spec("denovo-empty-fence", "a fence does not wait for stores"), L1Fault::Fence(FenceFault::Nothing)),
    (spec("denovo-hasty-fence", "a fence waits for one store, not for all"), L1Fault::Fence(FenceFault::NextAck)),
];
