//! Directory entries that cover several neighbouring lines with one set of sharers (HMG paper, section VI). With one
//! line in every entry this is the baseline of the REC paper (section 2.3).

use crate::address::{AgentId, LineAddr};
use crate::cache::{CacheArray, Room};
use crate::controller::Depth;
use crate::directory::storage::{ADDRESS_BITS, EntryBits, Extent};
use crate::directory::{Directory, Positions, Recorded, Stale, geometry};
use crate::registry::BuildConfig;
use crate::save::{self, Restore};
use crate::sharers::Sharers;

/// A directory whose entries cover several neighbouring lines each, with one set of sharers for all of them (HMG paper,
/// section VI).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Restore)]
pub struct LineGroups {
    #[save(built)]
    lines_per_entry: u32,
    /// The sharers of each group of lines, by the number of the group.
    entries: CacheArray<Sharers, 0>,
}

impl LineGroups {
    fn group(&self, line: LineAddr) -> LineAddr {
        LineAddr(line.0 >> self.lines_per_entry.trailing_zeros())
    }

    fn stale(&self, line: LineAddr, sharers: Sharers) -> Stale {
        let (first, lines) = self.entry_of(line);
        Stale { first, lines, sharers }
    }
}

impl Directory for LineGroups {
    fn new(config: &BuildConfig, _: Positions) -> Self {
        let BuildConfig { directory, topology, .. } = *config;
        LineGroups {
            lines_per_entry: directory.lines_per_entry,
            entries: CacheArray::new(geometry(directory, topology)),
        }
    }

    fn sharers(&self, line: LineAddr) -> Sharers {
        self.entries.find(self.group(line)).map_or(Sharers::NONE, |slot| *self.entries.meta(slot))
    }

    fn covers(&self, line: LineAddr) -> bool {
        self.entries.find(self.group(line)).is_some()
    }

    fn record(&mut self, line: LineAddr, sharer: u16) -> Recorded {
        let group = self.group(line);
        let slot = match self.entries.find_inline(group) {
            Some(slot) => {
                self.entries.touch(slot);
                slot
            }
            None => match self.entries.room_for(group, |_| true) {
                Room::Free(slot) => {
                    self.entries.insert(slot, group, Sharers::NONE);
                    slot
                }
                Room::Occupied(victim) => {
                    let group = self.entries.line(victim);
                    return Recorded::Full(LineAddr(group.0 << self.lines_per_entry.trailing_zeros()));
                }
                Room::Busy => return Recorded::Full(line),
            },
        };
        self.entries.meta_mut(slot).insert(AgentId(sharer));
        Recorded::Done
    }

    fn write(&mut self, line: LineAddr, writer: Option<u16>) -> Stale {
        let Some(slot) = self.entries.find(self.group(line)) else { return self.stale(line, Sharers::NONE) };
        let sharers = *self.entries.meta(slot);
        match writer {
            None => {
                self.entries.remove(slot);
                self.stale(line, sharers)
            }
            Some(writer) => {
                *self.entries.meta_mut(slot) = sharers.only(AgentId(writer));
                self.stale(line, sharers.without(AgentId(writer)))
            }
        }
    }

    fn replace(&mut self, line: LineAddr, mut stale: impl FnMut(Stale)) {
        if let Some(slot) = self.entries.find(self.group(line)) {
            stale(self.stale(line, *self.entries.meta(slot)));
            self.entries.remove(slot);
        }
    }

    fn forget(&mut self, line: LineAddr, sharer: u16) {
        if let Some(slot) = self.entries.find(self.group(line)) {
            let left = self.entries.meta(slot).without(AgentId(sharer));
            *self.entries.meta_mut(slot) = left;
            if left.is_empty() {
                self.entries.remove(slot);
            }
        }
    }

    fn entry_of(&self, line: LineAddr) -> (LineAddr, u32) {
        (LineAddr(line.0 & !u64::from(self.lines_per_entry - 1)), self.lines_per_entry)
    }

    fn read_ahead(&self, line: LineAddr, depth: Depth) {
        self.entries.read_ahead(self.group(line), depth);
    }

    fn entry_bits(extent: &Extent) -> EntryBits {
        EntryBits { position: 0, sharers: extent.sharers, address: ADDRESS_BITS, state: 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::Replacement;
    use crate::directory::tests::{config, gpus, members};
    use crate::registry::DirectoryShape;

    fn directory(ways: u32, lines_per_entry: u32) -> LineGroups {
        let replacement = Replacement::Lru;
        LineGroups::new(
            &config(DirectoryShape { sets: 1, ways, lines_per_entry, range_lines: 1, replacement: Some(replacement) }),
            gpus(4),
        )
    }

    #[test]
    fn an_entry_covers_its_neighbours() {
        let mut directory = directory(1, 4);
        assert_eq!(directory.record(LineAddr(5), 2), Recorded::Done);
        assert_eq!(members(directory.sharers(LineAddr(6))), [2]);
        assert_eq!(directory.sharers(LineAddr(8)), Sharers::NONE);
        assert_eq!(directory.entry_of(LineAddr(6)), (LineAddr(4), 4));
    }

    #[test]
    fn a_write_beside_the_directory_forgets_everybody_and_one_by_a_sharer_spares_it() {
        let mut directory = directory(1, 4);
        (0..3).for_each(|sharer| assert_eq!(directory.record(LineAddr(1), sharer), Recorded::Done));
        let stale = directory.write(LineAddr(2), Some(1));
        assert_eq!((stale.first, members(stale.sharers)), (LineAddr(0), vec![0, 2]));
        assert_eq!(members(directory.sharers(LineAddr(1))), [1]);
        assert_eq!(members(directory.write(LineAddr(3), None).sharers), [1]);
        assert!(!directory.covers(LineAddr(1)));
    }

    #[test]
    fn a_full_set_names_a_line_of_the_entry_used_longest_ago() {
        let mut directory = directory(2, 4);
        [0, 4, 0].into_iter().for_each(|line| assert_eq!(directory.record(LineAddr(line), 3), Recorded::Done));
        assert_eq!(directory.record(LineAddr(9), 3), Recorded::Full(LineAddr(4)));
        let mut gone = Vec::new();
        directory.replace(LineAddr(4), |stale| gone.push(stale));
        assert_eq!(gone.iter().map(|stale| members(stale.sharers)).collect::<Vec<_>>(), [vec![3]]);
        assert_eq!(directory.record(LineAddr(9), 3), Recorded::Done);
    }

    #[test]
    fn an_entry_that_its_last_sharer_leaves_is_gone() {
        let mut directory = directory(1, 1);
        assert_eq!(directory.record(LineAddr(0), 1), Recorded::Done);
        directory.forget(LineAddr(0), 1);
        assert!(!directory.covers(LineAddr(0)));
    }
}
