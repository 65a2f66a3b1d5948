//! Models in which the writes of a location are totally ordered: all but PTX.
//!
//! An execution chooses the order of each location's writes and the sources of its reads (`coherence`). All these
//! models require coherence of each location, so the choices are made for each location and then combined. In addition,
//! a model requires that a graph has no cycle (`layout`). Its nodes are reads and the moments at which writes are
//! performed, once for all threads or for each reader at its own time. Its edges are communication and the part of
//! program order that the model keeps (`preserved`).
//!
//! Release consistency: acquires and releases are its special accesses, and relaxed and weak accesses are ordinary. A
//! fence is release and acquire at once and orders writes before reads. Scopes are ignored. A barrier is a fence that
//! is passed when all have come. Coherence of each location alone ignores fences and barriers.
//!
//! A thread that reads its own write may do so before the write is performed for others. Where writes are performed for
//! each thread, including the writing one, this read still comes after the write is performed for the thread itself. So
//! if the read acquires, everything that follows is behind that moment. Therefore release consistency without atomic
//! writes allows everything that it allows with them, except for programs whose threads acquire from themselves.
//!
//! No model lets a value come out of nowhere: a write may not depend on itself through reads.

mod coherence;
mod layout;
mod preserved;

use crate::execution::barrier::{Meeting, meetings};
use crate::execution::path::MAX_EVENTS;
use crate::execution::skeleton::Skeleton;
use crate::execution::values::{Sources, Values};
use crate::judge::TooLarge;
use crate::model::Model;
use crate::ordered::coherence::{Coherence, coherences};
use crate::ordered::layout::{Layout, barrier_nodes};
use crate::race::{Happened, race};
use crate::relation::Graph;
use crate::search::{Search, Stop};
use crate::test::Outcome;

/// Searches the executions of a skeleton.
pub(crate) fn search(skeleton: &Skeleton, model: Model, search: &mut Search) -> Result<(), Stop> {
    let layout = Layout::new(skeleton, model).map_err(Stop::TooLarge)?;
    let mut choices = Vec::with_capacity(skeleton.initial.len());
    for &initial in &skeleton.initial {
        choices.push(coherences(skeleton, usize::from(initial), search)?);
    }
    let start = layout.program_order(skeleton, model);
    let levels = vec![start; choices.len() + 1];
    let chosen = Vec::with_capacity(choices.len());
    let sources = [0; MAX_EVENTS];
    let mut combination = Combination { skeleton, model, layout, choices: &choices, levels, chosen, sources };
    combination.choose(search)
}

/// The choices made so far, for some of the locations.
struct Combination<'a> {
    skeleton: &'a Skeleton<'a>,
    model: Model,
    layout: Layout,
    choices: &'a [Vec<Coherence>],
    /// The graph after each number of choices.
    levels: Vec<Graph>,
    chosen: Vec<&'a Coherence>,
    sources: Sources,
}

impl<'a> Combination<'a> {
    fn choose(&mut self, search: &mut Search) -> Result<(), Stop> {
        let level = self.chosen.len();
        let choices = self.choices;
        let Some(candidates) = choices.get(level) else {
            return self.finish(search);
        };
        for candidate in candidates {
            search.spend(1)?;
            if self.model != Model::PerLocation {
                let (before, after) = self.levels.split_at_mut(level + 1);
                let graph = &mut after[0];
                graph.copy_from(&before[level]);
                self.layout.communicate(self.skeleton, self.model, candidate, graph);
                if !graph.acyclic() {
                    continue;
                }
            }
            candidate.sources.iter().for_each(|&(read, write)| self.sources[usize::from(read)] = write);
            self.chosen.push(candidate);
            self.choose(search)?;
            self.chosen.pop();
        }
        Ok(())
    }

    /// Examines an execution in which every choice is made.
    fn finish(&mut self, search: &mut Search) -> Result<(), Stop> {
        let Some(values) = Values::resolve(self.skeleton, &self.sources) else { return Ok(()) };
        let registers = values.registers(self.skeleton, &self.sources);
        if !search.wants(&registers) {
            return Ok(());
        }
        let outcome = Outcome { registers, finals: self.finals(&values) };
        if !self.skeleton.meets || self.model == Model::PerLocation {
            return self.accept(&Vec::new(), outcome, search);
        }
        for meeting in meetings(self.skeleton, &self.sources, &values, search)? {
            let mut graph = self.levels[self.chosen.len()].clone();
            for &(from, to) in &meeting {
                let (arrives, _) = barrier_nodes(&self.layout, usize::from(from));
                let (_, leaves) = barrier_nodes(&self.layout, usize::from(to));
                graph.add(arrives, leaves);
            }
            if graph.acyclic() {
                self.accept(&meeting, outcome.clone(), search)?;
            }
        }
        Ok(())
    }

    fn accept(&self, meeting: &Meeting, outcome: Outcome, search: &mut Search) -> Result<(), Stop> {
        search.count();
        if self.model.needs_race_freedom() && search.race.is_none() {
            let orders = self.chosen.iter().map(|chosen| chosen.order.as_slice());
            let happened = Happened::new(self.skeleton, orders, &self.sources, meeting);
            search.race = race(&happened, self.model);
        }
        search.offer(outcome)
    }

    fn finals(&self, values: &Values) -> Vec<u32> {
        let mut finals: Vec<u32> = self.skeleton.program.locations.iter().map(|location| location.initial).collect();
        for chosen in &self.chosen {
            if let Some(&last) = chosen.order.last() {
                let at = self.skeleton.events[usize::from(last)].at;
                finals[usize::from(at)] = values.written(usize::from(last));
            }
        }
        finals
    }
}

/// The error for a graph with too many nodes.
fn too_many_moments() -> TooLarge {
    TooLarge::Moments { limit: crate::relation::MAX_NODES }
}
