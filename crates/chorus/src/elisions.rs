//! The part of `chorus check` that explores the Chiplet Coherence Table together with the L2s that it commands.

use std::time::Instant;

use chorus_protocol::registry::Protocol;
use chorus_verify::elision::{ElisionConfig, ElisionReport, configurations, find_configuration};
use serde_json::{Map, Value, json};

use crate::failure::Failure;
use crate::output::{align_right, count, leave_out, table};
use crate::session::Session;

/// The result of one configuration.
pub struct Timed {
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

/// Checks one configuration after the other.
pub fn check(configurations: &[ElisionConfig], session: &Session) -> Vec<Timed> {
    if configurations.is_empty() {
        return Vec::new();
    }
    let activity = session.activity(Some(configurations.len()));
    let check = |config: &ElisionConfig| {
        activity.begin(format!("{}: {}", config.name, config.description));
        let start = Instant::now();
        let report = config.check();
        let seconds = start.elapsed().as_secs_f64();
        let histories = count(report.counts.histories);
        activity.finish(&format!("{}: {}, {histories} histories, {seconds:.1} s", config.name, report.verdict()));
        Timed { report, seconds }
    };
    configurations.iter().map(check).collect()
}

impl Timed {
    /// The result for programs.
    pub fn to_json(&self) -> Value {
        let ElisionReport { config, description, counts, finding, .. } = &self.report;
        let excess: Map<String, Value> =
            counts.excess().map(|(reason, count)| (reason.name().to_owned(), json!(count))).collect();
        let launch =
            |line: &chorus_verify::elision::report::Line| json!({ "kernel": line.to_text(), "plan": line.plan });
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

/// Prints the results as a table, and the histories of violations.
pub fn print(all: &[Timed], session: &mut Session) -> Result<(), Failure> {
    if all.is_empty() {
        return Ok(());
    }
    let heads = ["table", "histories", "states", "operations", "needed", "beyond", "seconds", "verdict", ""];
    let mut shown = table(heads);
    for Timed { report, seconds } in all {
        let counts = &report.counts;
        shown.add_row([
            report.config.to_owned(),
            count(counts.histories),
            count(counts.states as u64),
            count(counts.operations),
            count(counts.least),
            count(counts.excess.iter().sum()),
            format!("{seconds:.1}"),
            report.verdict().to_owned(),
            report.description.clone(),
        ]);
    }
    align_right(&mut shown, 1..7);
    leave_out(&mut shown, &[8, 2, 6], &[(8, 24)]);
    session.output.line("")?;
    session.output.table(&shown)?;
    for timed in all.iter().filter(|timed| !timed.report.passed()) {
        session.output.line("")?;
        session.output.print(&timed.report.to_text())?;
    }
    let passed = all.iter().filter(|timed| timed.report.passed()).count();
    let (histories, seconds) = all.iter().fold((0, 0.0), |(histories, seconds), timed| {
        (histories + timed.report.counts.histories, seconds + timed.seconds)
    });
    let histories = count(histories);
    session.output.line(&format!("\n{passed} of {} tables pass, {histories} histories, {seconds:.1} s", all.len()))
}
