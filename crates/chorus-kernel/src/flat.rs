//! A machine without caches or time: every operation takes effect on flat memory the moment it is issued.
//!
//! It computes the results of kernels without any protocol, so that a kernel's mistakes and a protocol's are told
//! apart.

use std::ops::Range;

use chorus_protocol::line::bits_of_bytes;

use crate::annotation_checker::AnnotationChecker;
use crate::kernel::{Kernel, Mismatch, Program, WaveId};
use crate::local_data::LocalData;
use crate::memory::HostMemory;
use crate::memory_op::{MemoryOp, MemoryOpKind, WORDS_MAX};
use crate::partition::part_of;
use crate::read_only::ReadOnlyWritten;
use crate::wave_state::{Operation, SpareStates, Surroundings, WaveMachine, WaveTask};

/// Rounds in which every wavefront issues one operation, after which a kernel counts as livelocked.
const ROUNDS_MAX: u64 = 50_000_000;

/// Rounds and operations in which no memory changes and no wavefront ends, after which a kernel counts as livelocked if
/// it has had both. The rounds let many wavefronts read or compute for long, and the operations a few of them.
const IDLE_ROUNDS_MAX: u64 = 500_000;
const IDLE_OPERATIONS_MAX: u64 = 50_000_000;

struct FlatWave {
    task: WaveTask,
    /// Its work-group; none for a CPU thread.
    group: Option<usize>,
    /// The wavefronts of its work-group, itself among them.
    siblings: Range<usize>,
    finished: bool,
    at_barrier: bool,
    /// Operations that it has issued.
    issued: u64,
}

/// Runs a whole program and checks its result.
pub fn run(program: &mut dyn Program, memory: &HostMemory) -> Result<(), Mismatch> {
    run_on(1, program, memory)
}

/// Runs a program like [`run`], with work-groups told that they run on one of `gpus` GPUs.
pub fn run_on(gpus: u32, program: &mut dyn Program, memory: &HostMemory) -> Result<(), Mismatch> {
    while let Some(kernel) = program.next_kernel(memory) {
        run_waves(&kernel, start_all(&kernel, gpus), memory, &mut |_, _, _| Ok(()))?;
    }
    program.check(memory).not_wrong()
}

/// An observer of a program's run.
pub(crate) trait Watcher {
    /// Sees what a work-group is about to do.
    fn access(&mut self, work_group: u32, kernel: &Kernel, op: &MemoryOp);

    /// A kernel has ended.
    fn ended(&mut self, kernel: &Kernel);
}

/// Runs a program like [`run_on`], with an observer.
pub(crate) fn run_watched(
    gpus: u32,
    program: &mut dyn Program,
    memory: &HostMemory,
    watcher: &mut impl Watcher,
) -> Result<(), Mismatch> {
    while let Some(kernel) = program.next_kernel(memory) {
        let mut watch = |group: usize, op: &MemoryOp, _: &HostMemory| {
            watcher.access(group as u32, &kernel, op);
            Ok(())
        };
        run_waves(&kernel, start_all(&kernel, gpus), memory, &mut watch)?;
        watcher.ended(&kernel);
    }
    program.check(memory).not_wrong()
}

/// Runs a program like [`run`] and checks the accesses of kernels against their annotations, for each of these numbers
/// of chiplets.
pub fn run_declared(chiplets: &[u32], program: &mut dyn Program, memory: &HostMemory) -> Result<(), Mismatch> {
    while let Some(kernel) = program.next_kernel(memory) {
        let declared: Vec<AnnotationChecker> =
            chiplets.iter().filter_map(|&count| AnnotationChecker::of(&kernel, count)).collect();
        let mut compare = |group: usize, op: &MemoryOp, memory: &HostMemory| {
            let checks = declared.iter().map(|declared| declared.check(group as u32, op, memory));
            checks.collect::<Result<(), _>>().map_err(|undeclared| Mismatch(undeclared.to_string()))
        };
        run_waves(&kernel, start_all(&kernel, 1), memory, &mut compare)?;
    }
    program.check(memory).not_wrong()
}

/// Runs one kernel on one GPU, all wavefronts in turn, one operation each.
pub fn run_kernel(kernel: &Kernel, memory: &HostMemory) -> Result<(), Mismatch> {
    run_waves(kernel, start_all(kernel, 1), memory, &mut |_, _, _| Ok(()))
}

/// Sees what a work-group is about to do.
type Observer<'o> = dyn FnMut(usize, &MemoryOp, &HostMemory) -> Result<(), Mismatch> + 'o;

fn run_waves(
    kernel: &Kernel,
    mut waves: Vec<FlatWave>,
    memory: &HostMemory,
    observer: &mut Observer<'_>,
) -> Result<(), Mismatch> {
    let (mut idle_rounds, mut idle_operations) = (0, 0);
    for _ in 0..ROUNDS_MAX {
        if waves.iter().all(|wave| wave.finished) {
            return Ok(());
        }
        (idle_rounds, idle_operations) = (idle_rounds + 1, idle_operations + waves.len() as u64);
        for index in 0..waves.len() {
            if issue_one(kernel, &mut waves, index, memory, observer)? {
                (idle_rounds, idle_operations) = (0, 0);
            }
        }
        if idle_rounds > IDLE_ROUNDS_MAX && idle_operations > IDLE_OPERATIONS_MAX {
            break;
        }
    }
    let place = waves.iter().find(|wave| !wave.finished).and_then(|wave| wave.task.place());
    let at = place.map_or_else(String::new, |place| format!("; one of its wavefronts is at {place}"));
    Err(Mismatch(format!("kernel {} makes no progress on flat memory{at}", kernel.name)))
}

fn start_all(kernel: &Kernel, gpus: u32) -> Vec<FlatWave> {
    let mut waves = Vec::new();
    let (spare, machine) = (&mut SpareStates::default(), WaveMachine::without_time());
    for work_group in 0..kernel.work_groups {
        let lds = LocalData::of(kernel);
        let siblings = waves.len()..waves.len() + kernel.waves_per_group as usize;
        for wave in 0..kernel.waves_per_group {
            let (waves_per_group, work_groups) = (kernel.waves_per_group, kernel.work_groups);
            let gpu = part_of(work_group, work_groups, gpus);
            let id = WaveId { work_group, wave, waves_per_group, work_groups, gpu, gpus };
            let task = WaveTask::start(kernel, id, lds.clone(), &machine, spare);
            let (group, siblings) = (Some(work_group as usize), siblings.clone());
            waves.push(FlatWave { task, group, siblings, finished: false, at_barrier: false, issued: 0 });
        }
    }
    for thread in 0..kernel.cpu_threads() {
        let (task, _) = WaveTask::start_cpu(kernel, thread, &machine, spare);
        let siblings = waves.len()..waves.len() + 1;
        waves.push(FlatWave { task, group: None, siblings, finished: false, at_barrier: false, issued: 0 });
    }
    waves
}

/// Issues the next operation of a wavefront. Returns whether memory has changed or the wavefront has ended.
fn issue_one(
    kernel: &Kernel,
    waves: &mut [FlatWave],
    index: usize,
    memory: &HostMemory,
    observer: &mut Observer<'_>,
) -> Result<bool, Mismatch> {
    let wave = &mut waves[index];
    if wave.finished || wave.at_barrier {
        return Ok(false);
    }
    let front = wave.task.state().borrow().front();
    let Some(operation) = front else {
        wave.finished = wave.task.poll() && wave.task.state().borrow().front().is_none();
        return Ok(wave.finished);
    };
    let mut changed = false;
    let mut state = wave.task.state().borrow_mut();
    state.pop();
    wave.issued += match operation {
        Operation::Alu(count) | Operation::Lds(count) => u64::from(count),
        _ => 1,
    };
    match operation {
        Operation::Alu(_) | Operation::Lds(_) | Operation::Chain { .. } | Operation::Banks(_) => {}
        Operation::Look => {
            let surroundings = Surroundings { cycle: wave.issued, nanoseconds: wave.issued, unit: 0, units: 1 };
            state.see(surroundings);
        }
        Operation::Memory(slot) => {
            let op = state.memory_op_mut(slot);
            if let Some(group) = wave.group {
                observer(group, op, memory)?;
            }
            ReadOnlyWritten::check(kernel, op, memory).map_err(|written| Mismatch(written.to_string()))?;
            changed = perform(op, memory);
            state.complete_memory(slot);
        }
        Operation::Fence { .. } | Operation::BarrierFence => {
            state.pass();
        }
        Operation::Barrier => {
            drop(state);
            wave.at_barrier = true;
            let siblings = wave.siblings.clone();
            release_barrier(&mut waves[siblings]);
        }
    }
    Ok(changed)
}

/// Lets a work-group go on if all of it has arrived at its barrier.
fn release_barrier(group: &mut [FlatWave]) {
    if group.iter().all(|wave| wave.at_barrier || wave.finished) {
        for wave in group.iter_mut().filter(|wave| wave.at_barrier) {
            wave.at_barrier = false;
            wave.task.state().borrow_mut().pass();
        }
    }
}

/// Performs one memory instruction, lane by lane. Returns whether memory has changed.
fn perform(op: &mut MemoryOp, memory: &HostMemory) -> bool {
    let write = |word: usize, old: u32, new: u32| {
        memory.store(word, new);
        old != new
    };
    if !op.is_plain() {
        return op.mask.iter().fold(false, |changed, lane| changed | perform_words(op, lane, memory));
    }
    let mut changed = false;
    for lane in op.mask.iter() {
        let word = op.word(lane) as usize;
        let old = memory.load(word);
        match op.kind {
            MemoryOpKind::Load => op.data[lane] = old,
            MemoryOpKind::Store => changed |= write(word, old, op.data[lane]),
            MemoryOpKind::Atomic(atomic) => {
                changed |= write(word, old, atomic.apply(old, op.data[lane]));
                op.data[lane] = old;
            }
        }
    }
    changed
}

/// Performs the part of a lane in an instruction that may touch several words or parts of words. Returns whether memory
/// has changed.
fn perform_words(op: &mut MemoryOp, lane: usize, memory: &HostMemory) -> bool {
    let (first, count) = (op.word(lane) as usize, op.words_per_lane());
    let [mut old, mut new] = [[0; WORDS_MAX]; 2];
    for k in 0..count {
        (old[k], new[k]) = (memory.load(first + k), op.values(k)[lane]);
    }
    let (old, new) = (&old[..count], &mut new[..count]);
    match op.atomic_of(lane) {
        Some(atomic) => atomic.apply_all(old, new),
        None if op.kind == MemoryOpKind::Store => {
            let bits = bits_of_bytes(op.bytes(lane));
            new.iter_mut().zip(old).for_each(|(new, old)| *new = *new & bits | old & !bits);
        }
        None => new.copy_from_slice(old),
    }
    for k in 0..count {
        memory.store(first + k, new[k]);
        op.values_mut(k)[lane] = old[k];
    }
    *old != *new
}

#[cfg(test)]
mod tests {
    use chorus_protocol::access::{AtomicOp, Scope};

    use super::*;
    use crate::lanes::Lanes;
    use crate::{AccessMode, Buf, Share, Verdict};

    /// A kernel that copies `x` to `y`, and the memory with both.
    fn copy() -> (Kernel, HostMemory, [Buf<u32>; 2]) {
        let mut memory = HostMemory::default();
        let bufs = [(); 2].map(|()| memory.alloc::<u32>(64));
        let [x, y] = bufs;
        let kernel = Kernel::new("copy", 2, 1, move |w| async move {
            let ids = w.global_ids();
            let values = w.load(x, ids).await;
            w.store(y, ids, values);
        });
        (kernel, memory, bufs)
    }

    /// One launch whose result does not matter.
    struct Once(Option<Kernel>);

    impl Program for Once {
        fn next_kernel(&mut self, _: &HostMemory) -> Option<Kernel> {
            self.0.take()
        }

        fn check(&self, _: &HostMemory) -> Verdict {
            Verdict::Unchecked
        }
    }

    #[test]
    fn a_kernel_that_touches_what_it_does_not_declare_is_named_with_the_address() {
        let part = |share: Share| vec![share.elements(32, 64)];
        let run = |declare: &dyn Fn(Kernel, [Buf<u32>; 2]) -> Kernel| {
            let (kernel, memory, bufs) = copy();
            run_declared(&[1, 2], &mut Once(Some(declare(kernel, bufs))), &memory).map_err(|wrong| wrong.0)
        };
        let right = |kernel: Kernel, [x, y]: [Buf<u32>; 2]| {
            kernel.access_parts(x, AccessMode::Read, part).access_parts(y, AccessMode::ReadWrite, part)
        };
        assert_eq!(run(&right), Ok(()));
        assert_eq!(run(&|kernel, _| kernel), Ok(()), "it may touch anything");
        let first_half = |kernel: Kernel, [x, y]: [Buf<u32>; 2]| {
            let half = |_| vec![Share { index: 0, count: 2, work_groups: 2 }.elements(32, 64)];
            kernel.access_parts(x, AccessMode::Read, half).access(y, AccessMode::ReadWrite)
        };
        assert_eq!(
            run(&first_half).unwrap_err().lines().next(),
            Some(
                "kernel copy reads word 32 (address 0x80) of buffer 0 (words 0..64) in work-group 1 on chiplet 0 of 1, where \
                 it declares words 0..32 of that buffer to be read and nothing to be written"
            )
        );
        let only_read =
            |kernel: Kernel, [x, y]: [Buf<u32>; 2]| kernel.access(x, AccessMode::ReadWrite).access(y, AccessMode::Read);
        let wrong = run(&only_read).unwrap_err();
        assert!(wrong.starts_with("kernel copy writes word 64 (address 0x100) of buffer 1 (words 64..128)"), "{wrong}");
        assert!(wrong.contains("words 64..128 of that buffer to be read and nothing to be written\nhint: "), "{wrong}");
        assert!(wrong.ends_with("AccessMode::ReadWrite"), "{wrong}");
    }

    #[test]
    fn a_kernel_reads_computes_and_writes() {
        let mut memory = HostMemory::default();
        let x = memory.alloc_from(&(0..64).collect::<Vec<u32>>());
        let y = memory.alloc::<u32>(64);
        let kernel = Kernel::new("double", 2, 1, move |w| async move {
            let ids = w.global_ids();
            let values = w.load(x, ids).await;
            w.alu(1).await;
            w.store(y, ids, values * 2);
        });
        run_kernel(&kernel, &memory).unwrap();
        assert_eq!(memory.read(y), (0..64).map(|i| 2 * i).collect::<Vec<u32>>());
    }

    #[test]
    fn work_groups_can_hand_values_to_each_other() {
        let mut memory = HostMemory::default();
        let flag = memory.alloc::<u32>(1);
        let value = memory.alloc::<u32>(1);
        let seen = memory.alloc::<u32>(1);
        let kernel = Kernel::new("hand-over", 2, 1, move |w| async move {
            if w.work_group() == 1 {
                w.store_one(value, 0, 42);
                w.store_release(flag, 0, 1, Scope::Gpu).await;
            } else {
                while w.load_acquire(flag, 0, Scope::Gpu).await == 0 {
                    w.alu(1).await;
                }
                let got = w.load_one(value, 0).await;
                w.store_one(seen, 0, got);
            }
        });
        run_kernel(&kernel, &memory).unwrap();
        assert_eq!(memory.read(seen), [42]);
    }

    #[test]
    fn barriers_separate_local_data_accesses_and_atomics_count_every_lane() {
        let mut memory = HostMemory::default();
        let sum = memory.alloc::<u32>(1);
        let kernel = Kernel::new("reverse", 1, 2, move |w| async move {
            let ids = w.local_ids();
            w.lds_write(crate::Mask::ALL, ids, ids);
            w.barrier().await;
            let other: Lanes<u32> = w.lds_read(crate::Mask::ALL, Lanes::splat(63) - ids);
            let at = Lanes::splat(0);
            w.atomic_where(AtomicOp::Add, crate::Mask::ALL, sum, at, other).await;
        })
        .lds(256);
        run_kernel(&kernel, &memory).unwrap();
        assert_eq!(memory.read(sum), [63 * 64 / 2]);
    }
}
