//! `hsp`: the temperature of a processor from its power map, by explicit time steps on a grid.
//!
//! Source: TC paper (Singh et al., HPCA 2013), section 7, Table 3; hotspot of Rodinia (Che et al., IISWC 2009), with
//! its physical constants. A work-group of 16 x 16 work-items loads a tile of temperatures into local data, waits, and
//! computes the 14 x 14 cells inside the halo; tiles of adjacent work-groups overlap by the halo. At the edge of the
//! chip a cell's missing neighbour is the cell itself.
//!
//! Sharing: halo cells are read by up to four work-groups, and a tile's rows of 16 words share lines with the tiles
//! beside it. Nothing that a kernel writes is read before it ends: temperatures are double-buffered, with one kernel
//! per time step.
//!
//! A launch may compute several steps on a larger halo; Rodinia calls their number the height of a pyramid. Cells are
//! computed that belong to another tile as well, fewer of them in every step, and go back to local data. `hsp` has a
//! height of 1; `hotspot` has 2 and with it tiles of 12 x 12 cells inside their halo.
//!
//! Left out: the copies of the power map and of the last step's results in local data, where every work-item needs only
//! its own.
//!
//! Arithmetic: 10 instructions for coordinates of tile and grid, addresses and the test against the edge; in every step
//! 4 clamp the neighbours; 9 compute the cell: an addition and a fused multiply-add for each of the two axes, one
//! subtraction for the ambient term, and four fused multiply-adds that collect everything.

use chorus_kernel::{AccessMode, Buf, HostMemory, Kernel, LANES, Lanes, Mask, Wave};

use crate::generator::SplitMix64;
use crate::program::{HostProgram, Output};
use crate::registry::{Paper, Suite, Workload};
use crate::size::{SizeSpec, Sizes};
use crate::tile_rows::TileRows;

/// Work-items of a tile, in x and in y.
const TILE: u32 = 16;
const WAVES_PER_GROUP: u32 = TILE * TILE / LANES as u32;
const REGISTERS_PER_ITEM: u32 = 20;

/// Rodinia's ambient temperature, as its source has it.
pub(crate) const AMBIENT: f32 = 80.0;
/// Rodinia's greatest power density, in W/m^2.
pub(crate) const POWER_DENSITY_MAX: f32 = 3.0e6;
/// By how much a temperature may change in a time step, in K.
pub(crate) const PRECISION: f32 = 0.001;
/// The specific heat of silicon, in J/(m^3 K).
pub(crate) const SPECIFIC_HEAT: f32 = 1.75e6;
/// The thermal conductivity of silicon, in W/(m K).
pub(crate) const CONDUCTIVITY: f32 = 100.0;
/// Rodinia's correction of the capacity.
pub(crate) const FACTOR: f32 = 0.5;
/// The thickness of the chip, in m.
pub(crate) const THICKNESS: f32 = 0.0005;
/// The width and the height of the chip, in m.
pub(crate) const SIDE: f32 = 0.016;

pub(crate) struct Hsp;

/// Two grids of temperature and one of power take 1.7 MB and 3.0 MB. A wavefront takes about 9 line accesses, since 16
/// words of a row seldom lie in one line: 0.4 and 2.1 million in all, and 1.6 million at medium scale.
static SIZES: [SizeSpec; 3] = [
    side([384, 448, 512], "Rodinia's usual input"),
    steps([8, 24, 24], "chosen: 2.1 million line accesses"),
    pyramid([1; 3], "chosen: a kernel per time step"),
];

/// The side of the chip of `hsp` and `hotspot`. Three grids of the largest take 0.75 x 2^30 words.
pub(crate) const fn side(defaults: [u64; 3], source: &'static str) -> SizeSpec {
    SizeSpec::new("side", "cells of the grid in x and in y", defaults, source).range(1, 1 << 14)
}

/// The time steps of `hsp` and `hotspot`.
pub(crate) const fn steps(defaults: [u64; 3], source: &'static str) -> SizeSpec {
    SizeSpec::new("steps", "time steps", defaults, source).range(1, 10_000)
}

/// The height of the pyramid of `hsp` and `hotspot`. A tile has cells inside its halo up to a height of 7.
pub(crate) const fn pyramid(defaults: [u64; 3], source: &'static str) -> SizeSpec {
    SizeSpec::new("pyramid", "time steps of a launch, and cells of a tile's halo on each side", defaults, source)
        .range(1, TILE as u64 / 2 - 1)
}

/// Why the sizes of `hsp` and `hotspot` do not go together.
pub(crate) fn heat_misfit(sizes: &Sizes) -> Option<String> {
    let (side, steps, pyramid) = (sizes.get("side"), sizes.get("steps"), sizes.get("pyramid"));
    if !steps.is_multiple_of(pyramid) {
        return Some(format!("steps = {steps} is no multiple of pyramid = {pyramid}, the time steps of a launch"));
    }
    diverges(side, steps)
}

/// The time steps after which temperatures are still numbers. Rodinia's time step does not depend on the size of a
/// cell, so that it is too long for cells of less than 12 micrometres: each step then multiplies the differences
/// between neighbours.
fn steps_max(side: u32) -> u32 {
    let chip = Chip::new(side, 1);
    let moved = 2.0 * chip.step_per_capacity * (chip.conductance_x + chip.conductance_y);
    if moved <= 1.0 { u32::MAX } else { ((f32::MAX / 1e6).ln() / (1.0 + 2.0 * moved).ln()) as u32 }
}

/// Refuses more time steps than leave temperatures numbers.
pub(crate) fn diverges(side: u32, steps: u32) -> Option<String> {
    let accepted = steps_max(side);
    (steps > accepted).then(|| {
        format!(
            "steps = {steps} on a grid of side = {side} let temperatures diverge, since Rodinia's time step is too \
             long for such small cells; at most {accepted} steps are accepted"
        )
    })
}

/// The coefficients of a time step, which follow from the material and the size of a cell.
#[derive(Clone, Copy)]
struct Chip {
    cells: u32,
    /// Time steps of a launch, and cells of a tile's halo on each side.
    pyramid: u32,
    step_per_capacity: f32,
    conductance_x: f32,
    conductance_y: f32,
    conductance_z: f32,
}

impl Chip {
    /// Rodinia's chip, cut into `cells` x `cells`, for launches of `pyramid` time steps.
    fn new(cells: u32, pyramid: u32) -> Chip {
        let cell = SIDE / cells as f32;
        let capacity = FACTOR * SPECIFIC_HEAT * THICKNESS * cell * cell;
        let step = PRECISION / (POWER_DENSITY_MAX / (FACTOR * THICKNESS * SPECIFIC_HEAT));
        let resistance = cell / (2.0 * CONDUCTIVITY * THICKNESS * cell);
        Chip {
            cells,
            pyramid,
            step_per_capacity: step / capacity,
            conductance_x: 1.0 / resistance,
            conductance_y: 1.0 / resistance,
            conductance_z: (CONDUCTIVITY * cell * cell) / THICKNESS,
        }
    }

    /// The temperature of a cell after one step. `around` is north, south, west, east.
    fn next(&self, centre: f32, power: f32, [north, south, west, east]: [f32; 4]) -> f32 {
        centre
            + self.step_per_capacity
                * (power
                    + (south + north - 2.0 * centre) * self.conductance_y
                    + (east + west - 2.0 * centre) * self.conductance_x
                    + (AMBIENT - centre) * self.conductance_z)
    }

    /// Cells of a tile without its halo, in x and in y.
    fn inside(&self) -> u32 {
        TILE - 2 * self.pyramid
    }

    /// Tiles in x and in y.
    fn tiles(&self) -> u32 {
        self.cells.div_ceil(self.inside())
    }

    /// The rows of tiles without their halo.
    fn tile_rows(&self) -> TileRows {
        TileRows { across: self.tiles(), rows_per_tile: self.inside(), rows: self.cells, columns: self.cells }
    }
}

/// The part of a tile that a wavefront works on: two rows.
struct Rows {
    /// The cell of each lane, in the tile and on the chip.
    local: Lanes<u32>,
    cell: Lanes<u32>,
    /// Lanes whose cell lies on the chip.
    valid: Mask,
    /// Lanes whose northern, southern, western and eastern neighbour does not.
    edges: [Mask; 4],
}

impl Rows {
    fn new(w: &Wave, chip: &Chip) -> Rows {
        let (tile_x, tile_y) = (w.work_group() % chip.tiles(), w.work_group() / chip.tiles());
        let local = w.local_ids();
        // Shifted by the halo, so that the cells before the first one have numbers too.
        let (x, y) = (local % TILE + tile_x * chip.inside(), local / TILE + tile_y * chip.inside());
        let (first, end) = (chip.pyramid, chip.pyramid + chip.cells);
        let on_chip = |shifted: Lanes<u32>| shifted.where_(|shifted| (first..end).contains(&shifted));
        let cell = x.zip(y, |x, y| y.wrapping_sub(first).wrapping_mul(chip.cells).wrapping_add(x.wrapping_sub(first)));
        let edges = [y.below(first + 1), !y.below(end - 1), x.below(first + 1), !x.below(end - 1)];
        Rows { local, cell, valid: on_chip(x) & on_chip(y), edges }
    }

    /// Lanes that compute in a time step of a launch: in the first all but the outermost of a tile, and fewer in each.
    fn computing(&self, step: u32) -> Mask {
        let inside = |at: Lanes<u32>| at.where_(|at| (step + 1..TILE - 1 - step).contains(&at));
        self.valid & inside(self.local % TILE) & inside(self.local / TILE)
    }

    /// The temperatures of the neighbours, from local data.
    fn around(&self, w: &Wave, lanes: Mask) -> [Lanes<f32>; 4] {
        const STEPS: [i32; 4] = [-(TILE as i32), TILE as i32, -1, 1];
        std::array::from_fn(|side| {
            let neighbour = self.local.map(|local| local.wrapping_add_signed(STEPS[side]));
            w.lds_read(lanes, self.local.select(self.edges[side], neighbour))
        })
    }
}

/// One launch of one wavefront.
async fn hotspot(w: Wave, chip: Chip, power: Buf<f32>, before: Buf<f32>, after: Buf<f32>) {
    let rows = Rows::new(&w, &chip);
    w.alu(10).await;
    let mut centre = Lanes::splat(0.0);
    let mut heat = Lanes::splat(0.0);
    if rows.valid.any() {
        let loads = (w.load_where(rows.valid, before, rows.cell), w.load_where(rows.valid, power, rows.cell));
        (centre, heat) = w.join(loads.0, loads.1).await;
        w.lds_write(rows.valid, rows.local, centre);
    }
    w.barrier().await;

    for step in 0..chip.pyramid {
        let computing = rows.computing(step);
        if computing.any() {
            w.alu(4).await;
            let around = rows.around(&w, computing);
            w.alu(9).await;
            let next = Lanes::from_fn(|lane| chip.next(centre[lane], heat[lane], around.map(|side| side[lane])));
            centre = next.select(computing, centre);
        }
        if step + 1 < chip.pyramid {
            // Nobody may still read what is replaced.
            w.barrier().await;
            w.lds_write(computing, rows.local, centre);
            w.barrier().await;
        } else if computing.any() {
            w.store_where(computing, after, rows.cell, centre);
        }
    }
}

/// One time step on the host.
fn reference_step(chip: &Chip, power: &[f32], before: &[f32]) -> Vec<f32> {
    let cells = chip.cells as usize;
    let last = cells - 1;
    (0..cells * cells)
        .map(|cell| {
            let (x, y) = (cell % cells, cell / cells);
            let at = |x: usize, y: usize| before[y * cells + x];
            let around = [
                at(x, y.saturating_sub(1)),
                at(x, last.min(y + 1)),
                at(x.saturating_sub(1), y),
                at(last.min(x + 1), y),
            ];
            chip.next(before[cell], power[cell], around)
        })
        .collect()
}

/// The program of `hsp` and `hotspot`: the temperatures of a chip of these sizes.
pub(crate) fn heat(sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
    let (cells, pyramid) = (sizes.get("side"), sizes.get("pyramid"));
    let launches = sizes.get("steps") / pyramid;
    let chip = Chip::new(cells, pyramid);
    let mut generator = SplitMix64::new(seed);
    let mut map = |low, high| (0..cells * cells).map(|_| generator.between_f32(low, high)).collect::<Vec<f32>>();
    let (powers, initial) = (map(0.0, 0.01), map(320.0, 345.0));

    let power = memory.alloc_from(&powers);
    let temperatures = [memory.alloc_from(&initial), memory.alloc::<f32>(initial.len())];
    let launch = |number: u32| {
        let [before, after] = [number, number + 1].map(|number| temperatures[number as usize % 2]);
        Kernel::new("hotspot", chip.tiles() * chip.tiles(), WAVES_PER_GROUP, move |w| {
            hotspot(w, chip, power, before, after)
        })
        .registers(REGISTERS_PER_ITEM)
        .lds(TILE * TILE * 4)
        .access_parts(power, AccessMode::Read, move |share| vec![chip.tile_rows().elements(share, pyramid, pyramid)])
        .access_parts(before, AccessMode::Read, move |share| vec![chip.tile_rows().elements(share, pyramid, pyramid)])
        .access_parts(after, AccessMode::ReadWrite, move |share| vec![chip.tile_rows().elements(share, 0, 0)])
    };
    let mut fields = [initial.clone(), initial];
    for number in 0..launches as usize {
        let step = |before: Vec<f32>, _| reference_step(&chip, &powers, &before);
        fields[(number + 1) % 2] = (0..pyramid).fold(fields[number % 2].clone(), step);
    }
    let outputs = vec![
        Output::new("even temperatures", temperatures[0], &fields[0]),
        Output::new("odd temperatures", temperatures[1], &fields[1]),
    ];
    HostProgram::new((0..launches).map(launch).collect(), outputs)
}

impl Workload for Hsp {
    fn name(&self) -> &'static str {
        "hsp"
    }

    fn title(&self) -> &'static str {
        "HotSpot"
    }

    fn summary(&self) -> &'static str {
        "Steps the temperatures of a chip on a 2-D grid, one kernel per step, tiles in local data."
    }

    fn suite(&self) -> Suite {
        Suite::Rodinia
    }

    fn papers(&self) -> &'static [Paper] {
        &[Paper::Tc]
    }

    fn source(&self) -> &'static str {
        "Singh et al., Cache Coherence for GPU Architectures, HPCA 2013, section 7 (HSP); \
         Rodinia hotspot (Che et al., IISWC 2009)"
    }

    fn sizes(&self) -> &'static [SizeSpec] {
        &SIZES
    }

    fn misfit(&self, sizes: &Sizes) -> Option<String> {
        heat_misfit(sizes)
    }

    fn build(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
        heat(sizes, seed, memory)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chip_at_ambient_temperature_without_power_stays_there() {
        let chip = Chip::new(20, 1);
        let flat = vec![AMBIENT; 400];
        assert_eq!(reference_step(&chip, &vec![0.0; 400], &flat), flat);
    }

    #[test]
    fn a_hot_cell_warms_its_neighbours_and_cools() {
        let chip = Chip::new(20, 1);
        let mut before = vec![AMBIENT; 400];
        before[210] = 100.0;
        let after = reference_step(&chip, &vec![0.0; 400], &before);
        assert!(after[210] < 100.0);
        assert!([209, 211, 190, 230].iter().all(|&cell| after[cell] > AMBIENT));
        assert_eq!(after[0], AMBIENT);
    }

    #[test]
    fn steps_on_small_cells_are_refused_before_temperatures_overflow() {
        assert_eq!(diverges(1024, 10_000), None);
        let steps_max = steps_max(4096);
        assert!(diverges(4096, steps_max).is_none() && diverges(4096, steps_max + 1).is_some());
        // The worst case: the temperatures of neighbours differ as much as they can, everywhere.
        let chip = Chip { cells: 16, ..Chip::new(4096, 1) };
        let worst: Vec<f32> =
            (0..256).map(|cell| if (cell % 16 + cell / 16) % 2 == 0 { 320.0 } else { 345.0 }).collect();
        let after = (0..steps_max).fold(worst, |before, _| reference_step(&chip, &vec![0.0; 256], &before));
        assert!(after.iter().all(|temperature| temperature.is_finite()));
        assert!(after.iter().any(|temperature| temperature.abs() > 1e10), "it does diverge");
    }
}
