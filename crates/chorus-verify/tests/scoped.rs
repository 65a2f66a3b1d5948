//! Do protocols of several modules keep the scoped memory model, and do their directories do what the HMG paper's Table
//! I says?

use std::collections::BTreeSet;

use chorus_protocol::address::Role;
use chorus_protocol::message::TrafficClass;
use chorus_protocol::registry::{Commands, PROTOCOLS, Protocol, Reach, find};
use chorus_verify::check::find_configuration;
use chorus_verify::config::{MachineConfig, Stores};
use chorus_verify::explore::{End, Exploration, OnForbidden};
use chorus_verify::faults::{caught_by, find_fault, programs_of};
use chorus_verify::litmus::{self, LitmusResult, SuiteTest};
use chorus_verify::machine::ExploredMachine;
use chorus_verify::networks::Networks;
use chorus_verify::node::StepInput;
use chorus_verify::settings::Settings;
use chorus_verify::table::RoleTable;
use chorus_verify::torture::{Settings as TortureSettings, torture};

use crate::explored;
use crate::markdown::table;
use crate::pages::Page;

fn protocol(name: &str) -> &'static dyn Protocol {
    find(name).unwrap()
}

fn check_named(name: &str, config: &str) {
    let config = find_configuration(protocol(name), config).unwrap();
    let report = explored::report(protocol(name), &config);
    assert!(report.passed(), "{}", report.to_text());
}

/// The larger ones are run by `chorus check`.
const MEDIUM: [&str; 11] = [
    "three-modules",
    "weak",
    "beside",
    "fences",
    "message-modules",
    "message-gpus",
    "strong",
    "kernels",
    "private",
    "gpus-home",
    "one-gpu-of-two",
];

#[test]
fn hmg_passes_its_checks_of_medium_size() {
    MEDIUM.iter().for_each(|config| check_named("hmg", config));
}

#[test]
fn nhcc_passes_its_checks_of_medium_size() {
    MEDIUM.iter().for_each(|config| check_named("nhcc", config));
}

#[test]
fn rec_passes_its_checks_of_medium_size() {
    MEDIUM.iter().for_each(|config| check_named("rec", config));
}

/// The protocols that reach further than one module.
fn of_several_modules() -> impl Iterator<Item = &'static dyn Protocol> {
    PROTOCOLS.iter().copied().filter(|protocol| protocol.reach() == Reach::AnyMachine)
}

#[test]
fn every_protocol_of_several_modules_passes_some_checks_of_medium_size() {
    for protocol in of_several_modules() {
        let names = ["three-modules", "message-gpus", "kernels", "private"];
        names.iter().for_each(|config| check_named(protocol.name(), config));
    }
}

#[test]
fn protocols_with_commands_between_kernels_pass_more_of_them() {
    let has_commands = |protocol: &&'static dyn Protocol| protocol.declaration().commands != Commands::None;
    for protocol in of_several_modules().filter(has_commands) {
        ["weak", "fences", "message-modules"].iter().for_each(|config| check_named(protocol.name(), config));
    }
}

fn run(name: &str, test: &SuiteTest) -> &'static LitmusResult {
    let result = explored::litmus(protocol(name), test, Stores::Posted);
    assert!(result.passed(), "{}", result.to_text());
    result
}

/// The tests of two threads that tell scoped protocols from others, and some that must not.
const TELLING: [&str; 12] = [
    "lock+cta",
    "MP",
    "MP+release+weak-reader",
    "SB+ra",
    "CoRR+strong-weak",
    "two-words",
    "MP+cta+across",
    "MP+gpu-cta+across",
    "MP+gpu+gpus",
    "MP+sys+gpus",
    "SB+fences+cta",
    "SB+fences+cta+across",
];

/// Of these tests, the ones whose telling outcome a protocol with directories shows and GPU-VI does not; REC shows what
/// NHCC shows. `chorus litmus` runs all tests.
fn shown_beyond_gpu_vi() -> String {
    let tests = TELLING.into_iter().map(|name| litmus::find(name).unwrap());
    let rows = tests.filter_map(|test| {
        let [nhcc, hmg, rec] = ["nhcc", "hmg", "rec"].map(|name| run(name, &test).telling_reached());
        assert_eq!(rec, nhcc, "REC and NHCC differ in {}", test.name());
        let beyond = (nhcc || hmg) && !run("gpu-vi", &test).telling_reached();
        let seen = |is_seen: bool| if is_seen { "seen" } else { "never seen" }.to_owned();
        let condition = format!("`{}`", test.test.condition_text());
        beyond.then(|| [test.name().to_owned(), test.question(), condition, seen(nhcc), seen(hmg)])
    });
    table(["test", "question", "telling outcome", "NHCC", "HMG"], rows)
}

#[test]
fn litmus_tests_of_two_threads_stay_within_the_scoped_model_and_show_what_the_page_lists() {
    let mut page = Page::read("docs/protocols/hmg.md");
    page.expect("weak-outcomes", |_| shown_beyond_gpu_vi());
}

/// Messages through a third thread, and what writes that are not atomic could show.
#[test]
fn messages_through_a_third_thread_stay_within_the_scoped_model() {
    for (name, test) in
        [("hmg", "ISA2+cta-gpu"), ("hmg", "ISA2+gpu-sys"), ("hmg", "WRC+cta-gpu"), ("rec", "ISA2+cta-gpu")]
    {
        run(name, &litmus::find(test).unwrap());
    }
}

#[test]
fn every_protocol_of_several_modules_passes_the_tests_that_tell_protocols_apart() {
    for protocol in of_several_modules() {
        for test in ["MP", "MP+cta+across"] {
            run(protocol.name(), &litmus::find(test).unwrap());
        }
    }
}

/// HMG paper, Table I, row by row: Local Ld, Local St/Atom, Remote Ld, Remote St/Atom, Replace Dir Entry, Invalidation.
/// Only HMG has the last cell.
const TABLE_I: [(&str, [&str; 6]); 2] = [
    ("I", ["-", "-", "add s to sharers, → V", "add s to sharers, → V", "N/A", "-"]),
    (
        "V",
        [
            "-",
            "inv all sharers, → I",
            "add s to sharers",
            "add s to sharers, inv other sharers",
            "inv all sharers, → I",
            "forward inv to all sharers, → I (HMG only)",
        ],
    ),
];

const EVENTS: [&str; 6] =
    ["Local Ld", "Local St/Atom", "Remote Ld", "Remote St/Atom", "Replace Dir Entry", "Invalidation"];

fn cell(table: &RoleTable, state: &str, event: &str) -> String {
    let vocabulary = table.vocabulary;
    let state = vocabulary.states.iter().position(|spec| spec.name == state).unwrap() as u8;
    let event = vocabulary.events.iter().position(|name| *name == event).unwrap() as u8;
    table.words(state, event).map_or("N/A".to_owned(), |words| words.join(" | "))
}

/// `in_v` are cells of state V that a protocol has instead of those of Table I.
fn compare_with_table_i(name: &str, in_v: &[(&str, &str)]) {
    let table = explored::table(protocol(name));
    let table = table.role(Role::L2).unwrap();
    assert_eq!(table.states().count(), 2, "{name}");
    for (state, row) in TABLE_I {
        for (event, expected) in EVENTS.into_iter().zip(row) {
            let instead = in_v.iter().find(|(other, _)| state == "V" && *other == event);
            let expected = instead.map_or(expected, |(_, expected)| expected);
            assert_eq!(cell(table, state, event), expected, "{name}: {state}, {event}");
        }
    }
}

/// No invalidation meets an entry where only homes have entries.
const ONLY_HOMES: (&str, &str) = ("Invalidation", "N/A");

#[test]
fn the_directory_of_nhcc_does_what_table_i_says() {
    compare_with_table_i("nhcc", &[ONLY_HOMES]);
}

/// CPElide paper, section IV-C: its HMG has the directory of NHCC.
#[test]
fn the_directories_of_the_cpelide_paper_do_what_table_i_says() {
    ["nhcc-wt", "nhcc-wb"].iter().for_each(|name| compare_with_table_i(name, &[ONLY_HOMES]));
}

#[test]
fn the_directory_of_hmg_does_what_table_i_says_with_one_transition_more() {
    compare_with_table_i("hmg", &[]);
}

/// REC paper, Figure 3: the table is the same, and so is that of a line of a range (section 4.2). `rec.rs` looks at
/// ranges and at who is replaced.
#[test]
fn the_directories_of_the_rec_paper_do_what_table_i_says() {
    ["dir", "dir-hmg", "rec"].iter().for_each(|name| compare_with_table_i(name, &[ONLY_HOMES]));
    compare_with_table_i("dir-ideal", &[ONLY_HOMES, ("Replace Dir Entry", "N/A")]);
}

/// The explored machine of a configuration.
fn exploration(name: &str, config: &str) -> Exploration {
    let config = find_configuration(protocol(name), config).unwrap();
    let mut exploration = Exploration::new(protocol(name), None, &config.machine, OnForbidden::Stop);
    exploration.run(&Settings::with_states(200_000));
    exploration
}

/// Buffers that are finite and never full change nothing but that every message is tried in every order.
#[test]
fn messages_that_only_count_may_be_taken_at_once() {
    for (name, config) in [("nhcc", "message-modules"), ("hmg", "message-modules"), ("hmg", "gpus-smoke")] {
        let config = find_configuration(protocol(name), config).unwrap().machine;
        let networks = Networks::Finite { pools: vec![0, 1], capacity: 1000 };
        let every_order = MachineConfig { networks, ..config.clone() };
        let [reduced, full] = [config, every_order].map(|machine| {
            let mut exploration = Exploration::new(protocol(name), None, &machine, OnForbidden::Stop);
            assert_eq!(exploration.run(&Settings::default()), End::Exhausted, "{name}");
            exploration
        });
        let outcomes = |exploration: &Exploration| exploration.judge().reached().into_keys().collect::<Vec<_>>();
        assert_eq!(outcomes(&reduced), outcomes(&full), "{name}");
        assert!(reduced.states() < full.states(), "{name}: {} of {} states", reduced.states(), full.states());
    }
}

/// The messages that banks got while they had no copy but waited for one, as traffic classes.
fn met_by_misses(machine: &ExploredMachine) -> BTreeSet<TrafficClass> {
    let (nodes, topology) = (machine.nodes(), machine.config().topology);
    let met = nodes.all_results().iter().filter_map(|step| {
        let StepInput::Message(number) = step.input else { return None };
        let (before, message) = (nodes.node(step.before), nodes.message(number));
        let waits = !before.quiescent && before.views[message.line.0 as usize].readable.is_empty();
        let class = machine.protocol().messages()[usize::from(message.kind.0)].class;
        (before.agent >= topology.l1s && waits).then_some(class)
    });
    met.collect()
}

#[test]
fn invalidations_and_stores_that_meet_a_copy_on_its_way_are_reached() {
    for (name, config) in
        [("nhcc", "words-smoke"), ("hmg", "words-smoke"), ("hmg", "gpus-smoke"), ("rec", "entry-smoke")]
    {
        let met = met_by_misses(exploration(name, config).machine());
        assert!(met.contains(&TrafficClass::Invalidation), "{name} in {config}: {met:?}");
        assert!(met.contains(&TrafficClass::Store), "{name} in {config}: {met:?}");
    }
}

/// A release beside both: a bank answers a release while an invalidation of its own is still on its way.
#[test]
fn releases_beside_invalidations_are_reached() {
    for name in ["nhcc", "hmg", "rec"] {
        let exploration = exploration(name, "gpus-smoke");
        let machine = exploration.machine();
        let name_of = |number: &u32| {
            let kind = machine.nodes().message(*number).kind;
            machine.protocol().messages()[usize::from(kind.0)].name
        };
        let marks =
            machine.nodes().all_results().iter().flat_map(|step| &step.sent).filter(|sent| name_of(sent) == "MARK");
        assert!(marks.count() > 0, "{name} sends no mark");
    }
}

#[test]
fn each_race_lost_is_caught() {
    for name in ["nhcc", "hmg"] {
        let faults =
            ["invalidations-overtake", "installed-after-invalidation", "pending-store", "release-without-marks"];
        for fault in faults {
            let index = find_fault(protocol(name), fault).unwrap_or_else(|| panic!("{name} has no fault {fault}"));
            explored::catch(protocol(name), index);
        }
    }
}

/// A load behind an acquire must not read the line that an atomic fetched before it. Without the mistake, the same
/// program passes.
#[test]
fn a_load_that_joins_the_closed_miss_of_an_atomic_is_caught() {
    for name in ["hmg", "sw-hier"] {
        let protocol = protocol(name);
        let fault = find_fault(protocol, "joins-closed-miss").unwrap();
        assert!(caught_by(protocol, fault, "program", "atomic-beside").is_some(), "{name}");
        let programs = programs_of(protocol);
        let program = programs.iter().find(|program| program.name == "atomic-beside").unwrap();
        let report = explored::report(protocol, program);
        assert!(report.passed(), "{}", report.to_text());
    }
}

/// The random steps in which the mistake was first seen.
#[test]
fn the_episode_that_showed_a_closed_miss_of_an_atomic_passes() {
    let hmg = protocol("hmg");
    let settings = TortureSettings { episode: Some(3629), shrinks: false, ..TortureSettings::default() };
    assert!(torture(hmg, None, &settings).failure.is_none());
    assert!(torture(hmg, find_fault(hmg, "joins-closed-miss"), &settings).failure.is_some());
}
