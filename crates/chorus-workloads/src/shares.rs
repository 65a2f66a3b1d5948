//! What a chiplet has of a launch whose work-groups are tiles, numbered along rows.

use std::ops::Range;

use chorus_sim::frontend::Share;

/// The rows of tiles that a chiplet computes some of, with `across` tiles in each.
pub fn rows_of(share: Share, across: u32) -> Range<u32> {
    let groups = share.groups();
    if groups.is_empty() { 0..0 } else { groups.start / across..groups.end.div_ceil(across) }
}

/// As many elements as there are, `each` at a time.
pub fn scaled(range: Range<u32>, each: u32) -> Range<usize> {
    range.start as usize * each as usize..range.end as usize * each as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chiplets_may_share_a_row_and_may_have_none() {
        let rows = |index, count| rows_of(Share { index, count, work_groups: 9 }, 3);
        assert_eq!([rows(0, 2), rows(1, 2)], [0..2, 1..3]);
        assert_eq!(rows(1, 16), 0..1);
        assert!(rows(2, 16).is_empty() || rows(3, 16).is_empty() || rows(4, 16).is_empty());
        assert_eq!(scaled(1..3, 64), 64..192);
    }
}
