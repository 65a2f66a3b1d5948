//! The mutants of a protocol: every operator in every cell where it makes a difference.
//!
//! Cells are those that a bounded exploration meets. An operator is tried on every step that was taken in a cell. Where
//! no step changes, there is no mutant.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use chorus_protocol::address::{AgentId, Role};
use chorus_protocol::controller::{Controller as _, Input, Outbox, Outcome, Vocabulary};
use chorus_protocol::message::{Message, MsgKind};
use chorus_protocol::registry::{BuildConfig, Protocol};

use super::alter::Surroundings;
use super::operators::{Alteration, Operator, PLAIN, REMEMBERED, SENT, TAKEN};
use super::wrapper::{
    Cell, LINELESS, Mutated, MutatedProtocol, Mutation, NO_LINE, Notes, old_line, same_state, without_panic,
};
use crate::check::table_configurations;
use crate::explore::{Exploration, OnForbidden};
use crate::machine::ExploredMachine;
use crate::node::{NOW, Node, Nodes, StepInput, StepResult};
use crate::program::WORDS;
use crate::settings::Settings;

/// The most states of each configuration from which cells are taken.
const STATES: usize = 20_000;

/// The most messages of one step that operators change.
const MESSAGES: usize = 4;

/// A protocol's mistake with its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mutant {
    /// The cell and the operator.
    pub mutation: Mutation,
    /// The name, for the command line: `L2:V:GETX:drop.0`.
    pub id: String,
    /// Whether steps in the cell may do nothing but count, so that explorations take them early.
    pub counts: bool,
    /// Whether no receiver reads the field that is wrong, in any state that was seen.
    pub unread: bool,
}

impl Mutant {
    fn new(protocol: &dyn Protocol, mutation: Mutation) -> Mutant {
        let id = format!("{}:{}", mutation.cell, mutation.operator.id(protocol));
        Mutant { mutation, id, counts: false, unread: false }
    }

    /// The mutant of this name, or what is wrong with the name.
    pub fn parse(protocol: &'static dyn Protocol, id: &str) -> Result<Mutant, UnknownMutant> {
        let parts: Vec<&str> = id.splitn(4, ':').collect();
        let &[place, state, event, operator] = parts.as_slice() else { return Err(UnknownMutant::Form) };
        let (role, device) = place.split_once('/').unwrap_or((place, ""));
        let vocabularies = vocabularies(protocol);
        let at_place = |vocabulary: &&'static Vocabulary| (vocabulary.role.name(), vocabulary.device) == (role, device);
        let found = vocabularies.iter().copied().find(at_place).ok_or(UnknownMutant::Cell)?;
        let (state, event) = match state {
            NO_LINE => (NO_LINE, LINELESS.into_iter().find(|name| *name == event).ok_or(UnknownMutant::Cell)?),
            state => {
                let state = found.states.iter().map(|spec| spec.name).find(|name| *name == state);
                let event = found.events.iter().copied().find(|name| *name == event);
                (state.ok_or(UnknownMutant::Cell)?, event.ok_or(UnknownMutant::Cell)?)
            }
        };
        let cell = Cell { role: found.role, device: found.device, state, event };
        let operator = Operator::parse(protocol, operator).ok_or(UnknownMutant::Operator)?;
        Ok(Mutant::new(protocol, Mutation { cell, operator }))
    }

    /// The protocol with this mistake.
    pub fn protocol(&self, base: &'static dyn Protocol) -> &'static MutatedProtocol {
        MutatedProtocol::leak(base, self.mutation)
    }

    /// The mistake in one sentence.
    pub fn sentence(&self, protocol: &dyn Protocol) -> String {
        let Cell { role, state, event, .. } = self.mutation.cell;
        let place = match state {
            NO_LINE => format!("{} on {event}", role.name()),
            state => format!("{} in {state} on {event}", role.name()),
        };
        format!("{place}: {}", self.mutation.operator.sentence(protocol))
    }
}

/// The part of a mutant's name that means nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnknownMutant {
    /// There are not four parts.
    #[error("a mutant is named ROLE:STATE:EVENT:OPERATOR")]
    Form,
    /// The protocol has no such cell.
    #[error("the protocol has no such role, state or event")]
    Cell,
    /// There is no such operator.
    #[error("there is no such operator")]
    Operator,
}

/// The vocabularies of a protocol's controllers.
fn vocabularies(protocol: &'static dyn Protocol) -> Vec<&'static Vocabulary> {
    let mut all: Vec<&'static Vocabulary> = Vec::new();
    for config in table_configurations(protocol) {
        let machine = ExploredMachine::new(protocol, None, &config.machine);
        for vocabulary in machine.nodes().all_nodes().iter().map(|node| node.controller.vocabulary()) {
            if !all.contains(&vocabulary) {
                all.push(vocabulary);
            }
        }
    }
    all
}

/// Everything that a cell was seen to do, over all configurations.
#[derive(Default)]
struct Seen {
    /// The most messages of one step.
    messages: usize,
    counts: bool,
    /// The kinds of messages that steps sent, each with the role of its receiver.
    sent: BTreeSet<(u8, Role, MsgKind)>,
    /// The kinds of messages that were the input.
    inputs: BTreeSet<MsgKind>,
}

/// All cells of a protocol, with the steps that were taken in them.
struct Catalogue {
    machines: Vec<(Exploration, BuildConfig)>,
    cells: BTreeMap<Cell, Seen>,
    /// The steps of each cell: a machine and a step of one of its controllers.
    steps: BTreeMap<Cell, Vec<(usize, usize)>>,
    /// The steps that took each message of each machine.
    takers: BTreeMap<(usize, u32), Vec<usize>>,
}

/// Every mutant of a protocol, cell by cell.
pub fn mutants(protocol: &'static dyn Protocol) -> Vec<Mutant> {
    let catalogue = Catalogue::explore(protocol);
    let mut all = Vec::new();
    for (&cell, seen) in &catalogue.cells {
        for operator in catalogue.candidates(cell, seen) {
            let mutation = Mutation { cell, operator };
            if catalogue.makes_a_difference(mutation) {
                let unread = catalogue.is_unread(mutation);
                all.push(Mutant { counts: seen.counts, unread, ..Mutant::new(protocol, mutation) });
            }
        }
    }
    all
}

impl Catalogue {
    fn explore(protocol: &'static dyn Protocol) -> Catalogue {
        let mut catalogue =
            Catalogue { machines: Vec::new(), cells: BTreeMap::new(), steps: BTreeMap::new(), takers: BTreeMap::new() };
        for config in table_configurations(protocol) {
            let mut exploration = Exploration::new(protocol, None, &config.machine, OnForbidden::Stop);
            exploration.run(&Settings::with_states(STATES));
            let build = exploration.machine().config().build_config(protocol, None);
            catalogue.machines.push((exploration, build));
            catalogue.absorb(catalogue.machines.len() - 1);
        }
        catalogue
    }

    fn absorb(&mut self, index: usize) {
        let Catalogue { machines, cells, steps, takers } = self;
        let machine = machines[index].0.machine();
        let nodes = machine.nodes();
        for (number, step) in nodes.all_results().iter().enumerate() {
            if let StepInput::Message(message) = step.input {
                takers.entry((index, message)).or_default().push(number);
            }
            let before: &Node = nodes.node(step.before);
            let input = nodes.input(step.input);
            let Some(cell) = Cell::of(&*before.controller, &input, NOW) else { continue };
            if step.outcome != Ok(Outcome::Done) {
                continue;
            }
            let seen = cells.entry(cell).or_default();
            seen.absorb(machine, step);
            steps.entry(cell).or_default().push((index, number));
        }
    }

    /// The operators that may make a difference in a cell.
    fn candidates(&self, cell: Cell, seen: &Seen) -> Vec<Operator> {
        let mut all = Vec::new();
        for index in 0..seen.messages.min(MESSAGES) as u8 {
            all.extend([Operator::Drop(index), Operator::Duplicate(index)]);
            all.extend(SENT.map(|alteration| Operator::Send(index, alteration)));
            all.extend(self.other_sent(cell, seen, index).map(|kind| Operator::Send(index, Alteration::Kind(kind))));
        }
        all.extend(REMEMBERED.map(Operator::Remember));
        all.extend(TAKEN.map(Operator::Take));
        if let Some(kind) = self.other_input(cell, seen) {
            all.extend([Operator::Remember(Alteration::Kind(kind)), Operator::Take(Alteration::Kind(kind))]);
        }
        all.extend(PLAIN);
        all
    }

    /// The next kind of message that the controllers of a cell send to receivers of the same role elsewhere.
    fn other_sent(&self, cell: Cell, seen: &Seen, index: u8) -> Option<MsgKind> {
        let &(_, to, kind) = seen.sent.iter().find(|(place, ..)| *place == index)?;
        let siblings = self.cells.iter().filter(|(other, _)| (other.role, other.device) == (cell.role, cell.device));
        let sent = siblings.flat_map(|(_, seen)| &seen.sent).filter(|(_, role, _)| *role == to);
        next_after(kind, sent.map(|(.., kind)| *kind).collect())
    }

    /// The next kind of message that controllers take in the same state.
    fn other_input(&self, cell: Cell, seen: &Seen) -> Option<MsgKind> {
        let &kind = seen.inputs.first()?;
        let same_state = |other: &Cell| Cell { event: cell.event, ..*other } == cell;
        let siblings = self.cells.iter().filter(|(other, _)| same_state(other));
        next_after(kind, siblings.flat_map(|(_, seen)| &seen.inputs).copied().collect())
    }

    /// Whether some step of the cell has another effect with the mistake.
    fn makes_a_difference(&self, mutation: Mutation) -> bool {
        let notes = Arc::new(Notes::default());
        self.steps[&mutation.cell].iter().any(|&(index, number)| {
            let (exploration, build) = &self.machines[index];
            let nodes = exploration.machine().nodes();
            let step = &nodes.all_results()[number];
            let controller = nodes.node(step.before).controller.clone();
            let mut mutated = Mutated::<WORDS>::new(controller, mutation, build, Arc::clone(&notes));
            let mut out = Outbox { now: NOW, ..Outbox::default() };
            mutated.step(&nodes.input(step.input), &mut out).is_err() || notes.changed()
        })
    }
}

impl Catalogue {
    /// Whether a message with a wrong field has the effects of the right one, in every state in which a receiver was
    /// seen to take it. A message that nobody took is no evidence.
    fn is_unread(&self, mutation: Mutation) -> bool {
        let Operator::Send(place, alteration) = mutation.operator else { return false };
        let mut taken = false;
        let unread = self.steps[&mutation.cell].iter().all(|&(index, number)| {
            let (exploration, build) = &self.machines[index];
            let nodes = exploration.machine().nodes();
            let step = &nodes.all_results()[number];
            let Some(&sent) = step.sent.get(usize::from(place)) else { return true };
            let (message, before) = (nodes.message(sent), nodes.node(step.before));
            let old = old_line(&*before.controller, &nodes.input(step.input), NOW);
            let altered = Surroundings::of(build).message(message, alteration, &old);
            let takers = self.takers.get(&(index, sent)).map_or(&[][..], Vec::as_slice);
            taken |= !takers.is_empty() && altered != *message;
            let is_same_place = altered.dst == message.dst && altered.kind == message.kind;
            altered == *message
                || is_same_place && !takers.is_empty() && takers.iter().all(|&taker| takes_as(nodes, taker, &altered))
        });
        taken && unread
    }
}

/// Whether a controller takes an altered message as it took the right one.
fn takes_as(nodes: &Nodes, taker: usize, altered: &Message<WORDS>) -> bool {
    let step = &nodes.all_results()[taker];
    let mut controller = nodes.node(step.before).controller.clone();
    let mut out = Outbox { now: NOW, ..Outbox::default() };
    let outcome = without_panic(|| controller.step(&Input::Message(altered), &mut out));
    outcome == Some(step.outcome)
        && out.completions == step.completions
        && out.messages.iter().eq(step.sent.iter().map(|&number| nodes.message(number)))
        && (step.outcome.is_err() || same_state(&*controller, &*nodes.node(step.after).controller))
}

/// The kind behind `kind` among `kinds`, in a circle. There is none if there is no other.
fn next_after(kind: MsgKind, kinds: BTreeSet<MsgKind>) -> Option<MsgKind> {
    let later = kinds.iter().copied().find(|&other| other > kind);
    later.or_else(|| kinds.first().copied()).filter(|&other| other != kind)
}

impl Seen {
    fn absorb(&mut self, machine: &ExploredMachine, step: &StepResult) {
        let nodes = machine.nodes();
        let topology = machine.config().topology;
        self.messages = self.messages.max(step.sent.len());
        let role_of = |agent: AgentId| (agent.0 < topology.agents()).then(|| topology.role(agent).0);
        for (index, &number) in step.sent.iter().enumerate() {
            let message = nodes.message(number);
            self.sent.extend(role_of(message.dst).map(|role| (index as u8, role, message.kind)));
        }
        if let StepInput::Message(number) = step.input {
            let message = nodes.message(number);
            self.inputs.insert(message.kind);
            self.counts |= nodes.node(step.before).controller.only_counts(message);
        }
    }
}
