//! Fences of a private cache, and the starts and ends of kernels. A fence releases first and acquires afterwards. Both
//! wait for the banks of the module: for a release that everybody has what was stored, and for an acquire of software
//! protocols that the shared copies are dropped.

use crate::access::{CoreOp, CoreRequest, Order, Scope, Txn};
use crate::address::{AgentId, LineAddr};
use crate::controller::Outbox;
use crate::message::{Message, MsgKind};
use crate::protocols::scoped::faults::L1Fault;
use crate::protocols::scoped::l1::{Acquire, ScopedL1};
use crate::protocols::scoped::messages::{ACQ, REL, REL_END};
use crate::protocols::scoped::place::Place;
use crate::save::{self, Save};

/// A fence, or a kernel's start or end, that waits for the L2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Save)]
pub(super) struct Fence {
    txn: Txn,
    scope: Scope,
    stage: Stage,
    /// The number of banks that have not answered yet.
    banks: u16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Save)]
enum Stage {
    /// The fence is released when all banks have answered. If `acquires` is set, it acquires then.
    Release { acquires: bool },
    /// The fence is passed when all banks have answered that the shared copies are dropped.
    Acquire,
}

impl<P: Place, const W: usize> ScopedL1<P, W> {
    /// Starts a fence, or a kernel's start or end. It releases first and acquires afterwards.
    #[inline(never)]
    pub(super) fn fence(&mut self, request: &CoreRequest<W>, out: &mut Outbox<W>) {
        let CoreRequest { order, scope, txn, .. } = *request;
        let acquires = matches!(order, Order::Acquire | Order::AcqRel);
        let releases = matches!(order, Order::Release | Order::AcqRel);
        let kernel_end = request.op == CoreOp::KernelEnd && self.faulty(L1Fault::NoKernelEnd);
        if scope == Scope::WorkGroup {
            out.complete_empty(txn);
        } else if releases && !self.faulty(L1Fault::NoRelease) && !kernel_end {
            if acquires && self.faulty(L1Fault::EarlyAcquire) {
                self.drop_copies();
            }
            let kind = if request.op == CoreOp::KernelEnd { REL_END } else { REL };
            self.ask_banks(kind, txn, scope, Stage::Release { acquires }, out);
        } else {
            let begins = request.op == CoreOp::KernelBegin;
            let acquire = if begins { self.policy.kernel_acquire } else { self.policy.acquire };
            self.acquired(acquire, acquires, txn, scope, out);
        }
    }

    /// Continues a fence whose releases are done.
    fn acquired(&mut self, acquire: Acquire, acquires: bool, txn: Txn, scope: Scope, out: &mut Outbox<W>) {
        match acquire {
            Acquire::DropsShared if acquires => self.ask_banks(ACQ, txn, scope, Stage::Acquire, out),
            Acquire::DropsPrivate | Acquire::DropsShared | Acquire::Nothing => {
                if acquires {
                    self.drop_copies();
                }
                out.complete_empty(txn);
            }
        }
    }

    /// Sends a request to every bank of the module, behind everything that was sent before.
    fn ask_banks(&mut self, kind: MsgKind, txn: Txn, scope: Scope, stage: Stage, out: &mut Outbox<W>) {
        let banks = self.config.topology.banks_per_module();
        for bank in 0..banks {
            let to = AgentId(self.first_bank.0 + bank);
            let message = Message::control(kind, LineAddr(0), self.me, to);
            out.send(Message { txn, scope, origin: self.me, ..message });
        }
        self.fences.push(Fence { txn, scope, stage, banks });
    }

    /// Drops every copy. Copies that are on their way will not be kept.
    fn drop_copies(&mut self) {
        if self.policy.acquire == Acquire::Nothing || self.faulty(L1Fault::KeptCopies) {
            return;
        }
        let kept_misses = self.faulty(L1Fault::KeptMisses) || self.faulty(L1Fault::EarlyAcquire);
        let kept_parts = self.faulty(L1Fault::KeptParts);
        let is_kept = |place: P| match place.is_reserved() {
            true => kept_misses,
            false => kept_parts && !place.is_whole::<W>(),
        };
        self.lines.remove_where(|place| !is_kept(*place));
    }

    #[inline(never)]
    pub(super) fn bank_answered(&mut self, txn: Txn, out: &mut Outbox<W>) {
        let Some(index) = self.fences.iter().position(|fence| fence.txn == txn) else { return };
        let fence = &mut self.fences[index];
        fence.banks -= 1;
        if fence.banks > 0 {
            return;
        }
        let Fence { scope, stage, .. } = self.fences.remove(index);
        match stage {
            Stage::Release { acquires } => {
                let acquires = acquires && !self.faulty(L1Fault::EarlyAcquire);
                self.acquired(self.policy.acquire, acquires, txn, scope, out);
            }
            Stage::Acquire => {
                self.drop_copies();
                out.complete_empty(txn);
            }
        }
    }
}
