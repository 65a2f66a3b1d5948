//! A work-item per element of a matrix, in work-groups of 32 x 8.
//!
//! PolyBench/GPU launches kernels in this way where every element of a matrix is computed by itself (Grauer-Gray et
//! al., Auto-tuning a High-Level Language Targeted to GPU Codes, InPar 2012). Work-groups are counted along rows first,
//! so that a contiguous range of work-groups covers contiguous rows.
//!
//! A wavefront of 64 work-items, as on the machines of MGPUSim, covers 2 rows of 32 columns. Here it becomes two
//! wavefronts of 32 work-items, each with half of the columns: 2 rows of 16. Together they touch the same lines as
//! often as the wavefront of 64 does: one line of 64 bytes per row.

use std::future::Future;

use chorus_kernel::{Kernel, LANES, Lanes, Mask, Wave};

const GROUP_COLUMNS: u32 = 32;
const GROUP_ROWS: u32 = 8;
/// Columns of a wavefront. They make up one line of 64 bytes.
pub const WAVE_COLUMNS: u32 = 16;
const WAVE_ROWS: u32 = LANES as u32 / WAVE_COLUMNS;
const WAVES_PER_GROUP: u32 = GROUP_COLUMNS * GROUP_ROWS / LANES as u32;

/// The shape of a matrix whose elements are computed one per work-item.
#[derive(Clone, Copy, Debug)]
pub struct ElementGrid {
    /// Rows of the matrix.
    pub rows: u32,
    /// Columns of the matrix.
    pub columns: u32,
}

/// The elements of a wavefront. A lane outside the matrix gets the place of an element inside, so that it may load.
pub struct Elements {
    /// The row of each lane.
    pub rows: Lanes<u32>,
    /// The column of each lane.
    pub columns: Lanes<u32>,
    /// The place of each lane's element in the matrix, row by row.
    pub places: Lanes<u32>,
    /// The lanes inside the matrix.
    pub inside: Mask,
}

impl ElementGrid {
    /// The launch of a work-item per element.
    pub fn kernel<F: Future<Output = ()> + 'static>(
        self,
        name: &'static str,
        body: impl Fn(Wave) -> F + Send + Sync + 'static,
    ) -> Kernel {
        let work_groups = self.rows.div_ceil(GROUP_ROWS) * self.columns.div_ceil(GROUP_COLUMNS);
        Kernel::new(name, work_groups, WAVES_PER_GROUP, body)
    }

    /// The elements of a wavefront of the launch of [`ElementGrid::kernel`]; takes 8 instructions.
    pub async fn elements(self, w: &Wave) -> Elements {
        w.alu(8).await;
        let groups_per_row = self.columns.div_ceil(GROUP_COLUMNS);
        let (group, wave) = (w.work_group(), w.id().wave);
        let halves = GROUP_COLUMNS / WAVE_COLUMNS;
        let row = group / groups_per_row * GROUP_ROWS + wave / halves * WAVE_ROWS;
        let column = group % groups_per_row * GROUP_COLUMNS + wave % halves * WAVE_COLUMNS;
        let rows = w.lane_ids().map(|lane| row + lane / WAVE_COLUMNS);
        let columns = w.lane_ids().map(|lane| column + lane % WAVE_COLUMNS);
        let inside = rows.below(self.rows) & columns.below(self.columns);
        let rows = rows.map(|row| row.min(self.rows - 1));
        let columns = columns.map(|column| column.min(self.columns - 1));
        Elements { rows, columns, places: rows * self.columns + columns, inside }
    }
}

#[cfg(test)]
mod tests {
    use chorus_kernel::{HostMemory, flat};

    use super::*;

    #[test]
    fn every_element_has_one_work_item() {
        for [rows, columns] in [[8, 32], [9, 70], [3, 5]] {
            let mut memory = HostMemory::default();
            let counts = memory.alloc::<u32>((rows * columns) as usize);
            let grid = ElementGrid { rows, columns };
            let kernel = grid.kernel("count", move |w| async move {
                let elements = grid.elements(&w).await;
                if elements.inside.any() {
                    let old = w.load_where(elements.inside, counts, elements.places).await;
                    w.store_where(elements.inside, counts, elements.places, old + elements.rows + 1);
                }
            });
            flat::run_kernel(&kernel, &memory).unwrap();
            let expected: Vec<u32> = (0..rows * columns).map(|place| place / columns + 1).collect();
            assert_eq!(memory.read(counts), expected);
        }
    }
}
