//! The seeded faults of MESI behind a translation unit.

use crate::protocols::mesi::faults::L1Fault;
use crate::registry::FaultSpec;

/// A mistake to build into the translation unit of a MESI cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TuFault {
    /// When some words of a line are asked back, the others are dropped with them.
    StrandedWords,
    /// A line of which words were asked back while it was on its way stays in the cache.
    KeptLine,
    /// A request for data that is still on its way is answered with what has come of it.
    EarlyAnswer,
    /// The first part of an answer passes for the whole line.
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
    /// A reader gets the words that it asked for, and the LLC is not told.
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

const fn breaks(name: &'static str, breaks: &'static str) -> FaultSpec {
    FaultSpec { name, breaks }
}

/// What is wrong in the unit.
pub const SEEDS: [(TuFault, FaultSpec); 14] = [
    (
        TuFault::StrandedWords,
        breaks("stranded-words", "when words of a line are asked back, the others are not written back"),
    ),
    (TuFault::KeptLine, breaks("kept-line", "a line whose words were asked back on their way stays in the cache")),
    (
        TuFault::EarlyAnswer,
        breaks("early-answer", "a request for data still on its way is answered with what has come of it"),
    ),
    (TuFault::HastyFill, breaks("hasty-fill", "the first part of an answer passes for the whole line")),
    (TuFault::UnforwardedInv, breaks("unforwarded-inv", "an invalidation is acknowledged and not passed on")),
    (TuFault::LostAck, breaks("lost-ack", "an invalidation is passed on and not acknowledged")),
    (TuFault::OwnedAsShared, breaks("owned-as-shared", "ownership that answers a read passes for a shared copy")),
    (
        TuFault::UnfinishedWriteBack,
        breaks("unfinished-write-back", "a request that takes words out of a write-back leaves it waiting for them"),
    ),
    (
        TuFault::EarlyRelease,
        breaks("early-release", "a write-back ends with the first answer, whatever words it is for"),
    ),
    (TuFault::OneSidedShare, breaks("one-sided-share", "an owner's words go to a reader, and the LLC is not told")),
    (
        TuFault::StaleUpgrade,
        breaks("stale-upgrade", "an upgrade is granted without data though the copy was invalidated meanwhile"),
    ),
    (TuFault::WidenedAnswer, breaks("widened-answer", "an answer names all words of the line, whatever was asked for")),
    (TuFault::ForgottenRequest, breaks("forgotten-request", "a request that waited for a write-back is never sent")),
    (
        TuFault::LateJoin,
        breaks("late-join", "a line whose words were asked back on their way serves accesses that come later"),
    ),
];

/// What is wrong in the cache, where it has a unit.
pub const L1_SEEDS: [(L1Fault, FaultSpec); 2] = [
    (L1Fault::CleanGrant, breaks("clean-grant", "ownership that answers a load counts as clean")),
    (L1Fault::PeekedAway, breaks("peeked-away", "a request that leaves an owner its line takes the ownership away")),
];
