//! Which registers are in use together, and the places that they can share.

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

use super::blocks::Blocks;
use crate::code::{Action, Code};
use crate::registers::{BankKind, Register};

/// The most words of the sets of live registers. Where more would be needed, registers do not share places.
const SETS_MAX: usize = 1 << 24;

/// Places for registers, so that those that are never in use together share one.
pub(crate) struct Allocation {
    places: BTreeMap<Register, u16>,
    /// Atomics whose old value nobody reads.
    unread: HashSet<usize>,
    /// The most registers of 32 bits in use at once.
    pub(crate) pressure: u32,
}

impl Allocation {
    pub(crate) fn place(&self, register: Register) -> Register {
        let number = self.places.get(&register).copied().unwrap_or(register.number);
        Register { number, ..register }
    }

    pub(crate) fn is_unread(&self, instruction: usize) -> bool {
        self.unread.contains(&instruction)
    }
}

/// The instructions from the first to the last one where a register has a value that somebody reads.
#[derive(Clone, Copy)]
struct Interval {
    first: u32,
    last: u32,
}

/// Gives registers places, so that two share one if they are never needed at the same time.
pub(crate) fn allocate(code: &Code) -> Allocation {
    let blocks = Blocks::of(code);
    let numbering = Numbering { counts: [code.words, code.longs, code.predicates] };
    if blocks.count().saturating_mul(numbering.row()) > SETS_MAX {
        return Allocation { places: BTreeMap::new(), unread: HashSet::new(), pressure: u32::MAX };
    }
    let (intervals, unread) = intervals(code, &blocks, &numbering);
    let pinned: HashSet<Register> = code.presets.iter().map(|&(register, _)| register).collect();
    let mut places = BTreeMap::new();
    for (bank, first) in numbering.banks() {
        let registers = first.map(|index| (numbering.register(bank, index), intervals[index]));
        let (fixed, others): (Vec<_>, Vec<_>) = registers.partition(|(register, _)| pinned.contains(register));
        (0..).zip(&fixed).for_each(|(place, (register, _))| {
            places.insert(*register, place);
        });
        let unused = Interval { first: 0, last: 0 };
        let used = others.into_iter().map(|(register, interval)| (register, interval.unwrap_or(unused)));
        share(used.collect(), fixed.len() as u16, &mut places);
    }
    let others = numbering.registers().zip(&intervals).filter(|(register, _)| !pinned.contains(register));
    let pressure = pressure(others.filter_map(|(register, interval)| Some((register, (*interval)?))));
    Allocation { places, unread, pressure }
}

/// The registers of all banks in one row of numbers.
struct Numbering {
    counts: [usize; 3],
}

impl Numbering {
    fn total(&self) -> usize {
        self.counts.iter().sum()
    }

    /// The number of machine words that hold a bit for each register.
    fn row(&self) -> usize {
        self.total().div_ceil(64)
    }

    fn banks(&self) -> [(BankKind, Range<usize>); 3] {
        let [words, longs, predicates] = self.counts;
        let longs_end = words + longs;
        [
            (BankKind::Word, 0..words),
            (BankKind::Long, words..longs_end),
            (BankKind::Predicate, longs_end..longs_end + predicates),
        ]
    }

    fn index(&self, register: Register) -> usize {
        let before = match register.bank {
            BankKind::Word => 0,
            BankKind::Long => self.counts[0],
            BankKind::Predicate => self.counts[0] + self.counts[1],
        };
        before + usize::from(register.number)
    }

    fn register(&self, bank: BankKind, index: usize) -> Register {
        let first = self.index(Register { bank, number: 0 });
        Register { bank, number: (index - first) as u16 }
    }

    fn registers(&self) -> impl Iterator<Item = Register> + '_ {
        self.banks().into_iter().flat_map(move |(bank, range)| range.map(move |index| self.register(bank, index)))
    }
}

/// The interval of each register that is used, and the atomics whose old values nobody reads.
fn intervals(code: &Code, blocks: &Blocks, numbering: &Numbering) -> (Vec<Option<Interval>>, HashSet<usize>) {
    let row = numbering.row();
    let live_out = live_out(code, blocks, row, &|register| numbering.index(register));
    let mut intervals: Vec<Option<Interval>> = vec![None; numbering.total()];
    let mut unread = HashSet::new();
    for block in 0..blocks.count() {
        let mut live = live_out[block * row..(block + 1) * row].to_vec();
        let (start, end) = (blocks.starts[block], blocks.starts[block + 1]);
        each(&live, |register| extend(&mut intervals[register], end - 1));
        for place in (start..end).rev() {
            let instruction = &code.instructions[place as usize];
            let registers = |range: &Range<u32>| &code.uses[range.start as usize..range.end as usize];
            let writes = registers(&instruction.writes);
            let is_read = |&write: &Register| contains(&live, numbering.index(write));
            if matches!(instruction.action, Action::Atomic(_)) && !writes.iter().any(is_read) {
                unread.insert(place as usize);
            }
            for index in writes.iter().map(|&write| numbering.index(write)) {
                extend(&mut intervals[index], place);
                if instruction.guard.is_none() {
                    live[index / 64] &= !(1 << (index % 64));
                }
            }
            for index in registers(&instruction.reads).iter().map(|&read| numbering.index(read)) {
                extend(&mut intervals[index], place);
                live[index / 64] |= 1 << (index % 64);
            }
        }
        each(&live, |register| extend(&mut intervals[register], start));
    }
    (intervals, unread)
}

/// The most 32-bit registers that are needed at one time.
fn pressure(used: impl Iterator<Item = (Register, Interval)>) -> u32 {
    let mut changes: BTreeMap<u32, i64> = BTreeMap::new();
    for (register, Interval { first, last }) in used {
        let units = match register.bank {
            BankKind::Word => 1,
            BankKind::Long => 2,
            BankKind::Predicate => 0,
        };
        *changes.entry(first).or_default() += units;
        *changes.entry(last + 1).or_default() -= units;
    }
    let levels = changes.values().scan(0, |live, change| {
        *live += change;
        Some(*live)
    });
    levels.max().unwrap_or(0) as u32
}

/// Gives the registers of a bank places from `next` on, in the order in which they come into use.
fn share(mut used: Vec<(Register, Interval)>, mut next: u16, places: &mut BTreeMap<Register, u16>) {
    used.sort_by_key(|(register, interval)| (interval.first, *register));
    let mut in_use: BTreeMap<u32, Vec<u16>> = BTreeMap::new();
    let mut free: Vec<u16> = Vec::new();
    for (register, interval) in used {
        while let Some(entry) = in_use.first_entry().filter(|entry| *entry.key() < interval.first) {
            free.extend(entry.remove());
        }
        let place = free.pop().unwrap_or_else(|| {
            next += 1;
            next - 1
        });
        places.insert(register, place);
        in_use.entry(interval.last).or_default().push(place);
    }
}

/// The registers whose values are read after each block.
fn live_out(code: &Code, blocks: &Blocks, row: usize, index: &impl Fn(Register) -> usize) -> Vec<u64> {
    let count = blocks.count();
    let (mut reads, mut writes) = (vec![0u64; count * row], vec![0u64; count * row]);
    for block in 0..count {
        let range = block * row..(block + 1) * row;
        let (reads, writes) = (&mut reads[range.clone()], &mut writes[range]);
        for instruction in &code.instructions[blocks.starts[block] as usize..blocks.starts[block + 1] as usize] {
            for &read in &code.uses[instruction.reads.start as usize..instruction.reads.end as usize] {
                if !contains(writes, index(read)) {
                    reads[index(read) / 64] |= 1 << (index(read) % 64);
                }
            }
            // A write that a guard may suppress leaves the old value of some lanes.
            if instruction.guard.is_none() {
                for &write in &code.uses[instruction.writes.start as usize..instruction.writes.end as usize] {
                    writes[index(write) / 64] |= 1 << (index(write) % 64);
                }
            }
        }
    }
    let mut live_in = reads.clone();
    let mut live_out = vec![0u64; count * row];
    let mut changed = true;
    while changed {
        changed = false;
        for block in (0..count).rev() {
            for word in 0..row {
                let at = block * row + word;
                let out =
                    blocks.successors[block].iter().fold(0, |out, &next| out | live_in[next as usize * row + word]);
                let into = reads[at] | out & !writes[at];
                changed |= out != live_out[at] || into != live_in[at];
                (live_out[at], live_in[at]) = (out, into);
            }
        }
    }
    live_out
}

fn contains(set: &[u64], index: usize) -> bool {
    set[index / 64] >> (index % 64) & 1 == 1
}

fn each(set: &[u64], mut act: impl FnMut(usize)) {
    for (word, &bits) in set.iter().enumerate() {
        let mut bits = bits;
        while bits != 0 {
            act(word * 64 + bits.trailing_zeros() as usize);
            bits &= bits - 1;
        }
    }
}

fn extend(interval: &mut Option<Interval>, place: u32) {
    let now = interval.unwrap_or(Interval { first: place, last: place });
    *interval = Some(Interval { first: now.first.min(place), last: now.last.max(place) });
}
