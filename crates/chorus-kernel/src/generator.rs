//! The random numbers that inputs and variations of latencies are drawn from.
//!
//! SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, OOPSLA 2014, section 3): a counter
//! that advances by the golden ratio, and a mixing function. It is small, has no bad seeds, and gives the same numbers
//! everywhere.

use chorus_protocol::save::{self, Save};

/// The step of the counter: the golden ratio as a fraction of 2^64.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// A SplitMix64 generator, which is its counter.
#[derive(Clone, Debug, Save)]
pub struct SplitMix64 {
    counter: u64,
}

impl SplitMix64 {
    /// The generator of a seed.
    pub fn new(seed: u64) -> SplitMix64 {
        SplitMix64 { counter: seed }
    }

    /// The generator of a seed after it has given so many numbers, for work-items that draw one number each.
    pub fn at(seed: u64, numbers: u64) -> SplitMix64 {
        SplitMix64 { counter: seed.wrapping_add(numbers.wrapping_mul(STEP)) }
    }

    /// The next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.counter = self.counter.wrapping_add(STEP);
        let mut bits = self.counter;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// A number below `limit`. The upper bits are scaled, so the bias is at most `limit` in 2^32.
    pub fn below(&mut self, limit: u32) -> u32 {
        (((self.next_u64() >> 32) * u64::from(limit)) >> 32) as u32
    }

    /// A number from 0 up to but not including 1, in steps of 2^-24, which `f32` represents exactly.
    pub fn unit_f32(&mut self) -> f32 {
        (self.next_u64() >> 40) as f32 / (1 << 24) as f32
    }

    /// A number from `low` up to about `high`.
    pub fn between_f32(&mut self, low: f32, high: f32) -> f32 {
        low + (high - low) * self.unit_f32()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_of_seed_zero_is_the_published_one() {
        let mut generator = SplitMix64::new(0);
        assert_eq!(
            [generator.next_u64(), generator.next_u64(), generator.next_u64()],
            [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4, 0x06c4_5d18_8009_454f]
        );
    }

    #[test]
    fn numbers_can_be_drawn_from_the_middle() {
        let mut generator = SplitMix64::new(5);
        for drawn in 0..10 {
            assert_eq!(SplitMix64::at(5, drawn).next_u64(), generator.next_u64());
        }
    }

    #[test]
    fn numbers_stay_within_their_bounds() {
        let mut generator = SplitMix64::new(7);
        for _ in 0..1000 {
            assert!(generator.below(10) < 10);
            assert!((0.0..1.0).contains(&generator.unit_f32()));
        }
    }
}
