//! `saxpy`: y = a x + y, the first kernel that everybody writes.
//!
//! Source: level-1 BLAS (Lawson, Hanson, Kincaid, Krogh, ACM TOMS 1979) as GPU tutorials write it: one work-item per
//! element. Every element is read once and written once by the same work-item, so nothing is shared and nothing is used
//! again: what a protocol costs here is what it costs a program that does not need it.
//!
//! The number of elements is no multiple of a wavefront. The lanes beyond the end take no part, as behind a kernel's
//! `if (i < n)`.
//!
//! Arithmetic: 2 instructions for the index and its comparison, 1 fused multiply-add. The multiplication and the
//! addition round separately, on both sides, since that is what the two operators mean in the source.

use chorus_kernel::{Buf, HostMemory, Kernel, LANES, Wave};

use crate::generator::SplitMix64;
use crate::program::{HostProgram, Output};
use crate::registry::{Suite, Workload};
use crate::size::{SizeSpec, Sizes};

const WAVES_PER_GROUP: u32 = 8;
const A: f32 = 2.5;

pub(crate) struct Saxpy;

/// Two vectors take 2 MB at quick and 8 MB at paper scale, in 25,000 and 98,000 line accesses.
static SIZES: [SizeSpec; 1] = [SizeSpec::new(
    "elements",
    "elements of each vector",
    [262_000, 524_200, 1_048_400],
    "about 2^20, as in CUDA tutorials",
)
.range(1, 1 << 28)];

async fn saxpy(w: Wave, n: u32, x: Buf<f32>, y: Buf<f32>) {
    let i = w.global_ids();
    let inside = i.below(n);
    w.alu(2).await;
    if !inside.any() {
        return;
    }
    let (xs, ys) = w.join(w.load_where(inside, x, i), w.load_where(inside, y, i)).await;
    w.alu(1).await;
    w.store_where(inside, y, i, xs * A + ys);
}

impl Workload for Saxpy {
    fn name(&self) -> &'static str {
        "saxpy"
    }

    fn title(&self) -> &'static str {
        "SAXPY"
    }

    fn summary(&self) -> &'static str {
        "Adds a multiple of one vector to another: streaming, nothing shared."
    }

    fn suite(&self) -> Suite {
        Suite::Tutorial
    }

    fn source(&self) -> &'static str {
        "level-1 BLAS (Lawson, Hanson, Kincaid, Krogh, ACM TOMS 1979); the tutorial kernel, used by no paper"
    }

    fn sizes(&self) -> &'static [SizeSpec] {
        &SIZES
    }

    fn build(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
        let n = sizes.get("elements");
        let mut generator = SplitMix64::new(seed);
        let mut vector = || (0..n).map(|_| generator.between_f32(-1.0, 1.0)).collect::<Vec<f32>>();
        let (xs, ys) = (vector(), vector());
        let (x, y) = (memory.alloc_from(&xs), memory.alloc_from(&ys));
        let work_groups = n.div_ceil(WAVES_PER_GROUP * LANES as u32);
        let kernel = Kernel::new("saxpy", work_groups, WAVES_PER_GROUP, move |w| saxpy(w, n, x, y));
        let expected: Vec<f32> = xs.iter().zip(&ys).map(|(x, y)| x * A + y).collect();
        HostProgram::new(vec![kernel], vec![Output::new("y", y, &expected)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_wavefront_is_partly_masked_at_every_scale() {
        for elements in SIZES[0].defaults {
            assert_ne!(elements % LANES as u64, 0, "{elements}");
        }
    }
}
