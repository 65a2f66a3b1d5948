//! The shared bank of Temporal Coherence: the right half of Table 2 of the TC paper.
//!
//! A line's timestamp is the end of the latest lease given on it. A line that leaves with leases running leaves its
//! timestamp behind in a miss register (M_I). Three things go beyond the table, all about timestamps that outlive their
//! line's stay. Each is needed: an exploration finds a forbidden outcome without it.
//!
//! - A write miss keeps the timestamp that it finds in the miss register. If leases still run when the line arrives,
//!   the answer says so, as for any line with running leases. Table 2 forgets the timestamp and sends a plain ACK.
//! - A read miss keeps the timestamp, too. The line is then shared (S), even with a single reader: others have copies.
//! - In TC-Strong a write miss waits until the leases have ended before anything is fetched.
//!
//! In state E a write clears the timestamp instead of incrementing it. Nobody has a valid copy whose timestamp could
//! match, and the predictor can tell lines whose lease has ended from lines on which none was given.

use super::Writes;
use super::counter::{Counter, Stamp, aged};
use super::faults::L2Fault;
use super::lifetime::Leases;
use super::messages::{ACK, ACK_G, ATOMIC, ATOMIC_DATA_G, DATA, DATA_G, GETS, GETX, UPGR};
use super::tallies::{LEASE_CYCLES, LEASES, PARKED_TIMESTAMPS, REFRESHED_WRITERS, Tallies};
use crate::address::{AgentId, LineAddr, Role};
use crate::cache::{CacheArray, Room, Slot};
use crate::controller::{
    Classified, Controller, Input, LineView, Outbox, Outcome, Passage, StateClass, StateSpec, Time, Unspecified,
    Vocabulary,
};
use crate::line::{ByteMask, LineData};
use crate::message::{Message, MsgKind, memory};
use crate::mshr::{Mshrs, Register};
use crate::protocols::write_through_bank::{Reader, perform_with, write_back};
use crate::registry::BuildConfig;
use crate::save::{self, Restore, Save};
use crate::sharers::Sharers;
use crate::tally::Tally;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    I,
    P,
    S,
    E,
    IS,
    IM,
    MI,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    GetS,
    GetX,
    Upgr,
    Atomic,
    Evict,
    Expire,
    MemData,
    /// A message that this bank is never sent; every state has a hole for it.
    Foreign,
}

impl Event {
    fn of(kind: MsgKind) -> Event {
        match kind {
            GETS => Event::GetS,
            GETX => Event::GetX,
            UPGR => Event::Upgr,
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
        StateSpec { name: "P", class: StateClass::Stable, meaning: "one lease runs, or all but one are stale" },
        StateSpec { name: "S", class: StateClass::Stable, meaning: "several leases run" },
        StateSpec { name: "E", class: StateClass::Stable, meaning: "all leases have ended" },
        StateSpec { name: "I_S", class: StateClass::TransientCache, meaning: "read miss, waiting for memory" },
        StateSpec {
            name: "I_M",
            class: StateClass::TransientCache,
            meaning: "write or atomic miss, waiting for memory",
        },
        StateSpec {
            name: "M_I",
            class: StateClass::TransientCoherent,
            meaning: "not resident, but leases run; their end is kept in a miss register",
        },
    ],
    events: &["GETS", "GETX", "UPGR", "ATOMIC", "Evict", "Expire", "MemData", "Foreign"],
    expiry: Some(Event::Expire as u8),
};

/// Whether a line has arrived in the place that it has in the cache, or what it is fetched for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Save)]
enum Residency {
    #[default]
    Resident,
    ReadMiss,
    WriteMiss,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Save)]
struct Line {
    residency: Residency,
    dirty: bool,
    shared: bool,
    /// The end of the latest lease.
    stamp: Stamp,
}

/// The contents of a miss register: the timestamp of the line's earlier stay, and the operation that waits for memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Save)]
struct Waiting<const W: usize> {
    stamp: Stamp,
    miss: Miss<W>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Save)]
enum Miss<const W: usize> {
    /// Nothing waits; the line is in M_I.
    None,
    /// Reads wait that were merged.
    Read,
    /// A write or atomic waits.
    Write(Message<W>),
}

impl<const W: usize> Waiting<W> {
    fn is_parked(&self) -> bool {
        matches!(self.miss, Miss::None)
    }
}

/// A shared bank, whose leases are as long as `L` says.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Restore)]
pub struct TcL2<L, const W: usize> {
    #[save(built)]
    me: AgentId,
    #[save(built)]
    memory: AgentId,
    #[save(built)]
    writes: Writes,
    #[save(built)]
    fault: Option<L2Fault>,
    counter: Counter,
    leases: L,
    lines: CacheArray<Line, W>,
    mshrs: Mshrs<Waiting<W>, Reader>,
    tallies: Tallies,
}

impl<L: Leases, const W: usize> TcL2<L, W> {
    /// An empty bank with a counter of `bits` bits.
    pub fn new(index: u16, config: &BuildConfig, writes: Writes, bits: u64, leases: L, fault: Option<L2Fault>) -> Self {
        TcL2 {
            me: config.topology.l2(index),
            memory: config.topology.memory(index),
            writes,
            fault,
            counter: Counter::new(bits),
            leases,
            lines: CacheArray::new(config.l2.geometry(config.topology.l2s)),
            mshrs: Mshrs::new(config.l2.mshrs),
            tallies: Tallies::default(),
        }
    }

    fn faulty(&self, fault: L2Fault) -> bool {
        self.fault == Some(fault)
    }

    fn state(&self, line: LineAddr, now: Stamp) -> (State, Option<Slot>) {
        let Some(slot) = self.lines.find(line) else {
            let leased = self.mshrs.get(line).is_some_and(|waiting| waiting.stamp >= now);
            return (if leased { State::MI } else { State::I }, None);
        };
        let line = self.lines.meta(slot);
        let state = match line.residency {
            Residency::ReadMiss => State::IS,
            Residency::WriteMiss => State::IM,
            Residency::Resident if line.stamp < now => State::E,
            Residency::Resident if line.shared => State::S,
            Residency::Resident => State::P,
        };
        (state, Some(slot))
    }

    fn event(input: &Input<'_, W>) -> Option<(LineAddr, Event)> {
        match input {
            Input::Core(_) | Input::EvictEntry(_) | Input::Time(_) => None,
            Input::Message(message) => Some((message.line, Event::of(message.kind))),
            Input::Evict(line) => Some((*line, Event::Evict)),
        }
    }

    fn step_message(&mut self, message: &Message<W>, out: &mut Outbox<W>) -> Result<Outcome, Unspecified> {
        let (state, slot) = self.state(message.line, self.counter.stamp(out.now));
        let event = Event::of(message.kind);
        match (event, state, slot) {
            (Event::GetS, State::I | State::MI, _) => return Ok(self.miss(message, Residency::ReadMiss, out)),
            (Event::GetX | Event::Upgr | Event::Atomic, State::MI, _)
                if self.writes == Writes::Wait && !self.faulty(L2Fault::HastyMiss) =>
            {
                return Ok(self.wait_for_leases(message.line, out));
            }
            (Event::GetX | Event::Upgr | Event::Atomic, State::I | State::MI, _) => {
                return Ok(self.miss(message, Residency::WriteMiss, out));
            }
            (Event::GetS, State::P | State::S | State::E, Some(slot)) => {
                self.lines.touch(slot);
                self.read(slot, state, message, out);
            }
            (Event::GetX | Event::Upgr | Event::Atomic, State::P | State::S | State::E, Some(slot)) => {
                return Ok(self.write(slot, state, message, out));
            }
            (Event::GetS, State::IS, _) => {
                if let Some(register) = self.mshrs.find(message.line) {
                    self.mshrs.push_target(register, Reader::of(message));
                }
            }
            (Event::Upgr, State::IS | State::IM, _) if self.faulty(L2Fault::MissingTransition) => {
                return Err(unspecified(state, event, message.line));
            }
            (Event::GetX | Event::Upgr | Event::Atomic, State::IS | State::IM, _) | (Event::GetS, State::IM, _) => {
                return Ok(Outcome::Stall);
            }
            (Event::MemData, State::IS, Some(slot)) => self.fill_read(slot, message, out),
            (Event::MemData, State::IM, Some(slot)) => self.fill_write(slot, message, out),
            (Event::MemData, State::I | State::P | State::S | State::E | State::MI, _)
            | (Event::Evict | Event::Expire | Event::Foreign, _, _)
            | (_, State::P | State::S | State::E | State::IS | State::IM, None) => {
                return Err(unspecified(state, event, message.line));
            }
        }
        Ok(Outcome::Done)
    }

    /// A miss, in the register that holds the line's timestamp if there is one.
    fn miss(&mut self, message: &Message<W>, miss: Residency, out: &mut Outbox<W>) -> Outcome {
        let now = self.counter.stamp(out.now);
        let mut held = self.mshrs.find(message.line);
        if held.is_none() && !self.has_register(now, out) {
            return Outcome::Stall;
        }
        let slot = match self.lines.room_for(message.line, |line| line.residency == Residency::Resident) {
            Room::Busy => return Outcome::Stall,
            Room::Occupied(slot) if !out.evicts => return Outcome::Evict(self.lines.line(slot)),
            Room::Occupied(slot) => {
                if self.leave(slot, out) != Outcome::Done {
                    return Outcome::Stall;
                }
                // The line's timestamp may have taken the last register, or the register of one that has passed.
                held = self.mshrs.find(message.line);
                if held.is_none() && !self.has_register(now, out) {
                    return Outcome::Stall;
                }
                slot
            }
            Room::Free(slot) => slot,
        };
        self.lines.insert(slot, message.line, Line { residency: miss, ..Line::default() });
        let unused = || Waiting { stamp: 0, miss: Miss::None };
        let register = held.unwrap_or_else(|| self.mshrs.insert_with(message.line, unused));
        let waiting = &mut self.mshrs.payload_mut(register).miss;
        if miss == Residency::ReadMiss {
            *waiting = Miss::Read;
            if message.stamp != 0 {
                self.leases.expired_too_early(message.line);
            }
            self.mshrs.push_target(register, Reader::of(message));
        } else {
            *waiting = Miss::Write(*message);
        }
        out.send(Message::control(memory::FETCH, message.line, self.me, self.memory));
        Outcome::Done
    }

    /// Whether a miss register is free, after those are freed whose leases have ended. If none is, asks to try again
    /// when the next lease has ended.
    fn has_register(&mut self, now: Stamp, out: &mut Outbox<W>) -> bool {
        if !self.mshrs.is_full() {
            return true;
        }
        let parked = self.mshrs.iter().filter(|(_, waiting)| waiting.is_parked());
        match parked.map(|(_, waiting)| waiting.stamp).min() {
            Some(first) if first < now => {
                self.mshrs.release_where(|waiting| waiting.is_parked() && waiting.stamp < now);
            }
            Some(first) => out.wake_at(self.counter.time(first) + 1),
            None => {}
        }
        !self.mshrs.is_full()
    }

    /// A write that stays at the head of its queue until the leases of its line have ended.
    fn wait_for_leases(&self, line: LineAddr, out: &mut Outbox<W>) -> Outcome {
        let parked = self.mshrs.get(line).map(|waiting| waiting.stamp);
        let stamp = self.lines.find(line).map(|slot| self.lines.meta(slot).stamp).or(parked);
        out.wake_at(self.counter.time(stamp.unwrap_or(0)) + 1);
        Outcome::Stall
    }

    /// Gives a lease on a line.
    fn lease(&mut self, slot: Slot, line: LineAddr, now: Stamp) -> Stamp {
        let cycles = self.leases.cycles(line);
        self.tallies.add(LEASES, 1);
        self.tallies.add(LEASE_CYCLES, cycles);
        let end = self.counter.after(now, cycles);
        let unrecorded = self.faulty(L2Fault::UnrecordedLease);
        let line = self.lines.meta_mut(slot);
        let end = end.max(line.stamp);
        if !unrecorded || line.stamp < now {
            line.stamp = end;
        }
        end
    }

    fn read(&mut self, slot: Slot, state: State, message: &Message<W>, out: &mut Outbox<W>) {
        // A line that nobody has read since it came or was written has no lease that could have ended too early.
        let ended = state == State::E && self.lines.meta(slot).stamp != 0;
        if message.stamp != 0 || ended {
            self.leases.expired_too_early(message.line);
        }
        let end = self.lease(slot, message.line, self.counter.stamp(out.now));
        self.lines.meta_mut(slot).shared = state != State::E && !self.faulty(L2Fault::SharedAsPrivate);
        let stamp = self.counter.time(end);
        out.send(Message { stamp, ..message.reply_line(DATA, self.lines.data(slot)) });
    }

    /// A write or atomic of a resident line.
    fn write(&mut self, slot: Slot, state: State, message: &Message<W>, out: &mut Outbox<W>) -> Outcome {
        let stamp = self.lines.meta(slot).stamp;
        // The last timestamp of a round is given to everybody who comes late in it: it says nothing about who has a
        // copy.
        let matches = stamp == self.counter.received(message.stamp) && stamp != self.counter.latest();
        let private = state == State::P && matches;
        let hasty = self.faulty(L2Fault::HastyWrite)
            || (self.faulty(L2Fault::EarlyWrite) && stamp == self.counter.stamp(out.now));
        if self.writes == Writes::Wait && state != State::E && !private && !hasty {
            return self.wait_for_leases(message.line, out);
        }
        self.lines.touch(slot);
        if state != State::E {
            self.leases.written_unexpired(message.line);
        }
        match self.writes {
            Writes::Wait => {
                let answer = self.perform(slot, message, ACK);
                out.send(answer);
            }
            Writes::GoOn => self.write_and_go_on(slot, state, matches, message, out),
        }
        Outcome::Done
    }

    /// The cells of Table 2 for writes and atomics in P, S and E.
    fn write_and_go_on(&mut self, slot: Slot, state: State, matches: bool, message: &Message<W>, out: &mut Outbox<W>) {
        let latest = self.counter.latest();
        let unchanged = self.faulty(L2Fault::UnchangedTimestamp);
        let line = self.lines.meta_mut(slot);
        let before = line.stamp;
        if state == State::E {
            line.stamp = 0;
        } else if !unchanged {
            line.stamp = latest.min(line.stamp.saturating_add(1));
        }
        if message.atomic.is_none() {
            line.shared = false;
        }
        let after = line.stamp;
        let kind = match (state, message.kind) {
            (State::E, _) => ACK,
            (_, UPGR) if !matches => DATA_G,
            (State::P, UPGR) => ACK,
            (State::I | State::P | State::S | State::IS | State::IM | State::MI, _) => ACK_G,
        };
        let old = self.faulty(L2Fault::OldRefill).then(|| *self.lines.data(slot));
        let mut answer = self.perform(slot, message, kind);
        if answer.kind == DATA_G {
            // The writer's fresh copy may live as long as the line's new timestamp says.
            self.tallies.add(REFRESHED_WRITERS, 1);
            answer.stamp = self.counter.time(after);
            (answer.mask, answer.data) = (ByteMask::full::<W>(), old.unwrap_or(*self.lines.data(slot)));
        } else if state != State::E && answer.kind != ACK && !self.faulty(L2Fault::UntimedAck) {
            answer.stamp = self.counter.time(before);
        }
        out.send(answer);
    }

    /// Changes a line's data and gives the answer: `kind` to a write, old values to an atomic.
    fn perform(&mut self, slot: Slot, message: &Message<W>, kind: MsgKind) -> Message<W> {
        self.lines.meta_mut(slot).dirty = true;
        let fault = if let Some(L2Fault::Write(fault)) = self.fault { Some(fault) } else { None };
        let answer = perform_with(fault, message, self.lines.data_mut(slot));
        Message { kind: if message.atomic.is_some() { ATOMIC_DATA_G } else { kind }, ..answer }
    }

    /// Ends a miss: the line is resident, with the timestamp of its earlier stay. Returns that timestamp.
    fn fill(&mut self, slot: Slot, register: Register, message: &Message<W>) -> Stamp {
        let stamp = self.mshrs.payload(register).stamp;
        self.lines.fill(slot, &message.data);
        *self.lines.meta_mut(slot) = Line { stamp, ..Line::default() };
        stamp
    }

    fn fill_read(&mut self, slot: Slot, message: &Message<W>, out: &mut Outbox<W>) {
        let Some(register) = self.mshrs.find(message.line) else { return };
        let now = self.counter.stamp(out.now);
        let mut shared = self.fill(slot, register, message) >= now && !self.faulty(L2Fault::ForgetfulReadMiss);
        let stamp = self.lease(slot, message.line, now);
        let stamp = self.counter.time(stamp);
        let mut readers = 0;
        while let Some(reader) = self.mshrs.pop_target(register) {
            readers += 1;
            out.send(Message { kind: DATA, stamp, ..reader.answer(message) });
        }
        shared |= readers > 1;
        self.lines.meta_mut(slot).shared = shared;
        self.mshrs.release(register);
    }

    fn fill_write(&mut self, slot: Slot, message: &Message<W>, out: &mut Outbox<W>) {
        let Some(register) = self.mshrs.find(message.line) else { return };
        let stamp = self.fill(slot, register, message);
        let miss = self.mshrs.payload(register).miss;
        self.mshrs.release(register);
        let leased = stamp >= self.counter.stamp(out.now) && !self.faulty(L2Fault::ForgetfulWriteMiss);
        if !leased {
            self.lines.meta_mut(slot).stamp = 0;
        }
        let state = if leased { State::S } else { State::E };
        if let Miss::Write(write) = miss {
            // TC-Strong fetches for a write only when no lease runs, so nothing waits here.
            self.write(slot, state, &write, out);
            if self.faulty(L2Fault::OverwrittenMiss) {
                self.lines.fill(slot, &message.data);
            }
        }
    }

    fn evict(&mut self, line: LineAddr, out: &mut Outbox<W>) -> Result<Outcome, Unspecified> {
        let (state, slot) = self.state(line, self.counter.stamp(out.now));
        match (state, slot) {
            (State::P | State::S | State::E, Some(slot)) => Ok(self.leave(slot, out)),
            (State::IS | State::IM, _) => Ok(Outcome::Stall),
            (State::I | State::MI | State::P | State::S | State::E, _) => Err(unspecified(state, Event::Evict, line)),
        }
    }

    /// Takes a resident line out. If its lease still runs, its timestamp moves to a register, which has to be free.
    fn leave(&mut self, slot: Slot, out: &mut Outbox<W>) -> Outcome {
        let (line, stamp) = (self.lines.line(slot), self.lines.meta(slot).stamp);
        let now = self.counter.stamp(out.now);
        if stamp >= now {
            if !self.faulty(L2Fault::ForgottenTimestamp) {
                if !self.has_register(now, out) {
                    return Outcome::Stall;
                }
                self.mshrs.insert(line, Waiting { stamp, miss: Miss::None });
                self.tallies.add(PARKED_TIMESTAMPS, 1);
            }
            self.leases.evicted_unexpired(line);
        }
        if self.lines.meta(slot).dirty && !self.faulty(L2Fault::LostWriteBack) {
            out.send(write_back(line, self.lines.data(slot), self.me, self.memory));
        }
        self.lines.remove(slot);
        Outcome::Done
    }

    fn pass_time(&mut self, passage: Passage, now: Stamp) {
        match passage {
            Passage::Wake => {}
            Passage::Tick => {
                self.lines.change_all(|line| line.stamp = aged(line.stamp, now));
                self.mshrs.change_payloads(|waiting| waiting.stamp = aged(waiting.stamp, now));
                self.release_expired();
            }
            Passage::RollOver => self.roll_over(),
        }
    }

    /// The counters begin anew (section 6.5): no lease of the old round runs any more.
    fn roll_over(&mut self) {
        self.lines.change_all(|line| line.stamp = 0);
        self.mshrs.change_payloads(|waiting| waiting.stamp = 0);
        self.release_expired();
    }

    fn release_expired(&mut self) {
        self.mshrs.release_where(|waiting| waiting.is_parked() && waiting.stamp == 0);
    }
}

fn unspecified(state: State, event: Event, line: LineAddr) -> Unspecified {
    VOCABULARY.unspecified(state as usize, event as usize, line)
}

impl<L: Leases, const W: usize> Controller<W> for TcL2<L, W> {
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
        }
        let now = self.counter.stamp(out.now);
        match input {
            Input::Core(request) => Err(unspecified(self.state(request.line, now).0, Event::Foreign, request.line)),
            Input::Message(message) => self.step_message(message, out),
            Input::Evict(line) => self.evict(*line, out),
            Input::EvictEntry(_) => Ok(Outcome::Done),
            Input::Time(passage) => {
                self.pass_time(*passage, now);
                Ok(Outcome::Done)
            }
        }
    }

    fn view(&self, line: LineAddr, now: Time) -> LineView<W> {
        let (state, slot) = self.state(line, self.counter.stamp(now));
        let Some(slot) = slot else { return LineView { state: state as u8, ..LineView::default() } };
        let Line { residency, dirty, .. } = *self.lines.meta(slot);
        let full = ByteMask::full::<W>();
        LineView {
            state: state as u8,
            readable: if residency == Residency::Resident { full } else { ByteMask::EMPTY },
            dirty: if dirty { full } else { ByteMask::EMPTY },
            data: *self.lines.data(slot),
            sharers: Sharers::default(),
        }
    }

    fn evictable(&self, line: LineAddr, now: Time) -> bool {
        match self.state(line, self.counter.stamp(now)).0 {
            State::P | State::S | State::E => true,
            State::I | State::IS | State::IM | State::MI => false,
        }
    }

    fn quiescent(&self) -> bool {
        self.mshrs.iter().all(|(_, waiting)| waiting.is_parked())
    }

    fn tallies(&self) -> &[Tally] {
        self.tallies.as_slice()
    }

    fn dirty_lines(&self, visit: &mut dyn FnMut(LineAddr, ByteMask, &LineData<W>)) {
        for (line, _, data) in self.lines.iter().filter(|(_, meta, _)| meta.dirty) {
            visit(line, ByteMask::full::<W>(), data);
        }
    }
}
