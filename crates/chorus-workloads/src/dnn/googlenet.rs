//! `googlenet`: the second convolution stage of GoogLeNet: reduction, convolution, pooling.
//!
//! Source: HMG paper (Ren et al., HPCA 2020), section VI, Table III (GoogLeNet conv2); GoogLeNet (Szegedy et al., CVPR
//! 2015, Table 1). The stage mixes 64 channels of images of 56 x 56 with windows of one pixel, applies 192 filters of
//! 3 x 3 to the result, rectifies both, and takes the maximum of windows of 3 x 3 at a distance of 2.
//!
//! The forward pass takes the minibatch in slices, and each slice in three kernels: two convolutions (`conv.rs`) and
//! the pooling (`pooling.rs`). Sharing: everybody reads the filters of both layers, and nobody writes them. The
//! convolution reads the result of the reduction in windows, once for each of its tiles of filters. The work-groups of
//! several tiles, most of them on another module, have written each plane that the pooling reads.
//!
//! Left out: the normalisation between convolution and pooling, which later versions of the network dropped.

use chorus_kernel::HostMemory;

use crate::dnn::conv::Layer;
use crate::dnn::network::Network;
use crate::dnn::network_sizes::{POOLED_SIDE_MAX, memory_misfit, tile, tile_misfit, tile_rows};
use crate::program::HostProgram;
use crate::registry::{Paper, Suite, Workload};
use crate::size::{SizeSpec, Sizes};

/// The second stage of GoogLeNet.
pub struct GoogLeNet;

const STAGE_SOURCE: &str = "GoogLeNet conv2 (Szegedy et al., Table 1)";
const IMAGES_SOURCE: &str = "chosen: 56 images in 30 million line accesses; HMG Table III has 1.15 GB";

/// At paper scale the stage is GoogLeNet's own, and 56 images take 259 MB, a quarter of Table III's 1.15 GB. An image
/// takes 0.54 million line accesses, so all images take 30 million. Quick scale has a quarter of channels, filters and
/// pixels, and 8 images in 2.3 MB and 0.29 million line accesses. Medium scale has all pixels, so four times as much.
static SIZES: [SizeSpec; 6] = [
    SizeSpec::new("channels", "channels of an image", [16, 16, 64], STAGE_SOURCE).range(1, 1024),
    SizeSpec::new("filters", "filters of the 3 x 3 convolution", [48, 48, 192], STAGE_SOURCE).range(1, 1024),
    SizeSpec::new("side", "rows and columns of an image", [28, 56, 56], STAGE_SOURCE).range(3, POOLED_SIDE_MAX as u64),
    SizeSpec::new("slices", "slices of the minibatch", [2, 2, 4], IMAGES_SOURCE).range(1, 1024),
    SizeSpec::new("images_per_slice", "images of a slice", [4, 4, 14], IMAGES_SOURCE).range(1, 4096),
    tile_rows([16, 16, 64]),
];

/// The layer with windows of one pixel, which mixes channels.
fn reduction(sizes: &Sizes) -> Layer {
    let (channels, size) = (sizes.get("channels"), sizes.get("side"));
    Layer { channels, filters: channels, groups: 1, size, window: 1, stride: 1, padding: 0 }
}

fn convolution(sizes: &Sizes) -> Layer {
    Layer { filters: sizes.get("filters"), window: 3, padding: 1, ..reduction(sizes) }
}

/// Words of all images, results and parameters. A pooled plane counts as a whole one.
fn words(sizes: &Sizes) -> u64 {
    let [channels, filters, side, slices, images] =
        ["channels", "filters", "side", "slices", "images_per_slice"].map(|key| u64::from(sizes.get(key)));
    let maps = slices * images * side * side * (2 * channels + 2 * filters);
    maps + channels * (channels + 1) + (9 * channels + 1) * filters
}

impl Workload for GoogLeNet {
    fn name(&self) -> &'static str {
        "googlenet"
    }

    fn title(&self) -> &'static str {
        "GoogLeNet, second stage"
    }

    fn summary(&self) -> &'static str {
        "Reduces, convolves and pools slices of a minibatch, each kernel on what all work-groups of the last one wrote."
    }

    fn suite(&self) -> Suite {
        Suite::Dnn
    }

    fn papers(&self) -> &'static [Paper] {
        &[Paper::Hmg]
    }

    fn source(&self) -> &'static str {
        "Ren et al., HMG: Extending Cache Coherence Protocols Across Modern Hierarchical Multi-GPU Systems, HPCA 2020, \
         section VI (GoogLeNet conv2); Szegedy et al., Going Deeper with Convolutions, CVPR 2015"
    }

    fn sizes(&self) -> &'static [SizeSpec] {
        &SIZES
    }

    fn misfit(&self, sizes: &Sizes) -> Option<String> {
        tile_misfit(sizes).or_else(|| memory_misfit(sizes, words(sizes)))
    }

    fn build(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
        let mut network = Network::new(memory, seed, tile(sizes));
        let (reduction, convolution) = (network.filters(reduction(sizes)), network.filters(convolution(sizes)));
        for _ in 0..sizes.get("slices") {
            let images = network.input(sizes.get("images_per_slice"), sizes.get("channels"), sizes.get("side"));
            let reduced = network.convolve("conv2 reduce", &images, &reduction, true);
            let convolved = network.convolve("conv2", &reduced, &convolution, true);
            network.max_pool("pool2", &convolved, 3, 2);
        }
        network.finish()
    }
}
