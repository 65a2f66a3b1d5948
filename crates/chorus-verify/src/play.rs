//! A tiny machine as the graph of all that it can do, for a reader to play with.
//!
//! The graph is explored with the controllers that are simulated. So whoever follows its moves sees what these do, in
//! any order, without running them again.

use std::collections::{BTreeSet, HashMap};

use chorus_protocol::address::AgentId;
use chorus_protocol::registry::Protocol;

use crate::chart::{Row, Sequence, label};
use crate::check::CheckConfig;
use crate::config::{Evictions, MachineConfig, Start};
use crate::contention;
use crate::machine::{Action, ExploredMachine};
use crate::node::Node;
use crate::observe::every_move;
use crate::program::{Location, Op};
use crate::state::State;
use crate::violation::Violation;

/// The most states of a machine that a page carries.
const STATES_MAX: usize = 6000;

/// A machine with all that it can do.
#[derive(Clone, Debug)]
pub struct Play {
    /// The work of its threads, in words.
    pub description: &'static str,
    /// The names of threads, caches, banks and memory.
    pub columns: Vec<String>,
    /// The number of columns that are threads.
    pub threads: usize,
    /// The views of a line that caches and banks have, each once.
    pub views: Vec<View>,
    /// The messages that travel, each once.
    pub messages: Vec<Travelling>,
    /// The events of moves, each once.
    pub rows: Vec<Row>,
    /// The states; the first one is the start.
    pub states: Vec<PlayState>,
}

/// A line in a cache or in a bank, as a reader sees it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct View {
    /// The name of the state.
    pub state: &'static str,
    /// The values that a load would find.
    pub values: String,
    /// The private caches that may hold the line, as this controller believes.
    pub sharers: String,
}

/// A message on its way.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Travelling {
    /// Its name, line and values.
    pub label: String,
    /// The column that sent it.
    pub from: usize,
    /// The column that it travels to.
    pub to: usize,
}

/// A state of the machine. Everything is named by its position.
#[derive(Clone, Debug)]
pub struct PlayState {
    /// The view that each controller has of the line.
    pub views: Vec<usize>,
    /// The words of memory.
    pub memory: Vec<u32>,
    /// The messages in flight.
    pub messages: Vec<usize>,
    /// The moves that can be made.
    pub moves: Vec<PlayMove>,
}

/// A move from a state.
#[derive(Clone, Debug)]
pub struct PlayMove {
    /// The position of the message that arrives, among those in flight.
    pub delivers: Option<usize>,
    /// The events of the move.
    pub rows: Vec<usize>,
    /// The state after it.
    pub to: usize,
}

/// The positions of things that are kept once.
struct Once<T>(HashMap<T, usize>, Vec<T>);

impl<T: Clone + Eq + std::hash::Hash> Once<T> {
    fn new() -> Once<T> {
        Once(HashMap::new(), Vec::new())
    }

    fn place(&mut self, thing: T) -> usize {
        *self.0.entry(thing).or_insert_with_key(|thing| {
            self.1.push(thing.clone());
            self.1.len() - 1
        })
    }
}

impl Play {
    /// The largest of the machines that can be played with under a protocol whose graph fits a page; none where even
    /// the smallest is too large.
    pub fn of(protocol: &'static dyn Protocol) -> Result<Option<Play>, Violation> {
        for config in machines(protocol) {
            if let Some(play) = explore(protocol, &config)? {
                return Ok(Some(play));
            }
        }
        Ok(None)
    }
}

/// Machines of two threads that load and write one line, those with most to do first.
fn machines(protocol: &'static dyn Protocol) -> Vec<CheckConfig> {
    let contended = contention::configurations(protocol);
    let last = |config: &CheckConfig| config.machine.threads.len() - 1;
    let pairs: Vec<CheckConfig> = contended
        .iter()
        .flat_map(|config| [of_two_threads(config, [0, 1]), of_two_threads(config, [0, last(config)])])
        .filter(|config| is_worth_playing(&config.machine))
        .collect();
    let mut machines = Vec::new();
    for repeats in [true, false] {
        for evictions in [Evictions::PrivateAnytime, Evictions::WhenNeeded] {
            machines.extend(pairs.iter().cloned().map(|config| lively(config, repeats, evictions)));
        }
    }
    machines
}

/// Two of a machine's threads, on the machine without the caches of the others.
fn of_two_threads(config: &CheckConfig, chosen: [usize; 2]) -> CheckConfig {
    let mut machine = config.machine.clone();
    machine.threads = chosen.map(|thread| config.machine.threads[thread].clone()).to_vec();
    if machine.topology.gpus * machine.topology.gpms == 1 && machine.topology.cpus == 0 {
        let caches: BTreeSet<u16> = machine.threads.iter().map(|thread| thread.cache).collect();
        for thread in &mut machine.threads {
            thread.cache = caches.range(..thread.cache).count() as u16;
        }
        machine.topology.l1s = caches.len() as u16;
    }
    CheckConfig { machine, ..config.clone() }
}

fn lively(config: CheckConfig, repeats: bool, evictions: Evictions) -> CheckConfig {
    let mut machine = MachineConfig { evictions, start: Start::Cold, ..config.machine };
    machine.threads.iter_mut().for_each(|thread| thread.repeats = repeats);
    let description = match repeats {
        true => "2 threads use one line, for ever",
        false => "2 threads use one line, once each",
    };
    CheckConfig { machine, description, ..config }
}

/// Whether somebody reads and somebody writes.
fn is_worth_playing(machine: &MachineConfig) -> bool {
    let ops = || machine.threads.iter().flat_map(|thread| &thread.steps).flat_map(|step| &step.alternatives);
    ops().any(Op::reads) && ops().any(Op::writes)
}

fn explore(protocol: &'static dyn Protocol, config: &CheckConfig) -> Result<Option<Play>, Violation> {
    let mut made: Vec<(usize, Action, usize)> = Vec::new();
    let (machine, reached) = every_move(protocol, &config.machine, STATES_MAX, &mut |tried| {
        made.extend(tried.after.map(|(after, _)| (tried.before.0 as usize, tried.action, after as usize)));
    })?;
    let Some(reached) = reached else { return Ok(None) };
    Ok(Some(graph(machine, config, &reached.states, &made)))
}

fn graph(
    mut machine: ExploredMachine,
    config: &CheckConfig,
    states: &[State],
    made: &[(usize, Action, usize)],
) -> Play {
    let (mut views, mut messages, mut rows) = (Once::new(), Once::new(), Once::new());
    let columns = Sequence::new(&machine, false).columns;
    let mut seen: Vec<PlayState> =
        states.iter().map(|state| seen_of(&machine, state, &mut views, &mut messages)).collect();
    for &(before, action, to) in made {
        let mut sequence = Sequence::new(&machine, false);
        // Every move was made before, so it breaks no rule.
        let _ = sequence.make(&mut machine, action, &mut states[before].clone());
        let delivers = match action {
            Action::Deliver { position } => Some(usize::from(position)),
            Action::Issue { .. } | Action::Evict { .. } | Action::Time(_) => None,
        };
        let rows = sequence.rows.into_iter().map(|row| rows.place(row)).collect();
        seen[before].moves.push(PlayMove { delivers, rows, to });
    }
    Play {
        description: config.description,
        threads: config.machine.threads.len(),
        columns,
        views: views.1,
        messages: messages.1,
        rows: rows.1,
        states: seen,
    }
}

fn seen_of(
    machine: &ExploredMachine,
    state: &State,
    views: &mut Once<View>,
    messages: &mut Once<Travelling>,
) -> PlayState {
    let threads = machine.config().threads.len();
    let controllers = machine.config().topology.controllers();
    let travelling = |number: u32| {
        let message = machine.nodes().message(number);
        let column = |agent: AgentId| threads + usize::from(agent.0);
        Travelling { label: label(machine, message), from: column(message.src), to: column(message.dst) }
    };
    PlayState {
        views: (0..controllers).map(|agent| views.place(view_of(machine, machine.node(state, agent)))).collect(),
        memory: machine.memory(state).to_vec(),
        messages: machine.network(state).iter().map(|&number| messages.place(travelling(number))).collect(),
        moves: Vec::new(),
    }
}

/// The first line as a controller sees it.
fn view_of(machine: &ExploredMachine, node: &Node) -> View {
    let view = &node.views[0];
    let value = |word: usize| format!("{}={}", Location { line: 0, word: word as u8 }, view.data.0[word]);
    let name = |agent: AgentId| machine.config().topology.name(agent);
    View {
        state: node.controller.vocabulary().states[usize::from(view.state)].name,
        values: view.readable.words().map(value).collect::<Vec<_>>().join(" "),
        sharers: view.sharers.iter().map(name).collect::<Vec<_>>().join(", "),
    }
}

#[cfg(test)]
mod tests {
    use chorus_protocol::registry::PROTOCOLS;

    use super::Play;

    #[test]
    fn every_shipped_protocol_can_be_played_with_and_no_move_leads_outside() {
        for &protocol in PROTOCOLS {
            let name = protocol.name();
            let play = Play::of(protocol).unwrap_or_else(|violation| panic!("{name}: {violation}"));
            let play = play.unwrap_or_else(|| panic!("{name}: no machine is small enough"));
            let moves = || play.states.iter().flat_map(|state| &state.moves);
            assert!(play.states.len() > 10 && moves().count() > play.states.len(), "{name}");
            assert!(moves().all(|it| it.to < play.states.len() && it.rows.iter().all(|&row| row < play.rows.len())));
        }
    }
}
