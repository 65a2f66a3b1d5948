//! Counts that controllers keep about themselves, for statistics.

use std::hash::{Hash, Hasher};

/// What a protocol counts, beyond what drivers can see.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TallySpec {
    /// Its name among the metrics of a run, behind `protocol.`.
    pub key: &'static str,
    /// What is counted, with its unit.
    pub meaning: &'static str,
}

/// A count. It is no part of a controller's state: it changes nothing that the controller does, so states that differ in it only
/// are equal.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally(u64);

impl Tally {
    /// Counts `amount` more.
    #[inline]
    pub fn add(&mut self, amount: u64) {
        self.0 += amount;
    }

    /// What was counted.
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
