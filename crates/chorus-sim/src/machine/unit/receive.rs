//! Messages that a private cache gets, its wishes to be woken, and orders of the host.

use chorus_protocol::access::{CoreOp, Order, Scope, Txn};
use chorus_protocol::controller::{Input, Outcome, Passage};
use chorus_protocol::message::Channel;
use chorus_protocol::registry::Delivery;

use super::super::SimError;
use super::super::context::{Context, Env, Handled, News};
use super::super::endpoint::Arrival;
use super::super::packets::AccessFacts;
use super::super::plan::{NEVER, payload_bytes};
use super::super::translation::{Client, selectable};
use super::{Unit, UnitOrder, lineless_request};
use crate::clock::Ticks;
use crate::compute_unit::Stalled;
use crate::distribution::Source;
use crate::observe::{Cause, Trigger};

impl<const W: usize> Unit<W> {
    /// Looks for the next event that few programs or machines have often.
    #[inline(never)]
    pub(super) fn find_next_rare(&mut self, ctx: &Context<W>) {
        let next = self.next_order.min(self.wake);
        self.next_rare = if self.has_more { self.next_of_more(ctx).min(next) } else { next };
    }

    /// Notes the wish of the private cache to be woken, if it has one.
    #[inline(always)]
    pub(super) fn note_wake(&mut self, ctx: &mut Context<W>, env: &Env<'_>) {
        if let Some(time) = ctx.wake_time(env.plan) {
            self.wake = self.wake.min(time);
            self.next_rare = self.next_rare.min(time);
        }
    }

    /// The time of the next event of the store buffer or of the translation unit.
    fn next_of_more(&self, ctx: &Context<W>) -> Ticks {
        let buffer = self.answered_by_buffer.front().map_or(NEVER, |&(time, _)| time);
        self.translation.as_ref().map_or(buffer, |translation| translation.next(ctx).min(buffer))
    }

    /// Handles the next event that few programs or machines have often.
    #[inline(never)]
    pub(super) fn rare_event(&mut self, ctx: &mut Context<W>, env: &Env<'_>) -> Handled {
        let now = self.now;
        if self.next_order <= now {
            let order = self.orders.pop_front();
            self.next_order = self.orders.front().map_or(NEVER, |&(time, _)| time);
            return order.map_or(Ok(()), |(_, order)| self.obey(order, ctx, env));
        }
        if self.wake <= now {
            return self.wake(ctx, env);
        }
        if self.answered_by_buffer.front().is_some_and(|&(time, _)| time <= now) {
            if let Some((_, id)) = self.answered_by_buffer.pop_front() {
                ctx.answered_from = Source::Private;
                self.access_done(id, ctx, env);
            }
            return Ok(());
        }
        self.translate(ctx, env)
    }

    fn obey(&mut self, order: UnitOrder, ctx: &mut Context<W>, env: &Env<'_>) -> Handled {
        match order {
            UnitOrder::Group { stream, job, work_group } => self.start_group(stream, &job, work_group, ctx, env),
            UnitOrder::Thread { stream, job, thread } => self.start_thread(stream, &job, thread, ctx, env),
            UnitOrder::Boundary { stream, begins } => {
                let bit = 1 << stream;
                self.boundaries_begin = if begins { self.boundaries_begin | bit } else { self.boundaries_begin & !bit };
                return self.tell(stream, ctx, env);
            }
            UnitOrder::Placed => self.retry_access(Stalled::Page),
        }
        Ok(())
    }

    /// Tells the private cache that a kernel begins or ends.
    fn tell(&mut self, stream: u8, ctx: &mut Context<W>, env: &Env<'_>) -> Handled {
        let bit = 1 << stream;
        let (op, order) = match self.boundaries_begin & bit != 0 {
            true => (CoreOp::KernelBegin, Order::Acquire),
            false => (CoreOp::KernelEnd, Order::Release),
        };
        ctx.begin_step(env.plan, self.now, || Trigger::Alone { at: self.agent, cause: Cause::Boundary });
        let request = lineless_request(op, order, Scope::System, 0, Txn::Boundary(stream));
        let outcome = self.controller.step(&Input::Core(&request), &mut ctx.outbox)?;
        let waits = outcome != Outcome::Done;
        self.boundaries_waiting = if waits { self.boundaries_waiting | bit } else { self.boundaries_waiting & !bit };
        self.note_wake(ctx, env);
        self.finish_completions(ctx, env);
        self.route(ctx, env)
    }

    /// Tells the private cache again of the kernel boundaries that it could not accept, since a message has changed its
    /// state.
    #[inline]
    pub(super) fn retry_boundary(&mut self, ctx: &mut Context<W>, env: &Env<'_>) -> Handled {
        let mut waiting = self.boundaries_waiting;
        while waiting != 0 {
            self.tell(waiting.trailing_zeros() as u8, ctx, env)?;
            waiting &= waiting - 1;
        }
        Ok(())
    }

    /// The private cache is woken at the time that it asked for.
    fn wake(&mut self, ctx: &mut Context<W>, env: &Env<'_>) -> Handled {
        self.wake = NEVER;
        ctx.begin_step(env.plan, self.now, || Trigger::Alone { at: self.agent, cause: Cause::Timer });
        self.controller.step(&Input::Time(Passage::Wake), &mut ctx.outbox)?;
        self.note_wake(ctx, env);
        self.finish_completions(ctx, env);
        self.route(ctx, env)?;
        self.retry_boundary(ctx, env)?;
        self.retry_access_now(ctx, env)
    }

    /// A message is at the private cache.
    pub(super) fn arrive(&mut self, ctx: &mut Context<W>, env: &Env<'_>) -> Handled {
        let Some(Arrival { id, .. }) = ctx.arrive(self.agent, self.now) else { return Ok(()) };
        self.next_arrival = ctx.end(self.agent).next_arrival();
        if ctx.reads_ahead && self.next_arrival < ctx.horizon {
            self.read_messages_ahead(ctx);
        }
        if self.waiting > 0 || !self.step_cache(id, ctx, env)? {
            if ctx.recorder.is_some() {
                ctx.note_arrival(env.plan, id, self.now, 0);
            }
            let network = ctx.packets.get(id).network;
            self.queues[usize::from(network)].push_back(id);
            self.waiting += 1;
            self.serve_cache(ctx, env)?;
        }
        self.retry_boundary(ctx, env)?;
        self.retry_access_now(ctx, env)
    }

    /// Gives the private cache the messages that have arrived, until it accepts no more of them.
    #[inline(never)]
    pub(super) fn serve_cache(&mut self, ctx: &mut Context<W>, env: &Env<'_>) -> Handled {
        let any_order = env.plan.delivery == Delivery::AnyOrder;
        let (mut network, mut place) = (0, 0);
        while self.waiting > 0 {
            let Some(queue) = self.queues.get(network) else { break };
            let Some(id) = selectable(queue, place, any_order) else {
                (network, place) = (network + 1, 0);
                continue;
            };
            if self.step_cache(id, ctx, env)? {
                self.queues[network].remove(place);
                self.waiting -= 1;
                // The step may have resolved the stall of an earlier message.
                (network, place) = (0, 0);
            } else {
                place += 1;
            }
        }
        Ok(())
    }

    /// Steps the private cache with a message. Returns whether the message is consumed.
    #[inline(always)]
    fn step_cache(&mut self, id: u32, ctx: &mut Context<W>, env: &Env<'_>) -> Result<bool, Box<SimError>> {
        let (at, cause) = (self.agent, Cause::BankQueue);
        ctx.begin_step(env.plan, self.now, || Trigger::Message { id, at, cause });
        ctx.facts = AccessFacts::default();
        ctx.answered_from = ctx.packets.get(id).facts.farthest;
        let input = Input::Message(ctx.packets.message(id));
        let outcome = self.controller.step(&input, &mut ctx.outbox)?;
        self.note_wake(ctx, env);
        self.finish_completions(ctx, env);
        self.route(ctx, env)?;
        let consumed = outcome == Outcome::Done;
        if consumed {
            ctx.consume(env.plan, id, self.now);
        }
        Ok(consumed)
    }

    /// Ends the operations that the last step of the private cache completed.
    #[inline]
    pub(super) fn finish_completions(&mut self, ctx: &mut Context<W>, env: &Env<'_>) {
        if ctx.outbox.completions.is_empty() {
            return;
        }
        let mut completions = std::mem::take(&mut ctx.outbox.completions);
        for completion in &completions {
            match completion.txn {
                Txn::Operation(id) => {
                    self.record_values(id, completion, ctx, env);
                    self.access_done(id, ctx, env);
                }
                Txn::Boundary(stream) => {
                    ctx.progress = ctx.progress.max(self.now);
                    ctx.reports.push((self.now, self.agent, News::Answered { stream }));
                }
                Txn::None | Txn::Merged | Txn::Converted | Txn::Bank(_) | Txn::Warming => {}
            }
        }
        completions.clear();
        ctx.outbox.completions = completions;
    }

    /// Sends the messages that the last step of the private cache put into the outbox.
    #[inline]
    pub(super) fn route(&mut self, ctx: &mut Context<W>, env: &Env<'_>) -> Handled {
        if ctx.outbox.messages.is_empty() { Ok(()) } else { self.route_all(ctx, env) }
    }

    fn route_all(&mut self, ctx: &mut Context<W>, env: &Env<'_>) -> Handled {
        let plan = env.plan;
        let mut messages = std::mem::take(&mut ctx.outbox.messages);
        let ready = self.now + plan.latencies.of_l1(self.is_cpu);
        for message in &messages {
            let spec = plan.spec(message);
            match spec.channel {
                Channel::Virtual(_) | Channel::Memory => {
                    ctx.post(plan, message, spec, payload_bytes(message, spec), ready);
                }
                Channel::Instant => self.send_instant(message, ctx, env),
            }
        }
        messages.clear();
        ctx.outbox.messages = messages;
        if ctx.instant.is_empty() { Ok(()) } else { self.deliver_instant(ctx, env) }
    }
}
