//! The states and events of the Spandex LLC (Spandex paper, section III-B and Table III).
//!
//! A line is Invalid, Valid or Shared, and each word of a Valid line may be Owned. A request meets the state of the
//! words that it asks for, which is Owned if one of them is.

use crate::address::{LineAddr, Role};
use crate::controller::{StateClass, StateSpec, Unspecified, Vocabulary};

/// The state of a line, as a request for some of its words sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    #[default]
    I,
    V,
    S,
    O,
    Fetching,
    Blocked,
    Recalled,
    ReadOnce,
    Upgrading,
    Leaving,
    LeavingAnswered,
}

/// An event of a line in the LLC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    ReqV,
    ReqS1,
    ReqS2,
    ReqS3,
    ReqWt,
    ReqO,
    ReqWtData,
    ReqOData,
    ReqWbOwner,
    ReqWbOther,
    RspRvkO,
    RspRvkOReferred,
    Ack,
    Data,
    Evict,
    DataE,
    DataM,
    UpgradeAck,
    WbAck,
    Inv,
    Rcl,
    FwdGetS,
    Peek,
    /// A message that no LLC is ever sent. Every state has a hole for it.
    Foreign,
}

/// The names that [`State`] and [`Event`] index, for a bank of the L2.
pub static L2: Vocabulary = vocabulary(Role::L2);
/// The names that [`State`] and [`Event`] index, for a bank of an L3.
pub static L3: Vocabulary = vocabulary(Role::L3);

const fn vocabulary(role: Role) -> Vocabulary {
    Vocabulary { role, device: "Spandex", states: STATES, events: EVENTS, expiry: None }
}

const STATES: &[StateSpec] = &[
    StateSpec::new("I", StateClass::Stable, "not here: memory has it"),
    StateSpec::new("V", StateClass::Stable, "up to date, nobody's"),
    StateSpec::new("S", StateClass::Stable, "up to date, and sharers are to be told of writes"),
    StateSpec::new("O", StateClass::Stable, "owned by a device, whose number stands where the data was"),
    StateSpec::new("I_V", StateClass::TransientCache, "on its way from memory"),
    StateSpec::new("tr", StateClass::TransientCoherent, "blocked until devices have answered"),
    StateSpec::new("tr_I", StateClass::TransientCoherent, "replaced, until devices have answered"),
    StateSpec::new("I_V_I", StateClass::TransientCoherent, "on its way from the L3, invalidated meanwhile"),
    StateSpec::new("S_O", StateClass::TransientCoherent, "permission of the L3 to write outstanding"),
    StateSpec::new("O_I", StateClass::TransientCoherent, "given up, not acknowledged by the L3"),
    StateSpec::new("O_I_I", StateClass::TransientCoherent, "as O_I, and the L3 has been referred to the write-back"),
];

const EVENTS: &[&str] = &[
    "ReqV",
    "ReqS (1)",
    "ReqS (2)",
    "ReqS (3)",
    "ReqWT",
    "ReqO",
    "ReqWT+data",
    "ReqO+data",
    "ReqWB from owner",
    "ReqWB from non-owner",
    "RspRvkO",
    "RspRvkO without data",
    "Ack",
    "Data",
    "Evict",
    "DataE",
    "DataM",
    "UpgradeAck",
    "WbAck",
    "Inv",
    "Rcl",
    "FwdGETS",
    "Peek",
    "Foreign",
];

/// The hole in row `state` and column `event`.
pub fn unspecified(state: State, event: Event, line: LineAddr) -> Unspecified {
    L2.unspecified(state as usize, event as usize, line)
}
