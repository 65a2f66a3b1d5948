//! The kernel: walk, lock, insert, publish.
//!
//! A child pointer is a word: empty, a body, locked, or a cell, in this order of value. An atomic maximum with the
//! locked value therefore locks a pointer that is empty or leads to a body, leaves all others alone, and returns the
//! old pointer. It replaces the original's compare-and-exchange, in which each lane compares with a value of its own;
//! the machine's compares with one value for the whole wavefront.
//!
//! Lanes never wait for each other: all that hold a lock insert their bodies and release it before any of them tries
//! again. After each attempt the wavefronts of a work-group meet at a barrier, as in the original: it keeps lanes that
//! have failed from crowding out lanes that build.
//!
//! Order: new cells are behind a fence before the pointer that shows them. A lane that reads the pointer reads the
//! cells afterwards. A stale pointer does no harm: one that looks empty or like a body makes the lane try a lock in
//! vain, and one that looks locked makes it wait. Bodies do not move, so a body stored in an empty pointer needs no
//! fence.
//!
//! When cells run out, which a machine without coherence can bring about, a body is dropped, and shows as a wrong
//! result.
//!
//! Every word of a new cell is stored once; the original empties all its pointers before it stores the bodies.
//!
//! Arithmetic: 12 instructions for a level of the walk (three comparisons, three conditional additions, the address,
//! the kind of pointer, half the radius, the depth, the loop) and as many for the root; 5 for an attempt to lock (kind,
//! address, outcome); 34 for a new cell (6 for the centre, 12 for the two octants, 16 for the addresses and values of
//! its pointers); 4 to go on to the next body.

use chorus_kernel::{Buf, HostMemory, LANES, Lanes, Mask, Wave};
use chorus_protocol::access::{AtomicOp, Scope};

use super::{MASS_UNKNOWN, ROOT_RADIUS, START_UNKNOWN};

/// Pointers of a cell.
pub(super) const OCTANTS: u32 = 8;

/// The pointer to nothing.
pub(super) const EMPTY: u32 = 0;
/// A pointer that a lane is about to replace.
pub(super) const LOCKED: u32 = 1 << 31;

fn to_body(body: u32) -> u32 {
    EMPTY + 1 + body
}

fn to_cell(cell: u32) -> u32 {
    LOCKED + 1 + cell
}

/// The body that a pointer leads to.
pub(super) fn body(child: u32) -> Option<u32> {
    (EMPTY + 1..LOCKED).contains(&child).then(|| child - EMPTY - 1)
}

/// The cell that a pointer leads to.
pub(super) fn cell(child: u32) -> Option<u32> {
    (child > LOCKED).then(|| child - LOCKED - 1)
}

/// The octant of a cell that a position lies in. A coordinate that is not above the centre counts as below.
pub(super) fn octant(centre: [f32; 3], position: [f32; 3]) -> u32 {
    (0..3).fold(0, |octant, axis| octant | u32::from(centre[axis] < position[axis]) << axis)
}

/// The centre of an octant whose cube has half the edge `radius`.
pub(super) fn octant_centre(centre: [f32; 3], octant: u32, radius: f32) -> [f32; 3] {
    std::array::from_fn(|axis| if octant >> axis & 1 == 1 { centre[axis] + radius } else { centre[axis] - radius })
}

/// The buffers that all work-groups share.
#[derive(Clone, Copy)]
pub(super) struct Tree {
    pub(super) bodies: u32,
    /// The number of cells that there is room for.
    pub(super) capacity: u32,
    /// The coordinates of the bodies, followed by those of the centres of the cells.
    pub(super) position: [Buf<f32>; 3],
    /// Eight pointers for each cell.
    pub(super) children: Buf<u32>,
    pub(super) mass: Buf<f32>,
    /// The place of a cell's first body in the order that a later kernel gives to the bodies.
    pub(super) start: Buf<i32>,
    /// The number of cells that have been made.
    pub(super) cells: Buf<u32>,
    /// Pointers from the root to the deepest body.
    pub(super) depth: Buf<u32>,
}

impl Tree {
    /// A tree of nothing but the root, cell 0, whose centre is the origin. It has room for as many cells as there are
    /// bodies, or for `cells` if these are more: few bodies that lie close together can need many cells.
    pub(super) fn new(bodies: &[[f32; 3]], cells: u32, memory: &mut HostMemory) -> Tree {
        let capacity = bodies.len().max(cells as usize);
        let mut axis = |axis: usize| {
            let mut values: Vec<f32> = bodies.iter().map(|body| body[axis]).collect();
            values.resize(bodies.len() + capacity, 0.0);
            memory.alloc_from(&values)
        };
        let position = [axis(0), axis(1), axis(2)];
        let mass = memory.alloc(capacity);
        memory.set(mass, 0, MASS_UNKNOWN);
        Tree {
            bodies: bodies.len() as u32,
            capacity: capacity as u32,
            position,
            children: memory.alloc(capacity * OCTANTS as usize),
            mass,
            start: memory.alloc(capacity),
            cells: memory.alloc_from(&[1]),
            depth: memory.alloc(1),
        }
    }

    async fn load_positions(&self, w: &Wave, mask: Mask, node: Lanes<u32>) -> Lanes<[f32; 3]> {
        let [x, y, z] = w.join_all(self.position.map(|axis| w.load_where(mask, axis, node))).await;
        Lanes::from_fn(|lane| [x[lane], y[lane], z[lane]])
    }
}

/// The cell and the octant that the body of each lane has reached.
struct Walk {
    body: Lanes<u32>,
    position: Lanes<[f32; 3]>,
    cell: Lanes<u32>,
    centre: Lanes<[f32; 3]>,
    radius: Lanes<f32>,
    octant: Lanes<u32>,
    depth: Lanes<u32>,
}

/// One wavefront of the tree-building kernel.
pub(super) async fn build_tree(w: Wave, tree: Tree) {
    let stride = w.id().work_groups * w.id().waves_per_group * LANES as u32;
    let mut walk = Walk::new(w.global_ids());
    let mut deepest = Lanes::splat(0);
    let mut pending = walk.body.below(tree.bodies);
    let mut fresh = pending;
    while pending.any() {
        walk.start(&w, &tree, fresh).await;
        let child = walk.descend(&w, &tree, pending).await;

        w.alu(5).await;
        let open = pending & child.where_(|child| child != LOCKED);
        let found = w.atomic_where(AtomicOp::Max, open, tree.children, walk.pointer(), LOCKED.into()).await;
        let empty = open & found.where_(|child| child == EMPTY);
        let occupied = open & found.where_(|child| body(child).is_some());
        w.store_where(empty, tree.children, walk.pointer(), walk.body.map(to_body));
        if occupied.any() {
            walk.split(&w, &tree, occupied, found).await;
        }

        w.alu(4).await;
        fresh = empty | occupied;
        deepest = walk.depth.zip(deepest, u32::max).select(fresh, deepest);
        walk.body = (walk.body + stride).select(fresh, walk.body);
        pending = walk.body.below(tree.bodies);
        fresh = fresh & pending;
        w.barrier().await;
    }
    w.atomic_where(AtomicOp::Max, Mask::ALL, tree.depth, Lanes::splat(0), deepest).await;
}

impl Walk {
    fn new(body: Lanes<u32>) -> Walk {
        Walk {
            body,
            position: Lanes::splat([0.0; 3]),
            cell: Lanes::splat(0),
            centre: Lanes::splat([0.0; 3]),
            radius: Lanes::splat(ROOT_RADIUS),
            octant: Lanes::splat(0),
            depth: Lanes::splat(0),
        }
    }

    /// The element of the pointer that each lane is at.
    fn pointer(&self) -> Lanes<u32> {
        self.cell * OCTANTS + self.octant
    }

    /// Puts the lanes of `fresh` at the root with a new body.
    async fn start(&mut self, w: &Wave, tree: &Tree, fresh: Mask) {
        if !fresh.any() {
            return;
        }
        self.position = tree.load_positions(w, fresh, self.body).await.select(fresh, self.position);
        self.radius = Lanes::splat(ROOT_RADIUS).select(fresh, self.radius);
        self.depth = Lanes::splat(0).select(fresh, self.depth);
        self.enter(w, fresh, Lanes::splat(0), Lanes::splat([0.0; 3])).await;
    }

    /// Chooses the octant of a cell.
    async fn enter(&mut self, w: &Wave, mask: Mask, cell: Lanes<u32>, centre: Lanes<[f32; 3]>) {
        w.alu(12).await;
        self.cell = cell.select(mask, self.cell);
        self.centre = centre.select(mask, self.centre);
        self.octant = self.centre.zip(self.position, octant).select(mask, self.octant);
        self.depth = (self.depth + 1).select(mask, self.depth);
    }

    /// Follows pointers until they lead to no cell. Returns the last pointers.
    async fn descend(&mut self, w: &Wave, tree: &Tree, pending: Mask) -> Lanes<u32> {
        let mut walking = pending;
        let mut children = Lanes::splat(EMPTY);
        loop {
            children = w.load_where(walking, tree.children, self.pointer()).await.select(walking, children);
            walking = walking & children.where_(|child| cell(child).is_some());
            if !walking.any() {
                return children;
            }
            let cells = children.map(|child| cell(child).unwrap_or(0));
            let centres = tree.load_positions(w, walking, cells + tree.bodies).await;
            self.radius = self.radius.map(|radius| radius * 0.5).select(walking, self.radius);
            self.enter(w, walking, cells, centres).await;
        }
    }

    /// Replaces each lane's locked pointer, which led to another body, by cells that hold both.
    async fn split(&mut self, w: &Wave, tree: &Tree, locked: Mask, found: Lanes<u32>) {
        let lock = self.pointer();
        let others = found.map(|child| body(child).unwrap_or(0));
        let other_positions = tree.load_positions(w, locked, others).await;
        // A lane without a cell puts back the pointer that it found.
        let mut published = found;
        let mut first = locked;
        let mut together = locked;
        while together.any() {
            let made = w.atomic_where(AtomicOp::Add, together, tree.cells, Lanes::splat(0), Lanes::splat(1)).await;
            together = together & made.below(tree.capacity);
            let made = made.select(together, Lanes::splat(0));
            published = made.map(to_cell).select(first & together, published);
            w.store_where(together & !first, tree.children, self.pointer(), made.map(to_cell));
            first = Mask::NONE;

            self.radius = self.radius.map(|radius| radius * 0.5).select(together, self.radius);
            let centre = Lanes::from_fn(|lane| octant_centre(self.centre[lane], self.octant[lane], self.radius[lane]));
            self.enter(w, together, made, centre).await;
            let other_octant = self.centre.zip(other_positions, octant);
            self.store_cell(w, tree, together, others, other_octant).await;
            together = together & self.octant.zip(other_octant, |a, b| a == b).where_(|same| same);
        }
        w.fence(Scope::Gpu).await;
        w.store_where(locked, tree.children, lock, published);
    }

    /// Fills in the cell that each lane has just entered. The pointer that both bodies would share is left to the next
    /// cell.
    async fn store_cell(&self, w: &Wave, tree: &Tree, mask: Mask, other: Lanes<u32>, other_octant: Lanes<u32>) {
        w.alu(22).await;
        w.store_where(mask, tree.mass, self.cell, MASS_UNKNOWN.into());
        w.store_where(mask, tree.start, self.cell, START_UNKNOWN.into());
        for (axis, values) in tree.position.into_iter().enumerate() {
            w.store_where(mask, values, self.cell + tree.bodies, self.centre.map(|centre| centre[axis]));
        }
        for octant in 0..OCTANTS {
            let (mine, others) = (self.octant.where_(|o| o == octant), other_octant.where_(|o| o == octant));
            let child = self.body.map(to_body).select(mine, EMPTY.into());
            let child = other.map(to_body).select(others, child);
            w.store_where(mask & !(mine & others), tree.children, self.cell * OCTANTS + octant, child);
        }
    }
}
