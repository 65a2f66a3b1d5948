//! The result of the random driver on one protocol: its time, and its coverage of the transition table.

use std::time::Instant;

use chorus_protocol::registry::Protocol;
use chorus_verify::table::TransitionTable;
use chorus_verify::torture::coverage::{Cell, Comparison, ENOUGH_EPISODES, ENOUGH_PERCENT};
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

    /// Whether no episode failed and, where coverage was compared, enough of the table was met.
    pub fn passed(&self) -> bool {
        self.report.passed() && self.comparison.as_ref().is_none_or(|comparison| self.is_enough(comparison))
    }

    fn is_enough(&self, comparison: &Comparison) -> bool {
        comparison.is_enough() && self.report.episodes >= ENOUGH_EPISODES
    }

    /// The verdict in a word or two. Only steps that met enough of the table pass. Where coverage was not compared,
    /// nothing is claimed but that no episode failed.
    pub fn verdict(&self) -> &'static str {
        match &self.comparison {
            _ if !self.report.passed() => "fail",
            None => "no failure",
            Some(comparison) if self.is_enough(comparison) => "pass",
            Some(_) => "not enough",
        }
    }

    /// The reason why steps without a failure are no pass, in words; none if they are, or if an episode failed.
    pub fn shortfall(&self) -> Option<String> {
        let comparison = self.comparison.as_ref().filter(|comparison| !self.is_enough(comparison))?;
        let Comparison { covered, reachable, .. } = comparison;
        Some(format!(
            "not enough: {covered} of {reachable} pairs met, episodes: {}; a pass needs {ENOUGH_PERCENT} % and \
             {ENOUGH_EPISODES} episodes; no episode failed, but too little was tried",
            self.report.episodes
        ))
    }

    /// The result as JSON for programs.
    pub fn to_json(&self) -> Value {
        let report = &self.report;
        let failure = report.failure.as_ref();
        let shrunk = failure.and_then(|failure| failure.shrunk.as_ref());
        json!({
            "protocol": report.protocol,
            "fault": report.fault,
            "passed": self.passed(),
            "verdict": self.verdict(),
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
                "enough_percent": ENOUGH_PERCENT,
                "enough_episodes": ENOUGH_EPISODES,
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
    let tortured = Tortured { protocol, report, seconds, comparison };
    let (verdict, steps) = (tortured.verdict(), count(tortured.report.steps));
    progress.finish(&format!("{name}: {verdict}, {steps} steps, {seconds:.1} s"));
    tortured
}
