//! Starvation: can a load be refused again and again, for ever?
//!
//! A ReqV that is forwarded to an owner which has just lost the word is refused with a Nack and sent again. Since it
//! has no place in the order of the writes to its word, nothing protects the next one from the same fate (Spandex
//! paper, section III-C, case 3). Whether that can go on for ever is a question about infinite runs. Some threads
//! repeat their operations without end. A load starves in a run that comes back to a state after a Nack has arrived,
//! while the load is never answered. Such a run exists exactly if a strongly connected component of the states in which
//! the load is outstanding contains the arrival of a Nack.

use std::collections::VecDeque;

use chorus_protocol::registry::Protocol;

use crate::chart::Sequence;
use crate::config::{MachineConfig, Start};
use crate::hashing::FastMap;
use crate::machine::{Action, ExploredMachine};
use crate::observe::{Reached, every_move};
use crate::state::Progress;
use crate::violation::Violation;

/// The name of the message that refuses a request.
const REFUSAL: &str = "Nack";

/// An infinite run in which a load is never answered: a prefix, and a cycle that repeats for ever.
#[derive(Clone, Debug)]
pub struct Starvation {
    /// The moves from the start to the cycle.
    pub prefix: Sequence,
    /// The moves of the cycle.
    pub cycle: Sequence,
}

impl Starvation {
    /// The prefix and the cycle as text.
    pub fn to_text(&self) -> String {
        let (prefix, cycle) = (self.prefix.to_text(), self.cycle.to_text());
        format!("the way there:\n\n{prefix}\nfrom there, again and again:\n\n{cycle}")
    }
}

/// The result of a search.
#[derive(Clone, Debug)]
pub enum Answer {
    /// The load can starve.
    Starves(Box<Starvation>),
    /// The load cannot starve; the search visited so many states.
    Never(usize),
    /// There are more states than the bound allows.
    Bounded,
}

/// A move between two states.
#[derive(Clone, Copy, Debug)]
struct Edge {
    from: u32,
    to: u32,
    action: Action,
    refuses: bool,
}

/// Looks for a run in which the first operation of `thread` is refused for ever, visiting at most `limit` states from
/// empty caches.
pub fn search(
    protocol: &'static dyn Protocol,
    config: &MachineConfig,
    thread: usize,
    limit: usize,
) -> Result<Answer, Violation> {
    let config = MachineConfig { start: Start::Cold, ..config.clone() };
    let mut edges = Vec::new();
    let (mut machine, reached) = every_move(protocol, &config, limit, &mut |tried| {
        let waits = |state: &[u32]| matches!(tried.machine.progress(state, thread, 0), Progress::Outstanding(_));
        if let Some((to, _)) = tried.after.filter(|(_, after)| waits(tried.before.1) && waits(after)) {
            let refuses = tried.delivered().is_some_and(|message| tried.name(message) == REFUSAL);
            edges.push(Edge { from: tried.before.0, to, action: tried.action, refuses });
        }
    })?;
    let Some(reached) = reached else { return Ok(Answer::Bounded) };
    let components = components(reached.states.len(), &edges);
    let inside = |edge: &&Edge| components[edge.from as usize] == components[edge.to as usize];
    let refusals = edges.iter().filter(inside).filter(|edge| edge.refuses);
    let cycles = refusals.take(CYCLES).filter_map(|edge| cycle(&edges, &components, edge));
    match cycles.min_by_key(Vec::len) {
        None => Ok(Answer::Never(reached.states.len())),
        Some(cycle) => Ok(Answer::Starves(Box::new(drawn(&mut machine, &reached, &cycle)?))),
    }
}

/// The number of cycles that are compared to draw a short one.
const CYCLES: usize = 64;

/// The strongly connected component of each state (Tarjan 1972, without recursion).
fn components(states: usize, edges: &[Edge]) -> Vec<u32> {
    const NONE: u32 = u32::MAX;
    let mut first = vec![0; states + 1];
    edges.iter().for_each(|edge| first[edge.from as usize + 1] += 1);
    (0..states).for_each(|state| first[state + 1] += first[state]);
    let mut targets = vec![0; edges.len()];
    let mut filled = first.clone();
    for edge in edges {
        targets[filled[edge.from as usize]] = edge.to;
        filled[edge.from as usize] += 1;
    }
    let (mut component, mut order, mut low) = (vec![NONE; states], vec![NONE; states], vec![NONE; states]);
    let (mut stack, mut count, mut found) = (Vec::new(), 0, 0);
    for root in 0..states {
        if order[root] != NONE {
            continue;
        }
        let mut walk = vec![(root, first[root])];
        while let Some(&mut (state, ref mut next)) = walk.last_mut() {
            if order[state] == NONE {
                (order[state], low[state]) = (count, count);
                count += 1;
                stack.push(state);
            }
            if *next < first[state + 1] {
                let target = targets[*next] as usize;
                *next += 1;
                if order[target] == NONE {
                    walk.push((target, first[target]));
                } else if component[target] == NONE {
                    low[state] = low[state].min(order[target]);
                }
                continue;
            }
            walk.pop();
            if let Some(&(above, _)) = walk.last() {
                low[above] = low[above].min(low[state]);
            }
            if low[state] == order[state] {
                while let Some(member) = stack.pop() {
                    component[member] = found;
                    if member == state {
                        break;
                    }
                }
                found += 1;
            }
        }
    }
    component
}

/// A shortest path from the end of a move back to its beginning within its component, followed by the move.
fn cycle(edges: &[Edge], components: &[u32], last: &Edge) -> Option<Vec<Edge>> {
    let component = components[last.from as usize];
    let inside =
        |edge: &&Edge| components[edge.from as usize] == component && components[edge.to as usize] == component;
    let mut leaving: FastMap<u32, Vec<Edge>> = FastMap::default();
    edges.iter().filter(inside).for_each(|edge| leaving.entry(edge.from).or_default().push(*edge));
    let mut came: FastMap<u32, Edge> = FastMap::default();
    let mut waiting = VecDeque::from([last.to]);
    while let Some(state) = waiting.pop_front() {
        if state == last.from {
            break;
        }
        for edge in leaving.get(&state).map_or(&[][..], |edges| edges) {
            if edge.to != last.to && !came.contains_key(&edge.to) {
                came.insert(edge.to, *edge);
                waiting.push_back(edge.to);
            }
        }
    }
    let mut cycle = vec![*last];
    while cycle.last()?.from != last.to {
        let edge = came.get(&cycle.last()?.from)?;
        cycle.push(*edge);
    }
    cycle.reverse();
    Some(cycle)
}

/// The path to the state of a cycle that is reached first, and the cycle from there.
fn drawn(machine: &mut ExploredMachine, reached: &Reached, cycle: &[Edge]) -> Result<Starvation, Violation> {
    let first = (0..cycle.len()).min_by_key(|&index| cycle[index].from).unwrap_or(0);
    let mut actions = Vec::new();
    let mut state = cycle[first].from;
    while let Some((parent, action)) = reached.parents[state as usize] {
        actions.push(action);
        state = parent;
    }
    let mut state = reached.states[0].clone();
    let mut draw = |actions: &mut dyn Iterator<Item = Action>| {
        let mut sequence = Sequence::new(machine, false);
        for action in actions {
            sequence.make(machine, action, &mut state)?;
        }
        Ok::<Sequence, Violation>(sequence)
    };
    let prefix = draw(&mut actions.into_iter().rev())?;
    let cycle = draw(&mut cycle.iter().cycle().skip(first).take(cycle.len()).map(|edge| edge.action))?;
    Ok(Starvation { prefix, cycle })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_that_reach_each_other_are_one_component() {
        let edge = |(from, to): (u32, u32)| Edge { from, to, action: Action::Deliver { position: 0 }, refuses: false };
        let edges: Vec<Edge> = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 3), (5, 5)].into_iter().map(edge).collect();
        let components = components(6, &edges);
        assert_eq!(components[0], components[2]);
        assert_eq!(components[3], components[4]);
        assert_ne!(components[0], components[3]);
        assert_ne!(components[5], components[3]);
    }
}
