//! The states and events of a DeNovo cache's translation unit.

use crate::address::Role;
use crate::controller::{StateClass, StateSpec, Vocabulary};
use crate::message::{MsgKind, by_kind};
use crate::protocols::spandex::messages::{
    FWD_REQ_O, FWD_REQ_O_DATA, FWD_REQ_S, FWD_REQ_V, NACK, REQ_O, REQ_O_DATA, REQ_V, REQ_WB, REQ_WT, REQ_WT_DATA,
    RSP_O, RSP_O_DATA, RSP_RVK_O, RSP_RVK_O_REFERRED, RSP_S, RSP_V, RSP_WB, RSP_WT, RSP_WT_DATA, RVK_O, local,
};

/// The unit's knowledge of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    #[default]
    Idle,
    Fetching,
    Owning,
    Retry,
}

/// An event of a line in the unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    ReqV,
    ReqWt,
    ReqO,
    ReqWtData,
    ReqOData,
    ReqWb,
    /// An answer of the cache to the requestor.
    Answer,
    /// An answer of the cache to the LLC.
    Revoked,
    RspV,
    RspWt,
    RspO,
    RspWtData,
    RspOData,
    RspWb,
    Nack,
    FwdReqV,
    FwdReqS,
    FwdReqO,
    FwdReqOData,
    RvkO,
    /// A message that this unit is never given. Every state has a hole for it.
    Foreign,
}

const KINDS: [(MsgKind, Event); 25] = [
    (local(REQ_V), Event::ReqV),
    (local(REQ_WT), Event::ReqWt),
    (local(REQ_O), Event::ReqO),
    (local(REQ_WT_DATA), Event::ReqWtData),
    (local(REQ_O_DATA), Event::ReqOData),
    (local(REQ_WB), Event::ReqWb),
    (local(RSP_V), Event::Answer),
    (local(RSP_S), Event::Answer),
    (local(RSP_O), Event::Answer),
    (local(RSP_O_DATA), Event::Answer),
    (local(NACK), Event::Answer),
    (local(RSP_RVK_O), Event::Revoked),
    (local(RSP_RVK_O_REFERRED), Event::Revoked),
    (RSP_V, Event::RspV),
    (RSP_WT, Event::RspWt),
    (RSP_O, Event::RspO),
    (RSP_WT_DATA, Event::RspWtData),
    (RSP_O_DATA, Event::RspOData),
    (RSP_WB, Event::RspWb),
    (NACK, Event::Nack),
    (FWD_REQ_V, Event::FwdReqV),
    (FWD_REQ_S, Event::FwdReqS),
    (FWD_REQ_O, Event::FwdReqO),
    (FWD_REQ_O_DATA, Event::FwdReqOData),
    (RVK_O, Event::RvkO),
];

/// A table of the events of all kinds of messages.
const EVENTS: [Event; 256] = by_kind(Event::Foreign, &KINDS);

impl Event {
    /// The event of a message.
    pub fn of(kind: MsgKind) -> Event {
        EVENTS[usize::from(kind.0)]
    }
}

/// The names that [`State`] and [`Event`] index.
pub static VOCABULARY: Vocabulary = Vocabulary {
    role: Role::Tu,
    device: "DeNovo",
    states: &[
        StateSpec::new("Idle", StateClass::Stable, "nothing that the unit has to know"),
        StateSpec::new("XOD", StateClass::TransientCoherent, "ReqO+data outstanding"),
        StateSpec::new("XO", StateClass::TransientCoherent, "ReqO outstanding"),
        StateSpec::new("V_N", StateClass::TransientCoherent, "Nacked words have been asked for again"),
    ],
    events: &[
        "ReqV",
        "ReqWT",
        "ReqO",
        "ReqWT+data",
        "ReqO+data",
        "ReqWB",
        "Answer",
        "Revoked",
        "RspV",
        "RspWT",
        "RspO",
        "RspWT+data",
        "RspO+data",
        "RspWB",
        "Nack",
        "FwdReqV",
        "FwdReqS",
        "FwdReqO",
        "FwdReqO+data",
        "RvkO",
        "Foreign",
    ],
    expiry: None,
};
