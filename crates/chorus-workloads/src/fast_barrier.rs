//! A barrier across the work-groups of one kernel.
//!
//! Source: the lock-free barrier of Xiao and Feng, Inter-Block GPU Communication via Fast Barrier Synchronization,
//! IPDPS 2010. Every work-group sets an arrival flag of its own; the work-items of a master work-group watch one flag
//! each; when all are set they set one release flag each, which the other work-groups poll. No atomics: flags are plain
//! words, so waiting work-groups spin in their private caches until the write of a flag takes their copy away. As in
//! the original, the flags of all work-groups lie next to each other, 32 to a line.
//!
//! Flags hold the number of the barrier (the original's goal value) and only grow, so nothing has to be reset.
//!
//! Order: every wavefront fences before it meets the others of its work-group, so an arrival flag stands for everything
//! that its work-group has written. The release flags are behind a fence as well, and a fence follows them because they
//! are plain stores: no later store of the master may be what pushes them out.
//!
//! All work-groups of the kernel must be resident at once: one that waits never makes room for one that has not
//! started.
//!
//! Arithmetic: 2 instructions per poll, a comparison and a branch.

use chorus_kernel::{Buf, HostMemory, LANES, Lanes, Mask, Wave};
use chorus_protocol::access::Scope;

/// The flags of one barrier.
#[derive(Clone, Copy)]
pub(crate) struct FastBarrier {
    arrivals: Buf<u32>,
    releases: Buf<u32>,
}

impl FastBarrier {
    /// A barrier of so many work-groups, at which nobody has arrived.
    pub(crate) fn new(work_groups: u32, memory: &mut HostMemory) -> FastBarrier {
        FastBarrier { arrivals: memory.alloc(work_groups as usize), releases: memory.alloc(work_groups as usize) }
    }

    /// Waits until all work-groups have come here. `goal` is 1 at a wavefront's first barrier and grows by 1 with each.
    pub(crate) async fn wait(&self, w: &Wave, goal: u32) {
        w.fence(Scope::Gpu).await;
        w.barrier().await;
        let leads = w.id().wave == 0;
        if leads {
            w.store_release(self.arrivals, w.work_group(), goal, Scope::Gpu).await;
        }
        if w.work_group() == 0 {
            self.gather(w, goal).await;
            w.barrier().await;
            self.release(w, goal).await;
        }
        if leads {
            while w.load_acquire(self.releases, w.work_group(), Scope::Gpu).await < goal {
                w.alu(2).await;
            }
        }
        w.barrier().await;
    }

    /// Watches the arrival flags, one per lane.
    async fn gather(&self, w: &Wave, goal: u32) {
        for (flags, inside) in self.share(w) {
            loop {
                let arrived = w.load_where(inside, self.arrivals, flags).await;
                w.fence(Scope::Gpu).await;
                w.alu(2).await;
                if !(inside & arrived.below(goal)).any() {
                    break;
                }
            }
        }
    }

    /// Sets the release flags, one per lane.
    async fn release(&self, w: &Wave, goal: u32) {
        w.fence(Scope::Gpu).await;
        for (flags, inside) in self.share(w) {
            w.store_where(inside, self.releases, flags, goal.into());
        }
        w.fence(Scope::Gpu).await;
    }

    /// The flags of one master wavefront, 32 at a time.
    fn share(&self, w: &Wave) -> impl Iterator<Item = (Lanes<u32>, Mask)> {
        let work_groups = self.arrivals.len() as u32;
        let stride = w.id().waves_per_group as usize * LANES;
        let lanes = w.lane_ids();
        (w.id().wave * LANES as u32..work_groups).step_by(stride).map(move |first| {
            let flags = lanes + first;
            (flags, flags.below(work_groups))
        })
    }
}

#[cfg(test)]
mod tests {
    use chorus_kernel::{Kernel, flat};

    use super::*;

    /// Every work-group adds up what all of them wrote in the round before.
    fn check(work_groups: u32, waves_per_group: u32) {
        const ROUNDS: u32 = 4;
        let mut memory = HostMemory::default();
        let barrier = FastBarrier::new(work_groups, &mut memory);
        let values = [memory.alloc::<u32>(work_groups as usize), memory.alloc::<u32>(work_groups as usize)];
        let kernel = Kernel::new("rounds", work_groups, waves_per_group, move |w| async move {
            for round in 0..ROUNDS {
                if w.id().wave + 1 == waves_per_group {
                    let mut sum = 1;
                    for other in 0..work_groups {
                        sum += w.load_one(values[round as usize % 2], other).await;
                    }
                    w.store_one(values[(round as usize + 1) % 2], w.work_group(), sum);
                }
                barrier.wait(&w, round + 1).await;
            }
        });
        flat::run_kernel(&kernel, &memory).unwrap();
        let expected = (0..ROUNDS).fold(0, |value, _| 1 + work_groups * value);
        assert_eq!(memory.read(values[0]), vec![expected; work_groups as usize]);
    }

    #[test]
    fn nobody_passes_before_everybody_has_arrived() {
        check(5, 3);
    }

    #[test]
    fn more_work_groups_than_lanes_share_the_masters_wavefronts() {
        check(70, 2);
    }
}
