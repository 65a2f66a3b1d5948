//! The rules that every state must keep.

use chorus_protocol::address::{AgentId, LineAddr};
use chorus_protocol::controller::StateClass;
use chorus_protocol::line::ByteMask;
use chorus_protocol::registry::Promise;

use crate::machine::Machine;
use crate::program::{Location, WORDS};
use crate::violation::Violation;

/// Which promises of a protocol are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Promised {
    single_writer: bool,
    inclusion: bool,
}

impl Promised {
    /// What `promises` holds.
    pub fn of(promises: &[Promise]) -> Promised {
        Promised {
            single_writer: promises.contains(&Promise::SingleWriter),
            inclusion: promises.contains(&Promise::Inclusion),
        }
    }

    /// Checks every readable private copy of a state.
    pub fn check(self, machine: &Machine, state: &[u32]) -> Result<(), Violation> {
        if !self.single_writer && !self.inclusion {
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
            }
        }
        Ok(())
    }
}

/// A readable private copy is resident at its home, which knows of it.
fn included(machine: &Machine, state: &[u32], cache: u16, line: u8) -> Result<(), Violation> {
    let topology = machine.config().topology;
    let home = topology.home(LineAddr(u64::from(line)));
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

/// A readable private copy equals what its home holds: the shared bank, or memory with the write-backs on their way to it.
fn equals_home(machine: &Machine, state: &[u32], cache: u16, line: u8) -> Result<(), Violation> {
    let topology = machine.config().topology;
    let copy = &machine.node(state, cache).views[usize::from(line)];
    let home = &machine.node(state, topology.home(LineAddr(u64::from(line))).0).views[usize::from(line)];
    let mut data = home.data;
    if home.readable != ByteMask::full::<WORDS>() {
        data = machine.settled_memory_line(state, line);
        data.merge(home.readable, &home.data);
    }
    match copy.readable.words().find(|&word| copy.data.0[word] != data.0[word]) {
        None => Ok(()),
        Some(word) => Err(Violation::NotSingleWriter {
            cache: topology.name(topology.l1(cache)),
            at: Location { line, word: word as u8 },
            copy: copy.data.0[word],
            home: data.0[word],
        }),
    }
}

/// With everything answered and delivered, nothing may be left over in any controller.
pub fn clean(machine: &Machine, state: &[u32]) -> Result<(), Violation> {
    let topology = machine.config().topology;
    for agent in 0..topology.l1s + topology.l2s {
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
