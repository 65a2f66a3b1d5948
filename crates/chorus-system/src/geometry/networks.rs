//! Which networks and links can exist.

use super::{COUNT_MAX, Check, ENTRIES_MAX, LATENCY_CYCLES_MAX, between, require, require_with};
use crate::networks::{Dragonfly, Link, LinkKind, Mesh, Network, NetworkKind};

/// Most tiles of a row.
const MESH_WIDTH_MAX: u32 = 16;

/// Checks the links of one level, whose nodes are modules or GPUs.
pub(super) fn check_link(table: &str, link: Option<&Link>, nodes: u32) -> Check {
    let Some(link) = link else { return Ok(()) };
    let key = |name: &str| format!("{table}.{name}");
    require(link.megabytes_per_second >= 1, &key("megabytes_per_second"), link.megabytes_per_second, "1 or more")?;
    match &link.kind {
        LinkKind::FullyConnected(direct) | LinkKind::Switch(direct) => {
            between(&key("latency_cycles"), direct.latency_cycles, 1, LATENCY_CYCLES_MAX)?;
        }
        LinkKind::Ring(ring) => between(&key("hop_cycles"), ring.hop_cycles, 1, LATENCY_CYCLES_MAX)?,
        LinkKind::Mesh(grid) => {
            check_division(&key("width"), grid.width, nodes)?;
            between(&key("hop_cycles"), grid.hop_cycles, 1, LATENCY_CYCLES_MAX)?;
        }
        LinkKind::Dragonfly(dragonfly) => {
            check_division(&key("group_size"), dragonfly.group_size, nodes)?;
            check_dragonfly(table, dragonfly)?;
        }
    }
    require(link.queue_bytes >= 1, &key("queue_bytes"), link.queue_bytes, "1 or more")
}

/// Checks that the nodes of a level make whole rows or groups.
fn check_division(key: &str, size: u32, nodes: u32) -> Check {
    let accepted = format!("a divisor of the {nodes} nodes that the links join");
    let holds = size > 0 && nodes.is_multiple_of(size);
    require_with(holds, key, size, accepted, &["hierarchy.gpus", "hierarchy.gpms"])
}

fn check_dragonfly(table: &str, dragonfly: &Dragonfly) -> Check {
    let key = |name: &str| format!("{table}.{name}");
    between(&key("group_size"), dragonfly.group_size, 1, COUNT_MAX)?;
    between(&key("local_cycles"), dragonfly.local_cycles, 1, LATENCY_CYCLES_MAX)?;
    between(&key("global_cycles"), dragonfly.global_cycles, 1, LATENCY_CYCLES_MAX)
}

pub(super) fn check_network(network: &Network) -> Check {
    between("network.flit_bytes", network.flit_bytes, 1, COUNT_MAX)?;
    require_with(
        network.header_bytes <= network.flit_bytes,
        "network.header_bytes",
        network.header_bytes,
        format!("at most network.flit_bytes = {}, since a header travels in one flit", network.flit_bytes),
        &["network.flit_bytes"],
    )?;
    match &network.kind {
        NetworkKind::Crossbar(direct) | NetworkKind::FullyConnected(direct) | NetworkKind::Switch(direct) => {
            between("network.latency_cycles", direct.latency_cycles, 1, LATENCY_CYCLES_MAX)?;
        }
        NetworkKind::Mesh(mesh) => check_mesh(mesh)?,
        NetworkKind::Ring(ring) => between("network.hop_cycles", ring.hop_cycles, 1, LATENCY_CYCLES_MAX)?,
        NetworkKind::Dragonfly(dragonfly) => check_dragonfly("network", dragonfly)?,
    }
    between("network.vc_buffer_flits", network.vc_buffer_flits, 1, ENTRIES_MAX)
}

fn check_mesh(mesh: &Mesh) -> Check {
    between("network.width", mesh.width, 2, MESH_WIDTH_MAX)?;
    between("network.latency_cycles", mesh.latency_cycles, 1, LATENCY_CYCLES_MAX)?;
    between("network.diameter_cycles", mesh.diameter_cycles, 0, LATENCY_CYCLES_MAX)?;
    match mesh.bank_latency_cycles {
        Some(cycles) => between("network.bank_latency_cycles", cycles, 1, LATENCY_CYCLES_MAX),
        None => Ok(()),
    }
}
