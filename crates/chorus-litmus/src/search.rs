//! The goal of a search through candidate executions, and its findings.

use std::collections::BTreeSet;

use crate::judge::{BUDGET, TooLarge};
use crate::race::Race;
use crate::test::{Condition, Outcome, Program, Term};

/// The reason for which a search ends early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The goal is found.
    Found,
    /// The search would take too long.
    TooLarge(TooLarge),
}

/// A search for all outcomes, or for one that meets a condition.
pub(crate) struct Search<'a> {
    program: &'a Program,
    /// The condition that the outcome should meet. Without it, all outcomes are collected.
    goal: Option<Condition>,
    /// Whether every execution must be examined even if only one outcome is wanted.
    pub exhaustive: bool,
    pub outcomes: BTreeSet<Outcome>,
    pub found: bool,
    pub executions: u64,
    pub race: Option<Race>,
    spent: u64,
}

impl<'a> Search<'a> {
    pub fn new(program: &'a Program, goal: Option<Condition>) -> Search<'a> {
        Search {
            program,
            goal,
            exhaustive: false,
            outcomes: BTreeSet::new(),
            found: false,
            executions: 0,
            race: None,
            spent: 0,
        }
    }

    /// Counts steps against the budget. A step takes well under a microsecond and little memory.
    pub fn spend(&mut self, steps: u64) -> Result<(), Stop> {
        self.spent += steps;
        if self.spent > BUDGET { Err(Stop::TooLarge(TooLarge::Steps { limit: BUDGET })) } else { Ok(()) }
    }

    /// Whether an execution with these final registers is of interest, whatever memory holds.
    pub fn wants(&self, registers: &[u32]) -> bool {
        let goal = self.goal.as_ref().filter(|_| !self.exhaustive && !self.found);
        goal.is_none_or(|goal| possible(self.program, goal, registers).0)
    }

    /// Counts an execution that the model allows.
    pub fn count(&mut self) {
        self.executions += 1;
    }

    /// Takes the outcome of an execution that the model allows.
    pub fn offer(&mut self, outcome: Outcome) -> Result<(), Stop> {
        let Some(goal) = &self.goal else {
            self.outcomes.insert(outcome);
            return Ok(());
        };
        self.found |= self.program.holds(goal, &outcome);
        let decided = (self.found && !self.exhaustive) || self.race.is_some();
        if decided { Err(Stop::Found) } else { Ok(()) }
    }
}

/// Whether a condition can hold, and whether it can fail, given the registers but not the memory.
fn possible(program: &Program, condition: &Condition, registers: &[u32]) -> (bool, bool) {
    match condition {
        Condition::True => (true, false),
        Condition::Compare(a, comparison, b) => {
            let value = |term: &Term| match *term {
                Term::Constant(value) => Some(value),
                Term::Register { thread, register } => {
                    Some(registers[program.register_index(usize::from(thread), register)])
                }
                Term::Final(_) => None,
            };
            match (value(a), value(b)) {
                (Some(a), Some(b)) => (comparison.holds(a, b), !comparison.holds(a, b)),
                _ => (true, true),
            }
        }
        Condition::And(a, b) => {
            let (a, b) = (possible(program, a, registers), possible(program, b, registers));
            (a.0 && b.0, a.1 || b.1)
        }
        Condition::Or(a, b) => {
            let (a, b) = (possible(program, a, registers), possible(program, b, registers));
            (a.0 || b.0, a.1 && b.1)
        }
        Condition::Not(a) => {
            let a = possible(program, a, registers);
            (a.1, a.0)
        }
    }
}
