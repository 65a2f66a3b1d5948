//! `backprop`: training of a perceptron with one hidden layer.
//!
//! Source: CPElide paper (Dalmia et al., MICRO 2024), section IV-D, Table II, `Backprop` with 65,536 input units;
//! backprop of Rodinia (Che et al., IISWC 2009), with its 16 hidden units and one output unit. Two kernels per pass,
//! work-groups of 16 x 16 work-items, one per 16 input units. The first multiplies the weights of its units with their
//! inputs in local data, adds the products up in a tree, and stores 16 partial sums. The host adds those up and
//! computes the hidden units, the output and the errors of both. The second changes every weight by its unit's error
//! and input and by its last change.
//!
//! Sharing: a row of 16 weights and a bias takes 17 words, so rows begin anywhere in a line, and adjacent work-groups
//! share one. Weights that the second kernel writes are read by the first one of the next pass, in the same work-group.
//! The last changes are read and written by the second kernel only, once a pass. All of it fits the L2s.
//!
//! Left out: the first kernel of the original stores what its tree has left of the products in place of the weights,
//! and the host copies the weights there again before the second; with memory that host and GPU share neither is
//! needed. The errors of the hidden units, a buffer of 17 words in the original, come with the launch. The original
//! makes one pass; here there are four.
//!
//! Arithmetic: 10 instructions for coordinates and addresses and 1 multiplication in the first kernel, 3 per level of
//! the tree: the test and two for addresses and sum; 12 for coordinates and addresses and 4 multiply-adds in the
//! second.

use std::ops::Range;

use chorus_kernel::{AccessMode, Buf, HostMemory, Kernel, LANES, Lanes, Mask, Share, Wave};

use crate::generator::SplitMix64;
use crate::program::{HostProgram, Output};
use crate::registry::{Paper, Suite, Workload};
use crate::size::{SizeSpec, Sizes};

/// Hidden units, input units of a work-group, and sides of the work-group.
const UNITS: u32 = 16;
const WAVES_PER_GROUP: u32 = UNITS * UNITS / LANES as u32;
/// Words of a row of weights: one before those of the hidden units, which belongs to nobody.
const ROW: u32 = UNITS + 1;
const REGISTERS_PER_ITEM: u32 = 16;
/// Rodinia's learning rate, and the weight of the last change.
const ETA: f32 = 0.3;
const MOMENTUM: f32 = 0.3;
/// The output that the network is trained to give.
const TARGET: f32 = 0.1;

pub(crate) struct Backprop;

/// A work-group has 16 input units. Weights and changes take 0.6 MB, 2.2 MB and 8.9 MB for Table II's 65,536 units. A
/// pass takes about 146 line accesses per work-group: 0.15, 0.6 and 2.4 million in all.
static SIZES: [SizeSpec; 2] = [
    SizeSpec::new("input_units", "units of the input layer", [4096, 16_384, 65_536], "CPElide paper, Table II: 65536")
        .range(UNITS as u64, 1 << 24)
        .multiple_of(UNITS as u64),
    SizeSpec::new(
        "iterations",
        "training passes over all weights",
        [4, 4, 4],
        "chosen: Rodinia makes one pass, and reuse between passes takes several",
    )
    .range(1, 1000),
];

#[derive(Clone, Copy)]
struct Network {
    work_groups: u32,
    /// The bias, which is 1, and the input units.
    inputs: Buf<f32>,
    /// A row per input unit, that of the bias first.
    weights: Buf<f32>,
    changes: Buf<f32>,
    /// Sixteen of each work-group.
    partial_sums: Buf<f32>,
}

/// The part of the network that a wavefront works on: the weights of two input units.
struct Place {
    local: Lanes<u32>,
    row: Lanes<u32>,
    column: Lanes<u32>,
    /// The input unit of each lane, and its weight.
    unit: Lanes<u32>,
    weight: Lanes<u32>,
}

impl Place {
    fn new(w: &Wave) -> Place {
        let local = w.local_ids();
        let (column, row) = (local % UNITS, local / UNITS);
        let unit = row + (w.work_group() * UNITS + 1);
        Place { local, row, column, unit, weight: unit * ROW + column + 1 }
    }
}

/// The first kernel: partial sums of the hidden units.
async fn layer_forward(w: Wave, network: Network) {
    let place = Place::new(&w);
    w.alu(10).await;
    let first_column = place.column.below(1);
    let inputs = w.load_where(first_column, network.inputs, place.unit).await;
    w.lds_write(first_column, place.row, inputs);
    w.barrier().await;
    let weights = w.load(network.weights, place.weight).await;
    let products = place.local + UNITS;
    w.lds_write(Mask::ALL, products, weights);
    w.barrier().await;
    let inputs: Lanes<f32> = w.lds_read(Mask::ALL, place.row);
    w.alu(1).await;
    w.lds_write(Mask::ALL, products, weights * inputs);
    w.barrier().await;
    for level in 1..=UNITS.ilog2() {
        let step = 1 << level;
        let adds = place.row.where_(|row| row % step == 0);
        w.alu(3).await;
        if adds.any() {
            let own: Lanes<f32> = w.lds_read(adds, products);
            let other: Lanes<f32> = w.lds_read(adds, products + step / 2 * UNITS);
            w.lds_write(adds, products, own + other);
        }
        w.barrier().await;
    }
    let sums: Lanes<f32> = w.lds_read(first_column, place.row + UNITS);
    w.store_where(first_column, network.partial_sums, place.row + w.work_group() * UNITS, sums);
}

/// How much a weight changes.
fn change(error: f32, input: f32, last: f32) -> f32 {
    ETA * error * input + MOMENTUM * last
}

/// The second kernel: the weights of a pass change.
async fn adjust_weights(w: Wave, network: Network, errors: [f32; UNITS as usize]) {
    let place = Place::new(&w);
    let errors = place.column.map(|column| errors[column as usize]);
    w.alu(12).await;
    adjust(&w, network, Mask::ALL, place.weight, errors, place.unit).await;
    // The weights of the bias, whose input is 1, belong to the first row of the first work-group.
    if w.work_group() == 0 && w.id().wave == 0 {
        w.barrier().await;
        adjust(&w, network, place.row.below(1), place.column + 1, errors, Lanes::splat(0)).await;
    } else {
        w.barrier().await;
    }
}

async fn adjust(w: &Wave, network: Network, lanes: Mask, weight: Lanes<u32>, errors: Lanes<f32>, unit: Lanes<u32>) {
    let [weights, last, inputs] = w
        .join_all([
            w.load_where(lanes, network.weights, weight),
            w.load_where(lanes, network.changes, weight),
            w.load_where(lanes, network.inputs, unit),
        ])
        .await;
    w.alu(4).await;
    let changes = Lanes::from_fn(|lane| change(errors[lane], inputs[lane], last[lane]));
    w.store_where(lanes, network.weights, weight, weights + changes);
    w.store_where(lanes, network.changes, weight, changes);
}

fn squash(value: f32) -> f32 {
    1.0 / (1.0 + (-value).exp())
}

/// The host's work between the kernels: it computes the errors of the hidden units from the partial sums of all
/// work-groups and the weights of the bias. `to_output` holds the weights of bias and hidden units to the output; the
/// host changes them too.
fn hidden_errors(partial_sums: &[f32], bias: &[f32], to_output: &mut [f32]) -> [f32; UNITS as usize] {
    let hidden: [f32; UNITS as usize] = std::array::from_fn(|unit| {
        let sums = partial_sums.iter().skip(unit).step_by(UNITS as usize);
        squash(sums.sum::<f32>() + bias[unit])
    });
    let sum: f32 = hidden.iter().zip(&to_output[1..]).map(|(hidden, weight)| hidden * weight).sum();
    let output = squash(to_output[0] + sum);
    let error = output * (1.0 - output) * (TARGET - output);
    let errors = std::array::from_fn(|unit| hidden[unit] * (1.0 - hidden[unit]) * (error * to_output[unit + 1]));
    to_output[0] += ETA * error;
    to_output[1..].iter_mut().zip(hidden).for_each(|(weight, hidden)| *weight += ETA * error * hidden);
    errors
}

/// The rows of weights of a chiplet's work-groups.
fn own_rows(share: Share) -> Range<usize> {
    let row = |group: u32| ((group * UNITS + 1) * ROW) as usize;
    row(share.groups().start)..row(share.groups().end)
}

/// A chiplet's part, extended to the bias for the chiplet that has the first work-group.
fn with_bias(share: Share, own: Range<usize>) -> Range<usize> {
    if share.groups().contains(&0) { 0..own.end } else { own }
}

/// The rows of weights of a chiplet's work-groups, and that of the bias.
fn own_rows_and_bias(share: Share) -> Vec<Range<usize>> {
    vec![with_bias(share, own_rows(share))]
}

/// The input units of a chiplet's work-groups.
fn own_units(share: Share) -> Range<usize> {
    let unit = |group: u32| (group * UNITS + 1) as usize;
    unit(share.groups().start)..unit(share.groups().end)
}

impl Network {
    fn forward(self) -> Kernel {
        Kernel::new("bpnn_layerforward", self.work_groups, WAVES_PER_GROUP, move |w| layer_forward(w, self))
            .registers(REGISTERS_PER_ITEM)
            .lds((UNITS + UNITS * UNITS) * 4)
            .access_parts(self.inputs, AccessMode::Read, |share| vec![own_units(share)])
            .access_parts(self.weights, AccessMode::Read, |share| vec![own_rows(share)])
            .access_parts(self.partial_sums, AccessMode::ReadWrite, move |share| {
                vec![share.elements(UNITS, self.partial_sums.len())]
            })
    }

    fn adjust(self, errors: [f32; UNITS as usize]) -> Kernel {
        Kernel::new("bpnn_adjust_weights", self.work_groups, WAVES_PER_GROUP, move |w| adjust_weights(w, self, errors))
            .registers(REGISTERS_PER_ITEM)
            .access_parts(self.inputs, AccessMode::Read, |share| vec![with_bias(share, own_units(share))])
            .access_parts(self.weights, AccessMode::ReadWrite, own_rows_and_bias)
            .access_parts(self.changes, AccessMode::ReadWrite, own_rows_and_bias)
    }
}

/// The network on the host.
struct Reference {
    inputs: Vec<f32>,
    weights: Vec<f32>,
    changes: Vec<f32>,
    partial_sums: Vec<f32>,
    to_output: Vec<f32>,
}

impl Reference {
    fn draw(work_groups: u32, generator: &mut SplitMix64) -> Reference {
        let units = (work_groups * UNITS + 1) as usize;
        let mut inputs: Vec<f32> = (0..units).map(|_| generator.unit_f32()).collect();
        inputs[0] = 1.0;
        let mut draw = |len: usize| (0..len).map(|_| generator.between_f32(-0.02, 0.02)).collect::<Vec<f32>>();
        Reference {
            inputs,
            weights: draw(units * ROW as usize),
            changes: vec![0.0; units * ROW as usize],
            partial_sums: vec![0.0; units - 1],
            to_output: draw(ROW as usize),
        }
    }

    fn weight(unit: usize, hidden: usize) -> usize {
        unit * ROW as usize + hidden + 1
    }

    /// Computes the partial sums as the first kernel does.
    fn forward(&mut self) {
        for (place, sum) in self.partial_sums.iter_mut().enumerate() {
            let (group, hidden) = (place / UNITS as usize, place % UNITS as usize);
            let mut products: [f32; UNITS as usize] = std::array::from_fn(|row| {
                let unit = group * UNITS as usize + row + 1;
                self.weights[Reference::weight(unit, hidden)] * self.inputs[unit]
            });
            for level in 0..UNITS.ilog2() {
                let step = 1 << level;
                for row in (0..products.len()).step_by(2 * step) {
                    products[row] += products[row + step];
                }
            }
            *sum = products[0];
        }
    }

    /// Makes one training pass over all weights.
    fn train(&mut self) {
        self.forward();
        let errors = hidden_errors(&self.partial_sums, &self.weights[1..ROW as usize], &mut self.to_output);
        for (unit, &input) in self.inputs.iter().enumerate() {
            for (hidden, &error) in errors.iter().enumerate() {
                let at = Reference::weight(unit, hidden);
                self.changes[at] = change(error, input, self.changes[at]);
                self.weights[at] += self.changes[at];
            }
        }
    }
}

impl Workload for Backprop {
    fn name(&self) -> &'static str {
        "backprop"
    }

    fn title(&self) -> &'static str {
        "Back propagation"
    }

    fn summary(&self) -> &'static str {
        "Trains a perceptron with one hidden layer, two kernels per pass over its weights, sums in local data."
    }

    fn suite(&self) -> Suite {
        Suite::Rodinia
    }

    fn papers(&self) -> &'static [Paper] {
        &[Paper::CpElide]
    }

    fn source(&self) -> &'static str {
        "Dalmia et al., CPElide, MICRO 2024, section IV-D, Table II (Backprop); Rodinia backprop (Che et al., IISWC 2009)"
    }

    fn sizes(&self) -> &'static [SizeSpec] {
        &SIZES
    }

    fn build(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
        let (work_groups, passes) = (sizes.get("input_units") / UNITS, sizes.get("iterations"));
        let mut reference = Reference::draw(work_groups, &mut SplitMix64::new(seed));
        let network = Network {
            work_groups,
            inputs: memory.alloc_from(&reference.inputs),
            weights: memory.alloc_from(&reference.weights),
            changes: memory.alloc(reference.changes.len()),
            partial_sums: memory.alloc(reference.partial_sums.len()),
        };
        let mut to_output = reference.to_output.clone();
        (0..passes).for_each(|_| reference.train());
        let outputs = vec![
            Output::new("weights", network.weights, &reference.weights),
            Output::new("changes", network.changes, &reference.changes),
            Output::new("partial sums", network.partial_sums, &reference.partial_sums),
        ];
        let mut launches = 0..2 * passes;
        let next = move |memory: &HostMemory| {
            let launch = launches.next()?;
            if launch.is_multiple_of(2) {
                return Some(network.forward());
            }
            let bias = memory.read(network.weights.slice(1, UNITS as usize));
            Some(network.adjust(hidden_errors(&memory.read(network.partial_sums), &bias, &mut to_output)))
        };
        HostProgram::deciding(next, outputs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn training_brings_the_output_nearer_to_its_target() {
        let mut reference = Reference::draw(4, &mut SplitMix64::new(1));
        let error = |reference: &mut Reference| {
            reference.forward();
            let mut to_output = reference.to_output.clone();
            hidden_errors(&reference.partial_sums, &reference.weights[1..ROW as usize], &mut to_output);
            // The bias of the output has changed by the error.
            (to_output[0] - reference.to_output[0]).abs()
        };
        let before = error(&mut reference);
        (0..20).for_each(|_| reference.train());
        let after = error(&mut reference);
        assert!(after < before, "{before} {after}");
    }

    #[test]
    fn a_change_continues_the_last_one() {
        assert_eq!(change(0.0, 1.0, 2.0), MOMENTUM * 2.0);
        assert_eq!(change(2.0, 0.5, 0.0), ETA);
    }
}
