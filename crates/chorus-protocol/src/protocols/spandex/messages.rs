//! The messages of Spandex (Spandex paper, section III), and those between devices and their translation units.
//!
//! Requests go from a translation unit to the last-level cache, which answers them or forwards them to the owner of a word, who answers the requestor itself.
//! Nothing relies on the order of messages. A request may wait at the LLC while its line is blocked or fetched, a forwarded one at an owner whose data is
//! still on its way; responses, probes and what answers them are always taken.
//!
//! A device and its translation unit exchange messages at once, as parts of one step: MESI caches speak MESI, the others speak Spandex. [`local`] names what the
//! latter say to their unit, and what it says to them.
//!
//! The words that a message concerns are its mask; where it carries data, the data is theirs. A forwarded request names the requestor in `origin`; what answers it
//! goes there, with the `txn` and `wave` of the request.

use crate::access::{AtomicOp, CoreOp, CoreRequest};
use crate::address::AgentId;
use crate::line::LineData;
use crate::message::{Channel, Message, MessageSpec, MsgKind, Size, TrafficClass, memory};
use crate::protocols::mesi;

/// The kinds of MESI, which come first.
const MESI_KINDS: usize = mesi::messages::MESSAGES.len() - memory::SPECS.len();
const FIRST: u8 = (memory::SPECS.len() + MESI_KINDS) as u8;

/// What does your cache hold of this line, if it owns it? From a unit to its MESI cache.
pub const PEEK: MsgKind = MsgKind(FIRST);
/// This, and it stays.
pub const PEEK_DATA: MsgKind = MsgKind(FIRST + 1);
/// It does not own it.
pub const PEEK_MISS: MsgKind = MsgKind(FIRST + 2);

const NETWORK: u8 = FIRST + 3;
/// Read words that the device will invalidate itself.
pub const REQ_V: MsgKind = MsgKind(NETWORK);
/// Read words that the LLC is to invalidate.
pub const REQ_S: MsgKind = MsgKind(NETWORK + 1);
/// Write words through.
pub const REQ_WT: MsgKind = MsgKind(NETWORK + 2);
/// Own words that will be overwritten.
pub const REQ_O: MsgKind = MsgKind(NETWORK + 3);
/// Update words at the LLC; without an operation this reads them.
pub const REQ_WT_DATA: MsgKind = MsgKind(NETWORK + 4);
/// Own words and read them.
pub const REQ_O_DATA: MsgKind = MsgKind(NETWORK + 5);
/// Write owned words back.
pub const REQ_WB: MsgKind = MsgKind(NETWORK + 6);
/// A `REQ_V`, forwarded to the owner.
pub const FWD_REQ_V: MsgKind = MsgKind(NETWORK + 7);
/// A `REQ_S`, forwarded to the owner.
pub const FWD_REQ_S: MsgKind = MsgKind(NETWORK + 8);
/// A `REQ_O` or `REQ_WT`, forwarded to the owner.
pub const FWD_REQ_O: MsgKind = MsgKind(NETWORK + 9);
/// A `REQ_O_DATA`, or a `REQ_S` that is served as one, forwarded to the owner.
pub const FWD_REQ_O_DATA: MsgKind = MsgKind(NETWORK + 10);
/// Give owned words back to the LLC.
pub const RVK_O: MsgKind = MsgKind(NETWORK + 11);
/// Drop a shared line.
pub const INV: MsgKind = MsgKind(NETWORK + 12);
/// Words that were read; possibly more of the line than asked for.
pub const RSP_V: MsgKind = MsgKind(NETWORK + 13);
/// Words that were read and are shared.
pub const RSP_S: MsgKind = MsgKind(NETWORK + 14);
/// Words have been written through.
pub const RSP_WT: MsgKind = MsgKind(NETWORK + 15);
/// Words are owned, or what was their owner no longer is.
pub const RSP_O: MsgKind = MsgKind(NETWORK + 16);
/// Words as they were before the update.
pub const RSP_WT_DATA: MsgKind = MsgKind(NETWORK + 17);
/// Words that were read and are owned.
pub const RSP_O_DATA: MsgKind = MsgKind(NETWORK + 18);
/// Words have been written back.
pub const RSP_WB: MsgKind = MsgKind(NETWORK + 19);
/// The words are no longer owned here: ask again.
pub const NACK: MsgKind = MsgKind(NETWORK + 20);
/// Words that were owned and no longer are.
pub const RSP_RVK_O: MsgKind = MsgKind(NETWORK + 21);
/// The words are on their way as a write-back.
pub const RSP_RVK_O_REFERRED: MsgKind = MsgKind(NETWORK + 22);
/// The shared line is gone.
pub const ACK: MsgKind = MsgKind(NETWORK + 23);

const NETWORK_KINDS: u8 = 24;

/// The same between a device and its translation unit.
pub const fn local(kind: MsgKind) -> MsgKind {
    MsgKind(kind.0 + NETWORK_KINDS)
}

/// What a message between a device and its unit is called on the network.
pub const fn networked(kind: MsgKind) -> MsgKind {
    MsgKind(kind.0 - NETWORK_KINDS)
}

/// The ReqWT+data by which a device has an atomic or an ordered access performed at the LLC: a load as an update that changes nothing, a store as an exchange.
pub fn update<const W: usize>(request: &CoreRequest<W>, device: AgentId, unit: AgentId) -> Message<W> {
    let message = Message::request(local(REQ_WT_DATA), request, device, unit);
    match request.op {
        CoreOp::Load => Message { data: LineData::default(), ..message },
        CoreOp::Store => Message { atomic: Some(AtomicOp::Exchange), ..message },
        CoreOp::Atomic(_) | CoreOp::Fence | CoreOp::KernelBegin | CoreOp::KernelEnd => message,
    }
}

/// The same between L2 and L3, where both levels speak Spandex.
pub const fn raised(kind: MsgKind) -> MsgKind {
    let is_networked = kind.0 >= NETWORK && kind.0 < NETWORK + NETWORK_KINDS;
    if is_networked { MsgKind(kind.0 + 2 * NETWORK_KINDS) } else { kind }
}

/// What a message between L2 and L3 is called before the L2.
pub const fn lowered(kind: MsgKind) -> MsgKind {
    if kind.0 as usize >= KINDS { MsgKind(kind.0 - 2 * NETWORK_KINDS) } else { kind }
}

/// Virtual networks of a machine whose devices all have translation units: requests, forwarded requests and probes, responses, and what answers the LLC.
pub const TRANSLATED_NETWORKS: u8 = 4;
/// Virtual networks of a machine that also speaks MESI on the network.
pub const HIERARCHICAL_NETWORKS: u8 = TRANSLATED_NETWORKS + mesi::messages::VIRTUAL_NETWORKS;
/// Virtual networks of a machine both of whose levels speak Spandex.
pub const STACKED_NETWORKS: u8 = 2 * TRANSLATED_NETWORKS;
/// The networks of requests, before the L2 and between L2 and L3. A device has a register for whatever it has asked for, so a Nack or the end of a write-back, which make it
/// ask again, are taken without room for the request.
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

/// The class, as requests of Spandex are counted, of a message of MESI.
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

/// The message table: MESI at once or on networks of its own, then Spandex, then what devices and units say to each other.
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
/// The message table of machines both of whose levels speak Spandex: that of one level, then what is said between L2 and L3.
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
