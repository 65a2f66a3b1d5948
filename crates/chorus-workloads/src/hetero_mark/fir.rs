//! `fir`: a finite impulse response filter over a signal that arrives in blocks.
//!
//! Source: REC paper (Ko et al.), section 5.1, Table 3, `Finite impulse response`; FIR of Hetero-Mark (Sun et al.,
//! IISWC 2016), with 16 taps as in MGPUSim's copy. One kernel per block, a work-item per sample in work-groups of 256:
//! it reads the sample and the 15 before it one by one, those before the block from the history, weighs them and writes
//! one output. The last work-items of a block leave their samples as the history of the next.
//!
//! Sharing, where buffers are cut into blocks: the signal lies in one buffer, and its parts with the GPUs, while all
//! GPUs work on every block. So most reads of the signal and most writes of the result go to the GPU where the block
//! lies, and a line is read by the same work-group up to 16 times, then never again. The coefficients are read by
//! everybody in every kernel; the history is written by the last work-group of a kernel and read by the first of the
//! next, on another GPU.
//!
//! Left out: the host that sends blocks as they come. The source's one history is read and written in the same kernel,
//! a race between the first and the last work-group; here two histories take turns.
//!
//! Arithmetic: 4 instructions for the index and addresses; per tap 3 for the test of the block's edge and the address,
//! and a fused multiply-add; 3 for the test of the end of the block.

use chorus_kernel::{Buf, HostMemory, Kernel, LANES, Lanes, Mask, Wave};

use crate::generator::SplitMix64;
use crate::program::{HostProgram, Output};
use crate::registry::{Paper, Suite, Workload};
use crate::size::{SizeSpec, Sizes};

const WAVES_PER_GROUP: u32 = 8;
const GROUP: u32 = WAVES_PER_GROUP * LANES as u32;
const TAPS: u32 = 16;
/// Samples that the next block needs of this one.
const HISTORY: u32 = TAPS - 1;

pub(crate) struct Fir;

/// Table 3's 128 MB are exactly signal and result of 2^24 samples. A wavefront takes 50 line accesses of 64 bytes, 47
/// of them for its 16 reads.
static SIZES: [SizeSpec; 2] = [
    SizeSpec::new("blocks", "blocks of the signal, with a kernel each", [16, 16, 16], "chosen: as many at every scale")
        .range(1, 4096),
    SizeSpec::new("samples", "samples of a block", [16 << 10, 64 << 10, 1 << 20], "REC Table 3 (FIR): 128 MB")
        .range(GROUP as u64, 1 << 28)
        .multiple_of(GROUP as u64),
];

/// The buffers of a kernel.
#[derive(Clone, Copy)]
struct Block {
    samples: u32,
    coefficients: Buf<f32>,
    input: Buf<f32>,
    output: Buf<f32>,
    /// The last samples of the block before this one, oldest first.
    history: Buf<f32>,
    next_history: Buf<f32>,
}

/// The weighted sum of a sample and those before it, latest first.
fn filter(coefficients: &[f32; TAPS as usize], samples: [f32; TAPS as usize]) -> f32 {
    coefficients.iter().zip(samples).fold(0.0, |sum, (coefficient, sample)| sum + coefficient * sample)
}

async fn fir(w: Wave, block: Block) {
    let sample = w.global_ids();
    w.alu(4).await;
    // The same for all lanes, so they are read once, as by a scalar load.
    let coefficients = w.load_where(Mask::first(TAPS as usize), block.coefficients, w.lane_ids());
    let reaches_back = sample[0] < HISTORY;
    let mut samples = [Lanes::splat(0.0); TAPS as usize];
    for (tap, samples) in samples.iter_mut().enumerate() {
        let tap = tap as u32;
        w.alu(4).await;
        let in_block = sample.where_(|sample| sample >= tap);
        let near = w.load_where(in_block, block.input, sample.map(|sample| sample.wrapping_sub(tap)));
        *samples = if reaches_back && in_block != Mask::ALL {
            let far = w.load_where(!in_block, block.history, sample.map(|sample| (sample + HISTORY).wrapping_sub(tap)));
            let (near, far) = w.join(near, far).await;
            near.select(in_block, far)
        } else {
            near.await
        };
    }
    let coefficients = coefficients.await;
    let coefficients = std::array::from_fn(|tap| coefficients[tap]);
    let filtered = Lanes::from_fn(|lane| filter(&coefficients, samples.map(|samples| samples[lane])));
    w.store(block.output, sample, filtered);
    w.alu(3).await;
    let first_kept = block.samples - HISTORY;
    let kept = !sample.below(first_kept);
    if kept.any() {
        w.store_where(kept, block.next_history, sample.map(|sample| sample.wrapping_sub(first_kept)), samples[0]);
    }
}

/// The whole signal filtered on the host, with silence before it.
fn reference(coefficients: &[f32; TAPS as usize], signal: &[f32]) -> Vec<f32> {
    let before = |at: usize, tap: usize| if at >= tap { signal[at - tap] } else { 0.0 };
    (0..signal.len()).map(|at| filter(coefficients, std::array::from_fn(|tap| before(at, tap)))).collect()
}

impl Workload for Fir {
    fn name(&self) -> &'static str {
        "fir"
    }

    fn title(&self) -> &'static str {
        "Finite impulse response filter"
    }

    fn summary(&self) -> &'static str {
        "Filters a signal with 16 taps, a kernel per block, which leaves its last samples to the next as history."
    }

    fn suite(&self) -> Suite {
        Suite::HeteroMark
    }

    fn papers(&self) -> &'static [Paper] {
        &[Paper::Rec]
    }

    fn source(&self) -> &'static str {
        "Ko et al., REC: Enhancing fine-grained cache coherence protocol in multi-GPU systems, \
         section 5.1, Table 3 (FIR); \
         Hetero-Mark FIR (Sun et al., IISWC 2016)"
    }

    fn sizes(&self) -> &'static [SizeSpec] {
        &SIZES
    }

    fn misfit(&self, sizes: &Sizes) -> Option<String> {
        let samples = u64::from(sizes.get("blocks")) * u64::from(sizes.get("samples"));
        sizes.too_large(2 * samples, &["blocks", "samples"])
    }

    fn build(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
        let (blocks, samples) = (sizes.get("blocks"), sizes.get("samples"));
        let mut generator = SplitMix64::new(seed);
        let weights: [f32; TAPS as usize] = std::array::from_fn(|_| generator.between_f32(-1.0, 1.0));
        let signal: Vec<f32> = (0..blocks * samples).map(|_| generator.between_f32(-1.0, 1.0)).collect();
        let expected = reference(&weights, &signal);
        let (coefficients, input) = (memory.alloc_from(&weights), memory.alloc_from(&signal));
        let output = memory.alloc::<f32>(signal.len());
        let histories = [memory.alloc::<f32>(HISTORY as usize), memory.alloc::<f32>(HISTORY as usize)];
        let launch = |number: usize| {
            let part = |buf: Buf<f32>| buf.slice(number * samples as usize, samples as usize);
            let [history, next_history] = [number, number + 1].map(|number| histories[number % 2]);
            let block =
                Block { samples, coefficients, input: part(input), output: part(output), history, next_history };
            let work_groups = samples / GROUP;
            Kernel::new("fir", work_groups, WAVES_PER_GROUP, move |w| fir(w, block)).registers(24)
        };
        let kernels = (0..blocks as usize).map(launch).collect();
        let last = &signal[signal.len() - HISTORY as usize..];
        let last_history = histories[blocks as usize % 2];
        HostProgram::new(
            kernels,
            vec![Output::new("result", output, &expected), Output::new("history", last_history, last)],
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_impulse_gives_the_coefficients() {
        let coefficients: [f32; TAPS as usize] = std::array::from_fn(|tap| tap as f32 + 1.0);
        let mut signal = [0.0; 40];
        signal[10] = 1.0;
        let response = reference(&coefficients, &signal);
        assert_eq!(response[10..26], coefficients);
        assert!(response[..10].iter().chain(&response[26..]).all(|&value| value == 0.0));
    }
}
