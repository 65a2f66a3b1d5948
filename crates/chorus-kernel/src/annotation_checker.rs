//! The check that kernels touch only what they declare (see `annotation.rs`). A command processor that relies on a
//! wrong annotation leaves out synchronisation that a kernel needs (CPElide paper, section III-B).

use std::fmt;
use std::ops::Range;

use crate::annotation::{AccessMode, Share};
use crate::kernel::Kernel;
use crate::lanes::LANES;
use crate::memory::HostMemory;
use crate::memory_op::{MemoryOp, MemoryOpKind};
use crate::partition::part_of;
use crate::word_set::{covers, normal};

/// The most ranges that a message lists. It gives the number of the others.
const LISTED: usize = 4;

/// The annotations of a kernel by chiplet, for comparison with its accesses.
#[derive(Debug)]
pub struct AnnotationChecker {
    kernel: String,
    work_groups: u32,
    recorded: bool,
    by_chiplet: Vec<Words>,
}

/// The words that one chiplet may touch, as sorted ranges.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Words {
    readable: Vec<Range<usize>>,
    writable: Vec<Range<usize>>,
}

/// An access that no declaration covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undeclared {
    /// The name of the kernel.
    pub kernel: String,
    /// The work-group that makes the access.
    pub work_group: u32,
    /// The chiplet that runs the work-group, and the number of chiplets.
    pub chiplet: [u32; 2],
    /// The word that the access touches.
    pub word: u32,
    /// Whether the access may change the word.
    pub writes: bool,
    /// The buffer that the word lies in, by the order in which buffers were made, and its words.
    pub buffer: Option<(usize, Range<usize>)>,
    /// Whether the annotations of the kernel come from a recording.
    pub recorded: bool,
    /// The words of the buffer that the chiplet may touch.
    declared: Words,
}

impl fmt::Display for Undeclared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Undeclared { kernel, work_group, chiplet: [chiplet, chiplets], word, writes, .. } = self;
        let does = if *writes { "writes" } else { "reads" };
        let address = u64::from(*word) * 4;
        write!(f, "kernel {kernel} {does} word {word} (address {address:#x}) of ")?;
        match &self.buffer {
            Some((number, words)) => write!(f, "buffer {number} (words {}..{})", words.start, words.end)?,
            None => f.write_str("no buffer")?,
        }
        write!(f, " in work-group {work_group} on chiplet {chiplet} of {chiplets}, where it declares ")?;
        let Words { readable, writable } = &self.declared;
        write!(f, "{} of that buffer to be read and {} to be written", listed(readable), listed(writable))?;
        if self.recorded {
            return f.write_str(
                "\nhint: the recording run did not make this access, so it depends on timing; \
                 --annotate hand takes what the workload declares itself",
            );
        }
        let mode = if *writes { "AccessMode::ReadWrite" } else { "AccessMode::Read or AccessMode::ReadWrite" };
        write!(f, "\nhint: accepted is what the kernel names with `access` or `access_parts` and {mode}")
    }
}

fn listed(ranges: &[Range<usize>]) -> String {
    let mut texts: Vec<String> =
        ranges.iter().take(LISTED).map(|range| format!("{}..{}", range.start, range.end)).collect();
    match ranges.len() {
        0 => return "nothing".to_owned(),
        count if count > LISTED => texts.push(format!("{} more", count - LISTED)),
        _ => {}
    }
    format!("words {}", texts.join(", "))
}

impl AnnotationChecker {
    /// A checker of the annotations of `kernel`, which `chiplets` chiplets share. There is none for a kernel without
    /// annotations, since it may touch anything.
    pub fn of(kernel: &Kernel, chiplets: u32) -> Option<AnnotationChecker> {
        if kernel.declares().is_empty() {
            return None;
        }
        let of_chiplet = |index: u32| {
            let share = Share { index, count: chiplets, work_groups: kernel.work_groups };
            let mut words = Words::default();
            for said in kernel.declares() {
                let part = said.words_of(share);
                if said.mode == AccessMode::ReadWrite {
                    words.writable.extend_from_slice(&part);
                }
                words.readable.extend(part);
            }
            Words { readable: normal(words.readable), writable: normal(words.writable) }
        };
        Some(AnnotationChecker {
            kernel: kernel.name.clone(),
            work_groups: kernel.work_groups,
            recorded: kernel.declares().iter().any(|said| said.is_recorded()),
            by_chiplet: (0..chiplets).map(of_chiplet).collect(),
        })
    }

    /// Compares an operation of a work-group with the annotations of its chiplet. Memory says which buffer a word lies
    /// in.
    pub fn check(&self, work_group: u32, op: &MemoryOp, memory: &HostMemory) -> Result<(), Box<Undeclared>> {
        let chiplets = self.by_chiplet.len() as u32;
        let chiplet = part_of(work_group, self.work_groups, chiplets);
        let words = &self.by_chiplet[chiplet as usize];
        let writes = op.kind != MemoryOpKind::Load;
        let declared = if writes { &words.writable } else { &words.readable };
        let covered = |word: u32, count: usize| covers(declared, &(word as usize..word as usize + count));
        if op.row().is_some_and(|first| covered(first, LANES)) {
            return Ok(());
        }
        let Some(word) = op.touched().find(|&word| !covered(word, 1)) else {
            return Ok(());
        };
        let buffer = memory.buffer_of(word);
        let within = buffer.as_ref().map_or(0..0, |(_, words)| words.clone());
        Err(Box::new(Undeclared {
            kernel: self.kernel.clone(),
            work_group,
            chiplet: [chiplet, chiplets],
            word,
            writes,
            declared: words.within(&within),
            buffer,
            recorded: self.recorded,
        }))
    }
}

impl Words {
    /// The parts of the ranges that lie within `words`.
    fn within(&self, words: &Range<usize>) -> Words {
        let cut = |ranges: &[Range<usize>]| {
            let cut = ranges.iter().map(|range| range.start.max(words.start)..range.end.min(words.end));
            cut.filter(|range| !range.is_empty()).collect()
        };
        Words { readable: cut(&self.readable), writable: cut(&self.writable) }
    }
}
