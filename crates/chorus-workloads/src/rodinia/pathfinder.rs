//! `pathfinder`: the cheapest way from the first to the last row of a grid, by dynamic programming.
//!
//! Source: HMG paper (Ren et al., HPCA 2020), section VI, Table III, `Rodinia_pathfinder`; pathfinder of Rodinia (Che
//! et al., IISWC 2009). A cell costs what its wall says and the least of the three cells above it. A work-group of 256
//! work-items loads a stretch of the costs of one row into local data and computes 20 rows there before it writes back:
//! with every row the stretch loses a cell at either end, so stretches of adjacent work-groups overlap by 40. A launch
//! per 20 rows; two rows of costs take turns.
//!
//! Sharing: the wall is read once, but for the overlap, where two work-groups read it; costs are read in the next
//! launch, mostly by the work-group that wrote them and at the ends of a stretch by its neighbours. So it streams, and
//! what GPUs tell each other is the 40 cells of overlap at the borders of their parts.
//!
//! Left out: the copy of the new row in local data, where every work-item needs only its own.
//!
//! The CPElide paper (Dalmia et al., MICRO 2024), section IV-D, Table II, uses it with 200,000 columns.
//!
//! Arithmetic: 14 instructions for the bounds of the stretch, the clamped neighbours and the test against the grid's
//! edge; per row 8: the loop's test, two tests of the shrinking stretch, the address, two minima, an addition and a
//! select.

use std::ops::Range;

use chorus_kernel::{AccessMode, Buf, HostMemory, Kernel, LANES, Lanes, Mask, Share, Wave};

use crate::generator::SplitMix64;
use crate::program::{HostProgram, Output};
use crate::registry::{Paper, Suite, Workload};
use crate::size::{SizeSpec, Sizes};

/// Cells of a stretch, and work-items of a work-group.
const STRETCH: u32 = 256;
const WAVES_PER_GROUP: u32 = STRETCH / LANES as u32;
const REGISTERS_PER_ITEM: u32 = 20;
/// Costs of a cell are below this, as in Rodinia.
const COST_LIMIT: u32 = 10;

pub(crate) struct Pathfinder;

/// The wall takes 13 MB and the paper's 1.49 GiB. A wavefront and row takes about two line accesses, since stretches
/// begin anywhere in a line: 0.25 and 31 million in all, and 1.0 million at medium scale. A stretch has cells left to
/// write up to a pyramid of 120.
static SIZES: [SizeSpec; 3] = [
    SizeSpec::new(
        "columns",
        "columns of the grid",
        [32_768, 131_072, 4_000_000],
        "HMG paper, Table III: 1.49 GB, which 4 million columns give with 100 rows",
    )
    .range(1, 1 << 28),
    SizeSpec::new("rows", "rows of the grid", [100, 100, 100], "Rodinia's usual input").range(2, 1 << 20),
    SizeSpec::new("pyramid", "rows of a launch", [20, 20, 20], "Rodinia's usual pyramid height").range(1, 120),
];

#[derive(Clone, Copy)]
struct Grid {
    columns: u32,
    /// Rows of a launch, and cells that stretches of adjacent work-groups overlap at either end.
    pyramid: u32,
    /// The costs of every row but the first, row by row.
    wall: Buf<u32>,
}

impl Grid {
    /// Cells that a work-group writes.
    fn inside(self) -> u32 {
        STRETCH - 2 * self.pyramid
    }

    /// The columns of a chiplet's work-groups, and `overlap` on either side.
    fn columns_of(self, share: Share, overlap: u32) -> Range<usize> {
        let groups = share.groups();
        if groups.is_empty() {
            return 0..0;
        }
        let first = (groups.start * self.inside()).saturating_sub(overlap);
        first as usize..(groups.end * self.inside() + overlap).min(self.columns) as usize
    }
}

/// Computes `rows` rows behind row `above`, whose costs are in `before`.
async fn dynproc(w: Wave, grid: Grid, above: u32, rows: u32, before: Buf<u32>, after: Buf<u32>) {
    let local = w.local_ids();
    // Shifted by the overlap, so that cells before the first have a number too.
    let shifted = local + w.work_group() * grid.inside();
    let valid = shifted.where_(|at| (grid.pyramid..grid.pyramid + grid.columns).contains(&at));
    let column = shifted.map(|at| at.saturating_sub(grid.pyramid));
    // At the edges of the grid a missing neighbour is the cell itself.
    let west = Lanes::from_fn(|lane| if column[lane] == 0 { local[lane] } else { local[lane].wrapping_sub(1) });
    let east = Lanes::from_fn(|lane| local[lane] + u32::from(column[lane] != grid.columns - 1));
    w.alu(14).await;
    let mut cost = Lanes::splat(0);
    if valid.any() {
        cost = w.load_where(valid, before, column).await;
        w.lds_write(valid, local, cost);
    }
    w.barrier().await;

    let mut computes = Mask::NONE;
    for row in 0..rows {
        computes = valid & local.where_(|local| (row + 1..STRETCH - 1 - row).contains(&local));
        w.alu(8).await;
        if computes.any() {
            let wall = w.load_where(computes, grid.wall, column + (above + row) * grid.columns);
            let [left, right]: [Lanes<u32>; 2] = [west, east].map(|neighbour| w.lds_read(computes, neighbour));
            let up: Lanes<u32> = w.lds_read(computes, local);
            let wall = wall.await;
            cost = Lanes::from_fn(|lane| wall[lane] + left[lane].min(up[lane]).min(right[lane]));
        }
        w.barrier().await;
        if row + 1 < rows {
            if computes.any() {
                w.lds_write(computes, local, cost);
            }
            w.barrier().await;
        }
    }
    // After fewer rows than usual more of the stretch is left. It overlaps with the neighbours', who have the same
    // costs.
    if computes.any() {
        w.store_where(computes, after, column, cost);
    }
}

/// One row on the host.
fn reference_row(wall: &[u32], above: &[u32]) -> Vec<u32> {
    let last = above.len() - 1;
    let least = |column: usize| above[column.saturating_sub(1)].min(above[column]).min(above[last.min(column + 1)]);
    wall.iter().enumerate().map(|(column, cost)| cost + least(column)).collect()
}

impl Workload for Pathfinder {
    fn name(&self) -> &'static str {
        "pathfinder"
    }

    fn title(&self) -> &'static str {
        "PathFinder"
    }

    fn summary(&self) -> &'static str {
        "Finds the cheapest way down a grid, row by row in local data, one kernel per 20 rows."
    }

    fn suite(&self) -> Suite {
        Suite::Rodinia
    }

    fn papers(&self) -> &'static [Paper] {
        &[Paper::Hmg, Paper::CpElide]
    }

    fn source(&self) -> &'static str {
        "Ren et al., HMG, HPCA 2020, section VI, Table III (pathfinder); \
         Dalmia et al., CPElide, MICRO 2024, Table II (Pathfinder); Rodinia pathfinder (Che et al., IISWC 2009)"
    }

    fn sizes(&self) -> &'static [SizeSpec] {
        &SIZES
    }

    fn misfit(&self, sizes: &Sizes) -> Option<String> {
        let (columns, rows) = (u64::from(sizes.get("columns")), u64::from(sizes.get("rows")));
        sizes.too_large(columns * (rows + 1), &["columns", "rows"])
    }

    fn build(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
        let (columns, rows, pyramid) = (sizes.get("columns"), sizes.get("rows"), sizes.get("pyramid"));
        let mut generator = SplitMix64::new(seed);
        let mut draw = || (0..columns).map(|_| generator.below(COST_LIMIT)).collect::<Vec<u32>>();
        let first = draw();
        let costs = [memory.alloc_from(&first), memory.alloc::<u32>(first.len())];
        let grid = Grid { columns, pyramid, wall: memory.alloc((columns * (rows - 1)) as usize) };
        let starts: Vec<u32> = (0..rows - 1).step_by(pyramid as usize).collect();
        let mut above = first.clone();
        let mut expected = [first.clone(), first];
        for row in 0..rows - 1 {
            let wall = draw();
            for (index, &cost) in ((row * columns) as usize..).zip(&wall) {
                memory.set(grid.wall, index, cost);
            }
            above = reference_row(&wall, &above);
            if (row + 1) % pyramid == 0 || row + 2 == rows {
                expected[(row / pyramid + 1) as usize % 2].clone_from(&above);
            }
        }
        let launch = |(step, start): (usize, u32)| {
            let [before, after] = [step, step + 1].map(|step| costs[step % 2]);
            let taken = pyramid.min(rows - 1 - start);
            Kernel::new("dynproc", columns.div_ceil(grid.inside()), WAVES_PER_GROUP, move |w| {
                dynproc(w, grid, start, taken, before, after)
            })
            .registers(REGISTERS_PER_ITEM)
            .lds(STRETCH * 4)
            .access_parts(grid.wall, AccessMode::Read, move |share| {
                let Range { start: first, end } = grid.columns_of(share, pyramid);
                let rows = (start..start + taken).map(|row| (row * columns) as usize);
                rows.map(|row| row + first..row + end).collect()
            })
            .access_parts(before, AccessMode::Read, move |share| vec![grid.columns_of(share, pyramid)])
            .access_parts(after, AccessMode::ReadWrite, move |share| vec![grid.columns_of(share, pyramid - taken)])
        };
        let kernels = starts.into_iter().enumerate().map(launch).collect();
        let outputs =
            vec![Output::new("even costs", costs[0], &expected[0]), Output::new("odd costs", costs[1], &expected[1])];
        HostProgram::new(kernels, outputs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_costs_its_wall_and_the_least_of_the_three_above() {
        assert_eq!(reference_row(&[1, 1, 1, 1], &[5, 0, 7, 9]), [1, 1, 1, 8]);
    }
}
