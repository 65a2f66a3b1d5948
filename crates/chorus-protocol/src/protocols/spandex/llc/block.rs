//! Lines that wait: for their data, or for the answers of devices (Spandex paper, section III-B: writes to Shared lines, ReqS (1) and ReqWT+data on owned words, and
//! replacement).

use crate::line::LineData;
use crate::message::{Message, MsgKind};
use crate::protocols::spandex::llc::line::Line;

/// What devices have not answered yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Answers {
    /// Words whose owners have been asked.
    pub revoked: u32,
    /// Words whose owners have referred to a write-back that has not come.
    pub referred: u32,
    /// Sharers that have been asked.
    pub acks: u16,
    /// Words that the requestor has, or gets from their owners.
    pub handed: u32,
}

impl Answers {
    /// Whether everybody has answered.
    pub fn are_complete(&self) -> bool {
        self.revoked == 0 && self.referred == 0 && self.acks == 0
    }
}

/// What a line with a register waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Waiting<const W: usize> {
    /// Its data, for this request.
    Fetch(Message<W>),
    /// Answers, for this request.
    Block(Answers, Message<W>),
    /// Answers, to be gone. It has left its place to another already.
    Recall(Answers, Line, LineData<W>),
    /// That the L3 has taken it back.
    WriteBack,
    /// As that, and the L3 has been referred to it.
    AnsweredWriteBack,
}

/// What an L3 has asked about a line, and what devices have not answered yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Probe {
    /// The question.
    pub kind: MsgKind,
    /// What devices have not answered; nothing where they have not been asked yet.
    pub answers: Option<Answers>,
}
