//! The seeded faults of MESI behind a translation unit.

use crate::protocols::mesi::faults::L1Fault;
use crate::seed::Seed;

/// A mistake that can be built into the translation unit of a MESI cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TuFault {
    /// When some words of a line are asked back, the other words are lost with them.
    StrandedWords,
    /// A request for ownership of words that are still on their way is answered with the part that has come.
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
}

/// The mistake of the unit.
pub const SEEDS: [Seed<TuFault>; 12] = [
    Seed::new(
        TuFault::StrandedWords,
        "stranded-words",
        "when words of a line are asked back, the others are not written back",
    ),
    Seed::new(
        TuFault::EarlyAnswer,
        "early-answer",
        "a request for words still on their way is answered with what has come of them",
    ),
    Seed::new(TuFault::HastyFill, "hasty-fill", "the first part of an answer passes for the whole line"),
    Seed::new(TuFault::UnforwardedInv, "unforwarded-inv", "an invalidation is acknowledged and not passed on"),
    Seed::new(TuFault::LostAck, "lost-ack", "an invalidation is passed on and not acknowledged"),
    Seed::new(TuFault::OwnedAsShared, "owned-as-shared", "ownership that answers a read passes for a shared copy"),
    Seed::new(
        TuFault::UnfinishedWriteBack,
        "unfinished-write-back",
        "a request that takes words out of a write-back leaves it waiting for them",
    ),
    Seed::new(
        TuFault::EarlyRelease,
        "early-release",
        "a write-back ends with the first answer, whatever words it is for",
    ),
    Seed::new(TuFault::OneSidedShare, "one-sided-share", "an owner's words go to a reader, and the LLC is not told"),
    Seed::new(
        TuFault::StaleUpgrade,
        "stale-upgrade",
        "an upgrade is granted without data though the copy was invalidated meanwhile",
    ),
    Seed::new(
        TuFault::WidenedAnswer,
        "widened-answer",
        "an answer names all words of the line, whatever was asked for",
    ),
    Seed::new(TuFault::ForgottenRequest, "forgotten-request", "a request that waited for a write-back is never sent"),
];

/// The mistake of the cache, where it has a unit.
pub const L1_SEEDS: [Seed<L1Fault>; 2] = [
    Seed::new(L1Fault::CleanGrant, "clean-grant", "ownership that answers a load counts as clean"),
    Seed::new(L1Fault::PeekedAway, "peeked-away", "a request that leaves an owner its line takes the ownership away"),
];
