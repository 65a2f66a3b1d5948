//! Graphs from a seed: like road networks, with a power law, and without any order.

use super::components::Components;
use super::{Edge, Graph};
use crate::generator::SplitMix64;

/// Of 100 pairs of adjacent crossings, those that a road connects at once.
const ROADS_PERCENT: u32 = 60;
/// Road segments are as long as 1 to this.
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
    // Shuffled, so that what was cut off is connected anywhere.
    for last in (1..gaps.len()).rev() {
        gaps.swap(last, generator.below(last as u32 + 1) as usize);
    }
    roads.extend(gaps.into_iter().filter(|edge| components.join(edge.from, edge.to)));
    Graph::from_edges(side * side, &roads, true)
}

/// The number of every point of a square, row by row, along the curve that interleaves the bits of both coordinates.
fn z_order(side: u32) -> Vec<u32> {
    let spread = |value: u32| (0..16).fold(0, |bits, bit| bits | (value >> bit & 1) << (2 * bit));
    let mut points: Vec<u32> = (0..side * side).collect();
    points.sort_unstable_by_key(|point| spread(point % side) | spread(point / side) << 1);
    let mut number = vec![0; points.len()];
    for (place, point) in (0..).zip(points) {
        number[point as usize] = place;
    }
    number
}

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
    }
}
