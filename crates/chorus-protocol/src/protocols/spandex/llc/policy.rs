//! The LLC's knowledge of the devices that share it, and its treatment of reads for sharing.

use crate::address::AgentId;
use crate::sharers::Sharers;

/// The option by which a ReqS is served (Spandex paper, Table III).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReadShared {
    /// The choice of the paper's evaluation. It is option (1) where the line is Shared or a word is owned by a device
    /// that can share it, otherwise option (3).
    Evaluated,
    /// Always option (1), with Shared state.
    One,
    /// Always option (2), as a ReqV.
    Two,
    /// Always option (3), as a ReqO+data.
    Three,
}

impl ReadShared {
    /// The option with a number. Zero is the choice of the paper's evaluation.
    pub fn of_number(number: u64) -> ReadShared {
        match number {
            1 => ReadShared::One,
            2 => ReadShared::Two,
            3 => ReadShared::Three,
            0 | 4.. => ReadShared::Evaluated,
        }
    }
}

/// The LLC's knowledge of its devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Devices {
    /// The first translation unit. The others have the ids that follow.
    pub first: AgentId,
    /// The devices that have Shared state, by the numbers of their units.
    pub share: Sharers,
    /// The devices that cannot own words, by the numbers of their units.
    pub never_own: Sharers,
}

impl Devices {
    /// The place of a device in sets of devices.
    pub fn place(&self, unit: AgentId) -> AgentId {
        AgentId(unit.0.saturating_sub(self.first.0).min(Sharers::CAPACITY - 1))
    }

    /// The translation unit of the device in a place.
    pub fn unit(&self, place: AgentId) -> AgentId {
        AgentId(place.0 + self.first.0)
    }

    /// Whether a device can hold lines Shared.
    pub fn shares(&self, unit: AgentId) -> bool {
        self.share.contains(self.place(unit))
    }

    /// Whether a device can own words.
    pub fn owns(&self, unit: AgentId) -> bool {
        !self.never_own.contains(self.place(unit))
    }
}
