//! The messages that a DeNovo cache takes: answers to its requests, and requests that are forwarded to it (Spandex
//! paper, Table IV and section III-C).

use crate::access::{CoreOp, Order};
use crate::address::LineAddr;
use crate::controller::{Outbox, Outcome, Unspecified};
use crate::line::ByteMask;
use crate::message::{Message, MsgKind};
use crate::mshr::Register;
use crate::protocols::denovo::faults::L1Fault;
use crate::protocols::denovo::l1::DeNovoL1;
use crate::protocols::denovo::l1_states::Event;
use crate::protocols::spandex::llc::line::words_of;
use crate::protocols::spandex::messages::{
    NACK, RSP_O, RSP_O_DATA, RSP_RVK_O, RSP_RVK_O_REFERRED, RSP_S, RSP_V, local,
};

impl<const W: usize> DeNovoL1<W> {
    pub(super) fn step_message(&mut self, message: &Message<W>, out: &mut Outbox<W>) -> Result<Outcome, Unspecified> {
        let event = Event::of(message.kind);
        let taken = match event {
            Event::RspV => self.read(message, out),
            Event::RspO | Event::RspWt => self.written(message, out),
            Event::RspOData => self.fetched(message, out),
            Event::RspWtData => self.updated(message, out),
            Event::RspWb => self.written_back(message.line, words_of(message.mask)),
            Event::FwdReqV | Event::FwdReqS | Event::FwdReqO | Event::FwdReqOData | Event::RvkO => {
                self.forwarded(event, message, out)
            }
            Event::Load
            | Event::OrderedLoad
            | Event::Store
            | Event::OrderedStore
            | Event::Atomic
            | Event::Evict
            | Event::Foreign => None,
        };
        match taken {
            Some(()) => Ok(Outcome::Done),
            None => Err(self.unspecified(event, message.line)),
        }
    }

    /// Takes the words of a ReqV, and perhaps others that come along with them.
    fn read(&mut self, message: &Message<W>, out: &mut Outbox<W>) -> Option<()> {
        let (slot, register) = (self.lines.find(message.line)?, self.mshrs.find(message.line)?);
        let come = words_of(message.mask);
        let pending = *self.mshrs.payload(register);
        if come & pending.reading == 0 {
            return None;
        }
        let words = *self.lines.meta(slot);
        let mut fresh = come & !(words.owned | pending.writing());
        if !self.faulty(L1Fault::OldRefill) {
            fresh &= !pending.skipped;
        }
        if self.faulty(L1Fault::OverwrittenOwned) {
            self.lines.data_mut(slot).merge(ByteMask::of_words(come & words.owned), &message.data);
        }
        if !pending.is_stale || words.is_read_only || self.faulty(L1Fault::KeptRead) {
            let kept = fresh & !words.valid;
            self.lines.data_mut(slot).merge(ByteMask::of_words(kept), &message.data);
            self.lines.meta_mut(slot).valid |= kept;
        } else if pending.old > 0 {
            self.use_once(register, fresh & pending.reading, message);
        }
        self.mshrs.payload_mut(register).read(come);
        self.proceed(register, message.line, out);
        Some(())
    }

    /// Gives words that are not kept to the load that has waited longest.
    fn use_once(&mut self, register: Register, words: u32, message: &Message<W>) {
        let Some(load) = self.mshrs.first_target(register) else { return };
        if load.op == CoreOp::Load && load.order == Order::Weak {
            let words = words & words_of(load.mask);
            let pending = self.mshrs.payload_mut(register);
            let taken = words & !pending.done;
            pending.data.merge(ByteMask::of_words(taken), &message.data);
            pending.done |= taken;
        }
    }

    /// Notes that words of a store are owned, or have been written through.
    fn written(&mut self, message: &Message<W>, out: &mut Outbox<W>) -> Option<()> {
        let (slot, register) = (self.lines.find(message.line)?, self.mshrs.find(message.line)?);
        let come = words_of(message.mask);
        let pending = self.mshrs.payload_mut(register);
        if come & !(pending.owning | pending.through) != 0 {
            return None;
        }
        let owned = come & pending.owning;
        pending.owning &= !come;
        pending.through &= !come;
        self.lines.meta_mut(slot).owned |= owned;
        if let Some(store) = self.stores.find(LineAddr(message.txn.key())) {
            let outstanding = self.stores.payload_mut(store);
            outstanding.missing &= !come;
            if outstanding.missing == 0 {
                let wave = outstanding.wave;
                self.stores.release(store);
                out.complete_empty(message.txn);
                self.acknowledged(wave, out);
            }
        }
        self.proceed(register, message.line, out);
        Some(())
    }

    /// Takes words that have come and are owned now. They answer a ReqO+data, or a ReqV that the translation unit has
    /// replaced by one.
    fn fetched(&mut self, message: &Message<W>, out: &mut Outbox<W>) -> Option<()> {
        let (slot, register) = (self.lines.find(message.line)?, self.mshrs.find(message.line)?);
        let come = words_of(message.mask);
        let pending = self.mshrs.payload_mut(register);
        if come & !(pending.fetching | pending.reading) != 0 {
            return None;
        }
        pending.fetching &= !come;
        pending.read(come & pending.reading);
        self.lines.data_mut(slot).merge(message.mask, &message.data);
        let words = self.lines.meta_mut(slot);
        words.owned |= come;
        words.valid &= !come;
        self.proceed(register, message.line, out);
        Some(())
    }

    /// Takes the old values of words that the shared cache has updated for an ordered access.
    fn updated(&mut self, message: &Message<W>, out: &mut Outbox<W>) -> Option<()> {
        let register = self.mshrs.find(message.line)?;
        let come = words_of(message.mask);
        let pending = self.mshrs.payload_mut(register);
        if come & !pending.through != 0 {
            return None;
        }
        pending.through &= !come;
        pending.data.merge(message.mask, &message.data);
        pending.done |= come;
        self.proceed(register, message.line, out);
        Some(())
    }

    /// Notes that words of a write-back have been taken.
    fn written_back(&mut self, line: LineAddr, words: u32) -> Option<()> {
        let register = self.mshrs.find(line)?;
        let releases = self.faulty(L1Fault::EarlyRelease);
        let pending = self.mshrs.payload_mut(register);
        if words & !pending.written_back != 0 {
            return None;
        }
        pending.written_back &= if releases { 0 } else { !words };
        pending.is_on_its_way = false;
        if pending.written_back == 0 {
            self.mshrs.release(register);
        }
        Some(())
    }

    /// Takes a request for words that this cache owns, as far as the LLC knows.
    fn forwarded(&mut self, event: Event, message: &Message<W>, out: &mut Outbox<W>) -> Option<()> {
        let asked = words_of(message.mask);
        let words = self.words(message.line);
        let written_back = self.mshrs.get(message.line).map_or(0, |pending| pending.written_back);
        // A read may have been forwarded for an ownership that ended long ago. It must not get data whose ReqO the LLC
        // has not ordered yet, since it would see a store before its time. All other requests have waited for such
        // words.
        let missing = asked & !(words.owned | written_back);
        if missing != 0 && event == Event::FwdReqV {
            if !self.faulty(L1Fault::LostNack) {
                self.answer(NACK, missing, message, out);
            }
        } else if missing != 0 {
            return None;
        }
        // All other words that are owned here come along with the answer to a read (Table II, footnote).
        let adds = event == Event::FwdReqV && message.credit == 1 && asked & !words.owned == 0;
        let along = if adds { words.owned } else { 0 };
        self.give(event, along | (asked & words.owned), RSP_RVK_O, message, out);
        self.give(event, asked & written_back, RSP_RVK_O_REFERRED, message, out);
        if event != Event::FwdReqV || self.faulty(L1Fault::ReadDowngrade) {
            self.downgrade(event, message.line, asked);
        }
        Some(())
    }

    /// Answers a forwarded request for words that are here.
    fn give(&self, event: Event, words: u32, revoked: MsgKind, message: &Message<W>, out: &mut Outbox<W>) {
        if words == 0 {
            return;
        }
        match event {
            Event::FwdReqV => self.answer(RSP_V, words, message, out),
            Event::FwdReqO => self.answer(RSP_O, words, message, out),
            Event::FwdReqOData => self.answer(RSP_O_DATA, words, message, out),
            Event::FwdReqS => {
                self.answer(RSP_S, words, message, out);
                self.answer(revoked, words, message, out);
            }
            Event::Load
            | Event::OrderedLoad
            | Event::Store
            | Event::OrderedStore
            | Event::Atomic
            | Event::Evict
            | Event::RspV
            | Event::RspWt
            | Event::RspO
            | Event::RspWtData
            | Event::RspOData
            | Event::RspWb
            | Event::RvkO
            | Event::Foreign => self.answer(revoked, words, message, out),
        }
    }

    fn answer(&self, kind: MsgKind, words: u32, message: &Message<W>, out: &mut Outbox<W>) {
        let mut answer = Message { mask: ByteMask::of_words(words), ..message.reply(local(kind)) };
        if matches!(kind, RSP_V | RSP_O_DATA | RSP_S | RSP_RVK_O) {
            answer.data = match (self.lines.find(message.line), self.mshrs.get(message.line)) {
                (Some(slot), _) => *self.lines.data(slot),
                (None, Some(pending)) => pending.data,
                (None, None) => answer.data,
            };
        }
        out.send(answer);
    }

    /// Gives up words that were owned, since another cache gets them.
    fn downgrade(&mut self, event: Event, line: LineAddr, asked: u32) {
        let keeps = self.faulty(L1Fault::KeptOwned);
        let unfinished = self.faulty(L1Fault::UnfinishedWriteBack);
        if let Some(register) = self.mshrs.find(line) {
            let pending = self.mshrs.payload_mut(register);
            if pending.written_back & asked != 0 && !unfinished {
                pending.written_back &= !asked;
                if pending.written_back == 0 && !pending.is_on_its_way {
                    self.mshrs.release(register);
                }
            }
        }
        let Some(slot) = self.lines.find(line) else { return };
        let words = self.lines.meta_mut(slot);
        let given = words.owned & asked;
        if given == 0 || keeps {
            return;
        }
        words.owned &= !given;
        if event == Event::FwdReqS {
            words.valid |= given;
        }
        let (is_reused, is_gone) = (words.is_reused, words.owned == 0);
        if is_gone {
            words.is_reused = false;
        }
        if words.valid | words.owned == 0 && !words.is_pending {
            self.lines.remove(slot);
        }
        if is_gone {
            self.learn(line, is_reused);
        }
    }
}
