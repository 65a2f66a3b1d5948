//! The level behind the bank: memory, which is passive, or an L3 of which the bank is a MESI client (Spandex paper,
//! sections II-D and IV-A: hierarchical MESI).
//!
//! The L3 gives the bank permission to read a line, or to read and write it. Reads of devices need the first,
//! everything else needs the second. When the L3 wants a line back, or shared, the words that devices own have to come
//! back first. Devices that invalidate themselves keep the words that they have read, as they do when another device of
//! the bank writes.

use crate::address::{AgentId, LineAddr};
use crate::cache::Slot;
use crate::controller::{Outbox, Outcome};
use crate::line::{ByteMask, LineData};
use crate::message::{Message, MsgKind, memory};
use crate::protocols::mesi::messages as mesi;
use crate::protocols::spandex::llc::SpandexLlc;
use crate::protocols::spandex::llc::block::{Answers, Probe, Waiting};
use crate::protocols::spandex::llc::faults::LlcFault;
use crate::protocols::spandex::llc::line::{Busy, Fetch, Line, Permission, owners};
use crate::protocols::spandex::llc::states::{Event, State};
use crate::protocols::spandex::messages::{PEEK, PEEK_DATA, PEEK_MISS, RVK_O};

/// The level behind a bank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Behind {
    /// A memory channel, with this id.
    Memory(AgentId),
    /// A coherent cache, reached through the bank's translation unit if it has one.
    L3,
}

/// The event of a message from behind the bank.
pub fn event(kind: MsgKind) -> Event {
    match kind {
        mesi::DATA => Event::Data,
        mesi::DATA_E => Event::DataE,
        mesi::DATA_M => Event::DataM,
        mesi::UPGRADE_ACK => Event::UpgradeAck,
        mesi::WB_ACK => Event::WbAck,
        mesi::INV => Event::Inv,
        mesi::RCL => Event::Rcl,
        mesi::FWD_GETS => Event::FwdGetS,
        PEEK => Event::Peek,
        MsgKind(_) => Event::Foreign,
    }
}

impl<const W: usize> SpandexLlc<W> {
    /// A message without data to the cache behind the bank.
    fn upwards(&self, kind: MsgKind, line: LineAddr) -> Message<W> {
        Message::control(kind, line, self.me, self.topology.upstream(self.me, line))
    }

    /// Requests a line that is not here.
    pub(super) fn fetch(&self, event: Event, line: LineAddr, out: &mut Outbox<W>) -> Fetch {
        let (fetch, message) = match self.behind {
            Behind::Memory(memory) => (Fetch::Read, Message::control(memory::FETCH, line, self.me, memory)),
            Behind::L3 if event == Event::ReqV => (Fetch::Read, self.upwards(mesi::GETS, line)),
            Behind::L3 => (Fetch::Write, self.upwards(mesi::GETX, line)),
        };
        out.send(message);
        fetch
    }

    /// Whether a request needs to write a line that the L3 only lets the bank read.
    pub(super) fn lacks_permission(&self, event: Event, slot: Slot) -> bool {
        event != Event::ReqV && self.lines.meta(slot).permission == Permission::Read
    }

    /// Asks the L3 for permission to write.
    pub(super) fn upgrade(&mut self, slot: Slot, message: &Message<W>, out: &mut Outbox<W>) -> Outcome {
        if self.mshrs.is_full() {
            return Outcome::Stall;
        }
        self.lines.meta_mut(slot).busy = Busy::Fetch(Fetch::Upgrade);
        self.mshrs.insert(message.line, Waiting::Fetch(*message));
        out.send(self.upwards(mesi::UPGRADE, message.line));
        Outcome::Done
    }

    /// Takes the data or permission that was requested. The request that waits for it is served. A line that another
    /// cache has written meanwhile is not kept.
    pub(super) fn granted(
        &mut self,
        event: Event,
        state: State,
        slot: Option<Slot>,
        message: &Message<W>,
        out: &mut Outbox<W>,
    ) -> Option<Outcome> {
        let slot = slot?;
        let Busy::Fetch(fetch) = self.lines.meta(slot).busy else { return None };
        let is_asked_for = match fetch {
            Fetch::Read | Fetch::ReadOnce => matches!(event, Event::Data | Event::DataE),
            Fetch::Write => event == Event::DataM,
            Fetch::Upgrade => event == Event::UpgradeAck,
        };
        if !is_asked_for {
            return None;
        }
        let is_shared = event == Event::Data && message.kind != memory::MEM_DATA;
        let permission = if is_shared { Permission::Read } else { Permission::Write };
        let register = self.mshrs.find(message.line)?;
        let Waiting::Fetch(request) = *self.mshrs.payload(register) else { return None };
        self.mshrs.release(register);
        if event != Event::UpgradeAck {
            self.lines.fill(slot, &message.data);
        }
        if matches!(event, Event::DataE | Event::DataM | Event::UpgradeAck) {
            out.send(self.upwards(mesi::EXCLUSIVE_UNBLOCK, message.line));
        }
        // Through a translation unit an only copy counts as written, since no other cache has the data.
        let only = permission == Permission::Write && self.topology.tu_of(self.me).is_some();
        let line = self.lines.meta_mut(slot);
        (line.busy, line.permission) = (Busy::No, permission);
        line.is_dirty |= only;
        let served = self.event(&request, Some(slot));
        let outcome = self.serve(served, slot, &request, out);
        if state == State::ReadOnce && event == Event::Data {
            self.lines.remove(slot);
        }
        Some(outcome)
    }

    /// Whether a line has to be written back with an acknowledgement when it leaves.
    pub(super) fn leaves_slowly(&self, line: &Line) -> bool {
        self.behind == Behind::L3 && line.permission == Permission::Write
    }

    /// Lets a line leave of which no device owns a word.
    pub(super) fn leave(&mut self, line: LineAddr, meta: &Line, data: &LineData<W>, out: &mut Outbox<W>) {
        let written = meta.is_dirty && !self.faulty(LlcFault::LostDirtyLine);
        let full = |message| Message { mask: ByteMask::full::<W>(), data: *data, ..message };
        match self.behind {
            Behind::Memory(memory) if written => {
                out.send(full(Message::control(memory::WB, line, self.me, memory)));
            }
            Behind::L3 if self.leaves_slowly(meta) => {
                let put = self.upwards(if written { mesi::PUTX } else { mesi::PUTX_CLEAN }, line);
                out.send(if written { full(put) } else { put });
                self.mshrs.insert(line, Waiting::WriteBack);
            }
            Behind::Memory(_) | Behind::L3 => {}
        }
    }

    /// Notes that the L3 has taken a line back.
    pub(super) fn taken_back(&mut self, line: LineAddr) -> Option<Outcome> {
        let register = self.mshrs.find(line)?;
        match self.mshrs.payload(register) {
            Waiting::WriteBack | Waiting::AnsweredWriteBack => self.mshrs.release(register),
            Waiting::Fetch(_) | Waiting::Block(..) | Waiting::Recall(..) => return None,
        }
        Some(Outcome::Done)
    }

    /// Takes a probe: the L3 wants a line back, or shared.
    pub(super) fn probed(
        &mut self,
        state: State,
        slot: Option<Slot>,
        message: &Message<W>,
        out: &mut Outbox<W>,
    ) -> Option<Outcome> {
        let (line, kind) = (message.line, message.kind);
        match (state, slot) {
            (State::I | State::ReadOnce, _) => self.answer(kind, line, None, out),
            (State::Fetching | State::Upgrading, Some(slot)) => {
                let Busy::Fetch(fetch) = self.lines.meta(slot).busy else { return None };
                if kind == mesi::FWD_GETS && fetch == Fetch::Upgrade {
                    return None;
                }
                let invalidated = match fetch {
                    Fetch::Read if kind != mesi::FWD_GETS => Fetch::ReadOnce,
                    Fetch::Upgrade => Fetch::Write,
                    Fetch::Read | Fetch::ReadOnce | Fetch::Write => fetch,
                };
                self.lines.meta_mut(slot).busy = Busy::Fetch(invalidated);
                self.answer(kind, line, None, out);
            }
            (State::Leaving, _) => {
                let register = self.mshrs.find(line)?;
                *self.mshrs.payload_mut(register) = Waiting::AnsweredWriteBack;
                out.send(self.upwards(mesi::WB_PENDING, line));
            }
            (State::V | State::O | State::S, Some(slot))
                if kind == mesi::FWD_GETS && self.lines.meta(slot).permission == Permission::Read =>
            {
                return None;
            }
            (State::V | State::O | State::S | State::Blocked | State::Recalled, _) => {
                self.probes.insert(line, Probe { kind, answers: None });
                self.go_on_with_probe(line, out);
            }
            (State::LeavingAnswered | State::Fetching | State::Upgrading, _) => return None,
        }
        Some(Outcome::Done)
    }

    /// Answers a probe of the L3. A line that was written is sent with its data.
    fn answer(&self, kind: MsgKind, line: LineAddr, written: Option<&LineData<W>>, out: &mut Outbox<W>) {
        let (ack, with_data) = match kind {
            mesi::FWD_GETS => (mesi::FWD_ACK, mesi::FWD_DATA),
            mesi::RCL => (mesi::RCL_ACK, mesi::RCL_DATA),
            MsgKind(_) => (mesi::INV_ACK, mesi::INV_DATA),
        };
        out.send(match written {
            Some(data) => Message { mask: ByteMask::full::<W>(), data: *data, ..self.upwards(with_data, line) },
            None => self.upwards(ack, line),
        });
    }

    /// The words among `words` for which a probe of the L3 waits. It waits for their write-back.
    pub(super) fn await_probe(&mut self, line: LineAddr, words: u32) -> u32 {
        let Some(register) = self.probes.find(line) else { return 0 };
        let Some(answers) = &mut self.probes.payload_mut(register).answers else { return 0 };
        let awaited = words & (answers.revoked | answers.referred);
        answers.referred &= !words;
        awaited
    }

    /// Asks devices for the words that the L3 wants, or answers the L3 when they have given everything back. If the
    /// line waits for something else, this is done afterwards.
    pub(super) fn go_on_with_probe(&mut self, line: LineAddr, out: &mut Outbox<W>) {
        let Some(register) = self.probes.find(line) else { return };
        let Probe { kind, answers } = *self.probes.payload(register);
        if answers.is_some_and(|answers| !answers.are_complete()) {
            return;
        }
        let Some(slot) = self.lines.find(line) else {
            // The line has left meanwhile, and the L3 is referred to its write-back. A line that may only be read
            // leaves silently.
            if let Some(register) = self.mshrs.find(line) {
                if !matches!(self.mshrs.payload(register), Waiting::WriteBack) {
                    return;
                }
                *self.mshrs.payload_mut(register) = Waiting::AnsweredWriteBack;
                out.send(self.upwards(mesi::WB_PENDING, line));
            } else {
                self.answer(kind, line, None, out);
            }
            self.probes.release(register);
            return;
        };
        let (meta, data) = (*self.lines.meta(slot), *self.lines.data(slot));
        match answers {
            None if !meta.is_idle() => {}
            None if meta.owned != 0 => {
                for (owner, words) in owners(&meta, &data, meta.owned) {
                    self.ask(RVK_O, line, owner, words, out);
                }
                let answers = Some(Answers { revoked: meta.owned, ..Answers::default() });
                *self.probes.payload_mut(register) = Probe { kind, answers };
                self.lines.meta_mut(slot).busy = Busy::Answers;
            }
            None | Some(_) => {
                self.probes.release(register);
                self.answer(kind, line, meta.is_dirty.then_some(&data), out);
                if kind == mesi::FWD_GETS {
                    let shared = Line { permission: Permission::Read, is_dirty: false, busy: Busy::No, ..meta };
                    *self.lines.meta_mut(slot) = shared;
                } else {
                    self.lines.remove(slot);
                }
            }
        }
    }

    /// Answers `PEEK` with a whole line that the bank may write. The line stays here.
    pub(super) fn peek(&self, state: State, slot: Option<Slot>, message: &Message<W>, out: &mut Outbox<W>) -> Outcome {
        let held = slot.filter(|_| matches!(state, State::V | State::S));
        let held = held.filter(|&slot| {
            let line = self.lines.meta(slot);
            line.permission == Permission::Write && line.owned == 0
        });
        out.send(match held {
            Some(slot) => message.reply_line(PEEK_DATA, self.lines.data(slot)),
            None => message.reply(PEEK_MISS),
        });
        Outcome::Done
    }
}
