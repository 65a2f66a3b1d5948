//! One shared bank by itself: requests of all GPUs go in, and everything that it sends comes out. Memory and the other
//! banks answer when they are told to.

use std::collections::VecDeque;

use chorus_protocol::access::{AtomicOp, Scope, Txn};
use chorus_protocol::address::{AgentId, LineAddr, Role, Topology};
use chorus_protocol::cache::Replacement;
use chorus_protocol::controller::{Controller, Input, Outbox, Outcome};
use chorus_protocol::line::{ByteMask, LineData};
use chorus_protocol::message::{Message, MsgKind, memory};
use chorus_protocol::parameter::Parameters;
use chorus_protocol::read_only::ReadOnlyLines;
use chorus_protocol::registry::{BuildConfig, CacheShape, DirectoryShape, Protocol, find};

pub const GPUS: u16 = 4;
/// GPU0 has the bank. Line numbers below this one are lines of its memory, and those from here on are of GPU1's.
pub const FIRST_REMOTE_LINE: u64 = 1 << 32;

const TOPOLOGY: Topology = Topology { gpus: GPUS, interleave: 64, ..Topology::one_gpu(GPUS, GPUS) };

/// A request that reaches the bank of GPU0. Requests of GPU0 come from its own private cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    Read {
        gpu: u16,
        line: u64,
    },
    Write {
        gpu: u16,
        line: u64,
    },
    Atomic {
        gpu: u16,
        line: u64,
    },
    /// A release of a GPU, behind its stores.
    Release {
        gpu: u16,
    },
    /// A copy leaves, if there is one.
    Evict {
        line: u64,
    },
    /// A directory entry leaves, if there is one.
    EvictEntry {
        line: u64,
    },
    /// The home of a line of GPU1's memory takes the copy back.
    Invalidate {
        line: u64,
    },
    /// Whoever was asked first answers.
    Answer,
}

/// A bank, and what others have still to answer.
pub struct Bank {
    protocol: &'static dyn Protocol,
    controller: Box<dyn Controller<2>>,
    asked: VecDeque<Message<2>>,
    steps: u32,
}

/// A machine whose L2s have room for `l2_lines` lines and whose directories have this shape.
pub fn config(protocol: &dyn Protocol, l2_lines: u32, directory: DirectoryShape) -> BuildConfig {
    let cache = |ways| CacheShape { sets: 1, ways, mshrs: 8, replacement: Replacement::Lru };
    BuildConfig {
        topology: TOPOLOGY,
        l1: cache(1),
        l2: cache(l2_lines),
        l3: cache(l2_lines),
        directory,
        page_lines: 1,
        waves: 1,
        buffer_wave: None,
        fences: true,
        read_only: ReadOnlyLines::NONE,
        parameters: Parameters::defaults(protocol.parameters()),
        fault: None,
    }
}

impl Bank {
    /// The bank of GPU0.
    pub fn new(protocol: &str, l2_lines: u32, directory: DirectoryShape) -> Bank {
        let protocol = find(protocol).unwrap();
        let controller = protocol.build(Role::L2, 0, &config(protocol, l2_lines, directory)).unwrap();
        Bank { protocol, controller, asked: VecDeque::new(), steps: 0 }
    }

    fn kind(&self, name: &str) -> MsgKind {
        MsgKind(self.protocol.messages().iter().position(|spec| spec.name == name).unwrap() as u8)
    }

    pub fn name_of(&self, message: &Message<2>) -> &'static str {
        self.protocol.messages()[usize::from(message.kind.0)].name
    }

    /// The sender of a GPU's messages: its private cache, or its bank.
    fn sender(gpu: u16) -> AgentId {
        if gpu == 0 { TOPOLOGY.l1(0) } else { TOPOLOGY.l2(gpu) }
    }

    fn message(&self, kind: &str, gpu: u16, line: u64) -> Message<2> {
        let message = Message::control(self.kind(kind), LineAddr(line), Self::sender(gpu), TOPOLOGY.l2(0));
        Message { txn: Txn::Operation(self.steps), origin: TOPOLOGY.l1(gpu), ..message }
    }

    fn with_data(&self, message: Message<2>) -> Message<2> {
        Message { mask: ByteMask::word(0), data: LineData([self.steps, 0]), ..message }
    }

    /// The answer to a question, as the agent that was asked would give it.
    fn answer(&self, question: &Message<2>) -> Option<Message<2>> {
        let data = LineData([1000, 2000]);
        Some(match self.name_of(question) {
            "FETCH" => question.reply_line(memory::MEM_DATA, &data),
            "LD" => question.reply_line(self.kind("DATA"), &data),
            "ATOM" => Message { mask: question.mask, ..question.reply_line(self.kind("ATOM_DATA"), &data) },
            "REL" => Message { credit: question.credit, ..question.reply(self.kind("DONE")) },
            "MARK" if question.origin == question.src => {
                Message { credit: question.credit, ..question.reply(self.kind("MARK_DONE")) }
            }
            "MARK" => question.reply(self.kind("MARK_DONE")),
            _ => return None,
        })
    }

    /// Lets a request reach the bank. Returns whether it was taken, and everything that was sent, also to make room for
    /// it.
    pub fn step(&mut self, request: Request) -> (Outcome, Vec<Message<2>>) {
        self.steps += 1;
        let message = match request {
            Request::Read { gpu, line } => self.message("LD", gpu, line),
            Request::Write { gpu, line } => self.with_data(self.message("ST", gpu, line)),
            Request::Atomic { gpu, line } => {
                let message = self.with_data(self.message("ATOM", gpu, line));
                Message { atomic: Some(AtomicOp::Add), scope: Scope::System, ..message }
            }
            Request::Release { gpu } => {
                let message = self.message("REL", gpu, 0);
                Message { origin: Self::sender(gpu), scope: Scope::System, credit: 64, ..message }
            }
            Request::Invalidate { line } => self.message("INV", 1, line),
            Request::Answer => match self.asked.pop_front() {
                Some(question) => self.answer(&question).unwrap(),
                None => return (Outcome::Done, Vec::new()),
            },
            Request::Evict { line } if self.controller.evictable(LineAddr(line), 0) => {
                return self.take(&Input::Evict(LineAddr(line)));
            }
            Request::EvictEntry { line } if self.controller.entry_evictable(LineAddr(line)) => {
                return self.take(&Input::EvictEntry(LineAddr(line)));
            }
            Request::Evict { .. } | Request::EvictEntry { .. } => return (Outcome::Done, Vec::new()),
        };
        self.take(&Input::Message(&message))
    }

    fn take(&mut self, input: &Input<'_, 2>) -> (Outcome, Vec<Message<2>>) {
        let mut out = Outbox { evicts: true, ..Outbox::default() };
        let outcome = self.controller.step(input, &mut out).unwrap();
        let questions = out.messages.iter().filter(|message| self.answer(message).is_some());
        let questions: Vec<_> = questions.copied().collect();
        self.asked.extend(questions);
        (outcome, out.messages)
    }

    /// Answers all probes of the bank.
    pub fn settle(&mut self) {
        while !self.asked.is_empty() {
            self.step(Request::Answer);
        }
    }

    /// The state of a line's directory entry, and the GPUs that are recorded for the line.
    pub fn tracked(&self, line: u64) -> (&'static str, Vec<u16>) {
        let view = self.controller.view(LineAddr(line), 0);
        let state = self.controller.vocabulary().states[usize::from(view.state)].name;
        (state, view.sharers.iter().map(|gpu| gpu.0).collect())
    }

    /// How many words of a line the bank can read, and how many of them memory does not have.
    pub fn held(&self, line: u64) -> (usize, usize) {
        let view = self.controller.view(LineAddr(line), 0);
        (view.readable.words().count(), view.dirty.words().count())
    }

    /// The invalidations among what was sent: the message, the line, and the GPU that is told.
    pub fn told(&self, sent: &[Message<2>]) -> Vec<(&'static str, u64, u16)> {
        let is_invalidation = |message: &&Message<2>| self.name_of(message).starts_with("INV");
        let told = |message: &Message<2>| (self.name_of(message), message.line.0, TOPOLOGY.module_of(message.dst));
        sent.iter().filter(is_invalidation).map(told).collect()
    }

    /// The names of all other messages, but for what memory is asked.
    pub fn said(&self, sent: &[Message<2>]) -> Vec<&'static str> {
        let names = sent.iter().map(|message| self.name_of(message));
        names.filter(|name| !name.starts_with("INV") && *name != "FETCH").collect()
    }
}
