//! A program as most workloads need it: kernels in a row, and the outputs they must leave behind.

use std::fmt::Display;
use std::ops::Range;

use chorus_sim::frontend::{Buf, HostMemory, Kernel, Mismatch, Program, Word};

/// A buffer that holds part of the result, with the contents that the host reference gives.
#[derive(Debug)]
pub struct Output {
    name: &'static str,
    start: usize,
    expected: Vec<u32>,
    show: fn(u32) -> String,
}

impl Output {
    /// The output `name`, which must end up as `expected`, bit for bit.
    pub fn new<T: Word + Display>(name: &'static str, buf: Buf<T>, expected: &[T]) -> Output {
        assert_eq!(buf.len(), expected.len(), "output {name}: one expected value per element");
        Output {
            name,
            start: buf.start() as usize,
            expected: expected.iter().map(|value| value.to_bits()).collect(),
            show: |bits| T::from_bits(bits).to_string(),
        }
    }

    /// For people.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The word numbers it occupies.
    pub fn words(&self) -> Range<usize> {
        self.start..self.start + self.expected.len()
    }

    fn compare(&self, memory: &HostMemory) -> Result<(), Mismatch> {
        let found = &memory.words()[self.words()];
        let Some(first) = (0..found.len()).find(|&index| found[index] != self.expected[index]) else {
            return Ok(());
        };
        let wrong = found.iter().zip(&self.expected).filter(|(found, expected)| found != expected).count();
        Err(Mismatch(format!(
            "{}[{first}] is {} instead of {}; {wrong} of {} words differ",
            self.name,
            (self.show)(found[first]),
            (self.show)(self.expected[first]),
            found.len()
        )))
    }
}

/// Launches kernels one after the other; its result is right when every word of every output is.
pub struct HostProgram {
    kernels: std::vec::IntoIter<Kernel>,
    outputs: Vec<Output>,
}

impl HostProgram {
    /// The program of these launches and outputs.
    pub fn new(kernels: Vec<Kernel>, outputs: Vec<Output>) -> HostProgram {
        HostProgram { kernels: kernels.into_iter(), outputs }
    }

    /// What the program leaves behind.
    pub fn outputs(&self) -> &[Output] {
        &self.outputs
    }
}

impl Program for HostProgram {
    fn next_kernel(&mut self, _: &HostMemory) -> Option<Kernel> {
        self.kernels.next()
    }

    fn check(&self, memory: &HostMemory) -> Result<(), Mismatch> {
        self.outputs.iter().try_for_each(|output| output.compare(memory))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mismatch_names_the_first_wrong_element_and_counts_them_all() {
        let mut memory = HostMemory::default();
        let heat = memory.alloc_from(&[1.0_f32, 2.5, 3.0, 4.5]);
        let program = HostProgram::new(Vec::new(), vec![Output::new("heat", heat, &[1.0, 2.0, 3.0, 4.0])]);
        let Mismatch(message) = program.check(&memory).unwrap_err();
        assert_eq!(message, "heat[1] is 2.5 instead of 2; 2 of 4 words differ");
    }
}
