//! The part of a shared bank that serves stores and atomics.

use crate::access::Scope;
use crate::address::{AgentId, LineAddr};
use crate::cache::Slot;
use crate::controller::{Outbox, Outcome};
use crate::directory::{Directory, Stale};
use crate::line::{ByteMask, LineData};
use crate::message::{Message, MsgKind};
use crate::protocols::scoped::collect::InvalidationChannel;
use crate::protocols::scoped::l2::ScopedL2;
use crate::protocols::scoped::messages::{ATOM_DATA, INV, INV_ASTRAY};
use crate::protocols::scoped::policy::{Cached, Coherence, L2Fault, WriteBack};
use crate::protocols::scoped::presence::{Line, Presence, Reader};
use crate::protocols::scoped::route::{Route, Station};
use crate::protocols::scoped::tallies::{GROUPS_BY_REPLACEMENT, STORES_ON_SHARED};

impl<D: Directory, const W: usize> ScopedL2<D, W> {
    /// Whether stores of `scope` stay in this bank until something else makes them leave.
    pub(super) fn writes_back(&self, station: Station, scope: Scope) -> bool {
        match self.policy.write_back {
            WriteBack::AtHome if self.faulty(L2Fault::RemoteStoresStay) => true,
            WriteBack::Never => false,
            WriteBack::AtHome => station == Station::Home,
            WriteBack::Everywhere => station == Station::Home || scope == Scope::WorkGroup,
        }
    }

    /// Invalidates the sharers of a written line, as in Table I. The writer is recorded if it is a possible sharer.
    fn track_write(&mut self, station: Station, message: &Message<W>, out: &mut Outbox<W>) -> Result<(), Outcome> {
        if self.policy.coherence != Coherence::Directory || station == Station::Local {
            return Ok(());
        }
        let writer = self.sharer_of(station, message.src);
        if let Some(writer) = writer
            && !self.faulty(L2Fault::ForgottenWriter)
        {
            self.record(message.line, writer, out)?;
        }
        let stale = self.directory.write(message.line, writer);
        if self.faulty(L2Fault::ForgottenRange) {
            self.directory.replace(message.line, |_| {});
        }
        if !stale.sharers.is_empty() {
            self.tallies.add(STORES_ON_SHARED, 1);
        }
        self.invalidate(stale, INV, out);
        Ok(())
    }

    /// Sends invalidations for stale copies.
    pub(super) fn invalidate(&mut self, stale: Stale, kind: MsgKind, out: &mut Outbox<W>) {
        take_back(&mut self.channels, &self.route, self.me, self.policy.fault, stale, kind, out);
    }

    /// Forgets the entry that covers a line, and invalidates all copies that it tracks.
    pub(super) fn replace_entry(&mut self, line: LineAddr, kind: MsgKind, out: &mut Outbox<W>) {
        let ScopedL2 { directory, channels, route, me, policy, tallies, .. } = self;
        let mut is_first = true;
        directory.replace(line, |stale| {
            tallies.add(GROUPS_BY_REPLACEMENT, 1);
            if std::mem::take(&mut is_first) || policy.fault != Some(L2Fault::FirstOfRange) {
                take_back(channels, route, *me, policy.fault, stale, kind, out);
            }
        });
    }

    #[inline(never)]
    pub(super) fn store(&mut self, message: &Message<W>, out: &mut Outbox<W>) -> Outcome {
        let line = message.line;
        let station = self.route.station(line);
        if self.atomic_waits(line) && !self.faulty(L2Fault::StoreOvertakesAtomic) {
            return Outcome::Stall;
        }
        let presence = self.presence(line);
        let writes_back = self.writes_back(station, message.scope);
        // A store of a whole line gets a place at its home. A store of a part gets one only where stores stay, or where
        // the policy says so.
        let whole_at_home = station == Station::Home && message.mask == ByteMask::full::<W>();
        let may_keep = self.may_keep(line) || self.faulty(L2Fault::RemoteStoresStay);
        let keeps = may_keep && (writes_back || self.policy.allocates_stores || whole_at_home);
        let place = match presence {
            Presence::Copy(slot) => Some(slot),
            Presence::Absent if keeps => match self.room_for(line, out) {
                Ok(slot) => Some(slot),
                Err(outcome @ (Outcome::Evict(_) | Outcome::EvictEntry(_))) => return outcome,
                Err(Outcome::Stall | Outcome::Done) => None,
            },
            Presence::Absent | Presence::Miss(_) | Presence::ClosedMiss => None,
        };
        if let Err(outcome) = self.track_write(station, message, out) {
            return outcome;
        }
        match (presence, place) {
            (Presence::Absent, Some(slot)) => self.lines.replace(slot, line, Line::default()),
            (Presence::Miss(slot), _) if !self.faulty(L2Fault::PendingStore) => self.lines.remove(slot),
            (Presence::Absent | Presence::Copy(_) | Presence::Miss(_) | Presence::ClosedMiss, _) => {}
        }
        let stays = place.is_some() && writes_back;
        if let Some(slot) = place {
            self.write_copy(slot, message, stays);
        }
        if !(stays || self.faulty(L2Fault::LostStore) && place.is_some()) {
            self.write_through(station, *message, out);
        }
        Outcome::Done
    }

    /// Writes bytes into a copy. They become dirty if they stay here. Otherwise the caller hands them on.
    fn write_copy(&mut self, slot: Slot, message: &Message<W>, stays: bool) {
        if self.faulty(L2Fault::StaleStoreHit) {
            return;
        }
        self.lines.data_mut(slot).merge(message.mask, &message.data);
        let copy = self.lines.meta_mut(slot);
        copy.valid.0 |= message.mask.0;
        self.note_written(slot, message.mask, stays);
    }

    /// Notes that bytes of a copy were written: they are dirty if they stay here.
    fn note_written(&mut self, slot: Slot, mask: ByteMask, stays: bool) {
        let ByteMask(dirty) = self.lines.meta(slot).dirty;
        self.set_dirty(slot, ByteMask(if stays { dirty | mask.0 } else { dirty & !mask.0 }));
    }

    #[inline(never)]
    pub(super) fn atomic(&mut self, message: &Message<W>, out: &mut Outbox<W>) -> Outcome {
        let line = message.line;
        let station = self.route.station(line);
        if self.atomic_waits(line) {
            return Outcome::Stall;
        }
        let performs = self.may_perform(station, message.scope);
        let presence = self.presence(line);
        let place = match presence {
            Presence::Copy(slot) if !performs || self.is_whole(slot) => Some(slot),
            Presence::Miss(_) | Presence::ClosedMiss if performs => return Outcome::Stall,
            Presence::Copy(_) | Presence::Absent if performs && self.registers_taken(station) => return Outcome::Stall,
            Presence::Copy(slot) => Some(slot),
            Presence::Absent if performs => match self.room_for(line, out) {
                Ok(slot) => Some(slot),
                Err(outcome @ (Outcome::Evict(_) | Outcome::EvictEntry(_))) => return outcome,
                Err(Outcome::Stall | Outcome::Done) => None,
            },
            Presence::Absent | Presence::Miss(_) | Presence::ClosedMiss => None,
        };
        if let Err(outcome) = self.track_write(station, message, out) {
            return outcome;
        }
        if !performs {
            if let Presence::Copy(slot) | Presence::Miss(slot) = presence
                && !self.faulty(L2Fault::StaleAtomic)
            {
                self.drop_at(slot, out);
            }
            out.send(Message { src: self.me, dst: self.route.next(line), ..*message });
        } else if let Presence::Copy(slot) = presence
            && self.is_whole(slot)
        {
            self.perform_on_copy(station, slot, message, out);
        } else {
            // A part of a line is of no use.
            if let Presence::Copy(slot) = presence {
                self.drop_at(slot, out);
            }
            self.fetch_for_atomic(station, message, place, out);
        }
        Outcome::Done
    }

    /// Whether atomics of `scope` are performed in this bank.
    fn may_perform(&self, station: Station, scope: Scope) -> bool {
        let enough = match self.policy.cached {
            Cached::ThisGpu | Cached::ThisModule => Station::Home,
            Cached::Everything if self.faulty(L2Fault::AtomicsAtGpuHome) => self.route.point_of(Scope::Gpu),
            Cached::Everything => self.route.point_of(scope.max(Scope::Gpu)),
        };
        station >= enough
    }

    fn perform_on_copy(&mut self, station: Station, slot: Slot, message: &Message<W>, out: &mut Outbox<W>) {
        self.lines.touch(slot);
        let mut data = *self.lines.data(slot);
        let stays = self.writes_back(station, message.scope);
        self.perform(station, message, &mut data, stays, out);
        self.lines.fill(slot, &data);
        self.note_written(slot, message.mask, stays);
    }

    /// Fetches the line on which an atomic is to be performed, into `place` if there is one.
    fn fetch_for_atomic(&mut self, station: Station, message: &Message<W>, place: Option<Slot>, out: &mut Outbox<W>) {
        let line = message.line;
        if let Some(slot) = place {
            self.lines.replace(slot, line, Line { pending: true, ..Line::default() });
        }
        self.mshrs.insert(line, Some(*message));
        self.waiting_atomics += 1;
        let own = Reader { txn: Self::own_name(station), origin: message.origin };
        self.ask(station, line, own, message.scope, out);
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
            self.write_through(station, Message { data: *data, ..*message }, out);
        }
    }
}

/// Sends an invalidation to all holders of stale copies, in the name of bank `me`.
fn take_back<const W: usize>(
    channels: &mut [InvalidationChannel],
    route: &Route,
    me: AgentId,
    fault: Option<L2Fault>,
    stale: Stale,
    kind: MsgKind,
    out: &mut Outbox<W>,
) {
    let spared = usize::from(fault == Some(L2Fault::SparedSharer));
    let kind = if fault == Some(L2Fault::InvalidationsOvertake) { INV_ASTRAY } else { kind };
    for position in stale.sharers.iter().skip(spared) {
        channels[usize::from(position.0)].unmarked = true;
        out.send(Message::control(kind, stale.first, me, route.sharer(position.0)));
    }
}
