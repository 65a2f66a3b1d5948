//! `dlb`: partitioning of an octree, balanced between work-groups by task stealing.
//!
//! Source: TC paper (Singh et al., HPCA 2013), section 7, Dynamic Load Balancing, with 100,000 nodes; the program is
//! that of Cederman and Tsigas, On Dynamic Load Balancing on Graphics Processors, Graphics Hardware 2008. A task is a
//! cell of an octree and the range of particles in it. A work-group that gets a task either cuts the cell into its
//! eight octants, moving the particles to a second set of arrays so that each octant is a range again, and inserts the
//! octants as tasks; or, if the particles are few enough, settles them in a leaf. The first task is the cell of all
//! particles.
//!
//! | file | subject |
//! |---|---|
//! | `deque.rs` | the non-blocking deques that tasks wait in |
//! | `octree.rs` | the kernel: fetching, cutting and settling tasks |
//! | this file | the particles, and the recursive partition that the result is compared with |
//!
//! Sharing: everything. Idle work-groups poll the ends of other work-groups' deques, which stay in their private caches
//! until the owner moves them. A thief reads the stolen task and its particles, all written by the victim. The count of
//! settled particles is read by all work-groups and changed with every leaf. The latency of these writes is on the path
//! from one task to the next.
//!
//! The result is the key and the population of every particle's leaf, and the numbers of leaves and of settled
//! particles. It does not depend on which work-group has done which task.
//!
//! The program ends when the count of settled particles is complete.
//!
//! Left out: the blocking and the statically divided variants that Cederman and Tsigas compare with.

mod deque;
mod octree;

use chorus_kernel::{HostMemory, Kernel};

use crate::generator::SplitMix64;
use crate::program::{HostProgram, Output};
use crate::registry::{Paper, Suite, Workload};
use crate::size::{SizeSpec, Sizes};
use deque::{Deques, Task};
use octree::{Octree, Particles, balance, octant};

/// Particles that a leaf may hold.
const LEAF_PARTICLES: u32 = 64;
/// Cells at this depth are always leaves: a key has room for no more levels.
const DEPTH_MAX: u32 = 10;
const WAVES_PER_GROUP: u32 = 8;
const REGISTERS_PER_ITEM: u32 = 20;

pub(crate) struct Dlb;

/// All arrays together take 1.3 MB at quick scale and 3.9 MB at paper scale. Partitioning takes 0.25 million line
/// accesses at quick scale and 0.9 million at paper scale, without the polling of idle work-groups, which depends on
/// the machine. Medium scale lies between.
///
/// With 2^22 particles there are fewer tasks than the 24 bits of a deque's tag can count.
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
        [32, 64, 64],
        "chosen: four for each of the TC paper's 16 compute units",
    )
    .range(1, 1024),
];

/// Half of the particles lie anywhere in the unit cube, the other half in clusters, so that the octree is uneven.
fn draw_particles(count: u32, generator: &mut SplitMix64) -> Vec<[f32; 3]> {
    const CLUSTERS: u32 = 16;
    let mut place = |low, high| [0; 3].map(|_| generator.between_f32(low, high));
    let clusters: Vec<[f32; 3]> = (0..CLUSTERS).map(|_| place(0.1, 0.9)).collect();
    (0..count)
        .map(|_| {
            let anywhere = [0; 3].map(|_| generator.unit_f32());
            if generator.below(2) == 0 {
                return anywhere;
            }
            let centre = clusters[generator.below(CLUSTERS) as usize];
            // The cube of a number between -1 and 1 is denser around zero.
            std::array::from_fn(|axis| centre[axis] + 0.1 * (2.0 * anywhere[axis] - 1.0).powi(3))
        })
        .collect()
}

/// The partition that the host computes.
struct Reference {
    /// The key of each particle's leaf.
    keys: Vec<u32>,
    /// The number of particles in each particle's leaf.
    populations: Vec<u32>,
    leaves: u32,
}

impl Reference {
    fn new(particles: &[[f32; 3]]) -> Reference {
        let none = vec![0; particles.len()];
        let mut reference = Reference { keys: none.clone(), populations: none, leaves: 0 };
        reference.partition(particles, (0..particles.len()).collect(), 1, 0);
        reference
    }

    /// Partitions one cell and, by recursion, its octants.
    fn partition(&mut self, particles: &[[f32; 3]], members: Vec<usize>, key: u32, depth: u32) {
        if members.len() <= LEAF_PARTICLES as usize || depth == DEPTH_MAX {
            self.leaves += 1;
            for &member in &members {
                self.keys[member] = key;
                self.populations[member] = members.len() as u32;
            }
            return;
        }
        let mut children: [Vec<usize>; 8] = Default::default();
        for member in members {
            children[octant(particles[member], depth) as usize].push(member);
        }
        for (octant, child) in (0..).zip(children) {
            if !child.is_empty() {
                self.partition(particles, child, key << 3 | octant, depth + 1);
            }
        }
    }
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
        let mut axis = |axis: usize| {
            let values: Vec<f32> = particles.iter().map(|particle| particle[axis]).collect();
            memory.alloc_from(&values)
        };
        let position = [axis(0), axis(1), axis(2)];
        let first = Particles { position, id: memory.alloc_from(&(0..count).collect::<Vec<u32>>()) };
        let deques = Deques::new(work_groups, memory);
        deques.put_first(Task { key: 1, first: 0, count }, memory);
        let octree = Octree {
            count,
            sets: [first, Particles::new(count, memory)],
            leaf_keys: memory.alloc(count as usize),
            leaf_populations: memory.alloc(count as usize),
            totals: memory.alloc(2),
            deques,
        };
        let kernel = Kernel::new("balance", work_groups, WAVES_PER_GROUP, move |w| balance(w, octree))
            .registers(REGISTERS_PER_ITEM)
            .lds(octree::LDS_BYTES);
        let reference = Reference::new(&particles);
        let outputs = vec![
            Output::new("leaf key", octree.leaf_keys, &reference.keys),
            Output::new("leaf population", octree.leaf_populations, &reference.populations),
            Output::new("totals (settled particles, leaves)", octree.totals, &[count, reference.leaves]),
        ];
        HostProgram::new(vec![kernel], outputs)
    }
}

#[cfg(test)]
mod tests {
    use chorus_system::Scale;

    use super::*;

    #[test]
    fn the_octree_is_uneven() {
        let particles = draw_particles(Dlb.sizes_at(Scale::Quick).get("particles"), &mut SplitMix64::new(1));
        let reference = Reference::new(&particles);
        let depth = |key: &u32| key.ilog2() / 3;
        let shallowest = reference.keys.iter().map(depth).min();
        let deepest = reference.keys.iter().map(depth).max();
        assert!(shallowest < Some(4) && deepest > Some(4), "leaves from depth {shallowest:?} to {deepest:?}");
    }

    #[test]
    fn particles_lie_within_the_unit_cube() {
        let particles = draw_particles(1000, &mut SplitMix64::new(1));
        assert!(particles.iter().flatten().all(|coordinate| (0.0..1.0).contains(coordinate)));
    }
}
