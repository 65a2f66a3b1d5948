//! `st`: a weighted nine-point stencil on a matrix with a halo, tiles in local data.
//!
//! Source: REC paper (Ko et al.), section 5.1, Table 3, `Stencil 2D`; Stencil2D of SHOC (Danalis et al., GPGPU 2010),
//! its OpenCL kernel and weights. A work-group of 64 work-items computes a tile of 16 rows and 64 columns: every
//! work-item loads its column of 18 rows into local data, the first and the last one the columns beside the tile as
//! well, and after a barrier it computes 16 rows. Two matrices take turns, one kernel per iteration. Rows are padded to
//! 16 words, and the first column is the halo, so no row of a tile begins with a line.
//!
//! Sharing, where buffers are cut into blocks: SHOC makes rows the first dimension of the launch, so work-groups are
//! numbered down the columns of tiles. A contiguous range of them is a strip of the matrix from top to bottom, while a
//! contiguous part of the buffer is a band from left to right: a GPU finds only its share of the strip in its own
//! memory and reads and writes the rest in those of the others, four or five lines of a row at a time. Every iteration
//! reads what the one before wrote, by the same work-group but for the halo of each tile.
//!
//! Left out: most of the iterations (SHOC makes 1000, MGPUSim 5), and the kernel that copies halos between processes.
//!
//! Arithmetic: 14 instructions for coordinates and the pitch; 2 per load for its addresses; per element 9 addresses, 6
//! additions, a multiplication and two fused multiply-adds.

use chorus_kernel::wave::Load;
use chorus_kernel::{Buf, HostMemory, Kernel, LANES, Lanes, Mask, Wave};

use crate::generator::SplitMix64;
use crate::program::{HostProgram, Output};
use crate::registry::{Paper, Suite, Workload};
use crate::size::{SizeSpec, Sizes};

const TILE_ROWS: u32 = 16;
const TILE_COLUMNS: u32 = 64;
const WAVES_PER_GROUP: u32 = TILE_COLUMNS / LANES as u32;
/// Words of a row of a tile in local data, with its halo.
const LOCAL_ROW: u32 = TILE_COLUMNS + 2;
/// Rows begin at multiples of so many words.
const ALIGNMENT: u32 = 16;

/// SHOC's weights of an element, of those beside it, and of those across its corners.
const CENTRE: f32 = 0.25;
const CARDINAL: f32 = 0.15;
const DIAGONAL: f32 = 0.05;

pub(crate) struct St;

/// Table 3's 128 MB are exactly two matrices of 4096 rows and columns, without their halos. A tile takes about 240 line
/// accesses of 64 bytes.
static SIZES: [SizeSpec; 3] = [
    SizeSpec::new("rows", "rows of the matrix without its halo", [512, 1024, 4096], "REC paper, Table 3: 128 MB")
        .range(TILE_ROWS as u64, 1 << 16)
        .multiple_of(TILE_ROWS as u64),
    SizeSpec::new("columns", "columns of the matrix without its halo", [512, 1024, 4096], "REC paper, Table 3: 128 MB")
        .range(TILE_COLUMNS as u64, 1 << 16)
        .multiple_of(TILE_COLUMNS as u64),
    SizeSpec::new("iterations", "times that the stencil is applied", [5, 5, 5], "MGPUSim's usual number")
        .range(1, 1000),
];

/// The matrix without its halo.
#[derive(Clone, Copy)]
struct Matrix {
    rows: u32,
    columns: u32,
}

impl Matrix {
    fn of(sizes: &Sizes) -> Matrix {
        Matrix { rows: sizes.get("rows"), columns: sizes.get("columns") }
    }

    /// Words from one row to the next.
    fn pitch(self) -> u32 {
        (self.columns + 2).next_multiple_of(ALIGNMENT)
    }

    /// Words of the matrix with halo and padding.
    fn words(self) -> u64 {
        u64::from(self.rows + 2) * u64::from(self.pitch())
    }

    fn tiles_down(self) -> u32 {
        self.rows / TILE_ROWS
    }

    fn tiles(self) -> u32 {
        self.tiles_down() * (self.columns / TILE_COLUMNS)
    }
}

/// The new value of an element, given three rows of three, in the source's order of additions.
fn smooth([[nw, n, ne], [west, centre, east], [sw, s, se]]: [[f32; 3]; 3]) -> f32 {
    CENTRE * centre + CARDINAL * (n + s + east + west) + DIAGONAL * (ne + se + nw + sw)
}

/// Loads one or more columns of the tile's 18 rows, from the word `first` of the uppermost on.
async fn load_columns<'w>(
    w: &'w Wave,
    mask: Mask,
    data: Buf<f32>,
    first: Lanes<u32>,
    pitch: u32,
) -> Vec<Load<'w, f32>> {
    let mut loads = Vec::new();
    for row in 0..TILE_ROWS + 2 {
        w.alu(2).await;
        loads.push(w.load_where(mask, data, first + row * pitch));
    }
    loads
}

/// Puts columns into local data, from the word `first` of the uppermost row on.
async fn put_columns(w: &Wave, mask: Mask, first: Lanes<u32>, loads: Vec<Load<'_, f32>>) {
    for (load, row) in loads.into_iter().zip(0..) {
        let values = load.await;
        w.lds_write(mask, first + row * LOCAL_ROW, values);
    }
}

async fn stencil(w: Wave, matrix: Matrix, data: Buf<f32>, new_data: Buf<f32>) {
    let (tile_row, tile_column) = (w.work_group() % matrix.tiles_down(), w.work_group() / matrix.tiles_down());
    let (pitch, local) = (matrix.pitch(), w.local_ids());
    // The word of the work-item's column in the row above the tile; the halo shifts everything by a row and a column.
    let above = local + tile_row * TILE_ROWS * pitch + tile_column * TILE_COLUMNS + 1;
    w.alu(14).await;
    // Only the first and the last column of the tile have another beside them, and never both in one wavefront.
    let is_first = w.id().wave == 0;
    let edge = Mask::lane(if is_first { 0 } else { LANES - 1 });
    let beside = |at: Lanes<u32>| at.map(|at| if is_first { at.wrapping_sub(1) } else { at + 1 });
    let own = load_columns(&w, Mask::ALL, data, above, pitch).await;
    let halo = load_columns(&w, edge, data, beside(above), pitch).await;
    put_columns(&w, Mask::ALL, local + 1, own).await;
    put_columns(&w, edge, beside(local + 1), halo).await;
    w.barrier().await;
    for row in 0..TILE_ROWS {
        let near: [[Lanes<f32>; 3]; 3] = std::array::from_fn(|down| {
            std::array::from_fn(|across| w.lds_read(Mask::ALL, local + (row + down as u32) * LOCAL_ROW + across as u32))
        });
        w.alu(18).await;
        let value = Lanes::from_fn(|lane| smooth(near.map(|row| row.map(|values| values[lane]))));
        w.store(new_data, above + (row + 1) * pitch, value);
    }
}

/// An iteration on the host; halo and padding stay as they are in `new_data`.
fn reference_step(matrix: Matrix, data: &[f32], new_data: &mut [f32]) {
    let pitch = matrix.pitch() as usize;
    for row in 1..=matrix.rows as usize {
        for column in 1..=matrix.columns as usize {
            let near = |down: usize, across: usize| data[(row + down - 1) * pitch + column + across - 1];
            let around = std::array::from_fn(|down| std::array::from_fn(|across| near(down, across)));
            new_data[row * pitch + column] = smooth(around);
        }
    }
}

impl Workload for St {
    fn name(&self) -> &'static str {
        "st"
    }

    fn title(&self) -> &'static str {
        "Stencil 2D"
    }

    fn summary(&self) -> &'static str {
        "Applies a nine-point stencil, one kernel per iteration; GPUs take strips across the bands of memory."
    }

    fn suite(&self) -> Suite {
        Suite::Shoc
    }

    fn papers(&self) -> &'static [Paper] {
        &[Paper::Rec]
    }

    fn source(&self) -> &'static str {
        "Ko et al., REC: Enhancing fine-grained cache coherence protocol in multi-GPU systems, \
         section 5.1, Table 3 (ST); \
         SHOC Stencil2D (Danalis et al., GPGPU 2010)"
    }

    fn sizes(&self) -> &'static [SizeSpec] {
        &SIZES
    }

    fn misfit(&self, sizes: &Sizes) -> Option<String> {
        sizes.too_large(2 * Matrix::of(sizes).words(), &["rows", "columns"])
    }

    fn build(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
        let (matrix, iterations) = (Matrix::of(sizes), sizes.get("iterations") as usize);
        let mut generator = SplitMix64::new(seed);
        let initial: Vec<f32> = (0..matrix.words()).map(|_| generator.unit_f32()).collect();
        let bufs = [memory.alloc_from(&initial), memory.alloc_from(&initial)];
        let [mut data, mut new_data] = [initial.clone(), initial];
        let mut kernels = Vec::new();
        for iteration in 0..iterations {
            let (from, to) = (bufs[iteration % 2], bufs[(iteration + 1) % 2]);
            let body = move |w| stencil(w, matrix, from, to);
            let kernel = Kernel::new("stencil", matrix.tiles(), WAVES_PER_GROUP, body);
            kernels.push(kernel.registers(32).lds((TILE_ROWS + 2) * LOCAL_ROW * 4));
            reference_step(matrix, &data, &mut new_data);
            std::mem::swap(&mut data, &mut new_data);
        }
        let last = iterations % 2;
        let outputs = vec![
            Output::new("matrix", bufs[last], &data),
            Output::new("matrix before the last iteration", bufs[1 - last], &new_data),
        ];
        HostProgram::new(kernels, outputs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_fall_off_from_the_centre_and_the_halo_stays() {
        let matrix = Matrix { rows: 3, columns: 3 };
        let pitch = matrix.pitch() as usize;
        let mut data = vec![0.0; matrix.words() as usize];
        data[2 * pitch + 2] = 1.0;
        let mut new_data = vec![7.0; data.len()];
        reference_step(matrix, &data, &mut new_data);
        let rows: Vec<&[f32]> = (1..=3).map(|row| &new_data[row * pitch + 1..row * pitch + 4]).collect();
        let (d, c) = (DIAGONAL, CARDINAL);
        assert_eq!(rows, [[d, c, d], [c, CENTRE, c], [d, c, d]]);
        assert_eq!(new_data[0], 7.0);
    }
}
