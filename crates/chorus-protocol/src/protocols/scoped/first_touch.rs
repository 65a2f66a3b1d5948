//! Which lines a bank has asked for before: what tells cold misses from others (REC paper, Figure 4). It is no part of the bank's state, as it changes nothing that the
//! bank does.

use std::hash::{Hash, Hasher};

use crate::address::LineAddr;

/// Bits of a line number below those that are looked up first.
const STRETCH_SHIFT: u32 = 32;

/// Lines that were asked for.
#[derive(Clone, Debug, Default)]
pub(super) struct FirstTouch {
    /// By the upper half of a line's number, a bit for each lower half.
    stretches: Vec<Vec<u64>>,
}

impl FirstTouch {
    /// Notes that a line is asked for. Returns whether it is for the first time.
    pub(super) fn note(&mut self, line: LineAddr) -> bool {
        let stretch = (line.0 >> STRETCH_SHIFT) as usize;
        let within = line.0 & ((1 << STRETCH_SHIFT) - 1);
        let (word, bit) = ((within / 64) as usize, 1 << (within % 64));
        if stretch >= self.stretches.len() {
            self.stretches.resize(stretch + 1, Vec::new());
        }
        let words = &mut self.stretches[stretch];
        if word >= words.len() {
            words.resize((word + 1).next_power_of_two(), 0);
        }
        let is_first = words[word] & bit == 0;
        words[word] |= bit;
        is_first
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
