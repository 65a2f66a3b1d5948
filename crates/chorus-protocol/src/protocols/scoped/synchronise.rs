//! The part of a shared bank that serves releases and acquires. The answers that it waits for are kept in
//! [`collect`](super::collect).

use crate::access::{Scope, Txn};
use crate::address::{AgentId, LineAddr};
use crate::controller::{Outbox, Outcome};
use crate::directory::Directory;
use crate::message::{Message, MsgKind};
use crate::protocols::scoped::collect::{Asker, Collection, Purpose, WHOLE};
use crate::protocols::scoped::faults::L2Fault;
use crate::protocols::scoped::l2::ScopedL2;
use crate::protocols::scoped::messages::{ACQ, ACQ_DONE, DONE, MARK, MARK_DONE, REL, REL_END, REL_HOME};
use crate::protocols::scoped::policy::{Asked, HandedOn};
use crate::protocols::scoped::route::Station;
use crate::protocols::scoped::tallies::RELEASES;

/// The sharers to which marks are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Marked {
    Everybody,
    ThisGpu,
}

/// A message that asks another bank to take part in a release or an acquire.
#[derive(Clone, Copy, Debug)]
struct Question {
    kind: MsgKind,
    to: AgentId,
}

/// The collection that a question belongs to, and the credit that is available for questions.
#[derive(Clone, Copy, Debug)]
struct Errand {
    collector: AgentId,
    name: Txn,
    scope: Scope,
    credit: u32,
}

/// An event that concerns no particular line: a step of a release or an acquire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SyncEvent {
    /// A private cache of this module releases.
    LocalRel,
    /// A kernel has ended on a private cache of this module.
    KernelEnd,
    /// Another bank asks this one to take part in a release.
    RemoteRel,
    /// A GPU home asks the system home to take part in a release.
    HomeRel,
    /// A private cache of this module acquires, and shared copies have to be dropped.
    LocalAcq,
    /// Another bank of this GPU asks to drop shared copies.
    RemoteAcq,
    /// The invalidations before a mark have arrived here.
    Mark,
    /// The invalidations before a mark have arrived here, and this bank has passed them on to modules of its GPU.
    ForwardedMark,
    /// The invalidations before a mark have arrived at a sharer, and wherever it passed them on to.
    MarkDone,
    /// Credit of a collection comes back.
    Done,
}

impl<D: Directory, const W: usize> ScopedL2<D, W> {
    /// The step of a release or an acquire for which a message stands.
    pub(super) fn sync_event(&self, message: &Message<W>) -> Option<SyncEvent> {
        let is_local = self.route.is_local(message.src);
        match message.kind {
            REL if is_local => Some(SyncEvent::LocalRel),
            REL => Some(SyncEvent::RemoteRel),
            REL_END => Some(SyncEvent::KernelEnd),
            REL_HOME => Some(SyncEvent::HomeRel),
            ACQ if is_local => Some(SyncEvent::LocalAcq),
            ACQ => Some(SyncEvent::RemoteAcq),
            MARK if self.route.forwards_for(message.src) && !self.faulty(L2Fault::MarkNotForwarded) => {
                Some(SyncEvent::ForwardedMark)
            }
            MARK => Some(SyncEvent::Mark),
            MARK_DONE => Some(SyncEvent::MarkDone),
            DONE | ACQ_DONE => Some(SyncEvent::Done),
            MsgKind(_) => None,
        }
    }

    /// Takes a step of a release or an acquire (HMG paper, sections IV-B, V-B and VI).
    #[inline(never)]
    pub(super) fn synchronise(&mut self, event: SyncEvent, message: &Message<W>, out: &mut Outbox<W>) -> Outcome {
        match event {
            SyncEvent::LocalRel => self.release(message, out),
            SyncEvent::KernelEnd => self.kernel_ended(message, out),
            SyncEvent::RemoteRel => self.take_part(message, out),
            SyncEvent::HomeRel => self.pass_marks_on(Marked::Everybody, message, out),
            SyncEvent::LocalAcq => self.ask_for_module(Purpose::Acquire, message, out),
            SyncEvent::RemoteAcq => self.drop_and_answer(message, out),
            SyncEvent::Mark => self.answer_mark(message, out),
            SyncEvent::ForwardedMark => self.forward_mark(message, out),
            SyncEvent::MarkDone => self.mark_answered(message, out),
            SyncEvent::Done => self.returned(message.txn, message.credit, out),
        }
        Outcome::Done
    }

    fn release(&mut self, message: &Message<W>, out: &mut Outbox<W>) {
        self.tallies.add(RELEASES, 1);
        self.ask_for_module(Purpose::Release, message, out);
    }

    /// Takes the kernel end of a private cache of this module, which has nothing more to store in this kernel. With the
    /// last private cache, all have released.
    fn kernel_ended(&mut self, message: &Message<W>, out: &mut Outbox<W>) {
        self.collections.queue(Purpose::KernelEnd, Scope::System, asker_of(message));
        if self.collections.queued(Purpose::KernelEnd) == self.route.private_caches()
            && let Some((scope, askers)) = self.collections.take_queued(Purpose::KernelEnd)
        {
            self.tallies.add(RELEASES, 1);
            self.collect(Purpose::KernelEnd, scope, askers, out);
        }
    }

    /// Takes part in a release of another bank. Stores that it releases may have stayed here on their way to a home
    /// further on.
    fn take_part(&mut self, message: &Message<W>, out: &mut Outbox<W>) {
        if self.route.is_on_the_way() {
            self.clean_remote(out);
        }
        let questions = self.release_here(message.scope);
        self.pass_on(message, &questions, out);
    }

    /// Marks the invalidations that stores of another bank have caused, on behalf of that bank.
    fn pass_marks_on(&mut self, marked: Marked, message: &Message<W>, out: &mut Outbox<W>) {
        let marks = self.marks(marked);
        self.pass_on(message, &marks, out);
    }

    /// Passes a mark of another GPU's home on within this GPU. The home is told when the invalidations have arrived
    /// there, too. Until then it marks every release.
    fn forward_mark(&mut self, message: &Message<W>, out: &mut Outbox<W>) {
        self.pass_marks_on(Marked::ThisGpu, message, out);
        self.unsettled.push(message.src);
        self.settle(out);
    }

    fn answer_mark(&mut self, message: &Message<W>, out: &mut Outbox<W>) {
        if message.origin == message.src {
            out.send(Message { credit: message.credit, ..message.reply(MARK_DONE) });
        } else {
            self.pass_on(message, &[], out);
            out.send(message.reply(MARK_DONE));
        }
    }

    fn drop_and_answer(&mut self, message: &Message<W>, out: &mut Outbox<W>) {
        self.drop_for_acquire(out);
        out.send(Message { credit: message.credit, ..message.reply(ACQ_DONE) });
    }

    /// Hands dirty lines on, as far as a collection for `purpose` needs it.
    fn hand_dirty_on(&mut self, purpose: Purpose, out: &mut Outbox<W>) {
        match self.policy.handed_on(purpose) {
            HandedOn::Nothing => {}
            HandedOn::Remote => self.clean_remote(out),
            HandedOn::Everything => {
                self.clean_remote(out);
                self.clean_all(|station| station == Station::Home, out);
            }
        }
    }

    /// Hands on dirty lines of other banks' memory.
    fn clean_remote(&mut self, out: &mut Outbox<W>) {
        if self.policy.write_back.holds_up_stores() {
            self.clean_all(|station| station != Station::Home, out);
        }
    }

    fn ask_for_module(&mut self, purpose: Purpose, message: &Message<W>, out: &mut Outbox<W>) {
        if self.collections.is_running(purpose) {
            self.collections.queue(purpose, message.scope, asker_of(message));
        } else {
            self.collect(purpose, message.scope, vec![asker_of(message)], out);
        }
    }

    /// Asks all banks that have to take part, and answers once they have answered.
    pub(super) fn collect(&mut self, purpose: Purpose, scope: Scope, askers: Vec<Asker>, out: &mut Outbox<W>) {
        let scope = self.route.reach(scope);
        self.hand_dirty_on(purpose, out);
        let questions = match purpose {
            Purpose::Acquire => self.questions_of_acquire(scope),
            Purpose::Release | Purpose::KernelEnd | Purpose::Command => self.questions_of_release(scope),
        };
        let name = self.collections.free_name();
        let rest = self.ask_all(&questions, Errand { collector: self.me, name, scope, credit: WHOLE }, out);
        let collection = Collection { name, purpose, askers, missing: WHOLE - rest };
        if collection.missing > 0 {
            self.collections.start(collection);
        } else {
            self.finish(collection, out);
        }
    }

    fn questions_of_acquire(&self, scope: Scope) -> Vec<Question> {
        let reaches_others = self.route.acquires_elsewhere(scope) && !self.faulty(L2Fault::AcquireOnlyHere);
        if reaches_others { self.peers(ACQ, scope).collect() } else { Vec::new() }
    }

    fn questions_of_release(&mut self, scope: Scope) -> Vec<Question> {
        let stays = !self.asks_elsewhere() || self.faulty(L2Fault::ReleaseStaysHere);
        let mut questions: Vec<_> = if stays { Vec::new() } else { self.peers(REL, scope).collect() };
        questions.extend(self.release_here(scope));
        questions
    }

    /// Whether a release has to ask other modules. Those that one before it has asked may not have answered yet.
    fn asks_elsewhere(&mut self) -> bool {
        match self.policy.asked {
            Asked::Everybody => true,
            Asked::WhereStored => {
                let has_stored = std::mem::take(&mut self.stored_elsewhere);
                has_stored || self.collections.is_any_running() || !self.route.is_pair()
            }
        }
    }

    fn peers(&self, kind: MsgKind, scope: Scope) -> impl Iterator<Item = Question> + use<'_, D, W> {
        self.route.peers(scope).map(move |to| Question { kind, to })
    }

    /// The questions of this bank's own part in a release: to the homes for which it is the GPU home, and to the
    /// sharers to which it has sent invalidations.
    fn release_here(&mut self, scope: Scope) -> Vec<Question> {
        let leaves_gpu = scope == Scope::System && !self.faulty(L2Fault::ReleaseStopsAtGpuHome);
        let homes = self.route.system_homes().filter(|_| leaves_gpu).map(|to| Question { kind: REL_HOME, to });
        let mut questions: Vec<_> = homes.collect();
        questions.extend(self.marks(if scope == Scope::System { Marked::Everybody } else { Marked::ThisGpu }));
        questions
    }

    /// Marks to be sent behind the invalidations that may still be on their way.
    fn marks(&mut self, marked: Marked) -> Vec<Question> {
        if self.faulty(L2Fault::ReleaseWithoutMarks) {
            return Vec::new();
        }
        let mut marks = Vec::new();
        for position in 0..self.route.positions() {
            let concerned = marked == Marked::Everybody || self.route.is_in_this_gpu(position);
            let channel = &mut self.channels[usize::from(position)];
            if concerned && channel.is_open() {
                channel.unmarked = false;
                channel.marks += 1;
                marks.push(Question { kind: MARK, to: self.route.sharer(position) });
            }
        }
        marks
    }

    /// Sends questions with equal shares of the available credit, and returns the rest of it.
    fn ask_all(&self, questions: &[Question], errand: Errand, out: &mut Outbox<W>) -> u32 {
        let Errand { collector, name, scope, credit: available } = errand;
        let credit = available / (questions.len() as u32 + 1);
        for question in questions {
            let message = Message::control(question.kind, LineAddr(0), self.me, question.to);
            out.send(Message { txn: name, origin: collector, scope, credit, ..message });
        }
        available - credit * questions.len() as u32
    }

    /// Passes a question on, and sends the rest of its credit to the bank that collects.
    fn pass_on(&mut self, message: &Message<W>, questions: &[Question], out: &mut Outbox<W>) {
        let Message { origin: collector, txn: name, scope, credit, .. } = *message;
        let credit = self.ask_all(questions, Errand { collector, name, scope, credit }, out);
        if collector == self.me {
            self.returned(name, credit, out);
        } else {
            let answer = Message::control(DONE, LineAddr(0), self.me, collector);
            out.send(Message { txn: name, credit, ..answer });
        }
    }

    /// Notes that the invalidations before a mark have arrived.
    fn mark_answered(&mut self, message: &Message<W>, out: &mut Outbox<W>) {
        let position = self.route.position(message.src);
        self.channels[usize::from(position)].marks -= 1;
        self.settle(out);
        if message.credit > 0 {
            self.returned(message.txn, message.credit, out);
        }
    }

    /// Tells the homes that wait for it once nothing that was passed on within this GPU can still be on its way.
    fn settle(&mut self, out: &mut Outbox<W>) {
        let here = (0..self.route.positions()).filter(|&position| self.route.is_in_this_gpu(position));
        if here.map(|position| self.channels[usize::from(position)]).all(|channel| channel.marks == 0) {
            for home in self.unsettled.drain(..) {
                out.send(Message::control(MARK_DONE, LineAddr(0), self.me, home));
            }
        }
    }

    /// Takes back credit of a collection.
    fn returned(&mut self, name: Txn, credit: u32, out: &mut Outbox<W>) {
        if let Some(collection) = self.collections.returned(name, credit) {
            self.finish(collection, out);
        }
    }

    fn finish(&mut self, collection: Collection, out: &mut Outbox<W>) {
        let Collection { purpose, askers, .. } = collection;
        if purpose == Purpose::Command {
            self.commands_done(&askers, out);
            return;
        }
        let kind = match purpose {
            Purpose::Acquire => {
                // The copies are dropped only now: until the other banks had dropped theirs, stale copies could have
                // come back from them.
                self.drop_for_acquire(out);
                ACQ_DONE
            }
            Purpose::Release | Purpose::KernelEnd | Purpose::Command => DONE,
        };
        for Asker { agent, txn } in askers {
            out.send(Message { txn, ..Message::control(kind, LineAddr(0), self.me, agent) });
        }
        if purpose != Purpose::KernelEnd
            && let Some((scope, askers)) = self.collections.take_queued(purpose)
        {
            self.collect(purpose, scope, askers, out);
        }
    }
}

fn asker_of<const W: usize>(message: &Message<W>) -> Asker {
    Asker { agent: message.src, txn: message.txn }
}
