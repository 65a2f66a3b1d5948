//! The messages of the scoped protocols.
//!
//! Requests travel towards the home of a line on one virtual network. Answers, invalidations and marks travel away from
//! it on another. Both networks keep the order between any two caches, and the protocols depend on that order: a
//! release stays behind the stores that it releases, an invalidation behind the copy that it invalidates, and a mark
//! behind the invalidations that it flushes.

use crate::message::{Channel, MessageSpec, MsgKind, Size, TrafficClass, memory};

const REQUEST: Channel = Channel::Virtual(0);
const ANSWER: Channel = Channel::Virtual(1);

/// The number of virtual networks.
pub const NETWORKS: u8 = 2;

/// Reads a line, for a load.
pub const LD: MsgKind = MsgKind(memory::FIRST_FREE);
/// Writes bytes of a line, for a store.
pub const ST: MsgKind = MsgKind(memory::FIRST_FREE + 1);
/// Reads and writes words at the home for its scope.
pub const ATOM: MsgKind = MsgKind(memory::FIRST_FREE + 2);
/// Asks for an answer once every earlier store has reached the point that its scope requires and nobody in the scope
/// has an older copy.
pub const REL: MsgKind = MsgKind(memory::FIRST_FREE + 3);
/// The release (`REL`) that a GPU home sends to a system home.
pub const REL_HOME: MsgKind = MsgKind(memory::FIRST_FREE + 4);
/// Asks to drop every copy that may be stale for the scope. Only software protocols send it.
pub const ACQ: MsgKind = MsgKind(memory::FIRST_FREE + 5);
/// Says that the sender no longer holds any of the lines that the line's entry covers. Only protocols with downgrades
/// send it.
pub const DOWNGRADE: MsgKind = MsgKind(memory::FIRST_FREE + 6);
/// Answers `LD` with the line.
pub const DATA: MsgKind = MsgKind(memory::FIRST_FREE + 7);
/// Answers `ATOM` with the old values.
pub const ATOM_DATA: MsgKind = MsgKind(memory::FIRST_FREE + 8);
/// Asks to drop the copies of an entry's lines, since somebody writes.
pub const INV: MsgKind = MsgKind(memory::FIRST_FREE + 9);
/// Asks to drop the copies of an entry's lines, since the directory needs the place.
pub const INV_REPL: MsgKind = MsgKind(memory::FIRST_FREE + 10);
/// Asks for an answer once the invalidations sent before it have arrived.
pub const MARK: MsgKind = MsgKind(memory::FIRST_FREE + 11);
/// Answers `REL`, `REL_HOME` and `MARK`. It is sent to the bank that released.
pub const DONE: MsgKind = MsgKind(memory::FIRST_FREE + 12);
/// Says that the invalidations before a `MARK` have arrived, including those that were passed on. It also serves as
/// `DONE` if the mark's sender is the bank that released.
pub const MARK_DONE: MsgKind = MsgKind(memory::FIRST_FREE + 14);
/// An invalidation on the other virtual network, where it can overtake the copy that it should invalidate. Only a
/// faulty variant sends it.
pub const INV_ASTRAY: MsgKind = MsgKind(memory::FIRST_FREE + 13);

/// The release at the end of a kernel. All private caches of a module send it, and it is served once for all of them.
pub const REL_END: MsgKind = MsgKind(memory::FIRST_FREE + 15);

/// Answers `ACQ` once the copies are dropped.
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

/// The message table of protocols with directories.
pub const TABLE: [MessageSpec; memory::SPECS.len() + OWN.len()] = {
    let mut table = [memory::SPECS[0]; memory::SPECS.len() + OWN.len()];
    let mut row = 0;
    while row < table.len() {
        table[row] = if row < memory::SPECS.len() { memory::SPECS[row] } else { OWN[row - memory::SPECS.len()] };
        row += 1;
    }
    table
};

/// The number of virtual networks of software protocols.
pub const SOFTWARE_NETWORKS: u8 = 3;

/// The message table of software protocols. A fence that has released acquires next, so a request follows an answer.
/// Therefore the answer to the acquire has a network of its own: on the network of the other answers it could wait for
/// those that wait for the first answer.
pub const SOFTWARE_TABLE: [MessageSpec; TABLE.len()] = {
    let mut table = TABLE;
    table[ACQ_DONE.0 as usize].channel = Channel::Virtual(2);
    table
};
