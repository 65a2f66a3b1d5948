//! The words of one line that an operation concerns, and their values.

use std::fmt;

use chorus_protocol::line::{ByteMask, LineData};

use crate::program::{Location, WORDS};

/// A value for each word of a line. Words that an operation does not concern have zero.
pub type Values = [u32; WORDS];

/// Some words of one line, at least one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Words {
    /// The number of the line.
    pub line: u8,
    /// One bit for each word.
    set: u8,
}

/// The bits of one value among the values of several words, as a state holds them.
const VALUE_BITS: u32 = 26 / WORDS as u32;
/// The difference of the values that one operation writes to two words.
const APART: u32 = 32;

impl Words {
    /// One word of a line.
    pub const fn one(line: u8, word: u8) -> Words {
        Words { line, set: 1 << word }
    }

    /// All words of a line.
    pub const fn all(line: u8) -> Words {
        Words { line, set: (1 << WORDS) - 1 }
    }

    /// The words of some locations, which must be of one line.
    pub fn of(locations: impl IntoIterator<Item = Location>) -> Option<Words> {
        locations.into_iter().fold(None, |words, at| {
            let set = words.map_or(0, |words: Words| words.set);
            Some(Words { line: at.line, set: set | 1 << at.word })
        })
    }

    /// The words one by one, in the order of their places.
    pub fn iter(self) -> impl Iterator<Item = Location> {
        (0..WORDS as u8)
            .filter(move |word| self.set >> word & 1 == 1)
            .map(move |word| Location { line: self.line, word })
    }

    /// Whether there are several.
    pub fn are_several(self) -> bool {
        self.set.count_ones() > 1
    }

    /// The bytes of the words.
    pub fn mask(self) -> ByteMask {
        self.iter().fold(ByteMask::EMPTY, |mask, at| mask | ByteMask::word(usize::from(at.word)))
    }

    /// Different values for the words, from `first` on.
    pub const fn values(self, first: u32) -> Values {
        let (mut values, mut word, mut value) = ([0; WORDS], 0, first);
        while word < WORDS {
            if self.set >> word & 1 == 1 {
                values[word] = value;
                value += APART;
            }
            word += 1;
        }
        values
    }

    /// The values of the words in one number. Programs write small values: a larger one came from nowhere and is wrong
    /// whatever it is, so that it may be cut off where there are several.
    pub fn pack(self, data: &LineData<WORDS>) -> u32 {
        let most = if self.are_several() { (1 << VALUE_BITS) - 1 } else { u32::MAX };
        let values = self.iter().enumerate();
        values.map(|(place, at)| data.0[usize::from(at.word)].min(most) << (VALUE_BITS * place as u32)).sum()
    }

    /// The values of the words, in the order of their places, from the number that [`Words::pack`] made.
    pub fn unpack(self, packed: u32) -> impl Iterator<Item = u32> {
        let several = self.are_several();
        (0..self.set.count_ones()).map(move |place| match several {
            true => packed >> (VALUE_BITS * place) & ((1 << VALUE_BITS) - 1),
            false => packed,
        })
    }

    /// The words with each location replaced by its image, all in one line.
    pub fn moved(self, image: impl Fn(Location) -> Location) -> Words {
        Words::of(self.iter().map(image)).unwrap_or(self)
    }

    /// The packed values when the words have moved and `value` has replaced each value.
    pub fn moved_values(self, packed: u32, image: impl Fn(Location) -> Location, value: impl Fn(u32) -> u32) -> u32 {
        let mut data = LineData::default();
        for (at, old) in self.iter().zip(self.unpack(packed)) {
            data.0[usize::from(image(at).word)] = value(old);
        }
        self.moved(image).pack(&data)
    }
}

impl fmt::Display for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<String> = self.iter().map(|at| at.to_string()).collect();
        f.write_str(&names.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_several_words_travel_in_one_number() {
        let both = Words::all(1);
        let packed = both.pack(&LineData([5, 37]));
        assert_eq!(both.unpack(packed).collect::<Vec<_>>(), [5, 37]);
        let swapped = both.moved_values(packed, |at| Location { line: 0, word: 1 - at.word }, |value| value + 1);
        assert_eq!(both.unpack(swapped).collect::<Vec<_>>(), [38, 6]);
        let one = Words::one(0, 1);
        assert_eq!(one.unpack(one.pack(&LineData([0, 1 << 20]))).collect::<Vec<_>>(), [1 << 20]);
    }

    #[test]
    fn words_are_named_and_have_values_of_their_own() {
        assert_eq!(Words::all(0).to_string(), "x x1");
        assert_eq!((Words::all(0).values(3), Words::one(0, 1).values(3)), ([3, 35], [0, 3]));
        assert_eq!(Words::of(Words::all(2).iter()), Some(Words::all(2)));
    }
}
