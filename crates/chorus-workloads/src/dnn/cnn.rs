//! `cnn`: a small convolutional network: convolution, pooling, and a fully connected layer.
//!
//! Source: CPElide paper (Dalmia, Kumar, Sinclair), Table II (CNN (Conv+Pool+FC), images of 128 x 128 x 3, minibatch
//! of 4); DNNMark (Dong, Kaeli: DNNMark: A Deep Neural Network Benchmark Suite for GPUs, GPGPU 2017). Table II does
//! not say more of the layers; here 32 filters of 5 x 5, the maximum of 2 x 2, and 32 classes.
//!
//! There are four kernels: the convolution with bias and rectification (`conv.rs`), the pooling (`pooling.rs`), the
//! product of the classes' weights with the pooled images (`recurrent.rs`), and the sum of the product's parts with the
//! bias. Many work-groups share the depth of the product. Everybody reads the filters. A work-group computes all
//! filters for some pixels of one image, and pools a plane. The weights of the classes take most of the memory, and are
//! read once. The convolution takes most of the arithmetic: 75 multiply-adds per pixel and filter.
//!
//! Arithmetic of the last kernel: 4 instructions for index and address, 2 per partial sum, 1 for the bias.

use std::ops::Range;

use chorus_kernel::AccessMode::{Read, ReadWrite};
use chorus_kernel::{Buf, HostMemory, Kernel, Share, Wave};

use crate::dnn::conv::{self, Layer, LayerBuffers};
use crate::dnn::network_sizes::POOLED_SIDE_MAX;
use crate::dnn::pooling::{self, Pooling};
use crate::dnn::recurrent::{Packing, Partials, Step, elementwise};
use crate::gemm::Tile;
use crate::generator::SplitMix64;
use crate::program::{HostProgram, Output};
use crate::registry::{Paper, Suite, Workload};
use crate::shares::scaled;
use crate::size::{SizeSpec, Sizes};

const FILTERS: u32 = 32;
const CLASSES: u32 = 32;
/// A tile of all filters and 64 pixels.
const TILE: Tile = Tile::Medium;
const TILE_PIXELS: u32 = 64;

/// A small convolutional network.
pub struct Cnn;

/// The program takes 28 MB and 1.0 million line accesses at paper scale. Quick scale has a quarter of the rows and
/// columns, thus a sixteenth of the memory, 1.7 MB, and 0.07 million line accesses. Medium scale has half of the rows
/// and columns.
static SIZES: [SizeSpec; 3] = [
    SizeSpec::new("side", "rows and columns of an image", [32, 64, 128], "CPElide Table II (CNN)")
        .range(2, POOLED_SIDE_MAX as u64),
    SizeSpec::new("images", "images of the minibatch", [4, 4, 4], "CPElide Table II (CNN)").range(4, 64).multiple_of(4),
    SizeSpec::new(
        "splits",
        "work-groups that share the depth of the product with the classes' weights",
        [16, 32, 64],
        "chosen: enough work-groups for all compute units",
    )
    .range(1, 256),
];

/// Weights and biases, in memory and on the host.
struct Weights {
    filters: (Buf<f32>, Vec<f32>),
    filter_bias: (Buf<f32>, Vec<f32>),
    classes: (Buf<f32>, Vec<f32>),
    class_bias: (Buf<f32>, Vec<f32>),
}

/// The layers, and the buffers between them.
struct Network {
    images: u32,
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
    fn new(sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> Network {
        let [size, images, splits] = ["side", "images", "splits"].map(|key| sizes.get(key));
        let layer = Layer { channels: 3, filters: FILTERS, groups: 1, size, window: 5, stride: 1, padding: 2 };
        let shape = Pooling { size, window: 2, stride: 2 };
        let pooled_len = FILTERS * shape.output_size() * shape.output_size();
        let step = Step { rows: CLASSES, batch: images, depth: pooled_len, splits, packing: Packing::Panels };
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
        let maps = memory.alloc((images * FILTERS * layer.output_pixels()) as usize);
        let pooled = memory.alloc((images * pooled_len) as usize);
        let partials = Partials { buf: memory.alloc(step.partial_len()), splits, len: CLASSES * images };
        Network { images, layer, shape, step, weights, maps, pooled, partials }
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
        let sums = elementwise("scores", CLASSES * self.images, move |w| classify(w, partials, bias, scores))
            .access(partials.buf, Read)
            .access(bias, Read)
            .access(scores, ReadWrite);
        let convolved = convolution(self.layer, self.images, buffers);
        [convolved, pooling(self.shape, self.images * FILTERS, self.maps, self.pooled), product, sums]
    }

    /// Maps, pooled maps and scores of a minibatch, computed on the host.
    fn reference(&self, images: &[f32]) -> [Vec<f32>; 3] {
        let Weights { filters, filter_bias, classes, class_bias } = &self.weights;
        let maps = conv::reference(&self.layer, images, &filters.1, &filter_bias.1, true);
        let pooled = pooling::reference(&self.shape, &maps);
        let sums = Partials::reference(&self.step.reference(&classes.1, &pooled), (CLASSES * self.images) as usize);
        let scores = sums.iter().zip(class_bias.1.iter().cycle()).map(|(sum, bias)| sum + bias).collect();
        [maps, pooled, scores]
    }
}

/// The images of which a chiplet convolves some pixels, and the parts of the result that it computes.
fn convolved(layer: Layer, images: u32, share: Share) -> (Range<u32>, Vec<Range<usize>>) {
    let area = layer.output_pixels();
    let Range { start, end } = share.groups();
    let pixels = start * TILE_PIXELS..(end * TILE_PIXELS).min(images * area);
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

fn convolution(layer: Layer, images: u32, buffers: LayerBuffers) -> Kernel {
    let image = layer.channels * layer.size * layer.size;
    conv::kernel("convolution", layer, images, buffers, true, TILE)
        .access_parts(buffers.input, Read, move |share| vec![scaled(convolved(layer, images, share).0, image)])
        .access(buffers.weights, Read)
        .access(buffers.bias, Read)
        .access_parts(buffers.output, ReadWrite, move |share| convolved(layer, images, share).1)
}

fn pooling(shape: Pooling, planes: u32, input: Buf<f32>, output: Buf<f32>) -> Kernel {
    let [seen, left] = [shape.size * shape.size, shape.output_size() * shape.output_size()];
    pooling::kernel("pooling", shape, planes, input, output)
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

    fn sizes(&self) -> &'static [SizeSpec] {
        &SIZES
    }

    fn build(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
        let network = Network::new(sizes, seed, memory);
        let len = network.images * network.layer.channels * network.layer.size * network.layer.size;
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
            let shares = (0..count).map(|index| Share { index, count, work_groups: 4 * 1024 / TILE_PIXELS });
            let elements: usize = shares.flat_map(|share| convolved(layer, 4, share).1).map(|part| part.len()).sum();
            assert_eq!(elements, (4 * FILTERS * 1024) as usize, "{count}");
        }
        let (images, parts) = convolved(layer, 4, Share { index: 1, count: 4, work_groups: 64 });
        assert_eq!((images, parts.len(), parts[0].clone()), (1..2, 1, 32768..65536));
    }
}
