//! Which registers are in use together, and the places that they can share.

use std::collections::{BTreeMap, HashSet};

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

/// Gives registers places.
pub(crate) fn allocate(code: &Code) -> Allocation {
    let counts = [code.words, code.longs, code.predicates];
    let total: usize = counts.iter().sum();
    let blocks = Blocks::of(code);
    let row = total.div_ceil(64);
    let pinned: HashSet<Register> = code.presets.iter().map(|&(register, _)| register).collect();
    if blocks.count().saturating_mul(row) > SETS_MAX {
        return Allocation { places: BTreeMap::new(), unread: HashSet::new(), pressure: u32::MAX };
    }
    let index = |register: Register| match register.bank {
        BankKind::Word => usize::from(register.number),
        BankKind::Long => counts[0] + usize::from(register.number),
        BankKind::Predicate => counts[0] + counts[1] + usize::from(register.number),
    };
    let live_out = live_out(code, &blocks, row, &index);
    let mut intervals: Vec<Option<Interval>> = vec![None; total];
    let mut unread = HashSet::new();
    for block in 0..blocks.count() {
        let mut live = live_out[block * row..(block + 1) * row].to_vec();
        let (start, end) = (blocks.starts[block], blocks.starts[block + 1]);
        each(&live, |register| extend(&mut intervals[register], end - 1));
        for place in (start..end).rev() {
            let instruction = &code.instructions[place as usize];
            let writes = &code.uses[instruction.writes.start as usize..instruction.writes.end as usize];
            if matches!(instruction.action, Action::Atomic(_)) && writes.iter().all(|&w| !contains(&live, index(w))) {
                unread.insert(place as usize);
            }
            for &write in writes {
                extend(&mut intervals[index(write)], place);
                if instruction.guard.is_none() {
                    live[index(write) / 64] &= !(1 << (index(write) % 64));
                }
            }
            for &read in &code.uses[instruction.reads.start as usize..instruction.reads.end as usize] {
                extend(&mut intervals[index(read)], place);
                live[index(read) / 64] |= 1 << (index(read) % 64);
            }
        }
        each(&live, |register| extend(&mut intervals[register], start));
    }
    let mut places = BTreeMap::new();
    let mut changes: BTreeMap<u32, i64> = BTreeMap::new();
    for (bank, first, count) in [
        (BankKind::Word, 0, counts[0]),
        (BankKind::Long, counts[0], counts[1]),
        (BankKind::Predicate, counts[0] + counts[1], counts[2]),
    ] {
        let registers = (0..count).map(|number| Register { bank, number: number as u16 });
        let (fixed, others): (Vec<_>, Vec<_>) = registers.partition(|register| pinned.contains(register));
        let mut next = 0;
        for register in fixed {
            places.insert(register, next);
            next += 1;
        }
        let units = match bank {
            BankKind::Word => 1,
            BankKind::Long => 2,
            BankKind::Predicate => 0,
        };
        let mut used: Vec<(Register, Interval)> = Vec::new();
        for register in others {
            let interval = intervals[first + usize::from(register.number)];
            used.push((register, interval.unwrap_or(Interval { first: 0, last: 0 })));
            if let Some(Interval { first, last }) = interval {
                *changes.entry(first).or_default() += units;
                *changes.entry(last + 1).or_default() -= units;
            }
        }
        share(used, next, &mut places);
    }
    let pressure = changes.values().scan(0, |live, change| {
        *live += change;
        Some(*live)
    });
    Allocation { places, unread, pressure: pressure.max().unwrap_or(0) as u32 }
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
