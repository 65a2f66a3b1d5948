//! A private cache with its translation unit, for tests. The test takes the part of the LLC and the other devices.

use std::collections::VecDeque;

use crate::access::{CoreOp, CoreRequest, Order, Scope, Txn};
use crate::address::{AgentId, LineAddr, Topology};
use crate::cache::Replacement;
use crate::controller::{Controller, Input, Outbox, Outcome, Unspecified};
use crate::line::{ByteMask, LineData};
use crate::message::{Channel, Message, MessageSpec, MsgKind};
use crate::parameter::Parameters;
use crate::read_only::ReadOnlyLines;
use crate::registry::{BuildConfig, CacheShape, DirectoryShape};

/// The line that all tests access.
pub const LINE: LineAddr = LineAddr(6);
/// Both words of the line.
pub const ALL: ByteMask = ByteMask::full::<2>();
/// The first word of the line.
pub const FIRST: ByteMask = ByteMask::word(0);
/// The second word of the line.
pub const SECOND: ByteMask = ByteMask::word(1);
/// The translation unit of the other device.
pub const OTHER: AgentId = AgentId(4);
/// The bank of the LLC.
pub const LLC: AgentId = AgentId(2);

/// A machine of two devices.
pub fn config() -> BuildConfig {
    let shape = CacheShape { sets: 1, ways: 2, mshrs: 4, replacement: Replacement::Lru };
    BuildConfig {
        topology: Topology { cpus: 1, tus: 2, ..Topology::one_gpu(2, 1) },
        l1: shape,
        l2: shape,
        l3: shape,
        directory: DirectoryShape::SMALLEST,
        page_lines: 1,
        waves: 2,
        buffer_wave: None,
        fences: true,
        read_only: ReadOnlyLines::NONE,
        parameters: Parameters::default(),
        fault: None,
    }
}

/// A message on the network: kind, receiver, words and their data.
pub type Sent = (MsgKind, AgentId, ByteMask, [u32; 2]);

/// Cache 0 with its unit. The messages between them are delivered at once.
pub struct Bench<L1, Tu> {
    pub l1: L1,
    pub tu: Tu,
    pub messages: &'static [MessageSpec],
    /// The values that operations returned, in the order in which they ended.
    pub completed: Vec<[u32; 2]>,
}

impl<L1: Controller<2>, Tu: Controller<2>> Bench<L1, Tu> {
    /// Issues an operation on a word of the line. Returns the messages that it sends.
    pub fn core(&mut self, txn: u32, op: CoreOp, order: Order, word: usize, value: u32) -> Vec<Sent> {
        let request = CoreRequest {
            op,
            order,
            scope: Scope::System,
            line: LINE,
            mask: ByteMask::word(word),
            data: LineData([value; 2]),
            wave: (txn / 10) as u16,
            txn: Txn::Operation(txn),
        };
        let mut out = Outbox::default();
        assert_eq!(self.l1.step(&Input::Core(&request), &mut out), Ok(Outcome::Done));
        self.deliver(out)
    }

    pub fn load(&mut self) -> Vec<Sent> {
        self.core(1, CoreOp::Load, Order::Weak, 0, 0)
    }

    pub fn store(&mut self, word: usize, value: u32) -> Vec<Sent> {
        self.core(2, CoreOp::Store, Order::Weak, word, value)
    }

    pub fn evict(&mut self) -> Vec<Sent> {
        let mut out = Outbox::default();
        assert_eq!(self.l1.step(&Input::Evict(LINE), &mut out), Ok(Outcome::Done));
        self.deliver(out)
    }

    /// Offers the unit a message from the network. Returns its outcome, and the messages that the unit sends.
    pub fn offer(
        &mut self,
        txn: impl Into<Txn>,
        kind: MsgKind,
        words: ByteMask,
        data: [u32; 2],
    ) -> (Result<Outcome, Unspecified>, Vec<Sent>) {
        let message = Message::control(kind, LINE, LLC, config().topology.tu(0));
        let message = Message { mask: words, data: LineData(data), origin: OTHER, txn: txn.into(), ..message };
        let mut out = Outbox::default();
        let outcome = self.tu.step(&Input::Message(&message), &mut out);
        (outcome, self.deliver(out))
    }

    /// Gives the unit a message from the network, which it has to take.
    pub fn llc(&mut self, txn: impl Into<Txn>, kind: MsgKind, words: ByteMask, data: [u32; 2]) -> Vec<Sent> {
        let (outcome, sent) = self.offer(txn, kind, words, data);
        assert_eq!(outcome, Ok(Outcome::Done));
        sent
    }

    fn deliver(&mut self, mut out: Outbox<2>) -> Vec<Sent> {
        let mut sent = Vec::new();
        let mut queue: VecDeque<Message<2>> = VecDeque::new();
        loop {
            queue.extend(out.messages.drain(..));
            self.completed.extend(out.completions.drain(..).map(|completion| completion.data.0));
            let Some(message) = queue.pop_front() else { return sent };
            if self.messages[usize::from(message.kind.0)].channel != Channel::Instant {
                sent.push((message.kind, message.dst, message.mask, message.data.0));
                continue;
            }
            let input = Input::Message(&message);
            let outcome =
                if message.dst == AgentId(0) { self.l1.step(&input, &mut out) } else { self.tu.step(&input, &mut out) };
            assert_eq!(outcome, Ok(Outcome::Done));
        }
    }

    /// The states of the line in the cache and in the unit.
    pub fn states(&self) -> (&'static str, &'static str) {
        let l1 = self.l1.vocabulary().states[usize::from(self.l1.view(LINE, 0).state)].name;
        (l1, self.tu.vocabulary().states[usize::from(self.tu.view(LINE, 0).state)].name)
    }
}
