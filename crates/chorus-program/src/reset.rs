//! First contents of buffers, written again between passes over a program's steps.

use std::sync::Arc;

use chorus_kernel::{AccessMode, Buf, HostMemory, Kernel, LANES, Lanes, Mask};

use crate::layout::Layout;
use crate::manifest::Manifest;

/// The rows of 32 words that one wavefront writes.
const ROWS: u32 = 32;

/// A buffer with its contents before the first launch.
pub(crate) struct Reset {
    name: String,
    buffer: Buf<u32>,
    words: Arc<Vec<u32>>,
}

impl Reset {
    /// The contents that a buffer has now.
    pub(crate) fn of(buffer: usize, manifest: &Manifest, layout: &Layout, memory: &HostMemory) -> Reset {
        let words = Arc::new(memory.read(layout.buffers[buffer]));
        Reset { name: format!("set {}", manifest.buffers[buffer].name), buffer: layout.buffers[buffer], words }
    }

    /// The kernel that writes the contents. Caches may have copies of the buffer, so the machine must do it.
    pub(crate) fn kernel(&self) -> Kernel {
        let (buffer, words) = (self.buffer, Arc::clone(&self.words));
        let rows = words.len().div_ceil(LANES) as u32;
        let kernel = Kernel::new(self.name.clone(), rows.div_ceil(ROWS).max(1), 1, move |w| {
            let words = Arc::clone(&words);
            async move {
                let first = w.work_group() * ROWS;
                for row in first..rows.min(first + ROWS) {
                    let index = Lanes::from_fn(|lane| row * LANES as u32 + lane as u32);
                    let values = index.map(|index| words.get(index as usize).copied().unwrap_or(0));
                    let mask = Mask::first((words.len() - (row as usize * LANES)).min(LANES));
                    w.store_where(mask, buffer, index, values);
                }
            }
        });
        kernel.access(buffer, AccessMode::ReadWrite)
    }
}
