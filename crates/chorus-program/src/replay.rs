//! Passes that start each launch as a profiler does when it replays launches.
//!
//! A profiler that runs a launch several times saves all memory before the first time. That leaves other data in the
//! caches than the program had there. Before each further time it writes back what the launch has changed. It does
//! so in pieces as large as the smallest allocation of the driver, and buffers that are smaller share a piece.

use chorus_kernel::{AccessMode, Buf, HostMemory, Kernel, LANES, Lanes, Mask};

use crate::layout::Layout;
use crate::manifest::Manifest;
use crate::reset::Reset;

/// The rows of 32 words that one wavefront reads.
const ROWS: u32 = 32;

/// The smallest piece of memory that is written back, in words. CUDA's driver maps memory in pieces of 2 MiB.
const PIECE_WORDS: usize = (2 << 20) / 4;

/// The passes that replay launches: one behind emptied caches, and one that also finds restored buffers. A program of
/// one launch needs no pass of the first kind, since its first pass of all finds empty caches.
pub(crate) const REPLAYS: u64 = 2;

/// The memory that is read before each launch that is replayed.
pub(crate) struct Replay {
    other: Buf<u32>,
    /// The buffers that a launch leaves other than it found them, by their numbers.
    changed: Vec<usize>,
}

impl Replay {
    /// A replay that reads so many MiB of other memory before each launch. None: nothing is replayed.
    pub(crate) fn of(mebibytes: u64, manifest: &Manifest, memory: &mut HostMemory) -> Option<Replay> {
        let changed = manifest.reset.as_ref().filter(|_| mebibytes > 0)?.clone();
        Some(Replay { other: memory.alloc::<u32>((mebibytes << 20) as usize / 4), changed })
    }

    /// Lets the caches lose what they hold.
    pub(crate) fn empty_caches(&self) -> Kernel {
        reading("other memory", self.other)
    }

    /// Brings back what a launch has changed: the buffers themselves, and those that share a piece with one of them.
    pub(crate) fn restore(&self, manifest: &Manifest, layout: &Layout, memory: &HostMemory) -> Vec<Kernel> {
        let is_small = |buffer: usize| layout.buffers[buffer].len() < PIECE_WORDS;
        let shares = self.changed.iter().any(|&buffer| is_small(buffer));
        let kernel = |buffer: usize| match self.changed.contains(&buffer) {
            true => Some(Reset::of(buffer, manifest, layout, memory).kernel()),
            false if shares && is_small(buffer) => {
                Some(reading(&manifest.buffers[buffer].name, layout.buffers[buffer]))
            }
            false => None,
        };
        (0..layout.buffers.len()).filter_map(kernel).collect()
    }
}

/// A kernel that reads all of a buffer.
fn reading(name: &str, buffer: Buf<u32>) -> Kernel {
    let rows = buffer.len().div_ceil(LANES) as u32;
    let kernel = Kernel::new(format!("read {name}"), rows.div_ceil(ROWS).max(1), 1, move |w| async move {
        let first = w.work_group() * ROWS;
        for row in first..rows.min(first + ROWS) {
            let mask = Mask::first((buffer.len() - (row as usize * LANES)).min(LANES));
            w.load_where(mask, buffer, Lanes::from_fn(|lane| row * LANES as u32 + lane as u32)).await;
        }
    });
    kernel.access(buffer, AccessMode::Read)
}
