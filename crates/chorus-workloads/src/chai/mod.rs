//! Programs of Chai (Gómez-Luna et al., ISPASS 2017), in which CPU threads and work-groups collaborate.

mod hsti;
pub(crate) mod local_histogram;
mod rsct;
pub(crate) mod task_counter;
mod tqh;
mod trns;

use crate::registry::Workload;

pub(crate) static WORKLOADS: &[&dyn Workload] = &[&hsti::Hsti, &rsct::Rsct, &tqh::Tqh, &trns::Trns];
