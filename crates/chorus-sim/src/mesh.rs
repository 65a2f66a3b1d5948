//! The positions of caches on a square mesh, and the distances between them.
//!
//! Compute units, banks of the L2 and banks of the L3 take the tiles row by row, each kind from the first tile on. CPU
//! cores take the top row and then the bottom row. A translation unit lies with its cache, and the memory controller in
//! the first tile. Messages take minimal routes (Spandex paper, Table VI: 16 banks of non-uniform distance).

use chorus_protocol::address::{AgentId, Role, Topology};
use chorus_system::Mesh as Distances;

use crate::clock::{Clock, Ticks};
use crate::links::Links;

/// The tile of the memory controller.
const MEMORY_TILE: u16 = 0;

/// The places of a machine's controllers on its mesh.
#[derive(Clone, Debug)]
pub struct Mesh {
    width: u16,
    /// The tile of each controller.
    tiles: Vec<u16>,
    /// Whether a controller is a bank or the translation unit of one.
    banks: Vec<bool>,
    /// The latency of each number of hops.
    hops: Vec<Ticks>,
    latency: Ticks,
    bank_latency: Ticks,
}

impl Mesh {
    /// The mesh of a machine with these distances.
    pub fn new(config: &Distances, topology: Topology, clock: Clock) -> Mesh {
        let width = config.width as u16;
        let longest = 2 * (width - 1);
        // Whole cycles, rounded down.
        let cycles = |hops: u16| u64::from(config.diameter_cycles) * u64::from(hops) / u64::from(longest);
        let controllers = || (0..topology.controllers()).map(AgentId);
        Mesh {
            width,
            tiles: controllers().map(|agent| tile(topology, width, agent)).collect(),
            banks: controllers().map(|agent| is_bank(topology, agent)).collect(),
            hops: (0..=longest).map(|hops| clock.cycles(cycles(hops))).collect(),
            latency: clock.cycles(u64::from(config.latency_cycles)),
            bank_latency: clock.cycles(u64::from(config.bank_latency_cycles.unwrap_or(config.latency_cycles))),
        }
    }

    /// Makes the idle links of the mesh.
    pub fn links(&self) -> Links {
        Links::new(self.width, self.tiles.clone(), self.hops.clone())
    }

    /// Hops from a controller to another.
    #[inline]
    pub fn hops(&self, from: u16, to: u16) -> u16 {
        self.distance(self.tiles[usize::from(from)], self.tiles[usize::from(to)])
    }

    fn distance(&self, from: u16, to: u16) -> u16 {
        (from / self.width).abs_diff(to / self.width) + (from % self.width).abs_diff(to % self.width)
    }

    /// The latency from one controller to another, without serialisation and queueing.
    pub fn leg(&self, from: u16, to: u16) -> Ticks {
        let between_banks = self.banks[usize::from(from)] && self.banks[usize::from(to)];
        let fixed = if between_banks { self.bank_latency } else { self.latency };
        fixed + self.hops[usize::from(self.hops(from, to))]
    }

    /// The least latency between any two controllers.
    pub fn least_leg(&self) -> Ticks {
        self.latency.min(self.bank_latency)
    }

    /// The latency of the hops between a controller and the memory controller.
    pub fn memory_leg(&self, from: u16) -> Ticks {
        self.hops[usize::from(self.distance(self.tiles[usize::from(from)], MEMORY_TILE))]
    }
}

/// The tile of a controller.
fn tile(topology: Topology, width: u16, agent: AgentId) -> u16 {
    let tiles = width * width;
    let place = match topology.role(agent) {
        (Role::L1, core) if topology.is_cpu(core) && core < width => core,
        (Role::L1, core) if topology.is_cpu(core) => core + tiles - 2 * width,
        (Role::L1, cache) => cache - topology.cpus,
        (Role::L2 | Role::L3 | Role::Memory, bank) => bank,
        (Role::Tu, unit) => tile(topology, width, topology.translated(unit)),
    };
    place % tiles
}

fn is_bank(topology: Topology, agent: AgentId) -> bool {
    match topology.role(agent) {
        (Role::L2 | Role::L3, _) => true,
        (Role::Tu, unit) => is_bank(topology, topology.translated(unit)),
        (Role::L1 | Role::Memory, _) => false,
    }
}

#[cfg(test)]
mod tests {
    use chorus_protocol::address::LineAddr;
    use chorus_protocol::registry::Structure;
    use chorus_system::{Scale, resolve};

    use super::*;
    use crate::clock::ClockDomains;

    fn mesh(structure: Structure) -> (Mesh, Topology) {
        let config = resolve("spandex-hier", Scale::Paper, &[]).unwrap().config;
        let topology = structure.complete(Topology { cpus: 8, ..Topology::one_gpu(24, 16) });
        let clock = ClockDomains::of(&config).network;
        (Mesh::new(config.network.mesh().unwrap(), topology, clock), topology)
    }

    #[test]
    fn cpu_cores_take_the_outer_rows_and_translation_units_lie_with_their_caches() {
        let (mesh, topology) = mesh(Structure::Translated);
        let tiles = |agents: [AgentId; 4]| agents.map(|agent| mesh.tiles[usize::from(agent.0)]);
        assert_eq!(tiles([0, 3, 4, 7].map(|core| topology.l1(core))), [0, 3, 12, 15]);
        assert_eq!(tiles([8, 9, 22, 23].map(|cache| topology.l1(cache))), [0, 1, 14, 15]);
        assert_eq!(tiles([0, 4, 8, 23].map(|unit| topology.tu(unit))), [0, 12, 0, 15]);
    }

    #[test]
    fn a_leg_from_corner_to_corner_takes_the_diameter_and_one_within_a_tile_no_hops() {
        let (mesh, topology) = mesh(Structure::ThreeLevels);
        let (corner, bank) = (topology.l1(8).0, |index| topology.l2(index).0);
        let hops = |to| mesh.leg(corner, to) - mesh.leg(corner, bank(0));
        assert_eq!((mesh.hops(corner, bank(15)), hops(bank(15))), (6, 16 * 7));
        assert_eq!([1, 2, 3].map(|column| hops(bank(column))), [2 * 7, 5 * 7, 8 * 7]);
    }

    #[test]
    fn the_l3_bank_of_a_line_lies_in_the_column_of_its_l2_bank_in_every_row() {
        let (mesh, topology) = mesh(Structure::ThreeLevels);
        for bank in 0..16 {
            let lines = (0..64).map(|line| LineAddr(line * 16 + bank));
            let mut hops: Vec<u16> = lines.map(|line| mesh.hops(topology.home(line).0, topology.llc(line).0)).collect();
            hops.sort_unstable();
            hops.dedup();
            let rows_away = if (4..12).contains(&bank) { 2 } else { 3 };
            assert_eq!(hops, (0..=rows_away).collect::<Vec<u16>>(), "bank {bank}");
        }
    }
}
