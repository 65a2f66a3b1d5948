//! `chorus bench`: how fast the simulator is.

use chorus_lab::bench::{self, Bench, Effort};
use chorus_lab::simulate::unknown;
use clap::Args;

use super::arguments::JsonArgument;
use crate::failure::{Failure, Verdict};
use crate::output::{align_right, count, table};
use crate::session::Session;

const EXAMPLES: &str = "\
Examples:
  chorus bench
  chorus bench hit-heavy miss-heavy
  chorus bench --seconds 5 --json";

/// Arguments of `chorus bench`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The benchmarks; without any, all.
    benchmarks: Vec<String>,
    /// Processor time of one repetition, of which the fastest of three counts.
    #[arg(long, default_value_t = Effort::default().cpu_s, value_parser = seconds)]
    seconds: f64,
    #[command(flatten)]
    form: JsonArgument,
}

fn seconds(text: &str) -> Result<f64, String> {
    let accepted = 0.001..=60.0;
    let seconds = text.parse().ok().filter(|seconds| accepted.contains(seconds));
    seconds.ok_or_else(|| format!("expected seconds from {} to {}", accepted.start(), accepted.end()))
}

/// Runs `chorus bench`.
pub fn run(arguments: &Arguments, session: &mut Session) -> Result<Verdict, Failure> {
    let names = bench::names();
    if let Some(stranger) = arguments.benchmarks.iter().find(|given| !names.contains(&given.as_str())) {
        return Err(Failure::bad_input(unknown("benchmark", stranger, &names)));
    }
    let chosen = |name: &str| arguments.benchmarks.is_empty() || arguments.benchmarks.iter().any(|given| given == name);
    let chosen: Vec<&str> = names.into_iter().filter(|name| chosen(name)).collect();
    let effort = Effort { cpu_s: arguments.seconds, ..Effort::default() };
    let activity = session.activity(Some(chosen.len()));
    let begin = |name: &str| activity.begin(name);
    let finish = |bench: &Bench| activity.finish(&format!("{}: {}", bench.name, rate(bench)));
    let benches = bench::run(&chosen, effort, &begin, &finish)?;
    drop(activity);
    if arguments.form.json {
        session.output.json(&benches.to_json())?;
        return Ok(Verdict::Good);
    }
    let mut table = table(["benchmark", "protocol", "accesses", "processor time", "accesses per second", "footprint"]);
    for bench in &benches.benches {
        table.add_row([
            bench.name.to_owned(),
            bench.protocol.to_owned(),
            count(bench.accesses),
            format!("{:.2} s", bench.cpu_s),
            rate(bench),
            megabytes(bench.footprint_bytes),
        ]);
    }
    align_right(&mut table, 2..6);
    session.output.table(&table)?;
    if let Some(peak) = benches.peak_resident_bytes {
        session.output.line(&format!("\npeak resident memory {}", megabytes(peak)))?;
    }
    Ok(Verdict::Good)
}

fn rate(bench: &Bench) -> String {
    format!("{:.2} million", bench.accesses_per_cpu_s / 1e6)
}

fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}
