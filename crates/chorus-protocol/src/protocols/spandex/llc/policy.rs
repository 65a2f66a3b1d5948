//! What the LLC is told about the devices that share it, and how it serves reads for sharing.

use crate::address::AgentId;
use crate::sharers::Sharers;

/// How a ReqS is served (Spandex paper, Table III).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReadShared {
    /// Option (1) where the line is Shared or a word is owned by a device that can share it, otherwise option (3), as in the paper's evaluation.
    Evaluated,
    /// Always with Shared state.
    One,
    /// Always as a ReqV.
    Two,
    /// Always as a ReqO+data.
    Three,
}

impl ReadShared {
    /// The option of a number; zero is what the paper evaluates.
    pub fn of_number(number: u64) -> ReadShared {
        match number {
            1 => ReadShared::One,
            2 => ReadShared::Two,
            3 => ReadShared::Three,
            0 | 4.. => ReadShared::Evaluated,
        }
    }
}

/// What the LLC knows about its devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Devices {
    /// The first translation unit; the others follow.
    pub first: AgentId,
    /// Those that have Shared state, by the numbers of their units.
    pub share: Sharers,
    /// Those that cannot own, by the numbers of their units.
    pub never_own: Sharers,
}

impl Devices {
    /// The place of a device in sets of devices.
    pub fn place(&self, unit: AgentId) -> AgentId {
        AgentId(unit.0.saturating_sub(self.first.0).min(Sharers::CAPACITY - 1))
    }

    /// The translation unit in a place.
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
