//! One slice of a memory-side L3: its tags, its link to the L2 bank before it, and its queues.
//!
//! A slice holds lines of the memory channel behind it, independently of the contents of the L2s. (The CPElide paper
//! calls its L3 inclusive, section IV-A, but Table I gives it half the capacity of the L2s.) A line that is fetched
//! from memory is inserted. A line that a bank writes is inserted too and needs no fetch. The slice's own write policy
//! says when it goes on to memory, whichever protocol wrote it: at once, or when the line gives way. A slice has no
//! values.

use std::collections::VecDeque;

use chorus_protocol::save::{self, Restore};
use chorus_system::{Dram, L3, MemorySide, WritePolicy};

use crate::clock::{Clock, Ticks};
use crate::port::{Port, Rate};

/// A way that holds nothing.
const EMPTY: u64 = u64::MAX;

/// The tags of a slice, under least-recently-used replacement. The number of sets need not be a power of two.
#[derive(Clone, Debug, Restore)]
pub struct Tags {
    #[save(built)]
    sets: u64,
    #[save(built)]
    ways: usize,
    /// Line number and whether it is dirty in the lowest bit, set by set, in each the most recently used first.
    lines: Vec<u64>,
}

impl Tags {
    /// Tags that hold nothing.
    pub fn new(sets: u32, ways: u32) -> Tags {
        let (sets, ways) = (u64::from(sets.max(1)), ways.max(1) as usize);
        Tags { sets, ways, lines: vec![EMPTY; sets as usize * ways] }
    }

    /// Whether a line is held; then it is the most recently used of its set.
    pub fn touch(&mut self, line: u64) -> bool {
        let set = self.set(line);
        let place = set.iter().position(|&entry| entry >> 1 == line);
        if let Some(place) = place {
            set[..=place].rotate_right(1);
        }
        place.is_some()
    }

    /// Inserts a line, dirty or clean. Returns the victim if it was dirty.
    pub fn insert(&mut self, line: u64, dirty: bool) -> Option<u64> {
        let dirty = u64::from(dirty);
        if self.touch(line) {
            self.set(line)[0] |= dirty;
            return None;
        }
        let set = self.set(line);
        set.rotate_right(1);
        let victim = std::mem::replace(&mut set[0], line << 1 | dirty);
        (victim != EMPTY && victim & 1 == 1).then_some(victim >> 1)
    }

    fn set(&mut self, line: u64) -> &mut [u64] {
        let first = (line % self.sets) as usize * self.ways;
        &mut self.lines[first..first + self.ways]
    }
}

/// A request that waits at a slice for the memory channel behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForMemory {
    /// A fetch of a line that the slice does not hold, by the number that the driver gives it.
    Fetch(u32),
    /// A dirty victim that is written to memory.
    Victim(u64),
}

/// A slice of the L3.
#[derive(Clone, Debug, Restore)]
pub struct Slice {
    /// Which lines it holds.
    pub tags: Tags,
    /// The link from the bank to the slice.
    down: Port,
    /// The link from the slice to the bank.
    up: Port,
    /// Write-backs that the slice has not taken yet.
    write_backs: VecDeque<u32>,
    fetches: VecDeque<u32>,
    /// Lines that wait to be written to memory: dirty victims and lines that were written through.
    victims: VecDeque<u64>,
    /// When what banks write goes on to memory.
    #[save(built)]
    write_policy: WritePolicy,
    /// Most write-backs that the bank may let wait, and most victims.
    #[save(built)]
    capacity: usize,
}

impl Slice {
    /// An empty slice for lines of `line_bytes`, before a channel of `dram`.
    pub fn new((config, way): (&L3, &MemorySide), dram: &Dram, core: Clock, line_bytes: u32) -> Slice {
        let rate = Rate { bytes: u64::from(way.bytes_per_cycle), ticks: core.period() };
        let link = Port::new(rate, core.period());
        let capacity = dram.queue as usize;
        Slice {
            tags: Tags::new(config.bank_bytes / line_bytes / config.ways, config.ways),
            down: link,
            up: link,
            write_backs: VecDeque::with_capacity(capacity),
            fetches: VecDeque::with_capacity(capacity),
            victims: VecDeque::with_capacity(capacity),
            write_policy: way.write_policy,
            capacity,
        }
    }

    /// Adds a write-back that has arrived. More may come than there is room for, when a whole L2 is flushed.
    pub fn put(&mut self, write_back: u32) {
        self.write_backs.push_back(write_back);
    }

    /// How many write-backs the slice has not taken yet.
    pub fn waiting(&self) -> usize {
        self.write_backs.len()
    }

    /// How many more write-backs the bank may send without having to wait.
    pub fn room(&self) -> usize {
        self.capacity.saturating_sub(self.waiting())
    }

    /// The write-back that the slice takes next, and the time from which the link is free for it. Returns nothing while
    /// the slice waits for a victim to leave.
    pub fn next_write_back(&self) -> Option<(u32, Ticks)> {
        let next = self.write_backs.front().filter(|_| self.victims.len() < self.capacity);
        next.map(|&write_back| (write_back, self.down.free()))
    }

    /// Takes a write-back of `bytes` of a line over the link.
    pub fn take_write_back(&mut self, line: u64, bytes: u64, now: Ticks) {
        self.write_backs.pop_front();
        let leaves = match self.write_policy {
            WritePolicy::WriteBack => self.tags.insert(line, true),
            WritePolicy::WriteThrough => {
                self.tags.insert(line, false);
                Some(line)
            }
        };
        self.victims.extend(leaves);
        self.down.pass(bytes, now);
    }

    /// Adds a fetch of a line that the slice does not hold.
    pub fn put_fetch(&mut self, fetch: u32) {
        self.fetches.push_back(fetch);
    }

    /// Inserts a line that has been fetched.
    pub fn fill(&mut self, line: u64) {
        if let Some(victim) = self.tags.insert(line, false) {
            self.victims.push_back(victim);
        }
    }

    /// Sends a line of `bytes` to the bank. Returns when it is there.
    pub fn answer(&mut self, bytes: u64, now: Ticks) -> Ticks {
        self.up.pass(bytes, now).end
    }

    /// The request that the memory channel gets next. Fetches come first, since a wavefront waits for each. Victims are
    /// sent only when the channel is `idle`, so that few are ever ahead of a fetch.
    pub fn next_for_memory(&mut self, idle: bool) -> Option<ForMemory> {
        let fetch = self.fetches.pop_front().map(ForMemory::Fetch);
        fetch.or_else(|| if idle { self.victims.pop_front().map(ForMemory::Victim) } else { None })
    }
}

#[cfg(test)]
mod tests {
    use chorus_system::{Scale, resolve};

    use super::*;
    use crate::clock::ClockDomains;

    /// A slice of 3 sets of 2 ways, 32 bytes per cycle, before a channel that lets 2 wait.
    fn slice_that(write_policy: &str) -> Slice {
        let write_policy = format!("l3.write_policy={write_policy}");
        let set = ["l3.bank_bytes=384", "l3.ways=2", "l3.bytes_per_cycle=32", "dram.queue=2", &write_policy];
        let config = resolve("cpelide", Scale::Quick, &set.map(String::from)).unwrap().config;
        let l3 = config.memory_side_l3().unwrap();
        Slice::new(l3, &config.dram, ClockDomains::new(&config.clocks).core, config.l1.line_bytes)
    }

    /// A slice of an L3 that is written back.
    fn slice() -> Slice {
        slice_that("write-back")
    }

    #[test]
    fn what_is_written_through_is_kept_and_goes_to_memory_at_once() {
        let mut slice = slice_that("write-through");
        slice.put(0);
        slice.take_write_back(7, 64, 0);
        assert!(slice.tags.touch(7));
        assert_eq!(slice.next_for_memory(true), Some(ForMemory::Victim(7)));
        assert_eq!(slice.next_for_memory(true), None);
    }

    #[test]
    fn what_is_written_back_goes_to_memory_once_however_often_it_is_written() {
        let mut slice = slice();
        for line in [0, 0, 3] {
            slice.put(0);
            slice.take_write_back(line, 64, 0);
        }
        assert_eq!(slice.next_for_memory(true), None);
        slice.fill(6);
        assert_eq!(slice.next_for_memory(true), Some(ForMemory::Victim(0)));
        assert_eq!(slice.next_for_memory(true), None);
    }

    #[test]
    fn lines_are_held_once_they_are_filled() {
        let mut tags = slice().tags;
        assert!(!tags.touch(7));
        assert_eq!(tags.insert(7, false), None);
        assert!(tags.touch(7));
    }

    #[test]
    fn the_least_recently_used_line_of_a_set_gives_way() {
        let mut tags = slice().tags;
        tags.insert(0, false);
        tags.insert(3, false);
        tags.touch(0);
        tags.insert(6, false);
        assert_eq!([0, 3, 6].map(|line| tags.touch(line)), [true, false, true]);
    }

    #[test]
    fn only_dirty_lines_that_give_way_are_victims() {
        let mut tags = slice().tags;
        tags.insert(0, true);
        assert_eq!(tags.insert(3, false), None);
        assert_eq!(tags.insert(6, false), Some(0));
        assert_eq!(tags.insert(9, false), None);
    }

    #[test]
    fn a_fill_does_not_clean_a_dirty_line() {
        let mut tags = slice().tags;
        tags.insert(0, true);
        tags.insert(0, false);
        tags.insert(3, false);
        assert_eq!(tags.insert(6, false), Some(0));
    }

    #[test]
    fn the_link_moves_so_many_bytes_per_cycle_in_each_direction() {
        let mut slice = slice();
        slice.put(1);
        slice.put(2);
        slice.put(3);
        slice.take_write_back(0, 64, 10);
        assert_eq!(slice.next_write_back(), Some((2, 12)));
        slice.take_write_back(1, 64, 12);
        assert_eq!(slice.next_write_back(), Some((3, 14)));
        assert_eq!([10, 11, 12].map(|now| slice.answer(64, now)), [12, 14, 16]);
    }

    #[test]
    fn write_backs_wait_while_too_many_victims_do() {
        let mut slice = slice();
        for id in 0..5 {
            slice.put(id);
        }
        let mut taken = 0;
        while slice.next_write_back().is_some() {
            slice.take_write_back(3 * taken, 64, 2 * taken);
            taken += 1;
        }
        // Two fill the set, and two more make victims.
        assert_eq!((taken, slice.waiting(), slice.room()), (4, 1, 1));
        assert_eq!(slice.next_for_memory(true), Some(ForMemory::Victim(0)));
        assert_eq!(slice.next_write_back(), Some((4, 8)));
    }

    #[test]
    fn fetches_go_to_memory_before_victims() {
        let mut slice = slice();
        [0, 3, 6].into_iter().for_each(|line| {
            slice.put(9);
            slice.take_write_back(line, 64, 0);
        });
        slice.put_fetch(5);
        let mut next = |idle| slice.next_for_memory(idle);
        assert_eq!([next(true), next(false)], [Some(ForMemory::Fetch(5)), None]);
        assert_eq!([next(true), next(true)], [Some(ForMemory::Victim(0)), None]);
    }
}
