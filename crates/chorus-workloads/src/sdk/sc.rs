//! `sc`: the convolution of a padded image of integers with a mask that lies in memory.
//!
//! Source: REC paper (Ko et al.), section 5.1, Table 3, `Simple convolution`; SimpleConvolution of the AMD APP SDK, its
//! non-separable kernel. The image has a margin on its right and lower side as wide as the mask, less one; the result
//! has none. A launch of one dimension has a work-item for each pixel of the padded image, in work-groups of 64. The
//! number of a work-item, divided by the width of the result, gives the row and column of its pixel. Work-items beyond
//! the last pixel have nothing to do. Pixels are integers, the mask and the sum are floating point, and the sum is
//! rounded at the end.
//!
//! Sharing, where buffers are cut into blocks: everybody reads the mask. A row of the result is not a whole number of
//! work-groups and a row of the image is longer than a row of the result, so wavefronts begin anywhere in a line. The
//! parts of image and result that lie with a GPU drift apart from the pixels that it computes: at the borders of the
//! parts, GPUs read and write some of their neighbours' rows. Each pixel of the image is read nine times, by wavefronts
//! of up to three rows.
//!
//! Left out: the separable kernels with which the SDK compares this kernel.
//!
//! Arithmetic: 12 instructions for the division, its remainder and the test; per place of the mask 2 for the address, 1
//! to convert and a fused multiply-add; 2 for rounding.

use chorus_kernel::{Buf, HostMemory, Kernel, LANES, Lanes, Mask, Wave};

use crate::generator::SplitMix64;
use crate::program::{HostProgram, Output};
use crate::registry::{Paper, Suite, Workload};
use crate::size::{SizeSpec, Sizes};

/// A work-group of 64 work-items.
const WAVES_PER_GROUP: u32 = 2;
/// Rows and columns of the mask; 3 is the SDK's default.
const MASK: u32 = 3;
const PLACES: usize = (MASK * MASK) as usize;
/// Pixels are below this.
const PIXEL_LIMIT: u32 = 256;

/// Convolves an image with a mask that lies in memory.
pub struct Sc;

const SOURCE: &str = "REC Table 3 (SC): 512 MB, image and result";

/// Table 3's 512 MB are exactly a result of 8192 rows and columns and an image of the same size, without its margin. A
/// wavefront takes about 29 line accesses of 64 bytes, three for each of its nine reads.
static SIZES: [SizeSpec; 2] = [
    SizeSpec::new("width", "columns of the result", [1024, 2048, 8192], SOURCE).range(1, 1 << 14),
    SizeSpec::new("height", "rows of the result", [1024, 2048, 8192], SOURCE).range(1, 1 << 14),
];

/// The shape of the result.
#[derive(Clone, Copy)]
struct Image {
    width: u32,
    height: u32,
}

impl Image {
    fn padded_width(self) -> u32 {
        self.width + MASK - 1
    }

    fn padded_pixels(self) -> u32 {
        self.padded_width() * (self.height + MASK - 1)
    }
}

/// The weighted sum of pixels, rounded half up as the source does.
fn weigh(mask: &[f32; PLACES], pixels: [u32; PLACES]) -> i32 {
    let sum = mask.iter().zip(pixels).fold(0.0, |sum, (weight, pixel)| sum + pixel as f32 * weight);
    (sum + 0.5) as i32
}

async fn convolve(w: Wave, image: Image, input: Buf<u32>, mask: Buf<f32>, output: Buf<i32>) {
    let id = w.global_ids();
    w.alu(12).await;
    let inside = id.below(image.width * image.height);
    if !inside.any() {
        return;
    }
    let first = id.map(|id| id / image.width * image.padded_width() + id % image.width);
    // All lanes need the same weights, so they are read once, as by a scalar load.
    let weights = w.load_where(Mask::first(PLACES), mask, w.lane_ids());
    w.alu(2 * PLACES as u32).await;
    let pixels: [_; PLACES] = std::array::from_fn(|place| {
        let (down, across) = (place as u32 / MASK, place as u32 % MASK);
        w.load_where(inside, input, first + down * image.padded_width() + across)
    });
    let (pixels, weights) = (w.join_all(pixels).await, weights.await);
    let weights: [f32; PLACES] = std::array::from_fn(|place| weights[place]);
    w.alu(2 * PLACES as u32 + 2).await;
    w.store_where(inside, output, id, Lanes::from_fn(|lane| weigh(&weights, pixels.map(|pixels| pixels[lane]))));
}

/// The convolution on the host.
fn reference(image: Image, input: &[u32], mask: &[f32; PLACES]) -> Vec<i32> {
    let rows: Vec<&[u32]> = input.chunks_exact(image.padded_width() as usize).collect();
    let mut output = Vec::with_capacity((image.width * image.height) as usize);
    for window in rows.windows(MASK as usize) {
        for x in 0..image.width as usize {
            output.push(weigh(mask, std::array::from_fn(|at| window[at / MASK as usize][x + at % MASK as usize])));
        }
    }
    output
}

impl Workload for Sc {
    fn name(&self) -> &'static str {
        "sc"
    }

    fn title(&self) -> &'static str {
        "Simple convolution"
    }

    fn summary(&self) -> &'static str {
        "Convolves a padded image of integers with a mask of 3 x 3 in one kernel, a work-item per pixel."
    }

    fn suite(&self) -> Suite {
        Suite::Sdk
    }

    fn papers(&self) -> &'static [Paper] {
        &[Paper::Rec]
    }

    fn source(&self) -> &'static str {
        "Ko et al., REC: Enhancing fine-grained cache coherence protocol in multi-GPU systems, \
         section 5.1, Table 3 (SC); \
         AMD APP SDK 3.0 SimpleConvolution"
    }

    fn sizes(&self) -> &'static [SizeSpec] {
        &SIZES
    }

    fn build(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
        let image = Image { width: sizes.get("width"), height: sizes.get("height") };
        let mut generator = SplitMix64::new(seed);
        let pixels: Vec<u32> = (0..image.padded_pixels()).map(|_| generator.below(PIXEL_LIMIT)).collect();
        let weights: [f32; PLACES] = std::array::from_fn(|_| generator.between_f32(-1.0, 1.0));
        let expected = reference(image, &pixels, &weights);
        let (input, mask) = (memory.alloc_from(&pixels), memory.alloc_from(&weights));
        let output = memory.alloc(expected.len());
        let work_groups = image.padded_pixels().div_ceil(WAVES_PER_GROUP * LANES as u32);
        let body = move |w| convolve(w, image, input, mask, output);
        let kernel = Kernel::new("convolve", work_groups, WAVES_PER_GROUP, body).registers(24);
        HostProgram::new(vec![kernel], vec![Output::new("result", output, &expected)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_of_one_corner_copies_the_image_without_its_margin() {
        let image = Image { width: 4, height: 3 };
        let input: Vec<u32> = (0..image.padded_pixels()).collect();
        let mut mask = [0.0; PLACES];
        mask[0] = 1.0;
        assert_eq!(reference(image, &input, &mask), [0, 1, 2, 3, 6, 7, 8, 9, 12, 13, 14, 15]);
    }

    #[test]
    fn the_sum_is_rounded() {
        let mut mask = [0.0; PLACES];
        mask[4] = 0.25;
        let pixels = |centre: u32| std::array::from_fn(|place| if place == 4 { centre } else { 9 });
        assert_eq!([1, 2, 3].map(|centre| weigh(&mask, pixels(centre))), [0, 1, 1]);
    }
}
