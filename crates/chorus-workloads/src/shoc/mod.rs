//! Programs of SHOC (Danalis et al., GPGPU 2010).

mod st;

use crate::registry::Workload;

pub(crate) static WORKLOADS: &[&dyn Workload] = &[&st::St];
