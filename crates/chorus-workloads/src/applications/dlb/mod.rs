//! `dlb`: partitioning of an octree, balanced between work-groups by task stealing.
//!
//! Source: TC paper (Singh et al., HPCA 2013), section 7, Dynamic Load Balancing, with 100,000 nodes; the program is
//! that of Cederman and Tsigas, On Dynamic Load Balancing on Graphics Processors, Graphics Hardware 2008, which they
//! have published (octreepart, 2011). A task is a cell of an octree and the range of particles in it. A work-group that
//! gets a task moves the particles to a second array, so that those of each octant are a range again. It inserts the
//! octants with many particles as tasks; those with few are leaves. The first task is the cell of all particles.
//!
//! | file | subject |
//! |---|---|
//! | `deque.rs` | the non-blocking deques that tasks wait in |
//! | `octree.rs` | the kernel: fetching and cutting tasks |
//! | this file | the particles, and the recursive partition that the result is compared with |
//!
//! Sharing: everything. The tails and heads of 16 deques lie in one line, so a work-group that takes or inserts a task
//! writes a line that others poll, whether they want this deque or another. So do the states of the random numbers by
//! which victims are drawn, 32 to a line. A thief reads the stolen task and its particles, all written by the victim.
//! All wavefronts of a work-group without a task read the count of settled particles, which changes with every leaf.
//! All of them wait for the first work-item to fetch and insert tasks.
//!
//! The result is the tree, with the particles of each leaf in any order. It does not depend on which work-group has
//! done which task, but for the places of cells in the tree.
//!
//! The program ends when the count of settled particles is complete.
//!
//! Changed: fences, of which the original has none (`deque.rs`); particles carry their number, so that they can be told
//! apart; the centres of clusters are drawn in all three axes (the published program overlooks one); cells smaller than
//! a 2^20th of the whole are leaves. The tree has no unused words.
//!
//! Left out: the blocking and the statically divided variants that Cederman and Tsigas compare with.

mod deque;
mod octree;

use chorus_kernel::{HostMemory, Kernel, Mismatch};

use crate::generator::SplitMix64;
use crate::program::{HostProgram, Output};
use crate::registry::{Paper, Suite, Workload};
use crate::size::{SizeSpec, Sizes};
use deque::{Deques, Task};
use octree::{LEAF, OCTANTS, Octree, PARTICLE_WORDS, balance, is_cell, octant, octant_middle};

/// Particles that a leaf may hold. The original takes a number up to 100 from its user.
const LEAF_PARTICLES: u32 = 64;
/// Work-groups have the 128 work-items that the original allows at most.
const WAVES_PER_GROUP: u32 = 4;
const REGISTERS_PER_ITEM: u32 = 20;

/// Half the edge of an octant of the whole, as in the original, and of the smallest cell.
const HALF_MAX: f32 = 256.0;
const HALF_MIN: f32 = HALF_MAX / (1 << (DEPTH_MAX - 1)) as f32;
/// Levels of cells. Coordinates of this many bits are exact.
const DEPTH_MAX: u32 = 20;

pub(crate) struct Dlb;

/// The two arrays of particles and the tree take 32 bytes for each particle and a few: 1.0 MB at quick scale and 3.2 MB
/// at paper scale, with 16 KB of slots for each deque, of which the first few are used. Medium scale lies between.
static SIZES: [SizeSpec; 2] = [
    SizeSpec::new(
        "particles",
        "particles to partition",
        [32_000, 64_000, 100_000],
        "TC paper, section 7: 100,000 nodes",
    )
    .range(1, 1 << 22),
    SizeSpec::new(
        "work_groups",
        "work-groups, each with a deque of its own",
        [64, 128, 128],
        "chosen: eight for each of the TC paper's 16 compute units, as many as one holds; the original allows 128",
    )
    .range(1, 1024),
];

/// Clusters of 100 particles, as in the original: their centres lie within 400 of the origin, along each axis, and the
/// particles within 50 of them.
fn draw_particles(count: u32, generator: &mut SplitMix64) -> Vec<[f32; 3]> {
    const CLUSTER: u32 = 100;
    let mut centre = [0.0; 3];
    (0..count)
        .map(|particle| {
            if particle % CLUSTER == 0 {
                centre = [0; 3].map(|_| generator.between_f32(-400.0, 400.0));
            }
            centre.map(|axis| axis + generator.between_f32(-50.0, 50.0))
        })
        .collect()
}

/// The host's result for an octant.
enum Part {
    /// The numbers of its particles, in ascending order.
    Leaf(Vec<u32>),
    Cell(Box<[Part; OCTANTS]>),
}

impl Part {
    /// Partitions one cell and, by recursion, its octants.
    fn cell(particles: &[[f32; 3]], members: &[u32], middle: [f32; 3], half: f32) -> Part {
        let mut octants: [Vec<u32>; OCTANTS] = Default::default();
        for &member in members {
            octants[octant(particles[member as usize], middle)].push(member);
        }
        let mut number = 0;
        Part::Cell(Box::new(octants.map(|members| {
            let middle = octant_middle(middle, half, number);
            number += 1;
            if is_cell(members.len() as u32, half) {
                Part::cell(particles, &members, middle, half / 2.0)
            } else {
                Part::Leaf(members)
            }
        })))
    }

    fn whole(particles: &[[f32; 3]]) -> Part {
        Part::cell(particles, &(0..particles.len() as u32).collect::<Vec<_>>(), [0.0; 3], HALF_MAX)
    }

    /// The number of cells.
    fn cells(&self) -> u32 {
        match self {
            Part::Leaf(_) => 0,
            Part::Cell(octants) => 1 + octants.iter().map(Part::cells).sum::<u32>(),
        }
    }

    /// The levels of leaves, from the first one to the last.
    #[cfg(test)]
    fn leaf_depths(&self) -> (u32, u32) {
        match self {
            Part::Leaf(_) => (0, 0),
            Part::Cell(octants) => {
                let depths = octants.iter().map(Part::leaf_depths);
                let (low, high) = depths.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))).expect("eight octants");
                (low + 1, high + 1)
            }
        }
    }
}

/// The result in memory, as a walk through the tree finds it.
struct Walk<'a> {
    particles: &'a [[f32; 3]],
    /// The particles and the tree that the kernel has left.
    found: Vec<u32>,
    tree: Vec<u32>,
    /// The particles in the leaves passed so far, which the next leaf lies behind.
    passed: usize,
    /// Whether a cell has been met at each of the places in the tree.
    met: Vec<bool>,
}

impl Walk<'_> {
    /// Compares a cell, whose octants are at a place in the tree, with what the host has made of it.
    fn check(&mut self, octants: &[Part; OCTANTS], at: u32) -> Result<(), Mismatch> {
        let words = at as usize..at as usize + OCTANTS;
        if !at.is_multiple_of(OCTANTS as u32) || words.end > self.tree.len() {
            return Err(Mismatch(format!("the tree leads to word {at}, where there is no cell")));
        }
        if std::mem::replace(&mut self.met[at as usize / OCTANTS], true) {
            return Err(Mismatch(format!("the tree leads to word {at} twice")));
        }
        for (word, part) in words.zip(octants) {
            match part {
                Part::Cell(octants) => self.check(octants, self.tree[word])?,
                Part::Leaf(members) => self.check_leaf(members, word)?,
            }
        }
        Ok(())
    }

    fn check_leaf(&mut self, members: &[u32], word: usize) -> Result<(), Mismatch> {
        let (population, expected) = (self.tree[word], LEAF | members.len() as u32);
        if population != expected {
            return Err(Mismatch(format!("word {word} of the tree is {population:#x} instead of {expected:#x}")));
        }
        let range = self.passed..self.passed + members.len();
        let mut leaf: Vec<&[u32]> = self.found.chunks(PARTICLE_WORDS).skip(range.start).take(range.len()).collect();
        leaf.sort_unstable_by_key(|particle| particle[PARTICLE_WORDS - 1]);
        let expected = members.iter().map(|&member| words_of(self.particles, member));
        if !leaf.into_iter().eq(expected) {
            return Err(Mismatch(format!("particles {range:?} are not those of the leaf in word {word} of the tree")));
        }
        self.passed = range.end;
        Ok(())
    }
}

/// A particle as it lies in memory.
fn words_of(particles: &[[f32; 3]], particle: u32) -> [u32; PARTICLE_WORDS] {
    let [x, y, z] = particles[particle as usize].map(f32::to_bits);
    [x, y, z, particle]
}

impl Workload for Dlb {
    fn name(&self) -> &'static str {
        "dlb"
    }

    fn title(&self) -> &'static str {
        "Dynamic load balancing"
    }

    fn summary(&self) -> &'static str {
        "Partitions particles into an octree; work-groups steal tasks from each other's non-blocking deques."
    }

    fn suite(&self) -> Suite {
        Suite::Applications
    }

    fn papers(&self) -> &'static [Paper] {
        &[Paper::Tc]
    }

    fn source(&self) -> &'static str {
        "Singh et al., Cache Coherence for GPU Architectures, HPCA 2013, section 7 (DLB); \
         Cederman and Tsigas, Graphics Hardware 2008"
    }

    fn communicates(&self) -> bool {
        true
    }

    fn sizes(&self) -> &'static [SizeSpec] {
        &SIZES
    }

    fn build(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
        let (count, work_groups) = (sizes.get("particles"), sizes.get("work_groups"));
        let particles = draw_particles(count, &mut SplitMix64::new(seed));
        let words: Vec<u32> = (0..count).flat_map(|particle| words_of(&particles, particle)).collect();
        let whole = Part::whole(&particles);
        let tree_words = whole.cells() * OCTANTS as u32;
        let deques = Deques::new(work_groups, memory);
        deques.put_first(Task { half: HALF_MAX, end: count, ..Task::default() }, memory);
        let octree = Octree {
            count,
            sets: [memory.alloc_from(&words), memory.alloc(words.len())],
            tree: memory.alloc(tree_words as usize),
            tree_size: memory.alloc_from(&[OCTANTS as u32]),
            settled: memory.alloc(1),
            random: memory.alloc(work_groups as usize),
            deques,
        };
        let kernel = Kernel::new("balance", work_groups, WAVES_PER_GROUP, move |w| balance(w, octree))
            .registers(REGISTERS_PER_ITEM)
            .lds(octree::LDS_BYTES);
        let outputs = vec![
            Output::new("settled particles", octree.settled, &[count]),
            Output::new("words of the tree", octree.tree_size, &[tree_words]),
        ];
        HostProgram::new(vec![kernel], outputs).invariant(move |memory| {
            let (found, tree) = (memory.read(octree.sets[0]), memory.read(octree.tree));
            let met = vec![false; tree.len() / OCTANTS];
            let Part::Cell(octants) = &whole else { unreachable!("the whole is a cell") };
            Walk { particles: &particles, found, tree, passed: 0, met }.check(octants, 0)
        })
    }
}

#[cfg(test)]
mod tests {
    use chorus_kernel::{Program, flat};
    use chorus_system::Scale;

    use super::*;

    #[test]
    fn the_octree_is_uneven() {
        let particles = draw_particles(Dlb.sizes_at(Scale::Quick).get("particles"), &mut SplitMix64::new(1));
        let (shallowest, deepest) = Part::whole(&particles).leaf_depths();
        assert!(shallowest < 4 && deepest > 4, "leaves from depth {shallowest} to {deepest}");
    }

    #[test]
    fn particles_lie_within_the_whole() {
        let particles = draw_particles(1000, &mut SplitMix64::new(1));
        let bound = 2.0 * HALF_MAX;
        assert!(particles.iter().flatten().all(|coordinate| coordinate.abs() < bound));
    }

    #[test]
    fn particles_in_one_place_end_in_a_leaf() {
        let whole = Part::whole(&[[0.1; 3]; 200]);
        assert_eq!(whole.cells(), DEPTH_MAX);
        assert_eq!(whole.leaf_depths().1, DEPTH_MAX);
    }

    /// Runs a small partition, adds to the population of its first leaf in memory, and checks the result.
    fn check(added: u32) -> Result<(), Mismatch> {
        let mut sizes = Dlb.sizes_at(Scale::Quick);
        sizes.set("particles", 500).and_then(|()| sizes.set("work_groups", 3)).unwrap();
        let mut memory = HostMemory::default();
        let mut program = Dlb.build(&sizes, 5, &mut memory);
        flat::run(&mut program, &memory)?;
        let populations = LEAF | 1..=LEAF | LEAF_PARTICLES;
        let leaf = (0..memory.word_count()).find(|&word| populations.contains(&memory.load(word))).unwrap();
        memory.store(leaf, memory.load(leaf) + added);
        program.check(&memory).not_wrong()
    }

    #[test]
    fn a_leaf_with_another_population_is_found() {
        assert_eq!(check(0), Ok(()));
        assert!(check(1).unwrap_err().0.contains("of the tree is 0x8"));
    }
}
