//! Set-associative arrays of lines with their data, for any number of sets and ways.

use std::hash::{Hash, Hasher};

use crate::address::LineAddr;
use crate::controller::Depth;
use crate::host_line::HostLine;
use crate::line::LineData;
use crate::prefetch::prefetch;
use crate::save::{self, Restore, Save};
use crate::sets::{BLOCK_WAYS_MAX, Sets};
use crate::slot_set::SlotSet;

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
///
/// Where the interleaving is a power of two, the number of a line takes a shift and two masks. Where the number of sets
/// is one too, the masks leave just the set.
#[derive(Clone, Copy, Debug)]
struct SetIndex {
    shift: u32,
    high: u64,
    low: u64,
    sets: u64,
    /// The largest number below 2^64 divided by the number of sets. Its multiples tell quotients.
    reciprocal: u64,
    /// The interleaving and the shift of a block, where the interleaving is not a power of two.
    uneven: Option<(u64, u32)>,
}

impl SetIndex {
    fn new(geometry: &Geometry) -> SetIndex {
        let &Geometry { sets, interleave, block, .. } = geometry;
        let sets = u64::from(sets);
        let block_shift = if interleave > 1 { block.trailing_zeros() } else { 0 };
        let within = (1 << block_shift) - 1;
        let mask = if sets.is_power_of_two() { sets - 1 } else { u64::MAX };
        let reciprocal = u64::MAX / sets.max(1);
        if interleave.is_power_of_two() {
            SetIndex {
                shift: interleave.trailing_zeros(),
                high: mask & !within,
                low: mask & within,
                sets,
                reciprocal,
                uneven: None,
            }
        } else {
            let uneven = Some((u64::from(interleave), block_shift));
            SetIndex { shift: 0, high: u64::MAX, low: within, sets, reciprocal, uneven }
        }
    }

    #[inline(always)]
    fn of(&self, line: LineAddr) -> usize {
        match self.uneven {
            None => self.even(line),
            Some((interleave, block_shift)) => self.odd(line, interleave, block_shift),
        }
    }

    /// The set of a line, where the interleaving is not a power of two.
    #[cold]
    fn odd(&self, line: LineAddr, interleave: u64, block_shift: u32) -> usize {
        let block = line.0 / (interleave << block_shift);
        self.even(LineAddr(block << block_shift | line.0 & self.low))
    }

    /// The set of a line, where the interleaving is a power of two.
    #[inline]
    fn even(&self, line: LineAddr) -> usize {
        let number = (line.0 >> self.shift) & self.high | line.0 & self.low;
        (if number < self.sets { number } else { self.remainder(number) }) as usize
    }

    /// The remainder of a number for the number of sets. A division would take longer than the rest of a search.
    #[inline]
    fn remainder(&self, number: u64) -> u64 {
        // The quotient is this estimate, or one more.
        let estimate = ((u128::from(number) * u128::from(self.reciprocal)) >> 64) as u64;
        let rest = number - estimate * self.sets;
        if rest < self.sets { rest } else { rest - self.sets }
    }
}

/// The place of a line in an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Save)]
pub struct Slot(pub(crate) u32);

impl Slot {
    /// Stands for the absence of a slot. No array is large enough to have it.
    pub const NOWHERE: Slot = Slot(u32::MAX);

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

/// The record of a place for a line.
#[derive(Clone, Copy, Debug, Save)]
struct Place<M> {
    tag: LineAddr,
    meta: M,
    /// Marks lines to which nothing has been written. Such a line is zero, whatever its place in `data` still holds of
    /// an earlier line. So a line that is only on its way does not touch its data.
    blank: bool,
}

/// Lines with a protocol's own metadata `M` and their data.
///
/// Comparison and hashing look at the lines of each set in the order of recency, never at the ways that they occupy. So
/// arrays that behave alike are equal.
#[derive(Clone, Debug, Restore)]
pub struct CacheArray<M, const W: usize> {
    #[save(built)]
    geometry: Geometry,
    #[save(built)]
    set_index: SetIndex,
    /// The bits of a place's number that tell its way. The bits above them tell its set. Where the ways are not a power
    /// of two, the last numbers of each set are not used.
    #[save(built)]
    way_bits: u32,
    /// Whether the interleaving is a power of two, and the marks of a set are compared at once.
    #[save(built)]
    is_simple: bool,
    /// The marks of lines, and the ways of each set in the order of recency. Ways without a line are last.
    sets: Sets,
    places: Vec<Place<M>>,
    /// A line that a search has not found and that has not been put into the array since.
    absent: LineAddr,
    /// The slots of resident lines, so that walks through the array visit no others.
    resident: SlotSet,
    /// The slots of lines with a note.
    notes: SlotSet,
    data: Vec<HostLine<LineData<W>>>,
}

impl<M: Copy + Default, const W: usize> CacheArray<M, W> {
    const ZERO: LineData<W> = LineData([0; W]);

    /// An empty array of this geometry.
    pub fn new(geometry: Geometry) -> Self {
        let (sets, ways) = (geometry.sets as usize, geometry.ways as usize);
        let way_bits = ways.next_power_of_two().trailing_zeros();
        let places = sets << way_bits;
        let set_index = SetIndex::new(&geometry);
        CacheArray {
            geometry,
            set_index,
            way_bits,
            is_simple: set_index.uneven.is_none() && ways <= BLOCK_WAYS_MAX,
            sets: Sets::new(sets, ways, way_bits),
            places: vec![Place { tag: EMPTY, meta: M::default(), blank: true }; places],
            absent: EMPTY,
            resident: SlotSet::default(),
            notes: SlotSet::default(),
            data: vec![HostLine::default(); places],
        }
    }

    /// The number of places, which is larger than any [`Slot::index`].
    pub fn places(&self) -> usize {
        self.places.len()
    }

    /// The slot of a resident line.
    #[inline(never)]
    pub fn find(&self, line: LineAddr) -> Option<Slot> {
        self.find_inline(line)
    }

    /// The slot of a resident line, for the places from which almost all searches come.
    #[inline(always)]
    pub fn find_inline(&self, line: LineAddr) -> Option<Slot> {
        if !self.is_simple {
            return self.find_among_many(line);
        }
        self.find_in_block(self.set_index.even(line), line)
    }

    /// The slot of a resident line, where it is probably in the slot `likely`.
    #[inline]
    pub fn find_at(&self, likely: Slot, line: LineAddr) -> Option<Slot> {
        if self.is_at(line, likely.index()) { Some(likely) } else { self.find(line) }
    }

    /// The slot of a resident line. If there is none, [`CacheArray::find_again`] will know.
    #[inline(always)]
    pub fn find_first(&mut self, line: LineAddr) -> Option<Slot> {
        let found = self.find_inline(line);
        if found.is_none() {
            self.absent = line;
        }
        found
    }

    /// The slot of a resident line, where it was probably searched before.
    #[inline]
    pub fn find_again(&self, line: LineAddr) -> Option<Slot> {
        if line == self.absent { None } else { self.find(line) }
    }

    /// The slot of a line, for any interleaving and number of ways.
    #[cold]
    fn find_among_many(&self, line: LineAddr) -> Option<Slot> {
        let (set, bits) = (self.set_index.of(line), self.way_bits.saturating_sub(BLOCK_WAYS_MAX.trailing_zeros()));
        (set << bits..(set + 1) << bits).find_map(|block| self.find_in_block(block, line))
    }

    /// The slot of a line among the places of a block.
    #[inline]
    fn find_in_block(&self, block: usize, line: LineAddr) -> Option<Slot> {
        self.sets.find(block, line, |place| self.is_at(line, place)).map(|place| Slot(place as u32))
    }

    #[inline]
    fn is_at(&self, line: LineAddr, place: usize) -> bool {
        self.places.get(place).is_some_and(|place| place.tag == line)
    }

    /// Asks the host for what a search for a line looks at, and for the line where that is known.
    pub fn read_ahead(&self, line: LineAddr, depth: Depth) {
        if !self.is_simple {
            return;
        }
        let block = self.set_index.even(line);
        match depth {
            Depth::Index => self.sets.read_ahead(block),
            Depth::Line => self.sets.candidates(block, line).for_each(|place| self.read_place_ahead(place)),
        }
    }

    /// Asks the host for a place and its data.
    #[inline]
    pub(crate) fn read_place_ahead(&self, place: usize) {
        self.places.get(place).into_iter().for_each(prefetch);
        self.data.get(place).into_iter().for_each(prefetch);
    }

    /// Notes that a line was used, for LRU.
    #[inline]
    pub fn touch(&mut self, slot: Slot) {
        match self.geometry.replacement {
            Replacement::Lru => self.sets.move_first(slot.index()),
            Replacement::Fifo => {}
        }
    }

    /// The place for `line`, if there is one. `replaceable` says which resident lines may be evicted for it.
    #[inline(always)]
    pub fn room_for(&self, line: LineAddr, replaceable: impl Fn(&M) -> bool) -> Room {
        let set = self.set_index.of(line);
        // Mostly the oldest line may go.
        let oldest = self.room_at(set << self.way_bits | self.sets.oldest(set), &replaceable);
        oldest.unwrap_or_else(|| self.room_in(set, replaceable))
    }

    /// The place for a line in a set, as [`CacheArray::room_for`] finds it.
    #[inline(never)]
    fn room_in(&self, set: usize, replaceable: impl Fn(&M) -> bool) -> Room {
        let mut slots = self.sets.oldest_first(set).map(|way| set << self.way_bits | way);
        slots.find_map(|slot| self.room_at(slot, &replaceable)).unwrap_or(Room::Busy)
    }

    /// The place for a line at a slot, if that is free or its line may be evicted.
    #[inline(always)]
    fn room_at(&self, slot: usize, replaceable: impl Fn(&M) -> bool) -> Option<Room> {
        let (place, slot) = (&self.places[slot], Slot(slot as u32));
        if place.tag == EMPTY {
            Some(Room::Free(slot))
        } else {
            replaceable(&place.meta).then_some(Room::Occupied(slot))
        }
    }

    /// The slot of a line in the set of `line` that `matches`. If several do, it is the one used longest ago.
    pub fn find_in_set(&self, line: LineAddr, matches: impl Fn(&M) -> bool) -> Option<Slot> {
        let set = self.set_index.of(line);
        let mut slots = self.sets.oldest_first(set).map(|way| set << self.way_bits | way);
        let found = slots.find(|&slot| self.places[slot].tag != EMPTY && matches(&self.places[slot].meta));
        found.map(|slot| Slot(slot as u32))
    }

    /// Puts a line into a free slot, as the most recent of its set. The data of the slot's earlier line is hidden:
    /// comparison does not look at free slots, so nothing that they hold may ever show.
    #[inline]
    pub fn insert(&mut self, slot: Slot, line: LineAddr, meta: M) {
        debug_assert!(self.line(slot) == EMPTY);
        self.replace(slot, line, meta);
    }

    /// Puts a line into a slot, as [`CacheArray::insert`] does. If another line is there, it is gone afterwards.
    #[inline]
    pub fn replace(&mut self, slot: Slot, line: LineAddr, meta: M) {
        self.absent = EMPTY;
        let places = self.places.len();
        let place = &mut self.places[slot.index()];
        if place.tag == EMPTY {
            self.resident.add(slot, places);
        }
        *place = Place { tag: line, meta, blank: true };
        self.notes.remove(slot);
        self.sets.enter(slot.index(), line);
    }

    /// Takes a line out of the array.
    #[inline]
    pub fn remove(&mut self, slot: Slot) {
        let tag = std::mem::replace(&mut self.places[slot.index()].tag, EMPTY);
        if tag != EMPTY {
            self.resident.remove(slot);
        }
        self.notes.remove(slot);
        self.sets.move_last(slot.index());
    }

    /// Takes out every line that `matches`.
    pub fn remove_where(&mut self, matches: impl Fn(&M) -> bool) {
        for word in 0..self.resident.words() {
            for slot in self.resident.slots_of_word(word) {
                if matches(self.meta(slot)) {
                    self.remove(slot);
                }
            }
        }
    }

    /// Applies `change` to the metadata of every resident line.
    pub fn change_all(&mut self, mut change: impl FnMut(&mut M)) {
        self.resident.iter().for_each(|slot| change(&mut self.places[slot.index()].meta));
    }

    /// The line in a slot that is not free.
    #[inline]
    pub fn line(&self, slot: Slot) -> LineAddr {
        self.places[slot.index()].tag
    }

    /// The metadata of a resident line.
    #[inline]
    pub fn meta(&self, slot: Slot) -> &M {
        &self.places[slot.index()].meta
    }

    /// The metadata of a resident line, to be changed.
    #[inline]
    pub fn meta_mut(&mut self, slot: Slot) -> &mut M {
        &mut self.places[slot.index()].meta
    }

    /// The data of a resident line.
    #[inline]
    pub fn data(&self, slot: Slot) -> &LineData<W> {
        let index = slot.index();
        if self.places[index].blank { &Self::ZERO } else { &self.data[index].0 }
    }

    /// The data of a resident line, to be changed.
    #[inline]
    pub fn data_mut(&mut self, slot: Slot) -> &mut LineData<W> {
        let index = slot.index();
        if std::mem::take(&mut self.places[index].blank) {
            self.data[index].0 = Self::ZERO;
        }
        &mut self.data[index].0
    }

    /// Replaces all of a line's data.
    #[inline]
    pub fn fill(&mut self, slot: Slot, data: &LineData<W>) {
        let index = slot.index();
        self.places[index].blank = false;
        self.data[index].0 = *data;
    }

    /// Every resident line, with its metadata and data.
    pub fn iter(&self) -> impl Iterator<Item = (LineAddr, &M, &LineData<W>)> {
        self.resident.iter().map(|slot| (self.line(slot), self.meta(slot), self.data(slot)))
    }

    /// The slots of the resident lines, set by set, the most recent line first.
    pub fn slots(&self) -> impl Iterator<Item = Slot> {
        (0..self.geometry.sets as usize).flat_map(|set| self.slots_of(set))
    }

    /// The slots of the resident lines of a set, the most recent line first.
    fn slots_of(&self, set: usize) -> impl Iterator<Item = Slot> {
        let slots = (0..self.geometry.ways as usize).map(move |place| set << self.way_bits | self.sets.way(set, place));
        slots.filter(|&slot| self.places[slot].tag != EMPTY).map(|slot| Slot(slot as u32))
    }

    /// Notes a resident line, so that it can be found again without a walk through the array. The note is gone when the
    /// line is.
    #[inline]
    pub fn note(&mut self, slot: Slot) {
        self.notes.add(slot, self.places.len());
    }

    /// Removes the note of a line, if there is one.
    #[inline]
    pub fn forget_note(&mut self, slot: Slot) {
        self.notes.remove(slot);
    }

    /// The slots of the lines with a note, in the order of [`CacheArray::slots`].
    pub fn noted(&self) -> impl Iterator<Item = Slot> {
        let sets = (0..self.geometry.sets as usize).take_while(|_| !self.notes.is_empty());
        let noted = sets.filter(|&set| self.notes.any(set << self.way_bits, 1 << self.way_bits));
        noted.flat_map(|set| self.slots_of(set)).filter(|&slot| self.notes.has(slot))
    }

    /// The resident lines in the order of [`CacheArray::slots`].
    fn by_recency(&self) -> impl Iterator<Item = (LineAddr, &M, &LineData<W>)> {
        self.slots().map(|slot| (self.line(slot), self.meta(slot), self.data(slot)))
    }
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
    fn notes_are_found_in_order_and_are_gone_with_their_line() {
        for ways in [1, 2, 3, 8, 64, 100] {
            let mut array = array(5, ways, Replacement::Lru);
            (0..u64::from(5 * ways)).for_each(|line| fill(&mut array, line));
            let expected = |array: &CacheArray<u8, 2>, noted: &dyn Fn(u64) -> bool| {
                array.slots().filter(|&slot| noted(array.line(slot).0)).collect::<Vec<_>>()
            };
            assert_eq!(array.noted().count(), 0);
            let third: Vec<Slot> = array.slots().filter(|&slot| array.line(slot).0.is_multiple_of(3)).collect();
            third.iter().for_each(|&slot| array.note(slot));
            assert_eq!(array.noted().collect::<Vec<_>>(), expected(&array, &|line| line % 3 == 0));
            array.forget_note(third[0]);
            let forgotten = array.line(third[0]).0;
            let gone: Vec<Slot> = array.slots().filter(|&slot| array.line(slot).0.is_multiple_of(2)).collect();
            gone.iter().for_each(|&slot| array.remove(slot));
            let kept = expected(&array, &|line| line % 3 == 0 && line != forgotten);
            assert_eq!(array.noted().collect::<Vec<_>>(), kept, "{ways} ways");
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
    fn remainders_are_those_of_divisions() {
        for sets in [1, 2, 3, 6, 7, 48, 384, 1000, 1 << 20, u32::MAX] {
            let geometry = Geometry { sets, ways: 1, interleave: 1, block: 1, replacement: Replacement::Lru };
            let (index, sets) = (SetIndex::new(&geometry), u64::from(sets));
            let numbers = [0, 1, sets - 1, sets, sets + 1, 5 * sets - 1, u64::MAX / sets * sets, 7 << 32 | 12_345];
            for number in numbers.into_iter().chain([u64::MAX - 1, u64::MAX]) {
                assert_eq!(index.remainder(number), number % sets, "{number} % {sets}");
            }
        }
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
