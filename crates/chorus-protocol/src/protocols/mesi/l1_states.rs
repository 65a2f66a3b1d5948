//! The states and events of MESI's private cache. They have the names of gem5's two-level MESI protocol, which the TC
//! paper uses (section 7).

use crate::address::{LineAddr, Role};
use crate::controller::{StateClass, StateSpec, Unspecified, Vocabulary};
use crate::message::MsgKind;
use crate::protocols::mesi::messages::{DATA, DATA_E, DATA_M, FWD_GETS, INV, RCL, UPGRADE_ACK, WB_ACK};
use crate::protocols::spandex::messages::PEEK;
use crate::save::{self, Save};

/// The state of a line in a private cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Save)]
pub enum State {
    #[default]
    I,
    S,
    E,
    M,
    IS,
    IM,
    SM,
    IsI,
    MI,
    SinkWbAck,
    /// This state is only reached behind a translation unit of Spandex.
    ImI,
}

impl State {
    /// Whether there is a copy and nothing is outstanding for it.
    pub fn stable(self) -> bool {
        match self {
            State::S | State::E | State::M => true,
            State::I | State::IS | State::IM | State::SM | State::IsI | State::MI | State::SinkWbAck | State::ImI => {
                false
            }
        }
    }
}

/// An event of a line in a private cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    Load,
    Store,
    Atomic,
    Evict,
    Data,
    DataE,
    DataM,
    UpgradeAck,
    WbAck,
    Inv,
    FwdGetS,
    Rcl,
    /// This event only comes from a translation unit of Spandex.
    Peek,
    /// A message that no L1 is ever sent. Every state has a hole for it.
    Foreign,
}

impl Event {
    /// The event of a message.
    pub fn of(kind: MsgKind) -> Event {
        match kind {
            DATA => Event::Data,
            DATA_E => Event::DataE,
            DATA_M => Event::DataM,
            UPGRADE_ACK => Event::UpgradeAck,
            WB_ACK => Event::WbAck,
            INV => Event::Inv,
            FWD_GETS => Event::FwdGetS,
            RCL => Event::Rcl,
            PEEK => Event::Peek,
            MsgKind(_) => Event::Foreign,
        }
    }
}

/// The states and events of the transition table.
pub static VOCABULARY: Vocabulary = Vocabulary {
    role: Role::L1,
    device: "MESI",
    states: &[
        StateSpec::new("I", StateClass::Stable, "no copy"),
        StateSpec::new("S", StateClass::Stable, "shared copy"),
        StateSpec::new("E", StateClass::Stable, "the only copy, as the L2 has it"),
        StateSpec::new("M", StateClass::Stable, "the only copy, written"),
        StateSpec::new("IS", StateClass::TransientCache, "read miss outstanding"),
        StateSpec::new("IM", StateClass::TransientCache, "write miss outstanding"),
        StateSpec::new("SM", StateClass::TransientCoherent, "shared copy, permission to write outstanding"),
        StateSpec::new("IS_I", StateClass::TransientCoherent, "read miss outstanding, invalidated meanwhile"),
        StateSpec::new("M_I", StateClass::TransientCoherent, "given up, write-back not acknowledged"),
        StateSpec::new(
            "SINK_WB_ACK",
            StateClass::TransientCoherent,
            "as M_I, and the L2 has been referred to the write-back",
        ),
        StateSpec::new("IM_I", StateClass::TransientCoherent, "write miss outstanding, given away meanwhile"),
    ],
    events: &[
        "Load",
        "Store",
        "Atomic",
        "Evict",
        "Data",
        "DataE",
        "DataM",
        "UpgradeAck",
        "WbAck",
        "Inv",
        "FwdGETS",
        "Rcl",
        "Peek",
        "Foreign",
    ],
    expiry: None,
};

/// The hole in row `state` and column `event`.
pub fn unspecified(state: State, event: Event, line: LineAddr) -> Unspecified {
    VOCABULARY.unspecified(state as usize, event as usize, line)
}
