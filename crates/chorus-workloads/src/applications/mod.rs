//! Published applications that belong to no suite. Their work-groups exchange data within a kernel.

mod cc;
mod cl;
mod dlb;
mod stn;
mod vpr;

use crate::registry::Workload;

pub(crate) static WORKLOADS: &[&dyn Workload] = &[&cc::Cc, &cl::Cl, &dlb::Dlb, &stn::Stn, &vpr::Vpr];
