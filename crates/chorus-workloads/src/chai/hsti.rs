//! `hsti`: the histogram of an image, whose pieces CPU threads and work-groups take from one queue.
//!
//! Source: Spandex paper (Alsop, Sinclair, Adve, ISCA 2018), section IV-B2 and Table VII: HSTI of Chai (Gómez-Luna et
//! al., ISPASS 2017), with dynamic partitioning, 1,572,864 pixels, 4 CPU threads and 16 thread blocks of 256
//! work-items. As in Chai, a task is 256 pixels and the histogram has 256 bins; a work-group counts in local data and a
//! CPU thread in an array of its own; at the end each adds its counts to the common histogram with atomics, bin after
//! bin.
//!
//! Sharing: the queue is one word. Everybody adds to it, once per 256 pixels. At the end everybody adds to the bins, 16
//! to a line, in order; the paper calls this high spatial locality of atomics. Each pixel is read once per launch, by
//! the thread or work-group that took its task. Chai repeats the measurement on the same image, and so does this
//! program: each launch has its own queue and histogram, and finds the image where the last launch left it.
//!
//! Taking a task is an acquire and a release, adding to a bin is neither.
//!
//! Chai's photograph (12 bits per pixel) is not distributed here: the image is drawn from random brightness at the
//! corners of cells of 32 x 32 pixels, smooth between them, with noise on top, so that neighbours resemble each other
//! as in a photograph.
//!
//! Arithmetic, per pixel on a CPU and per 32 pixels on the GPU: 2 instructions for the bin, 2 for address and loop, and
//! 1 to count. The lanes that vote for the same bin in local data go one after the other, for 1 more instruction each.

use chorus_kernel::{Buf, Cpu, HostMemory, Kernel, Lanes, Mask, Wave};
use chorus_protocol::access::{AtomicOp, Scope};

use crate::chai::local_histogram::vote;
use crate::chai::task_counter::TaskCounter;
use crate::generator::SplitMix64;
use crate::program::{HostProgram, Output};
use crate::registry::{Paper, Suite, Workload};
use crate::size::{SizeSpec, Sizes};

const WAVES_PER_GROUP: u32 = 8;

const BINS: u32 = 256;
/// Pixels of a task: one per work-item.
const TASK: u32 = 256;
const PIXEL_BITS: u32 = 12;
/// Pixels across a cell of the generated image.
const CELL: u32 = 32;

/// The word of local data that passes the task on. It lies behind the bins.
const TASK_SLOT: u32 = BINS;

/// A histogram whose input is partitioned between CPU threads and work-groups.
pub struct Hsti;

/// The image is larger than a GPU L2 of 4 MB and smaller than a last-level cache of 8 MB. A pixel takes 3 line accesses
/// on a CPU and 1/16 on the GPU, which takes most of the pixels: 0.16 million line accesses in a launch.
static SIZES: [SizeSpec; 5] = [
    SizeSpec::new("cpu_threads", "CPU threads", [4, 4, 4], "Spandex Table VII (HSTI)").range(1, 64),
    SizeSpec::new("work_groups", "work-groups", [16, 16, 16], "Spandex Table VII (HSTI)").range(1, 4096),
    SizeSpec::new(
        "width",
        "columns of the image",
        [1536, 1536, 1536],
        "Spandex Table VII (HSTI): 1,572,864 pixels; chosen: a ratio of 3 to 2",
    )
    .range(CELL as u64, 1 << 14)
    .multiple_of(CELL as u64),
    SizeSpec::new(
        "height",
        "rows of the image",
        [1024, 1024, 1024],
        "Spandex Table VII (HSTI): 1,572,864 pixels; chosen: a ratio of 3 to 2",
    )
    .range(CELL as u64, 1 << 14)
    .multiple_of(CELL as u64),
    SizeSpec::new(
        "launches",
        "launches of the kernel on the same image",
        [2, 4, 32],
        "chosen: at most 2^19, 2^20 and 2^23 line accesses; Chai repeats its measurement",
    )
    .range(1, 1000),
];

/// The shape of the image.
#[derive(Clone, Copy)]
struct Shape {
    width: u32,
    height: u32,
}

impl Shape {
    fn of(sizes: &Sizes) -> Shape {
        Shape { width: sizes.get("width"), height: sizes.get("height") }
    }

    fn pixels(self) -> u32 {
        self.width * self.height
    }

    fn tasks(self) -> u32 {
        self.pixels() / TASK
    }
}

fn bin(pixel: u32) -> u32 {
    (pixel * BINS) >> PIXEL_BITS
}

/// One launch: the image, the queue of its tasks, and the buffers for counts.
#[derive(Clone, Copy)]
struct Launch {
    shape: Shape,
    image: Buf<u32>,
    queue: TaskCounter,
    /// The counts of each CPU thread.
    private: Buf<u32>,
    histogram: Buf<u32>,
}

impl Launch {
    async fn wavefront(self, w: Wave) {
        w.lds_write(Mask::ALL, w.local_ids(), Lanes::splat(0u32));
        loop {
            let task = self.queue.take(&w, TASK_SLOT).await;
            if task >= self.shape.tasks() {
                break;
            }
            w.alu(2).await;
            let pixels = w.load(self.image, w.local_ids() + task * TASK).await;
            w.alu(2).await;
            vote(&w, Mask::ALL, pixels.map(bin)).await;
        }
        // The barriers of the last attempt to take a task lie behind all votes.
        let counts: Lanes<u32> = w.lds_read(Mask::ALL, w.local_ids());
        w.atomic_in(Scope::System, AtomicOp::Add, Mask::ALL, self.histogram, w.local_ids(), counts).await;
    }

    async fn cpu_thread(self, cpu: Cpu) {
        let private = self.private.slice((cpu.id() * BINS) as usize, BINS as usize);
        for bin in 0..BINS {
            cpu.alu(1);
            cpu.store(private, bin, 0);
        }
        loop {
            let task = self.queue.take_cpu(&cpu).await;
            if task >= self.shape.tasks() {
                break;
            }
            for pixel in task * TASK..(task + 1) * TASK {
                cpu.alu(2);
                let bin = bin(cpu.load(self.image, pixel).await);
                cpu.alu(2);
                let count = cpu.load(private, bin).await;
                cpu.alu(1);
                cpu.store(private, bin, count + 1);
            }
        }
        for bin in 0..BINS {
            cpu.alu(2);
            let count = cpu.load(private, bin).await;
            cpu.atomic(AtomicOp::Add, self.histogram, bin, count).await;
        }
    }
}

/// A smooth image with noise.
fn draw(shape: Shape, generator: &mut SplitMix64) -> Vec<u32> {
    let corners_across = shape.width / CELL + 1;
    let corners: Vec<u32> = (0..corners_across * (shape.height / CELL + 1)).map(|_| generator.below(3500)).collect();
    let mut image = Vec::with_capacity(shape.pixels() as usize);
    for y in 0..shape.height {
        for x in 0..shape.width {
            let corner = |right, down| corners[((y / CELL + down) * corners_across + x / CELL + right) as usize];
            let across = |down| corner(0, down) * (CELL - x % CELL) + corner(1, down) * (x % CELL);
            let smooth = (across(0) * (CELL - y % CELL) + across(1) * (y % CELL)) / (CELL * CELL);
            image.push((smooth + generator.below(64)).min((1 << PIXEL_BITS) - 1));
        }
    }
    image
}

impl Workload for Hsti {
    fn name(&self) -> &'static str {
        "hsti"
    }

    fn title(&self) -> &'static str {
        "Histogram, input partitioned"
    }

    fn summary(&self) -> &'static str {
        "CPU threads and work-groups take pieces of an image from one queue and add up a histogram with atomics."
    }

    fn suite(&self) -> Suite {
        Suite::Chai
    }

    fn papers(&self) -> &'static [Paper] {
        &[Paper::Spandex]
    }

    fn source(&self) -> &'static str {
        "Alsop, Sinclair, Adve, Spandex, ISCA 2018, section IV-B2 (HSTI); Chai (Gómez-Luna et al., ISPASS 2017)"
    }

    fn communicates(&self) -> bool {
        true
    }

    fn sizes(&self) -> &'static [SizeSpec] {
        &SIZES
    }

    fn build(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
        let (cpu_threads, work_groups) = (sizes.get("cpu_threads"), sizes.get("work_groups"));
        let shape = Shape::of(sizes);
        let pixels = draw(shape, &mut SplitMix64::new(seed));
        let image = memory.alloc_from(&pixels);
        memory.declare_read_only(image);
        let private = memory.alloc((cpu_threads * BINS) as usize);
        let mut expected = vec![0; BINS as usize];
        pixels.iter().for_each(|&pixel| expected[bin(pixel) as usize] += 1);

        let (mut kernels, mut outputs) = (Vec::new(), Vec::new());
        for _ in 0..sizes.get("launches") {
            let (queue, histogram) = (TaskCounter::new(memory), memory.alloc(BINS as usize));
            let launch = Launch { shape, image, queue, private, histogram };
            kernels.push(
                Kernel::new("histogram", work_groups, WAVES_PER_GROUP, move |w| launch.wavefront(w))
                    .lds((BINS + 1) * 4)
                    .with_cpu(cpu_threads, move |cpu| launch.cpu_thread(cpu)),
            );
            outputs.push(Output::new("histogram", histogram, &expected));
        }
        HostProgram::new(kernels, outputs)
    }
}

#[cfg(test)]
mod tests {
    use chorus_system::Scale;

    use super::*;

    #[test]
    fn the_paper_scale_has_the_sizes_of_table_vii() {
        assert_eq!(Shape::of(&Hsti.sizes_at(Scale::Paper)).pixels(), 1_572_864);
    }

    #[test]
    fn an_image_has_pixels_of_12_bits_and_fills_many_bins() {
        let image = draw(Shape::of(&Hsti.sizes_at(Scale::Quick)), &mut SplitMix64::new(1));
        let mut used = [false; BINS as usize];
        image.iter().for_each(|&pixel| used[bin(pixel) as usize] = true);
        assert!(used.iter().filter(|&&used| used).count() > 128);
    }
}
