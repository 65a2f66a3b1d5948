//! A synchronised counter of finite width (TC paper, sections 6.1 and 6.5).
//!
//! Timestamps are counted within the counter's present round, from 1 on. When the counter rolls over, timestamps of the
//! old round lose their meaning: private caches drop their copies, the L2 forgets its timestamps. To make that safe, no
//! lease reaches beyond the end of its round. Messages that cross a roll-over are recognised by their round (one bit in
//! hardware, the whole time here).

use crate::controller::Time;
use crate::save::{self, Save};

/// A timestamp of the present round. Zero is a time that has always passed.
pub type Stamp = u32;

/// The counter of one controller.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Save)]
pub struct Counter {
    /// The last timestamp of a round.
    latest: Stamp,
    /// When the present round began.
    start: Time,
}

impl Counter {
    /// A counter of `bits` bits, at most 32.
    pub fn new(bits: u64) -> Counter {
        Counter { latest: (u64::from(u32::MAX) >> (32 - bits)) as Stamp, start: 0 }
    }

    /// Follows the machine's time. Returns whether a new round has begun.
    #[inline]
    pub fn follow(&mut self, now: Time) -> bool {
        if !self.is_over(now) {
            return false;
        }
        let round = u64::from(self.latest);
        self.start += (now - 1 - self.start) / round * round;
        true
    }

    /// Whether `now` is after the present round.
    #[inline]
    pub fn is_over(&self, now: Time) -> bool {
        now - self.start > u64::from(self.latest)
    }

    /// The timestamp of `now`, which is in the present round.
    #[inline]
    pub fn stamp(&self, now: Time) -> Stamp {
        (now - self.start) as Stamp
    }

    /// The last timestamp of a round: it is as late as can be said, so it tells nothing apart.
    pub fn latest(&self) -> Stamp {
        self.latest
    }

    /// The timestamp `cycles` after `now`, or the end of the round.
    #[inline]
    pub fn after(&self, now: Stamp, cycles: u64) -> Stamp {
        (u64::from(now) + cycles).min(u64::from(self.latest)) as Stamp
    }

    /// A timestamp as messages carry it.
    #[inline]
    pub fn time(&self, stamp: Stamp) -> Time {
        self.start + Time::from(stamp)
    }

    /// The timestamp that a message carries; zero if it is from an earlier round, or if there is none.
    #[inline]
    pub fn received(&self, time: Time) -> Stamp {
        time.saturating_sub(self.start) as Stamp
    }
}

/// A timestamp after one tick of an exploration, in which `now` stands still: those that have passed are zero.
pub fn aged(stamp: Stamp, now: Stamp) -> Stamp {
    if stamp > now { stamp - 1 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_has_every_timestamp_but_zero() {
        let mut counter = Counter::new(3);
        assert!(!counter.follow(7));
        assert_eq!(counter.stamp(7), 7);
        assert!(counter.follow(8));
        assert_eq!(counter.stamp(8), 1);
        assert!(counter.follow(50));
        assert_eq!(counter.stamp(50), 1);
    }

    #[test]
    fn a_lease_ends_with_its_round() {
        let counter = Counter::new(3);
        assert_eq!(counter.after(5, 100), 7);
        assert_eq!(Counter::new(32).after(5, 100), 105);
    }

    #[test]
    fn timestamps_of_earlier_rounds_have_passed() {
        let mut counter = Counter::new(3);
        let sent = counter.time(6);
        assert_eq!(counter.received(sent), 6);
        counter.follow(9);
        assert_eq!(counter.received(sent), 0);
        assert_eq!(counter.received(0), 0);
    }
}
