//! Everything that a run shows while it goes on, and that it notes beside its counters. No result depends on it. The
//! run can also be stopped.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::distribution::Distributions;
use crate::observe::SharedObserver;
use crate::series::Series;
use crate::sharing_profile::SharingReport;

/// The choice of what is shown and noted of a run. By default nothing is, and it costs nothing.
#[derive(Clone, Copy, Default)]
pub struct Watch<'w> {
    /// The place at which the run says how far it has come.
    pub progress: Option<&'w Progress>,
    /// The length of the intervals of a time series, in core cycles. There is no time series without it.
    pub every: Option<u64>,
    /// Whether the latencies of all accesses are noted.
    pub distributions: bool,
    /// Whether it is noted who accesses which lines.
    pub sharing: bool,
    /// Somebody who is told what happens, with whom the run has one thread.
    pub observer: Option<&'w SharedObserver>,
    /// A flag that somebody sets to end the run early, with [`SimError::Stopped`](crate::SimError::Stopped).
    pub stop: Option<&'w AtomicBool>,
    /// Somebody who keeps checkpoints of the run.
    pub checkpoints: Option<&'w dyn Checkpoints>,
    /// The checkpoint that the run goes on from. It was kept by the same build of this program, of the same programs on
    /// the same machine with the same settings.
    pub resume: Option<&'w [u8]>,
}

/// Somebody who keeps checkpoints of a run.
pub trait Checkpoints {
    /// Whether a checkpoint is due. This is asked at the end of every turn, so it must take no time. One that is due is
    /// kept as soon as every wavefront that runs can be written down. Those of PTX programs and traces can be at any
    /// time, and those of async kernels only before they begin and after they have ended.
    fn are_due(&self) -> bool;

    /// Keeps a checkpoint, behind which the run goes on.
    fn keep(&self, state: &[u8]);
}

/// Everything that was noted of a run beside its counters.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Noted {
    /// The counters over time.
    pub series: Option<Series>,
    /// The latencies of accesses.
    pub distributions: Option<Distributions>,
    /// The sharing of lines.
    pub sharing: Option<SharingReport>,
}

/// The progress of a run. Its main thread writes this at the end of every turn, and any thread may read it.
#[derive(Debug, Default)]
pub struct Progress {
    cycles: AtomicU64,
    accesses: AtomicU64,
    kernels: AtomicU64,
    kernels_of: AtomicU64,
    groups: AtomicU64,
    groups_of: AtomicU64,
}

/// The progress of a run at one time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// Core cycles that have been simulated.
    pub cycles: u64,
    /// Coalesced line accesses accepted by private caches.
    pub accesses: u64,
    /// Kernels that have ended.
    pub kernels: u64,
    /// Kernels of the whole program, where that is known.
    pub kernels_of: Option<u64>,
    /// Work-groups and CPU threads of the running kernels that have ended.
    pub groups: u64,
    /// Work-groups and CPU threads of the running kernels.
    pub groups_of: u64,
}

impl Standing {
    /// The share of the kernels that is done, where their number is known. A kernel counts by its work-groups.
    pub fn share(&self) -> Option<f64> {
        let of_running = if self.groups_of > 0 { self.groups as f64 / self.groups_of as f64 } else { 0.0 };
        let of = self.kernels_of.filter(|&of| of > 0)?;
        Some(((self.kernels as f64 + of_running) / of as f64).min(1.0))
    }
}

impl Progress {
    /// The progress that was noted last.
    pub fn standing(&self) -> Standing {
        let get = |value: &AtomicU64| value.load(Ordering::Relaxed);
        Standing {
            cycles: get(&self.cycles),
            accesses: get(&self.accesses),
            kernels: get(&self.kernels),
            kernels_of: Some(get(&self.kernels_of)).filter(|&of| of > 0),
            groups: get(&self.groups),
            groups_of: get(&self.groups_of),
        }
    }

    /// Notes how many kernels the whole program has.
    pub(crate) fn expect_kernels(&self, kernels: u64) {
        self.kernels_of.store(kernels, Ordering::Relaxed);
    }

    /// Notes that a kernel has ended.
    pub(crate) fn end_kernel(&self) {
        self.kernels.fetch_add(1, Ordering::Relaxed);
    }

    /// Notes the time that the run has come to, its accesses, and the work-groups of the running kernels.
    pub(crate) fn come_to(&self, cycles: u64, accesses: u64, (groups, groups_of): (u64, u64)) {
        self.cycles.store(cycles, Ordering::Relaxed);
        self.accesses.store(accesses, Ordering::Relaxed);
        self.groups.store(groups, Ordering::Relaxed);
        self.groups_of.store(groups_of, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_of_two_kernels_is_three_quarters_done_half_through_the_second() {
        let standing = Standing { kernels: 1, kernels_of: Some(2), groups: 4, groups_of: 8, ..Standing::default() };
        assert_eq!(standing.share(), Some(0.75));
        assert_eq!(Standing { kernels_of: None, ..standing }.share(), None);
    }
}
