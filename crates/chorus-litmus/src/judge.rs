//! The outcomes that a memory model allows a program to have.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use chorus_protocol::access::{Order, Scope};
use thiserror::Error;

use crate::execution::path::{Path, paths};
use crate::execution::skeleton::Skeleton;
use crate::model::Model;
use crate::ordered;
use crate::ptx;
use crate::ptx::rules::Rules;
use crate::race::{Race, unordered};
use crate::search::{Search, Stop};
use crate::test::{Condition, Instruction, LitmusTest, Outcome, Program, Quantifier, Thread};

/// The number of steps after which a search gives up. They take a second or two.
pub const BUDGET: u64 = 1 << 21;

/// The number of steps that a combination of one path of each thread counts for.
const COMBINATION_STEPS: u64 = 32;

/// The reason for which a program cannot be judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum TooLarge {
    /// The program has too many events for the bits of a word.
    #[error("the program has more than {limit} events in one execution, initial writes included")]
    Events {
        /// The largest number of events.
        limit: usize,
    },
    /// A thread has too many branches.
    #[error("a thread has more than {limit} ways through its code")]
    Paths {
        /// The largest number of paths.
        limit: usize,
    },
    /// Too many threads meet at barriers with a quorum.
    #[error("there are more than {limit} ways in which threads can meet at barriers")]
    Meetings {
        /// The largest number of ways to meet.
        limit: usize,
    },
    /// There are too many moments at which writes are performed for threads.
    #[error("the program has more than {limit} moments at which something is performed")]
    Moments {
        /// The largest number of moments.
        limit: usize,
    },
    /// There are too many candidate executions.
    #[error("the program has too many executions to look at in {limit} steps")]
    Steps {
        /// The largest number of steps.
        limit: u64,
    },
}

/// The behaviour that a model allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allowed {
    /// Every outcome. If there is a race, these are the outcomes of sequential consistency, since nothing is promised
    /// then.
    pub outcomes: BTreeSet<Outcome>,
    /// A race, if the model makes promises to race-free programs only and this program has a race.
    pub race: Option<Race>,
    /// The number of executions that the model allows.
    pub executions: u64,
}

/// The answer to the question of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The claim of the test is true.
    Holds,
    /// The claim of the test is false.
    Fails,
    /// The program races, and the model promises nothing.
    Racy(Race),
}

/// Every outcome that `model` allows `program` to have. Loops are left before their second iteration.
///
/// Registers, locations and targets that the program names must exist, and vector accesses must keep their rules
/// ([`Program::check_vectors`]), as in programs that were parsed.
pub fn allowed(program: &Program, model: Model) -> Result<Allowed, TooLarge> {
    let mut search = Search::new(program, None);
    run(program, judged_by(program, model)?, &mut search)?;
    Ok(Allowed { outcomes: search.outcomes, race: search.race, executions: search.executions })
}

/// Whether the claim of a test is true under a model.
pub fn decide(test: &LitmusTest, model: Model) -> Result<Verdict, TooLarge> {
    let negated = || Condition::Not(Box::new(test.condition.clone()));
    let asked = if test.quantifier == Quantifier::Forall { negated() } else { test.condition.clone() };
    let goal = match &test.filter {
        Some(filter) => Condition::And(Box::new(filter.clone()), Box::new(asked)),
        None => asked,
    };
    let mut search = Search::new(&test.program, Some(goal));
    search.exhaustive = model.needs_race_freedom();
    run(&test.program, judged_by(&test.program, model)?, &mut search)?;
    if let Some(race) = search.race {
        return Ok(Verdict::Racy(race));
    }
    let holds = search.found == (test.quantifier == Quantifier::Exists);
    Ok(if holds { Verdict::Holds } else { Verdict::Fails })
}

/// The model that judges a program. It is another one only for the model that treats programs with races differently.
fn judged_by(program: &Program, model: Model) -> Result<Model, TooLarge> {
    if model != Model::ScForDrfOrRc {
        return Ok(model);
    }
    let mut search = Search::new(program, None);
    run(program, Model::ScForHrfIndirect, &mut search)?;
    let mut keeps_order = true;
    each_skeleton(program, &mut search, &mut |skeleton, _| {
        keeps_order &= unordered(skeleton).is_none();
        Ok(())
    })?;
    Ok(match search.race.is_none() && keeps_order {
        true => Model::Sc,
        // Release consistency has no scopes, and an order within a work-group does not hold for others.
        false if is_narrow(program) => Model::PerLocation,
        false => Model::RcPcNonAtomic,
    })
}

/// Whether some order holds for a work-group only, in a program with several work-groups.
fn is_narrow(program: &Program) -> bool {
    let seat = |thread: &Thread| (thread.gpu, thread.cta);
    let is_spread = program.threads.iter().any(|thread| seat(thread) != seat(&program.threads[0]));
    let is_narrow = |instruction: &Instruction| match *instruction {
        Instruction::Load { order, scope, .. }
        | Instruction::Store { order, scope, .. }
        | Instruction::Atomic { order, scope, .. } => order != Order::Weak && scope == Scope::WorkGroup,
        Instruction::Fence { scope, .. } => scope == Scope::WorkGroup,
        Instruction::Barrier { .. }
        | Instruction::Add { .. }
        | Instruction::Branch { .. }
        | Instruction::Jump { .. } => false,
    };
    is_spread && program.threads.iter().flat_map(|thread| &thread.code).any(is_narrow)
}

/// Searches the executions of every combination of paths.
fn run(program: &Program, model: Model, search: &mut Search) -> Result<(), TooLarge> {
    each_skeleton(program, search, &mut |skeleton, search| match model {
        Model::Ptx => ptx::search(skeleton, &Rules::default(), search),
        _ => ordered::search(skeleton, model, search),
    })
}

/// Calls `visit` with every combination of paths.
fn each_skeleton(
    program: &Program,
    search: &mut Search,
    visit: &mut dyn FnMut(&Skeleton, &mut Search) -> Result<(), Stop>,
) -> Result<(), TooLarge> {
    debug_assert_eq!(program.check_vectors(), Ok(()));
    let ways: Vec<Vec<Path>> = program.threads.iter().map(paths).collect::<Result<_, _>>()?;
    let result = for_each_combination(&ways, &mut Vec::new(), &mut |chosen| {
        let skeleton =
            search.spend(COMBINATION_STEPS).and_then(|()| Skeleton::new(program, chosen).map_err(Stop::TooLarge));
        match skeleton.and_then(|skeleton| visit(&skeleton, search)) {
            Ok(()) => ControlFlow::Continue(()),
            Err(stop) => ControlFlow::Break(stop),
        }
    });
    match result {
        ControlFlow::Break(Stop::TooLarge(too_large)) => Err(too_large),
        ControlFlow::Break(Stop::Found) | ControlFlow::Continue(()) => Ok(()),
    }
}

/// Calls `visit` with one path of each thread, in every combination.
pub(crate) fn for_each_combination<'a>(
    ways: &'a [Vec<Path>],
    chosen: &mut Vec<&'a Path>,
    visit: &mut impl FnMut(Vec<&'a Path>) -> ControlFlow<Stop>,
) -> ControlFlow<Stop> {
    let Some(paths) = ways.get(chosen.len()) else {
        return visit(chosen.clone());
    };
    for path in paths {
        chosen.push(path);
        for_each_combination(ways, chosen, visit)?;
        chosen.pop();
    }
    ControlFlow::Continue(())
}
