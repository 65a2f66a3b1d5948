//! `chorus litmus`: runs litmus tests on a protocol in every order, and compares the outcomes with its memory model.

use std::collections::BTreeSet;
use std::path::PathBuf;

use chorus_litmus::test::Outcome;
use chorus_proof::words::verdict;
use chorus_verify::chart::Chart;
use chorus_verify::code::NotRunnable;
use chorus_verify::config::Stores;
use chorus_verify::litmus::{Expectation, LitmusResult, run_litmus};
use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use super::arguments::{JSON_SCHEMA_VERSION, JsonArgument};
use crate::failure::{Failure, Verdict};
use crate::litmus_input::{self, LitmusInput, are_in_detail};
use crate::output::{align_right, count, leave_out, table};
use crate::replays;
use crate::session::Session;

const EXAMPLES: &str = "\
Examples:
  chorus litmus gpu-vi
  chorus litmus gpu-vi MP MP+fences        two tests, with every outcome
  chorus litmus tc-weak my-test.litmus     tests of a file, or of every file in a folder
  chorus litmus mesi --core blocking       beside cores that wait for their stores
  chorus litmus no-coh --json

Threads of one CTA share a private cache; threads of different CTAs have one each.";

/// Arguments of `chorus litmus`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Protocol to run the tests on.
    protocol: String,
    /// Tests: names in any case, files or folders. By default all tests that apply to the protocol.
    tests: Vec<String>,
    /// Build one of the protocol's seeded faults in.
    #[arg(long, value_name = "NAME")]
    fault: Option<String>,
    /// Take the steps to a violation again, from the line that was printed under its chart. If the test is in a file,
    /// name the file too.
    #[arg(long, value_name = "STRING", conflicts_with_all = ["fault", "core"])]
    replay: Option<String>,
    /// Draw the first violation as an SVG file.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Kind of core: whether cores wait for their stores.
    #[arg(long, value_name = "KIND", default_value = "posted")]
    core: Core,
    #[command(flatten)]
    form: JsonArgument,
}

/// A kind of core. In both kinds, a core waits for its loads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Core {
    /// Cores post their stores and go on; fences wait for the stores.
    Posted,
    /// Cores wait for every store before they go on.
    Blocking,
}

impl From<Core> for Stores {
    fn from(core: Core) -> Stores {
        match core {
            Core::Posted => Stores::Posted,
            Core::Blocking => Stores::Blocking,
        }
    }
}

/// The tests that cannot be run on the machine: name and reason.
type NotRun = Vec<(String, NotRunnable)>;

pub fn run(arguments: &Arguments, session: &mut Session) -> Result<Verdict, Failure> {
    let protocol = session.protocol(&arguments.protocol)?;
    let registry = session.registry;
    let (svg, as_json) = (arguments.svg.as_deref(), arguments.form.json);
    if let Some(replay) = &arguments.replay {
        let tests = litmus_input::read(registry, &arguments.tests, registry.litmus_tests_of(protocol))?.tests;
        return replays::run(replay, protocol, &tests, svg, as_json, session);
    }
    let fault = arguments.fault.as_deref().map(|name| super::check::fault(protocol, name)).transpose()?;
    let input = litmus_input::read(registry, &arguments.tests, registry.litmus_tests_of(protocol))?;
    let activity = session.activity(Some(input.tests.len()));
    let (mut results, mut not_run) = (Vec::new(), NotRun::new());
    for test in &input.tests {
        activity.begin(format!("{}: {}", test.name(), test.question()));
        match run_litmus(protocol, fault, test, arguments.core.into()) {
            Ok(result) => {
                let (verdict, states) = (verdict(&result), count(result.states as u64));
                activity.finish(&format!("{}: {verdict}, {states} states", test.name()));
                results.push(result);
            }
            Err(reason) => {
                activity.finish(&format!("{}: not run: {reason}", test.name()));
                not_run.push((test.name().to_owned(), reason));
            }
        }
    }
    drop(activity);
    // If no test could be run, nothing has been shown, and the verb does not pass.
    let passed = !results.is_empty() && results.iter().all(LitmusResult::passed);
    if as_json {
        session.output.json(&json!({
            "schema_version": JSON_SCHEMA_VERSION,
            "protocol": protocol.name(),
            "fault": arguments.fault,
            "memory_model": protocol.model().name(),
            "passed": passed,
            "tests": results.iter().map(to_json).collect::<Vec<_>>(),
            "unsupported": unsupported_json(&input, &not_run),
        }))?;
    } else {
        let model = format!("{}: {}\n", protocol.title(), protocol.model().name());
        session.output.line(&model)?;
        print(&results, are_in_detail(&arguments.tests, results.len()), session)?;
        print_unsupported(&input, &not_run, session)?;
    }
    let drawn = results.iter().find_map(|result| result.failure.as_ref()).map(Chart::to_svg);
    replays::write_first(svg, drawn, as_json, session)?;
    Ok(Verdict::of(passed))
}

fn expectation(result: &LitmusResult) -> &'static str {
    result.expectation.map_or("", Expectation::text)
}

fn to_json(result: &LitmusResult) -> Value {
    let test = &result.test.test;
    let outcomes = |outcomes: &BTreeSet<Outcome>| -> Vec<String> {
        outcomes.iter().map(|outcome| test.program.describe(outcome)).collect()
    };
    let forbidden: BTreeSet<Outcome> = result.forbidden_reached().cloned().collect();
    json!({
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
        "bounded": result.bounded,
        "states": result.states,
        "transitions": result.transitions,
        "depth": result.depth,
        "verdict": verdict(result),
        "chart": result.failure.as_ref().map(|chart| chart.to_text()),
        "replay": result.replay().map(|replay| replay.to_string()),
    })
}

fn unsupported_json(input: &LitmusInput, not_run: &NotRun) -> Vec<Value> {
    let not_run = not_run.iter().map(|(name, reason)| json!({ "name": name, "reason": reason.to_string() }));
    input.unsupported_json().into_iter().chain(not_run).collect()
}

fn print(results: &[LitmusResult], in_detail: bool, session: &mut Session) -> Result<(), Failure> {
    let mut table = table([
        "test",
        "states",
        "reached",
        "allowed",
        "forbidden",
        "vacuous",
        "telling outcome",
        "expected",
        "seen",
        "verdict",
    ]);
    let yes_or_no = |yes: bool| if yes { "yes" } else { "no" }.to_owned();
    for result in results {
        table.add_row([
            result.test.name().to_owned(),
            count(result.states as u64),
            result.reached.len().to_string(),
            result.allowed.len().to_string(),
            result.forbidden_reached().count().to_string(),
            yes_or_no(result.vacuous()),
            result.test.test.condition_text(),
            expectation(result).to_owned(),
            yes_or_no(result.telling_reached()),
            verdict(result).to_owned(),
        ]);
    }
    align_right(&mut table, 1..5);
    leave_out(&mut table, &[4, 2, 3, 5], &[(6, 16), (7, 9)]);
    session.output.table(&table)?;
    for result in results.iter().filter(|result| in_detail || !result.passed()) {
        session.output.line("")?;
        session.output.print(&result.to_text())?;
    }
    let passed = results.iter().filter(|result| result.passed()).count();
    session.output.line(&format!("\n{passed} of {} tests pass", results.len()))
}

/// Prints how many tests were not run, for each reason.
fn print_unsupported(input: &LitmusInput, not_run: &NotRun, session: &mut Session) -> Result<(), Failure> {
    input.print_unsupported(session)?;
    for (name, reason) in not_run {
        session.output.line(&format!("{name} not run: {reason}"))?;
    }
    Ok(())
}
