//! Which stores own their words and which write through, learnt line by line: fine-grain coherence specialisation (Spandex paper, section VII).
//!
//! Ownership pays where the cache uses the words again before they are taken away or replaced; otherwise it costs the next user an indirection, and a
//! write-back. Each line has a saturating counter, shared with the other lines of the same remainder. Words that go unused lower it and words used again raise it. Of a
//! line that is written through nothing is learnt, so after some stores ownership is tried again.

use crate::address::LineAddr;

const COUNTERS: usize = 256;
const MAX: u8 = 3;
/// From here on, stores own.
const OWN: u8 = 2;
/// Stores that are written through before ownership is tried again.
const PATIENCE: u8 = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Counter {
    paid: u8,
    /// Stores written through since ownership was tried last.
    through: u8,
}

/// Saturating counters, one for each line that is told apart.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Predictor(Vec<Counter>);

impl Predictor {
    /// Every store owns.
    pub fn new() -> Self {
        Predictor(vec![Counter { paid: OWN, through: 0 }; COUNTERS])
    }

    /// Whether a store to the line is to own its words.
    pub fn owns(&mut self, line: LineAddr) -> bool {
        let counter = self.of(line);
        if counter.paid < OWN && counter.through < PATIENCE {
            counter.through += 1;
            return false;
        }
        counter.through = 0;
        true
    }

    /// Owned words of the line were used again.
    pub fn paid(&mut self, line: LineAddr) {
        let counter = self.of(line);
        counter.paid = (counter.paid + 1).min(MAX);
    }

    /// Owned words of the line were of no use.
    pub fn wasted(&mut self, line: LineAddr) {
        let counter = self.of(line);
        counter.paid = counter.paid.saturating_sub(1);
    }

    fn of(&mut self, line: LineAddr) -> &mut Counter {
        &mut self.0[(line.0 % COUNTERS as u64) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_whose_owned_words_go_unused_is_written_through_for_a_while() {
        let mut predictor = Predictor::new();
        let (line, other) = (LineAddr(3), LineAddr(4));
        predictor.wasted(line);
        assert!(predictor.owns(other));
        assert_eq!([(); 6].map(|()| predictor.owns(line)), [false, false, false, false, true, false]);
        predictor.paid(line);
        assert!(predictor.owns(line));
    }
}
