//! All steps of the program on the host.

use super::mesh::{AXES, Block, CHILDREN, Mesh, Refinement};
use super::{
    BATCHES, BLOCK_WORDS, CELLS, ENTRY, FINER, LANES, STRIDES, SplitMix64, WAVES_PER_GROUP, batch_cells, cell,
    child_cell, entry, mean4, mean8, next, parent_cell, sources, stored,
};
use crate::lane_sum::{group_sum, lane_sum};

/// The mesh with its cells.
pub(super) struct Reference {
    variables: u32,
    blocks: Vec<Block>,
    /// The entries of all sides, as kernels get them, in the order of blocks, directions and sides.
    entries: Vec<[u32; ENTRY as usize]>,
    cells: Vec<f32>,
}

/// The entries of all sides of these blocks.
fn all_entries(mesh: &Mesh, blocks: &[Block]) -> Vec<[u32; ENTRY as usize]> {
    let sides = || (0..AXES).flat_map(|axis| [(axis, false), (axis, true)]);
    blocks.iter().flat_map(|block| sides().map(move |(axis, up)| entry(mesh, block, axis, up))).collect()
}

/// The coordinates of all cells of a block, without halo.
fn block_cells() -> impl Iterator<Item = [u32; AXES]> {
    (0..BATCHES).flat_map(|batch| batch_cells(batch).0)
}

impl Reference {
    /// The mesh, still without cells.
    pub(super) fn new(variables: u32, mesh: &Mesh) -> Reference {
        let blocks = mesh.blocks();
        Reference { variables, entries: all_entries(mesh, &blocks), blocks, cells: Vec::new() }
    }

    /// Makes cells for every slot that `mesh` ever uses, and draws the cells of the blocks that exist.
    pub(super) fn grow(&mut self, mesh: &Mesh, generator: &mut SplitMix64) {
        self.cells = vec![0.0; (mesh.slots * self.variables * BLOCK_WORDS) as usize];
        for block in 0..self.blocks.len() {
            for variable in 0..self.variables {
                let own = self.piece(self.blocks[block].slot, variable);
                for at in block_cells() {
                    self.cells[own + stored(at) as usize] = generator.unit_f32();
                }
            }
        }
    }

    pub(super) fn cells(&self) -> &[f32] {
        &self.cells
    }

    fn piece(&self, slot: u32, variable: u32) -> usize {
        ((slot * self.variables + variable) * BLOCK_WORDS) as usize
    }

    /// Fills the halo on one side of a block.
    fn exchange(&mut self, axis: usize, up: bool, entry: [u32; ENTRY as usize], variable: u32) {
        let own = self.piece(entry[7], variable);
        let along = if up { CELLS + 1 } else { 0 };
        for at in (0..CELLS * CELLS).map(|number| [number % CELLS, number / CELLS]) {
            let corners = sources(entry[0], axis, up, [entry[5], entry[6]], at)
                .map(|(neighbour, cell)| self.cells[self.piece(entry[1 + neighbour], variable) + cell as usize]);
            let value = if entry[0] == FINER { mean4(corners) } else { corners[0] };
            self.cells[own + cell(axis, along, at.map(|at| at + 1)) as usize] = value;
        }
    }

    /// Makes one step of all blocks.
    pub(super) fn step(&mut self) {
        for (number, entry) in self.entries.clone().into_iter().enumerate() {
            let side = number % (2 * AXES);
            (0..self.variables).for_each(|variable| self.exchange(side / 2, side % 2 == 1, entry, variable));
        }
        for block in 0..self.blocks.len() {
            for variable in 0..self.variables {
                let own = self.piece(self.blocks[block].slot, variable);
                let words = &mut self.cells[own..own + BLOCK_WORDS as usize];
                let before = words.to_vec();
                for at in block_cells().map(|at| stored(at) as usize) {
                    let around = std::array::from_fn(|side| {
                        let stride = STRIDES[side / 2] as usize;
                        before[if side % 2 == 0 { at - stride } else { at + stride }]
                    });
                    words[at] = next(before[at], around);
                }
            }
        }
    }

    /// Moves cells to the blocks of the refined mesh.
    pub(super) fn refine(&mut self, refinement: &Refinement, mesh: &Mesh) {
        for variable in 0..self.variables {
            for &(parent, child, which) in &refinement.splits {
                let (parent, child) = (self.piece(parent, variable), self.piece(child, variable));
                for at in block_cells() {
                    self.cells[child + stored(at) as usize] = self.cells[parent + parent_cell(which, at) as usize];
                }
            }
            for (children, parent) in &refinement.merges {
                for at in block_cells() {
                    let corners: [f32; CHILDREN] = std::array::from_fn(|corner| {
                        let (child, cell) = child_cell(at, corner);
                        self.cells[self.piece(children[child], variable) + cell as usize]
                    });
                    let parent = self.piece(*parent, variable);
                    self.cells[parent + stored(at) as usize] = mean8(corners);
                }
            }
        }
        self.blocks = mesh.blocks();
        self.entries = all_entries(mesh, &self.blocks);
    }

    /// The sums of each variable of each block, and of each variable.
    pub(super) fn sums(&self) -> (Vec<f32>, Vec<f32>) {
        let mut sums = Vec::new();
        for block in &self.blocks {
            for variable in 0..self.variables {
                let own = self.piece(block.slot, variable);
                let mut waves = [[0.0; LANES]; WAVES_PER_GROUP as usize];
                for (wave, lanes) in (0..).zip(&mut waves) {
                    for batch in (wave..BATCHES).step_by(WAVES_PER_GROUP as usize) {
                        for (sum, at) in lanes.iter_mut().zip(batch_cells(batch).0) {
                            *sum += self.cells[own + stored(at) as usize];
                        }
                    }
                }
                sums.push(group_sum(&waves));
            }
        }
        let total = |variable: u32| {
            let mut lanes = [0.0; LANES];
            for (block, sum) in sums.iter().skip(variable as usize).step_by(self.variables as usize).enumerate() {
                lanes[block % LANES] += sum;
            }
            lane_sum(lanes)
        };
        let totals = (0..self.variables).map(total).collect();
        (sums, totals)
    }
}
