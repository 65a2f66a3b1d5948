//! Sectors of lines in the private cache, where it fetches lines by sectors.

use chorus_protocol::controller::Input;

use super::super::context::{Context, Env, Handled};
use super::Unit;
use crate::coalescer::AccessKind;
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

    /// Whether the load at the head of the queue has to wait until fewer sectors are on their way.
    #[inline(never)]
    pub(super) fn waits_for_sectors(&self, id: u32, env: &Env<'_>) -> bool {
        let (Some(sectors), Some(most)) = (&self.sectors, env.plan.config.l1.sectors_in_flight) else { return false };
        let needed = sectors.of(self.head.mask).count_ones();
        let is_load = self.accesses.get(id).kind == AccessKind::Load;
        is_load && self.sectors_in_flight > 0 && self.sectors_in_flight + needed > most
    }

    /// The sectors that the access at the head of the queue stores, where banks of the L2 take time for each.
    #[inline]
    pub(super) fn stored_sectors(&self, kind: AccessKind, env: &Env<'_>) -> u8 {
        match (&self.sectors, env.plan.config.l2.store_percent) {
            (Some(sectors), Some(_)) if matches!(kind, AccessKind::Store | AccessKind::Drain) => {
                sectors.of(self.head.mask).count_ones() as u8
            }
            _ => 0,
        }
    }

    /// The sectors that a load has fetched are there.
    #[inline]
    pub(super) fn sectors_arrived(&mut self, id: u32) {
        let access = self.accesses.get_mut(id);
        if access.kind == AccessKind::Load {
            self.sectors_in_flight -= u32::from(std::mem::take(&mut access.parts));
        }
    }

    /// Counts the sectors of an access that the private cache has accepted by a step, and notes those that a load
    /// fetches.
    #[inline(never)]
    pub(super) fn count_sectors(&mut self, id: u32, hit: bool, ctx: &mut Context<W>) {
        let Some(sectors) = &mut self.sectors else { return };
        let access = self.accesses.get_mut(id);
        let needed = sectors.of(self.head.mask);
        let count = u64::from(needed.count_ones());
        match access.kind {
            AccessKind::Load => {
                ctx.stats.add(Counter::L1LoadSectors, count);
                if !hit {
                    ctx.facts.sectors = sectors.missed(access.line, needed);
                    access.parts = ctx.facts.sectors.count_ones() as u8;
                    self.sectors_in_flight += u32::from(access.parts);
                    let fetched = u64::from(access.parts);
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
