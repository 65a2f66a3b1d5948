//! Machines with CPU cores and compute units: litmus tests with threads beside every kind of device.

use chorus_protocol::registry::{PROTOCOLS, Protocol, Structure, find};
use chorus_verify::check::{Verdict, check, check_bounded, find_configuration};
use chorus_verify::config::Stores;
use chorus_verify::faults::programs_of;
use chorus_verify::heterogeneous::devices;
use chorus_verify::litmus::{self, Placement, SuiteTest, device_tests};

use crate::explored;

/// The protocols of these structures, one for each combination of kinds of devices. `chorus check --all` runs the
/// others.
fn of_structures(structures: &[Structure]) -> Vec<&'static dyn Protocol> {
    let mut seen = Vec::new();
    let mut found = PROTOCOLS.to_vec();
    found.retain(|protocol| {
        let kinds = (protocol.structure(), devices(*protocol));
        let is_new = structures.contains(&kinds.0) && !seen.contains(&kinds);
        seen.push(kinds);
        is_new
    });
    found
}

/// The protocols of two levels and two kinds of devices. Three levels or kinds have many more states and placements.
fn of_two_kinds() -> impl Iterator<Item = &'static dyn Protocol> {
    of_structures(&[Structure::Translated]).into_iter().filter(|protocol| devices(*protocol).len() == 2)
}

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
    for protocol in of_two_kinds() {
        for test in device_tests().iter().filter(|test| threads(test) == 2) {
            let result = explored::litmus(protocol, test, Stores::Posted);
            assert!(result.passed(), "{}", result.to_text());
        }
    }
}

#[test]
fn data_is_handed_over_on_three_levels() {
    let test = litmus::find("MP+data").unwrap();
    for protocol in of_structures(&[Structure::ThreeLevels]) {
        let result = explored::litmus(protocol, &test, Stores::Posted);
        assert!(result.passed(), "{}", result.to_text());
    }
}

#[test]
fn chains_of_messages_hold_between_any_three_devices() {
    for name in ["smd", "sdg"] {
        for test in device_tests().iter().filter(|test| threads(test) == 3) {
            let result = explored::litmus(find(name).unwrap(), test, Stores::Posted);
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

#[test]
fn programs_made_for_faults_find_none_in_protocols_without() {
    for protocol in of_two_kinds() {
        for program in programs_of(protocol) {
            let report = check_bounded(protocol, None, &program, 100_000);
            assert!(!matches!(report.verdict, Verdict::Violated(_)), "{}", report.to_text());
        }
    }
}
