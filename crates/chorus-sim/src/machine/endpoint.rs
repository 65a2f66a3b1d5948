//! The end of an agent at the network: messages that come in, in the order of time, and the port for those that leave.

use chorus_protocol::save::{self, Restore, Save};

use super::by_time::{ByTime, Timed};
use super::egress::Egress;
use super::plan::NEVER;
use crate::clock::Ticks;

/// A message on its way to an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Save)]
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

impl Timed for Entry {
    #[inline]
    fn time(&self) -> Ticks {
        self.time
    }

    #[inline]
    fn is_before(&self, other: &Entry) -> bool {
        self.time < other.time || (self.time == other.time && self.source < other.source)
    }
}

/// Messages in the order of time and source.
pub(super) type Inbox = ByTime<Entry>;

/// Names a message by its source and its number there.
#[inline]
pub(super) fn source_key(agent: u16, sequence: u32) -> u64 {
    u64::from(agent) << 32 | u64::from(sequence)
}

/// A message that arrives: its number, and how long it waited before the incoming port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Arrival {
    pub(super) id: u32,
    pub(super) waited: Ticks,
}

/// The end of an agent at the network.
#[derive(Clone, Debug, Restore)]
pub(super) struct Endpoint {
    /// The time at which the incoming port is free.
    free: Ticks,
    /// Messages that pass the incoming port, one after the other.
    passing: Inbox,
    /// Messages that have passed their last port.
    passed: Inbox,
    pub(super) egress: Egress,
    /// Messages that the agent has sent.
    sequence: u32,
    /// The agent that names its component.
    #[save(built)]
    pub(super) component: u16,
    /// The partition that has the agent.
    #[save(built)]
    pub(super) owner: u8,
}

impl Endpoint {
    /// Makes the idle end of an agent.
    pub(super) fn new(component: u16, owner: u8, egress: Egress) -> Endpoint {
        Endpoint { free: 0, passing: Inbox::default(), passed: Inbox::default(), egress, sequence: 0, component, owner }
    }

    /// The name of the next message that `agent`, whose end this is, sends.
    #[inline]
    pub(super) fn next_key(&mut self, agent: u16) -> u64 {
        self.sequence = self.sequence.wrapping_add(1);
        source_key(agent, self.sequence)
    }

    /// Adds a message that comes to the agent. Returns the first time at which it may arrive.
    #[inline]
    pub(super) fn put(&mut self, entry: Entry) -> Ticks {
        let inbox = if entry.length > 0 { &mut self.passing } else { &mut self.passed };
        inbox.put(entry);
        entry.time + Ticks::from(entry.length)
    }

    /// The time at which the next message has passed the incoming port.
    #[inline]
    fn next_passing(&self) -> Ticks {
        self.passing.front().map_or(NEVER, |entry| entry.time.max(self.free) + Ticks::from(entry.length))
    }

    /// The time of the next arrival. Everything that comes before the end of the window is known.
    #[inline]
    pub(super) fn next_arrival(&self) -> Ticks {
        self.next_passing().min(self.passed.front_time())
    }

    /// The messages at a place among those that come before `horizon`: one before the incoming port, and one that has
    /// passed it.
    #[inline]
    pub(super) fn coming(&self, place: usize, horizon: Ticks) -> impl Iterator<Item = &Entry> {
        let both = [&self.passing, &self.passed].into_iter().filter_map(move |inbox| inbox.get(place));
        both.filter(move |entry| entry.time < horizon)
    }

    /// The time at which the last message that is on its way now comes to the incoming port, if there is one.
    pub(super) fn last_coming(&self) -> Option<Ticks> {
        [&self.passing, &self.passed].into_iter().filter_map(ByTime::back).map(|entry| entry.time).max()
    }

    /// Takes the next arrival, which is at `now`.
    #[inline]
    pub(super) fn arrive(&mut self, now: Ticks) -> Option<Arrival> {
        match self.passing.front() {
            Some(entry) if self.next_passing() == now => {
                let arrival = Arrival { id: entry.id, waited: now - Ticks::from(entry.length) - entry.time };
                self.free = now;
                self.passing.remove_front();
                Some(arrival)
            }
            Some(_) | None => self.passed.take(now + 1).map(|entry| Arrival { id: entry.id, waited: 0 }),
        }
    }
}

#[cfg(test)]
mod tests {
    use chorus_system::Clocks;

    use super::*;
    use crate::clock::ClockDomains;

    fn entry(time: Ticks, agent: u16, id: u32, length: u32) -> Entry {
        Entry { time, source: source_key(agent, id), id, length }
    }

    #[test]
    fn entries_come_out_by_time_and_then_by_source() {
        let mut inbox = Inbox::default();
        for (time, agent, id) in [(5, 1, 0), (3, 9, 1), (5, 0, 2), (4, 2, 3), (9, 0, 4)] {
            inbox.put(entry(time, agent, id, 0));
        }
        let order: Vec<u32> = std::iter::from_fn(|| inbox.take(9).map(|entry| entry.id)).collect();
        assert_eq!((order, inbox.front_time()), (vec![1, 3, 2, 0], 9));
    }

    #[test]
    fn messages_pass_the_incoming_port_one_after_the_other_and_others_come_in_between() {
        let clocks = Clocks { core_mhz: 700, network_mhz: 700, l2_mhz: 700, dram_mhz: 700 };
        let mut end = Endpoint::new(0, 0, Egress::new(1, ClockDomains::new(&clocks).network, None, false));
        for entry in [entry(11, 1, 0, 4), entry(10, 2, 1, 4), entry(15, 3, 2, 0), entry(30, 1, 3, 1)] {
            end.put(entry);
        }
        let mut arrivals = Vec::new();
        while end.next_arrival() != NEVER {
            let now = end.next_arrival();
            arrivals.extend(end.arrive(now).map(|Arrival { id, waited }| (now, id, waited)));
        }
        assert_eq!(arrivals, [(14, 1, 0), (15, 2, 0), (18, 0, 3), (31, 3, 0)]);
    }
}
