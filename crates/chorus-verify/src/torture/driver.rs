//! Runs one episode: gives controllers their inputs in a random order, and takes their messages and completions.

use std::collections::VecDeque;
use std::ops::Range;

use chorus_protocol::access::{Completion, CoreOp, CoreRequest, LoadRequest, Order, Scope, Txn};
use chorus_protocol::address::{AgentId, LineAddr, Role, Topology};
use chorus_protocol::controller::{Controller, Input, Outbox, Outcome, Passage, PlainState, StateBytes, Time};
use chorus_protocol::line::{ByteMask, LineData};
use chorus_protocol::message::{Channel, Message, memory};
use chorus_protocol::registry::{Build, Counters, Protocol, Values};

use super::boundary::Notice;
use super::coherence::{Logged, Orders};
use super::coverage::Coverage;
use super::elide::Elision;
use super::lower::{Micro, lower};
use super::network::{Event, Evicted, Network};
use super::operations::Operations;
use super::problem::Problem;
use super::program::{Kind, Program, Scopes, WORDS, Word};
use super::random::Random;
use super::setup::{Episode, Setup};
use super::trace::Trace;
use super::wavefront::Wavefront;

/// The number of attempts to give an input without progress of any wavefront that counts as a livelock. It has a
/// minimum, a maximum and a number for each operation of the program, since wavefronts that wait make attempts too.
const PATIENCE_MIN: u64 = 4_000;
const PATIENCE_MAX: u64 = 30_000;
const PATIENCE_PER_OPERATION: u64 = 100;

/// The number of steps for which an operation may wait.
const STARVATION: u64 = 20_000;

/// The most lines that are evicted for one input.
const EVICTIONS_MAX: u32 = 4;

/// One attempt in so many is checked for effects of refusals.
const AUDIT_ONE_IN: u32 = 64;

/// A channel or wavefront that waits for a controller to change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waiter {
    /// A channel with its oldest message.
    Channel(u32),
    /// A wavefront with its next operation.
    Wave(u16),
}

/// A machine, with memory that is used again from episode to episode.
pub(super) struct Driver {
    pub(super) protocol: &'static dyn Protocol,
    fault: Option<u8>,
    pub(super) coverage: Coverage,
    /// The number of inputs consumed.
    pub(super) steps: u64,
    /// The number of inputs refused.
    pub(super) refusals: u64,
    pub(super) random: Random,
    pub(super) now: Time,
    pub(super) setup: Setup,
    pub(super) kind: Kind,
    pub(super) controllers: Vec<Box<dyn Controller<WORDS>>>,
    memory: Vec<LineData<WORDS>>,
    pub(super) network: Network,
    instant: VecDeque<Message<WORDS>>,
    wakes: Vec<Option<Time>>,
    pub(super) stalled: Vec<Vec<Waiter>>,
    out: Outbox<WORDS>,
    before: StateBytes,
    after: StateBytes,
    /// The number of attempts since a wavefront last made progress.
    pub(super) attempts: u64,
    /// The number of steps after which starvation is looked for.
    next_look: u64,
    /// The number of evictions since anything else happened.
    pub(super) quiet_evictions: u32,
    pub(super) waves: Vec<Wavefront>,
    pub(super) code: Vec<Micro>,
    ranges: Vec<Range<usize>>,
    pub(super) operations: Operations,
    /// The number of wavefronts that have not issued everything.
    pub(super) running: usize,
    /// The number of wavefronts that wait for the next kernel.
    pub(super) arrived: usize,
    /// The notice of a kernel's end or beginning that is given next.
    pub(super) notice: Notice,
    /// The number of its receivers that are not done yet.
    pub(super) hearing: usize,
    /// The table that knows which commands to shared banks are needed, where it is used.
    pub(super) elision: Option<Elision>,
    /// The scopes of the program's synchronisation.
    pub(super) scopes: Scopes,
    /// The right value of each word, in programs without data races.
    pub(super) shadow: Vec<u32>,
    /// The old values that atomics counting in each word have returned, one bit each.
    pub(super) counted: Vec<Vec<u64>>,
    pub(super) log: Vec<Logged>,
    orders: Orders,
    finals: Vec<u32>,
    /// The last value that was given to a store.
    pub(super) last_value: u32,
    pub(super) trace: Option<Trace>,
}

impl Driver {
    /// A driver for a protocol, with a fault built in or none.
    pub(super) fn new(protocol: &'static dyn Protocol, fault: Option<u8>, episode: &Episode) -> Driver {
        Driver {
            protocol,
            fault,
            coverage: Coverage::default(),
            steps: 0,
            refusals: 0,
            random: Random::new(0),
            now: 1,
            setup: episode.setup,
            kind: Kind::Racy,
            controllers: Vec::new(),
            memory: Vec::new(),
            network: Network::default(),
            instant: VecDeque::new(),
            wakes: Vec::new(),
            stalled: Vec::new(),
            out: Outbox::default(),
            before: StateBytes::default(),
            after: StateBytes::default(),
            attempts: 0,
            next_look: 0,
            quiet_evictions: 0,
            waves: Vec::new(),
            code: Vec::new(),
            ranges: Vec::new(),
            operations: Operations::default(),
            running: 0,
            arrived: 0,
            notice: Notice::FIRST,
            hearing: 0,
            elision: None,
            scopes: episode.program.scopes.clone(),
            shadow: Vec::new(),
            counted: Vec::new(),
            log: Vec::new(),
            orders: Orders::default(),
            finals: Vec::new(),
            last_value: 0,
            trace: None,
        }
    }

    /// Runs an episode to its end.
    pub(super) fn run(&mut self, episode: &Episode) -> Result<(), Problem> {
        self.reset(episode)?;
        let operations = episode.program.operations() as u64;
        let patience = PATIENCE_MAX.min(PATIENCE_MIN + PATIENCE_PER_OPERATION * operations);
        while !self.is_over() {
            let Some((time, event)) = self.network.pop() else {
                return Err(Problem::Deadlock(self.waiting()));
            };
            self.now = self.now.max(time);
            self.quiet_evictions = if matches!(event, Event::Evict(_)) { self.quiet_evictions + 1 } else { 0 };
            match event {
                Event::Issue(wave) => self.issue(wave)?,
                Event::Deliver(channel) => self.deliver(channel)?,
                Event::Wake(agent) => self.wake(agent)?,
                Event::Evict(evicted) => self.evict_something(evicted)?,
            }
            while self.arrived == self.waves.len() && self.hearing == 0 && self.arrived > 0 {
                self.tell_of_kernel()?;
            }
            if self.attempts > patience {
                return Err(Problem::Livelock { steps: self.attempts, waiting: self.waiting() });
            }
            if self.steps >= self.next_look {
                self.look_for_starvation()?;
            }
        }
        self.check_end(&episode.program)
    }

    fn reset(&mut self, episode: &Episode) -> Result<(), Problem> {
        let Episode { setup, program, schedule } = episode;
        (self.setup, self.kind, self.random) = (*setup, program.kind, Random::new(*schedule));
        self.setup.topology = self.protocol.structure().complete(setup.topology);
        (self.now, self.attempts, self.last_value, self.quiet_evictions) = (1, 0, 0, 0);
        self.next_look = self.steps + STARVATION;
        (self.arrived, self.hearing, self.notice) = (0, 0, self.first_notice());
        self.scopes.clone_from(&program.scopes);
        self.plan_elision(program);
        let (topology, build) = (self.setup.topology, self.setup.build_config(self.fault));
        let agents = topology.controllers();
        self.controllers.clear();
        for agent in 0..agents {
            let (role, index) = topology.role(AgentId(agent));
            let controller = Build::<WORDS>::build(self.protocol, role, index, &build);
            self.controllers.push(controller.ok_or_else(|| Problem::NoController { agent: self.name(agent) })?);
        }
        let words = usize::from(setup.lines) * WORDS;
        self.shadow.clear();
        self.shadow.extend((0..words as u8).map(|word| program.initial(Word(word))));
        self.memory.clear();
        self.memory.extend(self.shadow.chunks_exact(WORDS).map(|line| LineData(std::array::from_fn(|at| line[at]))));
        refill(&mut self.wakes, usize::from(agents), None);
        self.counted.resize_with(words, Vec::new);
        self.counted.iter_mut().for_each(Vec::clear);
        self.stalled.resize_with(usize::from(agents), Vec::new);
        self.stalled.iter_mut().for_each(Vec::clear);
        self.log.clear();
        self.instant.clear();
        self.network.reset(self.protocol, &self.setup);
        self.operations.reset();
        lower(program, &mut self.code, &mut self.ranges);
        self.waves.clear();
        self.waves.extend(program.slots.iter().zip(&self.ranges).map(|(&slot, range)| Wavefront::new(slot, range)));
        self.running = self.waves.iter().filter(|wave| !wave.has_ended()).count();
        for wave in 0..self.waves.len() as u16 {
            self.go_on(wave);
        }
        for evicted in [Evicted::Private, Evicted::Shared, Evicted::Entry] {
            if self.eviction_ticks(evicted) > 0 {
                self.network.schedule(1, Event::Evict(evicted), &mut self.random);
            }
        }
        Ok(())
    }

    /// Looks for an operation that has waited for too many steps.
    #[cold]
    fn look_for_starvation(&mut self) -> Result<(), Problem> {
        self.next_look = self.steps + STARVATION / 16;
        let Some(oldest) = self.operations.oldest().filter(|oldest| self.steps - oldest.issued > STARVATION) else {
            return Ok(());
        };
        let wave = self.waves[usize::from(oldest.wave)].slot.to_string();
        let (operation, steps) = (oldest.micro.to_string(), self.steps - oldest.issued);
        Err(Problem::Starvation { wave, operation, steps, waiting: self.waiting() })
    }

    fn is_over(&self) -> bool {
        self.running == 0 && self.operations.outstanding() == 0 && self.network.in_flight == 0
    }

    /// The name of an agent.
    pub(super) fn name(&self, agent: u16) -> String {
        self.setup.topology.name(AgentId(agent))
    }

    pub(super) fn topology(&self) -> Topology {
        self.setup.topology
    }

    /// Gives an input to a controller, first making room if it asks for that. Returns whether it was consumed.
    pub(super) fn offer(&mut self, agent: u16, input: &Input<'_, WORDS>) -> Result<bool, Problem> {
        let consumed = self.try_input(agent, input)?;
        while let Some(message) = self.instant.pop_front() {
            if self.attempts > PATIENCE_MAX {
                return Err(Problem::Livelock { steps: self.attempts, waiting: self.waiting() });
            }
            if !self.try_input(message.dst.0, &Input::Message(&message))? {
                let input = self.protocol.messages()[usize::from(message.kind.0)].name;
                return Err(Problem::NotAtOnce { agent: self.name(message.dst.0), input });
            }
        }
        Ok(consumed)
    }

    fn try_input(&mut self, agent: u16, input: &Input<'_, WORDS>) -> Result<bool, Problem> {
        for _ in 0..EVICTIONS_MAX {
            match self.step(agent, input)? {
                Outcome::Done => return Ok(true),
                Outcome::Stall => return Ok(false),
                outcome @ (Outcome::Evict(_) | Outcome::EvictEntry(_)) => {
                    if let Some(eviction) = outcome.eviction()
                        && self.step(agent, &eviction)? != Outcome::Done
                    {
                        return Ok(false);
                    }
                }
            }
        }
        Ok(false)
    }

    fn step(&mut self, agent: u16, input: &Input<'_, WORDS>) -> Result<Outcome, Problem> {
        self.out.clear();
        (self.out.now, self.out.evicts) = (self.now, self.setup.shortcuts);
        self.attempts += 1;
        let index = usize::from(agent);
        // Counters that begin anew may do so in an attempt that is refused. A controller that evicts by itself may have
        // evicted before it found that it must refuse.
        let may_change = self.protocol.counters() != Counters::None || self.setup.shortcuts;
        let audits = !may_change && self.random.once_in(AUDIT_ONE_IN);
        if audits {
            self.before.0.clear();
            PlainState::encode(&*self.controllers[index], &mut self.before);
        }
        let controller = &mut self.controllers[index];
        let class = controller.classify(input, self.now);
        let hits = self.setup.shortcuts && self.protocol.values() == Values::Carried;
        let result = match hits && load_hit(&mut **controller, input, &mut self.out) {
            true => Ok(Outcome::Done),
            false => controller.step(input, &mut self.out),
        };
        if let Some(trace) = &mut self.trace {
            let slot = |wave: u16| self.waves.get(usize::from(wave)).map(|wave| wave.slot);
            let op = match input {
                Input::Core(request) => self.operations.get(request.txn).map(|op| (slot(op.wave), op.micro)),
                Input::Message(_) | Input::Evict(_) | Input::EvictEntry(_) | Input::Time(_) => None,
            };
            trace.step(&self.setup, self.protocol, &**controller, agent, input, class, &result, &self.out, op);
        }
        let outcome = result?;
        self.plan_wake(agent);
        if outcome == Outcome::Done {
            self.steps += 1;
            if let Some(class) = class {
                self.coverage.record(self.controllers[index].vocabulary(), &class);
            }
            self.commit(agent)?;
            return Ok(outcome);
        }
        self.refusals += 1;
        let mut unchanged = self.out.messages.is_empty() && self.out.completions.is_empty();
        if self.setup.shortcuts {
            if !unchanged {
                self.commit(agent)?;
            }
            return Ok(outcome);
        }
        if audits {
            self.after.0.clear();
            PlainState::encode(&*self.controllers[index], &mut self.after);
            unchanged &= self.before == self.after;
        }
        if unchanged { Ok(outcome) } else { Err(Problem::RefusalWithEffects { agent: self.name(agent) }) }
    }

    fn plan_wake(&mut self, agent: u16) {
        let Some(time) = self.out.wake.take() else { return };
        let planned = &mut self.wakes[usize::from(agent)];
        if planned.is_none_or(|earlier| time < earlier) {
            *planned = Some(time);
            self.network.schedule(time.max(self.now), Event::Wake(agent), &mut self.random);
        }
    }

    fn wake(&mut self, agent: u16) -> Result<(), Problem> {
        let planned = &mut self.wakes[usize::from(agent)];
        if planned.is_none_or(|time| time > self.now) {
            return Ok(());
        }
        *planned = None;
        self.offer(agent, &Input::Time(Passage::Wake))?;
        Ok(())
    }

    /// Takes the messages and completions of a step, and lets everything try again that waits for the controller to
    /// change.
    fn commit(&mut self, agent: u16) -> Result<(), Problem> {
        if !self.out.completions.is_empty() {
            let mut completions = std::mem::take(&mut self.out.completions);
            for completion in completions.drain(..) {
                self.answered(agent, completion.txn, &completion.data)?;
            }
            self.out.completions = completions;
        }
        if !self.out.messages.is_empty() {
            let mut messages = std::mem::take(&mut self.out.messages);
            for message in messages.drain(..) {
                self.send(&message)?;
            }
            self.out.messages = messages;
        }
        if !self.stalled[usize::from(agent)].is_empty() {
            let mut stalled = std::mem::take(&mut self.stalled[usize::from(agent)]);
            for waiter in stalled.drain(..) {
                let time = self.now + Time::from(self.random.below(3));
                let event = match waiter {
                    Waiter::Channel(channel) => Event::Deliver(channel),
                    Waiter::Wave(wave) => Event::Issue(wave),
                };
                self.network.schedule(time, event, &mut self.random);
            }
            self.stalled[usize::from(agent)] = stalled;
        }
        Ok(())
    }

    fn send(&mut self, message: &Message<WORDS>) -> Result<(), Problem> {
        let spec = &self.protocol.messages()[usize::from(message.kind.0)];
        let is_instant = spec.channel == Channel::Instant;
        let exists = match is_instant {
            true => usize::from(message.dst.0) < self.controllers.len(),
            false => self.network.has(message.dst.0),
        };
        if !exists {
            return Err(Problem::NoSuchAgent { message: spec.name, agent: message.dst.0 });
        }
        if is_instant {
            self.instant.push_back(*message);
        } else {
            self.network.send(message, spec.channel, self.now, &mut self.random);
        }
        Ok(())
    }

    fn deliver(&mut self, channel: u32) -> Result<(), Problem> {
        let Some(message) = self.network.front(channel) else { return Ok(()) };
        if self.network.is_blocked(channel) {
            self.stalled[usize::from(message.dst.0)].push(Waiter::Channel(channel));
            return Ok(());
        }
        let (role, _) = self.topology().role(message.dst);
        let consumed = match role {
            Role::Memory => {
                self.memory_takes(&message);
                true
            }
            Role::L1 | Role::L2 | Role::L3 | Role::Tu => self.offer(message.dst.0, &Input::Message(&message))?,
        };
        if consumed {
            self.network.take(channel, self.now, &mut self.random);
        } else {
            self.network.refuse(channel);
            self.stalled[usize::from(message.dst.0)].push(Waiter::Channel(channel));
        }
        Ok(())
    }

    fn memory_takes(&mut self, message: &Message<WORDS>) {
        if let Some(trace) = &mut self.trace {
            trace.memory(&self.setup, self.protocol, self.now, message);
        }
        let Some(data) = self.memory.get_mut(message.line.0 as usize) else { return };
        if message.kind == memory::WB {
            data.merge(message.mask, &message.data);
        } else {
            let answer = message.reply_line(memory::MEM_DATA, data);
            self.network.send(&answer, Channel::Memory, self.now, &mut self.random);
        }
    }

    /// Checks the caches and memory when everything is answered and delivered.
    fn check_end(&mut self, program: &Program) -> Result<(), Problem> {
        for agent in 0..self.controllers.len() {
            if !self.controllers[agent].quiescent() {
                return Err(Problem::NotQuiescent { agent: self.name(agent as u16) });
            }
        }
        // A copy farther from the memory of a line is newer.
        let (memory, topology) = (&mut self.memory, self.setup.topology);
        for stations in 0..=Topology::STATIONS_MAX {
            for (agent, controller) in self.controllers.iter().enumerate() {
                controller.dirty_lines(&mut |line, mask, data| {
                    let is_so_far = topology.stations(AgentId(agent as u16), line) == stations;
                    if let Some(words) = memory.get_mut(line.0 as usize).filter(|_| is_so_far) {
                        words.merge(mask, data);
                    }
                });
            }
        }
        self.finals.clear();
        self.finals.extend(self.memory.iter().flat_map(|line| line.0));
        if self.kind == Kind::Racy {
            let checked = self.orders.check(&self.log, &self.finals, self.last_value + 1, &program.slots);
            return checked.map_err(|reason| Problem::Incoherent { reason });
        }
        match self.finals.iter().zip(&self.shadow).position(|(got, expected)| got != expected) {
            None => Ok(()),
            Some(index) => {
                let (got, expected) = (self.finals[index], self.shadow[index]);
                Err(Problem::WrongFinal { word: Word(index as u8).to_string(), got, expected })
            }
        }
    }

    /// Everything that waits, in words.
    fn waiting(&self) -> String {
        let mut waiting: Vec<String> = Vec::new();
        for wave in self.waves.iter().filter(|wave| !wave.has_ended() || wave.is_waiting()) {
            waiting.push(wave.describe(&self.code));
        }
        for message in self.network.messages() {
            let name = self.protocol.messages()[usize::from(message.kind.0)].name;
            waiting.push(format!("{name} from {} is at {}", self.name(message.src.0), self.name(message.dst.0)));
        }
        let more = waiting.len().saturating_sub(8);
        waiting.truncate(8);
        let text = if waiting.is_empty() { "an operation has no answer".to_owned() } else { waiting.join("; ") };
        if more > 0 { format!("{text}; and {more} more") } else { text }
    }
}

/// Answers a load that hits without a step. Returns whether it did.
fn load_hit(controller: &mut dyn Controller<WORDS>, input: &Input<'_, WORDS>, out: &mut Outbox<WORDS>) -> bool {
    let Input::Core(request) = input else { return false };
    let CoreRequest { op: CoreOp::Load, line, mask, order, scope, txn, .. } = **request else { return false };
    let data = controller.load_hit(&LoadRequest { line, mask, order, scope }, out.now);
    data.map(|data| out.completions.push(Completion { txn, data: *data })).is_some()
}

/// Fills a vector with equal values, reusing its memory.
fn refill<T: Clone>(values: &mut Vec<T>, length: usize, value: T) {
    values.clear();
    values.resize(length, value);
}

/// A request that concerns no line.
pub(super) fn lineless(op: CoreOp, scope: Scope, wave: u16, txn: Txn) -> CoreRequest<WORDS> {
    CoreRequest {
        op,
        order: Order::AcqRel,
        scope,
        line: LineAddr(0),
        mask: ByteMask::EMPTY,
        data: LineData::default(),
        wave,
        txn,
    }
}
