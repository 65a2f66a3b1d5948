//! A barrier across the CPU threads and the work-groups of one launch.
//!
//! Like the barrier of `fast_barrier.rs` it takes no atomics. Every participant, a CPU thread or a work-group, sets an
//! arrival flag. A master watches them all and then sets a release flag for each participant, which polls it. The
//! master is the first work-group, whose lanes watch one flag each, or the first CPU thread where there is no
//! work-group. Unlike those of `fast_barrier.rs`, flags have lines of their own, so that nobody polls a line that a
//! third participant writes: a cache that owns or shares a flag answers all polls but the last. Flags hold the number
//! of the barrier and only grow, so nothing has to be reset.
//!
//! Either number of participants may be zero: such a barrier holds the CPU threads or the work-groups among themselves.
//!
//! Order: everything here is for the whole system. Arriving is a release, which every wavefront of a work-group takes
//! part in before it meets the others; leaving is an acquire. Polls order nothing: an acquire with each of them would
//! empty the private cache under those who still work beside it. After the barrier plain
//! loads read everything that other participants wrote before it.
//!
//! All participants must be resident at once: one that waits never makes room for one that has not started.
//!
//! Arithmetic: between two polls a participant spends a sixteenth of the instructions that it has waited so far, within
//! limits, so that the network is left to those who work, and nobody sleeps much longer than it must.

use chorus_kernel::{Buf, Cpu, HostMemory, LANES, Lanes, Mask, Wave};
use chorus_protocol::access::Scope;

/// Words between two flags: a line of the longest usual 128 bytes.
const FLAG_WORDS: u32 = 32;

/// Instructions between two polls.
const PAUSE_MIN: u32 = 8;
const PAUSE_MAX: u32 = 512;

/// The flags of one barrier, CPU threads first.
#[derive(Clone, Copy)]
pub(crate) struct CollaborativeBarrier {
    arrivals: Buf<u32>,
    releases: Buf<u32>,
    cpu_threads: u32,
    participants: u32,
}

impl CollaborativeBarrier {
    /// A barrier of so many CPU threads and work-groups.
    pub(crate) fn new(cpu_threads: u32, work_groups: u32, memory: &mut HostMemory) -> CollaborativeBarrier {
        let participants = cpu_threads + work_groups;
        CollaborativeBarrier {
            arrivals: memory.alloc((participants * FLAG_WORDS) as usize),
            releases: memory.alloc((participants * FLAG_WORDS) as usize),
            cpu_threads,
            participants,
        }
    }

    /// A wavefront waits until all participants have come here. `goal` is 1 at the first barrier, 2 at the second, and
    /// so on.
    pub(crate) async fn wait(&self, w: &Wave, goal: u32) {
        w.fence_release(Scope::System).await;
        w.barrier().await;
        if w.id().wave == 0 {
            if w.work_group() == 0 {
                self.gather(w, goal).await;
                self.release(w, goal).await;
            } else {
                let flag = (self.cpu_threads + w.work_group()) * FLAG_WORDS;
                w.store_release(self.arrivals, flag, goal, Scope::System).await;
                let mut waited = 0;
                let (lane, at) = (Mask::lane(0), Lanes::splat(flag));
                while w.load_relaxed(Scope::System, lane, self.releases, at).await[0] < goal {
                    w.alu(pause(&mut waited)).await;
                }
                w.fence(Scope::System).await;
            }
        }
        w.barrier().await;
    }

    /// A CPU thread waits, as wavefronts do.
    pub(crate) async fn wait_cpu(&self, cpu: &Cpu, goal: u32) {
        if cpu.id() == 0 && self.cpu_threads == self.participants {
            self.lead_cpu(cpu, goal).await;
            return;
        }
        let flag = cpu.id() * FLAG_WORDS;
        cpu.store_release(self.arrivals, flag, goal).await;
        let mut waited = 0;
        while cpu.load_relaxed(self.releases, flag).await < goal {
            cpu.alu(pause(&mut waited));
        }
        cpu.fence().await;
    }

    /// The first CPU thread, among CPU threads alone: waits for each of the others and sets their flags.
    async fn lead_cpu(&self, cpu: &Cpu, goal: u32) {
        let mut waited = 0;
        for other in 1..self.participants {
            while cpu.load_relaxed(self.arrivals, other * FLAG_WORDS).await < goal {
                cpu.alu(pause(&mut waited));
            }
        }
        cpu.fence().await;
        for other in 1..self.participants {
            cpu.store_relaxed(self.releases, other * FLAG_WORDS, goal);
        }
    }

    /// Watches the arrival flags, one per lane, until all are set; those that are set are not read again.
    async fn gather(&self, w: &Wave, goal: u32) {
        let mut waited = 0;
        for (participants, others) in self.others(w) {
            let mut missing = others;
            loop {
                let flags = participants * FLAG_WORDS;
                missing = missing & w.load_relaxed(Scope::System, missing, self.arrivals, flags).await.below(goal);
                if !missing.any() {
                    break;
                }
                w.alu(pause(&mut waited)).await;
            }
        }
    }

    /// Sets the release flags, one per lane. The fence takes over what all others have written.
    async fn release(&self, w: &Wave, goal: u32) {
        w.fence(Scope::System).await;
        for (participants, others) in self.others(w) {
            w.store_relaxed(Scope::System, others, self.releases, participants * FLAG_WORDS, goal.into());
        }
    }

    /// All participants but the master, one per lane.
    fn others(&self, w: &Wave) -> impl Iterator<Item = (Lanes<u32>, Mask)> {
        let (lanes, master, count) = (w.lane_ids(), self.cpu_threads, self.participants);
        (0..count).step_by(LANES).map(move |first| {
            let participants = lanes + first;
            (participants, participants.where_(|participant| participant < count && participant != master))
        })
    }
}

/// How many instructions to spend before the next poll, after `waited` of them, to which they are added.
fn pause(waited: &mut u32) -> u32 {
    let instructions = (*waited / 16).clamp(PAUSE_MIN, PAUSE_MAX);
    *waited += instructions;
    instructions
}

#[cfg(test)]
mod tests {
    use chorus_kernel::{Kernel, flat};

    use super::*;

    /// Every participant adds up what all of them wrote in the round before.
    fn check(cpu_threads: u32, work_groups: u32, waves_per_group: u32) {
        const ROUNDS: u32 = 4;
        let mut memory = HostMemory::default();
        let barrier = CollaborativeBarrier::new(cpu_threads, work_groups, &mut memory);
        let participants = cpu_threads + work_groups;
        let values = [(); 2].map(|()| memory.alloc::<u32>(participants as usize));
        let kernel = Kernel::new("rounds", work_groups, waves_per_group, move |w| async move {
            for round in 0..ROUNDS {
                if w.id().wave + 1 == waves_per_group {
                    let mut sum = 1;
                    for other in 0..participants {
                        sum += w.load_one(values[round as usize % 2], other).await;
                    }
                    w.store_one(values[(round as usize + 1) % 2], cpu_threads + w.work_group(), sum);
                }
                barrier.wait(&w, round + 1).await;
            }
        })
        .with_cpu(cpu_threads, move |cpu| async move {
            for round in 0..ROUNDS {
                let mut sum = 1;
                for other in 0..participants {
                    sum += cpu.load(values[round as usize % 2], other).await;
                }
                cpu.store(values[(round as usize + 1) % 2], cpu.id(), sum);
                barrier.wait_cpu(&cpu, round + 1).await;
            }
        });
        flat::run_kernel(&kernel, &memory).unwrap();
        let expected = (0..ROUNDS).fold(0, |value, _| 1 + participants * value);
        assert_eq!(memory.read(values[0]), vec![expected; participants as usize]);
    }

    #[test]
    fn nobody_passes_before_all_cpu_threads_and_work_groups_have_arrived() {
        check(4, 5, 3);
    }

    #[test]
    fn more_participants_than_lanes_are_released() {
        check(8, 40, 2);
    }

    #[test]
    fn work_groups_alone_can_meet_and_so_can_cpu_threads() {
        check(0, 3, 2);
        check(4, 0, 1);
    }

    #[test]
    fn pauses_grow_with_the_time_waited_up_to_a_limit() {
        let mut waited = 0;
        let pauses: Vec<u32> = (0..200).map(|_| pause(&mut waited)).collect();
        assert!(pauses.is_sorted());
        assert_eq!((pauses[0], pauses[199]), (PAUSE_MIN, PAUSE_MAX));
    }
}
