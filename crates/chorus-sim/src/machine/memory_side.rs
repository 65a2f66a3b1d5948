//! Messages on their way: from controllers through the crossbars to controllers, and between banks and memory channels.

use chorus_protocol::address::{AgentId, Role};
use chorus_protocol::controller::{Input, Outcome};
use chorus_protocol::message::{Channel, Message, Size, memory};

use super::{Event, Held, InFlight, Machine, SimError, controller_of, read_line, step, write_line};
use crate::clock::Ticks;
use crate::compute_unit::Stalled;
use crate::crossbar::{Parcel, Sent};
use crate::dram::DramRequest;
use crate::frontend::Kernel;
use crate::stats::Counter;

/// Marks a message between a bank and its memory channel.
const TO_MEMORY: u8 = u8::MAX;

/// Requests to memory that one step of a bank can send: a write-back and a fetch.
const MEMORY_REQUESTS_PER_STEP: usize = 2;

impl<const W: usize> Machine<'_, W> {
    /// Sends what the last step of `sender` put into the outbox. `lookup` says whether the step began with a tag lookup.
    pub(super) fn route(&mut self, sender: AgentId, lookup: bool, kernel: &Kernel) -> Result<(), SimError> {
        if self.outbox.messages.is_empty() {
            return Ok(());
        }
        let mut outbox = std::mem::take(&mut self.outbox);
        for message in &outbox.messages {
            match self.specs[usize::from(message.kind.0)].channel {
                Channel::Virtual(network) => self.post(sender, message, network, lookup),
                Channel::Memory => self.post(sender, message, TO_MEMORY, lookup),
                Channel::Instant => self.instant.push(*message),
            }
        }
        outbox.clear();
        self.outbox = outbox;
        self.deliver_instant(kernel)
    }

    /// Delivers the messages that take no time, and those that they cause, in the order sent.
    fn deliver_instant(&mut self, kernel: &Kernel) -> Result<(), SimError> {
        while !self.instant.is_empty() {
            let message = self.instant.remove(0);
            let controller = controller_of(&mut self.caches, &mut self.banks, self.topology, message.dst);
            step(controller, &Input::Message(&message), &mut self.outbox)?;
            self.finish_completions(message.dst, kernel);
            self.route(message.dst, true, kernel)?;
        }
        Ok(())
    }

    /// Puts a message on its way. Messages of one agent on one network leave in the order sent.
    fn post(&mut self, sender: AgentId, message: &Message<W>, network: u8, lookup: bool) {
        let spec = &self.specs[usize::from(message.kind.0)];
        let payload = match spec.size {
            Size::Control => 0,
            Size::Line => W as u32 * 4,
            Size::Masked => message.mask.bytes(),
        };
        let flits = 1 + payload.div_ceil(self.config.network.flit_bytes);
        let delay = match self.topology.role(sender) {
            (Role::L1, _) => self.clocks.core.cycles(u64::from(self.config.l1.latency_cycles)),
            (Role::L2 | Role::Memory, _) => {
                let tag = if lookup { self.config.l2.tag_latency_cycles } else { 0 };
                let data = if payload > 0 { self.config.l2.data_latency_cycles } else { 0 };
                self.clocks.l2.cycles(u64::from(tag + data))
            }
        };
        if network == TO_MEMORY {
            self.banks[usize::from(self.topology.role(sender).1)].to_memory += 1;
            // Later fetches are behind a write-back on the same channel, so they may find it in memory already.
            if message.kind == memory::WB {
                write_line(self.memory.words_mut(), message.line, message.mask, &message.data);
            }
        } else {
            let bytes = u64::from(self.config.network.header_bytes + payload);
            self.stats.add(Counter::NetworkMessages, 1);
            self.stats.add_traffic(spec.class, u64::from(flits), bytes);
        }
        let time = self.in_order(sender, network, self.wheel.now() + delay);
        let id = self.in_flight.insert_with(|slot| {
            slot.message.copy_from(message, payload > 0);
            (slot.flits, slot.network, slot.enqueued) = (flits, network, time);
        });
        self.wheel.schedule(time, Event::Inject(id));
    }

    /// The first time from `time` on that keeps an agent's messages on one network in order.
    fn in_order(&mut self, sender: AgentId, network: u8, time: Ticks) -> Ticks {
        let networks = self.caches[0].queues.len();
        let lane = usize::from(network).min(networks);
        let last = &mut self.injected[usize::from(sender.0) * (networks + 1) + lane];
        *last = time.max(*last);
        *last
    }

    /// A message leaves its controller.
    pub(super) fn inject(&mut self, id: u32) {
        let &InFlight { ref message, flits, network, .. } = self.in_flight.get(id);
        if network == TO_MEMORY {
            self.enqueue_memory(id);
            return;
        }
        let (role, port) = self.topology.role(message.src);
        let to = self.topology.role(message.dst).1;
        let parcel = Parcel { id, to, network, flits };
        match role {
            Role::L1 => {
                self.requests.enqueue(port, parcel);
                self.send_requests(port);
            }
            Role::L2 | Role::Memory => {
                self.responses.enqueue(port, parcel);
                self.send_responses(port);
            }
        }
    }

    /// Lets a compute unit's port send what it can.
    pub(super) fn send_requests(&mut self, port: u16) {
        let now = self.wheel.now();
        while self.requests.waiting(port) > 0 {
            match self.requests.send(port, now) {
                Sent::Flight(flight) => self.depart(flight.id, flight.arrives),
                Sent::BusyUntil(time) => {
                    if !std::mem::replace(&mut self.request_scheduled[usize::from(port)], true) {
                        self.wheel.schedule(time, Event::SendRequest(port));
                    }
                    break;
                }
                Sent::Nothing => break,
            }
        }
        if !self.port_is_full(port) {
            self.retry_access(port, Stalled::Port);
        }
    }

    /// Lets a bank's port send what it can.
    pub(super) fn send_responses(&mut self, port: u16) {
        let now = self.wheel.now();
        while self.responses.waiting(port) > 0 {
            match self.responses.send(port, now) {
                Sent::Flight(flight) => self.depart(flight.id, flight.arrives),
                Sent::BusyUntil(time) => {
                    if !std::mem::replace(&mut self.response_scheduled[usize::from(port)], true) {
                        self.wheel.schedule(time, Event::SendResponse(port));
                    }
                    break;
                }
                Sent::Nothing => break,
            }
        }
        if !self.bank_port_is_full(port) {
            self.retry_bank(port, Held::Port);
        }
    }

    fn bank_port_is_full(&self, bank: u16) -> bool {
        self.responses.waiting(bank) >= self.config.network.vc_buffer_flits
    }

    /// Serves a bank again if what held it up may have changed.
    fn retry_bank(&mut self, bank: u16, changed: Held) {
        if self.banks[usize::from(bank)].held == changed {
            self.schedule_serve(bank);
        }
    }

    fn depart(&mut self, id: u32, arrives: Ticks) {
        let &InFlight { flits, enqueued, .. } = self.in_flight.get(id);
        let unloaded = self.clocks.network.cycles(u64::from(self.config.network.latency_cycles + flits));
        self.stats.add(Counter::NetworkQueueTicks, (arrives - enqueued).saturating_sub(unloaded));
        self.wheel.schedule(arrives, Event::Arrive(id));
    }

    /// A message is at its destination.
    pub(super) fn arrive(&mut self, id: u32, kernel: &Kernel) -> Result<(), SimError> {
        let &InFlight { ref message, network, .. } = self.in_flight.get(id);
        match self.topology.role(message.dst) {
            (Role::L1, unit) => {
                self.caches[usize::from(unit)].queues[usize::from(network)].push_back(id);
                self.serve_cache(unit, kernel)?;
                self.retry_access_now(unit, kernel)
            }
            (Role::L2 | Role::Memory, bank) => {
                let state = &mut self.banks[usize::from(bank)];
                let queue = &mut state.queues[usize::from(network)];
                queue.push_back(id);
                state.waiting += 1;
                // Behind a head that waits, there is nothing new to serve.
                if queue.len() == 1 || state.held == Held::No {
                    return self.serve_or_schedule(bank, kernel);
                }
                Ok(())
            }
        }
    }

    /// Gives a private cache the messages that have arrived, as far as it takes them.
    pub(super) fn serve_cache(&mut self, unit: u16, kernel: &Kernel) -> Result<(), SimError> {
        let mut network = 0;
        while network < self.caches[usize::from(unit)].queues.len() {
            let Some(&id) = self.caches[usize::from(unit)].queues[network].front() else {
                network += 1;
                continue;
            };
            let message = &self.in_flight.get(id).message;
            let agent = message.dst;
            let controller = &mut self.caches[usize::from(unit)].controller;
            let outcome = step(controller, &Input::Message(message), &mut self.outbox)?;
            self.finish_completions(agent, kernel);
            self.route(agent, true, kernel)?;
            if outcome == Outcome::Done {
                self.caches[usize::from(unit)].queues[network].pop_front();
                self.consume(id);
                // What just changed may be what an earlier queue waits for.
                network = 0;
            } else {
                network += 1;
            }
        }
        Ok(())
    }

    /// Ends the operations that a message completed.
    fn finish_completions(&mut self, agent: AgentId, kernel: &Kernel) {
        let (_, unit) = self.topology.role(agent);
        let mut completions = std::mem::take(&mut self.outbox.completions);
        for completion in completions.drain(..) {
            self.record_values(unit, &completion);
            self.access_done(unit, completion.txn.0, kernel);
        }
        self.outbox.completions = completions;
    }

    /// A message has been taken by its destination: its source may send more.
    fn consume(&mut self, id: u32) {
        let &InFlight { ref message, flits, network, .. } = self.in_flight.get(id);
        let source = self.topology.role(message.src);
        self.in_flight.remove(id);
        match source {
            (Role::L1, port) => {
                self.requests.consumed(port, network, flits);
                self.send_requests(port);
            }
            (Role::L2 | Role::Memory, port) => {
                self.responses.consumed(port, network, flits);
                self.send_responses(port);
            }
        }
    }

    /// Serves a bank at its next free edge, if it has anything to serve.
    pub(super) fn schedule_serve(&mut self, bank: u16) {
        let state = &mut self.banks[usize::from(bank)];
        if state.scheduled || (state.from_memory.is_empty() && state.waiting == 0) {
            return;
        }
        state.scheduled = true;
        let time = self.clocks.l2.edge(self.wheel.now()).max(state.free);
        self.wheel.schedule(time, Event::Serve(bank));
    }

    /// Serves a bank at once if it is free, without the detour of an event.
    fn serve_or_schedule(&mut self, bank: u16, kernel: &Kernel) -> Result<(), SimError> {
        let now = self.wheel.now();
        let state = &self.banks[usize::from(bank)];
        if !state.scheduled && self.clocks.l2.edge(now).max(state.free) == now {
            return self.serve_bank(bank, kernel);
        }
        self.schedule_serve(bank);
        Ok(())
    }

    /// A bank serves one input: from memory first, then from the virtual networks, answers before requests.
    pub(super) fn serve_bank(&mut self, bank: u16, kernel: &Kernel) -> Result<(), SimError> {
        let index = usize::from(bank);
        self.banks[index].scheduled = false;
        if let Some(&id) = self.banks[index].from_memory.front()
            && self.step_bank(bank, id, false, kernel)?
        {
            self.banks[index].from_memory.pop_front();
            self.in_flight.remove(id);
            self.served(bank);
            return Ok(());
        }
        if self.memory_room(bank) < MEMORY_REQUESTS_PER_STEP {
            self.banks[index].held = Held::Memory;
            return Ok(());
        }
        if self.bank_port_is_full(bank) {
            self.banks[index].held = Held::Port;
            return Ok(());
        }
        for network in (0..self.banks[index].queues.len()).rev() {
            let Some(&id) = self.banks[index].queues[network].front() else { continue };
            if self.step_bank(bank, id, true, kernel)? {
                self.banks[index].queues[network].pop_front();
                self.banks[index].waiting -= 1;
                self.consume(id);
                self.served(bank);
                return Ok(());
            }
            let now = self.wheel.now();
            self.banks[index].stalled_since.get_or_insert(now);
            self.banks[index].held = Held::Lines;
        }
        Ok(())
    }

    /// Requests that a bank may still send to its memory channel.
    fn memory_room(&self, bank: u16) -> usize {
        let index = usize::from(bank);
        self.channels[index].room().saturating_sub(self.banks[index].to_memory)
    }

    /// Steps a bank with a message, making room first if it asks for that. Returns whether the message is consumed.
    fn step_bank(&mut self, bank: u16, id: u32, lookup: bool, kernel: &Kernel) -> Result<bool, SimError> {
        let input = Input::Message(&self.in_flight.get(id).message);
        let outcome = step(&mut self.banks[usize::from(bank)].controller, &input, &mut self.outbox)?;
        self.route(self.topology.l2(bank), lookup, kernel)?;
        Ok(outcome == Outcome::Done)
    }

    fn served(&mut self, bank: u16) {
        let now = self.wheel.now();
        self.stats.add(Counter::L2Inputs, 1);
        let state = &mut self.banks[usize::from(bank)];
        state.held = Held::No;
        state.free = now + self.clocks.l2.cycles(1);
        if let Some(since) = state.stalled_since.take() {
            self.stats.add(Counter::L2StallTicks, now - since);
        }
        self.schedule_serve(bank);
    }

    /// A request arrives at a memory channel.
    fn enqueue_memory(&mut self, id: u32) {
        let message = &self.in_flight.get(id).message;
        let (_, bank) = self.topology.role(message.src);
        let index = usize::from(bank);
        let write = message.kind == memory::WB;
        self.stats.add(if write { Counter::DramWrites } else { Counter::DramReads }, 1);
        let line = self.topology.line_in_bank(message.line);
        self.banks[index].to_memory -= 1;
        self.channels[index].push(DramRequest { id, line, write });
        self.schedule_decision(bank, self.wheel.now());
    }

    fn schedule_decision(&mut self, channel: u16, time: Ticks) {
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
        if decision.write {
            self.in_flight.remove(decision.id);
        } else {
            self.wheel.schedule(decision.done, Event::Fetched(decision.id));
        }
        self.schedule_decision(channel, decision.next);
        if self.memory_room(channel) >= MEMORY_REQUESTS_PER_STEP {
            self.retry_bank(channel, Held::Memory);
        }
    }

    /// A line has been read: its fetch becomes the answer.
    pub(super) fn fetched(&mut self, id: u32, kernel: &Kernel) -> Result<(), SimError> {
        let fetch = self.in_flight.get(id).message;
        let data = read_line(self.memory.words(), fetch.line);
        self.in_flight.get_mut(id).message = fetch.reply_line(memory::MEM_DATA, &data);
        let (_, bank) = self.topology.role(fetch.src);
        self.banks[usize::from(bank)].from_memory.push_back(id);
        self.serve_or_schedule(bank, kernel)
    }
}
