//! Programs of PolyBench/GPU (Grauer-Gray et al., InPar 2012).

mod atax;
mod c2d;
pub(crate) mod element_grid;
mod gemm;
mod gemv;
mod j2d;
mod lu;
pub(crate) mod matrix_vector;
mod mm2;
mod mm3;
pub(crate) mod naive_product;

use crate::registry::Workload;

pub(crate) static WORKLOADS: &[&dyn Workload] =
    &[&atax::Atax, &c2d::C2d, &gemm::Gemm, &gemv::Gemv, &j2d::J2d, &lu::Lu, &mm2::Mm2, &mm3::Mm3];
