//! Directories: which caches may hold copies of which lines.
//!
//! A directory is a component of a home bank's controller. The controller says what happens to a line; the directory says whose copies that concerns.
//! Sharers are positions, which mean what the protocol says: modules, GPUs, or both.

use std::fmt::Debug;
use std::hash::Hash;

use crate::address::{AgentId, LineAddr, Topology};
use crate::cache::{CacheArray, Geometry, Room};
use crate::registry::{BuildConfig, DirectoryShape};
use crate::sharers::Sharers;

/// Tag bits of an entry (HMG paper, section VII-C).
const TAG_BITS: u32 = 48;

/// What recording a sharer came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recorded {
    /// It is recorded.
    Done,
    /// Nothing changed: the entry that covers this line must be replaced first.
    Full(LineAddr),
}

/// Copies that have to go: those that `sharers` hold of the `lines` lines from `first` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stale {
    /// The first line.
    pub first: LineAddr,
    /// How many lines.
    pub lines: u32,
    /// Who may hold them.
    pub sharers: Sharers,
}

/// An organisation of sharers.
pub trait Directory: Clone + Debug + Eq + Hash + Send + Sync + 'static {
    /// The empty directory of one bank.
    fn new(config: &BuildConfig) -> Self;

    /// Who may hold `line`.
    fn sharers(&self, line: LineAddr) -> Sharers;

    /// Whether an entry covers `line`.
    fn covers(&self, line: LineAddr) -> bool;

    /// Records that `sharer` reads or writes `line`.
    fn record(&mut self, line: LineAddr, sharer: u16) -> Recorded;

    /// `line` is written, by the sharer `writer` or else beside the directory: whose copies have to go. They are forgotten; the writer, which
    /// has been recorded, stays.
    fn write(&mut self, line: LineAddr, writer: Option<u16>) -> Stale;

    /// Forgets the entry that covers `line`: whose copies have to go, in groups of neighbouring lines.
    fn replace(&mut self, line: LineAddr, stale: impl FnMut(Stale));

    /// `sharer` holds nothing any more of what the entry of `line` covers.
    fn forget(&mut self, line: LineAddr, sharer: u16);

    /// The lines that one entry covers, `line` among them: the first, and how many.
    fn entry_of(&self, line: LineAddr) -> (LineAddr, u32);
}

/// Every entry covers a number of neighbouring lines with one set of sharers for all of them (HMG paper, section VI).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LineGroups {
    lines_per_entry: u32,
    /// By the number of the group.
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

/// Sets are found by the number of a group among those of the bank.
fn geometry(shape: DirectoryShape, topology: Topology) -> Geometry {
    let DirectoryShape { sets, ways, lines_per_entry, replacement } = shape;
    let block = (topology.interleave / lines_per_entry).max(1);
    Geometry { sets, ways, interleave: u32::from(topology.banks_per_module()), block, replacement }
}

impl Directory for LineGroups {
    fn new(config: &BuildConfig) -> Self {
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
        let slot = match self.entries.find(group) {
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
                    return Recorded::Full(LineAddr(victim.0 << self.lines_per_entry.trailing_zeros()));
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
}

/// Bits of one entry of [`LineGroups`]: a tag, a bit for each of `sharers`, and one for its state (HMG paper, section VII-C).
pub fn entry_bits(sharers: u32) -> u32 {
    TAG_BITS + sharers + 1
}

/// Sharers that an entry of HMG tells apart: the other modules of its GPU, and the other GPUs (HMG paper, section V-A).
pub fn hierarchical_sharers(gpus: u32, gpms: u32) -> u32 {
    gpus + gpms - 2
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::Replacement;
    use crate::parameter::Parameters;
    use crate::registry::CacheShape;

    fn directory(ways: u32, lines_per_entry: u32) -> LineGroups {
        let cache = CacheShape { sets: 1, ways: 1, mshrs: 1, replacement: Replacement::Lru };
        LineGroups::new(&BuildConfig {
            topology: Topology { interleave: 8, ..Topology::one_gpu(1, 1) },
            l1: cache,
            l2: cache,
            directory: DirectoryShape { sets: 1, ways, lines_per_entry, replacement: Replacement::Lru },
            waves: 1,
            fences: true,
            parameters: Parameters::default(),
            fault: None,
        })
    }

    fn members(sharers: Sharers) -> Vec<u16> {
        sharers.iter().map(|agent| agent.0).collect()
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

    #[test]
    fn storage_is_what_the_hmg_paper_computes() {
        let bits = entry_bits(hierarchical_sharers(4, 4));
        assert_eq!(bits, 55);
        assert_eq!(12 * 1024 * u64::from(bits) / 8, 84_480);
    }
}
