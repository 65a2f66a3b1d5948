//! Traffic between banks and the slices of a memory-side L3, and between slices and memory channels.
//!
//! Only time passes here. A fetch finds its values in the program's memory, whichever of the two answers it (see
//! [`Simulator::fetched`]). The data of a write-back is in memory since it left the bank. So fetches may pass
//! write-backs that wait.

use chorus_protocol::message::memory;

use super::memory_channel::MEMORY_REQUESTS_PER_STEP;
use super::messages::short_flits;
use super::{BankStall, Event, Simulator};
use crate::dram::DramRequest;
use crate::l3::{ForMemory, Slice};
use crate::stats::Counter;

/// The number of writes to memory that no message of a bank asked for.
const VICTIM: u32 = u32::MAX;

impl<const W: usize> Simulator<'_, W> {
    /// A request of a bank arrives at its slice.
    pub(super) fn enqueue_last_level(&mut self, id: u32) {
        let packet = self.packets.get(id);
        let bank = packet.source;
        let carries_data = u32::from(packet.bytes) > self.config.network.header_bytes;
        self.stats.add(Counter::L2L3Flits, short_flits::<W>(carries_data));
        self.banks[usize::from(bank)].to_memory -= 1;
        if self.packets.message(id).kind == memory::WB {
            self.slice(bank).put(id);
            self.schedule_write_back(bank);
        } else {
            self.wheel.schedule(self.wheel.now() + self.latencies.l3, Event::LookUp(id));
            self.retry_with_room(bank);
        }
    }

    /// A slice knows whether it holds the line of a fetch.
    pub(super) fn look_up(&mut self, id: u32) {
        let (bank, line) = (self.packets.get(id).source, self.topology.line_in_bank(self.packets.message(id).line));
        if self.slice(bank).tags.touch(line) {
            self.stats.add(Counter::L3Hits, 1);
            self.answer_from_last_level(id);
        } else {
            self.stats.add(Counter::L3Misses, 1);
            self.slice(bank).put_fetch(id);
            self.feed_channel(bank);
        }
    }

    /// A line that a slice did not hold has come from memory.
    pub(super) fn filled(&mut self, id: u32) {
        let (bank, line) = (self.packets.get(id).source, self.topology.line_in_bank(self.packets.message(id).line));
        self.slice(bank).fill(line);
        self.feed_channel(bank);
        self.answer_from_last_level(id);
    }

    /// Sends a line from a slice to its bank.
    fn answer_from_last_level(&mut self, id: u32) {
        let bank = self.packets.get(id).source;
        self.stats.add(Counter::L2L3Flits, short_flits::<W>(true));
        let now = self.wheel.now();
        let there = self.slice(bank).answer(W as u64 * 4, now);
        self.wheel.schedule(there, Event::Fetched(id));
    }

    /// Lets a slice take its next write-back as soon as it can.
    fn schedule_write_back(&mut self, bank: u16) {
        let (now, core) = (self.wheel.now(), self.clocks.core);
        let slice = self.slice(bank);
        if let Some((_, free)) = slice.next_write_back()
            && !std::mem::replace(&mut slice.scheduled, true)
        {
            self.wheel.schedule(core.edge(free.max(now)), Event::WriteBack(bank));
        }
    }

    /// A slice takes its next write-back.
    pub(super) fn take_write_back(&mut self, bank: u16) {
        let now = self.wheel.now();
        self.slice(bank).scheduled = false;
        let Some((id, _)) = self.slice(bank).next_write_back() else { return };
        let message = self.packets.message(id);
        let (line, bytes) = (self.topology.line_in_bank(message.line), u64::from(message.mask.bytes()));
        self.packets.remove(id);
        self.slice(bank).take_write_back(line, bytes, now);
        self.feed_channel(bank);
        self.retry_with_room(bank);
    }

    /// Serves a bank again that waited for room at its slice.
    fn retry_with_room(&mut self, bank: u16) {
        if self.memory_room(bank) >= MEMORY_REQUESTS_PER_STEP {
            self.retry_bank(bank, BankStall::Memory);
        }
    }

    /// Gives a memory channel what waits for it at its slice, as far as it has room.
    pub(super) fn feed_channel(&mut self, bank: u16) {
        let index = usize::from(bank);
        while self.channels[index].room() > 0 {
            let idle = self.channels[index].is_empty();
            let Some(next) = self.slice(bank).next_for_memory(idle) else { break };
            let request = match next {
                ForMemory::Fetch(id) => {
                    let line = self.topology.line_in_bank(self.packets.message(id).line);
                    DramRequest { id, line, write: false }
                }
                ForMemory::Victim(line) => DramRequest { id: VICTIM, line, write: true },
            };
            self.stats.add(if request.write { Counter::DramWrites } else { Counter::DramReads }, 1);
            self.channels[index].push(request);
        }
        // The next request is given when the bus is free. Requests that the bus has not begun to move wait in the queue
        // of the channel, and others in the queue of the slice.
        self.schedule_decision(bank, self.wheel.now().max(self.channels[index].free()));
        self.schedule_write_back(bank);
    }

    /// The slice beside a bank, on a machine that has them.
    fn slice(&mut self, bank: u16) -> &mut Slice {
        &mut self.slices[usize::from(bank)]
    }
}
