//! `mm3`: three matrix products, the last of the other two.
//!
//! Source: REC paper (Ko et al.), section 5.1, Table 3 (MM3, 64 MB); 3MM of PolyBench/GPU (Grauer-Gray et al., InPar
//! 2012): E = A B, F = C D and G = E F, a kernel each, with a work-item per element. The kernels are that of
//! `naive_product.rs`, which says what of the original it keeps and leaves out.
//!
//! Sharing, where buffers are cut into blocks: every GPU reads all of B, of D and of F, a kernel each, mostly from
//! other GPUs. It has itself written its part of F in the kernel before, and so have the others: what one kernel
//! computes everywhere is read everywhere by the next.

use chorus_sim::frontend::HostMemory;
use chorus_system::Scale;

use crate::generator::SplitMix64;
use crate::polybench::naive_product::{Matrix, NaiveProduct};
use crate::program::{HostProgram, Output};
use crate::registry::{Paper, Suite, Workload};
use crate::size::Sizes;

/// Three matrix products.
pub struct Mm3;

/// Rows of A, columns of A and of B (as many as rows of C), columns of C and of D. B and F take 0.6 and 4 MB,
/// everything 1.7 and 13 MB. A wavefront and step takes 1.1 line accesses, and all products have as many steps: 0.97
/// and 28 million in all. Square matrices of the paper's 64 MB, of 1546 rows, would take 0.4 billion. Medium has four
/// times B, F and line accesses of quick; F has four times the work-items, the other products twice as many.
fn size(scale: Scale) -> [u32; 5] {
    match scale {
        Scale::Quick => [64, 384, 384, 64, 384],
        Scale::Medium => [64, 768, 768, 64, 768],
        Scale::Paper => [256, 1024, 1024, 256, 1024],
    }
}

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

    fn build(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
        let [ni, nk, nj, nm, nl] = size(sizes.scale());
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
