//! A configuration that the exhaustive driver explored, with its time.

use chorus_verify::check::{CheckReport, Verdict};
use serde_json::{Value, json};

/// A configuration that was checked.
pub struct Checked {
    /// What came of it.
    pub report: CheckReport,
    /// Wall-clock time.
    pub seconds: f64,
}

impl Checked {
    /// What came of it, in a word.
    pub fn verdict(&self) -> &'static str {
        match self.report.verdict {
            Verdict::Pass => "pass",
            Verdict::Violated(_) => "violated",
            Verdict::Bounded(_) => "bounded",
        }
    }

    /// As JSON.
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
            "omission_probability": report.omission_probability(),
            "seconds": self.seconds,
            "verdict": self.verdict(),
            "violation": chart.map(|chart| chart.violation.to_string()),
            "chart": chart.map(|chart| chart.to_text()),
            "replay": report.replay().map(|replay| replay.to_string()),
        })
    }
}
