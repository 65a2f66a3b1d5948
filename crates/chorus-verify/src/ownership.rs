//! The meaning of [`Promise::Ownership`](chorus_protocol::registry::Promise::Ownership): once nothing is in flight, the
//! shared cache and the private ones agree on the owner of each word (Spandex paper, section III-B).
//!
//! A private cache owns its dirty words. The banks that private caches ask track owners by word: exactly the words that
//! one of these caches owns are not readable there. Of a line that a bank does not hold nobody owns a word, since the
//! bank is inclusive of owned data (section III-F). A copy in state S is invalidated before the bank changes the line,
//! so that both hold the same.

use chorus_protocol::address::{AgentId, LineAddr};
use chorus_protocol::controller::LineView;
use chorus_protocol::line::ByteMask;

use crate::invariants::equals_home;
use crate::machine::ExploredMachine;
use crate::program::{Location, WORDS};
use crate::violation::Violation;

/// The state of a line that is not there.
const INVALID: &str = "I";
/// The state of a copy that its writer invalidates.
const SHARED: &str = "S";

/// Checks every line of a state in which nothing is in flight.
pub(crate) fn check(machine: &ExploredMachine, state: &[u32]) -> Result<(), Violation> {
    for line in 0..machine.config().lines {
        one_owner(machine, state, line)?;
        known_owners(machine, state, line)?;
        for cache in 0..machine.config().topology.l1s {
            if state_name(machine, state, cache, line) == SHARED {
                equals_home(machine, state, cache, line)?;
            }
        }
    }
    Ok(())
}

fn view<'m>(machine: &'m ExploredMachine, state: &[u32], agent: u16, line: u8) -> &'m LineView<WORDS> {
    &machine.node(state, agent).views[usize::from(line)]
}

fn state_name(machine: &ExploredMachine, state: &[u32], agent: u16, line: u8) -> &'static str {
    let node = machine.node(state, agent);
    node.controller.vocabulary().states[usize::from(node.views[usize::from(line)].state)].name
}

/// No word is owned by two private caches.
fn one_owner(machine: &ExploredMachine, state: &[u32], line: u8) -> Result<(), Violation> {
    let topology = machine.config().topology;
    let mut owned = ByteMask::EMPTY;
    for cache in 0..topology.l1s {
        let dirty = view(machine, state, cache, line).dirty;
        let twice = ByteMask(owned.0 & dirty.0).words().next();
        if let Some(word) = twice {
            let owns = |&other: &u16| view(machine, state, other, line).dirty.words().any(|owned| owned == word);
            let first = (0..cache).find(owns).unwrap_or(cache);
            let [first, second] = [first, cache].map(|cache| topology.name(topology.l1(cache)));
            return Err(Violation::TwoOwners { first, second, at: Location { line, word: word as u8 } });
        }
        owned = ByteMask(owned.0 | dirty.0);
    }
    Ok(())
}

/// A bank whose clients are private caches knows which words they own.
fn known_owners(machine: &ExploredMachine, state: &[u32], line: u8) -> Result<(), Violation> {
    let topology = machine.config().topology;
    let home = topology.home(LineAddr(u64::from(line)));
    let clients = (0..topology.l1s).filter(|&cache| topology.beyond(AgentId(cache), LineAddr(u64::from(line))) == home);
    let owned = clients.fold(0, |owned, cache| owned | view(machine, state, cache, line).dirty.0);
    let at_home = view(machine, state, home.0, line);
    let missing = match state_name(machine, state, home.0, line) {
        INVALID => ByteMask::EMPTY,
        _ => ByteMask(ByteMask::full::<WORDS>().0 & !at_home.readable.0),
    };
    match ByteMask(owned ^ missing.0).words().next() {
        None => Ok(()),
        Some(word) => Err(Violation::WrongOwner {
            home: topology.name(home),
            at: Location { line, word: word as u8 },
            reason: if missing.words().any(|other| other == word) {
                "takes it to be owned, and no cache owns it"
            } else {
                "does not know that a cache owns it"
            },
        }),
    }
}
