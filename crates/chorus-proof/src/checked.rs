//! The result of one configuration that the exhaustive driver explored.

use chorus_verify::check::{CheckConfig, CheckReport, Verdict};
use chorus_verify::size::MachineSize;
use serde_json::{Value, json};

/// The result of exploring one configuration.
pub struct Checked {
    /// The report of the exhaustive driver.
    pub report: CheckReport,
    /// The size of the machine that was explored.
    pub size: MachineSize,
    /// Wall-clock time of the exploration, in seconds.
    pub seconds: f64,
}

impl Checked {
    /// The result of exploring `config`, which took `seconds` of wall-clock time.
    pub fn new(config: &CheckConfig, report: CheckReport, seconds: f64) -> Checked {
        Checked { report, size: MachineSize::of(&config.machine), seconds }
    }

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
            "machine": machine(&self.size),
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

fn machine(size: &MachineSize) -> Value {
    let MachineSize { gpus, modules, banks, caches, cpus, threads, lines, words, operations } = *size;
    json!({
        "gpus": gpus,
        "modules_per_gpu": modules,
        "banks_per_module": banks,
        "caches_with_threads": caches,
        "cpu_caches_with_threads": cpus,
        "threads": threads,
        "lines": lines,
        "words_per_line": words,
        "operations_per_thread": operations,
    })
}
