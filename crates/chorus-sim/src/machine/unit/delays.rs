//! Times at which wavefronts go on that wait for something of known length: an access of the local data share, the
//! result of arithmetic, a fence or a barrier.

use chorus_protocol::access::{Order, Scope};
use chorus_system::Fences;

use super::super::context::Context;
use super::Unit;
use crate::clock::Ticks;
use crate::compute_unit::{LastOperation, Since};
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
            let wave = usize::from(wave);
            let running = self.wave(wave);
            if running.at_barrier {
                self.pass_barrier(wave, ctx);
            } else if running.at_fence {
                self.pass_fence(wave, ctx);
            } else {
                self.advance_wave(wave, ctx);
            }
        }
        self.next_delayed = self.delayed.front_time();
    }

    /// A wavefront passes the fence that it waits at.
    pub(super) fn pass_fence(&mut self, wave: usize, ctx: &mut Context<W>) {
        let running = self.wave(wave);
        running.at_fence = false;
        running.task.state().borrow_mut().pass();
        self.advance_wave(wave, ctx);
    }

    /// Notes when a fence ends that a wavefront issues now, at the earliest. That depends on the stores that are
    /// pending, and on whether it has acquired anything since its last release.
    pub(super) fn begin_fence(&mut self, wave: usize, order: Order, scope: Scope, fences: &Fences) {
        let (now, pending) = (self.now, self.clock.cycles(u64::from(fences.pending_cycles)));
        let clock = self.clock;
        let running = self.wave(wave);
        let since = &mut running.since;
        let is_pending = since.stores > 0 && now - since.last_store < pending;
        let stores = if is_pending { since.stores.min(fences.stores_max) } else { 0 };
        let is_wide = scope > Scope::WorkGroup;
        let release = if since.acquired { fences.release_after_acquire_cycles } else { fences.release_cycles };
        let (alone, first, more) = match scope {
            Scope::WorkGroup => {
                (fences.work_group_cycles, fences.work_group_store_cycles, fences.work_group_more_cycles)
            }
            Scope::Gpu if order == Order::Release => (release, fences.gpu_store_cycles, fences.gpu_more_cycles),
            Scope::Gpu => (fences.gpu_cycles, fences.gpu_store_cycles, fences.gpu_more_cycles),
            Scope::System => (fences.system_cycles, fences.system_store_cycles, fences.system_more_cycles),
        };
        let cycles = match order {
            Order::Acquire => u32::from(is_wide) * fences.acquire_cycles,
            _ => alone + u32::from(stores > 0) * first + stores.saturating_sub(1) * more,
        };
        match order {
            Order::Acquire => since.acquired |= is_wide,
            _ => *since = Since { acquired: is_wide && order != Order::Release, ..Since::default() },
        }
        running.fence_end = now + clock.cycles(u64::from(cycles));
    }

    /// Arithmetic whose instructions wait for each other is at the front of a wavefront's queue. It is there twice:
    /// when it begins, and when all of its issue slots have been used. Returns whether a slot is used.
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
        let running = self.wave(wave);
        running.last_operation = LastOperation::Arithmetic;
        running.task.state().borrow_mut().pop();
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
        let running = self.wave(wave);
        running.last_operation = LastOperation::LocalData;
        let mut state = running.task.state().borrow_mut();
        state.pop();
        let alu = state.take_alu();
        drop(state);
        self.go_on(wave, alu);
        true
    }
}
