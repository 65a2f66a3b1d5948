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

use crate::access::{CoreOp, CoreRequest, LoadRequest, Order, Scope, Txn};
use crate::address::{AgentId, Divisor, LineAddr, Role};
use crate::cache::{CacheArray, Room, Slot};
use crate::controller::{
    Classified, Controller, Input, LineView, Outbox, Outcome, StateClass, StateSpec, Time, Unspecified, Vocabulary,
};
use crate::line::{ByteMask, LineData};
use crate::message::{Message, MsgKind};
use crate::mshr::{Mshrs, Register};
use crate::protocols::scoped::messages::{ACQ, ACQ_DONE, ATOM, ATOM_DATA, DATA, DONE, LD, REL, REL_END, ST};
use crate::protocols::scoped::policy::Cached;
use crate::registry::BuildConfig;
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

/// A mistake that can be built into a private cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum L1Fault {
    /// An acquire keeps the copies.
    KeptCopies,
    /// A refill that is on its way when an acquire comes is cached.
    KeptMisses,
    /// Loads of wide scope hit.
    WideHit,
    /// A store leaves the old copy readable.
    StaleStoreHit,
    /// A refill that is on its way when a store passes is cached.
    PendingStore,
    /// An atomic leaves the old copy readable.
    StaleAtomic,
    /// A release does not wait for anything.
    NoRelease,
    /// An acquire that is also a release drops the copies first and waits afterwards.
    EarlyAcquire,
    /// Only the first of merged loads is answered.
    LostMerge,
    /// A store hit writes the whole copy, not only the bytes concerned.
    WholeCopy,
    /// The end of a kernel releases nothing.
    NoKernelEnd,
}

/// The state of a line in a private cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum State {
    #[default]
    I,
    V,
    IV,
    II,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    Load,
    WideLoad,
    Store,
    Atomic,
    Evict,
    Data,
    AtomData,
    /// A message that no L1 is ever sent. Every state has a hole for it.
    Foreign,
}

/// The states and events of the cache's transition table.
pub static VOCABULARY: Vocabulary = Vocabulary {
    role: Role::L1,
    device: "",
    states: &[
        StateSpec { name: "I", class: StateClass::Stable, meaning: "no copy" },
        StateSpec { name: "V", class: StateClass::Stable, meaning: "valid copy" },
        StateSpec { name: "I_V", class: StateClass::TransientCache, meaning: "read miss outstanding" },
        StateSpec { name: "I_I", class: StateClass::TransientCache, meaning: "no copy, what is on its way is too old" },
    ],
    events: &["Load", "WideLoad", "Store", "Atomic", "Evict", "Data", "AtomData", "Foreign"],
    expiry: None,
};

/// A fence, or a kernel's start or end, that waits for the L2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Fence {
    txn: Txn,
    scope: Scope,
    stage: Stage,
    /// The number of banks that have not answered yet.
    banks: u16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Stage {
    /// The fence is released when all banks have answered. If `acquires` is set, it acquires then.
    Release { acquires: bool },
    /// The fence is passed when all banks have answered that the shared copies are dropped.
    Acquire,
}

/// A software-coherent private cache.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ScopedL1<const W: usize> {
    me: AgentId,
    config: BuildConfig,
    policy: L1Policy,
    module: u16,
    /// The first bank of the module.
    first_bank: AgentId,
    /// The number of banks of the module, and of consecutive lines that one of them serves.
    banks: Divisor,
    interleave: Divisor,
    /// Lines in V, and in I_V (whose place is reserved).
    lines: CacheArray<State, W>,
    /// The readers of a line's outstanding miss.
    mshrs: Mshrs<(), Txn>,
    fences: Vec<Fence>,
}

impl<const W: usize> ScopedL1<W> {
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
    fn state(&self, line: LineAddr) -> (State, Option<Slot>) {
        match self.lines.find_again(line) {
            Some(slot) => (*self.lines.meta(slot), Some(slot)),
            None if self.mshrs.find(line).is_some() => (State::II, None),
            None => (State::I, None),
        }
    }

    fn faulty(&self, fault: L1Fault) -> bool {
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

    fn event(&self, input: &Input<'_, W>) -> Option<(LineAddr, Event)> {
        match input {
            Input::Core(request) => {
                let event = match request.op {
                    CoreOp::Load if self.is_wide(request.order, request.scope) => Event::WideLoad,
                    CoreOp::Load => Event::Load,
                    CoreOp::Store => Event::Store,
                    CoreOp::Atomic(_) => Event::Atomic,
                    CoreOp::Fence | CoreOp::KernelBegin | CoreOp::KernelEnd => return None,
                };
                Some((request.line, event))
            }
            Input::Message(message) if message.kind == DONE || message.kind == ACQ_DONE => None,
            Input::Message(message) => Some((message.line, Event::of(message.kind))),
            Input::Evict(line) => Some((*line, Event::Evict)),
            Input::EvictEntry(_) | Input::Time(_) => None,
        }
    }

    #[inline]
    fn bank(&self, line: LineAddr) -> AgentId {
        AgentId(self.first_bank.0 + self.banks.remainder(self.interleave.quotient(line.0)) as u16)
    }

    /// Whether the cache may keep copies of `line` at all.
    fn may_keep(&self, line: LineAddr) -> bool {
        let topology = &self.config.topology;
        match self.policy.cached {
            Cached::Everything => true,
            Cached::ThisGpu => topology.gpu_of(topology.home_module(line)) == topology.gpu_of(self.module),
            Cached::ThisModule => topology.home_module(line) == self.module,
        }
    }

    /// The request that carries a core's operation to the L2.
    #[inline(never)]
    fn send(&self, kind: MsgKind, request: &CoreRequest<W>, out: &mut Outbox<W>) {
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

    /// Takes an operation of the core. Loads come first, because they are the most frequent ones.
    #[inline(never)]
    fn step_core(&mut self, request: &CoreRequest<W>, out: &mut Outbox<W>) -> Result<Outcome, Unspecified> {
        let (state, slot) = self.state(request.line);
        if request.op == CoreOp::Load {
            return Ok(self.load(request, state, slot, out));
        }
        Ok(self.step_core_in_state(state, slot, request, out))
    }

    /// Takes an operation on a line whose state is known.
    #[inline(never)]
    fn step_core_in_state(
        &mut self,
        state: State,
        slot: Option<Slot>,
        request: &CoreRequest<W>,
        out: &mut Outbox<W>,
    ) -> Outcome {
        match request.op {
            CoreOp::Load => return self.load(request, state, slot, out),
            CoreOp::Store => self.store(request, state, slot, out),
            CoreOp::Atomic(_) => {
                if let Some(slot) = slot.filter(|_| !self.faulty(L1Fault::StaleAtomic)) {
                    self.lines.remove(slot);
                }
                self.send(ATOM, request, out);
            }
            CoreOp::Fence | CoreOp::KernelBegin | CoreOp::KernelEnd => self.fence(request, out),
        }
        Outcome::Done
    }

    #[inline(never)]
    fn load(&mut self, request: &CoreRequest<W>, state: State, slot: Option<Slot>, out: &mut Outbox<W>) -> Outcome {
        if self.is_wide(request.order, request.scope) && !self.faulty(L1Fault::WideHit) {
            // The copy here may be older than the value that the load is about to see.
            if let Some(slot) = slot {
                self.lines.remove(slot);
            }
            self.send(LD, request, out);
            return Outcome::Done;
        }
        match (state, slot) {
            (State::V, Some(slot)) => {
                self.lines.touch(slot);
                out.complete(request.txn, self.lines.data(slot));
                Outcome::Done
            }
            (State::IV, _) => {
                if let Some(register) = self.mshrs.find(request.line) {
                    self.mshrs.push_target(register, request.txn);
                }
                Outcome::Done
            }
            (State::I, _) if self.may_keep(request.line) => self.miss(request, out),
            (State::I | State::V | State::II, _) => {
                self.send(LD, request, out);
                Outcome::Done
            }
        }
    }

    /// Starts a read miss that will leave a copy behind.
    #[inline(always)]
    fn miss(&mut self, request: &CoreRequest<W>, out: &mut Outbox<W>) -> Outcome {
        if self.mshrs.is_full() {
            return Outcome::Stall;
        }
        let slot = match self.lines.room_for(request.line, |state| *state == State::V) {
            Room::Busy => return Outcome::Stall,
            Room::Occupied(slot) if !out.evicts => return Outcome::Evict(self.lines.line(slot)),
            Room::Occupied(slot) | Room::Free(slot) => slot,
        };
        self.lines.replace(slot, request.line, State::IV);
        self.mshrs.insert_for(request.line, slot, request.txn, || ());
        let message = Message::control(LD, request.line, self.me, self.bank(request.line));
        out.send(Message { txn: Txn::Merged, origin: self.me, ..message });
        Outcome::Done
    }

    #[inline(never)]
    fn store(&mut self, request: &CoreRequest<W>, state: State, slot: Option<Slot>, out: &mut Outbox<W>) {
        match (state, slot) {
            (State::V, Some(_)) if self.faulty(L1Fault::StaleStoreHit) => {}
            (State::IV, Some(_)) if self.faulty(L1Fault::PendingStore) => {}
            (State::V, Some(slot)) => {
                let mask = if self.faulty(L1Fault::WholeCopy) { ByteMask::full::<W>() } else { request.mask };
                self.lines.data_mut(slot).merge(mask, &request.data);
            }
            (State::IV, Some(slot)) => self.lines.remove(slot),
            (State::I | State::II, _) | (State::V | State::IV, None) => {}
        }
        self.send(ST, request, out);
        out.complete_empty(request.txn);
    }

    /// Starts a fence, or a kernel's start or end. It releases first and acquires afterwards.
    #[inline(never)]
    fn fence(&mut self, request: &CoreRequest<W>, out: &mut Outbox<W>) {
        let CoreRequest { order, scope, txn, .. } = *request;
        let acquires = matches!(order, Order::Acquire | Order::AcqRel);
        let releases = matches!(order, Order::Release | Order::AcqRel);
        let kernel_end = request.op == CoreOp::KernelEnd && self.faulty(L1Fault::NoKernelEnd);
        if scope == Scope::WorkGroup {
            out.complete_empty(txn);
        } else if releases && !self.faulty(L1Fault::NoRelease) && !kernel_end {
            if acquires && self.faulty(L1Fault::EarlyAcquire) {
                self.drop_copies();
            }
            let kind = if request.op == CoreOp::KernelEnd { REL_END } else { REL };
            self.ask_banks(kind, txn, scope, Stage::Release { acquires }, out);
        } else {
            let begins = request.op == CoreOp::KernelBegin;
            let acquire = if begins { self.policy.kernel_acquire } else { self.policy.acquire };
            self.acquired(acquire, acquires, txn, scope, out);
        }
    }

    /// Continues a fence whose releases are done.
    fn acquired(&mut self, acquire: Acquire, acquires: bool, txn: Txn, scope: Scope, out: &mut Outbox<W>) {
        match acquire {
            Acquire::DropsShared if acquires => self.ask_banks(ACQ, txn, scope, Stage::Acquire, out),
            Acquire::DropsPrivate | Acquire::DropsShared | Acquire::Nothing => {
                if acquires {
                    self.drop_copies();
                }
                out.complete_empty(txn);
            }
        }
    }

    /// Sends a request to every bank of the module, behind everything that was sent before.
    fn ask_banks(&mut self, kind: MsgKind, txn: Txn, scope: Scope, stage: Stage, out: &mut Outbox<W>) {
        let banks = self.config.topology.banks_per_module();
        for bank in 0..banks {
            let to = AgentId(self.first_bank.0 + bank);
            let message = Message::control(kind, LineAddr(0), self.me, to);
            out.send(Message { txn, scope, origin: self.me, ..message });
        }
        self.fences.push(Fence { txn, scope, stage, banks });
    }

    /// Drops every copy. Copies that are on their way will not be kept.
    fn drop_copies(&mut self) {
        if self.policy.acquire == Acquire::Nothing || self.faulty(L1Fault::KeptCopies) {
            return;
        }
        let kept_misses = self.faulty(L1Fault::KeptMisses) || self.faulty(L1Fault::EarlyAcquire);
        self.lines.remove_where(|state| *state == State::V || !kept_misses);
    }

    #[inline(never)]
    fn bank_answered(&mut self, txn: Txn, out: &mut Outbox<W>) {
        let Some(index) = self.fences.iter().position(|fence| fence.txn == txn) else { return };
        let fence = &mut self.fences[index];
        fence.banks -= 1;
        if fence.banks > 0 {
            return;
        }
        let Fence { scope, stage, .. } = self.fences.remove(index);
        match stage {
            Stage::Release { acquires } => {
                let acquires = acquires && !self.faulty(L1Fault::EarlyAcquire);
                self.acquired(self.policy.acquire, acquires, txn, scope, out);
            }
            Stage::Acquire => {
                self.drop_copies();
                out.complete_empty(txn);
            }
        }
    }

    /// Takes a message. Lines that loads wait for come first, because they are the most frequent ones.
    #[inline(never)]
    fn step_message(&mut self, message: &Message<W>, out: &mut Outbox<W>) -> Result<Outcome, Unspecified> {
        if message.kind == DATA
            && message.txn == Txn::Merged
            && let Some((register, slot)) = self.mshrs.find_resident(&self.lines, message.line)
            && *self.lines.meta(slot) == State::IV
        {
            self.lines.fill(slot, &message.data);
            *self.lines.meta_mut(slot) = State::V;
            self.answer_merged(register, &message.data, out);
            return Ok(Outcome::Done);
        }
        self.step_any(message, out)
    }

    /// Takes a message of any kind.
    #[inline(never)]
    fn step_any(&mut self, message: &Message<W>, out: &mut Outbox<W>) -> Result<Outcome, Unspecified> {
        if message.kind == DONE || message.kind == ACQ_DONE {
            self.bank_answered(message.txn, out);
            return Ok(Outcome::Done);
        }
        let (state, slot) = self.state(message.line);
        let event = Event::of(message.kind);
        match (event, state) {
            (Event::Data, State::IV | State::II) if message.txn == Txn::Merged => {
                if let Some(slot) = slot {
                    self.lines.fill(slot, &message.data);
                    *self.lines.meta_mut(slot) = State::V;
                }
                if let Some(register) = self.mshrs.find(message.line) {
                    self.answer_merged(register, &message.data, out);
                }
            }
            (Event::Data | Event::AtomData, State::I | State::V | State::IV | State::II)
                if message.txn != Txn::Merged =>
            {
                out.complete(message.txn, &message.data);
            }
            (
                Event::Load
                | Event::WideLoad
                | Event::Store
                | Event::Atomic
                | Event::Evict
                | Event::Data
                | Event::AtomData
                | Event::Foreign,
                State::I | State::V | State::IV | State::II,
            ) => return Err(unspecified(state, event, message.line)),
        }
        Ok(Outcome::Done)
    }

    /// Answers the loads that wait for a line, which has arrived.
    #[inline(always)]
    fn answer_merged(&mut self, register: Register, data: &LineData<W>, out: &mut Outbox<W>) {
        let (mut is_first, lost) = (true, self.faulty(L1Fault::LostMerge));
        self.mshrs.release_serving(register, |txn| {
            if std::mem::take(&mut is_first) || !lost {
                out.complete(txn, data);
            }
        });
    }

    /// Takes an input that is not frequent.
    #[cold]
    fn step_other(&mut self, input: &Input<'_, W>, out: &mut Outbox<W>) -> Result<Outcome, Unspecified> {
        match input {
            Input::Core(request) => self.step_core(request, out),
            Input::Message(message) => self.step_message(message, out),
            Input::Evict(line) => match self.state(*line) {
                (State::V, Some(slot)) => {
                    self.lines.remove(slot);
                    Ok(Outcome::Done)
                }
                (state @ (State::I | State::V | State::IV | State::II), _) => {
                    Err(unspecified(state, Event::Evict, *line))
                }
            },
            Input::EvictEntry(_) | Input::Time(_) => Ok(Outcome::Done),
        }
    }
}

impl Event {
    fn of(kind: MsgKind) -> Event {
        match kind {
            DATA => Event::Data,
            ATOM_DATA => Event::AtomData,
            MsgKind(_) => Event::Foreign,
        }
    }
}

fn unspecified(state: State, event: Event, line: LineAddr) -> Unspecified {
    VOCABULARY.unspecified(state as usize, event as usize, line)
}

impl<const W: usize> Controller<W> for ScopedL1<W> {
    fn vocabulary(&self) -> &'static Vocabulary {
        &VOCABULARY
    }

    fn classify(&self, input: &Input<'_, W>, _: Time) -> Option<Classified> {
        let (line, event) = self.event(input)?;
        Some(Classified { line, state: self.state(line).0 as u8, event: event as u8 })
    }

    fn step(&mut self, input: &Input<'_, W>, out: &mut Outbox<W>) -> Result<Outcome, Unspecified> {
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
        let slot = self.lines.find_first(load.line).filter(|&slot| *self.lines.meta(slot) == State::V)?;
        self.lines.touch(slot);
        Some(self.lines.data(slot))
    }

    fn view(&self, line: LineAddr, _: Time) -> LineView<W> {
        let (state, slot) = self.state(line);
        let readable = if state == State::V { ByteMask::full::<W>() } else { ByteMask::EMPTY };
        let data = slot.map_or(LineData::default(), |slot| *self.lines.data(slot));
        LineView { state: state as u8, readable, dirty: ByteMask::EMPTY, data, sharers: Sharers::NONE }
    }

    fn evictable(&self, line: LineAddr, _: Time) -> bool {
        self.state(line).0 == State::V
    }

    fn quiescent(&self) -> bool {
        self.mshrs.is_empty() && self.fences.is_empty()
    }

    fn dirty_lines(&self, _: &mut dyn FnMut(LineAddr, ByteMask, &LineData<W>)) {}
}
