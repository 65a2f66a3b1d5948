//! Lines that a program declares read-only: nobody writes them while kernels run.

use std::cmp::Reverse;
use std::ops::Range;

use crate::address::LineAddr;

/// The number of ranges that a cache can compare a line with.
const ENTRIES: usize = 4;

/// A table of a few ranges of lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ReadOnlyLines {
    /// For each range, its first line and the line behind its last.
    ranges: [[u64; 2]; ENTRIES],
}

impl ReadOnlyLines {
    /// A table that contains no line.
    pub const NONE: ReadOnlyLines = ReadOnlyLines { ranges: [[0; 2]; ENTRIES] };

    /// A table of the longest of some ranges, as many as there is room for.
    pub fn longest(ranges: impl IntoIterator<Item = Range<u64>>) -> ReadOnlyLines {
        let mut ranges: Vec<Range<u64>> = ranges.into_iter().collect();
        ranges.sort_by_key(|range| Reverse(range.end - range.start));
        let mut table = ReadOnlyLines::NONE;
        table.ranges.iter_mut().zip(ranges).for_each(|(entry, range)| *entry = [range.start, range.end]);
        table
    }

    /// Whether a line is in one of the ranges.
    pub fn contains(&self, line: LineAddr) -> bool {
        self.ranges.iter().any(|&[start, end]| (start..end).contains(&line.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_ranges_find_room() {
        let table = ReadOnlyLines::longest([0..2, 10..11, 20..24, 30..33, 40..45]);
        let lines: Vec<u64> = (0..50).filter(|&line| table.contains(LineAddr(line))).collect();
        assert_eq!(lines, [0, 1, 20, 21, 22, 23, 30, 31, 32, 40, 41, 42, 43, 44]);
        assert!(!ReadOnlyLines::NONE.contains(LineAddr(0)));
    }
}
