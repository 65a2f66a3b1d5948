//! Matrix products with a work-item per element and no tiling.
//!
//! The kernels of GEMM, 2MM and 3MM of PolyBench/GPU (Grauer-Gray et al., Auto-tuning a High-Level Language Targeted
//! to GPU Codes, InPar 2012): a work-item walks along a row of the left and down a column of the right operand.
//! (`gemm.rs` has the product of libraries, which goes through tiles in local data.)
//!
//! Sharing, where buffers are cut into blocks: a GPU has its rows of the left operand and of the result in its own
//! memory. It reads all of the right operand, most of which lies elsewhere. All GPUs walk through the right operand
//! from its first to its last row at about the same time. Each line of it holds 16 columns, and every wavefront of
//! these columns reads it. Wavefronts of one work-group find it in their L1, wavefronts of other rows of the GPU in its
//! L2.
//!
//! Left out: the element of the result is written when the sum is complete. The original names it in every step, and a
//! compiler that cannot tell the pointers apart stores it every time, to memory of the same GPU. In the original the
//! work-items of a row read the 16 elements of a line of the left operand one by one, at the same address. Here these
//! elements are read at once.
//!
//! If `beta` is given, a sum begins with the value in the target times `beta`. It takes its terms in ascending order,
//! each rounded before it is added.
//!
//! A step waits for its operands before the next one begins, as the loop is written, so work-groups keep about the same
//! pace.
//!
//! Arithmetic: 8 instructions for the coordinates and 2 for the first addresses; for a step a multiply-add, 2
//! addresses, 2 for the loop, and 1 more with a factor; 1 for `beta`; 1 for the last address.

use chorus_kernel::{Buf, HostMemory, Kernel, Lanes, Wave};

use crate::polybench::element_grid::{ElementGrid, WAVE_COLUMNS};

/// Elements of a line of 64 bytes.
const LINE: usize = WAVE_COLUMNS as usize;
/// Registers that the loop needs.
const REGISTERS_PER_ITEM: u32 = 24;

/// A matrix that lies row by row.
#[derive(Clone, Copy, Debug)]
pub struct Matrix {
    /// The buffer that holds the elements.
    pub buf: Buf<f32>,
    pub rows: u32,
    pub columns: u32,
}

impl Matrix {
    /// A matrix of zeros.
    pub fn zero(memory: &mut HostMemory, rows: u32, columns: u32) -> Matrix {
        Matrix { buf: memory.alloc((rows * columns) as usize), rows, columns }
    }

    /// A matrix whose elements come from `draw`.
    pub fn drawn(memory: &mut HostMemory, rows: u32, columns: u32, draw: impl FnMut() -> f32) -> Matrix {
        let values: Vec<f32> = std::iter::repeat_with(draw).take((rows * columns) as usize).collect();
        Matrix { buf: memory.alloc_from(&values), rows, columns }
    }
}

/// A product `target = beta target + alpha a b`; without `beta` the first summand is left out.
#[derive(Clone, Copy, Debug)]
pub struct NaiveProduct {
    pub a: Matrix,
    pub b: Matrix,
    pub target: Matrix,
    /// The factor of every product.
    pub alpha: f32,
    /// The factor of the target's old values; none if they do not count.
    pub beta: Option<f32>,
}

impl NaiveProduct {
    /// The launch that computes the product.
    pub fn kernel(self, name: &'static str) -> Kernel {
        let Matrix { rows, columns, .. } = self.target;
        assert_eq!([self.a.rows, self.a.columns, self.b.columns], [rows, self.b.rows, columns], "shapes of {name}");
        assert_eq!(self.b.rows as usize % LINE, 0, "steps of {name}");
        let grid = ElementGrid { rows, columns };
        grid.kernel(name, move |w| multiply(w, self, grid)).registers(REGISTERS_PER_ITEM)
    }

    /// The values of the target, computed on the host from the operands and the target's old values.
    pub fn reference(&self, a: &[f32], b: &[f32], old: &[f32]) -> Vec<f32> {
        let (columns, depth) = (self.target.columns as usize, self.b.rows as usize);
        let mut target: Vec<f32> = match self.beta {
            Some(beta) => old.iter().map(|old| old * beta).collect(),
            None => vec![0.0; self.target.rows as usize * columns],
        };
        for (sums, factors) in target.chunks_exact_mut(columns).zip(a.chunks_exact(depth)) {
            for (factor, row) in factors.iter().zip(b.chunks_exact(columns)) {
                let factor = self.alpha * factor;
                sums.iter_mut().zip(row).for_each(|(sum, value)| *sum += factor * value);
            }
        }
        target
    }
}

async fn multiply(w: Wave, product: NaiveProduct, grid: ElementGrid) {
    let NaiveProduct { a, b, target, alpha, beta } = product;
    let elements = grid.elements(&w).await;
    if !elements.inside.any() {
        return;
    }
    w.alu(2).await;
    let mut sums = Lanes::splat(0.0);
    if let Some(beta) = beta {
        sums = w.load(target.buf, elements.places).await * beta;
        w.alu(1).await;
    }
    // Lanes of a row have its 16 elements of a line between them.
    let in_line = w.lane_ids() % WAVE_COLUMNS;
    for first in (0..a.columns).step_by(LINE) {
        let left = w.load(a.buf, elements.rows * a.columns + in_line + first).await;
        for step in 0..LINE {
            let right = w.load(b.buf, elements.columns + (first + step as u32) * b.columns).await;
            w.alu(if alpha == 1.0 { 5 } else { 6 }).await;
            for (lane, sum) in sums.0.iter_mut().enumerate() {
                *sum += alpha * left[lane / LINE * LINE + step] * right[lane];
            }
        }
    }
    w.alu(1).await;
    w.store_where(elements.inside, target.buf, elements.places, sums);
}

#[cfg(test)]
mod tests {
    use chorus_kernel::flat;

    use super::*;
    use crate::generator::SplitMix64;

    /// Multiplies random matrices and compares the result with the host's.
    fn check([rows, columns, depth]: [u32; 3], alpha: f32, beta: Option<f32>) {
        let mut generator = SplitMix64::new(4);
        let mut memory = HostMemory::default();
        let mut drawn = |rows, columns| Matrix::drawn(&mut memory, rows, columns, || generator.between_f32(-1.0, 1.0));
        let [a, b, target] = [drawn(rows, depth), drawn(depth, columns), drawn(rows, columns)];
        let product = NaiveProduct { a, b, target, alpha, beta };
        let expected = product.reference(&memory.read(a.buf), &memory.read(b.buf), &memory.read(target.buf));
        flat::run_kernel(&product.kernel("product"), &memory).unwrap();
        assert_eq!(memory.read(target.buf), expected);
    }

    #[test]
    fn products_are_those_of_the_host() {
        check([8, 32, 16], 1.0, None);
        check([24, 64, 48], 1.5, Some(0.5));
    }

    #[test]
    fn products_that_work_groups_do_not_divide_are_computed_whole() {
        check([11, 45, 32], 1.0, Some(2.0));
        check([1, 3, 16], 2.0, None);
    }

    #[test]
    fn the_reference_is_a_matrix_product() {
        let matrix = |rows, columns| Matrix { buf: HostMemory::default().alloc(0), rows, columns };
        let (a, b, target) = (matrix(2, 2), matrix(2, 2), matrix(2, 2));
        let product = NaiveProduct { a, b, target, alpha: 2.0, beta: Some(10.0) };
        let result = product.reference(&[1.0, 2.0, 3.0, 4.0], &[5.0, 6.0, 7.0, 8.0], &[1.0, 0.0, 0.0, 1.0]);
        assert_eq!(result, [48.0, 44.0, 86.0, 110.0]);
    }
}
