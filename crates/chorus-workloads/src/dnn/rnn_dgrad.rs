//! `rnn-dgrad`: the gradients of a recurrent layer with respect to its states, back through time.
//!
//! Source: HMG paper (Ren et al., HPCA 2020), section VI, Table III (RNN layer 4, DGRAD); back-propagation through
//! time (Werbos, Proceedings of the IEEE 1990) of the layer of `rnn-fw`. From the last time step to the first, the
//! product of the transposed recurrent weights and the gradient of the step behind is added to the gradient that comes
//! from above, and multiplied with the derivative of the hyperbolic tangent.
//!
//! There are two kernels per time step: the product (`recurrent.rs`) and the derivative, which replaces the gradient
//! from above by its result. Sharing: as in `rnn-fw`, all work-groups write the gradient of a step, and all read the
//! whole gradient. But weights that are stored by rows are read by columns. Each page of the weights holds something
//! for every work-group, so that most modules read most of their weights from another module, again in each step.
//!
//! Kernels fill all buffers before, as in DeepBench (`filled.rs`). So every module has some of the weights.
//!
//! Left out: the products with the transposed weights of the input, which follow for all time steps at once.
//!
//! Arithmetic of the derivative: 4 instructions for index and addresses, 2 per partial sum, 1 to add the gradient from
//! above, 2 for the derivative.

use chorus_kernel::{Buf, HostMemory, Wave};

use crate::dnn::filled::Filled;
use crate::dnn::network_sizes::{batch, hidden, memory_misfit, splits, steps};
use crate::dnn::recurrent::{Packing, Partials, Step, elementwise, tanh_gradient};
use crate::program::{HostProgram, Output};
use crate::registry::{Paper, Suite, Workload};
use crate::size::{SizeSpec, Sizes};

/// The data gradient of a recurrent layer.
pub struct RnnDataGradient;

/// The layer has the same size as the layer of `rnn-fw`. At paper scale the time steps fill Table III's 29 MB, and take
/// 9 million line accesses. Quick scale takes 2.4 MB and 0.24 million line accesses, medium scale about four times as
/// many.
static SIZES: [SizeSpec; 4] = [
    hidden([512, 1024, 1760], "DeepBench: units of its simple recurrent layers"),
    batch([16, 32, 64], "DeepBench: one of its minibatches"),
    steps([16, 8, 16], "chosen: the 29 MB of HMG Table III (RNN layer 4, DGRAD)"),
    splits([4, 4, 4]),
];

/// The product of a time step.
fn step(sizes: &Sizes) -> Step {
    let [hidden, batch, splits] = ["hidden", "batch", "splits"].map(|key| sizes.get(key));
    Step { rows: hidden, batch, depth: hidden, splits, packing: Packing::Transposed }
}

/// Words of all buffers.
fn words(sizes: &Sizes) -> u64 {
    let [hidden, batch, steps, splits] = ["hidden", "batch", "steps", "splits"].map(|key| u64::from(sizes.get(key)));
    hidden * hidden + (2 * steps + splits) * batch * hidden
}

/// Adds the partial sums to the gradient from above and goes back through the hyperbolic tangent.
async fn differentiate(w: Wave, gradient: Buf<f32>, partials: Partials, state: Buf<f32>) {
    let element = w.global_ids();
    w.alu(4).await;
    let (above, states) = (w.load(gradient, element), w.load(state, element));
    let sum = partials.sum(&w, element).await;
    let total = above.await + sum;
    w.alu(3).await;
    w.store(gradient, element, total.zip(states.await, tanh_gradient));
}

impl Workload for RnnDataGradient {
    fn name(&self) -> &'static str {
        "rnn-dgrad"
    }

    fn title(&self) -> &'static str {
        "Recurrent layer, data gradient"
    }

    fn summary(&self) -> &'static str {
        "Steps gradients back through time; all read what all wrote a kernel before, and weights of other modules."
    }

    fn suite(&self) -> Suite {
        Suite::Dnn
    }

    fn papers(&self) -> &'static [Paper] {
        &[Paper::Hmg]
    }

    fn source(&self) -> &'static str {
        "Ren et al., HMG: Extending Cache Coherence Protocols Across Modern Hierarchical Multi-GPU Systems, HPCA 2020, \
         section VI (RNN layer 4, DGRAD); Werbos, Backpropagation Through Time, Proceedings of the IEEE 1990"
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
        let partial = filled.zeros(step.partial_len() as u32, memory);
        let (state_buf, states) = filled.random(times * len, 1.0, memory);
        let (gradient_buf, mut gradients) = filled.random(times * len, 1.0, memory);
        let at = |buf: Buf<f32>, time: u32| buf.slice((time * len) as usize, len as usize);
        let mut kernels = filled.into_kernels();
        let mut sums = vec![0.0; len as usize];
        for time in (0..times).rev() {
            let mut partials = Partials { buf: partial, splits: 0, len };
            let range = (time * len) as usize..((time + 1) * len) as usize;
            if time + 1 < times {
                kernels.push(step.kernel("product", weight_buf, at(gradient_buf, time + 1), partial));
                partials.splits = step.splits;
                let behind = &gradients[range.end..][..len as usize];
                sums = Partials::reference(&step.reference(&weights, behind), len as usize);
            }
            let (gradient, state) = (at(gradient_buf, time), at(state_buf, time));
            kernels.push(elementwise("derivative", len, move |w| differentiate(w, gradient, partials, state)));
            for ((gradient, sum), state) in gradients[range.clone()].iter_mut().zip(&sums).zip(&states[range]) {
                *gradient = tanh_gradient(*gradient + sum, *state);
            }
        }
        let outputs =
            vec![Output::new("weights", weight_buf, &weights), Output::new("gradients", gradient_buf, &gradients)];
        HostProgram::new(kernels, outputs)
    }
}
