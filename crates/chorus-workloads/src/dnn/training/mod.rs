//! Training steps of networks over images: the launches of a network's layers, and their results on the host.
//!
//! A step is written down as it runs: the layers forward, the loss, the layers backward, and the update of all
//! parameters at the end, by gradient descent on one minibatch. Each call becomes one launch or a few, and its result
//! is computed on the host at once. Memory must hold this result in the end, and the next call works on it.
//!
//! Kernels: `conv.rs` forward and `conv_gradient.rs` backward; fully connected layers are convolutions whose window is
//! the whole image. `layers.rs` has the kernels that work element by element.
//!
//! Sharing between GPUs: all GPUs read one copy of the weights in both passes. In the update a GPU writes its part of
//! the weights. Activations are read in the next kernel, and again in the backward pass by the gradients of weights.
//! Slices of the minibatch write gradients of weights, and the update reads and sums those of all slices. This is the
//! all-reduce of training in several GPUs.
//!
//! Left out: normalisation of batches, momentum, and the augmentation and loading of images.

mod backward;
mod layers;

use chorus_kernel::{Buf, HostMemory, Kernel};

use crate::dnn::conv::{self, Layer, LayerBuffers};
use crate::dnn::network;
use crate::dnn::network_sizes::tile;
use crate::dnn::pooling::{self, Pooling};
use crate::gemm::{Tile, rectify};
use crate::generator::SplitMix64;
use crate::program::{HostProgram, Output};
use crate::size::Sizes;

/// Channels of an image.
pub const COLOURS: u32 = 3;
/// Number of classes of Tiny-ImageNet-200.
pub const CLASSES: u32 = 200;

/// A buffer, and the values that it must hold when the kernels so far have run.
struct Stored {
    name: &'static str,
    buf: Buf<f32>,
    values: Vec<f32>,
    /// Whether any kernel writes it.
    is_written: bool,
}

/// Images of some channels, or their gradients.
#[derive(Clone, Copy, Debug)]
pub struct Maps {
    stored: usize,
    channels: u32,
    size: u32,
}

/// The weights and biases of a layer, and their gradients.
#[derive(Clone, Copy, Debug)]
pub struct Parameters {
    layer: Layer,
    weights: usize,
    bias: usize,
    /// Slices of the minibatch. Each has a gradient of the weights of its own.
    slices: u32,
    weight_gradients: usize,
    bias_gradient: usize,
}

/// The images that a network is trained on, and the tile of its products.
#[derive(Clone, Copy, Debug)]
pub struct Minibatch {
    /// Images that a step is applied to.
    pub images: u32,
    /// Rows and columns of an image.
    pub size: u32,
    /// The tile of all matrix products.
    pub tile: Tile,
}

impl Minibatch {
    /// The minibatch of the sizes `images`, `side` and `tile_rows`.
    pub fn of(sizes: &Sizes) -> Minibatch {
        Minibatch { images: sizes.get("images"), size: sizes.get("side"), tile: tile(sizes) }
    }
}

/// The layer with square windows that pads images so that only its stride makes them smaller.
pub fn convolution([channels, filters]: [u32; 2], size: u32, window: u32, stride: u32) -> Layer {
    Layer { channels, filters, groups: 1, size, window, stride, padding: window / 2 }
}

/// The layer with a filter per neuron, each of which sees the whole image.
pub fn fully_connected([channels, neurons]: [u32; 2], size: u32) -> Layer {
    Layer { channels, filters: neurons, groups: 1, size, window: size, stride: 1, padding: 0 }
}

/// Training that is being written down.
pub struct Training<'m> {
    memory: &'m mut HostMemory,
    generator: SplitMix64,
    batch: Minibatch,
    kernels: Vec<Kernel>,
    stored: Vec<Stored>,
    parameters: Vec<Parameters>,
    labels: Buf<u32>,
    label_values: Vec<u32>,
    images: Maps,
}

impl Training<'_> {
    /// Training of a network without layers on random images.
    pub fn new(memory: &mut HostMemory, seed: u64, batch: Minibatch) -> Training<'_> {
        let mut generator = SplitMix64::new(seed);
        let label_values: Vec<u32> = (0..batch.images).map(|_| generator.below(CLASSES)).collect();
        let pixels = batch.images * COLOURS * batch.size * batch.size;
        let values: Vec<f32> = (0..pixels).map(|_| generator.between_f32(-1.0, 1.0)).collect();
        let labels = memory.alloc_from(&label_values);
        let stored = vec![Stored { name: "images", buf: memory.alloc_from(&values), values, is_written: false }];
        let images = Maps { stored: 0, channels: COLOURS, size: batch.size };
        let (kernels, parameters) = (Vec::new(), Vec::new());
        Training { memory, generator, batch, kernels, stored, parameters, labels, label_values, images }
    }

    /// The images of the minibatch.
    pub fn images(&self) -> Maps {
        self.images
    }

    /// Random parameters of a layer, small enough for results of the magnitude of the input.
    pub fn parameters(&mut self, layer: Layer) -> Parameters {
        let limit = 2.0 / (layer.depth() as f32).sqrt();
        let mut draw = |len: u32| (0..len).map(|_| self.generator.between_f32(-limit, limit)).collect::<Vec<f32>>();
        let (weights, bias) = (draw(layer.depth() * layer.filters), draw(layer.filters));
        let slices = backward::slices(&layer, self.batch.images);
        let gradient = backward::weight_gradient(&layer, slices, self.batch);
        let parameters = Parameters {
            layer,
            weights: self.store("weights", weights),
            bias: self.store("biases", bias),
            slices,
            weight_gradients: self.store("gradients of weights", vec![0.0; (slices * gradient.slice_len()) as usize]),
            bias_gradient: self.store("gradient of biases", vec![0.0; layer.filters as usize]),
        };
        self.parameters.push(parameters);
        parameters
    }

    /// Applies a layer, and rectifies the result if asked to.
    pub fn convolve(&mut self, input: &Maps, parameters: &Parameters, rectified: bool) -> Maps {
        let layer = parameters.layer;
        assert_eq!([input.channels, input.size], [layer.channels, layer.size], "a layer fits its input");
        let [images, weights, bias] =
            [input.stored, parameters.weights, parameters.bias].map(|stored| self.values(stored));
        let values = conv::reference(&layer, images, weights, bias, rectified);
        let output = self.result("activations", layer.filters, layer.output_size(), values);
        let buffers = LayerBuffers {
            input: self.buf(input),
            weights: self.stored[parameters.weights].buf,
            bias: self.stored[parameters.bias].buf,
            output: self.buf(&output),
        };
        let kernel = conv::kernel("forward", layer, self.batch.images, buffers, rectified, self.batch.tile);
        self.kernels.push(kernel);
        output
    }

    /// Takes the greatest values of windows of 2 x 2.
    pub fn max_pool(&mut self, input: &Maps) -> Maps {
        let pooling = Pooling { size: input.size, window: 2, stride: 2 };
        let values = pooling::reference(&pooling, self.values(input.stored));
        let output = self.result("greatest activations", input.channels, pooling.output_size(), values);
        let planes = self.batch.images * input.channels;
        self.kernels.push(pooling::kernel("max pool", pooling, planes, self.buf(input), self.buf(&output)));
        output
    }

    /// Takes the mean of each plane.
    pub fn average_pool(&mut self, input: &Maps) -> Maps {
        let pixels = input.size * input.size;
        let values = layers::averages(pixels, self.values(input.stored));
        let output = self.result("mean activations", input.channels, 1, values);
        let planes = self.batch.images * input.channels;
        self.kernels.push(layers::average(planes, pixels, self.buf(input), self.buf(&output)));
        output
    }

    /// Adds two results and rectifies the sum: the end of a residual block.
    pub fn add(&mut self, a: &Maps, b: &Maps) -> Maps {
        let terms = self.values(a.stored).iter().zip(self.values(b.stored));
        let values: Vec<f32> = terms.map(|(a, b)| rectify(a + b)).collect();
        let output = self.result("sums", a.channels, a.size, values);
        let bufs = [a, b, &output].map(|maps| self.buf(maps));
        self.kernels.push(network::addition("add", bufs[0].len() as u32, bufs));
        output
    }

    /// The program that runs all steps.
    pub fn finish(self) -> HostProgram {
        let written = self.stored.iter().filter(|stored| stored.is_written);
        let outputs = written.map(|stored| Output::new(stored.name, stored.buf, &stored.values)).collect();
        HostProgram::new(self.kernels, outputs)
    }

    fn store(&mut self, name: &'static str, values: Vec<f32>) -> usize {
        self.stored.push(Stored { name, buf: self.memory.alloc_from(&values), values, is_written: false });
        self.stored.len() - 1
    }

    /// Sets the values that a buffer must hold after a kernel that writes it.
    fn overwrite(&mut self, stored: usize, values: Vec<f32>) {
        let stored = &mut self.stored[stored];
        assert_eq!(stored.values.len(), values.len(), "{} are as many as they were", stored.name);
        stored.values = values;
        stored.is_written = true;
    }

    /// A buffer for the result of a kernel.
    fn result(&mut self, name: &'static str, channels: u32, size: u32, values: Vec<f32>) -> Maps {
        let stored = self.store(name, vec![0.0; values.len()]);
        self.overwrite(stored, values);
        Maps { stored, channels, size }
    }

    fn values(&self, stored: usize) -> &[f32] {
        &self.stored[stored].values
    }

    fn buf(&self, maps: &Maps) -> Buf<f32> {
        self.stored[maps.stored].buf
    }
}

#[cfg(test)]
mod tests {
    use chorus_kernel::flat;

    use super::*;

    /// A step of a network with every kind of layer.
    fn train(memory: &mut HostMemory) -> HostProgram {
        let mut training = Training::new(memory, 3, Minibatch { images: 4, size: 16, tile: Tile::Small });
        let images = training.images();
        let first = training.parameters(convolution([COLOURS, 8], 16, 3, 1));
        let inner = training.parameters(convolution([8, 8], 8, 3, 1));
        let strided = training.parameters(convolution([8, 8], 8, 3, 2));
        let classes = training.parameters(fully_connected([8, CLASSES], 1));
        let a = training.convolve(&images, &first, true);
        let pooled = training.max_pool(&a);
        let b = training.convolve(&pooled, &inner, false);
        let sum = training.add(&b, &pooled);
        let c = training.convolve(&sum, &strided, true);
        let mean = training.average_pool(&c);
        let logits = training.convolve(&mean, &classes, false);

        let mut gradient = training.loss(&logits);
        training.parameter_gradients(&mean, &classes, &gradient);
        gradient = training.data_gradient(&classes, &gradient);
        gradient = training.average_pool_gradient(&c, &gradient);
        training.rectify_gradient(&c, &gradient);
        training.parameter_gradients(&sum, &strided, &gradient);
        gradient = training.data_gradient(&strided, &gradient);
        training.rectify_gradient(&sum, &gradient);
        training.parameter_gradients(&pooled, &inner, &gradient);
        let through = training.data_gradient(&inner, &gradient);
        training.add_data_gradient(&inner, &gradient, &through);
        gradient = training.max_pool_gradient(&a, &pooled, &through);
        training.rectify_gradient(&a, &gradient);
        training.parameter_gradients(&images, &first, &gradient);
        training.update();
        training.finish()
    }

    #[test]
    fn a_step_runs_forward_and_backward_and_updates_all_parameters() {
        let mut memory = HostMemory::default();
        let mut program = train(&mut memory);
        let before = memory.clone();
        assert_eq!(flat::run(&mut program, &memory), Ok(()));
        for output in program.outputs() {
            let words = output.words();
            assert_ne!(memory.words(words.clone()), before.words(words), "{}", output.name());
        }
    }
}
