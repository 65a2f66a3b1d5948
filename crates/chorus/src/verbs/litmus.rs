//! `chorus litmus`: small programs with one telling outcome each, in every order, against the protocol's memory model.

use std::collections::BTreeSet;
use std::path::PathBuf;

use chorus_lab::simulate::unknown;
use chorus_verify::chart::Chart;
use chorus_verify::litmus::{Expectation, LitmusResult, LitmusTest, run_litmus, tests};
use chorus_verify::program::Outcome;
use clap::Args;
use serde_json::{Value, json};

use super::arguments::{JSON_SCHEMA_VERSION, JsonArgument};
use crate::failure::{Failure, Verdict};
use crate::names;
use crate::output::{align_right, count, table};
use crate::replays;
use crate::session::Session;

const EXAMPLES: &str = "\
Examples:
  chorus litmus gpu-vi
  chorus litmus gpu-vi MP MP+fences     two tests, with every outcome
  chorus litmus no-coh --json";

/// Arguments of `chorus litmus`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The protocol.
    protocol: String,
    /// The tests, in any case; without any, all.
    tests: Vec<String>,
    /// Build in one of the protocol's seeded faults.
    #[arg(long, value_name = "NAME")]
    fault: Option<String>,
    /// Walk the way to a violation again, from the line that was printed under its chart.
    #[arg(long, value_name = "STRING", conflicts_with_all = ["fault", "tests"])]
    replay: Option<String>,
    /// Draw the first violation as an SVG document.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    #[command(flatten)]
    form: JsonArgument,
}

/// Runs `chorus litmus`.
pub fn run(arguments: &Arguments, session: &mut Session) -> Result<Verdict, Failure> {
    let protocol = names::protocol(&arguments.protocol)?;
    let (svg, as_json) = (arguments.svg.as_deref(), arguments.form.json);
    if let Some(replay) = &arguments.replay {
        return replays::run(replay, protocol, svg, as_json, session);
    }
    let fault = arguments.fault.as_deref().map(|name| super::check::fault(protocol, name)).transpose()?;
    let tests = chosen(&arguments.tests)?;
    let activity = session.activity(Some(tests.len()));
    let mut results = Vec::new();
    for test in &tests {
        activity.begin(format!("{}: {}", test.name, test.question));
        let result = run_litmus(protocol, fault, test);
        let (verdict, states) = (verdict(&result), count(result.states as u64));
        activity.finish(&format!("{}: {verdict}, {states} states", test.name));
        results.push(result);
    }
    drop(activity);
    let passed = results.iter().all(LitmusResult::passed);
    if as_json {
        session.output.json(&json!({
            "schema_version": JSON_SCHEMA_VERSION,
            "protocol": protocol.name(),
            "fault": arguments.fault,
            "memory_model": protocol.model().name(),
            "passed": passed,
            "tests": results.iter().map(to_json).collect::<Vec<_>>(),
        }))?;
    } else {
        let model = format!("{}: {}\n", protocol.title(), protocol.model().name());
        session.output.line(&model)?;
        print(&results, !arguments.tests.is_empty(), session)?;
    }
    let drawn = results.iter().find_map(|result| result.failure.as_ref()).map(Chart::to_svg);
    replays::write_first(svg, drawn, as_json, session)?;
    Ok(Verdict::of(passed))
}

/// The tests of these names, or all.
fn chosen(names: &[String]) -> Result<Vec<LitmusTest>, Failure> {
    let all = tests();
    let known: Vec<&str> = all.iter().map(|test| test.name).collect();
    let find = |name: &String| {
        let found = all.iter().find(|test| test.name.eq_ignore_ascii_case(name)).cloned();
        found.ok_or_else(|| Failure::bad_input(unknown("litmus test", name, &known)))
    };
    if names.is_empty() { Ok(all) } else { names.iter().map(find).collect() }
}

fn verdict(result: &LitmusResult) -> &'static str {
    match () {
        () if result.passed() => "pass",
        () if result.bounded => "bounded",
        () if result.vacuous() => "vacuous",
        () => "fail",
    }
}

fn expectation(result: &LitmusResult) -> &'static str {
    match result.expectation {
        Expectation::Forbidden => "forbidden",
        Expectation::Reachable => "must be seen",
        Expectation::Permitted => "allowed",
    }
}

fn to_json(result: &LitmusResult) -> Value {
    let outcomes = |outcomes: &BTreeSet<Outcome>| -> Vec<String> {
        outcomes.iter().map(|outcome| result.test.program.describe(outcome)).collect()
    };
    let forbidden: BTreeSet<Outcome> = result.forbidden_reached().cloned().collect();
    json!({
        "name": result.test.name,
        "question": result.test.question,
        "program": result.test.program.to_string(),
        "telling_outcome": result.test.telling.to_string(),
        "expected": expectation(result),
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

fn print(results: &[LitmusResult], in_detail: bool, session: &mut Session) -> Result<(), Failure> {
    let mut table = table([
        "test",
        "states",
        "reached",
        "allowed",
        "forbidden reached",
        "vacuous",
        "telling outcome",
        "expected",
        "seen",
        "verdict",
    ]);
    let yes_or_no = |yes: bool| if yes { "yes" } else { "no" }.to_owned();
    for result in results {
        table.add_row([
            result.test.name.to_owned(),
            count(result.states as u64),
            result.reached.len().to_string(),
            result.allowed.len().to_string(),
            result.forbidden_reached().count().to_string(),
            yes_or_no(result.vacuous()),
            result.test.telling.to_string(),
            expectation(result).to_owned(),
            yes_or_no(result.telling_reached()),
            verdict(result).to_owned(),
        ]);
    }
    align_right(&mut table, 1..5);
    session.output.table(&table)?;
    for result in results.iter().filter(|result| in_detail || !result.passed()) {
        session.output.line("")?;
        session.output.print(&result.to_text())?;
    }
    let passed = results.iter().filter(|result| result.passed()).count();
    session.output.line(&format!("\n{passed} of {} tests pass", results.len()))
}
