//! The Spandex LLC (Spandex paper, section III-B): Invalid, Valid or Shared lines with words that are owned one by one.
//!
//! Requests are served at once wherever the paper does so (`serve`). Requests for owned words are forwarded to the
//! owners, who answer the requestor. The LLC takes the next state before anybody has answered. Only writes to Shared
//! lines, ReqS (1) and ReqWT+data on owned words, and replacements wait for devices (`block`). Other requests for
//! such a line wait with them.
//!
//! A write-back of words that its sender no longer owns changes nothing. In this case a forwarded request is on its way
//! to the sender, which completes the write-back of those words there (section III-C). The write-back is answered all
//! the same. Since nothing relies on the order of messages, a device must not request a line again while its write-back
//! is on its way. Otherwise the LLC could mistake the late write-back for one of the words that the device owns by
//! then.

mod behind;
mod block;
pub mod faults;
pub(crate) mod line;
pub mod policy;
mod serve;
mod states;

use crate::address::{AgentId, LineAddr, Role, Topology};
use crate::cache::{CacheArray, Room, Slot};
use crate::controller::{Classified, Controller, Input, LineView, Outbox, Outcome, Time, Unspecified, Vocabulary};
use crate::line::{ByteMask, LineData};
use crate::message::{Message, MsgKind, memory};
use crate::mshr::Mshrs;
use crate::protocols::spandex::messages::{
    ACK, INV, REQ_O, REQ_O_DATA, REQ_S, REQ_V, REQ_WB, REQ_WT, REQ_WT_DATA, RSP_RVK_O, RSP_RVK_O_REFERRED, RSP_WB,
    RVK_O,
};
use crate::registry::BuildConfig;
use crate::save::{self, Restore};
use crate::sharers::Sharers;
use behind::Behind;
use block::{Answers, Probe, Waiting};
use faults::LlcFault;
use line::{Busy, Fetch, Line, all_words, owned_by, owners, words_of};
use policy::{Devices, ReadShared};
use states::{Event, State, unspecified};
pub use states::{L2, L3};

/// A bank of the Spandex LLC.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Restore)]
pub struct SpandexLlc<const W: usize> {
    #[save(built)]
    me: AgentId,
    #[save(built)]
    is_l3: bool,
    #[save(built)]
    topology: Topology,
    #[save(built)]
    behind: Behind,
    #[save(built)]
    devices: Devices,
    #[save(built)]
    read_shared: ReadShared,
    #[save(built)]
    fault: Option<LlcFault>,
    lines: CacheArray<Line, W>,
    mshrs: Mshrs<Waiting<W>, ()>,
    /// Lines about which the L3 has sent a probe.
    probes: Mshrs<Probe, ()>,
}

/// The largest number of lines about which an L3 can have sent probes at a time.
const PROBES_MAX: u32 = 1 << 16;

impl<const W: usize> SpandexLlc<W> {
    /// An empty bank. It is one of the last shared cache, or of an L2 with an L3 behind it.
    pub fn new(
        role: Role,
        index: u16,
        config: &BuildConfig,
        devices: Devices,
        read_shared: ReadShared,
        fault: Option<LlcFault>,
    ) -> Self {
        let topology = config.topology;
        let is_l3 = role == Role::L3;
        let (me, shape) = if is_l3 { (topology.l3(index), config.l3) } else { (topology.l2(index), config.l2) };
        let has_l3_behind = topology.l3s > 0 && !is_l3;
        SpandexLlc {
            me,
            is_l3,
            topology,
            behind: if has_l3_behind { Behind::L3 } else { Behind::Memory(topology.memory(index)) },
            devices,
            read_shared,
            fault,
            lines: CacheArray::new(shape.geometry(if is_l3 { topology.l3s } else { topology.l2s })),
            mshrs: Mshrs::new(shape.mshrs),
            probes: Mshrs::new(PROBES_MAX),
        }
    }

    fn faulty(&self, fault: LlcFault) -> bool {
        self.fault == Some(fault)
    }

    /// The state that a request for `words` of a line meets.
    fn state(&self, line: LineAddr, words: u32) -> (State, Option<Slot>) {
        let Some(slot) = self.lines.find(line) else {
            let state = match self.mshrs.get(line) {
                Some(Waiting::Recall(..)) => State::Recalled,
                Some(Waiting::WriteBack) => State::Leaving,
                Some(Waiting::AnsweredWriteBack) => State::LeavingAnswered,
                Some(Waiting::Fetch(_) | Waiting::Block(..)) | None => State::I,
            };
            return (state, None);
        };
        let line = self.lines.meta(slot);
        let state = match line.busy {
            Busy::Fetch(Fetch::Read | Fetch::Write) => State::Fetching,
            Busy::Fetch(Fetch::ReadOnce) => State::ReadOnce,
            Busy::Fetch(Fetch::Upgrade) => State::Upgrading,
            Busy::Answers => State::Blocked,
            Busy::No if line.is_shared => State::S,
            Busy::No if line.owned & words != 0 => State::O,
            Busy::No => State::V,
        };
        (state, Some(slot))
    }

    fn event(&self, message: &Message<W>, slot: Option<Slot>) -> Event {
        match message.kind {
            REQ_V => Event::ReqV,
            REQ_S => slot.map_or(Event::ReqS3, |slot| self.option(slot, message.src)),
            REQ_WT => Event::ReqWt,
            REQ_O => Event::ReqO,
            REQ_WT_DATA => Event::ReqWtData,
            REQ_O_DATA => Event::ReqOData,
            REQ_WB if self.owned_by_sender(message) != 0 => Event::ReqWbOwner,
            REQ_WB => Event::ReqWbOther,
            RSP_RVK_O => Event::RspRvkO,
            RSP_RVK_O_REFERRED => Event::RspRvkOReferred,
            ACK => Event::Ack,
            memory::MEM_DATA => Event::Data,
            kind => behind::event(kind),
        }
    }

    /// The words of a message that its sender owns.
    fn owned_by_sender(&self, message: &Message<W>) -> u32 {
        let (words, sender) = (words_of(message.mask), message.src);
        match (self.lines.find(message.line), self.mshrs.get(message.line)) {
            (Some(slot), _) => owned_by(self.lines.meta(slot), self.lines.data(slot), words, sender),
            (None, Some(Waiting::Recall(_, line, data))) => owned_by(line, data, words, sender),
            (None, _) => 0,
        }
    }

    fn step_message(&mut self, message: &Message<W>, out: &mut Outbox<W>) -> Result<Outcome, Unspecified> {
        let (state, slot) = self.state(message.line, words_of(message.mask));
        let event = self.event(message, slot);
        let outcome = match event {
            Event::ReqV
            | Event::ReqS1
            | Event::ReqS2
            | Event::ReqS3
            | Event::ReqWt
            | Event::ReqO
            | Event::ReqWtData
            | Event::ReqOData => Some(self.request(event, state, slot, message, out)),
            Event::ReqWbOwner | Event::ReqWbOther => Some(self.write_back(message, out)),
            Event::RspRvkO | Event::RspRvkOReferred => self.revoked(event, message, out),
            Event::Ack => self.acknowledged(message.line, out),
            Event::Data | Event::DataE | Event::DataM | Event::UpgradeAck => {
                self.granted(event, state, slot, message, out)
            }
            Event::WbAck => self.taken_back(message.line),
            Event::Inv | Event::Rcl | Event::FwdGetS => self.probed(state, slot, message, out),
            Event::Peek => Some(self.peek(state, slot, message, out)),
            Event::Evict | Event::Foreign => None,
        };
        outcome.ok_or_else(|| unspecified(state, event, message.line))
    }

    fn request(
        &mut self,
        event: Event,
        state: State,
        slot: Option<Slot>,
        message: &Message<W>,
        out: &mut Outbox<W>,
    ) -> Outcome {
        match (state, slot) {
            (State::I, _) => self.miss(event, message, out),
            (State::V | State::S | State::O, Some(_)) if self.probes.find(message.line).is_some() => Outcome::Stall,
            (State::V | State::S | State::O, Some(slot)) if self.lacks_permission(event, slot) => {
                self.upgrade(slot, message, out)
            }
            (State::V | State::S | State::O, Some(slot)) => self.serve(event, slot, message, out),
            (State::Blocked, Some(slot))
                if matches!(event, Event::ReqWt | Event::ReqO) && self.faulty(LlcFault::OpenBlock) =>
            {
                self.serve(event, slot, message, out)
            }
            (State::Fetching | State::ReadOnce | State::Upgrading | State::Blocked | State::Recalled, _)
            | (State::Leaving | State::LeavingAnswered, _)
            | (State::V | State::S | State::O, None) => Outcome::Stall,
        }
    }

    fn miss(&mut self, event: Event, message: &Message<W>, out: &mut Outbox<W>) -> Outcome {
        if self.mshrs.is_full() {
            return Outcome::Stall;
        }
        let slot = match self.lines.room_for(message.line, Line::is_idle) {
            Room::Busy => return Outcome::Stall,
            Room::Occupied(slot) if !out.evicts => return Outcome::Evict(self.lines.line(slot)),
            Room::Occupied(slot) => {
                // What leaves may take the last register.
                if self.take_out(slot, out) != Outcome::Done || self.mshrs.is_full() {
                    return Outcome::Stall;
                }
                slot
            }
            Room::Free(slot) => slot,
        };
        let fetch = self.fetch(event, message.line, out);
        self.lines.insert(slot, message.line, Line { busy: Busy::Fetch(fetch), ..Line::default() });
        self.mshrs.insert(message.line, Waiting::Fetch(*message));
        Outcome::Done
    }

    /// Takes the words of a write-back that their sender still owns. The other words were handed on by a request that
    /// is on its way to the sender. The answer names the words that have been taken for good. It is sent in any case,
    /// since it tells the sender that the write-back is no longer on its way.
    fn write_back(&mut self, message: &Message<W>, out: &mut Outbox<W>) -> Outcome {
        let mut words = self.owned_by_sender(message);
        if self.faulty(LlcFault::StaleWriteBack)
            && let Some(slot) = self.lines.find(message.line)
        {
            words = words_of(message.mask) & self.lines.meta(slot).owned;
        }
        self.take(message.line, words, &message.data);
        let awaited = match self.mshrs.find(message.line).map(|register| self.mshrs.payload_mut(register)) {
            Some(Waiting::Block(answers, _) | Waiting::Recall(answers, ..)) => {
                let awaited = words & (answers.revoked | answers.referred);
                answers.referred &= !words;
                awaited
            }
            Some(Waiting::Fetch(_) | Waiting::WriteBack | Waiting::AnsweredWriteBack) | None => 0,
        } | self.await_probe(message.line, words);
        if !self.faulty(LlcFault::LostRspWb) {
            out.send(Message { mask: ByteMask::of_words(words & !awaited), ..message.reply(RSP_WB) });
        }
        if awaited != 0 {
            self.answered(message.line, out);
        }
        Outcome::Done
    }

    /// Puts words that an owner has given up back into their place.
    fn take(&mut self, line: LineAddr, words: u32, data: &LineData<W>) {
        if words == 0 {
            return;
        }
        let mask = ByteMask::of_words(words);
        if let Some(slot) = self.lines.find(line) {
            self.lines.data_mut(slot).merge(mask, data);
            let meta = self.lines.meta_mut(slot);
            meta.owned &= !words;
            meta.is_dirty = true;
        } else if let Some(register) = self.mshrs.find(line)
            && let Waiting::Recall(_, meta, place) = self.mshrs.payload_mut(register)
        {
            place.merge(mask, data);
            meta.owned &= !words;
            meta.is_dirty = true;
        }
    }

    /// Takes an owner's answer to a revocation: the words, or a reference to the write-back that carries them.
    fn revoked(&mut self, event: Event, message: &Message<W>, out: &mut Outbox<W>) -> Option<Outcome> {
        let words = words_of(message.mask);
        let owned = self.owned_by_sender(message);
        let unawaited = self.faulty(LlcFault::UnawaitedWriteBack);
        let answers = self.answers_mut(message.line).filter(|answers| words & !answers.revoked == 0)?;
        answers.revoked &= !words;
        if event == Event::RspRvkOReferred && !unawaited {
            answers.referred |= owned;
        }
        if event == Event::RspRvkO || unawaited {
            self.take(message.line, owned, &message.data);
        }
        self.answered(message.line, out);
        Some(Outcome::Done)
    }

    /// Notes that a sharer has dropped a line.
    fn acknowledged(&mut self, line: LineAddr, out: &mut Outbox<W>) -> Option<Outcome> {
        let early = self.faulty(LlcFault::EarlyWrite);
        match self.answers_mut(line).filter(|answers| answers.acks > 0) {
            Some(answers) => answers.acks -= 1,
            None if early => return Some(Outcome::Done),
            None => return None,
        }
        self.answered(line, out);
        Some(Outcome::Done)
    }

    /// The answers about a line that have not come yet.
    fn answers_mut(&mut self, line: LineAddr) -> Option<&mut Answers> {
        if let Some(register) = self.mshrs.find(line) {
            return match self.mshrs.payload_mut(register) {
                Waiting::Block(answers, _) | Waiting::Recall(answers, ..) => Some(answers),
                Waiting::Fetch(_) | Waiting::WriteBack | Waiting::AnsweredWriteBack => None,
            };
        }
        let register = self.probes.find(line)?;
        self.probes.payload_mut(register).answers.as_mut()
    }

    /// Continues with a line once all devices have answered.
    fn answered(&mut self, line: LineAddr, out: &mut Outbox<W>) {
        let Some(register) = self.mshrs.find(line) else { return self.go_on_with_probe(line, out) };
        match *self.mshrs.payload(register) {
            Waiting::Block(answers, request) if answers.are_complete() => {
                self.mshrs.release(register);
                if let Some(slot) = self.lines.find(line) {
                    self.lines.meta_mut(slot).busy = Busy::No;
                    self.resume(slot, &answers, &request, out);
                }
            }
            Waiting::Recall(answers, meta, data) if answers.are_complete() => {
                self.mshrs.release(register);
                self.leave(line, &meta, &data, out);
            }
            Waiting::Block(..)
            | Waiting::Recall(..)
            | Waiting::Fetch(_)
            | Waiting::WriteBack
            | Waiting::AnsweredWriteBack => return,
        }
        self.go_on_with_probe(line, out);
    }

    /// Takes a line out. Owned words have to come back first, and sharers have to drop their copies.
    fn evict(&mut self, line: LineAddr, out: &mut Outbox<W>) -> Result<Outcome, Unspecified> {
        let (state, slot) = self.state(line, all_words::<W>());
        match (state, slot) {
            (State::V | State::S | State::O, Some(slot)) => Ok(self.take_out(slot, out)),
            (State::Fetching | State::ReadOnce | State::Upgrading | State::Blocked | State::Recalled, _)
            | (State::Leaving | State::LeavingAnswered, _) => Ok(Outcome::Stall),
            (State::I | State::V | State::S | State::O, _) => Err(unspecified(state, Event::Evict, line)),
        }
    }

    /// Takes a line out for which nothing is under way. Devices that own words of it or share it are asked first, for
    /// which a register has to be free.
    fn take_out(&mut self, slot: Slot, out: &mut Outbox<W>) -> Outcome {
        let line = self.lines.line(slot);
        let (meta, data) = (*self.lines.meta(slot), *self.lines.data(slot));
        let asks = (meta.owned != 0 && !self.faulty(LlcFault::UnrecalledOwner)) || !meta.sharers.is_empty();
        if ((asks || self.leaves_slowly(&meta)) && self.mshrs.is_full()) || self.probes.find(line).is_some() {
            return Outcome::Stall;
        }
        if !asks {
            self.lines.remove(slot);
            self.leave(line, &meta, &data, out);
            return Outcome::Done;
        }
        let answers = Answers { revoked: meta.owned, acks: meta.sharers.len(), ..Answers::default() };
        for (owner, words) in owners(&meta, &data, meta.owned) {
            self.ask(RVK_O, line, owner, words, out);
        }
        self.invalidate(line, meta.sharers, out);
        self.lines.remove(slot);
        self.mshrs.insert(line, Waiting::Recall(answers, Line { sharers: Sharers::NONE, ..meta }, data));
        Outcome::Done
    }

    /// Sends a device a request of the LLC itself.
    fn ask(&self, kind: MsgKind, line: LineAddr, device: AgentId, words: u32, out: &mut Outbox<W>) {
        let mask = ByteMask::of_words(words);
        out.send(Message { mask, origin: self.me, ..Message::control(kind, line, self.me, device) });
    }

    fn invalidate(&self, line: LineAddr, sharers: Sharers, out: &mut Outbox<W>) {
        for place in sharers.iter() {
            self.ask(INV, line, self.devices.unit(place), all_words::<W>(), out);
        }
    }
}

impl<const W: usize> Controller<W> for SpandexLlc<W> {
    fn vocabulary(&self) -> &'static Vocabulary {
        if self.is_l3 { &L3 } else { &L2 }
    }

    fn classify(&self, input: &Input<'_, W>, _: Time) -> Option<Classified> {
        let (line, words, event) = match input {
            Input::Core(_) | Input::EvictEntry(_) | Input::Time(_) => return None,
            Input::Message(message) => {
                (message.line, words_of(message.mask), self.event(message, self.lines.find(message.line)))
            }
            Input::Evict(line) => (*line, all_words::<W>(), Event::Evict),
        };
        Some(Classified { line, state: self.state(line, words).0 as u8, event: event as u8 })
    }

    fn step(&mut self, input: &Input<'_, W>, out: &mut Outbox<W>) -> Result<Outcome, Unspecified> {
        match input {
            Input::Core(_) | Input::EvictEntry(_) | Input::Time(_) => Ok(Outcome::Done),
            Input::Message(message) => self.step_message(message, out),
            Input::Evict(line) => self.evict(*line, out),
        }
    }

    fn view(&self, line: LineAddr, _: Time) -> LineView<W> {
        let (state, slot) = self.state(line, all_words::<W>());
        let (meta, data) = match (slot, self.mshrs.get(line)) {
            (Some(slot), _) => (*self.lines.meta(slot), *self.lines.data(slot)),
            (None, Some(Waiting::Recall(_, meta, data))) => (*meta, *data),
            (None, _) => return LineView { state: state as u8, ..LineView::default() },
        };
        let has_data = !matches!(state, State::Fetching | State::ReadOnce);
        let here = ByteMask::of_words(if has_data { all_words::<W>() & !meta.owned } else { 0 });
        LineView {
            state: state as u8,
            readable: if slot.is_some() { here } else { ByteMask::EMPTY },
            dirty: if meta.is_dirty { here } else { ByteMask::EMPTY },
            data,
            sharers: meta.sharers,
        }
    }

    fn evictable(&self, line: LineAddr, _: Time) -> bool {
        matches!(self.state(line, all_words::<W>()).0, State::V | State::S | State::O)
    }

    fn quiescent(&self) -> bool {
        self.mshrs.is_empty() && self.probes.is_empty()
    }

    fn only_counts(&self, message: &Message<W>) -> bool {
        let waits = |waiting: &Waiting<W>| match waiting {
            Waiting::Block(answers, _) | Waiting::Recall(answers, ..) => answers.acks > 1,
            Waiting::Fetch(_) | Waiting::WriteBack | Waiting::AnsweredWriteBack => false,
        };
        message.kind == ACK && self.mshrs.get(message.line).is_some_and(waits)
    }

    fn dirty_lines(&self, visit: &mut dyn FnMut(LineAddr, ByteMask, &LineData<W>)) {
        let here = |meta: &Line| ByteMask::of_words(all_words::<W>() & !meta.owned);
        // In front of an L3, the only copy may hold values that another cache wrote and that the L3 has never had.
        let newer = |meta: &Line| meta.is_dirty || self.leaves_slowly(meta);
        for (line, waiting) in self.mshrs.iter() {
            if let Waiting::Recall(_, meta, data) = waiting
                && newer(meta)
            {
                visit(line, here(meta), data);
            }
        }
        for (line, meta, data) in self.lines.iter().filter(|(_, meta, _)| newer(meta)) {
            visit(line, here(meta), data);
        }
    }
}
