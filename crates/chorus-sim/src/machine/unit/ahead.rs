//! Reading ahead for a compute unit: before it runs, the host is asked for its next messages, its next answer, the head
//! of its access queue, and the wavefront that issues next.

use chorus_kernel::Operation;
use chorus_protocol::access::Txn;
use chorus_protocol::controller::Depth;
use chorus_protocol::prefetch::prefetch;

use super::super::context::{Context, Env};
use super::Unit;

/// The depth at which what a message brings has been found: a memory instruction.
const INSTRUCTION: usize = 8;

impl<const W: usize> Unit<W> {
    /// Asks the host for what lies at a depth.
    pub(super) fn read_ahead(&self, agent: usize, depth: usize, ctx: &Context<W>, env: &Env<'_>) {
        match depth {
            0 => {
                prefetch(self);
                prefetch(&ctx.endpoints[agent]);
                return;
            }
            1 => {
                prefetch(&*self.controller);
                ctx.endpoints[agent].coming(0, ctx.horizon).for_each(prefetch);
                self.answered.front().into_iter().for_each(prefetch);
                self.accesses.read_ahead();
                self.slots.pick().into_iter().for_each(|wave| prefetch(&self.waves[wave]));
                return;
            }
            _ => {}
        }
        for coming in ctx.endpoints[agent].coming(0, ctx.horizon) {
            self.read_message_ahead(coming.id, depth, ctx);
        }
        if let Some(&(_, id)) = self.answered.front() {
            self.read_access_ahead(id, depth - 2);
        }
        match (self.accesses.front(), depth) {
            (Some(id), 3) => self.read_line_ahead(id, Depth::Index, env),
            (Some(id), 4) => self.read_line_ahead(id, Depth::Line, env),
            _ => {}
        }
        if let Some(id) = self.accesses.front() {
            self.read_access_ahead(id, depth - 2);
        } else if let Some(wave) = self.slots.pick() {
            self.read_wave_ahead(wave, None, depth - 1);
        }
    }

    /// Asks the host for what the messages behind the one that arrives now lead to.
    #[inline(never)]
    pub(super) fn read_messages_ahead(&self, ctx: &Context<W>) {
        let end = &ctx.endpoints[usize::from(self.agent.0)];
        for place in 0..=INSTRUCTION - 2 {
            let Some(coming) = end.coming(place, ctx.horizon).next() else { return };
            self.read_message_ahead(coming.id, INSTRUCTION - place, ctx);
        }
    }

    /// Asks the host for what the accesses behind the head of the queue look at.
    #[inline(never)]
    pub(super) fn read_accesses_ahead(&self, env: &Env<'_>) {
        for (place, depth) in [(1, Depth::Line), (2, Depth::Index)] {
            if let Some(id) = self.accesses.at(place) {
                self.read_line_ahead(id, depth, env);
            }
        }
    }

    /// Asks the host for a message, or what lies behind it.
    fn read_message_ahead(&self, id: u32, depth: usize, ctx: &Context<W>) {
        if depth == 2 {
            return ctx.packets.read_ahead(id);
        }
        let message = ctx.packets.message(id);
        match depth {
            3 => return self.controller.read_ahead(message.line, Depth::Index),
            4 => return self.controller.read_ahead(message.line, Depth::Line),
            _ => {}
        }
        let txn = if message.txn == Txn::Merged { self.controller.waiting(message.line) } else { Some(message.txn) };
        if let Some(Txn::Operation(id)) = txn {
            self.read_access_ahead(id, depth - 5);
        }
    }

    /// Asks the host for what the private cache looks at for an access.
    fn read_line_ahead(&self, id: u32, depth: Depth, env: &Env<'_>) {
        let access = self.accesses.get(id);
        if access.touches_line()
            && let Some(line) = env.pages.physical(access.line, self.now)
        {
            self.controller.read_ahead(line, depth);
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

    /// Asks the host for a wavefront, or what lies behind it: its state, its next operation, a memory instruction.
    fn read_wave_ahead(&self, wave: usize, slot: Option<u16>, depth: usize) {
        let running = &self.waves[wave];
        if depth == 0 {
            return prefetch(running);
        }
        let Some(state) = running.as_ref().map(|running| running.task.state()) else { return };
        match (depth, slot) {
            (1, _) => prefetch(state),
            (2, slot) => state.borrow().read_ahead(slot),
            (3, None) => {
                let state = state.borrow();
                if let Some(Operation::Memory(slot)) = state.front() {
                    state.read_ahead(Some(slot));
                }
            }
            _ => {}
        }
    }
}
