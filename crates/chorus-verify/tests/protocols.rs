//! Every registered protocol against its checks and its litmus tests.

use chorus_litmus::model::Model;
use chorus_protocol::registry::{PROTOCOLS, Protocol, Reach, find};
use chorus_verify::check::{
    CheckReport, Verdict, check, check_bounded, configurations, find_configuration, quick_configurations,
    smoke_configurations,
};
use chorus_verify::config::{Loads, MachineConfig, Stores};
use chorus_verify::explore::{End, Exploration, OnForbidden};
use chorus_verify::heterogeneous;
use chorus_verify::litmus::{self, LitmusResult, SuiteTest, run_litmus};
use chorus_verify::settings::{Bound, Settings};

use crate::explored;

fn protocol(name: &str) -> &'static dyn Protocol {
    find(name).unwrap()
}

fn litmus_on(protocol_name: &str, test: &str) -> &'static LitmusResult {
    explored::litmus(protocol(protocol_name), &litmus::find(test).unwrap(), Stores::Posted)
}

fn check_named(protocol_name: &str, config: &str) -> &'static CheckReport {
    let config = find_configuration(protocol(protocol_name), config).unwrap();
    explored::report(protocol(protocol_name), &config)
}

#[test]
fn every_protocol_passes_its_smallest_checks() {
    for protocol in PROTOCOLS {
        for config in quick_configurations(*protocol) {
            let report = explored::report(*protocol, &config);
            assert!(report.passed(), "{}", report.to_text());
            assert!(report.states > 1_000, "{}", report.to_text());
        }
    }
}

#[test]
fn gpu_vi_passes_its_checks_of_medium_size() {
    for name in ["lines", "lines-mshr", "ways", "words", "shared"] {
        let report = check_named("gpu-vi", name);
        assert!(report.passed(), "{}", report.to_text());
    }
}

/// Tests with more threads have many more states; those that tell protocols apart are run by `discriminators.rs`, the
/// others by `chorus check --all`.
fn has_two_threads(test: &SuiteTest) -> bool {
    test.test.program.threads.len() <= 2
}

#[test]
fn every_protocol_of_one_module_passes_the_litmus_tests_of_two_threads() {
    // Protocols that reach further, or have several kinds of devices, have many placements: `scoped.rs` and
    // `devices.rs` run them.
    let of_one_kind =
        |protocol: &&&'static dyn Protocol| protocol.reach() == Reach::OneModule && !heterogeneous::applies(**protocol);
    for protocol in PROTOCOLS.iter().filter(of_one_kind) {
        for test in litmus::tests().into_iter().filter(has_two_threads) {
            let result = explored::litmus(*protocol, &test, Stores::Posted);
            assert!(result.passed(), "{}", result.to_text());
        }
    }
}

#[test]
fn fences_do_not_help_a_reader_with_a_stale_copy_in_no_coh() {
    assert!(litmus_on("no-coh", "MP+fences").telling_reached());
}

#[test]
fn stores_of_gpu_vi_do_not_block() {
    for (test, seen) in [("MP", true), ("SB", true), ("MP+fences", false), ("SB+fences", false)] {
        assert_eq!(litmus_on("gpu-vi", test).telling_reached(), seen, "{test}");
    }
}

#[test]
fn loads_that_do_not_block_make_load_buffering_reachable() {
    let test = litmus::find("LB").unwrap();
    let program = &test.test.program;
    let config = MachineConfig { loads: Loads::NonBlocking, ..MachineConfig::for_program(program).unwrap() };
    let mut exploration = Exploration::new(protocol("gpu-vi"), None, &config, OnForbidden::Collect);
    assert_eq!(exploration.run(&Settings::default()), End::Exhausted);
    assert!(exploration.judge().reached().keys().any(|outcome| program.holds(&test.test.condition, outcome)));
}

#[test]
fn an_outcome_that_must_be_seen_and_is_not_fails_its_test() {
    let mut test = litmus::find("LB").unwrap();
    test.expected = vec![(Model::RcPc, litmus::Expectation::Reachable)];
    let result = run_litmus(protocol("gpu-vi"), None, &test, Stores::Posted).unwrap();
    assert!(result.vacuous() && !result.passed());
    assert!(result.to_text().contains("vacuous"), "{}", result.to_text());
}

#[test]
fn what_a_protocol_cannot_show_is_declared_and_a_wrong_declaration_fails() {
    let not_shown = litmus_on("nhcc", "WRC");
    assert!(not_shown.passed() && !not_shown.vacuous(), "{}", not_shown.to_text());
    assert!(not_shown.to_text().contains("not shown: strong accesses meet"), "{}", not_shown.to_text());
    let wrong = LitmusResult { declared_not_shown: Some("it cannot be"), ..litmus_on("nhcc", "MP").clone() };
    assert!(!wrong.passed() && wrong.not_shown().is_none());
    assert!(wrong.to_text().contains("wrongly declared"), "{}", wrong.to_text());
}

#[test]
fn a_search_that_meets_its_bound_is_not_a_pass() {
    let config = &smoke_configurations()[0];
    let report = check_bounded(protocol("gpu-vi"), None, config, 1000);
    assert_eq!(report.verdict, Verdict::Bounded(Bound::States(1000)));
    assert!(!report.passed() && report.to_text().contains("nothing is shown"), "{}", report.to_text());
}

#[test]
fn the_same_check_gives_the_same_numbers() {
    let config = &smoke_configurations()[0];
    assert_eq!(check(protocol("gpu-vi"), None, config), check(protocol("gpu-vi"), None, config));
}

#[test]
fn configuration_names_are_unique() {
    let mut names: Vec<_> = configurations(protocol("gpu-vi")).iter().map(|config| config.name).collect();
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all);
}
