//! What the VI protocols of the TC paper have in common (sections 4.2 and 4.3): the private cache, the messages, and how a bank
//! tells sharers to give up their copies.
//!
//! Four virtual networks: requests, answers, invalidations, acknowledgements.

use crate::address::{AgentId, LineAddr};
use crate::controller::Outbox;
use crate::message::{Channel, Message, MessageSpec, MsgKind, Size, TrafficClass};
use crate::protocols::write_through::message_table;
use crate::protocols::write_through_l1::{
    Allocation, Invalidation, KernelStart, L1Fault, L1Policy, StoreHit, WriteThroughL1,
};
use crate::registry::BuildConfig;
use crate::sharers::Sharers;

/// Virtual networks of the message table.
pub const VIRTUAL_NETWORKS: u8 = 4;

const INVALIDATION: Channel = Channel::Virtual(2);
const ACKNOWLEDGEMENT: Channel = Channel::Virtual(3);

/// The message table.
pub static MESSAGES: [MessageSpec; 13] = message_table(&[
    MessageSpec { name: "INV", class: TrafficClass::Invalidation, channel: INVALIDATION, size: Size::Control },
    MessageSpec { name: "INV_ACK", class: TrafficClass::Invalidation, channel: ACKNOWLEDGEMENT, size: Size::Control },
    MessageSpec { name: "RCL", class: TrafficClass::Recall, channel: INVALIDATION, size: Size::Control },
    MessageSpec { name: "RCL_ACK", class: TrafficClass::Recall, channel: ACKNOWLEDGEMENT, size: Size::Control },
]);

/// A private cache: a store hit writes the copy before the acknowledgement, copies survive kernel starts, and invalidations are
/// acknowledged.
pub fn private_cache<const W: usize>(index: u16, config: &BuildConfig, fault: Option<L1Fault>) -> WriteThroughL1<W> {
    let policy = L1Policy {
        allocation: Allocation::OnLoadMiss,
        store_hit: StoreHit::Update,
        kernel_start: KernelStart::Keep,
        invalidation: Invalidation::Acknowledged,
        fault,
    };
    WriteThroughL1::new(index, config, policy)
}

/// Sends `kind` from `bank` to every one of `sharers`.
pub fn send_to_all<const W: usize>(
    kind: MsgKind,
    sharers: Sharers,
    line: LineAddr,
    bank: AgentId,
    out: &mut Outbox<W>,
) {
    for agent in sharers.iter() {
        out.send(Message::control(kind, line, bank, agent));
    }
}
