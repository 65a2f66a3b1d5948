//! `overfeat`: the first convolution layer of OverFeat, and the pooling behind it.
//!
//! Source: HMG paper (Ren et al., HPCA 2020), section VI, Table III (OverFeat layer 1); the fast model of OverFeat
//! (Sermanet et al., ICLR 2014, Table 1). The layer applies 96 filters of 11 x 11 at a distance of 4 to colour images
//! of 231 x 231, rectifies the result and takes the maximum of disjoint windows of 2 x 2.
//!
//! The forward pass takes the minibatch in slices, and each slice in two kernels: the convolution (`conv.rs`) and the
//! pooling (`pooling.rs`). Sharing: the weights are few, everybody reads them and nobody writes them. Windows overlap
//! by more than half, so that the tiles of three rows of the output gather an input row. At a distance of 4 a gather
//! spreads over several lines. The work-groups of several tiles have written each plane that the pooling reads.

use chorus_kernel::HostMemory;

use crate::dnn::conv::Layer;
use crate::dnn::network::Network;
use crate::dnn::network_sizes::{POOLED_SIDE_MAX, memory_misfit, tile, tile_misfit, tile_rows};
use crate::program::HostProgram;
use crate::registry::{Paper, Suite, Workload};
use crate::size::{SizeSpec, Sizes};

/// The first layer of OverFeat.
pub struct OverFeat;

/// Channels of a colour image.
const COLOURS: u32 = 3;

const LAYER_SOURCE: &str = "fast model of OverFeat (Sermanet et al., Table 1)";
const IMAGES_SOURCE: &str = "chosen: 64 images in 29 million line accesses; HMG Table III has 618 MB";

/// At paper scale the layer is the fast model's, and 64 images take 138 MB, between a quarter and a fifth of
/// Table III's 618 MB. An image takes 0.45 million line accesses, so all images take 29 million. Quick scale has the
/// smaller windows of the accurate model (Table 3 of Sermanet et al.), 7 x 7 at a distance of 2, which need fewer
/// accesses for as much output, and small images: 6 of them in 1.7 MB and 0.37 million line accesses. Medium scale has
/// four times as many images.
static SIZES: [SizeSpec; 7] = [
    SizeSpec::new("filters", "filters of the layer", [32, 32, 96], LAYER_SOURCE).range(1, 1024),
    SizeSpec::new("side", "rows and columns of an image", [77, 77, 231], LAYER_SOURCE).range(3, 1024),
    SizeSpec::new("window", "rows and columns of a filter", [7, 7, 11], LAYER_SOURCE).range(1, 64),
    SizeSpec::new("stride", "distance of two windows", [2, 2, 4], LAYER_SOURCE).range(1, 64),
    SizeSpec::new("slices", "slices of the minibatch", [3, 3, 4], IMAGES_SOURCE).range(1, 1024),
    SizeSpec::new("images_per_slice", "images of a slice", [2, 8, 16], IMAGES_SOURCE).range(1, 4096),
    tile_rows([16, 16, 64]),
];

fn layer(sizes: &Sizes) -> Layer {
    let [filters, size, window, stride] = ["filters", "side", "window", "stride"].map(|key| sizes.get(key));
    Layer { channels: COLOURS, filters, groups: 1, size, window, stride, padding: 0 }
}

/// Refuses windows that leave nothing to pool, or more than a pooling kernel can hold.
fn window_misfit(sizes: &Sizes) -> Option<String> {
    let [side, window, stride] = ["side", "window", "stride"].map(|key| sizes.get(key));
    if window + stride > side {
        return Some(format!(
            "window = {window} and stride = {stride} are more than side = {side} together; two windows must fit"
        ));
    }
    let output = layer(sizes).output_size();
    (output > POOLED_SIDE_MAX).then(|| {
        format!(
            "side = {side}, window = {window} and stride = {stride} give {output} x {output} windows; pooling takes at \
             most {POOLED_SIDE_MAX} x {POOLED_SIDE_MAX}"
        )
    })
}

/// Words of all images, results and parameters. A pooled plane counts as a whole one.
fn words(sizes: &Sizes) -> u64 {
    let [filters, side, slices, images] =
        ["filters", "side", "slices", "images_per_slice"].map(|key| u64::from(sizes.get(key)));
    let layer = layer(sizes);
    let (image, plane) = (u64::from(COLOURS) * side * side, u64::from(layer.output_pixels()));
    slices * images * (image + 2 * filters * plane) + (u64::from(layer.depth()) + 1) * filters
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

    fn sizes(&self) -> &'static [SizeSpec] {
        &SIZES
    }

    fn misfit(&self, sizes: &Sizes) -> Option<String> {
        tile_misfit(sizes).or_else(|| window_misfit(sizes)).or_else(|| memory_misfit(sizes, words(sizes)))
    }

    fn build(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
        let layer = layer(sizes);
        let mut network = Network::new(memory, seed, tile(sizes));
        let filters = network.filters(layer);
        for _ in 0..sizes.get("slices") {
            let images = network.input(sizes.get("images_per_slice"), layer.channels, layer.size);
            let convolved = network.convolve("conv1", &images, &filters, true);
            network.max_pool("pool1", &convolved, 2, 2);
        }
        network.finish()
    }
}
