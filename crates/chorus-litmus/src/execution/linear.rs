//! Values as sums of the values that were read.

use crate::test::Operand;

/// A constant plus multiples of the values that events of the same thread read. Since registers are only ever added,
/// every value has this form.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Linear {
    constant: u32,
    /// Events of the thread with their factors. An event stays even if its factor is zero, since the value depends on
    /// it.
    terms: Vec<(u8, u32)>,
}

impl Linear {
    pub fn constant(constant: u32) -> Linear {
        Linear { constant, terms: Vec::new() }
    }

    /// The value that an event reads.
    pub fn read(event: usize) -> Linear {
        Linear { constant: 0, terms: vec![(event as u8, 1)] }
    }

    /// The value of an operand, given the values of all registers.
    pub fn operand(operand: Operand, registers: &[Linear]) -> Linear {
        match operand {
            Operand::Constant(value) => Linear::constant(value),
            Operand::Register(register) => registers[usize::from(register.0)].clone(),
        }
    }

    pub fn plus(&self, other: &Linear) -> Linear {
        let mut sum = self.clone();
        sum.constant = sum.constant.wrapping_add(other.constant);
        for &(event, factor) in &other.terms {
            match sum.terms.iter_mut().find(|(known, _)| *known == event) {
                Some((_, known)) => *known = known.wrapping_add(factor),
                None => sum.terms.push((event, factor)),
            }
        }
        sum
    }

    /// The value, if it does not depend on reads.
    pub fn known(&self) -> Option<u32> {
        self.terms.is_empty().then_some(self.constant)
    }

    /// The events that the value depends on, as bits.
    pub fn events(&self) -> u64 {
        self.terms.iter().fold(0, |bits, (event, _)| bits | 1 << event)
    }

    /// The value, where `read` gives the value that an event of the thread read. It is `None` if `read` gives none.
    pub fn value(&self, mut read: impl FnMut(usize) -> Option<u32>) -> Option<u32> {
        let mut value = self.constant;
        for &(event, factor) in &self.terms {
            value = value.wrapping_add(read(usize::from(event))?.wrapping_mul(factor));
        }
        Some(value)
    }
}
