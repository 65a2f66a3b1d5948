//! The part that a chiplet has of a launch whose work-groups are tiles, numbered along rows.

use std::ops::Range;

use chorus_kernel::Share;

/// The rows of tiles in which a chiplet has at least one tile; a row has `across` tiles.
pub fn rows_of(share: Share, across: u32) -> Range<u32> {
    let groups = share.groups();
    if groups.is_empty() { 0..0 } else { groups.start / across..groups.end.div_ceil(across) }
}

/// The elements of a range of pieces, each of which has `each` elements.
pub fn scaled(range: Range<u32>, each: u32) -> Range<usize> {
    range.start as usize * each as usize..range.end as usize * each as usize
}

/// The greatest number of pieces of a buffer that are named one by one. Of more pieces only the span is named.
const PIECES_MAX: usize = 16;

/// Pieces of a buffer as few ranges, sorted and apart from each other, or as the one range from the first to the last
/// element where they are too many.
pub fn few(mut pieces: Vec<Range<usize>>) -> Vec<Range<usize>> {
    pieces.sort_unstable_by_key(|piece| piece.start);
    let mut apart: Vec<Range<usize>> = Vec::new();
    for piece in pieces.into_iter().filter(|piece| !piece.is_empty()) {
        match apart.last_mut() {
            Some(last) if piece.start <= last.end => last.end = last.end.max(piece.end),
            _ => apart.push(piece),
        }
    }
    match (apart.first(), apart.last()) {
        (Some(first), Some(last)) if apart.len() > PIECES_MAX => {
            let span = first.start..last.end;
            vec![span]
        }
        _ => apart,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_that_meet_become_one_and_many_become_their_span() {
        assert_eq!(few(vec![8..12, 0..4, 4..6, 7..7]), [0..6, 8..12]);
        let many = few((0..17).map(|piece| piece * 10..piece * 10 + 5).collect());
        assert_eq!((many.len(), many[0].clone()), (1, 0..165));
        assert_eq!(few(Vec::new()), []);
    }

    #[test]
    fn chiplets_may_share_a_row_and_may_have_none() {
        let rows = |index, count| rows_of(Share { index, count, work_groups: 9 }, 3);
        assert_eq!([rows(0, 2), rows(1, 2)], [0..2, 1..3]);
        assert_eq!(rows(1, 16), 0..1);
        assert!(rows(2, 16).is_empty() || rows(3, 16).is_empty() || rows(4, 16).is_empty());
        assert_eq!(scaled(1..3, 64), 64..192);
    }
}
