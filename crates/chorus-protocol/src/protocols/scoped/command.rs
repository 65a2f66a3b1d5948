//! The commands that a shared bank gets from a command processor between kernels (CPElide paper, sections III-B and
//! III-C; [`Commands`](crate::registry::Commands)).
//!
//! A release hands every dirty line on and keeps it as a clean copy. An acquire does the same, and then drops every
//! line. Lines of this bank's own memory are done when they are sent, since every reader of that memory asks here.
//! Where lines of another home's memory can be dirty, the lines that are handed on have to arrive there, and the
//! invalidations that they cause have to arrive, too. The bank waits for this as in a release of a private cache. It
//! waits even if nothing is dirty any more, since an invalidation may just have made a dirty line leave.

use crate::access::{CoreOp, CoreRequest, Scope};
use crate::address::LineAddr;
use crate::cache::Slot;
use crate::controller::Outbox;
use crate::directory::Directory;
use crate::line::ByteMask;
use crate::protocols::scoped::collect::{Asker, Purpose};
use crate::protocols::scoped::faults::L2Fault;
use crate::protocols::scoped::l2::ScopedL2;
use crate::protocols::scoped::tallies::{LINES_BY_COMMAND, WRITTEN_BACK_BY_COMMAND};

impl<D: Directory, const W: usize> ScopedL2<D, W> {
    /// Carries a command out. Returns whether the request was a command.
    pub(super) fn command(&mut self, request: &CoreRequest<W>, out: &mut Outbox<W>) -> bool {
        let empties = match request.op {
            CoreOp::KernelEnd => false,
            CoreOp::KernelBegin => true,
            CoreOp::Load | CoreOp::Store | CoreOp::Atomic(_) | CoreOp::Fence => return false,
        };
        let concerned = self.concerned(request, empties);
        for &slot in &concerned {
            self.write_back(slot, empties, out);
        }
        if empties && !self.faulty(L2Fault::CommandKeepsCopies) {
            self.empty(&concerned);
        }
        let asker = Asker { agent: self.me, txn: request.txn };
        let waits = self.policy.write_back.holds_up_stores() && !self.faulty(L2Fault::CommandDoesNotWait);
        if !waits {
            out.complete_empty(asker.txn);
        } else if self.collections.is_running(Purpose::Command) {
            self.collections.queue(Purpose::Command, Scope::System, asker);
        } else {
            self.collect(Purpose::Command, Scope::System, vec![asker], out);
        }
        true
    }

    /// The places of all lines that a command concerns. If it empties the bank, these are all that hold a copy or that
    /// wait for one. Otherwise they are those of dirty lines.
    fn concerned(&self, request: &CoreRequest<W>, empties: bool) -> Vec<Slot> {
        if request.mask.is_empty() {
            return if empties { self.lines.slots().collect() } else { self.lines.noted().collect() };
        }
        let first = request.line.0;
        let lines = if self.faulty(L2Fault::CommandFirstOfPage) { 1 } else { self.page_lines };
        (first..first + u64::from(lines)).filter_map(|line| self.lines.find(LineAddr(line))).collect()
    }

    /// Hands on the bytes of a line that the next station does not have.
    fn write_back(&mut self, slot: Slot, empties: bool, out: &mut Outbox<W>) {
        if self.lines.meta(slot).dirty.is_empty() || !empties && self.faulty(L2Fault::CommandWritesNothing) {
            return;
        }
        self.tallies.add(WRITTEN_BACK_BY_COMMAND, 1);
        let forgets = if empties { L2Fault::CommandLosesDirty } else { L2Fault::CommandForgetsDirty };
        if self.faulty(forgets) {
            self.set_dirty(slot, ByteMask::EMPTY);
        }
        self.clean(self.lines.line(slot), slot, out);
    }

    /// Drops lines. Copies that are on their way will not be kept.
    fn empty(&mut self, concerned: &[Slot]) {
        for &slot in concerned {
            let pending = self.lines.meta(slot).pending;
            self.lines.remove(slot);
            self.tallies.add(LINES_BY_COMMAND, u64::from(!pending));
        }
    }

    /// Completes commands, since the homes have got the lines that they handed on.
    pub(super) fn commands_done(&mut self, askers: &[Asker], out: &mut Outbox<W>) {
        askers.iter().for_each(|asker| out.complete_empty(asker.txn));
        if let Some((scope, askers)) = self.collections.take_queued(Purpose::Command) {
            self.collect(Purpose::Command, scope, askers, out);
        }
    }
}
