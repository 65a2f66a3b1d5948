//! The comparison of buffers with what they should hold.

use std::ops::Range;

use chorus_kernel::{HostMemory, Mismatch};

use crate::element::Element;
use crate::error::Result;
use crate::facts::Facts;
use crate::layout::Layout;
use crate::manifest::{Check, Expected, Manifest};

/// A check with the values of a run.
pub(crate) struct Comparison {
    name: String,
    element: Element,
    start: usize,
    elements: Range<u64>,
    expected: Bits,
    absolute: f64,
    relative: f64,
}

enum Bits {
    Each(Vec<u64>),
    Same(u64),
}

/// The elements of the buffer that a check compares.
pub(crate) fn elements(check: &Check, facts: &Facts) -> Result<Range<u64>> {
    let length = i128::from(facts.lengths[check.buffer]);
    let first = check.first.as_ref().map_or(Ok(0), |it| it.within(&facts.values, 0, length, "a first element"))?;
    let rest = length - first;
    let count =
        check.count.as_ref().map_or(Ok(rest), |it| it.within(&facts.values, 0, rest, "a number of elements"))?;
    Ok(first as u64..(first + count) as u64)
}

/// Finds the mistakes of a check that do not depend on what a run computes.
pub(crate) fn examine(check: &Check, manifest: &Manifest, facts: &Facts) -> Result<()> {
    let (elements, buffer) = (elements(check, facts)?, &manifest.buffers[check.buffer]);
    match &check.expected {
        Expected::Flat => Ok(()),
        Expected::Equals(number) => facts.bits(buffer, number, &facts.values).map(drop),
        Expected::Bytes(bytes) => {
            let (has, takes) = (bytes.len() as u64 / buffer.element.bytes(), elements.end - elements.start);
            let message =
                || format!("the file has {has} elements, and {takes} elements of `{}` are checked", buffer.name);
            if has == takes { Ok(()) } else { Err(check.place.mistake(message())) }
        }
    }
}

impl Comparison {
    /// A check of a run, with the memory that the flat machine has left.
    pub(crate) fn of(
        check: &Check,
        manifest: &Manifest,
        facts: &Facts,
        layout: &Layout,
        flat: Option<&HostMemory>,
    ) -> Result<Comparison> {
        let buffer = &manifest.buffers[check.buffer];
        let (element, start, elements) = (buffer.element, layout.start(check.buffer), elements(check, facts)?);
        let expected = match &check.expected {
            Expected::Equals(number) => Bits::Same(facts.bits(buffer, number, &facts.values)?),
            Expected::Flat => Bits::Each(
                flat.map_or_else(Vec::new, |flat| elements.clone().map(|at| element.load(flat, start, at)).collect()),
            ),
            Expected::Bytes(bytes) => {
                let bits = |bytes: &[u8]| bytes.iter().rev().fold(0, |bits, &byte| bits << 8 | u64::from(byte));
                Bits::Each(bytes.chunks(element.bytes() as usize).map(bits).collect())
            }
        };
        let Check { absolute, relative, .. } = *check;
        Ok(Comparison { name: buffer.name.clone(), element, start, elements, expected, absolute, relative })
    }

    pub(crate) fn compare(&self, memory: &HostMemory) -> std::result::Result<(), Mismatch> {
        let mut wrong = 0u64;
        let mut first = None;
        for (at, index) in self.elements.clone().enumerate() {
            let found = self.element.load(memory, self.start, index);
            let expected = match &self.expected {
                Bits::Each(each) => each.get(at).copied().unwrap_or(0),
                Bits::Same(bits) => *bits,
            };
            if !self.is_near(found, expected) {
                wrong += 1;
                first.get_or_insert((index, found, expected));
            }
        }
        let Some((index, found, expected)) = first else { return Ok(()) };
        let (found, expected) = (self.element.show(found), self.element.show(expected));
        let count = self.elements.end - self.elements.start;
        let name = &self.name;
        Err(Mismatch(format!("{name}[{index}] is {found} instead of {expected}; {wrong} of {count} elements differ")))
    }

    fn is_near(&self, found: u64, expected: u64) -> bool {
        if found == expected || self.absolute == 0.0 && self.relative == 0.0 {
            return found == expected;
        }
        let (found, expected) = (self.element.real(found), self.element.real(expected));
        (found - expected).abs() <= self.absolute + self.relative * expected.abs()
            || found.is_nan() && expected.is_nan()
    }
}
