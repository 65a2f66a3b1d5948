//! `pennant`: shock hydrodynamics on an unstructured mesh of polygons.
//!
//! Source: CPElide paper (Dalmia, Kumar, Sinclair), Table II (Pennant, `noh.pnt`); PENNANT (Ferenbaugh, Concurrency
//! and Computation: Practice and Experience 2015): Lagrangian hydrodynamics on a staggered grid. Points have places
//! and velocities, zones have mass and energy, and a zone's sides and corners carry forces between them. The problem
//! is Noh's: cold gas falls towards the origin of a quarter of a disc, and a shock travels outwards.
//!
//! A cycle is five kernels, as in PENNANT's version for GPUs, and one for the time step:
//! - Points advance half a step.
//! - Sides compute areas, gas, forces and corners.
//! - Points gather the corners around them, along a list, and move.
//! - Sides compute the work of their forces and the new areas.
//! - Zones take the work as energy, and work-groups reduce the time steps that zones allow.
//! - One wavefront computes the next time step.
//!
//! Reuse: the maps between sides, zones and points are only read, in four of six kernels. Forces stay with the chiplet
//! that has their sides. Sides gather the points around them through the maps. Both are numbered ring by ring, so a
//! chiplet gathers mostly points that it has moved itself; the others lie at the borders of its part and at the origin,
//! which every sector shares.
//!
//! Left out: the force that keeps zones in shape (TTS), Campbell's form of the viscosity, for which there is a simpler
//! one along the edges, and the predictor of the pressure at half a step. PENNANT computes in double precision.

mod hydro;
mod kernels;
mod mesh;

use chorus_kernel::HostMemory;

use self::hydro::{FIRST_STEP, State, Vector};
use self::kernels::{Buffers, Counts, Topology, cycle};
use self::mesh::Mesh;
use crate::generator::SplitMix64;
use crate::program::{HostProgram, Output};
use crate::registry::{Paper, Suite, Workload};
use crate::size::{SizeSpec, Sizes};

pub(crate) struct Pennant;

/// The mesh takes 6 MB at paper scale and 0.4 MB at quick scale, which has a sixteenth of the zones and takes 0.24
/// million line accesses. Medium scale has four times the zones of quick scale.
static SIZES: [SizeSpec; 3] = [
    SizeSpec::new("sectors", "zones in a ring of the mesh", [48, 96, 200], UNPRINTED).range(4, 4096),
    SizeSpec::new("rings", "rings of zones", [40, 80, 160], UNPRINTED).range(2, 4096),
    SizeSpec::new("steps", "cycles of six kernels, a time step each", [6, 6, 20], "chosen: few, for time")
        .range(1, 100),
];
const UNPRINTED: &str = "chosen: the CPElide paper does not print the mesh of `noh.pnt`";

/// Cold gas of density 1 that falls towards the origin. The seed draws the energy of each zone.
fn draw(mesh: &Mesh, seed: u64) -> State {
    let mut generator = SplitMix64::new(seed);
    let inwards = |&[x, y]: &Vector| {
        let radius = (x * x + y * y).sqrt();
        if radius > 0.0 { [-x / radius, -y / radius] } else { [0.0; 2] }
    };
    let area = |zone: u32| {
        let edge = |side: usize| mesh.side_points[side].map(|point| mesh.places[point as usize]);
        mesh.sides_of(zone).map(|side| hydro::side_area(edge(side), [0.0; 2])).fold(0.0, |sum, area| sum + area)
    };
    State {
        places: mesh.places.clone(),
        velocities: mesh.places.iter().map(inwards).collect(),
        masses: (0..mesh.zones()).map(area).collect(),
        energies: (0..mesh.zones()).map(|_| generator.between_f32(0.01, 0.02)).collect(),
        step: FIRST_STEP,
    }
}

/// The words of vectors in the order of memory: all first components, then all second ones.
fn flat(vectors: &[Vector]) -> Vec<f32> {
    (0..2).flat_map(|axis| vectors.iter().map(move |vector| vector[axis])).collect()
}

impl Workload for Pennant {
    fn name(&self) -> &'static str {
        "pennant"
    }

    fn title(&self) -> &'static str {
        "PENNANT"
    }

    fn summary(&self) -> &'static str {
        "Computes a shock on an unstructured mesh; sides, zones and points gather from each other through maps."
    }

    fn suite(&self) -> Suite {
        Suite::Hpc
    }

    fn papers(&self) -> &'static [Paper] {
        &[Paper::CpElide]
    }

    fn source(&self) -> &'static str {
        "Dalmia et al., CPElide: Efficient Multi-Chiplet GPU Implicit Synchronization, MICRO 2024, Table II (Pennant); \
         Ferenbaugh, PENNANT: an unstructured mesh mini-app for advanced architecture research, 2015"
    }

    fn sizes(&self) -> &'static [SizeSpec] {
        &SIZES
    }

    fn build(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
        let (mesh, cycles) = (Mesh::pie(sizes.get("sectors"), sizes.get("rings")), sizes.get("steps"));
        let mut state = draw(&mesh, seed);
        let counts = Counts::of(&mesh);
        let topology = Topology::of(&mesh, memory.alloc_from(&Topology::words(&mesh)));
        let [points, sides, zones] = [mesh.points(), mesh.sides(), mesh.zones()].map(|count| count as usize);
        let buffers = Buffers {
            topology,
            places: memory.alloc_from(&flat(&state.places)),
            halfway: memory.alloc(2 * points),
            velocities: memory.alloc_from(&flat(&state.velocities)),
            old_velocities: memory.alloc(2 * points),
            forces: memory.alloc(2 * sides),
            corners: memory.alloc(3 * sides),
            masses: memory.alloc_from(&state.masses),
            energies: memory.alloc_from(&state.energies),
            sounds: memory.alloc(zones),
            works: memory.alloc(zones),
            areas: memory.alloc(zones),
            allowed: memory.alloc(counts.zone_groups() as usize),
            step: memory.alloc_from(&[state.step]),
        };
        let kernels = (0..cycles).flat_map(|_| cycle(&counts, buffers)).collect();
        (0..cycles).for_each(|_| state.advance(&mesh));
        let outputs = vec![
            Output::new("places", buffers.places, &flat(&state.places)),
            Output::new("velocities", buffers.velocities, &flat(&state.velocities)),
            Output::new("energies", buffers.energies, &state.energies),
            Output::new("time step", buffers.step, &[state.step]),
        ];
        HostProgram::new(kernels, outputs)
    }
}
