//! The places of states by their fingerprints.
//!
//! Entries lie in groups of one cache line. The fingerprint chooses the group where the search for a state begins. An
//! entry holds eight more bits of the fingerprint, so that few wrong states are looked at, and the state's number.
//! Groups are filled from their beginning, and what does not fit goes to the next group. So a search ends at the first
//! group that is not full. Nine tenths of all entries may be in use, and hardly a search goes past one group.

const NUMBER_BITS: u32 = 24;
const EMPTY: u32 = u32::MAX;
const ENTRIES: usize = 16;

/// The place among a fingerprint's bits of those that entries hold. Those above choose the shard, the lowest the group.
const TAG_AT: u32 = 50;

/// The most states of an index. Numbers have 24 bits, and one of them means none.
pub const MOST_NUMBERS: usize = (1 << NUMBER_BITS) - 2;

#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Group([u32; ENTRIES]);

#[derive(Clone, Debug)]
pub struct Index {
    groups: Vec<Group>,
}

impl Group {
    /// The entries that may stand for a state with this tag, one bit each.
    fn alike(&self, tag: u32) -> u32 {
        self.0.iter().enumerate().fold(0, |bits, (place, &entry)| bits | u32::from(entry >> NUMBER_BITS == tag) << place)
    }

    fn is_full(&self) -> bool {
        self.0[ENTRIES - 1] != EMPTY
    }
}

fn tag_of(fingerprint: u64) -> u32 {
    (fingerprint >> TAG_AT) as u32 & 0xFF
}

impl Index {
    /// An index without states.
    pub fn new() -> Index {
        Index { groups: vec![Group([EMPTY; ENTRIES])] }
    }

    pub fn bytes(&self) -> usize {
        self.groups.capacity() * size_of::<Group>()
    }

    /// Whether one more than `states` states are too many.
    pub fn is_full(&self, states: usize) -> bool {
        states * 10 >= self.groups.len() * ENTRIES * 9
    }

    fn group_of(&self, fingerprint: u64) -> usize {
        ((fingerprint & u64::from(u32::MAX)) * self.groups.len() as u64 >> u32::BITS) as usize
    }

    /// Reads the entries that a search begins with, so that they are near afterwards.
    pub fn touch(&self, fingerprint: u64) -> u32 {
        self.groups[self.group_of(fingerprint)].0[0]
    }

    /// The first state that may be the one, or none.
    pub fn guess(&self, fingerprint: u64) -> u32 {
        let mut guess = EMPTY;
        self.find(fingerprint, |number| {
            guess = number as u32;
            true
        });
        guess
    }

    /// The first state with this fingerprint that `is_it` accepts.
    #[inline]
    pub fn find(&self, fingerprint: u64, mut is_it: impl FnMut(usize) -> bool) -> Option<usize> {
        let (mut place, tag) = (self.group_of(fingerprint), tag_of(fingerprint));
        loop {
            let group = &self.groups[place];
            let mut alike = group.alike(tag);
            while alike != 0 {
                let entry = group.0[alike.trailing_zeros() as usize];
                let number = (entry & ((1 << NUMBER_BITS) - 1)) as usize;
                if entry != EMPTY && is_it(number) {
                    return Some(number);
                }
                alike &= alike - 1;
            }
            if !group.is_full() {
                return None;
            }
            place = if place + 1 == self.groups.len() { 0 } else { place + 1 };
        }
    }

    /// Adds a state that is not there.
    pub fn insert(&mut self, fingerprint: u64, number: usize) {
        let mut place = self.group_of(fingerprint);
        while self.groups[place].is_full() {
            place = if place + 1 == self.groups.len() { 0 } else { place + 1 };
        }
        if let Some(free) = self.groups[place].0.iter_mut().find(|entry| **entry == EMPTY) {
            *free = tag_of(fingerprint) << NUMBER_BITS | number as u32;
        }
    }

    /// Makes room for a third more, and adds all states anew, whose fingerprints are given in their order.
    pub fn grow(&mut self, fingerprints: impl Iterator<Item = u64>) {
        let groups = self.groups.len() + self.groups.len() / 3 + 1;
        self.groups = Vec::new();
        self.groups.resize(groups, Group([EMPTY; ENTRIES]));
        fingerprints.enumerate().for_each(|(number, fingerprint)| self.insert(fingerprint, number));
    }
}
