//! `chorus bench`: the speed of the simulator, and the growth of exhaustive searches with the machine.

use std::num::NonZero;

use chorus_lab::bench::{self, Bench, Effort, count_instructions};
use chorus_protocol::registry::Protocol;
use chorus_registry::unknown;
use chorus_verify::scaling::{Extent, ScalingRow, extents, scaling};
use clap::Args;
use serde_json::{Value, json};

use super::arguments::JsonArgument;
use crate::failure::{Failure, Verdict};
use crate::output::{align_right, count, leave_out, table};
use crate::session::Session;

const EXAMPLES: &str = "\
Examples:
  chorus bench
  chorus bench hit-heavy miss-heavy
  chorus bench --seconds 5 --json
  chorus bench hit-heavy --instructions  host instructions per access, counted by valgrind
  chorus bench --explore gpu-vi        how the exhaustive driver scales with caches, lines, words and operations";

/// Arguments of `chorus bench`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Benchmarks to run; by default all.
    benchmarks: Vec<String>,
    /// Processor time of one repetition, in seconds. The fastest of three repetitions counts.
    #[arg(long, default_value_t = Effort::default().cpu_s, value_parser = seconds)]
    seconds: f64,
    /// Run each benchmark once, for this many rounds, instead of for a time.
    #[arg(long, value_name = "COUNT", conflicts_with = "seconds")]
    rounds: Option<u32>,
    /// Also count host instructions per access. This runs each benchmark twice under valgrind, which must be installed.
    #[arg(long, conflicts_with = "rounds")]
    instructions: bool,
    /// Measure instead how exhaustive searches of this protocol grow with the machine.
    #[arg(long, value_name = "PROTOCOL", conflicts_with_all = ["benchmarks", "seconds", "rounds", "instructions"])]
    explore: Option<String>,
    #[command(flatten)]
    form: JsonArgument,
}

fn seconds(text: &str) -> Result<f64, String> {
    let accepted = 0.001..=60.0;
    let seconds = text.parse().ok().filter(|seconds| accepted.contains(seconds));
    seconds.ok_or_else(|| format!("expected seconds from {} to {}", accepted.start(), accepted.end()))
}

pub fn run(arguments: &Arguments, session: &mut Session) -> Result<Verdict, Failure> {
    if let Some(name) = &arguments.explore {
        return explore(session.protocol(name)?, arguments, session);
    }
    let names = bench::names();
    if let Some(stranger) = arguments.benchmarks.iter().find(|given| !names.contains(&given.as_str())) {
        return Err(Failure::bad_input(unknown("benchmark", stranger, &names)));
    }
    let chosen = |name: &str| arguments.benchmarks.is_empty() || arguments.benchmarks.iter().any(|given| given == name);
    let chosen: Vec<&str> = names.into_iter().filter(|name| chosen(name)).collect();
    let effort = Effort { cpu_s: arguments.seconds, rounds: arguments.rounds, ..Effort::default() };
    let activity = session.activity(Some(chosen.len()));
    let begin = |name: &str| activity.begin(name);
    let finish = |bench: &Bench| activity.finish(&format!("{}: {}", bench.name, rate(bench)));
    let mut benches = bench::run(&chosen, effort, &begin, &finish)?;
    drop(activity);
    let chorus = std::env::current_exe().ok().filter(|_| arguments.instructions);
    for bench in &mut benches.benches {
        bench.instructions_per_access = chorus.as_deref().and_then(|chorus| count_instructions(chorus, bench.name));
    }
    if arguments.form.json {
        session.output.json(&benches.to_json())?;
        return Ok(Verdict::Good);
    }
    let mut table = table(["benchmark", "system", "protocol", "accesses", "CPU time", "accesses/s", "footprint"]);
    for bench in &benches.benches {
        table.add_row([
            bench.name.to_owned(),
            bench.system.to_owned(),
            bench.protocol.to_owned(),
            count(bench.accesses),
            format!("{:.2} s", bench.cpu_s),
            rate(bench),
            megabytes(bench.footprint_bytes),
        ]);
    }
    align_right(&mut table, 3..7);
    leave_out(&mut table, &[6, 4], &[]);
    session.output.table(&table)?;
    for bench in benches.benches.iter().filter(|_| arguments.instructions) {
        let counted = bench.instructions_per_access.map(|number| count(number as u64));
        let counted = counted.unwrap_or_else(|| "an unknown number of".to_owned());
        session.output.line(&format!("{}: {counted} host instructions per access", bench.name))?;
    }
    if let Some(peak) = benches.peak_resident_bytes {
        session.output.line(&format!("\npeak resident memory {}", megabytes(peak)))?;
    }
    Ok(Verdict::Good)
}

/// Measures exhaustive searches on one thread and on all cores.
fn explore(protocol: &'static dyn Protocol, arguments: &Arguments, session: &mut Session) -> Result<Verdict, Failure> {
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get);
    let extents = extents();
    let activity = session.activity(Some(extents.len()));
    let mut rows = Vec::new();
    for extent in extents {
        let Extent { caches, lines, words, operations } = extent;
        let name = format!("{caches} caches, {lines} lines of {words} words, {operations} operations");
        activity.begin(&name);
        rows.extend(scaling(protocol, &[extent], threads));
        activity.finish(&name);
    }
    drop(activity);
    if arguments.form.json {
        let rows: Vec<Value> = rows.iter().map(row_to_json).collect();
        session.output.json(&json!({ "protocol": protocol.name(), "threads": threads, "rows": rows }))?;
        return Ok(Verdict::Good);
    }
    let several = format!("s, {threads} threads");
    let mut table = table([
        "caches",
        "lines",
        "words",
        "operations",
        "states",
        "s, 1 thread",
        &several,
        "symmetries",
        "reduced states",
        "s, 1 thread",
        &several,
        "bytes per state",
        "states per second",
    ]);
    for row in &rows {
        let [one, all] = row.seconds.map(|seconds| format!("{seconds:.2}"));
        let [reduced_one, reduced_all] = row.reduced_seconds.map(|seconds| format!("{seconds:.2}"));
        table.add_row([
            row.extent.caches.to_string(),
            row.extent.lines.to_string(),
            row.extent.words.to_string(),
            row.extent.operations.to_string(),
            count(row.states as u64) + if row.complete { "" } else { " (bounded)" },
            one,
            all,
            row.symmetry.to_string(),
            count(row.reduced_states as u64),
            reduced_one,
            reduced_all,
            row.bytes_per_state.to_string(),
            count(row.states_per_second() as u64),
        ]);
    }
    align_right(&mut table, 0..13);
    session.output.table(&table)?;
    Ok(Verdict::Good)
}

fn row_to_json(row: &ScalingRow) -> Value {
    json!({
        "caches": row.extent.caches,
        "lines": row.extent.lines,
        "words": row.extent.words,
        "operations": row.extent.operations,
        "states": row.states,
        "complete": row.complete,
        "seconds": row.seconds,
        "symmetries": row.symmetry,
        "reduced_states": row.reduced_states,
        "reduced_seconds": row.reduced_seconds,
        "bytes_per_state": row.bytes_per_state,
    })
}

fn rate(bench: &Bench) -> String {
    format!("{:.2} million", bench.accesses_per_cpu_s / 1e6)
}

fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}
