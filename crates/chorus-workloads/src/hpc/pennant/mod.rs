//! `pennant`: shock hydrodynamics on an unstructured mesh of polygons.
//!
//! Source: CPElide paper (Dalmia, Kumar, Sinclair), Table II (Pennant, `noh.pnt`); PENNANT (Ferenbaugh, Concurrency
//! and Computation: Practice and Experience 2015): Lagrangian hydrodynamics on a staggered grid. Points have places
//! and velocities, zones have mass and energy, and a zone's sides and corners carry forces between them. The problem
//! is Noh's: cold gas falls towards the origin of a quarter of a disc, and a shock travels outwards.
//!
//! A cycle is five kernels, as in PENNANT's version for GPUs, and one for the time step: points advance half a step;
//! sides compute areas, gas, forces and corners; points gather the corners around them, along a list, and move; sides
//! compute the work of their forces and the new areas; zones take it as energy, and the time step that they allow is
//! reduced.
//!
//! Reuse: the maps between sides, zones and points are only read, in four of six kernels; forces stay with the chiplet
//! that has their sides. Points are gathered by the sides around them through the maps: since both are numbered ring by
//! ring, mostly by the chiplet that moved them, and beyond that at the borders of its part and at the origin, which
//! every sector shares.
//!
//! Left out: the force that keeps zones in shape (TTS), Campbell's form of the viscosity, for which there is a simpler
//! one along the edges, and the predictor of the pressure at half a step. PENNANT computes in double precision.
//!
//! Sizes: 200 x 160 zones at paper scale (the mesh of `noh.pnt` is not printed), 6 MB, in 20 cycles; 48 x 40 at quick
//! scale, a sixteenth, 0.4 MB and 0.24 million line accesses in 6 cycles; four times as many zones at medium scale.

mod hydro;
mod kernels;
mod mesh;

use chorus_sim::frontend::HostMemory;
use chorus_system::Scale;

use self::hydro::{FIRST_STEP, State, Vector};
use self::kernels::{Buffers, Counts, Topology, cycle};
use self::mesh::Mesh;
use crate::generator::SplitMix64;
use crate::program::{HostProgram, Output};
use crate::registry::{Paper, Suite, Workload};
use crate::size::Sizes;

/// PENNANT.
pub struct Pennant;

/// Sectors, rings and cycles.
fn size(scale: Scale) -> [u32; 3] {
    match scale {
        Scale::Quick => [48, 40, 6],
        Scale::Medium => [96, 80, 6],
        Scale::Paper => [200, 160, 20],
    }
}

/// Cold gas of density 1 that falls towards the origin, each zone as warm as the seed says.
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

/// As vectors lie in memory.
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

    fn build(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
        let [sectors, rings, cycles] = size(sizes.scale());
        let mesh = Mesh::pie(sectors, rings);
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
