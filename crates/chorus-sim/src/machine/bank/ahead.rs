//! What a bank will look at when it runs: its next message, and the next line that it has read from memory.

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
                end.coming().for_each(prefetch);
                self.fetched.front().into_iter().for_each(prefetch);
            }
            _ => {
                let fetched = self.fetched.front().map(|&(_, id)| id);
                for id in end.coming().map(|entry| entry.id).chain(fetched) {
                    match depth {
                        2 => ctx.packets.read_ahead(id),
                        3 => self.controller.read_ahead(ctx.packets.message(id).line, Depth::Index),
                        4 => self.controller.read_ahead(ctx.packets.message(id).line, Depth::Line),
                        _ => {}
                    }
                }
            }
        }
    }
}
