//! The configurations in which tables are explored with L2s.

use chorus_protocol::chiplet_table::{Holdings, Limits};
use chorus_protocol::parameter::Parameters;
use chorus_protocol::registry::{Commands, Protocol};

use super::account::{Keeps, Rules};
use super::caches::{Caches, Homes};
use super::graph::Graph;
use super::history::{Sharing, Size};
use super::letter::{LETTER, LETTER_BY_RANGES};
use super::processor::{Processor, TableProcessor};
use super::report::{Counts, ElisionReport};
use super::search::{Finding, Search};
use crate::config::Evictions;

/// A configuration: a machine with a table, and its histories.
#[derive(Clone)]
pub struct ElisionConfig {
    /// The name of the protocol that is checked.
    pub protocol: &'static str,
    /// The name, which no configuration of the protocol has.
    pub name: &'static str,
    /// One sentence on what it varies.
    pub description: String,
    /// Whether it takes a moment.
    pub is_quick: bool,
    size: Size,
    machine: Machine,
}

/// The controllers under a table.
#[derive(Clone, Copy)]
struct Machine {
    controllers: &'static dyn Protocol,
    parameters: &'static [(&'static str, u64)],
    homes: Homes,
    keeps: Keeps,
    holdings: Holdings,
    evictions: Evictions,
}

impl ElisionConfig {
    /// Explores the protocol's table.
    pub fn check(&self) -> ElisionReport {
        self.check_with(|table| table)
    }

    /// Explores another command processor, made from the protocol's table.
    pub fn check_with<P: Processor>(&self, wrap: impl FnOnce(TableProcessor) -> P) -> ElisionReport {
        let Machine { controllers, parameters, homes, keeps, holdings, evictions } = self.machine;
        let by_ranges = controllers.declaration().commands == Commands::TableOfRanges;
        let size = self.size;
        let caches = Caches::new(&size, controllers, parameters, homes, size.all_lines(), evictions);
        let rules = Rules { size, keeps, holdings, homes: caches.homes(), whole: !by_ranges };
        let table = TableProcessor::new(size.chiplets, size.limits, holdings, caches.topology(), by_ranges);
        let (counts, finding) = match Graph::new(caches) {
            Ok(graph) => {
                let mut search = Search::new(graph, rules);
                let finding = search.run(wrap(table)).err();
                (search.counts(), finding)
            }
            Err(wrong) => (Counts::default(), Some(Finding { history: Vec::new(), wrong })),
        };
        let (protocol, config, description) = (self.protocol, self.name, self.description.clone());
        ElisionReport { protocol, config, description, counts, finding }
    }
}

/// Machines of a protocol, each with the beginning of its configurations' names.
fn machines(protocol: &'static dyn Protocol) -> Vec<(Family, Machine)> {
    let commands = protocol.commands(&Parameters::explored(protocol.parameters()));
    let letter: &'static dyn Protocol = match commands {
        Commands::None | Commands::EveryKernel => return Vec::new(),
        Commands::Table => &LETTER,
        Commands::TableOfRanges => &LETTER_BY_RANGES,
    };
    let plain = Machine {
        controllers: protocol,
        parameters: &[],
        homes: Homes::InTurn,
        keeps: Keeps { dirty: false, copies: false },
        holdings: Holdings::Copies,
        evictions: Evictions::WhenNeeded,
    };
    if protocol.parameters().iter().any(|spec| spec.key == "elide") {
        let keeps = Keeps { dirty: true, copies: false };
        return vec![(Family::Tracked, Machine { parameters: &[("elide", 1)], keeps, ..plain })];
    }
    let all = Keeps { dirty: true, copies: true };
    let copies = Keeps { dirty: false, copies: true };
    vec![
        (Family::Letter, Machine { controllers: letter, homes: Homes::Elsewhere, keeps: all, ..plain }),
        (Family::Kept, Machine { parameters: &[("remote_reads", 1)], keeps: copies, ..plain }),
        (Family::Forwarded, Machine { parameters: &[("remote_reads", 0)], ..plain }),
        (Family::Own, Machine { parameters: &[("remote_reads", 0)], holdings: Holdings::OwnMemory, ..plain }),
    ]
}

/// The kinds of lines that L2s keep.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Family {
    Letter,
    Kept,
    Forwarded,
    Own,
    Tracked,
}

impl Family {
    fn words(self) -> &'static str {
        match self {
            Family::Letter => "L2s to the letter of Figure 6",
            Family::Kept => "L2s that keep remote reads",
            Family::Forwarded => "L2s that forward",
            Family::Own => "L2s that forward, as the table knows",
            Family::Tracked => "L2s with directories that keep remote writes",
        }
    }
}

const SMALLEST: Size = Size { launches: 3, does_all: false, ..Size::SMALLEST };
const WORDS: Size = Size { sharing: Sharing::WordsApart, undeclared: true, ..SMALLEST };
const LINES: Size = Size { lines: 2, launches: 3, ..Size::SMALLEST };
const STRUCTURES: Size = Size { structures: 2, launches: 3, ..Size::SMALLEST };
const CHIPLETS: Size = Size { chiplets: 3, ..Size::SMALLEST };
const STREAMS: Size = Size { structures: 2, launches: 3, streams: 2, ..Size::SMALLEST };
const FULL: Size = Size { limits: Limits { rows: 1, per_kernel: 1 }, ..STRUCTURES };

/// The sizes in which a family is explored, with the names of the configurations.
fn sizes(family: Family) -> Vec<(&'static str, Size)> {
    match family {
        Family::Letter => vec![
            ("table-smoke", SMALLEST),
            ("table-words", WORDS),
            ("table-lines", LINES),
            ("table-structures", STRUCTURES),
            ("table-chiplets", CHIPLETS),
            ("table-streams", STREAMS),
            ("table-full", FULL),
        ],
        Family::Kept => {
            vec![("table-kept-smoke", SMALLEST), ("table-kept-lines", LINES), ("table-kept-chiplets", CHIPLETS)]
        }
        Family::Forwarded => vec![("table-forwarded", LINES)],
        Family::Own => vec![("table-own", LINES)],
        Family::Tracked => vec![
            ("table-smoke", SMALLEST),
            ("table-words", WORDS),
            ("table-lines", LINES),
            ("table-chiplets", Size { launches: 3, ..CHIPLETS }),
            ("table-streams", STREAMS),
        ],
    }
}

/// The configurations of a protocol that follows the table. There are none for other protocols.
pub fn configurations(protocol: &'static dyn Protocol) -> Vec<ElisionConfig> {
    let of_machine = |(family, machine): (Family, Machine)| {
        sizes(family).into_iter().map(move |(name, size)| ElisionConfig {
            protocol: protocol.name(),
            name,
            description: describe(family, &size),
            is_quick: name.ends_with("-smoke"),
            size,
            machine,
        })
    };
    machines(protocol).into_iter().flat_map(of_machine).collect()
}

/// The configuration of a protocol with a name.
pub fn find_configuration(protocol: &'static dyn Protocol, name: &str) -> Option<ElisionConfig> {
    configurations(protocol).into_iter().find(|config| config.name == name)
}

fn describe(family: Family, size: &Size) -> String {
    let several = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let data = match (size.structures, size.lines) {
        (1, lines) => several(lines, "line"),
        (structures, _) => several(structures, "data structure"),
    };
    let streams = if size.streams > 1 { " in 2 streams" } else { "" };
    let words = if size.sharing == Sharing::WordsApart { ", lines shared by word" } else { "" };
    let rows = if size.limits == Limits::PAPER { "" } else { ", one row" };
    format!("{} chiplets, {data}, {} kernels{streams}{words}{rows}; {}", size.chiplets, size.launches, family.words())
}
