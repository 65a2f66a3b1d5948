//! The rules that every state must keep.

use chorus_protocol::address::{AgentId, LineAddr, Role};
use chorus_protocol::controller::StateClass;
use chorus_protocol::line::{ByteMask, LineData};
use chorus_protocol::registry::Promise;

use crate::machine::ExploredMachine;
use crate::ownership;
use crate::program::{Location, WORDS};
use crate::violation::Violation;

/// The promises of a protocol that are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Promised {
    single_writer: bool,
    single_owner: bool,
    inclusion: bool,
    tracking: bool,
    ownership: bool,
}

impl Promised {
    /// The checked promises among `promises`.
    pub fn of(promises: &[Promise]) -> Promised {
        Promised {
            single_writer: promises.contains(&Promise::SingleWriter),
            single_owner: promises.contains(&Promise::SingleOwner),
            inclusion: promises.contains(&Promise::Inclusion),
            tracking: promises.contains(&Promise::Tracking),
            ownership: promises.contains(&Promise::Ownership),
        }
    }

    /// Checks every readable copy of a state.
    pub fn check(self, machine: &ExploredMachine, state: &[u32]) -> Result<(), Violation> {
        if self.tracking && machine.network(state).is_empty() {
            all_tracked(machine, state)?;
        }
        if self.ownership && machine.network(state).is_empty() {
            ownership::check(machine, state)?;
        }
        if !self.single_writer && !self.single_owner && !self.inclusion {
            return Ok(());
        }
        for cache in 0..machine.config().topology.l1s {
            for (line, view) in machine.node(state, cache).views.iter().enumerate() {
                if view.readable.is_empty() {
                    continue;
                }
                if self.inclusion {
                    included(machine, state, cache, line as u8)?;
                }
                if self.single_writer {
                    equals_home(machine, state, cache, line as u8)?;
                }
                if self.single_owner {
                    owned_alone(machine, state, cache, line as u8)?;
                }
            }
        }
        Ok(())
    }
}

/// Every readable copy of a shared bank is tracked from directory to directory up to its home, and equals the line at
/// its home.
fn all_tracked(machine: &ExploredMachine, state: &[u32]) -> Result<(), Violation> {
    let topology = machine.config().topology;
    for bank in (0..topology.l2s).map(|index| topology.l2(index)) {
        for (line, view) in machine.node(state, bank.0).views.iter().enumerate() {
            // Dirty bytes that have not left the bank yet are allowed to differ.
            let is_clean = !view.readable.is_empty() && view.dirty.is_empty();
            if is_clean && bank != topology.home(LineAddr(line as u64)) {
                tracked(machine, state, bank, line as u8)?;
                equals_home(machine, state, bank.0, line as u8)?;
            }
        }
    }
    Ok(())
}

/// Every directory between the copy of a bank and its home has recorded the sharer below it.
fn tracked(machine: &ExploredMachine, state: &[u32], bank: AgentId, line: u8) -> Result<(), Violation> {
    let mut sharer = bank;
    while let Some(tracker) = machine.node(state, sharer.0).controller.tracker(LineAddr(u64::from(line))) {
        let node = machine.node(state, tracker.0);
        let position = node.controller.position(sharer).map(AgentId);
        if !position.is_some_and(|position| node.views[usize::from(line)].sharers.contains(position)) {
            let name = |agent| machine.config().topology.name(agent);
            return Err(Violation::NotTracked { bank: name(bank), line, tracker: name(tracker), sharer: name(sharer) });
        }
        sharer = tracker;
    }
    Ok(())
}

/// A readable private copy is resident at its home, and its home knows of it.
fn included(machine: &ExploredMachine, state: &[u32], cache: u16, line: u8) -> Result<(), Violation> {
    let topology = machine.config().topology;
    let home = topology.beyond(AgentId(cache), LineAddr(u64::from(line)));
    let view = &machine.node(state, home.0).views[usize::from(line)];
    let reason = if view.readable.is_empty() {
        "does not hold it"
    } else if !view.sharers.contains(AgentId(cache)) {
        "does not know of that copy"
    } else {
        return Ok(());
    };
    let (cache, home) = (topology.name(topology.l1(cache)), topology.name(home));
    Err(Violation::NotInclusive { cache, line, home, reason })
}

/// The contents of a line at its home, as a cache sees them: in the shared bank that it asks, or in memory with the
/// write-backs on their way there.
fn home_line(machine: &ExploredMachine, state: &[u32], cache: u16, line: u8) -> LineData<WORDS> {
    let home = machine.config().topology.beyond(AgentId(cache), LineAddr(u64::from(line)));
    let view = &machine.node(state, home.0).views[usize::from(line)];
    if view.readable == ByteMask::full::<WORDS>() {
        return view.data;
    }
    let mut data = machine.settled_memory_line(state, line);
    data.merge(view.readable, &view.data);
    data
}

/// A readable copy equals the line at its home.
pub(crate) fn equals_home(machine: &ExploredMachine, state: &[u32], cache: u16, line: u8) -> Result<(), Violation> {
    equals(machine, state, cache, line, &home_line(machine, state, cache, line))
}

/// A readable private copy that has been written is the only one. Any other equals the line at its home, once
/// everything that private caches have given up has arrived there.
fn owned_alone(machine: &ExploredMachine, state: &[u32], cache: u16, line: u8) -> Result<(), Violation> {
    let topology = machine.config().topology;
    let view = |cache: u16| &machine.node(state, cache).views[usize::from(line)];
    if !view(cache).dirty.is_empty() {
        let readable = |&other: &u16| other != cache && !view(other).readable.is_empty();
        let Some(other) = (0..topology.l1s).find(readable) else { return Ok(()) };
        let [owner, other] = [cache, other].map(|cache| topology.name(topology.l1(cache)));
        return Err(Violation::NotSingleOwner { owner, other, line });
    }
    let mut data = home_line(machine, state, cache, line);
    for &number in machine.network(state) {
        let message = machine.nodes().message(number);
        if message.line.0 == u64::from(line) && topology.role(message.src).0 == Role::L1 {
            data.merge(message.mask, &message.data);
        }
    }
    equals(machine, state, cache, line, &data)
}

fn equals(
    machine: &ExploredMachine,
    state: &[u32],
    cache: u16,
    line: u8,
    home: &LineData<WORDS>,
) -> Result<(), Violation> {
    let copy = &machine.node(state, cache).views[usize::from(line)];
    match copy.readable.words().find(|&word| copy.data.0[word] != home.0[word]) {
        None => Ok(()),
        Some(word) => Err(Violation::NotSingleWriter {
            cache: machine.config().topology.name(AgentId(cache)),
            at: Location { line, word: word as u8 },
            copy: copy.data.0[word],
            home: home.0[word],
        }),
    }
}

/// Checks that no controller has anything left over when everything is answered and delivered.
pub fn clean(machine: &ExploredMachine, state: &[u32]) -> Result<(), Violation> {
    let topology = machine.config().topology;
    for agent in 0..topology.controllers() {
        let node = machine.node(state, agent);
        let not_clean = |reason| Violation::NotClean { agent: topology.name(AgentId(agent)), reason };
        if !node.quiescent {
            return Err(not_clean("still waits for something".to_owned()));
        }
        for (line, view) in node.views.iter().enumerate() {
            let spec = &node.controller.vocabulary().states[usize::from(view.state)];
            if spec.class != StateClass::Stable {
                return Err(not_clean(format!("has line {line:#x} in state {}", spec.name)));
            }
        }
    }
    Ok(())
}
