//! The scoped memory model of PTX (PTX ISA 7.5, "Memory Consistency Model"; Lustig et al. 2019; Lustig et al. 2022),
//! without proxies.
//!
//! An execution chooses the sources of reads, the order of morally strong `fence.sc`, and the order of morally strong
//! writes of a location. The order of writes is partial: writes that race may stay unordered. The smallest order
//! suffices, because every axiom only becomes harder to satisfy as the order grows. The final value of a location is
//! that of any write which no other write follows.
//!
//! Where sources differ, the text of the PTX ISA decides: program order is part of causality at one address, `fence.sc`
//! takes part in release and acquire patterns, and observation goes through any number of atomics. A compare-exchange
//! that fails writes the old value again.

mod fixed;
pub(crate) mod rules;
#[cfg(test)]
mod tests;

use crate::execution::barrier::{Meeting, meetings};
use crate::execution::path::MAX_EVENTS;
use crate::execution::skeleton::Skeleton;
use crate::execution::values::{Sources, Values};
use crate::ptx::fixed::Fixed;
use crate::ptx::rules::Rules;
use crate::relation::{Relation, bits};
use crate::search::{Search, Stop};
use crate::test::Outcome;

/// The number of steps that one check of the axioms counts for.
const ORDER_STEPS: u64 = 4;

/// Searches the executions of a skeleton.
pub(crate) fn search(skeleton: &Skeleton, rules: &Rules, search: &mut Search) -> Result<(), Stop> {
    let fixed = Fixed::new(skeleton, rules);
    let reads = (0..skeleton.events.len()).filter(|&event| skeleton.events[event].is_read()).collect();
    let mut executions = Executions { skeleton, rules, fixed, reads, sources: [0; MAX_EVENTS], search };
    executions.choose_sources(0)
}

/// The enumeration of the executions of a skeleton.
struct Executions<'a, 'b> {
    skeleton: &'a Skeleton<'a>,
    rules: &'a Rules,
    fixed: Fixed,
    reads: Vec<usize>,
    sources: Sources,
    search: &'a mut Search<'b>,
}

/// The relations that follow once sources, barriers and the order of fences are chosen.
struct Caused {
    reads_from: Relation,
    cause: Relation,
}

impl Executions<'_, '_> {
    /// Chooses the sources of reads from number `next` on.
    fn choose_sources(&mut self, next: usize) -> Result<(), Stop> {
        let Some(&read) = self.reads.get(next) else {
            return self.finish();
        };
        for write in 0..self.skeleton.events.len() {
            let possible = self.skeleton.events[write].is_write() && self.fixed.same_location.has(read, write);
            if !possible || self.stale(read, write) || self.taken(next, write) {
                continue;
            }
            self.search.spend(1)?;
            self.sources[read] = write as u8;
            self.choose_sources(next + 1)?;
        }
        Ok(())
    }

    /// Whether the reading thread's own writes exclude this source of a read: the write comes later, or another write
    /// came between. Coherence of a location forbids this, so the check only saves time.
    fn stale(&self, read: usize, write: usize) -> bool {
        let po = &self.fixed.program_order_location;
        let initial = self.skeleton.events[write].thread.is_none();
        let between = |other: usize| {
            let other_writes = self.skeleton.events[other].is_write() && po.has(other, read);
            other_writes && (initial || po.has(write, other))
        };
        self.rules.sc_per_location && self.rules.coherence && (po.has(read, write) || (0..read).any(between))
    }

    /// Whether another atomic has read from the same write, and not both can be atomic. This check, too, only saves
    /// time.
    fn taken(&self, next: usize, write: usize) -> bool {
        let read = self.reads[next];
        let strong = &self.fixed.morally_strong;
        let initial = self.skeleton.events[write].thread.is_none();
        let seen = |read: usize| initial || strong.has(write, read);
        let rules = self.rules.atomicity
            && self.rules.coherence
            && self.rules.strong_writes_ordered
            && self.rules.observation_causes;
        rules && self.skeleton.events[read].atomic && seen(read) && {
            self.reads[..next].iter().any(|&other| {
                let atomic = self.skeleton.events[other].atomic && usize::from(self.sources[other]) == write;
                atomic && seen(other) && strong.has(other + 1, read + 1)
            })
        }
    }

    /// Examines executions in which every read has its source.
    fn finish(&mut self) -> Result<(), Stop> {
        let Some(values) = Values::resolve(self.skeleton, &self.sources) else { return Ok(()) };
        let registers = values.registers(self.skeleton, &self.sources);
        if !self.search.wants(&registers) {
            return Ok(());
        }
        let mut reads_from = Relation::new(self.skeleton.events.len());
        self.reads.iter().for_each(|&read| reads_from.add(usize::from(self.sources[read]), read));
        if self.rules.no_thin_air && !reads_from.union(&self.fixed.depends).acyclic() {
            return Ok(());
        }
        let observed = self.observed(&reads_from);
        let meetings = if self.skeleton.meets {
            meetings(self.skeleton, &self.sources, &values, self.search)?
        } else {
            vec![Vec::new()]
        };
        for meeting in meetings {
            let base = self.base_causality(&observed, &meeting);
            self.order_fences(base, &reads_from, &observed, &values, &registers)?;
        }
        Ok(())
    }

    /// From each write to the events that observe it, directly or through atomics.
    fn observed(&self, reads_from: &Relation) -> Relation {
        let mut observed = *reads_from;
        if self.rules.observation_is_strong {
            observed = observed.intersection(&self.fixed.morally_strong);
        }
        if !self.rules.observation_through_atomics {
            return observed;
        }
        // From a write to the writes of atomics that observe it, and onwards from those.
        let through = observed.then(&self.fixed.atomic).closure();
        through.then(&observed).union(&observed)
    }

    /// The transitive closure of program order and synchronisation, without the order of `fence.sc`.
    fn base_causality(&self, observed: &Relation, meeting: &Meeting) -> Relation {
        let patterns = self.fixed.release.then(observed).then(&self.fixed.acquire);
        let synchronises = if self.rules.synchronisation_is_strong {
            patterns.intersection(&self.fixed.morally_strong)
        } else {
            patterns
        };
        let mut base = synchronises.union(&self.fixed.program_order);
        if self.rules.barriers {
            meeting.iter().for_each(|&(from, to)| base.add(usize::from(from), usize::from(to)));
        }
        if self.rules.causality_is_transitive { base.closure() } else { base }
    }

    /// Orders morally strong `fence.sc` that causality leaves unordered, in every possible way.
    fn order_fences(
        &mut self,
        base: Relation,
        reads_from: &Relation,
        observed: &Relation,
        values: &Values,
        registers: &[u32],
    ) -> Result<(), Stop> {
        self.search.spend(ORDER_STEPS)?;
        if self.rules.fence_sc {
            let fences = &self.fixed.strong_fences;
            if fences.iter().any(|&(a, b)| base.has(a, b) && base.has(b, a)) {
                return Ok(());
            }
            if let Some(&(a, b)) = fences.iter().find(|&&(a, b)| !base.has(a, b) && !base.has(b, a)) {
                for (from, to) in [(a, b), (b, a)] {
                    let mut ordered = base;
                    if self.rules.causality_is_transitive {
                        ordered.add_closed(from, to)
                    } else {
                        ordered.add(from, to)
                    }
                    self.order_fences(ordered, reads_from, observed, values, registers)?;
                }
                return Ok(());
            }
        }
        let preserved = base.intersection(&self.fixed.same_location);
        let cause = if self.rules.observation_causes { observed.then(&preserved).union(&preserved) } else { preserved };
        let caused = Caused { reads_from: *reads_from, cause };
        let writes = self.writes();
        let mut order = Relation::new(self.skeleton.events.len());
        for write in bits(writes) {
            let followers = if self.rules.coherence { cause.successors(write) & writes } else { 0 };
            order.add_all(write, followers);
            if self.skeleton.events[write].thread.is_none() {
                order.add_all(write, self.fixed.same_location.successors(write) & writes & !(1 << write));
            }
        }
        // A write that causes itself has no place in any order. Only barriers that wait for each other can lead to one.
        self.order_writes(order.closure(), &caused, values, registers)
    }

    fn writes(&self) -> u64 {
        let events = self.skeleton.events.iter().enumerate();
        events.filter(|(_, event)| event.is_write()).fold(0, |bits, (index, _)| bits | 1 << index)
    }

    /// Orders morally strong writes of a location that are still unordered, in every possible way.
    fn order_writes(
        &mut self,
        order: Relation,
        caused: &Caused,
        values: &Values,
        registers: &[u32],
    ) -> Result<(), Stop> {
        self.search.spend(ORDER_STEPS)?;
        if !order.irreflexive() || !self.consistent(&order, caused) {
            return Ok(());
        }
        let writes = &self.fixed.strong_writes;
        let open = writes.iter().find(|&&(a, b)| !order.has(a, b) && !order.has(b, a));
        if let Some(&(a, b)) = open.filter(|_| self.rules.strong_writes_ordered) {
            for (from, to) in [(a, b), (b, a)] {
                let mut ordered = order;
                ordered.add_closed(from, to);
                self.order_writes(ordered, caused, values, registers)?;
            }
            return Ok(());
        }
        self.search.count();
        let finals = self.skeleton.program.locations.iter().map(|location| location.initial).collect();
        self.offer_finals(&order, values, registers, 0, finals)
    }

    /// Whether atomicity, coherence of each location and causality hold.
    fn consistent(&self, order: &Relation, caused: &Caused) -> bool {
        let strong = &self.fixed.morally_strong;
        let from_reads = caused.reads_from.inverse().then(order);
        if self.rules.atomicity {
            let outside = from_reads.intersection(strong).then(&order.intersection(strong));
            let broken =
                self.reads.iter().any(|&read| self.fixed.atomic.successors(read) & outside.successors(read) != 0);
            if broken {
                return false;
            }
        }
        let communication = caused.reads_from.union(&from_reads);
        let strong_communication = communication.union(order).intersection(strong);
        if self.rules.sc_per_location && !strong_communication.union(&self.fixed.program_order_location).acyclic() {
            return false;
        }
        let seen = if self.rules.causality_of_overwritten { communication } else { caused.reads_from };
        !self.rules.causality || seen.then(&caused.cause).irreflexive()
    }

    /// Offers an outcome for every choice of the last writes of locations, from the initial write with number `next`
    /// on.
    fn offer_finals(
        &mut self,
        order: &Relation,
        values: &Values,
        registers: &[u32],
        next: usize,
        finals: Vec<u32>,
    ) -> Result<(), Stop> {
        let Some(&initial) = self.skeleton.initial.get(next) else {
            return self.search.offer(Outcome { registers: registers.to_vec(), finals });
        };
        let at = usize::from(self.skeleton.events[usize::from(initial)].at);
        let last = self.fixed.same_location.successors(usize::from(initial)) & self.last_writes(order);
        for write in bits(last) {
            self.search.spend(1)?;
            let mut finals = finals.clone();
            finals[at] = values.written(write);
            self.offer_finals(order, values, registers, next + 1, finals)?;
        }
        Ok(())
    }

    /// The writes of a location that no other write follows.
    fn last_writes(&self, order: &Relation) -> u64 {
        bits(self.writes()).filter(|&write| order.successors(write) == 0).fold(0, |bits, write| bits | 1 << write)
    }
}
