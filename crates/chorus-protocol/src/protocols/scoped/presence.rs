//! The states of a line in the cache of a shared bank, and the records that the bank has of it.

use crate::access::Txn;
use crate::address::{AgentId, LineAddr};
use crate::cache::Slot;
use crate::directory::Directory;
use crate::line::ByteMask;
use crate::message::Message;
use crate::protocols::scoped::l2::ScopedL2;
use crate::protocols::scoped::route::Station;
use crate::save::{self, Save};

/// The state of a line in the cache of a shared bank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// The bank has no copy, and none is on its way.
    I,
    /// It has the whole line.
    V(Slot),
    /// It has some bytes of the line: those that were stored here.
    Part(Slot),
    /// A copy is on its way, and this place is reserved for it.
    IV(Slot),
    /// A copy is on its way that is too old to be kept.
    II,
    /// An atomic waits for the line, which is on its way. The line is kept if a place is still reserved for it.
    /// Otherwise it may be too old for later loads.
    IA(Option<Slot>),
}

/// The record of a line that has a place in the cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Save)]
pub(super) struct Line {
    /// Whether the place is only reserved for a copy on its way.
    pub(super) pending: bool,
    /// The bytes that the bank has.
    pub(super) valid: ByteMask,
    /// The bytes that the next station on the way to memory does not have.
    pub(super) dirty: ByteMask,
}

/// A private cache that waits for a line, or a bank that waits on its behalf.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Save)]
pub(super) struct Reader {
    pub(super) origin: AgentId,
    pub(super) txn: Txn,
}

/// A message about a line, and the part that this bank plays for the line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request<'a, const W: usize> {
    pub(super) message: &'a Message<W>,
    pub(super) station: Station,
}

impl<const W: usize> Request<'_, W> {
    pub(super) fn line(&self) -> LineAddr {
        self.message.line
    }

    pub(super) fn reader(&self) -> Reader {
        Reader { origin: self.message.origin, txn: self.message.txn }
    }
}

impl<D: Directory, const W: usize> ScopedL2<D, W> {
    #[inline(always)]
    pub(super) fn state(&self, line: LineAddr) -> State {
        let place = self.lines.find_inline(line);
        if self.atomic_waits(line) {
            return State::IA(place);
        }
        match place {
            Some(slot) => self.state_at(slot),
            None if self.mshrs.find(line).is_some() => State::II,
            None => State::I,
        }
    }

    /// The state of a line that arrives. Its register knows of it, and the cache need not be searched.
    #[inline(always)]
    pub(super) fn state_of_miss(&self, line: LineAddr) -> State {
        match self.mshrs.find_with_slot(line) {
            Some((register, _)) if self.waiting_atomics > 0 && self.mshrs.payload(register).is_some() => {
                State::IA(self.lines.find(line))
            }
            Some((_, slot)) => self.lines.find_at(slot, line).map_or(State::II, State::IV),
            None => self.state(line),
        }
    }

    /// The state of the line in a place, if no atomic waits for it.
    #[inline(always)]
    fn state_at(&self, slot: Slot) -> State {
        let Line { pending, valid, .. } = *self.lines.meta(slot);
        if pending {
            State::IV(slot)
        } else if valid == ByteMask::full::<W>() {
            State::V(slot)
        } else {
            State::Part(slot)
        }
    }

    /// Whether an atomic waits for the line. Mostly none waits for any line, and no register has to be looked at.
    #[inline(always)]
    fn atomic_waits(&self, line: LineAddr) -> bool {
        self.waiting_atomics > 0 && self.mshrs.get(line).is_some_and(Option::is_some)
    }
}
