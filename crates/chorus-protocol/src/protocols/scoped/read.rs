//! Loads at a shared bank, and the lines that come to answer them.

use crate::access::Scope;
use crate::address::{AgentId, LineAddr};
use crate::cache::{Room, Slot};
use crate::controller::{Outbox, Outcome};
use crate::directory::{Directory, Recorded};
use crate::line::{ByteMask, LineData};
use crate::message::Message;
use crate::protocols::scoped::l2::ScopedL2;
use crate::protocols::scoped::messages::DATA;
use crate::protocols::scoped::policy::{Coherence, L2Fault};
use crate::protocols::scoped::presence::{Line, Presence, Reader};
use crate::protocols::scoped::route::{Route, Station};

impl<D: Directory, const W: usize> ScopedL2<D, W> {
    /// Whether an operation of `scope` may see a copy in this bank. One of a work-group's scope may see any copy.
    #[inline]
    fn may_answer(&self, station: Station, scope: Scope) -> bool {
        scope == Scope::WorkGroup || self.may_answer_wide(station, scope)
    }

    /// Whether an operation of any scope may see a copy in this bank.
    fn may_answer_wide(&self, station: Station, scope: Scope) -> bool {
        let enough = match scope {
            Scope::WorkGroup | Scope::Gpu | Scope::System if self.policy.coherence == Coherence::None => Station::Local,
            Scope::System if self.faulty(L2Fault::GpuHomeAnswersAll) => Station::GpuHome,
            Scope::Gpu | Scope::System if self.faulty(L2Fault::WideHit) => Station::Local,
            Scope::WorkGroup | Scope::Gpu | Scope::System => self.route.point_of(scope),
        };
        station >= enough
    }

    /// Takes a load. An error says why it is not consumed.
    #[inline(never)]
    pub(super) fn load(&mut self, message: &Message<W>, out: &mut Outbox<W>) -> Result<(), Outcome> {
        let Message { line, scope, origin, txn, .. } = *message;
        let (station, reader) = (self.route.station(line), Reader { origin, txn });
        let answers = self.may_answer(station, scope);
        // What an atomic is about to write must not be missed by its own thread.
        let behind_atomic = self.atomic_waits(line);
        if behind_atomic && !answers {
            return Err(Outcome::Stall);
        }
        // Requests of other banks never wait for a place or a register. The requests that have these may wait for
        // another bank, which may wait here. So the request is passed on, and its line is not kept.
        let waits = self.route.is_local(message.src);
        let place = match self.presence(line) {
            Presence::Copy(slot) if answers && self.is_whole(slot) => {
                self.note_load(station, true, message, out)?;
                self.lines.touch(slot);
                answer(self.me, &self.route, line, reader, self.lines.data(slot), out);
                return Ok(());
            }
            // The copy is of no use, and its place may be where the line will be kept.
            Presence::Copy(slot) => {
                let is_kept = !self.registers_taken(station);
                if waits && !is_kept {
                    return Err(Outcome::Stall);
                }
                self.note_load(station, false, message, out)?;
                self.drop_at(slot, out);
                is_kept.then_some(slot)
            }
            Presence::Absent if self.may_keep(line) => {
                let place = match self.room_for_miss(station, line, out) {
                    Err(Outcome::Stall) if !waits => None,
                    room => Some(room?),
                };
                self.note_load(station, false, message, out)?;
                place
            }
            presence @ (Presence::Absent | Presence::Miss(_) | Presence::ClosedMiss) => {
                self.note_load(station, false, message, out)?;
                if behind_atomic || answers && matches!(presence, Presence::Miss(_)) {
                    self.join_miss(line, reader);
                    return Ok(());
                }
                None
            }
        };
        match place {
            Some(slot) => self.open_miss(station, slot, line, reader, scope, out),
            None => self.ask(station, line, reader, scope, out),
        }
        Ok(())
    }

    /// Records the reader of a load among the sharers of its line, and counts the load.
    #[inline(always)]
    fn note_load(
        &mut self,
        station: Station,
        hits: bool,
        message: &Message<W>,
        out: &mut Outbox<W>,
    ) -> Result<(), Outcome> {
        let is_local = self.route.is_local(message.src);
        if !is_local {
            self.record_reader(station, message, out)?;
        }
        self.tallies.load(station, hits, is_local);
        Ok(())
    }

    /// Records the reader of a load among the sharers of its line, if its copies are tracked here.
    #[inline(never)]
    fn record_reader(&mut self, station: Station, message: &Message<W>, out: &mut Outbox<W>) -> Result<(), Outcome> {
        match self.sharer_of(station, message.src) {
            Some(sharer) if !self.faulty(L2Fault::ForgottenReader) => self.record(message.line, sharer, out),
            Some(_) | None => Ok(()),
        }
    }

    /// Whether a miss gets no register. Misses that wait for other banks leave one register to misses that wait for
    /// fewer banks. So no two banks wait for each other's registers.
    pub(super) fn registers_taken(&self, station: Station) -> bool {
        let left = match station {
            Station::Home => 0,
            Station::GpuHome => 1,
            Station::Local => 2,
        };
        !self.mshrs.has_more_than(left)
    }

    /// A place for a line that is to be fetched.
    pub(super) fn room_for_miss(
        &mut self,
        station: Station,
        line: LineAddr,
        out: &mut Outbox<W>,
    ) -> Result<Slot, Outcome> {
        if self.registers_taken(station) { Err(Outcome::Stall) } else { self.room_for(line, out) }
    }

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

    /// Records that a sharer reads or writes a line.
    pub(super) fn record(&mut self, line: LineAddr, sharer: u16, out: &mut Outbox<W>) -> Result<(), Outcome> {
        while let Recorded::Full(victim) = self.directory.record(line, sharer) {
            if !out.evicts {
                return Err(Outcome::EvictEntry(victim));
            }
            self.evict_entry(victim, out);
        }
        Ok(())
    }

    /// Lets a reader wait for a line that is on its way.
    fn join_miss(&mut self, line: LineAddr, reader: Reader) {
        if let Some(register) = self.mshrs.find(line) {
            self.mshrs.push_target(register, reader);
        }
    }

    fn open_miss(
        &mut self,
        station: Station,
        slot: Slot,
        line: LineAddr,
        reader: Reader,
        scope: Scope,
        out: &mut Outbox<W>,
    ) {
        self.lines.replace(slot, line, Line { pending: true, ..Line::default() });
        self.mshrs.insert_for(line, slot, reader, || None);
        let own = Reader { txn: Self::own_name(station), ..reader };
        self.ask(station, line, own, scope, out);
    }

    /// Takes a line that has arrived from memory or from the next station, for this bank or for others.
    #[inline(never)]
    pub(super) fn data(&mut self, message: &Message<W>, out: &mut Outbox<W>) {
        let Message { line, origin, txn, .. } = *message;
        let station = self.route.station(line);
        if txn != Self::own_name(station) {
            answer(self.me, &self.route, line, Reader { origin, txn }, &message.data, out);
            return;
        }
        let Some((register, slot)) = self.mshrs.find_with_slot(line) else { return };
        let slot = self.lines.find_at(slot, line);
        let (mut data, mut dirty) = (&message.data, ByteMask::EMPTY);
        let mut changed;
        if self.waiting_atomics > 0
            && let Some(atomic) = *self.mshrs.payload(register)
        {
            self.waiting_atomics -= 1;
            let stays = slot.is_some() && self.writes_back(station, atomic.scope);
            changed = message.data;
            self.perform(station, &atomic, &mut changed, stays, out);
            data = &changed;
            if stays {
                dirty = atomic.mask;
            }
        }
        if let Some(slot) = slot {
            self.lines.fill(slot, data);
            *self.lines.meta_mut(slot) = Line { pending: false, valid: ByteMask::full::<W>(), dirty };
            if !dirty.is_empty() {
                self.lines.note(slot);
            }
        }
        let (me, route) = (self.me, &self.route);
        self.mshrs.release_serving(register, |reader| answer(me, route, line, reader, data, out));
    }
}

/// Answers a reader, in the name of bank `me`.
fn answer<const W: usize>(
    me: AgentId,
    route: &Route,
    line: LineAddr,
    reader: Reader,
    data: &LineData<W>,
    out: &mut Outbox<W>,
) {
    let Reader { origin, txn } = reader;
    let message = Message::control(DATA, line, me, route.toward(origin, line));
    out.send(Message { origin, txn, mask: ByteMask::full::<W>(), data: *data, ..message });
}
