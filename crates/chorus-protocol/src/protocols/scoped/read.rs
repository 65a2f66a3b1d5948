//! Loads at a shared bank, and the lines that come to answer them: what the rows of [`l2`](super::l2) do.

use crate::access::{Scope, Txn};
use crate::address::{AgentId, LineAddr};
use crate::cache::Slot;
use crate::controller::{Outbox, Outcome, StepResult};
use crate::directory::Directory;
use crate::line::{ByteMask, LineData};
use crate::message::{Message, memory};
use crate::protocols::scoped::faults::L2Fault;
use crate::protocols::scoped::l2::{ScopedL2, Taken};
use crate::protocols::scoped::messages::{DATA, LD};
use crate::protocols::scoped::presence::{Line, Reader, Request};
use crate::protocols::scoped::route::{Route, Station};

impl<D: Directory, const W: usize> ScopedL2<D, W> {
    /// Whether an operation of `scope` may see a copy in this bank. One of a work-group's scope may see any copy.
    #[inline]
    pub(super) fn may_answer(&self, station: Station, scope: Scope) -> bool {
        scope == Scope::WorkGroup || self.may_answer_wide(station, scope)
    }

    fn may_answer_wide(&self, station: Station, scope: Scope) -> bool {
        let first = self.policy.coherence.sees_from(scope, &self.route);
        let first = match scope {
            Scope::System if self.faulty(L2Fault::GpuHomeAnswersAll) => Station::GpuHome,
            Scope::Gpu | Scope::System if self.faulty(L2Fault::WideHit) => Station::Local,
            Scope::WorkGroup | Scope::Gpu | Scope::System => first,
        };
        station >= first
    }

    /// Answers a load with the copy in `slot`.
    #[inline]
    pub(super) fn hit(&mut self, slot: Slot, load: &Request<'_, W>, out: &mut Outbox<W>) -> Taken {
        self.note_load(load, true, out)?;
        self.lines.touch(slot);
        answer(self.me, &self.route, load.line(), load.reader(), self.lines.data(slot), out);
        Ok(())
    }

    /// Fetches a line that is not here.
    ///
    /// Requests of other banks never wait for a place or a register. The requests that have these may wait for another
    /// bank, which may wait here. So such a request is passed on, and its line is not kept.
    #[inline(always)]
    pub(super) fn miss(&mut self, load: &Request<'_, W>, out: &mut Outbox<W>) -> Taken {
        let line = load.line();
        let place = if !self.policy.cached.keeps(line, &self.route) || !self.may_take_place(load) {
            None
        } else if self.registers_taken(load.station) {
            self.wait_or_pass_on(load)?
        } else {
            match self.room_for(line, out) {
                Err(Outcome::Stall) => self.wait_or_pass_on(load)?,
                room => Some(room?),
            }
        };
        self.note_load(load, false, out)?;
        self.fetch(place, load, out);
        Ok(())
    }

    /// Whether the line of a request may take a place here, as far as that depends on who asks.
    pub(super) fn may_take_place(&self, request: &Request<'_, W>) -> bool {
        self.policy.places_at_home.takes(self.route.is_local(request.message.src))
    }

    /// Fetches a line whose copy is of no use to a load. The place of the copy may be where the line will be kept.
    pub(super) fn refetch(&mut self, slot: Slot, load: &Request<'_, W>, out: &mut Outbox<W>) -> Taken {
        let place = if self.registers_taken(load.station) { self.wait_or_pass_on(load)? } else { Some(slot) };
        self.note_load(load, false, out)?;
        self.drop_at(slot, out);
        self.fetch(place, load, out);
        Ok(())
    }

    /// Lets a load wait for a line that is on its way.
    #[inline(always)]
    pub(super) fn join(&mut self, load: &Request<'_, W>, out: &mut Outbox<W>) -> Taken {
        self.note_load(load, false, out)?;
        if let Some(register) = self.mshrs.find(load.line()) {
            self.mshrs.push_target(register, load.reader());
        }
        Ok(())
    }

    /// Sends a load on whose line will not be kept here.
    pub(super) fn pass_load_on(&mut self, load: &Request<'_, W>, out: &mut Outbox<W>) -> Taken {
        self.note_load(load, false, out)?;
        self.fetch(None, load, out);
        Ok(())
    }

    /// Lets a load for which there is no place or register wait, or passes it on without a place.
    fn wait_or_pass_on(&self, load: &Request<'_, W>) -> Result<Option<Slot>, Outcome> {
        if self.route.is_local(load.message.src) { Err(Outcome::Stall) } else { Ok(None) }
    }

    /// Records the reader of a load among the sharers of its line, and counts the load.
    #[inline(always)]
    fn note_load(&mut self, load: &Request<'_, W>, hits: bool, out: &mut Outbox<W>) -> Taken {
        self.track_load(load, out)?;
        self.tallies.load(load.station, hits, self.route.is_local(load.message.src));
        Ok(())
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

    /// The name under which this bank requests a line that it will keep. The stations of a line use different names. So
    /// a GPU home can tell the requests that it made for itself from those that it made for others.
    pub(super) fn own_name(station: Station) -> Txn {
        Txn::Bank(station as u8)
    }

    /// Sends a load on. The line will be kept in `place`, if there is one.
    #[inline(always)]
    fn fetch(&mut self, place: Option<Slot>, load: &Request<'_, W>, out: &mut Outbox<W>) {
        let (line, mut reader) = (load.line(), load.reader());
        if let Some(slot) = place {
            self.lines.replace(slot, line, Line { pending: true, ..Line::default() });
            self.mshrs.insert_for(line, slot, reader, || None);
            reader.txn = Self::own_name(load.station);
        }
        self.ask(load, reader, out);
    }

    /// Sends a read one station further: to the next station, or to memory.
    pub(super) fn ask(&mut self, request: &Request<'_, W>, reader: Reader, out: &mut Outbox<W>) {
        let line = request.line();
        let (kind, to) = match request.station {
            Station::Home => (memory::FETCH, self.memory),
            Station::Local | Station::GpuHome => (LD, self.route.next(line)),
        };
        let is_cold = self.touched.note(line);
        self.tallies.miss(is_cold);
        let (Reader { origin, txn }, scope) = (reader, request.message.scope);
        out.send(Message { origin, txn, scope, ..Message::control(kind, line, self.me, to) });
    }

    /// Takes a line that this bank has waited for, keeps it where a place is reserved for it, and answers the readers.
    #[inline(always)]
    pub(super) fn fill(&mut self, answered: &Request<'_, W>, out: &mut Outbox<W>) -> Taken {
        let Request { message, station } = *answered;
        let line = message.line;
        let Some((register, slot)) = self.mshrs.find_with_slot(line) else { return Ok(()) };
        let slot = self.lines.find_at(slot, line);
        let (mut data, mut dirty) = (&message.data, ByteMask::EMPTY);
        let mut changed;
        if self.waiting_atomics > 0
            && let Some(atomic) = *self.mshrs.payload(register)
        {
            self.waiting_atomics -= 1;
            let stays = slot.is_some() && self.stays(station, atomic.scope);
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
        Ok(())
    }

    /// Passes a line on that another bank or a private cache waits for.
    pub(super) fn pass_data_on(&self, message: &Message<W>, out: &mut Outbox<W>) -> StepResult {
        let reader = Reader { origin: message.origin, txn: message.txn };
        answer(self.me, &self.route, message.line, reader, &message.data, out);
        Ok(Outcome::Done)
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
