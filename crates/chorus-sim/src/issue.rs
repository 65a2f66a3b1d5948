//! The issue slot of a compute unit: one wavefront instruction per cycle, by loose round robin or greedy-then-oldest.
//!
//! Stretches in which every ready wavefront has arithmetic to do are not simulated cycle by cycle. The rotation is
//! fixed, so the slots are dealt out by division when something else happens. The result is the same to the cycle.

use chorus_protocol::save::{self, Restore, Save};
use chorus_system::Scheduler;

use crate::clock::{Clock, Ticks};
use crate::seniority::Seniority;

/// Most wavefronts of a compute unit.
pub const WAVES_MAX: usize = 64;

/// Arithmetic slots that are dealt out in rotation from `start` on.
#[derive(Clone, Copy, Debug, Save)]
struct Batch {
    start: Ticks,
    members: u64,
    slots: u64,
}

/// The wavefronts that are ready, and the scheduler's choice among them.
#[derive(Clone, Debug, Restore)]
pub struct IssueSlots {
    #[save(built)]
    scheduler: Scheduler,
    #[save(built)]
    clock: Clock,
    ready: u64,
    /// Arithmetic instructions left before the wavefront's next operation.
    alu_left: [u32; WAVES_MAX],
    /// Wavefronts with at least two of them.
    long: u64,
    seniority: Seniority,
    last: usize,
    /// The first slot that is not used up. It is an edge of the clock.
    free: Ticks,
    batch: Option<Batch>,
}

#[inline]
fn bit(wave: usize) -> u64 {
    1 << wave
}

impl IssueSlots {
    /// No wavefront is ready.
    pub fn new(scheduler: Scheduler, clock: Clock) -> IssueSlots {
        IssueSlots {
            scheduler,
            clock,
            ready: 0,
            alu_left: [0; WAVES_MAX],
            long: 0,
            seniority: Seniority::new(),
            last: WAVES_MAX - 1,
            free: 0,
            batch: None,
        }
    }

    /// A wavefront starts in this slot.
    pub fn start(&mut self, wave: usize) {
        self.seniority.start(wave);
    }

    /// Whether there are arithmetic slots to account for.
    #[inline]
    pub fn is_dealing(&self) -> bool {
        self.batch.is_some()
    }

    /// Accounts for the arithmetic slots used before `now`; returns how many.
    pub fn settle(&mut self, now: Ticks) -> u64 {
        let Some(Batch { start, members, slots }) = self.batch.take() else { return 0 };
        let now = self.clock.edge(now);
        let used = self.clock.count(now.saturating_sub(start)).min(slots);
        self.free = self.free.max(start + self.clock.cycles(used));
        if used == 0 {
            return 0;
        }
        let count = u64::from(members.count_ones());
        let (rounds, rest) = (used / count, used % count);
        let first = (self.last + 1) % WAVES_MAX;
        let mut order = members.rotate_right(first as u32);
        for position in 0..count {
            let wave = (order.trailing_zeros() as usize + first) % WAVES_MAX;
            order &= order - 1;
            let dealt = rounds + u64::from(position < rest);
            self.set_alu(wave, self.alu_left[wave] - dealt as u32);
            if position == (used - 1) % count {
                self.last = wave;
            }
        }
        used
    }

    /// A wavefront has `alu` arithmetic instructions to issue, and then its next operation.
    #[inline]
    pub fn make_ready(&mut self, wave: usize, alu: u32) {
        debug_assert!(self.batch.is_none(), "settle first");
        self.set_alu(wave, alu);
        self.ready |= bit(wave);
        if self.scheduler == Scheduler::GreedyThenOldest {
            self.seniority.set_ready(wave, true);
        }
    }

    /// A wavefront cannot issue until made ready again.
    #[inline]
    pub fn block(&mut self, wave: usize) {
        self.ready &= !bit(wave);
        if self.scheduler == Scheduler::GreedyThenOldest {
            self.seniority.set_ready(wave, false);
        }
    }

    /// Whether `wave` can issue.
    pub fn is_ready(&self, wave: usize) -> bool {
        self.ready & bit(wave) != 0
    }

    /// Whether the next instruction of `wave` is arithmetic.
    #[inline]
    pub fn has_alu(&self, wave: usize) -> bool {
        self.alu_left[wave] > 0
    }

    /// The wavefront that issues next.
    #[inline]
    pub fn pick(&self) -> Option<usize> {
        if self.ready == 0 {
            return None;
        }
        Some(self.next_of(self.ready))
    }

    /// The one of `waves` that comes next in the scheduler's order. There is at least one.
    #[inline]
    pub fn next_of(&self, waves: u64) -> usize {
        match self.scheduler {
            Scheduler::LooseRoundRobin => {
                let first = (self.last + 1) % WAVES_MAX;
                (waves.rotate_right(first as u32).trailing_zeros() as usize + first) % WAVES_MAX
            }
            Scheduler::GreedyThenOldest if waves & bit(self.last) != 0 => self.last,
            Scheduler::GreedyThenOldest if waves == self.ready => self.seniority.oldest_ready(),
            Scheduler::GreedyThenOldest => self.seniority.oldest_of(waves),
        }
    }

    /// `wave` uses the slot at `now`.
    #[inline]
    pub fn take_slot(&mut self, wave: usize, now: Ticks) {
        self.last = wave;
        self.free = now + self.clock.period();
    }

    /// `wave` uses the slot at `now` for arithmetic. Returns whether its next operation has come.
    #[inline]
    pub fn issue_alu(&mut self, wave: usize, now: Ticks) -> bool {
        self.take_slot(wave, now);
        self.set_alu(wave, self.alu_left[wave] - 1);
        self.alu_left[wave] == 0
    }

    /// The time at which the next instruction that is not part of a stretch of arithmetic can issue. Begins such a
    /// stretch if there is one.
    #[inline]
    pub fn plan(&mut self, now: Ticks) -> Option<Ticks> {
        if self.ready == 0 {
            return None;
        }
        let start = if self.free >= now { self.free } else { self.clock.edge(now) };
        let members = match self.scheduler {
            Scheduler::LooseRoundRobin => self.ready,
            Scheduler::GreedyThenOldest => bit(self.next_of(self.ready)),
        };
        Some(if members & !self.long != 0 { start } else { self.begin_batch(start, members) })
    }

    /// Begins a stretch of arithmetic of `members`, which have at least two instructions each. Returns when it ends.
    fn begin_batch(&mut self, start: Ticks, members: u64) -> Ticks {
        let mut least = u32::MAX;
        let mut rest = members;
        while rest != 0 {
            least = least.min(self.alu_left[rest.trailing_zeros() as usize]);
            rest &= rest - 1;
        }
        let slots = u64::from(least - 1) * u64::from(members.count_ones());
        self.batch = Some(Batch { start, members, slots });
        start + self.clock.cycles(slots)
    }

    #[inline]
    fn set_alu(&mut self, wave: usize, left: u32) {
        self.alu_left[wave] = left;
        if left >= 2 {
            self.long |= bit(wave);
        } else {
            self.long &= !bit(wave);
        }
    }
}

#[cfg(test)]
mod tests {
    use chorus_system::Clocks;

    use super::*;
    use crate::clock::ClockDomains;

    fn slots(scheduler: Scheduler) -> IssueSlots {
        let clocks = Clocks { core_mhz: 1400, network_mhz: 700, l2_mhz: 700, dram_mhz: 1400 };
        IssueSlots::new(scheduler, ClockDomains::new(&clocks).core)
    }

    /// Runs until no wavefront is ready. Returns the time at which each wavefront's arithmetic ended.
    fn run(slots: &mut IssueSlots, wake: (Ticks, usize, u32)) -> Vec<(Ticks, usize)> {
        let mut ends = Vec::new();
        let mut woken = false;
        let mut next = slots.plan(0);
        while let Some(time) = next {
            if !woken && wake.0 <= time {
                woken = true;
                slots.settle(wake.0);
                slots.make_ready(wake.1, wake.2);
                next = slots.plan(wake.0);
                continue;
            }
            slots.settle(time);
            let wave = slots.pick().unwrap();
            if slots.issue_alu(wave, time) {
                slots.block(wave);
                ends.push((time, wave));
            }
            next = slots.plan(time);
        }
        ends
    }

    #[test]
    fn round_robin_deals_slots_in_turn_to_the_cycle() {
        let mut slots = slots(Scheduler::LooseRoundRobin);
        slots.make_ready(0, 3);
        slots.make_ready(5, 5);
        // Wave 0 issues at 0, 2, 4; wave 5 at 1, 3, 5, 7, 9; wave 9 joins at 6 and issues at 6, 8.
        assert_eq!(run(&mut slots, (6, 9, 2)), [(4, 0), (8, 9), (9, 5)]);
    }

    #[test]
    fn greedy_finishes_one_wavefront_before_the_next_oldest() {
        let mut slots = slots(Scheduler::GreedyThenOldest);
        slots.start(5);
        slots.start(0);
        slots.make_ready(0, 3);
        slots.make_ready(5, 4);
        assert_eq!(run(&mut slots, (100, 9, 1))[..2], [(3, 5), (6, 0)]);
    }
}
