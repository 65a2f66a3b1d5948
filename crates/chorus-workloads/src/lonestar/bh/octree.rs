//! The octree that the host builds, and the comparison with it.

use chorus_kernel::{HostMemory, Mismatch};

use super::ROOT_RADIUS;
use super::insert::{self, OCTANTS, Tree, octant, octant_centre};

/// The end of a pointer.
enum Node {
    Empty,
    Body(u32),
    Cell(Box<Cell>),
}

struct Cell {
    centre: [f32; 3],
    children: [Node; OCTANTS as usize],
}

/// An octree whose leaves hold one body each.
pub(super) struct Octree {
    root: Cell,
    cells: u32,
    depth: u32,
}

impl Octree {
    /// The octree of bodies at different places, cut cell by cell from the root.
    pub(super) fn new(bodies: &[[f32; 3]]) -> Octree {
        let mut octree =
            Octree { root: Cell { centre: [0.0; 3], children: [const { Node::Empty }; 8] }, cells: 0, depth: 0 };
        octree.root = octree.cut(bodies, (0..bodies.len() as u32).collect(), [0.0; 3], ROOT_RADIUS, 0);
        octree
    }

    /// The cell of these bodies, with all cells below it.
    fn cut(&mut self, bodies: &[[f32; 3]], members: Vec<u32>, centre: [f32; 3], radius: f32, depth: u32) -> Cell {
        self.cells += 1;
        self.depth = self.depth.max(depth + 1);
        let mut octants: [Vec<u32>; OCTANTS as usize] = Default::default();
        for member in members {
            octants[octant(centre, bodies[member as usize]) as usize].push(member);
        }
        let mut number = 0..OCTANTS;
        let children = octants.map(|members| {
            let octant = number.next().unwrap_or(0);
            match members[..] {
                [] => Node::Empty,
                [body] => Node::Body(body),
                _ => {
                    let inside = octant_centre(centre, octant, radius / 2.0);
                    Node::Cell(Box::new(self.cut(bodies, members, inside, radius / 2.0, depth + 1)))
                }
            }
        });
        Cell { centre, children }
    }

    /// The number of cells, the root among them.
    pub(super) fn cells(&self) -> u32 {
        self.cells
    }

    /// The number of pointers from the root to the deepest body.
    pub(super) fn depth(&self) -> u32 {
        self.depth
    }

    /// Compares the tree in memory with this octree, cell by cell.
    pub(super) fn compare(&self, tree: &Tree, memory: &HostMemory) -> Result<(), Mismatch> {
        let mut reached = vec![false; tree.capacity as usize];
        compare_cell(&self.root, 0, tree, memory, &mut reached)
    }
}

fn compare_cell(
    expected: &Cell,
    cell: u32,
    tree: &Tree,
    memory: &HostMemory,
    reached: &mut [bool],
) -> Result<(), Mismatch> {
    match reached.get_mut(cell as usize) {
        Some(reached) if !*reached => *reached = true,
        Some(_) => return Err(Mismatch(format!("two pointers lead to cell {cell}"))),
        None => return Err(Mismatch(format!("a pointer leads to cell {cell} of {}", tree.capacity))),
    }
    let centre = tree.position.map(|axis| memory.get(axis, (tree.bodies + cell) as usize));
    if centre != expected.centre {
        return Err(Mismatch(format!("the centre of cell {cell} is {centre:?} instead of {:?}", expected.centre)));
    }
    for (octant, expected) in (0..).zip(&expected.children) {
        let child = memory.get(tree.children, (cell * OCTANTS + octant) as usize);
        match (expected, insert::body(child), insert::cell(child)) {
            (Node::Empty, None, None) if child == insert::EMPTY => {}
            (Node::Body(expected), Some(body), None) if body == *expected => {}
            (Node::Cell(expected), None, Some(child)) => compare_cell(expected, child, tree, memory, reached)?,
            (Node::Empty | Node::Body(_) | Node::Cell(_), _, _) => {
                let (found, expected) = (describe(child), expected.describe());
                return Err(Mismatch(format!("octant {octant} of cell {cell} is {found} instead of {expected}")));
            }
        }
    }
    Ok(())
}

impl Node {
    fn describe(&self) -> String {
        match self {
            Node::Empty => "empty".to_string(),
            Node::Body(body) => format!("body {body}"),
            Node::Cell(_) => "a cell".to_string(),
        }
    }
}

fn describe(child: u32) -> String {
    match (insert::body(child), insert::cell(child)) {
        (Some(body), _) => format!("body {body}"),
        (None, Some(cell)) => format!("cell {cell}"),
        (None, None) if child == insert::EMPTY => "empty".to_string(),
        (None, None) => "locked".to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_bodies_far_apart_need_no_cell_but_the_root() {
        let octree = Octree::new(&[[-1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]);
        assert_eq!((octree.cells(), octree.depth()), (1, 1));
    }

    #[test]
    fn two_bodies_close_together_are_cut_apart() {
        // Both lie in the octant of the root around (16, 16, 16); x = 17 and x = 9 are on different sides of it.
        let octree = Octree::new(&[[17.0, 20.0, 20.0], [9.0, 20.0, 20.0]]);
        assert_eq!((octree.cells(), octree.depth()), (2, 2));
    }
}
