//! The seeded faults of the GPU coherence cache.

use crate::registry::FaultSpec;
use crate::write_tracker::FenceFault;

/// A mistake that can be built into a GPU coherence cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum L1Fault {
    /// An acquire invalidates nothing.
    KeptCopies,
    /// A read that crosses an acquire leaves its words valid.
    KeptRead,
    /// A load issued after an acquire is served by a read that was sent before it.
    LateJoin,
    /// An acquire that is also a release invalidates first and waits afterwards.
    EarlyAcquire,
    /// A store makes the whole line valid, not only its words.
    WholeLine,
    /// An atomic leaves the words that it concerns valid.
    StaleAtomic,
    /// A write does not wait for the write before it to the same word.
    OvertakenWrite,
    /// A refill brings words whose writes were outstanding when the refill was requested.
    OldRefill,
    /// Only the first of the loads that wait for a line is answered.
    LostLoad,
    /// Fences wait for the wrong condition.
    Fence(FenceFault),
}

/// The seeded faults, each with its name and description.
pub const L1_FAULTS: [(FaultSpec, L1Fault); 11] = [
    (FaultSpec::new("gpu-kept-copies", "an acquire invalidates nothing"), L1Fault::KeptCopies),
    (FaultSpec::new("gpu-kept-read", "a read that crosses an acquire leaves its words valid"), L1Fault::KeptRead),
    (FaultSpec::new("gpu-late-join", "a load after an acquire is served by a read from before it"), L1Fault::LateJoin),
    (FaultSpec::new("gpu-early-acquire", "a fence invalidates before it waits for its writes"), L1Fault::EarlyAcquire),
    (FaultSpec::new("gpu-whole-line", "a store makes the whole line valid, not only its words"), L1Fault::WholeLine),
    (FaultSpec::new("gpu-stale-atomic", "an atomic leaves the words that it concerns valid"), L1Fault::StaleAtomic),
    (
        FaultSpec::new("gpu-overtaken-write", "a write does not wait for the one before it to the same word"),
        L1Fault::OvertakenWrite,
    ),
    (FaultSpec::new("gpu-old-refill", "a refill brings words older than the writes outstanding"), L1Fault::OldRefill),
    (
        FaultSpec::new("gpu-lost-load", "only the first of the loads that wait for a line is answered"),
        L1Fault::LostLoad,
    ),
    (
        FaultSpec::new("gpu-empty-fence", "a fence does not wait for the wavefront's writes"),
        L1Fault::Fence(FenceFault::Nothing),
    ),
    (
        FaultSpec::new("gpu-hasty-fence", "a fence waits for one of the wavefront's writes, not for all"),
        L1Fault::Fence(FenceFault::NextAck),
    ),
];
