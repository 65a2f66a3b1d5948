//! A circle of deliveries and ticks that can go on for ever, fairly.
//!
//! The machine here counts no mirror images, so that a message in one state is the same message in the next. Weak
//! fairness is asked of every channel and of time: a run in which a message can arrive from some moment on, and never
//! does, is no run of a real machine ([`crate::fairness`]).

use crate::expand::Moves;
use crate::fairness::{Edge, Fairness, Task, TaskGraph};
use crate::hashing::FastMap;
use crate::machine::{Action, ExploredMachine};
use crate::state::State;

/// The most states of one part of the machine in which a circle is looked for.
const MOST_STATES: usize = 200_000;

/// The states that can be reached from one by moves that nobody can refuse to make.
struct Surroundings {
    states: Vec<State>,
    graph: TaskGraph,
    /// The state and the move that first reached each state.
    parents: Vec<Option<(u32, Action)>>,
}

/// The way to a circle, and the circle.
pub(crate) struct Circle {
    /// The moves from the state where the search began to the circle.
    pub way: Vec<Action>,
    /// The moves of the circle.
    pub moves: Vec<Action>,
}

impl Circle {
    /// The nearest fair circle behind `state`, if there is one among the states looked at.
    pub fn behind(machine: &ExploredMachine, state: &State) -> Option<Circle> {
        let Surroundings { graph, parents, .. } = Surroundings::of(machine, state);
        // States are numbered in the order of their distance.
        let nearest = graph.fair_parts(Fairness::Weak).into_iter().min_by_key(|part| part[0])?;
        let round = graph.circle(&nearest, Fairness::Weak);
        Some(Circle {
            way: way_to(&parents, round.first()?.0),
            moves: round.into_iter().map(|(_, edge)| edge.action).collect(),
        })
    }
}

/// The moves that first reached a state.
pub(crate) fn way_to(parents: &[Option<(u32, Action)>], mut state: u32) -> Vec<Action> {
    let mut way = Vec::new();
    while let Some((parent, action)) = parents[state as usize] {
        way.push(action);
        state = parent;
    }
    way.reverse();
    way
}

impl Surroundings {
    fn of(machine: &ExploredMachine, start: &State) -> Surroundings {
        let mut found = Surroundings { states: vec![start.clone()], graph: TaskGraph::default(), parents: vec![None] };
        let mut numbers: FastMap<State, u32> = FastMap::default();
        numbers.insert(start.clone(), 0);
        let mut moves = Moves::default();
        while found.graph.len() < found.states.len() {
            let from = found.graph.len();
            let state = found.states[from].clone();
            let mut edges = Vec::new();
            moves.find(machine, &state);
            let possible = if machine.idle(&state) { &[][..] } else { &moves.progress };
            for &action in possible {
                let mut next = state.clone();
                if found.states.len() > MOST_STATES || machine.attempt(action, &mut next) != Ok(true) {
                    continue;
                }
                let new = found.states.len() as u32;
                let to = *numbers.entry(next.clone()).or_insert(new);
                if to == new {
                    found.states.push(next);
                    found.parents.push(Some((from as u32, action)));
                }
                edges.push(Edge { to: Some(to), action, task: Some(task(machine, action, &state)) });
            }
            found.graph.push(edges);
        }
        found
    }
}

/// The task of a move that nobody can refuse to make: a delivery or a tick.
fn task(machine: &ExploredMachine, action: Action, state: &State) -> Task {
    match action {
        Action::Deliver { position } => Task::of_delivery(machine, state, position),
        Action::Issue { thread, .. } => Task::Issue(thread),
        Action::Evict { .. } | Action::Time(_) => Task::Time,
    }
}
