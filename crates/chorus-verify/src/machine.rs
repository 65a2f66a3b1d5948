//! The machine that is explored: private caches, shared banks and memory, joined by channels that keep the order of their messages.
//!
//! There is one channel for each sender, receiver and virtual network, and one each way between a bank and its memory. Any thread may issue
//! its next operation, the oldest message of any channel may be delivered (or any message, for protocols that do not need their order), any line
//! may be evicted, and time may pass for protocols that know it, in any order.

use chorus_litmus::test::BarrierMode;
use chorus_protocol::access::{CoreOp, CoreRequest, Order, Scope, Txn};
use chorus_protocol::address::{AgentId, LineAddr, Role};
use chorus_protocol::controller::{Outcome as StepOutcome, Passage};
use chorus_protocol::line::{ByteMask, LineData};
use chorus_protocol::message::{Channel, Message, memory};
use chorus_protocol::registry::{Build, Counters, Delivery, Protocol};

use crate::code::Next;
use crate::config::{Evictions, Loads, MachineConfig, Stores};
use crate::node::{Nodes, StepInput};
use crate::program::{Location, Op, WORDS};
use crate::state::{Progress, State};
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
    /// A line leaves a cache.
    Evict {
        /// The cache.
        agent: u8,
        /// The line.
        line: u8,
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

enum Offer {
    Consumed,
    EvictedOnly,
    Refused,
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
    /// An agent that the protocol has no controller for.
    missing: Option<AgentId>,
    /// While replaying: what happens.
    journal: Option<Vec<Happening>>,
}

impl Machine {
    /// A machine with empty caches and zeroed memory. `fault` indexes the protocol's faults.
    pub fn new(protocol: &'static dyn Protocol, fault: Option<u8>, config: &MachineConfig) -> Machine {
        let topology = config.topology;
        let (mut requests, mut first_request) = (Vec::new(), Vec::new());
        let slots = config.longest();
        for (thread, spec) in config.threads.iter().enumerate() {
            for slot in 0..slots {
                first_request.push(requests.len() as u32);
                let Some(step) = spec.steps.get(slot) else { continue };
                let txn = Txn((thread * slots + slot) as u32);
                requests.extend(step.alternatives.iter().map(|op| request(op, spec.wave, txn)));
            }
        }
        let first_warming = requests.len() as u32;
        for line in 0..config.lines {
            let op = Op::Load { at: Location { line, word: 0 }, order: Order::Relaxed, scope: Scope::Gpu };
            requests.push(request(&op, 0, WARMING));
        }
        let mut nodes = Nodes::new(config.lines, requests);
        let build = config.build_config(protocol, fault);
        let (mut start, mut missing) = (State::new(), None);
        for agent in 0..topology.l1s + topology.l2s {
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
            missing,
            journal: None,
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

    /// Caches that have loaded every line, one after the other; nothing issued.
    pub fn warm(&mut self) -> Result<State, Violation> {
        let mut state = self.cold();
        for cache in 0..self.config.topology.l1s {
            for line in 0..self.config.lines {
                let request = StepInput::Request(self.first_warming + u32::from(line));
                self.offer(&mut state, cache, request)?;
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

    /// The step that `thread` would issue next, if its earlier operations let it.
    fn next_slot(&self, state: &[u32], thread: usize) -> Option<usize> {
        let steps = &self.config.threads[thread].steps;
        for (slot, step) in steps.iter().enumerate() {
            match self.progress(state, thread, slot) {
                Progress::Waiting => return Some(slot),
                Progress::Outstanding(choice) => match step.alternatives[usize::from(choice)] {
                    Op::Fence { .. } | Op::Barrier { .. } => return None,
                    Op::Load { .. } | Op::Atomic { returns: true, .. } if self.config.loads == Loads::Blocking => {
                        return None;
                    }
                    Op::Store { .. } | Op::Atomic { returns: false, .. } if self.config.stores == Stores::Blocking => {
                        return None;
                    }
                    Op::Load { .. } | Op::Atomic { .. } | Op::Store { .. } => {}
                },
                Progress::Answered(..) => {}
            }
        }
        None
    }

    /// The place and the operation that `thread`'s code issues next, if its earlier operations let it.
    fn coded(&self, state: &[u32], thread: usize) -> Option<(usize, Op)> {
        let slot = self.next_slot(state, thread)?;
        let code = self.config.threads[thread].code.as_ref()?;
        match code.next(|slot| self.progress(state, thread, slot)) {
            Next::Issue { slot: next, op, .. } if next == slot => Some((slot, op)),
            Next::Issue { .. } | Next::Await(_) | Next::End | Next::Abandon => None,
        }
    }

    /// Whether enough threads have come to a barrier: those that have issued it, and those that would next.
    fn complete_barrier(&self, state: &[u32], barrier: u8) -> bool {
        let is_it = |op: Op| matches!(op, Op::Barrier { barrier: other, .. } if other == barrier);
        let came = |thread: &usize| {
            let spec = &self.config.threads[*thread];
            let issued = (0..spec.steps.len()).any(|slot| {
                let choice = self.progress(state, *thread, slot).choice();
                choice.is_some_and(|choice| is_it(spec.steps[slot].alternatives[usize::from(choice)]))
            });
            issued || self.coded(state, *thread).is_some_and(|(_, op)| is_it(op))
        };
        let parties =
            self.config.threads.iter().find_map(|spec| spec.code.as_ref()?.barriers().get(usize::from(barrier)));
        let parties = parties.map_or(0, |spec| usize::from(spec.parties));
        (0..self.config.threads.len()).filter(came).count() >= parties
    }

    /// Whether the operation may be issued now, as far as the thread's other operations and other threads are concerned.
    fn may_issue(&self, state: &[u32], thread: usize, op: Op) -> bool {
        match op {
            Op::Fence { .. } => !self.awaits_answer(state, thread),
            Op::Barrier { barrier, mode } => {
                !self.awaits_answer(state, thread)
                    && (mode == BarrierMode::Arrive || self.complete_barrier(state, barrier))
            }
            Op::Load { .. } | Op::Store { .. } | Op::Atomic { .. } => true,
        }
    }

    fn awaits_answer(&self, state: &[u32], thread: usize) -> bool {
        let steps = self.config.threads[thread].steps.iter().enumerate();
        steps.into_iter().any(|(slot, step)| match self.progress(state, thread, slot) {
            Progress::Outstanding(choice) => step.alternatives[usize::from(choice)].reads(),
            Progress::Waiting | Progress::Answered(..) => false,
        })
    }

    /// The operations that threads may issue.
    pub fn issues(&self, state: &[u32], actions: &mut Vec<Action>) {
        for (thread, spec) in self.config.threads.iter().enumerate() {
            if spec.code.is_some() {
                let Some((slot, op)) = self.coded(state, thread) else { continue };
                let choice = spec.steps[slot].alternatives.iter().position(|&other| other == op);
                if let Some(choice) = choice.filter(|_| self.may_issue(state, thread, op)) {
                    actions.push(Action::Issue { thread: thread as u8, choice: choice as u8 });
                }
                continue;
            }
            let Some(slot) = self.next_slot(state, thread) else { continue };
            for (choice, &op) in spec.steps[slot].alternatives.iter().enumerate() {
                if self.may_issue(state, thread, op) {
                    actions.push(Action::Issue { thread: thread as u8, choice: choice as u8 });
                }
            }
        }
    }

    /// The messages that may arrive.
    pub fn deliveries(&self, state: &[u32], actions: &mut Vec<Action>) {
        let mut last = None;
        for (position, &number) in self.network(state).iter().enumerate() {
            let place = match self.routes[number as usize] {
                Route::Pool(_) => (Route::Nowhere, number),
                route @ (Route::Queue(_) | Route::Instant | Route::Nowhere) => (route, 0),
            };
            if last != Some(place) {
                actions.push(Action::Deliver { position: position as u16 });
            }
            last = Some(place);
        }
    }

    /// The lines that may leave.
    pub fn evictions(&self, state: &[u32], actions: &mut Vec<Action>) {
        let free = match self.config.evictions {
            Evictions::WhenNeeded => 0,
            Evictions::PrivateAnytime => usize::from(self.config.topology.l1s),
            Evictions::Anytime => self.controllers,
        };
        for (agent, &node) in state[..free].iter().enumerate() {
            let evictable = self.nodes.node(node).evictable;
            for line in (0..self.config.lines).filter(|line| evictable >> line & 1 == 1) {
                actions.push(Action::Evict { agent: agent as u8, line });
            }
        }
    }

    /// Makes a move. Where it is not possible now, nothing changes and the answer is `false`.
    pub fn apply(&mut self, action: Action, state: &mut State) -> Result<bool, Violation> {
        match action {
            Action::Issue { thread, choice } => {
                let thread = usize::from(thread);
                let Some(slot) = self.next_slot(state, thread) else { return Ok(false) };
                let index = thread * self.slots + slot;
                let request = self.first_request[index] + u32::from(choice);
                let spec = &self.config.threads[thread];
                let cache = spec.cache;
                if matches!(spec.steps[slot].alternatives[usize::from(choice)], Op::Barrier { .. }) {
                    state[self.ops_at + index] = Progress::Answered(choice, 0).pack();
                    return Ok(true);
                }
                state[self.ops_at + index] = Progress::Outstanding(choice).pack();
                let offer = self.offer(state, cache, StepInput::Request(request))?;
                if !matches!(offer, Offer::Consumed) {
                    state[self.ops_at + index] = Progress::Waiting.pack();
                }
                Ok(!matches!(offer, Offer::Refused))
            }
            Action::Deliver { position } => {
                let number = state[self.network_at + usize::from(position)];
                self.deliver(state, number)
            }
            Action::Evict { agent, line } => {
                let result = self.step(state[usize::from(agent)], StepInput::Evict(line));
                self.commit_if_done(state, u16::from(agent), result)
            }
            Action::Time(passage) => self.pass_time(passage, state),
        }
    }

    /// Lets time pass. Answers `false` where that changes nothing.
    fn pass_time(&mut self, passage: Passage, state: &mut State) -> Result<bool, Violation> {
        let before = state.clone();
        for number in &mut state[self.network_at..] {
            *number = self.nodes.aged_message(*number, passage);
        }
        self.route_new_messages();
        for agent in 0..self.controllers as u16 {
            let result = self.step(state[usize::from(agent)], StepInput::Time(passage));
            self.commit_if_done(state, agent, result)?;
        }
        Ok(*state != before)
    }

    /// Whether time matters to the protocol.
    pub fn has_counters(&self) -> bool {
        self.protocol.counters() == Counters::Synchronised
    }

    fn deliver(&mut self, state: &mut State, number: u32) -> Result<bool, Violation> {
        let message = *self.nodes.message(number);
        let (role, _) = self.config.topology.role(message.dst);
        let offer = if role == Role::Memory {
            self.memory_takes(state, number, &message)?;
            Offer::Consumed
        } else {
            self.offer(state, message.dst.0, StepInput::Message(number))?
        };
        match offer {
            Offer::Consumed => {
                let head = self.network(state).iter().position(|&other| other == number);
                if let Some(head) = head {
                    state.remove(self.network_at + head);
                }
                Ok(true)
            }
            Offer::EvictedOnly => Ok(true),
            Offer::Refused => Ok(false),
        }
    }

    fn memory_takes(&mut self, state: &mut State, number: u32, message: &Message<WORDS>) -> Result<(), Violation> {
        if let Some(journal) = &mut self.journal {
            journal.push(Happening::Memory(number));
        }
        let mut data = self.memory_line(state, message.line.0 as usize);
        match message.kind {
            memory::WB => {
                data.merge(message.mask, &message.data);
                let at = self.controllers + message.line.0 as usize * WORDS;
                state[at..at + WORDS].copy_from_slice(&data.0);
                Ok(())
            }
            _ => {
                let answer = self.nodes.add_message(&message.reply_line(memory::MEM_DATA, &data));
                self.route_new_messages();
                self.send(state, answer)
            }
        }
    }

    /// Gives an input to a controller, first making room if it asks for that.
    fn offer(&mut self, state: &mut State, agent: u16, input: StepInput) -> Result<Offer, Violation> {
        let mut evicted = false;
        loop {
            let result = self.step(state[usize::from(agent)], input);
            if self.commit_if_done(state, agent, result)? {
                return Ok(Offer::Consumed);
            }
            let victim = match self.nodes.result(result).outcome {
                Ok(StepOutcome::Evict(victim)) => victim,
                Ok(StepOutcome::Done | StepOutcome::Stall) | Err(_) => {
                    return Ok(if evicted { Offer::EvictedOnly } else { Offer::Refused });
                }
            };
            let eviction = self.step(state[usize::from(agent)], StepInput::Evict(victim.0 as u8));
            if !self.commit_if_done(state, agent, eviction)? {
                return Ok(if evicted { Offer::EvictedOnly } else { Offer::Refused });
            }
            evicted = true;
        }
    }

    fn step(&mut self, node: u32, input: StepInput) -> u32 {
        let result = self.nodes.step(node, input);
        self.route_new_messages();
        result
    }

    /// Takes over what a step did, unless its input was refused.
    fn commit_if_done(&mut self, state: &mut State, agent: u16, result: u32) -> Result<bool, Violation> {
        if !self.has_room(state, result) {
            return Ok(false);
        }
        let step = self.nodes.result(result);
        let (after, sent, completed) = (step.after, step.sent.len(), step.completions.len());
        let (outcome, honest) = (step.outcome, step.honest);
        if outcome != Ok(StepOutcome::Stall)
            && let Some(journal) = &mut self.journal
        {
            journal.push(Happening::Step(result));
        }
        if !honest {
            return Err(Violation::RefusalWithEffects { agent: self.config.topology.name(AgentId(agent)) });
        }
        if outcome? != StepOutcome::Done {
            return Ok(false);
        }
        state[usize::from(agent)] = after;
        for index in 0..completed {
            let completion = &self.nodes.result(result).completions[index];
            let (txn, data) = (completion.txn, completion.data);
            self.answer(state, txn, &data)?;
        }
        for index in 0..sent {
            let number = self.nodes.result(result).sent[index];
            self.send(state, number)?;
        }
        Ok(true)
    }

    fn answer(&self, state: &mut State, txn: Txn, data: &LineData<WORDS>) -> Result<(), Violation> {
        if txn == WARMING {
            return Ok(());
        }
        let index = txn.0 as usize;
        let thread = index / self.slots.max(1);
        let unexpected = |op: String| Violation::UnexpectedAnswer { thread, op };
        let Some(word) = state[..self.network_at].get_mut(self.ops_at + index) else {
            return Err(unexpected(format!("operation {index}")));
        };
        let steps = &self.config.threads[thread].steps;
        let op = |choice: u8| steps[index % self.slots].alternatives[usize::from(choice)];
        match Progress::unpack(*word) {
            Progress::Outstanding(choice) => {
                let value = match op(choice) {
                    Op::Load { at, .. } | Op::Atomic { at, .. } => data.0[usize::from(at.word)],
                    Op::Store { .. } | Op::Fence { .. } | Op::Barrier { .. } => 0,
                };
                *word = Progress::Answered(choice, value).pack();
                Ok(())
            }
            Progress::Answered(choice, _) => Err(unexpected(op(choice).to_string())),
            Progress::Waiting => Err(unexpected(format!("operation {}", index % self.slots))),
        }
    }

    fn send(&mut self, state: &mut State, number: u32) -> Result<(), Violation> {
        let message = self.nodes.message(number);
        let (dst, name) = (message.dst, self.protocol.messages()[usize::from(message.kind.0)].name);
        match self.routes[number as usize] {
            Route::Queue(key) | Route::Pool(key) => {
                let pooled = matches!(self.routes[number as usize], Route::Pool(_));
                let behind = |&other: &u32| match self.routes[other as usize] {
                    Route::Queue(k) | Route::Pool(k) => k > key || (pooled && k == key && other > number),
                    Route::Instant | Route::Nowhere => false,
                };
                let position = self.network(state).iter().position(behind).unwrap_or(state.len() - self.network_at);
                state.insert(self.network_at + position, number);
                Ok(())
            }
            Route::Instant => match self.offer(state, dst.0, StepInput::Message(number))? {
                Offer::Consumed => Ok(()),
                Offer::EvictedOnly | Offer::Refused => {
                    Err(Violation::InstantStalled { agent: self.config.topology.name(dst), message: name })
                }
            },
            Route::Nowhere => Err(Violation::NoSuchAgent { message: name, agent: dst.0 }),
        }
    }

    /// Finds the channels of messages that were never seen before.
    fn route_new_messages(&mut self) {
        let topology = self.config.topology;
        let agents = u32::from(topology.l1s + 2 * topology.l2s);
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
        self.journal = Some(Vec::new());
        let moved = self.apply(action, state);
        (moved, self.journal.take().unwrap_or_default())
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
        let index = txn.0 as usize;
        let (thread, slot) = (index / self.slots, index % self.slots);
        let step = self.config.threads.get(thread)?.steps.get(slot)?;
        let choice = self.progress(state, thread, slot).choice()?;
        Some((thread, step.alternatives[usize::from(choice)]))
    }
}

/// An operation as the private cache gets it.
fn request(op: &Op, wave: u16, txn: Txn) -> CoreRequest<WORDS> {
    let (core_op, value) = match *op {
        Op::Load { .. } => (CoreOp::Load, 0),
        Op::Store { value, .. } => (CoreOp::Store, value),
        Op::Atomic { op, operand, .. } => (CoreOp::Atomic(op), operand),
        // A barrier never reaches a cache.
        Op::Fence { .. } | Op::Barrier { .. } => (CoreOp::Fence, 0),
    };
    let mut data = LineData::default();
    let (mut line, mut mask) = (LineAddr(0), ByteMask::EMPTY);
    if let Some(at) = op.location() {
        (line, mask) = (LineAddr(u64::from(at.line)), ByteMask::word(usize::from(at.word)));
        data.0[usize::from(at.word)] = value;
    }
    CoreRequest { op: core_op, order: op.order(), scope: op.scope(), line, mask, data, wave, txn }
}
