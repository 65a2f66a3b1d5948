//! `vgg16`: a training step of VGG16 on small images.
//!
//! Source: REC paper (Ko et al.), section 5.5, training of VGG16 on Tiny-ImageNet-200; VGG (Simonyan, Zisserman, ICLR
//! 2015, Table 1, configuration D). Thirteen convolutions of 3 x 3 in five stages, each stage behind the first with
//! more channels and each followed by pooling of 2 x 2, and three fully connected layers, the last with a neuron for
//! each of 200 classes. A step runs all layers forward, the loss, and all layers backward, as the networks that come
//! with MGPUSim do, and then updates all parameters by gradient descent (`training/`).
//!
//! Sharing: early stages have many activations and few weights, late stages few activations and many weights. So all
//! GPUs read mainly images in early and filters in late stages. They read filters in the forward pass and again for the
//! gradient of the input, and images in the forward pass and again for the gradient of the weights. The update writes
//! all weights, which all GPUs have read.
//!
//! Left out: dropout between the fully connected layers, and everything that `training/` leaves out. Bias and
//! rectification are part of the kernel of a convolution, where MGPUSim has kernels of their own. Matrix products
//! gather windows themselves; those of MGPUSim read them from a matrix that another kernel writes.

use chorus_kernel::HostMemory;

use crate::dnn::network_sizes::{POOLED_SIDE_MAX, tile_misfit, tile_rows};
use crate::dnn::training::{CLASSES, COLOURS, Maps, Minibatch, Parameters, Training, convolution, fully_connected};
use crate::program::HostProgram;
use crate::registry::{Paper, Suite, Workload};
use crate::size::{SizeSpec, Sizes};

/// Convolutions of each stage.
const CONVOLUTIONS: [u32; 5] = [2, 2, 3, 3, 3];
/// Channels of each stage, as multiples of those of the first.
const CHANNELS: [u32; 5] = [1, 2, 4, 8, 8];

/// A training step of VGG16.
pub struct Vgg16;

/// Quick: a sixteenth of the channels and neurons, and images of half of Tiny-ImageNet's 64 rows and columns. They take
/// 2.2 MB and 0.36 million line accesses of 64 bytes. Medium: twice the channels and neurons of quick, so four times
/// the weights and products, but twice the activations, in 1.0 million line accesses. Paper: images of 64 x 64, half of
/// the channels and a quarter of the neurons, so that a minibatch of 8 takes 111 MB and 21 million line accesses. The
/// paper says neither how large its minibatch nor how large the footprint is.
///
/// Five poolings halve the images, so that their rows and columns are multiples of 32. The largest sizes together take
/// less than 2^30 words.
static SIZES: [SizeSpec; 5] = [
    SizeSpec::new(
        "channels",
        "channels of the first stage",
        [4, 8, 32],
        "chosen: half of those of VGG16 (Simonyan, Zisserman, Table 1), for 21 million line accesses",
    )
    .range(1, 64),
    SizeSpec::new(
        "neurons",
        "outputs of the first two fully connected layers",
        [256, 512, 1024],
        "chosen: a quarter of those of VGG16 (Simonyan, Zisserman, Table 1), for 21 million line accesses",
    )
    .range(1, 4096),
    SizeSpec::new("side", "rows and columns of an image", [32, 32, 64], "REC, section 5.5: Tiny-ImageNet-200")
        .range(32, POOLED_SIDE_MAX as u64)
        .multiple_of(32),
    SizeSpec::new("images", "images of the minibatch", [4, 4, 8], "chosen: 111 MB; REC names no minibatch")
        .range(1, 32),
    tile_rows([16, 16, 64]),
];

/// The parameters of all layers.
struct Network {
    stages: Vec<Vec<Parameters>>,
    fully_connected: [Parameters; 3],
}

impl Network {
    fn new(training: &mut Training, sizes: &Sizes) -> Network {
        let (mut channels, mut pixels) = (COLOURS, sizes.get("side"));
        let mut stages = Vec::new();
        for (times, convolutions) in CHANNELS.into_iter().zip(CONVOLUTIONS) {
            let filters = times * sizes.get("channels");
            let mut stage = Vec::new();
            for _ in 0..convolutions {
                stage.push(training.parameters(convolution([channels, filters], pixels, 3, 1)));
                channels = filters;
            }
            stages.push(stage);
            pixels /= 2;
        }
        let neurons = sizes.get("neurons");
        let fully_connected = [
            fully_connected([channels, neurons], pixels),
            fully_connected([neurons, neurons], 1),
            fully_connected([neurons, CLASSES], 1),
        ];
        Network { stages, fully_connected: fully_connected.map(|layer| training.parameters(layer)) }
    }

    /// Runs a training step.
    fn train(&self, training: &mut Training) {
        let images = training.images();
        let mut passed = Vec::new();
        let mut maps = images;
        for stage in &self.stages {
            for parameters in stage {
                let output = training.convolve(&maps, parameters, true);
                passed.push(Passed::Layer { input: maps, parameters: *parameters, output });
                maps = output;
            }
            let output = training.max_pool(&maps);
            passed.push(Passed::Pooling { input: maps, output });
            maps = output;
        }
        let [first, second, last] = &self.fully_connected;
        for parameters in [first, second] {
            let output = training.convolve(&maps, parameters, true);
            passed.push(Passed::Layer { input: maps, parameters: *parameters, output });
            maps = output;
        }
        let logits = training.convolve(&maps, last, false);
        let loss = training.loss(&logits);
        training.parameter_gradients(&maps, last, &loss);
        let gradient = training.data_gradient(last, &loss);
        pass_back(training, &passed, gradient);
        training.update();
    }
}

/// A layer or pooling that the images went through, with its input and output.
enum Passed {
    Layer { input: Maps, parameters: Parameters, output: Maps },
    Pooling { input: Maps, output: Maps },
}

/// Takes the gradient of the last output back to the first layer.
fn pass_back(training: &mut Training, passed: &[Passed], mut gradient: Maps) {
    for (number, passed) in passed.iter().enumerate().rev() {
        match passed {
            Passed::Layer { input, parameters, output } => {
                training.rectify_gradient(output, &gradient);
                training.parameter_gradients(input, parameters, &gradient);
                // Nobody needs the gradient of the images.
                if number > 0 {
                    gradient = training.data_gradient(parameters, &gradient);
                }
            }
            Passed::Pooling { input, output } => gradient = training.max_pool_gradient(input, output, &gradient),
        }
    }
}

impl Workload for Vgg16 {
    fn name(&self) -> &'static str {
        "vgg16"
    }

    fn title(&self) -> &'static str {
        "VGG16 training"
    }

    fn summary(&self) -> &'static str {
        "Trains thirteen convolutions and three fully connected layers: forward, backward and update, layer by layer."
    }

    fn suite(&self) -> Suite {
        Suite::Dnn
    }

    fn papers(&self) -> &'static [Paper] {
        &[Paper::Rec]
    }

    fn source(&self) -> &'static str {
        "Ko et al., REC: Enhancing fine-grained cache coherence protocol in multi-GPU systems, \
         section 5.5 (VGG16); Simonyan, Zisserman, Very Deep Convolutional Networks for Large-Scale Image Recognition, ICLR 2015"
    }

    fn sizes(&self) -> &'static [SizeSpec] {
        &SIZES
    }

    fn misfit(&self, sizes: &Sizes) -> Option<String> {
        tile_misfit(sizes)
    }

    fn build(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
        let mut training = Training::new(memory, seed, Minibatch::of(sizes));
        let network = Network::new(&mut training, sizes);
        network.train(&mut training);
        training.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sixteen_layers_have_weights() {
        assert_eq!(CONVOLUTIONS.iter().sum::<u32>() + 3, 16);
    }
}
