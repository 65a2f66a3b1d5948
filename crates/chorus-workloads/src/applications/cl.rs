//! `cl`: cloth physics, the solver that pulls the particles of a cloth back to their distances.
//!
//! Source: TC paper (Singh et al., HPCA 2013), section 7, Cloth Physics, which takes the Distance Solver kernel of
//! RopaDemo (Brownsword); neither kernel nor input is printed there. A cloth is a grid of particles held together by
//! springs: structural ones to the right and down, and shear ones along both diagonals. A work-item loads the two
//! particles of its spring, measures their distance and moves both along the line between them until it is right again
//! (position-based dynamics: Müller et al., VRIPHYS 2006, section 3.3). The top row is pinned: its inverse mass is
//! zero. A launch applies every spring once and is an iteration of the solver.
//!
//! Springs are listed in eight batches, within which no two share a particle, as solvers without locks need them.
//! Batches run into each other, and so do work-groups.
//!
//! Sharing: everything. A particle belongs to eight springs, each of which another work-group applies, usually on
//! another compute unit and sometimes at the same time. So particles are locked in pairs (`pair_locks.rs`), and are
//! read and written under their locks through coherent memory. A particle is a structure of four words, x, y, z and the
//! inverse mass. Data that work-groups exchange is volatile in CUDA, so a structure is read word by word: each of the
//! four loads touches the same lines, which a private cache fetches once. The inverse mass never changes and is read
//! before the lock is taken, so a line may well be cached when another work-item moves its particles.
//!
//! The order in which springs meet at a particle is a race, and results differ with it. Some things hold in every
//! order. Positions are whole numbers, with 4,096 units between two particles. A spring adds to one particle exactly as
//! much as it takes from the other, or from a pin, which counts the pull that it has held. So the sum of all positions
//! and pulls is the same before and after, to the last bit, and an update that is lost or built on an old value shows.
//! Pins stay where they are, locks end up free, and springs are nearer to their lengths than they were.
//!
//! Left out: the other kernels of a frame (integration, collision, normals), and springs that bend.
//!
//! Arithmetic: 2 instructions for the index and 4 for the mask and the particles' addresses; 2 per attempt for the
//! loop; per application 3 subtractions and 3 conversions, 3 for the squared length, a reciprocal root, 4 for the
//! factor, 3 products and 3 conversions, and 6 multiply-adds; 3 more where a pin is involved.

use chorus_kernel::{Buf, HostMemory, Kernel, LANES, Lanes, Mask, Mismatch, Wave};

use crate::generator::SplitMix64;
use crate::pair_locks::PairLocks;
use crate::program::{HostProgram, Output};
use crate::registry::{Paper, Suite, Workload};
use crate::size::{SizeSpec, Sizes};

const WAVES_PER_GROUP: u32 = 8;
const ITEMS_PER_GROUP: u32 = WAVES_PER_GROUP * LANES as u32;
const REGISTERS_PER_ITEM: u32 = 20;
/// Units between two particles of the cloth at rest.
const SPACING: i32 = 4096;
/// Words of a particle: x, y, z and the inverse mass.
const PARTICLE_WORDS: u32 = 4;
const AXES: [u32; 3] = [0, 1, 2];
const INVERSE_MASS: u32 = 3;
/// Marks an empty place in the list of springs.
const NO_PARTICLE: u32 = u32::MAX;

pub(crate) struct Cl;

/// A cloth, and the number of times that each spring is applied.
#[derive(Clone, Copy)]
struct Mesh {
    columns: u32,
    rows: u32,
    iterations: u32,
}

/// Particles, their locks and the list of springs take 0.9 MB at quick scale and 3.3 MB at paper scale. A wavefront
/// takes 84 line accesses if it never fails to lock, so an iteration takes 0.13 million at quick scale and 0.5 million
/// at paper scale; the 6 iterations of medium scale take 1.5 million. At every scale a batch of springs fills whole
/// work-groups.
static SIZES: [SizeSpec; 3] = [
    SizeSpec::new("columns", "particles in a row of the cloth", [160, 192, 256], UNPRINTED).range(8, 4096),
    SizeSpec::new("rows", "rows of particles, the pinned one among them", [80, 128, 192], UNPRINTED).range(4, 4096),
    SizeSpec::new("iterations", "times that every spring is applied", [3, 6, 8], UNPRINTED).range(1, 1000),
];
const UNPRINTED: &str =
    "chosen: the TC paper prints no input; a cloth of 3.3 MB, more than the caches of its machine hold";

/// A spring between two particles, the first of which comes earlier in memory.
#[derive(Clone, Copy)]
struct Spring {
    first: u32,
    second: u32,
    rest: u32,
}

impl Spring {
    const NONE: Spring = Spring { first: NO_PARTICLE, second: NO_PARTICLE, rest: 0 };
}

impl Mesh {
    fn of(sizes: &Sizes) -> Mesh {
        Mesh { columns: sizes.get("columns"), rows: sizes.get("rows"), iterations: sizes.get("iterations") }
    }

    fn particles(&self) -> usize {
        (self.columns * self.rows) as usize
    }

    /// The particles of the top row are pinned; they come first.
    fn pins(&self) -> usize {
        self.columns as usize
    }

    /// Work-groups that take one spring per work-item. Every particle begins four springs.
    fn work_groups(&self) -> u32 {
        (4 * self.columns * self.rows).div_ceil(ITEMS_PER_GROUP)
    }

    /// The spring from a particle to the one `right` columns to its right and `down` rows below, if both exist and one
    /// of them moves.
    fn spring(&self, (column, row): (u32, u32), (right, down): (i32, u32)) -> Spring {
        let other_row = Some(row + down).filter(|other| (1..self.rows).contains(other));
        let other_column = column.checked_add_signed(right).filter(|&other| other < self.columns);
        let (Some(other_row), Some(other_column)) = (other_row, other_column) else {
            return Spring::NONE;
        };
        let diagonal = right != 0 && down != 0;
        let rest = f64::from(SPACING) * if diagonal { std::f64::consts::SQRT_2 } else { 1.0 };
        let at = |column, row| row * self.columns + column;
        Spring { first: at(column, row), second: at(other_column, other_row), rest: rest as u32 }
    }

    /// The list of springs, batch by batch. Springs within a row share particles along the row and all others share
    /// them from row to row, so every other spring makes a batch. Empty places fill the last work-group.
    fn springs(&self) -> Vec<Spring> {
        let mut springs = Vec::new();
        for (to, odd) in [(1, 0), (0, 1), (1, 1), (-1, 1)].into_iter().flat_map(|to| [(to, 0), (to, 1)]) {
            let (first_column, first_row) = if to.1 == 0 { (odd, 0) } else { (0, odd) };
            let (column_step, row_step) = if to.1 == 0 { (2, 1) } else { (1, 2) };
            for row in (first_row..self.rows).step_by(row_step) {
                let columns = (first_column..self.columns).step_by(column_step);
                springs.extend(columns.map(|column| self.spring((column, row), to)));
            }
        }
        springs.resize((self.work_groups() * ITEMS_PER_GROUP) as usize, Spring::NONE);
        springs
    }
}

/// The buffers of a cloth.
#[derive(Clone, Copy)]
struct Cloth {
    /// The particles of each spring, and its length at rest.
    first: Buf<u32>,
    second: Buf<u32>,
    rest: Buf<u32>,
    /// Position and inverse mass (1, or 0 for a pin) of each particle.
    particles: Buf<i32>,
    /// The pull that each pin has held against, laid out like a particle.
    pulls: Buf<i32>,
    locks: PairLocks,
}

/// The way in whole units that particles of inverse mass 1 must move towards each other, from the vector `between` them
/// and the length at rest. Truncation never moves them too far.
fn correction(between: [i32; 3], rest: u32, inverse_mass: i32) -> [i32; 3] {
    let [x, y, z] = between.map(|component| component as f32);
    let factor = (1.0 - rest as f32 / (x * x + y * y + z * z).sqrt()) / inverse_mass as f32;
    [x, y, z].map(|component| (component * factor) as i32)
}

/// The springs of one wavefront.
struct Springs {
    first: Lanes<u32>,
    second: Lanes<u32>,
    rest: Lanes<u32>,
    /// The inverse masses of the first and the second particle.
    inverse_mass: [Lanes<i32>; 2],
}

/// Applies the springs of one wavefront, each as soon as its particles can be locked.
async fn solve(w: Wave, cloth: Cloth) {
    let place = w.global_ids();
    w.alu(2).await;
    let [first, second, rest] =
        w.join_all([cloth.first, cloth.second, cloth.rest].map(|list| w.load(list, place))).await;
    w.alu(4).await;
    let mut pending = first.where_(|particle| particle != NO_PARTICLE);
    let masses =
        [first, second].map(|particle| w.load_where(pending, cloth.particles, word_of(particle, INVERSE_MASS)));
    let springs = Springs { first, second, rest, inverse_mass: w.join_all(masses).await };
    while pending.any() {
        let held = cloth.locks.try_lock(&w, pending, first, second).await;
        w.alu(2).await;
        if held.any() {
            cloth.apply(&w, held, &springs).await;
            cloth.locks.unlock(&w, held, first, second).await;
            pending = pending & !held;
        }
    }
}

impl Cloth {
    /// Applies the springs of `held`, whose particles are locked.
    async fn apply(&self, w: &Wave, held: Mask, springs: &Springs) {
        let [first, second] = [springs.first, springs.second].map(|particle| AXES.map(|axis| word_of(particle, axis)));
        let load = |word| w.load_where(held, self.particles, word);
        let loads = (first.map(load), second.map(load));
        let (mut a, mut b) = (w.join_all(loads.0).await, w.join_all(loads.1).await);
        w.alu(26).await;
        let mut corrections = [Lanes::splat(0); 3];
        for lane in held.iter() {
            let between = [0, 1, 2].map(|axis| b[axis][lane].wrapping_sub(a[axis][lane]));
            let [mass_a, mass_b] = springs.inverse_mass.map(|lanes| lanes[lane]);
            for (axis, by) in correction(between, springs.rest[lane], mass_a + mass_b).into_iter().enumerate() {
                a[axis].set(lane, a[axis][lane].wrapping_add(by.wrapping_mul(mass_a)));
                b[axis].set(lane, b[axis][lane].wrapping_sub(by.wrapping_mul(mass_b)));
                corrections[axis].set(lane, by);
            }
        }
        for axis in 0..3 {
            w.store_where(held, self.particles, first[axis], a[axis]);
            w.store_where(held, self.particles, second[axis], b[axis]);
        }
        let pinned = held & springs.inverse_mass[0].where_(|inverse_mass| inverse_mass == 0);
        if pinned.any() {
            self.pull(w, pinned, first, corrections).await;
        }
    }

    /// Adds corrections to the pulls of pins whose locks are held.
    async fn pull(&self, w: &Wave, pinned: Mask, at: [Lanes<u32>; 3], by: [Lanes<i32>; 3]) {
        let old = w.join_all(at.map(|at| w.load_where(pinned, self.pulls, at))).await;
        w.alu(3).await;
        for axis in 0..3 {
            w.store_where(pinned, self.pulls, at[axis], old[axis].zip(by[axis], i32::wrapping_add));
        }
    }
}

/// The place of a word of a particle. Empty places of the list give a word that no lane touches.
fn word_of(particle: Lanes<u32>, word: u32) -> Lanes<u32> {
    particle.map(|particle| particle.wrapping_mul(PARTICLE_WORDS) + word)
}

/// The sums and the bound that hold after any order of updates.
struct Invariants {
    mesh: Mesh,
    cloth: Cloth,
    springs: Vec<Spring>,
    /// The sums of the free particles' positions, and the strain, before the first iteration.
    sums: [i64; 3],
    strain: f64,
}

impl Invariants {
    fn new(mesh: Mesh, cloth: Cloth, springs: Vec<Spring>, memory: &HostMemory) -> Invariants {
        let mut invariants = Invariants { mesh, cloth, springs, sums: [0; 3], strain: 0.0 };
        invariants.sums = invariants.sums(memory);
        invariants.strain = invariants.strain(memory);
        invariants
    }

    /// For each axis, free particles and pulls added up.
    fn sums(&self, memory: &HostMemory) -> [i64; 3] {
        let pins = self.mesh.pins() * PARTICLE_WORDS as usize;
        let (particles, pulls) = (memory.read(self.cloth.particles), memory.read(self.cloth.pulls));
        [0, 1, 2].map(|axis| {
            let component = |words: &[i32]| -> i64 {
                words.iter().skip(axis).step_by(PARTICLE_WORDS as usize).copied().map(i64::from).sum()
            };
            component(&particles[pins..]) + component(&pulls)
        })
    }

    /// The sum of all differences between a spring's length and its length at rest.
    fn strain(&self, memory: &HostMemory) -> f64 {
        let particles = memory.read(self.cloth.particles);
        let position = |particle: u32| &particles[(particle * PARTICLE_WORDS) as usize..][..3];
        let present = self.springs.iter().filter(|spring| spring.first != NO_PARTICLE);
        let strain = |spring: &Spring| {
            let between = position(spring.first).iter().zip(position(spring.second));
            let squared: f64 = between.map(|(&a, &b)| (f64::from(b) - f64::from(a)).powi(2)).sum();
            (squared.sqrt() - f64::from(spring.rest)).abs()
        };
        present.map(strain).sum()
    }

    fn hold(&self, memory: &HostMemory) -> Result<(), Mismatch> {
        for ((name, before), after) in ["x", "y", "z"].into_iter().zip(self.sums).zip(self.sums(memory)) {
            if before != after {
                return Err(Mismatch(format!(
                    "free particles' {name} and pulls add up to {after} instead of {before}"
                )));
            }
        }
        let strain = self.strain(memory);
        if strain >= self.strain {
            return Err(Mismatch(format!("springs are off by {strain:.0} units in all, {:.0} before", self.strain)));
        }
        Ok(())
    }
}

/// The words of all particles. The cloth hangs down, stretched by a tenth, and every particle is off by up to a quarter
/// of the spacing.
fn draw_particles(mesh: &Mesh, generator: &mut SplitMix64) -> Vec<i32> {
    let mut words = Vec::new();
    for particle in 0..mesh.columns * mesh.rows {
        let (column, row) = ((particle % mesh.columns) as i32, (particle / mesh.columns) as i32);
        for place in [column * SPACING, -row * (SPACING + SPACING / 10), 0] {
            words.push(place + generator.below(SPACING as u32 / 2) as i32 - SPACING / 4);
        }
        words.push(i32::from(row > 0));
    }
    words
}

impl Workload for Cl {
    fn name(&self) -> &'static str {
        "cl"
    }

    fn title(&self) -> &'static str {
        "Cloth physics"
    }

    fn summary(&self) -> &'static str {
        "Moves the particles of a cloth until its springs have their lengths; springs share particles under locks."
    }

    fn suite(&self) -> Suite {
        Suite::Applications
    }

    fn papers(&self) -> &'static [Paper] {
        &[Paper::Tc]
    }

    fn source(&self) -> &'static str {
        "Singh et al., Cache Coherence for GPU Architectures, HPCA 2013, section 7 (CL); \
         Distance Solver of RopaDemo (Brownsword)"
    }

    fn communicates(&self) -> bool {
        true
    }

    fn sizes(&self) -> &'static [SizeSpec] {
        &SIZES
    }

    fn build(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
        lay_out(Mesh::of(sizes), seed, memory).1
    }
}

fn lay_out(mesh: Mesh, seed: u64, memory: &mut HostMemory) -> (Cloth, HostProgram) {
    let springs = mesh.springs();
    let particles = draw_particles(&mesh, &mut SplitMix64::new(seed));
    let mut list = |part: fn(&Spring) -> u32| memory.alloc_from(&springs.iter().map(part).collect::<Vec<u32>>());
    let cloth = Cloth {
        first: list(|spring| spring.first),
        second: list(|spring| spring.second),
        rest: list(|spring| spring.rest),
        particles: memory.alloc_from(&particles),
        pulls: memory.alloc(mesh.pins() * PARTICLE_WORDS as usize),
        locks: PairLocks::new(mesh.particles(), memory),
    };
    let iteration = || {
        Kernel::new("solve", mesh.work_groups(), WAVES_PER_GROUP, move |w| solve(w, cloth))
            .registers(REGISTERS_PER_ITEM)
    };
    let kernels = (0..mesh.iterations).map(|_| iteration()).collect();
    let pins = mesh.pins() * PARTICLE_WORDS as usize;
    let pinned = Output::new("pinned particle", cloth.particles.slice(0, pins), &particles[..pins]);
    let invariants = Invariants::new(mesh, cloth, springs, memory);
    let program = HostProgram::new(kernels, vec![pinned, cloth.locks.output()]);
    (cloth, program.invariant(move |memory| invariants.hold(memory)))
}

#[cfg(test)]
mod tests {
    use chorus_kernel::{Program, flat};
    use chorus_system::Scale;

    use super::*;

    const SMALL: Mesh = Mesh { columns: 64, rows: 16, iterations: 3 };

    /// A small cloth before and after its iterations.
    fn run_small() -> (Cloth, HostProgram, [HostMemory; 2]) {
        let mut memory = HostMemory::default();
        let (cloth, mut program) = lay_out(SMALL, 1, &mut memory);
        let before = memory.clone();
        flat::run(&mut program, &memory).unwrap();
        (cloth, program, [before, memory])
    }

    #[test]
    fn springs_of_a_batch_share_no_particle() {
        for mesh in Scale::ALL.map(|scale| Mesh::of(&Cl.sizes_at(scale))).into_iter().chain([SMALL]) {
            let springs = mesh.springs();
            let batch = mesh.particles() / 2;
            assert_eq!((springs.len(), batch % ITEMS_PER_GROUP as usize), (8 * batch, 0));
            for springs in springs.chunks(batch) {
                let mut used = vec![false; mesh.particles()];
                let ends = springs.iter().filter(|spring| spring.rest > 0).flat_map(|s| [s.first, s.second]);
                assert!(ends.into_iter().all(|end| !std::mem::replace(&mut used[end as usize], true)));
            }
        }
    }

    #[test]
    fn every_spring_is_listed_once_with_its_particles_in_order() {
        let springs = SMALL.springs();
        let mut pairs: Vec<_> = springs.iter().filter(|s| s.rest > 0).map(|s| (s.first, s.second)).collect();
        assert!(pairs.iter().all(|(first, second)| first < second));
        pairs.sort_unstable();
        pairs.dedup();
        let (across, down) = (SMALL.columns - 1, SMALL.rows - 1);
        assert_eq!(pairs.len() as u32, across * down + SMALL.columns * down + 2 * across * down);
    }

    #[test]
    fn a_correction_brings_particles_to_their_distance() {
        assert_eq!(correction([3000, 0, 4000], 2500, 2), [750, 0, 1000]);
        assert_eq!(correction([0, -1000, 0], 2000, 1), [0, 1000, 0]);
        assert_eq!(correction([0, 0, 0], 4000, 2), [0, 0, 0]);
    }

    #[test]
    fn an_update_that_is_lost_or_repeated_is_found() {
        let (cloth, program, [before, after]) = run_small();
        for word in [cloth.particles.start() as usize + 4 * SMALL.pins() + 1, cloth.pulls.start() as usize] {
            let (old, new) = (before.load(word), after.load(word));
            for wrong in [old, new.wrapping_add(new.wrapping_sub(old))] {
                let memory = after.clone();
                memory.store(word, wrong);
                assert!(program.check(&memory).is_wrong(), "word {word} is {wrong} instead of {new}");
            }
        }
    }

    #[test]
    fn a_cloth_that_was_never_solved_is_found() {
        let (_, program, [before, _]) = run_small();
        let Mismatch(message) = program.check(&before).not_wrong().unwrap_err();
        assert!(message.starts_with("springs are off by"), "{message}");
    }
}
