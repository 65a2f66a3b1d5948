//! The ways between modules: the ports that a message passes from one module to another.
//!
//! Every module and every GPU has an outgoing port and an incoming port, with a latency in between. A message to
//! another module of its GPU passes the outgoing port of its module and, one latency later, the incoming port of the
//! other module. A message to another GPU passes the outgoing ports of its module and of its GPU, the switch, and the
//! incoming ports of the other GPU and the other module (HMG paper, section II and Table II). The two ends of a link
//! stream: a message occupies the incoming port while it still leaves the outgoing port. Between two links a message is
//! stored.

use chorus_system::{Link, SystemConfig};

use crate::clock::{ClockDomains, Ticks};
use crate::port::{Port, Rate};

/// One port of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Step {
    /// The port, by its number in the machine.
    pub(super) port: u16,
    /// The time to the next port, or to the destination behind the last port.
    pub(super) latency: Ticks,
    /// Whether the next port begins while this one still sends.
    pub(super) streams: bool,
}

/// A port, as the plan of a machine describes it.
#[derive(Clone, Copy, Debug)]
pub(super) struct PortPlan {
    pub(super) rate: Rate,
    /// The waiting time above which banks send nothing more that carries data.
    pub(super) queue: Ticks,
    /// The module that the port belongs to: for ports of a GPU, its first one.
    pub(super) module: u16,
}

impl PortPlan {
    /// Makes the idle port.
    pub(super) fn port(&self) -> Port {
        Port::new(self.rate, 0)
    }
}

/// All ports between modules, and the path from each module to each other.
#[derive(Clone, Debug)]
pub(super) struct Paths {
    modules: usize,
    gpms: usize,
    gpus: usize,
    ports: Vec<PortPlan>,
    steps: Vec<Vec<Step>>,
    module_latency: Ticks,
    gpu_latency: Ticks,
}

impl Paths {
    /// The ways between the modules of a machine.
    pub(super) fn new(config: &SystemConfig, clocks: &ClockDomains) -> Paths {
        let (modules, gpms, gpus) =
            (config.hierarchy.modules() as usize, config.hierarchy.gpms as usize, config.hierarchy.gpus as usize);
        let latency = |link: &Option<Link>| {
            clocks.network.cycles(link.as_ref().map_or(0, |link| u64::from(link.latency_cycles())))
        };
        let mut paths = Paths {
            modules,
            gpms,
            gpus,
            ports: Vec::new(),
            steps: Vec::new(),
            module_latency: latency(&config.inter_gpm),
            gpu_latency: latency(&config.inter_gpu),
        };
        // Outgoing and incoming ports of modules, then of GPUs.
        for (link, count, first) in [(&config.inter_gpm, modules, 1), (&config.inter_gpu, gpus, gpms)] {
            for _ in 0..2 {
                paths.ports.extend((0..count).map(|owner| port_plan(link.as_ref(), clocks, owner * first)));
            }
        }
        let pairs = (0..modules).flat_map(|from| (0..modules).map(move |to| (from, to)));
        paths.steps = pairs.map(|(from, to)| paths.steps_between(from, to)).collect();
        paths
    }

    fn steps_between(&self, from: usize, to: usize) -> Vec<Step> {
        let Paths { modules, gpms, gpus, module_latency, gpu_latency, .. } = *self;
        let port = |number: usize, latency, streams| Step { port: number as u16, latency, streams };
        let (module_out, module_in) = (from, modules + to);
        let (gpu_out, gpu_in) = (2 * modules + from / gpms, 2 * modules + gpus + to / gpms);
        if from / gpms == to / gpms {
            return vec![port(module_out, module_latency, true), port(module_in, 0, false)];
        }
        vec![
            port(module_out, 0, false),
            port(gpu_out, gpu_latency, true),
            port(gpu_in, 0, false),
            port(module_in, 0, false),
        ]
    }

    /// Every port of the machine.
    pub(super) fn ports(&self) -> &[PortPlan] {
        &self.ports
    }

    /// The ports from a module to another.
    #[inline]
    pub(super) fn steps(&self, from: u16, to: u16) -> &[Step] {
        &self.steps[usize::from(from) * self.modules + usize::from(to)]
    }

    /// The outgoing ports in the order in which messages pass them.
    pub(super) fn all_outgoing(&self) -> impl Iterator<Item = u16> + use<> {
        let Paths { modules, gpus, .. } = *self;
        (0..modules).chain(2 * modules..2 * modules + gpus).map(|port| port as u16)
    }

    /// The incoming ports in the order in which messages pass them.
    pub(super) fn all_incoming(&self) -> impl Iterator<Item = u16> + use<> {
        let Paths { modules, gpus, .. } = *self;
        (2 * modules + gpus..2 * (modules + gpus)).chain(modules..2 * modules).map(|port| port as u16)
    }

    /// The least latency of any path.
    pub(super) fn least_latency(&self) -> Ticks {
        match (self.gpms > 1, self.gpus > 1) {
            (true, true) => self.module_latency.min(self.gpu_latency),
            (true, false) => self.module_latency,
            (false, _) => self.gpu_latency,
        }
    }

    /// The outgoing ports between a module and another, nearest first.
    pub(super) fn outgoing(&self, from: u16, to: u16) -> impl Iterator<Item = u16> + use<'_> {
        let crosses = usize::from(from) / self.gpms != usize::from(to) / self.gpms;
        let of_gpu = crosses.then_some((2 * self.modules + usize::from(from) / self.gpms) as u16);
        [Some(from), of_gpu].into_iter().flatten()
    }
}

/// A port of a link. Where a machine describes no links, messages pass at once.
fn port_plan(link: Option<&Link>, clocks: &ClockDomains, module: usize) -> PortPlan {
    let rate = match link {
        // Megabytes per second are bytes per microsecond.
        Some(link) => Rate { bytes: u64::from(link.megabytes_per_second), ticks: clocks.ticks_per_microsecond() },
        None => Rate { bytes: 1, ticks: 0 },
    };
    let queue = rate.duration(link.map_or(0, |link| u64::from(link.queue_bytes)));
    PortPlan { rate, queue, module: module as u16 }
}
