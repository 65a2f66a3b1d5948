//! `atax`: a matrix and its transpose, multiplied by a vector.
//!
//! Source: REC paper (Ko et al.), section 5.1, Table 3 (ATAX, 128 MB); ATAX of PolyBench/GPU (Grauer-Gray et al.,
//! InPar 2012) and of MGPUSim: tmp = A x with a work-item per row, then y = transposed A times tmp with a work-item
//! per column. The kernels are those of `matrix_vector.rs`, which says what of the original they keep and leave out.
//!
//! Sharing, where buffers are cut into blocks: the first kernel reads rows of A where they lie, and all of x. The
//! second one reads A again, by columns, three quarters of it from other GPUs: every line once, by one wavefront, two
//! lines at a time in each row. Between them it reads all of tmp, which every wavefront goes through at its own pace.
//!
//! Work-groups have 256 work-items, as in the original, and 32 at quick scale, where a GPU would have but one
//! otherwise.

use chorus_sim::frontend::HostMemory;
use chorus_system::Scale;

use crate::generator::SplitMix64;
use crate::polybench::matrix_vector::MatrixVector;
use crate::program::{HostProgram, Output};
use crate::registry::{Paper, Suite, Workload};
use crate::size::Sizes;

/// A matrix and its transpose.
pub struct Atax;

struct Size {
    rows: u32,
    columns: u32,
    waves_per_group: u32,
}

impl Size {
    /// A takes 4.3 MB and the paper's 128 MB. An element takes a quarter of a line access in the first kernel and a
    /// sixteenth in the second: 0.34 and 11 million in all. At quick scale rows are fewer and longer, so that ranges that
    /// are being walked along at a time take about as much of a directory as at paper scale. An odd number of lines per
    /// row spreads the rows over the sets of a cache. Medium has four times the rows of quick.
    fn of(scale: Scale) -> Size {
        match scale {
            Scale::Quick => Size { rows: 512, columns: 2096, waves_per_group: 1 },
            Scale::Medium => Size { rows: 2048, columns: 2096, waves_per_group: 1 },
            Scale::Paper => Size { rows: 5792, columns: 5776, waves_per_group: 8 },
        }
    }
}

impl Workload for Atax {
    fn name(&self) -> &'static str {
        "atax"
    }

    fn title(&self) -> &'static str {
        "Matrix transpose and vector multiplication"
    }

    fn summary(&self) -> &'static str {
        "Multiplies a matrix by a vector along its rows, and its transpose by the result down its columns."
    }

    fn suite(&self) -> Suite {
        Suite::PolyBench
    }

    fn papers(&self) -> &'static [Paper] {
        &[Paper::Rec]
    }

    fn source(&self) -> &'static str {
        "Ko et al., REC, section 5.1, Table 3 (ATAX); PolyBench/GPU ATAX (Grauer-Gray et al., InPar 2012)"
    }

    fn build(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
        let Size { rows, columns, waves_per_group } = Size::of(sizes.scale());
        let mut generator = SplitMix64::new(seed);
        let mut draw = |len: u32| (0..len).map(|_| generator.between_f32(-1.0, 1.0)).collect::<Vec<f32>>();
        let (elements, values) = (draw(rows * columns), draw(columns));
        let [matrix, x] = [&elements, &values].map(|values| memory.alloc_from(values));
        let [tmp, y] = [rows, columns].map(|len| memory.alloc(len as usize));
        let along = MatrixVector { rows, columns, matrix, vector: x, factor: 1.0, addend: None, target: tmp };
        let down = MatrixVector { vector: tmp, target: y, ..along };
        let of_tmp = along.reference_by_rows(&elements, &values, &[], &vec![0.0; rows as usize]);
        let of_y = down.reference_by_columns(&elements, &of_tmp, &[], &vec![0.0; columns as usize]);
        let kernels =
            vec![along.by_rows("atax_kernel1", waves_per_group), down.by_columns("atax_kernel2", waves_per_group)];
        HostProgram::new(kernels, vec![Output::new("tmp", tmp, &of_tmp), Output::new("y", y, &of_y)])
    }
}
