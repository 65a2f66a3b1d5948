//! The gradients of convolution layers as implicit matrix products.
//!
//! The backward passes that belong to `conv.rs` (Chetlur et al.: cuDNN: Efficient Primitives for Deep Learning, 2014,
//! section 3), over images and filters in the same order in memory. The gradient of the input is the product of the
//! filters, one row per channel, and of a matrix that gathers for each pixel of the input the gradients of all outputs
//! whose windows see it. The gradient of the weights is the product of the windows, one row for each channel and place,
//! and of the gradients of the outputs, one column per filter. It sums over all pixels of all images. The images are
//! therefore cut into slices, each of which gives a gradient of its own, and the kernel that uses them adds them up.
//!
//! Sharing: the gradient of the input reads the filters in all tiles of pixels, and the gradients of the outputs in all
//! tiles of channels. The gradient of the weights reads the input of the forward pass and the gradients that the
//! backward pass has just written, each in many tiles. Only layers without groups have gradients here.
//!
//! Arithmetic: 4 instructions for the address of a weight, 8 for a gather, 2 for a gradient in order.

use chorus_kernel::{Buf, Kernel};

use crate::dnn::conv::Layer;
use crate::gemm::{Addend, Adjacent, Operand, Order, Product, Strided, Target, Tile};

/// The filters as columns of a matrix with a row per channel; its depth runs through the places of the window, and
/// through the filters at each place.
#[derive(Clone)]
struct FilterColumns {
    layer: Layer,
    weights: Buf<f32>,
}

impl Operand for FilterColumns {
    fn buf(&self) -> Buf<f32> {
        self.weights
    }

    fn adjacent(&self) -> Adjacent {
        Adjacent::Depth
    }

    fn element(&self, channel: u32, depth: u32) -> Option<u32> {
        let (place, filter) = (depth / self.layer.filters, depth % self.layer.filters);
        Some(self.layer.weight(filter, channel * self.layer.window * self.layer.window + place))
    }

    fn address_alu(&self) -> u32 {
        4
    }
}

/// The gradients of the outputs that see a pixel of the input, as columns of a matrix.
#[derive(Clone)]
struct SeeingOutputs {
    layer: Layer,
    output: Buf<f32>,
}

impl Operand for SeeingOutputs {
    fn buf(&self) -> Buf<f32> {
        self.output
    }

    fn adjacent(&self) -> Adjacent {
        Adjacent::Outer
    }

    fn element(&self, pixel: u32, depth: u32) -> Option<u32> {
        let layer = &self.layer;
        let (image, pixel) = (pixel / (layer.size * layer.size), pixel % (layer.size * layer.size));
        let (place, filter) = (depth / layer.filters, depth % layer.filters);
        let output_of = |at: u32, place: u32| {
            let first = (at + layer.padding).checked_sub(place)?;
            (first.is_multiple_of(layer.stride) && first / layer.stride < layer.output_size())
                .then_some(first / layer.stride)
        };
        let row = output_of(pixel / layer.size, place / layer.window)?;
        let column = output_of(pixel % layer.size, place % layer.window)?;
        Some(((image * layer.filters + filter) * layer.output_size() + row) * layer.output_size() + column)
    }

    fn address_alu(&self) -> u32 {
        8
    }
}

/// The gradient of the input: a plane for each image and channel.
#[derive(Clone)]
struct InputPlanes {
    layer: Layer,
    input: Buf<f32>,
}

impl Target for InputPlanes {
    fn buf(&self) -> Buf<f32> {
        self.input
    }

    fn element(&self, channel: u32, pixel: u32) -> u32 {
        let pixels = self.layer.size * self.layer.size;
        (pixel / pixels * self.layer.channels + channel) * pixels + pixel % pixels
    }
}

/// The gradients that a layer passes back to its input.
#[derive(Clone, Copy, Debug)]
pub struct DataGradient {
    /// The layer, without groups.
    pub layer: Layer,
    /// Images of the minibatch.
    pub images: u32,
    /// Whether the gradient is added to the values in the buffer.
    pub accumulates: bool,
}

impl DataGradient {
    /// The launch that computes the gradient of the input from the gradient of the output.
    pub fn kernel(
        self,
        name: &'static str,
        weights: Buf<f32>,
        output: Buf<f32>,
        input: Buf<f32>,
        tile: Tile,
    ) -> Kernel {
        let layer = self.layer;
        assert_eq!(layer.groups, 1, "{name} is of a layer without groups");
        let product = Product {
            rows: layer.channels,
            columns: self.images * layer.size * layer.size,
            depth: layer.window * layer.window * layer.filters,
            a: FilterColumns { layer, weights },
            b: SeeingOutputs { layer, output },
            target: InputPlanes { layer, input },
            addend: if self.accumulates { Addend::Accumulate } else { Addend::None },
            rectify: false,
            order: Order::ColumnsFirst,
        };
        product.kernel(name, tile)
    }

    /// The gradient of the input, computed on the host, in place.
    pub fn reference(&self, weights: &[f32], output: &[f32], input: &mut [f32]) {
        let layer = &self.layer;
        let (size, pixels) = (layer.size as usize, layer.output_pixels() as usize);
        for (number, plane) in (0..).zip(input.chunks_exact_mut(size * size)) {
            let (image, channel) = (number / layer.channels, number % layer.channels);
            let mut sums = vec![0.0; plane.len()];
            for place in 0..layer.window * layer.window {
                for filter in 0..layer.filters {
                    let weight = weights[layer.weight(filter, channel * layer.window * layer.window + place) as usize];
                    let gradients = &output[(image * layer.filters + filter) as usize * pixels..][..pixels];
                    self.add_shifted(place, weight, gradients, &mut sums);
                }
            }
            for (gradient, sum) in plane.iter_mut().zip(sums) {
                *gradient = if self.accumulates { sum + *gradient } else { sum };
            }
        }
    }

    /// Adds the gradients of one filter to the pixels that they see at a place of the window.
    fn add_shifted(&self, place: u32, weight: f32, gradients: &[f32], sums: &mut [f32]) {
        let layer = &self.layer;
        let [stride, size, output] = [layer.stride, layer.size, layer.output_size()].map(|length| length as usize);
        let (row, column) = (place / layer.window, place % layer.window);
        for p in layer.outputs_seeing(row) {
            let y = p * stride + row as usize - layer.padding as usize;
            for q in layer.outputs_seeing(column) {
                let x = q * stride + column as usize - layer.padding as usize;
                sums[y * size + x] += weight * gradients[p * output + q];
            }
        }
    }
}

/// The windows of all pixels as rows of a matrix, slice by slice.
#[derive(Clone)]
struct WindowRows {
    gradient: WeightGradient,
    input: Buf<f32>,
}

impl Operand for WindowRows {
    fn buf(&self) -> Buf<f32> {
        self.input
    }

    fn adjacent(&self) -> Adjacent {
        Adjacent::Depth
    }

    fn element(&self, row: u32, depth: u32) -> Option<u32> {
        let (slice, row) = (row / self.gradient.rows(), row % self.gradient.rows());
        let layer = &self.gradient.layer;
        let pixel = slice * self.gradient.images_of_slice * layer.output_pixels() + depth;
        if row < layer.depth() { layer.input(0, pixel, row) } else { None }
    }

    fn address_alu(&self) -> u32 {
        8
    }
}

/// The gradients of the outputs of one slice as columns of a matrix, one per filter.
#[derive(Clone)]
struct OutputColumns {
    gradient: WeightGradient,
    slice: u32,
    output: Buf<f32>,
}

impl Operand for OutputColumns {
    fn buf(&self) -> Buf<f32> {
        self.output
    }

    fn adjacent(&self) -> Adjacent {
        Adjacent::Depth
    }

    fn element(&self, filter: u32, depth: u32) -> Option<u32> {
        let layer = &self.gradient.layer;
        let image = self.slice * self.gradient.images_of_slice + depth / layer.output_pixels();
        Some((image * layer.filters + filter) * layer.output_pixels() + depth % layer.output_pixels())
    }

    fn address_alu(&self) -> u32 {
        2
    }

    fn for_row(mut self, row: u32) -> Self {
        self.slice = row / self.gradient.rows();
        self
    }
}

/// The gradients of the weights of a layer, one for each slice of the images.
#[derive(Clone, Copy, Debug)]
pub struct WeightGradient {
    /// The layer, without groups.
    pub layer: Layer,
    /// Number of slices that the images are cut into.
    pub slices: u32,
    /// Images of each slice.
    pub images_of_slice: u32,
    /// The tile of the product.
    pub tile: Tile,
}

impl WeightGradient {
    /// Rows of the product of a slice: a whole number of tiles.
    fn rows(&self) -> u32 {
        self.layer.depth().next_multiple_of(self.tile.rows())
    }

    /// Elements of the gradient of a slice. The elements of the weights come first, in their order. Zeros fill it up.
    pub fn slice_len(&self) -> u32 {
        self.rows() * self.layer.filters
    }

    /// The launch that computes the gradients of all slices, one after the other in memory.
    pub fn kernel(self, name: &'static str, input: Buf<f32>, output: Buf<f32>, gradients: Buf<f32>) -> Kernel {
        assert_eq!(self.layer.groups, 1, "{name} is of a layer without groups");
        let product = Product {
            rows: self.slices * self.rows(),
            columns: self.layer.filters,
            depth: self.images_of_slice * self.layer.output_pixels(),
            a: WindowRows { gradient: self, input },
            b: OutputColumns { gradient: self, slice: 0, output },
            target: Strided { buf: gradients, strides: [self.layer.filters, 1] },
            addend: Addend::None,
            rectify: false,
            order: Order::ColumnsFirst,
        };
        product.kernel(name, self.tile)
    }

    /// The gradients of all slices, computed on the host.
    pub fn reference(&self, input: &[f32], output: &[f32]) -> Vec<f32> {
        let layer = &self.layer;
        let mut gradients = vec![0.0; (self.slices * self.slice_len()) as usize];
        for (slice, gradients) in (0..).zip(gradients.chunks_exact_mut(self.slice_len() as usize)) {
            for (depth, filter) in (0..layer.depth()).flat_map(|d| (0..layer.filters).map(move |f| (d, f))) {
                let images = slice * self.images_of_slice..(slice + 1) * self.images_of_slice;
                let sum = images.fold(0.0, |sum, image| self.add_image(sum, input, output, [image, depth, filter]));
                gradients[layer.weight(filter, depth) as usize] = sum;
            }
        }
        gradients
    }

    /// Adds the terms of one image to the gradient of one weight.
    fn add_image(&self, mut sum: f32, input: &[f32], output: &[f32], [image, depth, filter]: [u32; 3]) -> f32 {
        let layer = &self.layer;
        let [stride, size, outputs] = [layer.stride, layer.size, layer.output_size()].map(|length| length as usize);
        let (channel, place) = (depth / (layer.window * layer.window), depth % (layer.window * layer.window));
        let [row, column] = [place / layer.window, place % layer.window];
        let pixels = &input[(image * layer.channels + channel) as usize * size * size..][..size * size];
        let gradients = &output[(image * layer.filters + filter) as usize * outputs * outputs..][..outputs * outputs];
        for p in layer.outputs_seeing(row) {
            let line = &pixels[(p * stride + row as usize - layer.padding as usize) * size..][..size];
            for q in layer.outputs_seeing(column) {
                sum += line[q * stride + column as usize - layer.padding as usize] * gradients[p * outputs + q];
            }
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use chorus_kernel::{HostMemory, flat};

    use super::*;
    use crate::dnn::conv;
    use crate::generator::SplitMix64;

    const LAYERS: [Layer; 4] = [
        Layer { channels: 3, filters: 5, groups: 1, size: 8, window: 3, stride: 1, padding: 1 },
        Layer { channels: 4, filters: 18, groups: 1, size: 9, window: 3, stride: 2, padding: 1 },
        Layer { channels: 20, filters: 6, groups: 1, size: 6, window: 1, stride: 2, padding: 0 },
        Layer { channels: 3, filters: 7, groups: 1, size: 4, window: 4, stride: 1, padding: 0 },
    ];
    const IMAGES: u32 = 4;

    /// Random input, weights and gradient of the output of a layer.
    fn draw(layer: &Layer) -> [Vec<f32>; 3] {
        let mut generator = SplitMix64::new(2);
        let lens = [
            IMAGES * layer.channels * layer.size * layer.size,
            layer.depth() * layer.filters,
            IMAGES * layer.filters * layer.output_pixels(),
        ];
        lens.map(|len| (0..len).map(|_| generator.between_f32(-1.0, 1.0)).collect())
    }

    #[test]
    fn gradients_of_inputs_are_those_of_the_host() {
        for (layer, accumulates) in LAYERS.into_iter().zip([false, true, true, false]) {
            let [mut input, weights, output] = draw(&layer);
            let mut memory = HostMemory::default();
            let [a, b, c] = [&weights, &output, &input].map(|values| memory.alloc_from(values));
            let gradient = DataGradient { layer, images: IMAGES, accumulates };
            flat::run_kernel(&gradient.kernel("gradient", a, b, c, Tile::Small), &memory).unwrap();
            gradient.reference(&weights, &output, &mut input);
            assert_eq!(memory.read(c), input, "{layer:?}");
        }
    }

    #[test]
    fn gradients_of_weights_are_those_of_the_host() {
        for (layer, slices) in LAYERS.into_iter().zip([2, 1, 4, 1]) {
            let [input, _, output] = draw(&layer);
            let gradient = WeightGradient { layer, slices, images_of_slice: IMAGES / slices, tile: Tile::Small };
            let mut memory = HostMemory::default();
            let [a, b] = [&input, &output].map(|values| memory.alloc_from(values));
            let gradients = memory.alloc((slices * gradient.slice_len()) as usize);
            flat::run_kernel(&gradient.kernel("gradient", a, b, gradients), &memory).unwrap();
            assert_eq!(memory.read(gradients), gradient.reference(&input, &output), "{layer:?}");
        }
    }

    /// The layer is linear in its input and in its weights, so the change of the output along any direction is the
    /// scalar product of that direction and the gradient.
    #[test]
    fn gradients_are_the_transposes_of_the_layer() {
        let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>();
        for layer in LAYERS {
            let [input, weights, output] = draw(&layer);
            let bias = vec![0.0; layer.filters as usize];
            let forward = dot(&conv::reference(&layer, &input, &weights, &bias, false), &output);
            let mut data = vec![0.0; input.len()];
            DataGradient { layer, images: IMAGES, accumulates: false }.reference(&weights, &output, &mut data);
            let sliced = WeightGradient { layer, slices: 1, images_of_slice: IMAGES, tile: Tile::Small };
            assert!((dot(&data, &input) - forward).abs() < 1e-3, "{layer:?}");
            assert!((dot(&sliced.reference(&input, &output), &weights) - forward).abs() < 1e-3, "{layer:?}");
        }
    }
}
