//! Where things are: line addresses, agents and the homes of lines.

/// A line number: a byte address divided by the line size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LineAddr(pub u64);

/// One controller, or the memory channel beside an L2 bank. Ids are dense: L1s first, then L2 banks, then memory channels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AgentId(pub u16);

/// What an agent is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// The private cache of a compute unit.
    L1,
    /// A bank of the shared cache.
    L2,
    /// A memory channel.
    Memory,
}

impl Role {
    /// The literature's name.
    pub fn name(self) -> &'static str {
        match self {
            Role::L1 => "L1",
            Role::L2 => "L2",
            Role::Memory => "Memory",
        }
    }
}

/// How many agents of each role there are, and which of them serves a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Topology {
    /// Private caches.
    pub l1s: u16,
    /// Shared banks; each has a memory channel of its own.
    pub l2s: u16,
}

impl Topology {
    /// The id of private cache `index`.
    pub fn l1(self, index: u16) -> AgentId {
        AgentId(index)
    }

    /// The id of shared bank `index`.
    pub fn l2(self, index: u16) -> AgentId {
        AgentId(self.l1s + index)
    }

    /// The id of memory channel `index`.
    pub fn memory(self, index: u16) -> AgentId {
        AgentId(self.l1s + self.l2s + index)
    }

    /// The bank index that serves `line`: banks are interleaved by line.
    pub fn bank_of(self, line: LineAddr) -> u16 {
        let banks = u64::from(self.l2s);
        (if banks.is_power_of_two() { line.0 & (banks - 1) } else { line.0 % banks }) as u16
    }

    /// The number of `line` among those of its bank.
    pub fn line_in_bank(self, line: LineAddr) -> u64 {
        let banks = u64::from(self.l2s);
        if banks.is_power_of_two() { line.0 >> banks.trailing_zeros() } else { line.0 / banks }
    }

    /// The shared bank that serves `line`.
    pub fn home(self, line: LineAddr) -> AgentId {
        self.l2(self.bank_of(line))
    }

    /// The role of `agent`, and its index within that role.
    pub fn role(self, agent: AgentId) -> (Role, u16) {
        if agent.0 < self.l1s {
            (Role::L1, agent.0)
        } else if agent.0 < self.l1s + self.l2s {
            (Role::L2, agent.0 - self.l1s)
        } else {
            (Role::Memory, agent.0 - self.l1s - self.l2s)
        }
    }

    /// A short name for people: `L1.0`, `L2.3`, `Memory.1`.
    pub fn name(self, agent: AgentId) -> String {
        let (role, index) = self.role(agent);
        format!("{}.{index}", role.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_dense_and_invertible() {
        let topology = Topology { l1s: 3, l2s: 2 };
        assert_eq!(topology.role(topology.l1(2)), (Role::L1, 2));
        assert_eq!(topology.role(topology.l2(1)), (Role::L2, 1));
        assert_eq!(topology.role(topology.memory(0)), (Role::Memory, 0));
        assert_eq!(topology.name(topology.home(LineAddr(5))), "L2.1");
    }
}
