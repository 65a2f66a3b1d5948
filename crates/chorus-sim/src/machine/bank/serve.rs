//! The inputs of a bank: the queues before it, and which of them it serves next.

use chorus_protocol::address::Role;
use chorus_protocol::controller::{Input, Outcome};
use chorus_protocol::message::Message;
use chorus_protocol::registry::Delivery;

use super::super::SimError;
use super::super::context::{Context, Env, Handled};
use super::super::endpoint::Arrival;
use super::super::packets::AccessFacts;
use super::super::plan::{NEVER, payload_bytes, time_of_parts};
use super::super::translation::selectable;
use super::memory::MEMORY_REQUESTS_PER_STEP;
use super::{Bank, BankStall};
use crate::clock::Ticks;
use crate::observe::{Cause, Trigger};
use crate::stats::Counter;

impl<const W: usize> Bank<W> {
    /// A message is at the bank.
    pub(super) fn arrive(&mut self, ctx: &mut Context<W>, env: &Env<'_>) -> Handled {
        let Some(Arrival { id, waited }) = ctx.arrive(self.agent, self.now) else { return Ok(()) };
        self.next_arrival = ctx.end(self.agent).next_arrival();
        if ctx.reads_ahead && self.next_arrival < ctx.horizon {
            self.read_messages_ahead(ctx);
        }
        let packet = ctx.packets.get_mut(id);
        (packet.enqueued, packet.waited) = (self.now, waited as u16);
        let (network, origin) = (usize::from(packet.network), usize::from(packet.origin));
        let idle = self.waiting == 0 && self.from_memory.is_empty() && self.is_free(env);
        if idle && self.serve_at_once(id, origin, ctx, env)? {
            return Ok(());
        }
        let queue = network * self.origins + origin;
        self.put(queue, id);
        if idle {
            return Ok(());
        }
        // Behind a head that waits, there is nothing new to serve.
        let is_head = self.queues[queue].len() == 1;
        if is_head || self.stall == BankStall::None || env.plan.delivery == Delivery::AnyOrder {
            return self.serve_or_schedule(ctx, env);
        }
        Ok(())
    }

    /// Adds a message to a queue.
    fn put(&mut self, queue: usize, id: u32) {
        self.queues[queue].push_back(id);
        self.occupied |= 1 << queue;
        self.waiting += 1;
    }

    /// Removes the message at a place of a queue.
    fn take(&mut self, queue: usize, place: usize) {
        let waiting = &mut self.queues[queue];
        if place == 0 {
            waiting.pop_front();
        } else {
            waiting.remove(place);
        }
        if waiting.is_empty() {
            self.occupied &= !(1 << queue);
        }
        self.waiting -= 1;
    }

    /// Serves the bank at its next free edge, if it has anything to serve.
    #[inline]
    pub(super) fn schedule_serve(&mut self, env: &Env<'_>) {
        if self.next_serve == NEVER && (self.waiting > 0 || !self.from_memory.is_empty()) {
            self.next_serve = env.plan.clocks.l2.edge(self.now).max(self.free);
        }
    }

    /// Serves the bank at once if it is free.
    #[inline]
    pub(super) fn serve_or_schedule(&mut self, ctx: &mut Context<W>, env: &Env<'_>) -> Handled {
        if self.is_free(env) {
            return self.serve(ctx, env);
        }
        self.schedule_serve(env);
        Ok(())
    }

    /// Whether the bank can serve an input now and is not about to.
    #[inline]
    fn is_free(&self, env: &Env<'_>) -> bool {
        self.next_serve == NEVER && env.plan.clocks.l2.edge(self.now).max(self.free) == self.now
    }

    /// Lets a bank without waiting inputs serve a message that has just come from `origin`, without the detour of a
    /// queue. Returns whether it could.
    #[inline]
    fn serve_at_once(
        &mut self,
        id: u32,
        origin: usize,
        ctx: &mut Context<W>,
        env: &Env<'_>,
    ) -> Result<bool, Box<SimError>> {
        if self.is_stalled(ctx, env) || !self.serve_message(id, origin == 0, ctx, env)? {
            return Ok(false);
        }
        self.next_origin = self.origin_after(origin);
        self.message_served(id, ctx, env);
        Ok(true)
    }

    /// Whether the bank may serve no message, because there is no room for what it might send.
    #[inline(always)]
    fn is_stalled(&mut self, ctx: &mut Context<W>, env: &Env<'_>) -> bool {
        if self.memory_room() < MEMORY_REQUESTS_PER_STEP {
            self.stall_for(BankStall::Memory, ctx);
            return true;
        }
        if ctx.port_is_full(env.plan, self.agent, self.now) {
            self.stall_for(BankStall::Port, ctx);
            self.retry_at_port(ctx, env);
            return true;
        }
        false
    }

    /// Notes why the bank does not serve what waits. Only a bank that waits for its port tries again when that has sent
    /// something.
    #[inline]
    fn stall_for(&mut self, why: BankStall, ctx: &Context<W>) {
        self.stall = why;
        if self.next_at_port != NEVER {
            self.next_at_port = NEVER;
            self.find_next_rare(ctx);
        }
    }

    /// Plans to serve the bank again when its port has sent something.
    #[inline(never)]
    pub(super) fn retry_at_port(&mut self, ctx: &mut Context<W>, env: &Env<'_>) {
        let departure = ctx.end(self.agent).egress.next_start();
        if departure != NEVER {
            self.next_at_port = self.next_at_port.min(env.plan.clocks.l2.edge(departure.max(self.now) + 1));
            self.next_rare = self.next_rare.min(self.next_at_port);
        }
    }

    /// The origin whose turn it is after `origin`.
    #[inline]
    fn origin_after(&self, origin: usize) -> usize {
        if origin + 1 == self.origins { 0 } else { origin + 1 }
    }

    /// Serves one input: from memory first, then from the virtual networks, answers before requests.
    pub(super) fn serve(&mut self, ctx: &mut Context<W>, env: &Env<'_>) -> Handled {
        if let Some(&id) = self.from_memory.front() {
            // A line that comes may push another one out, which needs room on its way to memory.
            if self.memory_room() == 0 {
                self.stall_for(BankStall::Memory, ctx);
                return Ok(());
            }
            if self.step(id, false, ctx, env)? {
                self.from_memory.pop_front();
                ctx.packets.remove(id);
                self.served(env.plan.clocks.l2.cycles(1), ctx, env);
                return Ok(());
            }
        }
        if self.is_stalled(ctx, env) {
            return Ok(());
        }
        let (origins, occupied, next_origin) = (self.origins, self.occupied, self.next_origin);
        for network in (0..env.plan.networks).rev() {
            let first_queue = network * origins;
            // The bits are repeated, so that the origins can be taken in turn from any of them on.
            let waiting = occupied >> first_queue & ((1 << origins) - 1);
            let mut turns = (waiting | waiting << origins) >> next_origin & ((1 << origins) - 1);
            while turns != 0 {
                let turn = next_origin + turns.trailing_zeros() as usize;
                let origin = if turn < origins { turn } else { turn - origins };
                turns &= turns - 1;
                if self.serve_queue(first_queue + origin, origin == 0, ctx, env)? {
                    self.next_origin = self.origin_after(origin);
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Serves one message of a queue. `own` says whether the queue is for messages of the bank's own module. Returns
    /// whether it could.
    fn serve_queue(
        &mut self,
        queue: usize,
        own: bool,
        ctx: &mut Context<W>,
        env: &Env<'_>,
    ) -> Result<bool, Box<SimError>> {
        let any_order = env.plan.delivery == Delivery::AnyOrder;
        let mut place = 0;
        while let Some(id) = selectable(&self.queues[queue], place, any_order) {
            if self.serve_message(id, own, ctx, env)? {
                self.take(queue, place);
                let waited = self.now - ctx.packets.get(id).enqueued;
                ctx.stats.add(Counter::L2LookupTicks, waited);
                self.message_served(id, ctx, env);
                return Ok(true);
            }
            place += 1;
        }
        Ok(false)
    }

    /// Gives the bank a message. `own` says whether it comes from its own module. Returns whether it is consumed. A
    /// message that stalls may hold up others.
    #[inline(always)]
    fn serve_message(
        &mut self,
        id: u32,
        own: bool,
        ctx: &mut Context<W>,
        env: &Env<'_>,
    ) -> Result<bool, Box<SimError>> {
        let refused = own && self.waits_for_fabric(id, ctx, env);
        if !refused && self.step(id, true, ctx, env)? {
            return Ok(true);
        }
        self.stalled_since.get_or_insert(self.now);
        self.stall_for(BankStall::Lines, ctx);
        Ok(false)
    }

    /// Whether the bank must not take a request of its own module now, because the request carries data and too many
    /// bytes wait at the ports between the bank and the line's home. The bank then tries again when fewer wait. Loads
    /// are never refused: they are few, since a wavefront waits for each, and a cache on their path may answer them.
    /// Messages from other modules are never refused either, so the messages at ports never wait for themselves.
    #[inline]
    fn waits_for_fabric(&mut self, id: u32, ctx: &mut Context<W>, env: &Env<'_>) -> bool {
        let (Some(paths), Some(fabric)) = (&env.plan.paths, &ctx.fabric) else { return false };
        if u32::from(ctx.packets.get(id).bytes) <= env.plan.header_bytes {
            return false;
        }
        let home = env.plan.topology.home_module(ctx.packets.message(id).line);
        if home == self.module {
            return false;
        }
        let Some(until) = fabric.crowded_until(paths.outgoing(self.module, home), self.now) else { return false };
        if self.next_uncrowded == NEVER {
            ctx.stats.add(Counter::PortStallTicks, until - self.now);
            self.next_uncrowded = until;
            self.next_rare = self.next_rare.min(until);
        }
        true
    }

    /// Counts a message that has been served and that is in no queue any more.
    #[inline(always)]
    fn message_served(&mut self, id: u32, ctx: &mut Context<W>, env: &Env<'_>) {
        ctx.stats.add(Counter::L2Lookups, 1);
        ctx.stats.add(Counter::L2LookupTicks, env.plan.latencies.l2_tag);
        let facts = ctx.packets.get(id).facts;
        let busy = match facts.parts + facts.stored {
            0 => env.plan.clocks.l2.cycles(1),
            _ => self.time_of_parts(id, ctx, env),
        };
        ctx.consume(env.plan, id, self.now);
        self.served(busy, ctx, env);
    }

    /// The time that the bank takes for the parts of an atomic or the sectors of a store, if it is the home of the
    /// line.
    #[cold]
    fn time_of_parts(&mut self, id: u32, ctx: &Context<W>, env: &Env<'_>) -> Ticks {
        let (l2, config) = (env.plan.clocks.l2, &env.plan.config.l2);
        let home = env.plan.topology.home_module(ctx.packets.message(id).line);
        let AccessFacts { parts, stored, .. } = ctx.packets.get(id).facts;
        let hundredths = match (config.atomic_percent, config.store_percent) {
            _ if home != self.module => None,
            (Some(percent), _) if parts > 0 => {
                let sectors =
                    self.sectors.as_ref().map(|sectors| sectors.of(ctx.packets.message(id).mask).count_ones());
                let first = sectors.map_or(parts.into(), |sectors| sectors.min(parts.into()));
                Some(first * percent + (u32::from(parts) - first) * config.repeat_percent.unwrap_or(percent))
            }
            (_, Some(percent)) if parts == 0 => Some(u32::from(stored) * percent),
            (None | Some(_), None | Some(_)) => None,
        };
        hundredths.map_or(l2.cycles(1), |hundredths| time_of_parts(hundredths, l2, &mut self.rest_of_parts))
    }

    /// Steps the bank with a message. Returns whether the message is consumed.
    #[inline(never)]
    fn step(&mut self, id: u32, lookup: bool, ctx: &mut Context<W>, env: &Env<'_>) -> Result<bool, Box<SimError>> {
        ctx.begin_step(env.plan, self.now, || self.trigger_of(id));
        ctx.facts = ctx.packets.get(id).facts;
        let input = Input::Message(ctx.packets.message(id));
        let outcome = self.controller.step(&input, &mut ctx.outbox)?;
        self.note_wake(ctx, env);
        self.finish_commands(ctx);
        if !ctx.outbox.messages.is_empty() {
            let lookup = lookup && !self.passes_on(ctx.packets.message(id), env);
            self.route(lookup, ctx, env)?;
        }
        if self.sectors.is_some() && lookup && outcome == Outcome::Done {
            self.note_sectors(ctx.packets.message(id).line, ctx, env);
        }
        Ok(outcome == Outcome::Done)
    }

    /// The trigger of a step with a message, and the reason why the message waited.
    #[cold]
    fn trigger_of(&self, id: u32) -> Trigger {
        let cause = match self.stall {
            BankStall::None => Cause::BankQueue,
            BankStall::Lines => Cause::Directory,
            BankStall::Port => Cause::BankPort,
            BankStall::Memory => Cause::BankMemory,
        };
        Trigger::Message { id, at: self.agent, cause }
    }

    /// An input has been served, which takes the bank for `busy`.
    #[inline]
    fn served(&mut self, busy: Ticks, ctx: &mut Context<W>, env: &Env<'_>) {
        ctx.stats.add(if self.is_of_l2 { Counter::L2Inputs } else { Counter::L3Inputs }, 1);
        self.stall_for(BankStall::None, ctx);
        self.free = self.now + busy;
        if let Some(since) = self.stalled_since.take() {
            let counter = if self.is_of_l2 { Counter::L2StallTicks } else { Counter::L3StallTicks };
            ctx.stats.add(counter, self.now - since);
        }
        self.schedule_serve(env);
    }

    /// Whether a message brings a bank of the L2 data from an L3. The bank passes such data on as it comes.
    #[inline]
    pub(super) fn passes_on(&self, message: &Message<W>, env: &Env<'_>) -> bool {
        let topology = &env.plan.topology;
        if topology.l3s == 0 || !self.is_of_l2 {
            return false;
        }
        let from = topology.role(message.src).0;
        let from_l3 = from == Role::L3 || (from == Role::Tu && topology.tu_of(message.dst) == Some(message.src));
        from_l3 && payload_bytes(message, env.plan.spec(message)) > 0
    }
}
