//! Translation units between caches and the network (Spandex paper, sections III-D and III-F).
//!
//! A unit looks up one message of the network per cycle. Messages between a unit and its cache take no time, as part of
//! the step that sends them. A message that the unit cannot take yet waits. It is tried again when the state of the
//! unit or its cache has changed, and so are inputs that the cache could not accept.

use std::collections::VecDeque;

use chorus_protocol::address::{AgentId, Role};
use chorus_protocol::controller::{Controller, Input, Outcome};
use chorus_protocol::message::{Message, MessageSpec};
use chorus_protocol::registry::Delivery;

use super::messages::payload_bytes;
use super::packets::Packet;
use super::{BankStall, Event, SimError, Simulator};
use crate::clock::Ticks;
use crate::compute_unit::Stalled;
use crate::stats::Counter;

/// A translation unit: its controller and the messages that it could not take yet.
pub(super) struct TranslationUnit<const W: usize> {
    pub(super) controller: Box<dyn Controller<W>>,
    queues: Vec<VecDeque<u32>>,
    /// How many messages wait in all queues.
    waiting: usize,
    /// The time at which it can look up the next message.
    free: Ticks,
    retry_planned: bool,
}

impl<const W: usize> TranslationUnit<W> {
    /// Makes an idle translation unit.
    pub(super) fn new(controller: Box<dyn Controller<W>>, networks: usize) -> Self {
        let queues = vec![VecDeque::new(); networks];
        TranslationUnit { controller, queues, waiting: 0, free: 0, retry_planned: false }
    }
}

impl<const W: usize> Simulator<'_, W> {
    /// A message of the network is at a unit.
    pub(super) fn look_up_translation(&mut self, unit: u16, id: u32) -> Result<(), SimError> {
        let now = self.wheel.now();
        self.stats.add(Counter::TuInputs, 1);
        let state = &mut self.tus[usize::from(unit)];
        let time = (self.clocks.network.edge(now) + self.latencies.tu).max(state.free);
        state.free = time + self.clocks.network.cycles(1);
        if time == now {
            return self.translate(id);
        }
        self.wheel.schedule(time, Event::Translate(id));
        Ok(())
    }

    /// A unit takes a message that it has looked up, or lets it wait.
    pub(super) fn translate(&mut self, id: u32) -> Result<(), SimError> {
        let &Packet { network, destination, .. } = self.packets.get(id);
        let queue = &self.tus[usize::from(destination)].queues[usize::from(network)];
        let behind = self.delivery == Delivery::InOrder && !queue.is_empty();
        if behind || !self.step_translation(destination, id)? {
            self.packets.get_mut(id).enqueued = self.wheel.now();
            let state = &mut self.tus[usize::from(destination)];
            state.queues[usize::from(network)].push_back(id);
            state.waiting += 1;
        }
        Ok(())
    }

    /// Steps a unit with a message. Returns whether the message is consumed.
    fn step_translation(&mut self, unit: u16, id: u32) -> Result<bool, SimError> {
        self.tell_time();
        let input = Input::Message(self.packets.message(id));
        let controller = &mut self.tus[usize::from(unit)].controller;
        let outcome = controller.step(&input, &mut self.outbox)?;
        let agent = self.topology.tu(unit);
        self.plan_wake(agent);
        self.route(agent, true)?;
        let consumed = outcome == Outcome::Done;
        if consumed {
            self.consume(id);
            self.changed(agent);
        }
        Ok(consumed)
    }

    /// Notes that the state of a unit, or of a cache that has one, has changed. Inputs that wait there are tried again,
    /// after all other events of this tick.
    #[inline]
    pub(super) fn changed(&mut self, agent: AgentId) {
        if !self.tus.is_empty() {
            self.plan_retry(agent);
        }
    }

    fn plan_retry(&mut self, agent: AgentId) {
        let unit = match self.topology.role(agent) {
            (Role::Tu, unit) => unit,
            _ => match self.topology.tu_of(agent) {
                Some(tu) => self.topology.role(tu).1,
                None => return,
            },
        };
        let client_waits = match self.role_and_index(self.topology.translated(unit)) {
            (Role::L1, cache) => self.units[usize::from(cache)].stalled.is_some() || self.boundaries_waiting > 0,
            (_, bank) => self.banks[usize::from(bank)].stall == BankStall::Lines,
        };
        let state = &mut self.tus[usize::from(unit)];
        if (client_waits || state.waiting > 0) && !std::mem::replace(&mut state.retry_planned, true) {
            self.wheel.schedule(self.wheel.now(), Event::RetryTranslation(unit));
        }
    }

    /// Tries the inputs that wait at a unit and at its cache again.
    pub(super) fn retry_translation(&mut self, unit: u16) -> Result<(), SimError> {
        self.tus[usize::from(unit)].retry_planned = false;
        let (mut network, mut place) = (0, 0);
        while self.tus[usize::from(unit)].waiting > 0 {
            let Some(queue) = self.tus[usize::from(unit)].queues.get(network) else { break };
            let Some(&id) = self.selectable(queue, place) else {
                (network, place) = (network + 1, 0);
                continue;
            };
            let waited = self.wheel.now() - self.packets.get(id).enqueued;
            if self.step_translation(unit, id)? {
                self.stats.add(Counter::TuStallTicks, waited);
                let state = &mut self.tus[usize::from(unit)];
                state.queues[network].remove(place);
                state.waiting -= 1;
                // The step may have resolved the stall of an earlier message.
                (network, place) = (0, 0);
            } else {
                place += 1;
            }
        }
        match self.role_and_index(self.topology.translated(unit)) {
            (Role::L1, cache) => {
                self.retry_boundary(cache)?;
                self.retry_access_now(cache)
            }
            (_, bank) => {
                self.retry_bank(bank, BankStall::Lines);
                Ok(())
            }
        }
    }

    /// Lets a cache try again that may wait for room at the port of its unit.
    pub(super) fn retry_client(&mut self, unit: u16) {
        if let (Role::L1, cache) = self.topology.role(self.topology.translated(unit)) {
            self.retry_access(cache, Stalled::Port);
        }
    }

    /// The port by which messages of a private cache reach the network, on a machine with translation units.
    pub(super) fn port_of_cache(&self, cache: u16) -> u16 {
        let agent = self.topology.l1(cache);
        let (role, index) = self.topology.role(self.topology.tu_of(agent).unwrap_or(agent));
        self.network.port(role, index)
    }

    /// The latency of a message from its cause to the network: the lookups of the cache and of its unit.
    pub(super) fn translation_delay(&self, message: &Message<W>, spec: &MessageSpec) -> Ticks {
        let (_, unit) = self.topology.role(message.src);
        let cache = match self.topology.role(self.topology.translated(unit)) {
            (Role::L1, cache) => self.latencies.of_l1(self.topology.is_cpu(cache)),
            _ if payload_bytes(message, spec) > 0 => self.latencies.l2_tag + self.latencies.l2_data,
            _ => self.latencies.l2_tag,
        };
        cache + self.latencies.tu
    }

    /// Whether a message brings an L2 bank data from an L3. The bank passes such data on as it comes.
    #[inline]
    pub(super) fn comes_from_l3(&self, message: &Message<W>) -> bool {
        self.topology.l3s > 0 && self.brings_data_from_l3(message)
    }

    fn brings_data_from_l3(&self, message: &Message<W>) -> bool {
        let from = self.topology.role(message.src).0;
        let from_l3 = from == Role::L3 || (from == Role::Tu && self.topology.tu_of(message.dst) == Some(message.src));
        let to_l2 = self.topology.role(message.dst).0 == Role::L2;
        from_l3 && to_l2 && payload_bytes(message, &self.specs[usize::from(message.kind.0)]) > 0
    }
}
