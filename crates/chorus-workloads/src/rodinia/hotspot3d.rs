//! `hotspot3d`: the temperature of a stack of dies, by explicit time steps on a grid of three dimensions.
//!
//! Source: CPElide paper (Dalmia et al., MICRO 2024), section IV-D, Table II, `Hotspot3D` with 512 x 512 cells in 8
//! layers and 20 time steps; hotspot3D of Rodinia (Che et al., IISWC 2009), with its physical constants. One kernel per
//! step: a work-item, in work-groups of 64 x 4, walks up the layers of its column, keeps the cell and those below and
//! above it in registers, and loads the four beside it. At the edges a missing neighbour is the cell itself. Two grids
//! of temperature take turns.
//!
//! Sharing: the rows at the borders of a chiplet's part of each layer are read by the next one too; everything else,
//! the power map among it, is read in every step by the same work-group. The three grids together fit the L2s.
//!
//! Arithmetic: 8 instructions for coordinates and 10 for the neighbours and the edges; per cell 9 multiply-adds, and 6
//! for addresses and the loop.

use std::ops::Range;

use chorus_kernel::{AccessMode, Buf, HostMemory, Kernel, LANES, Lanes, Share, Wave};

use crate::generator::SplitMix64;
use crate::program::{HostProgram, Output};
use crate::registry::{Paper, Suite, Workload};
use crate::rodinia::hsp::{
    AMBIENT, CONDUCTIVITY, FACTOR, POWER_DENSITY_MAX, PRECISION, SIDE, SPECIFIC_HEAT, THICKNESS, diverges,
};
use crate::size::{SizeSpec, Sizes};
use crate::tile_rows::TileRows;

/// Columns and rows of a work-group.
const GROUP_COLUMNS: u32 = 64;
const GROUP_ROWS: u32 = 4;
const WAVES_PER_ROW: u32 = GROUP_COLUMNS / LANES as u32;
const WAVES_PER_GROUP: u32 = WAVES_PER_ROW * GROUP_ROWS;
const REGISTERS_PER_ITEM: u32 = 24;

pub(crate) struct Hotspot3d;

/// The three grids take 1.6 MB, 6.3 MB and Table II's 25 MB. A wavefront takes 15 or 16 line accesses per layer: 0.25,
/// 1.0 and 20 million in all.
static SIZES: [SizeSpec; 3] = [
    SizeSpec::new("side", "cells of a layer in x and in y", [128, 256, 512], "CPElide paper, Table II: 512 x 512")
        .range(GROUP_COLUMNS as u64, 8192)
        .multiple_of(GROUP_COLUMNS as u64),
    SizeSpec::new("layers", "layers of the stack", [8, 8, 8], "CPElide paper, Table II: 8").range(1, 64),
    SizeSpec::new("steps", "time steps, one per launch", [4, 4, 20], "CPElide paper, Table II: 20").range(1, 10_000),
];

/// The coefficients of a time step, which follow from the material and the size of a cell: the weights of the
/// neighbours in x, in y and in z, of the cell itself, and of its power.
#[derive(Clone, Copy)]
struct Stack {
    side: u32,
    layers: u32,
    weight_x: f32,
    weight_y: f32,
    weight_z: f32,
    weight_centre: f32,
    step_per_capacity: f32,
}

impl Stack {
    /// Rodinia's chip, cut into so many layers of `side` x `side` cells.
    fn new(side: u32, layers: u32) -> Stack {
        let (cell, layer) = (SIDE / side as f32, THICKNESS / layers as f32);
        let capacity = FACTOR * SPECIFIC_HEAT * THICKNESS * cell * cell;
        let across = cell / (2.0 * CONDUCTIVITY * THICKNESS * cell);
        let up = layer / (CONDUCTIVITY * cell * cell);
        let step = PRECISION / (POWER_DENSITY_MAX / (FACTOR * THICKNESS * SPECIFIC_HEAT));
        let step_per_capacity = step / capacity;
        let [weight_x, weight_y, weight_z] = [across, across, up].map(|resistance| step_per_capacity / resistance);
        let weight_centre = 1.0 - (2.0 * weight_x + 2.0 * weight_y + 3.0 * weight_z);
        Stack { side, layers, weight_x, weight_y, weight_z, weight_centre, step_per_capacity }
    }

    /// The temperature of a cell after one step, from its neighbours to the west, east, north and south, below and
    /// above.
    fn next(&self, centre: f32, power: f32, [west, east, north, south, below, above]: [f32; 6]) -> f32 {
        self.weight_centre * centre
            + self.weight_x * west
            + self.weight_x * east
            + self.weight_y * south
            + self.weight_y * north
            + self.weight_z * below
            + self.weight_z * above
            + self.step_per_capacity * power
            + self.weight_z * AMBIENT
    }

    fn cells_per_layer(&self) -> u32 {
        self.side * self.side
    }

    /// Work-groups in a row of them.
    fn groups_across(&self) -> u32 {
        self.side / GROUP_COLUMNS
    }

    fn work_groups(&self) -> u32 {
        self.groups_across() * (self.side / GROUP_ROWS)
    }

    /// The cells, in every layer, of the rows that a chiplet's work-groups have, and `halo` rows on either side.
    fn cells_of(&self, share: Share, halo: u32) -> Vec<Range<usize>> {
        let (across, side) = (self.groups_across(), self.side);
        let layer = TileRows { across, rows_per_tile: GROUP_ROWS, rows: side, columns: side };
        let Range { start, end } = layer.elements(share, halo, halo);
        let firsts = (0..self.layers).map(|layer| (layer * self.cells_per_layer()) as usize);
        firsts.map(|first| first + start..first + end).collect()
    }
}

/// One time step of one wavefront: half a row of a work-group, in all layers.
async fn hotspot(w: Wave, stack: Stack, power: Buf<f32>, before: Buf<f32>, after: Buf<f32>) {
    let (side, last) = (stack.side, stack.side - 1);
    let (group_x, group_y) = (w.work_group() % stack.groups_across(), w.work_group() / stack.groups_across());
    let (wave_x, wave_y) = (w.id().wave % WAVES_PER_ROW, w.id().wave / WAVES_PER_ROW);
    let x = w.lane_ids() + (group_x * GROUP_COLUMNS + wave_x * LANES as u32);
    let y = group_y * GROUP_ROWS + wave_y;
    let mut cell = x + y * side;
    w.alu(18).await;
    let step_west = x.map(|x| u32::from(x > 0));
    let step_east = x.map(|x| u32::from(x < last));
    let (step_north, step_south) = (if y > 0 { side } else { 0 }, if y < last { side } else { 0 });
    let mut below = w.load(before, cell).await;
    let mut centre = below;
    for layer in 0..stack.layers {
        let above = (layer + 1 < stack.layers).then(|| w.load(before, cell + stack.cells_per_layer()));
        let [west, east, north, south, heat] = w
            .join_all([
                w.load(before, cell - step_west),
                w.load(before, cell + step_east),
                w.load(before, cell - step_north),
                w.load(before, cell + step_south),
                w.load(power, cell),
            ])
            .await;
        let above = match above {
            Some(above) => above.await,
            None => centre,
        };
        w.alu(15).await;
        let next = Lanes::from_fn(|lane| {
            let around = [west, east, north, south, below, above].map(|neighbour| neighbour[lane]);
            stack.next(centre[lane], heat[lane], around)
        });
        w.store(after, cell, next);
        (below, centre) = (centre, above);
        cell = cell + stack.cells_per_layer();
    }
}

/// One time step on the host.
fn reference_step(stack: &Stack, power: &[f32], before: &[f32]) -> Vec<f32> {
    let (side, layer_cells) = (stack.side as usize, stack.cells_per_layer() as usize);
    let next = |cell: usize| {
        let (x, y, layer) = (cell % side, cell % layer_cells / side, cell / layer_cells);
        let beside = |is_there: bool, neighbour: usize| before[if is_there { neighbour } else { cell }];
        let around = [
            beside(x > 0, cell.wrapping_sub(1)),
            beside(x + 1 < side, cell + 1),
            beside(y > 0, cell.wrapping_sub(side)),
            beside(y + 1 < side, cell + side),
            beside(layer > 0, cell.wrapping_sub(layer_cells)),
            beside(layer + 1 < stack.layers as usize, cell + layer_cells),
        ];
        stack.next(before[cell], power[cell], around)
    };
    (0..before.len()).map(next).collect()
}

impl Workload for Hotspot3d {
    fn name(&self) -> &'static str {
        "hotspot3d"
    }

    fn title(&self) -> &'static str {
        "HotSpot, three dimensions"
    }

    fn summary(&self) -> &'static str {
        "Steps the temperatures of a stack of dies, one kernel per step, a work-item per column of cells."
    }

    fn suite(&self) -> Suite {
        Suite::Rodinia
    }

    fn papers(&self) -> &'static [Paper] {
        &[Paper::CpElide]
    }

    fn source(&self) -> &'static str {
        "Dalmia et al., CPElide, MICRO 2024, section IV-D, Table II (Hotspot3D); Rodinia hotspot3D (Che et al., IISWC 2009)"
    }

    fn sizes(&self) -> &'static [SizeSpec] {
        &SIZES
    }

    fn misfit(&self, sizes: &Sizes) -> Option<String> {
        let (side, layers, steps) = (sizes.get("side"), sizes.get("layers"), sizes.get("steps"));
        let words = 3 * u64::from(side).pow(2) * u64::from(layers);
        sizes.too_large(words, &["side", "layers"]).or_else(|| diverges(side, steps))
    }

    fn build(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
        let (stack, steps) = (Stack::new(sizes.get("side"), sizes.get("layers")), sizes.get("steps"));
        let cells = stack.cells_per_layer() * stack.layers;
        let mut generator = SplitMix64::new(seed);
        let mut map = |low, high| (0..cells).map(|_| generator.between_f32(low, high)).collect::<Vec<f32>>();
        let (powers, initial) = (map(0.0, 0.001), map(320.0, 345.0));
        let power = memory.alloc_from(&powers);
        let grids = [memory.alloc_from(&initial), memory.alloc::<f32>(initial.len())];
        let launch = |step: u32| {
            let [before, after] = [step, step + 1].map(|step| grids[step as usize % 2]);
            Kernel::new("hotspotOpt1", stack.work_groups(), WAVES_PER_GROUP, move |w| {
                hotspot(w, stack, power, before, after)
            })
            .registers(REGISTERS_PER_ITEM)
            .access_parts(power, AccessMode::Read, move |share| stack.cells_of(share, 0))
            .access_parts(before, AccessMode::Read, move |share| stack.cells_of(share, 1))
            .access_parts(after, AccessMode::ReadWrite, move |share| stack.cells_of(share, 0))
        };
        let mut fields = [initial.clone(), initial];
        for step in 0..steps as usize {
            fields[(step + 1) % 2] = reference_step(&stack, &powers, &fields[step % 2]);
        }
        let outputs = vec![
            Output::new("even temperatures", grids[0], &fields[0]),
            Output::new("odd temperatures", grids[1], &fields[1]),
        ];
        HostProgram::new((0..steps).map(launch).collect(), outputs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hot_cell_warms_the_cells_on_all_six_sides() {
        let stack = Stack::new(64, 8);
        let (layer, hot) = (stack.cells_per_layer() as usize, 3 * 64 * 64 + 20 * 64 + 20);
        let mut before = vec![AMBIENT; layer * stack.layers as usize];
        before[hot] = 90.0;
        let after = reference_step(&stack, &vec![0.0; before.len()], &before);
        let around = [hot - 1, hot + 1, hot - 64, hot + 64, hot - layer, hot + layer];
        assert!(around.iter().all(|&cell| after[cell] > after[0] + 1e-3));
        assert!(after[hot] < 90.0);
    }

    #[test]
    fn chiplets_have_their_rows_of_every_layer() {
        let stack = Stack::new(64, 8);
        let share = Share { index: 1, count: 4, work_groups: stack.work_groups() };
        let own = stack.cells_of(share, 0);
        assert_eq!((own.len(), own[0].clone(), own[1].start), (8, 1024..2048, 4096 + 1024));
        assert_eq!(stack.cells_of(share, 1)[0], 960..2112);
    }
}
