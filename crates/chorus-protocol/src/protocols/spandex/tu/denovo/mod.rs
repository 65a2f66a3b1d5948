//! The translation unit of a DeNovo cache (Spandex paper, section III-D).
//!
//! The cache itself speaks Spandex by words, so the unit passes most messages on in both directions. It has two tasks
//! of its own. It requests words of a ReqV again that a supposed owner no longer had, after `retries` attempts with
//! ReqO+data. And it acts for the cache, which never lets a message wait, while ownership is still on its way (section
//! III-C): forwarded requests that take ownership away, or need data that has not come, are delayed.
//!
//! The paper lets the unit answer some of them at once: a ReqO, which needs no data, and all of them if a ReqO is
//! outstanding, since its data is here. That is wrong for words by which devices synchronise. Let a word belong to A,
//! then to B and then to C, in the order of the LLC, and let A not know of B's request yet. If B answers C at once, C
//! writes the word and may tell A so by another word. A still owns the first word, and an atomic of A finds the old
//! value.
//!
//! The Nacked words of a line are requested with ReqV in one request at a time. Only these words of the answer are
//! passed on.

pub mod faults;
mod states;

use crate::address::{AgentId, LineAddr, Topology};
use crate::controller::{Outbox, Outcome, Vocabulary};
use crate::line::ByteMask;
use crate::message::{Message, MsgKind};
use crate::mshr::Mshrs;
use crate::protocols::spandex::llc::line::words_of;
use crate::protocols::spandex::messages::{
    REQ_O_DATA, REQ_V, RSP_O, RSP_O_DATA, RSP_RVK_O, RSP_S, RSP_V, local, networked,
};
use crate::protocols::spandex::tu::unit::Unit;
use crate::registry::BuildConfig;
use crate::save::{self, Restore, Save};
use faults::TuFault;
use states::{Event, State, VOCABULARY};

/// The unit's knowledge of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Save)]
struct Line {
    /// Words whose ReqO+data is outstanding.
    fetching: u32,
    /// Words whose ReqO is outstanding.
    owning: u32,
    /// Nacked words that have been requested again with ReqV.
    retried: u32,
    /// Nacked words that will be requested after the `retried` ones.
    nacked: u32,
    /// The number of attempts that failed.
    failures: u8,
}

/// The translation unit of a DeNovo cache.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Restore)]
pub struct DeNovoTu<const W: usize> {
    #[save(built)]
    me: AgentId,
    #[save(built)]
    cache: AgentId,
    #[save(built)]
    topology: Topology,
    #[save(built)]
    retries: u8,
    #[save(built)]
    fault: Option<TuFault>,
    lines: Mshrs<Line, ()>,
}

impl<const W: usize> DeNovoTu<W> {
    /// Unit `index`. Words that were Nacked `retries` times are requested with ReqO+data. Zero means never.
    pub fn new(index: u16, config: &BuildConfig, retries: u8, fault: Option<TuFault>) -> Self {
        DeNovoTu {
            me: config.topology.tu(index),
            cache: config.topology.translated(index),
            topology: config.topology,
            retries,
            fault,
            lines: Mshrs::new(config.l1.mshrs),
        }
    }

    fn faulty(&self, fault: TuFault) -> bool {
        self.fault == Some(fault)
    }

    fn line(&self, line: LineAddr) -> Line {
        self.lines.get(line).copied().unwrap_or_default()
    }

    /// Changes the unit's knowledge of a line, and forgets the line once there is nothing to know.
    fn change(&mut self, line: LineAddr, change: impl FnOnce(&mut Line)) {
        let register = match self.lines.find(line) {
            Some(register) => register,
            None => self.lines.insert(line, Line::default()),
        };
        let known = self.lines.payload_mut(register);
        change(known);
        if known.fetching | known.owning | known.retried | known.nacked == 0 {
            self.lines.release(register);
        }
    }

    fn line_state(&self, line: LineAddr) -> State {
        match self.line(line) {
            Line { fetching, .. } if fetching != 0 => State::Fetching,
            Line { owning, .. } if owning != 0 => State::Owning,
            Line { retried, nacked, .. } if retried | nacked != 0 => State::Retry,
            Line { .. } => State::Idle,
        }
    }

    fn llc(&self, line: LineAddr) -> AgentId {
        self.topology.beyond(self.cache, line)
    }

    /// Passes a message of the cache on to the network.
    fn to_network(&self, message: &Message<W>, dst: AgentId, out: &mut Outbox<W>) {
        let mut passed = *message;
        (passed.kind, passed.src, passed.dst) = (networked(message.kind), self.me, dst);
        out.send(passed);
    }

    /// Passes words of a message on to the cache.
    fn to_cache(&self, message: &Message<W>, words: u32, out: &mut Outbox<W>) {
        let mut passed = *message;
        (passed.kind, passed.src, passed.dst) = (local(message.kind), self.me, self.cache);
        passed.mask = ByteMask::of_words(words);
        out.send(passed);
    }

    fn step_message(&mut self, message: &Message<W>, out: &mut Outbox<W>) -> Option<Outcome> {
        let (event, words) = (Event::of(message.kind), words_of(message.mask));
        match event {
            Event::ReqV | Event::ReqWt | Event::ReqWtData | Event::ReqWb | Event::Revoked => {
                self.to_network(message, self.llc(message.line), out);
            }
            Event::ReqO => {
                self.change(message.line, |line| line.owning |= words);
                self.to_network(message, self.llc(message.line), out);
            }
            Event::ReqOData => {
                self.change(message.line, |line| line.fetching |= words);
                self.to_network(message, self.llc(message.line), out);
            }
            Event::Answer => self.to_network(message, message.origin, out),
            Event::RspV => self.read(message, words, out),
            Event::RspWt | Event::RspWtData | Event::RspWb => self.to_cache(message, words, out),
            Event::RspO => {
                self.change(message.line, |line| line.owning &= !words);
                self.to_cache(message, words, out);
            }
            Event::RspOData => {
                self.change(message.line, |line| line.fetching &= !words);
                self.to_cache(message, words, out);
            }
            Event::Nack if self.faulty(TuFault::LostNack) => {}
            Event::Nack if self.faulty(TuFault::NackAsData) => {
                self.to_cache(&Message { kind: RSP_V, ..*message }, words, out);
            }
            Event::Nack => {
                self.change(message.line, |line| {
                    line.retried &= !words;
                    line.nacked |= words;
                });
                self.retry(message.line, out);
            }
            Event::FwdReqV | Event::FwdReqS | Event::FwdReqO | Event::FwdReqOData | Event::RvkO => {
                let late = words & self.on_its_way(event, message.line);
                if late != 0 && !self.faulty(TuFault::EarlyAnswer) {
                    return Some(Outcome::Stall);
                }
                self.answer_early(event, message, late, out);
                if words & !late != 0 {
                    self.to_cache(message, words & !late, out);
                }
            }
            Event::Foreign => return None,
        }
        Some(Outcome::Done)
    }

    /// The words of a line for which a forwarded request has to wait. A read may have been forwarded for an ownership
    /// that ended long ago. The cache refuses it if it has only just asked for the word again.
    fn on_its_way(&self, event: Event, line: LineAddr) -> u32 {
        let Line { fetching, owning, .. } = self.line(line);
        if event == Event::FwdReqV { fetching } else { fetching | owning }
    }

    /// Takes words of a read.
    fn read(&mut self, message: &Message<W>, words: u32, out: &mut Outbox<W>) {
        let Line { retried, .. } = self.line(message.line);
        if words & retried == 0 {
            self.to_cache(message, words, out);
            return;
        }
        self.change(message.line, |line| line.retried &= !words);
        self.to_cache(message, words & retried, out);
        self.retry(message.line, out);
    }

    /// Requests the Nacked words of a line, unless other words of it are being requested.
    fn retry(&mut self, line: LineAddr, out: &mut Outbox<W>) {
        let Line { retried, nacked, failures, .. } = self.line(line);
        if retried != 0 || nacked == 0 {
            return;
        }
        let failures = failures.saturating_add(1).min(self.retries);
        let converts = self.retries > 0 && failures == self.retries;
        let notes = !self.faulty(TuFault::UnnotedConversion);
        self.change(line, |line| {
            (line.nacked, line.failures) = (0, failures);
            if !converts {
                line.retried = nacked;
            } else if notes {
                line.fetching |= nacked;
            }
        });
        let kind = if converts { REQ_O_DATA } else { REQ_V };
        let request = Message::control(kind, line, self.me, self.llc(line));
        out.send(Message { mask: ByteMask::of_words(nacked), ..request });
    }

    /// Answers a request that is not passed on to the cache.
    fn answer(&self, kind: MsgKind, dst: AgentId, message: &Message<W>, words: u32, out: &mut Outbox<W>) {
        out.send(Message { dst, mask: ByteMask::of_words(words), ..message.reply(kind) });
    }

    /// Answers a request for words whose ownership has not come. Only a fault does this.
    fn answer_early(&self, event: Event, message: &Message<W>, words: u32, out: &mut Outbox<W>) {
        if words == 0 {
            return;
        }
        let (kind, dst) = match event {
            Event::FwdReqV => (RSP_V, message.origin),
            Event::FwdReqS => (RSP_S, message.origin),
            Event::FwdReqO => (RSP_O, message.origin),
            Event::FwdReqOData => (RSP_O_DATA, message.origin),
            Event::ReqV
            | Event::ReqWt
            | Event::ReqO
            | Event::ReqWtData
            | Event::ReqOData
            | Event::ReqWb
            | Event::Answer
            | Event::Revoked
            | Event::RspV
            | Event::RspWt
            | Event::RspO
            | Event::RspWtData
            | Event::RspOData
            | Event::RspWb
            | Event::Nack
            | Event::RvkO
            | Event::Foreign => (RSP_RVK_O, message.src),
        };
        self.answer(kind, dst, message, words, out);
    }
}

impl<const W: usize> Unit<W> for DeNovoTu<W> {
    const VOCABULARY: &'static Vocabulary = &VOCABULARY;

    fn state(&self, line: LineAddr) -> u8 {
        self.line_state(line) as u8
    }

    fn event(kind: MsgKind) -> u8 {
        Event::of(kind) as u8
    }

    fn take(&mut self, message: &Message<W>, out: &mut Outbox<W>) -> Option<Outcome> {
        self.step_message(message, out)
    }

    fn is_idle(&self) -> bool {
        self.lines.is_empty()
    }
}
