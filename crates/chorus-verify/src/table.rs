//! The transition table of a protocol, as the explorations saw it.
//!
//! Nothing here is typed from a paper: every cell is what the running controllers did in that state on that event, in
//! any of the configurations explored. States and events that were never met are left out; cells that were never met
//! are marked.

use std::collections::{BTreeMap, BTreeSet};

use chorus_protocol::address::{AgentId, Role};
use chorus_protocol::controller::{Outbox, Outcome as StepOutcome, Passage, StateClass, Vocabulary};
use chorus_protocol::registry::{Protocol, Structure};

use crate::check::{CheckConfig, table_configurations};
use crate::directory_table::{Tracked, cell};
use crate::explore::{Exploration, OnForbidden};
use crate::machine::ExploredMachine;
use crate::node::{NOW, Node, StepInput, Victim};
use crate::settings::Settings;

/// The reaction of a controller in one state to one event.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reaction {
    /// The controller took the input.
    Done {
        /// Whether an operation of the core ended.
        answers: bool,
        /// Names of the messages sent, each once.
        sends: Vec<&'static str>,
        /// Name of the next state.
        next: &'static str,
    },
    /// The controller asked for the place of another line first.
    MakeRoom,
    /// The controller left the input at the head of its queue.
    Stall,
}

impl Reaction {
    /// The words of a cell: the messages and answers, then the next state.
    pub fn text(&self) -> String {
        match self {
            Reaction::Stall => "stall".to_owned(),
            Reaction::MakeRoom => "make room".to_owned(),
            Reaction::Done { answers, sends, next } => {
                let answer = answers.then_some("answer").into_iter();
                let actions: Vec<&str> = sends.iter().copied().chain(answer).collect();
                let separator = if actions.is_empty() { "" } else { " / " };
                format!("{}{separator}{next}", actions.join(", "))
            }
        }
    }
}

/// The number of states of each class that were reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StateCounts {
    /// The number of stable states.
    pub stable: usize,
    /// The number of transient states that any cache has.
    pub transient_cache: usize,
    /// The number of transient states that coherence needs.
    pub transient_coherent: usize,
}

impl StateCounts {
    /// The number of states of all classes.
    pub fn total(&self) -> usize {
        self.stable + self.transient_cache + self.transient_coherent
    }
}

/// The table of the controllers of one role and one kind of device.
#[derive(Clone, Debug)]
pub struct RoleTable {
    /// The title: the role, and the kind of device where machines have several kinds.
    pub title: String,
    /// The names that the cells' numbers index.
    pub vocabulary: &'static Vocabulary,
    reached: BTreeSet<u8>,
    cells: BTreeMap<(u8, u8), BTreeSet<Reaction>>,
    /// The changes of sharers, where states are those of directory entries.
    tracked: BTreeMap<(u8, u8), BTreeSet<Tracked>>,
    /// The title of the protocol, and the cells that it adds to the protocol that it extends.
    added: Option<(&'static str, BTreeSet<(u8, u8)>)>,
}

impl RoleTable {
    /// The states reached, as indices into the vocabulary.
    pub fn states(&self) -> impl Iterator<Item = u8> {
        self.reached.iter().copied()
    }

    /// The events met in any state, as indices into the vocabulary.
    pub fn events(&self) -> impl Iterator<Item = u8> {
        let met: BTreeSet<u8> = self.cells.keys().map(|&(_, event)| event).collect();
        met.into_iter()
    }

    /// The reactions seen in a state on an event; nothing if the cell was never met.
    pub fn cell(&self, state: u8, event: u8) -> Option<&BTreeSet<Reaction>> {
        self.cells.get(&(state, event))
    }

    /// Whether states are those of directory entries.
    pub fn is_of_directory(&self) -> bool {
        !self.tracked.is_empty()
    }

    /// The words of a cell, one text for each alternative; nothing if the cell was never met.
    pub fn words(&self, state: u8, event: u8) -> Option<Vec<String>> {
        let at = (state, event);
        let words = match self.is_of_directory() {
            true => cell(self.tracked.get(&at)?),
            false => self.cells.get(&at)?.iter().map(Reaction::text).collect(),
        };
        let marked = self.added.as_ref().filter(|(_, added)| added.contains(&at));
        Some(match marked {
            Some((title, _)) => words.into_iter().map(|words| format!("{words} ({title} only)")).collect(),
            None => words,
        })
    }

    /// Counts the states of each class that were reached.
    pub fn counts(&self) -> StateCounts {
        let count = |class: StateClass| {
            self.states().filter(|&state| self.vocabulary.states[usize::from(state)].class == class).count()
        };
        StateCounts {
            stable: count(StateClass::Stable),
            transient_cache: count(StateClass::TransientCache),
            transient_coherent: count(StateClass::TransientCoherent),
        }
    }
}

/// The kind of a table: a role, and a kind of device.
type Kind = (Role, &'static str);

/// The tables of all roles of a protocol, and of all kinds of devices.
#[derive(Clone, Debug)]
pub struct TransitionTable {
    /// The title of the protocol.
    pub title: &'static str,
    /// The paper and section that define the protocol.
    pub citation: &'static str,
    /// The number of states visited to fill the table.
    pub explored: usize,
    /// Whether titles name the kinds of devices.
    names_devices: bool,
    roles: BTreeMap<Kind, RoleTable>,
}

impl TransitionTable {
    /// A table without cells.
    pub fn empty(protocol: &dyn Protocol) -> TransitionTable {
        let (title, citation) = (protocol.title(), protocol.citation());
        let names_devices = protocol.structure() != Structure::TwoLevels;
        TransitionTable { title, citation, explored: 0, names_devices, roles: BTreeMap::new() }
    }

    /// Explores a protocol in enough configurations to meet everything that it does. Where it extends another protocol,
    /// the cells that it adds are marked.
    pub fn extract(protocol: &'static dyn Protocol) -> TransitionTable {
        let seen = |protocol| {
            TransitionTable::fill(protocol, |config| {
                let mut exploration = Exploration::new(protocol, None, &config.machine, OnForbidden::Stop);
                exploration.run(&Settings::default());
                exploration
            })
        };
        let mut table = seen(protocol);
        if let Some(base) = protocol.extends() {
            table.mark_added(&seen(base));
        }
        table
    }

    /// The table of a protocol, filled from the explorations that `explore` makes of [`table_configurations`].
    pub fn fill(
        protocol: &'static dyn Protocol,
        mut explore: impl FnMut(&CheckConfig) -> Exploration,
    ) -> TransitionTable {
        let mut table = TransitionTable::empty(protocol);
        for config in table_configurations(protocol) {
            let exploration = explore(&config);
            table.absorb(exploration.machine());
            table.explored += exploration.states();
        }
        table
    }

    /// Marks the cells of directories that `base`, the protocol that this one extends, does not have.
    pub fn mark_added(&mut self, base: &TransitionTable) {
        for (kind, own) in &mut self.roles {
            let Some(base) = base.roles.get(kind).filter(|_| own.is_of_directory()) else { continue };
            let added = own.tracked.keys().copied().filter(|cell| !base.tracked.contains_key(cell)).collect();
            own.added = Some((self.title, added));
        }
    }

    /// The roles, L1 first.
    pub fn roles(&self) -> impl Iterator<Item = &RoleTable> {
        self.roles.values()
    }

    /// The table of one role. Where there are several kinds of devices, it is the table of the first.
    pub fn role(&self, role: Role) -> Option<&RoleTable> {
        self.roles.iter().find(|((other, _), _)| *other == role).map(|(_, table)| table)
    }

    /// The table of one role and one kind of device.
    pub fn device(&self, role: Role, device: &'static str) -> Option<&RoleTable> {
        self.roles.get(&(role, device))
    }

    /// Adds everything that a machine's controllers did.
    pub fn absorb(&mut self, machine: &ExploredMachine) {
        let nodes = machine.nodes();
        let role_of = |node: &Node| machine.config().topology.role(AgentId(node.agent)).0;
        for node in nodes.all_nodes() {
            let table = self.role_table(role_of(node), node.controller.vocabulary());
            table.reached.extend(node.views.iter().map(|view| view.state));
            absorb_refused_evictions(table, node);
        }
        for step in nodes.all_results() {
            let (before, after) = (nodes.node(step.before), nodes.node(step.after));
            let vocabulary = before.controller.vocabulary();
            let table = self.role_table(role_of(before), vocabulary);
            if step.input == StepInput::Time(Passage::Tick) {
                absorb_expiries(table, before, after);
            }
            let Some(class) = before.controller.classify(&nodes.input(step.input), NOW) else { continue };
            let reaction = match step.outcome {
                Ok(StepOutcome::Stall) => Reaction::Stall,
                Ok(StepOutcome::Evict(_) | StepOutcome::EvictEntry(_)) => Reaction::MakeRoom,
                Ok(StepOutcome::Done) => {
                    let kinds = step.sent.iter().map(|&number| nodes.message(number).kind);
                    let mut sends = Vec::new();
                    for name in kinds.map(|kind| machine.protocol().messages()[usize::from(kind.0)].name) {
                        if !sends.contains(&name) {
                            sends.push(name);
                        }
                    }
                    let next = after.views[class.line.0 as usize].state;
                    let next = vocabulary.states[usize::from(next)].name;
                    Reaction::Done { answers: !step.completions.is_empty(), sends, next }
                }
                Err(_) => continue,
            };
            let cell = (class.state, class.event);
            if let Some(tracked) =
                Tracked::of(machine, step, class.line.0 as usize).filter(|_| step.outcome == Ok(StepOutcome::Done))
            {
                table.tracked.entry(cell).or_default().insert(tracked);
            }
            table.cells.entry(cell).or_default().insert(reaction);
        }
    }

    fn role_table(&mut self, role: Role, vocabulary: &'static Vocabulary) -> &mut RoleTable {
        let device = vocabulary.device;
        let title = match device {
            device if self.names_devices && !device.is_empty() => format!("{} ({device})", role.name()),
            _ => role.name().to_owned(),
        };
        let empty = || RoleTable {
            title,
            vocabulary,
            reached: BTreeSet::new(),
            cells: BTreeMap::new(),
            tracked: BTreeMap::new(),
            added: None,
        };
        self.roles.entry((role, device)).or_insert_with(empty)
    }
}

/// Adds the states in which a line cannot leave. Explorations do not try moves that change nothing.
fn absorb_refused_evictions(table: &mut RoleTable, node: &Node) {
    let lines = (0..node.views.len() as u8).map(Victim::Line);
    for victim in lines.filter(|&victim| !node.evictable(victim)) {
        let eviction = victim.input();
        let Some(class) = node.controller.classify(&eviction, NOW) else { continue };
        let cell = (class.state, class.event);
        if table.cells.contains_key(&cell) {
            continue;
        }
        let mut out = Outbox { now: NOW, ..Outbox::default() };
        if node.controller.clone().step(&eviction, &mut out) == Ok(StepOutcome::Stall) {
            table.cells.entry(cell).or_default().insert(Reaction::Stall);
        }
    }
}

/// Adds the lines whose state a tick changed.
fn absorb_expiries(table: &mut RoleTable, before: &Node, after: &Node) {
    let vocabulary = before.controller.vocabulary();
    let Some(event) = vocabulary.expiry else { return };
    for (old, new) in before.views.iter().zip(&after.views).filter(|(old, new)| old.state != new.state) {
        let next = vocabulary.states[usize::from(new.state)].name;
        let reaction = Reaction::Done { answers: false, sends: Vec::new(), next };
        table.cells.entry((old.state, event)).or_default().insert(reaction);
    }
}
