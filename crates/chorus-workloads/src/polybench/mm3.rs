//! `mm3`: three matrix products, of which the last multiplies the results of the other two.
//!
//! Source: REC paper (Ko et al.), section 5.1, Table 3 (MM3, 64 MB); 3MM of PolyBench/GPU (Grauer-Gray et al., InPar
//! 2012): E = A B, F = C D and G = E F, a kernel each, with a work-item per element. The kernels come from
//! `naive_product.rs`, which says how they differ from the original.
//!
//! Sharing, where buffers are cut into blocks: every GPU reads all of B, of D and of F, a kernel each, mostly from
//! other GPUs. All GPUs have written their parts of F in the kernel before: one kernel computes F everywhere, and the
//! next reads it everywhere.

use chorus_kernel::HostMemory;

use crate::generator::SplitMix64;
use crate::polybench::naive_product::{Matrix, NaiveProduct};
use crate::program::{HostProgram, Output};
use crate::registry::{Paper, Suite, Workload};
use crate::size::{SizeSpec, Sizes};

/// Computes three matrix products, a kernel each.
pub struct Mm3;

const SOURCE: &str = "REC Table 3 (MM3): 64 MB, seven square matrices";

/// Table 3's 64 MB are seven square matrices, as PolyBench's are. At smaller scales sides differ a little, so that rows
/// are whole lines and no multiple of many, as at paper scale. A wavefront takes 1.1 line accesses in each step: 0.8
/// million in all at quick scale, 6 million at medium and 0.4 billion at paper scale.
static SIZES: [SizeSpec; 5] = [
    SizeSpec::new("ni", "rows of A, of E and of G", [184, 368, 1552], SOURCE).range(1, 1 << 13),
    SizeSpec::new("nj", "columns of B and of E, rows of C and of F", [208, 400, 1552], SOURCE)
        .range(16, 1 << 13)
        .multiple_of(16),
    SizeSpec::new("nk", "columns of A, rows of B", [176, 384, 1552], SOURCE).range(16, 1 << 13).multiple_of(16),
    SizeSpec::new("nl", "columns of D, of F and of G", [208, 400, 1552], SOURCE).range(1, 1 << 13),
    SizeSpec::new("nm", "columns of C, rows of D", [192, 384, 1552], SOURCE).range(16, 1 << 13).multiple_of(16),
];

impl Workload for Mm3 {
    fn name(&self) -> &'static str {
        "mm3"
    }

    fn title(&self) -> &'static str {
        "3 matrix multiplications"
    }

    fn summary(&self) -> &'static str {
        "Multiplies two pairs of matrices and then the products, a kernel each, with a work-item per element."
    }

    fn suite(&self) -> Suite {
        Suite::PolyBench
    }

    fn papers(&self) -> &'static [Paper] {
        &[Paper::Rec]
    }

    fn source(&self) -> &'static str {
        "Ko et al., REC, section 5.1, Table 3 (MM3); PolyBench/GPU 3MM (Grauer-Gray et al., InPar 2012)"
    }

    fn sizes(&self) -> &'static [SizeSpec] {
        &SIZES
    }

    fn build(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
        let [ni, nj, nk, nl, nm] = ["ni", "nj", "nk", "nl", "nm"].map(|key| sizes.get(key));
        let mut generator = SplitMix64::new(seed);
        let mut drawn = |rows, columns| Matrix::drawn(memory, rows, columns, || generator.between_f32(-1.0, 1.0));
        let [a, b, c, d] = [drawn(ni, nk), drawn(nk, nj), drawn(nj, nm), drawn(nm, nl)];
        let [e, f, g] = [(ni, nj), (nj, nl), (ni, nl)].map(|(rows, columns)| Matrix::zero(memory, rows, columns));
        let product = |a, b, target| NaiveProduct { a, b, target, alpha: 1.0, beta: None };
        let products = [product(a, b, e), product(c, d, f), product(e, f, g)];
        let of_e = products[0].reference(&memory.read(a.buf), &memory.read(b.buf), &[]);
        let of_f = products[1].reference(&memory.read(c.buf), &memory.read(d.buf), &[]);
        let of_g = products[2].reference(&of_e, &of_f, &[]);
        let kernels = ["mm3_kernel1", "mm3_kernel2", "mm3_kernel3"];
        let kernels = products.into_iter().zip(kernels).map(|(product, name)| product.kernel(name)).collect();
        let outputs = [("E", e, of_e), ("F", f, of_f), ("G", g, of_g)];
        let outputs = outputs.iter().map(|(name, matrix, expected)| Output::new(name, matrix.buf, expected)).collect();
        HostProgram::new(kernels, outputs)
    }
}
