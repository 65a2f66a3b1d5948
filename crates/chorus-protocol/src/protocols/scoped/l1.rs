//! The private cache of the scoped protocols: software-coherent and write-through (HMG paper, section IV-A).
//!
//! Nothing ever invalidates its copies from outside. Operations without scope, or of a work-group's scope, may hit.
//! Wider ones go to the L2. An acquire wider than a work-group drops every copy. A release waits for the L2, which
//! knows what has to be waited for. Stores have no acknowledgements: requests to a bank stay in order, so a release is
//! behind the stores that it releases.
//!
//! Reads of a line merge while nothing else is outstanding for it (I_V). A write to the line, or an acquire, makes the
//! copy that is on its way too old for later reads. That copy answers the reads that wait and is not cached (I_I).
//! Later reads send requests of their own, behind the write.
//!
//! Where the policy lets stores leave their bytes (`parts`), a store to an absent line takes a place for them (P), and
//! a store to a line on its way leaves them in the place that is reserved.
//!
//! [`ScopedL1::step_line`] is the transition table. Fences concern no line (`fences`).

use crate::access::{CoreOp, CoreRequest, LoadRequest, Order, Scope, Txn};
use crate::address::{AgentId, Divisor, LineAddr};
use crate::cache::{CacheArray, Room, Slot};
use crate::controller::{
    Classified, Controller, Depth, Input, LineView, Outbox, Outcome, StepResult, Time, Unspecified, Vocabulary,
};
use crate::line::{ByteMask, LineData};
use crate::message::{Message, MsgKind};
use crate::mshr::{Mshrs, Register};
use crate::protocols::scoped::faults::L1Fault;
use crate::protocols::scoped::fences::Fence;
use crate::protocols::scoped::messages::{ACQ_DONE, ATOM, ATOM_DATA, DATA, DONE, LD, ST};
use crate::protocols::scoped::place::{Place, Waiting};
use crate::protocols::scoped::policy::Cached;
use crate::registry::BuildConfig;
use crate::save::{self, Restore};
use crate::sharers::Sharers;

/// The effect of an acquire wider than a work-group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Acquire {
    /// It drops the private copies. Hardware keeps the rest coherent.
    DropsPrivate,
    /// It drops the private copies and the copies of shared banks that may be stale.
    DropsShared,
    /// It has no effect. Copies are never given up, and operations of any scope may hit.
    Nothing,
}

/// The options in which private caches differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct L1Policy {
    /// The effect of an acquire of a thread.
    pub acquire: Acquire,
    /// The effect of the beginning of a kernel.
    pub kernel_acquire: Acquire,
    /// The memory of which the cache keeps copies.
    pub cached: Cached,
    /// The mistake that is built in, if any.
    pub fault: Option<L1Fault>,
}

/// The state of a line in a private cache, in the order of the rows of [`Place::vocabulary`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    I,
    V(Slot),
    IV(Slot),
    II,
    /// The bytes that were stored here. Only places with parts have it.
    P(Slot),
}

impl State {
    /// The row of [`Place::vocabulary`].
    fn row(self) -> u8 {
        match self {
            State::I => 0,
            State::V(_) => 1,
            State::IV(_) => 2,
            State::II => 3,
            State::P(_) => 4,
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Event<'a, const W: usize> {
    Load(&'a CoreRequest<W>),
    WideLoad(&'a CoreRequest<W>),
    Store(&'a CoreRequest<W>),
    Atomic(&'a CoreRequest<W>),
    Evict,
    /// A line for the loads that were merged.
    Data(&'a Message<W>),
    /// A line for one load, which merged with no other.
    OwnData(&'a Message<W>),
    AtomData(&'a Message<W>),
    /// A message that no L1 is ever sent. Every state has a hole for it.
    Foreign,
}

impl<'a, const W: usize> Event<'a, W> {
    /// The event for which a message stands, if it concerns a line.
    fn of(message: &'a Message<W>) -> Option<Event<'a, W>> {
        match message.kind {
            DATA if message.txn == Txn::Merged => Some(Event::Data(message)),
            DATA => Some(Event::OwnData(message)),
            ATOM_DATA => Some(Event::AtomData(message)),
            DONE | ACQ_DONE => None,
            MsgKind(_) => Some(Event::Foreign),
        }
    }

    /// The column of [`Place::vocabulary`].
    fn column(self) -> u8 {
        match self {
            Event::Load(_) => 0,
            Event::WideLoad(_) => 1,
            Event::Store(_) => 2,
            Event::Atomic(_) => 3,
            Event::Evict => 4,
            Event::Data(_) | Event::OwnData(_) => 5,
            Event::AtomData(_) => 6,
            Event::Foreign => 7,
        }
    }
}

/// A software-coherent private cache.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Restore)]
pub struct ScopedL1<P: Place, const W: usize> {
    #[save(built)]
    pub(super) me: AgentId,
    #[save(built)]
    pub(super) config: BuildConfig,
    #[save(built)]
    pub(super) policy: L1Policy,
    #[save(built)]
    module: u16,
    /// The first bank of the module.
    #[save(built)]
    pub(super) first_bank: AgentId,
    /// The number of banks of the module, and of consecutive lines that one of them serves.
    #[save(built)]
    banks: Divisor,
    #[save(built)]
    interleave: Divisor,
    /// Lines in V, in I_V (whose place is reserved), and in P.
    pub(super) lines: CacheArray<P, W>,
    /// The readers of a line's outstanding miss.
    pub(super) mshrs: Mshrs<P::Waiting, Txn>,
    pub(super) fences: Vec<Fence>,
}

impl<P: Place, const W: usize> ScopedL1<P, W> {
    /// A cache without any line.
    pub fn new(index: u16, config: &BuildConfig, policy: L1Policy) -> Self {
        let topology = config.topology;
        let me = topology.l1(index);
        let module = topology.module_of(me);
        ScopedL1 {
            me,
            config: *config,
            policy,
            module,
            first_bank: topology.l2(module * topology.banks_per_module()),
            banks: Divisor::new(u32::from(topology.banks_per_module())),
            interleave: Divisor::new(topology.interleave),
            lines: CacheArray::new(config.l1.geometry(1)),
            mshrs: Mshrs::new(config.l1.mshrs),
            fences: Vec::new(),
        }
    }

    #[inline(always)]
    fn state(&self, line: LineAddr) -> State {
        match self.lines.find_again(line) {
            Some(slot) => {
                let place = *self.lines.meta(slot);
                if place.is_reserved() {
                    State::IV(slot)
                } else if P::HAS_PARTS && !place.is_whole::<W>() {
                    State::P(slot)
                } else {
                    State::V(slot)
                }
            }
            None if self.mshrs.find(line).is_some() => State::II,
            None => State::I,
        }
    }

    pub(super) fn faulty(&self, fault: L1Fault) -> bool {
        self.policy.fault == Some(fault)
    }

    /// The scope in which an operation of this order and scope must be seen in order.
    fn scope_of(&self, order: Order, scope: Scope) -> Scope {
        match self.policy.acquire {
            Acquire::Nothing => Scope::WorkGroup,
            Acquire::DropsPrivate | Acquire::DropsShared => scope.of_order(order),
        }
    }

    /// Whether a load of this order and scope may not hit here.
    fn is_wide(&self, order: Order, scope: Scope) -> bool {
        self.scope_of(order, scope) > Scope::WorkGroup
    }

    /// The event for which an operation of the core stands, if it concerns a line.
    #[inline(always)]
    fn event<'a>(&self, request: &'a CoreRequest<W>) -> Option<Event<'a, W>> {
        match request.op {
            CoreOp::Load if self.is_wide(request.order, request.scope) => Some(Event::WideLoad(request)),
            CoreOp::Load => Some(Event::Load(request)),
            CoreOp::Store => Some(Event::Store(request)),
            CoreOp::Atomic(_) => Some(Event::Atomic(request)),
            CoreOp::Fence | CoreOp::KernelBegin | CoreOp::KernelEnd => None,
        }
    }

    #[inline]
    fn bank(&self, line: LineAddr) -> AgentId {
        let block = self.interleave.quotient(line.0) + self.config.topology.turn(line);
        AgentId(self.first_bank.0 + self.banks.remainder(block) as u16)
    }

    /// Whether the cache may keep copies of `line` at all.
    pub(super) fn may_keep(&self, line: LineAddr) -> bool {
        let topology = &self.config.topology;
        match self.policy.cached {
            Cached::Everything => true,
            Cached::ThisGpu => topology.gpu_of(topology.home_module(line)) == topology.gpu_of(self.module),
            Cached::ThisModule => topology.home_module(line) == self.module,
        }
    }

    /// The request that carries a core's operation to the L2.
    #[inline(never)]
    pub(super) fn send(&self, kind: MsgKind, request: &CoreRequest<W>, out: &mut Outbox<W>) {
        let to = self.bank(request.line);
        let scope = match request.op {
            // Atomics are atomic for the GPU at least, whoever performs them.
            CoreOp::Atomic(_) => request.scope.of_order(request.order).max(Scope::Gpu),
            CoreOp::Load | CoreOp::Store | CoreOp::Fence | CoreOp::KernelBegin | CoreOp::KernelEnd => {
                self.scope_of(request.order, request.scope)
            }
        };
        out.send(Message { origin: self.me, scope, ..Message::request(kind, request, self.me, to) });
    }

    /// Takes an event of a line: the transition table, row by row.
    #[inline(never)]
    fn step_line(&mut self, line: LineAddr, event: Event<'_, W>, out: &mut Outbox<W>) -> StepResult {
        let state = self.state(line);
        match (state, event) {
            (State::V(slot), Event::Load(load)) => self.hit(slot, load, out),
            (State::I, Event::Load(load)) => return Ok(self.miss(load, out)),
            (State::IV(slot), Event::Load(load)) if P::HAS_PARTS => self.load_on_its_way(slot, load, out),
            (State::IV(_), Event::Load(load)) => self.merge(load),
            (State::P(slot), Event::Load(load)) if self.answers(slot, load) => self.hit(slot, load, out),
            (State::P(slot), Event::Load(load)) => return Ok(self.fetch_rest(slot, load, out)),
            // A copy here may be older than the value that a wide load is about to see.
            (State::V(slot) | State::IV(slot) | State::P(slot), Event::WideLoad(load)) => {
                self.give_up(slot, LD, load, out);
            }
            (State::II, Event::Load(load)) => self.send(LD, load, out),
            (State::I | State::II, Event::WideLoad(load)) => self.send(LD, load, out),

            (State::V(slot), Event::Store(store)) => self.write(slot, store, out),
            (State::IV(slot), Event::Store(store)) if P::HAS_PARTS => {
                return Ok(self.store_on_its_way(slot, store, out));
            }
            (State::IV(slot), Event::Store(store)) => self.close(slot, store, out),
            (State::P(slot), Event::Store(store)) => self.write_more(slot, store, out),
            (State::I, Event::Store(store)) => return Ok(self.store_without_copy(store, out)),
            (State::II, Event::Store(store)) => self.store(store, out),

            (State::V(_) | State::IV(_) | State::P(_), Event::Atomic(atomic)) if self.faulty(L1Fault::StaleAtomic) => {
                self.send(ATOM, atomic, out);
            }
            (State::V(slot) | State::IV(slot) | State::P(slot), Event::Atomic(atomic)) => {
                self.give_up(slot, ATOM, atomic, out);
            }
            (State::I | State::II, Event::Atomic(atomic)) => self.send(ATOM, atomic, out),

            (State::V(slot) | State::P(slot), Event::Evict) => self.lines.remove(slot),

            (State::IV(slot), Event::Data(refill)) => self.fill(slot, refill, out),
            (State::II, Event::Data(refill)) => self.answer_merged(refill, out),
            (
                State::I | State::V(_) | State::IV(_) | State::II | State::P(_),
                Event::OwnData(answer) | Event::AtomData(answer),
            ) if answer.txn != Txn::Merged => out.complete(answer.txn, &answer.data),

            (State::I | State::V(_) | State::P(_), Event::Data(_))
            | (State::I | State::IV(_) | State::II, Event::Evict)
            | (
                State::I | State::V(_) | State::IV(_) | State::II | State::P(_),
                Event::OwnData(_) | Event::AtomData(_) | Event::Foreign,
            ) => return Err(unspecified::<P, W>(state, event, line)),
        }
        Ok(Outcome::Done)
    }

    /// Answers a load with the copy in `slot`.
    #[inline]
    pub(super) fn hit(&mut self, slot: Slot, load: &CoreRequest<W>, out: &mut Outbox<W>) {
        self.lines.touch(slot);
        out.complete(load.txn, self.lines.data(slot));
    }

    /// Lets a load wait for the line that is on its way.
    pub(super) fn merge(&mut self, load: &CoreRequest<W>) {
        if let Some(register) = self.mshrs.find(load.line) {
            self.mshrs.push_target(register, load.txn);
            self.mshrs.payload_mut(register).add(load.wave);
        }
    }

    /// Starts a read miss. It leaves a copy behind if the cache may keep the line.
    #[inline(always)]
    fn miss(&mut self, load: &CoreRequest<W>, out: &mut Outbox<W>) -> Outcome {
        if !self.may_keep(load.line) {
            self.send(LD, load, out);
            return Outcome::Done;
        }
        if self.mshrs.is_full() {
            return Outcome::Stall;
        }
        let slot = match self.lines.room_for(load.line, |place| !place.is_reserved()) {
            Room::Busy => return Outcome::Stall,
            Room::Occupied(slot) if !out.evicts => return Outcome::Evict(self.lines.line(slot)),
            Room::Occupied(slot) | Room::Free(slot) => slot,
        };
        self.fetch(slot, load, out);
        Outcome::Done
    }

    /// Reserves a place for a line, and requests it.
    #[inline(always)]
    pub(super) fn fetch(&mut self, slot: Slot, load: &CoreRequest<W>, out: &mut Outbox<W>) {
        self.lines.replace(slot, load.line, P::RESERVED);
        let waiting = || {
            let mut waiting = P::Waiting::default();
            waiting.add(load.wave);
            waiting
        };
        self.mshrs.insert_for(load.line, slot, load.txn, waiting);
        let message = Message::control(LD, load.line, self.me, self.bank(load.line));
        out.send(Message { txn: Txn::Merged, origin: self.me, ..message });
    }

    /// Drops what is in a place, and sends the operation to the L2.
    fn give_up(&mut self, slot: Slot, kind: MsgKind, request: &CoreRequest<W>, out: &mut Outbox<W>) {
        self.lines.remove(slot);
        self.send(kind, request, out);
    }

    /// Writes to a copy and to the L2.
    pub(super) fn write(&mut self, slot: Slot, store: &CoreRequest<W>, out: &mut Outbox<W>) {
        if !self.faulty(L1Fault::StaleStoreHit) {
            let mask = if self.faulty(L1Fault::WholeCopy) { ByteMask::full::<W>() } else { store.mask };
            self.lines.data_mut(slot).merge(mask, &store.data);
        }
        self.store(store, out);
    }

    /// Writes to the L2. The copy that is on its way is too old to be kept.
    pub(super) fn close(&mut self, slot: Slot, store: &CoreRequest<W>, out: &mut Outbox<W>) {
        if !self.faulty(L1Fault::PendingStore) {
            self.lines.remove(slot);
        }
        self.store(store, out);
    }

    /// Writes to the L2. The core does not wait for it.
    pub(super) fn store(&self, store: &CoreRequest<W>, out: &mut Outbox<W>) {
        self.send(ST, store, out);
        out.complete_empty(store.txn);
    }

    /// Keeps the line that has arrived, and answers the loads that wait for it.
    fn fill(&mut self, slot: Slot, refill: &Message<W>, out: &mut Outbox<W>) {
        if let Some(register) = self.mshrs.find(refill.line) {
            self.install(register, slot, refill, out);
        }
    }

    /// Keeps the line that the loads of a register wait for, and answers them.
    #[inline(always)]
    fn install(&mut self, register: Register, slot: Slot, refill: &Message<W>, out: &mut Outbox<W>) {
        let mut data = &refill.data;
        let merged;
        if P::HAS_PARTS {
            merged = self.with_stored(slot, data);
            data = &merged;
        }
        self.lines.fill(slot, data);
        *self.lines.meta_mut(slot) = P::whole::<W>();
        self.answer_waiting(register, data, out);
    }

    /// Answers the loads that wait for a line, which has arrived.
    fn answer_merged(&mut self, refill: &Message<W>, out: &mut Outbox<W>) {
        if let Some(register) = self.mshrs.find(refill.line) {
            self.answer_waiting(register, &refill.data, out);
        }
    }

    #[inline(always)]
    fn answer_waiting(&mut self, register: Register, data: &LineData<W>, out: &mut Outbox<W>) {
        let (mut is_first, lost) = (true, self.faulty(L1Fault::LostMerge));
        self.mshrs.release_serving(register, |txn| {
            if std::mem::take(&mut is_first) || !lost {
                out.complete(txn, data);
            }
        });
    }

    /// Takes an operation of the core.
    #[inline(never)]
    fn step_core(&mut self, request: &CoreRequest<W>, out: &mut Outbox<W>) -> StepResult {
        match self.event(request) {
            Some(Event::WideLoad(load)) if self.faulty(L1Fault::WideHit) => {
                self.step_line(load.line, Event::Load(load), out)
            }
            Some(event) => self.step_line(request.line, event, out),
            None => {
                self.fence(request, out);
                Ok(Outcome::Done)
            }
        }
    }

    /// Takes a message. Lines that merged loads wait for come first, because they are the most frequent ones, and their
    /// register knows the place that is reserved for them.
    #[inline(never)]
    fn step_message(&mut self, message: &Message<W>, out: &mut Outbox<W>) -> StepResult {
        if message.kind == DATA
            && message.txn == Txn::Merged
            && let Some((register, slot)) = self.mshrs.find_resident(&self.lines, message.line)
            && self.lines.meta(slot).is_reserved()
        {
            self.install(register, slot, message, out);
            return Ok(Outcome::Done);
        }
        match Event::of(message) {
            Some(event) => self.step_line(message.line, event, out),
            None => {
                self.bank_answered(message.txn, out);
                Ok(Outcome::Done)
            }
        }
    }

    /// Takes an input that is not frequent.
    #[cold]
    fn step_other(&mut self, input: &Input<'_, W>, out: &mut Outbox<W>) -> StepResult {
        match input {
            Input::Core(request) => self.step_core(request, out),
            Input::Message(message) => self.step_message(message, out),
            Input::Evict(line) => self.step_line(*line, Event::Evict, out),
            Input::EvictEntry(_) | Input::Time(_) => Ok(Outcome::Done),
        }
    }
}

fn unspecified<P: Place, const W: usize>(state: State, event: Event<'_, W>, line: LineAddr) -> Unspecified {
    P::vocabulary().unspecified(usize::from(state.row()), usize::from(event.column()), line)
}

impl<P: Place, const W: usize> Controller<W> for ScopedL1<P, W> {
    fn vocabulary(&self) -> &'static Vocabulary {
        P::vocabulary()
    }

    fn classify(&self, input: &Input<'_, W>, _: Time) -> Option<Classified> {
        let (line, event) = match input {
            Input::Core(request) => (request.line, self.event(request)?),
            Input::Message(message) => (message.line, Event::of(message)?),
            Input::Evict(line) => (*line, Event::Evict),
            Input::EvictEntry(_) | Input::Time(_) => return None,
        };
        Some(Classified { line, state: self.state(line).row(), event: event.column() })
    }

    fn step(&mut self, input: &Input<'_, W>, out: &mut Outbox<W>) -> StepResult {
        // Almost all inputs are messages and loads.
        if let Input::Message(message) = input {
            return self.step_message(message, out);
        }
        if let Input::Core(request) = input {
            return self.step_core(request, out);
        }
        self.step_other(input, out)
    }

    fn load_hit(&mut self, load: &LoadRequest, _: Time) -> Option<&LineData<W>> {
        if self.is_wide(load.order, load.scope) && !self.faulty(L1Fault::WideHit) {
            return None;
        }
        let slot = self.lines.find_first(load.line).filter(|&slot| self.lines.meta(slot).answers(load.mask))?;
        self.lines.touch(slot);
        Some(self.lines.data(slot))
    }

    fn read_ahead(&self, line: LineAddr, depth: Depth) {
        self.lines.read_ahead(line, depth);
        self.mshrs.read_ahead(&self.lines, line, depth);
    }

    fn waiting(&self, line: LineAddr) -> Option<Txn> {
        self.mshrs.find(line).and_then(|register| self.mshrs.first_target(register)).copied()
    }

    fn view(&self, line: LineAddr, _: Time) -> LineView<W> {
        let state = self.state(line);
        let (readable, data) = match state {
            State::V(slot) | State::IV(slot) | State::P(slot) => {
                (self.lines.meta(slot).bytes::<W>(), *self.lines.data(slot))
            }
            State::I | State::II => (ByteMask::EMPTY, LineData::default()),
        };
        LineView { state: state.row(), readable, dirty: ByteMask::EMPTY, data, sharers: Sharers::NONE }
    }

    fn evictable(&self, line: LineAddr, _: Time) -> bool {
        matches!(self.state(line), State::V(_) | State::P(_))
    }

    fn quiescent(&self) -> bool {
        self.mshrs.is_empty() && self.fences.is_empty()
    }

    fn dirty_lines(&self, _: &mut dyn FnMut(LineAddr, ByteMask, &LineData<W>)) {}
}
