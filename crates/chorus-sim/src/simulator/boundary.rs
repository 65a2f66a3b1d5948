//! The beginning and the end of a kernel. The private caches of its modules are told, and the kernel goes on when all
//! have answered.
//!
//! A kernel begins with an acquire and ends with a release of the whole system (HMG paper, section II-D). The protocol
//! decides what a private cache has to do for them, and whom it has to ask.

use std::ops::Range;
use std::rc::Rc;

use chorus_protocol::access::{CoreOp, Order, Scope, Txn};
use chorus_protocol::controller::{Input, Outcome};
use chorus_protocol::registry::Commands;

use super::launch::{Launch, Phase};
use super::{Event, SimError, Simulator, lineless_request};
use crate::frontend::{AnnotationChecker, Kernel};
use crate::stats::Counter;

/// Streams whose kernels can run at the same time.
pub(crate) const STREAMS_MAX: usize = 64;

/// The transaction number of a kernel boundary of a stream. Accesses are numbered from zero.
pub(super) fn name_of(stream: usize) -> Txn {
    Txn(u32::MAX - stream as u32)
}

/// The stream whose kernel boundary has this transaction number.
pub(super) fn stream_of(txn: Txn) -> Option<usize> {
    let stream = (u32::MAX - txn.0) as usize;
    (stream < STREAMS_MAX).then_some(stream)
}

impl<const W: usize> Simulator<'_, W> {
    /// Launches the next kernel of a stream on `modules`. The last kernel of the stream is over. Shared banks carry out
    /// their commands, private caches are told, and work-groups start after the launch latency.
    pub(crate) fn launch(&mut self, stream: usize, kernel: Rc<Kernel>, modules: Range<u16>) -> Result<(), SimError> {
        self.check_fits(&kernel)?;
        let now = self.wheel.now();
        self.progress = now;
        self.stats.add(Counter::Kernels, 1);
        let latency = self.clocks.core.cycles(u64::from(self.config.core.launch_latency_cycles));
        let mut launch = Launch::new(kernel, modules, self.clocks.core.edge(now) + latency);
        if self.check_annotations && self.processor.believes_kernels() {
            launch.declared = AnnotationChecker::of(&launch.kernel, launch.modules.len() as u32);
        }
        match self.launches.get_mut(stream) {
            Some(over) => *over = launch,
            None => self.launches.push(launch),
        }
        if self.processor.commands() != Commands::None {
            self.prepare(stream);
            return Ok(());
        }
        self.launches[stream].phase = Phase::Beginning;
        self.tell_all(stream)
    }

    /// Ends kernels whose last work-group has finished. Returns a stream whose kernel is over, if there is one.
    pub(super) fn end_finished_kernels(&mut self) -> Result<Option<usize>, SimError> {
        self.launches_changed = false;
        for stream in 0..self.launches.len() {
            if self.launches[stream].phase == Phase::Finished {
                self.launches[stream].phase = Phase::Ending;
                self.tell_all(stream)?;
            }
        }
        Ok(self.over.pop_front())
    }

    /// Moves a launch to its next phase if all its work-groups and CPU threads have finished.
    pub(super) fn count_finished(&mut self, stream: usize) {
        let launch = &mut self.launches[stream];
        if launch.finished == launch.kernel.work_groups + launch.kernel.cpu_threads() {
            launch.phase = Phase::Finished;
            self.launches_changed = true;
        }
    }

    /// Tells every private cache of a kernel's modules that the kernel begins or ends.
    pub(super) fn tell_all(&mut self, stream: usize) -> Result<(), SimError> {
        let units = self.topology.l1s / self.topology.modules();
        let Range { start, end } = self.launches[stream].modules;
        self.launches[stream].unanswered = u32::from((end - start) * units);
        for unit in start * units..end * units {
            self.tell(stream, unit)?;
        }
        Ok(())
    }

    /// Tells one private cache that a kernel begins or ends.
    fn tell(&mut self, stream: usize, unit: u16) -> Result<(), SimError> {
        let (op, order) = match self.launches[stream].phase {
            Phase::Beginning => (CoreOp::KernelBegin, Order::Acquire),
            Phase::Preparing | Phase::Running | Phase::Finished | Phase::Ending | Phase::Releasing | Phase::Over => {
                (CoreOp::KernelEnd, Order::Release)
            }
        };
        self.tell_time();
        let request = lineless_request(op, order, Scope::System, 0, name_of(stream));
        let agent = self.topology.l1(unit);
        let cache = &mut self.caches[usize::from(unit)];
        let outcome = cache.controller.step(&Input::Core(&request), &mut self.outbox)?;
        let bit = 1 << stream;
        let waited = cache.boundaries_waiting & bit != 0;
        let waits = outcome != Outcome::Done;
        cache.boundaries_waiting = if waits { cache.boundaries_waiting | bit } else { cache.boundaries_waiting & !bit };
        self.boundaries_waiting += u32::from(waits);
        self.boundaries_waiting -= u32::from(waited);
        self.plan_wake(agent);
        self.finish_completions(agent);
        self.route(agent, true)
    }

    /// Tells a private cache again of the kernel boundaries that it could not accept, since a message has changed its
    /// state.
    pub(super) fn retry_boundary(&mut self, unit: u16) -> Result<(), SimError> {
        if self.boundaries_waiting == 0 {
            return Ok(());
        }
        let mut waiting = self.caches[usize::from(unit)].boundaries_waiting;
        while waiting != 0 {
            self.tell(waiting.trailing_zeros() as usize, unit)?;
            waiting &= waiting - 1;
        }
        Ok(())
    }

    /// Counts the answer of a private cache to a kernel boundary.
    pub(super) fn boundary_answered(&mut self, stream: usize) {
        self.progress = self.wheel.now();
        let launch = &mut self.launches[stream];
        launch.unanswered -= 1;
        if launch.unanswered > 0 {
            return;
        }
        if launch.phase == Phase::Beginning {
            launch.phase = Phase::Running;
            let now = self.clocks.core.edge(self.wheel.now());
            let time = launch.starts.max(now);
            self.wheel.schedule(time, Event::Dispatch(stream as u8));
            self.count_finished(stream);
        } else {
            self.release_after(stream);
        }
    }

    /// Notes that the kernel of a stream is over.
    pub(super) fn is_over(&mut self, stream: usize) {
        self.processor.over(stream);
        self.launches[stream].phase = Phase::Over;
        self.over.push_back(stream);
        self.launches_changed = true;
    }
}
