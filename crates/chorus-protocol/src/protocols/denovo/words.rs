//! A DeNovo cache's knowledge of the words of a line. Sets of words have one bit for each word.

use crate::line::LineData;
use crate::save::{self, Save};

/// The states of the words of a resident line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Save)]
pub struct Words {
    /// Words in state V.
    pub valid: u32,
    /// Words in state O.
    pub owned: u32,
    /// Whether something is outstanding for the line. Then the line keeps its place.
    pub is_pending: bool,
    /// Whether nobody writes the line. Then its copies stay valid.
    pub is_read_only: bool,
    /// Whether owned words have been used again. Only caches that learn from this note it.
    pub is_reused: bool,
}

/// The requests that are outstanding for a line, and the accesses that wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Save)]
pub struct Pending<const W: usize> {
    /// The number of accesses that wait.
    pub waiting: u32,
    /// Words of the outstanding ReqV that have not come.
    pub reading: u32,
    /// Whether an acquire came after the ReqV was sent.
    pub is_stale: bool,
    /// For a stale ReqV, the number of accesses that already waited when the acquire came. They are the first of those
    /// that wait.
    pub old: u32,
    /// Words for which the answer to the ReqV may bring values from before a write of this cache.
    pub skipped: u32,
    /// Words with a ReqO outstanding. Their data is already here.
    pub owning: u32,
    /// Words with a ReqO+data outstanding.
    pub fetching: u32,
    /// Words with a ReqWT or ReqWT+data outstanding.
    pub through: u32,
    /// The words that the access that has waited longest has already read or updated.
    pub done: u32,
    /// Words of a write-back that nobody has taken yet. While there are some, the line has no place.
    pub written_back: u32,
    /// Whether the LLC has not seen the write-back yet. The network keeps no order, and the write-back must not reach
    /// the LLC after the next request of this cache.
    pub is_on_its_way: bool,
    /// The values read so far by the access that has waited longest, or the data of the write-back.
    pub data: LineData<W>,
}

impl<const W: usize> Pending<W> {
    /// A register for which nothing is outstanding.
    pub fn new() -> Self {
        Pending {
            waiting: 0,
            reading: 0,
            is_stale: false,
            old: 0,
            skipped: 0,
            owning: 0,
            fetching: 0,
            through: 0,
            done: 0,
            written_back: 0,
            is_on_its_way: false,
            data: LineData::default(),
        }
    }

    /// Words that have a request outstanding, for which another write has to wait.
    pub fn unsettled(&self) -> u32 {
        self.reading | self.owning | self.fetching | self.through
    }

    /// Words that this cache is writing.
    pub fn writing(&self) -> u32 {
        self.owning | self.fetching | self.through
    }

    /// Whether nothing is outstanding.
    pub fn is_idle(&self) -> bool {
        self.waiting == 0 && self.unsettled() == 0 && self.written_back == 0 && !self.is_on_its_way
    }

    /// Whether the line is being written back.
    pub fn is_leaving(&self) -> bool {
        self.written_back != 0 || self.is_on_its_way
    }

    /// Notes that words of the ReqV have come or are owned.
    pub fn read(&mut self, words: u32) {
        self.reading &= !words;
        if self.reading == 0 {
            (self.is_stale, self.old, self.skipped) = (false, 0, 0);
        }
    }

    /// Notes that the cache is about to write words. An answer on its way may bring their old values, which must not be
    /// kept.
    pub fn skip(&mut self, words: u32) {
        if self.reading != 0 {
            self.skipped |= words;
        }
    }
}

/// The first words of all pairs.
const FIRST: u32 = u32::MAX / 3;

/// The words whose neighbour in their pair is among them, too.
pub(super) fn whole_pairs(words: u32) -> u32 {
    (words & words >> 1 & FIRST) * 3
}

/// The words of pairs that have any word among these.
pub(super) fn pairs_of(words: u32) -> u32 {
    ((words | words >> 1) & FIRST) * 3
}
