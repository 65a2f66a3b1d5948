//! Layers and training steps of neural networks.

mod alexnet;
mod cnn;
pub(crate) mod conv;
pub(crate) mod conv_gradient;
mod filled;
mod googlenet;
mod lstm;
pub(crate) mod network;
pub(crate) mod network_sizes;
mod overfeat;
pub(crate) mod pooling;
pub(crate) mod recurrent;
mod resnet;
mod resnet18;
mod rnn_dgrad;
mod rnn_fw;
mod rnn_gru;
pub(crate) mod rnn_inference;
mod rnn_lstm;
mod rnn_wgrad;
pub(crate) mod training;
mod vgg16;

use self::rnn_inference::Input;
use crate::registry::Workload;

pub(crate) static WORKLOADS: &[&dyn Workload] = &[
    &alexnet::AlexNet,
    &cnn::Cnn,
    &googlenet::GoogLeNet,
    &lstm::Lstm,
    &overfeat::OverFeat,
    &resnet::ResNet,
    &resnet18::ResNet18,
    &rnn_dgrad::RnnDataGradient,
    &rnn_fw::RnnForward,
    &rnn_gru::RnnGru(Input::Large),
    &rnn_gru::RnnGru(Input::Small),
    &rnn_lstm::RnnLstm(Input::Large),
    &rnn_lstm::RnnLstm(Input::Small),
    &rnn_wgrad::RnnWeightGradient,
    &vgg16::Vgg16,
];
