//! Coarsening: the treatment of kernels that access more data structures than the table has rows for (CPElide paper,
//! section III-B).
//!
//! Declarations of the same data structure belong together. Beyond the limit, data structures that lie next to each
//! other in memory are joined. If none do, the two nearest are joined. Every chiplet that accesses one part accesses
//! the joined data structure, in the stronger of the parts' modes. The addresses between the parts count as accessed as
//! well.

use super::{Access, Mode};
use crate::chiplet_table::ranges::Ranges;

/// Joins data structures until the declarations name at most `limit` of them.
pub fn coarsen(accesses: &[Access], limit: usize) -> Vec<Access> {
    let mut accesses = accesses.to_vec();
    accesses.sort_by_key(|access| (access.structure.start, access.structure.end));
    while structures(&accesses) > limit.max(1) {
        let gaps = accesses.windows(2).enumerate().filter(|(_, pair)| pair[0].structure != pair[1].structure);
        let nearest = gaps.min_by_key(|(_, pair)| pair[1].structure.start.saturating_sub(pair[0].structure.end));
        let Some((index, _)) = nearest else { break };
        join_at(&mut accesses, index);
    }
    accesses
}

/// The number of different data structures. Equal ones are adjacent.
fn structures(accesses: &[Access]) -> usize {
    accesses.chunk_by(|left, right| left.structure == right.structure).count()
}

/// Joins the data structures of the declarations at `index` and behind it. All declarations of both become one.
fn join_at(accesses: &mut Vec<Access>, index: usize) {
    let [left, right] = [index, index + 1].map(|index| accesses[index].structure.clone());
    let (joined, others): (Vec<Access>, Vec<Access>) =
        accesses.drain(..).partition(|access| access.structure == left || access.structure == right);
    let structure = left.start..left.end.max(right.end);
    let mode = joined.iter().map(|access| access.mode).max().unwrap_or(Mode::ReadWrite);
    let chiplets = joined.iter().map(|access| access.by_chiplet.len()).max().unwrap_or(0);
    let of_chiplet = |chiplet: usize| {
        let mut all = Ranges::EMPTY;
        joined.iter().for_each(|access| all.add(&access.by_chiplet[chiplet]));
        all.span().map_or(Ranges::EMPTY, Ranges::from)
    };
    let by_chiplet = (0..chiplets).map(of_chiplet).collect();
    *accesses = others;
    accesses.push(Access { structure, mode, by_chiplet });
    accesses.sort_by_key(|access| (access.structure.start, access.structure.end));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(structure: std::ops::Range<u64>, mode: Mode) -> Access {
        Access { by_chiplet: vec![Ranges::from(structure.clone()), Ranges::EMPTY], structure, mode }
    }

    #[test]
    fn few_data_structures_stay_apart() {
        let accesses = [access(0..4, Mode::Read), access(4..8, Mode::ReadWrite)];
        assert_eq!(coarsen(&accesses, 2), accesses);
    }

    #[test]
    fn neighbours_become_one_with_the_stronger_mode() {
        let accesses = [access(0..4, Mode::Read), access(10..14, Mode::Read), access(14..18, Mode::ReadWrite)];
        assert_eq!(coarsen(&accesses, 2), [access(0..4, Mode::Read), access(10..18, Mode::ReadWrite)]);
    }

    #[test]
    fn without_neighbours_the_nearest_become_one_and_what_is_between_them_too() {
        let accesses = [access(0..4, Mode::Read), access(10..14, Mode::Read), access(16..18, Mode::Read)];
        assert_eq!(coarsen(&accesses, 2), [access(0..4, Mode::Read), access(10..18, Mode::Read)]);
        assert_eq!(coarsen(&accesses, 1), [access(0..18, Mode::Read)]);
    }

    #[test]
    fn declarations_of_one_data_structure_count_once() {
        let accesses = [access(0..4, Mode::Read), access(0..4, Mode::ReadWrite), access(8..9, Mode::Read)];
        assert_eq!(coarsen(&accesses, 2).len(), 3);
    }
}
