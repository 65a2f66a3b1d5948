//! The physics of a side, a point and a zone, and a cycle of them on the host.
//!
//! Kernels and host call the same functions, and add in the same order: the sides of a zone, or those around a point,
//! one by one.

use super::mesh::{FIXED_X, FIXED_Y, Mesh, NONE};

/// The ratio of specific heats of an ideal gas.
const GAMMA: f32 = 5.0 / 3.0;
/// The linear and the quadratic coefficient of the artificial viscosity.
const VISCOSITY: [f32; 2] = [0.2, 1.0];
/// The part of a zone that a signal may cross in a cycle, and the largest factor between two time steps.
const COURANT: f32 = 0.3;
const GROWTH: f32 = 1.2;
/// The length of the first time step.
pub const FIRST_STEP: f32 = 5.0e-4;

/// A point or a vector in two dimensions.
pub type Vector = [f32; 2];

fn minus(a: Vector, b: Vector) -> Vector {
    [a[0] - b[0], a[1] - b[1]]
}

fn dot(a: Vector, b: Vector) -> f32 {
    a[0] * b[0] + a[1] * b[1]
}

/// The sum of a vector and a multiple of another, `a + factor b`.
pub fn along(a: Vector, factor: f32, b: Vector) -> Vector {
    [a[0] + factor * b[0], a[1] + factor * b[1]]
}

/// The area of a side between its edge and the centre of the zone.
pub fn side_area(edge: [Vector; 2], centre: Vector) -> f32 {
    let (a, b) = (minus(edge[1], edge[0]), minus(centre, edge[0]));
    0.5 * (a[0] * b[1] - a[1] * b[0])
}

/// The gas of a zone.
#[derive(Clone, Copy, Debug)]
pub struct Gas {
    /// The mass per area.
    pub density: f32,
    pressure: f32,
    /// The speed of sound.
    pub sound: f32,
}

/// The gas of some mass and specific energy in a zone of some area.
pub fn gas(mass: f32, energy: f32, area: f32) -> Gas {
    let density = mass / area;
    let pressure = (GAMMA - 1.0) * density * energy.max(0.0);
    Gas { density, pressure, sound: (GAMMA * pressure / density).sqrt() }
}

/// The force of pressure and viscosity across the line from the centre of the zone to the middle of the edge.
pub fn side_force(gas: &Gas, edge: [Vector; 2], velocities: [Vector; 2], centre: Vector) -> Vector {
    let (length, change) = (minus(edge[1], edge[0]), minus(velocities[1], velocities[0]));
    let closing = -dot(length, change) / dot(length, length).sqrt();
    let closing = if closing > 0.0 { closing } else { 0.0 };
    let viscous = gas.density * closing * (VISCOSITY[0] * gas.sound + VISCOSITY[1] * closing);
    let total = -(gas.pressure + viscous);
    let middle = [0.5 * (edge[0][0] + edge[1][0]), 0.5 * (edge[0][1] + edge[1][1])];
    let outwards = minus(middle, centre);
    [-total * outwards[1], total * outwards[0]]
}

/// Force and mass of the corner between a side and the one before it.
pub fn corner(density: f32, force: Vector, force_before: Vector, areas: [f32; 2]) -> [f32; 3] {
    let [x, y] = minus(force, force_before);
    [x, y, 0.5 * density * (areas[0] + areas[1])]
}

/// Place and velocity of a point after a time step, from the sum of its corners.
pub fn move_point(place: Vector, velocity: Vector, corners: [f32; 3], fixed: u32, step: f32) -> (Vector, Vector) {
    let mut new = along(velocity, step / corners[2], [corners[0], corners[1]]);
    if fixed & FIXED_X != 0 {
        new[0] = 0.0;
    }
    if fixed & FIXED_Y != 0 {
        new[1] = 0.0;
    }
    let mean = [0.5 * (velocity[0] + new[0]), 0.5 * (velocity[1] + new[1])];
    (along(place, step, mean), new)
}

/// The work that a side's force does on the zone, from the velocities of its points before and after the step.
pub fn side_work(force: Vector, old: [Vector; 2], new: [Vector; 2], step: f32) -> f32 {
    let sums = [0, 1].map(|end| [old[end][0] + new[end][0], old[end][1] + new[end][1]]);
    -0.5 * step * (dot(force, sums[0]) - dot(force, sums[1]))
}

/// The longest step that a zone allows.
pub fn zone_step(area: f32, sound: f32) -> f32 {
    COURANT * area.sqrt() / (sound + 1.0)
}

/// The next time step, from the last one and the longest step that all zones allow.
pub fn next_step(last: f32, allowed: f32) -> f32 {
    (GROWTH * last).min(allowed)
}

/// All quantities that change in a cycle, and the masses.
#[derive(Clone, Debug)]
pub struct State {
    /// The places of the points.
    pub places: Vec<Vector>,
    /// The velocities of the points.
    pub velocities: Vec<Vector>,
    /// The masses of the zones.
    pub masses: Vec<f32>,
    /// The specific energies of the zones.
    pub energies: Vec<f32>,
    /// The length of the next time step.
    pub step: f32,
}

/// The sum of values in their order.
fn sum(values: impl Iterator<Item = f32>) -> f32 {
    values.fold(0.0, |sum, value| sum + value)
}

impl State {
    /// The centre of a zone and the areas of its sides.
    fn geometry(mesh: &Mesh, zone: u32, places: &[Vector]) -> (Vector, Vec<f32>) {
        let sides = mesh.sides_of(zone);
        let first = |side: usize| places[mesh.side_points[side][0] as usize];
        let centre = [0, 1].map(|axis| sum(sides.clone().map(|side| first(side)[axis])) / sides.len() as f32);
        let edge = |side: usize| mesh.side_points[side].map(|point| places[point as usize]);
        (centre, sides.map(|side| side_area(edge(side), centre)).collect())
    }

    /// Advances the state by one cycle.
    pub fn advance(&mut self, mesh: &Mesh) {
        let old = self.velocities.clone();
        let halfway: Vec<Vector> =
            self.places.iter().zip(&old).map(|(&place, &velocity)| along(place, 0.5 * self.step, velocity)).collect();
        let sides = mesh.side_zone.len();
        let (mut forces, mut corners) = (vec![[0.0; 2]; sides], vec![[0.0; 3]; sides]);
        let mut sounds = Vec::new();
        for zone in 0..mesh.zones() {
            let (centre, areas) = State::geometry(mesh, zone, &halfway);
            let gas = gas(self.masses[zone as usize], self.energies[zone as usize], sum(areas.iter().copied()));
            sounds.push(gas.sound);
            let all = mesh.sides_of(zone);
            for side in all.clone() {
                let [edge, speeds] = [&halfway, &old].map(|at| mesh.side_points[side].map(|point| at[point as usize]));
                forces[side] = side_force(&gas, edge, speeds, centre);
            }
            for side in all.clone() {
                let before = if side == all.start { all.end - 1 } else { side - 1 };
                let both = [side, before].map(|side| areas[side - all.start]);
                corners[side] = corner(gas.density, forces[side], forces[before], both);
            }
        }
        for (point, &velocity) in old.iter().enumerate() {
            let mut total = [0.0; 3];
            let mut side = mesh.first_side[point];
            while side != NONE {
                total.iter_mut().zip(corners[side as usize]).for_each(|(total, part)| *total += part);
                side = mesh.next_side[side as usize];
            }
            (self.places[point], self.velocities[point]) =
                move_point(self.places[point], velocity, total, mesh.fixed[point], self.step);
        }
        self.work(mesh, &old, &forces, &sounds);
    }

    /// Computes the energies after a cycle, and the next time step.
    fn work(&mut self, mesh: &Mesh, old: &[Vector], forces: &[Vector], sounds: &[f32]) {
        let mut allowed = f32::INFINITY;
        for zone in 0..mesh.zones() {
            let (_, areas) = State::geometry(mesh, zone, &self.places);
            let work = |side: usize| {
                let [old, new] =
                    [old, &self.velocities].map(|at| mesh.side_points[side].map(|point| at[point as usize]));
                side_work(forces[side], old, new, self.step)
            };
            let work = sum(mesh.sides_of(zone).map(work));
            self.energies[zone as usize] += work / self.masses[zone as usize];
            allowed = allowed.min(zone_step(sum(areas.into_iter()), sounds[zone as usize]));
        }
        self.step = next_step(self.step, allowed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pressure_pushes_the_points_of_a_zone_apart() {
        let mesh = Mesh::pie(4, 3);
        let still = vec![[0.0; 2]; mesh.places.len()];
        let zones = mesh.zones() as usize;
        let mut state = State {
            places: mesh.places.clone(),
            velocities: still,
            masses: vec![0.05; zones],
            energies: vec![1.0; zones],
            step: FIRST_STEP,
        };
        state.advance(&mesh);
        let outermost = mesh.places.len() - 3;
        assert!(dot(state.velocities[outermost], mesh.places[outermost]) > 0.0);
        assert_eq!(state.places[0], [0.0; 2]);
        assert!(state.energies[zones - 1] < 1.0);
    }

    #[test]
    fn a_shrinking_disc_gets_warmer() {
        let mesh = Mesh::pie(8, 8);
        let inwards: Vec<Vector> = mesh.places.iter().map(|&[x, y]| [-x, -y]).collect();
        let zones = mesh.zones() as usize;
        let energies = vec![0.1; zones];
        let mut state = State {
            places: mesh.places.clone(),
            velocities: inwards,
            masses: vec![0.01; zones],
            energies,
            step: FIRST_STEP,
        };
        (0..5).for_each(|_| state.advance(&mesh));
        assert!(state.energies.iter().all(|&energy| energy > 0.1));
    }
}
