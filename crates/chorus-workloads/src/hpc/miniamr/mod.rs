//! `miniamr`: a seven-point stencil on a mesh of blocks that is refined around a moving sphere.
//!
//! Source: HMG paper (Ren et al., HPCA 2020), section VI, Table III (HPC_MiniAMR-test2); miniAMR of the Mantevo suite
//! (Sasidharan and Snir, MiniAMR: A miniapp for adaptive mesh refinement, 2016). Every block has 8 x 8 x 8 cells and a
//! halo of one, with several variables per cell; blocks that the surface of the sphere cuts are replaced by eight finer
//! ones. The host keeps the list of blocks, as miniAMR does. A step is four kernels. One per direction fills the halos
//! of all blocks, from blocks of the same level, by repetition from coarser and by averages from finer ones. `stencil`
//! replaces each cell by the mean of itself and its six neighbours. When the sphere moves, `split` and `merge` move
//! cells to new blocks. In the end `checksum` and `total` add up each variable.
//!
//! Sharing: a halo is read from cells that the work-groups of up to four blocks per side wrote in the kernel before. A
//! work-group has one variable of one block, in the order of the list, which follows the mesh; new blocks take the
//! memory of old ones anywhere. Rows of 8 cells and 2 halo cells seldom begin at a line, so the line of a halo cell
//! also holds cells that the neighbours read.
//!
//! Left out: the check that neighbours differ by one level (there are two levels), load balancing, and messages:
//! neighbours are read where they lie. Single precision.
//!
//! Arithmetic: 14 instructions for a halo's addresses and kind, 4 more for a mean; stencil: 10 for addresses and loop,
//! 7 for six additions and a multiplication; split and merge: 12 for addresses, 8 for a mean; sums: 4 for address, loop
//! and addition, and the instructions that `lane_sum.rs` names.

mod mesh;
mod reference;

use chorus_kernel::{Buf, HostMemory, Kernel, LANES, Lanes, Mask, Wave};

use self::mesh::{AXES, Beside, CHILDREN, Mesh, Refinement, Sphere, across};
use self::reference::Reference;
use crate::generator::SplitMix64;
use crate::lane_sum::{lane_sum, store_group_sum};
use crate::program::{HostProgram, Output};
use crate::registry::{Paper, Suite, Workload};
use crate::size::{SizeSpec, Sizes};

const WAVES_PER_GROUP: u32 = 4;
/// The numbers of cells along a side of a block, without and with its halo.
const CELLS: u32 = 8;
const STORED: u32 = CELLS + 2;
const STRIDES: [u32; AXES] = [1, STORED, STORED * STORED];
/// Words of one variable of a block; a whole number of lines.
const BLOCK_WORDS: u32 = 1024;
/// Batches of 32 cells in a block, and in one wavefront's share.
const BATCHES: u32 = CELLS * CELLS * CELLS / LANES as u32;
/// Words that describe one side of a block: its kind, four slots, two halves and the block's own slot.
const ENTRY: u32 = 8;
/// The number of words of an entry in the lists of splits, which use three of them, and of merges, which use nine.
const MOVE_ENTRY: u32 = 16;

const NOTHING: u32 = 0;
const SAME: u32 = 1;
const COARSER: u32 = 2;
const FINER: u32 = 3;

pub(crate) struct MiniAmr;

/// There are about 300 blocks at quick scale and 3,800 at paper scale, with 4 KB per variable: 3.0 MB and 127 MB. A
/// block takes about 250 line accesses per variable and step: 0.3 million in all at quick scale and 28 million at paper
/// scale. The paper's 1.8 GB would take 100 million for a single step. Medium scale has about four times the blocks of
/// quick scale.
static SIZES: [SizeSpec; 4] = [
    SizeSpec::new("side", "blocks of the coarsest level along each side", [4, 6, 12], FOOTPRINT).range(2, 48),
    SizeSpec::new("radius", "tenths of a block in the radius of the sphere", [13, 20, 40], FOOTPRINT).range(1, 480),
    SizeSpec::new("variables", "variables of a cell", [2, 2, 7], FOOTPRINT).range(1, 40),
    SizeSpec::new("steps", "time steps at each of the sphere's two places", [1, 1, 2], "chosen: few, for time")
        .range(1, 100),
];
const FOOTPRINT: &str = "chosen: 127 MB of the 1.80 GB in Table III of the HMG paper, for time";

/// Slots that a place of the coarsest level takes at most: eight children, and their parent after or before them.
const SLOTS_PER_ROOT: u64 = CHILDREN as u64 + 1;
#[derive(Clone, Copy)]
struct Data {
    variables: u32,
    slots: u32,
    /// Variable v of the block in slot s is piece s x variables + v.
    cells: Buf<f32>,
    /// Sums of each variable of each block of the list, and of each variable.
    sums: Buf<f32>,
    totals: Buf<f32>,
}

impl Data {
    /// The beginning of a variable of a slot. A slot that does not exist, which only a machine that loses writes can
    /// show, counts as the last one.
    fn piece(&self, slot: u32, variable: u32) -> u32 {
        (slot.min(self.slots - 1) * self.variables + variable) * BLOCK_WORDS
    }
}

/// A list of blocks and their neighbours in memory.
#[derive(Clone, Copy)]
struct List {
    blocks: u32,
    slots: Buf<u32>,
    /// Entries of lower and upper side, block by block, per direction.
    sides: [Buf<u32>; AXES],
}

/// The words of one side of a block.
fn entry(mesh: &Mesh, block: &mesh::Block, axis: usize, up: bool) -> [u32; ENTRY as usize] {
    let own = block.slot;
    match mesh.beside(block, axis, up) {
        Beside::Nothing => [NOTHING, own, own, own, own, 0, 0, own],
        Beside::Same(slot) => [SAME, slot, slot, slot, slot, 0, 0, own],
        Beside::Coarser(slot, [first, second]) => [COARSER, slot, slot, slot, slot, first, second, own],
        Beside::Finer([a, b, c, d]) => [FINER, a, b, c, d, 0, 0, own],
    }
}

impl List {
    fn new(mesh: &Mesh, memory: &mut HostMemory) -> List {
        let blocks = mesh.blocks();
        let slots: Vec<u32> = blocks.iter().map(|block| block.slot).collect();
        let sides = std::array::from_fn(|axis| {
            let both = |block| [entry(mesh, block, axis, false), entry(mesh, block, axis, true)];
            memory.alloc_from(&blocks.iter().flat_map(both).flatten().collect::<Vec<u32>>())
        });
        List { blocks: slots.len() as u32, slots: memory.alloc_from(&slots), sides }
    }
}

/// The place of a cell that is `along` a direction, and `at` these places in the two others; halo cells count.
fn cell(axis: usize, along: u32, at: [u32; 2]) -> u32 {
    let [first, second] = across(axis);
    along * STRIDES[axis] + at[0] * STRIDES[first] + at[1] * STRIDES[second]
}

/// The cells from which a halo cell beside cell `at` of a face is averaged, each with the number of its neighbour, of
/// which there are up to four: one cell four times, or four cells of finer blocks.
fn sources(kind: u32, axis: usize, up: bool, half: [u32; 2], at: [u32; 2]) -> [(usize, u32); 4] {
    // The near side of the neighbour, or at the end of the mesh the block's own last cells.
    let along = if up == (kind == NOTHING) { CELLS } else { 1 };
    match kind {
        COARSER => {
            let from = std::array::from_fn(|axis| half[axis] * CELLS / 2 + at[axis] / 2 + 1);
            [(0, cell(axis, along, from)); 4]
        }
        FINER => {
            let neighbour = (at[0] / (CELLS / 2) + 2 * (at[1] / (CELLS / 2))) as usize;
            std::array::from_fn(|corner| {
                let step = [corner as u32 % 2, corner as u32 / 2];
                let from = std::array::from_fn(|axis| at[axis] % (CELLS / 2) * 2 + step[axis] + 1);
                (neighbour, cell(axis, along, from))
            })
        }
        _ => [(0, cell(axis, along, at.map(|at| at + 1))); 4],
    }
}

/// The mean of four cells.
fn mean4([a, b, c, d]: [f32; 4]) -> f32 {
    0.25 * ((a + b) + (c + d))
}

/// The mean of eight cells.
fn mean8(cells: [f32; CHILDREN]) -> f32 {
    let [a, b, c, d, e, f, g, h] = cells;
    0.125 * (((a + b) + (c + d)) + ((e + f) + (g + h)))
}

/// Fills the halos of one direction. A wavefront has half of one side.
async fn exchange(w: Wave, data: Data, list: List, axis: usize) {
    let (block, variable) = (w.work_group() / data.variables, w.work_group() % data.variables);
    let (side, rows) = (w.id().wave / 2, w.id().wave % 2 * (CELLS / 2));
    let entry_at = w.lane_ids() + (block * 2 + side) * ENTRY;
    let entry = w.load_where(Mask::first(ENTRY as usize), list.sides[axis], entry_at).await;
    let (kind, up) = (entry[0], side == 1);
    w.alu(14).await;
    let at = |lane: usize| [lane as u32 % CELLS, lane as u32 / CELLS + rows];
    let half = [entry[5] & 1, entry[6] & 1];
    let from = |corner: usize| {
        Lanes::from_fn(|lane| {
            let (neighbour, cell) = sources(kind, axis, up, half, at(lane))[corner];
            data.piece(entry[1 + neighbour], variable) + cell
        })
    };
    let values = if kind == FINER {
        let corners = w.join_all(std::array::from_fn::<_, 4, _>(|corner| w.load(data.cells, from(corner)))).await;
        w.alu(4).await;
        Lanes::from_fn(|lane| mean4(corners.map(|corner| corner[lane])))
    } else {
        w.load(data.cells, from(0)).await
    };
    let along = if up { CELLS + 1 } else { 0 };
    let own = data.piece(entry[7], variable);
    let to = Lanes::from_fn(|lane| own + cell(axis, along, at(lane).map(|at| at + 1)));
    w.store(data.cells, to, values);
}

/// The coordinates of the cells of a batch, without halo.
fn batch_cells(batch: u32) -> Lanes<[u32; AXES]> {
    Lanes::from_fn(|lane| {
        let number = batch * LANES as u32 + lane as u32;
        [number % CELLS, number / CELLS % CELLS, number / (CELLS * CELLS)]
    })
}

/// The place of a cell in its block.
fn stored([x, y, z]: [u32; AXES]) -> u32 {
    (x + 1) * STRIDES[0] + (y + 1) * STRIDES[1] + (z + 1) * STRIDES[2]
}

/// The batches of a wavefront.
fn batches(w: &Wave) -> impl Iterator<Item = u32> + use<> {
    (w.id().wave..BATCHES).step_by(WAVES_PER_GROUP as usize)
}

/// A cell after one step: the mean of seven.
fn next(centre: f32, [a, b, c, d, e, f]: [f32; 2 * AXES]) -> f32 {
    (centre + ((a + b) + (c + d) + (e + f))) * (1.0 / 7.0)
}

/// One step of one variable of a block, from a copy in local data.
async fn stencil(w: Wave, data: Data, list: List) {
    let (block, variable) = (w.work_group() / data.variables, w.work_group() % data.variables);
    let own = data.piece(w.load_one(list.slots, block).await, variable);
    for first in (w.id().wave * LANES as u32..BLOCK_WORDS).step_by(WAVES_PER_GROUP as usize * LANES) {
        let at = w.lane_ids() + first;
        let words = at.below(STORED * STRIDES[2]);
        let values = w.load_where(words, data.cells, at + own).await;
        w.lds_write(words, at, values);
    }
    w.barrier().await;
    for batch in batches(&w) {
        let at = batch_cells(batch).map(stored);
        w.alu(10).await;
        let centre: Lanes<f32> = w.lds_read(Mask::ALL, at);
        let around: [Lanes<f32>; 2 * AXES] = std::array::from_fn(|side| {
            let stride = STRIDES[side / 2];
            w.lds_read(Mask::ALL, if side % 2 == 0 { at - stride } else { at + stride })
        });
        w.alu(7).await;
        let values = Lanes::from_fn(|lane| next(centre[lane], around.map(|neighbour| neighbour[lane])));
        w.store(data.cells, at + own, values);
    }
}

/// The cell of its parent that a cell of child `which` lies in.
fn parent_cell(which: u32, at: [u32; AXES]) -> u32 {
    stored(std::array::from_fn(|axis| (which >> axis & 1) * CELLS / 2 + at[axis] / 2))
}

/// The child that a cell of its parent lies in, and the cells there, by number.
fn child_cell(at: [u32; AXES], corner: usize) -> (usize, u32) {
    let child = (0..AXES).fold(0, |child, axis| child | ((at[axis] / (CELLS / 2)) as usize) << axis);
    (child, stored(std::array::from_fn(|axis| at[axis] % (CELLS / 2) * 2 + (corner as u32 >> axis & 1))))
}

/// Copies the cells of a block into one of its children. The parent, the child and which it is are in `moves`.
async fn split(w: Wave, data: Data, moves: Buf<u32>) {
    let (number, variable) = (w.work_group() / data.variables, w.work_group() % data.variables);
    let entry = w.load_where(Mask::first(3), moves, w.lane_ids() + number * MOVE_ENTRY).await;
    let (parent, child) = (data.piece(entry[0], variable), data.piece(entry[1], variable));
    for batch in batches(&w) {
        let at = batch_cells(batch);
        w.alu(12).await;
        let values = w.load(data.cells, at.map(|at| parent + parent_cell(entry[2], at))).await;
        w.store(data.cells, at.map(|at| child + stored(at)), values);
    }
}

/// Averages the cells of eight children into their parent. The children and the parent are in `moves`.
async fn merge(w: Wave, data: Data, moves: Buf<u32>) {
    let (number, variable) = (w.work_group() / data.variables, w.work_group() % data.variables);
    let entry = w.load_where(Mask::first(CHILDREN + 1), moves, w.lane_ids() + number * MOVE_ENTRY).await;
    let parent = data.piece(entry[CHILDREN], variable);
    for batch in batches(&w) {
        let at = batch_cells(batch);
        w.alu(12).await;
        let corners: [Lanes<u32>; CHILDREN] = std::array::from_fn(|corner| {
            at.map(|at| {
                let (child, cell) = child_cell(at, corner);
                data.piece(entry[child], variable) + cell
            })
        });
        let values = w.join_all(corners.map(|at| w.load(data.cells, at))).await;
        w.alu(8).await;
        let means = Lanes::from_fn(|lane| mean8(values.map(|value| value[lane])));
        w.store(data.cells, at.map(|at| parent + stored(at)), means);
    }
}

/// Adds up one variable of a block.
async fn checksum(w: Wave, data: Data, list: List) {
    let (block, variable) = (w.work_group() / data.variables, w.work_group() % data.variables);
    let own = data.piece(w.load_one(list.slots, block).await, variable);
    let mut sum = Lanes::splat(0.0);
    for batch in batches(&w) {
        sum = sum + w.load(data.cells, batch_cells(batch).map(stored) + own).await;
        w.alu(4).await;
    }
    store_group_sum(&w, sum, data.sums, w.work_group()).await;
}

/// Adds up one variable of all blocks.
async fn total(w: Wave, data: Data, blocks: u32) {
    let variable = w.work_group();
    let mut sum = Lanes::splat(0.0);
    for first in (0..blocks).step_by(LANES) {
        let block = w.lane_ids() + first;
        sum = sum + w.load_where(block.below(blocks), data.sums, block * data.variables + variable).await;
        w.alu(4).await;
    }
    w.alu(10).await;
    w.store_one(data.totals, variable, lane_sum(sum.0));
}

/// The kernels of one step.
fn push_step(kernels: &mut Vec<Kernel>, data: Data, list: List) {
    let groups = list.blocks * data.variables;
    for (axis, name) in ["exchange x", "exchange y", "exchange z"].into_iter().enumerate() {
        kernels.push(Kernel::new(name, groups, WAVES_PER_GROUP, move |w| exchange(w, data, list, axis)));
    }
    let stencil = Kernel::new("stencil", groups, WAVES_PER_GROUP, move |w| stencil(w, data, list));
    kernels.push(stencil.lds(BLOCK_WORDS * 4));
}

/// The kernels of a refinement.
fn push_refinement(kernels: &mut Vec<Kernel>, data: Data, refinement: &Refinement, memory: &mut HostMemory) {
    let mut splits = Vec::new();
    for &(parent, child, which) in &refinement.splits {
        splits.extend([parent, child, which]);
        splits.resize(splits.len().next_multiple_of(MOVE_ENTRY as usize), 0);
    }
    let mut merges = Vec::new();
    for (children, parent) in &refinement.merges {
        merges.extend(children.iter().chain([parent]));
        merges.resize(merges.len().next_multiple_of(MOVE_ENTRY as usize), 0);
    }
    let groups = |moves: &[u32]| moves.len() as u32 / MOVE_ENTRY * data.variables;
    if !splits.is_empty() {
        let moves = memory.alloc_from(&splits);
        kernels.push(Kernel::new("split", groups(&splits), WAVES_PER_GROUP, move |w| split(w, data, moves)));
    }
    if !merges.is_empty() {
        let moves = memory.alloc_from(&merges);
        kernels.push(Kernel::new("merge", groups(&merges), WAVES_PER_GROUP, move |w| merge(w, data, moves)));
    }
}

impl Workload for MiniAmr {
    fn name(&self) -> &'static str {
        "miniamr"
    }

    fn title(&self) -> &'static str {
        "MiniAMR (adaptive mesh refinement)"
    }

    fn summary(&self) -> &'static str {
        "Steps a stencil on a block mesh refined around a moving sphere; kernels exchange the halos of blocks."
    }

    fn suite(&self) -> Suite {
        Suite::Hpc
    }

    fn papers(&self) -> &'static [Paper] {
        &[Paper::Hmg]
    }

    fn source(&self) -> &'static str {
        "Ren et al., HMG: Extending Cache Coherence Protocols Across Modern Hierarchical Multi-GPU Systems, HPCA 2020, \
         section VI, Table III (MiniAMR); miniAMR (Mantevo; Sasidharan and Snir, 2016)"
    }

    fn sizes(&self) -> &'static [SizeSpec] {
        &SIZES
    }

    fn misfit(&self, sizes: &Sizes) -> Option<String> {
        let (side, variables) = (sizes.get("side"), sizes.get("variables"));
        let words = SLOTS_PER_ROOT * u64::from(side).pow(3) * u64::from(variables * BLOCK_WORDS);
        sizes.too_large(words, &["side", "variables"])
    }

    fn build(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
        let (side, radius) = (sizes.get("side") as usize, sizes.get("radius") as f32 / 10.0);
        let (variables, steps) = (sizes.get("variables"), sizes.get("steps"));
        let middle = side as f32 / 2.0;
        let sphere = |x: f32| Sphere { centre: [x, middle, middle], radius };
        let mut mesh = Mesh::new(side, &sphere(middle));
        let before = List::new(&mesh, memory);
        let mut reference = Reference::new(variables, &mesh);
        let refinement = mesh.refine(&sphere(middle + 0.6));
        let after = List::new(&mesh, memory);
        reference.grow(&mesh, &mut SplitMix64::new(seed));

        let data = Data {
            variables,
            slots: mesh.slots,
            cells: memory.alloc_from(reference.cells()),
            sums: memory.alloc((after.blocks * variables) as usize),
            totals: memory.alloc(variables as usize),
        };
        let mut kernels = Vec::new();
        (0..steps).for_each(|_| push_step(&mut kernels, data, before));
        push_refinement(&mut kernels, data, &refinement, memory);
        (0..steps).for_each(|_| push_step(&mut kernels, data, after));
        let checksum =
            Kernel::new("checksum", after.blocks * variables, WAVES_PER_GROUP, move |w| checksum(w, data, after));
        kernels.push(checksum.lds(WAVES_PER_GROUP * 4));
        kernels.push(Kernel::new("total", variables, 1, move |w| total(w, data, after.blocks)));

        (0..steps).for_each(|_| reference.step());
        reference.refine(&refinement, &mesh);
        (0..steps).for_each(|_| reference.step());
        let (sums, totals) = reference.sums();
        let outputs = vec![
            Output::new("cells", data.cells, reference.cells()),
            Output::new("sums of blocks", data.sums, &sums),
            Output::new("totals", data.totals, &totals),
        ];
        HostProgram::new(kernels, outputs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halo_cells_come_from_the_cells_that_touch_them() {
        // Beside the upper x face: the lowest x of the neighbour.
        let near =
            |kind, half, at| sources(kind, 0, true, half, at).map(|(neighbour, cell)| (neighbour, cell % STORED));
        assert!(near(SAME, [0, 0], [3, 5]).iter().all(|&source| source == (0, 1)));
        assert!(near(FINER, [0, 0], [3, 5]).iter().all(|&source| source == (2, 1)));
        assert_eq!(sources(SAME, 0, true, [0, 0], [3, 5])[0].1, cell(0, 1, [4, 6]));
        assert_eq!(sources(COARSER, 1, false, [1, 0], [3, 5])[0].1, cell(1, CELLS, [6, 3]));
        assert_eq!(sources(NOTHING, 2, true, [0, 0], [3, 5])[0].1, cell(2, CELLS, [4, 6]));
    }

    #[test]
    fn children_and_parents_find_each_others_cells() {
        for batch in 0..BATCHES {
            for at in batch_cells(batch).0 {
                for corner in 0..CHILDREN {
                    let (child, cell) = child_cell(at, corner);
                    let [x, y, z] = [cell % STORED, cell / STORED % STORED, cell / STRIDES[2]].map(|place| place - 1);
                    assert_eq!(parent_cell(child as u32, [x, y, z]), stored(at));
                }
            }
        }
    }

    #[test]
    fn a_block_and_its_halo_fit_their_words() {
        assert!(STORED * STRIDES[2] <= BLOCK_WORDS);
        assert_eq!(cell(2, CELLS + 1, [CELLS, CELLS]), STRIDES[2] * (CELLS + 1) + STRIDES[1] * CELLS + CELLS);
    }
}
