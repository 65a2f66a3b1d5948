//! Are the charts of violations the recorded ones?

use chorus_protocol::registry::find;
use chorus_verify::check::{Verdict, check, smoke_configurations};
use chorus_verify::faults::find_fault;

use crate::recorded::expect;

fn chart(protocol: &str, fault: &str) -> String {
    let protocol = find(protocol).unwrap();
    let report = check(protocol, find_fault(protocol, fault), &smoke_configurations()[0]);
    match report.verdict {
        Verdict::Violated(chart) => chart.to_text(),
        Verdict::Pass | Verdict::Bounded(_) => panic!("{}", report.to_text()),
    }
}

#[test]
fn a_lost_write_back_is_drawn_as_the_shortest_message_sequence() {
    expect("charts", "lost-write-back", &chart("gpu-vi", "lost-write-back"));
}

#[test]
fn messages_that_take_no_time_are_drawn_within_the_step_that_sends_them() {
    expect("charts", "stale-refill", &chart("ideal-coh", "stale-refill"));
}
