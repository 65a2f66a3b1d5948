//! Claims of controllers that the search relies on, checked.
//!
//! A controller may say that a message only counts ([`chorus_protocol::controller::Controller::only_counts`]). The
//! search then takes the message at once and follows no other order. A false claim would hide mistakes, so each one is
//! checked in every state that was visited. The message alone must send nothing and end nothing. With every other
//! message that may arrive at the same controller, and with every line that may leave it, both orders must lead to the
//! same state, and together they must send the same messages and end the same operations.

use std::collections::HashSet;

use rayon::prelude::*;

use crate::machine::{Action, ExploredMachine};
use crate::node::{Nodes, StepInput};
use crate::state::State;
use crate::state_set::{SHARDS, StateSet, number_of};
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

/// A claim, and another input that was possible at the same time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Pair {
    before: u32,
    message: u32,
    other: StepInput,
}

/// The claims made in some states, each with every input that it may meet.
#[derive(Default)]
struct Pairs {
    seen: HashSet<Pair>,
    actions: Vec<Action>,
}

impl Pairs {
    /// Adds the pairs of a state.
    fn add(&mut self, machine: &ExploredMachine, state: &State) {
        self.actions.clear();
        machine.deliveries(state, &mut self.actions);
        let deliveries = self.actions.len();
        for delivery in 0..deliveries {
            let Some((agent, StepInput::Message(message))) = input_of(machine, state, self.actions[delivery]) else {
                continue;
            };
            let before = state[agent];
            if !machine.nodes.node(before).controller.only_counts(machine.nodes.message(message)) {
                continue;
            }
            self.actions.truncate(deliveries);
            machine.evictions(state, &mut self.actions);
            let inputs = self.actions.iter().enumerate().filter(|(place, _)| *place != delivery);
            let inputs = inputs.filter_map(|(_, &action)| input_of(machine, state, action));
            let others = inputs.filter(|(receiver, _)| *receiver == agent).map(|(_, other)| other);
            // Even a claim that meets nothing must be silent; its pair is the message itself.
            let pairs = others.chain([StepInput::Message(message)]).map(|other| Pair { before, message, other });
            self.seen.extend(pairs);
        }
    }
}

/// The controller that a delivery or an eviction concerns, and what it gets.
fn input_of(machine: &ExploredMachine, state: &State, action: Action) -> Option<(usize, StepInput)> {
    match action {
        Action::Deliver { position } => {
            let number = machine.network(state)[usize::from(position)];
            let receiver = usize::from(machine.nodes.message(number).dst.0);
            (receiver < machine.controllers).then_some((receiver, StepInput::Message(number)))
        }
        Action::Evict { agent, victim } => Some((usize::from(agent), StepInput::Evict(victim))),
        Action::Issue { .. } | Action::Time(_) => None,
    }
}

/// The first false claim of a controller in the states that were visited.
pub(crate) fn false_claim(machine: &mut ExploredMachine, seen: &StateSet) -> Option<Violation> {
    if !claims(&machine.nodes) {
        return None;
    }
    let pairs: Vec<HashSet<Pair>> = (0..SHARDS).into_par_iter().map(|shard| pairs_of(machine, seen, shard)).collect();
    let mut pairs: Vec<Pair> = pairs.into_iter().flatten().collect();
    pairs.sort_unstable();
    pairs.dedup();
    let wrong = pairs.into_iter().find(|pair| !holds(&mut machine.nodes, *pair))?;
    let message = machine.nodes.message(wrong.message);
    let agent = machine.config.topology.name(message.dst);
    Some(Violation::FalseClaim { agent, message: machine.protocol.messages()[usize::from(message.kind.0)].name })
}

/// The pairs of the states of one shard.
fn pairs_of(machine: &ExploredMachine, seen: &StateSet, shard: usize) -> HashSet<Pair> {
    let (mut pairs, mut state) = (Pairs::default(), State::new());
    for local in 0..seen.lengths()[shard] {
        seen.get(number_of(shard, local), &mut state);
        pairs.add(machine, &state);
    }
    pairs.seen
}

/// Whether any controller claims anything.
fn claims(nodes: &Nodes) -> bool {
    nodes.all_results().iter().any(|step| match step.input {
        StepInput::Message(number) => nodes.node(step.before).controller.only_counts(nodes.message(number)),
        StepInput::Request(_) | StepInput::Evict(_) | StepInput::Time(_) => false,
    })
}

/// Whether a message is silent, and may be taken before or after another input.
fn holds(nodes: &mut Nodes, Pair { before, message, other }: Pair) -> bool {
    let message = StepInput::Message(message);
    let step = nodes.step(before, message);
    let alone = nodes.effect(step);
    let is_silent = alone.done && nodes.sent(alone).is_empty() && nodes.completions(alone).is_empty();
    let mut both = || taken(nodes, before, [message, other], false) == taken(nodes, before, [other, message], true);
    is_silent && (other == message || both())
}
