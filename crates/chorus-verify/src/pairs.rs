//! Small machines with the other values of a protocol's parameters, in all pairs.
//!
//! A parameter declares the values that explorations give it ([`ParameterSpec::explored`]). All combinations would be
//! too many. Most mistakes that depend on parameters depend on one or two of them, so every pair of values of two
//! parameters is in some combination (Cohen et al., The AETG system, 1997). The combinations are found greedily: each
//! covers as many pairs as it can that no earlier one has.

use chorus_protocol::parameter::ParameterSpec;
use chorus_protocol::registry::{Protocol, Reach};

use crate::check::{CheckConfig, smoke_configurations};
use crate::config::MachineConfig;
use crate::heterogeneous;
use crate::names::interned;
use crate::scoped;

/// A value for every parameter, by its place among the values that explorations give it.
type Combination = Vec<usize>;

/// Two parameters, each with the place of a value.
type Pair = [(usize, usize); 2];

/// All pairs of values of a combination. A single parameter is paired with itself.
fn pairs(combination: &[usize]) -> Vec<Pair> {
    let mut pairs = Vec::new();
    for (first, &value) in combination.iter().enumerate() {
        pairs.push([(first, value); 2]);
        pairs.extend((first + 1..combination.len()).map(|second| [(first, value), (second, combination[second])]));
    }
    pairs
}

/// Combinations that contain every pair of values. The first one, with the first value of every parameter, is left out:
/// it is explored anyhow.
fn combinations(sizes: &[usize]) -> Vec<Combination> {
    let mut all: Vec<Combination> = vec![Vec::new()];
    for &size in sizes {
        let longer = |begun: Combination| (0..size).map(move |value| [begun.as_slice(), &[value]].concat());
        all = all.into_iter().flat_map(longer).collect();
    }
    let mut covered = pairs(&vec![0; sizes.len()]);
    let mut chosen = Vec::new();
    loop {
        let fresh =
            |combination: &Combination| pairs(combination).iter().filter(|pair| !covered.contains(pair)).count();
        // Of equally good combinations the first is taken.
        let best = all.iter().rev().max_by_key(|combination| fresh(combination)).cloned();
        let Some(best) = best.filter(|best| fresh(best) > 0) else { return chosen };
        covered.extend(pairs(&best));
        chosen.push(best);
    }
}

/// The machines that parameters are varied on: the smallest of a protocol that have fences and kernels.
fn machines(protocol: &dyn Protocol) -> Vec<CheckConfig> {
    let (all, names): (Vec<CheckConfig>, &[&str]) = if heterogeneous::applies(protocol) {
        (heterogeneous::quick_configurations(protocol), &["wide-smoke", "message-to-gpu", "message-to-cpu"])
    } else if protocol.reach() == Reach::AnyMachine {
        (scoped::quick_configurations(protocol), &["entry-smoke", "write-back-smoke", "kernels-smoke"])
    } else {
        (smoke_configurations(), &["smoke-lines"])
    };
    all.into_iter().filter(|config| names.contains(&config.name)).collect()
}

/// The small machines of a protocol with the other values of its parameters.
pub fn configurations(protocol: &dyn Protocol) -> Vec<CheckConfig> {
    let varied: Vec<&ParameterSpec> = protocol.parameters().iter().filter(|spec| spec.explored.len() > 1).collect();
    let sizes: Vec<usize> = varied.iter().map(|spec| spec.explored.len()).collect();
    let machines = machines(protocol);
    let mut configurations = Vec::new();
    for combination in combinations(&sizes) {
        let values = varied.iter().zip(&combination).map(|(spec, &value)| (spec.key, spec.explored[value]));
        let parameters: Vec<(&'static str, u64)> = values.collect();
        let text = parameters.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(",");
        configurations.extend(machines.iter().map(|config| CheckConfig {
            name: interned(format!("{}[{text}]", config.name)),
            description: interned(format!("as {}, with {text}", config.name)),
            machine: MachineConfig { parameters: parameters.clone(), ..config.machine.clone() },
        }));
    }
    configurations
}

#[cfg(test)]
mod tests {
    use super::*;
    use chorus_protocol::registry::PROTOCOLS;

    #[test]
    fn every_pair_of_values_is_in_some_combination() {
        let sizes = [3, 2, 2, 4];
        let chosen = combinations(&sizes);
        let mut covered: Vec<Pair> = chosen.iter().flat_map(|combination| pairs(combination)).collect();
        covered.extend(pairs(&[0; 4]));
        for first in 0..sizes.len() {
            for second in first + 1..sizes.len() {
                for value in 0..sizes[first] {
                    for other in 0..sizes[second] {
                        assert!(covered.contains(&[(first, value), (second, other)]));
                    }
                }
            }
        }
        assert!(chosen.len() < 16, "{}", chosen.len());
    }

    #[test]
    fn values_that_are_explored_are_values_that_are_accepted() {
        for spec in PROTOCOLS.iter().flat_map(|protocol| protocol.parameters()) {
            assert!(!spec.explored.is_empty(), "{}", spec.key);
            assert!(spec.explored.iter().all(|value| (spec.min..=spec.max).contains(value)), "{}", spec.key);
        }
    }
}
