//! Synthetic programs that exercise one path of the machine each, for benchmarks and for tests of the driver itself.

use chorus_kernel::{Buf, HostMemory, Kernel, LANES, Lanes, Mask, Mismatch, Program, Verdict};
use chorus_protocol::access::AtomicOp;

/// The access pattern of a synthetic program.
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
    /// Loads, and some stores, that stream through the memory of other GPUs. Four wavefronts of a GPU read each line.
    /// They run in different modules where the GPU has four.
    RemoteHeavy,
}

impl Pattern {
    /// The patterns that are meaningful on a machine of one module.
    pub const OF_ONE_MODULE: [Pattern; 4] =
        [Pattern::HitHeavy, Pattern::MissHeavy, Pattern::ShareHeavy, Pattern::AtomicHeavy];

    /// Its name in results.
    pub fn name(self) -> &'static str {
        match self {
            Pattern::HitHeavy => "hit-heavy",
            Pattern::MissHeavy => "miss-heavy",
            Pattern::ShareHeavy => "share-heavy",
            Pattern::AtomicHeavy => "atomic-heavy",
            Pattern::RemoteHeavy => "remote-heavy",
        }
    }
}

const WAVES_PER_GROUP: u32 = 8;
/// Loads that a wavefront has in flight together.
const TOGETHER: u32 = 2;
/// Lines that all but the streaming pattern touch: a quarter of the smallest private cache.
const SHARED_LINES: u32 = 64;

/// Lines between two that are touched to place the pages of a streaming program: no page is smaller.
const TOUCH_LINES: u32 = 32;
/// Rounds between two stores of the remote pattern.
const STORE_ROUNDS: u32 = 8;
/// Wavefronts of a GPU that read a line of the remote pattern.
const READERS: u32 = 4;

/// A program in which every wavefront repeats a pattern in one kernel. A kernel before it places the pages, where that
/// matters.
pub struct Synthetic {
    pattern: Pattern,
    work_groups: u32,
    rounds: u32,
    data: Buf<u32>,
    launches: u32,
}

impl Synthetic {
    /// A program of `work_groups` work-groups whose wavefronts repeat the pattern `rounds` times.
    pub fn new(pattern: Pattern, work_groups: u32, rounds: u32, memory: &mut HostMemory) -> Synthetic {
        let waves = work_groups * WAVES_PER_GROUP;
        let lines = match pattern {
            Pattern::MissHeavy => waves * rounds * TOGETHER,
            Pattern::RemoteHeavy => waves * rounds.div_ceil(READERS) * TOGETHER,
            Pattern::HitHeavy | Pattern::ShareHeavy | Pattern::AtomicHeavy => SHARED_LINES,
        };
        Synthetic { pattern, work_groups, rounds, data: memory.alloc(lines as usize * LANES), launches: 0 }
    }

    /// Every wavefront touches the lines that it owns, so that they lie in its module's memory.
    fn place(&self) -> Kernel {
        let (lines, data) = (self.rounds.div_ceil(READERS) * TOGETHER, self.data);
        Kernel::new("place", self.work_groups, WAVES_PER_GROUP, move |w| async move {
            let number = w.work_group() * WAVES_PER_GROUP + w.id().wave;
            for line in (number * lines..(number + 1) * lines).step_by(TOUCH_LINES as usize) {
                w.store_one(data, line * LANES as u32, 0);
            }
        })
    }
}

impl Program for Synthetic {
    fn next_kernel(&mut self, _: &HostMemory) -> Option<Kernel> {
        self.launches += 1;
        match (self.pattern, self.launches) {
            (Pattern::RemoteHeavy, 1) => return Some(self.place()),
            (Pattern::RemoteHeavy, 2) | (_, 1) => {}
            _ => return None,
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
                    Pattern::RemoteHeavy => {
                        let (first, stores) = remote_line(number, round, rounds, waves, w.gpus());
                        w.join_all([0, 1].map(|load| w.load(data, at(first + load)))).await;
                        if stores {
                            w.store(data, at(first), Lanes::splat(round));
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

    fn check(&self, memory: &HostMemory) -> Verdict {
        let sum: u64 = match self.pattern {
            // Nothing is stored, so there is nothing to compare.
            Pattern::HitHeavy | Pattern::MissHeavy => return Verdict::Unchecked,
            // Which increments a racing store overwrites depends on timing.
            Pattern::ShareHeavy => return Verdict::Unchecked,
            Pattern::AtomicHeavy | Pattern::RemoteHeavy => memory.read(self.data).into_iter().map(u64::from).sum(),
        };
        let waves = u64::from(self.work_groups * WAVES_PER_GROUP);
        let of_all: u64 = match self.pattern {
            Pattern::RemoteHeavy => {
                waves / u64::from(READERS) * (0..u64::from(self.rounds)).step_by(STORE_ROUNDS as usize).sum::<u64>()
            }
            Pattern::HitHeavy | Pattern::MissHeavy | Pattern::ShareHeavy | Pattern::AtomicHeavy => {
                waves * u64::from(self.rounds)
            }
        };
        let expected = of_all * LANES as u64;
        let wrong = || Mismatch(format!("the sum is {sum}, not {expected}"));
        (sum == expected).then_some(()).ok_or_else(wrong).into()
    }
}

/// The first of the lines that wavefront `number` of `waves` loads in a round of the remote pattern, and whether the
/// wavefront stores to it. The other GPUs take turns, and so do the parts of one. Lines are numbered by the wavefront
/// that owns them.
fn remote_line(number: u32, round: u32, rounds: u32, waves: u32, gpus: u32) -> (u32, bool) {
    let of_gpu = waves / gpus;
    let part = (of_gpu / READERS).max(1);
    let away = 1 + round % (gpus - 1).max(1);
    let owner_gpu = (number / of_gpu + away) % gpus;
    let owner = owner_gpu * of_gpu + round % READERS * part + number % part;
    let first = (owner * rounds.div_ceil(READERS) + round / READERS) * TOGETHER;
    let turn = number % of_gpu / part == round / STORE_ROUNDS % READERS;
    (first, round.is_multiple_of(STORE_ROUNDS) && turn)
}
