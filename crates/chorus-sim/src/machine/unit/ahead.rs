//! What a unit will look at when it runs: its next message, its next answer, the head of its access queue and the
//! wavefront that issues next.

use chorus_protocol::access::Txn;
use chorus_protocol::controller::Depth;
use chorus_protocol::prefetch::prefetch;

use super::super::context::{Context, Env};
use super::Unit;

impl<const W: usize> Unit<W> {
    /// Asks the host for what lies at a depth.
    pub(super) fn read_ahead(&self, agent: usize, depth: usize, ctx: &Context<W>, env: &Env<'_>) {
        let end = &ctx.endpoints[agent];
        if depth == 0 {
            prefetch(self);
            prefetch(end);
            return;
        }
        for coming in end.coming() {
            match depth {
                1 => prefetch(coming),
                2 => ctx.packets.read_ahead(coming.id),
                3 => self.controller.read_ahead(ctx.packets.message(coming.id).line, Depth::Index),
                4 => self.controller.read_ahead(ctx.packets.message(coming.id).line, Depth::Line),
                _ => {
                    let message = ctx.packets.message(coming.id);
                    let txn = match message.txn {
                        Txn::Merged => self.controller.waiting(message.line),
                        txn => Some(txn),
                    };
                    if let Some(Txn::Operation(id)) = txn {
                        self.read_access_ahead(id, depth - 5);
                    }
                }
            }
        }
        if depth == 1 {
            prefetch(&*self.controller);
            self.answered.front().into_iter().for_each(prefetch);
            self.accesses.read_ahead();
            self.slots.pick().into_iter().for_each(|wave| prefetch(&self.waves[wave]));
            return;
        }
        if let Some(&(_, id)) = self.answered.front() {
            self.read_access_ahead(id, depth - 2);
        }
        if let Some(id) = self.accesses.front() {
            self.read_access_ahead(id, depth - 2);
            let access = self.accesses.get(id);
            let index = match depth {
                3 => Depth::Index,
                4 => Depth::Line,
                _ => return,
            };
            if access.touches_line()
                && let Some(line) = env.pages.physical(access.line, self.now)
            {
                self.controller.read_ahead(line, index);
            }
        } else if let Some(wave) = self.slots.pick() {
            self.read_wave_ahead(wave, None, depth - 1);
        }
    }

    /// Asks the host for an access, or what lies behind it.
    fn read_access_ahead(&self, id: u32, depth: usize) {
        // A message that serves another unit names an access of that unit.
        let Some(access) = self.accesses.find(id) else { return };
        match depth {
            0 => prefetch(access),
            _ => self.read_wave_ahead(usize::from(access.wave), Some(access.slot), depth - 1),
        }
    }

    /// Asks the host for a wavefront, or what lies behind it: its state, and a memory instruction.
    fn read_wave_ahead(&self, wave: usize, slot: Option<u16>, depth: usize) {
        match (depth, &self.waves[wave]) {
            (0, running) => prefetch(running),
            (1, Some(running)) => prefetch(running.task.state()),
            (2, Some(running)) => running.task.state().borrow().read_ahead(slot),
            _ => {}
        }
    }
}
