//! The seeded faults of the translation unit of a GPU coherence cache.

use crate::seed::Seed;

/// A mistake that can be built into the translation unit of a GPU coherence cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TuFault {
    /// The first part of a read's answer is taken for the whole line.
    HastyFill,
    /// An owner's answer to a write is not counted.
    UncountedOwner,
    /// A Nack is dropped.
    LostNack,
    /// A Nacked word is taken for data.
    NackAsData,
    /// A Nacked read requests the whole line again, although the rest is on its way.
    WholeRetry,
}

/// Each with its name and what it breaks.
pub const TU_FAULTS: [Seed<TuFault>; 5] = [
    Seed::new(TuFault::HastyFill, "gpu-tu-hasty-fill", "the first part of a read's answer passes for the whole line"),
    Seed::new(TuFault::UncountedOwner, "gpu-tu-uncounted-owner", "an owner's answer to a write is not counted"),
    Seed::new(TuFault::LostNack, "gpu-tu-lost-nack", "a Nack is dropped"),
    Seed::new(TuFault::NackAsData, "gpu-tu-nack-as-data", "a Nacked word passes for data"),
    Seed::new(TuFault::WholeRetry, "gpu-tu-whole-retry", "a Nacked read asks for the whole line again"),
];
