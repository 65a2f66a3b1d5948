//! Messages between agents, and the tables in which protocols say what travels where.

use crate::access::{AtomicOp, CoreOp, CoreRequest, Scope, Txn};
use crate::address::{AgentId, LineAddr};
use crate::controller::Time;
use crate::line::{ByteMask, LineData};
use crate::save::{self, Save};

/// The classes by which traffic is counted. A protocol counts by the contents of messages, as in Figure 8 of the TC
/// paper, or by the request that they serve, as in Figures 2 and 3 of the Spandex paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TrafficClass {
    /// Data that loads read.
    Load,
    /// Data that stores write.
    Store,
    /// Operands and old values of atomics.
    Atomic,
    /// Control messages of any protocol.
    Request,
    /// Invalidations and their acknowledgements.
    Invalidation,
    /// Recalls and their acknowledgements.
    Recall,
    /// Self-invalidated reads and their answers.
    ReqV,
    /// Writer-invalidated reads and their answers.
    ReqS,
    /// Written-through stores and their answers.
    ReqWt,
    /// Requests for ownership without data and their answers.
    ReqO,
    /// Updates performed at the shared cache and their answers.
    ReqWtData,
    /// Requests for ownership with data and their answers.
    ReqOData,
    /// Write-backs and their answers.
    ReqWb,
    /// Messages that the shared cache sends to private caches on its own, and their answers.
    Probe,
}

impl TrafficClass {
    /// Number of classes of both kinds.
    pub const COUNT: usize = TrafficClass::BY_CONTENTS.len() + TrafficClass::BY_REQUEST.len();

    /// The classes by contents, in the order of the TC paper's legend.
    pub const BY_CONTENTS: [TrafficClass; 6] = [
        TrafficClass::Load,
        TrafficClass::Store,
        TrafficClass::Atomic,
        TrafficClass::Request,
        TrafficClass::Invalidation,
        TrafficClass::Recall,
    ];

    /// The classes by request, in the order of the Spandex paper's section III-A.
    pub const BY_REQUEST: [TrafficClass; 8] = [
        TrafficClass::ReqV,
        TrafficClass::ReqS,
        TrafficClass::ReqWt,
        TrafficClass::ReqO,
        TrafficClass::ReqWtData,
        TrafficClass::ReqOData,
        TrafficClass::ReqWb,
        TrafficClass::Probe,
    ];

    /// A description of the messages that the class counts.
    pub fn contents(self) -> &'static str {
        match self {
            TrafficClass::Load => "data of loads",
            TrafficClass::Store => "data of stores",
            TrafficClass::Atomic => "data of atomics",
            TrafficClass::Request => "control messages",
            TrafficClass::Invalidation => "invalidations and acknowledgements",
            TrafficClass::Recall => "recalls and acknowledgements",
            TrafficClass::ReqV => "self-invalidated reads and their answers",
            TrafficClass::ReqS => "writer-invalidated reads and their answers",
            TrafficClass::ReqWt => "written-through stores and their answers",
            TrafficClass::ReqO => "requests for ownership without data and their answers",
            TrafficClass::ReqWtData => "updates at the shared cache and their answers",
            TrafficClass::ReqOData => "requests for ownership with data and their answers",
            TrafficClass::ReqWb => "write-backs and their answers",
            TrafficClass::Probe => "invalidations and revocations with their answers",
        }
    }

    /// The ending of the keys of its metrics.
    pub fn key(self) -> String {
        self.label().to_lowercase().replace('+', "_")
    }

    /// The label of the class in the papers' figures.
    pub fn label(self) -> &'static str {
        match self {
            TrafficClass::Load => "LD",
            TrafficClass::Store => "ST",
            TrafficClass::Atomic => "ATO",
            TrafficClass::Request => "REQ",
            TrafficClass::Invalidation => "INV",
            TrafficClass::Recall => "RCL",
            TrafficClass::ReqV => "ReqV",
            TrafficClass::ReqS => "ReqS",
            TrafficClass::ReqWt => "ReqWT",
            TrafficClass::ReqO => "ReqO",
            TrafficClass::ReqWtData => "ReqWT+data",
            TrafficClass::ReqOData => "ReqO+data",
            TrafficClass::ReqWb => "ReqWB",
            TrafficClass::Probe => "Probe",
        }
    }
}

/// The medium on which a message travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Channel {
    /// A virtual network, which is ordered between any two agents.
    Virtual(u8),
    /// The connection between an L2 bank and its memory channel, which is ordered.
    Memory,
    /// Delivery in no time and at no cost, as part of the step that sends it. Only idealised protocols use it.
    Instant,
}

/// The size of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Size {
    /// A header without data.
    Control,
    /// A header and a whole line.
    Line,
    /// A header and the bytes of the message's mask.
    Masked,
}

/// A row of a protocol's message table. The index in that table is the message's kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MessageSpec {
    /// The paper's name for the message.
    pub name: &'static str,
    /// The class in which it is counted.
    pub class: TrafficClass,
    /// The medium on which it travels.
    pub channel: Channel,
    /// The size of the message.
    pub size: Size,
}

impl MessageSpec {
    /// A row of a message table.
    pub const fn new(name: &'static str, class: TrafficClass, channel: Channel, size: Size) -> MessageSpec {
        MessageSpec { name, class, channel, size }
    }
}

/// An index into the message table of the protocol that is running.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Save)]
pub struct MsgKind(pub u8);

impl MsgKind {
    /// The kind of the first message behind `table`, for protocols that append rows to the table of another.
    pub const fn behind(table: &[MessageSpec]) -> MsgKind {
        MsgKind(table.len() as u8)
    }
}

/// The event that each kind of message is to a controller that knows `kinds`; all others are `foreign` to it.
pub const fn by_kind<E: Copy, const N: usize>(foreign: E, kinds: &[(MsgKind, E); N]) -> [E; 256] {
    let mut events = [foreign; 256];
    let mut row = 0;
    while row < N {
        events[kinds[row].0.0 as usize] = kinds[row].1;
        row += 1;
    }
    events
}

/// One message. It is plain data: a driver may copy, compare, hash and reorder it. The header lies before the data in
/// memory, since most messages consist of nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Save)]
#[repr(C)]
pub struct Message<const W: usize> {
    /// The row of the protocol's message table.
    pub kind: MsgKind,
    /// The line that the message is about.
    pub line: LineAddr,
    /// The agent that sent it.
    pub src: AgentId,
    /// The agent that receives it.
    pub dst: AgentId,
    /// The operation that it serves. Answers repeat it.
    pub txn: Txn,
    /// The wavefront slot that it serves. Answers repeat it.
    pub wave: u16,
    /// The cache whose operation it serves, for protocols whose requests pass several caches. Answers repeat it.
    pub origin: AgentId,
    /// The scope of the operation that it serves: the agents that must see it in order. Only protocols with scopes use
    /// it.
    pub scope: Scope,
    /// A share of what the waiting agent has to get back in total. The waiting agent is a sender whose synchronisation
    /// is passed on, or a requestor that several agents may answer. For a requestor, 1 says that the receiver is the
    /// only one to answer.
    pub credit: u32,
    /// The read-modify-write to perform, for atomics.
    pub atomic: Option<AtomicOp>,
    /// A timestamp, for protocols with synchronised counters. Zero means that there is none.
    pub stamp: Time,
    /// The bytes that `data` holds.
    pub mask: ByteMask,
    /// The line's contents, store data, operands or old values.
    pub data: LineData<W>,
}

impl<const W: usize> Message<W> {
    /// A message that carries no data.
    pub fn control(kind: MsgKind, line: LineAddr, src: AgentId, dst: AgentId) -> Self {
        Message {
            kind,
            line,
            src,
            dst,
            txn: Txn::default(),
            wave: 0,
            origin: AgentId::NOBODY,
            scope: Scope::WorkGroup,
            credit: 0,
            atomic: None,
            stamp: 0,
            mask: ByteMask::EMPTY,
            data: LineData::default(),
        }
    }

    /// The request that carries a core's operation to `dst`.
    pub fn request(kind: MsgKind, request: &CoreRequest<W>, src: AgentId, dst: AgentId) -> Self {
        let atomic = match request.op {
            CoreOp::Atomic(op) => Some(op),
            CoreOp::Load | CoreOp::Store | CoreOp::Fence | CoreOp::KernelBegin | CoreOp::KernelEnd => None,
        };
        Message {
            kind,
            line: request.line,
            src,
            dst,
            txn: request.txn,
            wave: request.wave,
            origin: AgentId::NOBODY,
            scope: Scope::WorkGroup,
            credit: 0,
            atomic,
            stamp: 0,
            mask: request.mask,
            data: request.data,
        }
    }

    /// An answer to this message, without data.
    pub fn reply(&self, kind: MsgKind) -> Self {
        let Message { txn, wave, origin, .. } = *self;
        Message { txn, wave, origin, ..Message::control(kind, self.line, self.dst, self.src) }
    }

    /// Turns the message into its own answer, which carries the whole line. `read` puts the line there.
    pub fn answer_in_place(&mut self, kind: MsgKind, read: impl FnOnce(&mut LineData<W>)) {
        self.kind = kind;
        std::mem::swap(&mut self.src, &mut self.dst);
        (self.atomic, self.mask) = (None, ByteMask::full::<W>());
        read(&mut self.data);
    }

    /// An answer to this message that carries the whole line.
    pub fn reply_line(&self, kind: MsgKind, data: &LineData<W>) -> Self {
        Message { mask: ByteMask::full::<W>(), data: *data, ..self.reply(kind) }
    }
}

/// The table rows that every protocol shares: the messages between an L2 bank and its memory channel.
pub mod memory {
    use super::{Channel, MessageSpec, MsgKind, Size, TrafficClass};

    /// Reads a line from memory.
    pub const FETCH: MsgKind = MsgKind(0);
    /// Writes the masked bytes of a line back.
    pub const WB: MsgKind = MsgKind(1);
    /// The answer to `FETCH`, with the line.
    pub const MEM_DATA: MsgKind = MsgKind(2);
    /// The first kind that a protocol may use for itself.
    pub const FIRST_FREE: u8 = 3;

    /// The rows that every protocol's message table begins with.
    pub const SPECS: [MessageSpec; FIRST_FREE as usize] = [
        MessageSpec { name: "FETCH", class: TrafficClass::Request, channel: Channel::Memory, size: Size::Control },
        MessageSpec { name: "WB", class: TrafficClass::Store, channel: Channel::Memory, size: Size::Masked },
        MessageSpec { name: "MEM_DATA", class: TrafficClass::Load, channel: Channel::Memory, size: Size::Line },
    ];
}
