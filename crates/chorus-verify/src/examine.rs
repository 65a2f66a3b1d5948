//! Every rule that a single state can break. Searches and replays both check them here.

use chorus_protocol::controller::Passage;

use crate::invariants::{Promised, clean};
use crate::judge::Judge;
use crate::machine::{Action, ExploredMachine};
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
    promised.check(machine, state)?;
    if !machine.idle(state) {
        return Ok(());
    }
    if settled(machine, state)? {
        clean(machine, state)?;
    }
    judge.verdict(machine, state, number)
}

/// Whether passing time changes nothing any more.
pub(crate) fn settled(machine: &mut ExploredMachine, state: &State) -> Result<bool, Violation> {
    if !machine.has_counters() {
        return Ok(true);
    }
    Ok(!machine.apply(Action::Time(Passage::Tick), &mut state.clone())?)
}
