//! Simulations: running programs on a machine, and the results.

use std::collections::BTreeMap;
use std::ops::Range;

use chorus_kernel::{HostMemory, LANES, Program, Verdict};
use chorus_protocol::message::{MessageSpec, TrafficClass};
use chorus_protocol::parameter::Parameters;
use chorus_protocol::registry::{Build, Commands, Protocol};
use chorus_protocol::save::{self, Save};
use chorus_system::SystemConfig;

use crate::clock::ClockDomains;
use crate::energy::access_energies;
use crate::issue::WAVES_MAX;
use crate::machine::{STREAMS_MAX, SimError, with_machine};
use crate::series::Series;
use crate::stats::{COUNTERS, CountedOn, Counter, Distance, Stats, Unit};
use crate::streams::run_streams;
use crate::watch::{Noted, Watch};

/// Counters and derived figures by their keys.
pub type Metrics = BTreeMap<String, f64>;

/// Results of one kernel.
#[derive(Clone, Debug, PartialEq, Save)]
pub struct KernelRun {
    /// The name of the kernel.
    pub name: String,
    /// Core cycles from launch to the end of its last wavefront.
    pub cycles: u64,
    /// Metrics of that time, over all kernels that ran at the same time.
    pub metrics: Metrics,
}

/// Results of a simulation.
#[derive(Clone, Debug, PartialEq)]
pub struct Simulated {
    /// Core cycles of the whole run.
    pub cycles: u64,
    /// Simulated time of the whole run.
    pub simulated_ns: f64,
    /// Coalesced line accesses accepted by private caches.
    pub accesses: u64,
    /// Whether the results of all programs equal the host's references.
    pub check: Verdict,
    /// Metrics of the whole run.
    pub metrics: Metrics,
    /// Results of each kernel, in order.
    pub kernels: Vec<KernelRun>,
    /// Numbers that programs have measured about themselves, by name.
    pub readings: BTreeMap<String, Vec<f64>>,
}

/// Settings of a protocol for a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The values of the protocol's parameters.
    pub parameters: Parameters,
    /// Whether the program contains fences.
    pub fences: bool,
    /// A seeded fault to build in.
    pub fault: Option<u8>,
    /// Whether accesses of kernels are checked against their annotations, where the command processor of several
    /// modules relies on these.
    pub check_annotations: bool,
    /// Threads that may share the run. Results do not depend on it.
    pub threads: u32,
    /// The longest time for which components run alone, in ticks, or nothing for as long as possible. Results do not
    /// depend on it.
    pub window: Option<u64>,
    /// The seed of the variation of memory latencies, on machines that have one (`timing.jitter`).
    pub seed: u64,
}

impl Settings {
    /// The defaults that a protocol declares, for programs that may contain fences.
    pub fn defaults(protocol: &dyn Protocol) -> Settings {
        let parameters = Parameters::defaults(protocol.parameters());
        Settings { parameters, fences: true, fault: None, check_annotations: true, threads: 1, window: None, seed: 0 }
    }
}

/// Runs `program`, whose data is in `memory`, on a machine under a protocol with its defaults.
pub fn simulate(
    config: &SystemConfig,
    protocol: &'static dyn Protocol,
    program: &mut dyn Program,
    memory: HostMemory,
) -> Result<Simulated, SimError> {
    simulate_with(config, protocol, Settings::defaults(protocol), program, memory)
}

/// Runs a program like [`simulate()`], with these settings of the protocol.
pub fn simulate_with(
    config: &SystemConfig,
    protocol: &'static dyn Protocol,
    settings: Settings,
    program: &mut dyn Program,
    memory: HostMemory,
) -> Result<Simulated, SimError> {
    let modules = 0..config.hierarchy.modules() as u16;
    simulate_streams(config, protocol, settings, &mut [Stream { program, modules }], memory)
}

/// A program whose kernels run in order, at the same time as those of other streams (CPElide paper, section II-B).
pub struct Stream<'p> {
    /// The program whose kernels run.
    pub program: &'p mut dyn Program,
    /// The modules that share its kernels.
    pub modules: Range<u16>,
}

/// Runs programs at the same time on a machine; `memory` has the data of all.
pub fn simulate_streams(
    config: &SystemConfig,
    protocol: &'static dyn Protocol,
    settings: Settings,
    streams: &mut [Stream<'_>],
    memory: HostMemory,
) -> Result<Simulated, SimError> {
    simulate_watched(config, protocol, settings, Watch::default(), streams, memory).map(|(simulated, _)| simulated)
}

/// Runs programs like [`simulate_streams`], and shows and notes what `watch` asks for.
pub fn simulate_watched(
    config: &SystemConfig,
    protocol: &'static dyn Protocol,
    settings: Settings,
    watch: Watch<'_>,
    streams: &mut [Stream<'_>],
    memory: HostMemory,
) -> Result<(Simulated, Noted), SimError> {
    if watch.observer.is_some() && (watch.checkpoints.is_some() || watch.resume.is_some()) {
        return Err(SimError::Unsupported("a run that is observed has no checkpoints".to_owned()));
    }
    let settings = Settings { threads: if watch.observer.is_some() { 1 } else { settings.threads }, ..settings };
    check_streams(config, streams)?;
    if config.core.lanes as usize != LANES {
        return Err(SimError::Unsupported(format!(
            "core.lanes is {}; kernels are written for {LANES}",
            config.core.lanes
        )));
    }
    if config.core.wavefronts as usize > WAVES_MAX {
        let given = config.core.wavefronts;
        return Err(SimError::Unsupported(format!("core.wavefronts is {given}; at most {WAVES_MAX} are supported")));
    }
    match config.l1.line_bytes {
        128 => run::<32>(config, protocol, settings, watch, streams, memory),
        64 => run::<16>(config, protocol, settings, watch, streams, memory),
        8 => run::<2>(config, protocol, settings, watch, streams, memory),
        bytes => {
            Err(SimError::Unsupported(format!("l1.line_bytes is {bytes}; lines of 8, 64 and 128 bytes are supported")))
        }
    }
}

/// Refuses more streams than can run at the same time, and modules that the machine does not have.
fn check_streams(config: &SystemConfig, streams: &[Stream<'_>]) -> Result<(), SimError> {
    let given = streams.len();
    if given > STREAMS_MAX {
        return Err(SimError::Unsupported(format!("{given} streams; at most {STREAMS_MAX} run at the same time")));
    }
    let modules = config.hierarchy.modules();
    match streams.iter().find(|stream| stream.modules.is_empty() || u32::from(stream.modules.end) > modules) {
        Some(Stream { modules: Range { start, end }, .. }) => Err(SimError::Unsupported(format!(
            "a stream is bound to modules {start}..{end}; the system {} has {modules}",
            config.name
        ))),
        None => Ok(()),
    }
}

fn run<const W: usize>(
    config: &SystemConfig,
    protocol: &'static dyn Protocol,
    settings: Settings,
    watch: Watch<'_>,
    streams: &mut [Stream<'_>],
    memory: HostMemory,
) -> Result<(Simulated, Noted), SimError>
where
    dyn Protocol: Build<W>,
{
    with_machine::<W, _>(config, protocol, settings, watch, &memory, |machine| {
        let kernels = run_streams(machine, config, protocol, streams, &memory, watch)?;
        let (simulated_ns, machine_clocks) = (machine.nanoseconds(), machine.clocks());
        let (stats, tallies) = machine.count();
        let mut metrics = metrics(&stats, simulated_ns, config, protocol, &machine_clocks);
        metrics.extend(tallies);
        let processor = machine.processor();
        if matches!(processor.commands(), Commands::Table | Commands::TableOfRanges) {
            let (structures, structures_max) = processor.structures();
            metrics.insert("table.rows_max".to_string(), processor.rows_max() as f64);
            metrics.insert("table.structures".to_string(), structures as f64);
            metrics.insert("table.structures_max".to_string(), structures_max as f64);
        }
        let of_counters = |stats: &Stats| self::metrics(stats, simulated_ns, config, protocol, &machine_clocks);
        let series = watch.every.map(|every| Series::new(every, &machine.samples(), of_counters, machine_clocks.core));
        let (distributions, sharing) = machine.notes();
        let simulated = Simulated {
            cycles: machine.cycles(),
            simulated_ns,
            accesses: stats.get(Counter::L1Accesses),
            check: streams.iter().fold(Verdict::Checked, |all, stream| all.and(stream.program.check(&memory))),
            metrics,
            kernels,
            readings: streams.iter().flat_map(|stream| stream.program.readings(&memory)).collect(),
        };
        Ok((simulated, Noted { series, distributions, sharing }))
    })
}

/// Every counter under its key, traffic by class, and interconnect energy.
pub(crate) fn metrics(
    stats: &Stats,
    elapsed_ns: f64,
    config: &SystemConfig,
    protocol: &'static dyn Protocol,
    clocks: &ClockDomains,
) -> Metrics {
    let mut metrics = Metrics::new();
    let several = config.hierarchy.modules() > 1;
    let has = |machines: CountedOn| match machines {
        CountedOn::AllMachines => true,
        CountedOn::SeveralModules => several,
        CountedOn::MemorySideL3 => config.memory_side_l3().is_some(),
        CountedOn::CoherentL3 => config.has_coherent_l3(),
        CountedOn::Sectors => config.l1.sector_bytes.is_some(),
        CountedOn::TranslationUnits => protocol.structure().is_translated(),
        CountedOn::BankCommands => several && protocol.declaration().commands != Commands::None,
    };
    for spec in COUNTERS.iter().filter(|spec| has(spec.counted_on)) {
        let value = match spec.unit {
            Unit::Count => stats.get(spec.counter),
            Unit::Cycles => clocks.core.count(stats.get(spec.counter)),
        };
        metrics.insert(spec.key.to_string(), value as f64);
    }
    let (total, has_routers) = (stats.total_traffic(), config.network.kind.has_routers());
    let classes = traffic_classes(protocol).iter().map(|&class| (format!(".{}", class.key()), stats.traffic(class)));
    for (suffix, traffic) in classes.chain([(String::new(), total)]) {
        metrics.insert(format!("traffic.flits{suffix}"), traffic.flits as f64);
        metrics.insert(format!("traffic.bytes{suffix}"), traffic.bytes as f64);
        if has_routers {
            metrics.insert(format!("traffic.flit_hops{suffix}"), traffic.flit_hops as f64);
        }
    }
    if several {
        Distance::ALL.into_iter().for_each(|distance| metrics.extend(of_distance(distance, stats, elapsed_ns, config)));
    }
    metrics.extend(access_energies(stats, config));
    let passed = if has_routers { total.flit_hops } else { total.flits };
    let (dynamic, fixed) = energy_nj(passed, elapsed_ns, config, protocol);
    metrics.insert("energy.dynamic_nj".to_string(), dynamic);
    metrics.insert("energy.static_nj".to_string(), fixed);
    metrics.insert("energy.nj".to_string(), dynamic + fixed);
    metrics
}

/// The classes by which a protocol's messages are counted.
fn traffic_classes(protocol: &dyn Protocol) -> &'static [TrafficClass] {
    let by_request = |spec: &MessageSpec| TrafficClass::BY_REQUEST.contains(&spec.class);
    if protocol.messages().iter().any(by_request) { &TrafficClass::BY_REQUEST } else { &TrafficClass::BY_CONTENTS }
}

/// Metrics of messages that go this distance, and the utilisation of the links.
fn of_distance(distance: Distance, stats: &Stats, elapsed_ns: f64, config: &SystemConfig) -> Metrics {
    let key = distance.key();
    let mut metrics = Metrics::new();
    for class in TrafficClass::BY_CONTENTS {
        let (label, sent) = (class.label().to_lowercase(), stats.distant(distance, class));
        metrics.insert(format!("{key}.messages.{label}"), sent.messages as f64);
        metrics.insert(format!("{key}.bytes.{label}"), sent.bytes as f64);
    }
    let total = stats.total_distant(distance);
    metrics.insert(format!("{key}.messages"), total.messages as f64);
    metrics.insert(format!("{key}.bytes"), total.bytes as f64);
    let hierarchy = &config.hierarchy;
    let (link, nodes, networks) = match distance {
        Distance::InterGpm => (&config.inter_gpm, hierarchy.gpms, hierarchy.gpus),
        Distance::InterGpu => (&config.inter_gpu, hierarchy.gpus, 1),
    };
    let is_routed = link.as_ref().is_some_and(|link| link.kind.is_routed());
    // Messages to another GPU leave their module by its port too, which is none of the links to single neighbours.
    let others = match distance {
        Distance::InterGpm if !is_routed => stats.total_distant(Distance::InterGpu).bytes,
        Distance::InterGpm | Distance::InterGpu => 0,
    };
    let (bytes, ports) = (total.link_bytes + others, link.as_ref().map_or(0, |link| link.kind.ports(nodes)) * networks);
    let each = link.as_ref().map_or(0, |link| link.megabytes_per_second);
    let movable = f64::from(each) * f64::from(ports) * elapsed_ns / 1e3;
    metrics.insert(format!("{key}.utilisation"), if movable > 0.0 { bytes as f64 / movable } else { 0.0 });
    metrics
}

/// Interconnect energy. Dynamic energy is spent per flit, at every router where there are some. Static energy is spent
/// per virtual-channel buffer. Every virtual network has its buffers at every port, so a protocol with more virtual
/// networks costs more (TC paper, section 8.2).
fn energy_nj(flits: u64, elapsed_ns: f64, config: &SystemConfig, protocol: &dyn Protocol) -> (f64, f64) {
    let l3_banks = if config.has_coherent_l3() { config.l2.banks } else { 0 };
    let ports = config.cpus() + (config.core.count + config.l2.banks) * config.hierarchy.modules() + l3_banks;
    let buffers = u32::from(protocol.virtual_networks()) * config.energy.vcs_per_network * ports;
    let dynamic_pj = flits as f64 * config.energy.flit_pj;
    // Microwatts times nanoseconds are femtojoules.
    let static_fj = f64::from(buffers) * config.energy.vc_buffer_uw * elapsed_ns;
    (dynamic_pj / 1e3, static_fj / 1e6)
}
