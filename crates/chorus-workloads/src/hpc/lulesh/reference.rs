//! A step of the whole mesh on the host.

use super::mesh::{CORNERS, Mesh, NONE};
use super::physics::{
    Corners, Material, Vector, accelerate, element_step, evaluate, gradients, hourglass_forces, kinematics, limiter,
    next_step, settle, stress_forces, viscosity,
};

/// All quantities that change in a step, and the masses.
#[derive(Clone, Debug)]
pub struct State {
    /// The places of the nodes.
    pub places: Vec<Vector>,
    /// The velocities of the nodes.
    pub velocities: Vec<Vector>,
    /// The masses of the nodes.
    pub node_masses: Vec<f32>,
    /// Volumes of the elements at the beginning, which are their masses too.
    pub initial: Vec<f32>,
    /// Volumes of the elements relative to their initial volumes.
    pub volumes: Vec<f32>,
    /// The materials of the elements.
    pub materials: Vec<Material>,
    /// The length of the next time step.
    pub step: f32,
}

impl State {
    fn corners(mesh: &Mesh, element: usize, values: &[Vector]) -> Corners {
        mesh.nodes_of(element).map(|node| values[node])
    }

    /// Adds the forces of all corners to those of their nodes, in the order of a node's list.
    fn add_forces(mesh: &Mesh, of_element: impl Fn(usize) -> Corners, forces: &mut [Vector]) {
        let (elements, nodes) = (mesh.elements() as usize, forces.len());
        let corners: Vec<Corners> = (0..elements).map(of_element).collect();
        for (node, force) in forces.iter_mut().enumerate() {
            let mut sum = [0.0; 3];
            for at in (0..CORNERS).map(|slot| mesh.node_corners[slot * nodes + node]).filter(|&at| at != NONE) {
                let corner = corners[at as usize % elements][at as usize / elements];
                sum.iter_mut().zip(corner).for_each(|(sum, part)| *sum += part);
            }
            force.iter_mut().zip(sum).for_each(|(force, sum)| *force += sum);
        }
    }

    /// The forces on all nodes.
    fn forces(&self, mesh: &Mesh) -> Vec<Vector> {
        let mut forces = vec![[0.0; 3]; self.places.len()];
        let stress = |element: usize| {
            let material = self.materials[element];
            stress_forces(&State::corners(mesh, element, &self.places), material.pressure, material.viscosity)
        };
        State::add_forces(mesh, stress, &mut forces);
        let hourglass = |element: usize| {
            let [places, velocities] = [&self.places, &self.velocities].map(|of| State::corners(mesh, element, of));
            let volume = self.initial[element] * self.volumes[element];
            hourglass_forces(&places, &velocities, volume, self.materials[element].sound, self.initial[element])
        };
        State::add_forces(mesh, hourglass, &mut forces);
        forces
    }

    /// Makes one time step.
    pub fn advance(&mut self, mesh: &Mesh) {
        let mut accelerations = self.forces(mesh);
        for (acceleration, mass) in accelerations.iter_mut().zip(&self.node_masses) {
            *acceleration = acceleration.map(|force| force / mass);
        }
        for (axis, nodes) in mesh.symmetry.chunks_exact(mesh.plane() as usize).enumerate() {
            nodes.iter().for_each(|&node| accelerations[node as usize][axis] = 0.0);
        }
        for (node, acceleration) in accelerations.into_iter().enumerate() {
            for (axis, acceleration) in acceleration.into_iter().enumerate() {
                let velocity = &mut self.velocities[node][axis];
                *velocity = accelerate(*velocity, acceleration, self.step);
                self.places[node][axis] += *velocity * self.step;
            }
        }
        self.change_elements(mesh);
    }

    fn change_elements(&mut self, mesh: &Mesh) {
        let elements = mesh.elements() as usize;
        let at = |element: usize| [&self.places, &self.velocities].map(|of| State::corners(mesh, element, of));
        let moved: Vec<[f32; 3]> = (0..elements)
            .map(|element| {
                let [places, velocities] = at(element);
                let [volume, length, rate] = kinematics(&places, &velocities);
                [volume / self.initial[element], length, rate]
            })
            .collect();
        let slopes: Vec<[Vector; 2]> = (0..elements)
            .map(|element| {
                let [places, velocities] = at(element);
                gradients(&places, &velocities, self.initial[element] * moved[element][0])
            })
            .collect();
        let mut allowed = f32::INFINITY;
        for (element, &[volume, length, rate]) in moved.iter().enumerate() {
            let limits = std::array::from_fn(|axis| {
                let [before, behind] = [0, 1].map(|side| slopes[mesh.neighbour(element, 2 * axis + side)][0][axis]);
                limiter([before, slopes[element][0][axis], behind])
            });
            let density = self.initial[element] / (self.initial[element] * volume);
            let [changes, lengths] = slopes[element];
            let parts = viscosity(changes, lengths, limits, density, rate);
            let material = &mut self.materials[element];
            *material = evaluate(*material, volume, volume - self.volumes[element], parts);
            self.volumes[element] = settle(volume);
            allowed = allowed.min(element_step(material.sound, length, rate));
        }
        self.step = next_step(self.step, allowed);
    }
}
