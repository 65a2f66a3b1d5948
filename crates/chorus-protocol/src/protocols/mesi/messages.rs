//! The messages of MESI and the five virtual networks that they travel on (TC paper, section 4.1).
//!
//! Requests may wait at the L2 while their line is blocked, write-backs while their line's new owner has not reported. Everything
//! else waits at most for room for what it makes its receiver send: a request for probes, a probe for answers, an answer or a write-back
//! for responses, a response for the report of a new owner, and a report for nothing. Nothing thus waits for its own network, and no order
//! of messages and no shortage of buffers leads into a deadlock. Reports among the answers would: a response waits for
//! room for its report, and an answer for room for its response.

use crate::message::{Channel, MessageSpec, MsgKind, Size, TrafficClass, memory};

/// Virtual networks that the protocol needs.
pub const VIRTUAL_NETWORKS: u8 = 5;

/// Requests, from L1 to L2.
const REQUEST: Channel = Channel::Virtual(0);
/// Answers to requests and write-backs, from L2 to L1.
const RESPONSE: Channel = Channel::Virtual(1);
/// What the L2 asks of the caches that hold a line.
const PROBE: Channel = Channel::Virtual(2);
/// What those caches answer, and lines that owners give up.
const ANSWER: Channel = Channel::Virtual(3);
/// Reports of new owners, from L1 to L2.
const REPORT: Channel = Channel::Virtual(4);

/// Read.
pub const GETS: MsgKind = MsgKind(memory::FIRST_FREE);
/// Read with permission to write.
pub const GETX: MsgKind = MsgKind(memory::FIRST_FREE + 1);
/// Permission to write a line whose shared copy the sender has.
pub const UPGRADE: MsgKind = MsgKind(memory::FIRST_FREE + 2);
/// A shared copy.
pub const DATA: MsgKind = MsgKind(memory::FIRST_FREE + 3);
/// The only copy, for a load.
pub const DATA_E: MsgKind = MsgKind(memory::FIRST_FREE + 4);
/// The only copy, for a store or atomic.
pub const DATA_M: MsgKind = MsgKind(memory::FIRST_FREE + 5);
/// The shared copy has become the only one.
pub const UPGRADE_ACK: MsgKind = MsgKind(memory::FIRST_FREE + 6);
/// The line has been written back.
pub const WB_ACK: MsgKind = MsgKind(memory::FIRST_FREE + 7);
/// Give up your copy: somebody writes.
pub const INV: MsgKind = MsgKind(memory::FIRST_FREE + 8);
/// Share your only copy: somebody reads.
pub const FWD_GETS: MsgKind = MsgKind(memory::FIRST_FREE + 9);
/// Give up your copy: the L2 needs the place.
pub const RCL: MsgKind = MsgKind(memory::FIRST_FREE + 10);
/// The copy is gone, and it held what the L2 holds.
pub const INV_ACK: MsgKind = MsgKind(memory::FIRST_FREE + 11);
/// The copy is gone, and this is what it held.
pub const INV_DATA: MsgKind = MsgKind(memory::FIRST_FREE + 12);
/// The copy is shared, or gone already, and holds what the L2 holds.
pub const FWD_ACK: MsgKind = MsgKind(memory::FIRST_FREE + 13);
/// The copy is shared, and this is what it holds.
pub const FWD_DATA: MsgKind = MsgKind(memory::FIRST_FREE + 14);
/// The recalled copy is gone, and it held what the L2 holds.
pub const RCL_ACK: MsgKind = MsgKind(memory::FIRST_FREE + 15);
/// The recalled copy is gone, and this is what it held.
pub const RCL_DATA: MsgKind = MsgKind(memory::FIRST_FREE + 16);
/// The copy is on its way to you as a write-back.
pub const WB_PENDING: MsgKind = MsgKind(memory::FIRST_FREE + 17);
/// The only copy has arrived: the line may be asked for again.
pub const EXCLUSIVE_UNBLOCK: MsgKind = MsgKind(memory::FIRST_FREE + 18);
/// A written line leaves its owner.
pub const PUTX: MsgKind = MsgKind(memory::FIRST_FREE + 19);
/// A line that was never written leaves its owner.
pub const PUTX_CLEAN: MsgKind = MsgKind(memory::FIRST_FREE + 20);

/// The message table.
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
