//! The part of a line that a shared bank keeps.

use crate::access::Txn;
use crate::address::AgentId;
use crate::cache::Slot;
use crate::line::ByteMask;

/// The bank's copy of a line, or the lack of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Held {
    Nothing,
    /// A copy of some or all bytes.
    Copy(Slot),
    /// A place for a copy that is on its way.
    Miss(Slot),
    /// There is no place, and the copy that is on its way is too old to be kept.
    ClosedMiss,
}

/// The metadata of a resident line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Line {
    /// Whether it is only a place for a copy that is on its way.
    pub(super) pending: bool,
    /// Bytes that the copy has.
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
