//! The places of states by their fingerprints.
//!
//! Entries lie in groups of one cache line. The fingerprint chooses the group where the search for a state begins. An
//! entry is a tag, eight more bits of the fingerprint, so that few wrong states are looked at, and the state's number.
//! Groups are filled from their beginning, and what does not fit goes to the next group. So a search ends at the first
//! group that is not full. Nine tenths of all entries may be in use, and hardly a search goes past one group.

const ENTRIES: usize = 16;
const NUMBER_BYTES: usize = 3;
/// The tag of an entry that is not in use.
const FREE: u8 = 0;

/// The place among a fingerprint's bits of those that make the tag. Those above choose the shard, the lowest the group.
const TAG_AT: u32 = 50;

/// The most states of an index.
pub const MOST_NUMBERS: usize = 1 << (8 * NUMBER_BYTES);

/// Entries in one cache line: first all tags, so that they are compared together, then all numbers.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Group {
    tags: [u8; ENTRIES],
    numbers: [[u8; NUMBER_BYTES]; ENTRIES],
}

#[derive(Clone, Debug)]
pub struct Index {
    groups: Vec<Group>,
}

impl Group {
    const EMPTY: Group = Group { tags: [FREE; ENTRIES], numbers: [[0; NUMBER_BYTES]; ENTRIES] };

    /// The entries that may have a tag: the top bit of each entry's byte. An entry above one that has it may be among
    /// them without having it.
    fn alike(&self, tag: u8) -> u128 {
        const EACH: u128 = u128::MAX / 0xFF;
        let differences = u128::from_le_bytes(self.tags) ^ (u128::from(tag) * EACH);
        differences.wrapping_sub(EACH) & !differences & (EACH << 7)
    }

    fn is_full(&self) -> bool {
        self.tags[ENTRIES - 1] != FREE
    }

    fn number(&self, entry: usize) -> usize {
        let [low, middle, high] = self.numbers[entry];
        u32::from_le_bytes([low, middle, high, 0]) as usize
    }
}

fn tag_of(fingerprint: u64) -> u8 {
    ((fingerprint >> TAG_AT) as u8).max(FREE + 1)
}

impl Index {
    /// An index without states.
    pub fn new() -> Index {
        Index { groups: vec![Group::EMPTY] }
    }

    pub fn bytes(&self) -> usize {
        self.groups.capacity() * size_of::<Group>()
    }

    /// Whether one more than `states` states are too many.
    pub fn is_full(&self, states: usize) -> bool {
        states * 10 >= self.groups.len() * ENTRIES * 9
    }

    fn group_of(&self, fingerprint: u64) -> usize {
        (((fingerprint & u64::from(u32::MAX)) * self.groups.len() as u64) >> u32::BITS) as usize
    }

    fn after(&self, group: usize) -> usize {
        if group + 1 == self.groups.len() { 0 } else { group + 1 }
    }

    /// Reads the entries that a search begins with, so that they are near afterwards.
    pub fn touch(&self, fingerprint: u64) -> u8 {
        self.groups[self.group_of(fingerprint)].tags[0]
    }

    /// The first state with this fingerprint that `is_it` accepts. It may be asked for states with others, too.
    #[inline]
    pub fn find(&self, fingerprint: u64, mut is_it: impl FnMut(usize) -> bool) -> Option<usize> {
        let (mut place, tag) = (self.group_of(fingerprint), tag_of(fingerprint));
        loop {
            let group = &self.groups[place];
            let mut alike = group.alike(tag);
            while alike != 0 {
                let number = group.number(alike.trailing_zeros() as usize / 8);
                if is_it(number) {
                    return Some(number);
                }
                alike &= alike - 1;
            }
            if !group.is_full() {
                return None;
            }
            place = self.after(place);
        }
    }

    /// Adds a state that is not there.
    pub fn insert(&mut self, fingerprint: u64, number: usize) {
        let mut place = self.group_of(fingerprint);
        while self.groups[place].is_full() {
            place = self.after(place);
        }
        let group = &mut self.groups[place];
        let used = group.tags.iter().take_while(|&&tag| tag != FREE).count();
        let [low, middle, high, _] = (number as u32).to_le_bytes();
        group.tags[used] = tag_of(fingerprint);
        group.numbers[used] = [low, middle, high];
    }

    /// Makes room for a third more, and adds all states anew, whose fingerprints are given in their order.
    pub fn grow(&mut self, fingerprints: impl Iterator<Item = u64>) {
        let groups = self.groups.len() + self.groups.len() / 3 + 1;
        self.groups = Vec::new();
        self.groups.resize(groups, Group::EMPTY);
        fingerprints.enumerate().for_each(|(number, fingerprint)| self.insert(fingerprint, number));
    }
}
