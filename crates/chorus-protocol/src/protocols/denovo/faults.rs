//! The seeded faults of the DeNovo cache.

use crate::registry::FaultSpec;
use crate::write_tracker::FenceFault;

/// A mistake that can be built into a DeNovo cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum L1Fault {
    /// An acquire keeps valid words.
    KeptCopies,
    /// An acquire drops owned words too.
    DroppedOwned,
    /// A read that crosses an acquire leaves its words valid.
    KeptRead,
    /// An acquire that is also a release invalidates first and waits afterwards.
    EarlyAcquire,
    /// A store is performed before its words are owned.
    EarlyWrite,
    /// A word that was given away while its ReqO was outstanding counts as owned all the same.
    KeptLost,
    /// A word that a forwarded request takes away stays owned.
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
    /// A read-only region reaches one line too far.
    WideRegion,
    /// Ordered accesses are performed on valid words.
    ValidAtomic,
    /// A forwarded ReqV that finds nothing is not answered.
    LostNack,
    /// Fences wait for the wrong condition.
    Fence(FenceFault),
}

/// The seeded faults, each with its name and description.
pub const L1_FAULTS: [(FaultSpec, L1Fault); 18] = [
    (FaultSpec::new("denovo-kept-copies", "an acquire keeps valid words"), L1Fault::KeptCopies),
    (FaultSpec::new("denovo-dropped-owned", "an acquire drops owned words too"), L1Fault::DroppedOwned),
    (FaultSpec::new("denovo-kept-read", "a read that crosses an acquire leaves its words valid"), L1Fault::KeptRead),
    (
        FaultSpec::new("denovo-early-acquire", "a fence invalidates before it waits for its stores"),
        L1Fault::EarlyAcquire,
    ),
    (FaultSpec::new("denovo-early-write", "a store is performed before its words are owned"), L1Fault::EarlyWrite),
    (
        FaultSpec::new("denovo-kept-lost", "a word given away before ReqO is answered is owned all the same"),
        L1Fault::KeptLost,
    ),
    (FaultSpec::new("denovo-kept-owned", "a word stays owned that a forwarded request takes away"), L1Fault::KeptOwned),
    (FaultSpec::new("denovo-read-downgrade", "a forwarded ReqV takes the word away"), L1Fault::ReadDowngrade),
    (
        FaultSpec::new("denovo-lost-write-back", "owned words are dropped when the line is replaced"),
        L1Fault::LostWriteBack,
    ),
    (FaultSpec::new("denovo-early-release", "a write-back ends with the first answer"), L1Fault::EarlyRelease),
    (
        FaultSpec::new(
            "denovo-unfinished-write-back",
            "a request that takes words out of a write-back leaves it waiting",
        ),
        L1Fault::UnfinishedWriteBack,
    ),
    (
        FaultSpec::new("denovo-overwritten-owned", "the answer to a read overwrites owned words"),
        L1Fault::OverwrittenOwned,
    ),
    (FaultSpec::new("denovo-old-refill", "a read's answer brings words from before a write"), L1Fault::OldRefill),
    (FaultSpec::new("denovo-wide-region", "a read-only region reaches one line too far"), L1Fault::WideRegion),
    (FaultSpec::new("denovo-valid-atomic", "ordered accesses are performed on valid words"), L1Fault::ValidAtomic),
    (FaultSpec::new("denovo-lost-nack", "a forwarded ReqV that finds nothing is not answered"), L1Fault::LostNack),
    (FaultSpec::new("denovo-empty-fence", "a fence does not wait for stores"), L1Fault::Fence(FenceFault::Nothing)),
    (
        FaultSpec::new("denovo-hasty-fence", "a fence waits for one store, not for all"),
        L1Fault::Fence(FenceFault::NextAck),
    ),
];
