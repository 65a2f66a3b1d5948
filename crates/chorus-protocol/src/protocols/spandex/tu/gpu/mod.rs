//! The translation unit of a GPU coherence cache (Spandex paper, section III-D).
//!
//! The cache takes whole lines and whole acknowledgements. The unit collects the parts, which the LLC and the owners of
//! words send. It requests words again that a supposed owner no longer had. After `retries` attempts it uses ReqWT+data
//! without an operation. This request is ordered with the requests of owners, so it succeeds.
//!
//! The Nacked words of a line are requested again in one request at a time. The answer may bring more of the line,
//! including words whose own answers are still on their way. The unit counts only the words that it requested, so no
//! answer is left over when the line is complete.

pub mod faults;
mod states;

use crate::access::Txn;
use crate::address::{AgentId, LineAddr, Topology};
use crate::controller::{Outbox, Outcome, Vocabulary};
use crate::line::{ByteMask, LineData};
use crate::message::{Message, MsgKind};
use crate::mshr::Mshrs;
use crate::protocols::spandex::llc::line::{all_words, words_of};
use crate::protocols::spandex::messages::{REQ_V, REQ_WT, REQ_WT_DATA, RSP_V, RSP_WT, RSP_WT_DATA, local};
use crate::protocols::spandex::tu::unit::Unit;
use crate::registry::BuildConfig;
use crate::save::{self, Restore, Save};
use faults::TuFault;
use states::{Event, State, VOCABULARY};

/// The largest number of writes that may be outstanding.
const WRITES: u32 = 1 << 12;

/// An outstanding read of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Save)]
struct Read<const W: usize> {
    /// The words that have come.
    come: u32,
    /// Nacked words that have been requested again.
    retried: u32,
    /// Nacked words that will be requested after the `retried` ones.
    nacked: u32,
    /// The number of attempts that failed.
    failures: u8,
    data: LineData<W>,
}

/// An outstanding write or update.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Save)]
struct Write<const W: usize> {
    line: LineAddr,
    wave: u16,
    /// The words written, and the words among them that are not answered yet.
    words: u32,
    missing: u32,
    /// The kind of the answer to the cache.
    answer: MsgKind,
    data: LineData<W>,
}

/// The translation unit of a GPU coherence cache.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Restore)]
pub struct GpuTu<const W: usize> {
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
    reads: Mshrs<Read<W>, ()>,
    /// The outstanding writes, by the names of the operations that they serve.
    writes: Mshrs<Write<W>, ()>,
}

impl<const W: usize> GpuTu<W> {
    /// Unit `index`. Words that were Nacked `retries` times are requested with ReqWT+data. Zero means never.
    pub fn new(index: u16, config: &BuildConfig, retries: u8, fault: Option<TuFault>) -> Self {
        GpuTu {
            me: config.topology.tu(index),
            cache: config.topology.translated(index),
            topology: config.topology,
            retries,
            fault,
            reads: Mshrs::new(config.l1.mshrs),
            writes: Mshrs::new(WRITES),
        }
    }

    fn faulty(&self, fault: TuFault) -> bool {
        self.fault == Some(fault)
    }

    fn line_state(&self, line: LineAddr) -> State {
        match self.reads.get(line) {
            Some(read) if read.retried != 0 => State::Retry,
            Some(_) => State::Read,
            None if self.writes.iter().any(|(_, write)| write.line == line) => State::Write,
            None => State::Idle,
        }
    }

    fn to_llc(&self, kind: MsgKind, message: &Message<W>) -> Message<W> {
        Message { kind, src: self.me, dst: self.topology.beyond(self.cache, message.line), ..*message }
    }

    fn to_cache(&self, kind: MsgKind, line: LineAddr) -> Message<W> {
        Message::control(local(kind), line, self.me, self.cache)
    }

    fn write(&mut self, kind: MsgKind, answer: MsgKind, message: &Message<W>, out: &mut Outbox<W>) {
        let (words, data) = (words_of(message.mask), LineData::default());
        let write = Write { line: message.line, wave: message.wave, words, missing: words, answer, data };
        self.writes.insert(LineAddr(message.txn.key()), write);
        out.send(self.to_llc(kind, message));
    }

    /// Notes that words of a write are done.
    fn written(&mut self, message: &Message<W>, out: &mut Outbox<W>) -> Option<()> {
        let register = self.writes.find(LineAddr(message.txn.key()))?;
        let write = self.writes.payload_mut(register);
        write.missing &= !words_of(message.mask);
        if write.answer == RSP_WT_DATA {
            write.data.merge(message.mask, &message.data);
        }
        if write.missing == 0 {
            let Write { line, wave, words, answer, data, .. } = *write;
            self.writes.release(register);
            let (txn, mask) = (message.txn, ByteMask::of_words(words));
            out.send(Message { txn, wave, mask, data, ..self.to_cache(answer, line) });
        }
        Some(())
    }

    /// Takes words of a read.
    fn read(&mut self, message: &Message<W>, out: &mut Outbox<W>) -> Option<()> {
        let register = self.reads.find(message.line)?;
        let hasty = self.faulty(TuFault::HastyFill);
        let words = words_of(message.mask);
        let read = self.reads.payload_mut(register);
        let asked = if words & read.retried != 0 { read.retried } else { !(read.retried | read.nacked) };
        let brought = words & asked & !read.come;
        read.data.merge(ByteMask::of_words(brought), &message.data);
        read.come |= brought;
        read.retried &= !brought;
        if read.come == all_words::<W>() || hasty {
            let data = read.data;
            self.reads.release(register);
            out.send(Message { mask: ByteMask::full::<W>(), data, ..self.to_cache(RSP_V, message.line) });
        } else if read.retried == 0 && read.nacked != 0 {
            self.retry(message.line, out);
        }
        Some(())
    }

    /// Takes a Nack: a supposed owner does not have the words.
    fn nacked(&mut self, message: &Message<W>, out: &mut Outbox<W>) -> Option<()> {
        let register = self.reads.find(message.line)?;
        if self.faulty(TuFault::NackAsData) {
            return self.read(message, out);
        }
        if self.faulty(TuFault::LostNack) {
            return Some(());
        }
        let words = if self.faulty(TuFault::WholeRetry) { all_words::<W>() } else { words_of(message.mask) };
        let read = self.reads.payload_mut(register);
        read.retried &= !words;
        read.nacked |= words & !read.come;
        if read.retried == 0 {
            self.retry(message.line, out);
        }
        Some(())
    }

    /// Requests the Nacked words of a line again.
    fn retry(&mut self, line: LineAddr, out: &mut Outbox<W>) {
        let Some(register) = self.reads.find(line) else { return };
        let retries = self.retries;
        let read = self.reads.payload_mut(register);
        read.retried = std::mem::take(&mut read.nacked);
        read.failures = read.failures.saturating_add(1).min(retries);
        let converts = retries > 0 && read.failures == retries;
        let (kind, txn) = if converts { (REQ_WT_DATA, Txn::Converted) } else { (REQ_V, Txn::default()) };
        let mask = ByteMask::of_words(read.retried);
        let llc = self.topology.beyond(self.cache, line);
        out.send(Message { txn, mask, ..Message::control(kind, line, self.me, llc) });
    }

    fn step_message(&mut self, message: &Message<W>, out: &mut Outbox<W>) -> Option<()> {
        match Event::of(message.kind) {
            Event::ReqV => {
                if self.reads.find(message.line).is_some() {
                    return None;
                }
                let data = LineData::default();
                self.reads.insert(message.line, Read { come: 0, retried: 0, nacked: 0, failures: 0, data });
                out.send(self.to_llc(REQ_V, message));
                Some(())
            }
            Event::ReqWt => {
                self.write(REQ_WT, RSP_WT, message, out);
                Some(())
            }
            Event::ReqWtData => {
                self.write(REQ_WT_DATA, RSP_WT_DATA, message, out);
                Some(())
            }
            Event::RspV => self.read(message, out),
            Event::RspWtData if message.txn == Txn::Converted => self.read(message, out),
            Event::RspO if self.faulty(TuFault::UncountedOwner) => Some(()),
            Event::RspWt | Event::RspO | Event::RspWtData => self.written(message, out),
            Event::Nack => self.nacked(message, out),
            Event::Foreign => None,
        }
    }
}

impl<const W: usize> Unit<W> for GpuTu<W> {
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
        self.reads.is_empty() && self.writes.is_empty()
    }
}
