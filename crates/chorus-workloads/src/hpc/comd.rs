//! `comd`: molecular dynamics of a copper crystal under the Lennard-Jones potential.
//!
//! Source: HMG paper (Ren et al., HPCA 2020), section VI, Table III (HPC_CoMD-xyz49: 49 x 49 x 49 unit cells); CoMD of
//! the ExMatEx co-design centre, version 1.1, with its constants. Space is cut into link cells, here boxes, a little
//! wider than the cutoff, with room for 64 atoms each in arrays per coordinate. A step is four kernels. `advance` kicks
//! momenta by half a step, moves atoms, lists those that leave their box and closes the gaps that they leave.
//! `redistribute` lets every box take the atoms that its neighbours list for it. `force` runs over the atoms of 27
//! boxes. `kick` completes the step of the momenta. A wavefront has one box, a lane one atom, as in CoMD's kernels with
//! a thread per atom.
//!
//! Sharing: positions and numbers of atoms are written by the wavefront of their box and read by the wavefronts of the
//! 26 boxes around, after every step. Four boxes in a row belong to a work-group, so most neighbours are in other
//! work-groups, and neighbours in the next layers are often on other modules. Boundaries are periodic: the first boxes
//! neighbour the last.
//!
//! Left out: the halo cells of other ranks (there is one rank, and atoms beyond a boundary are read where they lie),
//! the sort of the atoms of a box by their number (they have a fixed order without), and sums of energies. Single
//! precision.
//!
//! Arithmetic of `force`: 27 instructions find the boxes around and 12 per box its shift and loops; 8 per atom met, for
//! distance and cutoff, and 20 where any lane is within it, 8 of them a division. `advance`: 18 for the two updates and
//! the boundaries, 12 for the new box, 16 for the two lists. `redistribute`: 6 per box that lists anything. `kick`: 6.

use chorus_kernel::{Buf, HostMemory, Kernel, LANES, Lanes, Mask, Mismatch, Wave, Word};

use crate::generator::SplitMix64;
use crate::program::{HostProgram, Output};
use crate::registry::{Paper, Suite, Workload};
use crate::size::{SizeSpec, Sizes};

const WAVES_PER_GROUP: u32 = 4;
const REGISTERS_PER_ITEM: u32 = 32;
/// Atoms that a box has room for, and that may leave it in one step.
const SLOTS: u32 = 64;
const LEAVING_SLOTS: u32 = LANES as u32;
/// Boxes around a box, itself included.
const AROUND: usize = 27;

/// CoMD's copper: the edge of a unit cell and the two constants of the potential, in angstrom and electronvolt.
const LATTICE: f32 = 3.615;
const SIGMA: f32 = 2.315;
const EPSILON: f32 = 0.167;
const CUTOFF: f32 = 2.5 * SIGMA;
/// Mass in units in which momentum is electronvolt femtoseconds per angstrom.
const MASS: f32 = 63.55 * 103.642_7;
/// Femtoseconds of a step.
const STEP: f32 = 1.0;
/// Largest speed per axis at the start: about 600 K.
const SPEED: f32 = 0.005;
/// Largest displacement per axis from the lattice at the start: a crystal hot enough that atoms change their box.
const DISPLACEMENT: f32 = 0.35;

pub(crate) struct Comd;

/// There are 12 x 12 x 10 boxes at quick scale and 30 x 30 x 30 at paper scale. They take 4.5 MB and 105 MB; the
/// paper's 313 MB hold double precision and halos. A box takes about 140 line accesses a step: 0.3 million in all at
/// quick scale and 26 million at paper scale. Medium scale has twice the cells of quick scale in x and in y.
///
/// With five unit cells there are three boxes along an axis, so that all 26 neighbours of a box are different.
static SIZES: [SizeSpec; 4] = [
    SizeSpec::new("cells_x", "unit cells of the crystal along x", [20, 40, 49], XYZ49).range(5, 160),
    SizeSpec::new("cells_y", "unit cells of the crystal along y", [20, 40, 49], XYZ49).range(5, 160),
    SizeSpec::new("cells_z", "unit cells of the crystal along z", [17, 17, 49], XYZ49).range(5, 160),
    SizeSpec::new("steps", "time steps of four kernels each", [2, 2, 7], "chosen: few, for time").range(1, 100),
];
const XYZ49: &str = "HMG paper, Table III: HPC_CoMD-xyz49, 49 x 49 x 49 unit cells";

/// The division of space into boxes.
#[derive(Clone, Copy)]
struct Space {
    /// The lengths of all boxes together along each axis.
    edges: [f32; 3],
    boxes: [u32; 3],
}

impl Space {
    fn new(unit_cells: [u32; 3]) -> Space {
        let edges = unit_cells.map(|cells| cells as f32 * LATTICE);
        Space { edges, boxes: edges.map(|edge| (edge / CUTOFF) as u32) }
    }

    fn boxes(&self) -> u32 {
        self.boxes.iter().product()
    }

    /// The box of a place within the boundaries.
    fn box_of(&self, place: [f32; 3]) -> u32 {
        let [x, y, z]: [u32; 3] = std::array::from_fn(|axis| {
            let boxes = self.boxes[axis];
            ((place[axis] * (boxes as f32 / self.edges[axis])) as u32).min(boxes - 1)
        });
        (z * self.boxes[1] + y) * self.boxes[0] + x
    }

    /// The box in direction `number` from another, and the shift that brings the atoms there beside it.
    fn around(&self, of: u32, number: usize) -> (u32, [f32; 3]) {
        let at = [of % self.boxes[0], of / self.boxes[0] % self.boxes[1], of / (self.boxes[0] * self.boxes[1])];
        let direction = [number % 3, number / 3 % 3, number / 9];
        let mut shift = [0.0; 3];
        let [x, y, z]: [u32; 3] = std::array::from_fn(|axis| {
            let boxes = self.boxes[axis];
            match (at[axis] + direction[axis] as u32).checked_sub(1) {
                None => {
                    shift[axis] = -self.edges[axis];
                    boxes - 1
                }
                Some(to) if to == boxes => {
                    shift[axis] = self.edges[axis];
                    0
                }
                Some(to) => to,
            }
        });
        ((z * self.boxes[1] + y) * self.boxes[0] + x, shift)
    }

    /// A place after it has passed a boundary.
    fn wrapped(&self, axis: usize, place: f32) -> f32 {
        let edge = self.edges[axis];
        if place < 0.0 {
            place + edge
        } else if place >= edge {
            place - edge
        } else {
            place
        }
    }
}

/// Force over distance, and energy, of two atoms at a squared distance; nothing beyond the cutoff or for an atom with
/// itself.
#[inline]
fn lennard_jones(squared: f32) -> Option<(f32, f32)> {
    const SIGMA_6: f32 = SIGMA * SIGMA * SIGMA * SIGMA * SIGMA * SIGMA;
    const CUTOFF_6: f32 = SIGMA_6 / (CUTOFF * CUTOFF * CUTOFF * CUTOFF * CUTOFF * CUTOFF);
    if squared > CUTOFF * CUTOFF || squared <= 0.0 {
        return None;
    }
    let inverse = 1.0 / squared;
    let sixth = SIGMA_6 * inverse * inverse * inverse;
    let force = 4.0 * EPSILON * sixth * (12.0 * sixth - 6.0) * inverse;
    let energy = 2.0 * EPSILON * (sixth * (sixth - 1.0) - CUTOFF_6 * (CUTOFF_6 - 1.0));
    Some((force, energy))
}

/// The sums of force and energy that an atom feels.
type Feels = ([f32; 3], f32);

/// Adds the force and the energy of one atom on another. Returns whether they are within the cutoff.
#[inline]
fn feel(feels: &mut Feels, own: [f32; 3], other: [f32; 3]) -> bool {
    let (x, y, z) = (own[0] - other[0], own[1] - other[1], own[2] - other[2]);
    let squared = x * x + y * y + z * z;
    let Some((force, energy)) = lennard_jones(squared) else { return false };
    feels.0[0] += force * x;
    feels.0[1] += force * y;
    feels.0[2] += force * z;
    feels.1 += energy;
    true
}

/// The place of an atom, moved by a shift.
fn shifted(place: [f32; 3], shift: [f32; 3]) -> [f32; 3] {
    std::array::from_fn(|axis| place[axis] + shift[axis])
}

#[derive(Clone, Copy)]
struct Data {
    space: Space,
    /// The number of atoms in each box.
    counts: Buf<u32>,
    /// 64 slots per box in each of these.
    positions: [Buf<f32>; 3],
    momenta: [Buf<f32>; 3],
    forces: [Buf<f32>; 3],
    energies: Buf<f32>,
    numbers: Buf<u32>,
    /// The number of atoms that leave each box, and 32 slots per box with their data and destinations.
    leaving: Buf<u32>,
    leaving_positions: [Buf<f32>; 3],
    leaving_momenta: [Buf<f32>; 3],
    leaving_numbers: Buf<u32>,
    destinations: Buf<u32>,
}

impl Data {
    fn new(space: Space, memory: &mut HostMemory) -> Data {
        let boxes = space.boxes() as usize;
        let (slots, leaving) = (boxes * SLOTS as usize, boxes * LEAVING_SLOTS as usize);
        Data {
            space,
            counts: memory.alloc(boxes),
            positions: std::array::from_fn(|_| memory.alloc(slots)),
            momenta: std::array::from_fn(|_| memory.alloc(slots)),
            forces: std::array::from_fn(|_| memory.alloc(slots)),
            energies: memory.alloc(slots),
            numbers: memory.alloc(slots),
            leaving: memory.alloc(boxes),
            leaving_positions: std::array::from_fn(|_| memory.alloc(leaving)),
            leaving_momenta: std::array::from_fn(|_| memory.alloc(leaving)),
            leaving_numbers: memory.alloc(leaving),
            destinations: memory.alloc(leaving),
        }
    }
}

/// The box of a wavefront. The last work-group may have more wavefronts than there are boxes left.
fn own_box(w: &Wave, space: &Space) -> Option<u32> {
    let own = w.work_group() * WAVES_PER_GROUP + w.id().wave;
    (own < space.boxes()).then_some(own)
}

/// The atoms of a box, 32 at a time: their slots, and the lanes that have one.
fn batches(w: &Wave, of: u32, count: u32) -> impl Iterator<Item = (Lanes<u32>, Mask)> + use<> {
    let lanes = w.lane_ids();
    (0..count.min(SLOTS)).step_by(LANES).map(move |first| {
        let batch = lanes + first;
        (batch + of * SLOTS, batch.below(count))
    })
}

async fn load_vector(w: &Wave, mask: Mask, from: [Buf<f32>; 3], at: Lanes<u32>) -> [Lanes<f32>; 3] {
    w.join_all(from.map(|buf| w.load_where(mask, buf, at))).await
}

fn store_vector(w: &Wave, mask: Mask, to: [Buf<f32>; 3], at: Lanes<u32>, values: [Lanes<f32>; 3]) {
    for (buf, values) in to.into_iter().zip(values) {
        w.store_where(mask, buf, at, values);
    }
}

/// Consecutive places for the lanes of `mask`, from `first` on.
fn packed(mask: Mask, first: u32) -> Lanes<u32> {
    Lanes::from_fn(|lane| first + (mask & Mask::first(lane)).count())
}

/// Advances momenta by half a step and positions by a step, and lists the atoms that leave.
async fn advance(w: Wave, data: Data) {
    let Some(own) = own_box(&w, &data.space) else { return };
    let count = w.load_one(data.counts, own).await;
    let (mut stayed, mut left) = (0, 0);
    for (at, mask) in batches(&w, own, count) {
        let mut position = load_vector(&w, mask, data.positions, at).await;
        let mut momentum = load_vector(&w, mask, data.momenta, at).await;
        let force = load_vector(&w, mask, data.forces, at).await;
        let number = w.load_where(mask, data.numbers, at).await;
        w.alu(18 + 12 + 16).await;
        for axis in 0..3 {
            momentum[axis] = momentum[axis] + force[axis] * (0.5 * STEP);
            position[axis] = position[axis] + momentum[axis] * (STEP / MASS);
            position[axis] = position[axis].map(|place| data.space.wrapped(axis, place));
        }
        let to = Lanes::from_fn(|lane| data.space.box_of(position.map(|place| place[lane])));
        let (stays, leaves) = (mask & to.where_(|to| to == own), mask & to.where_(|to| to != own));
        let slot = packed(stays, own * SLOTS + stayed);
        store_vector(&w, stays, data.positions, slot, position);
        store_vector(&w, stays, data.momenta, slot, momentum);
        w.store_where(stays, data.numbers, slot, number);
        let place = packed(leaves, left);
        let leaves = leaves & place.below(LEAVING_SLOTS);
        let slot = place + own * LEAVING_SLOTS;
        store_vector(&w, leaves, data.leaving_positions, slot, position);
        store_vector(&w, leaves, data.leaving_momenta, slot, momentum);
        w.store_where(leaves, data.leaving_numbers, slot, number);
        w.store_where(leaves, data.destinations, slot, to);
        (stayed, left) = (stayed + stays.count(), left + leaves.count());
    }
    w.store_one(data.counts, own, stayed);
    w.store_one(data.leaving, own, left);
}

/// One value per box around, from an array of one word per box.
async fn load_around<T: Word>(w: &Wave, data: &Data, from: Buf<T>, own: u32) -> Lanes<T> {
    let boxes = Lanes::from_fn(|lane| data.space.around(own, lane.min(AROUND - 1)).0);
    w.alu(AROUND as u32).await;
    w.load_where(Mask::first(AROUND), from, boxes).await
}

/// Takes in the atoms that the boxes around list for this one.
async fn redistribute(w: Wave, data: Data) {
    let Some(own) = own_box(&w, &data.space) else { return };
    let leaving = load_around(&w, &data, data.leaving, own).await;
    let before = w.load_one(data.counts, own).await;
    let mut count = before;
    for number in (0..AROUND).filter(|&number| leaving[number] > 0) {
        let listed = Mask::first(leaving[number].min(LEAVING_SLOTS) as usize);
        let at = w.lane_ids() + data.space.around(own, number).0 * LEAVING_SLOTS;
        let to = w.load_where(listed, data.destinations, at).await;
        w.alu(6).await;
        let place = packed(listed & to.where_(|to| to == own), count);
        let comes = listed & to.where_(|to| to == own) & place.below(SLOTS);
        if comes.any() {
            let slot = place + own * SLOTS;
            let position = load_vector(&w, comes, data.leaving_positions, at).await;
            let momentum = load_vector(&w, comes, data.leaving_momenta, at).await;
            let numbers = w.load_where(comes, data.leaving_numbers, at).await;
            store_vector(&w, comes, data.positions, slot, position);
            store_vector(&w, comes, data.momenta, slot, momentum);
            w.store_where(comes, data.numbers, slot, numbers);
            count += comes.count();
        }
    }
    if count != before {
        w.store_one(data.counts, own, count);
    }
}

/// The forces on the atoms of a box, from those of the 27 boxes around.
async fn force(w: Wave, data: Data) {
    let Some(own) = own_box(&w, &data.space) else { return };
    let counts = load_around(&w, &data, data.counts, own).await;
    for (at, mask) in batches(&w, own, counts[AROUND / 2]) {
        let position = load_vector(&w, mask, data.positions, at).await;
        let owns: Vec<[f32; 3]> = mask.iter().map(|lane| position.map(|place| place[lane])).collect();
        let mut feels = [Feels::default(); LANES];
        for number in 0..AROUND {
            let (other, shift) = data.space.around(own, number);
            for (at, others) in batches(&w, other, counts[number]) {
                let places = load_vector(&w, others, data.positions, at).await;
                let mut met = 0;
                for other in others.iter() {
                    let place = shifted(places.map(|place| place[other]), shift);
                    let mut within = false;
                    for (feels, &own) in feels.iter_mut().zip(&owns) {
                        within |= feel(feels, own, place);
                    }
                    met += u32::from(within);
                }
                w.alu(12 + 8 * others.count() + 20 * met).await;
            }
        }
        let forces = std::array::from_fn(|axis| Lanes::from_fn(|lane| feels[lane].0[axis]));
        store_vector(&w, mask, data.forces, at, forces);
        w.store_where(mask, data.energies, at, Lanes::from_fn(|lane| feels[lane].1));
    }
}

/// The second half of the step of the momenta.
async fn kick(w: Wave, data: Data) {
    let Some(own) = own_box(&w, &data.space) else { return };
    let count = w.load_one(data.counts, own).await;
    for (at, mask) in batches(&w, own, count) {
        let momentum = load_vector(&w, mask, data.momenta, at).await;
        let force = load_vector(&w, mask, data.forces, at).await;
        w.alu(6).await;
        let kicked = std::array::from_fn(|axis| momentum[axis] + force[axis] * (0.5 * STEP));
        store_vector(&w, mask, data.momenta, at, kicked);
    }
}

/// An atom on the host.
#[derive(Clone, Copy)]
struct Atom {
    number: u32,
    position: [f32; 3],
    momentum: [f32; 3],
    feels: Feels,
}

/// The crystal on the host: the atoms of each box.
struct Reference {
    space: Space,
    boxes: Vec<Vec<Atom>>,
}

impl Reference {
    /// A face-centred lattice, somewhat shaken.
    fn new(unit_cells: [u32; 3], seed: u64) -> Reference {
        const BASIS: [[f32; 3]; 4] = [[0.25, 0.25, 0.25], [0.25, 0.75, 0.75], [0.75, 0.25, 0.75], [0.75, 0.75, 0.25]];
        let space = Space::new(unit_cells);
        let mut generator = SplitMix64::new(seed);
        let mut boxes = vec![Vec::new(); space.boxes() as usize];
        let [x, y, z] = unit_cells;
        for number in 0..4 * x * y * z {
            let cell = [number / 4 % x, number / 4 / x % y, number / 4 / (x * y)];
            let position = std::array::from_fn(|axis| {
                let place = (cell[axis] as f32 + BASIS[number as usize % 4][axis]) * LATTICE;
                place + generator.between_f32(-DISPLACEMENT, DISPLACEMENT)
            });
            let momentum = std::array::from_fn(|_| MASS * generator.between_f32(-SPEED, SPEED));
            let atom = Atom { number, position, momentum, feels: Feels::default() };
            boxes[space.box_of(position) as usize].push(atom);
        }
        Reference { space, boxes }
    }

    fn force(&mut self) {
        for own in 0..self.boxes.len() {
            let mut all: Vec<Feels> = vec![Feels::default(); self.boxes[own].len()];
            for number in 0..AROUND {
                let (other, shift) = self.space.around(own as u32, number);
                for met in &self.boxes[other as usize] {
                    let place = shifted(met.position, shift);
                    for (feels, atom) in all.iter_mut().zip(&self.boxes[own]) {
                        feel(feels, atom.position, place);
                    }
                }
            }
            for (atom, feels) in self.boxes[own].iter_mut().zip(all) {
                atom.feels = feels;
            }
        }
    }

    fn kick(&mut self) {
        for atom in self.boxes.iter_mut().flatten() {
            for axis in 0..3 {
                atom.momentum[axis] += atom.feels.0[axis] * (0.5 * STEP);
            }
        }
    }

    /// Moves all atoms. Returns the atoms that leave each box, in order.
    fn advance(&mut self) -> Vec<Vec<Atom>> {
        self.kick();
        let space = self.space;
        let move_all = |own: usize, atoms: &mut Vec<Atom>| {
            for atom in atoms.iter_mut() {
                for axis in 0..3 {
                    let place = atom.position[axis] + atom.momentum[axis] * (STEP / MASS);
                    atom.position[axis] = space.wrapped(axis, place);
                }
            }
            let (stay, leave) = atoms.iter().partition(|atom| space.box_of(atom.position) as usize == own);
            *atoms = stay;
            leave
        };
        self.boxes.iter_mut().enumerate().map(|(own, atoms)| move_all(own, atoms)).collect()
    }

    fn redistribute(&mut self, leaving: &[Vec<Atom>]) {
        for own in 0..self.boxes.len() {
            for number in 0..AROUND {
                let from = self.space.around(own as u32, number).0;
                let comes = |atom: &&Atom| self.space.box_of(atom.position) as usize == own;
                self.boxes[own].extend(leaving[from as usize].iter().filter(comes));
            }
        }
    }

    /// Makes one step. Returns the number of atoms that changed their box.
    fn step(&mut self) -> usize {
        let leaving = self.advance();
        self.redistribute(&leaving);
        self.force();
        self.kick();
        leaving.iter().map(Vec::len).sum()
    }

    /// Checks every word of every atom in memory.
    fn check(&self, data: &Data, memory: &HostMemory) -> Result<(), Mismatch> {
        for (own, atoms) in self.boxes.iter().enumerate() {
            for (slot, atom) in (own * SLOTS as usize..).zip(atoms) {
                let vectors =
                    [(data.positions, atom.position), (data.momenta, atom.momentum), (data.forces, atom.feels.0)];
                let words = vectors.iter().flat_map(|(bufs, values)| bufs.iter().zip(values));
                let right = words
                    .chain([(&data.energies, &atom.feels.1)])
                    .all(|(&buf, value)| memory.get(buf, slot).to_bits() == value.to_bits());
                if !right || memory.get(data.numbers, slot) != atom.number {
                    return Err(Mismatch(format!("slot {slot} does not hold atom {} as it should be", atom.number)));
                }
            }
        }
        Ok(())
    }
}

/// The crystal before its first step, in memory.
fn store_atoms(reference: &Reference, data: &Data, memory: &mut HostMemory) {
    for (own, atoms) in reference.boxes.iter().enumerate() {
        memory.set(data.counts, own, atoms.len() as u32);
        for (slot, atom) in (own * SLOTS as usize..).zip(atoms) {
            memory.set(data.numbers, slot, atom.number);
            for axis in 0..3 {
                memory.set(data.positions[axis], slot, atom.position[axis]);
                memory.set(data.momenta[axis], slot, atom.momentum[axis]);
            }
        }
    }
}

/// The program that moves a crystal.
fn program(unit_cells: [u32; 3], steps: u32, seed: u64, memory: &mut HostMemory) -> (HostProgram, Data) {
    let mut reference = Reference::new(unit_cells, seed);
    let data = Data::new(reference.space, memory);
    store_atoms(&reference, &data, memory);
    let groups = reference.space.boxes().div_ceil(WAVES_PER_GROUP);
    let mut kernels = Vec::new();
    for _ in 0..steps {
        kernels.push(Kernel::new("advance", groups, WAVES_PER_GROUP, move |w| advance(w, data)));
        kernels.push(Kernel::new("redistribute", groups, WAVES_PER_GROUP, move |w| redistribute(w, data)));
        kernels.push(Kernel::new("force", groups, WAVES_PER_GROUP, move |w| force(w, data)));
        kernels.push(Kernel::new("kick", groups, WAVES_PER_GROUP, move |w| kick(w, data)));
        reference.step();
    }
    let counts: Vec<u32> = reference.boxes.iter().map(|atoms| atoms.len() as u32).collect();
    let kernels = kernels.into_iter().map(|kernel| kernel.registers(REGISTERS_PER_ITEM)).collect();
    let outputs = vec![Output::new("atoms of each box", data.counts, &counts)];
    let program = HostProgram::new(kernels, outputs);
    (program.invariant(move |memory| reference.check(&data, memory)), data)
}

impl Workload for Comd {
    fn name(&self) -> &'static str {
        "comd"
    }

    fn title(&self) -> &'static str {
        "CoMD (molecular dynamics)"
    }

    fn summary(&self) -> &'static str {
        "Moves the atoms of a crystal, four kernels per step; every box of atoms reads the 26 around it."
    }

    fn suite(&self) -> Suite {
        Suite::Hpc
    }

    fn papers(&self) -> &'static [Paper] {
        &[Paper::Hmg]
    }

    fn source(&self) -> &'static str {
        "Ren et al., HMG: Extending Cache Coherence Protocols Across Modern Hierarchical Multi-GPU Systems, HPCA 2020, \
         section VI, Table III (CoMD); CoMD 1.1 (ExMatEx)"
    }

    fn sizes(&self) -> &'static [SizeSpec] {
        &SIZES
    }

    fn build(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
        let unit_cells = ["cells_x", "cells_y", "cells_z"].map(|key| sizes.get(key));
        program(unit_cells, sizes.get("steps"), seed, memory).0
    }
}

#[cfg(test)]
mod tests {
    use chorus_kernel::{Program, Verdict, flat};

    use super::*;

    #[test]
    fn boxes_are_wide_enough_and_have_room() {
        for cells in (5..=20).chain([49, 160]) {
            let space = Space::new([cells, 5, 5]);
            assert!(space.boxes[0] >= 3 && space.edges[0] / space.boxes[0] as f32 >= CUTOFF, "{cells} cells");
        }
        for cells in 5..=20 {
            let reference = Reference::new([cells; 3], 1);
            assert!(reference.boxes.iter().all(|atoms| atoms.len() <= SLOTS as usize / 2), "{cells} cells");
        }
    }

    #[test]
    fn atoms_change_boxes_and_none_is_lost() {
        let mut reference = Reference::new([10, 10, 10], 2);
        let moved: usize = (0..3).map(|_| reference.step()).sum();
        assert!(moved > 0);
        assert_eq!(reference.boxes.iter().map(Vec::len).sum::<usize>(), 4000);
    }

    #[test]
    fn forces_of_two_atoms_are_opposite_and_vanish_at_the_minimum() {
        let minimum = SIGMA * SIGMA * 2.0_f32.cbrt();
        assert!(lennard_jones(minimum).unwrap().0.abs() < 1e-6);
        assert!(lennard_jones(0.9 * minimum).unwrap().0 > 0.0);
        assert!(lennard_jones(1.1 * minimum).unwrap().0 < 0.0);
        assert_eq!(lennard_jones(1.01 * CUTOFF * CUTOFF), None);
    }

    #[test]
    fn one_wrong_word_of_an_atom_is_found() {
        let mut memory = HostMemory::default();
        let (mut program, data) = program([10, 10, 10], 1, 3, &mut memory);
        flat::run(&mut program, &memory).unwrap();
        let bufs = [data.positions[0], data.momenta[1], data.forces[2], data.energies];
        for start in bufs.map(|buf| buf.start()).into_iter().chain([data.numbers.start()]) {
            let word = start as usize + 2;
            let right = memory.load(word);
            memory.store(word, right ^ 1);
            assert!(program.check(&memory).is_wrong());
            memory.store(word, right);
        }
        assert_eq!(program.check(&memory), Verdict::Checked);
    }
}
