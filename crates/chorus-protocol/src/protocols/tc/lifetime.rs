//! The length of leases: always the same, or predicted by each bank from what happens to its lines (TC paper, section
//! 6.4).
//!
//! A bank asks [`Leases`] how long the next lease is. [`Lifetime`] is the paper's answer, one length for all lines of a
//! bank. A variant of Temporal Coherence with another answer implements [`Leases`] and builds its banks with it.

use std::fmt;
use std::hash::Hash;

use crate::address::LineAddr;
use crate::save::{self, Restore};

/// The lengths of the leases that one bank gives, and the events from which they may be predicted.
///
/// Implementations are part of the bank's state. Like all of it they are plain data.
pub trait Leases: Clone + fmt::Debug + Hash + Restore + Send + Sync + 'static {
    /// The length of a lease on `line` that is given now, in core cycles.
    fn cycles(&self, line: LineAddr) -> u64;

    /// `line` leaves the L2 with a lease running.
    fn evicted_unexpired(&mut self, line: LineAddr);

    /// A load of `line` comes because the lease of its private copy has ended, or the last lease that the bank gave on
    /// the line.
    fn expired_too_early(&mut self, line: LineAddr);

    /// A write finds a lease on `line` running.
    fn written_unexpired(&mut self, line: LineAddr);
}

/// The constants of a predictor (Table 4 of the paper), in core cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Prediction {
    /// The longest lease predicted.
    pub max: u64,
    /// Taken away when a line leaves the L2 with a lease running.
    pub t_evict: u64,
    /// Added when a load comes because a lease ended too early.
    pub t_hit: u64,
    /// Taken away when a write finds a lease running; zero for programs without fences.
    pub t_write: u64,
}

/// The length of the leases of one bank, the same for all of its lines.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Restore)]
pub struct Lifetime {
    cycles: u64,
    #[save(built)]
    prediction: Option<Prediction>,
}

impl Lifetime {
    /// Leases of `cycles`, always.
    pub fn fixed(cycles: u64) -> Lifetime {
        Lifetime { cycles, prediction: None }
    }

    /// Leases that begin with `cycles` and change.
    pub fn predicted(cycles: u64, prediction: Prediction) -> Lifetime {
        Lifetime { cycles: cycles.min(prediction.max), prediction: Some(prediction) }
    }

    fn shorten(&mut self, by: impl Fn(&Prediction) -> u64) {
        if let Some(prediction) = &self.prediction {
            self.cycles = self.cycles.saturating_sub(by(prediction));
        }
    }
}

/// One length for all lines of a bank.
impl Leases for Lifetime {
    #[inline]
    fn cycles(&self, _: LineAddr) -> u64 {
        self.cycles
    }

    fn evicted_unexpired(&mut self, _: LineAddr) {
        self.shorten(|prediction| prediction.t_evict);
    }

    fn expired_too_early(&mut self, _: LineAddr) {
        if let Some(prediction) = &self.prediction {
            self.cycles = (self.cycles + prediction.t_hit).min(prediction.max);
        }
    }

    fn written_unexpired(&mut self, _: LineAddr) {
        self.shorten(|prediction| prediction.t_write);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: LineAddr = LineAddr(0);
    const PREDICTION: Prediction = Prediction { max: 1000, t_evict: 8, t_hit: 4, t_write: 8 };

    #[test]
    fn a_fixed_lifetime_stays() {
        let mut lifetime = Lifetime::fixed(800);
        lifetime.evicted_unexpired(LINE);
        lifetime.expired_too_early(LINE);
        lifetime.written_unexpired(LINE);
        assert_eq!(lifetime.cycles(LINE), 800);
    }

    #[test]
    fn a_prediction_follows_the_papers_constants_within_its_bounds() {
        let mut lifetime = Lifetime::predicted(10, PREDICTION);
        lifetime.evicted_unexpired(LINE);
        assert_eq!(lifetime.cycles(LINE), 2);
        lifetime.written_unexpired(LINE);
        assert_eq!(lifetime.cycles(LINE), 0);
        lifetime.expired_too_early(LINE);
        assert_eq!(lifetime.cycles(LINE), 4);
        (0..1000).for_each(|_| lifetime.expired_too_early(LINE));
        assert_eq!(lifetime.cycles(LINE), 1000);
    }
}
