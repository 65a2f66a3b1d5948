//! The set of states seen so far, with the parent of each.
//!
//! States lie in shards by their fingerprints, so that several threads can add to the set at once. Within a shard they
//! are numbered in the order of their arrival. A state is a sequence of integers, stored in as many bytes as each
//! integer needs, and compared by all of them. If asked for, only its fingerprint is stored, and its bytes no longer
//! than until the next level of the search is complete.

use std::ops::Range;

use crate::settings::Storage;

/// The number of shards of a set, a power of two.
pub const SHARDS: usize = 64;

const SHARD_BITS: u32 = SHARDS.trailing_zeros();
const NUMBER_BITS: u32 = 24;
const EMPTY: u32 = u32::MAX;

/// The most states of a shard. Numbers have 24 bits, and one of them means none.
const MOST_STATES: usize = (1 << NUMBER_BITS) - 2;
/// The most bytes of a shard. Places have 32 bits, and a state is far shorter than the room left free.
const MOST_BYTES: usize = (1 << 32) - (1 << 20);

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
}

/// The place of a candidate, if it is in the set.
#[derive(Clone, Copy, Debug)]
pub struct Guess {
    entry: u32,
    start: u32,
    end: u32,
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

    /// Leaves the candidates that are not in the set. Each lookup waits for memory three times. The lookups of many
    /// candidates are done side by side, one kind of waiting after the other, so that they wait together.
    pub fn keep_new(&self, candidates: &mut Vec<Candidate>, encoded: &[u8], guesses: &mut Vec<Guess>) {
        guesses.clear();
        guesses.extend(candidates.iter().map(|candidate| {
            let shard = &self.shards[shard_of(candidate.fingerprint)];
            Guess { entry: shard.guess(candidate.fingerprint), start: 0, end: 0 }
        }));
        for (candidate, guess) in candidates.iter().zip(guesses.iter_mut()) {
            let shard = &self.shards[shard_of(candidate.fingerprint)];
            if shard.storage == Storage::Exact && alike(guess.entry, candidate.fingerprint) {
                let range = shard.range(local_of(guess.entry));
                (guess.start, guess.end) = (range.start as u32, range.end as u32);
            }
        }
        let mut guesses = guesses.iter();
        candidates.retain(|candidate| {
            let bytes = &encoded[candidate.start as usize..candidate.end as usize];
            let shard = &self.shards[shard_of(candidate.fingerprint)];
            match guesses.next() {
                Some(guess) if guess.entry == EMPTY => true,
                Some(&Guess { start, end, .. }) if end > 0 && shard.bytes[start as usize..end as usize] == *bytes => {
                    false
                }
                Some(_) | None => shard.find(candidate.fingerprint, bytes).is_none(),
            }
        });
    }

    /// Reads a state back, if it is still stored.
    pub fn get(&self, number: u32, state: &mut Vec<u32>) {
        let (shard, local) = place_of(number);
        decode(self.shards[shard].slice(local), state);
    }

    /// The parent of a state: the state from which it was first reached. Starts are their own parents.
    pub fn parent(&self, number: u32) -> u32 {
        let (shard, local) = place_of(number);
        self.shards[shard].parents[local]
    }

    /// Lets go of the bytes that need not be stored of states before `first` of each shard.
    pub fn forget_before(&mut self, first: &[usize]) {
        self.shards.iter_mut().zip(first).for_each(|(shard, &first)| shard.forget_before(first));
    }
}

/// States whose fingerprints begin alike.
#[derive(Clone, Debug)]
pub struct Shard {
    storage: Storage,
    bytes: Vec<u8>,
    /// The end of each state's bytes, from state `first_stored` on.
    ends: Vec<u32>,
    first_stored: usize,
    /// The fingerprints of all states, where only they are stored.
    fingerprints: Vec<u64>,
    parents: Vec<u32>,
    /// Open addressing: the upper byte of an entry is part of the fingerprint, the rest the state's number.
    index: Vec<u32>,
}

impl Shard {
    fn new(storage: Storage) -> Shard {
        Shard {
            storage,
            bytes: Vec::new(),
            ends: Vec::new(),
            first_stored: 0,
            fingerprints: Vec::new(),
            parents: Vec::new(),
            index: vec![EMPTY; 64],
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
        let words = self.ends.capacity() + self.parents.capacity() + self.index.capacity();
        self.bytes.capacity() + words * size_of::<u32>() + self.fingerprints.capacity() * size_of::<u64>()
    }

    fn has_room(&self) -> bool {
        self.len() < MOST_STATES / 8 * 7 && self.bytes.len() < MOST_BYTES / 8 * 7
    }

    /// Adds a state. Returns its number if it is new.
    pub fn insert(&mut self, fingerprint: u64, bytes: &[u8], parent: u32) -> Option<usize> {
        if self.len() * 4 >= self.index.len() * 3 {
            self.grow();
        }
        let position = self.position(fingerprint, bytes);
        if self.index[position] != EMPTY || self.len() >= MOST_STATES || self.bytes.len() >= MOST_BYTES {
            return None;
        }
        let local = self.len();
        self.index[position] = entry(fingerprint, local);
        make_room(&mut self.bytes, bytes.len());
        make_room(&mut self.ends, 1);
        make_room(&mut self.parents, 1);
        self.bytes.extend_from_slice(bytes);
        self.ends.push(self.bytes.len() as u32);
        self.parents.push(parent);
        if self.storage == Storage::Fingerprints {
            make_room(&mut self.fingerprints, 1);
            self.fingerprints.push(fingerprint);
        }
        Some(local)
    }

    fn find(&self, fingerprint: u64, bytes: &[u8]) -> Option<usize> {
        match self.index[self.position(fingerprint, bytes)] {
            EMPTY => None,
            entry => Some(local_of(entry)),
        }
    }

    /// The first entry that may stand for a state with this fingerprint, or an empty one.
    fn guess(&self, fingerprint: u64) -> u32 {
        let mask = self.index.len() - 1;
        let mut position = fingerprint as usize & mask;
        loop {
            let found = self.index[position];
            if found == EMPTY || alike(found, fingerprint) {
                return found;
            }
            position = (position + 1) & mask;
        }
    }

    /// The place in the index of a state, or the place where it would be.
    fn position(&self, fingerprint: u64, bytes: &[u8]) -> usize {
        let mask = self.index.len() - 1;
        let mut position = fingerprint as usize & mask;
        loop {
            let found = self.index[position];
            if found == EMPTY || (alike(found, fingerprint) && self.equals(local_of(found), fingerprint, bytes)) {
                return position;
            }
            position = (position + 1) & mask;
        }
    }

    fn equals(&self, local: usize, fingerprint: u64, bytes: &[u8]) -> bool {
        match self.storage {
            Storage::Exact => self.slice(local) == bytes,
            Storage::Fingerprints => self.fingerprints[local] == fingerprint,
        }
    }

    /// Reads a state back, if it is still stored.
    pub fn get(&self, local: usize, state: &mut Vec<u32>) {
        decode(self.slice(local), state);
    }

    fn slice(&self, local: usize) -> &[u8] {
        &self.bytes[self.range(local)]
    }

    fn range(&self, local: usize) -> Range<usize> {
        let place = local - self.first_stored;
        let start = if place == 0 { 0 } else { self.ends[place - 1] as usize };
        start..self.ends[place] as usize
    }

    fn forget_before(&mut self, first: usize) {
        if self.storage == Storage::Exact || first <= self.first_stored {
            return;
        }
        let count = first - self.first_stored;
        let dropped = self.ends[count - 1];
        self.bytes.drain(..dropped as usize);
        self.ends.drain(..count);
        self.ends.iter_mut().for_each(|end| *end -= dropped);
        self.first_stored = first;
    }

    fn grow(&mut self) {
        let mut larger = vec![EMPTY; self.index.len() * 2];
        let mask = larger.len() - 1;
        for local in 0..self.len() {
            let fingerprint = match self.storage {
                Storage::Exact => crate::hashing::fingerprint(self.slice(local)),
                Storage::Fingerprints => self.fingerprints[local],
            };
            let mut position = fingerprint as usize & mask;
            while larger[position] != EMPTY {
                position = (position + 1) & mask;
            }
            larger[position] = entry(fingerprint, local);
        }
        self.index = larger;
    }
}

fn entry(fingerprint: u64, local: usize) -> u32 {
    let tag = (fingerprint >> (u64::BITS - SHARD_BITS - 8)) as u32 & 0xFF;
    tag << NUMBER_BITS | local as u32
}

/// Whether an entry may stand for a state with this fingerprint.
fn alike(found: u32, fingerprint: u64) -> bool {
    found != EMPTY && (found ^ entry(fingerprint, 0)) >> NUMBER_BITS == 0
}

fn local_of(entry: u32) -> usize {
    (entry & ((1 << NUMBER_BITS) - 1)) as usize
}

/// Grows by a quarter, since doubling would leave half of a large set unused.
fn make_room<T>(list: &mut Vec<T>, more: usize) {
    if list.capacity() - list.len() < more {
        list.reserve_exact((list.len() / 4).max(more).max(64));
    }
}

/// Encodes a state with seven bits to a byte, the least significant first; the top bit says that more follow.
pub fn encode(state: &[u32], bytes: &mut Vec<u8>) {
    bytes.clear();
    for &word in state {
        let mut rest = word;
        while rest >= 0x80 {
            bytes.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        bytes.push(rest as u8);
    }
}

/// Decodes the numbers of a state.
pub fn decode(bytes: &[u8], state: &mut Vec<u32>) {
    state.clear();
    let (mut word, mut shift) = (0, 0);
    for &byte in bytes {
        word |= u32::from(byte & 0x7F) << shift;
        if byte & 0x80 == 0 {
            state.push(word);
            (word, shift) = (0, 0);
        } else {
            shift += 7;
        }
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
        let new = set.shards_mut()[shard].insert(hash, &bytes, parent).is_some();
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
