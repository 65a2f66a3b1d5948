//! The beginning and the end of a kernel: every private cache is told, and the kernel goes on when all have answered.
//!
//! A kernel begins with an acquire and ends with a release of the whole system (HMG paper, section II-D). What a private cache has to do for
//! them, and whom it has to ask, is the protocol's business.

use chorus_protocol::access::{CoreOp, Order, Scope, Txn};
use chorus_protocol::controller::{Input, Outcome};

use super::{Event, Machine, SimError, lineless_request};
use crate::clock::Ticks;
use crate::frontend::Kernel;
use crate::frontend::partition::groups_of;
use crate::stats::Counter;

/// Names the beginning or the end of a kernel in completions; accesses are numbered from zero.
pub(super) const BOUNDARY: Txn = Txn(u32::MAX);

/// What a launch waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd)]
pub(super) enum Phase {
    /// Private caches that have not answered the beginning.
    Beginning,
    /// Work-groups.
    Running,
    /// The command processor, which has not told the private caches of the end.
    Finished,
    /// Private caches that have not answered the end.
    Ending,
    /// Nothing.
    #[default]
    Over,
}

/// The work-groups of one module.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Block {
    /// The first that has not been started.
    pub(super) next_group: u32,
    /// The first of the next module.
    pub(super) end_group: u32,
    /// The compute unit of the module that is tried next.
    pub(super) next_unit: usize,
}

/// The kernel being run.
#[derive(Default)]
pub(super) struct Launch {
    pub(super) phase: Phase,
    /// Contiguous blocks of work-groups, one for each module.
    pub(super) blocks: Vec<Block>,
    pub(super) finished_groups: u32,
    pub(super) waves_started: u64,
    /// When work-groups may start.
    starts: Ticks,
    /// Private caches that have not answered the beginning or the end.
    pub(super) unanswered: u32,
    /// Those of them that could not even accept it.
    waiting: u32,
}

impl Launch {
    /// Nothing has been launched on a machine of so many modules.
    pub(super) fn new(modules: usize) -> Launch {
        Launch { blocks: vec![Block::default(); modules], ..Launch::default() }
    }
}

impl<const W: usize> Machine<'_, W> {
    /// Starts a launch: private caches learn of it, and work-groups start after the launch latency.
    pub(super) fn begin_kernel(&mut self, kernel: &Kernel) -> Result<(), SimError> {
        let now = self.wheel.now();
        self.progress = now;
        let modules = self.launch.blocks.len() as u32;
        for (module, block) in self.launch.blocks.iter_mut().enumerate() {
            let groups = groups_of(module as u32, kernel.work_groups, modules);
            *block = Block { next_group: groups.start, end_group: groups.end, next_unit: 0 };
        }
        self.launch.finished_groups = 0;
        self.stats.add(Counter::Kernels, 1);
        let latency = self.clocks.core.cycles(u64::from(self.config.core.launch_latency_cycles));
        self.launch.starts = self.clocks.core.edge(now) + latency;
        self.launch.phase = Phase::Beginning;
        self.tell_all(kernel)
    }

    /// Whether the kernel is over. Ends it when its last work-group has finished.
    #[inline]
    pub(super) fn is_over(&mut self, kernel: &Kernel) -> Result<bool, SimError> {
        if self.launch.phase < Phase::Finished {
            return Ok(false);
        }
        if self.launch.phase == Phase::Finished {
            self.launch.phase = Phase::Ending;
            self.tell_all(kernel)?;
        }
        Ok(self.launch.phase == Phase::Over)
    }

    /// Notes whether all work-groups have finished.
    pub(super) fn count_finished(&mut self, kernel: &Kernel) {
        if self.launch.finished_groups == kernel.work_groups {
            self.launch.phase = Phase::Finished;
        }
    }

    /// Gives every private cache the beginning or the end.
    fn tell_all(&mut self, kernel: &Kernel) -> Result<(), SimError> {
        self.launch.unanswered = u32::from(self.topology.l1s);
        self.launch.waiting = 0;
        for unit in 0..self.topology.l1s {
            self.tell(unit, kernel)?;
        }
        Ok(())
    }

    /// Gives one private cache the beginning or the end.
    fn tell(&mut self, unit: u16, kernel: &Kernel) -> Result<(), SimError> {
        let (op, order) = match self.launch.phase {
            Phase::Beginning => (CoreOp::KernelBegin, Order::Acquire),
            Phase::Running | Phase::Finished | Phase::Ending | Phase::Over => (CoreOp::KernelEnd, Order::Release),
        };
        self.tell_time();
        let request = lineless_request(op, order, Scope::System, 0, BOUNDARY);
        let agent = self.topology.l1(unit);
        let cache = &mut self.caches[usize::from(unit)];
        let outcome = cache.controller.step_making_room(&Input::Core(&request), &mut self.outbox)?;
        let waits = outcome != Outcome::Done;
        let waited = std::mem::replace(&mut cache.boundary_waits, waits);
        self.launch.waiting += u32::from(waits);
        self.launch.waiting -= u32::from(waited);
        self.plan_wake(agent);
        self.finish_completions(agent, kernel);
        self.route(agent, true, kernel)
    }

    /// Gives a private cache the beginning or the end again if it could not accept it and a message has changed it since.
    pub(super) fn retry_boundary(&mut self, unit: u16, kernel: &Kernel) -> Result<(), SimError> {
        if self.launch.waiting > 0 && self.caches[usize::from(unit)].boundary_waits {
            return self.tell(unit, kernel);
        }
        Ok(())
    }

    /// A private cache has answered the beginning or the end.
    pub(super) fn boundary_answered(&mut self, kernel: &Kernel) {
        self.progress = self.wheel.now();
        self.launch.unanswered -= 1;
        if self.launch.unanswered > 0 {
            return;
        }
        if self.launch.phase == Phase::Beginning {
            self.launch.phase = Phase::Running;
            let now = self.clocks.core.edge(self.wheel.now());
            self.wheel.schedule(self.launch.starts.max(now), Event::Dispatch);
            self.count_finished(kernel);
        } else {
            self.launch.phase = Phase::Over;
        }
    }
}
