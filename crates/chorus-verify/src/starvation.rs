//! Starvation: can a thread wait for ever while other threads go on?
//!
//! Programs of the other configurations end, so no thread of theirs can be overtaken without end. Here all threads but
//! one repeat their operations for ever ([`crate::contention`]). The machine's states are then a finite graph with
//! circles. The thread that does not repeat starves in a run that goes round among states in which it waits.
//!
//! Strong fairness is asked of deliveries, of time and of the thread that waits: what is possible again and again
//! happens at some time ([`crate::fairness`]). A message that its receiver refuses now and then is therefore taken
//! before long, as it is in the simulator, where ports send what is ready longest. Nothing is asked of the other
//! threads, and lines need not leave. The other threads issue nothing while three messages are in flight, so that the
//! states are finite. Every state is visited by itself, without mirror images.

use chorus_protocol::controller::Passage;
use chorus_protocol::registry::Protocol;

use crate::chart::Chart;
use crate::check::Verdict;
use crate::circle::way_to;
use crate::config::MachineConfig;
use crate::examine::examine_copies;
use crate::expand::Moves;
use crate::explore::Failure;
use crate::fairness::{Edge, Fairness, Task, TaskGraph};
use crate::hashing::FastMap;
use crate::invariants::Promised;
use crate::machine::{Action, ExploredMachine};
use crate::settings::{Bound, Settings};
use crate::state::{Progress, State};
use crate::violation::Violation;

/// The result of a search, with its size.
pub(crate) struct Searched {
    /// The number of states in which the thread waits.
    pub states: usize,
    /// The number of moves from them.
    pub transitions: u64,
    /// The number of moves to the farthest state.
    pub depth: u32,
    /// The bytes held for all states.
    pub bytes: usize,
    /// Whether the thread can starve, or what else is wrong.
    pub verdict: Verdict,
}

/// Looks for a run in which the thread that does not repeat waits for ever.
pub(crate) fn search(
    protocol: &'static dyn Protocol,
    fault: Option<u8>,
    config: &MachineConfig,
    settings: &Settings,
) -> Searched {
    let mut machine = ExploredMachine::new(protocol, fault, config);
    machine.orders = settings.orders;
    let mut waits = Waits::begin(machine);
    let verdict = match waits.explore(settings) {
        Err(Stop::Bound(bound)) => Verdict::Bounded(bound),
        Err(Stop::Wrong(failure)) => Verdict::Violated(waits.chart(&failure)),
        Ok(()) => waits.starving().map_or(Verdict::Pass, |failure| Verdict::Violated(waits.chart(&failure))),
    };
    Searched {
        states: waits.states.len(),
        transitions: waits.transitions,
        depth: waits.depths.last().copied().unwrap_or(0),
        bytes: waits.bytes(),
        verdict,
    }
}

/// The rule that a circle breaks in which the thread that does not repeat waits.
pub(crate) fn starvation(machine: &ExploredMachine, state: &State) -> Violation {
    let thread = patient(machine.config());
    let waiting = machine.waiting(state);
    let own = waiting.split(", ").find(|part| part.starts_with(&format!("T{thread} ")));
    Violation::Starvation(own.map_or_else(|| format!("T{thread} cannot issue its operation"), str::to_owned))
}

/// The number of messages in flight at which threads that repeat issue nothing more. Messages that nobody answers, as
/// write-backs to memory, could pile up without end otherwise.
const MOST_IN_FLIGHT: usize = 3;

/// The thread that does not repeat its operations.
fn patient(config: &MachineConfig) -> usize {
    config.threads.iter().position(|thread| !thread.repeats).unwrap_or(0)
}

/// The states in which the thread waits, and the moves between them.
struct Waits {
    machine: ExploredMachine,
    promised: Promised,
    thread: usize,
    states: Vec<State>,
    /// The number of moves to each state.
    depths: Vec<u32>,
    /// The state and the move that first reached each state.
    parents: Vec<Option<(u32, Action)>>,
    graph: TaskGraph,
    transitions: u64,
}

/// Why a search stopped before its end.
enum Stop {
    Bound(Bound),
    Wrong(Box<Failure>),
}

impl Waits {
    fn begin(machine: ExploredMachine) -> Waits {
        Waits {
            promised: Promised::of(machine.protocol().promises()),
            thread: patient(machine.config()),
            states: vec![machine.cold()],
            depths: vec![0],
            parents: vec![None],
            graph: TaskGraph::default(),
            transitions: 0,
            machine,
        }
    }

    fn explore(&mut self, settings: &Settings) -> Result<(), Stop> {
        let wrong = |violation| Failure { violation, state: 0, last: Vec::new(), circle: Vec::new() };
        self.machine.complete().map_err(|violation| Stop::Wrong(Box::new(wrong(violation))))?;
        let mut numbers: FastMap<State, u32> = FastMap::default();
        numbers.insert(self.states[0].clone(), 0);
        let (byte_limit, mut moves) = (settings.byte_limit(), Moves::default());
        while self.graph.len() < self.states.len() {
            if self.states.len() > settings.states {
                return Err(Stop::Bound(Bound::States(settings.states)));
            }
            if self.graph.len().is_multiple_of(1024) {
                settings.stopped().map_err(Stop::Bound)?;
                if self.bytes() > byte_limit {
                    return Err(Stop::Bound(Bound::Bytes(byte_limit)));
                }
            }
            let from = self.graph.len() as u32;
            moves.find(&self.machine, &self.states[from as usize]);
            let mut edges = Vec::new();
            for action in moves.all() {
                if self.is_followed(from, action) {
                    edges.extend(self.follow(from, action, &mut numbers)?);
                }
            }
            self.transitions += edges.len() as u64;
            self.graph.push(edges);
        }
        Ok(())
    }

    /// Whether a move is tried. Threads that repeat do not begin anew while much is in flight.
    fn is_followed(&self, from: u32, action: Action) -> bool {
        let in_flight = || self.machine.network(&self.states[from as usize]).len();
        match action {
            Action::Issue { thread, .. } => usize::from(thread) == self.thread || in_flight() < MOST_IN_FLIGHT,
            Action::Deliver { .. } | Action::Evict { .. } | Action::Time(_) => true,
        }
    }

    /// Tries a move, and adds the state that it leads to.
    fn follow(&mut self, from: u32, action: Action, numbers: &mut FastMap<State, u32>) -> Result<Option<Edge>, Stop> {
        let wrong = |violation| {
            Stop::Wrong(Box::new(Failure { violation, state: from, last: vec![action], circle: Vec::new() }))
        };
        let task = self.task(action, &self.states[from as usize]);
        let mut next = self.states[from as usize].clone();
        if !self.machine.apply(action, &mut next).map_err(wrong)? {
            return Ok(None);
        }
        if !self.waits_in(&next) {
            return Ok(Some(Edge { to: None, action, task }));
        }
        let new = self.states.len() as u32;
        let to = *numbers.entry(next.clone()).or_insert(new);
        if to == new {
            examine_copies(&mut self.machine, self.promised, &next).map_err(wrong)?;
            self.states.push(next);
            self.depths.push(self.depths[from as usize] + 1);
            self.parents.push(Some((from, action)));
        }
        Ok(Some(Edge { to: Some(to), action, task }))
    }

    /// The task that a move does. Nothing is asked of threads that repeat, of lines that leave, and of roll-overs.
    fn task(&self, action: Action, state: &State) -> Option<Task> {
        match action {
            Action::Deliver { position } => Some(Task::of_delivery(&self.machine, state, position)),
            Action::Issue { thread, .. } => (usize::from(thread) == self.thread).then_some(Task::Issue(thread)),
            Action::Time(Passage::Tick | Passage::Wake) => Some(Task::Time),
            Action::Time(Passage::RollOver) | Action::Evict { .. } => None,
        }
    }

    fn waits_in(&self, state: &State) -> bool {
        let last = self.machine.config().threads[self.thread].steps.len().saturating_sub(1);
        !matches!(self.machine.progress(state, self.thread, last), Progress::Answered(..))
    }

    /// A fair run in which the thread waits for ever, if there is one.
    fn starving(&self) -> Option<Failure> {
        // States are numbered in the order of their distance.
        let part = self.graph.fair_parts(Fairness::Strong).into_iter().min_by_key(|part| part[0])?;
        let round = self.graph.circle(&part, Fairness::Strong);
        let state = round.first()?.0;
        let violation = starvation(&self.machine, &self.states[state as usize]);
        let circle = round.into_iter().map(|(_, edge)| edge.action).collect();
        Some(Failure { violation, state, last: Vec::new(), circle })
    }

    fn chart(&mut self, failure: &Failure) -> Chart {
        let (start, way) = (self.states[0].clone(), way_to(&self.parents, failure.state));
        Chart::of_path(&mut self.machine, false, start, &way, failure)
    }

    /// About as many bytes as are held: the states twice, and the moves.
    fn bytes(&self) -> usize {
        let state = self.states.last().map_or(0, Vec::len) * size_of::<u32>() + size_of::<State>();
        self.states.len() * 2 * state + self.transitions as usize * size_of::<Edge>()
    }
}
