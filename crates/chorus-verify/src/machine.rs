//! The machine that is explored: private caches, shared banks and memory, joined by channels that keep the order of their messages.
//!
//! There is one channel for each sender, receiver and virtual network, and one each way between a bank and its memory. Any thread may issue
//! its next operation, the oldest message of any channel may be delivered (or any message, for protocols that do not need their order), any line
//! may be evicted, and time may pass for protocols that know it, in any order.

mod deliver;
mod enabled;

use std::collections::VecDeque;
use std::sync::Mutex;

use chorus_protocol::access::{Order, Scope, Txn};
use chorus_protocol::address::{AgentId, LineAddr};
use chorus_protocol::controller::Passage;
use chorus_protocol::line::LineData;
use chorus_protocol::message::{Channel, memory};
use chorus_protocol::registry::{Build, Counters, Delivery, Protocol};

use self::deliver::Offer;
use crate::config::{MachineConfig, ThreadSpec};
use crate::issue::{index_of, request, txn_of};
use crate::mirror::Mirrors;
use crate::networks::Networks;
use crate::node::{Nodes, StepInput, Victim};
use crate::program::{Edge, Location, Op, WORDS};
use crate::state::{Progress, State};
use crate::symmetry::Group;
use crate::violation::Violation;

/// One move of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// A thread issues its next operation, one of several alternatives.
    Issue {
        /// Which thread.
        thread: u8,
        /// Which alternative.
        choice: u8,
    },
    /// The oldest message of a channel arrives.
    Deliver {
        /// Its place among the messages in flight.
        position: u16,
    },
    /// A line leaves a cache, or an entry a directory.
    Evict {
        /// The cache, or the bank beside the directory.
        agent: u8,
        /// What leaves.
        victim: Victim,
    },
    /// Time passes, everywhere at once.
    Time(Passage),
}

/// How a message travels here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Route {
    /// In a channel that keeps the order.
    Queue(u32),
    /// In a channel that does not.
    Pool(u32),
    Instant,
    Nowhere,
}

/// One thing that happened while replaying.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happening {
    /// A controller made a step, by number.
    Step(u32),
    /// Memory took a message, by number.
    Memory(u32),
}

/// Why a move was not made to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Halt {
    /// It breaks a rule.
    Wrong(Violation),
    /// It needs something that was never asked before.
    Unknown(Unknown),
    /// A message that takes no time made its receiver send something that there is no room for.
    NoRoom,
}

impl From<Violation> for Halt {
    fn from(violation: Violation) -> Halt {
        Halt::Wrong(violation)
    }
}

/// Something that was never asked before, and is remembered once it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unknown {
    /// What a controller in a state does on an input.
    Step(u32, StepInput),
    /// What memory answers to a message when the line holds this.
    Answer(u32, LineData<WORDS>),
    /// What a message is after time has passed.
    Aged(u32, Passage),
}

/// All controllers, those nearer to the memory of a line first.
fn from_home(config: &MachineConfig, line: u8) -> Vec<u16> {
    let topology = config.topology;
    let mut agents: Vec<u16> = (0..topology.controllers()).rev().collect();
    agents.sort_by_key(|&agent| topology.stations(AgentId(agent), LineAddr(u64::from(line))));
    agents
}

/// Where among a thread's operations its kernel ends, and where the next begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KernelEdges {
    pub(crate) end: usize,
    pub(crate) begin: usize,
}

fn kernel_edges(thread: &ThreadSpec) -> Option<KernelEdges> {
    let place = |edge| thread.steps.iter().position(|step| step.alternatives.contains(&Op::Kernel(edge)));
    Some(KernelEdges { end: place(Edge::End)?, begin: place(Edge::Begin)? })
}

/// Loads that warm the caches carry this name.
const WARMING: Txn = Txn(u32::MAX - 1);

/// A machine with everything that was ever seen of it.
pub struct Machine {
    pub(crate) protocol: &'static dyn Protocol,
    pub(crate) config: MachineConfig,
    pub(crate) nodes: Nodes,
    routes: Vec<Route>,
    start: State,
    /// Number of the first request of each thread and step.
    first_request: Vec<u32>,
    /// Number of the first request that warms.
    first_warming: u32,
    pub(crate) slots: usize,
    /// Where in a state the operations begin, and where the messages do.
    pub(crate) ops_at: usize,
    pub(crate) network_at: usize,
    pub(crate) controllers: usize,
    /// For each thread, where its kernel ends and the next begins.
    pub(crate) kernel_edges: Vec<Option<KernelEdges>>,
    /// For each line, all controllers, those nearer to its memory first: what is farther from it is newer.
    pub(crate) from_home: Vec<Vec<u16>>,
    /// An agent that the protocol has no controller for.
    missing: Option<AgentId>,
    /// What permutations of agents, lines, words and values make of controllers and messages.
    pub(crate) mirrors: Mirrors,
    /// While replaying: what happens.
    replaying: bool,
    journal: Mutex<Vec<Happening>>,
}

impl Machine {
    /// A machine with empty caches and zeroed memory. `fault` indexes the protocol's faults.
    pub fn new(protocol: &'static dyn Protocol, fault: Option<u8>, config: &MachineConfig) -> Machine {
        let config = &config.with_commands(protocol).completed(protocol);
        let topology = config.topology;
        let (mut requests, mut first_request) = (Vec::new(), Vec::new());
        let slots = config.longest();
        for (thread, spec) in config.threads.iter().enumerate() {
            for slot in 0..slots {
                first_request.push(requests.len() as u32);
                let Some(step) = spec.steps.get(slot) else { continue };
                let txn = txn_of(thread * slots + slot);
                requests.extend(step.alternatives.iter().map(|op| request(op, spec.wave, txn)));
            }
        }
        let first_warming = requests.len() as u32;
        for index in 0..usize::from(config.lines) * WORDS {
            let op = Op::Load { at: Location::from_index(index), order: Order::Weak, scope: Scope::WorkGroup };
            requests.push(request(&op, 0, WARMING));
        }
        let mut nodes = Nodes::new(config.lines, requests);
        let build = config.build_config(protocol, fault);
        let (mut start, mut missing) = (State::new(), None);
        for agent in 0..topology.controllers() {
            let (role, index) = topology.role(AgentId(agent));
            match Build::<WORDS>::build(protocol, role, index, &build) {
                Some(controller) => start.push(nodes.add_controller(agent, controller)),
                None => missing = Some(AgentId(agent)),
            }
        }
        let controllers = start.len();
        let ops_at = controllers + usize::from(config.lines) * WORDS;
        let network_at = ops_at + config.threads.len() * slots;
        start.extend(&config.memory);
        start.resize(network_at, 0);
        Machine {
            protocol,
            config: config.clone(),
            nodes,
            routes: Vec::new(),
            start,
            first_request,
            first_warming,
            slots,
            ops_at,
            network_at,
            controllers,
            from_home: (0..config.lines).map(|line| from_home(config, line)).collect(),
            kernel_edges: config.threads.iter().map(kernel_edges).collect(),
            missing,
            mirrors: Mirrors::trivial(),
            replaying: false,
            journal: Mutex::default(),
        }
    }

    /// Follows the images of everything under `group` from now on; nothing may have moved yet.
    pub(crate) fn mirror(&mut self, group: Group) {
        if self.missing.is_none() && group.order() > 1 {
            let initial = &self.start[..self.controllers];
            self.mirrors = Mirrors::new(group, &self.nodes, initial, self.protocol.messages());
        }
    }

    /// The order of a message among those in flight, before its age.
    pub(crate) fn channel(&self, number: u32) -> (u32, (u64, u32)) {
        match self.routes[number as usize] {
            Route::Queue(key) => (key, (0, 0)),
            Route::Pool(key) => (key, self.nodes.rank(number)),
            Route::Instant | Route::Nowhere => (u32::MAX, (0, 0)),
        }
    }

    /// The protocol that runs.
    pub fn protocol(&self) -> &'static dyn Protocol {
        self.protocol
    }

    /// The machine's shape and threads.
    pub fn config(&self) -> &MachineConfig {
        &self.config
    }

    /// Everything that was seen of the controllers.
    pub fn nodes(&self) -> &Nodes {
        &self.nodes
    }

    /// Whether the protocol has a controller for every agent; a machine without cannot be run.
    pub fn complete(&self) -> Result<(), Violation> {
        let violation = |agent| Violation::NoController { agent: self.config.topology.name(agent) };
        self.missing.map(violation).map_or(Ok(()), Err)
    }

    /// Empty caches, nothing issued.
    pub fn cold(&self) -> State {
        self.start.clone()
    }

    /// Caches beside threads have loaded every line, one after the other; nothing issued.
    pub fn warm(&mut self) -> Result<State, Violation> {
        let mut state = self.cold();
        for cache in self.config.caches_used() {
            for line in self.config.lines_used() {
                let word = Location { line, word: 0 }.index() as u32;
                let request = StepInput::Request(self.first_warming + word);
                self.learning(&mut state, |machine, state| machine.offer(state, cache, request))?;
                while state.len() > self.network_at {
                    let mut actions = Vec::new();
                    self.deliveries(&state, &mut actions);
                    let mut moved = false;
                    for action in actions {
                        moved = self.apply(action, &mut state)?;
                        if moved {
                            break;
                        }
                    }
                    if !moved && self.has_counters() {
                        moved = self.apply(Action::Time(Passage::Tick), &mut state)?;
                    }
                    if !moved {
                        return Err(Violation::Deadlock("the caches cannot be warmed".to_owned()));
                    }
                }
            }
        }
        Ok(state)
    }

    /// Makes a move. Where it is not possible now, nothing changes and the answer is `false`.
    pub fn apply(&mut self, action: Action, state: &mut State) -> Result<bool, Violation> {
        self.learning(state, |machine, state| machine.attempt(action, state))
    }

    /// Makes something happen, finding out whatever is unknown on the way.
    fn learning<T>(
        &mut self,
        state: &mut State,
        happens: impl Fn(&Machine, &mut State) -> Result<T, Halt>,
    ) -> Result<T, Violation> {
        let before = state.clone();
        loop {
            match happens(self, state) {
                Ok(answer) => return Ok(answer),
                Err(Halt::Wrong(violation)) => return Err(violation),
                Err(Halt::Unknown(unknown)) => self.learn(unknown),
                Err(Halt::NoRoom) => return Err(Violation::Deadlock("the networks are too small".to_owned())),
            }
            state.clone_from(&before);
            self.take_journal();
        }
    }

    /// Finds something out, and the same of all its mirror images.
    pub(crate) fn learn(&mut self, unknown: Unknown) {
        match unknown {
            Unknown::Step(node, input) => self.mirrors.learn_step(&mut self.nodes, node, input),
            Unknown::Answer(number, data) => {
                let answer = self.nodes.message(number).reply_line(memory::MEM_DATA, &data);
                self.mirrors.learn_message(&mut self.nodes, &answer);
            }
            Unknown::Aged(number, passage) => self.mirrors.learn_aged(&mut self.nodes, number, passage),
        }
        self.route_new_messages();
    }

    /// Makes a move, if everything that it needs is known already. What is left of the state where it is not is of no use.
    pub(crate) fn attempt(&self, action: Action, state: &mut State) -> Result<bool, Halt> {
        if self.config.networks == Networks::Unbounded {
            return self.try_move(action, state);
        }
        let before = state.clone();
        match self.try_move(action, state) {
            Err(Halt::NoRoom) => {
                *state = before;
                Ok(false)
            }
            result => result,
        }
    }

    fn try_move(&self, action: Action, state: &mut State) -> Result<bool, Halt> {
        match action {
            Action::Issue { thread, choice } => {
                let thread = usize::from(thread);
                let Some(slot) = self.next_slot(state, thread) else { return Ok(false) };
                let index = thread * self.slots + slot;
                let request = self.first_request[index] + u32::from(choice);
                let spec = &self.config.threads[thread];
                let op = spec.steps[slot].alternatives[usize::from(choice)];
                let agent = if let Op::Command { bank, .. } = op { bank.0 } else { spec.cache };
                if matches!(op, Op::Barrier { .. } | Op::Settle) {
                    state[self.ops_at + index] = Progress::Answered(choice, 0).pack();
                    return Ok(true);
                }
                state[self.ops_at + index] = Progress::Outstanding(choice).pack();
                let offer = self.offer(state, agent, StepInput::Request(request))?;
                if !matches!(offer, Offer::Consumed) {
                    state[self.ops_at + index] = Progress::Waiting.pack();
                }
                Ok(!matches!(offer, Offer::Refused))
            }
            Action::Deliver { position } => {
                let number = state[self.network_at + usize::from(position)];
                self.deliver(state, number)
            }
            Action::Evict { agent, victim } => {
                let result = self.step(state[usize::from(agent)], StepInput::Evict(victim))?;
                let mut instants = VecDeque::new();
                let done = self.commit_if_done(state, u16::from(agent), result, &mut instants)?;
                self.deliver_instants(state, instants)?;
                Ok(done)
            }
            Action::Time(passage) => self.pass_time(passage, state),
        }
    }

    /// Lets time pass. Answers `false` where that changes nothing.
    fn pass_time(&self, passage: Passage, state: &mut State) -> Result<bool, Halt> {
        let before = state.clone();
        for number in &mut state[self.network_at..] {
            let unknown = Unknown::Aged(*number, passage);
            *number = self.nodes.known_aged(*number, passage).ok_or(Halt::Unknown(unknown))?;
        }
        state[self.network_at..].sort_by_key(|&number| self.channel(number));
        for agent in 0..self.controllers as u16 {
            let result = self.step(state[usize::from(agent)], StepInput::Time(passage))?;
            let mut instants = VecDeque::new();
            self.commit_if_done(state, agent, result, &mut instants)?;
            self.deliver_instants(state, instants)?;
        }
        Ok(*state != before)
    }

    /// Whether time matters to the protocol.
    pub fn has_counters(&self) -> bool {
        self.protocol.counters() == Counters::Synchronised
    }

    fn take_journal(&self) -> Vec<Happening> {
        self.journal.lock().map(|mut journal| std::mem::take(&mut *journal)).unwrap_or_default()
    }

    /// Finds the channels of messages that were never seen before.
    fn route_new_messages(&mut self) {
        let topology = self.config.topology;
        let agents = u32::from(topology.agents());
        let networks = u32::from(self.protocol.virtual_networks());
        while let Some(message) = self.nodes.all_messages().get(self.routes.len()) {
            let (src, dst) = (u32::from(message.src.0), u32::from(message.dst.0));
            let key = |network: u32| (src * agents + dst) * (networks + 1) + network;
            let pool = |network: u8| u32::from(self.config.networks.pool(network));
            let in_order = self.protocol.delivery() == Delivery::InOrder;
            self.routes.push(match self.protocol.messages()[usize::from(message.kind.0)].channel {
                _ if dst >= agents => Route::Nowhere,
                Channel::Virtual(network) if in_order => Route::Queue(key(pool(network))),
                Channel::Virtual(network) => Route::Pool(key(pool(network))),
                Channel::Memory => Route::Queue(key(networks)),
                Channel::Instant if (dst as usize) < self.controllers => Route::Instant,
                Channel::Instant => Route::Nowhere,
            });
        }
    }

    /// Makes a move and tells what happened in it.
    pub fn replay(&mut self, action: Action, state: &mut State) -> (Result<bool, Violation>, Vec<Happening>) {
        self.replaying = true;
        let moved = self.apply(action, state);
        self.replaying = false;
        (moved, self.take_journal())
    }

    /// The operation that a request stands for, and its thread.
    pub fn op_of_request(&self, number: u32) -> Option<(usize, Op)> {
        let index = self.first_request.partition_point(|&first| first <= number).checked_sub(1)?;
        let (thread, slot) = (index / self.slots, index % self.slots);
        let step = self.config.threads[thread].steps.get(slot)?;
        let op = step.alternatives.get((number - self.first_request[index]) as usize)?;
        Some((thread, *op))
    }
    /// The operation that a completion ended, and its thread.
    pub fn op_of_txn(&self, state: &[u32], txn: Txn) -> Option<(usize, Op)> {
        let index = index_of(txn)?;
        let (thread, slot) = (index / self.slots, index % self.slots);
        let step = self.config.threads.get(thread)?.steps.get(slot)?;
        let choice = self.progress(state, thread, slot).choice()?;
        Some((thread, step.alternatives[usize::from(choice)]))
    }
}
