//! The contract between a protocol's controllers and the drivers that run them.
//!
//! A controller is one cache bank. It gets one input at a time and pushes outputs. It draws no random numbers and does
//! not know its driver. Queueing and retrying belong to the driver, and so does time: where a protocol has synchronised
//! counters, the driver says what they show with every input ([`Outbox::now`]) and comes back when it was asked to
//! ([`Outbox::wake_at`]).

use std::fmt;
use std::hash::{Hash, Hasher};

use crate::access::{Completion, CoreRequest, LoadRequest, Txn};
use crate::address::{AgentId, LineAddr, Role};
use crate::line::{ByteMask, LineData};
use crate::message::Message;
use crate::save::{self, Damaged, Reader, Restore, Save};
use crate::sharers::Sharers;
use crate::tally::Tally;

/// One input of a controller.
#[derive(Clone, Copy, Debug)]
pub enum Input<'a, const W: usize> {
    /// An operation of the core beside a private cache.
    Core(&'a CoreRequest<W>),
    /// A message from another agent.
    Message(&'a Message<W>),
    /// The driver takes a line out, because another line needs its place or because an exploration tries it.
    Evict(LineAddr),
    /// The driver takes the entry of a directory out that covers this line. Only controllers that replace entries of a
    /// directory get this.
    EvictEntry(LineAddr),
    /// Time has passed. Only protocols with synchronised counters get this.
    Time(Passage),
}

/// The value of the synchronised counters: core cycles, counted from 1. Zero is before all time.
pub type Time = u64;

/// The number of ticks for which explorations still distinguish timestamps that have passed.
pub const HISTORY: Time = 1;

/// The way in which time has passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Passage {
    /// The moment at which the controller asked to be woken has come.
    Wake,
    /// One tick, as explorations count time. The counters stand still, and every timestamp moves one closer to them
    /// instead. So situations that are equally far ahead are one state and not many. All timestamps that have passed
    /// are alike.
    Tick,
    /// The counters have begun anew at the start of their range.
    RollOver,
}

/// The fate of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The input was consumed.
    Done,
    /// The input was not consumed. It stays at the head of its queue. Nothing changed, except that a controller that
    /// evicts by itself ([`Outbox::evicts`]) may have made room.
    Stall,
    /// The input was not consumed and nothing changed. It needs a place in a full set, and this line is the one to
    /// replace. The driver gives the controller [`Input::Evict`] and tries again. Controllers that evict by themselves
    /// ([`Outbox::evicts`]) never answer this.
    Evict(LineAddr),
    /// The input was not consumed and nothing changed. It needs an entry of a full directory, and the one that covers
    /// this line is to be replaced. The driver gives the controller [`Input::EvictEntry`] and tries again.
    EvictEntry(LineAddr),
}

impl Outcome {
    /// The eviction that has to come before an input that was not consumed.
    pub fn eviction<const W: usize>(self) -> Option<Input<'static, W>> {
        match self {
            Outcome::Evict(line) => Some(Input::Evict(line)),
            Outcome::EvictEntry(line) => Some(Input::EvictEntry(line)),
            Outcome::Done | Outcome::Stall => None,
        }
    }
}

/// A hole in a protocol's table: an input for which the line's state has no transition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Unspecified {
    /// The role of the controller.
    pub role: Role,
    /// The state of the line.
    pub state: &'static str,
    /// The event that has no transition there.
    pub event: &'static str,
    /// The line that the input concerned.
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
#[derive(Clone, Debug, Default, PartialEq, Eq, Save)]
pub struct Outbox<const W: usize> {
    /// Messages in the order in which they were sent.
    pub messages: Vec<Message<W>>,
    /// Operations of the core that have ended.
    pub completions: Vec<Completion<W>>,
    /// The value of the synchronised counters during the step. The driver sets it.
    pub now: Time,
    /// When the controller wants [`Passage::Wake`], or wants an input again that it stalled.
    pub wake: Option<Time>,
    /// Whether the controller itself evicts what occupies the places that its input needs. The driver sets it. Then no
    /// step ends with [`Outcome::Evict`]. If something cannot leave now, the input stalls, and what has left before it
    /// stays away.
    pub evicts: bool,
}

impl<const W: usize> Outbox<W> {
    /// Asks to be woken at `time`, or earlier if an earlier time was asked for already.
    pub fn wake_at(&mut self, time: Time) {
        self.wake = Some(self.wake.map_or(time, |earlier| earlier.min(time)));
    }

    /// Sends a message to another agent.
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

    /// Forgets everything, but keeps the allocated memory.
    pub fn clear(&mut self) {
        self.messages.clear();
        self.completions.clear();
        self.wake = None;
    }
}

/// The kind of a state, after Table 1 of the TC paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StateClass {
    /// A state that is conventionally part of the protocol's name.
    Stable,
    /// A state between stable states that any cache has, such as a miss being served.
    TransientCache,
    /// A state between stable states that is needed only because the caches are coherent.
    TransientCoherent,
}

/// A state of a line, for tables and traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StateSpec {
    /// The paper's name for the state.
    pub name: &'static str,
    /// The class of the state.
    pub class: StateClass,
    /// A description of the state.
    pub meaning: &'static str,
}

impl StateSpec {
    /// A row of a vocabulary.
    pub const fn new(name: &'static str, class: StateClass, meaning: &'static str) -> StateSpec {
        StateSpec { name, class, meaning }
    }
}

/// The names of states and events, which a controller's classifications index.
#[derive(Debug, PartialEq, Eq)]
pub struct Vocabulary {
    /// The role of the controller.
    pub role: Role,
    /// The kind of device that the controller serves, where machines have several kinds. Empty for controllers that are
    /// never beside another kind.
    pub device: &'static str,
    /// The states, which [`Classified::state`] indexes.
    pub states: &'static [StateSpec],
    /// The events, which [`Classified::event`] indexes.
    pub events: &'static [&'static str],
    /// The event that stands for the expiry of a line's lifetime, where states change by themselves.
    pub expiry: Option<u8>,
}

impl Vocabulary {
    /// The hole in row `state` and column `event`.
    #[cold]
    pub fn unspecified(&self, state: usize, event: usize, line: LineAddr) -> Unspecified {
        Unspecified { role: self.role, state: self.states[state].name, event: self.events[event], line }
    }
}

/// The row and column of the protocol's table on which an input falls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Classified {
    /// The line that the input concerns.
    pub line: LineAddr,
    /// The line's state, as an index into [`Vocabulary::states`].
    pub state: u8,
    /// The event, as an index into [`Vocabulary::events`].
    pub event: u8,
}

/// A controller's copy of a line, for invariants and for reading results back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineView<const W: usize> {
    /// The line's state, as an index into [`Vocabulary::states`].
    pub state: u8,
    /// The bytes that a load would be served from this copy.
    pub readable: ByteMask,
    /// The bytes that differ from memory and have to be written back some day.
    pub dirty: ByteMask,
    /// The contents. They are meaningful only for bytes that are `readable` or `dirty`.
    pub data: LineData<W>,
    /// The private caches that this controller believes may hold the line.
    pub sharers: Sharers,
}

/// One cache bank. Its whole state is plain data. `now` is the value of the synchronised counters, for protocols that
/// have them.
pub trait Controller<const W: usize>: PlainState<W> + fmt::Debug + Send + Sync {
    /// The names of the controller's states and events.
    fn vocabulary(&self) -> &'static Vocabulary;

    /// The row and column of the table on which `input` falls, or `None` for inputs that concern no line. The
    /// controller does not change.
    fn classify(&self, input: &Input<'_, W>, now: Time) -> Option<Classified>;

    /// Takes one input, and pushes the messages and completions that follow from it.
    fn step(&mut self, input: &Input<'_, W>, out: &mut Outbox<W>) -> Result<Outcome, Unspecified>;

    /// The line that a load reads, if [`Controller::step`] would complete the load now and do nothing else that shows.
    /// The controller changes as in that step. If the answer is `None`, nothing changes, and the driver gives the load
    /// to `step`.
    fn load_hit(&mut self, _load: &LoadRequest, _now: Time) -> Option<&LineData<W>> {
        None
    }

    /// Asks the host for what a step about `line` will look at ([`prefetch`](crate::prefetch)). Has no effect but on
    /// time.
    fn read_ahead(&self, _line: LineAddr, _depth: Depth) {}

    /// The operation that has waited longest for `line`, where that is quickly found. It serves to read ahead.
    fn waiting(&self, _line: LineAddr) -> Option<Txn> {
        None
    }

    /// The controller's copy of `line`.
    fn view(&self, line: LineAddr, now: Time) -> LineView<W>;

    /// Whether `line` is resident and [`Input::Evict`] could be given for it.
    fn evictable(&self, line: LineAddr, now: Time) -> bool;

    /// Whether an entry of the controller's directory covers `line` and [`Input::EvictEntry`] could be given for it.
    fn entry_evictable(&self, _line: LineAddr) -> bool {
        false
    }

    /// Whether no miss, write or message is outstanding.
    fn quiescent(&self) -> bool;

    /// The position of `bank` among the sharers of this controller's directory. Only controllers whose states are those
    /// of directory entries, and whose [`LineView::sharers`] are positions, have an answer.
    fn position(&self, _bank: AgentId) -> Option<u16> {
        None
    }

    /// The bank whose directory tracks this controller's copy of `line`, where there is such a bank.
    fn tracker(&self, _line: LineAddr) -> Option<AgentId> {
        None
    }

    /// Whether `message`, if taken now, does nothing but change a count that nobody looks at before it is complete.
    /// Then nothing depends on the moment at which it is taken, and explorations take it at once.
    fn only_counts(&self, _message: &Message<W>) -> bool {
        false
    }

    /// The controller's counts, in the order of [`crate::registry::Declaration::tallies`]. Empty where nothing is
    /// counted.
    fn tallies(&self) -> &[Tally] {
        &[]
    }

    /// Visits the lines that hold bytes newer than memory, for reading results back.
    fn dirty_lines(&self, visit: &mut dyn FnMut(LineAddr, ByteMask, &LineData<W>));
}

/// How deep a driver reads ahead: what lies deeper is found in what was read before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// The indices that tell where a line is.
    Index,
    /// The records of the line, and its data.
    Line,
}

/// The abilities that drivers need of a controller beyond its steps: copies, a canonical encoding, and the whole state
/// for a checkpoint. They are implemented for every plain controller.
pub trait PlainState<const W: usize> {
    /// A copy of the controller.
    fn clone_box(&self) -> Box<dyn Controller<W>>;

    /// Appends an encoding of the state. Encodings are equal exactly if the states are equal.
    fn encode(&self, bytes: &mut StateBytes);

    /// Appends the state as it is, with what two equal states may differ in.
    fn keep_state(&self, to: &mut Vec<u8>);

    /// Takes over the state of a controller that was built alike.
    fn restore_state(&mut self, from: &mut Reader<'_>) -> Result<(), Damaged>;
}

impl<const W: usize, C: Controller<W> + Clone + Hash + Restore + 'static> PlainState<W> for C {
    fn clone_box(&self) -> Box<dyn Controller<W>> {
        Box::new(self.clone())
    }

    fn encode(&self, bytes: &mut StateBytes) {
        self.hash(bytes);
    }

    fn keep_state(&self, to: &mut Vec<u8>) {
        self.keep(to);
    }

    fn restore_state(&mut self, from: &mut Reader<'_>) -> Result<(), Damaged> {
        self.restore(from)
    }
}

impl<const W: usize> Restore for Box<dyn Controller<W>> {
    fn keep(&self, to: &mut Vec<u8>) {
        (**self).keep_state(to);
    }

    fn restore(&mut self, from: &mut Reader<'_>) -> Result<(), Damaged> {
        (**self).restore_state(from)
    }
}

impl<const W: usize> Clone for Box<dyn Controller<W>> {
    fn clone(&self) -> Self {
        (**self).clone_box()
    }
}

/// A hasher that keeps the bytes that it is fed. Since `Hash` visits every field, the bytes are an encoding of the
/// state. Small integers take one byte each.
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
