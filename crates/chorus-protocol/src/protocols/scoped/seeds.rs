//! The mistakes that can be built into scoped protocols, grouped by the feature that a protocol must have for them to
//! be mistakes.

use crate::protocols::scoped::faults::{L1Fault, L2Fault};
use crate::rows::appended;
use crate::seed::{LevelSeed, in_l1, in_l2};

/// The scoped protocols' kind of fault.
pub type ScopedSeed = LevelSeed<L1Fault, L2Fault>;

/// Mistakes that fit every protocol that caches.
pub const CACHING: [ScopedSeed; 9] = [
    in_l1(L1Fault::StaleStoreHit, "stale-l1-store-hit", "a store leaves the old private copy readable"),
    in_l1(
        L1Fault::PendingStore,
        "l1-pending-store",
        "a store to a line that is being fetched leaves the refill to be cached",
    ),
    in_l1(L1Fault::StaleAtomic, "stale-l1-atomic", "an atomic leaves the old private copy readable"),
    in_l1(L1Fault::LostMerge, "lost-merge", "only the first of several merged loads is answered"),
    in_l1(L1Fault::WholeCopy, "whole-copy", "a store replaces the whole private copy, not only its bytes"),
    in_l2(L2Fault::PendingStore, "pending-store", "a store to a line on its way to an L2 leaves it to be kept"),
    in_l2(L2Fault::StaleStoreHit, "stale-store-hit", "a store leaves the old copy of its L2 readable"),
    in_l2(L2Fault::LostStore, "lost-store", "a store that finds a copy in an L2 goes no further"),
    in_l2(L2Fault::StaleAtomic, "stale-atomic", "an atomic leaves the old copy of its L2 readable"),
];

/// Mistakes of acquires and releases.
const SYNCHRONISING: [ScopedSeed; 6] = [
    in_l1(L1Fault::KeptCopies, "kept-copies", "an acquire keeps the private copies"),
    in_l1(L1Fault::KeptMisses, "kept-misses", "an acquire leaves private refills on their way to be cached"),
    in_l1(L1Fault::WideHit, "wide-l1-hit", "loads of wide scope hit in the private cache"),
    in_l1(L1Fault::NoRelease, "no-release", "a release waits for nothing"),
    in_l1(L1Fault::NoKernelEnd, "no-kernel-end", "the end of a kernel releases nothing"),
    in_l2(L2Fault::ReleaseStaysHere, "release-stays-here", "a release does not reach other modules"),
];

/// The number of mistakes that fit every protocol that synchronises.
const COHERENT: usize = CACHING.len() + SYNCHRONISING.len();
const EVERY: [ScopedSeed; COHERENT] = appended(&CACHING, &SYNCHRONISING);

const OF_READERS: [ScopedSeed; 2] = [
    in_l1(L1Fault::EarlyAcquire, "early-acquire", "a fence drops the private copies before it has released"),
    in_l2(L2Fault::ForgottenReader, "forgotten-reader", "the directory does not record a reader"),
];

const OF_WRITERS: [ScopedSeed; 1] =
    [in_l2(L2Fault::ForgottenWriter, "forgotten-writer", "the directory does not record a remote writer")];

const OF_INVALIDATIONS: [ScopedSeed; 4] = [
    in_l2(L2Fault::SparedSharer, "spared-sharer", "the first of the sharers is not told to drop its copy"),
    in_l2(
        L2Fault::InvalidationsOvertake,
        "invalidations-overtake",
        "an invalidation can overtake the copy that it takes back",
    ),
    in_l2(
        L2Fault::InstalledAfterInvalidation,
        "installed-after-invalidation",
        "a copy that arrives behind its invalidation is kept",
    ),
    in_l2(L2Fault::ReleaseWithoutMarks, "release-without-marks", "a release does not wait for invalidations to arrive"),
];

const WITH_READERS: [ScopedSeed; COHERENT + OF_READERS.len()] = appended(&EVERY, &OF_READERS);
const WITH_WRITERS: [ScopedSeed; WITH_READERS.len() + OF_WRITERS.len()] = appended(&WITH_READERS, &OF_WRITERS);

/// Mistakes that fit directories whose sharers are readers alone. That loads of wide scope hit on their way is none of
/// them: what they hit is taken back before any release that they could know of has ended, and soon enough for who
/// waits.
pub const OF_READERS_ALONE: [ScopedSeed; WITH_READERS.len() + OF_INVALIDATIONS.len()] =
    appended(&WITH_READERS, &OF_INVALIDATIONS);

/// Mistakes that fit every directory whose sharers are readers and writers.
pub const UNBOUNDED: [ScopedSeed; WITH_WRITERS.len() + OF_INVALIDATIONS.len()] =
    appended(&WITH_WRITERS, &OF_INVALIDATIONS);

const OF_BOUNDS: [ScopedSeed; 1] = [in_l2(
    L2Fault::SilentReplacement,
    "silent-replacement",
    "a directory entry is replaced without a word to its sharers",
)];

/// Mistakes that fit every directory that replaces entries.
pub const BOUNDED: [ScopedSeed; UNBOUNDED.len() + 1] = appended(&UNBOUNDED, &OF_BOUNDS);

const OF_GROUPS: [ScopedSeed; 1] =
    [in_l2(L2Fault::NeighboursKept, "neighbours-kept", "an invalidation drops one line of its entry only")];

/// Mistakes that fit directories whose entries cover several lines with one set of sharers.
pub const GROUPED: [ScopedSeed; BOUNDED.len() + 1] = appended(&BOUNDED, &OF_GROUPS);

const OF_RANGES: [ScopedSeed; 2] = [
    in_l2(L2Fault::ForgottenRange, "forgotten-range", "a write forgets the sharers of all lines of its entry"),
    in_l2(L2Fault::FirstOfRange, "first-of-range", "a replaced entry takes back the first of its lines only"),
];

/// Mistakes that fit directories whose entries tell their lines apart.
pub const RANGES: [ScopedSeed; BOUNDED.len() + OF_RANGES.len()] = appended(&BOUNDED, &OF_RANGES);

const OF_ACQUIRES: [ScopedSeed; 3] = [
    in_l2(L2Fault::AcquireKeepsCopies, "acquire-keeps-copies", "an acquire keeps the copies of shared banks"),
    in_l2(
        L2Fault::AcquireKeepsMisses,
        "acquire-keeps-misses",
        "an acquire leaves copies on their way to a shared bank to be kept",
    ),
    in_l2(L2Fault::WideHit, "wide-hit", "loads of wide scope hit in the L2 of their module"),
];

/// Mistakes that fit both software protocols.
pub const SOFTWARE: [ScopedSeed; COHERENT + OF_ACQUIRES.len()] = appended(&EVERY, &OF_ACQUIRES);

/// Mistakes that need GPU homes.
pub const GPU_HOMES: [ScopedSeed; 3] = [
    in_l2(
        L2Fault::ReleaseStopsAtGpuHome,
        "release-stops-at-gpu-home",
        "a system-wide release does not reach the system homes",
    ),
    in_l2(L2Fault::AtomicsAtGpuHome, "atomics-at-gpu-home", "system-wide atomics are performed at the GPU home"),
    in_l2(
        L2Fault::JoinsClosedMiss,
        "joins-closed-miss",
        "a load shares the line that an atomic has fetched, though it was dropped on its way",
    ),
];

/// Mistakes of commands that lose dirty lines.
const OF_WRITE_BACK: [ScopedSeed; 2] = [
    in_l2(
        L2Fault::CommandForgetsDirty,
        "command-forgets-dirty",
        "a command to write back takes dirty lines for clean without handing them on",
    ),
    in_l2(
        L2Fault::CommandLosesDirty,
        "command-loses-dirty",
        "a command to empty an L2 drops dirty lines without handing them on",
    ),
];

/// Mistakes that fit L2s that are kept coherent by acquires and commands only. A command after which copies on their
/// way are kept is not among them, since there are no such copies between kernels.
const OF_COMMANDS: [ScopedSeed; 2] = [
    in_l2(L2Fault::CommandKeepsCopies, "command-keeps-copies", "a command to empty an L2 keeps the copies"),
    in_l2(
        L2Fault::RemoteStoresStay,
        "remote-stores-stay",
        "stores to another module's memory stay in the L2 of their own",
    ),
];

const COMMANDED_ALONE: [ScopedSeed; OF_WRITE_BACK.len() + OF_COMMANDS.len()] = appended(&OF_WRITE_BACK, &OF_COMMANDS);

/// Mistakes that fit the CPElide paper's own protocols.
pub const COMMANDED: [ScopedSeed; SOFTWARE.len() + COMMANDED_ALONE.len()] = appended(&SOFTWARE, &COMMANDED_ALONE);

const OF_PAGES: [ScopedSeed; 1] =
    [in_l2(L2Fault::CommandFirstOfPage, "command-first-of-page", "a command for a page concerns its first line only")];

/// Mistakes that fit commands for pages.
pub const COMMANDED_BY_PAGE: [ScopedSeed; COMMANDED.len() + OF_PAGES.len()] = appended(&COMMANDED, &OF_PAGES);

/// Mistakes of commands to write back to other homes.
const OF_REMOTE_WRITE_BACK: [ScopedSeed; 2] = [
    in_l2(
        L2Fault::CommandWritesNothing,
        "command-writes-nothing",
        "a command to write back leaves dirty lines where they are",
    ),
    in_l2(
        L2Fault::CommandDoesNotWait,
        "command-does-not-wait",
        "a command to write back is answered before the homes have what it handed on",
    ),
];

const REMOTE_WRITE_BACK: [ScopedSeed; OF_WRITE_BACK.len() + OF_REMOTE_WRITE_BACK.len()] =
    appended(&OF_WRITE_BACK, &OF_REMOTE_WRITE_BACK);

/// Mistakes that fit directories under L2s that are written back by commands.
pub const GROUPED_AND_COMMANDED: [ScopedSeed; GROUPED.len() + REMOTE_WRITE_BACK.len()] =
    appended(&GROUPED, &REMOTE_WRITE_BACK);
