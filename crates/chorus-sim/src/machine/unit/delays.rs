//! Times at which wavefronts go on that wait for something of known length: an access of the local data share, or the
//! result of arithmetic.

use super::super::context::Context;
use super::Unit;
use crate::clock::Ticks;
use crate::stats::Counter;

/// Core cycles of accesses that wait for the banks of the local data share before no further one issues.
const BANKS_QUEUE_CYCLES: u64 = 16;

impl<const W: usize> Unit<W> {
    /// Lets a blocked wavefront go on at `time`.
    pub(super) fn delay(&mut self, wave: usize, time: Ticks) {
        self.delayed.put((time, wave as u16));
        self.next_delayed = self.next_delayed.min(time);
    }

    /// The wavefronts whose time has come go on.
    pub(super) fn end_delays(&mut self, ctx: &mut Context<W>) {
        while let Some((_, wave)) = self.delayed.take(self.now + 1) {
            self.advance_wave(usize::from(wave), ctx);
        }
        self.next_delayed = self.delayed.front_time();
    }

    /// Arithmetic whose instructions wait for each other is at the front of a wavefront's queue. It is there twice: when
    /// it begins, and when all of its issue slots have been used. Returns whether a slot is used.
    pub(super) fn issue_chain(&mut self, wave: usize, slots: u32, cycles: u32, ctx: &mut Context<W>) -> bool {
        let bit = 1 << wave;
        if self.chains & bit == 0 {
            self.chain_ends[wave] = self.now + self.clock.cycles(u64::from(cycles));
            if slots > 0 {
                self.chains |= bit;
                self.slots.make_ready(wave, slots - 1);
                ctx.stats.add(Counter::AluInstructions, 1);
                return true;
            }
        }
        self.chains &= !bit;
        self.wave(wave).task.state().borrow_mut().pop();
        self.delay(wave, self.chain_ends[wave].max(self.now));
        false
    }

    /// An access of the local data share takes its banks for `cycles`. Returns whether it issues: not while many others
    /// wait for the banks.
    pub(super) fn issue_banks(&mut self, wave: usize, cycles: u32, ctx: &mut Context<W>) -> bool {
        let room = self.banks_free.saturating_sub(self.clock.cycles(BANKS_QUEUE_CYCLES));
        if room > self.now {
            self.delay(wave, room);
            return false;
        }
        self.banks_free = self.banks_free.max(self.clock.edge(self.now)) + self.clock.cycles(u64::from(cycles));
        ctx.stats.add(Counter::LdsAccesses, u64::from(cycles));
        let mut state = self.wave(wave).task.state().borrow_mut();
        state.pop();
        let alu = state.take_alu();
        drop(state);
        self.go_on(wave, alu);
        true
    }
}
