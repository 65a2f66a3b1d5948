//! Set-associative arrays of lines with their data, for any number of sets and ways.

use std::hash::{Hash, Hasher};

use crate::address::{Divisor, LineAddr};
use crate::host_line::{HostLine, HostRow};
use crate::line::LineData;
use crate::recency::Recency;

/// The rule that picks the line of a full set to replace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Replacement {
    /// The line used longest ago.
    Lru,
    /// The line inserted longest ago.
    Fifo,
}

/// The sets and ways of a bank, and the lines that come to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Geometry {
    /// Number of sets of the bank.
    pub sets: u32,
    /// Number of lines of a set.
    pub ways: u32,
    /// The number of banks between which blocks of lines are interleaved: one of every `interleave` blocks comes to
    /// this bank.
    pub interleave: u32,
    /// Lines of a block, a power of two.
    pub block: u32,
    /// The replacement policy of all sets.
    pub replacement: Replacement,
}

/// How the set of a line is found: blocks of lines are numbered among those of the bank, and lines within blocks.
#[derive(Clone, Copy, Debug)]
struct SetIndex {
    block_shift: u32,
    interleave: Divisor,
    sets: Divisor,
}

impl SetIndex {
    fn new(geometry: &Geometry) -> SetIndex {
        let &Geometry { sets, interleave, block, .. } = geometry;
        let block_shift = if interleave > 1 { block.trailing_zeros() } else { 0 };
        SetIndex { block_shift, interleave: Divisor::new(interleave), sets: Divisor::new(sets) }
    }

    #[inline]
    fn of(self, line: LineAddr) -> usize {
        let block = self.interleave.quotient(line.0 >> self.block_shift);
        let within = line.0 & ((1 << self.block_shift) - 1);
        self.sets.remainder(block << self.block_shift | within) as usize
    }
}

/// The place of a line in an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Slot(u32);

impl Slot {
    /// Its number among the places of the array, as an index into tables that lie beside the array.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The answer to the question where a line could be placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// The line can be placed in this slot.
    Free(Slot),
    /// The line can be placed in this slot once the line that is there is gone.
    Occupied(Slot),
    /// The line cannot be placed now, since no line of its set can be replaced.
    Busy,
}

const EMPTY: LineAddr = LineAddr(u64::MAX);
/// The ways whose marks are compared at once.
const WAYS_PER_MARKS: usize = 16;
/// The lowest bit of the mark of every way.
const MARKS: u128 = 0x0101_0101_0101_0101_0101_0101_0101_0101;

/// Lines with a protocol's own metadata `M` and their data.
///
/// Comparison and hashing look at the lines of each set in the order of recency, never at the ways that they occupy. So
/// arrays that behave alike are equal.
#[derive(Clone, Debug)]
pub struct CacheArray<M, const W: usize> {
    geometry: Geometry,
    set_index: SetIndex,
    tags: HostRow<LineAddr>,
    /// A byte of every tag, those of 16 ways together, so that one comparison tells which ways may hold a line. Bytes
    /// of ways without a line are of no account.
    marks: Vec<u128>,
    /// The ways of each set in the order of recency. Ways without a line are last.
    recency: Recency,
    meta: Vec<M>,
    /// Marks lines to which nothing has been written. Such a line is zero, whatever its place in `data` still holds of
    /// an earlier line. So a line that is only on its way does not touch its data.
    blank: Vec<bool>,
    data: Vec<HostLine<LineData<W>>>,
}

impl<M: Copy + Default, const W: usize> CacheArray<M, W> {
    const ZERO: LineData<W> = LineData([0; W]);

    /// An empty array of this geometry.
    pub fn new(geometry: Geometry) -> Self {
        let (sets, ways) = (geometry.sets as usize, geometry.ways as usize);
        let lines = sets * ways;
        CacheArray {
            geometry,
            set_index: SetIndex::new(&geometry),
            tags: HostRow::new(EMPTY, lines),
            marks: vec![0; sets * mark_words(&geometry)],
            recency: Recency::new(sets, ways),
            meta: vec![M::default(); lines],
            blank: vec![true; lines],
            data: vec![HostLine::default(); lines],
        }
    }

    /// The slot of a resident line.
    #[inline]
    pub fn find(&self, line: LineAddr) -> Option<Slot> {
        let (set, ways) = (self.set_index.of(line), self.geometry.ways as usize);
        if ways <= WAYS_PER_MARKS {
            return self.find_from(set * ways, self.marks[set], line);
        }
        self.find_among_many(set, line)
    }

    /// The slot of a line in a set of more ways than are compared at once.
    #[cold]
    #[inline(never)]
    fn find_among_many(&self, set: usize, line: LineAddr) -> Option<Slot> {
        let (ways, words) = (self.geometry.ways as usize, mark_words(&self.geometry));
        let marks = self.marks[set * words..][..words].iter().enumerate();
        let mut parts = marks.map(|(index, &marks)| (set * ways + index * WAYS_PER_MARKS, marks));
        parts.find_map(|(first, marks)| self.find_from(first, marks, line))
    }

    /// The slot of a line among those from `first` on that have these marks.
    #[inline]
    fn find_from(&self, first: usize, marks: u128, line: LineAddr) -> Option<Slot> {
        let mark = u64::from(mark_of(line)).wrapping_mul(MARKS as u64);
        let different = marks ^ (u128::from(mark) << 64 | u128::from(mark));
        // The highest bit of every byte that is zero, and of some bytes above such a byte, because of the borrow.
        let equal = different.wrapping_sub(MARKS) & !different & MARKS << 7;
        // Both halves in one word: in each byte, bit 0 is a way of the lower half, and bit 1 is one of the upper half.
        let mut candidates = (equal as u64) >> 7 | ((equal >> 64) as u64) >> 6;
        while candidates != 0 {
            let bit = candidates.trailing_zeros() as usize;
            let slot = first + bit / 8 + 8 * (bit % 2);
            if self.tags.get(slot) == Some(&line) {
                return Some(Slot(slot as u32));
            }
            candidates &= candidates - 1;
        }
        None
    }

    /// Notes that a line was used, for LRU.
    #[inline]
    pub fn touch(&mut self, slot: Slot) {
        match self.geometry.replacement {
            Replacement::Lru => {
                let (set, way) = self.set_and_way(slot);
                self.recency.move_first(set, way);
            }
            Replacement::Fifo => {}
        }
    }

    /// The place for `line`, if there is one. `replaceable` says which resident lines may be evicted for it.
    #[inline]
    pub fn room_for(&self, line: LineAddr, replaceable: impl Fn(&M) -> bool) -> Room {
        let set = self.set_index.of(line);
        let base = set * self.geometry.ways as usize;
        let place = self.recency.find_oldest(set, |way| {
            let slot = base + way;
            if self.tags[slot] == EMPTY {
                Some(Room::Free(Slot(slot as u32)))
            } else {
                replaceable(&self.meta[slot]).then_some(Room::Occupied(Slot(slot as u32)))
            }
        });
        place.unwrap_or(Room::Busy)
    }

    /// The slot of a line in the set of `line` that `matches`. If several do, it is the one used longest ago.
    pub fn find_in_set(&self, line: LineAddr, matches: impl Fn(&M) -> bool) -> Option<Slot> {
        let set = self.set_index.of(line);
        let base = set * self.geometry.ways as usize;
        self.recency.find_oldest(set, |way| {
            let slot = base + way;
            (self.tags[slot] != EMPTY && matches(&self.meta[slot])).then_some(Slot(slot as u32))
        })
    }

    /// Puts a line into a free slot, as the most recent of its set. The data of the slot's earlier line is hidden:
    /// comparison does not look at free slots, so nothing that they hold may ever show.
    #[inline]
    pub fn insert(&mut self, slot: Slot, line: LineAddr, meta: M) {
        debug_assert!(self.tags[slot.index()] == EMPTY);
        self.replace(slot, line, meta);
    }

    /// Puts a line into a slot, as [`CacheArray::insert`] does. If another line is there, it is gone afterwards.
    #[inline]
    pub fn replace(&mut self, slot: Slot, line: LineAddr, meta: M) {
        let index = slot.0 as usize;
        self.tags[index] = line;
        self.meta[index] = meta;
        self.blank[index] = true;
        let (set, way) = self.set_and_way(slot);
        let (word, shift) = (set * mark_words(&self.geometry) + way / WAYS_PER_MARKS, 8 * (way % WAYS_PER_MARKS));
        self.marks[word] = self.marks[word] & !(0xFF << shift) | u128::from(mark_of(line)) << shift;
        self.recency.move_first(set, way);
    }

    /// Takes a line out of the array.
    #[inline]
    pub fn remove(&mut self, slot: Slot) {
        self.tags[slot.0 as usize] = EMPTY;
        let (set, way) = self.set_and_way(slot);
        self.recency.move_last(set, way);
    }

    /// Takes out every line that `matches`.
    pub fn remove_where(&mut self, matches: impl Fn(&M) -> bool) {
        for index in 0..self.tags.len() {
            if self.tags[index] != EMPTY && matches(&self.meta[index]) {
                self.remove(Slot(index as u32));
            }
        }
    }

    /// Applies `change` to the metadata of every resident line.
    pub fn change_all(&mut self, mut change: impl FnMut(&mut M)) {
        let resident = self.tags.iter().zip(&mut self.meta).filter(|(tag, _)| **tag != EMPTY);
        resident.for_each(|(_, meta)| change(meta));
    }

    /// The line in a slot that is not free.
    #[inline]
    pub fn line(&self, slot: Slot) -> LineAddr {
        self.tags[slot.0 as usize]
    }

    /// The metadata of a resident line.
    #[inline]
    pub fn meta(&self, slot: Slot) -> &M {
        &self.meta[slot.0 as usize]
    }

    /// The metadata of a resident line, to be changed.
    #[inline]
    pub fn meta_mut(&mut self, slot: Slot) -> &mut M {
        &mut self.meta[slot.0 as usize]
    }

    /// The data of a resident line.
    #[inline]
    pub fn data(&self, slot: Slot) -> &LineData<W> {
        let index = slot.0 as usize;
        if self.blank[index] { &Self::ZERO } else { &self.data[index].0 }
    }

    /// The data of a resident line, to be changed.
    #[inline]
    pub fn data_mut(&mut self, slot: Slot) -> &mut LineData<W> {
        let index = slot.0 as usize;
        if std::mem::take(&mut self.blank[index]) {
            self.data[index].0 = Self::ZERO;
        }
        &mut self.data[index].0
    }

    /// Replaces all of a line's data.
    #[inline]
    pub fn fill(&mut self, slot: Slot, data: &LineData<W>) {
        let index = slot.0 as usize;
        self.blank[index] = false;
        self.data[index].0 = *data;
    }

    /// Every resident line, with its metadata and data.
    pub fn iter(&self) -> impl Iterator<Item = (LineAddr, &M, &LineData<W>)> {
        self.tags
            .iter()
            .enumerate()
            .filter(|(_, tag)| **tag != EMPTY)
            .map(|(index, &tag)| (tag, &self.meta[index], self.data(Slot(index as u32))))
    }

    /// The slots of the resident lines, set by set, the most recent line first.
    pub fn slots(&self) -> impl Iterator<Item = Slot> {
        let ways = self.geometry.ways as usize;
        (0..self.tags.len()).filter_map(move |index| {
            let (set, place) = (index / ways, index % ways);
            let slot = set * ways + self.recency.way(set, place);
            (self.tags[slot] != EMPTY).then_some(Slot(slot as u32))
        })
    }

    /// The resident lines in the order of [`CacheArray::slots`].
    fn by_recency(&self) -> impl Iterator<Item = (LineAddr, &M, &LineData<W>)> {
        self.slots().map(|slot| (self.tags[slot.index()], self.meta(slot), self.data(slot)))
    }

    /// The set of a slot, and its way there.
    #[inline]
    fn set_and_way(&self, slot: Slot) -> (usize, usize) {
        let (index, ways) = (slot.0, self.geometry.ways);
        let (set, way) = if ways.is_power_of_two() {
            (index >> ways.trailing_zeros(), index & (ways - 1))
        } else {
            (index / ways, index % ways)
        };
        (set as usize, way as usize)
    }
}

/// The words of marks that a set has.
#[inline]
fn mark_words(geometry: &Geometry) -> usize {
    (geometry.ways as usize).div_ceil(WAYS_PER_MARKS)
}

/// The byte by which the ways of a set are compared before their tags are.
#[inline]
fn mark_of(line: LineAddr) -> u8 {
    (line.0.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8
}

impl<M: Copy + Default + Hash, const W: usize> Hash for CacheArray<M, W> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_usize(self.by_recency().count());
        self.by_recency().for_each(|line| line.hash(state));
    }
}

impl<M: Copy + Default + PartialEq, const W: usize> PartialEq for CacheArray<M, W> {
    fn eq(&self, other: &Self) -> bool {
        self.geometry == other.geometry && self.by_recency().eq(other.by_recency())
    }
}

impl<M: Copy + Default + Eq, const W: usize> Eq for CacheArray<M, W> {}

#[cfg(test)]
mod tests {
    use super::*;

    fn array(sets: u32, ways: u32, replacement: Replacement) -> CacheArray<u8, 2> {
        CacheArray::new(Geometry { sets, ways, interleave: 1, block: 1, replacement })
    }

    fn fill(array: &mut CacheArray<u8, 2>, line: u64) {
        match array.room_for(LineAddr(line), |_| true) {
            Room::Free(slot) => array.insert(slot, LineAddr(line), 0),
            room => panic!("no room for {line}: {room:?}"),
        }
    }

    fn victim(array: &CacheArray<u8, 2>, line: u64) -> LineAddr {
        match array.room_for(LineAddr(line), |_| true) {
            Room::Occupied(slot) => array.line(slot),
            room => panic!("no line has to leave for {line}: {room:?}"),
        }
    }

    #[test]
    fn lru_replaces_the_line_used_longest_ago() {
        let mut array = array(1, 3, Replacement::Lru);
        (0..3).for_each(|line| fill(&mut array, line));
        array.touch(array.find(LineAddr(0)).unwrap());
        assert_eq!(victim(&array, 9), LineAddr(1));
    }

    #[test]
    fn fifo_replaces_the_line_inserted_first_whatever_was_used() {
        let mut array = array(1, 3, Replacement::Fifo);
        (0..3).for_each(|line| fill(&mut array, line));
        array.touch(array.find(LineAddr(0)).unwrap());
        assert_eq!(victim(&array, 9), LineAddr(0));
    }

    #[test]
    fn a_set_without_a_replaceable_line_is_busy() {
        let mut array = array(1, 2, Replacement::Lru);
        (0..2).for_each(|line| fill(&mut array, line));
        assert_eq!(array.room_for(LineAddr(9), |_| false), Room::Busy);
    }

    #[test]
    fn sets_need_not_be_a_power_of_two() {
        let mut array = array(3, 1, Replacement::Lru);
        (0..3).for_each(|line| fill(&mut array, line));
        assert_eq!(victim(&array, 4), LineAddr(1));
    }

    #[test]
    fn the_blocks_of_a_bank_fill_all_its_sets() {
        let geometry = Geometry { sets: 8, ways: 1, interleave: 4, block: 4, replacement: Replacement::Lru };
        let mut array: CacheArray<u8, 2> = CacheArray::new(geometry);
        [0, 1, 2, 3, 16, 17, 18, 19].into_iter().for_each(|line| fill(&mut array, line));
        assert_eq!(victim(&array, 32), LineAddr(0));
    }

    #[test]
    fn a_line_is_zero_until_it_is_written() {
        let mut array = array(1, 1, Replacement::Lru);
        fill(&mut array, 5);
        let slot = array.find(LineAddr(5)).unwrap();
        array.fill(slot, &LineData([7, 8]));
        array.remove(slot);
        fill(&mut array, 6);
        assert_eq!(*array.data(slot), LineData([0, 0]));
        array.data_mut(slot).0[1] = 9;
        assert_eq!(*array.data(slot), LineData([0, 9]));
    }

    #[test]
    fn removal_restores_the_empty_state() {
        let mut array = array(1, 2, Replacement::Lru);
        let empty = array.clone();
        fill(&mut array, 5);
        array.remove(array.find(LineAddr(5)).unwrap());
        assert_eq!(array, empty);
    }
}
