//! The event wheel: events by time, in a fixed order.
//!
//! A ring of buckets, one per tick, holds the near future. A heap holds the rest. Events of one tick come out in the
//! order in which they went in, whichever of the two they waited in.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::clock::Ticks;

/// Ticks that the ring covers: longer than all but the longest waits, so that the heap is used rarely, and short enough
/// for a host's first-level cache.
const RING: usize = 1024;
/// Words of one bit for each tick of the ring.
const WORDS: usize = RING / 64;
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct Node<E> {
    event: E,
    next: u32,
}

#[derive(Clone, Copy)]
struct Bucket {
    first: u32,
    last: u32,
}

const EMPTY: Bucket = Bucket { first: NONE, last: NONE };

/// Events of type `E`, ordered by time and then by insertion.
pub struct Wheel<E> {
    now: Ticks,
    buckets: Box<[Bucket; RING]>,
    /// Ticks with events, one bit each.
    occupied: [u64; WORDS],
    /// Words of `occupied` that are not zero, one bit each.
    occupied_words: u16,
    nodes: Vec<Node<E>>,
    free: u32,
    far: BinaryHeap<Reverse<(Ticks, u64, u32)>>,
    far_inserted: u64,
}

impl<E: Copy> Default for Wheel<E> {
    fn default() -> Self {
        Wheel {
            now: 0,
            buckets: Box::new([EMPTY; RING]),
            occupied: [0; WORDS],
            occupied_words: 0,
            nodes: Vec::new(),
            free: NONE,
            far: BinaryHeap::new(),
            far_inserted: 0,
        }
    }
}

impl<E: Copy> Wheel<E> {
    /// The time of the event that came out last.
    pub fn now(&self) -> Ticks {
        self.now
    }

    /// Puts an event in at `time`, which must not be past.
    #[inline]
    pub fn schedule(&mut self, time: Ticks, event: E) {
        debug_assert!(time >= self.now, "an event in the past");
        let node = self.new_node(event);
        if time - self.now < RING as Ticks {
            self.append(time, node);
        } else {
            self.schedule_far(time, node);
        }
    }

    #[cold]
    fn schedule_far(&mut self, time: Ticks, node: u32) {
        self.far.push(Reverse((time, self.far_inserted, node)));
        self.far_inserted += 1;
    }

    /// Takes the next event out and moves time to it.
    #[inline]
    pub fn pop(&mut self) -> Option<E> {
        let mut position = self.now as usize % RING;
        if self.buckets[position].first == NONE {
            self.advance()?;
            position = self.now as usize % RING;
        }
        let bucket = &mut self.buckets[position];
        let first = bucket.first;
        let node = &mut self.nodes[first as usize];
        bucket.first = node.next;
        if node.next == NONE {
            let word = &mut self.occupied[position / 64];
            *word &= !(1 << (position % 64));
            self.occupied_words &= !(u16::from(*word == 0) << (position / 64));
        }
        node.next = self.free;
        self.free = first;
        Some(node.event)
    }

    /// Moves time to the next event, and far events that have come within reach into the ring.
    #[inline(never)]
    fn advance(&mut self) -> Option<()> {
        let near = self.next_occupied();
        let far = self.far.peek().map(|Reverse((time, ..))| *time);
        self.now = match (near, far) {
            (Some(near), Some(far)) => near.min(far),
            (Some(time), None) | (None, Some(time)) => time,
            (None, None) => return None,
        };
        while let Some(&Reverse((time, _, node))) = self.far.peek()
            && time - self.now < RING as Ticks
        {
            self.far.pop();
            self.append(time, node);
        }
        Some(())
    }

    /// The time of the first event in the ring after now.
    fn next_occupied(&self) -> Option<Ticks> {
        let start = self.now as usize % RING;
        let here = self.occupied[start / 64] >> (start % 64);
        if here != 0 {
            return Some(self.now + Ticks::from(here.trailing_zeros()));
        }
        // The words after this one, around to what lies before now in this one.
        let first = start / 64 + 1;
        let others = self.occupied_words.rotate_right(first as u32);
        if others == 0 {
            return None;
        }
        let word = (first + others.trailing_zeros() as usize) % WORDS;
        let position = word * 64 + self.occupied[word].trailing_zeros() as usize;
        Some(self.now + ((position + RING - start) % RING) as Ticks)
    }

    #[inline]
    fn append(&mut self, time: Ticks, node: u32) {
        let position = time as usize % RING;
        let bucket = &mut self.buckets[position];
        let last = std::mem::replace(&mut bucket.last, node);
        if bucket.first == NONE {
            bucket.first = node;
            self.occupied[position / 64] |= 1 << (position % 64);
            self.occupied_words |= 1 << (position / 64);
        } else {
            self.nodes[last as usize].next = node;
        }
    }

    /// A node that is the last of its bucket.
    #[inline]
    fn new_node(&mut self, event: E) -> u32 {
        let name = self.free;
        let Some(node) = self.nodes.get_mut(name as usize) else { return self.grow(event) };
        self.free = node.next;
        *node = Node { event, next: NONE };
        name
    }

    #[cold]
    fn grow(&mut self, event: E) -> u32 {
        self.nodes.push(Node { event, next: NONE });
        self.nodes.len() as u32 - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drain(wheel: &mut Wheel<u32>) -> Vec<(Ticks, u32)> {
        std::iter::from_fn(|| wheel.pop().map(|event| (wheel.now(), event))).collect()
    }

    #[test]
    fn events_come_out_by_time_and_then_in_the_order_they_went_in() {
        let mut wheel = Wheel::default();
        for (time, event) in [(5, 1), (3, 2), (5, 3), (0, 4)] {
            wheel.schedule(time, event);
        }
        assert_eq!(drain(&mut wheel), [(0, 4), (3, 2), (5, 1), (5, 3)]);
    }

    #[test]
    fn far_events_keep_their_place_before_later_insertions_of_the_same_tick() {
        let mut wheel = Wheel::default();
        wheel.schedule(10_000, 1);
        wheel.schedule(9_000, 2);
        assert_eq!(wheel.pop(), Some(2));
        wheel.schedule(10_000, 3);
        assert_eq!(drain(&mut wheel), [(10_000, 1), (10_000, 3)]);
    }

    #[test]
    fn order_equals_that_of_a_sorted_list_for_many_random_events() {
        let mut wheel = Wheel::default();
        let mut expected = Vec::new();
        let mut random = 1u64;
        for event in 0..5_000u32 {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let time = (random >> 33) % 20_000;
            wheel.schedule(time, event);
            expected.push((time, event));
        }
        expected.sort();
        assert_eq!(drain(&mut wheel), expected);
    }
}
