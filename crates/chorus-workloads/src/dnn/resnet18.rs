//! `resnet18`: a training step of ResNet18 on small images.
//!
//! Source: REC paper (Ko et al.), section 5.5, training of ResNet18 on Tiny-ImageNet-200; ResNet (He et al., CVPR 2016,
//! Table 1). A convolution of 7 x 7 with a stride of 2 and a pooling make images of a quarter of the rows and columns;
//! four stages of two basic blocks follow, each behind the first with twice the channels and half the rows and columns,
//! then the mean of each plane and a fully connected layer with a neuron for each of 200 classes. A block is two
//! convolutions of 3 x 3 and a shortcut, which is a convolution of one pixel where the shape changes. A step runs all
//! layers forward, the loss, and all layers backward, and then updates all parameters by gradient descent
//! (`training/`).
//!
//! Sharing: the patterns of `vgg16`, and one more. The input of a block is read again, by the addition two kernels
//! later and, in the backward pass, by the gradients of the first convolution and of the shortcut. Where the shortcut
//! is the input itself, the gradient of the first convolution is added in place to the gradient of the block's output,
//! after the gradients of the second convolution have read it.
//!
//! Left out: normalisation of batches, and everything that `training/` leaves out. The pooling behind the first
//! convolution has windows of 2 x 2. Those of ResNet are 3 x 3 and overlap.

use chorus_kernel::HostMemory;

use crate::dnn::network_sizes::{POOLED_SIDE_MAX, tile_misfit, tile_rows};
use crate::dnn::training::{CLASSES, COLOURS, Maps, Minibatch, Parameters, Training, convolution, fully_connected};
use crate::program::HostProgram;
use crate::registry::{Paper, Suite, Workload};
use crate::size::{SizeSpec, Sizes};

const STAGES: u32 = 4;
const BLOCKS_OF_STAGE: u32 = 2;

/// A training step of ResNet18.
pub struct ResNet18;

/// Quick: 10 channels instead of 64, and images of half of Tiny-ImageNet's 64 rows and columns. They take 2.8 MB and
/// 0.34 million line accesses of 64 bytes. Medium: 20 channels, so four times the weights and products, but twice the
/// activations, in 1.1 million line accesses. Paper: all channels and images of 64 x 64, 8 of them in 113 MB, with less
/// than half of the multiplications of `vgg16` at that scale. The paper says neither how large its minibatch nor how
/// large the footprint is.
///
/// The largest sizes together take less than 2^30 words.
static SIZES: [SizeSpec; 4] = [
    SizeSpec::new("channels", "channels of the first stage", [10, 20, 64], "ResNet18 (He et al., Table 1)")
        .range(1, 64),
    SizeSpec::new("side", "rows and columns of an image", [32, 32, 64], "REC, section 5.5: Tiny-ImageNet-200")
        .range(4, 2 * POOLED_SIDE_MAX as u64)
        .multiple_of(4),
    SizeSpec::new("images", "images of the minibatch", [4, 4, 8], "chosen: 113 MB; REC names no minibatch")
        .range(1, 32),
    tile_rows([16, 16, 64]),
];

/// The parameters of a basic block.
struct Block {
    first: Parameters,
    second: Parameters,
    /// The convolution of the shortcut, where it has one.
    projection: Option<Parameters>,
}

/// The input of a block, and its results.
struct Passed {
    input: Maps,
    inner: Maps,
    output: Maps,
}

impl Block {
    /// A block for images of `size` rows and columns. A block that doubles the channels halves rows and columns.
    fn new(training: &mut Training, [channels, filters]: [u32; 2], size: u32) -> Block {
        let stride = if channels == filters { 1 } else { 2 };
        let first = training.parameters(convolution([channels, filters], size, 3, stride));
        let second = training.parameters(convolution([filters, filters], size.div_ceil(stride), 3, 1));
        let projection = (stride > 1).then(|| training.parameters(convolution([channels, filters], size, 1, stride)));
        Block { first, second, projection }
    }

    fn forward(&self, training: &mut Training, input: Maps) -> Passed {
        let inner = training.convolve(&input, &self.first, true);
        let outer = training.convolve(&inner, &self.second, false);
        let shortcut = match &self.projection {
            Some(projection) => training.convolve(&input, projection, false),
            None => input,
        };
        Passed { input, inner, output: training.add(&outer, &shortcut) }
    }

    /// Takes the gradient of the output back to the input.
    fn backward(&self, training: &mut Training, passed: &Passed, gradient: Maps) -> Maps {
        training.rectify_gradient(&passed.output, &gradient);
        training.parameter_gradients(&passed.inner, &self.second, &gradient);
        let inner_gradient = training.data_gradient(&self.second, &gradient);
        training.rectify_gradient(&passed.inner, &inner_gradient);
        training.parameter_gradients(&passed.input, &self.first, &inner_gradient);
        let input_gradient = match &self.projection {
            Some(projection) => {
                training.parameter_gradients(&passed.input, projection, &gradient);
                training.data_gradient(projection, &gradient)
            }
            None => gradient,
        };
        training.add_data_gradient(&self.first, &inner_gradient, &input_gradient);
        input_gradient
    }
}

/// The parameters of all layers.
struct Network {
    stem: Parameters,
    blocks: Vec<Block>,
    classes: Parameters,
}

impl Network {
    fn new(training: &mut Training, sizes: &Sizes) -> Network {
        let [first_channels, side] = ["channels", "side"].map(|key| sizes.get(key));
        let stem = training.parameters(convolution([COLOURS, first_channels], side, 7, 2));
        let (mut channels, mut pixels) = (first_channels, side / 4);
        let mut blocks = Vec::new();
        for stage in 0..STAGES {
            let filters = first_channels << stage;
            for _ in 0..BLOCKS_OF_STAGE {
                blocks.push(Block::new(training, [channels, filters], pixels));
                if channels != filters {
                    pixels = pixels.div_ceil(2);
                }
                channels = filters;
            }
        }
        Network { stem, blocks, classes: training.parameters(fully_connected([channels, CLASSES], 1)) }
    }

    /// Runs a training step.
    fn train(&self, training: &mut Training) {
        let images = training.images();
        let stem = training.convolve(&images, &self.stem, true);
        let pooled = training.max_pool(&stem);
        let mut maps = pooled;
        let mut passed = Vec::new();
        for block in &self.blocks {
            let of_block = block.forward(training, maps);
            maps = of_block.output;
            passed.push(of_block);
        }
        let mean = training.average_pool(&maps);
        let logits = training.convolve(&mean, &self.classes, false);

        let loss = training.loss(&logits);
        training.parameter_gradients(&mean, &self.classes, &loss);
        let mean_gradient = training.data_gradient(&self.classes, &loss);
        let mut gradient = training.average_pool_gradient(&maps, &mean_gradient);
        for (block, passed) in self.blocks.iter().zip(&passed).rev() {
            gradient = block.backward(training, passed, gradient);
        }
        gradient = training.max_pool_gradient(&stem, &pooled, &gradient);
        training.rectify_gradient(&stem, &gradient);
        training.parameter_gradients(&images, &self.stem, &gradient);
        training.update();
    }
}

impl Workload for ResNet18 {
    fn name(&self) -> &'static str {
        "resnet18"
    }

    fn title(&self) -> &'static str {
        "ResNet18 training"
    }

    fn summary(&self) -> &'static str {
        "Trains eight residual blocks: forward, backward and update, with gradients that meet at the shortcuts."
    }

    fn suite(&self) -> Suite {
        Suite::Dnn
    }

    fn papers(&self) -> &'static [Paper] {
        &[Paper::Rec]
    }

    fn source(&self) -> &'static str {
        "Ko et al., REC: Enhancing fine-grained cache coherence protocol in multi-GPU systems, \
         section 5.5 (ResNet18); He et al., Deep Residual Learning for Image Recognition, CVPR 2016"
    }

    fn sizes(&self) -> &'static [SizeSpec] {
        &SIZES
    }

    fn misfit(&self, sizes: &Sizes) -> Option<String> {
        tile_misfit(sizes)
    }

    fn build(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
        let mut training = Training::new(memory, seed, Minibatch::of(sizes));
        Network::new(&mut training, sizes).train(&mut training);
        training.finish()
    }
}

#[cfg(test)]
mod tests {
    use chorus_system::Scale;

    use super::*;

    #[test]
    fn eighteen_layers_have_weights_besides_the_shortcuts() {
        let mut memory = HostMemory::default();
        let sizes = ResNet18.sizes_at(Scale::Quick);
        let mut training = Training::new(&mut memory, 1, Minibatch::of(&sizes));
        let network = Network::new(&mut training, &sizes);
        assert_eq!(1 + 2 * network.blocks.len() + 1, 18);
        assert_eq!(network.blocks.iter().filter(|block| block.projection.is_some()).count(), 3);
    }
}
