//! `rnn-wgrad`: the gradient of a recurrent layer with respect to its weights, summed over time.
//!
//! Source: HMG paper (Ren et al., HPCA 2020), section VI, Table III (RNN layer 4, WGRAD); back-propagation through time
//! (Werbos, Proceedings of the IEEE 1990) of the layer of `rnn-fw`. Each time step goes back through the hyperbolic
//! tangent, and adds the outer products of its gradient and of the state before, over the minibatch, to the gradient of
//! the weights.
//!
//! Two kernels per time step: the derivative, and a tiled product (`gemm.rs`) that accumulates. Sharing: the gradient
//! of a step is written by all work-groups, always in the same buffer, and then read by the tiles of its rows, which
//! lie side by side, and the state before by the tiles of its columns, which lie in all modules. Each tile of the
//! weights' gradient stays with one work-group, which reads and writes it again in each step.
//!
//! Left out: the gradients of bias and input weights.
//!
//! Arithmetic of the derivative: 4 instructions for index and addresses, 2 for the derivative.

use chorus_sim::frontend::{Buf, HostMemory, Wave};
use chorus_system::Scale;

use crate::dnn::recurrent::{elementwise, tanh_gradient};
use crate::gemm::{Addend, Order, Product, Strided, Tile, add_weighted_rows};
use crate::generator::SplitMix64;
use crate::program::{HostProgram, Output};
use crate::registry::{Paper, Suite, Workload};
use crate::size::Sizes;

/// The weight gradient.
pub struct RnnWeightGradient;

/// How large the layer is, and how far it is followed.
#[derive(Clone, Copy)]
struct Size {
    hidden: u32,
    batch: u32,
    times: u32,
    tile: Tile,
}

/// Sizes are those of `rnn-fw`: 38.5 MB, as in Table III, and 11 million line accesses at the paper scale, 1.7 MB and
/// 0.23 million line accesses at the quick one, which takes fewer time steps, and about four times as
/// many at the medium one.
fn size(scale: Scale) -> Size {
    match scale {
        Scale::Quick => Size { hidden: 512, batch: 16, times: 10, tile: Tile::Medium },
        Scale::Medium => Size { hidden: 1024, batch: 32, times: 5, tile: Tile::Medium },
        Scale::Paper => Size { hidden: 1760, batch: 64, times: 28, tile: Tile::Large },
    }
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
fn accumulate(size: Size, gradient: &[f32], state: &[f32], weights: &mut [f32]) {
    let hidden = size.hidden as usize;
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

    fn build(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
        let size = size(sizes.scale());
        let Size { hidden, batch, times, tile } = size;
        let len = batch * hidden;
        let mut generator = SplitMix64::new(seed);
        let mut draw = |len: u32| -> Vec<f32> { (0..len).map(|_| generator.between_f32(-1.0, 1.0)).collect() };
        // There is one state more than there are steps: the one before the first.
        let (states, above) = (draw((times + 1) * len), draw(times * len));
        let (state_buf, above_buf) = (memory.alloc_from(&states), memory.alloc_from(&above));
        let gradient_buf = memory.alloc::<f32>(len as usize);
        let weight_buf = memory.alloc::<f32>((hidden * hidden) as usize);
        let at = |buf: Buf<f32>, time: u32| buf.slice((time * len) as usize, len as usize);
        let (mut kernels, mut gradient) = (Vec::new(), Vec::new());
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
            kernels.push(product.kernel("outer products", tile));
            let from = |values: &[f32], time: u32| values[(time * len) as usize..][..len as usize].to_vec();
            let after = from(&states, time + 1);
            gradient =
                from(&above, time).iter().zip(after).map(|(&above, state)| tanh_gradient(above, state)).collect();
            accumulate(size, &gradient, &from(&states, time), &mut weights);
        }
        let outputs = vec![
            Output::new("weight gradient", weight_buf, &weights),
            Output::new("gradient of the first step", gradient_buf, &gradient),
        ];
        HostProgram::new(kernels, outputs)
    }
}
