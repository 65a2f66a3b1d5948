//! What a compute unit asks of its private cache: operations with an order and a scope, and how they are completed.

use crate::address::LineAddr;
use crate::line::{ByteMask, LineData};

/// Memory order of an operation. Drivers lower acquire and release to fences around the operation; a controller sees the order
/// because some protocols serve strong and weak accesses from different places.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Order {
    /// No order, may race only with the program's consent.
    #[default]
    Weak,
    /// Atomic, orders nothing else.
    Relaxed,
    /// Later operations stay behind it.
    Acquire,
    /// Earlier operations stay before it.
    Release,
    /// Both.
    AcqRel,
}

/// Who must agree on the order of an operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// The work-items of one work-group.
    WorkGroup,
    /// All work-items of one GPU.
    #[default]
    Gpu,
    /// Everything.
    System,
}

/// A read-modify-write on one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AtomicOp {
    /// Wrapping integer addition.
    Add,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// Unsigned minimum.
    Min,
    /// Unsigned maximum.
    Max,
    /// Addition of 32-bit floats.
    AddF32,
    /// Exchange.
    Exchange,
    /// Writes the operand if the old value equals `expected`.
    CompareExchange {
        /// The value compared with.
        expected: u32,
    },
}

impl AtomicOp {
    /// The new value of a word that held `old`.
    pub fn apply(self, old: u32, operand: u32) -> u32 {
        match self {
            AtomicOp::Add => old.wrapping_add(operand),
            AtomicOp::And => old & operand,
            AtomicOp::Or => old | operand,
            AtomicOp::Xor => old ^ operand,
            AtomicOp::Min => old.min(operand),
            AtomicOp::Max => old.max(operand),
            AtomicOp::AddF32 => (f32::from_bits(old) + f32::from_bits(operand)).to_bits(),
            AtomicOp::Exchange => operand,
            AtomicOp::CompareExchange { expected } => {
                if old == expected {
                    operand
                } else {
                    old
                }
            }
        }
    }

    /// Performs the operation on the masked words of `line`; `operands` becomes the old values.
    pub fn perform<const W: usize>(self, line: &mut LineData<W>, mask: ByteMask, operands: &mut LineData<W>) {
        for word in mask.words() {
            let old = line.0[word];
            line.0[word] = self.apply(old, operands.0[word]);
            operands.0[word] = old;
        }
    }
}

/// What kind of operation a request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CoreOp {
    /// Reads the masked words.
    Load,
    /// Writes the masked bytes.
    Store,
    /// Read-modify-writes the masked words.
    Atomic(AtomicOp),
    /// Orders the wavefront's earlier operations before its later ones. Drivers issue it when the wavefront's earlier loads and
    /// atomics have returned; what else it waits for is the protocol's.
    Fence,
    /// A kernel starts: its work-items must see everything written before the launch.
    KernelBegin,
    /// A kernel has ended: what its work-items wrote must be where the next launch, on any GPU, finds it. Drivers issue it when the
    /// fences at the end of all wavefronts have passed.
    KernelEnd,
}

/// A driver's name for one outstanding operation; comes back with its completion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Txn(pub u32);

impl Scope {
    /// Everyone who must see an operation of this order and scope in its place: an operation without order need only be seen by the
    /// work-group itself.
    pub fn of_order(self, order: Order) -> Scope {
        if order == Order::Weak { Scope::WorkGroup } else { self }
    }
}

/// One operation on one line, as the coalescer hands it to the private cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CoreRequest<const W: usize> {
    /// The operation.
    pub op: CoreOp,
    /// Its memory order.
    pub order: Order,
    /// Its scope.
    pub scope: Scope,
    /// The line; unused by fences and kernel starts.
    pub line: LineAddr,
    /// The bytes concerned.
    pub mask: ByteMask,
    /// Store data or atomic operands, at their place in the line.
    pub data: LineData<W>,
    /// The wavefront slot of the compute unit.
    pub wave: u16,
    /// The driver's name for the operation.
    pub txn: Txn,
}

impl<const W: usize> CoreRequest<W> {
    /// Which of these the request is: a weak load, an ordered one, a weak store, an ordered one, or an atomic. Nothing where it concerns no line.
    pub fn which_access<E>(&self, [load, ordered_load, store, ordered_store, atomic]: [E; 5]) -> Option<E> {
        let is_weak = self.order == Order::Weak;
        match self.op {
            CoreOp::Load => Some(if is_weak { load } else { ordered_load }),
            CoreOp::Store => Some(if is_weak { store } else { ordered_store }),
            CoreOp::Atomic(_) => Some(atomic),
            CoreOp::Fence | CoreOp::KernelBegin | CoreOp::KernelEnd => None,
        }
    }
}

/// The end of one operation: a load or atomic has its values, a store is performed, a fence is passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Completion<const W: usize> {
    /// Which operation.
    pub txn: Txn,
    /// The values read, at their place in the line.
    pub data: LineData<W>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_atomic_returns_old_values_and_leaves_new_ones() {
        let mut line = LineData([10, 20]);
        let mut operands = LineData([1, 2]);
        AtomicOp::Add.perform(&mut line, ByteMask::word(1), &mut operands);
        assert_eq!((line, operands), (LineData([10, 22]), LineData([1, 20])));
    }

    #[test]
    fn compare_exchange_writes_only_on_a_match() {
        let op = AtomicOp::CompareExchange { expected: 5 };
        assert_eq!(op.apply(5, 9), 9);
        assert_eq!(op.apply(6, 9), 6);
    }
}
