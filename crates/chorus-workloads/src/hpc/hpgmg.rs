//! `hpgmg`: geometric multigrid for Helmholtz's equation on a cube of cells.
//!
//! Source: HMG paper (Ren et al., HPCA 2020), section VI, Table III (HPC_HPGMG); HPGMG-FV (Adams et al., HPGMG 1.0: A
//! Benchmark for Ranking High Performance Computing Systems, LBNL-6630E, 2014), whose GPU version runs one kernel per
//! operation and level. A V-cycle smooths twice by weighted Jacobi sweeps, forms the residual, averages it over 2 x 2 x
//! 2 cells onto the next level, and goes on there until eight cells a side are left, where it smooths sixteen times. On
//! the way back it adds the correction of the coarser level to every cell and smooths twice again. A work-group of 32 x
//! 8 cells in x and y marches eight cells along z with three planes in registers.
//!
//! Sharing: a work-group reads a halo of one cell that six others have written in the kernel before; in z these are
//! mostly on other modules. Restriction and prolongation pair a few coarse work-groups with many fine ones, so the
//! coarse levels, which few work-groups write, are read from everywhere.
//!
//! Left out: the division of a level into boxes with ghost zones of their own and the kernels that copy them
//! (neighbours are read where they lie), the face coefficients (the absorption of each cell varies, the diffusion does
//! not), the Krylov solver at the bottom, and the full multigrid start. Single precision.
//!
//! Arithmetic of a sweep: 12 instructions set up coordinates; per plane 6 for addresses, loop and edges, 2 shuffles and
//! 7 additions and multiply-adds for the operator, and for a smoothing sweep 2 more with 8 for a division. Restriction:
//! 8 for addresses, 8 for the mean. Prolongation: 8 and 1.

use chorus_kernel::{Buf, HostMemory, Kernel, LANES, Lanes, Mask, Wave};

use crate::generator::SplitMix64;
use crate::program::{HostProgram, Output};
use crate::registry::{Paper, Suite, Workload};
use crate::size::{SizeSpec, Sizes};

const WAVES_PER_GROUP: u32 = 8;
/// Cells of a work-group's block in x, y and z. A wavefront is one row in y.
const BLOCK_X: u32 = LANES as u32;
const BLOCK_Y: u32 = WAVES_PER_GROUP;
const BLOCK_Z: u32 = 8;
const REGISTERS_PER_ITEM: u32 = 24;

/// The most cells along a side of the coarsest level.
const BOTTOM: u32 = 8;
/// Sweeps before and after the visit to a coarser level, and at the bottom. Two fields take turns, so they are even.
const SWEEPS: u32 = 2;
const BOTTOM_SWEEPS: u32 = 16;
/// Weight of a Jacobi sweep.
const OMEGA: f32 = 2.0 / 3.0;

pub(crate) struct Hpgmg;

/// Five fields on all levels take 6.0 MB at quick scale and 383 MB at paper scale. A V-cycle takes about 45 line
/// accesses per 32 cells: 0.4 million at quick scale and 27 million at paper scale. Medium scale, with the next power
/// of two, has eight times the cells of quick scale. The paper's 1.32 GB hold the fields of about 3.6 times as many
/// cells in double precision with face coefficients.
static SIZES: [SizeSpec; 2] = [
    SizeSpec::new(
        "side",
        "cells of the finest level along each side of the cube",
        [64, 128, 256],
        "chosen: 383 MB of the 1.32 GB in Table III of the HMG paper, for time",
    )
    .range(10, 512)
    .multiple_of(2),
    SizeSpec::new("iterations", "V-cycles", [1, 1, 1], "chosen: one, since every V-cycle accesses the same")
        .range(1, 100),
];

/// Whether a cube can be halved until its side has no more cells than the coarsest level may have.
fn halves(side: u32) -> bool {
    side <= BOTTOM || side.is_multiple_of(2) && halves(side / 2)
}

/// One level of the hierarchy.
#[derive(Clone, Copy)]
struct Level {
    /// The number of cells along each side.
    cells: u32,
    /// Diffusion over the squared width of a cell.
    diffusion: f32,
    absorption: Buf<f32>,
    solution: Buf<f32>,
    /// The field that every other sweep writes; the sweeps between write `solution`.
    smoothed: Buf<f32>,
    right_side: Buf<f32>,
    residual: Buf<f32>,
}

/// The kind of field that a sweep computes.
#[derive(Clone, Copy, PartialEq)]
enum Sweep {
    Smooth,
    Residual,
}

/// The right side less the operator: west, east, south, north, down and up are `around`.
fn residual(diffusion: f32, absorption: f32, right_side: f32, centre: f32, around: [f32; 6]) -> f32 {
    let [west, east, south, north, down, up] = around;
    let laplacian = ((west + east) + (south + north)) + (down + up) - 6.0 * centre;
    right_side - (absorption * centre - diffusion * laplacian)
}

/// A cell after a smoothing sweep.
fn smooth(diffusion: f32, absorption: f32, centre: f32, residual: f32) -> f32 {
    centre + OMEGA * residual / (absorption + 6.0 * diffusion)
}

impl Level {
    fn work_groups(&self) -> u32 {
        self.cells.div_ceil(BLOCK_X) * self.cells.div_ceil(BLOCK_Y) * self.cells.div_ceil(BLOCK_Z)
    }

    /// The coordinates of a wavefront's first row of cells.
    fn row(&self, w: &Wave) -> [u32; 3] {
        let (blocks_x, blocks_y) = (self.cells.div_ceil(BLOCK_X), self.cells.div_ceil(BLOCK_Y));
        let (block, group) = (w.work_group() % (blocks_x * blocks_y), w.work_group() / (blocks_x * blocks_y));
        [block % blocks_x * BLOCK_X, block / blocks_x * BLOCK_Y + w.id().wave, group * BLOCK_Z]
    }

    /// The places of a row of cells in a field.
    fn at(&self, w: &Wave, [x, y, z]: [u32; 3]) -> Lanes<u32> {
        w.lane_ids() + ((z * self.cells + y) * self.cells + x)
    }

    /// The lanes whose cell exists in a row that begins at `x`.
    fn inside(&self, x: u32) -> Mask {
        Mask::first((self.cells - x) as usize)
    }
}

/// The cells west and east of a row: those of the adjacent lanes, and `ends` at the ends of the row.
fn beside(row: Lanes<f32>, ends: Lanes<f32>, last: usize) -> [Lanes<f32>; 2] {
    [
        Lanes::from_fn(|lane| if lane == 0 { ends[0] } else { row[lane - 1] }),
        Lanes::from_fn(|lane| if lane >= last { ends[lane] } else { row[lane + 1] }),
    ]
}

/// One sweep over a level: smooths `from` into `to`, or leaves the residual of `from` there.
async fn sweep(w: Wave, level: Level, kind: Sweep, from: Buf<f32>, to: Buf<f32>) {
    let [x, y, first] = level.row(&w);
    w.alu(12).await;
    if y >= level.cells {
        return;
    }
    let (n, plane) = (level.cells, level.cells * level.cells);
    let inside = level.inside(x);
    let only = |condition: bool| if condition { inside } else { Mask::NONE };
    let last = inside.count() as usize - 1;
    // The lanes at the ends of the row fetch the cell beyond, where there is one.
    let ends = (if x > 0 { Mask::lane(0) } else { Mask::NONE })
        | (if x + BLOCK_X < n { Mask::lane(last) } else { Mask::NONE });
    let at = level.at(&w, [x, y, first]);
    let below = at.map(|at| at.wrapping_sub(plane));
    let (mut down, mut centre) =
        w.join(w.load_where(only(first > 0), from, below), w.load_where(inside, from, at)).await;
    for z in first..n.min(first + BLOCK_Z) {
        let at = level.at(&w, [x, y, z]);
        let end = Lanes::from_fn(|lane| if lane == 0 { at[lane].wrapping_sub(1) } else { at[lane] + 1 });
        let [up, south, north, ends, right_side, absorption] = w
            .join_all([
                w.load_where(only(z + 1 < n), from, at + plane),
                w.load_where(only(y > 0), from, at.map(|at| at.wrapping_sub(n))),
                w.load_where(only(y + 1 < n), from, at + n),
                w.load_where(ends, from, end),
                w.load_where(inside, level.right_side, at),
                w.load_where(inside, level.absorption, at),
            ])
            .await;
        let [west, east] = beside(centre, ends, last);
        w.alu(if kind == Sweep::Smooth { 25 } else { 15 }).await;
        let result = Lanes::from_fn(|lane| {
            let around = [west, east, south, north, down, up].map(|neighbour| neighbour[lane]);
            let residual = residual(level.diffusion, absorption[lane], right_side[lane], centre[lane], around);
            match kind {
                Sweep::Smooth => smooth(level.diffusion, absorption[lane], centre[lane], residual),
                Sweep::Residual => residual,
            }
        });
        w.store_where(inside, to, at, result);
        (down, centre) = (centre, up);
    }
}

/// The mean of eight cells, given as pairs within a row.
fn mean(pairs: [[f32; 2]; 4]) -> f32 {
    let [a, b, c, d] = pairs.map(|[west, east]| west + east);
    0.125 * ((a + b) + (c + d))
}

/// Hands the residual of `fine` to `coarse` as its right side, and begins there from zero.
async fn restrict(w: Wave, fine: Level, coarse: Level) {
    let [x, y, first] = coarse.row(&w);
    if y >= coarse.cells {
        return;
    }
    let inside = coarse.inside(x);
    for z in first..coarse.cells.min(first + BLOCK_Z) {
        w.alu(8).await;
        let loads: [Lanes<u32>; 8] = std::array::from_fn(|corner| {
            let (east, north, up) = (corner as u32 % 2, corner as u32 / 2 % 2, corner as u32 / 4);
            w.lane_ids().map(|lane| ((2 * z + up) * fine.cells + 2 * y + north) * fine.cells + 2 * (x + lane) + east)
        });
        let corners = w.join_all(loads.map(|at| w.load_where(inside, fine.residual, at))).await;
        w.alu(8).await;
        let at = coarse.at(&w, [x, y, z]);
        let means = Lanes::from_fn(|lane| {
            mean(std::array::from_fn(|pair| [corners[2 * pair][lane], corners[2 * pair + 1][lane]]))
        });
        w.store_where(inside, coarse.right_side, at, means);
        w.store_where(inside, coarse.solution, at, Lanes::splat(0.0));
    }
}

/// Adds the solution of `coarse` to that of `fine`.
async fn prolong(w: Wave, fine: Level, coarse: Level) {
    let [x, y, first] = fine.row(&w);
    if y >= fine.cells {
        return;
    }
    let inside = fine.inside(x);
    for z in first..fine.cells.min(first + BLOCK_Z) {
        w.alu(8).await;
        let at = fine.at(&w, [x, y, z]);
        let parent = w.lane_ids().map(|lane| (z / 2 * coarse.cells + y / 2) * coarse.cells + (x + lane) / 2);
        let (own, correction) =
            w.join(w.load_where(inside, fine.solution, at), w.load_where(inside, coarse.solution, parent)).await;
        w.alu(1).await;
        w.store_where(inside, fine.solution, at, own + correction);
    }
}

/// Adds smoothing sweeps of a level, which go to and fro between two fields.
fn push_smoothing(kernels: &mut Vec<Kernel>, level: Level, sweeps: u32) {
    for number in 0..sweeps {
        let fields = [level.solution, level.smoothed];
        let (from, to) = if number.is_multiple_of(2) { (fields[0], fields[1]) } else { (fields[1], fields[0]) };
        let kernel = Kernel::new("smooth", level.work_groups(), WAVES_PER_GROUP, move |w| {
            sweep(w, level, Sweep::Smooth, from, to)
        });
        kernels.push(kernel.registers(REGISTERS_PER_ITEM));
    }
}

/// Adds a V-cycle over these levels, the finest first.
fn push_cycle(kernels: &mut Vec<Kernel>, levels: &[Level]) {
    let [level, coarser @ ..] = levels else { return };
    let level = *level;
    let Some(&coarse) = coarser.first() else {
        push_smoothing(kernels, level, BOTTOM_SWEEPS);
        return;
    };
    push_smoothing(kernels, level, SWEEPS);
    let residual = Kernel::new("residual", level.work_groups(), WAVES_PER_GROUP, move |w| {
        sweep(w, level, Sweep::Residual, level.solution, level.residual)
    });
    kernels.push(residual.registers(REGISTERS_PER_ITEM));
    kernels.push(Kernel::new("restrict", coarse.work_groups(), WAVES_PER_GROUP, move |w| restrict(w, level, coarse)));
    push_cycle(kernels, coarser);
    kernels.push(Kernel::new("prolong", level.work_groups(), WAVES_PER_GROUP, move |w| prolong(w, level, coarse)));
    push_smoothing(kernels, level, SWEEPS);
}

/// A level on the host.
struct HostLevel {
    cells: usize,
    diffusion: f32,
    absorption: Vec<f32>,
    solution: Vec<f32>,
    right_side: Vec<f32>,
    residual: Vec<f32>,
}

impl HostLevel {
    fn new(cells: u32, diffusion: f32, absorption: Vec<f32>, right_side: Vec<f32>) -> HostLevel {
        let zeros = vec![0.0; absorption.len()];
        let solution = zeros.clone();
        HostLevel { cells: cells as usize, diffusion, absorption, solution, right_side, residual: zeros }
    }

    /// The field that a sweep computes from the solution.
    fn sweep(&self, kind: Sweep) -> Vec<f32> {
        let (n, plane, field) = (self.cells, self.cells * self.cells, &self.solution);
        let value = |inside: bool, at: usize| if inside { field[at] } else { 0.0 };
        (0..field.len())
            .map(|at| {
                let (x, y, z) = (at % n, at / n % n, at / plane);
                let around = [
                    value(x > 0, at.wrapping_sub(1)),
                    value(x + 1 < n, at + 1),
                    value(y > 0, at.wrapping_sub(n)),
                    value(y + 1 < n, at + n),
                    value(z > 0, at.wrapping_sub(plane)),
                    value(z + 1 < n, at + plane),
                ];
                let residual = residual(self.diffusion, self.absorption[at], self.right_side[at], field[at], around);
                match kind {
                    Sweep::Smooth => smooth(self.diffusion, self.absorption[at], field[at], residual),
                    Sweep::Residual => residual,
                }
            })
            .collect()
    }

    fn smooth(&mut self, sweeps: u32) {
        for _ in 0..sweeps {
            self.solution = self.sweep(Sweep::Smooth);
        }
    }
}

/// The means of 2 x 2 x 2 cells each of a cube of `cells` a side.
fn coarsened(cells: usize, fine: &[f32]) -> Vec<f32> {
    let half = cells / 2;
    (0..half * half * half)
        .map(|at| {
            let (x, y, z) = (2 * (at % half), 2 * (at / half % half), 2 * (at / (half * half)));
            mean(std::array::from_fn(|pair| {
                let first = ((z + pair / 2) * cells + y + pair % 2) * cells + x;
                [fine[first], fine[first + 1]]
            }))
        })
        .collect()
}

/// A V-cycle on the host.
fn reference_cycle(levels: &mut [HostLevel]) {
    let [level, coarser @ ..] = levels else { return };
    let Some(coarse) = coarser.first_mut() else {
        level.smooth(BOTTOM_SWEEPS);
        return;
    };
    level.smooth(SWEEPS);
    level.residual = level.sweep(Sweep::Residual);
    coarse.right_side = coarsened(level.cells, &level.residual);
    coarse.solution.fill(0.0);
    reference_cycle(coarser);
    let (n, half, coarse) = (level.cells, level.cells / 2, &coarser[0].solution);
    for (at, value) in level.solution.iter_mut().enumerate() {
        let (x, y, z) = (at % n / 2, at / n % n / 2, at / (n * n) / 2);
        *value += coarse[(z * half + y) * half + x];
    }
    level.smooth(SWEEPS);
}

/// All levels with their input.
fn draw_levels(cells: u32, seed: u64) -> Vec<HostLevel> {
    let mut generator = SplitMix64::new(seed);
    let mut field = |low, high| (0..cells * cells * cells).map(|_| generator.between_f32(low, high)).collect();
    let (absorption, right_side) = (field(0.01, 0.1), field(-1.0, 1.0));
    let mut levels = vec![HostLevel::new(cells, 1.0, absorption, right_side)];
    while let Some(fine) = levels.last().filter(|level| level.cells as u32 > BOTTOM) {
        let absorption = coarsened(fine.cells, &fine.absorption);
        let zeros = vec![0.0; absorption.len()];
        let coarse = HostLevel::new(fine.cells as u32 / 2, fine.diffusion / 4.0, absorption, zeros);
        levels.push(coarse);
    }
    levels
}

impl Workload for Hpgmg {
    fn name(&self) -> &'static str {
        "hpgmg"
    }

    fn title(&self) -> &'static str {
        "HPGMG (geometric multigrid)"
    }

    fn summary(&self) -> &'static str {
        "Runs a multigrid V-cycle on a 3-D grid, one kernel per operation and level."
    }

    fn suite(&self) -> Suite {
        Suite::Hpc
    }

    fn papers(&self) -> &'static [Paper] {
        &[Paper::Hmg]
    }

    fn source(&self) -> &'static str {
        "Ren et al., HMG: Extending Cache Coherence Protocols Across Modern Hierarchical Multi-GPU Systems, HPCA 2020, \
         section VI, Table III (HPGMG); HPGMG-FV (Adams et al., LBNL-6630E, 2014)"
    }

    fn sizes(&self) -> &'static [SizeSpec] {
        &SIZES
    }

    fn misfit(&self, sizes: &Sizes) -> Option<String> {
        let side = sizes.get("side");
        let [below, above] = [(BOTTOM..side).rfind(|&side| halves(side)), (side..).find(|&side| halves(side))];
        (!halves(side)).then(|| {
            let nearest = format!("{} and {}", below.unwrap_or(BOTTOM), above.unwrap_or(side));
            format!("side is {side}: it must halve evenly until at most {BOTTOM} cells are left, as {nearest} do")
        })
    }

    fn build(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
        let mut host = draw_levels(sizes.get("side"), seed);
        let levels: Vec<Level> = host
            .iter()
            .map(|level| Level {
                cells: level.cells as u32,
                diffusion: level.diffusion,
                absorption: memory.alloc_from(&level.absorption),
                solution: memory.alloc(level.solution.len()),
                smoothed: memory.alloc(level.solution.len()),
                right_side: memory.alloc_from(&level.right_side),
                residual: memory.alloc(level.solution.len()),
            })
            .collect();
        let mut kernels = Vec::new();
        for _ in 0..sizes.get("iterations") {
            push_cycle(&mut kernels, &levels);
            reference_cycle(&mut host);
        }
        let mut outputs = Vec::new();
        for (level, host) in levels.iter().zip(&host) {
            outputs.push(Output::new("solution of a level", level.solution, &host.solution));
            outputs.push(Output::new("residual of a level", level.residual, &host.residual));
            outputs.push(Output::new("right side of a level", level.right_side, &host.right_side));
        }
        HostProgram::new(kernels, outputs)
    }
}

#[cfg(test)]
mod tests {
    use chorus_system::Scale;

    use super::*;

    fn norm(field: &[f32]) -> f32 {
        field.iter().map(|value| value * value).sum::<f32>().sqrt()
    }

    #[test]
    fn a_cycle_reduces_the_residual_by_much() {
        let mut levels = draw_levels(32, 5);
        let before = norm(&levels[0].sweep(Sweep::Residual));
        reference_cycle(&mut levels);
        let after = norm(&levels[0].sweep(Sweep::Residual));
        assert!(after < 0.3 * before, "{before} {after}");
    }

    #[test]
    fn levels_halve_down_to_the_bottom() {
        for (side, levels) in [(32, vec![32, 16, 8]), (40, vec![40, 20, 10, 5])] {
            assert!(halves(side));
            assert_eq!(draw_levels(side, 1).iter().map(|level| level.cells).collect::<Vec<usize>>(), levels);
        }
        assert!(!halves(36));
    }

    #[test]
    fn sides_that_cannot_be_halved_are_refused_with_the_nearest_that_can() {
        let mut sizes = Hpgmg.sizes_at(Scale::Quick);
        assert_eq!(Hpgmg.misfit(&sizes), None);
        sizes.set("side", 36).unwrap();
        let message = Hpgmg.misfit(&sizes).unwrap();
        assert_eq!(message, "side is 36: it must halve evenly until at most 8 cells are left, as 32 and 40 do");
    }

    #[test]
    fn the_cells_beside_a_row_are_those_of_the_next_lanes_and_the_ends() {
        let row = Lanes::from_fn(|lane| lane as f32);
        let ends = Lanes::from_fn(|lane| 100.0 + lane as f32);
        let [west, east] = beside(row, ends, LANES - 1);
        assert_eq!([west[0], west[1], east[30], east[31]], [100.0, 0.0, 31.0, 131.0]);
    }
}
