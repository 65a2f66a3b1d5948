//! Controllers, messages and steps, each kept once.
//!
//! Two states of the machine mostly differ in one controller, and a controller mostly gets inputs that it has had before in the same
//! state. So a controller's state is kept once and named by a number, equal numbers exactly for equal encodings, and each step is run once and
//! remembered. A state of the whole machine is then a short sequence of numbers.

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

/// What synchronised counters show, always: explorations move timestamps instead of time.
pub const NOW: Time = 100;

/// A timestamp that passed long ago.
const PASSED: Time = 1;

/// What an eviction takes out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Victim {
    /// A line.
    Line(u8),
    /// The entry of a directory that covers a line.
    Entry(u8),
}

impl Victim {
    /// What an address stands for that a controller wants to be evicted.
    pub fn of(address: LineAddr) -> Victim {
        match address.of_entry() {
            Some(line) => Victim::Entry(line.0 as u8),
            None => Victim::Line(address.0 as u8),
        }
    }

    /// As controllers are told.
    pub fn address(self) -> LineAddr {
        match self {
            Victim::Line(line) => LineAddr(u64::from(line)),
            Victim::Entry(line) => LineAddr(u64::from(line)).entry(),
        }
    }

    /// Its place among the bits of [`Node::evictable`].
    fn bit(self) -> u32 {
        match self {
            Victim::Line(line) => u32::from(line),
            Victim::Entry(line) => u32::from(line) + u32::BITS,
        }
    }
}

/// A state of one controller, with what the driver asks of it again and again.
#[derive(Debug)]
pub struct Node {
    /// The agent it is a state of.
    pub agent: u16,
    /// The controller.
    pub controller: Box<dyn Controller<WORDS>>,
    /// What it holds of each line.
    pub views: Vec<LineView<WORDS>>,
    /// What could be evicted, one bit each: lines, and then the entries that cover them.
    evictable: u64,
    /// Whether nothing is outstanding.
    pub quiescent: bool,
}

impl Node {
    /// Whether something could be evicted.
    pub fn evictable(&self, victim: Victim) -> bool {
        self.evictable >> victim.bit() & 1 == 1
    }

    /// Everything that could be evicted.
    pub fn victims(&self) -> impl Iterator<Item = Victim> {
        let all = (0..self.views.len() as u8).flat_map(|line| [Victim::Line(line), Victim::Entry(line)]);
        all.filter(|&victim| self.evictable(victim))
    }
}

/// One input, named by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StepInput {
    /// A request, by number.
    Request(u32),
    /// A message, by number.
    Message(u32),
    /// A line or an entry leaves.
    Evict(Victim),
    /// Time passes.
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

/// What a step did.
#[derive(Clone, Debug)]
pub struct StepResult {
    /// The controller's state before.
    pub before: u32,
    /// What it got.
    pub input: StepInput,
    /// What became of the input.
    pub outcome: Result<Outcome, Unspecified>,
    /// The controller kept its word that an input which is not consumed changes nothing.
    pub honest: bool,
    /// The controller's state after.
    pub after: u32,
    /// Messages sent, by number.
    pub sent: Vec<u32>,
    /// Operations of the core that ended.
    pub completions: Vec<Completion<WORDS>>,
}

/// What a step did, as far as the machine goes on with it.
#[derive(Clone, Copy, Debug)]
pub struct Effect {
    /// The controller's state after.
    pub after: u32,
    /// Whether the input was consumed as the contract has it.
    pub done: bool,
    /// Where its messages and completions lie among those of all steps, and how many they are.
    sent: (u32, u8),
    completions: (u32, u8),
}

/// All that were seen so far.
#[derive(Debug, Default)]
pub struct Nodes {
    lines: u8,
    nodes: Vec<Node>,
    node_numbers: FastMap<Vec<u8>, u32>,
    messages: Vec<Message<WORDS>>,
    /// What orders messages by their contents.
    ranks: Vec<u64>,
    message_numbers: FastMap<Message<WORDS>, u32>,
    /// What messages are after time has passed.
    aged: FastMap<(u32, Passage), u32>,
    requests: Vec<CoreRequest<WORDS>>,
    results: Vec<StepResult>,
    result_numbers: FastMap<u64, u32>,
    /// What each step did, apart from the rest, since it is asked so often.
    effects: Vec<Effect>,
    sent: Vec<u32>,
    completions: Vec<Completion<WORDS>>,
    out: Outbox<WORDS>,
}

impl Nodes {
    /// Nothing yet, for machines with `lines` lines of memory that issue `requests`.
    pub fn new(lines: u8, requests: Vec<CoreRequest<WORDS>>) -> Self {
        Nodes { lines, requests, ..Nodes::default() }
    }

    /// A state of a controller.
    pub fn node(&self, number: u32) -> &Node {
        &self.nodes[number as usize]
    }

    /// Every state of every controller.
    pub fn all_nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// A message.
    pub fn message(&self, number: u32) -> &Message<WORDS> {
        &self.messages[number as usize]
    }

    /// What orders messages, the same on every machine where their numbers depend on what was sent before.
    pub fn rank(&self, number: u32) -> (u64, u32) {
        (self.ranks[number as usize], number)
    }

    /// Every message ever sent.
    pub fn all_messages(&self) -> &[Message<WORDS>] {
        &self.messages
    }

    /// A request of a core.
    pub fn request(&self, number: u32) -> &CoreRequest<WORDS> {
        &self.requests[number as usize]
    }

    /// How many requests there are.
    pub fn requests(&self) -> usize {
        self.requests.len()
    }

    /// A step.
    pub fn result(&self, number: u32) -> &StepResult {
        &self.results[number as usize]
    }

    /// What a step did.
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

    /// The number of a controller's state.
    pub fn add_controller(&mut self, agent: u16, controller: Box<dyn Controller<WORDS>>) -> u32 {
        let mut bytes = StateBytes(agent.to_le_bytes().to_vec());
        PlainState::encode(&*controller, &mut bytes);
        if let Some(&number) = self.node_numbers.get(&bytes.0) {
            return number;
        }
        let lines = || (0..self.lines).map(|line| LineAddr(u64::from(line)));
        let views = lines().map(|line| controller.view(line, NOW)).collect();
        let victims = (0..self.lines).flat_map(|line| [Victim::Line(line), Victim::Entry(line)]);
        let evictable = victims.filter(|victim| controller.evictable(victim.address(), NOW));
        let evictable = evictable.fold(0, |bits, victim| bits | 1 << victim.bit());
        let quiescent = controller.quiescent();
        let number = self.nodes.len() as u32;
        self.nodes.push(Node { agent, controller, views, evictable, quiescent });
        self.node_numbers.insert(bytes.0, number);
        number
    }

    /// The number of a message.
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

    /// The number of a message after time has passed, if that was ever asked: its timestamp is one closer, or long past.
    pub fn known_aged(&self, number: u32, passage: Passage) -> Option<u32> {
        self.aged.get(&(number, passage)).copied()
    }

    /// As [`Nodes::known_aged`], finding it out. With a whole line comes the end of a lease, and when that was may matter; other
    /// timestamps are times to wait for.
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

    /// As [`Nodes::known_step`], running it if it was never run.
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

    /// An input as a controller sees it.
    pub fn input(&self, input: StepInput) -> Input<'_, WORDS> {
        match input {
            StepInput::Request(number) => Input::Core(&self.requests[number as usize]),
            StepInput::Message(number) => Input::Message(&self.messages[number as usize]),
            StepInput::Evict(victim) => Input::Evict(victim.address()),
            StepInput::Time(passage) => Input::Time(passage),
        }
    }
}
