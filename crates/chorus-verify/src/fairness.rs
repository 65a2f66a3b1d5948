//! Fair circles of moves: what could happen is not left out for ever.
//!
//! A *task* is something that fairness is asked of: that the message of a channel arrives, that time passes, or that a
//! thread issues its operation. Weak fairness leaves no task out that is possible from some moment on. Strong fairness
//! leaves no task out that is possible again and again (Lamport 2000). States that lead to each other contain a fair
//! circle exactly if every task that is asked for there is done there. If one is not, no fair circle passes the states
//! in which it is possible, and the rest is searched again (Emerson and Lei 1987).

use std::collections::VecDeque;

use crate::components::{Components, Graph};
use crate::hashing::FastMap;
use crate::machine::{Action, ExploredMachine};
use crate::state::State;

/// The tasks that a circle must not leave out for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fairness {
    /// A circle must do the tasks that are possible in all of its states.
    Weak,
    /// A circle must do the tasks that are possible in one of its states.
    Strong,
}

/// Something that fairness is asked of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Task {
    /// The message of a channel arrives, or a message of a channel without order.
    Arrival(u32, u32),
    /// A thread issues its next operation.
    Issue(u8),
    /// A tick passes, everywhere at once.
    Time,
}

impl Task {
    /// The arrival that a delivery is.
    pub fn of_delivery(machine: &ExploredMachine, state: &State, position: u16) -> Task {
        let (channel, message) = machine.task(machine.network(state)[usize::from(position)]);
        Task::Arrival(channel, message)
    }
}

/// A move of a machine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edge {
    /// The state that the move leads to; none if it leads out of the graph.
    pub to: Option<u32>,
    /// The move that leads there.
    pub action: Action,
    /// The task that the move does, if fairness is asked of it.
    pub task: Option<Task>,
}

/// The moves from each of some states.
#[derive(Clone, Debug, Default)]
pub(crate) struct TaskGraph {
    edges: Vec<Vec<Edge>>,
}

/// A circle: each move with the state before it.
pub(crate) type Round = Vec<(u32, Edge)>;

/// The most states of a part from which a short circle is looked for.
const FIRSTS: usize = 64;

impl TaskGraph {
    /// Adds the next state with its moves.
    pub fn push(&mut self, edges: Vec<Edge>) {
        self.edges.push(edges);
    }

    /// The number of states.
    pub fn len(&self) -> usize {
        self.edges.len()
    }

    /// Sets of states, each in ascending order, that lead to each other in fair circles.
    pub fn fair_parts(&self, fairness: Fairness) -> Vec<Vec<u32>> {
        let mut fair = Vec::new();
        let mut waiting = vec![(0..self.len() as u32).collect::<Vec<u32>>()];
        while let Some(states) = waiting.pop() {
            for part in self.parts_of(&states) {
                let done = self.done_in(&part);
                let left_out: Vec<Task> =
                    self.asked_for(&part, fairness).into_iter().filter(|task| !done.contains(task)).collect();
                if left_out.is_empty() {
                    fair.push(part);
                    continue;
                }
                let is_possible = |state: u32| self.tasks_of(state).any(|task| left_out.contains(&task));
                let rest: Vec<u32> = part.into_iter().filter(|&state| !is_possible(state)).collect();
                waiting.extend((!rest.is_empty()).then_some(rest));
            }
        }
        fair
    }

    /// The shortest fair circle that is found in a part.
    pub fn circle(&self, part: &[u32], fairness: Fairness) -> Round {
        let rounds = part.iter().step_by(part.len().div_ceil(FIRSTS)).map(|&first| self.round(first, part, fairness));
        rounds.min_by_key(Vec::len).unwrap_or_default()
    }

    /// The states among `states` that lead to each other, those of each component together.
    fn parts_of(&self, states: &[u32]) -> Vec<Vec<u32>> {
        let place = |state: u32| states.binary_search(&state).ok();
        let mut graph = Graph::default();
        for &state in states {
            let inside = self.edges[state as usize].iter().filter_map(|edge| place(edge.to?));
            let targets: Vec<u32> = inside.map(|target| target as u32).collect();
            graph.extend(&[targets.len() as u32], &targets);
        }
        let circles = Components::of(&graph).circles(&graph).into_iter();
        circles.map(|part| part.into_iter().map(|place| states[place as usize]).collect()).collect()
    }

    fn tasks_of(&self, state: u32) -> impl Iterator<Item = Task> {
        self.edges[state as usize].iter().filter_map(|edge| edge.task)
    }

    /// The moves from a state that stay within a part.
    fn inside<'s>(&'s self, state: u32, part: &'s [u32]) -> impl Iterator<Item = &'s Edge> {
        let stays = |edge: &&Edge| edge.to.is_some_and(|to| part.binary_search(&to).is_ok());
        self.edges[state as usize].iter().filter(stays)
    }

    /// The tasks that moves within a part do.
    fn done_in(&self, part: &[u32]) -> Vec<Task> {
        let tasks = part.iter().flat_map(|&state| self.inside(state, part)).filter_map(|edge| edge.task);
        sorted(tasks)
    }

    /// The tasks that fairness asks a circle through all these states for.
    fn asked_for(&self, states: &[u32], fairness: Fairness) -> Vec<Task> {
        let of = |&state: &u32| sorted(self.tasks_of(state));
        match fairness {
            Fairness::Strong => sorted(states.iter().flat_map(of)),
            Fairness::Weak => {
                let in_both = |a: Vec<Task>, b: Vec<Task>| a.into_iter().filter(|task| b.contains(task)).collect();
                states.iter().map(of).reduce(in_both).unwrap_or_default()
            }
        }
    }

    /// A short circle through a state of a fair part, with detours for the tasks that it would leave out.
    fn round(&self, first: u32, part: &[u32], fairness: Fairness) -> Round {
        let mut round = self.path(first, part, |edge| edge.to == Some(first));
        loop {
            let states: Vec<u32> = round.iter().map(|step| step.0).collect();
            let left_out = |task: &Task| !round.iter().any(|(_, edge)| edge.task == Some(*task));
            let Some(task) = self.asked_for(&states, fairness).into_iter().find(left_out) else { return round };
            // The task is done somewhere in the part. Where it is impossible somewhere, weak fairness needs no more.
            let is_enough = |edge: &Edge| match fairness {
                Fairness::Strong => edge.task == Some(task),
                Fairness::Weak => {
                    let is_possible = |to: u32| self.tasks_of(to).any(|other| other == task);
                    edge.task == Some(task) || edge.to.is_some_and(|to| !is_possible(to))
                }
            };
            let there = self.path(first, part, is_enough);
            let Some(last) = there.last().and_then(|(_, edge)| edge.to) else { return round };
            let back = if last == first { Vec::new() } else { self.path(last, part, |edge| edge.to == Some(first)) };
            round.extend(there.into_iter().chain(back));
        }
    }

    /// A shortest path within a part whose last move is a goal.
    fn path(&self, first: u32, part: &[u32], is_goal: impl Fn(&Edge) -> bool) -> Round {
        let mut came: FastMap<u32, (u32, Edge)> = FastMap::default();
        let mut waiting = VecDeque::from([first]);
        while let Some(state) = waiting.pop_front() {
            for edge in self.inside(state, part) {
                if is_goal(edge) {
                    let mut path = vec![(state, *edge)];
                    while path[path.len() - 1].0 != first {
                        path.push(came[&path[path.len() - 1].0]);
                    }
                    path.reverse();
                    return path;
                }
                let Some(to) = edge.to.filter(|to| *to != first && !came.contains_key(to)) else { continue };
                came.insert(to, (state, *edge));
                waiting.push_back(to);
            }
        }
        Vec::new()
    }
}

fn sorted(tasks: impl Iterator<Item = Task>) -> Vec<Task> {
    let mut tasks: Vec<Task> = tasks.collect();
    tasks.sort_unstable();
    tasks.dedup();
    tasks
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A graph from the targets and tasks of each state. Target 9 leads out.
    fn graph(states: &[&[(u32, Option<Task>)]]) -> TaskGraph {
        let edge = |&(to, task): &(u32, Option<Task>)| Edge {
            to: (to != 9).then_some(to),
            action: Action::Deliver { position: 0 },
            task,
        };
        TaskGraph { edges: states.iter().map(|edges| edges.iter().map(edge).collect()).collect() }
    }

    const A: Option<Task> = Some(Task::Arrival(0, 0));

    #[test]
    fn a_task_that_is_possible_now_and_then_must_be_done_under_strong_fairness_only() {
        let graph = graph(&[&[(1, None), (9, A)], &[(0, None)]]);
        assert_eq!(graph.fair_parts(Fairness::Weak), [vec![0, 1]]);
        assert!(graph.fair_parts(Fairness::Strong).is_empty());
    }

    #[test]
    fn a_task_that_is_always_possible_must_be_done() {
        let graph = graph(&[&[(1, None), (9, A)], &[(0, None), (9, A)]]);
        assert!(graph.fair_parts(Fairness::Weak).is_empty());
    }

    #[test]
    fn a_smaller_circle_may_be_fair_where_a_larger_one_is_not() {
        let graph = graph(&[&[(1, None), (9, A)], &[(0, None), (2, None)], &[(1, None)]]);
        assert_eq!(graph.fair_parts(Fairness::Strong), [vec![1, 2]]);
    }

    #[test]
    fn a_circle_takes_detours_to_what_it_would_leave_out() {
        let graph = graph(&[&[(0, None), (1, A)], &[(0, None)]]);
        let [part] = &graph.fair_parts(Fairness::Strong)[..] else { panic!("one part is fair") };
        let circle = graph.circle(part, Fairness::Strong);
        assert!(circle.iter().any(|(_, edge)| edge.task == A), "{circle:?}");
        let ends = circle.iter().map(|(_, edge)| edge.to);
        let begins = circle.iter().cycle().skip(1).map(|(state, _)| Some(*state));
        assert!(ends.zip(begins).all(|(end, begin)| end == begin), "{circle:?}");
    }
}
