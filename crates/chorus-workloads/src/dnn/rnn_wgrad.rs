//! `rnn-wgrad`: the gradient of a recurrent layer with respect to its weights, summed over time.
//!
//! Source: HMG paper (Ren et al., HPCA 2020), section VI, Table III (RNN layer 4, WGRAD); back-propagation through time
//! (Werbos, Proceedings of the IEEE 1990) of the layer of `rnn-fw`. Each time step goes back through the hyperbolic
//! tangent, and adds the outer products of its gradient and of the state before, over the minibatch, to the gradient of
//! the weights.
//!
//! There are two kernels per time step: the derivative, and a tiled product (`gemm.rs`) that accumulates. Sharing: all
//! work-groups write the gradient of a step, always in the same buffer. Then the tiles of its rows read it, which lie
//! side by side. The tiles of its columns, which lie in all modules, read the state before. Each tile of the weights'
//! gradient stays with one work-group, which reads and writes it again in each step.
//!
//! Kernels fill all buffers before, as DeepBench does for the other passes of this layer (`filled.rs`).
//!
//! Left out: the gradients of bias and input weights.
//!
//! Arithmetic of the derivative: 4 instructions for index and addresses, 2 for the derivative.

use chorus_kernel::{Buf, HostMemory, Wave};

use crate::dnn::filled::Filled;
use crate::dnn::network_sizes::{batch, hidden, memory_misfit, steps, tile, tile_misfit, tile_rows};
use crate::dnn::recurrent::{elementwise, tanh_gradient};
use crate::gemm::{Addend, Order, Product, Strided, add_weighted_rows};
use crate::program::{HostProgram, Output};
use crate::registry::{Paper, Suite, Workload};
use crate::size::{SizeSpec, Sizes};

/// The weight gradient of a recurrent layer.
pub struct RnnWeightGradient;

/// The layer has the same size as the layer of `rnn-fw`. Paper scale takes 38.5 MB, as in Table III, and 11 million
/// line accesses. Quick scale has fewer time steps than `rnn-fw`, and takes 1.7 MB and 0.23 million line accesses.
/// Medium scale takes about four times as many.
static SIZES: [SizeSpec; 4] = [
    hidden([512, 1024, 1760], "DeepBench: units of its simple recurrent layers"),
    batch([16, 32, 64], "DeepBench: one of its minibatches"),
    steps([10, 5, 28], "chosen: the 38.5 MB of HMG Table III (RNN layer 4, WGRAD)"),
    tile_rows([32, 32, 64]),
];

/// Words of all buffers.
fn words(sizes: &Sizes) -> u64 {
    let [hidden, batch, steps] = ["hidden", "batch", "steps"].map(|key| u64::from(sizes.get(key)));
    hidden * hidden + (2 * steps + 2) * batch * hidden
}

/// Goes back through the hyperbolic tangent of one time step.
async fn differentiate(w: Wave, above: Buf<f32>, state: Buf<f32>, gradient: Buf<f32>) {
    let element = w.global_ids();
    w.alu(4).await;
    let (above, states) = w.join(w.load(above, element), w.load(state, element)).await;
    w.alu(2).await;
    w.store(gradient, element, above.zip(states, tanh_gradient));
}

/// The sums of one time step on the host, added to the gradient of the weights.
fn accumulate(hidden: usize, gradient: &[f32], state: &[f32], weights: &mut [f32]) {
    for (row, weights) in weights.chunks_exact_mut(hidden).enumerate() {
        let factors: Vec<f32> = gradient.iter().skip(row).step_by(hidden).copied().collect();
        let mut sums = vec![0.0; hidden];
        add_weighted_rows(&mut sums, &factors, state);
        weights.iter_mut().zip(sums).for_each(|(weight, sum)| *weight += sum);
    }
}

impl Workload for RnnWeightGradient {
    fn name(&self) -> &'static str {
        "rnn-wgrad"
    }

    fn title(&self) -> &'static str {
        "Recurrent layer, weight gradient"
    }

    fn summary(&self) -> &'static str {
        "Accumulates outer products over time; tiles stay where they are, and read gradients that all wrote before."
    }

    fn suite(&self) -> Suite {
        Suite::Dnn
    }

    fn papers(&self) -> &'static [Paper] {
        &[Paper::Hmg]
    }

    fn source(&self) -> &'static str {
        "Ren et al., HMG: Extending Cache Coherence Protocols Across Modern Hierarchical Multi-GPU Systems, HPCA 2020, \
         section VI (RNN layer 4, WGRAD); Werbos, Backpropagation Through Time, Proceedings of the IEEE 1990"
    }

    fn sizes(&self) -> &'static [SizeSpec] {
        &SIZES
    }

    fn misfit(&self, sizes: &Sizes) -> Option<String> {
        tile_misfit(sizes).or_else(|| memory_misfit(sizes, words(sizes)))
    }

    fn build(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
        let [hidden, batch, times] = ["hidden", "batch", "steps"].map(|key| sizes.get(key));
        let len = batch * hidden;
        let mut filled = Filled::new(seed);
        // There is one state more than there are steps: the one before the first.
        let (state_buf, states) = filled.random((times + 1) * len, 1.0, memory);
        let (above_buf, above) = filled.random(times * len, 1.0, memory);
        let (gradient_buf, weight_buf) = (filled.zeros(len, memory), filled.zeros(hidden * hidden, memory));
        let at = |buf: Buf<f32>, time: u32| buf.slice((time * len) as usize, len as usize);
        let (mut kernels, mut gradient) = (filled.into_kernels(), Vec::new());
        let mut weights = vec![0.0; weight_buf.len()];
        for time in (0..times).rev() {
            let (above_now, state) = (at(above_buf, time), at(state_buf, time + 1));
            let step = move |w| differentiate(w, above_now, state, gradient_buf);
            kernels.push(elementwise("derivative", len, step));
            let product = Product {
                rows: hidden,
                columns: hidden,
                depth: batch,
                a: Strided { buf: gradient_buf, strides: [1, hidden] },
                b: Strided { buf: at(state_buf, time), strides: [1, hidden] },
                target: Strided { buf: weight_buf, strides: [hidden, 1] },
                addend: Addend::Accumulate,
                rectify: false,
                order: Order::ColumnsFirst,
            };
            kernels.push(product.kernel("outer products", tile(sizes)));
            let from = |values: &[f32], time: u32| values[(time * len) as usize..][..len as usize].to_vec();
            let after = from(&states, time + 1);
            gradient =
                from(&above, time).iter().zip(after).map(|(&above, state)| tanh_gradient(above, state)).collect();
            accumulate(hidden as usize, &gradient, &from(&states, time), &mut weights);
        }
        let outputs = vec![
            Output::new("weight gradient", weight_buf, &weights),
            Output::new("gradient of the first step", gradient_buf, &gradient),
        ];
        HostProgram::new(kernels, outputs)
    }
}
