//! Progress: from every state there is a way to rest, and no run goes round in circles for ever.
//!
//! At rest nothing is unanswered and nothing is in flight. Two questions are asked about the unforced moves, those that
//! nobody can refuse to make: messages that arrive, and time that passes. Threads may stop and lines need not leave, so
//! neither may be needed.
//!
//! 1. Does a way to rest exist from every state? If not, the machine works on and gets nowhere.
//! 2. Can these moves form a circle? If they cannot, every run comes to rest, in whatever order messages arrive. If
//!    they can, the circle counts only if it is weakly fair: a message that could arrive all the way round arrives in
//!    it ([`crate::circle`] looks there).
//!
//! A program of finite length never comes back to an earlier point, so the operations of all threads stand still in a
//! circle. Loops of a program are unrolled before they run. A circle is therefore the protocol's own.
//!
//! The questions are asked of the states that a search keeps, once it has found no state that is stuck. A state stands
//! for all its mirror images, and a way or a circle of one is a way or a circle of each. Fairness is judged on a
//! machine without images. A message that only counts is taken at once in a search. A run that leaves it in flight for
//! ever is not fair, and a run that takes it later passes the states that the search kept.
//!
//! A search notes the unforced moves as it makes them. Afterwards states are settled: first those at rest, then those
//! whose moves all lead to settled states. Messages mostly lead away from the start, so one pass from the last state
//! to the first settles most, and a few passes settle all if there is no circle. Only what is left is searched for
//! circles.

use std::collections::BTreeSet;

use crate::components::{Components, Graph};
use crate::state_set::{make_room, place_of};

/// Marks the number of a state whose moves follow.
pub(crate) const MOVES_OF: u32 = 1 << 31;

/// A way in which a machine makes no progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stray {
    /// No way leads from the state to rest.
    Trapped(u32),
    /// The state lies on a circle, fair or not.
    Circle(u32),
}

/// The unforced moves of the states of a search, in the order in which they were expanded. A state that is not here is
/// at rest.
#[derive(Debug, Default)]
pub(crate) struct Unforced {
    /// For each state its number, with [`MOVES_OF`], and then the numbers of the states that its moves lead to.
    moves: Vec<u32>,
}

/// A bit for each state.
struct Unsettled {
    /// The bits of each shard.
    shards: Vec<Vec<u64>>,
}

impl Unsettled {
    fn new(lengths: &[usize]) -> Unsettled {
        Unsettled { shards: lengths.iter().map(|length| vec![0; length.div_ceil(64)]).collect() }
    }

    fn flip(&mut self, number: u32) {
        let (shard, local) = place_of(number);
        self.shards[shard][local / 64] ^= 1 << (local % 64);
    }

    fn has(&self, number: u32) -> bool {
        let (shard, local) = place_of(number);
        self.shards[shard][local / 64] >> (local % 64) & 1 == 1
    }
}

impl Unforced {
    /// Adds states with their moves.
    pub fn extend(&mut self, moves: impl ExactSizeIterator<Item = u32>) {
        make_room(&mut self.moves, moves.len());
        self.moves.extend(moves);
    }

    /// The number of bytes held.
    pub fn bytes(&self) -> usize {
        self.moves.capacity() * size_of::<u32>()
    }

    /// A state without a way to rest, the nearest to the start by `depth`; or else one state of every circle, the
    /// nearest first. `lengths` are the numbers of states in the shards.
    pub fn strays(mut self, lengths: &[usize], depth: impl Fn(u32) -> u32) -> Vec<Stray> {
        self.settle(lengths);
        let (graph, numbers) = self.graph();
        let components = Components::of(&graph);
        let good = components.that_reach(&graph, &[numbers.len() as u32]);
        let bad = numbers.iter().zip(&good).filter(|(_, good)| !**good).map(|(&number, _)| number);
        if let Some(trapped) = bad.min_by_key(|&number| (depth(number), number)) {
            return vec![Stray::Trapped(trapped)];
        }
        let nearest = |circle: Vec<u32>| {
            let numbers = circle.into_iter().map(|node| numbers[node as usize]);
            numbers.map(|number| (depth(number), number)).min()
        };
        let mut circles: Vec<(u32, u32)> = components.circles(&graph).into_iter().filter_map(nearest).collect();
        circles.sort_unstable();
        circles.into_iter().map(|(_, number)| Stray::Circle(number)).collect()
    }

    /// Leaves the states from which a circle can be reached.
    fn settle(&mut self, lengths: &[usize]) {
        let mut unsettled = Unsettled::new(lengths);
        self.moves.iter().filter(|&&number| number & MOVES_OF != 0).for_each(|&state| unsettled.flip(state ^ MOVES_OF));
        loop {
            let before = self.moves.len();
            self.settle_once(&mut unsettled);
            if self.moves.len() == before {
                break;
            }
        }
    }

    /// Takes out every state, from the last to the first, whose moves all lead to settled states.
    fn settle_once(&mut self, unsettled: &mut Unsettled) {
        let (mut kept, mut end) = (self.moves.len(), self.moves.len());
        let mut settled = true;
        for place in (0..self.moves.len()).rev() {
            let number = self.moves[place];
            if number & MOVES_OF == 0 {
                settled &= !unsettled.has(number);
                continue;
            }
            if settled {
                unsettled.flip(number ^ MOVES_OF);
            } else {
                kept -= end - place;
                self.moves.copy_within(place..end, kept);
            }
            (end, settled) = (place, true);
        }
        self.moves.drain(..kept);
    }

    /// The states left with their moves, and the number of each node's state. One more node stands for all settled
    /// states.
    fn graph(&self) -> (Graph, Vec<u32>) {
        let states = self.moves.iter().filter(|&&number| number & MOVES_OF != 0).map(|state| state ^ MOVES_OF);
        let numbers: Vec<u32> = states.collect::<BTreeSet<u32>>().into_iter().collect();
        let node = |number: u32| numbers.binary_search(&number).unwrap_or(numbers.len()) as u32;
        let mut moves: Vec<(u32, Vec<u32>)> = Vec::new();
        for &number in &self.moves {
            match moves.last_mut() {
                Some((_, targets)) if number & MOVES_OF == 0 => targets.push(node(number)),
                _ => moves.push((node(number ^ MOVES_OF), Vec::new())),
            }
        }
        moves.sort_unstable();
        let mut graph = Graph::default();
        moves.iter().for_each(|(_, targets)| graph.extend(&[targets.len() as u32], targets));
        graph.extend(&[0], &[]);
        (graph, numbers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state_set::{SHARDS, number_of};

    fn strays(states: &[(usize, &[usize])]) -> Vec<Stray> {
        let mut unforced = Unforced::default();
        for &(state, targets) in states {
            let numbers =
                std::iter::once(&state).chain(targets).map(|&state| number_of(state % SHARDS, state / SHARDS));
            let mut numbers: Vec<u32> = numbers.collect();
            numbers[0] |= MOVES_OF;
            unforced.extend(numbers.into_iter());
        }
        unforced.strays(&[4; SHARDS], |number| number)
    }

    #[test]
    fn states_without_circles_are_settled_in_any_order() {
        assert_eq!(strays(&[(1, &[2, 3]), (2, &[3]), (3, &[0])]), []);
        assert_eq!(strays(&[(3, &[0]), (2, &[3, 0]), (100, &[2, 3]), (1, &[100])]), []);
    }

    #[test]
    fn a_circle_with_a_way_out_is_named_by_its_nearest_state() {
        assert_eq!(strays(&[(1, &[2]), (2, &[3, 0]), (3, &[2])]), [Stray::Circle(2)]);
        assert_eq!(strays(&[(5, &[5, 0]), (3, &[4, 5]), (4, &[3])]), [Stray::Circle(3), Stray::Circle(5)]);
    }

    #[test]
    fn a_state_without_a_way_to_rest_is_trapped() {
        assert_eq!(strays(&[(1, &[2, 0]), (2, &[3]), (3, &[2])]), [Stray::Trapped(2)]);
    }
}
