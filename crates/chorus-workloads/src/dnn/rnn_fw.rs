//! `rnn-fw`: the forward pass of a recurrent layer over the time steps of a minibatch.
//!
//! Source: HMG paper (Ren et al., HPCA 2020), section VI, Table III (RNN layer 4, FW); the simple recurrent layer of
//! Elman (Cognitive Science 1990), as cuDNN runs it (Appleyard, Kocisky, Blunsom: Optimizing Performance of Recurrent
//! Neural Networks on GPUs, 2016). The products of the input with its weights are made beforehand, for all time steps
//! at once. Each step adds the product of the recurrent weights and the last state and takes the hyperbolic tangent.
//!
//! There are two kernels per time step: the product (`recurrent.rs`) and the activation. Sharing: one module reads each
//! row of the weights, again in each step, and nobody writes them. All work-groups of the activation write the state of
//! a step, element by element, and all work-groups of the next product read the whole state. The partial sums go the
//! opposite way. Only the weights are used for long.
//!
//! Kernels fill all buffers before, as in DeepBench (`filled.rs`).
//!
//! Left out: the input's products, which are the same kind of product without dependences (`lstm` has them); DeepBench
//! leaves them out, too.
//!
//! Arithmetic of the activation: 4 instructions for index and addresses, 2 per partial sum, 1 to add the input, and the
//! hyperbolic tangent.

use chorus_kernel::{Buf, HostMemory, Wave};

use crate::dnn::filled::Filled;
use crate::dnn::network_sizes::{batch, hidden, memory_misfit, splits, steps};
use crate::dnn::recurrent::{Packing, Partials, Step, TANH_ALU, elementwise, tanh};
use crate::program::{HostProgram, Output};
use crate::registry::{Paper, Suite, Workload};
use crate::size::{SizeSpec, Sizes};

/// The forward pass of a recurrent layer.
pub struct RnnForward;

/// Paper scale takes Table III's 40 MB: 1760 units are the size of DeepBench's simple recurrent layers, 64 is one of
/// its minibatches, and 28 time steps fill the rest. That takes 17 million line accesses. Weights and states almost fit
/// all second-level caches together, on both machines. Quick scale takes 2.4 MB and 0.24 million line accesses, and has
/// about as many elements of the minibatch for each unit as paper scale. Medium scale doubles both and halves the time
/// steps.
static SIZES: [SizeSpec; 4] = [
    hidden([512, 1024, 1760], "DeepBench: units of its simple recurrent layers"),
    batch([16, 32, 64], "DeepBench: one of its minibatches"),
    steps([16, 8, 28], "chosen: the 40 MB of HMG Table III (RNN layer 4, FW)"),
    splits([4, 4, 4]),
];

/// The product of a time step.
fn step(sizes: &Sizes) -> Step {
    let [hidden, batch, splits] = ["hidden", "batch", "splits"].map(|key| sizes.get(key));
    Step { rows: hidden, batch, depth: hidden, splits, packing: Packing::Panels }
}

/// Words of all buffers.
fn words(sizes: &Sizes) -> u64 {
    let [hidden, batch, steps, splits] = ["hidden", "batch", "steps", "splits"].map(|key| u64::from(sizes.get(key)));
    hidden * hidden + (2 * steps + 1 + splits) * batch * hidden
}

/// Adds input and partial sums and takes the hyperbolic tangent.
async fn activate(w: Wave, input: Buf<f32>, partials: Partials, state: Buf<f32>) {
    let element = w.global_ids();
    w.alu(4).await;
    let load = w.load(input, element);
    let sum = partials.sum(&w, element).await;
    let input = load.await;
    w.alu(1 + TANH_ALU).await;
    w.store(state, element, (input + sum).map(tanh));
}

impl Workload for RnnForward {
    fn name(&self) -> &'static str {
        "rnn-fw"
    }

    fn title(&self) -> &'static str {
        "Recurrent layer, forward"
    }

    fn summary(&self) -> &'static str {
        "Steps a recurrent layer through time; every work-group reads the state that all of them wrote a kernel before."
    }

    fn suite(&self) -> Suite {
        Suite::Dnn
    }

    fn papers(&self) -> &'static [Paper] {
        &[Paper::Hmg]
    }

    fn source(&self) -> &'static str {
        "Ren et al., HMG: Extending Cache Coherence Protocols Across Modern Hierarchical Multi-GPU Systems, HPCA 2020, \
         section VI (RNN layer 4, FW); Elman, Finding Structure in Time, Cognitive Science 1990"
    }

    fn sizes(&self) -> &'static [SizeSpec] {
        &SIZES
    }

    fn misfit(&self, sizes: &Sizes) -> Option<String> {
        memory_misfit(sizes, words(sizes))
    }

    fn build(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
        let (step, times) = (step(sizes), sizes.get("steps"));
        let len = step.batch * step.rows;
        let mut filled = Filled::new(seed);
        let (weight_buf, weights) = filled.random(step.rows * step.depth, 2.0 / (step.depth as f32).sqrt(), memory);
        let workspace = filled.zeros(step.partial_len() as u32, memory);
        let (input_buf, inputs) = filled.random(times * len, 1.0, memory);
        let (states, _) = filled.random(times * len, 1.0, memory);
        let (first, mut state) = filled.random(len, 1.0, memory);
        let partials = Partials { buf: workspace, splits: step.splits, len };
        let at = |buf: Buf<f32>, time: u32| buf.slice((time * len) as usize, len as usize);
        let (mut kernels, mut expected) = (filled.into_kernels(), Vec::new());
        for time in 0..times {
            let before = if time == 0 { first } else { at(states, time - 1) };
            kernels.push(step.kernel("product", weight_buf, before, partials.buf));
            let (input, after) = (at(input_buf, time), at(states, time));
            kernels.push(elementwise("activation", len, move |w| activate(w, input, partials, after)));
            let sums = Partials::reference(&step.reference(&weights, &state), len as usize);
            let input = inputs[(time * len) as usize..].iter();
            state = input.zip(&sums).map(|(input, sum)| tanh(input + sum)).collect();
            expected.extend_from_slice(&state);
        }
        HostProgram::new(kernels, vec![Output::new("states", states, &expected)])
    }
}
