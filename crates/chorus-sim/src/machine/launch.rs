//! A kernel that runs: the modules that share it, the phase that it is in, and the work-groups that have started.

use std::ops::Range;
use std::sync::Arc;

use chorus_kernel::partition::groups_of;
use chorus_protocol::save::{self, Restore, Save};
use chorus_system::WorkGroupOrder;

use crate::clock::Ticks;
use crate::command_processor::Orders;
use crate::compute_unit::Job;

/// The phase of a launch: what it waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Save)]
pub(super) enum Phase {
    /// The launch waits for shared banks that have not carried out the commands before the kernel.
    Preparing,
    /// The launch waits for private caches that have not answered the beginning of the kernel.
    Beginning,
    /// The launch waits for its work-groups and CPU threads.
    Running,
    /// The launch waits for private caches that have not answered the end of the kernel.
    Ending,
    /// The launch waits for shared banks that have not carried out the commands after the kernel.
    Releasing,
    /// The kernel is over.
    Over,
}

/// The work-groups and CPU threads that start on one module.
#[derive(Clone, Copy, Debug, Save)]
pub(super) struct Block {
    /// The first work-group that has not been started.
    pub(super) next_group: u32,
    /// The end of the module's work-groups.
    pub(super) end_group: u32,
    /// The distance from one work-group of the module to its next one.
    pub(super) group_step: u32,
    /// The first CPU thread that has not been started.
    pub(super) next_thread: u32,
    /// The first CPU thread of the next module.
    pub(super) end_thread: u32,
    /// The compute unit of the module that is tried next.
    pub(super) next_unit: u16,
}

impl Block {
    /// Notes that the next CPU thread starts, or the next work-group where all threads have started.
    pub(super) fn begin_next(&mut self) {
        if self.next_thread < self.end_thread {
            self.next_thread += 1;
        } else {
            self.next_group += self.group_step;
        }
    }

    /// Work-groups and CPU threads that have not started.
    pub(super) fn not_started(&self) -> u32 {
        self.end_group.saturating_sub(self.next_group).div_ceil(self.group_step) + self.end_thread - self.next_thread
    }
}

/// The kernel that a stream runs, or the last one that it ran.
#[derive(Restore)]
pub(super) struct Launch {
    #[save(apart)]
    pub(super) job: Arc<Job>,
    pub(super) phase: Phase,
    /// The modules that share it.
    pub(super) modules: Range<u16>,
    /// Contiguous blocks of work-groups, one for each of them, until they are given to dispatchers.
    pub(super) blocks: Vec<Block>,
    /// Work-groups and CPU threads that have finished.
    pub(super) finished: u32,
    /// The time from which work-groups may start.
    pub(super) starts: Ticks,
    /// Private caches that have not answered the beginning or the end.
    pub(super) unanswered: u32,
    /// The orders for shared banks before the kernel begins, or after it.
    pub(super) orders: Orders,
    /// How many times the orders are still to be carried out.
    pub(super) rounds: u32,
    /// Commands that have not been answered.
    pub(super) commands_left: u32,
    /// The time since which it waits for the commands.
    pub(super) preparing_since: Ticks,
}

impl Launch {
    /// A launch that no cache has been told of. Work-groups start at `starts` at the earliest.
    pub(super) fn new(job: Job, modules: Range<u16>, order: WorkGroupOrder, starts: Ticks) -> Launch {
        let shares = modules.len() as u32;
        let blocks = (0..shares).map(|share| {
            let (Range { start, end }, group_step) = match order {
                WorkGroupOrder::Blocks => (groups_of(share, job.kernel.work_groups, shares), 1),
                WorkGroupOrder::InTurn => (share..job.kernel.work_groups.max(share), shares),
            };
            let threads = groups_of(share, job.kernel.cpu_threads(), shares);
            let (next_thread, end_thread) = (threads.start, threads.end);
            Block { next_group: start, end_group: end, group_step, next_thread, end_thread, next_unit: 0 }
        });
        Launch {
            blocks: blocks.collect(),
            job: Arc::new(job),
            phase: Phase::Preparing,
            modules,
            finished: 0,
            starts,
            unanswered: 0,
            orders: Orders::default(),
            rounds: 0,
            commands_left: 0,
            preparing_since: starts,
        }
    }

    /// Whether every work-group and CPU thread has finished.
    pub(super) fn is_finished(&self) -> bool {
        self.finished == self.job.kernel.work_groups + self.job.kernel.cpu_threads()
    }

    /// The number of work-groups and CPU threads that no dispatcher has been given.
    pub(super) fn not_dispatched(&self) -> u32 {
        self.blocks.iter().map(Block::not_started).sum()
    }
}
