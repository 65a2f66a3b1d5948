//! The messages of write-through protocols, with the names of the TC paper (Table 2).

use crate::message::{Channel, MessageSpec, MsgKind, Size, TrafficClass, memory};
use crate::rows::appended;

/// Virtual network of requests, from L1 to L2.
pub const REQUEST: Channel = Channel::Virtual(0);
/// Virtual network of answers, from L2 to L1.
pub const RESPONSE: Channel = Channel::Virtual(1);

/// A request to read a line.
pub const GETS: MsgKind = MsgKind(memory::FIRST_FREE);
/// Writes the masked bytes of a line.
pub const GETX: MsgKind = MsgKind(memory::FIRST_FREE + 1);
/// Read-modify-write at the L2.
pub const ATOMIC: MsgKind = MsgKind(memory::FIRST_FREE + 2);
/// The line that a read asked for.
pub const DATA: MsgKind = MsgKind(memory::FIRST_FREE + 3);
/// The write is performed.
pub const ACK: MsgKind = MsgKind(memory::FIRST_FREE + 4);
/// The old values that an atomic found.
pub const ATOMIC_DATA: MsgKind = MsgKind(memory::FIRST_FREE + 5);
/// Give up your copy: somebody writes. Only in coherent protocols.
pub const INV: MsgKind = MsgKind(memory::FIRST_FREE + 6);
/// The copy is gone. Only where invalidations are acknowledged.
pub const INV_ACK: MsgKind = MsgKind(memory::FIRST_FREE + 7);
/// Give up your copy: the L2 needs the place. Only in inclusive protocols.
pub const RCL: MsgKind = MsgKind(memory::FIRST_FREE + 8);
/// The recalled copy is gone.
pub const RCL_ACK: MsgKind = MsgKind(memory::FIRST_FREE + 9);

/// The place of the messages of write-through caches in a protocol's message table: their own, or behind those of
/// others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Kinds(u8);

impl Kinds {
    /// Their own place, right behind the rows of memory.
    pub const ALONE: Kinds = Kinds(0);

    /// Behind a table of `rows` rows, which begins with those of memory itself.
    pub const fn after(rows: usize) -> Kinds {
        Kinds(rows as u8 - memory::FIRST_FREE)
    }

    /// The row of the table that a message of write-through caches has.
    pub const fn named(self, kind: MsgKind) -> MsgKind {
        MsgKind(kind.0 + self.0)
    }

    /// The message of write-through caches that a row of the table is; none where the row is not theirs.
    pub const fn known(self, kind: MsgKind) -> Option<MsgKind> {
        match kind.0.checked_sub(self.0) {
            Some(known) => Some(MsgKind(known)),
            None => None,
        }
    }
}

const COMMON: [MessageSpec; 6] = [
    MessageSpec { name: "GETS", class: TrafficClass::Request, channel: REQUEST, size: Size::Control },
    MessageSpec { name: "GETX", class: TrafficClass::Store, channel: REQUEST, size: Size::Masked },
    MessageSpec { name: "ATOMIC", class: TrafficClass::Atomic, channel: REQUEST, size: Size::Masked },
    MessageSpec { name: "DATA", class: TrafficClass::Load, channel: RESPONSE, size: Size::Line },
    MessageSpec { name: "ACK", class: TrafficClass::Request, channel: RESPONSE, size: Size::Control },
    MessageSpec { name: "ATOMIC_DATA", class: TrafficClass::Atomic, channel: RESPONSE, size: Size::Masked },
];

/// The message table of a protocol that adds the rows of `own` to the common ones; `N` is the length of the whole.
pub const fn message_table<const N: usize>(own: &[MessageSpec]) -> [MessageSpec; N] {
    appended(&COMMON_TABLE, own)
}

/// The table of a protocol that needs no messages of its own.
pub const COMMON_TABLE: [MessageSpec; memory::SPECS.len() + COMMON.len()] = appended(&memory::SPECS, &COMMON);
