//! Breadth-first search through every state of a machine.
//!
//! States are visited in the order of their distance from the start, so the first violation found has the shortest sequence of moves. A
//! search that meets its bound says so: it has shown nothing.
//!
//! A state in which something is unanswered or undelivered is a deadlock unless a message can be delivered or time can pass: threads may
//! stop, and lines need not leave, so neither another operation nor an eviction may be what everything waits for.

use chorus_protocol::controller::Passage;
use chorus_protocol::registry::Protocol;

use crate::config::{MachineConfig, Start};
use crate::invariants::{Promised, clean};
use crate::judge::{Judge, provided};
use crate::machine::{Action, Machine};
use crate::state::State;
use crate::state_set::StateSet;
use crate::violation::Violation;

/// How a search ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// Every state was visited and none was wrong.
    Exhausted,
    /// A rule was broken.
    Violated(Failure),
    /// The bound on states was met before the end.
    Bounded,
}

/// A violation and the way to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What is wrong.
    pub violation: Violation,
    /// The state before the last move.
    pub state: u32,
    /// The last move, where the move itself is what is wrong.
    pub last: Option<Action>,
}

/// What to do about outcomes that the model forbids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnForbidden {
    /// They end the search.
    Stop,
    /// They are collected with all others.
    Collect,
}

/// A search, running or ended.
pub struct Exploration {
    machine: Machine,
    seen: StateSet,
    /// For each state, the one it was first reached from and how; starts are their own parents.
    parents: Vec<(u32, Option<Action>)>,
    promised: Promised,
    judge: Judge,
    on_forbidden: OnForbidden,
    transitions: u64,
    depth: u32,
    forbidden: Option<Failure>,
}

/// The most states that a search visits unless told otherwise.
pub const STATE_LIMIT: usize = 20_000_000;

impl Exploration {
    /// A search that has not begun.
    pub fn new(
        protocol: &'static dyn Protocol,
        fault: Option<u8>,
        config: &MachineConfig,
        on_forbidden: OnForbidden,
    ) -> Exploration {
        Exploration {
            machine: Machine::new(protocol, fault, config),
            seen: StateSet::default(),
            parents: Vec::new(),
            promised: Promised::of(protocol.promises()),
            judge: Judge::new(provided(protocol.model(), config)),
            on_forbidden,
            transitions: 0,
            depth: 0,
            forbidden: None,
        }
    }

    /// Visits every state, at most `limit` of them.
    pub fn run(&mut self, limit: usize) -> End {
        match self.search(limit) {
            Ok(true) => self.forbidden.take().map_or(End::Exhausted, End::Violated),
            Ok(false) => End::Bounded,
            Err(failure) => End::Violated(failure),
        }
    }

    /// The machine, with everything that was seen of it.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// The programs that ran and what came of them.
    pub fn judge(&self) -> &Judge {
        &self.judge
    }

    /// States visited.
    pub fn states(&self) -> usize {
        self.seen.len()
    }

    /// Moves made between them.
    pub fn transitions(&self) -> u64 {
        self.transitions
    }

    /// Moves from the start to the farthest state.
    pub fn depth(&self) -> u32 {
        self.depth
    }

    /// The start and the moves that lead to a state.
    pub fn path_to(&self, state: u32) -> (State, Vec<Action>) {
        let (mut number, mut actions) = (state, Vec::new());
        while let (parent, Some(action)) = self.parents[number as usize] {
            actions.push(action);
            number = parent;
        }
        actions.reverse();
        let mut start = State::new();
        self.seen.get(number, &mut start);
        (start, actions)
    }

    /// The machine, to replay a path on.
    pub(crate) fn machine_mut(&mut self) -> &mut Machine {
        &mut self.machine
    }

    fn search(&mut self, limit: usize) -> Result<bool, Failure> {
        self.begin()?;
        let (mut state, mut next) = (State::new(), State::new());
        let (mut progress, mut others) = (Vec::new(), Vec::new());
        let (mut number, mut level_end) = (0, self.seen.len());
        while number < self.seen.len() {
            if self.seen.len() > limit {
                return Ok(false);
            }
            if number == level_end {
                self.depth += 1;
                level_end = self.seen.len();
            }
            let current = number as u32;
            self.seen.get(current, &mut state);
            progress.clear();
            others.clear();
            self.machine.deliveries(&state, &mut progress);
            let idle = self.machine.idle(&state);
            self.machine.issues(&state, if idle { &mut progress } else { &mut others });
            self.machine.evictions(&state, &mut others);
            if self.machine.has_counters() {
                (if idle { &mut others } else { &mut progress }).push(Action::Time(Passage::Tick));
                others.push(Action::Time(Passage::RollOver));
            }
            let mut stuck = !(idle && progress.is_empty());
            for &action in &progress {
                stuck &= !self.visit(current, action, &state, &mut next)?;
            }
            if stuck {
                let violation = Violation::Deadlock(self.machine.waiting(&state));
                return Err(Failure { violation, state: current, last: None });
            }
            for &action in &others {
                self.visit(current, action, &state, &mut next)?;
            }
            number += 1;
        }
        Ok(true)
    }

    fn begin(&mut self) -> Result<(), Failure> {
        let cold = self.machine.cold();
        let failed = |violation| Failure { violation, state: 0, last: None };
        if let Err(violation) = self.machine.complete() {
            self.seen.insert(&cold);
            self.parents.push((0, None));
            return Err(failed(violation));
        }
        self.reach(&cold, 0, None)?;
        if self.machine.config().start == Start::ColdAndWarm {
            let warm = self.machine.warm().map_err(failed)?;
            self.reach(&warm, 0, None)?;
        }
        Ok(())
    }

    /// Tries a move from `state`; whether it was possible.
    fn visit(&mut self, from: u32, action: Action, state: &State, next: &mut State) -> Result<bool, Failure> {
        next.clone_from(state);
        let failed = |violation| Failure { violation, state: from, last: Some(action) };
        if !self.machine.apply(action, next).map_err(failed)? {
            return Ok(false);
        }
        self.transitions += 1;
        self.reach(next, from, Some(action))?;
        Ok(true)
    }

    /// Whether the passing of time changes nothing any more.
    fn settled(&mut self, state: &State) -> Result<bool, Violation> {
        if !self.machine.has_counters() {
            return Ok(true);
        }
        Ok(!self.machine.apply(Action::Time(Passage::Tick), &mut state.clone())?)
    }

    /// Notes a state and, if it is new, checks it.
    fn reach(&mut self, state: &State, from: u32, action: Option<Action>) -> Result<(), Failure> {
        let (number, new) = self.seen.insert(state);
        if !new {
            return Ok(());
        }
        self.parents.push((from, action));
        let failed = |violation| Failure { violation, state: number, last: None };
        self.promised.check(&self.machine, state).map_err(failed)?;
        if !self.machine.idle(state) {
            return Ok(());
        }
        if self.settled(state).map_err(failed)? {
            clean(&self.machine, state).map_err(failed)?;
        }
        match self.judge.judge(&self.machine, state, number).map_err(failed) {
            Err(failure) if self.on_forbidden == OnForbidden::Collect => {
                self.forbidden.get_or_insert(failure);
                Ok(())
            }
            verdict => verdict,
        }
    }
}
