//! The sectors of lines that a cache has fetched.
//!
//! Controllers know whole lines. On machines whose caches fetch lines by sectors, the driver notes beside each cache
//! which sectors of a line anybody has asked for. A line of a private cache that lacks a sector is given up and fetched
//! again, with this sector. A shared bank reads further sectors of its lines from memory while it answers.

use chorus_protocol::line::ByteMask;
use chorus_protocol::save::{self, Restore, Save};

/// Notes on one line.
#[derive(Clone, Copy, Debug, Save)]
struct Note {
    line: u64,
    /// The sectors that have been asked for, one bit each.
    sectors: u8,
    /// Whether the line has not come yet.
    is_on_its_way: bool,
}

/// Notes of the lines of a cache. A line that has lost its note to another one counts as fetched as a whole.
#[derive(Clone, Debug, Restore)]
pub struct Sectors {
    #[save(built)]
    bytes: u32,
    notes: Vec<Note>,
}

impl Sectors {
    /// Notes of a cache of so many lines, of sectors of `bytes`.
    pub fn new(lines: u32, bytes: u32) -> Sectors {
        let nothing = Note { line: u64::MAX, sectors: 0, is_on_its_way: false };
        Sectors { bytes, notes: vec![nothing; (2 * lines).next_power_of_two() as usize] }
    }

    fn note(&mut self, line: u64) -> &mut Note {
        let index = line as usize & (self.notes.len() - 1);
        &mut self.notes[index]
    }

    /// The sectors that some bytes of a line lie in.
    pub fn of(&self, mask: ByteMask) -> u8 {
        sectors_of(mask, self.bytes)
    }

    /// Sectors of a line that is there are needed. Returns those of them that are fetched now.
    pub fn found(&mut self, line: u64, needed: u8) -> u8 {
        let note = self.note(line);
        if note.line != line {
            return 0;
        }
        let missing = needed & !note.sectors;
        note.sectors |= needed;
        missing
    }

    /// Sectors of a line that is not there, or on its way, are needed. Returns those of them that are fetched now.
    pub fn missed(&mut self, line: u64, needed: u8) -> u8 {
        let note = self.note(line);
        if note.line == line && note.is_on_its_way {
            return self.found(line, needed);
        }
        *note = Note { line, sectors: needed, is_on_its_way: true };
        needed
    }

    /// Whether a line, if it is there, lacks some sectors that are needed.
    pub fn lacks(&self, line: u64, needed: u8) -> bool {
        let note = &self.notes[line as usize & (self.notes.len() - 1)];
        note.line == line && !note.is_on_its_way && needed & !note.sectors != 0
    }

    /// Further sectors of a line are about to be fetched.
    pub fn expect_more(&mut self, line: u64) {
        let note = self.note(line);
        note.is_on_its_way |= note.line == line;
    }

    /// A line has come.
    pub fn arrived(&mut self, line: u64) {
        let note = self.note(line);
        note.is_on_its_way &= note.line != line;
    }
}

/// The sectors of `bytes` that some bytes of a line lie in, one bit each.
pub fn sectors_of(mask: ByteMask, bytes: u32) -> u8 {
    let sector = u128::MAX >> (128 - bytes);
    let is_touched = |number: u32| mask.0 >> (number * bytes) & sector != 0;
    (0..128 / bytes).fold(0, |sectors, number| sectors | u8::from(is_touched(number)) << number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_lie_in_their_sectors() {
        assert_eq!(sectors_of(ByteMask::full::<32>(), 32), 0b1111);
        assert_eq!(sectors_of(ByteMask::word(8) | ByteMask::word(31), 32), 0b1010);
        assert_eq!(sectors_of(ByteMask::EMPTY, 32), 0);
    }

    #[test]
    fn a_sector_is_fetched_once_for_each_time_that_its_line_comes() {
        let mut sectors = Sectors::new(4, 32);
        assert_eq!(sectors.missed(5, 0b0001), 0b0001);
        assert_eq!(sectors.missed(5, 0b0011), 0b0010, "a load that waits for the same line");
        sectors.arrived(5);
        assert!(sectors.lacks(5, 0b0100) && !sectors.lacks(5, 0b0011));
        sectors.expect_more(5);
        assert_eq!(sectors.missed(5, 0b0110), 0b0100, "the sectors that had come are kept");
        sectors.arrived(5);
        assert_eq!(sectors.found(5, 0b0111), 0);
        assert_eq!(sectors.missed(5, 0b0001), 0b0001, "the line had left the cache");
        assert_eq!(sectors.found(9, 0b1111), 0, "nothing is known of a line");
    }
}
