//! The states and events of MESI's shared bank. They have the names of gem5's two-level MESI protocol, which the TC
//! paper uses (section 7).

use crate::address::Role;
use crate::controller::{StateClass, StateSpec, Vocabulary};
use crate::message::{MsgKind, memory};
use crate::protocols::mesi::messages::{
    EXCLUSIVE_UNBLOCK, FWD_ACK, FWD_DATA, GETS, GETX, INV_ACK, INV_DATA, PUTX, PUTX_CLEAN, RCL_ACK, RCL_DATA, UPGRADE,
    WB_PENDING,
};
use crate::save::{self, Save};

/// The state of a line in a shared bank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Save)]
pub enum State {
    #[default]
    NP,
    SS,
    M,
    MT,
    Iss,
    IS,
    IM,
    II,
    SI,
    MtI,
    MctI,
    SsMb,
    MtMb,
    MtIib,
    MtIb,
    MtSb,
}

impl State {
    /// Whether the line is resident and nothing is outstanding for it.
    pub fn stable(self) -> bool {
        match self {
            State::SS | State::M | State::MT => true,
            State::NP
            | State::Iss
            | State::IS
            | State::IM
            | State::II
            | State::SI
            | State::MtI
            | State::MctI
            | State::SsMb
            | State::MtMb
            | State::MtIib
            | State::MtIb
            | State::MtSb => false,
        }
    }

    /// Whether the bank holds the line, however old its data is.
    pub fn has_line(self) -> bool {
        match self {
            State::NP | State::Iss | State::IS | State::IM => false,
            State::SS
            | State::M
            | State::MT
            | State::II
            | State::SI
            | State::MtI
            | State::MctI
            | State::SsMb
            | State::MtMb
            | State::MtIib
            | State::MtIb
            | State::MtSb => true,
        }
    }
}

/// An event of a line in a shared bank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    GetS,
    GetX,
    Upgrade,
    InvAck,
    InvData,
    FwdAck,
    FwdData,
    RclAck,
    RclData,
    WbPending,
    ExclusiveUnblock,
    PutX,
    PutXClean,
    Evict,
    MemData,
    /// A message that this bank is never sent. Every state has a hole for it.
    Foreign,
}

impl Event {
    /// The event of a message.
    pub fn of(kind: MsgKind) -> Event {
        match kind {
            GETS => Event::GetS,
            GETX => Event::GetX,
            UPGRADE => Event::Upgrade,
            INV_ACK => Event::InvAck,
            INV_DATA => Event::InvData,
            FWD_ACK => Event::FwdAck,
            FWD_DATA => Event::FwdData,
            RCL_ACK => Event::RclAck,
            RCL_DATA => Event::RclData,
            WB_PENDING => Event::WbPending,
            EXCLUSIVE_UNBLOCK => Event::ExclusiveUnblock,
            PUTX => Event::PutX,
            PUTX_CLEAN => Event::PutXClean,
            memory::MEM_DATA => Event::MemData,
            MsgKind(_) => Event::Foreign,
        }
    }
}

/// The names that [`State`] and [`Event`] index, for a bank of the L2.
pub static L2: Vocabulary = vocabulary(Role::L2);
/// The names that [`State`] and [`Event`] index, for a bank of an L3.
pub static L3: Vocabulary = vocabulary(Role::L3);

const fn vocabulary(role: Role) -> Vocabulary {
    Vocabulary { role, device: "MESI", states: STATES, events: EVENTS, expiry: None }
}

const STATES: &[StateSpec] = &[
    StateSpec::new("NP", StateClass::Stable, "not resident"),
    StateSpec::new("SS", StateClass::Stable, "resident, shared copies recorded"),
    StateSpec::new("M", StateClass::Stable, "resident, no private copies"),
    StateSpec::new("MT", StateClass::Stable, "resident, one private cache has the only copy and may have written it"),
    StateSpec::new("ISS", StateClass::TransientCache, "read miss of one cache, waiting for memory"),
    StateSpec::new("IS", StateClass::TransientCache, "read miss of several caches, waiting for memory"),
    StateSpec::new("IM", StateClass::TransientCache, "write miss, waiting for memory"),
    StateSpec::new("I_I", StateClass::TransientCoherent, "clean line leaving, waiting for acknowledgements"),
    StateSpec::new("S_I", StateClass::TransientCoherent, "dirty line leaving, waiting for acknowledgements"),
    StateSpec::new("MT_I", StateClass::TransientCoherent, "dirty line leaving, waiting for its owner"),
    StateSpec::new("MCT_I", StateClass::TransientCoherent, "clean line leaving, waiting for its owner"),
    StateSpec::new("SS_MB", StateClass::TransientCoherent, "blocked: a writer waits for acknowledgements"),
    StateSpec::new("MT_MB", StateClass::TransientCoherent, "blocked until the new owner reports"),
    StateSpec::new("MT_IIB", StateClass::TransientCoherent, "blocked: waiting for the owner's answer and its data"),
    StateSpec::new("MT_IB", StateClass::TransientCoherent, "the owner has answered, waiting for its write-back"),
    StateSpec::new(
        "MT_SB",
        StateClass::TransientCoherent,
        "blocked: the owner has written back, waiting for its answer",
    ),
];

const EVENTS: &[&str] = &[
    "GETS",
    "GETX",
    "UPGRADE",
    "InvAck",
    "InvData",
    "FwdAck",
    "FwdData",
    "RclAck",
    "RclData",
    "WbPending",
    "Unblock",
    "PUTX",
    "PUTX_CLEAN",
    "Evict",
    "MemData",
    "Foreign",
];
