//! `resnet`: a stage of bottleneck blocks of ResNet-50, with their shortcuts.
//!
//! Source: HMG paper (Ren et al., HPCA 2020), section VI, Table III (resnet, without saying which part); ResNet (He et
//! al., CVPR 2016, Table 1 and Figure 5). The stage is conv2_x of ResNet-50: blocks that narrow 256 channels of images
//! of 56 x 56 to 64 with windows of one pixel, convolve these with windows of 3 x 3, widen them to 256 again, and add
//! their input. The input of the first block has 64 channels, and the block widens its shortcut as well.
//!
//! There is one kernel per convolution (`conv.rs`) and one for the addition (`network.rs`). Each of them reads what
//! others wrote one or a few kernels before. Sharing: the first convolution of a block reads its input, and three
//! kernels later the addition reads it again. Widening reads 64 channels in the tiles of all 256 filters, which lie on
//! different GPUs. An addition reads in linear order what convolutions wrote in tiles of filters.
//!
//! Normalisation is part of weights and bias, as inference folds it.

use chorus_kernel::HostMemory;

use crate::dnn::conv::Layer;
use crate::dnn::network::{Maps, Network};
use crate::dnn::network_sizes::{memory_misfit, tile, tile_misfit, tile_rows};
use crate::program::HostProgram;
use crate::registry::{Paper, Suite, Workload};
use crate::size::{SizeSpec, Sizes};

/// A stage of ResNet-50.
pub struct ResNet;

const STAGE_SOURCE: &str = "ResNet-50 conv2_x (He et al., Table 1)";

/// At paper scale channels and pixels are ResNet's own, and 24 images take 675 MB, a fifth of Table III's 3.2 GB. An
/// image takes 1.2 million line accesses, so all images take 28 million. Quick scale has a quarter of the channels and
/// images of 14 x 14, the size of conv4_x: 22 of them go through two blocks in 6.9 MB and 0.33 million line accesses.
/// At medium scale images are 28 x 28, as in conv3_x: four times as much.
static SIZES: [SizeSpec; 6] = [
    SizeSpec::new("blocks", "bottleneck blocks", [2, 2, 3], STAGE_SOURCE).range(1, 64),
    SizeSpec::new(
        "narrow_channels",
        "channels of the input of the first block, and of the 3 x 3 convolutions",
        [16, 16, 64],
        STAGE_SOURCE,
    )
    .range(1, 1024),
    SizeSpec::new("wide_channels", "channels between blocks", [64, 64, 256], STAGE_SOURCE).range(1, 4096),
    SizeSpec::new("side", "rows and columns of an image", [14, 28, 56], STAGE_SOURCE).range(1, 1024),
    SizeSpec::new(
        "images",
        "images of the minibatch",
        [22, 22, 24],
        "chosen: 24 images in 28 million line accesses; HMG Table III has 3.2 GB",
    )
    .range(1, 4096),
    tile_rows([16, 16, 64]),
];

/// The channels and pixels of the stage.
struct Stage {
    narrow: u32,
    wide: u32,
    side: u32,
}

impl Stage {
    fn of(sizes: &Sizes) -> Stage {
        let [narrow, wide, side] = ["narrow_channels", "wide_channels", "side"].map(|key| sizes.get(key));
        Stage { narrow, wide, side }
    }
}

/// Words of all images, results and parameters. Every block counts as one with a projection.
fn words(sizes: &Sizes) -> u64 {
    let [blocks, narrow, wide, side, images] =
        ["blocks", "narrow_channels", "wide_channels", "side", "images"].map(|key| u64::from(sizes.get(key)));
    let maps = images * side * side * (narrow + blocks * (2 * narrow + 3 * wide));
    let filters = wide.max(narrow) * (narrow + wide) + 9 * narrow * narrow + narrow * wide + 2 * (narrow + wide);
    maps + blocks * filters
}

/// The layer with square windows of `window` pixels that keeps the size of the image.
fn layer(stage: &Stage, channels: u32, filters: u32, window: u32) -> Layer {
    Layer { channels, filters, groups: 1, size: stage.side, window, stride: 1, padding: window / 2 }
}

/// Adds a bottleneck block to the network.
fn block(network: &mut Network, stage: &Stage, input: Maps, channels: u32) -> Maps {
    let &Stage { narrow, wide, .. } = stage;
    let narrowing = network.filters(layer(stage, channels, narrow, 1));
    let convolution = network.filters(layer(stage, narrow, narrow, 3));
    let widening = network.filters(layer(stage, narrow, wide, 1));
    let narrowed = network.convolve("narrow", &input, &narrowing, true);
    let convolved = network.convolve("convolve", &narrowed, &convolution, true);
    let widened = network.convolve("widen", &convolved, &widening, false);
    let shortcut = if channels == wide {
        input
    } else {
        let projection = network.filters(layer(stage, channels, wide, 1));
        network.convolve("project", &input, &projection, false)
    };
    network.add("add", &widened, &shortcut)
}

impl Workload for ResNet {
    fn name(&self) -> &'static str {
        "resnet"
    }

    fn title(&self) -> &'static str {
        "ResNet, a stage of residual blocks"
    }

    fn summary(&self) -> &'static str {
        "Runs bottleneck blocks of convolutions, and adds to each what it was given several kernels before."
    }

    fn suite(&self) -> Suite {
        Suite::Dnn
    }

    fn papers(&self) -> &'static [Paper] {
        &[Paper::Hmg]
    }

    fn source(&self) -> &'static str {
        "Ren et al., HMG: Extending Cache Coherence Protocols Across Modern Hierarchical Multi-GPU Systems, HPCA 2020, \
         section VI (resnet); He et al., Deep Residual Learning for Image Recognition, CVPR 2016"
    }

    fn sizes(&self) -> &'static [SizeSpec] {
        &SIZES
    }

    fn misfit(&self, sizes: &Sizes) -> Option<String> {
        tile_misfit(sizes).or_else(|| memory_misfit(sizes, words(sizes)))
    }

    fn build(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
        let stage = Stage::of(sizes);
        let mut network = Network::new(memory, seed, tile(sizes));
        let mut channels = stage.narrow;
        let mut maps = network.input(sizes.get("images"), channels, stage.side);
        for _ in 0..sizes.get("blocks") {
            maps = block(&mut network, &stage, maps, channels);
            channels = stage.wide;
        }
        network.finish()
    }
}
