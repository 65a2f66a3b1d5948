//! Annotations: statements of a kernel about the buffers that it accesses (CPElide paper, section III-B, Listings 1 and
//! 2).
//!
//! A command processor that knows which chiplet reads and writes which data can leave out synchronisation that nobody
//! needs. It knows only what it is told. A kernel names a buffer that it reads with [`AccessMode::Read`] and a buffer
//! that it may write with [`AccessMode::ReadWrite`], as a whole or with the elements that each chiplet touches. A
//! kernel that names nothing may touch anything.

use std::fmt;
use std::ops::Range;

use crate::memory::Buf;
use crate::partition::groups_of;

/// How a kernel accesses a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AccessMode {
    /// The kernel only reads the buffer.
    Read,
    /// The kernel may read and write the buffer.
    ReadWrite,
}

/// The part of a launch that one chiplet runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// The index of the chiplet among those that share the launch.
    pub index: u32,
    /// The number of chiplets that share the launch.
    pub count: u32,
    /// Work-groups of the launch.
    pub work_groups: u32,
}

impl Share {
    /// The work-groups that the chiplet runs.
    pub fn groups(self) -> Range<u32> {
        groups_of(self.index, self.work_groups, self.count)
    }

    /// The elements of a chiplet whose work-groups have `per_group` adjacent elements each, of `len` in all.
    pub fn elements(self, per_group: u32, len: usize) -> Range<usize> {
        let at = |group: u32| (group as usize * per_group as usize).min(len);
        let Range { start, end } = self.groups();
        at(start)..at(end)
    }
}

type Parts = dyn Fn(Share) -> Vec<Range<usize>> + Send + Sync;

/// The statement of a kernel about one buffer.
pub struct Annotation {
    /// The words of the buffer.
    pub words: Range<usize>,
    /// How it is accessed.
    pub mode: AccessMode,
    extent: Extent,
}

/// Which of the words of a buffer each chiplet touches.
enum Extent {
    /// Every chiplet may touch every word.
    Whole,
    /// Each chiplet touches the elements that a function gives.
    Parts(Box<Parts>),
    /// Each chiplet touches the words that it touched when the kernel was recorded on as many chiplets.
    Recorded(Vec<Vec<Range<usize>>>),
}

impl Annotation {
    /// An annotation of all of a buffer (`hipSetAccessMode`).
    pub fn whole<T>(buf: Buf<T>, mode: AccessMode) -> Annotation {
        let start = buf.start() as usize;
        Annotation { words: start..start + buf.len(), mode, extent: Extent::Whole }
    }

    /// An annotation of the elements that `parts` names for each chiplet (`hipSetAccessModeRange`).
    pub fn parts<T>(
        buf: Buf<T>,
        mode: AccessMode,
        parts: impl Fn(Share) -> Vec<Range<usize>> + Send + Sync + 'static,
    ) -> Annotation {
        Annotation { extent: Extent::Parts(Box::new(parts)), ..Annotation::whole(buf, mode) }
    }

    /// An annotation of the words of a buffer that each chiplet touched in a recording.
    pub(crate) fn recorded(words: Range<usize>, mode: AccessMode, by_chiplet: Vec<Vec<Range<usize>>>) -> Annotation {
        Annotation { words, mode, extent: Extent::Recorded(by_chiplet) }
    }

    /// Whether the annotation comes from a recording.
    pub fn is_recorded(&self) -> bool {
        matches!(self.extent, Extent::Recorded(_))
    }

    /// The words that a chiplet may touch, as ranges that are neither empty nor beyond the buffer.
    pub fn words_of(&self, share: Share) -> Vec<Range<usize>> {
        let parts = match &self.extent {
            Extent::Whole => return vec![self.words.clone()],
            Extent::Recorded(by_chiplet) if by_chiplet.len() == share.count as usize => {
                return by_chiplet[share.index as usize].clone();
            }
            // Nothing is known of any other division.
            Extent::Recorded(_) => return vec![self.words.clone()],
            Extent::Parts(parts) => parts,
        };
        let within = |part: Range<usize>| {
            let at = |element: usize| (self.words.start + element).min(self.words.end);
            at(part.start)..at(part.end)
        };
        parts(share).into_iter().map(within).filter(|words| !words.is_empty()).collect()
    }
}

impl fmt::Debug for Annotation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Annotation { words, mode, extent } = self;
        let extent = match extent {
            Extent::Whole => "whole",
            Extent::Parts(_) => "parts",
            Extent::Recorded(_) => "recorded",
        };
        f.debug_struct("Annotation").field("words", words).field("mode", mode).field("extent", &extent).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::HostMemory;

    fn share(index: u32) -> Share {
        Share { index, count: 4, work_groups: 10 }
    }

    #[test]
    fn a_whole_buffer_is_the_same_for_every_chiplet() {
        let mut memory = HostMemory::default();
        memory.alloc::<u32>(100);
        let buf = memory.alloc::<u32>(50);
        let annotation = Annotation::whole(buf, AccessMode::Read);
        let whole = vec![annotation.words.clone()];
        assert_eq!(whole[0].len(), 50);
        assert!((0..4).all(|index| annotation.words_of(share(index)) == whole));
    }

    #[test]
    fn parts_follow_the_work_groups_and_end_with_the_buffer() {
        let mut memory = HostMemory::default();
        let buf = memory.alloc::<u32>(1000);
        let len = buf.len();
        let mode = AccessMode::ReadWrite;
        let annotation = Annotation::parts(buf, mode, move |share| vec![share.elements(128, len)]);
        let words: Vec<_> = (0..4).flat_map(|index| annotation.words_of(share(index))).collect();
        assert_eq!(words, [0..384, 384..640, 640..1000]);
    }
}
