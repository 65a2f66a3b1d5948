//! Can a thread wait for ever while others go on?

use chorus_protocol::registry::{Protocol, find};
use chorus_verify::check::{CheckConfig, CheckReport, Verdict, check, find_configuration};
use chorus_verify::config::{Arrival, MachineConfig};
use chorus_verify::contention::{Retries, configurations, reads};
use chorus_verify::faults::find_fault;
use chorus_verify::replay::Replay;
use chorus_verify::violation::Violation;

use crate::pages::Page;

fn protocol(name: &str) -> &'static dyn Protocol {
    find(name).unwrap()
}

/// The chart of a thread that starves.
#[track_caller]
fn starves(report: &CheckReport) -> String {
    let Verdict::Violated(chart) = &report.verdict else { panic!("{}", report.to_text()) };
    assert!(matches!(chart.violation, Violation::Starvation(_)), "{}", chart.violation);
    assert!(chart.sequence.circle.is_some());
    chart.to_text()
}

/// Spandex paper, section III-C: a read that finds its word gone is refused, and sent again.
#[test]
fn a_read_that_is_always_sent_again_as_it_was_can_starve() {
    let report = check(protocol("smg"), None, &reads(Retries::ForEver));
    let text = starves(&report);
    assert!(text.contains("Nack") && text.contains("fwd ReqV"), "{text}");
    let text = format!("```text\n{text}```");
    Page::read("docs/concepts/verification.md").expect("starvation", |_| text);
}

/// A refused ReqV is replaced by a request that has a place in the order of writes.
#[test]
fn no_thread_starves_under_a_protocol_of_each_kind() {
    for name in ["gpu-vi", "mesi", "tc-strong", "tc-weak", "hmg", "rec", "cpelide", "smg", "smd", "spandex-hier-mg"] {
        for config in configurations(protocol(name)) {
            let report = check(protocol(name), None, &config);
            assert!(report.passed(), "{}", report.to_text());
            assert!(report.states > 200, "{}", report.to_text());
        }
    }
}

/// TC paper, section 3.1: controllers serve requests in order, so that a load which would renew a lease waits behind
/// the write that waits for its end. The protocol needs that.
#[test]
fn a_write_starves_under_tc_strong_where_loads_pass_it() {
    let [config, ..] = &configurations(protocol("tc-strong"))[..] else { panic!("there are configurations") };
    assert_eq!(config.machine.arrival, Arrival::InTurn);
    let machine = MachineConfig { arrival: Arrival::BySender, ..config.machine.clone() };
    let text = starves(&check(protocol("tc-strong"), None, &CheckConfig { machine, ..config.clone() }));
    assert!(text.contains("L2.0 in S, sends DATA"), "{text}");
}

#[test]
fn starvation_is_found_again_by_its_replay() {
    let config = reads(Retries::ForEver);
    let report = check(protocol("smg"), None, &config);
    let replay: Replay = report.replay().unwrap().to_string().parse().unwrap();
    let replayed = replay.run(protocol("smg"), None, &config.machine).unwrap();
    assert_eq!(replayed.violation.as_ref(), report.chart().map(|chart| &chart.violation));
}

#[test]
fn what_is_left_over_is_found_among_threads_that_go_on_for_ever_too() {
    let fault = find_fault(protocol("mesi"), "lost-unblock");
    let config = find_configuration(protocol("mesi"), "contention").unwrap();
    let report = check(protocol("mesi"), fault, &config);
    let chart = report.chart().unwrap();
    assert!(matches!(chart.violation, Violation::NotClean { .. }), "{}", chart.violation);
}
