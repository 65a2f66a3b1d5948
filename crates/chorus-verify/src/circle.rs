//! A circle of moves that can go on for ever, fairly: nothing that could always happen is left out for ever.
//!
//! The machine here counts no mirror images, so that a message in one state is the same message in the next. Weak
//! fairness is asked of every channel and of time (Lamport 2000): a run in which a message can arrive from some moment
//! on, and never does, is no run of a real machine. A component of states that lead to each other contains a fair
//! circle exactly if, for every channel, its message arrives somewhere in the component or cannot arrive in one of its
//! states.

use std::collections::VecDeque;

use crate::components::{Components, Graph};
use crate::expand::Moves;
use crate::hashing::FastMap;
use crate::machine::{Action, ExploredMachine};
use crate::state::State;

/// The most states of one part of the machine in which a circle is looked for.
const MOST_STATES: usize = 200_000;

/// Something that fairness is asked of: a channel, a message of a channel without order, or time.
type Task = Option<(u32, u32)>;

/// A move between two states.
#[derive(Clone, Copy, Debug)]
struct Edge {
    to: u32,
    action: Action,
    task: Task,
}

/// The states that can be reached from one by moves that nobody can refuse to make.
struct Surroundings {
    states: Vec<State>,
    edges: Vec<Vec<Edge>>,
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
        let surroundings = Surroundings::of(machine, state);
        let graph = surroundings.graph();
        let components = Components::of(&graph);
        let circles = components.circles(&graph);
        let fair = circles.iter().filter(|members| surroundings.is_fair(members, &components));
        // States are numbered in the order of their distance.
        let first = fair.filter_map(|members| members.iter().copied().min()).min()?;
        Some(Circle { way: surroundings.way_to(first), moves: surroundings.circle(first, &components) })
    }
}

impl Surroundings {
    fn of(machine: &ExploredMachine, start: &State) -> Surroundings {
        let mut found = Surroundings { states: vec![start.clone()], edges: Vec::new(), parents: vec![None] };
        let mut numbers: FastMap<State, u32> = FastMap::default();
        numbers.insert(start.clone(), 0);
        let mut moves = Moves::default();
        while found.edges.len() < found.states.len() {
            let from = found.edges.len();
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
                edges.push(Edge { to, action, task: task(machine, action, &state) });
            }
            found.edges.push(edges);
        }
        found
    }

    fn graph(&self) -> Graph {
        let mut graph = Graph::default();
        for edges in &self.edges {
            let targets: Vec<u32> = edges.iter().map(|edge| edge.to).collect();
            graph.extend(&[targets.len() as u32], &targets);
        }
        graph
    }

    /// The tasks that could be done in every one of some states.
    fn always_possible(&self, states: impl IntoIterator<Item = u32>) -> Vec<Task> {
        let mut common: Option<Vec<Task>> = None;
        for state in states {
            let here: Vec<Task> = self.edges[state as usize].iter().map(|edge| edge.task).collect();
            common = Some(match common {
                None => here,
                Some(tasks) => tasks.into_iter().filter(|task| here.contains(task)).collect(),
            });
        }
        common.unwrap_or_default()
    }

    /// The moves that stay within a component.
    fn inside<'s>(&'s self, state: u32, components: &'s Components) -> impl Iterator<Item = &'s Edge> {
        self.edges[state as usize].iter().filter(move |edge| components.same(state, edge.to))
    }

    fn is_fair(&self, members: &[u32], components: &Components) -> bool {
        let done =
            |task: &Task| members.iter().any(|&state| self.inside(state, components).any(|edge| edge.task == *task));
        self.always_possible(members.iter().copied()).iter().all(done)
    }

    fn way_to(&self, state: u32) -> Vec<Action> {
        let (mut way, mut state) = (Vec::new(), state);
        while let Some((parent, action)) = self.parents[state as usize] {
            way.push(action);
            state = parent;
        }
        way.reverse();
        way
    }

    /// A fair circle through a state: the shortest, with detours for what it would leave out for ever.
    fn circle(&self, first: u32, components: &Components) -> Vec<Action> {
        let mut round = self.path(first, components, |edge| edge.to == first);
        loop {
            let states = |round: &[(u32, Edge)]| round.iter().map(|step| step.0).collect::<Vec<u32>>();
            let left_out = |task: &Task| !round.iter().any(|(_, edge)| edge.task == *task);
            let Some(task) = self.always_possible(states(&round)).into_iter().find(left_out) else { break };
            // Either the task is done somewhere in the component, or it is impossible somewhere.
            let possible = |state: u32| self.edges[state as usize].iter().any(|edge| edge.task == task);
            let there = self.path(first, components, |edge| edge.task == task || !possible(edge.to));
            let Some(&(_, last)) = there.last() else { break };
            let back =
                if last.to == first { Vec::new() } else { self.path(last.to, components, |edge| edge.to == first) };
            round.extend(there.into_iter().chain(back));
        }
        round.into_iter().map(|(_, edge)| edge.action).collect()
    }

    /// A shortest path within a component whose last move is a goal.
    fn path(&self, first: u32, components: &Components, is_goal: impl Fn(&Edge) -> bool) -> Vec<(u32, Edge)> {
        let mut came: FastMap<u32, (u32, Edge)> = FastMap::default();
        let mut waiting = VecDeque::from([first]);
        while let Some(state) = waiting.pop_front() {
            for edge in self.inside(state, components) {
                if is_goal(edge) {
                    let mut path = vec![(state, *edge)];
                    while path[path.len() - 1].0 != first {
                        path.push(came[&path[path.len() - 1].0]);
                    }
                    path.reverse();
                    return path;
                }
                if edge.to != first && !came.contains_key(&edge.to) {
                    came.insert(edge.to, (state, *edge));
                    waiting.push_back(edge.to);
                }
            }
        }
        Vec::new()
    }
}

fn task(machine: &ExploredMachine, action: Action, state: &State) -> Task {
    match action {
        Action::Deliver { position } => Some(machine.task(machine.network(state)[usize::from(position)])),
        Action::Issue { .. } | Action::Evict { .. } | Action::Time(_) => None,
    }
}
