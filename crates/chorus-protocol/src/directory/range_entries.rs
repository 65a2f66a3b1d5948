//! Directory entries that coalesce the lines of an address range and still know the sharers of each line (REC paper,
//! sections 4.1 and 4.2).
//!
//! An entry has a base address, which is the common part of the addresses of its range, and a vector. The vector has a
//! field for every line: a position bit, which says whether the line is tracked, and behind it a bit for every sharer
//! but the home. Figure 9 numbers the bits from the first position bit on. So with `n` sharers the line at `offset`
//! bytes has position bit `offset / line_bytes x (n + 1)`. The entry is valid while a bit of its vector is set.

use std::hash::{Hash, Hasher};

use crate::address::{AgentId, LineAddr};
use crate::cache::{CacheArray, Room, Slot};
use crate::controller::Depth;
use crate::directory::storage::{ADDRESS_BITS, EntryBits, Extent};
use crate::directory::{Directory, Positions, Recorded, Stale, geometry};
use crate::registry::BuildConfig;
use crate::save::{self, Restore};
use crate::sharers::Sharers;

/// The bit of a field that says that its line is tracked. The bits of the sharers follow it.
const POSITION: u64 = 1;

/// The vectors of all entries, in a row. The number of words that they need is known when the directory is built.
#[derive(Clone, Debug, Restore)]
struct Vectors {
    /// The bits of one line's field: its position and its sharers.
    #[save(built)]
    field_bits: u32,
    #[save(built)]
    words_per_entry: usize,
    words: Vec<u64>,
}

impl Vectors {
    fn new(entries: usize, lines_per_entry: u32, sharers: u32) -> Vectors {
        let field_bits = 1 + sharers;
        debug_assert!(field_bits <= u64::BITS, "the own position leaves at most 63 sharers");
        let words_per_entry = (lines_per_entry * field_bits).div_ceil(u64::BITS) as usize;
        Vectors { field_bits, words_per_entry, words: vec![0; entries * words_per_entry] }
    }

    fn of(&self, slot: Slot) -> &[u64] {
        &self.words[slot.index() * self.words_per_entry..][..self.words_per_entry]
    }

    fn of_mut(&mut self, slot: Slot) -> &mut [u64] {
        &mut self.words[slot.index() * self.words_per_entry..][..self.words_per_entry]
    }

    fn mask(&self) -> u64 {
        u64::MAX >> (u64::BITS - self.field_bits)
    }

    /// The place of field `index`: the word and the bit in which it begins, and whether it continues in the next word.
    fn place(&self, index: u32) -> (usize, u32, bool) {
        let first = index * self.field_bits;
        let shift = first % u64::BITS;
        ((first / u64::BITS) as usize, shift, shift + self.field_bits > u64::BITS)
    }

    fn field(&self, slot: Slot, index: u32) -> u64 {
        let (word, shift, goes_on) = self.place(index);
        let words = self.of(slot);
        let rest = if goes_on { words[word + 1] << (u64::BITS - shift) } else { 0 };
        (words[word] >> shift | rest) & self.mask()
    }

    fn set_field(&mut self, slot: Slot, index: u32, value: u64) {
        let ((word, shift, goes_on), mask) = (self.place(index), self.mask());
        let words = self.of_mut(slot);
        words[word] = words[word] & !(mask << shift) | value << shift;
        if goes_on {
            let taken = u64::BITS - shift;
            words[word + 1] = words[word + 1] & !(mask >> taken) | value >> taken;
        }
    }
}

/// A directory whose entries cover a range of lines each and track every line by itself.
#[derive(Clone, Debug, Restore)]
pub struct RangeEntries {
    #[save(built)]
    lines_per_entry: u32,
    #[save(built)]
    positions: Positions,
    /// The valid entries, by their base address.
    entries: CacheArray<(), 0>,
    /// The vectors of the entries, by their slot. A slot without an entry has a vector of zeros.
    vectors: Vectors,
}

impl RangeEntries {
    fn base(&self, line: LineAddr) -> LineAddr {
        LineAddr(line.0 >> self.lines_per_entry.trailing_zeros())
    }

    /// The number of a line within its range.
    fn index(&self, line: LineAddr) -> u32 {
        (line.0 & u64::from(self.lines_per_entry - 1)) as u32
    }

    fn line(&self, base: LineAddr, index: u32) -> LineAddr {
        LineAddr(base.0 << self.lines_per_entry.trailing_zeros() | u64::from(index))
    }

    fn field(&self, line: LineAddr) -> u64 {
        self.entries.find(self.base(line)).map_or(0, |slot| self.vectors.field(slot, self.index(line)))
    }

    /// The sharers that a field names.
    fn named(&self, field: u64) -> Sharers {
        self.positions.at_slots(field >> 1)
    }

    /// The bit of a field that stands for a sharer.
    fn sharer_bit(&self, sharer: u16) -> u64 {
        1 << (1 + self.positions.slot_of(sharer))
    }

    /// Removes the sharers of a line whose bits are not set in `kept`. A line without sharers is no longer tracked, and
    /// an entry without tracked lines becomes invalid.
    fn keep(&mut self, line: LineAddr, kept: u64) {
        let Some(slot) = self.entries.find(self.base(line)) else { return };
        let index = self.index(line);
        let left = self.vectors.field(slot, index) & kept;
        self.vectors.set_field(slot, index, if left & !POSITION == 0 { 0 } else { left | POSITION });
        if self.vectors.of(slot).iter().all(|&word| word == 0) {
            self.entries.remove(slot);
        }
    }

    /// The tracked lines of an entry, with their fields.
    fn tracked(&self, base: LineAddr) -> impl Iterator<Item = (LineAddr, u64)> {
        let slot = self.entries.find(base);
        let fields = (0..self.lines_per_entry)
            .filter_map(move |index| slot.map(|slot| (self.line(base, index), self.vectors.field(slot, index))));
        fields.filter(|(_, field)| *field != 0)
    }

    /// The vectors of all entries, in the order in which the array compares the entries.
    fn vectors(&self) -> impl Iterator<Item = &[u64]> {
        self.entries.slots().map(|slot| self.vectors.of(slot))
    }
}

impl Directory for RangeEntries {
    fn new(config: &BuildConfig, positions: Positions) -> Self {
        let BuildConfig { directory, topology, .. } = *config;
        let entries = CacheArray::new(geometry(directory, topology));
        let vectors = Vectors::new(entries.places(), directory.lines_per_entry, positions.sharers());
        RangeEntries { lines_per_entry: directory.lines_per_entry, positions, entries, vectors }
    }

    fn sharers(&self, line: LineAddr) -> Sharers {
        self.named(self.field(line))
    }

    fn covers(&self, line: LineAddr) -> bool {
        self.field(line) & POSITION != 0
    }

    fn record(&mut self, line: LineAddr, sharer: u16) -> Recorded {
        let base = self.base(line);
        let slot = match self.entries.find(base) {
            Some(slot) => {
                self.entries.touch(slot);
                slot
            }
            None => match self.entries.room_for(base, |()| true) {
                Room::Free(slot) => {
                    self.entries.insert(slot, base, ());
                    slot
                }
                // Names a line that the entry tracks, since such a line has sharers.
                Room::Occupied(victim) => {
                    let victim = self.entries.line(victim);
                    return Recorded::Full(self.tracked(victim).next().map_or(line, |(tracked, _)| tracked));
                }
                Room::Busy => return Recorded::Full(line),
            },
        };
        let index = self.index(line);
        let field = self.vectors.field(slot, index) | POSITION | self.sharer_bit(sharer);
        self.vectors.set_field(slot, index, field);
        Recorded::Done
    }

    fn write(&mut self, line: LineAddr, writer: Option<u16>) -> Stale {
        let sharers = self.sharers(line);
        self.keep(line, writer.map_or(0, |writer| self.sharer_bit(writer)));
        Stale::line(line, writer.map_or(sharers, |writer| sharers.without(AgentId(writer))))
    }

    fn replace(&mut self, line: LineAddr, mut stale: impl FnMut(Stale)) {
        // A line that is not tracked any more has nothing to replace, whatever its neighbours are.
        if !self.covers(line) {
            return;
        }
        let base = self.base(line);
        self.tracked(base).for_each(|(line, field)| stale(Stale::line(line, self.named(field))));
        if let Some(slot) = self.entries.find(base) {
            self.vectors.of_mut(slot).fill(0);
            self.entries.remove(slot);
        }
    }

    fn forget(&mut self, line: LineAddr, sharer: u16) {
        self.keep(line, !self.sharer_bit(sharer));
    }

    fn entry_of(&self, line: LineAddr) -> (LineAddr, u32) {
        (line, 1)
    }

    fn read_ahead(&self, line: LineAddr, depth: Depth) {
        self.entries.read_ahead(self.base(line), depth);
    }

    fn entry_bits(extent: &Extent) -> EntryBits {
        let Extent { lines_per_entry, line_bytes, sharers, .. } = *extent;
        EntryBits {
            position: lines_per_entry,
            sharers: lines_per_entry * sharers,
            address: ADDRESS_BITS - (lines_per_entry * line_bytes).trailing_zeros(),
            state: 1,
        }
    }
}

impl Hash for RangeEntries {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.entries.hash(state);
        self.vectors().for_each(|vector| vector.hash(state));
    }
}

impl PartialEq for RangeEntries {
    fn eq(&self, other: &Self) -> bool {
        self.lines_per_entry == other.lines_per_entry
            && self.positions == other.positions
            && self.entries == other.entries
            && self.vectors().eq(other.vectors())
    }
}

impl Eq for RangeEntries {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::Replacement;
    use crate::directory::tests::{config, gpus, members};
    use crate::registry::DirectoryShape;

    fn build(ways: u32, lines_per_entry: u32, replacement: Replacement, positions: Positions) -> RangeEntries {
        RangeEntries::new(
            &config(DirectoryShape { sets: 1, ways, lines_per_entry, range_lines: 1, replacement: Some(replacement) }),
            positions,
        )
    }

    /// The example of the paper: ranges of 1 kB and four GPUs, of which GPU0 is home.
    fn example(ways: u32) -> RangeEntries {
        build(ways, 16, Replacement::Lru, gpus(4))
    }

    /// The line of a byte address.
    fn at(address: u64) -> LineAddr {
        LineAddr(address / 64)
    }

    fn record(directory: &mut RangeEntries, reads: &[(u64, u16)]) {
        for &(address, gpu) in reads {
            assert_eq!(directory.record(at(address), gpu), Recorded::Done, "{address:#x} by GPU{gpu}");
        }
    }

    /// The bits that are set in the vector of the entry of an address.
    fn bits(directory: &RangeEntries, address: u64) -> Vec<usize> {
        let slot = directory.entries.find(directory.base(at(address))).unwrap();
        let vector = directory.vectors.of(slot);
        (0..64 * vector.len()).filter(|bit| vector[bit / 64] >> (bit % 64) & 1 == 1).collect()
    }

    fn stale_of(stale: Stale) -> (LineAddr, u32, Vec<u16>) {
        (stale.first, stale.lines, members(stale.sharers))
    }

    #[test]
    fn a_remote_read_sets_position_bit_52_and_the_bit_of_gpu1_for_offset_0x340() {
        let mut directory = example(1);
        record(&mut directory, &[(0xAB_C340, 1)]);
        assert_eq!(directory.base(at(0xAB_C340)), LineAddr(0xAB_C340 >> 10));
        assert_eq!(bits(&directory, 0xAB_C340), [52, 53]);
    }

    #[test]
    fn reads_of_one_range_share_an_entry_whose_bits_add_up() {
        let mut directory = example(1);
        record(&mut directory, &[(0x340, 1), (0x340, 1), (0x340, 3), (0, 2)]);
        assert_eq!(bits(&directory, 0), [0, 2, 52, 53, 55]);
        assert_eq!(members(directory.sharers(at(0x340))), [1, 3]);
    }

    #[test]
    fn a_local_write_clears_bits_0_and_1_and_leaves_the_other_offset() {
        let mut directory = example(1);
        record(&mut directory, &[(0, 1), (0x380, 3)]);
        assert_eq!(bits(&directory, 0), [0, 1, 56, 59]);
        assert_eq!(stale_of(directory.write(at(0), None)), (at(0), 1, vec![1]));
        assert_eq!(bits(&directory, 0), [56, 59]);
        assert!(!directory.covers(at(0)) && directory.covers(at(0x380)));
    }

    #[test]
    fn a_remote_write_sets_bit_58_and_clears_bit_59() {
        let mut directory = example(1);
        record(&mut directory, &[(0x380, 3), (0x380, 2)]);
        assert_eq!(bits(&directory, 0), [56, 58, 59]);
        assert_eq!(stale_of(directory.write(at(0x380), Some(2))), (at(0x380), 1, vec![3]));
        assert_eq!(bits(&directory, 0), [56, 58]);
    }

    #[test]
    fn an_entry_is_invalid_once_its_last_bits_are_cleared() {
        let mut directory = example(1);
        record(&mut directory, &[(0, 1), (0x40, 2)]);
        directory.write(at(0), None);
        directory.forget(at(0x40), 2);
        assert_eq!(directory, example(1));
        record(&mut directory, &[(0x400, 1)]);
        assert_eq!(bits(&directory, 0x400), [0, 1]);
    }

    #[test]
    fn a_replaced_entry_gives_every_address_back_with_its_own_sharers() {
        let mut directory = example(1);
        record(&mut directory, &[(0x8040, 1), (0x8040, 2), (0x8380, 3)]);
        assert_eq!(directory.record(at(0x400), 1), Recorded::Full(at(0x8040)));
        let mut gone = Vec::new();
        directory.replace(at(0x8040), |stale| gone.push(stale_of(stale)));
        assert_eq!(gone, [(at(0x8040), 1, vec![1, 2]), (at(0x8380), 1, vec![3])]);
        assert_eq!(directory, example(1));
    }

    #[test]
    fn an_entry_is_not_replaced_for_a_line_that_it_does_not_track() {
        let mut directory = example(1);
        record(&mut directory, &[(0x40, 1)]);
        directory.replace(at(0x80), |stale| panic!("{stale:?}"));
        assert!(directory.covers(at(0x40)));
    }

    #[test]
    fn an_invalidation_concerns_one_line_of_a_range() {
        assert_eq!(example(1).entry_of(at(0x340)), (at(0x340), 1));
    }

    #[test]
    fn lru_spares_the_entry_that_a_remote_request_used_and_fifo_does_not() {
        for (replacement, victim) in [(Replacement::Lru, 0x400), (Replacement::Fifo, 0)] {
            let mut directory = build(2, 16, replacement, gpus(4));
            record(&mut directory, &[(0, 1), (0x400, 1), (0, 2)]);
            assert_eq!(directory.record(at(0x800), 1), Recorded::Full(at(victim)), "{replacement:?}");
        }
    }

    #[test]
    fn a_local_write_does_not_use_an_entry() {
        let mut directory = example(2);
        record(&mut directory, &[(0, 1), (0x40, 1), (0x400, 1)]);
        directory.write(at(0), None);
        assert_eq!(directory.record(at(0x800), 1), Recorded::Full(at(0x40)));
    }

    #[test]
    fn fields_may_lie_across_words() {
        let positions = Positions { count: 64, own: Sharers::from_bits(1 << 20 | 1 << 50) };
        let mut directory = build(2, 64, Replacement::Lru, positions);
        let sharers = |line: u64| [line % 20, 21 + line % 29, 51 + line % 13].map(|sharer| sharer as u16);
        for line in 0..128 {
            sharers(line).iter().for_each(|&sharer| {
                directory.record(LineAddr(line), sharer);
            });
        }
        assert!((0..128).all(|line| members(directory.sharers(LineAddr(line))) == sharers(line)));
        assert_eq!(members(directory.write(LineAddr(77), Some(sharers(77)[1])).sharers), [17, 63]);
        assert!((0..128).filter(|&line| line != 77).all(|line| directory.sharers(LineAddr(line)).len() == 3));
    }

    #[test]
    fn directories_that_behave_alike_are_equal_wherever_their_entries_are() {
        let mut one = example(2);
        record(&mut one, &[(0x800, 3), (0, 1)]);
        one.replace(at(0x800), |_| {});
        record(&mut one, &[(0x400, 2)]);
        let mut other = example(2);
        record(&mut other, &[(0, 1), (0x400, 2)]);
        assert_eq!(one, other);
        record(&mut other, &[(0x400, 3)]);
        assert_ne!(one, other);
    }
}
