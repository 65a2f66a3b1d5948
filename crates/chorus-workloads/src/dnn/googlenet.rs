//! `googlenet`: the second convolution stage of GoogLeNet: reduction, convolution, pooling.
//!
//! Source: HMG paper (Ren et al., HPCA 2020), section VI, Table III (GoogLeNet conv2); GoogLeNet (Szegedy et al., CVPR
//! 2015, Table 1). The stage mixes 64 channels of images of 56 x 56 with windows of one pixel, applies 192 filters of
//! 3 x 3 to the result, rectifies both, and takes the maximum of windows of 3 x 3 at a distance of 2.
//!
//! The forward pass takes the minibatch in slices, and each slice in three kernels: two convolutions (`conv.rs`) and
//! the pooling (`pooling.rs`). Sharing: the filters of both layers are read by everybody and never written; what the
//! reduction writes, the convolution reads in windows, once for each of its tiles of filters; planes that the pooling
//! reads were written by the work-groups of several tiles, most of them on another module.
//!
//! Left out: the normalisation between convolution and pooling, which later versions of the network dropped.

use chorus_sim::frontend::HostMemory;
use chorus_system::Scale;

use crate::dnn::conv::Layer;
use crate::dnn::network::Network;
use crate::gemm::Tile;
use crate::program::HostProgram;
use crate::registry::{Paper, Suite, Workload};
use crate::size::Sizes;

/// The second stage of GoogLeNet.
pub struct GoogLeNet;

/// The stage, and how much it is applied to.
struct Size {
    channels: u32,
    filters: u32,
    pixels: u32,
    slices: u32,
    images_of_slice: u32,
    tile: Tile,
}

/// At the paper scale the stage is GoogLeNet's own, and 56 images take 259 MB, a quarter of Table III's 1.15 GB: an
/// image takes 0.54 million line accesses, so 30 million in all. The quick scale has a quarter of channels, filters and
/// pixels, and 8 images in 2.3 MB and 0.29 million line accesses; the medium scale has all pixels, so four times as
/// much.
fn size(scale: Scale) -> Size {
    match scale {
        Scale::Quick => {
            Size { channels: 16, filters: 48, pixels: 28, slices: 2, images_of_slice: 4, tile: Tile::Small }
        }
        Scale::Medium => {
            Size { channels: 16, filters: 48, pixels: 56, slices: 2, images_of_slice: 4, tile: Tile::Small }
        }
        Scale::Paper => {
            Size { channels: 64, filters: 192, pixels: 56, slices: 4, images_of_slice: 14, tile: Tile::Large }
        }
    }
}

impl Size {
    /// The windows of one pixel, which mix channels.
    fn reduction(&self) -> Layer {
        let (channels, size) = (self.channels, self.pixels);
        Layer { channels, filters: channels, groups: 1, size, window: 1, stride: 1, padding: 0 }
    }

    fn convolution(&self) -> Layer {
        Layer { filters: self.filters, window: 3, padding: 1, ..self.reduction() }
    }
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

    fn build(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
        let size = size(sizes.scale());
        let mut network = Network::new(memory, seed, size.tile);
        let (reduction, convolution) = (network.filters(size.reduction()), network.filters(size.convolution()));
        for _ in 0..size.slices {
            let images = network.input(size.images_of_slice, size.channels, size.pixels);
            let reduced = network.convolve("conv2 reduce", &images, &reduction, true);
            let convolved = network.convolve("conv2", &reduced, &convolution, true);
            network.max_pool("pool2", &convolved, 3, 2);
        }
        network.finish()
    }
}
