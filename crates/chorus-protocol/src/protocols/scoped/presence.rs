//! The records that a shared bank has of a line.

use crate::access::Txn;
use crate::address::AgentId;
use crate::cache::Slot;
use crate::line::ByteMask;

/// Whether a shared bank has a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Presence {
    /// It has no copy, and none is on its way.
    Absent,
    /// It has a copy.
    Copy(Slot),
    /// A copy is on its way, and this place is reserved for it.
    Miss(Slot),
    /// A copy is on its way that is too old to be kept.
    ClosedMiss,
}

/// The record of a line that has a place in the cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Line {
    /// Whether the place is only reserved for a copy on its way.
    pub(super) pending: bool,
    /// The bytes that the bank has.
    pub(super) valid: ByteMask,
    /// The bytes that the next station on the way to memory does not have.
    pub(super) dirty: ByteMask,
}

/// A private cache that waits for a line, or a bank that waits on its behalf.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Reader {
    pub(super) origin: AgentId,
    pub(super) txn: Txn,
}
