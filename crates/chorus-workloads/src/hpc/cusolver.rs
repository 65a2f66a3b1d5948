//! `cusolver`: LU factorisation of a dense matrix, tile by tile.
//!
//! Source: HMG paper (Ren et al., HPCA 2020), section VI, Table III (cuSolver, an NVIDIA library whose source is not
//! published); the algorithm is the blocked right-looking factorisation of LAPACK's getrf, on tiles of 64 x 64.
//! Tile columns are dealt to four devices in turn, as cuSolver's multi-GPU interface deals them, and each tile belongs
//! to one work-group for the whole factorisation. A step is two kernels: `panel` factorises the diagonal tile and
//! solves for the tiles below and beside it, `update` subtracts their products from all tiles further on.
//!
//! Sharing: within `panel`, the first work-group of each GPU factorises the diagonal tile for its GPU, publishes it 16
//! rows at a time behind a .gpu-scoped release, and the work-groups of that GPU acquire the rows as they go. One word
//! per GPU counts the published rows, so no two GPUs synchronise within a kernel; they meet at kernel boundaries. In
//! `update` every tile of the panel is read by a whole row or column of tiles: column tiles by all GPUs, row tiles by
//! the GPU that owns the column.
//!
//! Left out: pivoting (the matrix is diagonally dominant and needs none), and the two triangular solves with a
//! right-hand side, which touch every tile once more. Single precision.
//!
//! No work-group waits for one that may not have started: all wait for the work-group with the smallest number on their
//! GPU.
//!
//! Arithmetic: per pivot 3 instructions for the loop, and per row 8 for a division, 1 to broadcast the multiplier and 2
//! per 32 columns (select and fused multiply-add); per row of the triangular solve 2 per earlier row (broadcast and
//! fused multiply-add); per four columns of the update 64 fused multiply-adds, 32 broadcasts and 2 for the loop.

use chorus_kernel::{Buf, HostMemory, Kernel, LANES, Lanes, Mask, Wave};
use chorus_protocol::access::Scope;

use crate::generator::SplitMix64;
use crate::program::{HostProgram, Output};
use crate::registry::{Paper, Suite, Workload};
use crate::size::{SizeSpec, Sizes};

/// Rows and columns of a tile, and the number of 32-word segments in a row.
const TILE: u32 = 64;
const SEGMENTS: usize = TILE as usize / LANES;
const TILE_WORDS: u32 = TILE * TILE;
const WAVES_PER_GROUP: u32 = 8;
const ROWS_PER_WAVE: usize = (TILE / WAVES_PER_GROUP) as usize;
/// Rows of the diagonal tile that are published together.
const CHUNK: u32 = 16;
const CHUNKS: u32 = TILE / CHUNK;
/// Devices that the distribution of columns is made for. Machines with more or fewer compute the same.
const DEVICES: u32 = 4;
/// GPUs of the largest machine, and the distance of their progress words, which share no line.
const GPUS_MAX: u32 = 16;
const PROGRESS_STRIDE: u32 = 64;
const REGISTERS_PER_ITEM: u32 = 40;

/// A row of a tile, in registers of a wavefront.
type Row = [Lanes<f32>; SEGMENTS];

pub(crate) struct CuSolver;

/// The matrix takes 2.4 MB at quick scale and 43 MB at paper scale. A step takes 512 line accesses per updated tile and
/// about 400 per panel tile: 0.3 million in all at quick scale, 1.3 million at medium scale and 24 million at paper
/// scale. The paper's 1.6 GB would take thousands of millions.
static SIZES: [SizeSpec; 1] = [SizeSpec::new(
    "rows",
    "rows and columns of the matrix",
    [12 * 64, 19 * 64, 51 * 64],
    "chosen: 43 MB of the 1.6 GB in Table III of the HMG paper, for time",
)
.range(64, 16_384)
.multiple_of(64)];

#[derive(Clone, Copy)]
struct Data {
    /// The number of tiles in a row and in a column of the matrix.
    tiles: u32,
    /// The tiles in the order of the work-groups that own them, each row by row.
    matrix: Buf<f32>,
    /// The factorised diagonal tile, once per GPU.
    diagonals: Buf<f32>,
    /// Chunks of diagonal tiles that each GPU has published since the start.
    progress: Buf<u32>,
}

impl Data {
    /// The row and column of the tile of a work-group.
    fn owned(&self, work_group: u32) -> (u32, u32) {
        let mut place = work_group / self.tiles;
        let mut device = 0;
        while place >= self.columns_of(device) {
            place -= self.columns_of(device);
            device += 1;
        }
        (work_group % self.tiles, device + place * DEVICES)
    }

    /// The number of tile columns that a device has.
    fn columns_of(&self, device: u32) -> u32 {
        (self.tiles + DEVICES - 1 - device) / DEVICES
    }

    /// The first element of a tile.
    fn tile(&self, row: u32, column: u32) -> u32 {
        let before: u32 = (0..column % DEVICES).map(|device| self.columns_of(device)).sum();
        ((before + column / DEVICES) * self.tiles + row) * TILE_WORDS
    }
}

/// The row of a tile that a wavefront keeps in its register row `index`. Rows are dealt in turn, so that all wavefronts
/// have work until the end.
fn row_of(w: &Wave, index: usize) -> u32 {
    index as u32 * WAVES_PER_GROUP + w.id().wave
}

/// The elements of a row of a tile, 32 at a time.
fn elements(w: &Wave, tile: u32, row: u32) -> [Lanes<u32>; SEGMENTS] {
    std::array::from_fn(|segment| w.lane_ids() + (tile + row * TILE + (segment * LANES) as u32))
}

async fn load_row(w: &Wave, from: Buf<f32>, tile: u32, row: u32) -> Row {
    w.join_all(elements(w, tile, row).map(|at| w.load(from, at))).await
}

fn store_row(w: &Wave, to: Buf<f32>, tile: u32, row: u32, values: Row) {
    for (at, values) in elements(w, tile, row).into_iter().zip(values) {
        w.store(to, at, values);
    }
}

/// Reads a row of the tile in local data, which lies there row by row.
fn read_local_row(w: &Wave, row: u32) -> Row {
    elements(w, 0, row).map(|at| w.lds_read(Mask::ALL, at))
}

fn write_local_row(w: &Wave, row: u32, values: Row) {
    for (at, values) in elements(w, 0, row).into_iter().zip(values) {
        w.lds_write(Mask::ALL, at, values);
    }
}

/// One element of a row.
fn element(row: &Row, column: u32) -> f32 {
    row[column as usize / LANES][column as usize % LANES]
}

/// Eliminates column `pivot` of a row with the row of that pivot; the multiplier takes the place of the element.
fn eliminate(row: &mut Row, pivot: u32, pivot_row: &Row) {
    let multiplier = element(row, pivot) / element(pivot_row, pivot);
    for (segment, values) in row.iter_mut().enumerate() {
        for lane in 0..LANES {
            let column = (segment * LANES + lane) as u32;
            if column == pivot {
                values.set(lane, multiplier);
            } else if column > pivot {
                values.set(lane, values[lane] - multiplier * pivot_row[segment][lane]);
            }
        }
    }
}

/// The number of instructions that [`eliminate`] takes.
const ELIMINATE_ALU: u32 = 8 + 1 + 2 * SEGMENTS as u32;

/// The rows of a tile that a wavefront owns.
async fn load_own_rows(w: &Wave, from: Buf<f32>, tile: u32) -> [Row; ROWS_PER_WAVE] {
    let at: [Lanes<u32>; ROWS_PER_WAVE * SEGMENTS] =
        std::array::from_fn(|index| elements(w, tile, row_of(w, index / SEGMENTS))[index % SEGMENTS]);
    let values = w.join_all(at.map(|at| w.load(from, at))).await;
    std::array::from_fn(|index| std::array::from_fn(|segment| values[index * SEGMENTS + segment]))
}

/// Factorises the diagonal tile for the GPU and publishes it chunk by chunk.
async fn factorise_diagonal(w: &Wave, data: Data, step: u32) {
    let copy = w.gpu() * TILE_WORDS;
    let mut rows = load_own_rows(w, data.matrix, data.tile(step, step)).await;
    for pivot in 0..TILE {
        let owner = pivot % WAVES_PER_GROUP == w.id().wave;
        if owner {
            write_local_row(w, pivot, rows[(pivot / WAVES_PER_GROUP) as usize]);
        }
        w.barrier().await;
        if (pivot + 1).is_multiple_of(CHUNK) {
            for index in (0..ROWS_PER_WAVE).filter(|&index| row_of(w, index) / CHUNK == pivot / CHUNK) {
                store_row(w, data.diagonals, copy, row_of(w, index), rows[index]);
            }
            w.fence(Scope::Gpu).await;
            w.barrier().await;
            if w.id().wave == 0 {
                let published = step * CHUNKS + pivot / CHUNK + 1;
                w.store_release(data.progress, w.gpu() * PROGRESS_STRIDE, published, Scope::Gpu).await;
            }
        }
        let pivot_row = read_local_row(w, pivot);
        w.alu(3).await;
        for index in (0..ROWS_PER_WAVE).filter(|&index| row_of(w, index) > pivot) {
            eliminate(&mut rows[index], pivot, &pivot_row);
            w.alu(ELIMINATE_ALU).await;
        }
    }
    w.barrier().await;
}

/// Waits until the GPU has a chunk of the diagonal tile, and copies it into local data. Returns the rows that this
/// wavefront copied.
async fn acquire_chunk(
    w: &Wave,
    data: Data,
    step: u32,
    chunk: u32,
) -> [(u32, Row); (CHUNK / WAVES_PER_GROUP) as usize] {
    if w.id().wave == 0 {
        let wanted = step * CHUNKS + chunk + 1;
        while w.load_acquire(data.progress, w.gpu() * PROGRESS_STRIDE, Scope::Gpu).await < wanted {
            w.alu(2).await;
        }
    }
    w.barrier().await;
    let mut copied = [(0, [Lanes::splat(0.0); SEGMENTS]); (CHUNK / WAVES_PER_GROUP) as usize];
    for (index, (row, values)) in (0..).zip(copied.iter_mut()) {
        *row = chunk * CHUNK + index * WAVES_PER_GROUP + w.id().wave;
        *values = load_row(w, data.diagonals, w.gpu() * TILE_WORDS, *row).await;
        write_local_row(w, *row, *values);
    }
    w.barrier().await;
    copied
}

/// Solves for a tile below the diagonal: the product of the new tile and the upper triangle is the old tile.
async fn solve_below(w: &Wave, data: Data, step: u32, tile: u32) {
    let mut rows = load_own_rows(w, data.matrix, tile).await;
    for chunk in 0..CHUNKS {
        acquire_chunk(w, data, step, chunk).await;
        for pivot in chunk * CHUNK..(chunk + 1) * CHUNK {
            let pivot_row = read_local_row(w, pivot);
            w.alu(3 + ROWS_PER_WAVE as u32 * ELIMINATE_ALU).await;
            rows.iter_mut().for_each(|row| eliminate(row, pivot, &pivot_row));
        }
    }
    for (index, row) in rows.into_iter().enumerate() {
        store_row(w, data.matrix, tile, row_of(w, index), row);
    }
}

/// Solves for a tile beside the diagonal: the product of the lower triangle and the new tile is the old tile. Columns
/// are independent, so one wavefront takes 32 of them; the others only copy the triangle.
async fn solve_beside(w: &Wave, data: Data, step: u32, tile: u32) {
    let solves = (w.id().wave as usize) < SEGMENTS;
    let at = |row: u32| w.lane_ids() + (tile + row * TILE + w.id().wave * LANES as u32);
    let mut solved: Vec<Lanes<f32>> = Vec::new();
    for chunk in 0..CHUNKS {
        acquire_chunk(w, data, step, chunk).await;
        if !solves {
            continue;
        }
        let first = chunk * CHUNK;
        let values: [Lanes<f32>; CHUNK as usize] =
            w.join_all(std::array::from_fn(|row| w.load(data.matrix, at(first + row as u32)))).await;
        for (row, mut value) in (first..).zip(values) {
            let triangle = read_local_row(w, row);
            w.alu(2 * row + 2).await;
            for (column, above) in (0..).zip(&solved) {
                value = value - *above * element(&triangle, column);
            }
            solved.push(value);
            w.store(data.matrix, at(row), value);
        }
    }
}

/// The first kernel of a step, for the work-group of any tile.
async fn panel(w: Wave, data: Data, step: u32) {
    if w.work_group() == w.work_groups_of_gpu().start {
        factorise_diagonal(&w, data, step).await;
    }
    let (row, column) = data.owned(w.work_group());
    let tile = data.tile(row, column);
    w.alu(8).await;
    if row == step && column == step {
        for chunk in 0..CHUNKS {
            for (row, values) in acquire_chunk(&w, data, step, chunk).await {
                store_row(&w, data.matrix, tile, row, values);
            }
        }
    } else if column == step && row > step {
        solve_below(&w, data, step, tile).await;
    } else if row == step && column > step {
        solve_beside(&w, data, step, tile).await;
    }
}

/// The second kernel of a step: subtracts the product of two panel tiles from the tile of the work-group. Local data
/// hold 32 columns of the left tile, followed by 32 rows of the upper tile.
async fn update(w: Wave, data: Data, step: u32) {
    const QUAD: u32 = 4;
    let (row, column) = data.owned(w.work_group());
    w.alu(8).await;
    if row <= step || column <= step {
        return;
    }
    let lanes = LANES as u32;
    let (own, left, upper) = (data.tile(row, column), data.tile(row, step), data.tile(step, column));
    let mut rows = load_own_rows(&w, data.matrix, own).await;
    for half in 0..SEGMENTS as u32 {
        let left_at: [Lanes<u32>; ROWS_PER_WAVE] =
            std::array::from_fn(|index| w.lane_ids() + (left + row_of(&w, index) * TILE + half * lanes));
        let upper_at: [Lanes<u32>; ROWS_PER_WAVE] = std::array::from_fn(|index| {
            w.lane_ids() + (upper + half * lanes * TILE + (w.id().wave * ROWS_PER_WAVE as u32 + index as u32) * lanes)
        });
        let left_values = w.join_all(left_at.map(|at| w.load(data.matrix, at))).await;
        let upper_values = w.join_all(upper_at.map(|at| w.load(data.matrix, at))).await;
        w.barrier().await;
        for index in 0..ROWS_PER_WAVE {
            // A wavefront reads the left rows that it wrote itself, so they lie as it wants them.
            let place = w.id().wave * ROWS_PER_WAVE as u32 + index as u32;
            w.lds_write(Mask::ALL, w.lane_ids() + place * lanes, left_values[index]);
            w.lds_write(Mask::ALL, w.lane_ids() + (TILE + place) * lanes, upper_values[index]);
        }
        w.barrier().await;
        for first in (0..lanes).step_by(QUAD as usize) {
            let block: Lanes<f32> = w.lds_read(
                Mask::ALL,
                w.lane_ids().map(|lane| {
                    (w.id().wave * ROWS_PER_WAVE as u32 + lane % ROWS_PER_WAVE as u32) * lanes
                        + first
                        + lane / ROWS_PER_WAVE as u32
                }),
            );
            w.alu(QUAD * ROWS_PER_WAVE as u32 * (1 + SEGMENTS as u32) + 2).await;
            for inner in 0..QUAD {
                let upper_row: Row = std::array::from_fn(|segment| {
                    let place = TILE + (first + inner) * SEGMENTS as u32 + segment as u32;
                    w.lds_read(Mask::ALL, w.lane_ids() + place * lanes)
                });
                for (index, row) in rows.iter_mut().enumerate() {
                    let factor = block[inner as usize * ROWS_PER_WAVE + index];
                    for (values, upper) in row.iter_mut().zip(upper_row) {
                        *values = Lanes::from_fn(|lane| values[lane] - factor * upper[lane]);
                    }
                }
            }
        }
    }
    for (index, values) in rows.into_iter().enumerate() {
        store_row(&w, data.matrix, own, row_of(&w, index), values);
    }
}

/// The factors of an `n` x `n` matrix, in its place, column after column of the lower and row after row of the upper.
fn reference(n: usize, matrix: &mut [f32]) {
    for pivot in 0..n {
        let (upper, lower) = matrix.split_at_mut((pivot + 1) * n);
        let pivot_row = &upper[pivot * n..];
        for row in lower.chunks_exact_mut(n) {
            let multiplier = row[pivot] / pivot_row[pivot];
            row[pivot] = multiplier;
            for (element, &above) in row[pivot + 1..].iter_mut().zip(&pivot_row[pivot + 1..]) {
                *element -= multiplier * above;
            }
        }
    }
}

/// A matrix without pivots off the diagonal.
fn draw_matrix(n: usize, seed: u64) -> Vec<f32> {
    let mut generator = SplitMix64::new(seed);
    let mut matrix: Vec<f32> = (0..n * n).map(|_| generator.between_f32(-1.0, 1.0)).collect();
    for diagonal in 0..n {
        matrix[diagonal * n + diagonal] += n as f32;
    }
    matrix
}

/// A matrix as [`Data`] lays it out.
fn in_tiles(data: &Data, matrix: &[f32]) -> Vec<f32> {
    let (tile, n) = (TILE as usize, (data.tiles * TILE) as usize);
    let mut tiled = vec![0.0; matrix.len()];
    for (row, values) in matrix.chunks_exact(n).enumerate() {
        for (tile_column, values) in (0..).zip(values.chunks_exact(tile)) {
            let first = data.tile((row / tile) as u32, tile_column) as usize + row % tile * tile;
            tiled[first..first + tile].copy_from_slice(values);
        }
    }
    tiled
}

/// The factorisation of a matrix of `tiles` x `tiles` tiles.
fn program(tiles: u32, seed: u64, memory: &mut HostMemory) -> HostProgram {
    let mut matrix = draw_matrix((tiles * TILE) as usize, seed);
    let data = Data {
        tiles,
        matrix: memory.alloc(matrix.len()),
        diagonals: memory.alloc((GPUS_MAX * TILE_WORDS) as usize),
        progress: memory.alloc((GPUS_MAX * PROGRESS_STRIDE) as usize),
    };
    for (index, value) in in_tiles(&data, &matrix).into_iter().enumerate() {
        memory.set(data.matrix, index, value);
    }
    let mut kernels = Vec::new();
    for step in 0..tiles {
        let panel = Kernel::new("panel", tiles * tiles, WAVES_PER_GROUP, move |w| panel(w, data, step));
        kernels.push(panel.registers(REGISTERS_PER_ITEM).lds(TILE_WORDS * 4));
        if step + 1 < tiles {
            let update = Kernel::new("update", tiles * tiles, WAVES_PER_GROUP, move |w| update(w, data, step));
            kernels.push(update.registers(REGISTERS_PER_ITEM).lds(TILE_WORDS * 4));
        }
    }
    reference((tiles * TILE) as usize, &mut matrix);
    HostProgram::new(kernels, vec![Output::new("factors", data.matrix, &in_tiles(&data, &matrix))])
}

impl Workload for CuSolver {
    fn name(&self) -> &'static str {
        "cusolver"
    }

    fn title(&self) -> &'static str {
        "cuSolver (dense LU)"
    }

    fn summary(&self) -> &'static str {
        "Factorises a dense matrix tile by tile; work-groups of a GPU hand the diagonal tile on under .gpu scope."
    }

    fn suite(&self) -> Suite {
        Suite::Hpc
    }

    fn papers(&self) -> &'static [Paper] {
        &[Paper::Hmg]
    }

    fn source(&self) -> &'static str {
        "Ren et al., HMG: Extending Cache Coherence Protocols Across Modern Hierarchical Multi-GPU Systems, HPCA 2020, \
         section VI, Table III (cuSolver)"
    }

    fn communicates(&self) -> bool {
        true
    }

    fn sizes(&self) -> &'static [SizeSpec] {
        &SIZES
    }

    fn build(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
        program(sizes.get("rows") / TILE, seed, memory)
    }
}

#[cfg(test)]
mod tests {
    use chorus_kernel::flat;

    use super::*;

    #[test]
    fn any_number_of_gpus_computes_the_same_factors() {
        for gpus in [1, 3, 4, 16] {
            let mut memory = HostMemory::default();
            let mut program = program(5, 7, &mut memory);
            assert_eq!(flat::run_on(gpus, &mut program, &memory), Ok(()), "{gpus} GPUs");
        }
    }

    #[test]
    fn matrices_are_cut_into_whole_tiles() {
        assert_eq!(SIZES[0].multiple_of, u64::from(TILE));
    }

    #[test]
    fn every_tile_lies_where_its_work_group_stands() {
        let mut memory = HostMemory::default();
        let data = Data { tiles: 13, matrix: memory.alloc(1), diagonals: memory.alloc(1), progress: memory.alloc(1) };
        for work_group in 0..13 * 13 {
            let (row, column) = data.owned(work_group);
            assert_eq!(data.tile(row, column), work_group * TILE_WORDS);
        }
    }

    #[test]
    fn the_product_of_the_factors_is_the_matrix() {
        let n = 40;
        let matrix = draw_matrix(n, 3);
        let mut factors = matrix.clone();
        reference(n, &mut factors);
        for row in 0..n {
            for column in 0..n {
                let lower = |k: usize| if k == row { 1.0 } else { factors[row * n + k] };
                let product: f32 = (0..=row.min(column)).map(|k| lower(k) * factors[k * n + column]).sum();
                assert!((product - matrix[row * n + column]).abs() < 1e-3, "{row} {column}");
            }
        }
    }
}
