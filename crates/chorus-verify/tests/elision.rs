//! Do the tables of command processors, explored together with their L2s, leave out enough and not too much? And are
//! tables with a mistake found, whether it makes them too lax or too cautious?

use chorus_protocol::chiplet_table::ranges::Ranges;
use chorus_protocol::chiplet_table::{Access, Mode, Plan, RangeOperation};
use chorus_protocol::registry::{Commands, PROTOCOLS, find};
use chorus_verify::elision::processor::{Orders, Processor, TableProcessor};
use chorus_verify::elision::{ElisionConfig, configurations, find_configuration};

/// A mistake of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Mistake {
    /// A chiplet that only reads is not noted.
    ForgetsReads,
    /// Writes are noted as reads.
    NotesWritesAsReads,
    /// Copies that are out of date are taken for valid.
    StaleIsValid,
    /// Dirty lines are never written back.
    NeverWritesBack,
    /// The chiplet beside the right one writes back.
    WrongChiplet,
    /// A new data structure takes the place of another without its operations.
    EvictsSilently,
    /// Of several data structures of a kernel, only the first is noted.
    CoarsensToTheFirst,
    /// Nothing is written back in the end.
    ForgetsTheEnd,
    /// Kernels of other streams are taken for over.
    ForgetsRunning,
    /// The operation with this number is left out.
    LeavesOut(u32),
    /// Every L2 is emptied before every kernel.
    NeverElides,
    /// An L2 that should write back is emptied.
    EmptiesInstead,
    /// Everything dirty is written back before every kernel.
    WritesBackAll,
    /// The operations before the last kernel are done again.
    Repeats,
    /// Ranges are widened to everything.
    WidensRanges,
    /// Every L2 is written back in the end.
    WritesBackAllInTheEnd,
}

/// The table of a protocol with a mistake.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Mistaken {
    table: TableProcessor,
    /// The table of empty L2s.
    empty: TableProcessor,
    mistake: Mistake,
    /// The data structure that was declared last.
    last: Option<u64>,
    /// The plan of the last kernel.
    before: [u64; 2],
}

const ALL: u64 = 0b11;

impl Mistaken {
    fn new(table: TableProcessor, mistake: Mistake) -> Mistaken {
        Mistaken { empty: table.clone(), table, mistake, last: None, before: [0; 2] }
    }

    /// The plan of the right table, after which only some accesses, changed, are noted.
    fn noting(&mut self, stream: usize, told: Option<&[Access]>, note: impl Fn(&Access) -> Option<Access>) -> Orders {
        let orders = self.table.clone().launch(stream, told);
        let noted: Option<Vec<Access>> = told.map(|told| told.iter().filter_map(note).collect());
        self.table.launch(stream, noted.as_deref());
        orders
    }

    fn plan(&mut self, plan: Plan) -> Plan {
        let Plan { acquires, releases } = plan;
        let whole = |acquires, releases| Plan { acquires, releases };
        match self.mistake {
            Mistake::StaleIsValid => whole(0, releases),
            Mistake::NeverWritesBack => whole(acquires, 0),
            Mistake::WrongChiplet => whole(acquires, (releases << 1 | releases >> 1) & ALL),
            Mistake::NeverElides => whole(ALL, ALL),
            Mistake::EmptiesInstead => whole(acquires | releases, releases),
            Mistake::Repeats => {
                let [again, also] = std::mem::replace(&mut self.before, [acquires, releases]);
                whole(acquires | again, releases | also)
            }
            Mistake::LeavesOut(number) if plan != Plan::default() => {
                self.mistake = Mistake::LeavesOut(number.wrapping_sub(1));
                if number == 0 { Plan::default() } else { plan }
            }
            Mistake::ForgetsReads
            | Mistake::NotesWritesAsReads
            | Mistake::EvictsSilently
            | Mistake::CoarsensToTheFirst
            | Mistake::ForgetsTheEnd
            | Mistake::ForgetsRunning
            | Mistake::LeavesOut(_)
            | Mistake::WritesBackAll
            | Mistake::WidensRanges
            | Mistake::WritesBackAllInTheEnd => plan,
        }
    }

    fn ranges(&self, operations: Vec<RangeOperation>) -> Orders {
        match self.mistake {
            Mistake::NeverElides => Orders::Whole(Plan { acquires: ALL, releases: ALL }),
            Mistake::WidensRanges => {
                let widen = |operation| RangeOperation { ranges: Ranges::from(0..64), ..operation };
                Orders::Ranges(operations.into_iter().map(widen).collect())
            }
            Mistake::StaleIsValid => {
                let is_release = |operation: &RangeOperation| {
                    operation.operation == chorus_protocol::chiplet_table::state::Operation::Release
                };
                Orders::Ranges(operations.into_iter().filter(is_release).collect())
            }
            _ => Orders::Ranges(operations),
        }
    }
}

impl Processor for Mistaken {
    fn launch(&mut self, stream: usize, told: Option<&[Access]>) -> Orders {
        let first = told.and_then(|told| told.first()).map(|access| access.structure.start);
        let is_new = first != std::mem::replace(&mut self.last, first);
        let dirty = self.table.finally();
        let orders = match self.mistake {
            Mistake::ForgetsReads => {
                self.noting(stream, told, |access| (access.mode == Mode::ReadWrite).then(|| access.clone()))
            }
            Mistake::NotesWritesAsReads => {
                self.noting(stream, told, |access| Some(Access { mode: Mode::Read, ..access.clone() }))
            }
            Mistake::CoarsensToTheFirst => {
                self.noting(stream, told, |access| (Some(access.structure.start) == first).then(|| access.clone()))
            }
            Mistake::EvictsSilently if is_new => {
                self.table = self.empty.clone();
                self.table.launch(stream, told)
            }
            Mistake::WritesBackAll => match self.table.launch(stream, told) {
                Orders::Whole(plan) => Orders::Whole(Plan { releases: plan.releases | dirty, ..plan }),
                ranges @ Orders::Ranges(_) => ranges,
            },
            _ => self.table.launch(stream, told),
        };
        if self.mistake == Mistake::ForgetsRunning {
            self.table.over(stream);
        }
        match orders {
            Orders::Whole(plan) => Orders::Whole(self.plan(plan)),
            Orders::Ranges(operations) => self.ranges(operations),
        }
    }

    fn over(&mut self, stream: usize) {
        self.table.over(stream);
    }

    fn finally(&self) -> u64 {
        match self.mistake {
            Mistake::ForgetsTheEnd => 0,
            Mistake::WritesBackAllInTheEnd => ALL,
            _ => self.table.finally(),
        }
    }
}

fn config(protocol: &str, name: &str) -> ElisionConfig {
    find_configuration(find(protocol).unwrap(), name).unwrap()
}

/// The finding about a table with a mistake.
fn found(protocol: &str, name: &str, mistake: Mistake) -> String {
    let report = config(protocol, name).check_with(|table| Mistaken::new(table, mistake));
    let finding = report.finding.unwrap_or_else(|| panic!("{mistake:?} passes {name} of {protocol}"));
    assert!(!finding.history.is_empty(), "{mistake:?}");
    finding.wrong
}

#[test]
fn every_protocol_that_follows_the_table_has_configurations_and_passes_the_smallest() {
    for protocol in PROTOCOLS {
        let follows = matches!(protocol.declaration().commands, Commands::Table | Commands::TableOfRanges);
        let configurations = configurations(*protocol);
        assert_eq!(!configurations.is_empty(), follows, "{}", protocol.name());
        assert_eq!(configurations.iter().any(|config| config.is_quick), follows, "{}", protocol.name());
        for config in configurations.iter().filter(|config| config.is_quick) {
            let report = config.check();
            assert!(report.passed() && report.counts.histories > 100, "{}", report.to_text());
        }
    }
}

#[test]
fn three_chiplets_to_the_letter_of_figure_6_get_exactly_what_they_need() {
    for protocol in ["cpelide", "cpelide-range"] {
        let report = config(protocol, "table-chiplets").check();
        assert!(report.passed(), "{}", report.to_text());
        assert_eq!(report.counts.operations, report.counts.least);
        assert_eq!(report.excess_text(), "none");
    }
}

#[test]
fn tables_that_are_too_lax_show_in_values() {
    let cases = [
        ("table-smoke", Mistake::NotesWritesAsReads),
        ("table-smoke", Mistake::StaleIsValid),
        ("table-smoke", Mistake::NeverWritesBack),
        ("table-smoke", Mistake::WrongChiplet),
        ("table-structures", Mistake::EvictsSilently),
        ("table-structures", Mistake::CoarsensToTheFirst),
        ("table-smoke", Mistake::ForgetsTheEnd),
        ("table-streams", Mistake::ForgetsRunning),
    ];
    for (name, mistake) in cases {
        let wrong = found("cpelide", name, mistake);
        assert!(wrong.starts_with("stale read") || wrong.starts_with("lost write"), "{mistake:?}: {wrong}");
    }
}

#[test]
fn a_reader_that_is_forgotten_is_found() {
    found("cpelide", "table-smoke", Mistake::ForgetsReads);
    found("cpelide", "table-kept-smoke", Mistake::ForgetsReads);
}

#[test]
fn tables_that_are_too_cautious_are_found() {
    let cases = [
        ("cpelide", "table-smoke", Mistake::NeverElides),
        ("cpelide", "table-smoke", Mistake::EmptiesInstead),
        ("cpelide", "table-smoke", Mistake::WritesBackAll),
        ("cpelide", "table-smoke", Mistake::Repeats),
        ("cpelide", "table-smoke", Mistake::WritesBackAllInTheEnd),
        ("cpelide", "table-own", Mistake::EmptiesInstead),
        ("cpelide-range", "table-smoke", Mistake::NeverElides),
        ("cpelide-range", "table-structures", Mistake::WidensRanges),
        ("nhcc-wb", "table-smoke", Mistake::NeverElides),
    ];
    for (protocol, name, mistake) in cases {
        let wrong = found(protocol, name, mistake);
        assert!(wrong.contains("needless"), "{mistake:?}: {wrong}");
    }
}

#[test]
fn releases_matter_to_l2s_that_keep_writes_and_acquires_to_those_that_keep_reads() {
    for (protocol, name, mistake) in [
        ("nhcc-wb", "table-smoke", Mistake::NeverWritesBack),
        ("cpelide", "table-kept-smoke", Mistake::StaleIsValid),
        ("cpelide-range", "table-smoke", Mistake::StaleIsValid),
    ] {
        let wrong = found(protocol, name, mistake);
        assert!(wrong.starts_with("stale read"), "{wrong}");
    }
}

/// The account calls an operation needed. Each that is left out, wherever in a history, shows in a value at once.
#[test]
fn the_least_that_the_account_demands_is_least() {
    // Histories of three kernels have two launches with operations at most.
    for number in 0..2 {
        let wrong = found("cpelide", "table-smoke", Mistake::LeavesOut(number));
        assert!(wrong.starts_with("stale read") && wrong.ends_with("is needed"), "{number}: {wrong}");
    }
}
