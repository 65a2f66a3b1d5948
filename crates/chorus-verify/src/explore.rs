//! Breadth-first search through every state of a machine.
//!
//! States are visited in the order of their distance from the start, so the first violation found has the shortest
//! sequence of moves. A search that meets its bound says so: it has shown nothing.
//!
//! A state in which something is unanswered or undelivered is a deadlock unless a message can be delivered or time can
//! pass. Threads may stop and lines need not leave, so nothing may wait for another operation or for an eviction.
//!
//! All cores take part. The states of one distance are expanded side by side on a machine that nobody changes. States
//! that need a step which was never run wait until it was run, one after the other in their order. The states reached
//! are then added to the shards of the set side by side, in an order that does not depend on who found them first. So
//! everything that a search finds and counts is the same for any number of threads.

use std::sync::atomic::{AtomicU32, Ordering};

use chorus_protocol::registry::Protocol;
use rayon::iter::{IndexedParallelIterator, IntoParallelRefMutIterator, ParallelIterator};

use crate::batch::{Asymmetric, BATCH, Batch, expand_batch, symmetric};
use crate::canonical::{Canonical, Scratch};
use crate::circle::Circle;
use crate::claims::false_claim;
use crate::config::{MachineConfig, Start};
use crate::examine::{examine, examine_known, examine_new};
use crate::expand::{Entry, Expansion, Fault, Found, Moves, keep_first};
use crate::hashing::fingerprint;
use crate::invariants::Promised;
use crate::judge::{Judge, provided};
use crate::machine::{Action, ExploredMachine};
use crate::networks::Networks;
use crate::progress::{Stray, Unforced};
use crate::settings::{Bound, Reduction, Settings, Storage};
use crate::state::State;
use crate::state_set::{NONE, Shard, StateSet, decode, encode, number_of, place_of, shard_of};
use crate::symmetry::Group;
use crate::violation::Violation;

pub use crate::settings::STATE_LIMIT;

/// How a search ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// Every state was visited and none was wrong.
    Exhausted,
    /// A rule was broken.
    Violated(Failure),
    /// A bound was met before the end.
    Bounded(Bound),
}

/// A violation and the state that shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The rule that was broken.
    pub violation: Violation,
    /// The state before the last move.
    pub state: u32,
    /// The moves after [`Exploration::path_to`] that state: the one that breaks the rule, or the way into a circle.
    pub last: Vec<Action>,
    /// The moves of a circle that can go on for ever, where that is the violation.
    pub circle: Vec<Action>,
}

/// The treatment of outcomes that the model forbids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnForbidden {
    /// A forbidden outcome ends the search.
    Stop,
    /// Forbidden outcomes are collected with all others.
    Collect,
}

/// A search, running or ended.
pub struct Exploration {
    fault: Option<u8>,
    machine: ExploredMachine,
    canonical: Canonical,
    seen: StateSet,
    unforced: Unforced,
    /// The states from which the machine starts.
    starts: Vec<State>,
    promised: Promised,
    judge: Judge,
    on_forbidden: OnForbidden,
    transitions: u64,
    depth: u32,
    /// The number of states in each shard up to each distance from the start.
    levels: Vec<Vec<usize>>,
    /// The first forbidden outcome, where outcomes are collected.
    forbidden: Option<Found>,
    found: Option<Found>,
    /// Number of symmetries of the configuration, whether the protocol keeps them or not.
    symmetries: usize,
}

/// Why a search stopped before its end.
enum Stop {
    Bound(Bound),
    /// The protocol does not keep some of the symmetries.
    Asymmetric,
    /// Something is wrong before the first move.
    Begin(Violation),
}

impl From<Asymmetric> for Stop {
    fn from(_: Asymmetric) -> Stop {
        Stop::Asymmetric
    }
}

/// The result of adding states to one shard.
#[derive(Default)]
struct Added {
    found: Option<Found>,
    /// The states, with their ranks, whose check needs something unknown.
    deferred: Vec<(u64, u32)>,
}

impl Exploration {
    /// A search that has not begun.
    pub fn new(
        protocol: &'static dyn Protocol,
        fault: Option<u8>,
        config: &MachineConfig,
        on_forbidden: OnForbidden,
    ) -> Exploration {
        let machine = ExploredMachine::new(protocol, fault, config);
        Exploration {
            fault,
            canonical: Canonical::of(&machine),
            machine,
            seen: StateSet::new(Storage::Exact),
            unforced: Unforced::default(),
            starts: Vec::new(),
            promised: Promised::of(protocol.promises()),
            judge: Judge::new(provided(protocol.model(), config)),
            on_forbidden,
            transitions: 0,
            depth: 0,
            levels: Vec::new(),
            forbidden: None,
            found: None,
            symmetries: 1,
        }
    }

    /// Visits every state that the settings allow.
    pub fn run(&mut self, settings: &Settings) -> End {
        let pool =
            settings.threads.and_then(|threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().ok());
        match pool {
            Some(pool) => pool.install(|| self.run_here(settings)),
            None => self.run_here(settings),
        }
    }

    fn run_here(&mut self, settings: &Settings) -> End {
        let mut group = match settings.reduction {
            Reduction::Full => Some(Group::of_config(self.machine.config())),
            Reduction::None => None,
        };
        let symmetries = group.as_ref().map_or(1, Group::order);
        loop {
            self.begin_anew(settings, group.clone());
            self.symmetries = symmetries;
            let stop = self.search(settings).err();
            return match stop {
                Some(Stop::Bound(bound)) => End::Bounded(bound),
                Some(Stop::Begin(violation)) => {
                    End::Violated(Failure { violation, state: 0, last: Vec::new(), circle: Vec::new() })
                }
                Some(Stop::Asymmetric) => {
                    group = group.map(|group| group.without(self.machine.mirrors.broken()));
                    continue;
                }
                None => match self.found.or(self.forbidden) {
                    Some(found) => End::Violated(self.failure(found)),
                    None => match self.false_claim().or_else(|| self.livelock()) {
                        Some(failure) => End::Violated(failure),
                        None => End::Exhausted,
                    },
                },
            };
        }
    }

    fn begin_anew(&mut self, settings: &Settings, group: Option<Group>) {
        let (protocol, config) = (self.machine.protocol(), self.machine.config().clone());
        *self = Exploration::new(protocol, self.fault, &config, self.on_forbidden);
        self.seen = StateSet::new(settings.storage);
        self.machine.orders = settings.orders;
        if let Some(group) = group {
            self.machine.mirror(group);
            self.canonical = Canonical::of(&self.machine);
        }
    }

    /// The machine with everything that was seen of it.
    pub fn machine(&self) -> &ExploredMachine {
        &self.machine
    }

    /// The programs that ran, with their outcomes.
    pub fn judge(&self) -> &Judge {
        &self.judge
    }

    /// The number of states visited.
    pub fn states(&self) -> usize {
        self.seen.len()
    }

    /// The bytes held for all states: their encodings or fingerprints, the index and their parents.
    pub fn bytes(&self) -> usize {
        self.seen.bytes()
    }

    /// The number of moves between states.
    pub fn transitions(&self) -> u64 {
        self.transitions
    }

    /// The number of moves from the start to the farthest state.
    pub fn depth(&self) -> u32 {
        self.depth
    }

    /// The number of symmetries that the configuration has and the protocol keeps: each state stands for up to as many.
    pub fn symmetry(&self) -> usize {
        self.canonical.order()
    }

    /// The number of symmetries of the configuration, whether the protocol keeps them or not.
    pub fn configuration_symmetry(&self) -> usize {
        self.symmetries
    }

    /// The machine, on which a path can be replayed.
    pub(crate) fn machine_mut(&mut self) -> &mut ExploredMachine {
        &mut self.machine
    }

    /// Whether there is a state to begin with. A rule that breaks earlier breaks while caches are warmed.
    pub fn has_begun(&self) -> bool {
        !self.starts.is_empty()
    }

    /// The start and the moves that lead to a state, or to one of its mirror images. The moves are those of a machine
    /// that counts no images: mirror images are followed back from move to move.
    pub fn path_to(&self, state: u32) -> (State, Vec<Action>) {
        let (start, actions, _) = self.follow(state);
        (start, actions)
    }

    /// The start, the moves that lead to a state, and the state at their end.
    fn follow(&self, number: u32) -> (State, Vec<Action>, State) {
        let mut numbers = vec![number];
        let mut first = number;
        while !self.seen.is_empty() && self.seen.parent(first) != first {
            first = self.seen.parent(first);
            numbers.push(first);
        }
        let start = self.starts.iter().find(|start| self.number_of(start) == Some(first));
        let start = start.cloned().unwrap_or_else(|| self.machine.cold());
        let (mut state, mut actions, mut moves) = (start.clone(), Vec::new(), Moves::default());
        for &number in numbers.iter().rev().skip(1) {
            moves.find(&self.machine, &state);
            let leads = |action: &Action| {
                let mut next = state.clone();
                let moved = self.machine.attempt(*action, &mut next) == Ok(true);
                (moved && self.number_of(&next) == Some(number)).then_some(next)
            };
            let Some((action, next)) = moves.all().find_map(|action| Some((action, leads(&action)?))) else { break };
            actions.push(action);
            state = next;
        }
        (start, actions, state)
    }

    /// The number of the state that stands for all images of a state.
    fn number_of(&self, state: &State) -> Option<u32> {
        let (mut state, mut bytes) = (state.clone(), Vec::new());
        self.canonical.canonicalise(&self.machine, &mut state, &mut Scratch::default());
        encode(&state, &mut bytes);
        self.seen.find(fingerprint(&bytes), &bytes)
    }

    /// The failure as it shows at the end of its path.
    fn failure(&mut self, found: Found) -> Failure {
        let (.., state) = self.follow(found.state);
        explained(&mut self.machine, self.promised, &mut self.judge, found, &state)
    }

    /// The number of moves from the start to a state.
    fn depth_of(&self, number: u32) -> u32 {
        let (shard, local) = place_of(number);
        self.levels.partition_point(|lengths| lengths[shard] <= local) as u32
    }

    /// A claim of a controller that is not true, if there is one. No path shows it: both orders of two inputs do. Where
    /// states are let go, nothing is looked for.
    fn false_claim(&mut self) -> Option<Failure> {
        if !self.seen.keeps_states() {
            return None;
        }
        let start = self.number_of(self.starts.first()?)?;
        let violation = false_claim(&mut self.machine, &self.seen)?;
        Some(Failure { violation, state: start, last: Vec::new(), circle: Vec::new() })
    }

    /// A run that never comes to rest, if the machine has one. Where states are let go, nothing is looked for.
    fn livelock(&mut self) -> Option<Failure> {
        if !self.looks_for_livelock() {
            return None;
        }
        let unforced = std::mem::take(&mut self.unforced);
        let strays = unforced.strays(&self.seen.lengths(), |number| self.depth_of(number));
        strays.into_iter().find_map(|stray| {
            let (Stray::Trapped(number) | Stray::Circle(number)) = stray;
            let (.., mut state) = self.follow(number);
            let circle = Circle::behind(&self.machine, &state)?;
            circle.way.iter().for_each(|&action| drop(self.machine.attempt(action, &mut state)));
            let violation = Violation::Livelock(self.machine.waiting(&state));
            Some(Failure { violation, state: number, last: circle.way, circle: circle.moves })
        })
    }

    /// Whether every state is kept, on networks that hold everything, so that livelock can be looked for.
    pub fn looks_for_livelock(&self) -> bool {
        self.seen.keeps_states() && self.machine.config().networks == Networks::Unbounded
    }

    fn search(&mut self, settings: &Settings) -> Result<(), Stop> {
        let byte_limit = settings.byte_limit();
        let mut expansions: Vec<Expansion> = Vec::new();
        let mut level = self.begin()?;
        while !level.is_empty() && self.found.is_none() {
            let (expanded, mut next) = (self.seen.lengths(), Vec::new());
            self.levels.push(expanded.clone());
            for batch in level.chunks(BATCH) {
                self.bounded(settings, byte_limit)?;
                self.expand(batch, &mut expansions)?;
                self.add(&expansions, &mut next)?;
            }
            self.seen.forget_before(&expanded);
            self.depth += u32::from(!next.is_empty());
            level = next;
        }
        Ok(())
    }

    fn bounded(&self, settings: &Settings, byte_limit: usize) -> Result<(), Stop> {
        settings.stopped().map_err(Stop::Bound)?;
        if self.seen.len() > settings.states {
            return Err(Stop::Bound(Bound::States(settings.states)));
        }
        let bytes = self.seen.bytes() + self.unforced.bytes();
        if bytes > byte_limit || !self.seen.has_room() {
            return Err(Stop::Bound(Bound::Bytes(bytes.min(byte_limit))));
        }
        Ok(())
    }

    /// Adds the starts: the first level.
    fn begin(&mut self) -> Result<Vec<(u64, u32)>, Stop> {
        self.machine.complete().map_err(Stop::Begin)?;
        let mut starts = vec![self.machine.cold()];
        if self.machine.config().start == Start::ColdAndWarm {
            starts.push(self.machine.warm().map_err(Stop::Begin)?);
        }
        self.starts.clone_from(&starts);
        symmetric(&self.machine)?;
        let mut level = Vec::new();
        for (start, rank) in starts.iter().zip(0..) {
            let (mut state, mut bytes) = (start.clone(), Vec::new());
            self.canonical.canonicalise(&self.machine, &mut state, &mut Scratch::default());
            encode(&state, &mut bytes);
            let fingerprint = fingerprint(&bytes);
            let shard = shard_of(fingerprint);
            let number = number_of(shard, self.seen.shards_mut()[shard].len());
            if self.seen.shards_mut()[shard].insert(fingerprint, &bytes, number).is_some_and(|inserted| inserted.new) {
                self.check_new(rank, number)?;
                level.push((rank, number));
            }
        }
        Ok(level)
    }

    /// Follows the moves of a batch of states.
    fn expand(&mut self, batch: &[(u64, u32)], expansions: &mut Vec<Expansion>) -> Result<(), Stop> {
        let batch = Batch { seen: &self.seen, notes: self.looks_for_livelock(), depth: self.depth, states: batch };
        expand_batch(&mut self.machine, &self.canonical, batch, expansions)?;
        for expansion in expansions {
            self.transitions += expansion.transitions;
            keep_first(&mut self.found, expansion.found);
        }
        Ok(())
    }

    /// Adds the reached states to the set, checks the new ones, and appends them to the next level.
    fn add(&mut self, expansions: &[Expansion], next: &mut Vec<(u64, u32)>) -> Result<(), Stop> {
        let Exploration { machine, seen, judge, promised, depth, .. } = self;
        let first_rank = next.last().map_or(0, |(rank, _)| rank + 1);
        let count: usize = expansions.iter().map(|expansion| expansion.count as usize).sum();
        let mut ranked = Vec::new();
        ranked.resize_with(count, || AtomicU32::new(NONE));
        let checker = Checker { machine, judge, promised: *promised, length: *depth + 1, first_rank, ranked: &ranked };
        let shards = seen.shards_mut();
        let mut added: Vec<Added> = Vec::new();
        let add = |(shard, states): (usize, &mut Shard)| checker.add(shard, states, expansions);
        if expansions.len() == 1 {
            added.extend(shards.iter_mut().enumerate().map(add));
        } else {
            shards.par_iter_mut().enumerate().map(add).collect_into_vec(&mut added);
        }
        let new = (first_rank..).zip(ranked.into_iter().map(AtomicU32::into_inner));
        next.extend(new.filter(|(_, number)| *number != NONE));
        expansions.iter().for_each(|expansion| self.unforced.extend(expansion.unforced()));
        added.iter().for_each(|added| keep_first(&mut self.found, added.found));
        let mut deferred: Vec<(u64, u32)> = added.into_iter().flat_map(|added| added.deferred).collect();
        deferred.sort_unstable();
        deferred.into_iter().try_for_each(|(rank, number)| self.check_new(rank, number))
    }

    /// Checks a new state, running every unknown step that the check needs.
    fn check_new(&mut self, rank: u64, number: u32) -> Result<(), Stop> {
        let mut state = State::new();
        self.seen.get(number, &mut state);
        let length = if self.starts.is_empty() { 0 } else { self.depth + 1 };
        let found = |fault| Some(Found { length, fault, rank, state: number });
        let Exploration { machine, canonical, promised, judge, .. } = self;
        let broken = examine_new(machine, canonical, *promised, judge, &state, number);
        if broken.values {
            match self.on_forbidden {
                OnForbidden::Stop => keep_first(&mut self.found, found(Fault::Values)),
                OnForbidden::Collect => keep_first(&mut self.forbidden, found(Fault::Values)),
            }
        }
        if broken.state {
            keep_first(&mut self.found, found(Fault::State));
        }
        Ok(symmetric(&self.machine)?)
    }
}

/// Checks new states as far as all steps that a check needs are known.
struct Checker<'a> {
    machine: &'a ExploredMachine,
    judge: &'a Judge,
    promised: Promised,
    length: u32,
    /// The rank of the first state that is added.
    first_rank: u64,
    /// The numbers of the new states at their ranks, from the first on.
    ranked: &'a [AtomicU32],
}

impl Checker<'_> {
    /// Adds to one shard.
    fn add(&self, shard: usize, states: &mut Shard, expansions: &[Expansion]) -> Added {
        let (mut added, mut state, mut execution) = (Added::default(), State::new(), Vec::new());
        let mut first = 0;
        for expansion in expansions {
            for (Entry { fingerprint, parent, place, unforced, .. }, bytes) in expansion.buckets[shard].entries() {
                let Some(inserted) = states.insert(fingerprint, bytes, parent) else { continue };
                let number = number_of(shard, inserted.local);
                expansion.note(unforced, number);
                if !inserted.new {
                    continue;
                }
                decode(bytes, &mut state);
                let index = first + place as usize;
                self.ranked[index].store(number, Ordering::Relaxed);
                let rank = self.first_rank + index as u64;
                match examine_known(self.machine, self.promised, self.judge, &state, &mut execution) {
                    Some(true) => {}
                    Some(false) => {
                        let found = Found { length: self.length, fault: Fault::State, rank, state: number };
                        keep_first(&mut added.found, Some(found));
                    }
                    None => added.deferred.push((rank, number)),
                }
            }
            first += expansion.count as usize;
        }
        added
    }
}

/// The failure that was found, as it shows in its state. For a move that breaks a rule, that is the state before it.
pub(crate) fn explained(
    machine: &mut ExploredMachine,
    promised: Promised,
    judge: &mut Judge,
    found: Found,
    state: &State,
) -> Failure {
    let failure = |violation, last: Option<Action>| Failure {
        violation,
        state: found.state,
        last: last.into_iter().collect(),
        circle: Vec::new(),
    };
    let stuck = Violation::Deadlock(machine.waiting(state));
    match found.fault {
        Fault::Stuck => failure(stuck, None),
        Fault::State | Fault::Values => {
            let broken = examine(machine, promised, judge, state, found.state).err();
            failure(broken.unwrap_or(stuck), None)
        }
        Fault::Move => {
            let mut moves = Moves::default();
            moves.find(machine, state);
            let mut wrong = moves.all().filter_map(|action| {
                let violation = machine.apply(action, &mut state.clone()).err()?;
                Some((violation, action))
            });
            let wrong = wrong.next();
            wrong.map_or_else(|| failure(stuck, None), |(violation, action)| failure(violation, Some(action)))
        }
    }
}
