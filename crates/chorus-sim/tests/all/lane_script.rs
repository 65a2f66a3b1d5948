//! Wavefronts that run random memory instructions of every width, for tests: a source that is no async kernel.

use std::cell::RefCell;
use std::ops::Range;
use std::pin::Pin;

use chorus_kernel::{
    HostMemory, Instruction, Kernel, LANES, LaneAccess, Mask, MemoryOpKind, Operation, WaveSource, WaveState,
};
use chorus_protocol::access::{AtomicOp, Order, PairOp, Scope};

/// Numbers from a seed (xorshift).
#[derive(Clone)]
pub struct Random(pub u64);

impl Random {
    fn next(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as u32
    }

    fn below(&mut self, limit: u32) -> u32 {
        self.next() % limit
    }
}

/// A memory instruction, and the values that it must read.
#[derive(Clone, Debug)]
pub struct Step {
    instruction: Instruction,
    words_per_lane: u8,
    word: [u32; LANES],
    bytes: Option<[u8; LANES]>,
    expected: Option<[[u32; LANES]; 2]>,
    values: [[u32; LANES]; 4],
    /// Whether nobody reads the old values of an atomic.
    is_reduction: bool,
}

/// Read-modify-writes of one word, and of two.
const ON_WORDS: [AtomicOp; 12] = [
    AtomicOp::Add,
    AtomicOp::And,
    AtomicOp::Or,
    AtomicOp::Xor,
    AtomicOp::Min,
    AtomicOp::Max,
    AtomicOp::MinSigned,
    AtomicOp::MaxSigned,
    AtomicOp::Inc,
    AtomicOp::Dec,
    AtomicOp::Exchange,
    AtomicOp::CompareExchange { expected: 1 },
];
const ON_PAIRS: [AtomicOp; 9] = [
    AtomicOp::Pair(PairOp::Add),
    AtomicOp::Pair(PairOp::Min),
    AtomicOp::Pair(PairOp::Max),
    AtomicOp::Pair(PairOp::MinSigned),
    AtomicOp::Pair(PairOp::MaxSigned),
    AtomicOp::Pair(PairOp::AddF64),
    AtomicOp::Pair(PairOp::CompareExchange { expected: [1, 2] }),
    AtomicOp::Exchange,
    AtomicOp::Xor,
];

/// The first word of each lane among `words`, of which each lane touches `count`.
fn pattern(random: &mut Random, words: &Range<u32>, count: u32, aligned: bool) -> [u32; LANES] {
    let room = words.end - words.start - count;
    let align = if aligned { count } else { 1 };
    let (first, stride) = (random.below(room), random.below(6));
    std::array::from_fn(|lane| {
        let at = match stride {
            0 => random.below(room),
            1 => first,
            2 => first + lane as u32 / 3,
            3 => first + lane as u32,
            _ => first + lane as u32 * count,
        };
        words.start + at % room / align * align
    })
}

impl Step {
    fn random(random: &mut Random, words: &Range<u32>) -> Step {
        let count = [1, 1, 2, 4][random.below(4) as usize];
        let kind = match random.below(4) {
            0 => MemoryOpKind::Load,
            1 | 2 => MemoryOpKind::Store,
            _ if count == 1 => MemoryOpKind::Atomic(ON_WORDS[random.below(12) as usize]),
            _ => MemoryOpKind::Atomic(ON_PAIRS[random.below(9) as usize]),
        };
        let is_atomic = matches!(kind, MemoryOpKind::Atomic(_));
        let count = if is_atomic { count.min(2) } else { count };
        let mask = Mask(if random.below(2) == 0 { u32::MAX } else { random.next() | 1 });
        let order = if is_atomic || random.below(4) == 0 { Order::Relaxed } else { Order::Weak };
        let narrow = kind == MemoryOpKind::Store && count == 1 && random.below(2) == 0;
        // Small values, so that some comparisons hold and some carries happen.
        let mut value = |_| if random.below(4) == 0 { random.next() } else { random.below(3) };
        let values = std::array::from_fn(|_| std::array::from_fn(&mut value));
        let expected = std::array::from_fn(|_| std::array::from_fn(|_| random.below(3)));
        Step {
            instruction: Instruction { kind, order, scope: Scope::System, mask },
            words_per_lane: count as u8,
            word: pattern(random, words, count, is_atomic),
            bytes: narrow.then(|| std::array::from_fn(|_| [1, 2, 4, 8, 3, 12][random.below(6) as usize])),
            expected: is_atomic.then_some(expected).filter(|_| random.below(2) == 0),
            values,
            is_reduction: false,
        }
    }

    fn queue(&self, state: &mut WaveState) -> u16 {
        let Step { instruction, words_per_lane, word, bytes, expected, values, .. } = self;
        let slot = state.access_lanes(LaneAccess {
            instruction: *instruction,
            words_per_lane: *words_per_lane,
            word,
            bytes: bytes.as_ref(),
            expected: expected.as_ref().map(|expected| &expected[..]),
        });
        if instruction.kind != MemoryOpKind::Load {
            let op = state.memory_op_mut(slot);
            (0..usize::from(*words_per_lane)).for_each(|k| *op.values_mut(k) = values[k]);
        }
        slot
    }
}

/// A store of whole words to a row of lanes.
fn row(first: u32, values: [u32; LANES], mask: Mask) -> Step {
    Step {
        instruction: Instruction { kind: MemoryOpKind::Store, order: Order::Weak, scope: Scope::Gpu, mask },
        words_per_lane: 1,
        word: std::array::from_fn(|lane| first + lane as u32),
        bytes: None,
        expected: None,
        values: [values, [0; LANES], [0; LANES], [0; LANES]],
        is_reduction: false,
    }
}

/// A source that runs instructions one after the other and writes all values that it reads into a log.
struct Script {
    steps: Vec<Step>,
    at: usize,
    waits_for: Option<u16>,
    log: u32,
}

impl WaveSource for Script {
    fn advance(mut self: Pin<&mut Self>, state: &RefCell<WaveState>) -> bool {
        let mut state = state.borrow_mut();
        loop {
            if let Some(slot) = self.waits_for {
                if !state.is_ready(slot) {
                    return false;
                }
                let step = &self.steps[self.at - 1];
                let (count, mask) = (usize::from(step.words_per_lane), step.instruction.mask);
                let values: Vec<_> = (0..count).map(|k| *state.memory_op(slot).values(k)).collect();
                state.finish(slot);
                for values in values {
                    row(self.log, values, mask).queue(&mut state);
                    self.log += LANES as u32;
                }
                self.waits_for = None;
            }
            let Some(step) = self.steps.get(self.at) else { return true };
            let slot = step.queue(&mut state);
            let returns = step.instruction.kind != MemoryOpKind::Store && !step.is_reduction;
            if step.is_reduction {
                state.abandon(slot);
            }
            self.waits_for = returns.then_some(slot);
            self.at += 1;
            state.push(Operation::Alu(self.at as u32 % 3));
        }
    }
}

/// Instructions of each wavefront on words of its own, and on words of which each wavefront writes other bytes.
const STEPS: u32 = 24;
/// The words of each wavefront. Lines belong to several wavefronts.
const OWN: u32 = 84;
const GROUPS: u32 = 4;

/// A kernel of four work-groups with random instructions, whose result does not depend on the order of wavefronts, and
/// the memory that it works on.
pub fn random_kernel(seed: u64) -> (Kernel, HostMemory) {
    let mut memory = HostMemory::default();
    let start = |len: u32, memory: &mut HostMemory| memory.alloc::<u32>(len as usize).start();
    let own = start(OWN * GROUPS, &mut memory);
    let shared = start(64, &mut memory);
    let sums = start(64, &mut memory);
    let log_words = (STEPS + 2) * 4 * LANES as u32;
    let log = start(GROUPS * log_words, &mut memory);
    let kernel = Kernel::of_sources("script", GROUPS, 1, move |wave| {
        let group = wave.id.work_group;
        let mut random = Random(seed << 8 | u64::from(group) << 4 | 1);
        (0..20).for_each(|_| _ = random.next());
        let words = own + group * OWN..own + (group + 1) * OWN;
        let mut steps = Vec::new();
        for _ in 0..STEPS {
            steps.push(Step::random(&mut random, &words));
            if random.below(3) == 0 {
                steps.push(byte_of_each(group, shared, &mut random));
            }
            if random.below(4) == 0 {
                steps.push(sum(sums, &mut random));
            }
        }
        Script { steps, at: 0, waits_for: None, log: log + group * log_words }
    });
    (kernel, memory)
}

/// A store to one byte of 32 words or of 16, which are shared with other wavefronts.
fn byte_of_each(group: u32, shared: u32, random: &mut Random) -> Step {
    let bytes = [1 << group; LANES];
    let words = random.next();
    let step = row(shared, std::array::from_fn(|_| random.next()), Mask(words | 1));
    Step { bytes: Some(bytes), ..step }
}

/// An addition of 64 bits to shared pairs of words, whose old values nobody reads.
fn sum(sums: u32, random: &mut Random) -> Step {
    let kind = MemoryOpKind::Atomic(AtomicOp::Pair(PairOp::Add));
    let instruction = Instruction { kind, order: Order::Relaxed, scope: Scope::System, mask: Mask(random.next() | 1) };
    let step = row(sums, std::array::from_fn(|_| random.next()), instruction.mask);
    let word = std::array::from_fn(|lane| sums + 2 * (lane as u32 % 16));
    let values = std::array::from_fn(|_| std::array::from_fn(|_| random.next()));
    Step { instruction, word, words_per_lane: 2, values, is_reduction: true, ..step }
}
