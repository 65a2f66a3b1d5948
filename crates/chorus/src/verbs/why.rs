//! `chorus why`: says where the time of accesses went.

use std::fs;
use std::path::PathBuf;

use chorus_lab::run::CheckResult;
use chorus_lab::setup;
use chorus_lab::simulate::Manner;
use chorus_lab::why::page::page;
use chorus_lab::why::{Selection, Told, why};
use clap::Args;
use serde_json::json;

use super::arguments::{JSON_SCHEMA_VERSION, JsonArgument, RunArguments, whole};
use crate::chains;
use crate::failure::{Failure, Verdict, print_error};
use crate::session::Session;
use crate::stack;

const EXAMPLES: &str = "\
Examples:
  chorus why --system tc --protocol gpu-vi --workload stn                the three slowest loads
  chorus why --system hmg --protocol hmg --workload mst --slowest 5
  chorus why --system tc --protocol gpu-vi --workload stn --load 4711    the access of that number
  chorus why --system tc --protocol mesi --workload dlb --line 0x1f80    accesses to a line
  chorus why --system tc --protocol mesi --workload dlb --wave 3.7       accesses of a wavefront
  chorus why --system tc --protocol mesi --workload dlb --aggregate      all accesses by cause
  chorus why --system tc --protocol mesi --workload dlb --against tc-weak
  chorus why --system tc --protocol mesi --workload dlb --aggregate --html why.html";

/// The most accesses that are shown one by one.
const SLOWEST_MAX: i64 = 1000;

/// Arguments of `chorus why`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    #[command(flatten)]
    run: RunArguments,
    /// Workload to run: a name, or the path of a program file.
    #[arg(long)]
    workload: String,
    /// Show so many accesses: the slowest ones first.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=SLOWEST_MAX))]
    slowest: Option<u32>,
    /// Show the access of this number. Private caches number their accesses in turn.
    #[arg(long, value_name = "N", value_parser = whole, conflicts_with = "slowest")]
    load: Option<u64>,
    /// Look only at accesses to the line with this address of the program's memory, such as 0x1f80.
    #[arg(long, value_name = "ADDR", value_parser = whole)]
    line: Option<u64>,
    /// Look only at accesses of a wavefront slot: CACHE.SLOT, such as 3.7 for slot 7 of L1.3.
    #[arg(long, value_name = "CACHE.SLOT", value_parser = wave)]
    wave: Option<(u16, u16)>,
    /// Add all accesses up, by cause, kernel and buffer.
    #[arg(long, conflicts_with_all = ["slowest", "load"])]
    aggregate: bool,
    /// Add all accesses up under a second protocol too, and show the differences.
    #[arg(long, value_name = "PROTOCOL", conflicts_with_all = ["slowest", "load"])]
    against: Option<String>,
    /// Write what is added up as a page with a chart, too.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    #[command(flatten)]
    form: JsonArgument,
}

/// Reads a private cache and a slot: `3.7`.
fn wave(text: &str) -> Result<(u16, u16), String> {
    let parts = text.split_once('.').and_then(|(cache, slot)| Some((cache.parse().ok()?, slot.parse().ok()?)));
    parts.ok_or_else(|| "expected the number of a private cache and of a slot, such as 3.7".to_owned())
}

pub fn run(arguments: &Arguments, session: &mut Session) -> Result<Verdict, Failure> {
    let protocols = std::iter::once(&arguments.run.protocol).chain(&arguments.against);
    let told = protocols.map(|protocol| tell(protocol, arguments, session)).collect::<Result<Vec<Told>, Failure>>()?;
    let is_sum = arguments.aggregate || arguments.against.is_some();
    if arguments.form.json {
        let runs: Vec<_> =
            told.iter().map(|told| if is_sum { told.stacks_to_json() } else { told.chains_to_json() }).collect();
        session.output.json(&json!({ "schema_version": JSON_SCHEMA_VERSION, "runs": runs }))?;
    } else {
        match told.as_slice() {
            [one, other] => stack::print_difference(one, other, session)?,
            [one] if is_sum => stack::print(one, session)?,
            told => told.iter().try_for_each(|told| chains::print(told, session))?,
        }
    }
    if let Some(path) = &arguments.html {
        fs::write(path, page(&told))
            .map_err(|error| Failure::bad_input(format!("cannot write {}: {error}", path.display())))?;
    }
    let mut verdict = Verdict::Good;
    for Told { result, .. } in &told {
        if let CheckResult::Fail(message) = &result.result {
            print_error(&format!("wrong result: {message}"), None);
            verdict = Verdict::CheckFailed;
        }
    }
    Ok(verdict)
}

/// Makes the run under a protocol.
fn tell(protocol: &str, arguments: &Arguments, session: &Session) -> Result<Told, Failure> {
    let spec = arguments.run.spec(protocol, arguments.workload.clone());
    let setup = setup::resolve(session.registry, &spec)?;
    let Arguments { load, line, wave, run: RunArguments { allow_incoherent, .. }, .. } = *arguments;
    let slowest = arguments.slowest.unwrap_or(3) as usize;
    let selection = Selection { number: load, address: line, wave, slowest };
    let activity = session.activity(None);
    activity.begin(spec.to_string());
    let manner = Manner { allow_incoherent, ..Manner::default() };
    Ok(chorus_program::with_printing(true, || why(&spec, &setup, manner, selection))?)
}
