//! `alexnet`: the second convolution layer of AlexNet, and the pooling behind it.
//!
//! Source: HMG paper (Ren et al., HPCA 2020), section VI, Table III (AlexNet conv2); AlexNet (Krizhevsky, Sutskever,
//! Hinton, NIPS 2012, section 3.5). The layer applies filters of 5 x 5 to images of 27 x 27, channels and filters in
//! two groups, rectifies the result and takes the maximum of windows of 3 x 3 at a distance of 2.
//!
//! The forward pass takes the minibatch in slices, and each slice in two kernels: the convolution (`conv.rs`) and the
//! pooling (`pooling.rs`). Sharing: the filters are read by everybody in every other kernel and never written; the
//! images of a slice are read by the work-groups of all tiles of filters of their group, which lie far apart; what a
//! convolution writes tile by tile, the pooling reads plane by plane, most of it on another module.
//!
//! Left out: the normalisation between the two, which AlexNet's successors dropped.

use chorus_sim::frontend::HostMemory;
use chorus_system::Scale;

use crate::dnn::conv::Layer;
use crate::dnn::network::Network;
use crate::gemm::Tile;
use crate::program::HostProgram;
use crate::registry::{Paper, Suite, Workload};
use crate::size::Sizes;

/// The second layer of AlexNet.
pub struct AlexNet;

/// The layer, and how much it is applied to.
struct Size {
    layer: Layer,
    slices: u32,
    images_of_slice: u32,
    tile: Tile,
}

/// At the paper scale the layer is AlexNet's own, and 84 images take 102 MB, an eighth of Table III's 812 MB: an image
/// takes 0.35 million line accesses, so 29 million in all. The quick scale has fewer channels and filters, and 12
/// images in 3.0 MB and 0.32 million line accesses, four times as many at medium scale.
fn size(scale: Scale) -> Size {
    let layer = |channels, filters| Layer { channels, filters, groups: 2, size: 27, window: 5, stride: 1, padding: 2 };
    match scale {
        Scale::Quick => Size { layer: layer(6, 64), slices: 3, images_of_slice: 4, tile: Tile::Small },
        Scale::Medium => Size { layer: layer(6, 64), slices: 3, images_of_slice: 16, tile: Tile::Small },
        Scale::Paper => Size { layer: layer(96, 256), slices: 4, images_of_slice: 21, tile: Tile::Large },
    }
}

impl Workload for AlexNet {
    fn name(&self) -> &'static str {
        "alexnet"
    }

    fn title(&self) -> &'static str {
        "AlexNet, second layer"
    }

    fn summary(&self) -> &'static str {
        "Convolves and pools slices of a minibatch; filters are shared by all, and pooling reads what others convolved."
    }

    fn suite(&self) -> Suite {
        Suite::Dnn
    }

    fn papers(&self) -> &'static [Paper] {
        &[Paper::Hmg]
    }

    fn source(&self) -> &'static str {
        "Ren et al., HMG: Extending Cache Coherence Protocols Across Modern Hierarchical Multi-GPU Systems, HPCA 2020, \
         section VI (AlexNet conv2); Krizhevsky et al., ImageNet Classification with Deep Convolutional Neural \
         Networks, NIPS 2012"
    }

    fn build(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
        let Size { layer, slices, images_of_slice, tile } = size(sizes.scale());
        let mut network = Network::new(memory, seed, tile);
        let filters = network.filters(layer);
        for _ in 0..slices {
            let images = network.input(images_of_slice, layer.channels, layer.size);
            let convolved = network.convolve("conv2", &images, &filters, true);
            network.max_pool("pool2", &convolved, 3, 2);
        }
        network.finish()
    }
}
