//! Compares the answers of programs without data races with the values that the driver expects, word by word.

use chorus_protocol::line::LineData;

use super::driver::Driver;
use super::lower::Micro;
use super::operations::Operation;
use super::problem::Problem;
use super::program::{Access, Does, Kind, WORDS, Word, Words};
use super::wavefront::own_bit;

impl Driver {
    /// Compares an answer with the values that the driver expects.
    pub(super) fn judge(&mut self, operation: &Operation, data: &LineData<WORDS>) -> Result<(), Problem> {
        if self.kind == Kind::Racy {
            return Ok(());
        }
        let value = |word: Word| data.0[word.place()];
        match operation.micro {
            Micro::Access(Access { does: Does::Load { known: Some(words) }, .. })
            | Micro::Access(Access { does: Does::Update(_), words, .. }) => self.judge_known(operation, words, data),
            Micro::Lock(word) if value(word) > 1 => Err(self.wrong(operation, value(word), "0 or 1")),
            Micro::Unlock { lock, by_exchange: true } if value(lock) != 1 => {
                Err(self.wrong(operation, value(lock), "1"))
            }
            Micro::Await { word, value: least, .. } if value(word) > least + self.waves.len() as u32 => {
                Err(self.wrong(operation, value(word), &format!("about {least}")))
            }
            Micro::Count(words) => words.iter().try_for_each(|word| self.judge_count(operation, word, value(word))),
            Micro::Flip { words, .. } => {
                words.iter().try_for_each(|word| self.judge_flip(operation, word, value(word)))
            }
            Micro::Access(Access { does: Does::Load { known: None } | Does::Store, .. })
            | Micro::Fence(..)
            | Micro::Lock(_)
            | Micro::Unlock { .. }
            | Micro::Signal { .. }
            | Micro::Await { .. }
            | Micro::NextKernel => Ok(()),
        }
    }

    fn wrong(&self, operation: &Operation, got: u32, expected: &str) -> Problem {
        let wave = self.waves[usize::from(operation.wave)].slot.to_string();
        Problem::WrongValue { wave, operation: operation.micro.to_string(), got, expected: expected.to_owned() }
    }

    fn judge_known(&self, operation: &Operation, words: Words, data: &LineData<WORDS>) -> Result<(), Problem> {
        for word in words.iter() {
            let (got, expected) = (data.0[word.place()], operation.expected.0[word.place()]);
            if got != expected {
                let place = if words.count() > 1 { format!("{expected} in {word}") } else { expected.to_string() };
                return Err(self.wrong(operation, got, &place));
            }
        }
        Ok(())
    }

    /// Every addition of one gets a value that no other gets, and none that is larger than the number of them.
    fn judge_count(&mut self, operation: &Operation, word: Word, value: u32) -> Result<(), Problem> {
        let most = self.shadow[word.index()].max(operation.expected.0[word.place()] + 1);
        if value >= most {
            return Err(self.wrong(operation, value, &format!("less than {most}")));
        }
        let (place, bit) = (value as usize / 64, 1 << (value % 64));
        let seen = &self.counted[word.index()];
        if seen.get(place).is_some_and(|bits| bits & bit != 0) {
            return Err(self.wrong(operation, value, "a value that no other atomic got"));
        }
        let seen = &mut self.counted[word.index()];
        if seen.len() <= place {
            seen.resize(place + 1, 0);
        }
        seen[place] |= bit;
        Ok(())
    }

    /// A wavefront finds its own bit as it left it, and no bit of somebody who does not exist.
    fn judge_flip(&self, operation: &Operation, word: Word, value: u32) -> Result<(), Problem> {
        let (bit, expected) = (own_bit(operation.wave), operation.expected.0[word.place()]);
        let everybody = (0..self.waves.len() as u16).fold(0, |bits, wave| bits | own_bit(wave));
        if (value ^ expected) & bit != 0 || value & !everybody != 0 {
            let state = if expected & bit == 0 { "clear" } else { "set" };
            return Err(self.wrong(operation, value, &format!("bit {} {state}, and only known bits", bit.ilog2())));
        }
        Ok(())
    }
}
