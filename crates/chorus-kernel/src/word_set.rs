//! Sets of words of memory, one bit each, and sorted ranges of words.

use std::ops::Range;

/// The number of words of a block.
pub const BITS: usize = u64::BITS as usize;

/// A set of words of memory.
pub struct WordSet(Vec<u64>);

impl WordSet {
    /// The empty set for a memory of this many words.
    pub fn new(words: usize) -> WordSet {
        WordSet(vec![0; words.div_ceil(BITS)])
    }

    /// Adds a range of words.
    pub fn insert(&mut self, words: Range<usize>) {
        self.each_block(words, |block, bits| *block |= bits);
    }

    /// Removes a range of words.
    pub fn remove(&mut self, words: Range<usize>) {
        self.each_block(words, |block, bits| *block &= !bits);
    }

    fn each_block(&mut self, words: Range<usize>, change: impl Fn(&mut u64, u64)) {
        let mut start = words.start;
        while start < words.end {
            let end = words.end.min((start / BITS + 1) * BITS);
            change(&mut self.0[start / BITS], ones(end - start) << (start % BITS));
            start = end;
        }
    }

    /// The words among 64 that begin at a multiple of it, one bit each.
    pub fn block(&self, first: usize) -> u64 {
        self.0[first / BITS]
    }

    /// The words among those from one multiple of 64 to another, as ranges that are more than `gap` apart.
    pub fn ranges(&self, within: Range<usize>, gap: usize) -> Vec<Range<usize>> {
        let mut ranges: Vec<Range<usize>> = Vec::new();
        for index in within.start / BITS..within.end.div_ceil(BITS) {
            let mut bits = self.0[index];
            while bits != 0 {
                let first = bits.trailing_zeros() as usize;
                let count = (bits >> first).trailing_ones() as usize;
                bits &= !(ones(count) << first);
                let start = index * BITS + first;
                join(&mut ranges, start..start + count, gap);
            }
        }
        ranges
    }
}

/// The lowest `count` bits, of 64 at most.
fn ones(count: usize) -> u64 {
    u64::MAX >> (BITS - count)
}

/// Appends a range that begins behind the beginnings of all others. If the last one ends within `gap` of it, that one
/// grows instead.
fn join(ranges: &mut Vec<Range<usize>>, next: Range<usize>, gap: usize) {
    match ranges.last_mut() {
        Some(last) if next.start <= last.end + gap => last.end = last.end.max(next.end),
        _ => ranges.push(next),
    }
}

/// Turns ranges into sorted ranges of the same words that neither overlap nor touch.
pub fn normal(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.sort_by_key(|range| range.start);
    let mut joined = Vec::new();
    ranges.into_iter().for_each(|range| join(&mut joined, range, 0));
    joined
}

/// Whether one of the sorted ranges has all of the words.
pub fn covers(ranges: &[Range<usize>], words: &Range<usize>) -> bool {
    let at = ranges.partition_point(|range| range.end <= words.start);
    ranges.get(at).is_some_and(|range| range.start <= words.start && words.end <= range.end)
}

/// At most `count` ranges with all of the words of sorted ones: the narrowest gaps are filled.
pub fn at_most(count: usize, mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    while ranges.len() > count.max(1) {
        let gap = |&at: &usize| ranges[at].start - ranges[at - 1].end;
        let Some(at) = (1..ranges.len()).min_by_key(gap) else { break };
        ranges[at - 1].end = ranges[at].end;
        ranges.remove(at);
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_back_as_ranges_across_blocks_and_narrow_gaps() {
        let mut set = WordSet::new(512);
        [3..5, 60..200, 210..211, 300..301, 448..512].into_iter().for_each(|words| set.insert(words));
        assert_eq!(set.ranges(0..512, 0), [3..5, 60..200, 210..211, 300..301, 448..512]);
        assert_eq!(set.ranges(0..512, 10), [3..5, 60..211, 300..301, 448..512]);
        set.remove(64..448);
        assert_eq!(set.ranges(0..512, 0), [3..5, 60..64, 448..512]);
        assert_eq!(set.ranges(64..448, 0), []);
    }

    #[test]
    fn a_sorted_set_covers_what_lies_in_one_of_its_ranges() {
        let ranges = normal(vec![20..30, 0..5, 5..10, 22..25]);
        assert_eq!(ranges, [0..10, 20..30]);
        assert!(covers(&ranges, &(3..10)) && covers(&ranges, &(20..21)));
        assert!(!covers(&ranges, &(9..11)) && !covers(&ranges, &(5..25)) && !covers(&ranges, &(30..31)));
    }

    #[test]
    fn too_many_ranges_are_joined_where_the_gaps_are_narrowest() {
        assert_eq!(at_most(2, vec![0..1, 10..11, 13..14, 15..16, 40..41]), [0..16, 40..41]);
        assert_eq!(at_most(3, vec![0..1, 10..11]), [0..1, 10..11]);
        assert_eq!(at_most(3, Vec::new()), []);
    }
}
