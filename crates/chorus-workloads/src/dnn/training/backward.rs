//! The backward pass of a training step, and the update behind it.

use crate::dnn::conv::Layer;
use crate::dnn::conv_gradient::{DataGradient, WeightGradient};

use super::{Maps, Minibatch, Parameters, Training, layers};

/// Slices of the minibatch for layers with many pixels.
const SLICES: u32 = 4;
/// A sum is worth cutting if it has at least this many terms.
const TERMS_TO_SLICE: u32 = 256;

/// The number of slices of the images for the gradient of a layer's weights. Long sums are cut, so that a product of
/// few tiles occupies the machine.
pub(super) fn slices(layer: &Layer, images: u32) -> u32 {
    let is_long = images * layer.output_pixels() >= TERMS_TO_SLICE;
    if is_long && images.is_multiple_of(SLICES) { SLICES } else { 1 }
}

pub(super) fn weight_gradient(layer: &Layer, slices: u32, batch: Minibatch) -> WeightGradient {
    WeightGradient { layer: *layer, slices, images_of_slice: batch.images / slices, tile: batch.tile }
}

impl Training<'_> {
    /// The gradient of the cross entropy of softmax and labels, averaged over the minibatch.
    pub fn loss(&mut self, logits: &Maps) -> Maps {
        let values = layers::loss_gradients(logits.channels, self.values(logits.stored), &self.label_values);
        let gradient = self.result("gradient of the loss", logits.channels, 1, values);
        let bufs = [logits, &gradient].map(|maps| self.buf(maps));
        self.kernels.push(layers::loss_gradient(logits.channels, self.batch.images, bufs, self.labels));
        gradient
    }

    /// Sets the gradient of a rectified result to zero where the result is, in place.
    pub fn rectify_gradient(&mut self, output: &Maps, gradient: &Maps) {
        let values = layers::rectified_gradients(self.values(output.stored), self.values(gradient.stored));
        self.overwrite(gradient.stored, values);
        self.kernels.push(layers::rectified_gradient(self.buf(output), self.buf(gradient)));
    }

    /// Computes the gradients of a layer's parameters from its input and the gradient of its output.
    pub fn parameter_gradients(&mut self, input: &Maps, parameters: &Parameters, gradient: &Maps) {
        let &Parameters { layer, weight_gradients, bias_gradient, .. } = parameters;
        let sliced = weight_gradient(&layer, parameters.slices, self.batch);
        let weights = sliced.reference(self.values(input.stored), self.values(gradient.stored));
        self.overwrite(weight_gradients, weights);
        let target = self.stored[weight_gradients].buf;
        self.kernels.push(sliced.kernel("weight gradient", self.buf(input), self.buf(gradient), target));

        let shape = [self.batch.images, layer.filters, layer.output_pixels()];
        let sums = layers::bias_gradients(shape, self.values(gradient.stored));
        self.overwrite(bias_gradient, sums);
        let target = self.stored[bias_gradient].buf;
        self.kernels.push(layers::bias_gradient(shape, self.buf(gradient), target));
    }

    /// Passes a gradient back through a layer.
    pub fn data_gradient(&mut self, parameters: &Parameters, gradient: &Maps) -> Maps {
        let layer = &parameters.layer;
        let zeros = vec![0.0; (self.batch.images * layer.channels * layer.size * layer.size) as usize];
        let input = self.result("gradient of activations", layer.channels, layer.size, zeros);
        self.pass_back(parameters, gradient, &input, false);
        input
    }

    /// Passes a gradient back through a layer and adds it to one that came another way.
    pub fn add_data_gradient(&mut self, parameters: &Parameters, gradient: &Maps, input: &Maps) {
        self.pass_back(parameters, gradient, input, true);
    }

    fn pass_back(&mut self, parameters: &Parameters, gradient: &Maps, input: &Maps, accumulates: bool) {
        let product = DataGradient { layer: parameters.layer, images: self.batch.images, accumulates };
        let mut values = self.values(input.stored).to_vec();
        product.reference(self.values(parameters.weights), self.values(gradient.stored), &mut values);
        self.overwrite(input.stored, values);
        let weights = self.stored[parameters.weights].buf;
        let kernel = product.kernel("data gradient", weights, self.buf(gradient), self.buf(input), self.batch.tile);
        self.kernels.push(kernel);
    }

    /// Passes a gradient back to the greatest of each window of 2 x 2.
    pub fn max_pool_gradient(&mut self, input: &Maps, output: &Maps, gradient: &Maps) -> Maps {
        let [inputs, outputs, gradients] = [input, output, gradient].map(|maps| self.values(maps.stored));
        let values = layers::max_pool_gradients(input.size, inputs, outputs, gradients);
        let result = self.result("gradient of activations", input.channels, input.size, values);
        let bufs = [input, output, gradient, &result].map(|maps| self.buf(maps));
        self.kernels.push(layers::max_pool_gradient(input.size, bufs));
        result
    }

    /// Passes a gradient back to all pixels of a plane.
    pub fn average_pool_gradient(&mut self, input: &Maps, gradient: &Maps) -> Maps {
        let pixels = input.size * input.size;
        let values = layers::average_gradients(pixels, self.values(gradient.stored));
        let result = self.result("gradient of activations", input.channels, input.size, values);
        self.kernels.push(layers::average_gradient(pixels, self.buf(gradient), self.buf(&result)));
        result
    }

    /// Moves all parameters against their gradients.
    pub fn update(&mut self) {
        for parameters in self.parameters.clone() {
            for (values, gradients, slices) in [
                (parameters.weights, parameters.weight_gradients, parameters.slices),
                (parameters.bias, parameters.bias_gradient, 1),
            ] {
                let mut updated = self.values(values).to_vec();
                layers::descend_reference(&mut updated, self.values(gradients), slices as usize);
                self.overwrite(values, updated);
                let [values, gradients] = [values, gradients].map(|stored| self.stored[stored].buf);
                self.kernels.push(layers::descend(values, gradients, slices));
            }
        }
    }
}
