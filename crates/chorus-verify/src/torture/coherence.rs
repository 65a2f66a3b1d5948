//! Judges racy programs word by word: is there one order of a word's writes that all its reads fit?
//!
//! Every value is written once, so a value names its write. A wavefront's read or write of a word must not lie before
//! an earlier read or write of its own, an atomic's write directly follows the write that it read from, and the final
//! value comes last. Writes joined by atomics are one block. The order exists exactly if the blocks can be ordered (the
//! axioms of coherence and atomicity, as in Alglave et al., TOPLAS 2014, section 4).

use super::program::{WaveSlot, Word};

/// The value of a read that has not returned.
pub(super) const PENDING: u32 = u32::MAX;

/// A read or write of a word, in program order for each wavefront.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Logged {
    /// Index of the wavefront.
    pub wave: u16,
    /// The word that was read or written.
    pub word: Word,
    /// The value read, for loads and atomics.
    pub read: Option<u32>,
    /// The value written, for stores and atomics that wrote.
    pub written: Option<u32>,
}

/// The order of the writes of one word, with memory that is used again.
#[derive(Clone, Debug, Default)]
pub(super) struct Orders {
    /// By value: the word and wavefront of its write.
    writers: Vec<Option<(Word, u16)>>,
    /// By value: the value that an atomic wrote over it.
    successor: Vec<u32>,
    /// By value: the value that the atomic which wrote it had read.
    predecessor: Vec<u32>,
    /// By value: the block that it belongs to, named by the block's first value, and its place there.
    block: Vec<(u32, u32)>,
    edges: Vec<(u32, u32)>,
    /// By value: how many edges lead to the block.
    indegree: Vec<u32>,
    last: Vec<u32>,
}

const NONE: u32 = u32::MAX;

impl Orders {
    /// Checks every word of an episode. `values` is one more than the largest value written.
    pub(super) fn check(
        &mut self,
        log: &[Logged],
        finals: &[u32],
        values: u32,
        slots: &[WaveSlot],
    ) -> Result<(), String> {
        self.writers.clear();
        self.writers.resize(values as usize, None);
        for entry in log {
            if let Some(value) = entry.written {
                self.writers[value as usize] = Some((entry.word, entry.wave));
            }
        }
        for (index, &last) in finals.iter().enumerate() {
            let word = Word(index as u8);
            self.check_word(word, log, last, slots)?;
        }
        Ok(())
    }

    fn check_word(&mut self, word: Word, log: &[Logged], last: u32, slots: &[WaveSlot]) -> Result<(), String> {
        let values = self.writers.len();
        let known = |value: u32| {
            value == 0
                || self.writers.get(value as usize).is_some_and(|writer| writer.is_some_and(|(at, _)| at == word))
        };
        if !known(last) {
            return Err(format!("{word} finally holds {last}, which nobody wrote there"));
        }
        self.successor.clear();
        self.successor.resize(values.max(1), NONE);
        self.predecessor.clear();
        self.predecessor.resize(values.max(1), NONE);
        for entry in log.iter().filter(|entry| entry.word == word) {
            let Some(read) = entry.read else { continue };
            let slot = slots[usize::from(entry.wave)];
            if !known(read) {
                return Err(format!("{slot} read {read} from {word}, which nobody wrote there"));
            }
            if let Some(written) = entry.written {
                let first = self.successor[read as usize];
                if first != NONE {
                    return Err(format!("two atomics on {word} read {read}: they wrote {first} and {written}"));
                }
                self.successor[read as usize] = written;
                self.predecessor[written as usize] = read;
            }
        }
        self.form_blocks(word, log)?;
        self.collect_edges(word, log, slots)?;
        self.order_blocks(word, last)
    }

    /// Joins writes with the atomics that directly follow them.
    fn form_blocks(&mut self, word: Word, log: &[Logged]) -> Result<(), String> {
        self.block.clear();
        self.block.resize(self.successor.len(), (NONE, 0));
        let written = log.iter().filter(|entry| entry.word == word).filter_map(|entry| entry.written);
        for head in std::iter::once(0).chain(written) {
            if self.predecessor[head as usize] != NONE {
                continue;
            }
            let (mut value, mut place) = (head, 0);
            while value != NONE {
                self.block[value as usize] = (head, place);
                (value, place) = (self.successor[value as usize], place + 1);
            }
        }
        for value in log.iter().filter(|entry| entry.word == word).filter_map(|entry| entry.written) {
            if self.block[value as usize].0 == NONE {
                return Err(format!("atomics on {word} read from each other in a circle, among them that of {value}"));
            }
        }
        Ok(())
    }

    /// Collects the order of writes that each wavefront's program order demands.
    fn collect_edges(&mut self, word: Word, log: &[Logged], slots: &[WaveSlot]) -> Result<(), String> {
        self.edges.clear();
        self.last.clear();
        self.last.resize(slots.len(), 0);
        for entry in log.iter().filter(|entry| entry.word == word) {
            let wave = usize::from(entry.wave);
            let before = self.last[wave];
            let seen = entry.read.or(entry.written).unwrap_or(0);
            // A read may return a value that was seen before; a write is new.
            let is_new = entry.read.is_none();
            if seen != before || is_new {
                let (from, to) = (self.block[before as usize], self.block[seen as usize]);
                if from.0 == to.0 && from.1 >= to.1 {
                    let slot = slots[wave];
                    return Err(format!("{slot} saw {seen} in {word} after {before}, which was written later"));
                }
                if from.0 != to.0 {
                    self.edges.push((from.0, to.0));
                }
            }
            self.last[wave] = entry.written.unwrap_or(seen);
        }
        Ok(())
    }

    /// Orders the blocks, the block of the final value last.
    fn order_blocks(&mut self, word: Word, last: u32) -> Result<(), String> {
        let (last_block, _) = self.block[last as usize];
        if self.successor[last as usize] != NONE {
            let later = self.successor[last as usize];
            return Err(format!("{word} finally holds {last}, but an atomic has written {later} over it"));
        }
        self.indegree.clear();
        self.indegree.resize(self.block.len(), NONE);
        for value in 0..self.block.len() {
            let (head, _) = self.block[value];
            if head == value as u32 {
                self.indegree[value] = 0;
                if head != last_block {
                    self.edges.push((head, last_block));
                }
            }
        }
        for &(_, to) in &self.edges {
            self.indegree[to as usize] += 1;
        }
        self.edges.sort_unstable();
        self.last.clear();
        let free = |&value: &usize| self.indegree[value] == 0;
        let ready: Vec<u32> = (0..self.indegree.len()).filter(free).map(|value| value as u32).collect();
        self.last.extend(ready);
        while let Some(value) = self.last.pop() {
            let start = self.edges.partition_point(|&(from, _)| from < value);
            for index in start..self.edges.len() {
                let (from, to) = self.edges[index];
                if from != value {
                    break;
                }
                self.indegree[to as usize] -= 1;
                if self.indegree[to as usize] == 0 {
                    self.last.push(to);
                }
            }
        }
        let stuck = (0..self.indegree.len()).filter(|&value| self.indegree[value] != 0 && self.indegree[value] != NONE);
        let stuck: Vec<String> = stuck.take(6).map(|value| value.to_string()).collect();
        if stuck.is_empty() {
            return Ok(());
        }
        Err(format!(
            "no order of the writes of {word} fits what was read and the final {last}; in a circle: {}",
            stuck.join(", ")
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const X: Word = Word(0);

    fn entry(wave: u16, read: Option<u32>, written: Option<u32>) -> Logged {
        Logged { wave, word: X, read, written }
    }

    fn check(log: &[Logged], last: u32) -> Result<(), String> {
        let slots = [0, 1, 2, 3].map(|cache| WaveSlot { cache, slot: 0 });
        Orders::default().check(log, &[last], 10, &slots)
    }

    #[test]
    fn reads_that_agree_on_an_order_are_coherent() {
        let log = [
            entry(0, None, Some(1)),
            entry(1, None, Some(2)),
            entry(2, Some(1), None),
            entry(2, Some(2), None),
            entry(3, Some(0), None),
            entry(3, Some(2), None),
        ];
        assert_eq!(check(&log, 2), Ok(()));
        assert!(check(&log, 1).is_err(), "2 was seen after 1, so 1 is not last");
    }

    #[test]
    fn two_readers_that_disagree_are_found() {
        let log = [
            entry(0, None, Some(1)),
            entry(1, None, Some(2)),
            entry(2, Some(1), None),
            entry(2, Some(2), None),
            entry(3, Some(2), None),
            entry(3, Some(1), None),
        ];
        assert!(check(&log, 2).is_err());
    }

    #[test]
    fn own_writes_are_seen() {
        assert!(check(&[entry(0, None, Some(1)), entry(0, Some(0), None)], 1).is_err());
        assert!(check(&[entry(0, Some(1), None), entry(0, None, Some(1))], 1).is_err(), "read before written");
        assert!(check(&[entry(0, Some(7), None)], 0).is_err(), "never written");
    }

    #[test]
    fn atomics_are_atomic() {
        let lost = [entry(0, Some(0), Some(1)), entry(1, Some(0), Some(2))];
        assert!(check(&lost, 2).is_err());
        let chained = [entry(0, Some(0), Some(1)), entry(1, Some(1), Some(2)), entry(2, Some(1), None)];
        assert_eq!(check(&chained, 2), Ok(()));
        assert!(check(&chained, 1).is_err(), "an atomic wrote over it");
        let between = [entry(0, Some(0), Some(1)), entry(1, None, Some(3)), entry(1, Some(1), None)];
        assert_eq!(
            check(&between, 1),
            Err("no order of the writes of a0 fits what was read and the final 1; in a circle: 0, 3".to_owned())
        );
    }
}
