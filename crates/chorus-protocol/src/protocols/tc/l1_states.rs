//! States, events and records of the private cache of Temporal Coherence.

use super::counter::Stamp;
use super::messages::{ACK, ACK_G, ATOMIC_DATA_G, DATA, DATA_G};
use crate::access::Txn;
use crate::address::{LineAddr, Role};
use crate::controller::{StateClass, StateSpec, Unspecified, Vocabulary};
use crate::message::MsgKind;
use crate::save::{self, Save};

/// State of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    I,
    V,
    VM,
    IV,
    II,
}

/// An event of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    Load,
    Store,
    Atomic,
    Eviction,
    Expire,
    Data,
    WriteAck,
    /// A message that no L1 is ever sent; every state has a hole for it.
    Foreign,
}

impl Event {
    pub(super) fn of(kind: MsgKind) -> Event {
        match kind {
            DATA | DATA_G | ATOMIC_DATA_G => Event::Data,
            ACK | ACK_G => Event::WriteAck,
            MsgKind(_) => Event::Foreign,
        }
    }
}

/// The states and events of the cache's transition table.
pub static VOCABULARY: Vocabulary = Vocabulary {
    role: Role::L1,
    device: "",
    states: &[
        StateSpec { name: "I", class: StateClass::Stable, meaning: "no copy, or one whose lease has ended" },
        StateSpec { name: "V", class: StateClass::Stable, meaning: "copy with a running lease" },
        StateSpec {
            name: "V_M",
            class: StateClass::TransientCoherent,
            meaning: "copy with a running lease, written ahead of the acknowledgement",
        },
        StateSpec { name: "I_V", class: StateClass::TransientCache, meaning: "read miss outstanding" },
        StateSpec { name: "I_I", class: StateClass::TransientCache, meaning: "no copy, requests outstanding" },
    ],
    events: &["Load", "Store", "Atomic", "Eviction", "Expire", "Data", "WriteAck", "Foreign"],
    expiry: Some(Event::Expire as u8),
};

/// The use of the place that a line has in the cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Save)]
pub(super) enum Residency {
    /// A copy without writes under way.
    #[default]
    Copy,
    /// A copy with writes under way.
    Written,
    /// No copy yet: the place is reserved for the answer to a read.
    Awaited,
}

/// The record of a line that has a place in the cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Save)]
pub(super) struct Line {
    pub(super) residency: Residency,
    /// Until when the copy may be read.
    pub(super) lease: Stamp,
    /// The line's timestamp at the L2, if nobody else has read or written the line since.
    pub(super) stamp: Stamp,
    /// When the last write that was not private is visible to everybody.
    pub(super) gwct: Stamp,
}

impl Line {
    pub(super) fn has_expired(&self, now: Stamp) -> bool {
        self.residency != Residency::Awaited && self.lease < now
    }
}

/// The requests of a line that are outstanding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Save)]
pub(super) struct Pending {
    /// Wavefronts with merged loads, which may have to be asked for again; a bit each.
    pub(super) merged: u64,
    pub(super) answers: u32,
    pub(super) gwct: Stamp,
}

/// A load that waits for a read miss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Save)]
pub(super) struct Reader {
    pub(super) txn: Txn,
    /// When it merged; zero for the one that the request was sent for.
    pub(super) since: Stamp,
}

/// The hole in a row and column.
pub(super) fn unspecified(state: State, event: Event, line: LineAddr) -> Unspecified {
    VOCABULARY.unspecified(state as usize, event as usize, line)
}
