//! The messages of the scoped protocols. Requests travel towards the home of a line on one virtual network; answers, invalidations and marks travel away
//! from it on another. Both keep the order between any two caches, and the protocols live by that order: a release is behind the stores that it
//! releases, an invalidation behind the copy that it takes back, and a mark behind the invalidations that it flushes.

use crate::message::{Channel, MessageSpec, MsgKind, Size, TrafficClass, memory};

const REQUEST: Channel = Channel::Virtual(0);
const ANSWER: Channel = Channel::Virtual(1);

/// Virtual networks.
pub const NETWORKS: u8 = 2;

/// Reads a line.
pub const LD: MsgKind = MsgKind(memory::FIRST_FREE);
/// Writes bytes.
pub const ST: MsgKind = MsgKind(memory::FIRST_FREE + 1);
/// Reads and writes words at the home for its scope.
pub const ATOM: MsgKind = MsgKind(memory::FIRST_FREE + 2);
/// Asks for an answer once every earlier store is where its scope wants it and nobody in the scope has an older copy.
pub const REL: MsgKind = MsgKind(memory::FIRST_FREE + 3);
/// The same, from a GPU home to a system home.
pub const REL_HOME: MsgKind = MsgKind(memory::FIRST_FREE + 4);
/// Asks to drop every copy that may be stale for the scope. Only in software protocols.
pub const ACQ: MsgKind = MsgKind(memory::FIRST_FREE + 5);
/// The sender holds nothing any more of what the line's entry covers. Only with downgrades.
pub const DOWNGRADE: MsgKind = MsgKind(memory::FIRST_FREE + 6);
/// The line that was read.
pub const DATA: MsgKind = MsgKind(memory::FIRST_FREE + 7);
/// The old values that an atomic found.
pub const ATOM_DATA: MsgKind = MsgKind(memory::FIRST_FREE + 8);
/// Drop your copies of an entry's lines: somebody writes.
pub const INV: MsgKind = MsgKind(memory::FIRST_FREE + 9);
/// Drop your copies of an entry's lines: the directory needs the place.
pub const INV_REPL: MsgKind = MsgKind(memory::FIRST_FREE + 10);
/// Asks for an answer to the release behind the invalidations before it.
pub const MARK: MsgKind = MsgKind(memory::FIRST_FREE + 11);
/// The answer to `REL`, `REL_HOME` and `MARK`, to whoever released.
pub const DONE: MsgKind = MsgKind(memory::FIRST_FREE + 12);
/// The invalidations before a `MARK` have arrived, wherever they were passed on to. It is `DONE`, too, where the mark's sender released.
pub const MARK_DONE: MsgKind = MsgKind(memory::FIRST_FREE + 14);
/// An invalidation on the other virtual network, where it can overtake the copy that it takes back. Only in a wrong variant.
pub const INV_ASTRAY: MsgKind = MsgKind(memory::FIRST_FREE + 13);

/// The release at the end of a kernel, which all private caches of a module send and which is served once for all of them.
pub const REL_END: MsgKind = MsgKind(memory::FIRST_FREE + 15);

/// The answer to `ACQ`.
pub const ACQ_DONE: MsgKind = MsgKind(memory::FIRST_FREE + 16);

const OWN: [MessageSpec; 17] = [
    MessageSpec { name: "LD", class: TrafficClass::Request, channel: REQUEST, size: Size::Control },
    MessageSpec { name: "ST", class: TrafficClass::Store, channel: REQUEST, size: Size::Masked },
    MessageSpec { name: "ATOM", class: TrafficClass::Atomic, channel: REQUEST, size: Size::Masked },
    MessageSpec { name: "REL", class: TrafficClass::Request, channel: REQUEST, size: Size::Control },
    MessageSpec { name: "REL_HOME", class: TrafficClass::Request, channel: REQUEST, size: Size::Control },
    MessageSpec { name: "ACQ", class: TrafficClass::Request, channel: REQUEST, size: Size::Control },
    MessageSpec { name: "DOWNGRADE", class: TrafficClass::Request, channel: REQUEST, size: Size::Control },
    MessageSpec { name: "DATA", class: TrafficClass::Load, channel: ANSWER, size: Size::Line },
    MessageSpec { name: "ATOM_DATA", class: TrafficClass::Atomic, channel: ANSWER, size: Size::Masked },
    MessageSpec { name: "INV", class: TrafficClass::Invalidation, channel: ANSWER, size: Size::Control },
    MessageSpec { name: "INV_REPL", class: TrafficClass::Invalidation, channel: ANSWER, size: Size::Control },
    MessageSpec { name: "MARK", class: TrafficClass::Request, channel: ANSWER, size: Size::Control },
    MessageSpec { name: "DONE", class: TrafficClass::Request, channel: ANSWER, size: Size::Control },
    MessageSpec { name: "INV_ASTRAY", class: TrafficClass::Invalidation, channel: REQUEST, size: Size::Control },
    MessageSpec { name: "MARK_DONE", class: TrafficClass::Request, channel: ANSWER, size: Size::Control },
    MessageSpec { name: "REL_END", class: TrafficClass::Request, channel: REQUEST, size: Size::Control },
    MessageSpec { name: "ACQ_DONE", class: TrafficClass::Request, channel: ANSWER, size: Size::Control },
];

/// The message table.
pub const TABLE: [MessageSpec; memory::SPECS.len() + OWN.len()] = {
    let mut table = [memory::SPECS[0]; memory::SPECS.len() + OWN.len()];
    let mut row = 0;
    while row < table.len() {
        table[row] = if row < memory::SPECS.len() { memory::SPECS[row] } else { OWN[row - memory::SPECS.len()] };
        row += 1;
    }
    table
};

/// Virtual networks of software protocols.
pub const SOFTWARE_NETWORKS: u8 = 3;

/// The message table of software protocols. A fence that has released acquires next, so that a request follows an answer: on the network of the other answers its
/// own could wait for those that wait for the first.
pub const SOFTWARE_TABLE: [MessageSpec; TABLE.len()] = {
    let mut table = TABLE;
    table[ACQ_DONE.0 as usize].channel = Channel::Virtual(2);
    table
};
