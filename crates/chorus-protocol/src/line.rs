//! The contents of a line, and masks over its bytes.

use std::ops::{BitAnd, BitOr};

use crate::save::{self, Save};

/// Number of bytes of a word.
pub const WORD_BYTES: usize = 4;

/// The words of one line. `W` is their number: 32 for 128-byte lines, 2 in the exhaustive driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Save)]
pub struct LineData<const W: usize>(pub [u32; W]);

impl<const W: usize> Default for LineData<W> {
    fn default() -> Self {
        Self([0; W])
    }
}

impl<const W: usize> LineData<W> {
    /// Overwrites the bytes of `mask` with the bytes of `other`.
    pub fn merge(&mut self, mask: ByteMask, other: &LineData<W>) {
        if mask == ByteMask::full::<W>() {
            *self = *other;
            return;
        }
        for word in mask.words() {
            let bits = mask.bits_of(word);
            self.0[word] = (self.0[word] & !bits) | (other.0[word] & bits);
        }
    }
}

/// A table of all bytes with every bit widened to a nibble.
const NIBBLES: [u32; 256] = {
    let mut table = [0; 256];
    let mut index = 0;
    while index < 256 {
        let mut bit = 0;
        while bit < 8 {
            if index >> bit & 1 == 1 {
                table[index] |= 0xF << (4 * bit);
            }
            bit += 1;
        }
        index += 1;
    }
    table
};

/// A set of bytes of a line of up to 128 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Save)]
pub struct ByteMask(pub u128);

impl ByteMask {
    /// The set without any byte.
    pub const EMPTY: ByteMask = ByteMask(0);

    /// Every byte of a line of `W` words.
    pub const fn full<const W: usize>() -> ByteMask {
        ByteMask(u128::MAX >> (128 - W * WORD_BYTES))
    }

    /// The bytes of word `index`.
    pub const fn word(index: usize) -> ByteMask {
        ByteMask(0xF << (index * WORD_BYTES))
    }

    /// The bytes of the words whose bits are set in `words`.
    pub fn of_words(words: u32) -> ByteMask {
        let bytes = words.to_le_bytes().map(|byte| u128::from(NIBBLES[usize::from(byte)]));
        ByteMask(bytes[0] | bytes[1] << 32 | bytes[2] << 64 | bytes[3] << 96)
    }

    /// The number of bytes in the set.
    pub fn bytes(self) -> u32 {
        self.0.count_ones()
    }

    /// Whether no byte is set.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The bytes that are not in `other`.
    pub fn without(self, other: ByteMask) -> ByteMask {
        ByteMask(self.0 & !other.0)
    }

    /// The indices of words with at least one byte set, in ascending order.
    pub fn words(self) -> impl Iterator<Item = usize> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            if rest == 0 {
                return None;
            }
            let word = rest.trailing_zeros() as usize / WORD_BYTES;
            rest &= !ByteMask::word(word).0;
            Some(word)
        })
    }

    /// The bits of word `index` that belong to set bytes.
    #[inline]
    pub fn bits_of(self, index: usize) -> u32 {
        bits_of_bytes((self.0 >> (index * WORD_BYTES)) as u8 & 0xF)
    }

    /// The bytes `bytes` of word `index`, one bit each.
    pub const fn of_bytes(index: usize, bytes: u8) -> ByteMask {
        ByteMask((bytes as u128 & 0xF) << (index * WORD_BYTES))
    }

    /// Whether a word has some of its bytes in the set and others not.
    #[inline]
    pub fn splits_words(self) -> bool {
        const FIRST_BYTES: u128 = u128::MAX / 0xF;
        let first = self.0 & FIRST_BYTES;
        first * 0xF != self.0
    }
}

/// The bits of a word that belong to its bytes in `bytes`, one bit each.
#[inline]
pub const fn bits_of_bytes(bytes: u8) -> u32 {
    const BITS: [u32; 16] = {
        let mut table = [0; 16];
        let mut index = 0;
        while index < 64 {
            let (bytes, byte) = (index / 4, index % 4);
            if bytes >> byte & 1 == 1 {
                table[bytes] |= 0xFF << (8 * byte);
            }
            index += 1;
        }
        table
    };
    BITS[(bytes & 0xF) as usize]
}

impl BitAnd for ByteMask {
    type Output = ByteMask;

    fn bitand(self, other: ByteMask) -> ByteMask {
        ByteMask(self.0 & other.0)
    }
}

impl BitOr for ByteMask {
    type Output = ByteMask;

    fn bitor(self, other: ByteMask) -> ByteMask {
        ByteMask(self.0 | other.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merge_writes_exactly_the_masked_bytes() {
        let mut line = LineData([0x1111_1111, 0x2222_2222]);
        line.merge(ByteMask(0b0011_0000), &LineData([u32::MAX; 2]));
        assert_eq!(line, LineData([0x1111_1111, 0x2222_FFFF]));
    }

    #[test]
    fn a_full_mask_replaces_the_line() {
        let mut line = LineData([1, 2]);
        line.merge(ByteMask::full::<2>(), &LineData([3, 4]));
        assert_eq!(line, LineData([3, 4]));
        assert_eq!(ByteMask::full::<32>().bytes(), 128);
    }

    #[test]
    fn masks_of_words_cover_whole_words() {
        assert_eq!(ByteMask::of_words(u32::MAX), ByteMask::full::<32>());
        assert_eq!(ByteMask::of_words(1 << 31 | 1), ByteMask(ByteMask::word(31).0 | ByteMask::word(0).0));
    }

    #[test]
    fn a_word_is_split_if_a_part_of_its_bytes_is_set() {
        assert!(!ByteMask::EMPTY.splits_words() && !ByteMask::full::<32>().splits_words());
        assert!(!ByteMask::of_words(0x8000_0101).splits_words());
        for word in [0, 7, 31] {
            for bytes in 0..=0xF {
                let mask = ByteMask::of_words(1 << 3) | ByteMask::of_bytes(word, bytes);
                assert_eq!(mask.splits_words(), !matches!(bytes, 0 | 0xF), "{word} {bytes}");
                assert_eq!(mask.bits_of(word).count_ones(), 8 * bytes.count_ones());
            }
        }
    }

    #[test]
    fn words_are_listed_once_each() {
        let mask = ByteMask::of_words(1 << 1 | 1 << 31);
        assert_eq!(mask.words().collect::<Vec<_>>(), [1, 31]);
    }
}
