//! Judges executions by a memory model, computing what the model allows once for each program.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use chorus_protocol::registry::MemoryModel;

use crate::axioms::{Model, allowed};
use crate::config::Ending;
use crate::machine::Machine;
use crate::program::{Outcome, Program};
use crate::violation::Violation;

struct Judged {
    program: Program,
    allowed: BTreeSet<Outcome>,
    /// The outcomes reached, each with the first state that showed it.
    reached: BTreeMap<Outcome, u32>,
}

/// Every program that ran to its end, with what came of it.
pub struct Judge {
    model: MemoryModel,
    programs: HashMap<Vec<u8>, Judged>,
    key: Vec<u8>,
}

impl Judge {
    /// No program yet.
    pub fn new(model: MemoryModel) -> Judge {
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
        if machine.config().ending == Ending::Complete && !machine.all_issued(state) {
            return Ok(());
        }
        machine.choices(state, &mut self.key);
        if !self.programs.contains_key(&self.key) {
            let program = machine.program(state);
            let allowed = allowed(&program, Model::from(self.model), machine.config().lines);
            self.programs.insert(self.key.clone(), Judged { program, allowed, reached: BTreeMap::new() });
        }
        let Some(judged) = self.programs.get_mut(&self.key) else { return Ok(()) };
        let outcome = machine.outcome(state);
        let verdict = if judged.allowed.contains(&outcome) {
            Ok(())
        } else {
            let (program, outcome) = (judged.program.to_string(), judged.program.describe(&outcome));
            Err(Violation::Forbidden { program, outcome, model: self.model })
        };
        judged.reached.entry(outcome).or_insert(number);
        verdict
    }
}
