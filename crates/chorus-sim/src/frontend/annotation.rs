//! What a kernel says of the buffers that it accesses (CPElide paper, section III-B, Listings 1 and 2).
//!
//! A command processor that knows which chiplet reads and writes what can leave out synchronisation that nobody needs. It knows only what
//! it is told: a buffer that is read is named with [`AccessMode::Read`], one that may be written with [`AccessMode::ReadWrite`], as a whole
//! or with the elements that each chiplet touches. A kernel that names nothing may touch anything.

use std::fmt;
use std::ops::Range;

use super::memory::Buf;
use super::partition::groups_of;

/// How a kernel accesses a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AccessMode {
    /// It only reads.
    Read,
    /// It may write.
    ReadWrite,
}

/// The part of a launch that one chiplet runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Which of the chiplets that share the launch.
    pub index: u32,
    /// How many share it.
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

type Parts = dyn Fn(Share) -> Vec<Range<usize>>;

/// What a kernel says of one buffer.
pub struct Annotation {
    /// The words of the buffer.
    pub words: Range<usize>,
    /// How it is accessed.
    pub mode: AccessMode,
    /// The elements that a chiplet touches; all where nothing is given.
    parts: Option<Box<Parts>>,
}

impl Annotation {
    /// All of a buffer (`hipSetAccessMode`).
    pub fn whole<T>(buf: Buf<T>, mode: AccessMode) -> Annotation {
        let start = buf.start() as usize;
        Annotation { words: start..start + buf.len(), mode, parts: None }
    }

    /// The elements that `parts` names for each chiplet (`hipSetAccessModeRange`).
    pub fn parts<T>(buf: Buf<T>, mode: AccessMode, parts: impl Fn(Share) -> Vec<Range<usize>> + 'static) -> Annotation {
        Annotation { parts: Some(Box::new(parts)), ..Annotation::whole(buf, mode) }
    }

    /// The words that a chiplet may touch, as ranges that are neither empty nor beyond the buffer.
    pub fn words_of(&self, share: Share) -> Vec<Range<usize>> {
        let Some(parts) = &self.parts else { return vec![self.words.clone()] };
        let within = |part: Range<usize>| {
            let at = |element: usize| (self.words.start + element).min(self.words.end);
            at(part.start)..at(part.end)
        };
        parts(share).into_iter().map(within).filter(|words| !words.is_empty()).collect()
    }
}

impl fmt::Debug for Annotation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Annotation { words, mode, parts } = self;
        f.debug_struct("Annotation").field("words", words).field("mode", mode).field("whole", &parts.is_none()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frontend::HostMemory;

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
