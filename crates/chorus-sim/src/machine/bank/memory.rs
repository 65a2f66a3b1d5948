//! Traffic between a bank and its memory channel: requests that get there, and lines that have been read.

use chorus_protocol::address::LineAddr;
use chorus_protocol::message::{Message, memory};
use chorus_protocol::prefetch::prefetch;
use chorus_protocol::registry::Values;
use chorus_protocol::save::{self, Save};

use super::super::context::{Context, Env, Handled};
use super::super::packets::Packet;
use super::super::plan::NEVER;
use super::{Bank, BankStall};
use crate::clock::Ticks;
use crate::distribution::Source;
use crate::dram::DramRequest;
use crate::observe::Cause;
use crate::stats::Counter;

/// The number of writes to memory, of which no message is kept.
pub(super) const WRITE: u32 = u32::MAX;

/// The number of reads of further sectors of a line that is there.
const SILENT: u32 = u32::MAX;

/// Requests to memory that one step of a bank can send: a write-back and a fetch.
pub(super) const MEMORY_REQUESTS_PER_STEP: usize = 2;

/// A line that has been read.
#[derive(Clone, Copy, Debug, Save)]
pub(super) struct Fetched {
    /// When it is at the bank.
    pub(super) there: Ticks,
    pub(super) id: u32,
    /// How long memory took: the lowest bits. Only observers look at it.
    pub(super) took: u16,
}

impl<const W: usize> Bank<W> {
    /// Requests that the bank may still send to its memory channel, or to the slice of the L3 before it.
    #[inline]
    pub(super) fn memory_room(&self) -> usize {
        match &self.last_level {
            None => self.channel.room(),
            Some(last_level) => last_level.room(),
        }
    }

    /// Sends a request to the memory channel, or to the slice of the L3 before it. Requests get there in the order
    /// sent.
    #[inline]
    pub(super) fn post_to_memory(
        &mut self,
        message: &Message<W>,
        payload: u32,
        ready: Ticks,
        ctx: &mut Context<W>,
        env: &Env<'_>,
    ) {
        let (is_write, line) = (message.kind == memory::WB, env.pages.virtual_line(message.line));
        // Later fetches are behind a write-back on the same channel, so memory may have its data from now on.
        if is_write && env.plan.values == Values::Carried {
            env.memory.write_line(line, message.mask, &message.data);
        }
        self.last_to_memory = (ready + self.memory_leg).max(self.last_to_memory);
        if self.last_level.is_some() {
            self.post_to_last_level(message, payload, ready, ctx, env);
        } else {
            self.post_to_channel(message, is_write, ctx, env);
            if !is_write {
                prefetch(env.memory.line_places::<W>(line));
            }
        }
    }

    /// Sends a request to the memory channel.
    #[inline]
    fn post_to_channel(&mut self, message: &Message<W>, is_write: bool, ctx: &mut Context<W>, env: &Env<'_>) {
        ctx.stats.add(if is_write { Counter::DramWrites } else { Counter::DramReads }, 1);
        let arrives = self.last_to_memory;
        let bytes = if env.plan.notes_messages { self.noted_bytes(message, is_write, ctx, env) } else { W as u32 * 4 };
        // The data of a write-back is in memory, so nothing of its message is needed from here on.
        let id = if is_write {
            WRITE
        } else {
            ctx.packets.insert(Packet { facts: ctx.facts, ..Packet::default() }, message)
        };
        let line = env.plan.topology.line_in_bank(message.line);
        self.channel.push(DramRequest { arrives, id, line, write: is_write, bytes });
        self.schedule_decision(arrives, env);
    }

    /// The bytes that a request to memory moves, with a note of it where the run is observed.
    #[inline(never)]
    fn noted_bytes(&mut self, message: &Message<W>, is_write: bool, ctx: &mut Context<W>, env: &Env<'_>) -> u32 {
        if !is_write && env.plan.is_observed {
            let ready = self.last_to_memory - self.memory_leg;
            let id = ctx.packets.next();
            ctx.note_sent(id, message, false, (ready, Cause::BankLookup), ready);
            if let Some(recorder) = &mut ctx.recorder {
                recorder.mark(id, self.last_to_memory, Cause::MemoryWay, self.agent);
            }
        }
        self.sector_bytes(message, is_write, ctx, env)
    }

    /// The bytes that a request to memory moves where caches fetch lines by sectors.
    #[inline(never)]
    fn sector_bytes(&mut self, message: &Message<W>, is_write: bool, ctx: &mut Context<W>, env: &Env<'_>) -> u32 {
        let Some(sectors) = &mut self.sectors else { return W as u32 * 4 };
        if is_write {
            let bytes = env.plan.bytes_of(sectors.of(message.mask));
            ctx.stats.add(Counter::DramWriteBytes, u64::from(bytes));
            return bytes;
        }
        self.fetches_line = true;
        let bytes = env.plan.bytes_of(env.plan.whole_fetches(ctx.facts.sectors));
        ctx.stats.add(Counter::DramReadBytes, u64::from(bytes));
        bytes
    }

    /// Notes the sectors that a message asks for. Those that the bank lacks of a line that it has are read from memory,
    /// if that is beside the bank.
    #[inline(never)]
    pub(super) fn note_sectors(&mut self, line: LineAddr, ctx: &mut Context<W>, env: &Env<'_>) {
        let fetches_line = std::mem::take(&mut self.fetches_line);
        let (needed, topology) = (env.plan.whole_fetches(ctx.facts.sectors), &env.plan.topology);
        let Some(sectors) = &mut self.sectors else { return };
        if needed == 0 || topology.home_module(line) != self.module {
            return;
        }
        let place = topology.line_in_bank(line);
        if fetches_line {
            sectors.missed(place, needed);
            // Whoever asks next finds the line, or waits for all of it.
            sectors.arrived(place);
            return;
        }
        let missing = sectors.found(place, needed);
        if missing != 0 && self.memory_room() > 0 {
            let (arrives, bytes) = (self.last_to_memory.max(self.now), env.plan.bytes_of(missing));
            ctx.stats.add(Counter::DramReadBytes, u64::from(bytes));
            self.channel.push(DramRequest { arrives, id: SILENT, line: place, write: false, bytes });
            self.schedule_decision(arrives, env);
        }
    }

    /// Lets the memory channel decide its next request, at `time` at the earliest, and not before its bus has room.
    #[inline]
    pub(super) fn schedule_decision(&mut self, time: Ticks, env: &Env<'_>) {
        if self.next_decision == NEVER {
            self.next_decision = env.plan.clocks.dram.edge(time.max(self.channel.ready()));
        }
    }

    /// The memory channel decides its next request.
    pub(super) fn decide_memory(&mut self, ctx: &mut Context<W>, env: &Env<'_>) {
        self.next_decision = NEVER;
        let Some(decision) = self.channel.decide(self.now) else { return };
        ctx.stats.add(Counter::DramRowHits, u64::from(decision.row_hit));
        if let Some(last_level) = &mut self.last_level {
            if !decision.write {
                last_level.fill_at(decision.done, decision.id);
                let packet = ctx.packets.get_mut(decision.id);
                (packet.enqueued, packet.waited) = (decision.done, (decision.done - self.now) as u16);
            }
            self.feed_channel(ctx, env);
            return;
        }
        if !decision.write && decision.id != SILENT {
            let there = decision.done + self.memory_leg;
            self.fetch_at(Fetched { there, id: decision.id, took: (decision.done - self.now) as u16 });
        }
        // The next request may be there, or still on its way.
        if let Some(arrives) = self.channel.first_arrival() {
            self.schedule_decision(arrives, env);
        }
        self.retry_with_room(env);
    }

    /// Serves the bank again that waited for room on its way to memory.
    #[inline]
    pub(super) fn retry_with_room(&mut self, env: &Env<'_>) {
        let needed = if self.from_memory.is_empty() { MEMORY_REQUESTS_PER_STEP } else { 1 };
        if self.stall == BankStall::Memory && self.memory_room() >= needed {
            self.schedule_serve(env);
        }
    }

    /// Lets a line be at the bank at some time. These times never go back.
    #[inline]
    pub(super) fn fetch_at(&mut self, fetched: Fetched) {
        if self.fetched.is_empty() {
            self.next_fetched = fetched.there;
        }
        self.fetched.push_back(fetched);
    }

    /// A line has been read: its fetch becomes the answer.
    pub(super) fn fetched(&mut self, ctx: &mut Context<W>, env: &Env<'_>) -> Handled {
        let Some(Fetched { id, took, .. }) = self.fetched.pop_front() else { return Ok(()) };
        self.next_fetched = self.fetched.front().map_or(NEVER, |next| next.there);
        let source = if self.last_level.is_some() { Source::L3 } else { Source::Memory };
        let packet = ctx.packets.get_mut(id);
        (packet.enqueued, packet.waited) = (self.now, took);
        packet.facts.farthest = packet.facts.farthest.max(source);
        let fetch = ctx.packets.message_mut(id);
        let line = env.pages.virtual_line(fetch.line);
        fetch.answer_in_place(memory::MEM_DATA, |data| env.memory.read_line_into(line, data));
        // Wavefronts that wait find the word that they poll in a cache, so a program that still reads memory makes
        // progress.
        ctx.progress = ctx.progress.max(self.now);
        self.from_memory.push_back(id);
        self.serve_or_schedule(ctx, env)
    }
}
