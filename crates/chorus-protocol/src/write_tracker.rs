//! Outstanding writes of each wavefront, and the fences that wait for them.

use crate::access::Txn;
use crate::controller::Outbox;
use crate::save::{self, Restore};

/// A mistake in the condition that fences wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FenceFault {
    /// A fence waits for nothing.
    Nothing,
    /// A fence waits for the next acknowledgement of its wavefront, as if a bit and not a counter noted the wavefront's
    /// writes.
    NextAck,
    /// A fence is passed when any wavefront of the core has no write outstanding any more.
    AnyWavefront,
}

/// Counts writes that have left a write-through cache and are not yet acknowledged.
///
/// A fence of a wavefront is passed when that wavefront's count is zero (TC paper, section 6.2.1: the wavefront is
/// descheduled until its acknowledgements have returned).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Restore)]
pub struct WriteTracker {
    outstanding: Vec<u16>,
    fences: Vec<(u16, Txn)>,
    #[save(built)]
    fault: Option<FenceFault>,
}

impl WriteTracker {
    /// A tracker for `waves` wavefront slots, with nothing outstanding.
    pub fn new(waves: u16, fault: Option<FenceFault>) -> Self {
        WriteTracker { outstanding: vec![0; usize::from(waves)], fences: Vec::new(), fault }
    }

    /// Notes that a write of `wave` has left.
    pub fn sent(&mut self, wave: u16) {
        self.outstanding[usize::from(wave)] += 1;
    }

    /// Notes that a write of `wave` is performed. If it was the wavefront's last, its fences are passed.
    pub fn acknowledged<const W: usize>(&mut self, wave: u16, out: &mut Outbox<W>) {
        let count = &mut self.outstanding[usize::from(wave)];
        *count -= 1;
        let last = *count == 0;
        if !self.fences.is_empty() && (last || self.fault == Some(FenceFault::NextAck)) {
            let everybody = self.fault == Some(FenceFault::AnyWavefront);
            self.fences.retain(|&(waiting, txn)| {
                let passed = waiting == wave || everybody;
                if passed {
                    out.complete_empty(txn);
                }
                !passed
            });
        }
    }

    /// Takes a fence of `wave`. It is passed now, or once the wavefront's writes are acknowledged.
    pub fn fence<const W: usize>(&mut self, wave: u16, txn: Txn, out: &mut Outbox<W>) {
        if self.outstanding[usize::from(wave)] == 0 || self.fault == Some(FenceFault::Nothing) {
            out.complete_empty(txn);
        } else {
            self.fences.push((wave, txn));
        }
    }

    /// Whether no write is outstanding and no fence waits.
    pub fn is_idle(&self) -> bool {
        self.fences.is_empty() && self.outstanding.iter().all(|&count| count == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_waits_for_exactly_its_own_wavefronts_writes() {
        let mut out = Outbox::<2>::default();
        let mut tracker = WriteTracker::new(2, None);
        tracker.sent(0);
        tracker.sent(0);
        tracker.sent(1);
        tracker.fence(0, Txn::Operation(7), &mut out);
        tracker.acknowledged(1, &mut out);
        tracker.acknowledged(0, &mut out);
        assert!(out.completions.is_empty());
        tracker.acknowledged(0, &mut out);
        assert_eq!(out.completions.iter().map(|c| c.txn).collect::<Vec<_>>(), [Txn::Operation(7)]);
        assert!(tracker.is_idle());
    }

    #[test]
    fn a_fence_without_outstanding_writes_is_passed_at_once() {
        let mut out = Outbox::<2>::default();
        WriteTracker::new(1, None).fence(0, Txn::Operation(1), &mut out);
        assert_eq!(out.completions.len(), 1);
    }
}
