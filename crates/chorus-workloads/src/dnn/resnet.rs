//! `resnet`: a stage of bottleneck blocks of ResNet-50, with their shortcuts.
//!
//! Source: HMG paper (Ren et al., HPCA 2020), section VI, Table III (resnet, without saying which part); ResNet (He et
//! al., CVPR 2016, Table 1 and Figure 5). The stage is conv2_x of ResNet-50: blocks that narrow 256 channels of images
//! of 56 x 56 to 64 with windows of one pixel, convolve these with windows of 3 x 3, widen them to 256 again, and add
//! what they were given. The first block is given 64 channels and widens its shortcut as well.
//!
//! One kernel per convolution (`conv.rs`) and one for the addition (`network.rs`), all of which read what others wrote
//! one or a few kernels before. Sharing: the input of a block is read by the first convolution, and again three kernels
//! later by the addition; widening reads 64 channels in the tiles of all 256 filters, which lie on different GPUs; an
//! addition reads in linear order what convolutions wrote in tiles of filters.
//!
//! Normalisation is part of weights and bias, as inference folds it.

use chorus_sim::frontend::HostMemory;
use chorus_system::Scale;

use crate::dnn::conv::Layer;
use crate::dnn::network::{Maps, Network};
use crate::gemm::Tile;
use crate::program::HostProgram;
use crate::registry::{Paper, Suite, Workload};
use crate::size::Sizes;

/// A stage of ResNet-50.
pub struct ResNet;

/// The stage, and how much it is applied to.
#[derive(Clone, Copy)]
struct Size {
    blocks: u32,
    /// Channels of the input of the first block, and of the 3 x 3 convolutions.
    narrow: u32,
    /// Channels between blocks.
    wide: u32,
    pixels: u32,
    images: u32,
    tile: Tile,
}

/// At the paper scale channels and pixels are ResNet's own, and 24 images take 675 MB, a fifth of Table III's 3.2 GB,
/// since an image takes 1.2 million line accesses: 28 million in all. The quick scale has a quarter of the
/// channels and images of 14 x 14, the size of conv4_x: 22 of them through two blocks in 6.9 MB and 0.33 million line
/// accesses. At medium scale images are 28 x 28, as in conv3_x: four times as much.
fn size(scale: Scale) -> Size {
    match scale {
        Scale::Quick => Size { blocks: 2, narrow: 16, wide: 64, pixels: 14, images: 22, tile: Tile::Small },
        Scale::Medium => Size { blocks: 2, narrow: 16, wide: 64, pixels: 28, images: 22, tile: Tile::Small },
        Scale::Paper => Size { blocks: 3, narrow: 64, wide: 256, pixels: 56, images: 24, tile: Tile::Large },
    }
}

/// The layer with square windows of `window` pixels that keeps the size of the image.
fn layer(size: &Size, channels: u32, filters: u32, window: u32) -> Layer {
    Layer { channels, filters, groups: 1, size: size.pixels, window, stride: 1, padding: window / 2 }
}

/// Adds a bottleneck block to the network.
fn block(network: &mut Network, size: &Size, input: Maps, channels: u32) -> Maps {
    let &Size { narrow, wide, .. } = size;
    let narrowing = network.filters(layer(size, channels, narrow, 1));
    let convolution = network.filters(layer(size, narrow, narrow, 3));
    let widening = network.filters(layer(size, narrow, wide, 1));
    let narrowed = network.convolve("narrow", &input, &narrowing, true);
    let convolved = network.convolve("convolve", &narrowed, &convolution, true);
    let widened = network.convolve("widen", &convolved, &widening, false);
    let shortcut = if channels == wide {
        input
    } else {
        let projection = network.filters(layer(size, channels, wide, 1));
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

    fn build(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
        let size = size(sizes.scale());
        let mut network = Network::new(memory, seed, size.tile);
        let mut channels = size.narrow;
        let mut maps = network.input(size.images, channels, size.pixels);
        for _ in 0..size.blocks {
            maps = block(&mut network, &size, maps, channels);
            channels = size.wide;
        }
        network.finish()
    }
}
