//! `chorus torture`: runs protocols through millions of random steps on random small machines.

use chorus_proof::checking::fault;
use chorus_proof::{Tortured, torture_one};
use chorus_verify::torture::Settings;
use chorus_verify::torture::coverage::{Cell, Comparison};
use clap::Args;
use serde_json::json;

use super::arguments::{JSON_SCHEMA_VERSION, JsonArgument, whole};
use super::mutate::{mutated, repetition};
use crate::failure::{Failure, Verdict};
use crate::output::{align_right, count, leave_out, table};
use crate::session::Session;

const EXAMPLES: &str = "\
Examples:
  chorus torture gpu-vi
  chorus torture gpu-vi --steps 1000000 --seed 7
  chorus torture gpu-vi --fault stale-refill     a seeded mistake, which must be found, shrunk to a small program
  chorus torture gpu-vi --seed 7 --episode 123   one episode again, exactly
  chorus torture --all                           every protocol

A pass needs 90 % of the pairs of state and event that can be met, and 100 episodes. Less is not enough (exit code 1). A
single episode and a seeded fault are not held to that: without a failure they say so, and claim no more.";

/// Arguments of `chorus torture`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Protocol to run random steps of.
    #[arg(required_unless_present = "all")]
    protocol: Option<String>,
    /// Run random steps of every protocol.
    #[arg(long, conflicts_with_all = ["protocol", "fault", "episode"])]
    all: bool,
    /// Stop after about this many steps. A step is an input that a controller consumes.
    #[arg(long, value_name = "N", default_value_t = Settings::default().steps, value_parser = steps, allow_negative_numbers = true)]
    steps: u64,
    /// Seed of all random choices. The same seed gives the same steps on every machine.
    #[arg(long, value_name = "N", default_value_t = Settings::default().seed, value_parser = whole, allow_negative_numbers = true)]
    seed: u64,
    /// Run only this episode; the message about a failure names it.
    #[arg(long, value_name = "N", value_parser = whole, allow_negative_numbers = true)]
    episode: Option<u64>,
    /// Let wavefronts always wait for a load or an atomic before they go on. Otherwise they wait in half of the
    /// episodes.
    #[arg(long)]
    blocking_loads: bool,
    /// Build one of the protocol's seeded faults in; `chorus list protocols --json` names them.
    #[arg(long, value_name = "NAME")]
    fault: Option<String>,
    /// Build one of the mistakes in that `chorus mutate` makes. `chorus mutate PROTOCOL --list` names them.
    #[arg(long, value_name = "ID", conflicts_with_all = ["all", "fault"])]
    mutant: Option<String>,
    #[command(flatten)]
    form: JsonArgument,
}

fn steps(text: &str) -> Result<u64, String> {
    whole(text).and_then(|steps| if steps == 0 { Err("at least one step is made".to_owned()) } else { Ok(steps) })
}

pub fn run(arguments: &Arguments, session: &mut Session) -> Result<Verdict, Failure> {
    let protocols = match &arguments.protocol {
        Some(name) => vec![mutated(session.protocol(name)?, arguments.mutant.as_deref())?],
        None => session.registry.protocols().to_vec(),
    };
    let fault = match (&arguments.fault, protocols.as_slice()) {
        (Some(name), [protocol, ..]) => Some(fault(*protocol, name).map_err(Failure::bad_input)?),
        (Some(_), []) | (None, _) => None,
    };
    let settings = Settings {
        steps: arguments.steps,
        seed: arguments.seed,
        episode: arguments.episode,
        blocking_loads: arguments.blocking_loads,
        shrinks: true,
    };
    let activity = session.activity(Some(protocols.len()));
    let all: Vec<Tortured> =
        protocols.into_iter().map(|protocol| torture_one(protocol, fault, &settings, &activity)).collect();
    drop(activity);
    let passed = all.iter().all(Tortured::passed);
    if arguments.form.json {
        session.output.json(&json!({
            "schema_version": JSON_SCHEMA_VERSION,
            "seed": settings.seed,
            "mutant": arguments.mutant,
            "passed": passed,
            "protocols": all.iter().map(Tortured::to_json).collect::<Vec<_>>(),
        }))?;
    } else {
        print(&all, session)?;
        if let Some(id) = arguments.mutant.as_ref().filter(|_| !passed) {
            session.output.line(&repetition(id))?;
        }
    }
    Ok(Verdict::of(passed))
}

fn print(all: &[Tortured], session: &mut Session) -> Result<(), Failure> {
    let headers =
        ["protocol", "steps", "refused", "episodes", "operations", "seconds", "M steps/min", "pairs met", "verdict"];
    let mut table = table(headers);
    for tortured in all {
        let report = &tortured.report;
        let coverage = tortured.comparison.as_ref();
        let met = report.coverage.met();
        table.add_row([
            report.protocol.to_owned(),
            count(report.steps),
            count(report.refusals),
            count(report.episodes),
            count(report.operations),
            format!("{:.1}", tortured.seconds),
            format!("{:.0}", tortured.steps_per_minute() / 1e6),
            coverage.map_or(met.to_string(), |coverage| format!("{} of {}", coverage.covered, coverage.reachable)),
            tortured.verdict().to_owned(),
        ]);
    }
    align_right(&mut table, 1..8);
    leave_out(&mut table, &[3, 4, 2], &[]);
    session.output.table(&table)?;
    for tortured in all {
        if let Some(Comparison { missed, beyond, .. }) = &tortured.comparison {
            print_cells(tortured.report.protocol, "pairs that can be met but were not", missed, session)?;
            print_cells(tortured.report.protocol, "pairs that the exhaustive driver did not meet", beyond, session)?;
        }
        if let Some(shortfall) = tortured.shortfall() {
            session.output.line("")?;
            session.output.paragraph(&format!("{}: {shortfall}", tortured.report.protocol))?;
        }
        if !tortured.report.passed() {
            let fault = tortured.report.fault.map_or(String::new(), |fault| format!(" with fault {fault}"));
            session.output.line(&format!("\n{}{fault}", tortured.report.protocol))?;
            session.output.print(&tortured.report.failure_text(tortured.protocol))?;
        }
    }
    Ok(())
}

/// The most pairs of a state and an event that are named.
const CELLS_SHOWN: usize = 6;

fn print_cells(protocol: &str, what: &str, cells: &[Cell], session: &mut Session) -> Result<(), Failure> {
    if cells.is_empty() {
        return Ok(());
    }
    let name = |(role, state, event): &Cell| format!("{role} {state} × {event}");
    let shown: Vec<String> = cells.iter().take(CELLS_SHOWN).map(name).collect();
    let rest = match cells.len().saturating_sub(CELLS_SHOWN) {
        0 => String::new(),
        left => format!(" and {left} more, listed with --json"),
    };
    session.output.line("")?;
    session.output.paragraph(&format!("{protocol}: {what}: {}{rest}", shown.join(", ")))
}
