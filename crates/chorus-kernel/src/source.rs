//! Sources of wavefronts: where the operations of a wavefront come from.
//!
//! A compute unit takes operations from a [`WaveState`] and hands values in there. It does not know who puts the
//! operations in. That is a source, which runs only when the state is empty. The future of an async kernel is one.
//! Traces and interpreters of other languages are written as further ones.

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Waker};

use chorus_protocol::save::{Damaged, Reader};

use crate::wave_state::WaveState;

/// A source of the operations of one wavefront.
///
/// A source that needs a value calls [`WaveState::is_ready`] and returns if the value is not there. It is called again
/// when everything that it asked for is there. A source that computes for long without asking for anything pushes the
/// arithmetic of a part of it and returns all the same: only then does time pass, and only then can it be stopped.
pub trait WaveSource {
    /// Puts operations into `state` until the source waits for something or has ended. Returns whether it has ended.
    fn advance(self: Pin<&mut Self>, state: &RefCell<WaveState>) -> bool;

    /// The place in the text of a program where the wavefront is, for messages about programs that hang. A source
    /// without such a text has none.
    fn place(&self) -> Option<String> {
        None
    }

    /// Whether the state of the source can be written down. That of a future cannot.
    fn can_be_kept(&self) -> bool {
        false
    }

    /// Appends the state of a source that can be kept.
    fn keep(&self, _to: &mut Vec<u8>) {}

    /// Takes over the state of a source of the same wavefront. This one has just been made.
    fn restore(self: Pin<&mut Self>, _from: &mut Reader<'_>) -> Result<(), Damaged> {
        Err(Damaged)
    }
}

/// The future of an async kernel, which reaches the state through the [`Wave`](crate::Wave) that it owns.
impl<F: Future<Output = ()>> WaveSource for F {
    #[inline]
    fn advance(self: Pin<&mut Self>, _: &RefCell<WaveState>) -> bool {
        self.poll(&mut Context::from_waker(Waker::noop())).is_ready()
    }
}

#[cfg(test)]
mod tests {
    use chorus_protocol::access::{AtomicOp, Order, Scope};

    use super::*;
    use crate::lanes::{LANES, Mask};
    use crate::memory_op::{Instruction, LaneAccess, MemoryOpKind};
    use crate::wave_state::Operation;
    use crate::{AtomicOrder, Buf, HostMemory, Kernel, WaveStart, flat};

    /// A source that copies rows of 32 words, one after the other, as an interpreter would.
    struct Copier {
        from: Buf<u32>,
        to: Buf<u32>,
        rows: std::ops::Range<u32>,
        loading: Option<u16>,
    }

    impl WaveSource for Copier {
        fn advance(mut self: Pin<&mut Self>, state: &RefCell<WaveState>) -> bool {
            let mut state = state.borrow_mut();
            let instruction = |kind| Instruction { kind, order: Order::Weak, scope: Scope::Gpu, mask: Mask::ALL };
            let words = |row: u32| std::array::from_fn(|lane| row * LANES as u32 + lane as u32);
            if let Some(slot) = self.loading {
                if !state.is_ready(slot) {
                    return false;
                }
                let values = *state.take_result(slot);
                let row = self.rows.start;
                let slot = state.access(instruction(MemoryOpKind::Store), self.to.start(), self.to.len(), &words(row));
                state.memory_op_mut(slot).data = values;
                state.push(Operation::Alu(1));
                self.rows.start += 1;
            }
            let row = self.rows.start;
            self.loading = (!self.rows.is_empty()).then(|| {
                state.access(instruction(MemoryOpKind::Load), self.from.start(), self.from.len(), &words(row))
            });
            if let Some(slot) = self.loading {
                state.is_ready(slot);
            }
            self.loading.is_none()
        }
    }

    #[test]
    fn a_source_that_is_no_future_runs_like_one() {
        let mut memory = HostMemory::default();
        let from = memory.alloc_from(&(0..256).collect::<Vec<u32>>());
        let to = memory.alloc::<u32>(256);
        let kernel = Kernel::of_sources("copy", 2, 1, move |start: WaveStart| {
            let group = start.id.work_group;
            let rows = group * 4..(group + 1) * 4;
            Copier { from, to, rows, loading: None }
        });
        flat::run_kernel(&kernel, &memory).unwrap();
        assert_eq!(memory.read(to), memory.read(from));
    }

    /// A source that swaps the words of pairs, writes one byte of each, and counts with compare-exchanges.
    struct Pairs {
        first: u32,
        counter: u32,
        loading: Option<u16>,
        counting: Option<u16>,
    }

    fn instruction(kind: MemoryOpKind) -> Instruction {
        Instruction { kind, order: Order::Relaxed, scope: Scope::Gpu, mask: Mask(u32::MAX - 2) }
    }

    fn plain<'a>(kind: MemoryOpKind, words_per_lane: u8, word: &'a [u32; LANES]) -> LaneAccess<'a> {
        LaneAccess { instruction: instruction(kind), words_per_lane, word, bytes: None, expected: None }
    }

    impl WaveSource for Pairs {
        fn advance(mut self: Pin<&mut Self>, state: &RefCell<WaveState>) -> bool {
            let mut state = state.borrow_mut();
            let word = std::array::from_fn(|lane| self.first + 2 * lane as u32);
            if let Some(slot) = self.counting {
                if state.is_ready(slot) {
                    let seen = state.memory_op(slot).values(0);
                    assert_eq!([seen[0], seen[2], seen[31]], [0, 1, 1]);
                    state.finish(slot);
                }
                return !state.is_waiting();
            }
            let Some(slot) = self.loading else {
                let slot = state.access_lanes(plain(MemoryOpKind::Load, 2, &word));
                state.is_ready(slot);
                self.loading = Some(slot);
                return false;
            };
            let [low, high] = [0, 1].map(|k| *state.memory_op(slot).values(k));
            state.finish(slot);
            let slot = state.access_lanes(plain(MemoryOpKind::Store, 2, &word));
            *state.memory_op_mut(slot).values_mut(0) = high;
            *state.memory_op_mut(slot).values_mut(1) = low;
            let bytes = &std::array::from_fn(|lane| 1 << (lane % 4));
            let slot = state.access_lanes(LaneAccess { bytes: Some(bytes), ..plain(MemoryOpKind::Store, 1, &word) });
            *state.memory_op_mut(slot).values_mut(0) = [u32::MAX; LANES];
            let kind = MemoryOpKind::Atomic(AtomicOp::CompareExchange { expected: 0 });
            let expected = &[std::array::from_fn(|lane| lane as u32)];
            let counters = [self.counter; LANES];
            let access = plain(kind, 1, &counters);
            let slot = state.access_lanes(LaneAccess { expected: Some(expected), ..access });
            *state.memory_op_mut(slot).values_mut(0) = std::array::from_fn(|lane| lane as u32 + 1);
            state.is_ready(slot);
            self.counting = Some(slot);
            false
        }
    }

    #[test]
    fn lanes_touch_pairs_of_words_and_bytes_and_compare_with_values_of_their_own() {
        let mut memory = HostMemory::default();
        let pairs = memory.alloc_from(&(0..64).collect::<Vec<u32>>());
        let counter = memory.alloc::<u32>(1);
        let source = move |start: WaveStart| {
            assert_eq!((start.local_data.words().len(), start.atomic_order), (4, AtomicOrder::Relaxed));
            Pairs { first: pairs.start(), counter: counter.start(), loading: None, counting: None }
        };
        let kernel = Kernel::of_sources("pairs", 1, 1, source).lds(16);
        flat::run_kernel(&kernel, &memory).unwrap();
        // Lane 1 takes no part.
        let expected = (0..32).flat_map(|lane| match lane {
            1 => [2, 3],
            _ => [(2 * lane + 1) | 0xFF << (8 * (lane % 4)), 2 * lane],
        });
        assert_eq!(memory.read(pairs), expected.collect::<Vec<u32>>());
        assert_eq!(memory.get(counter, 0), 1, "only lane 0 finds what it expects");
    }
}
