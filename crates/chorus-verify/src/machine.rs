//! The machine that is explored: private caches, shared banks and memory, joined by channels that keep the order of
//! their messages.
//!
//! There is one channel for each sender, receiver and virtual network, and one each way between a bank and its memory.
//! In any order, any thread may issue its next operation, the oldest message of any channel may be delivered (or any
//! message, for protocols that do not need their order), any line may be evicted, and time may pass for protocols that
//! know it.

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
use crate::config::{Arrival, MachineConfig, ThreadSpec};
use crate::issue::{index_of, request, txn_of};
use crate::mirror::Mirrors;
use crate::networks::Networks;
use crate::node::{Nodes, StepInput, Victim};
use crate::program::{Edge, Location, Op, WORDS};
use crate::settings::Orders;
use crate::state::{Progress, State};
use crate::symmetry::Group;
use crate::violation::Violation;
use crate::words::Words;

/// The most moves that bring one line into one cache before the start. Right protocols stay far below.
const WARMING_MAX: usize = 10_000;

/// One move of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// A thread issues its next operation, one of several alternatives.
    Issue {
        /// The index of the thread.
        thread: u8,
        /// The index of the alternative.
        choice: u8,
    },
    /// The oldest message of a channel arrives.
    Deliver {
        /// The place of the message among those in flight.
        position: u16,
    },
    /// A line leaves a cache, or an entry a directory.
    Evict {
        /// The cache, or the bank beside the directory.
        agent: u8,
        /// The line or entry that leaves.
        victim: Victim,
    },
    /// Time passes, everywhere at once.
    Time(Passage),
}

/// The channel of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Route {
    /// A channel that keeps the order of its messages.
    Queue(u32),
    /// A channel that does not keep their order.
    Pool(u32),
    Instant,
    Nowhere,
}

/// One event of a move, noted while replaying.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happening {
    /// A controller made a step, by number.
    Step(u32),
    /// Memory took a message, by number.
    Memory(u32),
}

/// The reason why a move was not made to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Halt {
    /// The move breaks a rule.
    Wrong(Violation),
    /// The move needs a result that was never computed.
    Unknown(Unknown),
    /// A message that takes no time made its receiver send something for which there is no room.
    NoRoom,
}

impl From<Violation> for Halt {
    fn from(violation: Violation) -> Halt {
        Halt::Wrong(violation)
    }
}

/// A result that was never computed. Once computed it is remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unknown {
    /// The step of a controller's state on an input.
    Step(u32, StepInput),
    /// The answer of memory to a message when the line has this content.
    Answer(u32, LineData<WORDS>),
    /// A message after time has passed.
    Aged(u32, Passage),
}

/// All controllers, the nearest to the memory of a line first.
fn from_home(config: &MachineConfig, line: u8) -> Vec<u16> {
    let topology = config.topology;
    let mut agents: Vec<u16> = (0..topology.controllers()).rev().collect();
    agents.sort_by_key(|&agent| topology.stations(AgentId(agent), LineAddr(u64::from(line))));
    agents
}

/// The places among a thread's operations where its kernel ends and the next begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KernelEdges {
    pub(crate) end: usize,
    pub(crate) begin: usize,
}

fn kernel_edges(thread: &ThreadSpec) -> Option<KernelEdges> {
    let place = |edge| thread.steps.iter().position(|step| step.alternatives.contains(&Op::Kernel(edge)));
    Some(KernelEdges { end: place(Edge::End)?, begin: place(Edge::Begin)? })
}

/// A machine with every state and step that was ever seen of its controllers.
pub struct ExploredMachine {
    pub(crate) protocol: &'static dyn Protocol,
    pub(crate) config: MachineConfig,
    pub(crate) nodes: Nodes,
    routes: Vec<Route>,
    start: State,
    /// The number of the first request of each thread and step.
    first_request: Vec<u32>,
    /// The number of the first request that warms the caches.
    first_warming: u32,
    pub(crate) slots: usize,
    /// The places in a state where the operations and the messages begin.
    pub(crate) ops_at: usize,
    pub(crate) network_at: usize,
    pub(crate) controllers: usize,
    /// The places where each thread's kernel ends and the next begins.
    pub(crate) kernel_edges: Vec<Option<KernelEdges>>,
    /// All controllers for each line, the nearest to its memory first. A copy farther from memory is newer.
    pub(crate) from_home: Vec<Vec<u16>>,
    /// An agent that the protocol has no controller for.
    missing: Option<AgentId>,
    /// The images of controllers and messages under permutations of agents, lines, words and values.
    pub(crate) mirrors: Mirrors,
    /// Whether messages that only count are followed in one order.
    pub(crate) orders: Orders,
    /// Whether a path is replayed, so that events are noted.
    replaying: bool,
    journal: Mutex<Vec<Happening>>,
    /// The results computed so far, in their order, where a search has to be able to repeat that.
    learned: Option<Vec<Unknown>>,
}

impl ExploredMachine {
    /// A machine with empty caches and zeroed memory. `fault` indexes the protocol's faults.
    pub fn new(protocol: &'static dyn Protocol, fault: Option<u8>, config: &MachineConfig) -> ExploredMachine {
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
            let Location { line, word } = Location::from_index(index);
            let op = Op::Load { at: Words::one(line, word), order: Order::Weak, scope: Scope::WorkGroup };
            requests.push(request(&op, 0, Txn::Warming));
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
        ExploredMachine {
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
            orders: Orders::Reduced,
            replaying: false,
            journal: Mutex::default(),
            learned: None,
        }
    }

    /// Follows the images of everything under `group` from now on. No move may have been made yet.
    pub(crate) fn mirror(&mut self, group: Group) {
        if self.missing.is_none() && group.order() > 1 {
            let initial = &self.start[..self.controllers];
            self.mirrors = Mirrors::new(group, &self.nodes, initial, self.protocol.messages());
        }
    }

    /// The order of a message among those in flight, apart from its age.
    pub(crate) fn channel(&self, number: u32) -> (u32, (u64, u32)) {
        match self.routes[number as usize] {
            Route::Queue(key) => (key, (0, 0)),
            Route::Pool(key) => (key, self.nodes.rank(number)),
            Route::Instant | Route::Nowhere => (u32::MAX, (0, 0)),
        }
    }

    /// The channel of a message, and the message itself where its channel keeps no order: whoever is fair to this pair
    /// lets the message arrive.
    pub(crate) fn task(&self, number: u32) -> (u32, u32) {
        match self.routes[number as usize] {
            Route::Queue(key) => (key, 0),
            Route::Pool(key) => (key, number + 1),
            Route::Instant | Route::Nowhere => (u32::MAX, number + 1),
        }
    }

    /// The protocol of the controllers.
    pub fn protocol(&self) -> &'static dyn Protocol {
        self.protocol
    }

    /// The shape of the machine, and its threads.
    pub fn config(&self) -> &MachineConfig {
        &self.config
    }

    /// Every state and step that was seen of the controllers.
    pub fn nodes(&self) -> &Nodes {
        &self.nodes
    }

    /// Fails if the protocol has no controller for some agent: such a machine cannot be run.
    pub fn complete(&self) -> Result<(), Violation> {
        let violation = |agent| Violation::NoController { agent: self.config.topology.name(agent) };
        self.missing.map(violation).map_or(Ok(()), Err)
    }

    /// The state with empty caches in which nothing is issued.
    pub fn cold(&self) -> State {
        self.start.clone()
    }

    /// The state in which caches beside threads have loaded every line, one after the other, and nothing is issued.
    pub fn warm(&mut self) -> Result<State, Violation> {
        let mut state = self.cold();
        for cache in self.config.caches_used() {
            for line in self.config.lines_used() {
                let word = Location { line, word: 0 }.index() as u32;
                let request = StepInput::Request(self.first_warming + word);
                self.learning(&mut state, |machine, state| machine.offer(state, cache, request))?;
                let mut moves = 0;
                while state.len() > self.network_at {
                    moves += 1;
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
                    if !moved || moves > WARMING_MAX {
                        return Err(Violation::Deadlock("the caches cannot be warmed".to_owned()));
                    }
                }
            }
        }
        Ok(state)
    }

    /// Makes a move. Where it is not possible now, the state stays as it is and the result is `false`.
    pub fn apply(&mut self, action: Action, state: &mut State) -> Result<bool, Violation> {
        self.learning(state, |machine, state| machine.attempt(action, state))
    }

    /// Runs something on the machine, computing every unknown result on the way.
    fn learning<T>(
        &mut self,
        state: &mut State,
        happens: impl Fn(&ExploredMachine, &mut State) -> Result<T, Halt>,
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

    /// Computes an unknown result, and the results of all its mirror images.
    pub(crate) fn learn(&mut self, unknown: Unknown) {
        if let Some(learned) = &mut self.learned {
            learned.push(unknown);
        }
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

    /// The results computed since the last call, in their order. The first call begins to note them.
    pub(crate) fn take_learned(&mut self) -> Vec<Unknown> {
        self.learned.replace(Vec::new()).unwrap_or_default()
    }

    /// Makes a move if every result that it needs is known. Otherwise the state that is left is of no use.
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

    /// Lets time pass. The result is `false` where that changes nothing.
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
            // Banks ask memory one after the other in any case.
            let sender = |network: u32| match self.config.arrival {
                Arrival::InTurn if network < networks => 0,
                Arrival::BySender | Arrival::InTurn => src,
            };
            let key = |network: u32| (sender(network) * agents + dst) * (networks + 1) + network;
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

    /// Makes a move and returns its events.
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
