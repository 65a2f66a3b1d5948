//! `pr-collab`: PageRank by CPU threads and work-groups together.
//!
//! Source: Spandex paper (Alsop, Sinclair and Adve, ISCA 2018), section IV-B and Table VII, `PR` on the graph wing (8
//! CPU threads, 8 thread blocks); PageRank of Pannotia (Che, Beckmann, Reinhardt and Skadron, IISWC 2013), the version
//! that pulls: a product of the graph's matrix, as compressed sparse rows, and the ranks. There are two kernels per
//! iteration. In the first, a thread goes through the entries of its node's row and adds the sum to the node's new
//! rank. In the second, the damped new rank becomes the old one, and the new one zero. The paper partitions the
//! vertices across CPU and GPU cores; `vertex_parts.rs` says how it is done here.
//!
//! Sharing: a participant writes the ranks of its own nodes only and needs no atomics. It also reads the ranks of
//! neighbours. Most of them are its own; the others belong to any CPU thread or work-group. So sharing is flat, with
//! moderate locality. Rows and entries are read once an iteration. Participants synchronise only at the ends of
//! kernels.
//!
//! The graph is `mesh_like` of `graph/generate.rs` with the numbers of nodes and edges of Table VII, or the user's own,
//! whose arcs are taken in the direction that the file gives them.
//!
//! Left out: the kernels that fill the matrix and the first ranks, which run once, and below paper scale all but the
//! first two of the original's 20 iterations. A work-group has 256 work-items where the original has 64. It has many
//! more nodes than work-items, so that it goes through them in strips.
//!
//! Arithmetic, for a strip of 32 nodes: 6 instructions for numbers, test and addresses; per entry 6: the loop's test
//! and branch, three addresses and a multiply-add; 1 for the sum; in the second kernel 6 in all. A CPU thread, whose
//! instructions take addresses from memory operands, spends 4 on a node and 4 on an entry: counting, test, branch and
//! multiply-add; in the second kernel 4.

use chorus_kernel::{Buf, Cpu, HostMemory, Kernel, Lanes, Wave};

use crate::graph::{Graph, mesh_like};
use crate::hetero_mark::pr::Matrix;
use crate::pannotia::mesh_size;
use crate::pannotia::vertex_parts::VertexParts;
use crate::program::{HostProgram, Output};
use crate::registry::{OnGraph, Paper, Suite, Workload};
use crate::size::{SizeSpec, Sizes};

const CPU_THREADS: u32 = 8;
const WORK_GROUPS: u32 = 8;
const WAVES_PER_GROUP: u32 = 8;
const REGISTERS_PER_ITEM: u32 = 24;
const DAMPING: f32 = 0.85;

pub(crate) struct PrCollab;

/// An edge lies in two rows. The matrix and the ranks take 7.4 MB, most of the 8 MB of a last-level cache and more than
/// the 4 MB of an L2 between GPU and last level. An iteration takes 1.7 million line accesses.
static SIZES: [SizeSpec; 3] = [
    SizeSpec::new("nodes", "nodes of the generated mesh", [62_032; 3], WING).range(64, 1 << 22),
    SizeSpec::new("edges", "edges of the generated mesh", [402_623; 3], WING).range(63, 1 << 24),
    SizeSpec::new(
        "iterations",
        "iterations of two kernels each",
        [2, 2, 20],
        "Pannotia: 20; chosen: 2 below paper scale, for time",
    )
    .range(1, 1000),
];
const WING: &str = "Spandex paper, Table VII: wing, 62,032 nodes and 402,623 edges";

/// Iterations on a user's graph.
const ITERATIONS_OWN: u32 = 10;

#[derive(Clone, Copy)]
struct Data {
    parts: VertexParts,
    offsets: Buf<u32>,
    columns: Buf<u32>,
    values: Buf<f32>,
    /// The old ranks and the new ones.
    ranks: [Buf<f32>; 2],
}

/// A node's rank from the sum of the ranks that its neighbours hand on.
fn damped(nodes: u32, sum: f32) -> f32 {
    (1.0 - DAMPING) / nodes as f32 + DAMPING * sum
}

/// Adds up the rows of a work-group's nodes.
async fn multiply(w: Wave, data: Data) {
    let [old, new] = data.ranks;
    for (nodes, inside) in data.parts.strips(&w) {
        w.alu(6).await;
        let (mut entries, end) =
            w.join(w.load_where(inside, data.offsets, nodes), w.load_where(inside, data.offsets, nodes + 1)).await;
        let mut sums = Lanes::splat(0.0);
        loop {
            let active = inside & entries.zip(end, |entry, end| u32::from(entry < end)).where_(|below| below == 1);
            w.alu(6).await;
            if !active.any() {
                break;
            }
            let (columns, values) =
                w.join(w.load_where(active, data.columns, entries), w.load_where(active, data.values, entries)).await;
            let ranks = w.load_where(active, old, columns).await;
            sums = (sums + values * ranks).select(active, sums);
            entries = entries + 1;
        }
        w.alu(1).await;
        let before = w.load_where(inside, new, nodes).await;
        w.store_where(inside, new, nodes, before + sums);
    }
}

/// Adds up the rows of a CPU thread's nodes.
async fn multiply_cpu(cpu: Cpu, data: Data) {
    let [old, new] = data.ranks;
    let nodes = data.parts.of_cpu(cpu.id());
    if nodes.is_empty() {
        return;
    }
    let mut entry = cpu.load(data.offsets, nodes.start).await;
    for node in nodes {
        cpu.alu(4);
        let end = cpu.load(data.offsets, node + 1).await;
        let mut sum = 0.0;
        while entry < end {
            cpu.alu(4);
            let column = cpu.load(data.columns, entry).await;
            let value = cpu.load(data.values, entry).await;
            sum += value * cpu.load(old, column).await;
            entry += 1;
        }
        let before = cpu.load(new, node).await;
        cpu.store(new, node, before + sum);
    }
}

/// Makes the new ranks of a work-group's nodes old ones.
async fn update(w: Wave, data: Data) {
    let [old, new] = data.ranks;
    for (nodes, inside) in data.parts.strips(&w) {
        w.alu(6).await;
        let sums = w.load_where(inside, new, nodes).await;
        w.store_where(inside, old, nodes, sums.map(|sum| damped(data.parts.nodes, sum)));
        w.store_where(inside, new, nodes, Lanes::splat(0.0));
    }
}

/// Makes the new ranks of a CPU thread's nodes old ones.
async fn update_cpu(cpu: Cpu, data: Data) {
    let [old, new] = data.ranks;
    for node in data.parts.of_cpu(cpu.id()) {
        cpu.alu(4);
        let sum = cpu.load(new, node).await;
        cpu.store(old, node, damped(data.parts.nodes, sum));
        cpu.store(new, node, 0.0);
    }
}

/// One iteration on the host.
fn iterate(matrix: &Matrix, ranks: &[f32]) -> Vec<f32> {
    let row = |bounds: &[u32]| {
        let entries = bounds[0] as usize..bounds[1] as usize;
        let sum = entries.fold(0.0, |sum, entry| sum + matrix.values[entry] * ranks[matrix.columns[entry] as usize]);
        damped(ranks.len() as u32, sum)
    };
    matrix.offsets.windows(2).map(row).collect()
}

/// The ranks of a graph's nodes after some iterations.
fn rank(graph: &Graph, iterations: u32, memory: &mut HostMemory) -> HostProgram {
    let matrix = Matrix::of(graph);
    let nodes = graph.nodes();
    let mut expected = vec![1.0 / nodes as f32; nodes as usize];
    let data = Data {
        parts: VertexParts { nodes, cpu_threads: CPU_THREADS, work_groups: WORK_GROUPS },
        offsets: memory.alloc_from(&matrix.offsets),
        columns: memory.alloc_from(&matrix.columns),
        values: memory.alloc_from(&matrix.values),
        ranks: [memory.alloc_from(&expected), memory.alloc(expected.len())],
    };
    memory.declare_read_only(data.offsets);
    memory.declare_read_only(data.columns);
    memory.declare_read_only(data.values);
    let mut kernels = Vec::new();
    for _ in 0..iterations {
        expected = iterate(&matrix, &expected);
        let kernel = Kernel::new("spmv_csr_scalar_kernel", WORK_GROUPS, WAVES_PER_GROUP, move |w| multiply(w, data));
        kernels.push(kernel.with_cpu(CPU_THREADS, move |cpu| multiply_cpu(cpu, data)).registers(REGISTERS_PER_ITEM));
        let kernel = Kernel::new("pagerank2", WORK_GROUPS, WAVES_PER_GROUP, move |w| update(w, data));
        kernels.push(kernel.with_cpu(CPU_THREADS, move |cpu| update_cpu(cpu, data)));
    }
    HostProgram::new(kernels, vec![Output::new("ranks", data.ranks[0], &expected)])
}

/// The ranks of a user's graph.
fn rank_own(graph: &Graph, _seed: u64, memory: &mut HostMemory) -> HostProgram {
    rank(graph, ITERATIONS_OWN, memory)
}

impl Workload for PrCollab {
    fn name(&self) -> &'static str {
        "pr-collab"
    }

    fn title(&self) -> &'static str {
        "PageRank by CPU and GPU"
    }

    fn summary(&self) -> &'static str {
        "Pulls the ranks of a mesh's nodes from their neighbours; CPU threads and work-groups have nodes of their own."
    }

    fn suite(&self) -> Suite {
        Suite::Pannotia
    }

    fn papers(&self) -> &'static [Paper] {
        &[Paper::Spandex]
    }

    fn source(&self) -> &'static str {
        "Alsop, Sinclair and Adve, Spandex, ISCA 2018, section IV-B, Table VII (PR); \
         Pannotia PageRank (Che et al., IISWC 2013)"
    }

    fn sizes(&self) -> &'static [SizeSpec] {
        &SIZES
    }

    fn misfit(&self, sizes: &Sizes) -> Option<String> {
        mesh_size::misfit(sizes)
    }

    fn build(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
        let mesh = mesh_like(sizes.get("nodes"), sizes.get("edges"), seed);
        rank(&mesh, sizes.get("iterations"), memory)
    }

    fn on_graph(&self) -> Option<OnGraph> {
        Some(rank_own)
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
    fn a_node_pulls_equal_parts_of_its_neighbours_ranks_and_keeps_the_damping() {
        let graph = Graph::from_arcs(3, &[edge(0, 1), edge(0, 2), edge(1, 2), edge(2, 0)], false);
        let [first, second, third] = [0.5, 0.25, 0.25].map(|sum| damped(3, sum));
        let ranks = iterate(&Matrix::of(&graph), &[0.5, 0.0, 0.5]);
        assert_eq!((ranks[0], ranks[1], ranks[2]), (first, second, third));
    }

    #[test]
    fn own_graphs_with_hubs_with_a_single_arc_and_with_none_are_ranked() {
        for graph in [rmat(10, 8, 5), Graph::from_arcs(9, &[edge(1, 8)], false), Graph::from_arcs(3, &[], false)] {
            let mut memory = HostMemory::default();
            let mut program = rank_own(&graph, 1, &mut memory);
            assert_eq!(flat::run_on(4, &mut program, &memory), Ok(()));
        }
    }

    #[test]
    fn the_paper_scale_has_the_graph_of_the_paper() {
        let sizes = PrCollab.sizes_at(Scale::Paper);
        let graph = mesh_like(sizes.get("nodes"), sizes.get("edges"), 1);
        assert_eq!((graph.nodes(), graph.undirected_edges().len()), (62_032, 402_623));
    }
}
