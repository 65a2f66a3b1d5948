//! The contents of a state of the machine.
//!
//! A state is a sequence of numbers: one for each controller's state, one for each word of memory, one for each
//! operation of each thread, and one for each message in flight, ordered by channel and then by age.

use chorus_protocol::address::LineAddr;
use chorus_protocol::line::LineData;
use chorus_protocol::message::memory;

use crate::machine::ExploredMachine;
use crate::node::Node;
use chorus_litmus::test::{Location, Outcome, Program};

use crate::code::Next;
use crate::program::{self, Step, WORDS, straight_line};

/// A state of the whole machine.
pub type State = Vec<u32>;

/// The progress of an operation of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The operation is not issued.
    Waiting,
    /// The operation is issued and not answered; with the alternative chosen.
    Outstanding(u8),
    /// The operation is answered; with the alternative chosen and the values returned, as
    /// [`crate::words::Words::pack`] has them.
    Answered(u8, u32),
}

const CHOICES: u32 = 32;

impl Progress {
    pub(crate) fn pack(self) -> u32 {
        match self {
            Progress::Waiting => 0,
            Progress::Outstanding(choice) => 1 + u32::from(choice),
            // Programs use small values. A larger one came from nowhere and is wrong whatever it is.
            Progress::Answered(choice, value) => {
                1 + u32::from(choice) + CHOICES * (1 + value.min(u32::MAX / CHOICES - 2))
            }
        }
    }

    pub(crate) fn unpack(word: u32) -> Progress {
        match word {
            0 => Progress::Waiting,
            _ if word <= CHOICES => Progress::Outstanding((word - 1) as u8),
            _ => Progress::Answered(((word - 1) % CHOICES) as u8, (word - 1) / CHOICES - 1),
        }
    }

    /// The alternative chosen, once the operation is issued.
    pub fn choice(self) -> Option<u8> {
        match self {
            Progress::Waiting => None,
            Progress::Outstanding(choice) | Progress::Answered(choice, _) => Some(choice),
        }
    }
}

impl ExploredMachine {
    /// The state of the controller of `agent`.
    pub fn node(&self, state: &[u32], agent: u16) -> &Node {
        self.nodes.node(state[usize::from(agent)])
    }

    /// The words of memory in their order.
    pub fn memory<'s>(&self, state: &'s [u32]) -> &'s [u32] {
        &state[self.controllers..self.ops_at]
    }

    /// The messages in flight, by number, each channel's in order.
    pub fn network<'s>(&self, state: &'s [u32]) -> &'s [u32] {
        &state[self.network_at..]
    }

    /// The progress of operation `slot` of `thread`.
    pub fn progress(&self, state: &[u32], thread: usize, slot: usize) -> Progress {
        Progress::unpack(state[self.ops_at + thread * self.slots + slot])
    }

    /// Operations of all threads that were issued, with their alternative and progress.
    fn issued(&self, state: &[u32]) -> impl Iterator<Item = (usize, &Step, u8, Progress)> {
        let words = state[self.ops_at..self.network_at].to_vec();
        words.into_iter().enumerate().filter_map(|(index, word)| {
            let progress = Progress::unpack(word);
            let (thread, slot) = (index / self.slots, index % self.slots);
            progress.choice().map(|choice| (thread, &self.config.threads[thread].steps[slot], choice, progress))
        })
    }

    /// Whether everything issued is answered and nothing is in flight.
    pub fn idle(&self, state: &[u32]) -> bool {
        state.len() == self.network_at
            && state[self.ops_at..].iter().all(|&word| !matches!(Progress::unpack(word), Progress::Outstanding(_)))
    }

    /// Whether every thread has come to the end of its program.
    pub fn ended(&self, state: &[u32]) -> bool {
        self.config.threads.iter().enumerate().all(|(thread, spec)| match &spec.code {
            Some(code) => code.next(|slot| self.progress(state, thread, slot)) == Next::End,
            None => spec.steps.is_empty() || self.progress(state, thread, spec.steps.len() - 1) != Progress::Waiting,
        })
    }

    /// The program whose code the threads run, if they do not choose their operations.
    fn code(&self) -> Option<&Program> {
        self.config.threads.first()?.code.as_ref().map(|code| code.program())
    }

    /// The alternatives that the threads chose: equal exactly for equal programs.
    pub fn choices(&self, state: &[u32], key: &mut Vec<u8>) {
        key.clear();
        if self.code().is_some() {
            return;
        }
        let words = &state[self.ops_at..self.network_at];
        key.extend(words.iter().map(|&word| Progress::unpack(word).choice().map_or(0, |choice| choice + 1)));
    }

    /// The program that runs: the threads' code, or the operations issued so far.
    pub fn program(&self, state: &[u32]) -> Program {
        if let Some(program) = self.code() {
            return program.clone();
        }
        let indices = 0..self.config.threads.len();
        let mut threads: Vec<_> = indices.map(|thread| (self.config.work_group(thread), Vec::new())).collect();
        for (thread, step, choice, _) in self.issued(state).filter(|(_, step, ..)| !step.implied) {
            threads[thread].1.push(step.alternatives[usize::from(choice)]);
        }
        straight_line(&threads, self.config.lines)
    }

    /// The values returned so far, and the contents of memory that anybody would find at the end.
    pub fn outcome(&self, state: &[u32]) -> Outcome {
        let words = self.final_words(state);
        let Some(program) = self.code() else {
            let values = |(_, step, choice, progress): (usize, &Step, u8, Progress)| {
                let op = &step.alternatives[usize::from(choice)];
                let Progress::Answered(_, values) = progress else { return Vec::new() };
                op.words().filter(|_| op.returns_value()).map_or(Vec::new(), |at| at.unpack(values).collect())
            };
            return Outcome { registers: self.issued(state).flat_map(values).collect(), finals: words };
        };
        let codes =
            self.config.threads.iter().enumerate().filter_map(|(thread, spec)| Some((thread, spec.code.as_ref()?)));
        let registers = codes.flat_map(|(thread, code)| code.registers(|slot| self.progress(state, thread, slot)));
        let places =
            self.config.threads.iter().find_map(|spec| spec.code.as_ref()).map_or(&[][..], |code| code.places());
        let last = |(location, place): (&Location, &Option<program::Location>)| {
            place.map_or(location.initial, |at| words[at.index()])
        };
        let finals = program.locations.iter().zip(places).map(last).collect();
        Outcome { registers: registers.collect(), finals }
    }

    /// The numbers that tell the execution of an idle state from every other: the progress of all operations and the
    /// memory at the end.
    pub(crate) fn execution(&self, state: &[u32], execution: &mut Vec<u32>) {
        execution.clear();
        execution.extend_from_slice(&state[self.ops_at..self.network_at]);
        self.add_final_words(state, execution);
    }

    fn final_words(&self, state: &[u32]) -> Vec<u32> {
        let mut words = Vec::new();
        self.add_final_words(state, &mut words);
        words
    }

    /// Appends every word of memory, taken from the newest copy in a cache where there is one.
    fn add_final_words(&self, state: &[u32], words: &mut Vec<u32>) {
        for line in 0..usize::from(self.config.lines) {
            let mut data = self.memory_line(state, line);
            for &agent in &self.from_home[line] {
                let view = &self.nodes.node(state[usize::from(agent)]).views[line];
                data.merge(view.dirty, &view.data);
            }
            words.extend(data.0);
        }
    }

    pub(crate) fn memory_line(&self, state: &[u32], line: usize) -> LineData<WORDS> {
        let memory = self.memory(state);
        LineData(std::array::from_fn(|word| memory[line * WORDS + word]))
    }

    /// The contents of a line in memory once the write-backs in flight have arrived.
    pub fn settled_memory_line(&self, state: &[u32], line: u8) -> LineData<WORDS> {
        let mut data = self.memory_line(state, usize::from(line));
        for &number in self.network(state) {
            let message = self.nodes.message(number);
            if message.kind == memory::WB && message.line == LineAddr(u64::from(line)) {
                data.merge(message.mask, &message.data);
            }
        }
        data
    }

    /// Everything that waits, in words.
    pub fn waiting(&self, state: &[u32]) -> String {
        let mut waiting: Vec<String> = self
            .issued(state)
            .filter(|(.., progress)| matches!(progress, Progress::Outstanding(_)))
            .map(|(thread, step, choice, _)| format!("T{thread} waits for {}", step.alternatives[usize::from(choice)]))
            .collect();
        let in_flight = self.network(state).iter().map(|&number| {
            let message = self.nodes.message(number);
            let name = self.protocol.messages()[usize::from(message.kind.0)].name;
            format!("{name} for line {:#x} waits at {}", message.line.0, self.config.topology.name(message.dst))
        });
        // Channels that keep no order are in the order in which a search met their messages.
        let mut in_flight: Vec<String> = in_flight.collect();
        in_flight.sort();
        waiting.append(&mut in_flight);
        waiting.join(", ")
    }
}
