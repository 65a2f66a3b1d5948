//! The operations that wavefronts have in flight, by the transaction name that comes back with their completion.

use chorus_protocol::access::{AtomicOp, Txn};
use chorus_protocol::line::LineData;

use super::lower::Micro;
use super::program::WORDS;

/// An operation in flight.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operation {
    /// The operation that is outstanding.
    pub micro: Micro,
    /// The number of its wavefront.
    pub wave: u16,
    /// The values that its words should hold before it.
    pub expected: LineData<WORDS>,
    /// The operation and the operands by which it changes its words, if it is atomic.
    pub update: Option<(AtomicOp, LineData<WORDS>)>,
    /// The place of its first word in the log of a racy program. The others follow.
    pub logged: u32,
    /// The number of steps that had been made when it was issued.
    pub issued: u64,
}

#[derive(Clone, Copy, Debug)]
enum Slot {
    Free,
    Wave(Operation),
    Kernel(u16),
}

/// The operation that a completion ended.
#[derive(Clone, Copy, Debug)]
pub(super) enum Ended {
    /// An operation of a wavefront.
    Operation(Operation),
    /// The end or the beginning of a kernel at a private cache, or a command at a shared bank in between.
    Kernel(u16),
}

/// All operations in flight. A name consists of a slot and of the number of times that the slot was used, so that a
/// second completion is noticed.
#[derive(Clone, Debug, Default)]
pub(super) struct Operations {
    slots: Vec<(u32, Slot)>,
    free: Vec<u32>,
}

const SLOT_BITS: u32 = 12;
const USES_MASK: u32 = (1 << 19) - 1;

impl Operations {
    /// Forgets all operations of the episode.
    pub(super) fn reset(&mut self) {
        self.slots.clear();
        self.free.clear();
    }

    /// The number of operations in flight.
    pub(super) fn outstanding(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    fn insert_slot(&mut self, slot: Slot) -> Txn {
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push((0, Slot::Free));
            self.slots.len() as u32 - 1
        });
        let (uses, held) = &mut self.slots[index as usize];
        *uses = (*uses + 1) & USES_MASK;
        *held = slot;
        Txn::Operation(*uses << SLOT_BITS | index)
    }

    /// Adds an operation of a wavefront.
    pub(super) fn insert(&mut self, operation: Operation) -> Txn {
        self.insert_slot(Slot::Wave(operation))
    }

    /// Adds the end or the beginning of a kernel at a private cache, or a command to a shared bank.
    pub(super) fn insert_kernel(&mut self, cache: u16) -> Txn {
        self.insert_slot(Slot::Kernel(cache))
    }

    /// The operation of a wavefront with this name, if it is in flight.
    pub(super) fn get(&self, txn: Txn) -> Option<&Operation> {
        let number = txn.operation()?;
        match self.slots.get((number & ((1 << SLOT_BITS) - 1)) as usize) {
            Some((uses, Slot::Wave(operation))) if *uses == number >> SLOT_BITS => Some(operation),
            Some(_) | None => None,
        }
    }

    /// The operation of a wavefront that has been in flight for longest.
    pub(super) fn oldest(&self) -> Option<&Operation> {
        let of_waves = self.slots.iter().filter_map(|(_, slot)| match slot {
            Slot::Wave(operation) => Some(operation),
            Slot::Free | Slot::Kernel(_) => None,
        });
        of_waves.min_by_key(|operation| operation.issued)
    }

    /// Ends the operation with this name, if it is in flight.
    pub(super) fn remove(&mut self, txn: Txn) -> Option<Ended> {
        let number = txn.operation()?;
        let index = number & ((1 << SLOT_BITS) - 1);
        let (uses, slot) = self.slots.get_mut(index as usize)?;
        if *uses != number >> SLOT_BITS {
            return None;
        }
        let ended = match *slot {
            Slot::Free => return None,
            Slot::Wave(operation) => Ended::Operation(operation),
            Slot::Kernel(cache) => Ended::Kernel(cache),
        };
        *slot = Slot::Free;
        self.free.push(index);
        Some(ended)
    }
}
