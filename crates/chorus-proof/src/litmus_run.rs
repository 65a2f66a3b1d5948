//! Litmus tests on one protocol, one after the other.

use std::collections::BTreeSet;

use chorus_litmus::test::Outcome;
use chorus_protocol::registry::Protocol;
use chorus_verify::code::NotRunnable;
use chorus_verify::config::Stores;
use chorus_verify::litmus::{Expectation, LitmusResult, SuiteTest, run_litmus_with};
use chorus_verify::settings::Settings;
use serde_json::{Value, json};

use crate::litmus_input::LitmusInput;
use crate::steps::Steps;
use crate::words::{count, verdict};

/// The machine and the search on which tests are run.
#[derive(Clone, Copy)]
pub struct Bench {
    /// The protocol that the tests are run on.
    pub protocol: &'static dyn Protocol,
    /// The index of the seeded fault that is built in.
    pub fault: Option<u8>,
    /// Whether cores wait for their stores.
    pub stores: Stores,
    /// The settings of the search in each placement of a test.
    pub settings: Settings,
}

/// The results of all tests so far.
#[derive(Default)]
pub struct LitmusRun {
    /// The results of the tests that were run.
    pub results: Vec<LitmusResult>,
    /// The tests that cannot be run on the machine: name and reason.
    pub not_run: Vec<(String, NotRunnable)>,
    /// Whether somebody ended the run before the last test.
    pub is_cut_short: bool,
}

impl LitmusRun {
    /// Runs one test. The answer is one line of the results: its kind, and everything that is known of the test.
    pub fn add(&mut self, bench: &Bench, test: &SuiteTest, steps: &dyn Steps) -> (&'static str, Value) {
        steps.begin(&format!("{}: {}", test.name(), test.question()));
        match run_litmus_with(bench.protocol, bench.fault, test, bench.stores, &bench.settings) {
            Ok(result) => {
                let (verdict, states) = (verdict(&result), count(result.states as u64));
                steps.finish(&format!("{}: {verdict}, {states} states", test.name()));
                let line = to_json(&result);
                self.results.push(result);
                ("test", line)
            }
            Err(reason) => {
                steps.finish(&format!("{}: not run: {reason}", test.name()));
                let line = json!({ "name": test.name(), "reason": reason.to_string() });
                self.not_run.push((test.name().to_owned(), reason));
                ("not run", line)
            }
        }
    }

    /// Whether every test passed. If no test could be run, or the run ended early, not everything has been shown.
    pub fn passed(&self) -> bool {
        !self.is_cut_short && !self.results.is_empty() && self.results.iter().all(LitmusResult::passed)
    }

    /// The number of tests that passed.
    pub fn passing(&self) -> usize {
        self.results.iter().filter(|result| result.passed() && result.not_shown().is_none()).count()
    }

    /// The number of tests whose relaxation the protocol cannot show.
    pub fn not_shown(&self) -> usize {
        self.results.iter().filter(|result| result.not_shown().is_some()).count()
    }

    /// The numbers of tests by their verdicts, as the last line of `chorus litmus --json` has them.
    pub fn summary(&self, protocol: &dyn Protocol, fault: Option<&str>, input: &LitmusInput) -> Value {
        json!({
            "protocol": protocol.name(),
            "fault": fault,
            "memory_model": protocol.model().name(),
            "passed": self.passed() && input.bad_files.is_empty(),
            "tests": self.results.len(),
            "passing": self.passing(),
            "not_shown": self.not_shown(),
            "not_run": self.not_run.len() + input.unsupported.len(),
            "bad_files": input.bad_files.len(),
        })
    }
}

fn to_json(result: &LitmusResult) -> Value {
    let test = &result.test.test;
    let outcomes = |outcomes: &BTreeSet<Outcome>| -> Vec<String> {
        outcomes.iter().map(|outcome| test.program.describe(outcome)).collect()
    };
    let forbidden: BTreeSet<Outcome> = result.forbidden_reached().cloned().collect();
    json!({
        "protocol": result.protocol,
        "fault": result.fault,
        "name": test.name,
        "question": result.test.question(),
        "program": test.program.to_string(),
        "model": result.model.name(),
        "telling_outcome": test.condition_text(),
        "expected": result.expectation.map(Expectation::text),
        "telling_outcome_reached": result.telling_reached(),
        "reached": outcomes(&result.reached),
        "allowed": outcomes(&result.allowed),
        "forbidden_reached": outcomes(&forbidden),
        "vacuous": result.vacuous(),
        "not_shown": result.not_shown(),
        "bounded": result.bounded,
        "states": result.states,
        "transitions": result.transitions,
        "depth": result.depth,
        "verdict": verdict(result),
        "chart": result.failure.as_ref().map(|chart| chart.to_text()),
        "replay": result.replay().map(|replay| replay.to_string()),
    })
}
