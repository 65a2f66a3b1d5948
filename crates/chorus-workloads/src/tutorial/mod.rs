//! The tutorial kernel, which no paper uses.

mod saxpy;

use crate::registry::Workload;

pub(crate) static WORKLOADS: &[&dyn Workload] = &[&saxpy::Saxpy];
