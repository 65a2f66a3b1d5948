//! Networks of layers over images: the launches of the layers, and their results on the host.
//!
//! A network is written down as it runs, layer by layer. Each layer becomes one launch, and its result is computed on
//! the host at once. Memory must hold this result in the end, and the next layer is applied to it.

use chorus_kernel::{Buf, HostMemory, Kernel, LANES, Wave};

use crate::dnn::conv::{self, Layer, LayerBuffers};
use crate::dnn::pooling::{self, Pooling};
use crate::gemm::{Tile, rectify};
use crate::generator::SplitMix64;
use crate::program::{HostProgram, Output};

const ADD_WAVES: u32 = 4;
/// Times 32 elements that a wavefront adds.
const ADD_ROWS: u32 = 4;

/// Images of some channels, in memory and as the host computes them.
pub struct Maps {
    images: u32,
    channels: u32,
    size: u32,
    buf: Buf<f32>,
    values: Vec<f32>,
}

/// The parameters of a layer, in memory and on the host.
pub struct Filters {
    layer: Layer,
    weights: Buf<f32>,
    bias: Buf<f32>,
    weight_values: Vec<f32>,
    bias_values: Vec<f32>,
}

/// A network that is being written down.
pub struct Network<'m> {
    memory: &'m mut HostMemory,
    generator: SplitMix64,
    tile: Tile,
    kernels: Vec<Kernel>,
    outputs: Vec<Output>,
}

impl Network<'_> {
    /// A network without layers, whose convolutions use tiles of one size.
    pub fn new(memory: &mut HostMemory, seed: u64, tile: Tile) -> Network<'_> {
        Network { memory, generator: SplitMix64::new(seed), tile, kernels: Vec::new(), outputs: Vec::new() }
    }

    /// Random images, as a rectified layer would leave them: half of the pixels are zero.
    pub fn input(&mut self, images: u32, channels: u32, size: u32) -> Maps {
        let len = images * channels * size * size;
        let values: Vec<f32> = (0..len).map(|_| rectify(self.generator.between_f32(-1.0, 1.0))).collect();
        Maps { images, channels, size, buf: self.memory.alloc_from(&values), values }
    }

    /// Random parameters, small enough for results of the magnitude of the input.
    pub fn filters(&mut self, layer: Layer) -> Filters {
        let limit = 2.0 / (layer.depth() as f32).sqrt();
        let mut draw = |len: u32| (0..len).map(|_| self.generator.between_f32(-limit, limit)).collect::<Vec<f32>>();
        let (weight_values, bias_values) = (draw(layer.depth() * layer.filters), draw(layer.filters));
        let (weights, bias) = (self.memory.alloc_from(&weight_values), self.memory.alloc_from(&bias_values));
        Filters { layer, weights, bias, weight_values, bias_values }
    }

    /// Applies a convolution layer, and rectifies the result if `rectified`.
    pub fn convolve(&mut self, name: &'static str, input: &Maps, filters: &Filters, rectified: bool) -> Maps {
        let layer = filters.layer;
        assert_eq!([input.channels, input.size], [layer.channels, layer.size], "{name} fits its input");
        let values = conv::reference(&layer, &input.values, &filters.weight_values, &filters.bias_values, rectified);
        let output = self.result(name, [input.images, layer.filters, layer.output_size()], values);
        let buffers =
            LayerBuffers { input: input.buf, weights: filters.weights, bias: filters.bias, output: output.buf };
        self.kernels.push(conv::kernel(name, layer, input.images, buffers, rectified, self.tile));
        output
    }

    /// Takes the greatest values of windows.
    pub fn max_pool(&mut self, name: &'static str, input: &Maps, window: u32, stride: u32) -> Maps {
        let pooling = Pooling { size: input.size, window, stride };
        let values = pooling::reference(&pooling, &input.values);
        let output = self.result(name, [input.images, input.channels, pooling.output_size()], values);
        self.kernels.push(pooling::kernel(name, pooling, input.images * input.channels, input.buf, output.buf));
        output
    }

    /// Adds two results and rectifies the sum: the end of a residual block.
    pub fn add(&mut self, name: &'static str, a: &Maps, b: &Maps) -> Maps {
        assert_eq!([a.images, a.channels, a.size], [b.images, b.channels, b.size], "{name} adds equal shapes");
        let values: Vec<f32> = a.values.iter().zip(&b.values).map(|(a, b)| rectify(a + b)).collect();
        let (len, output) = (values.len() as u32, self.result(name, [a.images, a.channels, a.size], values));
        self.kernels.push(addition(name, len, [a.buf, b.buf, output.buf]));
        output
    }

    /// The program that runs all layers.
    pub fn finish(self) -> HostProgram {
        HostProgram::new(self.kernels, self.outputs)
    }

    fn result(&mut self, name: &'static str, [images, channels, size]: [u32; 3], values: Vec<f32>) -> Maps {
        let buf = self.memory.alloc(values.len());
        self.outputs.push(Output::new(name, buf, &values));
        Maps { images, channels, size, buf, values }
    }
}

/// The launch that adds two results of `len` elements and stores the rectified sum as the third.
pub fn addition(name: &'static str, len: u32, bufs: [Buf<f32>; 3]) -> Kernel {
    let work_groups = len.div_ceil(ADD_WAVES * ADD_ROWS * LANES as u32);
    Kernel::new(name, work_groups, ADD_WAVES, move |w| add_rectified(w, len, bufs))
}

/// Arithmetic: 4 instructions for the first index; per element 2 for the address and the edge, an addition and a
/// maximum.
async fn add_rectified(w: Wave, len: u32, [a, b, sum]: [Buf<f32>; 3]) {
    let first = (w.work_group() * ADD_WAVES + w.id().wave) * ADD_ROWS * LANES as u32;
    w.alu(4).await;
    for row in 0..ADD_ROWS {
        let at = w.lane_ids() + first + row * LANES as u32;
        let inside = at.below(len);
        w.alu(2).await;
        if inside.any() {
            let (left, right) = w.join(w.load_where(inside, a, at), w.load_where(inside, b, at)).await;
            w.alu(2).await;
            w.store_where(inside, sum, at, (left + right).map(rectify));
        }
    }
}

#[cfg(test)]
mod tests {
    use chorus_kernel::flat;

    use super::*;

    #[test]
    fn a_residual_block_runs_layer_by_layer() {
        let mut memory = HostMemory::default();
        let mut network = Network::new(&mut memory, 1, Tile::Small);
        let layer = Layer { channels: 16, filters: 16, groups: 1, size: 7, window: 3, stride: 1, padding: 1 };
        let (first, second) = (network.filters(layer), network.filters(layer));
        let input = network.input(3, 16, 7);
        let inner = network.convolve("inner", &input, &first, true);
        let outer = network.convolve("outer", &inner, &second, false);
        let sum = network.add("sum", &outer, &input);
        network.max_pool("pool", &sum, 3, 2);
        let mut program = network.finish();
        assert_eq!(program.outputs().len(), 4);
        assert_eq!(flat::run(&mut program, &memory), Ok(()));
    }
}
