//! `rnn-gru` and `rnn-gru-small`: inference with a layer of gated recurrent units.
//!
//! Source: CPElide paper (Dalmia, Kumar, Sinclair), Table II (RNN-GRU, both sizes); DeepBench. The unit comes from Cho
//! et al. (Learning Phrase Representations using RNN Encoder-Decoder, EMNLP 2014). The reset gate is applied behind the
//! recurrent product, as libraries do. `rnn_inference.rs` describes structure, reuse and sizes. Behind the recurrent
//! product of a time step there are three kernels: update and reset gate, candidate, and state.
//!
//! Weights take 0.4 MB at quick, 1.6 MB at medium and 6.3 MB at paper scale, a quarter of that for the small input.
//! Quick scale has 0.14 million line accesses, and 0.01 million for the small input. Its kernels are short, as those of
//! the original are.
//!
//! Arithmetic, per element: 6 instructions for indices and addresses; 2 per partial sum and 2 to add the input and for
//! its address; the functions of the gates; a product and an addition for the candidate, 3 for the state.

use chorus_kernel::AccessMode::{Read, ReadWrite};
use chorus_kernel::{Buf, HostMemory, Kernel, Lanes, Wave};

use crate::dnn::recurrent::{SIGMOID_ALU, TANH_ALU, elements_of, elementwise, sigmoid, tanh};
use crate::dnn::rnn_inference::{Inference, Input, Moment, Shape, Sums, elements_behind};
use crate::program::{HostProgram, Output};
use crate::registry::{Paper, Suite, Workload};
use crate::size::{SizeSpec, Sizes};

/// Update gate, reset gate and candidate.
const GATES: u32 = 3;

/// Gated recurrent units with one of Table II's inputs.
pub struct RnnGru(pub Input);

/// The new state, a mixture of the old state and the candidate. The update gate is the weight of the old state.
fn mix(update: f32, candidate: f32, state: f32) -> f32 {
    candidate + update * (state - candidate)
}

/// Update and reset gate of one cell per work-item.
async fn open_gates(w: Wave, shape: Shape, sums: Sums, gates: Buf<f32>) {
    let first = w.global_ids().map(|element| shape.first_gate(element));
    w.alu(6).await;
    for gate in 0..2 {
        let at = first + gate * shape.hidden;
        let input = w.load(sums.inputs, at);
        let recurrent = sums.partials.sum(&w, at).await;
        let input = input.await;
        w.alu(2 + SIGMOID_ALU).await;
        w.store(gates, at, (input + recurrent).map(sigmoid));
    }
}

/// The candidate of one cell per work-item, which sees as much of the state as the reset gate lets through.
async fn propose(w: Wave, shape: Shape, sums: Sums, gates: Buf<f32>) {
    let reset = w.global_ids().map(|element| shape.first_gate(element)) + shape.hidden;
    let at = reset + shape.hidden;
    w.alu(6).await;
    let loads = w.join(w.load(sums.inputs, at), w.load(gates, reset));
    let recurrent = sums.partials.sum(&w, at).await;
    let (input, reset) = loads.await;
    w.alu(2 + TANH_ALU).await;
    w.store(gates, at, (input + reset * recurrent).map(tanh));
}

/// The new state of one cell per work-item.
async fn change_state(w: Wave, shape: Shape, gates: Buf<f32>, before: Buf<f32>, state: Buf<f32>) {
    let element = w.global_ids();
    let update = element.map(|element| shape.first_gate(element));
    w.alu(6).await;
    let [update, candidate, before] =
        w.join_all([w.load(gates, update), w.load(gates, update + 2 * shape.hidden), w.load(before, element)]).await;
    w.alu(3).await;
    w.store(state, element, Lanes::from_fn(|lane| mix(update[lane], candidate[lane], before[lane])));
}

/// The kernels behind the products of a moment.
fn cell_kernels(layer: &Inference, moment: Moment, gates: Buf<f32>) -> [Kernel; 3] {
    let (shape, sums, len) = (layer.shape, layer.sums(moment), layer.shape.state_len());
    let own = move |share| shape.gates_of(elements_of(share));
    let open = elementwise("gates", len, move |w| open_gates(w, shape, sums, gates));
    let propose = elementwise("candidate", len, move |w| propose(w, shape, sums, gates));
    let ((before, old), new) = (layer.state_before(moment), layer.first_element(moment));
    let slices = [before.slice(old, len as usize), layer.states.slice(new, len as usize)];
    let change = elementwise("state", len, move |w| change_state(w, shape, gates, slices[0], slices[1]));
    [
        layer.reads_sums(open, moment).access_parts(gates, ReadWrite, own),
        layer.reads_sums(propose, moment).access_parts(gates, ReadWrite, own),
        change.access_parts(gates, Read, own).access_parts(before, Read, elements_behind(old)).access_parts(
            layer.states,
            ReadWrite,
            elements_behind(new),
        ),
    ]
}

impl Workload for RnnGru {
    fn name(&self) -> &'static str {
        match self.0 {
            Input::Small => "rnn-gru-small",
            Input::Large => "rnn-gru",
        }
    }

    fn title(&self) -> &'static str {
        match self.0 {
            Input::Small => "Gated recurrent units, small",
            Input::Large => "Gated recurrent units",
        }
    }

    fn summary(&self) -> &'static str {
        "Steps gated recurrent units through time; weights are read again in each step, states go from all to all."
    }

    fn suite(&self) -> Suite {
        Suite::Dnn
    }

    fn papers(&self) -> &'static [Paper] {
        &[Paper::CpElide]
    }

    fn source(&self) -> &'static str {
        "Dalmia et al., CPElide: Efficient Multi-Chiplet GPU Implicit Synchronization, MICRO 2024, Table II (RNN-GRU); \
         Baidu Research, DeepBench, 2016"
    }

    fn sizes(&self) -> &'static [SizeSpec] {
        self.0.sizes()
    }

    fn misfit(&self, sizes: &Sizes) -> Option<String> {
        Shape::of(GATES, sizes).misfit(sizes)
    }

    fn build(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
        let layer = Inference::draw(Shape::of(GATES, sizes), seed, memory);
        let gates = memory.alloc(layer.shape.gates_len() as usize);
        let mut kernels = Vec::new();
        for moment in layer.moments() {
            kernels.extend(layer.products(moment));
            kernels.extend(cell_kernels(&layer, moment, gates));
        }
        let expected = layer.reference(|_, _, sums, state| {
            let [update, reset] = [0, 1].map(|gate| sigmoid(sums[gate].input + sums[gate].recurrent));
            mix(update, tanh(sums[2].input + reset * sums[2].recurrent), state)
        });
        HostProgram::new(kernels, vec![Output::new("states", layer.states, &expected)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_update_gate_keeps_or_replaces_the_state() {
        assert_eq!(mix(0.0, 0.5, -0.25), 0.5);
        assert_eq!(mix(1.0, 0.5, -0.25), -0.25);
    }
}
