//! What a DeNovo cache knows of the words of a line. Sets of words have one bit for each.

use crate::line::LineData;

/// The words of a line that has a place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Words {
    /// Words in V.
    pub valid: u32,
    /// Words in O.
    pub owned: u32,
    /// Whether something is outstanding for the line, which keeps its place.
    pub is_pending: bool,
    /// Whether nobody writes the line, so that its copies stay valid.
    pub is_read_only: bool,
    /// Whether owned words have been used again, where the cache learns from that.
    pub is_reused: bool,
}

/// What is outstanding for a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pending<const W: usize> {
    /// Accesses that wait.
    pub waiting: u32,
    /// Words of the outstanding ReqV that have not come.
    pub reading: u32,
    /// Whether an acquire came after the ReqV was sent.
    pub is_stale: bool,
    /// Of a stale ReqV: how many of the accesses that wait, the first ones, did so when the acquire came.
    pub old: u32,
    /// Words that the answer to the ReqV may bring from before a write of this cache.
    pub skipped: u32,
    /// Words with a ReqO outstanding. Their data is here.
    pub owning: u32,
    /// Words with a ReqO+data outstanding.
    pub fetching: u32,
    /// Words on their way, or with a ReqO outstanding, that have been given to another already.
    pub lost: u32,
    /// Words with a ReqWT or ReqWT+data outstanding.
    pub through: u32,
    /// The words that the access that has waited longest is done with.
    pub done: u32,
    /// Words of a write-back that nobody has taken yet. The line has no place then.
    pub written_back: u32,
    /// Whether the LLC has not seen the write-back yet. The network keeps no order, and the LLC must not find it after the next request of this cache.
    pub is_on_its_way: bool,
    /// What the access that has waited longest has read, or the data of the write-back.
    pub data: LineData<W>,
}

impl<const W: usize> Pending<W> {
    /// Nothing.
    pub fn new() -> Self {
        Pending {
            waiting: 0,
            reading: 0,
            is_stale: false,
            old: 0,
            skipped: 0,
            owning: 0,
            fetching: 0,
            lost: 0,
            through: 0,
            done: 0,
            written_back: 0,
            is_on_its_way: false,
            data: LineData::default(),
        }
    }

    /// Words whose state another write has to wait for.
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

    /// Whether words are on their way that serve those who wait already and nobody else.
    pub fn is_given_away(&self) -> bool {
        self.lost & (self.reading | self.fetching) != 0
    }

    /// Whether accesses that come now have to wait outside.
    pub fn holds_off(&self) -> bool {
        self.is_leaving() || self.is_given_away()
    }

    /// Words of the ReqV have come or are owned.
    pub fn read(&mut self, words: u32) {
        self.reading &= !words;
        if self.reading == 0 {
            (self.is_stale, self.old, self.skipped) = (false, 0, 0);
        }
    }

    /// The cache is about to write words, which an answer on its way may bring as they were.
    pub fn skip(&mut self, words: u32) {
        if self.reading != 0 {
            self.skipped |= words;
        }
    }
}
