//! Synthetic programs in which CPU and GPU share data in one pattern.

mod indirection;
mod reuse_o;
mod reuse_s;

use crate::registry::Workload;

pub(crate) static WORKLOADS: &[&dyn Workload] = &[&indirection::Indirection, &reuse_o::ReuseO, &reuse_s::ReuseS];
