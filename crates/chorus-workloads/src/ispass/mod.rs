//! Programs of the ISPASS 2009 suite (Bakhoda et al.).

mod lps;

use crate::registry::Workload;

pub(crate) static WORKLOADS: &[&dyn Workload] = &[&lps::Lps];
