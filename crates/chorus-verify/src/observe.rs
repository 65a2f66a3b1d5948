//! Every move of a small machine, shown to an observer: for questions that a search for broken rules does not answer.

use chorus_protocol::message::Message;
use chorus_protocol::registry::Protocol;

use crate::config::{MachineConfig, Start};
use crate::expand::Moves;
use crate::hashing::FastMap;
use crate::machine::{Action, ExploredMachine};
use crate::program::WORDS;
use crate::state::State;
use crate::violation::Violation;

/// A move that was tried in a state.
#[derive(Clone, Copy)]
pub struct Move<'a> {
    /// The machine that makes the move.
    pub machine: &'a ExploredMachine,
    /// The number of the state in which it was tried, and the state.
    pub before: (u32, &'a State),
    /// The move that was tried.
    pub action: Action,
    /// The number of the state that it led to, and the state; none if the move was refused.
    pub after: Option<(u32, &'a State)>,
}

impl<'a> Move<'a> {
    /// The message that the move delivered.
    pub fn delivered(&self) -> Option<&'a Message<WORDS>> {
        let Action::Deliver { position } = self.action else { return None };
        Some(self.machine.nodes().message(self.machine.network(self.before.1)[usize::from(position)]))
    }

    /// The messages that the move sent.
    pub fn sent(&self) -> Vec<&'a Message<WORDS>> {
        let Some((_, after)) = self.after else { return Vec::new() };
        let mut left = self.machine.network(self.before.1).to_vec();
        let mut new = Vec::new();
        for &number in self.machine.network(after) {
            match left.iter().position(|&old| old == number) {
                Some(place) => drop(left.swap_remove(place)),
                None => new.push(self.machine.nodes().message(number)),
            }
        }
        new
    }

    /// The name of a message.
    pub fn name(&self, message: &Message<WORDS>) -> &'static str {
        self.machine.protocol().messages()[usize::from(message.kind.0)].name
    }
}

/// Every state that was reached, with the move that first reached it.
pub struct Reached {
    /// The states, by number.
    pub states: Vec<State>,
    /// The state and the move that first led to each state; none for the starts.
    pub parents: Vec<Option<(u32, Action)>>,
}

/// Shows every move from every state, breadth first. Returns the machine with the states reached, or without them if
/// there are more than `limit`. A move that breaks a rule is an error.
pub fn every_move(
    protocol: &'static dyn Protocol,
    config: &MachineConfig,
    limit: usize,
    look: &mut dyn FnMut(Move<'_>),
) -> Result<(ExploredMachine, Option<Reached>), Violation> {
    let mut machine = ExploredMachine::new(protocol, None, config);
    machine.complete()?;
    let mut states = vec![machine.cold()];
    if config.start == Start::ColdAndWarm {
        states.push(machine.warm()?);
    }
    let mut numbers: FastMap<State, u32> = (0..).zip(&states).map(|(number, state)| (state.clone(), number)).collect();
    let mut parents = vec![None; states.len()];
    let (mut next, mut moves) = (0, Moves::default());
    while let Some(before) = states.get(next).cloned() {
        moves.find(&machine, &before);
        for action in moves.all() {
            let mut after = before.clone();
            if !machine.apply(action, &mut after)? {
                look(Move { machine: &machine, before: (next as u32, &before), action, after: None });
                continue;
            }
            let new = states.len() as u32;
            let number = *numbers.entry(after.clone()).or_insert(new);
            let after = Some((number, &after));
            look(Move { machine: &machine, before: (next as u32, &before), action, after });
            if let Some((_, state)) = after.filter(|_| number == new) {
                states.push(state.clone());
                parents.push(Some((next as u32, action)));
            }
        }
        if states.len() > limit {
            return Ok((machine, None));
        }
        next += 1;
    }
    Ok((machine, Some(Reached { states, parents })))
}
