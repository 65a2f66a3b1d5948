//! The store buffer of a compute unit or a CPU core. Stores wait there, line by line, until a release or until room is
//! needed (Spandex paper, Table VI: 128 entries).
//!
//! Stores of all wavefronts to one line become one store. Entries leave for the private cache oldest first. An access
//! that the buffer cannot answer forces the line that it touches to leave first.

use std::collections::{BTreeMap, VecDeque};

use chorus_protocol::access::{CoreOp, CoreRequest, Order};
use chorus_protocol::line::{ByteMask, LineData};
use chorus_protocol::save::{self, Restore, Save};

/// The step that the store buffer decides for an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The buffer takes the store.
    Take,
    /// The buffer answers the load.
    Answer,
    /// This line has to leave first.
    Drain(u64),
    /// Every line has left: the part of the fence that waits for them comes first.
    Follow,
    /// The access goes to the private cache.
    Pass,
}

/// The bytes of one line that wait.
#[derive(Clone, Copy, Debug, Save)]
pub struct Entry<const W: usize> {
    /// The bytes that wait.
    pub mask: ByteMask,
    /// The values of these bytes.
    pub data: LineData<W>,
}

/// Stores that the private cache has not seen.
#[derive(Clone, Debug, Restore)]
pub struct StoreBuffer<const W: usize> {
    #[save(built)]
    capacity: usize,
    entries: BTreeMap<u64, Entry<W>>,
    /// Their lines, oldest first.
    order: VecDeque<u64>,
    /// The access that the buffer itself has sent and the private cache has not accepted: a line, or the part of a
    /// fence that waits for lines.
    pub leaving: Option<u32>,
    /// Whether the private cache has accepted that part of the fence at the head of the access queue.
    pub followed: bool,
}

impl<const W: usize> StoreBuffer<W> {
    /// An empty buffer for `capacity` lines, or nothing where this is zero.
    pub fn new(capacity: u32) -> Option<StoreBuffer<W>> {
        (capacity > 0).then(|| StoreBuffer {
            capacity: capacity as usize,
            entries: BTreeMap::new(),
            order: VecDeque::new(),
            leaving: None,
            followed: false,
        })
    }

    /// Decides the next step for the access at the head of the queue; `line` is its virtual line.
    pub fn step(&self, request: &CoreRequest<W>, line: u64) -> Step {
        let weak = request.order == Order::Weak;
        let found = self.entries.get(&line);
        match request.op {
            CoreOp::Fence | CoreOp::KernelBegin | CoreOp::KernelEnd => self.step_fence(request.order),
            CoreOp::Store if weak => match self.order.front() {
                Some(&oldest) if found.is_none() && self.entries.len() >= self.capacity => Step::Drain(oldest),
                _ => Step::Take,
            },
            CoreOp::Load | CoreOp::Store | CoreOp::Atomic(_) => match found {
                Some(entry) if weak && request.op == CoreOp::Load && request.mask.0 & !entry.mask.0 == 0 => {
                    Step::Answer
                }
                Some(entry) if request.mask.0 & entry.mask.0 != 0 => Step::Drain(line),
                _ => Step::Pass,
            },
        }
    }

    fn step_fence(&self, order: Order) -> Step {
        match (order, self.order.front()) {
            (Order::Weak | Order::Relaxed | Order::Acquire, _) => Step::Pass,
            (Order::Release | Order::AcqRel, Some(&oldest)) => Step::Drain(oldest),
            (Order::Release | Order::AcqRel, None) if self.followed => Step::Pass,
            (Order::Release | Order::AcqRel, None) => Step::Follow,
        }
    }

    /// Adds a store to its line.
    pub fn take(&mut self, line: u64, mask: ByteMask, data: &LineData<W>) {
        let order = &mut self.order;
        let entry = self.entries.entry(line).or_insert_with(|| {
            order.push_back(line);
            Entry { mask: ByteMask::EMPTY, data: LineData::default() }
        });
        entry.mask.0 |= mask.0;
        entry.data.merge(mask, data);
    }

    /// The waiting bytes of a line.
    pub fn entry(&self, line: u64) -> Option<&Entry<W>> {
        self.entries.get(&line)
    }

    /// The private cache has accepted a line.
    pub fn remove(&mut self, line: u64) {
        self.entries.remove(&line);
        self.order.retain(|&other| other != line);
    }
}

#[cfg(test)]
mod tests {
    use chorus_protocol::access::{AtomicOp, Scope, Txn};
    use chorus_protocol::address::LineAddr;

    use super::*;

    fn request(op: CoreOp, order: Order, words: u32) -> CoreRequest<2> {
        let (mask, data) = (ByteMask::of_words(words), LineData([7, 8]));
        CoreRequest { op, order, scope: Scope::System, line: LineAddr(0), mask, data, wave: 0, txn: Txn::Operation(0) }
    }

    /// A buffer for two lines: word 0 of line 5, then both words of line 3.
    fn full() -> StoreBuffer<2> {
        let mut buffer = StoreBuffer::new(2).unwrap();
        for (line, words) in [(5, 0b01), (3, 0b01), (3, 0b10)] {
            let store = request(CoreOp::Store, Order::Weak, words);
            assert_eq!(buffer.step(&store, line), Step::Take);
            buffer.take(line, store.mask, &store.data);
        }
        buffer
    }

    #[test]
    fn stores_to_one_line_take_one_entry_and_the_oldest_line_makes_room() {
        let mut buffer = full();
        let store = request(CoreOp::Store, Order::Weak, 0b10);
        assert_eq!(buffer.step(&store, 5), Step::Take);
        assert_eq!(buffer.step(&store, 4), Step::Drain(5));
        buffer.remove(5);
        assert_eq!(buffer.step(&store, 4), Step::Take);
        assert_eq!(buffer.entry(3).unwrap().data, LineData([7, 8]));
    }

    #[test]
    fn a_load_is_answered_only_if_all_its_words_wait() {
        let buffer = full();
        let load = |words| request(CoreOp::Load, Order::Weak, words);
        assert_eq!(buffer.step(&load(0b01), 5), Step::Answer);
        assert_eq!(buffer.step(&load(0b11), 5), Step::Drain(5));
        assert_eq!(buffer.step(&load(0b10), 5), Step::Pass);
        assert_eq!(buffer.step(&load(0b11), 4), Step::Pass);
    }

    #[test]
    fn ordered_accesses_go_to_the_cache_behind_what_they_touch() {
        let buffer = full();
        for order in [Order::Relaxed, Order::Acquire] {
            assert_eq!(buffer.step(&request(CoreOp::Load, order, 0b01), 5), Step::Drain(5));
            assert_eq!(buffer.step(&request(CoreOp::Atomic(AtomicOp::Add), order, 0b01), 3), Step::Drain(3));
            assert_eq!(buffer.step(&request(CoreOp::Store, order, 0b10), 5), Step::Pass);
        }
    }

    #[test]
    fn a_release_drains_everything_and_an_acquire_nothing() {
        let mut buffer = full();
        let release = request(CoreOp::Fence, Order::AcqRel, 0);
        assert_eq!(buffer.step(&request(CoreOp::Fence, Order::Acquire, 0), 0), Step::Pass);
        for line in [5, 3] {
            assert_eq!(buffer.step(&release, 0), Step::Drain(line));
            buffer.remove(line);
        }
        assert!(buffer.entries.is_empty());
        assert_eq!(buffer.step(&release, 0), Step::Follow);
        buffer.followed = true;
        assert_eq!(buffer.step(&release, 0), Step::Pass);
    }
}
