//! A bank of a shared cache with its directory, its memory channel and a slice of a memory-side L3 where there is one:
//! one component, which runs alone for a window.
//!
//! [`serve`] takes messages from the queues before the bank, [`memory`] moves lines between the bank and its memory
//! channel, [`last_level`] puts a slice of the L3 in between, and [`command`] carries out commands of the command
//! processor.

mod ahead;
mod command;
mod last_level;
mod memory;
mod serve;

use std::collections::VecDeque;

use chorus_protocol::access::Txn;
use chorus_protocol::address::AgentId;
use chorus_protocol::controller::{Controller, Input, Outcome, Passage};
use chorus_protocol::message::{Channel, Message, MessageSpec};
use chorus_protocol::save::{self, Restore, Save};

pub(super) use command::{BankOrder, Part};
use last_level::LastLevel;
use memory::Fetched;

use super::SimError;
use super::context::{Context, Env, Handled, News};
use super::partition::Component;
use super::plan::{NEVER, Plan, payload_bytes};
use super::translation::{Client, Translation};
use crate::clock::Ticks;
use crate::dram::MemoryChannel;
use crate::l3::Slice;
use crate::observe::{Cause, Trigger};
use crate::sectors::Sectors;

/// Origins of the messages of a bank: its module, its GPU, and other GPUs.
const ORIGINS: usize = 3;

/// The reason why a bank does not serve the inputs that wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Save)]
enum BankStall {
    /// The bank is not stalled.
    None,
    /// The state of the lines that the inputs concern.
    Lines,
    /// The network port, until it has sent something.
    Port,
    /// The memory channel, until it has room.
    Memory,
}

/// A bank of a shared cache.
#[derive(Restore)]
pub(super) struct Bank<const W: usize> {
    #[save(built)]
    agent: AgentId,
    #[save(built)]
    module: u16,
    /// Whether it is a bank of the L2, and not of a coherent L3.
    #[save(built)]
    is_of_l2: bool,
    now: Ticks,
    /// When the next message comes.
    next_arrival: Ticks,
    pub(super) controller: Box<dyn Controller<W>>,
    /// The translation unit between the bank and the network, where there is one.
    #[save(each)]
    pub(super) translation: Option<Box<Translation<W>>>,
    /// One queue per virtual network and origin. On one module there is one origin. On machines of several modules,
    /// messages of the module itself, of other modules of the GPU and of other GPUs have a queue each. So requests that
    /// wait for a port, or for an answer from another GPU, never hold up the messages that this port or this GPU waits
    /// for.
    queues: Vec<VecDeque<u32>>,
    /// The number of origins that the bank tells apart.
    #[save(built)]
    origins: usize,
    /// How many inputs wait in all queues.
    waiting: usize,
    /// Which queues are not empty, one bit each.
    occupied: u32,
    /// The origin whose messages are served first next time.
    next_origin: usize,
    from_memory: VecDeque<u32>,
    /// The time at which the bank can serve its next input.
    free: Ticks,
    /// When the bank serves its next input, if it is about to.
    next_serve: Ticks,
    /// The time of the next event that few machines have often.
    next_rare: Ticks,
    /// When a bank tries again whose port was full. This is known as early as windows let it be, so nothing else may
    /// depend on it.
    next_at_port: Ticks,
    /// When a bank tries again that could not take requests because of a crowded port to other modules.
    next_uncrowded: Ticks,
    stall: BankStall,
    stalled_since: Option<Ticks>,
    /// When the last request to memory gets there.
    last_to_memory: Ticks,
    /// Lines that have been read, in the order in which they are at the bank.
    fetched: VecDeque<Fetched>,
    next_fetched: Ticks,
    channel: MemoryChannel,
    next_decision: Ticks,
    /// The latency between the bank and the memory controller.
    #[save(built)]
    memory_leg: Ticks,
    #[save(each)]
    last_level: Option<Box<LastLevel>>,
    /// The sectors that the bank has fetched, where caches fetch lines by sectors.
    #[save(each)]
    sectors: Option<Box<Sectors>>,
    /// Hundredths of a cycle that parts of atomics and of stores have left over.
    rest_of_parts: u64,
    /// Whether the last step has asked memory for a line.
    fetches_line: bool,
    /// When the controller is woken.
    wake: Ticks,
    orders: VecDeque<(Ticks, BankOrder)>,
    next_order: Ticks,
    /// Whether it has a slice of an L3 or a translation unit, which have events of their own.
    #[save(built)]
    has_more: bool,
}

impl<const W: usize> Bank<W> {
    /// Makes an idle bank; `index` counts banks of the L2 and then those of an L3.
    pub(super) fn new(
        plan: &Plan<'_>,
        index: u16,
        controller: Box<dyn Controller<W>>,
        translation: Option<Box<Translation<W>>>,
        slice: Option<Slice>,
    ) -> Bank<W> {
        let agent = plan.topology.l2(index);
        let has_more = slice.is_some() || translation.is_some();
        let origins = if plan.paths.is_some() { ORIGINS } else { 1 };
        Bank {
            agent,
            module: plan.place(agent).module,
            is_of_l2: index < plan.topology.l2s,
            now: 0,
            next_arrival: NEVER,
            controller,
            translation,
            queues: vec![VecDeque::with_capacity(16); plan.networks * origins],
            origins,
            waiting: 0,
            occupied: 0,
            next_origin: 0,
            from_memory: VecDeque::with_capacity(16),
            free: 0,
            next_serve: NEVER,
            next_rare: NEVER,
            next_at_port: NEVER,
            next_uncrowded: NEVER,
            stall: BankStall::None,
            stalled_since: None,
            last_to_memory: 0,
            fetched: VecDeque::with_capacity(16),
            next_fetched: NEVER,
            channel: MemoryChannel::new(
                &plan.config.dram,
                plan.clocks.dram,
                plan.config.l1.line_bytes,
                plan.jitter(index),
            ),
            next_decision: NEVER,
            memory_leg: plan.network.as_ref().map_or(0, |network| network.memory_leg(agent.0)),
            sectors: plan.sector_bytes.map(|bytes| {
                let lines = plan.config.l2.bank_bytes / plan.config.l1.line_bytes;
                Box::new(Sectors::new(lines, bytes))
            }),
            rest_of_parts: 0,
            fetches_line: false,
            last_level: slice.map(|slice| Box::new(LastLevel::new(slice))),
            wake: NEVER,
            orders: VecDeque::new(),
            next_order: NEVER,
            has_more,
        }
    }

    /// Whether it is a bank of the L2, and not of a coherent L3.
    pub(super) fn is_of_l2(&self) -> bool {
        self.is_of_l2
    }

    /// Lets the lines of the bank be watched.
    pub(super) fn watched(self, watch: impl Fn(AgentId, Box<dyn Controller<W>>) -> Box<dyn Controller<W>>) -> Bank<W> {
        Bank { controller: watch(self.agent, self.controller), ..self }
    }

    /// Gives the bank an order, which comes at `time`.
    pub(super) fn order(&mut self, time: Ticks, order: BankOrder) {
        let later = self.orders.iter().rev().take_while(|&&(other, _)| other > time).count();
        self.orders.insert(self.orders.len() - later, (time, order));
        self.next_order = self.next_order.min(time);
        self.next_rare = self.next_rare.min(time);
    }

    fn run_events(&mut self, until: Ticks, ctx: &mut Context<W>, env: &Env<'_>) -> Handled {
        loop {
            let time = self.next_event();
            if time >= until {
                return Ok(());
            }
            debug_assert!(time >= self.now, "an event in the past");
            self.now = time;
            // Of two events at one time, the one named first here comes first.
            if self.next_arrival == time {
                self.arrive(ctx, env)?;
            } else if self.next_fetched == time {
                self.fetched(ctx, env)?;
            } else if self.next_decision == time {
                self.decide_memory(ctx, env);
            } else if self.next_serve == time {
                self.next_serve = NEVER;
                self.serve(ctx, env)?;
            } else {
                self.rare_event(ctx, env)?;
                self.find_next_rare(ctx);
                continue;
            }
            if self.has_more {
                self.find_next_rare(ctx);
            }
        }
    }

    /// The time of the next event.
    #[inline(always)]
    fn next_event(&self) -> Ticks {
        let memory = self.next_fetched.min(self.next_decision);
        self.next_arrival.min(memory).min(self.next_serve).min(self.next_rare)
    }

    /// Looks for the next event that few machines have often.
    #[inline(never)]
    fn find_next_rare(&mut self, ctx: &Context<W>) {
        let next = self.next_at_port.min(self.next_order).min(self.wake).min(self.next_uncrowded);
        self.next_rare = if self.has_more { self.next_of_more(ctx).min(next) } else { next };
    }

    /// The time of the next event of the slice of the L3 or of the translation unit.
    fn next_of_more(&self, ctx: &Context<W>) -> Ticks {
        let slice = self.last_level.as_ref().map_or(NEVER, |last_level| last_level.next());
        self.translation.as_ref().map_or(slice, |translation| translation.next(ctx).min(slice))
    }

    #[inline(never)]
    fn rare_event(&mut self, ctx: &mut Context<W>, env: &Env<'_>) -> Handled {
        let now = self.now;
        if self.next_at_port <= now {
            self.next_at_port = NEVER;
            return self.serve_or_schedule(ctx, env);
        }
        if self.next_order <= now {
            let order = self.orders.pop_front();
            self.next_order = self.orders.front().map_or(NEVER, |&(time, _)| time);
            return order.map_or(Ok(()), |(_, order)| self.command(order, ctx, env));
        }
        if self.wake <= now {
            return self.wake(ctx, env);
        }
        if self.next_uncrowded <= now {
            self.next_uncrowded = NEVER;
            self.schedule_serve(env);
            return Ok(());
        }
        if self.last_level.as_ref().is_some_and(|last_level| last_level.next() <= now) {
            self.last_level_event(ctx, env);
            return Ok(());
        }
        self.translate(ctx, env)
    }

    /// The controller is woken at the time that it asked for.
    fn wake(&mut self, ctx: &mut Context<W>, env: &Env<'_>) -> Handled {
        self.wake = NEVER;
        ctx.begin_step(env.plan, self.now, || Trigger::Alone { at: self.agent, cause: Cause::Timer });
        self.controller.step(&Input::Time(Passage::Wake), &mut ctx.outbox)?;
        self.note_wake(ctx, env);
        self.route(false, ctx, env)?;
        self.retry(BankStall::Lines, env);
        Ok(())
    }

    /// Notes the wish of the controller to be woken, if it has one.
    #[inline(always)]
    fn note_wake(&mut self, ctx: &mut Context<W>, env: &Env<'_>) {
        if let Some(time) = ctx.wake_time(env.plan) {
            self.wake = self.wake.min(time);
            self.next_rare = self.next_rare.min(time);
        }
    }

    /// Serves the bank again if the reason of its stall may have changed.
    #[inline]
    fn retry(&mut self, changed: BankStall, env: &Env<'_>) {
        if self.stall == changed {
            self.schedule_serve(env);
        }
    }

    /// Sends the messages that the last step put into the outbox. `lookup` says whether the step began with a tag
    /// lookup.
    #[inline]
    fn route(&mut self, lookup: bool, ctx: &mut Context<W>, env: &Env<'_>) -> Handled {
        if ctx.outbox.messages.is_empty() { Ok(()) } else { self.route_all(lookup, ctx, env) }
    }

    #[inline(always)]
    fn route_all(&mut self, lookup: bool, ctx: &mut Context<W>, env: &Env<'_>) -> Handled {
        let latencies = &env.plan.latencies;
        let tag = if lookup { latencies.l2_tag } else { 0 };
        let passed_on = !lookup && self.is_of_l2;
        let data = if passed_on { latencies.l2_fill } else { latencies.l2_data };
        let mut messages = std::mem::take(&mut ctx.outbox.messages);
        for message in &messages {
            let spec = env.plan.spec(message);
            let payload = payload_bytes(message, spec);
            let ready = self.now + tag + if payload > 0 { data } else { 0 };
            self.post(message, spec, payload, ready, ctx, env);
        }
        messages.clear();
        ctx.outbox.messages = messages;
        if ctx.instant.is_empty() { Ok(()) } else { self.deliver_instant(ctx, env) }
    }

    /// Sends a message with so many bytes of data at `ready`.
    #[inline(always)]
    fn post(
        &mut self,
        message: &Message<W>,
        spec: &MessageSpec,
        payload: u32,
        ready: Ticks,
        ctx: &mut Context<W>,
        env: &Env<'_>,
    ) {
        match spec.channel {
            Channel::Virtual(_) => ctx.post(env.plan, message, spec, payload, ready),
            Channel::Memory => self.post_to_memory(message, payload, ready, ctx, env),
            Channel::Instant => self.send_instant(message, ctx, env),
        }
    }

    /// Reports commands that the bank has completed.
    #[inline]
    fn finish_commands(&mut self, ctx: &mut Context<W>) {
        while let Some(completion) = ctx.outbox.completions.pop() {
            if let Txn::Boundary(stream) = completion.txn {
                ctx.reports.push((self.now, self.agent, News::Commanded { stream }));
            }
        }
    }
}

impl<const W: usize> Component<W> for Bank<W> {
    #[inline]
    fn run(&mut self, until: Ticks, ctx: &mut Context<W>, env: &Env<'_>) -> Result<Ticks, Box<SimError>> {
        self.next_arrival = ctx.end(self.agent).next_arrival();
        if self.stall == BankStall::Port {
            self.retry_at_port(ctx, env);
        }
        if self.has_more {
            self.find_next_rare(ctx);
        }
        self.run_events(until, ctx, env)?;
        ctx.last = ctx.last.max(self.now);
        let mut next = self.next_event().min(ctx.finish(env.plan, self.agent, until));
        if let Some(translation) = &self.translation {
            next = next.min(ctx.finish(env.plan, translation.agent, until));
        }
        Ok(next)
    }

    fn read_ahead(&self, agent: usize, depth: usize, ctx: &Context<W>, _: &Env<'_>) {
        Bank::read_ahead(self, agent, depth, ctx);
    }
}

impl<const W: usize> Client<W> for Bank<W> {
    fn now(&self) -> Ticks {
        self.now
    }

    fn agent(&self) -> AgentId {
        self.agent
    }

    fn translation(&mut self) -> &mut Translation<W> {
        self.translation.as_mut().expect("only banks with a translation unit have such events")
    }

    fn lookup(&self, plan: &Plan<'_>) -> [Ticks; 2] {
        [plan.latencies.l2_tag + plan.latencies.l2_data, plan.latencies.l2_tag]
    }

    fn waits(&self) -> bool {
        self.stall == BankStall::Lines
    }

    fn take_instant(
        &mut self,
        message: &Message<W>,
        ctx: &mut Context<W>,
        env: &Env<'_>,
    ) -> Result<Outcome, Box<SimError>> {
        let outcome = self.controller.step(&Input::Message(message), &mut ctx.outbox)?;
        self.finish_commands(ctx);
        self.route(!self.passes_on(message, env), ctx, env)?;
        Ok(outcome)
    }

    fn retry(&mut self, _: &mut Context<W>, env: &Env<'_>) -> Handled {
        Bank::retry(self, BankStall::Lines, env);
        Ok(())
    }
}
