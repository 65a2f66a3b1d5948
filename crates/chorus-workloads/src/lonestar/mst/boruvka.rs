//! The kernels of Borůvka's algorithm, and the data that they share.
//!
//! Sharing: the component of a node is read by all its neighbours' work-items and changes nearly every round. A
//! component points to the component that it is hooked to. The work-items of all its nodes, on any GPU, follow this
//! pointer and shorten it with plain stores. Components that live lie between components that were joined, so that
//! lines of these arrays are written by many work-groups at once, each its own words. The fewer components there are,
//! the more work-items update the minimum of one. Nodes and arcs are read by their owners.
//!
//! Scopes: minima are updated within a launch. So each GPU keeps minima of its own for all components, with atomics of
//! scope `.gpu`, and reads them with loads of that scope first, to leave out updates that would change nothing. Every
//! GPU's minima are read by all others in later launches. The edges that a GPU has joined are counted without atomics:
//! work-groups publish their counts behind a fence of scope `.gpu` and take a ticket, and the one with the last ticket
//! adds up all counts. A pointer that another work-item shortens may be read before or after: either leads to the same
//! root.
//!
//! Arithmetic: 5 instructions for the node's number, its test against the end and addresses; per arc 9: the loop's test
//! and branch, four addresses, the test of the components and two to compare edges; 2 for a minimum of several GPUs for
//! each; 3 for a minimum that is updated: address, test, branch; per step along pointers 4; 12 to hook a component; 20
//! to add up two numbers within a wavefront.

use chorus_kernel::{Buf, HostMemory, Kernel, LANES, Lanes, Mask, Wave};
use chorus_protocol::access::{AtomicOp, Scope};

use crate::graph::{Edge, Graph};

/// The largest number of GPUs in a machine.
pub(super) const GPUS_MAX: usize = 16;
/// The number of launches in a round.
pub(super) const KERNELS_PER_ROUND: u32 = 5;

const WAVES_PER_GROUP: u32 = 4;
const REGISTERS_PER_ITEM: u32 = 24;
/// No edge, and no weight yet.
const NONE: u32 = u32::MAX;

/// All buffers. Each GPU has buffers of its own for the values that are counted per GPU.
#[derive(Clone, Copy)]
pub(super) struct Forest {
    nodes: u32,
    first_arcs: Buf<u32>,
    degrees: Buf<u32>,
    /// The end of each arc, its weight, and the number of its edge.
    targets: Buf<u32>,
    weights: Buf<u32>,
    edges: Buf<u32>,
    /// The two nodes of each edge.
    ends: [Buf<u32>; 2],
    /// The component of each node: the number of its root.
    pub components: Buf<u32>,
    /// The component that a component is hooked to: itself for roots.
    hooks: Buf<u32>,
    /// The weight and the number of each node's lightest leaving edge.
    node_weights: Buf<u32>,
    node_edges: Buf<u32>,
    /// The weight and the number of each component's lightest leaving edge, as far as a GPU knows.
    lightest: [Buf<u32>; GPUS_MAX],
    chosen: [Buf<u32>; GPUS_MAX],
    /// 1 for the edges of the tree.
    pub tree: Buf<u32>,
    /// The edges that each work-group has joined in this round, and their weight.
    published: Buf<u32>,
    tickets: [Buf<u32>; GPUS_MAX],
    /// The edges that each GPU has joined so far, and their weight.
    pub totals: [Buf<u32>; GPUS_MAX],
}

impl Forest {
    /// Lays the graph of these edges out in memory.
    pub fn new(nodes: u32, edges: &[Edge], memory: &mut HostMemory) -> Forest {
        let numbered: Vec<Edge> = (0..).zip(edges).map(|(weight, edge)| Edge { weight, ..*edge }).collect();
        let graph = Graph::from_edges(nodes, &numbered, true);
        let numbers = graph.weights().unwrap_or_default();
        let weights: Vec<u32> = numbers.iter().map(|&number| edges[number as usize].weight).collect();
        let (from, to): (Vec<u32>, Vec<u32>) = edges.iter().map(|edge| (edge.from, edge.to)).unzip();
        let degrees: Vec<u32> = graph.offsets().windows(2).map(|pair| pair[1] - pair[0]).collect();
        let count = degrees.len();
        // GPUs without a work-group never reset their minima.
        let none = vec![NONE; count];
        Forest {
            nodes,
            first_arcs: memory.alloc_from(&graph.offsets()[..count]),
            degrees: memory.alloc_from(&degrees),
            targets: memory.alloc_from(graph.targets()),
            weights: memory.alloc_from(&weights),
            edges: memory.alloc_from(numbers),
            ends: [memory.alloc_from(&from), memory.alloc_from(&to)],
            components: memory.alloc(count),
            hooks: memory.alloc(count),
            node_weights: memory.alloc(count),
            node_edges: memory.alloc(count),
            lightest: [(); GPUS_MAX].map(|()| memory.alloc_from(&none)),
            chosen: [(); GPUS_MAX].map(|()| memory.alloc_from(&none)),
            tree: memory.alloc(edges.len()),
            published: memory.alloc(2 * Forest::work_groups(nodes) as usize),
            tickets: [(); GPUS_MAX].map(|()| memory.alloc(1)),
            totals: [(); GPUS_MAX].map(|()| memory.alloc(2)),
        }
    }

    fn work_groups(nodes: u32) -> u32 {
        nodes.div_ceil(WAVES_PER_GROUP * LANES as u32)
    }

    /// The launch before the first round.
    pub fn initialize(self) -> Kernel {
        self.sized(Kernel::new("initialize", Forest::work_groups(self.nodes), WAVES_PER_GROUP, move |w| {
            initialize(w, self)
        }))
    }

    /// One launch of a round, counted from zero.
    pub fn kernel_of_round(self, kernel: u32) -> Kernel {
        let (groups, waves) = (Forest::work_groups(self.nodes), WAVES_PER_GROUP);
        self.sized(match kernel {
            0 => Kernel::new("reset", groups, waves, move |w| reset(w, self)),
            1 => Kernel::new("find minimum", groups, waves, move |w| find_minimum(w, self)),
            2 => Kernel::new("find edge", groups, waves, move |w| find_edge(w, self)),
            3 => Kernel::new("merge", groups, waves, move |w| merge(w, self)).lds(waves * 8),
            _ => Kernel::new("find root", groups, waves, move |w| find_root(w, self)),
        })
    }

    fn sized(self, kernel: Kernel) -> Kernel {
        kernel.registers(REGISTERS_PER_ITEM)
    }

    /// The nodes of a wavefront, and which of its lanes have one.
    fn nodes_of(&self, w: &Wave) -> (Lanes<u32>, Mask) {
        let nodes = w.global_ids();
        (nodes, nodes.below(self.nodes))
    }
}

/// Makes every node a component of its own.
async fn initialize(w: Wave, forest: Forest) {
    let (nodes, inside) = forest.nodes_of(&w);
    w.alu(5).await;
    w.store_where(inside, forest.components, nodes, nodes);
    w.store_where(inside, forest.hooks, nodes, nodes);
}

/// Resets the minima of a GPU, of which each of its wavefronts takes a share.
async fn reset(w: Wave, forest: Forest) {
    let groups = w.work_groups_of_gpu();
    let wave = (w.work_group() - groups.start) * WAVES_PER_GROUP + w.id().wave;
    let stride = (groups.end - groups.start) * WAVES_PER_GROUP * LANES as u32;
    let gpu = w.gpu() as usize;
    for first in (wave * LANES as u32..forest.nodes).step_by(stride as usize) {
        let components = w.lane_ids() + first;
        let inside = components.below(forest.nodes);
        w.alu(5).await;
        w.store_where(inside, forest.lightest[gpu], components, NONE.into());
        w.store_where(inside, forest.chosen[gpu], components, NONE.into());
    }
}

/// Finds every node's lightest leaving edge, and the least weight of its component.
async fn find_minimum(w: Wave, forest: Forest) {
    let (nodes, inside) = forest.nodes_of(&w);
    w.alu(5).await;
    let [own, first, degrees] = w
        .join_all([forest.components, forest.first_arcs, forest.degrees].map(|buf| w.load_where(inside, buf, nodes)))
        .await;
    let mut best = Lanes::splat((NONE, NONE));
    for arc in 0.. {
        let lanes = inside & degrees.where_(|degree| arc < degree);
        w.alu(9).await;
        if !lanes.any() {
            break;
        }
        let targets = w.load_where(lanes, forest.targets, first + arc).await;
        let others = w.load_where(lanes, forest.components, targets).await;
        let leaving = lanes & own.zip(others, |own, other| own != other).where_(|leaves| leaves);
        if leaving.any() {
            let weights = w.load_where(leaving, forest.weights, first + arc);
            let (weights, edges) = w.join(weights, w.load_where(leaving, forest.edges, first + arc)).await;
            best = Lanes::from_fn(|lane| {
                if leaving.contains(lane) { best[lane].min((weights[lane], edges[lane])) } else { best[lane] }
            });
        }
    }
    let (weights, edges) = (best.map(|(weight, _)| weight), best.map(|(_, edge)| edge));
    w.store_where(inside, forest.node_weights, nodes, weights);
    w.store_where(inside, forest.node_edges, nodes, edges);
    let lightest = forest.lightest[w.gpu() as usize];
    let leaving = inside & edges.below(NONE);
    if leaving.any() {
        let known = w.load_relaxed(Scope::Gpu, leaving, lightest, own).await;
        w.alu(3).await;
        let lighter = leaving & weights.zip(known, |weight, known| weight < known).where_(|lighter| lighter);
        if lighter.any() {
            w.atomic_in(Scope::Gpu, AtomicOp::Min, lighter, lightest, own, weights).await;
        }
    }
}

/// The least value that any GPU has found for these components.
async fn least(w: &Wave, per_gpu: [Buf<u32>; GPUS_MAX], lanes: Mask, components: Lanes<u32>) -> Lanes<u32> {
    let mut least = Lanes::splat(NONE);
    for found in per_gpu.into_iter().take(w.gpus() as usize) {
        let found = w.load_where(lanes, found, components).await;
        w.alu(2).await;
        least = least.zip(found, u32::min);
    }
    least
}

/// Proposes the edge of every node whose edge is as light as the lightest of its component.
async fn find_edge(w: Wave, forest: Forest) {
    let (nodes, inside) = forest.nodes_of(&w);
    w.alu(5).await;
    let buffers = [forest.components, forest.node_weights, forest.node_edges];
    let [own, weights, edges] = w.join_all(buffers.map(|buf| w.load_where(inside, buf, nodes))).await;
    let leaving = inside & edges.below(NONE);
    if !leaving.any() {
        return;
    }
    let lightest = least(&w, forest.lightest, leaving, own).await;
    w.alu(3).await;
    let proposes = leaving & weights.zip(lightest, |weight, lightest| weight == lightest).where_(|equal| equal);
    if proposes.any() {
        w.atomic_in(Scope::Gpu, AtomicOp::Min, proposes, forest.chosen[w.gpu() as usize], own, edges).await;
    }
}

/// Marks the edge of every component and hooks it to the component at the other end.
async fn merge(w: Wave, forest: Forest) {
    let (nodes, inside) = forest.nodes_of(&w);
    w.alu(5).await;
    let own = w.load_where(inside, forest.components, nodes).await;
    let roots = inside & own.zip(nodes, |own, node| own == node).where_(|root| root);
    let mut joined = [0, 0];
    if roots.any() {
        joined = hook(&w, forest, nodes, roots).await;
    }
    w.alu(20).await;
    publish(&w, forest, joined).await;
}

/// Hooks the components of these roots. Returns the number and the weight of the edges that the wavefront has used.
async fn hook(w: &Wave, forest: Forest, nodes: Lanes<u32>, roots: Mask) -> [u32; 2] {
    let chosen = least(w, forest.chosen, roots, nodes).await;
    let joining = roots & chosen.below(NONE);
    if !joining.any() {
        return [0, 0];
    }
    let ends = w.join_all(forest.ends.map(|end| w.load_where(joining, end, chosen))).await;
    let [one, other] = w.join_all(ends.map(|end| w.load_where(joining, forest.components, end))).await;
    let other = Lanes::from_fn(|lane| if one[lane] == nodes[lane] { other[lane] } else { one[lane] });
    let theirs = least(w, forest.chosen, joining, other).await;
    w.alu(12).await;
    // If two components have chosen each other, the lower one stays a root.
    let stays = |lane: usize| theirs[lane] == chosen[lane] && nodes[lane] < other[lane];
    let hooked = joining & w.lane_ids().where_(|lane| !stays(lane as usize));
    if !hooked.any() {
        return [0, 0];
    }
    w.store_where(hooked, forest.hooks, nodes, other);
    w.store_where(hooked, forest.tree, chosen, 1.into());
    let weights = least(w, forest.lightest, hooked, nodes).await;
    [hooked.count(), hooked.iter().fold(0, |sum, lane| sum.wrapping_add(weights[lane]))]
}

/// Publishes the counts of a work-group. The last work-group of a GPU adds all counts to the GPU's total.
async fn publish(w: &Wave, forest: Forest, joined: [u32; 2]) {
    let pair = Mask::first(2);
    let lanes = w.lane_ids() % 2;
    w.lds_write(pair, lanes + 2 * w.id().wave, lanes.map(|lane| joined[lane as usize]));
    w.barrier().await;
    if w.id().wave > 0 {
        return;
    }
    let all = Mask::first(2 * WAVES_PER_GROUP as usize);
    let parts: Lanes<u32> = w.lds_read(all, w.lane_ids() % (2 * WAVES_PER_GROUP));
    let sum = lanes.map(|word| {
        all.iter().filter(|part| part % 2 == word as usize).fold(0_u32, |sum, part| sum.wrapping_add(parts[part]))
    });
    w.alu(6).await;
    w.store_where(pair, forest.published, lanes + 2 * w.work_group(), sum);

    let (gpu, groups) = (w.gpu() as usize, w.work_groups_of_gpu());
    w.fence(Scope::Gpu).await;
    let ticket = w.atomic_one(AtomicOp::Add, forest.tickets[gpu], 0, 1).await;
    w.alu(2).await;
    if ticket + 1 < groups.end - groups.start {
        return;
    }
    w.fence(Scope::Gpu).await;
    let mut total = w.load_where(pair, forest.totals[gpu], lanes).await;
    let words = 2 * groups.start..2 * groups.end;
    for first in words.clone().step_by(LANES) {
        let places = w.lane_ids() + first;
        let inside = places.below(words.end);
        let published = w.load_where(inside, forest.published, places).await;
        w.alu(20).await;
        for lane in inside.iter() {
            total.set(lane % 2, total[lane % 2].wrapping_add(published[lane]));
        }
    }
    w.store_where(pair, forest.totals[gpu], lanes, total);
    w.store_one(forest.tickets[gpu], 0, 0);
}

/// Finds every node's new component, at the end of its old component's hooks, and shortens the way for others.
async fn find_root(w: Wave, forest: Forest) {
    let (nodes, inside) = forest.nodes_of(&w);
    w.alu(5).await;
    let own = w.load_where(inside, forest.components, nodes).await;
    let first = w.load_where(inside, forest.hooks, own).await;
    let mut at = first;
    let mut moves = inside & own.zip(first, |own, first| own != first).where_(|moved| moved);
    let changed = moves;
    while moves.any() {
        w.alu(4).await;
        let next = w.load_where(moves, forest.hooks, at).await;
        let moved = at.zip(next, |at, next| at != next).where_(|moved| moved);
        moves = moves & moved;
        at = next.select(moves, at);
    }
    if changed.any() {
        w.store_where(changed, forest.components, nodes, at);
        let longer = changed & at.zip(first, |at, first| at != first).where_(|longer| longer);
        if longer.any() {
            w.store_where(longer, forest.hooks, own, at);
        }
    }
}
