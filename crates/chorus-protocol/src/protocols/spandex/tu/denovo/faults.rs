//! The seeded faults of the translation unit of a DeNovo cache.

use crate::seed::Seed;

/// A mistake that can be built into the translation unit of a DeNovo cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TuFault {
    /// A Nack is dropped.
    LostNack,
    /// A Nack is taken for data.
    NackAsData,
    /// A forwarded request for words whose ownership is still on its way is answered at once.
    EarlyAnswer,
    /// The unit forgets that words of a Nacked read have been requested with ownership.
    UnnotedConversion,
}

/// Each with its name and what it breaks.
pub const TU_FAULTS: [Seed<TuFault>; 4] = [
    Seed::new(TuFault::LostNack, "denovo-tu-lost-nack", "a Nack is dropped"),
    Seed::new(TuFault::NackAsData, "denovo-tu-nack-as-data", "a Nack passes for data"),
    Seed::new(
        TuFault::EarlyAnswer,
        "denovo-tu-early-answer",
        "a request for words whose ownership is still on its way is answered at once",
    ),
    Seed::new(
        TuFault::UnnotedConversion,
        "denovo-tu-unnoted-conversion",
        "requests do not wait for words that a Nacked read asks to own",
    ),
];
