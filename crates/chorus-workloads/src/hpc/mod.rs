//! Proxies and benchmarks of high-performance computing.

mod babelstream;
mod comd;
mod cusolver;
mod hacc;
mod hpgmg;
mod lulesh;
mod miniamr;
mod minicontact;
mod namd;
mod nekbone;
mod pennant;
mod snap;

use crate::registry::Workload;

pub(crate) static WORKLOADS: &[&dyn Workload] = &[
    &babelstream::BabelStream,
    &comd::Comd,
    &cusolver::CuSolver,
    &hacc::Hacc,
    &hpgmg::Hpgmg,
    &lulesh::Lulesh,
    &miniamr::MiniAmr,
    &minicontact::MiniContact,
    &namd::Namd,
    &nekbone::Nekbone,
    &pennant::Pennant,
    &snap::Snap,
];
