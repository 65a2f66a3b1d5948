//! Translation units between caches and the network (Spandex paper, sections III-D and III-F).
//!
//! A unit looks up one message of the network per cycle. Messages between a unit and its cache take no time, as part of
//! the step that sends them. A message that the unit cannot take yet waits. It is tried again when the state of the
//! unit or its cache has changed, and so are inputs that the cache could not accept. A unit and its cache are one
//! component.

use std::collections::VecDeque;

use chorus_protocol::address::AgentId;
use chorus_protocol::controller::{Controller, Input, Outcome, Passage};
use chorus_protocol::message::{Channel, Message};
use chorus_protocol::registry::Delivery;
use chorus_protocol::save::{self, Restore};

use super::SimError;
use super::context::{Context, Env, Handled};
use super::endpoint::Arrival;
use super::plan::{NEVER, Plan, payload_bytes};
use crate::clock::Ticks;
use crate::observe::{Cause, Trigger};
use crate::stats::Counter;

/// A translation unit: its controller and the messages that it could not take yet.
#[derive(Restore)]
pub(super) struct Translation<const W: usize> {
    #[save(built)]
    pub(super) agent: AgentId,
    pub(super) controller: Box<dyn Controller<W>>,
    queues: Vec<VecDeque<u32>>,
    /// How many messages wait in all queues.
    pub(super) waiting: usize,
    /// The time at which it can look up the next message.
    free: Ticks,
    /// Messages that are being looked up, and when that ends.
    looked_up: VecDeque<(Ticks, u32)>,
    /// When inputs that wait are tried again.
    retry: Ticks,
    wake: Ticks,
}

impl<const W: usize> Translation<W> {
    /// Makes an idle translation unit.
    pub(super) fn new(agent: AgentId, controller: Box<dyn Controller<W>>, networks: usize) -> Self {
        let queues = vec![VecDeque::new(); networks];
        let (looked_up, never) = (VecDeque::new(), NEVER);
        Translation { agent, controller, queues, waiting: 0, free: 0, looked_up, retry: never, wake: never }
    }

    /// The time of its next event.
    pub(super) fn next(&self, ctx: &Context<W>) -> Ticks {
        let arrival = ctx.endpoints[usize::from(self.agent.0)].next_arrival();
        let looked_up = self.looked_up.front().map_or(NEVER, |&(time, _)| time);
        arrival.min(looked_up).min(self.retry).min(self.wake)
    }

    /// Takes a message that has arrived and looks it up. Returns the message if that takes no time.
    fn look_up(&mut self, now: Ticks, ctx: &mut Context<W>, plan: &Plan<'_>) -> Option<u32> {
        let Arrival { id, waited } = ctx.arrive(self.agent, now)?;
        if ctx.recorder.is_some() {
            ctx.note_arrival(plan, id, now, waited);
        }
        ctx.stats.add(Counter::TuInputs, 1);
        let network = plan.clocks.network;
        let time = (network.edge(now) + plan.latencies.tu).max(self.free);
        self.free = time + network.cycles(1);
        if time == now {
            return Some(id);
        }
        self.looked_up.push_back((time, id));
        None
    }

    /// Lets a message wait.
    fn put_back(&mut self, id: u32, now: Ticks, ctx: &mut Context<W>) {
        let packet = ctx.packets.get_mut(id);
        packet.enqueued = now;
        self.queues[usize::from(packet.network)].push_back(id);
        self.waiting += 1;
    }

    /// Plans to try inputs again, after all other events of this tick.
    pub(super) fn plan_retry(&mut self, now: Ticks, client_waits: bool) {
        if client_waits || self.waiting > 0 {
            self.retry = self.retry.min(now);
        }
    }

    /// Sends the messages that the unit has put into the outbox. `delay` is the latency of its cache for a message with
    /// data, and for one without.
    fn route(&mut self, now: Ticks, delay: [Ticks; 2], ctx: &mut Context<W>, plan: &Plan<'_>) {
        let mut messages = std::mem::take(&mut ctx.outbox.messages);
        for message in &messages {
            let spec = plan.spec(message);
            match spec.channel {
                Channel::Instant => ctx.instant.push_back(*message),
                Channel::Virtual(_) | Channel::Memory => {
                    let payload = payload_bytes(message, spec);
                    let cache = delay[usize::from(payload == 0)];
                    ctx.post(plan, message, spec, payload, now + cache + plan.latencies.tu);
                }
            }
        }
        messages.clear();
        ctx.outbox.messages = messages;
    }
}

/// The message at a place of a queue, if a controller may take it from there: the head, or any message where order does
/// not matter.
#[inline]
pub(super) fn selectable(queue: &VecDeque<u32>, place: usize, any_order: bool) -> Option<u32> {
    queue.get(place).filter(|_| place == 0 || any_order).copied()
}

/// A component that may have a translation unit.
pub(super) trait Client<const W: usize> {
    /// The time of the event that is being handled, or of the last one.
    fn now(&self) -> Ticks;
    /// The agent of the cache.
    fn agent(&self) -> AgentId;
    /// The translation unit, on a machine that has them.
    fn translation(&mut self) -> &mut Translation<W>;
    /// The latency of the cache for messages with data, and for those without.
    fn lookup(&self, plan: &Plan<'_>) -> [Ticks; 2];
    /// Whether an input of the cache waits that a change of state may let pass.
    fn waits(&self) -> bool;
    /// Gives the cache a message that takes no time.
    fn take_instant(
        &mut self,
        message: &Message<W>,
        ctx: &mut Context<W>,
        env: &Env<'_>,
    ) -> Result<Outcome, Box<SimError>>;
    /// Tries inputs of the cache again that it could not accept.
    fn retry(&mut self, ctx: &mut Context<W>, env: &Env<'_>) -> Handled;

    /// Sends a message that takes no time, within the component of the cache or to another one.
    fn send_instant(&self, message: &Message<W>, ctx: &mut Context<W>, env: &Env<'_>) {
        if env.plan.place(message.dst).component == self.agent() {
            ctx.instant.push_back(*message);
        } else {
            ctx.deliver_at_once(message, self.now());
        }
    }

    /// Handles the next event of the translation unit.
    fn translate(&mut self, ctx: &mut Context<W>, env: &Env<'_>) -> Handled {
        let now = self.now();
        let translation = self.translation();
        if translation.looked_up.front().is_some_and(|&(time, _)| time <= now) {
            return match translation.looked_up.pop_front() {
                Some((_, id)) => self.translate_message(id, ctx, env),
                None => Ok(()),
            };
        }
        if ctx.end(translation.agent).next_arrival() <= now {
            return match translation.look_up(now, ctx, env.plan) {
                Some(id) => self.translate_message(id, ctx, env),
                None => Ok(()),
            };
        }
        if translation.wake <= now {
            translation.wake = NEVER;
            let at = translation.agent;
            ctx.begin_step(env.plan, now, || Trigger::Alone { at, cause: Cause::Timer });
            self.step_translation(&Input::Time(Passage::Wake), ctx, env)?;
            self.changed();
            return Ok(());
        }
        self.retry_translation(ctx, env)
    }

    /// The unit takes a message that it has looked up, or lets it wait.
    fn translate_message(&mut self, id: u32, ctx: &mut Context<W>, env: &Env<'_>) -> Handled {
        let network = usize::from(ctx.packets.get(id).network);
        let behind = env.plan.delivery == Delivery::InOrder && !self.translation().queues[network].is_empty();
        if behind || !self.translate_now(id, ctx, env)? {
            let now = self.now();
            self.translation().put_back(id, now, ctx);
        }
        Ok(())
    }

    /// Steps the unit with a message of the network. Returns whether the message is consumed.
    fn translate_now(&mut self, id: u32, ctx: &mut Context<W>, env: &Env<'_>) -> Result<bool, Box<SimError>> {
        let message = *ctx.packets.message(id);
        let (at, cause) = (self.translation().agent, Cause::Translation);
        ctx.begin_step(env.plan, self.now(), || Trigger::Message { id, at, cause });
        let consumed = self.step_translation(&Input::Message(&message), ctx, env)? == Outcome::Done;
        if consumed {
            ctx.consume(env.plan, id, self.now());
            self.changed();
        }
        Ok(consumed)
    }

    /// Steps the unit and sends what follows.
    fn step_translation(
        &mut self,
        input: &Input<'_, W>,
        ctx: &mut Context<W>,
        env: &Env<'_>,
    ) -> Result<Outcome, Box<SimError>> {
        let (now, delay) = (self.now(), self.lookup(env.plan));
        ctx.tell_time(env.plan, now);
        let translation = self.translation();
        let outcome = translation.controller.step(input, &mut ctx.outbox)?;
        translation.wake = ctx.wake_time(env.plan).map_or(translation.wake, |time| time.min(translation.wake));
        translation.route(now, delay, ctx, env.plan);
        self.deliver_instant(ctx, env)?;
        Ok(outcome)
    }

    /// Delivers the messages that take no time, and the messages of this kind that they cause, in the order sent.
    fn deliver_instant(&mut self, ctx: &mut Context<W>, env: &Env<'_>) -> Handled {
        while let Some(message) = ctx.instant.pop_front() {
            let outcome = if message.dst == self.agent() {
                self.take_instant(&message, ctx, env)?
            } else {
                self.step_translation(&Input::Message(&message), ctx, env)?
            };
            if outcome != Outcome::Done {
                return Err(Box::new(SimError::Waits(format!("{:?}", env.plan.spec(&message).name))));
            }
            self.changed();
        }
        Ok(())
    }

    /// Notes that the state of the unit or of its cache has changed. Inputs that wait there are tried again, after all
    /// other events of this tick.
    fn changed(&mut self) {
        let (now, waits) = (self.now(), self.waits());
        self.translation().plan_retry(now, waits);
    }

    /// Tries the inputs that wait at the unit and at its cache again.
    fn retry_translation(&mut self, ctx: &mut Context<W>, env: &Env<'_>) -> Handled {
        let any_order = env.plan.delivery == Delivery::AnyOrder;
        self.translation().retry = NEVER;
        let (mut network, mut place) = (0, 0);
        while self.translation().waiting > 0 {
            let Some(queue) = self.translation().queues.get(network) else { break };
            let Some(id) = selectable(queue, place, any_order) else {
                (network, place) = (network + 1, 0);
                continue;
            };
            let waited = self.now() - ctx.packets.get(id).enqueued;
            if self.translate_now(id, ctx, env)? {
                ctx.stats.add(Counter::TuStallTicks, waited);
                let translation = self.translation();
                translation.queues[network].remove(place);
                translation.waiting -= 1;
                // The step may have resolved the stall of an earlier message.
                (network, place) = (0, 0);
            } else {
                place += 1;
            }
        }
        self.retry(ctx, env)
    }
}
