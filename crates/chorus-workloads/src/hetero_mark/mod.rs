//! Programs of Hetero-Mark (Sun et al., IISWC 2016).

mod fir;
pub(crate) mod pr;

use crate::registry::Workload;

pub(crate) static WORKLOADS: &[&dyn Workload] = &[&fir::Fir, &pr::PageRank];
