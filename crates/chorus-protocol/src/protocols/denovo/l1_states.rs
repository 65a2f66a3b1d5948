//! The states and events of the DeNovo cache. Words are I, V or O (Spandex paper, section III-A). The state of a line
//! names the states of its words and the requests that are outstanding for it.

use crate::access::CoreRequest;
use crate::address::Role;
use crate::controller::{StateClass, StateSpec, Vocabulary};
use crate::message::{MsgKind, by_kind};
use crate::protocols::spandex::messages::{
    FWD_REQ_O, FWD_REQ_O_DATA, FWD_REQ_S, FWD_REQ_V, RSP_O, RSP_O_DATA, RSP_V, RSP_WB, RSP_WT, RSP_WT_DATA, RVK_O,
    local,
};

/// The state of a line in the cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    #[default]
    I,
    V,
    O,
    VO,
    Reading,
    Stale,
    Owning,
    Fetching,
    Through,
    WrittenBack,
}

/// An event of a line in the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    Load,
    OrderedLoad,
    Store,
    OrderedStore,
    Atomic,
    Evict,
    RspV,
    RspWt,
    RspO,
    RspWtData,
    RspOData,
    RspWb,
    FwdReqV,
    FwdReqS,
    FwdReqO,
    FwdReqOData,
    RvkO,
    /// A message that this cache is never sent. Every state has a hole for it.
    Foreign,
}

const KINDS: [(MsgKind, Event); 11] = [
    (local(RSP_V), Event::RspV),
    (local(RSP_WT), Event::RspWt),
    (local(RSP_O), Event::RspO),
    (local(RSP_WT_DATA), Event::RspWtData),
    (local(RSP_O_DATA), Event::RspOData),
    (local(RSP_WB), Event::RspWb),
    (local(FWD_REQ_V), Event::FwdReqV),
    (local(FWD_REQ_S), Event::FwdReqS),
    (local(FWD_REQ_O), Event::FwdReqO),
    (local(FWD_REQ_O_DATA), Event::FwdReqOData),
    (local(RVK_O), Event::RvkO),
];

/// A table of the events of all kinds of messages.
const EVENTS: [Event; 256] = by_kind(Event::Foreign, &KINDS);

impl Event {
    /// The event of a message.
    pub fn of(kind: MsgKind) -> Event {
        EVENTS[usize::from(kind.0)]
    }

    /// The event of an operation, if it concerns a line.
    pub fn of_operation<const W: usize>(request: &CoreRequest<W>) -> Option<Event> {
        let events = [Event::Load, Event::OrderedLoad, Event::Store, Event::OrderedStore, Event::Atomic];
        request.which_access(events)
    }
}

/// The states and events of the transition table.
pub static VOCABULARY: Vocabulary = Vocabulary {
    role: Role::L1,
    device: "DeNovo",
    states: &[
        StateSpec::new("I", StateClass::Stable, "no valid or owned word"),
        StateSpec::new("V", StateClass::Stable, "valid words, none owned"),
        StateSpec::new("O", StateClass::Stable, "owned words, none valid"),
        StateSpec::new("VO", StateClass::Stable, "valid words and owned ones"),
        StateSpec::new("R", StateClass::TransientCache, "ReqV outstanding"),
        StateSpec::new("R_I", StateClass::TransientCoherent, "ReqV outstanding, acquired meanwhile"),
        StateSpec::new("XO", StateClass::TransientCoherent, "ReqO outstanding, the data is here"),
        StateSpec::new("XOD", StateClass::TransientCoherent, "ReqO+data outstanding"),
        StateSpec::new("XW", StateClass::TransientCache, "ReqWT or ReqWT+data outstanding"),
        StateSpec::new("O_I", StateClass::TransientCoherent, "given up, write-back not answered"),
    ],
    events: &[
        "Load",
        "OrderedLoad",
        "Store",
        "OrderedStore",
        "Atomic",
        "Evict",
        "RspV",
        "RspWT",
        "RspO",
        "RspWT+data",
        "RspO+data",
        "RspWB",
        "FwdReqV",
        "FwdReqS",
        "FwdReqO",
        "FwdReqO+data",
        "RvkO",
        "Foreign",
    ],
    expiry: None,
};
