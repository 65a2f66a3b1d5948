//! The physics of an element, after LULESH (Karlin et al.: LULESH 2.0 Updates and Changes, 2013; Hydrodynamics
//! Challenge Problem, LLNL-TR-490254).
//!
//! Kernels and host call the same functions.

use super::mesh::CORNERS;

/// A place or a vector in three dimensions.
pub type Vector = [f32; 3];
/// One per corner of an element.
pub type Corners = [Vector; CORNERS];

/// Coefficients of hourglass control and of the linear and quadratic viscosity.
const HOURGLASS: f32 = 3.0;
const VISCOSITY: [f32; 2] = [0.5, 2.0 / 3.0];
const ENERGY_MIN: f32 = -1.0e15;
const SOUND_MIN: f32 = 0.111_111_1e-18;
const TINY: f32 = 1.0e-20;
const VELOCITY_CUT: f32 = 1.0e-7;
const VOLUME_CUT: f32 = 1.0e-10;
/// The largest relative change of a volume in a step.
const CHANGE_MAX: f32 = 0.1;

/// The corners of the faces, so that normals point outwards.
const FACES: [[usize; 4]; 6] = [[0, 1, 2, 3], [0, 4, 5, 1], [1, 5, 6, 2], [2, 6, 7, 3], [3, 7, 4, 0], [4, 7, 6, 5]];

/// For each corner, the corners that the derivative of the volume by its place depends on.
const AROUND: [[usize; 6]; CORNERS] = [
    [1, 2, 3, 4, 5, 7],
    [2, 3, 0, 5, 6, 4],
    [3, 0, 1, 6, 7, 5],
    [0, 1, 2, 7, 4, 6],
    [7, 6, 5, 0, 3, 1],
    [4, 7, 6, 1, 0, 2],
    [5, 4, 7, 2, 1, 3],
    [6, 5, 4, 3, 2, 0],
];

/// The modes in which the corners of an element can move without changing its volume.
const MODES: [[f32; CORNERS]; 4] = [
    [1.0, 1.0, -1.0, -1.0, -1.0, -1.0, 1.0, 1.0],
    [1.0, -1.0, -1.0, 1.0, -1.0, 1.0, 1.0, -1.0],
    [1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0, -1.0],
    [-1.0, 1.0, -1.0, 1.0, 1.0, -1.0, 1.0, -1.0],
];

fn dot(a: Vector, b: Vector) -> f32 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn cross(a: Vector, b: Vector) -> Vector {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

/// The difference between the sums of four corners and of four others, times a factor.
fn difference(values: &Corners, plus: [usize; 4], minus: [usize; 4], factor: f32) -> Vector {
    std::array::from_fn(|axis| {
        let sum = |four: [usize; 4]| four.iter().fold(0.0, |sum, &corner| sum + values[corner][axis]);
        factor * (sum(plus) - sum(minus))
    })
}

/// The forces of the stress in an element on its corners.
pub fn stress_forces(places: &Corners, pressure: f32, viscosity: f32) -> Corners {
    let total = pressure + viscosity;
    let mut forces = [[0.0; 3]; CORNERS];
    for [a, b, c, d] in FACES {
        let bisect = |p: [usize; 2], m: [usize; 2]| -> Vector {
            std::array::from_fn(|axis| {
                0.5 * (places[p[0]][axis] + places[p[1]][axis] - places[m[0]][axis] - places[m[1]][axis])
            })
        };
        let normal = cross(bisect([d, c], [b, a]), bisect([c, b], [d, a]));
        for corner in [a, b, c, d] {
            for (force, area) in forces[corner].iter_mut().zip(normal) {
                *force += total * (0.25 * area);
            }
        }
    }
    forces
}

/// The derivatives of the volume by the places of the corners.
fn volume_derivatives(places: &Corners) -> Corners {
    std::array::from_fn(|corner| {
        let around = AROUND[corner].map(|other| places[other]);
        std::array::from_fn(|axis| {
            let (y, z) = ((axis + 1) % 3, (axis + 2) % 3);
            let term = |a: [usize; 2], b: [usize; 2]| {
                (around[a[0]][y] + around[a[1]][y]) * (around[b[0]][z] + around[b[1]][z])
            };
            let first = term([1, 2], [0, 1]) - term([0, 1], [1, 2]) + term([0, 4], [3, 4]);
            (first - term([3, 4], [0, 4]) - term([2, 5], [3, 5]) + term([3, 5], [2, 5])) / 12.0
        })
    })
}

/// The volume of an element.
pub fn volume(places: &Corners) -> f32 {
    let derivatives = volume_derivatives(places);
    (0..CORNERS).fold(0.0, |sum, corner| sum + dot(places[corner], derivatives[corner])) / 3.0
}

/// The forces that keep an element from moving in its modes.
pub fn hourglass_forces(places: &Corners, velocities: &Corners, volume: f32, sound: f32, mass: f32) -> Corners {
    let derivatives = volume_derivatives(places);
    let coefficient = -HOURGLASS * 0.01 * sound * mass / volume.cbrt();
    let mut forces = [[0.0; 3]; CORNERS];
    for mode in MODES {
        let moments: Vector =
            std::array::from_fn(|axis| (0..CORNERS).fold(0.0, |sum, corner| sum + places[corner][axis] * mode[corner]));
        let weights: [f32; CORNERS] =
            std::array::from_fn(|corner| mode[corner] - dot(derivatives[corner], moments) / volume);
        for axis in 0..3 {
            let speed = (0..CORNERS).fold(0.0, |sum, corner| sum + weights[corner] * velocities[corner][axis]);
            for (force, weight) in forces.iter_mut().zip(weights) {
                force[axis] += coefficient * weight * speed;
            }
        }
    }
    forces
}

/// The velocity of a node after a step.
pub fn accelerate(velocity: f32, acceleration: f32, step: f32) -> f32 {
    let new = velocity + acceleration * step;
    if new.abs() < VELOCITY_CUT { 0.0 } else { new }
}

/// The motion of an element: its volume, its characteristic length, and the rate at which its volume grows.
pub fn kinematics(places: &Corners, velocities: &Corners) -> [f32; 3] {
    let derivatives = volume_derivatives(places);
    let volume = volume(places);
    let mut largest = 0.0_f32;
    for [a, b, c, d] in FACES {
        let diagonal = |to: usize, from: usize, axis: usize| places[to][axis] - places[from][axis];
        let along: Vector = std::array::from_fn(|axis| diagonal(c, a, axis) - diagonal(d, b, axis));
        let against: Vector = std::array::from_fn(|axis| diagonal(c, a, axis) + diagonal(d, b, axis));
        let area = dot(along, along) * dot(against, against) - dot(along, against) * dot(along, against);
        largest = largest.max(area);
    }
    let rate = (0..CORNERS).fold(0.0, |sum, corner| sum + dot(derivatives[corner], velocities[corner])) / volume;
    [volume, 4.0 * volume / largest.sqrt(), rate]
}

/// The gradients of velocity along the three directions of an element, and its lengths in them.
pub fn gradients(places: &Corners, velocities: &Corners, volume: f32) -> [Vector; 2] {
    let i = |values: &Corners| difference(values, [1, 2, 6, 5], [0, 3, 7, 4], 0.25);
    let j = |values: &Corners| difference(values, [3, 2, 6, 7], [0, 1, 5, 4], 0.25);
    let k = |values: &Corners| difference(values, [4, 5, 6, 7], [0, 1, 2, 3], 0.25);
    let [axes, speeds] = [places, velocities].map(|values| [i(values), j(values), k(values)]);
    let (mut changes, mut lengths) = ([0.0; 3], [0.0; 3]);
    for axis in 0..3 {
        let area = cross(axes[(axis + 1) % 3], axes[(axis + 2) % 3]);
        let norm = 1.0 / (dot(area, area) + TINY).sqrt();
        lengths[axis] = volume * norm;
        changes[axis] = norm * dot(area, speeds[axis]);
    }
    [changes, lengths]
}

/// The limiter of the viscosity along a direction, from the gradients before, here and behind.
pub fn limiter([before, here, behind]: [f32; 3]) -> f32 {
    let norm = 1.0 / (here + TINY);
    let (before, behind) = (before * norm, behind * norm);
    (0.5 * (before + behind)).min(2.0 * before).min(2.0 * behind).clamp(0.0, 1.0)
}

/// The linear and the quadratic part of the viscosity.
pub fn viscosity(changes: Vector, lengths: Vector, limits: Vector, density: f32, rate: f32) -> [f32; 2] {
    if rate > 0.0 {
        return [0.0; 2];
    }
    let (mut linear, mut quadratic) = (0.0, 0.0);
    for axis in 0..3 {
        let closing = (changes[axis] * lengths[axis]).min(0.0);
        linear += closing * (1.0 - limits[axis]);
        quadratic += closing * closing * (1.0 - limits[axis] * limits[axis]);
    }
    [-VISCOSITY[0] * density * linear, VISCOSITY[1] * density * quadratic]
}

/// Energy, pressure, viscosity and speed of sound of an element.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Material {
    /// Energy per initial volume.
    pub energy: f32,
    pub pressure: f32,
    /// The artificial viscosity, which has the unit of a pressure.
    pub viscosity: f32,
    /// The speed of sound.
    pub sound: f32,
}

/// The pressure of an energy in a relative volume, after LULESH's ideal gas.
pub fn pressure(energy: f32, volume: f32) -> f32 {
    2.0 / 3.0 / volume * energy
}

fn sound(energy: f32, pressure: f32, volume: f32) -> f32 {
    let squared = 2.0 / 3.0 * energy + volume * volume * (2.0 / 3.0 / volume) * pressure;
    if squared <= SOUND_MIN { SOUND_MIN.sqrt() } else { squared.sqrt() }
}

/// The material after its relative volume has changed by `change` to `volume`: three approximations of the energy.
pub fn evaluate(old: Material, volume: f32, change: f32, [linear, quadratic]: [f32; 2]) -> Material {
    let halfway = volume - 0.5 * change;
    let viscous = |energy: f32, pressure: f32, volume: f32| {
        if change > 0.0 { 0.0 } else { sound(energy, pressure, volume) * linear + quadratic }
    };
    let before = old.pressure + old.viscosity;
    let first = (old.energy - 0.5 * change * before).max(ENERGY_MIN);
    let half_pressure = pressure(first, halfway);
    let half = half_pressure + viscous(first, half_pressure, halfway);
    let second = (first + 0.5 * change * (3.0 * before - 4.0 * half)).max(ENERGY_MIN);
    let later_pressure = pressure(second, volume);
    let later = later_pressure + viscous(second, later_pressure, volume);
    let energy = (second - (7.0 * before - 8.0 * half + later) * change / 6.0).max(ENERGY_MIN);
    let pressure = pressure(energy, volume);
    Material { energy, pressure, viscosity: viscous(energy, pressure, volume), sound: sound(energy, pressure, volume) }
}

/// A relative volume, or 1 where it differs from 1 only by rounding.
pub fn settle(volume: f32) -> f32 {
    if (volume - 1.0).abs() < VOLUME_CUT { 1.0 } else { volume }
}

/// The longest step that an element allows: a signal may not cross it, nor its volume change much.
pub fn element_step(sound: f32, length: f32, rate: f32) -> f32 {
    let closing = if rate < 0.0 { 2.0 * length * rate } else { 0.0 };
    let courant = length / (sound * sound + closing * closing).sqrt();
    (0.5 * courant).min(CHANGE_MAX / (rate.abs() + TINY))
}

/// The next time step, from the last one and the longest step that all elements allow.
pub fn next_step(last: f32, allowed: f32) -> f32 {
    (1.1 * last).min(allowed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hpc::lulesh::mesh::Mesh;

    fn cube() -> Corners {
        let mesh = Mesh::cube(1);
        let places = mesh.places();
        mesh.nodes_of(0).map(|node| places[node].map(|coordinate| coordinate / 1.125))
    }

    #[test]
    fn a_unit_cube_has_unit_volume_and_length() {
        let [volume, length, rate] = kinematics(&cube(), &[[0.0; 3]; CORNERS]);
        assert!((volume - 1.0).abs() < 1e-6 && (length - 1.0).abs() < 1e-6 && rate == 0.0);
    }

    #[test]
    fn corners_that_move_outwards_make_the_volume_grow() {
        let places = cube();
        let [_, _, rate] = kinematics(&places, &places);
        assert!((rate - 3.0).abs() < 1e-5);
        let [changes, lengths] = gradients(&places, &places, 1.0);
        assert!(changes.iter().chain(&lengths).all(|value| (value - 1.0).abs() < 1e-5));
    }

    #[test]
    fn pressure_pushes_corners_outwards_and_adds_up_to_nothing() {
        let forces = stress_forces(&cube(), 4.0, 0.0);
        assert_eq!(forces[6], [1.0; 3]);
        assert_eq!(forces[0], [-1.0; 3]);
        assert!((0..3).all(|axis| forces.iter().map(|force| force[axis]).sum::<f32>() == 0.0));
    }

    #[test]
    fn hourglass_control_resists_modes_and_lets_an_element_travel() {
        let places = cube();
        let still = hourglass_forces(&places, &[[2.0; 3]; CORNERS], 1.0, 1.0, 1.0);
        assert!(still.iter().flatten().all(|force| force.abs() < 1e-6));
        let bent: Corners = std::array::from_fn(|corner| [MODES[2][corner], 0.0, 0.0]);
        let forces = hourglass_forces(&places, &bent, 1.0, 1.0, 1.0);
        assert!((0..CORNERS).all(|corner| forces[corner][0] * MODES[2][corner] < 0.0));
    }

    #[test]
    fn compression_heats_and_gradients_that_continue_are_not_damped() {
        let old = Material { energy: 3.0, pressure: pressure(3.0, 1.0), viscosity: 0.0, sound: 1.0 };
        let new = evaluate(old, 0.9, -0.1, [0.1, 0.1]);
        assert!(new.energy > old.energy && new.pressure > old.pressure && new.viscosity > 0.0);
        assert_eq!(limiter([1.0, 1.0, 1.0]), 1.0);
        assert_eq!(limiter([-1.0, 1.0, 1.0]), 0.0);
    }
}
