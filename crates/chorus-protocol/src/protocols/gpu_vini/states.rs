//! The states of a line in a shared bank of GPU-VIni, and the events that change them.
//!
//! A line's data and its directory entry come and go independently. So a stable state says which of the two are there:
//! neither (I), data alone (V), both (S, or U once the entry records nobody), or the entry alone (C). The paper counts
//! 5 stable, 2 transient cache and 8 transient coherent states (section 5.3, Table 1) and names none of them.

use crate::address::{LineAddr, Role};
use crate::controller::{StateClass, StateSpec, Unspecified, Vocabulary};
use crate::message::{MsgKind, memory};
use crate::protocols::write_through::{ATOMIC, GETS, GETX, INV_ACK, RCL_ACK};

/// The state of a line in a shared bank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    I,
    V,
    U,
    S,
    C,
    IS,
    IM,
    SM,
    SA,
    SV,
    CS,
    CM,
    CA,
    CD,
    CI,
}

impl State {
    /// Whether the line's data or its entry could leave now.
    pub fn evictable(self) -> bool {
        match self {
            State::V | State::U | State::S | State::C | State::SV => true,
            State::I
            | State::IS
            | State::IM
            | State::SM
            | State::SA
            | State::CS
            | State::CM
            | State::CA
            | State::CD
            | State::CI => false,
        }
    }
}

/// An event of a line in a shared bank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    GetS,
    GetX,
    Atomic,
    InvAck,
    RclAck,
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
            ATOMIC => Event::Atomic,
            INV_ACK => Event::InvAck,
            RCL_ACK => Event::RclAck,
            memory::MEM_DATA => Event::MemData,
            MsgKind(_) => Event::Foreign,
        }
    }
}

const fn stable(name: &'static str, meaning: &'static str) -> StateSpec {
    StateSpec { name, class: StateClass::Stable, meaning }
}

const fn transient_cache(name: &'static str, meaning: &'static str) -> StateSpec {
    StateSpec { name, class: StateClass::TransientCache, meaning }
}

const fn transient_coherent(name: &'static str, meaning: &'static str) -> StateSpec {
    StateSpec { name, class: StateClass::TransientCoherent, meaning }
}

/// The names that [`State`] and [`Event`] index.
pub static VOCABULARY: Vocabulary = Vocabulary {
    role: Role::L2,
    device: "",
    states: &[
        stable("I", "neither data nor directory entry"),
        stable("V", "data, no directory entry"),
        stable("U", "data, and a directory entry that records nobody any more"),
        stable("S", "data, private copies recorded"),
        stable("C", "private copies recorded, no data"),
        transient_cache("I_S", "read miss without a directory entry, waiting for memory"),
        transient_cache("I_M", "write or atomic miss, waiting for memory"),
        transient_coherent("S_M", "write waiting for acknowledgements"),
        transient_coherent("S_A", "atomic waiting for acknowledgements"),
        transient_coherent("S_V", "the entry has left, recall waiting for acknowledgements; data stays"),
        transient_coherent("C_S", "read miss with a directory entry, waiting for memory"),
        transient_coherent("C_M", "write waiting for acknowledgements and memory"),
        transient_coherent("C_A", "atomic waiting for acknowledgements and memory"),
        transient_coherent("C_D", "write or atomic, other copies are gone, waiting for memory"),
        transient_coherent("C_I", "the entry has left, recall waiting for acknowledgements; no data"),
    ],
    events: &["GETS", "GETX", "ATOMIC", "InvAck", "RclAck", "Evict", "MemData", "Foreign"],
    expiry: None,
};

/// The hole in row `state` and column `event`.
pub fn unspecified(state: State, event: Event, line: LineAddr) -> Unspecified {
    VOCABULARY.unspecified(state as usize, event as usize, line)
}
