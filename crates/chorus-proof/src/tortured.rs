//! The result of the random driver on one protocol: its time, and its coverage of the transition table.

use std::time::Instant;

use chorus_protocol::registry::Protocol;
use chorus_verify::table::TransitionTable;
use chorus_verify::torture::coverage::{Cell, Comparison};
use chorus_verify::torture::{Settings, TortureReport, torture_watched};
use serde_json::{Value, json};

use crate::steps::Steps;
use crate::words::count;

/// The result of the random driver on one protocol.
pub struct Tortured {
    /// The protocol that was run.
    pub protocol: &'static dyn Protocol,
    /// The report of the random driver.
    pub report: TortureReport,
    /// Wall-clock time of all steps, in seconds.
    pub seconds: f64,
    /// The transitions that were met, compared with those that can be met. There is none for a protocol with a seeded
    /// fault, after a violation, and for a single episode.
    pub comparison: Option<Comparison>,
}

impl Tortured {
    /// The speed of the random driver, in steps per minute of wall-clock time.
    pub fn steps_per_minute(&self) -> f64 {
        self.report.steps as f64 / self.seconds.max(1e-9) * 60.0
    }

    /// The verdict in one word.
    pub fn verdict(&self) -> &'static str {
        verdict(&self.report)
    }

    /// The result as JSON for programs.
    pub fn to_json(&self) -> Value {
        let report = &self.report;
        let failure = report.failure.as_ref();
        let shrunk = failure.and_then(|failure| failure.shrunk.as_ref());
        json!({
            "protocol": report.protocol,
            "fault": report.fault,
            "passed": report.passed(),
            "steps": report.steps,
            "refusals": report.refusals,
            "episodes": report.episodes,
            "operations": report.operations,
            "seconds": self.seconds,
            "steps_per_minute": self.steps_per_minute(),
            "pairs_met": report.coverage.met(),
            "coverage": self.comparison.as_ref().map(|comparison| json!({
                "covered": comparison.covered,
                "reachable": comparison.reachable,
                "missed": cells_json(&comparison.missed),
                "beyond": cells_json(&comparison.beyond),
            })),
            "failure": failure.map(|failure| json!({
                "episode": failure.episode,
                "problem": failure.problem.to_string(),
                "operations": failure.operations,
                "command": report.command(),
                "shrunk": shrunk.map(|shrunk| json!({
                    "problem": shrunk.problem.to_string(),
                    "operations": shrunk.episode.program.operations(),
                    "machine": shrunk.episode.setup.describe(self.protocol),
                    "program": shrunk.episode.program.lines(),
                    "trace": shrunk.trace,
                })),
            })),
        })
    }
}

fn cells_json(cells: &[Cell]) -> Vec<Value> {
    let cell = |(role, state, event): &Cell| json!({ "role": role, "state": state, "event": event });
    cells.iter().map(cell).collect()
}

/// Runs the random driver on a protocol, as one step of `progress`.
pub fn torture_one(
    protocol: &'static dyn Protocol,
    fault: Option<u8>,
    settings: &Settings,
    progress: &dyn Steps,
) -> Tortured {
    let name = protocol.name();
    progress.begin(name);
    let start = Instant::now();
    let report = torture_watched(protocol, fault, settings, &mut |steps| {
        progress.begin(&format!("{name}: {} of {} steps", count(steps), count(settings.steps)));
    });
    let seconds = start.elapsed().as_secs_f64();
    let complete = report.passed() && fault.is_none() && settings.episode.is_none();
    let comparison = complete.then(|| {
        progress.begin(&format!("{name}: what can be met"));
        report.coverage.compare(&TransitionTable::extract(protocol))
    });
    progress.finish(&format!("{name}: {}, {} steps, {seconds:.1} s", verdict(&report), count(report.steps)));
    Tortured { protocol, report, seconds, comparison }
}

fn verdict(report: &TortureReport) -> &'static str {
    if report.passed() { "pass" } else { "fail" }
}
