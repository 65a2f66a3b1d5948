//! The nodes of a module's network on which its caches and banks lie.
//!
//! On a square mesh, compute units, banks of the L2 and banks of the L3 take the tiles row by row, each kind from the
//! first tile on. CPU cores take the top row and then the bottom row. On other networks every cache and every bank has
//! a node of its own. Caches and banks are spread evenly among each other, each in the order of their numbers, so that
//! a ring never has all banks on one side. A bank of a coherent L3 follows the bank of the L2 with its number. A
//! translation unit lies with its cache everywhere.

use chorus_protocol::address::{AgentId, Role, Topology};

/// The tile of each controller on a square mesh.
pub fn on_mesh(topology: Topology, width: u16) -> Vec<u16> {
    controllers(topology).map(|agent| tile(topology, width, agent)).collect()
}

/// The number of nodes of a module where every cache and every bank has one.
pub fn nodes(topology: Topology) -> u16 {
    let (caches, banks) = of_module(topology);
    caches + banks
}

/// The node of each controller where caches and banks take nodes in turn.
pub fn in_turn(topology: Topology) -> Vec<u16> {
    controllers(topology).map(|agent| turn(topology, agent)).collect()
}

/// Whether a controller is a bank, or the translation unit of one.
pub fn are_banks(topology: Topology) -> Vec<bool> {
    controllers(topology).map(|agent| is_bank(topology, agent)).collect()
}

fn controllers(topology: Topology) -> impl Iterator<Item = AgentId> {
    (0..topology.controllers()).map(AgentId)
}

/// Private caches and banks of one module.
fn of_module(topology: Topology) -> (u16, u16) {
    (topology.l1s / topology.modules(), (topology.l2s + topology.l3s) / topology.modules())
}

fn tile(topology: Topology, width: u16, agent: AgentId) -> u16 {
    let (tiles, (caches, _)) = (width * width, of_module(topology));
    let place = match topology.role(agent) {
        (Role::L1, core) if topology.is_cpu(core) && core < width => core,
        (Role::L1, core) if topology.is_cpu(core) => core + tiles - 2 * width,
        (Role::L1, cache) => (cache - topology.cpus) % caches,
        (Role::L2 | Role::L3 | Role::Memory, bank) => bank % topology.banks_per_module(),
        (Role::Tu, unit) => tile(topology, width, topology.translated(unit)),
    };
    place % tiles
}

fn turn(topology: Topology, agent: AgentId) -> u16 {
    let (caches, banks) = of_module(topology);
    // Cache `i` of `n` lies at the fraction (2i + 1) / 2n of the way round, and so does a bank among banks. Where both
    // lie at the same fraction, the cache comes first.
    let at = |index: u16, of_others: u16| (2 * u32::from(index) + 1) * u32::from(of_others);
    let levels = if topology.l3s > 0 { 2 } else { 1 };
    let bank_at = |bank: u16| bank + (0..caches).filter(|&cache| at(cache, banks) <= at(bank, caches)).count() as u16;
    match topology.role(agent) {
        (Role::L1, cache) => {
            let cache = cache % caches;
            cache + (0..banks).filter(|&bank| at(bank, caches) < at(cache, banks)).count() as u16
        }
        (Role::L2 | Role::Memory, bank) => bank_at(bank * levels % banks),
        (Role::L3, bank) => bank_at((bank * levels + 1) % banks),
        (Role::Tu, unit) => turn(topology, topology.translated(unit)),
    }
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
    use chorus_protocol::registry::Structure;

    use super::*;

    #[test]
    fn cpu_cores_take_the_outer_rows_and_translation_units_lie_with_their_caches() {
        let topology = Structure::Translated.complete(Topology { cpus: 8, ..Topology::one_gpu(24, 16) });
        let tiles = on_mesh(topology, 4);
        let of = |agents: [AgentId; 4]| agents.map(|agent| tiles[usize::from(agent.0)]);
        assert_eq!(of([0, 3, 4, 7].map(|core| topology.l1(core))), [0, 3, 12, 15]);
        assert_eq!(of([8, 9, 22, 23].map(|cache| topology.l1(cache))), [0, 1, 14, 15]);
        assert_eq!(of([0, 4, 8, 23].map(|unit| topology.tu(unit))), [0, 12, 0, 15]);
    }

    #[test]
    fn banks_lie_among_caches_and_every_one_has_a_node_of_its_own() {
        for (caches, banks) in [(1, 1), (6, 2), (2, 6), (16, 8), (15, 7), (3, 1)] {
            let topology = Topology::one_gpu(caches, banks);
            let mut taken = in_turn(topology);
            taken.sort_unstable();
            assert!(taken.into_iter().eq(0..nodes(topology)), "{caches} caches and {banks} banks");
        }
        // Six caches and two banks: c c b c c c b c, where the second cache lies at the fraction of the first bank.
        let topology = Topology::one_gpu(6, 2);
        assert_eq!(in_turn(topology), [0, 1, 3, 4, 5, 7, 2, 6]);
    }

    #[test]
    fn modules_are_alike() {
        let topology = Topology { gpus: 2, gpms: 2, ..Topology::one_gpu(16, 8) };
        let nodes = in_turn(topology);
        assert_eq!(nodes[..4], nodes[12..16]);
        assert_eq!(nodes[16..18], nodes[22..24]);
        let tiles = on_mesh(topology, 2);
        assert_eq!((&tiles[12..16], &tiles[22..24]), (&[0, 1, 2, 3][..], &[0, 1][..]));
    }

    #[test]
    fn a_bank_of_the_l3_follows_its_bank_of_the_l2() {
        let topology = Structure::ThreeLevels.complete(Topology { cpus: 8, ..Topology::one_gpu(24, 16) });
        let places = in_turn(topology);
        let place = |agent: AgentId| places[usize::from(agent.0)];
        assert!((0..16).all(|bank| place(topology.l3(bank)) > place(topology.l2(bank))));
        assert!((0..15).all(|bank| place(topology.l3(bank)) < place(topology.l2(bank + 1))));
    }
}
