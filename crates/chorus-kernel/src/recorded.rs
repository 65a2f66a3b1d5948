//! Recorded annotations: kernels declare the data that each chiplet touches in a run on flat memory.
//!
//! This goes beyond the CPElide paper, which asks programmers or compilers and names record and replay as a possibility
//! (section III-B). The words of a buffer that a chiplet writes are declared with [`AccessMode::ReadWrite`], and the
//! words that it only reads with [`AccessMode::Read`]. Words are joined across gaps of up to a page, since caches do
//! not tell such neighbours apart for long, and then to as many ranges as an entry of the table can hold. Data that a
//! kernel touches atomically is declared as a whole, since the order of atomics differs from run to run. So is data of
//! which one chiplet reads or writes words that another one writes.

use std::ops::Range;

use crate::annotation::{AccessMode, Annotation};
use crate::flat::{self, Watcher};
use crate::kernel::{Kernel, Mismatch, Program, Verdict};
use crate::lanes::LANES;
use crate::memory::HostMemory;
use crate::memory_op::{MemoryOp, MemoryOpKind};
use crate::partition::part_of;
use crate::word_set::{BITS, WordSet, at_most};

/// The longest gap that is filled, in words: a page of 4 KB.
const GAP_WORDS: usize = 1024;

/// The most ranges of a buffer in one chiplet. An entry of the table has 28 bytes of ranges (CPElide paper, section
/// III-A), which are three times two addresses of 4 bytes.
const RANGES_MAX: usize = 3;

/// The data that the launches of a program touch.
#[derive(Debug)]
pub struct Recording {
    launches: Vec<RecordedLaunch>,
}

#[derive(Debug)]
struct RecordedLaunch {
    kernel: String,
    work_groups: u32,
    touched: Vec<Touched>,
}

/// Words of a buffer that are accessed in one mode.
#[derive(Clone, Debug)]
struct Touched {
    buffer: Range<usize>,
    mode: AccessMode,
    by_chiplet: Vec<Vec<Range<usize>>>,
}

impl Recording {
    /// Runs a program, whose data is in `memory`, as on `gpus` GPUs with `chiplets` chiplets in all. Fails where the
    /// program does not end, or where its result is wrong even on flat memory.
    pub fn of(program: &mut dyn Program, memory: &HostMemory, gpus: u32, chiplets: u32) -> Result<Recording, Mismatch> {
        let mut recorder = Recorder::new(memory, chiplets);
        flat::run_watched(gpus, program, memory, &mut recorder)?;
        Ok(Recording { launches: recorder.launches })
    }

    /// Replaces the annotations of a launch's kernel by the recorded ones. A launch that the recording does not have
    /// declares nothing. The recording lacks a launch if another run took another course.
    pub fn annotate(&self, launch: usize, kernel: &mut Kernel) {
        let same = |launch: &&RecordedLaunch| launch.kernel == kernel.name && launch.work_groups == kernel.work_groups;
        let touched = self.launches.get(launch).filter(same).map_or(&[][..], |launch| &launch.touched);
        let declare = |touched: &Touched| {
            let Touched { buffer, mode, by_chiplet } = touched.clone();
            Annotation::recorded(buffer, mode, by_chiplet)
        };
        kernel.annotations = touched.iter().map(declare).collect();
    }
}

/// Notes what a launch touches.
struct Recorder {
    buffers: Vec<Seen>,
    /// Words that each chiplet reads, and that it writes.
    by_chiplet: Vec<[WordSet; 2]>,
    /// The buffer of the last access.
    last: usize,
    launches: Vec<RecordedLaunch>,
}

/// The accesses to a buffer that were seen.
struct Seen {
    words: Range<usize>,
    touched: bool,
    atomic: bool,
}

const READ: usize = 0;
const WRITTEN: usize = 1;

impl Recorder {
    fn new(memory: &HostMemory, chiplets: u32) -> Recorder {
        let words = memory.word_count();
        let seen = |words: &Range<usize>| Seen { words: words.clone(), touched: false, atomic: false };
        Recorder {
            buffers: memory.buffers().iter().map(seen).collect(),
            by_chiplet: (0..chiplets).map(|_| [WordSet::new(words), WordSet::new(words)]).collect(),
            last: 0,
            launches: Vec::new(),
        }
    }

    fn note(&mut self, chiplet: u32, words: Range<usize>, kind: MemoryOpKind) {
        if !self.buffers[self.last].words.contains(&words.start) {
            self.last = self.buffers.partition_point(|seen| seen.words.end <= words.start);
        }
        let seen = &mut self.buffers[self.last];
        seen.touched = true;
        seen.atomic |= matches!(kind, MemoryOpKind::Atomic(_));
        let which = if kind == MemoryOpKind::Load { READ } else { WRITTEN };
        self.by_chiplet[chiplet as usize][which].insert(words);
    }

    /// Whether a chiplet touches a word of a buffer that another one writes.
    fn races(&self, seen: &Seen) -> bool {
        seen.touched
            && seen.words.clone().step_by(BITS).any(|first| {
                let (mut touched, mut written) = (0, 0);
                self.by_chiplet.iter().any(|sets| {
                    let [reads, writes] = [READ, WRITTEN].map(|which| sets[which].block(first));
                    let races = writes & touched != 0 || reads & written != 0;
                    touched |= reads | writes;
                    written |= writes;
                    races
                })
            })
    }

    /// Takes the accesses to a buffer that were seen. The buffer counts as untouched afterwards.
    fn take(&mut self, buffer: usize, races: bool) -> Vec<Touched> {
        let Seen { words, touched, atomic } = &mut self.buffers[buffer];
        if !std::mem::take(touched) {
            return Vec::new();
        }
        let (words, atomic) = (words.clone(), std::mem::take(atomic));
        let mut written = Vec::new();
        let mut read = Vec::new();
        for sets in &mut self.by_chiplet {
            let writes = at_most(RANGES_MAX, sets[WRITTEN].ranges(words.clone(), GAP_WORDS));
            writes.iter().for_each(|range| sets[READ].remove(range.clone()));
            read.push(at_most(RANGES_MAX, sets[READ].ranges(words.clone(), GAP_WORDS)));
            written.push(writes);
            sets.iter_mut().for_each(|set| set.remove(words.clone()));
        }
        if atomic || races {
            let by_chiplet = vec![vec![words.clone()]; self.by_chiplet.len()];
            let writes = atomic || written.iter().any(|ranges| !ranges.is_empty());
            let mode = if writes { AccessMode::ReadWrite } else { AccessMode::Read };
            return vec![Touched { buffer: words, mode, by_chiplet }];
        }
        let modes = [(AccessMode::ReadWrite, written), (AccessMode::Read, read)];
        let used = modes.into_iter().filter(|(_, by_chiplet)| by_chiplet.iter().any(|ranges| !ranges.is_empty()));
        used.map(|(mode, by_chiplet)| Touched { buffer: words.clone(), mode, by_chiplet }).collect()
    }
}

impl Watcher for Recorder {
    fn access(&mut self, work_group: u32, kernel: &Kernel, op: &MemoryOp) {
        let chiplet = part_of(work_group, kernel.work_groups, self.by_chiplet.len() as u32);
        if let Some(first) = op.row() {
            return self.note(chiplet, first as usize..first as usize + LANES, op.kind);
        }
        for words in op.mask.iter().map(|lane| op.words_of(lane)) {
            self.note(chiplet, words.start as usize..words.end as usize, op.kind);
        }
    }

    fn ended(&mut self, kernel: &Kernel) {
        let races = self.buffers.iter().any(|seen| self.races(seen));
        let touched = (0..self.buffers.len()).flat_map(|buffer| self.take(buffer, races)).collect();
        self.launches.push(RecordedLaunch { kernel: kernel.name.clone(), work_groups: kernel.work_groups, touched });
    }
}

/// A program with other annotations than its own.
pub struct Annotated {
    program: Box<dyn Program>,
    recording: Option<Recording>,
    launched: usize,
}

impl Annotated {
    /// Kernels declare what was recorded.
    pub fn recorded(program: Box<dyn Program>, recording: Recording) -> Annotated {
        Annotated { program, recording: Some(recording), launched: 0 }
    }

    /// Kernels declare nothing, and so may touch anything.
    pub fn nothing(program: Box<dyn Program>) -> Annotated {
        Annotated { program, recording: None, launched: 0 }
    }
}

impl Program for Annotated {
    fn next_kernel(&mut self, memory: &HostMemory) -> Option<Kernel> {
        let mut kernel = self.program.next_kernel(memory)?;
        match &self.recording {
            Some(recording) => recording.annotate(self.launched, &mut kernel),
            None => kernel.annotations.clear(),
        }
        self.launched += 1;
        Some(kernel)
    }

    fn kernels(&self) -> Option<usize> {
        self.program.kernels()
    }

    fn check(&self, memory: &HostMemory) -> Verdict {
        self.program.check(memory)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use chorus_protocol::access::AtomicOp;

    use super::*;
    use crate::{Lanes, Mask, Share};

    /// Launches whose results do not matter.
    struct Launches(VecDeque<Kernel>);

    impl Program for Launches {
        fn next_kernel(&mut self, _: &HostMemory) -> Option<Kernel> {
            self.0.pop_front()
        }

        fn check(&self, _: &HostMemory) -> Verdict {
            Verdict::Unchecked
        }
    }

    fn one(words: Range<usize>) -> Vec<Range<usize>> {
        vec![words]
    }

    /// The annotations of the kernel that are recorded on two chiplets: words, mode, and parts.
    type Said = Vec<(Range<usize>, AccessMode, [Vec<Range<usize>>; 2])>;

    fn said(kernel: &Kernel) -> Said {
        let share = |index| Share { index, count: 2, work_groups: kernel.work_groups };
        let parts = |annotation: &Annotation| [0, 1].map(|index| annotation.words_of(share(index)));
        let annotations = kernel.annotations.iter();
        annotations.map(|annotation| (annotation.words.clone(), annotation.mode, parts(annotation))).collect()
    }

    fn recorded(make: impl Fn() -> Kernel, memory: &HostMemory) -> Said {
        let recording = Recording::of(&mut Launches([make()].into()), memory, 1, 2).unwrap();
        let mut kernel = make();
        recording.annotate(0, &mut kernel);
        said(&kernel)
    }

    #[test]
    fn what_is_written_and_what_is_only_read_besides_are_told_apart() {
        let mut memory = HostMemory::default();
        let x = memory.alloc::<u32>(4096);
        let shift = move || {
            Kernel::new("shift", 2, 1, move |w| async move {
                let own = Lanes::splat(w.work_group() * 2048) + w.local_ids();
                let below = w.load(x, own + 1500).await;
                let first = w.load(x, own).await;
                w.store(x, own, below + first);
            })
        };
        let (write, read) = ([one(0..32), one(2048..2080)], [one(1500..1532), one(3548..3580)]);
        let expected = vec![(0..4096, AccessMode::ReadWrite, write), (0..4096, AccessMode::Read, read)];
        assert_eq!(recorded(shift, &memory), expected);
    }

    #[test]
    fn neighbours_are_joined_across_a_page_and_to_three_ranges_at_most() {
        let mut memory = HostMemory::default();
        let x = memory.alloc::<u32>(64 * 1024);
        let strided = move || {
            Kernel::new("strided", 1, 1, move |w| async move {
                for place in [0, 1000, 4000, 8000, 10_500, 40_000] {
                    w.load(x, w.local_ids() + place).await;
                }
            })
        };
        let parts = [vec![0..4032, 8000..10_532, 40_000..40_032], vec![]];
        assert_eq!(recorded(strided, &memory), [(0..65_536, AccessMode::Read, parts)]);
    }

    #[test]
    fn what_is_touched_atomically_may_be_touched_anywhere() {
        let mut memory = HostMemory::default();
        let bins = memory.alloc::<u32>(128);
        let count = move || {
            Kernel::new("count", 2, 1, move |w| async move {
                w.atomic_where(AtomicOp::Add, Mask::ALL, bins, w.global_ids(), Lanes::splat(1)).await;
            })
        };
        let whole = vec![(0..128, AccessMode::ReadWrite, [one(0..128), one(0..128)])];
        assert_eq!(recorded(count, &memory), whole);
    }

    #[test]
    fn where_chiplets_race_all_may_be_touched_anywhere() {
        let mut memory = HostMemory::default();
        let [flags, values] = [(); 2].map(|()| memory.alloc::<u32>(128));
        let spread = move || {
            Kernel::new("spread", 2, 1, move |w| async move {
                w.store(flags, w.global_ids(), w.lane_ids());
                let beside = w.load(flags, w.global_ids() + 32).await;
                w.load_where(beside.below(32), values, w.global_ids()).await;
            })
        };
        let whole = |words: Range<usize>, mode| (words.clone(), mode, [one(words.clone()), one(words)]);
        let expected = vec![whole(0..128, AccessMode::ReadWrite), whole(128..256, AccessMode::Read)];
        assert_eq!(recorded(spread, &memory), expected);
    }

    #[test]
    fn a_launch_that_was_not_recorded_declares_nothing() {
        let mut memory = HostMemory::default();
        let x = memory.alloc::<u32>(64);
        let kernel = move |name: &str, work_groups| {
            Kernel::new(name, work_groups, 1, move |w| async move {
                w.store(x, w.local_ids(), w.local_ids());
            })
            .access(x, AccessMode::Read)
        };
        let recording = Recording::of(&mut Launches([kernel("fill", 2)].into()), &memory, 1, 2).unwrap();
        for (launch, mut other) in [(1, kernel("fill", 2)), (0, kernel("empty", 2)), (0, kernel("fill", 3))] {
            recording.annotate(launch, &mut other);
            assert_eq!(said(&other), []);
        }
        let both = Launches([kernel("fill", 2), kernel("fill", 2)].into());
        let mut program = Annotated::recorded(Box::new(both), recording);
        let declared = |kernel: Option<Kernel>| kernel.map(|kernel| kernel.annotations.len());
        assert_eq!(declared(program.next_kernel(&memory)), Some(1));
        assert_eq!(declared(program.next_kernel(&memory)), Some(0));
        let mut program = Annotated::nothing(Box::new(Launches([kernel("fill", 2)].into())));
        assert_eq!(declared(program.next_kernel(&memory)), Some(0));
    }

    #[test]
    fn nothing_is_known_of_another_number_of_chiplets() {
        let mut memory = HostMemory::default();
        let x = memory.alloc::<u32>(64);
        let mut kernel = Kernel::new("fill", 2, 1, move |w| async move { w.store(x, w.global_ids(), w.local_ids()) });
        let again = Kernel::new("fill", 2, 1, move |w| async move { w.store(x, w.global_ids(), w.local_ids()) });
        Recording::of(&mut Launches([again].into()), &memory, 1, 2).unwrap().annotate(0, &mut kernel);
        assert!(kernel.annotations[0].is_recorded());
        assert_eq!(kernel.annotations[0].words_of(Share { index: 0, count: 2, work_groups: 2 }), one(0..32));
        assert_eq!(kernel.annotations[0].words_of(Share { index: 0, count: 4, work_groups: 2 }), one(0..64));
    }
}
