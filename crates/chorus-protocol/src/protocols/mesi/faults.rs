//! The seeded faults of MESI. Several are mistakes that implementations of such protocols have really had: wrong
//! answers to probes that cross a write-back, miss registers freed too early or never, and missing transitions that
//! only rare sequences need.

use crate::registry::FaultSpec;
use crate::seed::{LevelSeed, in_l1, in_l2, specs};
use crate::write_tracker::FenceFault;

/// A mistake that can be built into a private cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum L1Fault {
    /// A read miss that was invalidated still caches its refill.
    StaleFill,
    /// A load joins a read miss that was invalidated.
    LateMerge,
    /// There is no transition for the only copy when it comes to a read miss that was invalidated.
    MissingTransition,
    /// An invalidation of a shared copy is acknowledged and ignored.
    IgnoredInvalidation,
    /// A recall of a shared copy is acknowledged and ignored.
    IgnoredRecall,
    /// A written line leaves as if it were clean.
    LostWriteBack,
    /// A probe that crosses a write-back is answered as if there had never been a copy.
    PutRace,
    /// A probe that crosses a write-back frees the write-back's miss register.
    EarlyRelease,
    /// The miss register of a write-back that crossed a probe is never freed.
    LeakedRegister,
    /// An owner that has written its line says that it has not.
    SilentModification,
    /// A store is performed on a shared copy.
    EarlyWrite,
    /// An atomic is performed on a shared copy.
    SharedAtomic,
    /// A write miss is performed on the old contents of its place.
    UnfilledWrite,
    /// A load reads a copy past the stores that wait for it.
    PassingLoad,
    /// The arrival of the only copy is not reported after an upgrade.
    LostUnblock,
    /// A store lands one word further.
    WrongWord,
    /// A store replaces the whole line.
    WholeLine,
    /// Only the first of merged loads is answered.
    LostMerge,
    /// The only copy that a load gets through a translation unit counts as clean.
    CleanGrant,
    /// A translation unit that only looks at a line takes its ownership away.
    PeekedAway,
    /// Fences wait for the wrong condition.
    Fence(FenceFault),
}

/// A mistake that can be built into a shared bank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum L2Fault {
    /// A writer's request neither invalidates nor awaits the last sharer.
    LostInvalidation,
    /// A writer gets its permission before the invalidations are acknowledged.
    EarlyGrant,
    /// A request also awaits an answer of its own sender, if the sender has a copy.
    Miscount,
    /// A reader is served while a writer's request waits for acknowledgements.
    ReadInTransit,
    /// A second reader is not recorded.
    MissingSharer,
    /// A shared line leaves without a recall.
    SkippedRecall,
    /// The data of a recalled owner is not written to memory.
    LostRecallData,
    /// The data of a write-back that crosses a recall is dropped.
    CrossedRecall,
    /// The data of an owner is dropped, as if the bank held it already.
    StaleForward,
    /// An upgrade is granted without data although the copy was invalidated meanwhile.
    StaleUpgrade,
    /// A line may be requested again before its new owner has reported.
    OpenGrant,
    /// A write-back that crosses a probe ends the wait for the answer.
    CrossedWriteBack,
    /// A write-back that crosses a probe is not acknowledged.
    LostWbAck,
    /// A write-back does not wait for the report of its sender.
    EarlyPut,
    /// A write-back without data is taken for one with data.
    EmptyPut,
}

/// The mistake of each controller, where it has one.
pub const SEEDS: [LevelSeed<L1Fault, L2Fault>; 36] = [
    in_l2(
        L2Fault::LostInvalidation,
        "lost-invalidation",
        "a writer's request neither invalidates nor awaits the last sharer",
    ),
    in_l2(L2Fault::EarlyGrant, "early-grant", "a writer gets permission before the invalidations are acknowledged"),
    in_l2(L2Fault::Miscount, "miscount", "a request awaits an answer of its own sender too, if that has a copy"),
    in_l2(L2Fault::ReadInTransit, "read-in-transit", "a reader is served while a writer waits for acknowledgements"),
    in_l2(L2Fault::MissingSharer, "missing-sharer", "a second reader of a line is not recorded"),
    in_l2(L2Fault::SkippedRecall, "skipped-recall", "a shared line leaves the L2 without a recall"),
    in_l2(L2Fault::LostRecallData, "lost-recall-data", "the data of a recalled owner is not written to memory"),
    in_l2(L2Fault::CrossedRecall, "crossed-recall", "the data of a write-back that crosses a recall is dropped"),
    in_l2(L2Fault::StaleForward, "stale-forward", "the L2 takes an owner's data for what it holds already"),
    in_l2(
        L2Fault::StaleUpgrade,
        "stale-upgrade",
        "an upgrade is granted without data though the copy was invalidated meanwhile",
    ),
    in_l2(L2Fault::OpenGrant, "open-grant", "a line may be asked for again before its new owner has reported"),
    in_l2(
        L2Fault::CrossedWriteBack,
        "crossed-write-back",
        "a write-back that crosses a question ends the wait for the answer",
    ),
    in_l2(L2Fault::LostWbAck, "lost-wb-ack", "a write-back that crosses a question is not acknowledged"),
    in_l2(L2Fault::EarlyPut, "early-put", "a write-back does not wait for the report of its sender"),
    in_l2(L2Fault::EmptyPut, "empty-put", "a write-back without data is taken for one with data"),
    in_l1(L1Fault::StaleFill, "stale-fill", "a read miss that was invalidated still caches its refill"),
    in_l1(L1Fault::LateMerge, "late-merge", "a load joins a read miss that was invalidated already"),
    in_l1(
        L1Fault::MissingTransition,
        "missing-transition",
        "the only copy has no transition when it comes to a read miss that was invalidated",
    ),
    in_l1(
        L1Fault::IgnoredInvalidation,
        "ignored-invalidation",
        "an invalidation is acknowledged but the shared copy stays",
    ),
    in_l1(L1Fault::IgnoredRecall, "ignored-recall", "a recall is acknowledged but the shared copy stays"),
    in_l1(L1Fault::LostWriteBack, "lost-write-back", "a written line leaves the private cache as if it were clean"),
    in_l1(L1Fault::PutRace, "put-race", "a question that crosses a write-back is answered as if there were none"),
    in_l1(L1Fault::EarlyRelease, "early-release", "a question that crosses a write-back frees its miss register"),
    in_l1(
        L1Fault::LeakedRegister,
        "leaked-register",
        "the miss register of a write-back that crossed a question is never freed",
    ),
    in_l1(
        L1Fault::SilentModification,
        "silent-modification",
        "an owner that has written its line says that it has not",
    ),
    in_l1(L1Fault::EarlyWrite, "early-write", "a store is performed on a shared copy"),
    in_l1(L1Fault::SharedAtomic, "shared-atomic", "an atomic is performed on a shared copy"),
    in_l1(L1Fault::UnfilledWrite, "unfilled-write", "a write miss is performed on what its place held before"),
    in_l1(L1Fault::PassingLoad, "passing-load", "a load reads a shared copy past the stores that wait to write it"),
    in_l1(L1Fault::LostUnblock, "lost-unblock", "a new owner does not report that its upgrade was granted"),
    in_l1(L1Fault::WrongWord, "wrong-word", "a store lands one word further"),
    in_l1(L1Fault::WholeLine, "whole-line", "a store replaces the whole line, not only its bytes"),
    in_l1(L1Fault::LostMerge, "lost-merge", "only the first of several merged loads is answered"),
    in_l1(
        L1Fault::Fence(FenceFault::Nothing),
        "empty-fence",
        "a fence does not wait for the stores that wait for permission",
    ),
    in_l1(L1Fault::Fence(FenceFault::NextAck), "hasty-fence", "a fence waits for one of those stores, not for all"),
    in_l1(
        L1Fault::Fence(FenceFault::AnyWavefront),
        "common-fence",
        "the end of any wavefront's last store passes the fences of all wavefronts of the core",
    ),
];

/// The descriptions of all seeded faults, as the protocol declares them.
pub static FAULTS: [FaultSpec; SEEDS.len()] = specs(&SEEDS);
