//! `sssp`: the shortest ways from one node of a graph to all others.
//!
//! Source: CPElide paper (Dalmia et al., MICRO 2024), section IV-D, Table II, `SSSP` on the roads of Alaska; sssp of
//! Pannotia (Che, Beckmann, Reinhardt and Skadron, IISWC 2013), the version on compressed sparse rows. A round is one
//! step of Bellman and Ford for all nodes at once, written as a product of matrix and vector with minima in place of
//! sums and sums in place of products. It has three kernels, with a work-item per node: the first copies the new
//! distances to the old ones, the second computes new ones from the old ones of all neighbours, and the third compares
//! both and sets a flag that tells the host to go on. The graph is `road_like` of `graph/generate.rs`, or the user's
//! own.
//!
//! Sharing: arcs and their lengths are only read, all of them in every round. Old distances of neighbours are read
//! anywhere, but mostly nearby, since nodes of one region have adjacent numbers; the work-group of a node writes them.
//!
//! Left out: with the generated graph all rounds but the first few; every round makes the same accesses.
//! The host does not set the flag back to zero; kernels write the number of the round instead.
//!
//! Arcs are walked both ways, even if a user's file gives one direction; where it gives no lengths, all are 1. Ways
//! begin in node 0, as in the original.
//!
//! Arithmetic: 4 instructions for the node's number, its test and an address; in the second kernel 4 more, and per arc
//! 7: the loop's test and branch, three addresses, a sum and a minimum; in the third 2 more.

use chorus_kernel::{AccessMode, Buf, HostMemory, Kernel, LANES, Wave};

use crate::graph::{Graph, road_like};
use crate::program::{HostProgram, Output};
use crate::registry::{OnGraph, Paper, Suite, Workload};
use crate::size::{SizeSpec, Sizes};

/// Wavefronts of a work-group: 256 work-items, as in the original.
const WAVES_PER_GROUP: u32 = 8;
const ITEMS_PER_GROUP: u32 = WAVES_PER_GROUP * LANES as u32;
const SOURCE: u32 = 0;

/// The distance of a node that was never reached.
const UNREACHED: u32 = u32::MAX;

pub(crate) struct Sssp;

/// Alaska has 69,082 nodes, as many as the map of paper scale. All buffers take 0.15 MB at quick scale, 0.6 MB at
/// medium scale and 2.2 MB at paper scale. A wavefront takes about 73 line accesses per round: 0.25, 1.0 and 16 million
/// in all.
static SIZES: [SizeSpec; 2] = [
    SizeSpec::new(
        "side",
        "crossings of the generated map along each of its sides",
        [68, 136, 263],
        "CPElide paper, Table II: AK.gr, the roads of Alaska, with 69,082 nodes",
    )
    .range(2, 8192),
    SizeSpec::new(
        "iterations",
        "most rounds on the generated map, of three kernels each",
        [24, 24, 100],
        "chosen: the first rounds, since every round accesses the same",
    )
    .range(1, 1 << 20),
];

#[derive(Clone, Copy)]
struct Data {
    nodes: u32,
    /// The place of every node's first arc, and behind them the number of arcs.
    offsets: Buf<u32>,
    targets: Buf<u32>,
    lengths: Buf<u32>,
    old: Buf<u32>,
    new: Buf<u32>,
    flag: Buf<u32>,
}

/// Gives the source distance 0 and all other nodes none, before the first round.
async fn vector_init(w: Wave, data: Data) {
    let nodes = w.global_ids();
    let inside = nodes.below(data.nodes);
    w.alu(4).await;
    let distances = nodes.map(|node| if node == SOURCE { 0 } else { UNREACHED });
    w.store_where(inside, data.old, nodes, distances);
    w.store_where(inside, data.new, nodes, distances);
}

/// Copies the new distances to the old ones, as the first kernel of a round.
async fn vector_assign(w: Wave, data: Data) {
    let nodes = w.global_ids();
    let inside = nodes.below(data.nodes);
    w.alu(4).await;
    if inside.any() {
        let distances = w.load_where(inside, data.new, nodes).await;
        w.store_where(inside, data.old, nodes, distances);
    }
}

/// Computes new distances from the old ones of all neighbours, as the second kernel of a round.
async fn min_plus(w: Wave, data: Data) {
    let nodes = w.global_ids();
    let inside = nodes.below(data.nodes);
    w.alu(8).await;
    if !inside.any() {
        return;
    }
    let [start, end, mut least] = w
        .join_all([
            w.load_where(inside, data.offsets, nodes),
            w.load_where(inside, data.offsets, nodes + 1),
            w.load_where(inside, data.old, nodes),
        ])
        .await;
    let degrees = end.zip(start, |end, start| end - start);
    for arc in 0.. {
        let lanes = inside & degrees.where_(|degree| arc < degree);
        w.alu(7).await;
        if !lanes.any() {
            break;
        }
        let places = start + arc;
        let (targets, lengths) =
            w.join(w.load_where(lanes, data.targets, places), w.load_where(lanes, data.lengths, places)).await;
        let distances = w.load_where(lanes, data.old, targets).await;
        let by_arc = lengths.zip(distances, u32::saturating_add);
        least = by_arc.zip(least, u32::min).select(lanes, least);
    }
    w.store_where(inside, data.new, nodes, least);
}

/// Sets the flag if a distance has changed, as the third kernel of a round.
async fn vector_diff(w: Wave, data: Data, round: u32) {
    let nodes = w.global_ids();
    let inside = nodes.below(data.nodes);
    w.alu(6).await;
    if !inside.any() {
        return;
    }
    let (old, new) = w.join(w.load_where(inside, data.old, nodes), w.load_where(inside, data.new, nodes)).await;
    if (inside & old.zip(new, |old, new| u32::from(old != new)).where_(|differs| differs == 1)).any() {
        w.store_one(data.flag, 0, round);
    }
}

impl Data {
    /// The first launch, or one of the three of a round; rounds count from 1.
    fn launch(self, number: u32) -> Kernel {
        let groups = self.nodes.div_ceil(ITEMS_PER_GROUP);
        let own = |kernel: Kernel, buf: Buf<u32>, mode: AccessMode| {
            kernel.access_parts(buf, mode, move |share| vec![share.elements(ITEMS_PER_GROUP, buf.len())])
        };
        let round = number.div_ceil(3);
        match number {
            0 => {
                let kernel = Kernel::new("vector_init", groups, WAVES_PER_GROUP, move |w| vector_init(w, self));
                own(own(kernel, self.old, AccessMode::ReadWrite), self.new, AccessMode::ReadWrite)
            }
            _ if number % 3 == 1 => {
                let kernel = Kernel::new("vector_assign", groups, WAVES_PER_GROUP, move |w| vector_assign(w, self));
                own(own(kernel, self.new, AccessMode::Read), self.old, AccessMode::ReadWrite)
            }
            _ if number % 3 == 2 => {
                let kernel = Kernel::new("spmv_min_dot_plus", groups, WAVES_PER_GROUP, move |w| min_plus(w, self))
                    .access_parts(self.offsets, AccessMode::Read, move |share| {
                        let mut rows = share.elements(ITEMS_PER_GROUP, self.nodes as usize);
                        rows.end += 1;
                        vec![rows]
                    })
                    .access(self.targets, AccessMode::Read)
                    .access(self.lengths, AccessMode::Read)
                    .access(self.old, AccessMode::Read);
                own(kernel, self.new, AccessMode::ReadWrite)
            }
            _ => {
                let kernel = Kernel::new("vector_diff", groups, WAVES_PER_GROUP, move |w| vector_diff(w, self, round));
                own(own(kernel, self.old, AccessMode::Read), self.new, AccessMode::Read)
                    .access(self.flag, AccessMode::ReadWrite)
            }
        }
    }
}

/// Old and new distances after the last round, and the last round in which any changed.
fn reference(graph: &Graph, rounds_max: u32) -> (Vec<u32>, Vec<u32>, u32) {
    let mut new = vec![UNREACHED; graph.nodes() as usize];
    if let Some(distance) = new.get_mut(SOURCE as usize) {
        *distance = 0;
    }
    let (mut old, mut flag) = (new.clone(), 0);
    for round in 1..=rounds_max {
        old.clone_from(&new);
        for node in 0..graph.nodes() {
            let by_arc = |place: usize| {
                let length = graph.weights().map_or(1, |lengths| lengths[place]);
                length.saturating_add(old[graph.targets()[place] as usize])
            };
            let least = graph.arcs_of(node).map(by_arc).min().unwrap_or(UNREACHED);
            new[node as usize] = least.min(old[node as usize]);
        }
        if old == new {
            break;
        }
        flag = round;
    }
    (old, new, flag)
}

/// The ways in `graph`, whose arcs go both ways, after at most `rounds_max` rounds.
fn find_ways(graph: &Graph, rounds_max: u32, memory: &mut HostMemory) -> HostProgram {
    let nodes = graph.nodes() as usize;
    let lengths = graph.weights().map_or_else(|| vec![1; graph.arcs() as usize], <[u32]>::to_vec);
    let data = Data {
        nodes: graph.nodes(),
        offsets: memory.alloc_from(graph.offsets()),
        targets: memory.alloc_from(graph.targets()),
        lengths: memory.alloc_from(&lengths),
        old: memory.alloc(nodes),
        new: memory.alloc(nodes),
        flag: memory.alloc(1),
    };
    let (old, new, flag) = reference(graph, rounds_max);
    let outputs = vec![
        Output::new("old distances", data.old, &old),
        Output::new("new distances", data.new, &new),
        Output::new("flag", data.flag, &[flag]),
    ];
    let mut launched = 0;
    let next = move |memory: &HostMemory| {
        let rounds = launched / 3;
        // The flag holds the last round that changed anything. A machine that loses writes must not make the host go on
        // forever.
        let is_over = rounds >= rounds_max || rounds > flag || memory.get(data.flag, 0) != rounds;
        if launched > 1 && launched % 3 == 1 && is_over {
            return None;
        }
        launched += 1;
        Some(data.launch(launched - 1))
    };
    HostProgram::deciding(next, outputs)
}

/// The ways in a user's graph, to the last round.
fn find_ways_in_own(graph: &Graph, _seed: u64, memory: &mut HostMemory) -> HostProgram {
    find_ways(&graph.undirected(), graph.nodes().max(1), memory)
}

impl Workload for Sssp {
    fn name(&self) -> &'static str {
        "sssp"
    }

    fn title(&self) -> &'static str {
        "Shortest paths from one source"
    }

    fn summary(&self) -> &'static str {
        "Shortens the ways from one crossing of a road network to all others, three kernels per round."
    }

    fn suite(&self) -> Suite {
        Suite::Pannotia
    }

    fn papers(&self) -> &'static [Paper] {
        &[Paper::CpElide]
    }

    fn source(&self) -> &'static str {
        "Dalmia et al., CPElide, MICRO 2024, section IV-D, Table II (SSSP); Pannotia sssp (Che et al., IISWC 2013)"
    }

    fn sizes(&self) -> &'static [SizeSpec] {
        &SIZES
    }

    fn build(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
        find_ways(&road_like(sizes.get("side"), seed), sizes.get("iterations"), memory)
    }

    fn on_graph(&self) -> Option<OnGraph> {
        Some(find_ways_in_own)
    }
}

#[cfg(test)]
mod tests {
    use chorus_kernel::flat;
    use chorus_system::Scale;

    use super::*;
    use crate::graph::{Edge, rmat};

    fn edge(from: u32, to: u32, weight: u32) -> Edge {
        Edge { from, to, weight }
    }

    #[test]
    fn a_detour_may_be_shorter() {
        let graph = Graph::from_arcs(5, &[edge(0, 2, 9), edge(0, 1, 3), edge(1, 2, 4), edge(2, 3, 1)], true);
        let mut memory = HostMemory::default();
        let mut program = find_ways_in_own(&graph, 1, &mut memory);
        assert_eq!(flat::run(&mut program, &memory), Ok(()));
        let distances = memory.words(program.outputs()[1].words());
        assert_eq!(distances, [0, 3, 7, 8, UNREACHED]);
    }

    #[test]
    fn graphs_with_hubs_and_with_no_way_at_all_are_walked() {
        for graph in [rmat(9, 4, 5), Graph::from_arcs(3, &[edge(1, 1, 1)], false)] {
            let mut memory = HostMemory::default();
            let mut program = find_ways_in_own(&graph, 1, &mut memory);
            assert_eq!(flat::run_on(4, &mut program, &memory), Ok(()));
        }
    }

    #[test]
    fn rounds_of_the_generated_graph_are_all_needed() {
        let sizes = Sssp.sizes_at(Scale::Quick);
        let rounds = sizes.get("iterations");
        assert_eq!(reference(&road_like(sizes.get("side"), 1), rounds).2, rounds);
    }
}
