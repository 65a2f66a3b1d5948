//! `snap`: neutron transport by sweeps over discrete directions.
//!
//! Source: HMG paper (Ren et al., HPCA 2020), section VI, Table III (HPC_snap); SNAP, the proxy of PARTISN (Zerr and
//! Baker, LANL, 2013), swept as GPU versions do (Deakin et al., An improved parallelism scheme for deterministic
//! discrete ordinates transport, 2016): a kernel per diagonal plane of cells, in which all cells, energy groups and
//! angles are independent. The 32 angles of an octant are the lanes of a wavefront, and a work-group has four groups of
//! one cell. An inner iteration has the kernel `source` (scattering between groups), one `sweep` per diagonal plane,
//! and `flux`, which adds up the angles. All eight octants are swept side by side, each from its own corner: with
//! vacuum around, none waits for another.
//!
//! Sharing: a cell takes the flux through three faces from the cells before it and leaves its own in the same words for
//! the cells after it, which belong to the next kernel and mostly to other work-groups: read-write sharing at every
//! launch. Angular fluxes of the old and new time step are read and written once per sweep. With eight octants they
//! take nearly all of the memory. `flux` reads the fluxes that eight work-groups of the sweep wrote.
//!
//! Left out: moments beyond the first, the fix-up of negative fluxes, the precomputed denominators (they are computed),
//! outer iterations and the test for convergence; one time step is made. Single precision.
//!
//! Arithmetic of `sweep`: 10 instructions for coordinates and addresses, 3 fused multiply-adds and 8 for the division
//! of the denominator, 5 for the flux and 4 for the fluxes that leave. `source`: 8, and 3 per group. `flux`: 6, 2 per
//! octant and 10 for the sum of the lanes.

use chorus_kernel::{Buf, HostMemory, Kernel, LANES, Lanes, Mask, Wave};

use crate::generator::SplitMix64;
use crate::lane_sum::lane_sum;
use crate::program::{HostProgram, Output};
use crate::registry::{Paper, Suite, Workload};
use crate::size::{SizeSpec, Sizes};

const WAVES_PER_GROUP: u32 = 4;
const REGISTERS_PER_ITEM: u32 = 24;
const OCTANTS: u32 = 8;
const AXES: usize = 3;
/// The number of angles of an octant.
const ANGLES: u32 = LANES as u32;
/// The number of bits of a coordinate in the list of a plane.
const COORDINATE_BITS: u32 = 10;
/// The term that a time step adds to the denominator.
const TIME: f32 = 0.5;

pub(crate) struct Snap;

/// Angular fluxes take 3.1 MB at quick scale and 226 MB at paper scale, face fluxes 0.7 MB and 14 MB. A cell takes 16
/// line accesses per group, octant and sweep: 0.4 million in all at quick scale, 1.5 million at medium scale and 28
/// million at paper scale. The paper's 3.44 GB would take 200 million for one sweep.
static SIZES: [SizeSpec; 5] = [
    SizeSpec::new("cells_x", "cells of the grid along x", [8, 12, 24], FOOTPRINT).range(1, 512),
    SizeSpec::new("cells_y", "cells of the grid along y", [8, 12, 24], FOOTPRINT).range(1, 512),
    SizeSpec::new("cells_z", "cells of the grid along z", [6, 10, 24], FOOTPRINT).range(1, 512),
    SizeSpec::new("groups", "energy groups", [4, 4, 8], FOOTPRINT).range(4, 64).multiple_of(4),
    SizeSpec::new("iterations", "inner iterations of a time step", [2, 2, 2], "chosen: few, for time").range(1, 100),
];
const FOOTPRINT: &str = "chosen: 240 MB of the 3.44 GB in Table III of the HMG paper, for time";

/// The grid of cells.
#[derive(Clone, Copy)]
struct Grid {
    cells: [u32; AXES],
    groups: u32,
}

impl Grid {
    fn of(sizes: &Sizes) -> Grid {
        Grid { cells: ["cells_x", "cells_y", "cells_z"].map(|key| sizes.get(key)), groups: sizes.get("groups") }
    }

    /// Words of the angular fluxes before and after the time step, of the fluxes through faces, and of four values per
    /// cell and group.
    fn words(&self) -> u64 {
        let [x, y, z] = self.cells.map(u64::from);
        let per_group = u64::from(OCTANTS * ANGLES) * (2 * x * y * z + x * y + x * z + y * z) + 4 * x * y * z;
        per_group * u64::from(self.groups)
    }

    fn all_cells(&self) -> u32 {
        self.cells.iter().product()
    }

    /// The number of diagonal planes of a sweep.
    fn planes(&self) -> u32 {
        self.cells.iter().sum::<u32>() - 2
    }

    /// The cells of a plane, by their distance from the corner where an octant begins.
    fn plane(&self, number: u32) -> Vec<[u32; AXES]> {
        let [x, y, z] = self.cells;
        let rows = (0..z).flat_map(|k| (0..y).map(move |j| (j, k)));
        rows.filter_map(|(j, k)| Some([number.checked_sub(j + k)?, j, k])).filter(|[i, ..]| *i < x).collect()
    }

    /// The cell at a distance from the corner of an octant.
    fn cell(&self, octant: u32, distance: [u32; AXES]) -> [u32; AXES] {
        std::array::from_fn(|axis| {
            let last = self.cells[axis] - 1;
            let distance = distance[axis].min(last);
            if octant >> axis & 1 == 0 { distance } else { last - distance }
        })
    }

    /// The number of a cell and group.
    fn element(&self, [i, j, k]: [u32; AXES], group: u32) -> u32 {
        ((k * self.cells[1] + j) * self.cells[0] + i) * self.groups + group
    }

    /// The beginning of the angular flux of an octant at a cell and group.
    fn angular(&self, octant: u32, element: u32) -> u32 {
        (octant * self.all_cells() * self.groups + element) * ANGLES
    }

    /// The beginning of the flux through the face of a cell across an axis.
    fn face(&self, octant: u32, axis: usize, cell: [u32; AXES], group: u32) -> u32 {
        let [first, second] = [[1, 2], [0, 2], [0, 1]][axis];
        let faces = self.cells[first] * self.cells[second];
        let face = cell[second] * self.cells[first] + cell[first];
        ((octant * faces + face) * self.groups + group) * ANGLES
    }

    /// Words of the fluxes through all faces across an axis.
    fn face_words(&self, axis: usize) -> usize {
        (OCTANTS * self.all_cells() / self.cells[axis] * self.groups * ANGLES) as usize
    }
}

#[derive(Clone, Copy)]
struct Data {
    grid: Grid,
    /// The direction of each angle along the three axes, over the widths of a cell, and the weight of the angle.
    directions: [Buf<f32>; AXES],
    weights: Buf<f32>,
    /// Per cell and group: total cross-section, source from outside, all sources, and scalar flux.
    total: Buf<f32>,
    external: Buf<f32>,
    source: Buf<f32>,
    flux: Buf<f32>,
    /// The part of group g' that scatters into group g is element g x groups + g'.
    scattering: Buf<f32>,
    /// Angular fluxes before and after the time step.
    before: Buf<f32>,
    after: Buf<f32>,
    faces: [Buf<f32>; AXES],
}

/// The mean flux of a cell in one direction.
fn centre_flux(source: f32, total: f32, before: f32, directions: [f32; AXES], incoming: [f32; AXES]) -> f32 {
    let denominator = total + TIME + directions[0] + directions[1] + directions[2];
    let gained: f32 = source + TIME * before;
    let gained = gained + directions[0] * incoming[0] + directions[1] * incoming[1] + directions[2] * incoming[2];
    gained * (1.0 / denominator)
}

/// The flux that leaves a cell, from the mean flux and the flux that enters.
fn outgoing(centre: f32, incoming: f32) -> f32 {
    2.0 * centre - incoming
}

/// Adds up all sources of a cell and group: the external source, and scattering from all groups.
async fn source(w: Wave, data: Data) {
    let groups = data.grid.groups;
    let elements = data.grid.all_cells() * groups;
    let element = w.global_ids();
    let mask = element.below(elements);
    let group = element % groups;
    w.alu(8).await;
    let mut sum = w.load_where(mask, data.external, element).await;
    for from in 0..groups {
        let (flux, part) = w
            .join(
                w.load_where(mask, data.flux, element - group + from),
                w.load_where(mask, data.scattering, group * groups + from),
            )
            .await;
        w.alu(3).await;
        sum = sum + flux * part;
    }
    w.store_where(mask, data.source, element, sum);
}

/// Sweeps one cell and group of one octant on a diagonal plane.
async fn sweep(w: Wave, data: Data, plane: Buf<u32>) {
    let grid = data.grid;
    let quads = grid.groups / WAVES_PER_GROUP;
    let (task, group) = (w.work_group() / quads, w.work_group() % quads * WAVES_PER_GROUP + w.id().wave);
    let (octant, number) = (task / plane.len() as u32, task % plane.len() as u32);
    let packed = w.load_one(plane, number).await;
    let distance = std::array::from_fn(|axis| packed >> (axis as u32 * COORDINATE_BITS) & ((1 << COORDINATE_BITS) - 1));
    let cell = grid.cell(octant, distance);
    let element = grid.element(cell, group);
    let angular = w.lane_ids() + grid.angular(octant, element);
    w.alu(10).await;
    // Nothing enters from outside.
    let entered = distance.map(|distance| if distance > 0 { Mask::ALL } else { Mask::NONE });
    let face = |axis: usize| w.lane_ids() + grid.face(octant, axis, cell, group);
    let directions = w.join_all(data.directions.map(|direction| w.load(direction, w.lane_ids()))).await;
    let [source, total, before, x, y, z] = w
        .join_all([
            w.load_where(Mask::lane(0), data.source, Lanes::splat(element)),
            w.load_where(Mask::lane(0), data.total, Lanes::splat(element)),
            w.load(data.before, angular),
            w.load_where(entered[0], data.faces[0], face(0)),
            w.load_where(entered[1], data.faces[1], face(1)),
            w.load_where(entered[2], data.faces[2], face(2)),
        ])
        .await;
    w.alu(20).await;
    let incoming = [x, y, z];
    let centre = Lanes::from_fn(|lane| {
        let (directions, incoming) = (directions.map(|each| each[lane]), incoming.map(|each| each[lane]));
        centre_flux(source[0], total[0], before[lane], directions, incoming)
    });
    w.store(data.after, angular, centre.zip(before, outgoing));
    for (axis, incoming) in incoming.into_iter().enumerate() {
        w.store(data.faces[axis], face(axis), centre.zip(incoming, outgoing));
    }
}

/// Computes the scalar flux of a cell and group: the means of old and new angular fluxes, weighted and added up.
async fn flux(w: Wave, data: Data) {
    let element = w.work_group() * WAVES_PER_GROUP + w.id().wave;
    w.alu(6).await;
    let weight = w.load(data.weights, w.lane_ids()).await;
    let mut sum = Lanes::splat(0.0);
    for octant in 0..OCTANTS {
        let at = w.lane_ids() + data.grid.angular(octant, element);
        let (before, after) = w.join(w.load(data.before, at), w.load(data.after, at)).await;
        w.alu(2).await;
        sum = sum + weight * (before + after);
    }
    w.alu(10).await;
    w.store_one(data.flux, element, lane_sum(sum.0));
}

/// The grid with all fluxes on the host.
struct Reference {
    grid: Grid,
    directions: [Vec<f32>; AXES],
    weights: Vec<f32>,
    total: Vec<f32>,
    external: Vec<f32>,
    source: Vec<f32>,
    flux: Vec<f32>,
    scattering: Vec<f32>,
    before: Vec<f32>,
    after: Vec<f32>,
    faces: [Vec<f32>; AXES],
}

impl Reference {
    fn new(grid: Grid, seed: u64) -> Reference {
        let groups = grid.groups;
        let elements = (grid.all_cells() * groups) as usize;
        let mut generator = SplitMix64::new(seed);
        let mut draw =
            |count: usize, low, high| -> Vec<f32> { (0..count).map(|_| generator.between_f32(low, high)).collect() };
        let angular = elements * (OCTANTS * ANGLES) as usize;
        Reference {
            grid,
            directions: std::array::from_fn(|_| draw(ANGLES as usize, 0.1, 1.0)),
            // Weights are halved, since the mean of old and new flux is half of their sum.
            weights: vec![0.5 / (OCTANTS * ANGLES) as f32; ANGLES as usize],
            total: draw(elements, 1.0, 2.0),
            external: draw(elements, 0.0, 1.0),
            source: vec![0.0; elements],
            flux: draw(elements, 0.0, 0.1),
            scattering: draw((groups * groups) as usize, 0.0, 1.0 / groups as f32),
            before: draw(angular, 0.0, 0.2),
            after: vec![0.0; angular],
            faces: std::array::from_fn(|axis| vec![0.0; grid.face_words(axis)]),
        }
    }

    /// Makes one inner iteration.
    fn iterate(&mut self) {
        let groups = self.grid.groups as usize;
        for element in 0..self.source.len() {
            let (cell, group) = (element - element % groups, element % groups);
            self.source[element] = (0..groups).fold(self.external[element], |sum, from| {
                sum + self.flux[cell + from] * self.scattering[group * groups + from]
            });
        }
        for plane in 0..self.grid.planes() {
            for distance in self.grid.plane(plane) {
                for octant in 0..OCTANTS {
                    (0..self.grid.groups).for_each(|group| self.sweep(octant, distance, group));
                }
            }
        }
        for element in 0..self.flux.len() {
            let sum = std::array::from_fn(|lane| {
                (0..OCTANTS).fold(0.0, |sum, octant| {
                    let at = self.grid.angular(octant, element as u32) as usize + lane;
                    sum + self.weights[lane] * (self.before[at] + self.after[at])
                })
            });
            self.flux[element] = lane_sum(sum);
        }
    }

    fn sweep(&mut self, octant: u32, distance: [u32; AXES], group: u32) {
        let cell = self.grid.cell(octant, distance);
        let element = self.grid.element(cell, group);
        for lane in 0..LANES {
            let at = self.grid.angular(octant, element) as usize + lane;
            let face: [usize; AXES] =
                std::array::from_fn(|axis| self.grid.face(octant, axis, cell, group) as usize + lane);
            let incoming =
                std::array::from_fn(|axis| if distance[axis] > 0 { self.faces[axis][face[axis]] } else { 0.0 });
            let directions = std::array::from_fn(|axis| self.directions[axis][lane]);
            let (source, total) = (self.source[element as usize], self.total[element as usize]);
            let centre = centre_flux(source, total, self.before[at], directions, incoming);
            self.after[at] = outgoing(centre, self.before[at]);
            for axis in 0..AXES {
                self.faces[axis][face[axis]] = outgoing(centre, incoming[axis]);
            }
        }
    }
}

impl Data {
    fn new(reference: &Reference, memory: &mut HostMemory) -> Data {
        Data {
            grid: reference.grid,
            directions: std::array::from_fn(|axis| memory.alloc_from(&reference.directions[axis])),
            weights: memory.alloc_from(&reference.weights),
            total: memory.alloc_from(&reference.total),
            external: memory.alloc_from(&reference.external),
            source: memory.alloc(reference.source.len()),
            flux: memory.alloc_from(&reference.flux),
            scattering: memory.alloc_from(&reference.scattering),
            before: memory.alloc_from(&reference.before),
            after: memory.alloc(reference.after.len()),
            faces: std::array::from_fn(|axis| memory.alloc(reference.faces[axis].len())),
        }
    }
}

/// The kernels of one inner iteration.
fn push_iteration(kernels: &mut Vec<Kernel>, data: Data, planes: &[Buf<u32>]) {
    let elements = data.grid.all_cells() * data.grid.groups;
    let source_groups = elements.div_ceil(WAVES_PER_GROUP * LANES as u32);
    kernels.push(Kernel::new("source", source_groups, WAVES_PER_GROUP, move |w| source(w, data)));
    for &plane in planes {
        let work_groups = OCTANTS * plane.len() as u32 * data.grid.groups / WAVES_PER_GROUP;
        let sweep = Kernel::new("sweep", work_groups, WAVES_PER_GROUP, move |w| sweep(w, data, plane));
        kernels.push(sweep.registers(REGISTERS_PER_ITEM));
    }
    kernels.push(Kernel::new("flux", elements / WAVES_PER_GROUP, WAVES_PER_GROUP, move |w| flux(w, data)));
}

impl Workload for Snap {
    fn name(&self) -> &'static str {
        "snap"
    }

    fn title(&self) -> &'static str {
        "SNAP (neutron transport)"
    }

    fn summary(&self) -> &'static str {
        "Sweeps the fluxes of neutrons through a 3-D grid from eight corners, one kernel per diagonal plane of cells."
    }

    fn suite(&self) -> Suite {
        Suite::Hpc
    }

    fn papers(&self) -> &'static [Paper] {
        &[Paper::Hmg]
    }

    fn source(&self) -> &'static str {
        "Ren et al., HMG: Extending Cache Coherence Protocols Across Modern Hierarchical Multi-GPU Systems, HPCA 2020, \
         section VI, Table III (snap); SNAP (Zerr and Baker, LANL, 2013)"
    }

    fn sizes(&self) -> &'static [SizeSpec] {
        &SIZES
    }

    fn misfit(&self, sizes: &Sizes) -> Option<String> {
        let grid = Grid::of(sizes);
        sizes.too_large(grid.words(), &["cells_x", "cells_y", "cells_z", "groups"])
    }

    fn build(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
        let mut reference = Reference::new(Grid::of(sizes), seed);
        let data = Data::new(&reference, memory);
        let pack = |[i, j, k]: [u32; AXES]| i | j << COORDINATE_BITS | k << (2 * COORDINATE_BITS);
        let planes: Vec<Buf<u32>> = (0..data.grid.planes())
            .map(|number| memory.alloc_from(&data.grid.plane(number).into_iter().map(pack).collect::<Vec<u32>>()))
            .collect();
        let mut kernels = Vec::new();
        for _ in 0..sizes.get("iterations") {
            push_iteration(&mut kernels, data, &planes);
            reference.iterate();
        }
        let mut outputs = vec![
            Output::new("angular flux", data.after, &reference.after),
            Output::new("scalar flux", data.flux, &reference.flux),
            Output::new("source", data.source, &reference.source),
        ];
        for (buf, faces) in data.faces.into_iter().zip(&reference.faces) {
            outputs.push(Output::new("face flux", buf, faces));
        }
        HostProgram::new(kernels, outputs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn planes_hold_every_cell_once_behind_those_that_it_takes_from() {
        for cells in [[8, 8, 6], [12, 12, 10], [1, 5, 1], [24, 24, 24]] {
            let grid = Grid { cells, groups: 4 };
            let all: Vec<[u32; AXES]> = (0..grid.planes()).flat_map(|number| grid.plane(number)).collect();
            assert_eq!(all.len() as u32, grid.all_cells(), "{cells:?}");
            for number in 0..grid.planes() {
                assert!(grid.plane(number).iter().all(|distance| distance.iter().sum::<u32>() == number), "{cells:?}");
            }
        }
    }

    #[test]
    fn groups_fill_whole_work_groups_and_coordinates_fit_their_bits() {
        let [x, y, z, groups, _] = &SIZES;
        assert_eq!(groups.multiple_of, u64::from(WAVES_PER_GROUP));
        assert!([x, y, z].iter().all(|cells| cells.max < 1 << COORDINATE_BITS));
    }

    #[test]
    fn words_are_counted_as_they_are_laid_out() {
        let grid = Grid { cells: [3, 4, 5], groups: 4 };
        let mut memory = HostMemory::default();
        let data = Data::new(&Reference::new(grid, 1), &mut memory);
        let per_element = [data.total, data.external, data.source, data.flux, data.before, data.after];
        let words: usize = per_element.into_iter().chain(data.faces).map(|buf| buf.len()).sum();
        assert_eq!(grid.words(), words as u64);
    }

    #[test]
    fn octants_begin_at_their_own_corners() {
        let grid = Grid { cells: [4, 5, 6], groups: 4 };
        assert_eq!(grid.cell(0, [0, 0, 0]), [0, 0, 0]);
        assert_eq!(grid.cell(5, [0, 1, 2]), [3, 1, 3]);
    }

    #[test]
    fn without_absorption_beyond_the_source_a_uniform_flux_stays() {
        // Source = total x flux, and the same flux everywhere else.
        let centre = centre_flux(3.0, 1.5, 2.0, [0.3, 0.4, 0.5], [2.0; AXES]);
        assert!((centre - 2.0).abs() < 1e-6);
        assert!((outgoing(centre, 2.0) - 2.0).abs() < 1e-6);
    }
}
