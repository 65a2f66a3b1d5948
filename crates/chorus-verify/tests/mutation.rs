//! Is every seeded fault found, and by what? The tables of faults in the pages of protocols are compared with what finds them here.

mod pages;

use chorus_protocol::registry::{Counters, PROTOCOLS, Protocol, find};
use chorus_verify::faults::{Catch, Catcher, caught, find_fault, score};
use pages::{Page, table};

/// TC-Weak's faults are looked for under fixed leases: the controllers and the faults are the same, and fewer states are to be searched.
const PREDICTING: &str = "tc-weak";
const FIXED: &str = "tc-weak-fixed";

/// States that either kind of check may visit in each place to score.
const SCORED_STATES: usize = 2_000;

fn protocol(name: &str) -> &'static dyn Protocol {
    find(name).unwrap()
}

fn catch(protocol_name: &str, fault: &str) -> Catch {
    let protocol = protocol(protocol_name);
    caught(protocol, find_fault(protocol, fault).unwrap()).unwrap_or_else(|| panic!("{fault} is not caught"))
}

/// What catches every fault of a protocol, as a table.
fn catches(protocol: &'static dyn Protocol) -> String {
    let rows = protocol.faults().iter().map(|fault| {
        let catch = catch(protocol.name(), fault.name);
        let (kind, name) = catch.by.words();
        let shows_as = catch.chart.violation.to_string();
        let shows_as = shows_as.split(", which the model").next().unwrap_or_default().to_owned();
        [format!("`{}`", fault.name), fault.breaks.to_owned(), format!("{kind} `{name}`"), shows_as]
    });
    table(["fault", "what the faulty controller does", "found by", "as"], rows)
}

fn expect_catches(counters: Counters) {
    let with = |protocol: &&&'static dyn Protocol| protocol.counters() == counters && protocol.name() != PREDICTING;
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
    expect_catches(Counters::None);
}

#[test]
fn every_fault_of_protocols_with_leases_is_caught_as_its_page_says() {
    assert_eq!(protocol(PREDICTING).faults(), protocol(FIXED).faults());
    expect_catches(Counters::Synchronised);
}

#[test]
fn neither_kind_of_check_is_idle() {
    for protocol in PROTOCOLS.iter().filter(|protocol| protocol.counters() == Counters::None) {
        let score = score(*protocol, SCORED_STATES);
        println!("{}: {score:?}", protocol.name());
        assert!(score.missed.is_empty(), "{}: {:?}", protocol.name(), score.missed);
        assert!(score.by_configuration > 0 && score.by_litmus > 0, "{}: {score:?}", protocol.name());
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
