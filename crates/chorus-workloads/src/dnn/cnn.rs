//! `cnn`: a small convolutional network: convolution, pooling, and a fully connected layer.
//!
//! Source: CPElide paper (Dalmia, Kumar, Sinclair), Table II (CNN (Conv+Pool+FC), images of 128 x 128 x 3, minibatch
//! of 4); DNNMark (Dong, Kaeli: DNNMark: A Deep Neural Network Benchmark Suite for GPUs, GPGPU 2017). Table II does
//! not say more of the layers; here 32 filters of 5 x 5, the maximum of 2 x 2, and 32 classes.
//!
//! Four kernels: the convolution with bias and rectification (`conv.rs`), the pooling (`pooling.rs`), the product of
//! the classes' weights with the pooled images, whose depth is shared by many work-groups (`recurrent.rs`), and the
//! sum of their parts with the bias. The filters are read by everybody, a work-group computes all filters for some
//! pixels of one image, and pools a plane. Most of the memory are weights of the classes, which are read once. The
//! convolution takes most of the arithmetic: 75 multiply-adds per pixel and filter.
//!
//! Sizes: 28 MB at paper scale, with 1.0 million line accesses; at quick scale a quarter of the rows and columns, thus
//! a sixteenth of the memory, 1.7 MB and 0.07 million; half of the rows and columns at medium scale.
//!
//! Arithmetic of the last kernel: 4 instructions for index and address, 2 per partial sum, 1 for the bias.

use std::ops::Range;

use chorus_sim::frontend::AccessMode::{Read, ReadWrite};
use chorus_sim::frontend::{Buf, HostMemory, Kernel, Share, Wave};
use chorus_system::Scale;

use crate::dnn::conv::{self, Layer, LayerBuffers};
use crate::dnn::pooling::{self, Pooling};
use crate::dnn::recurrent::{Packing, Partials, Step, elementwise};
use crate::gemm::Tile;
use crate::generator::SplitMix64;
use crate::program::{HostProgram, Output};
use crate::registry::{Paper, Suite, Workload};
use crate::shares::scaled;
use crate::size::Sizes;

/// Images of a minibatch.
const IMAGES: u32 = 4;
const FILTERS: u32 = 32;
const CLASSES: u32 = 32;
/// All filters and 64 pixels.
const TILE: Tile = Tile::Medium;
const TILE_PIXELS: u32 = 64;

/// The network.
pub struct Cnn;

/// Rows and columns of an image, and work-groups that share the depth of the last product.
fn size(scale: Scale) -> (u32, u32) {
    match scale {
        Scale::Quick => (32, 16),
        Scale::Medium => (64, 32),
        Scale::Paper => (128, 64),
    }
}

/// Weights and biases, in memory and on the host.
struct Weights {
    filters: (Buf<f32>, Vec<f32>),
    filter_bias: (Buf<f32>, Vec<f32>),
    classes: (Buf<f32>, Vec<f32>),
    class_bias: (Buf<f32>, Vec<f32>),
}

/// The layers, and what lies between them.
struct Network {
    layer: Layer,
    shape: Pooling,
    step: Step,
    weights: Weights,
    maps: Buf<f32>,
    pooled: Buf<f32>,
    partials: Partials,
}

fn draw(len: u32, limit: f32, generator: &mut SplitMix64) -> Vec<f32> {
    (0..len).map(|_| generator.between_f32(-limit, limit)).collect()
}

impl Network {
    fn new(scale: Scale, seed: u64, memory: &mut HostMemory) -> Network {
        let (size, splits) = size(scale);
        let layer = Layer { channels: 3, filters: FILTERS, groups: 1, size, window: 5, stride: 1, padding: 2 };
        let shape = Pooling { size, window: 2, stride: 2 };
        let pooled_len = FILTERS * shape.output_size() * shape.output_size();
        let step = Step { rows: CLASSES, batch: IMAGES, depth: pooled_len, splits, packing: Packing::Panels };
        let mut generator = SplitMix64::new(seed);
        let mut place = |len: u32, limit: f32| {
            let values = draw(len, limit, &mut generator);
            (memory.alloc_from(&values), values)
        };
        let limit = 2.0 / (step.depth as f32).sqrt();
        let weights = Weights {
            filters: place(layer.depth() * FILTERS, 0.2),
            filter_bias: place(FILTERS, 0.2),
            classes: place(CLASSES * step.depth, limit),
            class_bias: place(CLASSES, limit),
        };
        let maps = memory.alloc((IMAGES * FILTERS * layer.output_pixels()) as usize);
        let pooled = memory.alloc((IMAGES * pooled_len) as usize);
        let partials = Partials { buf: memory.alloc(step.partial_len()), splits, len: CLASSES * IMAGES };
        Network { layer, shape, step, weights, maps, pooled, partials }
    }

    /// The launches that give the scores of a minibatch.
    fn kernels(&self, images: Buf<f32>, scores: Buf<f32>) -> [Kernel; 4] {
        let (step, partials) = (self.step, self.partials);
        let Weights { filters, filter_bias, classes, class_bias } = &self.weights;
        let buffers = LayerBuffers { input: images, weights: filters.0, bias: filter_bias.0, output: self.maps };
        let product = step
            .kernel("product", classes.0, self.pooled, partials.buf)
            .access_parts(classes.0, Read, move |share| vec![step.weights_of(share)])
            .access(self.pooled, Read)
            .access_parts(partials.buf, ReadWrite, move |share| step.partials_of(share));
        let bias = class_bias.0;
        let sums = elementwise("scores", CLASSES * IMAGES, move |w| classify(w, partials, bias, scores))
            .access(partials.buf, Read)
            .access(bias, Read)
            .access(scores, ReadWrite);
        [convolution(self.layer, buffers), pooling(self.shape, self.maps, self.pooled), product, sums]
    }

    /// Maps, pooled maps and scores of a minibatch.
    fn reference(&self, images: &[f32]) -> [Vec<f32>; 3] {
        let Weights { filters, filter_bias, classes, class_bias } = &self.weights;
        let maps = conv::reference(&self.layer, images, &filters.1, &filter_bias.1, true);
        let pooled = pooling::reference(&self.shape, &maps);
        let sums = Partials::reference(&self.step.reference(&classes.1, &pooled), (CLASSES * IMAGES) as usize);
        let scores = sums.iter().zip(class_bias.1.iter().cycle()).map(|(sum, bias)| sum + bias).collect();
        [maps, pooled, scores]
    }
}

/// The images that a chiplet convolves some pixels of, and the parts of the result that it computes.
fn convolved(layer: Layer, share: Share) -> (Range<u32>, Vec<Range<usize>>) {
    let area = layer.output_pixels();
    let Range { start, end } = share.groups();
    let pixels = start * TILE_PIXELS..(end * TILE_PIXELS).min(IMAGES * area);
    if pixels.is_empty() {
        return (0..0, Vec::new());
    }
    let images = pixels.start / area..pixels.end.div_ceil(area);
    let mut parts = Vec::new();
    for image in images.clone() {
        let own = pixels.start.max(image * area) - image * area..pixels.end.min((image + 1) * area) - image * area;
        let planes = image * FILTERS..(image + 1) * FILTERS;
        if own.len() as u32 == area {
            parts.push(scaled(planes, area));
        } else {
            parts.extend(planes.map(|plane| scaled(plane * area + own.start..plane * area + own.end, 1)));
        }
    }
    (images, parts)
}

fn convolution(layer: Layer, buffers: LayerBuffers) -> Kernel {
    let image = layer.channels * layer.size * layer.size;
    conv::kernel("convolution", layer, IMAGES, buffers, true, TILE)
        .access_parts(buffers.input, Read, move |share| vec![scaled(convolved(layer, share).0, image)])
        .access(buffers.weights, Read)
        .access(buffers.bias, Read)
        .access_parts(buffers.output, ReadWrite, move |share| convolved(layer, share).1)
}

fn pooling(shape: Pooling, input: Buf<f32>, output: Buf<f32>) -> Kernel {
    let [seen, left] = [shape.size * shape.size, shape.output_size() * shape.output_size()];
    pooling::kernel("pooling", shape, IMAGES * FILTERS, input, output)
        .access_parts(input, Read, move |share| vec![scaled(share.groups(), seen)])
        .access_parts(output, ReadWrite, move |share| vec![scaled(share.groups(), left)])
}

/// Adds the parts of a sum and the bias of its class.
async fn classify(w: Wave, partials: Partials, bias: Buf<f32>, scores: Buf<f32>) {
    let element = w.global_ids();
    w.alu(4).await;
    let load = w.load(bias, element % CLASSES);
    let sum = partials.sum(&w, element).await;
    let bias = load.await;
    w.alu(1).await;
    w.store(scores, element, sum + bias);
}

impl Workload for Cnn {
    fn name(&self) -> &'static str {
        "cnn"
    }

    fn title(&self) -> &'static str {
        "Convolutional network"
    }

    fn summary(&self) -> &'static str {
        "Convolves, pools and classifies a minibatch of images; arithmetic takes most of the time."
    }

    fn suite(&self) -> Suite {
        Suite::Dnn
    }

    fn papers(&self) -> &'static [Paper] {
        &[Paper::CpElide]
    }

    fn source(&self) -> &'static str {
        "Dalmia et al., CPElide: Efficient Multi-Chiplet GPU Implicit Synchronization, MICRO 2024, Table II (CNN); \
         Dong and Kaeli, DNNMark: A Deep Neural Network Benchmark Suite for GPUs, GPGPU 2017"
    }

    fn build(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
        let network = Network::new(sizes.scale(), seed, memory);
        let len = IMAGES * network.layer.channels * network.layer.size * network.layer.size;
        let values = draw(len, 1.0, &mut SplitMix64::new(seed ^ (1 << 32)));
        let [maps, pooled, expected] = network.reference(&values);
        let (images, scores) = (memory.alloc_from(&values), memory.alloc(expected.len()));
        let outputs = vec![
            Output::new("scores", scores, &expected),
            Output::new("maps", network.maps, &maps),
            Output::new("pooled maps", network.pooled, &pooled),
        ];
        HostProgram::new(network.kernels(images, scores).into(), outputs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chiplets_convolve_every_pixel_once() {
        let layer = Layer { channels: 3, filters: FILTERS, groups: 1, size: 32, window: 5, stride: 1, padding: 2 };
        for count in [1, 2, 4, 7, 16] {
            let shares = (0..count).map(|index| Share { index, count, work_groups: IMAGES * 1024 / TILE_PIXELS });
            let elements: usize = shares.flat_map(|share| convolved(layer, share).1).map(|part| part.len()).sum();
            assert_eq!(elements, (IMAGES * FILTERS * 1024) as usize, "{count}");
        }
        let (images, parts) = convolved(layer, Share { index: 1, count: 4, work_groups: 64 });
        assert_eq!((images, parts.len(), parts[0].clone()), (1..2, 1, 32768..65536));
    }
}
