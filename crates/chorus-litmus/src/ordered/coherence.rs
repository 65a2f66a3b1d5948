//! The possible orders and sources at one location.
//!
//! The writes of a location have an order that keeps the order of each thread's own writes. A read takes its value from
//! a write that is no older than what its thread has already read or written there, and older than what its thread
//! writes there later. This is acyclic((po & loc) | rf | co | fr). An atomic reads the value just before its own write.

use crate::execution::skeleton::Skeleton;
use crate::search::{Search, Stop};

/// The number of steps that a choice counts for. Choices are kept until all are made.
const STEPS_TO_KEEP: u64 = 4;

/// An order of a location's writes, and the sources of its reads.
#[derive(Clone, Debug)]
pub(super) struct Coherence {
    pub order: Vec<u8>,
    /// Reads with their sources.
    pub sources: Vec<(u8, u8)>,
}

/// All possibilities for the location of an initial write.
pub(super) fn coherences(skeleton: &Skeleton, initial: usize, search: &mut Search) -> Result<Vec<Coherence>, Stop> {
    let at = skeleton.events[initial].at;
    let accesses: Vec<u8> = (skeleton.initial.len()..skeleton.events.len())
        .filter(|&event| skeleton.events[event].is_memory() && skeleton.events[event].at == at)
        .map(|event| event as u8)
        .collect();
    let left: Vec<u8> =
        accesses.iter().copied().filter(|&event| skeleton.events[usize::from(event)].is_write()).collect();
    let mut enumeration = Enumeration {
        skeleton,
        accesses,
        order: vec![initial as u8],
        position: [0; 64],
        sources: Vec::new(),
        found: Vec::new(),
    };
    enumeration.extend(&left, search)?;
    Ok(enumeration.found)
}

struct Enumeration<'a> {
    skeleton: &'a Skeleton<'a>,
    /// Reads and writes of the location, thread by thread in program order.
    accesses: Vec<u8>,
    order: Vec<u8>,
    /// The place of each write in the order.
    position: [u8; 64],
    sources: Vec<(u8, u8)>,
    found: Vec<Coherence>,
}

impl Enumeration<'_> {
    fn thread(&self, event: u8) -> Option<u8> {
        self.skeleton.events[usize::from(event)].thread
    }

    /// Extends the order by one of the remaining writes, which must be the first of its thread.
    fn extend(&mut self, left: &[u8], search: &mut Search) -> Result<(), Stop> {
        if left.is_empty() {
            return self.read(0, 0, search);
        }
        for (index, &write) in left.iter().enumerate() {
            if index > 0 && self.thread(left[index - 1]) == self.thread(write) {
                continue;
            }
            search.spend(1)?;
            self.position[usize::from(write)] = self.order.len() as u8;
            self.order.push(write);
            let mut rest = left.to_vec();
            rest.remove(index);
            self.extend(&rest, search)?;
            self.order.pop();
        }
        Ok(())
    }

    /// Chooses the sources of reads from number `next` on. The thread of that access has already seen the write at
    /// place `seen`.
    fn read(&mut self, next: usize, seen: u8, search: &mut Search) -> Result<(), Stop> {
        let Some(&access) = self.accesses.get(next) else {
            search.spend(STEPS_TO_KEEP)?;
            self.found.push(Coherence { order: self.order.clone(), sources: self.sources.clone() });
            return Ok(());
        };
        let event = self.skeleton.events[usize::from(access)];
        let same = self.accesses.get(next + 1).is_some_and(|&other| self.thread(other) == event.thread);
        let goes_on = |place: u8| if same { place } else { 0 };
        if event.is_write() {
            return self.read(next + 1, goes_on(self.position[usize::from(access)]), search);
        }
        let later = &self.accesses[next + 1..];
        let own = later.iter().find(|&&other| self.skeleton.events[usize::from(other)].is_write());
        let own = own.filter(|&&other| self.thread(other) == event.thread);
        let end = own.map_or(self.order.len() as u8, |&write| self.position[usize::from(write)]);
        let first = if event.atomic { seen.max(end - 1) } else { seen };
        for place in first..end {
            self.sources.push((access, self.order[usize::from(place)]));
            self.read(next + 1, goes_on(place), search)?;
            self.sources.pop();
        }
        Ok(())
    }
}
