//! Is every seeded fault found, and by what? The tables of faults in the pages of protocols are compared with what
//! finds them here.

use chorus_protocol::registry::{Counters, PROTOCOLS, Protocol, Reach, find};
use chorus_verify::faults::{Catch, Catcher, MutationScore, caught_by, find_fault, programs_of, score};
use chorus_verify::heterogeneous;

use crate::docs::written;
use crate::markdown::table;
use crate::pages::Page;
use crate::{explored, registered};

/// TC-Weak's faults are looked for under fixed leases: the controllers and the faults are the same, and fewer states
/// are to be searched.
const PREDICTING: &str = "tc-weak";
const FIXED: &str = "tc-weak-fixed";

fn protocol(name: &str) -> &'static dyn Protocol {
    find(name).unwrap()
}

fn catch(protocol_name: &str, fault: &str) -> &'static Catch {
    let protocol = protocol(protocol_name);
    explored::catch(protocol, find_fault(protocol, fault).unwrap())
}

/// The check that catches a fault. The page of the protocol names one; only if that check does not find the fault, or
/// if the page is to be rewritten, all checks look for it.
fn catch_of(protocol: &'static dyn Protocol, fault: u8, block: Option<&str>) -> Catch {
    let row: Option<[String; 4]> = written(block, protocol.faults()[usize::from(fault)].name, 0);
    let named = row.and_then(|[_, _, by, _]| {
        let (kind, name) = by.split_once(" `")?;
        caught_by(protocol, fault, kind, name.trim_end_matches('`'))
    });
    named.unwrap_or_else(|| explored::catch(protocol, fault).clone())
}

/// A table of what catches every fault of a protocol, and a line on each program in it that is nowhere else.
fn catches(protocol: &'static dyn Protocol, block: Option<&str>) -> String {
    let faults = 0..protocol.faults().len() as u8;
    let catches: Vec<Catch> = faults.map(|fault| catch_of(protocol, fault, block)).collect();
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

/// Compares the tables of faults in the pages of these protocols.
fn expect_catches(protocols: impl Iterator<Item = &'static dyn Protocol>) {
    for protocol in protocols.filter(|protocol| protocol.name() != PREDICTING) {
        let page = |name: &str| Page::read(&format!("docs/protocols/{name}.md"));
        page(protocol.name()).expect("faults", |block| catches(protocol, block));
        if protocol.name() == FIXED {
            page(PREDICTING).expect("faults", |block| catches(protocol, block));
        }
    }
}

/// The protocols of machines with one kind of device that reach as far and tell the time like this.
fn of_one_kind(reach: Reach, counters: Counters) -> impl Iterator<Item = &'static dyn Protocol> {
    let is_such = move |protocol: &&'static dyn Protocol| {
        protocol.reach() == reach && protocol.counters() == counters && !heterogeneous::applies(*protocol)
    };
    PROTOCOLS.iter().copied().filter(is_such)
}

#[test]
fn every_fault_of_protocols_without_time_is_caught_as_its_page_says() {
    expect_catches(of_one_kind(Reach::OneModule, Counters::None));
}

#[test]
fn every_fault_of_protocols_with_leases_is_caught_as_its_page_says() {
    assert_eq!(protocol(PREDICTING).faults(), protocol(FIXED).faults());
    expect_catches(of_one_kind(Reach::OneModule, Counters::Synchronised));
}

#[test]
fn every_fault_of_protocols_of_several_modules_is_caught_as_its_page_says() {
    expect_catches(of_one_kind(Reach::AnyMachine, Counters::None));
}

/// The protocols with several kinds of devices whose pages have a table of faults. `chorus check --all` looks for the
/// faults of the others, which takes longer.
fn of_several_kinds() -> impl Iterator<Item = &'static dyn Protocol> {
    let has_table = |protocol: &&'static dyn Protocol| {
        heterogeneous::applies(*protocol) && registered::page_of(*protocol).contains("<!-- generated: faults -->")
    };
    PROTOCOLS.iter().copied().filter(has_table)
}

#[test]
fn every_fault_of_protocols_with_several_kinds_of_devices_is_caught_as_its_page_says() {
    expect_catches(of_several_kinds());
}

#[test]
fn every_fault_of_protocols_with_several_kinds_of_devices_is_in_the_table_of_a_page() {
    let looked_for: Vec<&str> =
        of_several_kinds().flat_map(|protocol| protocol.faults()).map(|fault| fault.name).collect();
    for protocol in PROTOCOLS.iter().filter(|protocol| heterogeneous::applies(**protocol)) {
        let missing = protocol.faults().iter().find(|fault| !looked_for.contains(&fault.name));
        assert!(
            missing.is_none(),
            "no test looks for the fault {missing:?}: add the lines `<!-- generated: faults -->` and `<!-- end -->` to \
             docs/protocols/{}.md and fill them with CHORUS_UPDATE_DOCS=1 cargo test -p chorus-verify mutation::",
            protocol.name()
        );
    }
}

/// Protocols whose faults every kind of check looks for by itself: one that invalidates and one with leases. For more
/// protocols the test would take minutes.
const SCORED: [&str; 2] = ["gpu-vi", "tc-strong"];

/// The test prints how much each kind of check finds by itself.
#[test]
fn each_kind_of_check_finds_most_faults_by_itself_and_together_they_find_all() {
    for protocol in SCORED.map(protocol) {
        let MutationScore { seeded, by_configuration, by_litmus, missed } = score(protocol);
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
