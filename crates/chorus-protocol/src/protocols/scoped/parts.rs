//! Parts of lines in a private cache in which stores leave their bytes.
//!
//! A store to an absent line takes a place for its bytes (P). Loads of these bytes hit. A load of others fetches the
//! line into the place: the request is behind the stores, so their bytes come back.
//!
//! A store to a line on its way leaves its bytes in the place that is reserved (I_V). The line was requested before, so
//! it goes around them. The loads that wait get these bytes, too, which may be newer than their own request. So a load
//! may see a later store of another thread beside the same cache, after a load behind it has seen an older value of
//! another line. It must not see a later store of its own thread: such a store gives the place up, and if others have
//! left bytes there, it waits. Loads that come later and concern such bytes do not wait for the line. They find the
//! bytes, or send a request of their own behind the stores, since an acquire may give the place up.

use crate::access::CoreRequest;
use crate::cache::{Room, Slot};
use crate::controller::{Outbox, Outcome};
use crate::line::{ByteMask, LineData};
use crate::protocols::scoped::faults::L1Fault;
use crate::protocols::scoped::l1::ScopedL1;
use crate::protocols::scoped::messages::LD;
use crate::protocols::scoped::place::{Place, Waiting};

impl<P: Place, const W: usize> ScopedL1<P, W> {
    /// Whether a part has all bytes of a load.
    pub(super) fn answers(&self, slot: Slot, load: &CoreRequest<W>) -> bool {
        self.lines.meta(slot).answers(load.mask) || self.faulty(L1Fault::PartHit)
    }

    /// Fetches the line of a load into the place of a part, which lacks some of the load's bytes.
    pub(super) fn fetch_rest(&mut self, slot: Slot, load: &CoreRequest<W>, out: &mut Outbox<W>) -> Outcome {
        if self.mshrs.is_full() {
            return Outcome::Stall;
        }
        self.fetch(slot, load, out);
        Outcome::Done
    }

    /// Takes a load of a line that is on its way.
    pub(super) fn load_on_its_way(&mut self, slot: Slot, load: &CoreRequest<W>, out: &mut Outbox<W>) {
        let stored = self.lines.meta(slot).bytes::<W>();
        if (load.mask & stored).is_empty() || self.faulty(L1Fault::WaitsForStored) {
            self.merge(load);
        } else if load.mask.without(stored).is_empty() {
            self.hit(slot, load, out);
        } else {
            self.send(LD, load, out);
        }
    }

    /// Takes a store to a line that is on its way.
    pub(super) fn store_on_its_way(&mut self, slot: Slot, store: &CoreRequest<W>, out: &mut Outbox<W>) -> Outcome {
        let place = *self.lines.meta(slot);
        let waits = self.mshrs.get(store.line).is_some_and(|waiting| waiting.has(store.wave));
        if !waits || self.faulty(L1Fault::OwnStore) {
            self.write_more(slot, store, out);
        } else if place == P::RESERVED {
            self.close(slot, store, out);
        } else {
            return Outcome::Stall;
        }
        Outcome::Done
    }

    /// Writes to what is in a place and to the L2. The place has these bytes, too, then.
    pub(super) fn write_more(&mut self, slot: Slot, store: &CoreRequest<W>, out: &mut Outbox<W>) {
        *self.lines.meta_mut(slot) = self.lines.meta(slot).with(store.mask);
        self.write(slot, store, out);
    }

    /// Writes to the L2. Where places can hold parts, the bytes take a place here, if one can be had.
    pub(super) fn store_without_copy(&mut self, store: &CoreRequest<W>, out: &mut Outbox<W>) -> Outcome {
        if let Some(part) = self.part(store) {
            match self.lines.room_for(store.line, |place| !place.is_reserved()) {
                Room::Busy => {}
                Room::Occupied(slot) if !out.evicts => return Outcome::Evict(self.lines.line(slot)),
                Room::Occupied(slot) | Room::Free(slot) => {
                    self.lines.replace(slot, store.line, part);
                    self.lines.data_mut(slot).merge(store.mask, &store.data);
                }
            }
        }
        self.store(store, out);
        Outcome::Done
    }

    /// The content of a place that a store takes, if it takes one.
    fn part(&self, store: &CoreRequest<W>) -> Option<P> {
        let part = P::part(store.mask).filter(|_| self.may_keep(store.line))?;
        Some(if self.faulty(L1Fault::WholePart) { P::whole::<W>() } else { part })
    }

    /// A line that has arrived, with the bytes that were stored in its place meanwhile.
    pub(super) fn with_stored(&self, slot: Slot, line: &LineData<W>) -> LineData<W> {
        let stored =
            if self.faulty(L1Fault::StoredLost) { ByteMask::EMPTY } else { self.lines.meta(slot).bytes::<W>() };
        let mut line = *line;
        if !stored.is_empty() {
            line.merge(stored, self.lines.data(slot));
        }
        line
    }
}
