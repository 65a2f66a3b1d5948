//! Every rule that a state can break by itself, whoever comes to it: a search or a replay.

use chorus_protocol::controller::Passage;

use crate::invariants::{Promised, clean};
use crate::judge::Judge;
use crate::machine::{Action, Machine};
use crate::state::State;
use crate::violation::Violation;

/// Checks what the protocol promises, that nothing is left over where everything is answered, and what came of the program. `number` is the
/// state's.
pub(crate) fn examine(
    machine: &mut Machine,
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

/// Whether the passing of time changes nothing any more.
pub(crate) fn settled(machine: &mut Machine, state: &State) -> Result<bool, Violation> {
    if !machine.has_counters() {
        return Ok(true);
    }
    Ok(!machine.apply(Action::Time(Passage::Tick), &mut state.clone())?)
}
