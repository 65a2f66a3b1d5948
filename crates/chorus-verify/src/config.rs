//! The tiny machines that are explored: the number and shape of their caches, and the operations of their threads.

use std::collections::BTreeSet;

use chorus_litmus::test::{Program, Thread};
use chorus_protocol::address::Topology;
use chorus_protocol::cache::Replacement;
use chorus_protocol::parameter::Parameters;
use chorus_protocol::read_only::ReadOnlyLines;
use chorus_protocol::registry::{BuildConfig, CacheShape, Commands, DirectoryShape, Promise, Protocol};

use crate::code::{Code, NotRunnable};
use crate::litmus::placement::{Placement, Places, lines_used};
use crate::networks::Networks;
use crate::program::{Edge, Location, Op, Step, WORDS, WorkGroup};

/// Whether a thread waits for each load before it goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loads {
    /// A thread waits for each load. Stores never make it wait.
    Blocking,
    /// A thread issues further operations, and waits only at fences.
    NonBlocking,
}

/// Whether a thread waits for each store before it goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stores {
    /// A thread goes on at once; only fences wait for stores.
    Posted,
    /// A thread waits until each store is performed.
    Blocking,
}

/// The moments at which lines leave caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evictions {
    /// A line leaves only when another line needs its place.
    WhenNeeded,
    /// Lines leave private caches at any moment, and shared banks when another line needs the place.
    PrivateAnytime,
    /// Lines and directory entries leave shared banks at any moment, and lines leave private caches when another needs
    /// the place.
    SharedAnytime,
    /// Any line that can leave does so at any moment.
    Anytime,
}

/// The order in which messages of several senders reach a controller. Each sender's arrive in the order in which they
/// were sent, unless the protocol does not need that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// Messages of different senders arrive in any order.
    BySender,
    /// All messages of a virtual network wait in one queue, in the order in which they were sent. A message that its
    /// receiver refuses holds up those behind it.
    InTurn,
}

/// The contents of the caches at the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// All caches are empty.
    Cold,
    /// The search starts from empty caches, and also from caches that have loaded every line.
    ColdAndWarm,
}

/// The place where a thread's program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// A program ends after its last operation.
    Complete,
    /// A program may end anywhere: every prefix is a program too.
    AnyPrefix,
}

/// A thread: a wavefront slot beside a private cache, and its operations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadSpec {
    /// The index of the private cache.
    pub cache: u16,
    /// The wavefront slot beside the cache.
    pub wave: u16,
    /// The operations that the thread may issue in each place.
    pub steps: Vec<Step>,
    /// The code that decides which operation is issued; a thread without code chooses freely.
    pub code: Option<Code>,
    /// Whether the thread begins anew, for ever, once everything is answered.
    pub repeats: bool,
}

/// A machine to explore, with its threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineConfig {
    /// The private caches and shared banks.
    pub topology: Topology,
    /// The shape of each private cache.
    pub l1: CacheShape,
    /// The shape of each shared bank.
    pub l2: CacheShape,
    /// The shape of the directory beside each shared bank.
    pub directory: DirectoryShape,
    /// The number of lines of memory, from address 0 on.
    pub lines: u8,
    /// The words of memory at the start. Words beyond these are zero.
    pub memory: Vec<u32>,
    /// The threads beside the private caches.
    pub threads: Vec<ThreadSpec>,
    /// Whether a thread waits for its loads.
    pub loads: Loads,
    /// Whether a thread waits for its stores.
    pub stores: Stores,
    /// The moments at which lines leave caches.
    pub evictions: Evictions,
    /// The contents of the caches at the start.
    pub start: Start,
    /// The place where programs end.
    pub ending: Ending,
    /// The order in which messages of several senders reach a controller.
    pub arrival: Arrival,
    /// The number of messages that may be in flight.
    pub networks: Networks,
    /// The parameters of the protocol, by key, that differ from their values for explorations.
    pub parameters: Vec<(&'static str, u64)>,
}

/// The lines of a page, for commands to shared banks that concern one page.
const PAGE_LINES: u8 = 2;

/// A cache of one set of `ways` lines with `mshrs` miss registers.
pub fn one_set(ways: u32, mshrs: u32) -> CacheShape {
    CacheShape { sets: 1, ways, mshrs, replacement: Replacement::Lru }
}

/// Threads beside the given private caches. Each gets the next free wavefront slot of its cache.
pub fn place_threads(caches: &[u16], steps: impl IntoIterator<Item = Vec<Step>>) -> Vec<ThreadSpec> {
    let place = |(thread, steps): (usize, Vec<Step>)| {
        let cache = caches[thread];
        let wave = caches[..thread].iter().filter(|&&earlier| earlier == cache).count() as u16;
        ThreadSpec { cache, wave, steps, code: None, repeats: false }
    };
    steps.into_iter().enumerate().map(place).collect()
}

impl MachineConfig {
    /// The machine on which threads choose their operations. Thread `i` is beside private cache `caches[i]`, there is
    /// room for one line in every cache and in the one bank, lines leave at any time, and every prefix is a program.
    pub fn for_choices(caches: &[u16], lines: u8, steps: impl IntoIterator<Item = Vec<Step>>) -> MachineConfig {
        MachineConfig {
            topology: Topology::one_gpu(caches.iter().max().map_or(1, |cache| cache + 1), 1),
            l1: one_set(1, 2),
            l2: one_set(1, 2),
            directory: DirectoryShape::SMALLEST,
            lines,
            memory: Vec::new(),
            threads: place_threads(caches, steps),
            loads: Loads::Blocking,
            stores: Stores::Posted,
            evictions: Evictions::Anytime,
            start: Start::ColdAndWarm,
            ending: Ending::AnyPrefix,
            arrival: Arrival::BySender,
            networks: Networks::Unbounded,
            parameters: Vec::new(),
        }
    }

    /// The machine on which threads run to their end. It differs from [`MachineConfig::for_choices`] in two points:
    /// there is one bank per line, so that requests for different lines overtake each other, and there is room for
    /// every line.
    pub fn for_steps(caches: &[u16], lines: u8, steps: impl IntoIterator<Item = Vec<Step>>) -> MachineConfig {
        let config = MachineConfig::for_choices(caches, lines, steps);
        MachineConfig {
            topology: Topology { l2s: u16::from(lines), ..config.topology },
            l1: one_set(u32::from(lines), u32::from(lines)),
            l2: one_set(1, 1),
            ending: Ending::Complete,
            ..config
        }
    }

    /// The machine that a litmus test runs on: that of [`MachineConfig::for_steps`] with the threads of a work-group
    /// beside one private cache. With more than two private caches, which have many more states, shared lines stay.
    pub fn for_program(program: &Program) -> Result<MachineConfig, NotRunnable> {
        let mut groups = Vec::new();
        let place = |thread: &Thread| {
            let group = (thread.gpu, thread.cta);
            let known = groups.iter().position(|&other| other == group);
            known.unwrap_or_else(|| {
                groups.push(group);
                groups.len() - 1
            }) as u16
        };
        let caches: Vec<u16> = program.threads.iter().map(place).collect();
        let lines: Vec<u8> = (0..lines_used(program).len() as u8).collect();
        MachineConfig::for_code(program, &caches, &lines)
    }

    /// The machine that a litmus test runs on in a given placement. With several modules there is one bank in each,
    /// which has room for every line, and a directory with room for one. On machines with CPU cores and compute units,
    /// lines leave two private caches at any time, and more caches only when they must. In one module lines leave at
    /// any time, in two modules lines and entries of banks do; larger machines have too many states for that.
    pub fn for_placed(program: &Program, placement: Placement) -> Result<MachineConfig, NotRunnable> {
        if placement == Placement::OneModule {
            return MachineConfig::for_program(program);
        }
        let places = Places::new(program, placement);
        let config = MachineConfig::for_code(program, &places.caches, &places.lines)?;
        if let Placement::Devices(devices) = placement {
            let l1s = config.topology.l1s.max(devices.cpus());
            return Ok(MachineConfig {
                topology: Topology { cpus: devices.cpus(), l1s, ..config.topology },
                evictions: if l1s > 2 { Evictions::WhenNeeded } else { Evictions::PrivateAnytime },
                ..config
            });
        }
        let lines = places.lines.len() as u32;
        let evictions = match places.modules[0] * places.modules[1] {
            1 => Evictions::Anytime,
            2 if program.threads.len() <= 2 => Evictions::SharedAnytime,
            _ => Evictions::WhenNeeded,
        };
        let config = MachineConfig { l1: one_set(lines, lines), l2: one_set(lines, lines), evictions, ..config };
        Ok(config.on_modules(places.modules, places.l1s, 0))
    }

    fn for_code(program: &Program, caches: &[u16], lines: &[u8]) -> Result<MachineConfig, NotRunnable> {
        let (codes, steps): (Vec<_>, Vec<_>) = Code::of_program(program, lines)?.into_iter().unzip();
        let places: Vec<Option<Location>> = codes.first().map_or(Vec::new(), |code: &Code| code.places().to_vec());
        let lines = places.iter().flatten().map(|at| at.line + 1).max().unwrap_or(1);
        let mut config = MachineConfig::for_steps(caches, lines, steps);
        config.threads.iter_mut().zip(codes).for_each(|(thread, code)| thread.code = Some(code));
        config.memory = vec![0; usize::from(lines) * WORDS];
        for (location, place) in program.locations.iter().zip(places) {
            if let Some(at) = place {
                config.memory[at.index()] = location.initial;
            }
        }
        if config.topology.l1s > 2 {
            config.evictions = Evictions::PrivateAnytime;
        }
        Ok(config)
    }

    /// The configuration from which a protocol builds the controllers of this machine.
    pub fn build_config(&self, protocol: &dyn Protocol, fault: Option<u8>) -> BuildConfig {
        let waves = self.threads.iter().map(|thread| thread.wave + 1).max().unwrap_or(1);
        BuildConfig {
            topology: self.topology,
            l1: self.l1,
            l2: self.l2,
            l3: self.l2,
            directory: self.directory,
            page_lines: u32::from(PAGE_LINES),
            waves,
            buffer_wave: None,
            fences: true,
            read_only: self.read_only(),
            parameters: self.parameters(protocol),
            fault,
        }
    }

    /// The lines that no thread may write.
    fn read_only(&self) -> ReadOnlyLines {
        let steps = self.threads.iter().flat_map(|thread| &thread.steps);
        let writes = steps.flat_map(|step| &step.alternatives).filter(|op| op.writes());
        let written: BTreeSet<u8> = writes.filter_map(Op::words).map(|at| at.line).collect();
        let others = (0..self.lines).filter(|line| !written.contains(line)).map(u64::from);
        ReadOnlyLines::longest(others.map(|line| line..line + 1))
    }

    /// The values of a protocol's parameters.
    fn parameters(&self, protocol: &dyn Protocol) -> Parameters {
        let mut parameters = Parameters::explored(protocol.parameters());
        for spec in protocol.parameters() {
            if let Some(&(_, value)) = self.parameters.iter().find(|(key, _)| *key == spec.key) {
                parameters.set(spec.key, value);
            }
        }
        parameters
    }

    /// This machine with the levels and translation units of a protocol.
    pub(crate) fn completed(&self, protocol: &dyn Protocol) -> MachineConfig {
        MachineConfig { topology: protocol.structure().complete(self.topology), ..self.clone() }
    }

    /// This machine with commands to shared banks between kernels, where the protocol has commands. When the private
    /// caches have ended the kernel, every bank writes back or empties itself; where no directory makes copies
    /// coherent, it empties itself in any case. The next kernel begins when all banks are done. The first thread that
    /// ends a kernel gives the commands, in the place of the command processor.
    pub(crate) fn with_commands(&self, protocol: &dyn Protocol) -> MachineConfig {
        let mut config = self.clone();
        let pages: Vec<Option<u8>> = match protocol.commands(&self.parameters(protocol)) {
            Commands::None => return config,
            Commands::EveryKernel | Commands::Table => vec![None],
            Commands::TableOfRanges => (0..self.lines).step_by(usize::from(PAGE_LINES)).map(Some).collect(),
        };
        let is_command = |op: &Op| matches!(op, Op::Command { .. });
        if self.threads.iter().flat_map(|thread| &thread.steps).flat_map(|step| &step.alternatives).any(is_command) {
            return config;
        }
        let commands = |edges: &[Edge]| {
            let banks = (0..self.topology.l2s).map(|bank| self.topology.l2(bank));
            let places = banks.flat_map(|bank| pages.iter().map(move |&page| (bank, page)));
            let command = |(bank, page)| edges.iter().map(|&edge| Op::Command { bank, edge, page }).collect();
            places.map(|place| Step { alternatives: command(place), implied: true }).collect::<Vec<_>>()
        };
        let is_tracked = protocol.promises().contains(&Promise::Tracking);
        let emptying = if is_tracked { Vec::new() } else { commands(&[Edge::Begin]) };
        let ends = |step: &Step| step.alternatives.contains(&Op::Kernel(Edge::End));
        if let Some(thread) = config.threads.iter_mut().find(|thread| thread.steps.iter().any(ends))
            && let Some(end) = thread.steps.iter().position(ends)
        {
            thread.steps.splice(end + 1..end + 1, [commands(&[Edge::End, Edge::Begin]), emptying].concat());
        }
        config
    }

    /// This machine spread over `gpus` GPUs of `gpms` modules, with `l1s` private caches and one bank in each module.
    /// Line `i` lies in the memory of module `i >> home_shift`, modulo the number of modules.
    pub fn on_modules(self, modules: [u16; 2], l1s: u16, home_shift: u8) -> MachineConfig {
        self.on_banks(modules, l1s, 1, home_shift)
    }

    /// The machine of [`MachineConfig::on_modules`] with `banks` banks in each module.
    pub fn on_banks(self, [gpus, gpms]: [u16; 2], l1s: u16, banks: u16, home_shift: u8) -> MachineConfig {
        let modules = gpus * gpms;
        let topology = Topology { gpus, gpms, home_shift, ..Topology::one_gpu(modules * l1s, modules * banks) };
        MachineConfig { topology, ..self }
    }

    /// The GPU and work-group of a thread, as memory models see them: threads beside one private cache are a
    /// work-group. Between kernels and where they settle, all threads meet, which only work-groups do in memory models.
    /// Operations there have no scope or the widest, so that all threads may be one work-group.
    pub fn work_group(&self, thread: usize) -> WorkGroup {
        let meets = |op: &Op| matches!(op, Op::Kernel(_) | Op::Command { .. } | Op::Settle);
        let steps = self.threads.iter().flat_map(|thread| &thread.steps);
        if steps.flat_map(|step| &step.alternatives).any(meets) {
            return WorkGroup { gpu: 0, cta: 0 };
        }
        let cache = self.threads[thread].cache;
        let gpu = self.topology.gpu_of(self.topology.module_of(self.topology.l1(cache)));
        WorkGroup { gpu: u32::from(gpu), cta: u32::from(cache) }
    }

    /// Whether some thread repeats its operations for ever.
    pub fn is_endless(&self) -> bool {
        self.threads.iter().any(|thread| thread.repeats)
    }

    /// The private caches that have threads.
    pub fn caches_used(&self) -> BTreeSet<u16> {
        self.threads.iter().map(|thread| thread.cache).collect()
    }

    /// The lines that some thread may access.
    pub fn lines_used(&self) -> BTreeSet<u8> {
        let steps = self.threads.iter().flat_map(|thread| &thread.steps);
        let used = steps.flat_map(|step| &step.alternatives).filter_map(Op::words).map(|at| at.line);
        used.collect()
    }

    /// The number of operations of the longest thread.
    pub fn longest(&self) -> usize {
        self.threads.iter().map(|thread| thread.steps.len()).max().unwrap_or(0)
    }
}
