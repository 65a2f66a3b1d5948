//! The kernels of a cycle.
//!
//! Work-groups of sides have a chunk of whole zones, with a side per work-item; the sums over the sides of a zone go
//! through local data. Points and zones have a work-item each.
//!
//! Arithmetic: 6 instructions for indices and addresses of a gather; a centre takes 2 per side and axis and a
//! division, an area 5, a gas 20, a force 30, a corner 5; moving a point 14 and 4 per side around it; the work of a
//! side 10; a zone 18.

use std::ops::Range;
use std::sync::Arc;

use chorus_kernel::AccessMode::{Read, ReadWrite};
use chorus_kernel::{Buf, Kernel, LANES, Lanes, Mask, Share, Wave};

use super::hydro::{self, Vector};
use super::mesh::{Mesh, NONE, SIDES_PER_CHUNK};
use crate::shares::scaled;

const LANES_U32: u32 = LANES as u32;
const WAVES_PER_GROUP: u32 = SIDES_PER_CHUNK / LANES_U32;
/// The number of points or zones of a work-group.
const ITEMS: u32 = WAVES_PER_GROUP * LANES_U32;
/// The most sides that a zone has.
const SIDES_OF_ZONE_MAX: u32 = 4;
/// The number of quantities of a side that go through local data.
const LOCAL_QUANTITIES: u32 = 5;

/// The mesh in memory, where it takes one buffer.
#[derive(Clone, Copy)]
pub struct Topology {
    all: Buf<u32>,
    chunks: Buf<u32>,
    points: [Buf<u32>; 2],
    zone: Buf<u32>,
    zone_sides: Buf<u32>,
    first_side: Buf<u32>,
    next_side: Buf<u32>,
    fixed: Buf<u32>,
}

impl Topology {
    /// The words of a mesh in the order in which they lie in memory.
    pub fn words(mesh: &Mesh) -> Vec<u32> {
        let points = [0, 1].map(|end| mesh.side_points.iter().map(|points| points[end]).collect::<Vec<u32>>());
        let parts = [&mesh.chunks, &points[0], &points[1], &mesh.side_zone, &mesh.zone_sides];
        parts.into_iter().chain([&mesh.first_side, &mesh.next_side, &mesh.fixed]).flatten().copied().collect()
    }

    /// The parts of a buffer that holds those words.
    pub fn of(mesh: &Mesh, all: Buf<u32>) -> Topology {
        let mut first = 0;
        let mut part = |len: usize| {
            first += len;
            all.slice(first - len, len)
        };
        let sides = mesh.side_zone.len();
        Topology {
            all,
            chunks: part(mesh.chunks.len()),
            points: [part(sides), part(sides)],
            zone: part(sides),
            zone_sides: part(mesh.zone_sides.len()),
            first_side: part(mesh.places.len()),
            next_side: part(sides),
            fixed: part(mesh.places.len()),
        }
    }
}

/// All buffers of the kernels. Vectors have all first components, then all second ones.
#[derive(Clone, Copy)]
pub struct Buffers {
    /// The connections of zones, sides and points.
    pub topology: Topology,
    /// The places of the points.
    pub places: Buf<f32>,
    /// The places of the points halfway through the step.
    pub halfway: Buf<f32>,
    /// The velocities of the points.
    pub velocities: Buf<f32>,
    /// The velocities of the points before the step.
    pub old_velocities: Buf<f32>,
    /// The forces of the sides.
    pub forces: Buf<f32>,
    /// Forces and masses of the corners.
    pub corners: Buf<f32>,
    /// The masses of the zones.
    pub masses: Buf<f32>,
    /// The specific energies of the zones.
    pub energies: Buf<f32>,
    /// The speeds of sound in the zones.
    pub sounds: Buf<f32>,
    /// The work done on the zones.
    pub works: Buf<f32>,
    /// The areas of the zones.
    pub areas: Buf<f32>,
    /// The longest steps that work-groups of zones allow.
    pub allowed: Buf<f32>,
    /// The length of the next time step.
    pub step: Buf<f32>,
}

/// The numbers of points, sides and zones in the mesh, and the bounds of its chunks.
#[derive(Clone)]
pub struct Counts {
    points: u32,
    sides: u32,
    zones: u32,
    chunks: Arc<[u32]>,
    chunk_zones: Arc<[u32]>,
}

impl Counts {
    /// The numbers and chunks of a mesh.
    pub fn of(mesh: &Mesh) -> Counts {
        let zone = |&side: &u32| mesh.side_zone.get(side as usize).copied().unwrap_or(mesh.zones());
        Counts {
            points: mesh.points(),
            sides: mesh.sides(),
            zones: mesh.zones(),
            chunks: mesh.chunks.as_slice().into(),
            chunk_zones: mesh.chunks.iter().map(zone).collect(),
        }
    }

    /// The number of work-groups with one work-item per zone.
    pub fn zone_groups(&self) -> u32 {
        self.zones.div_ceil(ITEMS)
    }
}

/// A range, repeated in each of `count` parts of `len` elements.
fn repeated(range: Range<usize>, len: u32, count: usize) -> Vec<Range<usize>> {
    (0..count).map(|part| part * len as usize).map(|first| first + range.start..first + range.end).collect()
}

/// The elements of a chiplet with one work-item each.
fn items(share: Share, len: u32) -> Range<usize> {
    let Range { start, end } = scaled(share.groups(), ITEMS);
    start.min(len as usize)..end.min(len as usize)
}

/// A vector for each lane.
type Vectors = [Lanes<f32>; 2];

fn at(vectors: &Vectors, lane: usize) -> Vector {
    [vectors[0][lane], vectors[1][lane]]
}

async fn gather(w: &Wave, mask: Mask, buf: Buf<f32>, index: Lanes<u32>) -> Vectors {
    let second = buf.len() as u32 / 2;
    let (x, y) = w.join(w.load_where(mask, buf, index), w.load_where(mask, buf, index + second)).await;
    [x, y]
}

fn scatter(w: &Wave, mask: Mask, buf: Buf<f32>, index: Lanes<u32>, value: impl Fn(usize) -> Vector) {
    let values: Lanes<Vector> = Lanes::from_fn(value);
    for axis in 0..2 {
        w.store_where(mask, buf, index + axis as u32 * (buf.len() as u32 / 2), values.map(|value| value[axis]));
    }
}

/// The sides of a wavefront.
struct Sides {
    active: Mask,
    side: Lanes<u32>,
    points: [Lanes<u32>; 2],
    zone: Lanes<u32>,
    /// The first side of the zone within the chunk, and the number of its sides.
    first: Lanes<u32>,
    count: Lanes<u32>,
    /// The side before, within the chunk.
    before: Lanes<u32>,
}

impl Sides {
    async fn of(w: &Wave, topology: &Topology) -> Sides {
        w.alu(6).await;
        let bounds = w.load_where(Mask::first(2), topology.chunks, w.lane_ids() + w.work_group()).await;
        let side = w.local_ids() + bounds[0];
        let active = side.below(bounds[1]);
        let [p1, p2] = topology.points;
        let loads = [w.load_where(active, p1, side), w.load_where(active, p2, side)];
        let [one, two, zone] = {
            let [one, two] = loads;
            w.join_all([one, two, w.load_where(active, topology.zone, side)]).await
        };
        let sides = topology.zone_sides;
        let (start, end) = w.join(w.load_where(active, sides, zone), w.load_where(active, sides, zone + 1)).await;
        w.alu(6).await;
        let first = start.map(|start| start.wrapping_sub(bounds[0]));
        let count = end - start;
        let local = w.local_ids();
        let before = Lanes::from_fn(|lane| {
            if local[lane] == first[lane] {
                (first[lane] + count[lane]).wrapping_sub(1)
            } else {
                local[lane].wrapping_sub(1)
            }
        });
        Sides { active, side, points: [one, two], zone, first, count, before }
    }

    /// The lanes that store the quantities of a zone.
    fn leaders(&self, w: &Wave) -> Mask {
        let local = w.local_ids();
        self.active & Lanes::from_fn(|lane| local[lane] == self.first[lane]).where_(|first| first)
    }

    /// Hands a quantity of the sides to the work-group.
    fn put(&self, w: &Wave, quantity: u32, values: Lanes<f32>) {
        w.lds_write(self.active, w.local_ids() + quantity * SIDES_PER_CHUNK, values);
    }

    /// The sum of a quantity over the sides of the zone.
    async fn zone_sum(&self, w: &Wave, quantity: u32) -> Lanes<f32> {
        let mut sum = Lanes::splat(0.0);
        for index in 0..SIDES_OF_ZONE_MAX {
            let there = self.active & self.count.where_(|count| index < count);
            let from = self.first.map(|first| first.wrapping_add(index + quantity * SIDES_PER_CHUNK));
            let values: Lanes<f32> = w.lds_read(there, from);
            w.alu(2).await;
            sum = (sum + values).select(there, sum);
        }
        sum
    }

    fn of_before(&self, w: &Wave, quantity: u32) -> Lanes<f32> {
        w.lds_read(self.active, self.before.map(|before| before.wrapping_add(quantity * SIDES_PER_CHUNK)))
    }

    /// The centres of the zones of the sides, and their areas, which are handed over as the third quantity.
    async fn geometry(&self, w: &Wave, edge: &[Vectors; 2]) -> (Vectors, Lanes<f32>) {
        self.put(w, 0, edge[0][0]);
        self.put(w, 1, edge[0][1]);
        w.barrier().await;
        let mut centre = [self.zone_sum(w, 0).await, self.zone_sum(w, 1).await];
        for axis in &mut centre {
            *axis = axis.zip(self.count, |sum, count| sum / count as f32);
        }
        w.alu(2 * 8 + 5).await;
        let area = Lanes::from_fn(|lane| hydro::side_area([at(&edge[0], lane), at(&edge[1], lane)], at(&centre, lane)));
        self.put(w, 2, area);
        w.barrier().await;
        (centre, area)
    }
}

async fn half_step(w: Wave, points: u32, b: Buffers) {
    let point = w.global_ids();
    let inside = point.below(points);
    w.alu(6).await;
    let step = w.load_one(b.step, 0).await;
    let place = gather(&w, inside, b.places, point).await;
    let velocity = gather(&w, inside, b.velocities, point).await;
    w.alu(3).await;
    scatter(&w, inside, b.halfway, point, |lane| hydro::along(at(&place, lane), 0.5 * step, at(&velocity, lane)));
    scatter(&w, inside, b.old_velocities, point, |lane| at(&velocity, lane));
}

async fn side_forces(w: Wave, sides: u32, b: Buffers) {
    let s = Sides::of(&w, &b.topology).await;
    w.alu(12).await;
    let edge = [gather(&w, s.active, b.halfway, s.points[0]).await, gather(&w, s.active, b.halfway, s.points[1]).await];
    let speeds =
        [gather(&w, s.active, b.velocities, s.points[0]).await, gather(&w, s.active, b.velocities, s.points[1]).await];
    let state = w.join(w.load_where(s.active, b.masses, s.zone), w.load_where(s.active, b.energies, s.zone));
    let (centre, area) = s.geometry(&w, &edge).await;
    let (mass, energy) = state.await;
    let total = s.zone_sum(&w, 2).await;
    w.alu(20 + 30).await;
    let gas = Lanes::from_fn(|lane| hydro::gas(mass[lane], energy[lane], total[lane]));
    let force = Lanes::from_fn(|lane| {
        let [edge, speeds] = [&edge, &speeds].map(|pair| [at(&pair[0], lane), at(&pair[1], lane)]);
        hydro::side_force(&gas[lane], edge, speeds, at(&centre, lane))
    });
    s.put(&w, 3, force.map(|force| force[0]));
    s.put(&w, 4, force.map(|force| force[1]));
    w.barrier().await;
    let before = [s.of_before(&w, 3), s.of_before(&w, 4)];
    let area_before = s.of_before(&w, 2);
    w.alu(5 + 8).await;
    let corner = Lanes::from_fn(|lane| {
        hydro::corner(gas[lane].density, force[lane], at(&before, lane), [area[lane], area_before[lane]])
    });
    scatter(&w, s.active, b.forces, s.side, |lane| force[lane]);
    for part in 0..3 {
        w.store_where(s.active, b.corners, s.side + part as u32 * sides, corner.map(|corner| corner[part]));
    }
    w.store_where(s.leaders(&w), b.sounds, s.zone, gas.map(|gas| gas.sound));
}

async fn move_points(w: Wave, [points, sides]: [u32; 2], b: Buffers) {
    let point = w.global_ids();
    let inside = point.below(points);
    let topology = b.topology;
    w.alu(6).await;
    let step = w.load_one(b.step, 0).await;
    let (mut side, fixed) =
        w.join(w.load_where(inside, topology.first_side, point), w.load_where(inside, topology.fixed, point)).await;
    let mut total = [Lanes::splat(0.0); 3];
    loop {
        let there = inside & side.where_(|side| side != NONE);
        w.alu(2).await;
        if !there.any() {
            break;
        }
        let at = side.map(|side| if side == NONE { 0 } else { side });
        let next = w.load_where(there, topology.next_side, at);
        let parts = std::array::from_fn(|part| w.load_where(there, b.corners, at + part as u32 * sides));
        for (total, part) in total.iter_mut().zip(w.join_all::<f32, 3>(parts).await) {
            *total = (*total + part).select(there, *total);
        }
        w.alu(6).await;
        side = next.await.select(there, Lanes::splat(NONE));
    }
    let place = gather(&w, inside, b.places, point).await;
    let velocity = gather(&w, inside, b.velocities, point).await;
    w.alu(14).await;
    let moved = Lanes::from_fn(|lane| {
        let corners = total.map(|total| total[lane]);
        hydro::move_point(at(&place, lane), at(&velocity, lane), corners, fixed[lane], step)
    });
    scatter(&w, inside, b.places, point, |lane| moved[lane].0);
    scatter(&w, inside, b.velocities, point, |lane| moved[lane].1);
}

async fn side_works(w: Wave, b: Buffers) {
    let s = Sides::of(&w, &b.topology).await;
    w.alu(12).await;
    let step = w.load_one(b.step, 0).await;
    let [mut edge, mut old, mut new] = [[[Lanes::splat(0.0); 2]; 2]; 3];
    for end in 0..2 {
        edge[end] = gather(&w, s.active, b.places, s.points[end]).await;
        old[end] = gather(&w, s.active, b.old_velocities, s.points[end]).await;
        new[end] = gather(&w, s.active, b.velocities, s.points[end]).await;
    }
    let force = gather(&w, s.active, b.forces, s.side).await;
    w.alu(10).await;
    let work = Lanes::from_fn(|lane| {
        let [old, new] = [&old, &new].map(|pair| [at(&pair[0], lane), at(&pair[1], lane)]);
        hydro::side_work(at(&force, lane), old, new, step)
    });
    s.put(&w, 3, work);
    s.geometry(&w, &edge).await;
    let (area, work) = (s.zone_sum(&w, 2).await, s.zone_sum(&w, 3).await);
    let leaders = s.leaders(&w);
    w.alu(3).await;
    w.store_where(leaders, b.works, s.zone, work);
    w.store_where(leaders, b.areas, s.zone, area);
}

async fn zone_energies(w: Wave, zones: u32, b: Buffers) {
    let zone = w.global_ids();
    let inside = zone.below(zones);
    w.alu(6).await;
    let loads = [b.masses, b.energies, b.works, b.areas, b.sounds].map(|buf| w.load_where(inside, buf, zone));
    let [mass, energy, work, area, sound] = w.join_all(loads).await;
    w.alu(18).await;
    w.store_where(inside, b.energies, zone, Lanes::from_fn(|lane| energy[lane] + work[lane] / mass[lane]));
    let allowed = area.zip(sound, hydro::zone_step).select(inside, Lanes::splat(f32::INFINITY));
    w.lds_write(Mask::ALL, w.local_ids(), allowed);
    w.barrier().await;
    if w.id().wave == 0 {
        let mut least = f32::INFINITY;
        for wave in 0..WAVES_PER_GROUP {
            let values: Lanes<f32> = w.lds_read(Mask::ALL, w.lane_ids() + wave * LANES_U32);
            least = values.0.into_iter().fold(least, f32::min);
        }
        w.alu(WAVES_PER_GROUP + 10).await;
        w.store_one(b.allowed, w.work_group(), least);
    }
}

async fn time_step(w: Wave, groups: u32, b: Buffers) {
    let mut least = f32::INFINITY;
    for first in (0..groups).step_by(LANES) {
        let group = w.lane_ids() + first;
        let inside = group.below(groups);
        w.alu(4).await;
        let values = w.load_where(inside, b.allowed, group).await;
        least = inside.iter().map(|lane| values[lane]).fold(least, f32::min);
    }
    let last = w.load_one(b.step, 0).await;
    w.alu(12).await;
    w.store_one(b.step, 0, hydro::next_step(last, least));
}

/// The launches of a cycle.
pub fn cycle(counts: &Counts, b: Buffers) -> Vec<Kernel> {
    let [half, moves] = point_kernels(counts, b);
    let [forces, works] = side_kernels(counts, b);
    let [energies, step] = zone_kernels(counts, b);
    vec![half, forces, moves, works, energies, step]
}

fn point_kernels(counts: &Counts, b: Buffers) -> [Kernel; 2] {
    let Counts { points, sides, .. } = *counts;
    let own = move |share| repeated(items(share, points), points, 2);
    let groups = points.div_ceil(ITEMS);
    let half = Kernel::new("half step", groups, WAVES_PER_GROUP, move |w| half_step(w, points, b))
        .access(b.step, Read)
        .access_parts(b.places, Read, own)
        .access_parts(b.velocities, Read, own)
        .access_parts(b.halfway, ReadWrite, own)
        .access_parts(b.old_velocities, ReadWrite, own);
    let moves = Kernel::new("points", groups, WAVES_PER_GROUP, move |w| move_points(w, [points, sides], b))
        .registers(32)
        .access(b.topology.all, Read)
        .access(b.step, Read)
        .access(b.corners, Read)
        .access_parts(b.places, ReadWrite, own)
        .access_parts(b.velocities, ReadWrite, own);
    [half, moves]
}

fn side_kernels(counts: &Counts, b: Buffers) -> [Kernel; 2] {
    let Counts { sides, zones, .. } = *counts;
    let chunks = counts.chunks.len() as u32 - 1;
    let of_chunks = |bounds: &Arc<[u32]>, len: u32, parts: usize| {
        let bounds = Arc::clone(bounds);
        move |share: Share| {
            let Range { start, end } = share.groups();
            repeated(bounds[start as usize] as usize..bounds[end as usize] as usize, len, parts)
        }
    };
    let own = |parts| of_chunks(&counts.chunks, sides, parts);
    let own_zones = || of_chunks(&counts.chunk_zones, zones, 1);
    let forces = Kernel::new("side forces", chunks, WAVES_PER_GROUP, move |w| side_forces(w, sides, b))
        .registers(48)
        .lds(LOCAL_QUANTITIES * SIDES_PER_CHUNK * 4)
        .access(b.topology.all, Read)
        .access(b.halfway, Read)
        .access(b.velocities, Read)
        .access_parts(b.masses, Read, own_zones())
        .access_parts(b.energies, Read, own_zones())
        .access_parts(b.forces, ReadWrite, own(2))
        .access_parts(b.corners, ReadWrite, own(3))
        .access_parts(b.sounds, ReadWrite, own_zones());
    let works = Kernel::new("side works", chunks, WAVES_PER_GROUP, move |w| side_works(w, b))
        .registers(48)
        .lds(LOCAL_QUANTITIES * SIDES_PER_CHUNK * 4)
        .access(b.topology.all, Read)
        .access(b.step, Read)
        .access(b.places, Read)
        .access(b.velocities, Read)
        .access(b.old_velocities, Read)
        .access_parts(b.forces, Read, own(2))
        .access_parts(b.works, ReadWrite, own_zones())
        .access_parts(b.areas, ReadWrite, own_zones());
    [forces, works]
}

fn zone_kernels(counts: &Counts, b: Buffers) -> [Kernel; 2] {
    let (zones, groups) = (counts.zones, counts.zone_groups());
    let own = move |share| vec![items(share, zones)];
    let energies = Kernel::new("zones", groups, WAVES_PER_GROUP, move |w| zone_energies(w, zones, b))
        .lds(ITEMS * 4)
        .access_parts(b.masses, Read, own)
        .access_parts(b.works, Read, own)
        .access_parts(b.areas, Read, own)
        .access_parts(b.sounds, Read, own)
        .access_parts(b.energies, ReadWrite, own)
        .access_parts(b.allowed, ReadWrite, |share| vec![scaled(share.groups(), 1)]);
    let step = Kernel::new("time step", 1, 1, move |w| time_step(w, groups, b))
        .access(b.allowed, Read)
        .access(b.step, ReadWrite);
    [energies, step]
}
