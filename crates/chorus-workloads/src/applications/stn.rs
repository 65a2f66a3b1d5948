//! `stn`: a finite-difference solver for the wave equation in three dimensions, as seismic imaging uses it.
//!
//! Source: TC paper (Singh et al., HPCA 2013), section 7, Stencil; the program itself is not published. The paper says
//! that each work-group processes a subset of the nodes, that each node communicates with 24 neighbours, and that fast
//! barriers separate the time steps. Here: second order in time, eighth order in space, so a node reads four nodes in
//! each of six directions, and one persistent kernel with the barrier of `fast_barrier.rs`. A work-group owns a tile of
//! y and z over the whole of x.
//!
//! Sharing: a node's new value is read by the work-groups of the adjacent tiles in the next step, through coherent
//! memory, in the lines that they already cached two steps before. Within a step neighbouring nodes read mostly the
//! same words, so private caches matter. Two fields take turns: the older one is overwritten with the next values.
//!
//! Left out: the source wavelet, absorbing boundaries and the recording of traces, each of which touches few nodes.
//! Outside the grid the field is zero: a halo of four rows, four planes and a line of words that is stored and read
//! like any other.
//!
//! All work-groups must be resident at once, as the barrier demands: 32 on the 8 compute units of quick scale and 64 on
//! the 16 of paper scale. A work-group takes 8 wavefronts and 8 x 32 x 20 registers, so a compute unit holds 6.
//!
//! Arithmetic, per row segment of 32 nodes: 8 instructions turn a segment number into addresses and advance the loop; 1
//! multiplication starts the Laplacian; per distance 5 additions and 1 fused multiply-add; 2 fused multiply-adds
//! advance the field. Neighbours lie at constant distances, which load instructions take as immediate offsets.

use chorus_kernel::{Buf, HostMemory, Kernel, LANES, Lanes, Wave};

use crate::fast_barrier::FastBarrier;
use crate::generator::SplitMix64;
use crate::program::{HostProgram, Output};
use crate::registry::{Paper, Suite, Workload};
use crate::size::{SizeSpec, Sizes};

const WAVES_PER_GROUP: u32 = 8;
const REGISTERS_PER_ITEM: u32 = 20;

/// Neighbours in one direction.
const RADIUS: u32 = 4;

/// Words between two rows, so that rows begin at a line; they hold the halo of both.
const ROW_HALO: u32 = LANES as u32;

/// Second derivative to eighth order: the weight of the node, and of its neighbours at distance 1 to 4.
const CENTRE_WEIGHT: f32 = -205.0 / 72.0;
const WEIGHTS: [f32; RADIUS as usize] = [8.0 / 5.0, -1.0 / 5.0, 8.0 / 315.0, -1.0 / 560.0];

pub(crate) struct Stn;

/// A grid, its tiles and the time steps.
#[derive(Clone, Copy)]
struct Grid {
    nodes_x: u32,
    nodes_y: u32,
    nodes_z: u32,
    tile_y: u32,
    tile_z: u32,
    steps: u32,
}

/// Two fields with their halo and the velocities take 1.4 MB at quick scale and 4.8 MB at paper scale. A segment takes
/// 36 line accesses per step, 16 of them along x, where 32 shifted words lie in two lines. That makes 0.6 million at
/// quick scale and 2.9 million at paper scale. Medium scale has the grid of paper scale and the steps of quick scale:
/// 2.4 million.
static SIZES: [SizeSpec; 6] = [
    SizeSpec::new("nodes_x", "nodes of the grid along x", [64, 64, 64], UNPUBLISHED).range(32, 512).multiple_of(32),
    SizeSpec::new("nodes_y", "nodes of the grid along y", [32, 64, 64], UNPUBLISHED).range(1, 256),
    SizeSpec::new("nodes_z", "nodes of the grid along z", [32, 64, 64], UNPUBLISHED).range(1, 256),
    SizeSpec::new("tile_y", "nodes of a work-group's tile along y", [8, 8, 8], RESIDENT).range(1, 256),
    SizeSpec::new("tile_z", "nodes of a work-group's tile along z", [4, 8, 8], RESIDENT).range(1, 256),
    SizeSpec::new("steps", "time steps", [8, 8, 10], "chosen: few, since every step accesses the same").range(1, 1000),
];
const UNPUBLISHED: &str =
    "chosen: the program is not published; 4.8 MB are more than the caches of the TC paper's machine hold";
const RESIDENT: &str = "chosen: 64 work-groups, four for each of the TC paper's 16 compute units";

/// Work-groups that 16 compute units of the TC paper hold at once, with 48 wavefronts each.
const WORK_GROUPS_MAX: u32 = 96;

impl Grid {
    fn of(sizes: &Sizes) -> Grid {
        Grid {
            nodes_x: sizes.get("nodes_x"),
            nodes_y: sizes.get("nodes_y"),
            nodes_z: sizes.get("nodes_z"),
            tile_y: sizes.get("tile_y"),
            tile_z: sizes.get("tile_z"),
            steps: sizes.get("steps"),
        }
    }

    fn nodes(&self) -> u32 {
        self.nodes_x * self.nodes_y * self.nodes_z
    }

    /// The number of tiles along y and along z. The last ones may reach beyond the grid.
    fn tiles(&self) -> [u32; 2] {
        [self.nodes_y.div_ceil(self.tile_y), self.nodes_z.div_ceil(self.tile_z)]
    }

    fn work_groups(&self) -> u32 {
        self.tiles().iter().product()
    }

    /// The distances in words between neighbours in x, y and z.
    fn strides(&self) -> [u32; 3] {
        let row = self.nodes_x + ROW_HALO;
        [1, row, row * (self.nodes_y + 2 * RADIUS)]
    }

    /// Words of a field with its halo.
    fn field_words(&self) -> u32 {
        let [_, _, plane] = self.strides();
        plane * (self.nodes_z + 2 * RADIUS) + ROW_HALO
    }

    /// The place of a node in a field.
    fn field_index(&self, x: u32, y: u32, z: u32) -> u32 {
        let [_, row, plane] = self.strides();
        (z + RADIUS) * plane + (y + RADIUS) * row + ROW_HALO + x
    }

    /// The place of a node in an array without halo.
    fn node_index(&self, x: u32, y: u32, z: u32) -> u32 {
        (z * self.nodes_y + y) * self.nodes_x + x
    }

    /// Row segments of 32 nodes in a tile.
    fn segments(&self) -> u32 {
        self.tile_z * self.tile_y * self.nodes_x / LANES as u32
    }

    /// The first node of a segment of a work-group's tile, if it lies in the grid.
    fn segment(&self, work_group: u32, segment: u32) -> Option<[u32; 3]> {
        let per_row = self.nodes_x / LANES as u32;
        let [tiles_y, _] = self.tiles();
        let (row, x) = (segment / per_row, segment % per_row * LANES as u32);
        let y = work_group % tiles_y * self.tile_y + row % self.tile_y;
        let z = work_group / tiles_y * self.tile_z + row / self.tile_y;
        (y < self.nodes_y && z < self.nodes_z).then_some([x, y, z])
    }
}

/// Adds the contribution of the six neighbours at one distance to the Laplacian.
fn add_distance(laplacian: f32, weight: f32, n: [f32; 6]) -> f32 {
    laplacian + weight * (((n[0] + n[1]) + (n[2] + n[3])) + (n[4] + n[5]))
}

/// The value of a node in the next step. `velocity` is the squared velocity in units of the grid.
fn advance(current: f32, previous: f32, velocity: f32, laplacian: f32) -> f32 {
    velocity * laplacian + (2.0 * current - previous)
}

/// One time step of the segment of nodes that begins at `field` in the fields and at `node` elsewhere.
async fn step(w: &Wave, strides: [u32; 3], [current, other]: [Buf<f32>; 2], velocities: Buf<f32>, at: (u32, u32)) {
    let (field, node) = (w.lane_ids() + at.0, w.lane_ids() + at.1);
    w.alu(8).await;
    let [centre, previous, velocity] =
        w.join_all([w.load(current, field), w.load(other, field), w.load(velocities, node)]).await;
    let mut laplacian = centre * (3.0 * CENTRE_WEIGHT);
    w.alu(1).await;
    for (distance, weight) in (1..).zip(WEIGHTS) {
        let [dx, dy, dz] = strides.map(|stride| stride * distance);
        let neighbours = w
            .join_all(
                [field - dx, field + dx, field - dy, field + dy, field - dz, field + dz].map(|i| w.load(current, i)),
            )
            .await;
        w.alu(6).await;
        laplacian =
            Lanes::from_fn(|lane| add_distance(laplacian[lane], weight, neighbours.map(|neighbour| neighbour[lane])));
    }
    w.alu(2).await;
    let next = Lanes::from_fn(|lane| advance(centre[lane], previous[lane], velocity[lane], laplacian[lane]));
    w.store(other, field, next);
}

/// All time steps of one wavefront.
async fn propagate(w: Wave, grid: Grid, fields: [Buf<f32>; 2], velocities: Buf<f32>, barrier: FastBarrier) {
    let strides = grid.strides();
    let [mut current, mut other] = fields;
    for time in 1..=grid.steps {
        for segment in (w.id().wave..grid.segments()).step_by(WAVES_PER_GROUP as usize) {
            if let Some([x, y, z]) = grid.segment(w.work_group(), segment) {
                let at = (grid.field_index(x, y, z), grid.node_index(x, y, z));
                step(&w, strides, [current, other], velocities, at).await;
            }
        }
        if time < grid.steps {
            barrier.wait(&w, time).await;
        }
        (current, other) = (other, current);
    }
}

/// Makes all steps on the host and returns both fields as the last step leaves them.
fn reference(grid: &Grid, mut fields: [Vec<f32>; 2], velocities: &[f32]) -> [Vec<f32>; 2] {
    let strides = grid.strides();
    for time in 0..grid.steps as usize {
        let [even, odd] = &mut fields;
        let (current, other) = if time % 2 == 0 { (even, odd) } else { (odd, even) };
        for (x, y, z) in nodes(grid) {
            let field = grid.field_index(x, y, z) as usize;
            let mut laplacian = current[field] * (3.0 * CENTRE_WEIGHT);
            for (distance, weight) in (1..).zip(WEIGHTS) {
                let [dx, dy, dz] = strides.map(|stride| (stride * distance) as usize);
                let neighbours = [field - dx, field + dx, field - dy, field + dy, field - dz, field + dz];
                laplacian = add_distance(laplacian, weight, neighbours.map(|neighbour| current[neighbour]));
            }
            let velocity = velocities[grid.node_index(x, y, z) as usize];
            other[field] = advance(current[field], other[field], velocity, laplacian);
        }
    }
    fields
}

/// All nodes of a grid, in the order of memory.
fn nodes(grid: &Grid) -> impl Iterator<Item = (u32, u32, u32)> + use<> {
    let Grid { nodes_x, nodes_y, nodes_z, .. } = *grid;
    (0..nodes_z).flat_map(move |z| (0..nodes_y).flat_map(move |y| (0..nodes_x).map(move |x| (x, y, z))))
}

impl Workload for Stn {
    fn name(&self) -> &'static str {
        "stn"
    }

    fn title(&self) -> &'static str {
        "Stencil (wave propagation)"
    }

    fn summary(&self) -> &'static str {
        "Propagates a wave on a 3-D grid; barriers within one kernel keep work-groups in step."
    }

    fn suite(&self) -> Suite {
        Suite::Applications
    }

    fn papers(&self) -> &'static [Paper] {
        &[Paper::Tc]
    }

    fn source(&self) -> &'static str {
        "Singh et al., Cache Coherence for GPU Architectures, HPCA 2013, section 7 (STN); \
         barrier from Xiao and Feng, IPDPS 2010"
    }

    fn communicates(&self) -> bool {
        true
    }

    fn sizes(&self) -> &'static [SizeSpec] {
        &SIZES
    }

    fn misfit(&self, sizes: &Sizes) -> Option<String> {
        let grid = Grid::of(sizes);
        (grid.work_groups() > WORK_GROUPS_MAX).then(|| {
            let Grid { nodes_y, nodes_z, tile_y, tile_z, .. } = grid;
            let [y, z] = grid.tiles();
            format!(
                "nodes_y is {nodes_y} and tile_y is {tile_y}, nodes_z is {nodes_z} and tile_z is {tile_z}: {y} x {z} \
                 work-groups must be resident at once, and at most {WORK_GROUPS_MAX} can be; larger tiles make fewer"
            )
        })
    }

    fn build(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
        let grid = Grid::of(sizes);
        let mut generator = SplitMix64::new(seed);
        let mut field = || {
            let mut values = vec![0.0; grid.field_words() as usize];
            for (x, y, z) in nodes(&grid) {
                values[grid.field_index(x, y, z) as usize] = generator.between_f32(-1.0, 1.0);
            }
            values
        };
        let initial = [field(), field()];
        // Velocities stay below the limit of stability of this scheme, so that values neither vanish nor overflow.
        let velocities: Vec<f32> = (0..grid.nodes()).map(|_| generator.between_f32(0.05, 0.15)).collect();

        let fields = [memory.alloc_from(&initial[0]), memory.alloc_from(&initial[1])];
        let velocity = memory.alloc_from(&velocities);
        let barrier = FastBarrier::new(grid.work_groups(), memory);
        let kernel = Kernel::new("propagate", grid.work_groups(), WAVES_PER_GROUP, move |w| {
            propagate(w, grid, fields, velocity, barrier)
        })
        .registers(REGISTERS_PER_ITEM);
        let [even, odd] = reference(&grid, initial, &velocities);
        let outputs = vec![Output::new("even field", fields[0], &even), Output::new("odd field", fields[1], &odd)];
        HostProgram::new(vec![kernel], outputs)
    }
}

#[cfg(test)]
mod tests {
    use chorus_system::{Scale, resolve, scales};

    use super::*;

    fn grid(scale: Scale) -> Grid {
        Grid::of(&Stn.sizes_at(scale))
    }

    #[test]
    fn tiles_cover_every_node_once() {
        let ragged = Grid { nodes_x: 32, nodes_y: 7, nodes_z: 11, tile_y: 3, tile_z: 4, steps: 1 };
        for grid in Scale::ALL.map(grid).into_iter().chain([ragged]) {
            let mut covered = vec![0; grid.nodes() as usize];
            for work_group in 0..grid.work_groups() {
                for [x, y, z] in (0..grid.segments()).filter_map(|segment| grid.segment(work_group, segment)) {
                    let first = grid.node_index(x, y, z) as usize;
                    covered[first..first + LANES].iter_mut().for_each(|count| *count += 1);
                }
            }
            assert!(covered.iter().all(|&count| count == 1));
        }
    }

    #[test]
    fn segments_begin_at_a_line_and_neighbours_stay_within_the_field() {
        for scale in Scale::ALL {
            let grid = grid(scale);
            let [_, _, plane] = grid.strides();
            assert_eq!(grid.field_index(0, 1, 1) % LANES as u32, 0, "{scale}");
            assert!(grid.field_index(0, 0, 0) >= RADIUS * plane, "{scale}");
            let last = grid.field_index(grid.nodes_x - 1, grid.nodes_y - 1, grid.nodes_z - 1);
            assert!(last + RADIUS * plane < grid.field_words(), "{scale}");
        }
    }

    #[test]
    fn all_work_groups_are_resident_on_the_machine_of_their_scale() {
        for scale in scales("tc").unwrap() {
            let core = resolve("tc", scale, &[]).unwrap().config.core;
            let registers = WAVES_PER_GROUP * core.lanes * REGISTERS_PER_ITEM;
            let per_core = core.work_groups.min(core.wavefronts / WAVES_PER_GROUP).min(core.registers / registers);
            assert!(grid(scale).work_groups() <= core.count * per_core, "{scale}");
        }
    }
}
