//! A machine made from its configuration.

use std::collections::VecDeque;
use std::ops::Range;

use chorus_protocol::address::{AgentId, Role, Topology};
use chorus_protocol::cache::Replacement;
use chorus_protocol::controller::Outbox;
use chorus_protocol::read_only::ReadOnlyLines;
use chorus_protocol::registry::{Build, BuildConfig, CacheShape, Counters, DirectoryShape, Protocol, Reach, Structure};
use chorus_protocol::sharers::Sharers;
use chorus_system::{DirectoryReplacement, Placement, SystemConfig};

use super::between_modules::ORIGINS;
use super::packets::Packets;
use super::{Bank, Latencies, PrivateCache, SimError, Simulator, TranslationUnit};
use crate::clock::ClockDomains;
use crate::command_processor::CommandProcessor;
use crate::compute_unit::ComputeUnit;
use crate::dram::MemoryChannel;
use crate::fabric::Fabric;
use crate::frontend::HostMemory;
use crate::l3::Slice;
use crate::network::Interconnect;
use crate::pages::{HOME_SHIFT, Pages};
use crate::sharing::Sharing;
use crate::simulate::Settings;
use crate::stats::Stats;
use crate::wheel::Wheel;

impl<'a, const W: usize> Simulator<'a, W> {
    /// Makes an idle simulator.
    pub(crate) fn new<P>(
        config: &'a SystemConfig,
        protocol: &P,
        settings: Settings,
        memory: HostMemory,
    ) -> Result<Self, SimError>
    where
        P: Protocol + Build<W> + ?Sized,
    {
        let clocks = ClockDomains::of(config);
        check_structure(config, protocol.structure(), protocol.title())?;
        let topology = protocol.structure().complete(topology(config));
        check_reach(topology, protocol.reach(), protocol.title(), &config.name)?;
        let several = topology.modules() > 1;
        let build = build_config(config, topology, settings, read_only_lines::<W>(config, &memory));
        let networks = usize::from(protocol.virtual_networks());
        let Controllers { caches, banks, tus } = Controllers::new(config, protocol, &build)?;
        let network = Interconnect::new(config, topology, protocol.virtual_networks(), &clocks);
        let agents = usize::from(topology.controllers());
        Ok(Simulator {
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
            units: (0..topology.l1s).map(|unit| ComputeUnit::new(config, &clocks, topology.is_cpu(unit))).collect(),
            channels: banks
                .iter()
                .map(|_| MemoryChannel::new(&config.dram, clocks.dram, config.l1.line_bytes))
                .collect(),
            channel_scheduled: vec![false; banks.len()],
            memory_legs: (0..banks.len()).map(|bank| network.memory_leg(bank as u16)).collect(),
            caches,
            banks,
            tus,
            network,
            fabric: several.then(|| Fabric::new(config, &clocks)),
            slices: slices(config, topology, &clocks, protocol.writes_through(&settings.parameters)),
            packets: Packets::default(),
            outbox: Outbox { evicts: true, ..Outbox::default() },
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

/// All controllers, with the queues before them.
struct Controllers<const W: usize> {
    caches: Vec<PrivateCache<W>>,
    banks: Vec<Bank<W>>,
    tus: Vec<TranslationUnit<W>>,
}

impl<const W: usize> Controllers<W> {
    /// Builds the controllers of a protocol for a machine.
    fn new<P>(config: &SystemConfig, protocol: &P, build: &BuildConfig) -> Result<Self, SimError>
    where
        P: Protocol + Build<W> + ?Sized,
    {
        let topology = build.topology;
        let networks = usize::from(protocol.virtual_networks());
        let bank_queues = networks * if topology.modules() > 1 { ORIGINS } else { 1 };
        let controller = |role: Role, index: u16| {
            protocol
                .build(role, index, build)
                .ok_or_else(|| SimError::Unsupported(format!("{} has no {} controller", protocol.title(), role.name())))
        };
        let stores = |index| {
            if topology.is_cpu(index) { config.cpu.store_buffer_entries } else { config.core.store_buffer_entries }
        };
        let of = |role, count| (0..count).map(move |index| (role, index));
        let caches = of(Role::L1, topology.l1s)
            .map(|(role, index)| Ok(PrivateCache::new(controller(role, index)?, networks, stores(index))));
        let banks = of(Role::L2, topology.l2s)
            .chain(of(Role::L3, topology.l3s))
            .map(|(role, index)| Ok(Bank::new(controller(role, index)?, bank_queues)));
        let tus = of(Role::Tu, topology.tus)
            .map(|(role, index)| Ok(TranslationUnit::new(controller(role, index)?, networks)));
        Ok(Controllers {
            caches: caches.collect::<Result<_, SimError>>()?,
            banks: banks.collect::<Result<_, SimError>>()?,
            tus: tus.collect::<Result<_, SimError>>()?,
        })
    }
}

/// The agents of a machine with this configuration.
fn topology(config: &SystemConfig) -> Topology {
    let modules = config.hierarchy.modules();
    Topology {
        gpus: config.hierarchy.gpus as u16,
        gpms: config.hierarchy.gpms as u16,
        interleave: config.l2.interleave_lines,
        home_shift: HOME_SHIFT,
        cpus: config.cpu.count as u16,
        ..Topology::one_gpu((config.cpu.count + config.core.count * modules) as u16, (config.l2.banks * modules) as u16)
    }
}

/// The slices of a memory-side L3, or none.
fn slices(config: &SystemConfig, topology: Topology, clocks: &ClockDomains, writes_through: bool) -> Vec<Slice> {
    let count = if config.l3.is_memory_side() { topology.l2s } else { 0 };
    let slice = || Slice::new(&config.l3, &config.dram, clocks.core, config.l1.line_bytes, writes_through);
    (0..count).map(|_| slice()).collect()
}

/// The module and GPU of every agent.
fn places(topology: Topology) -> Vec<(u8, u8)> {
    let agents = (0..topology.agents()).map(AgentId);
    let modules = agents.map(|agent| topology.module_of(agent));
    modules.map(|module| (module as u8, topology.gpu_of(module) as u8)).collect()
}

/// Refuses machines with more or fewer levels of coherent caches than the protocol has.
fn check_structure(config: &SystemConfig, structure: Structure, protocol: &str) -> Result<(), SimError> {
    let system = &config.name;
    match (structure.has_l3(), config.l3.is_coherent()) {
        (true, false) => Err(SimError::Unsupported(format!(
            "{protocol} is a protocol for three levels of caches; the system {system} has no coherent L3 (l3.kind and l3.bank_bytes)\n\
             hint: the system spandex-hier has one"
        ))),
        (false, true) => Err(SimError::Unsupported(format!(
            "{protocol} is a protocol for two levels of caches; the system {system} has a coherent L3 behind them (l3.kind and l3.bank_bytes)\n\
             hint: --set l3.bank_bytes=0 leaves it out, and the system spandex has none"
        ))),
        (true, true) | (false, false) => Ok(()),
    }
}

/// Refuses machines that are too large for protocols of one module: machines of several modules, and machines with more
/// private caches than such protocols tell apart.
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

/// The lines that the program declares read-only. They are known in advance only where pages are not placed while the
/// program runs.
fn read_only_lines<const W: usize>(config: &SystemConfig, memory: &HostMemory) -> ReadOnlyLines {
    let lines = |words: &Range<usize>| (words.start / W) as u64..(words.end / W) as u64;
    match config.memory.placement {
        Placement::Single => ReadOnlyLines::longest(memory.read_only().iter().map(lines)),
        Placement::FirstTouch | Placement::Interleaved | Placement::Block | Placement::Buffer => ReadOnlyLines::NONE,
    }
}

fn has_store_buffers(config: &SystemConfig) -> bool {
    config.core.store_buffer_entries > 0 || config.cpu.count > 0 && config.cpu.store_buffer_entries > 0
}

fn build_config(
    config: &SystemConfig,
    topology: Topology,
    settings: Settings,
    read_only: ReadOnlyLines,
) -> BuildConfig {
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
        l3: CacheShape {
            sets: (config.l3.bank_bytes / line / config.l3.ways).max(1),
            ways: config.l3.ways,
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
        // The lines that leave store buffers have a wavefront number of their own.
        waves: config.core.wavefronts as u16 + u16::from(has_store_buffers(config)),
        fences: settings.fences,
        read_only,
        parameters: settings.parameters,
        fault: settings.fault,
    }
}
