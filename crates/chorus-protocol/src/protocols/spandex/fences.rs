//! Fences of self-invalidating caches (Spandex paper, section III-E): a release waits for the wavefront's writes, an acquire invalidates, and what is both
//! invalidates once it has waited.

use crate::access::{CoreOp, CoreRequest, Order, Scope, Txn};
use crate::controller::Outbox;
use crate::write_tracker::{FenceFault, WriteTracker};

/// Writes outstanding, and what waits for them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Fences {
    writes: WriteTracker,
    /// Fences that invalidate once they have waited.
    acquires: Vec<Txn>,
    /// Ends of kernels that wait for every write.
    ends: Vec<Txn>,
}

impl Fences {
    /// Nothing outstanding for any of `waves` wavefront slots.
    pub fn new(waves: u16, fault: Option<FenceFault>) -> Self {
        Fences { writes: WriteTracker::new(waves, fault), acquires: Vec::new(), ends: Vec::new() }
    }

    /// A write of `wave` is outstanding.
    pub fn sent(&mut self, wave: u16) {
        self.writes.sent(wave);
    }

    /// A write of `wave` is performed. Says whether the cache has to invalidate now.
    pub fn acknowledged<const W: usize>(&mut self, wave: u16, out: &mut Outbox<W>) -> bool {
        let before = out.completions.len();
        self.writes.acknowledged(wave, out);
        let acquires = self.passed(before, out);
        if !self.ends.is_empty() && self.writes.is_idle() {
            self.ends.drain(..).for_each(|txn| out.complete_empty(txn));
        }
        acquires
    }

    /// A fence, or the beginning or the end of a kernel. Says whether the cache has to invalidate now; `early` is the fault of doing so before a fence has
    /// waited.
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

    /// Whether nothing is outstanding.
    pub fn is_idle(&self) -> bool {
        self.writes.is_idle() && self.ends.is_empty()
    }

    /// Whether a fence that invalidates is among what has ended since `before`.
    fn passed<const W: usize>(&mut self, before: usize, out: &Outbox<W>) -> bool {
        let waiting = self.acquires.len();
        if waiting > 0 {
            self.acquires.retain(|txn| out.completions[before..].iter().all(|passed| passed.txn != *txn));
        }
        self.acquires.len() < waiting
    }
}
