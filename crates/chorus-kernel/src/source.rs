//! Sources of wavefronts: where the operations of a wavefront come from.
//!
//! A compute unit takes operations from a [`WaveState`] and hands values in there. It does not know who puts the
//! operations in. That is a source, which runs only when the state is empty. The future of an async kernel is one.
//! Traces and interpreters of other languages are written as further ones.

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Waker};

use crate::wave_state::WaveState;

/// A source of the operations of one wavefront.
///
/// A source that needs a value calls [`WaveState::is_ready`] and returns if the value is not there. It is called again
/// when everything that it asked for is there.
pub trait WaveSource {
    /// Puts operations into `state` until the source waits for something or has ended. Returns whether it has ended.
    fn advance(self: Pin<&mut Self>, state: &RefCell<WaveState>) -> bool;
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
    use chorus_protocol::access::{Order, Scope};

    use super::*;
    use crate::lanes::{LANES, Mask};
    use crate::memory_op::{Instruction, MemoryOpKind};
    use crate::wave_state::Operation;
    use crate::{Buf, HostMemory, Kernel, WaveStart, flat};

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
}
