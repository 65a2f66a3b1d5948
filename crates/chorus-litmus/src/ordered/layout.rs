//! The nodes and edges of an execution's graph.
//!
//! A read is one node. Where writes are atomic, a write is one node. Otherwise a write is one node for each thread that
//! reads its location, and one for all other threads, whose views cannot be told apart. A barrier is two nodes: the
//! thread arrives, and the thread leaves. Fences are not nodes but edges.

use std::ops::Range;

use crate::execution::path::{Kind, MAX_EVENTS};
use crate::execution::skeleton::Skeleton;
use crate::judge::TooLarge;
use crate::model::Model;
use crate::ordered::coherence::Coherence;
use crate::ordered::preserved::{own_writes_count, preserved, write_atomic};
use crate::ordered::too_many_moments;
use crate::parse::MAX_THREADS;
use crate::relation::{Graph, MAX_NODES};

/// The assignment of nodes to events.
pub(super) struct Layout {
    /// The first node of each event, and the end of the last event.
    first: [u8; MAX_EVENTS + 1],
    /// For each accessed location, in the order of initial writes, the moment of a write that each thread sees.
    moments: Vec<[u8; MAX_THREADS]>,
    /// The place of each location among the accessed ones.
    accessed: [u8; 256],
}

impl Layout {
    pub fn new(skeleton: &Skeleton, model: Model) -> Result<Layout, TooLarge> {
        if skeleton.paths.len() > MAX_THREADS {
            return Err(too_many_moments());
        }
        let mut layout = Layout { first: [0; MAX_EVENTS + 1], moments: Vec::new(), accessed: [0; 256] };
        let mut counts = Vec::new();
        for (place, &initial) in skeleton.initial.iter().enumerate() {
            let at = skeleton.events[usize::from(initial)].at;
            let (moments, count) = if write_atomic(model) { ([0; MAX_THREADS], 1) } else { views(skeleton, at) };
            layout.moments.push(moments);
            layout.accessed[usize::from(at)] = place as u8;
            counts.push(count);
        }
        let mut nodes = 0;
        for (index, event) in skeleton.events.iter().enumerate() {
            layout.first[index] = nodes as u8;
            nodes += match event.kind {
                Kind::Write if event.thread.is_none() => 1,
                Kind::Write => counts[usize::from(layout.accessed[usize::from(event.at)])],
                Kind::Read => 1,
                Kind::Barrier(_) => 2,
                Kind::Fence(_) => 0,
            };
            if nodes > MAX_NODES {
                return Err(too_many_moments());
            }
        }
        layout.first[skeleton.events.len()] = nodes as u8;
        Ok(layout)
    }

    fn nodes(&self, event: usize) -> Range<usize> {
        usize::from(self.first[event])..usize::from(self.first[event + 1])
    }

    /// The moment at which a write is performed for a thread.
    fn moment(&self, skeleton: &Skeleton, write: u8, thread: Option<u8>) -> usize {
        let write = usize::from(write);
        let event = &skeleton.events[write];
        match (event.thread, thread) {
            (Some(_), Some(thread)) => {
                let moments = &self.moments[usize::from(self.accessed[usize::from(event.at)])];
                usize::from(self.first[write]) + usize::from(moments[usize::from(thread)])
            }
            _ => usize::from(self.first[write]),
        }
    }

    /// The graph of the part of program order that the model keeps.
    pub fn program_order(&self, skeleton: &Skeleton, model: Model) -> Graph {
        let mut graph = Graph::new(usize::from(self.first[skeleton.events.len()]));
        for thread in 0..skeleton.paths.len() {
            let events = skeleton.of_thread(thread);
            for from in events.clone() {
                let a = &skeleton.events[from];
                let mut fenced = false;
                for to in from + 1..events.end {
                    let b = &skeleton.events[to];
                    let meets = matches!(a.kind, Kind::Barrier(_)) || matches!(b.kind, Kind::Barrier(_));
                    fenced |= matches!(b.kind, Kind::Fence(_));
                    if matches!(a.kind, Kind::Fence(_)) || matches!(b.kind, Kind::Fence(_)) {
                        continue;
                    }
                    if !a.is_beside(b) && (meets || preserved(model, a, b, fenced)) {
                        graph.add_ranges(self.nodes(from), self.nodes(to));
                    }
                }
                if matches!(a.kind, Kind::Barrier(_)) {
                    let (arrives, leaves) = barrier_nodes(self, from);
                    graph.add(arrives, leaves);
                }
            }
        }
        graph
    }

    /// Adds the communication at a location: `co`, `rf` and `fr`, each from one event to the next.
    pub fn communicate(&self, skeleton: &Skeleton, model: Model, happened: &Coherence, graph: &mut Graph) {
        for pair in happened.order.windows(2) {
            let (from, to) = (self.nodes(usize::from(pair[0])), self.nodes(usize::from(pair[1])));
            let initial = from.len() < to.len();
            to.enumerate()
                .for_each(|(moment, to)| graph.add(if initial { from.start } else { from.start + moment }, to));
        }
        for &(read, source) in &happened.sources {
            let thread = skeleton.events[usize::from(read)].thread;
            let node = usize::from(self.first[usize::from(read)]);
            let own = skeleton.events[usize::from(source)].thread == thread;
            if !own || own_writes_count(model) {
                graph.add(self.moment(skeleton, source, thread), node);
            }
            let place = happened.order.iter().position(|&write| write == source);
            if let Some(&next) = place.and_then(|place| happened.order.get(place + 1)) {
                graph.add(node, self.moment(skeleton, next, thread));
            }
        }
    }
}

/// The two nodes of a barrier: the thread arrives, and the thread leaves.
pub(super) fn barrier_nodes(layout: &Layout, event: usize) -> (usize, usize) {
    let first = usize::from(layout.first[event]);
    (first, first + 1)
}

/// The moment of a write to a location that each thread sees, and the number of moments.
fn views(skeleton: &Skeleton, at: u8) -> ([u8; MAX_THREADS], usize) {
    let threads = skeleton.paths.len();
    let reads = |thread: &usize| {
        skeleton.events[skeleton.of_thread(*thread)].iter().any(|event| event.is_read() && event.at == at)
    };
    let readers: Vec<usize> = (0..threads).filter(reads).collect();
    let mut moments = [readers.len() as u8; MAX_THREADS];
    readers.iter().enumerate().for_each(|(moment, &thread)| moments[thread] = moment as u8);
    (moments, readers.len() + usize::from(readers.len() < threads))
}
