//! `mm2`: two matrix products, one of the other.
//!
//! Source: REC paper (Ko et al.), section 5.1, Table 3 (MM2, 128 MB); 2MM of PolyBench/GPU (Grauer-Gray et al., InPar
//! 2012): tmp = alpha A B, then D = tmp C + beta D, a kernel each, with a work-item per element. The kernels are that
//! of `naive_product.rs`, which says what of the original it keeps and leaves out.
//!
//! Sharing, where buffers are cut into blocks: every GPU reads all of B in the first and all of C in the second kernel,
//! mostly from other GPUs. It writes rows of tmp in the first kernel and reads the same ones in the second; where parts
//! of tmp in memory and of the work-groups do not end at the same row, neighbours meet.

use chorus_sim::frontend::HostMemory;
use chorus_system::Scale;

use crate::generator::SplitMix64;
use crate::polybench::naive_product::{Matrix, NaiveProduct};
use crate::program::{HostProgram, Output};
use crate::registry::{Paper, Suite, Workload};
use crate::size::Sizes;

/// Two matrix products.
pub struct Mm2;

/// Rows of the result, columns of A, of B and of C. B and C take 0.8 MB each of 2.0 MB in all, and 6 of 15 MB. A
/// wavefront and step takes 1.1 line accesses: 0.87 and 28 million in all. Square matrices of the paper's 128 MB, of
/// 2590 rows, would take 1.2 billion, so rows are fewest, and every GPU of four goes through B and C only 2 and 8
/// times. Medium has twice of everything but rows: four times B, C and line accesses, and twice the work-items.
fn size(scale: Scale) -> [u32; 4] {
    match scale {
        Scale::Quick => [64, 384, 512, 384],
        Scale::Medium => [64, 768, 1024, 768],
        Scale::Paper => [256, 1024, 1536, 1024],
    }
}

impl Workload for Mm2 {
    fn name(&self) -> &'static str {
        "mm2"
    }

    fn title(&self) -> &'static str {
        "2 matrix multiplications"
    }

    fn summary(&self) -> &'static str {
        "Multiplies two matrices and the product with a third, a kernel each, with a work-item per element."
    }

    fn suite(&self) -> Suite {
        Suite::PolyBench
    }

    fn papers(&self) -> &'static [Paper] {
        &[Paper::Rec]
    }

    fn source(&self) -> &'static str {
        "Ko et al., REC, section 5.1, Table 3 (MM2); PolyBench/GPU 2MM (Grauer-Gray et al., InPar 2012)"
    }

    fn build(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
        let [ni, nk, nj, nl] = size(sizes.scale());
        let mut generator = SplitMix64::new(seed);
        let mut drawn = |rows, columns| Matrix::drawn(memory, rows, columns, || generator.between_f32(-1.0, 1.0));
        let [a, b, c, d] = [drawn(ni, nk), drawn(nk, nj), drawn(nj, nl), drawn(ni, nl)];
        let tmp = Matrix::zero(memory, ni, nj);
        let first = NaiveProduct { a, b, target: tmp, alpha: 1.5, beta: None };
        let second = NaiveProduct { a: tmp, b: c, target: d, alpha: 1.0, beta: Some(1.25) };
        let of_tmp = first.reference(&memory.read(a.buf), &memory.read(b.buf), &[]);
        let of_d = second.reference(&of_tmp, &memory.read(c.buf), &memory.read(d.buf));
        let outputs = vec![Output::new("tmp", tmp.buf, &of_tmp), Output::new("D", d.buf, &of_d)];
        HostProgram::new(vec![first.kernel("mm2_kernel1"), second.kernel("mm2_kernel2")], outputs)
    }
}
