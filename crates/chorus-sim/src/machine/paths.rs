//! The ways between modules: the ports that a message passes from one module to another.
//!
//! Every module has an outgoing port and an incoming port. Where modules or GPUs are fully connected or around a
//! switch, each of these nodes has such ports, with a latency in between. The two ends of such a link stream: a message
//! occupies the incoming port while it still leaves the outgoing port. On a ring, a mesh or a dragonfly every directed
//! link is a port of its own at the node where it begins, with the latency of the link behind it. A message is stored
//! at every node between two links.
//!
//! A message to another module of its GPU passes the ports of that level only. A message to another GPU passes the
//! outgoing port of its module, the ports between the GPUs, and the incoming port of the other module (HMG paper,
//! section II and Table II).

use chorus_system::{Link, LinkKind, SystemConfig};

use crate::clock::{Clock, ClockDomains, Ticks};
use crate::network::dragonfly_cycles;
use crate::port::{Port, Rate};
use crate::routes::Routes;

/// One port of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Step {
    /// The port, by its number in the machine.
    pub(super) port: u16,
    /// The time to the next port, or to the destination behind the last port.
    pub(super) latency: Ticks,
    /// Whether the next port begins while this one still sends.
    pub(super) streams: bool,
    /// Whether the destination lies behind the port, and no other port.
    pub(super) is_last: bool,
}

/// A path from one module to another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Path {
    /// Its first step, by its number among the steps of all paths. The others follow.
    pub(super) first: u32,
    steps: u32,
    /// Links between modules of a GPU, or between GPUs, that it passes.
    pub(super) links: u32,
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

/// The ports between nodes that are modules, or GPUs.
#[derive(Clone, Debug)]
enum Level {
    /// An outgoing and an incoming port for every node, numbered from these on, and the latency between them.
    Ends { outgoing: u16, incoming: u16, latency: Ticks },
    /// A port for every link, numbered from `first` on, network by network.
    Links { first: u16, routes: Routes, latencies: Vec<Ticks> },
}

impl Level {
    /// The steps from one node to another of the same network. There are `size` nodes in a network.
    fn steps(&self, from: u16, to: u16, size: u16) -> Vec<Step> {
        match self {
            &Level::Ends { outgoing, incoming, latency } => vec![
                Step { port: outgoing + from, latency, streams: true, is_last: false },
                Step { port: incoming + to, latency: 0, streams: false, is_last: false },
            ],
            Level::Links { first, routes, latencies } => {
                let first = first + from / size * routes.links().len() as u16;
                let step = |&link: &u16| {
                    let latency = latencies[usize::from(link)];
                    Step { port: first + link, latency, streams: false, is_last: false }
                };
                routes.route(from % size, to % size).iter().map(step).collect()
            }
        }
    }

    /// The least latency of a step to another node.
    fn least_latency(&self) -> Ticks {
        match self {
            Level::Ends { latency, .. } => *latency,
            Level::Links { latencies, .. } => latencies.iter().copied().min().unwrap_or(0),
        }
    }
}

/// The ports of a machine by level.
struct Levels {
    /// Modules of each GPU.
    gpms: u16,
    gpus: u16,
    /// The outgoing and the incoming port of every module.
    ends: Level,
    /// The ports between the modules of a GPU, which may be the ends.
    of_modules: Level,
    of_gpus: Level,
}

impl Levels {
    /// The steps from one module to another.
    fn steps(&self, from: u16, to: u16) -> Vec<Step> {
        let Levels { gpms, gpus, .. } = *self;
        if from / gpms == to / gpms {
            return self.of_modules.steps(from, to, gpms);
        }
        let mut steps = self.ends.steps(from, to, gpms);
        steps.iter_mut().for_each(|step| (step.latency, step.streams) = (0, false));
        steps.splice(1..1, self.of_gpus.steps(from / gpms, to / gpms, gpus));
        steps
    }

    /// The least latency of any link.
    fn least_latency(&self) -> Ticks {
        let used = [(self.gpms > 1).then_some(&self.of_modules), (self.gpus > 1).then_some(&self.of_gpus)];
        used.into_iter().flatten().map(Level::least_latency).min().unwrap_or(0)
    }
}

/// All ports between modules, and the path from each module to each other.
#[derive(Clone, Debug)]
pub(super) struct Paths {
    modules: usize,
    ports: Vec<PortPlan>,
    /// The steps of all paths, path by path.
    steps: Vec<Step>,
    /// The path from each module to each other.
    paths: Vec<Path>,
    /// The outgoing ports in the order in which messages pass them. Ports of links are outgoing, also where they
    /// forward what has come by another link.
    outgoing: Vec<u16>,
    /// The incoming ports in the order in which messages pass them.
    incoming: Vec<u16>,
    least_latency: Ticks,
    least_latency_of_gpus: Option<Ticks>,
}

impl Paths {
    /// The ways between the modules of a machine.
    pub(super) fn new(config: &SystemConfig, clocks: &ClockDomains) -> Paths {
        let modules = config.hierarchy.modules() as u16;
        let mut paths = Paths {
            modules: usize::from(modules),
            ports: Vec::new(),
            steps: Vec::new(),
            paths: Vec::new(),
            outgoing: Vec::new(),
            incoming: Vec::new(),
            least_latency: 0,
            least_latency_of_gpus: None,
        };
        let levels = paths.add_levels(config, clocks);
        for (from, to) in (0..modules).flat_map(|from| (0..modules).map(move |to| (from, to))) {
            paths.add_path(levels.steps(from, to));
        }
        paths.least_latency = levels.least_latency();
        paths.least_latency_of_gpus = (levels.gpus > 1).then(|| levels.of_gpus.least_latency());
        paths
    }

    /// Adds the path of the next pair of modules.
    fn add_path(&mut self, mut steps: Vec<Step>) {
        if let Some(last) = steps.last_mut() {
            last.is_last = true;
        }
        let links = steps.iter().filter(|step| step.latency > 0).count() as u32;
        self.paths.push(Path { first: self.steps.len() as u32, steps: steps.len() as u32, links });
        self.steps.extend(steps);
    }

    /// Adds all ports of a machine, those that messages leave by in the order in which messages pass them.
    fn add_levels(&mut self, config: &SystemConfig, clocks: &ClockDomains) -> Levels {
        let (gpms, gpus) = (config.hierarchy.gpms as u16, config.hierarchy.gpus as u16);
        let (inter_gpm, inter_gpu) = (config.inter_gpm.as_ref(), config.inter_gpu.as_ref());
        let ends = self.add_ends(inter_gpm, clocks, (0..gpms * gpus).collect());
        let of_modules = self.add_links(inter_gpm, clocks, gpms, &|gpu, module| gpu * gpms + module, gpus);
        let of_gpus = self.add_links(inter_gpu, clocks, gpus, &|_, gpu| gpu * gpms, 1);
        Levels {
            gpms,
            gpus,
            of_modules: of_modules.unwrap_or_else(|| ends.clone()),
            of_gpus: of_gpus
                .unwrap_or_else(|| self.add_ends(inter_gpu, clocks, (0..gpus).map(|gpu| gpu * gpms).collect())),
            ends,
        }
    }

    /// Adds an outgoing and an incoming port for every node. Nodes are named by their first module.
    fn add_ends(&mut self, link: Option<&Link>, clocks: &ClockDomains, nodes: Vec<u16>) -> Level {
        let (first, count) = (self.ports.len() as u16, nodes.len() as u16);
        for _ in 0..2 {
            self.ports.extend(nodes.iter().map(|&module| port_plan(link, clocks, module)));
        }
        self.outgoing.extend(first..first + count);
        // What comes in passes the ports of a GPU before those of a module.
        self.incoming.splice(0..0, first + count..first + 2 * count);
        let latency = clocks.network.cycles(link.map_or(0, |link| u64::from(link.latency_cycles())));
        Level::Ends { outgoing: first, incoming: first + count, latency }
    }

    /// Adds a port for every link of so many networks of `nodes` each, where messages pass several links. `module`
    /// names the module that a node of a network begins with.
    fn add_links(
        &mut self,
        link: Option<&Link>,
        clocks: &ClockDomains,
        nodes: u16,
        module: &dyn Fn(u16, u16) -> u16,
        networks: u16,
    ) -> Option<Level> {
        let (routes, latencies) = routes(link?, nodes, clocks.network)?;
        let first = self.ports.len() as u16;
        for network in 0..networks {
            let begins = routes.links().iter().map(|link| module(network, link.from));
            self.ports.extend(begins.map(|module| port_plan(link, clocks, module)));
        }
        self.outgoing.extend(first..self.ports.len() as u16);
        Some(Level::Links { first, routes, latencies })
    }

    /// Every port of the machine.
    pub(super) fn ports(&self) -> &[PortPlan] {
        &self.ports
    }

    /// The path from a module to another.
    #[inline]
    pub(super) fn path(&self, from: u16, to: u16) -> Path {
        self.paths[usize::from(from) * self.modules + usize::from(to)]
    }

    /// The step of a path with this number among the steps of all paths.
    #[inline]
    pub(super) fn step(&self, number: u32) -> &Step {
        &self.steps[number as usize]
    }

    /// The steps from a module to another.
    fn steps(&self, from: u16, to: u16) -> &[Step] {
        let Path { first, steps, .. } = self.path(from, to);
        &self.steps[first as usize..][..steps as usize]
    }

    /// The outgoing ports in the order in which messages pass them.
    pub(super) fn all_outgoing(&self) -> impl Iterator<Item = u16> + '_ {
        self.outgoing.iter().copied()
    }

    /// The incoming ports in the order in which messages pass them.
    pub(super) fn all_incoming(&self) -> impl Iterator<Item = u16> + '_ {
        self.incoming.iter().copied()
    }

    /// The least latency of any link.
    pub(super) fn least_latency(&self) -> Ticks {
        self.least_latency
    }

    /// The least latency of a link between GPUs, where there are several.
    pub(super) fn least_latency_of_gpus(&self) -> Option<Ticks> {
        self.least_latency_of_gpus
    }

    /// The outgoing ports of a module and its GPU on the way to another module, nearest first.
    pub(super) fn outgoing(&self, from: u16, to: u16) -> impl Iterator<Item = u16> + use<'_> {
        let steps = self.steps(from, to);
        let own = steps.iter().take_while(|step| step.latency == 0).count() + 1;
        steps.iter().take(own).map(|step| step.port)
    }
}

/// The routes of links that messages pass several of, and the latency of each link.
fn routes(link: &Link, nodes: u16, clock: Clock) -> Option<(Routes, Vec<Ticks>)> {
    let routes = match &link.kind {
        LinkKind::FullyConnected(_) | LinkKind::Switch(_) => return None,
        LinkKind::Ring(_) => Routes::ring(nodes),
        LinkKind::Mesh(grid) => Routes::mesh(grid.width as u16, nodes / grid.width as u16),
        LinkKind::Dragonfly(dragonfly) => {
            Routes::dragonfly(nodes / dragonfly.group_size as u16, dragonfly.group_size as u16)
        }
    };
    let cycles = |hop: &crate::routes::Link| match &link.kind {
        LinkKind::Dragonfly(dragonfly) => dragonfly_cycles(dragonfly, dragonfly.group_size as u16, hop),
        LinkKind::FullyConnected(_) | LinkKind::Switch(_) | LinkKind::Ring(_) | LinkKind::Mesh(_) => {
            link.latency_cycles()
        }
    };
    let latencies = routes.links().iter().map(|hop| clock.cycles(u64::from(cycles(hop)))).collect();
    Some((routes, latencies))
}

/// A port of a link. Where a machine describes no links, messages pass at once.
fn port_plan(link: Option<&Link>, clocks: &ClockDomains, module: u16) -> PortPlan {
    let rate = match link {
        // Megabytes per second are bytes per microsecond.
        Some(link) => Rate { bytes: u64::from(link.megabytes_per_second), ticks: clocks.ticks_per_microsecond() },
        None => Rate { bytes: 1, ticks: 0 },
    };
    let queue = rate.duration(link.map_or(0, |link| u64::from(link.queue_bytes)));
    PortPlan { rate, queue, module }
}

#[cfg(test)]
mod tests {
    use chorus_system::{Scale, resolve};

    use super::*;

    /// The links of every kind between four nodes.
    const KINDS: [&[&str]; 4] = [
        &["kind=ring", "hop_cycles=70"],
        &["kind=mesh", "width=2", "hop_cycles=70"],
        &["kind=dragonfly", "group_size=2", "local_cycles=60", "global_cycles=80"],
        &["kind=switch", "latency_cycles=70"],
    ];

    /// Four GPUs of four modules with these links.
    fn config(between_modules: &[&str], between_gpus: &[&str]) -> SystemConfig {
        let of = |table: &'static str, keys: &[&str]| keys.iter().map(move |key| format!("{table}.{key}")).collect();
        let set: [Vec<String>; 2] = [of("inter_gpm", between_modules), of("inter_gpu", between_gpus)];
        resolve("hmg", Scale::Quick, &set.concat()).unwrap().config
    }

    fn machines() -> impl Iterator<Item = SystemConfig> {
        KINDS.into_iter().flat_map(|modules| KINDS.into_iter().map(|gpus| config(modules, gpus)))
    }

    fn all_steps(paths: &Paths) -> impl Iterator<Item = (u16, u16, &[Step])> {
        let modules = paths.modules as u16;
        let pairs = (0..modules).flat_map(move |from| (0..modules).map(move |to| (from, to)));
        pairs.filter(|(from, to)| from != to).map(|(from, to)| (from, to, paths.steps(from, to)))
    }

    #[test]
    fn messages_pass_ports_in_the_order_in_which_ports_are_served_between_links() {
        for config in machines() {
            let paths = Paths::new(&config, &ClockDomains::of(&config));
            let served: Vec<u16> = paths.all_incoming().chain(paths.all_outgoing()).collect();
            let place = |port: u16| served.iter().position(|&other| other == port).unwrap();
            let is_incoming = |port: u16| paths.all_incoming().any(|other| other == port);
            for (from, to, steps) in all_steps(&paths) {
                let name = format!("{from} to {to} on {:?} and {:?}", config.inter_gpm, config.inter_gpu);
                assert!(!is_incoming(steps[0].port), "{name}");
                assert!(steps.iter().all(|step| step.latency == 0 || step.latency >= paths.least_latency()), "{name}");
                for two in steps.windows(2).filter(|two| two[0].latency == 0) {
                    assert!(place(two[0].port) < place(two[1].port), "{name}");
                    assert_eq!(is_incoming(two[0].port), is_incoming(two[1].port), "{name}");
                }
                for two in steps.windows(2).filter(|two| is_incoming(two[0].port)) {
                    assert!(is_incoming(two[1].port), "{name}");
                }
            }
        }
    }

    #[test]
    fn a_module_sees_the_ports_of_itself_and_its_gpu() {
        for config in machines() {
            let paths = Paths::new(&config, &ClockDomains::of(&config));
            for (from, to, _) in all_steps(&paths) {
                let owners: Vec<u16> =
                    paths.outgoing(from, to).map(|port| paths.ports()[usize::from(port)].module).collect();
                let expected = if from / 4 == to / 4 { vec![from] } else { vec![from, from / 4 * 4] };
                assert_eq!(owners, expected, "{from} to {to} on {:?} and {:?}", config.inter_gpm, config.inter_gpu);
            }
        }
    }

    #[test]
    fn links_are_as_many_as_their_description_says() {
        for keys in KINDS {
            let config = config(keys, keys);
            let clock = ClockDomains::of(&config).network;
            let link = config.inter_gpu.as_ref().unwrap();
            let ports = routes(link, 4, clock).map_or(4, |(routes, _)| routes.links().len());
            assert_eq!(link.kind.ports(4), ports as u32, "{keys:?}");
        }
        let ring = config(KINDS[0], KINDS[0]).inter_gpu.unwrap().kind;
        assert_eq!([1, 2, 3].map(|nodes| ring.ports(nodes)), [0, 2, 6]);
        assert_eq!([1, 2, 3].map(|nodes| Routes::ring(nodes).links().len()), [0, 2, 6]);
    }

    #[test]
    fn a_message_passes_every_link_of_its_route_and_the_ports_of_both_modules() {
        let config = config(KINDS[0], KINDS[0]);
        let paths = Paths::new(&config, &ClockDomains::of(&config));
        // Two links within a GPU, and to the GPU opposite.
        assert_eq!((paths.steps(4, 6).len(), paths.path(4, 6).links), (2, 2));
        assert_eq!((paths.steps(1, 9).len(), paths.path(1, 9).links), (4, 2));
        // The rings of two GPUs share no port.
        assert_ne!(paths.steps(0, 1)[0].port, paths.steps(4, 5)[0].port);
    }
}
