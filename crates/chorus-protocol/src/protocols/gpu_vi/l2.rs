//! The shared bank of GPU-VI: inclusive, with the sharers of each line in its tags.

use crate::address::{AgentId, LineAddr, Role};
use crate::cache::{CacheArray, Room, Slot};
use crate::controller::{
    Classified, Controller, Input, LineView, Outbox, Outcome, StateClass, StateSpec, Time, Unspecified, Vocabulary,
};
use crate::line::{ByteMask, LineData};
use crate::message::{Message, MsgKind, memory};
use crate::mshr::{Mshrs, Register};
use crate::protocols::vi_protocols::send_to_all;
use crate::protocols::write_through::{ATOMIC, DATA, GETS, GETX, INV, INV_ACK, RCL, RCL_ACK};
use crate::protocols::write_through_bank::{Reader, WriteFault, perform_with, write_back};
use crate::registry::BuildConfig;
use crate::save::{self, Restore, Save};
use crate::sharers::Sharers;

/// A mistake to build in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum L2Fault {
    /// A write neither invalidates nor awaits the last sharer.
    LostInvalidation,
    /// A write is performed and acknowledged before its invalidations are.
    EarlyAck,
    /// A second reader is not recorded.
    MissingSharer,
    /// A write is performed wrongly.
    Write(WriteFault),
    /// A write that missed is performed before its line arrives, which overwrites it.
    OverwrittenMiss,
    /// A reader is served while a write waits for acknowledgements.
    ReadInTransit,
    /// A writer that keeps its copy is not recorded.
    ForgottenWriter,
    /// A write awaits its own writer's acknowledgement too.
    Miscount,
    /// A shared line leaves without a recall.
    SkippedRecall,
    /// A recall ends with its first acknowledgement.
    HastyRecall,
    /// A dirty line leaves without being written back.
    LostWriteBack,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Save)]
enum State {
    #[default]
    I,
    V,
    S,
    IS,
    IM,
    SM,
    SA,
    SI,
}

impl State {
    fn stable(self) -> bool {
        match self {
            State::V | State::S => true,
            State::I | State::IS | State::IM | State::SM | State::SA | State::SI => false,
        }
    }

    fn has_data(self) -> bool {
        match self {
            State::V | State::S | State::SM | State::SA | State::SI => true,
            State::I | State::IS | State::IM => false,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    GetS,
    GetX,
    Atomic,
    InvAck,
    RclAck,
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
            INV_ACK => Event::InvAck,
            RCL_ACK => Event::RclAck,
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
        StateSpec { name: "V", class: StateClass::Stable, meaning: "resident, no private copies" },
        StateSpec { name: "S", class: StateClass::Stable, meaning: "resident, private copies recorded" },
        StateSpec { name: "I_S", class: StateClass::TransientCache, meaning: "read miss, waiting for memory" },
        StateSpec {
            name: "I_M",
            class: StateClass::TransientCache,
            meaning: "write or atomic miss, waiting for memory",
        },
        StateSpec { name: "S_M", class: StateClass::TransientCoherent, meaning: "write waiting for acknowledgements" },
        StateSpec { name: "S_A", class: StateClass::TransientCoherent, meaning: "atomic waiting for acknowledgements" },
        StateSpec { name: "S_I", class: StateClass::TransientCoherent, meaning: "recall waiting for acknowledgements" },
    ],
    events: &["GETS", "GETX", "ATOMIC", "InvAck", "RclAck", "Evict", "MemData", "Foreign"],
    expiry: None,
};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Save)]
struct Line {
    state: State,
    dirty: bool,
    sharers: Sharers,
}

impl Line {
    /// Records that a private cache has a copy.
    #[inline]
    fn share(&mut self, reader: AgentId, fault: Option<L2Fault>) {
        if self.state == State::S && fault == Some(L2Fault::MissingSharer) {
            return;
        }
        self.sharers.insert(reader);
        self.state = State::S;
    }
}

/// The event that a line in a transient state waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Save)]
enum Waiting<const W: usize> {
    /// I_S: memory, for the merged readers.
    Read,
    /// I_M: memory, for this write or atomic.
    Write(Message<W>),
    /// S_M, S_A: that many acknowledgements, for this write or atomic, or for none that is not performed yet.
    Invalidation(u16, Option<Message<W>>),
    /// S_I: that many acknowledgements, for the line to be gone. It has left its place to another already.
    Recall(u16, Line, LineData<W>),
}

/// A shared bank of GPU-VI.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Restore)]
pub struct GpuViL2<const W: usize> {
    #[save(built)]
    me: AgentId,
    #[save(built)]
    memory: AgentId,
    #[save(built)]
    fault: Option<L2Fault>,
    lines: CacheArray<Line, W>,
    mshrs: Mshrs<Waiting<W>, Reader>,
}

impl<const W: usize> GpuViL2<W> {
    /// An empty bank, the bank number `index` of its machine.
    pub fn new(index: u16, config: &BuildConfig, fault: Option<L2Fault>) -> Self {
        GpuViL2 {
            me: config.topology.l2(index),
            memory: config.topology.memory(index),
            fault,
            lines: CacheArray::new(config.l2.geometry(config.topology.l2s)),
            mshrs: Mshrs::new(config.l2.mshrs),
        }
    }

    /// Forgets that `caches` have copies of `line`, so that writes and recalls no longer wait for them. Only a line in
    /// state S has sharers to forget. In all other states nothing changes: invalidations and recalls that are on their
    /// way are still awaited.
    pub fn forget_sharers(&mut self, line: LineAddr, caches: Sharers) {
        if let (State::S, Some(slot)) = self.state(line) {
            let entry = self.lines.meta_mut(slot);
            entry.sharers = entry.sharers.minus(caches);
            self.settle(slot);
        }
    }

    #[inline]
    fn state(&self, line: LineAddr) -> (State, Option<Slot>) {
        match self.lines.find(line) {
            Some(slot) => (self.lines.meta(slot).state, Some(slot)),
            None if self.mshrs.find(line).is_some() => (State::SI, None),
            None => (State::I, None),
        }
    }

    fn event(input: &Input<'_, W>) -> Option<(LineAddr, Event)> {
        match input {
            Input::Core(_) | Input::EvictEntry(_) | Input::Time(_) => None,
            Input::Message(message) => Some((message.line, Event::of(message.kind))),
            Input::Evict(line) => Some((*line, Event::Evict)),
        }
    }

    /// Takes a message. Read misses, their lines and recalls come first, because they are the most frequent ones.
    #[inline]
    fn step_message(&mut self, message: &Message<W>, out: &mut Outbox<W>) -> Result<Outcome, Unspecified> {
        match message.kind {
            GETS => self.read(message, out),
            memory::MEM_DATA => self.arrive(message, out),
            RCL_ACK => self.leave_acknowledged(message, out),
            MsgKind(_) => self.step_any(message, out),
        }
    }

    #[inline(never)]
    fn read(&mut self, message: &Message<W>, out: &mut Outbox<W>) -> Result<Outcome, Unspecified> {
        match self.state(message.line) {
            (State::I, _) => Ok(self.miss(message, State::IS, out)),
            (state @ (State::V | State::S | State::IS | State::IM | State::SM | State::SA | State::SI), slot) => {
                self.step_in_state(state, slot, message, out)
            }
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

    /// Takes the acknowledgement of a recall. The line has left its place, so only its register has to be found.
    #[inline(never)]
    fn leave_acknowledged(&mut self, message: &Message<W>, out: &mut Outbox<W>) -> Result<Outcome, Unspecified> {
        if let Some(register) = self.mshrs.find(message.line)
            && let Waiting::Recall(..) = self.mshrs.payload(register)
        {
            self.recalled(register, message.line, out);
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
            (Event::GetS, State::V | State::S, Some(slot)) => {
                self.lines.touch(slot);
                self.lines.meta_mut(slot).share(message.src, self.fault);
                out.send(message.reply_line(DATA, self.lines.data(slot)));
            }
            (Event::GetX | Event::Atomic, State::V, Some(slot)) => {
                self.lines.touch(slot);
                self.perform(slot, message, out);
            }
            (Event::GetX, State::S, Some(slot)) => return Ok(self.write_shared(slot, message, State::SM, out)),
            (Event::Atomic, State::S, Some(slot)) => return Ok(self.write_shared(slot, message, State::SA, out)),
            (Event::GetS, State::IS, _) => self.merge(message),
            (Event::GetS, State::SM | State::SA, Some(slot)) if self.fault == Some(L2Fault::ReadInTransit) => {
                out.send(message.reply_line(DATA, self.lines.data(slot)));
            }
            (Event::GetX | Event::Atomic, State::IS, _)
            | (Event::GetS | Event::GetX | Event::Atomic, State::IM | State::SM | State::SA | State::SI, _) => {
                return Ok(Outcome::Stall);
            }
            (Event::InvAck, State::SM | State::SA, Some(slot)) => self.invalidated(slot, message.line, out),
            (Event::RclAck, State::SI, None) => {
                if let Some(register) = self.mshrs.find(message.line) {
                    self.recalled(register, message.line, out);
                }
            }
            (Event::MemData, State::IS | State::IM, Some(slot)) => {
                if let Some(register) = self.mshrs.find(message.line) {
                    self.fill(register, slot, message, out);
                }
            }
            (Event::InvAck, State::I | State::V | State::S | State::IS | State::IM | State::SI, _)
            | (Event::RclAck, State::I | State::V | State::S | State::IS | State::IM | State::SM | State::SA, _)
            | (Event::MemData, State::I | State::V | State::S | State::SM | State::SA | State::SI, _)
            | (Event::Evict | Event::Foreign, _, _)
            | (_, State::V | State::S | State::IS | State::IM | State::SM | State::SA, None)
            | (Event::RclAck, State::SI, Some(_)) => return Err(unspecified(state, event, message.line)),
        }
        Ok(Outcome::Done)
    }

    #[inline(always)]
    fn miss(&mut self, message: &Message<W>, next: State, out: &mut Outbox<W>) -> Outcome {
        if self.mshrs.is_full() {
            return Outcome::Stall;
        }
        let slot = match self.lines.room_for(message.line, |line| line.state.stable()) {
            Room::Busy => return Outcome::Stall,
            Room::Occupied(slot) if !out.evicts => return Outcome::Evict(self.lines.line(slot)),
            Room::Occupied(slot) => {
                if self.give_up(slot, out) != Outcome::Done {
                    return Outcome::Stall;
                }
                // The recall of a shared line may take the last register.
                if self.mshrs.is_full() {
                    self.lines.remove(slot);
                    return Outcome::Stall;
                }
                slot
            }
            Room::Free(slot) => slot,
        };
        self.lines.replace(slot, message.line, Line { state: next, ..Line::default() });
        if next == State::IS {
            self.mshrs.insert_for(message.line, slot, Reader::of(message), || Waiting::Read);
        } else {
            self.mshrs.insert_with(message.line, || Waiting::Write(*message));
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
        if std::mem::replace(&mut self.lines.meta_mut(slot).state, State::V) == State::IM {
            self.perform_waiting(register, slot, message, out);
        }
        let line = self.lines.meta_mut(slot);
        self.mshrs.release_serving(register, |reader| {
            line.share(reader.agent, self.fault);
            out.send(reader.answer(message));
        });
    }

    /// Performs the write that waited for a line.
    #[inline(never)]
    fn perform_waiting(&mut self, register: Register, slot: Slot, fill: &Message<W>, out: &mut Outbox<W>) {
        if let Waiting::Write(write) = *self.mshrs.payload(register) {
            self.perform(slot, &write, out);
            if self.fault == Some(L2Fault::OverwrittenMiss) {
                self.lines.fill(slot, &fill.data);
            }
        }
    }

    /// A write or atomic of a shared line: at once if the writer is the only sharer, else behind the invalidations.
    fn write_shared(&mut self, slot: Slot, message: &Message<W>, next: State, out: &mut Outbox<W>) -> Outcome {
        let mut others = self.lines.meta(slot).sharers.without(message.src);
        if self.fault == Some(L2Fault::LostInvalidation)
            && let Some(last) = others.iter().last()
        {
            others = others.without(last);
        }
        if others.is_empty() {
            self.lines.touch(slot);
            self.perform(slot, message, out);
            return Outcome::Done;
        }
        if self.mshrs.is_full() {
            return Outcome::Stall;
        }
        self.lines.touch(slot);
        send_to_all(INV, others, message.line, self.me, out);
        let mut write = Some(*message);
        if self.fault == Some(L2Fault::EarlyAck) {
            self.perform(slot, message, out);
            write = None;
        }
        self.lines.meta_mut(slot).state = next;
        let awaited = others.len() + u16::from(self.fault == Some(L2Fault::Miscount));
        self.mshrs.insert(message.line, Waiting::Invalidation(awaited, write));
        Outcome::Done
    }

    /// Counts an acknowledgement that a register waits for. Returns whether it was the last.
    fn acknowledged(&mut self, register: Register) -> bool {
        match self.mshrs.payload_mut(register) {
            Waiting::Recall(..) if self.fault == Some(L2Fault::HastyRecall) => true,
            Waiting::Invalidation(acknowledgements, _) | Waiting::Recall(acknowledgements, _, _) => {
                *acknowledgements -= 1;
                *acknowledgements == 0
            }
            Waiting::Read | Waiting::Write(_) => false,
        }
    }

    fn invalidated(&mut self, slot: Slot, line: LineAddr, out: &mut Outbox<W>) {
        let Some(register) = self.mshrs.find(line) else { return };
        if !self.acknowledged(register) {
            return;
        }
        let write = match self.mshrs.payload(register) {
            Waiting::Invalidation(_, write) => *write,
            Waiting::Read | Waiting::Write(_) | Waiting::Recall(..) => None,
        };
        self.mshrs.release(register);
        match write {
            Some(write) => self.perform(slot, &write, out),
            None => self.settle(slot),
        }
    }

    fn recalled(&mut self, register: Register, line: LineAddr, out: &mut Outbox<W>) {
        if !self.acknowledged(register) {
            return;
        }
        if let Waiting::Recall(_, Line { dirty: true, .. }, data) = self.mshrs.payload(register) {
            self.write_back(line, data, out);
        }
        self.mshrs.release(register);
    }

    /// Writes a line that nobody else holds, and answers. The writer's own copy, if it has one, stays valid: it holds
    /// the same data. After an atomic there is no such copy, since the private cache dropped it when it sent the
    /// atomic.
    fn perform(&mut self, slot: Slot, message: &Message<W>, out: &mut Outbox<W>) {
        let line = self.lines.meta_mut(slot);
        line.dirty = true;
        let keeps = message.atomic.is_none() && self.fault != Some(L2Fault::ForgottenWriter);
        line.sharers = if keeps { line.sharers.only(message.src) } else { Sharers::NONE };
        self.settle(slot);
        let fault = if let Some(L2Fault::Write(fault)) = self.fault { Some(fault) } else { None };
        out.send(perform_with(fault, message, self.lines.data_mut(slot)));
    }

    /// The stable state that fits the sharers.
    fn settle(&mut self, slot: Slot) {
        let line = self.lines.meta_mut(slot);
        line.state = if line.sharers.is_empty() { State::V } else { State::S };
    }

    /// Takes a line out. A shared one leaves its place at once, and waits in a miss register until its copies are gone.
    fn evict(&mut self, line: LineAddr, out: &mut Outbox<W>) -> Result<Outcome, Unspecified> {
        match self.state(line) {
            (State::V | State::S, Some(slot)) => {
                let outcome = self.give_up(slot, out);
                if outcome == Outcome::Done {
                    self.lines.remove(slot);
                }
                Ok(outcome)
            }
            (State::IS | State::IM | State::SM | State::SA | State::SI, _) => Ok(Outcome::Stall),
            (state @ (State::I | State::V | State::S), _) => Err(unspecified(state, Event::Evict, line)),
        }
    }

    /// Makes a line in a stable state ready to leave its place. The copies of a shared line are recalled, for which a
    /// register has to be free.
    fn give_up(&mut self, slot: Slot, out: &mut Outbox<W>) -> Outcome {
        let (line, evicted) = (self.lines.line(slot), *self.lines.meta(slot));
        if evicted.state == State::S && self.fault != Some(L2Fault::SkippedRecall) {
            if self.mshrs.is_full() {
                return Outcome::Stall;
            }
            send_to_all(RCL, evicted.sharers, line, self.me, out);
            let data = self.lines.data(slot);
            self.mshrs.insert_with(line, || Waiting::Recall(evicted.sharers.len(), evicted, *data));
        } else if evicted.dirty {
            self.write_back(line, self.lines.data(slot), out);
        }
        Outcome::Done
    }

    fn write_back(&self, line: LineAddr, data: &LineData<W>, out: &mut Outbox<W>) {
        if self.fault != Some(L2Fault::LostWriteBack) {
            out.send(write_back(line, data, self.me, self.memory));
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

impl<const W: usize> Controller<W> for GpuViL2<W> {
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
        let (Line { dirty, sharers, .. }, data) = match (slot, self.mshrs.get(line)) {
            (Some(slot), _) => (*self.lines.meta(slot), *self.lines.data(slot)),
            (None, Some(Waiting::Recall(_, evicted, data))) => (*evicted, *data),
            (None, _) => return LineView::default(),
        };
        let full = ByteMask::full::<W>();
        LineView {
            state: state as u8,
            readable: if state.has_data() { full } else { ByteMask::EMPTY },
            dirty: if dirty { full } else { ByteMask::EMPTY },
            data,
            sharers,
        }
    }

    fn evictable(&self, line: LineAddr, _: Time) -> bool {
        self.state(line).0.stable()
    }

    fn quiescent(&self) -> bool {
        self.mshrs.is_empty()
    }

    fn dirty_lines(&self, visit: &mut dyn FnMut(LineAddr, ByteMask, &LineData<W>)) {
        for (line, _, data) in self.lines.iter().filter(|(_, meta, _)| meta.dirty) {
            visit(line, ByteMask::full::<W>(), data);
        }
        for (line, waiting) in self.mshrs.iter() {
            if let Waiting::Recall(_, Line { dirty: true, .. }, data) = waiting {
                visit(line, ByteMask::full::<W>(), data);
            }
        }
    }
}
