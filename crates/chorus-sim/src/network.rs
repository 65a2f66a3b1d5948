//! The network of a module, which carries messages from cache to cache. It is one crossbar per direction, or one
//! network that connects every cache with every other.
//!
//! One network for all is a mesh. It is a crossbar where the machine has crossbars and the protocol has translation
//! units, which talk to each other. Such a network takes every message that it is given. Messages that wait for a link
//! wait in a router, and messages that have arrived wait at their destination, without a bound. So caches of several
//! levels cannot wait for each other's ports in a circle.

use chorus_protocol::address::{Role, Topology};
use chorus_system::SystemConfig;

use crate::clock::{ClockDomains, Ticks};
use crate::crossbar::Crossbar;
use crate::mesh::Mesh;

/// The network of a module.
#[derive(Clone, Debug)]
pub struct Interconnect {
    /// The crossbar for messages of private caches, or the one network for all messages.
    requests: Crossbar,
    /// The crossbar for messages of banks.
    responses: Crossbar,
    is_one: bool,
    /// The ports of banks and of translation units begin here.
    first_bank: u16,
    first_tu: u16,
    mesh: Option<Mesh>,
}

impl Interconnect {
    /// The idle network of a machine whose protocol has `networks` virtual networks.
    pub fn new(config: &SystemConfig, topology: Topology, virtual_networks: u8, clocks: &ClockDomains) -> Interconnect {
        let crossbar =
            |inputs, outputs| Crossbar::new(inputs, outputs, virtual_networks, &config.network, clocks.network);
        let mesh = config.network.mesh().map(|mesh| Mesh::new(mesh, topology, clocks.network));
        if mesh.is_none() && topology.tus == 0 {
            let (l1s, banks) = (topology.l1s, topology.l2s);
            return Interconnect {
                requests: crossbar(l1s, banks),
                responses: crossbar(banks, l1s),
                is_one: false,
                first_bank: 0,
                first_tu: 0,
                mesh: None,
            };
        }
        let ports = topology.controllers();
        Interconnect {
            requests: crossbar(ports, ports).connecting_all(mesh.as_ref()),
            responses: crossbar(0, 0),
            is_one: true,
            first_bank: topology.l1s,
            first_tu: topology.tu(0).0,
            mesh,
        }
    }

    /// The network that carries the messages of role `from`.
    #[inline]
    pub fn crossbar(&self, from: Role) -> &Crossbar {
        if from == Role::L1 || self.is_one { &self.requests } else { &self.responses }
    }

    /// The network that carries the messages of role `from`, mutably.
    #[inline]
    pub fn crossbar_mut(&mut self, from: Role) -> &mut Crossbar {
        if from == Role::L1 || self.is_one { &mut self.requests } else { &mut self.responses }
    }

    /// The port of the cache, bank or translation unit with this role and index.
    #[inline]
    pub fn port(&self, role: Role, index: u16) -> u16 {
        match role {
            Role::L1 => index,
            Role::L2 | Role::L3 | Role::Memory => self.first_bank + index,
            Role::Tu => self.first_tu + index,
        }
    }

    /// Routers that a message passes on a mesh: one more than hops.
    #[inline]
    pub fn routers(&self, from: (Role, u16), to: (Role, u16)) -> Option<u64> {
        let mesh = self.mesh.as_ref()?;
        Some(1 + u64::from(mesh.hops(self.port(from.0, from.1), self.port(to.0, to.1))))
    }

    /// The latency between bank `index` and the memory controller.
    pub fn memory_leg(&self, index: u16) -> Ticks {
        self.mesh.as_ref().map_or(0, |mesh| mesh.memory_leg(self.port(Role::L2, index)))
    }
}
