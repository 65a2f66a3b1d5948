//! `chorus litmus`: runs litmus tests on a protocol in every order, and compares the outcomes with its memory model.

use std::collections::BTreeSet;

use chorus_proof::checking::fault;
use chorus_proof::litmus_input::LitmusInput;
use chorus_proof::litmus_run::{Bench, LitmusRun};
use chorus_proof::words::verdict;
use chorus_verify::config::Stores;
use chorus_verify::litmus::{Expectation, LitmusResult, STATE_LIMIT};
use clap::{Args, ValueEnum};
use serde_json::Value;

use super::arguments::JsonArgument;
use super::search::SearchArguments;
use crate::drawings::Drawings;
use crate::failure::{Failure, Verdict};
use crate::litmus_input::{self, are_in_detail};
use crate::output::{align_right, count, leave_out, table};
use crate::replays;
use crate::session::Session;

const EXAMPLES: &str = "\
Examples:
  chorus litmus gpu-vi
  chorus litmus gpu-vi MP MP+fences        two tests, with every outcome
  chorus litmus tc-weak my-test.litmus     tests of a file, or of every file in a folder
  chorus litmus mesi --core blocking       beside cores that wait for their stores
  chorus litmus no-coh --json              one line of JSON for each test, as soon as it is known

Threads of one CTA share a private cache; threads of different CTAs have one each. A file with a mistake is named, and
the others are run: the exit code is then 1 if a test failed, and 2 otherwise.";

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
    #[command(flatten)]
    drawings: Drawings,
    /// Kind of core: whether cores wait for their stores.
    #[arg(long, value_name = "KIND", default_value = "posted")]
    core: Core,
    #[command(flatten)]
    search: SearchArguments,
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

/// The version of the JSON lines that this verb prints.
const LINES_VERSION: u32 = 2;

pub fn run(arguments: &Arguments, session: &mut Session) -> Result<Verdict, Failure> {
    let protocol = session.protocol(&arguments.protocol)?;
    let registry = session.registry;
    let (drawings, as_json) = (&arguments.drawings, arguments.form.json);
    let fault = arguments.fault.as_deref().map(|name| fault(protocol, name)).transpose().map_err(Failure::bad_input)?;
    let input = litmus_input::read(registry, &arguments.tests, registry.litmus_tests_of(protocol))?;
    if let Some(replay) = &arguments.replay {
        return replays::run(replay, protocol, &input.tests, drawings, as_json, session);
    }
    if as_json {
        input.bad_files.iter().try_for_each(|bad| record("bad file", bad.to_json(), session))?;
        input.unsupported_json().into_iter().try_for_each(|test| record("not run", test, session))?;
    }
    let settings = arguments.search.settings(STATE_LIMIT);
    let run = run_all(&Bench { protocol, fault, stores: arguments.core.into(), settings }, &input, as_json, session)?;
    if as_json {
        record("summary", run.summary(protocol, arguments.fault.as_deref(), &input), session)?;
    } else {
        let model = format!("{}: {}\n", protocol.title(), protocol.model().name());
        session.output.line(&model)?;
        print(&run, are_in_detail(&arguments.tests, run.results.len()), session)?;
        print_unsupported(&input, &run, session)?;
    }
    let chart = run.results.iter().find_map(|result| result.failure.as_ref());
    drawings.write_first(protocol, chart, as_json, session)?;
    Ok(litmus_input::verdict(&input, run.passed()))
}

/// Runs one test after the other. As JSON, each result is printed as soon as it is known. The run ends early if nobody
/// reads them any more.
fn run_all(bench: &Bench, input: &LitmusInput, as_json: bool, session: &mut Session) -> Result<LitmusRun, Failure> {
    let activity = session.activity(Some(input.tests.len()));
    let mut run = LitmusRun::default();
    for test in &input.tests {
        run.is_cut_short = session.output.is_closed();
        if run.is_cut_short {
            break;
        }
        let (kind, line) = run.add(bench, test, &activity);
        if as_json {
            activity.aside(|| record(kind, line, session))?;
        }
    }
    Ok(run)
}

/// Prints one line of JSON: an object with its kind.
fn record(kind: &str, mut value: Value, session: &mut Session) -> Result<(), Failure> {
    value["schema_version"] = LINES_VERSION.into();
    value["kind"] = kind.into();
    session.output.json_line(&value)
}

fn expectation(result: &LitmusResult) -> &'static str {
    result.expectation.map_or("", Expectation::text)
}

fn print(run: &LitmusRun, in_detail: bool, session: &mut Session) -> Result<(), Failure> {
    let results = &run.results;
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
    print_not_shown(results, session)?;
    let not_shown = match run.not_shown() {
        0 => String::new(),
        count => format!(", {count} not shown"),
    };
    session.output.line(&format!("\n{} of {} tests pass{not_shown}", run.passing(), results.len()))
}

/// Prints the tests whose relaxation the protocol cannot show, with the reason.
fn print_not_shown(results: &[LitmusResult], session: &mut Session) -> Result<(), Failure> {
    let reasons: BTreeSet<&str> = results.iter().filter_map(LitmusResult::not_shown).collect();
    for reason in reasons {
        let tests = results.iter().filter(|result| result.not_shown() == Some(reason));
        let names: Vec<&str> = tests.map(|result| result.test.name()).collect();
        session.output.line("")?;
        session.output.paragraph(&format!("not shown: {}: {reason}", names.join(", ")))?;
    }
    Ok(())
}

/// Prints how many tests were not run, for each reason.
fn print_unsupported(input: &LitmusInput, run: &LitmusRun, session: &mut Session) -> Result<(), Failure> {
    litmus_input::print_unsupported(input, session)?;
    for (name, reason) in &run.not_run {
        session.output.line(&format!("{name} not run: {reason}"))?;
    }
    litmus_input::print_bad_files(input, session)
}
