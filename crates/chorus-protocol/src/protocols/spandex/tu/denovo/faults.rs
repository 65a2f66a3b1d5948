//! The seeded faults of the translation unit of a DeNovo cache.

use crate::seed::Seed;

/// A mistake that can be built into the translation unit of a DeNovo cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TuFault {
    /// A Nack is dropped.
    LostNack,
    /// A Nack is taken for data.
    NackAsData,
    /// A forwarded request for data that is still on its way is answered at once.
    EarlyAnswer,
    /// A word that was given away before its data came stays owned.
    KeptLost,
    /// A forwarded ReqO for words that are still on their way is dropped.
    LostForward,
    /// The unit forgets that words of a Nacked read have been requested with ownership.
    UnnotedConversion,
    /// A word that was given away before its data came serves accesses that come later.
    LateJoin,
}

/// Each with its name and what it breaks.
pub const TU_FAULTS: [Seed<TuFault>; 7] = [
    Seed::new(TuFault::LostNack, "denovo-tu-lost-nack", "a Nack is dropped"),
    Seed::new(TuFault::NackAsData, "denovo-tu-nack-as-data", "a Nack passes for data"),
    Seed::new(
        TuFault::EarlyAnswer,
        "denovo-tu-early-answer",
        "a request for data that is still on its way is answered at once",
    ),
    Seed::new(TuFault::KeptLost, "denovo-tu-kept-lost", "a word given away before its data came stays owned"),
    Seed::new(TuFault::LostForward, "denovo-tu-lost-forward", "a ReqO for words still on their way is dropped"),
    Seed::new(
        TuFault::UnnotedConversion,
        "denovo-tu-unnoted-conversion",
        "requests do not wait for words that a Nacked read asks to own",
    ),
    Seed::new(
        TuFault::LateJoin,
        "denovo-tu-late-join",
        "a word given away before its data came serves accesses that come later",
    ),
];
