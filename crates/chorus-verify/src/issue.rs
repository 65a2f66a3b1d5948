//! The operations that threads may issue, and the requests that caches receive for them.

use chorus_litmus::test::BarrierMode;
use chorus_protocol::access::{CoreOp, CoreRequest, Txn};
use chorus_protocol::address::{AgentId, LineAddr};
use chorus_protocol::line::{ByteMask, LineData};

use crate::code::Next;
use crate::config::{Loads, Stores};
use crate::machine::{Action, ExploredMachine, KernelEdges};
use crate::program::{Edge, Op, Step, WORDS};
use crate::state::Progress;
use crate::words::Values;

impl ExploredMachine {
    /// The step that `thread` would issue next, if its earlier operations let it.
    pub(crate) fn next_slot(&self, state: &[u32], thread: usize) -> Option<usize> {
        let steps = &self.config.threads[thread].steps;
        for (slot, step) in steps.iter().enumerate() {
            match self.progress(state, thread, slot) {
                Progress::Waiting => return Some(slot),
                Progress::Outstanding(choice) => match step.alternatives[usize::from(choice)] {
                    Op::Fence { .. } | Op::Barrier { .. } | Op::Kernel(_) | Op::Settle => return None,
                    Op::Load { .. } | Op::Atomic { returns: true, .. } if self.config.loads == Loads::Blocking => {
                        return None;
                    }
                    Op::Store { .. } | Op::Atomic { returns: false, .. } if self.config.stores == Stores::Blocking => {
                        return None;
                    }
                    Op::Load { .. } | Op::Atomic { .. } | Op::Store { .. } | Op::Command { .. } => {}
                },
                Progress::Answered(..) => {}
            }
        }
        None
    }

    /// The place and the operation that `thread`'s code issues next, if its earlier operations let it.
    fn coded(&self, state: &[u32], thread: usize) -> Option<(usize, Op)> {
        let slot = self.next_slot(state, thread)?;
        let code = self.config.threads[thread].code.as_ref()?;
        match code.next(|slot| self.progress(state, thread, slot)) {
            Next::Issue { slot: next, op, .. } if next == slot => Some((slot, op)),
            Next::Issue { .. } | Next::Await(_) | Next::End | Next::Abandon => None,
        }
    }

    /// Whether enough threads have arrived at a barrier. Threads that have issued it count, and those that would issue
    /// it next.
    fn complete_barrier(&self, state: &[u32], barrier: u8) -> bool {
        let is_it = |op: Op| matches!(op, Op::Barrier { barrier: other, .. } if other == barrier);
        let came = |thread: &usize| {
            let spec = &self.config.threads[*thread];
            let issued = (0..spec.steps.len()).any(|slot| {
                let choice = self.progress(state, *thread, slot).choice();
                choice.is_some_and(|choice| is_it(spec.steps[slot].alternatives[usize::from(choice)]))
            });
            issued || self.coded(state, *thread).is_some_and(|(_, op)| is_it(op))
        };
        let parties =
            self.config.threads.iter().find_map(|spec| spec.code.as_ref()?.barriers().get(usize::from(barrier)));
        let parties = parties.map_or(0, |spec| usize::from(spec.parties));
        (0..self.config.threads.len()).filter(came).count() >= parties
    }

    /// Whether the operation may be issued now, as far as the thread's other operations and other threads are
    /// concerned.
    fn may_issue(&self, state: &[u32], thread: usize, slot: usize, op: Op) -> bool {
        self.kernel_runs(state, thread, slot)
            && match op {
                Op::Fence { .. } => !self.awaits_answer(state, thread),
                Op::Barrier { barrier, mode } => {
                    !self.awaits_answer(state, thread)
                        && (mode == BarrierMode::Arrive || self.complete_barrier(state, barrier))
                }
                Op::Settle => self.idle(state) && self.have_come(state),
                Op::Kernel(Edge::End) => self.have_all(state, |edges| edges.end),
                Op::Kernel(Edge::Begin) => self.have_all(state, |edges| edges.begin),
                Op::Command { bank, .. } => {
                    self.have_all(state, |edges| edges.end + 1) && !self.is_commanded(state, thread, bank)
                }
                Op::Load { .. } | Op::Store { .. } | Op::Atomic { .. } => true,
            }
    }

    /// Whether all threads that settle have arrived there.
    fn have_come(&self, state: &[u32]) -> bool {
        let threads = self.config.threads.iter().enumerate();
        let settles = |step: &Step| step.alternatives.contains(&Op::Settle);
        let slots = threads.filter_map(|(thread, spec)| Some((thread, spec.steps.iter().position(settles)?)));
        slots
            .into_iter()
            .all(|(thread, slot)| (0..slot).all(|slot| self.progress(state, thread, slot) != Progress::Waiting))
    }

    /// Whether the kernel runs to which the operation in place `slot` of `thread` belongs. A new kernel runs once it
    /// has begun everywhere.
    fn kernel_runs(&self, state: &[u32], thread: usize, slot: usize) -> bool {
        let is_new = self.kernel_edges[thread].is_some_and(|edges| slot > edges.begin);
        !is_new || self.have_all(state, |edges| edges.begin + 1)
    }

    /// Whether all threads have the answers to their operations before a place that depends on where their kernel ends
    /// and the next begins.
    fn have_all(&self, state: &[u32], before: impl Fn(KernelEdges) -> usize) -> bool {
        let edges = self.kernel_edges.iter().enumerate();
        edges
            .filter_map(|(thread, edges)| Some((thread, (*edges)?)))
            .all(|(thread, edges)| (0..before(edges)).all(|slot| self.is_answered(state, thread, slot)))
    }

    /// Whether a bank has not answered a command of the thread. With more than two banks, whose commands could overlap
    /// in very many ways, commands are given one after the other.
    fn is_commanded(&self, state: &[u32], thread: usize, bank: AgentId) -> bool {
        let counts = |other: AgentId| other == bank || self.config.topology.l2s > 2;
        let steps = self.config.threads[thread].steps.iter().enumerate();
        steps.into_iter().any(|(slot, step)| match self.progress(state, thread, slot) {
            Progress::Outstanding(choice) => {
                matches!(step.alternatives[usize::from(choice)], Op::Command { bank: other, .. } if counts(other))
            }
            Progress::Waiting | Progress::Answered(..) => false,
        })
    }

    fn is_answered(&self, state: &[u32], thread: usize, slot: usize) -> bool {
        matches!(self.progress(state, thread, slot), Progress::Answered(..))
    }

    fn awaits_answer(&self, state: &[u32], thread: usize) -> bool {
        let steps = self.config.threads[thread].steps.iter().enumerate();
        steps.into_iter().any(|(slot, step)| match self.progress(state, thread, slot) {
            Progress::Outstanding(choice) => step.alternatives[usize::from(choice)].reads(),
            Progress::Waiting | Progress::Answered(..) => false,
        })
    }

    /// The operations that threads may issue.
    pub fn issues(&self, state: &[u32], actions: &mut Vec<Action>) {
        for (thread, spec) in self.config.threads.iter().enumerate() {
            if spec.code.is_some() {
                let Some((slot, op)) = self.coded(state, thread) else { continue };
                let choice = spec.steps[slot].alternatives.iter().position(|&other| other == op);
                if let Some(choice) = choice.filter(|_| self.may_issue(state, thread, slot, op)) {
                    actions.push(Action::Issue { thread: thread as u8, choice: choice as u8 });
                }
                continue;
            }
            let Some(slot) = self.next_slot(state, thread) else { continue };
            for (choice, &op) in spec.steps[slot].alternatives.iter().enumerate() {
                if self.may_issue(state, thread, slot, op) {
                    actions.push(Action::Issue { thread: thread as u8, choice: choice as u8 });
                }
            }
        }
    }
}

/// The transaction name of an operation, by its place among those of all threads.
pub(crate) fn txn_of(index: usize) -> Txn {
    Txn::Operation(index as u32)
}

pub(crate) fn index_of(txn: Txn) -> Option<usize> {
    txn.operation().map(|number| number as usize)
}

/// The request that a private cache receives for an operation.
pub(crate) fn request(op: &Op, wave: u16, txn: Txn) -> CoreRequest<WORDS> {
    let nothing = Values::default();
    let (core_op, values) = match *op {
        Op::Load { .. } => (CoreOp::Load, nothing),
        Op::Store { values, .. } => (CoreOp::Store, values),
        Op::Atomic { op, operands, .. } => (CoreOp::Atomic(op), operands),
        Op::Kernel(Edge::End) | Op::Command { edge: Edge::End, .. } => (CoreOp::KernelEnd, nothing),
        Op::Kernel(Edge::Begin) | Op::Command { edge: Edge::Begin, .. } => (CoreOp::KernelBegin, nothing),
        // Barriers and settling never reach a cache.
        Op::Fence { .. } | Op::Barrier { .. } | Op::Settle => (CoreOp::Fence, nothing),
    };
    let (mut line, mut mask) = (LineAddr(0), ByteMask::EMPTY);
    if let Some(at) = op.words() {
        (line, mask) = (LineAddr(u64::from(at.line)), at.mask());
    }
    if let Op::Command { page: Some(first), .. } = *op {
        (line, mask) = (LineAddr(u64::from(first)), ByteMask::full::<WORDS>());
    }
    let data = LineData(values);
    CoreRequest { op: core_op, order: op.order(), scope: op.scope(), line, mask, data, wave, txn }
}
