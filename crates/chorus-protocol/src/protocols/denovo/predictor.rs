//! Fine-grain coherence specialisation (Spandex paper, section VII): learns, line by line, which stores own their words
//! and which write through.
//!
//! Ownership pays off where the cache uses the words again before they are taken away or replaced. Otherwise it costs
//! the next user an indirection, and costs a write-back. Each line has a saturating counter, which it shares with the
//! other lines of the same remainder. Words that are never used again lower it, and words that are used again raise it.
//! Nothing can be learnt from a line that is written through, so ownership is tried again after some stores.

use crate::address::LineAddr;
use crate::save::{self, Save};

const COUNTERS: usize = 256;
const MAX: u8 = 3;
/// The value from which on stores own their words.
const OWN: u8 = 2;
/// The number of stores that are written through before ownership is tried again.
const PATIENCE: u8 = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Save)]
struct Counter {
    paid: u8,
    /// Number of stores written through since ownership was tried last.
    through: u8,
}

/// Saturating counters, one for each remainder of line numbers.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Save)]
pub struct Predictor(Vec<Counter>);

impl Predictor {
    /// A predictor by which every store owns its words.
    pub fn new() -> Self {
        Predictor(vec![Counter { paid: OWN, through: 0 }; COUNTERS])
    }

    /// Whether a store to the line should own its words.
    pub fn owns(&mut self, line: LineAddr) -> bool {
        let counter = self.of(line);
        if counter.paid < OWN && counter.through < PATIENCE {
            counter.through += 1;
            return false;
        }
        counter.through = 0;
        true
    }

    /// Notes that owned words of the line were used again.
    pub fn paid(&mut self, line: LineAddr) {
        let counter = self.of(line);
        counter.paid = (counter.paid + 1).min(MAX);
    }

    /// Notes that owned words of the line were not used again.
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
