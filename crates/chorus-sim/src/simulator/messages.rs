//! Messages on their way: from controllers through the network to controllers.

use std::collections::VecDeque;

use chorus_protocol::address::{AgentId, Role};
use chorus_protocol::controller::{Input, Outcome, Passage};
use chorus_protocol::message::{Channel, Message, MessageSpec, Size, memory};
use chorus_protocol::registry::{Delivery, Values};

use super::between_modules::SIDES;
use super::boundary::stream_of;
use super::flights::Flight;
use super::memory_channel::MEMORY_REQUESTS_PER_STEP;
use super::{Bank, Event, Held, Machine, SimError, write_line};
use crate::clock::Ticks;
use crate::compute_unit::Stalled;
use crate::crossbar::Parcel;
use crate::stats::Counter;

/// Marks a message between a bank and its memory channel.
const TO_MEMORY: u8 = u8::MAX;

/// Flits of 16 bytes of a message, as gem5's network counts them: one, and those of a whole line if it carries data, however little.
pub(super) fn short_flits<const W: usize>(carries_data: bool) -> u64 {
    1 + if carries_data { (W as u64).div_ceil(4) } else { 0 }
}

/// Bytes of data that a message carries.
pub(super) fn payload_bytes<const W: usize>(message: &Message<W>, spec: &MessageSpec) -> u32 {
    match spec.size {
        Size::Control => 0,
        Size::Line => W as u32 * 4,
        Size::Masked => message.mask.bytes(),
    }
}

impl<const W: usize> Machine<'_, W> {
    /// Sends what the last step of `sender` put into the outbox. `lookup` says whether the step began with a tag lookup.
    #[inline]
    pub(super) fn route(&mut self, sender: AgentId, lookup: bool) -> Result<(), SimError> {
        if self.outbox.messages.is_empty() { Ok(()) } else { self.route_all(sender, lookup) }
    }

    #[inline(never)]
    fn route_all(&mut self, sender: AgentId, lookup: bool) -> Result<(), SimError> {
        let mut messages = std::mem::take(&mut self.outbox.messages);
        let (from, _) = self.topology.role(sender);
        let specs = self.specs;
        for message in &messages {
            let spec = &specs[usize::from(message.kind.0)];
            match spec.channel {
                Channel::Virtual(network) => self.post(from, message, spec, network, lookup),
                Channel::Memory => self.post(from, message, spec, TO_MEMORY, lookup),
                Channel::Instant => self.instant.push_back(*message),
            }
        }
        messages.clear();
        self.outbox.messages = messages;
        if self.instant.is_empty() { Ok(()) } else { self.deliver_instant() }
    }

    /// Delivers the messages that take no time, and those that they cause, in the order sent.
    fn deliver_instant(&mut self) -> Result<(), SimError> {
        while let Some(message) = self.instant.pop_front() {
            let mut outbox = std::mem::take(&mut self.outbox);
            let outcome = self.controller(message.dst).step_making_room(&Input::Message(&message), &mut outbox);
            self.outbox = outbox;
            let outcome = outcome?;
            debug_assert_eq!(outcome, Outcome::Done, "a message that takes no time cannot wait: {message:?}");
            self.finish_completions(message.dst);
            self.route(message.dst, !self.comes_from_l3(&message))?;
            self.changed(message.dst);
        }
        Ok(())
    }

    /// Puts a message on its way, after the latency of its sender.
    fn post(&mut self, from: Role, message: &Message<W>, spec: &MessageSpec, network: u8, lookup: bool) {
        let delay = match from {
            Role::L1 => self.latencies.of_l1(self.topology.is_cpu(message.src.0)),
            Role::Tu => self.translation_delay(message, spec),
            Role::L2 | Role::L3 | Role::Memory => {
                let tag = if lookup { self.latencies.l2_tag } else { 0 };
                let passed_on = !lookup && from == Role::L2;
                let data = if passed_on { self.latencies.l2_fill } else { self.latencies.l2_data };
                tag + if payload_bytes(message, spec) > 0 { data } else { 0 }
            }
        };
        self.post_at(message, spec, network, self.wheel.now() + delay);
    }

    /// Puts a message of a bank on its way that leaves at `time`.
    pub(super) fn post_later(&mut self, message: &Message<W>, time: Ticks) {
        let spec = &self.specs[usize::from(message.kind.0)];
        match spec.channel {
            Channel::Virtual(network) => self.post_at(message, spec, network, time),
            Channel::Memory => self.post_at(message, spec, TO_MEMORY, time),
            Channel::Instant => self.instant.push_back(*message),
        }
    }

    /// Puts a message on its way at `time`. Messages of one agent on one network leave in the order sent.
    fn post_at(&mut self, message: &Message<W>, spec: &MessageSpec, network: u8, mut time: Ticks) {
        let (from, source) = self.seat(message.src);
        let payload = payload_bytes(message, spec);
        let flits = self.flits[payload as usize];
        let bytes = self.config.network.header_bytes + payload;
        let (to, destination) = self.seat(message.dst);
        let mut way = None;
        if network == TO_MEMORY {
            self.banks[usize::from(source)].to_memory += 1;
            time += self.memory_legs[usize::from(source)];
            // Later fetches are behind a write-back on the same channel, so they may find it in memory already.
            if message.kind == memory::WB && self.values == Values::Carried {
                let line = self.pages.virtual_line(message.line);
                write_line(self.memory.words_mut(), line, message.mask, &message.data);
            }
        } else {
            way = self.way(message, from == to);
            if let Some(distance) = way.and_then(|way| way.distance) {
                self.stats.add_distant(distance, spec.class, u64::from(bytes));
                self.stats.add(Counter::RemoteFlits, short_flits::<W>(payload > 0));
            } else {
                self.stats.add(Counter::L1L2Flits, short_flits::<W>(payload > 0));
                self.stats.add(Counter::NetworkMessages, 1);
                self.stats.add_traffic(spec.class, u64::from(flits), u64::from(bytes));
                if let Some(routers) = self.network.routers((from, source), (to, destination)) {
                    self.stats.add_flit_hops(spec.class, u64::from(flits) * routers);
                }
            }
        }
        let time = self.in_order(message.src, network, time);
        let flight = Flight {
            enqueued: time,
            flits,
            bytes: bytes as u16,
            source,
            destination,
            from,
            to,
            network,
            hop: way.map(|way| way.hop),
            modules: way.map_or([0; 2], |way| way.modules),
            side: way.map_or(0, |way| way.side()),
        };
        let id = self.in_flight.insert(flight, message, payload > 0);
        self.wheel.schedule(time, Event::Inject(id));
    }

    /// The first time from `time` on that keeps an agent's messages on one network in order.
    fn in_order(&mut self, sender: AgentId, network: u8, time: Ticks) -> Ticks {
        let lanes = self.lanes_per_agent;
        let last = &mut self.injected[usize::from(sender.0) * lanes + usize::from(network).min(lanes - 1)];
        *last = time.max(*last);
        *last
    }

    /// A message leaves its controller, or comes to the next port on its way to another module.
    pub(super) fn inject(&mut self, id: u32) {
        let &Flight { flits, network, from, source, to, destination, hop, .. } = self.in_flight.get(id);
        if let Some(hop) = hop {
            self.travel(id, hop);
            return;
        }
        if network == TO_MEMORY {
            if self.slices.is_empty() {
                self.enqueue_memory(id)
            } else {
                self.enqueue_last_level(id)
            }
            return;
        }
        let now = self.wheel.now();
        let parcel = Parcel { id, to: self.network.port(to, destination), network, flits: u32::from(flits) };
        let port = self.network.port(from, source);
        let crossbar = self.network.crossbar_mut(from);
        if let Some(flight) = crossbar.pass(port, parcel, now) {
            self.depart(id, flight.arrives);
            return;
        }
        crossbar.enqueue(port, parcel);
        self.send(from, source);
    }

    /// A port that was busy is free.
    pub(super) fn wake_port(&mut self, from: Role, index: u16) {
        let port = self.network.port(from, index);
        self.network.crossbar_mut(from).woken(port);
        self.send(from, index);
    }

    /// Lets the port of a private cache, a bank or a translation unit send what it can, now or when it is free.
    fn send(&mut self, from: Role, index: u16) {
        let now = self.wheel.now();
        let port = self.network.port(from, index);
        loop {
            let crossbar = self.network.crossbar_mut(from);
            if crossbar.waiting(port) == 0 {
                break;
            }
            if let Some(free) = crossbar.busy_until(port, now) {
                if crossbar.ask_to_wake(port) {
                    self.wheel.schedule(free, Event::Send { from, port: index });
                }
                break;
            }
            let Some(flight) = crossbar.send(port, now) else { break };
            self.depart(flight.id, flight.arrives);
        }
        if self.port_is_full(from, index) {
            return;
        }
        match from {
            Role::L1 => self.retry_access(index, Stalled::Port),
            Role::Tu => self.retry_client(index),
            Role::L2 | Role::L3 | Role::Memory => self.retry_bank(index, Held::Port),
        }
    }

    /// Whether so many messages wait at a port that the controller behind it takes no more inputs that could add to them.
    pub(super) fn port_is_full(&mut self, from: Role, index: u16) -> bool {
        let port = match from {
            Role::L1 if !self.tus.is_empty() => self.port_of_cache(index),
            Role::L1 | Role::L2 | Role::L3 | Role::Tu | Role::Memory => self.network.port(from, index),
        };
        self.network.crossbar(from).waiting(port) >= self.config.network.vc_buffer_flits
    }

    /// Serves a bank again if what held it up may have changed.
    pub(super) fn retry_bank(&mut self, bank: u16, changed: Held) {
        if self.banks[usize::from(bank)].held == changed {
            self.schedule_serve(bank);
        }
    }

    fn depart(&mut self, id: u32, arrives: Ticks) {
        let &Flight { flits, enqueued, from, source, to, destination, .. } = self.in_flight.get(id);
        let ports = (self.network.port(from, source), self.network.port(to, destination));
        let latency = self.network.crossbar(from).latency(ports.0, ports.1);
        let unloaded = latency + self.clocks.network.cycles(u64::from(flits));
        self.stats.add(Counter::NetworkQueueTicks, (arrives - enqueued).saturating_sub(unloaded));
        self.wheel.schedule(arrives, Event::Arrive(id));
    }

    /// Tells the controllers the time before a step, where they need to know it.
    #[inline]
    pub(super) fn tell_time(&mut self) {
        if self.wakes.is_some() {
            self.outbox.now = self.clocks.core.count(self.wheel.now()) + 1;
        }
    }

    /// Remembers when the controller that has just made a step wants to be woken.
    #[inline]
    pub(super) fn plan_wake(&mut self, agent: AgentId) {
        if let Some(cycle) = self.outbox.wake.take() {
            self.plan_wake_at(agent, cycle);
        }
    }

    #[inline(never)]
    fn plan_wake_at(&mut self, agent: AgentId, cycle: u64) {
        let Some(wakes) = &mut self.wakes else { return };
        let time = self.clocks.core.cycles(cycle - 1);
        let planned = &mut wakes[usize::from(agent.0)];
        if planned.is_none_or(|earlier| time < earlier) {
            *planned = Some(time);
            self.wheel.schedule(time, Event::Wake(agent));
        }
    }

    /// A controller is woken, unless something woke it earlier.
    pub(super) fn wake(&mut self, agent: AgentId) -> Result<(), SimError> {
        let Some(planned) = self.wakes.as_mut().map(|wakes| &mut wakes[usize::from(agent.0)]) else { return Ok(()) };
        if *planned != Some(self.wheel.now()) {
            return Ok(());
        }
        *planned = None;
        self.tell_time();
        let mut outbox = std::mem::take(&mut self.outbox);
        let outcome = self.controller(agent).step_making_room(&Input::Time(Passage::Wake), &mut outbox);
        self.outbox = outbox;
        outcome?;
        self.plan_wake(agent);
        match self.seat(agent) {
            (Role::L1, unit) => {
                self.finish_completions(agent);
                self.route(agent, true)?;
                self.retry_boundary(unit)?;
                self.retry_access_now(unit)
            }
            (Role::Tu, _) => {
                self.route(agent, true)?;
                self.changed(agent);
                Ok(())
            }
            (Role::L2 | Role::L3 | Role::Memory, bank) => {
                self.route(agent, false)?;
                self.retry_bank(bank, Held::Lines);
                Ok(())
            }
        }
    }

    /// A message is at its destination.
    pub(super) fn arrive(&mut self, id: u32) -> Result<(), SimError> {
        let &Flight { network, to, destination, side, .. } = self.in_flight.get(id);
        match to {
            Role::L1 => {
                let cache = &mut self.caches[usize::from(destination)];
                if cache.waiting > 0 || !self.step_cache(destination, id)? {
                    let cache = &mut self.caches[usize::from(destination)];
                    cache.queues[usize::from(network)].push_back(id);
                    cache.waiting += 1;
                    self.serve_cache(destination)?;
                }
                self.retry_boundary(destination)?;
                self.retry_access_now(destination)
            }
            Role::Tu => self.look_up_translation(destination, id),
            Role::L2 | Role::L3 | Role::Memory => {
                let idle = self.banks[usize::from(destination)].is_idle() && self.is_free(destination);
                if idle && self.serve_at_once(destination, id, side)? {
                    return Ok(());
                }
                self.in_flight.get_mut(id).enqueued = self.wheel.now();
                let queue = usize::from(network) * self.sides() + usize::from(side);
                let state = &mut self.banks[usize::from(destination)];
                state.put(queue, id);
                if idle {
                    return Ok(());
                }
                // Behind a head that waits, there is nothing new to serve.
                if state.queues[queue].len() == 1 || state.held == Held::No || self.delivery == Delivery::AnyOrder {
                    return self.serve_or_schedule(destination);
                }
                Ok(())
            }
        }
    }

    /// Gives a private cache the messages that have arrived, as far as it takes them.
    pub(super) fn serve_cache(&mut self, unit: u16) -> Result<(), SimError> {
        let (mut network, mut place) = (0, 0);
        while self.caches[usize::from(unit)].waiting > 0 {
            let Some(queue) = self.caches[usize::from(unit)].queues.get(network) else { break };
            let Some(&id) = self.selectable(queue, place) else {
                (network, place) = (network + 1, 0);
                continue;
            };
            if self.step_cache(unit, id)? {
                let cache = &mut self.caches[usize::from(unit)];
                cache.queues[network].remove(place);
                cache.waiting -= 1;
                // What just changed may be what an earlier message waits for.
                (network, place) = (0, 0);
            } else {
                place += 1;
            }
        }
        Ok(())
    }

    /// The message at a place of a queue, if a controller may take it from there: the head, or any where order does not matter.
    pub(super) fn selectable<'q>(&self, queue: &'q VecDeque<u32>, place: usize) -> Option<&'q u32> {
        queue.get(place).filter(|_| place == 0 || self.delivery == Delivery::AnyOrder)
    }

    /// Steps a private cache with a message. Returns whether the message is consumed.
    fn step_cache(&mut self, unit: u16, id: u32) -> Result<bool, SimError> {
        self.tell_time();
        let input = Input::Message(self.in_flight.message(id));
        let controller = &mut self.caches[usize::from(unit)].controller;
        let outcome = controller.step_making_room(&input, &mut self.outbox)?;
        let agent = self.topology.l1(unit);
        self.plan_wake(agent);
        self.finish_completions(agent);
        self.route(agent, true)?;
        let consumed = outcome == Outcome::Done;
        if consumed {
            self.consume(id);
        }
        Ok(consumed)
    }

    /// Ends the operations that a message completed.
    pub(super) fn finish_completions(&mut self, agent: AgentId) {
        if self.outbox.completions.is_empty() {
            return;
        }
        let (_, unit) = self.topology.role(agent);
        let mut completions = std::mem::take(&mut self.outbox.completions);
        for completion in &completions {
            if let Some(stream) = stream_of(completion.txn) {
                self.boundary_answered(stream);
                continue;
            }
            self.record_values(unit, completion);
            self.access_done(unit, completion.txn.0);
        }
        completions.clear();
        self.outbox.completions = completions;
    }

    /// A message has been taken by its destination: its source may send more.
    pub(super) fn consume(&mut self, id: u32) {
        let &Flight { flits, network, from, source, hop, .. } = self.in_flight.get(id);
        self.in_flight.remove(id);
        if hop.is_some() {
            return;
        }
        let now = self.wheel.now();
        let port = self.network.port(from, source);
        let crossbar = self.network.crossbar_mut(from);
        crossbar.consumed(port, network, u32::from(flits));
        // A busy port sends when it is free.
        if crossbar.waiting(port) > 0 && crossbar.busy_until(port, now).is_none() {
            self.send(from, source);
        }
    }

    /// Serves a bank at its next free edge, if it has anything to serve.
    pub(super) fn schedule_serve(&mut self, bank: u16) {
        let state = &mut self.banks[usize::from(bank)];
        if state.scheduled || state.is_idle() {
            return;
        }
        state.scheduled = true;
        let time = self.clocks.l2.edge(self.wheel.now()).max(state.free);
        self.wheel.schedule(time, Event::Serve(bank));
    }

    /// Serves a bank at once if it is free, without the detour of an event.
    pub(super) fn serve_or_schedule(&mut self, bank: u16) -> Result<(), SimError> {
        if self.is_free(bank) {
            return self.serve_bank(bank);
        }
        self.schedule_serve(bank);
        Ok(())
    }

    /// Whether a bank can serve an input now and is not about to.
    fn is_free(&self, bank: u16) -> bool {
        let now = self.wheel.now();
        let state = &self.banks[usize::from(bank)];
        !state.scheduled && self.clocks.l2.edge(now).max(state.free) == now
    }

    /// From how far messages may come to a bank.
    fn sides(&self) -> usize {
        if self.fabric.is_some() { SIDES } else { 1 }
    }

    /// Lets a bank that nothing else waits for serve a message that has just come from `side`, without the detour of a queue. Returns whether it could.
    fn serve_at_once(&mut self, bank: u16, id: u32, side: u8) -> Result<bool, SimError> {
        if self.is_held_up(bank) || !self.serve_message(bank, id, side == 0)? {
            return Ok(false);
        }
        self.banks[usize::from(bank)].next_side = self.side_after(usize::from(side));
        self.message_served(bank, id);
        Ok(true)
    }

    /// Whether a bank may serve no message, because there is no room for what it might send.
    fn is_held_up(&mut self, bank: u16) -> bool {
        let held = if self.memory_room(bank) < MEMORY_REQUESTS_PER_STEP {
            Held::Memory
        } else if self.port_is_full(Role::L2, bank) {
            Held::Port
        } else {
            return false;
        };
        self.banks[usize::from(bank)].held = held;
        true
    }

    /// The side whose turn it is after `side`.
    fn side_after(&self, side: usize) -> usize {
        if side + 1 == self.sides() { 0 } else { side + 1 }
    }

    /// A bank serves one input: from memory first, then from the virtual networks, answers before requests.
    pub(super) fn serve_bank(&mut self, bank: u16) -> Result<(), SimError> {
        let index = usize::from(bank);
        self.banks[index].scheduled = false;
        if let Some(&id) = self.banks[index].from_memory.front()
            && self.step_bank(bank, id, false)?
        {
            self.banks[index].from_memory.pop_front();
            self.in_flight.remove(id);
            self.served(bank);
            return Ok(());
        }
        if self.is_held_up(bank) {
            return Ok(());
        }
        let sides = self.sides();
        let Bank { occupied, next_side, .. } = self.banks[index];
        for network in (0..self.lanes_per_agent - 1).rev() {
            let first_queue = network * sides;
            // Twice in a row, so that the sides can be taken in turn from any of them on.
            let waiting = occupied >> first_queue & ((1 << sides) - 1);
            let mut turns = (waiting | waiting << sides) >> next_side & ((1 << sides) - 1);
            while turns != 0 {
                let turn = next_side + turns.trailing_zeros() as usize;
                let side = if turn < sides { turn } else { turn - sides };
                turns &= turns - 1;
                if self.serve_queue(bank, first_queue + side, side == 0)? {
                    self.banks[index].next_side = self.side_after(side);
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Lets a bank serve one message of a queue, which is one of its `own` module or not. Returns whether it could.
    fn serve_queue(&mut self, bank: u16, queue: usize, own: bool) -> Result<bool, SimError> {
        let index = usize::from(bank);
        let mut place = 0;
        while let Some(&id) = self.selectable(&self.banks[index].queues[queue], place) {
            if self.serve_message(bank, id, own)? {
                self.banks[index].take(queue, place);
                let waited = self.wheel.now() - self.in_flight.get(id).enqueued;
                self.stats.add(Counter::L2LookupTicks, waited);
                self.message_served(bank, id);
                return Ok(true);
            }
            place += 1;
        }
        Ok(false)
    }

    /// Gives a bank a message, which is one of its `own` module or not. Returns whether it is consumed; what stalls may be in the way of others.
    fn serve_message(&mut self, bank: u16, id: u32, own: bool) -> Result<bool, SimError> {
        let held = own && self.is_held_by_port(bank, id);
        if !held && self.step_bank(bank, id, true)? {
            return Ok(true);
        }
        let now = self.wheel.now();
        let state = &mut self.banks[usize::from(bank)];
        state.stalled_since.get_or_insert(now);
        state.held = Held::Lines;
        Ok(false)
    }

    /// A bank has served a message, which is in no queue any more.
    fn message_served(&mut self, bank: u16, id: u32) {
        self.stats.add(Counter::L2Lookups, 1);
        self.stats.add(Counter::L2LookupTicks, self.latencies.l2_tag);
        self.consume(id);
        self.served(bank);
    }

    /// Steps a bank with a message, making room first if it asks for that. Returns whether the message is consumed.
    fn step_bank(&mut self, bank: u16, id: u32, lookup: bool) -> Result<bool, SimError> {
        self.tell_time();
        let input = Input::Message(self.in_flight.message(id));
        let controller = &mut self.banks[usize::from(bank)].controller;
        let outcome = controller.step_making_room(&input, &mut self.outbox)?;
        // Banks of an L3 follow those of the L2.
        let agent = self.topology.l2(bank);
        self.plan_wake(agent);
        self.finish_commands();
        self.route(agent, lookup && !self.comes_from_l3(self.in_flight.message(id)))?;
        Ok(outcome == Outcome::Done)
    }

    fn served(&mut self, bank: u16) {
        let now = self.wheel.now();
        let of_l2 = bank < self.topology.l2s;
        self.stats.add(if of_l2 { Counter::L2Inputs } else { Counter::L3Inputs }, 1);
        let state = &mut self.banks[usize::from(bank)];
        state.held = Held::No;
        state.free = now + self.clocks.l2.cycles(1);
        if let Some(since) = state.stalled_since.take() {
            self.stats.add(if of_l2 { Counter::L2StallTicks } else { Counter::L3StallTicks }, now - since);
        }
        self.schedule_serve(bank);
    }
}
