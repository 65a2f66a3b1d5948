//! The links that messages share inside modules: the times at which they are free, and the messages that come to them.
//!
//! A message takes each link of its route for one cycle per flit. It reserves all of them when it leaves its port. So
//! the links of a route are taken in the order in which messages leave, and a message that waits for a link comes later
//! to the next one. It waits in a router, which always has room.

use chorus_protocol::save::{self, Restore};

use super::endpoint::{Entry, Inbox};
use crate::clock::Ticks;
use crate::network::{Hop, Network};

/// The links of all modules, and the messages that have left their ports.
#[derive(Clone, Debug, Restore)]
pub(super) struct Grid {
    /// Links of each module.
    #[save(built)]
    links: usize,
    /// The time at which each link is free, module by module.
    free: Vec<Ticks>,
    inbox: Inbox,
}

impl Grid {
    /// The idle links of a machine whose modules have this network.
    pub(super) fn new(network: &Network, modules: u16) -> Grid {
        Grid::of_links(network.links(), modules)
    }

    fn of_links(links: usize, modules: u16) -> Grid {
        Grid { links, free: vec![0; links * usize::from(modules)], inbox: Inbox::default() }
    }

    /// Adds a message that leaves its port.
    #[inline]
    pub(super) fn put(&mut self, entry: Entry) {
        self.inbox.put(entry);
    }

    /// The time at which the first message leaves its port.
    pub(super) fn next(&self) -> Ticks {
        self.inbox.front_time()
    }

    /// Takes the next message that leaves its port before `horizon`.
    #[inline]
    pub(super) fn take(&mut self, horizon: Ticks) -> Option<Entry> {
        self.inbox.take(horizon)
    }

    /// Reserves the links of a route in a module for a message. Returns how long it waits for them.
    #[inline]
    pub(super) fn reserve(&mut self, module: u16, hops: &[Hop], entry: &Entry) -> Ticks {
        let first = usize::from(module) * self.links;
        let mut waited = 0;
        for hop in hops {
            let free = &mut self.free[first + usize::from(hop.link)];
            let arrives = entry.time + hop.after + waited;
            waited += free.saturating_sub(arrives);
            *free = arrives.max(*free) + Ticks::from(entry.length);
        }
        waited
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routes::Routes;

    /// Links that messages take by the routes of a network, in which every hop takes two ticks.
    struct Links {
        routes: Routes,
        grid: Grid,
    }

    impl Links {
        fn new(routes: Routes) -> Links {
            Links { grid: Grid::of_links(routes.links().len(), 2), routes }
        }

        fn take_in(&mut self, module: u16, from: u16, to: u16, time: Ticks, length: u32) -> Ticks {
            let hop = |(passed, &link): (u64, &u16)| Hop { link, after: 2 * passed };
            let hops: Vec<Hop> = (0..).zip(self.routes.route(from, to)).map(hop).collect();
            self.grid.reserve(module, &hops, &Entry { time, source: 0, id: 0, length })
        }

        fn take(&mut self, from: u16, to: u16, time: Ticks, length: u32) -> Ticks {
            self.take_in(0, from, to, time, length)
        }
    }

    #[test]
    fn messages_that_share_a_link_take_turns() {
        let mut links = Links::new(Routes::mesh(3, 3));
        assert_eq!(links.take(0, 2, 10, 5), 0);
        assert_eq!(links.take(0, 1, 10, 5), 5);
        assert_eq!(links.take(1, 2, 12, 5), 5);
    }

    #[test]
    fn a_message_that_waits_for_a_link_comes_later_to_the_next() {
        let mut links = Links::new(Routes::mesh(3, 3));
        assert_eq!(links.take(0, 1, 0, 5), 0);
        // Five ticks for the first link; the second is free until then.
        assert_eq!(links.take(0, 2, 0, 5), 5);
        assert_eq!(links.take(1, 2, 7, 5), 5);
    }

    #[test]
    fn other_ways_other_links() {
        let mut links = Links::new(Routes::mesh(3, 3));
        // There and back, and around the corner: rows first.
        assert_eq!(links.take(0, 4, 0, 9), 0);
        assert_eq!(links.take(4, 0, 0, 9), 0);
        assert_eq!(links.take(3, 4, 0, 9), 0);
        assert_eq!(links.take(1, 4, 2, 9), 9);
        assert_eq!(links.take(4, 4, 0, 9), 0);
    }

    #[test]
    fn the_two_ways_round_a_ring_and_the_rings_of_two_modules_share_nothing() {
        let mut links = Links::new(Routes::ring(6));
        assert_eq!(links.take(0, 2, 0, 9), 0);
        assert_eq!(links.take(2, 0, 0, 9), 0);
        assert_eq!(links.take_in(1, 0, 2, 0, 9), 0);
        assert_eq!(links.take(1, 3, 2, 9), 9);
        // The longer way to node 2 would have been free.
        assert_eq!(links.take(0, 2, 20, 9), 0);
    }

    #[test]
    fn messages_to_one_node_wait_behind_a_switch_and_not_where_every_pair_has_a_link() {
        let mut links = Links::new(Routes::switch(4));
        assert_eq!([1, 2, 3].map(|from| links.take(from, 0, 0, 5)), [0, 5, 10]);
        assert_eq!(links.take(0, 1, 0, 5), 0);
        let mut links = Links::new(Routes::fully_connected(4));
        assert_eq!([1, 2, 3].map(|from| links.take(from, 0, 0, 5)), [0, 0, 0]);
    }

    #[test]
    fn the_groups_of_a_dragonfly_share_one_link_in_each_direction() {
        let mut links = Links::new(Routes::dragonfly(2, 3));
        assert_eq!(links.take(0, 3, 0, 7), 0);
        // One hop to the node with the link, which is taken until the seventh tick.
        assert_eq!(links.take(1, 4, 0, 7), 5);
        assert_eq!(links.take(3, 0, 0, 7), 0);
        assert_eq!(links.take(4, 5, 0, 7), 0);
    }
}
