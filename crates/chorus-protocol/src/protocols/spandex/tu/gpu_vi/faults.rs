//! The seeded faults of the translation unit of a GPU-VI cache.

use crate::seed::Seed;

/// A mistake that can be built into the unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TuFault {
    /// The first part of an answer is taken for the whole line.
    HastyFill,
    /// An owner's answer to a store is not counted.
    LostRspO,
    /// An invalidation is acknowledged and not passed on.
    UnforwardedInv,
    /// An invalidation is passed on and not acknowledged.
    LostAck,
    /// A request does not wait for earlier requests of its wavefront.
    Overtaking,
    /// A request that has waited for others is never sent.
    ForgottenRequest,
    /// A store whose order matters is sent without its operation.
    LostStore,
    /// An atomic is sent without its operation.
    LostOperation,
}

/// The mistake of the unit.
pub const SEEDS: [Seed<TuFault>; 8] = [
    Seed::new(TuFault::HastyFill, "vi-hasty-fill", "the first part of an answer passes for the whole line"),
    Seed::new(TuFault::LostRspO, "vi-lost-rspo", "what an owner answers to a store is not counted"),
    Seed::new(TuFault::UnforwardedInv, "vi-unforwarded-inv", "an invalidation is acknowledged and not passed on"),
    Seed::new(TuFault::LostAck, "vi-lost-ack", "an invalidation is passed on and not acknowledged"),
    Seed::new(TuFault::Overtaking, "vi-overtaking", "a request does not wait for those of its wavefront before it"),
    Seed::new(TuFault::ForgottenRequest, "vi-forgotten-request", "a request that has waited for others is never sent"),
    Seed::new(TuFault::LostStore, "vi-lost-store", "a store whose order matters is sent as a read"),
    Seed::new(TuFault::LostOperation, "vi-lost-operation", "an atomic is sent without its operation and only reads"),
];
