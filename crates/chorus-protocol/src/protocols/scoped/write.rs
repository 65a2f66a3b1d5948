//! Stores and atomics at a shared bank: what the rows of [`l2`](super::l2) do.

use crate::access::Scope;
use crate::cache::Slot;
use crate::controller::{Outbox, Outcome, StepResult};
use crate::directory::Directory;
use crate::line::{ByteMask, LineData};
use crate::message::{Message, memory};
use crate::protocols::scoped::faults::L2Fault;
use crate::protocols::scoped::l2::{ScopedL2, Taken};
use crate::protocols::scoped::messages::{ATOM_DATA, ST};
use crate::protocols::scoped::policy::{Asked, WriteBack};
use crate::protocols::scoped::presence::{Line, Reader, Request};
use crate::protocols::scoped::route::Station;

impl<D: Directory, const W: usize> ScopedL2<D, W> {
    /// Whether stores of `scope` stay in this bank until something else makes them leave.
    pub(super) fn stays(&self, station: Station, scope: Scope) -> bool {
        let write_back = self.policy.write_back;
        write_back.keeps(station, scope) || write_back == WriteBack::AtHome && self.faulty(L2Fault::RemoteStoresStay)
    }

    /// Whether a store that finds no copy gets a place here.
    fn takes_place(&self, store: &Request<'_, W>) -> bool {
        let Request { message, station } = *store;
        let keeps = self.policy.cached.keeps(message.line, &self.route) || self.faulty(L2Fault::RemoteStoresStay);
        let is_whole = message.mask == ByteMask::full::<W>();
        let takes_place = self.policy.allocation.takes_place(station, is_whole);
        keeps && self.may_take_place(store) && (self.stays(station, message.scope) || takes_place)
    }

    /// Writes to a copy, and hands the bytes on unless they stay here.
    pub(super) fn store_to_copy(&mut self, slot: Slot, store: &Request<'_, W>, out: &mut Outbox<W>) -> Taken {
        self.track_write(store, out)?;
        self.store_at(slot, store, out);
        Ok(())
    }

    /// Takes a store whose line is not here.
    pub(super) fn store_without_copy(&mut self, store: &Request<'_, W>, out: &mut Outbox<W>) -> Taken {
        let line = store.line();
        let place = if self.takes_place(store) { self.room_if_any(line, out)? } else { None };
        self.track_write(store, out)?;
        match place {
            Some(slot) => {
                self.lines.replace(slot, line, Line::default());
                self.store_at(slot, store, out);
            }
            None => self.write_through(store.station, store.message, out),
        }
        Ok(())
    }

    /// Takes a store to a line that is on its way. What arrives is too old to be kept in the place that is reserved.
    pub(super) fn store_past(&mut self, place: Option<Slot>, store: &Request<'_, W>, out: &mut Outbox<W>) -> Taken {
        self.track_write(store, out)?;
        if let Some(slot) = place.filter(|_| !self.faulty(L2Fault::PendingStore)) {
            self.lines.remove(slot);
        }
        self.write_through(store.station, store.message, out);
        Ok(())
    }

    #[inline(always)]
    fn store_at(&mut self, slot: Slot, store: &Request<'_, W>, out: &mut Outbox<W>) {
        let Request { message, station } = *store;
        let stays = self.stays(station, message.scope) && self.may_take_place(store);
        if !self.faulty(L2Fault::StaleStoreHit) {
            self.lines.data_mut(slot).merge(message.mask, &message.data);
            self.lines.meta_mut(slot).valid.0 |= message.mask.0;
            self.note_written(slot, message.mask, stays);
        }
        if !stays && !self.faulty(L2Fault::LostStore) {
            self.write_through(station, message, out);
        }
    }

    /// Notes that bytes of a copy were written: they are dirty if they stay here.
    fn note_written(&mut self, slot: Slot, mask: ByteMask, stays: bool) {
        let ByteMask(dirty) = self.lines.meta(slot).dirty;
        self.set_dirty(slot, ByteMask(if stays { dirty | mask.0 } else { dirty & !mask.0 }));
    }

    /// Hands bytes one station further: to the next station, or to memory.
    pub(super) fn write_through(&mut self, station: Station, message: &Message<W>, out: &mut Outbox<W>) {
        let (kind, dst) = match station {
            Station::Home => (memory::WB, self.memory),
            Station::Local | Station::GpuHome => {
                self.note_stored_elsewhere();
                (ST, self.route.next(message.line))
            }
        };
        out.send(Message { kind, src: self.me, dst, atomic: None, ..*message });
    }

    /// Notes that a release has something to wait for in another module.
    #[inline]
    fn note_stored_elsewhere(&mut self) {
        self.stored_elsewhere = self.policy.asked == Asked::WhereStored;
    }

    /// Whether atomics of `scope` are performed in this bank.
    pub(super) fn may_perform(&self, station: Station, scope: Scope) -> bool {
        let scope = if self.faulty(L2Fault::AtomicsAtGpuHome) { Scope::Gpu } else { scope };
        station >= self.policy.cached.performs_from(scope, &self.route)
    }

    /// Performs an atomic on a copy.
    pub(super) fn atomic_on_copy(&mut self, slot: Slot, atomic: &Request<'_, W>, out: &mut Outbox<W>) -> Taken {
        let Request { message, station } = *atomic;
        self.track_write(atomic, out)?;
        self.lines.touch(slot);
        let mut data = *self.lines.data(slot);
        let stays = self.stays(station, message.scope);
        self.perform(station, message, &mut data, stays, out);
        self.lines.fill(slot, &data);
        self.note_written(slot, message.mask, stays);
        Ok(())
    }

    /// Fetches the line of an atomic that is to be performed here, into the place of a part of it. The part is of no
    /// use.
    pub(super) fn atomic_on_part(&mut self, slot: Slot, atomic: &Request<'_, W>, out: &mut Outbox<W>) -> Taken {
        if self.registers_taken(atomic.station) {
            return Err(Outcome::Stall);
        }
        self.track_write(atomic, out)?;
        self.drop_at(slot, out);
        self.fetch_for_atomic(Some(slot), atomic, out);
        Ok(())
    }

    /// Fetches the line of an atomic that is to be performed here.
    pub(super) fn atomic_without_copy(&mut self, atomic: &Request<'_, W>, out: &mut Outbox<W>) -> Taken {
        if self.registers_taken(atomic.station) {
            return Err(Outcome::Stall);
        }
        let place = self.room_if_any(atomic.line(), out)?;
        self.track_write(atomic, out)?;
        self.fetch_for_atomic(place, atomic, out);
        Ok(())
    }

    /// Sends an atomic on that a later station performs. A copy here, or on its way, is too old then.
    pub(super) fn pass_atomic_on(
        &mut self,
        place: Option<Slot>,
        atomic: &Request<'_, W>,
        out: &mut Outbox<W>,
    ) -> Taken {
        self.track_write(atomic, out)?;
        if let Some(slot) = place.filter(|_| !self.faulty(L2Fault::StaleAtomic)) {
            self.drop_at(slot, out);
        }
        self.note_stored_elsewhere();
        out.send(Message { src: self.me, dst: self.route.next(atomic.line()), ..*atomic.message });
        Ok(())
    }

    /// Passes the answer to an atomic on.
    pub(super) fn pass_atomic_data_on(&self, message: &Message<W>, out: &mut Outbox<W>) -> StepResult {
        let dst = self.route.toward(message.origin, message.line);
        out.send(Message { src: self.me, dst, ..*message });
        Ok(Outcome::Done)
    }

    /// Fetches the line on which an atomic is to be performed, into `place` if there is one.
    fn fetch_for_atomic(&mut self, place: Option<Slot>, atomic: &Request<'_, W>, out: &mut Outbox<W>) {
        let Request { message, station } = *atomic;
        let line = message.line;
        if let Some(slot) = place {
            self.lines.replace(slot, line, Line { pending: true, ..Line::default() });
        }
        self.mshrs.insert(line, Some(*message));
        self.waiting_atomics += 1;
        self.ask(atomic, Reader { txn: Self::own_name(station), origin: message.origin }, out);
    }

    /// Performs an atomic on a line and answers it with the old values. The new values are handed on unless they stay
    /// here.
    #[inline(never)]
    pub(super) fn perform(
        &mut self,
        station: Station,
        message: &Message<W>,
        data: &mut LineData<W>,
        stays: bool,
        out: &mut Outbox<W>,
    ) {
        let Some(op) = message.atomic else { return };
        let mut old = message.data;
        op.perform(data, message.mask, &mut old);
        let to = self.route.toward(message.origin, message.line);
        out.send(Message { kind: ATOM_DATA, src: self.me, dst: to, atomic: None, data: old, ..*message });
        if !stays && !self.faulty(L2Fault::LostAtomic) {
            self.write_through(station, &Message { data: *data, ..*message }, out);
        }
    }
}
