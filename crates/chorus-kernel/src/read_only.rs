//! The check that kernels do not write data that their program declares read-only (see
//! [`HostMemory::declare_read_only`]). A cache that relies on a wrong declaration retains stale copies.

use std::fmt;
use std::ops::Range;

use crate::kernel::Kernel;
use crate::memory::HostMemory;
use crate::memory_op::{MemoryOp, MemoryOpKind};
use crate::word_set::covers;

/// A write to read-only data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadOnlyWritten {
    /// The name of the kernel.
    pub kernel: String,
    /// The word that it writes.
    pub word: u32,
    /// The buffer that the word lies in, by the order in which buffers were made, and its words.
    pub buffer: Option<(usize, Range<usize>)>,
}

impl ReadOnlyWritten {
    /// Refuses an operation of a kernel that writes read-only data.
    #[inline]
    pub fn check(kernel: &Kernel, op: &MemoryOp, memory: &HostMemory) -> Result<(), Box<ReadOnlyWritten>> {
        if matches!(op.kind, MemoryOpKind::Load) || memory.read_only().is_empty() {
            return Ok(());
        }
        ReadOnlyWritten::check_words(kernel, op, memory)
    }

    fn check_words(kernel: &Kernel, op: &MemoryOp, memory: &HostMemory) -> Result<(), Box<ReadOnlyWritten>> {
        let is_declared = |&word: &u32| covers(memory.read_only(), &(word as usize..word as usize + 1));
        match op.touched().find(is_declared) {
            None => Ok(()),
            Some(word) => {
                Err(Box::new(ReadOnlyWritten { kernel: kernel.name.clone(), word, buffer: memory.buffer_of(word) }))
            }
        }
    }
}

impl fmt::Display for ReadOnlyWritten {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ReadOnlyWritten { kernel, word, buffer } = self;
        let address = u64::from(*word) * 4;
        write!(f, "kernel {kernel} writes word {word} (address {address:#x})")?;
        if let Some((number, words)) = buffer {
            write!(f, " of buffer {number} (words {}..{})", words.start, words.end)?;
        }
        f.write_str(
            ", which the program declares read-only\nhint: `declare_read_only` is for buffers that no kernel writes",
        )
    }
}
