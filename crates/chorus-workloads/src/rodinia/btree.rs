//! `btree`: look-ups and ranges in a B+ tree.
//!
//! Source: CPElide paper (Dalmia et al., MICRO 2024), section IV-D, Table II, `BTREE` on a file of a million keys;
//! b+tree of Rodinia (Che et al., IISWC 2009), with its order of 256 and its usual commands: 6000 ranges and then
//! 10,000 look-ups, one kernel each. Rodinia's file of commands has one of each; here are six rounds of both, each with
//! queries of its own, so that the first launch does not weigh more than in the longer runs of others. A work-group of
//! 256 work-items takes one query and goes down from the root. A work-item compares its key of the node, and the next
//! key, with the key that is sought; the work-item whose two keys enclose it knows the child. A range goes down twice,
//! at its first and its last key.
//!
//! Sharing: the tree is only read. Every query reads the root and one of few nodes below it, whole; leaves are many and
//! queries random, so a leaf is read by few of them. Hence work-groups use each other's nodes within a kernel, and a
//! later one, with other queries, finds little of what those before have left. A node takes 517 words, so nodes begin
//! anywhere in a line. Queries and answers belong to one work-group each.
//!
//! Keys grow by 1 or 2; the tree holds them as one does into which sorted keys were put one by one, its nodes half
//! full.
//!
//! Left out: the original keeps the node that a query has come to in memory and reads it from there at every level;
//! here it is in local data, and memory holds where the query begins and ends.
//!
//! Arithmetic: 4 instructions for addresses of query and node; per level and key sought 8: two tests of keys, four for
//! addresses and two for the loop and the child's test; 6 for the answer.

use chorus_kernel::{AccessMode, Buf, HostMemory, Kernel, LANES, Lanes, Mask, Wave};

use crate::generator::SplitMix64;
use crate::program::{HostProgram, Output};
use crate::registry::{Paper, Suite, Workload};
use crate::size::{SizeSpec, Sizes};

/// Children of a node at most, and work-items of a work-group.
const ORDER: u32 = 256;
const WAVES_PER_GROUP: u32 = ORDER / LANES as u32;
/// Children of a node, and keys of a leaf, after sorted keys were put in.
const FILLED: usize = ORDER as usize / 2;
const REGISTERS_PER_ITEM: u32 = 16;

/// Where a node keeps its children (or records) and its keys, one more than there may be of each. Before them lies its
/// own number, and behind them whether it is a leaf and how many keys it has; kernels read none of these three.
const CHILDREN: u32 = 1;
const KEYS: u32 = CHILDREN + ORDER + 1;
const NODE_WORDS: u32 = KEYS + ORDER + 1 + 2;

/// A key greater than all.
const LAST_KEY: u32 = u32::MAX;
/// The answer to a key that is not there.
const MISSING: u32 = u32::MAX;

pub(crate) struct Btree;

/// The tree and its records take 1.4 MB, 5.4 MB and 20 MB. A look-up takes about 140 line accesses and a range twice as
/// many: 1.2, 5.0 and 18 million in all. With the largest sizes tree, queries and answers take 0.95 x 2^30 words.
static SIZES: [SizeSpec; 4] = [
    SizeSpec::new(
        "keys",
        "keys of the tree",
        [66_667, 266_668, 1_000_000],
        "CPElide paper, Table II: mil.txt, a million keys",
    )
    .range(1, 1 << 26),
    SizeSpec::new("ranges", "ranges that are sought in a round", [400, 1600, 6000], "Rodinia's usual commands")
        .range(1, 1 << 20),
    SizeSpec::new("lookups", "keys that are looked up in a round", [667, 2668, 10_000], "Rodinia's usual commands")
        .range(1, 1 << 20),
    SizeSpec::new(
        "iterations",
        "rounds of a kernel of ranges and a kernel of look-ups",
        [6, 6, 6],
        "chosen: the first launch weighs no more than in longer runs",
    )
    .range(1, 64),
];

/// The tree on the host: nodes as memory has them, the root first.
struct Tree {
    nodes: Vec<u32>,
    /// Levels between the root and the leaves, the root counted.
    height: u32,
}

impl Tree {
    /// The tree of sorted keys; the record of a key has its place.
    fn new(keys: &[u32]) -> Tree {
        // A level is a list of nodes, and a node a list of children with the least key of each.
        type Level = Vec<Vec<(u32, u32)>>;
        let group = |entries: Vec<(u32, u32)>| -> Level { entries.chunks(FILLED).map(<[_]>::to_vec).collect() };
        let mut levels = vec![group((0..).zip(keys).map(|(place, &key)| (place, key)).collect())];
        while levels.last().is_some_and(|level| level.len() > 1) {
            let below = levels.last().map_or(&[][..], Vec::as_slice);
            levels.push(group((0..).zip(below).map(|(place, node)| (place, node[0].1)).collect()));
        }
        levels.reverse();
        let mut first_below = 0;
        let mut nodes = Vec::new();
        let height = levels.len() as u32 - 1;
        for (depth, level) in (0..).zip(&levels) {
            first_below += level.len() as u32;
            let is_leaf = depth == height;
            for entries in level {
                let mut node = vec![0; NODE_WORDS as usize];
                node[0] = nodes.len() as u32 / NODE_WORDS;
                node[KEYS as usize..][..ORDER as usize + 1].fill(LAST_KEY);
                for (at, &(child, key)) in entries.iter().enumerate() {
                    node[CHILDREN as usize + at] = if is_leaf { child } else { first_below + child };
                    // Keys before the first one lead to the first child too.
                    node[KEYS as usize + at] = if at == 0 && !is_leaf { 0 } else { key };
                }
                node[NODE_WORDS as usize - 2] = u32::from(is_leaf);
                node[NODE_WORDS as usize - 1] = entries.len() as u32;
                nodes.extend(node);
            }
        }
        Tree { nodes, height }
    }

    fn key(&self, node: u32, at: u32) -> u32 {
        self.nodes[(node * NODE_WORDS + KEYS + at) as usize]
    }

    fn child(&self, node: u32, at: u32) -> u32 {
        self.nodes[(node * NODE_WORDS + CHILDREN + at) as usize]
    }

    /// The leaf in which a key must be, and its place there.
    fn find(&self, key: u32) -> (u32, Option<u32>) {
        let mut node = 0;
        for _ in 0..self.height {
            let at = (0..ORDER).find(|&at| self.key(node, at) <= key && self.key(node, at + 1) > key);
            node = at.map_or(node, |at| self.child(node, at));
        }
        let at = (0..ORDER).find(|&at| self.key(node, at) == key);
        (node, at.map(|at| self.child(node, at)))
    }
}

#[derive(Clone, Copy)]
struct Nodes {
    words: Buf<u32>,
    height: u32,
}

impl Nodes {
    /// The place of each lane's word behind `field` in a node.
    fn places(w: &Wave, node: u32, field: u32) -> Lanes<u32> {
        w.local_ids() + (node * NODE_WORDS + field)
    }

    /// Goes one level down: the lane whose keys enclose the key that is sought leaves the child in local data.
    async fn descend(&self, w: &Wave, node: u32, key: u32, local: u32) {
        let keys = Nodes::places(w, node, KEYS);
        w.alu(8).await;
        let (own, next) = w.join(w.load(self.words, keys), w.load(self.words, keys + 1)).await;
        let between = own.zip(next, |own, next| u32::from(own <= key && next > key)).where_(|is| is == 1);
        if between.any() {
            let child = w.load_where(between, self.words, Nodes::places(w, node, CHILDREN)).await;
            w.lds_write(between, Lanes::splat(local), child);
        }
    }

    /// The record of a key in a leaf, for the lane that has it.
    async fn record(&self, w: &Wave, leaf: u32, key: u32) -> Option<(Mask, Lanes<u32>)> {
        w.alu(6).await;
        let keys = w.load(self.words, Nodes::places(w, leaf, KEYS)).await;
        let found = keys.where_(|own| own == key);
        if !found.any() {
            return None;
        }
        Some((found, w.load_where(found, self.words, Nodes::places(w, leaf, CHILDREN)).await))
    }
}

/// Reads a word of local data for the whole wavefront.
fn lds_one(w: &Wave, local: u32) -> u32 {
    w.lds_read::<u32>(Mask::lane(0), Lanes::splat(local))[0]
}

#[derive(Clone, Copy)]
struct Lookups {
    keys: Buf<u32>,
    nodes: Buf<u32>,
    answers: Buf<u32>,
}

impl Lookups {
    fn kernel(self, tree: Nodes, records: Buf<u32>) -> Kernel {
        let queries = self.keys.len() as u32;
        let kernel = Kernel::new("findK", queries, WAVES_PER_GROUP, move |w| find_k(w, tree, records, self))
            .registers(REGISTERS_PER_ITEM)
            .lds(4)
            .access(tree.words, AccessMode::Read)
            .access(records, AccessMode::Read);
        let kernel = with_queries(kernel, self.keys, AccessMode::Read);
        [self.nodes, self.answers]
            .into_iter()
            .fold(kernel, |kernel, buf| with_queries(kernel, buf, AccessMode::ReadWrite))
    }
}

/// The kernel of look-ups: the value of the record that has the key.
async fn find_k(w: Wave, tree: Nodes, records: Buf<u32>, lookups: Lookups) {
    let query = w.work_group();
    w.alu(4).await;
    let key = w.load_one(lookups.keys, query).await;
    let mut node = w.load_one(lookups.nodes, query).await;
    for _ in 0..tree.height {
        tree.descend(&w, node, key, 0).await;
        w.barrier().await;
        node = lds_one(&w, 0);
        w.barrier().await;
    }
    if let Some((found, record)) = tree.record(&w, node, key).await {
        let value = w.load_where(found, records, record).await;
        w.store_where(found, lookups.answers, Lanes::splat(query), value);
    }
    if w.id().wave == 0 {
        w.store_one(lookups.nodes, query, node);
    }
}

#[derive(Clone, Copy)]
struct Ranges {
    /// The first key of each range and the last one, and the nodes that the search for them has come to.
    keys: [Buf<u32>; 2],
    nodes: [Buf<u32>; 2],
    first_records: Buf<u32>,
    lengths: Buf<u32>,
}

impl Ranges {
    fn kernel(self, tree: Nodes) -> Kernel {
        let queries = self.lengths.len() as u32;
        let kernel = Kernel::new("findRangeK", queries, WAVES_PER_GROUP, move |w| find_range_k(w, tree, self))
            .registers(REGISTERS_PER_ITEM)
            .lds(3 * 4)
            .access(tree.words, AccessMode::Read);
        let kernel = self.keys.into_iter().fold(kernel, |kernel, buf| with_queries(kernel, buf, AccessMode::Read));
        let [first_nodes, last_nodes] = self.nodes;
        [first_nodes, last_nodes, self.first_records, self.lengths]
            .into_iter()
            .fold(kernel, |kernel, buf| with_queries(kernel, buf, AccessMode::ReadWrite))
    }
}

/// The kernel of ranges: the first record and the number of records.
async fn find_range_k(w: Wave, tree: Nodes, ranges: Ranges) {
    /// Where local data keeps the first record, behind the two nodes.
    const FIRST: u32 = 2;
    let query = w.work_group();
    w.alu(4).await;
    let mut keys = [0; 2];
    let mut nodes = [0; 2];
    for end in 0..2 {
        keys[end] = w.load_one(ranges.keys[end], query).await;
        nodes[end] = w.load_one(ranges.nodes[end], query).await;
    }
    for _ in 0..tree.height {
        for end in 0..2 {
            tree.descend(&w, nodes[end], keys[end], end as u32).await;
        }
        w.barrier().await;
        nodes = [lds_one(&w, 0), lds_one(&w, 1)];
        w.barrier().await;
    }
    if let Some((found, record)) = tree.record(&w, nodes[0], keys[0]).await {
        w.store_where(found, ranges.first_records, Lanes::splat(query), record);
        w.lds_write(found, Lanes::splat(FIRST), record);
    }
    w.barrier().await;
    if let Some((found, record)) = tree.record(&w, nodes[1], keys[1]).await {
        let first = lds_one(&w, FIRST);
        w.store_where(
            found,
            ranges.lengths,
            Lanes::splat(query),
            record.map(|record| record.wrapping_sub(first).wrapping_add(1)),
        );
    }
    if w.id().wave == 0 {
        w.store_one(ranges.nodes[0], query, nodes[0]);
        w.store_one(ranges.nodes[1], query, nodes[1]);
    }
}

/// Declares a buffer in which every work-group has one element.
fn with_queries(kernel: Kernel, buf: Buf<u32>, mode: AccessMode) -> Kernel {
    kernel.access_parts(buf, mode, move |share| vec![share.elements(1, buf.len())])
}

/// Draws the ranges of a round, lays them out in memory, and names their outputs.
fn draw_ranges(
    tree: &Tree,
    count: u32,
    keys: &[u32],
    generator: &mut SplitMix64,
    memory: &mut HostMemory,
) -> (Ranges, Vec<Output>) {
    /// Records of a range at most.
    const LENGTH_MAX: u32 = 3000;
    let places: Vec<[u32; 2]> = (0..count)
        .map(|_| {
            let first = generator.below(keys.len() as u32);
            [first, (first + generator.below(LENGTH_MAX)).min(keys.len() as u32 - 1)]
        })
        .collect();
    let ends = [0, 1].map(|end| places.iter().map(|places| keys[places[end] as usize]).collect::<Vec<u32>>());
    let queries = places.len();
    let ranges = Ranges {
        keys: [memory.alloc_from(&ends[0]), memory.alloc_from(&ends[1])],
        nodes: [memory.alloc(queries), memory.alloc(queries)],
        first_records: memory.alloc_from(&vec![MISSING; queries]),
        lengths: memory.alloc(queries),
    };
    let leaves = ends.map(|keys| keys.iter().map(|&key| tree.find(key).0).collect::<Vec<u32>>());
    let firsts: Vec<u32> = places.iter().map(|&[first, _]| first).collect();
    let lengths: Vec<u32> = places.iter().map(|&[first, last]| last - first + 1).collect();
    let outputs = vec![
        Output::new("leaves of first keys", ranges.nodes[0], &leaves[0]),
        Output::new("leaves of last keys", ranges.nodes[1], &leaves[1]),
        Output::new("first records", ranges.first_records, &firsts),
        Output::new("lengths", ranges.lengths, &lengths),
    ];
    (ranges, outputs)
}

/// Draws the look-ups of a round, lays them out in memory, and names their outputs.
fn draw_lookups(
    tree: &Tree,
    count: u32,
    values: &[u32],
    last_key: u32,
    generator: &mut SplitMix64,
    memory: &mut HostMemory,
) -> (Lookups, Vec<Output>) {
    let keys: Vec<u32> = (0..count).map(|_| generator.below(last_key + 1)).collect();
    let found: Vec<(u32, Option<u32>)> = keys.iter().map(|&key| tree.find(key)).collect();
    let lookups = Lookups {
        keys: memory.alloc_from(&keys),
        nodes: memory.alloc(keys.len()),
        answers: memory.alloc_from(&vec![MISSING; keys.len()]),
    };
    let leaves: Vec<u32> = found.iter().map(|&(leaf, _)| leaf).collect();
    let answers: Vec<u32> =
        found.iter().map(|&(_, record)| record.map_or(MISSING, |record| values[record as usize])).collect();
    let outputs =
        vec![Output::new("leaves of keys", lookups.nodes, &leaves), Output::new("answers", lookups.answers, &answers)];
    (lookups, outputs)
}

impl Workload for Btree {
    fn name(&self) -> &'static str {
        "btree"
    }

    fn title(&self) -> &'static str {
        "B+ tree"
    }

    fn summary(&self) -> &'static str {
        "Looks up keys and ranges of keys in a B+ tree, a work-group per query, one kernel for all of a kind."
    }

    fn suite(&self) -> Suite {
        Suite::Rodinia
    }

    fn papers(&self) -> &'static [Paper] {
        &[Paper::CpElide]
    }

    fn source(&self) -> &'static str {
        "Dalmia et al., CPElide, MICRO 2024, section IV-D, Table II (BTREE); Rodinia b+tree (Che et al., IISWC 2009)"
    }

    fn sizes(&self) -> &'static [SizeSpec] {
        &SIZES
    }

    fn build(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
        let mut generator = SplitMix64::new(seed);
        let mut last_key = 0;
        let keys: Vec<u32> = (0..sizes.get("keys"))
            .map(|_| {
                last_key += 1 + generator.below(2);
                last_key
            })
            .collect();
        let values: Vec<u32> = keys.iter().map(|_| generator.below(1 << 30)).collect();
        let tree = Tree::new(&keys);
        let nodes = Nodes { words: memory.alloc_from(&tree.nodes), height: tree.height };
        let records = memory.alloc_from(&values);
        let (mut kernels, mut outputs) = (Vec::new(), Vec::new());
        let (range_count, lookup_count) = (sizes.get("ranges"), sizes.get("lookups"));
        for _ in 0..sizes.get("iterations") {
            let (ranges, of_ranges) = draw_ranges(&tree, range_count, &keys, &mut generator, memory);
            let (lookups, of_lookups) = draw_lookups(&tree, lookup_count, &values, last_key, &mut generator, memory);
            kernels.extend([ranges.kernel(nodes), lookups.kernel(nodes, records)]);
            outputs.extend(of_ranges.into_iter().chain(of_lookups));
        }
        HostProgram::new(kernels, outputs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_found_and_no_other() {
        let keys: Vec<u32> = (0..40_000).map(|place| 3 * place + 1).collect();
        let tree = Tree::new(&keys);
        assert_eq!(tree.height, 2);
        for place in [0, 1, 127, 128, 16_383, 16_384, 39_999] {
            assert_eq!(tree.find(keys[place as usize]).1, Some(place));
            assert_eq!(tree.find(keys[place as usize] + 1).1, None);
        }
        assert_eq!(tree.find(0).1, None);
    }

    #[test]
    fn the_tree_has_three_levels_at_every_scale() {
        for keys in SIZES[0].defaults {
            let leaves = keys.div_ceil(FILLED as u64);
            let above = leaves.div_ceil(FILLED as u64);
            assert!((2..=FILLED as u64).contains(&above), "{keys} keys");
        }
    }
}
