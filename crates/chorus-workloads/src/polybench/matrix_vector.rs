//! Products of a matrix and a vector, with a work-item per row or per column of the matrix.
//!
//! The kernels of ATAX and GEMVER of PolyBench/GPU (Grauer-Gray et al., Auto-tuning a High-Level Language Targeted to
//! GPU Codes, InPar 2012). Where there is a work-item per row, it walks along its row. The lanes of a wavefront then
//! read one line in each of their rows at a time, and come back to each line until they have passed it. Where there is
//! a work-item per column, it walks down its column, and a wavefront reads adjacent elements of one row at a time.
//!
//! Sharing, where buffers are cut into blocks: a GPU reads rows from its own memory, but a column goes through the
//! memory of all GPUs. Walking down, every GPU reads its columns of every row, and most rows lie elsewhere. All GPUs
//! read the same vector.
//!
//! Left out: sums are written when they are complete. The original names the element in every step, and a compiler
//! that cannot tell the pointers apart stores it every time, to memory of the same GPU. A work-item reads four
//! elements of its row at a time, the widest load there is, instead of one. The lines and their order are the same, and
//! fewer loads find a line in the L1. In the original all work-items read the elements of a line of the vector one by
//! one, at the same address. Here the elements of a line are read at once.
//!
//! A sum begins with the value in the target and takes its terms in ascending order, each rounded before it is added.
//!
//! A step waits for its operands before the next one begins, as the loop is written. By rows, four steps wait together,
//! since their operands come in one load.
//!
//! Arithmetic: 4 instructions for the number of the row or column, its test and addresses; for a step a multiply-add, 2
//! addresses, 2 for the loop, and 1 more with a factor; 2 at the end.

use chorus_kernel::{Buf, Kernel, LANES, Lanes, Mask, Wave};

/// Elements of a line of 64 bytes.
const LINE: usize = 16;
/// Elements of a row that a work-item loads at a time.
const WIDE: usize = 4;
const WIDE_U32: u32 = WIDE as u32;
/// Rows that one load covers, with `WIDE` elements of each.
const ROWS_PER_LOAD: u32 = (LANES / WIDE) as u32;
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
        assert_eq!(self.columns as usize % LINE, 0, "steps of {name}");
        let work_groups = self.rows.div_ceil(waves_per_group * LANES as u32);
        Kernel::new(name, work_groups, waves_per_group, move |w| by_rows(w, self)).registers(REGISTERS_PER_ITEM)
    }

    /// The launch of a work-item per column, for the transposed matrix.
    pub fn by_columns(self, name: &'static str, waves_per_group: u32) -> Kernel {
        assert_eq!(self.rows as usize % LINE, 0, "steps of {name}");
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

async fn by_rows(w: Wave, product: MatrixVector) {
    let MatrixVector { rows, columns, matrix, vector, factor, .. } = product;
    let items = w.global_ids();
    let inside = items.below(rows);
    w.alu(4).await;
    if !inside.any() {
        return;
    }
    let mut sums = w.load_where(inside, product.target, items).await;
    for first in (0..columns).step_by(LINE) {
        let values = w.load_where(Mask::first(LINE), vector, w.lane_ids() + first).await;
        for column in (first..first + LINE as u32).step_by(WIDE) {
            // Each load holds four elements of eight rows.
            let elements: [_; WIDE] = std::array::from_fn(|load| {
                let row = items[0] + load as u32 * ROWS_PER_LOAD;
                w.load(
                    matrix,
                    w.lane_ids().map(|l| (row + l / WIDE_U32).min(rows - 1) * columns + column + l % WIDE_U32),
                )
            });
            let elements = w.join_all(elements).await;
            w.alu(WIDE_U32 * product.alu_per_step()).await;
            for (lane, sum) in sums.0.iter_mut().enumerate() {
                let row = &elements[lane / ROWS_PER_LOAD as usize].0[lane % ROWS_PER_LOAD as usize * WIDE..][..WIDE];
                let values = &values.0[(column - first) as usize..];
                row.iter().zip(values).for_each(|(element, value)| *sum += factor * element * value);
            }
        }
    }
    store(&w, product, inside, items, sums).await;
}

async fn by_columns(w: Wave, product: MatrixVector) {
    let MatrixVector { rows, columns, matrix, vector, factor, .. } = product;
    let items = w.global_ids();
    let inside = items.below(columns);
    w.alu(4).await;
    if !inside.any() {
        return;
    }
    let mut sums = w.load_where(inside, product.target, items).await;
    for first in (0..rows).step_by(LINE) {
        let values = w.load_where(Mask::first(LINE), vector, w.lane_ids() + first).await;
        for (row, value) in (first..).zip(&values.0[..LINE]) {
            let elements = w.load_where(inside, matrix, items + row * columns).await;
            w.alu(product.alu_per_step()).await;
            for (sum, element) in sums.0.iter_mut().zip(&elements.0) {
                *sum += factor * element * value;
            }
        }
    }
    store(&w, product, inside, items, sums).await;
}

async fn store(w: &Wave, product: MatrixVector, inside: Mask, items: Lanes<u32>, mut sums: Lanes<f32>) {
    if let Some(addend) = product.addend {
        sums = sums + w.load_where(inside, addend, items).await;
    }
    w.alu(2).await;
    w.store_where(inside, product.target, items, sums);
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
