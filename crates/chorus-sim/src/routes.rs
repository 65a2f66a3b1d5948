//! Routes through networks: nodes, directed links between them, and the links that a message passes from node to node.
//!
//! A network is a set of links and a rule that names the next node of a way. All routes are worked out once and kept,
//! so that looking one up costs nothing. Routes depend on nothing but their ends. On a mesh they go along rows first
//! and then along columns, so that messages never wait for each other in a circle. On a ring they go the shorter way
//! round. On a dragonfly they pass one link between groups, at most one before it and at most one behind it.

use std::collections::BTreeMap;

/// A link from one node to another, in this direction only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Link {
    /// The node at which the link begins.
    pub from: u16,
    /// The node at which the link ends.
    pub to: u16,
}

/// A network with the route of every pair of its ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Routes {
    ends: u16,
    links: Vec<Link>,
    /// Where the route of each pair begins in `passed`, pair by pair, and where the last one is over.
    begins: Vec<u32>,
    passed: Vec<u16>,
}

impl Routes {
    /// A crossbar: its ends are the inputs and then the outputs, and a message passes the port of its input and the
    /// port of its output. Two inputs, or two outputs, have no route between them.
    pub fn crossbar(inputs: u16, outputs: u16) -> Routes {
        let (ends, middle) = (inputs + outputs, inputs + outputs);
        let into = (0..inputs).map(|from| Link { from, to: middle });
        let out = (inputs..ends).map(|to| Link { from: middle, to });
        Routes::new(ends, into.chain(out).collect(), |at, to| {
            if at == middle { Some(to) } else { (at < inputs && to >= inputs).then_some(middle) }
        })
    }

    /// A mesh of rows and columns. Its nodes are counted along the rows.
    pub fn mesh(width: u16, height: u16) -> Routes {
        let nodes = width * height;
        let place = |node: u16| (node % width, node / width);
        let are_neighbours = |from: u16, to: u16| {
            let ((column, row), (other_column, other_row)) = (place(from), place(to));
            column.abs_diff(other_column) + row.abs_diff(other_row) == 1
        };
        let links = pairs(nodes).filter(|link| are_neighbours(link.from, link.to)).collect();
        Routes::new(nodes, links, |at, to| {
            let ((column, row), (to_column, to_row)) = (place(at), place(to));
            Some(if column != to_column {
                if column < to_column { at + 1 } else { at - 1 }
            } else if row < to_row {
                at + width
            } else {
                at - width
            })
        })
    }

    /// A ring. Messages take the shorter way round, and upwards where both are as long.
    pub fn ring(nodes: u16) -> Routes {
        let up = |node: u16| (node + 1) % nodes;
        let down = |node: u16| (node + nodes - 1) % nodes;
        let links = pairs(nodes).filter(|link| link.to == up(link.from) || link.to == down(link.from)).collect();
        Routes::new(nodes, links, |at, to| {
            let distance_up = (to + nodes - at) % nodes;
            Some(if distance_up <= nodes / 2 { up(at) } else { down(at) })
        })
    }

    /// A link from every node to every other.
    pub fn fully_connected(nodes: u16) -> Routes {
        Routes::new(nodes, pairs(nodes).collect(), |_, to| Some(to))
    }

    /// Nodes around one switch: a message passes a link to the switch and one from it.
    pub fn switch(nodes: u16) -> Routes {
        let into = (0..nodes).map(|from| Link { from, to: nodes });
        let out = (0..nodes).map(|to| Link { from: nodes, to });
        Routes::new(nodes, into.chain(out).collect(), |at, to| Some(if at == nodes { to } else { nodes }))
    }

    /// A dragonfly: the nodes of a group are fully connected, and so are the groups. Nodes are counted group by group.
    /// The links to other groups are dealt to the nodes of a group in turn.
    pub fn dragonfly(groups: u16, group_size: u16) -> Routes {
        let group = |node: u16| node / group_size;
        // The node of group `from` at which the link to group `to` begins.
        let gate = |from: u16, to: u16| {
            let number = (to + groups - from - 1) % groups;
            from * group_size + number % group_size
        };
        let is_link = |link: &Link| {
            let (from, to) = (group(link.from), group(link.to));
            from == to || (link.from == gate(from, to) && link.to == gate(to, from))
        };
        let nodes = groups * group_size;
        Routes::new(nodes, pairs(nodes).filter(is_link).collect(), |at, to| {
            let (here, there) = (group(at), group(to));
            Some(if here == there {
                to
            } else if at == gate(here, there) {
                gate(there, here)
            } else {
                gate(here, there)
            })
        })
    }

    /// Works out the routes between the first `ends` nodes. `next` names the node that follows `at` on the way to `to`,
    /// or nothing where there is no way.
    ///
    /// # Panics
    ///
    /// If the network has more than 65,536 links, or if a way leaves its links.
    fn new(ends: u16, links: Vec<Link>, next: impl Fn(u16, u16) -> Option<u16>) -> Routes {
        let number = |index: usize| u16::try_from(index).expect("a network has at most 65,536 links");
        let numbers: BTreeMap<Link, u16> =
            links.iter().enumerate().map(|(index, link)| (*link, number(index))).collect();
        let (mut begins, mut passed) = (vec![0], Vec::new());
        for from in 0..ends {
            for to in 0..ends {
                let mut at = from;
                while at != to
                    && let Some(following) = next(at, to)
                {
                    passed.push(numbers[&Link { from: at, to: following }]);
                    at = following;
                }
                begins.push(passed.len() as u32);
            }
        }
        Routes { ends, links, begins, passed }
    }

    /// The number of nodes that messages come from and go to.
    pub fn ends(&self) -> u16 {
        self.ends
    }

    /// The links of the network. Their numbers are their places in this list.
    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// The numbers of the links that a message passes, in their order. There are none from a node to itself.
    #[inline]
    pub fn route(&self, from: u16, to: u16) -> &[u16] {
        let pair = usize::from(from) * usize::from(self.ends) + usize::from(to);
        &self.passed[self.begins[pair] as usize..self.begins[pair + 1] as usize]
    }
}

/// Every pair of different nodes, as a link.
fn pairs(nodes: u16) -> impl Iterator<Item = Link> {
    (0..nodes).flat_map(move |from| (0..nodes).map(move |to| Link { from, to })).filter(|link| link.from != link.to)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every network of these tests, by name, with whether its routes are the shortest that its links allow.
    fn networks() -> Vec<(String, Routes, bool)> {
        let mut networks = Vec::new();
        for nodes in 1..=17 {
            networks.push((format!("ring of {nodes}"), Routes::ring(nodes), true));
            networks.push((format!("{nodes}, fully connected"), Routes::fully_connected(nodes), true));
            networks.push((format!("switch of {nodes}"), Routes::switch(nodes), true));
        }
        for (width, height) in pairs(7).map(|link| (link.from + 1, link.to + 1)).chain([(1, 1), (4, 4), (8, 8)]) {
            networks.push((format!("mesh of {width} x {height}"), Routes::mesh(width, height), true));
        }
        for (groups, size) in [(1, 1), (1, 4), (2, 1), (2, 3), (3, 2), (4, 4), (5, 4), (9, 2), (8, 8)] {
            networks.push((format!("dragonfly of {groups} x {size}"), Routes::dragonfly(groups, size), false));
        }
        networks
    }

    /// Links from `from` to every node, by breadth-first search.
    fn distances(routes: &Routes, from: u16) -> Vec<Option<usize>> {
        let nodes = routes.links().iter().map(|link| link.from.max(link.to)).max().unwrap_or(0).max(routes.ends());
        let mut distances = vec![None; usize::from(nodes) + 1];
        distances[usize::from(from)] = Some(0);
        let mut reached = vec![from];
        while let Some(at) = (!reached.is_empty()).then(|| reached.remove(0)) {
            for link in routes.links().iter().filter(|link| link.from == at) {
                if distances[usize::from(link.to)].is_none() {
                    distances[usize::from(link.to)] = distances[usize::from(at)].map(|distance| distance + 1);
                    reached.push(link.to);
                }
            }
        }
        distances
    }

    #[test]
    fn every_route_leads_from_its_one_end_to_the_other() {
        for (name, routes, _) in networks() {
            for (from, to) in (0..routes.ends()).flat_map(|from| (0..routes.ends()).map(move |to| (from, to))) {
                let mut at = from;
                for &link in routes.route(from, to) {
                    let link = routes.links()[usize::from(link)];
                    assert_eq!(link.from, at, "{name}: {from} to {to}");
                    at = link.to;
                }
                assert_eq!(at, to, "{name}");
            }
        }
    }

    #[test]
    fn routes_are_as_short_as_links_allow() {
        for (name, routes, _) in networks().into_iter().filter(|(_, _, shortest)| *shortest) {
            for from in 0..routes.ends() {
                let distances = distances(&routes, from);
                for to in 0..routes.ends() {
                    let length = Some(routes.route(from, to).len());
                    assert_eq!(length, distances[usize::from(to)], "{name}: {from} to {to}");
                }
            }
        }
    }

    #[test]
    fn no_link_is_there_twice_and_every_link_is_used() {
        for (name, routes, _) in networks() {
            let mut links = routes.links().to_vec();
            links.sort_unstable();
            links.dedup();
            assert_eq!(links.len(), routes.links().len(), "{name}");
            let mut used = vec![routes.ends() == 1; links.len()];
            pairs(routes.ends()).for_each(|pair| {
                routes.route(pair.from, pair.to).iter().for_each(|&link| used[usize::from(link)] = true);
            });
            assert!(used.iter().all(|&used| used), "{name}");
        }
    }

    #[test]
    fn messages_on_a_mesh_never_wait_in_a_circle() {
        // A link waits for the links that follow it on a route. Along rows first, these waits have no circle.
        let routes = Routes::mesh(5, 4);
        let mut waits = vec![Vec::new(); routes.links().len()];
        for pair in pairs(20) {
            let route = routes.route(pair.from, pair.to);
            route.windows(2).for_each(|two| waits[usize::from(two[0])].push(usize::from(two[1])));
        }
        let mut ended = vec![false; waits.len()];
        while let Some(link) =
            (0..waits.len()).find(|&link| !ended[link] && waits[link].iter().all(|&next| ended[next]))
        {
            ended[link] = true;
        }
        assert!(ended.iter().all(|&ended| ended));
    }

    #[test]
    fn a_tie_on_a_ring_goes_up() {
        let routes = Routes::ring(6);
        let nodes = |from, to| routes.route(from, to).iter().map(|&link| routes.links()[usize::from(link)].to);
        assert!(nodes(5, 2).eq([0, 1, 2]));
        assert!(nodes(5, 3).eq([4, 3]));
        assert_eq!(Routes::ring(2).links().len(), 2);
    }

    #[test]
    fn a_message_passes_the_ports_of_a_crossbar() {
        let routes = Routes::crossbar(3, 2);
        let (from_0, from_1) = (routes.route(0, 3), routes.route(1, 3));
        assert_eq!((from_0.len(), from_1.len(), routes.links().len()), (2, 2, 5));
        assert_ne!(from_0[0], from_1[0]);
        assert_eq!(from_0[1], from_1[1]);
        assert!(routes.route(0, 1).is_empty() && routes.route(3, 4).is_empty() && routes.route(3, 0).is_empty());
    }

    #[test]
    fn a_dragonfly_has_one_link_between_groups_and_at_most_one_at_each_end() {
        let (groups, size) = (9, 4);
        let routes = Routes::dragonfly(groups, size);
        let is_global = |link: &u16| {
            let link = routes.links()[usize::from(*link)];
            link.from / size != link.to / size
        };
        assert_eq!((0..routes.links().len() as u16).filter(is_global).count(), usize::from(groups * (groups - 1)));
        for pair in pairs(routes.ends()) {
            let route = routes.route(pair.from, pair.to);
            let expected = usize::from(pair.from / size != pair.to / size);
            assert_eq!(route.iter().filter(|link| is_global(link)).count(), expected, "{pair:?}");
            assert!(route.len() <= 1 + 2 * expected, "{pair:?}");
        }
        // The links to eight groups are dealt to four nodes, two each.
        let of_node =
            |node: u16| routes.links().iter().filter(move |link| link.from == node && link.to / size != node / size);
        assert!((0..routes.ends()).all(|node| of_node(node).count() == 2));
    }
}
