//! The Chiplet Coherence Table, explored together with the L2s that it commands.

use std::time::Instant;

use chorus_protocol::registry::Protocol;
use chorus_verify::elision::report::Line;
use chorus_verify::elision::{ElisionConfig, ElisionReport, configurations, find_configuration};
use serde_json::{Map, Value, json};

use crate::steps::Steps;
use crate::words::count;

/// The result of one configuration.
pub struct Elided {
    /// The report of the search.
    pub report: ElisionReport,
    /// Wall-clock time of the search, in seconds.
    pub seconds: f64,
}

/// The configurations of a protocol, or those that take a moment. There are none where no table is used.
pub fn of(protocol: &'static dyn Protocol, only_small: bool) -> Vec<ElisionConfig> {
    configurations(protocol).into_iter().filter(|config| config.is_quick || !only_small).collect()
}

/// The configuration of this name, if there is one.
pub fn named(protocol: &'static dyn Protocol, name: &str) -> Vec<ElisionConfig> {
    find_configuration(protocol, name).into_iter().collect()
}

/// Checks one configuration after the other. Between two of them, `is_stopped` may end the check.
pub fn check(configurations: &[ElisionConfig], steps: &dyn Steps, is_stopped: impl Fn() -> bool) -> Vec<Elided> {
    let check = |config: &ElisionConfig| {
        steps.begin(&format!("{}: {}", config.name, config.description));
        let start = Instant::now();
        let report = config.check();
        let seconds = start.elapsed().as_secs_f64();
        let histories = count(report.counts.histories);
        steps.finish(&format!("{}: {}, {histories} histories, {seconds:.1} s", config.name, report.verdict()));
        Elided { report, seconds }
    };
    configurations.iter().take_while(|_| !is_stopped()).map(check).collect()
}

impl Elided {
    /// The result for programs.
    pub fn to_json(&self) -> Value {
        let ElisionReport { config, description, counts, finding, .. } = &self.report;
        let excess: Map<String, Value> =
            counts.excess().map(|(reason, count)| (reason.name().to_owned(), json!(count))).collect();
        let launch = |line: &Line| json!({ "kernel": line.to_text(), "plan": line.plan });
        json!({
            "config": config,
            "description": description,
            "histories": counts.histories,
            "states": counts.states,
            "transitions": counts.transitions,
            "operations": counts.operations,
            "operations_needed": counts.least,
            "operations_beyond": excess,
            "seconds": self.seconds,
            "verdict": self.report.verdict(),
            "violation": finding.as_ref().map(|finding| finding.wrong.clone()),
            "history": finding.as_ref().map(|finding| finding.history.iter().map(launch).collect::<Vec<_>>()),
        })
    }
}
