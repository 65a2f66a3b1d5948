//! A write-back, write-allocate shared bank that keeps nobody waiting for other caches (TC paper, section 3.1).
//!
//! It serves the non-coherent protocols, and the idealised one, whose writes make stale private copies vanish in no
//! time. States and events carry the names of the paper's Table 2. I_S is a read miss that merges readers. I_M is a
//! write or atomic miss; further requests for the line wait behind it. Atomics are performed here, in one step.

use crate::address::{AgentId, LineAddr, Role};
use crate::cache::{CacheArray, Room, Slot};
use crate::controller::{
    Classified, Controller, Input, LineView, Outbox, Outcome, StateClass, StateSpec, Time, Unspecified, Vocabulary,
};
use crate::line::{ByteMask, LineData};
use crate::message::{Message, MsgKind, memory};
use crate::mshr::{Mshrs, Register};
use crate::protocols::write_through::{ATOMIC, DATA, GETS, GETX, INV};
use crate::protocols::write_through_bank::{Reader, WriteFault, perform_with, write_back};
use crate::protocols::write_through_l1::{L1Fault, L1Policy, WriteThroughL1};
use crate::registry::BuildConfig;
use crate::save::{self, Restore, Save};
use crate::seed::{LevelSeed, seeded_by_level};
use crate::sharers::Sharers;

/// The fate of private copies when a line is written here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PrivateCopies {
    /// Nothing: they go stale.
    GoStale,
    /// They vanish with the write, at no cost.
    Vanish,
}

/// A mistake to build in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum L2Fault {
    /// Writes are performed but not acknowledged.
    LostAck,
    /// A write is performed wrongly.
    Write(WriteFault),
    /// A write that missed is performed before its line arrives, which overwrites it.
    OverwrittenMiss,
    /// Only the first of the readers that waited for a line is answered.
    LostReader,
    /// There is no transition for a write to a line that a write has missed in.
    MissingTransition,
    /// A dirty line leaves without being written back.
    LostWriteBack,
    /// A reader is not recorded.
    MissingSharer,
    /// Nobody is taken to have a copy of a line that comes back.
    ForgottenSharers,
    /// The first other private copy survives a write.
    SurvivingCopy,
}

/// The choice in which the banks of the protocols that use this one differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct L2Policy {
    /// The effect of a write on private copies.
    pub private_copies: PrivateCopies,
    /// A mistake to build in.
    pub fault: Option<L2Fault>,
}

/// The choices in which protocols of a write-through private cache and this bank differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Policies {
    /// The policy of private caches.
    pub l1: L1Policy,
    /// The policy of banks.
    pub l2: L2Policy,
}

/// A fault of such a protocol.
pub type HomeSeed = LevelSeed<L1Fault, L2Fault>;

/// Builds a controller of such a protocol; `seeds` are its faults in the order that it declares them.
pub fn build_home<const W: usize>(
    role: Role,
    index: u16,
    config: &BuildConfig,
    policies: &Policies,
    seeds: &[HomeSeed],
) -> Option<Box<dyn Controller<W>>> {
    let Policies { mut l1, mut l2 } = *policies;
    (l1.fault, l2.fault) = seeded_by_level(seeds, config);
    match role {
        Role::L1 => Some(Box::new(WriteThroughL1::new(index, config, l1))),
        Role::L2 => Some(Box::new(HomeL2::new(index, config, l2))),
        Role::L3 | Role::Tu | Role::Memory => None,
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Save)]
enum State {
    #[default]
    I,
    V,
    IS,
    IM,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    GetS,
    GetX,
    Atomic,
    Evict,
    MemData,
    /// A message that this bank is never sent; every state has a hole for it.
    Foreign,
}

impl Event {
    fn of(kind: MsgKind) -> Event {
        match kind {
            GETS => Event::GetS,
            GETX => Event::GetX,
            ATOMIC => Event::Atomic,
            memory::MEM_DATA => Event::MemData,
            MsgKind(_) => Event::Foreign,
        }
    }
}

/// The states and events of the bank's transition table.
pub static VOCABULARY: Vocabulary = Vocabulary {
    role: Role::L2,
    device: "",
    states: &[
        StateSpec { name: "I", class: StateClass::Stable, meaning: "not resident" },
        StateSpec { name: "V", class: StateClass::Stable, meaning: "resident" },
        StateSpec { name: "I_S", class: StateClass::TransientCache, meaning: "read miss, waiting for memory" },
        StateSpec {
            name: "I_M",
            class: StateClass::TransientCache,
            meaning: "write or atomic miss, waiting for memory",
        },
    ],
    events: &["GETS", "GETX", "ATOMIC", "Evict", "MemData", "Foreign"],
    expiry: None,
};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Save)]
struct Line {
    state: State,
    dirty: bool,
    /// The private caches whose copies vanish with the next write; unused where copies go stale.
    sharers: Sharers,
}

/// A shared bank that keeps nobody waiting for other caches.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Restore)]
pub struct HomeL2<const W: usize> {
    #[save(built)]
    me: AgentId,
    #[save(built)]
    memory: AgentId,
    #[save(built)]
    config: BuildConfig,
    #[save(built)]
    policy: L2Policy,
    /// Everybody who may have a copy of a line that comes back.
    #[save(built)]
    everybody: Sharers,
    lines: CacheArray<Line, W>,
    /// The write or atomic that an I_M line waits to perform, and the readers of an I_S line.
    mshrs: Mshrs<Option<Message<W>>, Reader>,
}

impl<const W: usize> HomeL2<W> {
    /// An empty bank, the bank number `index` of its machine.
    pub fn new(index: u16, config: &BuildConfig, policy: L2Policy) -> Self {
        HomeL2 {
            me: config.topology.l2(index),
            memory: config.topology.memory(index),
            config: *config,
            policy,
            everybody: Sharers::first(config.topology.l1s),
            lines: CacheArray::new(config.l2.geometry(config.topology.l2s)),
            mshrs: Mshrs::new(config.l2.mshrs),
        }
    }

    #[inline(always)]
    fn state(&self, line: LineAddr) -> (State, Option<Slot>) {
        let slot = self.lines.find_inline(line);
        (slot.map_or(State::I, |slot| self.lines.meta(slot).state), slot)
    }

    fn faulty(&self, fault: L2Fault) -> bool {
        self.policy.fault == Some(fault)
    }

    fn event(input: &Input<'_, W>) -> Option<(LineAddr, Event)> {
        match input {
            Input::Core(_) | Input::EvictEntry(_) | Input::Time(_) => None,
            Input::Message(message) => Some((message.line, Event::of(message.kind))),
            Input::Evict(line) => Some((*line, Event::Evict)),
        }
    }

    /// Takes a message. Read misses and their lines come first, because they are the most frequent ones.
    #[inline]
    fn step_message(&mut self, message: &Message<W>, out: &mut Outbox<W>) -> Result<Outcome, Unspecified> {
        match message.kind {
            GETS => self.read(message, out),
            memory::MEM_DATA => self.arrive(message, out),
            MsgKind(_) => self.step_any(message, out),
        }
    }

    #[inline(never)]
    fn read(&mut self, message: &Message<W>, out: &mut Outbox<W>) -> Result<Outcome, Unspecified> {
        match self.state(message.line) {
            (State::I, _) => Ok(self.miss(message, State::IS, out)),
            (state @ (State::V | State::IS | State::IM), slot) => self.step_in_state(state, slot, message, out),
        }
    }

    /// Takes a line that memory sends. Mostly only readers wait for it.
    #[inline(never)]
    fn arrive(&mut self, message: &Message<W>, out: &mut Outbox<W>) -> Result<Outcome, Unspecified> {
        if let Some((register, slot)) = self.mshrs.find_resident(&self.lines, message.line)
            && self.lines.meta(slot).state == State::IS
        {
            self.fill(register, slot, message, out);
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
        let event = Event::of(message.kind);
        match (event, state, slot) {
            (Event::GetS, State::I, _) => return Ok(self.miss(message, State::IS, out)),
            (Event::GetX | Event::Atomic, State::I, _) => return Ok(self.miss(message, State::IM, out)),
            (Event::GetS, State::V, Some(slot)) => {
                self.lines.touch(slot);
                if !self.faulty(L2Fault::MissingSharer) {
                    self.lines.meta_mut(slot).sharers.insert(message.src);
                }
                out.send(message.reply_line(DATA, self.lines.data(slot)));
            }
            (Event::GetX | Event::Atomic, State::V, Some(slot)) => {
                self.lines.touch(slot);
                self.perform(slot, message, out);
            }
            (Event::GetS, State::IS, _) => self.merge(message),
            (Event::GetX | Event::Atomic, State::IM, _) if self.faulty(L2Fault::MissingTransition) => {
                return Err(unspecified(state, event, message.line));
            }
            (Event::GetX | Event::Atomic, State::IS | State::IM, _) | (Event::GetS, State::IM, _) => {
                return Ok(Outcome::Stall);
            }
            (Event::MemData, State::IS | State::IM, Some(slot)) => {
                if let Some(register) = self.mshrs.find(message.line) {
                    self.fill(register, slot, message, out);
                }
            }
            (Event::MemData, State::I | State::V, _)
            | (Event::Evict | Event::Foreign, _, _)
            | (_, State::V | State::IS | State::IM, None) => return Err(unspecified(state, event, message.line)),
        }
        Ok(Outcome::Done)
    }

    #[inline(always)]
    fn miss(&mut self, message: &Message<W>, next: State, out: &mut Outbox<W>) -> Outcome {
        if self.mshrs.is_full() {
            return Outcome::Stall;
        }
        let slot = match self.lines.room_for(message.line, |line| line.state == State::V) {
            Room::Busy => return Outcome::Stall,
            Room::Occupied(slot) if !out.evicts => return Outcome::Evict(self.lines.line(slot)),
            Room::Occupied(slot) => {
                self.write_back(slot, out);
                slot
            }
            Room::Free(slot) => slot,
        };
        self.lines.replace(slot, message.line, Line { state: next, ..Line::default() });
        if next == State::IS {
            self.mshrs.insert_for(message.line, slot, Reader::of(message), || None);
        } else {
            self.mshrs.insert(message.line, Some(*message));
        }
        out.send(Message::control(memory::FETCH, message.line, self.me, self.memory));
        Outcome::Done
    }

    fn merge(&mut self, message: &Message<W>) {
        if let Some(register) = self.mshrs.find(message.line) {
            self.mshrs.push_target(register, Reader::of(message));
        }
    }

    /// Puts a line into the place that waits for it, and serves whoever waits for the line.
    #[inline(always)]
    fn fill(&mut self, register: Register, slot: Slot, message: &Message<W>, out: &mut Outbox<W>) {
        self.lines.fill(slot, &message.data);
        // Whoever got a copy before the line left this bank may still have it.
        let forgotten = self.faulty(L2Fault::ForgottenSharers);
        let sharers = if forgotten { Sharers::NONE } else { self.everybody };
        let valid = Line { state: State::V, dirty: false, sharers };
        if std::mem::replace(self.lines.meta_mut(slot), valid).state == State::IM {
            self.perform_waiting(register, slot, message, out);
        }
        let (mut is_first, lost) = (true, self.faulty(L2Fault::LostReader));
        self.mshrs.release_serving(register, |reader| {
            if std::mem::take(&mut is_first) || !lost {
                out.send(reader.answer(message));
            }
        });
    }

    /// Performs the write that waited for a line.
    #[inline(never)]
    fn perform_waiting(&mut self, register: Register, slot: Slot, fill: &Message<W>, out: &mut Outbox<W>) {
        if let Some(write) = *self.mshrs.payload(register) {
            self.perform(slot, &write, out);
            if self.faulty(L2Fault::OverwrittenMiss) {
                self.lines.fill(slot, &fill.data);
            }
        }
    }

    /// Writes a resident line and answers.
    #[inline(never)]
    fn perform(&mut self, slot: Slot, message: &Message<W>, out: &mut Outbox<W>) {
        let line = self.lines.meta_mut(slot);
        line.dirty = true;
        let stale = line.sharers.without(message.src);
        line.sharers = line.sharers.only(message.src);
        let fault = if let Some(L2Fault::Write(fault)) = self.policy.fault { Some(fault) } else { None };
        let answer = perform_with(fault, message, self.lines.data_mut(slot));
        if !self.faulty(L2Fault::LostAck) {
            out.send(answer);
        }
        if self.policy.private_copies == PrivateCopies::Vanish {
            let spared = usize::from(self.faulty(L2Fault::SurvivingCopy));
            for agent in stale.iter().skip(spared) {
                out.send(Message::control(INV, message.line, self.me, agent));
            }
        }
    }

    fn evict(&mut self, line: LineAddr, out: &mut Outbox<W>) -> Result<Outcome, Unspecified> {
        match self.state(line) {
            (State::V, Some(slot)) => {
                self.write_back(slot, out);
                self.lines.remove(slot);
                Ok(Outcome::Done)
            }
            (State::IS | State::IM, _) => Ok(Outcome::Stall),
            (state @ (State::I | State::V), _) => Err(unspecified(state, Event::Evict, line)),
        }
    }

    /// Writes a line back that is about to leave, if it is dirty.
    #[inline(always)]
    fn write_back(&self, slot: Slot, out: &mut Outbox<W>) {
        if self.lines.meta(slot).dirty && !self.faulty(L2Fault::LostWriteBack) {
            out.send(write_back(self.lines.line(slot), self.lines.data(slot), self.me, self.memory));
        }
    }

    /// Takes an input that is not frequent.
    #[cold]
    fn step_other(&mut self, input: &Input<'_, W>, out: &mut Outbox<W>) -> Result<Outcome, Unspecified> {
        match input {
            Input::Core(request) => Err(unspecified(self.state(request.line).0, Event::Foreign, request.line)),
            Input::Message(message) => self.step_any(message, out),
            Input::Evict(line) => self.evict(*line, out),
            Input::EvictEntry(_) | Input::Time(_) => Ok(Outcome::Done),
        }
    }
}

fn unspecified(state: State, event: Event, line: LineAddr) -> Unspecified {
    VOCABULARY.unspecified(state as usize, event as usize, line)
}

impl<const W: usize> Controller<W> for HomeL2<W> {
    fn vocabulary(&self) -> &'static Vocabulary {
        &VOCABULARY
    }

    fn classify(&self, input: &Input<'_, W>, _: Time) -> Option<Classified> {
        let (line, event) = Self::event(input)?;
        Some(Classified { line, state: self.state(line).0 as u8, event: event as u8 })
    }

    fn step(&mut self, input: &Input<'_, W>, out: &mut Outbox<W>) -> Result<Outcome, Unspecified> {
        // Almost all inputs are messages.
        if let Input::Message(message) = input {
            return self.step_message(message, out);
        }
        self.step_other(input, out)
    }

    fn view(&self, line: LineAddr, _: Time) -> LineView<W> {
        let (state, slot) = self.state(line);
        let Some(slot) = slot else { return LineView::default() };
        let Line { dirty, sharers, .. } = *self.lines.meta(slot);
        let full = ByteMask::full::<W>();
        LineView {
            state: state as u8,
            readable: if state == State::V { full } else { ByteMask::EMPTY },
            dirty: if dirty { full } else { ByteMask::EMPTY },
            data: *self.lines.data(slot),
            sharers,
        }
    }

    fn evictable(&self, line: LineAddr, _: Time) -> bool {
        self.state(line).0 == State::V
    }

    fn quiescent(&self) -> bool {
        self.mshrs.is_empty()
    }

    fn dirty_lines(&self, visit: &mut dyn FnMut(LineAddr, ByteMask, &LineData<W>)) {
        for (line, _, data) in self.lines.iter().filter(|(_, meta, _)| meta.dirty) {
            visit(line, ByteMask::full::<W>(), data);
        }
    }
}
