//! The end of an agent at the network: messages that come in, in the order of time, and the port for those that leave.

use std::collections::VecDeque;

use super::egress::Egress;
use super::plan::NEVER;
use crate::clock::Ticks;

/// A message on its way to an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// The time at which its first flit is at the agent's incoming port, or at which it has arrived.
    pub(super) time: Ticks,
    /// Its source and its number among the messages of that source. They decide between messages of one tick.
    pub(super) source: u64,
    /// The number of the message among those of its partition.
    pub(super) id: u32,
    /// The time that it occupies the incoming port. Messages without one have passed their last port.
    pub(super) length: u32,
}

/// Names a message by its source and its number there.
#[inline]
pub(super) fn source_key(agent: u16, sequence: u32) -> u64 {
    u64::from(agent) << 32 | u64::from(sequence)
}

/// Entries in the order of time and source. They come almost in this order.
#[derive(Clone, Debug, Default)]
pub(super) struct Inbox {
    entries: Vec<Entry>,
    head: usize,
}

/// Taken entries that an inbox keeps before it closes the gap.
const GAP_MAX: usize = 256;

impl Inbox {
    /// The time of the first entry.
    #[inline]
    pub(super) fn front_time(&self) -> Ticks {
        self.entries.get(self.head).map_or(NEVER, |entry| entry.time)
    }

    /// Adds an entry at its place.
    #[inline]
    pub(super) fn put(&mut self, entry: Entry) {
        if self.head == self.entries.len() {
            self.entries.clear();
            self.head = 0;
        } else if self.head >= GAP_MAX {
            self.entries.drain(..self.head);
            self.head = 0;
        }
        let key = (entry.time, entry.source);
        if self.entries.last().is_none_or(|last| (last.time, last.source) < key) {
            self.entries.push(entry);
            return;
        }
        self.insert(entry, key);
    }

    /// Adds an entry that comes before some that are there already.
    fn insert(&mut self, entry: Entry, key: (Ticks, u64)) {
        let mut place = self.entries.len();
        self.entries.push(entry);
        while place > self.head {
            let before = self.entries[place - 1];
            if (before.time, before.source) < key {
                break;
            }
            self.entries[place] = before;
            place -= 1;
        }
        self.entries[place] = entry;
    }

    /// Takes the first entry if it comes before `until`.
    #[inline]
    pub(super) fn take(&mut self, until: Ticks) -> Option<Entry> {
        let entry = *self.entries.get(self.head)?;
        if entry.time >= until {
            return None;
        }
        self.head += 1;
        Some(entry)
    }
}

/// A message that has arrived or is about to: when, and its number.
pub(super) type Arrival = (Ticks, u32);

/// The time of the first arrival of a queue.
#[inline]
fn first_time(queue: &VecDeque<Arrival>) -> Ticks {
    queue.front().map_or(NEVER, |&(time, _)| time)
}

/// The end of an agent at the network.
#[derive(Clone, Debug)]
pub(super) struct Endpoint {
    pub(super) inbox: Inbox,
    /// Messages that pass the incoming port, by the time at which they have passed it.
    passing: VecDeque<Arrival>,
    /// Messages that have passed their last port, by the time at which they arrive.
    passed: VecDeque<Arrival>,
    /// The time of the next arrival among the messages that have been admitted.
    pub(super) next_arrival: Ticks,
    /// The time at which the incoming port is free.
    free: Ticks,
    pub(super) egress: Egress,
    /// Messages that the agent has sent.
    sequence: u32,
    /// When the last message on each virtual network was ready.
    ready: Vec<Ticks>,
}

impl Endpoint {
    /// Makes the idle end of an agent.
    pub(super) fn new(networks: usize, egress: Egress) -> Endpoint {
        Endpoint {
            ready: vec![0; networks],
            inbox: Inbox::default(),
            passing: VecDeque::new(),
            passed: VecDeque::new(),
            next_arrival: NEVER,
            free: 0,
            egress,
            sequence: 0,
        }
    }

    /// The name of the next message that `agent`, whose end this is, sends.
    #[inline]
    pub(super) fn next_key(&mut self, agent: u16) -> u64 {
        self.sequence = self.sequence.wrapping_add(1);
        source_key(agent, self.sequence)
    }

    /// The first time from `ready` on at which the agent's messages on one virtual network stay in order.
    #[inline]
    pub(super) fn in_order(&mut self, network: u8, ready: Ticks) -> Ticks {
        let last = &mut self.ready[usize::from(network)];
        *last = ready.max(*last);
        *last
    }

    /// Lets everything that comes before `until` pass the incoming port. Returns how long it waited there, all
    /// together.
    #[inline]
    pub(super) fn admit(&mut self, until: Ticks) -> Ticks {
        let mut waited = 0;
        while let Some(Entry { time, id, length, .. }) = self.inbox.take(until) {
            if length == 0 {
                self.passed.push_back((time, id));
                continue;
            }
            let start = time.max(self.free);
            waited += start - time;
            self.free = start + Ticks::from(length);
            self.passing.push_back((self.free, id));
        }
        self.find_next_arrival();
        waited
    }

    /// Takes the next arrival.
    #[inline]
    pub(super) fn arrive(&mut self) -> Option<u32> {
        let passing = first_time(&self.passing) <= first_time(&self.passed);
        let arrival = if passing { self.passing.pop_front() } else { self.passed.pop_front() };
        self.find_next_arrival();
        arrival.map(|(_, id)| id)
    }

    #[inline]
    fn find_next_arrival(&mut self) {
        self.next_arrival = first_time(&self.passing).min(first_time(&self.passed));
    }

    /// The time of the next message that comes to the agent.
    #[inline]
    pub(super) fn next_incoming(&self) -> Ticks {
        self.inbox.front_time().min(self.next_arrival)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_come_out_by_time_and_then_by_source() {
        let mut inbox = Inbox::default();
        for (time, agent, id) in [(5, 1, 0), (3, 9, 1), (5, 0, 2), (4, 2, 3), (9, 0, 4)] {
            inbox.put(Entry { time, source: source_key(agent, id), id, length: 0 });
        }
        let order: Vec<u32> = std::iter::from_fn(|| inbox.take(9).map(|entry| entry.id)).collect();
        assert_eq!((order, inbox.front_time()), (vec![1, 3, 2, 0], 9));
    }
}
