//! `overfeat`: the first convolution layer of OverFeat, and the pooling behind it.
//!
//! Source: HMG paper (Ren et al., HPCA 2020), section VI, Table III (OverFeat layer 1); the fast model of OverFeat
//! (Sermanet et al., ICLR 2014, Table 1). The layer applies 96 filters of 11 x 11 at a distance of 4 to colour images
//! of 231 x 231, rectifies the result and takes the maximum of disjoint windows of 2 x 2.
//!
//! The forward pass takes the minibatch in slices, and each slice in two kernels: the convolution (`conv.rs`) and the
//! pooling (`pooling.rs`). Sharing: few weights, read by everybody and never written; windows that overlap by more than
//! half, so that an input row is gathered by the tiles of three rows of the output; at a distance of 4 a gather spreads
//! over several lines. Planes that the pooling reads were written by the work-groups of several tiles.

use chorus_sim::frontend::HostMemory;
use chorus_system::Scale;

use crate::dnn::conv::Layer;
use crate::dnn::network::Network;
use crate::gemm::Tile;
use crate::program::HostProgram;
use crate::registry::{Paper, Suite, Workload};
use crate::size::Sizes;

/// The first layer of OverFeat.
pub struct OverFeat;

/// The layer, and how much it is applied to.
struct Size {
    layer: Layer,
    slices: u32,
    images_of_slice: u32,
    tile: Tile,
}

/// At the paper scale the layer is that of the fast model, and 64 images take 138 MB, between a quarter and a fifth of
/// Table III's 618 MB: an image takes 0.45 million line accesses, so 29 million in all. The quick scale takes the
/// smaller windows of the accurate model (Table 3 of Sermanet et al.), 7 x 7 at a distance of 2, which need fewer
/// accesses for as much output, on small images: 6 of them in 1.7 MB and 0.37 million line accesses, four times as many
/// at medium scale.
fn size(scale: Scale) -> Size {
    let fast = Layer { channels: 3, filters: 96, groups: 1, size: 231, window: 11, stride: 4, padding: 0 };
    let accurate = Layer { filters: 32, size: 77, window: 7, stride: 2, ..fast };
    match scale {
        Scale::Quick => Size { layer: accurate, slices: 3, images_of_slice: 2, tile: Tile::Small },
        Scale::Medium => Size { layer: accurate, slices: 3, images_of_slice: 8, tile: Tile::Small },
        Scale::Paper => Size { layer: fast, slices: 4, images_of_slice: 16, tile: Tile::Large },
    }
}

impl Workload for OverFeat {
    fn name(&self) -> &'static str {
        "overfeat"
    }

    fn title(&self) -> &'static str {
        "OverFeat, first layer"
    }

    fn summary(&self) -> &'static str {
        "Convolves slices of a minibatch with large windows far apart, and pools what other work-groups convolved."
    }

    fn suite(&self) -> Suite {
        Suite::Dnn
    }

    fn papers(&self) -> &'static [Paper] {
        &[Paper::Hmg]
    }

    fn source(&self) -> &'static str {
        "Ren et al., HMG: Extending Cache Coherence Protocols Across Modern Hierarchical Multi-GPU Systems, HPCA 2020, \
         section VI (OverFeat layer 1); Sermanet et al., OverFeat: Integrated Recognition, Localization and Detection \
         using Convolutional Networks, ICLR 2014"
    }

    fn build(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
        let Size { layer, slices, images_of_slice, tile } = size(sizes.scale());
        let mut network = Network::new(memory, seed, tile);
        let filters = network.filters(layer);
        for _ in 0..slices {
            let images = network.input(images_of_slice, layer.channels, layer.size);
            let convolved = network.convolve("conv1", &images, &filters, true);
            network.max_pool("pool1", &convolved, 2, 2);
        }
        network.finish()
    }
}
