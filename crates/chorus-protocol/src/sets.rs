//! The part of a cache array that every search looks at: for each set, marks of the lines in its ways, and the order in
//! which its ways were used. Both lie side by side, so they are in one line of the host's caches.

use crate::address::LineAddr;
use crate::prefetch::prefetch;
use crate::save::{self, Restore, Save};

/// The most ways of a block: the ways whose marks are compared at once, and whose order fits a word.
pub(crate) const BLOCK_WAYS_MAX: usize = 16;
/// A nibble of every way of a word.
const NIBBLES: u64 = 0x1111_1111_1111_1111;

/// The marks of ways: a byte of each tag, so that one comparison tells which ways may hold a line. The marks of ways
/// without a line are of no account.
type Marks = [u8; BLOCK_WAYS_MAX];

/// Up to 16 ways of a set.
#[derive(Clone, Copy, Debug, Save)]
#[repr(align(32))]
struct Block {
    marks: Marks,
    /// Four bits for each way, the most recent way lowest. Sets of several blocks have their order elsewhere.
    order: u64,
}

/// The marks and the order of the ways of every set.
#[derive(Clone, Debug, Restore)]
pub(crate) struct Sets {
    #[save(built)]
    ways: usize,
    /// The bits of a place's number that tell its way in its block, and their mask. The bits above tell the block.
    #[save(built)]
    block_bits: u32,
    #[save(built)]
    block_mask: usize,
    /// The bit at which the last way begins in an order, and all bits of an order that are used.
    #[save(built)]
    last: u32,
    #[save(built)]
    used: u64,
    /// The blocks of ways, set by set. Most sets are one block.
    blocks: Vec<Block>,
    /// For sets of several blocks: their ways from the most recent to the least recent, a byte for each.
    wide: Vec<u8>,
}

impl Sets {
    /// Sets whose ways are in ascending order. Each has `1 << way_bits` places, and `ways` of them are used.
    pub(crate) fn new(sets: usize, ways: usize, way_bits: u32) -> Sets {
        let block_bits = way_bits.min(BLOCK_WAYS_MAX.trailing_zeros());
        let last = 4 * (ways.clamp(1, BLOCK_WAYS_MAX) as u32 - 1);
        let used = u64::MAX >> (60 - last);
        let is_wide = ways > BLOCK_WAYS_MAX;
        let block = Block { marks: [0; BLOCK_WAYS_MAX], order: 0xFEDC_BA98_7654_3210 & used };
        Sets {
            ways,
            block_bits,
            block_mask: (1 << block_bits) - 1,
            last,
            used,
            blocks: vec![block; sets << way_bits >> block_bits],
            wide: if is_wide { (0..sets * ways).map(|way| (way % ways) as u8).collect() } else { Vec::new() },
        }
    }

    /// The place of a line among those of a block. `is_there` says whether the line is in a place whose mark is right.
    #[inline(always)]
    pub(crate) fn find(&self, block: usize, line: LineAddr, is_there: impl Fn(usize) -> bool) -> Option<usize> {
        let mut candidates = ways_marked(&self.blocks[block].marks, mark_of(line));
        let first = block << self.block_bits;
        while candidates != 0 {
            let place = first + candidates.trailing_zeros() as usize;
            if is_there(place) {
                return Some(place);
            }
            candidates &= candidates - 1;
        }
        None
    }

    /// Asks the host for the marks and the order of a block.
    pub(crate) fn read_ahead(&self, block: usize) {
        prefetch(&self.blocks[block]);
    }

    /// The places of a block that may hold a line, by their marks.
    #[inline]
    pub(crate) fn candidates(&self, block: usize, line: LineAddr) -> impl Iterator<Item = usize> {
        let (mut rest, first) = (ways_marked(&self.blocks[block].marks, mark_of(line)), block << self.block_bits);
        std::iter::from_fn(move || {
            let way = (rest != 0).then(|| rest.trailing_zeros() as usize)?;
            rest &= rest - 1;
            Some(first + way)
        })
    }

    /// The way at a position of a set's order. Position 0 is the most recent way.
    #[inline]
    pub(crate) fn way(&self, set: usize, position: usize) -> usize {
        match self.wide.get(set * self.ways + position) {
            None => (self.blocks[set].order >> (4 * position) & 15) as usize,
            Some(&way) => usize::from(way),
        }
    }

    /// The least recent way of a set.
    #[inline(always)]
    pub(crate) fn oldest(&self, set: usize) -> usize {
        if self.wide.is_empty() { (self.blocks[set].order >> self.last) as usize } else { self.way(set, self.ways - 1) }
    }

    /// The ways of a set, the least recent way first.
    pub(crate) fn oldest_first(&self, set: usize) -> impl Iterator<Item = usize> {
        (0..self.ways).rev().map(move |position| self.way(set, position))
    }

    /// Marks a place with the line that is put there, as the most recent of its set.
    #[inline]
    pub(crate) fn enter(&mut self, place: usize, line: LineAddr) {
        let way = place & self.block_mask & (BLOCK_WAYS_MAX - 1);
        self.blocks[place >> self.block_bits].marks[way] = mark_of(line);
        self.move_first(place);
    }

    /// Makes a place the most recent of its set.
    #[inline]
    pub(crate) fn move_first(&mut self, place: usize) {
        if !self.wide.is_empty() {
            return self.rotate(place, true);
        }
        let way = (place & self.block_mask) as u64;
        let order = &mut self.blocks[place >> self.block_bits].order;
        if *order >> self.last == way {
            // The least recent way becomes the most recent one when a line is replaced.
            *order = *order << 4 & self.used | way;
        } else {
            let before = (1 << shift_of(*order, way)) - 1;
            *order = *order & !(before << 4 | 15) | (*order & before) << 4 | way;
        }
    }

    /// Makes a place the least recent of its set.
    #[inline]
    pub(crate) fn move_last(&mut self, place: usize) {
        if !self.wide.is_empty() {
            return self.rotate(place, false);
        }
        let way = (place & self.block_mask) as u64;
        let order = &mut self.blocks[place >> self.block_bits].order;
        if *order >> self.last != way {
            let before = (1 << shift_of(*order, way)) - 1;
            *order = *order & before | (*order >> 4) & !before & ((1 << self.last) - 1) | way << self.last;
        }
    }

    /// Moves a place to an end of the order of its set, where sets have several blocks.
    #[cold]
    fn rotate(&mut self, place: usize, to_front: bool) {
        let way_bits = self.ways.next_power_of_two().trailing_zeros();
        let (set, way) = (place >> way_bits, place & ((1 << way_bits) - 1));
        let order = &mut self.wide[set * self.ways..][..self.ways];
        let position = order.iter().position(|&other| usize::from(other) == way).unwrap_or_default();
        if to_front {
            order[..=position].rotate_right(1);
        } else {
            order[position..].rotate_left(1);
        }
    }
}

/// The bit at which a way begins in an order.
#[inline]
fn shift_of(order: u64, way: u64) -> u32 {
    let different = order ^ NIBBLES.wrapping_mul(way);
    // The lowest nibble that is zero keeps its highest bit after the subtraction. Higher nibbles may as well, because
    // of the borrow, and are not looked at.
    (different.wrapping_sub(NIBBLES) & !different & NIBBLES << 3).trailing_zeros() & !3
}

/// The mark by which the ways of a set are compared before their tags are.
#[inline]
fn mark_of(line: LineAddr) -> u8 {
    (line.0.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8
}

/// The ways whose marks equal `mark`, as bits.
#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "every x86-64 processor has SSE2, but the compiler wants to be told")]
#[inline]
fn ways_marked(marks: &Marks, mark: u8) -> u32 {
    use std::arch::x86_64::{_mm_cmpeq_epi8, _mm_movemask_epi8, _mm_set_epi64x, _mm_set1_epi8};
    let marks = u128::from_le_bytes(*marks);
    // SAFETY: the instructions are part of x86-64, and none of them takes a pointer.
    unsafe {
        let marks = _mm_set_epi64x((marks >> 64) as i64, marks as i64);
        _mm_movemask_epi8(_mm_cmpeq_epi8(marks, _mm_set1_epi8(mark as i8))) as u32
    }
}

/// The ways whose marks equal `mark`, as bits.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn ways_marked(marks: &Marks, mark: u8) -> u32 {
    marks.iter().enumerate().fold(0, |bits, (way, &other)| bits | u32::from(other == mark) << way)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Moves a way to either end of a list, as the order must behave.
    fn moved(list: &mut Vec<usize>, way: usize, to_front: bool) {
        list.retain(|&other| other != way);
        list.insert(if to_front { 0 } else { list.len() }, way);
    }

    #[test]
    fn the_order_is_that_of_a_list_for_any_number_of_ways() {
        for ways in [1_usize, 2, 3, 4, 7, 8, 15, 16, 17, 40] {
            let way_bits = ways.next_power_of_two().trailing_zeros();
            let mut sets = Sets::new(3, ways, way_bits);
            let mut lists = vec![(0..ways).collect::<Vec<_>>(); 3];
            let mut number = 1_usize;
            for step in 0..400 {
                number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let (set, way, to_front) = (step % 3, (number >> 33) % ways, number >> 40 & 1 == 0);
                if to_front {
                    sets.move_first(set << way_bits | way)
                } else {
                    sets.move_last(set << way_bits | way)
                }
                moved(&mut lists[set], way, to_front);
                for (set, list) in lists.iter().enumerate() {
                    assert!(sets.oldest_first(set).eq(list.iter().rev().copied()));
                    assert_eq!(sets.oldest(set), list[ways - 1]);
                }
            }
        }
    }

    #[test]
    fn the_ways_of_a_mark_are_all_that_have_it() {
        for bits in [0, 1, 0x8000, 0xFFFF, 0x5A5A, 0x0180] {
            let marks = std::array::from_fn(|way| if bits >> way & 1 == 1 { 0xFE } else { way as u8 });
            assert_eq!(ways_marked(&marks, 0xFE), bits);
        }
    }
}
