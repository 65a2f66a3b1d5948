//! Counts that controllers keep about themselves, for statistics.

use std::hash::{Hash, Hasher};

use crate::save::{self, Save};

/// A count that a protocol keeps, beyond those that drivers can see.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TallySpec {
    /// The name among the metrics of a run, behind `protocol.`.
    pub key: &'static str,
    /// A description of what is counted, with its unit.
    pub meaning: &'static str,
}

/// A row of a table of counts, for controllers to count with. It is found by its key when the program is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TallyId(usize);

impl TallyId {
    /// The row of `specs` that is called `key`. A key that no row has is an error of the compiler where the result is a
    /// constant.
    pub const fn named(specs: &[TallySpec], key: &str) -> TallyId {
        let mut row = 0;
        while row < specs.len() {
            if is_equal(specs[row].key.as_bytes(), key.as_bytes()) {
                return TallyId(row);
            }
            row += 1;
        }
        panic!("no row of the table of counts has this key")
    }
}

/// Whether two strings are equal; `==` cannot yet be used in constants.
const fn is_equal(one: &[u8], other: &[u8]) -> bool {
    let mut index = 0;
    while index < one.len() && index < other.len() && one[index] == other[index] {
        index += 1;
    }
    index == one.len() && index == other.len()
}

/// The counts of one controller, a row for each of the `N` that its protocol declares.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Save)]
pub struct Tallies<const N: usize>([Tally; N]);

impl<const N: usize> Tallies<N> {
    /// Adds `amount` to a count.
    #[inline]
    pub fn add(&mut self, id: TallyId, amount: u64) {
        self.0[id.0].add(amount);
    }

    /// All counts, in the order of the declaration.
    pub fn as_slice(&self) -> &[Tally] {
        &self.0
    }
}

impl<const N: usize> Default for Tallies<N> {
    fn default() -> Self {
        Tallies([Tally::default(); N])
    }
}

/// A count. It is no part of a controller's state: it changes nothing that the controller does, so states that differ
/// in it only are equal.
#[derive(Clone, Copy, Debug, Default, Save)]
pub struct Tally(u64);

impl Tally {
    #[inline]
    fn add(&mut self, amount: u64) {
        self.0 += amount;
    }

    /// The number counted so far.
    pub fn get(self) -> u64 {
        self.0
    }
}

impl PartialEq for Tally {
    fn eq(&self, _: &Tally) -> bool {
        true
    }
}

impl Eq for Tally {}

impl Hash for Tally {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPECS: [TallySpec; 3] = [spec("lease"), spec("leases"), spec("lease_cycles")];
    const LEASES: TallyId = TallyId::named(&SPECS, "leases");

    const fn spec(key: &'static str) -> TallySpec {
        TallySpec { key, meaning: "" }
    }

    #[test]
    fn counts_are_found_by_name() {
        let mut tallies = Tallies::<{ SPECS.len() }>::default();
        tallies.add(LEASES, 2);
        tallies.add(LEASES, 3);
        assert_eq!(tallies.as_slice().iter().map(|tally| tally.get()).collect::<Vec<_>>(), [0, 5, 0]);
    }
}
