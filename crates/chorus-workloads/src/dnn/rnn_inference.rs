//! Inference with a layer of gated cells over the time steps of a minibatch: what `rnn-gru` and `rnn-lstm` have in
//! common.
//!
//! Source: DeepBench (Baidu Research: recurrent layers, forward), which CPElide takes at two sizes (Table II:
//! minibatch, time steps and hidden units are 4, 2 and 256, or 16, 4 and 512), with as many inputs as units. A pass is
//! run as MIOpen and cuDNN run it (Appleyard, Kocisky, Blunsom: Optimizing Performance of Recurrent Neural Networks on
//! GPUs, 2016): the inputs of all time steps are multiplied with the input weights of all gates at once (`gemm.rs`);
//! each time step then multiplies the recurrent weights with the last state (`recurrent.rs`), and element by element
//! the gates, the candidates and the state follow in kernels of their own.
//!
//! Like DeepBench, which times repeated passes with the same weights, the program runs several passes, here with a
//! minibatch of its own each.
//!
//! Reuse and sharing: the recurrent weights are read again in each time step and all weights in each pass, each by one
//! chiplet, since work-groups that need the same are adjacent. Sums go from the chiplets that have their row to those
//! that have their column, and the state of a step back to all of them. What the kernels behind a product hand on
//! stays with its chiplet.
//!
//! Sizes: the paper scale is Table II's. The quick scale has a quarter of the units, thus a sixteenth of the weights,
//! with the same minibatch and time steps; the medium scale has half of the units.

use std::ops::Range;

use chorus_sim::frontend::AccessMode::{Read, ReadWrite};
use chorus_sim::frontend::{Buf, HostMemory, Kernel, LANES, Share};
use chorus_system::Scale;

use crate::dnn::recurrent::{Packing, Partials, Step, elements_of};
use crate::gemm::{Addend, Order, Panels, Product, Strided, Tile, add_weighted_rows};
use crate::generator::SplitMix64;
use crate::shares::{few, rows_of, scaled};

/// Passes with the same weights.
pub const PASSES: u32 = 3;

/// Which of Table II's sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// A minibatch of 4, 2 time steps, 256 units.
    Small,
    /// A minibatch of 16, 4 time steps, 512 units.
    Large,
}

/// How large the layer is, and how far it is followed.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Gates of a cell, its candidate included.
    pub gates: u32,
    /// Cells, and inputs.
    pub hidden: u32,
    /// The minibatch.
    pub batch: u32,
    /// Time steps of a pass.
    pub times: u32,
    /// Work-groups that share the depth of a tile of the recurrent product.
    splits: u32,
}

impl Shape {
    /// A layer of one of Table II's sizes.
    pub fn new(gates: u32, input: Input, scale: Scale) -> Shape {
        let (hidden, batch, times, splits) = match input {
            Input::Small => (256, 4, 2, 2),
            Input::Large => (512, 16, 4, 4),
        };
        let divisor = match scale {
            Scale::Quick => 4,
            Scale::Medium => 2,
            Scale::Paper => 1,
        };
        Shape { gates, hidden: hidden / divisor, batch, times, splits: (splits / divisor).max(1) }
    }

    /// Elements of a state.
    pub fn state_len(&self) -> u32 {
        self.batch * self.hidden
    }

    /// Sums of a time step.
    pub fn gates_len(&self) -> u32 {
        self.gates * self.state_len()
    }

    /// The sum of the first gate of an element of the state; those of the others follow at the distance of `hidden`.
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

/// A place in time: which pass, and which of its time steps.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// Of all passes.
    pub pass: u32,
    /// Of the time steps of a pass.
    pub time: u32,
}

/// A layer in memory and on the host.
pub struct Inference {
    /// Its shape.
    pub shape: Shape,
    /// States of the layer below, pass by pass, time by time and column by column.
    below: (Buf<f32>, Vec<f32>),
    /// Both weights are packed in panels of 32 gates.
    input_weights: (Buf<f32>, Vec<f32>),
    bias: (Buf<f32>, Vec<f32>),
    recurrent_weights: (Buf<f32>, Vec<f32>),
    /// Before the first time step of each pass.
    first_state: (Buf<f32>, Vec<f32>),
    /// The input's share of the gates of all time steps of a pass.
    inputs: Buf<f32>,
    /// The state's share of the gates of a time step.
    partials: Partials,
    /// The states of all passes and time steps.
    pub states: Buf<f32>,
}

/// What a kernel of one time step reads of the sums.
#[derive(Clone, Copy, Debug)]
pub struct Sums {
    /// The input's share.
    pub inputs: Buf<f32>,
    /// The state's share.
    pub partials: Partials,
}

/// The shares of a sum on the host.
#[derive(Clone, Copy, Debug)]
pub struct Sum {
    /// The input's, bias included.
    pub input: f32,
    /// The state's.
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
        let below = draw(PASSES * shape.times * shape.state_len(), 1.0);
        let input_weights = draw(shape.hidden * gates, limit);
        let bias = draw(gates, limit);
        let recurrent_weights = draw(shape.hidden * gates, limit);
        let first_state = draw(shape.state_len(), 1.0);
        let inputs = memory.alloc((shape.times * shape.gates_len()) as usize);
        let partial = memory.alloc(shape.step().partial_len());
        let partials = Partials { buf: partial, splits: shape.splits, len: shape.gates_len() };
        let states = memory.alloc((PASSES * shape.times * shape.state_len()) as usize);
        Inference { shape, below, input_weights, bias, recurrent_weights, first_state, inputs, partials, states }
    }

    /// All moments in their order.
    pub fn moments(&self) -> impl Iterator<Item = Moment> + use<> {
        let times = self.shape.times;
        (0..PASSES).flat_map(move |pass| (0..times).map(move |time| Moment { pass, time }))
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

    /// The sums of a moment, for its kernels.
    pub fn sums(&self, moment: Moment) -> Sums {
        let len = self.shape.gates_len() as usize;
        Sums { inputs: self.inputs.slice(moment.time as usize * len, len), partials: self.partials }
    }

    /// What holds the state before a moment, and its first element there.
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

    /// Says what an element by element kernel reads of the sums of a moment.
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

    /// The states of all moments on the host; `next` gives the one of an element from the time step, the element, the
    /// sums of its gates and the state before.
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

    /// The input's share of the gates of all moments, each sum in the order in which the kernel adds.
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

/// The elements of a state that a chiplet has in a launch element by element, behind the first one.
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
        let shape = Shape { gates: 3, hidden: 64, batch: 4, times: 1, splits: 1 };
        assert_eq!(shape.gates_of(64..192).first(), Some(&(192..576)));
        assert_eq!(shape.gates_of(64..192).len(), 1);
        assert_eq!(shape.gates_of(32..64), [32..64, 96..128, 160..192]);
        assert_eq!(shape.gates_of(32..128), [32..64, 96..128, 160..384]);
    }
}
