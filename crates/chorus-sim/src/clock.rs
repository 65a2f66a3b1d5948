//! Time: one tick is one period of the least common multiple of all clocks, so every edge of every clock is an integer.
//!
//! Picoseconds would not do: 1.4 GHz has no whole number of them.

use chorus_protocol::save::{self, Save};
use chorus_system::{Clocks, SystemConfig};

/// A point in time or a duration, in ticks.
pub type Ticks = u64;

/// The clock of one clock domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Save)]
pub struct Clock {
    period: Ticks,
    /// The bits below the period, where the period is a power of two.
    below: Option<Ticks>,
}

impl Clock {
    fn new(period: Ticks) -> Clock {
        Clock { period, below: period.is_power_of_two().then(|| period - 1) }
    }

    /// The duration of `cycles`.
    #[inline]
    pub fn cycles(self, cycles: u64) -> Ticks {
        cycles * self.period
    }

    /// The duration of one cycle.
    pub fn period(self) -> Ticks {
        self.period
    }

    /// The first edge at or after `time`.
    #[inline]
    pub fn edge(self, time: Ticks) -> Ticks {
        match self.below {
            Some(below) => (time + below) & !below,
            None => time.next_multiple_of(self.period),
        }
    }

    /// Whole cycles in a duration.
    #[inline]
    pub fn count(self, duration: Ticks) -> u64 {
        if self.period == 1 { duration } else { duration / self.period }
    }
}

/// The clock domains of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockDomains {
    /// Compute units and private caches.
    pub core: Clock,
    /// Issue slots of compute units: several in a cycle where they issue several instructions.
    pub issue: Clock,
    /// CPU cores and their private caches. It equals the core clock where there are no CPU cores.
    pub cpu: Clock,
    /// The networks of modules.
    pub network: Clock,
    /// Banks of the shared caches.
    pub l2: Clock,
    /// Memory channels and their command clock.
    pub dram: Clock,
    ticks_mhz: u64,
}

impl ClockDomains {
    /// The domains of a machine.
    pub fn of(config: &SystemConfig) -> ClockDomains {
        let SystemConfig { clocks, cpu, .. } = config;
        let cpu_mhz = cpu.as_ref().map_or(clocks.core_mhz, |cpu| cpu.clock_mhz);
        ClockDomains::with_cpu(clocks, cpu_mhz, config.core.issue_width())
    }

    /// The domains of a machine without CPU cores.
    #[cfg(test)]
    pub fn new(clocks: &Clocks) -> ClockDomains {
        ClockDomains::with_cpu(clocks, clocks.core_mhz, 1)
    }

    fn with_cpu(clocks: &Clocks, cpu_mhz: u32, issue_width: u32) -> ClockDomains {
        let all = [clocks.core_mhz, cpu_mhz, clocks.network_mhz, clocks.l2_mhz, clocks.dram_mhz].map(u64::from);
        let issue_mhz = u64::from(clocks.core_mhz) * u64::from(issue_width);
        let ticks_mhz = all.into_iter().fold(issue_mhz, lcm);
        let clock = |mhz: u32| Clock::new(ticks_mhz / u64::from(mhz));
        ClockDomains {
            core: clock(clocks.core_mhz),
            issue: Clock::new(ticks_mhz / issue_mhz),
            cpu: clock(cpu_mhz),
            network: clock(clocks.network_mhz),
            l2: clock(clocks.l2_mhz),
            dram: clock(clocks.dram_mhz),
            ticks_mhz,
        }
    }

    /// Ticks of a microsecond.
    pub fn ticks_per_microsecond(&self) -> u64 {
        self.ticks_mhz
    }

    /// A duration in nanoseconds.
    pub fn nanoseconds(&self, duration: Ticks) -> f64 {
        duration as f64 * 1000.0 / self.ticks_mhz as f64
    }
}

fn lcm(a: u64, b: u64) -> u64 {
    let (mut x, mut y) = (a, b);
    while y != 0 {
        (x, y) = (y, x % y);
    }
    a / x * b
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_of_different_frequency_meet_at_whole_ticks() {
        let clocks = Clocks { core_mhz: 1400, network_mhz: 700, l2_mhz: 500, dram_mhz: 1400 };
        let domains = ClockDomains::new(&clocks);
        assert_eq!(domains.core.cycles(1400), domains.l2.cycles(500));
        assert_eq!(domains.network.edge(domains.core.cycles(3)), domains.core.cycles(4));
        assert!((domains.nanoseconds(domains.core.cycles(14)) - 10.0).abs() < 1e-9);
    }
}
