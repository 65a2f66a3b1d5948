//! How a shared bank serves releases and acquires; what it waits for meanwhile is kept in [`collect`](super::collect).

use crate::access::{Scope, Txn};
use crate::address::{AgentId, LineAddr};
use crate::controller::Outbox;
use crate::directory::Directory;
use crate::message::{Message, MsgKind};
use crate::protocols::scoped::collect::{Asker, Collection, Purpose};
use crate::protocols::scoped::l2::ScopedL2;
use crate::protocols::scoped::messages::{ACQ, ACQ_DONE, DONE, MARK, MARK_DONE, REL, REL_HOME};
use crate::protocols::scoped::policy::{L2Fault, Tallies};
use crate::protocols::scoped::route::Hierarchy;

/// Which sharers have to be marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Marked {
    Everybody,
    ThisGpu,
}

impl<D: Directory, const W: usize> ScopedL2<D, W> {
    /// A release, of a private cache of this module or of another bank.
    pub(super) fn release(&mut self, message: &Message<W>, out: &mut Outbox<W>) {
        let asker = Asker { agent: message.src, txn: message.txn };
        if !self.route.is_local(message.src) {
            self.collect(Purpose::PeerRelease, message.scope, vec![asker], out);
            return;
        }
        self.tallies.add(Tallies::RELEASES, 1);
        self.ask_for_module(Purpose::Release, message.scope, asker, out);
    }

    /// A private cache of this module has nothing more to store in this kernel. With the last of them, all have released.
    pub(super) fn kernel_ended(&mut self, message: &Message<W>, out: &mut Outbox<W>) {
        self.collections.queue(Purpose::KernelEnd, Scope::System, Asker { agent: message.src, txn: message.txn });
        if self.collections.queued(Purpose::KernelEnd) == self.route.private_caches()
            && let Some((scope, askers)) = self.collections.take_queued(Purpose::KernelEnd)
        {
            self.tallies.add(Tallies::RELEASES, 1);
            self.collect(Purpose::KernelEnd, scope, askers, out);
        }
    }

    /// An acquire that shared copies have to be dropped for, of a private cache of this module or of another bank of its GPU.
    pub(super) fn acquire(&mut self, message: &Message<W>, out: &mut Outbox<W>) {
        let asker = Asker { agent: message.src, txn: message.txn };
        if self.route.is_local(message.src) {
            self.ask_for_module(Purpose::Acquire, message.scope, asker, out);
        } else {
            self.drop_for_acquire(out);
            self.done(asker, ACQ_DONE, out);
        }
    }

    fn ask_for_module(&mut self, purpose: Purpose, scope: Scope, asker: Asker, out: &mut Outbox<W>) {
        if self.collections.is_running(purpose) {
            self.collections.queue(purpose, scope, asker);
        } else {
            self.collect(purpose, scope, vec![asker], out);
        }
    }

    /// A release of another GPU: the stores are here, and copies that they made stale are being taken back.
    pub(super) fn release_at_home(&mut self, message: &Message<W>, out: &mut Outbox<W>) {
        let asker = Asker { agent: message.src, txn: message.txn };
        let name = self.collections.free_name();
        let missing = self.send_marks(name, Marked::Everybody, out);
        self.wait(
            Collection { name, purpose: Purpose::PeerRelease, scope: Scope::System, askers: vec![asker], missing },
            out,
        );
    }

    /// A mark: the invalidations before it have been carried out here. Those of another GPU's home were passed on.
    pub(super) fn marked(&mut self, message: &Message<W>, out: &mut Outbox<W>) {
        let asker = Asker { agent: message.src, txn: message.txn };
        let name = self.collections.free_name();
        let passes_on = self.policy.hierarchy == Hierarchy::GpuHomes
            && !self.route.is_neighbour(message.src)
            && !self.faulty(L2Fault::MarkNotForwarded);
        let missing = if passes_on { self.send_marks(name, Marked::ThisGpu, out) } else { 0 };
        self.wait(
            Collection { name, purpose: Purpose::PeerMark, scope: Scope::System, askers: vec![asker], missing },
            out,
        );
    }

    /// Asks everybody who has to be asked, and answers when they have answered.
    fn collect(&mut self, purpose: Purpose, scope: Scope, askers: Vec<Asker>, out: &mut Outbox<W>) {
        // Without GPU homes there is one home for every scope.
        let scope = if self.policy.hierarchy == Hierarchy::Flat { Scope::System } else { scope };
        let name = self.collections.free_name();
        let mut missing = 0;
        match purpose {
            Purpose::Acquire => {
                if self.policy.hierarchy == Hierarchy::GpuHomes
                    && scope == Scope::System
                    && !self.faulty(L2Fault::AcquireOnlyHere)
                {
                    missing += self.question_all(ACQ, name, scope, out);
                }
            }
            Purpose::Release | Purpose::KernelEnd | Purpose::PeerRelease | Purpose::PeerMark => {
                self.clean_all(out);
                let own = matches!(purpose, Purpose::Release | Purpose::KernelEnd);
                if own && !self.faulty(L2Fault::ReleaseStaysHere) {
                    missing += self.question_all(REL, name, scope, out);
                }
                missing += self.release_here(name, scope, out);
            }
        }
        self.wait(Collection { name, purpose, scope, askers, missing }, out);
    }

    /// What this bank itself has to see to: the homes that it is the GPU home for, and the invalidations that it has sent.
    fn release_here(&mut self, name: Txn, scope: Scope, out: &mut Outbox<W>) -> u16 {
        let mut missing = 0;
        if scope == Scope::System && !self.faulty(L2Fault::ReleaseStopsAtGpuHome) {
            for home in self.route.system_homes() {
                out.send(self.question(REL_HOME, home, name, scope));
                missing += 1;
            }
        }
        missing + self.send_marks(name, if scope == Scope::System { Marked::Everybody } else { Marked::ThisGpu }, out)
    }

    fn question_all(&self, kind: MsgKind, name: Txn, scope: Scope, out: &mut Outbox<W>) -> u16 {
        let mut asked = 0;
        for peer in self.route.peers(scope) {
            out.send(self.question(kind, peer, name, scope));
            asked += 1;
        }
        asked
    }

    fn question(&self, kind: MsgKind, to: AgentId, name: Txn, scope: Scope) -> Message<W> {
        Message { txn: name, scope, ..Message::control(kind, LineAddr(0), self.me, to) }
    }

    /// Sends marks behind the invalidations that may still be on their way.
    fn send_marks(&mut self, name: Txn, marked: Marked, out: &mut Outbox<W>) -> u16 {
        if self.faulty(L2Fault::ReleaseWithoutMarks) {
            return 0;
        }
        let mut sent = 0;
        for position in 0..self.route.positions() {
            let concerned = marked == Marked::Everybody || self.route.is_in_this_gpu(position);
            let channel = &mut self.channels[usize::from(position)];
            if concerned && channel.is_open() {
                channel.unmarked = false;
                channel.marks += 1;
                sent += 1;
                out.send(self.question(MARK, self.route.sharer(position), name, Scope::System));
            }
        }
        sent
    }

    /// A sharer has carried out the invalidations before a mark.
    pub(super) fn mark_answered(&mut self, message: &Message<W>, out: &mut Outbox<W>) {
        let position = self.route.position(message.src);
        self.channels[usize::from(position)].marks -= 1;
        self.answered(message.txn, out);
    }

    /// Somebody has answered.
    pub(super) fn answered(&mut self, name: Txn, out: &mut Outbox<W>) {
        if let Some(collection) = self.collections.answered(name) {
            self.finish(collection, out);
        }
    }

    fn wait(&mut self, collection: Collection, out: &mut Outbox<W>) {
        if collection.missing > 0 {
            self.collections.start(collection);
        } else {
            self.finish(collection, out);
        }
    }

    fn finish(&mut self, collection: Collection, out: &mut Outbox<W>) {
        let Collection { purpose, askers, .. } = collection;
        if purpose == Purpose::Acquire {
            // Not before: until the others had dropped their copies, stale ones could have come back from them.
            self.drop_for_acquire(out);
        }
        let kind = match purpose {
            Purpose::PeerMark => MARK_DONE,
            Purpose::Acquire => ACQ_DONE,
            Purpose::Release | Purpose::KernelEnd | Purpose::PeerRelease => DONE,
        };
        for asker in askers {
            self.done(asker, kind, out);
        }
        if purpose != Purpose::KernelEnd
            && let Some((scope, askers)) = self.collections.take_queued(purpose)
        {
            self.collect(purpose, scope, askers, out);
        }
    }

    fn done(&self, asker: Asker, kind: MsgKind, out: &mut Outbox<W>) {
        out.send(Message { txn: asker.txn, ..Message::control(kind, LineAddr(0), self.me, asker.agent) });
    }
}
