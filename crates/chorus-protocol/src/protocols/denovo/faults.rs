//! The seeded faults of the DeNovo cache.

use crate::seed::Seed;
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

/// Each with its name and what it breaks.
pub const L1_FAULTS: [Seed<L1Fault>; 17] = [
    Seed::new(L1Fault::KeptCopies, "denovo-kept-copies", "an acquire keeps valid words"),
    Seed::new(L1Fault::DroppedOwned, "denovo-dropped-owned", "an acquire drops owned words too"),
    Seed::new(L1Fault::KeptRead, "denovo-kept-read", "a read that crosses an acquire leaves its words valid"),
    Seed::new(L1Fault::EarlyAcquire, "denovo-early-acquire", "a fence invalidates before it waits for its stores"),
    Seed::new(L1Fault::EarlyWrite, "denovo-early-write", "a store is performed before its words are owned"),
    Seed::new(L1Fault::KeptOwned, "denovo-kept-owned", "a word stays owned that a forwarded request takes away"),
    Seed::new(L1Fault::ReadDowngrade, "denovo-read-downgrade", "a forwarded ReqV takes the word away"),
    Seed::new(L1Fault::LostWriteBack, "denovo-lost-write-back", "owned words are dropped when the line is replaced"),
    Seed::new(L1Fault::EarlyRelease, "denovo-early-release", "a write-back ends with the first answer"),
    Seed::new(
        L1Fault::UnfinishedWriteBack,
        "denovo-unfinished-write-back",
        "a request that takes words out of a write-back leaves it waiting",
    ),
    Seed::new(L1Fault::OverwrittenOwned, "denovo-overwritten-owned", "the answer to a read overwrites owned words"),
    Seed::new(L1Fault::OldRefill, "denovo-old-refill", "a read's answer brings words from before a write"),
    Seed::new(L1Fault::WideRegion, "denovo-wide-region", "a read-only region reaches one line too far"),
    Seed::new(L1Fault::ValidAtomic, "denovo-valid-atomic", "ordered accesses are performed on valid words"),
    Seed::new(L1Fault::LostNack, "denovo-lost-nack", "a forwarded ReqV that finds nothing is not answered"),
    Seed::new(L1Fault::Fence(FenceFault::Nothing), "denovo-empty-fence", "a fence does not wait for stores"),
    Seed::new(L1Fault::Fence(FenceFault::NextAck), "denovo-hasty-fence", "a fence waits for one store, not for all"),
];
