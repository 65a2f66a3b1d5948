//! The order in which the ways of each set were used.

/// The most ways whose order fits a word.
const PACKED_WAYS_MAX: usize = 16;
/// A nibble of every way of a word.
const NIBBLES: u64 = 0x1111_1111_1111_1111;

/// For every set, its ways from the most recent to the least recent. Drivers ask on every access, so the usual number
/// of ways has a form in which a whole set moves at once.
#[derive(Clone, Debug)]
pub(crate) struct Recency {
    ways: usize,
    /// The bit at which the last place begins in a word, and all bits of a word that are used.
    last: u32,
    used: u64,
    /// A word for each set: four bits for each way, the most recent way lowest. Empty for sets of more than 16 ways.
    words: Vec<u64>,
    /// A byte for each way, set by set, for sets of more than 16 ways.
    bytes: Vec<u8>,
}

impl Recency {
    /// Sets whose ways are in ascending order.
    pub(crate) fn new(sets: usize, ways: usize) -> Recency {
        let (mut words, mut bytes) = (Vec::new(), Vec::new());
        if ways <= PACKED_WAYS_MAX {
            let ascending = (0..ways as u64).fold(0, |word, way| word | way << (4 * way));
            words = vec![ascending; sets];
        } else {
            bytes = (0..sets * ways).map(|slot| (slot % ways) as u8).collect();
        }
        let last = 4 * (ways.clamp(1, PACKED_WAYS_MAX) as u32 - 1);
        Recency { ways, last, used: u64::MAX >> (60 - last), words, bytes }
    }

    /// The way at a place of a set's order. Place 0 is the most recent way.
    #[inline]
    pub(crate) fn way(&self, set: usize, place: usize) -> usize {
        match self.words.get(set) {
            Some(word) => (word >> (4 * place) & 15) as usize,
            None => usize::from(self.bytes[set * self.ways + place]),
        }
    }

    /// The first answer that `pick` has for a way of a set, the least recent way first.
    #[inline]
    pub(crate) fn find_oldest<T>(&self, set: usize, mut pick: impl FnMut(usize) -> Option<T>) -> Option<T> {
        let Some(&word) = self.words.get(set) else {
            let order = &self.bytes[set * self.ways..][..self.ways];
            return order.iter().rev().find_map(|&way| pick(usize::from(way)));
        };
        let mut place = self.last;
        loop {
            let found = pick((word >> place & 15) as usize);
            if found.is_some() || place == 0 {
                return found;
            }
            place -= 4;
        }
    }

    /// Makes a way the most recent of its set.
    #[inline]
    pub(crate) fn move_first(&mut self, set: usize, way: usize) {
        let Some(word) = self.words.get_mut(set) else { return rotate(&mut self.bytes, self.ways, set, way, true) };
        let way = way as u64;
        if *word >> self.last == way {
            // The least recent way becomes the most recent one when a line is replaced.
            *word = *word << 4 & self.used | way;
        } else {
            let before = (1 << shift_of(*word, way)) - 1;
            *word = *word & !(before << 4 | 15) | (*word & before) << 4 | way;
        }
    }

    /// Makes a way the least recent of its set.
    #[inline]
    pub(crate) fn move_last(&mut self, set: usize, way: usize) {
        let Some(word) = self.words.get_mut(set) else { return rotate(&mut self.bytes, self.ways, set, way, false) };
        let way = way as u64;
        if *word >> self.last != way {
            let before = (1 << shift_of(*word, way)) - 1;
            *word = *word & before | (*word >> 4) & !before & ((1 << self.last) - 1) | way << self.last;
        }
    }
}

/// Moves a way to an end of its set's order, among the bytes of all sets.
#[cold]
fn rotate(bytes: &mut [u8], ways: usize, set: usize, way: usize, to_front: bool) {
    let order = &mut bytes[set * ways..][..ways];
    let place = order.iter().position(|&other| usize::from(other) == way).unwrap_or_default();
    if to_front {
        order[..=place].rotate_right(1);
    } else {
        order[place..].rotate_left(1);
    }
}

/// The bit at which a way begins in the word of its set.
#[inline]
fn shift_of(word: u64, way: u64) -> u32 {
    let different = word ^ NIBBLES.wrapping_mul(way);
    // The lowest nibble that is zero keeps its highest bit after the subtraction. Higher nibbles may as well, because
    // of the borrow, and are not looked at.
    (different.wrapping_sub(NIBBLES) & !different & NIBBLES << 3).trailing_zeros() & !3
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Moves a way to either end of a list, as the order must behave.
    fn moved(list: &mut Vec<usize>, way: usize, to_front: bool) {
        list.retain(|&other| other != way);
        list.insert(if to_front { 0 } else { list.len() }, way);
    }

    #[test]
    fn the_order_is_that_of_a_list_for_any_number_of_ways() {
        for ways in [1, 2, 3, 4, 7, 8, 15, 16, 17, 40] {
            let mut recency = Recency::new(3, ways);
            let mut lists = vec![(0..ways).collect::<Vec<_>>(); 3];
            let mut number = 1_usize;
            for step in 0..400 {
                number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let (set, way, to_front) = (step % 3, (number >> 33) % ways, number >> 40 & 1 == 0);
                if to_front {
                    recency.move_first(set, way)
                } else {
                    recency.move_last(set, way)
                }
                moved(&mut lists[set], way, to_front);
                for (set, list) in lists.iter().enumerate() {
                    let mut found = Vec::new();
                    recency.find_oldest(set, |way| {
                        found.insert(0, way);
                        None::<()>
                    });
                    assert_eq!(found, *list);
                }
            }
        }
    }
}
