//! The translation unit of a MESI cache (Spandex paper, sections III-C and III-D).
//!
//! For its cache the unit is the shared bank of MESI, which answers at once and without stalls. For the network it is a
//! device of Spandex. It requests whole lines and puts the parts of an answer together. Requests of other devices are
//! for words: the unit takes the line out of the cache, answers for the words and writes the other words back. Words
//! that the cache has given up stay here until the LLC, or a request for them, has taken them.
//!
//! A request that comes while the line itself is on its way waits for the line. The paper lets the unit answer a
//! request for ownership at once, since it needs no data (case 2 of section III-D). That is wrong where words of one
//! line are used by different devices. Let a line belong to A, then to B and then, one word of it, to C, in the order
//! of the LLC, and let A not know of B's request yet. If B answers C at once, C writes the word and may let A go on by
//! another word. A still has the line and writes the same word. A comes first in the order of owners, and its later
//! write is lost.
//!
//! The client may also be a bank of an L2 that speaks MESI towards the network (hierarchical Spandex). Such a bank
//! answers `PEEK` at once. But it may take its time to give a line up or to share it, while requests of others wait. If
//! the line leaves the bank meanwhile, its write-back is the answer.

pub mod faults;
mod pending;
mod states;
#[cfg(test)]
mod tests;

use crate::address::{AgentId, LineAddr, Role, Topology};
use crate::controller::{Classified, Controller, Input, LineView, Outbox, Outcome, Time, Unspecified, Vocabulary};
use crate::line::{ByteMask, LineData};
use crate::message::{Message, MsgKind};
use crate::mshr::{Mshrs, Register};
use crate::protocols::mesi::messages::{DATA, DATA_E, DATA_M, FWD_GETS, INV as MESI_INV, UPGRADE_ACK, WB_ACK};
use crate::protocols::spandex::messages::{
    ACK, NACK, PEEK, REQ_O_DATA, REQ_S, REQ_WB, RSP_O, RSP_O_DATA, RSP_RVK_O, RSP_RVK_O_REFERRED, RSP_S, RSP_V,
};
use crate::registry::BuildConfig;
use crate::save::{self, Restore};
use crate::sharers::Sharers;
use faults::TuFault;
use pending::{Pending, Question, Request, Want, Wanted, WriteBack};
pub use states::VOCABULARY;
use states::{Event, State};

/// The translation unit of a MESI cache.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Restore)]
pub struct MesiTu<const W: usize> {
    #[save(built)]
    me: AgentId,
    #[save(built)]
    client: AgentId,
    #[save(built)]
    topology: Topology,
    #[save(built)]
    fault: Option<TuFault>,
    /// A third of the unit's registers. These are as many as the cache has, for its own requests. The other two thirds
    /// are for requests of others.
    #[save(built)]
    registers: u32,
    #[save(built)]
    reads_once: bool,
    mshrs: Mshrs<Pending<W>, ()>,
}

impl<const W: usize> MesiTu<W> {
    /// Unit `index`, with nothing outstanding.
    pub fn new(index: u16, config: &BuildConfig, fault: Option<TuFault>) -> Self {
        let topology = config.topology;
        let client = topology.translated(index);
        let registers = if topology.role(client).0 == Role::L1 { config.l1.mshrs } else { config.l2.mshrs };
        let mshrs = Mshrs::new(3 * registers);
        MesiTu { me: topology.tu(index), client, topology, fault, registers, reads_once: false, mshrs }
    }

    /// Makes this a unit for an LLC that serves reads without any state (option 2 of section III-B). Then the cache
    /// uses the lines that it reads only once.
    pub fn reading_once(self) -> Self {
        MesiTu { reads_once: true, ..self }
    }

    fn state(&self, line: LineAddr) -> State {
        match self.mshrs.get(line) {
            None => State::Idle,
            Some(Pending::Request(request)) => match request.wanted {
                Wanted::Read => State::IS,
                Wanted::Write => State::IO,
                Wanted::Upgrade => State::SO,
            },
            Some(Pending::Question(_)) => State::Ask,
            Some(Pending::WriteBack(WriteBack { then: Some(_), .. })) => State::WbReq,
            Some(Pending::WriteBack(_)) => State::WB,
        }
    }

    fn unspecified(&self, event: Event, line: LineAddr) -> Unspecified {
        VOCABULARY.unspecified(self.state(line) as usize, event as usize, line)
    }

    fn faulty(&self, fault: TuFault) -> bool {
        self.fault == Some(fault)
    }

    fn to_client(&self, kind: MsgKind, line: LineAddr) -> Message<W> {
        Message::control(kind, line, self.me, self.client)
    }

    fn line_to_client(&self, kind: MsgKind, line: LineAddr, data: &LineData<W>) -> Message<W> {
        Message { mask: ByteMask::full::<W>(), data: *data, ..self.to_client(kind, line) }
    }

    /// A message to the LLC about `words`, with their data.
    fn to_llc(&self, kind: MsgKind, line: LineAddr, words: ByteMask, data: &LineData<W>) -> Message<W> {
        let dst = self.topology.beyond(self.client, line);
        Message { mask: words, data: only(words, data), ..Message::control(kind, line, self.me, dst) }
    }

    fn step_message(&mut self, message: &Message<W>, out: &mut Outbox<W>) -> Result<Outcome, Unspecified> {
        let event = Event::of(message.kind);
        let taken = match event {
            Event::GetS => self.begin(Wanted::Read, message.line, out),
            Event::GetX => self.begin(Wanted::Write, message.line, out),
            Event::Upgrade => self.begin(Wanted::Upgrade, message.line, out),
            Event::PutX => self.evicted(message, out),
            // The unit lets nobody wait for an unblock. The write-back that the other message refers to has already
            // been here.
            Event::ExclusiveUnblock | Event::WbPending => Some(Outcome::Done),
            Event::InvAck => self.invalidated(message.line),
            Event::InvData | Event::FwdData | Event::PeekData | Event::PeekMiss => self.told(event, message, out),
            Event::RspV | Event::RspS | Event::RspOData | Event::Nack => self.part(event, message, out),
            Event::RspWb => self.written_back(message, out),
            Event::FwdReqV => self.asked(Want::Read, message, out),
            Event::FwdReqS => self.asked(Want::Share, message, out),
            Event::FwdReqO => self.asked(Want::Own, message, out),
            Event::FwdReqOData => self.asked(Want::OwnWithData, message, out),
            Event::RvkO => self.asked(Want::Revoke, message, out),
            Event::Inv => self.invalidate(message, out),
            Event::Foreign => None,
        };
        taken.ok_or_else(|| self.unspecified(event, message.line))
    }

    /// Takes a request of the cache for a line.
    fn begin(&mut self, wanted: Wanted, line: LineAddr, out: &mut Outbox<W>) -> Option<Outcome> {
        match self.mshrs.find(line) {
            None => {
                let request = self.request(wanted, line, out);
                self.mshrs.insert(line, request);
            }
            Some(register) => match self.mshrs.payload_mut(register) {
                Pending::WriteBack(WriteBack { then: then @ None, .. }) => *then = Some(wanted),
                Pending::WriteBack(_) | Pending::Request(_) | Pending::Question(_) => return None,
            },
        }
        Some(Outcome::Done)
    }

    /// Sends a request for a line to the LLC. Returns the record of it.
    fn request(&self, wanted: Wanted, line: LineAddr, out: &mut Outbox<W>) -> Pending<W> {
        let kind = if wanted == Wanted::Read { REQ_S } else { REQ_O_DATA };
        let data = LineData::default();
        out.send(self.to_llc(kind, line, ByteMask::full::<W>(), &data));
        if wanted == Wanted::Read && self.reads_once {
            // No access may join a read whose answer is never invalidated.
            out.send(self.to_client(MESI_INV, line));
        }
        let none = ByteMask::EMPTY;
        Pending::Request(Request { wanted, got: none, nacked: none, owned: false, data })
    }

    /// Takes a line that the cache gives up.
    fn evicted(&mut self, message: &Message<W>, out: &mut Outbox<W>) -> Option<Outcome> {
        let Some(register) = self.mshrs.find(message.line) else {
            let left = ByteMask::full::<W>();
            let held = WriteBack { left, on_its_way: true, data: message.data, evicted: true, then: None };
            self.mshrs.insert(message.line, Pending::WriteBack(held));
            out.send(self.to_llc(REQ_WB, message.line, left, &message.data));
            return Some(Outcome::Done);
        };
        let Pending::Question(question) = *self.mshrs.payload(register) else { return None };
        if question.want == Want::Read {
            return None;
        }
        self.surrendered(register, message.line, &question, &message.data, true, out);
        Some(Outcome::Done)
    }

    /// Notes that the cache has dropped a line that it did not own. The LLC has been told already.
    fn invalidated(&self, line: LineAddr) -> Option<Outcome> {
        match self.mshrs.get(line) {
            None | Some(Pending::Request(_)) => Some(Outcome::Done),
            Some(Pending::Question(_) | Pending::WriteBack(_)) => None,
        }
    }

    /// Takes an invalidation: the LLC wants a shared line dropped. A line that the cache has given up is not in it, and
    /// the line that it may wait for has not come.
    fn invalidate(&mut self, message: &Message<W>, out: &mut Outbox<W>) -> Option<Outcome> {
        let register = self.mshrs.find(message.line);
        let keeps = self.faulty(TuFault::UnforwardedInv);
        let stale_upgrade = self.faulty(TuFault::StaleUpgrade);
        match register.map(|register| self.mshrs.payload_mut(register)) {
            None | Some(Pending::Request(_)) if keeps => {}
            None => out.send(self.to_client(MESI_INV, message.line)),
            Some(Pending::Request(request)) => {
                if !stale_upgrade {
                    request.wanted = request.wanted.without_copy();
                }
                out.send(self.to_client(MESI_INV, message.line));
            }
            Some(Pending::WriteBack(_)) => {}
            Some(Pending::Question(_)) => return None,
        }
        if !self.faulty(TuFault::LostAck) {
            out.send(message.reply(ACK));
        }
        Some(Outcome::Done)
    }

    /// Whether a request about another line has to wait for a register. The requests that have the registers end
    /// without the help of other devices.
    fn is_busy_settling(&self) -> bool {
        let settling = self.mshrs.iter().filter(|(_, pending)| pending.is_settling());
        settling.count() >= self.registers as usize
    }

    /// Takes a request for words that the cache owns, as far as the LLC knows. While the line is on its way, every
    /// request waits for it, also one that needs no data (the module's text says why).
    fn asked(&mut self, want: Want, message: &Message<W>, out: &mut Outbox<W>) -> Option<Outcome> {
        let question = Question::new(want, message);
        let Some(register) = self.mshrs.find(message.line) else {
            if self.is_busy_settling() {
                return Some(Outcome::Stall);
            }
            let asks = match want {
                Want::Read => PEEK,
                Want::Share if question.words == ByteMask::full::<W>() => FWD_GETS,
                Want::Share | Want::Own | Want::OwnWithData | Want::Revoke => MESI_INV,
            };
            self.mshrs.insert(message.line, Pending::Question(question));
            out.send(self.to_client(asks, message.line));
            return Some(Outcome::Done);
        };
        match *self.mshrs.payload(register) {
            Pending::Request(request) if self.faulty(TuFault::EarlyAnswer) && want.takes_ownership() => {
                self.answer(message.line, &question, &request.data, false, out);
                Some(Outcome::Done)
            }
            Pending::Request(_) | Pending::Question(_) => Some(Outcome::Stall),
            Pending::WriteBack(held) => self.asked_of_write_back(register, message.line, question, &held, out),
        }
    }

    /// Takes a request for words of a line that the cache has given up. A request that ends the ownership takes the
    /// words with it.
    fn asked_of_write_back(
        &mut self,
        register: Register,
        line: LineAddr,
        question: Question,
        held: &WriteBack<W>,
        out: &mut Outbox<W>,
    ) -> Option<Outcome> {
        let gone = question.words.without(held.left);
        if question.want == Want::Read {
            let here = Question { words: question.words & held.left, ..question };
            if !here.words.is_empty() {
                self.answer(line, &here, &held.data, true, out);
            }
            if !gone.is_empty() {
                self.refuse(line, &Question { words: gone, ..question }, out);
            }
        } else if gone.is_empty() {
            self.answer(line, &question, &held.data, true, out);
            if !self.faulty(TuFault::UnfinishedWriteBack) {
                self.taken(register, line, question.words, out);
            }
        } else {
            return None;
        }
        Some(Outcome::Done)
    }

    /// Answers a request for words that are here. If they are also on their way to the LLC, it gets no second copy.
    fn answer(&self, line: LineAddr, question: &Question, data: &LineData<W>, sent: bool, out: &mut Outbox<W>) {
        let Question { want, words, llc, requestor, txn, wave, .. } = *question;
        let words = if self.faulty(TuFault::WidenedAnswer) { ByteMask::full::<W>() } else { words };
        let without_data = |kind, dst| Message {
            mask: words,
            txn,
            wave,
            origin: requestor,
            ..Message::control(kind, line, self.me, dst)
        };
        let with_data = |kind, dst| Message { data: only(words, data), ..without_data(kind, dst) };
        match want {
            Want::Read => out.send(with_data(RSP_V, requestor)),
            Want::Share => out.send(with_data(RSP_S, requestor)),
            Want::Own => out.send(without_data(RSP_O, requestor)),
            Want::OwnWithData => out.send(with_data(RSP_O_DATA, requestor)),
            Want::Revoke => {}
        }
        match want {
            Want::Share if self.faulty(TuFault::OneSidedShare) => {}
            Want::Share | Want::Revoke if sent => out.send(without_data(RSP_RVK_O_REFERRED, llc)),
            Want::Share | Want::Revoke => out.send(with_data(RSP_RVK_O, llc)),
            Want::Read | Want::Own | Want::OwnWithData => {}
        }
    }

    /// Tells a reader that the words are no longer owned here.
    fn refuse(&self, line: LineAddr, question: &Question, out: &mut Outbox<W>) {
        let Question { words, requestor, txn, wave, .. } = *question;
        let nack = Message::control(NACK, line, self.me, requestor);
        out.send(Message { mask: words, txn, wave, origin: requestor, ..nack });
    }

    /// Takes the cache's answer to the unit's own question.
    fn told(&mut self, event: Event, message: &Message<W>, out: &mut Outbox<W>) -> Option<Outcome> {
        let line = message.line;
        let register = self.mshrs.find(line)?;
        let Pending::Question(question) = *self.mshrs.payload(register) else { return None };
        let full = ByteMask::full::<W>();
        match (event, question.want) {
            (Event::PeekMiss, Want::Read) => {
                self.refuse(line, &question, out);
                self.mshrs.release(register);
            }
            (Event::PeekData, Want::Read) => {
                // The whole line is up to date, so all of it comes along (Table II, footnote).
                let words = if question.alone { full } else { question.words };
                self.answer(line, &Question { words, ..question }, &message.data, false, out);
                self.mshrs.release(register);
            }
            (Event::FwdData, Want::Share) if question.words == full => {
                self.answer(line, &question, &message.data, false, out);
                self.mshrs.release(register);
            }
            (Event::InvData, Want::Share | Want::Own | Want::OwnWithData | Want::Revoke) => {
                self.surrendered(register, line, &question, &message.data, false, out);
            }
            (_, Want::Read | Want::Share | Want::Own | Want::OwnWithData | Want::Revoke) => return None,
        }
        Some(Outcome::Done)
    }

    /// Takes a line that the cache has given up because another device wants words of it. The other words are written
    /// back.
    fn surrendered(
        &mut self,
        register: Register,
        line: LineAddr,
        question: &Question,
        data: &LineData<W>,
        evicted: bool,
        out: &mut Outbox<W>,
    ) {
        self.answer(line, question, data, false, out);
        let left = ByteMask::full::<W>().without(question.words);
        let stranded = self.faulty(TuFault::StrandedWords);
        let left = if stranded { ByteMask::EMPTY } else { left };
        let held = WriteBack { left, on_its_way: !left.is_empty(), data: *data, evicted, then: None };
        *self.mshrs.payload_mut(register) = Pending::WriteBack(held);
        if held.on_its_way {
            out.send(self.to_llc(REQ_WB, line, left, data));
        }
        self.taken(register, line, question.words, out);
    }

    /// Takes a part of a line, or a Nack for it.
    fn part(&mut self, event: Event, message: &Message<W>, out: &mut Outbox<W>) -> Option<Outcome> {
        let register = self.mshrs.find(message.line)?;
        let reads_once = self.reads_once;
        let hasty = self.faulty(TuFault::HastyFill);
        let Pending::Request(request) = self.mshrs.payload_mut(register) else { return None };
        match (event, request.wanted) {
            (Event::RspS, Wanted::Read) if !request.owned => {}
            (Event::RspV | Event::Nack, Wanted::Read) if reads_once && !request.owned => {}
            (Event::RspOData, _) if request.owned || request.got.is_empty() => request.owned = true,
            (_, Wanted::Read | Wanted::Write | Wanted::Upgrade) => return None,
        }
        if event == Event::Nack {
            request.nacked = request.nacked | message.mask;
        } else {
            request.got = request.got | message.mask;
            request.data.merge(message.mask, &message.data);
        }
        let complete = request.got | request.nacked == ByteMask::full::<W>();
        if complete && !request.nacked.is_empty() {
            // A read for which some owner was not found becomes a request that cannot fail.
            (request.got, request.nacked) = (ByteMask::EMPTY, ByteMask::EMPTY);
            request.data = LineData::default();
            out.send(self.to_llc(REQ_O_DATA, message.line, ByteMask::full::<W>(), &LineData::default()));
        } else if complete || hasty {
            let request = *request;
            self.arrived(register, message.line, &request, out);
        }
        Some(Outcome::Done)
    }

    /// Gives a complete line to the cache, which performs the accesses that have waited for it.
    fn arrived(&mut self, register: Register, line: LineAddr, request: &Request<W>, out: &mut Outbox<W>) {
        let shared = !request.owned || self.faulty(TuFault::OwnedAsShared);
        match request.wanted {
            Wanted::Read if shared => out.send(self.line_to_client(DATA, line, &request.data)),
            Wanted::Read => out.send(self.line_to_client(DATA_E, line, &request.data)),
            Wanted::Write => out.send(self.line_to_client(DATA_M, line, &request.data)),
            Wanted::Upgrade => out.send(self.to_client(UPGRADE_ACK, line)),
        }
        self.mshrs.release(register);
    }

    /// Notes that the LLC has taken words of a write-back.
    fn written_back(&mut self, message: &Message<W>, out: &mut Outbox<W>) -> Option<Outcome> {
        let register = self.mshrs.find(message.line)?;
        let Pending::WriteBack(WriteBack { left, .. }) = *self.mshrs.payload(register) else { return None };
        if !message.mask.without(left).is_empty() {
            return None;
        }
        let words = if self.faulty(TuFault::EarlyRelease) { left } else { message.mask };
        if let Pending::WriteBack(held) = self.mshrs.payload_mut(register) {
            held.on_its_way = false;
        }
        self.taken(register, message.line, words, out);
        Some(Outcome::Done)
    }

    /// Notes that the LLC or another device has taken words of a write-back. With the last words the write-back ends,
    /// provided that the LLC has seen it: the network keeps no order, and the write-back must not reach the LLC after
    /// the next request of this cache.
    fn taken(&mut self, register: Register, line: LineAddr, words: ByteMask, out: &mut Outbox<W>) {
        let Pending::WriteBack(held) = self.mshrs.payload_mut(register) else { return };
        held.left = held.left.without(words);
        held.data = only(held.left, &held.data);
        let WriteBack { left, on_its_way, evicted, then, .. } = *held;
        if !left.is_empty() || on_its_way {
            return;
        }
        if evicted {
            out.send(self.to_client(WB_ACK, line));
        }
        match then {
            Some(wanted) if !self.faulty(TuFault::ForgottenRequest) => {
                *self.mshrs.payload_mut(register) = self.request(wanted, line, out);
            }
            Some(_) | None => self.mshrs.release(register),
        }
    }
}

/// Keeps `words` of `data` and clears the others, so that nothing shows of them.
fn only<const W: usize>(words: ByteMask, data: &LineData<W>) -> LineData<W> {
    let mut kept = LineData::default();
    kept.merge(words, data);
    kept
}

impl<const W: usize> Controller<W> for MesiTu<W> {
    fn vocabulary(&self) -> &'static Vocabulary {
        &VOCABULARY
    }

    fn classify(&self, input: &Input<'_, W>, _: Time) -> Option<Classified> {
        let Input::Message(message) = input else { return None };
        let Message { line, kind, .. } = **message;
        Some(Classified { line, state: self.state(line) as u8, event: Event::of(kind) as u8 })
    }

    fn step(&mut self, input: &Input<'_, W>, out: &mut Outbox<W>) -> Result<Outcome, Unspecified> {
        match input {
            Input::Message(message) => self.step_message(message, out),
            Input::Core(request) => Err(self.unspecified(Event::Foreign, request.line)),
            Input::Evict(line) => Err(self.unspecified(Event::Foreign, *line)),
            Input::EvictEntry(_) | Input::Time(_) => Ok(Outcome::Done),
        }
    }

    fn view(&self, line: LineAddr, _: Time) -> LineView<W> {
        let (dirty, data) = match self.mshrs.get(line) {
            Some(Pending::WriteBack(WriteBack { left, data, .. })) => (*left, *data),
            Some(Pending::Request(_) | Pending::Question(_)) | None => (ByteMask::EMPTY, LineData::default()),
        };
        LineView { state: self.state(line) as u8, readable: ByteMask::EMPTY, dirty, data, sharers: Sharers::NONE }
    }

    fn evictable(&self, _: LineAddr, _: Time) -> bool {
        false
    }

    fn quiescent(&self) -> bool {
        self.mshrs.is_empty()
    }

    fn dirty_lines(&self, visit: &mut dyn FnMut(LineAddr, ByteMask, &LineData<W>)) {
        for (line, pending) in self.mshrs.iter() {
            if let Pending::WriteBack(WriteBack { left, data, .. }) = pending {
                visit(line, *left, data);
            }
        }
    }
}
