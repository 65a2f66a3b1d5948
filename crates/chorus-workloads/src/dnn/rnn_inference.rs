//! Inference with a layer of gated cells over the time steps of a minibatch: the common part of `rnn-gru` and
//! `rnn-lstm`.
//!
//! Source: DeepBench (Baidu Research: recurrent layers, forward), which CPElide takes at two sizes (Table II:
//! minibatch, time steps and hidden units are 4, 2 and 256, or 16, 4 and 512), with as many inputs as units. A pass is
//! run as MIOpen and cuDNN run it (Appleyard, Kocisky, Blunsom: Optimizing Performance of Recurrent Neural Networks on
//! GPUs, 2016). The inputs of all time steps are multiplied with the input weights of all gates at once (`gemm.rs`).
//! Each time step then multiplies the recurrent weights with the last state (`recurrent.rs`). The gates, the candidates
//! and the state follow element by element, in kernels of their own.
//!
//! DeepBench times repeated passes with the same weights. This program also runs several passes, and each has a
//! minibatch of its own.
//!
//! Reuse and sharing: the recurrent weights are read again in each time step, and all weights in each pass. One chiplet
//! reads each weight, since work-groups that need the same weights are adjacent. Sums go from the chiplets that have
//! their row to the chiplets that have their column, and the state of a step goes back to all chiplets. Values that
//! the kernels behind a product hand on stay with their chiplet.

use std::ops::Range;

use chorus_kernel::AccessMode::{Read, ReadWrite};
use chorus_kernel::{Buf, HostMemory, Kernel, LANES, Share};

use crate::dnn::network_sizes::{batch, hidden, memory_misfit, splits, steps};
use crate::dnn::recurrent::{Packing, Partials, Step, elements_of};
use crate::gemm::{Addend, Order, Panels, Product, Strided, Tile, add_weighted_rows};
use crate::generator::SplitMix64;
use crate::shares::{few, rows_of, scaled};
use crate::size::{SizeSpec, Sizes};

const SMALL_SOURCE: &str = "CPElide Table II: minibatch, time steps and units are 4, 2 and 256";
const LARGE_SOURCE: &str = "CPElide Table II: minibatch, time steps and units are 16, 4 and 512";

const PASSES: SizeSpec = SizeSpec::new(
    "passes",
    "passes with the same weights",
    [3, 3, 3],
    "chosen: DeepBench repeats passes, and CPElide does not say how often",
)
.range(1, 1 << 10);

/// Paper scale is Table II's small input. Quick scale has a quarter of the units, thus a sixteenth of the weights, with
/// the same minibatch and time steps. Medium scale has half of the units.
static SMALL: [SizeSpec; 5] = [
    hidden([64, 128, 256], SMALL_SOURCE),
    batch([4, 4, 4], SMALL_SOURCE),
    steps([2, 2, 2], SMALL_SOURCE),
    splits([1, 1, 2]),
    PASSES,
];

/// Paper scale is Table II's large input. Quick scale has a quarter and medium scale half of the units.
static LARGE: [SizeSpec; 5] = [
    hidden([128, 256, 512], LARGE_SOURCE),
    batch([16, 16, 16], LARGE_SOURCE),
    steps([4, 4, 4], LARGE_SOURCE),
    splits([1, 2, 4]),
    PASSES,
];

/// One of the two inputs of Table II.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// A minibatch of 4, 2 time steps, 256 units.
    Small,
    /// A minibatch of 16, 4 time steps, 512 units.
    Large,
}

impl Input {
    /// The sizes that a workload with this input declares.
    pub fn sizes(self) -> &'static [SizeSpec] {
        match self {
            Input::Small => &SMALL,
            Input::Large => &LARGE,
        }
    }
}

/// The size of the layer, and the number of its passes and time steps.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Gates of a cell, its candidate included.
    pub gates: u32,
    /// Number of cells, and of inputs.
    pub hidden: u32,
    batch: u32,
    /// Time steps of a pass.
    times: u32,
    passes: u32,
    /// Work-groups that share the depth of a tile of the recurrent product.
    splits: u32,
}

impl Shape {
    /// The shape of a layer whose cells have `gates` gates.
    pub fn of(gates: u32, sizes: &Sizes) -> Shape {
        let [hidden, batch, times, passes, splits] =
            ["hidden", "batch", "steps", "passes", "splits"].map(|key| sizes.get(key));
        Shape { gates, hidden, batch, times, passes, splits }
    }

    /// Refuses sizes that take too much memory. The two buffers of cells that only `rnn-lstm` has always count.
    pub fn misfit(&self, sizes: &Sizes) -> Option<String> {
        let [gates, hidden, batch, times, passes, splits] =
            [self.gates, self.hidden, self.batch, self.times, self.passes, self.splits].map(u64::from);
        let sums = (times + splits + 1) * gates * batch * hidden;
        let states = (2 * passes * times + 3) * batch * hidden;
        memory_misfit(sizes, 2 * gates * hidden * hidden + gates * hidden + sums + states)
    }

    /// Elements of a state.
    pub fn state_len(&self) -> u32 {
        self.batch * self.hidden
    }

    /// Sums of a time step.
    pub fn gates_len(&self) -> u32 {
        self.gates * self.state_len()
    }

    /// The place of the first gate's sum of an element of the state. The other gates follow at the distance of
    /// `hidden`.
    pub fn first_gate(&self, element: u32) -> u32 {
        element / self.hidden * self.gates * self.hidden + element % self.hidden
    }

    /// The recurrent product of a time step.
    fn step(&self) -> Step {
        let Shape { gates, hidden, batch, splits, .. } = *self;
        Step { rows: gates * hidden, batch, depth: hidden, splits, packing: Packing::Panels }
    }

    /// The sums of all gates of some elements, as few ranges.
    pub fn gates_of(&self, elements: Range<usize>) -> Vec<Range<usize>> {
        let hidden = self.hidden as usize;
        let mut parts: Vec<Range<usize>> = Vec::new();
        let mut start = elements.start;
        while start < elements.end {
            let end = elements.end.min((start / hidden + 1) * hidden);
            for gate in 0..self.gates as usize {
                let first = self.first_gate(start as u32) as usize + gate * hidden;
                match parts.last_mut() {
                    Some(last) if last.end == first => last.end += end - start,
                    _ => parts.push(first..first + end - start),
                }
            }
            start = end;
        }
        parts
    }
}

/// A place in time: a time step of a pass.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    pass: u32,
    /// The number of the time step in its pass.
    pub time: u32,
}

/// A layer in memory and on the host.
pub struct Inference {
    /// The shape of the layer.
    pub shape: Shape,
    /// States of the layer below, pass by pass, time by time and column by column.
    below: (Buf<f32>, Vec<f32>),
    /// Both weights are packed in panels of 32 gates.
    input_weights: (Buf<f32>, Vec<f32>),
    bias: (Buf<f32>, Vec<f32>),
    recurrent_weights: (Buf<f32>, Vec<f32>),
    /// The state before the first time step of each pass.
    first_state: (Buf<f32>, Vec<f32>),
    /// The part of the gates' sums that comes from the input, for all time steps of a pass.
    inputs: Buf<f32>,
    /// The part of the gates' sums that comes from the state, for one time step.
    partials: Partials,
    /// The states of all passes and time steps.
    pub states: Buf<f32>,
}

/// The sums of the gates that a kernel of one time step reads, in two parts.
#[derive(Clone, Copy, Debug)]
pub struct Sums {
    /// The part that comes from the input.
    pub inputs: Buf<f32>,
    /// The part that comes from the state.
    pub partials: Partials,
}

/// A sum of a gate on the host, in two parts.
#[derive(Clone, Copy, Debug)]
pub struct Sum {
    /// The part that comes from the input, with the bias.
    pub input: f32,
    /// The part that comes from the state.
    pub recurrent: f32,
}

impl Inference {
    /// A layer of random weights and inputs.
    pub fn draw(shape: Shape, seed: u64, memory: &mut HostMemory) -> Inference {
        let mut generator = SplitMix64::new(seed);
        let mut draw = |len: u32, limit: f32| {
            let values: Vec<f32> = (0..len).map(|_| generator.between_f32(-limit, limit)).collect();
            (memory.alloc_from(&values), values)
        };
        let (gates, limit) = (shape.gates * shape.hidden, 2.0 / (shape.hidden as f32).sqrt());
        let below = draw(shape.passes * shape.times * shape.state_len(), 1.0);
        let input_weights = draw(shape.hidden * gates, limit);
        let bias = draw(gates, limit);
        let recurrent_weights = draw(shape.hidden * gates, limit);
        let first_state = draw(shape.state_len(), 1.0);
        let inputs = memory.alloc((shape.times * shape.gates_len()) as usize);
        let partial = memory.alloc(shape.step().partial_len());
        let partials = Partials { buf: partial, splits: shape.splits, len: shape.gates_len() };
        let states = memory.alloc((shape.passes * shape.times * shape.state_len()) as usize);
        Inference { shape, below, input_weights, bias, recurrent_weights, first_state, inputs, partials, states }
    }

    /// All moments in their order.
    pub fn moments(&self) -> impl Iterator<Item = Moment> + use<> {
        let Shape { passes, times, .. } = self.shape;
        (0..passes).flat_map(move |pass| (0..times).map(move |time| Moment { pass, time }))
    }

    /// The products that come before the gates of a moment.
    pub fn products(&self, moment: Moment) -> Vec<Kernel> {
        let mut kernels = Vec::new();
        if moment.time == 0 {
            kernels.push(self.input_product(moment.pass));
        }
        let step = self.shape.step();
        let (state, first) = self.state_before(moment);
        let len = self.shape.state_len() as usize;
        let whole = first..first + len;
        let recurrent = step
            .kernel("recurrent product", self.recurrent_weights.0, state.slice(first, len), self.partials.buf)
            .access_parts(self.recurrent_weights.0, Read, move |share| vec![step.weights_of(share)])
            .access_parts(state, Read, move |_| vec![whole.clone()])
            .access_parts(self.partials.buf, ReadWrite, move |share| step.partials_of(share));
        kernels.push(recurrent);
        kernels
    }

    fn input_product(&self, pass: u32) -> Kernel {
        let Shape { hidden, batch, times, .. } = self.shape;
        let (rows, gates) = (times * batch, self.shape.gates * hidden);
        let (below, len) = (self.below.0, (times * self.shape.state_len()) as usize);
        let first = pass as usize * len;
        let whole = first..first + len;
        let product = Product {
            rows,
            columns: gates,
            depth: hidden,
            a: Strided { buf: below.slice(first, len), strides: [hidden, 1] },
            b: Panels { buf: self.input_weights.0, depth: hidden },
            target: Strided { buf: self.inputs, strides: [gates, 1] },
            addend: Addend::ColumnBias(self.bias.0),
            rectify: false,
            order: Order::RowsFirst,
        };
        let tiles_down = rows.div_ceil(Tile::Small.rows());
        let columns = move |share: Share, each| vec![scaled(rows_of(share, tiles_down), LANES as u32 * each)];
        product
            .kernel("input product", Tile::Small)
            .access_parts(below, Read, move |_| vec![whole.clone()])
            .access_parts(self.input_weights.0, Read, move |share| columns(share, hidden))
            .access_parts(self.bias.0, Read, move |share| columns(share, 1))
            .access_parts(self.inputs, ReadWrite, move |share| {
                let own = scaled(rows_of(share, tiles_down), LANES as u32);
                let first = |row: u32| row as usize * gates as usize;
                few((0..rows).map(|row| first(row) + own.start..first(row) + own.end).collect())
            })
    }

    /// The sums that the kernels of a moment read.
    pub fn sums(&self, moment: Moment) -> Sums {
        let len = self.shape.gates_len() as usize;
        Sums { inputs: self.inputs.slice(moment.time as usize * len, len), partials: self.partials }
    }

    /// The buffer that holds the state before a moment, and the place of the state's first element in it.
    pub fn state_before(&self, moment: Moment) -> (Buf<f32>, usize) {
        match moment.time {
            0 => (self.first_state.0, 0),
            _ => (self.states, self.first_element(moment) - self.shape.state_len() as usize),
        }
    }

    /// The first element of the state of a moment.
    pub fn first_element(&self, Moment { pass, time }: Moment) -> usize {
        ((pass * self.shape.times + time) * self.shape.state_len()) as usize
    }

    /// Declares the sums of a moment that an elementwise kernel reads.
    pub fn reads_sums(&self, kernel: Kernel, moment: Moment) -> Kernel {
        let (shape, splits) = (self.shape, self.partials.splits as usize);
        let parts = move |share: Share, first: usize| {
            shape.gates_of(elements_of(share)).into_iter().map(move |part| first + part.start..first + part.end)
        };
        let len = shape.gates_len() as usize;
        let input = moment.time as usize * len;
        kernel.access_parts(self.inputs, Read, move |share| parts(share, input).collect()).access_parts(
            self.partials.buf,
            Read,
            move |share| (0..splits).flat_map(|split| parts(share, split * len)).collect(),
        )
    }

    /// The states of all moments, computed on the host. `next` gives the new state of an element from the time step,
    /// the element, the sums of its gates and its state before.
    pub fn reference(&self, mut next: impl FnMut(u32, usize, &[Sum], f32) -> f32) -> Vec<f32> {
        let (shape, step) = (self.shape, self.shape.step());
        let (hidden, gates_len) = (shape.hidden as usize, shape.gates_len() as usize);
        let inputs = self.input_reference();
        let (mut states, mut state) = (Vec::new(), Vec::new());
        for (moment, inputs) in self.moments().zip(inputs.chunks_exact(gates_len)) {
            if moment.time == 0 {
                state.clone_from(&self.first_state.1);
            }
            let recurrent = Partials::reference(&step.reference(&self.recurrent_weights.1, &state), gates_len);
            for (element, state) in state.iter_mut().enumerate() {
                let first = shape.first_gate(element as u32) as usize;
                let at = (0..shape.gates as usize).map(|gate| first + gate * hidden);
                let sums: Vec<Sum> = at.map(|at| Sum { input: inputs[at], recurrent: recurrent[at] }).collect();
                *state = next(moment.time, element, &sums, *state);
            }
            states.extend_from_slice(&state);
        }
        states
    }

    /// The part of the gates' sums that comes from the input, for all moments. Each sum takes its terms in the order in
    /// which the kernel adds.
    fn input_reference(&self) -> Vec<f32> {
        let hidden = self.shape.hidden as usize;
        let mut inputs = Vec::new();
        for below in self.below.1.chunks_exact(hidden) {
            for (panel, bias) in self.input_weights.1.chunks_exact(hidden * LANES).zip(self.bias.1.chunks_exact(LANES))
            {
                let mut sums = [0.0; LANES];
                add_weighted_rows(&mut sums, below, panel);
                inputs.extend(sums.iter().zip(bias).map(|(sum, bias)| sum + bias));
            }
        }
        inputs
    }
}

/// The elements that a chiplet has in an elementwise launch on a state that begins at the element `first` of a buffer.
pub fn elements_behind(first: usize) -> impl Fn(Share) -> Vec<Range<usize>> {
    move |share| {
        let own = elements_of(share);
        let behind = first + own.start..first + own.end;
        vec![behind]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gates_of_whole_columns_are_one_range_and_those_of_parts_one_per_gate() {
        let shape = Shape { gates: 3, hidden: 64, batch: 4, times: 1, passes: 1, splits: 1 };
        assert_eq!(shape.gates_of(64..192).first(), Some(&(192..576)));
        assert_eq!(shape.gates_of(64..192).len(), 1);
        assert_eq!(shape.gates_of(32..64), [32..64, 96..128, 160..192]);
        assert_eq!(shape.gates_of(32..128), [32..64, 96..128, 160..384]);
    }
}
