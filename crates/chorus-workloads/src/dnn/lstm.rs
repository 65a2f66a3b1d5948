//! `lstm`: the forward pass of a layer of long short-term memory over the time steps of a minibatch.
//!
//! Source: HMG paper (Ren et al., HPCA 2020), section VI, Table III (lstm layer 2); long short-term memory (Hochreiter,
//! Schmidhuber, Neural Computation 1997) with forget gates (Gers, Schmidhuber, Cummins, Neural Computation 2000), as
//! cuDNN runs it (Appleyard, Kocisky, Blunsom: Optimizing Performance of Recurrent Neural Networks on GPUs, 2016). The
//! states of the layer below are multiplied with the input weights of all four gates, for all time steps at once. Each
//! time step then adds the product of the recurrent weights and the last state, and lets the gates change cell and
//! state.
//!
//! There is one kernel for the input (`gemm.rs`), and two per time step: the product (`recurrent.rs`) and the gates.
//! Sharing: the weights take by far most of the memory, and nobody writes them. One module reads each weight, since
//! work-groups that need the same weights are adjacent. It reads the recurrent weights again in each step. All
//! work-groups write the sums of the gates, row by row. The kernel of the gates reads them, and each of its work-items
//! needs four sums of different rows. All work-groups write the state of a step, and all work-groups of the next
//! product read the whole state. Cells stay with their work-item.
//!
//! Left out: the layer below, whose states are random numbers, and the layer above.
//!
//! Arithmetic of the gates: 6 instructions for indices and addresses; per gate 2 per partial sum, 2 to add the input
//! and for its address, and its function; 3 for the new cell, and a hyperbolic tangent and a product for the state.

use chorus_kernel::{Buf, HostMemory, LANES, Lanes, Wave};

use crate::dnn::network_sizes::{batch, hidden, memory_misfit, splits, steps, tile, tile_misfit, tile_rows};
use crate::dnn::recurrent::{Packing, Partials, SIGMOID_ALU, Step, TANH_ALU, elementwise, sigmoid, tanh};
use crate::gemm::{Addend, Order, Panels, Product, Strided, add_weighted_rows};
use crate::generator::SplitMix64;
use crate::program::{HostProgram, Output};
use crate::registry::{Paper, Suite, Workload};
use crate::size::{SizeSpec, Sizes};

/// Input gate, forget gate, candidate and output gate.
const GATES: u32 = 4;

/// A layer of long short-term memory.
pub struct Lstm;

const SOURCE: &str = "chosen: the 710 MB of HMG Table III (lstm layer 2) in 36 million line accesses";

/// Paper scale takes Table III's 710 MB in a way that few line accesses cover: large weights, 349 MB for the input and
/// as many for the states, and five time steps of a small minibatch. That takes 36 million line accesses. Quick scale
/// takes 9 MB, three times all second-level caches together, and 0.38 million line accesses. It has few units for its
/// minibatch of 16, so that a ten times larger part of the traffic is state instead of weights. Medium scale has four
/// times the weights of quick.
static SIZES: [SizeSpec; 5] = [
    hidden([512, 1024, 4672], SOURCE),
    batch([16, 16, 16], SOURCE),
    steps([3, 3, 5], SOURCE),
    splits([4, 4, 2]),
    tile_rows([16, 16, 32]),
];

/// The size of the layer, and the number of its time steps.
#[derive(Clone, Copy)]
struct Size {
    hidden: u32,
    batch: u32,
    times: u32,
    /// Work-groups that share the depth of a tile of the recurrent product.
    splits: u32,
}

impl Size {
    fn of(sizes: &Sizes) -> Size {
        let [hidden, batch, times, splits] = ["hidden", "batch", "steps", "splits"].map(|key| sizes.get(key));
        Size { hidden, batch, times, splits }
    }

    /// Words of all buffers.
    fn words(&self) -> u64 {
        let [hidden, batch, times, splits] = [self.hidden, self.batch, self.times, self.splits].map(u64::from);
        let (gates, state) = (u64::from(GATES) * hidden, batch * hidden);
        let weights = 2 * gates * hidden + gates;
        let sums = (times + splits) * u64::from(GATES) * state;
        weights + sums + (3 * times + 2) * state
    }

    /// The recurrent product of a time step.
    fn step(&self) -> Step {
        Step {
            rows: GATES * self.hidden,
            batch: self.batch,
            depth: self.hidden,
            splits: self.splits,
            packing: Packing::Panels,
        }
    }

    /// Elements of a state.
    fn state_len(&self) -> u32 {
        self.batch * self.hidden
    }

    /// Sums of a time step.
    fn gates_len(&self) -> u32 {
        GATES * self.state_len()
    }
}

/// The buffers of a time step.
#[derive(Clone, Copy)]
struct TimeStep {
    hidden: u32,
    /// The part of the gates' sums that comes from the input.
    input: Buf<f32>,
    /// The part of the gates' sums that comes from the state.
    partials: Partials,
    cell_before: Buf<f32>,
    cell: Buf<f32>,
    state: Buf<f32>,
}

/// The new cell and state from the sums of the gates and the old cell.
fn open_gates([input, forget, candidate, output]: [f32; GATES as usize], cell: f32) -> (f32, f32) {
    let cell = sigmoid(forget) * cell + sigmoid(input) * tanh(candidate);
    (cell, sigmoid(output) * tanh(cell))
}

/// Changes one cell per work-item.
async fn change_cells(w: Wave, step: TimeStep) {
    let element = w.global_ids();
    let hidden = step.hidden;
    let first = element.map(|element| element / hidden * GATES * hidden + element % hidden);
    w.alu(6).await;
    let before = w.load(step.cell_before, element);
    let mut gates = [Lanes::splat(0.0); GATES as usize];
    for (gate, sums) in (0..).zip(&mut gates) {
        let at = first + gate * hidden;
        let input = w.load(step.input, at);
        let recurrent = step.partials.sum(&w, at).await;
        w.alu(2).await;
        *sums = input.await + recurrent;
    }
    let before = before.await;
    w.alu(3 * SIGMOID_ALU + 2 * TANH_ALU + 4).await;
    let after = Lanes::from_fn(|lane| open_gates(gates.map(|gate| gate[lane]), before[lane]));
    w.store(step.cell, element, after.map(|(cell, _)| cell));
    w.store(step.state, element, after.map(|(_, state)| state));
}

/// The data of a layer on the host.
struct Layer {
    size: Size,
    /// States of the layer below, time by time and column by column.
    below: Vec<f32>,
    /// Both weights are packed in panels of 32 gates.
    input_weights: Vec<f32>,
    bias: Vec<f32>,
    recurrent_weights: Vec<f32>,
    /// Cells and states before the first time step.
    cell: Vec<f32>,
    state: Vec<f32>,
}

/// The results of all time steps, computed on the host.
#[derive(Default)]
struct Expected {
    inputs: Vec<f32>,
    cells: Vec<f32>,
    states: Vec<f32>,
}

impl Layer {
    fn draw(size: Size, seed: u64) -> Layer {
        let mut generator = SplitMix64::new(seed);
        let mut draw =
            |len: u32, limit: f32| -> Vec<f32> { (0..len).map(|_| generator.between_f32(-limit, limit)).collect() };
        let (gates, limit) = (GATES * size.hidden, 2.0 / (size.hidden as f32).sqrt());
        Layer {
            size,
            below: draw(size.times * size.state_len(), 1.0),
            input_weights: draw(size.hidden * gates, limit),
            bias: draw(gates, limit),
            recurrent_weights: draw(size.hidden * gates, limit),
            cell: draw(size.state_len(), 1.0),
            state: draw(size.state_len(), 1.0),
        }
    }

    /// Computes all results. Each sum takes its terms in the order in which the kernels add.
    fn reference(&self) -> Expected {
        let (hidden, gates) = (self.size.hidden as usize, (GATES * self.size.hidden) as usize);
        let mut expected = Expected::default();
        for below in self.below.chunks_exact(hidden) {
            let mut sums = vec![0.0; gates];
            for (sums, panel) in sums.chunks_exact_mut(LANES).zip(self.input_weights.chunks_exact(hidden * LANES)) {
                add_weighted_rows(sums, below, panel);
            }
            expected.inputs.extend(sums.iter().zip(&self.bias).map(|(sum, bias)| sum + bias));
        }
        let (step, gates_len) = (self.size.step(), self.size.gates_len() as usize);
        let (mut cell, mut state) = (self.cell.clone(), self.state.clone());
        for inputs in expected.inputs.chunks_exact(gates_len) {
            let sums = Partials::reference(&step.reference(&self.recurrent_weights, &state), gates_len);
            for element in 0..cell.len() {
                let first = element / hidden * gates + element % hidden;
                let values = std::array::from_fn(|gate| inputs[first + gate * hidden] + sums[first + gate * hidden]);
                (cell[element], state[element]) = open_gates(values, cell[element]);
            }
            expected.cells.extend_from_slice(&cell);
            expected.states.extend_from_slice(&state);
        }
        expected
    }
}

impl Workload for Lstm {
    fn name(&self) -> &'static str {
        "lstm"
    }

    fn title(&self) -> &'static str {
        "Long short-term memory"
    }

    fn summary(&self) -> &'static str {
        "Steps a layer of gated cells through time; every work-group reads the state that all wrote a kernel before."
    }

    fn suite(&self) -> Suite {
        Suite::Dnn
    }

    fn papers(&self) -> &'static [Paper] {
        &[Paper::Hmg]
    }

    fn source(&self) -> &'static str {
        "Ren et al., HMG: Extending Cache Coherence Protocols Across Modern Hierarchical Multi-GPU Systems, HPCA 2020, \
         section VI (lstm layer 2); Hochreiter and Schmidhuber, Long Short-Term Memory, Neural Computation 1997"
    }

    fn sizes(&self) -> &'static [SizeSpec] {
        &SIZES
    }

    fn misfit(&self, sizes: &Sizes) -> Option<String> {
        tile_misfit(sizes).or_else(|| memory_misfit(sizes, Size::of(sizes).words()))
    }

    fn build(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
        let size = Size::of(sizes);
        let layer = Layer::draw(size, seed);
        let (step, len, gates) = (size.step(), size.state_len(), GATES * size.hidden);
        let [below, input_weights, bias, recurrent_weights, first_cell, first_state] =
            [&layer.below, &layer.input_weights, &layer.bias, &layer.recurrent_weights, &layer.cell, &layer.state]
                .map(|values| memory.alloc_from(values));
        let inputs = memory.alloc::<f32>((size.times * size.gates_len()) as usize);
        let [cells, states] = [(); 2].map(|()| memory.alloc::<f32>((size.times * len) as usize));
        let partials = Partials { buf: memory.alloc(step.partial_len()), splits: step.splits, len: size.gates_len() };
        let product = Product {
            rows: size.times * size.batch,
            columns: gates,
            depth: size.hidden,
            a: Strided { buf: below, strides: [size.hidden, 1] },
            b: Panels { buf: input_weights, depth: size.hidden },
            target: Strided { buf: inputs, strides: [gates, 1] },
            addend: Addend::ColumnBias(bias),
            rectify: false,
            order: Order::RowsFirst,
        };
        let mut kernels = vec![product.kernel("input product", tile(sizes))];
        let at = |buf: Buf<f32>, time: u32, len: u32| buf.slice((time * len) as usize, len as usize);
        for time in 0..size.times {
            let [cell_before, state_before] = match time {
                0 => [first_cell, first_state],
                _ => [cells, states].map(|buf| at(buf, time - 1, len)),
            };
            kernels.push(step.kernel("recurrent product", recurrent_weights, state_before, partials.buf));
            let input = at(inputs, time, size.gates_len());
            let [cell, state] = [cells, states].map(|buf| at(buf, time, len));
            let time_step = TimeStep { hidden: size.hidden, input, partials, cell_before, cell, state };
            kernels.push(elementwise("gates", len, move |w| change_cells(w, time_step)).registers(32));
        }
        let expected = layer.reference();
        let outputs = vec![
            Output::new("inputs of the gates", inputs, &expected.inputs),
            Output::new("cells", cells, &expected.cells),
            Output::new("states", states, &expected.states),
        ];
        HostProgram::new(kernels, outputs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_forget_gate_and_an_open_input_gate_replace_the_cell() {
        let (cell, state) = open_gates([20.0, -20.0, 0.5, 20.0], 3.0);
        assert!((cell - tanh(0.5)).abs() < 1e-3);
        assert!((state - tanh(cell)).abs() < 1e-3);
    }

    #[test]
    fn an_open_forget_gate_and_a_closed_input_gate_keep_the_cell() {
        let (cell, state) = open_gates([-20.0, 20.0, 0.5, -20.0], 0.75);
        assert!((cell - 0.75).abs() < 1e-3);
        assert!(state.abs() < 1e-3);
    }
}
