//! The notes of a compute unit about its accesses, where they are asked for.

use chorus_kernel::{MemoryOp, MemoryOpKind};
use chorus_protocol::line::ByteMask;

use super::super::context::{Context, Env};
use super::access::words_of;
use super::{Unit, lanes};
use crate::coalescer::{AccessKind, LineAccess};
use crate::distribution::{Ended, Kind};
use crate::sharing_profile::{Issued, SharingProfile};

impl<const W: usize> Unit<W> {
    /// Notes the latency of an access that is over.
    #[cold]
    pub(super) fn note_latency(&mut self, access: &LineAccess, ctx: &mut Context<W>, env: &Env<'_>) {
        let Some(noting) = &mut ctx.latencies else { return };
        let (kind, end) = match access.kind {
            AccessKind::Load => (Kind::Load, self.now),
            AccessKind::Store => (Kind::Store, self.now),
            AccessKind::Atomic => (Kind::Atomic, self.now),
            AccessKind::Fence(..) | AccessKind::BarrierFence => {
                (Kind::Fence, self.wave(usize::from(access.wave)).fence_end.max(self.now))
            }
            AccessKind::End | AccessKind::Drain | AccessKind::Follow { .. } => return,
        };
        let (buffers, word) = (env.memory.buffers(), access.line as usize * W);
        let buffer = access.touches_line().then(|| buffers.partition_point(|words| words.end <= word));
        let cycles = env.plan.clocks.core.count(end - access.issued);
        noting.note(Ended { kind, source: ctx.answered_from, cycles, kernel: access.kernel, buffer });
    }
}

/// Notes the words that the accesses of an instruction touch.
#[cold]
pub(super) fn note_sharing<'a, const W: usize>(
    profile: &mut SharingProfile,
    accesses: impl Iterator<Item = &'a LineAccess>,
    op: &MemoryOp,
    unit: u16,
) {
    let (reads, writes) = match op.kind {
        MemoryOpKind::Load => (true, false),
        MemoryOpKind::Store => (false, true),
        MemoryOpKind::Atomic(_) => (true, true),
    };
    for access in accesses {
        let words = match access.whole_line {
            true => (u64::MAX >> (64 - W)) as u32,
            false if op.is_plain() => words_of::<W>(op, access.lanes),
            false => words_in(lanes::read::<W>(op, access)),
        };
        profile.note(Issued { line: access.line, unit, words, reads, writes });
    }
}

/// The words of a line that have bytes in a set, one bit each.
fn words_in(bytes: ByteMask) -> u32 {
    bytes.words().fold(0, |words, word| words | 1 << word)
}
