//! Programs of LonestarGPU (Burtscher, Nasre and Pingali, IISWC 2012).

mod bfs;
mod bh;
mod mst;

use crate::registry::Workload;

pub(crate) static WORKLOADS: &[&dyn Workload] = &[&bfs::Bfs, &bh::Bh, &mst::Mst];
