//! The moves from a state, and the states that they lead to.

use std::sync::atomic::{AtomicU32, Ordering};

use chorus_protocol::controller::Passage;

use crate::canonical::{Canonical, Scratch};
use crate::hashing::fingerprint;
use crate::machine::{Action, ExploredMachine, Halt, Unknown};
use crate::progress::MOVES_OF;
use crate::state::State;
use crate::state_set::{Candidate, Lookup, NONE, SHARDS, StateSet, encode, shard_of};

/// The moves that may be possible in a state.
#[derive(Default)]
pub(crate) struct Moves {
    /// Moves of which one must be possible, or the machine is stuck.
    pub progress: Vec<Action>,
    /// Moves that nothing may wait for.
    pub others: Vec<Action>,
    /// Whether nothing is unanswered and nothing is in flight, so that progress needs new operations.
    pub idle: bool,
    /// Whether nothing is left to do.
    pub finished: bool,
}

impl Moves {
    /// Finds the moves of `state`.
    pub fn find(&mut self, machine: &ExploredMachine, state: &State) {
        let Moves { progress, others, idle, finished } = self;
        progress.clear();
        others.clear();
        machine.deliveries(state, progress);
        if let Some(independent) = machine.independent(state, progress) {
            progress.clear();
            progress.push(independent);
            (*idle, *finished) = (false, false);
            return;
        }
        *idle = machine.idle(state);
        machine.issues(state, if *idle { progress } else { others });
        machine.evictions(state, others);
        if machine.has_counters() {
            (if *idle { &mut *others } else { &mut *progress }).push(Action::Time(Passage::Tick));
            others.push(Action::Time(Passage::RollOver));
        }
        *finished = *idle && progress.is_empty();
    }

    /// All moves, in the order in which they are tried.
    pub fn all(&self) -> impl Iterator<Item = Action> {
        self.progress.iter().chain(&self.others).copied()
    }
}

/// The kind of rule that a reached state breaks. The kind that says more about the cause comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fault {
    /// Something waits in it and nothing can move.
    Stuck,
    /// A move from it breaks a rule.
    Move,
    /// A rule is broken in it.
    State,
    /// The memory model forbids what came of the program.
    Values,
}

/// A broken rule and its state. Fewer moves from the start come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Found {
    /// The number of moves from the start.
    pub length: u32,
    pub fault: Fault,
    /// The place of the state among those of its distance.
    pub rank: u64,
    pub state: u32,
}

/// Keeps the first of what was found.
pub(crate) fn keep_first(found: &mut Option<Found>, other: Option<Found>) {
    *found = found.iter().copied().chain(other).min();
}

/// States of one shard that may be new.
#[derive(Default)]
pub(crate) struct Bucket {
    bytes: Vec<u8>,
    entries: Vec<Entry>,
}

/// One state of a bucket.
#[derive(Clone, Copy)]
pub(crate) struct Entry {
    pub fingerprint: u64,
    /// The state from which it was reached.
    pub parent: u32,
    /// Its place among all states of the expansion.
    pub place: u32,
    /// The place among the unforced moves that waits for its number, or none.
    pub unforced: u32,
    /// The end of its bytes in the bucket.
    end: u32,
}

impl Bucket {
    fn push(&mut self, candidate: &Candidate, bytes: &[u8], place: u32) {
        self.bytes.extend_from_slice(bytes);
        let Candidate { fingerprint, parent, unforced, .. } = *candidate;
        self.entries.push(Entry { fingerprint, parent, place, unforced, end: self.bytes.len() as u32 });
    }

    /// Each state with its encoding.
    pub fn entries(&self) -> impl Iterator<Item = (Entry, &[u8])> {
        let mut start = 0;
        self.entries.iter().map(move |&entry| {
            let bytes = &self.bytes[start..entry.end as usize];
            start = entry.end as usize;
            (entry, bytes)
        })
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.entries.clear();
    }
}

/// The states that the moves of some states lead to.
pub(crate) struct Expansion {
    pub buckets: Vec<Bucket>,
    /// The number of states in all buckets.
    pub count: u32,
    pub transitions: u64,
    pub found: Option<Found>,
    /// States, with their ranks, that have a move which needs something unknown.
    pub unfinished: Vec<(u64, u32)>,
    unknown: Vec<Unknown>,
    moves: Moves,
    state: State,
    next: State,
    scratch: Scratch,
    /// The states that moves lead to; their encodings lie in `encoded`.
    reached: Vec<Candidate>,
    encoded: Vec<u8>,
    lookups: Vec<Lookup>,
    bytes: Vec<u8>,
    /// The unforced moves of the states, as [`crate::progress::Unforced`] keeps them.
    unforced: Vec<AtomicU32>,
}

/// The number of lookups that are done together.
const LOOKUPS: usize = 64;

/// The states that a search has seen, and those that it expands.
pub(crate) trait Seen: Sync {
    /// Reads a state back that is to be expanded.
    fn get(&self, number: u32, state: &mut State);

    /// Looks up many states, given with the bytes of their encodings. The number of each, if it was seen, is left in
    /// its lookup.
    fn look_up(&self, candidates: &[Candidate], encoded: &[u8], lookups: &mut Vec<Lookup>);
}

impl Seen for StateSet {
    fn get(&self, number: u32, state: &mut State) {
        StateSet::get(self, number, state);
    }

    fn look_up(&self, candidates: &[Candidate], encoded: &[u8], lookups: &mut Vec<Lookup>) {
        StateSet::look_up(self, candidates, encoded, lookups);
    }
}

/// The parts of a search that moves are made on.
#[derive(Clone, Copy)]
pub(crate) struct Ground<'a> {
    pub machine: &'a ExploredMachine,
    pub canonical: &'a Canonical,
    pub seen: &'a dyn Seen,
    /// Whether unforced moves are noted.
    pub notes: bool,
    /// The number of moves from the start to the states that are expanded.
    pub depth: u32,
}

impl Expansion {
    /// An expansion without states.
    pub fn new() -> Expansion {
        Expansion {
            buckets: (0..SHARDS).map(|_| Bucket::default()).collect(),
            count: 0,
            transitions: 0,
            found: None,
            unfinished: Vec::new(),
            unknown: Vec::new(),
            moves: Moves::default(),
            state: State::new(),
            next: State::new(),
            scratch: Scratch::default(),
            reached: Vec::new(),
            encoded: Vec::new(),
            lookups: Vec::new(),
            bytes: Vec::new(),
            unforced: Vec::new(),
        }
    }

    /// Forgets everything but the allocated memory.
    pub fn clear(&mut self) {
        self.buckets.iter_mut().for_each(Bucket::clear);
        (self.count, self.transitions, self.found) = (0, 0, None);
        self.unfinished.clear();
        self.reached.clear();
        self.encoded.clear();
        self.unforced.clear();
    }

    /// Follows the moves of states that need nothing unknown, and notes the others.
    pub fn expand_known(&mut self, ground: Ground<'_>, states: &[(u64, u32)]) {
        for &(rank, number) in states {
            if !self.expand(ground, rank, number) {
                self.unfinished.push((rank, number));
            }
        }
        self.flush(ground.seen);
    }

    /// The unknown results that the last expanded state needs.
    pub fn unknown(&self) -> &[Unknown] {
        &self.unknown
    }

    /// Follows the moves of a state; if they need something unknown, only notes what.
    pub fn expand(&mut self, ground: Ground<'_>, rank: u64, number: u32) -> bool {
        let Ground { machine, seen, depth, .. } = ground;
        seen.get(number, &mut self.state);
        self.moves.find(machine, &self.state);
        self.unknown.clear();
        let (reached, encoded, unforced) = (self.reached.len(), self.encoded.len(), self.unforced.len());
        let notes = ground.notes && !self.moves.idle;
        if notes {
            self.unforced.push(AtomicU32::new(number | MOVES_OF));
        }
        let (mut stuck, mut wrong) = (!self.moves.finished, false);
        for index in 0..self.moves.progress.len() + self.moves.others.len() {
            let must = self.moves.progress.get(index).copied();
            let action = must.unwrap_or_else(|| self.moves.others[index - self.moves.progress.len()]);
            self.next.clone_from(&self.state);
            let moved = match machine.attempt(action, &mut self.next) {
                Ok(moved) => moved,
                Err(Halt::Wrong(_) | Halt::NoRoom) => {
                    (stuck, wrong) = (false, true);
                    continue;
                }
                Err(Halt::Unknown(unknown)) => {
                    self.unknown.push(unknown);
                    continue;
                }
            };
            if moved {
                stuck &= must.is_none();
                self.reach(ground, number, notes && must.is_some());
            }
        }
        if !self.unknown.is_empty() {
            self.reached.truncate(reached);
            self.encoded.truncate(encoded);
            self.unforced.truncate(unforced);
            return false;
        }
        self.transitions += (self.reached.len() - reached) as u64;
        let fault = |fault, length| Some(Found { length, fault, rank, state: number });
        if stuck {
            keep_first(&mut self.found, fault(Fault::Stuck, depth));
        }
        if wrong {
            keep_first(&mut self.found, fault(Fault::Move, depth + 1));
        }
        if self.reached.len() >= LOOKUPS {
            self.flush(seen);
        }
        true
    }

    /// Takes down the state that a move led to.
    fn reach(&mut self, ground: Ground<'_>, parent: u32, notes: bool) {
        ground.canonical.canonicalise(ground.machine, &mut self.next, &mut self.scratch);
        encode(&self.next, &mut self.bytes);
        let start = self.encoded.len() as u32;
        self.encoded.extend_from_slice(&self.bytes);
        let (fingerprint, end) = (fingerprint(&self.bytes), self.encoded.len() as u32);
        let unforced = if notes { self.unforced.len() as u32 } else { NONE };
        if notes {
            self.unforced.push(AtomicU32::new(NONE));
        }
        self.reached.push(Candidate { fingerprint, start, end, parent, unforced });
    }

    /// Takes over the states reached that have not been seen.
    pub fn flush(&mut self, seen: &dyn Seen) {
        let mut lookups = std::mem::take(&mut self.lookups);
        seen.look_up(&self.reached, &self.encoded, &mut lookups);
        for (candidate, lookup) in self.reached.iter().zip(&lookups) {
            if lookup.number != NONE {
                self.note(candidate.unforced, lookup.number);
                continue;
            }
            let bytes = &self.encoded[candidate.start as usize..candidate.end as usize];
            self.buckets[shard_of(candidate.fingerprint)].push(candidate, bytes, self.count);
            self.count += 1;
        }
        self.lookups = lookups;
        self.reached.clear();
        self.encoded.clear();
    }

    /// Fills in the number of the state that an unforced move leads to. Threads that add new states do so side by side.
    pub fn note(&self, unforced: u32, number: u32) {
        if unforced != NONE {
            self.unforced[unforced as usize].store(number, Ordering::Relaxed);
        }
    }

    /// The unforced moves of all states that were expanded, once every number is filled in.
    pub fn unforced(&self) -> impl ExactSizeIterator<Item = u32> {
        self.unforced.iter().map(|number| number.load(Ordering::Relaxed))
    }
}
