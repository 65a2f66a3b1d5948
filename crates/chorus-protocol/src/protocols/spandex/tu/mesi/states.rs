//! The states and events of a MESI cache's translation unit.

use crate::address::Role;
use crate::controller::{StateClass, StateSpec, Vocabulary};
use crate::message::MsgKind;
use crate::protocols::mesi::messages as mesi;
use crate::protocols::spandex::messages as spandex;

/// The requests that are outstanding for a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    #[default]
    Idle,
    IS,
    IO,
    SO,
    Ask,
    WB,
    WbReq,
}

/// An event of a line in the unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    GetS,
    GetX,
    Upgrade,
    PutX,
    WbPending,
    ExclusiveUnblock,
    InvAck,
    InvData,
    FwdData,
    PeekData,
    PeekMiss,
    RspV,
    RspS,
    RspOData,
    RspWb,
    Nack,
    FwdReqV,
    FwdReqS,
    FwdReqO,
    FwdReqOData,
    RvkO,
    Inv,
    /// A message that this unit is never given. Every state has a hole for it.
    Foreign,
}

impl Event {
    /// The event of a message.
    pub fn of(kind: MsgKind) -> Event {
        match kind {
            mesi::GETS => Event::GetS,
            mesi::GETX => Event::GetX,
            mesi::UPGRADE => Event::Upgrade,
            mesi::PUTX => Event::PutX,
            mesi::WB_PENDING => Event::WbPending,
            mesi::EXCLUSIVE_UNBLOCK => Event::ExclusiveUnblock,
            mesi::INV_ACK => Event::InvAck,
            mesi::INV_DATA => Event::InvData,
            mesi::FWD_DATA => Event::FwdData,
            spandex::PEEK_DATA => Event::PeekData,
            spandex::PEEK_MISS => Event::PeekMiss,
            spandex::RSP_V => Event::RspV,
            spandex::RSP_S => Event::RspS,
            spandex::RSP_O_DATA => Event::RspOData,
            spandex::RSP_WB => Event::RspWb,
            spandex::NACK => Event::Nack,
            spandex::FWD_REQ_V => Event::FwdReqV,
            spandex::FWD_REQ_S => Event::FwdReqS,
            spandex::FWD_REQ_O => Event::FwdReqO,
            spandex::FWD_REQ_O_DATA => Event::FwdReqOData,
            spandex::RVK_O => Event::RvkO,
            spandex::INV => Event::Inv,
            MsgKind(_) => Event::Foreign,
        }
    }
}

/// The states and events of the transition table.
pub static VOCABULARY: Vocabulary = Vocabulary {
    role: Role::Tu,
    device: "MESI",
    states: &[
        StateSpec::new("Idle", StateClass::Stable, "nothing is outstanding; the cache has the line in I, S or O"),
        StateSpec::new("IS", StateClass::TransientCache, "read outstanding, which may be answered with ownership"),
        StateSpec::new("IO", StateClass::TransientCache, "request for ownership outstanding"),
        StateSpec::new(
            "SO",
            StateClass::TransientCoherent,
            "request for ownership outstanding, the cache has a shared copy",
        ),
        StateSpec::new("Ask", StateClass::TransientCoherent, "the cache has been asked about a line that it owns"),
        StateSpec::new(
            "WB",
            StateClass::TransientCoherent,
            "words held until the LLC or a request for them has taken them",
        ),
        StateSpec::new("WB_Req", StateClass::TransientCoherent, "as WB, and a request of the cache waits"),
    ],
    events: &[
        "GETS",
        "GETX",
        "UPGRADE",
        "PUTX",
        "WbPending",
        "Unblock",
        "InvAck",
        "InvData",
        "FwdData",
        "PeekData",
        "PeekMiss",
        "RspV",
        "RspS",
        "RspO+data",
        "RspWB",
        "Nack",
        "fwd ReqV",
        "fwd ReqS",
        "fwd ReqO",
        "fwd ReqO+data",
        "RvkO",
        "Inv",
        "Foreign",
    ],
    expiry: None,
};
