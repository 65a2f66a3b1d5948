//! `tqh`: a histogram of frames that a CPU thread hands out through queues.
//!
//! Source: Spandex paper (Alsop, Sinclair and Adve, ISCA 2018), section IV-B and Table VII, `TQH` (80x133x176, 1 CPU
//! thread, 32 thread blocks); TQH of Chai (Gómez-Luna et al., ISPASS 2017). A task is a frame of a video. The CPU
//! thread goes round three queues. When all tasks of a queue have been taken, it fills the queue again from the pool of
//! tasks. Work-groups go round the same queues and pop. Three counters per queue arbitrate, as in the original: the
//! tasks ever written, the tasks ever taken, and the tasks that are there. A work-group counts the pixels of its frame
//! in local data and adds the 256 bins to the histogram in memory. When all frames have been taken, the CPU hands out
//! one task per work-group that tells it to stop.
//!
//! Sharing: every frame is read once, by one work-group. These reads are nearly all accesses. The CPU hands over two
//! words per task. The CPU and all work-groups share the counters. Only work-groups share the histogram: they add 16
//! adjacent bins per line to it with atomics (the paper: GPU cores use atomic accesses to update a histogram, with
//! hierarchical sharing in atomic variables).
//!
//! Order: the CPU's stores to the counters are releases; a work-group that has got a task by its atomic acquires before
//! it reads it; the CPU acquires the counter of tasks taken before it writes the queue again. The histogram's atomics
//! are relaxed.
//!
//! Left out, or different: the original has a histogram per frame and stores it. The paper's histogram is updated with
//! atomics, so all frames share it here. The CPU waits until all frames are taken before it hands out the tasks to
//! stop; in the original these could overtake the last frames.
//!
//! As in Chai, which repeats its measurements, the kernel runs again and again on the same frames, with queues and a
//! histogram of its own each time. It finds the frames where the last run left them.
//!
//! Arithmetic, per 32 pixels: 2 instructions for the bin's number, a product and a shift, and those that
//! `local_histogram.rs` states for an atomic on local data; for every four times 32 pixels an address and 3 for the
//! loop. Per frame and wavefront 4 to clear and 4 to add bins. A look at a queue takes 4 instructions, popping 6 more;
//! the CPU spends 4 on a look and 4 on a task. A work-group that has found no task in any queue pauses for 32.

use chorus_kernel::{Buf, Cpu, HostMemory, Kernel, LANES, Lanes, Mask, Wave, Word};
use chorus_protocol::access::{AtomicOp, Scope};

use crate::chai::local_histogram::vote;
use crate::generator::SplitMix64;
use crate::program::{HostProgram, Output};
use crate::registry::{Paper, Suite, Workload};
use crate::size::{SizeSpec, Sizes};

/// Work-groups of 64 work-items, as in the original.
const WAVES_PER_GROUP: u32 = 2;
const ITEMS_PER_GROUP: u32 = WAVES_PER_GROUP * LANES as u32;
const BINS: u32 = 256;
/// The local histogram, and the task of the work-group behind it.
const LDS_BYTES: u32 = (BINS + TASK_WORDS) * 4;

const QUEUES: u32 = 3;
/// Tasks that a queue holds.
const QUEUE_TASKS: u32 = 16;
/// Words of a task: the number of its frame, and the command `COUNT` or `STOP`.
const TASK_WORDS: u32 = 2;
const COUNT: u32 = 1;
const STOP: u32 = 2;

/// Pixels that a work-item loads before it counts the first of them, as compilers unroll such loops.
const UNROLLED: u32 = 4;
/// Instructions between two rounds of queues without a task.
const PAUSE: u32 = 32;

/// A histogram with task queues.
pub struct Tqh;

/// All frames take 7.5 MB. Each line of 64 bytes is read once in a launch: 0.12 million accesses. A frame begins at a
/// line of 64 bytes.
static SIZES: [SizeSpec; 5] = [
    SizeSpec::new("work_groups", "work-groups", [32, 32, 32], "Spandex Table VII (TQH)").range(1, 4096),
    SizeSpec::new("frames", "frames of the video", [80, 80, 80], "Spandex Table VII (TQH)").range(1, 512),
    SizeSpec::new("width", "columns of a frame", [133, 133, 133], "Spandex Table VII (TQH)").range(1, 1024),
    SizeSpec::new("height", "rows of a frame", [176, 176, 176], "Spandex Table VII (TQH)").range(1, 1024),
    SizeSpec::new(
        "launches",
        "launches of the kernel on the same frames",
        [4, 8, 64],
        "chosen: at most 2^19, 2^20 and 2^23 line accesses; Chai repeats its measurement",
    )
    .range(1, 1000),
];

/// The buffers of one launch, and the numbers of work-groups, of frames and of pixels.
#[derive(Clone, Copy)]
struct Data {
    work_groups: u32,
    frames: u32,
    frame_pixels: u32,
    pixels: Buf<u32>,
    pool: Buf<u32>,
    queues: Buf<u32>,
    /// Per queue: tasks that are there. Work-groups that come too late make the number negative.
    there: Buf<i32>,
    /// Per queue: tasks ever written.
    written: Buf<u32>,
    /// Per queue: tasks ever taken.
    taken: Buf<u32>,
    histogram: Buf<u32>,
}

/// The first word of a task of a queue.
fn slot(queue: u32, task: u32) -> u32 {
    (queue * QUEUE_TASKS + task) * TASK_WORDS
}

/// The CPU thread: fills queues with frames, and with tasks to stop when all frames have been taken.
async fn produce(cpu: Cpu, data: Data) {
    let mut written = [0; QUEUES as usize];
    let mut queue = 0;
    for tasks in [0..data.frames, data.frames..data.frames + data.work_groups] {
        let mut next = tasks.start;
        while next < tasks.end {
            let all = &mut written[queue as usize];
            if is_empty(&cpu, data, queue, *all).await {
                let count = QUEUE_TASKS.min(tasks.end - next);
                fill(&cpu, data, queue, next, count).await;
                *all += count;
                cpu.store_release(data.written, queue, *all).await;
                next += count;
            }
            queue = (queue + 1) % QUEUES;
        }
        for (queue, &all) in (0..).zip(&written) {
            while !is_empty(&cpu, data, queue, all).await {}
        }
    }
}

/// Whether all tasks of a queue have been taken.
async fn is_empty(cpu: &Cpu, data: Data, queue: u32, written: u32) -> bool {
    cpu.alu(4);
    let is_empty = cpu.load_relaxed(data.taken, queue).await == written;
    if is_empty {
        cpu.fence().await;
    } else {
        cpu.alu(PAUSE);
    }
    is_empty
}

/// Copies tasks from the pool to a queue and lets work-groups have them.
async fn fill(cpu: &Cpu, data: Data, queue: u32, first: u32, count: u32) {
    for task in 0..count {
        cpu.alu(4);
        let [frame, what]: [u32; 2] = cpu.load_vec(data.pool, (first + task) * TASK_WORDS).await;
        cpu.store(data.queues, slot(queue, task), frame);
        cpu.store(data.queues, slot(queue, task) + 1, what);
    }
    cpu.store_release(data.there, queue, count as i32).await;
}

/// Takes a task from any queue. The search begins at `queue` and sets it to the queue where the next search begins.
async fn pop(w: &Wave, data: Data, queue: &mut u32) -> [u32; TASK_WORDS as usize] {
    let mut looks = 0;
    loop {
        looks += 1;
        w.alu(4).await;
        let open = look(w, data.taken, *queue).await != look(w, data.written, *queue).await;
        if open && look(w, data.there, *queue).await > 0 {
            let task = add(w, data.there, *queue, -1).await - 1;
            w.alu(6).await;
            if task >= 0 {
                w.fence(Scope::System).await;
                let words = Mask::first(TASK_WORDS as usize);
                let popped = w.load_where(words, data.queues, w.lane_ids() + slot(*queue, task as u32)).await;
                if add(w, data.taken, *queue, 1).await + 1 == look(w, data.written, *queue).await {
                    *queue = (*queue + 1) % QUEUES;
                }
                return [popped[0], popped[1]];
            }
        }
        *queue = (*queue + 1) % QUEUES;
        if looks % QUEUES == 0 {
            w.alu(PAUSE).await;
        }
    }
}

/// Reads a counter as the whole system sees it.
async fn look<T: Word>(w: &Wave, counters: Buf<T>, queue: u32) -> T {
    w.load_relaxed(Scope::System, Mask::lane(0), counters, Lanes::splat(queue)).await[0]
}

/// Adds to a counter and returns its old value.
async fn add<T: Word>(w: &Wave, counters: Buf<T>, queue: u32, value: T) -> T {
    let (one, at) = (Mask::lane(0), Lanes::splat(queue));
    w.atomic_in(Scope::System, AtomicOp::Add, one, counters, at, Lanes::splat(value)).await[0]
}

/// A work-group: takes tasks until one tells it to stop.
async fn work(w: Wave, data: Data) {
    let words = Mask::first(TASK_WORDS as usize);
    let task_place = w.lane_ids() + BINS;
    let own_bins = || (0..BINS / ITEMS_PER_GROUP).map(|strip| w.local_ids() + strip * ITEMS_PER_GROUP);
    let mut queue = 0;
    loop {
        if w.id().wave == 0 {
            let task = pop(&w, data, &mut queue).await;
            w.lds_write(words, task_place, Lanes::from_fn(|lane| task[lane % task.len()]));
        }
        w.barrier().await;
        let task: Lanes<u32> = w.lds_read(words, task_place);
        if task[1] != COUNT {
            return;
        }
        w.alu(4).await;
        own_bins().for_each(|bins| w.lds_write(Mask::ALL, bins, Lanes::splat(0_u32)));
        w.barrier().await;
        count_pixels(&w, data, task[0]).await;
        w.barrier().await;
        w.alu(4).await;
        for bins in own_bins() {
            let counts: Lanes<u32> = w.lds_read(Mask::ALL, bins);
            w.atomic_in(Scope::System, AtomicOp::Add, Mask::ALL, data.histogram, bins, counts).await;
        }
    }
}

/// Counts a wavefront's pixels of a frame in the local histogram.
async fn count_pixels(w: &Wave, data: Data, frame: u32) {
    let start = frame * data.frame_pixels;
    let first = w.id().wave * LANES as u32;
    for first in (first..data.frame_pixels).step_by((UNROLLED * ITEMS_PER_GROUP) as usize) {
        let pixels: [Lanes<u32>; UNROLLED as usize] =
            std::array::from_fn(|part| w.lane_ids() + first + part as u32 * ITEMS_PER_GROUP);
        let inside = pixels.map(|pixels| pixels.below(data.frame_pixels));
        w.alu(4).await;
        let loads: [_; UNROLLED as usize] =
            std::array::from_fn(|part| w.load_where(inside[part], data.pixels, pixels[part] + start));
        let loaded = w.join_all(loads).await;
        for (inside, values) in inside.into_iter().zip(loaded).filter(|(inside, _)| inside.any()) {
            w.alu(2).await;
            vote(w, inside, values.map(bin)).await;
        }
    }
}

/// The bin of a pixel of 8 bits.
fn bin(pixel: u32) -> u32 {
    (pixel * BINS) >> 8
}

impl Workload for Tqh {
    fn name(&self) -> &'static str {
        "tqh"
    }

    fn title(&self) -> &'static str {
        "Histogram with task queues"
    }

    fn summary(&self) -> &'static str {
        "A CPU thread hands frames out through queues, and work-groups count their pixels in one histogram."
    }

    fn suite(&self) -> Suite {
        Suite::Chai
    }

    fn papers(&self) -> &'static [Paper] {
        &[Paper::Spandex]
    }

    fn source(&self) -> &'static str {
        "Alsop, Sinclair and Adve, Spandex, ISCA 2018, section IV-B, Table VII (TQH); \
         Chai TQH (Gómez-Luna et al., ISPASS 2017)"
    }

    fn communicates(&self) -> bool {
        true
    }

    fn sizes(&self) -> &'static [SizeSpec] {
        &SIZES
    }

    fn build(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
        let (work_groups, frames) = (sizes.get("work_groups"), sizes.get("frames"));
        let frame_pixels = sizes.get("width") * sizes.get("height");
        let mut generator = SplitMix64::new(seed);
        // The mean of two numbers, since the pixels of a picture are seldom quite black or white.
        let pixels: Vec<u32> =
            (0..frames * frame_pixels).map(|_| (generator.below(256) + generator.below(256)) / 2).collect();
        let tasks: Vec<u32> = (0..frames).flat_map(|frame| [frame, COUNT]).collect();
        let pool: Vec<u32> = tasks.into_iter().chain((0..work_groups).flat_map(|_| [0, STOP])).collect();
        let (pixel_words, pool) = (memory.alloc_from(&pixels), memory.alloc_from(&pool));
        memory.declare_read_only(pixel_words);
        memory.declare_read_only(pool);
        let mut histogram = vec![0; BINS as usize];
        pixels.iter().for_each(|&pixel| histogram[bin(pixel) as usize] += 1);
        let (mut kernels, mut outputs) = (Vec::new(), Vec::new());
        for _ in 0..sizes.get("launches") {
            let data = Data {
                work_groups,
                frames,
                frame_pixels,
                pixels: pixel_words,
                pool,
                queues: memory.alloc((QUEUES * QUEUE_TASKS * TASK_WORDS) as usize),
                there: memory.alloc(QUEUES as usize),
                written: memory.alloc(QUEUES as usize),
                taken: memory.alloc(QUEUES as usize),
                histogram: memory.alloc(BINS as usize),
            };
            kernels.push(
                Kernel::new("TQHistogram_gpu", work_groups, WAVES_PER_GROUP, move |w| work(w, data))
                    .with_cpu(1, move |cpu| produce(cpu, data))
                    .lds(LDS_BYTES),
            );
            outputs.push(Output::new("histogram", data.histogram, &histogram));
        }
        HostProgram::new(kernels, outputs)
    }
}

#[cfg(test)]
mod tests {
    use chorus_kernel::flat;
    use chorus_system::Scale;

    use super::*;

    #[test]
    fn every_task_is_taken_once_and_every_work_group_stopped() {
        let mut memory = HostMemory::default();
        let mut program = Tqh.build(&Tqh.sizes_at(Scale::Quick), 1, &mut memory);
        assert_eq!(flat::run(&mut program, &memory), Ok(()));
        let counters = |from_end: usize| {
            let buffers = memory.buffers();
            let start = buffers[buffers.len() - from_end].start;
            memory.words(start..start + QUEUES as usize).iter().sum::<u32>()
        };
        let (taken, written) = (counters(2), counters(3));
        assert_eq!((taken, written), (80 + 32, 80 + 32));
    }

    #[test]
    fn a_frame_begins_at_a_line_of_64_bytes() {
        for scale in Scale::ALL {
            let sizes = Tqh.sizes_at(scale);
            assert_eq!(sizes.get("width") * sizes.get("height") % 16, 0, "{scale}");
        }
    }
}
