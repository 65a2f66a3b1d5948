//! `lu`: the first steps of the LU decomposition of a matrix.
//!
//! Source: REC paper (Ko et al.), section 5.1, Table 3 (LU, 128 MB); LU of PolyBench/ACC, the GPU version of PolyBench
//! (Grauer-Gray et al., InPar 2012). Step k has two kernels, with a work-item per element. The first divides the
//! elements of row k right of the diagonal by the diagonal's element. The second updates every element right of and
//! below the diagonal's: it subtracts the product of the element of its row in column k and the element of its column
//! in row k. Its work-groups have 32 x 8 work-items. There is no search for pivots. (`cusolver.rs` is the blocked
//! decomposition of libraries.)
//!
//! Sharing, where buffers are cut into blocks: a launch covers the part of the matrix that is left. With every step the
//! work-groups are fewer, and begin a row further down and a column further to the right, while the matrix stays where
//! it lies. A GPU therefore computes more and more rows that lie in the memory of the next GPU, and two wavefronts,
//! maybe of two GPUs, write one line. All GPUs together divide row k, wherever it lies, and then every work-group of
//! all GPUs reads it.
//!
//! Left out: all steps but the first few.
//!
//! Arithmetic: 4 instructions for the column and its test and 2 for addresses, a division as 8; in the second kernel 8
//! for coordinates and tests, 6 for three addresses, 1 multiply-add.

use chorus_kernel::wave::Load;
use chorus_kernel::{Buf, HostMemory, Kernel, LANES, Lanes, Mask, Wave};

use crate::generator::SplitMix64;
use crate::program::{HostProgram, Output};
use crate::registry::{Paper, Suite, Workload};
use crate::size::{SizeSpec, Sizes};

/// Columns of a work-group of the second kernel, one per lane of a wavefront.
const GROUP_COLUMNS: u32 = LANES as u32;
/// Rows of a work-group of the second kernel, one per wavefront.
const GROUP_ROWS: u32 = 8;

/// Makes the first steps of an LU decomposition.
pub struct Lu;

/// Table 3's 128 MB are a square matrix. Work-groups begin anywhere in a line, so a wavefront takes about 10 line
/// accesses in each step. Work-groups of the first kernel, which covers a row, are as many at every scale.
static SIZES: [SizeSpec; 3] = [
    SizeSpec::new(
        "side",
        "rows and columns of the matrix",
        [724, 1448, 5792],
        "REC Table 3 (LU): 128 MB, a square matrix",
    )
    .range(2, 1 << 14),
    SizeSpec::new("steps", "steps of the decomposition, of two kernels each", [4, 4, 4], "chosen: the first of all")
        .range(1, (1 << 14) - 1),
    SizeSpec::new(
        "waves_per_group",
        "wavefronts of a work-group of the first kernel",
        [1, 2, 8],
        "PolyBench/ACC LU: 256 work-items per work-group",
    )
    .range(1, 32),
];

/// A square matrix that lies row by row.
#[derive(Clone, Copy)]
struct Matrix {
    rows: u32,
    elements: Buf<f32>,
}

/// Divides the elements of row `step` right of the diagonal.
async fn divide_row(w: Wave, Matrix { rows, elements }: Matrix, step: u32) {
    let columns = w.global_ids() + (step + 1);
    let inside = columns.below(rows);
    w.alu(4).await;
    if !inside.any() {
        return;
    }
    let places = columns + step * rows;
    w.alu(2).await;
    let (old, pivot) =
        w.join(w.load_where(inside, elements, places), load_same(&w, elements, step * rows + step)).await;
    w.alu(8).await;
    w.store_where(inside, elements, places, old / pivot[0]);
}

/// Subtracts the product of column `step` and row `step` from all elements below and right of both.
async fn update(w: Wave, Matrix { rows, elements }: Matrix, step: u32) {
    let groups_per_row = (rows - step - 1).div_ceil(GROUP_COLUMNS);
    let row = step + 1 + w.work_group() / groups_per_row * GROUP_ROWS + w.id().wave;
    let columns = w.lane_ids() + (step + 1 + w.work_group() % groups_per_row * GROUP_COLUMNS);
    let inside = columns.below(rows);
    w.alu(8).await;
    if row >= rows || !inside.any() {
        return;
    }
    let places = columns + row * rows;
    w.alu(6).await;
    let [old, left, above] = w
        .join_all([
            w.load_where(inside, elements, places),
            load_same(&w, elements, row * rows + step),
            w.load_where(inside, elements, columns + step * rows),
        ])
        .await;
    w.alu(1).await;
    w.store_where(inside, elements, places, old - above * left[0]);
}

/// Loads an element that all lanes read; the first one gets it.
fn load_same(w: &Wave, elements: Buf<f32>, place: u32) -> Load<'_, f32> {
    w.load_where(Mask::lane(0), elements, Lanes::splat(place))
}

/// The kernels of one step.
fn step_kernels(matrix: Matrix, step: u32, waves_per_group: u32) -> [Kernel; 2] {
    let left = matrix.rows - step - 1;
    let row_groups = left.div_ceil(waves_per_group * LANES as u32);
    let groups = left.div_ceil(GROUP_COLUMNS) * left.div_ceil(GROUP_ROWS);
    [
        Kernel::new("lu_kernel1", row_groups, waves_per_group, move |w| divide_row(w, matrix, step)),
        Kernel::new("lu_kernel2", groups, GROUP_ROWS, move |w| update(w, matrix, step)),
    ]
}

/// One step on the host.
fn reference_step(elements: &mut [f32], rows: usize, step: usize) {
    let (above, below) = elements.split_at_mut((step + 1) * rows);
    let (pivot, row) = above[step * rows + step..].split_first_mut().expect("the diagonal is inside");
    row.iter_mut().for_each(|element| *element /= *pivot);
    for below in below.chunks_exact_mut(rows) {
        let left = below[step];
        below[step + 1..].iter_mut().zip(&*row).for_each(|(element, above)| *element -= above * left);
    }
}

impl Workload for Lu {
    fn name(&self) -> &'static str {
        "lu"
    }

    fn title(&self) -> &'static str {
        "LU decomposition"
    }

    fn summary(&self) -> &'static str {
        "Makes the first steps of an LU decomposition, two kernels each, on what is left of the matrix."
    }

    fn suite(&self) -> Suite {
        Suite::PolyBench
    }

    fn papers(&self) -> &'static [Paper] {
        &[Paper::Rec]
    }

    fn source(&self) -> &'static str {
        "Ko et al., REC, section 5.1, Table 3 (LU); PolyBench/ACC LU (Grauer-Gray et al., InPar 2012)"
    }

    fn sizes(&self) -> &'static [SizeSpec] {
        &SIZES
    }

    fn misfit(&self, sizes: &Sizes) -> Option<String> {
        let (side, steps) = (sizes.get("side"), sizes.get("steps"));
        (steps >= side).then(|| {
            format!("the decomposition of a matrix of side {side} has {} steps; steps = {steps} is more", side - 1)
        })
    }

    fn build(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
        let [rows, steps, waves_per_group] = ["side", "steps", "waves_per_group"].map(|key| sizes.get(key));
        let mut generator = SplitMix64::new(seed);
        let mut expected: Vec<f32> = (0..rows * rows).map(|_| generator.between_f32(-1.0, 1.0)).collect();
        // A heavy diagonal makes pivots unnecessary.
        expected.iter_mut().step_by(rows as usize + 1).for_each(|element| *element += rows as f32);
        let matrix = Matrix { rows, elements: memory.alloc_from(&expected) };
        (0..steps as usize).for_each(|step| reference_step(&mut expected, rows as usize, step));
        let kernels = (0..steps).flat_map(|step| step_kernels(matrix, step, waves_per_group)).collect();
        HostProgram::new(kernels, vec![Output::new("matrix", matrix.elements, &expected)])
    }
}

#[cfg(test)]
mod tests {
    use chorus_kernel::flat;

    use super::*;

    #[test]
    fn all_steps_give_factors_of_the_matrix() {
        let given = [4.0, 2.0, 8.0, 2.0, 3.0, 8.0, 4.0, 10.0, 27.0];
        let mut factors = given;
        (0..3).for_each(|step| reference_step(&mut factors, 3, step));
        let lower = |row: usize, column: usize| if column <= row { factors[row * 3 + column] } else { 0.0 };
        let upper = |row: usize, column: usize| match column.cmp(&row) {
            std::cmp::Ordering::Less => 0.0,
            std::cmp::Ordering::Equal => 1.0,
            std::cmp::Ordering::Greater => factors[row * 3 + column],
        };
        for (place, given) in given.into_iter().enumerate() {
            let product: f32 = (0..3).map(|inner| lower(place / 3, inner) * upper(inner, place % 3)).sum();
            assert_eq!(product, given);
        }
    }

    #[test]
    fn kernels_do_what_the_host_does_to_the_last_step() {
        let rows = 45;
        let mut generator = SplitMix64::new(1);
        let mut expected: Vec<f32> = (0..rows * rows).map(|_| generator.between_f32(1.0, 2.0)).collect();
        let mut memory = HostMemory::default();
        let matrix = Matrix { rows, elements: memory.alloc_from(&expected) };
        for step in 0..rows - 1 {
            reference_step(&mut expected, rows as usize, step as usize);
            for kernel in step_kernels(matrix, step, 1) {
                flat::run_kernel(&kernel, &memory).unwrap();
            }
        }
        assert_eq!(memory.read(matrix.elements), expected);
    }
}
