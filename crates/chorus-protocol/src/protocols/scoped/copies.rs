//! The copies of a shared bank: room for them, their dirty bytes, and how they leave.

use crate::address::LineAddr;
use crate::cache::{Room, Slot};
use crate::controller::{Outbox, Outcome};
use crate::directory::Directory;
use crate::line::ByteMask;
use crate::message::Message;
use crate::protocols::scoped::faults::L2Fault;
use crate::protocols::scoped::l2::{ScopedL2, Taken};
use crate::protocols::scoped::messages::{DOWNGRADE, ST};
use crate::protocols::scoped::presence::{Line, State};
use crate::protocols::scoped::route::Station;
use crate::protocols::scoped::tallies::LINES_BY_ACQUIRE;

impl<D: Directory, const W: usize> ScopedL2<D, W> {
    /// A place for a line: it is free, or its copy has nothing that would be lost when the line is put there.
    pub(super) fn room_for(&mut self, line: LineAddr, out: &mut Outbox<W>) -> Result<Slot, Outcome> {
        match self.lines.room_for(line, |other| !other.pending) {
            Room::Busy => Err(Outcome::Stall),
            Room::Occupied(slot) if !out.evicts => Err(Outcome::Evict(self.lines.line(slot))),
            Room::Occupied(slot) => {
                self.give_up(slot, out);
                Ok(slot)
            }
            Room::Free(slot) => Ok(slot),
        }
    }

    /// A place for a line, as [`ScopedL2::room_for`] finds it, or none if nothing can leave now.
    pub(super) fn room_if_any(&mut self, line: LineAddr, out: &mut Outbox<W>) -> Result<Option<Slot>, Outcome> {
        match self.room_for(line, out) {
            Err(Outcome::Stall) => Ok(None),
            room => room.map(Some),
        }
    }

    /// Makes a copy ready to be replaced by another line. It is dropped at once only if others are told.
    #[inline]
    fn give_up(&mut self, slot: Slot, out: &mut Outbox<W>) {
        if self.policy.coherence.downgrades() {
            self.leave(slot, out);
        } else {
            self.clean(self.lines.line(slot), slot, out);
        }
    }

    /// Takes a copy out.
    pub(super) fn evict(&mut self, slot: Slot, out: &mut Outbox<W>) -> Taken {
        self.leave(slot, out);
        Ok(())
    }

    /// Drops a copy that an invalidation concerns.
    pub(super) fn take_back(&mut self, slot: Slot, by_store: bool, out: &mut Outbox<W>) -> Taken {
        let dropped = self.drop_at(slot, out);
        self.tallies.dropped(by_store, dropped);
        Ok(())
    }

    /// Gives up the place that is reserved for a copy on its way.
    pub(super) fn close(&mut self, slot: Slot) -> Taken {
        self.lines.remove(slot);
        Ok(())
    }

    /// Hands on what is dirty of a copy, drops it, and tells the home where the policy says so.
    fn leave(&mut self, slot: Slot, out: &mut Outbox<W>) {
        let line = self.lines.line(slot);
        self.drop_at(slot, out);
        if self.policy.coherence.downgrades() {
            self.downgrade(line, out);
        }
    }

    /// Tells the next station if neither this bank nor its sharers hold any of an entry's lines.
    fn downgrade(&mut self, line: LineAddr, out: &mut Outbox<W>) {
        if self.route.station(line) == Station::Home || self.directory.covers(line) {
            return;
        }
        let (first, lines) = self.directory.entry_of(line);
        let mut entry = (first.0..first.0 + u64::from(lines)).map(LineAddr);
        if entry.all(|line| self.state(line) == State::I) {
            out.send(Message::control(DOWNGRADE, line, self.me, self.route.next(line)));
        }
    }

    /// Sets which bytes of a copy the next station does not have.
    #[inline]
    pub(super) fn set_dirty(&mut self, slot: Slot, dirty: ByteMask) {
        self.lines.meta_mut(slot).dirty = dirty;
        if dirty.is_empty() {
            self.lines.forget_note(slot);
        } else {
            self.lines.note(slot);
        }
    }

    /// Hands on the bytes of a copy that the next station does not have. They do not count as the store of a particular
    /// thread.
    #[inline]
    pub(super) fn clean(&mut self, line: LineAddr, slot: Slot, out: &mut Outbox<W>) {
        if !self.lines.meta(slot).dirty.is_empty() {
            self.hand_on(line, slot, out);
        }
    }

    /// Hands on the dirty bytes of a copy, as [`ScopedL2::clean`] does.
    #[inline(never)]
    fn hand_on(&mut self, line: LineAddr, slot: Slot, out: &mut Outbox<W>) {
        let mask = self.lines.meta(slot).dirty;
        self.set_dirty(slot, ByteMask::EMPTY);
        let message = Message::control(ST, line, self.me, self.me);
        let message = Message { mask, data: *self.lines.data(slot), ..message };
        self.write_through(self.route.station(line), &message, out);
    }

    /// Hands on the dirty lines of the stations that are `concerned`.
    pub(super) fn clean_all(&mut self, concerned: impl Fn(Station) -> bool, out: &mut Outbox<W>) {
        let leaves = |slot: &Slot| concerned(self.route.station(self.lines.line(*slot)));
        let mut dirty: Vec<Slot> = self.lines.noted().filter(leaves).collect();
        dirty.sort_unstable_by_key(|slot| slot.index());
        for slot in dirty {
            self.clean(self.lines.line(slot), slot, out);
        }
    }

    /// Drops what is in a place. A copy that is on its way there will not be kept. Returns whether there was a copy.
    pub(super) fn drop_at(&mut self, slot: Slot, out: &mut Outbox<W>) -> bool {
        let is_copy = !self.lines.meta(slot).pending;
        if is_copy {
            self.clean(self.lines.line(slot), slot, out);
        }
        self.lines.remove(slot);
        is_copy
    }

    /// Drops every copy that may be stale for an acquire. Copies that are on their way will not be kept.
    pub(super) fn drop_for_acquire(&mut self, out: &mut Outbox<W>) {
        if self.faulty(L2Fault::AcquireKeepsCopies) {
            return;
        }
        let spares = self.policy.coherence.spares_own_memory();
        let is_kept = |line: LineAddr, state: &Line| {
            let home = self.route.station(line) == Station::Home;
            if state.pending { home || self.faulty(L2Fault::AcquireKeepsMisses) } else { home && spares }
        };
        let gone: Vec<LineAddr> =
            self.lines.iter().filter(|(line, state, _)| !is_kept(*line, state)).map(|(line, ..)| line).collect();
        for line in gone {
            let dropped = self.lines.find(line).is_some_and(|slot| self.drop_at(slot, out));
            self.tallies.add(LINES_BY_ACQUIRE, u64::from(dropped));
        }
    }
}
