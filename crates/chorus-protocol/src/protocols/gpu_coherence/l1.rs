//! The GPU coherence cache (Spandex paper, sections II-B and III-A).
//!
//! Accesses that a line cannot serve at once wait behind the line's register, in the order issued. Loads wait for the
//! one read that is outstanding. Writes wait for earlier writes of the same words, since the network might let them
//! overtake those. Everything waits behind accesses that already wait.
//!
//! Reads bring whole lines, but no word that had a write outstanding when the read was sent: the shared cache may have
//! answered before the write. An acquire invalidates every word and marks the reads that are on their way. Their
//! answers serve the accesses that already wait and are not kept. Words are given up silently whenever a place is
//! needed. A read that misses reserves its place when it is sent.

use crate::access::{CoreOp, CoreRequest, LoadRequest, Order};
use crate::address::{AgentId, LineAddr, Topology};
use crate::cache::{CacheArray, Room, Slot};
use crate::controller::{Classified, Controller, Input, LineView, Outbox, Outcome, Time, Unspecified, Vocabulary};
use crate::line::{ByteMask, LineData};
use crate::message::Message;
use crate::mshr::{Mshrs, Register};
use crate::protocols::gpu_coherence::faults::L1Fault;
pub use crate::protocols::gpu_coherence::l1_states::VOCABULARY;
use crate::protocols::gpu_coherence::l1_states::{Event, State};
use crate::protocols::spandex::fences::Fences;
use crate::protocols::spandex::llc::line::{all_words, words_of};
use crate::protocols::spandex::messages::{REQ_V, REQ_WT, local, update};
use crate::registry::BuildConfig;
use crate::save::{self, Restore, Save};
use crate::sharers::Sharers;

/// The metadata of a place in the cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Save)]
struct Place {
    /// The valid words of the line.
    valid: u32,
    /// Whether the place is reserved for the answer of a read.
    is_reserved: bool,
}

/// The accesses that wait or are outstanding for a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Save)]
struct Pending {
    /// The number of accesses that wait.
    waiting: u32,
    /// Whether a read is outstanding.
    reading: bool,
    /// Whether an acquire came after the read was sent.
    stale: bool,
    /// For a stale read, the number of accesses that already waited when the acquire came. They are the first of those
    /// that wait.
    old: u32,
    /// Words that had writes outstanding when the read was sent.
    skipped: u32,
    /// Words with a weak store outstanding.
    stores: u32,
    /// Words with atomics or ordered accesses outstanding, and the number of these accesses.
    ordered: u32,
    ordered_count: u16,
}

impl Pending {
    fn is_idle(&self) -> bool {
        self.waiting == 0 && !self.reading && self.stores == 0 && self.ordered_count == 0
    }
}

/// A GPU coherence cache.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Restore)]
pub struct GpuCoherenceL1<const W: usize> {
    #[save(built)]
    me: AgentId,
    #[save(built)]
    topology: Topology,
    #[save(built)]
    fault: Option<L1Fault>,
    lines: CacheArray<Place, W>,
    mshrs: Mshrs<Pending, CoreRequest<W>>,
    /// Counts stores, atomics and ordered loads that wait or are outstanding.
    fences: Fences,
    /// Number of ordered accesses outstanding, for each wavefront slot.
    ordered: Vec<u16>,
}

impl<const W: usize> GpuCoherenceL1<W> {
    /// A cache without any line.
    pub fn new(index: u16, config: &BuildConfig, fault: Option<L1Fault>) -> Self {
        let fence_fault = if let Some(L1Fault::Fence(fault)) = fault { Some(fault) } else { None };
        GpuCoherenceL1 {
            me: config.topology.l1(index),
            topology: config.topology,
            fault,
            lines: CacheArray::new(config.l1.geometry(1)),
            mshrs: Mshrs::new(config.l1.mshrs),
            fences: Fences::new(config.waves, fence_fault),
            ordered: vec![0; usize::from(config.waves)],
        }
    }

    fn faulty(&self, fault: L1Fault) -> bool {
        self.fault == Some(fault)
    }

    fn valid(&self, slot: Option<Slot>) -> u32 {
        slot.map_or(0, |slot| self.lines.meta(slot).valid)
    }

    fn state(&self, line: LineAddr) -> State {
        let valid = self.valid(self.lines.find(line)) != 0;
        match (self.mshrs.get(line), valid) {
            (Some(pending), _) if pending.reading && pending.stale => State::II,
            (Some(pending), false) if pending.reading => State::IV,
            (Some(pending), true) if pending.reading => State::VV,
            (Some(_), false) => State::IW,
            (Some(_), true) => State::VW,
            (None, false) => State::I,
            (None, true) => State::V,
        }
    }

    fn event(input: &Input<'_, W>) -> Option<(LineAddr, Event)> {
        match input {
            Input::Core(request) => Some((request.line, Event::of_operation(request)?)),
            Input::Message(message) => Some((message.line, Event::of(message.kind))),
            Input::Evict(line) => Some((*line, Event::Evict)),
            Input::EvictEntry(_) | Input::Time(_) => None,
        }
    }

    fn step_core(&mut self, request: &CoreRequest<W>, out: &mut Outbox<W>) -> Outcome {
        match request.op {
            CoreOp::Load | CoreOp::Store | CoreOp::Atomic(_) => self.access(request, out),
            CoreOp::Fence | CoreOp::KernelBegin | CoreOp::KernelEnd => {
                if self.fences.synchronise(request, self.faulty(L1Fault::EarlyAcquire), out) {
                    self.acquire();
                }
                Outcome::Done
            }
        }
    }

    fn access(&mut self, request: &CoreRequest<W>, out: &mut Outbox<W>) -> Outcome {
        let is_weak_load = request.op == CoreOp::Load && request.order == Order::Weak;
        let register = match self.mshrs.find(request.line) {
            Some(register) => register,
            None if is_weak_load && self.hit(request, out) => return Outcome::Done,
            None if self.mshrs.is_full() => return Outcome::Stall,
            None => {
                if is_weak_load && let Some(obstacle) = self.reserve(request.line, out.evicts) {
                    return obstacle;
                }
                self.mshrs.insert(request.line, Pending::default())
            }
        };
        if !is_weak_load {
            self.fences.sent(request.wave);
        }
        self.mshrs.push_target(register, *request);
        let pending = self.mshrs.payload_mut(register);
        pending.waiting += 1;
        if pending.waiting == 1 {
            self.proceed(register, out);
        }
        Outcome::Done
    }

    /// Reserves a place for the answer of a read. Returns the obstacle if there is one.
    fn reserve(&mut self, line: LineAddr, evicts: bool) -> Option<Outcome> {
        let slot = match self.lines.find(line) {
            Some(slot) => slot,
            None => match self.lines.room_for(line, |place| !place.is_reserved) {
                Room::Busy => return Some(Outcome::Stall),
                Room::Occupied(slot) if !evicts => return Some(Outcome::Evict(self.lines.line(slot))),
                Room::Occupied(slot) | Room::Free(slot) => {
                    self.lines.replace(slot, line, Place::default());
                    slot
                }
            },
        };
        self.lines.meta_mut(slot).is_reserved = true;
        None
    }

    /// Serves a load whose words are all valid.
    fn hit(&mut self, request: &CoreRequest<W>, out: &mut Outbox<W>) -> bool {
        let Some(slot) = self.lines.find(request.line) else { return false };
        if words_of(request.mask) & !self.lines.meta(slot).valid != 0 {
            return false;
        }
        self.lines.touch(slot);
        out.complete(request.txn, self.lines.data(slot));
        true
    }

    /// Serves the accesses that wait for a line, until one has to keep waiting.
    fn proceed(&mut self, register: Register, out: &mut Outbox<W>) {
        while let Some(request) = self.mshrs.first_target(register).copied() {
            let is_weak = request.order == Order::Weak;
            let served = match request.op {
                CoreOp::Load if is_weak => self.load(register, &request, out),
                CoreOp::Store if request.is_plain_store() => self.store(register, &request, out),
                CoreOp::Load | CoreOp::Store | CoreOp::Atomic(_) => self.order(register, &request, out),
                CoreOp::Fence | CoreOp::KernelBegin | CoreOp::KernelEnd => true,
            };
            if !served {
                break;
            }
            self.leave(register);
        }
        if self.mshrs.payload(register).is_idle() {
            self.mshrs.release(register);
        }
    }

    /// Removes the access that has waited longest.
    fn leave(&mut self, register: Register) {
        self.mshrs.pop_target(register);
        let pending = self.mshrs.payload_mut(register);
        pending.waiting -= 1;
        pending.old = pending.old.saturating_sub(1);
    }

    fn load(&mut self, register: Register, request: &CoreRequest<W>, out: &mut Outbox<W>) -> bool {
        if self.hit(request, out) {
            return true;
        }
        let pending = self.mshrs.payload_mut(register);
        let written = pending.stores | pending.ordered;
        if !pending.reading && words_of(request.mask) & written == 0 {
            (pending.reading, pending.stale, pending.old, pending.skipped) = (true, false, 0, written);
            let unit = self.topology.upstream(self.me, request.line);
            let read = Message::control(local(REQ_V), request.line, self.me, unit);
            out.send(Message { mask: ByteMask::full::<W>(), ..read });
        }
        false
    }

    fn store(&mut self, register: Register, request: &CoreRequest<W>, out: &mut Outbox<W>) -> bool {
        let overtakes = self.faulty(L1Fault::OvertakenWrite);
        let words = words_of(request.mask);
        let pending = self.mshrs.payload_mut(register);
        if pending.reading || (words & (pending.stores | pending.ordered) != 0 && !overtakes) {
            return false;
        }
        pending.stores |= words;
        if let Some(slot) = self.place(request.line) {
            self.lines.touch(slot);
            self.lines.data_mut(slot).merge(request.mask, &request.data);
            let written = if self.faulty(L1Fault::WholeLine) { all_words::<W>() } else { words };
            self.lines.meta_mut(slot).valid |= written;
        }
        let unit = self.topology.upstream(self.me, request.line);
        out.send(Message::request(local(REQ_WT), request, self.me, unit));
        true
    }

    /// Performs an atomic or another access with an order at the shared cache. Accesses of different wavefronts need
    /// not keep their order.
    fn order(&mut self, register: Register, request: &CoreRequest<W>, out: &mut Outbox<W>) -> bool {
        let overtakes = self.faulty(L1Fault::OvertakenWrite);
        let words = words_of(request.mask);
        let has_others = self.ordered[usize::from(request.wave)] > 0;
        let pending = self.mshrs.payload_mut(register);
        let earlier = pending.stores | if has_others { pending.ordered } else { 0 };
        if pending.reading || (words & earlier != 0 && !overtakes) {
            return false;
        }
        pending.ordered |= words;
        pending.ordered_count += 1;
        self.ordered[usize::from(request.wave)] += 1;
        self.downgrade(request.line, words);
        out.send(update(request, self.me, self.topology.upstream(self.me, request.line)));
        true
    }

    /// Invalidates words that the shared cache has changed or is about to change.
    fn downgrade(&mut self, line: LineAddr, words: u32) {
        let Some(slot) = self.lines.find(line).filter(|_| !self.faulty(L1Fault::StaleAtomic)) else { return };
        self.lines.meta_mut(slot).valid &= !words;
        self.leave_if_empty(slot);
    }

    fn leave_if_empty(&mut self, slot: Slot) {
        if *self.lines.meta(slot) == Place::default() {
            self.lines.remove(slot);
        }
    }

    /// The place of a line. It is taken from another line if necessary. There is none if reads have reserved all places
    /// of the set.
    fn place(&mut self, line: LineAddr) -> Option<Slot> {
        if let Some(slot) = self.lines.find(line) {
            return Some(slot);
        }
        match self.lines.room_for(line, |place| !place.is_reserved) {
            Room::Occupied(slot) | Room::Free(slot) => {
                self.lines.replace(slot, line, Place::default());
                Some(slot)
            }
            Room::Busy => None,
        }
    }

    fn drop_line(&mut self, line: LineAddr) {
        if let Some(slot) = self.lines.find(line) {
            self.lines.remove(slot);
        }
    }

    /// Notes that a write or an ordered access is performed.
    fn acknowledged(&mut self, wave: u16, out: &mut Outbox<W>) {
        if self.fences.acknowledged(wave, out) {
            self.acquire();
        }
    }

    /// Invalidates every word, and marks the reads that are on their way as stale.
    fn acquire(&mut self) {
        if self.faulty(L1Fault::KeptCopies) {
            return;
        }
        self.lines.remove_where(|place| !place.is_reserved);
        self.lines.change_all(|place| place.valid = 0);
        self.mshrs.change_payloads(|pending| {
            if pending.reading && !pending.stale {
                (pending.stale, pending.old) = (true, pending.waiting);
            }
        });
    }

    /// Takes a line that a read brings.
    fn filled(&mut self, register: Register, message: &Message<W>, out: &mut Outbox<W>) {
        let pending = *self.mshrs.payload(register);
        let keeps = !pending.stale || self.faulty(L1Fault::KeptRead);
        let skipped = if self.faulty(L1Fault::OldRefill) { 0 } else { pending.skipped };
        let valid = self.valid(self.lines.find(message.line));
        let brought = all_words::<W>() & !skipped & !valid;
        let mut data = message.data;
        if let Some(slot) = self.lines.find(message.line) {
            data.merge(ByteMask::of_words(valid), self.lines.data(slot));
        }
        if keeps
            && brought != 0
            && let Some(slot) = self.place(message.line)
        {
            self.lines.data_mut(slot).merge(ByteMask::of_words(brought), &data);
            self.lines.meta_mut(slot).valid |= brought;
        }
        if let Some(slot) = self.lines.find(message.line) {
            self.lines.meta_mut(slot).is_reserved = false;
            self.leave_if_empty(slot);
        }
        let mut answered = 0;
        while let Some(load) = self.mshrs.first_target(register).copied() {
            let in_time = !pending.stale
                || self.mshrs.payload(register).old > 0
                || self.faulty(L1Fault::KeptRead)
                || self.faulty(L1Fault::LateJoin);
            let is_weak_load = load.op == CoreOp::Load && load.order == Order::Weak;
            if !in_time || !is_weak_load || words_of(load.mask) & !(brought | valid) != 0 {
                break;
            }
            if answered == 0 || !self.faulty(L1Fault::LostLoad) {
                out.complete(load.txn, &data);
            }
            answered += 1;
            self.leave(register);
        }
        let pending = self.mshrs.payload_mut(register);
        (pending.reading, pending.stale, pending.old, pending.skipped) = (false, false, 0, 0);
    }

    fn step_message(&mut self, message: &Message<W>, out: &mut Outbox<W>) -> Result<Outcome, Unspecified> {
        let event = Event::of(message.kind);
        let hole = || VOCABULARY.unspecified(self.state(message.line) as usize, event as usize, message.line);
        let Some(register) = self.mshrs.find(message.line) else { return Err(hole()) };
        let words = words_of(message.mask);
        let pending = *self.mshrs.payload(register);
        match event {
            Event::RspV if pending.reading => self.filled(register, message, out),
            Event::RspWt if words & !pending.stores == 0 => {
                self.mshrs.payload_mut(register).stores &= !words;
                out.complete_empty(message.txn);
                self.acknowledged(message.wave, out);
            }
            Event::RspWt if self.faulty(L1Fault::OvertakenWrite) => {
                out.complete_empty(message.txn);
                self.acknowledged(message.wave, out);
            }
            Event::RspWtData if pending.ordered_count > 0 => {
                let pending = self.mshrs.payload_mut(register);
                pending.ordered_count -= 1;
                if pending.ordered_count == 0 {
                    pending.ordered = 0;
                }
                self.ordered[usize::from(message.wave)] -= 1;
                self.downgrade(message.line, words);
                out.complete(message.txn, &message.data);
                self.acknowledged(message.wave, out);
            }
            Event::RspV
            | Event::RspWt
            | Event::RspWtData
            | Event::Load
            | Event::OrderedLoad
            | Event::Store
            | Event::OrderedStore
            | Event::Atomic
            | Event::Evict
            | Event::Foreign => return Err(hole()),
        }
        self.proceed(register, out);
        Ok(Outcome::Done)
    }
}

impl<const W: usize> Controller<W> for GpuCoherenceL1<W> {
    fn vocabulary(&self) -> &'static Vocabulary {
        &VOCABULARY
    }

    fn classify(&self, input: &Input<'_, W>, _: Time) -> Option<Classified> {
        let (line, event) = Self::event(input)?;
        Some(Classified { line, state: self.state(line) as u8, event: event as u8 })
    }

    fn step(&mut self, input: &Input<'_, W>, out: &mut Outbox<W>) -> Result<Outcome, Unspecified> {
        match input {
            Input::Core(request) => Ok(self.step_core(request, out)),
            Input::Message(message) => self.step_message(message, out),
            Input::Evict(line) => {
                self.drop_line(*line);
                Ok(Outcome::Done)
            }
            Input::EvictEntry(_) | Input::Time(_) => Ok(Outcome::Done),
        }
    }

    fn load_hit(&mut self, load: &LoadRequest, _: Time) -> Option<&LineData<W>> {
        let slot = self.lines.find(load.line)?;
        let missing = words_of(load.mask) & !self.lines.meta(slot).valid;
        // A load stays behind the accesses of its line that wait.
        if load.order != Order::Weak || missing != 0 || self.mshrs.get(load.line).is_some_and(|it| it.waiting > 0) {
            return None;
        }
        self.lines.touch(slot);
        Some(self.lines.data(slot))
    }

    fn view(&self, line: LineAddr, _: Time) -> LineView<W> {
        let slot = self.lines.find(line);
        LineView {
            state: self.state(line) as u8,
            readable: ByteMask::of_words(self.valid(slot)),
            dirty: ByteMask::EMPTY,
            data: slot.map_or(LineData::default(), |slot| *self.lines.data(slot)),
            sharers: Sharers::NONE,
        }
    }

    fn evictable(&self, line: LineAddr, _: Time) -> bool {
        self.lines.find(line).is_some_and(|slot| !self.lines.meta(slot).is_reserved)
    }

    fn quiescent(&self) -> bool {
        self.mshrs.is_empty() && self.fences.is_idle()
    }

    fn dirty_lines(&self, _: &mut dyn FnMut(LineAddr, ByteMask, &LineData<W>)) {}
}
