//! A program as most workloads need it: the kernels that a host launches, and the outputs they must leave behind.

use std::fmt::Display;
use std::ops::Range;

use chorus_kernel::{Buf, HostMemory, Kernel, Mismatch, Program, Verdict, Word};

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

    /// The name that messages give it.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The word numbers it occupies.
    pub fn words(&self) -> Range<usize> {
        self.start..self.start + self.expected.len()
    }

    fn compare(&self, memory: &HostMemory) -> Result<(), Mismatch> {
        let found = memory.words(self.words());
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

/// A statement about memory that must hold at the end, in whatever order racing wavefronts ran.
type Invariant = Box<dyn Fn(&HostMemory) -> Result<(), Mismatch>>;

/// The function that gives the next kernel, from what the last one left in memory, or nothing at the end of the
/// program.
type Next = Box<dyn FnMut(&HostMemory) -> Option<Kernel>>;

/// The function that reads what the program has measured about itself.
type Readings = Box<dyn Fn(&HostMemory) -> Vec<(String, Vec<f64>)>>;

/// Launches kernels one after the other; its result is right when every word of every output is, and every invariant
/// holds.
pub struct HostProgram {
    next: Next,
    kernels: Option<usize>,
    outputs: Vec<Output>,
    invariants: Vec<Invariant>,
    readings: Option<Readings>,
}

impl HostProgram {
    /// The program that launches these kernels one after the other and leaves these outputs.
    pub fn new(kernels: Vec<Kernel>, outputs: Vec<Output>) -> HostProgram {
        let (count, mut kernels) = (kernels.len(), kernels.into_iter());
        HostProgram { kernels: Some(count), ..HostProgram::deciding(move |_| kernels.next(), outputs) }
    }

    /// A program that decides what to launch when the last kernel has ended. A wrong result in memory must not keep
    /// `next` from ending.
    pub fn deciding(next: impl FnMut(&HostMemory) -> Option<Kernel> + 'static, outputs: Vec<Output>) -> HostProgram {
        HostProgram { next: Box::new(next), kernels: None, outputs, invariants: Vec::new(), readings: None }
    }

    /// Adds a statement that the result must also pass, for algorithms with many right results.
    pub fn invariant(mut self, holds: impl Fn(&HostMemory) -> Result<(), Mismatch> + 'static) -> HostProgram {
        self.invariants.push(Box::new(holds));
        self
    }

    /// Sets what is read from memory at the end as measured by the program.
    pub fn reading(mut self, read: impl Fn(&HostMemory) -> Vec<(String, Vec<f64>)> + 'static) -> HostProgram {
        self.readings = Some(Box::new(read));
        self
    }

    /// The buffers that the program must leave with the right contents.
    pub fn outputs(&self) -> &[Output] {
        &self.outputs
    }
}

impl Program for HostProgram {
    fn next_kernel(&mut self, memory: &HostMemory) -> Option<Kernel> {
        (self.next)(memory)
    }

    fn kernels(&self) -> Option<usize> {
        self.kernels
    }

    fn check(&self, memory: &HostMemory) -> Verdict {
        if self.outputs.is_empty() && self.invariants.is_empty() {
            return Verdict::Unchecked;
        }
        let outputs = self.outputs.iter().try_for_each(|output| output.compare(memory));
        outputs.and_then(|()| self.invariants.iter().try_for_each(|holds| holds(memory))).into()
    }

    fn readings(&self, memory: &HostMemory) -> Vec<(String, Vec<f64>)> {
        self.readings.as_ref().map_or_else(Vec::new, |read| read(memory))
    }
}

#[cfg(test)]
mod tests {
    use chorus_kernel::flat;

    use super::*;

    #[test]
    fn a_mismatch_names_the_first_wrong_element_and_counts_them_all() {
        let mut memory = HostMemory::default();
        let heat = memory.alloc_from(&[1.0_f32, 2.5, 3.0, 4.5]);
        let program = HostProgram::new(Vec::new(), vec![Output::new("heat", heat, &[1.0, 2.0, 3.0, 4.0])]);
        let Mismatch(message) = program.check(&memory).not_wrong().unwrap_err();
        assert_eq!(message, "heat[1] is 2.5 instead of 2; 2 of 4 words differ");
    }

    #[test]
    fn a_host_can_launch_until_memory_tells_it_to_stop() {
        let mut memory = HostMemory::default();
        let count = memory.alloc::<u32>(1);
        let increment = move || {
            Kernel::new("increment", 1, 1, move |w| async move {
                let value = w.load_one(count, 0).await;
                w.store_one(count, 0, value + 1);
            })
        };
        let next = move |memory: &HostMemory| (memory.get(count, 0) < 5).then(increment);
        let mut program = HostProgram::deciding(next, vec![Output::new("count", count, &[5])]);
        assert_eq!(flat::run(&mut program, &memory), Ok(()));
    }
}
