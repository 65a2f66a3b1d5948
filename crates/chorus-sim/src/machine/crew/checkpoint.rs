//! The whole machine in a checkpoint.
//!
//! A machine can be kept at the end of a turn, when all components have come to the same time, if the state of every
//! wavefront can be written down.

use std::sync::Arc;

use chorus_kernel::Kernel;
use chorus_protocol::save::{Damaged, Reader, Restore, Save};

use super::{Machine, Task, lock};
use crate::compute_unit::Job;
use crate::stats::Counter;

/// The reason why a machine pauses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pause {
    /// The kernel of this stream is over.
    Over(usize),
    /// A checkpoint is due, and the machine can be kept.
    Checkpoint,
}

/// The state that a partition takes over, and the kernels of all streams.
pub(super) struct Kept {
    pub(super) state: Vec<u8>,
    pub(super) jobs: Vec<Arc<Job>>,
}

/// How far the kernels had come when the machine could not be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Refused {
    kernels: u64,
    work_groups: u64,
}

impl<const W: usize> Machine<'_, W> {
    /// Gives all partitions a task that is done between turns. It hands the orders of the host to components, so they
    /// are none of its own any more.
    fn ask(&mut self, task: Task) {
        self.next = self.next.min(self.next_order());
        self.perform(task);
    }

    /// Whether the machine can be kept now. One that could not be is asked again when a work-group has finished, since
    /// asking takes time.
    pub(super) fn can_be_kept(&mut self) -> bool {
        let kernels = self.host.stats.get(Counter::Kernels);
        let work_groups = self.host.launches.iter().map(|launch| u64::from(launch.finished)).sum();
        let now = Refused { kernels, work_groups };
        if self.refused == Some(now) {
            return false;
        }
        self.ask(Task::AskToKeep);
        let can_be_kept = self.crew.shared.answers.iter().all(|answer| lock(answer).can_be_kept);
        self.refused = (!can_be_kept).then_some(now);
        can_be_kept
    }

    /// Appends the state of a machine that can be kept.
    pub(crate) fn keep_all(&mut self, to: &mut Vec<u8>) {
        self.ask(Task::Keep);
        self.keep(to);
        self.host.keep_all(to);
        let shared = self.crew.shared;
        shared.memory.keep(to);
        shared.answers.len().save(to);
        for answer in &shared.answers {
            let state = std::mem::take(&mut lock(answer).state);
            state.len().save(to);
            to.extend_from_slice(&state);
        }
    }

    /// Takes over the state of the same machine. This one is idle. `kernels` are the last ones that the streams have
    /// launched.
    pub(crate) fn restore_all(&mut self, from: &mut Reader<'_>, kernels: Vec<Kernel>) -> Result<(), Damaged> {
        self.restore(from)?;
        let jobs = self.host.restore_all(from, kernels)?;
        let shared = self.crew.shared;
        shared.memory.restore(from)?;
        if usize::load(from)? != shared.trays.len() {
            return Err(Damaged);
        }
        for tray in &shared.trays {
            let bytes = usize::load(from)?;
            let kept = Kept { state: from.take(bytes)?.to_vec(), jobs: jobs.clone() };
            lock(tray).kept = Some(kept);
        }
        self.perform(Task::Restore);
        let restored = shared.answers.iter().all(|answer| lock(answer).is_restored);
        if restored { Ok(()) } else { Err(Damaged) }
    }
}
