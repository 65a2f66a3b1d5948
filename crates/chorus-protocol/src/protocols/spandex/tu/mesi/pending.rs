//! The pending work of a MESI cache's translation unit on a line: a request of its cache, a question of others, or
//! words that the cache has given up.

use crate::access::Txn;
use crate::address::AgentId;
use crate::line::{ByteMask, LineData};
use crate::message::Message;
use crate::save::{self, Save};

/// The kind of request that the cache made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Save)]
pub(super) enum Wanted {
    /// A copy to read.
    Read,
    /// The only copy, to write.
    Write,
    /// Permission to write the shared copy that the cache has.
    Upgrade,
}

impl Wanted {
    /// The kind of request that remains once the cache's shared copy is gone.
    pub(super) fn without_copy(self) -> Wanted {
        match self {
            Wanted::Upgrade => Wanted::Write,
            Wanted::Read | Wanted::Write => self,
        }
    }
}

/// A request of the cache that is on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Save)]
pub(super) struct Request<const W: usize> {
    pub(super) wanted: Wanted,
    /// Words that have come.
    pub(super) got: ByteMask,
    /// Words that must be requested again.
    pub(super) nacked: ByteMask,
    /// Whether the words that have come are owned.
    pub(super) owned: bool,
    pub(super) data: LineData<W>,
}

/// The demand of another device, or of the LLC itself, on words that the cache owns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Save)]
pub(super) enum Want {
    /// The values of the words.
    Read,
    /// The values of the words. The line is shared afterwards.
    Share,
    /// Ownership of the words, without values.
    Own,
    /// The values of the words and ownership.
    OwnWithData,
    /// The words have to be given back to the LLC.
    Revoke,
}

impl Want {
    /// Whether another device becomes the owner.
    pub(super) fn takes_ownership(self) -> bool {
        matches!(self, Want::Own | Want::OwnWithData)
    }
}

/// A request of another device, or a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Save)]
pub(super) struct Question {
    pub(super) want: Want,
    pub(super) words: ByteMask,
    /// Whether this is the only answer that the requestor gets.
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Save)]
pub(super) struct WriteBack<const W: usize> {
    /// The words that nobody has taken yet.
    pub(super) left: ByteMask,
    /// Whether the LLC has not seen the write-back yet.
    pub(super) on_its_way: bool,
    pub(super) data: LineData<W>,
    /// Whether the cache waits for the end of the write-back.
    pub(super) evicted: bool,
    /// The next request of the cache for the line.
    pub(super) then: Option<Wanted>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Save)]
pub(super) enum Pending<const W: usize> {
    Request(Request<W>),
    Question(Question),
    WriteBack(WriteBack<W>),
}

impl<const W: usize> Pending<W> {
    /// Whether this concerns a line that the cache has given up or was asked about, and the cache does not wait for it.
    pub(super) fn is_settling(&self) -> bool {
        match self {
            Pending::Request(_) => false,
            Pending::Question(_) => true,
            Pending::WriteBack(held) => !held.evicted && held.then.is_none(),
        }
    }
}
