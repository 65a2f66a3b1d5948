//! The events that are planned, and the messages in flight.
//!
//! Channels between two agents on one virtual network keep the order of their messages where the protocol needs that;
//! otherwise every message has a channel to itself. Memory channels always keep the order. A message that was refused
//! many times holds up all later ones to the same receiver on the same network, as a bank with one queue for each
//! network does. Without that, newer messages could make it wait for ever.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use chorus_protocol::controller::Time;
use chorus_protocol::message::{Channel, Message};
use chorus_protocol::registry::{Delivery, Protocol};

use super::program::WORDS;
use super::random::{Random, derive};
use super::setup::{Delays, Setup};

/// Refusals after which a message holds up others.
const REFUSALS_MAX: u32 = 32;

/// The things that are evicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Evicted {
    /// Lines of private caches.
    Private,
    /// Lines of shared banks.
    Shared,
    /// Entries of the directories beside banks.
    Entry,
}

/// An event that happens at a planned time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Event {
    /// A wavefront issues its next operation.
    Issue(u16),
    /// The oldest message of a channel arrives.
    Deliver(u32),
    /// A controller is woken at the time that it asked for.
    Wake(u16),
    /// A line or an entry is evicted somewhere.
    Evict(Evicted),
}

/// A message in flight with its time of arrival.
#[derive(Clone, Copy, Debug)]
struct InFlight {
    message: Message<WORDS>,
    arrives: Time,
}

#[derive(Clone, Debug, Default)]
struct Queue {
    messages: VecDeque<InFlight>,
    /// The time at which the last message of the channel arrives.
    last: Time,
    /// The number of times that its oldest message was refused.
    refusals: u32,
}

/// Events in the order of time, random where times are equal, and channels.
#[derive(Clone, Debug, Default)]
pub(super) struct Network {
    events: BinaryHeap<Reverse<(Time, u32, Event)>>,
    /// The number of events that are not evictions.
    live: usize,
    queues: Vec<Queue>,
    /// The first queue for a single message that keeps no order.
    first_pooled: usize,
    free: Vec<u32>,
    agents: usize,
    networks: usize,
    in_order: bool,
    /// The channel whose message holds up all others of its receiver and virtual network.
    blocking: Vec<Option<u32>>,
    /// The number of messages in flight.
    pub in_flight: usize,
    delays: Option<Delays>,
}

impl Network {
    /// Forgets everything but the allocated memory.
    pub(super) fn reset(&mut self, protocol: &dyn Protocol, setup: &Setup) {
        self.agents = usize::from(setup.topology.agents());
        self.networks = usize::from(protocol.virtual_networks());
        self.in_order = protocol.delivery() == Delivery::InOrder;
        self.first_pooled = self.agents * self.agents * (self.networks + 1);
        self.events.clear();
        (self.live, self.in_flight) = (0, 0);
        for queue in &mut self.queues {
            queue.messages.clear();
            (queue.last, queue.refusals) = (0, 0);
        }
        self.blocking.clear();
        self.blocking.resize(self.agents * (self.networks + 1), None);
        self.queues.resize_with(self.queues.len().max(self.first_pooled), Queue::default);
        self.free.clear();
        self.free.extend((self.first_pooled as u32..self.queues.len() as u32).rev());
        self.delays = Some(setup.delays);
    }

    /// Plans an event for later.
    #[inline]
    pub(super) fn schedule(&mut self, time: Time, event: Event, random: &mut Random) {
        self.live += usize::from(!matches!(event, Event::Evict(_)));
        self.events.push(Reverse((time, random.next() as u32, event)));
    }

    /// The next event; nothing if only evictions are planned.
    pub(super) fn pop(&mut self) -> Option<(Time, Event)> {
        if self.live == 0 {
            return None;
        }
        let Reverse((time, _, event)) = self.events.pop()?;
        self.live -= usize::from(!matches!(event, Event::Evict(_)));
        Some((time, event))
    }

    /// Whether the machine has this agent.
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
        let was_empty = queue.messages.is_empty();
        queue.messages.push_back(InFlight { message: *message, arrives });
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
        let is_slow_agent = (delays.slow_agents >> (src % 64) | delays.slow_agents >> (dst % 64)) & 1 == 1;
        let link = (src * self.agents + dst) as u64;
        let is_slow_link = delays.slow_links != 0 && derive(delays.slow_links, link).is_multiple_of(4);
        let is_slow = delays.slow_networks >> (network % 16) & 1 == 1 || is_slow_agent || is_slow_link;
        let mut most = if is_slow { delays.message << delays.slowness } else { delays.message };
        if delays.late_one_in > 0 && random.once_in(delays.late_one_in) {
            most *= 16;
        }
        1 + random.below(most)
    }

    /// The oldest message of a channel.
    pub(super) fn front(&self, channel: u32) -> Option<Message<WORDS>> {
        self.queues[channel as usize].messages.front().map(|front| front.message)
    }

    /// The receiver and virtual network of a channel that keeps order, as an index.
    fn port(&self, channel: u32) -> Option<usize> {
        let (channel, lanes) = (channel as usize, self.networks + 1);
        (channel < self.first_pooled).then(|| channel / lanes % self.agents * lanes + channel % lanes)
    }

    /// Whether another channel holds this one up.
    pub(super) fn is_blocked(&self, channel: u32) -> bool {
        self.port(channel).is_some_and(|port| self.blocking[port].is_some_and(|holder| holder != channel))
    }

    /// Notes that the message of a channel was refused.
    pub(super) fn refuse(&mut self, channel: u32) {
        let port = self.port(channel).filter(|_| self.in_order);
        let queue = &mut self.queues[channel as usize];
        queue.refusals += 1;
        if let Some(port) = port.filter(|_| queue.refusals > REFUSALS_MAX) {
            self.blocking[port].get_or_insert(channel);
        }
    }

    /// Takes the message of a channel. The next one of the channel may arrive now.
    pub(super) fn take(&mut self, channel: u32, now: Time, random: &mut Random) {
        if let Some(port) = self.port(channel).filter(|&port| self.blocking[port] == Some(channel)) {
            self.blocking[port] = None;
        }
        let queue = &mut self.queues[channel as usize];
        queue.refusals = 0;
        if queue.messages.pop_front().is_none() {
            return;
        }
        self.in_flight -= 1;
        if let Some(next) = queue.messages.front() {
            let arrives = next.arrives.max(now);
            self.schedule(arrives, Event::Deliver(channel), random);
        } else if channel as usize >= self.first_pooled {
            self.free.push(channel);
        }
    }

    /// Every message in flight.
    pub(super) fn messages(&self) -> impl Iterator<Item = &Message<WORDS>> {
        self.queues.iter().flat_map(|queue| &queue.messages).map(|sent| &sent.message)
    }
}
