//! Components that grow together, edge by edge.

/// The components of a graph. Each is a tree whose nodes lead to its root.
pub(crate) struct Components {
    parents: Vec<u32>,
}

impl Components {
    /// A graph of so many nodes and no edges.
    pub fn new(nodes: u32) -> Components {
        Components { parents: (0..nodes).collect() }
    }

    /// Connects two nodes, and says whether they were in different components.
    pub fn join(&mut self, one: u32, other: u32) -> bool {
        let (one, other) = (self.root(one), self.root(other));
        self.parents[one as usize] = other;
        one != other
    }

    fn root(&mut self, mut node: u32) -> u32 {
        while self.parents[node as usize] != node {
            let parent = self.parents[node as usize];
            self.parents[node as usize] = self.parents[parent as usize];
            node = parent;
        }
        node
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edge_within_a_component_joins_nothing() {
        let mut components = Components::new(4);
        assert!(components.join(0, 1) && components.join(2, 3) && components.join(3, 0));
        assert!(!components.join(1, 2) && !components.join(2, 2));
    }
}
