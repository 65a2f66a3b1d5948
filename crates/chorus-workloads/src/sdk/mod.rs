//! Samples that GPU vendors ship with their development kits.

mod bitonic;
mod rg;
mod sc;
mod square;

use crate::registry::Workload;

pub(crate) static WORKLOADS: &[&dyn Workload] = &[&bitonic::Bitonic, &rg::Rg, &sc::Sc, &square::Square];
