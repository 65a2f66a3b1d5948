//! Claims of controllers that the search relies on, checked.
//!
//! A controller may say that a message only counts ([`chorus_protocol::controller::Controller::only_counts`]). The search
//! then takes the message at once and follows no other order. A false claim would hide mistakes, so each one is checked
//! in every state of a controller that made it. The message alone must send nothing and end nothing. With every other
//! input that the controller was seen to take in that state, both orders must lead to the same state, and together they
//! must send the same messages and end the same operations.

use crate::machine::ExploredMachine;
use crate::node::{Nodes, StepInput};
use crate::violation::Violation;

/// Everything that two steps in a row leave behind, in an order that does not depend on theirs.
#[derive(PartialEq)]
struct Effects {
    after: u32,
    sent: Vec<u32>,
    ended: Vec<String>,
    consumed: [bool; 2],
}

/// Takes two inputs one after the other. `consumed` says which of them were consumed; `swapped` if the second is named
/// first there.
fn taken(nodes: &mut Nodes, before: u32, inputs: [StepInput; 2], swapped: bool) -> Effects {
    let (mut sent, mut ended, mut after, mut consumed) = (Vec::new(), Vec::new(), before, [false; 2]);
    for (place, input) in inputs.into_iter().enumerate() {
        let number = nodes.step(after, input);
        let effect = nodes.effect(number);
        if effect.done {
            after = effect.after;
            consumed[if swapped { 1 - place } else { place }] = true;
            sent.extend_from_slice(nodes.sent(effect));
            ended.extend(nodes.completions(effect).iter().map(|completion| format!("{completion:?}")));
        }
    }
    sent.sort_unstable();
    ended.sort_unstable();
    Effects { after, sent, ended, consumed }
}

/// The first false claim of a controller.
pub(crate) fn false_claim(machine: &mut ExploredMachine) -> Option<Violation> {
    let nodes = &mut machine.nodes;
    let seen: Vec<(u32, StepInput)> = nodes.all_results().iter().map(|step| (step.before, step.input)).collect();
    let mut by_state = seen.clone();
    by_state.sort_unstable();
    for &(before, input) in &seen {
        let StepInput::Message(number) = input else { continue };
        if !nodes.node(before).controller.only_counts(nodes.message(number)) {
            continue;
        }
        let step = nodes.step(before, input);
        let alone = nodes.effect(step);
        let is_silent = alone.done && nodes.sent(alone).is_empty() && nodes.completions(alone).is_empty();
        let first = by_state.partition_point(|&(state, _)| state < before);
        let others = by_state[first..].iter().take_while(|(state, _)| *state == before).map(|&(_, other)| other);
        let mut others = others.filter(|&other| other != input);
        let commutes =
            |other| taken(nodes, before, [input, other], false) == taken(nodes, before, [other, input], true);
        if !is_silent || !others.all(commutes) {
            let agent = machine.config.topology.name(machine.nodes.message(number).dst);
            let kind = machine.nodes.message(number).kind;
            let message = machine.protocol.messages()[usize::from(kind.0)].name;
            return Some(Violation::FalseClaim { agent, message });
        }
    }
    None
}
