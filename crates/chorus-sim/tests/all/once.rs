//! A program of given kernels, for tests.

use chorus_kernel::{HostMemory, Kernel, Mismatch, Program, Verdict};

/// A program of given kernels, last first, and a given check.
pub struct Once<C> {
    pub kernels: Vec<Kernel>,
    pub check: C,
}

impl<C: Fn(&HostMemory) -> Result<(), Mismatch>> Program for Once<C> {
    fn next_kernel(&mut self, _: &HostMemory) -> Option<Kernel> {
        self.kernels.pop()
    }

    fn check(&self, memory: &HostMemory) -> Verdict {
        (self.check)(memory).into()
    }
}
