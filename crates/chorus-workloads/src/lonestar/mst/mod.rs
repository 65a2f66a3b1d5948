//! `mst`: the minimum spanning tree of a road network, by the algorithm of Borůvka.
//!
//! Source: HMG paper (Ren et al., HPCA 2020), section VI, Table III, `Lonestar_mst-road-fla`, and section VII-A, which
//! names it as one of three programs with explicit synchronisation of scope `.gpu`, and says that its fine-grained
//! conflicting accesses and its false sharing cost HMG many invalidations; mst of LonestarGPU (Burtscher, Nasre and
//! Pingali, IISWC 2012). The graph is `road_like` of `graph/generate.rs`, or the user's own.
//!
//! | file | subject |
//! |---|---|
//! | `boruvka.rs` | the kernels, and the data that they share |
//! | this file | the graph in memory, the rounds that the host launches, and the expected tree |
//!
//! At first every node is a component. In a round every component finds the lightest edge that leaves it and joins
//! with the component at its other end. Each round is five launches, those of the original:
//! - What nodes and components found before is reset (`dinit`).
//! - Every node finds its lightest leaving edge, and its component's least weight (`dfindelemin`).
//! - Every node whose edge has that weight claims its component (`dfindelemin2`).
//! - Every component decides whether its edge joins it to the component at the other end (`verify_min_elem`).
//! - Every node with such an edge hooks its component to the other one (`dfindcompmintwo`).
//!
//! The host goes on until a round joins nothing. Components are found as in the original (`component.inc`): whoever
//! asks for the component of a node stores the answer in the node's word, whether it is new or not.
//!
//! A weight is the rank of its edge, by weight and then by number, so that no two are equal. So the tree and the
//! components that are hooked in a round are the same in every order of work-items. Two components can choose each
//! other, and then the lower one stays; longer cycles cannot arise.
//!
//! Left out: the barriers across all work-groups with which the original merges components in one launch. They wait for
//! work-groups that may never become resident, and they would have to span GPUs. Here the edges of a round are chosen
//! so that all of them can be used at once. The array `phores`, which the original clears and does not use, is left
//! out, too.

mod boruvka;

use chorus_kernel::{Buf, HostMemory, Mismatch};

use crate::generator::SplitMix64;
use crate::graph::{Components, Edge, Graph, road_like};
use crate::program::{HostProgram, Output};
use crate::registry::{OnGraph, Paper, Suite, Workload};
use crate::size::{SizeSpec, Sizes};
use boruvka::{Forest, GPUS_MAX, KERNELS_PER_ROUND};

/// Weights of graphs that have none are drawn from 1 to this.
const WEIGHT_MAX: u32 = 10_000;
/// Components at least halve in a round, and one more round finds nothing.
const ROUNDS_MAX: u32 = u32::BITS;

pub(crate) struct Mst;

/// A node takes 28 bytes and 4 for each GPU, and its arcs and edges take about 30. With four GPUs that makes 1.2 MB at
/// quick scale and 19 MB at paper scale; the network of Florida, with 1.07 million nodes, takes the paper's 83 MB with
/// the original's other arrays.
static SIZES: [SizeSpec; 1] = [SizeSpec::new(
    "side",
    "crossings of the generated map along each of its sides",
    [128, 256, 512],
    "chosen: a quarter of the 1.07 million nodes of Florida in Table III of the HMG paper, for time",
)
.range(2, 4096)];

/// The numbers of the edges of the lightest spanning forest, by the algorithm of Kruskal.
fn reference(nodes: u32, edges: &[Edge]) -> Vec<usize> {
    let mut ascending: Vec<usize> = (0..edges.len()).collect();
    ascending.sort_by_key(|&edge| edges[edge].weight);
    let mut components = Components::new(nodes);
    ascending.retain(|&edge| components.join(edges[edge].from, edges[edge].to));
    ascending
}

/// Checks that two nodes have the same root if and only if they are connected, and that the root is connected with
/// them.
fn check_roots(connected: &[u32], roots: &[u32]) -> Result<(), Mismatch> {
    for (node, (&lowest, &root)) in connected.iter().zip(roots).enumerate() {
        let agrees = root == roots[lowest as usize] && connected.get(root as usize) == Some(&lowest);
        if !agrees {
            return Err(Mismatch(format!(
                "component[{node}] is {root}, but the lowest node connected with it, {lowest}, has {}",
                roots[lowest as usize]
            )));
        }
    }
    Ok(())
}

/// Checks the sums of the counts of all GPUs.
fn check_totals(memory: &HostMemory, totals: &[Buf<u32>; GPUS_MAX], expected: [u32; 2]) -> Result<(), Mismatch> {
    for (word, what) in ["edges of the tree", "weight of the tree, modulo 2^32"].into_iter().enumerate() {
        let sum = totals.iter().fold(0_u32, |sum, total| sum.wrapping_add(memory.get(*total, word)));
        if sum != expected[word] {
            return Err(Mismatch(format!("{what}: {sum} instead of {}", expected[word])));
        }
    }
    Ok(())
}

/// The program on these edges, which are walked both ways.
fn span(nodes: u32, edges: &[Edge], memory: &mut HostMemory) -> HostProgram {
    let mut edges = edges.to_vec();
    edges.sort_by_key(|edge| edge.weight);
    let forest = Forest::new(nodes, &edges, memory);
    let tree = reference(nodes, &edges);
    let mut marks = vec![0_u32; edges.len()];
    tree.iter().for_each(|&edge| marks[edge] = 1);
    let weight = tree.iter().fold(0_u32, |sum, &edge| sum.wrapping_add(edges[edge].weight));
    let totals = [tree.len() as u32, weight];
    let connected = Graph::from_edges(nodes, &edges, false).components();

    let (mut launched, mut joined) = (0, 0);
    let next = move |memory: &HostMemory| {
        if launched == 0 {
            launched += 1;
            return Some(forest.initialize());
        }
        let (round, kernel) = ((launched - 1) / KERNELS_PER_ROUND, (launched - 1) % KERNELS_PER_ROUND);
        if kernel == 0 {
            let all: u64 = forest.totals.iter().map(|total| u64::from(memory.get(*total, 0))).sum();
            if round == ROUNDS_MAX || (round > 0 && all == joined) {
                return None;
            }
            joined = all;
        }
        launched += 1;
        Some(forest.kernel_of_round(kernel))
    };
    HostProgram::deciding(next, vec![Output::new("tree", forest.tree, &marks)])
        .invariant(move |memory| check_roots(&connected, &memory.read(forest.components)))
        .invariant(move |memory| check_totals(memory, &forest.totals, totals))
}

/// The program on a user's graph, with weights from the seed if the graph has none.
fn span_own(graph: &Graph, seed: u64, memory: &mut HostMemory) -> HostProgram {
    let mut edges = graph.undirected_edges();
    if !graph.is_weighted() {
        let mut generator = SplitMix64::new(seed);
        edges.iter_mut().for_each(|edge| edge.weight = 1 + generator.below(WEIGHT_MAX));
    }
    span(graph.nodes(), &edges, memory)
}

impl Workload for Mst {
    fn name(&self) -> &'static str {
        "mst"
    }

    fn title(&self) -> &'static str {
        "Minimum spanning tree"
    }

    fn summary(&self) -> &'static str {
        "Joins the components of a road network along their lightest edges, found by atomics of the scope of a GPU."
    }

    fn suite(&self) -> Suite {
        Suite::Lonestar
    }

    fn papers(&self) -> &'static [Paper] {
        &[Paper::Hmg]
    }

    fn source(&self) -> &'static str {
        "Ren et al., HMG, HPCA 2020, section VI, Table III (mst); \
         LonestarGPU mst (Burtscher, Nasre and Pingali, IISWC 2012)"
    }

    fn communicates(&self) -> bool {
        true
    }

    fn sizes(&self) -> &'static [SizeSpec] {
        &SIZES
    }

    fn build(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
        span_own(&road_like(sizes.get("side"), seed), seed, memory)
    }

    fn on_graph(&self) -> Option<OnGraph> {
        Some(span_own)
    }
}

#[cfg(test)]
mod tests {
    use chorus_kernel::{Program, flat};

    use super::*;
    use crate::graph::rmat;

    fn check(graph: &Graph, gpus: u32) {
        let mut memory = HostMemory::default();
        let mut program = span_own(graph, 7, &mut memory);
        assert_eq!(flat::run_on(gpus, &mut program, &memory), Ok(()), "{gpus} GPUs");
    }

    fn edge(from: u32, to: u32, weight: u32) -> Edge {
        Edge { from, to, weight }
    }

    #[test]
    fn the_tree_is_the_same_on_any_number_of_gpus() {
        let graph = road_like(20, 3);
        [1, 2, 3, 4, 8, 16].into_iter().for_each(|gpus| check(&graph, gpus));
    }

    #[test]
    fn graphs_with_hubs_in_pieces_and_without_any_edge_have_their_forests() {
        check(&rmat(9, 4, 1), 4);
        check(&Graph::from_arcs(70, &[edge(3, 3, 1)], true), 4);
        check(&Graph::from_arcs(5, &[edge(0, 4, u32::MAX), edge(4, 1, u32::MAX), edge(1, 0, u32::MAX)], true), 2);
    }

    #[test]
    fn equal_weights_make_no_cycle() {
        let edges: Vec<Edge> = road_like(16, 2).undirected_edges();
        let equal: Vec<Edge> = edges.iter().map(|&road| Edge { weight: 5, ..road }).collect();
        check(&Graph::from_edges(256, &equal, true), 4);
    }

    #[test]
    fn wrong_roots_and_wrong_totals_are_found() {
        let mut memory = HostMemory::default();
        let edges = [edge(0, 1, 4), edge(1, 2, 3), edge(3, 4, 1)];
        let forest = Forest::new(6, &edges, &mut memory);
        let connected = [0, 0, 0, 3, 3, 5];
        assert_eq!(check_roots(&connected, &[1, 1, 1, 4, 4, 5]), Ok(()));
        for roots in [[1, 1, 2, 4, 4, 5], [1, 1, 1, 1, 1, 5], [3, 3, 3, 4, 4, 5], [9, 9, 9, 4, 4, 5]] {
            assert!(check_roots(&connected, &roots).is_err(), "{roots:?}");
        }
        memory.set(forest.totals[0], 0, 2);
        memory.set(forest.totals[9], 0, 1);
        memory.set(forest.totals[9], 1, 8);
        assert_eq!(check_totals(&memory, &forest.totals, [3, 8]), Ok(()));
        assert!(check_totals(&memory, &forest.totals, [2, 8]).is_err());
        assert!(check_totals(&memory, &forest.totals, [3, 9]).is_err());
    }

    #[test]
    fn a_lost_update_of_any_shared_array_is_found_at_the_end() {
        let graph = road_like(12, 1);
        let mut memory = HostMemory::default();
        let mut program = span_own(&graph, 1, &mut memory);
        flat::run_on(4, &mut program, &memory).unwrap();
        let right = memory.words(0..memory.word_count());
        let wrong = (0..right.len()).filter(|&word| {
            let memory = memory.clone();
            memory.store(word, right[word] ^ 1);
            program.check(&memory).is_wrong()
        });
        // The marks of the tree, the root of every node, and two totals of every GPU.
        assert_eq!(wrong.count(), graph.undirected_edges().len() + 144 + 2 * GPUS_MAX);
    }
}
