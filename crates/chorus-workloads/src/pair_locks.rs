//! One lock per element, of which a work-item takes two at a time.
//!
//! A work-item that changes two elements tries the lock of the lower one, then that of the higher one; if the second is
//! taken it gives the first back at once. No lane ever waits with a lock in hand, so the lanes of a wavefront, which
//! only go on together, cannot block each other. Somebody always succeeds: a lane that fails was refused by one that
//! holds a higher lock than its first, and the holder of the highest lock of all is refused by nobody.
//!
//! Order: a fence stands before the release, so whoever takes a lock next finds everything that was written under it.
//! Locks are touched by atomics alone, which are never stale.
//!
//! Arithmetic: 4 instructions per attempt (two comparisons and two branches); none to release.

use chorus_kernel::{Buf, HostMemory, Lanes, Mask, Wave};
use chorus_protocol::access::{AtomicOp, Scope};

use crate::program::Output;

const FREE: u32 = 0;
const HELD: u32 = 1;

/// The locks of all elements, side by side.
#[derive(Clone, Copy)]
pub(crate) struct PairLocks {
    words: Buf<u32>,
}

impl PairLocks {
    /// A free lock for each of `elements`.
    pub(crate) fn new(elements: usize, memory: &mut HostMemory) -> PairLocks {
        PairLocks { words: memory.alloc(elements) }
    }

    /// Every lock must be free at the end.
    pub(crate) fn output(&self) -> Output {
        Output::new("lock", self.words, &vec![FREE; self.words.len()])
    }

    /// The lanes of `mask` that got the locks of both `low` and `high`, which are different elements in this order.
    pub(crate) async fn try_lock(&self, w: &Wave, mask: Mask, low: Lanes<u32>, high: Lanes<u32>) -> Mask {
        w.alu(4).await;
        let first = self.take(w, mask, low).await;
        if !first.any() {
            return Mask::NONE;
        }
        let both = self.take(w, first, high).await;
        self.give_back(w, first & !both, low);
        both
    }

    /// Releases both locks of the lanes of `mask`, behind everything that the wavefront has written.
    pub(crate) async fn unlock(&self, w: &Wave, mask: Mask, low: Lanes<u32>, high: Lanes<u32>) {
        w.fence(Scope::Gpu).await;
        self.give_back(w, mask, high);
        self.give_back(w, mask, low);
    }

    async fn take(&self, w: &Wave, mask: Mask, element: Lanes<u32>) -> Mask {
        let op = AtomicOp::CompareExchange { expected: FREE };
        let old = w.atomic_where(op, mask, self.words, element, HELD.into()).await;
        mask & old.where_(|word| word == FREE)
    }

    /// Nobody waits for the old values, so the exchange is posted like a store.
    fn give_back(&self, w: &Wave, mask: Mask, element: Lanes<u32>) {
        if mask.any() {
            drop(w.atomic_where(AtomicOp::Exchange, mask, self.words, element, FREE.into()));
        }
    }
}

#[cfg(test)]
mod tests {
    use chorus_kernel::{Kernel, LANES, Program, Verdict, flat};

    use super::*;
    use crate::program::HostProgram;

    /// Every lane adds one to two elements of a ring of `elements`, by plain loads and stores under their locks.
    fn counts(elements: u32, work_groups: u32) -> Vec<u32> {
        let mut memory = HostMemory::default();
        let locks = PairLocks::new(elements as usize, &mut memory);
        let count = memory.alloc::<u32>(elements as usize);
        let kernel = Kernel::new("count", work_groups, 2, move |w| async move {
            let ends = (w.global_ids() % elements, (w.global_ids() + 1) % elements);
            let (low, high) = (ends.0.zip(ends.1, u32::min), ends.0.zip(ends.1, u32::max));
            let mut pending = Mask::ALL;
            while pending.any() {
                let held = locks.try_lock(&w, pending, low, high).await;
                let (a, b) = w.join(w.load_where(held, count, low), w.load_where(held, count, high)).await;
                w.store_where(held, count, low, a + 1);
                w.store_where(held, count, high, b + 1);
                locks.unlock(&w, held, low, high).await;
                pending = pending & !held;
            }
        });
        let mut program = HostProgram::new(vec![kernel], vec![locks.output()]);
        flat::run(&mut program, &memory).unwrap();
        assert_eq!(program.check(&memory), Verdict::Checked);
        memory.read(count)
    }

    #[test]
    fn no_update_under_locks_is_lost() {
        for elements in [2, 3, 16, 64] {
            let lanes = 3 * 2 * LANES as u32;
            let total: u32 = counts(elements, 3).iter().sum();
            assert_eq!(total, 2 * lanes, "{elements} elements");
        }
    }
}
