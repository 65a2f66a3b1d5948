//! Graphs that are generated.

use std::sync::Arc;

use chorus_workloads::graph::{EDGES_MAX, Edge, Graph, NODES_MAX, uniform};

use crate::error::Result;
use crate::expression::Values;
use crate::manifest::GraphKind;

/// The most arcs of a node of a hashed graph.
const HASHED_MAX: u64 = 12;

/// A mixing function of 32 bits (Mueller and Wellons, "hash-prospector", `lowbias32` with its first published
/// constants).
pub(crate) fn hash(mut x: u32) -> u32 {
    x ^= x >> 16;
    x = x.wrapping_mul(0x7feb_352d);
    x ^= x >> 15;
    x = x.wrapping_mul(0x846c_a68b);
    x ^ x >> 16
}

/// The numbers of nodes and arcs of a graph; without a seed, the most arcs that it can have. With a seed, the graph,
/// too.
pub(crate) fn make(kind: &GraphKind, values: &Values, seed: Option<u64>) -> Result<(u64, u64, Option<Arc<Graph>>)> {
    let nodes_max = i128::from(NODES_MAX);
    let (nodes, edges) = match kind {
        GraphKind::File(graph) => return Ok((graph.nodes().into(), graph.arcs().into(), Some(Arc::clone(graph)))),
        GraphKind::Uniform { nodes, degree, .. } => {
            let nodes = nodes.within(values, 1, nodes_max, "a number of nodes")?;
            let degree = degree.within(values, 0, i128::from(EDGES_MAX) / nodes, "a number of arcs of each node")?;
            (nodes as u64, (nodes * degree) as u64)
        }
        GraphKind::Hash { nodes } => {
            let most = i128::from(u64::from(EDGES_MAX) / HASHED_MAX);
            let nodes = nodes.within(values, 1, most, "a number of nodes")? as u64;
            (nodes, nodes * HASHED_MAX)
        }
    };
    let Some(seed) = seed else { return Ok((nodes, edges, None)) };
    let graph = match kind {
        GraphKind::File(graph) => Arc::clone(graph),
        GraphKind::Uniform { seed: own, .. } => {
            Arc::new(uniform(nodes as u32, (edges / nodes) as u32, own.unwrap_or(seed)))
        }
        GraphKind::Hash { .. } => Arc::new(hashed(nodes as u32)),
    };
    Ok((nodes, graph.arcs().into(), Some(graph)))
}

/// Four to twelve arcs of every node, to anywhere.
fn hashed(nodes: u32) -> Graph {
    let arcs = (0..nodes).flat_map(|from| {
        let degree = 4 + hash(from.wrapping_add(77)) % 9;
        let end = move |k: u32| hash(from.wrapping_mul(31).wrapping_add(k * 7919 + 5)) % nodes;
        (0..degree).map(move |k| Edge { from, to: end(k), weight: 1 })
    });
    Graph::from_arcs(nodes, &arcs.collect::<Vec<_>>(), false)
}
