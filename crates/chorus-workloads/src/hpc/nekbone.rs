//! `nekbone`: conjugate gradients on spectral elements.
//!
//! Source: HMG paper (Ren et al., HPCA 2020), section VI, Table III (HPC_Nekbone-10); Nekbone, the kernel of Nek5000
//! (Fischer and Heisey, 2013), and its GPU kernels (Gong et al., Nekbone performance on GPUs with OpenACC and CUDA
//! Fortran, 2016). An element has 10 x 10 x 10 points. An iteration has these kernels:
//! - `direction` computes the new search direction.
//! - `ax` applies the local operator: derivatives along three axes, six geometric factors per point, and the transposed
//!   derivatives. It has a work-group per element and a work-item per point of a plane.
//! - Three kernels `gather-scatter` add up the points that two, four and eight elements share, and write the sums back.
//! - `dot` and `update`, which computes solution and residual, each compute a dot product; a `reduce` follows each.
//!
//! Sharing: elements of other work-groups share the points of faces, edges and corners, through the lists of
//! `gather-scatter`, in lines that are mostly read and written a few words each. Dot products are one partial sum per
//! work-group, added up by a single one, and the scalar that results is read by all work-groups in the next kernel.
//!
//! Left out: the mask of boundary points, and preconditioning (Nekbone's default has none). Single precision.
//!
//! Arithmetic: `ax` takes per plane 60 fused multiply-adds for the derivatives and their transposes, 20 for the
//! derivatives along z, 15 for the geometric factors, and 6 for addresses and loop. The other kernels take 4 for
//! addresses and loop per 32 points, 1 per fused multiply-add, and 10 for a division.

use chorus_kernel::{Buf, HostMemory, Kernel, LANES, Lanes, Mask, Wave};

use crate::generator::SplitMix64;
use crate::lane_sum::{group_sum, store_group_sum};
use crate::program::{HostProgram, Output};
use crate::registry::{Paper, Suite, Workload};
use crate::size::{SizeSpec, Sizes};

/// The numbers of points along a side of an element, in a plane of it, and in all of it.
const SIDE: usize = 10;
const PLANE: usize = SIDE * SIDE;
const POINTS: usize = SIDE * PLANE;
/// The number of geometric factors at a point.
const FACTORS: usize = 6;
/// The wavefronts of an element's work-group in `ax`, and the wavefronts and points of a work-group in other kernels.
const ELEMENT_WAVES: u32 = 4;
const WAVES_PER_GROUP: u32 = 8;
const GROUP_POINTS: u32 = 1024;

pub(crate) struct Nekbone;

/// Eleven arrays of 4 KB per element take 5.8 MB at quick scale and 161 MB at paper scale, where the paper has 178 MB.
/// An element takes about 1,240 line accesses an iteration: 0.3 million in all at quick scale, 1.3 million at medium
/// scale and 27 million at paper scale.
///
/// With two elements along every axis, there are points that two, four and eight elements share.
static SIZES: [SizeSpec; 4] = [
    SizeSpec::new("elements_x", "spectral elements along x", [8, 8, 16], FOOTPRINT).range(2, 40),
    SizeSpec::new("elements_y", "spectral elements along y", [4, 8, 16], FOOTPRINT).range(2, 40),
    SizeSpec::new("elements_z", "spectral elements along z", [4, 8, 14], FOOTPRINT).range(2, 40),
    SizeSpec::new("iterations", "iterations of conjugate gradients", [2, 2, 6], "chosen: few, for time").range(1, 100),
];
const FOOTPRINT: &str = "chosen: 161 MB, near the 178 MB in Table III of the HMG paper";

/// The points that some number of elements share. The k-th copy of node n is element k x nodes + n of `places`.
#[derive(Clone, Copy)]
struct Shared {
    nodes: u32,
    places: Buf<u32>,
}

#[derive(Clone, Copy)]
struct Data {
    elements: u32,
    /// The derivative matrix. Row i holds the weights of the points of a line in the derivative at point i.
    derivative: Buf<f32>,
    factors: [Buf<f32>; FACTORS],
    /// One over the number of elements that share a point.
    weight: Buf<f32>,
    solution: Buf<f32>,
    residual: Buf<f32>,
    direction: Buf<f32>,
    product: Buf<f32>,
    /// Partial sums, one per work-group.
    partials: Buf<f32>,
    /// Element 2i is the squared norm of the residual before iteration i; element 2i + 1 is direction times product.
    scalars: Buf<f32>,
}

impl Data {
    fn points(&self) -> u32 {
        self.elements * POINTS as u32
    }

    /// The number of work-groups of the kernels over all points.
    fn groups(&self) -> u32 {
        self.points().div_ceil(GROUP_POINTS)
    }

    /// The points of a wavefront, 32 at a time.
    fn batches(&self, w: &Wave) -> impl Iterator<Item = (Lanes<u32>, Mask)> + use<> {
        let (points, lanes) = (self.points(), w.lane_ids());
        let first = w.work_group() * GROUP_POINTS + w.id().wave * LANES as u32;
        let last = (w.work_group() + 1) * GROUP_POINTS;
        (first..last).step_by(WAVES_PER_GROUP as usize * LANES).map(move |first| {
            let at = lanes + first;
            (at, at.below(points))
        })
    }
}

/// The share of a work-group in the sum of weight x a x b.
async fn dot(w: Wave, data: Data, a: Buf<f32>, b: Buf<f32>) {
    let mut sum = Lanes::splat(0.0);
    for (at, mask) in data.batches(&w) {
        let [weight, a, b] = w.join_all([data.weight, a, b].map(|buf| w.load_where(mask, buf, at))).await;
        w.alu(6).await;
        sum = sum + weight * a * b;
    }
    store_group_sum(&w, sum, data.partials, w.work_group()).await;
}

/// Adds up the partial sums into a scalar.
async fn reduce(w: Wave, data: Data, scalar: u32) {
    let groups = data.groups();
    let mut sum = Lanes::splat(0.0);
    for first in (w.id().wave * LANES as u32..groups).step_by(WAVES_PER_GROUP as usize * LANES) {
        let at = w.lane_ids() + first;
        sum = sum + w.load_where(at.below(groups), data.partials, at).await;
        w.alu(4).await;
    }
    store_group_sum(&w, sum, data.scalars, scalar).await;
}

/// The search direction of an iteration: the residual, and part of the last one.
async fn direction(w: Wave, data: Data, iteration: u32) {
    let mut beta = 0.0;
    if iteration > 0 {
        let norms = Lanes::from_fn(|lane| 2 * iteration - 2 * (lane as u32 & 1));
        let norms = w.load_where(Mask::first(2), data.scalars, norms).await;
        w.alu(10).await;
        beta = norms[0] / norms[1];
    }
    for (at, mask) in data.batches(&w) {
        let (residual, before) =
            w.join(w.load_where(mask, data.residual, at), w.load_where(mask, data.direction, at)).await;
        w.alu(5).await;
        w.store_where(mask, data.direction, at, residual + before * beta);
    }
}

/// The next solution and residual, and the share in the squared norm of the latter.
async fn update(w: Wave, data: Data, iteration: u32) {
    let scalars = w.load_where(Mask::first(2), data.scalars, w.lane_ids() + 2 * iteration).await;
    w.alu(10).await;
    let alpha = scalars[0] / scalars[1];
    let mut sum = Lanes::splat(0.0);
    for (at, mask) in data.batches(&w) {
        let bufs = [data.solution, data.direction, data.residual, data.product, data.weight];
        let [solution, direction, residual, product, weight] =
            w.join_all(bufs.map(|buf| w.load_where(mask, buf, at))).await;
        w.alu(8).await;
        let next = residual - product * alpha;
        w.store_where(mask, data.solution, at, solution + direction * alpha);
        w.store_where(mask, data.residual, at, next);
        sum = sum + weight * next * next;
    }
    store_group_sum(&w, sum, data.partials, w.work_group()).await;
}

/// The geometric factors applied to the three derivatives at a point.
fn transform(g: [f32; FACTORS], [r, s, t]: [f32; 3]) -> [f32; 3] {
    [g[0] * r + g[1] * s + g[2] * t, g[1] * r + g[3] * s + g[4] * t, g[2] * r + g[4] * s + g[5] * t]
}

/// The places in local data of the derivative matrix, a plane of the direction, and two planes of transformed
/// derivatives.
const LOCAL_MATRIX: usize = 0;
const LOCAL_DIRECTION: usize = PLANE;
const LOCAL_R: usize = 2 * PLANE;
const LOCAL_S: usize = 3 * PLANE;
const LOCAL_WORDS: usize = 4 * PLANE;

/// The local operator on one element. A lane has the points of a column along z, in registers.
async fn ax(w: Wave, data: Data) {
    let local = w.local_ids();
    let mask = local.below(PLANE as u32);
    let (i, j) = (local % SIDE as u32, local / SIDE as u32);
    let first = local + w.work_group() * POINTS as u32;
    let read = |at: Lanes<u32>, base: usize| -> Lanes<f32> { w.lds_read(mask, at + base as u32) };
    let matrix = w.load_where(mask, data.derivative, local).await;
    w.lds_write(mask, local + LOCAL_MATRIX as u32, matrix);
    let plane_at = |k: usize| first + (k * PLANE) as u32;
    let column: [Lanes<f32>; SIDE] =
        w.join_all(std::array::from_fn(|k| w.load_where(mask, data.direction, plane_at(k)))).await;
    w.barrier().await;
    let side = SIDE as u32;
    let matrix_rows =
        |of: Lanes<u32>| -> [Lanes<f32>; SIDE] { std::array::from_fn(|l| read(of * side + l as u32, LOCAL_MATRIX)) };
    let matrix_columns =
        |of: Lanes<u32>| -> [Lanes<f32>; SIDE] { std::array::from_fn(|l| read(of + (l * SIDE) as u32, LOCAL_MATRIX)) };
    let [rows_i, rows_j, columns_i, columns_j] = [matrix_rows(i), matrix_rows(j), matrix_columns(i), matrix_columns(j)];
    let mut product = [Lanes::splat(0.0); SIDE];
    for k in 0..SIDE {
        w.lds_write(mask, local + LOCAL_DIRECTION as u32, column[k]);
        w.barrier().await;
        let row: Lanes<f32> = w.lds_read(Mask::first(SIDE), w.lane_ids() + (LOCAL_MATRIX + k * SIDE) as u32);
        let factors = w.join_all(data.factors.map(|factor| w.load_where(mask, factor, plane_at(k)))).await;
        let [mut r, mut s, mut t] = [Lanes::splat(0.0); 3];
        for l in 0..SIDE {
            r = r + rows_i[l] * read(j * side + l as u32, LOCAL_DIRECTION);
            s = s + rows_j[l] * read(i + (l * SIDE) as u32, LOCAL_DIRECTION);
            t = t + column[l] * row[l];
        }
        w.alu(101).await;
        let turned: Lanes<[f32; 3]> =
            Lanes::from_fn(|lane| transform(factors.map(|factor| factor[lane]), [r[lane], s[lane], t[lane]]));
        w.lds_write(mask, local + LOCAL_R as u32, turned.map(|turned| turned[0]));
        w.lds_write(mask, local + LOCAL_S as u32, turned.map(|turned| turned[1]));
        w.barrier().await;
        for (l, product) in product.iter_mut().enumerate() {
            *product = *product + turned.map(|turned| turned[2]) * row[l];
        }
        let mut sum = Lanes::splat(0.0);
        for l in 0..SIDE {
            sum = sum + columns_i[l] * read(j * side + l as u32, LOCAL_R);
            sum = sum + columns_j[l] * read(i + (l * SIDE) as u32, LOCAL_S);
        }
        product[k] = product[k] + sum;
    }
    for (k, product) in product.into_iter().enumerate() {
        w.store_where(mask, data.product, plane_at(k), product);
    }
}

/// Adds up the `COPIES` copies of shared points.
async fn gather_scatter<const COPIES: usize>(w: Wave, data: Data, shared: Shared) {
    let node = w.global_ids();
    let mask = node.below(shared.nodes);
    w.alu(4).await;
    let places: [Lanes<u32>; COPIES] = w
        .join_all(std::array::from_fn(|copy| w.load_where(mask, shared.places, node + copy as u32 * shared.nodes)))
        .await;
    let places = places.map(|place| place.map(|place| place.min(data.points() - 1)));
    let values = w.join_all(places.map(|place| w.load_where(mask, data.product, place))).await;
    let sum = values.into_iter().fold(Lanes::splat(0.0), |sum, value| sum + value);
    w.alu(COPIES as u32).await;
    for place in places {
        w.store_where(mask, data.product, place, sum);
    }
}

/// The elements and points on the host.
struct Reference {
    derivative: Vec<f32>,
    factors: [Vec<f32>; FACTORS],
    weight: Vec<f32>,
    solution: Vec<f32>,
    residual: Vec<f32>,
    direction: Vec<f32>,
    product: Vec<f32>,
    scalars: Vec<f32>,
    /// The copies of every shared point: first the points with two copies, then those with four and with eight.
    shared: [Vec<Vec<u32>>; 3],
}

/// The copies of every point, in the order of the first copies.
fn copies([x, y, z]: [usize; 3]) -> Vec<Vec<u32>> {
    let line = |elements: usize| elements * (SIDE - 1) + 1;
    let mut nodes = vec![Vec::new(); line(x) * line(y) * line(z)];
    let mut order = Vec::new();
    for point in 0..x * y * z * POINTS {
        let (element, local) = (point / POINTS, point % POINTS);
        let at = |element: usize, local: usize| element * (SIDE - 1) + local;
        let i = at(element % x, local % SIDE);
        let j = at(element / x % y, local / SIDE % SIDE);
        let k = at(element / (x * y), local / PLANE);
        let node = (k * line(y) + j) * line(x) + i;
        if nodes[node].is_empty() {
            order.push(node);
        }
        nodes[node].push(point as u32);
    }
    order.into_iter().map(|node| std::mem::take(&mut nodes[node])).collect()
}

impl Reference {
    fn new(elements: [usize; 3], iterations: usize, seed: u64) -> Reference {
        let points = elements.iter().product::<usize>() * POINTS;
        let mut generator = SplitMix64::new(seed);
        let mut draw =
            |count: usize, low, high| -> Vec<f32> { (0..count).map(|_| generator.between_f32(low, high)).collect() };
        let derivative = draw(PLANE, -1.0, 1.0);
        // Factors on the diagonal of the symmetric matrix are larger, which makes the operator positive.
        let factors = std::array::from_fn(|factor| {
            let diagonal = [0, 3, 5].contains(&factor);
            if diagonal { draw(points, 1.0, 2.0) } else { draw(points, -0.2, 0.2) }
        });
        let nodes = copies(elements);
        let values = draw(nodes.len(), -1.0, 1.0);
        let (mut weight, mut residual) = (vec![0.0; points], vec![0.0; points]);
        for (node, value) in nodes.iter().zip(values) {
            for &point in node {
                weight[point as usize] = 1.0 / node.len() as f32;
                residual[point as usize] = value;
            }
        }
        let shared = [2, 4, 8].map(|count| nodes.iter().filter(|node| node.len() == count).cloned().collect());
        let zeros = vec![0.0; points];
        let [solution, direction, product] = [zeros.clone(), zeros.clone(), zeros];
        let scalars = vec![0.0; 2 * iterations + 1];
        Reference { derivative, factors, weight, solution, residual, direction, product, scalars, shared }
    }

    /// The sum of `value` over all points, as kernels add it up.
    fn sum(&self, value: impl Fn(usize) -> f32) -> f32 {
        let group_lanes = WAVES_PER_GROUP as usize * LANES;
        let add_up = |count: usize, first: usize, last: usize, value: &dyn Fn(usize) -> f32| {
            let mut waves = [[0.0; LANES]; WAVES_PER_GROUP as usize];
            for at in first..last.min(count) {
                let place = (at - first) % group_lanes;
                waves[place / LANES][place % LANES] += value(at);
            }
            group_sum(&waves)
        };
        let points = self.weight.len();
        let partials: Vec<f32> = (0..points)
            .step_by(GROUP_POINTS as usize)
            .map(|first| add_up(points, first, first + GROUP_POINTS as usize, &value))
            .collect();
        add_up(partials.len(), 0, partials.len(), &|group| partials[group])
    }

    fn norm(&self) -> f32 {
        self.sum(|at| self.weight[at] * self.residual[at] * self.residual[at])
    }

    fn iterate(&mut self, iteration: usize) {
        let beta = if iteration > 0 { self.scalars[2 * iteration] / self.scalars[2 * iteration - 2] } else { 0.0 };
        for (direction, residual) in self.direction.iter_mut().zip(&self.residual) {
            *direction = residual + *direction * beta;
        }
        (0..self.weight.len() / POINTS).for_each(|element| self.apply(element));
        for node in self.shared.iter().flatten() {
            let sum = node.iter().fold(0.0, |sum, &point| sum + self.product[point as usize]);
            node.iter().for_each(|&point| self.product[point as usize] = sum);
        }
        let curvature = self.sum(|at| self.weight[at] * self.product[at] * self.direction[at]);
        self.scalars[2 * iteration + 1] = curvature;
        let alpha = self.scalars[2 * iteration] / curvature;
        for at in 0..self.weight.len() {
            self.solution[at] += self.direction[at] * alpha;
            self.residual[at] -= self.product[at] * alpha;
        }
        self.scalars[2 * iteration + 2] = self.norm();
    }

    /// The local operator on one element.
    fn apply(&mut self, element: usize) {
        let first = element * POINTS;
        let direction = &self.direction[first..first + POINTS];
        let product = &mut self.product[first..first + POINTS];
        let matrix = &self.derivative;
        product.fill(0.0);
        let mut turned = [[0.0; 3]; PLANE];
        for k in 0..SIDE {
            for (at, turned) in turned.iter_mut().enumerate() {
                let (i, j) = (at % SIDE, at / SIDE);
                let mut derivatives = [0.0; 3];
                for l in 0..SIDE {
                    derivatives[0] += matrix[i * SIDE + l] * direction[k * PLANE + j * SIDE + l];
                    derivatives[1] += matrix[j * SIDE + l] * direction[k * PLANE + l * SIDE + i];
                    derivatives[2] += direction[l * PLANE + at] * matrix[k * SIDE + l];
                }
                let factors = std::array::from_fn(|factor| self.factors[factor][first + k * PLANE + at]);
                *turned = transform(factors, derivatives);
                for l in 0..SIDE {
                    product[l * PLANE + at] += turned[2] * matrix[k * SIDE + l];
                }
            }
            for at in 0..PLANE {
                let (i, j) = (at % SIDE, at / SIDE);
                let mut sum = 0.0;
                for l in 0..SIDE {
                    sum += matrix[l * SIDE + i] * turned[j * SIDE + l][0];
                    sum += matrix[l * SIDE + j] * turned[l * SIDE + i][1];
                }
                product[k * PLANE + at] += sum;
            }
        }
    }
}

/// The lists of shared points as kernels read them.
fn store_shared(nodes: &[Vec<u32>], memory: &mut HostMemory) -> Shared {
    let copies = nodes.first().map_or(0, Vec::len);
    let places: Vec<u32> = (0..copies).flat_map(|copy| nodes.iter().map(move |node| node[copy])).collect();
    Shared { nodes: nodes.len() as u32, places: memory.alloc_from(&places) }
}

/// The kernels of one iteration.
fn push_iteration(kernels: &mut Vec<Kernel>, data: Data, shared: [Shared; 3], iteration: u32) {
    let groups = data.groups();
    let sums_bytes = WAVES_PER_GROUP * 4;
    let group_of = |nodes: u32| nodes.div_ceil(WAVES_PER_GROUP * LANES as u32);
    let [pairs, edges, corners] = shared;
    kernels.push(Kernel::new("direction", groups, WAVES_PER_GROUP, move |w| direction(w, data, iteration)));
    let ax = Kernel::new("ax", data.elements, ELEMENT_WAVES, move |w| ax(w, data));
    kernels.push(ax.registers(80).lds(LOCAL_WORDS as u32 * 4));
    kernels.push(Kernel::new("gather-scatter 2", group_of(pairs.nodes), WAVES_PER_GROUP, move |w| {
        gather_scatter::<2>(w, data, pairs)
    }));
    kernels.push(Kernel::new("gather-scatter 4", group_of(edges.nodes), WAVES_PER_GROUP, move |w| {
        gather_scatter::<4>(w, data, edges)
    }));
    kernels.push(Kernel::new("gather-scatter 8", group_of(corners.nodes), WAVES_PER_GROUP, move |w| {
        gather_scatter::<8>(w, data, corners)
    }));
    let dot = Kernel::new("dot", groups, WAVES_PER_GROUP, move |w| dot(w, data, data.product, data.direction));
    kernels.push(dot.lds(sums_bytes));
    push_reduce(kernels, data, 2 * iteration + 1);
    let update = Kernel::new("update", groups, WAVES_PER_GROUP, move |w| update(w, data, iteration));
    kernels.push(update.registers(20).lds(sums_bytes));
    push_reduce(kernels, data, 2 * iteration + 2);
}

fn push_reduce(kernels: &mut Vec<Kernel>, data: Data, scalar: u32) {
    let reduce = Kernel::new("reduce", 1, WAVES_PER_GROUP, move |w| reduce(w, data, scalar));
    kernels.push(reduce.lds(WAVES_PER_GROUP * 4));
}

impl Workload for Nekbone {
    fn name(&self) -> &'static str {
        "nekbone"
    }

    fn title(&self) -> &'static str {
        "Nekbone (spectral elements)"
    }

    fn summary(&self) -> &'static str {
        "Solves on spectral elements by conjugate gradients; elements share faces, and all work-groups dot products."
    }

    fn suite(&self) -> Suite {
        Suite::Hpc
    }

    fn papers(&self) -> &'static [Paper] {
        &[Paper::Hmg]
    }

    fn source(&self) -> &'static str {
        "Ren et al., HMG: Extending Cache Coherence Protocols Across Modern Hierarchical Multi-GPU Systems, HPCA 2020, \
         section VI, Table III (Nekbone); Nekbone (Fischer and Heisey, 2013)"
    }

    fn sizes(&self) -> &'static [SizeSpec] {
        &SIZES
    }

    fn build(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
        let elements = ["elements_x", "elements_y", "elements_z"].map(|key| sizes.get(key) as usize);
        let iterations = sizes.get("iterations") as usize;
        let mut reference = Reference::new(elements, iterations, seed);
        let points = reference.weight.len();
        let data = Data {
            elements: (points / POINTS) as u32,
            derivative: memory.alloc_from(&reference.derivative),
            factors: std::array::from_fn(|factor| memory.alloc_from(&reference.factors[factor])),
            weight: memory.alloc_from(&reference.weight),
            solution: memory.alloc(points),
            residual: memory.alloc_from(&reference.residual),
            direction: memory.alloc(points),
            product: memory.alloc(points),
            partials: memory.alloc(points.div_ceil(GROUP_POINTS as usize)),
            scalars: memory.alloc(reference.scalars.len()),
        };
        let shared = std::array::from_fn(|group| store_shared(&reference.shared[group], memory));
        let start =
            Kernel::new("dot", data.groups(), WAVES_PER_GROUP, move |w| dot(w, data, data.residual, data.residual));
        let mut kernels = vec![start.lds(WAVES_PER_GROUP * 4)];
        push_reduce(&mut kernels, data, 0);
        reference.scalars[0] = reference.norm();
        for iteration in 0..iterations {
            push_iteration(&mut kernels, data, shared, iteration as u32);
            reference.iterate(iteration);
        }
        let outputs = vec![
            Output::new("solution", data.solution, &reference.solution),
            Output::new("residual", data.residual, &reference.residual),
            Output::new("direction", data.direction, &reference.direction),
            Output::new("product", data.product, &reference.product),
            Output::new("scalars", data.scalars, &reference.scalars),
        ];
        HostProgram::new(kernels, outputs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_point_is_a_copy_of_one_node() {
        let nodes = copies([3, 2, 2]);
        assert_eq!(nodes.len(), 28 * 19 * 19);
        let mut points: Vec<u32> = nodes.concat();
        points.sort_unstable();
        assert!(points.into_iter().eq(0..12 * POINTS as u32));
        assert!(nodes.iter().all(|node| [1, 2, 4, 8].contains(&node.len())));
    }

    #[test]
    fn the_smallest_mesh_has_points_that_two_four_and_eight_elements_share() {
        let [x, y, z, _] = &SIZES;
        let reference = Reference::new([x, y, z].map(|size| size.min as usize), 1, 1);
        assert!(reference.shared.iter().all(|nodes| !nodes.is_empty()));
    }

    #[test]
    fn copies_of_a_point_stay_equal_and_the_operator_is_positive() {
        let mut reference = Reference::new([2, 2, 2], 2, 4);
        reference.scalars[0] = reference.norm();
        (0..2).for_each(|iteration| reference.iterate(iteration));
        for node in reference.shared.iter().flatten() {
            let first = reference.residual[node[0] as usize];
            assert!(node.iter().all(|&point| reference.residual[point as usize] == first));
        }
        assert!(reference.scalars.iter().all(|&scalar| scalar > 0.0));
    }
}
