//! The parts that the VI protocols of the TC paper share (sections 4.2 and 4.3): the private cache with its faults, the
//! messages, and the way in which a bank tells sharers to give up their copies.
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
use crate::seed::{LevelSeed, in_l1};
use crate::sharers::Sharers;
use crate::write_tracker::FenceFault;

/// Virtual networks of the message table.
pub const VIRTUAL_NETWORKS: u8 = 4;

const INVALIDATION: Channel = Channel::Virtual(2);
const ACKNOWLEDGEMENT: Channel = Channel::Virtual(3);

/// The message table of GPU-VI and GPU-VIni.
pub static MESSAGES: [MessageSpec; 13] = message_table(&[
    MessageSpec { name: "INV", class: TrafficClass::Invalidation, channel: INVALIDATION, size: Size::Control },
    MessageSpec { name: "INV_ACK", class: TrafficClass::Invalidation, channel: ACKNOWLEDGEMENT, size: Size::Control },
    MessageSpec { name: "RCL", class: TrafficClass::Recall, channel: INVALIDATION, size: Size::Control },
    MessageSpec { name: "RCL_ACK", class: TrafficClass::Recall, channel: ACKNOWLEDGEMENT, size: Size::Control },
]);

/// A private cache: a store hit writes the copy before the acknowledgement, copies survive kernel starts, and
/// invalidations are acknowledged.
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

/// Number of faults of the private cache.
pub const CACHE_FAULTS: usize = 13;

/// The faults of the private cache.
pub const fn private_cache_seeds<L2>() -> [LevelSeed<L1Fault, L2>; CACHE_FAULTS] {
    [
        in_l1(L1Fault::StaleRefill, "stale-refill", "a read miss that was invalidated still caches its refill"),
        in_l1(
            L1Fault::IgnoredInvalidation,
            "ignored-invalidation",
            "an invalidation is acknowledged but the copy stays",
        ),
        in_l1(L1Fault::LostInvAck, "lost-inv-ack", "an invalidation that finds no copy is not acknowledged"),
        in_l1(L1Fault::DoubleInvAck, "double-inv-ack", "an invalidation that finds a read miss is acknowledged twice"),
        in_l1(
            L1Fault::MissingTransition,
            "missing-transition",
            "an invalidation that finds requests outstanding but no copy has no transition",
        ),
        in_l1(L1Fault::PendingHit, "pending-hit", "loads hit lines whose writes are not performed yet"),
        in_l1(L1Fault::WholeCopy, "whole-copy", "a store hit writes the whole private copy, not only its bytes"),
        in_l1(L1Fault::LostMerge, "lost-merge", "only the first of several merged loads is answered"),
        in_l1(L1Fault::UncountedRequest, "uncounted-request", "a request that joins others of its line is not counted"),
        in_l1(L1Fault::LeakedRegister, "leaked-register", "a miss register is not freed with the last answer"),
        in_l1(L1Fault::Fence(FenceFault::Nothing), "empty-fence", "a fence does not wait for acknowledgements"),
        in_l1(L1Fault::Fence(FenceFault::NextAck), "hasty-fence", "a fence waits for one acknowledgement, not for all"),
        in_l1(
            L1Fault::Fence(FenceFault::AnyWavefront),
            "common-fence",
            "the acknowledgement of any wavefront's last write passes the fences of all wavefronts of the core",
        ),
    ]
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
