//! The registers of a wavefront, and the steps that compute with them.

use chorus_kernel::LANES;
use chorus_protocol::save::{self, Save};

/// The registers of a wavefront in three banks. Values of 8 to 32 bits have a word each; shorter ones have zeros above.
#[derive(Clone, Debug, Default, Save)]
pub(crate) struct Registers {
    pub(crate) words: Vec<[u32; LANES]>,
    pub(crate) longs: Vec<[u64; LANES]>,
    pub(crate) predicates: Vec<u32>,
}

/// A bank of registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Save)]
pub(crate) enum BankKind {
    Word,
    Long,
    Predicate,
}

/// A register: its bank, and its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Save)]
pub(crate) struct Register {
    pub(crate) bank: BankKind,
    pub(crate) number: u16,
}

/// A step of computation: it reads registers and writes others in the lanes of a mask.
pub(crate) type Step = Box<dyn Fn(&mut Registers, u32) + Send + Sync>;

/// A value of one lane, with the bank that it lies in.
pub(crate) trait Bank: Copy + Default + 'static {
    /// The values of all lanes of a register.
    type Row<'r>: Copy;
    fn row(registers: &Registers, number: u16) -> Self::Row<'_>;
    fn lane(row: Self::Row<'_>, lane: usize) -> Self;
    fn write(registers: &mut Registers, number: u16, mask: u32, values: &[Self; LANES]);
}

/// Writes the lanes of a mask. All lanes are the usual case.
#[inline(always)]
fn blend<T: Copy>(row: &mut [T; LANES], mask: u32, values: &[T; LANES]) {
    if mask == u32::MAX {
        *row = *values;
        return;
    }
    for (lane, place) in row.iter_mut().enumerate() {
        *place = if mask >> lane & 1 == 1 { values[lane] } else { *place };
    }
}

impl Bank for u32 {
    type Row<'r> = &'r [u32; LANES];

    #[inline(always)]
    fn row(registers: &Registers, number: u16) -> &[u32; LANES] {
        &registers.words[usize::from(number)]
    }

    #[inline(always)]
    fn lane(row: &[u32; LANES], lane: usize) -> u32 {
        row[lane]
    }

    #[inline(always)]
    fn write(registers: &mut Registers, number: u16, mask: u32, values: &[u32; LANES]) {
        blend(&mut registers.words[usize::from(number)], mask, values);
    }
}

impl Bank for u64 {
    type Row<'r> = &'r [u64; LANES];

    #[inline(always)]
    fn row(registers: &Registers, number: u16) -> &[u64; LANES] {
        &registers.longs[usize::from(number)]
    }

    #[inline(always)]
    fn lane(row: &[u64; LANES], lane: usize) -> u64 {
        row[lane]
    }

    #[inline(always)]
    fn write(registers: &mut Registers, number: u16, mask: u32, values: &[u64; LANES]) {
        blend(&mut registers.longs[usize::from(number)], mask, values);
    }
}

impl Bank for bool {
    type Row<'r> = u32;

    #[inline(always)]
    fn row(registers: &Registers, number: u16) -> u32 {
        registers.predicates[usize::from(number)]
    }

    #[inline(always)]
    fn lane(row: u32, lane: usize) -> bool {
        row >> lane & 1 == 1
    }

    #[inline(always)]
    fn write(registers: &mut Registers, number: u16, mask: u32, values: &[bool; LANES]) {
        let bits = values.iter().enumerate().fold(0, |bits, (lane, &value)| bits | u32::from(value) << lane);
        let row = &mut registers.predicates[usize::from(number)];
        *row = *row & !mask | bits & mask;
    }
}

/// The values that a function gives for each lane. The compiler turns this loop into operations on several lanes.
#[inline(always)]
pub(crate) fn by_lane<T: Copy + Default>(mut f: impl FnMut(usize) -> T) -> [T; LANES] {
    let mut values = [T::default(); LANES];
    for (lane, value) in values.iter_mut().enumerate() {
        *value = f(lane);
    }
    values
}

/// The step that writes a function of one register.
pub(crate) fn unary<T: Bank, A: Bank>(to: u16, a: u16, f: impl Fn(A) -> T + Send + Sync + 'static) -> Step {
    Box::new(move |registers, mask| {
        let row = A::row(registers, a);
        let values: [T; LANES] = by_lane(|lane| f(A::lane(row, lane)));
        T::write(registers, to, mask, &values);
    })
}

/// The step that writes a function of two registers.
pub(crate) fn binary<T: Bank, A: Bank, B: Bank>(
    to: u16,
    [a, b]: [u16; 2],
    f: impl Fn(A, B) -> T + Send + Sync + 'static,
) -> Step {
    Box::new(move |registers, mask| {
        let (row_a, row_b) = (A::row(registers, a), B::row(registers, b));
        let values: [T; LANES] = by_lane(|lane| f(A::lane(row_a, lane), B::lane(row_b, lane)));
        T::write(registers, to, mask, &values);
    })
}

/// The step that writes a function of three registers.
pub(crate) fn ternary<T: Bank, A: Bank, B: Bank, C: Bank>(
    to: u16,
    [a, b, c]: [u16; 3],
    f: impl Fn(A, B, C) -> T + Send + Sync + 'static,
) -> Step {
    Box::new(move |registers, mask| {
        let (row_a, row_b, row_c) = (A::row(registers, a), B::row(registers, b), C::row(registers, c));
        let values: [T; LANES] = by_lane(|lane| f(A::lane(row_a, lane), B::lane(row_b, lane), C::lane(row_c, lane)));
        T::write(registers, to, mask, &values);
    })
}

/// The step that writes a function of three registers of 32 bits which takes all their lanes at once.
pub(crate) fn by_rows(
    to: u16,
    abc: [u16; 3],
    f: impl Fn([u32; LANES], [u32; LANES], [u32; LANES]) -> [u32; LANES] + Send + Sync + 'static,
) -> Step {
    Box::new(move |registers, mask| {
        let [a, b, c] = abc.map(|number| *u32::row(registers, number));
        u32::write(registers, to, mask, &f(a, b, c));
    })
}

/// The step that writes a function of four registers of one bank.
pub(crate) fn quaternary<T: Bank>(
    to: u16,
    [a, b, c, d]: [u16; 4],
    f: impl Fn(T, T, T, T) -> T + Send + Sync + 'static,
) -> Step {
    Box::new(move |registers, mask| {
        let [a, b, c, d] = [a, b, c, d].map(|number| T::row(registers, number));
        let values: [T; LANES] =
            by_lane(|lane| f(T::lane(a, lane), T::lane(b, lane), T::lane(c, lane), T::lane(d, lane)));
        T::write(registers, to, mask, &values);
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_writes_the_lanes_of_its_mask_in_every_bank() {
        let mut registers = Registers {
            words: vec![std::array::from_fn(|lane| lane as u32), [7; LANES]],
            longs: vec![[1 << 40; LANES]],
            predicates: vec![0],
        };
        binary::<u32, u32, u32>(1, [0, 1], u32::wrapping_add)(&mut registers, 0b110);
        assert_eq!(registers.words[1][..4], [7, 8, 9, 7]);
        binary::<u32, u32, u32>(1, [0, 0], u32::wrapping_add)(&mut registers, u32::MAX);
        assert_eq!(registers.words[1][31], 62);
        unary::<bool, u32>(0, 0, |value| value < 5)(&mut registers, !1);
        assert_eq!(registers.predicates[0], 0b11110);
        ternary::<u64, u64, u32, bool>(0, [0, 0, 0], |a, b, c| a + u64::from(b) + u64::from(c))(&mut registers, 0b100);
        assert_eq!(registers.longs[0][1..3], [1 << 40, (1 << 40) + 3]);
        quaternary::<u32>(1, [0, 0, 0, 1], |a, b, c, d| a + b + c + d)(&mut registers, 1);
        assert_eq!(registers.words[1][0], 0);
    }
}
