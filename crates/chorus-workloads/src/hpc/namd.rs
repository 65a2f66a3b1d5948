//! `namd`: the non-bonded forces of molecular dynamics, on pairs of patches.
//!
//! Source: HMG paper (Ren et al., HPCA 2020), section VI, Table III (HPC_namd2.10, with .gpu-scoped synchronisation);
//! NAMD 2.10 and its GPU kernel (Phillips et al., Adapting a Message-Driven Parallel Application to GPU-Accelerated
//! Clusters, SC 2008; Stone et al., 2010). Space is cut into patches as wide as the cutoff, with room for 128 atoms. A
//! work-group of four wavefronts has one pair of patches and computes the forces of the second on the first: a lane
//! holds one atom, and the atoms of the other patch pass by in local data. In the first step, bit masks note the atoms
//! of the other patch that come near any atom of a wavefront; later steps visit only those. `integrate` moves atoms
//! between the steps.
//!
//! Sharing is as in the original: the work-groups of one patch, 27 in a row, each leave their forces in a list of their
//! own, fence, and count themselves on a counter; the one that comes last adds up the lists. Counters are .gpu-scoped
//! and each GPU has its own: where the row of a patch is cut between two GPUs, each adds up its part and `integrate`
//! adds the two. Atoms of a patch are read by 27 work-groups, some of them on other modules and GPUs. No work-group
//! waits for another.
//!
//! Forces are integers in units of 2^-10, so that their sum does not depend on the order of additions.
//!
//! Left out: bonded forces, exclusions, particle-mesh Ewald, the interpolation table of the forces (they are computed),
//! and the migration of atoms to other patches, which NAMD does every 20 steps or so.
//!
//! Arithmetic: 12 instructions set up a pair; 9 per atom that passes by, 26 more where any lane is within the cutoff
//! (two divisions and a square root among them); 3 per list added; 12 in `integrate`.

use chorus_kernel::{Buf, HostMemory, Kernel, LANES, Lanes, Mask, Mismatch, Wave};
use chorus_protocol::access::{AtomicOp, Scope};

use crate::generator::SplitMix64;
use crate::program::{HostProgram, Output};
use crate::registry::{Paper, Suite, Workload};
use crate::size::{SizeSpec, Sizes};

/// Room for atoms in a patch, and the wavefronts that take them.
const SLOTS: u32 = 128;
const WAVES_PER_GROUP: u32 = SLOTS / LANES as u32;
const WAVES: usize = WAVES_PER_GROUP as usize;
/// Patches around a patch, itself included.
const AROUND: u32 = 27;
/// GPUs of the largest machine.
const GPUS_MAX: u32 = 16;
const REGISTERS_PER_ITEM: u32 = 32;

/// The width of a patch, which is the cutoff of forces, and the cutoff of the masks.
const CUTOFF: f32 = 12.0;
const LIST_CUTOFF: f32 = 13.5;
/// The constants of a made-up fluid.
const SIGMA: f32 = 1.5;
const EPSILON: f32 = 0.1;
/// Units of force, and a time step over the mass of an atom.
const FORCE_UNIT: f32 = 1.0 / 1024.0;
const STEP: f32 = 0.01;

pub(crate) struct Namd;

/// Lists of forces take 41 KB per patch. All buffers take 3.2 MB at quick scale and 85 MB at paper scale; the paper has
/// 72 MB. A patch takes about 1,900 line accesses a step: 0.2 million in all at quick scale, 0.8 million at medium
/// scale and 17 million at paper scale.
///
/// With three patches along a side, no patch is cut between more than two of 16 GPUs.
static SIZES: [SizeSpec; 2] = [
    SizeSpec::new(
        "side",
        "patches along each side of the cube",
        [4, 6, 12],
        "chosen: 85 MB, near the 72 MB in Table III of the HMG paper",
    )
    .range(3, 40),
    SizeSpec::new("steps", "time steps of two kernels each", [2, 2, 5], "chosen: few, for time").range(1, 1000),
];

/// Words of the masks of one wavefront.
const MASK_WORDS: u32 = SLOTS / 32;

/// A bit for each atom of the second patch that comes near an atom of a wavefront.
type Near = [u32; MASK_WORDS as usize];

#[derive(Clone, Copy)]
struct Data {
    /// The number of patches along each side.
    side: u32,
    counts: Buf<u32>,
    /// The place within its patch and the charge of each atom, with 128 slots per patch.
    places: [Buf<f32>; 3],
    charges: Buf<f32>,
    speeds: [Buf<f32>; 3],
    /// Bit masks of the atoms of the second patch that the wavefronts of a pair must visit.
    near: Buf<u32>,
    /// Forces of each pair, and forces of each patch in two parts.
    lists: [Buf<i32>; 3],
    forces: [[Buf<i32>; 3]; 2],
    /// The number of work-groups of each patch that are done since the start, on each GPU.
    done: Buf<u32>,
}

impl Data {
    fn patches(&self) -> u32 {
        self.side * self.side * self.side
    }
}

/// The patch in direction `number` from another, and the shift between them. Boundaries are periodic.
fn around(side: u32, patch: u32, number: u32) -> (u32, [f32; 3]) {
    let at = [patch % side, patch / side % side, patch / (side * side)];
    let direction = [number % 3, number / 3 % 3, number / 9];
    let [x, y, z]: [u32; 3] = std::array::from_fn(|axis| (at[axis] + direction[axis] + side - 1) % side);
    ((z * side + y) * side + x, direction.map(|direction| (direction as f32 - 1.0) * CUTOFF))
}

/// An atom: its place and its charge.
type Atom = [f32; 4];

#[inline]
fn squared_distance(own: &Atom, other: &Atom) -> f32 {
    let (x, y, z) = (own[0] - other[0], own[1] - other[1], own[2] - other[2]);
    x * x + y * y + z * z
}

/// Adds the force of one atom on another, in whole units. Returns whether they are within the cutoff.
#[inline]
fn add_force(sum: &mut [i32; 3], own: &Atom, other: &Atom) -> bool {
    let squared = squared_distance(own, other);
    if squared >= CUTOFF * CUTOFF || squared <= 0.0 {
        return false;
    }
    let inverse = 1.0 / squared;
    let sixth = (SIGMA * SIGMA * inverse) * (SIGMA * SIGMA * inverse) * (SIGMA * SIGMA * inverse);
    let electric = own[3] * other[3] * inverse.sqrt();
    let force = (EPSILON * sixth * (12.0 * sixth - 6.0) + electric) * inverse * (1.0 / FORCE_UNIT);
    sum[0] = sum[0].wrapping_add((force * (own[0] - other[0])) as i32);
    sum[1] = sum[1].wrapping_add((force * (own[1] - other[1])) as i32);
    sum[2] = sum[2].wrapping_add((force * (own[2] - other[2])) as i32);
    true
}

/// The atoms of the second patch that come near any of `own`.
fn find_near(own: &[Atom], others: &[Atom]) -> Near {
    let mut near = Near::default();
    for (number, other) in others.iter().enumerate() {
        let comes_near = own.iter().any(|own| squared_distance(own, other) < LIST_CUTOFF * LIST_CUTOFF);
        near[number / 32] |= u32::from(comes_near) << (number % 32);
    }
    near
}

/// The numbers of the atoms that a mask names.
fn named(near: Near, count: u32) -> impl Iterator<Item = u32> {
    (0..count).filter(move |number| near[(number / 32) as usize] >> (number % 32) & 1 == 1)
}

/// Loads the second patch of a pair into local data. Returns the wavefront's atoms of the first patch, the lanes that
/// have one, and the number of atoms in the second patch.
async fn load_pair(w: &Wave, data: &Data, patch: u32, other: u32, shift: [f32; 3]) -> ([Lanes<f32>; 4], Mask, u32) {
    let both = Lanes::from_fn(|lane| if lane == 0 { patch } else { other });
    let counts = w.load_where(Mask::first(2), data.counts, both).await.map(|count| count.min(SLOTS));
    let local = w.local_ids();
    let (own, theirs) = (local.below(counts[0]), local.below(counts[1]));
    let [x, y, z] = data.places;
    let bufs = [x, y, z, data.charges];
    let atoms = w.join_all(bufs.map(|buf| w.load_where(own, buf, local + patch * SLOTS))).await;
    let others = w.join_all(bufs.map(|buf| w.load_where(theirs, buf, local + other * SLOTS))).await;
    w.alu(12).await;
    for (component, values) in others.into_iter().enumerate() {
        let shift = shift.get(component).copied().unwrap_or(0.0);
        w.lds_write(theirs, local * 4 + component as u32, values + shift);
    }
    w.barrier().await;
    (atoms, own, counts[1])
}

/// One atom of the second patch, from local data.
fn passing(w: &Wave, number: u32) -> Atom {
    let atom: Lanes<f32> = w.lds_read(Mask::first(4), w.lane_ids() + number * 4);
    [atom[0], atom[1], atom[2], atom[3]]
}

/// The masks of a wavefront. The first step finds and stores them; later steps load them.
async fn near_atoms(w: &Wave, data: &Data, first_step: bool, own: &[Atom], count: u32) -> Near {
    let at = w.lane_ids() + (w.work_group() * WAVES_PER_GROUP + w.id().wave) * MASK_WORDS;
    let words = Mask::first(MASK_WORDS as usize);
    if !first_step {
        let near = w.load_where(words, data.near, at).await;
        return std::array::from_fn(|word| near[word]);
    }
    let others: Vec<Atom> = (0..count).map(|number| passing(w, number)).collect();
    w.alu(9 * count).await;
    let near = find_near(own, &others);
    w.store_where(words, data.near, at, Lanes::from_fn(|lane| near.get(lane).copied().unwrap_or(0)));
    near
}

/// Computes the forces of one patch on another. The last work-group of a patch on this GPU adds up all forces.
async fn nonbonded(w: Wave, data: Data, first_step: bool) {
    let patch = w.work_group() / AROUND;
    let (other, shift) = around(data.side, patch, w.work_group() % AROUND);
    let (atoms, mask, count) = load_pair(&w, &data, patch, other, shift).await;
    let own: Vec<Atom> = mask.iter().map(|lane| atoms.map(|component| component[lane])).collect();
    let near = near_atoms(&w, &data, first_step, &own, count).await;
    let mut sums = [[0; 3]; LANES];
    let mut instructions = 0;
    for number in named(near, count) {
        let atom = passing(&w, number);
        let mut within = false;
        for (sum, own) in sums.iter_mut().zip(&own) {
            within |= add_force(sum, own, &atom);
        }
        instructions += if within { 35 } else { 9 };
    }
    w.alu(instructions).await;
    for (axis, list) in data.lists.into_iter().enumerate() {
        let values = Lanes::from_fn(|lane| sums[lane][axis]);
        w.store_where(mask, list, w.local_ids() + w.work_group() * SLOTS, values);
    }
    if is_last(&w, &data, patch).await {
        add_up(&w, &data, patch, mask).await;
    }
}

/// The work-groups of a patch that run on this GPU.
fn pairs_here(w: &Wave, patch: u32) -> std::ops::Range<u32> {
    let here = w.work_groups_of_gpu();
    here.start.max(patch * AROUND)..here.end.min((patch + 1) * AROUND)
}

/// Counts this work-group as done. Returns whether it is the last of its patch on this GPU.
async fn is_last(w: &Wave, data: &Data, patch: u32) -> bool {
    let flag = Lanes::splat(SLOTS * 4);
    w.fence(Scope::Gpu).await;
    w.barrier().await;
    if w.id().wave == 0 {
        let before = w.atomic_one(AtomicOp::Add, data.done, w.gpu() * data.patches() + patch, 1).await;
        // The counter is never reset: it grows by the same number in every step.
        let last = (before + 1).is_multiple_of(pairs_here(w, patch).len() as u32);
        w.alu(4).await;
        w.lds_write(Mask::lane(0), flag, Lanes::splat(u32::from(last)));
    }
    w.barrier().await;
    w.lds_read::<u32>(Mask::lane(0), flag)[0] == 1
}

/// Adds up the lists of a patch that were made on this GPU.
async fn add_up(w: &Wave, data: &Data, patch: u32, mask: Mask) {
    w.fence(Scope::Gpu).await;
    let mut sums = [Lanes::splat(0_i32); 3];
    for pair in pairs_here(w, patch) {
        let values = w.join_all(data.lists.map(|list| w.load_where(mask, list, w.local_ids() + pair * SLOTS))).await;
        w.alu(3).await;
        for (sum, values) in sums.iter_mut().zip(values) {
            *sum = sum.zip(values, i32::wrapping_add);
        }
    }
    // The GPU that has the first pair of the patch writes the first part.
    let part = usize::from(pairs_here(w, patch).start != patch * AROUND);
    for (buf, sum) in data.forces[part].into_iter().zip(sums) {
        w.store_where(mask, buf, w.local_ids() + patch * SLOTS, sum);
    }
}

/// The place and the speed of an atom along one axis after a step.
fn moved(place: f32, speed: f32, force: i32) -> (f32, f32) {
    let speed = speed + force as f32 * (FORCE_UNIT * STEP);
    (place + speed * STEP, speed)
}

/// Moves the atoms of one patch.
async fn integrate(w: Wave, data: Data) {
    let count = w.load_one(data.counts, w.work_group()).await;
    let mask = w.local_ids().below(count);
    let at = w.global_ids();
    w.alu(12).await;
    for axis in 0..3 {
        let (place, speed) =
            w.join(w.load_where(mask, data.places[axis], at), w.load_where(mask, data.speeds[axis], at)).await;
        let parts = w.join_all([0, 1].map(|part| w.load_where(mask, data.forces[part][axis], at))).await;
        let after = Lanes::from_fn(|lane| moved(place[lane], speed[lane], parts[0][lane].wrapping_add(parts[1][lane])));
        w.store_where(mask, data.places[axis], at, after.map(|(place, _)| place));
        w.store_where(mask, data.speeds[axis], at, after.map(|(_, speed)| speed));
    }
}

/// The atoms of each patch on the host.
struct Reference {
    side: u32,
    atoms: Vec<Vec<Atom>>,
    speeds: Vec<Vec<[f32; 3]>>,
    forces: Vec<Vec<[i32; 3]>>,
    /// The masks of every pair and wavefront.
    near: Vec<Near>,
}

impl Reference {
    /// Draws atoms on a shaken lattice. The atoms of a wavefront fill a quarter of a patch.
    fn new(side: u32, seed: u64) -> Reference {
        let mut generator = SplitMix64::new(seed);
        let mut atom = |slot: u32| -> Atom {
            let (quarter, place) = (slot / LANES as u32, slot % LANES as u32);
            let lattice = [place % 8, quarter % 2 * 2 + place / 8 % 2, quarter / 2 * 2 + place / 16];
            let [x, y, z]: [f32; 3] = std::array::from_fn(|axis| {
                let sites = if axis == 0 { 8.0 } else { 4.0 };
                (lattice[axis] as f32 + generator.between_f32(0.3, 0.7)) * (CUTOFF / sites)
            });
            [x, y, z, if slot.is_multiple_of(2) { 0.5 } else { -0.5 }]
        };
        let counts = SplitMix64::new(seed ^ 1);
        let patches = (side * side * side) as usize;
        let atoms: Vec<Vec<Atom>> = (0..patches)
            .scan(counts, |counts, _| Some((0..SLOTS - counts.below(SLOTS / 4)).map(&mut atom).collect()))
            .collect();
        let speeds = atoms.iter().map(|atoms| vec![[0.0; 3]; atoms.len()]).collect();
        let forces = atoms.iter().map(|atoms| vec![[0; 3]; atoms.len()]).collect();
        let near = vec![Near::default(); patches * AROUND as usize * WAVES];
        Reference { side, atoms, speeds, forces, near }
    }

    fn step(&mut self, first: bool) {
        for patch in 0..self.atoms.len() {
            let own = &self.atoms[patch];
            let mut sums = vec![[0; 3]; own.len()];
            for number in 0..AROUND {
                let (other, shift) = around(self.side, patch as u32, number);
                let moved = |atom: &Atom| [atom[0] + shift[0], atom[1] + shift[1], atom[2] + shift[2], atom[3]];
                let others: Vec<Atom> = self.atoms[other as usize].iter().map(moved).collect();
                for (wave, (own, sums)) in own.chunks(LANES).zip(sums.chunks_mut(LANES)).enumerate() {
                    let near = &mut self.near[(patch * AROUND as usize + number as usize) * WAVES + wave];
                    if first {
                        *near = find_near(own, &others);
                    }
                    for other in named(*near, others.len() as u32) {
                        for (sum, own) in sums.iter_mut().zip(own) {
                            add_force(sum, own, &others[other as usize]);
                        }
                    }
                }
            }
            self.forces[patch] = sums;
        }
        for patch in 0..self.atoms.len() {
            for (atom, force) in self.forces[patch].iter().enumerate() {
                for (axis, &force) in force.iter().enumerate() {
                    let (place, speed) = (&mut self.atoms[patch][atom][axis], &mut self.speeds[patch][atom][axis]);
                    (*place, *speed) = moved(*place, *speed, force);
                }
            }
        }
    }

    /// One value of every atom in its slot; empty slots are zero.
    fn slots<T: Copy + Default, A>(patches: &[Vec<A>], value: impl Fn(&A) -> T) -> Vec<T> {
        let mut slots = vec![T::default(); patches.len() * SLOTS as usize];
        for (slots, atoms) in slots.chunks_mut(SLOTS as usize).zip(patches) {
            slots.iter_mut().zip(atoms).for_each(|(slot, atom)| *slot = value(atom));
        }
        slots
    }
}

/// Checks that the two parts of the forces add up to the expected forces.
fn check_forces(data: &Data, expected: &[Vec<i32>; 3], memory: &HostMemory) -> Result<(), Mismatch> {
    for (axis, expected) in expected.iter().enumerate() {
        let [first, second] = [0, 1].map(|part| memory.read(data.forces[part][axis]));
        for (slot, &expected) in expected.iter().enumerate() {
            let found = first[slot].wrapping_add(second[slot]);
            if found != expected {
                return Err(Mismatch(format!(
                    "the force on slot {slot} along axis {axis} is {found} instead of {expected}"
                )));
            }
        }
    }
    Ok(())
}

/// The program that makes steps on a cube of patches.
fn program(side: u32, steps: u32, seed: u64, memory: &mut HostMemory) -> (HostProgram, Data) {
    let mut reference = Reference::new(side, seed);
    let patches = reference.atoms.len();
    let (slots, pairs) = (patches * SLOTS as usize, patches * AROUND as usize);
    let counts: Vec<u32> = reference.atoms.iter().map(|atoms| atoms.len() as u32).collect();
    let component = |reference: &Reference, of: usize| Reference::slots(&reference.atoms, |atom| atom[of]);
    let data = Data {
        side,
        counts: memory.alloc_from(&counts),
        places: std::array::from_fn(|axis| memory.alloc_from(&component(&reference, axis))),
        charges: memory.alloc_from(&component(&reference, 3)),
        speeds: std::array::from_fn(|_| memory.alloc(slots)),
        near: memory.alloc(pairs * WAVES * MASK_WORDS as usize),
        lists: std::array::from_fn(|_| memory.alloc(pairs * SLOTS as usize)),
        forces: std::array::from_fn(|_| std::array::from_fn(|_| memory.alloc(slots))),
        done: memory.alloc(GPUS_MAX as usize * patches),
    };
    let mut kernels = Vec::new();
    for step in 0..steps {
        let nonbonded = Kernel::new("nonbonded", pairs as u32, WAVES_PER_GROUP, move |w| nonbonded(w, data, step == 0));
        kernels.push(nonbonded.registers(REGISTERS_PER_ITEM).lds((SLOTS * 4 + 1) * 4));
        kernels.push(Kernel::new("integrate", patches as u32, WAVES_PER_GROUP, move |w| integrate(w, data)));
        reference.step(step == 0);
    }
    let mut outputs = vec![Output::new("masks", data.near, &reference.near.concat())];
    for axis in 0..3 {
        outputs.push(Output::new("places", data.places[axis], &component(&reference, axis)));
        let speeds = Reference::slots(&reference.speeds, |speed| speed[axis]);
        outputs.push(Output::new("speeds", data.speeds[axis], &speeds));
    }
    let forces = std::array::from_fn(|axis| Reference::slots(&reference.forces, |force| force[axis]));
    let program = HostProgram::new(kernels, outputs);
    (program.invariant(move |memory| check_forces(&data, &forces, memory)), data)
}

impl Workload for Namd {
    fn name(&self) -> &'static str {
        "namd"
    }

    fn title(&self) -> &'static str {
        "NAMD (non-bonded forces)"
    }

    fn summary(&self) -> &'static str {
        "Computes forces between patches of atoms; the last work-group of a patch on a GPU adds up what all have left."
    }

    fn suite(&self) -> Suite {
        Suite::Hpc
    }

    fn papers(&self) -> &'static [Paper] {
        &[Paper::Hmg]
    }

    fn source(&self) -> &'static str {
        "Ren et al., HMG: Extending Cache Coherence Protocols Across Modern Hierarchical Multi-GPU Systems, HPCA 2020, \
         section VI, Table III (namd2.10); NAMD 2.10 (Phillips et al., SC 2008)"
    }

    fn communicates(&self) -> bool {
        true
    }

    fn sizes(&self) -> &'static [SizeSpec] {
        &SIZES
    }

    fn build(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
        program(sizes.get("side"), sizes.get("steps"), seed, memory).0
    }
}

#[cfg(test)]
mod tests {
    use chorus_kernel::{Program, flat};

    use super::*;

    #[test]
    fn any_number_of_gpus_computes_the_same_forces() {
        for gpus in [1, 5, 16] {
            let mut memory = HostMemory::default();
            let (mut program, _) = program(3, 2, 5, &mut memory);
            assert_eq!(flat::run_on(gpus, &mut program, &memory), Ok(()), "{gpus} GPUs");
        }
    }

    #[test]
    fn a_patch_is_never_cut_among_more_than_two_gpus() {
        assert!(SIZES[0].min.pow(3) >= u64::from(GPUS_MAX));
    }

    #[test]
    fn a_lost_list_of_forces_is_found() {
        let mut memory = HostMemory::default();
        let (mut program, data) = program(3, 1, 5, &mut memory);
        flat::run_on(4, &mut program, &memory).unwrap();
        let force = memory.get(data.forces[0][1], 7);
        memory.set(data.forces[0][1], 7, force + 1);
        assert!(program.check(&memory).is_wrong());
    }

    #[test]
    fn forces_of_two_atoms_are_opposite() {
        let (a, b) = ([1.0, 2.0, 3.0, 0.5], [2.5, 1.0, 3.5, -0.5]);
        let (mut on_a, mut on_b) = ([0; 3], [0; 3]);
        assert!(add_force(&mut on_a, &a, &b) && add_force(&mut on_b, &b, &a));
        assert_eq!(on_a, on_b.map(|force: i32| -force));
    }
}
