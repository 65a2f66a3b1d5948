//! Requests for lines that wait for nothing (Spandex paper, Table III).

use crate::address::AgentId;
use crate::cache::Slot;
use crate::controller::{Outbox, Outcome};
use crate::line::ByteMask;
use crate::message::{Message, MsgKind};
use crate::protocols::spandex::llc::SpandexLlc;
use crate::protocols::spandex::llc::block::{Answers, Waiting};
use crate::protocols::spandex::llc::faults::LlcFault;
use crate::protocols::spandex::llc::line::{Busy, all_words, give, owners, words_of};
use crate::protocols::spandex::llc::policy::ReadShared;
use crate::protocols::spandex::llc::states::Event;
use crate::protocols::spandex::messages::{
    FWD_REQ_O, FWD_REQ_O_DATA, FWD_REQ_S, FWD_REQ_V, RSP_O, RSP_O_DATA, RSP_S, RSP_V, RSP_WT, RSP_WT_DATA, RVK_O,
};
use crate::sharers::Sharers;

impl<const W: usize> SpandexLlc<W> {
    /// The option that serves a ReqS. It is chosen once for the whole line, since a MESI line cannot be Shared in part.
    pub(super) fn option(&self, slot: Slot, requestor: AgentId) -> Event {
        let (line, data) = (self.lines.meta(slot), self.lines.data(slot));
        if !self.devices.owns(requestor) {
            return Event::ReqS1;
        }
        match self.read_shared {
            ReadShared::One => Event::ReqS1,
            ReadShared::Two => Event::ReqS2,
            ReadShared::Three => Event::ReqS3,
            ReadShared::Evaluated => {
                let shareable = owners(line, data, line.owned).any(|(owner, _)| self.devices.shares(owner));
                if line.is_shared || shareable { Event::ReqS1 } else { Event::ReqS3 }
            }
        }
    }

    /// Serves a request, or begins to wait for the answers of devices that it needs.
    pub(super) fn serve(&mut self, event: Event, slot: Slot, message: &Message<W>, out: &mut Outbox<W>) -> Outcome {
        let writes = !matches!(event, Event::ReqV | Event::ReqS1 | Event::ReqS2);
        if writes && self.lines.meta(slot).is_shared && !self.unshare(event, slot, message, out) {
            return if self.lines.meta(slot).is_idle() { Outcome::Stall } else { Outcome::Done };
        }
        match event {
            Event::ReqV | Event::ReqS2 => self.read_valid(slot, message, out),
            Event::ReqS1 => return self.read_shared(slot, message, out),
            Event::ReqO => self.own(RSP_O, FWD_REQ_O, slot, message, out),
            Event::ReqS3 | Event::ReqOData => self.own(RSP_O_DATA, FWD_REQ_O_DATA, slot, message, out),
            Event::ReqWt => self.write_through(slot, message, out),
            Event::ReqWtData => return self.update(slot, message, out),
            Event::ReqWbOwner
            | Event::ReqWbOther
            | Event::RspRvkO
            | Event::RspRvkOReferred
            | Event::Ack
            | Event::Data
            | Event::Evict
            | Event::DataE
            | Event::DataM
            | Event::UpgradeAck
            | Event::WbAck
            | Event::Inv
            | Event::Rcl
            | Event::FwdGetS
            | Event::Peek
            | Event::Foreign => return Outcome::Stall,
        }
        self.lines.touch(slot);
        Outcome::Done
    }

    /// Sends words of a line to the requestor.
    fn respond(&self, kind: MsgKind, slot: Slot, words: u32, message: &Message<W>, out: &mut Outbox<W>) {
        if words != 0 {
            let data = *self.lines.data(slot);
            out.send(Message { mask: ByteMask::of_words(words), data, ..message.reply(kind) });
        }
    }

    /// Forwards a request to an owner, which answers the requestor.
    fn forward(&self, kind: MsgKind, owner: AgentId, words: u32, message: &Message<W>, out: &mut Outbox<W>) {
        let Message { line, src, txn, wave, credit, .. } = *message;
        let mask = ByteMask::of_words(words);
        out.send(Message { origin: src, txn, wave, credit, mask, ..Message::control(kind, line, self.me, owner) });
    }

    /// Reads words without a change of state. All other words that are up to date here come along.
    fn read_valid(&mut self, slot: Slot, message: &Message<W>, out: &mut Outbox<W>) {
        let (line, data) = (*self.lines.meta(slot), *self.lines.data(slot));
        let (asked, valid) = (words_of(message.mask), all_words::<W>() & !line.owned);
        if asked & valid != 0 {
            self.respond(RSP_V, slot, valid, message, out);
        }
        let most = if self.faulty(LlcFault::FirstOwnerOnly) { 1 } else { W };
        for (owner, words) in owners(&line, &data, asked).take(most) {
            // Only an owner that answers alone may add words. Otherwise they could clash with the answer of another
            // owner.
            let alone = Message { credit: u32::from(words == asked), ..*message };
            self.forward(FWD_REQ_V, owner, words, &alone, out);
        }
    }

    /// Reads a line with Shared state. Owners that can share send their words to the reader themselves. Other owners
    /// give their words back first.
    fn read_shared(&mut self, slot: Slot, message: &Message<W>, out: &mut Outbox<W>) -> Outcome {
        let (line, data) = (*self.lines.meta(slot), *self.lines.data(slot));
        if line.owned != 0 && self.mshrs.is_full() {
            return Outcome::Stall;
        }
        self.lines.touch(slot);
        let valid = all_words::<W>() & !line.owned;
        self.respond(RSP_S, slot, valid, message, out);
        if line.owned == 0 {
            self.share(slot, message.src);
            return Outcome::Done;
        }
        let mut handed = valid;
        for (owner, words) in owners(&line, &data, line.owned) {
            if self.devices.shares(owner) {
                handed |= words;
                self.lines.meta_mut(slot).sharers.insert(self.devices.place(owner));
                self.forward(FWD_REQ_S, owner, words, message, out);
            } else {
                self.ask(RVK_O, message.line, owner, words, out);
            }
        }
        let answers = Answers { revoked: line.owned, handed, ..Answers::default() };
        self.block(slot, answers, message)
    }

    fn share(&mut self, slot: Slot, device: AgentId) {
        let place = self.devices.place(device);
        let lost = self.faulty(LlcFault::LostSharer) && self.lines.meta(slot).is_shared;
        let line = self.lines.meta_mut(slot);
        line.is_shared = true;
        if !lost {
            line.sharers.insert(place);
        }
    }

    fn block(&mut self, slot: Slot, answers: Answers, message: &Message<W>) -> Outcome {
        self.lines.meta_mut(slot).busy = Busy::Answers;
        self.mshrs.insert(message.line, Waiting::Block(answers, *message));
        Outcome::Done
    }

    /// Makes a Shared line Valid for a write. Returns whether it is Valid now. Otherwise it waits for acknowledgements,
    /// or there is no register to wait with. A device that will own the line keeps its copy.
    fn unshare(&mut self, event: Event, slot: Slot, message: &Message<W>, out: &mut Outbox<W>) -> bool {
        let owns = matches!(event, Event::ReqS3 | Event::ReqO | Event::ReqOData);
        let sharers = self.lines.meta(slot).sharers;
        let others = if owns { sharers.without(self.devices.place(message.src)) } else { sharers };
        let asks = !others.is_empty() && !self.faulty(LlcFault::LostInv);
        if asks && self.mshrs.is_full() {
            return false;
        }
        if asks {
            self.invalidate(message.line, others, out);
        }
        let line = self.lines.meta_mut(slot);
        (line.is_shared, line.sharers) = (false, Sharers::NONE);
        let waits = asks && !self.faulty(LlcFault::EarlyWrite);
        if waits {
            self.lines.touch(slot);
            self.block(slot, Answers { acks: others.len(), ..Answers::default() }, message);
        }
        !waits
    }

    /// Makes the requestor the owner of its words at once. Words that nobody owns come from here, and the others come
    /// from their owners.
    fn own(&mut self, response: MsgKind, forwarded: MsgKind, slot: Slot, message: &Message<W>, out: &mut Outbox<W>) {
        let (line, data) = (*self.lines.meta(slot), *self.lines.data(slot));
        let asked = words_of(message.mask);
        let answers_all = match response {
            RSP_O => self.faulty(LlcFault::UnforwardedReqO),
            MsgKind(_) => self.faulty(LlcFault::OwnerAsData),
        };
        let from_owners = if answers_all { 0 } else { line.owned };
        self.respond(response, slot, asked & !from_owners, message, out);
        for (owner, words) in owners(&line, &data, asked & from_owners) {
            self.forward(forwarded, owner, words, message, out);
        }
        let (mut line, mut data) = (line, data);
        give(&mut line, &mut data, asked, message.src);
        self.lines.fill(slot, &data);
        *self.lines.meta_mut(slot) = line;
    }

    /// Takes written words at once. Former owners are only told that they no longer own the words, and they answer the
    /// writer.
    fn write_through(&mut self, slot: Slot, message: &Message<W>, out: &mut Outbox<W>) {
        let (line, data) = (*self.lines.meta(slot), *self.lines.data(slot));
        let asked = words_of(message.mask);
        let valid = asked & !line.owned;
        if valid != 0 {
            out.send(Message { mask: ByteMask::of_words(valid), ..message.reply(RSP_WT) });
        }
        for (owner, words) in owners(&line, &data, asked) {
            self.forward(FWD_REQ_O, owner, words, message, out);
        }
        let taken = if self.faulty(LlcFault::KeptOwner) { valid } else { asked };
        self.lines.data_mut(slot).merge(ByteMask::of_words(taken), &message.data);
        let line = self.lines.meta_mut(slot);
        line.owned &= !taken;
        line.is_dirty = true;
    }

    /// Updates words here, once their owners have given them back, and answers with their old values.
    fn update(&mut self, slot: Slot, message: &Message<W>, out: &mut Outbox<W>) -> Outcome {
        let (line, data) = (*self.lines.meta(slot), *self.lines.data(slot));
        let owned = words_of(message.mask) & line.owned;
        if owned != 0 && !self.faulty(LlcFault::UnrevokedUpdate) {
            if self.mshrs.is_full() {
                return Outcome::Stall;
            }
            self.lines.touch(slot);
            for (owner, words) in owners(&line, &data, owned) {
                self.ask(RVK_O, message.line, owner, words, out);
            }
            return self.block(slot, Answers { revoked: owned, ..Answers::default() }, message);
        }
        self.lines.touch(slot);
        let mut values = message.data;
        match message.atomic {
            Some(operation) => {
                operation.perform(self.lines.data_mut(slot), message.mask, &mut values);
                self.lines.meta_mut(slot).is_dirty = true;
            }
            None => values = data,
        }
        out.send(Message { mask: message.mask, data: values, ..message.reply(RSP_WT_DATA) });
        Outcome::Done
    }

    /// Continues with a request whose line was blocked.
    pub(super) fn resume(&mut self, slot: Slot, answers: &Answers, request: &Message<W>, out: &mut Outbox<W>) {
        if answers.handed != 0 {
            self.respond(RSP_S, slot, all_words::<W>() & !answers.handed, request, out);
            self.share(slot, request.src);
            return;
        }
        let event = self.event(request, Some(slot));
        self.serve(event, slot, request, out);
    }
}
