//! Reading ahead for a bank: before it runs, the host is asked for its next messages and for the next line that has
//! come from memory.

use chorus_protocol::controller::Depth;
use chorus_protocol::prefetch::prefetch;

use super::super::context::Context;
use super::Bank;

impl<const W: usize> Bank<W> {
    /// Asks the host for what lies at a depth.
    pub(super) fn read_ahead(&self, agent: usize, depth: usize, ctx: &Context<W>) {
        let end = &ctx.endpoints[agent];
        match depth {
            0 => {
                prefetch(self);
                prefetch(end);
            }
            1 => {
                prefetch(&*self.controller);
                end.coming(0, ctx.horizon).for_each(prefetch);
                self.fetched.front().into_iter().for_each(prefetch);
            }
            _ => {
                let fetched = self.fetched.front().map(|next| next.id);
                let coming = end.coming(0, ctx.horizon).map(|entry| entry.id);
                coming.chain(fetched).for_each(|id| self.read_message_ahead(id, depth, ctx));
            }
        }
    }

    /// Asks the host for what the messages behind the one that arrives now lead to.
    #[inline(never)]
    pub(super) fn read_messages_ahead(&self, ctx: &Context<W>) {
        let end = &ctx.endpoints[usize::from(self.agent.0)];
        for (place, depth) in [(0, 4), (1, 3), (2, 2)] {
            end.coming(place, ctx.horizon).for_each(|coming| self.read_message_ahead(coming.id, depth, ctx));
        }
    }

    /// Asks the host for a message, or what lies behind it.
    fn read_message_ahead(&self, id: u32, depth: usize, ctx: &Context<W>) {
        match depth {
            2 => ctx.packets.read_ahead(id),
            3 => self.controller.read_ahead(ctx.packets.message(id).line, Depth::Index),
            4 => self.controller.read_ahead(ctx.packets.message(id).line, Depth::Line),
            _ => {}
        }
    }
}
