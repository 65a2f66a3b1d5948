//! `gemm`: the product of two matrices.
//!
//! Source: REC paper (Ko et al.), section 5.1, Table 3 (GEMM, 128 MB); GEMM of PolyBench/GPU (Grauer-Gray et al.,
//! InPar 2012): C = alpha A B + beta C in one kernel, with a work-item per element of C. The kernel is that of
//! `naive_product.rs`, which says what of the original it keeps and leaves out; `gemm.rs`, which has nothing to do
//! with this workload, is the tiled product of libraries.
//!
//! Sharing, where buffers are cut into blocks: every GPU reads all of B, three quarters of it from other GPUs, once for
//! each 8 rows of C that it computes. A and C are its own.

use chorus_sim::frontend::HostMemory;
use chorus_system::Scale;

use crate::generator::SplitMix64;
use crate::polybench::naive_product::{Matrix, NaiveProduct};
use crate::program::{HostProgram, Output};
use crate::registry::{Paper, Suite, Workload};
use crate::size::Sizes;

/// The matrix product of PolyBench.
pub struct Gemm;

/// Rows and columns of C, and columns of A. B takes 1.3 and 12 MB of 1.6 and 15.5 MB in all. A wavefront and step takes
/// one line access for B, and an eighth for A: 0.74 and 29 million in all. Square matrices of the paper's 128 MB, of
/// 3344 rows, would take 1.3 billion, so rows are fewest, and every GPU of four goes through B only 2 and 8 times.
/// Medium has four times the columns of quick, and so four times of everything but A.
fn size(scale: Scale) -> [u32; 3] {
    match scale {
        Scale::Quick => [64, 640, 512],
        Scale::Medium => [64, 2560, 512],
        Scale::Paper => [256, 2048, 1536],
    }
}

impl Workload for Gemm {
    fn name(&self) -> &'static str {
        "gemm"
    }

    fn title(&self) -> &'static str {
        "Matrix multiply"
    }

    fn summary(&self) -> &'static str {
        "Multiplies two matrices with a work-item per element, so that every GPU reads all of the right one."
    }

    fn suite(&self) -> Suite {
        Suite::PolyBench
    }

    fn papers(&self) -> &'static [Paper] {
        &[Paper::Rec]
    }

    fn source(&self) -> &'static str {
        "Ko et al., REC, section 5.1, Table 3 (GEMM); PolyBench/GPU GEMM (Grauer-Gray et al., InPar 2012)"
    }

    fn build(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
        let [rows, columns, depth] = size(sizes.scale());
        let mut generator = SplitMix64::new(seed);
        let mut drawn = |rows, columns| Matrix::drawn(memory, rows, columns, || generator.between_f32(-1.0, 1.0));
        let [a, b, c] = [drawn(rows, depth), drawn(depth, columns), drawn(rows, columns)];
        let product = NaiveProduct { a, b, target: c, alpha: 1.5, beta: Some(1.25) };
        let expected = product.reference(&memory.read(a.buf), &memory.read(b.buf), &memory.read(c.buf));
        HostProgram::new(vec![product.kernel("gemm")], vec![Output::new("C", c.buf, &expected)])
    }
}
