//! The DeNovo cache (Spandex paper, sections II-C and III).
//!
//! Accesses that a line cannot serve at once wait behind the line's register, in the order issued. An access that waits
//! takes words as they come: a load reads each word once and an atomic updates each word once. What becomes of the word
//! later does not matter to it, so every access ends. A line has one ReqV outstanding at a time. Words that come along
//! with its answer are kept unless this cache has written them since. Stores leave at once, with their data in the
//! copy, and are performed when their words are owned.
//!
//! An acquire invalidates the valid words and marks reads that are on their way. The answers of marked reads serve the
//! accesses that already wait and are not kept. Regions (DeNovo: Choi et al., PACT 2011) spare lines that nobody
//! writes, as software declares. A line whose owned words are written back waits until each of them is taken, by the
//! LLC or by a forwarded request. Until then nothing of the line can be accessed.

use crate::access::{AtomicOp, CoreOp, CoreRequest, LoadRequest, Order};
use crate::address::{AgentId, LineAddr, Topology};
use crate::cache::{CacheArray, Room, Slot};
use crate::controller::{Classified, Controller, Input, LineView, Outbox, Outcome, Time, Unspecified, Vocabulary};
use crate::line::{ByteMask, LineData};
use crate::message::{Message, MsgKind};
use crate::mshr::{Mshrs, Register};
use crate::protocols::denovo::faults::L1Fault;
pub use crate::protocols::denovo::l1_states::VOCABULARY;
use crate::protocols::denovo::l1_states::{Event, State};
use crate::protocols::denovo::predictor::Predictor;
use crate::protocols::denovo::words::{Pending, Words, pairs_of, whole_pairs};
use crate::protocols::spandex::fences::Fences;
use crate::protocols::spandex::llc::line::words_of;
use crate::protocols::spandex::messages::{REQ_O, REQ_O_DATA, REQ_V, REQ_WB, REQ_WT, local, update};
use crate::read_only::ReadOnlyLines;
use crate::registry::BuildConfig;
use crate::save::{self, Restore, Save};
use crate::sharers::Sharers;

/// The largest number of stores that may be outstanding.
const STORES: u32 = 1 << 12;

/// The place where ordered accesses are performed that find no owned word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Atomics {
    /// In this cache, once it owns the word.
    Here,
    /// At the shared cache, on the LLC's copy.
    AtLlc,
}

/// The way in which stores reach the shared cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stores {
    /// Stores obtain ownership of their words.
    Own,
    /// Stores own their words or write them through. The cache learns for each line which of the two has paid off.
    Learn,
}

/// The options in which DeNovo caches differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct L1Options {
    /// The place where ordered accesses are performed.
    pub atomics: Atomics,
    /// The way in which stores reach the shared cache.
    pub stores: Stores,
    /// The lines that acquires spare.
    pub regions: ReadOnlyLines,
}

/// A store of which some words are not yet owned or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Save)]
pub(super) struct Store {
    pub(super) missing: u32,
    pub(super) wave: u16,
}

/// A DeNovo cache, behind its translation unit.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Restore)]
pub struct DeNovoL1<const W: usize> {
    #[save(built)]
    pub(super) me: AgentId,
    #[save(built)]
    topology: Topology,
    #[save(built)]
    atomics: Atomics,
    #[save(built)]
    regions: ReadOnlyLines,
    #[save(built)]
    fault: Option<L1Fault>,
    pub(super) lines: CacheArray<Words, W>,
    pub(super) mshrs: Mshrs<Pending<W>, CoreRequest<W>>,
    /// The outstanding stores, by the names of their operations.
    pub(super) stores: Mshrs<Store, ()>,
    /// Counts stores, atomics and ordered loads that wait or are outstanding.
    pub(super) fences: Fences,
    pub(super) predictor: Option<Predictor>,
}

impl<const W: usize> DeNovoL1<W> {
    /// A cache without any line.
    pub fn new(index: u16, config: &BuildConfig, options: L1Options, fault: Option<L1Fault>) -> Self {
        let fence_fault = if let Some(L1Fault::Fence(fault)) = fault { Some(fault) } else { None };
        DeNovoL1 {
            me: config.topology.l1(index),
            topology: config.topology,
            atomics: options.atomics,
            regions: options.regions,
            fault,
            lines: CacheArray::new(config.l1.geometry(1)),
            mshrs: Mshrs::new(config.l1.mshrs),
            stores: Mshrs::new(STORES),
            fences: Fences::new(config.waves, fence_fault),
            predictor: (options.stores == Stores::Learn).then(Predictor::new),
        }
    }

    pub(super) fn faulty(&self, fault: L1Fault) -> bool {
        self.fault == Some(fault)
    }

    pub(super) fn words(&self, line: LineAddr) -> Words {
        self.lines.find(line).map_or(Words::default(), |slot| *self.lines.meta(slot))
    }

    pub(super) fn state(&self, line: LineAddr) -> State {
        let Words { valid, owned, .. } = self.words(line);
        match self.mshrs.get(line) {
            Some(pending) if pending.is_leaving() => State::WrittenBack,
            Some(pending) if pending.fetching != 0 => State::Fetching,
            Some(pending) if pending.owning != 0 => State::Owning,
            Some(pending) if pending.reading != 0 && pending.is_stale => State::Stale,
            Some(pending) if pending.reading != 0 => State::Reading,
            Some(pending) if pending.through != 0 => State::Through,
            Some(_) | None => match (valid != 0, owned != 0) {
                (false, false) => State::I,
                (true, false) => State::V,
                (false, true) => State::O,
                (true, true) => State::VO,
            },
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

    pub(super) fn unspecified(&self, event: Event, line: LineAddr) -> Unspecified {
        VOCABULARY.unspecified(self.state(line) as usize, event as usize, line)
    }

    /// A message that asks for words and carries no data.
    pub(super) fn ask(&self, kind: MsgKind, line: LineAddr, words: u32) -> Message<W> {
        let message = Message::control(local(kind), line, self.me, self.topology.upstream(self.me, line));
        Message { mask: ByteMask::of_words(words), ..message }
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
        let register = match self.mshrs.find(request.line) {
            Some(register) if self.mshrs.payload(register).is_leaving() => return Outcome::Stall,
            Some(register) => register,
            None if self.hit(request, out) => return Outcome::Done,
            None if self.mshrs.is_full() => return Outcome::Stall,
            None => {
                let slot = match self.place(request.line, out) {
                    Ok(slot) => slot,
                    Err(obstacle) => return obstacle,
                };
                self.lines.touch(slot);
                self.lines.meta_mut(slot).is_pending = true;
                self.mshrs.insert_with(request.line, Pending::new)
            }
        };
        if request.op != CoreOp::Load || request.order != Order::Weak {
            self.fences.sent(request.wave);
        }
        self.mshrs.push_target(register, *request);
        let pending = self.mshrs.payload_mut(register);
        pending.waiting += 1;
        if pending.waiting == 1 {
            self.proceed(register, request.line, out);
        } else if request.order != Order::Weak || matches!(request.op, CoreOp::Atomic(_)) {
            self.own_early(register, request, out);
        }
        Outcome::Done
    }

    /// The place of a line, which it gets now if it has none.
    fn place(&mut self, line: LineAddr, out: &mut Outbox<W>) -> Result<Slot, Outcome> {
        if let Some(slot) = self.lines.find(line) {
            return Ok(slot);
        }
        let slot = match self.lines.room_for(line, |words| !words.is_pending) {
            Room::Busy => return Err(Outcome::Stall),
            Room::Occupied(slot) if !out.evicts => return Err(Outcome::Evict(self.lines.line(slot))),
            Room::Occupied(slot) => {
                // A write-back may take the last register.
                if self.take_out(slot, out) != Outcome::Done || self.mshrs.is_full() {
                    return Err(Outcome::Stall);
                }
                slot
            }
            Room::Free(slot) => slot,
        };
        let is_read_only = self.is_read_only(line);
        self.lines.insert(slot, line, Words { is_read_only, ..Words::default() });
        Ok(slot)
    }

    fn is_read_only(&self, line: LineAddr) -> bool {
        let before = LineAddr(line.0.wrapping_sub(1));
        self.regions.contains(line) || self.faulty(L1Fault::WideRegion) && self.regions.contains(before)
    }

    /// Requests the words of an ordered access that has to wait behind other accesses of its line. So the words are
    /// here when its turn comes.
    fn own_early(&mut self, register: Register, request: &CoreRequest<W>, out: &mut Outbox<W>) {
        let Some(slot) = self.lines.find(request.line).filter(|_| self.atomics == Atomics::Here) else { return };
        let words = self.lines.meta_mut(slot);
        let pending = self.mshrs.payload_mut(register);
        let missing = words_of(request.mask) & !words.owned & !pending.unsettled();
        if missing == 0 {
            return;
        }
        pending.skip(missing);
        pending.fetching |= missing;
        words.valid &= !missing;
        out.send(Message { txn: request.txn, wave: request.wave, ..self.ask(REQ_O_DATA, request.line, missing) });
    }

    /// Serves an access to a line for which nothing is outstanding, if the states of its words allow that.
    fn hit(&mut self, request: &CoreRequest<W>, out: &mut Outbox<W>) -> bool {
        let Some(slot) = self.lines.find(request.line) else { return false };
        let Words { valid, owned, .. } = *self.lines.meta(slot);
        let is_weak_load = request.op == CoreOp::Load && request.order == Order::Weak;
        let is_allowed = if is_weak_load { valid | owned } else { owned };
        let words = words_of(request.mask);
        if words & !is_allowed != 0 {
            return false;
        }
        self.lines.touch(slot);
        self.note_use(slot, words);
        let mut values = request.data;
        self.perform(slot, request, words, &mut values);
        self.complete(request, &values, out);
        true
    }

    /// Completes an access of the core.
    fn complete(&self, request: &CoreRequest<W>, values: &LineData<W>, out: &mut Outbox<W>) {
        match request.op {
            CoreOp::Load | CoreOp::Atomic(_) => out.complete(request.txn, values),
            CoreOp::Store | CoreOp::Fence | CoreOp::KernelBegin | CoreOp::KernelEnd => out.complete_empty(request.txn),
        }
    }

    /// Performs an access on some words. Their old values are put into `values`.
    fn perform(&mut self, slot: Slot, request: &CoreRequest<W>, words: u32, values: &mut LineData<W>) {
        let mask = ByteMask::of_words(words) & request.mask;
        match request.op {
            CoreOp::Load => values.merge(mask, self.lines.data(slot)),
            CoreOp::Store => self.lines.data_mut(slot).merge(mask, &request.data),
            CoreOp::Atomic(op) => {
                values.merge(mask, &request.data);
                op.perform(self.lines.data_mut(slot), mask, values);
            }
            CoreOp::Fence | CoreOp::KernelBegin | CoreOp::KernelEnd => {}
        }
    }

    /// Notes that owned words have been used again.
    fn note_use(&mut self, slot: Slot, words: u32) {
        if self.predictor.is_some() {
            let state = self.lines.meta_mut(slot);
            state.is_reused |= words & state.owned != 0;
        }
    }

    /// Serves the accesses that wait for a line, until one has to keep waiting.
    pub(super) fn proceed(&mut self, register: Register, line: LineAddr, out: &mut Outbox<W>) {
        let Some(slot) = self.lines.find(line) else { return };
        while let Some(request) = self.mshrs.first_target(register).copied() {
            let is_weak = request.order == Order::Weak;
            let served = match request.op {
                CoreOp::Load if is_weak => self.load(register, slot, &request, out),
                CoreOp::Store if request.is_plain_store() => self.store(register, slot, &request, out),
                CoreOp::Load
                | CoreOp::Store
                | CoreOp::Atomic(_)
                | CoreOp::Fence
                | CoreOp::KernelBegin
                | CoreOp::KernelEnd => self.order(register, slot, &request, out),
            };
            if !served {
                break;
            }
            self.mshrs.pop_target(register);
            let pending = self.mshrs.payload_mut(register);
            pending.waiting -= 1;
            pending.old = pending.old.saturating_sub(1);
            (pending.done, pending.data) = (0, LineData::default());
        }
        if self.mshrs.payload(register).is_idle() {
            self.mshrs.release(register);
            let words = self.lines.meta_mut(slot);
            words.is_pending = false;
            if words.valid | words.owned == 0 {
                self.lines.remove(slot);
            }
        }
    }

    fn load(&mut self, register: Register, slot: Slot, request: &CoreRequest<W>, out: &mut Outbox<W>) -> bool {
        let asked = words_of(request.mask);
        let Words { valid, owned, .. } = *self.lines.meta(slot);
        self.note_use(slot, asked);
        let pending = self.mshrs.payload_mut(register);
        let taken = asked & (valid | owned | pending.owning) & !pending.done;
        pending.data.merge(ByteMask::of_words(taken), self.lines.data(slot));
        pending.done |= taken;
        if pending.done == asked {
            out.complete(request.txn, &pending.data);
            return true;
        }
        let missing = asked & !pending.done & !pending.writing();
        if missing != 0 && pending.reading == 0 {
            (pending.reading, pending.skipped) = (missing, pending.writing());
            out.send(self.ask(REQ_V, request.line, missing));
        }
        false
    }

    /// Sends a store at once, with its data in the copy. It has to wait if something is outstanding for its words.
    fn store(&mut self, register: Register, slot: Slot, request: &CoreRequest<W>, out: &mut Outbox<W>) -> bool {
        let asked = words_of(request.mask);
        let owned = self.lines.meta(slot).owned;
        let missing = asked & !owned;
        if asked & self.mshrs.payload(register).unsettled() != 0 {
            return false;
        }
        self.lines.data_mut(slot).merge(request.mask, &request.data);
        self.note_use(slot, asked);
        if missing == 0 {
            out.complete_empty(request.txn);
            self.acknowledged(request.wave, out);
            return true;
        }
        let owns = self.predictor.as_mut().is_none_or(|predictor| predictor.owns(request.line));
        let pending = self.mshrs.payload_mut(register);
        pending.skip(missing);
        let words = self.lines.meta_mut(slot);
        if owns {
            pending.owning |= missing;
            words.valid &= !missing;
        } else {
            pending.through |= missing;
            words.valid |= missing;
        }
        let (kind, data) = if owns { (REQ_O, LineData::default()) } else { (REQ_WT, request.data) };
        let CoreRequest { txn, wave, .. } = *request;
        out.send(Message { txn, wave, data, ..self.ask(kind, request.line, missing) });
        if self.faulty(L1Fault::EarlyWrite) {
            out.complete_empty(request.txn);
            self.acknowledged(request.wave, out);
        } else {
            let store = Store { missing, wave: request.wave };
            self.stores.insert(LineAddr(request.txn.key()), store);
        }
        true
    }

    /// Performs an atomic or another access with an order, or a store to parts of words. An operation on pairs of words
    /// needs both words of a pair at once. A pair of which only one word is here goes to the shared cache. Otherwise
    /// two caches that have a word each could take the other's in turn for ever.
    fn order(&mut self, register: Register, slot: Slot, request: &CoreRequest<W>, out: &mut Outbox<W>) -> bool {
        let asked = words_of(request.mask);
        let on_pairs = matches!(request.op, CoreOp::Atomic(AtomicOp::Pair(_)));
        let words = *self.lines.meta(slot);
        let usable = if self.faulty(L1Fault::ValidAtomic) { words.owned | words.valid } else { words.owned };
        let Pending { done, mut data, .. } = *self.mshrs.payload(register);
        let here = asked & usable & !done;
        let performed = if on_pairs { whole_pairs(here) } else { here };
        self.perform(slot, request, performed, &mut data);
        self.note_use(slot, performed);
        let pending = self.mshrs.payload_mut(register);
        pending.data = data;
        pending.done |= performed;
        if pending.done == asked {
            self.complete(request, &data, out);
            self.acknowledged(request.wave, out);
            return true;
        }
        let settled = asked & !pending.done & !pending.unsettled();
        let missing = if on_pairs { whole_pairs(settled) } else { settled };
        if missing == 0 {
            return false;
        }
        pending.skip(missing);
        self.lines.meta_mut(slot).valid &= !missing;
        let halves = pairs_of(missing & usable);
        let (fetched, updated) = match self.atomics {
            Atomics::Here => (missing & !halves, halves),
            Atomics::AtLlc => (0, missing),
        };
        pending.fetching |= fetched;
        pending.through |= updated;
        if fetched != 0 {
            let CoreRequest { txn, wave, .. } = *request;
            out.send(Message { txn, wave, ..self.ask(REQ_O_DATA, request.line, fetched) });
        }
        if updated != 0 {
            let (unit, mask) = (self.topology.upstream(self.me, request.line), ByteMask::of_words(updated));
            out.send(Message { mask: mask & request.mask, ..update(request, self.me, unit) });
        }
        false
    }

    /// Notes that a store or an ordered access is performed.
    pub(super) fn acknowledged(&mut self, wave: u16, out: &mut Outbox<W>) {
        if self.fences.acknowledged(wave, out) {
            self.acquire();
        }
    }

    /// Invalidates the valid words of lines that somebody may write, and marks the reads that are on their way as
    /// stale.
    fn acquire(&mut self) {
        if self.faulty(L1Fault::KeptCopies) {
            return;
        }
        let drops_owned = self.faulty(L1Fault::DroppedOwned);
        self.lines.change_all(|words| {
            words.valid &= if words.is_read_only { u32::MAX } else { 0 };
            words.owned &= if drops_owned && !words.is_pending { 0 } else { u32::MAX };
        });
        self.lines.remove_where(|words| words.valid | words.owned == 0 && !words.is_pending);
        self.mshrs.change_payloads(|pending| {
            if pending.reading != 0 && !pending.is_stale {
                (pending.is_stale, pending.old) = (true, pending.waiting);
            }
        });
    }

    /// Replaces a line. Valid words leave silently, owned words with a write-back.
    fn evict(&mut self, line: LineAddr, out: &mut Outbox<W>) -> Result<Outcome, Unspecified> {
        let Some(slot) = self.lines.find(line) else { return Err(self.unspecified(Event::Evict, line)) };
        Ok(self.take_out(slot, out))
    }

    /// Takes a line out. Its owned words are written back, for which a register has to be free.
    fn take_out(&mut self, slot: Slot, out: &mut Outbox<W>) -> Outcome {
        let line = self.lines.line(slot);
        let Words { owned, is_pending, is_reused, .. } = *self.lines.meta(slot);
        if is_pending || (owned != 0 && self.mshrs.is_full()) {
            return Outcome::Stall;
        }
        let data = *self.lines.data(slot);
        self.lines.remove(slot);
        if owned == 0 || self.faulty(L1Fault::LostWriteBack) {
            return Outcome::Done;
        }
        self.learn(line, is_reused);
        out.send(Message { data, ..self.ask(REQ_WB, line, owned) });
        self.mshrs.insert(line, Pending { written_back: owned, is_on_its_way: true, data, ..Pending::new() });
        Outcome::Done
    }

    /// Teaches the predictor whether owned words, which are gone now, had been used again.
    pub(super) fn learn(&mut self, line: LineAddr, is_reused: bool) {
        match &mut self.predictor {
            Some(predictor) if is_reused => predictor.paid(line),
            Some(predictor) => predictor.wasted(line),
            None => {}
        }
    }
}

impl<const W: usize> Controller<W> for DeNovoL1<W> {
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
            Input::Evict(line) => self.evict(*line, out),
            Input::EvictEntry(_) | Input::Time(_) => Ok(Outcome::Done),
        }
    }

    fn load_hit(&mut self, load: &LoadRequest, _: Time) -> Option<&LineData<W>> {
        let slot = self.lines.find(load.line)?;
        let Words { valid, owned, is_pending, .. } = *self.lines.meta(slot);
        let mut usable = if load.order == Order::Weak { valid | owned } else { owned };
        if is_pending {
            // A load stays behind the accesses of its line that wait, but need not wait for the answers to others.
            let pending = self.mshrs.get(load.line)?;
            if pending.waiting > 0 || pending.is_leaving() {
                return None;
            }
            if load.order == Order::Weak {
                usable |= pending.owning;
            }
        }
        let words = words_of(load.mask);
        if words & !usable != 0 {
            return None;
        }
        if !is_pending {
            self.lines.touch(slot);
        }
        self.note_use(slot, words);
        Some(self.lines.data(slot))
    }

    fn view(&self, line: LineAddr, _: Time) -> LineView<W> {
        let (words, pending) = (self.words(line), self.mshrs.get(line));
        let ahead = pending.map_or(0, |pending| pending.owning);
        let written_back = pending.map_or(0, |pending| pending.written_back);
        let data = match (self.lines.find(line), pending) {
            (Some(slot), _) => *self.lines.data(slot),
            (None, Some(pending)) if written_back != 0 => pending.data,
            (None, _) => LineData::default(),
        };
        LineView {
            state: self.state(line) as u8,
            readable: ByteMask::of_words(words.valid | words.owned | ahead),
            dirty: ByteMask::of_words(words.owned | written_back),
            data,
            sharers: Sharers::NONE,
        }
    }

    fn evictable(&self, line: LineAddr, _: Time) -> bool {
        self.lines.find(line).is_some_and(|slot| !self.lines.meta(slot).is_pending)
    }

    fn quiescent(&self) -> bool {
        self.mshrs.is_empty() && self.fences.is_idle()
    }

    fn dirty_lines(&self, visit: &mut dyn FnMut(LineAddr, ByteMask, &LineData<W>)) {
        for (line, words, data) in self.lines.iter().filter(|(_, words, _)| words.owned != 0) {
            visit(line, ByteMask::of_words(words.owned), data);
        }
        for (line, pending) in self.mshrs.iter().filter(|(_, pending)| pending.written_back != 0) {
            visit(line, ByteMask::of_words(pending.written_back), &pending.data);
        }
    }
}
