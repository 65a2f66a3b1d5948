//! The simulator of a machine: compute units, private caches, crossbars, shared banks and memory channels on one event
//! wheel.
//!
//! Controllers belong to the protocol. Everything here is about time, queues and counting. [`core_pipeline`] issues
//! instructions and hands accesses to private caches. [`store_buffering`] holds stores before private caches.
//! [`messages`] moves messages, which [`packets`] holds. [`between_modules`] moves them from module to module, and
//! [`translation`] through translation units. [`last_level`] and [`memory_channel`] move lines behind the banks.
//! [`dispatch`] places the work-groups of a [`launch`], [`boundary`] begins and ends kernels, and [`commands`] gives
//! shared banks the commands between kernels. [`stuck`] explains runs that hang.

mod between_modules;
mod boundary;
mod build;
mod commands;
mod core_pipeline;
mod dispatch;
mod last_level;
mod launch;
mod memory_channel;
mod messages;
mod packets;
mod store_buffering;
mod stuck;
mod translation;

use std::collections::VecDeque;

use chorus_protocol::access::{CoreOp, CoreRequest, Order, Scope, Txn};
use chorus_protocol::address::{AgentId, LineAddr, Role, Topology};
use chorus_protocol::controller::{Controller, Outbox, Unspecified};
use chorus_protocol::line::{ByteMask, LineData};
use chorus_protocol::message::{Message, MessageSpec, Size};
use chorus_protocol::registry::{Delivery, Protocol, Values};
use chorus_system::SystemConfig;
use launch::Launch;
use packets::Packets;

use crate::clock::{Clock, ClockDomains, Ticks};
use crate::command_processor::CommandProcessor;
use crate::compute_unit::ComputeUnit;
use crate::definitions::metric_key;
use crate::dram::MemoryChannel;
use crate::fabric::Fabric;
use crate::frontend::{HostMemory, ReadOnlyWritten, Undeclared};
use crate::l3::Slice;
use crate::network::Interconnect;
use crate::pages::Pages;
use crate::sharing::Sharing;
use crate::stats::Stats;
use crate::store_buffer::StoreBuffer;
use crate::wheel::Wheel;
pub(crate) use boundary::STREAMS_MAX;
pub use stuck::{StuckCause, StuckReport, StuckWave};
use translation::TranslationUnit;

/// An event on the event wheel.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// A compute unit issues an instruction.
    Issue(u16),
    /// The head of a compute unit's access queue goes to its private cache.
    Access(u16),
    /// An access's values reach its wavefront.
    AccessDone { unit: u16, access: u32 },
    /// A wavefront's local data access ends.
    LdsDone { unit: u16, wave: u16 },
    /// A message leaves its controller, or comes to the next port of its path to another module.
    Inject(u32),
    /// The port of a private cache, a bank or a translation unit is free to send.
    Send { from: Role, port: u16 },
    /// A message is at its destination.
    Arrive(u32),
    /// A translation unit has looked a message up.
    Translate(u32),
    /// The state of a translation unit or its cache has changed, and inputs that wait there are tried again.
    RetryTranslation(u16),
    /// A bank serves its next input.
    Serve(u16),
    /// A bank that could not take requests because of a crowded port to other modules tries again.
    Retry(u16),
    /// A memory channel decides its next request.
    Decide(u16),
    /// A slice of the L3 knows whether it holds a line.
    LookUp(u32),
    /// A slice of the L3 takes its next write-back.
    WriteBack(u16),
    /// A line has come from memory to its slice of the L3.
    Filled(u32),
    /// A line has been read from the L3 or memory and is at its bank.
    Fetched(u32),
    /// A controller is woken at the time that it asked for.
    Wake(AgentId),
    /// The command processor starts the work-groups of a stream's kernel.
    Dispatch(u8),
    /// The commands for a stream's kernel have arrived at their modules.
    Command(u8),
    /// A bank has carried out a command for a stream's kernel.
    CommandDone(u8),
}

/// A shared bank: its controller and the queues before it.
struct Bank<const W: usize> {
    controller: Box<dyn Controller<W>>,
    /// One queue per virtual network and origin. On one module there is one origin. On machines of several modules,
    /// messages of the module itself, of other modules of the GPU and of other GPUs have a queue each. So requests that
    /// wait for a port, or for an answer from another GPU, never hold up the messages that this port or this GPU waits
    /// for.
    queues: Vec<VecDeque<u32>>,
    /// How many inputs wait in all queues.
    waiting: usize,
    /// Which queues are not empty, one bit each.
    occupied: u32,
    /// The origin whose messages are served first next time: 0 the module, 1 the GPU, 2 other GPUs.
    next_origin: usize,
    /// Whether an event lets the bank try again when a port to other modules is less crowded.
    retry_planned: bool,
    from_memory: VecDeque<u32>,
    /// The time at which the bank can serve its next input.
    free: Ticks,
    scheduled: bool,
    stall: BankStall,
    stalled_since: Option<Ticks>,
    /// Requests that have left for the memory channel but are not in its queue yet.
    to_memory: usize,
}

impl<const W: usize> Bank<W> {
    /// Makes an idle bank with this many queues.
    fn new(controller: Box<dyn Controller<W>>, queues: usize) -> Self {
        Bank {
            controller,
            queues: vec![VecDeque::with_capacity(64); queues],
            waiting: 0,
            occupied: 0,
            next_origin: 0,
            retry_planned: false,
            from_memory: VecDeque::with_capacity(64),
            free: 0,
            scheduled: false,
            stall: BankStall::None,
            stalled_since: None,
            to_memory: 0,
        }
    }
}

impl<const W: usize> Bank<W> {
    /// Whether no input waits.
    fn is_idle(&self) -> bool {
        self.waiting == 0 && self.from_memory.is_empty()
    }

    /// Adds a message to a queue.
    fn put(&mut self, queue: usize, id: u32) {
        self.queues[queue].push_back(id);
        self.occupied |= 1 << queue;
        self.waiting += 1;
    }

    /// Removes the message at a place of a queue.
    fn take(&mut self, queue: usize, place: usize) {
        let waiting = &mut self.queues[queue];
        if place == 0 {
            waiting.pop_front();
        } else {
            waiting.remove(place);
        }
        if waiting.is_empty() {
            self.occupied &= !(1 << queue);
        }
        self.waiting -= 1;
    }
}

/// The reason why a bank does not serve the inputs that wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BankStall {
    /// The bank is not stalled.
    None,
    /// The state of the lines that the inputs concern.
    Lines,
    /// The network port, until it has sent something.
    Port,
    /// The memory channel, until it has room.
    Memory,
}

/// A private cache: its controller and the messages that it could not take yet.
struct PrivateCache<const W: usize> {
    controller: Box<dyn Controller<W>>,
    queues: Vec<VecDeque<u32>>,
    /// How many messages wait in all queues.
    waiting: usize,
    /// The request of the access at the head of the compute unit's queue. It is stored until the controller accepts it.
    head: CoreRequest<W>,
    /// Whether `head` describes the access at the head of the queue.
    head_is_current: bool,
    /// The store buffer before the cache, where units have one.
    store_buffer: Option<StoreBuffer<W>>,
    /// Streams whose kernel boundary the cache could not accept yet, one bit each.
    boundaries_waiting: u64,
}

impl<const W: usize> PrivateCache<W> {
    /// Makes an idle private cache.
    fn new(controller: Box<dyn Controller<W>>, networks: usize, store_buffer_entries: u32) -> Self {
        PrivateCache {
            controller,
            queues: vec![VecDeque::new(); networks],
            waiting: 0,
            head: lineless_request(CoreOp::Fence, Order::AcqRel, Scope::Gpu, 0, Txn(0)),
            head_is_current: false,
            store_buffer: StoreBuffer::new(store_buffer_entries),
            boundaries_waiting: 0,
        }
    }
}

/// Reasons why a simulation ends without a result.
#[derive(Debug, thiserror::Error)]
pub enum SimError {
    /// The protocol has no transition for something that happened.
    #[error(transparent)]
    Unspecified(#[from] Unspecified),
    /// The program deadlocked or livelocked.
    #[error("{0}")]
    Stuck(Box<StuckReport>),
    /// The protocol cannot be built for this machine.
    #[error("{0}")]
    Unsupported(String),
    /// A kernel touches what it does not declare.
    #[error("{0}")]
    Undeclared(Box<Undeclared>),
    /// A kernel writes what its program declares read-only.
    #[error("{0}")]
    ReadOnlyWritten(Box<ReadOnlyWritten>),
}

/// A simulated machine with a protocol, which runs programs.
pub(crate) struct Simulator<'a, const W: usize> {
    config: &'a SystemConfig,
    clocks: ClockDomains,
    topology: Topology,
    specs: &'static [MessageSpec],
    latencies: Latencies,
    /// Flits of a message, by the bytes of its data.
    flits: Vec<u16>,
    pub(crate) stats: Stats,
    pub(crate) memory: HostMemory,
    wheel: Wheel<Event>,
    units: Vec<ComputeUnit>,
    caches: Vec<PrivateCache<W>>,
    /// The banks of the L2, followed by the banks of an L3.
    banks: Vec<Bank<W>>,
    tus: Vec<TranslationUnit<W>>,
    network: Interconnect,
    /// The links between modules, where there are several.
    fabric: Option<Fabric>,
    pages: Pages,
    sharing: Sharing,
    /// The module and GPU of every agent.
    places: Vec<(u8, u8)>,
    /// The slices of a memory-side L3, one beside each bank; none where there is no such L3.
    slices: Vec<Slice>,
    /// One memory channel for each bank. Banks that send nothing to memory have one too.
    channels: Vec<MemoryChannel>,
    /// The latency from each bank to the memory controller.
    memory_legs: Vec<Ticks>,
    channel_scheduled: Vec<bool>,
    packets: Packets<W>,
    outbox: Outbox<W>,
    /// Messages that take no time. They wait until the step that sent them has ended.
    instant: VecDeque<Message<W>>,
    /// The last injection of each agent on each virtual network, and to memory.
    injected: Vec<Ticks>,
    lanes_per_agent: usize,
    delivery: Delivery,
    values: Values,
    /// The time at which each agent is woken next, where the protocol has synchronised counters.
    wakes: Option<Vec<Option<Ticks>>>,
    pub(crate) processor: CommandProcessor,
    /// Whether accesses of kernels are checked against their annotations, where the command processor relies on these.
    check_annotations: bool,
    /// The kernel that each stream runs, or the last one that it ran.
    launches: Vec<Launch>,
    /// Whether a kernel has finished or is over since the launches were last examined.
    launches_changed: bool,
    /// Streams whose kernels are over and whose programs have not been told.
    over: VecDeque<usize>,
    /// Private caches that could not accept a kernel boundary yet, counted once for each kernel.
    boundaries_waiting: u32,
    waves_started: u64,
    progress: Ticks,
}

/// The latencies of the configuration, in ticks.
struct Latencies {
    l1: Ticks,
    /// Latency of a CPU core's private cache.
    cpu_l1: Ticks,
    l2_tag: Ticks,
    l2_data: Ticks,
    /// Latency that an L2 bank adds to data that it passes on from the next level.
    l2_fill: Ticks,
    tu: Ticks,
    l3: Ticks,
}

impl Latencies {
    fn new(config: &SystemConfig, clocks: &ClockDomains) -> Latencies {
        let data = clocks.l2.cycles(u64::from(config.l2.data_latency_cycles));
        let l1_clock = |own: Clock| if config.network.mesh().is_some() { clocks.network } else { own };
        Latencies {
            l1: l1_clock(clocks.core).cycles(u64::from(config.l1.latency_cycles)),
            cpu_l1: l1_clock(clocks.cpu).cycles(u64::from(config.l1.latency_cycles)),
            l2_tag: clocks.l2.cycles(u64::from(config.l2.tag_latency_cycles)),
            l2_data: data,
            // Data from an L3 is passed on as it arrives.
            l2_fill: if config.has_coherent_l3() { 0 } else { data },
            tu: clocks.network.cycles(u64::from(config.tu.latency_cycles)),
            l3: clocks.core.cycles(config.memory_side_l3().map_or(0, |(_, way)| u64::from(way.latency_cycles))),
        }
    }

    /// The lookup latency of the private cache of a CPU core or of a compute unit.
    fn of_l1(&self, is_cpu: bool) -> Ticks {
        if is_cpu { self.cpu_l1 } else { self.l1 }
    }
}

impl<'a, const W: usize> Simulator<'a, W> {
    /// The time, in core cycles.
    pub(crate) fn cycles(&self) -> u64 {
        self.clocks.core.count(self.wheel.now())
    }

    /// The time, in nanoseconds.
    pub(crate) fn nanoseconds(&self) -> f64 {
        self.clocks.nanoseconds(self.wheel.now())
    }

    /// The clock domains of the machine.
    pub(crate) fn clocks(&self) -> &ClockDomains {
        &self.clocks
    }

    /// Runs until the kernel of a stream is over. Returns the stream. Memory is then as the kernels of the stream left
    /// it.
    pub(crate) fn run_until_over(&mut self) -> Result<usize, SimError> {
        let idle_max = self.clocks.core.cycles(self.config.watchdog.idle_cycles);
        let time_max = self.clocks.core.cycles(self.config.watchdog.cycles);
        // Progress only moves the limit later, so the limit is computed again only when the old one has passed.
        let mut limit = 0;
        loop {
            if self.launches_changed
                && let Some(stream) = self.end_finished_kernels()?
            {
                if self.values == Values::Carried {
                    self.write_back_for_host();
                }
                return Ok(stream);
            }
            let Some(event) = self.wheel.pop() else {
                return Err(self.stuck(StuckCause::Deadlock));
            };
            self.handle(event)?;
            let now = self.wheel.now();
            if now > limit {
                limit = (self.progress + idle_max).min(time_max);
                if now - self.progress > idle_max {
                    return Err(self.stuck(StuckCause::Livelock));
                }
                if now > time_max {
                    return Err(self.stuck(StuckCause::TooLong));
                }
            }
        }
    }

    fn handle(&mut self, event: Event) -> Result<(), SimError> {
        match event {
            Event::Issue(unit) => self.issue(unit).map_err(|error| *error)?,
            Event::Access(unit) => self.serve_accesses(unit)?,
            Event::AccessDone { unit, access } => self.access_done(unit, access),
            Event::LdsDone { unit, wave } => self.advance_wave(unit, usize::from(wave)),
            Event::Inject(id) => self.inject(id),
            Event::Send { from, port } => self.wake_port(from, port),
            Event::Arrive(id) => self.arrive(id)?,
            Event::Translate(id) => self.translate(id)?,
            Event::RetryTranslation(unit) => self.retry_translation(unit)?,
            Event::Serve(bank) => self.serve_bank(bank)?,
            Event::Retry(bank) => self.retry_crowded(bank),
            Event::Decide(channel) => self.decide_memory(channel),
            Event::LookUp(id) => self.look_up(id),
            Event::WriteBack(bank) => self.take_write_back(bank),
            Event::Filled(id) => self.filled(id),
            Event::Fetched(id) => self.fetched(id)?,
            Event::Wake(agent) => self.wake(agent)?,
            Event::Dispatch(stream) => self.dispatch(usize::from(stream)),
            Event::Command(stream) => self.command_all(usize::from(stream))?,
            Event::CommandDone(stream) => self.command_done(usize::from(stream))?,
        }
        Ok(())
    }

    /// The tallies of all controllers, summed, under the keys of metrics.
    pub(crate) fn tallies(&self, protocol: &dyn Protocol) -> Vec<(String, f64)> {
        let banks = self.banks.iter().map(|bank| &bank.controller);
        let units = self.tus.iter().map(|unit| &unit.controller);
        let controllers: Vec<_> = banks.chain(self.caches.iter().map(|cache| &cache.controller)).chain(units).collect();
        let total = |index: usize| -> u64 {
            controllers.iter().filter_map(|controller| controller.tallies().get(index)).map(|tally| tally.get()).sum()
        };
        let specs = protocol.tallies().iter().enumerate();
        specs.map(|(index, spec)| (metric_key(spec), total(index) as f64)).collect()
    }

    /// Writes the dirty data of all caches to memory, so that the host reads what the caches would answer. Copies
    /// nearer to a core are newer and are written later. This takes no simulated time.
    fn write_back_for_host(&mut self) {
        let (words, pages, topology, specs) = (self.memory.words_mut(), &self.pages, self.topology, self.specs);
        let mut write = |line, mask, data: &LineData<W>| write_line(words, pages.virtual_line(line), mask, data);
        let sent = |from: Role| {
            let with_data = |message: &Message<W>| specs[usize::from(message.kind.0)].size != Size::Control;
            let live = self.packets.live().filter(move |(packet, message)| packet.from == from && with_data(message));
            live.map(|(packet, message)| (packet.to, packet.destination, message))
        };
        let over = self.launches.iter().all(|launch| launch.phase == launch::Phase::Over);
        // As far as the shared cache knows, its client still owns the lines that a translation unit writes back, or the
        // lines are there already.
        if over && !self.tus.is_empty() {
            self.tus.iter().for_each(|unit| unit.controller.dirty_lines(&mut write));
            sent(Role::Tu).for_each(|(_, _, message)| write(message.line, message.mask, &message.data));
        }
        let (l2, l3) = self.banks.split_at(usize::from(topology.l2s));
        l3.iter().for_each(|bank| bank.controller.dirty_lines(&mut write));
        if !l3.is_empty() {
            let to_l3 = sent(Role::L2).filter(|&(to, bank, _)| to == Role::L2 && bank >= topology.l2s);
            to_l3.for_each(|(_, _, message)| write(message.line, message.mask, &message.data));
        }
        // The bytes that another module has written of a line are newer than the copy at its home.
        for at_home in [true, false] {
            for (bank, module) in l2.iter().zip((0..).map(|bank| bank / topology.banks_per_module())) {
                bank.controller.dirty_lines(&mut |line, mask, data| {
                    if (topology.home_module(line) == module) == at_home {
                        write(line, mask, data);
                    }
                });
            }
        }
        if !over {
            return;
        }
        // Every wavefront has finished, so data in transit to a bank was written back by a private cache and is newer
        // than the copy of the bank.
        sent(Role::L1).for_each(|(_, _, message)| write(message.line, message.mask, &message.data));
        for cache in &self.caches {
            cache.controller.dirty_lines(&mut write);
        }
    }

    /// The role and index of an agent. The banks of an L3 count as further banks of the L2 here.
    #[inline]
    fn role_and_index(&self, agent: AgentId) -> (Role, u16) {
        match self.topology.role(agent) {
            (Role::L3, index) => (Role::L2, self.topology.l2s + index),
            role_and_index => role_and_index,
        }
    }

    /// The controller of an agent.
    fn controller(&mut self, agent: AgentId) -> &mut Box<dyn Controller<W>> {
        match self.role_and_index(agent) {
            (Role::L1, index) => &mut self.caches[usize::from(index)].controller,
            (Role::Tu, index) => &mut self.tus[usize::from(index)].controller,
            (Role::L2 | Role::L3 | Role::Memory, index) => &mut self.banks[usize::from(index)].controller,
        }
    }
}

/// Writes the masked bytes of a virtual line into memory.
fn write_line<const W: usize>(words: &mut [u32], line: LineAddr, mask: ByteMask, data: &LineData<W>) {
    let start = line.0 as usize * W;
    let mut current = read_line::<W>(words, line);
    current.merge(mask, data);
    for (word, value) in words.iter_mut().skip(start).zip(current.0) {
        *word = value;
    }
}

/// Reads a virtual line from memory. Words beyond the end of memory are zero.
fn read_line<const W: usize>(words: &[u32], line: LineAddr) -> LineData<W> {
    let start = line.0 as usize * W;
    let mut data = LineData::default();
    if let Some(whole) = words.get(start..start + W) {
        data.0.copy_from_slice(whole);
    } else {
        data.0.iter_mut().zip(words.iter().skip(start)).for_each(|(value, word)| *value = *word);
    }
    data
}

/// A request that concerns no line.
fn lineless_request<const W: usize>(op: CoreOp, order: Order, scope: Scope, wave: u16, txn: Txn) -> CoreRequest<W> {
    CoreRequest { op, order, scope, line: LineAddr(0), mask: ByteMask::EMPTY, data: LineData::default(), wave, txn }
}
