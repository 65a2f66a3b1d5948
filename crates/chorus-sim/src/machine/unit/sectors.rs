//! Sectors of lines in the private cache, where it fetches lines by sectors.

use chorus_protocol::controller::Input;

use super::super::context::{Context, Env, Handled};
use super::Unit;
use crate::coalescer::{AccessKind, LineAccess};
use crate::stats::Counter;

impl<const W: usize> Unit<W> {
    /// Takes the line of the load at the head of the queue out of the private cache, if it is there without all sectors
    /// that the load needs. The load then misses, and fetches those that are lacking.
    #[inline(never)]
    pub(super) fn drop_incomplete(&mut self, id: u32, ctx: &mut Context<W>, env: &Env<'_>) -> Handled {
        let (access, line) = (*self.accesses.get(id), self.head.line);
        let Some(sectors) = &mut self.sectors else { return Ok(()) };
        let needed = sectors.of(self.head.mask);
        let is_incomplete = access.kind == AccessKind::Load && sectors.lacks(access.line, needed);
        if !is_incomplete || !self.controller.evictable(line, ctx.outbox.now) {
            return Ok(());
        }
        sectors.expect_more(access.line);
        self.controller.step(&Input::Evict(line), &mut ctx.outbox)?;
        self.note_wake(ctx, env);
        self.route(ctx, env)
    }

    /// Counts the sectors of an access that the private cache has accepted by a step, and notes those that a load
    /// fetches.
    #[inline(never)]
    pub(super) fn count_sectors(&mut self, access: &LineAccess, hit: bool, ctx: &mut Context<W>) {
        let Some(sectors) = &mut self.sectors else { return };
        let needed = sectors.of(self.head.mask);
        let count = u64::from(needed.count_ones());
        match access.kind {
            AccessKind::Load => {
                ctx.stats.add(Counter::L1LoadSectors, count);
                if !hit {
                    ctx.cause.sectors = sectors.missed(access.line, needed);
                    let fetched = u64::from(ctx.cause.sectors.count_ones());
                    ctx.stats.add(Counter::L1SectorsFetched, fetched);
                    ctx.stats.add(Counter::L2Sectors, fetched);
                }
            }
            AccessKind::Store | AccessKind::Drain => {
                ctx.stats.add(Counter::L1StoreSectors, count);
                ctx.stats.add(Counter::L2Sectors, count);
            }
            AccessKind::Atomic => ctx.stats.add(Counter::L2Sectors, count.max(u64::from(access.parts))),
            AccessKind::Fence(..) | AccessKind::BarrierFence | AccessKind::End | AccessKind::Follow { .. } => {}
        }
    }
}
