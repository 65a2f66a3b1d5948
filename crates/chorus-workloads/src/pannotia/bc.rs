//! `bc`: betweenness centrality by CPU threads and work-groups together.
//!
//! Source: Spandex paper (Alsop, Sinclair and Adve, ISCA 2018), section IV-B and Table VII, `BC` on the graph olesnik
//! (8 CPU threads, 64 thread blocks); betweenness centrality of Pannotia (Che, Beckmann, Reinhardt and Skadron, IISWC
//! 2013), which follows Brandes. From a source, a search goes outwards level by level. A node of the level gives
//! neighbours never reached their distance, and adds the number of its shortest paths to that of all neighbours one
//! level on. Then the search goes back level by level. A node adds to the dependency of every neighbour one level back
//! that neighbour's share of the node's paths, times one more than the node's own dependency. It also adds its
//! dependency to its centrality. In both directions threads push: a thread updates the neighbours of its nodes, by
//! atomics, since others may update the same ones. Every level looks at the distances of all nodes, as in the original.
//! The paper partitions the vertices across CPU and GPU cores; `vertex_parts.rs` says how it is done here.
//!
//! Sharing: flat, and fine-grained. Most neighbours of a node belong to the same participant, which updates them again
//! and again; the others belong to any CPU thread or work-group. Distances, paths and dependencies of a participant's
//! nodes are first written by itself and later updated by its neighbours too. Arcs are only read. The nodes of a level
//! belong to few participants, which do all its work while the others wait.
//!
//! A wavefront waits for the old value of a sum that it adds to. So does the original, whose addition of floating-point
//! numbers reads, compares and exchanges, and so do warps in the paper's simulator, GPGPU-Sim. A wavefront does not
//! wait for the update of a distance, which is a store in the original.
//!
//! Order: barriers across CPU threads and work-groups (`collaborative_barrier.rs`) separate levels; updates are relaxed
//! atomics. A distance that another one updates in the same level is looked at with a plain load, as in the original:
//! it says "never reached" or the next level, and both lead to the same updates. The flag that asks for another level
//! has two words that take turns, so that no thread writes the word that others still read.
//!
//! Left out: all sources but the first, and with it the clearing of centralities. In place of a launch per level, as
//! the GPU version has it, one launch goes through all of them. A work-group has 256 work-items, which go through its
//! nodes in strips of 32.
//!
//! The original counts in floating point, whose sums depend on their order. Here paths are whole numbers. Where the
//! paths of a level would not fit a word, all of them lose some bits when they are handed on to it, so that shares keep
//! their proportions; the kernel's arguments give the number of bits for every level. Dependencies are fixed-point
//! numbers. Both are equal bit for bit in every order of atomics.
//!
//! The graph is `mesh_like` of `graph/generate.rs` with the numbers of nodes and edges of Table VII, searched from node
//! 0. A user's own graph is walked both ways along its arcs, and is searched from the lowest node of its largest
//! component.
//!
//! Arithmetic, per strip and level: 6 instructions for numbers, tests and the address of distances; where a node
//! belongs to the level 4 before the loop, and per arc 7 outwards: the loop's test and branch, two addresses, two tests
//! and a shift; 17 back: the same and a division, a product and a sum. A CPU thread, which looks at four distances with
//! one vector instruction, spends 4 on them; 4 on a node of the level; per arc 5 outwards and 15 back.

use std::sync::Arc;

use chorus_kernel::{Buf, Cpu, HostMemory, Kernel, Lanes, Mask, Wave};
use chorus_protocol::access::{AtomicOp, Scope};

use crate::collaborative_barrier::CollaborativeBarrier;
use crate::graph::{Graph, mesh_like};
use crate::pannotia::mesh_size;
use crate::pannotia::vertex_parts::VertexParts;
use crate::program::{HostProgram, Output};
use crate::registry::{OnGraph, Paper, Suite, Workload};
use crate::size::{SizeSpec, Sizes};

const CPU_THREADS: u32 = 8;
const WAVES_PER_GROUP: u32 = 8;
const REGISTERS_PER_ITEM: u32 = 16;

/// The distance of a node that was never reached.
const UNREACHED: u32 = u32::MAX;
/// Paths of a node.
const PATHS_MAX: u64 = 1 << 28;
/// Bits of a dependency behind the point, unless there are too many nodes.
const FRACTION_BITS_MAX: u32 = 12;
/// Distances that a CPU thread looks at in one instruction of 128 bits.
const VECTOR: usize = 4;

pub(crate) struct Bc;

/// Distances, paths, dependencies, centralities and arcs take 3.7 MB. The 32 work-groups of quick scale fit 8 compute
/// units, so that all are resident on every machine.
static SIZES: [SizeSpec; 3] = [
    SizeSpec::new("nodes", "nodes of the generated mesh", [88_263; 3], OLESNIK).range(64, 1 << 22),
    SizeSpec::new("edges", "edges of the generated mesh", [243_088; 3], OLESNIK).range(63, 1 << 24),
    SizeSpec::new(
        "work_groups",
        "work-groups, all of them resident at once, a multiple of the 8 CPU threads",
        [32, 64, 64],
        "Spandex paper, Table VII: 64 thread blocks",
    )
    .range(8, 64)
    .multiple_of(8),
];
const OLESNIK: &str = "Spandex paper, Table VII: olesnik, 88,263 nodes and 243,088 edges";

/// Work-groups on a user's graph, few enough for a machine of any size.
const WORK_GROUPS_OWN: u32 = 32;

/// The arithmetic that hands paths and dependencies on from level to level.
#[derive(Clone, Copy)]
struct Arithmetic {
    fraction_bits: u32,
}

impl Arithmetic {
    /// Dependencies of all nodes together must fit a word.
    fn of(nodes: u32) -> Arithmetic {
        Arithmetic { fraction_bits: FRACTION_BITS_MAX.min(nodes.leading_zeros()) }
    }

    /// The paths that a node hands on, with `bits` fewer.
    fn share(paths: u32, bits: u32) -> u32 {
        (paths >> bits).max(1)
    }

    /// The dependency that a node hands back to a neighbour that has handed on `share` of the node's `paths`.
    fn dependency(self, share: u32, paths: u32, own: u32) -> u32 {
        let one_more = u64::from(own) + (1 << self.fraction_bits);
        // A machine that loses writes may leave a node without paths.
        (u64::from(share) * one_more / u64::from(paths.max(1))) as u32
    }
}

#[derive(Clone, Copy)]
struct Data {
    parts: VertexParts,
    arithmetic: Arithmetic,
    source: u32,
    /// The number of the last level.
    depth: u32,
    offsets: Buf<u32>,
    targets: Buf<u32>,
    distances: Buf<u32>,
    paths: Buf<u32>,
    dependencies: Buf<u32>,
    centralities: Buf<u32>,
    /// The last distances given, of even and odd levels.
    reached: Buf<u32>,
    barrier: CollaborativeBarrier,
}

impl Data {
    /// The distance and the number of paths of a node when the search begins.
    fn first(&self, node: u32) -> (u32, u32) {
        if node == self.source { (0, 1) } else { (UNREACHED, 0) }
    }
}

/// All levels of one wavefront. `bits` says for every level by how much the paths of the one before shrink.
async fn search(w: Wave, data: Data, bits: Arc<[u32]>) {
    for (nodes, inside) in data.parts.strips(&w) {
        w.alu(6).await;
        w.store_where(inside, data.distances, nodes, nodes.map(|node| data.first(node).0));
        w.store_where(inside, data.paths, nodes, nodes.map(|node| data.first(node).1));
        w.store_where(inside, data.dependencies, nodes, Lanes::splat(0));
    }
    let mut goal = 1;
    data.barrier.wait(&w, goal).await;
    let mut level = 0;
    // A machine that loses writes must not make the search go on forever.
    while level <= data.depth {
        outwards(&w, data, level, bits[level as usize + 1]).await;
        goal += 1;
        data.barrier.wait(&w, goal).await;
        if w.load_one(data.reached, level % 2).await <= level {
            break;
        }
        level += 1;
    }
    for level in (1..=level.min(data.depth)).rev() {
        backwards(&w, data, level, bits[level as usize]).await;
        goal += 1;
        data.barrier.wait(&w, goal).await;
    }
}

/// The lanes that still have an arc.
fn before(arcs: Lanes<u32>, end: Lanes<u32>) -> Mask {
    arcs.zip(end, |arc, end| u32::from(arc < end)).where_(|below| below == 1)
}

/// Pushes distances and paths from the nodes of a level to their neighbours.
async fn outwards(w: &Wave, data: Data, level: u32, bits: u32) {
    let mut found = Mask::NONE;
    for (nodes, inside) in data.parts.strips(w) {
        w.alu(6).await;
        let distances = w.load_where(inside, data.distances, nodes).await;
        let active = inside & distances.where_(|distance| distance == level);
        if !active.any() {
            continue;
        }
        let [mut arcs, end, paths] = w
            .join_all([
                w.load_where(active, data.offsets, nodes),
                w.load_where(active, data.offsets, nodes + 1),
                w.load_where(active, data.paths, nodes),
            ])
            .await;
        w.alu(4).await;
        let shares = paths.map(|paths| Arithmetic::share(paths, bits));
        loop {
            let lanes = active & before(arcs, end);
            w.alu(7).await;
            if !lanes.any() {
                break;
            }
            let targets = w.load_where(lanes, data.targets, arcs).await;
            let distances = w.load_where(lanes, data.distances, targets).await;
            let fresh = lanes & distances.where_(|distance| distance == UNREACHED);
            let onwards = fresh | (lanes & distances.where_(|distance| distance == level + 1));
            if fresh.any() {
                let next = Lanes::splat(level + 1);
                drop(w.atomic_in(Scope::System, AtomicOp::Min, fresh, data.distances, targets, next));
                found = found | fresh;
            }
            if onwards.any() {
                w.atomic_in(Scope::System, AtomicOp::Add, onwards, data.paths, targets, shares).await;
            }
            arcs = arcs + 1;
        }
    }
    if found.any() {
        let (one, flag) = (Mask::lane(0), Lanes::splat(level % 2));
        drop(w.atomic_in(Scope::System, AtomicOp::Max, one, data.reached, flag, Lanes::splat(level + 1)));
    }
}

/// Pushes dependencies from the nodes of a level to their neighbours one level back.
async fn backwards(w: &Wave, data: Data, level: u32, bits: u32) {
    for (nodes, inside) in data.parts.strips(w) {
        w.alu(6).await;
        let distances = w.load_where(inside, data.distances, nodes).await;
        let active = inside & distances.where_(|distance| distance == level);
        if !active.any() {
            continue;
        }
        let [mut arcs, end, paths, own, centralities] = w
            .join_all([
                w.load_where(active, data.offsets, nodes),
                w.load_where(active, data.offsets, nodes + 1),
                w.load_where(active, data.paths, nodes),
                w.load_where(active, data.dependencies, nodes),
                w.load_where(active, data.centralities, nodes),
            ])
            .await;
        w.alu(4).await;
        w.store_where(active, data.centralities, nodes, centralities.zip(own, u32::wrapping_add));
        loop {
            let lanes = active & before(arcs, end);
            w.alu(17).await;
            if !lanes.any() {
                break;
            }
            let targets = w.load_where(lanes, data.targets, arcs).await;
            let distances = w.load_where(lanes, data.distances, targets).await;
            let back = lanes & distances.where_(|distance| distance == level - 1);
            if back.any() {
                let theirs = w.load_where(back, data.paths, targets).await;
                let handed = Lanes::from_fn(|lane| {
                    let share = Arithmetic::share(theirs[lane], bits);
                    data.arithmetic.dependency(share, paths[lane], own[lane])
                });
                w.atomic_in(Scope::System, AtomicOp::Add, back, data.dependencies, targets, handed).await;
            }
            arcs = arcs + 1;
        }
    }
}

/// All levels of one CPU thread.
async fn search_cpu(cpu: Cpu, data: Data, bits: Arc<[u32]>) {
    for node in data.parts.of_cpu(cpu.id()) {
        cpu.alu(4);
        let (distance, paths) = data.first(node);
        cpu.store(data.distances, node, distance);
        cpu.store(data.paths, node, paths);
        cpu.store(data.dependencies, node, 0);
    }
    let mut goal = 1;
    data.barrier.wait_cpu(&cpu, goal).await;
    let mut level = 0;
    while level <= data.depth {
        outwards_cpu(&cpu, data, level, bits[level as usize + 1]).await;
        goal += 1;
        data.barrier.wait_cpu(&cpu, goal).await;
        if cpu.load(data.reached, level % 2).await <= level {
            break;
        }
        level += 1;
    }
    for level in (1..=level.min(data.depth)).rev() {
        backwards_cpu(&cpu, data, level, bits[level as usize]).await;
        goal += 1;
        data.barrier.wait_cpu(&cpu, goal).await;
    }
}

/// A CPU thread's nodes of a level among the `VECTOR` from `first` on.
async fn of_level(cpu: &Cpu, data: Data, first: u32, level: u32) -> impl Iterator<Item = u32> + use<> {
    let distances: [u32; VECTOR] = cpu.load_vec(data.distances, first).await;
    cpu.alu(4);
    (first..).zip(distances).filter(move |&(_, distance)| distance == level).map(|(node, _)| node)
}

/// Pushes distances and paths from a CPU thread's nodes of a level, as [`outwards`] does for a wavefront.
async fn outwards_cpu(cpu: &Cpu, data: Data, level: u32, bits: u32) {
    let mut found = false;
    for first in data.parts.of_cpu(cpu.id()).step_by(VECTOR) {
        for node in of_level(cpu, data, first, level).await {
            cpu.alu(4);
            let [start, end]: [u32; 2] = cpu.load_vec(data.offsets, node).await;
            let share = Arithmetic::share(cpu.load(data.paths, node).await, bits);
            for arc in start..end {
                cpu.alu(5);
                let target = cpu.load(data.targets, arc).await;
                let distance = cpu.load(data.distances, target).await;
                if distance == UNREACHED {
                    cpu.atomic(AtomicOp::Min, data.distances, target, level + 1).await;
                    found = true;
                }
                if distance == UNREACHED || distance == level + 1 {
                    cpu.atomic(AtomicOp::Add, data.paths, target, share).await;
                }
            }
        }
    }
    if found {
        cpu.atomic(AtomicOp::Max, data.reached, level % 2, level + 1).await;
    }
}

/// Pushes dependencies from a CPU thread's nodes of a level, as [`backwards`] does for a wavefront.
async fn backwards_cpu(cpu: &Cpu, data: Data, level: u32, bits: u32) {
    for first in data.parts.of_cpu(cpu.id()).step_by(VECTOR) {
        for node in of_level(cpu, data, first, level).await {
            cpu.alu(4);
            let [start, end]: [u32; 2] = cpu.load_vec(data.offsets, node).await;
            let paths = cpu.load(data.paths, node).await;
            let own = cpu.load(data.dependencies, node).await;
            let centrality = cpu.load(data.centralities, node).await;
            cpu.store(data.centralities, node, centrality.wrapping_add(own));
            for arc in start..end {
                cpu.alu(15);
                let target = cpu.load(data.targets, arc).await;
                if cpu.load(data.distances, target).await == level - 1 {
                    let share = Arithmetic::share(cpu.load(data.paths, target).await, bits);
                    let handed = data.arithmetic.dependency(share, paths, own);
                    cpu.atomic(AtomicOp::Add, data.dependencies, target, handed).await;
                }
            }
        }
    }
}

/// The output of the search on the host.
struct Reference {
    distances: Vec<u32>,
    paths: Vec<u32>,
    /// Per level, and two more, the bits that paths lose on their way to it.
    bits: Vec<u32>,
    dependencies: Vec<u32>,
}

/// Searches on the host.
fn reference(graph: &Graph, source: u32, arithmetic: Arithmetic) -> Reference {
    let distances: Vec<u32> =
        graph.distances(source).into_iter().map(|distance| distance.unwrap_or(UNREACHED)).collect();
    let depth = distances.iter().copied().filter(|&distance| distance != UNREACHED).max().unwrap_or(0);
    let mut levels = vec![Vec::new(); depth as usize + 1];
    for (node, &distance) in (0..).zip(&distances).filter(|&(_, &distance)| distance != UNREACHED) {
        levels[distance as usize].push(node);
    }
    let mut paths = vec![0; distances.len()];
    paths[source as usize] = 1;
    let mut bits = vec![0; depth as usize + 3];
    for level in 1..levels.len() {
        let sum = |node: u32, bits: u32, paths: &[u32]| -> u64 {
            let back = graph.neighbours(node).iter().filter(|&&other| distances[other as usize] + 1 == level as u32);
            back.map(|&other| u64::from(Arithmetic::share(paths[other as usize], bits))).sum()
        };
        let fits = |bits: &u32| levels[level].iter().all(|&node| sum(node, *bits, &paths) <= PATHS_MAX);
        bits[level] = (0..u32::BITS).find(fits).unwrap_or(0);
        for &node in &levels[level] {
            paths[node as usize] = sum(node, bits[level], &paths) as u32;
        }
    }
    let mut dependencies = vec![0_u32; distances.len()];
    for level in (1..levels.len()).rev() {
        for &node in &levels[level] {
            let back = graph.neighbours(node).iter().filter(|&&other| distances[other as usize] + 1 == level as u32);
            for &other in back {
                let share = Arithmetic::share(paths[other as usize], bits[level]);
                let handed = arithmetic.dependency(share, paths[node as usize], dependencies[node as usize]);
                dependencies[other as usize] = dependencies[other as usize].wrapping_add(handed);
            }
        }
    }
    Reference { distances, paths, bits, dependencies }
}

/// The centralities that shortest paths from `source` give, in a graph whose arcs go both ways.
fn centralities(graph: &Graph, source: u32, work_groups: u32, memory: &mut HostMemory) -> HostProgram {
    let nodes = graph.nodes();
    let arithmetic = Arithmetic::of(nodes);
    let mut reference = reference(graph, source, arithmetic);
    let depth = reference.bits.len() as u32 - 3;
    let parts = VertexParts { nodes, cpu_threads: CPU_THREADS, work_groups };
    // Nodes behind the last one, which no path reaches, fill up the last vector of a CPU thread.
    reference.distances.resize((nodes as usize).next_multiple_of(VECTOR), UNREACHED);
    let data = Data {
        parts,
        arithmetic,
        source,
        depth,
        offsets: memory.alloc_from(graph.offsets()),
        targets: memory.alloc_from(graph.targets()),
        distances: memory.alloc_from(&vec![UNREACHED; reference.distances.len()]),
        paths: memory.alloc(nodes as usize),
        dependencies: memory.alloc(nodes as usize),
        centralities: memory.alloc(nodes as usize),
        reached: memory.alloc(2),
        barrier: CollaborativeBarrier::new(CPU_THREADS, work_groups, memory),
    };
    memory.declare_read_only(data.offsets);
    memory.declare_read_only(data.targets);
    let mut expected = reference.dependencies.clone();
    expected[source as usize] = 0;
    let bits: Arc<[u32]> = reference.bits.into();
    let cpu_bits = Arc::clone(&bits);
    let kernel = Kernel::new("bc", work_groups, WAVES_PER_GROUP, move |w| search(w, data, Arc::clone(&bits)))
        .with_cpu(CPU_THREADS, move |cpu| search_cpu(cpu, data, Arc::clone(&cpu_bits)))
        .registers(REGISTERS_PER_ITEM);
    let outputs = vec![
        Output::new("distances", data.distances, &reference.distances),
        Output::new("paths", data.paths, &reference.paths),
        Output::new("dependencies", data.dependencies, &reference.dependencies),
        Output::new("centralities", data.centralities, &expected),
    ];
    HostProgram::new(vec![kernel], outputs)
}

/// The centralities in a user's graph.
fn centralities_own(graph: &Graph, _seed: u64, memory: &mut HostMemory) -> HostProgram {
    let graph = graph.undirected();
    centralities(&graph, graph.largest_component(), WORK_GROUPS_OWN, memory)
}

impl Workload for Bc {
    fn name(&self) -> &'static str {
        "bc"
    }

    fn title(&self) -> &'static str {
        "Betweenness centrality by CPU and GPU"
    }

    fn summary(&self) -> &'static str {
        "Counts shortest paths in a mesh; CPU threads and work-groups push updates to neighbours, level by level."
    }

    fn suite(&self) -> Suite {
        Suite::Pannotia
    }

    fn papers(&self) -> &'static [Paper] {
        &[Paper::Spandex]
    }

    fn source(&self) -> &'static str {
        "Alsop, Sinclair and Adve, Spandex, ISCA 2018, section IV-B, Table VII (BC); \
         Pannotia BC (Che et al., IISWC 2013)"
    }

    fn communicates(&self) -> bool {
        true
    }

    fn sizes(&self) -> &'static [SizeSpec] {
        &SIZES
    }

    fn misfit(&self, sizes: &Sizes) -> Option<String> {
        mesh_size::misfit(sizes)
    }

    fn build(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
        let mesh = mesh_like(sizes.get("nodes"), sizes.get("edges"), seed);
        centralities(&mesh, 0, sizes.get("work_groups"), memory)
    }

    fn on_graph(&self) -> Option<OnGraph> {
        Some(centralities_own)
    }
}

#[cfg(test)]
mod tests {
    use chorus_kernel::{LANES, flat};
    use chorus_system::{Scale, resolve, scales};

    use super::*;
    use crate::graph::{Edge, rmat};

    fn edge(from: u32, to: u32) -> Edge {
        Edge { from, to, weight: 1 }
    }

    #[test]
    fn a_node_between_two_others_depends_on_all_behind_it() {
        // Two ways from 0 to 3, through 1 and 2, and 4 behind 3.
        let edges = [edge(0, 1), edge(0, 2), edge(1, 3), edge(2, 3), edge(3, 4)];
        let graph = Graph::from_edges(5, &edges, false);
        let arithmetic = Arithmetic::of(5);
        let Reference { distances, paths, dependencies, .. } = reference(&graph, 0, arithmetic);
        assert_eq!((distances, paths), (vec![0, 1, 1, 2, 3], vec![1, 1, 1, 2, 2]));
        let one = 1 << arithmetic.fraction_bits;
        assert_eq!(dependencies, [4 * one, one, one, one, 0]);
    }

    #[test]
    fn dependencies_stay_right_where_paths_no_longer_fit_a_word() {
        // A ladder of diamonds, each of which doubles the paths.
        const DIAMONDS: u32 = 60;
        let diamond = |first: u32| [(0, 1), (0, 2), (1, 3), (2, 3)].map(|(from, to)| edge(first + from, first + to));
        let edges: Vec<Edge> = (0..DIAMONDS).flat_map(|number| diamond(3 * number)).collect();
        let nodes = 3 * DIAMONDS + 1;
        let arithmetic = Arithmetic::of(nodes);
        let found = reference(&Graph::from_edges(nodes, &edges, false), 0, arithmetic);
        let one = 1 << arithmetic.fraction_bits;
        assert_eq!(found.dependencies[0], (nodes - 1) * one);
        assert_eq!(found.dependencies[3], (nodes - 4) * one);
        assert!(found.bits.iter().any(|&bits| bits > 0));
    }

    #[test]
    fn own_graphs_with_hubs_with_several_components_and_with_no_way_are_searched() {
        let apart = Graph::from_arcs(7, &[edge(0, 1), edge(6, 2), edge(4, 2), edge(5, 5)], false);
        for graph in [rmat(10, 4, 5), apart, Graph::from_arcs(3, &[edge(1, 1)], false)] {
            let mut memory = HostMemory::default();
            let mut program = centralities_own(&graph, 1, &mut memory);
            assert_eq!(flat::run_on(4, &mut program, &memory), Ok(()));
        }
    }

    #[test]
    fn the_paper_scale_has_the_graph_of_the_paper() {
        let sizes = Bc.sizes_at(Scale::Paper);
        let graph = mesh_like(sizes.get("nodes"), sizes.get("edges"), 1);
        assert_eq!((graph.nodes(), graph.undirected_edges().len()), (88_263, 243_088));
    }

    #[test]
    fn all_work_groups_and_cpu_threads_are_resident_on_machines_without_cpu_cores() {
        for scale in scales("tc").unwrap() {
            let core = resolve("tc", scale, &[]).unwrap().config.core;
            let registers = WAVES_PER_GROUP * LANES as u32 * REGISTERS_PER_ITEM;
            let per_core = core.work_groups.min(core.wavefronts / WAVES_PER_GROUP).min(core.registers / registers);
            let work_groups = Bc.sizes_at(scale).get("work_groups");
            assert!(
                work_groups.max(WORK_GROUPS_OWN) + CPU_THREADS <= core.count * per_core,
                "{scale}: {per_core} of a core"
            );
        }
    }
}
