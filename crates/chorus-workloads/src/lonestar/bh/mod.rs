//! `bh`: the octree of the Barnes-Hut n-body algorithm, built by all work-items at once.
//!
//! Source: TC paper (Singh et al., HPCA 2013), section 7, Barnes Hut, tree-building kernel, 30,000 bodies; the program
//! is that of Burtscher and Pingali, An Efficient CUDA Implementation of the Tree-Based Barnes Hut n-Body Algorithm,
//! GPU Computing Gems Emerald Edition, 2011, chapter 6. A leaf holds one body. A work-item walks from the root to the
//! place where its body belongs and locks that child pointer. If the pointer is empty, the work-item stores its body
//! there. If another body is there, the work-item makes cells until the two lie in different octants. It publishes them
//! by storing a pointer to the first, which releases the lock too. A work-item that finds the pointer locked tries
//! again later.
//!
//! | file | subject |
//! |---|---|
//! | `insert.rs` | the kernel |
//! | `octree.rs` | the octree that the host builds, and the comparison with it |
//! | this file | the bodies, the layout of memory, and the expected output |
//!
//! Sharing: everything but the bodies. The upper cells are read by all work-items and soon change no more, so private
//! caches serve most of a walk. The pointers at the bottom are read, locked and written by all work-items that pass.
//! Cells get their numbers from one counter, so those of different work-groups lie in the same lines.
//!
//! Only the numbers of the cells depend on the order of insertion, not the octree itself. The result is right if every
//! pointer leads to the same body as on the host or to a cell with the same place, if no two pointers lead to one cell,
//! and if the number of cells is that of the octree.
//!
//! The bodies follow Plummer's density, as in the original, cut off at the same radius. Their coordinates are multiples
//! of a power of two, so that the centres of all cells are exact. The root's cube is fixed.
//!
//! Left out: the other kernels of a time step. The bounding box is the host's; masses and the order of bodies only get
//! the marks with which the next kernels begin.

mod insert;
mod octree;

use std::collections::HashSet;

use chorus_kernel::{HostMemory, Kernel};

use crate::generator::SplitMix64;
use crate::program::{HostProgram, Output};
use crate::registry::{Paper, Suite, Workload};
use crate::size::{SizeSpec, Sizes};
use insert::{Tree, build_tree};
use octree::Octree;

/// The original's choice for Fermi: one work-group of 1024 work-items for each compute unit.
const WAVES_PER_GROUP: u32 = 32;
const REGISTERS_PER_ITEM: u32 = 24;

/// Half the edge of the root's cube, whose centre is the origin.
const ROOT_RADIUS: f32 = 32.0;
/// Coordinates are multiples of this: with the sign, they and the centres between them fit the 24 bits of an `f32`.
const GRAIN: f32 = 1.0 / (1 << 18) as f32;

/// The marks that cells carry in place of a mass and of a place in the order of bodies. Later kernels compute both.
const MASS_UNKNOWN: f32 = -1.0;
const START_UNKNOWN: i32 = -1;

pub(crate) struct Bh;

/// Bodies and cells take 0.5 MB at quick scale and 1.2 MB at paper scale, in about 0.2 million and 0.6 million line
/// accesses. Medium scale lies between: four times the bodies of quick scale would be more than paper scale has.
static SIZES: [SizeSpec; 2] = [
    SizeSpec::new("bodies", "bodies to insert", [12_000, 20_000, 30_000], "TC paper, section 7: 30,000 bodies")
        .range(1, 1 << 22),
    SizeSpec::new(
        "work_groups",
        "work-groups of 1024 work-items",
        [8, 16, 16],
        "Burtscher and Pingali, 2011: one for each compute unit, of which the TC paper has 16",
    )
    .range(1, 256),
];

/// Draws different points with Plummer's density. The share of the mass within a radius is uniform. The cube root of
/// this share, from which the radius follows, is distributed like the largest of three uniform numbers. The direction
/// is that of a point in the unit ball.
fn draw_bodies(count: u32, generator: &mut SplitMix64) -> Vec<[f32; 3]> {
    // The cube root of 0.999, the share of the mass that the original keeps.
    const ROOT_OF_MASS_MAX: f32 = 0.999_666_6;
    const LENGTH_UNIT: f32 = 3.0 * std::f32::consts::PI / 16.0;
    let mut places = HashSet::new();
    let mut bodies = Vec::new();
    while bodies.len() < count as usize {
        let largest = (0..3).map(|_| generator.unit_f32()).fold(0.0, f32::max).min(ROOT_OF_MASS_MAX);
        let radius = LENGTH_UNIT * largest / (1.0 - largest * largest).sqrt();
        let direction = [0; 3].map(|_| generator.between_f32(-1.0, 1.0));
        let square = direction.iter().map(|coordinate| coordinate * coordinate).sum::<f32>();
        if square > 1.0 || square == 0.0 {
            continue;
        }
        let grains = direction.map(|coordinate| (coordinate * radius / square.sqrt() / GRAIN) as i32);
        if places.insert(grains) {
            bodies.push(grains.map(|grain| grain as f32 * GRAIN));
        }
    }
    bodies
}

impl Workload for Bh {
    fn name(&self) -> &'static str {
        "bh"
    }

    fn title(&self) -> &'static str {
        "Barnes Hut"
    }

    fn summary(&self) -> &'static str {
        "Inserts bodies into an octree; work-items lock child pointers and publish new cells behind fences."
    }

    fn suite(&self) -> Suite {
        Suite::Lonestar
    }

    fn papers(&self) -> &'static [Paper] {
        &[Paper::Tc]
    }

    fn source(&self) -> &'static str {
        "Singh et al., Cache Coherence for GPU Architectures, HPCA 2013, section 7 (BH); \
         Burtscher and Pingali, GPU Computing Gems Emerald Edition, 2011, chapter 6"
    }

    fn communicates(&self) -> bool {
        true
    }

    fn sizes(&self) -> &'static [SizeSpec] {
        &SIZES
    }

    fn build(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
        let bodies = draw_bodies(sizes.get("bodies"), &mut SplitMix64::new(seed));
        let octree = Octree::new(&bodies);
        let tree = Tree::new(&bodies, octree.cells(), memory);
        let kernel = Kernel::new("build-tree", sizes.get("work_groups"), WAVES_PER_GROUP, move |w| build_tree(w, tree))
            .registers(REGISTERS_PER_ITEM);

        let (cells, capacity) = (octree.cells() as usize, tree.capacity as usize);
        let mut masses = vec![0.0; capacity];
        masses[..cells].fill(MASS_UNKNOWN);
        let mut starts = vec![0; capacity];
        starts[1..cells].fill(START_UNKNOWN);
        let outputs = vec![
            Output::new("number of cells", tree.cells, &[octree.cells()]),
            Output::new("depth", tree.depth, &[octree.depth()]),
            Output::new("mass", tree.mass, &masses),
            Output::new("start", tree.start, &starts),
        ];
        HostProgram::new(vec![kernel], outputs).invariant(move |memory| octree.compare(&tree, memory))
    }
}

#[cfg(test)]
mod tests {
    use chorus_kernel::{Mismatch, Program, flat};
    use chorus_system::Scale;

    use super::*;

    #[test]
    fn bodies_lie_within_the_root_at_different_places_and_densest_at_its_centre() {
        let bodies = draw_bodies(2000, &mut SplitMix64::new(1));
        assert!(bodies.iter().flatten().all(|coordinate| coordinate.abs() < ROOT_RADIUS));
        assert!(bodies.iter().flatten().all(|coordinate| (coordinate / GRAIN).fract() == 0.0));
        let inside = bodies.iter().filter(|body| body.iter().map(|c| c * c).sum::<f32>() < 0.59 * 0.59).count();
        // Within its unit of length Plummer's model has 2^-1.5 of the mass.
        assert!((600..820).contains(&inside), "{inside}");
    }

    #[test]
    fn the_octree_has_fewer_cells_than_bodies_at_every_scale() {
        for scale in Scale::ALL {
            let bodies = draw_bodies(Bh.sizes_at(scale).get("bodies"), &mut SplitMix64::new(1));
            assert!(Octree::new(&bodies).cells() < bodies.len() as u32, "{scale}");
        }
    }

    /// Builds the octree, lets `spoil` change memory, and checks the result.
    fn check(spoil: impl FnOnce(&Tree, &mut HostMemory)) -> Result<(), Mismatch> {
        let bodies = draw_bodies(500, &mut SplitMix64::new(5));
        let octree = Octree::new(&bodies);
        let mut memory = HostMemory::default();
        let tree = Tree::new(&bodies, octree.cells(), &mut memory);
        let kernel = Kernel::new("build-tree", 2, 4, move |w| build_tree(w, tree));
        let mut program = HostProgram::new(vec![kernel], vec![Output::new("cells", tree.cells, &[octree.cells()])])
            .invariant(move |memory| octree.compare(&tree, memory));
        flat::run(&mut program, &memory)?;
        spoil(&tree, &mut memory);
        program.check(&memory).not_wrong()
    }

    /// The pointers for which `holds`.
    fn pointers(tree: &Tree, memory: &HostMemory, holds: impl Fn(u32) -> bool) -> Vec<usize> {
        let children = memory.read(tree.children);
        (0..children.len()).filter(|&at| holds(children[at])).collect()
    }

    #[test]
    fn few_work_groups_insert_every_body() {
        assert_eq!(check(|_, _| {}), Ok(()));
    }

    #[test]
    fn a_lost_body_is_found() {
        let lost = check(|tree, memory| {
            let at = pointers(tree, memory, |child| insert::body(child).is_some())[7];
            memory.set(tree.children, at, insert::EMPTY);
        });
        assert!(lost.unwrap_err().0.contains("is empty instead of body"));
    }

    #[test]
    fn a_body_in_the_wrong_octant_is_found() {
        let moved = check(|tree, memory| {
            let at = pointers(tree, memory, |child| insert::body(child).is_some());
            let (one, other) = (memory.get(tree.children, at[3]), memory.get(tree.children, at[90]));
            memory.set(tree.children, at[3], other);
            memory.set(tree.children, at[90], one);
        });
        assert!(moved.is_err());
    }

    #[test]
    fn a_lock_that_was_never_released_is_found() {
        let locked = check(|tree, memory| {
            let at = pointers(tree, memory, |child| insert::cell(child).is_some())[2];
            memory.set(tree.children, at, insert::LOCKED);
        });
        assert!(locked.unwrap_err().0.contains("is locked instead of a cell"));
    }

    #[test]
    fn a_cell_with_two_parents_is_found() {
        let shared = check(|tree, memory| {
            let at = pointers(tree, memory, |child| insert::cell(child).is_some());
            let cell = memory.get(tree.children, at[0]);
            memory.set(tree.children, at[1], cell);
        });
        assert!(shared.is_err());
    }

    #[test]
    fn a_cell_in_the_wrong_place_is_found() {
        let moved = check(|tree, memory| {
            let at = tree.bodies as usize + 1;
            let x = memory.get(tree.position[0], at);
            memory.set(tree.position[0], at, x + GRAIN);
        });
        assert!(moved.unwrap_err().0.contains("centre"));
    }
}
