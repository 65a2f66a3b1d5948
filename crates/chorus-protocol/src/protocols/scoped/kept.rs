//! What a shared bank keeps of a line.

use crate::access::Txn;
use crate::address::AgentId;
use crate::cache::Slot;
use crate::line::ByteMask;

/// What the cache holds of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Held {
    Nothing,
    /// A copy.
    Copy(Slot),
    /// A place for a copy that is on its way.
    Miss(Slot),
    /// Nothing, and what is on its way is too old to be kept.
    ClosedMiss,
}

/// A resident line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Line {
    /// Whether it is only a place for what is on its way.
    pub(super) pending: bool,
    /// Bytes that are there.
    pub(super) valid: ByteMask,
    /// Bytes that the next station does not have.
    pub(super) dirty: ByteMask,
}

/// A private cache that waits for a line, or a bank on its behalf.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Reader {
    pub(super) origin: AgentId,
    pub(super) txn: Txn,
}
