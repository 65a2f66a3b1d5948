//! `alexnet`: the second convolution layer of AlexNet, and the pooling behind it.
//!
//! Source: HMG paper (Ren et al., HPCA 2020), section VI, Table III (AlexNet conv2); AlexNet (Krizhevsky, Sutskever,
//! Hinton, NIPS 2012, section 3.5). The layer applies filters of 5 x 5 to images of 27 x 27, channels and filters in
//! two groups, rectifies the result and takes the maximum of windows of 3 x 3 at a distance of 2.
//!
//! The forward pass takes the minibatch in slices, and each slice in two kernels: the convolution (`conv.rs`) and the
//! pooling (`pooling.rs`). Sharing: everybody reads the filters in every other kernel, and nobody writes them. The
//! work-groups of all tiles of filters of a group read the images of a slice, and these work-groups lie far apart. A
//! convolution writes its result tile by tile, and the pooling reads it plane by plane, mostly on another module.
//!
//! Left out: the normalisation between convolution and pooling, which AlexNet's successors dropped.

use chorus_kernel::HostMemory;

use crate::dnn::conv::Layer;
use crate::dnn::network::Network;
use crate::dnn::network_sizes::{POOLED_SIDE_MAX, memory_misfit, tile, tile_misfit, tile_rows};
use crate::program::HostProgram;
use crate::registry::{Paper, Suite, Workload};
use crate::size::{SizeSpec, Sizes};

/// The second layer of AlexNet.
pub struct AlexNet;

/// Channels and filters are divided into this many groups. The filters of a group see the channels of their group.
const GROUPS: u32 = 2;

const LAYER_SOURCE: &str = "AlexNet conv2 (Krizhevsky et al., section 3.5)";
const IMAGES_SOURCE: &str = "chosen: 84 images in 29 million line accesses; HMG Table III has 812 MB";

/// At paper scale the layer is AlexNet's own, and 84 images take 102 MB, an eighth of Table III's 812 MB. An image
/// takes 0.35 million line accesses, so all images take 29 million. Quick scale has fewer channels and filters, and 12
/// images in 3.0 MB and 0.32 million line accesses. Medium scale has four times as many images.
static SIZES: [SizeSpec; 6] = [
    SizeSpec::new("channels", "channels of an image, in two groups", [6, 6, 96], LAYER_SOURCE)
        .range(2, 1024)
        .multiple_of(GROUPS as u64),
    SizeSpec::new("filters", "filters, in two groups", [64, 64, 256], LAYER_SOURCE).range(32, 1024).multiple_of(32),
    SizeSpec::new("side", "rows and columns of an image", [27, 27, 27], LAYER_SOURCE).range(3, POOLED_SIDE_MAX as u64),
    SizeSpec::new("slices", "slices of the minibatch", [3, 3, 4], IMAGES_SOURCE).range(1, 1024),
    SizeSpec::new("images_per_slice", "images of a slice", [4, 16, 21], IMAGES_SOURCE).range(1, 4096),
    tile_rows([16, 16, 64]),
];

fn layer(sizes: &Sizes) -> Layer {
    let [channels, filters, size] = ["channels", "filters", "side"].map(|key| sizes.get(key));
    Layer { channels, filters, groups: GROUPS, size, window: 5, stride: 1, padding: 2 }
}

/// Words of all images, results and parameters. A pooled plane counts as a whole one.
fn words(sizes: &Sizes) -> u64 {
    let [channels, filters, side, slices, images] =
        ["channels", "filters", "side", "slices", "images_per_slice"].map(|key| u64::from(sizes.get(key)));
    slices * images * side * side * (channels + 2 * filters) + u64::from(layer(sizes).depth()) * filters + filters
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

    fn sizes(&self) -> &'static [SizeSpec] {
        &SIZES
    }

    fn misfit(&self, sizes: &Sizes) -> Option<String> {
        let (filters, rows) = (sizes.get("filters"), sizes.get("tile_rows"));
        let divided = || {
            (!(filters / GROUPS).is_multiple_of(rows)).then(|| {
                let multiple = GROUPS * rows;
                format!("filters = {filters} must be a multiple of {multiple}, twice tile_rows = {rows}")
            })
        };
        tile_misfit(sizes).or_else(divided).or_else(|| memory_misfit(sizes, words(sizes)))
    }

    fn build(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
        let layer = layer(sizes);
        let mut network = Network::new(memory, seed, tile(sizes));
        let filters = network.filters(layer);
        for _ in 0..sizes.get("slices") {
            let images = network.input(sizes.get("images_per_slice"), layer.channels, layer.size);
            let convolved = network.convolve("conv2", &images, &filters, true);
            network.max_pool("pool2", &convolved, 3, 2);
        }
        network.finish()
    }
}
