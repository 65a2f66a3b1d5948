//! `color`: colours for the nodes of a graph, so that neighbours differ.
//!
//! Source: CPElide paper (Dalmia et al., MICRO 2024), section IV-D, Table II, `Color-max` on the roads of Alaska;
//! color_max of Pannotia (Che, Beckmann, Reinhardt and Skadron, IISWC 2013). Every node has a random value. Two kernels
//! per colour, with a work-item per node: the first finds the greatest value among a node's neighbours that have no
//! colour yet, and tells the host to go on if there are any; the second gives the colour to the nodes whose own value
//! is no less. The graph is `road_like` of `graph/generate.rs`, or the user's own.
//!
//! Sharing: arcs, values and the places of arcs are only read, in every launch. Most neighbours have adjacent numbers;
//! nodes at the borders of a chiplet's part are read by the next chiplet. A node's colour is written once, by the
//! work-group that also reads it in all launches before. The flag is one word that many wavefronts of a launch write,
//! with the same number.
//!
//! Left out: the original takes nodes with one neighbour for nodes with none, which may give a node and its neighbour
//! one colour. Values are a random order of all nodes, so that no two are equal. The host does not set the flag back to
//! zero; kernels write the number of the colour instead.
//!
//! Arcs are walked both ways, even if a user's file gives one direction.
//!
//! Arithmetic: 5 instructions for the node's number, its test and addresses and the test of its colour; per arc 8: the
//! loop's test and branch, three addresses, two tests and a maximum; 6 in the second kernel.

use chorus_kernel::{AccessMode, Buf, HostMemory, Kernel, LANES, Lanes, Mask, Wave};

use crate::generator::SplitMix64;
use crate::graph::{Graph, road_like};
use crate::program::{HostProgram, Output};
use crate::registry::{OnGraph, Paper, Suite, Workload};
use crate::size::{SizeSpec, Sizes};

/// Wavefronts of a work-group: 256 work-items, as in the original.
const WAVES_PER_GROUP: u32 = 8;
const NODES_PER_GROUP: u32 = WAVES_PER_GROUP * LANES as u32;

/// The colour of a node that has none.
const NONE: u32 = u32::MAX;

pub(crate) struct Color;

/// Alaska has 69,082 nodes, as many as the map of paper scale. All buffers take 0.4 MB at quick scale, 1.6 MB at medium
/// scale and 1.8 MB at paper scale. There are 0.14 million line accesses at quick scale and 0.6 million at the two
/// others; a fifteenth of Alaska would take 0.04 million.
static SIZES: [SizeSpec; 1] = [SizeSpec::new(
    "side",
    "crossings of the generated map along each of its sides",
    [128, 256, 263],
    "CPElide paper, Table II: AK.gr, the roads of Alaska, with 69,082 nodes",
)
.range(2, 8192)];

#[derive(Clone, Copy)]
struct Data {
    nodes: u32,
    offsets: Buf<u32>,
    targets: Buf<u32>,
    values: Buf<u32>,
    colors: Buf<u32>,
    greatest: Buf<u32>,
    flag: Buf<u32>,
}

/// The nodes of a wavefront that have no colour.
async fn uncolored(w: &Wave, data: Data) -> (Lanes<u32>, Mask) {
    let nodes = w.global_ids();
    let inside = nodes.below(data.nodes);
    w.alu(5).await;
    if !inside.any() {
        return (nodes, inside);
    }
    let colors = w.load_where(inside, data.colors, nodes).await;
    (nodes, inside & colors.where_(|color| color == NONE))
}

/// Finds the greatest value among the uncoloured neighbours of every uncoloured node.
async fn color1(w: Wave, data: Data, color: u32) {
    let (nodes, active) = uncolored(&w, data).await;
    if !active.any() {
        return;
    }
    let (start, end) =
        w.join(w.load_where(active, data.offsets, nodes), w.load_where(active, data.offsets, nodes + 1)).await;
    let mut greatest = Lanes::splat(0);
    let mut found = Mask::NONE;
    for arc in 0.. {
        let lanes = active & start.zip(end, |start, end| end - start).where_(|degree| arc < degree);
        w.alu(8).await;
        if !lanes.any() {
            break;
        }
        let targets = w.load_where(lanes, data.targets, start + arc).await;
        let colors = w.load_where(lanes, data.colors, targets).await;
        let rivals = lanes & colors.where_(|color| color == NONE);
        if rivals.any() {
            let values = w.load_where(rivals, data.values, targets).await;
            greatest = values.zip(greatest, u32::max);
            found = found | rivals;
        }
    }
    w.store_where(active, data.greatest, nodes, greatest);
    if found.any() {
        w.store_one(data.flag, 0, color + 1);
    }
}

/// Gives the colour to the uncoloured nodes whose own value is no less than the greatest of their neighbours.
async fn color2(w: Wave, data: Data, color: u32) {
    let (nodes, active) = uncolored(&w, data).await;
    if !active.any() {
        return;
    }
    let (values, greatest) =
        w.join(w.load_where(active, data.values, nodes), w.load_where(active, data.greatest, nodes)).await;
    w.alu(1).await;
    let wins = active & values.zip(greatest, |value, greatest| u32::from(value >= greatest)).where_(|wins| wins == 1);
    if wins.any() {
        w.store_where(wins, data.colors, nodes, Lanes::splat(color));
    }
}

impl Data {
    /// The launch with this number. The two kernels take turns.
    fn launch(self, number: u32) -> Kernel {
        let groups = self.nodes.div_ceil(NODES_PER_GROUP);
        let color = number / 2;
        let own = |kernel: Kernel, buf: Buf<u32>, mode: AccessMode| {
            kernel.access_parts(buf, mode, move |share| vec![share.elements(NODES_PER_GROUP, buf.len())])
        };
        if number.is_multiple_of(2) {
            let kernel = Kernel::new("color1", groups, WAVES_PER_GROUP, move |w| color1(w, self, color))
                .access_parts(self.offsets, AccessMode::Read, move |share| {
                    let mut ends = share.elements(NODES_PER_GROUP, self.nodes as usize);
                    ends.end += 1;
                    vec![ends]
                })
                .access(self.targets, AccessMode::Read)
                .access(self.values, AccessMode::Read)
                .access(self.colors, AccessMode::Read)
                .access(self.flag, AccessMode::ReadWrite);
            own(kernel, self.greatest, AccessMode::ReadWrite)
        } else {
            let kernel = Kernel::new("color2", groups, WAVES_PER_GROUP, move |w| color2(w, self, color));
            let kernel = own(own(kernel, self.values, AccessMode::Read), self.greatest, AccessMode::Read);
            own(kernel, self.colors, AccessMode::ReadWrite)
        }
    }
}

/// Colours and the last values of `greatest`, and the number that the flag is left with.
fn reference(graph: &Graph, values: &[u32]) -> (Vec<u32>, Vec<u32>, u32) {
    let mut colors = vec![NONE; values.len()];
    let mut greatest = vec![0; values.len()];
    let mut flag = 0;
    for color in 0.. {
        let uncolored: Vec<usize> = (0..colors.len()).filter(|&node| colors[node] == NONE).collect();
        for &node in &uncolored {
            let rivals = graph.neighbours(node as u32).iter().filter(|&&to| colors[to as usize] == NONE);
            greatest[node] = rivals.map(|&to| values[to as usize]).max().unwrap_or(0);
            if greatest[node] > 0 {
                flag = color + 1;
            }
        }
        for node in uncolored.into_iter().filter(|&node| values[node] >= greatest[node]) {
            colors[node] = color;
        }
        if flag != color + 1 {
            break;
        }
    }
    (colors, greatest, flag)
}

/// The colouring of `graph`, whose arcs go both ways.
fn paint(graph: &Graph, seed: u64, memory: &mut HostMemory) -> HostProgram {
    let mut generator = SplitMix64::new(seed);
    let mut values: Vec<u32> = (1..=graph.nodes()).collect();
    for last in (1..values.len()).rev() {
        values.swap(last, generator.below(last as u32 + 1) as usize);
    }
    let data = Data {
        nodes: graph.nodes(),
        offsets: memory.alloc_from(graph.offsets()),
        targets: memory.alloc_from(graph.targets()),
        values: memory.alloc_from(&values),
        colors: memory.alloc_from(&vec![NONE; values.len()]),
        greatest: memory.alloc(values.len()),
        flag: memory.alloc(1),
    };
    let (colors, greatest, last) = reference(graph, &values);
    let outputs = vec![
        Output::new("colors", data.colors, &colors),
        Output::new("greatest", data.greatest, &greatest),
        Output::new("flag", data.flag, &[last]),
    ];
    let mut launched = 0_u32;
    let next = move |memory: &HostMemory| {
        let color = launched / 2;
        // The flag holds the last colour after which nodes were left, plus one. A machine that loses writes must not
        // make the host go on forever.
        if launched > 0 && launched.is_multiple_of(2) && (memory.get(data.flag, 0) != color || color > last) {
            return None;
        }
        launched += 1;
        Some(data.launch(launched - 1))
    };
    HostProgram::deciding(next, outputs)
}

/// The colouring of a user's graph.
fn paint_own(graph: &Graph, seed: u64, memory: &mut HostMemory) -> HostProgram {
    paint(&graph.undirected(), seed, memory)
}

impl Workload for Color {
    fn name(&self) -> &'static str {
        "color"
    }

    fn title(&self) -> &'static str {
        "Graph colouring"
    }

    fn summary(&self) -> &'static str {
        "Colours the crossings of a road network so that neighbours differ, two kernels per colour."
    }

    fn suite(&self) -> Suite {
        Suite::Pannotia
    }

    fn papers(&self) -> &'static [Paper] {
        &[Paper::CpElide]
    }

    fn source(&self) -> &'static str {
        "Dalmia et al., CPElide, MICRO 2024, section IV-D, Table II (Color-max); \
         Pannotia color_max (Che et al., IISWC 2013)"
    }

    fn sizes(&self) -> &'static [SizeSpec] {
        &SIZES
    }

    fn build(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
        paint(&road_like(sizes.get("side"), seed), seed, memory)
    }

    fn on_graph(&self) -> Option<OnGraph> {
        Some(paint_own)
    }
}

#[cfg(test)]
mod tests {
    use chorus_kernel::flat;

    use super::*;
    use crate::graph::{Edge, rmat};

    #[test]
    fn neighbours_differ() {
        let graph = road_like(32, 7);
        let mut memory = HostMemory::default();
        let mut program = paint(&graph, 3, &mut memory);
        assert_eq!(flat::run(&mut program, &memory), Ok(()));
        let colors = memory.words(program.outputs()[0].words());
        for node in 0..graph.nodes() {
            let own = colors[node as usize];
            assert!(own != NONE && graph.neighbours(node).iter().all(|&to| colors[to as usize] != own));
        }
    }

    #[test]
    fn graphs_with_hubs_and_without_edges_are_coloured() {
        let alone = Graph::from_arcs(3, &[Edge { from: 1, to: 1, weight: 1 }], false);
        for graph in [rmat(9, 4, 5), alone] {
            let mut memory = HostMemory::default();
            let mut program = paint_own(&graph, 1, &mut memory);
            assert_eq!(flat::run_on(4, &mut program, &memory), Ok(()));
        }
    }

    #[test]
    fn a_road_network_takes_a_few_colours() {
        let graph = road_like(64, 1);
        let mut values: Vec<u32> = (1..=graph.nodes()).collect();
        values.rotate_left(17);
        let (_, _, flag) = reference(&graph, &values);
        assert!(flag > 2, "{flag}");
    }
}
