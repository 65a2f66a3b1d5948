//! Miss-status holding registers: the lines with requests outstanding, and who waits for them.

use std::hash::{Hash, Hasher};

use crate::address::LineAddr;
use crate::cache::{CacheArray, Slot};
use crate::controller::Depth;
use crate::prefetch::prefetch;
use crate::save::{self, Restore, Save};

const NONE: u32 = u32::MAX;
/// The smallest length of the index, and its smallest length per register in use.
const INDEX_MIN: usize = 16;
const INDEX_PER_REGISTER: usize = 4;
/// Marks registers that are not in use.
const FREE: LineAddr = LineAddr(u64::MAX);

/// The name of a register in use. It stays the same until the register is released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Register(u32);

#[derive(Clone, Copy, Debug, Save)]
struct Entry<T> {
    line: LineAddr,
    /// The target that has waited longest. Mostly there is no other.
    head: Option<T>,
    /// The other targets, the first and the last of them.
    first: u32,
    last: u32,
}

/// A position of the index: a line, its register, and the slot that was reserved for the line. Positions that are not
/// in use have the line [`FREE`].
#[derive(Clone, Copy, Debug, Save)]
struct Name {
    line: LineAddr,
    register: u32,
    slot: Slot,
}

const NAMELESS: Name = Name { line: FREE, register: NONE, slot: Slot::NOWHERE };

#[derive(Clone, Debug, Save)]
struct Waiter<T> {
    target: T,
    next: u32,
}

/// A finite set of registers. Each has a payload `P` and a list of merged targets `T`.
///
/// All waiters of a register but the first live in one pool, so merging allocates nothing once the pool has grown to
/// the largest number that ever waited. Comparison and hashing look at contents in the order of lines, never at where
/// they happen to be stored.
#[derive(Clone, Debug, Restore)]
pub struct Mshrs<P, T> {
    #[save(built)]
    capacity: u32,
    used: u32,
    entries: Vec<Entry<T>>,
    /// The payload of each entry. Payloads lie apart from entries because they are large and lookups do not need them.
    payloads: Vec<P>,
    /// The first register that was in use before and is free now. Each free register names the next one in `first`.
    free_entry: u32,
    /// Open-addressing index of `entries` by line. Its length is a power of two. It grows with the largest number of
    /// registers that were ever in use, which may be far smaller than `capacity`.
    index: Vec<Name>,
    /// The distance by which a hash is shifted to be a position of the index.
    index_shift: u32,
    waiters: Vec<Waiter<T>>,
    free_waiter: u32,
}

impl<P, T: Copy> Mshrs<P, T> {
    /// `capacity` registers, none in use.
    pub fn new(capacity: u32) -> Self {
        Mshrs {
            capacity,
            used: 0,
            entries: Vec::with_capacity(capacity as usize),
            payloads: Vec::with_capacity(capacity as usize),
            free_entry: NONE,
            index: vec![NAMELESS; INDEX_MIN],
            index_shift: u64::BITS - INDEX_MIN.trailing_zeros(),
            waiters: Vec::new(),
            free_waiter: NONE,
        }
    }

    /// Whether every register is in use.
    pub fn is_full(&self) -> bool {
        self.used == self.capacity
    }

    /// Whether more than `left` registers are free. If there are not more than `left` registers in total, whether all
    /// of them are free.
    pub fn has_more_than(&self, left: u32) -> bool {
        self.capacity - self.used > left.min(self.capacity - 1)
    }

    /// Whether no register is in use.
    pub fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// The register of a line.
    #[inline]
    pub fn find(&self, line: LineAddr) -> Option<Register> {
        self.find_with_slot(line).map(|(register, _)| register)
    }

    /// The register of a line that is resident in an array, and the slot of the line there. The slot that was reserved
    /// for the line is looked at first.
    #[inline]
    pub fn find_resident<M: Copy + Default, const W: usize>(
        &self,
        lines: &CacheArray<M, W>,
        line: LineAddr,
    ) -> Option<(Register, Slot)> {
        let (register, likely) = self.find_with_slot(line)?;
        Some((register, lines.find_at(likely, line)?))
    }

    /// The register of a line, and the slot that was reserved for the line when the register was taken. Slots are no
    /// part of what is compared: the line may have left its slot, and the caller has to look.
    #[inline]
    pub fn find_with_slot(&self, line: LineAddr) -> Option<(Register, Slot)> {
        let mut position = self.ideal(line);
        loop {
            let name = self.index[position];
            if name.line == line {
                return Some((Register(name.register), name.slot));
            }
            if name.line == FREE {
                return None;
            }
            position = self.after(position);
        }
    }

    /// Asks the host for what a search for the register of a line looks at, and for the register and the line, which is
    /// about to come to `lines`, where they are known.
    pub fn read_ahead<M: Copy + Default, const W: usize>(
        &self,
        lines: &CacheArray<M, W>,
        line: LineAddr,
        depth: Depth,
    ) {
        match depth {
            Depth::Index => prefetch(&self.index[self.ideal(line)]),
            Depth::Line => {
                if let Some((register, slot)) = self.find_with_slot(line) {
                    prefetch(&self.entries[register.0 as usize]);
                    lines.read_place_ahead(slot.index());
                }
            }
        }
    }

    /// The payload of a line's register.
    pub fn get(&self, line: LineAddr) -> Option<&P> {
        self.find(line).map(|register| self.payload(register))
    }

    /// The payload of a register.
    #[inline]
    pub fn payload(&self, register: Register) -> &P {
        &self.payloads[register.0 as usize]
    }

    /// The payload of a register, to be changed.
    #[inline]
    pub fn payload_mut(&mut self, register: Register) -> &mut P {
        &mut self.payloads[register.0 as usize]
    }

    /// Takes a register for a line that has none.
    #[inline]
    pub fn insert(&mut self, line: LineAddr, payload: P) -> Register {
        self.insert_with(line, || payload)
    }

    /// Takes a register for a line that has none. The payload is made in its place, so an empty one costs next to
    /// nothing to write.
    #[inline]
    pub fn insert_with(&mut self, line: LineAddr, payload: impl FnOnce() -> P) -> Register {
        self.take_register(line, Slot::NOWHERE, None, payload)
    }

    /// Takes a register for a line that has none, as [`Mshrs::insert_with`] does, and merges a first target into it.
    /// The line will be put into `slot`.
    #[inline(always)]
    pub fn insert_for(&mut self, line: LineAddr, slot: Slot, target: T, payload: impl FnOnce() -> P) {
        self.take_register(line, slot, Some(target), payload);
    }

    #[inline(always)]
    fn take_register(&mut self, line: LineAddr, slot: Slot, head: Option<T>, payload: impl FnOnce() -> P) -> Register {
        debug_assert!(!self.is_full() && self.find(line).is_none());
        let fresh = Entry { line, head, first: NONE, last: NONE };
        let mut register = self.free_entry;
        if let Some(entry) = self.entries.get_mut(register as usize) {
            self.free_entry = entry.first;
            *entry = fresh;
            self.payloads[register as usize] = payload();
        } else {
            register = self.entries.len() as u32;
            self.entries.push(fresh);
            self.payloads.push(payload());
        }
        self.name(Name { line, register, slot });
        Register(register)
    }

    /// Frees a register. Its targets must have been taken before.
    #[inline]
    pub fn release(&mut self, register: Register) {
        debug_assert!(self.entries[register.0 as usize].head.is_none(), "targets are still waiting");
        self.release_serving(register, |_| {});
    }

    /// Frees a register, and hands its targets to `serve`, the one that has waited longest first.
    #[inline(always)]
    pub fn release_serving(&mut self, register: Register, mut serve: impl FnMut(T)) {
        let entry = &mut self.entries[register.0 as usize];
        let line = std::mem::replace(&mut entry.line, FREE);
        let mut waiting = std::mem::replace(&mut entry.first, self.free_entry);
        let head = entry.head.take();
        self.free_entry = register.0;
        self.used -= 1;
        self.forget_name(line);
        head.into_iter().for_each(&mut serve);
        while let Some(waiter) = self.waiters.get_mut(waiting as usize) {
            serve(waiter.target);
            let next = std::mem::replace(&mut waiter.next, self.free_waiter);
            self.free_waiter = std::mem::replace(&mut waiting, next);
        }
    }

    /// Takes a line out of the index.
    #[inline]
    fn forget_name(&mut self, line: LineAddr) {
        let mut position = self.ideal(line);
        while self.index[position].line != line {
            position = self.after(position);
        }
        self.index[position] = NAMELESS;
        let next = self.after(position);
        if self.index[next].line != FREE {
            close_gap(&mut self.index, self.index_shift, position);
        }
    }

    /// Merges another target into a register.
    #[inline]
    pub fn push_target(&mut self, register: Register, target: T) {
        let entry = &mut self.entries[register.0 as usize];
        if entry.head.is_none() {
            entry.head = Some(target);
        } else {
            self.push_waiter(register, target);
        }
    }

    /// Takes the target that has waited longest for a register.
    #[inline]
    pub fn pop_target(&mut self, register: Register) -> Option<T> {
        let entry = &mut self.entries[register.0 as usize];
        let target = entry.head.take()?;
        if entry.first != NONE {
            self.pop_waiter(register);
        }
        Some(target)
    }

    /// Lets a target wait behind others.
    fn push_waiter(&mut self, register: Register, target: T) {
        let waiter = self.new_waiter(target);
        let entry = &mut self.entries[register.0 as usize];
        if entry.first == NONE {
            entry.first = waiter;
        } else {
            self.waiters[entry.last as usize].next = waiter;
        }
        entry.last = waiter;
    }

    /// Makes the first waiter behind the head the head.
    fn pop_waiter(&mut self, register: Register) {
        let entry = &mut self.entries[register.0 as usize];
        let first = entry.first;
        let waiter = &mut self.waiters[first as usize];
        entry.head = Some(waiter.target);
        entry.first = waiter.next;
        waiter.next = self.free_waiter;
        self.free_waiter = first;
    }

    /// Every register in use, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = (LineAddr, &P)> {
        let used = self.entries.iter().zip(&self.payloads).filter(|(entry, _)| entry.line != FREE);
        used.map(|(entry, payload)| (entry.line, payload))
    }

    /// Changes the payload of every register in use.
    pub fn change_payloads(&mut self, mut change: impl FnMut(&mut P)) {
        let used = self.entries.iter().zip(&mut self.payloads).filter(|(entry, _)| entry.line != FREE);
        used.for_each(|(_, payload)| change(payload));
    }

    /// Changes every target of every register in use.
    pub fn change_targets(&mut self, mut change: impl FnMut(&mut T)) {
        for entry in self.entries.iter_mut().filter(|entry| entry.line != FREE) {
            entry.head.iter_mut().for_each(&mut change);
            let mut next = entry.first;
            while let Some(waiter) = self.waiters.get_mut(next as usize) {
                change(&mut waiter.target);
                next = waiter.next;
            }
        }
    }

    /// Frees every register whose payload `matches`. None of them may have targets.
    pub fn release_where(&mut self, matches: impl Fn(&P) -> bool) {
        for register in 0..self.entries.len() {
            if self.entries[register].line != FREE && matches(&self.payloads[register]) {
                self.release(Register(register as u32));
            }
        }
    }

    /// The target that has waited longest for a register.
    pub fn first_target(&self, register: Register) -> Option<&T> {
        self.entries[register.0 as usize].head.as_ref()
    }

    /// Changes the target that has waited longest for a register.
    pub fn change_first_target(&mut self, register: Register, change: impl FnOnce(&mut T)) {
        if let Some(target) = &mut self.entries[register.0 as usize].head {
            change(target);
        }
    }

    /// Enters a register into the index.
    #[inline]
    fn name(&mut self, name: Name) {
        self.used += 1;
        if self.used as usize * INDEX_PER_REGISTER > self.index.len() {
            self.grow_index();
        }
        self.enter(name);
    }

    #[inline(always)]
    fn enter(&mut self, name: Name) {
        let mut position = self.ideal(name.line);
        while self.index[position].line != FREE {
            position = self.after(position);
        }
        self.index[position] = name;
    }

    /// Makes the index twice as long.
    #[cold]
    fn grow_index(&mut self) {
        let longer = vec![NAMELESS; self.index.len() * 2];
        self.index_shift -= 1;
        for name in std::mem::replace(&mut self.index, longer) {
            if name.line != FREE {
                self.enter(name);
            }
        }
    }

    #[inline]
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

    #[inline]
    fn ideal(&self, line: LineAddr) -> usize {
        ideal_position(line, self.index_shift)
    }

    #[inline]
    fn after(&self, position: usize) -> usize {
        (position + 1) & (self.index.len() - 1)
    }

    fn targets<'a>(&'a self, entry: &'a Entry<T>) -> impl Iterator<Item = &'a T> {
        let mut next = entry.first;
        let others = std::iter::from_fn(move || {
            let waiter = self.waiters.get(next as usize)?;
            next = waiter.next;
            Some(&waiter.target)
        });
        entry.head.iter().chain(others)
    }

    fn sorted(&self) -> Vec<(&Entry<T>, &P)> {
        let used = self.entries.iter().zip(&self.payloads).filter(|(entry, _)| entry.line != FREE);
        let mut entries: Vec<_> = used.collect();
        entries.sort_by_key(|(entry, _)| entry.line);
        entries
    }
}

/// The position of the index at which a line is looked for first.
#[inline]
fn ideal_position(line: LineAddr, index_shift: u32) -> usize {
    (line.0.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> index_shift) as usize
}

/// Moves names up into a gap of the index, so that probing still finds them.
#[inline(never)]
fn close_gap(index: &mut [Name], index_shift: u32, mut gap: usize) {
    let mask = index.len() - 1;
    let mut position = (gap + 1) & mask;
    while index[position].line != FREE {
        let ideal = ideal_position(index[position].line, index_shift);
        if position.wrapping_sub(ideal) & mask >= position.wrapping_sub(gap) & mask {
            index.swap(gap, position);
            gap = position;
        }
        position = (position + 1) & mask;
    }
}

impl<P: Hash, T: Copy + Hash> Hash for Mshrs<P, T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_usize(self.used as usize);
        for (entry, payload) in self.sorted() {
            entry.line.hash(state);
            payload.hash(state);
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
            && ours.iter().zip(&theirs).all(|((a, ours), (b, theirs))| {
                a.line == b.line && ours == theirs && self.targets(a).eq(other.targets(b))
            })
    }
}

impl<P: Eq, T: Copy + Eq> Eq for Mshrs<P, T> {}

#[cfg(test)]
mod tests {
    use super::*;

    fn release(mshrs: &mut Mshrs<u64, u8>, line: u64) {
        let register = mshrs.find(LineAddr(line)).unwrap();
        mshrs.release(register);
    }

    #[test]
    fn targets_come_back_in_the_order_merged() {
        let mut mshrs: Mshrs<u64, u8> = Mshrs::new(2);
        let register = mshrs.insert(LineAddr(1), 0);
        (0..3).for_each(|target| mshrs.push_target(register, target));
        let order: Vec<_> = std::iter::from_fn(|| mshrs.pop_target(register)).collect();
        assert_eq!(order, [0, 1, 2]);
        release(&mut mshrs, 1);
        assert!(mshrs.is_empty());
    }

    #[test]
    fn a_register_that_is_released_serves_its_targets_in_the_order_merged() {
        let mut mshrs: Mshrs<u64, u8> = Mshrs::new(2);
        for round in 0..3 {
            mshrs.insert_for(LineAddr(1), Slot::NOWHERE, 0, || 0);
            let register = mshrs.find(LineAddr(1)).unwrap();
            (1..=round).for_each(|target| mshrs.push_target(register, target));
            let mut order = Vec::new();
            mshrs.release_serving(register, |target| order.push(target));
            assert_eq!(order, (0..=round).collect::<Vec<_>>());
            assert!(mshrs.is_empty());
        }
        assert_eq!(mshrs.waiters.len(), 2);
    }

    #[test]
    fn equality_ignores_where_registers_are_stored() {
        let build = |lines: [u64; 2]| {
            let mut mshrs: Mshrs<u64, u8> = Mshrs::new(4);
            mshrs.insert(LineAddr(9), 9);
            for line in lines {
                mshrs.insert(LineAddr(line), line);
            }
            release(&mut mshrs, 9);
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
                release(&mut mshrs, line);
                assert!(mshrs.get(LineAddr(line)).is_none());
            } else if !mshrs.is_full() {
                mshrs.insert(LineAddr(line), line);
            }
            for other in 0..101 {
                assert!(mshrs.get(LineAddr(other)).is_none_or(|&payload| payload == other));
            }
        }
    }
}
