//! The private cache of Temporal Coherence: the left half of Table 2 of the TC paper.
//!
//! Write-through, no write-allocate. A copy whose lease has ended counts as no copy (state I), without any event. Its
//! place is the first that another line gets. Four things go beyond the table. Each is needed: an exploration finds a
//! forbidden outcome without it.
//!
//! - A load that merges into a miss is answered by that miss only if the lease covers the moment of merging. Otherwise
//!   the line is asked for again: the value may have been read at the L2 long before, and its lease may have ended
//!   since.
//! - The timestamp that upgrades carry counts the core's own writes, as the L2's timestamp does, so that a second
//!   private write matches, too. The lease itself does not grow with it, since a writer in between knows nothing of
//!   that.
//! - A private write has no completion time of its own. It takes over the completion time of the line's last write that
//!   had one: after a write to a shared line the L2 calls the line private although others may still read their old
//!   copies, and another wavefront of the core may be the next writer.
//! - In TC-Strong loads do not hit lines with pending writes, since those writes are not performed yet (section 4.2
//!   says so of GPU-VI).

use super::Writes;
use super::counter::{Counter, Stamp, aged};
use super::faults::L1Fault;
use super::gwct::GwctTable;
pub use super::l1_states::VOCABULARY;
use super::l1_states::{Event, Line, Pending, Reader, Residency, State, unspecified};
use super::messages::{ACK, ACK_G, ATOMIC, ATOMIC_DATA_G, DATA, DATA_G, GETS, GETX, UPGR};
use super::tallies::{EXPIRED_LOADS, Tallies};
use crate::access::{CoreOp, CoreRequest, LoadRequest, Txn};
use crate::address::{AgentId, LineAddr};
use crate::cache::{CacheArray, Room, Slot};
use crate::controller::{
    Classified, Controller, HISTORY, Input, LineView, Outbox, Outcome, Passage, Time, Unspecified, Vocabulary,
};
use crate::line::{ByteMask, LineData};
use crate::message::{Message, MsgKind};
use crate::mshr::Mshrs;
use crate::registry::BuildConfig;
use crate::save::{self, Restore};
use crate::sharers::Sharers;
use crate::tally::Tally;

/// The timestamp of a read whose private copy has expired.
const EXPIRED: Time = 1;

/// The moment of merging of a load that merged before the counters began anew. Timestamps of that time are received as
/// zero, so that this is later than any of them.
const EARLIER_ROUND: Stamp = 2;

/// A private cache of Temporal Coherence.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Restore)]
pub struct TcL1<const W: usize> {
    #[save(built)]
    me: AgentId,
    #[save(built)]
    config: BuildConfig,
    #[save(built)]
    writes: Writes,
    #[save(built)]
    fault: Option<L1Fault>,
    counter: Counter,
    lines: CacheArray<Line, W>,
    mshrs: Mshrs<Pending, Reader>,
    gwct: GwctTable,
    tallies: Tallies,
}

impl<const W: usize> TcL1<W> {
    /// An empty cache with a counter of `bits` bits.
    pub fn new(index: u16, config: &BuildConfig, writes: Writes, bits: u64, fault: Option<L1Fault>) -> Self {
        let fence_fault = if let Some(L1Fault::Fence(fault)) = fault { Some(fault) } else { None };
        TcL1 {
            me: config.topology.l1(index),
            config: *config,
            writes,
            fault,
            counter: Counter::new(bits),
            lines: CacheArray::new(config.l1.geometry(1)),
            mshrs: Mshrs::new(config.l1.mshrs),
            gwct: GwctTable::new(config.waves, fence_fault),
            tallies: Tallies::default(),
        }
    }

    fn faulty(&self, fault: L1Fault) -> bool {
        self.fault == Some(fault)
    }

    #[inline]
    fn state(&self, line: LineAddr, now: Stamp) -> (State, Option<Slot>) {
        let slot = self.lines.find(line);
        let state = match slot.map(|slot| self.lines.meta(slot)) {
            Some(Line { residency: Residency::Awaited, .. }) => State::IV,
            Some(line) if !line.has_expired(now) || self.faulty(L1Fault::EternalCopy) => match line.residency {
                Residency::Written => State::VM,
                Residency::Copy | Residency::Awaited => State::V,
            },
            Some(_) | None if self.mshrs.find(line).is_some() => State::II,
            Some(_) | None => State::I,
        };
        (state, slot)
    }

    fn event(input: &Input<'_, W>) -> Option<(LineAddr, Event)> {
        match input {
            Input::Core(request) => {
                let event = match request.op {
                    CoreOp::Load => Event::Load,
                    CoreOp::Store => Event::Store,
                    CoreOp::Atomic(_) => Event::Atomic,
                    CoreOp::Fence | CoreOp::KernelBegin | CoreOp::KernelEnd => return None,
                };
                Some((request.line, event))
            }
            Input::Message(message) => Some((message.line, Event::of(message.kind))),
            Input::Evict(line) => Some((*line, Event::Eviction)),
            Input::EvictEntry(_) | Input::Time(_) => None,
        }
    }

    fn step_core(&mut self, request: &CoreRequest<W>, out: &mut Outbox<W>) -> Outcome {
        let now = self.counter.stamp(out.now);
        let (state, slot) = self.state(request.line, now);
        match request.op {
            CoreOp::Load => self.load(request, state, slot, out),
            CoreOp::Store => self.store(request, state, slot, out),
            CoreOp::Atomic(_) => self.atomic(request, state, slot, out),
            CoreOp::Fence => {
                self.gwct.fence(request.wave, request.txn, &self.counter, out);
                Outcome::Done
            }
            CoreOp::KernelBegin | CoreOp::KernelEnd => {
                out.complete_empty(request.txn);
                Outcome::Done
            }
        }
    }

    fn load(&mut self, request: &CoreRequest<W>, state: State, slot: Option<Slot>, out: &mut Outbox<W>) -> Outcome {
        match (state, slot) {
            (State::V, Some(slot)) => {
                self.lines.touch(slot);
                out.complete(request.txn, self.lines.data(slot));
                Outcome::Done
            }
            (State::VM, Some(slot)) if self.hits_pending() => {
                self.lines.touch(slot);
                out.complete(request.txn, self.lines.data(slot));
                Outcome::Done
            }
            (State::IV, _) => {
                let since = self.counter.stamp(out.now);
                if let Some(register) = self.mshrs.find(request.line) {
                    self.mshrs.payload_mut(register).merged |= wave_bit(request.wave);
                    self.mshrs.push_target(register, Reader { txn: request.txn, since });
                }
                Outcome::Done
            }
            (State::I, slot) => self.allocate(request, slot, out),
            (State::II, _) if self.must_stay_behind_merged(request) => Outcome::Stall,
            (State::V | State::II | State::VM, _) => self.request(GETS, request, 0, out),
        }
    }

    /// Whether loads hit a copy that is written ahead of its acknowledgement.
    fn hits_pending(&self) -> bool {
        self.writes == Writes::GoOn || self.faulty(L1Fault::PendingHit)
    }

    /// A read miss that will leave a copy behind, in the place of the expired one if there is one.
    fn allocate(&mut self, request: &CoreRequest<W>, expired: Option<Slot>, out: &mut Outbox<W>) -> Outcome {
        if self.mshrs.is_full() {
            return Outcome::Stall;
        }
        let now = self.counter.stamp(out.now);
        let awaited = Line { residency: Residency::Awaited, ..Line::default() };
        if let Some(slot) = expired {
            self.tallies.add(EXPIRED_LOADS, 1);
            *self.lines.meta_mut(slot) = awaited;
            self.lines.touch(slot);
        } else {
            let room =
                self.lines.room_for(request.line, |line| line.residency == Residency::Copy && !line.has_expired(now));
            let slot = match room {
                Room::Free(slot) => slot,
                Room::Occupied(_) | Room::Busy => {
                    match (self.lines.find_in_set(request.line, |line| line.has_expired(now)), room) {
                        (Some(slot), _) => slot,
                        (None, Room::Occupied(slot)) if !out.evicts => return Outcome::Evict(self.lines.line(slot)),
                        (None, Room::Occupied(slot)) => slot,
                        (None, Room::Free(_) | Room::Busy) => return Outcome::Stall,
                    }
                }
            };
            self.lines.replace(slot, request.line, awaited);
        }
        let register = self.mshrs.insert(request.line, Pending { merged: 0, answers: 1, gwct: 0 });
        self.mshrs.push_target(register, Reader { txn: request.txn, since: 0 });
        self.ask_for_merged(request.line, expired.is_some(), out);
        Outcome::Done
    }

    fn ask_for_merged(&self, line: LineAddr, expired: bool, out: &mut Outbox<W>) {
        let stamp = if expired { EXPIRED } else { 0 };
        let home = self.config.topology.home(line);
        out.send(Message { txn: Txn::Merged, stamp, ..Message::control(GETS, line, self.me, home) });
    }

    /// A request whose answer leaves no copy behind.
    fn request(&mut self, kind: MsgKind, request: &CoreRequest<W>, stamp: Time, out: &mut Outbox<W>) -> Outcome {
        if let Some(register) = self.mshrs.find(request.line) {
            self.mshrs.payload_mut(register).answers += u32::from(!self.faulty(L1Fault::UncountedRequest));
        } else if self.mshrs.is_full() {
            return Outcome::Stall;
        } else {
            self.mshrs.insert(request.line, Pending { merged: 0, answers: 1, gwct: 0 });
        }
        let home = self.config.topology.home(request.line);
        out.send(Message { stamp, ..Message::request(kind, request, self.me, home) });
        Outcome::Done
    }

    fn store(&mut self, request: &CoreRequest<W>, state: State, slot: Option<Slot>, out: &mut Outbox<W>) -> Outcome {
        if self.must_stay_behind_merged(request) {
            return Outcome::Stall;
        }
        let outcome = match (state, slot) {
            (State::V | State::VM, Some(slot)) => self.upgrade(request, slot, out),
            (State::I | State::II | State::IV, _) | (State::V | State::VM, None) => self.request(GETX, request, 0, out),
        };
        if outcome == Outcome::Done {
            self.gwct.sent(request.wave);
            if let (State::IV, Some(slot)) = (state, slot)
                && !self.faulty(L1Fault::PendingStore)
            {
                self.lines.remove(slot);
            }
        }
        outcome
    }

    /// A merged load that has to be asked for again must not come to the L2 behind later operations of its own
    /// wavefront.
    fn must_stay_behind_merged(&self, request: &CoreRequest<W>) -> bool {
        let merged = self.mshrs.get(request.line).map_or(0, |pending| pending.merged);
        merged & wave_bit(request.wave) != 0 && !self.faulty(L1Fault::OvertakenMerge)
    }

    /// Writes a copy at once and tells the L2.
    fn upgrade(&mut self, request: &CoreRequest<W>, slot: Slot, out: &mut Outbox<W>) -> Outcome {
        let stamp = self.counter.time(self.lines.meta(slot).stamp);
        if self.request(UPGR, request, stamp, out) == Outcome::Stall {
            return Outcome::Stall;
        }
        let mask = if self.faulty(L1Fault::WholeCopy) { ByteMask::full::<W>() } else { request.mask };
        self.lines.data_mut(slot).merge(mask, &request.data);
        let lengthens = self.faulty(L1Fault::LengthenedLease);
        let latest = self.counter.latest();
        let line = self.lines.meta_mut(slot);
        if let (Residency::Copy, Some(register)) = (line.residency, self.mshrs.find(request.line)) {
            self.mshrs.payload_mut(register).gwct = line.gwct;
        }
        line.residency = Residency::Written;
        if self.writes == Writes::GoOn {
            line.stamp = latest.min(line.stamp.saturating_add(1));
        }
        if lengthens {
            line.lease = line.stamp;
        }
        Outcome::Done
    }

    fn atomic(&mut self, request: &CoreRequest<W>, state: State, slot: Option<Slot>, out: &mut Outbox<W>) -> Outcome {
        if self.must_stay_behind_merged(request) {
            return Outcome::Stall;
        }
        let stamp = match (state, slot, self.writes) {
            (State::V | State::VM, Some(slot), Writes::Wait) => self.counter.time(self.lines.meta(slot).stamp),
            (State::I | State::V | State::VM | State::IV | State::II, _, Writes::Wait | Writes::GoOn) => 0,
        };
        if self.request(ATOMIC, request, stamp, out) == Outcome::Stall {
            return Outcome::Stall;
        }
        self.gwct.sent(request.wave);
        match (state, slot) {
            (State::V, Some(slot)) => {
                // What the copy knew of the line's writes stays with the line's requests.
                if let Some(register) = self.mshrs.find(request.line) {
                    self.mshrs.payload_mut(register).gwct = self.lines.meta(slot).gwct;
                }
                self.lines.remove(slot);
            }
            (State::VM | State::IV, Some(slot)) => self.lines.remove(slot),
            (State::I | State::II, _) | (State::V | State::VM | State::IV, None) => {}
        }
        Outcome::Done
    }

    fn step_message(&mut self, message: &Message<W>, out: &mut Outbox<W>) -> Result<Outcome, Unspecified> {
        let (state, slot) = self.state(message.line, self.counter.stamp(out.now));
        match (message.kind, state) {
            (DATA, State::IV) => {
                if let (true, Some(slot)) = (self.answer_merged(message, out), slot) {
                    self.fill(slot, message);
                }
            }
            (DATA, State::II) if message.txn == Txn::Merged => {
                if self.answer_merged(message, out) {
                    self.answered(message, state, slot);
                }
            }
            (DATA, State::II | State::VM) => {
                out.complete(message.txn, &message.data);
                self.answered(message, state, slot);
            }
            (DATA_G, State::II | State::VM) | (ACK | ACK_G, State::II | State::VM) => {
                out.complete_empty(message.txn);
                self.written(message, out);
                self.answered(message, state, slot);
            }
            (ATOMIC_DATA_G, State::II) => {
                out.complete(message.txn, &message.data);
                self.written(message, out);
                self.answered(message, state, slot);
            }
            (MsgKind(_), State::I | State::V | State::IV | State::VM | State::II) => {
                return Err(unspecified(state, Event::of(message.kind), message.line));
            }
        }
        Ok(Outcome::Done)
    }

    /// Answers the loads that merged while the lease ran. The others are asked for again; returns whether there are
    /// none.
    fn answer_merged(&mut self, message: &Message<W>, out: &mut Outbox<W>) -> bool {
        let Some(register) = self.mshrs.find(message.line) else { return false };
        let lease = self.counter.received(message.stamp);
        let mut answered = 0;
        while let Some(reader) = self.mshrs.first_target(register).copied() {
            if reader.since > lease && !self.faulty(L1Fault::LateMerge) {
                if !self.faulty(L1Fault::EverAsked) {
                    self.mshrs.change_first_target(register, |reader| reader.since = 0);
                }
                self.ask_for_merged(message.line, true, out);
                return false;
            }
            self.mshrs.pop_target(register);
            if answered == 0 || !self.faulty(L1Fault::LostMerge) {
                out.complete(reader.txn, &message.data);
            }
            answered += 1;
        }
        self.mshrs.payload_mut(register).merged = 0;
        true
    }

    /// A read miss leaves its copy behind.
    fn fill(&mut self, slot: Slot, message: &Message<W>) {
        let lease = self.counter.received(message.stamp);
        self.lines.fill(slot, &message.data);
        let readable_until = lease.saturating_add(Stamp::from(self.faulty(L1Fault::LateExpiry)));
        *self.lines.meta_mut(slot) = Line { residency: Residency::Copy, lease: readable_until, stamp: lease, gwct: 0 };
        if let Some(register) = self.mshrs.find(message.line) {
            self.mshrs.release(register);
        }
    }

    /// A write or atomic is done at the L2, and visible to everybody after the line's completion time.
    fn written(&mut self, message: &Message<W>, out: &mut Outbox<W>) {
        let Some(register) = self.mshrs.find(message.line) else { return };
        let stamp = self.counter.received(message.stamp);
        let pending = self.mshrs.payload_mut(register);
        pending.gwct = pending.gwct.max(stamp);
        let gwct = match self.fault {
            Some(L1Fault::TimelessFence) => 0,
            Some(L1Fault::ForgottenCompletion) => stamp,
            Some(_) | None => pending.gwct,
        };
        self.gwct.done(message.wave, gwct, &self.counter, out);
    }

    /// One answer fewer is outstanding; with the last, V_M becomes V, refreshed if the copy was stale, and I_I becomes
    /// I.
    fn answered(&mut self, message: &Message<W>, state: State, slot: Option<Slot>) {
        let Some(register) = self.mshrs.find(message.line) else { return };
        let pending = self.mshrs.payload_mut(register);
        pending.answers -= 1;
        if pending.answers > 0 {
            return;
        }
        let gwct = pending.gwct;
        self.mshrs.release(register);
        let Some(slot) = slot else { return };
        let line = self.lines.meta_mut(slot);
        (line.residency, line.gwct) = (Residency::Copy, gwct);
        if state == State::VM && message.kind == DATA_G {
            let lease = self.counter.received(message.stamp);
            (line.lease, line.stamp) = (lease, lease);
            if self.fault != Some(L1Fault::LostRefill) {
                self.lines.fill(slot, &message.data);
            }
        }
    }

    fn evict(&mut self, line: LineAddr, now: Stamp) -> Result<Outcome, Unspecified> {
        match self.state(line, now) {
            (State::V, Some(slot)) => {
                self.lines.remove(slot);
                Ok(Outcome::Done)
            }
            (State::VM | State::IV | State::II, _) => Ok(Outcome::Stall),
            (state @ (State::I | State::V), _) => Err(unspecified(state, Event::Eviction, line)),
        }
    }

    fn pass_time(&mut self, passage: Passage, out: &mut Outbox<W>) {
        match passage {
            Passage::Wake => {}
            Passage::Tick => self.age(self.counter.stamp(out.now)),
            Passage::RollOver => self.roll_over(),
        }
        self.gwct.pass(&self.counter, out);
    }

    /// Lets a tick of an exploration pass.
    fn age(&mut self, now: Stamp) {
        self.lines.change_all(|line| {
            line.lease = aged(line.lease, now);
            line.stamp = aged(line.stamp, now);
            line.gwct = aged(line.gwct, now);
        });
        if !self.faulty(L1Fault::EternalCopy) {
            self.lines.remove_where(|line| line.has_expired(now));
        }
        self.mshrs.change_payloads(|pending| pending.gwct = aged(pending.gwct, now));
        let oldest = now - HISTORY as Stamp;
        self.mshrs.change_targets(|reader| {
            if reader.since > 0 {
                reader.since = oldest.max(reader.since - 1);
            }
        });
        self.gwct.age(now);
    }

    /// The counters begin anew (section 6.5): all copies go at once, answers under way are used once, and no completion
    /// time is left to wait for.
    fn roll_over(&mut self) {
        if !self.faulty(L1Fault::SurvivingCopy) {
            self.lines.remove_where(|_| true);
        }
        self.mshrs.change_payloads(|pending| pending.gwct = 0);
        self.mshrs.change_targets(|reader| reader.since = reader.since.min(EARLIER_ROUND));
        self.gwct.forget_times();
    }
}

impl<const W: usize> Controller<W> for TcL1<W> {
    fn vocabulary(&self) -> &'static Vocabulary {
        &VOCABULARY
    }

    fn classify(&self, input: &Input<'_, W>, now: Time) -> Option<Classified> {
        let (line, event) = Self::event(input)?;
        let (state, _) = self.state(line, self.counter.stamp(now));
        Some(Classified { line, state: state as u8, event: event as u8 })
    }

    fn step(&mut self, input: &Input<'_, W>, out: &mut Outbox<W>) -> Result<Outcome, Unspecified> {
        if self.counter.follow(out.now) {
            self.roll_over();
            // Fences that waited for the old round are passed with the next cycle.
            out.wake_at(out.now + 1);
        }
        match input {
            Input::Core(request) => Ok(self.step_core(request, out)),
            Input::Message(message) => self.step_message(message, out),
            Input::Evict(line) => self.evict(*line, self.counter.stamp(out.now)),
            Input::EvictEntry(_) => Ok(Outcome::Done),
            Input::Time(passage) => {
                self.pass_time(*passage, out);
                Ok(Outcome::Done)
            }
        }
    }

    fn load_hit(&mut self, load: &LoadRequest, now: Time) -> Option<&LineData<W>> {
        if self.counter.is_over(now) {
            return None;
        }
        let slot = self.lines.find(load.line)?;
        let line = self.lines.meta(slot);
        let is_readable = match line.residency {
            Residency::Copy => true,
            Residency::Written => self.hits_pending(),
            Residency::Awaited => false,
        };
        let expires = !self.faulty(L1Fault::EternalCopy);
        if !is_readable || expires && line.has_expired(self.counter.stamp(now)) {
            return None;
        }
        self.lines.touch(slot);
        Some(self.lines.data(slot))
    }

    fn view(&self, line: LineAddr, now: Time) -> LineView<W> {
        let (state, slot) = self.state(line, self.counter.stamp(now));
        let hit = state == State::V || (state == State::VM && self.writes == Writes::GoOn);
        LineView {
            state: state as u8,
            readable: if hit { ByteMask::full::<W>() } else { ByteMask::EMPTY },
            dirty: ByteMask::EMPTY,
            data: slot.map_or(LineData::default(), |slot| *self.lines.data(slot)),
            sharers: Sharers::default(),
        }
    }

    fn evictable(&self, line: LineAddr, now: Time) -> bool {
        self.state(line, self.counter.stamp(now)).0 == State::V
    }

    fn quiescent(&self) -> bool {
        self.mshrs.is_empty() && self.gwct.is_idle()
    }

    fn tallies(&self) -> &[Tally] {
        self.tallies.as_slice()
    }

    fn dirty_lines(&self, _: &mut dyn FnMut(LineAddr, ByteMask, &LineData<W>)) {}
}

/// The bit of a wavefront among those with merged loads. Wavefronts that share a bit wait for each other without need.
fn wave_bit(wave: u16) -> u64 {
    1 << (wave % 64)
}
