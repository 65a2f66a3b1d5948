//! Is every seeded fault found, and by what? The tables of faults in the pages of protocols are compared with what finds them here.

#[path = "pages/markdown.rs"]
mod markdown;
mod pages;

use chorus_protocol::registry::{Counters, PROTOCOLS, Protocol, Reach, find};
use chorus_verify::faults::{Catch, Catcher, MutationScore, caught, find_fault, programs_of, score};
use chorus_verify::heterogeneous;
use markdown::table;
use pages::Page;

/// TC-Weak's faults are looked for under fixed leases: the controllers and the faults are the same, and fewer states are to be searched.
const PREDICTING: &str = "tc-weak";
const FIXED: &str = "tc-weak-fixed";

fn protocol(name: &str) -> &'static dyn Protocol {
    find(name).unwrap()
}

fn catch(protocol_name: &str, fault: &str) -> Catch {
    let protocol = protocol(protocol_name);
    caught(protocol, find_fault(protocol, fault).unwrap()).unwrap_or_else(|| panic!("{fault} is not caught"))
}

/// What catches every fault of a protocol: a table, and a line on the programs in it that are nowhere else.
fn catches(protocol: &'static dyn Protocol) -> String {
    let catches: Vec<Catch> = protocol.faults().iter().map(|fault| catch(protocol.name(), fault.name)).collect();
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

fn expect_catches(reach: Reach, counters: Counters) {
    let with = |protocol: &&&'static dyn Protocol| {
        let is_such = protocol.reach() == reach && protocol.counters() == counters;
        is_such && protocol.name() != PREDICTING && !heterogeneous::applies(**protocol)
    };
    for protocol in PROTOCOLS.iter().filter(with) {
        let found = catches(*protocol);
        let page = |name: &str| Page::read(&format!("docs/protocols/{name}.md"));
        page(protocol.name()).expect("faults", |_| found.clone());
        if protocol.name() == FIXED {
            page(PREDICTING).expect("faults", |_| found);
        }
    }
}

#[test]
fn every_fault_of_protocols_without_time_is_caught_as_its_page_says() {
    expect_catches(Reach::OneModule, Counters::None);
}

#[test]
fn every_fault_of_protocols_with_leases_is_caught_as_its_page_says() {
    assert_eq!(protocol(PREDICTING).faults(), protocol(FIXED).faults());
    expect_catches(Reach::OneModule, Counters::Synchronised);
}

#[test]
fn every_fault_of_protocols_of_several_modules_is_caught_as_its_page_says() {
    expect_catches(Reach::AnyMachine, Counters::None);
}

/// How much each kind of check finds by itself is printed. Of TC-Weak and of protocols of several modules, where even a brief look into every place takes
/// minutes, it is not.
#[test]
fn each_kind_of_check_finds_most_faults_by_itself_and_together_they_find_all() {
    let scored = |protocol: &&&'static dyn Protocol| {
        let is_such = protocol.reach() == Reach::OneModule && !heterogeneous::applies(**protocol);
        is_such && ![PREDICTING, FIXED].contains(&protocol.name())
    };
    for protocol in PROTOCOLS.iter().filter(scored) {
        let MutationScore { seeded, by_configuration, by_litmus, missed } = score(*protocol);
        let name = protocol.name();
        println!("{name}: {seeded} faults, {by_configuration} by configurations, {by_litmus} by litmus tests");
        assert!(missed.is_empty(), "{name}: {missed:?}");
        assert!(2 * by_configuration.min(by_litmus) > seeded, "{name}");
    }
}

#[test]
fn faults_that_break_no_invariant_are_caught_by_the_memory_model() {
    for (protocol_name, fault) in [("gpu-vi", "empty-fence"), ("gpu-vi", "pending-hit"), ("no-l1", "empty-fence")] {
        let catch = catch(protocol_name, fault);
        assert!(!matches!(catch.by, Catcher::Configuration(_)), "{}", catch.summary());
    }
}

#[test]
fn each_rule_catches_the_fault_that_breaks_it() {
    let shows_as = |protocol_name, fault, words: &str| {
        let catch = catch(protocol_name, fault);
        assert!(catch.chart.violation.to_string().contains(words), "{}", catch.summary());
    };
    shows_as("ideal-coh", "surviving-copy", "single writer broken");
    shows_as("gpu-vi", "skipped-recall", "inclusion broken");
    shows_as("gpu-vi", "lost-write-back", "wrong values");
    shows_as("no-l1", "lost-ack", "deadlock");
    shows_as("no-coh", "stale-store-hit", "a hole in the table");
    shows_as("mesi", "put-race", "a hole in the table");
    shows_as("gpu-vi", "leaked-register", "still waits for something");
}
