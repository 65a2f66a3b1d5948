//! The banks of a private cache, which take accesses at the same time.

use chorus_protocol::save::{self, Save};

use crate::clock::Ticks;

/// When each bank can take the next access.
#[derive(Save)]
pub(super) struct Banks {
    /// The only bank, where there is one: most private caches have no more.
    only: Ticks,
    /// The banks, where there are several.
    several: Box<[Ticks]>,
}

impl Banks {
    /// So many banks, all of them free.
    pub(super) fn new(count: u32) -> Banks {
        Banks { only: 0, several: vec![0; if count > 1 { count as usize } else { 0 }].into() }
    }

    /// Whether there is one bank, which all lines lie in.
    #[inline(always)]
    pub(super) fn is_one(&self) -> bool {
        self.several.is_empty()
    }

    /// When the bank of a line is free.
    #[inline(always)]
    pub(super) fn free(&self, line: u64) -> Ticks {
        if self.is_one() { self.only } else { self.several[self.bank_of(line)] }
    }

    /// Takes the bank of a line until `time`.
    #[inline(always)]
    pub(super) fn take(&mut self, line: u64, time: Ticks) {
        if self.is_one() {
            self.only = time;
        } else {
            let bank = self.bank_of(line);
            self.several[bank] = time;
        }
    }

    fn bank_of(&self, line: u64) -> usize {
        (line % self.several.len() as u64) as usize
    }
}
