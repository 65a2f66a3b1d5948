//! The set of states seen so far, with the parent of each.
//!
//! States lie in shards by their fingerprints, so that several threads can add to the set at once. Within a shard they
//! are numbered in the order of their arrival. A state is a sequence of integers, stored in as many bytes as each
//! integer needs, and compared by all of them. If asked for, only its fingerprint is stored, and its bytes no longer
//! than until the next level of the search is complete.

mod encodings;
mod index;

use self::encodings::Encodings;
use self::index::{Index, MOST_NUMBERS};
use crate::settings::Storage;

/// The number of shards of a set, a power of two.
pub const SHARDS: usize = 64;

const SHARD_BITS: u32 = SHARDS.trailing_zeros();

/// The number that stands for no state.
pub const NONE: u32 = u32::MAX;

/// The shard that a state with this fingerprint belongs to.
pub fn shard_of(fingerprint: u64) -> usize {
    (fingerprint >> (u64::BITS - SHARD_BITS)) as usize
}

/// The number of state `local` of shard `shard`.
pub fn number_of(shard: usize, local: usize) -> u32 {
    (local << SHARD_BITS | shard) as u32
}

/// The shard of a state, and its place there.
pub fn place_of(number: u32) -> (usize, usize) {
    (number as usize & (SHARDS - 1), number as usize >> SHARD_BITS)
}

/// A state that may be new, with the place of its encoding and its parent.
#[derive(Clone, Copy, Debug)]
pub struct Candidate {
    /// The fingerprint of its encoding.
    pub fingerprint: u64,
    /// The beginning of its encoding among those of others.
    pub start: u32,
    /// The end of its encoding.
    pub end: u32,
    /// The state from which it was reached.
    pub parent: u32,
    /// The place among the unforced moves that waits for its number, or none.
    pub unforced: u32,
}

/// A lookup of a state on its way, and its result.
#[derive(Clone, Copy, Debug)]
pub struct Lookup {
    /// The number of the state, or none.
    pub number: u32,
    /// The first state of the shard that may be the one, or none.
    guess: u32,
    /// The bytes before which those of the guess begin.
    before: u32,
}

impl Lookup {
    /// A lookup that has ended with this number, or with none.
    pub fn of(number: u32) -> Lookup {
        Lookup { number, guess: NONE, before: 0 }
    }
}

/// A state that was added, or that was there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inserted {
    /// Its number in the shard.
    pub local: usize,
    /// Whether it was not there.
    pub new: bool,
}

/// States in shards by their fingerprints.
#[derive(Clone, Debug)]
pub struct StateSet {
    shards: Vec<Shard>,
}

impl StateSet {
    /// A set without states.
    pub fn new(storage: Storage) -> StateSet {
        StateSet { shards: vec![Shard::new(storage); SHARDS] }
    }

    /// The number of states.
    pub fn len(&self) -> usize {
        self.shards.iter().map(Shard::len).sum()
    }

    /// Whether the set has no states.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of bytes held.
    pub fn bytes(&self) -> usize {
        self.shards.iter().map(Shard::bytes).sum()
    }

    /// Whether no shard is full.
    pub fn has_room(&self) -> bool {
        self.shards.iter().all(Shard::has_room)
    }

    /// The shards, to which states can be added.
    pub fn shards_mut(&mut self) -> &mut [Shard] {
        &mut self.shards
    }

    /// Whether whole states are kept for good.
    pub fn keeps_states(&self) -> bool {
        self.shards.iter().all(|shard| shard.storage == Storage::Exact)
    }

    /// The number of states in each shard.
    pub fn lengths(&self) -> Vec<usize> {
        self.shards.iter().map(Shard::len).collect()
    }

    /// The number of a state with this fingerprint and encoding.
    pub fn find(&self, fingerprint: u64, bytes: &[u8]) -> Option<u32> {
        let shard = shard_of(fingerprint);
        self.shards[shard].find(fingerprint, bytes).map(|local| number_of(shard, local))
    }

    /// Looks up many states, given with the bytes of their encodings. Each lookup waits for memory three times. They
    /// are done side by side, one kind of waiting after the other, so that they wait together.
    pub fn look_up(&self, candidates: &[Candidate], encoded: &[u8], lookups: &mut Vec<Lookup>) {
        let shard = |candidate: &Candidate| &self.shards[shard_of(candidate.fingerprint)];
        let touched = candidates.iter().map(|candidate| shard(candidate).index.touch(candidate.fingerprint));
        std::hint::black_box(touched.fold(0, |all, word| all ^ word));
        lookups.clear();
        lookups.extend(candidates.iter().map(|candidate| {
            let guess = shard(candidate).index.find(candidate.fingerprint, |_| true);
            Lookup { number: NONE, guess: guess.map_or(NONE, |guess| guess as u32), before: 0 }
        }));
        let guessed = |(_, lookup): &(&Candidate, &mut Lookup)| lookup.guess != NONE;
        if self.keeps_states() {
            for (candidate, lookup) in candidates.iter().zip(lookups.iter_mut()).filter(guessed) {
                lookup.before = shard(candidate).encodings.before(lookup.guess as usize);
            }
            let touched = candidates.iter().zip(lookups.iter_mut()).filter(guessed);
            let touched = touched.map(|(candidate, lookup)| shard(candidate).encodings.touch(lookup.before));
            std::hint::black_box(touched.fold(0, |all, byte| all ^ byte));
        }
        for (candidate, lookup) in candidates.iter().zip(lookups.iter_mut()).filter(guessed) {
            let bytes = &encoded[candidate.start as usize..candidate.end as usize];
            lookup.number = self.find(candidate.fingerprint, bytes).unwrap_or(NONE);
        }
    }

    /// Reads a state back, if it is still stored.
    pub fn get(&self, number: u32, state: &mut Vec<u32>) {
        let (shard, local) = place_of(number);
        decode(self.shards[shard].encodings.slice(local), state);
    }

    /// The parent of a state: the state from which it was first reached. Starts are their own parents.
    pub fn parent(&self, number: u32) -> u32 {
        let (shard, local) = place_of(number);
        self.shards[shard].parents[local]
    }

    /// Lets go of the bytes that need not be stored of states before `first` of each shard.
    pub fn forget_before(&mut self, first: &[usize]) {
        let forgetful = self.shards.iter_mut().zip(first).filter(|(shard, _)| shard.storage == Storage::Fingerprints);
        forgetful.for_each(|(shard, &first)| shard.encodings.forget_before(first));
    }
}

/// States whose fingerprints begin alike.
#[derive(Clone, Debug)]
pub struct Shard {
    storage: Storage,
    index: Index,
    encodings: Encodings,
    /// The fingerprints of all states, where only they are stored.
    fingerprints: Vec<u64>,
    parents: Vec<u32>,
}

impl Shard {
    fn new(storage: Storage) -> Shard {
        Shard {
            storage,
            index: Index::new(),
            encodings: Encodings::default(),
            fingerprints: Vec::new(),
            parents: Vec::new(),
        }
    }

    /// The number of states in the shard.
    pub fn len(&self) -> usize {
        self.parents.len()
    }

    /// Whether the shard has no states.
    pub fn is_empty(&self) -> bool {
        self.parents.is_empty()
    }

    fn bytes(&self) -> usize {
        let words = self.parents.capacity() * size_of::<u32>() + self.fingerprints.capacity() * size_of::<u64>();
        self.index.bytes() + self.encodings.bytes() + words
    }

    fn has_room(&self) -> bool {
        self.len() < MOST_NUMBERS / 8 * 7 && self.encodings.has_room()
    }

    /// Adds a state, unless it is there or the shard is full.
    pub fn insert(&mut self, fingerprint: u64, bytes: &[u8], parent: u32) -> Option<Inserted> {
        let local = self.len();
        if let Some(local) = self.find(fingerprint, bytes) {
            return Some(Inserted { local, new: false });
        }
        if local >= MOST_NUMBERS || !self.encodings.has_room() {
            return None;
        }
        self.encodings.push(bytes);
        make_room(&mut self.parents, 1);
        self.parents.push(parent);
        if self.storage == Storage::Fingerprints {
            make_room(&mut self.fingerprints, 1);
            self.fingerprints.push(fingerprint);
        }
        if self.index.is_full(local) {
            let Shard { storage, index, encodings, fingerprints, .. } = self;
            match storage {
                Storage::Exact => index.grow(encodings.all().map(crate::hashing::fingerprint)),
                Storage::Fingerprints => index.grow(fingerprints.iter().copied()),
            }
        } else {
            self.index.insert(fingerprint, local);
        }
        Some(Inserted { local, new: true })
    }

    fn find(&self, fingerprint: u64, bytes: &[u8]) -> Option<usize> {
        self.index.find(fingerprint, |local| match self.storage {
            Storage::Exact => self.encodings.slice(local) == bytes,
            Storage::Fingerprints => self.fingerprints[local] == fingerprint,
        })
    }

    /// Reads a state back, if it is still stored.
    pub fn get(&self, local: usize, state: &mut Vec<u32>) {
        decode(self.encodings.slice(local), state);
    }
}

/// Grows by an eighth, since doubling would leave half of a large list unused.
pub(crate) fn make_room<T>(list: &mut Vec<T>, more: usize) {
    if list.capacity() - list.len() < more {
        list.reserve_exact((list.len() / 8).max(more).max(64));
    }
}

/// The numbers of one byte, and those of two.
const SHORT: u32 = 192;
const MIDDLE: u32 = SHORT + 63 * 256;
/// The first byte of a number of five bytes.
const LONG: u8 = u8::MAX;

/// Encodes a state. A number takes one byte if it is small, two if it is not large, and else five.
pub fn encode(state: &[u32], bytes: &mut Vec<u8>) {
    bytes.clear();
    for &word in state {
        if word < SHORT {
            bytes.push(word as u8);
        } else if word < MIDDLE {
            let [low, high, ..] = (word - SHORT).to_le_bytes();
            bytes.extend([SHORT as u8 + high, low]);
        } else {
            bytes.push(LONG);
            bytes.extend(word.to_le_bytes());
        }
    }
}

/// Decodes the numbers of a state.
pub fn decode(bytes: &[u8], state: &mut Vec<u32>) {
    state.clear();
    let mut rest = bytes;
    loop {
        let (word, behind) = match *rest {
            [LONG, a, b, c, d, ..] => (u32::from_le_bytes([a, b, c, d]), &rest[5..]),
            [first, ..] if u32::from(first) < SHORT => (u32::from(first), &rest[1..]),
            [first, low, ..] => (SHORT + (u32::from(first) - SHORT) * 256 + u32::from(low), &rest[2..]),
            [] | [_] => return,
        };
        state.push(word);
        rest = behind;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hashing::fingerprint;
    use proptest::prelude::*;

    fn insert(set: &mut StateSet, state: &[u32], parent: u32) -> (u32, bool) {
        let mut bytes = Vec::new();
        encode(state, &mut bytes);
        let hash = fingerprint(&bytes);
        let shard = shard_of(hash);
        let new = set.shards_mut()[shard].insert(hash, &bytes, parent).unwrap().new;
        (set.find(hash, &bytes).unwrap(), new)
    }

    proptest! {
        #[test]
        fn a_state_is_new_exactly_once_and_reads_back(states in prop::collection::vec(prop::collection::vec(any::<u32>(), 0..6), 1..200)) {
            let mut set = StateSet::new(Storage::Exact);
            let mut seen: Vec<(Vec<u32>, u32)> = Vec::new();
            for (parent, state) in states.iter().enumerate() {
                let known = seen.iter().find(|(earlier, _)| earlier == state).map(|(_, number)| *number);
                let (number, new) = insert(&mut set, state, parent as u32);
                prop_assert_eq!(new, known.is_none());
                prop_assert_eq!(number, known.unwrap_or(number));
                if new {
                    prop_assert_eq!(set.parent(number), parent as u32);
                    seen.push((state.clone(), number));
                }
                let mut back = Vec::new();
                set.get(number, &mut back);
                prop_assert_eq!(&back, state);
            }
            prop_assert_eq!(set.len(), seen.len());
        }
    }

    #[test]
    fn growing_keeps_every_state_findable() {
        for storage in [Storage::Exact, Storage::Fingerprints] {
            let mut set = StateSet::new(storage);
            let numbers: Vec<u32> = (0..10_000).map(|value| insert(&mut set, &[value, value / 3], 0).0).collect();
            for value in 0..10_000 {
                assert_eq!(insert(&mut set, &[value, value / 3], 0), (numbers[value as usize], false));
            }
        }
    }

    #[test]
    fn fingerprints_stay_when_states_are_let_go() {
        let mut set = StateSet::new(Storage::Fingerprints);
        assert!((0..1000).all(|value| insert(&mut set, &[value; 20], 0).1));
        let (level, before) = (set.lengths(), set.bytes());
        assert!((1000..1010).all(|value| insert(&mut set, &[value; 20], 0).1));
        set.forget_before(&level);
        assert!(set.bytes() <= before + 64 * 64 * 24);
        let (number, new) = insert(&mut set, &[1005; 20], 0);
        let mut state = Vec::new();
        set.get(number, &mut state);
        assert_eq!((new, state), (false, vec![1005; 20]));
        assert!((0..1010).all(|value| !insert(&mut set, &[value; 20], 0).1));
    }
}
