//! Lines that wait for their data or for the answers of devices (Spandex paper, section III-B: writes to Shared lines,
//! ReqS (1) and ReqWT+data on owned words, and replacement).

use crate::line::LineData;
use crate::message::{Message, MsgKind};
use crate::protocols::spandex::llc::line::Line;
use crate::save::{self, Save};

/// The answers of devices that have not come yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Save)]
pub struct Answers {
    /// Words whose owners have been asked to give them back.
    pub revoked: u32,
    /// Words whose owners have referred to a write-back that has not come yet.
    pub referred: u32,
    /// The number of sharers that have been asked to drop the line.
    pub acks: u16,
    /// Words that the requestor has, or gets from their owners.
    pub handed: u32,
}

impl Answers {
    /// Whether all devices have answered.
    pub fn are_complete(&self) -> bool {
        self.revoked == 0 && self.referred == 0 && self.acks == 0
    }
}

/// The reason for which a line with a register waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Save)]
pub enum Waiting<const W: usize> {
    /// The line waits for its data, for this request.
    Fetch(Message<W>),
    /// The line waits for answers, for this request.
    Block(Answers, Message<W>),
    /// The line waits for answers, after which it is gone. It has already left its place to another line.
    Recall(Answers, Line, LineData<W>),
    /// The line waits until the L3 has taken it back.
    WriteBack,
    /// The line waits until the L3 has taken it back, and the L3 has been referred to the write-back.
    AnsweredWriteBack,
}

/// A probe of an L3 about a line, and the answers of devices that have not come yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Save)]
pub struct Probe {
    /// The kind of the probe.
    pub kind: MsgKind,
    /// The answers that have not come yet, or `None` while the devices have not been asked.
    pub answers: Option<Answers>,
}
