//! The messages of Temporal Coherence, with the names of the paper's Table 2.

use crate::message::{Channel, MessageSpec, MsgKind, Size, TrafficClass, memory};

const REQUEST: Channel = Channel::Virtual(0);
const RESPONSE: Channel = Channel::Virtual(1);

/// Virtual networks: requests and answers (Table 4).
pub(super) const VIRTUAL_NETWORKS: u8 = 2;

/// Read. A timestamp says that the private cache still has the line, past its lease.
pub(super) const GETS: MsgKind = MsgKind(memory::FIRST_FREE);
/// Write without a valid private copy.
pub(super) const GETX: MsgKind = MsgKind(memory::FIRST_FREE + 1);
/// Write to a valid private copy; carries the timestamp that the copy should have at the L2.
pub(super) const UPGR: MsgKind = MsgKind(memory::FIRST_FREE + 2);
/// Read-modify-write at the L2.
pub(super) const ATOMIC: MsgKind = MsgKind(memory::FIRST_FREE + 3);
/// The line that a read asked for, with the end of its lease.
pub(super) const DATA: MsgKind = MsgKind(memory::FIRST_FREE + 4);
/// The write is done.
pub(super) const ACK: MsgKind = MsgKind(memory::FIRST_FREE + 5);
/// The old values that an atomic found; with the global write completion time in TC-Weak.
pub(super) const ATOMIC_DATA_G: MsgKind = MsgKind(memory::FIRST_FREE + 6);
/// The write is done, and will be visible everywhere after the time carried. Only in TC-Weak.
pub(super) const ACK_G: MsgKind = MsgKind(memory::FIRST_FREE + 7);
/// The same, with the whole line, for a writer whose copy is stale. Only in TC-Weak.
pub(super) const DATA_G: MsgKind = MsgKind(memory::FIRST_FREE + 8);

const fn row(name: &'static str, class: TrafficClass, channel: Channel, size: Size) -> MessageSpec {
    MessageSpec { name, class, channel, size }
}

/// The rows that both protocols have, in the order of the kinds above.
const COMMON: [MessageSpec; 9] = [
    memory::SPECS[0],
    memory::SPECS[1],
    memory::SPECS[2],
    row("GETS", TrafficClass::Request, REQUEST, Size::Control),
    row("GETX", TrafficClass::Store, REQUEST, Size::Masked),
    row("UPGR", TrafficClass::Store, REQUEST, Size::Masked),
    row("ATOMIC", TrafficClass::Atomic, REQUEST, Size::Masked),
    row("DATA", TrafficClass::Load, RESPONSE, Size::Line),
    row("ACK", TrafficClass::Request, RESPONSE, Size::Control),
];

const fn table<const N: usize>(own: &[MessageSpec]) -> [MessageSpec; N] {
    let mut table = [COMMON[0]; N];
    let mut index = 0;
    while index < N {
        table[index] = if index < COMMON.len() { COMMON[index] } else { own[index - COMMON.len()] };
        index += 1;
    }
    table
}

/// The messages of TC-Weak.
pub(super) static WEAK: [MessageSpec; 12] = table(&[
    row("DATA-G", TrafficClass::Atomic, RESPONSE, Size::Masked),
    row("ACK-G", TrafficClass::Request, RESPONSE, Size::Control),
    row("DATA-G", TrafficClass::Store, RESPONSE, Size::Line),
]);

/// The messages of TC-Strong, which has no completion times.
pub(super) static STRONG: [MessageSpec; 10] =
    table(&[row("ATOMIC_DATA", TrafficClass::Atomic, RESPONSE, Size::Masked)]);
