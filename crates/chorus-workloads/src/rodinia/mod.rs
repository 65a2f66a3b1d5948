//! Programs of Rodinia (Che et al., IISWC 2009).

mod backprop;
mod bfs;
mod btree;
mod dwt2d;
mod gaussian;
mod hotspot;
mod hotspot3d;
mod hsp;
mod kmn;
mod lud;
mod ndl;
pub(crate) mod needleman_wunsch;
mod nw;
mod pathfinder;
mod sr;
mod srad;

use crate::registry::Workload;

pub(crate) static WORKLOADS: &[&dyn Workload] = &[
    &backprop::Backprop,
    &bfs::Bfs,
    &btree::Btree,
    &dwt2d::Dwt2d,
    &gaussian::Gaussian,
    &hotspot::Hotspot,
    &hotspot3d::Hotspot3d,
    &hsp::Hsp,
    &kmn::Kmn,
    &lud::Lud,
    &ndl::Ndl,
    &nw::Nw,
    &pathfinder::Pathfinder,
    &sr::Sr,
    &srad::Srad,
];
