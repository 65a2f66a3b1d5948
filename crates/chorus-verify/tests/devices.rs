//! Machines with CPU cores and compute units: litmus tests with threads beside every kind of device, and seeded faults.

#[path = "pages/markdown.rs"]
mod markdown;
mod pages;

use chorus_protocol::registry::{PROTOCOLS, Protocol, find};
use chorus_verify::check::{Verdict, check, check_bounded, find_configuration};
use chorus_verify::config::Stores;
use chorus_verify::faults::{Catch, Catcher, caught, programs_of};
use chorus_verify::heterogeneous::{applies, devices};
use chorus_verify::litmus::{self, Placement, SuiteTest, device_tests, run_litmus};
use markdown::table;
use pages::Page;

/// The configurations of the Spandex paper, and all kinds of devices at once.
const PAPER: [&str; 7] = ["hmesi-gpu", "hmesi-denovo", "smg", "smd", "sdg", "sdd", "spandex-mixed"];

fn threads(test: &SuiteTest) -> usize {
    test.test.program.threads.len()
}

#[test]
fn kinds_of_devices_are_those_that_a_protocol_builds() {
    let kinds = |name: &str| devices(find(name).unwrap());
    assert_eq!(kinds("smg"), ["MESI", "GPU coherence"]);
    assert_eq!(kinds("sdd"), ["DeNovo", "DeNovo"]);
    assert_eq!(kinds("spandex-mixed"), ["MESI", "GPU coherence", "DeNovo"]);
}

#[test]
fn threads_are_placed_beside_every_kind_of_device() {
    let program = &litmus::find("MP+data").unwrap().test.program;
    let names = |protocol: &str| -> Vec<String> {
        Placement::all(find(protocol).unwrap(), program).iter().map(|placement| placement.name()).collect()
    };
    assert_eq!(names("smg"), ["cc", "gc", "cg", "gg"]);
    assert_eq!(names("spandex-mixed").len(), 9);
}

#[test]
fn data_is_handed_over_between_any_two_devices() {
    for name in PAPER {
        for test in device_tests().iter().filter(|test| threads(test) == 2) {
            let result = run_litmus(find(name).unwrap(), None, test, Stores::Posted).unwrap();
            assert!(result.passed(), "{}", result.to_text());
        }
    }
}

#[test]
fn chains_of_messages_hold_between_any_three_devices() {
    for name in ["smd", "sdg"] {
        for test in device_tests().iter().filter(|test| threads(test) == 3) {
            let result = run_litmus(find(name).unwrap(), None, test, Stores::Posted).unwrap();
            assert!(result.passed(), "{}", result.to_text());
        }
    }
}

#[test]
fn three_kinds_of_devices_share_a_line_that_leaves_at_any_time() {
    let mixed = find("spandex-mixed").unwrap();
    let report = check(mixed, None, &find_configuration(mixed, "three").unwrap());
    assert!(report.passed(), "{}", report.to_text());
}

/// What catches every fault of a protocol: a table, and a line on the programs in it that are nowhere else.
fn catches(protocol: &'static dyn Protocol) -> String {
    let catch = |index: usize| {
        let name = protocol.faults()[index].name;
        caught(protocol, index as u8).unwrap_or_else(|| panic!("{name} of {} is not caught", protocol.name()))
    };
    let catches: Vec<Catch> = (0..protocol.faults().len()).map(catch).collect();
    let rows = catches.iter().map(|catch| {
        let (kind, name) = catch.by.words();
        let shows_as = catch.chart.violation.to_string();
        let shows_as = shows_as.split(", which the model").next().unwrap_or_default().to_owned();
        [format!("`{}`", catch.fault.name), catch.fault.breaks.to_owned(), format!("{kind} `{name}`"), shows_as]
    });
    let mut text = table(["fault", "what the faulty controller does", "found by", "as"], rows);
    let used = |name| catches.iter().any(|catch| catch.by == Catcher::Program(name));
    for program in programs_of(protocol).iter().filter(|program| used(program.name)) {
        text.push_str(&format!("\nIn `{}` {}.\n", program.name, program.description));
    }
    text
}

fn expect_catches(name: &str) {
    let found = catches(find(name).unwrap());
    Page::read(&format!("docs/protocols/{name}.md")).expect("faults", |_| found);
}

/// The protocols whose seeded faults are looked for here: between them they have every fault. `chorus check --all` looks for those of the others.
const FAULTY: [&str; 3] = ["smg", "sdg", "smv"];

#[test]
fn every_fault_is_one_of_a_protocol_whose_faults_are_looked_for() {
    let faults = |name: &str| find(name).unwrap().faults().iter().map(|fault| fault.name);
    let looked_for: Vec<&str> = FAULTY.into_iter().flat_map(faults).collect();
    for protocol in PROTOCOLS.iter().filter(|protocol| applies(**protocol)) {
        let missing = faults(protocol.name()).find(|fault| !looked_for.contains(fault));
        assert_eq!(missing, None, "{}", protocol.name());
    }
}

#[test]
fn programs_made_for_faults_find_none_in_protocols_without() {
    for name in ["smg", "smd", "sdg", "sdd", "smv"] {
        let protocol = find(name).unwrap();
        for program in programs_of(protocol) {
            let report = check_bounded(protocol, None, &program, 100_000);
            assert!(!matches!(report.verdict, Verdict::Violated(_)), "{}", report.to_text());
        }
    }
}

#[test]
fn every_fault_of_smg_is_caught_as_its_page_says() {
    expect_catches("smg");
}

#[test]
fn every_fault_of_sdg_is_caught_as_its_page_says() {
    expect_catches("sdg");
}

#[test]
fn every_fault_of_smv_is_caught_as_its_page_says() {
    expect_catches("smv");
}
