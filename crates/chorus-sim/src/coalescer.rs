//! The coalescer splits a memory instruction into line accesses, which wait in order for the private cache (TC paper,
//! section 3.1).

use std::collections::VecDeque;

use chorus_kernel::{LANES, Mask, MemoryOp, MemoryOpKind};
use chorus_protocol::access::{Order, Scope};
use chorus_protocol::prefetch::prefetch;
use chorus_protocol::save::{self, Restore, Save};

use crate::clock::Ticks;
use crate::slab::Slab;

/// Words of a sector, of which a line has several.
const SECTOR_WORDS: usize = 8;

/// The purpose of a line access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Save)]
pub enum AccessKind {
    /// Part of a load.
    Load,
    /// Part of a store.
    Store,
    /// Part of an atomic.
    Atomic,
    /// A fence of the program.
    Fence(Order, Scope),
    /// The fence that belongs to a barrier of the work-group.
    BarrierFence,
    /// The release at the end of a wavefront.
    End,
    /// A line that leaves the store buffer.
    Drain,
    /// The part of a fence that waits for lines that have left the store buffer.
    Follow {
        /// The fence that this access is a part of.
        fence: u32,
    },
}

/// One line access of a memory instruction, from the coalescer until its completion.
#[derive(Clone, Copy, Debug, Save)]
pub struct LineAccess {
    /// The purpose of the access.
    pub kind: AccessKind,
    /// The slot of the wavefront that issued it.
    pub wave: u16,
    /// The wavefront's memory instruction.
    pub slot: u16,
    /// The lanes that it serves.
    pub lanes: u32,
    /// The virtual line that it touches.
    pub line: u64,
    /// Whether it is an atomic of lanes that may touch the same word. What it writes there is the work of all of them.
    pub is_combined: bool,
    /// Whether lane `i` touches word `i` of the line, for all lanes: values can be copied as a whole.
    pub whole_line: bool,
    /// When it was issued.
    pub issued: Ticks,
    /// Whether it has not completed. The numbers of completed accesses are used again.
    pub outstanding: bool,
    /// The number of completions that end it.
    pub answers: u8,
    /// The parts of an atomic that caches perform one after the other, or the sectors that a load has fetched, where
    /// they are counted.
    pub parts: u8,
    /// The number of its kernel's name.
    pub kernel: u16,
}

impl LineAccess {
    /// An access that serves no lane.
    #[inline]
    pub fn new(kind: AccessKind, wave: u16, line: u64, now: Ticks) -> LineAccess {
        LineAccess {
            kind,
            wave,
            slot: 0,
            lanes: 0,
            line,
            is_combined: false,
            whole_line: false,
            issued: now,
            outstanding: true,
            answers: 1,
            parts: 0,
            kernel: 0,
        }
    }

    /// Whether it concerns a line.
    pub fn touches_line(&self) -> bool {
        matches!(self.kind, AccessKind::Load | AccessKind::Store | AccessKind::Atomic | AccessKind::Drain)
    }
}

/// Accesses between the coalescer and the end of their operation.
#[derive(Debug, Default, Restore)]
pub struct AccessQueue {
    waiting: VecDeque<u32>,
    accesses: Slab<LineAccess>,
    /// Whether lanes of an associative atomic that touch one word share an access.
    #[save(built)]
    combines: bool,
    /// Whether the parts of atomics are counted.
    #[save(built)]
    counts_parts: bool,
    /// The lines of the instruction that is being split, kept so that the memory is used again.
    lines: Vec<u32>,
}

impl AccessQueue {
    /// An empty queue. `combines` says whether lanes of an associative atomic that touch one word share an access.
    /// `counts_parts` says whether the parts of atomics are counted.
    pub fn new(combines: bool, counts_parts: bool) -> AccessQueue {
        AccessQueue { combines, counts_parts, ..AccessQueue::default() }
    }

    /// The number of the access at the head of the queue.
    pub fn front(&self) -> Option<u32> {
        self.waiting.front().copied()
    }

    /// The number of the access at a place of the queue.
    pub fn at(&self, place: usize) -> Option<u32> {
        self.waiting.get(place).copied()
    }

    /// Asks the host for the number of the access at the head of the queue.
    pub fn read_ahead(&self) {
        self.waiting.front().into_iter().for_each(prefetch);
    }

    /// Removes the head of the queue, which the private cache has accepted.
    pub fn accept(&mut self) {
        self.waiting.pop_front();
    }

    /// The accesses that have been queued last, so many of them.
    pub fn last(&self, count: u32) -> impl Iterator<Item = &LineAccess> {
        self.waiting.iter().rev().take(count as usize).map(|&id| self.accesses.get(id))
    }

    /// The number of accesses that the private cache has not accepted.
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// The outstanding access with number `id`.
    pub fn get(&self, id: u32) -> &LineAccess {
        self.accesses.get(id)
    }

    /// The access with number `id`, if there ever was one.
    pub fn find(&self, id: u32) -> Option<&LineAccess> {
        self.accesses.find(id)
    }

    /// The outstanding access with number `id`, mutably.
    pub fn get_mut(&mut self, id: u32) -> &mut LineAccess {
        self.accesses.get_mut(id)
    }

    /// Adds an access that does not wait in the queue. Returns its number.
    pub fn add(&mut self, access: LineAccess) -> u32 {
        self.accesses.insert(access)
    }

    /// An access has completed.
    pub fn remove(&mut self, id: u32) {
        self.accesses.get_mut(id).outstanding = false;
        self.accesses.remove(id);
    }

    /// The accesses of a wavefront that have not completed.
    pub fn outstanding(&self, wave: u16) -> impl Iterator<Item = &LineAccess> {
        self.accesses.iter().filter(move |access| access.outstanding && access.wave == wave)
    }

    /// Appends an access to the queue.
    #[inline]
    pub fn push(&mut self, access: LineAccess) {
        let id = self.accesses.insert(access);
        self.waiting.push_back(id);
    }

    /// Splits a memory instruction into accesses to lines of `W` words, which are like `access` but for their lines and
    /// lanes, and queues them. Returns how many there are, and the line of the first. Lanes that touch one line share
    /// an access, except that the lanes of an atomic share one only while they touch different words, or are combined.
    #[inline]
    pub fn coalesce<const W: usize>(&mut self, op: &MemoryOp, access: LineAccess) -> (u32, Option<u64>) {
        match whole_line::<W>(op) {
            Some(line) => {
                let access = LineAccess { line, lanes: u32::MAX, whole_line: true, ..access };
                self.push(self.in_parts::<W>(op, access));
                (1, Some(line))
            }
            None => self.split::<W>(op, access),
        }
    }

    #[inline(never)]
    fn split<const W: usize>(&mut self, op: &MemoryOp, access: LineAccess) -> (u32, Option<u64>) {
        if !op.is_plain() {
            return self.split_wide::<W>(op, access);
        }
        let lines = op.words().map(|word| word / W as u32);
        let first = op.mask.iter().next().map(|lane| u64::from(lines[lane]));
        let mut rest = op.mask.0;
        let mut count = 0;
        let access = self.combined(op, access);
        while rest != 0 {
            let line = lines[rest.trailing_zeros() as usize];
            let mut lanes = rest & lanes_of(line, &lines);
            rest &= !lanes;
            while lanes != 0 {
                let group = match op.kind {
                    MemoryOpKind::Load | MemoryOpKind::Store => lanes,
                    MemoryOpKind::Atomic(_) if access.is_combined => lanes,
                    MemoryOpKind::Atomic(_) => first_of_each_word::<W>(lanes, op),
                };
                lanes &= !group;
                self.push(self.in_parts::<W>(op, LineAccess { line: u64::from(line), lanes: group, ..access }));
                count += 1;
            }
        }
        (count, first)
    }

    /// Counts the parts of an access, where they are counted.
    #[inline(always)]
    fn in_parts<const W: usize>(&self, op: &MemoryOp, access: LineAccess) -> LineAccess {
        if self.counts_parts && access.kind == AccessKind::Atomic {
            return LineAccess { parts: parts_of::<W>(op, access.lanes), ..access };
        }
        access
    }

    /// The model of the accesses of an instruction, which says whether they combine lanes.
    fn combined(&self, op: &MemoryOp, access: LineAccess) -> LineAccess {
        let is_associative = matches!(op.kind, MemoryOpKind::Atomic(atomic) if atomic.is_associative());
        LineAccess { is_combined: self.combines && is_associative, ..access }
    }

    /// Splits an instruction whose lanes may touch several words. A lane whose words lie in two lines has a part in
    /// both accesses.
    fn split_wide<const W: usize>(&mut self, op: &MemoryOp, access: LineAccess) -> (u32, Option<u64>) {
        let mut lines = std::mem::take(&mut self.lines);
        lines.clear();
        for line in op.touched().map(|word| word / W as u32) {
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
        let mut count = 0;
        let access = self.combined(op, access);
        for &line in &lines {
            let mut lanes = lanes_in::<W>(line, op);
            while lanes != 0 {
                let group = match op.kind {
                    MemoryOpKind::Load | MemoryOpKind::Store => lanes,
                    MemoryOpKind::Atomic(_) if access.is_combined => lanes,
                    MemoryOpKind::Atomic(_) => apart_in::<W>(lanes, op),
                };
                lanes &= !group;
                self.push(self.in_parts::<W>(op, LineAccess { line: u64::from(line), lanes: group, ..access }));
                count += 1;
            }
        }
        let first = lines.first().map(|&line| u64::from(line));
        self.lines = lines;
        (count, first)
    }
}

/// The lanes with a word in line `line`.
fn lanes_in<const W: usize>(line: u32, op: &MemoryOp) -> u32 {
    let is_in = |lane: usize| {
        let words = op.words_of(lane);
        words.start / W as u32 <= line && line <= (words.end - 1) / W as u32
    };
    op.mask.iter().filter(|&lane| is_in(lane)).fold(0, |lanes, lane| lanes | 1 << lane)
}

/// The lanes that can travel in one atomic: they touch different words and do the same with them. None of them comes
/// before an earlier lane that touches the same word.
fn apart_in<const W: usize>(lanes: u32, op: &MemoryOp) -> u32 {
    let first = lanes.trailing_zeros() as usize;
    let mut seen = 0u32;
    (first..LANES).filter(|lane| lanes >> lane & 1 == 1).fold(0, |group, lane| {
        let words = op.words_of(lane).fold(0, |words, word| words | 1u32 << (word % W as u32));
        let joins = seen & words == 0 && op.atomic_of(lane) == op.atomic_of(first);
        seen |= words;
        group | u32::from(joins) << lane
    })
}

/// The line whose words the lanes touch in order, if that is what they do.
#[inline]
fn whole_line<const W: usize>(op: &MemoryOp) -> Option<u64> {
    let first = u64::from(op.row()?);
    (W == LANES && first.is_multiple_of(W as u64)).then_some(first / W as u64)
}

/// The lanes whose line is `line`.
fn lanes_of(line: u32, lines: &[u32; LANES]) -> u32 {
    lines.iter().enumerate().fold(0, |same, (lane, &other)| same | u32::from(other == line) << lane)
}

/// The parts of an atomic of these lanes on one line: its sectors, each as often as a word of it is repeated most.
fn parts_of<const W: usize>(op: &MemoryOp, lanes: u32) -> u8 {
    let mut times = [0u8; LANES];
    for lane in Mask(lanes).iter() {
        op.words_of(lane).for_each(|word| times[word as usize % W] += 1);
    }
    times.chunks(SECTOR_WORDS).map(|sector| sector.iter().copied().max().unwrap_or(0)).sum()
}

/// The lanes that can travel in one atomic: each the first to touch its word.
fn first_of_each_word<const W: usize>(lanes: u32, op: &MemoryOp) -> u32 {
    let mut seen = 0u32;
    let mut group = 0;
    let mut rest = lanes;
    while rest != 0 {
        let lane = rest.trailing_zeros() as usize;
        rest &= rest - 1;
        let word = 1u32 << (op.word(lane) % W as u32);
        if seen & word == 0 {
            seen |= word;
            group |= 1 << lane;
        }
    }
    group
}

#[cfg(test)]
mod tests {
    use super::*;
    use chorus_kernel::{Instruction, WaveState};
    use chorus_protocol::access::AtomicOp;

    fn lanes(kind: MemoryOpKind, word: impl Fn(u32) -> u32) -> Vec<(u64, u32)> {
        let mut state = WaveState::default();
        let instruction = Instruction { kind, order: Order::Weak, scope: Scope::Gpu, mask: Mask::ALL };
        let slot = state.access(instruction, 0, usize::MAX, &std::array::from_fn(|lane| word(lane as u32)));
        let mut queue = AccessQueue::default();
        let access = LineAccess { slot, ..LineAccess::new(AccessKind::Load, 0, 0, 0) };
        let (count, _) = queue.coalesce::<32>(state.memory_op(slot), access);
        assert_eq!(count as usize, queue.len());
        queue.waiting.iter().map(|&id| (queue.get(id).line, queue.get(id).lanes)).collect()
    }

    #[test]
    fn consecutive_words_of_a_line_are_one_access() {
        assert_eq!(lanes(MemoryOpKind::Load, |lane| 64 + lane), [(2, u32::MAX)]);
    }

    #[test]
    fn a_misaligned_row_is_two_accesses() {
        assert_eq!(lanes(MemoryOpKind::Load, |lane| 33 + lane), [(1, u32::MAX >> 1), (2, 1 << 31)]);
    }

    #[test]
    fn a_column_is_one_access_per_lane() {
        assert_eq!(lanes(MemoryOpKind::Store, |lane| lane * 32).len(), 32);
    }

    #[test]
    fn atomics_on_one_word_go_one_after_the_other() {
        assert_eq!(lanes(MemoryOpKind::Atomic(AtomicOp::Add), |_| 5).len(), 32);
        assert_eq!(lanes(MemoryOpKind::Atomic(AtomicOp::Add), |lane| lane).len(), 1);
        assert_eq!(lanes(MemoryOpKind::Atomic(AtomicOp::Add), |lane| lane / 2).len(), 2);
    }
}
