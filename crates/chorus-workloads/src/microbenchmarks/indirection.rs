//! `indirection`: the CPU and the GPU take turns transposing a matrix.
//!
//! Source: Spandex paper (Alsop, Sinclair, Adve: Spandex: A Flexible Interface for Efficient Heterogeneous Coherence,
//! ISCA 2018), section IV-B1, Indirection. CPU threads read tiles of the matrix A and write tiles of the matrix B.
//! Work-groups then read tiles of B and write tiles of A. This repeats. The microbenchmark itself is not published:
//! sizes, numbers of threads and the order of accesses are chosen here, after its description.
//!
//! Sharing: everything that one side writes the other side reads in the next turn, and nothing else is read. Accesses
//! are strided, so that there is no spatial locality: elements lie a line of 64 bytes apart, and each access of a turn
//! fetches a line for one word, which the other side has written. A work-group reads a tile of 64 KB and writes
//! another, twice a private cache each, and a CPU thread tiles of 128 KB, so nothing is found there again, and most
//! written words have left the private caches when the other side reads them. Rows in memory have one element more than
//! the matrix has columns, so that columns do not lie in one bank of a cache. The matrix is 128 x 128 at every scale, 1
//! MB in memory; rounds are 4 at quick scale, 8 at medium and 64 at paper scale (`papers/spandex/notes.md`, Inputs).
//!
//! A turned element is multiplied by 5 and 1 is added. Each turn therefore leaves other values behind, and a reader
//! sees which turn wrote a value. The words between elements are random, and nobody may lose them. Turns end at the
//! barrier of `collaborative_barrier.rs`, where the other side waits meanwhile.
//!
//! Arithmetic, per element: 4 instructions for both addresses and the loop, 1 multiply-add.

use chorus_kernel::{Buf, Cpu, HostMemory, Kernel, LANES, Wave};

use crate::collaborative_barrier::CollaborativeBarrier;
use crate::generator::SplitMix64;
use crate::program::{HostProgram, Output};
use crate::registry::{Paper, Suite, Workload};
use crate::size::{SizeSpec, Sizes};

const WAVES_PER_GROUP: u32 = 8;

/// Tiles down and across the matrix that is read: one per CPU thread, and one per work-group.
const CPU_TILES: [u32; 2] = [2, 4];
const GPU_TILES: [u32; 2] = [4, 4];

/// Words from an element to the next: a line of 64 bytes.
const STRIDE: u32 = 16;

/// Transposes a matrix in turns of the CPU and the GPU.
pub struct Indirection;

/// An element takes 2 line accesses in a turn, 76,000 in a round with the barriers. The wavefronts of a work-group fill
/// all lanes, since rows are a multiple of 32 and columns of 16: a work-group's tile has a quarter of both.
static SIZES: [SizeSpec; 3] = [
    SizeSpec::new(
        "rows",
        "rows of the matrix A, and columns of B",
        [128, 128, 128],
        "chosen: tiles of twice a private cache (Spandex, section IV-B1, names no size)",
    )
    .range(32, 1 << 12)
    .multiple_of(32),
    SizeSpec::new(
        "columns",
        "columns of the matrix A, and rows of B",
        [128, 128, 128],
        "chosen: tiles of twice a private cache (Spandex, section IV-B1, names no size)",
    )
    .range(16, 1 << 12)
    .multiple_of(16),
    SizeSpec::new(
        "rounds",
        "turns of the CPU, each followed by a turn of the GPU",
        [4, 8, 64],
        "chosen: at most 2^19, 2^20 and 2^23 line accesses (Spandex, section IV-B1, names no number)",
    )
    .range(1, 1_000_000),
];

/// The matrix A, and the number of turns of each side.
#[derive(Clone, Copy)]
struct Shape {
    rows: u32,
    columns: u32,
    rounds: u32,
}

impl Shape {
    fn of(sizes: &Sizes) -> Shape {
        Shape { rows: sizes.get("rows"), columns: sizes.get("columns"), rounds: sizes.get("rounds") }
    }

    /// The shape of the matrix B.
    fn transposed(self) -> Shape {
        Shape { rows: self.columns, columns: self.rows, ..self }
    }

    /// Words from a row to the next.
    fn pitch(self) -> u32 {
        (self.columns + 1) * STRIDE
    }

    fn words(self) -> u32 {
        self.rows * self.pitch()
    }
}

/// A tile of the matrix that is read. Its transpose is a tile of the matrix that is written.
#[derive(Clone, Copy)]
struct Tile {
    of: Shape,
    row: u32,
    column: u32,
    rows: u32,
    columns: u32,
}

impl Tile {
    /// Tile `number` of a matrix with `down` times `across` tiles.
    fn new(of: Shape, [down, across]: [u32; 2], number: u32) -> Tile {
        let (rows, columns) = (of.rows / down, of.columns / across);
        Tile { of, row: number / across * rows, column: number % across * columns, rows, columns }
    }

    fn elements(&self) -> u32 {
        self.rows * self.columns
    }

    /// The places of an element of the tile, in the matrix that is read and in the matrix that is written.
    fn places(&self, element: u32) -> (u32, u32) {
        let (row, column) = (self.row + element / self.columns, self.column + element % self.columns);
        (row * self.of.pitch() + column * STRIDE, column * self.of.transposed().pitch() + row * STRIDE)
    }
}

/// The value of an element after a turn has moved it.
fn moved(value: u32) -> u32 {
    value.wrapping_mul(5).wrapping_add(1)
}

/// The turns of one wavefront: from B to A after each turn of the CPU.
async fn turn_b(w: Wave, shape: Shape, [a, b]: [Buf<u32>; 2], barrier: CollaborativeBarrier) {
    let tile = Tile::new(shape.transposed(), GPU_TILES, w.work_group());
    for round in 0..shape.rounds {
        barrier.wait(&w, 2 * round + 1).await;
        for first in (w.id().wave * LANES as u32..tile.elements()).step_by(WAVES_PER_GROUP as usize * LANES) {
            let places = (w.lane_ids() + first).map(|element| tile.places(element));
            w.alu(4).await;
            let values = w.load(b, places.map(|(from, _)| from)).await;
            w.alu(1).await;
            w.store(a, places.map(|(_, to)| to), values.map(moved));
        }
        barrier.wait(&w, 2 * round + 2).await;
    }
}

/// The turns of one CPU thread: from A to B.
async fn turn_a(cpu: Cpu, shape: Shape, [a, b]: [Buf<u32>; 2], barrier: CollaborativeBarrier) {
    let tile = Tile::new(shape, CPU_TILES, cpu.id());
    for round in 0..shape.rounds {
        for (from, to) in (0..tile.elements()).map(|element| tile.places(element)) {
            cpu.alu(4);
            let value = cpu.load(a, from).await;
            cpu.alu(1);
            cpu.store(b, to, moved(value));
        }
        barrier.wait_cpu(&cpu, 2 * round + 1).await;
        barrier.wait_cpu(&cpu, 2 * round + 2).await;
    }
}

/// Moves every element of a matrix to its place in the other one.
fn transpose(of: Shape, from: &[u32], to: &mut [u32]) {
    let whole = Tile::new(of, [1, 1], 0);
    for (source, target) in (0..whole.elements()).map(|element| whole.places(element)) {
        to[target as usize] = moved(from[source as usize]);
    }
}

impl Workload for Indirection {
    fn name(&self) -> &'static str {
        "indirection"
    }

    fn title(&self) -> &'static str {
        "Indirection"
    }

    fn summary(&self) -> &'static str {
        "CPU threads and work-groups take turns transposing a matrix; no private cache serves the strided accesses twice."
    }

    fn suite(&self) -> Suite {
        Suite::Microbenchmarks
    }

    fn papers(&self) -> &'static [Paper] {
        &[Paper::Spandex]
    }

    fn source(&self) -> &'static str {
        "Alsop, Sinclair, Adve, Spandex, ISCA 2018, section IV-B1 (Indirection)"
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
        let [mut a, mut b] = [shape, shape.transposed()]
            .map(|shape| (0..shape.words()).map(|_| generator.next_u64() as u32).collect::<Vec<u32>>());
        let matrices = [memory.alloc_from(&a), memory.alloc_from(&b)];
        let [cpu_threads, work_groups] = [CPU_TILES, GPU_TILES].map(|[down, across]| down * across);
        let barrier = CollaborativeBarrier::new(cpu_threads, work_groups, memory);
        let kernel = Kernel::new("transpose in turns", work_groups, WAVES_PER_GROUP, move |w| {
            turn_b(w, shape, matrices, barrier)
        })
        .with_cpu(cpu_threads, move |cpu| turn_a(cpu, shape, matrices, barrier));

        for _ in 0..shape.rounds {
            transpose(shape, &a, &mut b);
            transpose(shape.transposed(), &b, &mut a);
        }
        let outputs = vec![Output::new("A", matrices[0], &a), Output::new("B", matrices[1], &b)];
        HostProgram::new(vec![kernel], outputs)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use chorus_system::Scale;

    use super::*;

    /// Lines of 64 bytes of an L1.
    const L1_LINES: u32 = 512;

    fn shape(scale: Scale) -> Shape {
        Shape::of(&Indirection.sizes_at(scale))
    }

    fn tiles(scale: Scale) -> impl Iterator<Item = Tile> {
        let shape = shape(scale);
        let cpu = (0..8).map(move |number| Tile::new(shape, CPU_TILES, number));
        cpu.chain((0..16).map(move |number| Tile::new(shape.transposed(), GPU_TILES, number)))
    }

    #[test]
    fn each_side_reads_and_writes_every_element_once_and_no_line_twice() {
        for scale in Scale::ALL {
            let elements = (shape(scale).rows * shape(scale).columns) as usize;
            let places: Vec<(u32, u32)> =
                tiles(scale).flat_map(|tile| (0..tile.elements()).map(move |element| tile.places(element))).collect();
            for side in [&places[..elements], &places[elements..]] {
                assert_eq!(
                    side.iter().map(|(from, _)| from / STRIDE).collect::<HashSet<u32>>().len(),
                    elements,
                    "{scale}"
                );
                assert_eq!(side.iter().map(|(_, to)| to / STRIDE).collect::<HashSet<u32>>().len(), elements, "{scale}");
            }
        }
    }

    #[test]
    fn the_tile_of_a_work_group_is_the_smallest_of_twice_a_private_cache() {
        for scale in Scale::ALL {
            assert_eq!(tiles(scale).map(|tile| tile.elements()).min(), Some(2 * L1_LINES), "{scale}");
        }
    }
}
