//! The states and events of the GPU coherence cache. Words are I or V (Spandex paper, section III-A). The state of a
//! line names the state of its words and the accesses that are outstanding for it.

use crate::access::CoreRequest;
use crate::address::Role;
use crate::controller::{StateClass, StateSpec, Vocabulary};
use crate::message::{MsgKind, by_kind};
use crate::protocols::spandex::messages::{RSP_V, RSP_WT, RSP_WT_DATA, local};

/// The state of a line in the cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    #[default]
    I,
    V,
    IV,
    VV,
    II,
    IW,
    VW,
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
    RspWtData,
    /// A message that this cache is never sent. Every state has a hole for it.
    Foreign,
}

const KINDS: [(MsgKind, Event); 3] =
    [(local(RSP_V), Event::RspV), (local(RSP_WT), Event::RspWt), (local(RSP_WT_DATA), Event::RspWtData)];

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
    device: "GPU coherence",
    states: &[
        StateSpec::new("I", StateClass::Stable, "no valid word"),
        StateSpec::new("V", StateClass::Stable, "valid words"),
        StateSpec::new("I_V", StateClass::TransientCache, "no valid word, read outstanding"),
        StateSpec::new("V_V", StateClass::TransientCache, "valid words, read outstanding for others"),
        StateSpec::new("I_I", StateClass::TransientCoherent, "read outstanding, invalidated meanwhile"),
        StateSpec::new("I_W", StateClass::TransientCache, "no valid word, writes outstanding"),
        StateSpec::new("V_W", StateClass::TransientCache, "valid words, writes outstanding"),
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
        "RspWT+data",
        "Foreign",
    ],
    expiry: None,
};
