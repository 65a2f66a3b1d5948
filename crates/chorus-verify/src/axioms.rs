//! Axiomatic memory models, decided by enumeration.
//!
//! A candidate execution chooses, for each location, the order of its writes (`co`), and for each read the write it reads from (`rf`).
//! Reads come before the writes that overwrite what they read (`fr`). A model allows the executions whose relations have no
//! cycle. An atomic is a read and a write with nothing between them in `co`.

use std::collections::BTreeSet;

use chorus_protocol::registry::MemoryModel;

use crate::program::{Location, Op, Outcome, Program, WORDS};

/// A memory model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Model {
    /// Sequential consistency: acyclic(po | rf | co | fr).
    Sc,
    /// Release consistency with atomic writes, RCpc: coherence of each location, and acyclic(ppo | rfe | co | fr), where ppo is
    /// program order behind an acquire, before a release, across a fence, and within a location except from write to read.
    WriteAtomicRc,
    /// Release consistency, RCpc, in which a write is performed with respect to each thread at a time of its own: coherence of each
    /// location, and no cycle among reads and the moments at which writes are performed for each thread. Across a fence, behind an
    /// acquire and before a release, all moments of the one come before all of the other; a read comes after the moment
    /// at which its source is performed for its own thread, and before that of whatever overwrites it there.
    Rcpc,
    /// Coherence of each location: acyclic((po & loc) | rf | co | fr).
    PerLocation,
}

impl From<MemoryModel> for Model {
    fn from(model: MemoryModel) -> Model {
        match model {
            MemoryModel::WriteAtomicRc => Model::WriteAtomicRc,
            MemoryModel::Rcpc => Model::Rcpc,
            MemoryModel::PerLocation => Model::PerLocation,
        }
    }
}

/// A read or a write. The initial writes come first, one for each location.
#[derive(Clone, Copy, Debug)]
struct Event {
    /// None for initial writes.
    thread: Option<usize>,
    /// Place in the thread; both halves of an atomic share it.
    place: usize,
    at: Location,
    op: Option<Op>,
    write: bool,
}

/// A relation over at most 128 events: the successors of each, as bits.
#[derive(Clone)]
struct Relation(Vec<u128>);

/// The positions of the bits that are set.
fn bits(mut word: u128) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lowest = (word != 0).then(|| word.trailing_zeros() as usize)?;
        word &= word - 1;
        Some(lowest)
    })
}

impl Relation {
    fn add(&mut self, from: usize, to: usize) {
        self.0[from] |= 1 << to;
    }

    fn union(&mut self, other: &Relation) {
        self.0.iter_mut().zip(&other.0).for_each(|(row, more)| *row |= more);
    }

    /// Takes events without predecessors away until none is left, or a cycle is.
    fn acyclic(&self) -> bool {
        let mut left = u128::MAX.checked_shr(u128::BITS - self.0.len() as u32).unwrap_or(0);
        loop {
            let rows = || (0..self.0.len()).filter(|&row| left >> row & 1 == 1);
            let reached = rows().fold(0, |bits, row| bits | self.0[row]);
            let kept = left & reached;
            if kept == 0 || kept == left {
                return kept == 0;
            }
            left = kept;
        }
    }
}

struct Enumeration<'a> {
    program: &'a Program,
    model: Model,
    events: Vec<Event>,
    /// Program order within each location.
    po_loc: Relation,
    /// The part of program order that the model keeps.
    ppo: Relation,
    reads: Vec<usize>,
    outcomes: BTreeSet<Outcome>,
}

/// Every outcome that `model` allows `program` to have on a memory of `lines` lines.
pub fn allowed(program: &Program, model: Model, lines: u8) -> BTreeSet<Outcome> {
    let locations = usize::from(lines) * WORDS;
    let mut events: Vec<Event> = (0..locations)
        .map(|index| Event { thread: None, place: 0, at: Location::from_index(index), op: None, write: true })
        .collect();
    for (thread, ops) in program.threads.iter().enumerate() {
        for (place, op) in ops.iter().enumerate() {
            let Some(at) = op.location() else { continue };
            let event = Event { thread: Some(thread), place, at, op: Some(*op), write: false };
            if op.returns_value() {
                events.push(event);
            }
            if !matches!(op, Op::Load { .. }) {
                events.push(Event { write: true, ..event });
            }
        }
    }
    let empty = Relation(vec![0; events.len()]);
    let reads = (0..events.len()).filter(|&event| !events[event].write).collect();
    let outcomes = BTreeSet::new();
    let mut enumeration = Enumeration { program, model, events, po_loc: empty.clone(), ppo: empty, reads, outcomes };
    enumeration.order_programs();
    let mut orders = vec![Vec::new(); locations];
    enumeration.choose_orders(&mut orders, 0);
    enumeration.outcomes
}

impl Enumeration<'_> {
    fn order_programs(&mut self) {
        for from in 0..self.events.len() {
            for to in from + 1..self.events.len() {
                let (a, b) = (self.events[from], self.events[to]);
                if a.thread.is_none() || a.thread != b.thread {
                    continue;
                }
                if a.at == b.at {
                    self.po_loc.add(from, to);
                }
                if self.preserved(&a, &b) {
                    self.ppo.add(from, to);
                }
            }
        }
    }

    /// Whether the model keeps `a` before `b`, which follows it in its thread.
    fn preserved(&self, a: &Event, b: &Event) -> bool {
        match self.model {
            Model::Sc => true,
            Model::PerLocation => false,
            Model::WriteAtomicRc | Model::Rcpc => {
                let between = a.thread.map(|thread| &self.program.threads[thread][a.place..b.place]);
                let fenced = between.is_some_and(|ops| ops.contains(&Op::FENCE));
                let acquired = !a.write && a.op.is_some_and(|op| op.acquires());
                let released = b.write && b.op.is_some_and(|op| op.releases());
                let same_location = self.model == Model::WriteAtomicRc && a.at == b.at && (!a.write || b.write);
                fenced || acquired || released || same_location
            }
        }
    }

    /// Chooses the order of the writes of `location` and all after it, keeping each thread's own order.
    fn choose_orders(&mut self, orders: &mut Vec<Vec<usize>>, location: usize) {
        if location == orders.len() {
            let sources = vec![usize::MAX; self.events.len()];
            self.choose_sources(orders, sources, 0);
            return;
        }
        let writes: Vec<usize> =
            (0..self.events.len()).filter(|&e| self.events[e].write && self.events[e].at.index() == location).collect();
        self.extend_order(orders, location, &writes);
    }

    fn extend_order(&mut self, orders: &mut Vec<Vec<usize>>, location: usize, left: &[usize]) {
        if left.is_empty() {
            self.choose_orders(orders, location + 1);
            return;
        }
        for &write in left {
            let initial_left = self.events[left[0]].thread.is_none();
            let blocked = left.iter().any(|&other| self.po_loc.0[other] >> write & 1 == 1);
            if blocked || (initial_left && write != left[0]) {
                continue;
            }
            orders[location].push(write);
            let rest: Vec<usize> = left.iter().copied().filter(|&other| other != write).collect();
            self.extend_order(orders, location, &rest);
            orders[location].pop();
        }
    }

    /// Chooses where each read from number `read` on takes its value; an atomic has no choice but the write just before its own.
    fn choose_sources(&mut self, orders: &[Vec<usize>], mut sources: Vec<usize>, read: usize) {
        let Some(&event) = self.reads.get(read) else {
            self.decide(orders, &sources);
            return;
        };
        let order = &orders[self.events[event].at.index()];
        if matches!(self.events[event].op, Some(Op::Atomic { .. })) {
            let own = order.iter().position(|&write| write == event + 1).unwrap_or(1);
            sources[event] = order[own - 1];
            self.choose_sources(orders, sources, read + 1);
        } else {
            for &write in order {
                sources[event] = write;
                self.choose_sources(orders, sources.clone(), read + 1);
            }
        }
    }

    /// Keeps the outcome of a candidate execution if the model allows it.
    fn decide(&mut self, orders: &[Vec<usize>], sources: &[usize]) {
        let mut communication = Relation(vec![0; self.events.len()]);
        let mut internal = Relation(vec![0; self.events.len()]);
        for order in orders {
            for (place, &write) in order.iter().enumerate() {
                order[place + 1..].iter().for_each(|&later| communication.add(write, later));
            }
        }
        for &read in &self.reads {
            let source = sources[read];
            let same_thread = self.events[source].thread == self.events[read].thread;
            if same_thread {
                internal.add(source, read)
            } else {
                communication.add(source, read)
            }
            communication.0[read] |= communication.0[source] & writes_of(&orders[self.events[read].at.index()]);
        }
        let mut coherence = self.po_loc.clone();
        coherence.union(&communication);
        coherence.union(&internal);
        let consistent = match self.model {
            Model::Rcpc => self.performed(orders, sources).acyclic(),
            Model::Sc | Model::WriteAtomicRc | Model::PerLocation => {
                let mut global = self.ppo.clone();
                global.union(&communication);
                if self.model == Model::Sc {
                    global.union(&internal);
                }
                global.acyclic()
            }
        };
        if consistent && coherence.acyclic() {
            let outcome = self.outcome(orders, sources);
            self.outcomes.insert(outcome);
        }
    }

    /// The order of reads and of the moments at which writes are performed for each thread.
    fn performed(&self, orders: &[Vec<usize>], sources: &[usize]) -> Relation {
        let threads = self.program.threads.len();
        let first = |event: usize| event * threads;
        let moments = |event: usize| {
            let own = if self.events[event].write { threads } else { 1 };
            first(event)..first(event) + own
        };
        let moment = |write: usize, reader: usize| first(write) + self.events[reader].thread.unwrap_or(0);
        let mut relation = Relation(vec![0; self.events.len() * threads]);
        for (from, &later) in self.ppo.0.iter().enumerate() {
            for to in bits(later) {
                moments(from).for_each(|from| moments(to).for_each(|to| relation.add(from, to)));
            }
        }
        for order in orders {
            for (place, &write) in order.iter().enumerate() {
                for &later in &order[place + 1..] {
                    (0..threads).for_each(|thread| relation.add(first(write) + thread, first(later) + thread));
                }
            }
        }
        for &read in &self.reads {
            relation.add(moment(sources[read], read), first(read));
            let order = &orders[self.events[read].at.index()];
            let source = order.iter().position(|&write| write == sources[read]).unwrap_or(0);
            order[source + 1..].iter().for_each(|&later| relation.add(first(read), moment(later, read)));
        }
        relation
    }

    fn outcome(&self, orders: &[Vec<usize>], sources: &[usize]) -> Outcome {
        let mut values = vec![0; self.events.len()];
        for &write in orders.iter().flatten() {
            values[write] = match self.events[write].op {
                Some(Op::Store { value, .. }) => value,
                // Its read is the event before it, and that reads from a write earlier in this order.
                Some(Op::Atomic { op, operand, .. }) => op.apply(values[sources[write - 1]], operand),
                Some(Op::Load { .. } | Op::Fence { .. } | Op::Barrier { .. }) | None => 0,
            };
        }
        let registers = self.reads.iter().map(|&read| values[sources[read]]).collect();
        let finals = orders.iter().map(|order| order.last().map_or(0, |&write| values[write])).collect();
        Outcome { registers, finals }
    }
}

fn writes_of(order: &[usize]) -> u128 {
    order.iter().fold(0, |bits, &write| bits | 1 << write)
}

#[cfg(test)]
mod tests {
    use chorus_protocol::access::{AtomicOp, Order, Scope};
    use proptest::prelude::*;

    use super::*;

    const LINES: u8 = 1;

    /// Sequential consistency as a machine: threads take turns at one memory.
    fn interleave(program: &Program, places: &mut [usize], outcome: &Outcome, found: &mut BTreeSet<Outcome>) {
        let mut finished = true;
        for thread in 0..places.len() {
            let Some(op) = program.threads[thread].get(places[thread]) else { continue };
            finished = false;
            let mut next = outcome.clone();
            let earlier = program.threads[..thread].iter().flatten().filter(|op| op.returns_value()).count();
            let done = program.threads[thread][..places[thread]].iter().filter(|op| op.returns_value()).count();
            match *op {
                Op::Load { at, .. } => next.registers[earlier + done] = next.finals[at.index()],
                Op::Store { at, value, .. } => next.finals[at.index()] = value,
                Op::Atomic { at, op, operand, .. } => {
                    next.registers[earlier + done] = next.finals[at.index()];
                    next.finals[at.index()] = op.apply(next.finals[at.index()], operand);
                }
                Op::Fence { .. } | Op::Barrier { .. } => {}
            }
            places[thread] += 1;
            interleave(program, places, &next, found);
            places[thread] -= 1;
        }
        if finished {
            found.insert(outcome.clone());
        }
    }

    fn op() -> impl Strategy<Value = Op> {
        let at = (0..WORDS).prop_map(Location::from_index);
        let order = prop_oneof![Just(Order::Relaxed), Just(Order::Acquire), Just(Order::Release)];
        (0..4, at, 1..4u32, order).prop_map(|(kind, at, value, order)| match kind {
            0 => Op::Load { at, order, scope: Scope::Gpu },
            1 => Op::Store { at, value, order, scope: Scope::Gpu },
            2 => Op::Atomic { at, op: AtomicOp::Add, operand: value, order, scope: Scope::Gpu, returns: true },
            _ => Op::FENCE,
        })
    }

    fn program() -> impl Strategy<Value = Program> {
        let thread = prop::collection::vec(op(), 0..4);
        prop::collection::vec(thread, 1..4).prop_map(|threads| Program { threads })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn sequential_consistency_is_what_interleaving_gives(program in program()) {
            let values = program.threads.iter().flatten().filter(|op| op.returns_value()).count();
            let start = Outcome { registers: vec![0; values], finals: vec![0; WORDS] };
            let mut interleaved = BTreeSet::new();
            interleave(&program, &mut vec![0; program.threads.len()], &start, &mut interleaved);
            prop_assert_eq!(allowed(&program, Model::Sc, LINES), interleaved);
        }

        #[test]
        fn weaker_models_allow_all_that_stronger_ones_do(program in program()) {
            let sc = allowed(&program, Model::Sc, LINES);
            let rc = allowed(&program, Model::WriteAtomicRc, LINES);
            let rcpc = allowed(&program, Model::Rcpc, LINES);
            let per_location = allowed(&program, Model::PerLocation, LINES);
            prop_assert!(!sc.is_empty() && sc.is_subset(&rc) && rc.is_subset(&rcpc) && rcpc.is_subset(&per_location));
        }
    }
}
