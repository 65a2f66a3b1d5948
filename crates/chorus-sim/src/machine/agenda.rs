//! Events in the order of time, for those who serve many agents: the host and the dispatchers.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use chorus_protocol::address::AgentId;
use chorus_protocol::save::{self, Restore};

use super::plan::NEVER;
use crate::clock::Ticks;

/// Events by time, by the agent that they come from, and by their order.
#[derive(Restore)]
pub(super) struct Agenda<E> {
    events: BinaryHeap<Reverse<(Ticks, AgentId, u64, E)>>,
    number: u64,
}

impl<E: Ord> Default for Agenda<E> {
    fn default() -> Self {
        Agenda { events: BinaryHeap::new(), number: 0 }
    }
}

impl<E: Ord> Agenda<E> {
    /// Adds an event of an agent.
    pub(super) fn put(&mut self, time: Ticks, agent: AgentId, event: E) {
        self.number += 1;
        self.events.push(Reverse((time, agent, self.number, event)));
    }

    /// The time of the next event.
    pub(super) fn next(&self) -> Ticks {
        self.events.peek().map_or(NEVER, |Reverse((time, ..))| *time)
    }

    /// Takes the next event if it comes before `until`.
    pub(super) fn take(&mut self, until: Ticks) -> Option<(Ticks, AgentId, E)> {
        if self.next() >= until {
            return None;
        }
        self.events.pop().map(|Reverse((time, agent, _, event))| (time, agent, event))
    }
}
