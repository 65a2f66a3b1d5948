//! The events that a wavefront's fences wait for: acknowledgements of its writes, and its global write completion time
//! (TC paper, section 6.3).

use super::counter::{Counter, Stamp, aged};
use crate::access::Txn;
use crate::controller::Outbox;
use crate::save::{self, Restore, Save};

/// A mistake in what fences wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GwctFault {
    /// Fences wait for nothing.
    Nothing,
    /// Fences wait for the writes of the core's first wavefront.
    FirstEntry,
    /// Fences wait for the completion time of the last write, not for the latest one.
    LastWrite,
    /// Fences wait for the cycle of the completion time, not for the one after it.
    LastCycle,
}

/// The writes of one wavefront.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Save)]
struct Writes {
    /// The number of writes that are not acknowledged yet.
    outstanding: u16,
    /// The latest time at which one of them becomes visible to everybody; TC-Strong leaves it at zero.
    gwct: Stamp,
}

/// An entry for each wavefront of a core, and the fences that wait.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Restore)]
pub struct GwctTable {
    writes: Vec<Writes>,
    fences: Vec<(u16, Txn)>,
    #[save(built)]
    fault: Option<GwctFault>,
}

impl GwctTable {
    /// Nothing written by any of `waves` wavefronts.
    pub fn new(waves: u16, fault: Option<GwctFault>) -> GwctTable {
        GwctTable { writes: vec![Writes::default(); usize::from(waves)], fences: Vec::new(), fault }
    }

    /// A write of `wave` has left.
    #[inline]
    pub fn sent(&mut self, wave: u16) {
        self.writes[usize::from(wave)].outstanding += 1;
    }

    /// A write of `wave` is done, and visible to everybody after `gwct`.
    #[inline]
    pub fn done<const W: usize>(&mut self, wave: u16, gwct: Stamp, counter: &Counter, out: &mut Outbox<W>) {
        let writes = &mut self.writes[usize::from(wave)];
        writes.outstanding -= 1;
        let earlier = if self.fault == Some(GwctFault::LastWrite) { 0 } else { writes.gwct };
        writes.gwct = earlier.max(gwct);
        if !self.fences.is_empty() {
            self.pass(counter, out);
        }
    }

    /// A fence of `wave`: passed now, or when what it waits for is over.
    pub fn fence<const W: usize>(&mut self, wave: u16, txn: Txn, counter: &Counter, out: &mut Outbox<W>) {
        if self.fault == Some(GwctFault::Nothing) {
            out.complete_empty(txn);
            return;
        }
        let entry = if self.fault == Some(GwctFault::FirstEntry) { 0 } else { wave };
        self.fences.push((entry, txn));
        self.pass(counter, out);
    }

    /// Passes the fences that wait for nothing any more, and asks to be woken for the next one that waits for time
    /// alone.
    pub fn pass<const W: usize>(&mut self, counter: &Counter, out: &mut Outbox<W>) {
        let (mut now, writes) = (counter.stamp(out.now), &self.writes);
        if self.fault == Some(GwctFault::LastCycle) {
            now = now.saturating_add(1);
        }
        self.fences.retain(|&(wave, txn)| {
            let Writes { outstanding, gwct } = writes[usize::from(wave)];
            let passed = outstanding == 0 && gwct < now;
            if passed {
                out.complete_empty(txn);
            } else if outstanding == 0 {
                out.wake_at(counter.time(gwct) + 1);
            }
            !passed
        });
    }

    /// Forgets all completion times: no lease of theirs runs any more.
    pub fn forget_times(&mut self) {
        self.writes.iter_mut().for_each(|writes| writes.gwct = 0);
    }

    /// Lets a tick of an exploration pass.
    pub fn age(&mut self, now: Stamp) {
        self.writes.iter_mut().for_each(|writes| writes.gwct = aged(writes.gwct, now));
    }

    /// Whether nothing is outstanding.
    pub fn is_idle(&self) -> bool {
        self.fences.is_empty() && self.writes.iter().all(|writes| writes.outstanding == 0)
    }
}
