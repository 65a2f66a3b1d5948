//! A machine made from its configuration.

use std::collections::VecDeque;

use chorus_protocol::address::{AgentId, Role, Topology};
use chorus_protocol::cache::Replacement;
use chorus_protocol::controller::Outbox;
use chorus_protocol::registry::{Build, BuildConfig, CacheShape, Counters, DirectoryShape, Protocol, Reach};
use chorus_protocol::sharers::Sharers;
use chorus_system::{DirectoryReplacement, SystemConfig};

use super::between_modules::SIDES;
use super::flights::Flights;
use super::{Bank, Latencies, Machine, PrivateCache, SimError};
use crate::clock::ClockDomains;
use crate::command_processor::CommandProcessor;
use crate::compute_unit::ComputeUnit;
use crate::crossbar::Crossbar;
use crate::dram::Channel;
use crate::fabric::Fabric;
use crate::frontend::HostMemory;
use crate::l3::Slice;
use crate::pages::{HOME_SHIFT, Pages};
use crate::sharing::Sharing;
use crate::simulate::Settings;
use crate::stats::Stats;
use crate::wheel::Wheel;

impl<'a, const W: usize> Machine<'a, W> {
    /// An idle machine.
    pub(crate) fn new<P>(
        config: &'a SystemConfig,
        protocol: &P,
        settings: Settings,
        memory: HostMemory,
    ) -> Result<Self, SimError>
    where
        P: Protocol + Build<W> + ?Sized,
    {
        let clocks = ClockDomains::new(&config.clocks);
        let topology = topology(config);
        check_reach(topology, protocol.reach(), protocol.title(), &config.name)?;
        let several = topology.modules() > 1;
        let build = build_config(config, topology, settings);
        let networks = usize::from(protocol.virtual_networks());
        let bank_queues = networks * if several { SIDES } else { 1 };
        let controller = |role: Role, index: u16| {
            protocol
                .build(role, index, &build)
                .ok_or_else(|| SimError::Unsupported(format!("{} has no {} controller", protocol.title(), role.name())))
        };
        let caches = (0..topology.l1s).map(|index| Ok(PrivateCache::new(controller(Role::L1, index)?, networks)));
        let caches = caches.collect::<Result<Vec<_>, SimError>>()?;
        let banks = (0..topology.l2s).map(|index| Ok(Bank::new(controller(Role::L2, index)?, bank_queues)));
        let banks = banks.collect::<Result<Vec<_>, SimError>>()?;
        let crossbar = |inputs, outputs| {
            Crossbar::new(inputs, outputs, protocol.virtual_networks(), &config.network, clocks.network)
        };
        let agents = usize::from(topology.l1s + topology.l2s);
        Ok(Machine {
            config,
            clocks,
            topology,
            specs: protocol.messages(),
            latencies: Latencies::new(config, &clocks),
            flits: (0..=W as u32 * 4).map(|bytes| 1 + bytes.div_ceil(config.network.flit_bytes) as u16).collect(),
            stats: Stats::default(),
            pages: Pages::new(&config.memory, config.hierarchy.modules(), memory.buffers(), config.l1.line_bytes),
            memory,
            wheel: Wheel::default(),
            units: (0..topology.l1s).map(|_| ComputeUnit::new(config, &clocks)).collect(),
            caches,
            banks,
            requests: crossbar(topology.l1s, topology.l2s),
            responses: crossbar(topology.l2s, topology.l1s),
            fabric: several.then(|| Fabric::new(config, &clocks)),
            slices: slices(config, topology, &clocks, protocol.writes_through(&settings.parameters)),
            channels: channels(config, topology, &clocks),
            channel_scheduled: vec![false; usize::from(topology.l2s)],
            in_flight: Flights::default(),
            outbox: Outbox::default(),
            instant: VecDeque::new(),
            injected: vec![0; agents * (networks + 1)],
            lanes_per_agent: networks + 1,
            delivery: protocol.delivery(),
            values: protocol.values(),
            sharing: Sharing::new(topology.gpus),
            places: places(topology),
            wakes: (protocol.counters() == Counters::Synchronised).then(|| vec![None; agents]),
            processor: CommandProcessor::new(config, &clocks, protocol, &settings.parameters),
            check_annotations: settings.check_annotations,
            launches: Vec::new(),
            launches_changed: false,
            over: VecDeque::new(),
            boundaries_waiting: 0,
            waves_started: 0,
            progress: 0,
        })
    }
}

/// The memory channels, one beside every shared bank.
fn channels(config: &SystemConfig, topology: Topology, clocks: &ClockDomains) -> Vec<Channel> {
    (0..topology.l2s).map(|_| Channel::new(&config.dram, clocks.dram, config.l1.line_bytes)).collect()
}

/// The agents of a configuration.
fn topology(config: &SystemConfig) -> Topology {
    let modules = config.hierarchy.modules();
    Topology {
        gpus: config.hierarchy.gpus as u16,
        gpms: config.hierarchy.gpms as u16,
        l1s: (config.core.count * modules) as u16,
        l2s: (config.l2.banks * modules) as u16,
        interleave: config.l2.interleave_lines,
        home_shift: HOME_SHIFT,
    }
}

/// The slices of the L3, or none.
fn slices(config: &SystemConfig, topology: Topology, clocks: &ClockDomains, writes_through: bool) -> Vec<Slice> {
    let count = if config.l3.bank_bytes == 0 { 0 } else { topology.l2s };
    let slice = || Slice::new(&config.l3, &config.dram, clocks.core, config.l1.line_bytes, writes_through);
    (0..count).map(|_| slice()).collect()
}

/// Module and GPU of every private cache, bank and memory channel.
fn places(topology: Topology) -> Vec<(u8, u8)> {
    let agents = (0..topology.l1s + 2 * topology.l2s).map(AgentId);
    let modules = agents.map(|agent| topology.module_of(agent));
    modules.map(|module| (module as u8, topology.gpu_of(module) as u8)).collect()
}

/// Refuses machines that are too large for protocols of one module: those of several, and those with more private caches than such protocols tell apart.
fn check_reach(topology: Topology, reach: Reach, protocol: &str, system: &str) -> Result<(), SimError> {
    if reach != Reach::OneModule {
        return Ok(());
    }
    let (modules, caches, most) = (topology.modules(), topology.l1s, Sharers::CAPACITY);
    if modules > 1 {
        return Err(SimError::Unsupported(format!(
            "{protocol} is a protocol for the caches of one module; the system {system} has {modules} (hierarchy.gpus x hierarchy.gpms)\n\
             hint: --set hierarchy.gpus=1 --set hierarchy.gpms=1 makes it one, and `chorus list protocols` names protocols that reach further"
        )));
    }
    if caches > most {
        return Err(SimError::Unsupported(format!(
            "{protocol} tells at most {most} private caches apart; the system {system} has {caches} (core.count)\n\
             hint: --set core.count={most} leaves as many, and `chorus list protocols` names protocols that track modules instead"
        )));
    }
    Ok(())
}

fn build_config(config: &SystemConfig, topology: Topology, settings: Settings) -> BuildConfig {
    let policy = |replacement| match replacement {
        chorus_system::Replacement::Lru => Replacement::Lru,
        chorus_system::Replacement::Fifo => Replacement::Fifo,
    };
    let line = config.l1.line_bytes;
    BuildConfig {
        topology,
        l1: CacheShape {
            sets: config.l1.size_bytes / line / config.l1.ways,
            ways: config.l1.ways,
            mshrs: config.l1.mshrs,
            replacement: policy(config.l1.replacement),
        },
        l2: CacheShape {
            sets: config.l2.bank_bytes / line / config.l2.ways,
            ways: config.l2.ways,
            mshrs: config.l2.mshrs,
            replacement: policy(config.l2.replacement),
        },
        directory: DirectoryShape {
            sets: config.directory.entries / config.l2.banks / config.directory.ways,
            ways: config.directory.ways,
            lines_per_entry: config.directory.lines_per_entry,
            range_lines: (config.directory.range.bytes() / line).max(1),
            replacement: match config.directory.replacement {
                DirectoryReplacement::Own => None,
                DirectoryReplacement::Lru => Some(Replacement::Lru),
                DirectoryReplacement::Fifo => Some(Replacement::Fifo),
            },
        },
        page_lines: (config.memory.page_bytes / line).max(1),
        waves: config.core.wavefronts as u16,
        fences: settings.fences,
        parameters: settings.parameters,
        fault: settings.fault,
    }
}
