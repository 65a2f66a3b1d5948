//! Fences of self-invalidating caches (Spandex paper, section III-E). A release waits for the wavefront's writes, and
//! an acquire invalidates. A fence that does both invalidates once it has waited.

use crate::access::{CoreOp, CoreRequest, Order, Scope, Txn};
use crate::controller::Outbox;
use crate::save::{self, Restore};
use crate::write_tracker::{FenceFault, WriteTracker};

/// The outstanding writes, and the fences and kernel ends that wait for them.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Restore)]
pub struct Fences {
    writes: WriteTracker,
    /// Fences that invalidate once they have waited.
    acquires: Vec<Txn>,
    /// Ends of kernels that wait for every write.
    ends: Vec<Txn>,
}

impl Fences {
    /// Fences for `waves` wavefront slots, with nothing outstanding.
    pub fn new(waves: u16, fault: Option<FenceFault>) -> Self {
        Fences { writes: WriteTracker::new(waves, fault), acquires: Vec::new(), ends: Vec::new() }
    }

    /// Notes that a write of `wave` is outstanding.
    pub fn sent(&mut self, wave: u16) {
        self.writes.sent(wave);
    }

    /// Notes that a write of `wave` is performed. Returns whether the cache has to invalidate now.
    pub fn acknowledged<const W: usize>(&mut self, wave: u16, out: &mut Outbox<W>) -> bool {
        let before = out.completions.len();
        self.writes.acknowledged(wave, out);
        let acquires = self.passed(before, out);
        if !self.ends.is_empty() && self.writes.is_idle() {
            self.ends.drain(..).for_each(|txn| out.complete_empty(txn));
        }
        acquires
    }

    /// Takes a fence, or the beginning or the end of a kernel. Returns whether the cache has to invalidate now. `early`
    /// is the fault of invalidating before a fence has waited.
    pub fn synchronise<const W: usize>(&mut self, request: &CoreRequest<W>, early: bool, out: &mut Outbox<W>) -> bool {
        match request.op {
            CoreOp::Fence => self.fence(request, early, out),
            CoreOp::KernelBegin => {
                out.complete_empty(request.txn);
                true
            }
            CoreOp::KernelEnd => {
                self.end(request.txn, out);
                false
            }
            CoreOp::Load | CoreOp::Store | CoreOp::Atomic(_) => false,
        }
    }

    fn fence<const W: usize>(&mut self, request: &CoreRequest<W>, early: bool, out: &mut Outbox<W>) -> bool {
        let CoreRequest { order, scope, txn, wave, .. } = *request;
        let acquires = matches!(order, Order::Acquire | Order::AcqRel) && scope > Scope::WorkGroup;
        if !matches!(order, Order::Release | Order::AcqRel) {
            out.complete_empty(txn);
            return acquires;
        }
        if acquires && !early {
            self.acquires.push(txn);
        }
        let before = out.completions.len();
        self.writes.fence(wave, txn, out);
        self.passed(before, out) || (acquires && early)
    }

    fn end<const W: usize>(&mut self, txn: Txn, out: &mut Outbox<W>) {
        if self.writes.is_idle() {
            out.complete_empty(txn);
        } else {
            self.ends.push(txn);
        }
    }

    /// Whether no write is outstanding and nothing waits.
    pub fn is_idle(&self) -> bool {
        self.writes.is_idle() && self.ends.is_empty()
    }

    /// Whether a fence that invalidates is among the operations that have ended since `before`.
    fn passed<const W: usize>(&mut self, before: usize, out: &Outbox<W>) -> bool {
        let waiting = self.acquires.len();
        if waiting > 0 {
            self.acquires.retain(|txn| out.completions[before..].iter().all(|passed| passed.txn != *txn));
        }
        self.acquires.len() < waiting
    }
}
