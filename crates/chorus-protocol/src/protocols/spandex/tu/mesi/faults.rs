//! The seeded faults of MESI behind a translation unit.

use crate::protocols::mesi::faults::L1Fault;
use crate::registry::FaultSpec;

/// A mistake that can be built into the translation unit of a MESI cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TuFault {
    /// When some words of a line are asked back, the other words are lost with them.
    StrandedWords,
    /// A line of which words were asked back while it was on its way stays in the cache.
    KeptLine,
    /// A request for data that is still on its way is answered with the part that has come.
    EarlyAnswer,
    /// The first part of an answer is taken for the whole line.
    HastyFill,
    /// An invalidation is acknowledged and not passed on.
    UnforwardedInv,
    /// An invalidation is passed on and not acknowledged.
    LostAck,
    /// Ownership that answers a read is passed on as a shared copy.
    OwnedAsShared,
    /// A request that takes words out of a write-back leaves the write-back waiting for them.
    UnfinishedWriteBack,
    /// A write-back ends with the first answer, whatever words it is for.
    EarlyRelease,
    /// A reader gets the words that it asked for, but the LLC is not told.
    OneSidedShare,
    /// An upgrade is granted without data although the copy was invalidated meanwhile.
    StaleUpgrade,
    /// An answer names all words of the line, whatever was asked for.
    WidenedAnswer,
    /// A request that waited for a write-back is never sent.
    ForgottenRequest,
    /// A line of which words were asked back while it was on its way serves accesses that come later.
    LateJoin,
}

/// The seeded faults of the unit, each with its name and description.
pub const SEEDS: [(TuFault, FaultSpec); 14] = [
    (
        TuFault::StrandedWords,
        FaultSpec::new("stranded-words", "when words of a line are asked back, the others are not written back"),
    ),
    (
        TuFault::KeptLine,
        FaultSpec::new("kept-line", "a line whose words were asked back on their way stays in the cache"),
    ),
    (
        TuFault::EarlyAnswer,
        FaultSpec::new("early-answer", "a request for data still on its way is answered with what has come of it"),
    ),
    (TuFault::HastyFill, FaultSpec::new("hasty-fill", "the first part of an answer passes for the whole line")),
    (TuFault::UnforwardedInv, FaultSpec::new("unforwarded-inv", "an invalidation is acknowledged and not passed on")),
    (TuFault::LostAck, FaultSpec::new("lost-ack", "an invalidation is passed on and not acknowledged")),
    (
        TuFault::OwnedAsShared,
        FaultSpec::new("owned-as-shared", "ownership that answers a read passes for a shared copy"),
    ),
    (
        TuFault::UnfinishedWriteBack,
        FaultSpec::new(
            "unfinished-write-back",
            "a request that takes words out of a write-back leaves it waiting for them",
        ),
    ),
    (
        TuFault::EarlyRelease,
        FaultSpec::new("early-release", "a write-back ends with the first answer, whatever words it is for"),
    ),
    (
        TuFault::OneSidedShare,
        FaultSpec::new("one-sided-share", "an owner's words go to a reader, and the LLC is not told"),
    ),
    (
        TuFault::StaleUpgrade,
        FaultSpec::new("stale-upgrade", "an upgrade is granted without data though the copy was invalidated meanwhile"),
    ),
    (
        TuFault::WidenedAnswer,
        FaultSpec::new("widened-answer", "an answer names all words of the line, whatever was asked for"),
    ),
    (
        TuFault::ForgottenRequest,
        FaultSpec::new("forgotten-request", "a request that waited for a write-back is never sent"),
    ),
    (
        TuFault::LateJoin,
        FaultSpec::new("late-join", "a line whose words were asked back on their way serves accesses that come later"),
    ),
];

/// The seeded faults that are in the cache and matter only behind a unit.
pub const L1_SEEDS: [(L1Fault, FaultSpec); 2] = [
    (L1Fault::CleanGrant, FaultSpec::new("clean-grant", "ownership that answers a load counts as clean")),
    (
        L1Fault::PeekedAway,
        FaultSpec::new("peeked-away", "a request that leaves an owner its line takes the ownership away"),
    ),
];
