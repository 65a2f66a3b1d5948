//! Progress: from every state there is a way to rest, and no run goes round in circles for ever.
//!
//! At rest nothing is unanswered and nothing is in flight. Two questions are asked about the moves that nobody can
//! refuse to make: messages that arrive, and time that passes. Threads may stop and lines need not leave, so neither
//! may be needed.
//!
//! 1. Does a way to rest exist from every state? If not, the machine works on and gets nowhere.
//! 2. Can these moves form a circle? If they cannot, every run comes to rest, in whatever order messages arrive. If
//!    they can, the circle counts only if it is weakly fair: a message that could arrive all the way round arrives in
//!    it ([`crate::circle`] looks there).
//!
//! A program of finite length never comes back to an earlier point, so the operations of all threads stand still in a
//! circle. Loops of a program are unrolled before they run. A circle is therefore the protocol's own.
//!
//! The questions are asked of the states that a search keeps. A state stands for all its mirror images, and a way or a
//! circle of one is a way or a circle of each. Fairness is judged on a machine without images. A message that only
//! counts is taken at once in a search. A run that leaves it in flight for ever is not fair, and a run that takes it
//! later passes the states that the search kept.

use rayon::iter::{IntoParallelIterator, ParallelIterator};

use crate::canonical::{Canonical, Scratch};
use crate::components::{Components, Graph};
use crate::expand::Moves;
use crate::hashing::fingerprint;
use crate::machine::ExploredMachine;
use crate::state::State;
use crate::state_set::{SHARDS, StateSet, encode, number_of, place_of};

/// A way in which a machine makes no progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stray {
    /// No way leads from the state to rest.
    Trapped(u32),
    /// The state lies on a circle, fair or not.
    Circle(u32),
}

/// The states of a search, joined by the moves that nobody can refuse to make.
pub(crate) struct Unforced<'a> {
    machine: &'a ExploredMachine,
    canonical: &'a Canonical,
    seen: &'a StateSet,
    /// The number of states in the shards before each shard.
    first: Vec<usize>,
}

/// The moves of the states of one shard.
#[derive(Default)]
struct ShardMoves {
    /// The number of moves of each state.
    counts: Vec<u32>,
    targets: Vec<u32>,
    /// The states at rest.
    resting: Vec<u32>,
}

impl<'a> Unforced<'a> {
    /// The states of a search that is complete.
    pub fn new(machine: &'a ExploredMachine, canonical: &'a Canonical, seen: &'a StateSet) -> Unforced<'a> {
        let mut first = vec![0];
        seen.lengths().iter().for_each(|length| first.push(first[first.len() - 1] + length));
        Unforced { machine, canonical, seen, first }
    }

    /// A state without a way to rest, the nearest to the start by `depth`; or else one state of every circle, the
    /// nearest first.
    pub fn strays(&self, depth: impl Fn(u32) -> u32) -> Vec<Stray> {
        let (graph, resting) = self.graph();
        let components = Components::of(&graph);
        let good = components.that_reach(&graph, &resting);
        let bad = (0..graph.len()).filter(|&state| !good[state]).map(|state| self.number(state));
        if let Some(trapped) = bad.min_by_key(|&number| (depth(number), number)) {
            return vec![Stray::Trapped(trapped)];
        }
        let nearest = |circle: Vec<u32>| {
            let numbers = circle.into_iter().map(|state| self.number(state as usize));
            numbers.map(|number| (depth(number), number)).min()
        };
        let mut circles: Vec<(u32, u32)> = components.circles(&graph).into_iter().filter_map(nearest).collect();
        circles.sort_unstable();
        circles.into_iter().map(|(_, number)| Stray::Circle(number)).collect()
    }

    fn dense(&self, number: u32) -> u32 {
        let (shard, local) = place_of(number);
        (self.first[shard] + local) as u32
    }

    fn number(&self, dense: usize) -> u32 {
        let shard = self.first.partition_point(|&first| first <= dense) - 1;
        number_of(shard, dense - self.first[shard])
    }

    /// All moves, and the states at rest.
    fn graph(&self) -> (Graph, Vec<u32>) {
        let shards: Vec<ShardMoves> = (0..SHARDS).into_par_iter().map(|shard| self.shard(shard)).collect();
        let (mut graph, mut resting) = (Graph::default(), Vec::new());
        for moves in &shards {
            graph.extend(&moves.counts, &moves.targets);
            resting.extend_from_slice(&moves.resting);
        }
        (graph, resting)
    }

    fn shard(&self, shard: usize) -> ShardMoves {
        let mut found = ShardMoves::default();
        let (mut state, mut next, mut bytes) = (State::new(), State::new(), Vec::new());
        let (mut moves, mut scratch) = (Moves::default(), Scratch::default());
        for local in 0..self.first[shard + 1] - self.first[shard] {
            let number = number_of(shard, local);
            self.seen.get(number, &mut state);
            let before = found.targets.len();
            if self.machine.idle(&state) {
                found.resting.push(self.dense(number));
            } else {
                moves.find(self.machine, &state);
                for &action in &moves.progress {
                    next.clone_from(&state);
                    if self.machine.attempt(action, &mut next) != Ok(true) {
                        continue;
                    }
                    self.canonical.canonicalise(self.machine, &mut next, &mut scratch);
                    encode(&next, &mut bytes);
                    let target = self.seen.find(fingerprint(&bytes), &bytes);
                    found.targets.extend(target.map(|target| self.dense(target)));
                }
            }
            found.counts.push((found.targets.len() - before) as u32);
        }
        found
    }
}
