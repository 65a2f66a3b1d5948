//! A port that moves bytes one message after another, at a bandwidth that is an exact fraction.
//!
//! A message rarely takes a whole number of ticks. The fraction is carried over to the message that follows without a
//! gap, so that the bandwidth over time is the configured one.

use chorus_protocol::save::{self, Save};

use crate::clock::Ticks;

/// A bandwidth: a number of bytes in a number of ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Save)]
pub struct Rate {
    /// Bytes that move together.
    pub bytes: u64,
    /// Ticks that they take.
    pub ticks: u64,
}

impl Rate {
    /// Whole ticks that `bytes` take, rounded down.
    pub fn duration(self, bytes: u64) -> Ticks {
        bytes * self.ticks / self.bytes
    }
}

/// One port in one direction.
#[derive(Clone, Copy, Debug, Save)]
pub struct Port {
    rate: Rate,
    /// A message that comes less than this after the one before it follows it without a gap.
    slack: Ticks,
    /// When the last byte has passed, without its fraction of a tick.
    free: Ticks,
    /// That fraction of a tick, as a multiple of a tick divided by `rate.bytes`.
    fraction: u64,
}

/// When a message passes a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passing {
    /// The time at which its first byte passes.
    pub start: Ticks,
    /// The time at which its last byte has passed.
    pub end: Ticks,
}

impl Port {
    /// Makes an idle port.
    pub fn new(rate: Rate, slack: Ticks) -> Port {
        Port { rate, slack, free: 0, fraction: 0 }
    }

    /// Lets a message of `bytes` pass after all that came before it.
    #[inline]
    pub fn pass(&mut self, bytes: u64, now: Ticks) -> Passing {
        if now > self.free + self.slack {
            (self.free, self.fraction) = (now, 0);
        }
        let start = (self.free + u64::from(self.fraction > 0)).max(now);
        let parts = self.fraction + bytes * self.rate.ticks;
        self.free += parts / self.rate.bytes;
        self.fraction = parts % self.rate.bytes;
        Passing { start, end: (self.free + u64::from(self.fraction > 0)).max(now) }
    }

    /// When all that has come is through, rounded down.
    #[inline]
    pub fn free(&self) -> Ticks {
        self.free
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn port(slack: Ticks) -> Port {
        Port::new(Rate { bytes: 3, ticks: 1 }, slack)
    }

    #[test]
    fn messages_without_a_gap_take_the_exact_bandwidth() {
        let mut port = port(0);
        let ends: Vec<Ticks> = (0..6).map(|_| port.pass(4, 0).end).collect();
        assert_eq!(ends, [2, 3, 4, 6, 7, 8]);
    }

    #[test]
    fn an_idle_port_starts_at_once() {
        let mut port = port(0);
        port.pass(4, 0);
        assert_eq!(port.pass(3, 10), Passing { start: 10, end: 11 });
    }

    #[test]
    fn a_message_within_the_slack_loses_nothing() {
        let mut port = port(1);
        port.pass(4, 0);
        assert_eq!(port.pass(4, 2), Passing { start: 2, end: 3 });
    }
}
