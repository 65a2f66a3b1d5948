//! Every rule that a single state can break. Searches and replays both check them here.

use chorus_protocol::controller::Passage;

use crate::canonical::Canonical;
use crate::invariants::{Promised, clean};
use crate::judge::Judge;
use crate::machine::{Action, ExploredMachine, Halt};
use crate::state::State;
use crate::violation::Violation;

/// Checks the protocol's promises, that nothing is left over where everything is answered, and the outcome of the
/// program. `number` is the number of the state.
pub(crate) fn examine(
    machine: &mut ExploredMachine,
    promised: Promised,
    judge: &mut Judge,
    state: &State,
    number: u32,
) -> Result<(), Violation> {
    examine_copies(machine, promised, state)?;
    // A thread that repeats its operations forgets them, so no program can be judged.
    if !machine.idle(state) || machine.config().is_endless() {
        return Ok(());
    }
    judge.verdict(machine, state, number)
}

/// Checks the protocol's promises, and that nothing is left over where everything is answered.
pub(crate) fn examine_copies(
    machine: &mut ExploredMachine,
    promised: Promised,
    state: &State,
) -> Result<(), Violation> {
    promised.check(machine, state)?;
    if machine.idle(state) && settled(machine, state)? { clean(machine, state) } else { Ok(()) }
}

/// Whether passing time changes nothing any more.
pub(crate) fn settled(machine: &mut ExploredMachine, state: &State) -> Result<bool, Violation> {
    if !machine.has_counters() {
        return Ok(true);
    }
    Ok(!machine.apply(Action::Time(Passage::Tick), &mut state.clone())?)
}

/// The rules that a new state breaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Broken {
    /// A promise, or something is left over.
    pub state: bool,
    /// The memory model forbids what came of the program.
    pub values: bool,
}

/// Checks a new state, which stands for all its mirror images. Every unknown step that the check needs is run.
pub(crate) fn examine_new(
    machine: &mut ExploredMachine,
    canonical: &Canonical,
    promised: Promised,
    judge: &mut Judge,
    state: &State,
    number: u32,
) -> Broken {
    let mut broken = Broken { state: promised.check(machine, state).is_err(), values: false };
    if machine.idle(state) {
        broken.state |= match settled(machine, state) {
            Ok(settled) => settled && clean(machine, state).is_err(),
            Err(_) => true,
        };
        broken.values = judge.judge(machine, canonical, state, number).is_err();
    }
    broken
}

/// Whether a new state keeps the rules; nothing if an unknown step or a new execution decides that.
pub(crate) fn examine_known(
    machine: &ExploredMachine,
    promised: Promised,
    judge: &Judge,
    state: &State,
    execution: &mut Vec<u32>,
) -> Option<bool> {
    if promised.check(machine, state).is_err() {
        return Some(false);
    }
    if !machine.idle(state) {
        return Some(true);
    }
    let settled = if machine.has_counters() {
        match machine.attempt(Action::Time(Passage::Tick), &mut state.clone()) {
            Ok(moved) => !moved,
            Err(Halt::Wrong(_) | Halt::NoRoom) => return Some(false),
            Err(Halt::Unknown(_)) => return None,
        }
    } else {
        true
    };
    if settled && clean(machine, state).is_err() {
        return Some(false);
    }
    judge.knows(machine, state, execution).then_some(true)
}
