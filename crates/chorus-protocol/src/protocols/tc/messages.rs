//! The messages of Temporal Coherence, with the names of the paper's Table 2.

use crate::message::{Channel, MessageSpec, MsgKind, Size, TrafficClass, memory};
use crate::rows::appended;

const REQUEST: Channel = Channel::Virtual(0);
const RESPONSE: Channel = Channel::Virtual(1);

/// Virtual networks: requests and answers (Table 4).
pub const VIRTUAL_NETWORKS: u8 = 2;

/// Read. A timestamp says that the private cache still has the line, past its lease.
pub const GETS: MsgKind = MsgKind(memory::FIRST_FREE);
/// Write without a valid private copy.
pub const GETX: MsgKind = MsgKind(memory::FIRST_FREE + 1);
/// Write to a valid private copy; carries the timestamp that the copy should have at the L2.
pub const UPGR: MsgKind = MsgKind(memory::FIRST_FREE + 2);
/// Read-modify-write at the L2.
pub const ATOMIC: MsgKind = MsgKind(memory::FIRST_FREE + 3);
/// The line that a read asked for, with the end of its lease.
pub const DATA: MsgKind = MsgKind(memory::FIRST_FREE + 4);
/// The write is done.
pub const ACK: MsgKind = MsgKind(memory::FIRST_FREE + 5);
/// The old values that an atomic found; with the global write completion time in TC-Weak.
pub const ATOMIC_DATA_G: MsgKind = MsgKind(memory::FIRST_FREE + 6);
/// The write is done, and will be visible everywhere after the time carried. Only in TC-Weak.
pub const ACK_G: MsgKind = MsgKind(memory::FIRST_FREE + 7);
/// The write is done, as with `ACK_G`; carries the whole line, for a writer whose copy is stale. Only in TC-Weak.
pub const DATA_G: MsgKind = MsgKind(memory::FIRST_FREE + 8);

/// The rows that both protocols have, in the order of the kinds above.
const COMMON: [MessageSpec; 9] = [
    memory::SPECS[0],
    memory::SPECS[1],
    memory::SPECS[2],
    MessageSpec::new("GETS", TrafficClass::Request, REQUEST, Size::Control),
    MessageSpec::new("GETX", TrafficClass::Store, REQUEST, Size::Masked),
    MessageSpec::new("UPGR", TrafficClass::Store, REQUEST, Size::Masked),
    MessageSpec::new("ATOMIC", TrafficClass::Atomic, REQUEST, Size::Masked),
    MessageSpec::new("DATA", TrafficClass::Load, RESPONSE, Size::Line),
    MessageSpec::new("ACK", TrafficClass::Request, RESPONSE, Size::Control),
];

/// The messages of TC-Weak.
pub static WEAK: [MessageSpec; 12] = appended(
    &COMMON,
    &[
        MessageSpec::new("DATA-G", TrafficClass::Atomic, RESPONSE, Size::Masked),
        MessageSpec::new("ACK-G", TrafficClass::Request, RESPONSE, Size::Control),
        MessageSpec::new("DATA-G", TrafficClass::Store, RESPONSE, Size::Line),
    ],
);

/// The messages of TC-Strong, which has no completion times.
pub static STRONG: [MessageSpec; 10] =
    appended(&COMMON, &[MessageSpec::new("ATOMIC_DATA", TrafficClass::Atomic, RESPONSE, Size::Masked)]);
