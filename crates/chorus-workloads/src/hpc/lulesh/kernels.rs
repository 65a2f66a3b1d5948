//! The kernels of a step, with a work-item per element or per node.
//!
//! Arithmetic, by the operations of `physics.rs`: 320 instructions for the stress of an element, 900 for its hourglass
//! control, 700 for its kinematics, 140 for its gradients, 70 for its viscosity and 90 for its material; 4 per corner
//! of a node; 6 for indices and addresses, and 1 per gather.

use std::ops::Range;

use chorus_kernel::AccessMode::{Read, ReadWrite};
use chorus_kernel::{Buf, Kernel, LANES, Lanes, Mask, Share, Wave};

use super::mesh::{CORNERS, Mesh, NEIGHBOURS, NONE};
use super::physics::{self, Corners, Material, Vector};
use crate::shares::scaled;

const LANES_U32: u32 = LANES as u32;
const WAVES_PER_GROUP: u32 = 2;
const ITEMS: u32 = WAVES_PER_GROUP * LANES_U32;

/// The mesh in memory, where it takes one buffer.
#[derive(Clone, Copy)]
pub struct Topology {
    all: Buf<u32>,
    elements: u32,
    nodes: u32,
    plane: u32,
    element_nodes: Buf<u32>,
    neighbours: Buf<u32>,
    node_corners: Buf<u32>,
    symmetry: Buf<u32>,
}

impl Topology {
    /// The words of a mesh in the order in which they lie in memory.
    pub fn words(mesh: &Mesh) -> Vec<u32> {
        [&mesh.element_nodes, &mesh.neighbours, &mesh.node_corners, &mesh.symmetry]
            .into_iter()
            .flatten()
            .copied()
            .collect()
    }

    /// The parts of a buffer that holds those words.
    pub fn of(mesh: &Mesh, all: Buf<u32>) -> Topology {
        let [first, second, third] = [&mesh.element_nodes, &mesh.neighbours, &mesh.node_corners].map(Vec::len);
        Topology {
            all,
            elements: mesh.elements(),
            nodes: mesh.nodes(),
            plane: mesh.plane(),
            element_nodes: all.slice(0, first),
            neighbours: all.slice(first, second),
            node_corners: all.slice(first + second, third),
            symmetry: all.slice(first + second + third, mesh.symmetry.len()),
        }
    }

    /// The number of work-groups with one work-item per element.
    pub fn element_groups(&self) -> u32 {
        self.elements.div_ceil(ITEMS)
    }
}

/// All buffers of the kernels. Vectors have all first components, then all second and all third.
#[derive(Clone, Copy)]
pub struct Buffers {
    /// The connections of elements and nodes.
    pub topology: Topology,
    /// The places of the nodes.
    pub places: Buf<f32>,
    /// The velocities of the nodes.
    pub velocities: Buf<f32>,
    /// The accelerations of the nodes.
    pub accelerations: Buf<f32>,
    /// The forces on the nodes.
    pub forces: Buf<f32>,
    /// The masses of the nodes.
    pub node_masses: Buf<f32>,
    /// Forces on the corners: components of all first corners, of all second ones, and so on, axis by axis.
    pub corner_forces: Buf<f32>,
    /// Volumes of the elements at the beginning, which are their masses too.
    pub initial: Buf<f32>,
    /// Volumes of the elements relative to their initial volumes, before the step.
    pub volumes: Buf<f32>,
    /// Volumes of the elements relative to their initial volumes, after the step.
    pub new_volumes: Buf<f32>,
    /// Characteristic lengths of the elements.
    pub lengths: Buf<f32>,
    /// The rates at which the volumes of the elements grow.
    pub rates: Buf<f32>,
    /// Gradients of velocity along the three directions of the elements.
    pub changes: Buf<f32>,
    /// Lengths of the elements along their three directions.
    pub extents: Buf<f32>,
    /// The linear and the quadratic part of the viscosity.
    pub viscous: Buf<f32>,
    /// The energies of the elements.
    pub energies: Buf<f32>,
    /// The pressures of the elements.
    pub pressures: Buf<f32>,
    /// The viscosities of the elements.
    pub viscosities: Buf<f32>,
    /// The speeds of sound in the elements.
    pub sounds: Buf<f32>,
    /// The longest steps that work-groups of elements allow.
    pub allowed: Buf<f32>,
    /// The length of the next time step.
    pub step: Buf<f32>,
}

/// The elements or nodes of a wavefront.
struct Items {
    inside: Mask,
    id: Lanes<u32>,
}

impl Items {
    fn of(w: &Wave, len: u32) -> Items {
        let id = w.global_ids();
        Items { inside: id.below(len), id }
    }

    async fn load<const N: usize>(&self, w: &Wave, bufs: [Buf<f32>; N]) -> [Lanes<f32>; N] {
        w.join_all(bufs.map(|buf| w.load_where(self.inside, buf, self.id))).await
    }

    fn store(&self, w: &Wave, buf: Buf<f32>, values: Lanes<f32>) {
        w.store_where(self.inside, buf, self.id, values);
    }

    /// The components of vectors that lie `len` apart.
    async fn load_vectors(&self, w: &Wave, buf: Buf<f32>) -> Lanes<Vector> {
        let len = buf.len() as u32 / 3;
        let parts: [_; 3] = std::array::from_fn(|axis| w.load_where(self.inside, buf, self.id + axis as u32 * len));
        let parts = w.join_all(parts).await;
        Lanes::from_fn(|lane| parts.map(|part| part[lane]))
    }

    fn store_vectors(&self, w: &Wave, buf: Buf<f32>, vectors: Lanes<Vector>) {
        let len = buf.len() as u32 / 3;
        for axis in 0..3 {
            w.store_where(self.inside, buf, self.id + axis as u32 * len, vectors.map(|vector| vector[axis]));
        }
    }

    /// The nodes of elements.
    async fn nodes(&self, w: &Wave, topology: &Topology) -> [Lanes<u32>; CORNERS] {
        let at = |corner: usize| self.id + corner as u32 * topology.elements;
        w.alu(6 + CORNERS as u32).await;
        let loads: [_; CORNERS] =
            std::array::from_fn(|corner| w.load_where(self.inside, topology.element_nodes, at(corner)));
        w.join_all(loads).await
    }

    /// Vectors of the corners of elements.
    async fn gather(&self, w: &Wave, nodes: &[Lanes<u32>; CORNERS], buf: Buf<f32>) -> Lanes<Corners> {
        let len = buf.len() as u32 / 3;
        let mut corners: Lanes<Corners> = Lanes::splat([[0.0; 3]; CORNERS]);
        w.alu(3 * CORNERS as u32).await;
        for axis in 0..3 {
            let loads: [_; CORNERS] =
                std::array::from_fn(|corner| w.load_where(self.inside, buf, nodes[corner] + axis as u32 * len));
            for (corner, values) in w.join_all(loads).await.into_iter().enumerate() {
                corners.0.iter_mut().zip(values.0).for_each(|(corners, value)| corners[corner][axis] = value);
            }
        }
        corners
    }

    async fn store_corners(&self, w: &Wave, topology: &Topology, buf: Buf<f32>, forces: Lanes<Corners>) {
        w.alu(3 * CORNERS as u32).await;
        for (axis, corner) in (0..3).flat_map(|axis| (0..CORNERS).map(move |corner| (axis, corner))) {
            let at = self.id + (axis * CORNERS + corner) as u32 * topology.elements;
            w.store_where(self.inside, buf, at, forces.map(|forces| forces[corner][axis]));
        }
    }
}

async fn stress(w: Wave, b: Buffers) {
    let e = Items::of(&w, b.topology.elements);
    let nodes = e.nodes(&w, &b.topology).await;
    let places = e.gather(&w, &nodes, b.places).await;
    let [pressure, viscosity] = e.load(&w, [b.pressures, b.viscosities]).await;
    w.alu(320).await;
    let forces = Lanes::from_fn(|lane| physics::stress_forces(&places[lane], pressure[lane], viscosity[lane]));
    e.store_corners(&w, &b.topology, b.corner_forces, forces).await;
}

async fn hourglass(w: Wave, b: Buffers) {
    let e = Items::of(&w, b.topology.elements);
    let nodes = e.nodes(&w, &b.topology).await;
    let places = e.gather(&w, &nodes, b.places).await;
    let velocities = e.gather(&w, &nodes, b.velocities).await;
    let [initial, volume, sound] = e.load(&w, [b.initial, b.volumes, b.sounds]).await;
    w.alu(900).await;
    let forces = Lanes::from_fn(|lane| {
        let mass = initial[lane];
        physics::hourglass_forces(&places[lane], &velocities[lane], mass * volume[lane], sound[lane], mass)
    });
    e.store_corners(&w, &b.topology, b.corner_forces, forces).await;
}

/// Adds up the forces of the corners of nodes, and adds them to the forces in memory if `adding`.
async fn node_forces(w: Wave, b: Buffers, adding: bool) {
    let topology = b.topology;
    let n = Items::of(&w, topology.nodes);
    w.alu(6).await;
    let at = |slot: usize| n.id + slot as u32 * topology.nodes;
    let lists: [_; CORNERS] = std::array::from_fn(|slot| w.load_where(n.inside, topology.node_corners, at(slot)));
    let mut sum = Lanes::splat([0.0; 3]);
    for corner in w.join_all(lists).await {
        let there = n.inside & corner.where_(|corner| corner != NONE);
        w.alu(4).await;
        if !there.any() {
            continue;
        }
        let corner = corner.map(|corner| if corner == NONE { 0 } else { corner });
        let distance = CORNERS as u32 * topology.elements;
        let parts: [_; 3] =
            std::array::from_fn(|axis| w.load_where(there, b.corner_forces, corner + axis as u32 * distance));
        let parts = w.join_all(parts).await;
        let added = Lanes::from_fn(|lane| std::array::from_fn(|axis| sum[lane][axis] + parts[axis][lane]));
        sum = added.select(there, sum);
    }
    let before = if adding { n.load_vectors(&w, b.forces).await } else { Lanes::splat([0.0; 3]) };
    let total = before.zip(sum, |before: Vector, sum: Vector| std::array::from_fn(|axis| before[axis] + sum[axis]));
    n.store_vectors(&w, b.forces, total);
}

async fn acceleration(w: Wave, b: Buffers) {
    let n = Items::of(&w, b.topology.nodes);
    w.alu(6).await;
    let forces = n.load_vectors(&w, b.forces).await;
    let [mass] = n.load(&w, [b.node_masses]).await;
    w.alu(3 * 8).await;
    n.store_vectors(&w, b.accelerations, forces.zip(mass, |force, mass| force.map(|force| force / mass)));
}

/// Keeps nodes from moving through the planes of symmetry.
async fn boundary(w: Wave, b: Buffers) {
    let entry = Items::of(&w, 3 * b.topology.plane);
    w.alu(8).await;
    let node = w.load_where(entry.inside, b.topology.symmetry, entry.id).await;
    let at = node.zip(entry.id, |node, entry| node + entry / b.topology.plane * b.topology.nodes);
    w.store_where(entry.inside, b.accelerations, at, Lanes::splat(0.0));
}

async fn velocity(w: Wave, b: Buffers) {
    let n = Items::of(&w, b.topology.nodes);
    w.alu(6).await;
    let step = w.load_one(b.step, 0).await;
    let rates = n.load_vectors(&w, b.accelerations).await;
    let old = n.load_vectors(&w, b.velocities).await;
    w.alu(9).await;
    let new = old.zip(rates, |old: Vector, rate: Vector| {
        std::array::from_fn(|axis| physics::accelerate(old[axis], rate[axis], step))
    });
    n.store_vectors(&w, b.velocities, new);
}

async fn position(w: Wave, b: Buffers) {
    let n = Items::of(&w, b.topology.nodes);
    w.alu(6).await;
    let step = w.load_one(b.step, 0).await;
    let rates = n.load_vectors(&w, b.velocities).await;
    let old = n.load_vectors(&w, b.places).await;
    w.alu(3).await;
    let new = old.zip(rates, |old: Vector, rate: Vector| std::array::from_fn(|axis| old[axis] + rate[axis] * step));
    n.store_vectors(&w, b.places, new);
}

async fn kinematics(w: Wave, b: Buffers) {
    let e = Items::of(&w, b.topology.elements);
    let nodes = e.nodes(&w, &b.topology).await;
    let places = e.gather(&w, &nodes, b.places).await;
    let velocities = e.gather(&w, &nodes, b.velocities).await;
    let [initial] = e.load(&w, [b.initial]).await;
    w.alu(700).await;
    let found = Lanes::from_fn(|lane| physics::kinematics(&places[lane], &velocities[lane]));
    e.store(&w, b.new_volumes, found.zip(initial, |[volume, ..], initial| volume / initial));
    e.store(&w, b.lengths, found.map(|[_, length, _]| length));
    e.store(&w, b.rates, found.map(|[.., rate]| rate));
}

async fn gradients(w: Wave, b: Buffers) {
    let e = Items::of(&w, b.topology.elements);
    let nodes = e.nodes(&w, &b.topology).await;
    let places = e.gather(&w, &nodes, b.places).await;
    let velocities = e.gather(&w, &nodes, b.velocities).await;
    let [initial, volume] = e.load(&w, [b.initial, b.new_volumes]).await;
    w.alu(140).await;
    let found =
        Lanes::from_fn(|lane| physics::gradients(&places[lane], &velocities[lane], initial[lane] * volume[lane]));
    e.store_vectors(&w, b.changes, found.map(|[changes, _]| changes));
    e.store_vectors(&w, b.extents, found.map(|[_, lengths]| lengths));
}

async fn viscosity(w: Wave, b: Buffers) {
    let elements = b.topology.elements;
    let e = Items::of(&w, elements);
    w.alu(6 + NEIGHBOURS as u32).await;
    let here = e.load_vectors(&w, b.changes).await;
    let at = |side: usize| e.id + side as u32 * elements;
    let sides: [_; NEIGHBOURS] = std::array::from_fn(|side| w.load_where(e.inside, b.topology.neighbours, at(side)));
    let sides = w.join_all(sides).await;
    let beside: [_; NEIGHBOURS] =
        std::array::from_fn(|side| w.load_where(e.inside, b.changes, sides[side] + side as u32 / 2 * elements));
    let beside = w.join_all(beside).await;
    let extents = e.load_vectors(&w, b.extents).await;
    let [rate, initial, volume] = e.load(&w, [b.rates, b.initial, b.new_volumes]).await;
    w.alu(70).await;
    let parts = Lanes::from_fn(|lane| {
        let limits = std::array::from_fn(|axis| {
            physics::limiter([beside[2 * axis][lane], here[lane][axis], beside[2 * axis + 1][lane]])
        });
        let density = initial[lane] / (initial[lane] * volume[lane]);
        physics::viscosity(here[lane], extents[lane], limits, density, rate[lane])
    });
    w.store_where(e.inside, b.viscous, e.id, parts.map(|[linear, _]| linear));
    w.store_where(e.inside, b.viscous, e.id + elements, parts.map(|[_, quadratic]| quadratic));
}

async fn material(w: Wave, b: Buffers) {
    let elements = b.topology.elements;
    let e = Items::of(&w, elements);
    w.alu(6).await;
    let [old_volume, volume] = e.load(&w, [b.volumes, b.new_volumes]).await;
    let [energy, pressure, viscosity, sound] = e.load(&w, [b.energies, b.pressures, b.viscosities, b.sounds]).await;
    let (linear, quadratic) =
        w.join(w.load_where(e.inside, b.viscous, e.id), w.load_where(e.inside, b.viscous, e.id + elements)).await;
    w.alu(90).await;
    let new = Lanes::from_fn(|lane| {
        let old =
            Material { energy: energy[lane], pressure: pressure[lane], viscosity: viscosity[lane], sound: sound[lane] };
        physics::evaluate(old, volume[lane], volume[lane] - old_volume[lane], [linear[lane], quadratic[lane]])
    });
    e.store(&w, b.energies, new.map(|new| new.energy));
    e.store(&w, b.pressures, new.map(|new| new.pressure));
    e.store(&w, b.viscosities, new.map(|new| new.viscosity));
    e.store(&w, b.sounds, new.map(|new| new.sound));
}

async fn volume(w: Wave, b: Buffers) {
    let e = Items::of(&w, b.topology.elements);
    w.alu(4).await;
    let [new] = e.load(&w, [b.new_volumes]).await;
    w.alu(3).await;
    e.store(&w, b.volumes, new.map(physics::settle));
}

/// Finds the longest step that the elements of a work-group allow.
async fn constraints(w: Wave, b: Buffers) {
    let e = Items::of(&w, b.topology.elements);
    w.alu(6).await;
    let [sound, length, rate] = e.load(&w, [b.sounds, b.lengths, b.rates]).await;
    w.alu(24 + 10).await;
    let steps = e.inside.iter().map(|lane| physics::element_step(sound[lane], length[lane], rate[lane]));
    let least = Lanes::splat(steps.fold(f32::INFINITY, f32::min));
    w.lds_write(Mask::lane(0), Lanes::splat(w.id().wave), least);
    w.barrier().await;
    if w.id().wave == 0 {
        let both: [f32; WAVES_PER_GROUP as usize] = w.lds_read_vector(0);
        w.alu(1).await;
        w.store_one(b.allowed, w.work_group(), both[0].min(both[1]));
    }
}

/// Computes the next time step, in a single wavefront.
async fn time_step(w: Wave, b: Buffers) {
    let groups = b.topology.element_groups();
    let mut allowed = f32::INFINITY;
    for first in (0..groups).step_by(LANES) {
        let at = w.lane_ids() + first;
        w.alu(4).await;
        let steps = w.load_where(at.below(groups), b.allowed, at).await;
        allowed = at.below(groups).iter().map(|lane| steps[lane]).fold(allowed, f32::min);
    }
    let last = w.load_one(b.step, 0).await;
    w.alu(12).await;
    w.store_one(b.step, 0, physics::next_step(last, allowed));
}

/// The elements or nodes of a chiplet in each of `parts` parts, of `len` elements or nodes each.
fn own(len: u32, parts: usize) -> impl Fn(Share) -> Vec<Range<usize>> + Copy {
    move |share| {
        let Range { start, end } = scaled(share.groups(), ITEMS);
        let end = end.min(len as usize);
        (0..parts).map(|part| part * len as usize).map(|first| first + start..first + end).collect()
    }
}

fn launch<F: Future<Output = ()> + 'static>(
    name: &'static str,
    len: u32,
    b: Buffers,
    body: impl Fn(Wave, Buffers) -> F + Send + Sync + 'static,
) -> Kernel {
    Kernel::new(name, len.div_ceil(ITEMS), WAVES_PER_GROUP, move |w| body(w, b))
}

/// Declares that a kernel reads a chiplet's own elements of some buffers, in each part of `len` elements.
fn reads_own(kernel: Kernel, len: u32, bufs: &[Buf<f32>]) -> Kernel {
    bufs.iter().fold(kernel, |kernel, &buf| kernel.access_parts(buf, Read, own(len, buf.len() / len as usize)))
}

/// Declares that a kernel writes a chiplet's own elements of some buffers, in each part of `len` elements.
fn writes_own(kernel: Kernel, len: u32, bufs: &[Buf<f32>]) -> Kernel {
    bufs.iter().fold(kernel, |kernel, &buf| kernel.access_parts(buf, ReadWrite, own(len, buf.len() / len as usize)))
}

/// The launches of a step.
pub fn step(b: Buffers) -> Vec<Kernel> {
    forces(b).into_iter().chain(motion(b)).chain(changes(b)).chain(materials(b)).collect()
}

/// The forces on the nodes.
fn forces(b: Buffers) -> [Kernel; 4] {
    let Topology { all, elements, nodes, .. } = b.topology;
    let sums = |name, adding| {
        let kernel = launch(name, nodes, b, move |w, b| node_forces(w, b, adding));
        writes_own(kernel.access(all, Read).access(b.corner_forces, Read), nodes, &[b.forces])
    };
    let stress = launch("stress", elements, b, stress).registers(64).access(all, Read).access(b.places, Read);
    let stress = reads_own(stress, elements, &[b.pressures, b.viscosities]);
    let hourglass = launch("hourglass", elements, b, hourglass).registers(96).access(all, Read);
    let hourglass = hourglass.access(b.places, Read).access(b.velocities, Read);
    let hourglass = reads_own(hourglass, elements, &[b.initial, b.volumes, b.sounds]);
    [
        writes_own(stress, elements, &[b.corner_forces]),
        sums("stress of nodes", false),
        writes_own(hourglass, elements, &[b.corner_forces]),
        sums("hourglass of nodes", true),
    ]
}

/// The motion of the nodes.
fn motion(b: Buffers) -> [Kernel; 4] {
    let Topology { all, nodes, plane, .. } = b.topology;
    let acceleration = reads_own(launch("acceleration", nodes, b, acceleration), nodes, &[b.forces, b.node_masses]);
    let velocity = reads_own(launch("velocity", nodes, b, velocity), nodes, &[b.accelerations]).access(b.step, Read);
    // A plane of symmetry is at rest along one axis, whose accelerations are adjacent.
    let stopped = move |share: Share| {
        let entries = share.elements(ITEMS, 3 * plane as usize);
        let axis = |entry: usize| entry as u32 / plane;
        if entries.is_empty() {
            Vec::new()
        } else {
            vec![scaled(axis(entries.start)..axis(entries.end - 1) + 1, nodes)]
        }
    };
    let position = reads_own(launch("position", nodes, b, position), nodes, &[b.velocities]).access(b.step, Read);
    [
        writes_own(acceleration, nodes, &[b.accelerations]),
        launch("boundary", 3 * plane, b, boundary).access(all, Read).access_parts(b.accelerations, ReadWrite, stopped),
        writes_own(velocity, nodes, &[b.velocities]),
        writes_own(position, nodes, &[b.places]),
    ]
}

/// The change of the elements with their nodes.
fn changes(b: Buffers) -> [Kernel; 3] {
    let Topology { all, elements, .. } = b.topology;
    let moved = |kernel: Kernel| kernel.access(all, Read).access(b.places, Read).access(b.velocities, Read);
    let kinematics = reads_own(moved(launch("kinematics", elements, b, kinematics)), elements, &[b.initial]);
    let gradients = moved(launch("gradients", elements, b, gradients));
    let gradients = reads_own(gradients, elements, &[b.initial, b.new_volumes]);
    let viscosity = launch("viscosity", elements, b, viscosity).access(all, Read).access(b.changes, Read);
    let viscosity = reads_own(viscosity, elements, &[b.extents, b.rates, b.initial, b.new_volumes]);
    [
        writes_own(kinematics.registers(96), elements, &[b.new_volumes, b.lengths, b.rates]),
        writes_own(gradients.registers(64), elements, &[b.changes, b.extents]),
        writes_own(viscosity.registers(32), elements, &[b.viscous]),
    ]
}

/// The material of the elements, and the next time step.
fn materials(b: Buffers) -> [Kernel; 4] {
    let elements = b.topology.elements;
    let material = launch("material", elements, b, material).registers(32);
    let material = reads_own(material, elements, &[b.volumes, b.new_volumes, b.viscous]);
    let volume = reads_own(launch("volume", elements, b, volume), elements, &[b.new_volumes]);
    let constraints = launch("constraints", elements, b, constraints).lds(WAVES_PER_GROUP * 4);
    let constraints = reads_own(constraints, elements, &[b.sounds, b.lengths, b.rates]);
    [
        writes_own(material, elements, &[b.energies, b.pressures, b.viscosities, b.sounds]),
        writes_own(volume, elements, &[b.volumes]),
        constraints.access_parts(b.allowed, ReadWrite, |share| vec![scaled(share.groups(), 1)]),
        Kernel::new("time step", 1, 1, move |w| time_step(w, b)).access(b.allowed, Read).access(b.step, ReadWrite),
    ]
}
