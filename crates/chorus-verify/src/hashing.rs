//! Hashing without a secret key: fast, and the same in every run.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A map with a cheap hash.
pub type FastMap<K, V> = HashMap<K, V, BuildHasherDefault<Mixer>>;

const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;

/// A hasher that multiplies and rotates.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mixer(u64);

impl Mixer {
    fn mix(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(MULTIPLIER);
    }
}

impl Hasher for Mixer {
    fn finish(&self) -> u64 {
        let folded = self.0 ^ self.0 >> 32;
        folded.wrapping_mul(MULTIPLIER).rotate_left(23)
    }

    fn write(&mut self, bytes: &[u8]) {
        let last = each_word(bytes, |word| self.mix(word));
        self.mix(last ^ (bytes.len() as u64) << 56);
    }

    fn write_u8(&mut self, value: u8) {
        self.mix(u64::from(value));
    }

    fn write_u16(&mut self, value: u16) {
        self.mix(u64::from(value));
    }

    fn write_u32(&mut self, value: u32) {
        self.mix(u64::from(value));
    }

    fn write_u64(&mut self, value: u64) {
        self.mix(value);
    }

    fn write_usize(&mut self, value: usize) {
        self.mix(value as u64);
    }
}

/// Gives every eight bytes to `take` as a word. Returns the rest, filled up with zeros.
#[inline]
fn each_word(bytes: &[u8], mut take: impl FnMut(u64)) -> u64 {
    let chunks = bytes.chunks_exact(8);
    let mut last = [0; 8];
    last[..chunks.remainder().len()].copy_from_slice(chunks.remainder());
    for chunk in chunks {
        let mut word = [0; 8];
        word.copy_from_slice(chunk);
        take(u64::from_le_bytes(word));
    }
    u64::from_le_bytes(last)
}

/// A fingerprint of 64 bits in which every bit depends on every byte: two rounds of a full-width multiplication for
/// each eight bytes.
pub fn fingerprint(bytes: &[u8]) -> u64 {
    seeded(0xA076_1D64_78BD_642F, bytes)
}

/// A second fingerprint, which tells nothing about the first.
pub fn second_fingerprint(bytes: &[u8]) -> u64 {
    seeded(0x5896_36E0_1F2B_C7A3, bytes)
}

fn seeded(seed: u64, bytes: &[u8]) -> u64 {
    let fold = |a: u64, b: u64| {
        let product = u128::from(a) * u128::from(b);
        product as u64 ^ (product >> 64) as u64
    };
    let mut hash = fold(bytes.len() as u64 ^ seed, MULTIPLIER);
    let mut take = |word: u64| hash = fold(hash ^ word, 0xE703_7ED1_A0B4_28DB) ^ word.rotate_left(29);
    let last = each_word(bytes, &mut take);
    take(last);
    fold(hash, 0x8EBC_6AF0_9C88_C6E3) ^ hash
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::fingerprint;

    #[test]
    fn fingerprints_of_similar_bytes_differ() {
        let mut seen = HashSet::new();
        for length in 1..12 {
            for place in 0..length {
                for value in 1..=255 {
                    let mut bytes = vec![0; length];
                    bytes[place] = value;
                    assert!(seen.insert(fingerprint(&bytes)), "{bytes:?}");
                }
            }
        }
    }

    #[test]
    fn every_bit_of_a_fingerprint_is_set_about_half_of_the_time() {
        let mut counts = [0; 64];
        for value in 0..4096_u32 {
            let hash = fingerprint(&value.to_le_bytes());
            counts.iter_mut().enumerate().for_each(|(bit, count)| *count += hash >> bit & 1);
        }
        assert!(counts.iter().all(|count| (1850..2250).contains(count)), "{counts:?}");
    }
}
