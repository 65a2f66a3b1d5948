//! Exact sets of private caches.

use crate::address::AgentId;
use crate::save::{self, Save};

/// A set of up to 64 private caches, one bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Save)]
pub struct Sharers(u64);

impl Sharers {
    /// The largest number of caches that a set can hold.
    pub const CAPACITY: u16 = 64;
    /// The set without any cache.
    pub const NONE: Sharers = Sharers(0);
    /// Every cache that a set can hold.
    pub const ALL: Sharers = Sharers(u64::MAX);

    /// The set of one cache.
    pub fn of(agent: AgentId) -> Sharers {
        Sharers(1 << agent.0)
    }

    /// The first `count` caches.
    pub fn first(count: u16) -> Sharers {
        debug_assert!(count <= Self::CAPACITY);
        Sharers(u64::MAX.checked_shr(u32::from(Self::CAPACITY - count)).unwrap_or(0))
    }

    /// The caches whose bits are set.
    pub fn from_bits(bits: u64) -> Sharers {
        Sharers(bits)
    }

    /// Adds a cache to the set.
    pub fn insert(&mut self, agent: AgentId) {
        self.0 |= 1 << agent.0;
    }

    /// This set without `agent`.
    pub fn without(self, agent: AgentId) -> Sharers {
        self.minus(Sharers::of(agent))
    }

    /// This set without those of `others`.
    pub fn minus(self, others: Sharers) -> Sharers {
        Sharers(self.0 & !others.0)
    }

    /// This set reduced to `agent`.
    pub fn only(self, agent: AgentId) -> Sharers {
        Sharers(self.0 & (1 << agent.0))
    }

    /// Whether a cache is in the set.
    pub fn contains(self, agent: AgentId) -> bool {
        self.0 >> agent.0 & 1 == 1
    }

    /// Whether no cache is in the set.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The number of caches in the set.
    pub fn len(self) -> u16 {
        self.0.count_ones() as u16
    }

    /// The caches in ascending order.
    pub fn iter(self) -> impl Iterator<Item = AgentId> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            if rest == 0 {
                return None;
            }
            let agent = AgentId(rest.trailing_zeros() as u16);
            rest &= rest - 1;
            Some(agent)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_behave_as_sets() {
        let mut sharers = Sharers::NONE;
        sharers.insert(AgentId(63));
        sharers.insert(AgentId(2));
        sharers.insert(AgentId(2));
        assert_eq!(sharers.len(), 2);
        assert_eq!(sharers.iter().collect::<Vec<_>>(), [AgentId(2), AgentId(63)]);
        assert_eq!(sharers.without(AgentId(63)), Sharers(4));
        assert_eq!(sharers.only(AgentId(63)).iter().next(), Some(AgentId(63)));
        assert_eq!(Sharers::first(64).len(), 64);
        assert!(Sharers::first(0).is_empty());
    }
}
