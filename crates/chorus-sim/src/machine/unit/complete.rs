//! Values that come back to wavefronts.

use chorus_kernel::{HostMemory, LANES, MemoryOp, MemoryOpKind};
use chorus_protocol::access::{AtomicOp, Completion};
use chorus_protocol::registry::Values;

use super::super::context::{Context, Env};
use super::super::plan::NEVER;
use super::{Unit, lanes};
use crate::clock::Ticks;
use crate::coalescer::{AccessKind, LineAccess};
use crate::distribution::Source;
use crate::stats::Counter;

impl<const W: usize> Unit<W> {
    /// Puts the values of a completed load or atomic where its instruction expects them.
    #[inline]
    pub(super) fn record_values(&mut self, id: u32, completion: &Completion<W>, ctx: &mut Context<W>, env: &Env<'_>) {
        let &LineAccess { kind, wave, slot, lanes, whole_line, line, .. } = self.accesses.get(id);
        if let Some(sectors) = &mut self.sectors {
            sectors.arrived(line);
            self.sectors_arrived(id);
        }
        if !matches!(kind, AccessKind::Load | AccessKind::Atomic) {
            return;
        }
        let access = self.accesses.get(id);
        let running = self.waves[usize::from(wave)].as_ref().expect("an access belongs to a wavefront");
        let mut state = running.task.state().borrow_mut();
        let op = state.memory_op_mut(slot);
        let atomic = match op.kind {
            MemoryOpKind::Atomic(atomic) => Some(atomic),
            MemoryOpKind::Load | MemoryOpKind::Store => None,
        };
        if !op.is_plain() || access.is_combined {
            let changed = match (env.plan.values, atomic) {
                (Values::Functional, _) => lanes::perform_in_memory::<W>(env.memory, op, access),
                (Values::Carried, Some(_)) => lanes::distribute_old(op, access, &completion.data),
                (Values::Carried, None) => {
                    lanes::distribute(op, access, &completion.data);
                    false
                }
            };
            if changed {
                ctx.progress = ctx.progress.max(self.now);
            }
            return;
        }
        if env.plan.values == Values::Functional {
            if perform_in_memory(env.memory, op, lanes, atomic) {
                ctx.progress = ctx.progress.max(self.now);
            }
            return;
        }
        if whole_line && atomic.is_none() {
            op.data[..W].copy_from_slice(&completion.data.0);
            return;
        }
        let mut changed = false;
        let mut rest = lanes;
        while rest != 0 {
            let lane = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            let word = if whole_line { lane } else { op.word(lane) as usize };
            let value = completion.data.0[word % W];
            changed |= atomic.is_some_and(|atomic: AtomicOp| atomic.apply(value, op.data[lane]) != value);
            op.data[lane] = value;
        }
        if changed {
            ctx.progress = ctx.progress.max(self.now);
        }
    }

    /// Lets the values of an access reach its wavefront at `time`. These times never go back.
    #[inline]
    pub(super) fn answer_at(&mut self, time: Ticks, id: u32) {
        if self.answered.is_empty() {
            self.next_answer = time;
        }
        self.answered.push_back((time, id));
    }

    /// The values of an access reach its wavefront.
    #[inline]
    pub(super) fn answer_next(&mut self, ctx: &mut Context<W>, env: &Env<'_>) {
        let Some((_, id)) = self.answered.pop_front() else { return };
        self.next_answer = self.answered.front().map_or(NEVER, |&(time, _)| time);
        ctx.answered_from = Source::Private;
        self.access_done(id, ctx, env);
    }

    /// The end of an access, as its wavefront sees it.
    #[inline]
    pub(super) fn access_done(&mut self, id: u32, ctx: &mut Context<W>, env: &Env<'_>) {
        let access = *self.accesses.get(id);
        match access.answers {
            1 => self.end_access(id, &access, ctx, env),
            _ => self.answer_access(id, &access, ctx, env),
        }
    }

    /// Removes an access that has all its answers, and lets its wavefront know.
    #[inline(always)]
    pub(super) fn end_access(&mut self, id: u32, access: &LineAccess, ctx: &mut Context<W>, env: &Env<'_>) {
        self.accesses.remove(id);
        if ctx.latencies.is_some() {
            self.note_latency(access, ctx, env);
        }
        let wave = usize::from(access.wave);
        match access.kind {
            AccessKind::Load | AccessKind::Atomic => {
                if access.kind == AccessKind::Load {
                    ctx.stats.add(Counter::LoadLatencyTicks, self.now - access.issued);
                    ctx.stats.add(Counter::LoadsCompleted, 1);
                }
                self.values_returned(wave, access.slot, ctx);
            }
            AccessKind::Store | AccessKind::Drain => {}
            AccessKind::Follow { fence } => self.access_done(fence, ctx, env),
            AccessKind::Fence(..) | AccessKind::BarrierFence => {
                let end = self.wave(wave).fence_end.max(self.now);
                ctx.stats.add(Counter::FenceWaitTicks, end - access.issued);
                if end > self.now {
                    self.wave(wave).at_fence = true;
                    self.delay(wave, end);
                } else {
                    self.pass_fence(wave, ctx);
                }
            }
            AccessKind::End => self.retire_wave(wave, ctx, env),
        }
    }

    /// Counts a returned access of a load or atomic. With the last one, the instruction completes.
    #[inline]
    fn values_returned(&mut self, wave: usize, slot: u16, ctx: &mut Context<W>) {
        let running = self.wave(wave);
        let mut state = running.task.state().borrow_mut();
        let op = state.memory_op_mut(slot);
        op.accesses -= 1;
        if op.accesses > 0 {
            return;
        }
        let can_go_on = state.complete_memory(slot);
        drop(state);
        running.loads_in_flight -= 1;
        let idle = running.idle;
        if self.waiting_for_loads & 1 << wave != 0 {
            self.waiting_for_loads &= !(1 << wave);
            self.make_ready(wave, ctx);
        } else if can_go_on && idle {
            self.advance_wave(wave, ctx);
        }
    }
}

/// Performs a load or an atomic on memory at once, for protocols whose accesses are ideally coherent. The lanes get the
/// values of memory. Returns whether memory changed.
#[inline(never)]
fn perform_in_memory(memory: &HostMemory, op: &mut MemoryOp, lanes: u32, atomic: Option<AtomicOp>) -> bool {
    let mut changed = false;
    for lane in (0..LANES).filter(|lane| lanes >> lane & 1 == 1) {
        let word = op.word(lane) as usize;
        let old = memory.load(word);
        if let Some(atomic) = atomic {
            let new = atomic.apply(old, op.data[lane]);
            memory.store(word, new);
            changed |= new != old;
        }
        op.data[lane] = old;
    }
    changed
}
