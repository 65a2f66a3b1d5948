//! The set of states seen so far, compared by their whole encodings.

const EMPTY: u64 = u64::MAX;

/// States in the order of insertion. Each is a sequence of integers, kept in as many bytes as each integer needs, so that a set
/// of millions fits in memory.
#[derive(Clone, Debug)]
pub struct StateSet {
    bytes: Vec<u8>,
    /// Where each state's bytes end.
    ends: Vec<usize>,
    /// Open addressing: the upper half of an entry is the hash, the lower half the state's number.
    index: Vec<u64>,
    scratch: Vec<u8>,
}

impl Default for StateSet {
    fn default() -> Self {
        StateSet { bytes: Vec::new(), ends: Vec::new(), index: vec![EMPTY; 1024], scratch: Vec::new() }
    }
}

impl StateSet {
    /// Number of states.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The number of a state, and whether it is new.
    pub fn insert(&mut self, state: &[u32]) -> (u32, bool) {
        let mut scratch = std::mem::take(&mut self.scratch);
        encode(state, &mut scratch);
        let found = self.insert_bytes(&scratch);
        self.scratch = scratch;
        found
    }

    /// Reads a state back.
    pub fn get(&self, number: u32, state: &mut Vec<u32>) {
        decode(self.slice(number), state);
    }

    fn insert_bytes(&mut self, bytes: &[u8]) -> (u32, bool) {
        if self.ends.len() * 2 >= self.index.len() {
            self.grow();
        }
        let hash = hash(bytes);
        let mask = self.index.len() - 1;
        let mut position = hash as usize & mask;
        loop {
            let entry = self.index[position];
            if entry == EMPTY {
                break;
            }
            if (entry >> 32) as u32 == hash && self.slice(entry as u32) == bytes {
                return (entry as u32, false);
            }
            position = (position + 1) & mask;
        }
        let number = self.ends.len() as u32;
        self.index[position] = u64::from(hash) << 32 | u64::from(number);
        self.bytes.extend_from_slice(bytes);
        self.ends.push(self.bytes.len());
        (number, true)
    }

    fn slice(&self, number: u32) -> &[u8] {
        let number = number as usize;
        let start = if number == 0 { 0 } else { self.ends[number - 1] };
        &self.bytes[start..self.ends[number]]
    }

    fn grow(&mut self) {
        let mut larger = vec![EMPTY; self.index.len() * 2];
        let mask = larger.len() - 1;
        for &entry in self.index.iter().filter(|&&entry| entry != EMPTY) {
            let mut position = (entry >> 32) as usize & mask;
            while larger[position] != EMPTY {
                position = (position + 1) & mask;
            }
            larger[position] = entry;
        }
        self.index = larger;
    }
}

/// Seven bits to a byte, the least significant first; the top bit says that more follow.
fn encode(state: &[u32], bytes: &mut Vec<u8>) {
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

fn decode(bytes: &[u8], state: &mut Vec<u32>) {
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

fn hash(bytes: &[u8]) -> u32 {
    const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut hash = bytes.len() as u64;
    let chunks = bytes.chunks_exact(8);
    let mut last = [0; 8];
    last[..chunks.remainder().len()].copy_from_slice(chunks.remainder());
    for chunk in chunks {
        let mut word = [0; 8];
        word.copy_from_slice(chunk);
        hash = (hash.rotate_left(5) ^ u64::from_le_bytes(word)).wrapping_mul(MULTIPLIER);
    }
    hash = (hash.rotate_left(5) ^ u64::from_le_bytes(last)).wrapping_mul(MULTIPLIER);
    hash ^= hash >> 29;
    (hash.wrapping_mul(MULTIPLIER) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_state_is_new_exactly_once_and_reads_back(states in prop::collection::vec(prop::collection::vec(any::<u32>(), 0..6), 1..200)) {
            let mut set = StateSet::default();
            let mut seen: Vec<Vec<u32>> = Vec::new();
            for state in &states {
                let expected = seen.iter().position(|earlier| earlier == state);
                let (number, new) = set.insert(state);
                prop_assert_eq!(new, expected.is_none());
                prop_assert_eq!(number as usize, expected.unwrap_or(seen.len()));
                if new {
                    seen.push(state.clone());
                }
                let mut back = Vec::new();
                set.get(number, &mut back);
                prop_assert_eq!(&back, state);
            }
        }
    }

    #[test]
    fn growing_keeps_every_state_findable() {
        let mut set = StateSet::default();
        for value in 0..10_000 {
            assert_eq!(set.insert(&[value, value / 3]), (value, true));
        }
        for value in 0..10_000 {
            assert_eq!(set.insert(&[value, value / 3]), (value, false));
        }
    }
}
