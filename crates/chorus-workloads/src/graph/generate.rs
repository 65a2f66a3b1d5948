//! Graphs from a seed: like road networks, like meshes of solids, with a power law, and without any order.

use super::components::Components;
use super::{Edge, Graph};
use crate::generator::SplitMix64;

/// The share of adjacent crossings that a road connects directly, in percent.
const ROADS_PERCENT: u32 = 60;
/// The length of the longest road segment; the shortest is 1 long.
const LENGTH_MAX: u32 = 10_000;

/// A network like those of roads: `side` x `side` crossings on a map, with roads between some of those that are
/// adjacent, so that every crossing can be reached. As in the networks of the ninth DIMACS challenge, of which that
/// of Florida has 2.5 arcs per node, nodes have few neighbours, ways between them are long, and the numbering keeps
/// regions together: here crossings are counted along a Z-order curve. Weights are lengths.
pub fn road_like(side: u32, seed: u64) -> Graph {
    let mut generator = SplitMix64::new(seed);
    let number = z_order(side);
    let at = |x: u32, y: u32| number[(y * side + x) as usize];
    let mut components = Components::new(side * side);
    let (mut roads, mut gaps) = (Vec::new(), Vec::new());
    for y in 0..side {
        for x in 0..side {
            let east = (x + 1 < side).then(|| at(x + 1, y));
            let south = (y + 1 < side).then(|| at(x, y + 1));
            for to in [east, south].into_iter().flatten() {
                let from = at(x, y);
                let edge = Edge { from, to, weight: 1 + generator.below(LENGTH_MAX) };
                if generator.below(100) < ROADS_PERCENT {
                    components.join(from, to);
                    roads.push(edge);
                } else {
                    gaps.push(edge);
                }
            }
        }
    }
    // Parts that no road reaches are connected by roads anywhere.
    shuffle(&mut gaps, &mut generator);
    roads.extend(gaps.into_iter().filter(|edge| components.join(edge.from, edge.to)));
    Graph::from_edges(side * side, &roads, true)
}

/// The number of every point of a square, row by row, along the curve that interleaves the bits of both coordinates.
fn z_order(side: u32) -> Vec<u32> {
    let mut points: Vec<u32> = (0..side * side).collect();
    points.sort_unstable_by_key(|point| spread(point % side, 2) | spread(point / side, 2) << 1);
    let mut number = vec![0; points.len()];
    for (place, point) in (0..).zip(points) {
        number[point as usize] = place;
    }
    number
}

/// The bits of a coordinate, moved apart to make room for those of the other dimensions.
fn spread(value: u32, dimensions: u32) -> u32 {
    (0..u32::BITS / dimensions).fold(0, |bits, bit| bits | (value >> bit & 1) << (dimensions * bit))
}

/// Puts edges into any order.
fn shuffle(edges: &mut [Edge], generator: &mut SplitMix64) {
    for last in (1..edges.len()).rev() {
        edges.swap(last, generator.below(last as u32 + 1) as usize);
    }
}

/// A mesh like those that solids are cut into for finite elements: `nodes` points of a cubic lattice, all of them
/// connected, by `edges` edges between neighbours. Edges along the axes come first; those across the faces and through
/// the bodies of cells follow where there are not enough. An edge can be walked both ways. Points are counted along a
/// Z-order curve, so the numbering keeps regions together. No weights.
///
/// # Panics
///
/// When the edges are too few to connect all nodes or more than the lattice has.
pub fn mesh_like(nodes: u32, edges: u32, seed: u64) -> Graph {
    let mut generator = SplitMix64::new(seed);
    let side = (1..).find(|side| side * side * side >= nodes).unwrap_or(1);
    let code = |[x, y, z]: [u32; 3]| spread(x, 3) | spread(y, 3) << 1 | spread(z, 3) << 2;
    let cube = (0..side).flat_map(|z| (0..side).flat_map(move |y| (0..side).map(move |x| [x, y, z])));
    let mut points: Vec<[u32; 3]> = cube.collect();
    points.sort_by_cached_key(|&point| code(point));
    points.truncate(nodes as usize);
    let at = |[x, y, z]: [u32; 3]| ((z * side + y) * side + x) as usize;
    let mut number = vec![None; (side * side * side) as usize];
    for (place, &point) in (0..).zip(&points) {
        number[at(point)] = Some(place);
    }
    let [mut axes, mut diagonals] = [Vec::new(), Vec::new()];
    for (from, &[x, y, z]) in (0..).zip(&points) {
        // One of each pair of opposite neighbours, so that every edge is met once.
        for [dx, dy, dz] in DIRECTIONS {
            let to = [x.wrapping_add_signed(dx), y.wrapping_add_signed(dy), z.wrapping_add_signed(dz)];
            if to.iter().all(|&coordinate| coordinate < side)
                && let Some(to) = number[at(to)]
            {
                let list = if dx.abs() + dy.abs() + dz.abs() == 1 { &mut axes } else { &mut diagonals };
                list.push(Edge { from, to, weight: 1 });
            }
        }
    }
    shuffle(&mut axes, &mut generator);
    shuffle(&mut diagonals, &mut generator);
    let mut components = Components::new(nodes);
    let (mut chosen, rest): (Vec<Edge>, Vec<Edge>) =
        axes.into_iter().partition(|edge| components.join(edge.from, edge.to));
    assert!(chosen.len() <= edges as usize, "{edges} edges cannot connect {nodes} nodes");
    let missing = edges as usize - chosen.len();
    chosen.extend(rest.into_iter().chain(diagonals).take(missing));
    assert_eq!(chosen.len(), edges as usize, "edges between neighbours of a lattice of {nodes} nodes");
    Graph::from_edges(nodes, &chosen, false)
}

/// Half of the neighbours of a point in a cubic lattice, one of each opposite pair.
const DIRECTIONS: [[i32; 3]; 13] = [
    [-1, 0, 0],
    [0, -1, 0],
    [0, 0, -1],
    [-1, -1, 0],
    [1, -1, 0],
    [-1, 0, -1],
    [1, 0, -1],
    [0, -1, -1],
    [0, 1, -1],
    [-1, -1, -1],
    [1, -1, -1],
    [-1, 1, -1],
    [1, 1, -1],
];

/// A graph with a power law: 2^`scale` nodes, `edges_per_node` times as many edges, each of which falls into a quarter
/// of the adjacency matrix again and again until it is one entry (Chakrabarti, Zhan and Faloutsos, R-MAT, SDM 2004,
/// with the probabilities of the Graph 500 benchmark). Edges go both ways; repeated ones and loops are left out. No
/// weights.
pub fn rmat(scale: u32, edges_per_node: u32, seed: u64) -> Graph {
    /// In 100: both ends in the lower half, the first one only, the second one only.
    const QUARTERS: [u32; 3] = [57, 19, 19];
    let mut generator = SplitMix64::new(seed);
    let nodes = 1 << scale;
    let arcs: Vec<Edge> = (0..nodes * edges_per_node)
        .map(|_| {
            let (mut from, mut to) = (0, 0);
            for _ in 0..scale {
                let drawn = generator.below(100);
                let (low, first_low) = (QUARTERS[0], QUARTERS[0] + QUARTERS[1]);
                let second_low = first_low + QUARTERS[2];
                from = from << 1 | u32::from(drawn >= first_low);
                to = to << 1 | u32::from((low..first_low).contains(&drawn) || drawn >= second_low);
            }
            Edge { from, to, weight: 1 }
        })
        .collect();
    Graph::from_arcs(nodes, &arcs, false).undirected()
}

/// A graph without any order: `arcs_per_node` arcs per node, each from anywhere to anywhere, a loop perhaps; repeated
/// ones are left out. No weights.
pub fn uniform(nodes: u32, arcs_per_node: u32, seed: u64) -> Graph {
    let mut generator = SplitMix64::new(seed);
    let mut draw = |_| Edge { from: generator.below(nodes), to: generator.below(nodes), weight: 1 };
    let mut arcs: Vec<Edge> = (0..nodes * arcs_per_node).map(&mut draw).collect();
    arcs.sort_unstable();
    arcs.dedup();
    Graph::from_arcs(nodes, &arcs, false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_road_network_is_connected_sparse_and_wide() {
        let graph = road_like(64, 1);
        assert_eq!(graph.nodes(), 64 * 64);
        assert!(graph.components().iter().all(|&lowest| lowest == 0));
        let arcs_per_node = f64::from(graph.arcs()) / f64::from(graph.nodes());
        assert!((2.3..2.8).contains(&arcs_per_node), "{arcs_per_node} arcs per node");
        assert!((0..graph.nodes()).all(|node| graph.neighbours(node).len() <= 4));
        let farthest = graph.distances(0).into_iter().flatten().max();
        assert!(farthest > Some(2 * 63), "{farthest:?}");
        assert!(graph.weights().is_some_and(|weights| weights.iter().all(|weight| (1..=LENGTH_MAX).contains(weight))));
    }

    #[test]
    fn regions_of_a_road_network_have_adjacent_numbers() {
        let number = z_order(8);
        let mut quarter: Vec<u32> = (0..4).flat_map(|y| (0..4).map(move |x| y * 8 + x)).map(|at| number[at]).collect();
        quarter.sort_unstable();
        assert_eq!(quarter, (0..16).collect::<Vec<u32>>());
    }

    #[test]
    fn a_mesh_is_connected_has_the_edges_asked_for_and_only_short_ones() {
        for (nodes, edges) in [(1000, 1100), (1000, 2600), (777, 5000), (1, 0), (2, 1)] {
            let graph = mesh_like(nodes, edges, 1);
            assert_eq!((graph.nodes(), graph.arcs()), (nodes, 2 * edges));
            assert_eq!(graph.undirected_edges().len(), edges as usize, "no edge comes twice");
            assert!(graph.components().iter().all(|&lowest| lowest == 0));
            assert!((0..nodes).all(|node| graph.neighbours(node).len() <= 26));
        }
        let farthest = mesh_like(1000, 2600, 1).distances(0).into_iter().flatten().max();
        assert!((Some(27)..Some(40)).contains(&farthest), "{farthest:?}");
    }

    #[test]
    fn most_neighbours_in_a_mesh_have_nearby_numbers() {
        let graph = mesh_like(8000, 22_000, 1);
        let arcs = (0..graph.nodes()).flat_map(|node| graph.neighbours(node).iter().map(move |&to| node.abs_diff(to)));
        let near = arcs.filter(|&distance| distance < 256).count();
        assert!(near > graph.arcs() as usize * 7 / 10, "{near} of {}", graph.arcs());
    }

    #[test]
    fn a_power_law_has_hubs_and_short_ways() {
        let graph = rmat(12, 8, 1);
        let degrees = (0..graph.nodes()).map(|node| graph.neighbours(node).len());
        let (most, mean) = (degrees.max().unwrap_or(0), graph.arcs() as usize / graph.nodes() as usize);
        assert!(most > 20 * mean, "{most} neighbours at most, {mean} on average");
        assert!(graph.distances(0).into_iter().flatten().max() < Some(12));
    }

    #[test]
    fn arcs_without_any_order_lead_everywhere_equally_often() {
        let graph = uniform(1 << 12, 8, 1);
        assert!((32_700..=32_768).contains(&graph.arcs()), "{} arcs", graph.arcs());
        for quarter in 0..4 {
            let ends = graph.targets().iter().filter(|&target| target >> 10 == quarter).count();
            let begins = graph.offsets()[(quarter as usize + 1) << 10] - graph.offsets()[(quarter as usize) << 10];
            assert!((7900..8500).contains(&ends) && (7900..8500).contains(&begins), "{ends} and {begins}");
        }
    }

    #[test]
    fn seeds_change_graphs_and_nothing_else_does() {
        assert_eq!(road_like(16, 1), road_like(16, 1));
        assert_ne!(road_like(16, 1), road_like(16, 2));
        assert_eq!(rmat(8, 4, 1), rmat(8, 4, 1));
        assert_ne!(rmat(8, 4, 1), rmat(8, 4, 2));
        assert_eq!(uniform(64, 4, 1), uniform(64, 4, 1));
        assert_ne!(uniform(64, 4, 1), uniform(64, 4, 2));
        assert_eq!(mesh_like(64, 100, 1), mesh_like(64, 100, 1));
        assert_ne!(mesh_like(64, 100, 1), mesh_like(64, 100, 2));
    }
}
