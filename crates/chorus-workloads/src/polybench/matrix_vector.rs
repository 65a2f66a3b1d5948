//! Products of a matrix and a vector, with a work-item per row or per column of the matrix.
//!
//! The kernels of ATAX and GEMVER of PolyBench/GPU (Grauer-Gray et al., Auto-tuning a High-Level Language Targeted to
//! GPU Codes, InPar 2012). Where there is a work-item per row, it walks along its row. The lanes of a wavefront then
//! read one line in each of their rows at a time, and come back to each line until they have passed it. Where there is
//! a work-item per column, it walks down its column, and a wavefront reads adjacent elements of one row at a time.
//!
//! A step is that of the binary that MGPUSim, the REC paper's simulator, runs for ATAX (its
//! `benchmarks/polybench/atax/kernels.disasm`): every work-item loads one element of the matrix, all of them the same
//! element of the vector, and when both are there the sum so far is stored. The compiler cannot tell the pointers
//! apart, so it neither loads several elements at once nor keeps the sum to itself, though it does not load it again.
//!
//! Sharing, where buffers are cut into blocks: a GPU reads rows from its own memory, but a column goes through the
//! memory of all GPUs. Walking down, every GPU reads its columns of every row, and most rows lie elsewhere. All GPUs
//! read the same vector.
//!
//! Left out: the binary waits for the store of a step before it computes the sum of the next.
//!
//! A sum begins with the value in the target and takes its terms in ascending order, each rounded before it is added.
//!
//! Arithmetic: 4 instructions for the number of the row or column, its test and addresses; for a step a multiply-add, 2
//! addresses, 2 for the loop, and 1 more with a factor; 2 for an addend.

use chorus_kernel::{Buf, Kernel, LANES, Lanes, Mask, Wave};

/// Registers that the loops need.
const REGISTERS_PER_ITEM: u32 = 24;

/// A product `target += factor matrix vector + addend`, with the matrix as it lies or transposed.
#[derive(Clone, Copy, Debug)]
pub struct MatrixVector {
    /// Rows of the matrix.
    pub rows: u32,
    /// Columns of the matrix.
    pub columns: u32,
    /// The matrix, row by row.
    pub matrix: Buf<f32>,
    /// The vector: an element per column of the matrix, or per row where the matrix is transposed.
    pub vector: Buf<f32>,
    /// The factor of every element of the matrix.
    pub factor: f32,
    /// A vector that is added to the complete sums.
    pub addend: Option<Buf<f32>>,
    /// The result: an element per row of the matrix, or per column where the matrix is transposed.
    pub target: Buf<f32>,
}

impl MatrixVector {
    /// The launch of a work-item per row.
    pub fn by_rows(self, name: &'static str, waves_per_group: u32) -> Kernel {
        let work_groups = self.rows.div_ceil(waves_per_group * LANES as u32);
        Kernel::new(name, work_groups, waves_per_group, move |w| by_rows(w, self)).registers(REGISTERS_PER_ITEM)
    }

    /// The launch of a work-item per column, for the transposed matrix.
    pub fn by_columns(self, name: &'static str, waves_per_group: u32) -> Kernel {
        let work_groups = self.columns.div_ceil(waves_per_group * LANES as u32);
        Kernel::new(name, work_groups, waves_per_group, move |w| by_columns(w, self)).registers(REGISTERS_PER_ITEM)
    }

    /// The target after [`MatrixVector::by_rows`], computed on the host from the values of the other buffers.
    pub fn reference_by_rows(&self, matrix: &[f32], vector: &[f32], addend: &[f32], old: &[f32]) -> Vec<f32> {
        let rows = matrix.chunks_exact(self.columns as usize);
        let sum = |(row, &old): (&[f32], &f32)| {
            row.iter().zip(vector).fold(old, |sum, (element, value)| sum + self.factor * element * value)
        };
        self.finish(rows.zip(old).map(sum).collect(), addend)
    }

    /// The target after [`MatrixVector::by_columns`], computed on the host.
    pub fn reference_by_columns(&self, matrix: &[f32], vector: &[f32], addend: &[f32], old: &[f32]) -> Vec<f32> {
        let mut sums = old.to_vec();
        for (row, value) in matrix.chunks_exact(self.columns as usize).zip(vector) {
            sums.iter_mut().zip(row).for_each(|(sum, element)| *sum += self.factor * element * value);
        }
        self.finish(sums, addend)
    }

    fn finish(&self, mut sums: Vec<f32>, addend: &[f32]) -> Vec<f32> {
        if self.addend.is_some() {
            sums.iter_mut().zip(addend).for_each(|(sum, addend)| *sum += addend);
        }
        sums
    }

    /// Instructions of a step.
    fn alu_per_step(&self) -> u32 {
        if self.factor == 1.0 { 5 } else { 6 }
    }
}

/// A work-item per row: in each step, its elements of one column.
async fn by_rows(w: Wave, product: MatrixVector) {
    let MatrixVector { rows, columns, .. } = product;
    let first = w.global_ids() * columns;
    walk(w, product, rows, columns, |column| first + column).await;
}

/// A work-item per column: in each step, its elements of one row.
async fn by_columns(w: Wave, product: MatrixVector) {
    let MatrixVector { rows, columns, .. } = product;
    let first = w.global_ids();
    walk(w, product, columns, rows, |row| first + row * columns).await;
}

/// Adds up the products of `steps` elements for each of `sums` work-items. `places` says where their elements of a step
/// lie in the matrix.
async fn walk(w: Wave, product: MatrixVector, sums: u32, steps: u32, places: impl Fn(u32) -> Lanes<u32>) {
    let items = w.global_ids();
    let inside = items.below(sums);
    w.alu(4).await;
    if !inside.any() {
        return;
    }
    let mut sums = w.load_where(inside, product.target, items).await;
    for step in 0..steps {
        let value = w.load_where(Mask::lane(0), product.vector, Lanes::splat(step));
        let (value, elements) = w.join(value, w.load_where(inside, product.matrix, places(step))).await;
        w.alu(product.alu_per_step()).await;
        for (sum, element) in sums.0.iter_mut().zip(&elements.0) {
            *sum += product.factor * element * value[0];
        }
        w.store_where(inside, product.target, items, sums);
    }
    if let Some(addend) = product.addend {
        sums = sums + w.load_where(inside, addend, items).await;
        w.alu(2).await;
        w.store_where(inside, product.target, items, sums);
    }
}

#[cfg(test)]
mod tests {
    use chorus_kernel::{HostMemory, flat};

    use super::*;
    use crate::generator::SplitMix64;

    /// Multiplies a random matrix both ways and compares the results with the host's.
    fn check(rows: u32, columns: u32, factor: f32, with_addend: bool) {
        let mut generator = SplitMix64::new(6);
        let mut draw = |len: u32| (0..len).map(|_| generator.between_f32(-1.0, 1.0)).collect::<Vec<f32>>();
        let (elements, per_row, per_column) = (draw(rows * columns), draw(rows), draw(columns));
        let (row_addend, column_addend) = (draw(rows), draw(columns));
        let mut memory = HostMemory::default();
        let matrix = memory.alloc_from(&elements);
        let [x, y] = [&per_column, &per_row].map(|values| memory.alloc_from(values));
        let product = MatrixVector { rows, columns, matrix, vector: x, factor, addend: None, target: y };
        let addend = with_addend.then(|| memory.alloc_from(&row_addend));
        let along = MatrixVector { addend, ..product };
        let expected = along.reference_by_rows(&elements, &per_column, &row_addend, &per_row);
        flat::run_kernel(&along.by_rows("along", 2), &memory).unwrap();
        assert_eq!(memory.read(y), expected);
        let addend = with_addend.then(|| memory.alloc_from(&column_addend));
        let down = MatrixVector { vector: y, target: x, addend, ..product };
        let after = down.reference_by_columns(&elements, &expected, &column_addend, &per_column);
        flat::run_kernel(&down.by_columns("down", 2), &memory).unwrap();
        assert_eq!(memory.read(x), after);
    }

    #[test]
    fn products_are_those_of_the_host() {
        check(64, 64, 1.0, false);
        check(48, 80, 1.5, true);
    }

    #[test]
    fn wavefronts_and_work_groups_need_not_be_full() {
        check(16, 112, 1.0, true);
        check(176, 16, 0.5, false);
    }
}
