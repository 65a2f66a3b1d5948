//! The page table: in which module's memory each page of a program lies, and the physical numbers of its lines.
//!
//! Programs and the host use virtual lines, and controllers use physical lines. A physical line has the home module in
//! its upper bits and, below, the line within the module's memory, where pages are numbered in the order in which they
//! were placed. Sources are the HMG paper, section VI (first touch), and MGPUSim (Sun et al., ISCA 2019), which
//! distributes buffers over GPUs (blocks).

use std::ops::Range;

use chorus_protocol::address::LineAddr;
use chorus_protocol::save::{self, Restore, Save};
use chorus_system::{Memory, Placement};

use crate::clock::Ticks;

/// Bits of a line number below those that name its home module.
pub const HOME_SHIFT: u8 = 32;

/// Marks a page that nobody has touched.
const UNTOUCHED: u64 = u64::MAX;

/// The page table of a machine.
#[derive(Clone, Debug, Restore)]
pub struct Pages {
    #[save(built)]
    placement: Placement,
    /// Lines of a page, as a power of two.
    #[save(built)]
    shift: u32,
    /// The physical line of the first line of each virtual page.
    physical: Vec<u64>,
    /// The virtual pages of each module's memory.
    touched: Vec<Vec<u32>>,
    /// Pages that have been placed and are not in the table yet.
    late: Vec<Late>,
    /// The bits of a line's place in its page that the number of the page may change: all of them where places are
    /// hashed, so that the same place of many pages does not fall on few banks.
    #[save(built)]
    scrambled: u64,
}

/// A page that has been placed not long ago.
#[derive(Clone, Copy, Debug, Save)]
struct Late {
    page: usize,
    first: u64,
    /// The time from which it is found.
    known: Ticks,
}

impl Pages {
    /// No page has been touched; the program has these buffers, in words, and lines have `line_bytes` bytes.
    pub fn new(memory: &Memory, modules: u32, buffers: &[Range<usize>], line_bytes: u32) -> Pages {
        let page_words = memory.page_bytes as usize / 4;
        let words = buffers.last().map_or(0, |buffer| buffer.end);
        let count = match memory.placement {
            Placement::Single => 0,
            Placement::FirstTouch
            | Placement::Interleaved
            | Placement::Block
            | Placement::Buffer
            | Placement::Hashed => words.div_ceil(page_words),
        };
        let page_lines = u64::from(memory.page_bytes / line_bytes);
        let mut pages = Pages {
            placement: memory.placement,
            shift: page_lines.trailing_zeros(),
            physical: vec![UNTOUCHED; count],
            touched: vec![Vec::new(); modules as usize],
            late: Vec::new(),
            scrambled: if memory.placement == Placement::Hashed { page_lines - 1 } else { 0 },
        };
        for (number, buffer) in buffers.iter().enumerate() {
            pages.place_buffer(number, buffer.start / page_words..buffer.end.div_ceil(page_words));
        }
        pages
    }

    /// Places the pages of a buffer under policies that need no access. A page that it shares with the buffer before is
    /// placed already.
    fn place_buffer(&mut self, number: usize, buffer: Range<usize>) {
        let (modules, pages) = (self.touched.len(), buffer.len());
        for (index, page) in buffer.enumerate() {
            let home = match self.placement {
                Placement::Block => index * modules / pages,
                Placement::Buffer => number % modules,
                Placement::Hashed => hash(page, modules),
                Placement::FirstTouch | Placement::Interleaved | Placement::Single => return,
            };
            if self.physical[page] == UNTOUCHED {
                self.physical[page] = self.number(page, home);
            }
        }
    }

    /// The physical line of virtual line `line` at `now`, if its page lies somewhere.
    #[inline]
    pub fn physical(&self, line: u64, now: Ticks) -> Option<LineAddr> {
        if self.placement == Placement::Single {
            return Some(LineAddr(line));
        }
        let page = (line >> self.shift) as usize;
        let first = match self.physical.get(page) {
            Some(&first) if first != UNTOUCHED => first,
            Some(_) | None => self.lately_placed(page, now)?,
        };
        Some(LineAddr(first ^ line & ((1 << self.shift) - 1)))
    }

    /// The first physical line of a page that was placed not long before `now`.
    #[cold]
    fn lately_placed(&self, page: usize, now: Ticks) -> Option<u64> {
        self.late.iter().find(|late| late.page == page && late.known <= now).map(|late| late.first)
    }

    /// The page that a virtual line lies in.
    pub fn page_of(&self, line: u64) -> u32 {
        (line >> self.shift) as u32
    }

    /// Places a page that a compute unit of `module` touches, unless it has been placed. The page is found there from
    /// `known` on.
    pub fn touch(&mut self, page: u32, module: u16, known: Ticks) {
        let page = page as usize;
        if page >= self.physical.len() {
            self.physical.resize(page + 1, UNTOUCHED);
        }
        if self.physical[page] != UNTOUCHED || self.late.iter().any(|late| late.page == page) {
            return;
        }
        let home = match self.placement {
            Placement::FirstTouch => usize::from(module),
            Placement::Interleaved => page % self.touched.len(),
            Placement::Hashed => hash(page, self.touched.len()),
            Placement::Single | Placement::Block | Placement::Buffer => 0,
        };
        let first = self.number(page, home);
        self.late.push(Late { page, first, known });
    }

    /// Makes the places of pages that are known by `now` those of the table.
    pub fn settle(&mut self, now: Ticks) {
        let Pages { late, physical, .. } = self;
        late.retain(|late| {
            let is_known = late.known <= now;
            if is_known {
                physical[late.page] = late.first;
            }
            !is_known
        });
    }

    /// The physical line of the first line of a page in the memory of a module.
    fn number(&mut self, page: usize, home: usize) -> u64 {
        let first = (home as u64) << HOME_SHIFT | (self.touched[home].len() as u64) << self.shift;
        self.touched[home].push(page as u32);
        first | self.scramble(page as u32)
    }

    /// The change of the places of a page's lines. Where places are not hashed, there is none.
    #[inline]
    fn scramble(&self, page: u32) -> u64 {
        u64::from(page.wrapping_mul(0x9E37_79B1) >> 16) & self.scrambled
    }

    /// The virtual line of physical line `line`. Lines that no program touched stay what they are.
    #[inline]
    pub fn virtual_line(&self, line: LineAddr) -> LineAddr {
        if self.placement == Placement::Single {
            return line;
        }
        let within = line.0 & ((1 << HOME_SHIFT) - 1);
        let pages = self.touched.get((line.0 >> HOME_SHIFT) as usize);
        match pages.and_then(|pages| pages.get((within >> self.shift) as usize)) {
            Some(&page) => {
                let place = (within ^ self.scramble(page)) & ((1 << self.shift) - 1);
                LineAddr(u64::from(page) << self.shift | place)
            }
            None => line,
        }
    }

    /// The first physical lines of the pages that these virtual lines lie in. Pages that nobody has touched are left
    /// out.
    pub fn touched(&self, lines: Range<u64>) -> impl Iterator<Item = LineAddr> + use<'_> {
        let pages = lines.start >> self.shift..(lines.end + (1 << self.shift) - 1) >> self.shift;
        let single = self.placement == Placement::Single;
        pages.filter_map(move |page| match self.physical.get(page as usize) {
            Some(&first) if first != UNTOUCHED => Some(LineAddr(first >> self.shift << self.shift)),
            Some(_) | None => single.then_some(LineAddr(page << self.shift)),
        })
    }

    /// The parts of a range of virtual lines that lie in the memory of a module, or that may come to lie there because
    /// nobody has touched them.
    pub fn in_memory_of(&self, module: u16, lines: &Range<u64>) -> impl Iterator<Item = Range<u64>> + use<'_> {
        let Range { start, end } = *lines;
        let pages = start >> self.shift..(end + (1 << self.shift) - 1) >> self.shift;
        let is_here = move |page: &u64| match self.physical.get(*page as usize) {
            Some(&first) if first != UNTOUCHED => first >> HOME_SHIFT == u64::from(module),
            Some(_) | None => true,
        };
        pages.filter(is_here).map(move |page| {
            let first = page << self.shift;
            first.max(start)..(first + (1 << self.shift)).min(end)
        })
    }

    /// The number of lines of a page.
    pub fn page_lines(&self) -> u32 {
        1 << self.shift
    }
}

/// The module of a page whose place is hashed: the sum of the digits of its number, in a system of as many digits as
/// there are modules. Of any aligned stretch of pages every module has as many, and no stride prefers one.
fn hash(mut page: usize, modules: usize) -> usize {
    let mut sum = 0;
    while page > 0 && modules > 1 {
        sum += page % modules;
        page /= modules;
    }
    sum % modules
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The physical line of a virtual line that a compute unit of `module` accesses.
    fn reach(pages: &mut Pages, line: u64, module: u16) -> LineAddr {
        pages.touch(pages.page_of(line), module, 0);
        pages.settle(0);
        pages.physical(line, 0).unwrap()
    }

    /// Pages of four lines, on three modules.
    fn pages(placement: Placement) -> Pages {
        Pages::new(
            &Memory { page_bytes: 512, alignment_bytes: 256, placement },
            3,
            &[0..128 * 9, 128 * 9..128 * 20],
            128,
        )
    }

    #[test]
    fn every_module_has_an_equal_part_of_every_buffer() {
        let mut pages = pages(Placement::Block);
        let homes: Vec<u64> = (0..20).map(|page| reach(&mut pages, page * 4, 1).0 >> HOME_SHIFT).collect();
        assert_eq!(homes, [0, 0, 0, 1, 1, 1, 2, 2, 2, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2]);
        assert_eq!(reach(&mut pages, 4, 2), LineAddr(4));
    }

    #[test]
    fn modules_take_turns_with_whole_buffers() {
        let mut pages = pages(Placement::Buffer);
        let homes: Vec<u64> = (0..20).map(|page| reach(&mut pages, page * 4, 1).0 >> HOME_SHIFT).collect();
        assert_eq!(homes, [[0; 9].as_slice(), &[1; 11]].concat());
    }

    #[test]
    fn a_page_lies_with_the_module_that_touches_it_first_and_stays_there() {
        let mut pages = pages(Placement::FirstTouch);
        assert_eq!(reach(&mut pages, 9, 2), LineAddr(2 << 32 | 1));
        assert_eq!(reach(&mut pages, 11, 0), LineAddr(2 << 32 | 3));
        assert_eq!(reach(&mut pages, 0, 2), LineAddr(2 << 32 | 4));
        assert_eq!(reach(&mut pages, 4, 0), LineAddr(0));
        assert_eq!(pages.touched.iter().map(Vec::len).collect::<Vec<_>>(), [1, 0, 2]);
    }

    #[test]
    fn a_page_is_found_from_the_time_on_at_which_its_place_is_known() {
        let mut pages = pages(Placement::FirstTouch);
        pages.touch(2, 1, 50);
        pages.touch(2, 0, 60);
        assert_eq!((pages.physical(8, 49), pages.physical(8, 50)), (None, Some(LineAddr(1 << 32))));
        pages.settle(50);
        assert_eq!(pages.physical(9, 50), Some(LineAddr(1 << 32 | 1)));
    }

    #[test]
    fn interleaved_pages_take_turns_whoever_touches_them() {
        let mut pages = pages(Placement::Interleaved);
        let homes = [0, 4, 8, 12].map(|line| reach(&mut pages, line, 1).0 >> HOME_SHIFT);
        assert_eq!(homes, [0, 1, 2, 0]);
    }

    #[test]
    fn hashed_pages_lie_somewhere_before_anybody_touches_them() {
        let pages = pages(Placement::Hashed);
        let homes: Vec<u64> = (0..9).map(|page| pages.physical(page * 4, 0).unwrap().0 >> HOME_SHIFT).collect();
        assert_eq!(homes, [0, 1, 2, 1, 2, 0, 2, 0, 1]);
        for line in 0..80 {
            assert_eq!(pages.virtual_line(pages.physical(line, 0).unwrap()), LineAddr(line));
        }
        let places = (0..20).map(|page| pages.physical(page * 4, 0).unwrap().0 % 4);
        assert_eq!(places.collect::<std::collections::BTreeSet<_>>().len(), 4, "lines change their places");
    }

    #[test]
    fn a_single_memory_needs_no_translation() {
        let mut pages = pages(Placement::Single);
        assert_eq!(reach(&mut pages, 123, 2), LineAddr(123));
        assert_eq!(pages.virtual_line(LineAddr(123)), LineAddr(123));
    }

    #[test]
    fn pages_of_lines_are_those_that_somebody_has_touched() {
        let mut pages = pages(Placement::FirstTouch);
        let (second, third) = (reach(&mut pages, 6, 1), reach(&mut pages, 8, 2));
        let touched: Vec<_> = pages.touched(1..9).collect();
        assert_eq!(touched, [LineAddr(second.0 - 2), third]);
    }

    #[test]
    fn a_module_has_the_pages_that_are_its_own_and_those_that_are_nobodys() {
        let mut pages = pages(Placement::FirstTouch);
        reach(&mut pages, 5, 1);
        reach(&mut pages, 8, 2);
        let own = |module| pages.in_memory_of(module, &(2..14)).collect::<Vec<_>>();
        assert_eq!(own(0), [2..4, 12..14]);
        assert_eq!(own(1), [2..4, 4..8, 12..14]);
    }

    #[test]
    fn physical_lines_are_found_again() {
        let mut pages = pages(Placement::FirstTouch);
        for line in [77, 3, 40, 12, 78] {
            let physical = reach(&mut pages, line, (line % 3) as u16);
            assert_eq!(pages.virtual_line(physical), LineAddr(line));
        }
    }
}
