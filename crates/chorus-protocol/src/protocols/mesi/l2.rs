//! The shared bank of MESI. It is inclusive and keeps the sharers or the owner of each line in its tags. It is a bank
//! of the L2, whose clients are private caches, or of an L3, whose clients are CPU cores and the banks of an L2.
//!
//! A line is blocked while other caches are probed for it. Requests for it wait in the pool of waiting requests, and
//! the bank serves others. A probe is always answered, even by a cache that has written the line back meanwhile. The
//! bank takes the answer and the write-back in any order (MT_IIB, MT_IB, MT_SB), so no probe is ever on its way to a
//! cache that the bank has finished with.

use crate::address::{AgentId, LineAddr, Role};
use crate::cache::{CacheArray, Geometry, Room, Slot};
use crate::controller::{Classified, Controller, Input, LineView, Outbox, Outcome, Time, Unspecified, Vocabulary};
use crate::line::{ByteMask, LineData};
use crate::message::{Message, MsgKind, memory};
use crate::mshr::{Mshrs, Register};
use crate::protocols::mesi::faults::L2Fault;
use crate::protocols::mesi::l2_states::{Event, State};
pub use crate::protocols::mesi::l2_states::{L2, L3};
use crate::protocols::mesi::messages::{DATA, DATA_E, DATA_M, FWD_GETS, INV, PUTX_CLEAN, RCL, UPGRADE_ACK, WB_ACK};
use crate::registry::BuildConfig;
use crate::save::{self, Restore, Save};
use crate::sharers::Sharers;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Save)]
struct Line {
    state: State,
    dirty: bool,
    /// The caches that may hold a copy. If there is an owner, it is the only one.
    sharers: Sharers,
}

/// The copy or permission that a request gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Save)]
enum Grant {
    /// A shared copy of the line.
    Shared,
    /// The only copy, for a load.
    Exclusive,
    /// The only copy, for a store or atomic.
    Modified,
    /// Permission to write the copy that the requester has.
    Upgrade,
}

/// The answer of a cache to a probe or a recall.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    /// The cache's data was the same as the bank's.
    Ack,
    /// The answer carries the cache's data.
    Data,
    /// The cache's write-back carries the data.
    WbPending,
}

/// The reason for which a line in a transient state waits. MT_MB has no register, since the sharers already name the
/// cache whose report it waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Save)]
enum Waiting<const W: usize> {
    /// ISS, IS, IM: the line waits for memory. The caches that want it are merged as targets.
    Fetch,
    /// SS_MB, MT_IIB, MT_IB, MT_SB: the line waits for this number of answers, for this request.
    Probe { answers: u16, requester: AgentId, grant: Grant },
    /// I_I, S_I, MT_I, MCT_I, MT_IB: the line waits for this number of answers, after which it is gone. It has already
    /// left its place to another line.
    Recall { answers: u16, line: Line, data: LineData<W> },
}

/// A shared bank of the MESI protocol.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Restore)]
pub struct MesiL2<const W: usize> {
    /// The cache level of the bank: L2 or L3.
    #[save(built)]
    role: Role,
    #[save(built)]
    me: AgentId,
    #[save(built)]
    memory: AgentId,
    #[save(built)]
    fault: Option<L2Fault>,
    lines: CacheArray<Line, W>,
    mshrs: Mshrs<Waiting<W>, AgentId>,
}

impl<const W: usize> MesiL2<W> {
    /// An empty bank of the L2, which private caches share.
    pub fn l2(index: u16, config: &BuildConfig, fault: Option<L2Fault>) -> Self {
        let topology = config.topology;
        MesiL2::new(
            Role::L2,
            [topology.l2(index), topology.memory(index)],
            &config.l2.geometry(topology.l2s),
            config.l2.mshrs,
            fault,
        )
    }

    /// An empty bank of the L3, which CPU cores and the banks of the L2 share. All of them must be among the first
    /// [`Sharers::CAPACITY`] agents.
    pub fn l3(index: u16, config: &BuildConfig, fault: Option<L2Fault>) -> Self {
        let topology = config.topology;
        MesiL2::new(
            Role::L3,
            [topology.l3(index), topology.memory(index)],
            &config.l3.geometry(topology.l3s),
            config.l3.mshrs,
            fault,
        )
    }

    fn new(role: Role, [me, memory]: [AgentId; 2], lines: &Geometry, mshrs: u32, fault: Option<L2Fault>) -> Self {
        MesiL2 { role, me, memory, fault, lines: CacheArray::new(*lines), mshrs: Mshrs::new(mshrs) }
    }

    fn state(&self, line: LineAddr) -> (State, Option<Slot>) {
        if let Some(slot) = self.lines.find(line) {
            return (self.lines.meta(slot).state, Some(slot));
        }
        match self.mshrs.get(line) {
            Some(Waiting::Recall { line, .. }) => (line.state, None),
            Some(Waiting::Fetch | Waiting::Probe { .. }) | None => (State::NP, None),
        }
    }

    fn event(input: &Input<'_, W>) -> Option<(LineAddr, Event)> {
        match input {
            Input::Core(_) | Input::EvictEntry(_) | Input::Time(_) => None,
            Input::Message(message) => Some((message.line, Event::of(message.kind))),
            Input::Evict(line) => Some((*line, Event::Evict)),
        }
    }

    /// The hole in row `state` and column `event`.
    fn unspecified(&self, state: State, event: Event, line: LineAddr) -> Unspecified {
        self.vocabulary().unspecified(state as usize, event as usize, line)
    }

    fn faulty(&self, fault: L2Fault) -> bool {
        self.fault == Some(fault)
    }

    fn step_message(&mut self, message: &Message<W>, out: &mut Outbox<W>) -> Result<Outcome, Unspecified> {
        let (state, slot) = self.state(message.line);
        let event = Event::of(message.kind);
        let outcome = match event {
            Event::GetS | Event::GetX | Event::Upgrade => Some(self.request(event, state, slot, message, out)),
            Event::InvAck | Event::FwdAck => self.probed(Answer::Ack, state, slot, message, out),
            Event::InvData | Event::FwdData => self.probed(Answer::Data, state, slot, message, out),
            Event::RclAck => self.recalled(Answer::Ack, state, message, out),
            Event::RclData => self.recalled(Answer::Data, state, message, out),
            Event::WbPending if slot.is_some() => self.probed(Answer::WbPending, state, slot, message, out),
            Event::WbPending => self.recalled(Answer::WbPending, state, message, out),
            Event::ExclusiveUnblock => self.unblock(state, slot),
            Event::PutX | Event::PutXClean => self.put(state, slot, message, out),
            Event::MemData => self.fill(state, slot, message, out),
            Event::Evict | Event::Foreign => None,
        };
        outcome.ok_or_else(|| self.unspecified(state, event, message.line))
    }

    fn request(
        &mut self,
        event: Event,
        state: State,
        slot: Option<Slot>,
        message: &Message<W>,
        out: &mut Outbox<W>,
    ) -> Outcome {
        let reads = event == Event::GetS;
        match (state, slot) {
            (State::NP, _) => return self.miss(message, if reads { State::Iss } else { State::IM }, out),
            (State::Iss | State::IS, Some(slot)) if reads => {
                self.lines.meta_mut(slot).state = State::IS;
                if let Some(register) = self.mshrs.find(message.line) {
                    self.mshrs.push_target(register, message.src);
                }
            }
            (State::SsMb, Some(slot)) if reads && self.faulty(L2Fault::ReadInTransit) => {
                let answer = Message::control(DATA, message.line, self.me, message.src);
                out.send(Message { mask: ByteMask::full::<W>(), data: *self.lines.data(slot), ..answer });
            }
            (State::SS, Some(slot)) if reads => self.grant(slot, message.line, message.src, Grant::Shared, out),
            (State::M, Some(slot)) => {
                let grant = if reads { Grant::Exclusive } else { Grant::Modified };
                self.grant(slot, message.line, message.src, grant, out);
            }
            (State::SS | State::MT, Some(slot)) => {
                let has_copy = self.lines.meta(slot).sharers.contains(message.src);
                let upgrades = event == Event::Upgrade && (has_copy || self.faulty(L2Fault::StaleUpgrade));
                let write = if upgrades { Grant::Upgrade } else { Grant::Modified };
                let grant = if reads { Grant::Shared } else { write };
                return self.probe(slot, message, grant, out);
            }
            (
                State::Iss
                | State::IS
                | State::IM
                | State::II
                | State::SI
                | State::MtI
                | State::MctI
                | State::SsMb
                | State::MtMb
                | State::MtIib
                | State::MtIb
                | State::MtSb,
                _,
            )
            | (State::SS | State::M | State::MT, None) => return Outcome::Stall,
        }
        Outcome::Done
    }

    fn miss(&mut self, message: &Message<W>, state: State, out: &mut Outbox<W>) -> Outcome {
        if self.mshrs.is_full() {
            return Outcome::Stall;
        }
        let slot = match self.lines.room_for(message.line, |line| line.state.stable()) {
            Room::Busy => return Outcome::Stall,
            Room::Occupied(slot) if !out.evicts => return Outcome::Evict(self.lines.line(slot)),
            Room::Occupied(slot) => {
                // A recall may take the last register.
                if self.leave(slot, out) != Outcome::Done || self.mshrs.is_full() {
                    return Outcome::Stall;
                }
                slot
            }
            Room::Free(slot) => slot,
        };
        self.lines.insert(slot, message.line, Line { state, ..Line::default() });
        self.lines.fill(slot, &LineData::default());
        let register = self.mshrs.insert(message.line, Waiting::Fetch);
        self.mshrs.push_target(register, message.src);
        out.send(Message::control(memory::FETCH, message.line, self.me, self.memory));
        Outcome::Done
    }

    fn fill(&mut self, state: State, slot: Option<Slot>, message: &Message<W>, out: &mut Outbox<W>) -> Option<Outcome> {
        let grant = match state {
            State::Iss => Grant::Exclusive,
            State::IS => Grant::Shared,
            State::IM => Grant::Modified,
            State::NP | State::SS | State::M | State::MT | State::II | State::SI | State::MtI | State::MctI => {
                return None;
            }
            State::SsMb | State::MtMb | State::MtIib | State::MtIb | State::MtSb => return None,
        };
        let (slot, register) = (slot?, self.mshrs.find(message.line)?);
        self.lines.fill(slot, &message.data);
        while let Some(requester) = self.mshrs.pop_target(register) {
            self.grant(slot, message.line, requester, grant, out);
        }
        self.mshrs.release(register);
        Some(Outcome::Done)
    }

    /// Grants a request once nothing stands in its way any more.
    fn grant(&mut self, slot: Slot, line: LineAddr, requester: AgentId, grant: Grant, out: &mut Outbox<W>) {
        self.lines.touch(slot);
        let Line { state, sharers, .. } = self.lines.meta_mut(slot);
        let kind = match grant {
            Grant::Shared => DATA,
            Grant::Exclusive => DATA_E,
            Grant::Modified => DATA_M,
            Grant::Upgrade => UPGRADE_ACK,
        };
        if grant == Grant::Shared {
            *state = State::SS;
        } else {
            *state = if self.fault == Some(L2Fault::OpenGrant) { State::MT } else { State::MtMb };
            *sharers = Sharers::NONE;
        }
        if sharers.is_empty() || self.fault != Some(L2Fault::MissingSharer) {
            sharers.insert(requester);
        }
        let mut answer = Message::control(kind, line, self.me, requester);
        if grant != Grant::Upgrade {
            (answer.mask, answer.data) = (ByteMask::full::<W>(), *self.lines.data(slot));
        }
        out.send(answer);
    }

    /// Probes the other caches that may hold a line. If there are none, the request is granted at once.
    fn probe(&mut self, slot: Slot, message: &Message<W>, grant: Grant, out: &mut Outbox<W>) -> Outcome {
        let Line { state, sharers, .. } = *self.lines.meta(slot);
        let mut others = sharers.without(message.src);
        if self.faulty(L2Fault::LostInvalidation)
            && let Some(last) = others.iter().last()
        {
            others = others.without(last);
        }
        if !others.is_empty() && self.mshrs.is_full() {
            return Outcome::Stall;
        }
        self.ask(if grant == Grant::Shared { FWD_GETS } else { INV }, others, message.line, out);
        if others.is_empty() || (grant != Grant::Shared && self.faulty(L2Fault::EarlyGrant)) {
            self.grant(slot, message.line, message.src, grant, out);
            return Outcome::Done;
        }
        self.lines.meta_mut(slot).state = if state == State::MT { State::MtIib } else { State::SsMb };
        let awaited = if self.faulty(L2Fault::Miscount) { sharers } else { others };
        let probe = Waiting::Probe { answers: awaited.len(), requester: message.src, grant };
        self.mshrs.insert(message.line, probe);
        Outcome::Done
    }

    fn ask(&self, question: MsgKind, caches: Sharers, line: LineAddr, out: &mut Outbox<W>) {
        for agent in caches.iter() {
            out.send(Message::control(question, line, self.me, agent));
        }
    }

    /// Takes a cache's answer to a probe.
    fn probed(
        &mut self,
        answer: Answer,
        state: State,
        slot: Option<Slot>,
        message: &Message<W>,
        out: &mut Outbox<W>,
    ) -> Option<Outcome> {
        let slot = slot?;
        match (state, answer) {
            (State::SsMb, Answer::Ack) | (State::MtSb, Answer::Ack | Answer::WbPending) => {}
            (State::MtIib, Answer::Ack | Answer::Data) => self.take_data(slot, message),
            (State::MtIib, Answer::WbPending) => {
                self.lines.meta_mut(slot).state = State::MtIb;
                return Some(Outcome::Done);
            }
            (State::SsMb, Answer::Data | Answer::WbPending) | (State::MtSb, Answer::Data) => return None,
            (State::NP | State::SS | State::M | State::MT | State::Iss | State::IS | State::IM, _)
            | (State::II | State::SI | State::MtI | State::MctI | State::MtMb | State::MtIb, _) => return None,
        }
        if let Some(register) = self.answered(message.line) {
            self.grant_waiting(slot, message.line, register, out);
        }
        Some(Outcome::Done)
    }

    /// Takes over the data, if any, that the owner's message carries for a resident line.
    fn take_data(&mut self, slot: Slot, message: &Message<W>) {
        if self.faulty(L2Fault::EmptyPut) && message.kind == PUTX_CLEAN {
            self.lines.fill(slot, &message.data);
        }
        if message.mask.is_empty() || self.faulty(L2Fault::StaleForward) {
            return;
        }
        self.lines.data_mut(slot).merge(message.mask, &message.data);
        self.lines.meta_mut(slot).dirty = true;
    }

    /// Counts an answer for a line. Returns the line's register if this was the last answer.
    fn answered(&mut self, line: LineAddr) -> Option<Register> {
        let register = self.mshrs.find(line)?;
        match self.mshrs.payload_mut(register) {
            Waiting::Probe { answers, .. } | Waiting::Recall { answers, .. } => {
                *answers -= 1;
                (*answers == 0).then_some(register)
            }
            Waiting::Fetch => None,
        }
    }

    /// Grants the request for which a line was blocked.
    fn grant_waiting(&mut self, slot: Slot, line: LineAddr, register: Register, out: &mut Outbox<W>) {
        if let Waiting::Probe { requester, grant, .. } = *self.mshrs.payload(register) {
            self.mshrs.release(register);
            self.grant(slot, line, requester, grant, out);
        }
    }

    /// Takes the report of a new owner.
    fn unblock(&mut self, state: State, slot: Option<Slot>) -> Option<Outcome> {
        match state {
            // With this fault the report may come in any of these states, and nobody waits for it.
            State::NP | State::SS | State::M | State::MT | State::II | State::SI | State::MtI | State::MctI
                if self.faulty(L2Fault::OpenGrant) =>
            {
                Some(Outcome::Done)
            }
            State::MtMb => {
                self.lines.meta_mut(slot?).state = State::MT;
                Some(Outcome::Done)
            }
            State::NP | State::SS | State::M | State::MT | State::Iss | State::IS | State::IM => None,
            State::II | State::SI | State::MtI | State::MctI => None,
            State::SsMb | State::MtIib | State::MtIb | State::MtSb => None,
        }
    }

    /// Takes a line that its owner gives up. The owner may do so before it reports that the line has come (MT_MB), or
    /// after it has answered a probe (MT_IB). It may also do so before a probe reaches it (MT_IIB, MT_I, MCT_I). Then
    /// its answer is still to come, and is that of a cache without a copy.
    fn put(&mut self, state: State, slot: Option<Slot>, message: &Message<W>, out: &mut Outbox<W>) -> Option<Outcome> {
        match (state, slot) {
            (State::MtMb, Some(slot)) if self.faulty(L2Fault::EarlyPut) => {
                self.take_data(slot, message);
                *self.lines.meta_mut(slot) = Line { state: State::M, sharers: Sharers::NONE, ..*self.lines.meta(slot) };
            }
            (State::MtMb, _) => return Some(Outcome::Stall),
            (State::MT | State::MtIib | State::MtIb, Some(slot)) => {
                self.take_data(slot, message);
                let line = self.lines.meta_mut(slot);
                line.sharers = Sharers::NONE;
                line.state = if state == State::MT { State::M } else { State::MtSb };
                if state == State::MtIb || (state == State::MtIib && self.faulty(L2Fault::CrossedWriteBack)) {
                    let register = self.mshrs.find(message.line)?;
                    self.grant_waiting(slot, message.line, register, out);
                }
            }
            (State::MtI | State::MctI | State::MtIb, None) => {
                let register = self.mshrs.find(message.line)?;
                let dropped = self.faulty(L2Fault::CrossedRecall);
                if let Waiting::Recall { line, data, .. } = self.mshrs.payload_mut(register) {
                    if !dropped {
                        data.merge(message.mask, &message.data);
                        line.dirty |= !message.mask.is_empty();
                    }
                    line.state = if line.dirty { State::SI } else { State::II };
                }
                if state == State::MtIb {
                    self.drop_recalled(message.line, register, out);
                }
            }
            (State::NP | State::SS | State::M | State::Iss | State::IS | State::IM, _)
            | (State::II | State::SI | State::SsMb | State::MtSb, _)
            | (State::MtI | State::MctI, Some(_))
            | (State::MT | State::MtIib, None) => return None,
        }
        if state != State::MtIb || !self.faulty(L2Fault::LostWbAck) {
            out.send(message.reply(WB_ACK));
        }
        Some(Outcome::Done)
    }

    /// Takes a cache's answer to a recall.
    fn recalled(&mut self, answer: Answer, state: State, message: &Message<W>, out: &mut Outbox<W>) -> Option<Outcome> {
        let register = self.mshrs.find(message.line)?;
        let Waiting::Recall { answers, line, data } = self.mshrs.payload_mut(register) else { return None };
        match (state, answer) {
            (State::II | State::SI, Answer::Ack | Answer::WbPending) | (State::MtI | State::MctI, Answer::Ack) => {}
            (State::MtI | State::MctI, Answer::Data) => {
                *data = message.data;
                line.dirty |= self.fault != Some(L2Fault::LostRecallData);
            }
            (State::MtI | State::MctI, Answer::WbPending) => {
                line.state = State::MtIb;
                return Some(Outcome::Done);
            }
            (State::II | State::SI, Answer::Data)
            | (State::NP | State::SS | State::M | State::MT | State::Iss | State::IS | State::IM, _)
            | (State::SsMb | State::MtMb | State::MtIib | State::MtIb | State::MtSb, _) => return None,
        }
        *answers -= 1;
        if *answers == 0 {
            self.drop_recalled(message.line, register, out);
        }
        Some(Outcome::Done)
    }

    /// Drops a recalled line of which no cache has a copy any more.
    fn drop_recalled(&mut self, line: LineAddr, register: Register, out: &mut Outbox<W>) {
        if let Waiting::Recall { line: Line { dirty: true, .. }, data, .. } = self.mshrs.payload(register) {
            out.send(self.write_back(line, data));
        }
        self.mshrs.release(register);
    }

    fn write_back(&self, line: LineAddr, data: &LineData<W>) -> Message<W> {
        Message { mask: ByteMask::full::<W>(), data: *data, ..Message::control(memory::WB, line, self.me, self.memory) }
    }

    /// Takes a line out. A line with private copies leaves its place at once, and waits in a miss register until the
    /// copies are gone.
    fn evict(&mut self, line: LineAddr, out: &mut Outbox<W>) -> Result<Outcome, Unspecified> {
        let (state, slot) = self.state(line);
        match (state, slot) {
            (State::M | State::SS | State::MT, Some(slot)) => Ok(self.leave(slot, out)),
            (State::Iss | State::IS | State::IM | State::II | State::SI | State::MtI | State::MctI, _)
            | (State::SsMb | State::MtMb | State::MtIib | State::MtIb | State::MtSb, _) => Ok(Outcome::Stall),
            (State::NP | State::M | State::SS | State::MT, _) => Err(self.unspecified(state, Event::Evict, line)),
        }
    }

    /// Takes a line in a stable state out. Copies in private caches are recalled, for which a register has to be free.
    fn leave(&mut self, slot: Slot, out: &mut Outbox<W>) -> Outcome {
        let (line, mut evicted) = (self.lines.line(slot), *self.lines.meta(slot));
        let is_recalled = evicted.state == State::SS && !self.faulty(L2Fault::SkippedRecall);
        let leaving = if evicted.state == State::MT {
            Some((State::MtI, State::MctI))
        } else {
            is_recalled.then_some((State::SI, State::II))
        };
        if leaving.is_some() && self.mshrs.is_full() {
            return Outcome::Stall;
        }
        let data = *self.lines.data(slot);
        self.lines.remove(slot);
        if let Some((if_dirty, if_clean)) = leaving {
            evicted.state = if evicted.dirty { if_dirty } else { if_clean };
            self.ask(RCL, evicted.sharers, line, out);
            self.mshrs.insert(line, Waiting::Recall { answers: evicted.sharers.len(), line: evicted, data });
        } else if evicted.dirty {
            out.send(self.write_back(line, &data));
        }
        Outcome::Done
    }
}

impl<const W: usize> Controller<W> for MesiL2<W> {
    fn vocabulary(&self) -> &'static Vocabulary {
        if self.role == Role::L3 { &L3 } else { &L2 }
    }

    fn classify(&self, input: &Input<'_, W>, _: Time) -> Option<Classified> {
        let (line, event) = Self::event(input)?;
        Some(Classified { line, state: self.state(line).0 as u8, event: event as u8 })
    }

    fn step(&mut self, input: &Input<'_, W>, out: &mut Outbox<W>) -> Result<Outcome, Unspecified> {
        match input {
            Input::Core(request) => Err(self.unspecified(self.state(request.line).0, Event::Foreign, request.line)),
            Input::Message(message) => self.step_message(message, out),
            Input::Evict(line) => self.evict(*line, out),
            Input::EvictEntry(_) | Input::Time(_) => Ok(Outcome::Done),
        }
    }

    /// If a private cache owns the line, the bank's data may be old. Then the owner's data counts.
    fn view(&self, line: LineAddr, _: Time) -> LineView<W> {
        let (state, slot) = self.state(line);
        let (Line { dirty, sharers, .. }, data) = match (slot, self.mshrs.get(line)) {
            (Some(slot), _) => (*self.lines.meta(slot), *self.lines.data(slot)),
            (None, Some(Waiting::Recall { line, data, .. })) => (*line, *data),
            (None, Some(Waiting::Fetch | Waiting::Probe { .. }) | None) => return LineView::default(),
        };
        let full_if = |held: bool| if held { ByteMask::full::<W>() } else { ByteMask::EMPTY };
        LineView { state: state as u8, readable: full_if(state.has_line()), dirty: full_if(dirty), data, sharers }
    }

    fn evictable(&self, line: LineAddr, _: Time) -> bool {
        self.state(line).0.stable()
    }

    fn quiescent(&self) -> bool {
        self.mshrs.is_empty() && self.lines.iter().all(|(_, line, _)| line.state.stable())
    }

    fn dirty_lines(&self, visit: &mut dyn FnMut(LineAddr, ByteMask, &LineData<W>)) {
        for (line, _, data) in self.lines.iter().filter(|(_, meta, _)| meta.dirty) {
            visit(line, ByteMask::full::<W>(), data);
        }
        for (line, waiting) in self.mshrs.iter() {
            if let Waiting::Recall { line: Line { dirty: true, .. }, data, .. } = waiting {
                visit(line, ByteMask::full::<W>(), data);
            }
        }
    }
}
