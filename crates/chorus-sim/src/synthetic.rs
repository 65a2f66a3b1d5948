//! Synthetic programs that exercise one path of the machine each, for benchmarks and for tests of the driver itself.

use chorus_protocol::access::AtomicOp;

use crate::frontend::{Buf, HostMemory, Kernel, LANES, Lanes, Mask, Mismatch, Program};

/// What a synthetic program does most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// Loads of a few lines that stay in the private caches.
    HitHeavy,
    /// Loads that stream through memory, each line once.
    MissHeavy,
    /// Loads and stores of lines that all compute units share.
    ShareHeavy,
    /// Read-modify-writes of a few counters.
    AtomicHeavy,
}

impl Pattern {
    /// Every pattern.
    pub const ALL: [Pattern; 4] = [Pattern::HitHeavy, Pattern::MissHeavy, Pattern::ShareHeavy, Pattern::AtomicHeavy];

    /// Its name in results.
    pub fn name(self) -> &'static str {
        match self {
            Pattern::HitHeavy => "hit-heavy",
            Pattern::MissHeavy => "miss-heavy",
            Pattern::ShareHeavy => "share-heavy",
            Pattern::AtomicHeavy => "atomic-heavy",
        }
    }
}

const WAVES_PER_GROUP: u32 = 8;
/// Loads that a wavefront has in flight together.
const TOGETHER: u32 = 2;
/// Lines that all but the streaming pattern touch: a quarter of the smallest private cache.
const SHARED_LINES: u32 = 64;

/// A program of one kernel in which every wavefront repeats a pattern.
pub struct Synthetic {
    pattern: Pattern,
    work_groups: u32,
    rounds: u32,
    data: Buf<u32>,
    launched: bool,
}

impl Synthetic {
    /// A program of `work_groups` work-groups whose wavefronts repeat the pattern `rounds` times.
    pub fn new(pattern: Pattern, work_groups: u32, rounds: u32, memory: &mut HostMemory) -> Synthetic {
        let waves = work_groups * WAVES_PER_GROUP;
        let lines = match pattern {
            Pattern::MissHeavy => waves * rounds * TOGETHER,
            Pattern::HitHeavy | Pattern::ShareHeavy | Pattern::AtomicHeavy => SHARED_LINES,
        };
        Synthetic { pattern, work_groups, rounds, data: memory.alloc(lines as usize * LANES), launched: false }
    }
}

impl Program for Synthetic {
    fn next_kernel(&mut self, _: &HostMemory) -> Option<Kernel> {
        if std::mem::replace(&mut self.launched, true) {
            return None;
        }
        let (pattern, rounds, data) = (self.pattern, self.rounds, self.data);
        let waves = self.work_groups * WAVES_PER_GROUP;
        Some(Kernel::new(pattern.name(), self.work_groups, WAVES_PER_GROUP, move |w| async move {
            let number = w.work_group() * WAVES_PER_GROUP + w.id().wave;
            let at = |line: u32| w.lane_ids() + line * LANES as u32;
            for round in 0..rounds {
                match pattern {
                    Pattern::HitHeavy => {
                        let first = (number + round) * TOGETHER;
                        w.join_all([0, 1].map(|load| w.load(data, at((first + load) % SHARED_LINES)))).await;
                    }
                    Pattern::MissHeavy => {
                        let first = (round * waves + number) * TOGETHER;
                        w.join_all([0, 1].map(|load| w.load(data, at(first + load)))).await;
                    }
                    Pattern::ShareHeavy => {
                        let line = (number + round * 7) % SHARED_LINES;
                        let value = w.load(data, at(line)).await;
                        if round % 4 == 0 {
                            w.store(data, at((line + 1) % SHARED_LINES), value + 1);
                        }
                    }
                    Pattern::AtomicHeavy => {
                        let line = (number + round * 7) % SHARED_LINES;
                        w.atomic_where(AtomicOp::Add, Mask::ALL, data, at(line), Lanes::splat(1)).await;
                    }
                }
                w.alu(2).await;
            }
        }))
    }

    fn check(&self, memory: &HostMemory) -> Result<(), Mismatch> {
        let sum: u64 = match self.pattern {
            // Nothing is stored, so there is nothing to compare.
            Pattern::HitHeavy | Pattern::MissHeavy => return Ok(()),
            // Which increments a racing store overwrites depends on timing.
            Pattern::ShareHeavy => return Ok(()),
            Pattern::AtomicHeavy => memory.read(self.data).iter().map(|&value| u64::from(value)).sum(),
        };
        let expected = u64::from(self.work_groups * WAVES_PER_GROUP) * u64::from(self.rounds) * LANES as u64;
        if sum == expected { Ok(()) } else { Err(Mismatch(format!("the sum is {sum}, not {expected}"))) }
    }
}
