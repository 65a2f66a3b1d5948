//! Sets of addresses, kept as ranges that are sorted and do not touch each other.

use std::ops::Range;

use crate::save::{self, Save};

/// A set of addresses as sorted, separate ranges.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Save)]
pub struct Ranges(Vec<Range<u64>>);

impl Ranges {
    /// The set without any address.
    pub const EMPTY: Ranges = Ranges(Vec::new());

    /// Whether no address is in the set.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether both sets have an address in common.
    pub fn overlaps(&self, other: &Ranges) -> bool {
        let (mut left, mut right) = (self.0.iter().peekable(), other.0.iter().peekable());
        while let (Some(a), Some(b)) = (left.peek(), right.peek()) {
            if a.start < b.end && b.start < a.end {
                return true;
            }
            if a.end <= b.end {
                left.next()
            } else {
                right.next()
            };
        }
        false
    }

    /// Adds all addresses of `other`.
    pub fn add(&mut self, other: &Ranges) {
        *self = self.0.iter().chain(&other.0).cloned().collect();
    }

    /// The range from the first address to the last, including the gaps between them. `None` if the set is empty.
    pub fn span(&self) -> Option<Range<u64>> {
        Some(self.0.first()?.start..self.0.last()?.end)
    }

    /// The ranges in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = &Range<u64>> {
        self.0.iter()
    }
}

impl FromIterator<Range<u64>> for Ranges {
    fn from_iter<I: IntoIterator<Item = Range<u64>>>(ranges: I) -> Ranges {
        let mut sorted: Vec<Range<u64>> = ranges.into_iter().filter(|range| !range.is_empty()).collect();
        sorted.sort_by_key(|range| range.start);
        let mut joined: Vec<Range<u64>> = Vec::with_capacity(sorted.len());
        for range in sorted {
            match joined.last_mut() {
                Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
                Some(_) | None => joined.push(range),
            }
        }
        Ranges(joined)
    }
}

impl From<Range<u64>> for Ranges {
    fn from(range: Range<u64>) -> Ranges {
        [range].into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(ranges: &[Range<u64>]) -> Ranges {
        ranges.iter().cloned().collect()
    }

    #[test]
    fn ranges_that_meet_become_one() {
        let mut ranges = set(&[8..12, 0..4, 4..4]);
        assert_eq!(ranges.iter().cloned().collect::<Vec<_>>(), [0..4, 8..12]);
        ranges.add(&Ranges::from(4..8));
        assert_eq!((ranges, Some(0..12)), (Ranges::from(0..12), set(&[0..4, 8..12]).span()));
    }

    #[test]
    fn sets_overlap_if_any_of_their_ranges_do() {
        let of_bits = |bits: u32| (0..6).filter(|bit| bits >> bit & 1 == 1).map(|bit| bit..bit + 1).collect::<Ranges>();
        for left in 0..64 {
            for right in 0..64 {
                assert_eq!(of_bits(left).overlaps(&of_bits(right)), left & right != 0, "{left:b} {right:b}");
            }
        }
    }
}
