//! The requests of a compute unit to its private cache: operations with an order and a scope, and their completions.

use crate::address::LineAddr;
use crate::line::{ByteMask, LineData};
use crate::save::{self, Save};

/// Memory order of an operation.
///
/// Drivers lower acquire and release to fences around the operation. A controller still sees the order, because some
/// protocols serve strong and weak accesses from different places.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Save)]
pub enum Order {
    /// The operation is not ordered. It may race only with the program's consent.
    #[default]
    Weak,
    /// The operation is atomic and orders nothing else.
    Relaxed,
    /// Later operations stay behind it (acquire).
    Acquire,
    /// Earlier operations stay before it (release).
    Release,
    /// Acquire and release at once.
    AcqRel,
}

/// The group of work-items that must agree on the order of an operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Save)]
pub enum Scope {
    /// The work-items of one work-group.
    WorkGroup,
    /// All work-items of one GPU.
    #[default]
    Gpu,
    /// All work-items of all GPUs, and the CPU.
    System,
}

/// A read-modify-write on one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Save)]
pub enum AtomicOp {
    /// Addition of integers that wraps around.
    Add,
    /// Bitwise and of the word.
    And,
    /// Bitwise or of the word.
    Or,
    /// Bitwise exclusive or of the word.
    Xor,
    /// Minimum of unsigned integers.
    Min,
    /// Maximum of unsigned integers.
    Max,
    /// Minimum of signed integers.
    MinSigned,
    /// Maximum of signed integers.
    MaxSigned,
    /// Counts up to the operand, then begins again with zero (`inc` of PTX).
    Inc,
    /// Counts down to zero, then begins again with the operand (`dec` of PTX). So does a value above the operand.
    Dec,
    /// Addition of 32-bit floats.
    AddF32,
    /// Writes the operand, whatever the old value is.
    Exchange,
    /// Writes the operand if the old value equals `expected`.
    CompareExchange {
        /// The value that the old value is compared with.
        expected: u32,
    },
    /// An operation on 64 bits. Bitwise operations and exchanges of 64 bits are those of both words.
    Pair(PairOp),
}

/// A read-modify-write on two words of a line, of which the first one has an even number and the lower bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Save)]
pub enum PairOp {
    /// Addition of integers that wraps around.
    Add,
    /// Minimum of unsigned integers.
    Min,
    /// Maximum of unsigned integers.
    Max,
    /// Minimum of signed integers.
    MinSigned,
    /// Maximum of signed integers.
    MaxSigned,
    /// Addition of 64-bit floats.
    AddF64,
    /// Writes the operand if the old value equals `expected`.
    CompareExchange {
        /// The words that the old value is compared with, the lower bits first.
        expected: [u32; 2],
    },
}

impl PairOp {
    /// The new value of two words that held `old`.
    pub fn apply(self, old: u64, operand: u64) -> u64 {
        match self {
            PairOp::Add => old.wrapping_add(operand),
            PairOp::Min => old.min(operand),
            PairOp::Max => old.max(operand),
            PairOp::MinSigned => (old as i64).min(operand as i64) as u64,
            PairOp::MaxSigned => (old as i64).max(operand as i64) as u64,
            PairOp::AddF64 => (f64::from_bits(old) + f64::from_bits(operand)).to_bits(),
            PairOp::CompareExchange { expected } => {
                if old == joined(expected) {
                    operand
                } else {
                    old
                }
            }
        }
    }
}

/// The 64 bits of two words.
fn joined([low, high]: [u32; 2]) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

/// The words of 64 bits.
fn parted(value: u64) -> [u32; 2] {
    [value as u32, (value >> 32) as u32]
}

impl AtomicOp {
    /// The new value of a word that held `old`.
    ///
    /// # Panics
    ///
    /// An operation on 64 bits has no effect on one word; see [`AtomicOp::apply_all`].
    #[inline]
    pub fn apply(self, old: u32, operand: u32) -> u32 {
        match self {
            AtomicOp::Add => old.wrapping_add(operand),
            AtomicOp::And => old & operand,
            AtomicOp::Or => old | operand,
            AtomicOp::Xor => old ^ operand,
            AtomicOp::Min => old.min(operand),
            AtomicOp::Max => old.max(operand),
            AtomicOp::MinSigned => (old as i32).min(operand as i32) as u32,
            AtomicOp::MaxSigned => (old as i32).max(operand as i32) as u32,
            AtomicOp::Inc => {
                if old >= operand {
                    0
                } else {
                    old + 1
                }
            }
            AtomicOp::Dec => {
                if old == 0 || old > operand {
                    operand
                } else {
                    old - 1
                }
            }
            AtomicOp::AddF32 => (f32::from_bits(old) + f32::from_bits(operand)).to_bits(),
            AtomicOp::Exchange => operand,
            AtomicOp::CompareExchange { expected } => {
                if old == expected {
                    operand
                } else {
                    old
                }
            }
            AtomicOp::Pair(op) => panic!("{op:?} of 64 bits on one word"),
        }
    }

    /// Turns operands into the new values of adjacent words that held `old`.
    pub fn apply_all(self, old: &[u32], operands: &mut [u32]) {
        if let AtomicOp::Pair(op) = self {
            for (old, operand) in old.chunks_exact(2).zip(operands.chunks_exact_mut(2)) {
                let new = op.apply(joined([old[0], old[1]]), joined([operand[0], operand[1]]));
                operand.copy_from_slice(&parted(new));
            }
            return;
        }
        old.iter().zip(operands).for_each(|(&old, operand)| *operand = self.apply(old, *operand));
    }

    /// Whether several operations on one word are one with another operand: with what the operation makes of the first
    /// operand and the second one, and so on.
    pub fn is_associative(self) -> bool {
        match self {
            AtomicOp::Add
            | AtomicOp::And
            | AtomicOp::Or
            | AtomicOp::Xor
            | AtomicOp::Min
            | AtomicOp::Max
            | AtomicOp::MinSigned
            | AtomicOp::MaxSigned
            | AtomicOp::Exchange
            | AtomicOp::Pair(PairOp::Add | PairOp::Min | PairOp::Max | PairOp::MinSigned | PairOp::MaxSigned) => true,
            AtomicOp::Inc
            | AtomicOp::Dec
            | AtomicOp::AddF32
            | AtomicOp::CompareExchange { .. }
            | AtomicOp::Pair(PairOp::AddF64 | PairOp::CompareExchange { .. }) => false,
        }
    }

    /// The operation with other expected values, if it is a compare-exchange.
    pub fn expecting(self, expected: [u32; 2]) -> AtomicOp {
        match self {
            AtomicOp::CompareExchange { .. } => AtomicOp::CompareExchange { expected: expected[0] },
            AtomicOp::Pair(PairOp::CompareExchange { .. }) => AtomicOp::Pair(PairOp::CompareExchange { expected }),
            AtomicOp::Add
            | AtomicOp::And
            | AtomicOp::Or
            | AtomicOp::Xor
            | AtomicOp::Min
            | AtomicOp::Max
            | AtomicOp::MinSigned
            | AtomicOp::MaxSigned
            | AtomicOp::Inc
            | AtomicOp::Dec
            | AtomicOp::AddF32
            | AtomicOp::Exchange
            | AtomicOp::Pair(_) => self,
        }
    }

    /// Performs the operation on the masked words of `line`. Afterwards `operands` holds the old values.
    #[inline]
    pub fn perform<const W: usize>(self, line: &mut LineData<W>, mask: ByteMask, operands: &mut LineData<W>) {
        // Sums over whole lines are frequent, and the host adds many words at once.
        if self == AtomicOp::Add && mask == ByteMask::full::<W>() {
            for (word, operand) in line.0.iter_mut().zip(&mut operands.0) {
                (*word, *operand) = (word.wrapping_add(*operand), *word);
            }
            return;
        }
        match self {
            AtomicOp::Pair(_) => self.perform_pairs(line, mask, operands),
            AtomicOp::Exchange if mask.splits_words() => {
                let old = *line;
                line.merge(mask, operands);
                *operands = old;
            }
            AtomicOp::Add
            | AtomicOp::And
            | AtomicOp::Or
            | AtomicOp::Xor
            | AtomicOp::Min
            | AtomicOp::Max
            | AtomicOp::MinSigned
            | AtomicOp::MaxSigned
            | AtomicOp::Inc
            | AtomicOp::Dec
            | AtomicOp::AddF32
            | AtomicOp::Exchange
            | AtomicOp::CompareExchange { .. } => {
                for word in mask.words() {
                    let old = line.0[word];
                    line.0[word] = self.apply(old, operands.0[word]);
                    operands.0[word] = old;
                }
            }
        }
    }

    #[inline(never)]
    fn perform_pairs<const W: usize>(self, line: &mut LineData<W>, mask: ByteMask, operands: &mut LineData<W>) {
        for word in mask.words().filter(|word| word % 2 == 0) {
            let pair = word..word + 2;
            let old = [line.0[word], line.0[word + 1]];
            self.apply_all(&old, &mut operands.0[pair.clone()]);
            line.0[pair.clone()].swap_with_slice(&mut operands.0[pair]);
        }
    }
}

/// The kind of operation that a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Save)]
pub enum CoreOp {
    /// Reads the masked words of the line.
    Load,
    /// Writes the masked bytes of the line.
    Store,
    /// Read-modify-writes the masked words.
    Atomic(AtomicOp),
    /// Orders the wavefront's earlier operations before its later ones. Drivers issue it when the wavefront's earlier
    /// loads and atomics have returned. What else it waits for is up to the protocol.
    Fence,
    /// A kernel starts. Its work-items must see everything written before the launch.
    KernelBegin,
    /// A kernel has ended. Everything its work-items wrote must be where the next launch finds it, on any GPU. Drivers
    /// issue this when the fences at the end of all wavefronts have passed.
    KernelEnd,
}

/// The name of the operation that a request or a message serves. It comes back with the operation's completion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Save)]
pub enum Txn {
    /// No operation: the message serves nobody in particular.
    #[default]
    None,
    /// An operation of a core, by the number that the driver gave it.
    Operation(u32),
    /// The beginning or the end of a kernel of this stream.
    Boundary(u8),
    /// A read that serves all loads of a private cache that wait for its line.
    Merged,
    /// A write-through that was made of a load, because the device cannot wait for the owner of the line.
    Converted,
    /// A line that a bank requests for itself. The number tells the part that the bank plays for the line.
    Bank(u8),
    /// An access by which a driver warms the caches up before it begins.
    Warming,
}

impl From<u32> for Txn {
    fn from(number: u32) -> Txn {
        Txn::Operation(number)
    }
}

impl Txn {
    /// A number for tables of names. No two names have the same.
    #[inline]
    pub fn key(self) -> u64 {
        let of_kind = |kind: u64, number: u32| kind << 32 | u64::from(number);
        match self {
            Txn::Operation(number) => of_kind(0, number),
            Txn::None => of_kind(1, 0),
            Txn::Boundary(stream) => of_kind(2, u32::from(stream)),
            Txn::Merged => of_kind(3, 0),
            Txn::Converted => of_kind(4, 0),
            Txn::Bank(part) => of_kind(5, u32::from(part)),
            Txn::Warming => of_kind(6, 0),
        }
    }

    /// The number of an operation of a core.
    #[inline]
    pub fn operation(self) -> Option<u32> {
        match self {
            Txn::Operation(number) => Some(number),
            Txn::None | Txn::Boundary(_) | Txn::Merged | Txn::Converted | Txn::Bank(_) | Txn::Warming => None,
        }
    }
}

impl Scope {
    /// The scope of an operation of this order: those who must see it in its order. A weak operation need only be seen
    /// by its own work-group.
    pub fn of_order(self, order: Order) -> Scope {
        if order == Order::Weak { Scope::WorkGroup } else { self }
    }
}

/// One operation on one line, as the coalescer hands it to the private cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Save)]
pub struct CoreRequest<const W: usize> {
    /// The operation to perform.
    pub op: CoreOp,
    /// The memory order of the operation.
    pub order: Order,
    /// The scope of the operation.
    pub scope: Scope,
    /// The line to access. Fences and kernel starts do not use it.
    pub line: LineAddr,
    /// The bytes of the line that are accessed.
    pub mask: ByteMask,
    /// Store data or atomic operands, at their place within the line.
    pub data: LineData<W>,
    /// The wavefront slot of the compute unit.
    pub wave: u16,
    /// The driver's name for the operation.
    pub txn: Txn,
}

impl<const W: usize> CoreRequest<W> {
    /// Whether it is a weak store of whole words. Where words have owners, any other store is an update: the bytes that
    /// it leaves alone have to be up to date (Spandex paper, section III-B).
    #[inline]
    pub fn is_plain_store(&self) -> bool {
        self.op == CoreOp::Store && self.order == Order::Weak && !self.mask.splits_words()
    }

    /// Chooses between five values by the request's kind: a weak load, an ordered load, a weak store, an ordered store,
    /// or an atomic. The answer is `None` if the request concerns no line.
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

/// The part of a load's request that decides whether it hits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LoadRequest {
    /// The line to read.
    pub line: LineAddr,
    /// The bytes of the line that are read.
    pub mask: ByteMask,
    /// The memory order of the load.
    pub order: Order,
    /// The scope of the load.
    pub scope: Scope,
}

/// The end of one operation: a load or atomic has its values, a store is performed, or a fence is passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Save)]
pub struct Completion<const W: usize> {
    /// The operation that has ended.
    pub txn: Txn,
    /// The values read, at their place within the line.
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
    fn an_operation_is_small() {
        assert!(size_of::<AtomicOp>() <= 12 && size_of::<Option<AtomicOp>>() <= 12);
    }

    #[test]
    fn counters_begin_again_as_those_of_ptx() {
        let counted = |op: AtomicOp, old| op.apply(old, 3);
        assert_eq!([0, 2, 3, 4, u32::MAX].map(|old| counted(AtomicOp::Inc, old)), [1, 3, 0, 0, 0]);
        assert_eq!([0, 1, 3, 4, u32::MAX].map(|old| counted(AtomicOp::Dec, old)), [3, 0, 2, 3, 3]);
    }

    #[test]
    fn signed_and_unsigned_extremes_differ() {
        let minus_one = u32::MAX;
        assert_eq!([AtomicOp::Min, AtomicOp::MinSigned].map(|op| op.apply(1, minus_one)), [1, minus_one]);
        assert_eq!([AtomicOp::Max, AtomicOp::MaxSigned].map(|op| op.apply(1, minus_one)), [minus_one, 1]);
        let pair = |op: PairOp| op.apply(1, u64::MAX);
        assert_eq!([PairOp::Min, PairOp::MinSigned].map(pair), [1, u64::MAX]);
        assert_eq!([PairOp::Max, PairOp::MaxSigned].map(pair), [u64::MAX, 1]);
    }

    #[test]
    fn an_operation_on_64_bits_carries_into_the_upper_word() {
        let (mut line, mut operands) = (LineData([7, 7, u32::MAX, 1]), LineData([9, 9, 2, 0]));
        AtomicOp::Pair(PairOp::Add).perform(&mut line, ByteMask::of_words(0b1100), &mut operands);
        assert_eq!((line, operands), (LineData([7, 7, 1, 2]), LineData([9, 9, u32::MAX, 1])));
        let exchange = PairOp::CompareExchange { expected: [1, 3] };
        AtomicOp::Pair(exchange).perform(&mut line, ByteMask::of_words(0b1100), &mut operands);
        assert_eq!(line, LineData([7, 7, 1, 2]), "the upper word differs");
        let half = 0.5f64.to_bits();
        assert_eq!(PairOp::AddF64.apply(half, half), 1f64.to_bits());
    }

    #[test]
    fn an_exchange_of_bytes_leaves_the_others() {
        let (mut line, mut operands) = (LineData([0x1111_1111, 0x2222_2222]), LineData([0x3333_3333; 2]));
        AtomicOp::Exchange.perform(&mut line, ByteMask::of_bytes(1, 0b0010), &mut operands);
        assert_eq!((line.0, operands.0[1]), ([0x1111_1111, 0x2222_3322], 0x2222_2222));
    }

    #[test]
    fn compare_exchange_writes_only_on_a_match() {
        let op = AtomicOp::CompareExchange { expected: 5 };
        assert_eq!(op.apply(5, 9), 9);
        assert_eq!(op.apply(6, 9), 6);
    }
}
