//! What is going to happen, and the messages on their way.
//!
//! Channels between two agents on one virtual network keep the order of their messages where the protocol needs that; otherwise every
//! message has a channel to itself. Memory channels always keep it. A message that was refused many times holds up all that come later to the
//! same receiver on the same network, as a bank with one queue for each network does; without that, newer messages could keep it waiting for ever.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use chorus_protocol::controller::Time;
use chorus_protocol::message::{Channel, Message};
use chorus_protocol::registry::{Delivery, Protocol};

use super::program::WORDS;
use super::random::Random;
use super::setup::{Delays, Setup};

/// Refusals after which a message holds up others.
const REFUSALS_MAX: u32 = 32;

/// Something that happens at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Event {
    /// A wavefront issues its next operation.
    Issue(u16),
    /// The oldest message of a channel arrives.
    Deliver(u32),
    /// The moment has come that a controller asked to be woken at.
    Wake(u16),
    /// A line is thrown out somewhere.
    Evict,
}

/// A message on its way.
#[derive(Clone, Copy, Debug)]
struct Flight {
    message: Message<WORDS>,
    arrives: Time,
}

#[derive(Clone, Debug, Default)]
struct Queue {
    flights: VecDeque<Flight>,
    /// When the last message of it arrives.
    last: Time,
    /// How often its oldest message was refused.
    refusals: u32,
}

/// Events in the order of time, by chance where that is the same, and channels.
#[derive(Clone, Debug, Default)]
pub(super) struct Network {
    events: BinaryHeap<Reverse<(Time, u32, Event)>>,
    /// Events that are not evictions.
    live: usize,
    queues: Vec<Queue>,
    /// The first queue that holds one message out of any order.
    first_pooled: usize,
    free: Vec<u32>,
    agents: usize,
    networks: usize,
    in_order: bool,
    /// The channel whose message holds up all others of its receiver and virtual network.
    held: Vec<Option<u32>>,
    /// Messages on their way.
    pub in_flight: usize,
    delays: Option<Delays>,
}

impl Network {
    /// Forgets everything, keeping the memory.
    pub(super) fn reset(&mut self, protocol: &dyn Protocol, setup: &Setup) {
        self.agents = usize::from(setup.topology.agents());
        self.networks = usize::from(protocol.virtual_networks());
        self.in_order = protocol.delivery() == Delivery::InOrder;
        self.first_pooled = self.agents * self.agents * (self.networks + 1);
        self.events.clear();
        (self.live, self.in_flight) = (0, 0);
        for queue in &mut self.queues {
            queue.flights.clear();
            (queue.last, queue.refusals) = (0, 0);
        }
        self.held.clear();
        self.held.resize(self.agents * (self.networks + 1), None);
        self.queues.resize_with(self.queues.len().max(self.first_pooled), Queue::default);
        self.free.clear();
        self.free.extend((self.first_pooled as u32..self.queues.len() as u32).rev());
        self.delays = Some(setup.delays);
    }

    /// Plans an event.
    #[inline]
    pub(super) fn schedule(&mut self, time: Time, event: Event, random: &mut Random) {
        self.live += usize::from(event != Event::Evict);
        self.events.push(Reverse((time, random.next() as u32, event)));
    }

    /// The next event. Nothing if no more is planned than evictions.
    pub(super) fn pop(&mut self) -> Option<(Time, Event)> {
        if self.live == 0 {
            return None;
        }
        let Reverse((time, _, event)) = self.events.pop()?;
        self.live -= usize::from(event != Event::Evict);
        Some((time, event))
    }

    /// Whether the machine has such an agent.
    pub(super) fn has(&self, agent: u16) -> bool {
        usize::from(agent) < self.agents
    }

    /// Puts a message on its way.
    pub(super) fn send(&mut self, message: &Message<WORDS>, channel: Channel, now: Time, random: &mut Random) {
        let network = match channel {
            Channel::Virtual(network) => usize::from(network),
            Channel::Memory | Channel::Instant => self.networks,
        };
        let (src, dst) = (usize::from(message.src.0), usize::from(message.dst.0));
        let keeps_order = self.in_order || network == self.networks;
        let id = if keeps_order { (src * self.agents + dst) * (self.networks + 1) + network } else { self.pooled() };
        let arrives = now + Time::from(self.delay(src, dst, network, random));
        let queue = &mut self.queues[id];
        let arrives = if keeps_order { arrives.max(queue.last) } else { arrives };
        queue.last = arrives;
        let was_empty = queue.flights.is_empty();
        queue.flights.push_back(Flight { message: *message, arrives });
        self.in_flight += 1;
        if was_empty {
            self.schedule(arrives, Event::Deliver(id as u32), random);
        }
    }

    fn pooled(&mut self) -> usize {
        if let Some(id) = self.free.pop() {
            return id as usize;
        }
        self.queues.push(Queue::default());
        self.queues.len() - 1
    }

    fn delay(&self, src: usize, dst: usize, network: usize, random: &mut Random) -> u32 {
        let Some(delays) = &self.delays else { return 1 };
        let slow_agents = (delays.slow_agents >> src | delays.slow_agents >> dst) & 1;
        let slow = u64::from(delays.slow_networks >> network & 1) | slow_agents;
        let mut most = delays.message << (2 * slow);
        if delays.late_one_in > 0 && random.once_in(delays.late_one_in) {
            most *= 16;
        }
        1 + random.below(most)
    }

    /// The message that comes next on a channel.
    pub(super) fn front(&self, channel: u32) -> Option<Message<WORDS>> {
        self.queues[channel as usize].flights.front().map(|flight| flight.message)
    }

    /// The receiver and virtual network of a channel that keeps order, as an index.
    fn port(&self, channel: u32) -> Option<usize> {
        let (channel, lanes) = (channel as usize, self.networks + 1);
        (channel < self.first_pooled).then(|| channel / lanes % self.agents * lanes + channel % lanes)
    }

    /// Whether another channel holds this one up.
    pub(super) fn is_held_up(&self, channel: u32) -> bool {
        self.port(channel).is_some_and(|port| self.held[port].is_some_and(|holder| holder != channel))
    }

    /// The message that came was refused.
    pub(super) fn refuse(&mut self, channel: u32) {
        let port = self.port(channel).filter(|_| self.in_order);
        let queue = &mut self.queues[channel as usize];
        queue.refusals += 1;
        if let Some(port) = port.filter(|_| queue.refusals > REFUSALS_MAX) {
            self.held[port].get_or_insert(channel);
        }
    }

    /// Takes the message that came; the next on the channel may come now.
    pub(super) fn take(&mut self, channel: u32, now: Time, random: &mut Random) {
        if let Some(port) = self.port(channel).filter(|&port| self.held[port] == Some(channel)) {
            self.held[port] = None;
        }
        let queue = &mut self.queues[channel as usize];
        queue.refusals = 0;
        if queue.flights.pop_front().is_none() {
            return;
        }
        self.in_flight -= 1;
        if let Some(next) = queue.flights.front() {
            let arrives = next.arrives.max(now);
            self.schedule(arrives, Event::Deliver(channel), random);
        } else if channel as usize >= self.first_pooled {
            self.free.push(channel);
        }
    }

    /// Every message on its way.
    pub(super) fn messages(&self) -> impl Iterator<Item = &Message<WORDS>> {
        self.queues.iter().flat_map(|queue| &queue.flights).map(|flight| &flight.message)
    }
}
