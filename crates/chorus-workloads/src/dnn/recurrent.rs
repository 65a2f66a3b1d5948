//! The steps of recurrent networks: products of a weight matrix with the state of a minibatch, and elementwise kernels
//! that follow them.
//!
//! A minibatch gives a product few columns, so tiles alone would leave most of the machine idle. Libraries cut the
//! depth of such products into slices, and so does this product. Each wavefront of a work-group sums its own slice, and
//! the work-group adds the slices up in local data. Several work-groups may share the depth of one tile, and the kernel
//! behind adds their partial sums. A work-group computes 32 rows, one per lane, of 16 columns, or of 4 columns where 16
//! do not divide the minibatch. Weights go straight from memory into registers, a line for 32 rows at one depth. The
//! state goes through local data, from where a wavefront broadcasts it.
//!
//! Sharing: work-groups are numbered by rows, so that each module keeps to its part of the weights and reads it again
//! in every step. All work-groups wrote the state in the kernel before, and all of them read it. They also read the
//! partial sums, element by element.
//!
//! States are stored column by column: all rows of the first element of the minibatch, then those of the next.
//!
//! Arithmetic of the product: 16 multiply-adds per depth, 1 for the address of a fetch, 4 per 32 depths for the loop;
//! 12 for the coordinates; 3 additions and 2 for the address per row and column of the result. A hyperbolic tangent
//! takes 18: a clamp (2), the square, two polynomials of 3 multiply-adds each, a product, and a division (8).

use std::ops::Range;

use chorus_kernel::{Buf, Kernel, LANES, Lanes, Mask, Share, Wave};

use crate::gemm::add_products;
use crate::shares::{few, rows_of, scaled};

const LANES_U32: u32 = LANES as u32;
/// Rows of a work-group, one per lane.
pub const TILE_ROWS: u32 = LANES_U32;
/// Columns of a work-group where they divide the minibatch.
const TILE_COLUMNS: u32 = 16;
/// Columns of a work-group of other minibatches.
const FEW_COLUMNS: u32 = 4;
/// Depth that a wavefront takes at a time: the words of a state that one load fetches.
const CHUNK: u32 = LANES_U32;
/// Wavefronts of a work-group, each with a slice of the depth.
const WAVES_PER_GROUP: u32 = 4;
/// Lines of weights that are fetched together.
const FETCH: usize = 4;

/// Instructions of a hyperbolic tangent.
pub const TANH_ALU: u32 = 18;
/// Instructions of a logistic function: a hyperbolic tangent that is scaled before and behind.
pub const SIGMOID_ALU: u32 = TANH_ALU + 2;

/// The order of a weight matrix in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// 32 rows at a time, depth by depth: rows that a work-group needs are adjacent.
    Panels,
    /// All rows of one depth, then those of the next: a matrix that is stored by rows and multiplied transposed.
    Transposed,
}

/// The shape of a product of weights and states.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// Rows of the weights and of the result.
    pub rows: u32,
    /// Columns of the state and of the result, one per element of the minibatch.
    pub batch: u32,
    /// Terms of a sum: rows of the state.
    pub depth: u32,
    /// Work-groups that share the depth of a tile.
    pub splits: u32,
    /// How the weights lie in memory.
    pub packing: Packing,
}

impl Step {
    /// Elements of the partial sums.
    pub fn partial_len(&self) -> usize {
        (self.splits * self.batch * self.rows) as usize
    }

    /// The first weight of 32 rows at a depth.
    fn weight(&self, row: u32, depth: u32) -> u32 {
        match self.packing {
            Packing::Panels => row * self.depth + depth * TILE_ROWS,
            Packing::Transposed => depth * self.rows + row,
        }
    }

    /// The chunks of the depth that belong to a slice, in the order in which they are summed.
    fn chunks(&self, split: u32, wave: u32) -> impl Iterator<Item = u32> + use<> {
        let slices = self.splits * WAVES_PER_GROUP;
        (split * WAVES_PER_GROUP + wave..self.depth / CHUNK).step_by(slices as usize)
    }

    /// Columns of a work-group.
    fn tile_columns(&self) -> u32 {
        if self.batch.is_multiple_of(TILE_COLUMNS) { TILE_COLUMNS } else { FEW_COLUMNS }
    }

    /// Words of local data of a wavefront: a chunk of the state, and later the sums of its slice.
    fn local_words(&self) -> u32 {
        self.tile_columns() * CHUNK
    }

    /// Work-groups that compute the same rows; they are adjacent.
    fn groups_of_rows(&self) -> u32 {
        self.batch / self.tile_columns() * self.splits
    }

    /// The launch that leaves the partial sums of `weights` x `state` in `partial`.
    pub fn kernel(self, name: &'static str, weights: Buf<f32>, state: Buf<f32>, partial: Buf<f32>) -> Kernel {
        let tiles = [self.rows.is_multiple_of(TILE_ROWS), self.batch.is_multiple_of(self.tile_columns())];
        assert!(tiles == [true; 2] && self.depth.is_multiple_of(CHUNK), "{name}: tiles divide {self:?}");
        let work_groups = self.rows / TILE_ROWS * self.groups_of_rows();
        let kernel = match self.tile_columns() {
            FEW_COLUMNS => Kernel::new(name, work_groups, WAVES_PER_GROUP, move |w| {
                multiply::<{ FEW_COLUMNS as usize }>(w, self, weights, state, partial)
            }),
            _ => Kernel::new(name, work_groups, WAVES_PER_GROUP, move |w| {
                multiply::<{ TILE_COLUMNS as usize }>(w, self, weights, state, partial)
            }),
        };
        kernel.registers(48).lds(WAVES_PER_GROUP * self.local_words() * 4)
    }

    /// The weights that a chiplet reads, packed in panels.
    pub fn weights_of(&self, share: Share) -> Range<usize> {
        assert_eq!(self.packing, Packing::Panels, "rows of a work-group are adjacent");
        scaled(rows_of(share, self.groups_of_rows()), TILE_ROWS * self.depth)
    }

    /// The partial sums that a chiplet writes.
    pub fn partials_of(&self, share: Share) -> Vec<Range<usize>> {
        let of_group = |group: u32| {
            let (row, column, split) = self.place(group);
            let first = (split * self.batch + column) * self.rows + row;
            (0..self.tile_columns())
                .map(move |column| scaled(first + column * self.rows..first + column * self.rows + TILE_ROWS, 1))
        };
        few(share.groups().flat_map(of_group).collect())
    }

    /// The first row, the first column and the split of a work-group: splits first, then columns, then rows.
    fn place(&self, group: u32) -> (u32, u32, u32) {
        let tiles_across = self.batch / self.tile_columns();
        let tile = group / self.splits;
        (tile / tiles_across * TILE_ROWS, tile % tiles_across * self.tile_columns(), group % self.splits)
    }

    /// The partial sums on the host, in the same order of additions.
    pub fn reference(&self, weights: &[f32], state: &[f32]) -> Vec<f32> {
        let mut partial = vec![0.0; self.partial_len()];
        for row in (0..self.rows).step_by(TILE_ROWS as usize) {
            for (split, column) in (0..self.splits).flat_map(|s| (0..self.batch).map(move |c| (s, c))) {
                let state = &state[(column * self.depth) as usize..][..self.depth as usize];
                let sums = &mut partial[((split * self.batch + column) * self.rows + row) as usize..][..LANES];
                for wave in 0..WAVES_PER_GROUP {
                    let slice = self.slice_reference(weights, state, row, split, wave);
                    sums.iter_mut().zip(slice.0).for_each(|(sum, part)| *sum += part);
                }
            }
        }
        partial
    }

    fn slice_reference(&self, weights: &[f32], state: &[f32], row: u32, split: u32, wave: u32) -> Lanes<f32> {
        let mut sums = Lanes::splat(0.0);
        for chunk in self.chunks(split, wave) {
            for depth in chunk * CHUNK..(chunk + 1) * CHUNK {
                let weights = &weights[self.weight(row, depth) as usize..][..LANES];
                let factor = state[depth as usize];
                sums.0.iter_mut().zip(weights).for_each(|(sum, weight)| *sum += factor * weight);
            }
        }
        sums
    }
}

/// The part of the product that a work-group computes.
struct Place {
    row: u32,
    column: u32,
    split: u32,
    /// The first word of local data of the wavefront.
    local: u32,
}

impl Place {
    fn of(w: &Wave, step: &Step) -> Place {
        let (row, column, split) = step.place(w.work_group());
        Place { row, column, split, local: w.id().wave * step.local_words() }
    }
}

async fn multiply<const N: usize>(w: Wave, step: Step, weights: Buf<f32>, state: Buf<f32>, partial: Buf<f32>) {
    let place = Place::of(&w, &step);
    let mut sums = [Lanes::splat(0.0); N];
    w.alu(12).await;
    for chunk in step.chunks(place.split, w.id().wave) {
        w.alu(4).await;
        add_chunk(&w, &step, &place, weights, state, chunk * CHUNK, &mut sums).await;
    }
    // The words are the wavefront's own until the barrier.
    for (column, &sums) in (0..).zip(&sums) {
        w.lds_write(Mask::ALL, w.lane_ids() + place.local + column * TILE_ROWS, sums);
    }
    w.barrier().await;
    for column in (w.id().wave..N as u32).step_by(WAVES_PER_GROUP as usize) {
        let mut sum = Lanes::splat(0.0);
        for wave in 0..WAVES_PER_GROUP {
            sum = sum + w.lds_read(Mask::ALL, w.lane_ids() + wave * step.local_words() + column * TILE_ROWS);
        }
        w.alu(WAVES_PER_GROUP + 1).await;
        let first = (place.split * step.batch + place.column + column) * step.rows + place.row;
        w.store(partial, w.lane_ids() + first, sum);
    }
}

/// Adds the terms of 32 depths.
async fn add_chunk<const N: usize>(
    w: &Wave,
    step: &Step,
    place: &Place,
    weights: Buf<f32>,
    state: Buf<f32>,
    depth: u32,
    sums: &mut [Lanes<f32>; N],
) {
    w.alu(N as u32).await;
    let column = |column: usize| (place.column + column as u32) * step.depth + depth;
    let states: [_; N] = std::array::from_fn(|c| w.load(state, w.lane_ids() + column(c)));
    let fetch = |first: u32| {
        let line = |line: usize| w.lane_ids() + step.weight(place.row, depth + first + line as u32);
        w.join_all::<_, FETCH>(std::array::from_fn(|l| w.load(weights, line(l))))
    };
    for (column, values) in (0..).zip(w.join_all(states).await) {
        w.lds_write(Mask::ALL, w.lane_ids() * N as u32 + place.local + column, values);
    }
    let mut next = Some(fetch(0));
    for first in (0..CHUNK).step_by(FETCH) {
        let Some(current) = next.take() else { break };
        w.alu(FETCH as u32).await;
        let lines = current.await;
        let following = first + FETCH as u32;
        next = (following < CHUNK).then(|| fetch(following));
        for (offset, line) in (first..).zip(&lines) {
            let factors: [f32; N] = w.lds_read_vector(place.local + offset * N as u32);
            w.alu(N as u32).await;
            for (sums, factor) in sums.iter_mut().zip(factors) {
                add_products(sums, factor, line);
            }
        }
    }
}

/// The partial sums of a step.
#[derive(Clone, Copy, Debug)]
pub struct Partials {
    /// The buffer that holds the partial sums, split by split.
    pub buf: Buf<f32>,
    /// Work-groups that share a sum; 0 if nothing was multiplied.
    pub splits: u32,
    /// Elements of a whole result.
    pub len: u32,
}

impl Partials {
    /// Adds up the parts of some elements.
    pub async fn sum(&self, w: &Wave, element: Lanes<u32>) -> Lanes<f32> {
        let loads: Vec<_> = (0..self.splits).map(|split| w.load(self.buf, element + split * self.len)).collect();
        let mut sum = Lanes::splat(0.0);
        for load in loads {
            sum = sum + load.await;
        }
        w.alu(2 * self.splits).await;
        sum
    }

    /// The sums of all elements, computed on the host.
    pub fn reference(partial: &[f32], len: usize) -> Vec<f32> {
        let mut sums = vec![0.0; len];
        for part in partial.chunks_exact(len) {
            sums.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
        }
        sums
    }
}

/// A launch with one work-item per element.
pub fn elementwise<F: Future<Output = ()> + 'static>(
    name: &'static str,
    len: u32,
    body: impl Fn(Wave) -> F + Send + Sync + 'static,
) -> Kernel {
    let items = WAVES_PER_GROUP * LANES_U32;
    assert!(len.is_multiple_of(items), "{name}: {len} elements fill work-groups of {items}");
    Kernel::new(name, len / items, WAVES_PER_GROUP, body)
}

/// The elements of a chiplet in a launch of [`elementwise`].
pub fn elements_of(share: Share) -> Range<usize> {
    scaled(share.groups(), WAVES_PER_GROUP * LANES_U32)
}

/// The hyperbolic tangent by Lambert's continued fraction, cut off at the seventh term; from there on it would exceed
/// 1.
pub fn tanh(x: f32) -> f32 {
    let x = x.clamp(-4.97, 4.97);
    let square = x * x;
    let over = ((square + 378.0) * square + 17325.0) * square + 135135.0;
    let under = ((28.0 * square + 3150.0) * square + 62370.0) * square + 135135.0;
    x * over / under
}

/// The logistic function, computed with [`tanh`].
pub fn sigmoid(x: f32) -> f32 {
    0.5 * tanh(0.5 * x) + 0.5
}

/// The gradient before a hyperbolic tangent whose value is `output`.
pub fn tanh_gradient(gradient: f32, output: f32) -> f32 {
    gradient * (1.0 - output * output)
}

#[cfg(test)]
mod tests {
    use chorus_kernel::{HostMemory, flat};

    use super::*;
    use crate::generator::SplitMix64;

    fn draw(len: u32) -> Vec<f32> {
        let mut generator = SplitMix64::new(6);
        (0..len).map(|_| generator.between_f32(-1.0, 1.0)).collect()
    }

    fn check(step: Step) {
        let (weights, state) = (draw(step.rows * step.depth), draw(step.batch * step.depth));
        let expected = step.reference(&weights, &state);
        let mut memory = HostMemory::default();
        let (left, right) = (memory.alloc_from(&weights), memory.alloc_from(&state));
        let partial = memory.alloc(step.partial_len());
        flat::run_kernel(&step.kernel("step", left, right, partial), &memory).unwrap();
        assert_eq!(memory.read(partial), expected);
    }

    #[test]
    fn slices_that_do_not_divide_the_depth_cover_it() {
        check(Step { rows: 64, batch: 32, depth: 160, splits: 1, packing: Packing::Panels });
        check(Step { rows: 32, batch: 16, depth: 352, splits: 3, packing: Packing::Transposed });
    }

    #[test]
    fn a_depth_of_one_chunk_leaves_the_other_slices_empty() {
        check(Step { rows: 32, batch: 16, depth: 32, splits: 2, packing: Packing::Panels });
    }

    #[test]
    fn minibatches_of_less_than_a_tile_are_multiplied() {
        check(Step { rows: 64, batch: 4, depth: 96, splits: 1, packing: Packing::Panels });
        check(Step { rows: 32, batch: 12, depth: 64, splits: 2, packing: Packing::Panels });
    }

    #[test]
    fn the_parts_of_a_product_add_up_to_it() {
        let step = Step { rows: 32, batch: 16, depth: 128, splits: 2, packing: Packing::Transposed };
        let (weights, state) = (draw(32 * 128), draw(16 * 128));
        let sums = Partials::reference(&step.reference(&weights, &state), 16 * 32);
        for (column, row) in (0..16).flat_map(|column| (0..32).map(move |row| (column, row))) {
            let exact: f64 =
                (0..128).map(|k| f64::from(weights[k * 32 + row]) * f64::from(state[column * 128 + k])).sum();
            assert!((exact - f64::from(sums[column * 32 + row])).abs() < 1e-4);
        }
    }

    #[test]
    fn the_tangent_is_close_odd_and_bounded() {
        for step in -80_i8..=80 {
            let x = f32::from(step) / 8.0;
            assert!((f64::from(tanh(x)) - f64::from(x).tanh()).abs() < 2e-4, "{x}");
            assert_eq!(tanh(-x), -tanh(x));
            assert!((0.0..=1.0).contains(&sigmoid(x)));
        }
    }
}
