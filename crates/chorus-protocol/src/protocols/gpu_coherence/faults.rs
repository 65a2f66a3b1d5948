//! The seeded faults of the GPU coherence cache.

use crate::seed::Seed;
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

/// Each with its name and what it breaks.
pub const L1_FAULTS: [Seed<L1Fault>; 11] = [
    Seed::new(L1Fault::KeptCopies, "gpu-kept-copies", "an acquire invalidates nothing"),
    Seed::new(L1Fault::KeptRead, "gpu-kept-read", "a read that crosses an acquire leaves its words valid"),
    Seed::new(L1Fault::LateJoin, "gpu-late-join", "a load after an acquire is served by a read from before it"),
    Seed::new(L1Fault::EarlyAcquire, "gpu-early-acquire", "a fence invalidates before it waits for its writes"),
    Seed::new(L1Fault::WholeLine, "gpu-whole-line", "a store makes the whole line valid, not only its words"),
    Seed::new(L1Fault::StaleAtomic, "gpu-stale-atomic", "an atomic leaves the words that it concerns valid"),
    Seed::new(
        L1Fault::OvertakenWrite,
        "gpu-overtaken-write",
        "a write does not wait for the one before it to the same word",
    ),
    Seed::new(L1Fault::OldRefill, "gpu-old-refill", "a refill brings words older than the writes outstanding"),
    Seed::new(L1Fault::LostLoad, "gpu-lost-load", "only the first of the loads that wait for a line is answered"),
    Seed::new(
        L1Fault::Fence(FenceFault::Nothing),
        "gpu-empty-fence",
        "a fence does not wait for the wavefront's writes",
    ),
    Seed::new(
        L1Fault::Fence(FenceFault::NextAck),
        "gpu-hasty-fence",
        "a fence waits for one of the wavefront's writes, not for all",
    ),
];
