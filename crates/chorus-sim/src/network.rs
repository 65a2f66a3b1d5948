//! The network of a module whose messages share links: the nodes of its controllers, and the links from each to each.
//!
//! A mesh gives the latency of whole routes, of which every hop takes its share. On the other networks every link has a
//! latency, and a route takes their sum. The two links of a switch share its latency. A crossbar has no links that
//! messages share, and so it is no network of this kind. Traffic between a bank and memory takes no link.

use chorus_protocol::address::Topology;
use chorus_system::{Dragonfly, Mesh, NetworkKind};

use crate::clock::{Clock, Ticks};
use crate::placement;
use crate::routes::{Link, Routes};

/// The most nodes of a network. The links between so many can be numbered, whatever the form of the network.
pub const NODES_MAX: u32 = 256;

/// The tile of a mesh that has the memory controller.
const MEMORY_TILE: u16 = 0;

/// A link on the route of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// The number of the link.
    pub link: u16,
    /// The time from the port of the message to the link, if it waits nowhere.
    pub after: Ticks,
}

/// The way from one node to another.
#[derive(Clone, Debug)]
struct Route {
    hops: Vec<Hop>,
    latency: Ticks,
}

/// The network of a module. All modules of a machine have the same.
#[derive(Clone, Debug)]
pub struct Network {
    /// The node of each controller.
    nodes: Vec<u16>,
    /// Whether a controller is a bank or the translation unit of one.
    banks: Vec<bool>,
    /// The routes from each node to each other.
    routes: Vec<Route>,
    /// The number of nodes that routes begin and end at.
    ends: u16,
    links: usize,
    /// The latency of a message, beside that of its hops.
    latency: Ticks,
    /// The latency of a message between two banks, beside that of its hops.
    bank_latency: Ticks,
    /// The node of the memory controller, where there is one for all banks.
    memory: Option<u16>,
}

impl Network {
    /// The network of a module of this kind, if its messages share links.
    pub fn new(kind: &NetworkKind, topology: Topology, clock: Clock) -> Option<Network> {
        let nodes = placement::nodes(topology);
        let cycles = |cycles: u32| clock.cycles(u64::from(cycles));
        let of_links =
            |routes: Routes, latency: &dyn Fn(&Link) -> Ticks| Some(Network::of_links(topology, &routes, latency));
        match kind {
            NetworkKind::Crossbar(_) => None,
            NetworkKind::Mesh(mesh) => Some(Network::mesh(mesh, topology, clock)),
            NetworkKind::Ring(ring) => of_links(Routes::ring(nodes), &|_| cycles(ring.hop_cycles)),
            NetworkKind::FullyConnected(direct) => {
                of_links(Routes::fully_connected(nodes), &|_| cycles(direct.latency_cycles))
            }
            NetworkKind::Switch(direct) => {
                let (whole, to_switch) = (direct.latency_cycles, direct.latency_cycles / 2);
                let part = |link: &Link| if link.to == nodes { to_switch } else { whole - to_switch };
                of_links(Routes::switch(nodes), &|link| cycles(part(link)))
            }
            NetworkKind::Dragonfly(dragonfly) => {
                let (groups, size) = groups(dragonfly, nodes);
                of_links(Routes::dragonfly(groups, size), &|link| cycles(dragonfly_cycles(dragonfly, size, link)))
            }
        }
    }

    fn mesh(mesh: &Mesh, topology: Topology, clock: Clock) -> Network {
        let width = mesh.width as u16;
        let longest = 2 * (u64::from(width) - 1);
        // Whole cycles, rounded down.
        let cycles = |hops: usize| u64::from(mesh.diameter_cycles) * hops as u64 / longest;
        let routes = Routes::mesh(width, width);
        Network {
            nodes: placement::on_mesh(topology, width),
            banks: placement::are_banks(topology),
            routes: all_routes(&routes, |passed| clock.cycles(cycles(passed.len()))),
            ends: routes.ends(),
            links: routes.links().len(),
            latency: clock.cycles(u64::from(mesh.latency_cycles)),
            bank_latency: clock.cycles(u64::from(mesh.bank_latency_cycles.unwrap_or(mesh.latency_cycles))),
            memory: Some(MEMORY_TILE),
        }
    }

    /// A network whose latency is that of its links.
    fn of_links(topology: Topology, routes: &Routes, latency: &dyn Fn(&Link) -> Ticks) -> Network {
        let after = |passed: &[u16]| passed.iter().map(|&link| latency(&routes.links()[usize::from(link)])).sum();
        let mut all = all_routes(routes, after);
        let least = all.iter().filter(|route| !route.hops.is_empty()).map(|route| route.latency).min().unwrap_or(0);
        // Whatever goes from a node to itself passes the router there.
        all.iter_mut().filter(|route| route.hops.is_empty()).for_each(|route| route.latency = least);
        Network {
            nodes: placement::in_turn(topology),
            banks: placement::are_banks(topology),
            routes: all,
            ends: routes.ends(),
            links: routes.links().len(),
            latency: 0,
            bank_latency: 0,
            memory: None,
        }
    }

    /// The number of links.
    pub fn links(&self) -> usize {
        self.links
    }

    fn route(&self, from: u16, to: u16) -> &Route {
        self.between(self.nodes[usize::from(from)], self.nodes[usize::from(to)])
    }

    fn between(&self, from: u16, to: u16) -> &Route {
        &self.routes[usize::from(from) * usize::from(self.ends) + usize::from(to)]
    }

    /// The links from a controller to another, in their order.
    #[inline]
    pub fn hops(&self, from: u16, to: u16) -> &[Hop] {
        &self.route(from, to).hops
    }

    /// The latency from one controller to another, without serialisation and queueing.
    pub fn leg(&self, from: u16, to: u16) -> Ticks {
        let between_banks = self.banks[usize::from(from)] && self.banks[usize::from(to)];
        let fixed = if between_banks { self.bank_latency } else { self.latency };
        fixed + self.route(from, to).latency
    }

    /// A latency that no two controllers are below.
    pub fn least_leg(&self) -> Ticks {
        let hops = self.routes.iter().map(|route| route.latency).min().unwrap_or(0);
        hops + self.latency.min(self.bank_latency)
    }

    /// The latency of the hops between a controller and the memory controller. Where every bank has a memory controller
    /// of its own, there are none.
    pub fn memory_leg(&self, from: u16) -> Ticks {
        self.memory.map_or(0, |memory| self.between(self.nodes[usize::from(from)], memory).latency)
    }
}

/// The nodes of a network of this kind inside a module of a machine, routers without a controller included.
pub fn nodes_of(kind: &NetworkKind, topology: Topology) -> u32 {
    let nodes = placement::nodes(topology);
    match kind {
        NetworkKind::Crossbar(_) | NetworkKind::Ring(_) | NetworkKind::FullyConnected(_) | NetworkKind::Switch(_) => {
            u32::from(nodes)
        }
        NetworkKind::Mesh(mesh) => mesh.width * mesh.width,
        NetworkKind::Dragonfly(dragonfly) => {
            let (groups, size) = groups(dragonfly, nodes);
            u32::from(groups) * u32::from(size)
        }
    }
}

/// The number of groups of a dragonfly and their size. The last group may have routers without a controller.
fn groups(dragonfly: &Dragonfly, nodes: u16) -> (u16, u16) {
    let size = (dragonfly.group_size as u16).min(nodes);
    (nodes.div_ceil(size), size)
}

/// The latency of a link of a dragonfly with groups of this size, in cycles.
pub fn dragonfly_cycles(dragonfly: &Dragonfly, size: u16, link: &Link) -> u32 {
    if link.from / size == link.to / size { dragonfly.local_cycles } else { dragonfly.global_cycles }
}

/// The routes from each node to each other. `after` gives the time that the links at the beginning of a route take.
fn all_routes(routes: &Routes, after: impl Fn(&[u16]) -> Ticks) -> Vec<Route> {
    let route = |from: u16, to: u16| {
        let links = routes.route(from, to);
        let hop = |(passed, &link): (usize, &u16)| Hop { link, after: after(&links[..passed]) };
        Route { hops: links.iter().enumerate().map(hop).collect(), latency: after(links) }
    };
    let route = &route;
    (0..routes.ends()).flat_map(|from| (0..routes.ends()).map(move |to| route(from, to))).collect()
}

#[cfg(test)]
mod tests {
    use chorus_protocol::address::LineAddr;
    use chorus_protocol::registry::Structure;
    use chorus_system::{Clocks, Direct, Ring, Scale, resolve};

    use super::*;
    use crate::clock::ClockDomains;

    fn mesh(structure: Structure) -> (Network, Topology) {
        let config = resolve("spandex-hier", Scale::Paper, &[]).unwrap().config;
        let topology = structure.complete(Topology { cpus: 8, ..Topology::one_gpu(24, 16) });
        let clock = ClockDomains::of(&config).network;
        (Network::new(&config.network.kind, topology, clock).unwrap(), topology)
    }

    /// A network of six caches and two banks with one tick per cycle. Banks lie on nodes 2 and 6.
    fn network(kind: NetworkKind) -> (Network, Topology) {
        let clocks = Clocks { core_mhz: 700, network_mhz: 700, l2_mhz: 700, dram_mhz: 700 };
        let topology = Topology::one_gpu(6, 2);
        (Network::new(&kind, topology, ClockDomains::new(&clocks).network).unwrap(), topology)
    }

    /// The latencies from the first bank to all caches, and the numbers of links.
    fn from_bank(kind: NetworkKind) -> Vec<(Ticks, usize)> {
        let (network, topology) = network(kind);
        let bank = topology.l2(0).0;
        (0..6).map(|cache| (network.leg(bank, cache), network.hops(bank, cache).len())).collect()
    }

    #[test]
    fn a_leg_from_corner_to_corner_takes_the_diameter_and_one_within_a_tile_no_hops() {
        let (mesh, topology) = mesh(Structure::ThreeLevels);
        let (corner, bank) = (topology.l1(8).0, |index| topology.l2(index).0);
        let hops = |to| mesh.leg(corner, to) - mesh.leg(corner, bank(0));
        assert_eq!((mesh.hops(corner, bank(15)).len(), hops(bank(15))), (6, 16 * 7));
        assert_eq!([1, 2, 3].map(|column| hops(bank(column))), [2 * 7, 5 * 7, 8 * 7]);
        assert_eq!(mesh.memory_leg(bank(15)), 16 * 7);
        assert_eq!(mesh.least_leg(), mesh.leg(bank(0), topology.l3(0).0));
    }

    #[test]
    fn the_l3_bank_of_a_line_lies_in_the_column_of_its_l2_bank_in_every_row() {
        let (mesh, topology) = mesh(Structure::ThreeLevels);
        for bank in 0..16 {
            let lines = (0..64).map(|line| LineAddr(line * 16 + bank));
            let distance = |line| mesh.hops(topology.home(line).0, topology.llc(line).0).len();
            let mut hops: Vec<usize> = lines.map(distance).collect();
            hops.sort_unstable();
            hops.dedup();
            let rows_away = if (4..12).contains(&bank) { 2 } else { 3 };
            assert_eq!(hops, (0..=rows_away).collect::<Vec<usize>>(), "bank {bank}");
        }
    }

    #[test]
    fn on_a_ring_every_hop_counts() {
        // Caches lie on nodes 0, 1, 3, 4, 5 and 7.
        let expected = [(6, 2), (3, 1), (3, 1), (6, 2), (9, 3), (9, 3)];
        assert_eq!(from_bank(NetworkKind::Ring(Ring { hop_cycles: 3 })), expected);
    }

    #[test]
    fn all_are_as_far_from_each_other_where_links_or_a_switch_join_them() {
        assert_eq!(from_bank(NetworkKind::FullyConnected(Direct { latency_cycles: 5 })), [(5, 1); 6]);
        assert_eq!(from_bank(NetworkKind::Switch(Direct { latency_cycles: 5 })), [(5, 2); 6]);
        let (network, topology) = network(NetworkKind::Switch(Direct { latency_cycles: 5 }));
        let after: Vec<Ticks> = network.hops(0, topology.l2(0).0).iter().map(|hop| hop.after).collect();
        assert_eq!((after, network.least_leg(), network.memory_leg(0)), (vec![0, 2], 5, 0));
    }

    #[test]
    fn a_dragonfly_has_near_and_far_links_and_its_last_group_may_have_room() {
        // Groups of three: nodes 0 to 2, 3 to 5, 6 to 8. The links from the first group begin at nodes 0 and 1.
        let kind = NetworkKind::Dragonfly(Dragonfly { group_size: 3, local_cycles: 2, global_cycles: 10 });
        let (network, _) = network(kind.clone());
        assert_eq!((network.links(), network.least_leg()), (3 * 6 + 6, 2));
        let distances: Vec<Ticks> = from_bank(kind.clone()).into_iter().map(|(latency, _)| latency).collect();
        assert_eq!(distances[..2], [2, 2]);
        assert!(distances[2..].iter().all(|latency| (12..=14).contains(latency)), "{distances:?}");
        assert_eq!(nodes_of(&kind, Topology::one_gpu(6, 2)), 9);
    }
}
