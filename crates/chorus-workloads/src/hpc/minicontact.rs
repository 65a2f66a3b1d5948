//! `minicontact`: a search for the faces of deforming sheets that touch each other.
//!
//! Source: HMG paper (Ren et al., HPCA 2020), section VI, Table III (HPC_MiniContact); miniContact of the Mantevo
//! suite, the contact search of solid mechanics codes, of which the paper gives no details. Here sheets of
//! quadrilateral faces approach each other in one step:
//! - `clear` empties the counters of all bins.
//! - `boxes` computes the bounding box of each face from its four nodes, in 16 bits per bound, and counts it in the bin
//!   of its centre.
//! - `scan` and `totals` turn counts into places.
//! - `scatter` copies boxes bin by bin.
//! - `search` tests 32 boxes at a time against the boxes of the bins around, row by row, and adds up the contacts of
//!   each.
//! - `move` moves the sheets on and pushes the nodes of faces in contact back.
//!
//! Sharing: counters of bins are added to from everywhere, atomically for the whole system. Sorting sends every box to
//! the memory of another work-group, a few words per line. `search` reads the sorted boxes of its own and adjacent rows
//! and layers of bins, and sends its results back to the faces. A node reads the results of its four faces.
//!
//! The order of boxes within a bin depends on the order of work-items. Results do not: they are a count, a minimum and
//! a sum of integers.
//!
//! Left out: the exact projection of nodes onto faces (boxes touch, and their overlap is the force), friction, and the
//! reuse of candidate lists over several steps.
//!
//! Arithmetic: `boxes` 24 instructions for minima and maxima, 20 for bounds and bin; `scan` 14; `totals` 14 per 32
//! blocks; `scatter` 6; `search` 20 per wavefront, 8 per row of bins, 4 per candidate, 6 more if any
//! lane's box meets it along z and 8 if any touches it; `move` 12.

use chorus_kernel::{Buf, HostMemory, Kernel, LANES, Lanes, Mask, Wave};
use chorus_protocol::access::{AtomicOp, Scope};

use crate::generator::SplitMix64;
use crate::program::{HostProgram, Output};
use crate::registry::{Paper, Suite, Workload};
use crate::size::{SizeSpec, Sizes};

const WAVES_PER_GROUP: u32 = 8;
const GROUP: u32 = WAVES_PER_GROUP * LANES as u32;
const REGISTERS_PER_ITEM: u32 = 32;

/// The distance of two sheets in units of the edge of a face, and the largest displacement of nodes from the lattice.
const SPACING: f32 = 0.6;
const JITTER: [f32; 3] = [0.2, 0.2, 0.3];
/// The distance at which faces touch.
const TOLERANCE: f32 = 0.05;
/// The way of a sheet in a step, by turns up and down, and the way of a node per unit of overlap.
const APPROACH: f32 = 0.05;
const PUSH: f32 = 1.0 / 4096.0;

/// Bounds are whole numbers of this many to an edge, counted from a margin before the first node.
const UNITS: f32 = 64.0;
const MARGIN: f32 = 1.0;
/// Bins are this wide, as powers of two, and no box is wider than twice the reach.
const BIN_BITS: [u32; 3] = [7, 7, 6];
const REACH: [u32; 3] = [52, 52, 40];

pub(crate) struct MiniContact;

/// All sheets, each of them a square of faces.
#[derive(Clone, Copy)]
struct Mesh {
    /// The number of faces along each side of a sheet.
    side: u32,
    sheets: u32,
}

/// There are 41 thousand faces at quick scale and 3.4 million at paper scale. A face takes about 60 bytes and a bin 8:
/// 2.6 MB at quick scale and 210 MB at paper scale, where the paper has 246 MB. A face takes about 8 line accesses: 0.3
/// million at quick scale and 29 million at paper scale. Medium scale has four times the faces of quick scale.
///
/// The largest sheets are those whose bounds fit 16 bits.
static SIZES: [SizeSpec; 2] = [
    SizeSpec::new("side", "faces along each side of a sheet", [64, 128, 512], FOOTPRINT).range(2, 1021),
    SizeSpec::new("sheets", "sheets on top of each other", [10, 10, 13], FOOTPRINT).range(2, 50),
];
const FOOTPRINT: &str = "chosen: 210 MB, near the 246 MB in Table III of the HMG paper";

/// A bounding box: lower and upper bound along each axis.
type Bounds = [[u32; 2]; 3];

impl Mesh {
    fn faces(&self) -> u32 {
        self.sheets * self.side * self.side
    }

    fn nodes(&self) -> u32 {
        self.sheets * (self.side + 1) * (self.side + 1)
    }

    fn sheet(&self, face: u32) -> u32 {
        face / (self.side * self.side)
    }

    /// The four nodes of a face.
    fn corners(&self, face: u32) -> [u32; 4] {
        let (x, y) = (face % self.side, face / self.side % self.side);
        let first = (self.sheet(face) * (self.side + 1) + y) * (self.side + 1) + x;
        [first, first + 1, first + self.side + 1, first + self.side + 2]
    }

    /// The faces that a node is part of; faces before it in x and y come first.
    fn faces_of(&self, node: u32) -> [Option<u32>; 4] {
        let line = self.side + 1;
        let (x, y, sheet) = (node % line, node / line % line, node / (line * line));
        std::array::from_fn(|corner| {
            let (x, y) = (x.checked_sub(1 - corner as u32 % 2)?, y.checked_sub(1 - corner as u32 / 2)?);
            (x < self.side && y < self.side).then(|| (sheet * self.side + y) * self.side + x)
        })
    }

    /// The number of bins along each axis.
    fn bins(&self) -> [u32; 3] {
        let last = |edges: f32, axis: usize| (((edges + 2.0 * MARGIN) * UNITS) as u32 >> BIN_BITS[axis]) + 1;
        [last(self.side as f32, 0), last(self.side as f32, 1), last(self.sheets as f32 * SPACING, 2)]
    }

    fn all_bins(&self) -> u32 {
        self.bins().iter().product()
    }

    /// The bin of the centre of a box.
    fn bin(&self, bounds: Bounds) -> u32 {
        let bins = self.bins();
        let at: [u32; 3] = std::array::from_fn(|axis| {
            (((bounds[axis][0] + bounds[axis][1]) / 2) >> BIN_BITS[axis]).min(bins[axis] - 1)
        });
        self.bin_at(at)
    }

    fn bin_at(&self, [x, y, z]: [u32; 3]) -> u32 {
        let bins = self.bins();
        (z * bins[1] + y) * bins[0] + x
    }

    /// The first and last bin along an axis in which a box that touches this one may be.
    fn around(&self, bounds: Bounds, axis: usize) -> [u32; 2] {
        let [low, high] = bounds[axis];
        let last = self.bins()[axis] - 1;
        [low.saturating_sub(REACH[axis]), high + REACH[axis]].map(|at| (at >> BIN_BITS[axis]).min(last))
    }
}

/// The bounds of four nodes along one axis.
fn bounds_of(nodes: [f32; 4]) -> [u32; 2] {
    let [a, b, c, d] = nodes;
    let (low, high) = (a.min(b).min(c.min(d)), a.max(b).max(c.max(d)));
    [low - TOLERANCE, high + TOLERANCE].map(|at| (((at + MARGIN) * UNITS) as u32).min(0xffff))
}

fn pack([low, high]: [u32; 2]) -> u32 {
    low | high << 16
}

fn unpack(word: u32) -> [u32; 2] {
    [word & 0xffff, word >> 16]
}

fn overlap(a: [u32; 2], b: [u32; 2]) -> bool {
    a[0] <= b[1] && b[0] <= a[1]
}

/// The effect of all boxes that touch a face: their number, the first of their faces, and a push along z.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Touched {
    contacts: u32,
    partner: u32,
    push: i32,
}

impl Touched {
    const NOWHERE: Touched = Touched { contacts: 0, partner: u32::MAX, push: 0 };

    /// Adds a box; `z` are bounds along z, of the own box first, and `above` says whether the own sheet is above.
    fn add(&mut self, partner: u32, z: [[u32; 2]; 2], above: bool) {
        let depth = (z[0][1].min(z[1][1]) + 1).wrapping_sub(z[0][0].max(z[1][0])) as i32;
        self.contacts += 1;
        self.partner = self.partner.min(partner);
        self.push = self.push.wrapping_add(if above { depth } else { depth.wrapping_neg() });
    }
}

/// A node along z after a step, with the pushes of its faces.
fn moved(z: f32, sheet: u32, pushes: [i32; 4]) -> f32 {
    let push = pushes.into_iter().fold(0_i32, i32::wrapping_add);
    let approach = if sheet.is_multiple_of(2) { APPROACH } else { -APPROACH };
    z + (approach + push as f32 * PUSH)
}

#[derive(Clone, Copy)]
struct Data {
    mesh: Mesh,
    nodes: [Buf<f32>; 3],
    /// Bounds along each axis, bin, and place within the bin of each face.
    boxes: [Buf<u32>; 3],
    bins: Buf<u32>,
    ranks: Buf<u32>,
    /// The number of faces and the beginning within its block for each bin; the number of faces and the beginning of
    /// each block.
    counts: Buf<u32>,
    starts: Buf<u32>,
    totals: Buf<u32>,
    offsets: Buf<u32>,
    /// Boxes and faces, bin by bin.
    sorted: [Buf<u32>; 3],
    faces: Buf<u32>,
    contacts: Buf<u32>,
    partners: Buf<u32>,
    pushes: Buf<i32>,
}

async fn clear(w: Wave, data: Data) {
    let bin = w.global_ids();
    w.alu(2).await;
    w.store_where(bin.below(data.mesh.all_bins()), data.counts, bin, Lanes::splat(0));
}

/// Computes the box of each face, its bin, and its place within the bin.
async fn boxes(w: Wave, data: Data) {
    let face = w.global_ids();
    let mask = face.below(data.mesh.faces());
    let corners = face.map(|face| data.mesh.corners(face));
    let mut bounds = Lanes::splat([[0; 2]; 3]);
    for axis in 0..3 {
        let loads = std::array::from_fn(|node| w.load_where(mask, data.nodes[axis], corners.map(|nodes| nodes[node])));
        let nodes: [Lanes<f32>; 4] = w.join_all(loads).await;
        for lane in 0..LANES {
            bounds.0[lane][axis] = bounds_of(nodes.map(|node| node[lane]));
        }
        w.store_where(mask, data.boxes[axis], face, bounds.map(|bounds| pack(bounds[axis])));
    }
    w.alu(44).await;
    let bin = bounds.map(|bounds| data.mesh.bin(bounds));
    let rank = w.atomic_in(Scope::System, AtomicOp::Add, mask, data.counts, bin, Lanes::splat(1)).await;
    w.store_where(mask, data.bins, face, bin);
    w.store_where(mask, data.ranks, face, rank);
}

/// The sums of all lanes before each.
fn before_each(values: Lanes<u32>) -> Lanes<u32> {
    let mut sum = 0_u32;
    values.map(|value| {
        let before = sum;
        sum = sum.wrapping_add(value);
        before
    })
}

/// Computes the beginnings of bins within their block, and the number of faces in a block. A work-group has a block.
async fn scan(w: Wave, data: Data) {
    let bin = w.global_ids();
    let mask = bin.below(data.mesh.all_bins());
    let counts = w.load_where(mask, data.counts, bin).await;
    let starts = before_each(counts);
    let sum = starts[LANES - 1].wrapping_add(counts[LANES - 1]);
    w.alu(14).await;
    w.lds_write(Mask::lane(0), Lanes::splat(w.id().wave), Lanes::splat(sum));
    w.barrier().await;
    let sums: Lanes<u32> = w.lds_read(Mask::first(WAVES_PER_GROUP as usize), w.lane_ids());
    let first = before_each(sums);
    let own = first[w.id().wave as usize];
    w.store_where(mask, data.starts, bin, starts.map(|start| start.wrapping_add(own)));
    if w.id().wave == 0 {
        w.store_one(data.totals, w.work_group(), first[WAVES_PER_GROUP as usize]);
    }
}

/// Computes the beginnings of all blocks.
async fn totals(w: Wave, data: Data) {
    let blocks = data.totals.len() as u32;
    let mut carry = 0_u32;
    for first in (0..blocks).step_by(LANES) {
        let block = w.lane_ids() + first;
        let counts = w.load_where(block.below(blocks), data.totals, block).await;
        let before = before_each(counts);
        w.alu(14).await;
        w.store_where(block.below(blocks), data.offsets, block, before.map(|before| before.wrapping_add(carry)));
        carry = carry.wrapping_add(before[LANES - 1]).wrapping_add(counts[LANES - 1]);
    }
}

/// The beginning of a bin among the sorted boxes.
async fn start_of(w: &Wave, data: &Data, mask: Mask, bin: Lanes<u32>) -> Lanes<u32> {
    let (start, offset) =
        w.join(w.load_where(mask, data.starts, bin), w.load_where(mask, data.offsets, bin / GROUP)).await;
    start.zip(offset, u32::wrapping_add)
}

/// Copies every box to its bin.
async fn scatter(w: Wave, data: Data) {
    let face = w.global_ids();
    let mask = face.below(data.mesh.faces());
    let [x, y, z, bin, rank] = w
        .join_all(
            [data.boxes[0], data.boxes[1], data.boxes[2], data.bins, data.ranks]
                .map(|buf| w.load_where(mask, buf, face)),
        )
        .await;
    let bin = bin.map(|bin| bin.min(data.mesh.all_bins() - 1));
    let start = start_of(&w, &data, mask, bin).await;
    w.alu(6).await;
    let last = data.mesh.faces() - 1;
    let place = start.zip(rank, |start, rank| start.wrapping_add(rank).min(last));
    for (buf, words) in data.sorted.into_iter().zip([x, y, z]) {
        w.store_where(mask, buf, place, words);
    }
    w.store_where(mask, data.faces, place, face);
}

/// The boxes that a wavefront looks for neighbours of, with their faces.
struct Own {
    bounds: Lanes<Bounds>,
    face: Lanes<u32>,
    touched: Lanes<Touched>,
}

/// Tests sorted boxes from `from` up to `to` against those of the lanes of `visits`, 32 loaded at a time.
async fn test_range(w: &Wave, data: &Data, own: &mut Own, visits: Mask, from: u32, to: u32) {
    let mesh = data.mesh;
    for first in (from..to).step_by(LANES) {
        let at = w.lane_ids() + first;
        let mask = at.below(to);
        let bufs = [data.sorted[0], data.sorted[1], data.sorted[2], data.faces];
        let [x, y, z, partner] = w.join_all(bufs.map(|buf| w.load_where(mask, buf, at))).await;
        let mut instructions = 0;
        for other in mask.iter() {
            let (theirs, sheet) = ([x, y, z].map(|words| unpack(words[other])), mesh.sheet(partner[other]));
            let (mut meets, mut touches) = (false, false);
            for lane in visits.iter().filter(|&lane| overlap(own.bounds[lane][2], theirs[2])) {
                meets = true;
                let (bounds, above) = (own.bounds[lane], mesh.sheet(own.face[lane]));
                if above != sheet && overlap(bounds[0], theirs[0]) && overlap(bounds[1], theirs[1]) {
                    touches = true;
                    own.touched.0[lane].add(partner[other], [bounds[2], theirs[2]], above > sheet);
                }
            }
            instructions += 4 + 6 * u32::from(meets) + 8 * u32::from(touches);
        }
        w.alu(instructions).await;
    }
}

/// The beginning and the end of a row of bins among the sorted boxes.
async fn row_range(w: &Wave, data: &Data, first: u32, last: u32) -> (u32, u32) {
    let ends = Lanes::from_fn(|lane| if lane == 0 { first } else { last });
    let start = start_of(w, data, Mask::first(2), ends).await;
    let count = w.load_one(data.counts, last).await;
    (start[0], start[1].wrapping_add(count).min(data.mesh.faces()))
}

/// Finds the boxes that touch 32 sorted boxes, in the rows of bins around them.
async fn search(w: Wave, data: Data) {
    let mesh = data.mesh;
    let at = w.global_ids();
    let mask = at.below(mesh.faces());
    if !mask.any() {
        return;
    }
    let bufs = [data.sorted[0], data.sorted[1], data.sorted[2], data.faces];
    let [x, y, z, face] = w.join_all(bufs.map(|buf| w.load_where(mask, buf, at))).await;
    let bounds = Lanes::from_fn(|lane| [x, y, z].map(|words| unpack(words[lane])));
    let face = face.map(|face| face.min(mesh.faces() - 1));
    let mut own = Own { bounds, face, touched: Lanes::splat(Touched::NOWHERE) };
    w.alu(20).await;
    let [columns, rows, layers] = [0, 1, 2].map(|axis| bounds.map(|bounds| mesh.around(bounds, axis)));
    let all = |ranges: Lanes<[u32; 2]>, lanes: Mask| {
        lanes.iter().fold([u32::MAX, 0], |[low, high], lane| [low.min(ranges[lane][0]), high.max(ranges[lane][1])])
    };
    let [first_layer, last_layer] = all(layers, mask);
    let [first_row, last_row] = all(rows, mask);
    for layer in first_layer..=last_layer {
        for row in first_row..=last_row {
            let reaches =
                |ranges: Lanes<[u32; 2]>, at: u32| ranges.where_(|[first, last]| (first..=last).contains(&at));
            let visits = mask & reaches(layers, layer) & reaches(rows, row);
            w.alu(8).await;
            if visits.any() {
                let [first, last] = all(columns, visits).map(|column| mesh.bin_at([column, row, layer]));
                let (from, to) = row_range(&w, &data, first, last).await;
                test_range(&w, &data, &mut own, visits, from, to).await;
            }
        }
    }
    w.store_where(mask, data.contacts, face, own.touched.map(|touched| touched.contacts));
    w.store_where(mask, data.partners, face, own.touched.map(|touched| touched.partner));
    w.store_where(mask, data.pushes, face, own.touched.map(|touched| touched.push));
}

/// Moves nodes along z.
async fn move_nodes(w: Wave, data: Data) {
    let node = w.global_ids();
    let mask = node.below(data.mesh.nodes());
    let faces = node.map(|node| data.mesh.faces_of(node));
    let z = w.load_where(mask, data.nodes[2], node).await;
    let pushes = w
        .join_all(std::array::from_fn::<_, 4, _>(|corner| {
            let there = mask & faces.where_(|faces| faces[corner].is_some());
            w.load_where(there, data.pushes, faces.map(|faces| faces[corner].unwrap_or(0)))
        }))
        .await;
    w.alu(12).await;
    let line = data.mesh.side + 1;
    let after = Lanes::from_fn(|lane| moved(z[lane], node[lane] / (line * line), pushes.map(|pushes| pushes[lane])));
    w.store_where(mask, data.nodes[2], node, after);
}

/// The sheets on the host.
struct Reference {
    mesh: Mesh,
    nodes: [Vec<f32>; 3],
    counts: Vec<u32>,
    touched: Vec<Touched>,
}

impl Reference {
    fn new(mesh: Mesh, seed: u64) -> Reference {
        let mut generator = SplitMix64::new(seed);
        let line = mesh.side + 1;
        let nodes = std::array::from_fn(|axis| {
            let place = |node: u32| match axis {
                0 => (node % line) as f32,
                1 => (node / line % line) as f32,
                _ => (node / (line * line)) as f32 * SPACING,
            };
            (0..mesh.nodes()).map(|node| place(node) + generator.between_f32(-JITTER[axis], JITTER[axis])).collect()
        });
        Reference { mesh, nodes, counts: Vec::new(), touched: Vec::new() }
    }

    fn bounds(&self, face: u32) -> Bounds {
        let corners = self.mesh.corners(face);
        std::array::from_fn(|axis| bounds_of(corners.map(|node| self.nodes[axis][node as usize])))
    }

    fn step(&mut self) {
        let mesh = self.mesh;
        let bounds: Vec<Bounds> = (0..mesh.faces()).map(|face| self.bounds(face)).collect();
        let mut bins = vec![Vec::new(); mesh.all_bins() as usize];
        for (face, &bounds) in (0..).zip(&bounds) {
            bins[mesh.bin(bounds) as usize].push(face);
        }
        self.counts = bins.iter().map(|faces: &Vec<u32>| faces.len() as u32).collect();
        self.touched = (0..).zip(&bounds).map(|(face, own)| touched_by(mesh, face, *own, &bounds, &bins)).collect();
        let line = mesh.side + 1;
        for (node, z) in (0..).zip(&mut self.nodes[2]) {
            let pushes = mesh.faces_of(node).map(|face| face.map_or(0, |face| self.touched[face as usize].push));
            *z = moved(*z, node / (line * line), pushes);
        }
    }
}

/// Finds the faces that touch a face on the host.
fn touched_by(mesh: Mesh, face: u32, own: Bounds, all: &[Bounds], bins: &[Vec<u32>]) -> Touched {
    let mut touched = Touched::NOWHERE;
    let [[x0, x1], [y0, y1], [z0, z1]] = [0, 1, 2].map(|axis| mesh.around(own, axis));
    let rows = (z0..=z1).flat_map(|z| (y0..=y1).map(move |y| (y, z)));
    for (y, z) in rows {
        for x in x0..=x1 {
            for &partner in &bins[mesh.bin_at([x, y, z]) as usize] {
                let other = all[partner as usize];
                let (sheet, theirs) = (mesh.sheet(face), mesh.sheet(partner));
                if sheet != theirs && (0..3).all(|axis| overlap(own[axis], other[axis])) {
                    touched.add(partner, [own[2], other[2]], sheet > theirs);
                }
            }
        }
    }
    touched
}

impl Data {
    fn new(reference: &Reference, memory: &mut HostMemory) -> Data {
        let mesh = reference.mesh;
        let (faces, bins) = (mesh.faces() as usize, mesh.all_bins() as usize);
        let blocks = mesh.all_bins().div_ceil(GROUP) as usize;
        Data {
            mesh,
            nodes: std::array::from_fn(|axis| memory.alloc_from(&reference.nodes[axis])),
            boxes: std::array::from_fn(|_| memory.alloc(faces)),
            bins: memory.alloc(faces),
            ranks: memory.alloc(faces),
            counts: memory.alloc(bins),
            starts: memory.alloc(bins),
            totals: memory.alloc(blocks),
            offsets: memory.alloc(blocks),
            sorted: std::array::from_fn(|_| memory.alloc(faces)),
            faces: memory.alloc(faces),
            contacts: memory.alloc(faces),
            partners: memory.alloc(faces),
            pushes: memory.alloc(faces),
        }
    }
}

/// The kernels of one step.
fn step(data: Data) -> Vec<Kernel> {
    let [faces, bins, nodes] =
        [data.mesh.faces(), data.mesh.all_bins(), data.mesh.nodes()].map(|items| items.div_ceil(GROUP));
    vec![
        Kernel::new("clear", bins, WAVES_PER_GROUP, move |w| clear(w, data)),
        Kernel::new("boxes", faces, WAVES_PER_GROUP, move |w| boxes(w, data)).registers(REGISTERS_PER_ITEM),
        Kernel::new("scan", bins, WAVES_PER_GROUP, move |w| scan(w, data)).lds(WAVES_PER_GROUP * 4),
        Kernel::new("totals", 1, 1, move |w| totals(w, data)),
        Kernel::new("scatter", faces, WAVES_PER_GROUP, move |w| scatter(w, data)),
        Kernel::new("search", faces, WAVES_PER_GROUP, move |w| search(w, data)).registers(REGISTERS_PER_ITEM),
        Kernel::new("move", nodes, WAVES_PER_GROUP, move |w| move_nodes(w, data)),
    ]
}

impl Workload for MiniContact {
    fn name(&self) -> &'static str {
        "minicontact"
    }

    fn title(&self) -> &'static str {
        "MiniContact (contact search)"
    }

    fn summary(&self) -> &'static str {
        "Sorts the bounding boxes of faces into bins and finds those that touch, in seven kernels."
    }

    fn suite(&self) -> Suite {
        Suite::Hpc
    }

    fn papers(&self) -> &'static [Paper] {
        &[Paper::Hmg]
    }

    fn source(&self) -> &'static str {
        "Ren et al., HMG: Extending Cache Coherence Protocols Across Modern Hierarchical Multi-GPU Systems, HPCA 2020, \
         section VI, Table III (MiniContact); miniContact (Mantevo)"
    }

    fn sizes(&self) -> &'static [SizeSpec] {
        &SIZES
    }

    fn build(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
        let mut reference = Reference::new(Mesh { side: sizes.get("side"), sheets: sizes.get("sheets") }, seed);
        let data = Data::new(&reference, memory);
        reference.step();
        let touched = |value: fn(&Touched) -> u32| reference.touched.iter().map(value).collect::<Vec<u32>>();
        let pushes: Vec<i32> = reference.touched.iter().map(|touched| touched.push).collect();
        let outputs = vec![
            Output::new("heights", data.nodes[2], &reference.nodes[2]),
            Output::new("contacts", data.contacts, &touched(|touched| touched.contacts)),
            Output::new("partners", data.partners, &touched(|touched| touched.partner)),
            Output::new("pushes", data.pushes, &pushes),
            Output::new("faces of bins", data.counts, &reference.counts),
        ];
        HostProgram::new(step(data), outputs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bins_around_a_face_hold_all_that_touches_it() {
        let mesh = Mesh { side: 12, sheets: 3 };
        let mut reference = Reference::new(mesh, 3);
        let bounds: Vec<Bounds> = (0..mesh.faces()).map(|face| reference.bounds(face)).collect();
        reference.step();
        for face in 0..mesh.faces() {
            let mut touched = Touched::NOWHERE;
            for other in (0..mesh.faces()).filter(|&other| mesh.sheet(other) != mesh.sheet(face)) {
                let (own, theirs) = (bounds[face as usize], bounds[other as usize]);
                if (0..3).all(|axis| overlap(own[axis], theirs[axis])) {
                    touched.add(other, [own[2], theirs[2]], mesh.sheet(face) > mesh.sheet(other));
                }
            }
            assert_eq!(reference.touched[face as usize], touched);
        }
        assert!(reference.touched.iter().any(|touched| touched.contacts > 0));
        assert!(reference.touched.iter().any(|touched| touched.contacts == 0));
    }

    #[test]
    fn nodes_and_faces_know_each_other() {
        let mesh = Mesh { side: 5, sheets: 2 };
        for face in 0..mesh.faces() {
            assert!(mesh.corners(face).into_iter().all(|node| mesh.faces_of(node).contains(&Some(face))));
        }
    }

    #[test]
    fn bounds_fit_sixteen_bits() {
        let [side, sheets] = &SIZES;
        assert!((side.max as f32 + 2.0 * MARGIN) * UNITS < 65_536.0);
        assert!((sheets.max as f32 * SPACING + 2.0 * MARGIN) * UNITS < 65_536.0);
    }
}
