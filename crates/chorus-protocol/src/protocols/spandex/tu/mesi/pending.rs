//! What a MESI cache's translation unit has to do with a line: a request of its cache, a question of others, or words that the cache has given up.

use crate::access::Txn;
use crate::address::AgentId;
use crate::line::{ByteMask, LineData};
use crate::message::Message;

/// What the cache asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Wanted {
    /// A copy.
    Read,
    /// The only copy.
    Write,
    /// Permission to write the shared copy that it has.
    Upgrade,
}

impl Wanted {
    /// What the cache wants once its shared copy is gone.
    pub(super) fn without_copy(self) -> Wanted {
        match self {
            Wanted::Upgrade => Wanted::Write,
            Wanted::Read | Wanted::Write => self,
        }
    }
}

/// A request of the cache, on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Request<const W: usize> {
    pub(super) wanted: Wanted,
    /// Words that have come.
    pub(super) got: ByteMask,
    /// Words that must be asked for again.
    pub(super) nacked: ByteMask,
    /// Words that were asked back before the line was complete.
    pub(super) lost: ByteMask,
    /// Whether what has come is owned.
    pub(super) owned: bool,
    pub(super) data: LineData<W>,
}

/// What another device, or the LLC itself, wants of words that the cache owns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Want {
    /// Their values.
    Read,
    /// Their values; the line is shared then.
    Share,
    /// Ownership.
    Own,
    /// Their values and ownership.
    OwnWithData,
    /// That the LLC has them.
    Revoke,
    /// Nothing: they were given away while they were on their way.
    Lost,
}

/// A request of another device, or a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Question {
    pub(super) want: Want,
    pub(super) words: ByteMask,
    /// Whether the requestor gets no other answer.
    pub(super) alone: bool,
    pub(super) llc: AgentId,
    pub(super) requestor: AgentId,
    pub(super) txn: Txn,
    pub(super) wave: u16,
}

impl Question {
    pub(super) fn new<const W: usize>(want: Want, message: &Message<W>) -> Question {
        let Message { mask, src, origin, txn, wave, credit, .. } = *message;
        Question { want, words: mask, alone: credit == 1, llc: src, requestor: origin, txn, wave }
    }
}

/// Words that the cache has given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct WriteBack<const W: usize> {
    /// Those that nobody has taken yet.
    pub(super) left: ByteMask,
    /// Whether the LLC has not seen the write-back yet.
    pub(super) on_its_way: bool,
    pub(super) data: LineData<W>,
    /// Whether the cache waits for the end of this.
    pub(super) evicted: bool,
    /// What the cache wants next of the line.
    pub(super) then: Option<Wanted>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Pending<const W: usize> {
    Request(Request<W>),
    Question(Question),
    WriteBack(WriteBack<W>),
}

impl<const W: usize> Pending<W> {
    /// Whether this is about a line that the cache has given up or been asked about, and does not wait for.
    pub(super) fn is_settling(&self) -> bool {
        match self {
            Pending::Request(_) => false,
            Pending::Question(_) => true,
            Pending::WriteBack(held) => !held.evicted && held.then.is_none(),
        }
    }

    /// Whether the cache will have to give up a line as soon as it has it.
    pub(super) fn has_losses(&self) -> bool {
        match self {
            Pending::Request(request) => !request.lost.is_empty(),
            Pending::Question(_) | Pending::WriteBack(_) => false,
        }
    }
}
