//! A write-through, no-write-allocate private cache (TC paper, sections 3.1 and 4.2).
//!
//! States and events carry the names of the paper's Table 2. Reads of one line merge into one request while nothing
//! else is outstanding for that line (I_V). As soon as a write or an atomic is outstanding, every read sends its own
//! request, and its answer is used once and not cached (I_I, V_M). Requests to one bank stay in order, so such a read
//! sees the core's own earlier writes. The L2 answers it only after those writes are performed, so nobody sees a write
//! before everybody does.
//!
//! Behind a translation unit of Spandex the unit stands for the L2. Stores whose order is not weak are marked there:
//! they are exchanges to the unit.

use crate::access::{AtomicOp, CoreOp, CoreRequest, LoadRequest, Txn};
use crate::address::{AgentId, LineAddr, Role, Upstream};
use crate::cache::{CacheArray, Room, Slot};
use crate::controller::{
    Classified, Controller, Input, LineView, Outbox, Outcome, StateClass, StateSpec, Time, Unspecified, Vocabulary,
};
use crate::line::{ByteMask, LineData};
use crate::message::{Message, MsgKind};
use crate::mshr::{Mshrs, Register};
use crate::protocols::write_through::{ACK, ATOMIC, ATOMIC_DATA, DATA, GETS, GETX, INV, INV_ACK, Kinds, RCL, RCL_ACK};
use crate::registry::BuildConfig;
use crate::save::{self, Restore, Save};
use crate::sharers::Sharers;
use crate::write_tracker::{FenceFault, WriteTracker};

/// Whether loads may leave lines behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Allocation {
    /// Never: the cache is switched off, and reads do not merge either.
    Off,
    /// On a load miss.
    OnLoadMiss,
}

/// The effect of a store on a valid copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StoreHit {
    /// The store drops the copy (write-evict).
    Evict,
    /// The store writes the copy at once, before the acknowledgement (GPU-VI's first optimisation).
    Update,
}

/// The effect of a kernel start on valid copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KernelStart {
    /// All copies are dropped: nothing else would make them fresh.
    Flush,
    /// Copies stay: they are coherent.
    Keep,
}

/// The answer of a cache that is told to drop a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Invalidation {
    /// The cache sends an acknowledgement.
    Acknowledged,
    /// The cache sends nothing.
    Silent,
}

/// A mistake to build in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum L1Fault {
    /// A store hit keeps the old copy readable.
    StaleStoreHit,
    /// An atomic keeps the old copy readable.
    StaleAtomic,
    /// A store hit writes the whole copy, not only the bytes concerned.
    WholeCopy,
    /// A store to a line that is being fetched leaves the refill to be cached.
    PendingStore,
    /// An invalidated read miss still caches the refill.
    StaleRefill,
    /// An invalidation is acknowledged and ignored.
    IgnoredInvalidation,
    /// Loads hit lines with pending writes.
    PendingHit,
    /// Only the first of merged loads is answered.
    LostMerge,
    /// Loads are answered with what their place held before the refill.
    OldAnswer,
    /// A request that joins others of its line is not counted.
    UncountedRequest,
    /// A miss register is not freed with the last answer.
    LeakedRegister,
    /// An invalidation that finds no copy is not acknowledged.
    LostInvAck,
    /// An invalidation that finds a read miss is acknowledged twice.
    DoubleInvAck,
    /// There is no transition for an invalidation that finds requests outstanding but no copy.
    MissingTransition,
    /// Fences wait for something else.
    Fence(FenceFault),
}

/// The choices in which the private caches of the write-through protocols differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct L1Policy {
    /// Whether loads may leave lines behind.
    pub allocation: Allocation,
    /// The effect of a store on a valid copy.
    pub store_hit: StoreHit,
    /// The effect of a kernel start on valid copies.
    pub kernel_start: KernelStart,
    /// The answer to invalidations and recalls.
    pub invalidation: Invalidation,
    /// A mistake to build in.
    pub fault: Option<L1Fault>,
}

/// State of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Save)]
enum State {
    #[default]
    I,
    V,
    IV,
    II,
    VM,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    Load,
    Store,
    Atomic,
    Evict,
    Data,
    Ack,
    AtomicData,
    Inv,
    Rcl,
    /// A message that no L1 is ever sent; every state has a hole for it.
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
        StateSpec { name: "I_I", class: StateClass::TransientCache, meaning: "no copy, requests outstanding" },
        StateSpec {
            name: "V_M",
            class: StateClass::TransientCoherent,
            meaning: "copy written ahead of its acknowledgement",
        },
    ],
    events: &["Load", "Store", "Atomic", "Evict", "Data", "Ack", "AtomicData", "Inv", "Rcl", "Foreign"],
    expiry: None,
};

/// A write-through private cache.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Restore)]
pub struct WriteThroughL1<const W: usize> {
    #[save(built)]
    me: AgentId,
    #[save(built)]
    upstream: Upstream,
    #[save(built)]
    config: BuildConfig,
    #[save(built)]
    policy: L1Policy,
    #[save(built)]
    kinds: Kinds,
    /// Lines in V, V_M, and I_V (whose place is reserved).
    lines: CacheArray<State, W>,
    /// Answers outstanding per line, and the merged readers of an I_V line.
    mshrs: Mshrs<u32, Txn>,
    writes: WriteTracker,
}

impl<const W: usize> WriteThroughL1<W> {
    /// An empty cache, the cache number `index` of its machine.
    pub fn new(index: u16, config: &BuildConfig, policy: L1Policy) -> Self {
        let fence_fault = if let Some(L1Fault::Fence(fault)) = policy.fault { Some(fault) } else { None };
        let me = config.topology.l1(index);
        WriteThroughL1 {
            me,
            upstream: Upstream::new(config.topology, me),
            config: *config,
            policy,
            kinds: Kinds::ALONE,
            lines: CacheArray::new(config.l1.geometry(1)),
            mshrs: Mshrs::new(config.l1.mshrs),
            writes: WriteTracker::new(config.waves, fence_fault),
        }
    }

    /// The agent that this cache is, which its messages name as their sender.
    pub fn agent(&self) -> AgentId {
        self.me
    }

    /// The agent that requests for `line` go to: the bank that is its home, or the translation unit before it.
    pub fn upstream(&self, line: LineAddr) -> AgentId {
        self.upstream.of(line)
    }

    /// This cache with messages that lie elsewhere in the protocol's message table.
    pub fn with_kinds(self, kinds: Kinds) -> Self {
        WriteThroughL1 { kinds, ..self }
    }

    #[inline(always)]
    fn state(&self, line: LineAddr) -> (State, Option<Slot>) {
        match self.lines.find_again(line) {
            Some(slot) => (*self.lines.meta(slot), Some(slot)),
            None if self.mshrs.find(line).is_some() => (State::II, None),
            None => (State::I, None),
        }
    }

    fn event(&self, input: &Input<'_, W>) -> Option<(LineAddr, Event)> {
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
            Input::Message(message) => Some((message.line, self.event_of(message.kind))),
            Input::Evict(line) => Some((*line, Event::Evict)),
            Input::EvictEntry(_) | Input::Time(_) => None,
        }
    }

    /// The event that a message is.
    fn event_of(&self, kind: MsgKind) -> Event {
        match self.kinds.known(kind) {
            Some(DATA) => Event::Data,
            Some(ACK) => Event::Ack,
            Some(ATOMIC_DATA) => Event::AtomicData,
            Some(INV) => Event::Inv,
            Some(RCL) => Event::Rcl,
            Some(MsgKind(_)) | None => Event::Foreign,
        }
    }

    fn faulty(&self, fault: L1Fault) -> bool {
        self.policy.fault == Some(fault)
    }

    fn send(&self, kind: MsgKind, request: &CoreRequest<W>, out: &mut Outbox<W>) {
        let mut message = Message::request(self.kinds.named(kind), request, self.me, self.upstream(request.line));
        let is_update = request.op == CoreOp::Store && !request.is_plain_store();
        if is_update && self.config.topology.tu_of(self.me).is_some() {
            message.atomic = Some(AtomicOp::Exchange);
        }
        out.send(message);
    }

    /// Takes an operation of the core. Loads that miss come first, because hits are mostly served elsewhere.
    #[inline(never)]
    fn step_core(&mut self, request: &CoreRequest<W>, out: &mut Outbox<W>) -> Result<Outcome, Unspecified> {
        let (state, slot) = self.state(request.line);
        if request.op == CoreOp::Load && state == State::I && self.policy.allocation == Allocation::OnLoadMiss {
            return Ok(self.allocate(request, out));
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
            CoreOp::Load => self.load(request, state, slot, out),
            CoreOp::Store => self.store(request, state, slot, out),
            CoreOp::Atomic(_) => self.atomic(request, state, slot, out),
            CoreOp::Fence => {
                self.writes.fence(request.wave, request.txn, out);
                Outcome::Done
            }
            CoreOp::KernelBegin => {
                if self.policy.kernel_start == KernelStart::Flush {
                    self.lines.remove_where(|state| *state == State::V);
                }
                out.complete_empty(request.txn);
                Outcome::Done
            }
            CoreOp::KernelEnd => {
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
            (State::VM, Some(slot)) if self.faulty(L1Fault::PendingHit) => {
                out.complete(request.txn, self.lines.data(slot));
                Outcome::Done
            }
            (State::IV, _) => {
                if let Some(register) = self.mshrs.find(request.line) {
                    self.mshrs.push_target(register, request.txn);
                }
                Outcome::Done
            }
            (State::I, _) if self.policy.allocation == Allocation::OnLoadMiss => self.allocate(request, out),
            (State::I | State::V | State::II | State::VM, _) => self.uncached(GETS, request, out),
        }
    }

    /// A read miss that will leave a copy behind.
    #[inline(always)]
    fn allocate(&mut self, request: &CoreRequest<W>, out: &mut Outbox<W>) -> Outcome {
        if self.mshrs.is_full() {
            return Outcome::Stall;
        }
        let slot = match self.lines.room_for(request.line, |state| *state == State::V) {
            Room::Busy => return Outcome::Stall,
            Room::Occupied(slot) if !out.evicts => return Outcome::Evict(self.lines.line(slot)),
            Room::Occupied(slot) | Room::Free(slot) => slot,
        };
        self.lines.replace(slot, request.line, State::IV);
        self.mshrs.insert_for(request.line, slot, request.txn, || 1);
        let (kind, upstream) = (self.kinds.named(GETS), self.upstream(request.line));
        out.send(Message { txn: Txn::Merged, ..Message::control(kind, request.line, self.me, upstream) });
        Outcome::Done
    }

    /// A request whose answer is used once.
    fn uncached(&mut self, kind: MsgKind, request: &CoreRequest<W>, out: &mut Outbox<W>) -> Outcome {
        if let Some(register) = self.mshrs.find(request.line) {
            *self.mshrs.payload_mut(register) += u32::from(!self.faulty(L1Fault::UncountedRequest));
        } else if self.mshrs.is_full() {
            return Outcome::Stall;
        } else {
            self.mshrs.insert(request.line, 1);
        }
        self.send(kind, request, out);
        Outcome::Done
    }

    fn store(&mut self, request: &CoreRequest<W>, state: State, slot: Option<Slot>, out: &mut Outbox<W>) -> Outcome {
        if self.uncached(GETX, request, out) != Outcome::Done {
            return Outcome::Stall;
        }
        self.writes.sent(request.wave);
        match (state, slot) {
            (State::V | State::VM, Some(_)) if self.faulty(L1Fault::StaleStoreHit) => {}
            (State::IV, Some(_)) if self.faulty(L1Fault::PendingStore) => {}
            (State::V | State::VM, Some(slot)) if self.policy.store_hit == StoreHit::Update => {
                let whole = self.faulty(L1Fault::WholeCopy);
                let mask = if whole { ByteMask::full::<W>() } else { request.mask };
                self.lines.data_mut(slot).merge(mask, &request.data);
                *self.lines.meta_mut(slot) = State::VM;
            }
            (State::V | State::VM | State::IV, Some(slot)) => self.lines.remove(slot),
            (State::I | State::II, _) | (State::V | State::VM | State::IV, None) => {}
        }
        Outcome::Done
    }

    fn atomic(&mut self, request: &CoreRequest<W>, state: State, slot: Option<Slot>, out: &mut Outbox<W>) -> Outcome {
        if self.uncached(ATOMIC, request, out) != Outcome::Done {
            return Outcome::Stall;
        }
        self.writes.sent(request.wave);
        match (state, slot) {
            (State::V, Some(_)) if self.faulty(L1Fault::StaleAtomic) => {}
            (State::V | State::VM | State::IV, Some(slot)) => self.lines.remove(slot),
            (State::I | State::II, _) | (State::V | State::VM | State::IV, None) => {}
        }
        Outcome::Done
    }

    /// Takes a message. Lines that loads wait for come first, because they are the most frequent ones.
    #[inline(never)]
    fn step_message(&mut self, message: &Message<W>, out: &mut Outbox<W>) -> Result<Outcome, Unspecified> {
        if message.kind == self.kinds.named(DATA)
            && let Some((register, slot)) = self.mshrs.find_resident(&self.lines, message.line)
            && *self.lines.meta(slot) == State::IV
            && !self.faulty(L1Fault::OldAnswer)
        {
            self.refill(register, slot, message, &message.data, out);
            return Ok(Outcome::Done);
        }
        self.step_any(message, out)
    }

    /// Takes a message of any kind.
    #[inline(never)]
    fn step_any(&mut self, message: &Message<W>, out: &mut Outbox<W>) -> Result<Outcome, Unspecified> {
        let (state, slot) = self.state(message.line);
        self.step_in_state(state, slot, message, out)
    }

    /// Takes a message for a line whose state is known.
    #[inline(never)]
    fn step_in_state(
        &mut self,
        state: State,
        slot: Option<Slot>,
        message: &Message<W>,
        out: &mut Outbox<W>,
    ) -> Result<Outcome, Unspecified> {
        let event = self.event_of(message.kind);
        match (event, state) {
            (Event::Data, State::IV) => {
                if let (Some(register), Some(slot)) = (self.mshrs.find(message.line), slot) {
                    let is_old = self.faulty(L1Fault::OldAnswer);
                    let answer = if is_old { *self.lines.data(slot) } else { message.data };
                    self.refill(register, slot, message, &answer, out);
                }
            }
            (Event::Data, State::II | State::VM) => {
                if message.txn == Txn::Merged {
                    if let Some(register) = self.mshrs.find(message.line) {
                        self.answer_merged(register, &message.data, out);
                    }
                } else {
                    out.complete(message.txn, &message.data);
                }
                self.answered(message.line, slot);
            }
            (Event::Ack, State::II | State::VM) => {
                out.complete_empty(message.txn);
                self.writes.acknowledged(message.wave, out);
                self.answered(message.line, slot);
            }
            (Event::AtomicData, State::II) => {
                out.complete(message.txn, &message.data);
                self.writes.acknowledged(message.wave, out);
                self.answered(message.line, slot);
            }
            (Event::Inv | Event::Rcl, State::II) if self.faulty(L1Fault::MissingTransition) => {
                return Err(unspecified(state, event, message.line));
            }
            (Event::Inv | Event::Rcl, State::I) if self.faulty(L1Fault::LostInvAck) => {}
            (Event::Inv | Event::Rcl, State::I | State::II) => self.acknowledge(event, message, out),
            (Event::Inv | Event::Rcl, State::V | State::VM | State::IV) => {
                let keeps = self.faulty(L1Fault::IgnoredInvalidation)
                    || (state == State::IV && self.faulty(L1Fault::StaleRefill));
                if let (Some(slot), false) = (slot, keeps) {
                    self.lines.remove(slot);
                }
                self.acknowledge(event, message, out);
                if state == State::IV && self.faulty(L1Fault::DoubleInvAck) {
                    self.acknowledge(event, message, out);
                }
            }
            (Event::Data | Event::Ack, State::I | State::V)
            | (Event::Ack, State::IV)
            | (Event::AtomicData, State::I | State::V | State::IV | State::VM)
            | (Event::Load | Event::Store | Event::Atomic | Event::Evict | Event::Foreign, _) => {
                return Err(unspecified(state, event, message.line));
            }
        }
        Ok(Outcome::Done)
    }

    /// Caches a line that has arrived, and answers the loads that wait for it with `answer`.
    #[inline(always)]
    fn refill(
        &mut self,
        register: Register,
        slot: Slot,
        message: &Message<W>,
        answer: &LineData<W>,
        out: &mut Outbox<W>,
    ) {
        self.lines.fill(slot, &message.data);
        *self.lines.meta_mut(slot) = State::V;
        let (mut is_first, lost) = (true, self.faulty(L1Fault::LostMerge));
        self.mshrs.release_serving(register, |txn| {
            if std::mem::take(&mut is_first) || !lost {
                out.complete(txn, answer);
            }
        });
    }

    fn answer_merged(&mut self, register: Register, data: &LineData<W>, out: &mut Outbox<W>) {
        if let Some(txn) = self.mshrs.pop_target(register) {
            out.complete(txn, data);
        }
        while let Some(txn) = self.mshrs.pop_target(register) {
            if !self.faulty(L1Fault::LostMerge) {
                out.complete(txn, data);
            }
        }
    }

    /// One answer fewer is outstanding; with the last, V_M becomes V and I_I becomes I.
    fn answered(&mut self, line: LineAddr, slot: Option<Slot>) {
        let Some(register) = self.mshrs.find(line) else { return };
        let outstanding = self.mshrs.payload_mut(register);
        *outstanding -= 1;
        if *outstanding == 0 {
            if !self.faulty(L1Fault::LeakedRegister) {
                self.mshrs.release(register);
            }
            if let Some(slot) = slot {
                *self.lines.meta_mut(slot) = State::V;
            }
        }
    }

    fn acknowledge(&self, event: Event, message: &Message<W>, out: &mut Outbox<W>) {
        if self.policy.invalidation == Invalidation::Acknowledged {
            let kind = if event == Event::Inv { INV_ACK } else { RCL_ACK };
            out.send(message.reply(self.kinds.named(kind)));
        }
    }

    fn evict(&mut self, line: LineAddr) -> Result<Outcome, Unspecified> {
        match self.state(line) {
            (State::V, Some(slot)) => {
                self.lines.remove(slot);
                Ok(Outcome::Done)
            }
            (State::IV | State::II | State::VM, _) => Ok(Outcome::Stall),
            (state @ (State::I | State::V), _) => Err(unspecified(state, Event::Evict, line)),
        }
    }

    /// Takes an input that is not frequent.
    #[cold]
    fn step_other(&mut self, input: &Input<'_, W>, out: &mut Outbox<W>) -> Result<Outcome, Unspecified> {
        match input {
            Input::Core(request) => self.step_core(request, out),
            Input::Message(message) => self.step_message(message, out),
            Input::Evict(line) => self.evict(*line),
            Input::EvictEntry(_) | Input::Time(_) => Ok(Outcome::Done),
        }
    }
}

fn unspecified(state: State, event: Event, line: LineAddr) -> Unspecified {
    VOCABULARY.unspecified(state as usize, event as usize, line)
}

impl<const W: usize> Controller<W> for WriteThroughL1<W> {
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
        let slot = self.lines.find_first(load.line)?;
        match *self.lines.meta(slot) {
            State::V => self.lines.touch(slot),
            State::VM if self.faulty(L1Fault::PendingHit) => {}
            State::I | State::IV | State::II | State::VM => return None,
        }
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
        self.mshrs.is_empty() && self.writes.is_idle()
    }

    fn dirty_lines(&self, _visit: &mut dyn FnMut(LineAddr, ByteMask, &LineData<W>)) {}
}
