//! `reuse-s`: CPU threads and work-groups take turns reading a whole matrix and writing a little of it.
//!
//! Source: Spandex paper (Alsop, Sinclair, Adve, ISCA 2018), section IV-B1, ReuseS: both sides take turns densely
//! reading and sparsely writing a shared matrix. The microbenchmark itself is not published: sizes, numbers of threads
//! and what sparse means are chosen here.
//!
//! Sharing: every CPU thread and every work-group reads every element, and the matrix fits each private cache. In a
//! turn one word in 256 is written, the same one in every iteration. A cache that is told of writes therefore keeps
//! almost all lines from turn to turn (shared state), while a cache that forgets at synchronisation fetches the matrix
//! anew.
//!
//! The matrix is 64 x 64 at every scale, 16 KB, half of a private cache; iterations are 16 at quick scale, 32 at medium
//! and 256 at paper scale (`papers/spandex/notes.md`, Inputs).
//!
//! Within a turn the side that takes it meets at a barrier of its own between reading and writing. At the end of a turn
//! both sides meet. The written values are made of the sum of all elements, so that one old element spoils everything
//! after it.
//!
//! Arithmetic: a CPU thread adds 4 adjacent elements, a vector, with 1 instruction and spends 1 on address and loop
//! (which a compiler unrolls), and 6 to add up the vector at the end. A wavefront adds 32 elements with 1 and spends 1
//! on address and loop, 10 to add up its lanes, and 8 for the sums of its work-group. A word to write takes 4 on both
//! sides.

use chorus_kernel::{Buf, Cpu, HostMemory, Kernel, LANES, Lanes, Mask, Wave};

use crate::collaborative_barrier::CollaborativeBarrier;
use crate::generator::SplitMix64;
use crate::program::{HostProgram, Output};
use crate::registry::{Paper, Suite, Workload};
use crate::size::{SizeSpec, Sizes};

const CPU_THREADS: u32 = 8;
const WORK_GROUPS: u32 = 16;
const WAVES_PER_GROUP: u32 = 8;

/// Elements of a CPU's vector of 16 bytes.
const VECTOR: u32 = 4;
/// Elements of a row of the matrix.
const COLUMNS: u32 = 64;
/// Rows and elements of a segment. A turn writes one element of each segment.
const SEGMENT_ROWS: u32 = 4;
const SEGMENT: u32 = SEGMENT_ROWS * COLUMNS;
/// Loads that a wavefront has in flight.
const LOADS: u32 = 4;

/// Reuses data that all participants read.
pub struct ReuseS;

/// In an iteration the CPU threads make 2 line accesses per element of the matrix and the work-groups 1, where a line
/// has 64 bytes: 17,000 with the barriers.
static SIZES: [SizeSpec; 2] = [
    SizeSpec::new(
        "rows",
        "rows of the matrix of 64 columns",
        [64, 64, 64],
        "chosen: a matrix of half a private cache (Spandex, section IV-B1, names no size)",
    )
    .range(SEGMENT_ROWS as u64, 1 << 16)
    .multiple_of(SEGMENT_ROWS as u64),
    SizeSpec::new(
        "iterations",
        "turns of the CPU, each followed by a turn of the GPU",
        [16, 32, 256],
        "chosen: at most 2^19, 2^20 and 2^23 line accesses (Spandex, section IV-B1, names no number)",
    )
    .range(1, 1_000_000),
];

/// The number of elements of the matrix, and of turns of each side.
#[derive(Clone, Copy)]
struct Shape {
    elements: u32,
    iterations: u32,
}

impl Shape {
    fn of(sizes: &Sizes) -> Shape {
        Shape { elements: sizes.get("rows") * COLUMNS, iterations: sizes.get("iterations") }
    }
}

/// The words that participant `number` of `count` writes in a turn. CPU and GPU have even and odd turns, and write
/// different words.
fn written(shape: Shape, turn: u32, number: u32, count: u32) -> impl Iterator<Item = u32> {
    let segments = (number..shape.elements / SEGMENT).step_by(count as usize);
    segments.map(move |segment| segment * SEGMENT + (turn % 2 * 37 + segment * 101) % SEGMENT)
}

/// The value that a turn writes to a word.
fn value(sum: u32, word: u32) -> u32 {
    sum.wrapping_mul(5).wrapping_add(word)
}

/// The barriers of a turn.
#[derive(Clone, Copy)]
struct Barriers {
    /// The CPU threads meet here between reading and writing.
    cpu: CollaborativeBarrier,
    /// The work-groups meet here between reading and writing.
    gpu: CollaborativeBarrier,
    /// All participants meet here at the end of a turn.
    all: CollaborativeBarrier,
}

/// The sum of the matrix, of which each wavefront of the work-group adds up a part.
async fn sum_of_group(w: &Wave, shape: Shape, matrix: Buf<u32>) -> u32 {
    let step = LANES as u32 * LOADS;
    let mut sums = Lanes::splat(0u32);
    for first in (w.id().wave * step..shape.elements).step_by((step * WAVES_PER_GROUP) as usize) {
        let loads: [Lanes<u32>; LOADS as usize] = w
            .join_all(std::array::from_fn(|load| w.load(matrix, w.lane_ids() + (first + (load * LANES) as u32))))
            .await;
        w.alu(2 * LOADS).await;
        sums = loads.into_iter().fold(sums, |sums, values| sums.zip(values, u32::wrapping_add));
    }
    w.alu(10).await;
    let sum = sums.0.into_iter().fold(0, u32::wrapping_add);
    // All wavefronts have read the sums of the turn before, since barriers lie between.
    w.lds_write(Mask::lane(0), Lanes::splat(w.id().wave), Lanes::splat(sum));
    w.barrier().await;
    let parts: Lanes<u32> = w.lds_read(Mask::first(WAVES_PER_GROUP as usize), w.lane_ids());
    w.alu(WAVES_PER_GROUP).await;
    parts.0.into_iter().fold(0, u32::wrapping_add)
}

/// The turns of one wavefront.
async fn gpu_turns(w: Wave, shape: Shape, matrix: Buf<u32>, barriers: Barriers) {
    for iteration in 0..shape.iterations {
        barriers.all.wait(&w, 2 * iteration + 1).await;
        let sum = sum_of_group(&w, shape, matrix).await;
        barriers.gpu.wait(&w, iteration + 1).await;
        if w.id().wave == 0 {
            for word in written(shape, 2 * iteration + 1, w.work_group(), WORK_GROUPS) {
                w.alu(4).await;
                w.store_one(matrix, word, value(sum, word));
            }
        }
        barriers.all.wait(&w, 2 * iteration + 2).await;
    }
}

/// The turns of one CPU thread.
async fn cpu_turns(cpu: Cpu, shape: Shape, matrix: Buf<u32>, barriers: Barriers) {
    for iteration in 0..shape.iterations {
        let mut sum = 0u32;
        for first in (0..shape.elements).step_by(VECTOR as usize) {
            let values: [u32; VECTOR as usize] = cpu.load_vec(matrix, first).await;
            cpu.alu(2);
            sum = values.into_iter().fold(sum, u32::wrapping_add);
        }
        cpu.alu(6);
        barriers.cpu.wait_cpu(&cpu, iteration + 1).await;
        for word in written(shape, 2 * iteration, cpu.id(), CPU_THREADS) {
            cpu.alu(4);
            cpu.store(matrix, word, value(sum, word));
        }
        barriers.all.wait_cpu(&cpu, 2 * iteration + 1).await;
        barriers.all.wait_cpu(&cpu, 2 * iteration + 2).await;
    }
}

/// The matrix after all turns.
fn reference(shape: Shape, mut matrix: Vec<u32>) -> Vec<u32> {
    for turn in 0..2 * shape.iterations {
        let sum = matrix.iter().copied().fold(0, u32::wrapping_add);
        for word in written(shape, turn, 0, 1) {
            matrix[word as usize] = value(sum, word);
        }
    }
    matrix
}

impl Workload for ReuseS {
    fn name(&self) -> &'static str {
        "reuse-s"
    }

    fn title(&self) -> &'static str {
        "ReuseS"
    }

    fn summary(&self) -> &'static str {
        "CPU threads and work-groups take turns reading a whole matrix and writing a little; shared data is reused."
    }

    fn suite(&self) -> Suite {
        Suite::Microbenchmarks
    }

    fn papers(&self) -> &'static [Paper] {
        &[Paper::Spandex]
    }

    fn source(&self) -> &'static str {
        "Alsop, Sinclair, Adve, Spandex, ISCA 2018, section IV-B1 (ReuseS)"
    }

    fn communicates(&self) -> bool {
        true
    }

    fn sizes(&self) -> &'static [SizeSpec] {
        &SIZES
    }

    fn build(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
        let shape = Shape::of(sizes);
        let mut generator = SplitMix64::new(seed);
        let initial: Vec<u32> = (0..shape.elements).map(|_| generator.next_u64() as u32).collect();
        let matrix = memory.alloc_from(&initial);
        let barriers = Barriers {
            cpu: CollaborativeBarrier::new(CPU_THREADS, 0, memory),
            gpu: CollaborativeBarrier::new(0, WORK_GROUPS, memory),
            all: CollaborativeBarrier::new(CPU_THREADS, WORK_GROUPS, memory),
        };
        let kernel =
            Kernel::new("read and write", WORK_GROUPS, WAVES_PER_GROUP, move |w| gpu_turns(w, shape, matrix, barriers))
                .lds(WAVES_PER_GROUP * 4)
                .with_cpu(CPU_THREADS, move |cpu| cpu_turns(cpu, shape, matrix, barriers));
        let outputs = vec![Output::new("matrix", matrix, &reference(shape, initial))];
        HostProgram::new(vec![kernel], outputs)
    }
}

#[cfg(test)]
mod tests {
    use chorus_system::Scale;

    use super::*;

    #[test]
    fn together_the_participants_of_a_turn_write_one_word_of_every_segment() {
        for scale in Scale::ALL {
            let shape = Shape::of(&ReuseS.sizes_at(scale));
            for (turn, count) in [(0, CPU_THREADS), (1, WORK_GROUPS), (2, CPU_THREADS)] {
                let mut words: Vec<u32> = (0..count).flat_map(|number| written(shape, turn, number, count)).collect();
                words.sort_unstable();
                let segments: Vec<u32> = words.iter().map(|word| word / SEGMENT).collect();
                assert_eq!(segments, (0..shape.elements / SEGMENT).collect::<Vec<_>>(), "{scale}");
            }
        }
    }

    #[test]
    fn wavefronts_divide_the_matrix_evenly_and_it_fits_a_private_cache() {
        for scale in Scale::ALL {
            let elements = Shape::of(&ReuseS.sizes_at(scale)).elements;
            assert_eq!(elements % (LANES as u32 * LOADS), 0, "{scale}");
            assert_eq!(elements * 4, 16 * 1024, "{scale}");
        }
    }
}
