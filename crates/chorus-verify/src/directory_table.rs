//! Transition tables of directories: the changes of their sharers, in the words of the HMG paper's Table I.
//!
//! A directory's actions are not messages but changes of its sharers. Each cell says what held in all steps that fell
//! on it: whether the sender was recorded, and whether all sharers or all but the sender were told to drop their
//! copies.

use std::collections::BTreeSet;

use chorus_protocol::address::AgentId;
use chorus_protocol::message::TrafficClass;
use chorus_protocol::sharers::Sharers;

use crate::machine::ExploredMachine;
use crate::node::{StepInput, StepResult};

/// The changes that a step made to the sharers of a line.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tracked {
    /// The position of the sender of the message, if it can be a sharer.
    sender: Option<u16>,
    before: BTreeSet<u16>,
    after: BTreeSet<u16>,
    /// The sharers that were told to drop their copies.
    told: BTreeSet<u16>,
    /// Whether the step was itself caused by such a message.
    passes_on: bool,
    changes_state: bool,
    next: &'static str,
}

fn positions(sharers: &Sharers) -> BTreeSet<u16> {
    sharers.iter().map(|position| position.0).collect()
}

impl Tracked {
    /// The changes that a step made to the sharers of `line`; nothing if its controller has no directory.
    pub(crate) fn of(machine: &ExploredMachine, step: &StepResult, line: usize) -> Option<Tracked> {
        let nodes = machine.nodes();
        let (before, after) = (nodes.node(step.before), nodes.node(step.after));
        let is_invalidation = |number: u32| {
            let kind = nodes.message(number).kind;
            machine.protocol().messages()[usize::from(kind.0)].class == TrafficClass::Invalidation
        };
        let topology = machine.config().topology;
        let mut banks = (0..topology.l2s).map(|index| topology.l2(index));
        banks.find_map(|bank| before.controller.position(bank))?;
        let position = |bank: AgentId| before.controller.position(bank);
        let (sender, passes_on) = match step.input {
            StepInput::Message(number) => (position(nodes.message(number).src), is_invalidation(number)),
            StepInput::Request(_) | StepInput::Evict(_) | StepInput::Time(_) => (None, false),
        };
        let told = step.sent.iter().filter(|&&number| is_invalidation(number));
        let told = told.filter_map(|&number| position(nodes.message(number).dst)).collect();
        let [old, new] = [before, after].map(|node| &node.views[line]);
        Some(Tracked {
            sender,
            before: positions(&old.sharers),
            after: positions(&new.sharers),
            told,
            passes_on,
            changes_state: old.state != new.state,
            next: after.controller.vocabulary().states[usize::from(new.state)].name,
        })
    }

    fn others(&self) -> BTreeSet<u16> {
        self.before.iter().copied().filter(|&sharer| Some(sharer) != self.sender).collect()
    }

    fn records_sender(&self) -> bool {
        self.sender.is_some_and(|sender| self.after.contains(&sender))
    }
}

/// The words of a cell: everything that is true of all steps that fell on it.
pub fn cell(steps: &BTreeSet<Tracked>) -> Vec<String> {
    let all = |holds: &dyn Fn(&Tracked) -> bool| steps.iter().all(holds);
    let any = |holds: &dyn Fn(&Tracked) -> bool| steps.iter().any(holds);
    let mut actions = Vec::new();
    if !all(&|step| step.passes_on) && all(&Tracked::records_sender) {
        actions.push("add s to sharers");
    }
    let told = match () {
        () if all(&|step| step.told.is_empty()) => None,
        () if all(&|step| step.passes_on && step.told == step.before) => Some("forward inv to all sharers"),
        () if all(&|step| step.told == step.before) => Some("inv all sharers"),
        () if all(&|step| step.told == step.others()) => Some("inv other sharers"),
        () => Some("inv some sharers"),
    };
    actions.extend(told);
    let nexts: BTreeSet<&str> = steps.iter().map(|step| step.next).collect();
    let moves = any(&|step| step.changes_state);
    let nexts = nexts.into_iter().filter(|_| moves).map(|next| format!("→ {next}"));
    let words: Vec<String> = actions.into_iter().map(str::to_owned).chain(nexts).collect();
    vec![if words.is_empty() { "-".to_owned() } else { words.join(", ") }]
}
