//! `bfs-rodinia`: breadth-first search in a random graph, two kernels per level.
//!
//! Source: CPElide paper (Dalmia et al., MICRO 2024), section IV-D, Table II, `BFS` on graph128k; bfs of Rodinia (Che
//! et al., IISWC 2009), after Harish and Narayanan, HiPC 2007. A work-item has a node, and a work-group 512 of them.
//! Nodes have three flags: whether to visit their neighbours now (the mask), whether to do so in the next level (the
//! updating mask), and whether they were visited. The first kernel visits the neighbours of the nodes in the mask and
//! takes these out of it; neighbours not visited before get the next cost and come into the updating mask. The second
//! one puts the nodes of the updating mask into the mask and among those visited, and tells the host to go on.
//!
//! The graph is drawn as Rodinia's generator draws it: every node has 2 to 4 edges to nodes anywhere, each of which can
//! be walked both ways, so 6 arcs on average; edges may be repeated and may lead back. The search begins in node 0, as
//! in the original. A user's own graph is walked along its arcs, both ways.
//!
//! Sharing: neighbours lie anywhere, so most costs and most flags of the updating mask are written by another chiplet
//! than the one that has their node, and all chiplets read all flags of visited nodes. Nodes, arcs and masks are the
//! business of the chiplet that has the node; nodes and arcs are only read. Work-items that find one node in the same
//! launch all store the same, so it matters to nobody whose store comes first, and no atomic is needed. `over` is one
//! word that many wavefronts of a launch write, with the same number.
//!
//! A flag is a word here and a byte in the original. The host does not set `over` back to zero; kernels write the
//! number of the level instead. Rodinia reads a node's cost and its arcs' place again for every arc; here a wavefront
//! does so once.
//!
//! Arithmetic: 5 instructions for the node's number, its test, two addresses and the test of the flag; 3 before the
//! loop; per arc 7: the loop's test and branch, three addresses, the test of the flag and the sum; in the second kernel
//! 3 more.

use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

use chorus_kernel::{AccessMode, Buf, HostMemory, Kernel, LANES, Lanes, Share, Wave};

use crate::generator::SplitMix64;
use crate::graph::{self, Edge, Graph};
use crate::program::{HostProgram, Output};
use crate::registry::{OnGraph, Paper, Suite, Workload};
use crate::size::{SizeSpec, Sizes};

/// The original's work-group of 512 work-items.
const WAVES_PER_GROUP: u32 = 16;
const NODES_PER_GROUP: u32 = WAVES_PER_GROUP * LANES as u32;
const SOURCE: u32 = 0;
/// The cost of a node that was never reached: -1 in the original.
const UNREACHED: u32 = u32::MAX;

pub(crate) struct Bfs;

/// A node takes 24 bytes and its arcs 24: 0.4 MB, 1.6 MB and 6.3 MB. Eight levels or a few more take 0.2, 0.8 and 3.3
/// million line accesses.
static SIZES: [SizeSpec; 3] = [
    SizeSpec::new(
        "nodes",
        "nodes of the generated graph",
        [8 << 10, 32 << 10, 128 << 10],
        "CPElide paper, Table II: graph128k",
    )
    .range(1, 1 << 25),
    SizeSpec::new(
        "edges_min",
        "least number of edges that are drawn for a node",
        [2, 2, 2],
        "Rodinia's graph generator",
    )
    .range(1, 64),
    SizeSpec::new(
        "edges_max",
        "greatest number of edges that are drawn for a node",
        [4, 4, 4],
        "Rodinia's graph generator",
    )
    .range(1, 64),
];

#[derive(Clone, Copy)]
struct Data {
    nodes: u32,
    /// Two words per node: the place of its first arc, and the number of its arcs.
    places: Buf<u32>,
    targets: Buf<u32>,
    mask: Buf<u32>,
    updating: Buf<u32>,
    visited: Buf<u32>,
    costs: Buf<u32>,
    over: Buf<u32>,
}

/// The first kernel of a level.
async fn kernel(w: Wave, data: Data) {
    let nodes = w.global_ids();
    let inside = nodes.below(data.nodes);
    w.alu(5).await;
    if !inside.any() {
        return;
    }
    let active = inside & w.load_where(inside, data.mask, nodes).await.where_(|flag| flag == 1);
    if !active.any() {
        return;
    }
    w.store_where(active, data.mask, nodes, Lanes::splat(0));
    w.alu(3).await;
    let [first, degrees, costs] = w
        .join_all([
            w.load_where(active, data.places, nodes * 2),
            w.load_where(active, data.places, nodes * 2 + 1),
            w.load_where(active, data.costs, nodes),
        ])
        .await;
    for arc in 0.. {
        let lanes = active & degrees.where_(|degree| arc < degree);
        w.alu(7).await;
        if !lanes.any() {
            break;
        }
        let targets = w.load_where(lanes, data.targets, first + arc).await;
        let fresh = lanes & w.load_where(lanes, data.visited, targets).await.where_(|flag| flag == 0);
        if fresh.any() {
            w.store_where(fresh, data.costs, targets, costs.map(|cost| cost.wrapping_add(1)));
            w.store_where(fresh, data.updating, targets, Lanes::splat(1));
        }
    }
}

/// The second kernel of a level.
async fn kernel2(w: Wave, data: Data, level: u32) {
    let nodes = w.global_ids();
    let inside = nodes.below(data.nodes);
    w.alu(5).await;
    if !inside.any() {
        return;
    }
    let fresh = inside & w.load_where(inside, data.updating, nodes).await.where_(|flag| flag == 1);
    if !fresh.any() {
        return;
    }
    w.alu(3).await;
    w.store_where(fresh, data.mask, nodes, Lanes::splat(1));
    w.store_where(fresh, data.visited, nodes, Lanes::splat(1));
    w.store_one(data.over, 0, level);
    w.store_where(fresh, data.updating, nodes, Lanes::splat(0));
}

impl Data {
    /// One of the two launches of a level; levels count from 1. `offsets` are the places of all arcs.
    fn launch(self, number: u32, offsets: &Arc<[u32]>) -> Kernel {
        let groups = self.nodes.div_ceil(NODES_PER_GROUP);
        let own = |kernel: Kernel, buf: Buf<u32>, mode: AccessMode, words: u32| {
            kernel.access_parts(buf, mode, move |share| vec![share.elements(words * NODES_PER_GROUP, buf.len())])
        };
        if number.is_multiple_of(2) {
            let offsets = Arc::clone(offsets);
            let first = Kernel::new("Kernel", groups, WAVES_PER_GROUP, move |w| kernel(w, self))
                .access_parts(self.targets, AccessMode::Read, move |share| vec![arcs_of(share, &offsets)])
                .access(self.updating, AccessMode::ReadWrite)
                .access(self.visited, AccessMode::Read)
                .access(self.costs, AccessMode::ReadWrite);
            own(own(first, self.places, AccessMode::Read, 2), self.mask, AccessMode::ReadWrite, 1)
        } else {
            let level = number / 2 + 1;
            let second = Kernel::new("Kernel2", groups, WAVES_PER_GROUP, move |w| kernel2(w, self, level))
                .access(self.over, AccessMode::ReadWrite);
            [self.mask, self.updating, self.visited]
                .into_iter()
                .fold(second, |kernel, buf| own(kernel, buf, AccessMode::ReadWrite, 1))
        }
    }
}

/// The arcs of a chiplet's nodes, which are adjacent as the nodes are.
fn arcs_of(share: Share, offsets: &[u32]) -> Range<usize> {
    let nodes = share.elements(NODES_PER_GROUP, offsets.len() - 1);
    offsets[nodes.start] as usize..offsets[nodes.end] as usize
}

/// The search along the arcs of `graph`.
fn search(graph: &Graph, memory: &mut HostMemory) -> HostProgram {
    let costs: Vec<u32> = graph.distances(SOURCE).into_iter().map(|cost| cost.unwrap_or(UNREACHED)).collect();
    let at_source = |value: u32, elsewhere: u32| {
        (0..graph.nodes()).map(|node| if node == SOURCE { value } else { elsewhere }).collect::<Vec<u32>>()
    };
    let places: Vec<u32> = graph.offsets().windows(2).flat_map(|pair| [pair[0], pair[1] - pair[0]]).collect();
    let data = Data {
        nodes: graph.nodes(),
        places: memory.alloc_from(&places),
        targets: memory.alloc_from(graph.targets()),
        mask: memory.alloc_from(&at_source(1, 0)),
        updating: memory.alloc(costs.len()),
        visited: memory.alloc_from(&at_source(1, 0)),
        costs: memory.alloc_from(&at_source(0, UNREACHED)),
        over: memory.alloc(1),
    };
    let last = costs.iter().copied().filter(|&cost| cost != UNREACHED).max().unwrap_or(0);
    let visited: Vec<u32> = costs.iter().map(|&cost| u32::from(cost != UNREACHED)).collect();
    let none = vec![0; costs.len()];
    let outputs = vec![
        Output::new("costs", data.costs, &costs),
        Output::new("visited nodes", data.visited, &visited),
        Output::new("mask", data.mask, &none),
        Output::new("updating mask", data.updating, &none),
        Output::new("over", data.over, &[last]),
    ];
    let offsets: Arc<[u32]> = graph.offsets().into();
    let mut launched = 0_u32;
    let next = move |memory: &HostMemory| {
        let levels = launched / 2;
        // A machine that loses writes must not make the host go on for ever.
        if launched.is_multiple_of(2) && (memory.get(data.over, 0) != levels || levels > last) {
            return None;
        }
        launched += 1;
        Some(data.launch(launched - 1, &offsets))
    };
    HostProgram::deciding(next, outputs)
}

/// The search in a graph that was brought along.
fn search_own(graph: &Graph, _seed: u64, memory: &mut HostMemory) -> HostProgram {
    search(&graph.undirected(), memory)
}

/// A graph as Rodinia's generator makes them: every node gets so many edges to nodes anywhere.
fn draw(nodes: u32, edges_per_node: RangeInclusive<u32>, seed: u64) -> Graph {
    let (least, most) = edges_per_node.into_inner();
    let mut generator = SplitMix64::new(seed);
    let mut edges = Vec::new();
    for from in 0..nodes {
        for _ in 0..least + generator.below(most - least + 1) {
            edges.push(Edge { from, to: generator.below(nodes), weight: 1 });
        }
    }
    Graph::from_edges(nodes, &edges, false)
}

impl Workload for Bfs {
    fn name(&self) -> &'static str {
        "bfs-rodinia"
    }

    fn title(&self) -> &'static str {
        "Breadth-first search with masks"
    }

    fn summary(&self) -> &'static str {
        "Finds the distance of every node of a random graph from one of them, two kernels per level."
    }

    fn suite(&self) -> Suite {
        Suite::Rodinia
    }

    fn papers(&self) -> &'static [Paper] {
        &[Paper::CpElide]
    }

    fn source(&self) -> &'static str {
        "Dalmia et al., CPElide, MICRO 2024, section IV-D, Table II (BFS); Rodinia bfs (Che et al., IISWC 2009)"
    }

    fn sizes(&self) -> &'static [SizeSpec] {
        &SIZES
    }

    fn misfit(&self, sizes: &Sizes) -> Option<String> {
        let (nodes, least, most) = (sizes.get("nodes"), sizes.get("edges_min"), sizes.get("edges_max"));
        if least > most {
            return Some(format!("edges_min = {least} is greater than edges_max = {most}"));
        }
        let (edges, accepted) = (u64::from(nodes) * u64::from(most), graph::EDGES_MAX);
        (edges > accepted.into()).then(|| {
            format!("nodes = {nodes} with edges_max = {most} may be {edges} edges; at most {accepted} are accepted")
        })
    }

    fn build(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
        let edges_per_node = sizes.get("edges_min")..=sizes.get("edges_max");
        search(&draw(sizes.get("nodes"), edges_per_node, seed), memory)
    }

    fn on_graph(&self) -> Option<OnGraph> {
        Some(search_own)
    }
}

#[cfg(test)]
mod tests {
    use chorus_kernel::flat;

    use super::*;
    use crate::graph::rmat;

    fn edge(from: u32, to: u32) -> Edge {
        Edge { from, to, weight: 1 }
    }

    #[test]
    fn costs_are_numbers_of_arcs_on_the_shortest_way() {
        let graph = Graph::from_arcs(6, &[edge(0, 1), edge(1, 2), edge(0, 3), edge(3, 2), edge(2, 4)], false);
        let mut memory = HostMemory::default();
        let mut program = search_own(&graph, 1, &mut memory);
        assert_eq!(flat::run(&mut program, &memory), Ok(()));
        assert_eq!(memory.words(program.outputs()[0].words()), [0, 1, 2, 1, 3, UNREACHED]);
    }

    #[test]
    fn graphs_with_hubs_and_with_no_way_at_all_are_searched() {
        for graph in [rmat(10, 4, 5), Graph::from_arcs(3, &[edge(1, 1)], false)] {
            let mut memory = HostMemory::default();
            let mut program = search_own(&graph, 1, &mut memory);
            assert_eq!(flat::run_on(4, &mut program, &memory), Ok(()));
        }
    }

    #[test]
    fn a_generated_graph_has_six_arcs_per_node_and_few_levels() {
        for seed in 1..4 {
            let graph = draw(8192, 2..=4, seed);
            let arcs_per_node = f64::from(graph.arcs()) / f64::from(graph.nodes());
            assert!((5.9..6.1).contains(&arcs_per_node), "{arcs_per_node}");
            let levels = graph.distances(SOURCE).into_iter().flatten().max();
            assert!((Some(7)..Some(12)).contains(&levels), "{levels:?}");
        }
    }

    #[test]
    fn the_arcs_of_chiplets_follow_each_other_and_are_all() {
        let graph = draw(8192, 2..=4, 1);
        for count in [1, 4, 7, 16] {
            let work_groups = graph.nodes().div_ceil(NODES_PER_GROUP);
            let arcs = (0..count).map(|index| arcs_of(Share { index, count, work_groups }, graph.offsets()));
            assert_eq!(arcs.fold(0, |end, part| if part.start == end { part.end } else { 0 }), graph.arcs() as usize);
        }
    }
}
