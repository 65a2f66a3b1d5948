//! A cube of hexahedra, connected as if it were any mesh.
//!
//! The mesh is LULESH's: a cube of `edge` elements each way. Elements find their eight nodes and their neighbours
//! through faces only in lists, and so do nodes the corners of elements that touch them.

/// The number of nodes of an element.
pub const CORNERS: usize = 8;
/// Sides of an element with a neighbour: before and behind along each axis.
pub const NEIGHBOURS: usize = 6;
/// In place of a corner where a node has fewer than eight.
pub const NONE: u32 = u32::MAX;

/// The connections of elements and nodes.
#[derive(Clone, Debug)]
pub struct Mesh {
    /// The number of elements along an axis.
    edge: u32,
    /// The nodes of each element: all first ones, then all second ones, and so on.
    pub element_nodes: Vec<u32>,
    /// The elements before and behind each one along the axes, in the same order; itself where the cube ends.
    pub neighbours: Vec<u32>,
    /// The corners at each node, as places among [`Mesh::element_nodes`], in the same order.
    pub node_corners: Vec<u32>,
    /// The nodes on the planes of symmetry: those where the first coordinate is zero, the second, the third.
    pub symmetry: Vec<u32>,
}

impl Mesh {
    /// A cube of `edge` elements each way.
    pub fn cube(edge: u32) -> Mesh {
        let across = edge + 1;
        let (elements, nodes) = ((edge * edge * edge) as usize, (across * across * across) as usize);
        let place = |element: u32| [element % edge, element / edge % edge, element / edge / edge];
        let offsets = [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1]];
        let node = |[x, y, z]: [u32; 3]| (z * across + y) * across + x;
        let mut mesh = Mesh {
            edge,
            element_nodes: Vec::with_capacity(CORNERS * elements),
            neighbours: Vec::with_capacity(NEIGHBOURS * elements),
            node_corners: vec![NONE; CORNERS * nodes],
            symmetry: Vec::new(),
        };
        for offset in offsets {
            let nodes = (0..elements as u32).map(|element| {
                let place = place(element);
                node(std::array::from_fn(|axis| place[axis] + offset[axis]))
            });
            mesh.element_nodes.extend(nodes);
        }
        for (axis, stride) in [1, edge, edge * edge].into_iter().enumerate() {
            let all = 0..elements as u32;
            mesh.neighbours.extend(all.clone().map(|e| if place(e)[axis] == 0 { e } else { e - stride }));
            mesh.neighbours.extend(all.map(|e| if place(e)[axis] == edge - 1 { e } else { e + stride }));
        }
        let mut counts = vec![0; nodes];
        for element in 0..elements {
            for at in (0..CORNERS).map(|corner| corner * elements + element) {
                let node = mesh.element_nodes[at] as usize;
                mesh.node_corners[counts[node] * nodes + node] = at as u32;
                counts[node] += 1;
            }
        }
        for axis in 0..3 {
            let on_plane = |a: u32, b: u32| {
                let mut place = [a, b, 0];
                place[axis..].rotate_right(1);
                node(place)
            };
            mesh.symmetry.extend((0..across).flat_map(|b| (0..across).map(move |a| on_plane(a, b))));
        }
        mesh
    }

    /// The number of elements in the cube.
    pub fn elements(&self) -> u32 {
        self.edge * self.edge * self.edge
    }

    /// The number of nodes in the cube.
    pub fn nodes(&self) -> u32 {
        (self.edge + 1) * (self.edge + 1) * (self.edge + 1)
    }

    /// The number of nodes on one plane of symmetry.
    pub fn plane(&self) -> u32 {
        (self.edge + 1) * (self.edge + 1)
    }

    /// The places of the nodes of a cube with sides of 1.125, which is LULESH's.
    pub fn places(&self) -> Vec<[f32; 3]> {
        let across = self.edge + 1;
        let coordinate = |index: u32| 1.125 * index as f32 / self.edge as f32;
        (0..self.nodes()).map(|n| [n % across, n / across % across, n / across / across].map(coordinate)).collect()
    }

    /// The nodes of an element.
    pub fn nodes_of(&self, element: usize) -> [usize; CORNERS] {
        std::array::from_fn(|corner| self.element_nodes[corner * self.elements() as usize + element] as usize)
    }

    /// The neighbour of an element on one of its sides.
    pub fn neighbour(&self, element: usize, side: usize) -> usize {
        self.neighbours[side * self.elements() as usize + element] as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_know_the_corners_that_touch_them() {
        let mesh = Mesh::cube(3);
        let corners: Vec<u32> = mesh.node_corners.iter().copied().filter(|&corner| corner != NONE).collect();
        assert_eq!(corners.len(), CORNERS * 27);
        for (at, &corner) in mesh.node_corners.iter().enumerate().filter(|&(_, &corner)| corner != NONE) {
            assert_eq!(mesh.element_nodes[corner as usize], at as u32 % mesh.nodes());
        }
    }

    #[test]
    fn neighbours_are_mutual_and_planes_lie_at_zero() {
        let mesh = Mesh::cube(4);
        for (element, side) in (0..64).flat_map(|element| (0..NEIGHBOURS).map(move |side| (element, side))) {
            let other = mesh.neighbour(element, side);
            assert!(other == element || mesh.neighbour(other, side ^ 1) == element);
        }
        let places = mesh.places();
        for (axis, nodes) in mesh.symmetry.chunks_exact(mesh.plane() as usize).enumerate() {
            assert!(nodes.iter().all(|&node| places[node as usize][axis] == 0.0));
        }
    }
}
