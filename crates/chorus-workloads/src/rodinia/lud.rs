//! `lud`: the LU decomposition of a matrix in blocks of 16 x 16.
//!
//! Source: CPElide paper (Dalmia et al., MICRO 2024), section IV-D, Table II, `LUD` with 512 x 512; lud of Rodinia (Che
//! et al., IISWC 2009). Every step takes three kernels. The first, of one half-full wavefront, decomposes the block on
//! the diagonal in local data. The second has a work-group of 32 work-items per block beside it: half of them solve for
//! the block to the right, the other half for the block below. The third has a work-group of 16 x 16 per block of the
//! rest of the matrix, from which it subtracts the product of the block at the left and the block above, both copied
//! into local data. No pivots are looked for. (`lu.rs` works element by element, `cusolver.rs` like libraries.)
//!
//! Sharing: in the third kernel a chiplet has whole rows of blocks, a few words at the ends apart, but as the rest of
//! the matrix shrinks its rows move down. All chiplets read the blocks above, and a block at the left is read by all
//! work-groups of its row. The whole matrix fits one L2; what is left of it is read and written again in every step.
//!
//! Arithmetic: per element and step of a block 4 instructions: the loop, two addresses and a multiply-add; a division
//! as 8; 8 for coordinates, and 2 for the address of a row that is copied.

use std::ops::Range;

use chorus_kernel::{AccessMode, Buf, HostMemory, Kernel, LANES, Lanes, Mask, Share, Wave};

use crate::generator::SplitMix64;
use crate::program::{HostProgram, Output};
use crate::registry::{Paper, Suite, Workload};
use crate::size::{SizeSpec, Sizes};

/// Rows and columns of a block.
const BLOCK: u32 = 16;
const BLOCK_ELEMENTS: u32 = BLOCK * BLOCK;
const INTERNAL_WAVES: u32 = BLOCK_ELEMENTS / LANES as u32;
const REGISTERS_PER_ITEM: u32 = 20;

pub(crate) struct Lud;

/// The matrix takes 0.4 MB, and Table II's 1.0 MB at both larger scales. A block of the third kernel takes 64 line
/// accesses: 0.17 and 0.7 million in all. A fifteenth of Table II's matrix would be 132 rows, with 0.01 million.
static SIZES: [SizeSpec; 1] =
    [SizeSpec::new("rows", "rows and columns of the matrix", [320, 512, 512], "CPElide paper, Table II: 512.dat")
        .range(BLOCK as u64, 8192)
        .multiple_of(BLOCK as u64)];

#[derive(Clone, Copy)]
struct Matrix {
    elements: Buf<f32>,
    /// Rows of the matrix, which has as many columns.
    rows: u32,
}

impl Matrix {
    /// The first element of a block.
    fn corner(&self, block_row: u32, block_column: u32) -> u32 {
        (block_row * self.rows + block_column) * BLOCK
    }

    /// Blocks beside the one of a step, to the right as well as below.
    fn beside(&self, step: u32) -> u32 {
        self.rows / BLOCK - step - 1
    }

    /// The rows of a row of blocks.
    fn band(&self, blocks: Range<u32>) -> Range<usize> {
        let at = |block: u32| (block * BLOCK * self.rows) as usize;
        at(blocks.start)..at(blocks.end)
    }

    /// Copies a block into local data, with as many rows at a time as the lanes of `items` cover.
    async fn stage(&self, w: &Wave, items: Mask, corner: u32, local: u32) {
        let rows_at_once = items.count() / BLOCK;
        let (column, row) = (w.lane_ids() % BLOCK, w.lane_ids() / BLOCK);
        for first in (0..BLOCK).step_by(rows_at_once as usize) {
            w.alu(2).await;
            let place = (row + first) * self.rows + column + corner;
            let values = w.load_where(items, self.elements, place).await;
            w.lds_write(items, (row + first) * BLOCK + column + local, values);
        }
    }
}

/// The first kernel: the block on the diagonal.
async fn diagonal(w: Wave, matrix: Matrix, step: u32) {
    let item = w.lane_ids() % BLOCK;
    let corner = matrix.corner(step, step);
    w.alu(8).await;
    matrix.stage(&w, Mask::first(BLOCK as usize), corner, 0).await;
    w.barrier().await;
    let dot = async |lanes: Mask, row: Lanes<u32>, column: Lanes<u32>, terms: u32| {
        let mut value: Lanes<f32> = w.lds_read(lanes, row * BLOCK + column);
        for term in 0..terms {
            let left: Lanes<f32> = w.lds_read(lanes, row * BLOCK + term);
            let above: Lanes<f32> = w.lds_read(lanes, column + term * BLOCK);
            w.alu(4).await;
            value = value - left * above;
        }
        value
    };
    for i in 0..BLOCK - 1 {
        let lanes = Mask::first(BLOCK as usize) & item.where_(|item| item > i);
        let below = dot(lanes, item, Lanes::splat(i), i).await;
        let pivot: Lanes<f32> = w.lds_read(lanes, Lanes::splat(i * BLOCK + i));
        w.alu(8).await;
        w.lds_write(lanes, item * BLOCK + i, below / pivot);
        w.barrier().await;
        let right = dot(lanes, Lanes::splat(i + 1), item, i + 1).await;
        w.lds_write(lanes, item + (i + 1) * BLOCK, right);
        w.barrier().await;
    }
    // The first row stays as it is.
    for row in 1..BLOCK {
        let lanes = Mask::first(BLOCK as usize);
        w.alu(2).await;
        let values: Lanes<f32> = w.lds_read(lanes, item + row * BLOCK);
        w.store_where(lanes, matrix.elements, item + (row * matrix.rows + corner), values);
    }
}

/// The second kernel: a block to the right and the block below at the same distance.
async fn perimeter(w: Wave, matrix: Matrix, step: u32) {
    const RIGHT: u32 = BLOCK_ELEMENTS;
    const BELOW: u32 = 2 * BLOCK_ELEMENTS;
    let other = step + 1 + w.work_group();
    let (right, below) = (matrix.corner(step, other), matrix.corner(other, step));
    let item = w.lane_ids() % BLOCK;
    let solves_right = Mask::first(BLOCK as usize);
    w.alu(8).await;
    matrix.stage(&w, Mask::ALL, matrix.corner(step, step), 0).await;
    matrix.stage(&w, Mask::ALL, right, RIGHT).await;
    matrix.stage(&w, Mask::ALL, below, BELOW).await;
    w.barrier().await;
    // Lanes of both halves take different paths, one after the other.
    for row in 1..BLOCK {
        let mut value: Lanes<f32> = w.lds_read(solves_right, item + (RIGHT + row * BLOCK));
        for term in 0..row {
            let factor: Lanes<f32> = w.lds_read(solves_right, Lanes::splat(row * BLOCK + term));
            let solved: Lanes<f32> = w.lds_read(solves_right, item + (RIGHT + term * BLOCK));
            w.alu(4).await;
            value = value - factor * solved;
        }
        w.lds_write(solves_right, item + (RIGHT + row * BLOCK), value);
    }
    let own_row = item * BLOCK + BELOW;
    for column in 0..BLOCK {
        let mut value: Lanes<f32> = w.lds_read(!solves_right, own_row + column);
        for term in 0..column {
            let solved: Lanes<f32> = w.lds_read(!solves_right, own_row + term);
            let factor: Lanes<f32> = w.lds_read(!solves_right, Lanes::splat(term * BLOCK + column));
            w.alu(4).await;
            value = value - solved * factor;
        }
        let pivot: Lanes<f32> = w.lds_read(!solves_right, Lanes::splat(column * BLOCK + column));
        w.alu(8).await;
        w.lds_write(!solves_right, own_row + column, value / pivot);
    }
    w.barrier().await;
    for row in 0..BLOCK {
        let local = Lanes::splat(RIGHT).select(solves_right, Lanes::splat(BELOW));
        let corner = Lanes::splat(right).select(solves_right, Lanes::splat(below));
        // The first row of the block to the right stays as it is.
        let lanes = if row == 0 { !solves_right } else { Mask::ALL };
        w.alu(2).await;
        let values: Lanes<f32> = w.lds_read(lanes, local + item + row * BLOCK);
        w.store_where(lanes, matrix.elements, corner + item + row * matrix.rows, values);
    }
}

/// The third kernel: a block of the rest.
async fn internal(w: Wave, matrix: Matrix, step: u32) {
    let beside = matrix.beside(step);
    let (block_row, block_column) = (step + 1 + w.work_group() / beside, step + 1 + w.work_group() % beside);
    let local = w.local_ids();
    let (column, row) = (local % BLOCK, local / BLOCK);
    let place = |block_row: u32, block_column: u32| row * matrix.rows + column + matrix.corner(block_row, block_column);
    w.alu(14).await;
    let (above, left) = w
        .join(w.load(matrix.elements, place(step, block_column)), w.load(matrix.elements, place(block_row, step)))
        .await;
    w.lds_write(Mask::ALL, local, above);
    w.lds_write(Mask::ALL, local + BLOCK_ELEMENTS, left);
    w.barrier().await;
    let mut sum = Lanes::splat(0.0);
    for term in 0..BLOCK {
        let left: Lanes<f32> = w.lds_read(Mask::ALL, row * BLOCK + (BLOCK_ELEMENTS + term));
        let above: Lanes<f32> = w.lds_read(Mask::ALL, column + term * BLOCK);
        w.alu(1).await;
        sum = sum + left * above;
    }
    let own = place(block_row, block_column);
    let old = w.load(matrix.elements, own).await;
    w.alu(1).await;
    w.store(matrix.elements, own, old - sum);
}

/// The rows of blocks of a chiplet's part of the third kernel.
fn internal_rows(share: Share, step: u32, beside: u32) -> Range<u32> {
    let groups = share.groups();
    if groups.is_empty() {
        return 0..0;
    }
    step + 1 + groups.start / beside..step + 1 + groups.end.div_ceil(beside)
}

/// The kernels of a step.
fn launches(matrix: Matrix, step: u32) -> Vec<Kernel> {
    let (elements, beside) = (matrix.elements, matrix.beside(step));
    let own_band =
        move |share: Share| if share.groups().is_empty() { vec![] } else { vec![matrix.band(step..step + 1)] };
    let first = Kernel::new("lud_diagonal", 1, 1, move |w| diagonal(w, matrix, step))
        .lds(BLOCK_ELEMENTS * 4)
        .access_parts(elements, AccessMode::ReadWrite, own_band);
    if beside == 0 {
        return vec![first.registers(REGISTERS_PER_ITEM)];
    }
    // The band of the step holds the blocks to the right of all chiplets, in turns in each of its rows.
    let second = Kernel::new("lud_perimeter", beside, 1, move |w| perimeter(w, matrix, step))
        .lds(3 * BLOCK_ELEMENTS * 4)
        .access_parts(elements, AccessMode::ReadWrite, move |share| {
            let groups = share.groups();
            let below = matrix.band(step + 1 + groups.start..step + 1 + groups.end);
            own_band(share).into_iter().chain([below]).collect()
        });
    let third = Kernel::new("lud_internal", beside * beside, INTERNAL_WAVES, move |w| internal(w, matrix, step))
        .lds(2 * BLOCK_ELEMENTS * 4)
        .access_parts(elements, AccessMode::ReadWrite, move |share| {
            vec![matrix.band(internal_rows(share, step, beside))]
        })
        .access_parts(elements, AccessMode::Read, own_band);
    [first, second, third].into_iter().map(|kernel| kernel.registers(REGISTERS_PER_ITEM)).collect()
}

/// The decomposition on the host, in the order of the kernels' additions.
fn reference(rows: usize, elements: &mut [f32]) {
    let block = BLOCK as usize;
    for start in (0..rows).step_by(block) {
        let end = start + block;
        let minus_products = |elements: &[f32], row: usize, column: usize, terms: Range<usize>| {
            terms.fold(elements[row * rows + column], |value, term| {
                value - elements[row * rows + term] * elements[term * rows + column]
            })
        };
        for i in start..end - 1 {
            for row in i + 1..end {
                let below = minus_products(elements, row, i, start..i);
                elements[row * rows + i] = below / elements[i * rows + i];
            }
            for column in i + 1..end {
                elements[(i + 1) * rows + column] = minus_products(elements, i + 1, column, start..i + 1);
            }
        }
        for other in end..rows {
            for i in start..end {
                elements[i * rows + other] = minus_products(elements, i, other, start..i);
            }
            for i in start..end {
                let below = minus_products(elements, other, i, start..i);
                elements[other * rows + i] = below / elements[i * rows + i];
            }
        }
        for row in end..rows {
            for column in end..rows {
                let products = (start..end).map(|term| elements[row * rows + term] * elements[term * rows + column]);
                let sum: f32 = products.fold(0.0, |sum, product| sum + product);
                elements[row * rows + column] -= sum;
            }
        }
    }
}

impl Workload for Lud {
    fn name(&self) -> &'static str {
        "lud"
    }

    fn title(&self) -> &'static str {
        "LU decomposition in blocks"
    }

    fn summary(&self) -> &'static str {
        "Decomposes a matrix in blocks that fit local data, three kernels per step on what is left of it."
    }

    fn suite(&self) -> Suite {
        Suite::Rodinia
    }

    fn papers(&self) -> &'static [Paper] {
        &[Paper::CpElide]
    }

    fn source(&self) -> &'static str {
        "Dalmia et al., CPElide, MICRO 2024, section IV-D, Table II (LUD); Rodinia lud (Che et al., IISWC 2009)"
    }

    fn sizes(&self) -> &'static [SizeSpec] {
        &SIZES
    }

    fn build(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
        let rows = sizes.get("rows");
        let mut generator = SplitMix64::new(seed);
        let mut expected: Vec<f32> = (0..rows * rows).map(|_| generator.between_f32(-1.0, 1.0)).collect();
        // A heavy diagonal makes pivots unnecessary.
        for i in 0..rows as usize {
            expected[i * (rows as usize + 1)] += rows as f32;
        }
        let matrix = Matrix { rows, elements: memory.alloc_from(&expected) };
        reference(rows as usize, &mut expected);
        let kernels = (0..rows / BLOCK).flat_map(|step| launches(matrix, step)).collect();
        HostProgram::new(kernels, vec![Output::new("matrix", matrix.elements, &expected)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_multiply_to_the_matrix() {
        let rows = 48;
        let mut generator = SplitMix64::new(1);
        let mut given: Vec<f32> = (0..rows * rows).map(|_| generator.between_f32(-1.0, 1.0)).collect();
        (0..rows).for_each(|i| given[i * (rows + 1)] += rows as f32);
        let mut factors = given.clone();
        reference(rows, &mut factors);
        for (place, &given) in given.iter().enumerate() {
            let (row, column) = (place / rows, place % rows);
            let lower = |inner: usize| if inner == row { 1.0 } else { factors[row * rows + inner] };
            let product: f32 = (0..=row.min(column)).map(|inner| lower(inner) * factors[inner * rows + column]).sum();
            assert!((product - given).abs() < 1e-3, "{place}: {product} instead of {given}");
        }
    }
}
