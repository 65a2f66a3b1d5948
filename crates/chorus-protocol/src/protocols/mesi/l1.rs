//! The private cache of MESI: write-back and write-allocate. Loads, stores and atomics are all performed in it.
//!
//! Accesses that cannot be served before a line's pending request is answered wait behind it in the order issued,
//! stores with their data. Messages never have to wait, so the cache answers the L2 whatever it waits for itself.
//!
//! Behind a translation unit of Spandex (Spandex paper, section III-D) the unit takes the place of the L2. There an
//! only copy counts as written from the beginning. The last-level cache keeps the owner's name in place of the data, so
//! an owner has to give a line back with its data.

use crate::access::{CoreOp, CoreRequest, LoadRequest};
use crate::address::{AgentId, LineAddr, Topology};
use crate::cache::{CacheArray, Room, Slot};
use crate::controller::{Classified, Controller, Input, LineView, Outbox, Outcome, Time, Unspecified, Vocabulary};
use crate::line::{ByteMask, LineData};
use crate::message::{Message, MsgKind};
use crate::mshr::{Mshrs, Register};
use crate::protocols::mesi::faults::L1Fault;
pub use crate::protocols::mesi::l1_states::VOCABULARY;
use crate::protocols::mesi::l1_states::{Event, State, unspecified};
use crate::protocols::mesi::messages::{
    EXCLUSIVE_UNBLOCK, FWD_ACK, FWD_DATA, GETS, GETX, INV_ACK, INV_DATA, PUTX, PUTX_CLEAN, RCL_ACK, RCL_DATA, UPGRADE,
    WB_PENDING,
};
use crate::protocols::spandex::messages::{PEEK_DATA, PEEK_MISS};
use crate::registry::BuildConfig;
use crate::save::{self, Restore, Save};
use crate::sharers::Sharers;
use crate::write_tracker::WriteTracker;

/// The use of a miss register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Save)]
enum Pending {
    /// IS, IM, SM, IS_I, IM_I: a miss, with the merged accesses as targets. The line has its place.
    Miss,
    /// M_I: a write-back. The line has already left its place to another line.
    WriteBack,
    /// SINK_WB_ACK: a write-back that crossed a probe. The line has already left its place to another line.
    AnsweredWriteBack,
}

/// The answers with which a copy is given up.
struct Surrender {
    /// The answer of a cache whose copy was never written, or that has none.
    ack: MsgKind,
    /// The answer of a cache that has written its copy.
    data: MsgKind,
    /// The fault that keeps a shared copy.
    ignored: L1Fault,
}

const TO_A_WRITER: Surrender = Surrender { ack: INV_ACK, data: INV_DATA, ignored: L1Fault::IgnoredInvalidation };
const TO_THE_L2: Surrender = Surrender { ack: RCL_ACK, data: RCL_DATA, ignored: L1Fault::IgnoredRecall };

/// A private cache of the MESI protocol.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Restore)]
pub struct MesiL1<const W: usize> {
    #[save(built)]
    me: AgentId,
    #[save(built)]
    topology: Topology,
    /// The state in which a load gets the only copy.
    #[save(built)]
    only_copy: State,
    #[save(built)]
    fault: Option<L1Fault>,
    lines: CacheArray<State, W>,
    mshrs: Mshrs<Pending, CoreRequest<W>>,
    /// Stores and atomics that wait in miss registers.
    writes: WriteTracker,
}

impl<const W: usize> MesiL1<W> {
    /// A cache without any line.
    pub fn new(index: u16, config: &BuildConfig, fault: Option<L1Fault>) -> Self {
        let fence_fault = if let Some(L1Fault::Fence(fault)) = fault { Some(fault) } else { None };
        let me = config.topology.l1(index);
        let translated = config.topology.tu_of(me).is_some() && fault != Some(L1Fault::CleanGrant);
        MesiL1 {
            me,
            topology: config.topology,
            only_copy: if translated { State::M } else { State::E },
            fault,
            lines: CacheArray::new(config.l1.geometry(1)),
            mshrs: Mshrs::new(config.l1.mshrs),
            writes: WriteTracker::new(config.waves, fence_fault),
        }
    }

    #[inline]
    fn state(&self, line: LineAddr) -> (State, Option<Slot>) {
        if let Some(slot) = self.lines.find(line) {
            return (*self.lines.meta(slot), Some(slot));
        }
        let state = match self.mshrs.get(line) {
            Some(Pending::WriteBack) => State::MI,
            Some(Pending::AnsweredWriteBack) => State::SinkWbAck,
            Some(Pending::Miss) | None => State::I,
        };
        (state, None)
    }

    fn event(input: &Input<'_, W>) -> Option<(LineAddr, Event)> {
        match input {
            Input::Core(request) => {
                let event = match request.op {
                    CoreOp::Load => Event::Load,
                    CoreOp::Store => Event::Store,
                    CoreOp::Atomic(_) => Event::Atomic,
                    CoreOp::Fence | CoreOp::KernelBegin | CoreOp::KernelEnd => return None,
                };
                Some((request.line, event))
            }
            Input::Message(message) => Some((message.line, Event::of(message.kind))),
            Input::Evict(line) => Some((*line, Event::Evict)),
            Input::EvictEntry(_) | Input::Time(_) => None,
        }
    }

    fn faulty(&self, fault: L1Fault) -> bool {
        self.fault == Some(fault)
    }

    /// A message without data to the agent that serves this cache's requests for the line.
    fn message(&self, kind: MsgKind, line: LineAddr) -> Message<W> {
        Message::control(kind, line, self.me, self.topology.upstream(self.me, line))
    }

    fn step_core(&mut self, request: &CoreRequest<W>, out: &mut Outbox<W>) -> Outcome {
        match request.op {
            CoreOp::Load | CoreOp::Store | CoreOp::Atomic(_) => self.access(request, out),
            CoreOp::Fence => {
                self.writes.fence(request.wave, request.txn, out);
                Outcome::Done
            }
            CoreOp::KernelBegin | CoreOp::KernelEnd => {
                out.complete_empty(request.txn);
                Outcome::Done
            }
        }
    }

    fn access(&mut self, request: &CoreRequest<W>, out: &mut Outbox<W>) -> Outcome {
        let writes = request.op != CoreOp::Load;
        match self.state(request.line) {
            (State::E | State::M, Some(slot)) => {
                self.lines.touch(slot);
                self.perform(slot, request, out);
                Outcome::Done
            }
            (State::S, Some(slot)) if !writes || self.slips(request) => {
                self.lines.touch(slot);
                self.perform(slot, request, out);
                Outcome::Done
            }
            (State::S, Some(slot)) => self.upgrade(slot, request, out),
            (State::SM, Some(slot)) if !writes && self.faulty(L1Fault::PassingLoad) => {
                out.complete(request.txn, self.lines.data(slot));
                Outcome::Done
            }
            (State::IS | State::IM | State::SM, _) => self.join(request),
            (State::IsI, _) if !writes && self.faulty(L1Fault::LateMerge) => self.join(request),
            (State::I, _) => self.miss(request, if writes { (State::IM, GETX) } else { (State::IS, GETS) }, out),
            // The data on its way to IS_I or IM_I is older than this access may see. A line that is given up must be
            // gone before it is requested again.
            (State::IsI | State::ImI | State::MI | State::SinkWbAck, _) | (State::S | State::E | State::M, None) => {
                Outcome::Stall
            }
        }
    }

    /// Whether the seeded fault lets a write pass without permission.
    fn slips(&self, request: &CoreRequest<W>) -> bool {
        match self.fault {
            Some(L1Fault::EarlyWrite) => request.op == CoreOp::Store,
            Some(L1Fault::SharedAtomic) => request.op != CoreOp::Store,
            Some(_) | None => false,
        }
    }

    fn miss(&mut self, request: &CoreRequest<W>, (state, kind): (State, MsgKind), out: &mut Outbox<W>) -> Outcome {
        if self.mshrs.is_full() {
            return Outcome::Stall;
        }
        let slot = match self.lines.room_for(request.line, |state| state.stable()) {
            Room::Busy => return Outcome::Stall,
            Room::Occupied(slot) if !out.evicts => return Outcome::Evict(self.lines.line(slot)),
            Room::Occupied(slot) => {
                // A write-back may take the last register.
                if self.leave(slot, out) != Outcome::Done || self.mshrs.is_full() {
                    return Outcome::Stall;
                }
                slot
            }
            Room::Free(slot) => slot,
        };
        self.lines.insert(slot, request.line, state);
        self.lines.fill(slot, &LineData::default());
        let register = self.mshrs.insert(request.line, Pending::Miss);
        self.enqueue(register, request);
        out.send(self.message(kind, request.line));
        Outcome::Done
    }

    fn upgrade(&mut self, slot: Slot, request: &CoreRequest<W>, out: &mut Outbox<W>) -> Outcome {
        if self.mshrs.is_full() {
            return Outcome::Stall;
        }
        self.lines.touch(slot);
        let register = self.mshrs.insert(request.line, Pending::Miss);
        self.enqueue(register, request);
        self.ask_to_write(slot, request.line, State::SM, out);
        Outcome::Done
    }

    /// Lets an access wait behind the pending request of its line.
    fn join(&mut self, request: &CoreRequest<W>) -> Outcome {
        if let Some(register) = self.mshrs.find(request.line) {
            self.enqueue(register, request);
        }
        Outcome::Done
    }

    fn enqueue(&mut self, register: Register, request: &CoreRequest<W>) {
        if request.op != CoreOp::Load {
            self.writes.sent(request.wave);
        }
        self.mshrs.push_target(register, *request);
    }

    /// Asks for permission to write a line that has a miss register, in state SM or IM.
    fn ask_to_write(&mut self, slot: Slot, line: LineAddr, state: State, out: &mut Outbox<W>) {
        *self.lines.meta_mut(slot) = state;
        out.send(self.message(if state == State::SM { UPGRADE } else { GETX }, line));
    }

    /// Performs an access with the permission that it needs.
    fn perform(&mut self, slot: Slot, request: &CoreRequest<W>, out: &mut Outbox<W>) {
        let data = self.lines.data_mut(slot);
        match request.op {
            CoreOp::Load => out.complete(request.txn, data),
            CoreOp::Store => {
                match self.fault {
                    Some(L1Fault::WrongWord) => {
                        data.0.rotate_right(1);
                        data.merge(request.mask, &request.data);
                        data.0.rotate_left(1);
                    }
                    Some(L1Fault::WholeLine) => *data = request.data,
                    Some(_) | None => data.merge(request.mask, &request.data),
                }
                *self.lines.meta_mut(slot) = State::M;
                out.complete_empty(request.txn);
            }
            CoreOp::Atomic(op) => {
                let mut values = request.data;
                op.perform(data, request.mask, &mut values);
                *self.lines.meta_mut(slot) = State::M;
                out.complete(request.txn, &values);
            }
            CoreOp::Fence | CoreOp::KernelBegin | CoreOp::KernelEnd => {}
        }
    }

    fn step_message(&mut self, message: &Message<W>, out: &mut Outbox<W>) -> Result<Outcome, Unspecified> {
        let event = Event::of(message.kind);
        let (state, slot) = self.state(message.line);
        let taken = match event {
            Event::Data => self.data(state, slot, message, out),
            Event::DataE | Event::DataM | Event::UpgradeAck => self.granted(event, state, slot, message, out),
            Event::WbAck => self.written_back(state, message.line),
            Event::Inv => self.invalidate(&TO_A_WRITER, state, slot, message.line, out),
            Event::Rcl => self.invalidate(&TO_THE_L2, state, slot, message.line, out),
            Event::FwdGetS => self.share(state, slot, message.line, out),
            Event::Peek => self.show(state, slot, message.line, out),
            Event::Load | Event::Store | Event::Atomic | Event::Evict | Event::Foreign => None,
        };
        match taken {
            Some(()) => Ok(Outcome::Done),
            None => Err(unspecified(state, event, message.line)),
        }
    }

    /// Takes a shared copy that has come.
    fn data(&mut self, state: State, slot: Option<Slot>, message: &Message<W>, out: &mut Outbox<W>) -> Option<()> {
        let (slot, register) = (slot?, self.mshrs.find(message.line)?);
        let keeps = match state {
            State::IS => true,
            State::IsI => self.faulty(L1Fault::StaleFill),
            State::I
            | State::S
            | State::E
            | State::M
            | State::IM
            | State::SM
            | State::MI
            | State::SinkWbAck
            | State::ImI => return None,
        };
        let mut answered = 0;
        while let Some(CoreRequest { op: CoreOp::Load, txn, .. }) = self.mshrs.first_target(register) {
            if answered == 0 || !self.faulty(L1Fault::LostMerge) {
                out.complete(*txn, &message.data);
            }
            answered += 1;
            self.mshrs.pop_target(register);
        }
        let writes = self.mshrs.first_target(register).is_some();
        if keeps {
            self.lines.fill(slot, &message.data);
            *self.lines.meta_mut(slot) = State::S;
        }
        match (writes, keeps) {
            (true, true) => self.ask_to_write(slot, message.line, State::SM, out),
            (true, false) => self.ask_to_write(slot, message.line, State::IM, out),
            (false, true) => self.mshrs.release(register),
            (false, false) => {
                self.mshrs.release(register);
                self.lines.remove(slot);
            }
        }
        Some(())
    }

    /// Takes the only copy, or notes that a shared copy has become it. The L2 holds all other caches off until this is
    /// reported. So an invalidation that came before (IS_I) was for an earlier copy.
    fn granted(
        &mut self,
        event: Event,
        state: State,
        slot: Option<Slot>,
        message: &Message<W>,
        out: &mut Outbox<W>,
    ) -> Option<()> {
        let (slot, register) = (slot?, self.mshrs.find(message.line)?);
        let next = match (event, state) {
            (Event::DataE, State::IsI) if self.faulty(L1Fault::MissingTransition) => return None,
            (Event::DataE, State::IS | State::IsI) => self.only_copy,
            (Event::DataM, State::IM | State::ImI) | (Event::UpgradeAck, State::SM) => State::M,
            (_, State::I | State::S | State::E | State::M | State::MI | State::SinkWbAck)
            | (_, State::IS | State::IsI | State::IM | State::SM | State::ImI) => return None,
        };
        if event != Event::UpgradeAck && !(event == Event::DataM && self.faulty(L1Fault::UnfilledWrite)) {
            self.lines.fill(slot, &message.data);
        }
        *self.lines.meta_mut(slot) = next;
        if event != Event::UpgradeAck || !self.faulty(L1Fault::LostUnblock) {
            out.send(self.message(EXCLUSIVE_UNBLOCK, message.line));
        }
        while let Some(request) = self.mshrs.pop_target(register) {
            self.perform(slot, &request, out);
            if request.op != CoreOp::Load {
                self.writes.acknowledged(request.wave, out);
            }
        }
        self.mshrs.release(register);
        Some(())
    }

    fn written_back(&mut self, state: State, line: LineAddr) -> Option<()> {
        match state {
            State::SinkWbAck if self.faulty(L1Fault::LeakedRegister) => Some(()),
            State::MI | State::SinkWbAck => {
                let register = self.mshrs.find(line)?;
                self.mshrs.release(register);
                Some(())
            }
            State::I | State::S | State::E | State::M | State::IS | State::IM | State::SM | State::IsI | State::ImI => {
                None
            }
        }
    }

    /// Gives up a copy. If there is none, it was dropped silently or has been written back. The L2 waits for the
    /// acknowledgement all the same.
    fn invalidate(
        &mut self,
        surrender: &Surrender,
        state: State,
        slot: Option<Slot>,
        line: LineAddr,
        out: &mut Outbox<W>,
    ) -> Option<()> {
        let mut answer = self.message(surrender.ack, line);
        // A translation unit recalls a line that it gave away before the line arrived here.
        let given_away = surrender.ack == RCL_ACK && self.topology.tu_of(self.me).is_some();
        match (state, slot) {
            (State::IM | State::SM, Some(slot)) if given_away => {
                *self.lines.meta_mut(slot) = State::ImI;
                self.lines.fill(slot, &LineData::default());
            }
            (State::I | State::IM | State::IsI | State::ImI, _) => {}
            (State::S, Some(_)) if self.faulty(surrender.ignored) => {}
            (State::S | State::E, Some(slot)) => self.lines.remove(slot),
            (State::M, Some(slot)) => {
                answer.kind = surrender.data;
                (answer.mask, answer.data) = (ByteMask::full::<W>(), *self.lines.data(slot));
                self.lines.remove(slot);
            }
            (State::IS, Some(slot)) => *self.lines.meta_mut(slot) = State::IsI,
            (State::SM, Some(slot)) => {
                *self.lines.meta_mut(slot) = State::IM;
                self.lines.fill(slot, &LineData::default());
            }
            (State::MI, _) => answer.kind = self.refer_to_write_back(line, answer.kind)?,
            (State::SinkWbAck, _) | (State::S | State::E | State::M | State::IS | State::SM, None) => return None,
        }
        out.send(answer);
        Some(())
    }

    /// Shares the only copy with a reader.
    fn share(&mut self, state: State, slot: Option<Slot>, line: LineAddr, out: &mut Outbox<W>) -> Option<()> {
        let mut answer = self.message(FWD_ACK, line);
        match (state, slot) {
            (State::I | State::IS | State::IM, _) => {}
            (State::E, Some(slot)) => *self.lines.meta_mut(slot) = State::S,
            (State::M, Some(slot)) => {
                if !self.faulty(L1Fault::SilentModification) {
                    answer.kind = FWD_DATA;
                    (answer.mask, answer.data) = (ByteMask::full::<W>(), *self.lines.data(slot));
                }
                *self.lines.meta_mut(slot) = State::S;
            }
            (State::MI, _) => answer.kind = self.refer_to_write_back(line, answer.kind)?,
            (State::S | State::SM | State::IsI | State::ImI | State::SinkWbAck, _) | (State::E | State::M, None) => {
                return None;
            }
        }
        out.send(answer);
        Some(())
    }

    /// Shows the contents of a line to a translation unit, if this cache owns the line. Nothing is outstanding for a
    /// line that the unit asks about.
    fn show(&mut self, state: State, slot: Option<Slot>, line: LineAddr, out: &mut Outbox<W>) -> Option<()> {
        let mut answer = self.message(PEEK_MISS, line);
        match (state, slot) {
            (State::I, _) | (State::S, Some(_)) => {}
            (State::M, Some(slot)) => {
                answer.kind = PEEK_DATA;
                (answer.mask, answer.data) = (ByteMask::full::<W>(), *self.lines.data(slot));
                if self.faulty(L1Fault::PeekedAway) {
                    *self.lines.meta_mut(slot) = State::S;
                }
            }
            (
                State::E | State::IS | State::IM | State::SM | State::IsI | State::ImI | State::MI | State::SinkWbAck,
                _,
            )
            | (State::S | State::M, None) => return None,
        }
        out.send(answer);
        Some(())
    }

    /// Turns M_I into SINK_WB_ACK and returns the answer to the probe. `absent` is the answer of a cache without a
    /// copy.
    fn refer_to_write_back(&mut self, line: LineAddr, absent: MsgKind) -> Option<MsgKind> {
        let register = self.mshrs.find(line)?;
        match self.fault {
            Some(L1Fault::PutRace) => return Some(absent),
            Some(L1Fault::EarlyRelease) => self.mshrs.release(register),
            Some(_) | None => *self.mshrs.payload_mut(register) = Pending::AnsweredWriteBack,
        }
        Some(WB_PENDING)
    }

    /// Takes a line out. A shared copy leaves silently. An only copy leaves with a write-back, which is acknowledged.
    fn evict(&mut self, line: LineAddr, out: &mut Outbox<W>) -> Result<Outcome, Unspecified> {
        match self.state(line) {
            (State::S | State::E | State::M, Some(slot)) => Ok(self.leave(slot, out)),
            (State::IS | State::IM | State::SM | State::IsI | State::ImI | State::MI | State::SinkWbAck, _) => {
                Ok(Outcome::Stall)
            }
            (state @ (State::I | State::S | State::E | State::M), _) => Err(unspecified(state, Event::Evict, line)),
        }
    }

    /// Takes a line in a stable state out. An owned line is given back, for which a register has to be free.
    fn leave(&mut self, slot: Slot, out: &mut Outbox<W>) -> Outcome {
        let (line, state) = (self.lines.line(slot), *self.lines.meta(slot));
        if state != State::S {
            if self.mshrs.is_full() {
                return Outcome::Stall;
            }
            let mut put = self.message(PUTX_CLEAN, line);
            if state == State::M && !self.faulty(L1Fault::LostWriteBack) {
                put.kind = PUTX;
                (put.mask, put.data) = (ByteMask::full::<W>(), *self.lines.data(slot));
            }
            out.send(put);
            self.mshrs.insert(line, Pending::WriteBack);
        }
        self.lines.remove(slot);
        Outcome::Done
    }
}

impl<const W: usize> Controller<W> for MesiL1<W> {
    fn vocabulary(&self) -> &'static Vocabulary {
        &VOCABULARY
    }

    fn classify(&self, input: &Input<'_, W>, _: Time) -> Option<Classified> {
        let (line, event) = Self::event(input)?;
        Some(Classified { line, state: self.state(line).0 as u8, event: event as u8 })
    }

    fn step(&mut self, input: &Input<'_, W>, out: &mut Outbox<W>) -> Result<Outcome, Unspecified> {
        match input {
            Input::Core(request) => Ok(self.step_core(request, out)),
            Input::Message(message) => self.step_message(message, out),
            Input::Evict(line) => self.evict(*line, out),
            Input::EvictEntry(_) | Input::Time(_) => Ok(Outcome::Done),
        }
    }

    fn load_hit(&mut self, load: &LoadRequest, _: Time) -> Option<&LineData<W>> {
        let slot = self.lines.find(load.line)?;
        match *self.lines.meta(slot) {
            State::S | State::E | State::M => self.lines.touch(slot),
            State::SM if self.faulty(L1Fault::PassingLoad) => {}
            State::I | State::IS | State::IM | State::SM | State::IsI | State::ImI | State::MI | State::SinkWbAck => {
                return None;
            }
        }
        Some(self.lines.data(slot))
    }

    fn view(&self, line: LineAddr, _: Time) -> LineView<W> {
        let (state, slot) = self.state(line);
        let full_if = |held: bool| if held { ByteMask::full::<W>() } else { ByteMask::EMPTY };
        LineView {
            state: state as u8,
            readable: full_if(state.stable()),
            dirty: full_if(state == State::M),
            data: slot.map_or(LineData::default(), |slot| *self.lines.data(slot)),
            sharers: Sharers::NONE,
        }
    }

    fn evictable(&self, line: LineAddr, _: Time) -> bool {
        self.state(line).0.stable()
    }

    fn quiescent(&self) -> bool {
        self.mshrs.is_empty() && self.writes.is_idle()
    }

    fn dirty_lines(&self, visit: &mut dyn FnMut(LineAddr, ByteMask, &LineData<W>)) {
        for (line, _, data) in self.lines.iter().filter(|(_, state, _)| **state == State::M) {
            visit(line, ByteMask::full::<W>(), data);
        }
    }
}
