//! The contract between a protocol's controllers and the drivers that run them.
//!
//! A controller is one cache bank. It gets one input at a time and pushes outputs; it draws no random numbers and does not know its
//! driver. Queueing and retrying belong to the driver, and so does time: where a protocol has synchronised counters, the driver says
//! what they show with every input ([`Outbox::now`]) and comes back when it was asked to ([`Outbox::wake_at`]).

use std::fmt;
use std::hash::{Hash, Hasher};

use crate::access::{Completion, CoreRequest, Txn};
use crate::address::{AgentId, LineAddr, Role};
use crate::line::{ByteMask, LineData};
use crate::message::Message;
use crate::sharers::Sharers;
use crate::tally::Tally;

/// One input of a controller.
#[derive(Clone, Copy, Debug)]
pub enum Input<'a, const W: usize> {
    /// An operation of the core beside a private cache.
    Core(&'a CoreRequest<W>),
    /// A message from another agent.
    Message(&'a Message<W>),
    /// The driver takes a line out, because another needs its place or because an exploration tries it; or an entry of a directory, which
    /// [`LineAddr::entry`] names.
    Evict(LineAddr),
    /// Time has passed. Only protocols with synchronised counters get this.
    Time(Passage),
}

/// What synchronised counters show: core cycles, from 1 on. Zero is before all time.
pub type Time = u64;

/// How many ticks explorations tell timestamps apart that have passed.
pub const HISTORY: Time = 1;

/// How time has passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Passage {
    /// The moment has come that the controller asked to be woken at.
    Wake,
    /// One tick, as explorations count time: the counters stand still and every timestamp is one closer to them instead, so that
    /// what lies equally far ahead is one state and not many. Timestamps that have passed are all alike.
    Tick,
    /// The counters have begun anew.
    RollOver,
}

/// What became of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Consumed.
    Done,
    /// Not consumed and nothing changed: it stays at the head of its queue.
    Stall,
    /// Not consumed and nothing changed: the input needs a place in a full set, and this line is the one to replace. The driver
    /// gives the controller [`Input::Evict`] and tries again.
    Evict(LineAddr),
}

/// A hole in a protocol's table: an input that its state has no transition for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Unspecified {
    /// The controller's role.
    pub role: Role,
    /// The line's state.
    pub state: &'static str,
    /// The event that has no transition there.
    pub event: &'static str,
    /// The line.
    pub line: LineAddr,
}

impl fmt::Display for Unspecified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Unspecified { role, state, event, line } = self;
        write!(f, "no transition: {} in state {state} got {event} for line {:#x}", role.name(), line.0)
    }
}

impl std::error::Error for Unspecified {}

/// The result of a step: what became of the input, or a hole in the protocol's table.
pub type StepResult = Result<Outcome, Unspecified>;

/// Everything that a step produces, reused from step to step.
#[derive(Clone, Debug, Default)]
pub struct Outbox<const W: usize> {
    /// Messages in the order sent.
    pub messages: Vec<Message<W>>,
    /// Operations of the core that ended.
    pub completions: Vec<Completion<W>>,
    /// What the synchronised counters show during the step; set by the driver.
    pub now: Time,
    /// When the controller wants [`Passage::Wake`], or an input that it stalled again.
    pub wake: Option<Time>,
}

impl<const W: usize> Outbox<W> {
    /// Asks to be woken at `time`, or earlier if something else asked for that.
    pub fn wake_at(&mut self, time: Time) {
        self.wake = Some(self.wake.map_or(time, |earlier| earlier.min(time)));
    }

    /// Sends a message.
    #[inline]
    pub fn send(&mut self, message: Message<W>) {
        self.messages.push(message);
    }

    /// Ends an operation of the core that returns values.
    #[inline]
    pub fn complete(&mut self, txn: Txn, data: &LineData<W>) {
        self.completions.push(Completion { txn, data: *data });
    }

    /// Ends an operation of the core that returns nothing.
    pub fn complete_empty(&mut self, txn: Txn) {
        self.completions.push(Completion { txn, data: LineData::default() });
    }

    /// Forgets everything, keeping the memory.
    pub fn clear(&mut self) {
        self.messages.clear();
        self.completions.clear();
        self.wake = None;
    }
}

/// Which kind of state it is, after Table 1 of the TC paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StateClass {
    /// Conventionally part of the protocol's name.
    Stable,
    /// Between stable states, as any cache has them: a miss being served.
    TransientCache,
    /// Between stable states, needed only because the caches are coherent.
    TransientCoherent,
}

/// A state of a line, for tables and traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StateSpec {
    /// The paper's name.
    pub name: &'static str,
    /// Its class.
    pub class: StateClass,
    /// What it means.
    pub meaning: &'static str,
}

impl StateSpec {
    /// A row of a vocabulary.
    pub const fn new(name: &'static str, class: StateClass, meaning: &'static str) -> StateSpec {
        StateSpec { name, class, meaning }
    }
}

/// The names that a controller's classifications index.
#[derive(Debug, PartialEq, Eq)]
pub struct Vocabulary {
    /// The controller's role.
    pub role: Role,
    /// The kind of device that it serves, where machines have several; empty for controllers that are never beside another kind.
    pub device: &'static str,
    /// States; [`Classified::state`] indexes them.
    pub states: &'static [StateSpec],
    /// Events; [`Classified::event`] indexes them.
    pub events: &'static [&'static str],
    /// The event that stands for the end of a line's time, where states change by themselves.
    pub expiry: Option<u8>,
}

impl Vocabulary {
    /// The hole in row `state` and column `event`.
    pub fn unspecified(&self, state: usize, event: usize, line: LineAddr) -> Unspecified {
        Unspecified { role: self.role, state: self.states[state].name, event: self.events[event], line }
    }
}

/// The row and column of the protocol's table that an input falls on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Classified {
    /// The line concerned.
    pub line: LineAddr,
    /// Index into [`Vocabulary::states`].
    pub state: u8,
    /// Index into [`Vocabulary::events`].
    pub event: u8,
}

/// What a controller holds of a line, for invariants and for reading results back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineView<const W: usize> {
    /// Index into [`Vocabulary::states`].
    pub state: u8,
    /// The bytes that a load would be served from here.
    pub readable: ByteMask,
    /// The bytes that differ from memory and must be written back some day.
    pub dirty: ByteMask,
    /// The contents; meaningful where `readable` or `dirty`.
    pub data: LineData<W>,
    /// The private caches that this controller believes may hold the line.
    pub sharers: Sharers,
}

/// One cache bank. Its whole state is plain data. `now` is what the synchronised counters show, for protocols that have them.
pub trait Controller<const W: usize>: PlainState<W> + fmt::Debug + Send + Sync {
    /// The names of states and events.
    fn vocabulary(&self) -> &'static Vocabulary;

    /// The row and column of the table that `input` falls on, or nothing for inputs that concern no line; changes nothing.
    fn classify(&self, input: &Input<'_, W>, now: Time) -> Option<Classified>;

    /// Takes one input, pushing what follows from it.
    fn step(&mut self, input: &Input<'_, W>, out: &mut Outbox<W>) -> Result<Outcome, Unspecified>;

    /// Takes one input, first taking out whatever has the places that it needs: a line, an entry of a directory, or both. What cannot leave
    /// stalls it.
    fn step_making_room(&mut self, input: &Input<'_, W>, out: &mut Outbox<W>) -> Result<Outcome, Unspecified> {
        loop {
            let outcome = self.step(input, out)?;
            let Outcome::Evict(victim) = outcome else { return Ok(outcome) };
            if self.step(&Input::Evict(victim), out)? != Outcome::Done {
                return Ok(Outcome::Stall);
            }
        }
    }

    /// What is held of `line`.
    fn view(&self, line: LineAddr, now: Time) -> LineView<W>;

    /// Whether `line` is resident and could be given [`Input::Evict`].
    fn evictable(&self, line: LineAddr, now: Time) -> bool;

    /// Whether nothing is outstanding.
    fn quiescent(&self) -> bool;

    /// The position that `bank` has among the sharers of this controller's directory, where states are those of directory entries and
    /// [`LineView::sharers`] are positions.
    fn position(&self, _bank: AgentId) -> Option<u16> {
        None
    }

    /// The bank whose directory tracks the copy that this one may have of `line`, where there is one.
    fn tracker(&self, _line: LineAddr) -> Option<AgentId> {
        None
    }

    /// Whether taking `message` now changes a count that nobody looks at before it is complete, and does nothing else. Then nothing depends on when it is taken,
    /// and explorations take it at once.
    fn only_counts(&self, _message: &Message<W>) -> bool {
        false
    }

    /// What was counted, in the order of [`crate::registry::Declaration::tallies`]; empty where nothing is.
    fn tallies(&self) -> &[Tally] {
        &[]
    }

    /// The lines that hold bytes newer than memory, for reading results back.
    fn dirty_lines(&self, visit: &mut dyn FnMut(LineAddr, ByteMask, &LineData<W>));
}

/// What drivers need of a controller beyond its steps: copies and a canonical encoding. Implemented for every plain controller.
pub trait PlainState<const W: usize> {
    /// A copy.
    fn clone_box(&self) -> Box<dyn Controller<W>>;

    /// Appends an encoding that is equal exactly for equal states.
    fn encode(&self, bytes: &mut StateBytes);
}

impl<const W: usize, C: Controller<W> + Clone + Hash + 'static> PlainState<W> for C {
    fn clone_box(&self) -> Box<dyn Controller<W>> {
        Box::new(self.clone())
    }

    fn encode(&self, bytes: &mut StateBytes) {
        self.hash(bytes);
    }
}

impl<const W: usize> Clone for Box<dyn Controller<W>> {
    fn clone(&self) -> Self {
        (**self).clone_box()
    }
}

/// A hasher that keeps what it is fed: since `Hash` visits every field, the bytes are an encoding of the state, with small
/// integers in one byte each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StateBytes(pub Vec<u8>);

impl StateBytes {
    fn push_integer(&mut self, value: u64) {
        match u8::try_from(value) {
            Ok(byte) if byte < u8::MAX => self.0.push(byte),
            Ok(_) | Err(_) => {
                self.0.push(u8::MAX);
                self.0.extend_from_slice(&value.to_le_bytes());
            }
        }
    }
}

impl Hasher for StateBytes {
    fn finish(&self) -> u64 {
        self.0.len() as u64
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn write_u16(&mut self, value: u16) {
        self.push_integer(u64::from(value));
    }

    fn write_u32(&mut self, value: u32) {
        self.push_integer(u64::from(value));
    }

    fn write_u64(&mut self, value: u64) {
        self.push_integer(value);
    }

    fn write_u128(&mut self, value: u128) {
        self.push_integer(value as u64);
        self.push_integer((value >> 64) as u64);
    }

    fn write_usize(&mut self, value: usize) {
        self.push_integer(value as u64);
    }

    fn write_isize(&mut self, value: isize) {
        self.push_integer(value as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodings_differ_where_values_do() {
        let encode = |value: &(u32, Option<u16>)| {
            let mut bytes = StateBytes::default();
            value.hash(&mut bytes);
            bytes.0
        };
        assert_eq!(encode(&(1, None)), [1, 0]);
        assert_ne!(encode(&(255, None)), encode(&(254, None)));
        assert_ne!(encode(&(1, Some(0))), encode(&(1, None)));
    }
}
