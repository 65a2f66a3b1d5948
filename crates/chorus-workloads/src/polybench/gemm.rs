//! `gemm`: the product of two matrices.
//!
//! Source: REC paper (Ko et al.), section 5.1, Table 3 (GEMM, 128 MB); GEMM of PolyBench/GPU (Grauer-Gray et al.,
//! InPar 2012): C = alpha A B + beta C in one kernel, with a work-item per element of C. The kernel comes from
//! `naive_product.rs`, which says how it differs from the original. This workload has nothing to do with
//! `crate::gemm`, the tiled product of libraries.
//!
//! Sharing, where buffers are cut into blocks: every GPU reads all of B, three quarters of it from other GPUs, once for
//! each 8 rows of C that it computes. Its parts of A and C lie in its own memory.

use chorus_kernel::HostMemory;

use crate::generator::SplitMix64;
use crate::polybench::naive_product::{Matrix, NaiveProduct};
use crate::program::{HostProgram, Output};
use crate::registry::{Paper, Suite, Workload};
use crate::size::{SizeSpec, Sizes};

/// The matrix product of PolyBench.
pub struct Gemm;

const SOURCE: &str = "REC Table 3 (GEMM): 128 MB, three square matrices";

/// Table 3's 128 MB are three square matrices, as PolyBench's are. At smaller scales sides differ a little, so that
/// rows are whole lines and no multiple of many, as at paper scale. In each step a wavefront takes one line access for
/// B and an eighth for A: 2.6 million in all at quick scale, 21 million at medium and 1.3 billion at paper scale.
static SIZES: [SizeSpec; 3] = [
    SizeSpec::new("ni", "rows of A and C", [412, 832, 3344], SOURCE).range(1, 1 << 14),
    SizeSpec::new("nj", "columns of B and C", [432, 848, 3344], SOURCE).range(1, 1 << 14),
    SizeSpec::new("nk", "columns of A and rows of B", [416, 832, 3344], SOURCE).range(16, 1 << 14).multiple_of(16),
];

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

    fn sizes(&self) -> &'static [SizeSpec] {
        &SIZES
    }

    fn build(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
        let [ni, nj, nk] = ["ni", "nj", "nk"].map(|key| sizes.get(key));
        let mut generator = SplitMix64::new(seed);
        let mut drawn = |rows, columns| Matrix::drawn(memory, rows, columns, || generator.between_f32(-1.0, 1.0));
        let [a, b, c] = [drawn(ni, nk), drawn(nk, nj), drawn(ni, nj)];
        let product = NaiveProduct { a, b, target: c, alpha: 1.5, beta: Some(1.25) };
        let expected = product.reference(&memory.read(a.buf), &memory.read(b.buf), &memory.read(c.buf));
        HostProgram::new(vec![product.kernel("gemm")], vec![Output::new("C", c.buf, &expected)])
    }
}
