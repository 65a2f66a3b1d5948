//! Messages in transit: from controllers through the network to controllers.

use std::collections::VecDeque;

use chorus_protocol::address::{AgentId, Role};
use chorus_protocol::controller::{Input, Outcome, Passage};
use chorus_protocol::message::{Channel, Message, MessageSpec, Size, memory};
use chorus_protocol::registry::{Delivery, Values};

use super::between_modules::ORIGINS;
use super::boundary::stream_of;
use super::memory_channel::MEMORY_REQUESTS_PER_STEP;
use super::packets::Packet;
use super::{Bank, BankStall, Event, SimError, Simulator, write_line};
use crate::clock::Ticks;
use crate::compute_unit::Stalled;
use crate::crossbar::Parcel;
use crate::stats::Counter;

/// Marks a message between a bank and its memory channel.
const TO_MEMORY: u8 = u8::MAX;

/// The number of 16-byte flits of a message, as gem5's network counts them: one for the header, and a whole line if the
/// message carries any data.
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

impl<const W: usize> Simulator<'_, W> {
    /// Sends the messages that the last step of `sender` put into the outbox. `lookup` says whether the step began with
    /// a tag lookup.
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

    /// Delivers the messages that take no time, and the messages of this kind that they cause, in the order sent.
    fn deliver_instant(&mut self) -> Result<(), SimError> {
        while let Some(message) = self.instant.pop_front() {
            let mut outbox = std::mem::take(&mut self.outbox);
            let outcome = self.controller(message.dst).step(&Input::Message(&message), &mut outbox);
            self.outbox = outbox;
            let outcome = outcome?;
            debug_assert_eq!(outcome, Outcome::Done, "a message that takes no time cannot wait: {message:?}");
            self.finish_completions(message.dst);
            self.route(message.dst, !self.comes_from_l3(&message))?;
            self.changed(message.dst);
        }
        Ok(())
    }

    /// Sends a message after the latency of its sender.
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

    /// Sends a message of a bank at `time`.
    pub(super) fn post_later(&mut self, message: &Message<W>, time: Ticks) {
        let spec = &self.specs[usize::from(message.kind.0)];
        match spec.channel {
            Channel::Virtual(network) => self.post_at(message, spec, network, time),
            Channel::Memory => self.post_at(message, spec, TO_MEMORY, time),
            Channel::Instant => self.instant.push_back(*message),
        }
    }

    /// Sends a message at `time`. Messages of one agent on one network leave in the order sent.
    fn post_at(&mut self, message: &Message<W>, spec: &MessageSpec, network: u8, mut time: Ticks) {
        let (from, source) = self.role_and_index(message.src);
        let payload = payload_bytes(message, spec);
        let flits = self.flits[payload as usize];
        let bytes = self.config.network.header_bytes + payload;
        let (to, destination) = self.role_and_index(message.dst);
        let mut path = None;
        if network == TO_MEMORY {
            self.banks[usize::from(source)].to_memory += 1;
            time += self.memory_legs[usize::from(source)];
            // Later fetches are behind a write-back on the same channel, so memory may have its data from now on.
            if message.kind == memory::WB && self.values == Values::Carried {
                let line = self.pages.virtual_line(message.line);
                write_line(self.memory.words_mut(), line, message.mask, &message.data);
            }
        } else {
            path = self.path_between_modules(message, from == to);
            if let Some(distance) = path.and_then(|path| path.distance) {
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
        let packet = Packet {
            enqueued: time,
            flits,
            bytes: bytes as u16,
            source,
            destination,
            from,
            to,
            network,
            hop: path.map(|path| path.hop),
            modules: path.map_or([0; 2], |path| path.modules),
            origin: path.map_or(0, |path| path.origin()),
        };
        let id = self.packets.insert(packet, message, payload > 0);
        self.wheel.schedule(time, Event::Inject(id));
    }

    /// The first time from `time` on at which an agent's messages on one network stay in order.
    fn in_order(&mut self, sender: AgentId, network: u8, time: Ticks) -> Ticks {
        let lanes = self.lanes_per_agent;
        let last = &mut self.injected[usize::from(sender.0) * lanes + usize::from(network).min(lanes - 1)];
        *last = time.max(*last);
        *last
    }

    /// A message leaves its controller, or comes to the next port of its path to another module.
    pub(super) fn inject(&mut self, id: u32) {
        let &Packet { flits, network, from, source, to, destination, hop, .. } = self.packets.get(id);
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
        if let Some(departure) = crossbar.pass(port, parcel, now) {
            self.depart(id, departure.arrives);
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

    /// Lets the port of a private cache, a bank or a translation unit send messages, now or when it is free.
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
            let Some(departure) = crossbar.send(port, now) else { break };
            self.depart(departure.id, departure.arrives);
        }
        if self.port_is_full(from, index) {
            return;
        }
        match from {
            Role::L1 => self.retry_access(index, Stalled::Port),
            Role::Tu => self.retry_client(index),
            Role::L2 | Role::L3 | Role::Memory => self.retry_bank(index, BankStall::Port),
        }
    }

    /// Whether so many messages wait at a port that the controller behind it takes no more inputs that could add to
    /// them.
    pub(super) fn port_is_full(&mut self, from: Role, index: u16) -> bool {
        let port = match from {
            Role::L1 if !self.tus.is_empty() => self.port_of_cache(index),
            Role::L1 | Role::L2 | Role::L3 | Role::Tu | Role::Memory => self.network.port(from, index),
        };
        self.network.crossbar(from).waiting(port) >= self.config.network.vc_buffer_flits
    }

    /// Serves a bank again if the reason of its stall may have changed.
    pub(super) fn retry_bank(&mut self, bank: u16, changed: BankStall) {
        if self.banks[usize::from(bank)].stall == changed {
            self.schedule_serve(bank);
        }
    }

    fn depart(&mut self, id: u32, arrives: Ticks) {
        let &Packet { flits, enqueued, from, source, to, destination, .. } = self.packets.get(id);
        let ports = (self.network.port(from, source), self.network.port(to, destination));
        let latency = self.network.crossbar(from).latency(ports.0, ports.1);
        let unloaded = latency + self.clocks.network.cycles(u64::from(flits));
        self.stats.add(Counter::NetworkQueueTicks, (arrives - enqueued).saturating_sub(unloaded));
        self.wheel.schedule(arrives, Event::Arrive(id));
    }

    /// Tells the controllers the time before a step, where the protocol has synchronised counters.
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
        let outcome = self.controller(agent).step(&Input::Time(Passage::Wake), &mut outbox);
        self.outbox = outbox;
        outcome?;
        self.plan_wake(agent);
        match self.role_and_index(agent) {
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
                self.retry_bank(bank, BankStall::Lines);
                Ok(())
            }
        }
    }

    /// A message is at its destination.
    pub(super) fn arrive(&mut self, id: u32) -> Result<(), SimError> {
        let &Packet { network, to, destination, origin, .. } = self.packets.get(id);
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
                if idle && self.serve_at_once(destination, id, origin)? {
                    return Ok(());
                }
                self.packets.get_mut(id).enqueued = self.wheel.now();
                let queue = usize::from(network) * self.origins() + usize::from(origin);
                let state = &mut self.banks[usize::from(destination)];
                state.put(queue, id);
                if idle {
                    return Ok(());
                }
                // Behind a head that waits, there is nothing new to serve.
                if state.queues[queue].len() == 1
                    || state.stall == BankStall::None
                    || self.delivery == Delivery::AnyOrder
                {
                    return self.serve_or_schedule(destination);
                }
                Ok(())
            }
        }
    }

    /// Gives a private cache the messages that have arrived, until it accepts no more of them.
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
                // The step may have resolved the stall of an earlier message.
                (network, place) = (0, 0);
            } else {
                place += 1;
            }
        }
        Ok(())
    }

    /// The message at a place of a queue, if a controller may take it from there: the head, or any message where order
    /// does not matter.
    pub(super) fn selectable<'q>(&self, queue: &'q VecDeque<u32>, place: usize) -> Option<&'q u32> {
        queue.get(place).filter(|_| place == 0 || self.delivery == Delivery::AnyOrder)
    }

    /// Steps a private cache with a message. Returns whether the message is consumed.
    fn step_cache(&mut self, unit: u16, id: u32) -> Result<bool, SimError> {
        self.tell_time();
        let input = Input::Message(self.packets.message(id));
        let controller = &mut self.caches[usize::from(unit)].controller;
        let outcome = controller.step(&input, &mut self.outbox)?;
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
        let &Packet { flits, network, from, source, hop, .. } = self.packets.get(id);
        self.packets.remove(id);
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

    /// The number of origins that a bank tells apart.
    fn origins(&self) -> usize {
        if self.fabric.is_some() { ORIGINS } else { 1 }
    }

    /// Lets a bank without waiting inputs serve a message that has just come from `origin`, without the detour of a
    /// queue. Returns whether it could.
    fn serve_at_once(&mut self, bank: u16, id: u32, origin: u8) -> Result<bool, SimError> {
        if self.is_stalled(bank) || !self.serve_message(bank, id, origin == 0)? {
            return Ok(false);
        }
        self.banks[usize::from(bank)].next_origin = self.origin_after(usize::from(origin));
        self.message_served(bank, id);
        Ok(true)
    }

    /// Whether a bank may serve no message, because there is no room for what it might send.
    fn is_stalled(&mut self, bank: u16) -> bool {
        let stall = if self.memory_room(bank) < MEMORY_REQUESTS_PER_STEP {
            BankStall::Memory
        } else if self.port_is_full(Role::L2, bank) {
            BankStall::Port
        } else {
            return false;
        };
        self.banks[usize::from(bank)].stall = stall;
        true
    }

    /// The origin whose turn it is after `origin`.
    fn origin_after(&self, origin: usize) -> usize {
        if origin + 1 == self.origins() { 0 } else { origin + 1 }
    }

    /// A bank serves one input: from memory first, then from the virtual networks, answers before requests.
    pub(super) fn serve_bank(&mut self, bank: u16) -> Result<(), SimError> {
        let index = usize::from(bank);
        self.banks[index].scheduled = false;
        if let Some(&id) = self.banks[index].from_memory.front()
            && self.step_bank(bank, id, false)?
        {
            self.banks[index].from_memory.pop_front();
            self.packets.remove(id);
            self.served(bank);
            return Ok(());
        }
        if self.is_stalled(bank) {
            return Ok(());
        }
        let origins = self.origins();
        let Bank { occupied, next_origin, .. } = self.banks[index];
        for network in (0..self.lanes_per_agent - 1).rev() {
            let first_queue = network * origins;
            // The bits are repeated, so that the origins can be taken in turn from any of them on.
            let waiting = occupied >> first_queue & ((1 << origins) - 1);
            let mut turns = (waiting | waiting << origins) >> next_origin & ((1 << origins) - 1);
            while turns != 0 {
                let turn = next_origin + turns.trailing_zeros() as usize;
                let origin = if turn < origins { turn } else { turn - origins };
                turns &= turns - 1;
                if self.serve_queue(bank, first_queue + origin, origin == 0)? {
                    self.banks[index].next_origin = self.origin_after(origin);
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Lets a bank serve one message of a queue. `own` says whether the queue is for messages of its own module.
    /// Returns whether it could.
    fn serve_queue(&mut self, bank: u16, queue: usize, own: bool) -> Result<bool, SimError> {
        let index = usize::from(bank);
        let mut place = 0;
        while let Some(&id) = self.selectable(&self.banks[index].queues[queue], place) {
            if self.serve_message(bank, id, own)? {
                self.banks[index].take(queue, place);
                let waited = self.wheel.now() - self.packets.get(id).enqueued;
                self.stats.add(Counter::L2LookupTicks, waited);
                self.message_served(bank, id);
                return Ok(true);
            }
            place += 1;
        }
        Ok(false)
    }

    /// Gives a bank a message. `own` says whether it comes from its own module. Returns whether it is consumed. A
    /// message that stalls may hold up others.
    fn serve_message(&mut self, bank: u16, id: u32, own: bool) -> Result<bool, SimError> {
        let refused = own && self.waits_for_fabric(bank, id);
        if !refused && self.step_bank(bank, id, true)? {
            return Ok(true);
        }
        let now = self.wheel.now();
        let state = &mut self.banks[usize::from(bank)];
        state.stalled_since.get_or_insert(now);
        state.stall = BankStall::Lines;
        Ok(false)
    }

    /// Counts a message that a bank has served and that is in no queue any more.
    fn message_served(&mut self, bank: u16, id: u32) {
        self.stats.add(Counter::L2Lookups, 1);
        self.stats.add(Counter::L2LookupTicks, self.latencies.l2_tag);
        self.consume(id);
        self.served(bank);
    }

    /// Steps a bank with a message and makes room first if the bank asks for it. Returns whether the message is
    /// consumed.
    fn step_bank(&mut self, bank: u16, id: u32, lookup: bool) -> Result<bool, SimError> {
        self.tell_time();
        let input = Input::Message(self.packets.message(id));
        let controller = &mut self.banks[usize::from(bank)].controller;
        let outcome = controller.step(&input, &mut self.outbox)?;
        // Banks of an L3 follow those of the L2.
        let agent = self.topology.l2(bank);
        self.plan_wake(agent);
        self.finish_commands();
        self.route(agent, lookup && !self.comes_from_l3(self.packets.message(id)))?;
        Ok(outcome == Outcome::Done)
    }

    fn served(&mut self, bank: u16) {
        let now = self.wheel.now();
        let of_l2 = bank < self.topology.l2s;
        self.stats.add(if of_l2 { Counter::L2Inputs } else { Counter::L3Inputs }, 1);
        let state = &mut self.banks[usize::from(bank)];
        state.stall = BankStall::None;
        state.free = now + self.clocks.l2.cycles(1);
        if let Some(since) = state.stalled_since.take() {
            self.stats.add(if of_l2 { Counter::L2StallTicks } else { Counter::L3StallTicks }, now - since);
        }
        self.schedule_serve(bank);
    }
}
