//! The numbers of edges that a generated mesh can have.
//!
//! `mesh_like` of `graph/generate.rs` takes its nodes from a cubic lattice, along a Z-order curve. It needs one edge
//! less than nodes to connect them all. A lower bound on the edges of the lattice follows from seven neighbours of a
//! point: those with the same or smaller coordinates. They come before the point on the curve, so the mesh has them,
//! unless a coordinate of the point is zero, which costs four of the seven. A cube of side `s` has at most `s` squared
//! points in each of its three planes with a coordinate of zero. So `n` nodes have at least `7 n - 12 s^2` edges
//! between neighbours.

use crate::size::Sizes;

/// The smallest and the largest number of edges for a number of nodes.
fn edges_for(nodes: u32) -> (u32, u32) {
    let side = (1_u32..).find(|side| side.pow(3) >= nodes).unwrap_or(1);
    (nodes - 1, (7 * nodes).saturating_sub(12 * side.pow(2)))
}

/// Refuses numbers of edges that a mesh with this number of nodes cannot have.
pub(super) fn misfit(sizes: &Sizes) -> Option<String> {
    let (nodes, edges) = (sizes.get("nodes"), sizes.get("edges"));
    let (fewest, most) = edges_for(nodes);
    (!(fewest..=most).contains(&edges)).then(|| {
        format!("nodes is {nodes} and edges is {edges}: a mesh of {nodes} nodes has from {fewest} to {most} edges")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::mesh_like;

    #[test]
    fn a_mesh_can_have_the_fewest_and_the_most_edges() {
        for nodes in (64..200).chain([999, 1000, 1001, 4097, 20_000]) {
            let (fewest, most) = edges_for(nodes);
            assert!(fewest < most, "{nodes} nodes");
            for edges in [fewest, most] {
                assert_eq!(mesh_like(nodes, edges, 1).arcs(), 2 * edges, "{nodes} nodes");
            }
        }
    }
}
