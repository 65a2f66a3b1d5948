//! `gaussian`: Gaussian elimination of a system of linear equations, two kernels per column.
//!
//! Source: CPElide paper (Dalmia et al., MICRO 2024), section IV-D, Table II, `Gaussian` with 256 x 256; gaussian of
//! Rodinia (Che et al., IISWC 2009). For every column the first kernel, of one work-group of 512 work-items, divides
//! the elements below the diagonal by the diagonal's element and stores the quotients in a second matrix, a work-item
//! per row. The next one subtracts from every element below and to the right the quotient of its row times what the
//! pivot's row has in its column, and does the same to the right-hand side. Its work-groups are 4 x 4 work-items, whose
//! first coordinate is the row: a wavefront is half full and touches four words in each of four rows.
//!
//! Sharing: work-groups are counted down the rows first, so a chiplet has some columns of all rows; with every step
//! they begin one column further to the right. A page holds several whole rows, and the first work-group of all reads
//! the first column of each, so all pages lie where it runs. All chiplets read the pivot's row and the quotients.
//!
//! Left out: the back substitution, which Rodinia does on the host.
//!
//! Arithmetic: 8 instructions for the index, its test and three addresses and a division as 8 in the first kernel; 14
//! for coordinates, tests and addresses and 1 multiply-add in the second, and 4 more for the right-hand side.

use std::ops::Range;

use chorus_kernel::{AccessMode, Buf, HostMemory, Kernel, LANES, Lanes, Mask, Share, Wave};

use crate::generator::SplitMix64;
use crate::program::{HostProgram, Output};
use crate::registry::{Paper, Suite, Workload};
use crate::shares::rows_of;
use crate::size::{SizeSpec, Sizes};

/// Work-items of the first kernel: a work-group.
const DIVIDING_ITEMS: u32 = 512;
/// Rows and columns of a work-group of the second kernel.
const BLOCK: u32 = 4;

pub(crate) struct Gaussian;

/// Both matrices take 62 KB, 157 KB and Table II's 0.5 MB. A work-group of the second kernel takes about 14 line
/// accesses, in as many steps as there are rows: 0.22, 0.9 and 5.4 million in all. A fifteenth of Table II's matrix
/// would be 66 rows, with 0.09 million.
static SIZES: [SizeSpec; 1] =
    [SizeSpec::new("rows", "rows and columns of the matrix", [88, 140, 256], "CPElide paper, Table II: 256 x 256")
        .range(2, 8192)];

#[derive(Clone, Copy)]
struct System {
    rows: u32,
    matrix: Buf<f32>,
    quotients: Buf<f32>,
    right_side: Buf<f32>,
}

impl System {
    /// Blocks of the second kernel, in rows and in columns.
    fn blocks(&self) -> u32 {
        self.rows.div_ceil(BLOCK)
    }
}

/// The first kernel of a step.
async fn fan1(w: Wave, system: System, step: u32) {
    let rows = system.rows;
    let row = w.global_ids() + (step + 1);
    let below = row.below(rows);
    w.alu(8).await;
    if !below.any() {
        return;
    }
    let place = row * rows + step;
    let pivot = w.load_where(Mask::lane(0), system.matrix, Lanes::splat(step * rows + step));
    let (values, pivot) = w.join(w.load_where(below, system.matrix, place), pivot).await;
    w.alu(8).await;
    w.store_where(below, system.quotients, place, values / pivot[0]);
}

/// The second kernel of a step.
async fn fan2(w: Wave, system: System, step: u32) {
    let (rows, blocks) = (system.rows, system.blocks());
    let local = w.local_ids();
    let row = local % BLOCK + (w.work_group() % blocks * BLOCK + 1 + step);
    let column = local / BLOCK + (w.work_group() / blocks * BLOCK + step);
    let inside = Mask::first((BLOCK * BLOCK) as usize) & row.below(rows) & column.below(rows);
    w.alu(14).await;
    if !inside.any() {
        return;
    }
    let place = row * rows + column;
    let [old, quotients, above] = w
        .join_all([
            w.load_where(inside, system.matrix, place),
            w.load_where(inside, system.quotients, row * rows + step),
            w.load_where(inside, system.matrix, column + step * rows),
        ])
        .await;
    w.alu(1).await;
    w.store_where(inside, system.matrix, place, old - quotients * above);
    let first = inside & column.where_(|column| column == step);
    if !first.any() {
        return;
    }
    w.alu(4).await;
    let [old, above] = w
        .join_all([
            w.load_where(first, system.right_side, row),
            w.load_where(Mask::lane(0), system.right_side, Lanes::splat(step)),
        ])
        .await;
    w.store_where(first, system.right_side, row, old - quotients * above[0]);
}

impl System {
    /// The kernels of a step.
    fn step(self, step: u32) -> [Kernel; 2] {
        let groups = self.rows.div_ceil(DIVIDING_ITEMS);
        let alone = |kernel: Kernel, buf: Buf<f32>, mode: AccessMode, elements: Range<usize>| {
            let of_share = move |share: Share| if share.groups().is_empty() { 0..0 } else { elements.clone() };
            kernel.access_parts(buf, mode, move |share| vec![of_share(share)])
        };
        let divide = Kernel::new("Fan1", groups, DIVIDING_ITEMS / LANES as u32, move |w| fan1(w, self, step));
        let divide = alone(divide, self.matrix, AccessMode::Read, self.span(step..self.rows, step..step + 1));
        let divide = alone(divide, self.quotients, AccessMode::ReadWrite, self.below(step, step..step + 1));

        let blocks = self.blocks();
        let columns = move |share: Share| self.columns_of(step, share);
        // The elements of a chiplet's columns, or nothing where it has none.
        let with =
            move |share: Share, elements: Range<usize>| vec![if columns(share).is_empty() { 0..0 } else { elements }];
        // Those that have the first column change the right-hand side.
        let with_first = move |share: Share, rows: Range<u32>| {
            let groups = share.groups();
            let has_first = !groups.is_empty() && groups.start < blocks;
            vec![if has_first { rows.start as usize..rows.end as usize } else { 0..0 }]
        };
        let subtract = Kernel::new("Fan2", blocks * blocks, 1, move |w| fan2(w, self, step))
            .access_parts(self.matrix, AccessMode::ReadWrite, move |share| {
                with(share, self.below(step, columns(share)))
            })
            .access_parts(self.matrix, AccessMode::Read, move |share| {
                with(share, self.span(step..step + 1, columns(share)))
            })
            .access_parts(self.quotients, AccessMode::Read, move |share| with(share, self.below(step, step..step + 1)))
            .access_parts(self.right_side, AccessMode::ReadWrite, move |share| with_first(share, step + 1..self.rows))
            .access_parts(self.right_side, AccessMode::Read, move |share| with_first(share, step..step + 1));
        [divide, subtract]
    }

    /// The columns that a chiplet changes in the second kernel of a step. Every step has the same number of
    /// work-groups, so that those of the last columns soon find nothing.
    fn columns_of(&self, step: u32, share: Share) -> Range<u32> {
        let blocks = rows_of(share, self.blocks());
        let at = |block: u32| (step + block * BLOCK).min(self.rows);
        at(blocks.start)..at(blocks.end)
    }

    /// The elements from the first of some columns in the first of some rows to the last of them in the last row.
    fn span(&self, rows: Range<u32>, columns: Range<u32>) -> Range<usize> {
        let (first, last) = (rows.start * self.rows + columns.start, (rows.end - 1) * self.rows + columns.end);
        first as usize..last as usize
    }

    /// The elements of some columns below the pivot's row, from the first to the last.
    fn below(&self, step: u32, columns: Range<u32>) -> Range<usize> {
        self.span(step + 1..self.rows, columns)
    }
}

/// The system on the host.
struct Reference {
    rows: usize,
    matrix: Vec<f32>,
    quotients: Vec<f32>,
    right_side: Vec<f32>,
}

impl Reference {
    fn step(&mut self, step: usize) {
        let rows = self.rows;
        for row in step + 1..rows {
            let quotient = self.matrix[row * rows + step] / self.matrix[step * rows + step];
            self.quotients[row * rows + step] = quotient;
            for column in step..rows {
                self.matrix[row * rows + column] -= quotient * self.matrix[step * rows + column];
            }
            self.right_side[row] -= quotient * self.right_side[step];
        }
    }
}

impl Workload for Gaussian {
    fn name(&self) -> &'static str {
        "gaussian"
    }

    fn title(&self) -> &'static str {
        "Gaussian elimination"
    }

    fn summary(&self) -> &'static str {
        "Brings a system of linear equations into triangular form, two kernels per column, in tiny work-groups."
    }

    fn suite(&self) -> Suite {
        Suite::Rodinia
    }

    fn papers(&self) -> &'static [Paper] {
        &[Paper::CpElide]
    }

    fn source(&self) -> &'static str {
        "Dalmia et al., CPElide, MICRO 2024, section IV-D, Table II (Gaussian); Rodinia gaussian (Che et al., IISWC 2009)"
    }

    fn sizes(&self) -> &'static [SizeSpec] {
        &SIZES
    }

    fn build(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
        let rows = sizes.get("rows");
        let elements = (rows * rows) as usize;
        let mut generator = SplitMix64::new(seed);
        let mut matrix: Vec<f32> = (0..elements).map(|_| generator.between_f32(-1.0, 1.0)).collect();
        // A heavy diagonal keeps pivots away from zero.
        matrix.iter_mut().step_by(rows as usize + 1).for_each(|element| *element += rows as f32);
        let right_side: Vec<f32> = (0..rows).map(|_| generator.between_f32(-1.0, 1.0)).collect();
        let system = System {
            rows,
            matrix: memory.alloc_from(&matrix),
            quotients: memory.alloc(elements),
            right_side: memory.alloc_from(&right_side),
        };
        let mut reference = Reference { rows: rows as usize, matrix, quotients: vec![0.0; elements], right_side };
        (0..rows as usize - 1).for_each(|step| reference.step(step));
        let outputs = vec![
            Output::new("matrix", system.matrix, &reference.matrix),
            Output::new("quotients", system.quotients, &reference.quotients),
            Output::new("right-hand side", system.right_side, &reference.right_side),
        ];
        HostProgram::new((0..rows - 1).flat_map(|step| system.step(step)).collect(), outputs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elimination_leaves_a_triangle_with_the_same_solution() {
        // x = 1 and y = 2 solve 2x + y = 4, 4x + 3y = 10.
        let mut reference = Reference {
            rows: 2,
            matrix: vec![2.0, 1.0, 4.0, 3.0],
            quotients: vec![0.0; 4],
            right_side: vec![4.0, 10.0],
        };
        reference.step(0);
        assert_eq!(reference.matrix, [2.0, 1.0, 0.0, 1.0]);
        assert_eq!(reference.right_side, [4.0, 2.0]);
    }

    #[test]
    fn one_work_group_divides_a_column_at_every_scale() {
        assert!(SIZES[0].defaults.into_iter().all(|rows| rows <= DIVIDING_ITEMS.into()));
    }
}
