//! The plan of a machine: everything about it that does not change while it runs.

use chorus_kernel::WaveMachine;
use chorus_protocol::address::{AgentId, Role, Topology};
use chorus_protocol::message::{Channel, Message, MessageSpec, Size};
use chorus_protocol::registry::{Counters, Delivery, Protocol, Values};
use chorus_system::SystemConfig;

use super::paths::Paths;
use crate::clock::{Clock, ClockDomains, Ticks};
use crate::jitter::Jitter;
use crate::network::Network;
use crate::simulate::Settings;
use crate::watch::Watch;

/// A time that never comes.
pub(crate) const NEVER: Ticks = Ticks::MAX;

/// The place of an agent in the machine.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) role: Role,
    /// Its number among the agents of its role. Banks of an L3 count as further banks of the L2.
    pub(super) index: u16,
    pub(super) module: u16,
    pub(super) gpu: u16,
    /// The agent that names its component: itself, or the cache that a translation unit belongs to.
    pub(super) component: AgentId,
}

/// The latencies of the configuration, in ticks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Latencies {
    pub(super) l1: Ticks,
    /// Latency of a CPU core's private cache.
    pub(super) cpu_l1: Ticks,
    pub(super) l2_tag: Ticks,
    pub(super) l2_data: Ticks,
    /// Latency that an L2 bank adds to data that it passes on from the next level.
    pub(super) l2_fill: Ticks,
    pub(super) tu: Ticks,
    pub(super) l3: Ticks,
    /// Latency of the network of a module, without hops.
    pub(super) network: Ticks,
}

impl Latencies {
    fn new(config: &SystemConfig, clocks: &ClockDomains) -> Latencies {
        let data = clocks.l2.cycles(u64::from(config.l2.data_latency_cycles));
        let (core, cpu) = match config.network.mesh() {
            None => (clocks.core, clocks.cpu),
            Some(_) => (clocks.network, clocks.network),
        };
        Latencies {
            l1: core.cycles(u64::from(config.l1.latency_cycles)),
            cpu_l1: cpu.cycles(u64::from(config.l1.latency_cycles)),
            l2_tag: clocks.l2.cycles(u64::from(config.l2.tag_latency_cycles)),
            l2_data: data,
            // Data from an L3 is passed on as it arrives.
            l2_fill: if config.has_coherent_l3() { 0 } else { data },
            tu: clocks.network.cycles(u64::from(config.tu.latency_cycles)),
            l3: config.memory_side_l3().map_or(0, |(_, way)| clocks.core.cycles(u64::from(way.latency_cycles))),
            network: clocks.network.cycles(u64::from(config.network.latency_cycles())),
        }
    }

    /// The lookup latency of the private cache of a CPU core or of a compute unit.
    pub(super) fn of_l1(&self, is_cpu: bool) -> Ticks {
        if is_cpu { self.cpu_l1 } else { self.l1 }
    }
}

/// Everything about a machine that does not change while it runs.
pub(super) struct Plan<'a> {
    pub(super) config: &'a SystemConfig,
    pub(super) clocks: ClockDomains,
    /// The facts that wavefronts know of the machine.
    pub(super) waves: WaveMachine,
    pub(super) topology: Topology,
    pub(super) specs: &'static [MessageSpec],
    pub(super) latencies: Latencies,
    /// Flits of a message, by the bytes of its data.
    pub(super) flits: Vec<u16>,
    /// Bytes of a message without data.
    pub(super) header_bytes: u32,
    pub(super) delivery: Delivery,
    pub(super) values: Values,
    pub(super) counters: Counters,
    /// Whether caches take longer for an atomic the more parts it has.
    pub(super) counts_parts: bool,
    /// Bytes of a sector, where caches fetch lines by sectors.
    pub(super) sector_bytes: Option<u32>,
    /// Whether somebody observes the run.
    pub(super) is_observed: bool,
    /// Whether anything is to be done before a step: controllers are told the time, or the run is observed.
    pub(super) notes_steps: bool,
    /// Whether anything is to be done for a message beyond sending it: it carries sectors, or the run is observed.
    pub(super) notes_messages: bool,
    /// Whether loads that hit may go past the step of the private cache. They may not where the memory is functional
    /// or the run is observed.
    pub(super) has_load_hits: bool,
    /// Virtual networks of the protocol.
    pub(super) networks: usize,
    pub(super) places: Vec<Place>,
    /// The network of a module, where its messages share links.
    pub(super) network: Option<Network>,
    /// The ways between modules, where there are several.
    pub(super) paths: Option<Paths>,
    /// Whether a message occupies a window of its source until its destination has taken it.
    pub(super) has_credits: bool,
    /// The least time between an event in a component and what it causes in another one.
    pub(super) crossing: Ticks,
    /// How long components run alone: at most `crossing`.
    pub(super) window: Ticks,
    /// The least time between an event in a component and what it causes in another GPU or at the host.
    pub(super) span: Ticks,
    /// How long partitions run alone: at most `span`.
    pub(super) turn: Ticks,
    /// Whether components must not run ahead of each other at all.
    pub(super) is_in_step: bool,
    /// The seed of the run.
    seed: u64,
    /// Whether the latencies of accesses are noted.
    pub(super) notes_latencies: bool,
    /// Whether it is noted who accesses which lines.
    pub(super) notes_sharing: bool,
}

impl<'a> Plan<'a> {
    /// The plan of a machine under a protocol.
    pub(super) fn new(
        config: &'a SystemConfig,
        protocol: &(impl Protocol + ?Sized),
        line_bytes: u32,
        settings: &Settings,
        watch: Watch<'_>,
    ) -> Plan<'a> {
        let (clocks, window_max) = (ClockDomains::of(config), settings.window);
        let topology = protocol.structure().complete(super::build::topology(config));
        let latencies = Latencies::new(config, &clocks);
        let network = Network::new(&config.network.kind, topology, clocks.network);
        let paths = (topology.modules() > 1).then(|| Paths::new(config, &clocks));
        let inside = network.as_ref().map_or(latencies.network, Network::least_leg);
        let crossing = paths.as_ref().map_or(inside, |paths| inside.min(paths.least_latency())).max(1);
        let between_gpus = paths.as_ref().and_then(Paths::least_latency_of_gpus);
        let span = between_gpus.map_or(crossing, |latency| latency.max(crossing));
        let (in_step, is_observed) = (runs_in_step(protocol, topology), watch.observer.is_some());
        Plan {
            config,
            clocks,
            waves: WaveMachine::of(config),
            topology,
            specs: protocol.messages(),
            latencies,
            flits: (0..=line_bytes).map(|bytes| 1 + bytes.div_ceil(config.network.flit_bytes) as u16).collect(),
            header_bytes: config.network.header_bytes,
            delivery: protocol.delivery(),
            values: protocol.values(),
            counters: protocol.counters(),
            is_observed,
            notes_steps: protocol.counters() == Counters::Synchronised || is_observed,
            notes_messages: config.l1.sector_bytes.is_some() || is_observed,
            has_load_hits: protocol.values() != Values::Functional && !is_observed,
            sector_bytes: config.l1.sector_bytes,
            counts_parts: config.l1.atomic_percent.is_some() || config.l2.atomic_percent.is_some(),
            networks: usize::from(protocol.virtual_networks()),
            places: (0..topology.agents()).map(|agent| place(topology, AgentId(agent))).collect(),
            has_credits: network.is_none() && topology.tus == 0,
            network,
            span,
            is_in_step: in_step,
            turn: if in_step { 1 } else { window_max.unwrap_or(span).clamp(1, span) },
            paths,
            crossing,
            seed: settings.seed,
            notes_latencies: watch.distributions,
            notes_sharing: watch.sharing,
            window: if in_step { 1 } else { window_max.unwrap_or(crossing).clamp(1, crossing) },
        }
    }

    /// The variation of the latency of a bank's memory channel.
    pub(super) fn jitter(&self, bank: u16) -> Option<Jitter> {
        let cycles = self.config.timing.as_ref().map_or(0, |timing| timing.jitter);
        Jitter::new(cycles, self.clocks.core, self.seed, bank)
    }

    /// The place of an agent.
    #[inline]
    pub(super) fn place(&self, agent: AgentId) -> &Place {
        &self.places[usize::from(agent.0)]
    }

    /// The row of the message table for a message.
    #[inline]
    pub(super) fn spec<const W: usize>(&self, message: &Message<W>) -> &'static MessageSpec {
        &self.specs[usize::from(message.kind.0)]
    }

    /// The sectors that memory moves if some of them are fetched.
    pub(super) fn whole_fetches(&self, sectors: u8) -> u8 {
        let each = self.config.dram.fetch_bytes.unwrap_or(1) / self.sector_bytes.unwrap_or(1).max(1);
        match each {
            0 | 1 => sectors,
            each => (0..8 / each).fold(0, |whole, number| {
                let part = ((1u16 << each) - 1) as u8;
                let is_touched = sectors >> (number * each) & part != 0;
                whole | if is_touched { part << (number * each) } else { 0 }
            }),
        }
    }

    /// The bytes of sectors, or of a whole line where there are none.
    pub(super) fn bytes_of(&self, sectors: u8) -> u32 {
        match self.sector_bytes {
            Some(bytes) if sectors != 0 => sectors.count_ones() * bytes,
            _ => self.config.l1.line_bytes,
        }
    }

    /// Whether every GPU has a dispatcher of its own.
    pub(super) fn dispatches_by_gpu(&self) -> bool {
        self.topology.gpus > 1 && !self.is_in_step
    }
}

/// The time that the parts of an access take, which are so many hundredths of a cycle: whole cycles. What is less than
/// a cycle is left in `rest` for the next access.
pub(super) fn time_of_parts(hundredths: u32, clock: Clock, rest: &mut u64) -> Ticks {
    let hundredths = *rest + u64::from(hundredths);
    *rest = hundredths % 100;
    clock.cycles((hundredths / 100).max(1))
}

/// Bytes of data that a message carries.
#[inline]
pub(super) fn payload_bytes<const W: usize>(message: &Message<W>, spec: &MessageSpec) -> u32 {
    match spec.size {
        Size::Control => 0,
        Size::Line => W as u32 * 4,
        Size::Masked => message.mask.bytes(),
    }
}

/// Whether all components of a machine have to be at the same time always: where a message takes no time between two of
/// them, or where values are those of a functional memory.
fn runs_in_step(protocol: &(impl Protocol + ?Sized), topology: Topology) -> bool {
    let takes_no_time = |spec: &MessageSpec| spec.channel == Channel::Instant;
    // The messages of translation units that take no time stay within their component.
    protocol.values() == Values::Functional || (topology.tus == 0 && protocol.messages().iter().any(takes_no_time))
}

fn place(topology: Topology, agent: AgentId) -> Place {
    let (role, index) = match topology.role(agent) {
        (Role::L3, index) => (Role::L2, topology.l2s + index),
        role_and_index => role_and_index,
    };
    let component = match role {
        Role::Tu => topology.translated(index),
        Role::L1 | Role::L2 | Role::L3 | Role::Memory => agent,
    };
    let module = topology.module_of(agent);
    Place { role, index, module, gpu: topology.gpu_of(module), component }
}
