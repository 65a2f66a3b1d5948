//! Whether kernels touch only what they declare (see `annotation.rs`). A command processor that believes a wrong declaration leaves out synchronisation that somebody needs (CPElide paper, section III-B).

use std::fmt;
use std::ops::Range;

use super::annotation::{AccessMode, Share};
use super::kernel::Kernel;
use super::partition::part_of;
use super::wave_state::{MemoryOp, MemoryOpKind};

/// What a kernel declares of every chiplet, to compare with what it does.
pub struct Declared<'k> {
    kernel: &'k Kernel,
    /// Words and modes, by chiplet.
    parts: Vec<Vec<(Range<usize>, AccessMode)>>,
}

/// An access that no declaration covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undeclared {
    /// The kernel.
    pub kernel: String,
    /// The chiplet that runs the work-group, of so many.
    pub chiplet: [u32; 2],
    /// What it touches.
    pub word: u32,
    /// Whether it may change it.
    pub writes: bool,
}

impl fmt::Display for Undeclared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Undeclared { kernel, chiplet: [chiplet, chiplets], word, writes } = self;
        let does = if *writes { "writes" } else { "reads" };
        let address = u64::from(*word) * 4;
        write!(
            f,
            "kernel {kernel} {does} address {address:#x} on chiplet {chiplet} of {chiplets} and does not declare it"
        )
    }
}

impl<'k> Declared<'k> {
    /// What `kernel` declares where so many chiplets share it; nothing if it declares nothing, since then it may touch anything.
    pub fn of(kernel: &'k Kernel, chiplets: u32) -> Option<Declared<'k>> {
        if kernel.annotations.is_empty() {
            return None;
        }
        let of_chiplet = |index: u32| {
            let share = Share { index, count: chiplets, work_groups: kernel.work_groups };
            let parts = kernel.annotations.iter();
            parts.flat_map(|said| said.words_of(share).into_iter().map(|words| (words, said.mode))).collect()
        };
        Some(Declared { kernel, parts: (0..chiplets).map(of_chiplet).collect() })
    }

    /// Compares what a wavefront of a work-group does with what its chiplet declares.
    pub fn check(&self, work_group: u32, op: &MemoryOp) -> Result<(), Undeclared> {
        let chiplets = self.parts.len() as u32;
        let chiplet = part_of(work_group, self.kernel.work_groups, chiplets);
        let writes = op.kind != MemoryOpKind::Load;
        let covers = |word: u32, (words, mode): &(Range<usize>, AccessMode)| {
            words.contains(&(word as usize)) && (!writes || *mode == AccessMode::ReadWrite)
        };
        let declared = &self.parts[chiplet as usize];
        let words = op.mask.iter().map(|lane| op.word(lane));
        match words.into_iter().find(|&word| !declared.iter().any(|part| covers(word, part))) {
            None => Ok(()),
            Some(word) => {
                Err(Undeclared { kernel: self.kernel.name.clone(), chiplet: [chiplet, chiplets], word, writes })
            }
        }
    }
}
