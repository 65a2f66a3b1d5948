//! The small machines that random programs run on, and their delays and evictions.

use std::fmt;

use chorus_protocol::address::Topology;
use chorus_protocol::cache::Replacement;
use chorus_protocol::parameter::Parameters;
use chorus_protocol::read_only::ReadOnlyLines;
use chorus_protocol::registry::{BuildConfig, CacheShape, DirectoryShape, Protocol, Reach};

use super::program::Program;
use super::random::Random;
use crate::heterogeneous;

/// The delays of messages and wavefronts, in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delays {
    /// The longest delay of most messages.
    pub message: u32,
    /// Messages of a slow virtual network take up to four times as long; one bit for each, the last for memory.
    pub slow_networks: u16,
    /// Messages from or to a slow agent take up to four times as long; one bit for each.
    pub slow_agents: u64,
    /// One message in so many takes up to sixteen times as long; none if zero.
    pub late_one_in: u32,
    /// The longest time between two operations of a wavefront.
    pub think: u32,
}

/// The lines of a page, for commands to shared banks that concern one page.
pub(super) const PAGE_LINES: u32 = 2;

/// A machine that a random program runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setup {
    /// The private caches and shared banks. The protocol's structure adds the rest when the machine runs.
    pub topology: Topology,
    /// The shape of each private cache.
    pub l1: CacheShape,
    /// The shape of each shared bank.
    pub l2: CacheShape,
    /// The shape of the directory beside each shared bank.
    pub directory: DirectoryShape,
    /// The number of wavefront slots beside each private cache.
    pub waves: u16,
    /// The number of lines of memory.
    pub lines: u8,
    /// Whether the program contains fences.
    pub fences: bool,
    /// The values of the protocol's parameters.
    pub parameters: Parameters,
    /// The number of loads and atomics that a wavefront may have in flight. With one, it waits for each before it goes
    /// on.
    pub loads_in_flight: u32,
    /// A line is evicted about every so many ticks; never if zero.
    pub evict_every: u32,
    /// The delays of messages and wavefronts.
    pub delays: Delays,
}

impl Setup {
    /// The configuration from which a protocol builds the controllers.
    pub(super) fn build_config(&self, fault: Option<u8>) -> BuildConfig {
        let Setup { topology, l1, l2, directory, waves, fences, parameters, .. } = *self;
        let read_only = ReadOnlyLines::NONE;
        BuildConfig {
            topology,
            l1,
            l2,
            l3: l2,
            directory,
            page_lines: PAGE_LINES,
            waves,
            fences,
            read_only,
            parameters,
            fault,
        }
    }

    /// The machine in words, for people.
    pub fn describe(&self, protocol: &dyn Protocol) -> String {
        let mut text = self.to_string();
        for spec in protocol.parameters() {
            text.push_str(&format!(", {} {}", spec.key, self.parameters.get(spec.key)));
        }
        text
    }
}

fn cache(shape: &CacheShape) -> String {
    let CacheShape { sets, ways, mshrs, .. } = shape;
    format!("{sets} × {ways} lines and {mshrs} MSHRs")
}

fn counted(count: u32, thing: &str) -> String {
    format!("{count} {thing}{}", if count == 1 { "" } else { "s" })
}

impl fmt::Display for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Topology { gpus, gpms, l1s, cpus, l2s, .. } = self.topology;
        if self.topology.modules() > 1 {
            let DirectoryShape { sets, ways, lines_per_entry, .. } = self.directory;
            let lines = counted(lines_per_entry, "line");
            write!(
                f,
                "{} of {}, directories of {sets} × {ways} entries of {lines}, ",
                counted(u32::from(gpus), "GPU"),
                counted(u32::from(gpms), "module")
            )?;
        }
        let (caches, banks) = (counted(u32::from(l1s), "private cache"), counted(u32::from(l2s), "bank"));
        let cores = if cpus > 0 { format!(" ({cpus} of CPU cores)") } else { String::new() };
        write!(f, "{caches}{cores} of {}, {banks} of {}", cache(&self.l1), cache(&self.l2))?;
        match self.loads_in_flight {
            1 => write!(f, ", loads block")?,
            loads => write!(f, ", up to {loads} loads in flight")?,
        }
        match self.evict_every {
            0 => write!(f, ", no evictions but needed ones"),
            ticks => write!(f, ", an eviction every {ticks} ticks or so"),
        }
    }
}

/// A program on a machine, with the seed of one of its many schedules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Episode {
    /// The machine of the episode.
    pub setup: Setup,
    /// The program of the episode.
    pub program: Program,
    /// The seed of everything that is random while it runs.
    pub schedule: u64,
}

/// A random machine for a protocol.
pub(super) fn draw_setup(protocol: &dyn Protocol, random: &mut Random) -> Setup {
    let (topology, directory) = match protocol.reach() {
        Reach::OneModule => {
            let caches = random.pick(&[1, 2, 2, 2, 3, 3, 4, 6]);
            let one = Topology::one_gpu(caches, random.pick(&[1, 1, 1, 2, 2, 3, 4]));
            let cpus = if heterogeneous::applies(protocol) { random.between(0, u32::from(caches)) as u16 } else { 0 };
            (Topology { cpus, ..one }, DirectoryShape::SMALLEST)
        }
        Reach::AnyMachine => draw_modules(random),
    };
    let mut shape = || CacheShape {
        sets: random.pick(&[1, 1, 2]),
        ways: random.between(1, 2),
        mshrs: random.between(1, 3),
        replacement: random.pick(&[Replacement::Lru, Replacement::Fifo]),
    };
    let (l1, mut l2) = (shape(), shape());
    if protocol.reach() == Reach::AnyMachine {
        // Banks reserve registers for requests that wait for fewer other banks: at a home, at a GPU home, and on the
        // path to them.
        l2.mshrs += 2;
    }
    let mut parameters = Parameters::defaults(protocol.parameters());
    for spec in protocol.parameters() {
        // Small values stress the protocol, but copies must live long enough to be found stale.
        let value = match random.below(8) {
            0 => spec.explored[0],
            1 | 2 => spec.min + u64::from(random.below(5)),
            3 | 4 => spec.min + u64::from(random.below(64)),
            7 if spec.default <= 4096 => spec.default,
            _ => spec.min + u64::from(random.below(512)),
        };
        // Reads that are refused for ever are the subject of another check.
        let least = if spec.key == "reqv.retries" { 1 } else { spec.min };
        parameters.set(spec.key, value.clamp(least, spec.max));
    }
    Setup {
        topology,
        l1,
        l2,
        directory,
        waves: random.pick(&[1, 1, 2, 2, 3, 4]),
        lines: random.pick(&[2, 2, 2, 3, 3, 3, 4, 5, 6, 8, 12, 16]),
        fences: true,
        parameters,
        loads_in_flight: random.pick(&[1, 1, 2, 4]),
        evict_every: random.pick(&[0, 4, 10, 30, 100]),
        delays: draw_delays(random),
    }
}

/// A few GPUs of a few modules, with directories that are soon too small.
fn draw_modules(random: &mut Random) -> (Topology, DirectoryShape) {
    let (gpus, gpms) = random.pick(&[(1, 1), (1, 2), (1, 3), (2, 1), (2, 1), (2, 2), (2, 2), (2, 2), (3, 1), (3, 2)]);
    let (l1s, banks) = (random.pick(&[1, 1, 2]), random.pick(&[1, 1, 1, 2]));
    let entry_shift = random.pick(&[0, 0, 1, 2]);
    let directory = DirectoryShape {
        sets: random.pick(&[1, 1, 2]),
        ways: random.between(1, 2),
        lines_per_entry: 1 << entry_shift,
        range_lines: 1 << entry_shift,
        replacement: Some(random.pick(&[Replacement::Lru, Replacement::Fifo])),
    };
    let modules = gpus * gpms;
    // An entry's lines lie in the memory of one module, and are served by one of its banks.
    let home_shift = entry_shift + random.pick(&[0, 0, 1]);
    let interleave = 1 << entry_shift;
    let home_shift = home_shift as u8;
    let topology = Topology { gpus, gpms, interleave, home_shift, ..Topology::one_gpu(modules * l1s, modules * banks) };
    (topology, directory)
}

fn draw_delays(random: &mut Random) -> Delays {
    Delays {
        message: random.pick(&[1, 2, 4, 8, 16, 32]),
        slow_networks: if random.once_in(2) { random.next() as u16 & random.next() as u16 } else { 0 },
        slow_agents: if random.once_in(2) { random.next() & random.next() } else { 0 },
        late_one_in: random.pick(&[0, 0, 8, 32]),
        think: random.pick(&[0, 0, 1, 4, 16, 64]),
    }
}
