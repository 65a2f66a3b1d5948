//! The kernels of Borůvka's algorithm, and the data that they share.
//!
//! Components are those of the original's `ComponentSpace`: one word per node, which is its boss, or another node on
//! the way there; a boss points to itself. Whoever looks for the boss of a node follows these words, and then stores
//! the boss in the node's word, even if it has stood there before. Every work-item does so for its node and for the
//! neighbours that it considers.
//!
//! Sharing: the word of a node is thus written again and again by work-items of all its neighbours, mostly with what it
//! held before. Components that live lie between components that were joined, so that lines are written by many
//! work-groups at once, each its own words. The fewer components there are, the more work-items update the minimum of
//! one. Arcs are read by the owners of their nodes.
//!
//! Scopes: minima are updated within a launch. So each GPU keeps minima of its own for all components, with atomics of
//! scope `.gpu`, and reads them with loads of that scope first, to leave out updates that would change nothing. Every
//! GPU's minima are read by all others in later launches. The node that a component chooses is claimed by an atomic of
//! scope `.gpu`, and so is its boss when it is hooked; only one work-item writes either. The edges that a GPU has
//! joined are counted without atomics: work-groups publish their counts behind a fence of scope `.gpu` and take a
//! ticket, and the one with the last ticket adds up all counts. No boss changes in the launches that look for bosses of
//! neighbours, so whatever word of a way is read, old or new, it leads to the same boss.
//!
//! Arithmetic: 5 instructions for the node's number, its test against the end and addresses; per arc 7: the loop's test
//! and branch, three addresses, the test of the weight and that of the components; 2 for a minimum of several GPUs for
//! each; 3 for a minimum that is updated: address, test, branch; per step towards a boss 3 and 1 to store it; 8 to
//! decide about a component; 20 to add up two numbers within a wavefront.

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
    /// The end of each arc, and its weight: the rank of its edge.
    targets: Buf<u32>,
    ranks: Buf<u32>,
    /// The weight of each edge, by its rank.
    weights: Buf<u32>,
    /// The boss of each node, or a node on the way there.
    pub components: Buf<u32>,
    /// The rank of each node's lightest leaving edge, and the component at its other end.
    node_ranks: Buf<u32>,
    partners: Buf<u32>,
    /// The rank of each component's lightest leaving edge, as far as a GPU knows.
    lightest: [Buf<u32>; GPUS_MAX],
    /// The node of each component that has this edge.
    chosen: Buf<u32>,
    /// 1 for the nodes whose edge joins their component to another in this round.
    joins: Buf<u32>,
    /// 1 for the edges of the tree, by rank.
    pub tree: Buf<u32>,
    /// The edges that each work-group has joined in this round, and their weight.
    published: Buf<u32>,
    tickets: [Buf<u32>; GPUS_MAX],
    /// The edges that each GPU has joined so far, and their weight.
    pub totals: [Buf<u32>; GPUS_MAX],
}

impl Forest {
    /// Lays the graph of these edges, the lightest first, out in memory.
    pub fn new(nodes: u32, edges: &[Edge], memory: &mut HostMemory) -> Forest {
        let ranked: Vec<Edge> = (0..).zip(edges).map(|(weight, edge)| Edge { weight, ..*edge }).collect();
        let graph = Graph::from_edges(nodes, &ranked, true);
        let weights: Vec<u32> = edges.iter().map(|edge| edge.weight).collect();
        let degrees: Vec<u32> = graph.offsets().windows(2).map(|pair| pair[1] - pair[0]).collect();
        let count = degrees.len();
        // GPUs without a work-group never reset their minima.
        let none = vec![NONE; count];
        Forest {
            nodes,
            first_arcs: memory.alloc_from(&graph.offsets()[..count]),
            degrees: memory.alloc_from(&degrees),
            targets: memory.alloc_from(graph.targets()),
            ranks: memory.alloc_from(graph.weights().unwrap_or_default()),
            weights: memory.alloc_from(&weights),
            components: memory.alloc(count),
            node_ranks: memory.alloc(count),
            partners: memory.alloc(count),
            lightest: [(); GPUS_MAX].map(|()| memory.alloc_from(&none)),
            chosen: memory.alloc(count),
            joins: memory.alloc(count),
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
            2 => Kernel::new("find node", groups, waves, move |w| find_node(w, self)),
            3 => Kernel::new("decide", groups, waves, move |w| decide(w, self)),
            _ => Kernel::new("merge", groups, waves, move |w| merge(w, self)).lds(waves * 8),
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
}

/// Resets what nodes and components found in the last round. Each wavefront takes a share of its GPU's minima.
async fn reset(w: Wave, forest: Forest) {
    let (nodes, inside) = forest.nodes_of(&w);
    w.alu(5).await;
    w.store_where(inside, forest.node_ranks, nodes, NONE.into());
    w.store_where(inside, forest.partners, nodes, nodes);
    w.store_where(inside, forest.chosen, nodes, NONE.into());
    w.store_where(inside, forest.joins, nodes, 0.into());
    let groups = w.work_groups_of_gpu();
    let wave = (w.work_group() - groups.start) * WAVES_PER_GROUP + w.id().wave;
    let stride = (groups.end - groups.start) * WAVES_PER_GROUP * LANES as u32;
    let gpu = w.gpu() as usize;
    for first in (wave * LANES as u32..forest.nodes).step_by(stride as usize) {
        let components = w.lane_ids() + first;
        let inside = components.below(forest.nodes);
        w.alu(5).await;
        w.store_where(inside, forest.lightest[gpu], components, NONE.into());
    }
}

/// Finds the bosses of some nodes, and stores them in the nodes' words.
async fn find(w: &Wave, forest: Forest, lanes: Mask, nodes: Lanes<u32>) -> Lanes<u32> {
    let mut at = nodes;
    let mut moves = lanes;
    while moves.any() {
        w.alu(3).await;
        let next = w.load_where(moves, forest.components, at).await;
        let moved = at.zip(next, |at, next| at != next).where_(|moved| moved);
        moves = moves & moved;
        at = next.select(moves, at);
    }
    w.alu(1).await;
    w.store_where(lanes, forest.components, nodes, at);
    at
}

/// Finds every node's lightest leaving edge, and the lightest of its component.
async fn find_minimum(w: Wave, forest: Forest) {
    let (nodes, inside) = forest.nodes_of(&w);
    w.alu(5).await;
    let own = find(&w, forest, inside, nodes).await;
    let (first, degrees) =
        w.join(w.load_where(inside, forest.first_arcs, nodes), w.load_where(inside, forest.degrees, nodes)).await;
    let (mut best, mut partners) = (Lanes::splat(NONE), Lanes::splat(NONE));
    for arc in 0.. {
        let lanes = inside & degrees.where_(|degree| arc < degree);
        w.alu(7).await;
        if !lanes.any() {
            break;
        }
        let ranks = w.load_where(lanes, forest.ranks, first + arc).await;
        let lighter = lanes & ranks.zip(best, |rank, best| rank < best).where_(|lighter| lighter);
        if lighter.any() {
            let targets = w.load_where(lighter, forest.targets, first + arc).await;
            let others = find(&w, forest, lighter, targets).await;
            let leaving = lighter & own.zip(others, |own, other| own != other).where_(|leaves| leaves);
            best = ranks.select(leaving, best);
            partners = others.select(leaving, partners);
        }
    }
    w.store_where(inside, forest.node_ranks, nodes, best);
    w.store_where(inside, forest.partners, nodes, partners);
    let lightest = forest.lightest[w.gpu() as usize];
    let leaving = inside & best.below(NONE);
    if leaving.any() {
        let known = w.load_relaxed(Scope::Gpu, leaving, lightest, own).await;
        w.alu(3).await;
        let lighter = leaving & best.zip(known, |rank, known| rank < known).where_(|lighter| lighter);
        if lighter.any() {
            w.atomic_in(Scope::Gpu, AtomicOp::Min, lighter, lightest, own, best).await;
        }
    }
}

/// The lightest edge that any GPU has found for these components.
async fn lightest(w: &Wave, forest: Forest, lanes: Mask, components: Lanes<u32>) -> Lanes<u32> {
    let mut least = Lanes::splat(NONE);
    for found in forest.lightest.into_iter().take(w.gpus() as usize) {
        let found = w.load_where(lanes, found, components).await;
        w.alu(2).await;
        least = least.zip(found, u32::min);
    }
    least
}

/// Claims its component for every node that has the component's lightest edge, once the edge is found again among the
/// node's arcs.
async fn find_node(w: Wave, forest: Forest) {
    let (nodes, inside) = forest.nodes_of(&w);
    w.alu(5).await;
    let own = find(&w, forest, inside, nodes).await;
    let best = w.load_where(inside, forest.node_ranks, nodes).await;
    let leaving = inside & best.below(NONE);
    if !leaving.any() {
        return;
    }
    let lightest = lightest(&w, forest, leaving, own).await;
    w.alu(3).await;
    let has_it = leaving & best.zip(lightest, |rank, lightest| rank == lightest).where_(|equal| equal);
    if !has_it.any() {
        return;
    }
    let buffers = [forest.first_arcs, forest.degrees, forest.partners];
    let [first, degrees, partners] = w.join_all(buffers.map(|buf| w.load_where(has_it, buf, nodes))).await;
    for arc in 0.. {
        let lanes = has_it & degrees.where_(|degree| arc < degree);
        w.alu(7).await;
        if !lanes.any() {
            break;
        }
        let ranks = w.load_where(lanes, forest.ranks, first + arc).await;
        let same = lanes & ranks.zip(best, |rank, best| rank == best).where_(|same| same);
        if same.any() {
            let targets = w.load_where(same, forest.targets, first + arc).await;
            let others = find(&w, forest, same, targets).await;
            let claims = same & others.zip(partners, |other, partner| other == partner).where_(|same| same);
            w.atomic_in(Scope::Gpu, AtomicOp::Min, claims, forest.chosen, own, nodes).await;
        }
    }
}

/// Decides for every component whether the node that it has chosen joins it to its partner. If two components have
/// chosen the same edge, the lower one stays a boss.
async fn decide(w: Wave, forest: Forest) {
    let (nodes, inside) = forest.nodes_of(&w);
    w.alu(5).await;
    let own = w.load_where(inside, forest.components, nodes).await;
    let bosses = inside & own.zip(nodes, |own, node| own == node).where_(|boss| boss);
    if !bosses.any() {
        return;
    }
    let chosen = w.load_where(bosses, forest.chosen, nodes).await;
    let leaving = bosses & chosen.below(NONE);
    if !leaving.any() {
        return;
    }
    let edges = [forest.node_ranks, forest.partners].map(|buf| w.load_where(leaving, buf, chosen));
    let [ranks, partners] = w.join_all(edges).await;
    let theirs = lightest(&w, forest, leaving, partners).await;
    w.alu(8).await;
    let stays = |lane: usize| theirs[lane] == ranks[lane] && nodes[lane] < partners[lane];
    let joins = leaving & w.lane_ids().where_(|lane| !stays(lane as usize));
    w.store_where(joins, forest.joins, chosen, 1.into());
}

/// Hooks components to their partners, and marks the edges.
async fn merge(w: Wave, forest: Forest) {
    let (nodes, inside) = forest.nodes_of(&w);
    w.alu(5).await;
    let joins = w.load_where(inside, forest.joins, nodes).await;
    let joins = inside & joins.where_(|joins| joins == 1);
    let mut joined = [0, 0];
    if joins.any() {
        let buffers = [forest.components, forest.partners, forest.node_ranks];
        let [own, partners, ranks] = w.join_all(buffers.map(|buf| w.load_where(joins, buf, nodes))).await;
        w.atomic_in(Scope::Gpu, AtomicOp::Exchange, joins, forest.components, own, partners).await;
        w.store_where(joins, forest.tree, ranks, 1.into());
        let weights = w.load_where(joins, forest.weights, ranks).await;
        joined = [joins.count(), joins.iter().fold(0, |sum, lane| sum.wrapping_add(weights[lane]))];
    }
    w.alu(20).await;
    publish(&w, forest, joined).await;
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
