//! The host side of a machine: kernels are launched, begun and ended here, pages are placed, and the command processor
//! gives its commands.
//!
//! The host learns of events in components by reports and answers with orders. It handles reports at the end of a
//! turn, in the order of their times. An order reaches its component one span after the event that caused it. So it
//! makes no difference how long turns are. [`dispatch`] gives work-groups to dispatchers, and [`commands`] gives shared
//! banks the commands between kernels.

mod checkpoint;
mod commands;
mod dispatch;

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use chorus_kernel::{AnnotationChecker, Kernel};
use chorus_protocol::address::AgentId;
use chorus_protocol::registry::Commands;
use chorus_protocol::save::{self, Restore, Save};
use chorus_system::WorkGroupOrder;

use super::SimError;
use super::agenda::Agenda;
use super::bank::BankOrder;
use super::context::{News, Report};
use super::dispatcher::{Dispatcher, ModuleShare};
use super::launch::{Launch, Phase};
use super::plan::{NEVER, Plan};
use super::unit::UnitOrder;
use crate::clock::Ticks;
use crate::command_processor::CommandProcessor;
use crate::compute_unit::Job;
use crate::pages::Pages;
use crate::stats::{Counter, Stats};

/// An order for a component.
#[derive(Clone)]
pub(super) enum Order {
    /// An order for a compute unit or its private cache.
    Unit(UnitOrder),
    /// An order for a bank.
    Bank(BankOrder),
    /// The dispatcher of a module gets a share of a kernel.
    Start(ModuleShare),
}

/// An event on the host side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Save)]
enum Event {
    /// A component has reported something.
    Report(News),
    /// The commands for a stream's kernel are given.
    Command(u8),
}

/// The host side of a machine.
#[derive(Restore)]
pub(crate) struct Host<'a> {
    #[save(built)]
    plan: &'a Plan<'a>,
    #[save(built)]
    pages: &'a RwLock<Pages>,
    pub(super) processor: CommandProcessor,
    pub(super) stats: Stats,
    events: Agenda<Event>,
    #[save(apart)]
    pub(super) launches: Vec<Launch>,
    /// The names of the kernels that were launched.
    pub(super) names: Vec<String>,
    /// The dispatcher of all modules, where they have none of their own.
    #[save(apart)]
    pub(super) dispatcher: Option<Dispatcher>,
    /// Orders that have not been handed to components.
    #[save(apart)]
    pub(super) orders: Vec<(Ticks, AgentId, Order)>,
    /// Streams whose kernels are over, with the time.
    over: VecDeque<(Ticks, usize)>,
    /// The time of the event that is being handled.
    now: Ticks,
    /// The earliest time at which a component can get an order.
    earliest: Ticks,
    #[save(built)]
    check_annotations: bool,
    /// The last time at which something happened that shows progress.
    pub(super) progress: Ticks,
}

impl<'a> Host<'a> {
    /// The idle host side of a machine.
    pub(super) fn new(
        plan: &'a Plan<'a>,
        pages: &'a RwLock<Pages>,
        processor: CommandProcessor,
        check_annotations: bool,
    ) -> Self {
        Host {
            plan,
            pages,
            processor,
            stats: Stats::default(),
            events: Agenda::default(),
            launches: Vec::new(),
            names: Vec::new(),
            dispatcher: (!plan.dispatches_by_gpu()).then(|| Dispatcher::new(plan)),
            orders: Vec::new(),
            over: VecDeque::new(),
            now: 0,
            earliest: 0,
            check_annotations,
            progress: 0,
        }
    }

    /// Adds the reports of components.
    pub(super) fn hear(&mut self, reports: impl Iterator<Item = Report>) {
        for (time, agent, news) in reports {
            self.events.put(time, agent, Event::Report(news));
        }
    }

    fn schedule(&mut self, time: Ticks, event: Event) {
        self.events.put(time, AgentId::NOBODY, event);
    }

    /// The time of the next event.
    pub(super) fn next(&self) -> Ticks {
        let dispatcher = self.dispatcher.as_ref().map_or(NEVER, Dispatcher::next);
        self.events.next().min(dispatcher)
    }

    /// Handles every event before `until`, a time that all components have come to.
    pub(super) fn run(&mut self, until: Ticks) {
        while let Some((time, agent, event)) = self.events.take(until) {
            self.now = time;
            self.earliest = time + self.plan.span;
            match event {
                Event::Report(News::Finished { stream, is_cpu }) => self.group_finished(stream, is_cpu, agent),
                Event::Report(News::Answered { stream }) => self.boundary_answered(usize::from(stream)),
                Event::Report(News::Commanded { stream }) => self.command_done(usize::from(stream)),
                Event::Report(News::Touched { page }) => self.place(page, agent),
                Event::Command(stream) => self.command_all(usize::from(stream)),
            }
        }
        if let Some(dispatcher) = &mut self.dispatcher {
            dispatcher.run(self.plan, until, &mut self.orders);
        }
        self.pages_mut().settle(until);
    }

    /// The time at which the host program hears that a kernel is over, if one is.
    pub(super) fn told(&self) -> Option<Ticks> {
        self.over.front().map(|&(time, _)| time + self.plan.span)
    }

    /// Takes the stream whose kernel is over, with the time at which it ended.
    pub(super) fn take_over(&mut self) -> Option<(Ticks, usize)> {
        self.over.pop_front()
    }

    fn pages(&self) -> RwLockReadGuard<'a, Pages> {
        self.pages.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn pages_mut(&self) -> RwLockWriteGuard<'a, Pages> {
        self.pages.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn order(&mut self, time: Ticks, agent: AgentId, order: Order) {
        self.orders.push((time.max(self.earliest), agent, order));
    }

    /// A page is placed where the compute unit is that touched it first.
    fn place(&mut self, page: u32, agent: AgentId) {
        let (module, known) = (self.plan.place(agent).module, self.now + self.plan.span);
        self.pages_mut().touch(page, module, known);
        self.order(self.now, agent, Order::Unit(UnitOrder::Placed));
    }

    /// Launches the next kernel of a stream on `modules`. The last kernel of the stream was over at `now`, and all
    /// components have come to `reached`. Shared banks carry out their commands, private caches are told, and
    /// work-groups start after the launch latency.
    pub(crate) fn launch(
        &mut self,
        stream: usize,
        kernel: Kernel,
        modules: Range<u16>,
        now: Ticks,
        reached: Ticks,
    ) -> Result<(), SimError> {
        self.check_fits(&kernel)?;
        (self.now, self.earliest) = (now, reached);
        self.progress = self.progress.max(now);
        self.stats.add(Counter::Kernels, 1);
        let core = self.plan.clocks.core;
        let starts = core.edge(now) + core.cycles(u64::from(self.plan.config.core.launch_latency_cycles));
        let name = self.number_of(&kernel.name);
        let job = self.job(name, kernel, &modules);
        // Command processors know which module accesses what only of contiguous blocks.
        let has_blocks = self.processor.commands() != Commands::None;
        let order = self.plan.config.core.work_group_order.filter(|_| !has_blocks).unwrap_or(WorkGroupOrder::Blocks);
        let launch = Launch::new(job, modules, order, starts);
        match self.launches.get_mut(stream) {
            Some(over) => *over = launch,
            None => self.launches.push(launch),
        }
        if self.processor.commands() != Commands::None {
            self.prepare(stream);
        } else {
            self.begin(stream);
        }
        Ok(())
    }

    /// The kernel as units run it on `modules`. Its name has this number.
    fn job(&self, name: u16, kernel: Kernel, modules: &Range<u16>) -> Job {
        let checks = self.check_annotations && self.processor.believes_kernels();
        let declared = if checks { AnnotationChecker::of(&kernel, modules.len() as u32) } else { None };
        Job { name, kernel, declared }
    }

    /// The number of a name among those of the kernels that were launched.
    fn number_of(&mut self, name: &str) -> u16 {
        let known = self.names.iter().position(|known| known == name);
        let number = known.unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        });
        // Beyond so many names, kernels share the last number.
        number.min(usize::from(u16::MAX)) as u16
    }

    /// Tells the private caches that a kernel begins.
    fn begin(&mut self, stream: usize) {
        self.launches[stream].phase = Phase::Beginning;
        self.tell_all(stream, true);
    }

    /// Tells every private cache of a kernel's modules that the kernel begins or ends.
    fn tell_all(&mut self, stream: usize, begins: bool) {
        let units = self.plan.topology.l1s / self.plan.topology.modules();
        let Range { start, end } = self.launches[stream].modules;
        self.launches[stream].unanswered = u32::from((end - start) * units);
        for unit in start * units..end * units {
            let order = UnitOrder::Boundary { stream: stream as u8, begins };
            self.order(self.now, self.plan.topology.l1(unit), Order::Unit(order));
        }
    }

    /// Counts the answer of a private cache to a kernel boundary.
    fn boundary_answered(&mut self, stream: usize) {
        let launch = &mut self.launches[stream];
        launch.unanswered -= 1;
        if launch.unanswered > 0 {
            return;
        }
        if launch.phase == Phase::Beginning {
            launch.phase = Phase::Running;
            let starts = launch.starts;
            self.dispatch(stream, starts);
            self.end_if_finished(stream);
        } else {
            self.release_after(stream);
        }
    }

    /// Ends a kernel if all its work-groups and CPU threads have finished.
    fn end_if_finished(&mut self, stream: usize) {
        let launch = &mut self.launches[stream];
        if launch.phase == Phase::Running && launch.is_finished() {
            launch.phase = Phase::Ending;
            self.tell_all(stream, false);
        }
    }

    /// Notes that the kernel of a stream is over.
    fn is_over(&mut self, stream: usize) {
        self.processor.over(stream);
        self.launches[stream].phase = Phase::Over;
        self.over.push_back((self.now, stream));
    }

    /// Whether every kernel is over.
    pub(super) fn all_over(&self) -> bool {
        self.launches.iter().all(|launch| launch.phase == Phase::Over)
    }
}
