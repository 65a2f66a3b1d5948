//! A compute unit or a CPU core with its private cache: one component, which runs alone for a window.
//!
//! Everything between an instruction and the network is here. [`issue`] issues instructions, [`access`] hands line
//! accesses to the private cache, [`complete`] brings values back to wavefronts, [`delays`] lets wavefronts go on at
//! known times, and [`store_buffering`] holds stores before the cache. [`lanes`] is for instructions that touch more or
//! less than a word per lane, [`receive`] takes messages and orders of the host, and [`groups`] starts and ends
//! wavefronts. [`checkpoint`] writes them down.

mod access;
mod ahead;
mod banks;
mod checkpoint;
mod complete;
mod delays;
mod groups;
mod issue;
mod lanes;
mod noting;
mod observed;
mod receive;
mod sectors;
mod store_buffering;

use std::collections::VecDeque;
use std::sync::Arc;

use chorus_kernel::SpareStates;
use chorus_protocol::access::{CoreOp, CoreRequest, Order, Scope, Txn};
use chorus_protocol::address::{AgentId, LineAddr};
use chorus_protocol::controller::{Controller, Input, Outcome};
use chorus_protocol::line::{ByteMask, LineData};
use chorus_protocol::message::Message;
use chorus_protocol::save::{self, Restore};

use banks::Banks;

use super::SimError;
use super::by_time::ByTime;
use super::context::{Context, Env, Handled};
use super::partition::Component;
use super::plan::{NEVER, Plan};
use super::translation::{Client, Translation};
use crate::clock::{Clock, Ticks};
use crate::coalescer::AccessQueue;
use crate::compute_unit::{Group, Job, Stalled, WaveSlot};
use crate::issue::{IssueSlots, WAVES_MAX};
use crate::sectors::Sectors;
use crate::slab::Slab;
use crate::store_buffer::StoreBuffer;
use observed::OBSERVED;

/// An order of the host for a unit.
#[derive(Clone)]
pub(super) enum UnitOrder {
    /// A work-group starts here.
    Group { stream: u8, job: Arc<Job>, work_group: u32 },
    /// A CPU thread starts.
    Thread { stream: u8, job: Arc<Job>, thread: u32 },
    /// A kernel begins or ends, and the private cache is told.
    Boundary { stream: u8, begins: bool },
    /// A page that the unit has touched lies somewhere now.
    Placed,
}

impl UnitOrder {
    /// The place of the order among those of one tick.
    fn rank(&self) -> u8 {
        match self {
            UnitOrder::Boundary { .. } => 0,
            UnitOrder::Placed => 1,
            UnitOrder::Thread { .. } | UnitOrder::Group { .. } => 2,
        }
    }
}

/// A compute unit or a CPU core with its private cache.
#[derive(Restore)]
pub(super) struct Unit<const W: usize> {
    #[save(built)]
    agent: AgentId,
    /// Its number among the compute units and CPU cores of the machine.
    #[save(built)]
    index: u16,
    #[save(built)]
    module: u16,
    #[save(built)]
    gpu: u16,
    #[save(built)]
    pub(super) is_cpu: bool,
    #[save(built)]
    clock: Clock,
    now: Ticks,
    /// When the next message comes.
    next_arrival: Ticks,
    pub(super) controller: Box<dyn Controller<W>>,
    /// The translation unit between the private cache and the network, where there is one.
    #[save(each)]
    pub(super) translation: Option<Box<Translation<W>>>,
    /// Messages that the private cache could not take yet, by virtual network.
    queues: Vec<VecDeque<u32>>,
    /// How many messages wait in all queues.
    waiting: usize,
    /// The request of the access at the head of the queue. It is stored until the cache accepts it.
    head: CoreRequest<W>,
    /// Whether `head` describes the access at the head of the queue.
    head_is_current: bool,
    #[save(each)]
    store_buffer: Option<StoreBuffer<W>>,
    /// Streams whose kernel boundary the cache could not accept yet, one bit each.
    boundaries_waiting: u64,
    /// Streams among these whose kernel begins, one bit each.
    boundaries_begin: u64,
    #[save(built)]
    loads_in_flight_max: u32,
    #[save(apart)]
    pub(super) waves: Vec<Option<WaveSlot>>,
    #[save(built)]
    spare_states: SpareStates,
    groups: Slab<Group>,
    slots: IssueSlots,
    pub(super) accesses: AccessQueue,
    banks: Banks,
    /// The answers of a new access: one, and a mark where somebody observes the run.
    #[save(built)]
    answers: u8,
    /// Since when the head of the access queue cannot be accepted, and why.
    stalled: Option<(Ticks, Stalled)>,
    /// Wavefronts that wait for room in the access queue.
    waiting_for_queue: u64,
    /// Wavefronts that wait for a load to return before they can go on issuing.
    waiting_for_loads: u64,
    /// When the next instruction issues.
    next_issue: Ticks,
    /// When the head of the access queue goes to the private cache.
    next_access: Ticks,
    /// Accesses that have been answered: when their values reach the wavefronts.
    answered: VecDeque<(Ticks, u32)>,
    /// When the first of them does.
    next_answer: Ticks,
    /// Accesses that the store buffer has answered.
    answered_by_buffer: VecDeque<(Ticks, u32)>,
    /// Wavefronts that wait for something of known length, and until when.
    delayed: ByTime<(Ticks, u16)>,
    next_delayed: Ticks,
    /// Wavefronts that issue arithmetic whose instructions wait for each other, one bit each.
    chains: u64,
    /// When the results of this arithmetic are there.
    chain_ends: Box<[Ticks; WAVES_MAX]>,
    /// When all arrivals at barriers have been taken.
    barriers_free: Ticks,
    /// When the banks of the local data share are free.
    banks_free: Ticks,
    /// The time of the next event that few programs or machines have often.
    next_rare: Ticks,
    /// When the private cache is woken.
    wake: Ticks,
    #[save(apart)]
    orders: VecDeque<(Ticks, UnitOrder)>,
    next_order: Ticks,
    /// The sectors that the private cache has fetched, where it fetches lines by sectors.
    #[save(each)]
    sectors: Option<Box<Sectors>>,
    /// Sectors that are on their way.
    sectors_in_flight: u32,
    /// Hundredths of a cycle that parts of atomics have left over.
    rest_of_parts: u64,
    /// Whether it has a store buffer or a translation unit, which have events of their own.
    #[save(built)]
    has_more: bool,
}

impl<const W: usize> Unit<W> {
    /// Makes an idle unit whose private cache is `controller`.
    pub(super) fn new(
        plan: &Plan<'_>,
        index: u16,
        controller: Box<dyn Controller<W>>,
        translation: Option<Box<Translation<W>>>,
    ) -> Unit<W> {
        let (config, agent) = (plan.config, plan.topology.l1(index));
        let is_cpu = plan.topology.is_cpu(index);
        let clock = if is_cpu { plan.clocks.cpu } else { plan.clocks.core };
        let cpu = config.cpu.as_ref().filter(|_| is_cpu);
        let stores = cpu.map_or(config.core.store_buffer_entries, |cpu| cpu.store_buffer_entries);
        let place = plan.place(agent);
        Unit {
            agent,
            index,
            module: place.module,
            gpu: place.gpu,
            is_cpu,
            clock,
            now: 0,
            next_arrival: NEVER,
            controller,
            translation,
            queues: vec![VecDeque::new(); plan.networks],
            waiting: 0,
            head: lineless_request(CoreOp::Fence, Order::AcqRel, Scope::Gpu, 0, Txn::Operation(0)),
            head_is_current: false,
            store_buffer: StoreBuffer::new(stores),
            boundaries_waiting: 0,
            boundaries_begin: 0,
            loads_in_flight_max: if is_cpu { 1 } else { config.core.loads_in_flight },
            waves: (0..config.core.wavefronts).map(|_| None).collect(),
            spare_states: SpareStates::default(),
            groups: Slab::default(),
            slots: IssueSlots::new(config.core.scheduler, if is_cpu { clock } else { plan.clocks.issue }),
            accesses: AccessQueue::new(config.core.combines_atomic_lanes(), plan.counts_parts),
            answers: if plan.is_observed { OBSERVED | 1 } else { 1 },
            banks: Banks::new(config.l1.banks),
            stalled: None,
            waiting_for_queue: 0,
            waiting_for_loads: 0,
            next_issue: NEVER,
            next_access: NEVER,
            answered: VecDeque::new(),
            next_answer: NEVER,
            answered_by_buffer: VecDeque::new(),
            sectors: plan.sector_bytes.map(|bytes| {
                let lines = config.l1.size_bytes / config.l1.line_bytes;
                Box::new(Sectors::new(lines, bytes))
            }),
            sectors_in_flight: 0,
            rest_of_parts: 0,
            delayed: ByTime::default(),
            next_delayed: NEVER,
            chains: 0,
            chain_ends: Box::new([0; WAVES_MAX]),
            barriers_free: 0,
            banks_free: 0,
            next_rare: NEVER,
            wake: NEVER,
            orders: VecDeque::new(),
            next_order: NEVER,
            has_more: stores > 0 || plan.topology.tu_of(agent).is_some(),
        }
    }

    /// Lets the lines of the private cache be watched.
    pub(super) fn watched(self, watch: impl Fn(AgentId, Box<dyn Controller<W>>) -> Box<dyn Controller<W>>) -> Unit<W> {
        Unit { controller: watch(self.agent, self.controller), ..self }
    }

    /// Gives the unit an order, which comes at `time`. Orders of one tick come in a fixed order of kinds, since those
    /// of the host and those of a dispatcher are given at different times.
    pub(super) fn order(&mut self, time: Ticks, order: UnitOrder) {
        let key = (time, order.rank());
        let later = self.orders.iter().rev().take_while(|(time, other)| (*time, other.rank()) > key).count();
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
            } else if self.next_answer == time {
                self.answer_next(ctx, env);
            } else if self.next_access == time {
                self.serve_accesses(ctx, env)?;
            } else if self.next_issue == time {
                self.issue(ctx, env)?;
                // Nothing comes between an instruction and the access that it makes at once.
                if self.next_access == time && self.next_answer > time {
                    self.serve_accesses(ctx, env)?;
                }
            } else if self.next_rare == time {
                self.rare_event(ctx, env)?;
                self.find_next_rare(ctx);
                continue;
            } else {
                self.end_delays(ctx);
            }
            if self.has_more {
                self.find_next_rare(ctx);
            }
        }
    }

    /// The time of the next event.
    #[inline(always)]
    fn next_event(&self) -> Ticks {
        self.next_arrival
            .min(self.next_answer)
            .min(self.next_access)
            .min(self.next_issue)
            .min(self.next_rare)
            .min(self.next_delayed)
    }

    /// The agent whose port the messages of the unit leave by.
    #[inline]
    fn port(&self) -> AgentId {
        self.translation.as_ref().map_or(self.agent, |translation| translation.agent)
    }

    /// The wavefront in a slot.
    #[inline]
    fn wave(&mut self, wave: usize) -> &mut WaveSlot {
        self.waves[wave].as_mut().expect("events name only occupied wavefront slots")
    }

    /// The head of the access queue cannot be accepted.
    fn stall(&mut self, why: Stalled) {
        let since = self.stalled.map_or(self.now, |(since, _)| since);
        self.stalled = Some((since, why));
    }
}

/// A request that concerns no line.
pub(super) fn lineless_request<const W: usize>(
    op: CoreOp,
    order: Order,
    scope: Scope,
    wave: u16,
    txn: Txn,
) -> CoreRequest<W> {
    CoreRequest { op, order, scope, line: LineAddr(0), mask: ByteMask::EMPTY, data: LineData::default(), wave, txn }
}

impl<const W: usize> Component<W> for Unit<W> {
    #[inline]
    fn run(&mut self, until: Ticks, ctx: &mut Context<W>, env: &Env<'_>) -> Result<Ticks, Box<SimError>> {
        self.next_arrival = ctx.end(self.agent).next_arrival();
        if matches!(self.stalled, Some((_, Stalled::Port))) {
            self.retry_at_port(ctx);
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

    fn read_ahead(&self, agent: usize, depth: usize, ctx: &Context<W>, env: &Env<'_>) {
        Unit::read_ahead(self, agent, depth, ctx, env);
    }
}

impl<const W: usize> Client<W> for Unit<W> {
    fn now(&self) -> Ticks {
        self.now
    }

    fn agent(&self) -> AgentId {
        self.agent
    }

    fn translation(&mut self) -> &mut Translation<W> {
        self.translation.as_mut().expect("only caches with a translation unit have such events")
    }

    fn lookup(&self, plan: &Plan<'_>) -> [Ticks; 2] {
        [plan.latencies.of_l1(self.is_cpu); 2]
    }

    fn waits(&self) -> bool {
        self.stalled.is_some() || self.boundaries_waiting != 0
    }

    fn take_instant(
        &mut self,
        message: &Message<W>,
        ctx: &mut Context<W>,
        env: &Env<'_>,
    ) -> Result<Outcome, Box<SimError>> {
        let outcome = self.controller.step(&Input::Message(message), &mut ctx.outbox)?;
        self.finish_completions(ctx, env);
        self.route(ctx, env)?;
        Ok(outcome)
    }

    fn retry(&mut self, ctx: &mut Context<W>, env: &Env<'_>) -> Handled {
        self.retry_boundary(ctx, env)?;
        self.retry_access_now(ctx, env)
    }
}
