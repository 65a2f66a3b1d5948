//! Numbers that a program measures about itself.

use std::ops::Range;

use chorus_kernel::HostMemory;

use crate::element::Element;
use crate::error::Result;
use crate::facts::Facts;
use crate::layout::Layout;
use crate::manifest::{Manifest, Reading};

/// A reading with the values of a run.
pub(crate) struct Reader {
    name: String,
    element: Element,
    start: usize,
    elements: Range<u64>,
    per: f64,
}

/// The elements that a reading takes, and the number that they are divided by.
fn extent(reading: &Reading, facts: &Facts) -> Result<(Range<u64>, f64)> {
    let (values, length) = (&facts.values, i128::from(facts.lengths[reading.buffer]));
    let first = reading.first.as_ref().map_or(Ok(0), |it| it.within(values, 0, length, "a first element"))?;
    let rest = length - first;
    let count = reading.count.as_ref().map_or(Ok(rest), |it| it.within(values, 0, rest, "a number of elements"))?;
    let per = reading.per.as_ref().map_or(Ok(1), |it| it.within(values, 1, i64::MAX.into(), "a divisor"))?;
    Ok((first as u64..(first + count) as u64, per as f64))
}

impl Reader {
    /// Finds the mistakes of a reading that do not depend on what a run computes.
    pub(crate) fn examine(reading: &Reading, facts: &Facts) -> Result<()> {
        extent(reading, facts).map(drop)
    }

    pub(crate) fn of(reading: &Reading, manifest: &Manifest, facts: &Facts, layout: &Layout) -> Result<Reader> {
        let (elements, per) = extent(reading, facts)?;
        let (element, start) = (manifest.buffers[reading.buffer].element, layout.start(reading.buffer));
        Ok(Reader { name: reading.name.clone(), element, start, elements, per })
    }

    /// The numbers under their name.
    pub(crate) fn read(&self, memory: &HostMemory) -> (String, Vec<f64>) {
        let number = |index| self.element.real(self.element.load(memory, self.start, index)) / self.per;
        (self.name.clone(), self.elements.clone().map(number).collect())
    }
}
