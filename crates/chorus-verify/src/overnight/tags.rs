//! The set of visited states, of each of which 40 bits are kept: hash compaction (Stern and Dill, 1995) with buckets.
//!
//! A first fingerprint says in which bucket a state lies, and a tag from a second one tells it from the others there. A
//! bucket is as large as a line of the processor's caches and has room for twelve tags. A full bucket goes on in the
//! next one. Two states are taken for one if their tags are equal and one of them is looked for where the other lies.
//! The set counts the tags with which new states were compared, so the probability of that is known.

use crate::hashing::second_fingerprint;
use crate::state_set::{SHARDS, shard_of};

/// The number of words of a bucket: the lower 32 bits of each tag, then the upper 8 of four tags in each word, and last
/// the number of tags.
const BUCKET: usize = 16;
const TAGS: usize = 12;
const UPPER: usize = TAGS;
const COUNT: usize = BUCKET - 1;
const TAG_BITS: u32 = 40;

/// A state as the set sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    /// The fingerprint that says where the state lies.
    pub fingerprint: u64,
    /// The bits that are kept.
    pub tag: u64,
}

impl Mark {
    /// The mark of an encoded state whose fingerprint is known.
    pub fn new(fingerprint: u64, bytes: &[u8]) -> Mark {
        Mark { fingerprint, tag: second_fingerprint(bytes) & ((1 << TAG_BITS) - 1) }
    }
}

/// The result of adding a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Insertion {
    New,
    Known,
    /// There is no room.
    Full,
}

/// The tags of states whose fingerprints begin alike.
pub(super) struct TagShard {
    words: Vec<u32>,
    buckets: usize,
    len: usize,
    compared: u64,
}

impl TagShard {
    fn new(buckets: usize) -> TagShard {
        TagShard { words: vec![0; buckets * BUCKET], buckets, len: 0, compared: 0 }
    }

    fn bucket(&self, index: usize) -> &[u32] {
        &self.words[index * BUCKET..][..BUCKET]
    }

    /// The bucket in which the search for a state begins. The bits that chose the shard are not used again.
    fn first(&self, fingerprint: u64) -> usize {
        let rest = fingerprint << SHARDS.trailing_zeros();
        ((u128::from(rest) * self.buckets as u128) >> u64::BITS) as usize
    }

    /// The buckets in which a state may lie, in the order in which they are searched.
    fn places(&self, fingerprint: u64) -> impl Iterator<Item = usize> + use<> {
        let (first, buckets) = (self.first(fingerprint), self.buckets);
        (0..buckets).map(move |step| if first + step < buckets { first + step } else { first + step - buckets })
    }

    pub fn contains(&self, mark: Mark) -> bool {
        for place in self.places(mark.fingerprint) {
            let bucket = self.bucket(place);
            if holds(bucket, mark.tag) {
                return true;
            }
            if (bucket[COUNT] as usize) < TAGS {
                return false;
            }
        }
        false
    }

    pub fn insert(&mut self, mark: Mark) -> Insertion {
        let mut compared = 0;
        for place in self.places(mark.fingerprint) {
            let bucket = self.bucket(place);
            if holds(bucket, mark.tag) {
                return Insertion::Known;
            }
            let count = bucket[COUNT] as usize;
            compared += count as u64;
            if count < TAGS {
                add(&mut self.words[place * BUCKET..][..BUCKET], count, mark.tag);
                self.len += 1;
                self.compared += compared;
                return Insertion::New;
            }
        }
        Insertion::Full
    }
}

/// Whether a bucket has a tag.
#[inline]
fn holds(bucket: &[u32], tag: u64) -> bool {
    let (lower, upper) = (tag as u32, (tag >> u32::BITS) as u8);
    let count = bucket[COUNT] as usize;
    (0..count).any(|index| bucket[index] == lower && bucket[UPPER + index / 4].to_le_bytes()[index % 4] == upper)
}

fn add(bucket: &mut [u32], count: usize, tag: u64) {
    bucket[count] = tag as u32;
    bucket[UPPER + count / 4] |= ((tag >> u32::BITS) as u32) << (count % 4 * 8);
    bucket[COUNT] += 1;
}

/// The tags of all visited states.
pub(super) struct TagSet {
    shards: Vec<TagShard>,
}

impl TagSet {
    /// A set that takes `bytes` bytes of memory.
    pub fn new(bytes: usize) -> TagSet {
        let buckets = (bytes / SHARDS / (BUCKET * size_of::<u32>())).max(1);
        TagSet { shards: (0..SHARDS).map(|_| TagShard::new(buckets)).collect() }
    }

    /// The bytes of a set in which so many states have room without crowding.
    pub fn bytes_for(states: u64) -> usize {
        usize::try_from(states).unwrap_or(usize::MAX).saturating_mul(BUCKET * size_of::<u32>() * 3 / 2 / TAGS)
    }

    /// Makes the set an empty one of `bytes` bytes. It remembers how many tags were compared.
    pub fn renew(&mut self, bytes: usize) {
        let compared: Vec<u64> = self.shards.iter().map(|shard| shard.compared).collect();
        // The old tags go first, so that both sets are never in memory together.
        self.shards.clear();
        self.shards = TagSet::new(bytes).shards;
        self.shards.iter_mut().zip(compared).for_each(|(shard, compared)| shard.compared = compared);
    }

    /// Whether so many tags are in the set that new ones often need a second bucket.
    pub fn is_crowded(&self) -> bool {
        self.bytes_in_use() > self.bytes() / 4 * 3
    }

    pub fn contains(&self, mark: Mark) -> bool {
        self.shards[shard_of(mark.fingerprint)].contains(mark)
    }

    pub fn insert(&mut self, mark: Mark) -> Insertion {
        self.shards[shard_of(mark.fingerprint)].insert(mark)
    }

    pub fn shards_mut(&mut self) -> &mut [TagShard] {
        &mut self.shards
    }

    /// The bytes of all buckets.
    pub fn bytes(&self) -> usize {
        self.shards.iter().map(|shard| shard.words.len() * size_of::<u32>()).sum()
    }

    /// The bytes of the buckets that the tags would fill.
    pub fn bytes_in_use(&self) -> usize {
        let states: usize = self.shards.iter().map(|shard| shard.len).sum();
        states * BUCKET * size_of::<u32>() / TAGS
    }

    /// An upper bound of the probability that two states were taken for one.
    pub fn omission_probability(&self) -> f64 {
        let compared: u64 = self.shards.iter().map(|shard| shard.compared).sum();
        compared as f64 / f64::from(TAG_BITS).exp2()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hashing::fingerprint;

    fn mark(value: u32) -> Mark {
        let bytes = value.to_le_bytes();
        Mark::new(fingerprint(&bytes), &bytes)
    }

    #[test]
    fn states_are_new_once_and_found_after_that() {
        let mut set = TagSet::new(1 << 20);
        for value in 0..100_000 {
            assert!(!set.contains(mark(value)));
            assert_eq!(set.insert(mark(value)), Insertion::New);
            assert_eq!(set.insert(mark(value)), Insertion::Known);
        }
        assert!((0..100_000).all(|value| set.contains(mark(value))));
        assert!(set.omission_probability() > 0.0 && set.omission_probability() < 1e-5);
        assert!(set.bytes_in_use() <= 100_000 * 6);
    }

    #[test]
    fn a_full_set_says_so_and_takes_every_place_before() {
        let mut set = TagSet::new(1);
        let added = (0..10_000).filter(|&value| set.insert(mark(value)) == Insertion::New).count();
        assert_eq!(added, SHARDS * TAGS);
        assert!(!set.contains(mark(1_000_000)));
    }
}
