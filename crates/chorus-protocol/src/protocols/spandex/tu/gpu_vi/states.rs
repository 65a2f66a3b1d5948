//! The states and events of the translation unit of a GPU-VI cache.

use crate::address::Role;
use crate::controller::{StateClass, StateSpec, Vocabulary};
use crate::message::MsgKind;
use crate::protocols::spandex::messages as spandex;
use crate::protocols::spandex::tu::gpu_vi::messages::KINDS;
use crate::protocols::write_through as vi;

/// The requests that are outstanding for a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    #[default]
    Idle,
    Sent,
    Queued,
}

/// An event of a line in the unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    GetS,
    GetX,
    Atomic,
    InvAck,
    RspS,
    RspWt,
    RspO,
    RspWtData,
    Inv,
    /// A message that this unit is never given. Every state has a hole for it.
    Foreign,
}

impl Event {
    /// The event of a message.
    pub fn of(kind: MsgKind) -> Event {
        match kind {
            spandex::RSP_S => return Event::RspS,
            spandex::RSP_WT => return Event::RspWt,
            spandex::RSP_O => return Event::RspO,
            spandex::RSP_WT_DATA => return Event::RspWtData,
            spandex::INV => return Event::Inv,
            MsgKind(_) => {}
        }
        match KINDS.known(kind) {
            Some(vi::GETS) => Event::GetS,
            Some(vi::GETX) => Event::GetX,
            Some(vi::ATOMIC) => Event::Atomic,
            Some(vi::INV_ACK) => Event::InvAck,
            Some(MsgKind(_)) | None => Event::Foreign,
        }
    }
}

/// The names that [`State`] and [`Event`] index.
pub static VOCABULARY: Vocabulary = Vocabulary {
    role: Role::Tu,
    device: "GPU-VI",
    states: &[
        StateSpec::new("Idle", StateClass::Stable, "nothing is outstanding"),
        StateSpec::new("Sent", StateClass::TransientCache, "requests outstanding"),
        StateSpec::new("Queued", StateClass::TransientCoherent, "requests outstanding, and others wait for them"),
    ],
    events: &["GETS", "GETX", "ATOMIC", "InvAck", "RspS", "RspWT", "RspO", "RspWT+data", "Inv", "Foreign"],
    expiry: None,
};
