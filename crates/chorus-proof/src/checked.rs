//! The result of one configuration that the exhaustive driver explored.

use chorus_verify::check::{CheckReport, Verdict};
use serde_json::{Value, json};

/// The result of exploring one configuration.
pub struct Checked {
    /// The report of the exhaustive driver.
    pub report: CheckReport,
    /// Wall-clock time of the exploration, in seconds.
    pub seconds: f64,
}

impl Checked {
    /// The verdict in one word: `pass`, `violated` or `bounded`.
    pub fn verdict(&self) -> &'static str {
        match self.report.verdict {
            Verdict::Pass => "pass",
            Verdict::Violated(_) => "violated",
            Verdict::Bounded(_) => "bounded",
        }
    }

    /// The result as JSON for programs.
    pub fn to_json(&self) -> Value {
        let report = &self.report;
        let chart = report.chart();
        json!({
            "name": report.config,
            "description": report.description,
            "states": report.states,
            "transitions": report.transitions,
            "depth": report.depth,
            "programs": report.programs,
            "executions": report.executions,
            "symmetry": report.symmetry,
            "bytes_per_state": report.bytes_per_state(),
            "omission_probability": report.omission_probability,
            "seconds": self.seconds,
            "verdict": self.verdict(),
            "violation": chart.map(|chart| chart.violation.to_string()),
            "chart": chart.map(|chart| chart.to_text()),
            "replay": report.replay().map(|replay| replay.to_string()),
        })
    }
}
