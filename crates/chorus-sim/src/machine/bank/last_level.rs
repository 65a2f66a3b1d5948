//! Traffic between a bank and its slice of a memory-side L3, and between the slice and the memory channel.
//!
//! Only time passes here. A fetch finds its values in the program's memory, whichever of the two answers it. The data
//! of a write-back is in memory since it left the bank. So fetches may pass write-backs that wait.

use std::collections::VecDeque;

use chorus_protocol::message::{Message, memory};
use chorus_protocol::save::{self, Restore};

use super::super::context::{Context, Env, short_flits};
use super::super::packets::Packet;
use super::super::plan::NEVER;
use super::Bank;
use super::memory::{Fetched, WRITE};
use crate::clock::Ticks;
use crate::distribution::Source;
use crate::dram::DramRequest;
use crate::l3::{ForMemory, Slice};
use crate::observe::Cause;
use crate::stats::Counter;

/// A slice of the L3 with the requests that are on their way in it.
#[derive(Restore)]
pub(super) struct LastLevel {
    slice: Slice,
    /// Requests of the bank on their way to the slice, and when they get there.
    coming: VecDeque<(Ticks, u32)>,
    /// Fetches that are looked up, and when the slice knows whether it holds their line.
    lookups: VecDeque<(Ticks, u32)>,
    /// Lines that come from memory, and when.
    fills: VecDeque<(Ticks, u32)>,
    /// When the slice takes its next write-back.
    next_write_back: Ticks,
}

impl LastLevel {
    /// Makes an idle slice.
    pub(super) fn new(slice: Slice) -> LastLevel {
        let queue = VecDeque::new();
        LastLevel { slice, coming: queue.clone(), lookups: queue.clone(), fills: queue, next_write_back: NEVER }
    }

    /// The time of the next event of the slice.
    #[inline]
    pub(super) fn next(&self) -> Ticks {
        let first = |queue: &VecDeque<(Ticks, u32)>| queue.front().map_or(NEVER, |&(time, _)| time);
        first(&self.coming).min(first(&self.lookups)).min(first(&self.fills)).min(self.next_write_back)
    }

    /// How many more write-backs the bank may send without having to wait.
    pub(super) fn room(&self) -> usize {
        self.slice.room().saturating_sub(self.coming.len())
    }

    /// Notes that a line comes from memory at `time`.
    pub(super) fn fill_at(&mut self, time: Ticks, id: u32) {
        self.fills.push_back((time, id));
    }

    fn schedule_write_back(&mut self, now: Ticks, env: &Env<'_>) {
        if self.next_write_back == NEVER
            && let Some((_, free)) = self.slice.next_write_back()
        {
            self.next_write_back = env.plan.clocks.core.edge(free.max(now));
        }
    }
}

impl<const W: usize> Bank<W> {
    /// Handles the next event of the slice.
    pub(super) fn last_level_event(&mut self, ctx: &mut Context<W>, env: &Env<'_>) {
        let now = self.now;
        let Some(last_level) = &mut self.last_level else { return };
        if last_level.coming.front().is_some_and(|&(time, _)| time <= now) {
            if let Some((_, id)) = last_level.coming.pop_front() {
                self.enqueue_last_level(id, ctx, env);
            }
        } else if last_level.lookups.front().is_some_and(|&(time, _)| time <= now) {
            if let Some((_, id)) = last_level.lookups.pop_front() {
                self.look_up(id, ctx, env);
            }
        } else if last_level.fills.front().is_some_and(|&(time, _)| time <= now) {
            if let Some((_, id)) = last_level.fills.pop_front() {
                self.filled(id, ctx, env);
            }
        } else {
            self.take_write_back(ctx, env);
        }
    }

    /// Sends a request of the bank to the slice.
    pub(super) fn post_to_last_level(
        &mut self,
        message: &Message<W>,
        payload: u32,
        ready: Ticks,
        ctx: &mut Context<W>,
        env: &Env<'_>,
    ) {
        let bytes = (env.plan.header_bytes + payload) as u16;
        if env.plan.is_observed {
            ctx.note_sent(ctx.packets.next(), message, false, (ready, Cause::BankLookup), self.last_to_memory);
        }
        let id = ctx.packets.insert(Packet { bytes, ..Packet::default() }, message);
        if let Some(last_level) = &mut self.last_level {
            last_level.coming.push_back((self.last_to_memory, id));
        }
    }

    /// A request of the bank arrives at the slice.
    fn enqueue_last_level(&mut self, id: u32, ctx: &mut Context<W>, env: &Env<'_>) {
        let carries_data = u32::from(ctx.packets.get(id).bytes) > env.plan.header_bytes;
        ctx.stats.add(Counter::L2L3Flits, short_flits::<W>(carries_data));
        let Some(last_level) = &mut self.last_level else { return };
        if ctx.packets.message(id).kind == memory::WB {
            last_level.slice.put(id);
            last_level.schedule_write_back(self.now, env);
        } else {
            last_level.lookups.push_back((self.now + env.plan.latencies.l3, id));
            self.retry_with_room(env);
        }
    }

    /// The slice knows whether it holds the line of a fetch.
    fn look_up(&mut self, id: u32, ctx: &mut Context<W>, env: &Env<'_>) {
        let line = env.plan.topology.line_in_bank(ctx.packets.message(id).line);
        let Some(last_level) = &mut self.last_level else { return };
        if let Some(recorder) = &mut ctx.recorder {
            recorder.mark(id, self.now, Cause::L3, self.agent);
        }
        if last_level.slice.tags.touch(line) {
            ctx.stats.add(Counter::L3Hits, 1);
            self.answer_from_last_level(id, ctx);
        } else {
            ctx.stats.add(Counter::L3Misses, 1);
            last_level.slice.put_fetch(id);
            self.feed_channel(ctx, env);
        }
    }

    /// A line that the slice did not hold has come from memory.
    fn filled(&mut self, id: u32, ctx: &mut Context<W>, env: &Env<'_>) {
        let line = env.plan.topology.line_in_bank(ctx.packets.message(id).line);
        if let Some(last_level) = &mut self.last_level {
            last_level.slice.fill(line);
        }
        ctx.packets.get_mut(id).facts.farthest = Source::Memory;
        self.feed_channel(ctx, env);
        if ctx.recorder.is_some() {
            ctx.note_read(id, 0);
        }
        self.answer_from_last_level(id, ctx);
    }

    /// Sends a line from the slice to the bank.
    fn answer_from_last_level(&mut self, id: u32, ctx: &mut Context<W>) {
        ctx.stats.add(Counter::L2L3Flits, short_flits::<W>(true));
        if let Some(last_level) = &mut self.last_level {
            let there = last_level.slice.answer(W as u64 * 4, self.now);
            if let Some(recorder) = &mut ctx.recorder {
                recorder.mark(id, there, Cause::L3, self.agent);
            }
            self.fetch_at(Fetched { there, id, took: 0 });
        }
    }

    /// The slice takes its next write-back.
    fn take_write_back(&mut self, ctx: &mut Context<W>, env: &Env<'_>) {
        let Some(last_level) = &mut self.last_level else { return };
        last_level.next_write_back = NEVER;
        let Some((id, _)) = last_level.slice.next_write_back() else { return };
        let message = ctx.packets.message(id);
        let (line, bytes) = (env.plan.topology.line_in_bank(message.line), u64::from(message.mask.bytes()));
        ctx.packets.remove(id);
        last_level.slice.take_write_back(line, bytes, self.now);
        self.feed_channel(ctx, env);
        self.retry_with_room(env);
    }

    /// Gives the memory channel what waits for it at the slice, as far as it has room.
    pub(super) fn feed_channel(&mut self, ctx: &mut Context<W>, env: &Env<'_>) {
        let (Some(last_level), arrives) = (&mut self.last_level, self.now) else { return };
        let bytes = W as u32 * 4;
        while self.channel.room() > 0 {
            let Some(next) = last_level.slice.next_for_memory(self.channel.is_empty()) else { break };
            let request = match next {
                ForMemory::Fetch(id) => {
                    let line = env.plan.topology.line_in_bank(ctx.packets.message(id).line);
                    DramRequest { arrives, id, line, write: false, bytes }
                }
                ForMemory::Victim(line) => DramRequest { arrives, id: WRITE, line, write: true, bytes },
            };
            ctx.stats.add(if request.write { Counter::DramWrites } else { Counter::DramReads }, 1);
            self.channel.push(request);
        }
        last_level.schedule_write_back(self.now, env);
        // The next request is given when the bus is free. Requests that the bus has not begun to move wait in the queue
        // of the channel, and others in the queue of the slice.
        if !self.channel.is_empty() {
            self.schedule_decision(self.now.max(self.channel.free()), env);
        }
    }
}
