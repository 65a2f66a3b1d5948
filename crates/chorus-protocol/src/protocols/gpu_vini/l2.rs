//! The shared bank of GPU-VIni: a non-inclusive L2 and a directory, managed by one controller.
//!
//! A miss takes a place in the L2 and, if it reads, a directory entry. An entry that has to make room is recalled in a
//! miss register of its own. So its place is free at once, and its data stays in the L2 if it is there. A read miss may
//! find no register for the recall, or no entry of the set that can leave. Then it tries again when its data has come.
//! If it still finds none, the data is sent and recalled right behind.

use crate::address::{AgentId, LineAddr};
use crate::cache::{CacheArray, Room, Slot};
use crate::controller::{Classified, Controller, Input, LineView, Outbox, Outcome, Time, Unspecified, Vocabulary};
use crate::line::{ByteMask, LineData};
use crate::message::{Message, memory};
use crate::mshr::{Mshrs, Register};
use crate::protocols::vi_protocols::send_to_all;
use crate::protocols::write_through::{DATA, INV, RCL};
use crate::protocols::write_through_bank::{Reader, WriteFault, perform_with, write_back};
use crate::registry::BuildConfig;
use crate::save::{self, Restore, Save};
use crate::sharers::Sharers;

use super::directory::{Directory, Entry, directory};
pub use super::states::VOCABULARY;
use super::states::{Event, State, unspecified};

/// A mistake that can be built into the bank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum L2Fault {
    /// A write neither invalidates nor awaits the last sharer.
    LostInvalidation,
    /// A write is performed and acknowledged before its invalidations are.
    EarlyAck,
    /// A write whose data is not in the L2 invalidates nobody.
    BlindMiss,
    /// A write is performed when its data arrives, whoever still has a copy.
    HastyFill,
    /// A write that missed is performed before its line arrives, which overwrites it.
    OverwrittenMiss,
    /// A reader is served while a write waits for acknowledgements.
    ReadInTransit,
    /// A second reader is not recorded.
    MissingSharer,
    /// A writer that keeps its copy is not recorded.
    ForgottenWriter,
    /// A read miss makes the directory forget the readers before it.
    ReplacedSharers,
    /// Data that leaves the L2 takes its directory entry along.
    ForgottenSharers,
    /// An entry leaves the directory without a recall.
    SkippedRecall,
    /// A recall ends with its first acknowledgement.
    HastyRecall,
    /// A dirty line leaves without being written back.
    LostWriteBack,
    /// A write is performed in a wrong way.
    Write(WriteFault),
}

/// The metadata of a place in the L2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Save)]
struct Line {
    /// Whether memory has answered.
    present: bool,
    /// Whether the line is being fetched or is about to be written. Then it keeps its place.
    busy: bool,
    dirty: bool,
}

/// The reason for which a line in a transient state waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Save)]
enum Waiting<const W: usize> {
    /// I_S, C_S: the merged readers wait for memory.
    Read,
    /// A write or atomic waits. I_M, C_D: for memory; S_M, S_A: for the acknowledgements of these sharers; C_M, C_A:
    /// for both. The message is `None` if the write has been performed already.
    Write(Sharers, Option<Message<W>>),
    /// S_V, C_I: a recall waits for the acknowledgements of these sharers.
    Recall(Sharers),
}

/// The state of a line, and the places of its data, its directory entry and its register.
#[derive(Clone, Copy, Debug)]
struct Found {
    state: State,
    data: Option<Slot>,
    entry: Option<Slot>,
    register: Option<Register>,
}

/// A shared bank of GPU-VIni.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Restore)]
pub struct GpuViniL2<const W: usize> {
    #[save(built)]
    me: AgentId,
    #[save(built)]
    memory: AgentId,
    #[save(built)]
    fault: Option<L2Fault>,
    lines: CacheArray<Line, W>,
    directory: Directory,
    mshrs: Mshrs<Waiting<W>, Reader>,
}

impl<const W: usize> GpuViniL2<W> {
    /// An empty bank with an empty directory.
    pub fn new(index: u16, config: &BuildConfig, fault: Option<L2Fault>) -> Self {
        GpuViniL2 {
            me: config.topology.l2(index),
            memory: config.topology.memory(index),
            fault,
            lines: CacheArray::new(config.l2.geometry(config.topology.l2s)),
            directory: directory(config),
            mshrs: Mshrs::new(config.l2.mshrs),
        }
    }

    fn faulty(&self, fault: L2Fault) -> bool {
        self.fault == Some(fault)
    }

    fn find(&self, line: LineAddr) -> Found {
        let (data, entry, register) = (self.lines.find(line), self.directory.find(line), self.mshrs.find(line));
        let present = data.is_some_and(|slot| self.lines.meta(slot).present);
        let shared = entry.is_some_and(|slot| !self.directory.meta(slot).sharers.is_empty());
        let state = match (register.map(|register| self.mshrs.payload(register)), present, entry.is_some()) {
            (None, false, false) => State::I,
            (None, true, false) => State::V,
            (None, true, true) => {
                if shared {
                    State::S
                } else {
                    State::U
                }
            }
            (None, false, true) => State::C,
            (Some(Waiting::Read), _, false) => State::IS,
            (Some(Waiting::Read), _, true) => State::CS,
            (Some(Waiting::Write(awaited, _)), _, false) if awaited.is_empty() => State::IM,
            (Some(Waiting::Write(awaited, _)), _, true) if awaited.is_empty() => State::CD,
            (Some(Waiting::Write(_, Some(Message { atomic: Some(_), .. }))), true, _) => State::SA,
            (Some(Waiting::Write(_, Some(Message { atomic: Some(_), .. }))), false, _) => State::CA,
            (Some(Waiting::Write(..)), true, _) => State::SM,
            (Some(Waiting::Write(..)), false, _) => State::CM,
            (Some(Waiting::Recall(_)), true, _) => State::SV,
            (Some(Waiting::Recall(_)), false, _) => State::CI,
        };
        Found { state, data, entry, register }
    }

    fn event(input: &Input<'_, W>) -> Option<(LineAddr, Event)> {
        match input {
            Input::Core(_) | Input::EvictEntry(_) | Input::Time(_) => None,
            Input::Message(message) => Some((message.line, Event::of(message.kind))),
            Input::Evict(line) => Some((*line, Event::Evict)),
        }
    }

    fn step_message(&mut self, message: &Message<W>, out: &mut Outbox<W>) -> Result<Outcome, Unspecified> {
        let Found { state, data, entry, register } = self.find(message.line);
        let event = Event::of(message.kind);
        match (event, state, data, entry, register) {
            (Event::GetS | Event::GetX | Event::Atomic, State::I | State::C, _, _, _) => {
                return Ok(self.miss(event, message, entry, out));
            }
            (Event::GetS, State::V, Some(data), _, _) => return Ok(self.read_unrecorded(message, data, out)),
            (Event::GetS, State::U | State::S, Some(data), Some(entry), _) => {
                self.lines.touch(data);
                self.share(entry, message.src);
                out.send(message.reply_line(DATA, self.lines.data(data)));
            }
            (Event::GetX | Event::Atomic, State::V | State::U | State::S, Some(data), _, _) => {
                return Ok(self.write(message, data, entry, out));
            }
            (Event::GetS, State::IS | State::CS, _, _, Some(register)) => {
                self.mshrs.push_target(register, Reader::of(message));
            }
            (Event::GetS, State::SM | State::SA, Some(data), _, _) if self.faulty(L2Fault::ReadInTransit) => {
                out.send(message.reply_line(DATA, self.lines.data(data)));
            }
            (Event::GetX | Event::Atomic, State::IS | State::CS, _, _, _)
            | (
                Event::GetS | Event::GetX | Event::Atomic,
                State::IM | State::SM | State::SA | State::SV | State::CM | State::CA | State::CD | State::CI,
                _,
                _,
                _,
            ) => return Ok(Outcome::Stall),
            (Event::InvAck, State::SM | State::SA | State::CM | State::CA, Some(data), _, Some(register)) => {
                self.invalidated(message.src, data, entry, register, out);
            }
            (Event::RclAck, State::SV | State::CI, _, _, Some(register)) => self.recalled(message.src, register),
            (
                Event::MemData,
                State::IS | State::IM | State::CS | State::CM | State::CA | State::CD,
                Some(data),
                _,
                Some(register),
            ) => self.fill(message, data, entry, register, out),
            (Event::GetS | Event::GetX | Event::Atomic, State::V | State::U | State::S, _, _, _)
            | (Event::GetS, State::IS | State::CS, _, _, None)
            | (Event::InvAck | Event::RclAck | Event::MemData | Event::Evict | Event::Foreign, _, _, _, _) => {
                return Err(unspecified(state, event, message.line));
            }
        }
        Ok(Outcome::Done)
    }

    /// Starts a miss for a line that the L2 does not hold.
    fn miss(&mut self, event: Event, message: &Message<W>, entry: Option<Slot>, out: &mut Outbox<W>) -> Outcome {
        if self.mshrs.is_full() {
            return Outcome::Stall;
        }
        let slot = match self.lines.room_for(message.line, |line| !line.busy) {
            Room::Busy => return Outcome::Stall,
            Room::Occupied(slot) if !out.evicts => return Outcome::Evict(self.lines.line(slot)),
            Room::Occupied(slot) => {
                self.leave(slot, out);
                slot
            }
            Room::Free(slot) => slot,
        };
        self.lines.insert(slot, message.line, Line { busy: true, ..Line::default() });
        if let Some(entry) = entry {
            self.directory.touch(entry);
            self.directory.meta_mut(entry).busy = true;
        }
        if event == Event::GetS {
            self.read_miss(message, entry, out);
        } else {
            self.write_miss(message, entry, out);
        }
        out.send(Message::control(memory::FETCH, message.line, self.me, self.memory));
        Outcome::Done
    }

    /// Starts a read miss. It takes its directory entry before its data comes, so that a recall for the entry's place
    /// overlaps with the access to memory.
    fn read_miss(&mut self, message: &Message<W>, entry: Option<Slot>, out: &mut Outbox<W>) {
        let register = self.mshrs.insert(message.line, Waiting::Read);
        self.mshrs.push_target(register, Reader::of(message));
        match entry {
            Some(entry) => {
                if self.faulty(L2Fault::ReplacedSharers) {
                    self.directory.meta_mut(entry).sharers = Sharers::NONE;
                }
            }
            None => {
                self.enter(message.line, Entry { sharers: Sharers::NONE, busy: true }, out);
            }
        }
    }

    /// Starts a write miss. It invalidates the other copies while memory is asked. It needs no directory entry, since
    /// it leaves no copy behind.
    fn write_miss(&mut self, message: &Message<W>, entry: Option<Slot>, out: &mut Outbox<W>) {
        let blind = self.faulty(L2Fault::BlindMiss);
        let others = if blind { Sharers::NONE } else { self.others(entry, message.src) };
        self.withdraw(entry, others, message, out);
        self.mshrs.insert(message.line, Waiting::Write(others, Some(*message)));
    }

    /// Reads a line that has no directory entry yet.
    fn read_unrecorded(&mut self, message: &Message<W>, data: Slot, out: &mut Outbox<W>) -> Outcome {
        let mut sharers = Sharers::NONE;
        sharers.insert(message.src);
        if !self.enter(message.line, Entry { sharers, busy: false }, out) {
            return Outcome::Stall;
        }
        self.lines.touch(data);
        out.send(message.reply_line(DATA, self.lines.data(data)));
        Outcome::Done
    }

    fn share(&mut self, entry: Slot, reader: AgentId) {
        self.directory.touch(entry);
        let missing = self.faulty(L2Fault::MissingSharer);
        let sharers = &mut self.directory.meta_mut(entry).sharers;
        if sharers.is_empty() || !missing {
            sharers.insert(reader);
        }
    }

    /// Gives a line a directory entry. If the set is full, the entry used longest ago is recalled. Returns whether this
    /// was possible.
    fn enter(&mut self, line: LineAddr, entry: Entry, out: &mut Outbox<W>) -> bool {
        let slot = match self.directory.room_for(line, |entry| !entry.busy) {
            Room::Busy => return false,
            Room::Free(slot) => slot,
            Room::Occupied(slot) => {
                if !self.drop_entry(self.directory.line(slot), slot, out) {
                    return false;
                }
                slot
            }
        };
        self.directory.insert(slot, line, entry);
        true
    }

    /// Takes an entry out of the directory. An entry that records sharers needs a miss register for their recall.
    /// Returns whether there was one.
    fn drop_entry(&mut self, line: LineAddr, entry: Slot, out: &mut Outbox<W>) -> bool {
        let sharers = self.directory.meta(entry).sharers;
        if !sharers.is_empty() && self.mshrs.is_full() {
            return false;
        }
        self.directory.remove(entry);
        if !sharers.is_empty() && !self.faulty(L2Fault::SkippedRecall) {
            self.recall(line, sharers, out);
        }
        true
    }

    fn recall(&mut self, line: LineAddr, sharers: Sharers, out: &mut Outbox<W>) {
        send_to_all(RCL, sharers, line, self.me, out);
        self.mshrs.insert(line, Waiting::Recall(sharers));
    }

    /// The recorded sharers that a write has to invalidate.
    fn others(&self, entry: Option<Slot>, writer: AgentId) -> Sharers {
        let others = entry.map_or(Sharers::NONE, |entry| self.directory.meta(entry).sharers.without(writer));
        match others.iter().last() {
            Some(last) if self.faulty(L2Fault::LostInvalidation) => others.without(last),
            Some(_) | None => others,
        }
    }

    /// Invalidates `others`, and updates the directory to those that have a copy after the write. The writer keeps its
    /// copy if it had one, since the copy holds the same data. After an atomic nobody has a copy, since the private
    /// cache dropped its copy when it sent the atomic.
    fn withdraw(&mut self, entry: Option<Slot>, others: Sharers, message: &Message<W>, out: &mut Outbox<W>) {
        send_to_all(INV, others, message.line, self.me, out);
        let keeps = message.atomic.is_none() && !self.faulty(L2Fault::ForgottenWriter);
        if let Some(entry) = entry {
            let sharers = &mut self.directory.meta_mut(entry).sharers;
            *sharers = if keeps { sharers.only(message.src) } else { Sharers::NONE };
        }
    }

    /// Takes a write or atomic for a line that the L2 holds. It is performed at once if nobody else has a copy,
    /// otherwise after the invalidations.
    fn write(&mut self, message: &Message<W>, data: Slot, entry: Option<Slot>, out: &mut Outbox<W>) -> Outcome {
        let others = self.others(entry, message.src);
        if !others.is_empty() && self.mshrs.is_full() {
            return Outcome::Stall;
        }
        self.lines.touch(data);
        if let Some(entry) = entry {
            self.directory.touch(entry);
        }
        self.withdraw(entry, others, message, out);
        if others.is_empty() {
            self.perform(message, data, entry, out);
            return Outcome::Done;
        }
        let mut write = Some(*message);
        if self.faulty(L2Fault::EarlyAck) {
            self.perform(message, data, entry, out);
            write = None;
        }
        self.set_busy(data, entry, true);
        self.mshrs.insert(message.line, Waiting::Write(others, write));
        Outcome::Done
    }

    /// Sets whether a line and its entry must keep their places.
    fn set_busy(&mut self, data: Slot, entry: Option<Slot>, busy: bool) {
        self.lines.meta_mut(data).busy = busy;
        if let Some(entry) = entry {
            self.directory.meta_mut(entry).busy = busy;
        }
    }

    /// Notes that a sharer has dropped its copy for a write. After the last one the write is performed, if its data is
    /// here.
    fn invalidated(
        &mut self,
        sharer: AgentId,
        data: Slot,
        entry: Option<Slot>,
        register: Register,
        out: &mut Outbox<W>,
    ) {
        let write = match self.mshrs.payload_mut(register) {
            Waiting::Write(awaited, write) => {
                *awaited = awaited.without(sharer);
                if !awaited.is_empty() || !self.lines.meta(data).present {
                    return;
                }
                *write
            }
            Waiting::Read | Waiting::Recall(_) => return,
        };
        self.mshrs.release(register);
        match write {
            Some(write) => self.perform(&write, data, entry, out),
            None => self.set_busy(data, entry, false),
        }
    }

    /// Notes that a sharer has dropped its copy for a recall.
    fn recalled(&mut self, sharer: AgentId, register: Register) {
        let hasty = self.faulty(L2Fault::HastyRecall);
        if let Waiting::Recall(awaited) = self.mshrs.payload_mut(register) {
            *awaited = awaited.without(sharer);
            if awaited.is_empty() || hasty {
                self.mshrs.release(register);
            }
        }
    }

    /// Takes a line from memory.
    fn fill(&mut self, message: &Message<W>, data: Slot, entry: Option<Slot>, register: Register, out: &mut Outbox<W>) {
        self.lines.fill(data, &message.data);
        self.lines.meta_mut(data).present = true;
        match self.mshrs.payload(register) {
            Waiting::Read => self.answer_readers(message, data, entry, register, out),
            Waiting::Write(awaited, Some(write)) if awaited.is_empty() || self.faulty(L2Fault::HastyFill) => {
                let write = *write;
                self.mshrs.release(register);
                self.perform(&write, data, entry, out);
                if self.faulty(L2Fault::OverwrittenMiss) {
                    self.lines.fill(data, &message.data);
                }
            }
            Waiting::Write(..) | Waiting::Recall(_) => {}
        }
    }

    /// Sends the line to the readers that waited for memory, and records them.
    fn answer_readers(
        &mut self,
        message: &Message<W>,
        data: Slot,
        entry: Option<Slot>,
        register: Register,
        out: &mut Outbox<W>,
    ) {
        let mut readers = Sharers::NONE;
        while let Some(reader) = self.mshrs.pop_target(register) {
            readers.insert(reader.agent);
            out.send(reader.answer(message));
        }
        self.mshrs.release(register);
        self.set_busy(data, entry, false);
        match entry {
            Some(entry) => readers.iter().for_each(|reader| self.share(entry, reader)),
            None => {
                let entry = Entry { sharers: readers, busy: false };
                if !self.enter(message.line, entry, out) {
                    self.recall(message.line, readers, out);
                }
            }
        }
    }

    /// Performs a write of a line of which nobody else has a copy, and answers it.
    fn perform(&mut self, message: &Message<W>, data: Slot, entry: Option<Slot>, out: &mut Outbox<W>) {
        self.set_busy(data, entry, false);
        self.lines.meta_mut(data).dirty = true;
        let fault = if let Some(L2Fault::Write(fault)) = self.fault { Some(fault) } else { None };
        out.send(perform_with(fault, message, self.lines.data_mut(data)));
    }

    /// Takes a line's data out of the L2. If the line has no data here, its entry is taken out of the directory. An
    /// entry that records nobody leaves together with its data.
    fn evict(&mut self, line: LineAddr, out: &mut Outbox<W>) -> Result<Outcome, Unspecified> {
        let Found { state, data, entry, .. } = self.find(line);
        match (state, data, entry) {
            (State::V | State::SV | State::U | State::S, Some(data), _) => self.leave(data, out),
            (State::C, _, Some(entry)) => {
                if !self.drop_entry(line, entry, out) {
                    return Ok(Outcome::Stall);
                }
            }
            (
                State::IS
                | State::IM
                | State::SM
                | State::SA
                | State::CS
                | State::CM
                | State::CA
                | State::CD
                | State::CI,
                _,
                _,
            ) => return Ok(Outcome::Stall),
            (State::I | State::V | State::U | State::S | State::C | State::SV, _, _) => {
                return Err(unspecified(state, Event::Evict, line));
            }
        }
        Ok(Outcome::Done)
    }

    /// Takes out a line for which nothing is fetched or written. Its directory entry stays if it records sharers.
    fn leave(&mut self, data: Slot, out: &mut Outbox<W>) {
        let line = self.lines.line(data);
        if self.lines.meta(data).dirty && !self.faulty(L2Fault::LostWriteBack) {
            out.send(write_back(line, self.lines.data(data), self.me, self.memory));
        }
        let Found { state, entry, .. } = self.find(line);
        self.lines.remove(data);
        if let Some(entry) = entry
            && (state == State::U || state == State::S && self.faulty(L2Fault::ForgottenSharers))
        {
            self.directory.remove(entry);
        }
    }
}

impl<const W: usize> Controller<W> for GpuViniL2<W> {
    fn vocabulary(&self) -> &'static Vocabulary {
        &VOCABULARY
    }

    fn classify(&self, input: &Input<'_, W>, _: Time) -> Option<Classified> {
        let (line, event) = Self::event(input)?;
        Some(Classified { line, state: self.find(line).state as u8, event: event as u8 })
    }

    fn step(&mut self, input: &Input<'_, W>, out: &mut Outbox<W>) -> Result<Outcome, Unspecified> {
        match input {
            Input::Core(request) => Err(unspecified(self.find(request.line).state, Event::Foreign, request.line)),
            Input::Message(message) => self.step_message(message, out),
            Input::Evict(line) => self.evict(*line, out),
            Input::EvictEntry(_) | Input::Time(_) => Ok(Outcome::Done),
        }
    }

    fn view(&self, line: LineAddr, _: Time) -> LineView<W> {
        let Found { state, data, entry, register } = self.find(line);
        let Line { present, dirty, .. } = data.map_or(Line::default(), |slot| *self.lines.meta(slot));
        let mut sharers = entry.map_or(Sharers::NONE, |slot| self.directory.meta(slot).sharers);
        match register.map(|register| self.mshrs.payload(register)) {
            Some(Waiting::Write(awaited, _) | Waiting::Recall(awaited)) => {
                awaited.iter().for_each(|agent| sharers.insert(agent));
            }
            Some(Waiting::Read) | None => {}
        }
        let full = ByteMask::full::<W>();
        LineView {
            state: state as u8,
            readable: if present { full } else { ByteMask::EMPTY },
            dirty: if dirty { full } else { ByteMask::EMPTY },
            data: data.map_or(LineData::default(), |slot| *self.lines.data(slot)),
            sharers,
        }
    }

    fn evictable(&self, line: LineAddr, _: Time) -> bool {
        self.find(line).state.evictable()
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
