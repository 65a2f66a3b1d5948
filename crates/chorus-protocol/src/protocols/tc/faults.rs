//! The seeded faults of Temporal Coherence: of leases, of completion times, and of what any cache has to get right.

use super::gwct::GwctFault;
use crate::protocols::write_through_bank::WriteFault;
use crate::registry::FaultSpec;
use crate::seed::{LevelSeed, in_l1, in_l2, specs};

/// A mistake to build into a private cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum L1Fault {
    /// Copies are read past their lease.
    EternalCopy,
    /// Copies are read for a cycle past their lease.
    LateExpiry,
    /// Merged loads are answered whatever the lease.
    LateMerge,
    /// A merged load that was asked for again is asked for again whenever its answer comes.
    EverAsked,
    /// Only the first of merged loads is answered.
    LostMerge,
    /// Later operations go to the L2 before merged loads that are asked for again.
    OvertakenMerge,
    /// Fences wait for something else.
    Fence(GwctFault),
    /// Fences wait for acknowledgements only.
    TimelessFence,
    /// A private write completes at once, whatever was written before.
    ForgottenCompletion,
    /// A private write lengthens the copy's lease.
    LengthenedLease,
    /// Copies survive a roll-over.
    SurvivingCopy,
    /// A stale writer keeps its stale copy as if it were fresh.
    LostRefill,
    /// Loads hit lines with pending writes.
    PendingHit,
    /// A store to a line that is being fetched leaves the refill to be cached.
    PendingStore,
    /// A store hit writes the whole copy, not only the bytes concerned.
    WholeCopy,
    /// A request that joins others of its line is not counted.
    UncountedRequest,
}

/// A mistake to build into a shared bank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum L2Fault {
    /// A line leaves and its timestamp with it.
    ForgottenTimestamp,
    /// A write miss forgets the timestamp that it finds: Table 2 to the letter.
    ForgetfulWriteMiss,
    /// A read miss makes a line private although leases run on it.
    ForgetfulReadMiss,
    /// A lease reaches beyond the line's timestamp.
    UnrecordedLease,
    /// A line stays private when it is read again.
    SharedAsPrivate,
    /// A write leaves the timestamp as it is.
    UnchangedTimestamp,
    /// A write does not wait.
    HastyWrite,
    /// A write waits for all but the last cycle of the leases.
    EarlyWrite,
    /// A write miss does not wait.
    HastyMiss,
    /// A write to a leased line is said to be visible at once.
    UntimedAck,
    /// A stale writer is sent the line as it was before its write.
    OldRefill,
    /// There is no transition for an upgrade of a line that is being fetched.
    MissingTransition,
    /// A write is performed wrongly.
    Write(WriteFault),
    /// A write that missed is performed before its line arrives, which overwrites it.
    OverwrittenMiss,
    /// A dirty line leaves without being written back.
    LostWriteBack,
}

type TcSeed = LevelSeed<L1Fault, L2Fault>;

const ETERNAL_COPY: TcSeed = in_l1(L1Fault::EternalCopy, "eternal-copy", "copies are read past their lease");
const LATE_EXPIRY: TcSeed = in_l1(L1Fault::LateExpiry, "late-expiry", "copies are read for a cycle past their lease");
const LATE_MERGE: TcSeed =
    in_l1(L1Fault::LateMerge, "late-merge", "a load that merged after the lease had ended is answered all the same");
const EVER_ASKED: TcSeed = in_l1(
    L1Fault::EverAsked,
    "ever-asked",
    "a load that merged after the lease had ended is asked for again, and again with every answer",
);
const LOST_MERGE: TcSeed =
    in_l1(L1Fault::LostMerge, "lost-merge", "only the first of several merged loads is answered");
const OVERTAKEN_MERGE: TcSeed = in_l1(
    L1Fault::OvertakenMerge,
    "overtaken-merge",
    "a merged load that is asked for again is overtaken by its wavefront's later operations on the line",
);
const FIRST_ENTRY: TcSeed = in_l1(
    L1Fault::Fence(GwctFault::FirstEntry),
    "first-entry",
    "a fence looks at the entry of the core's first wavefront, not at that of its own",
);
const SURVIVING_COPY: TcSeed =
    in_l1(L1Fault::SurvivingCopy, "surviving-copy", "copies survive a roll-over of the counters");
const PENDING_STORE: TcSeed = in_l1(
    L1Fault::PendingStore,
    "pending-store",
    "a store to a line that is being fetched leaves the refill to be cached",
);
const WHOLE_COPY: TcSeed =
    in_l1(L1Fault::WholeCopy, "whole-copy", "a store hit writes the whole private copy, not only its bytes");
const UNCOUNTED_REQUEST: TcSeed =
    in_l1(L1Fault::UncountedRequest, "uncounted-request", "a request that joins others of its line is not counted");
const FORGOTTEN_TIMESTAMP: TcSeed =
    in_l2(L2Fault::ForgottenTimestamp, "forgotten-timestamp", "a line leaves the L2 and its timestamp with it");
const FORGETFUL_READ_MISS: TcSeed = in_l2(
    L2Fault::ForgetfulReadMiss,
    "forgetful-read-miss",
    "a read miss makes a line private although leases run on it",
);
const UNRECORDED_LEASE: TcSeed =
    in_l2(L2Fault::UnrecordedLease, "unrecorded-lease", "a lease reaches beyond the line's timestamp");
const SHARED_AS_PRIVATE: TcSeed =
    in_l2(L2Fault::SharedAsPrivate, "shared-as-private", "a line stays private when another cache reads it");
const MISSING_TRANSITION: TcSeed = in_l2(
    L2Fault::MissingTransition,
    "missing-transition",
    "an upgrade of a line that is being fetched has no transition",
);
const WRONG_WORD: TcSeed = in_l2(L2Fault::Write(WriteFault::WrongWord), "wrong-word", "a store lands one word further");
const NEW_VALUE: TcSeed = in_l2(
    L2Fault::Write(WriteFault::NewValue),
    "new-value",
    "an atomic answers with what it has written, not with what it found",
);
const OVERWRITTEN_MISS: TcSeed = in_l2(
    L2Fault::OverwrittenMiss,
    "overwritten-miss",
    "a line that arrives overwrites the write that it was fetched for",
);
const LOST_WRITE_BACK: TcSeed =
    in_l2(L2Fault::LostWriteBack, "lost-write-back", "a dirty line leaves the L2 without being written back");

/// The faults of TC-Strong, in the order in which they are declared.
pub const STRONG_SEEDS: [TcSeed; 25] = [
    ETERNAL_COPY,
    LATE_EXPIRY,
    LATE_MERGE,
    EVER_ASKED,
    LOST_MERGE,
    OVERTAKEN_MERGE,
    in_l1(L1Fault::Fence(GwctFault::Nothing), "empty-fence", "a fence does not wait for acknowledgements"),
    FIRST_ENTRY,
    SURVIVING_COPY,
    in_l1(L1Fault::PendingHit, "pending-hit", "loads hit lines whose writes are not performed yet"),
    PENDING_STORE,
    WHOLE_COPY,
    UNCOUNTED_REQUEST,
    in_l2(L2Fault::HastyWrite, "hasty-write", "a write to a line with running leases does not wait"),
    in_l2(L2Fault::EarlyWrite, "early-write", "a write does not wait for the last cycle of the running leases"),
    in_l2(L2Fault::HastyMiss, "hasty-miss", "a write miss does not wait for the leases of the line's earlier stay"),
    FORGOTTEN_TIMESTAMP,
    FORGETFUL_READ_MISS,
    UNRECORDED_LEASE,
    SHARED_AS_PRIVATE,
    MISSING_TRANSITION,
    WRONG_WORD,
    NEW_VALUE,
    OVERWRITTEN_MISS,
    LOST_WRITE_BACK,
];

/// The faults of TC-Weak, in the order in which they are declared.
pub const WEAK_SEEDS: [TcSeed; 31] = [
    ETERNAL_COPY,
    LATE_EXPIRY,
    LATE_MERGE,
    EVER_ASKED,
    LOST_MERGE,
    OVERTAKEN_MERGE,
    in_l1(L1Fault::Fence(GwctFault::Nothing), "empty-fence", "a fence waits for nothing"),
    in_l1(L1Fault::TimelessFence, "timeless-fence", "a fence waits for acknowledgements but not for completion times"),
    in_l1(L1Fault::Fence(GwctFault::LastCycle), "early-fence", "a fence is passed in the cycle of its completion time"),
    in_l1(
        L1Fault::Fence(GwctFault::LastWrite),
        "last-write",
        "a wavefront's completion time is that of its last write, not the latest",
    ),
    FIRST_ENTRY,
    in_l1(
        L1Fault::ForgottenCompletion,
        "forgotten-completion",
        "a private write has no completion time, whatever other wavefronts of the core wrote before",
    ),
    in_l1(L1Fault::LengthenedLease, "lengthened-lease", "a write lengthens the writer's own lease"),
    SURVIVING_COPY,
    in_l1(L1Fault::LostRefill, "lost-refill", "a stale writer takes the new lease without the new data"),
    PENDING_STORE,
    WHOLE_COPY,
    UNCOUNTED_REQUEST,
    FORGOTTEN_TIMESTAMP,
    in_l2(
        L2Fault::ForgetfulWriteMiss,
        "forgetful-write-miss",
        "a write miss forgets that leases run, as Table 2 has it",
    ),
    FORGETFUL_READ_MISS,
    UNRECORDED_LEASE,
    SHARED_AS_PRIVATE,
    in_l2(L2Fault::UnchangedTimestamp, "unchanged-timestamp", "a write leaves the line's timestamp as it is"),
    in_l2(L2Fault::UntimedAck, "untimed-ack", "a write to a line with running leases is said to be visible at once"),
    in_l2(L2Fault::OldRefill, "old-refill", "a stale writer is sent the line as it was before its write"),
    MISSING_TRANSITION,
    WRONG_WORD,
    NEW_VALUE,
    OVERWRITTEN_MISS,
    LOST_WRITE_BACK,
];

/// The faults as TC-Strong declares them.
pub static STRONG_FAULTS: [FaultSpec; STRONG_SEEDS.len()] = specs(&STRONG_SEEDS);

/// The faults as TC-Weak declares them.
pub static WEAK_FAULTS: [FaultSpec; WEAK_SEEDS.len()] = specs(&WEAK_SEEDS);
