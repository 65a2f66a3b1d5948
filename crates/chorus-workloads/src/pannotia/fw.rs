//! `fw`: the shortest ways between all pairs of nodes, by the algorithm of Floyd and Warshall.
//!
//! Source: CPElide paper (Dalmia et al., MICRO 2024), section IV-D, Table II, `FW` on a graph of 512 nodes and 65,536
//! edges; fw of Pannotia (Che, Beckmann, Reinhardt and Skadron, IISWC 2013) as gem5-resources has it. There is a launch
//! per node k. A work-item per pair, in work-groups of 16 x 16, shortens the way from i to j where the one by k is
//! shorter, and notes k in a second matrix. The first coordinate of a work-item is the row i, so a wavefront touches
//! two words in each of 16 rows; the words of column k that it reads lie in 16 lines too.
//!
//! Sharing: work-groups are counted down the rows first, so a chiplet has some columns of all rows, and lines of column
//! k are read by all chiplets. A page holds parts of the data of all chiplets and lies with the first to touch it. Both
//! matrices are small, and the matrix of distances is read as a whole in every launch.
//!
//! Left out: all nodes k but the first few; gem5-resources stops after 191. Node 0 is no waypoint, as in
//! gem5-resources. The graph is random, with an edge between a quarter of all pairs.
//!
//! Arithmetic: 8 instructions for coordinates and tests, 6 for three addresses, 2 for sum and comparison, 2 more before
//! stores.

use chorus_kernel::{AccessMode, Buf, HostMemory, Kernel, LANES, Lanes, Wave};

use crate::generator::SplitMix64;
use crate::program::{HostProgram, Output};
use crate::registry::{Paper, Suite, Workload};
use crate::size::{SizeSpec, Sizes};

/// Rows and columns of a work-group.
const BLOCK: u32 = 16;
const WAVES_PER_GROUP: u32 = BLOCK * BLOCK / LANES as u32;
/// The distance of nodes without a known way, as in the original.
const FAR: u32 = 999_999;
/// Edges are as long as 1 to this.
const LENGTH_MAX: u32 = 100;

pub(crate) struct Fw;

/// The matrices take 0.13 MB at quick scale, 0.5 MB at medium scale and Table II's 2.1 MB at paper scale. A wavefront
/// takes 33 line accesses per launch, and up to 32 more where it finds shorter ways. That makes 0.24, 0.9 and 19
/// million in all. The 191 launches of the original would take 55 million.
static SIZES: [SizeSpec; 3] = [
    SizeSpec::new("nodes", "nodes of the graph", [128, 256, 512], TABLE).range(32, 8192).multiple_of(16),
    SizeSpec::new("density", "percentage of pairs of nodes with an edge", [25, 25, 25], TABLE).range(1, 100),
    SizeSpec::new(
        "iterations",
        "nodes that ways may lead by, one launch for each",
        [12, 12, 64],
        "chosen: a third of the 191 of gem5-resources, for time",
    )
    .range(1, 8191),
];
const TABLE: &str = "CPElide paper, Table II: 512_65536.gr, 512 nodes and 65,536 edges";

/// Shortens ways by node `k`.
async fn floyd_warshall(w: Wave, nodes: u32, distances: Buf<u32>, waypoints: Buf<u32>, k: u32) {
    let blocks = nodes / BLOCK;
    let local = w.local_ids();
    let i = local % BLOCK + w.work_group() % blocks * BLOCK;
    let j = local / BLOCK + w.work_group() / blocks * BLOCK;
    w.alu(14).await;
    let place = i * nodes + j;
    let [to_k, from_k, old] = w
        .join_all([w.load(distances, i * nodes + k), w.load(distances, j + k * nodes), w.load(distances, place)])
        .await;
    w.alu(2).await;
    let by_k = to_k + from_k;
    let shorter = by_k.zip(old, |by_k, old| u32::from(by_k < old)).where_(|shorter| shorter == 1);
    if shorter.any() {
        w.alu(2).await;
        w.store_where(shorter, distances, place, by_k);
        w.store_where(shorter, waypoints, place, Lanes::splat(k));
    }
}

/// Shortens ways by node `k` on the host.
fn reference_step(nodes: usize, distances: &mut [u32], waypoints: &mut [u32], k: usize) {
    for i in 0..nodes {
        for j in 0..nodes {
            let by_k = distances[i * nodes + k] + distances[k * nodes + j];
            if by_k < distances[i * nodes + j] {
                distances[i * nodes + j] = by_k;
                waypoints[i * nodes + j] = k as u32;
            }
        }
    }
}

/// The lengths of a random graph's edges, of which there are `density` between 100 pairs of nodes.
fn draw(nodes: u32, density: u32, generator: &mut SplitMix64) -> Vec<u32> {
    let mut length = |pair: u32| match generator.below(100) {
        _ if pair / nodes == pair % nodes => 0,
        drawn if drawn < density => 1 + generator.below(LENGTH_MAX),
        _ => FAR,
    };
    (0..nodes * nodes).map(&mut length).collect()
}

impl Workload for Fw {
    fn name(&self) -> &'static str {
        "fw"
    }

    fn title(&self) -> &'static str {
        "Floyd-Warshall"
    }

    fn summary(&self) -> &'static str {
        "Shortens the ways between all pairs of nodes of a graph, one kernel per node that they may lead by."
    }

    fn suite(&self) -> Suite {
        Suite::Pannotia
    }

    fn papers(&self) -> &'static [Paper] {
        &[Paper::CpElide]
    }

    fn source(&self) -> &'static str {
        "Dalmia et al., CPElide, MICRO 2024, section IV-D, Table II (FW); Pannotia fw (Che et al., IISWC 2013)"
    }

    fn sizes(&self) -> &'static [SizeSpec] {
        &SIZES
    }

    fn misfit(&self, sizes: &Sizes) -> Option<String> {
        let (nodes, iterations) = (sizes.get("nodes"), sizes.get("iterations"));
        (iterations >= nodes)
            .then(|| format!("iterations is {iterations} and nodes is {nodes}: iterations must be below nodes"))
    }

    fn build(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
        let (nodes, launches) = (sizes.get("nodes"), sizes.get("iterations"));
        let mut distances = draw(nodes, sizes.get("density"), &mut SplitMix64::new(seed));
        let mut waypoints = vec![0; distances.len()];
        let matrices = (memory.alloc_from(&distances), memory.alloc_from(&waypoints));
        let work_groups = (nodes / BLOCK) * (nodes / BLOCK);
        let launch = |k: u32| {
            Kernel::new("floydwarshall", work_groups, WAVES_PER_GROUP, move |w| {
                floyd_warshall(w, nodes, matrices.0, matrices.1, k)
            })
            .access(matrices.0, AccessMode::ReadWrite)
            .access(matrices.1, AccessMode::ReadWrite)
        };
        let kernels = (1..=launches).map(launch).collect();
        for k in 1..=launches as usize {
            reference_step(nodes as usize, &mut distances, &mut waypoints, k);
        }
        let outputs =
            vec![Output::new("distances", matrices.0, &distances), Output::new("waypoints", matrices.1, &waypoints)];
        HostProgram::new(kernels, outputs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_by_a_node_replace_longer_ones() {
        let mut distances = vec![0, 5, FAR, FAR, 0, 2, 1, FAR, 0];
        let mut waypoints = vec![0; 9];
        reference_step(3, &mut distances, &mut waypoints, 1);
        assert_eq!(distances, [0, 5, 7, FAR, 0, 2, 1, FAR, 0]);
        assert_eq!(waypoints, [0, 0, 1, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn work_groups_divide_the_matrix() {
        assert_eq!(SIZES[0].multiple_of, u64::from(BLOCK));
    }
}
