//! Directories: the caches that may hold copies of each line.
//!
//! A directory is a component of a home bank's controller. The controller says what happens to a line, and the
//! directory says whose copies this concerns. Sharers are positions. The protocol defines what a position stands for: a
//! module, a GPU, or either.
//!
//! There are three organisations behind one trait. [`LineGroups`] is that of the HMG paper and, with one line in every
//! entry, the baseline of the REC paper. [`RangeEntries`] is REC. [`Unbounded`] never replaces anything. Their cost is
//! in [`storage`].

pub mod line_groups;
pub mod range_entries;
pub mod storage;
pub mod unbounded;

use std::fmt::Debug;
use std::hash::Hash;

use crate::address::{AgentId, LineAddr, Topology};
use crate::cache::{Geometry, Replacement};
use crate::controller::Depth;
use crate::registry::{BuildConfig, DirectoryShape};
use crate::save::Restore;
use crate::sharers::Sharers;

pub use line_groups::LineGroups;
pub use range_entries::RangeEntries;
use storage::{EntryBits, Extent};
pub use unbounded::Unbounded;

/// The result of recording a sharer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recorded {
    /// The sharer is recorded.
    Done,
    /// Nothing changed, since the entry that covers this line must be replaced first.
    Full(LineAddr),
}

/// Copies that have to be invalidated: the copies of `lines` lines from `first` on that `sharers` hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stale {
    /// The first of the lines.
    pub first: LineAddr,
    /// The number of lines.
    pub lines: u32,
    /// The caches that may hold copies of them.
    pub sharers: Sharers,
}

impl Stale {
    /// Stale copies of one line.
    fn line(line: LineAddr, sharers: Sharers) -> Stale {
        Stale { first: line, lines: 1, sharers }
    }
}

/// The positions that sharers may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Positions {
    /// The number of positions, at most [`Sharers::CAPACITY`].
    pub count: u16,
    /// The positions of the directory's own bank, at least one. The bank never is a sharer of the lines that it tracks
    /// itself.
    pub own: Sharers,
}

impl Positions {
    /// The largest number of sharers.
    pub fn sharers(self) -> u32 {
        u32::from(self.count - self.own.len())
    }

    /// The number of a sharer among all positions but the own ones: for GPU 0, GPUs 1, 2 and 3 have the numbers 0, 1
    /// and 2 (REC paper, section 4.2).
    fn slot_of(self, sharer: u16) -> u32 {
        debug_assert!(sharer < self.count && !self.own.contains(AgentId(sharer)));
        u32::from(sharer) - self.own.iter().filter(|own| own.0 < sharer).count() as u32
    }

    /// The sharers whose slots are set in `slots`.
    fn at_slots(self, slots: u64) -> Sharers {
        let bits = self.own.iter().fold(slots, |bits, own| {
            let below = (1 << own.0) - 1;
            bits & below | (bits & !below) << 1
        });
        Sharers::from_bits(bits)
    }
}

/// An organisation of a directory's entries.
pub trait Directory: Clone + Debug + Eq + Hash + Restore + Send + Sync + 'static {
    /// Whether entries ever have to make room for others.
    const REPLACES_ENTRIES: bool = true;

    /// The empty directory of one bank, whose sharers take `positions`.
    fn new(config: &BuildConfig, positions: Positions) -> Self;

    /// The caches that may hold `line`.
    fn sharers(&self, line: LineAddr) -> Sharers;

    /// Whether the directory tracks `line`.
    fn covers(&self, line: LineAddr) -> bool;

    /// Records that `sharer` reads or writes `line`.
    fn record(&mut self, line: LineAddr, sharer: u16) -> Recorded;

    /// Notes that `line` is written, and returns the copies that have to be invalidated. The writer is the sharer
    /// `writer`, or else somebody beside the directory or beyond it. The invalidated sharers are forgotten. The writer
    /// has been recorded before and stays.
    fn write(&mut self, line: LineAddr, writer: Option<u16>) -> Stale;

    /// Forgets the whole entry that tracks `line`. Passes the copies that have to be invalidated to `stale`, in groups
    /// of neighbouring lines.
    fn replace(&mut self, line: LineAddr, stale: impl FnMut(Stale));

    /// Notes that `sharer` no longer holds any of the lines of [`Directory::entry_of`].
    fn forget(&mut self, line: LineAddr, sharer: u16);

    /// The lines that share one set of sharers with `line`, including `line` itself: the first of them, and their
    /// number. An invalidation concerns all of them together.
    fn entry_of(&self, line: LineAddr) -> (LineAddr, u32);

    /// Asks the host for what a search for the entry of `line` looks at, see [`crate::controller::Controller`].
    fn read_ahead(&self, _line: LineAddr, _depth: Depth) {}

    /// The fields of one entry, in bits.
    fn entry_bits(extent: &Extent) -> EntryBits;

    /// The bits of a whole directory, if its size is bounded.
    fn storage_bits(extent: &Extent) -> Option<u64> {
        Some(u64::from(extent.entries) * u64::from(Self::entry_bits(extent).total()))
    }
}

/// The organisations that a protocol can choose from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DirectoryKind {
    /// Entries of several lines with common sharers, see [`LineGroups`].
    LineGroups,
    /// Entries of an address range with sharers of each line, see [`RangeEntries`].
    Ranges,
    /// An entry for every line, see [`Unbounded`].
    Unbounded,
}

impl DirectoryKind {
    /// The fields of one entry, see [`Directory::entry_bits`].
    pub fn entry_bits(self, extent: &Extent) -> EntryBits {
        match self {
            DirectoryKind::LineGroups => LineGroups::entry_bits(extent),
            DirectoryKind::Ranges => RangeEntries::entry_bits(extent),
            DirectoryKind::Unbounded => Unbounded::entry_bits(extent),
        }
    }

    /// The bits of a whole directory, see [`Directory::storage_bits`].
    pub fn storage_bits(self, extent: &Extent) -> Option<u64> {
        match self {
            DirectoryKind::LineGroups => LineGroups::storage_bits(extent),
            DirectoryKind::Ranges => RangeEntries::storage_bits(extent),
            DirectoryKind::Unbounded => Unbounded::storage_bits(extent),
        }
    }
}

/// The array of a bank's entries. The set of an entry follows from the number of its lines among the lines of the bank.
fn geometry(shape: DirectoryShape, topology: Topology) -> Geometry {
    let DirectoryShape { sets, ways, lines_per_entry, replacement, .. } = shape;
    let replacement = replacement.unwrap_or(Replacement::Lru);
    let block = (topology.interleave / lines_per_entry).max(1);
    Geometry { sets, ways, interleave: u32::from(topology.banks_per_module()), block, replacement }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::Replacement;
    use crate::parameter::Parameters;
    use crate::read_only::ReadOnlyLines;
    use crate::registry::CacheShape;

    /// A bank that has nothing to do but keep a directory.
    pub fn config(directory: DirectoryShape) -> BuildConfig {
        let cache = CacheShape { sets: 1, ways: 1, mshrs: 1, replacement: Replacement::Lru };
        BuildConfig {
            topology: Topology { interleave: 64, ..Topology::one_gpu(1, 1) },
            l1: cache,
            l2: cache,
            l3: cache,
            directory,
            page_lines: 1,
            waves: 1,
            buffer_wave: None,
            fences: true,
            read_only: ReadOnlyLines::NONE,
            parameters: Parameters::default(),
            fault: None,
        }
    }

    /// The positions of `count` GPUs, the first of which is home.
    pub fn gpus(count: u16) -> Positions {
        Positions { count, own: Sharers::first(1) }
    }

    pub fn members(sharers: Sharers) -> Vec<u16> {
        sharers.iter().map(|agent| agent.0).collect()
    }

    #[test]
    fn slots_are_counted_without_the_own_positions() {
        let own = Sharers::from_bits(1 << 1 | 1 << 6);
        let positions = Positions { count: 8, own };
        assert_eq!(positions.sharers(), 6);
        assert_eq!([0, 2, 3, 4, 5, 7].map(|sharer| positions.slot_of(sharer)), [0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn every_slot_leads_back_to_its_sharer() {
        for own in [1, 1 << 63, 1 << 5 | 1 << 40, 1 | 1 << 63] {
            let positions = Positions { count: 64, own: Sharers::from_bits(own) };
            for sharer in (0..64).filter(|&sharer| !positions.own.contains(AgentId(sharer))) {
                assert_eq!(members(positions.at_slots(1 << positions.slot_of(sharer))), [sharer]);
            }
        }
    }
}
