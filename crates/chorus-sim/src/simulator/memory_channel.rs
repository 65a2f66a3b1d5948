//! Traffic between banks and memory channels: requests that arrive, and lines that have been read.

use chorus_protocol::message::memory;

use super::{BankStall, Event, SimError, Simulator};
use crate::clock::Ticks;
use crate::dram::DramRequest;
use crate::prefetch::prefetch;
use crate::stats::Counter;

/// Requests to memory that one step of a bank can send: a write-back and a fetch.
pub(super) const MEMORY_REQUESTS_PER_STEP: usize = 2;

impl<const W: usize> Simulator<'_, W> {
    /// Requests that a bank may still send to its memory channel, or to the slice of the L3 before it.
    pub(super) fn memory_room(&self, bank: u16) -> usize {
        let index = usize::from(bank);
        let room = match self.slices.get(index) {
            None => self.channels[index].room(),
            Some(slice) => slice.room(),
        };
        room.saturating_sub(self.banks[index].to_memory)
    }

    /// A request arrives at a memory channel.
    pub(super) fn enqueue_memory(&mut self, id: u32) {
        let (bank, message) = (self.packets.get(id).source, self.packets.message(id));
        let index = usize::from(bank);
        let write = message.kind == memory::WB;
        self.stats.add(if write { Counter::DramWrites } else { Counter::DramReads }, 1);
        let line = self.topology.line_in_bank(message.line);
        if !write {
            prefetch(self.memory.line_places::<W>(self.pages.virtual_line(message.line)));
        }
        self.banks[index].to_memory -= 1;
        self.channels[index].push(DramRequest { id, line, write });
        self.schedule_decision(bank, self.wheel.now());
    }

    pub(super) fn schedule_decision(&mut self, channel: u16, time: Ticks) {
        let index = usize::from(channel);
        if !self.channels[index].is_empty() && !std::mem::replace(&mut self.channel_scheduled[index], true) {
            self.wheel.schedule(self.clocks.dram.edge(time), Event::Decide(channel));
        }
    }

    /// A memory channel decides its next request.
    pub(super) fn decide_memory(&mut self, channel: u16) {
        let index = usize::from(channel);
        self.channel_scheduled[index] = false;
        let Some(decision) = self.channels[index].decide(self.wheel.now()) else { return };
        self.stats.add(Counter::DramRowHits, u64::from(decision.row_hit));
        if !self.slices.is_empty() {
            if !decision.write {
                self.wheel.schedule(decision.done, Event::Filled(decision.id));
            }
            self.feed_channel(channel);
            return;
        }
        if decision.write {
            self.packets.remove(decision.id);
        } else {
            self.wheel.schedule(decision.done + self.memory_legs[index], Event::Fetched(decision.id));
        }
        self.schedule_decision(channel, decision.next);
        if self.memory_room(channel) >= MEMORY_REQUESTS_PER_STEP {
            self.retry_bank(channel, BankStall::Memory);
        }
    }

    /// A line has been read: its fetch becomes the answer.
    pub(super) fn fetched(&mut self, id: u32) -> Result<(), SimError> {
        let bank = self.packets.get(id).source;
        let fetch = self.packets.message_mut(id);
        let line = self.pages.virtual_line(fetch.line);
        fetch.answer_in_place(memory::MEM_DATA, &self.memory.read_line(line));
        // Wavefronts that wait find the word that they poll in a cache, so a program that still reads memory makes
        // progress.
        self.progress = self.wheel.now();
        self.banks[usize::from(bank)].from_memory.push_back(id);
        self.serve_or_schedule(bank)
    }
}
