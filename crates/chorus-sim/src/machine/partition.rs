//! A partition: a part of a machine that runs alone for a turn, on one thread. It has compute units, banks and the
//! ports between its modules, which run window by window.

use std::any::Any;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError};

use chorus_protocol::address::LineAddr;
use chorus_protocol::address::{AgentId, Role};
use chorus_protocol::controller::Controller;
use chorus_protocol::line::{ByteMask, LineData};
use chorus_protocol::message::{Message, Size};
use chorus_protocol::save::{Damaged, Reader, Restore};

use super::SimError;
use super::ahead::{Ahead, COMPONENTS_MIN};
use super::bank::Bank;
use super::context::{Context, Env, Handled, Mail, News, Report};
use super::dispatcher::Dispatcher;
use super::endpoint::Endpoint;
use super::fabric::Fabric;
use super::host::Order;
use super::plan::{NEVER, Plan};
use super::stuck::{StuckWave, stuck_waves};
use super::translation::Client;
use super::unit::Unit;
use crate::clock::Ticks;
use crate::compute_unit::Job;
use crate::observe::{Changes, Recorder, SharedObserver, Watched};
use crate::stats::Stats;

/// The agents of one partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Share {
    pub(super) units: Range<u16>,
    pub(super) banks: Range<u16>,
}

/// Divides a machine into partitions. Every GPU is one where there are several. Otherwise there are at most `wanted`:
/// by modules, or by compute units and banks where there is one module. Modules whose components share links are not
/// divided, nor are machines whose components are at the same time always.
pub(super) fn shares(plan: &Plan<'_>, wanted: usize) -> Vec<Share> {
    let topology = plan.topology;
    let banks = topology.l2s + topology.l3s;
    let groups = match (topology.gpus, topology.modules()) {
        _ if plan.is_in_step || topology.tus > 0 => 1,
        (1, 1) if plan.network.is_some() => 1,
        (1, 1) => topology.l1s.min(banks),
        (1, modules) => modules,
        (gpus, _) => gpus,
    };
    let wanted = if plan.dispatches_by_gpu() { usize::from(topology.gpus) } else { wanted };
    let count = wanted.clamp(1, usize::from(groups)) as u16;
    let part = |agents: u16, number: u16| {
        let group = |number: u16| (u32::from(number) * u32::from(groups)).div_ceil(u32::from(count));
        let first = |number: u16| (group(number) * u32::from(agents) / u32::from(groups)) as u16;
        first(number)..first(number + 1)
    };
    (0..count).map(|number| Share { units: part(topology.l1s, number), banks: part(banks, number) }).collect()
}

/// The partition of every agent.
pub(super) fn owners(plan: &Plan<'_>, shares: &[Share]) -> Vec<u8> {
    let owner = |agent: u16| {
        let place = plan.place(plan.place(AgentId(agent)).component);
        let holds = |share: &Share| match place.role {
            Role::L1 => share.units.contains(&place.index),
            Role::L2 | Role::L3 | Role::Tu | Role::Memory => share.banks.contains(&place.index),
        };
        shares.iter().position(holds).unwrap_or(0) as u8
    };
    (0..plan.topology.controllers()).map(owner).collect()
}

/// The reason why a component cannot go on.
pub(super) enum Fault {
    /// Something that the simulation found out.
    Error(Box<SimError>),
    /// A panic, of a kernel in most cases: it may index with values that it read.
    Panic(Box<dyn Any + Send>),
}

/// The reason why a partition cannot go on: when, where and why.
pub(super) type Failure = (Ticks, AgentId, Fault);

/// Copies that are newer than memory, in the order in which they are written to it: copies nearer to a core are newer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Newer {
    /// Lines of translation units, and their messages.
    Translated,
    /// Lines of a coherent L3.
    L3,
    /// Messages of the L2 to an L3.
    ToL3,
    /// Lines of the L2 at their home.
    L2AtHome,
    /// Lines of the L2 elsewhere. The bytes that another module has written are newer than the copy at the home.
    L2Elsewhere,
    /// Messages of private caches.
    FromL1,
    /// Lines of private caches.
    L1,
}

impl Newer {
    /// All of them in order.
    pub(super) const ALL: [Newer; 7] =
        [Newer::Translated, Newer::L3, Newer::ToL3, Newer::L2AtHome, Newer::L2Elsewhere, Newer::FromL1, Newer::L1];

    /// Whether they are written only when no kernel runs. Then every wavefront has finished, so data in transit to a
    /// bank was written back by a private cache and is newer than the copy of the bank.
    pub(super) fn needs_rest(self) -> bool {
        matches!(self, Newer::Translated | Newer::FromL1 | Newer::L1)
    }
}

/// The part of a machine that one thread runs.
pub(super) struct Partition<const W: usize> {
    units: Vec<Unit<W>>,
    banks: Vec<Bank<W>>,
    first_unit: u16,
    first_bank: u16,
    pub(super) ctx: Context<W>,
    /// The dispatcher of its modules, where the host has none for all.
    dispatcher: Option<Dispatcher>,
    /// Orders of the dispatcher that units have not got.
    orders: Vec<(Ticks, AgentId, Order)>,
    /// Reports for the host that the dispatcher has heard.
    heard: usize,
    failure: Option<Failure>,
}

impl<const W: usize> Partition<W> {
    /// An idle partition of these components.
    pub(super) fn new(
        plan: &Plan<'_>,
        share: &Share,
        units: Vec<Unit<W>>,
        banks: Vec<Bank<W>>,
        mut ctx: Context<W>,
    ) -> Self {
        let (first_unit, first_bank) = (plan.topology.l1(share.units.start).0, plan.topology.l2(share.banks.start).0);
        ctx.reads_ahead = units.len() + banks.len() >= COMPONENTS_MIN;
        let dispatcher = plan.dispatches_by_gpu().then(|| Dispatcher::new(plan));
        Partition { units, banks, first_unit, first_bank, ctx, dispatcher, orders: Vec::new(), heard: 0, failure: None }
    }

    /// Lets an observer be told of what happens in it, if there is one.
    pub(super) fn observed(self, observer: Option<&SharedObserver>, plan: &Plan<'_>) -> Self {
        let Some(observer) = observer else { return self };
        let changes = Changes::default();
        let is_watched = observer.lock().unwrap_or_else(PoisonError::into_inner).wants_messages();
        let mut observed = if is_watched { self.watch(&changes) } else { self };
        let recorder = Recorder::new(observer.clone(), plan.topology.l1s, changes);
        observed.ctx.recorder = Some(Box::new(recorder));
        observed
    }

    /// Lets the lines of all its caches and banks be watched.
    fn watch(self, changes: &Changes) -> Self {
        let watched =
            |at, inner| -> Box<dyn Controller<W>> { Box::new(Watched { at, inner, changes: changes.clone() }) };
        let unit = |unit: Unit<W>| unit.watched(watched);
        let bank = |bank: Bank<W>| bank.watched(watched);
        let units = self.units.into_iter().map(unit).collect();
        Partition { units, banks: self.banks.into_iter().map(bank).collect(), ..self }
    }

    /// Takes what other partitions have sent.
    pub(super) fn receive(&mut self, mail: &mut [Mail<W>]) {
        mail.iter_mut().for_each(|mail| self.ctx.receive(mail));
    }

    /// Takes orders of the host.
    pub(super) fn obey(&mut self, orders: impl Iterator<Item = (Ticks, AgentId, Order)>) {
        for (time, agent, order) in orders {
            match order {
                Order::Unit(order) => {
                    self.ctx.call(agent.0, time);
                    self.units[usize::from(agent.0 - self.first_unit)].order(time, order);
                }
                Order::Bank(order) => {
                    self.ctx.call(agent.0, time);
                    self.banks[usize::from(agent.0 - self.first_bank)].order(time, order);
                }
                Order::Start(share) => {
                    if let Some(dispatcher) = &mut self.dispatcher {
                        dispatcher.start(time, share);
                    }
                }
            }
        }
    }

    /// Runs alone until everything before `until` has happened, or until the end of a window in which a component
    /// fails. Its components run window by window.
    pub(super) fn run(&mut self, until: Ticks, env: &Env<'_>) {
        while self.failure.is_none() {
            let next = self.next_here();
            if next >= until {
                return;
            }
            let end = next.saturating_add(env.plan.window).min(until);
            self.run_window(end, env);
            self.dispatch(end, env);
        }
    }

    /// Lets the dispatcher hear of work-groups that have finished before `until`, and start others.
    fn dispatch(&mut self, until: Ticks, env: &Env<'_>) {
        let Some(dispatcher) = &mut self.dispatcher else { return };
        for &(time, agent, news) in &self.ctx.reports[self.heard..] {
            if let News::Finished { stream, is_cpu } = news {
                dispatcher.finished(time, agent, stream, is_cpu);
            }
        }
        self.heard = self.ctx.reports.len();
        dispatcher.run(env.plan, until, &mut self.orders);
        let mut orders = std::mem::take(&mut self.orders);
        self.obey(orders.drain(..));
        self.orders = orders;
    }

    /// Lets every component run alone until everything before `until` has happened.
    fn run_window(&mut self, until: Ticks, env: &Env<'_>) {
        self.ctx.let_in(env.plan, until);
        (self.ctx.soonest, self.ctx.horizon) = (NEVER, until);
        // Where components are at the same time always, messages that take no time go from banks to private caches.
        run_all(&mut self.banks, until, &mut self.ctx, env, &mut self.failure);
        run_all(&mut self.units, until, &mut self.ctx, env, &mut self.failure);
        self.ctx.let_out(env.plan, until);
    }

    /// Whether the state of every wavefront can be written down.
    pub(super) fn can_be_kept(&self) -> bool {
        self.units.iter().all(Unit::can_be_kept)
    }

    /// Appends the state at the end of a turn, if every wavefront can be kept.
    pub(super) fn keep(&self, to: &mut Vec<u8>) {
        // What has been heard and ordered has been handed over at the end of a turn, and nothing has failed.
        let Partition { units, banks, first_unit: _, first_bank: _, ctx, dispatcher, orders: _, heard: _, failure: _ } =
            self;
        units.iter().for_each(|unit| unit.keep_all(to));
        banks.iter().for_each(|bank| bank.keep(to));
        ctx.keep(to);
        dispatcher.iter().for_each(|dispatcher| dispatcher.keep_all(to));
    }

    /// Takes over the state of the same partition. `jobs` are the kernels of all streams.
    pub(super) fn restore(&mut self, from: &mut Reader<'_>, jobs: &[Arc<Job>], plan: &Plan<'_>) -> Result<(), Damaged> {
        self.units.iter_mut().try_for_each(|unit| unit.restore_all(from, jobs, plan))?;
        self.banks.iter_mut().try_for_each(|bank| bank.restore(from))?;
        self.ctx.restore(from)?;
        self.dispatcher.iter_mut().try_for_each(|dispatcher| dispatcher.restore_all(from, jobs))
    }

    /// Takes the reason why it cannot go on.
    pub(super) fn take_failure(&mut self) -> Option<Failure> {
        self.failure.take()
    }

    /// The time at which it has something to do, other partitions with what it has sent them included.
    pub(super) fn next(&self) -> Ticks {
        let sent = self.ctx.mail.iter().map(Mail::next).min().unwrap_or(NEVER);
        self.next_here().min(sent)
    }

    /// The time at which it has something to do.
    fn next_here(&self) -> Ticks {
        let grid = self.ctx.grid.as_ref().map_or(NEVER, |grid| grid.next());
        let fabric = self.ctx.fabric.as_ref().map_or(NEVER, |fabric| fabric.next());
        let dispatcher = self.dispatcher.as_ref().map_or(NEVER, Dispatcher::next);
        self.ctx.soonest.min(grid).min(fabric).min(dispatcher)
    }

    /// The time until which the partition waits for what is on its way now: messages, and the next event of every
    /// component.
    pub(super) fn last_coming(&self) -> Option<Ticks> {
        let events = self.ctx.next.iter().copied().filter(|&time| time != NEVER);
        let messages = self.ctx.endpoints.iter().filter_map(Endpoint::last_coming);
        let between = self.ctx.fabric.iter().filter_map(Fabric::last_coming);
        events.chain(messages).chain(between).max()
    }

    /// Takes the reports for the host.
    pub(super) fn take_reports(&mut self) -> Vec<Report> {
        self.heard = 0;
        std::mem::take(&mut self.ctx.reports)
    }

    /// The counters of the partition.
    pub(super) fn stats(&self) -> &Stats {
        &self.ctx.stats
    }

    /// The tallies of all its controllers, summed: as many as `count`.
    pub(super) fn tallies(&self, count: usize) -> Vec<u64> {
        let banks = self.banks.iter().flat_map(|bank| {
            [Some(&bank.controller), bank.translation.as_ref().map(|translation| &translation.controller)]
        });
        let units = self.units.iter().flat_map(|unit| {
            [Some(&unit.controller), unit.translation.as_ref().map(|translation| &translation.controller)]
        });
        let controllers: Vec<_> = banks.chain(units).flatten().collect();
        let total = |index: usize| -> u64 {
            controllers.iter().filter_map(|controller| controller.tallies().get(index)).map(|tally| tally.get()).sum()
        };
        (0..count).map(total).collect()
    }

    /// Work-groups and CPU threads that its dispatcher has not started.
    pub(super) fn not_started(&self) -> u32 {
        self.dispatcher.as_ref().map_or(0, Dispatcher::not_started)
    }

    /// The wavefronts that have not finished, at most `most` of them, and how many there are.
    pub(super) fn stuck_waves(&self, plan: &Plan<'_>, most: usize) -> (usize, Vec<StuckWave>) {
        stuck_waves(&self.units, plan.topology, most)
    }

    /// Writes copies that are newer than memory to memory, so that the host reads what the caches would answer. This
    /// takes no simulated time.
    pub(super) fn write_back(&self, newer: Newer, env: &Env<'_>) {
        let mut write = |line: LineAddr, mask: ByteMask, data: &LineData<W>| {
            env.memory.write_line(env.pages.virtual_line(line), mask, data);
        };
        let topology = env.plan.topology;
        let l3_banks = || self.banks.iter().filter(|bank| !bank.is_of_l2());
        let translations =
            || self.units.iter().map(|unit| &unit.translation).chain(self.banks.iter().map(|bank| &bank.translation));
        match newer {
            // As far as the shared cache knows, its client still owns the lines that a translation unit writes back, or
            // the lines are there already.
            Newer::Translated => {
                translations().flatten().for_each(|translation| translation.controller.dirty_lines(&mut write));
                self.sent_by(Role::Tu, env.plan).for_each(|sent| write(sent.line, sent.mask, &sent.data));
            }
            Newer::L3 => l3_banks().for_each(|bank| bank.controller.dirty_lines(&mut write)),
            Newer::ToL3 => {
                let to_l3 = |sent: &&Message<W>| topology.role(sent.dst).0 == Role::L3;
                let sent = self.sent_by(Role::L2, env.plan).filter(to_l3);
                sent.for_each(|sent| write(sent.line, sent.mask, &sent.data));
            }
            Newer::L2AtHome | Newer::L2Elsewhere => {
                for bank in self.banks.iter().filter(|bank| bank.is_of_l2()) {
                    let module = env.plan.place(bank.agent()).module;
                    bank.controller.dirty_lines(&mut |line, mask, data| {
                        if (topology.home_module(line) == module) == (newer == Newer::L2AtHome) {
                            write(line, mask, data);
                        }
                    });
                }
            }
            Newer::FromL1 => {
                self.sent_by(Role::L1, env.plan).for_each(|sent| write(sent.line, sent.mask, &sent.data));
            }
            Newer::L1 => self.units.iter().for_each(|unit| unit.controller.dirty_lines(&mut write)),
        }
    }

    /// The messages with data that agents of a role have sent and that have not been taken.
    fn sent_by<'p>(&'p self, role: Role, plan: &'p Plan<'p>) -> impl Iterator<Item = &'p Message<W>> {
        let with_data = |message: &&Message<W>| plan.spec(*message).size != Size::Control;
        let by_role = move |message: &&Message<W>| plan.topology.role(message.src).0 == role;
        self.ctx.packets.live().filter(with_data).filter(by_role)
    }
}

/// A part of a machine that runs alone for a window.
pub(super) trait Component<const W: usize>: Client<W> {
    /// Runs until everything before `until` has happened. Returns the time at which it has to run next.
    fn run(&mut self, until: Ticks, ctx: &mut Context<W>, env: &Env<'_>) -> Result<Ticks, Box<SimError>>;

    /// Asks the host for what the component, which `agent` names, will look at when it runs, at this depth (see
    /// [`Ahead`]).
    fn read_ahead(&self, agent: usize, depth: usize, ctx: &Context<W>, env: &Env<'_>);
}

/// Lets components run that have something to do before `until`. If one of them cannot go on, the others do until then,
/// so that the earliest failure can be told.
fn run_all<const W: usize, C: Component<W>>(
    components: &mut [C],
    until: Ticks,
    ctx: &mut Context<W>,
    env: &Env<'_>,
    failure: &mut Option<Failure>,
) {
    let mut place = 0;
    while place < components.len() {
        // Unwinding is safe: the component does not run again, and the others get none of what it leaves half done.
        let ended = catch_unwind(AssertUnwindSafe(|| run_from(components, &mut place, until, ctx, env)));
        let fault = match ended {
            Ok(Ok(())) => return,
            Ok(Err(error)) => Fault::Error(error),
            Err(panic) => Fault::Panic(panic),
        };
        ctx.abandon_step();
        let failed = (components[place].now(), components[place].agent());
        if failure.as_ref().is_none_or(|(time, agent, _)| failed < (*time, *agent)) {
            *failure = Some((failed.0, failed.1, fault));
        }
        place += 1;
    }
}

/// Lets components run from a place on. The place is that of the component which runs.
fn run_from<const W: usize, C: Component<W>>(
    components: &mut [C],
    place: &mut usize,
    until: Ticks,
    ctx: &mut Context<W>,
    env: &Env<'_>,
) -> Handled {
    let first = components.first().map_or(0, |component| usize::from(component.agent().0));
    let mut ahead = ctx.reads_ahead.then(|| Ahead::new(components, (first, *place), until, ctx, env));
    while *place < components.len() {
        let agent = first + *place;
        if ctx.next[agent] < until {
            if let Some(ahead) = &mut ahead {
                ahead.advance(components, first, until, ctx, env);
            }
            ctx.next[agent] = components[*place].run(until, ctx, env)?;
        }
        ctx.soonest = ctx.soonest.min(ctx.next[agent]);
        *place += 1;
    }
    Ok(())
}

/// Makes an owner table that threads share.
pub(super) fn shared_owners(plan: &Plan<'_>, shares: &[Share]) -> Arc<Vec<u8>> {
    Arc::new(owners(plan, shares))
}
