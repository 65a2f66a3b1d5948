//! Set-associative arrays of lines with their data, for any number of sets and ways.

use std::hash::{Hash, Hasher};

use crate::address::LineAddr;
use crate::line::LineData;

/// Which line of a full set is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Replacement {
    /// The least recently used.
    Lru,
    /// The first inserted.
    Fifo,
}

/// Sets, ways, and which lines come to this bank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Geometry {
    /// Number of sets.
    pub sets: u32,
    /// Lines of a set.
    pub ways: u32,
    /// Every how many lines one comes to this bank: the number of banks.
    pub interleave: u32,
    /// Replacement policy.
    pub replacement: Replacement,
}

impl Geometry {
    fn set_of(&self, line: LineAddr) -> usize {
        let (sets, interleave) = (u64::from(self.sets), u64::from(self.interleave));
        let within =
            if interleave.is_power_of_two() { line.0 >> interleave.trailing_zeros() } else { line.0 / interleave };
        (if sets.is_power_of_two() { within & (sets - 1) } else { within % sets }) as usize
    }
}

/// The place of a line in an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Slot(u32);

/// Where a line could be placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// Here.
    Free(Slot),
    /// Once this line is gone.
    Occupied(LineAddr),
    /// Not now: no line of the set can be replaced.
    Busy,
}

const EMPTY: LineAddr = LineAddr(u64::MAX);

/// Lines with a protocol's own metadata `M` and their data. Comparison and hashing look at the lines of each set in the order of
/// recency, never at which way they occupy, so that arrays that behave alike are equal.
#[derive(Clone, Debug)]
pub struct CacheArray<M, const W: usize> {
    geometry: Geometry,
    tags: Vec<LineAddr>,
    /// Rank 0 is the most recent of its set.
    ranks: Vec<u8>,
    meta: Vec<M>,
    data: Vec<LineData<W>>,
}

impl<M: Copy + Default, const W: usize> CacheArray<M, W> {
    /// An empty array.
    pub fn new(geometry: Geometry) -> Self {
        let lines = geometry.sets as usize * geometry.ways as usize;
        CacheArray {
            geometry,
            tags: vec![EMPTY; lines],
            ranks: (0..lines).map(|slot| (slot % geometry.ways as usize) as u8).collect(),
            meta: vec![M::default(); lines],
            data: vec![LineData::default(); lines],
        }
    }

    /// The place of a resident line.
    #[inline]
    pub fn find(&self, line: LineAddr) -> Option<Slot> {
        self.find_tag(line, line)
    }

    /// The first place with a tag in the set of a line.
    #[inline]
    fn find_tag(&self, line: LineAddr, wanted: LineAddr) -> Option<Slot> {
        let base = self.geometry.set_of(line) * self.geometry.ways as usize;
        let set = &self.tags[base..base + self.geometry.ways as usize];
        set.iter().position(|&tag| tag == wanted).map(|way| Slot((base + way) as u32))
    }

    /// Notes a use of a line, for LRU.
    #[inline]
    pub fn touch(&mut self, slot: Slot) {
        match self.geometry.replacement {
            Replacement::Lru => self.move_to_rank(slot, 0),
            Replacement::Fifo => {}
        }
    }

    /// Where `line` could go; `replaceable` says which resident lines may be evicted for it.
    pub fn room_for(&self, line: LineAddr, replaceable: impl Fn(&M) -> bool) -> Room {
        if let Some(free) = self.find_tag(line, EMPTY) {
            return Room::Free(free);
        }
        let ways = self.geometry.ways as usize;
        let base = self.geometry.set_of(line) * ways;
        let mut victim: Option<usize> = None;
        for slot in base..base + ways {
            if replaceable(&self.meta[slot]) && victim.is_none_or(|best| self.ranks[slot] > self.ranks[best]) {
                victim = Some(slot);
            }
        }
        victim.map_or(Room::Busy, |slot| Room::Occupied(self.tags[slot]))
    }

    /// Puts a line into a free place, as the most recent of its set.
    pub fn insert(&mut self, slot: Slot, line: LineAddr, meta: M) {
        let index = slot.0 as usize;
        debug_assert!(self.tags[index] == EMPTY);
        self.tags[index] = line;
        self.meta[index] = meta;
        self.move_to_rank(slot, 0);
    }

    /// Takes a line out.
    pub fn remove(&mut self, slot: Slot) {
        self.tags[slot.0 as usize] = EMPTY;
    }

    /// Takes out every line that `matches`.
    pub fn remove_where(&mut self, matches: impl Fn(&M) -> bool) {
        for index in 0..self.tags.len() {
            if self.tags[index] != EMPTY && matches(&self.meta[index]) {
                self.remove(Slot(index as u32));
            }
        }
    }

    /// A line's metadata.
    #[inline]
    pub fn meta(&self, slot: Slot) -> &M {
        &self.meta[slot.0 as usize]
    }

    /// A line's metadata, to change.
    #[inline]
    pub fn meta_mut(&mut self, slot: Slot) -> &mut M {
        &mut self.meta[slot.0 as usize]
    }

    /// A line's data.
    #[inline]
    pub fn data(&self, slot: Slot) -> &LineData<W> {
        &self.data[slot.0 as usize]
    }

    /// A line's data, to change.
    #[inline]
    pub fn data_mut(&mut self, slot: Slot) -> &mut LineData<W> {
        &mut self.data[slot.0 as usize]
    }

    /// Every resident line.
    pub fn iter(&self) -> impl Iterator<Item = (LineAddr, &M, &LineData<W>)> {
        self.tags
            .iter()
            .enumerate()
            .filter(|(_, tag)| **tag != EMPTY)
            .map(|(index, &tag)| (tag, &self.meta[index], &self.data[index]))
    }

    /// The resident lines, set by set, most recent first.
    fn by_recency(&self) -> impl Iterator<Item = (LineAddr, &M, &LineData<W>)> {
        let ways = self.geometry.ways as usize;
        (0..self.tags.len()).filter_map(move |index| {
            let (base, rank) = (index / ways * ways, index % ways);
            let slot = (base..base + ways).find(|&slot| usize::from(self.ranks[slot]) == rank)?;
            (self.tags[slot] != EMPTY).then(|| (self.tags[slot], &self.meta[slot], &self.data[slot]))
        })
    }

    /// Gives a line a rank, shifting those between its old and its new one.
    fn move_to_rank(&mut self, slot: Slot, rank: u8) {
        let index = slot.0 as usize;
        let old = self.ranks[index];
        if old == rank {
            return;
        }
        let ways = self.geometry.ways as usize;
        let base = index / ways * ways;
        for other in &mut self.ranks[base..base + ways] {
            if *other < old && *other >= rank {
                *other += 1;
            } else if *other > old && *other <= rank {
                *other -= 1;
            }
        }
        self.ranks[index] = rank;
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
        CacheArray::new(Geometry { sets, ways, interleave: 1, replacement })
    }

    fn fill(array: &mut CacheArray<u8, 2>, line: u64) {
        match array.room_for(LineAddr(line), |_| true) {
            Room::Free(slot) => array.insert(slot, LineAddr(line), 0),
            room => panic!("no room for {line}: {room:?}"),
        }
    }

    fn victim(array: &CacheArray<u8, 2>, line: u64) -> Room {
        array.room_for(LineAddr(line), |_| true)
    }

    #[test]
    fn lru_replaces_the_line_used_longest_ago() {
        let mut array = array(1, 3, Replacement::Lru);
        (0..3).for_each(|line| fill(&mut array, line));
        array.touch(array.find(LineAddr(0)).unwrap());
        assert_eq!(victim(&array, 9), Room::Occupied(LineAddr(1)));
    }

    #[test]
    fn fifo_replaces_the_line_inserted_first_whatever_was_used() {
        let mut array = array(1, 3, Replacement::Fifo);
        (0..3).for_each(|line| fill(&mut array, line));
        array.touch(array.find(LineAddr(0)).unwrap());
        assert_eq!(victim(&array, 9), Room::Occupied(LineAddr(0)));
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
        assert_eq!(victim(&array, 4), Room::Occupied(LineAddr(1)));
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
