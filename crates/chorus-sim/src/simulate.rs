//! Running a program on a machine, and what comes out of it.

use std::collections::BTreeMap;

use chorus_protocol::message::TrafficClass;
use chorus_protocol::parameter::Parameters;
use chorus_protocol::registry::{Build, Protocol};
use chorus_system::SystemConfig;

use crate::clock::ClockDomains;
use crate::frontend::{HostMemory, LANES, Mismatch, Program};
use crate::issue::WAVES_MAX;
use crate::machine::{Machine, SimError};
use crate::stats::{COUNTERS, Counter, Distance, Machines, Stats, Unit};

/// Counters and derived figures by their keys.
pub type Metrics = BTreeMap<String, f64>;

/// What one kernel did.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelRun {
    /// Its name.
    pub name: String,
    /// Core cycles from launch to the end of its last wavefront.
    pub cycles: u64,
    /// Its counters.
    pub metrics: Metrics,
}

/// What a program did.
#[derive(Clone, Debug, PartialEq)]
pub struct Simulated {
    /// Core cycles.
    pub cycles: u64,
    /// Simulated time.
    pub simulated_ns: f64,
    /// Coalesced line accesses accepted by private caches.
    pub accesses: u64,
    /// Whether the result equals the host's.
    pub check: Result<(), Mismatch>,
    /// All counters.
    pub metrics: Metrics,
    /// Each kernel.
    pub kernels: Vec<KernelRun>,
}

/// How a protocol is set up for a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The values of the protocol's parameters.
    pub parameters: Parameters,
    /// Whether the program contains fences.
    pub fences: bool,
    /// A seeded fault to build in.
    pub fault: Option<u8>,
}

impl Settings {
    /// A protocol as it declares itself, for programs that may contain fences.
    pub fn defaults(protocol: &dyn Protocol) -> Settings {
        Settings { parameters: Parameters::defaults(protocol.parameters()), fences: true, fault: None }
    }
}

/// Runs `program`, whose data is in `memory`, on a machine under a protocol as it declares itself.
pub fn simulate(
    config: &SystemConfig,
    protocol: &'static dyn Protocol,
    program: &mut dyn Program,
    memory: HostMemory,
) -> Result<Simulated, SimError> {
    simulate_with(config, protocol, Settings::defaults(protocol), program, memory)
}

/// As [`simulate`], with the protocol set up as asked.
pub fn simulate_with(
    config: &SystemConfig,
    protocol: &'static dyn Protocol,
    settings: Settings,
    program: &mut dyn Program,
    memory: HostMemory,
) -> Result<Simulated, SimError> {
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
        128 => run::<32>(config, protocol, settings, program, memory),
        64 => run::<16>(config, protocol, settings, program, memory),
        8 => run::<2>(config, protocol, settings, program, memory),
        bytes => {
            Err(SimError::Unsupported(format!("l1.line_bytes is {bytes}; lines of 8, 64 and 128 bytes are supported")))
        }
    }
}

fn run<const W: usize>(
    config: &SystemConfig,
    protocol: &'static dyn Protocol,
    settings: Settings,
    program: &mut dyn Program,
    memory: HostMemory,
) -> Result<Simulated, SimError>
where
    dyn Protocol: Build<W>,
{
    let mut machine = Machine::<W>::new(config, protocol, settings, memory)?;
    let mut kernels = Vec::new();
    while let Some(kernel) = program.next_kernel(&machine.memory) {
        let (before, start, started_ns) = (machine.stats.clone(), machine.cycles(), machine.nanoseconds());
        let tallied = machine.tallies(protocol);
        machine.run_kernel(&kernel)?;
        let stats = machine.stats.since(&before);
        let elapsed_ns = machine.nanoseconds() - started_ns;
        let mut metrics = metrics(&stats, elapsed_ns, config, protocol, machine.clocks());
        let since = machine.tallies(protocol).into_iter().zip(tallied).map(|((key, now), (_, then))| (key, now - then));
        metrics.extend(since);
        kernels.push(KernelRun { name: kernel.name.clone(), cycles: machine.cycles() - start, metrics });
    }
    let simulated_ns = machine.nanoseconds();
    let mut metrics = metrics(&machine.stats, simulated_ns, config, protocol, machine.clocks());
    metrics.extend(machine.tallies(protocol));
    Ok(Simulated {
        cycles: machine.cycles(),
        simulated_ns,
        accesses: machine.stats.get(Counter::L1Accesses),
        check: program.check(&machine.memory),
        metrics,
        kernels,
    })
}

/// Every counter under its key, traffic by class, and interconnect energy.
fn metrics(
    stats: &Stats,
    elapsed_ns: f64,
    config: &SystemConfig,
    protocol: &'static dyn Protocol,
    clocks: &ClockDomains,
) -> Metrics {
    let mut metrics = Metrics::new();
    let several = config.hierarchy.modules() > 1;
    for spec in COUNTERS.iter().filter(|spec| several || spec.machines == Machines::All) {
        let value = match spec.unit {
            Unit::Count => stats.get(spec.counter),
            Unit::Cycles => clocks.core.count(stats.get(spec.counter)),
        };
        metrics.insert(spec.key.to_string(), value as f64);
    }
    for class in TrafficClass::ALL {
        let (label, traffic) = (class.label().to_lowercase(), stats.traffic(class));
        metrics.insert(format!("traffic.flits.{label}"), traffic.flits as f64);
        metrics.insert(format!("traffic.bytes.{label}"), traffic.bytes as f64);
    }
    let total = stats.total_traffic();
    metrics.insert("traffic.flits".to_string(), total.flits as f64);
    metrics.insert("traffic.bytes".to_string(), total.bytes as f64);
    if several {
        Distance::ALL.into_iter().for_each(|distance| metrics.extend(of_distance(distance, stats, elapsed_ns, config)));
    }
    let (dynamic, fixed) = energy_nj(total.flits, elapsed_ns, config, protocol);
    metrics.insert("energy.dynamic_nj".to_string(), dynamic);
    metrics.insert("energy.static_nj".to_string(), fixed);
    metrics.insert("energy.nj".to_string(), dynamic + fixed);
    metrics
}

/// Messages that go so far, and how much of the links they used.
fn of_distance(distance: Distance, stats: &Stats, elapsed_ns: f64, config: &SystemConfig) -> Metrics {
    let key = distance.key();
    let mut metrics = Metrics::new();
    for class in TrafficClass::ALL {
        let (label, sent) = (class.label().to_lowercase(), stats.distant(distance, class));
        metrics.insert(format!("{key}.messages.{label}"), sent.messages as f64);
        metrics.insert(format!("{key}.bytes.{label}"), sent.bytes as f64);
    }
    let total = stats.total_distant(distance);
    metrics.insert(format!("{key}.messages"), total.messages as f64);
    metrics.insert(format!("{key}.bytes"), total.bytes as f64);
    // What goes to another GPU leaves its module too.
    let (bytes, link, ports) = match distance {
        Distance::InterGpm => {
            let bytes = total.bytes + stats.total_distant(Distance::InterGpu).bytes;
            (bytes, &config.inter_gpm, config.hierarchy.modules())
        }
        Distance::InterGpu => (total.bytes, &config.inter_gpu, config.hierarchy.gpus),
    };
    let movable = f64::from(link.megabytes_per_second) * f64::from(ports) * elapsed_ns / 1e3;
    metrics.insert(format!("{key}.utilisation"), if movable > 0.0 { bytes as f64 / movable } else { 0.0 });
    metrics
}

/// Interconnect energy: dynamic per flit, static per virtual-channel buffer. Every virtual network has its buffers at every port, so a
/// protocol with more virtual networks costs more (TC paper, section 8.2).
fn energy_nj(flits: u64, elapsed_ns: f64, config: &SystemConfig, protocol: &dyn Protocol) -> (f64, f64) {
    let ports = (config.core.count + config.l2.banks) * config.hierarchy.modules();
    let buffers = u32::from(protocol.virtual_networks()) * config.energy.vcs_per_network * ports;
    let dynamic_pj = flits as f64 * config.energy.flit_pj;
    // Microwatts times nanoseconds are femtojoules.
    let static_fj = f64::from(buffers) * config.energy.vc_buffer_uw * elapsed_ns;
    (dynamic_pj / 1e3, static_fj / 1e6)
}
