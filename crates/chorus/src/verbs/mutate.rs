//! `chorus mutate`: makes small mistakes in a protocol by machine, and counts those that the checks find.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use chorus_proof::mutants::{self, mutant_json};
use chorus_protocol::registry::Protocol;
use chorus_registry::unknown;
use chorus_verify::mutate::catalogue::{self, Mutant};
use chorus_verify::mutate::hunt::{Effort, Fate, Means};
use chorus_verify::mutate::operators::Operator;
use chorus_verify::mutate::score::{Score, Tried, sample, score};
use clap::Args;
use serde_json::{Value, json};

use super::arguments::{JSON_SCHEMA_VERSION, JsonArgument, whole};
use crate::failure::{Failure, Verdict};
use crate::output::percent;
use crate::session::Session;

const EXAMPLES: &str = "\
Examples:
  chorus mutate gpu-vi --mutants 200             every so many mutants, 200 at most
  chorus mutate gpu-vi --budget 60               as many as a minute allows
  chorus mutate gpu-vi --operator drop           one kind of mistake
  chorus mutate gpu-vi --cell V,Load             one state and event
  chorus mutate gpu-vi --list                    what there is, without trying it
  chorus check gpu-vi --mutant L1:V:Load:stall   one mutant in every configuration
  chorus torture gpu-vi --mutant L1:V:Load:stall";

/// Arguments of `chorus mutate`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Protocol in which mistakes are made.
    protocol: String,
    /// List the mutants and try none.
    #[arg(long, conflicts_with_all = ["budget", "states", "steps", "threads"])]
    list: bool,
    /// Try only mistakes of this kind.
    #[arg(long, value_name = "NAME")]
    operator: Option<String>,
    /// Try only mistakes in this state on this event. Events of inputs that concern no line are in state `any`.
    #[arg(long, value_name = "STATE,EVENT")]
    cell: Option<String>,
    /// Try at most this many: every second, third, ... of them.
    #[arg(long, value_name = "N", value_parser = whole)]
    mutants: Option<u64>,
    /// Seed of the random steps. It also says which mutant a sample begins with.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole)]
    seed: u64,
    /// Begin no mutant after this many seconds. What is tried then depends on the machine.
    #[arg(long, value_name = "SECONDS", value_parser = whole)]
    budget: Option<u64>,
    /// Most states of one exploration.
    #[arg(long, value_name = "N", default_value_t = Effort::default().states as u64, value_parser = whole)]
    states: u64,
    /// Number of random steps for each mutant.
    #[arg(long, value_name = "N", default_value_t = Effort::default().steps, value_parser = whole)]
    steps: u64,
    /// Leave litmus tests out.
    #[arg(long)]
    no_litmus: bool,
    /// Number of mutants at the same time; by default one for each core. Results do not depend on it.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    #[command(flatten)]
    form: JsonArgument,
}

pub fn run(arguments: &Arguments, session: &mut Session) -> Result<Verdict, Failure> {
    let protocol = session.protocol(&arguments.protocol)?;
    let mutants = chosen(arguments, protocol, session)?;
    if arguments.list {
        return list(arguments, protocol, &mutants, session);
    }
    let (start, activity) = (Instant::now(), session.activity(Some(mutants.len())));
    let watch = |tried: &Tried| activity.finish(&format!("{}: {}", tried.mutant.id, fate(&tried.fate)));
    let threads = arguments.threads.map_or_else(mutants::cores, usize::from);
    let budget = arguments.budget.map(Duration::from_secs);
    let score = score(protocol, &mutants, effort(arguments), threads, budget, &watch);
    drop(activity);
    let seconds = start.elapsed().as_secs_f64();
    if arguments.form.json {
        session.output.json(&to_json(arguments, protocol, &score, seconds))?;
    } else {
        print(protocol, &score, seconds, session)?;
    }
    Ok(Verdict::Good)
}

fn effort(arguments: &Arguments) -> Effort {
    let states = usize::try_from(arguments.states).unwrap_or(usize::MAX);
    let usual = Effort::default();
    Effort {
        smoke_states: states,
        steps: arguments.steps.max(1),
        seed: arguments.seed,
        states,
        litmus_states: if arguments.no_litmus { 0 } else { usual.litmus_states.min(states) },
    }
}

/// The mutants that the arguments mean.
fn chosen(arguments: &Arguments, protocol: &'static dyn Protocol, session: &Session) -> Result<Vec<Mutant>, Failure> {
    if let Some(name) = &arguments.operator {
        let names = Operator::names();
        let known: Vec<&str> = names.iter().map(String::as_str).collect();
        if !known.contains(&name.as_str()) {
            return Err(Failure::bad_input(unknown("operator", name, &known)));
        }
    }
    let activity = session.activity(None);
    activity.begin(format!("{}: the cells of its table", protocol.name()));
    let mut all = catalogue::mutants(protocol);
    drop(activity);
    if let Some(cell) = &arguments.cell {
        let place = |mutant: &Mutant| format!("{},{}", mutant.mutation.cell.state, mutant.mutation.cell.event);
        let places: BTreeSet<String> = all.iter().map(place).collect();
        if !places.contains(cell) {
            let known: Vec<&str> = places.iter().map(String::as_str).collect();
            return Err(Failure::bad_input(unknown("cell", cell, &known)));
        }
        all.retain(|mutant| place(mutant) == *cell);
    }
    if let Some(name) = &arguments.operator {
        all.retain(|mutant| mutant.mutation.operator.name() == *name);
    }
    let most = arguments.mutants.map_or(usize::MAX, |most| usize::try_from(most).unwrap_or(usize::MAX));
    Ok(sample(all, most, arguments.seed))
}

/// The mutant of this name, or a message that says what is wrong with the name.
pub fn mutant(protocol: &'static dyn Protocol, id: &str) -> Result<Mutant, Failure> {
    Mutant::parse(protocol, id).map_err(|error| {
        let hint = format!("hint: chorus mutate {} --list names them", protocol.name());
        Failure::bad_input(format!("unknown mutant `{id}`: {error}\n{hint}"))
    })
}

/// The protocol, or the mutant of it that is asked for.
pub fn mutated(protocol: &'static dyn Protocol, id: Option<&str>) -> Result<&'static dyn Protocol, Failure> {
    Ok(match id {
        Some(id) => mutant(protocol, id)?.protocol(protocol),
        None => protocol,
    })
}

/// The line that says what a repetition needs, for a mutant.
pub fn repetition(id: &str) -> String {
    format!("to repeat this, add: --mutant '{id}'")
}

fn list(
    arguments: &Arguments,
    protocol: &dyn Protocol,
    mutants: &[Mutant],
    session: &mut Session,
) -> Result<Verdict, Failure> {
    if arguments.form.json {
        session.output.json(&json!({
            "schema_version": JSON_SCHEMA_VERSION,
            "protocol": protocol.name(),
            "mutants": mutants.iter().map(|mutant| mutant_json(protocol, mutant)).collect::<Vec<_>>(),
        }))?;
        return Ok(Verdict::Good);
    }
    for mutant in mutants {
        session.output.line(&mutant.id)?;
    }
    session.output.line(&format!("\n{} mutants", mutants.len()))?;
    Ok(Verdict::Good)
}

fn fate(fate: &Fate) -> String {
    match fate {
        Fate::Found { by, rule } => format!("{}: {rule}", by.name()),
        Fate::Survived { .. } => "SURVIVED".to_owned(),
        Fate::Equivalent => "equivalent".to_owned(),
        Fate::NotReached => "not reached".to_owned(),
    }
}

fn print(protocol: &dyn Protocol, score: &Score, seconds: f64, session: &mut Session) -> Result<(), Failure> {
    for tried in score.survivors() {
        session.output.line(&tried.mutant.id)?;
        session.output.line(&format!("    {}", tried.mutant.mutation.operator.sentence(protocol)))?;
    }
    let survivors = score.survivors().count();
    let ways = Means::ALL.map(|means| format!("{} by {}", score.found_by(means), means.name())).join(", ");
    let all = score.found() + survivors;
    let share = percent(score.found() as f64, all as f64);
    let blank = if survivors > 0 { "\n" } else { "" };
    let name = protocol.name();
    session
        .output
        .line(&format!("{blank}{name}: {} of {all} mutants found ({share}), {seconds:.1} s", score.found()))?;
    session.output.line(&format!("  {ways}"))?;
    session.output.line(&format!("  {survivors} survivors"))?;
    let (same, never) = (score.equivalent(), score.not_reached());
    session.output.line(&format!("  set apart: {same} that make no difference, {never} never reached"))?;
    match score.left_out {
        0 => Ok(()),
        left => session.output.line(&format!("  {left} were not tried: the budget is used up")),
    }
}

fn to_json(arguments: &Arguments, protocol: &dyn Protocol, score: &Score, seconds: f64) -> Value {
    let mut value = mutants::to_json(protocol, score);
    value["schema_version"] = json!(JSON_SCHEMA_VERSION);
    value["protocol"] = json!(protocol.name());
    value["seed"] = json!(arguments.seed);
    value["seconds"] = json!(seconds);
    value
}
