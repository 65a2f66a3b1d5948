//! `reuse-o`: CPU threads and work-groups keep updating tiles of their own, and look at a little of each other's.
//!
//! Source: Spandex paper (Alsop, Sinclair, Adve, ISCA 2018), section IV-B1, ReuseO. CPU threads sparsely read the
//! matrix A and densely read and write the matrix B; work-groups sparsely read B and densely read and write A; again
//! and again. The microbenchmark itself is not published: sizes, numbers of threads and what sparse means are chosen
//! here.
//!
//! Sharing: a tile of B belongs to one CPU thread and a tile of A to one work-group. A tile fits the private cache,
//! together with the words that are read of the other matrix. A core reads and writes in each iteration what it wrote
//! in the last, so ownership of written data pays. A cache that writes through and forgets at barriers fetches its tile
//! each time. Four rows of a tile are a band. For every band a thread reads one word of the other matrix, one in 256. A
//! CPU thread faces the tiles of two work-groups and looks at them by turns, band by band. Two work-groups look at
//! different columns of the tile of the same CPU thread.
//!
//! A tile is 64 x 64 at every scale, 16 KB, half of a private cache; iterations are 16 at quick scale, 32 at medium and
//! 256 at paper scale (`papers/spandex/notes.md`, Inputs).
//!
//! CPU threads and work-groups take turns, as in the other microbenchmarks: while one side updates its matrix it reads
//! the other one, which nobody may write meanwhile. A turn ends at the barrier of `collaborative_barrier.rs`. An
//! element is multiplied by 5 and the word read for its band is added, so that an old word spoils whole rows in all
//! later iterations.
//!
//! Arithmetic: per sparse word of a CPU thread 3 instructions for its address and the loop; per 4 adjacent elements,
//! which a CPU takes in one vector instruction, 2 for the update and 2 for address and loop. A wavefront takes 4 to
//! find its sparse words, one per lane, and 1 to hand one to all lanes; per row of 64 elements it spends 2 for address
//! and loop, and 2 multiply-adds.

use chorus_kernel::{Buf, Cpu, HostMemory, Kernel, LANES, Lanes, Mask, Wave};

use crate::collaborative_barrier::CollaborativeBarrier;
use crate::generator::SplitMix64;
use crate::program::{HostProgram, Output};
use crate::registry::{Paper, Suite, Workload};
use crate::size::{SizeSpec, Sizes};

const CPU_THREADS: u32 = 8;
/// Work-groups: two per CPU thread.
const WORK_GROUPS: u32 = 16;
const WAVES_PER_GROUP: u32 = 8;

/// Elements of a row of a tile.
const COLUMNS: u32 = 64;
/// Rows and elements of a band.
const BAND_ROWS: u32 = 4;
const BAND: u32 = BAND_ROWS * COLUMNS;
/// Elements of a CPU's vector of 16 bytes.
const VECTOR: u32 = 4;

/// Reuses data that its owner has written.
pub struct ReuseO;

/// In an iteration the CPU threads make 1032 line accesses per band of a tile, and the work-groups 528 where a line has
/// 64 bytes: 23,000 with the barriers. A cache that owns its tile serves most of them. A tile has at least a band for
/// each of the 8 wavefronts of its work-group, and at most a band for each of their lanes.
static SIZES: [SizeSpec; 2] = [
    SizeSpec::new(
        "rows",
        "rows of a tile of 64 columns",
        [64, 64, 64],
        "chosen: a tile of half a private cache (Spandex, section IV-B1, names no size)",
    )
    .range((WAVES_PER_GROUP * BAND_ROWS) as u64, (WAVES_PER_GROUP * BAND_ROWS) as u64 * LANES as u64)
    .multiple_of(BAND_ROWS as u64),
    SizeSpec::new(
        "iterations",
        "updates of every tile",
        [16, 32, 256],
        "chosen: at most 2^19, 2^20 and 2^23 line accesses (Spandex, section IV-B1, names no number)",
    )
    .range(1, 1_000_000),
];

/// The number of bands of a tile, and of updates of every tile.
#[derive(Clone, Copy)]
struct Shape {
    bands: u32,
    iterations: u32,
}

impl Shape {
    fn of(sizes: &Sizes) -> Shape {
        Shape { bands: sizes.get("rows") / BAND_ROWS, iterations: sizes.get("iterations") }
    }

    fn tile_elements(self) -> u32 {
        self.bands * BAND
    }

    /// The word of A that a CPU thread reads for a band of its tile of B.
    fn seen_by_cpu(self, thread: u32, band: u32) -> u32 {
        (2 * thread + band % 2) * self.tile_elements() + band * BAND + sparse_word(band)
    }

    /// The word of B that a work-group reads for a band of its tile of A.
    fn seen_by_group(self, work_group: u32, band: u32) -> u32 {
        let word = (sparse_word(band) + work_group % 2 * BAND / 2) % BAND;
        work_group / 2 * self.tile_elements() + band * BAND + word
    }
}

/// The word of a band of the other matrix that is read.
fn sparse_word(band: u32) -> u32 {
    band * 93 % BAND
}

/// The value of an element after an update with the word `seen`.
fn updated(value: u32, seen: u32) -> u32 {
    value.wrapping_mul(5).wrapping_add(seen)
}

/// A wavefront, which has every eighth band of its work-group's tile of A.
async fn update_a(w: Wave, shape: Shape, [a, b]: [Buf<u32>; 2], barrier: CollaborativeBarrier) {
    let first = w.work_group() * shape.tile_elements();
    let bands: Vec<u32> = (w.id().wave..shape.bands).step_by(WAVES_PER_GROUP as usize).collect();
    for iteration in 0..shape.iterations {
        barrier.wait(&w, 2 * iteration + 1).await;
        w.alu(4).await;
        let sparse = Lanes::from_fn(|lane| shape.seen_by_group(w.work_group(), bands[lane.min(bands.len() - 1)]));
        let seen = w.load_where(Mask::first(bands.len()), b, sparse).await;
        for (lane, band) in bands.iter().enumerate() {
            w.alu(1).await;
            for row in (0..BAND).step_by(COLUMNS as usize) {
                w.alu(2).await;
                let left = w.lane_ids() + (first + band * BAND + row);
                let right = left + LANES as u32;
                let [low, high] = w.join_all([w.load(a, left), w.load(a, right)]).await;
                w.alu(2).await;
                w.store(a, left, low.map(|value| updated(value, seen[lane])));
                w.store(a, right, high.map(|value| updated(value, seen[lane])));
            }
        }
        barrier.wait(&w, 2 * iteration + 2).await;
    }
}

/// A CPU thread, which has a tile of B.
async fn update_b(cpu: Cpu, shape: Shape, [a, b]: [Buf<u32>; 2], barrier: CollaborativeBarrier) {
    let first = cpu.id() * shape.tile_elements();
    for iteration in 0..shape.iterations {
        for band in 0..shape.bands {
            cpu.alu(3);
            let seen = cpu.load(a, shape.seen_by_cpu(cpu.id(), band)).await;
            for element in (0..BAND).step_by(VECTOR as usize) {
                let place = first + band * BAND + element;
                let values: [u32; VECTOR as usize] = cpu.load_vec(b, place).await;
                cpu.alu(4);
                cpu.store_vec(b, place, values.map(|value| updated(value, seen)));
            }
        }
        barrier.wait_cpu(&cpu, 2 * iteration + 1).await;
        barrier.wait_cpu(&cpu, 2 * iteration + 2).await;
    }
}

/// Both matrices after all iterations.
fn reference(shape: Shape, [mut a, mut b]: [Vec<u32>; 2]) -> [Vec<u32>; 2] {
    let turn = |matrix: &mut [u32], other: &[u32], seen: fn(Shape, u32, u32) -> u32| {
        for (band, elements) in (0..).zip(matrix.chunks_mut(BAND as usize)) {
            let seen = other[seen(shape, band / shape.bands, band % shape.bands) as usize];
            elements.iter_mut().for_each(|value| *value = updated(*value, seen));
        }
    };
    for _ in 0..shape.iterations {
        turn(&mut b, &a, Shape::seen_by_cpu);
        turn(&mut a, &b, Shape::seen_by_group);
    }
    [a, b]
}

impl Workload for ReuseO {
    fn name(&self) -> &'static str {
        "reuse-o"
    }

    fn title(&self) -> &'static str {
        "ReuseO"
    }

    fn summary(&self) -> &'static str {
        "CPU threads and work-groups update tiles of their own again and again, which reuses owned data."
    }

    fn suite(&self) -> Suite {
        Suite::Microbenchmarks
    }

    fn papers(&self) -> &'static [Paper] {
        &[Paper::Spandex]
    }

    fn source(&self) -> &'static str {
        "Alsop, Sinclair, Adve, Spandex, ISCA 2018, section IV-B1 (ReuseO)"
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
        let initial = [WORK_GROUPS, CPU_THREADS].map(|tiles| {
            let elements = 0..tiles * shape.tile_elements();
            elements.map(|_| generator.next_u64() as u32).collect::<Vec<u32>>()
        });
        let matrices = [memory.alloc_from(&initial[0]), memory.alloc_from(&initial[1])];
        let barrier = CollaborativeBarrier::new(CPU_THREADS, WORK_GROUPS, memory);
        let kernel =
            Kernel::new("update", WORK_GROUPS, WAVES_PER_GROUP, move |w| update_a(w, shape, matrices, barrier))
                .with_cpu(CPU_THREADS, move |cpu| update_b(cpu, shape, matrices, barrier));
        let [a, b] = reference(shape, initial);
        let outputs = vec![Output::new("A", matrices[0], &a), Output::new("B", matrices[1], &b)];
        HostProgram::new(vec![kernel], outputs)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use chorus_system::Scale;

    use super::*;

    #[test]
    fn nobody_reads_a_word_of_the_other_matrix_twice_in_an_iteration() {
        for scale in Scale::ALL {
            let shape = Shape::of(&ReuseO.sizes_at(scale));
            let all = |tiles: u32, seen: fn(Shape, u32, u32) -> u32| {
                let words = (0..tiles).flat_map(|tile| (0..shape.bands).map(move |band| seen(shape, tile, band)));
                words.collect::<HashSet<u32>>()
            };
            assert_eq!(all(CPU_THREADS, Shape::seen_by_cpu).len() as u32, CPU_THREADS * shape.bands, "{scale}");
            assert_eq!(all(WORK_GROUPS, Shape::seen_by_group).len() as u32, WORK_GROUPS * shape.bands, "{scale}");
        }
    }

    #[test]
    fn a_tile_and_what_is_read_beside_it_fit_a_private_cache() {
        for scale in Scale::ALL {
            let shape = Shape::of(&ReuseO.sizes_at(scale));
            let (tile_bytes, sparse_bytes) = (shape.tile_elements() * 4, shape.bands * 64);
            assert_eq!(tile_bytes, 16 * 1024, "{scale}");
            assert!(tile_bytes + sparse_bytes < 32 * 1024, "{scale}");
        }
    }
}
