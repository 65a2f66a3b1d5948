//! The lines that a bank has requested before. They tell cold misses from other misses (REC paper, Figure 4). They are
//! no part of the bank's state, since they do not change its behaviour.

use std::hash::{Hash, Hasher};

use crate::address::LineAddr;
use crate::save::{self, Save};

/// The number of bits of a line number below the bits that are looked up first.
const STRETCH_SHIFT: u32 = 32;

/// The set of lines that were requested.
#[derive(Clone, Debug, Default, Save)]
pub(super) struct FirstTouch {
    /// For each upper half of a line number, a bit for each lower half.
    stretches: Vec<Vec<u64>>,
}

impl FirstTouch {
    /// Notes that a line is requested. Returns whether it is the first time.
    #[inline]
    pub(super) fn note(&mut self, line: LineAddr) -> bool {
        let stretch = (line.0 >> STRETCH_SHIFT) as usize;
        let within = line.0 & ((1 << STRETCH_SHIFT) - 1);
        let (word, bit) = ((within / 64) as usize, 1 << (within % 64));
        if let Some(words) = self.stretches.get_mut(stretch)
            && let Some(word) = words.get_mut(word)
        {
            let is_first = *word & bit == 0;
            *word |= bit;
            return is_first;
        }
        self.grow(stretch, word, bit);
        true
    }

    /// Makes room for a word that no request has concerned yet, with one bit set.
    #[cold]
    fn grow(&mut self, stretch: usize, word: usize, bit: u64) {
        if stretch >= self.stretches.len() {
            self.stretches.resize(stretch + 1, Vec::new());
        }
        let words = &mut self.stretches[stretch];
        words.resize((word + 1).next_power_of_two(), 0);
        words[word] = bit;
    }
}

impl PartialEq for FirstTouch {
    fn eq(&self, _: &FirstTouch) -> bool {
        true
    }
}

impl Eq for FirstTouch {}

impl Hash for FirstTouch {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_asked_for_the_first_time_once() {
        let mut seen = FirstTouch::default();
        let lines = [5, 6, 5, 3 << 32 | 5, 3 << 32 | 5].map(LineAddr);
        assert_eq!(lines.map(|line| seen.note(line)), [true, true, false, true, false]);
    }
}
