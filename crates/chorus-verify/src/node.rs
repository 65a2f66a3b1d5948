//! Controllers' states, messages and steps, each stored once.
//!
//! Two states of the machine mostly differ in one controller, and a controller mostly gets inputs that it has had
//! before in the same state. So a controller's state is stored once and named by a number, equal numbers exactly for
//! equal encodings, and each step is run once and remembered. A state of the whole machine is then a short sequence of
//! numbers.

use std::hash::BuildHasher;

use chorus_protocol::access::{Completion, CoreRequest};
use chorus_protocol::address::LineAddr;
use chorus_protocol::controller::{
    Controller, HISTORY, Input, LineView, Outbox, Outcome, Passage, PlainState, StateBytes, Time, Unspecified,
};
use chorus_protocol::line::ByteMask;
use chorus_protocol::message::Message;

use crate::hashing::FastMap;
use crate::program::WORDS;

/// The time that synchronised counters show, always: explorations move timestamps instead of time.
pub const NOW: Time = 100;

/// A timestamp that passed long ago.
const PASSED: Time = 1;

/// The line or directory entry that an eviction takes out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Victim {
    /// A line of a cache.
    Line(u8),
    /// The directory entry that covers a line.
    Entry(u8),
}

impl Victim {
    /// The victim that a controller wants to be evicted before it takes an input.
    pub fn of(outcome: Outcome) -> Option<Victim> {
        match outcome {
            Outcome::Evict(line) => Some(Victim::Line(line.0 as u8)),
            Outcome::EvictEntry(line) => Some(Victim::Entry(line.0 as u8)),
            Outcome::Done | Outcome::Stall => None,
        }
    }

    /// The line, or the line that the entry covers.
    pub fn line(self) -> LineAddr {
        match self {
            Victim::Line(line) | Victim::Entry(line) => LineAddr(u64::from(line)),
        }
    }

    /// The victim with its line replaced by another.
    pub fn with_line(self, line: LineAddr) -> Victim {
        match self {
            Victim::Line(_) => Victim::Line(line.0 as u8),
            Victim::Entry(_) => Victim::Entry(line.0 as u8),
        }
    }

    /// The input by which controllers are told to evict it.
    pub fn input(self) -> Input<'static, WORDS> {
        match self {
            Victim::Line(_) => Input::Evict(self.line()),
            Victim::Entry(_) => Input::EvictEntry(self.line()),
        }
    }

    /// Whether a controller can evict it.
    pub fn can_leave(self, controller: &dyn Controller<WORDS>) -> bool {
        match self {
            Victim::Line(_) => controller.evictable(self.line(), NOW),
            Victim::Entry(_) => controller.entry_evictable(self.line()),
        }
    }

    /// The place of the victim among the bits of [`Node::evictable`].
    fn bit(self) -> u32 {
        match self {
            Victim::Line(line) => u32::from(line),
            Victim::Entry(line) => u32::from(line) + u32::BITS,
        }
    }
}

/// A state of one controller, with the answers that the driver asks for again and again.
#[derive(Debug)]
pub struct Node {
    /// The agent whose state it is.
    pub agent: u16,
    /// The controller in this state.
    pub controller: Box<dyn Controller<WORDS>>,
    /// The controller's view of each line.
    pub views: Vec<LineView<WORDS>>,
    /// The victims that can be evicted, one bit each: lines first, then the entries that cover them.
    evictable: u64,
    /// Whether nothing is outstanding in the controller.
    pub quiescent: bool,
}

impl Node {
    /// Whether a victim can be evicted in this state.
    pub fn evictable(&self, victim: Victim) -> bool {
        self.evictable >> victim.bit() & 1 == 1
    }

    /// Everything that can be evicted in this state.
    pub fn victims(&self) -> impl Iterator<Item = Victim> {
        let all = (0..self.views.len() as u8).flat_map(|line| [Victim::Line(line), Victim::Entry(line)]);
        all.filter(|&victim| self.evictable(victim))
    }
}

/// One input of a controller, named by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StepInput {
    /// A request of a core, by number.
    Request(u32),
    /// A message, by number.
    Message(u32),
    /// The eviction of a line or an entry.
    Evict(Victim),
    /// The passing of time.
    Time(Passage),
}

impl StepInput {
    /// One number for a controller's state and its input.
    fn key(self, before: u32) -> u64 {
        let input = match self {
            StepInput::Request(number) => u64::from(number) << 2,
            StepInput::Message(number) => u64::from(number) << 2 | 1,
            StepInput::Evict(victim) => u64::from(victim.bit()) << 2 | 2,
            StepInput::Time(passage) => (passage as u64) << 2 | 3,
        };
        u64::from(before) << 32 | input
    }
}

/// A step of a controller: its input and its effects.
#[derive(Clone, Debug)]
pub struct StepResult {
    /// The number of the controller's state before.
    pub before: u32,
    /// The input of the step.
    pub input: StepInput,
    /// The controller's answer to the input.
    pub outcome: Result<Outcome, Unspecified>,
    /// Whether the controller kept the rule that an input which is not consumed changes nothing.
    pub honest: bool,
    /// The number of the controller's state after.
    pub after: u32,
    /// The numbers of the messages sent.
    pub sent: Vec<u32>,
    /// Operations of the core that ended.
    pub completions: Vec<Completion<WORDS>>,
}

/// The effects of a step that the machine needs to go on.
#[derive(Clone, Copy, Debug)]
pub struct Effect {
    /// The number of the controller's state after.
    pub after: u32,
    /// Whether the input was consumed as the contract has it.
    pub done: bool,
    /// The place of its messages and completions among those of all steps, and how many they are.
    sent: (u32, u8),
    completions: (u32, u8),
}

/// All controllers' states, messages and steps that were seen so far.
#[derive(Debug, Default)]
pub struct Nodes {
    lines: u8,
    nodes: Vec<Node>,
    node_numbers: FastMap<Vec<u8>, u32>,
    messages: Vec<Message<WORDS>>,
    /// Numbers that order messages by their contents.
    ranks: Vec<u64>,
    message_numbers: FastMap<Message<WORDS>, u32>,
    /// The numbers of messages after time has passed.
    aged: FastMap<(u32, Passage), u32>,
    requests: Vec<CoreRequest<WORDS>>,
    results: Vec<StepResult>,
    result_numbers: FastMap<u64, u32>,
    /// The effects of each step, apart from the rest of the step since they are asked for so often.
    effects: Vec<Effect>,
    sent: Vec<u32>,
    completions: Vec<Completion<WORDS>>,
    out: Outbox<WORDS>,
}

impl Nodes {
    /// A store without states, for machines with `lines` lines of memory that issue `requests`.
    pub fn new(lines: u8, requests: Vec<CoreRequest<WORDS>>) -> Self {
        Nodes { lines, requests, ..Nodes::default() }
    }

    /// The state of a controller with this number.
    pub fn node(&self, number: u32) -> &Node {
        &self.nodes[number as usize]
    }

    /// Every state of every controller.
    pub fn all_nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The message with this number.
    pub fn message(&self, number: u32) -> &Message<WORDS> {
        &self.messages[number as usize]
    }

    /// The key by which messages are ordered. It is the same on every machine, while numbers depend on what was sent
    /// before.
    pub fn rank(&self, number: u32) -> (u64, u32) {
        (self.ranks[number as usize], number)
    }

    /// Every message ever sent.
    pub fn all_messages(&self) -> &[Message<WORDS>] {
        &self.messages
    }

    /// The request of a core with this number.
    pub fn request(&self, number: u32) -> &CoreRequest<WORDS> {
        &self.requests[number as usize]
    }

    /// The number of requests of all cores.
    pub fn requests(&self) -> usize {
        self.requests.len()
    }

    /// The step with this number.
    pub fn result(&self, number: u32) -> &StepResult {
        &self.results[number as usize]
    }

    /// The effects of the step with this number.
    pub fn effect(&self, number: u32) -> Effect {
        self.effects[number as usize]
    }

    /// The messages that a step sent.
    pub fn sent(&self, effect: Effect) -> &[u32] {
        &self.sent[effect.sent.0 as usize..][..usize::from(effect.sent.1)]
    }

    /// The operations that a step ended.
    pub fn completions(&self, effect: Effect) -> &[Completion<WORDS>] {
        &self.completions[effect.completions.0 as usize..][..usize::from(effect.completions.1)]
    }

    /// Every step that was ever run.
    pub fn all_results(&self) -> &[StepResult] {
        &self.results
    }

    /// The number of a controller's state, which is stored if it is new.
    pub fn add_controller(&mut self, agent: u16, controller: Box<dyn Controller<WORDS>>) -> u32 {
        let mut bytes = StateBytes(agent.to_le_bytes().to_vec());
        PlainState::encode(&*controller, &mut bytes);
        if let Some(&number) = self.node_numbers.get(&bytes.0) {
            return number;
        }
        let lines = || (0..self.lines).map(|line| LineAddr(u64::from(line)));
        let views = lines().map(|line| controller.view(line, NOW)).collect();
        let victims = (0..self.lines).flat_map(|line| [Victim::Line(line), Victim::Entry(line)]);
        let evictable = victims.filter(|victim| victim.can_leave(&*controller));
        let evictable = evictable.fold(0, |bits, victim| bits | 1 << victim.bit());
        let quiescent = controller.quiescent();
        let number = self.nodes.len() as u32;
        self.nodes.push(Node { agent, controller, views, evictable, quiescent });
        self.node_numbers.insert(bytes.0, number);
        number
    }

    /// The number of a message, which is stored if it is new.
    pub fn add_message(&mut self, message: &Message<WORDS>) -> u32 {
        if let Some(&number) = self.message_numbers.get(message) {
            return number;
        }
        let number = self.messages.len() as u32;
        self.messages.push(*message);
        self.ranks.push(self.message_numbers.hasher().hash_one(message));
        self.message_numbers.insert(*message, number);
        number
    }

    /// The number of a message, if it was ever sent.
    pub fn known_message(&self, message: &Message<WORDS>) -> Option<u32> {
        self.message_numbers.get(message).copied()
    }

    /// The number of a message after time has passed, if that was ever computed. Its timestamp is then one closer, or
    /// long past.
    pub fn known_aged(&self, number: u32, passage: Passage) -> Option<u32> {
        self.aged.get(&(number, passage)).copied()
    }

    /// The number of a message after time has passed, computed if needed. The timestamp of a whole line is the end of a
    /// lease, and its exact time may matter; other timestamps are times to wait for.
    pub fn aged_message(&mut self, number: u32, passage: Passage) -> u32 {
        let message = *self.message(number);
        let history = if message.mask == ByteMask::full::<WORDS>() { HISTORY } else { 0 };
        let stamp = match passage {
            _ if message.stamp == 0 => 0,
            Passage::Tick if message.stamp > NOW - history => message.stamp - 1,
            Passage::Tick | Passage::Wake | Passage::RollOver => PASSED,
        };
        let aged = self.add_message(&Message { stamp, ..message });
        self.aged.insert((number, passage), aged);
        aged
    }

    /// The number of the step that a controller in state `before` makes on `input`, if it was ever run.
    pub fn known_step(&self, before: u32, input: StepInput) -> Option<u32> {
        self.result_numbers.get(&input.key(before)).copied()
    }

    /// The number of the step that a controller in state `before` makes on `input`, which is run if it never was.
    pub fn step(&mut self, before: u32, input: StepInput) -> u32 {
        if let Some(number) = self.known_step(before, input) {
            return number;
        }
        let mut out = std::mem::take(&mut self.out);
        out.clear();
        out.now = NOW;
        let agent = self.node(before).agent;
        let mut controller = self.node(before).controller.clone();
        let outcome = controller.step(&self.input(input), &mut out);
        let after = if outcome.is_ok() { self.add_controller(agent, controller) } else { before };
        let unchanged = after == before && out.messages.is_empty() && out.completions.is_empty();
        let honest = unchanged || outcome == Ok(Outcome::Done);
        let sent = out.messages.iter().map(|message| self.add_message(message)).collect();
        let result = StepResult { before, input, outcome, honest, after, sent, completions: out.completions.clone() };
        self.out = out;
        self.effects.push(Effect {
            after,
            done: honest && outcome == Ok(Outcome::Done),
            sent: (self.sent.len() as u32, result.sent.len() as u8),
            completions: (self.completions.len() as u32, result.completions.len() as u8),
        });
        self.sent.extend(&result.sent);
        self.completions.extend(&result.completions);
        let number = self.results.len() as u32;
        self.results.push(result);
        self.result_numbers.insert(input.key(before), number);
        number
    }

    /// The input as a controller receives it.
    pub fn input(&self, input: StepInput) -> Input<'_, WORDS> {
        match input {
            StepInput::Request(number) => Input::Core(&self.requests[number as usize]),
            StepInput::Message(number) => Input::Message(&self.messages[number as usize]),
            StepInput::Evict(victim) => victim.input(),
            StepInput::Time(passage) => Input::Time(passage),
        }
    }
}
