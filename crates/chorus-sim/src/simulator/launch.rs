//! A kernel being run: which modules share it, what it waits for, and which of its work-groups have started.

use std::ops::Range;
use std::rc::Rc;

use crate::clock::Ticks;
use crate::command_processor::Orders;
use crate::frontend::partition::groups_of;
use crate::frontend::{Declared, Kernel};

/// What a launch waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
pub(super) enum Phase {
    /// Shared banks that have not done what the command processor wants done before it begins.
    Preparing,
    /// Private caches that have not answered the beginning.
    Beginning,
    /// Work-groups.
    Running,
    /// The command processor, which has not told the private caches of the end.
    Finished,
    /// Private caches that have not answered the end.
    Ending,
    /// Shared banks that have not done what the command processor wants done after it.
    Releasing,
    /// Nothing.
    Over,
}

/// What starts on one module.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    /// The first that has not been started.
    pub(super) next_group: u32,
    /// The first of the next module.
    pub(super) end_group: u32,
    /// The first CPU thread that has not been started.
    pub(super) next_thread: u32,
    /// The first CPU thread of the next module.
    pub(super) end_thread: u32,
    /// The compute unit of the module that is tried next.
    pub(super) next_unit: usize,
}

/// A kernel being run, or the last one of a stream that has none.
pub(super) struct Launch {
    pub(super) kernel: Rc<Kernel>,
    /// What it declares, where it is held to that.
    pub(super) declared: Option<Declared>,
    pub(super) phase: Phase,
    /// The modules that share it.
    pub(super) modules: Range<u16>,
    /// Contiguous blocks of work-groups, one for each of them.
    pub(super) blocks: Vec<Block>,
    /// Work-groups and CPU threads that have finished.
    pub(super) finished: u32,
    /// When work-groups may start.
    pub(super) starts: Ticks,
    /// Private caches that have not answered the beginning or the end.
    pub(super) unanswered: u32,
    /// What shared banks have to do before it begins, or after it.
    pub(super) orders: Orders,
    /// How many times they still have to.
    pub(super) rounds: u32,
    /// Commands that have not been answered.
    pub(super) commands_left: u32,
    /// Since when it waits for that.
    pub(super) preparing_since: Ticks,
}

impl Launch {
    /// A launch that nobody knows of yet; work-groups start at `starts` at the earliest.
    pub(super) fn new(kernel: Rc<Kernel>, modules: Range<u16>, starts: Ticks) -> Launch {
        let shares = modules.len() as u32;
        let blocks = (0..shares).map(|share| {
            let Range { start, end } = groups_of(share, kernel.work_groups, shares);
            let threads = groups_of(share, kernel.cpu_threads(), shares);
            let (next_thread, end_thread) = (threads.start, threads.end);
            Block { next_group: start, end_group: end, next_thread, end_thread, next_unit: 0 }
        });
        let blocks = blocks.collect();
        Launch {
            kernel,
            declared: None,
            phase: Phase::Preparing,
            modules,
            blocks,
            finished: 0,
            starts,
            unanswered: 0,
            orders: Orders::default(),
            rounds: 0,
            commands_left: 0,
            preparing_since: starts,
        }
    }

    /// The work-groups of a module that shares it.
    pub(super) fn block(&mut self, module: u16) -> &mut Block {
        &mut self.blocks[usize::from(module - self.modules.start)]
    }

    /// Work-groups, and CPU threads that count as such, that have not found room on a compute unit.
    pub(super) fn not_started(&self) -> u32 {
        self.blocks.iter().map(|block| block.end_group - block.next_group + block.end_thread - block.next_thread).sum()
    }
}
