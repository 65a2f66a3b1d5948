//! Notes of a unit for the recorder, where a run is observed: accesses that are tried, and accesses that end.

use super::super::context::{Context, Env};
use super::Unit;
use crate::coalescer::{AccessKind, LineAccess};
use crate::compute_unit::{Stalled, WaveSlot};
use crate::observe::{AccessEnd, AccessTry, Cause, Purpose, Trigger};

/// Marks the answers of an access whose end is observed.
pub(super) const OBSERVED: u8 = 1 << 7;

impl<const W: usize> Unit<W> {
    /// The trigger of a step with the access at the head of the queue.
    #[cold]
    pub(super) fn try_of(&self, id: u32) -> Trigger {
        let access = self.accesses.get(id);
        let &LineAccess { kind, wave, issued, line, .. } = access;
        let lines = access.touches_line().then_some((self.head.line, line));
        let stalled = self.stalled.map(|(since, why)| {
            let cause = match why {
                Stalled::Port => Cause::L1Port,
                Stalled::Cache => Cause::L1Busy,
                Stalled::Page => Cause::Page,
            };
            (since, cause)
        });
        Trigger::Access(AccessTry { cache: self.agent, id, purpose: purpose(kind), wave, issued, lines, stalled })
    }

    /// Shows an observer what a wavefront waits for now.
    #[inline(always)]
    pub(super) fn show_wave(&self, wave: usize, ctx: &Context<W>) {
        if self.answers & OBSERVED != 0 {
            self.note_wave(wave, false, ctx);
        }
    }

    /// Shows an observer the instruction that a wavefront has just issued, and what it waits for then.
    #[inline(always)]
    pub(super) fn show_issue(&self, wave: usize, ctx: &Context<W>) {
        if self.answers & OBSERVED != 0 {
            self.note_wave(wave, true, ctx);
        }
    }

    #[cold]
    fn note_wave(&self, wave: usize, has_issued: bool, ctx: &Context<W>) {
        let (Some(recorder), Some(running)) = (&ctx.recorder, &self.waves[wave]) else { return };
        let slot = wave as u16;
        if has_issued {
            recorder.wave_issues(self.agent, slot, running.last_operation.name(), self.now);
        }
        let is_in = |waves: u64| waves >> wave & 1 == 1;
        let reason = match running {
            _ if self.slots.is_ready(wave) => None,
            WaveSlot { at_barrier: true, .. } => Some("barrier"),
            _ if is_in(self.waiting_for_loads) => Some("loads in flight"),
            _ if is_in(self.waiting_for_queue) => Some("access queue full"),
            WaveSlot { idle: true, .. } => Some("values"),
            // It waits for the end of what it issued last.
            WaveSlot { last_operation, .. } => Some(last_operation.name()),
        };
        recorder.wave_waits(self.agent, slot, reason, self.now);
    }

    /// Notes that the private cache serves an access by itself.
    #[cold]
    pub(super) fn note_hit(&self, id: u32, ctx: &mut Context<W>) {
        if let Some(recorder) = &mut ctx.recorder {
            recorder.hits(self.agent, id);
        }
    }

    /// An answer of an access that waits for several, or whose end is noted.
    #[inline(never)]
    pub(super) fn answer_access(&mut self, id: u32, access: &LineAccess, ctx: &mut Context<W>, env: &Env<'_>) {
        if access.answers & !OBSERVED > 1 {
            self.accesses.get_mut(id).answers -= 1;
            return;
        }
        self.note_end(id, access, ctx);
        self.end_access(id, access, ctx, env);
    }

    fn note_end(&self, id: u32, access: &LineAccess, ctx: &mut Context<W>) {
        let running = self.waves.get(usize::from(access.wave)).and_then(Option::as_ref);
        let (Some(recorder), Some(running)) = (&mut ctx.recorder, running) else { return };
        let is_fence = matches!(access.kind, AccessKind::Fence(..) | AccessKind::BarrierFence);
        recorder.end(AccessEnd {
            cache: self.agent,
            id,
            purpose: purpose(access.kind),
            wave: access.wave,
            kernel: &running.job.kernel.name,
            line: access.touches_line().then_some(access.line),
            issued: access.issued,
            now: self.now,
            ended: if is_fence { running.fence_end.max(self.now) } else { self.now },
        });
    }
}

/// The purpose of an access as observers know it.
fn purpose(kind: AccessKind) -> Purpose {
    match kind {
        AccessKind::Load => Purpose::Load,
        AccessKind::Atomic => Purpose::Atomic,
        AccessKind::Fence(..) | AccessKind::BarrierFence => Purpose::Fence,
        AccessKind::End => Purpose::End,
        AccessKind::Store | AccessKind::Drain => Purpose::Store,
        AccessKind::Follow { .. } => Purpose::Other,
    }
}
