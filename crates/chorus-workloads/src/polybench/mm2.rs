//! `mm2`: two matrix products, of which the second uses the result of the first.
//!
//! Source: REC paper (Ko et al.), section 5.1, Table 3 (MM2, 128 MB); 2MM of PolyBench/GPU (Grauer-Gray et al., InPar
//! 2012): tmp = alpha A B, then D = tmp C + beta D, a kernel each, with a work-item per element. Both kernels come from
//! `naive_product.rs`, which says how they differ from the original.
//!
//! Sharing, where buffers are cut into blocks: every GPU reads all of B in the first and all of C in the second kernel,
//! mostly from other GPUs. It writes rows of tmp in the first kernel and reads the same rows in the second. The parts
//! of tmp that lie with a GPU and the rows that it computes may end at different rows. Neighbours then share rows
//! there.

use chorus_kernel::HostMemory;

use crate::generator::SplitMix64;
use crate::polybench::naive_product::{Matrix, NaiveProduct};
use crate::program::{HostProgram, Output};
use crate::registry::{Paper, Suite, Workload};
use crate::size::{SizeSpec, Sizes};

/// Computes two matrix products, a kernel each.
pub struct Mm2;

const SOURCE: &str = "REC Table 3 (MM2): 128 MB, five square matrices";

/// Table 3's 128 MB are five square matrices, as PolyBench's are. At smaller scales sides differ a little, so that rows
/// are whole lines and no multiple of many, as at paper scale. A wavefront takes 1.1 line accesses in each step: 2.4
/// million in all at quick scale, 20 million at medium and 1.2 billion at paper scale.
static SIZES: [SizeSpec; 4] = [
    SizeSpec::new("ni", "rows of A, of tmp and of D", [320, 640, 2592], SOURCE).range(1, 1 << 13),
    SizeSpec::new("nj", "columns of B and of tmp, rows of C", [336, 656, 2592], SOURCE)
        .range(16, 1 << 13)
        .multiple_of(16),
    SizeSpec::new("nk", "columns of A, rows of B", [304, 640, 2592], SOURCE).range(16, 1 << 13).multiple_of(16),
    SizeSpec::new("nl", "columns of C and of D", [336, 656, 2592], SOURCE).range(1, 1 << 13),
];

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

    fn sizes(&self) -> &'static [SizeSpec] {
        &SIZES
    }

    fn build(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
        let [ni, nj, nk, nl] = ["ni", "nj", "nk", "nl"].map(|key| sizes.get(key));
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
