//! `lps`: Laplace's equation in three dimensions, by Jacobi iteration.
//!
//! Source: TC paper (Singh et al., HPCA 2013), section 7, Table 3; LPS of Bakhoda et al., Analyzing CUDA Workloads
//! Using a Detailed GPU Simulator, ISPASS 2009, which is Giles' laplace3d. A work-group of 32 x 4 work-items stands on
//! a block of the x-y plane and marches along z with three planes of its block in local data. Each step moves the two
//! upper planes down by one, reads the next plane, waits, replaces each node by the mean of its six neighbours and
//! waits again. Nodes on the faces of the grid keep their values. Every iteration is a kernel, and two grids take
//! turns.
//!
//! Sharing: a block's halo of one node, corners included, belongs to eight adjacent blocks: 76 of the 128 work-items
//! read a halo node each, the first 64 those above and below in y, a row at a time, and 12 more those beside in x. All
//! of it was written by other work-groups in the kernel before. Rows follow each other without padding, as GPGPU-Sim,
//! the simulator of both papers, lays out memory for `cudaMallocPitch`: a row of a block seldom begins at a line, and
//! the nodes beside it mostly lie in the lines of the row, where private caches find them.
//!
//! Arithmetic: 24 instructions set up the coordinates and addresses of node and halo node; 8 per plane advance two
//! addresses and the loop and test whether there is a next plane, a node, a halo node, and a face; 6 per node: five
//! additions and a multiplication.

use chorus_kernel::{Buf, HostMemory, Kernel, LANES, Lanes, Mask, Wave};

use crate::generator::SplitMix64;
use crate::program::{HostProgram, Output};
use crate::registry::{Paper, Suite, Workload};
use crate::size::{SizeSpec, Sizes};

/// Work-items of a block in x and in y. A wavefront is one row.
const BLOCK_X: u32 = LANES as u32;
const BLOCK_Y: u32 = 4;
const WAVES_PER_GROUP: u32 = BLOCK_Y;
const REGISTERS_PER_ITEM: u32 = 16;

/// Distances in local data of neighbours in y and in z; a plane holds the block and its halo.
const LOCAL_ROW: u32 = BLOCK_X + 2;
const LOCAL_PLANE: u32 = LOCAL_ROW * (BLOCK_Y + 2);

const SIXTH: f32 = 1.0 / 6.0;

pub(crate) struct Lps;

/// Bakhoda et al. use 100 x 100 x 100 nodes, whose 100 work-groups are all resident on the paper's machine; the quick
/// scale halves y, so that a compute unit has as many. Both grids take 4.0 MB and 8.0 MB. A work-group takes about 25
/// line accesses per plane: 0.4 and 2.5 million in all, and 1.5 million at medium scale, with fewer iterations.
static SIZES: [SizeSpec; 4] = [
    SizeSpec::new("nodes_x", "nodes of the grid in x", [100, 100, 100], BAKHODA).range(3, NODES_MAX),
    SizeSpec::new("nodes_y", "nodes of the grid in y", [50, 100, 100], BAKHODA).range(3, NODES_MAX),
    SizeSpec::new("nodes_z", "nodes of the grid in z", [100, 100, 100], BAKHODA).range(3, NODES_MAX),
    SizeSpec::new("iterations", "Jacobi iterations", [3, 6, 10], "chosen: 2.5 million line accesses").range(1, 1000),
];

const BAKHODA: &str = "Bakhoda et al., ISPASS 2009: 100 x 100 x 100";
const NODES_MAX: u64 = 1 << 14;

/// The numbers of nodes of the grid.
#[derive(Clone, Copy)]
struct Grid {
    nodes_x: u32,
    nodes_y: u32,
    nodes_z: u32,
}

impl Grid {
    fn of(sizes: &Sizes) -> Grid {
        let [nodes_x, nodes_y, nodes_z] = ["nodes_x", "nodes_y", "nodes_z"].map(|key| sizes.get(key));
        Grid { nodes_x, nodes_y, nodes_z }
    }

    /// Nodes of a plane.
    fn plane(&self) -> u32 {
        self.nodes_x * self.nodes_y
    }

    fn nodes(&self) -> u32 {
        self.plane() * self.nodes_z
    }

    fn blocks_x(&self) -> u32 {
        self.nodes_x.div_ceil(BLOCK_X)
    }

    fn work_groups(&self) -> u32 {
        self.blocks_x() * self.nodes_y.div_ceil(BLOCK_Y)
    }
}

/// The nodes that a wavefront takes care of in every plane, one per lane.
#[derive(Clone, Copy)]
struct Nodes {
    /// Lanes whose node exists.
    lanes: Mask,
    /// Lanes whose node lies on a face of the grid in x or y.
    face: Mask,
    /// Where a node lies in the middle plane of local data.
    local: Lanes<u32>,
    /// Where a node lies in the first plane of the grid.
    global: Lanes<u32>,
}

impl Nodes {
    /// The nodes at (x, y) of the block of `work_group`, counted with its halo: the block itself begins at (1, 1).
    fn new(grid: &Grid, work_group: u32, part: Mask, x: Lanes<u32>, y: Lanes<u32>) -> Nodes {
        // One more than the coordinates in the grid, since the halo may lie before its first node.
        let x1 = x + work_group % grid.blocks_x() * BLOCK_X;
        let y1 = y + work_group / grid.blocks_x() * BLOCK_Y;
        let exists = |at: Lanes<u32>, nodes: u32| at.where_(|at| (1..=nodes).contains(&at));
        let face = |at: Lanes<u32>, nodes: u32| at.where_(|at| at == 1 || at == nodes);
        let lanes = part & exists(x1, grid.nodes_x) & exists(y1, grid.nodes_y);
        let row = grid.nodes_x;
        Nodes {
            lanes,
            face: lanes & (face(x1, grid.nodes_x) | face(y1, grid.nodes_y)),
            local: y * LOCAL_ROW + x + LOCAL_PLANE,
            global: x1.zip(y1, |x1, y1| y1.wrapping_sub(1).wrapping_mul(row).wrapping_add(x1.wrapping_sub(1))),
        }
    }

    /// A node of the block per work-item.
    fn of_block(grid: &Grid, w: &Wave) -> Nodes {
        let local = w.local_ids();
        Nodes::new(grid, w.work_group(), Mask::ALL, local % BLOCK_X + 1, local / BLOCK_X + 1)
    }

    /// A node of the halo for the first work-items: two rows, and then the two columns, side by side.
    fn of_halo(grid: &Grid, w: &Wave) -> Nodes {
        const ROWS: u32 = 2 * BLOCK_X;
        const ALL: u32 = ROWS + 2 * (BLOCK_Y + 2);
        let local = w.local_ids();
        let x = local.map(|id| if id < ROWS { id % BLOCK_X + 1 } else { id % 2 * (BLOCK_X + 1) });
        let y = local.map(|id| if id < ROWS { id / BLOCK_X * (BLOCK_Y + 1) } else { (id - ROWS) / 2 });
        Nodes::new(grid, w.work_group(), local.below(ALL), x, y)
    }

    /// Moves the two upper planes of local data down by one.
    fn move_down(&self, w: &Wave) {
        if self.lanes.any() {
            for to in [self.local.map(|local| local - LOCAL_PLANE), self.local] {
                let values: Lanes<f32> = w.lds_read(self.lanes, to + LOCAL_PLANE);
                w.lds_write(self.lanes, to, values);
            }
        }
    }
}

/// Reads plane `z` of the grid into the top plane of local data.
async fn read_plane(w: &Wave, grid: &Grid, before: Buf<f32>, nodes: &[Nodes; 2], z: u32) {
    let first = z * grid.plane();
    let at = |nodes: &Nodes| nodes.global.map(|global| global.wrapping_add(first));
    let loads = [0, 1].map(|part: usize| {
        let nodes = &nodes[part];
        nodes.lanes.any().then(|| w.load_where(nodes.lanes, before, at(nodes)))
    });
    for (load, nodes) in loads.into_iter().zip(nodes) {
        if let Some(load) = load {
            let values = load.await;
            w.lds_write(nodes.lanes, nodes.local + LOCAL_PLANE, values);
        }
    }
}

/// The new value of a node from its neighbours in x, y and z.
fn mean([west, east, south, north, below, above]: [f32; 6]) -> f32 {
    (west + east + south + north + below + above) * SIXTH
}

/// The new values of a wavefront's nodes, `fixed` of which keep the old ones.
async fn relax(w: &Wave, nodes: &Nodes, fixed: Mask) -> Lanes<f32> {
    let at = nodes.local;
    let mut values = Lanes::splat(0.0);
    if fixed.any() {
        values = w.lds_read(fixed, at);
    }
    let inner = nodes.lanes & !fixed;
    if inner.any() {
        let around = [at - 1, at + 1, at - LOCAL_ROW, at + LOCAL_ROW, at - LOCAL_PLANE, at + LOCAL_PLANE]
            .map(|neighbour| w.lds_read(inner, neighbour));
        w.alu(6).await;
        values = Lanes::from_fn(|lane| mean(around.map(|neighbour: Lanes<f32>| neighbour[lane]))).select(inner, values);
    }
    values
}

/// One iteration of one wavefront: a row of a block, in every plane.
async fn laplace(w: Wave, grid: Grid, before: Buf<f32>, after: Buf<f32>) {
    let nodes = [Nodes::of_block(&grid, &w), Nodes::of_halo(&grid, &w)];
    let block = nodes[0];
    w.alu(24).await;
    read_plane(&w, &grid, before, &nodes, 0).await;
    for z in 0..grid.nodes_z {
        w.alu(8).await;
        nodes.iter().for_each(|nodes| nodes.move_down(&w));
        let last = z + 1 == grid.nodes_z;
        if !last {
            read_plane(&w, &grid, before, &nodes, z + 1).await;
        }
        w.barrier().await;
        if block.lanes.any() {
            let values = relax(&w, &block, if z == 0 || last { block.lanes } else { block.face }).await;
            w.store_where(block.lanes, after, block.global.map(|at| at.wrapping_add(z * grid.plane())), values);
        }
        w.barrier().await;
    }
}

/// One iteration on the host.
fn reference_iteration(grid: &Grid, before: &[f32]) -> Vec<f32> {
    let (row, plane) = (grid.nodes_x as usize, grid.plane() as usize);
    let mut after = before.to_vec();
    for z in 1..grid.nodes_z as usize - 1 {
        for y in 1..grid.nodes_y as usize - 1 {
            for x in 1..grid.nodes_x as usize - 1 {
                let at = z * plane + y * row + x;
                after[at] = mean([at - 1, at + 1, at - row, at + row, at - plane, at + plane].map(|at| before[at]));
            }
        }
    }
    after
}

/// Random values for all nodes.
fn draw_nodes(grid: &Grid, generator: &mut SplitMix64) -> Vec<f32> {
    (0..grid.nodes()).map(|_| generator.between_f32(0.0, 1.0)).collect()
}

impl Workload for Lps {
    fn name(&self) -> &'static str {
        "lps"
    }

    fn title(&self) -> &'static str {
        "3-D Laplace solver"
    }

    fn summary(&self) -> &'static str {
        "Relaxes a 3-D grid by Jacobi iteration, one kernel per iteration; blocks march along z through local data."
    }

    fn suite(&self) -> Suite {
        Suite::Ispass
    }

    fn papers(&self) -> &'static [Paper] {
        &[Paper::Tc]
    }

    fn source(&self) -> &'static str {
        "Singh et al., Cache Coherence for GPU Architectures, HPCA 2013, section 7 (LPS); \
         Bakhoda et al., Analyzing CUDA Workloads Using a Detailed GPU Simulator, ISPASS 2009"
    }

    fn sizes(&self) -> &'static [SizeSpec] {
        &SIZES
    }

    fn misfit(&self, sizes: &Sizes) -> Option<String> {
        let axes = ["nodes_x", "nodes_y", "nodes_z"];
        let nodes: u64 = axes.iter().map(|key| u64::from(sizes.get(key))).product();
        sizes.too_large(2 * nodes, &axes)
    }

    fn build(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
        let (grid, iterations) = (Grid::of(sizes), sizes.get("iterations"));
        let initial = draw_nodes(&grid, &mut SplitMix64::new(seed));
        let grids = [memory.alloc_from(&initial), memory.alloc::<f32>(initial.len())];
        let launch = |iteration: u32| {
            let [before, after] = [iteration, iteration + 1].map(|turn| grids[turn as usize % 2]);
            Kernel::new("laplace3d", grid.work_groups(), WAVES_PER_GROUP, move |w| laplace(w, grid, before, after))
                .registers(REGISTERS_PER_ITEM)
                .lds(3 * LOCAL_PLANE * 4)
        };
        let mut values = [initial.clone(), initial];
        for iteration in 0..iterations as usize {
            values[(iteration + 1) % 2] = reference_iteration(&grid, &values[iteration % 2]);
        }
        let outputs =
            vec![Output::new("even grid", grids[0], &values[0]), Output::new("odd grid", grids[1], &values[1])];
        HostProgram::new((0..iterations).map(launch).collect(), outputs)
    }
}

#[cfg(test)]
mod tests {
    use chorus_kernel::flat;
    use chorus_system::{resolve, scales};

    use super::*;

    /// Runs one iteration of a grid that blocks do not divide, and compares it with the host's.
    fn check(nodes_x: u32, nodes_y: u32, nodes_z: u32) {
        let grid = Grid { nodes_x, nodes_y, nodes_z };
        let values = draw_nodes(&grid, &mut SplitMix64::new(1));
        let mut memory = HostMemory::default();
        let (before, after) = (memory.alloc_from(&values), memory.alloc::<f32>(values.len()));
        let kernel =
            Kernel::new("laplace3d", grid.work_groups(), WAVES_PER_GROUP, move |w| laplace(w, grid, before, after))
                .lds(3 * LOCAL_PLANE * 4);
        flat::run_kernel(&kernel, &memory).unwrap();
        assert_eq!(memory.read(after), reference_iteration(&grid, &values));
    }

    #[test]
    fn grids_that_blocks_do_not_divide_are_relaxed_whole() {
        check(33, 5, 4);
        check(40, 11, 3);
        check(3, 3, 3);
    }

    #[test]
    fn a_linear_field_is_a_solution() {
        let grid = Grid { nodes_x: 8, nodes_y: 8, nodes_z: 8 };
        let linear: Vec<f32> = (0..grid.nodes())
            .map(|node| {
                let [x, y, z] = [node % grid.nodes_x, node % grid.plane() / grid.nodes_x, node / grid.plane()];
                (6 * (x + 2 * y + 4 * z)) as f32
            })
            .collect();
        let after = reference_iteration(&grid, &linear);
        assert!(after.iter().zip(&linear).all(|(after, before)| (after - before).abs() <= 1e-4));
    }

    #[test]
    fn all_work_groups_are_resident_on_the_machine_of_their_scale() {
        for scale in scales("tc").unwrap() {
            let core = resolve("tc", scale, &[]).unwrap().config.core;
            assert!(Grid::of(&Lps.sizes_at(scale)).work_groups() <= core.count * core.work_groups, "{scale}");
        }
    }
}
