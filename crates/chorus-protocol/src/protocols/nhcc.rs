//! NHCC: non-hierarchical hardware coherence for modules and GPUs (HMG paper, section IV).
//!
//! Every line has one home, whose directory tracks all modules of all GPUs alike. Compared with GPU-VI there are no transient states and no acknowledgements of
//! invalidations: the memory model does not ask for writes that everybody sees at once, and releases wait for what they have to.

use crate::address::Role;
use crate::controller::Controller;
use crate::protocols::scoped::l1::{Acquire, L1Fault};
use crate::protocols::scoped::policy::{DIRECTORY_PARAMETERS, L2Fault, PLAIN, Policy, SCOPED, ScopedSeed, build};
use crate::registry::{Build, BuildConfig, Declaration, FaultSpec, Promise, Protocol};
use crate::seed::{in_l1, in_l2, specs};

const POLICY: Policy = Policy { acquire: Acquire::DropsPrivate, l2: PLAIN };

/// How many mistakes fit every protocol with directories.
pub(super) const NHCC_SEEDS: usize = 24;

/// Mistakes that fit every protocol with directories. That loads of wide scope hit on their way is none of them: what they hit is taken back before any release
/// that they could know of has ended, and soon enough for who waits.
pub(super) const DIRECTORY_SEEDS: [ScopedSeed; NHCC_SEEDS] = [
    in_l1(L1Fault::KeptCopies, "kept-copies", "an acquire keeps the private copies"),
    in_l1(L1Fault::KeptMisses, "kept-misses", "an acquire leaves private refills on their way to be cached"),
    in_l1(L1Fault::WideHit, "wide-l1-hit", "loads of wide scope hit in the private cache"),
    in_l1(L1Fault::StaleStoreHit, "stale-l1-store-hit", "a store leaves the old private copy readable"),
    in_l1(
        L1Fault::PendingStore,
        "l1-pending-store",
        "a store to a line that is being fetched leaves the refill to be cached",
    ),
    in_l1(L1Fault::StaleAtomic, "stale-l1-atomic", "an atomic leaves the old private copy readable"),
    in_l1(L1Fault::NoRelease, "no-release", "a release waits for nothing"),
    in_l1(L1Fault::EarlyAcquire, "early-acquire", "a fence drops the private copies before it has released"),
    in_l1(L1Fault::LostMerge, "lost-merge", "only the first of several merged loads is answered"),
    in_l1(L1Fault::WholeCopy, "whole-copy", "a store replaces the whole private copy, not only its bytes"),
    in_l1(L1Fault::NoKernelEnd, "no-kernel-end", "the end of a kernel releases nothing"),
    in_l2(L2Fault::ForgottenReader, "forgotten-reader", "the directory does not record a reader"),
    in_l2(L2Fault::ForgottenWriter, "forgotten-writer", "the directory does not record a remote writer"),
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
    in_l2(
        L2Fault::SilentReplacement,
        "silent-replacement",
        "a directory entry is replaced without a word to its sharers",
    ),
    in_l2(L2Fault::ReleaseWithoutMarks, "release-without-marks", "a release does not wait for invalidations to arrive"),
    in_l2(L2Fault::ReleaseStaysHere, "release-stays-here", "a release does not reach other modules"),
    in_l2(L2Fault::PendingStore, "pending-store", "a store to a line on its way to an L2 leaves it to be kept"),
    in_l2(L2Fault::StaleStoreHit, "stale-store-hit", "a store leaves the old copy of its L2 readable"),
    in_l2(L2Fault::LostStore, "lost-store", "a store that finds a copy in an L2 goes no further"),
    in_l2(L2Fault::StaleAtomic, "stale-atomic", "an atomic leaves the old copy of its L2 readable"),
    in_l2(L2Fault::NeighboursKept, "neighbours-kept", "an invalidation drops one line of its entry only"),
];

static FAULTS: [FaultSpec; NHCC_SEEDS] = specs(&DIRECTORY_SEEDS);

static DECLARATION: Declaration = Declaration {
    name: "nhcc",
    title: "NHCC",
    summary: "One directory per line for all modules of all GPUs, without transient states or invalidation acknowledgements.",
    citation: "Ren et al., HMG: Extending Cache Coherence Protocols Across Modern Hierarchical Multi-GPU Systems, HPCA 2020, section IV",
    promises: &[Promise::Tracking, Promise::Communication],
    parameters: &DIRECTORY_PARAMETERS,
    faults: &FAULTS,
    ..SCOPED
};

/// The protocol.
pub struct Nhcc;

impl<const W: usize> Build<W> for Nhcc {
    fn build(&self, role: Role, index: u16, config: &BuildConfig) -> Option<Box<dyn Controller<W>>> {
        build(role, index, config, &POLICY, &DIRECTORY_SEEDS)
    }
}

impl Protocol for Nhcc {
    fn declaration(&self) -> &'static Declaration {
        &DECLARATION
    }
}
