//! The seeded faults of the translation unit of a DeNovo cache.

use crate::registry::FaultSpec;

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

/// The seeded faults, each with its name and description.
pub const TU_FAULTS: [(FaultSpec, TuFault); 7] = [
    (FaultSpec::new("denovo-tu-lost-nack", "a Nack is dropped"), TuFault::LostNack),
    (FaultSpec::new("denovo-tu-nack-as-data", "a Nack passes for data"), TuFault::NackAsData),
    (
        FaultSpec::new("denovo-tu-early-answer", "a request for data that is still on its way is answered at once"),
        TuFault::EarlyAnswer,
    ),
    (FaultSpec::new("denovo-tu-kept-lost", "a word given away before its data came stays owned"), TuFault::KeptLost),
    (FaultSpec::new("denovo-tu-lost-forward", "a ReqO for words still on their way is dropped"), TuFault::LostForward),
    (
        FaultSpec::new("denovo-tu-unnoted-conversion", "requests do not wait for words that a Nacked read asks to own"),
        TuFault::UnnotedConversion,
    ),
    (
        FaultSpec::new("denovo-tu-late-join", "a word given away before its data came serves accesses that come later"),
        TuFault::LateJoin,
    ),
];
