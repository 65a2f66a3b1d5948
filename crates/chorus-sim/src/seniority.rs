//! The wavefronts of a compute unit from the oldest to the youngest, and which of them are ready.

use chorus_protocol::save::{self, Save};

use crate::issue::WAVES_MAX;

/// The rank of a slot in which no wavefront has started.
const UNRANKED: u8 = u8::MAX;

/// The order in which wavefronts were started. A wavefront has a rank, 0 for the oldest, and a bit there if it is
/// ready. So the oldest one that is ready is found without a search.
#[derive(Clone, Debug, Save)]
pub struct Seniority {
    /// The wavefront of each rank.
    waves: [u8; WAVES_MAX],
    /// The rank of each wavefront.
    ranks: [u8; WAVES_MAX],
    count: usize,
    /// The ranks of wavefronts that are ready, one bit each.
    ready: u64,
}

impl Seniority {
    /// No wavefront has started.
    pub fn new() -> Seniority {
        Seniority { waves: [0; WAVES_MAX], ranks: [UNRANKED; WAVES_MAX], count: 0, ready: 0 }
    }

    /// A wavefront starts in this slot, in place of one that has ended. It is the youngest, and it is not ready.
    pub fn start(&mut self, wave: usize) {
        if self.ranks[wave] != UNRANKED {
            self.end(usize::from(self.ranks[wave]));
        }
        self.waves[self.count] = wave as u8;
        self.ranks[wave] = self.count as u8;
        self.count += 1;
    }

    /// Removes a rank. All younger wavefronts move up.
    fn end(&mut self, rank: usize) {
        self.waves.copy_within(rank + 1..self.count, rank);
        self.count -= 1;
        for (rank, &wave) in self.waves[..self.count].iter().enumerate().skip(rank) {
            self.ranks[usize::from(wave)] = rank as u8;
        }
        let older = (1 << rank) - 1;
        self.ready = self.ready & older | (self.ready >> 1) & !older;
    }

    /// Notes whether a wavefront is ready.
    #[inline]
    pub fn set_ready(&mut self, wave: usize, is_ready: bool) {
        let rank = u32::from(self.ranks[wave]) % u64::BITS;
        self.ready = self.ready & !(1 << rank) | u64::from(is_ready) << rank;
    }

    /// The oldest wavefront that is ready. There is at least one.
    #[inline]
    pub fn oldest_ready(&self) -> usize {
        usize::from(self.waves[self.ready.trailing_zeros() as usize % WAVES_MAX])
    }

    /// The oldest of these wavefronts, which are given as bits. There is at least one.
    pub fn oldest_of(&self, waves: u64) -> usize {
        let oldest = self.waves[..self.count].iter().find(|&&wave| waves >> wave & 1 == 1);
        oldest.map_or(waves.trailing_zeros() as usize, |&wave| usize::from(wave))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_ready_wavefront_is_the_first_started_that_is_ready() {
        let mut seniority = Seniority::new();
        [5, 0, 63].into_iter().for_each(|wave| seniority.start(wave));
        seniority.set_ready(63, true);
        assert_eq!(seniority.oldest_ready(), 63);
        seniority.set_ready(0, true);
        assert_eq!(seniority.oldest_ready(), 0);
        seniority.start(5);
        seniority.set_ready(5, true);
        assert_eq!(seniority.oldest_ready(), 0, "the slot has a younger wavefront now");
        seniority.set_ready(0, false);
        assert_eq!((seniority.oldest_ready(), seniority.oldest_of(1 << 5 | 1)), (63, 0));
    }

    #[test]
    fn all_slots_may_be_taken_again_and_again() {
        let mut seniority = Seniority::new();
        for wave in (0..WAVES_MAX).chain((0..WAVES_MAX).rev()) {
            seniority.start(wave);
            seniority.set_ready(wave, true);
        }
        assert_eq!(seniority.oldest_ready(), WAVES_MAX - 1);
        (1..WAVES_MAX).for_each(|wave| seniority.set_ready(wave, false));
        assert_eq!(seniority.oldest_ready(), 0);
    }
}
