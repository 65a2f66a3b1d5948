//! Programs of Pannotia (Che et al., IISWC 2013).

mod bc;
mod color;
mod fw;
mod mesh_size;
mod pr_collab;
mod sssp;
pub(crate) mod vertex_parts;

use crate::registry::Workload;

pub(crate) static WORKLOADS: &[&dyn Workload] = &[&bc::Bc, &color::Color, &fw::Fw, &pr_collab::PrCollab, &sssp::Sssp];
