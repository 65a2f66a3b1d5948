//! Strongly connected components of a graph: the states that lead to each other (Tarjan 1972, without recursion).

/// A graph whose nodes are numbered from 0 on.
#[derive(Clone, Debug)]
pub(crate) struct Graph {
    /// The place of each node's first edge among `targets`, and the end.
    first: Vec<u32>,
    targets: Vec<u32>,
}

impl Default for Graph {
    fn default() -> Graph {
        Graph { first: vec![0], targets: Vec::new() }
    }
}

impl Graph {
    /// Adds nodes with so many edges each, and where their edges lead.
    pub fn extend(&mut self, counts: &[u32], targets: &[u32]) {
        let mut end = self.targets.len() as u32;
        self.first.extend(counts.iter().map(|count| {
            end += count;
            end
        }));
        self.targets.extend_from_slice(targets);
    }

    /// The number of nodes.
    pub fn len(&self) -> usize {
        self.first.len() - 1
    }

    /// The nodes that a node leads to.
    pub fn targets(&self, node: usize) -> &[u32] {
        &self.targets[self.first[node] as usize..self.first[node + 1] as usize]
    }
}

/// The components of a graph. A component has a greater number than every component that it leads to.
#[derive(Clone, Debug)]
pub(crate) struct Components {
    of: Vec<u32>,
}

const NONE: u32 = u32::MAX;

/// The state of a walk through a graph.
struct Walk<'a> {
    graph: &'a Graph,
    component: Vec<u32>,
    order: Vec<u32>,
    low: Vec<u32>,
    /// Nodes whose component is not known yet.
    open: Vec<u32>,
    /// The nodes from the root of the walk to the present one, each with its next edge.
    way: Vec<(u32, u32)>,
    entered: u32,
    found: u32,
}

impl Walk<'_> {
    fn enter(&mut self, node: u32) {
        self.order[node as usize] = self.entered;
        self.low[node as usize] = self.entered;
        self.entered += 1;
        self.open.push(node);
        self.way.push((node, self.graph.first[node as usize]));
    }

    fn from(&mut self, root: u32) {
        self.enter(root);
        while let Some(&(node, edge)) = self.way.last() {
            if edge == self.graph.first[node as usize + 1] {
                self.leave(node);
                continue;
            }
            if let Some(last) = self.way.last_mut() {
                last.1 += 1;
            }
            let target = self.graph.targets[edge as usize];
            if self.order[target as usize] == NONE {
                self.enter(target);
            } else if self.component[target as usize] == NONE {
                let order = self.order[target as usize];
                let low = &mut self.low[node as usize];
                *low = order.min(*low);
            }
        }
    }

    fn leave(&mut self, node: u32) {
        self.way.pop();
        let low = self.low[node as usize];
        if let Some(&(above, _)) = self.way.last() {
            let above = &mut self.low[above as usize];
            *above = low.min(*above);
        }
        if low != self.order[node as usize] {
            return;
        }
        while let Some(member) = self.open.pop() {
            self.component[member as usize] = self.found;
            if member == node {
                break;
            }
        }
        self.found += 1;
    }
}

impl Components {
    /// The components of `graph`.
    pub fn of(graph: &Graph) -> Components {
        let empty = vec![NONE; graph.len()];
        let mut walk = Walk {
            graph,
            component: empty.clone(),
            order: empty.clone(),
            low: empty,
            open: Vec::new(),
            way: Vec::new(),
            entered: 0,
            found: 0,
        };
        for root in 0..graph.len() as u32 {
            if walk.order[root as usize] == NONE {
                walk.from(root);
            }
        }
        Components { of: walk.component }
    }

    /// Whether two nodes lead to each other.
    pub fn same(&self, a: u32, b: u32) -> bool {
        self.of[a as usize] == self.of[b as usize]
    }

    /// For each node, whether it leads to one of `goals`.
    pub fn that_reach(&self, graph: &Graph, goals: &[u32]) -> Vec<bool> {
        let components = self.of.iter().max().map_or(0, |&last| last as usize + 1);
        let mut good = vec![false; components];
        goals.iter().for_each(|&goal| good[self.of[goal as usize] as usize] = true);
        // Edges lead to smaller numbers, so components are taken in ascending order.
        let mut nodes: Vec<u32> = (0..graph.len() as u32).collect();
        nodes.sort_unstable_by_key(|&node| self.of[node as usize]);
        for node in nodes {
            let leads = |&target: &u32| good[self.of[target as usize] as usize];
            if graph.targets(node as usize).iter().any(leads) {
                good[self.of[node as usize] as usize] = true;
            }
        }
        self.of.iter().map(|&component| good[component as usize]).collect()
    }

    /// The nodes of each component that contains a circle.
    pub fn circles(&self, graph: &Graph) -> Vec<Vec<u32>> {
        let inside = |node: u32| graph.targets(node as usize).iter().any(|&target| self.same(node, target));
        let mut nodes: Vec<u32> = (0..graph.len() as u32).filter(|&node| inside(node)).collect();
        nodes.sort_unstable_by_key(|&node| (self.of[node as usize], node));
        nodes.chunk_by(|&a, &b| self.same(a, b)).map(<[u32]>::to_vec).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(nodes: usize, edges: &[(u32, u32)]) -> Graph {
        let mut graph = Graph::default();
        for node in 0..nodes as u32 {
            let targets: Vec<u32> = edges.iter().filter(|edge| edge.0 == node).map(|edge| edge.1).collect();
            graph.extend(&[targets.len() as u32], &targets);
        }
        graph
    }

    #[test]
    fn states_that_lead_to_each_other_are_one_component() {
        let graph = graph(7, &[(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 3), (5, 5), (0, 6)]);
        let components = Components::of(&graph);
        assert!(components.same(0, 2) && components.same(3, 4));
        assert!(!components.same(0, 3) && !components.same(5, 3));
        let mut circles = components.circles(&graph);
        circles.sort();
        assert_eq!(circles, [vec![0, 1, 2], vec![3, 4], vec![5]]);
    }

    #[test]
    fn a_way_may_lead_through_many_components() {
        let graph = graph(6, &[(0, 1), (1, 2), (2, 1), (2, 3), (4, 5), (5, 4)]);
        let good = Components::of(&graph).that_reach(&graph, &[3]);
        assert_eq!(good, [true, true, true, true, false, false]);
    }
}
