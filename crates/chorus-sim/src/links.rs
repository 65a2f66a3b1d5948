//! The links between neighbouring tiles of a mesh, and the times at which they are free.
//!
//! A message goes along its row first and then along its column. It takes each link of its route for one cycle per
//! flit. Messages get links in the order in which they set out. A message that waits for a link waits in a router,
//! which always has room. Traffic between a bank and memory takes no link, since the Spandex paper gives no bandwidth
//! of memory.

use crate::clock::Ticks;

/// A direction in which a link leaves a tile.
#[derive(Clone, Copy)]
enum Direction {
    East,
    West,
    South,
    North,
}

/// The links of a square mesh.
#[derive(Clone, Debug)]
pub struct Links {
    width: u16,
    /// The tile of each controller.
    tiles: Vec<u16>,
    /// The latency of each number of hops.
    hops: Vec<Ticks>,
    /// The time at which each link is free, by tile and direction.
    free: Vec<Ticks>,
}

impl Links {
    /// The idle links of a mesh.
    pub fn new(width: u16, tiles: Vec<u16>, hops: Vec<Ticks>) -> Links {
        Links { width, tiles, hops, free: vec![0; usize::from(width * width) * 4] }
    }

    /// Sends a message of this many flits along its route. Returns how long it waits for links.
    #[inline]
    pub fn take(&mut self, from: u16, to: u16, start: Ticks, length: Ticks) -> Ticks {
        let place = |controller: u16| {
            let tile = self.tiles[usize::from(controller)];
            (tile % self.width, tile / self.width)
        };
        let ((mut column, mut row), end) = (place(from), place(to));
        let (mut waited, mut passed) = (0, 0);
        while (column, row) != end {
            let direction = match (column.cmp(&end.0), row < end.1) {
                (std::cmp::Ordering::Less, _) => Direction::East,
                (std::cmp::Ordering::Greater, _) => Direction::West,
                (std::cmp::Ordering::Equal, true) => Direction::South,
                (std::cmp::Ordering::Equal, false) => Direction::North,
            };
            let free = &mut self.free[usize::from(row * self.width + column) * 4 + direction as usize];
            let arrives = start + self.hops[passed] + waited;
            waited += free.saturating_sub(arrives);
            *free = arrives.max(*free) + length;
            passed += 1;
            match direction {
                Direction::East => column += 1,
                Direction::West => column -= 1,
                Direction::South => row += 1,
                Direction::North => row -= 1,
            }
        }
        waited
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nine tiles, a controller in each, and hops of two ticks.
    fn links() -> Links {
        Links::new(3, (0..9).collect(), vec![0, 2, 4, 6, 8])
    }

    #[test]
    fn messages_that_share_a_link_take_turns() {
        let mut links = links();
        assert_eq!(links.take(0, 2, 10, 5), 0);
        assert_eq!(links.take(0, 1, 10, 5), 5);
        assert_eq!(links.take(1, 2, 12, 5), 5);
    }

    #[test]
    fn what_waits_for_a_link_comes_later_to_the_next() {
        let mut links = links();
        assert_eq!(links.take(0, 1, 0, 5), 0);
        // Five ticks for the first link; the second is free until then.
        assert_eq!(links.take(0, 2, 0, 5), 5);
        assert_eq!(links.take(1, 2, 7, 5), 5);
    }

    #[test]
    fn other_ways_other_links() {
        let mut links = links();
        // There and back, and around the corner: rows first.
        assert_eq!(links.take(0, 4, 0, 9), 0);
        assert_eq!(links.take(4, 0, 0, 9), 0);
        assert_eq!(links.take(3, 4, 0, 9), 0);
        assert_eq!(links.take(1, 4, 2, 9), 9);
        assert_eq!(links.take(4, 4, 0, 9), 0);
    }
}
