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
//! Left out: the pyramid, with which Rodinia computes several steps per launch on a larger halo (this is its height of
//! 1), and with it the copy of the power map and of the results in local data, where every work-item needs only its
//! own.
//!
//! The CPElide paper (Dalmia et al., MICRO 2024), section IV-D, Table II, uses it as `Hotspot`, with 512 x 512 cells, 20 time
//! steps and a pyramid of height 2.
//!
//! Arithmetic: 10 instructions for coordinates of tile and grid, addresses and the test against the edge; 4 clamp the
//! neighbours; 9 compute the cell: an addition and a fused multiply-add for each of the two axes, one subtraction for
//! the ambient term, and four fused multiply-adds that collect everything.

use chorus_sim::frontend::{AccessMode, Buf, HostMemory, Kernel, LANES, Lanes, Mask, Wave};
use chorus_system::Scale;

use crate::generator::SplitMix64;
use crate::program::{HostProgram, Output};
use crate::registry::Workload;
use crate::tile_rows::TileRows;

/// Work-items of a tile, in x and in y.
const TILE: u32 = 16;
/// Cells that a tile computes, in x and in y.
const INSIDE: u32 = TILE - 2;
const WAVES_PER_GROUP: u32 = TILE * TILE / LANES as u32;
const REGISTERS_PER_ITEM: u32 = 20;

/// Rodinia's ambient temperature.
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

/// Hotspot.
pub struct Hsp;

/// Cells in x and in y, and time steps. Two grids of temperature and one of power: 1.7 MB and 3.0 MB (512 is Rodinia's
/// usual input). A wavefront takes about 9 line accesses, since 16 words of a row seldom lie in one line: 0.4 and 2.1
/// million in all, and 1.6 million at medium scale.
fn size(scale: Scale) -> (u32, u32) {
    match scale {
        Scale::Quick => (384, 8),
        Scale::Medium => (448, 24),
        Scale::Paper => (512, 24),
    }
}

/// What the material and the size of a cell make of a time step.
#[derive(Clone, Copy)]
struct Chip {
    cells: u32,
    step_per_capacity: f32,
    conductance_x: f32,
    conductance_y: f32,
    conductance_z: f32,
}

impl Chip {
    /// Rodinia's chip, cut into `cells` x `cells`.
    fn new(cells: u32) -> Chip {
        let cell = SIDE / cells as f32;
        let capacity = FACTOR * SPECIFIC_HEAT * THICKNESS * cell * cell;
        let step = PRECISION / (POWER_DENSITY_MAX / (FACTOR * THICKNESS * SPECIFIC_HEAT));
        let resistance = cell / (2.0 * CONDUCTIVITY * THICKNESS * cell);
        Chip {
            cells,
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

    /// Tiles in x and in y.
    fn tiles(&self) -> u32 {
        self.cells.div_ceil(INSIDE)
    }

    /// The rows of tiles without their halo.
    fn tile_rows(&self) -> TileRows {
        TileRows { across: self.tiles(), rows_per_tile: INSIDE, rows: self.cells, columns: self.cells }
    }
}

/// One time step of one wavefront: two rows of a tile.
async fn hotspot(w: Wave, chip: Chip, power: Buf<f32>, before: Buf<f32>, after: Buf<f32>) {
    let (tile_x, tile_y) = (w.work_group() % chip.tiles(), w.work_group() / chip.tiles());
    let local = w.local_ids();
    let (column, row) = (local % TILE, local / TILE);
    // Shifted by one, so that the halo before the first cell has a number too; zero and `cells + 1` lie outside the
    // chip.
    let (x1, y1) = (column + tile_x * INSIDE, row + tile_y * INSIDE);
    let on_chip = |shifted: Lanes<u32>| shifted.where_(|shifted| (1..=chip.cells).contains(&shifted));
    let valid = on_chip(x1) & on_chip(y1);
    let cell = x1.zip(y1, |x1, y1| y1.wrapping_sub(1).wrapping_mul(chip.cells).wrapping_add(x1.wrapping_sub(1)));
    w.alu(10).await;
    let mut centre = Lanes::splat(0.0);
    let mut heat = Lanes::splat(0.0);
    if valid.any() {
        (centre, heat) = w.join(w.load_where(valid, before, cell), w.load_where(valid, power, cell)).await;
        w.lds_write(valid, local, centre);
    }
    w.barrier().await;

    let inside = |at: Lanes<u32>| at.where_(|at| (1..=INSIDE).contains(&at));
    let computes: Mask = valid & inside(column) & inside(row);
    if !computes.any() {
        return;
    }
    w.alu(4).await;
    let beside =
        |edge: Mask, neighbour: Lanes<u32>| -> Lanes<f32> { w.lds_read(computes, local.select(edge, neighbour)) };
    let north = beside(y1.below(2), local.map(|local| local.wrapping_sub(TILE)));
    let south = beside(!y1.below(chip.cells), local + TILE);
    let west = beside(x1.below(2), local.map(|local| local.wrapping_sub(1)));
    let east = beside(!x1.below(chip.cells), local + 1);
    w.alu(9).await;
    let next =
        Lanes::from_fn(|lane| chip.next(centre[lane], heat[lane], [north[lane], south[lane], west[lane], east[lane]]));
    w.store_where(computes, after, cell, next);
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

impl Workload for Hsp {
    fn name(&self) -> &'static str {
        "hsp"
    }

    fn aliases(&self) -> &'static [&'static str] {
        &["hotspot"]
    }

    fn title(&self) -> &'static str {
        "HotSpot"
    }

    fn summary(&self) -> &'static str {
        "Steps the temperatures of a chip on a 2-D grid, one kernel per step, tiles in local data."
    }

    fn source(&self) -> &'static str {
        "Singh et al., Cache Coherence for GPU Architectures, HPCA 2013, section 7 (HSP); \
         Dalmia et al., CPElide, MICRO 2024, Table II (Hotspot); Rodinia hotspot (Che et al., IISWC 2009)"
    }

    fn build(&self, scale: Scale, seed: u64, memory: &mut HostMemory) -> HostProgram {
        let (cells, steps) = size(scale);
        let chip = Chip::new(cells);
        let mut generator = SplitMix64::new(seed);
        let mut map = |low, high| (0..cells * cells).map(|_| generator.between_f32(low, high)).collect::<Vec<f32>>();
        let (powers, initial) = (map(0.0, 0.01), map(320.0, 345.0));

        let power = memory.alloc_from(&powers);
        let temperatures = [memory.alloc_from(&initial), memory.alloc::<f32>(initial.len())];
        let launch = |step: u32| {
            let [before, after] = [step, step + 1].map(|step| temperatures[step as usize % 2]);
            Kernel::new("hotspot", chip.tiles() * chip.tiles(), WAVES_PER_GROUP, move |w| {
                hotspot(w, chip, power, before, after)
            })
            .registers(REGISTERS_PER_ITEM)
            .lds(TILE * TILE * 4)
            .access_parts(power, AccessMode::Read, move |share| vec![chip.tile_rows().elements(share, 1, 1)])
            .access_parts(before, AccessMode::Read, move |share| vec![chip.tile_rows().elements(share, 1, 1)])
            .access_parts(after, AccessMode::ReadWrite, move |share| vec![chip.tile_rows().elements(share, 0, 0)])
        };
        let mut fields = [initial.clone(), initial];
        for step in 0..steps as usize {
            fields[(step + 1) % 2] = reference_step(&chip, &powers, &fields[step % 2]);
        }
        let outputs = vec![
            Output::new("even temperatures", temperatures[0], &fields[0]),
            Output::new("odd temperatures", temperatures[1], &fields[1]),
        ];
        HostProgram::new((0..steps).map(launch).collect(), outputs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chip_at_ambient_temperature_without_power_stays_there() {
        let chip = Chip::new(20);
        let flat = vec![AMBIENT; 400];
        assert_eq!(reference_step(&chip, &vec![0.0; 400], &flat), flat);
    }

    #[test]
    fn a_hot_cell_warms_its_neighbours_and_cools() {
        let chip = Chip::new(20);
        let mut before = vec![AMBIENT; 400];
        before[210] = 100.0;
        let after = reference_step(&chip, &vec![0.0; 400], &before);
        assert!(after[210] < 100.0);
        assert!([209, 211, 190, 230].iter().all(|&cell| after[cell] > AMBIENT));
        assert_eq!(after[0], AMBIENT);
    }
}
