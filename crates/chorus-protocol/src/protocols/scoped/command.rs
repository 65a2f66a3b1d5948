//! How a shared bank carries out what a command processor asks for between kernels (CPElide paper, sections III-B and III-C; [`Commands`](crate::registry::Commands)).
//!
//! A release hands every dirty line on and keeps it as a clean copy; an acquire does so, too, and drops every line then. What goes to this bank's own memory is done when it
//! is sent, as whoever reads that memory asks here. Where lines of another home's memory can be dirty, what is handed on has to arrive, and so have the invalidations that it causes there: that is
//! waited for as in a release of a private cache. It is waited for even where nothing is dirty any more, as an invalidation may just have made it leave.

use crate::access::{CoreOp, CoreRequest, Scope};
use crate::address::LineAddr;
use crate::cache::Slot;
use crate::controller::Outbox;
use crate::directory::Directory;
use crate::line::ByteMask;
use crate::protocols::scoped::collect::{Asker, Purpose};
use crate::protocols::scoped::l2::ScopedL2;
use crate::protocols::scoped::policy::{L2Fault, WriteBack};
use crate::protocols::scoped::tallies::{LINES_BY_COMMAND, WRITTEN_BACK_BY_COMMAND};

impl<D: Directory, const W: usize> ScopedL2<D, W> {
    /// Carries a command out. Returns whether it was one.
    pub(super) fn command(&mut self, request: &CoreRequest<W>, out: &mut Outbox<W>) -> bool {
        let empties = match request.op {
            CoreOp::KernelEnd => false,
            CoreOp::KernelBegin => true,
            CoreOp::Load | CoreOp::Store | CoreOp::Atomic(_) | CoreOp::Fence => return false,
        };
        let concerned = self.concerned(request);
        for &slot in &concerned {
            self.write_back(slot, empties, out);
        }
        if empties && !self.faulty(L2Fault::CommandKeepsCopies) {
            self.empty(&concerned);
        }
        let asker = Asker { agent: self.me, txn: request.txn };
        let waits = self.policy.write_back == WriteBack::Everywhere && !self.faulty(L2Fault::CommandDoesNotWait);
        if !waits {
            out.complete_empty(asker.txn);
        } else if self.collections.is_running(Purpose::Command) {
            self.collections.queue(Purpose::Command, Scope::System, asker);
        } else {
            self.collect(Purpose::Command, Scope::System, vec![asker], out);
        }
        true
    }

    /// The places of all lines, copies and those on their way, that a command concerns.
    fn concerned(&self, request: &CoreRequest<W>) -> Vec<Slot> {
        if request.mask.is_empty() {
            return self.lines.slots().collect();
        }
        let first = request.line.0;
        let lines = if self.faulty(L2Fault::CommandFirstOfPage) { 1 } else { self.page_lines };
        (first..first + u64::from(lines)).filter_map(|line| self.lines.find(LineAddr(line))).collect()
    }

    /// Hands on what the next station does not have of a line.
    fn write_back(&mut self, slot: Slot, empties: bool, out: &mut Outbox<W>) {
        if self.lines.meta(slot).dirty.is_empty() || !empties && self.faulty(L2Fault::CommandWritesNothing) {
            return;
        }
        self.tallies.add(WRITTEN_BACK_BY_COMMAND, 1);
        let forgets = if empties { L2Fault::CommandLosesDirty } else { L2Fault::CommandForgetsDirty };
        if self.faulty(forgets) {
            self.lines.meta_mut(slot).dirty = ByteMask::EMPTY;
        }
        self.clean(self.lines.line(slot), slot, out);
    }

    /// Drops lines, and keeps those on their way from staying.
    fn empty(&mut self, concerned: &[Slot]) {
        for &slot in concerned {
            let pending = self.lines.meta(slot).pending;
            self.lines.remove(slot);
            self.tallies.add(LINES_BY_COMMAND, u64::from(!pending));
        }
    }

    /// The homes have what commands handed on.
    pub(super) fn commands_done(&mut self, askers: &[Asker], out: &mut Outbox<W>) {
        askers.iter().for_each(|asker| out.complete_empty(asker.txn));
        if let Some((scope, askers)) = self.collections.take_queued(Purpose::Command) {
            self.collect(Purpose::Command, scope, askers, out);
        }
    }
}
