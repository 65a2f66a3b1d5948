//! `lulesh`: shock hydrodynamics on a mesh of hexahedra.
//!
//! Source: CPElide paper (Dalmia, Kumar, Sinclair), Table II (Lulesh, `1.0e-2 10`); LULESH (Karlin et al., LULESH 2.0
//! Updates and Changes, LLNL-TR-641973, 2013), Sedov's blast in a corner of a cube. Nodes have places and velocities,
//! elements have volume, energy and pressure, and each finds the others through lists.
//!
//! A step is 15 kernels, as in LULESH's version for GPUs:
//! - the stress of the elements, which leaves a force at each of their corners, and the sum of these forces at each
//!   node;
//! - hourglass control of the elements, and its sum at each node;
//! - acceleration, the planes of symmetry, velocity and place of the nodes;
//! - the kinematics of the elements, their gradients of velocity, the viscosity, which compares the gradients with
//!   those of the neighbours, and the material;
//! - volumes;
//! - the time steps that the elements allow, and the least of them.
//!
//! Reuse: the lists are only read, in eight kernels. Elements gather places and velocities in four kernels after the
//! one that wrote them, and nodes gather forces of corners. As nodes and elements are numbered alike, plane by plane,
//! most of this data stays with a chiplet; only the borders of its part do not.
//!
//! Left out: regions of several materials, LULESH's cut-offs other than those of velocity and volume, and strain rates
//! that nothing depends on; the rate at which a volume grows is computed from its derivatives. Elements are warm from
//! the beginning, as the seed says, so that everything moves. LULESH computes in double precision.

mod kernels;
mod mesh;
mod physics;
mod reference;

use chorus_kernel::HostMemory;

use self::kernels::{Buffers, Topology, step};
use self::mesh::{CORNERS, Mesh};
use self::physics::{Material, Vector, pressure, volume};
use self::reference::State;
use crate::generator::SplitMix64;
use crate::program::{HostProgram, Output};
use crate::registry::{Paper, Suite, Workload};
use crate::size::{SizeSpec, Sizes};

/// The energy of the blast.
const BLAST: f32 = 3.948_746e7;

pub(crate) struct Lulesh;

/// The mesh of paper scale takes 24 MB. The mesh of quick scale has a twenty-second of its elements and takes 1.3 MB,
/// with 0.45 million line accesses. Medium scale has four times the elements of quick scale.
static SIZES: [SizeSpec; 2] = [
    SizeSpec::new(
        "side",
        "elements along each side of the cube",
        [16, 25, 45],
        "LULESH 2.0: the size that it takes if none is given",
    )
    .range(2, 200),
    SizeSpec::new(
        "steps",
        "time steps of 15 kernels each",
        [3, 3, 10],
        "CPElide paper, Table II: `1.0e-2 10`, whose second number is read as the steps",
    )
    .range(1, 100),
];

/// A cube at rest, with a blast in its first element.
fn draw(mesh: &Mesh, seed: u64) -> State {
    let mut generator = SplitMix64::new(seed);
    let places = mesh.places();
    let elements = mesh.elements() as usize;
    let initial: Vec<f32> =
        (0..elements).map(|element| volume(&mesh.nodes_of(element).map(|node| places[node]))).collect();
    let mut node_masses = vec![0.0; places.len()];
    for (element, volume) in initial.iter().enumerate() {
        mesh.nodes_of(element).into_iter().for_each(|node| node_masses[node] += volume / CORNERS as f32);
    }
    let material = |element: usize| {
        let energy = generator.between_f32(5.0e3, 1.0e4) + if element == 0 { BLAST } else { 0.0 };
        Material { energy, pressure: pressure(energy, 1.0), viscosity: 0.0, sound: energy.sqrt() }
    };
    let materials = (0..elements).map(material).collect();
    let step = 0.5 * initial[0].cbrt() / (2.0 * BLAST).sqrt();
    let velocities = vec![[0.0; 3]; places.len()];
    State { places, velocities, node_masses, volumes: vec![1.0; elements], initial, materials, step }
}

/// The words of vectors in the order of memory: all first components, then all second and all third.
fn flat(vectors: &[Vector]) -> Vec<f32> {
    (0..3).flat_map(|axis| vectors.iter().map(move |vector| vector[axis])).collect()
}

/// Lays the mesh and a state of it out in memory.
fn lay_out(mesh: &Mesh, state: &State, memory: &mut HostMemory) -> Buffers {
    let (elements, nodes) = (mesh.elements() as usize, mesh.nodes() as usize);
    let topology = Topology::of(mesh, memory.alloc_from(&Topology::words(mesh)));
    let of_materials = |pick: fn(&Material) -> f32| state.materials.iter().map(pick).collect::<Vec<f32>>();
    Buffers {
        topology,
        places: memory.alloc_from(&flat(&state.places)),
        velocities: memory.alloc_from(&flat(&state.velocities)),
        accelerations: memory.alloc(3 * nodes),
        forces: memory.alloc(3 * nodes),
        node_masses: memory.alloc_from(&state.node_masses),
        corner_forces: memory.alloc(3 * CORNERS * elements),
        initial: memory.alloc_from(&state.initial),
        volumes: memory.alloc_from(&state.volumes),
        new_volumes: memory.alloc(elements),
        lengths: memory.alloc(elements),
        rates: memory.alloc(elements),
        changes: memory.alloc(3 * elements),
        extents: memory.alloc(3 * elements),
        viscous: memory.alloc(2 * elements),
        energies: memory.alloc_from(&of_materials(|material| material.energy)),
        pressures: memory.alloc_from(&of_materials(|material| material.pressure)),
        viscosities: memory.alloc_from(&of_materials(|material| material.viscosity)),
        sounds: memory.alloc_from(&of_materials(|material| material.sound)),
        allowed: memory.alloc(topology.element_groups() as usize),
        step: memory.alloc_from(&[state.step]),
    }
}

impl Workload for Lulesh {
    fn name(&self) -> &'static str {
        "lulesh"
    }

    fn title(&self) -> &'static str {
        "LULESH"
    }

    fn summary(&self) -> &'static str {
        "Computes a blast on a mesh of hexahedra; elements and nodes gather from each other through lists."
    }

    fn suite(&self) -> Suite {
        Suite::Hpc
    }

    fn papers(&self) -> &'static [Paper] {
        &[Paper::CpElide]
    }

    fn source(&self) -> &'static str {
        "Dalmia et al., CPElide: Efficient Multi-Chiplet GPU Implicit Synchronization, MICRO 2024, Table II (Lulesh); \
         Karlin et al., LULESH 2.0 Updates and Changes, LLNL-TR-641973, 2013"
    }

    fn sizes(&self) -> &'static [SizeSpec] {
        &SIZES
    }

    fn build(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
        let (mesh, steps) = (Mesh::cube(sizes.get("side")), sizes.get("steps"));
        let mut state = draw(&mesh, seed);
        let buffers = lay_out(&mesh, &state, memory);
        let kernels = (0..steps).flat_map(|_| step(buffers)).collect();
        (0..steps).for_each(|_| state.advance(&mesh));
        let of_materials = |pick: fn(&Material) -> f32| state.materials.iter().map(pick).collect::<Vec<f32>>();
        let outputs = vec![
            Output::new("places", buffers.places, &flat(&state.places)),
            Output::new("velocities", buffers.velocities, &flat(&state.velocities)),
            Output::new("volumes", buffers.volumes, &state.volumes),
            Output::new("energies", buffers.energies, &of_materials(|material| material.energy)),
            Output::new("pressures", buffers.pressures, &of_materials(|material| material.pressure)),
            Output::new("viscosities", buffers.viscosities, &of_materials(|material| material.viscosity)),
            Output::new("time step", buffers.step, &[state.step]),
        ];
        HostProgram::new(kernels, outputs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blast_moves_what_is_around_it_and_cools() {
        let mesh = Mesh::cube(5);
        let mut state = draw(&mesh, 1);
        let (energy, places) = (state.materials[0].energy, state.places.clone());
        (0..3).for_each(|_| state.advance(&mesh));
        assert!(state.materials[0].energy < energy && state.volumes[0] > 1.0);
        let corner = mesh.nodes_of(0)[6];
        assert!((0..3).all(|axis| state.places[corner][axis] > places[corner][axis]));
        assert_eq!(state.places[0], [0.0; 3]);
        assert!(state.materials.iter().all(|material| material.energy.is_finite()));
    }
}
