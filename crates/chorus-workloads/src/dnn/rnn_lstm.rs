//! `rnn-lstm` and `rnn-lstm-small`: inference with a layer of long short-term memory.
//!
//! Source: CPElide paper (Dalmia, Kumar, Sinclair), Table II (RNN-LSTM, both sizes); DeepBench; long short-term memory
//! (Hochreiter, Schmidhuber, Neural Computation 1997) with forget gates. `rnn_inference.rs` describes structure, reuse
//! and sizes. Behind the recurrent product of a time step there are three kernels: the functions of the four gates, the
//! cells, and the state. The workload `lstm` has the same mathematics at another size, and one kernel for all three.
//!
//! Weights take 0.5 MB at quick, 2.1 MB at medium and 8.4 MB at paper scale, a quarter of that for the small input.
//! Quick scale has 0.19 million line accesses, and 0.01 million for the small input.
//!
//! Arithmetic, per element: 6 instructions for indices and addresses; per gate 2 per partial sum, 2 to add the input
//! and for its address, and its function; 2 for the cell; a hyperbolic tangent and a product for the state.

use chorus_kernel::AccessMode::{Read, ReadWrite};
use chorus_kernel::{Buf, HostMemory, Kernel, Wave};

use crate::dnn::recurrent::{SIGMOID_ALU, TANH_ALU, elements_of, elementwise, sigmoid, tanh};
use crate::dnn::rnn_inference::{Inference, Input, Moment, Shape, Sums, elements_behind};
use crate::generator::SplitMix64;
use crate::program::{HostProgram, Output};
use crate::registry::{Paper, Suite, Workload};
use crate::size::{SizeSpec, Sizes};

/// Input gate, forget gate, output gate and candidate.
const GATES: u32 = 4;
const CANDIDATE: u32 = 3;

/// Long short-term memory with one of Table II's inputs.
pub struct RnnLstm(pub Input);

/// The buffers of the cells before a pass, and during the pass.
#[derive(Clone, Copy)]
struct Cells {
    first: Buf<f32>,
    now: Buf<f32>,
}

/// The function of a gate, or of the candidate, applied to its sum.
fn activate(gate: u32, sum: f32) -> f32 {
    if gate == CANDIDATE { tanh(sum) } else { sigmoid(sum) }
}

/// All gates of one cell per work-item.
async fn open_gates(w: Wave, shape: Shape, sums: Sums, gates: Buf<f32>) {
    let first = w.global_ids().map(|element| shape.first_gate(element));
    w.alu(6).await;
    for gate in 0..GATES {
        let at = first + gate * shape.hidden;
        let load = w.load(sums.inputs, at);
        let recurrent = sums.partials.sum(&w, at).await;
        let sum = load.await + recurrent;
        w.alu(2 + if gate == CANDIDATE { TANH_ALU } else { SIGMOID_ALU }).await;
        w.store(gates, at, sum.map(|sum| activate(gate, sum)));
    }
}

/// The new content of one cell per work-item.
async fn change_cell(w: Wave, shape: Shape, gates: Buf<f32>, before: Buf<f32>, after: Buf<f32>) {
    let element = w.global_ids();
    let at = |gate: u32| element.map(|element| shape.first_gate(element) + gate * shape.hidden);
    w.alu(6).await;
    let loads = [w.load(gates, at(0)), w.load(gates, at(1)), w.load(gates, at(CANDIDATE)), w.load(before, element)];
    let [input, forget, candidate, cell] = w.join_all(loads).await;
    w.alu(2).await;
    w.store(after, element, forget * cell + input * candidate);
}

/// The new state of one cell per work-item: the part of the cell that the output gate lets out.
async fn let_out(w: Wave, shape: Shape, gates: Buf<f32>, cells: Buf<f32>, state: Buf<f32>) {
    let element = w.global_ids();
    let output = element.map(|element| shape.first_gate(element) + 2 * shape.hidden);
    w.alu(6).await;
    let (output, cell) = w.join(w.load(gates, output), w.load(cells, element)).await;
    w.alu(TANH_ALU + 1).await;
    w.store(state, element, output * cell.map(tanh));
}

/// The kernels behind the products of a moment.
fn cell_kernels(layer: &Inference, moment: Moment, gates: Buf<f32>, cells: Cells) -> [Kernel; 3] {
    let (shape, sums, len) = (layer.shape, layer.sums(moment), layer.shape.state_len());
    let own = move |share| shape.gates_of(elements_of(share));
    let open = elementwise("gates", len, move |w| open_gates(w, shape, sums, gates));
    let before = if moment.time == 0 { cells.first } else { cells.now };
    let mut change = elementwise("cells", len, move |w| change_cell(w, shape, gates, before, cells.now))
        .access_parts(gates, Read, own)
        .access_parts(cells.now, ReadWrite, elements_behind(0));
    if moment.time == 0 {
        change = change.access_parts(cells.first, Read, elements_behind(0));
    }
    let first = layer.first_element(moment);
    let state = layer.states.slice(first, len as usize);
    let out = elementwise("state", len, move |w| let_out(w, shape, gates, cells.now, state))
        .access_parts(gates, Read, own)
        .access_parts(cells.now, Read, elements_behind(0))
        .access_parts(layer.states, ReadWrite, elements_behind(first));
    [layer.reads_sums(open, moment).access_parts(gates, ReadWrite, own), change, out]
}

impl Workload for RnnLstm {
    fn name(&self) -> &'static str {
        match self.0 {
            Input::Small => "rnn-lstm-small",
            Input::Large => "rnn-lstm",
        }
    }

    fn title(&self) -> &'static str {
        match self.0 {
            Input::Small => "Long short-term memory, DeepBench, small",
            Input::Large => "Long short-term memory, DeepBench",
        }
    }

    fn summary(&self) -> &'static str {
        "Steps long short-term memory through time in many kernels; each step reads the weights and all states again."
    }

    fn suite(&self) -> Suite {
        Suite::Dnn
    }

    fn papers(&self) -> &'static [Paper] {
        &[Paper::CpElide]
    }

    fn source(&self) -> &'static str {
        "Dalmia et al., CPElide: Efficient Multi-Chiplet GPU Implicit Synchronization, MICRO 2024, Table II \
         (RNN-LSTM); Baidu Research, DeepBench, 2016; Hochreiter and Schmidhuber, Long Short-Term Memory, Neural \
         Computation 1997"
    }

    fn sizes(&self) -> &'static [SizeSpec] {
        self.0.sizes()
    }

    fn misfit(&self, sizes: &Sizes) -> Option<String> {
        Shape::of(GATES, sizes).misfit(sizes)
    }

    fn build(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
        let shape = Shape::of(GATES, sizes);
        let layer = Inference::draw(shape, seed, memory);
        let gates = memory.alloc(shape.gates_len() as usize);
        let mut generator = SplitMix64::new(!seed);
        let first: Vec<f32> = (0..shape.state_len()).map(|_| generator.between_f32(-1.0, 1.0)).collect();
        let cells = Cells { first: memory.alloc_from(&first), now: memory.alloc(first.len()) };
        let mut kernels = Vec::new();
        for moment in layer.moments() {
            kernels.extend(layer.products(moment));
            kernels.extend(cell_kernels(&layer, moment, gates, cells));
        }
        let mut contents = first.clone();
        let expected = layer.reference(|time, element, sums, _| {
            let value = |gate: u32| activate(gate, sums[gate as usize].input + sums[gate as usize].recurrent);
            let before = if time == 0 { first[element] } else { contents[element] };
            contents[element] = value(1) * before + value(0) * value(CANDIDATE);
            value(2) * tanh(contents[element])
        });
        let outputs = vec![Output::new("states", layer.states, &expected), Output::new("cells", cells.now, &contents)];
        HostProgram::new(kernels, outputs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn candidates_may_be_negative_and_gates_may_not() {
        assert!(activate(CANDIDATE, -1.0) < 0.0);
        assert!((0..CANDIDATE).all(|gate| activate(gate, -1.0) > 0.0));
    }
}
