//! The small machines that random programs run on, and their delays and evictions.

use std::fmt;

use chorus_protocol::address::Topology;
use chorus_protocol::parameter::Parameters;
use chorus_protocol::read_only::ReadOnlyLines;
use chorus_protocol::registry::{BuildConfig, CacheShape, Commands, DirectoryShape, Protocol};

use super::program::{Program, line_name};

/// The delays of messages and wavefronts, in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delays {
    /// The longest delay of most messages.
    pub message: u32,
    /// Messages of a slow virtual network take longer; one bit for each, the last for memory.
    pub slow_networks: u16,
    /// Messages from or to a slow agent take longer; one bit for each.
    pub slow_agents: u64,
    /// The seed that makes one of four pairs of sender and receiver slow; none if zero.
    pub slow_links: u64,
    /// The number of times that the longest delay doubles where something is slow.
    pub slowness: u32,
    /// One message in so many takes up to sixteen times as long; none if zero.
    pub late_one_in: u32,
    /// The longest time between two operations of a wavefront.
    pub think: u32,
}

/// How often lines and directory entries leave without need, in ticks; never if zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Evictions {
    /// A line of a private cache leaves about every so many ticks.
    pub private: u32,
    /// A line of a shared bank leaves about every so many ticks.
    pub shared: u32,
    /// An entry of a directory leaves about every so many ticks.
    pub entries: u32,
}

/// The commands that shared banks get between kernels, where the protocol has a table that knows which are needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandsGiven {
    /// Every bank gets every command.
    All,
    /// Banks get the commands that the table asks for.
    Needed {
        /// Whether the table knows that a bank holds nothing but lines of its own memory, where that is so.
        by_memory: bool,
    },
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
    /// How often lines and entries leave without need.
    pub evictions: Evictions,
    /// Whether controllers are driven as in a simulation: loads that hit are answered without a step, and a controller
    /// evicts by itself what occupies a place that it needs.
    pub shortcuts: bool,
    /// The lines that the program declares read-only, one bit each. Nobody writes them.
    pub read_only: u32,
    /// The commands that shared banks get between kernels.
    pub commands: CommandsGiven,
    /// The delays of messages and wavefronts.
    pub delays: Delays,
}

impl Setup {
    /// The configuration from which a protocol builds the controllers.
    pub(super) fn build_config(&self, fault: Option<u8>) -> BuildConfig {
        let Setup { topology, l1, l2, directory, waves, fences, parameters, .. } = *self;
        let lines = (0..u64::from(self.lines)).filter(|&line| self.is_read_only(line));
        let read_only = ReadOnlyLines::longest(lines.map(|line| line..line + 1));
        BuildConfig {
            topology,
            l1,
            l2,
            l3: l2,
            directory,
            page_lines: PAGE_LINES,
            waves,
            buffer_wave: None,
            fences,
            read_only,
            parameters,
            fault,
        }
    }

    /// Whether the program declares a line read-only.
    pub fn is_read_only(&self, line: u64) -> bool {
        self.read_only >> line & 1 == 1
    }

    /// The machine in words, for people.
    pub fn describe(&self, protocol: &dyn Protocol) -> String {
        let mut text = self.to_string();
        let has_table = matches!(protocol.commands(&self.parameters), Commands::Table | Commands::TableOfRanges);
        if has_table && self.commands != CommandsGiven::All {
            text.push_str(", only needed commands");
        }
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
        if self.shortcuts {
            write!(f, ", driven as in a simulation")?;
        }
        if self.read_only != 0 {
            let lines = (0..u64::from(self.lines)).filter(|&line| self.is_read_only(line));
            write!(f, ", read-only lines {}", lines.map(line_name).collect::<String>())?;
        }
        let Evictions { private, shared, entries } = self.evictions;
        let all = [(private, "private lines"), (shared, "shared lines"), (entries, "entries")];
        let rates = all.iter().filter(|(ticks, _)| *ticks > 0).map(|(ticks, what)| format!("{what} every {ticks}"));
        let rates: Vec<String> = rates.collect();
        match rates.is_empty() {
            true => write!(f, ", no evictions but needed ones"),
            false => write!(f, ", evictions of {} ticks or so", rates.join(", of ")),
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
