//! Where the addresses of a trace lie in the memory of a simulated machine.
//!
//! A trace names virtual addresses and no allocations. What was allocated is inferred: the 64-KiB pages that kernels
//! touch, and those that the host copies to or from. Pages that follow each other become one buffer. Buffers keep the
//! order of their addresses, and an address keeps its place within its page.

use std::collections::BTreeSet;

use chorus_kernel::HostMemory;

/// The bytes of a page.
pub(crate) const PAGE_BYTES: u64 = 64 << 10;

const PAGE_WORDS: u64 = PAGE_BYTES / 4;

/// The most pages of a trace: 8 GiB.
pub(crate) const PAGES_MAX: usize = 1 << 17;

/// The most bytes that may be lost before the beginnings of buffers. A trace whose pages are scattered so much that
/// more would be lost gets one buffer for all of them.
const GAPS_MAX: u64 = 1 << 30;

/// The pages that a program uses.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pages {
    numbers: BTreeSet<u64>,
    /// The page that was added last, since most accesses are to it.
    last: Option<u64>,
}

impl Pages {
    /// Adds the page of an address. Fails where there are too many.
    pub(crate) fn add(&mut self, address: u64) -> Result<(), String> {
        let page = address / PAGE_BYTES;
        if self.last == Some(page) {
            return Ok(());
        }
        self.last = Some(page);
        self.numbers.insert(page);
        if self.numbers.len() > PAGES_MAX {
            let gigabytes = (PAGES_MAX as u64 * PAGE_BYTES) >> 30;
            return Err(format!("the trace uses more than {gigabytes} GiB of memory up to here, in pages of 64 KiB"));
        }
        Ok(())
    }

    /// Adds all pages of a range of addresses.
    pub(crate) fn add_range(&mut self, first: u64, bytes: u64) -> Result<(), String> {
        (first / PAGE_BYTES..(first + bytes).div_ceil(PAGE_BYTES)).try_for_each(|page| self.add(page * PAGE_BYTES))
    }

    /// The bytes of all pages.
    pub(crate) fn bytes(&self) -> u64 {
        self.numbers.len() as u64 * PAGE_BYTES
    }

    /// Pages that follow each other: the first one and how many there are.
    fn runs(&self) -> Vec<(u64, u64)> {
        let mut runs: Vec<(u64, u64)> = Vec::new();
        for &page in &self.numbers {
            match runs.last_mut() {
                Some((first, count)) if *first + *count == page => *count += 1,
                _ => runs.push((page, 1)),
            }
        }
        runs
    }
}

/// Pages that follow each other in the trace and in memory.
#[derive(Clone, Copy, Debug)]
struct Run {
    address: u64,
    word: u32,
    words: u64,
}

/// The word of each address.
#[derive(Clone, Debug)]
pub(crate) struct AddressMap {
    runs: Vec<Run>,
}

impl AddressMap {
    /// Makes buffers for all pages.
    pub(crate) fn new(pages: &Pages, memory: &mut HostMemory) -> AddressMap {
        let runs = pages.runs();
        if runs.len() as u64 * memory.alignment_bytes() <= GAPS_MAX {
            let run = |(first, count): (u64, u64)| {
                let buffer = memory.alloc::<u32>((count * PAGE_WORDS) as usize);
                Run { address: first * PAGE_BYTES, word: buffer.start(), words: count * PAGE_WORDS }
            };
            return AddressMap { runs: runs.into_iter().map(run).collect() };
        }
        let mut word = memory.alloc::<u32>(pages.numbers.len() * PAGE_WORDS as usize).start();
        let run = |(first, count): (u64, u64)| {
            let run = Run { address: first * PAGE_BYTES, word, words: count * PAGE_WORDS };
            word += (count * PAGE_WORDS) as u32;
            run
        };
        AddressMap { runs: runs.into_iter().map(run).collect() }
    }

    /// The word that an address lies in. Its page has been added.
    pub(crate) fn word(&self, address: u64) -> u32 {
        let after = self.runs.partition_point(|run| run.address <= address);
        let Some(run) = self.runs.get(after.saturating_sub(1)) else { return 0 };
        // A file that has changed since it was read may name any address.
        let offset = (address.saturating_sub(run.address) / 4).min(run.words - 1);
        run.word + offset as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_dense_in_the_order_of_their_addresses_and_keep_what_lies_in_them() {
        let mut pages = Pages::default();
        pages.add(0x7f00_0004_0000).unwrap();
        pages.add_range(0x7f00_0000_0300, 2 * PAGE_BYTES).unwrap();
        assert_eq!(pages.bytes(), 4 * PAGE_BYTES);
        let mut memory = HostMemory::default();
        let map = AddressMap::new(&pages, &mut memory);
        assert_eq!(memory.buffers().len(), 2);
        assert_eq!(map.word(0x7f00_0000_0300), 0x300 / 4);
        assert_eq!(map.word(0x7f00_0002_0301), 2 * PAGE_WORDS as u32 + 0xc0);
        assert_eq!(map.word(0x7f00_0004_0008), 3 * PAGE_WORDS as u32 + 2);
    }

    #[test]
    fn scattered_pages_share_a_buffer() {
        let mut pages = Pages::default();
        (0..2000).for_each(|page| pages.add(3 * page * PAGE_BYTES).unwrap());
        let mut memory = HostMemory::aligned(1 << 20);
        let map = AddressMap::new(&pages, &mut memory);
        assert_eq!((memory.buffers().len(), map.word(6 * PAGE_BYTES)), (1, 2 * PAGE_WORDS as u32));
    }

    #[test]
    fn more_memory_than_a_machine_has_is_refused() {
        assert!(Pages::default().add_range(0, 1 << 50).unwrap_err().contains("more than 8 GiB"));
    }
}
