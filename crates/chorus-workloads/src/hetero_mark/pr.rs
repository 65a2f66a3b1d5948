//! `pr`: PageRank.
//!
//! Source: REC paper (Ko et al.), section 5.1, Table 3 (PR, 256 MB); PageRank of Hetero-Mark (Sun et al., Hetero-Mark:
//! A Benchmark Suite for CPU-GPU Collaborative Computing, IISWC 2016), as MGPUSim has it: a launch per iteration
//! multiplies the matrix of the graph, as compressed sparse rows, by the ranks; two vectors of ranks take turns. The
//! lanes of a row go through its entries side by side and add up their sums in halves. The graph is `uniform` of
//! `graph/generate.rs`, as MGPUSim's generator draws it, or the user's own.
//!
//! Sharing, where buffers are cut into blocks: rows, their entries and the new ranks of a GPU's nodes lie in its own
//! memory and are read or written once an iteration. The old ranks are read anywhere: a line holds those of 16 nodes,
//! each of which has its arcs to nodes of all GPUs, so it is read many times by every GPU, at times nobody can foresee.
//! In the next iteration its owner writes it, while the others still have copies.
//!
//! Left out: a row gets 8 lanes instead of a whole wavefront, most of which would have nothing to do; entries are read
//! in the same order, and the lines of ranks are the same. A node's rank is stored once, not set to zero before. There
//! is no damping, as in the original, and of its iterations there are the first two. MGPUSim draws weights of arcs at
//! random; here all arcs of a node weigh the same.
//!
//! An arc carries the rank of the node it leaves, divided by the number of arcs that leave it. A user's arcs are taken
//! as they come, in the direction that the file gives them; weights do not matter.
//!
//! Arithmetic: 5 instructions for the row, its test and addresses; per 8 entries 6: the loop's test and branch, three
//! addresses and a multiply-add; for the sum 6, a shuffle and an addition three times, and 1 for its address.

use chorus_kernel::{Buf, HostMemory, Kernel, LANES, Lanes, Wave};

use crate::graph::{self, Edge, Graph, uniform};
use crate::program::{HostProgram, Output};
use crate::registry::{OnGraph, Paper, Suite, Workload};
use crate::size::{SizeSpec, Sizes};

/// Wavefronts of a work-group: 64 work-items, as in the original.
const WAVES_PER_GROUP: u32 = 2;
const LANES_PER_ROW: usize = 8;
const REGISTERS_PER_ITEM: u32 = 24;

pub(crate) struct PageRank;

/// Table 3's 256 MB are 2^21 nodes with 14 arcs each, which take 248 MB. So the ranks take 8 MB, four times an L2 and
/// sixteen times what a directory of single lines covers: section 3.3 says that PR needs eight to twelve times its
/// entries. An iteration takes a line access per arc, and 5.7 for the four rows of a wavefront.
static SIZES: [SizeSpec; 3] = [
    SizeSpec::new(
        "nodes",
        "nodes of the generated graph",
        [1 << 15, 1 << 17, 1 << 21],
        "chosen: ranks of four times an L2, as section 3.3 of the REC paper has it",
    )
    .range(1, graph::NODES_MAX as u64),
    SizeSpec::new(
        "arcs_per_node",
        "arcs that leave a node of the generated graph",
        [14, 14, 14],
        "REC Table 3 (PR): 256 MB",
    )
    .range(1, 1024),
    SizeSpec::new(
        "iterations",
        "times that the ranks of a generated graph are handed on",
        [ITERATIONS; 3],
        "chosen: the first two of the original's",
    )
    .range(1, 1000),
];

/// Iterations on generated graphs by default, and on a user's own.
const ITERATIONS: u64 = 2;

/// The matrix as compressed sparse rows: the arcs that lead to a node make its row.
pub(crate) struct Matrix {
    pub(crate) offsets: Vec<u32>,
    pub(crate) columns: Vec<u32>,
    pub(crate) values: Vec<f32>,
}

impl Matrix {
    /// The matrix of a graph.
    pub(crate) fn of(graph: &Graph) -> Matrix {
        let leaving = |node: u32| graph.neighbours(node).iter().map(move |&to| Edge { from: to, to: node, weight: 1 });
        let back: Vec<Edge> = (0..graph.nodes()).flat_map(leaving).collect();
        let transposed = Graph::from_arcs(graph.nodes(), &back, false);
        let value = |&column: &u32| 1.0 / graph.neighbours(column).len() as f32;
        let values = transposed.targets().iter().map(value).collect();
        Matrix { offsets: transposed.offsets().to_vec(), columns: transposed.targets().to_vec(), values }
    }

    /// One iteration on the host.
    fn multiply(&self, ranks: &[f32]) -> Vec<f32> {
        let row = |bounds: &[u32]| {
            let mut sums = [0.0; LANES_PER_ROW];
            for (number, entry) in (bounds[0] as usize..bounds[1] as usize).enumerate() {
                sums[number % LANES_PER_ROW] += self.values[entry] * ranks[self.columns[entry] as usize];
            }
            add_in_halves(&mut sums);
            sums[0]
        };
        self.offsets.windows(2).map(row).collect()
    }
}

/// Adds up the lanes of a row; the first one gets the sum.
fn add_in_halves(sums: &mut [f32]) {
    let mut half = LANES_PER_ROW / 2;
    while half > 0 {
        for lane in 0..half {
            sums[lane] += sums[lane + half];
        }
        half /= 2;
    }
}

#[derive(Clone, Copy)]
struct Data {
    nodes: u32,
    offsets: Buf<u32>,
    columns: Buf<u32>,
    values: Buf<f32>,
}

/// One iteration: the ranks in `after`, from those in `before`.
async fn update(w: Wave, data: Data, before: Buf<f32>, after: Buf<f32>) {
    let lanes_per_row = LANES_PER_ROW as u32;
    let rows = w.global_ids() / lanes_per_row;
    let inside = rows.below(data.nodes);
    w.alu(5).await;
    if !inside.any() {
        return;
    }
    let (start, end) =
        w.join(w.load_where(inside, data.offsets, rows), w.load_where(inside, data.offsets, rows + 1)).await;
    let mut sums = Lanes::splat(0.0);
    let mut entries = start + w.lane_ids() % lanes_per_row;
    loop {
        let active = inside & entries.zip(end, |entry, end| u32::from(entry < end)).where_(|below| below == 1);
        w.alu(6).await;
        if !active.any() {
            break;
        }
        let (columns, values) =
            w.join(w.load_where(active, data.columns, entries), w.load_where(active, data.values, entries)).await;
        let ranks = w.load_where(active, before, columns).await;
        sums = (sums + values * ranks).select(active, sums);
        entries = entries + lanes_per_row;
    }
    w.alu(7).await;
    sums.0.chunks_exact_mut(LANES_PER_ROW).for_each(add_in_halves);
    let first = w.lane_ids().where_(|lane| lane % lanes_per_row == 0);
    w.store_where(inside & first, after, rows, sums);
}

/// The ranks of a graph's nodes after so many iterations.
fn rank(graph: &Graph, iterations: u64, memory: &mut HostMemory) -> HostProgram {
    let matrix = Matrix::of(graph);
    let nodes = graph.nodes();
    let data = Data {
        nodes,
        offsets: memory.alloc_from(&matrix.offsets),
        columns: memory.alloc_from(&matrix.columns),
        values: memory.alloc_from(&matrix.values),
    };
    let equal = vec![1.0 / nodes as f32; nodes as usize];
    let ranks = [memory.alloc_from(&equal), memory.alloc(equal.len())];
    let mut expected = [equal.clone(), equal];
    let mut kernels = Vec::new();
    for iteration in 0..iterations as usize {
        let [before, after] = [iteration % 2, (iteration + 1) % 2];
        expected[after] = matrix.multiply(&expected[before]);
        let work_groups = (nodes * LANES_PER_ROW as u32).div_ceil(WAVES_PER_GROUP * LANES as u32);
        let body = move |w| update(w, data, ranks[before], ranks[after]);
        let kernel = Kernel::new("PageRankUpdateGpu", work_groups, WAVES_PER_GROUP, body);
        kernels.push(kernel.registers(REGISTERS_PER_ITEM));
    }
    let outputs = vec![Output::new("ranks", ranks[0], &expected[0]), Output::new("odd ranks", ranks[1], &expected[1])];
    HostProgram::new(kernels, outputs)
}

/// The ranks of a graph that was brought along.
fn rank_own(graph: &Graph, _seed: u64, memory: &mut HostMemory) -> HostProgram {
    rank(graph, ITERATIONS, memory)
}

impl Workload for PageRank {
    fn name(&self) -> &'static str {
        "pr"
    }

    fn title(&self) -> &'static str {
        "PageRank"
    }

    fn summary(&self) -> &'static str {
        "Hands the ranks of a graph's nodes on along its arcs, one kernel per iteration."
    }

    fn suite(&self) -> Suite {
        Suite::HeteroMark
    }

    fn papers(&self) -> &'static [Paper] {
        &[Paper::Rec]
    }

    fn source(&self) -> &'static str {
        "Ko et al., REC, section 5.1, Table 3 (PR); Hetero-Mark PageRank (Sun et al., IISWC 2016), as in MGPUSim"
    }

    fn sizes(&self) -> &'static [SizeSpec] {
        &SIZES
    }

    fn misfit(&self, sizes: &Sizes) -> Option<String> {
        let (nodes, arcs_per_node) = (sizes.get("nodes"), sizes.get("arcs_per_node"));
        let (arcs, accepted) = (u64::from(nodes) * u64::from(arcs_per_node), graph::EDGES_MAX);
        (arcs > accepted.into()).then(|| {
            format!(
                "nodes = {nodes} with arcs_per_node = {arcs_per_node} are {arcs} arcs; at most {accepted} are accepted"
            )
        })
    }

    fn build(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
        let graph = uniform(sizes.get("nodes"), sizes.get("arcs_per_node"), seed);
        rank(&graph, sizes.get("iterations").into(), memory)
    }

    fn on_graph(&self) -> Option<OnGraph> {
        Some(rank_own)
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
    fn a_node_hands_its_rank_on_in_equal_parts() {
        let graph = Graph::from_arcs(4, &[edge(0, 1), edge(0, 2), edge(1, 2), edge(2, 0), edge(3, 3)], false);
        let matrix = Matrix::of(&graph);
        assert_eq!(matrix.multiply(&[0.5, 0.25, 0.125, 0.125]), [0.125, 0.25, 0.5, 0.125]);
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
    fn ranks_of_a_graph_in_which_arcs_leave_every_node_sum_up_to_one() {
        let matrix = Matrix::of(&rmat(8, 16, 2).undirected());
        let sizes = matrix.offsets.windows(2).map(|bounds| bounds[1] - bounds[0]);
        let nodes = sizes.clone().filter(|&size| size > 0).count();
        let ranks: Vec<f32> = sizes.map(|size| if size > 0 { 1.0 / nodes as f32 } else { 0.0 }).collect();
        let sum: f32 = matrix.multiply(&ranks).iter().sum();
        assert!((sum - 1.0).abs() < 1e-4, "{sum}");
    }
}
