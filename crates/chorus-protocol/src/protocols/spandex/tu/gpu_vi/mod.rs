//! The translation unit of a GPU-VI cache: the write-through private cache of the TC paper (section 4.2) as a device of
//! Spandex (Spandex paper, section III).
//!
//! A read is a ReqS for the whole line. The LLC serves it with Shared state, since the device cannot own. A store is a
//! ReqWT, or a ReqWT+data if its order matters: an update is performed only when no other copy is left, so everybody
//! sees it at once. An atomic is a ReqWT+data. Invalidations are passed on.
//!
//! The cache relies on the order of its messages, and the network keeps none. So requests of one wavefront for the same
//! words are sent one after the other. Requests for words of a read that several wavefronts wait for are sent one after
//! the other, too.

pub mod faults;
pub mod messages;
mod states;
#[cfg(test)]
mod tests;

use std::ops::Range;

use crate::access::{AtomicOp, Txn};
use crate::address::{AgentId, LineAddr, Topology};
use crate::controller::{Outbox, Outcome, Vocabulary};
use crate::line::{ByteMask, LineData};
use crate::message::{Message, MsgKind};
use crate::protocols::spandex::messages::{ACK, REQ_S, REQ_WT, REQ_WT_DATA};
use crate::protocols::spandex::tu::unit::Unit;
use crate::protocols::write_through as vi;
use crate::registry::BuildConfig;
use crate::save::{self, Restore, Save};
use faults::TuFault;
use messages::KINDS;
use states::{Event, State, VOCABULARY};

/// The kind of request that the cache made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Save)]
enum Wanted {
    Read,
    Write,
    /// A store whose order matters.
    OrderedWrite,
    Atomic,
}

/// A request of the cache that is not answered yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Save)]
struct Request<const W: usize> {
    line: LineAddr,
    txn: Txn,
    wave: u16,
    wanted: Wanted,
    is_sent: bool,
    words: ByteMask,
    /// Words that are not answered yet.
    left: ByteMask,
    operation: Option<AtomicOp>,
    /// The values to write until the request is sent, and the values read afterwards.
    data: LineData<W>,
}

impl<const W: usize> Request<W> {
    /// Whether this request must be answered before a later one is sent. What leaves a store buffer, as a wavefront of
    /// its own, may be of any wavefront.
    fn precedes(&self, later: &Request<W>, buffer: Option<u16>) -> bool {
        let is_of_any = |request: &Request<W>| request.txn == Txn::Merged || buffer == Some(request.wave);
        let ordered = self.wave == later.wave || is_of_any(self) || is_of_any(later);
        ordered && !(self.words & later.words).is_empty()
    }
}

/// The translation unit of a GPU-VI cache.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Restore)]
pub struct GpuViTu<const W: usize> {
    #[save(built)]
    me: AgentId,
    #[save(built)]
    client: AgentId,
    #[save(built)]
    topology: Topology,
    #[save(built)]
    buffer_wave: Option<u16>,
    #[save(built)]
    fault: Option<TuFault>,
    /// The requests that are not answered yet, sorted by line. The requests of a line are in the order in which they
    /// were made.
    requests: Vec<Request<W>>,
}

impl<const W: usize> GpuViTu<W> {
    /// Unit `index`, with nothing outstanding.
    pub fn new(index: u16, config: &BuildConfig, fault: Option<TuFault>) -> Self {
        let topology = config.topology;
        let requests = Vec::with_capacity(config.l1.mshrs as usize);
        let (me, client, buffer_wave) = (topology.tu(index), topology.translated(index), config.buffer_wave);
        GpuViTu { me, client, topology, buffer_wave, fault, requests }
    }

    /// The places of the requests for a line.
    fn of_line(&self, line: LineAddr) -> Range<usize> {
        let first = self.requests.partition_point(|request| request.line < line);
        let count = self.requests[first..].partition_point(|request| request.line == line);
        first..first + count
    }

    fn line_state(&self, line: LineAddr) -> State {
        let requests = &self.requests[self.of_line(line)];
        if requests.is_empty() {
            State::Idle
        } else if requests.iter().all(|request| request.is_sent) {
            State::Sent
        } else {
            State::Queued
        }
    }

    fn faulty(&self, fault: TuFault) -> bool {
        self.fault == Some(fault)
    }

    fn to_client(&self, kind: MsgKind, line: LineAddr) -> Message<W> {
        Message::control(KINDS.named(kind), line, self.me, self.client)
    }

    fn step_message(&mut self, message: &Message<W>, out: &mut Outbox<W>) -> Option<()> {
        let event = Event::of(message.kind);
        match event {
            Event::GetS => self.begin(Wanted::Read, message, out),
            Event::GetX if message.atomic.is_some() => self.begin(Wanted::OrderedWrite, message, out),
            Event::GetX => self.begin(Wanted::Write, message, out),
            Event::Atomic => self.begin(Wanted::Atomic, message, out),
            // The LLC already has its acknowledgement.
            Event::InvAck => Some(()),
            Event::RspS | Event::RspWt | Event::RspO | Event::RspWtData => self.part(event, message, out),
            Event::Inv => self.invalidate(message, out),
            Event::Foreign => None,
        }
    }

    /// Takes a request of the cache.
    fn begin(&mut self, wanted: Wanted, message: &Message<W>, out: &mut Outbox<W>) -> Option<()> {
        let Message { line, txn, wave, mask, data, .. } = *message;
        let words = if wanted == Wanted::Read { ByteMask::full::<W>() } else { mask };
        let data = if wanted == Wanted::Read { LineData::default() } else { data };
        let operation = message.atomic.filter(|_| wanted != Wanted::Atomic || !self.faulty(TuFault::LostOperation));
        let request = Request { line, txn, wave, wanted, is_sent: false, words, left: words, operation, data };
        let last = self.of_line(line).end;
        self.requests.insert(last, request);
        self.send_if_first(last, out);
        Some(())
    }

    /// Sends a request unless an earlier one must be answered first.
    fn send_if_first(&mut self, place: usize, out: &mut Outbox<W>) {
        let Request { line, txn, wave, wanted, words, operation, data, .. } = self.requests[place];
        let before = self.of_line(line).start..place;
        let waits =
            self.requests[before].iter().any(|earlier| earlier.precedes(&self.requests[place], self.buffer_wave));
        if waits && !self.faulty(TuFault::Overtaking) {
            return;
        }
        let (kind, atomic) = match wanted {
            Wanted::Read => (REQ_S, None),
            Wanted::Write => (REQ_WT, None),
            Wanted::OrderedWrite if self.faulty(TuFault::LostStore) => (REQ_WT_DATA, None),
            Wanted::OrderedWrite | Wanted::Atomic => (REQ_WT_DATA, operation),
        };
        let llc = self.topology.beyond(self.client, line);
        let sent = Message::control(kind, line, self.me, llc);
        out.send(Message { txn, wave, mask: words, data, atomic, ..sent });
        let request = &mut self.requests[place];
        (request.is_sent, request.data) = (true, LineData::default());
    }

    /// Takes the answer for some words of a request, from the LLC or from a former owner.
    fn part(&mut self, event: Event, message: &Message<W>, out: &mut Outbox<W>) -> Option<()> {
        let mut line = self.of_line(message.line);
        let place = line.find(|&place| self.requests[place].is_sent && self.requests[place].txn == message.txn)?;
        let request = &mut self.requests[place];
        match (event, request.wanted) {
            (Event::RspS, Wanted::Read)
            | (Event::RspWt | Event::RspO, Wanted::Write)
            | (Event::RspWtData, Wanted::Atomic | Wanted::OrderedWrite) => {}
            (_, Wanted::Read | Wanted::Write | Wanted::OrderedWrite | Wanted::Atomic) => return None,
        }
        if matches!(event, Event::RspS | Event::RspWtData) {
            request.data.merge(message.mask, &message.data);
        }
        if event != Event::RspO || self.fault != Some(TuFault::LostRspO) {
            request.left = request.left.without(message.mask);
        }
        let hasty = event == Event::RspS && self.fault == Some(TuFault::HastyFill);
        if request.left.is_empty() || hasty {
            self.answered(place, out);
        }
        Some(())
    }

    /// Passes the complete answer to the cache, and sends the requests that have waited for it.
    fn answered(&mut self, place: usize, out: &mut Outbox<W>) {
        let Request { line, txn, wave, wanted, words, data, .. } = self.requests.remove(place);
        let kind = match wanted {
            Wanted::Read => vi::DATA,
            Wanted::Write | Wanted::OrderedWrite => vi::ACK,
            Wanted::Atomic => vi::ATOMIC_DATA,
        };
        let carries = matches!(wanted, Wanted::Read | Wanted::Atomic);
        let (mask, data) = if carries { (words, data) } else { (ByteMask::EMPTY, LineData::default()) };
        out.send(Message { txn, wave, mask, data, ..self.to_client(kind, line) });
        if self.faulty(TuFault::ForgottenRequest) {
            return;
        }
        for place in self.of_line(line) {
            if !self.requests[place].is_sent {
                self.send_if_first(place, out);
            }
        }
    }

    /// Takes an invalidation: the LLC wants a shared line dropped.
    fn invalidate(&mut self, message: &Message<W>, out: &mut Outbox<W>) -> Option<()> {
        if !self.faulty(TuFault::UnforwardedInv) {
            out.send(self.to_client(vi::INV, message.line));
        }
        if !self.faulty(TuFault::LostAck) {
            out.send(message.reply(ACK));
        }
        Some(())
    }
}

impl<const W: usize> Unit<W> for GpuViTu<W> {
    const VOCABULARY: &'static Vocabulary = &VOCABULARY;

    fn state(&self, line: LineAddr) -> u8 {
        self.line_state(line) as u8
    }

    fn event(kind: MsgKind) -> u8 {
        Event::of(kind) as u8
    }

    fn take(&mut self, message: &Message<W>, out: &mut Outbox<W>) -> Option<Outcome> {
        self.step_message(message, out).map(|()| Outcome::Done)
    }

    fn is_idle(&self) -> bool {
        self.requests.is_empty()
    }
}
