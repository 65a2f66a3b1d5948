//! `bfs`: breadth-first search in a road network.
//!
//! Source: HMG paper (Ren et al., HPCA 2020), section VI, Table III, `Lonestar_bfs-road-fla`; bfs of LonestarGPU
//! (Burtscher, Nasre and Pingali, IISWC 2012), the topology-driven version: a work-item per node, in every launch. A
//! kernel marks all nodes but the source as never reached. Then there is a launch per level. As in the original every
//! work-item looks at all neighbours of its node, whatever the node's distance. Those whose distance would become less
//! get the next distance by an atomic minimum of scope `.gpu`, the scope of CUDA's `atomicMin`, and a flag tells the
//! host to launch again. The graph is `road_like` of `graph/generate.rs`, or the user's own.
//!
//! Sharing: nodes of one region have adjacent numbers, so most neighbours belong to the same work-group or to one
//! nearby; at the borders of regions a work-group reads and writes distances that another one, maybe on another GPU,
//! will read in the next launch. Distances are read in every launch by their owners and by those of all neighbours, and
//! written once. All arcs are read in every launch. Several work-items, maybe of several GPUs, may find one node in the
//! same launch. All of them find the same distance, so the order of the atomics does not matter. The flag is one word
//! that many wavefronts of a launch write, with the same number.
//!
//! Left out: the table that maps a node to its number in the original (nodes are not renumbered here), and distances
//! that are handed on in the launch that gives them: launches go level by level, which makes their number the same on
//! every machine.
//!
//! Arcs are walked both ways, even if a file gives one direction: many collections list an undirected edge once. The
//! search begins in the middle of the generated map, or in the lowest node of the largest component of a user's graph.
//!
//! Arithmetic: 5 instructions for the node's number, its test against the end and addresses; 2 before the loop; per arc
//! 6: the loop's test and branch, two addresses, an addition and the test of the distance.

use chorus_kernel::{AccessMode, Buf, HostMemory, Kernel, LANES, Lanes, Mask, Wave};
use chorus_protocol::access::{AtomicOp, Scope};

use crate::graph::{Graph, road_like};
use crate::program::{HostProgram, Output};
use crate::registry::{OnGraph, Paper, Suite, Workload};
use crate::size::{SizeSpec, Sizes};

const WAVES_PER_GROUP: u32 = 4;
const NODES_PER_GROUP: u32 = WAVES_PER_GROUP * LANES as u32;
const REGISTERS_PER_ITEM: u32 = 16;

/// The distance of a node that was never reached.
const UNREACHED: u32 = u32::MAX;

pub(crate) struct Bfs;

/// A node takes 12 bytes and its arcs 10, so the graph takes 0.4 MB at quick scale and 5.8 MB at paper scale. The
/// network of Florida, with 1.07 million nodes, takes the paper's 26 MB. Every launch reads all distances, and the
/// number of launches grows with the side: about 140 at quick scale and 530 at paper scale. That makes 0.16 million
/// line accesses at quick scale, 0.6 million at medium scale and 5.7 million at paper scale. Florida's size would take
/// about 40 million.
static SIZES: [SizeSpec; 1] = [SizeSpec::new(
    "side",
    "crossings of the generated map along each of its sides",
    [128, 216, 512],
    "chosen: a quarter of the 1.07 million nodes of Florida in Table III of the HMG paper, for time",
)
.range(2, 8192)];

#[derive(Clone, Copy)]
struct Data {
    nodes: u32,
    source: u32,
    first_arcs: Buf<u32>,
    degrees: Buf<u32>,
    targets: Buf<u32>,
    distances: Buf<u32>,
    changed: Buf<u32>,
}

/// Gives the source distance 0 and all other nodes none, before the first level.
async fn initialize(w: Wave, data: Data) {
    let nodes = w.global_ids();
    let inside = nodes.below(data.nodes);
    w.alu(3).await;
    let distances = nodes.map(|node| if node == data.source { 0 } else { UNREACHED });
    w.store_where(inside, data.distances, nodes, distances);
}

/// Visits the neighbours of all nodes, and gives those of nodes at distance `level` the next distance.
async fn relax(w: Wave, data: Data, level: u32) {
    let nodes = w.global_ids();
    let inside = nodes.below(data.nodes);
    w.alu(5).await;
    let [distances, first, degrees] =
        w.join_all([data.distances, data.first_arcs, data.degrees].map(|buf| w.load_where(inside, buf, nodes))).await;
    let at_level = distances.where_(|distance| distance == level);
    w.alu(2).await;
    let mut found = Mask::NONE;
    for arc in 0.. {
        let lanes = inside & degrees.where_(|degree| arc < degree);
        w.alu(6).await;
        if !lanes.any() {
            break;
        }
        let targets = w.load_where(lanes, data.targets, first + arc).await;
        let distances = w.load_where(lanes, data.distances, targets).await;
        let fresh = lanes & at_level & distances.where_(|distance| distance > level + 1);
        if fresh.any() {
            w.atomic_in(Scope::Gpu, AtomicOp::Min, fresh, data.distances, targets, Lanes::splat(level + 1)).await;
            found = found | fresh;
        }
    }
    if found.any() {
        w.store_one(data.changed, 0, level + 1);
    }
}

/// The search in `graph`, whose arcs go both ways, from `source`.
fn search(graph: &Graph, source: u32, memory: &mut HostMemory) -> HostProgram {
    let offsets = graph.offsets();
    let degrees: Vec<u32> = offsets.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let data = Data {
        nodes: graph.nodes(),
        source,
        first_arcs: memory.alloc_from(&offsets[..degrees.len()]),
        degrees: memory.alloc_from(&degrees),
        targets: memory.alloc_from(graph.targets()),
        distances: memory.alloc(degrees.len()),
        changed: memory.alloc(1),
    };
    let distances: Vec<u32> =
        graph.distances(source).into_iter().map(|distance| distance.unwrap_or(UNREACHED)).collect();
    let last = distances.iter().copied().filter(|&distance| distance != UNREACHED).max().unwrap_or(0);
    let outputs =
        vec![Output::new("distances", data.distances, &distances), Output::new("changed", data.changed, &[last])];
    let work_groups = data.nodes.div_ceil(NODES_PER_GROUP);
    let own = |kernel: Kernel, buf: Buf<u32>, mode: AccessMode| {
        kernel.access_parts(buf, mode, move |share| vec![share.elements(NODES_PER_GROUP, buf.len())])
    };
    let mut launched = 0;
    let next = move |memory: &HostMemory| {
        let kernel = match launched {
            0 => {
                let kernel = Kernel::new("initialize", work_groups, WAVES_PER_GROUP, move |w| initialize(w, data));
                own(kernel, data.distances, AccessMode::ReadWrite)
            }
            // The flag holds the last distance given. A machine that loses writes must not make the host go on forever.
            _ if memory.get(data.changed, 0) + 1 < launched || launched > last + 1 => return None,
            _ => {
                let level = launched - 1;
                let kernel = Kernel::new("relax", work_groups, WAVES_PER_GROUP, move |w| relax(w, data, level))
                    .access(data.targets, AccessMode::Read)
                    .access(data.distances, AccessMode::ReadWrite)
                    .access(data.changed, AccessMode::ReadWrite);
                own(own(kernel, data.first_arcs, AccessMode::Read), data.degrees, AccessMode::Read)
            }
        };
        launched += 1;
        Some(kernel.registers(REGISTERS_PER_ITEM))
    };
    HostProgram::deciding(next, outputs)
}

/// The search in a user's graph, from the lowest node of its largest component.
fn search_own(graph: &Graph, _seed: u64, memory: &mut HostMemory) -> HostProgram {
    let graph = graph.undirected();
    search(&graph, graph.largest_component(), memory)
}

impl Workload for Bfs {
    fn name(&self) -> &'static str {
        "bfs"
    }

    fn title(&self) -> &'static str {
        "Breadth-first search"
    }

    fn summary(&self) -> &'static str {
        "Finds the distance of every node of a road network from one of them, one kernel per level."
    }

    fn suite(&self) -> Suite {
        Suite::Lonestar
    }

    fn papers(&self) -> &'static [Paper] {
        &[Paper::Hmg]
    }

    fn source(&self) -> &'static str {
        "Ren et al., HMG, HPCA 2020, section VI, Table III (bfs); \
         LonestarGPU bfs (Burtscher, Nasre and Pingali, IISWC 2012)"
    }

    fn sizes(&self) -> &'static [SizeSpec] {
        &SIZES
    }

    fn build(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
        let side = sizes.get("side");
        // The numbering begins with the four quarters of the map, so its last quarter begins in the middle.
        search(&road_like(side, seed), side * side / 4 * 3, memory)
    }

    fn on_graph(&self) -> Option<OnGraph> {
        Some(search_own)
    }
}

#[cfg(test)]
mod tests {
    use chorus_kernel::flat;
    use chorus_system::Scale;

    use super::*;
    use crate::graph::{Edge, rmat};

    fn edge(from: u32, to: u32) -> Edge {
        Edge { from, to, weight: 1 }
    }

    #[test]
    fn an_own_graph_is_searched_from_the_lowest_node_of_its_largest_component() {
        let graph = Graph::from_arcs(7, &[edge(0, 1), edge(6, 2), edge(4, 2), edge(5, 5)], false);
        let mut memory = HostMemory::default();
        let mut program = search_own(&graph, 1, &mut memory);
        assert_eq!(flat::run(&mut program, &memory), Ok(()));
        let distances = memory.words(program.outputs()[0].words());
        assert_eq!(distances, [UNREACHED, UNREACHED, 0, UNREACHED, 1, UNREACHED, 1]);
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
    fn the_search_takes_so_many_levels() {
        for seed in 1..4 {
            let side = Bfs.sizes_at(Scale::Quick).get("side");
            let distances = road_like(side, seed).distances(side * side / 4 * 3);
            let levels = distances.into_iter().flatten().max();
            assert!((Some(100)..Some(200)).contains(&levels), "{levels:?}");
        }
    }
}
