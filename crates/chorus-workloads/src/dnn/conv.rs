//! Convolution layers as implicit matrix products.
//!
//! The algorithm that cuDNN runs where nothing more special applies (Chetlur et al.: cuDNN: Efficient Primitives for
//! Deep Learning, 2014, section 3): the product of the filters, one per row, and of a matrix that has a column for each
//! pixel of the output and a row for each channel and place of the window. That matrix is never written down; a tile
//! gathers its part from the images. Images are stored image, channel, row and column; filters depth by depth, with
//! those of one depth adjacent, the order into which the library packs them.
//!
//! Sharing: filters are read by the work-groups of all pixels, and only read. Windows of adjacent pixels overlap, so a
//! tile finds most of its gathers in lines that it has read before, and adjacent tiles share the rows between them. All
//! tiles of filters read the same images. Work-groups are numbered pixels first, so these tiles are far apart in the
//! grid. Each pixel of the output is written once.
//!
//! Arithmetic: a gather takes 8 instructions: 2 look up the offsets of its channel and place of the window, 2 add them,
//! 4 test the edges of the image.

use chorus_kernel::{Buf, Kernel};

use crate::gemm::{Addend, Adjacent, Operand, Order, Product, Target, Tile, rectify};

/// The shape of a convolution layer. Images and windows are square.
#[derive(Clone, Copy, Debug)]
pub struct Layer {
    /// Channels of the input.
    pub channels: u32,
    /// Channels of the output.
    pub filters: u32,
    /// Groups into which channels and filters are divided. Filters see the channels of their own group.
    pub groups: u32,
    /// Rows and columns of the input.
    pub size: u32,
    /// Rows and columns of a filter.
    pub window: u32,
    /// Distance of two windows.
    pub stride: u32,
    /// Zeros around the input.
    pub padding: u32,
}

impl Layer {
    /// Rows and columns of the output.
    pub fn output_size(&self) -> u32 {
        (self.size + 2 * self.padding - self.window) / self.stride + 1
    }

    /// Terms of each sum.
    pub fn depth(&self) -> u32 {
        self.channels / self.groups * self.window * self.window
    }

    fn filters_of_group(&self) -> u32 {
        self.filters / self.groups
    }

    /// Pixels of a channel of the output.
    pub fn output_pixels(&self) -> u32 {
        self.output_size() * self.output_size()
    }

    /// The place of the weight of a filter at a depth.
    pub fn weight(&self, filter: u32, depth: u32) -> u32 {
        let filters = self.filters_of_group();
        (filter / filters * self.depth() + depth) * filters + filter % filters
    }

    /// The place of the input that filters of a group see at a depth, for a pixel of the output. There is none outside
    /// the image. Pixels are numbered through all images.
    pub fn input(&self, group: u32, pixel: u32, depth: u32) -> Option<u32> {
        let (output, area) = (self.output_size(), self.window * self.window);
        let (image, pixel) = (pixel / self.output_pixels(), pixel % self.output_pixels());
        let (channel, place) = (depth / area, depth % area);
        let y = (pixel / output * self.stride + place / self.window).checked_sub(self.padding)?;
        let x = (pixel % output * self.stride + place % self.window).checked_sub(self.padding)?;
        let plane = image * self.channels + group * (self.channels / self.groups) + channel;
        (y < self.size && x < self.size).then(|| (plane * self.size + y) * self.size + x)
    }

    /// The rows or columns of the output whose windows have the row or column `place` inside the image.
    pub fn outputs_seeing(&self, place: u32) -> std::ops::Range<usize> {
        let first = self.padding.saturating_sub(place).div_ceil(self.stride);
        let end = (self.size + self.padding - place).div_ceil(self.stride).min(self.output_size());
        first as usize..end as usize
    }
}

/// The buffers of a layer.
#[derive(Clone, Copy, Debug)]
pub struct LayerBuffers {
    /// The images that the layer is applied to.
    pub input: Buf<f32>,
    /// The weights of all filters.
    pub weights: Buf<f32>,
    /// A number per filter.
    pub bias: Buf<f32>,
    /// The result, with a channel for each filter.
    pub output: Buf<f32>,
}

/// The filters as rows of a matrix.
#[derive(Clone)]
struct FilterRows {
    layer: Layer,
    weights: Buf<f32>,
}

impl Operand for FilterRows {
    fn buf(&self) -> Buf<f32> {
        self.weights
    }

    fn adjacent(&self) -> Adjacent {
        Adjacent::Outer
    }

    fn element(&self, filter: u32, depth: u32) -> Option<u32> {
        Some(self.layer.weight(filter, depth))
    }

    fn address_alu(&self) -> u32 {
        2
    }
}

/// The windows of all pixels as columns of a matrix.
#[derive(Clone)]
struct Windows {
    layer: Layer,
    group: u32,
    input: Buf<f32>,
}

impl Operand for Windows {
    fn buf(&self) -> Buf<f32> {
        self.input
    }

    fn adjacent(&self) -> Adjacent {
        Adjacent::Outer
    }

    fn element(&self, pixel: u32, depth: u32) -> Option<u32> {
        self.layer.input(self.group, pixel, depth)
    }

    fn address_alu(&self) -> u32 {
        8
    }

    fn for_row(mut self, row: u32) -> Self {
        self.group = row / self.layer.filters_of_group();
        self
    }
}

/// The result: a plane for each image and filter.
#[derive(Clone)]
struct Planes {
    layer: Layer,
    output: Buf<f32>,
}

impl Target for Planes {
    fn buf(&self) -> Buf<f32> {
        self.output
    }

    fn element(&self, filter: u32, pixel: u32) -> u32 {
        let pixels = self.layer.output_pixels();
        (pixel / pixels * self.layer.filters + filter) * pixels + pixel % pixels
    }
}

/// The launch that applies a layer to images, adds the bias, and rectifies the result if `rectified`.
pub fn kernel(
    name: &'static str,
    layer: Layer,
    images: u32,
    buffers: LayerBuffers,
    rectified: bool,
    tile: Tile,
) -> Kernel {
    assert!(
        layer.groups == 1 || layer.filters_of_group().is_multiple_of(tile.rows()),
        "a tile takes filters of one group"
    );
    let product = Product {
        rows: layer.filters,
        columns: images * layer.output_pixels(),
        depth: layer.depth(),
        a: FilterRows { layer, weights: buffers.weights },
        b: Windows { layer, group: 0, input: buffers.input },
        target: Planes { layer, output: buffers.output },
        addend: Addend::RowBias(buffers.bias),
        rectify: rectified,
        order: Order::ColumnsFirst,
    };
    product.kernel(name, tile)
}

/// The layer on the host: direct convolution, terms in the order of channel and place of the window.
pub fn reference(layer: &Layer, input: &[f32], weights: &[f32], bias: &[f32], rectified: bool) -> Vec<f32> {
    let image_len = (layer.channels * layer.size * layer.size) as usize;
    let mut output = Vec::with_capacity(input.len() / image_len * (layer.filters * layer.output_pixels()) as usize);
    for image in input.chunks_exact(image_len) {
        for filter in 0..layer.filters {
            let mut plane = vec![0.0; layer.output_pixels() as usize];
            add_filter(layer, image, weights, filter, &mut plane);
            output.extend(plane.iter().map(|sum| {
                let value = sum + bias[filter as usize];
                if rectified { rectify(value) } else { value }
            }));
        }
    }
    output
}

fn add_filter(layer: &Layer, image: &[f32], weights: &[f32], filter: u32, plane: &mut [f32]) {
    let channels = layer.channels / layer.groups;
    let first = filter / layer.filters_of_group() * channels;
    let (size, window) = (layer.size as usize, layer.window);
    for depth in 0..layer.depth() {
        let weight = weights[layer.weight(filter, depth) as usize];
        let channel = (first + depth / (window * window)) as usize;
        let place = depth % (window * window);
        let input = &image[channel * size * size..][..size * size];
        add_shifted(layer, input, [place / window, place % window], weight, plane);
    }
}

/// Adds one channel of the input, shifted to a place of the window, to the output.
fn add_shifted(layer: &Layer, input: &[f32], [row, column]: [u32; 2], weight: f32, plane: &mut [f32]) {
    let (size, stride, output) = (layer.size as usize, layer.stride as usize, layer.output_size() as usize);
    let columns = layer.outputs_seeing(column);
    let x = columns.start * stride + column as usize - layer.padding as usize;
    for p in layer.outputs_seeing(row) {
        let y = p * stride + row as usize - layer.padding as usize;
        let values = input[y * size + x..(y + 1) * size].iter();
        let sums = plane[p * output..][columns.clone()].iter_mut();
        if stride == 1 {
            sums.zip(values).for_each(|(sum, value)| *sum += weight * value);
        } else {
            sums.zip(values.step_by(stride)).for_each(|(sum, value)| *sum += weight * value);
        }
    }
}

#[cfg(test)]
mod tests {
    use chorus_kernel::{HostMemory, flat};

    use super::*;
    use crate::generator::SplitMix64;

    /// Applies a layer to two images and compares the result with the host's.
    fn check(layer: Layer, tile: Tile) {
        let mut generator = SplitMix64::new(4);
        let mut draw = |len: u32| (0..len).map(|_| generator.between_f32(-1.0, 1.0)).collect::<Vec<f32>>();
        let input = draw(2 * layer.channels * layer.size * layer.size);
        let (weights, bias) = (draw(layer.depth() * layer.filters), draw(layer.filters));
        let expected = reference(&layer, &input, &weights, &bias, true);
        let mut memory = HostMemory::default();
        let buffers = LayerBuffers {
            input: memory.alloc_from(&input),
            weights: memory.alloc_from(&weights),
            bias: memory.alloc_from(&bias),
            output: memory.alloc(expected.len()),
        };
        flat::run_kernel(&kernel("convolution", layer, 2, buffers, true, tile), &memory).unwrap();
        assert_eq!(memory.read(buffers.output), expected);
        assert!(expected.iter().any(|&value| value > 0.0));
    }

    #[test]
    fn a_padded_window_sees_zeros_around_the_image() {
        check(Layer { channels: 3, filters: 20, groups: 1, size: 9, window: 5, stride: 1, padding: 2 }, Tile::Small);
        check(Layer { channels: 2, filters: 40, groups: 1, size: 7, window: 3, stride: 1, padding: 1 }, Tile::Medium);
    }

    #[test]
    fn windows_may_be_further_apart_than_a_pixel() {
        check(Layer { channels: 3, filters: 8, groups: 1, size: 31, window: 11, stride: 4, padding: 0 }, Tile::Large);
        check(Layer { channels: 1, filters: 8, groups: 1, size: 10, window: 3, stride: 2, padding: 1 }, Tile::Small);
    }

    #[test]
    fn filters_of_a_group_see_their_own_channels() {
        check(Layer { channels: 4, filters: 32, groups: 2, size: 8, window: 3, stride: 1, padding: 1 }, Tile::Small);
    }

    #[test]
    fn a_window_of_one_pixel_is_a_plain_product() {
        check(Layer { channels: 16, filters: 24, groups: 1, size: 5, window: 1, stride: 1, padding: 0 }, Tile::Small);
    }

    #[test]
    fn an_identity_filter_copies_the_image() {
        let layer = Layer { channels: 1, filters: 1, groups: 1, size: 4, window: 3, stride: 1, padding: 1 };
        let image: Vec<f32> = (0..16).map(|pixel| pixel as f32).collect();
        let mut weights = [0.0; 9];
        weights[4] = 1.0;
        assert_eq!(reference(&layer, &image, &weights, &[0.0], true), image);
    }
}
