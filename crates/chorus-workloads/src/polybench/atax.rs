//! `atax`: a matrix and its transpose, multiplied by a vector.
//!
//! Source: REC paper (Ko et al.), section 5.1, Table 3 (ATAX, 128 MB); ATAX of PolyBench/GPU (Grauer-Gray et al.,
//! InPar 2012) and of MGPUSim: tmp = A x with a work-item per row, then y = transposed A times tmp with a work-item
//! per column. Both kernels come from `matrix_vector.rs`, which says how they differ from the original.
//!
//! Sharing, where buffers are cut into blocks: the first kernel reads rows of A from the GPU's own memory, and all of
//! x. The second kernel reads A again, by columns, three quarters of it from other GPUs. One wavefront reads every
//! line once, two lines at a time in each row. In between it reads all of tmp. Every wavefront walks through tmp at
//! its own pace.
//!
//! Work-groups have 256 work-items, as in the original. Smaller scales have as many work-groups, of fewer work-items,
//! since not every GPU would have one otherwise.

use chorus_kernel::HostMemory;

use crate::generator::SplitMix64;
use crate::polybench::matrix_vector::MatrixVector;
use crate::program::{HostProgram, Output};
use crate::registry::{Paper, Suite, Workload};
use crate::size::{SizeSpec, Sizes};

/// Multiplies a matrix, and then its transpose, by a vector.
pub struct Atax;

const SOURCE: &str = "REC Table 3 (ATAX): 128 MB, as a square matrix";

/// Table 3's 128 MB are a square matrix, as PolyBench's is. Smaller scales divide its footprint and the machine by one
/// number (docs/workloads/rec.md). Work-items are rows and columns, so there are fewer by the square root of that
/// number only, and rows that are walked along at one time take a larger share of a small directory.
static SIZES: [SizeSpec; 3] = [
    SizeSpec::new("rows", "rows of the matrix", [720, 1440, 5792], SOURCE).range(16, 1 << 14).multiple_of(16),
    SizeSpec::new("columns", "columns of the matrix", [720, 1440, 5792], SOURCE).range(16, 1 << 14).multiple_of(16),
    SizeSpec::new(
        "waves_per_group",
        "wavefronts of a work-group",
        [1, 2, 8],
        "PolyBench/GPU ATAX: 256 work-items per work-group",
    )
    .range(1, 32),
];

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

    fn sizes(&self) -> &'static [SizeSpec] {
        &SIZES
    }

    fn build(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
        let [rows, columns, waves_per_group] = ["rows", "columns", "waves_per_group"].map(|key| sizes.get(key));
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
