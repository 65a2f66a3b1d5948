//! Checks, litmus tests and transition tables of protocols.

use chorus_proof::checking::{Asked, Findings, Part, fault as find_fault};
use chorus_proof::elided;
use chorus_proof::litmus_input::{self, BadFile};
use chorus_proof::litmus_run::{Bench, LitmusRun};
use chorus_protocol::registry::Protocol;
use chorus_verify::config::Stores;
use chorus_verify::litmus::STATE_LIMIT as LITMUS_STATE_LIMIT;
use chorus_verify::settings::{STATE_LIMIT, Settings, Storage};
use chorus_verify::table::TransitionTable;
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::registry;
use crate::report::Report;
use crate::work::{Course, perform};

/// The extent and the means of a search, as Python gives them.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Search {
    states: Option<usize>,
    memory: Option<usize>,
    threads: Option<usize>,
    fingerprints: bool,
}

impl Search {
    fn settings(&self, states: usize, course: &Course) -> Settings {
        Settings {
            states: self.states.unwrap_or(states),
            bytes: self.memory.map(|mebibytes| mebibytes.saturating_mul(1 << 20)),
            threads: self.threads,
            storage: if self.fingerprints { Storage::Fingerprints } else { Storage::Exact },
            stop: Some(course.stop),
            ..Settings::default()
        }
    }
}

fn protocol(name: &str) -> Result<&'static dyn Protocol, Failure> {
    registry().expect_protocol(name).map_err(Failure::input)
}

/// The part of a protocol's configurations, as Python gives it: `usual`, `smoke`, `full`, or `config` or `machine` with
/// a text.
#[derive(FromPyObject)]
pub struct PartGiven(String, String);

impl PartGiven {
    fn part(&self) -> Part<'_> {
        match self.0.as_str() {
            "config" => Part::Config(&self.1),
            "machine" => Part::Machine(&self.1),
            "smoke" => Part::Smoke,
            "full" => Part::Full,
            _ => Part::Usual,
        }
    }
}

/// Explores a protocol on tiny machines.
#[pyfunction]
#[pyo3(signature = (protocol, fault, part, search, shown=None))]
pub fn check(
    py: Python<'_>,
    protocol: String,
    fault: Option<String>,
    part: PartGiven,
    search: Search,
    shown: Option<&Bound<'_, PyAny>>,
) -> PyResult<Report> {
    let work = move |course: &Course| {
        let (protocol, fault) = (self::protocol(&protocol)?, fault.as_deref());
        let asked = Asked::of(protocol, fault, part.part()).map_err(Failure::input)?;
        course.expect(asked.configurations.len() + asked.tables.len(), 0);
        let checked = asked.explore(&search.settings(STATE_LIMIT, course), course);
        let tables = elided::check(&asked.tables, course, || course.is_stopped());
        let mut findings = Findings { checked, tables, catch: None };
        if !course.is_stopped() {
            findings.catch = asked.hunt(&findings, course);
        }
        Ok(Report(findings.to_json(protocol, fault, None)))
    };
    perform(py, &Course::new(1), shown, work)
}

/// Runs litmus tests on a protocol.
#[pyfunction]
#[pyo3(signature = (protocol, tests, fault, blocking, search, shown=None))]
pub fn litmus(
    py: Python<'_>,
    protocol: String,
    tests: Vec<String>,
    fault: Option<String>,
    blocking: bool,
    search: Search,
    shown: Option<&Bound<'_, PyAny>>,
) -> PyResult<Report> {
    let work = move |course: &Course| {
        let protocol = self::protocol(&protocol)?;
        let index = fault.as_deref().map(|name| find_fault(protocol, name)).transpose().map_err(Failure::input)?;
        let input = litmus_input::read(registry(), &tests, registry().litmus_tests_of(protocol));
        let input = input.map_err(Failure::input)?;
        course.expect(input.tests.len(), 0);
        let stores = if blocking { Stores::Blocking } else { Stores::Posted };
        let bench = Bench { protocol, fault: index, stores, settings: search.settings(LITMUS_STATE_LIMIT, course) };
        let (mut run, mut tested, mut not_run) = (LitmusRun::default(), Vec::new(), input.unsupported_json());
        for test in &input.tests {
            run.is_cut_short |= course.is_stopped();
            if run.is_cut_short {
                break;
            }
            match run.add(&bench, test, course) {
                ("test", line) => tested.push(line),
                (_, line) => not_run.push(line),
            }
        }
        let bad_files: Vec<Value> = input.bad_files.iter().map(BadFile::to_json).collect();
        Ok(Report(json!({
            "summary": run.summary(protocol, fault.as_deref(), &input),
            "tests": tested,
            "not_run": not_run,
            "bad_files": bad_files,
        })))
    };
    perform(py, &Course::new(1), shown, work)
}

/// The transition table that is extracted from a protocol's controllers: as text, Markdown and HTML, and row by row.
#[pyfunction]
#[pyo3(signature = (protocol, shown=None))]
pub fn table(py: Python<'_>, protocol: String, shown: Option<&Bound<'_, PyAny>>) -> PyResult<Report> {
    let work = move |_: &Course| {
        let table = TransitionTable::extract(self::protocol(&protocol)?);
        Ok(Report(json!({
            "title": table.title,
            "source": table.citation,
            "explored": table.explored,
            "text": table.to_text(),
            "markdown": table.to_markdown(),
            "html": table.to_html(),
            "cells": cells(&table),
        })))
    };
    perform(py, &Course::new(0), shown, work)
}

/// A row for each state and event that were met, with the reactions that were seen.
fn cells(table: &TransitionTable) -> Vec<Value> {
    let mut rows = Vec::new();
    for role in table.roles() {
        let events: Vec<u8> = role.events().collect();
        for state in role.states() {
            for &event in &events {
                let Some(reactions) = role.words(state, event) else { continue };
                rows.push(json!({
                    "controller": role.title,
                    "state": role.vocabulary.states[usize::from(state)].name,
                    "event": role.vocabulary.events[usize::from(event)],
                    "reactions": reactions,
                }));
            }
        }
    }
    rows
}
