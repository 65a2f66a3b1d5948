//! Judges executions by a memory model, computing what the model allows once for each program.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use chorus_litmus::judge::{TooLarge, allowed};
use chorus_litmus::model::Model;
use chorus_litmus::test::{Outcome, Program};
use chorus_protocol::registry::MemoryModel;

use crate::config::{Ending, Loads, MachineConfig, Stores};
use crate::machine::Machine;
use crate::violation::Violation;

/// The model that a protocol provides to a machine's threads: where every write is seen by all at once and threads wait for each of their
/// accesses, they see sequential consistency.
pub fn provided(protocol: MemoryModel, config: &MachineConfig) -> Model {
    match protocol {
        MemoryModel::WriteAtomicRc if config.loads == Loads::Blocking && config.stores == Stores::Blocking => Model::Sc,
        MemoryModel::WriteAtomicRc => Model::RcPc,
        MemoryModel::Rcpc => Model::RcPcNonAtomic,
        MemoryModel::PerLocation => Model::PerLocation,
    }
}

struct Judged {
    program: Program,
    allowed: Result<BTreeSet<Outcome>, TooLarge>,
    /// The outcomes reached, each with the first state that showed it.
    reached: BTreeMap<Outcome, u32>,
}

/// Every program that ran to its end, with what came of it.
pub struct Judge {
    model: Model,
    programs: HashMap<Vec<u8>, Judged>,
    key: Vec<u8>,
}

impl Judge {
    /// No program yet.
    pub fn new(model: Model) -> Judge {
        Judge { model, programs: HashMap::new(), key: Vec::new() }
    }

    /// Number of programs that ran to their end.
    pub fn programs(&self) -> usize {
        self.programs.len()
    }

    /// Number of different executions: programs with what came of them.
    pub fn executions(&self) -> usize {
        self.programs.values().map(|judged| judged.reached.len()).sum()
    }

    /// The outcomes of the one program that ran, each with the first state that showed it.
    pub fn reached(&self) -> BTreeMap<Outcome, u32> {
        self.programs.values().flat_map(|judged| judged.reached.clone()).collect()
    }

    /// Judges a state in which everything issued is answered and delivered.
    pub fn judge(&mut self, machine: &Machine, state: &[u32], number: u32) -> Result<(), Violation> {
        if machine.config().ending == Ending::Complete && !machine.ended(state) {
            return Ok(());
        }
        machine.choices(state, &mut self.key);
        if !self.programs.contains_key(&self.key) {
            let program = machine.program(state);
            let allowed = allowed(&program, self.model).map(|allowed| allowed.outcomes);
            self.programs.insert(self.key.clone(), Judged { program, allowed, reached: BTreeMap::new() });
        }
        let Some(judged) = self.programs.get_mut(&self.key) else { return Ok(()) };
        let outcome = machine.outcome(state);
        let verdict = match &judged.allowed {
            Ok(allowed) if allowed.contains(&outcome) => Ok(()),
            Ok(_) => {
                let (program, outcome) = (judged.program.to_string(), judged.program.describe(&outcome));
                Err(Violation::Forbidden { program, outcome, model: self.model.title() })
            }
            Err(reason) => Err(Violation::Unjudged { program: judged.program.to_string(), reason: *reason }),
        };
        judged.reached.entry(outcome).or_insert(number);
        verdict
    }
}
