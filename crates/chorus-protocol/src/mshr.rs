//! Miss-status holding registers: the lines with requests outstanding, and who waits for them.

use std::hash::{Hash, Hasher};

use crate::address::LineAddr;

const NONE: u32 = u32::MAX;

#[derive(Clone, Debug)]
struct Entry<P> {
    line: LineAddr,
    payload: P,
    first: u32,
    last: u32,
}

#[derive(Clone, Debug)]
struct Waiter<T> {
    target: T,
    next: u32,
}

/// A finite set of registers with a payload `P` each, and a list of merged targets `T`.
///
/// Waiters live in one pool, so merging allocates nothing once the pool has grown to the most that ever waited. Comparison and
/// hashing look at contents in the order of lines, never at where they happen to be stored.
#[derive(Clone, Debug)]
pub struct Mshrs<P, T> {
    capacity: u32,
    entries: Vec<Entry<P>>,
    /// Open-addressing index of `entries` by line.
    index: Vec<u32>,
    waiters: Vec<Waiter<T>>,
    free_waiter: u32,
}

impl<P, T: Copy> Mshrs<P, T> {
    /// `capacity` registers, none in use.
    pub fn new(capacity: u32) -> Self {
        Mshrs {
            capacity,
            entries: Vec::with_capacity(capacity as usize),
            index: vec![NONE; (capacity as usize * 4).next_power_of_two()],
            waiters: Vec::new(),
            free_waiter: NONE,
        }
    }

    /// Whether every register is in use.
    pub fn is_full(&self) -> bool {
        self.entries.len() as u32 == self.capacity
    }

    /// Whether no register is in use.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The payload of a line's register.
    #[inline]
    pub fn get(&self, line: LineAddr) -> Option<&P> {
        self.position(line).map(|position| &self.entries[self.index[position] as usize].payload)
    }

    /// The payload of a line's register, to change.
    pub fn get_mut(&mut self, line: LineAddr) -> Option<&mut P> {
        let position = self.position(line)?;
        Some(&mut self.entries[self.index[position] as usize].payload)
    }

    /// Takes a register for a line that has none.
    pub fn insert(&mut self, line: LineAddr, payload: P) {
        debug_assert!(!self.is_full() && self.get(line).is_none());
        let mut position = self.ideal(line);
        while self.index[position] != NONE {
            position = self.after(position);
        }
        self.index[position] = self.entries.len() as u32;
        self.entries.push(Entry { line, payload, first: NONE, last: NONE });
    }

    /// Frees a line's register; its targets must have been taken.
    pub fn remove(&mut self, line: LineAddr) -> Option<P> {
        let position = self.position(line)?;
        let entry = self.index[position] as usize;
        self.unindex(position);
        let removed = self.entries.swap_remove(entry);
        debug_assert!(removed.first == NONE, "targets are still waiting");
        if let Some(moved) = self.entries.get(entry) {
            let old = self.entries.len() as u32;
            let mut position = self.ideal(moved.line);
            while self.index[position] != old {
                position = self.after(position);
            }
            self.index[position] = entry as u32;
        }
        Some(removed.payload)
    }

    /// Merges another target into a line's register.
    pub fn push_target(&mut self, line: LineAddr, target: T) {
        let Some(position) = self.position(line) else { return };
        let waiter = self.new_waiter(target);
        let entry = &mut self.entries[self.index[position] as usize];
        if entry.first == NONE {
            entry.first = waiter;
        } else {
            self.waiters[entry.last as usize].next = waiter;
        }
        entry.last = waiter;
    }

    /// Takes the target that has waited longest for a line.
    pub fn pop_target(&mut self, line: LineAddr) -> Option<T> {
        let position = self.position(line)?;
        let entry = &mut self.entries[self.index[position] as usize];
        let first = entry.first;
        let waiter = self.waiters.get_mut(first as usize)?;
        entry.first = waiter.next;
        waiter.next = self.free_waiter;
        self.free_waiter = first;
        Some(waiter.target)
    }

    /// Every register in use, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = (LineAddr, &P)> {
        self.entries.iter().map(|entry| (entry.line, &entry.payload))
    }

    fn new_waiter(&mut self, target: T) -> u32 {
        let waiter = self.free_waiter;
        if waiter == NONE {
            self.waiters.push(Waiter { target, next: NONE });
            return self.waiters.len() as u32 - 1;
        }
        self.free_waiter = self.waiters[waiter as usize].next;
        self.waiters[waiter as usize] = Waiter { target, next: NONE };
        waiter
    }

    fn ideal(&self, line: LineAddr) -> usize {
        (line.0.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize & (self.index.len() - 1)
    }

    fn after(&self, position: usize) -> usize {
        (position + 1) & (self.index.len() - 1)
    }

    /// Where in the index a line's register is named.
    #[inline]
    fn position(&self, line: LineAddr) -> Option<usize> {
        if self.entries.is_empty() {
            return None;
        }
        let mut position = self.ideal(line);
        while self.index[position] != NONE {
            if self.entries[self.index[position] as usize].line == line {
                return Some(position);
            }
            position = self.after(position);
        }
        None
    }

    /// Clears a position, moving later ones of its run up so that probing still finds them.
    fn unindex(&mut self, mut hole: usize) {
        let mut position = self.after(hole);
        while self.index[position] != NONE {
            let ideal = self.ideal(self.entries[self.index[position] as usize].line);
            let distance = |from: usize, to: usize| to.wrapping_sub(from) & (self.index.len() - 1);
            if distance(ideal, position) >= distance(hole, position) {
                self.index[hole] = self.index[position];
                hole = position;
            }
            position = self.after(position);
        }
        self.index[hole] = NONE;
    }

    fn targets(&self, entry: &Entry<P>) -> impl Iterator<Item = &T> {
        let mut next = entry.first;
        std::iter::from_fn(move || {
            let waiter = self.waiters.get(next as usize)?;
            next = waiter.next;
            Some(&waiter.target)
        })
    }

    fn sorted(&self) -> Vec<&Entry<P>> {
        let mut entries: Vec<_> = self.entries.iter().collect();
        entries.sort_by_key(|entry| entry.line);
        entries
    }
}

impl<P: Hash, T: Copy + Hash> Hash for Mshrs<P, T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_usize(self.entries.len());
        for entry in self.sorted() {
            entry.line.hash(state);
            entry.payload.hash(state);
            state.write_usize(self.targets(entry).count());
            self.targets(entry).for_each(|target| target.hash(state));
        }
    }
}

impl<P: PartialEq, T: Copy + PartialEq> PartialEq for Mshrs<P, T> {
    fn eq(&self, other: &Self) -> bool {
        let (ours, theirs) = (self.sorted(), other.sorted());
        self.capacity == other.capacity
            && ours.len() == theirs.len()
            && ours
                .iter()
                .zip(&theirs)
                .all(|(a, b)| a.line == b.line && a.payload == b.payload && self.targets(a).eq(other.targets(b)))
    }
}

impl<P: Eq, T: Copy + Eq> Eq for Mshrs<P, T> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_come_back_in_the_order_merged() {
        let mut mshrs: Mshrs<(), u8> = Mshrs::new(2);
        mshrs.insert(LineAddr(1), ());
        (0..3).for_each(|target| mshrs.push_target(LineAddr(1), target));
        let order: Vec<_> = std::iter::from_fn(|| mshrs.pop_target(LineAddr(1))).collect();
        assert_eq!(order, [0, 1, 2]);
        assert_eq!(mshrs.remove(LineAddr(1)), Some(()));
        assert!(mshrs.is_empty());
    }

    #[test]
    fn equality_ignores_where_registers_are_stored() {
        let build = |lines: [u64; 2]| {
            let mut mshrs: Mshrs<u64, u8> = Mshrs::new(4);
            mshrs.insert(LineAddr(9), 9);
            lines.iter().for_each(|&line| mshrs.insert(LineAddr(line), line));
            mshrs.remove(LineAddr(9));
            mshrs
        };
        assert_eq!(build([1, 2]), build([2, 1]));
        assert_ne!(build([1, 2]), build([1, 3]));
    }

    #[test]
    fn lookups_survive_any_order_of_removal() {
        let mut mshrs: Mshrs<u64, u8> = Mshrs::new(64);
        for round in 0..200u64 {
            let line = round * 37 % 101;
            if mshrs.get(LineAddr(line)).is_some() {
                assert_eq!(mshrs.remove(LineAddr(line)), Some(line));
            } else if !mshrs.is_full() {
                mshrs.insert(LineAddr(line), line);
            }
            for other in 0..101 {
                assert!(mshrs.get(LineAddr(other)).is_none_or(|&payload| payload == other));
            }
        }
    }
}
