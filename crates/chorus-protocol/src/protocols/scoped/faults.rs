//! The mistakes that can be built into private caches and shared banks of the scoped protocols. [`seeds`](super::seeds)
//! names them.

/// A mistake that can be built into a private cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum L1Fault {
    /// An acquire keeps the copies.
    KeptCopies,
    /// A refill that is on its way when an acquire comes is cached.
    KeptMisses,
    /// Loads of wide scope hit.
    WideHit,
    /// A store leaves the old copy readable.
    StaleStoreHit,
    /// A refill that is on its way when a store passes is cached.
    PendingStore,
    /// An atomic leaves the old copy readable.
    StaleAtomic,
    /// A release does not wait for anything.
    NoRelease,
    /// An acquire that is also a release drops the copies first and waits afterwards.
    EarlyAcquire,
    /// Only the first of merged loads is answered.
    LostMerge,
    /// A store hit writes the whole copy, not only the bytes concerned.
    WholeCopy,
    /// The end of a kernel releases nothing.
    NoKernelEnd,
    /// A load hits in a part that lacks its bytes.
    PartHit,
    /// A store to an absent line takes the whole line for stored.
    WholePart,
    /// An acquire keeps the bytes that stores have left.
    KeptParts,
    /// A line that arrives overwrites the bytes that were stored in its place meanwhile.
    StoredLost,
    /// A store leaves its bytes for a load of its own thread that waits for the line.
    OwnStore,
    /// A load of bytes that were stored in the place of a line on its way waits for the line.
    WaitsForStored,
}

/// A mistake that can be built into a shared bank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum L2Fault {
    /// A reader is not recorded.
    ForgottenReader,
    /// A remote writer is not recorded.
    ForgottenWriter,
    /// The first of the sharers keeps its copy.
    SparedSharer,
    /// Invalidations travel on another virtual network than copies.
    InvalidationsOvertake,
    /// A copy that is on its way when its invalidation arrives is kept.
    InstalledAfterInvalidation,
    /// An invalidation drops one line of its entry only.
    NeighboursKept,
    /// A GPU home does not pass invalidations on.
    InvalidationNotForwarded,
    /// An entry is replaced without an invalidation of its sharers.
    SilentReplacement,
    /// A release does not wait for invalidations to arrive.
    ReleaseWithoutMarks,
    /// A release is not sent to other banks.
    ReleaseStaysHere,
    /// A system-wide release does not leave the GPU.
    ReleaseStopsAtGpuHome,
    /// A GPU home does not pass marks on.
    MarkNotForwarded,
    /// A line that is on its way when a store passes is kept.
    PendingStore,
    /// A store does not change the copy here.
    StaleStoreHit,
    /// A store that changes a copy here goes no further.
    LostStore,
    /// A store passes an atomic that waits for its line.
    StoreOvertakesAtomic,
    /// A load gets the line that an atomic waits for, though the line was invalidated on its way.
    JoinsClosedMiss,
    /// An atomic that is performed at a later station leaves the copy here.
    StaleAtomic,
    /// The result of an atomic at a home is not passed on.
    LostAtomic,
    /// System-wide atomics are performed at GPU homes.
    AtomicsAtGpuHome,
    /// Loads of any scope hit in the first bank.
    WideHit,
    /// Loads of system scope hit in GPU homes.
    GpuHomeAnswersAll,
    /// A write forgets the sharers of all lines of its entry.
    ForgottenRange,
    /// A replaced entry invalidates only the first of its lines.
    FirstOfRange,
    /// An acquire keeps the copies of shared banks.
    AcquireKeepsCopies,
    /// A copy that is on its way when an acquire comes is kept.
    AcquireKeepsMisses,
    /// A system-wide acquire drops the copies of one bank only.
    AcquireOnlyHere,
    /// A command to write back hands nothing on, and lines stay dirty.
    CommandWritesNothing,
    /// A command to write back marks dirty lines clean without handing them on.
    CommandForgetsDirty,
    /// A command to empty a bank drops dirty lines without handing them on.
    CommandLosesDirty,
    /// A command to empty a bank keeps the copies.
    CommandKeepsCopies,
    /// A command is answered before the homes have got the lines that it handed on.
    CommandDoesNotWait,
    /// A command for a page concerns its first line only.
    CommandFirstOfPage,
    /// Stores to another module's memory stay in the bank of the storing module.
    RemoteStoresStay,
}
