//! A directory that has room for every line. Copies are invalidated when their line is written, and for no other reason
//! (REC paper, section 3.3).
//!
//! Its entries never leave for lack of room. This holds in explorations, too, where the entries of other directories
//! may leave at any time.

use std::collections::BTreeMap;

use crate::address::{AgentId, LineAddr};
use crate::directory::storage::{EntryBits, Extent};
use crate::directory::{Directory, LineGroups, Positions, Recorded, Stale};
use crate::registry::BuildConfig;
use crate::save::{self, Save};
use crate::sharers::Sharers;

/// The sharers of every line that has some.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Save)]
pub struct Unbounded {
    lines: BTreeMap<LineAddr, Sharers>,
}

impl Unbounded {
    /// Makes `sharers` the only sharers of the line. Without any, the line is no longer tracked.
    fn keep(&mut self, line: LineAddr, sharers: Sharers) {
        if sharers.is_empty() {
            self.lines.remove(&line);
        } else {
            self.lines.insert(line, sharers);
        }
    }
}

impl Directory for Unbounded {
    const REPLACES_ENTRIES: bool = false;

    fn new(_: &BuildConfig, _: Positions) -> Self {
        Unbounded::default()
    }

    fn sharers(&self, line: LineAddr) -> Sharers {
        self.lines.get(&line).copied().unwrap_or(Sharers::NONE)
    }

    fn covers(&self, line: LineAddr) -> bool {
        self.lines.contains_key(&line)
    }

    fn record(&mut self, line: LineAddr, sharer: u16) -> Recorded {
        self.lines.entry(line).or_default().insert(AgentId(sharer));
        Recorded::Done
    }

    fn write(&mut self, line: LineAddr, writer: Option<u16>) -> Stale {
        let sharers = self.sharers(line);
        self.keep(line, writer.map_or(Sharers::NONE, |writer| sharers.only(AgentId(writer))));
        Stale::line(line, writer.map_or(sharers, |writer| sharers.without(AgentId(writer))))
    }

    fn replace(&mut self, line: LineAddr, mut stale: impl FnMut(Stale)) {
        if let Some(sharers) = self.lines.remove(&line) {
            stale(Stale::line(line, sharers));
        }
    }

    fn forget(&mut self, line: LineAddr, sharer: u16) {
        self.keep(line, self.sharers(line).without(AgentId(sharer)));
    }

    fn entry_of(&self, line: LineAddr) -> (LineAddr, u32) {
        (line, 1)
    }

    /// A line costs as much as an entry of the baseline.
    fn entry_bits(extent: &Extent) -> EntryBits {
        LineGroups::entry_bits(extent)
    }

    fn storage_bits(_: &Extent) -> Option<u64> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::directory::tests::members;

    #[test]
    fn there_is_room_for_every_line() {
        let mut directory = Unbounded::default();
        assert!((0..10_000).all(|line| directory.record(LineAddr(line), 1) == Recorded::Done));
        assert!((0..10_000).all(|line| members(directory.sharers(LineAddr(line))) == [1]));
    }

    #[test]
    fn a_write_concerns_the_other_sharers_of_its_line() {
        let mut directory = Unbounded::default();
        for (line, sharer) in [(4, 1), (4, 2), (5, 3)] {
            assert_eq!(directory.record(LineAddr(line), sharer), Recorded::Done);
        }
        let stale = directory.write(LineAddr(4), Some(2));
        assert_eq!((stale.first, stale.lines, members(stale.sharers)), (LineAddr(4), 1, vec![1]));
        assert_eq!(members(directory.write(LineAddr(4), None).sharers), [2]);
        assert!(!directory.covers(LineAddr(4)) && directory.covers(LineAddr(5)));
    }

    #[test]
    fn a_line_that_its_last_sharer_leaves_is_not_tracked() {
        let mut directory = Unbounded::default();
        assert_eq!(directory.record(LineAddr(4), 1), Recorded::Done);
        directory.forget(LineAddr(4), 1);
        assert_eq!(directory, Unbounded::default());
    }
}
