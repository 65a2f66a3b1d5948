//! The messages of Spandex (Spandex paper, section III), and the messages between devices and their translation units.
//!
//! Requests go from a translation unit to the last-level cache. The LLC answers them or forwards them to the owner of a
//! word, and the owner answers the requestor itself. Nothing relies on the order of messages. A request may wait at the
//! LLC while its line is blocked or fetched. A forwarded request may wait at an owner whose data is still on its way.
//! Responses, probes and the answers to probes are always taken.
//!
//! A device and its translation unit exchange messages at once, as parts of one step. MESI caches speak MESI with their
//! unit, and the other caches speak Spandex. [`local`] gives the kinds of the latter messages.
//!
//! The mask of a message names the words that it concerns. If it carries data, the data is that of these words. A
//! forwarded request names the requestor in `origin`. Its answer goes there, with the `txn` and `wave` of the request.

use crate::access::{AtomicOp, CoreOp, CoreRequest};
use crate::address::AgentId;
use crate::line::LineData;
use crate::message::{Channel, Message, MessageSpec, MsgKind, Size, TrafficClass, memory};
use crate::protocols::mesi;

/// The number of MESI's own kinds, which come first.
const MESI_KINDS: usize = mesi::messages::MESSAGES.len() - memory::SPECS.len();
const FIRST: u8 = (memory::SPECS.len() + MESI_KINDS) as u8;

/// Asks a MESI cache for the contents of a line, if it owns the line. Its translation unit sends it.
pub const PEEK: MsgKind = MsgKind(FIRST);
/// Answers `PEEK` with the line, which stays in the cache.
pub const PEEK_DATA: MsgKind = MsgKind(FIRST + 1);
/// Answers `PEEK`: the cache does not own the line.
pub const PEEK_MISS: MsgKind = MsgKind(FIRST + 2);

const NETWORK: u8 = FIRST + 3;
/// Reads words that the device will invalidate itself.
pub const REQ_V: MsgKind = MsgKind(NETWORK);
/// Reads words that the LLC has to invalidate.
pub const REQ_S: MsgKind = MsgKind(NETWORK + 1);
/// Writes words through to the LLC.
pub const REQ_WT: MsgKind = MsgKind(NETWORK + 2);
/// Asks for ownership of words that will be overwritten.
pub const REQ_O: MsgKind = MsgKind(NETWORK + 3);
/// Updates words at the LLC. Without an operation it reads them.
pub const REQ_WT_DATA: MsgKind = MsgKind(NETWORK + 4);
/// Asks for ownership of words and for their data.
pub const REQ_O_DATA: MsgKind = MsgKind(NETWORK + 5);
/// Writes owned words back to the LLC.
pub const REQ_WB: MsgKind = MsgKind(NETWORK + 6);
/// A `REQ_V`, forwarded to the owner.
pub const FWD_REQ_V: MsgKind = MsgKind(NETWORK + 7);
/// A `REQ_S`, forwarded to the owner.
pub const FWD_REQ_S: MsgKind = MsgKind(NETWORK + 8);
/// A `REQ_O` or `REQ_WT`, forwarded to the owner.
pub const FWD_REQ_O: MsgKind = MsgKind(NETWORK + 9);
/// A `REQ_O_DATA`, or a `REQ_S` that is served as one, forwarded to the owner.
pub const FWD_REQ_O_DATA: MsgKind = MsgKind(NETWORK + 10);
/// Asks an owner to give owned words back to the LLC.
pub const RVK_O: MsgKind = MsgKind(NETWORK + 11);
/// Asks a sharer to drop a shared line.
pub const INV: MsgKind = MsgKind(NETWORK + 12);
/// Carries words that were read, possibly more of the line than were requested.
pub const RSP_V: MsgKind = MsgKind(NETWORK + 13);
/// Carries words that were read and are shared.
pub const RSP_S: MsgKind = MsgKind(NETWORK + 14);
/// Says that words have been written through.
pub const RSP_WT: MsgKind = MsgKind(NETWORK + 15);
/// Says that words are owned, or that their former owner no longer owns them.
pub const RSP_O: MsgKind = MsgKind(NETWORK + 16);
/// Carries words as they were before the update.
pub const RSP_WT_DATA: MsgKind = MsgKind(NETWORK + 17);
/// Carries words that were read and are owned.
pub const RSP_O_DATA: MsgKind = MsgKind(NETWORK + 18);
/// Says that words have been written back.
pub const RSP_WB: MsgKind = MsgKind(NETWORK + 19);
/// Says that the words are no longer owned here. The requestor has to ask again.
pub const NACK: MsgKind = MsgKind(NETWORK + 20);
/// Carries words that were owned and no longer are.
pub const RSP_RVK_O: MsgKind = MsgKind(NETWORK + 21);
/// Says that the words are on their way as a write-back.
pub const RSP_RVK_O_REFERRED: MsgKind = MsgKind(NETWORK + 22);
/// Says that the shared line has been dropped.
pub const ACK: MsgKind = MsgKind(NETWORK + 23);

const NETWORK_KINDS: u8 = 24;

/// The kind of a message between a device and its translation unit, given its kind on the network.
pub const fn local(kind: MsgKind) -> MsgKind {
    MsgKind(kind.0 + NETWORK_KINDS)
}

/// The kind on the network, given the kind between a device and its translation unit.
pub const fn networked(kind: MsgKind) -> MsgKind {
    MsgKind(kind.0 - NETWORK_KINDS)
}

/// The ReqWT+data by which a device has an atomic or an ordered access performed at the LLC. A load is an update that
/// changes nothing, and a store is an exchange.
pub fn update<const W: usize>(request: &CoreRequest<W>, device: AgentId, unit: AgentId) -> Message<W> {
    let message = Message::request(local(REQ_WT_DATA), request, device, unit);
    match request.op {
        CoreOp::Load => Message { data: LineData::default(), ..message },
        CoreOp::Store => Message { atomic: Some(AtomicOp::Exchange), ..message },
        CoreOp::Atomic(_) | CoreOp::Fence | CoreOp::KernelBegin | CoreOp::KernelEnd => message,
    }
}

/// The kind of a message between L2 and L3 where both levels speak Spandex, given its kind in front of the L2.
pub const fn raised(kind: MsgKind) -> MsgKind {
    let is_networked = kind.0 >= NETWORK && kind.0 < NETWORK + NETWORK_KINDS;
    if is_networked { MsgKind(kind.0 + 2 * NETWORK_KINDS) } else { kind }
}

/// The kind of a message in front of the L2, given its kind between L2 and L3.
pub const fn lowered(kind: MsgKind) -> MsgKind {
    if kind.0 as usize >= KINDS { MsgKind(kind.0 - 2 * NETWORK_KINDS) } else { kind }
}

/// The number of virtual networks of a machine whose devices all have translation units: for requests, for forwarded
/// requests and probes, for responses, and for answers to the LLC.
pub const TRANSLATED_NETWORKS: u8 = 4;
/// The number of virtual networks of a machine that also speaks MESI on the network.
pub const HIERARCHICAL_NETWORKS: u8 = TRANSLATED_NETWORKS + mesi::messages::VIRTUAL_NETWORKS;
/// The number of virtual networks of a machine whose levels both speak Spandex.
pub const STACKED_NETWORKS: u8 = 2 * TRANSLATED_NETWORKS;
/// The networks of requests, in front of the L2 and between L2 and L3. A device has a register for each request that it
/// has made. A Nack or the end of a write-back makes it send a request again. It can take such a message without room
/// for the request.
pub const REQUEST_NETWORKS: [u8; 2] = [0, TRANSLATED_NETWORKS];

const REQUEST: Channel = Channel::Virtual(0);
const FORWARD: Channel = Channel::Virtual(1);
const RESPONSE: Channel = Channel::Virtual(2);
const ANSWER: Channel = Channel::Virtual(3);

const ROWS: [MessageSpec; NETWORK_KINDS as usize] = [
    MessageSpec::new("ReqV", TrafficClass::ReqV, REQUEST, Size::Control),
    MessageSpec::new("ReqS", TrafficClass::ReqS, REQUEST, Size::Control),
    MessageSpec::new("ReqWT", TrafficClass::ReqWt, REQUEST, Size::Masked),
    MessageSpec::new("ReqO", TrafficClass::ReqO, REQUEST, Size::Control),
    MessageSpec::new("ReqWT+data", TrafficClass::ReqWtData, REQUEST, Size::Masked),
    MessageSpec::new("ReqO+data", TrafficClass::ReqOData, REQUEST, Size::Control),
    MessageSpec::new("ReqWB", TrafficClass::ReqWb, ANSWER, Size::Masked),
    MessageSpec::new("fwd ReqV", TrafficClass::ReqV, FORWARD, Size::Control),
    MessageSpec::new("fwd ReqS", TrafficClass::ReqS, FORWARD, Size::Control),
    MessageSpec::new("fwd ReqO", TrafficClass::ReqO, FORWARD, Size::Control),
    MessageSpec::new("fwd ReqO+data", TrafficClass::ReqOData, FORWARD, Size::Control),
    MessageSpec::new("RvkO", TrafficClass::Probe, FORWARD, Size::Control),
    MessageSpec::new("Inv", TrafficClass::Probe, FORWARD, Size::Control),
    MessageSpec::new("RspV", TrafficClass::ReqV, RESPONSE, Size::Masked),
    MessageSpec::new("RspS", TrafficClass::ReqS, RESPONSE, Size::Masked),
    MessageSpec::new("RspWT", TrafficClass::ReqWt, RESPONSE, Size::Control),
    MessageSpec::new("RspO", TrafficClass::ReqO, RESPONSE, Size::Control),
    MessageSpec::new("RspWT+data", TrafficClass::ReqWtData, RESPONSE, Size::Masked),
    MessageSpec::new("RspO+data", TrafficClass::ReqOData, RESPONSE, Size::Masked),
    MessageSpec::new("RspWB", TrafficClass::ReqWb, RESPONSE, Size::Control),
    MessageSpec::new("Nack", TrafficClass::ReqV, RESPONSE, Size::Control),
    MessageSpec::new("RspRvkO", TrafficClass::Probe, ANSWER, Size::Masked),
    MessageSpec::new("RspRvkO without data", TrafficClass::Probe, ANSWER, Size::Control),
    MessageSpec::new("Ack", TrafficClass::Probe, ANSWER, Size::Control),
];

const KINDS: usize = NETWORK as usize + 2 * NETWORK_KINDS as usize;
const STACKED_KINDS: usize = KINDS + NETWORK_KINDS as usize;

/// The traffic class of a message of MESI, counted as the Spandex request that it corresponds to.
const fn class_of_mesi(kind: MsgKind) -> TrafficClass {
    use crate::protocols::mesi::messages::{
        DATA, DATA_E, FWD_ACK, FWD_DATA, FWD_GETS, GETS, INV, INV_ACK, INV_DATA, PUTX, PUTX_CLEAN, RCL, RCL_ACK,
        RCL_DATA, WB_ACK, WB_PENDING,
    };
    match kind {
        GETS | DATA | DATA_E => TrafficClass::ReqS,
        PUTX | PUTX_CLEAN | WB_ACK => TrafficClass::ReqWb,
        INV | INV_ACK | INV_DATA | FWD_GETS | FWD_ACK | FWD_DATA | RCL | RCL_ACK | RCL_DATA | WB_PENDING => {
            TrafficClass::Probe
        }
        MsgKind(_) => TrafficClass::ReqOData,
    }
}

/// The message table: MESI (delivered at once or on networks of its own), then Spandex, then the messages between
/// devices and their units.
const fn table(mesi_on_network: bool) -> [MessageSpec; KINDS] {
    let mut rows = [MessageSpec::new("Peek", TrafficClass::Probe, Channel::Instant, Size::Control); KINDS];
    rows[PEEK_DATA.0 as usize].name = "PeekData";
    rows[PEEK_MISS.0 as usize].name = "PeekMiss";
    let mut kind = 0;
    while kind < mesi::messages::MESSAGES.len() {
        let mut row = mesi::messages::MESSAGES[kind];
        if kind >= memory::SPECS.len() {
            row.class = class_of_mesi(MsgKind(kind as u8));
            row.channel = match row.channel {
                Channel::Virtual(network) if mesi_on_network => Channel::Virtual(TRANSLATED_NETWORKS + network),
                Channel::Virtual(_) | Channel::Memory | Channel::Instant => Channel::Instant,
            };
        }
        rows[kind] = row;
        kind += 1;
    }
    let mut kind = 0;
    while kind < NETWORK_KINDS as usize {
        rows[NETWORK as usize + kind] = ROWS[kind];
        let local = local(MsgKind(NETWORK + kind as u8)).0 as usize;
        rows[local] = ROWS[kind];
        rows[local].channel = Channel::Instant;
        kind += 1;
    }
    rows
}

/// The message table of machines whose devices all have translation units.
pub static TRANSLATED: [MessageSpec; KINDS] = table(false);
/// The message table of machines with an L3 that speaks MESI.
pub static HIERARCHICAL: [MessageSpec; KINDS] = table(true);
/// The message table of machines whose levels both speak Spandex: the table of one level, then the messages between L2
/// and L3.
pub static STACKED: [MessageSpec; STACKED_KINDS] = {
    let mut rows = [ROWS[0]; STACKED_KINDS];
    let mut kind = 0;
    while kind < STACKED_KINDS {
        rows[kind] = TRANSLATED[lowered(MsgKind(kind as u8)).0 as usize];
        if let (true, Channel::Virtual(network)) = (kind >= KINDS, rows[kind].channel) {
            rows[kind].channel = Channel::Virtual(TRANSLATED_NETWORKS + network);
        }
        kind += 1;
    }
    rows
};
