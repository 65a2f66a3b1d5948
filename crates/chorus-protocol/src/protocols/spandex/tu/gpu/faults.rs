//! The seeded faults of the translation unit of a GPU coherence cache.

use crate::registry::FaultSpec;

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

/// The seeded faults, each with its name and description.
pub const TU_FAULTS: [(FaultSpec, TuFault); 5] = [
    (
        FaultSpec::new("gpu-tu-hasty-fill", "the first part of a read's answer passes for the whole line"),
        TuFault::HastyFill,
    ),
    (FaultSpec::new("gpu-tu-uncounted-owner", "an owner's answer to a write is not counted"), TuFault::UncountedOwner),
    (FaultSpec::new("gpu-tu-lost-nack", "a Nack is dropped"), TuFault::LostNack),
    (FaultSpec::new("gpu-tu-nack-as-data", "a Nacked word passes for data"), TuFault::NackAsData),
    (FaultSpec::new("gpu-tu-whole-retry", "a Nacked read asks for the whole line again"), TuFault::WholeRetry),
];
