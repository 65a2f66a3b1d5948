//! How the work-groups of a launch are divided among the parts of a machine: contiguous blocks, as equal as can be.

use std::ops::Range;

/// The part, of `parts`, that work-group `group` of `groups` runs on.
pub fn part_of(group: u32, groups: u32, parts: u32) -> u32 {
    (u64::from(group) * u64::from(parts) / u64::from(groups.max(1))) as u32
}

/// The work-groups, of `groups`, that run on part `part` of `parts`.
pub fn groups_of(part: u32, groups: u32, parts: u32) -> Range<u32> {
    let first = |part: u32| (u64::from(part) * u64::from(groups)).div_ceil(u64::from(parts.max(1))) as u32;
    first(part)..first(part + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_work_group_is_in_the_block_of_its_part_and_in_no_other() {
        for groups in 1..40 {
            for parts in 1..20 {
                for group in 0..groups {
                    let part = part_of(group, groups, parts);
                    assert!(
                        (0..parts).all(|other| groups_of(other, groups, parts).contains(&group) == (other == part))
                    );
                }
            }
        }
    }

    #[test]
    fn parts_of_parts_are_parts() {
        for group in 0..37 {
            assert_eq!(part_of(group, 37, 16) / 4, part_of(group, 37, 4));
        }
    }
}
