//! The variation of memory latencies from run to run.
//!
//! Simulations of equal programs take equal times, and small changes of input often change nothing. Real machines vary.
//! With `timing.jitter`, every read of memory takes up to so many core cycles longer (Alameldeen and Wood: Variability
//! in Architectural Simulations of Multi-threaded Workloads, HPCA 2003). Each channel draws from its own generator,
//! which the seed of the run begins, so threads and windows change nothing.

use chorus_kernel::generator::SplitMix64;
use chorus_protocol::save::{self, Save};

use crate::clock::{Clock, Ticks};

/// The variation of one memory channel.
#[derive(Clone, Debug, Save)]
pub struct Jitter {
    generator: SplitMix64,
    core: Clock,
    /// Different variations: from no core cycle to the most, in steps of one.
    variations: u32,
}

impl Jitter {
    /// The variation of a channel by at most `cycles` core cycles. Zero cycles are none.
    pub fn new(cycles: u32, core: Clock, seed: u64, channel: u16) -> Option<Jitter> {
        let first = SplitMix64::at(seed, u64::from(channel)).next_u64();
        (cycles > 0).then(|| Jitter { generator: SplitMix64::new(first), core, variations: cycles + 1 })
    }

    /// The time by which the next read takes longer.
    pub fn next(&mut self) -> Ticks {
        self.core.cycles(u64::from(self.generator.below(self.variations)))
    }
}
