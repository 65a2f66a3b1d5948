//! Networks of a machine: between the caches of a module, between the modules of a GPU, and between GPUs.

use serde::Deserialize;

/// The network that connects the private caches and banks of a module.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Network {
    /// The form of the network.
    pub kind: NetworkKind,
    /// Bytes of a flit; every port and every link moves one flit per cycle.
    pub flit_bytes: u32,
    /// Bytes of a message header, counted as traffic; it travels in a flit of its own.
    pub header_bytes: u32,
    /// Buffer of one virtual channel of a crossbar, in flits. On networks of shared links: the number of messages that
    /// may wait at a port before the controller behind it takes no more inputs.
    pub vc_buffer_flits: u32,
}

/// The form of a module's network, with its distances in network cycles.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NetworkKind {
    /// One crossbar per direction, between private caches and banks.
    Crossbar(Direct),
    /// A square mesh of tiles, which carries messages from every cache to every other.
    Mesh(Mesh),
    /// A ring of routers, one for every cache and bank.
    Ring(Ring),
    /// A link from every cache and bank to every other.
    FullyConnected(Direct),
    /// One switch, to which every cache and bank has a link.
    Switch(Direct),
    /// Groups of routers: every router has links to its group, and every group has links to all others.
    Dragonfly(Dragonfly),
}

impl Network {
    /// The latency between nearest neighbours, from the input port to the output port, without serialisation and
    /// queueing. On a mesh: of a way without hops.
    pub fn latency_cycles(&self) -> u32 {
        match &self.kind {
            NetworkKind::Crossbar(direct) | NetworkKind::FullyConnected(direct) | NetworkKind::Switch(direct) => {
                direct.latency_cycles
            }
            NetworkKind::Mesh(mesh) => mesh.latency_cycles,
            NetworkKind::Ring(ring) => ring.hop_cycles,
            NetworkKind::Dragonfly(dragonfly) => dragonfly.local_cycles,
        }
    }

    /// The mesh, where the network is one.
    pub fn mesh(&self) -> Option<&Mesh> {
        match &self.kind {
            NetworkKind::Mesh(mesh) => Some(mesh),
            NetworkKind::Crossbar(_)
            | NetworkKind::Ring(_)
            | NetworkKind::FullyConnected(_)
            | NetworkKind::Switch(_)
            | NetworkKind::Dragonfly(_) => None,
        }
    }
}

impl NetworkKind {
    /// Whether messages pass a router at every node on their way.
    pub fn has_routers(&self) -> bool {
        match self {
            NetworkKind::Mesh(_) | NetworkKind::Ring(_) | NetworkKind::Dragonfly(_) => true,
            NetworkKind::Crossbar(_) | NetworkKind::FullyConnected(_) | NetworkKind::Switch(_) => false,
        }
    }

    /// The name of the kind in system files.
    pub fn name(&self) -> &'static str {
        match self {
            NetworkKind::Crossbar(_) => "crossbar",
            NetworkKind::Mesh(_) => "mesh",
            NetworkKind::Ring(_) => "ring",
            NetworkKind::FullyConnected(_) => "fully-connected",
            NetworkKind::Switch(_) => "switch",
            NetworkKind::Dragonfly(_) => "dragonfly",
        }
    }
}

/// The links of one level: between the modules of a GPU, or between GPUs. Every module, or every GPU, is a node.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// The form of the network that the links make.
    pub kind: LinkKind,
    /// Bandwidth of one port or link in one direction, in millions of bytes per second.
    pub megabytes_per_second: u32,
    /// Limit of the bytes that wait at an outgoing port. Above it, the L2 banks behind the port take no more stores and
    /// atomics of their own compute units.
    pub queue_bytes: u32,
}

/// The form of a network between modules or GPUs, with its distances in network cycles.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LinkKind {
    /// Every node reaches every other in one hop. Its outgoing port and its incoming port are shared by all its hops.
    FullyConnected(Direct),
    /// One switch, to which every node has an outgoing port and an incoming port.
    Switch(Direct),
    /// A ring: every node has a port to each of its two neighbours.
    Ring(Ring),
    /// A mesh of rows and columns: every node has a port to each of its neighbours.
    Mesh(Grid),
    /// Groups of nodes: every node has links to its group, and every group has links to all others.
    Dragonfly(Dragonfly),
}

impl LinkKind {
    /// Whether messages pass several nodes on their way, and every link is a port of its own.
    pub fn is_routed(&self) -> bool {
        match self {
            LinkKind::Ring(_) | LinkKind::Mesh(_) | LinkKind::Dragonfly(_) => true,
            LinkKind::FullyConnected(_) | LinkKind::Switch(_) => false,
        }
    }

    /// The ports at which messages leave the nodes of one network: one for every node, or one for every link.
    pub fn ports(&self, nodes: u32) -> u32 {
        match self {
            LinkKind::FullyConnected(_) | LinkKind::Switch(_) => nodes,
            LinkKind::Ring(_) if nodes <= 2 => nodes * (nodes - 1),
            LinkKind::Ring(_) => 2 * nodes,
            LinkKind::Mesh(grid) => {
                let rows = nodes / grid.width;
                2 * (rows * (grid.width - 1) + grid.width * (rows - 1))
            }
            LinkKind::Dragonfly(dragonfly) => {
                let groups = nodes / dragonfly.group_size;
                nodes * (dragonfly.group_size - 1) + groups * (groups - 1)
            }
        }
    }

    /// The name of the kind in system files.
    pub fn name(&self) -> &'static str {
        match self {
            LinkKind::FullyConnected(_) => "fully-connected",
            LinkKind::Switch(_) => "switch",
            LinkKind::Ring(_) => "ring",
            LinkKind::Mesh(_) => "mesh",
            LinkKind::Dragonfly(_) => "dragonfly",
        }
    }
}

impl Link {
    /// The latency between nearest neighbours, from the outgoing to the incoming port, without serialisation and
    /// queueing.
    pub fn latency_cycles(&self) -> u32 {
        match &self.kind {
            LinkKind::FullyConnected(direct) | LinkKind::Switch(direct) => direct.latency_cycles,
            LinkKind::Ring(ring) => ring.hop_cycles,
            LinkKind::Mesh(grid) => grid.hop_cycles,
            LinkKind::Dragonfly(dragonfly) => dragonfly.local_cycles,
        }
    }
}

/// Distances where every node is as far from every other.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Direct {
    /// Network cycles from the outgoing to the incoming port, without serialisation and queueing.
    pub latency_cycles: u32,
}

/// Distances on a square mesh of tiles: as many rows as columns, one router per tile, minimal routes.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mesh {
    /// Tiles of a row.
    pub width: u32,
    /// Cycles from the input port to the output port, without serialisation, queueing and hops.
    pub latency_cycles: u32,
    /// Network cycles from corner to corner. A shorter route takes a proportional share of them.
    pub diameter_cycles: u32,
    /// Cycles like `latency_cycles`, but from bank to bank. A machine may leave them out: then they are the same.
    pub bank_latency_cycles: Option<u32>,
}

/// Distances on a mesh of rows and columns, one node at each crossing, minimal routes.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grid {
    /// Nodes of a row. The number of nodes is a multiple of it.
    pub width: u32,
    /// Network cycles of one hop.
    pub hop_cycles: u32,
}

/// Distances on a ring of nodes, on which messages take the shorter way.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ring {
    /// Network cycles of one hop.
    pub hop_cycles: u32,
}

/// Distances on a dragonfly: one hop in a group, or one between two groups and at most one in each of them.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dragonfly {
    /// Nodes of a group. Between modules and between GPUs, the number of nodes is a multiple of it.
    pub group_size: u32,
    /// Network cycles of a hop within a group.
    pub local_cycles: u32,
    /// Network cycles of a hop between groups.
    pub global_cycles: u32,
}
