//! Work-group dispatch: work-groups are placed on compute units as far as their resources go, contiguous blocks of them
//! on each module (HMG paper, section VI).
//!
//! A dispatcher serves whole modules. Every GPU of a machine of several GPUs has one of its own, so that compute units
//! need not wait for news from other GPUs. On other machines there is one for all. A compute unit gets a work-group one
//! crossing after the event that made room for it.

use std::sync::Arc;

use chorus_protocol::address::AgentId;
use chorus_protocol::save::{self, Damaged, Reader, Restore, Save};

use super::agenda::Agenda;
use super::host::Order;
use super::launch::Block;
use super::plan::Plan;
use super::unit::UnitOrder;
use crate::clock::Ticks;
use crate::compute_unit::{Job, Needs, Occupancy};
use crate::port::{Port, Rate};

/// The part of a kernel that a module runs.
#[derive(Clone)]
pub(super) struct ModuleShare {
    pub(super) stream: u8,
    pub(super) module: u16,
    pub(super) job: Arc<Job>,
    /// The work-groups and CPU threads of the module that have not started.
    pub(super) block: Block,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Save)]
enum Event {
    /// The work-groups of a stream's kernel may start on a module.
    Start { stream: u8, module: u16 },
    /// A work-group or a CPU thread of a stream's kernel has finished.
    Finished { stream: u8, is_cpu: bool },
}

/// A share, and whether its work-groups may start.
struct Running {
    share: ModuleShare,
    may_start: bool,
}

/// Places work-groups on the compute units of some modules.
#[derive(Restore)]
pub(super) struct Dispatcher {
    events: Agenda<Event>,
    /// The shares of all streams, stream by stream.
    #[save(apart)]
    shares: Vec<Vec<Running>>,
    /// The resources of every unit of the machine that are in use.
    occupancies: Vec<Occupancy>,
    /// The work-groups that each module starts, where it starts only so many in a time.
    starts: Vec<Port>,
}

impl Dispatcher {
    /// A dispatcher of idle units.
    pub(super) fn new(plan: &Plan<'_>) -> Dispatcher {
        Dispatcher {
            events: Agenda::default(),
            shares: Vec::new(),
            occupancies: vec![Occupancy::default(); usize::from(plan.topology.l1s)],
            starts: starts(plan),
        }
    }

    /// Takes the share of a module. Its work-groups may start at `time`.
    pub(super) fn start(&mut self, time: Ticks, share: ModuleShare) {
        let ModuleShare { stream, module, .. } = share;
        let streams = self.shares.len().max(usize::from(stream) + 1);
        self.shares.resize_with(streams, Vec::new);
        let shares = &mut self.shares[usize::from(stream)];
        shares.retain(|running| running.share.module != module);
        shares.push(Running { share, may_start: false });
        self.events.put(time, AgentId::NOBODY, Event::Start { stream, module });
    }

    /// Hears that a unit has finished a work-group or a CPU thread.
    pub(super) fn finished(&mut self, time: Ticks, unit: AgentId, stream: u8, is_cpu: bool) {
        self.events.put(time, unit, Event::Finished { stream, is_cpu });
    }

    /// The time of the next event.
    pub(super) fn next(&self) -> Ticks {
        self.events.next()
    }

    /// Work-groups and CPU threads that have not started.
    pub(super) fn not_started(&self) -> u32 {
        self.shares.iter().flatten().map(|running| running.share.block.not_started()).sum()
    }

    /// Handles every event before `until`, a time that all units have come to. Adds the orders for units.
    pub(super) fn run(&mut self, plan: &Plan<'_>, until: Ticks, orders: &mut Vec<(Ticks, AgentId, Order)>) {
        while let Some((time, agent, event)) = self.events.take(until) {
            let mut place = Placing { plan, time: time + plan.crossing, orders };
            match event {
                Event::Start { stream, module } => {
                    self.running(stream, module).into_iter().for_each(|running| running.may_start = true);
                    self.dispatch(stream, module, &mut place);
                }
                Event::Finished { stream, is_cpu } => self.use_room(stream, is_cpu, agent, &mut place),
            }
        }
    }

    /// Appends the state with the shares, whose kernels their streams tell.
    pub(super) fn keep_all(&self, to: &mut Vec<u8>) {
        self.keep(to);
        self.shares.len().save(to);
        for shares in &self.shares {
            shares.len().save(to);
            for Running { share: ModuleShare { stream, module, job: _, block }, may_start } in shares {
                (*stream, *module).save(to);
                block.save(to);
                may_start.save(to);
            }
        }
    }

    /// Takes over the state of the same dispatcher. `jobs` are the kernels of all streams.
    pub(super) fn restore_all(&mut self, from: &mut Reader<'_>, jobs: &[Arc<Job>]) -> Result<(), Damaged> {
        self.restore(from)?;
        let share = |from: &mut Reader<'_>| {
            let (stream, module) = <(u8, u16)>::load(from)?;
            let job = Arc::clone(jobs.get(usize::from(stream)).ok_or(Damaged)?);
            let share = ModuleShare { stream, module, job, block: Block::load(from)? };
            Ok(Running { share, may_start: bool::load(from)? })
        };
        let streams = usize::load(from)?;
        self.shares = (0..streams)
            .map(|_| (0..usize::load(from)?).map(|_| share(from)).collect())
            .collect::<Result<_, Damaged>>()?;
        Ok(())
    }

    fn running(&mut self, stream: u8, module: u16) -> Option<&mut Running> {
        self.shares.get_mut(usize::from(stream))?.iter_mut().find(|running| running.share.module == module)
    }

    /// Lets work-groups of a module use the resources that one of `stream` has freed: of the same kernel first, then of
    /// others.
    fn use_room(&mut self, stream: u8, is_cpu: bool, unit: AgentId, place: &mut Placing<'_, '_>) {
        let module = place.plan.place(unit).module;
        let Some(running) = self.running(stream, module) else { return };
        let needs = if is_cpu { Needs::CPU_THREAD } else { Needs::of_group(&running.share.job.kernel) };
        self.occupancies[usize::from(unit.0)].free(needs);
        self.dispatch(stream, module, place);
        for other in (0..self.shares.len() as u8).filter(|&other| other != stream) {
            self.dispatch(other, module, place);
        }
    }

    /// Places the CPU threads and work-groups of a module in order, one per compute unit in turn, until one does not
    /// fit. CPU threads come first: work-groups that wait for one must not prevent it from starting.
    fn dispatch(&mut self, stream: u8, module: u16, place: &mut Placing<'_, '_>) {
        loop {
            let Some(Running { share, may_start: true }) = self.running(stream, module) else { return };
            let ModuleShare { job, block, .. } = share;
            let (job, mut block) = (Arc::clone(job), *block);
            let (needs, order) = if block.next_thread < block.end_thread {
                (Needs::CPU_THREAD, UnitOrder::Thread { stream, thread: block.next_thread, job })
            } else if block.next_group < block.end_group {
                (Needs::of_group(&job.kernel), UnitOrder::Group { stream, work_group: block.next_group, job })
            } else {
                return;
            };
            let Some(unit) = self.find_room(&mut block, module, needs, place.plan) else { return };
            block.begin_next();
            if let Some(running) = self.running(stream, module) {
                running.share.block = block;
            }
            self.occupancies[usize::from(unit)].hold(needs);
            let starts = self.starts.get_mut(usize::from(module));
            let time = starts.map_or(place.time, |port| port.pass(1, place.time).start);
            place.orders.push((time, place.plan.topology.l1(unit), Order::Unit(order)));
        }
    }

    /// The unit that runs the next CPU thread or work-group of a module, if one has room. Thread `i` runs on CPU core
    /// `i` modulo their number. Everything else runs on compute units in turn.
    fn find_room(&self, block: &mut Block, module: u16, needs: Needs, plan: &Plan<'_>) -> Option<u16> {
        let cpus = plan.topology.cpus;
        let fits = |unit: u16| {
            let is_cpu = plan.topology.is_cpu(unit);
            self.occupancies[usize::from(unit)].fits(&plan.config.core, is_cpu, needs)
        };
        if block.next_thread < block.end_thread && cpus > 0 {
            let core = (block.next_thread % u32::from(cpus)) as u16;
            return fits(core).then_some(core);
        }
        let units = plan.config.core.count as u16;
        for _ in 0..units {
            let unit = cpus + module * units + block.next_unit;
            block.next_unit = (block.next_unit + 1) % units;
            if fits(unit) {
                return Some(unit);
            }
        }
        None
    }
}

/// For each module, the port that its work-groups pass on their way to units, where there is such a limit.
fn starts(plan: &Plan<'_>) -> Vec<Port> {
    let rate = |count: u32| Rate { bytes: u64::from(count), ticks: plan.clocks.core.cycles(1000) };
    let limit = plan.config.core.work_groups_per_1000_cycles.map(|count| Port::new(rate(count), 0));
    limit.map_or(Vec::new(), |port| vec![port; usize::from(plan.topology.modules())])
}

/// The orders that an event causes, and when units get them.
struct Placing<'a, 'p> {
    plan: &'a Plan<'p>,
    time: Ticks,
    orders: &'a mut Vec<(Ticks, AgentId, Order)>,
}
