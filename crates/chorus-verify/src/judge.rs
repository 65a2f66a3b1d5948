//! Judges executions by a memory model, computing what the model allows once for each program.

use std::collections::{BTreeMap, BTreeSet};

use chorus_litmus::judge::{TooLarge, allowed};
use chorus_litmus::model::Model;
use chorus_litmus::test::{Outcome, Program};
use chorus_protocol::registry::MemoryModel;

use crate::canonical::Canonical;
use crate::config::{Ending, Loads, MachineConfig, Stores};
use crate::hashing::FastMap;
use crate::machine::ExploredMachine;
use crate::state::State;
use crate::violation::Violation;

/// The memory model that a protocol provides to a machine's threads. Where every write is seen by all at once and
/// threads wait for each of their accesses, that is sequential consistency.
pub fn provided(protocol: MemoryModel, config: &MachineConfig) -> Model {
    match protocol {
        MemoryModel::WriteAtomicRc if config.loads == Loads::Blocking && config.stores == Stores::Blocking => Model::Sc,
        MemoryModel::WriteAtomicRc => Model::RcPc,
        MemoryModel::Rcpc => Model::RcPcNonAtomic,
        MemoryModel::ScForDrf => Model::ScForDrfOrRc,
        MemoryModel::Ptx => Model::Ptx,
        MemoryModel::PerLocation => Model::PerLocation,
    }
}

struct Judged {
    program: Program,
    /// The outcomes that the model allows, once they were computed.
    allowed: Option<Result<BTreeSet<Outcome>, TooLarge>>,
    /// The outcomes reached, each with the first state that showed it.
    reached: BTreeMap<Outcome, u32>,
}

/// Every program that ran to its end, with its outcomes.
pub struct Judge {
    model: Model,
    programs: FastMap<Vec<u8>, Judged>,
    /// The executions judged: the progress of all operations and the memory at the end.
    executions: FastMap<Vec<u32>, ()>,
}

impl Judge {
    /// A judge that has seen no program yet.
    pub fn new(model: Model) -> Judge {
        Judge { model, programs: FastMap::default(), executions: FastMap::default() }
    }

    /// The number of programs that ran to their end.
    pub fn programs(&self) -> usize {
        self.programs.len()
    }

    /// The number of different executions. An execution is a program with its outcome.
    pub fn executions(&self) -> usize {
        self.programs.values().map(|judged| judged.reached.len()).sum()
    }

    /// The outcomes of the only program that ran, each with the first state that showed it. Where mirror images count
    /// as one state, the state or one of its images did.
    pub fn reached(&self) -> BTreeMap<Outcome, u32> {
        self.programs.values().flat_map(|judged| judged.reached.clone()).collect()
    }

    /// Whether nothing new is to be judged in a state in which everything issued is answered and delivered.
    pub(crate) fn knows(&self, machine: &ExploredMachine, state: &[u32], execution: &mut Vec<u32>) -> bool {
        if machine.config().ending == Ending::Complete && !machine.ended(state) {
            return true;
        }
        machine.execution(state, execution);
        self.executions.contains_key(execution)
    }

    /// Judges a state in which everything issued is answered and delivered. All its mirror images show the same.
    pub(crate) fn judge(
        &mut self,
        machine: &ExploredMachine,
        canonical: &Canonical,
        state: &State,
        number: u32,
    ) -> Result<(), Violation> {
        let mut execution = Vec::new();
        if self.knows(machine, state, &mut execution) {
            return Ok(());
        }
        for element in (1..canonical.order()).rev() {
            let image = canonical.image(machine, element, state);
            machine.execution(&image, &mut execution);
            if self.executions.insert(execution.clone(), ()).is_none() {
                let outcome = machine.outcome(&image);
                self.judged(machine, &image).reached.entry(outcome).or_insert(number);
            }
        }
        machine.execution(state, &mut execution);
        self.executions.insert(execution, ());
        self.verdict(machine, state, number)
    }

    /// The verdict of the model on a state in which everything issued is answered and delivered.
    pub(crate) fn verdict(&mut self, machine: &ExploredMachine, state: &State, number: u32) -> Result<(), Violation> {
        if machine.config().ending == Ending::Complete && !machine.ended(state) {
            return Ok(());
        }
        let (model, outcome) = (self.model, machine.outcome(state));
        let judged = self.judged(machine, state);
        judged.reached.entry(outcome.clone()).or_insert(number);
        let Judged { program, .. } = judged;
        let allowed = || allowed(program, model).map(|allowed| allowed.outcomes);
        match judged.allowed.get_or_insert_with(allowed) {
            Ok(allowed) if allowed.contains(&outcome) => Ok(()),
            Ok(_) => {
                let (program, outcome) = (program.to_string(), program.describe(&outcome));
                Err(Violation::Forbidden { program, outcome, model: model.title() })
            }
            Err(reason) => Err(Violation::Unjudged { program: program.to_string(), reason: *reason }),
        }
    }

    fn judged(&mut self, machine: &ExploredMachine, state: &[u32]) -> &mut Judged {
        let mut key = Vec::new();
        machine.choices(state, &mut key);
        let new = || Judged { program: machine.program(state), allowed: None, reached: BTreeMap::new() };
        self.programs.entry(key).or_insert_with(new)
    }
}
