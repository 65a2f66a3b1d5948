//! `hacc`: short-range forces between the particles of a cosmological simulation.
//!
//! Source: CPElide paper (Dalmia, Kumar, Sinclair), Table II (HACC, `0.5 0.1 512 0.1 2 N 12 rcb`); HACC (Habib et al.,
//! New Astronomy 2016) as CORAL-2's test of its force tree runs it. Particles are sorted into the leaves of a tree by
//! recursive bisection of coordinates (RCB), so that the particles of a leaf are adjacent in space and in memory. Every
//! leaf has a list of the leaves within reach, whose particles attract its own. The force is Newton's, softened, less
//! the part that a grid computes, a polynomial of the fifth degree in the squared distance, up to three grid cells
//! away. Here a grid cell has one particle, and a leaf 32.
//!
//! A step has three kernels, as in the sub-cycles of HACC: the particles move (stream), the forces of all leaves are
//! computed (short range), and velocities change (kick). A work-group of four wavefronts computes one leaf, one
//! particle per lane. The wavefronts share its list, hand out the particles of each leaf on it to their lanes through
//! local data, and add up their sums.
//!
//! Reuse: positions are written by stream and read by the forces, on the chiplet that moved them and on the chiplets of
//! leaves nearby; the masses and the lists are only read, again in each step; accelerations and velocities stay with
//! their chiplet.
//!
//! Left out: the construction of tree and lists, which HACC does on the host and which are kept for all steps; the
//! long-range force. Table II's numbers are those of the test; how many particles they give is not printed.
//!
//! Arithmetic: 6 instructions per component to move or to kick; per pair of particles 6 for distance and square, 3 for
//! the test of the reach, 4 for the inverse of the third power, 6 for polynomial and difference, 4 for mass and force.

use chorus_kernel::AccessMode::{Read, ReadWrite};
use chorus_kernel::{Buf, HostMemory, Kernel, LANES, Lanes, Mask, Share, Wave};

use crate::generator::SplitMix64;
use crate::program::{HostProgram, Output};
use crate::registry::{Paper, Suite, Workload};
use crate::shares::scaled;
use crate::size::{SizeSpec, Sizes};

const LANES_U32: u32 = LANES as u32;
const WAVES_PER_GROUP: u32 = 4;
/// Particles that a work-group moves or kicks, one per work-item.
const PARTICLES_PER_GROUP: u32 = WAVES_PER_GROUP * LANES_U32;
/// Words of local data of a wavefront: place and mass of the particles of a leaf.
const LOCAL_WORDS: u32 = 4 * LANES_U32;
/// Particles that are read from local data together.
const AT_ONCE: usize = 4;
const PAIR_ALU: u32 = 23;

/// The reach of the short-range force in grid cells, and HACC's softening.
const REACH: f32 = 3.116_326_4;
const SOFTENING_SQUARED: f32 = 0.01;
/// HACC's fit of the force that the grid computes.
const GRID_FORCE: [f32; 6] = [0.269_327, -0.075_097_8, 0.011_480_8, -0.001_093_13, 0.000_060_549_1, -0.000_001_471_77];
const TIME_STEP: f32 = 0.01;

pub(crate) struct Hacc;

/// Particles take 48 bytes with their share of the lists. At quick scale they take 0.4 MB and 0.4 million line
/// accesses. Medium scale has four times as many particles, and paper scale 16 times as many.
static SIZES: [SizeSpec; 2] = [
    SizeSpec::new(
        "particles",
        "particles, in leaves of 32",
        [8192, 32_768, 131_072],
        "chosen: the CPElide paper does not print how many its arguments give",
    )
    .range(128, 1 << 20)
    .multiple_of(128),
    SizeSpec::new("steps", "time steps of three kernels each", [4, 4, 12], "chosen: few, for time").range(1, 1000),
];

/// The acceleration by a particle of some mass at a squared distance, per unit of distance.
fn pull(squared: f32, mass: f32) -> f32 {
    let softened = squared + SOFTENING_SQUARED;
    let grid = GRID_FORCE.iter().rev().fold(0.0, |sum, &coefficient| sum * squared + coefficient);
    let force = mass * (1.0 / (softened * softened.sqrt()) - grid);
    if squared > 0.0 && squared < REACH * REACH { force } else { 0.0 }
}

/// A vector for each particle of a leaf.
type Leaf = [Lanes<f32>; 3];

/// Adds the accelerations of the particles of a leaf by a source, given by its place and mass.
fn attract(accelerations: &mut Leaf, places: &Leaf, [x, y, z, mass]: [f32; 4]) {
    for lane in 0..LANES {
        let distance = [x - places[0].0[lane], y - places[1].0[lane], z - places[2].0[lane]];
        let squared = distance[0] * distance[0] + distance[1] * distance[1] + distance[2] * distance[2];
        let pull = pull(squared, mass);
        accelerations[0].0[lane] += pull * distance[0];
        accelerations[1].0[lane] += pull * distance[1];
        accelerations[2].0[lane] += pull * distance[2];
    }
}

/// The leaves within reach of each leaf, behind each other.
struct Lists {
    starts: Vec<u32>,
    leaves: Vec<u32>,
}

/// The particles in memory; vectors have all first components, then all second and all third.
#[derive(Clone, Copy)]
struct Particles {
    count: u32,
    places: Buf<f32>,
    masses: Buf<f32>,
    velocities: Buf<f32>,
    accelerations: Buf<f32>,
    list_starts: Buf<u32>,
    lists: Buf<u32>,
}

impl Particles {
    /// The components of some adjacent particles of a chiplet, `each` per work-group.
    fn own(self, share: Share, each: u32) -> Vec<std::ops::Range<usize>> {
        let own = scaled(share.groups(), each);
        (0..3).map(|axis| axis * self.count as usize).map(|first| first + own.start..first + own.end).collect()
    }
}

/// Adds a multiple of one vector to another.
async fn advance(w: Wave, count: u32, vectors: Buf<f32>, rates: Buf<f32>) {
    for axis in 0..3 {
        let at = w.global_ids() + axis * count;
        w.alu(4).await;
        let (vector, rate) = w.join(w.load(vectors, at), w.load(rates, at)).await;
        w.alu(2).await;
        w.store(vectors, at, vector + rate * TIME_STEP);
    }
}

/// The accelerations of a leaf.
async fn short_range(w: Wave, particles: Particles) {
    let Particles { count, places, masses, .. } = particles;
    let (leaf, wave) = (w.work_group(), w.id().wave);
    let particle = w.lane_ids() + leaf * LANES_U32;
    w.alu(8).await;
    let components = |first: Lanes<u32>| std::array::from_fn(|axis| w.load(places, first + axis as u32 * count));
    let own: Leaf = w.join_all(components(particle)).await;
    let bounds = w.load_where(Mask::first(2), particles.list_starts, w.lane_ids() + leaf).await;
    let mut sums: Leaf = [Lanes::splat(0.0); 3];
    for batch in (bounds[0] + wave..bounds[1]).step_by((WAVES_PER_GROUP * LANES_U32) as usize) {
        let entries = w.lane_ids() * WAVES_PER_GROUP + batch;
        let listed = entries.below(bounds[1]);
        let leaves = w.load_where(listed, particles.lists, entries).await;
        for lane in listed.iter() {
            let source = w.lane_ids() + leaves[lane] * LANES_U32;
            w.alu(6).await;
            let mass = w.load(masses, source);
            let [x, y, z] = w.join_all(components(source)).await;
            let mass = mass.await;
            for (word, values) in (0..).zip([x, y, z, mass]) {
                w.lds_write(Mask::ALL, w.lane_ids() * 4 + wave * LOCAL_WORDS + word, values);
            }
            attract_all(&w, &own, &mut sums).await;
        }
    }
    add_up(&w, particles, sums).await;
}

/// Adds the accelerations of all lanes by the particles in local data.
async fn attract_all(w: &Wave, own: &Leaf, sums: &mut Leaf) {
    for first in (0..LANES_U32).step_by(AT_ONCE) {
        let words: [f32; 4 * AT_ONCE] = w.lds_read_vector(w.id().wave * LOCAL_WORDS + first * 4);
        w.alu(PAIR_ALU * AT_ONCE as u32).await;
        words.as_chunks().0.iter().for_each(|&source| attract(sums, own, source));
    }
}

/// Adds up the sums of all wavefronts of a work-group, and stores the totals.
async fn add_up(w: &Wave, particles: Particles, sums: Leaf) {
    for (axis, sums) in (0..).zip(sums) {
        w.lds_write(Mask::ALL, w.lane_ids() + w.id().wave * LOCAL_WORDS + axis * LANES_U32, sums);
    }
    w.barrier().await;
    let axis = w.id().wave;
    if axis < 3 {
        let mut total = Lanes::splat(0.0);
        for wave in 0..WAVES_PER_GROUP {
            total = total + w.lds_read(Mask::ALL, w.lane_ids() + wave * LOCAL_WORDS + axis * LANES_U32);
        }
        w.alu(WAVES_PER_GROUP + 2).await;
        w.store(particles.accelerations, w.lane_ids() + w.work_group() * LANES_U32 + axis * particles.count, total);
    }
}

/// The launches of a step.
fn step_kernels(particles: Particles) -> [Kernel; 3] {
    let Particles { count, places, masses, velocities, accelerations, list_starts, lists } = particles;
    let own = move |share| particles.own(share, PARTICLES_PER_GROUP);
    let advance = |name, vectors: Buf<f32>, rates: Buf<f32>| {
        let body = move |w| advance(w, count, vectors, rates);
        Kernel::new(name, count / PARTICLES_PER_GROUP, WAVES_PER_GROUP, body)
            .access_parts(vectors, ReadWrite, own)
            .access_parts(rates, Read, own)
    };
    let starts = |share: Share| {
        let groups = share.groups();
        let bounds = groups.start as usize..groups.end as usize + usize::from(!groups.is_empty());
        vec![bounds]
    };
    let forces = Kernel::new("short range", count / LANES_U32, WAVES_PER_GROUP, move |w| short_range(w, particles))
        .registers(32)
        .lds(WAVES_PER_GROUP * LOCAL_WORDS * 4)
        .access(places, Read)
        .access(masses, Read)
        .access_parts(list_starts, Read, starts)
        .access(lists, Read)
        .access_parts(accelerations, ReadWrite, move |share| particles.own(share, LANES_U32));
    [advance("stream", places, velocities), forces, advance("kick", velocities, accelerations)]
}

/// Sorts particles into leaves: halves them along the longest side, until 32 are left. Halves are whole leaves.
fn bisect(places: &mut [[f32; 3]]) {
    if places.len() <= LANES {
        return;
    }
    let (low, high) = bounds(places);
    let side = |axis: usize| high[axis] - low[axis];
    let longest = (1..3).fold(0, |longest, axis| if side(axis) > side(longest) { axis } else { longest });
    places.sort_by(|a, b| a[longest].total_cmp(&b[longest]));
    let (left, right) = places.split_at_mut((places.len() / 2).next_multiple_of(LANES));
    bisect(left);
    bisect(right);
}

/// The corners of the box around some particles.
fn bounds(places: &[[f32; 3]]) -> ([f32; 3], [f32; 3]) {
    let corner = |pick: fn(f32, f32) -> f32| {
        std::array::from_fn(|axis| places.iter().map(|place| place[axis]).reduce(pick).unwrap_or(0.0))
    };
    (corner(f32::min), corner(f32::max))
}

/// The leaves whose boxes are within reach.
fn lists_of(places: &[[f32; 3]]) -> Lists {
    let boxes: Vec<_> = places.chunks_exact(LANES).map(bounds).collect();
    let mut lists = Lists { starts: vec![0], leaves: Vec::new() };
    for (low, high) in &boxes {
        for (leaf, other) in (0..).zip(&boxes) {
            let gap = |axis: usize| (other.0[axis] - high[axis]).max(low[axis] - other.1[axis]).max(0.0);
            let squared = gap(0) * gap(0) + gap(1) * gap(1) + gap(2) * gap(2);
            if squared < REACH * REACH {
                lists.leaves.push(leaf);
            }
        }
        lists.starts.push(lists.leaves.len() as u32);
    }
    lists
}

/// The accelerations on the host, in the order in which the wavefronts add.
fn reference_forces(places: &[[f32; 3]], masses: &[f32], lists: &Lists) -> Vec<[f32; 3]> {
    let mut accelerations = Vec::with_capacity(places.len());
    for (leaf, own) in places.chunks_exact(LANES).enumerate() {
        let own: Leaf = std::array::from_fn(|axis| Lanes::from_fn(|lane| own[lane][axis]));
        let near = &lists.leaves[lists.starts[leaf] as usize..lists.starts[leaf + 1] as usize];
        let mut total: Leaf = [Lanes::splat(0.0); 3];
        for wave in 0..WAVES_PER_GROUP as usize {
            let mut sums: Leaf = [Lanes::splat(0.0); 3];
            for &leaf in near.iter().skip(wave).step_by(WAVES_PER_GROUP as usize) {
                for source in leaf as usize * LANES..(leaf as usize + 1) * LANES {
                    let [x, y, z] = places[source];
                    attract(&mut sums, &own, [x, y, z, masses[source]]);
                }
            }
            total = std::array::from_fn(|axis| total[axis] + sums[axis]);
        }
        accelerations.extend((0..LANES).map(|lane| total.map(|axis| axis[lane])));
    }
    accelerations
}

/// The words of vectors in the order of memory: all first components, then all second and all third.
fn flat(vectors: &[[f32; 3]]) -> Vec<f32> {
    (0..3).flat_map(|axis| vectors.iter().map(move |vector| vector[axis])).collect()
}

impl Workload for Hacc {
    fn name(&self) -> &'static str {
        "hacc"
    }

    fn title(&self) -> &'static str {
        "HACC"
    }

    fn summary(&self) -> &'static str {
        "Moves particles by their short-range forces; leaves of a tree read the particles of those around them."
    }

    fn suite(&self) -> Suite {
        Suite::Hpc
    }

    fn papers(&self) -> &'static [Paper] {
        &[Paper::CpElide]
    }

    fn source(&self) -> &'static str {
        "Dalmia et al., CPElide: Efficient Multi-Chiplet GPU Implicit Synchronization, MICRO 2024, Table II (HACC); \
         Habib et al., HACC: Simulating Sky Surveys on State-of-the-Art Supercomputing Architectures, New Astronomy \
         2016"
    }

    fn sizes(&self) -> &'static [SizeSpec] {
        &SIZES
    }

    fn build(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
        let (count, steps) = (sizes.get("particles"), sizes.get("steps"));
        let mut generator = SplitMix64::new(seed);
        let side = (count as f32).cbrt();
        let mut vectors = |low: f32, high: f32| -> Vec<[f32; 3]> {
            (0..count).map(|_| std::array::from_fn(|_| generator.between_f32(low, high))).collect()
        };
        let (mut places, mut velocities) = (vectors(0.0, side), vectors(-1.0, 1.0));
        bisect(&mut places);
        let lists = lists_of(&places);
        let masses: Vec<f32> = (0..count).map(|_| generator.between_f32(0.5, 1.5)).collect();
        let particles = Particles {
            count,
            places: memory.alloc_from(&flat(&places)),
            masses: memory.alloc_from(&masses),
            velocities: memory.alloc_from(&flat(&velocities)),
            accelerations: memory.alloc(3 * count as usize),
            list_starts: memory.alloc_from(&lists.starts),
            lists: memory.alloc_from(&lists.leaves),
        };
        let move_by = |vectors: &mut [[f32; 3]], rates: &[[f32; 3]]| {
            let components = vectors.as_flattened_mut().iter_mut().zip(rates.as_flattened());
            components.for_each(|(component, rate)| *component += rate * TIME_STEP);
        };
        let mut accelerations = Vec::new();
        for _ in 0..steps {
            move_by(&mut places, &velocities);
            accelerations = reference_forces(&places, &masses, &lists);
            move_by(&mut velocities, &accelerations);
        }
        let outputs = vec![
            Output::new("places", particles.places, &flat(&places)),
            Output::new("velocities", particles.velocities, &flat(&velocities)),
            Output::new("accelerations", particles.accelerations, &flat(&accelerations)),
        ];
        HostProgram::new((0..steps).flat_map(|_| step_kernels(particles)).collect(), outputs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_particles_attract_and_far_ones_do_not() {
        assert!(pull(1.0, 2.0) > 0.0);
        assert_eq!([pull(0.0, 1.0), pull(REACH * REACH, 1.0)], [0.0; 2]);
        assert!(pull(REACH * REACH * 0.999, 1.0).abs() < 0.01);
    }

    #[test]
    fn every_leaf_within_reach_is_on_the_list_in_both_directions() {
        let mut generator = SplitMix64::new(4);
        let mut places: Vec<[f32; 3]> =
            (0..1024).map(|_| std::array::from_fn(|_| generator.between_f32(0.0, 12.0))).collect();
        bisect(&mut places);
        let lists = lists_of(&places);
        let near = |a: usize, b: usize| {
            lists.leaves[lists.starts[a] as usize..lists.starts[a + 1] as usize].contains(&(b as u32))
        };
        for (a, b) in (0..32).flat_map(|a| (0..32).map(move |b| (a, b))) {
            assert_eq!(near(a, b), near(b, a));
            let distance = |a: &[f32; 3], b: &[f32; 3]| (0..3).map(|axis| (a[axis] - b[axis]).powi(2)).sum::<f32>();
            let pairs = places[a * LANES..][..LANES]
                .iter()
                .flat_map(|p| places[b * LANES..][..LANES].iter().map(move |q| distance(p, q)));
            assert!(near(a, b) || pairs.reduce(f32::min).is_some_and(|least| least >= REACH * REACH));
        }
    }
}
