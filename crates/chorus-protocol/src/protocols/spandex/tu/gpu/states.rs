//! The states and events of a GPU coherence cache's translation unit.

use crate::address::Role;
use crate::controller::{StateClass, StateSpec, Vocabulary};
use crate::message::MsgKind;
use crate::protocols::spandex::messages::{NACK, REQ_V, REQ_WT, REQ_WT_DATA, RSP_O, RSP_V, RSP_WT, RSP_WT_DATA, local};

/// The requests that are outstanding for a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    #[default]
    Idle,
    Read,
    Retry,
    Write,
}

/// An event of a line in the unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    ReqV,
    ReqWt,
    ReqWtData,
    RspV,
    RspWt,
    RspO,
    RspWtData,
    Nack,
    /// A message that this unit is never given. Every state has a hole for it.
    Foreign,
}

impl Event {
    /// The event of a message.
    pub fn of(kind: MsgKind) -> Event {
        const READ: MsgKind = local(REQ_V);
        const WRITE: MsgKind = local(REQ_WT);
        const UPDATE: MsgKind = local(REQ_WT_DATA);
        match kind {
            READ => Event::ReqV,
            WRITE => Event::ReqWt,
            UPDATE => Event::ReqWtData,
            RSP_V => Event::RspV,
            RSP_WT => Event::RspWt,
            RSP_O => Event::RspO,
            RSP_WT_DATA => Event::RspWtData,
            NACK => Event::Nack,
            MsgKind(_) => Event::Foreign,
        }
    }
}

/// The names that [`State`] and [`Event`] index.
pub static VOCABULARY: Vocabulary = Vocabulary {
    role: Role::Tu,
    device: "GPU coherence",
    states: &[
        StateSpec::new("Idle", StateClass::Stable, "nothing outstanding"),
        StateSpec::new("V", StateClass::TransientCache, "ReqV outstanding, parts of the line may have come"),
        StateSpec::new("V_N", StateClass::TransientCoherent, "as V, and Nacked words have been asked for again"),
        StateSpec::new("WT", StateClass::TransientCache, "writes outstanding"),
    ],
    events: &["ReqV", "ReqWT", "ReqWT+data", "RspV", "RspWT", "RspO", "RspWT+data", "Nack", "Foreign"],
    expiry: None,
};
