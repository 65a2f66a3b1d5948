//! The messages of MESI and the five virtual networks that they travel on (TC paper, section 4.1).
//!
//! Requests may wait at the L2 while their line is blocked. Write-backs may wait while their line's new owner has not
//! reported. Every other message waits at most for room for the messages that its receiver sends because of it. A
//! request waits for room for probes, a probe for answers, an answer or a write-back for responses, a response for the
//! report of a new owner, and a report for nothing. So nothing waits for its own network, and no order of messages and
//! no shortage of buffers leads into a deadlock.
//!
//! Reports need a network of their own. If they travelled among the answers, a deadlock would be possible: a response
//! waits for room for its report, and an answer for room for its response.

use crate::message::{Channel, MessageSpec, MsgKind, Size, TrafficClass, memory};

/// The number of virtual networks that the protocol needs.
pub const VIRTUAL_NETWORKS: u8 = 5;

/// Requests, from L1 to L2.
const REQUEST: Channel = Channel::Virtual(0);
/// Answers to requests and write-backs, from L2 to L1.
const RESPONSE: Channel = Channel::Virtual(1);
/// Probes of the caches that hold a line, from L2 to L1.
const PROBE: Channel = Channel::Virtual(2);
/// Answers to probes, and lines that owners give up, from L1 to L2.
const ANSWER: Channel = Channel::Virtual(3);
/// Reports of new owners, from L1 to L2.
const REPORT: Channel = Channel::Virtual(4);

/// Asks for a copy to read.
pub const GETS: MsgKind = MsgKind(memory::FIRST_FREE);
/// Asks for a copy with permission to write.
pub const GETX: MsgKind = MsgKind(memory::FIRST_FREE + 1);
/// Asks for permission to write a line of which the sender has a shared copy.
pub const UPGRADE: MsgKind = MsgKind(memory::FIRST_FREE + 2);
/// Carries a shared copy.
pub const DATA: MsgKind = MsgKind(memory::FIRST_FREE + 3);
/// Carries the only copy, for a load.
pub const DATA_E: MsgKind = MsgKind(memory::FIRST_FREE + 4);
/// Carries the only copy, for a store or atomic.
pub const DATA_M: MsgKind = MsgKind(memory::FIRST_FREE + 5);
/// Says that the shared copy has become the only one.
pub const UPGRADE_ACK: MsgKind = MsgKind(memory::FIRST_FREE + 6);
/// Says that the line has been written back.
pub const WB_ACK: MsgKind = MsgKind(memory::FIRST_FREE + 7);
/// Asks a cache to give up its copy, since another cache writes.
pub const INV: MsgKind = MsgKind(memory::FIRST_FREE + 8);
/// Asks an owner to share its only copy, since another cache reads.
pub const FWD_GETS: MsgKind = MsgKind(memory::FIRST_FREE + 9);
/// Asks a cache to give up its copy, since the L2 needs the place.
pub const RCL: MsgKind = MsgKind(memory::FIRST_FREE + 10);
/// Says that the copy is gone and that it held the data that the L2 holds.
pub const INV_ACK: MsgKind = MsgKind(memory::FIRST_FREE + 11);
/// Says that the copy is gone, and carries the data that it held.
pub const INV_DATA: MsgKind = MsgKind(memory::FIRST_FREE + 12);
/// Says that the copy is shared, or gone already, and that it holds the data that the L2 holds.
pub const FWD_ACK: MsgKind = MsgKind(memory::FIRST_FREE + 13);
/// Says that the copy is shared, and carries its data.
pub const FWD_DATA: MsgKind = MsgKind(memory::FIRST_FREE + 14);
/// Says that the recalled copy is gone and that it held the data that the L2 holds.
pub const RCL_ACK: MsgKind = MsgKind(memory::FIRST_FREE + 15);
/// Says that the recalled copy is gone, and carries the data that it held.
pub const RCL_DATA: MsgKind = MsgKind(memory::FIRST_FREE + 16);
/// Says that the copy is on its way to the L2 as a write-back.
pub const WB_PENDING: MsgKind = MsgKind(memory::FIRST_FREE + 17);
/// Reports that the only copy has arrived. The line may be requested again.
pub const EXCLUSIVE_UNBLOCK: MsgKind = MsgKind(memory::FIRST_FREE + 18);
/// Writes a modified line back as its owner gives it up.
pub const PUTX: MsgKind = MsgKind(memory::FIRST_FREE + 19);
/// Says that the owner gives up a line that it never wrote.
pub const PUTX_CLEAN: MsgKind = MsgKind(memory::FIRST_FREE + 20);

/// The message table of MESI.
pub static MESSAGES: [MessageSpec; memory::SPECS.len() + 21] = [
    memory::SPECS[0],
    memory::SPECS[1],
    memory::SPECS[2],
    MessageSpec::new("GETS", TrafficClass::Request, REQUEST, Size::Control),
    MessageSpec::new("GETX", TrafficClass::Request, REQUEST, Size::Control),
    MessageSpec::new("UPGRADE", TrafficClass::Request, REQUEST, Size::Control),
    MessageSpec::new("DATA", TrafficClass::Load, RESPONSE, Size::Line),
    MessageSpec::new("DATA_E", TrafficClass::Load, RESPONSE, Size::Line),
    MessageSpec::new("DATA_M", TrafficClass::Store, RESPONSE, Size::Line),
    MessageSpec::new("UPGRADE_ACK", TrafficClass::Request, RESPONSE, Size::Control),
    MessageSpec::new("WB_ACK", TrafficClass::Request, RESPONSE, Size::Control),
    MessageSpec::new("INV", TrafficClass::Invalidation, PROBE, Size::Control),
    MessageSpec::new("FWD_GETS", TrafficClass::Request, PROBE, Size::Control),
    MessageSpec::new("RCL", TrafficClass::Recall, PROBE, Size::Control),
    MessageSpec::new("INV_ACK", TrafficClass::Invalidation, ANSWER, Size::Control),
    MessageSpec::new("INV_DATA", TrafficClass::Store, ANSWER, Size::Line),
    MessageSpec::new("FWD_ACK", TrafficClass::Request, ANSWER, Size::Control),
    MessageSpec::new("FWD_DATA", TrafficClass::Load, ANSWER, Size::Line),
    MessageSpec::new("RCL_ACK", TrafficClass::Recall, ANSWER, Size::Control),
    MessageSpec::new("RCL_DATA", TrafficClass::Recall, ANSWER, Size::Line),
    MessageSpec::new("WB_PENDING", TrafficClass::Request, ANSWER, Size::Control),
    MessageSpec::new("EXCLUSIVE_UNBLOCK", TrafficClass::Request, REPORT, Size::Control),
    MessageSpec::new("PUTX", TrafficClass::Store, ANSWER, Size::Line),
    MessageSpec::new("PUTX_CLEAN", TrafficClass::Request, ANSWER, Size::Control),
];
