//! Which loads of remote lines another module of the same GPU could have shared.
//!
//! Figure 3 of the HMG paper: the percentage of inter-GPU loads that go to addresses which another module of the same
//! GPU accesses too. Lines are watched from the first access of a GPU that does not hold them in its memory.

use std::ops::Range;

use chorus_protocol::save::{self, Restore};

/// Marks a line that several modules of a GPU have accessed.
const SEVERAL: u32 = 0xff;
/// Loads that are counted of a line that one module has accessed; the module is above them.
const LOADS_MAX: u32 = 0x00ff_ffff;
/// Lines that are watched together, as a power of two.
const STRETCH: u32 = 10;

/// Accesses of some GPUs to lines in the memory of others.
#[derive(Clone, Debug, Restore)]
pub struct Sharing {
    #[save(built)]
    gpus: Range<u16>,
    /// The state of each watched stretch of lines, by line and GPU: the module that accessed the line, counted from 1,
    /// and its loads.
    stretches: Vec<Vec<u32>>,
}

impl Sharing {
    /// The state of these GPUs of a machine when nothing has been accessed.
    pub fn new(gpus: Range<u16>) -> Sharing {
        Sharing { gpus, stretches: Vec::new() }
    }

    /// Notes that module `module` of GPU `gpu`, counted within that GPU, accesses virtual line `line` with `loads`
    /// loads. Returns how many more loads are known to be of lines that several modules of the GPU access.
    #[inline]
    pub fn access(&mut self, line: u64, gpu: u16, module: u16, loads: u32) -> u32 {
        let stretch = (line >> STRETCH) as usize;
        if self.stretches.get(stretch).is_none_or(Vec::is_empty) {
            self.watch(stretch);
        }
        let within = (line & ((1 << STRETCH) - 1)) as usize;
        let entry = &mut self.stretches[stretch][within * self.gpus.len() + usize::from(gpu - self.gpus.start)];
        let (who, before) = (*entry >> 24, *entry & LOADS_MAX);
        let me = u32::from(module) + 1;
        if who == SEVERAL {
            loads
        } else if who == 0 || who == me {
            *entry = me << 24 | (before + loads).min(LOADS_MAX);
            0
        } else {
            *entry = SEVERAL << 24;
            before + loads
        }
    }

    #[cold]
    fn watch(&mut self, stretch: usize) {
        if stretch >= self.stretches.len() {
            self.stretches.resize(stretch + 1, Vec::new());
        }
        self.stretches[stretch] = vec![0; self.gpus.len() << STRETCH];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_loads_of_a_line_count_once_a_second_module_of_the_gpu_accesses_it() {
        let mut sharing = Sharing::new(0..2);
        assert_eq!(sharing.access(1000, 0, 2, 1), 0);
        assert_eq!(sharing.access(1000, 0, 2, 1), 0);
        assert_eq!(sharing.access(1000, 1, 3, 1), 0, "another GPU shares nothing");
        assert_eq!(sharing.access(1001, 0, 1, 1), 0, "another line neither");
        assert_eq!(sharing.access(1000, 0, 1, 1), 3);
        assert_eq!(sharing.access(1000, 0, 2, 1), 1);
    }

    #[test]
    fn a_store_of_another_module_is_an_access_and_no_load() {
        let mut sharing = Sharing::new(0..1);
        assert_eq!(sharing.access(5, 0, 0, 1), 0);
        assert_eq!(sharing.access(5, 0, 1, 0), 1);
    }
}
