//! Sets of slots of a cache array, one bit each.

use crate::cache::Slot;
use crate::save::{self, Save};

/// A set of slots. The small arrays of explorations, which are copied all the time, need no allocation for it.
#[derive(Clone, Debug, Default, Save)]
pub(crate) struct SlotSet {
    /// The bits of the first 64 slots.
    first: u64,
    /// The bits of the other slots. They take no memory before one of these is added.
    others: Vec<u64>,
}

impl SlotSet {
    /// Adds a slot of an array that has so many places.
    #[inline]
    pub(crate) fn add(&mut self, slot: Slot, places: usize) {
        let (word, bit) = (slot.index() / 64, 1 << (slot.index() % 64));
        if word == 0 {
            self.first |= bit;
            return;
        }
        if self.others.is_empty() {
            self.others.resize(places.div_ceil(64) - 1, 0);
        }
        self.others[word - 1] |= bit;
    }

    /// Removes a slot, if it is there.
    #[inline]
    pub(crate) fn remove(&mut self, slot: Slot) {
        let (word, bit) = (slot.index() / 64, 1 << (slot.index() % 64));
        if word == 0 {
            self.first &= !bit;
        } else if let Some(others) = self.others.get_mut(word - 1) {
            *others &= !bit;
        }
    }

    /// Whether there is no slot in the set.
    pub(crate) fn is_empty(&self) -> bool {
        self.first == 0 && self.others.iter().all(|&word| word == 0)
    }

    /// Whether a slot is in the set.
    pub(crate) fn has(&self, slot: Slot) -> bool {
        self.word(slot.index() / 64) >> (slot.index() % 64) & 1 == 1
    }

    /// Whether any of `count` slots from number `first` on is in the set. Both are powers of two, or multiples of one.
    pub(crate) fn any(&self, first: usize, count: usize) -> bool {
        match count.div_ceil(64) {
            1 => self.word(first / 64) >> (first % 64) & (u64::MAX >> (64 - count)) != 0,
            words => (first / 64..first / 64 + words).any(|word| self.word(word) != 0),
        }
    }

    /// The number of words that the bits take.
    pub(crate) fn words(&self) -> usize {
        1 + self.others.len()
    }

    #[inline]
    fn word(&self, word: usize) -> u64 {
        if word == 0 { self.first } else { self.others.get(word - 1).copied().unwrap_or(0) }
    }

    /// The slots of a word, as they are now.
    #[inline]
    pub(crate) fn slots_of_word(&self, word: usize) -> impl Iterator<Item = Slot> + use<> {
        let mut bits = self.word(word);
        std::iter::from_fn(move || {
            let slot = (bits != 0).then(|| Slot(word as u32 * 64 + bits.trailing_zeros()))?;
            bits &= bits - 1;
            Some(slot)
        })
    }

    /// All slots in ascending order.
    #[inline]
    pub(crate) fn iter(&self) -> impl Iterator<Item = Slot> {
        (0..self.words()).flat_map(|word| self.slots_of_word(word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_found_in_order_in_the_first_word_and_in_others() {
        let mut set = SlotSet::default();
        assert!(set.is_empty() && !set.any(64, 64));
        for number in [200, 3, 64, 70, 63] {
            set.add(Slot(number), 256);
        }
        set.remove(Slot(70));
        set.remove(Slot(255));
        assert_eq!(set.iter().map(Slot::index).collect::<Vec<_>>(), [3, 63, 64, 200]);
        assert!(set.has(Slot(64)) && !set.has(Slot(70)));
        assert!(set.any(0, 4) && !set.any(8, 8) && set.any(128, 128) && !set.any(128, 64));
    }
}
