//! The blocks of the mesh on the host: their levels, the slots of their cells, and their neighbours.

/// The directions, x, y and z.
pub(super) const AXES: usize = 3;
/// The number of children of a block.
pub(super) const CHILDREN: usize = 8;

/// The neighbour of a block on one side.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Beside {
    /// The end of the mesh.
    Nothing,
    /// A block of the same level.
    Same(u32),
    /// A coarser block, and the half of its face that is adjacent in each of the two other directions.
    Coarser(u32, [u32; 2]),
    /// Four finer blocks; the two in the lower half of the second other direction come first.
    Finer([u32; 4]),
}

/// A place of the coarsest level: one block, or its children.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Root {
    Whole(u32),
    Split([u32; CHILDREN]),
}

/// A block of the list that kernels work through.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    root: usize,
    /// The number of the child, if the block is a child of its root.
    child: Option<usize>,
    /// The slot of its cells in memory.
    pub(super) slot: u32,
}

/// The blocks that a refinement splits and merges.
#[derive(Debug, Default)]
pub(super) struct Refinement {
    /// The slots of parent and child, and the number of the child.
    pub(super) splits: Vec<(u32, u32, u32)>,
    /// The slots of the children and of their parent.
    pub(super) merges: Vec<([u32; CHILDREN], u32)>,
}

/// A sphere whose surface is of interest; lengths are edges of a block of the coarsest level.
#[derive(Clone, Copy)]
pub(super) struct Sphere {
    pub(super) centre: [f32; AXES],
    pub(super) radius: f32,
}

impl Sphere {
    /// Whether the surface passes through the block at a place.
    fn cuts(&self, place: [usize; AXES]) -> bool {
        let (mut nearest, mut farthest) = (0.0, 0.0);
        for (place, centre) in place.into_iter().zip(self.centre) {
            let (low, high) = (place as f32, place as f32 + 1.0);
            let near = (low - centre).max(centre - high).max(0.0);
            let far = (centre - low).abs().max((high - centre).abs());
            (nearest, farthest) = (nearest + near * near, farthest + far * far);
        }
        (nearest..=farthest).contains(&(self.radius * self.radius))
    }
}

/// A cube of places of the coarsest level, each with one block or eight.
#[derive(Debug)]
pub(super) struct Mesh {
    /// The number of blocks of the coarsest level along each side.
    side: usize,
    roots: Vec<Root>,
    /// Slots that blocks have given up, of which the last is taken first, and the number of slots ever used.
    free: Vec<u32>,
    pub(super) slots: u32,
}

impl Mesh {
    /// The mesh around the surface of a sphere; blocks take slots in the order of the list.
    pub(super) fn new(side: usize, sphere: &Sphere) -> Mesh {
        let mut mesh = Mesh { side, roots: Vec::new(), free: Vec::new(), slots: 0 };
        for root in 0..side * side * side {
            let cut = sphere.cuts(mesh.place(root));
            let root = if cut { Root::Split([0; CHILDREN].map(|_| mesh.take())) } else { Root::Whole(mesh.take()) };
            mesh.roots.push(root);
        }
        mesh
    }

    fn place(&self, root: usize) -> [usize; AXES] {
        [root % self.side, root / self.side % self.side, root / (self.side * self.side)]
    }

    fn take(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.slots += 1;
            self.slots - 1
        })
    }

    /// Every block, root by root.
    pub(super) fn blocks(&self) -> Vec<Block> {
        let mut blocks = Vec::new();
        for (root, kind) in self.roots.iter().enumerate() {
            match kind {
                Root::Whole(slot) => blocks.push(Block { root, child: None, slot: *slot }),
                Root::Split(slots) => {
                    blocks.extend((0..).zip(slots).map(|(child, &slot)| Block { root, child: Some(child), slot }));
                }
            }
        }
        blocks
    }

    /// The place next to another, if it is in the mesh.
    fn next(&self, root: usize, axis: usize, up: bool) -> Option<&Root> {
        let stride = [1, self.side, self.side * self.side][axis];
        let at = self.place(root)[axis];
        match up {
            true => (at + 1 < self.side).then(|| &self.roots[root + stride]),
            false => (at > 0).then(|| &self.roots[root - stride]),
        }
    }

    /// The neighbour of a block in a direction.
    pub(super) fn beside(&self, block: &Block, axis: usize, up: bool) -> Beside {
        let [first, second] = across(axis);
        let next = self.next(block.root, axis, up);
        let Some(child) = block.child else {
            return match next {
                None => Beside::Nothing,
                Some(Root::Whole(slot)) => Beside::Same(*slot),
                Some(Root::Split(slots)) => Beside::Finer(std::array::from_fn(|quarter| {
                    slots[usize::from(!up) << axis | (quarter & 1) << first | (quarter >> 1) << second]
                })),
            };
        };
        let sibling = child ^ 1 << axis;
        if (child >> axis & 1 == 0) == up
            && let Root::Split(slots) = &self.roots[block.root]
        {
            return Beside::Same(slots[sibling]);
        }
        match next {
            None => Beside::Nothing,
            Some(Root::Split(slots)) => Beside::Same(slots[sibling]),
            Some(Root::Whole(slot)) => {
                Beside::Coarser(*slot, [child >> first & 1, child >> second & 1].map(|h| h as u32))
            }
        }
    }

    /// Splits and merges blocks until the mesh fits another sphere.
    pub(super) fn refine(&mut self, sphere: &Sphere) -> Refinement {
        let mut refinement = Refinement::default();
        let mut given_up = Vec::new();
        for root in 0..self.roots.len() {
            let cut = sphere.cuts(self.place(root));
            match self.roots[root] {
                Root::Whole(parent) if cut => {
                    let children = [0; CHILDREN].map(|_| self.take());
                    refinement.splits.extend((0..).zip(children).map(|(which, child)| (parent, child, which)));
                    given_up.push(parent);
                    self.roots[root] = Root::Split(children);
                }
                Root::Split(children) if !cut => {
                    let parent = self.take();
                    refinement.merges.push((children, parent));
                    given_up.extend(children);
                    self.roots[root] = Root::Whole(parent);
                }
                _ => {}
            }
        }
        // Slots are given up at the end, so that no cell is overwritten before it is read.
        self.free.extend(given_up);
        refinement
    }
}

/// The two directions other than this one.
pub(super) fn across(axis: usize) -> [usize; 2] {
    [[1, 2], [0, 2], [0, 1]][axis]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn sphere(x: f32) -> Sphere {
        Sphere { centre: [x, 2.0, 2.0], radius: 1.2 }
    }

    #[test]
    fn what_lies_beside_a_block_has_the_block_beside_it() {
        let mesh = Mesh::new(4, &sphere(2.0));
        let blocks = mesh.blocks();
        let of_slot = |slot: u32| blocks.iter().find(|block| block.slot == slot).unwrap();
        for block in &blocks {
            for (axis, up) in (0..AXES).flat_map(|axis| [(axis, false), (axis, true)]) {
                let back = |slot: u32| mesh.beside(of_slot(slot), axis, !up);
                match mesh.beside(block, axis, up) {
                    Beside::Nothing => {}
                    Beside::Same(slot) => assert_eq!(back(slot), Beside::Same(block.slot)),
                    Beside::Coarser(slot, half) => match back(slot) {
                        Beside::Finer(slots) => assert_eq!(slots[(half[0] + 2 * half[1]) as usize], block.slot),
                        other => panic!("{other:?}"),
                    },
                    Beside::Finer(slots) => {
                        let coarser = |slot| matches!(back(slot), Beside::Coarser(slot, _) if slot == block.slot);
                        assert!(slots.into_iter().all(coarser));
                    }
                }
            }
        }
    }

    #[test]
    fn blocks_never_share_a_slot() {
        let mut mesh = Mesh::new(4, &sphere(1.5));
        for x in [2.0, 2.5, 1.0] {
            let refinement = mesh.refine(&sphere(x));
            assert!(!refinement.splits.is_empty() || !refinement.merges.is_empty());
            let blocks = mesh.blocks();
            let slots: BTreeSet<u32> = blocks.iter().map(|block| block.slot).collect();
            assert_eq!(slots.len(), blocks.len());
        }
    }
}
