//! `c2d`: a 3 x 3 convolution of a matrix, one work-item per element.
//!
//! Source: REC paper (Ko et al.), section 5.1, Table 3, `2-D convolution`; 2DCONV of PolyBench-GPU (Grauer-Gray et al.,
//! InPar 2012), with its coefficients and its one launch. A work-group is 32 columns and 8 rows, numbered along the row
//! first; a work-item reads the nine elements around its own straight from memory and writes one. The border of the
//! result stays as it is.
//!
//! Sharing, where buffers are cut into blocks: rows of work-groups read the matrix in the order in which it lies in
//! memory. Where matrix and work-groups are both cut into contiguous parts, a GPU reads its own part and the rows next
//! to it. Reuse comes from the overlap of adjacent windows: an element is read nine times within its work-group. Rows
//! at the edge of a work-group are read once more by the next row of work-groups, after a whole row of work-groups.
//!
//! Left out: nothing.
//!
//! Arithmetic: 8 instructions for row, column and the test against the border; per element of the window 1 for its
//! address and a fused multiply-add.

use chorus_kernel::{Buf, HostMemory, Kernel, LANES, Lanes, Wave};

use crate::generator::SplitMix64;
use crate::program::{HostProgram, Output};
use crate::registry::{Paper, Suite, Workload};
use crate::size::{SizeSpec, Sizes};

/// Rows of a work-group: one for each wavefront, which takes 32 columns.
const GROUP_ROWS: u32 = 8;
const GROUP_COLUMNS: u32 = LANES as u32;

/// PolyBench's coefficients, row by row.
const WINDOW: [f32; 9] = [0.2, 0.5, -0.8, -0.3, 0.6, -0.9, 0.4, 0.7, 0.1];

/// Convolves a matrix with a window of 3 x 3.
pub struct C2d;

/// Table 3's 512 MB are exactly two square matrices of 8192 rows. PolyBench's own sides are powers of two as well. So
/// elements above each other lie in the same set of an L1. A wavefront takes 26 line accesses of 64 bytes, 24 of them
/// for its nine reads.
static SIZES: [SizeSpec; 1] = [SizeSpec::new(
    "side",
    "rows and columns of the matrix",
    [1024, 2048, 8192],
    "REC Table 3 (C2D): 512 MB, two square matrices",
)
.range(3, 1 << 14)];

/// The sum of the window's elements, times their coefficients, in the order of the source.
fn weigh(window: [f32; 9]) -> f32 {
    let terms = WINDOW.iter().zip(window).map(|(coefficient, element)| coefficient * element);
    terms.reduce(|sum, term| sum + term).unwrap_or(0.0)
}

/// Whether a row or column has neighbours on both sides.
fn is_inside(side: u32, at: u32) -> bool {
    (1..side - 1).contains(&at)
}

async fn convolve(w: Wave, side: u32, from: Buf<f32>, to: Buf<f32>) {
    let groups_across = side.div_ceil(GROUP_COLUMNS);
    let column = w.lane_ids() + w.work_group() % groups_across * GROUP_COLUMNS;
    let row = w.work_group() / groups_across * GROUP_ROWS + w.id().wave;
    w.alu(8).await;
    let inside = column.where_(|column| is_inside(side, row) && is_inside(side, column));
    if !inside.any() {
        return;
    }
    let element = column + row * side;
    let north_west = element.map(|element| element.wrapping_sub(side + 1));
    w.alu(9).await;
    let place = |place: u32| north_west.map(|first| first.wrapping_add(place / 3 * side + place % 3));
    let window = w.join_all::<f32, 9>(std::array::from_fn(|at| w.load_where(inside, from, place(at as u32)))).await;
    w.alu(9).await;
    w.store_where(inside, to, element, Lanes::from_fn(|lane| weigh(window.map(|values| values[lane]))));
}

/// The convolution on the host. Elements of the border have no window and stay zero.
fn reference(side: usize, from: &[f32]) -> Vec<f32> {
    let mut to = vec![0.0; from.len()];
    for row in 1..side - 1 {
        for column in 1..side - 1 {
            let window = |place: usize| from[(row + place / 3 - 1) * side + column + place % 3 - 1];
            to[row * side + column] = weigh(std::array::from_fn(window));
        }
    }
    to
}

impl Workload for C2d {
    fn name(&self) -> &'static str {
        "c2d"
    }

    fn title(&self) -> &'static str {
        "2-D convolution"
    }

    fn summary(&self) -> &'static str {
        "Convolves a matrix with a 3 x 3 window in one kernel, a work-item per element, straight from memory."
    }

    fn suite(&self) -> Suite {
        Suite::PolyBench
    }

    fn papers(&self) -> &'static [Paper] {
        &[Paper::Rec]
    }

    fn source(&self) -> &'static str {
        "Ko et al., REC: Enhancing fine-grained cache coherence protocol in multi-GPU systems, \
         section 5.1, Table 3 (C2D); \
         PolyBench-GPU 2DCONV (Grauer-Gray et al., InPar 2012)"
    }

    fn sizes(&self) -> &'static [SizeSpec] {
        &SIZES
    }

    fn build(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
        let side = sizes.get("side");
        let mut generator = SplitMix64::new(seed);
        let matrix: Vec<f32> = (0..side * side).map(|_| generator.unit_f32()).collect();
        let (from, to) = (memory.alloc_from(&matrix), memory.alloc(matrix.len()));
        let work_groups = side.div_ceil(GROUP_COLUMNS) * side.div_ceil(GROUP_ROWS);
        let kernel =
            Kernel::new("convolve", work_groups, GROUP_ROWS, move |w| convolve(w, side, from, to)).registers(24);
        let expected = reference(side as usize, &matrix);
        HostProgram::new(vec![kernel], vec![Output::new("result", to, &expected)])
    }
}

#[cfg(test)]
mod tests {
    use chorus_kernel::flat;

    use super::*;

    #[test]
    fn a_single_one_spreads_the_coefficients_around_it() {
        let mut matrix = [0.0; 25];
        matrix[12] = 1.0;
        let result = reference(5, &matrix);
        let around: Vec<f32> = [6, 7, 8, 11, 12, 13, 16, 17, 18].map(|at| result[at]).to_vec();
        assert_eq!(around, WINDOW.iter().rev().copied().collect::<Vec<f32>>());
    }

    #[test]
    fn a_matrix_that_work_groups_do_not_divide_is_convolved_whole() {
        let matrix: Vec<f32> = (0..37 * 37).map(|at| (at % 11) as f32).collect();
        let mut memory = HostMemory::default();
        let (from, to) = (memory.alloc_from(&matrix), memory.alloc(matrix.len()));
        let kernel = Kernel::new("convolve", 2 * 5, GROUP_ROWS, move |w| convolve(w, 37, from, to));
        flat::run_kernel(&kernel, &memory).unwrap();
        assert_eq!(memory.read(to), reference(37, &matrix));
    }
}
