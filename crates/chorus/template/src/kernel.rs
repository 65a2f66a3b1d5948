//! A kernel: every element becomes the mean of itself and its two neighbours, step after step.
//!
//! Each step is one launch. A work-item owns one element and reads its neighbours, which other work-items wrote in the
//! step before. Elements at the ends have one neighbour only and stay as they are.

use chorus::kernel::{Buf, HostMemory, Kernel, LANES, Wave};
use chorus::workloads::generator::SplitMix64;
use chorus::workloads::program::{HostProgram, Output};
use chorus::workloads::{SizeSpec, Sizes, Workload};

const WAVES_PER_GROUP: u32 = 8;

/// The sizes that `--set workload.KEY=VALUE` changes: defaults at quick, medium and paper scale, a range, and a source.
static SIZES: [SizeSpec; 2] = [
    SizeSpec::new("elements", "elements of the array", [32_768, 131_072, 1_048_576], "chosen: larger than the L1s")
        .range(3, 1 << 26),
    SizeSpec::new("steps", "launches of the kernel", [4, 4, 8], "chosen: enough to reuse what is cached").range(1, 1000),
];

/// The workload of this crate.
pub struct Mine;

/// One wavefront of one step. Work-item `i` owns element `i + 1`. `alu` counts the instructions that access no memory.
async fn smooth(w: Wave, elements: u32, source: Buf<f32>, target: Buf<f32>) {
    let i = w.global_ids();
    let inside = i.below(elements - 2);
    w.alu(3).await;
    if !inside.any() {
        return;
    }
    let neighbours = w.join_all([
        w.load_where(inside, source, i),
        w.load_where(inside, source, i + 1),
        w.load_where(inside, source, i + 2),
    ]);
    let [left, centre, right] = neighbours.await;
    w.alu(3).await;
    w.store_where(inside, target, i + 1, (left + centre + right) * THIRD);
}

const THIRD: f32 = 1.0 / 3.0;

/// One step on the host. It computes in the same order, so that results are equal to the last bit.
fn smooth_on_host(source: &[f32], target: &mut [f32]) {
    for i in 1..source.len() - 1 {
        target[i] = (source[i - 1] + source[i] + source[i + 1]) * THIRD;
    }
}

impl Workload for Mine {
    fn name(&self) -> &'static str {
        "mine"
    }

    fn title(&self) -> &'static str {
        "Smoothing of an array"
    }

    fn summary(&self) -> &'static str {
        "Replaces every element by the mean of itself and its neighbours, step after step."
    }

    fn source(&self) -> &'static str {
        "this crate, 2026"
    }

    fn sizes(&self) -> &'static [SizeSpec] {
        &SIZES
    }

    fn build(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
        let (elements, steps) = (sizes.get("elements"), sizes.get("steps"));
        let mut generator = SplitMix64::new(seed);
        let input: Vec<f32> = (0..elements).map(|_| generator.between_f32(-1.0, 1.0)).collect();
        let buffers = [memory.alloc_from(&input), memory.alloc_from(&input)];
        let mut values = [input.clone(), input];
        let work_groups = (elements - 2).div_ceil(WAVES_PER_GROUP * LANES as u32);
        let mut kernels = Vec::new();
        for turn in 0..steps as usize {
            let (source, target) = (buffers[turn % 2], buffers[(turn + 1) % 2]);
            let step = move |w| smooth(w, elements, source, target);
            kernels.push(Kernel::new("smooth", work_groups, WAVES_PER_GROUP, step));
            let [even, odd] = &mut values;
            if turn % 2 == 0 { smooth_on_host(even, odd) } else { smooth_on_host(odd, even) }
        }
        let last = steps as usize % 2;
        HostProgram::new(kernels, vec![Output::new("values", buffers[last], &values[last])])
    }
}
