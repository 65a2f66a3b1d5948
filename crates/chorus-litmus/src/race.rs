//! Races: conflicting accesses that nothing orders, in a sequentially consistent execution.
//!
//! Weak accesses are data, and all other accesses synchronise. For data races (Adve and Hill 1990), accesses that
//! synchronise on a location order each other, whatever their kind and scope. For heterogeneous races (Hower et al.
//! 2014), a release orders a later acquire of its location if both name exactly the same instance of a scope: one
//! work-group, one GPU, or the system. A fence before a synchronising write, or behind a synchronising read, releases
//! or acquires at its own scope. A barrier orders at the scope of its work-group.

use chorus_protocol::access::{Order, Scope};

use crate::execution::barrier::Meeting;
use crate::execution::path::{Kind, MAX_EVENTS};
use crate::execution::skeleton::{Event, Skeleton};
use crate::execution::values::Sources;
use crate::model::Model;
use crate::print::instruction;
use crate::relation::Relation;
use crate::test::Program;

/// An access, as an instruction of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Access {
    /// The index of the thread.
    pub thread: usize,
    /// The index of the instruction. Of a vector access it is the index of the first part.
    pub instruction: usize,
}

/// Two conflicting accesses that nothing orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Race {
    /// One of the two accesses.
    pub first: Access,
    /// The other of the two accesses.
    pub second: Access,
}

impl Race {
    /// A description of the race in words.
    pub fn describe(&self, program: &Program) -> String {
        let words = |access: Access| {
            format!("`{}` of P{}", instruction(program, access.thread, access.instruction), access.thread)
        };
        format!("{} and {} are not ordered", words(self.first), words(self.second))
    }
}

/// A place in the machine whose threads a scope covers: the system, a GPU, or a work-group of a GPU.
type Instance = (Option<u32>, Option<u32>);

/// A sequentially consistent execution.
pub(crate) struct Happened<'a> {
    skeleton: &'a Skeleton<'a>,
    meeting: &'a Meeting,
    /// The time of each access among the accesses of its location.
    time: [u8; MAX_EVENTS],
}

impl<'a> Happened<'a> {
    pub fn new<'b>(
        skeleton: &'a Skeleton<'a>,
        orders: impl Iterator<Item = &'b [u8]>,
        sources: &Sources,
        meeting: &'a Meeting,
    ) -> Happened<'a> {
        let mut time = [0; MAX_EVENTS];
        for order in orders {
            order.iter().enumerate().for_each(|(place, &write)| time[usize::from(write)] = 2 * place as u8);
        }
        for (index, _) in skeleton.events.iter().enumerate().filter(|(_, event)| event.is_read()) {
            time[index] = time[usize::from(sources[index])] + 1;
        }
        Happened { skeleton, meeting, time }
    }

    fn event(&self, index: usize) -> &Event {
        &self.skeleton.events[index]
    }

    fn instance(&self, index: usize) -> Instance {
        let event = self.event(index);
        let Some(thread) = event.thread else { return (None, None) };
        let (gpu, cta) = self.skeleton.work_group(thread);
        match event.scope {
            Scope::WorkGroup => (Some(gpu), Some(cta)),
            Scope::Gpu => (Some(gpu), None),
            Scope::System => (None, None),
        }
    }

    fn synchronises(&self, index: usize) -> bool {
        let event = self.event(index);
        event.is_memory() && event.thread.is_some() && event.order != Order::Weak
    }

    /// Whether two accesses are of the same location and of different threads, and one of them writes.
    fn conflict(&self, a: usize, b: usize) -> bool {
        let (a, b) = (self.event(a), self.event(b));
        let both = a.is_memory() && b.is_memory() && a.thread.is_some() && b.thread.is_some();
        both && a.thread != b.thread && a.at == b.at && (a.is_write() || b.is_write())
    }

    fn program_order(&self) -> Relation {
        let mut order = Relation::new(self.skeleton.events.len());
        for thread in 0..self.skeleton.paths.len() {
            let events = self.skeleton.of_thread(thread);
            for from in events.clone() {
                let later = (from + 1..events.end).filter(|&to| !self.event(from).is_beside(self.event(to)));
                later.for_each(|to| order.add(from, to));
            }
        }
        order
    }

    /// The happens-before relation without scopes.
    fn before(&self) -> Relation {
        let mut order = self.program_order();
        self.meeting.iter().for_each(|&(from, to)| order.add(usize::from(from), usize::from(to)));
        let events = self.skeleton.events.len();
        for a in (0..events).filter(|&a| self.synchronises(a)) {
            for b in (0..events).filter(|&b| self.synchronises(b) && self.conflict(a, b)) {
                if self.time[a] < self.time[b] {
                    order.add(a, b);
                }
            }
        }
        order.closure()
    }

    /// The operations at which the thread of a write releases, or the thread of a read acquires: fences and the access
    /// itself.
    fn ends(&self, access: usize) -> Vec<usize> {
        let event = *self.event(access);
        let Some(thread) = event.thread else { return Vec::new() };
        let events = self.skeleton.of_thread(usize::from(thread));
        let side = if event.is_write() { events.start..access } else { access + 1..events.end };
        let mut ends: Vec<usize> =
            side.filter(|&other| matches!(self.event(other).kind, Kind::Fence(_)) && !event.reduction_read()).collect();
        if event.acquires() || event.releases() {
            ends.push(access);
        }
        ends
    }

    /// Pairs of a release and an acquire that name the same instance of a scope.
    fn pairs(&self) -> Vec<(usize, usize, Instance)> {
        let events = self.skeleton.events.len();
        let mut pairs: Vec<(usize, usize, Instance)> = Vec::new();
        for &(from, to) in self.meeting {
            pairs.push((usize::from(from), usize::from(to), self.instance(usize::from(from))));
        }
        for write in (0..events).filter(|&event| self.synchronises(event) && self.event(event).is_write()) {
            for read in (0..events).filter(|&event| self.synchronises(event) && self.event(event).is_read()) {
                if !self.conflict(write, read) || self.time[write] > self.time[read] {
                    continue;
                }
                for from in self.ends(write) {
                    for to in self.ends(read).into_iter().filter(|&to| self.instance(from) == self.instance(to)) {
                        pairs.push((from, to, self.instance(from)));
                    }
                }
            }
        }
        pairs
    }

    /// The heterogeneous happens-before relation. Its chains stay in one scope if `direct` is set, and may change their
    /// scope otherwise.
    fn before_in_scopes(&self, direct: bool) -> Relation {
        let order = self.program_order();
        let pairs = self.pairs();
        let with = |chosen: &dyn Fn(Instance) -> bool| {
            let mut order = order;
            pairs.iter().filter(|pair| chosen(pair.2)).for_each(|pair| order.add(pair.0, pair.1));
            order.closure()
        };
        if !direct {
            return with(&|_| true);
        }
        let instances = pairs.iter().map(|pair| pair.2);
        instances.fold(order.closure(), |before, instance| before.union(&with(&|other| other == instance)))
    }
}

/// Finds two synchronising accesses of a thread that nothing keeps in order.
pub(crate) fn unordered(skeleton: &Skeleton) -> Option<Race> {
    let synchronises = |event: &Event| event.is_memory() && event.order != Order::Weak;
    for thread in 0..skeleton.paths.len() {
        let events = skeleton.of_thread(thread);
        for from in events.clone().filter(|&from| synchronises(&skeleton.events[from])) {
            let a = &skeleton.events[from];
            let later = skeleton.events[from + 1..events.end].iter();
            let later = later.take_while(|event| !matches!(event.kind, Kind::Fence(_) | Kind::Barrier(_)));
            let overtakes = |b: &&Event| {
                let same_place = a.at == b.at && !(a.is_write() && b.is_read());
                let kept = a.acquires() || b.releases() || same_place || a.place == b.place;
                synchronises(b) && !kept
            };
            if let Some(b) = later.into_iter().find(overtakes) {
                let access = |event: &Event| Access { thread, instruction: usize::from(event.place) };
                return Some(Race { first: access(a), second: access(b) });
            }
        }
    }
    None
}

/// Finds a race of the kind that the model forbids.
pub(crate) fn race(happened: &Happened, model: Model) -> Option<Race> {
    let scoped = model != Model::ScForDrf;
    let before = if scoped { happened.before_in_scopes(model == Model::ScForHrfDirect) } else { happened.before() };
    let events = happened.skeleton.events.len();
    for a in 0..events {
        for b in (a + 1..events).filter(|&b| happened.conflict(a, b)) {
            let both = happened.synchronises(a) && happened.synchronises(b);
            let matched = both && (!scoped || happened.instance(a) == happened.instance(b));
            if !matched && !before.has(a, b) && !before.has(b, a) {
                let access = |event: usize| Access {
                    thread: usize::from(happened.event(event).thread.unwrap_or(0)),
                    instruction: usize::from(happened.event(event).place),
                };
                return Some(Race { first: access(a), second: access(b) });
            }
        }
    }
    None
}
