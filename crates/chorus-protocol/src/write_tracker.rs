//! Outstanding writes of each wavefront, and the fences that wait for them.

use crate::access::Txn;
use crate::controller::Outbox;

/// Counts writes that have left a write-through cache and are not yet acknowledged. A fence of a wavefront is passed when that
/// wavefront's count is zero (TC paper, section 6.2.1: the wavefront is descheduled until its acknowledgements have returned).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WriteTracker {
    outstanding: Vec<u16>,
    fences: Vec<(u16, Txn)>,
}

impl WriteTracker {
    /// Nothing outstanding for any of `waves` wavefront slots.
    pub fn new(waves: u16) -> Self {
        WriteTracker { outstanding: vec![0; usize::from(waves)], fences: Vec::new() }
    }

    /// A write of `wave` has left.
    pub fn sent(&mut self, wave: u16) {
        self.outstanding[usize::from(wave)] += 1;
    }

    /// A write of `wave` is performed; passes the wavefront's fences if it was the last.
    pub fn acknowledged<const W: usize>(&mut self, wave: u16, out: &mut Outbox<W>) {
        let count = &mut self.outstanding[usize::from(wave)];
        *count -= 1;
        if *count == 0 && !self.fences.is_empty() {
            self.fences.retain(|&(waiting, txn)| {
                if waiting == wave {
                    out.complete_empty(txn);
                }
                waiting != wave
            });
        }
    }

    /// A fence of `wave`: passed now, or once its writes are acknowledged.
    pub fn fence<const W: usize>(&mut self, wave: u16, txn: Txn, out: &mut Outbox<W>) {
        if self.outstanding[usize::from(wave)] == 0 {
            out.complete_empty(txn);
        } else {
            self.fences.push((wave, txn));
        }
    }

    /// Whether nothing is outstanding.
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
        let mut tracker = WriteTracker::new(2);
        tracker.sent(0);
        tracker.sent(0);
        tracker.sent(1);
        tracker.fence(0, Txn(7), &mut out);
        tracker.acknowledged(1, &mut out);
        tracker.acknowledged(0, &mut out);
        assert!(out.completions.is_empty());
        tracker.acknowledged(0, &mut out);
        assert_eq!(out.completions.iter().map(|c| c.txn).collect::<Vec<_>>(), [Txn(7)]);
        assert!(tracker.is_idle());
    }

    #[test]
    fn a_fence_without_outstanding_writes_is_passed_at_once() {
        let mut out = Outbox::<2>::default();
        WriteTracker::new(1).fence(0, Txn(1), &mut out);
        assert_eq!(out.completions.len(), 1);
    }
}
