//! A queue in the order of time whose entries come almost in this order.

use chorus_protocol::save::{self, Save};

use super::plan::NEVER;
use crate::clock::Ticks;

/// An entry of a queue in the order of time.
pub(super) trait Timed: Copy {
    /// The time of the entry.
    fn time(&self) -> Ticks;

    /// Whether the entry comes before another one that is in the queue already.
    fn is_before(&self, other: &Self) -> bool;
}

/// A time and something that happens then. What is put in first happens first, among those of one time.
impl<T: Copy> Timed for (Ticks, T) {
    #[inline]
    fn time(&self) -> Ticks {
        self.0
    }

    #[inline]
    fn is_before(&self, other: &(Ticks, T)) -> bool {
        self.0 < other.0
    }
}

/// Entries in the order of time. Those that are taken leave a gap at the front, which is closed now and then.
#[derive(Clone, Debug, Save)]
pub(super) struct ByTime<T> {
    entries: Vec<T>,
    head: usize,
}

/// Taken entries that a queue keeps before it closes the gap.
const GAP_MAX: usize = 256;

impl<T> Default for ByTime<T> {
    fn default() -> Self {
        ByTime { entries: Vec::new(), head: 0 }
    }
}

impl<T: Timed> ByTime<T> {
    /// The entry that comes first.
    #[inline]
    pub(super) fn front(&self) -> Option<&T> {
        self.entries.get(self.head)
    }

    /// The time of the first entry.
    #[inline]
    pub(super) fn front_time(&self) -> Ticks {
        self.front().map_or(NEVER, Timed::time)
    }

    /// The entry that comes last, after all others that are there now.
    pub(super) fn back(&self) -> Option<&T> {
        self.iter().next_back()
    }

    /// The entry at a place, counted from the first one.
    #[inline]
    pub(super) fn get(&self, place: usize) -> Option<&T> {
        self.entries.get(self.head + place)
    }

    /// All entries in order.
    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.entries[self.head..].iter()
    }

    /// Whether there is no entry.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.head == self.entries.len()
    }

    /// Adds an entry at its place.
    #[inline]
    pub(super) fn put(&mut self, entry: T) {
        if self.entries.last().is_none_or(|last| !entry.is_before(last)) && self.entries.len() < self.entries.capacity()
        {
            self.entries.push(entry);
        } else {
            self.insert(entry);
        }
    }

    /// Adds an entry that comes before some that are there already, or for which there is no room at the end.
    #[inline(never)]
    fn insert(&mut self, entry: T) {
        if self.head > 0 && self.entries.len() == self.entries.capacity() {
            self.close_gap();
        }
        let behind = self.iter().rev().take_while(|other| entry.is_before(other)).count();
        self.entries.insert(self.entries.len() - behind, entry);
    }

    fn close_gap(&mut self) {
        self.entries.drain(..self.head);
        self.head = 0;
    }

    /// Removes the first entry.
    #[inline]
    pub(super) fn remove_front(&mut self) {
        self.head += 1;
        if self.head >= self.entries.len() {
            self.entries.clear();
            self.head = 0;
        } else if self.head >= GAP_MAX {
            self.close_gap();
        }
    }

    /// Removes the entry at a place, counted from the first one.
    pub(super) fn remove(&mut self, place: usize) {
        match place {
            0 => self.remove_front(),
            _ => drop(self.entries.remove(self.head + place)),
        }
    }

    /// Takes the first entry if it comes before `until`.
    #[inline]
    pub(super) fn take(&mut self, until: Ticks) -> Option<T> {
        let entry = *self.front()?;
        if entry.time() >= until {
            return None;
        }
        self.remove_front();
        Some(entry)
    }
}
