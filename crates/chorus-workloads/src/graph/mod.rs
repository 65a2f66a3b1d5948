//! Graphs: compressed sparse rows, generators, and readers of the formats that graphs are published in.
//!
//! | file | subject |
//! |---|---|
//! | this file | the graph itself |
//! | `generate.rs` | graphs like road networks and meshes, with a power law, and without any order |
//! | `components.rs` | components that grow together, edge by edge |
//! | `format.rs` | the formats, and reading a file of any of them |
//! | `lines.rs` | lines and fields of a text file that may hold anything |
//! | `dimacs.rs` | shortest-path files of the ninth DIMACS challenge (`.gr`) |
//! | `matrix_market.rs` | coordinate matrices of the Matrix Market (`.mtx`) |
//! | `snap.rs` | edge lists of the Stanford collection (`.txt`) |
//! | `error.rs` | mistakes in files, with their places |

mod components;
mod dimacs;
mod error;
mod format;
mod generate;
mod lines;
mod matrix_market;
mod snap;

use std::collections::VecDeque;
use std::ops::Range;

pub(crate) use components::Components;
pub use error::GraphError;
pub use format::{GraphFormat, parse};
pub use generate::{mesh_like, rmat, road_like, uniform};

/// The greatest number of nodes of a graph. The data that programs keep of each node must fit the 16 GiB of a simulated
/// memory.
pub const NODES_MAX: u32 = 1 << 26;
/// The greatest number of edges that a graph is made from. An edge that is walked both ways makes two arcs.
pub const EDGES_MAX: u32 = 1 << 27;

/// A connection from a node to another, or between both where a list of undirected edges says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Edge {
    /// The node where it begins.
    pub from: u32,
    /// The node where it ends.
    pub to: u32,
    /// Its length or cost; 1 in graphs without weights.
    pub weight: u32,
}

/// A directed graph as compressed sparse rows: the arcs of node 0, then those of node 1, and so on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    offsets: Vec<u32>,
    targets: Vec<u32>,
    weights: Option<Vec<u32>>,
}

impl Graph {
    /// The graph of `nodes` nodes and these arcs; arcs of a node keep their order.
    ///
    /// # Panics
    ///
    /// When an arc names a node that is not there, or when there are more nodes than [`NODES_MAX`] or more arcs than
    /// twice [`EDGES_MAX`].
    pub fn from_arcs(nodes: u32, arcs: &[Edge], weighted: bool) -> Graph {
        assert!(nodes <= NODES_MAX && arcs.len() <= 2 * EDGES_MAX as usize, "{nodes} nodes and {} arcs", arcs.len());
        let mut offsets = vec![0; nodes as usize + 1];
        for arc in arcs {
            assert!(arc.to < nodes, "arc to node {} of {nodes}", arc.to);
            offsets[arc.from as usize + 1] += 1;
        }
        for node in 0..nodes as usize {
            offsets[node + 1] += offsets[node];
        }
        let mut next = offsets.clone();
        let mut targets = vec![0; arcs.len()];
        let mut weights = vec![0; if weighted { arcs.len() } else { 0 }];
        for arc in arcs {
            let place = next[arc.from as usize] as usize;
            next[arc.from as usize] += 1;
            targets[place] = arc.to;
            if weighted {
                weights[place] = arc.weight;
            }
        }
        Graph { offsets, targets, weights: weighted.then_some(weights) }
    }

    /// The graph in which every one of these edges can be walked both ways.
    pub fn from_edges(nodes: u32, edges: &[Edge], weighted: bool) -> Graph {
        let back = |edge: &Edge| Edge { from: edge.to, to: edge.from, weight: edge.weight };
        let arcs: Vec<Edge> = edges.iter().flat_map(|edge| [*edge, back(edge)]).collect();
        Graph::from_arcs(nodes, &arcs, weighted)
    }

    /// The number of its nodes.
    pub fn nodes(&self) -> u32 {
        self.offsets.len() as u32 - 1
    }

    /// The number of its arcs.
    pub fn arcs(&self) -> u32 {
        self.targets.len() as u32
    }

    /// Whether arcs have weights.
    pub fn is_weighted(&self) -> bool {
        self.weights.is_some()
    }

    /// The place of every node's first arc, and behind them the number of arcs.
    pub fn offsets(&self) -> &[u32] {
        &self.offsets
    }

    /// The end of every arc.
    pub fn targets(&self) -> &[u32] {
        &self.targets
    }

    /// The weight of every arc, in graphs that have weights.
    pub fn weights(&self) -> Option<&[u32]> {
        self.weights.as_deref()
    }

    /// The places of a node's arcs.
    pub fn arcs_of(&self, node: u32) -> Range<usize> {
        self.offsets[node as usize] as usize..self.offsets[node as usize + 1] as usize
    }

    /// The ends of a node's arcs.
    pub fn neighbours(&self, node: u32) -> &[u32] {
        &self.targets[self.arcs_of(node)]
    }

    /// Every pair of connected nodes once, in ascending order, whatever the direction and number of their arcs; the
    /// lightest arc gives the weight. Arcs from a node to itself are left out.
    pub fn undirected_edges(&self) -> Vec<Edge> {
        let mut edges = Vec::with_capacity(self.targets.len() / 2);
        for node in 0..self.nodes() {
            for place in self.arcs_of(node) {
                let other = self.targets[place];
                let weight = self.weights.as_ref().map_or(1, |weights| weights[place]);
                if other != node {
                    edges.push(Edge { from: node.min(other), to: node.max(other), weight });
                }
            }
        }
        edges.sort_unstable();
        edges.dedup_by_key(|edge| (edge.from, edge.to));
        edges
    }

    /// A graph of the edges that [`Graph::undirected_edges`] lists, each of which is walked both ways.
    pub fn undirected(&self) -> Graph {
        Graph::from_edges(self.nodes(), &self.undirected_edges(), self.is_weighted())
    }

    /// The number of arcs on the shortest way from `source` to every node; none to nodes that cannot be reached.
    pub fn distances(&self, source: u32) -> Vec<Option<u32>> {
        let mut distances = vec![None; self.nodes() as usize];
        let mut queue = VecDeque::from([source]);
        distances[source as usize] = Some(0);
        while let Some(node) = queue.pop_front() {
            let next = distances[node as usize].map(|distance| distance + 1);
            for &neighbour in self.neighbours(node) {
                if distances[neighbour as usize].is_none() {
                    distances[neighbour as usize] = next;
                    queue.push_back(neighbour);
                }
            }
        }
        distances
    }

    /// The lowest node of the component with the most nodes, in a graph whose arcs go both ways. It is node 0 in a
    /// graph without nodes.
    pub fn largest_component(&self) -> u32 {
        let components = self.components();
        let mut sizes = vec![0_u32; components.len()];
        components.iter().for_each(|&lowest| sizes[lowest as usize] += 1);
        let largest = (0..self.nodes()).max_by_key(|&node| (sizes[node as usize], std::cmp::Reverse(node)));
        largest.unwrap_or(0)
    }

    /// The lowest node of every node's component, in a graph whose arcs go both ways.
    pub fn components(&self) -> Vec<u32> {
        let mut lowest = vec![u32::MAX; self.nodes() as usize];
        let mut stack = Vec::new();
        for first in 0..self.nodes() {
            if lowest[first as usize] != u32::MAX {
                continue;
            }
            lowest[first as usize] = first;
            stack.push(first);
            while let Some(node) = stack.pop() {
                for &neighbour in self.neighbours(node) {
                    if lowest[neighbour as usize] == u32::MAX {
                        lowest[neighbour as usize] = first;
                        stack.push(neighbour);
                    }
                }
            }
        }
        lowest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge(from: u32, to: u32, weight: u32) -> Edge {
        Edge { from, to, weight }
    }

    #[test]
    fn arcs_lie_behind_each_other_in_the_order_of_their_nodes() {
        let graph = Graph::from_arcs(4, &[edge(2, 0, 7), edge(0, 3, 8), edge(2, 1, 9), edge(0, 0, 6)], true);
        assert_eq!(graph.offsets(), [0, 2, 2, 4, 4]);
        assert_eq!(graph.targets(), [3, 0, 0, 1]);
        assert_eq!(graph.weights(), Some(&[8, 6, 7, 9][..]));
        assert_eq!(graph.neighbours(2), [0, 1]);
        assert_eq!((graph.nodes(), graph.arcs()), (4, 4));
    }

    #[test]
    fn an_undirected_graph_has_every_connection_once_each_way_at_its_least_weight() {
        let arcs = [edge(1, 0, 5), edge(0, 1, 3), edge(1, 1, 1), edge(2, 1, 4), edge(2, 1, 9)];
        let graph = Graph::from_arcs(3, &arcs, true);
        assert_eq!(graph.undirected_edges(), [edge(0, 1, 3), edge(1, 2, 4)]);
        let both = graph.undirected();
        assert_eq!((both.neighbours(0), both.neighbours(1), both.neighbours(2)), (&[1][..], &[0, 2][..], &[1][..]));
    }

    #[test]
    fn distances_count_arcs_and_components_are_named_after_their_lowest_node() {
        let graph = Graph::from_edges(6, &[edge(0, 2, 1), edge(2, 4, 1), edge(1, 5, 1)], false);
        assert_eq!(graph.distances(4), [Some(2), None, Some(1), None, Some(0), None]);
        assert_eq!(graph.components(), [0, 1, 0, 3, 0, 1]);
    }
}
