//! `gemv`: matrix addition, and multiplication by vectors.
//!
//! Source: REC paper (Ko et al.), section 5.1, Table 3 (GEMV, 256 MB), "vector multiplication and matrix addition",
//! PolyBench's words for its GEMVER; GEMVER of PolyBench/GPU (Grauer-Gray et al., InPar 2012). There are three kernels.
//! The first computes A += u1 v1 + u2 v2 with a work-item per element in work-groups of 32 x 8 (see `element_grid.rs`).
//! The second computes x += beta times transposed A times y + z with a work-item per column, the third w += alpha A x
//! with a work-item per row. `matrix_vector.rs` has these two, and says how they differ from the original.
//!
//! Sharing, where buffers are cut into blocks: the first kernel reads and writes A in the GPU's own memory, and reads
//! parts of all vectors. The second kernel reads A by columns, three quarters of it from other GPUs that have just
//! written it. One wavefront reads every line once, and all of y in between. The third kernel reads rows of A from the
//! GPU's own memory, and all of x, parts of which other GPUs have just written.
//!
//! Work-groups of the last two kernels have 256 work-items, as in the original. Smaller scales have as many
//! work-groups, of fewer work-items, since not every GPU would have several otherwise.
//!
//! Arithmetic of the first kernel: 8 instructions for the coordinates, 5 for addresses, 3 multiply-adds.

use chorus_kernel::{Buf, HostMemory, Kernel, Wave};

use crate::generator::SplitMix64;
use crate::polybench::element_grid::ElementGrid;
use crate::polybench::matrix_vector::MatrixVector;
use crate::program::{HostProgram, Output};
use crate::registry::{Paper, Suite, Workload};
use crate::size::{SizeSpec, Sizes};

const ALPHA: f32 = 1.5;
const BETA: f32 = 1.25;

/// GEMVER of PolyBench: matrix addition and two products with vectors.
pub struct Gemv;

/// Table 3's 256 MB are exactly a square matrix of 8192 rows. PolyBench's own side is a power of two as well. So the
/// rows that the third kernel walks along share few sets of every cache and of a directory.
static SIZES: [SizeSpec; 2] = [
    SizeSpec::new(
        "side",
        "rows and columns of the matrix",
        [1024, 2048, 8192],
        "REC Table 3 (GEMV): 256 MB, a square matrix",
    )
    .range(16, 1 << 14)
    .multiple_of(16),
    SizeSpec::new(
        "waves_per_group",
        "wavefronts of a work-group of the second and third kernel",
        [1, 2, 8],
        "PolyBench/GPU GEMVER: 256 work-items per work-group",
    )
    .range(1, 32),
];

/// The sum that is added to A: `u[0] v[0] + u[1] v[1]`.
#[derive(Clone, Copy)]
struct Update {
    matrix: Buf<f32>,
    u: [Buf<f32>; 2],
    v: [Buf<f32>; 2],
}

impl Update {
    fn kernel(self, rows: u32) -> Kernel {
        let grid = ElementGrid { rows, columns: rows };
        grid.kernel("gemver_kernel1", move |w| update(w, self, grid))
    }
}

async fn update(w: Wave, Update { matrix, u, v }: Update, grid: ElementGrid) {
    let elements = grid.elements(&w).await;
    if !elements.inside.any() {
        return;
    }
    w.alu(5).await;
    let [old, u1, v1, u2, v2] = w
        .join_all([
            w.load(matrix, elements.places),
            w.load(u[0], elements.rows),
            w.load(v[0], elements.columns),
            w.load(u[1], elements.rows),
            w.load(v[1], elements.columns),
        ])
        .await;
    w.alu(3).await;
    w.store_where(elements.inside, matrix, elements.places, old + (u1 * v1 + u2 * v2));
}

impl Workload for Gemv {
    fn name(&self) -> &'static str {
        "gemv"
    }

    fn title(&self) -> &'static str {
        "Vector multiplication and matrix addition"
    }

    fn summary(&self) -> &'static str {
        "Adds to every element of a matrix, then multiplies it by vectors down its columns and along its rows."
    }

    fn suite(&self) -> Suite {
        Suite::PolyBench
    }

    fn papers(&self) -> &'static [Paper] {
        &[Paper::Rec]
    }

    fn source(&self) -> &'static str {
        "Ko et al., REC, section 5.1, Table 3 (GEMV); PolyBench/GPU GEMVER (Grauer-Gray et al., InPar 2012)"
    }

    fn sizes(&self) -> &'static [SizeSpec] {
        &SIZES
    }

    fn build(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
        let (rows, waves_per_group) = (sizes.get("side"), sizes.get("waves_per_group"));
        let mut generator = SplitMix64::new(seed);
        let mut draw = |len: u32| (0..len).map(|_| generator.between_f32(-1.0, 1.0)).collect::<Vec<f32>>();
        let mut elements = draw(rows * rows);
        let [u1, u2, v1, v2, of_y, of_z] = std::array::from_fn(|_| draw(rows));
        let matrix = memory.alloc_from(&elements);
        let [u, v] = [[&u1, &u2], [&v1, &v2]].map(|pair| pair.map(|values| memory.alloc_from(values)));
        let [y, z] = [&of_y, &of_z].map(|values| memory.alloc_from(values));
        let [x, w] = std::array::from_fn(|_| memory.alloc(rows as usize));
        let add = Update { matrix, u, v };
        let square = MatrixVector { rows, columns: rows, matrix, vector: y, factor: BETA, addend: Some(z), target: x };
        let down = square;
        let along = MatrixVector { vector: x, factor: ALPHA, addend: None, target: w, ..square };

        for (row, (u1, u2)) in elements.chunks_exact_mut(rows as usize).zip(u1.iter().zip(&u2)) {
            for (element, (v1, v2)) in row.iter_mut().zip(v1.iter().zip(&v2)) {
                *element += u1 * v1 + u2 * v2;
            }
        }
        let zeros = vec![0.0; rows as usize];
        let of_x = down.reference_by_columns(&elements, &of_y, &of_z, &zeros);
        let of_w = along.reference_by_rows(&elements, &of_x, &[], &zeros);
        let kernels = vec![
            add.kernel(rows),
            down.by_columns("gemver_kernel2", waves_per_group),
            along.by_rows("gemver_kernel3", waves_per_group),
        ];
        let outputs = [("A", matrix, elements), ("x", x, of_x), ("w", w, of_w)];
        HostProgram::new(
            kernels,
            outputs.iter().map(|(name, buf, expected)| Output::new(name, *buf, expected)).collect(),
        )
    }
}
