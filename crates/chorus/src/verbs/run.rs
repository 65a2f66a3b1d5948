//! `chorus run`: makes one simulation and prints its result.

use std::path::{Path, PathBuf};

use chorus_lab::run::{CheckResult, RunResult, RunSpec};
use chorus_lab::setup::{self, Setup};
use chorus_lab::simulate::{Manner, simulate_on};
use chorus_protocol::message::TrafficClass;
use chorus_sim::Progress;
use chorus_sim::observe::SharedObserver;
use chorus_trace::{Recorded, Recorder, Trace};
use clap::Args;
use comfy_table::Table;
use serde_json::{Value, json};

use super::arguments::{JsonArgument, RunArguments};
use crate::checkpoints::CheckpointArguments;
use crate::failure::{Failure, Verdict, print_error, print_note, print_warning};
use crate::output::{align_right, count, percent, table};
use crate::run_progress::shown_while;
use crate::session::Session;
use crate::timelines::TimelineArguments;
use crate::watching::{WatchArguments, keep};

const EXAMPLES: &str = "\
Examples:
  chorus run --system tc --protocol gpu-vi --workload stn
  chorus run --system tc --protocol gpu-vi --workload kmn --scale paper --seed 7 --json
  chorus run --system tc --protocol ideal-coh --workload hsp --set l1.size_bytes=65536
  chorus run --system tc --protocol tc-weak-fixed --workload hsp --set lease.cycles=1600
  chorus run --system tc --protocol no-coh --workload dlb --allow-incoherent
  chorus run --system tc --protocol gpu-vi --workload saxpy --set workload.elements=2^20
  chorus run --system tc --protocol gpu-vi --workload bfs --graph USA-road-d.FLA.gr
  chorus run --system cpelide --protocol cpelide --workload square --annotate auto
  chorus run --system hmg --protocol hmg --workload mst --scale paper --threads 4
  chorus run --system hmg --protocol hmg --workload mst --every 10000 --keep results
  chorus run --system hmg --protocol hmg --workload mst --distributions --sharing
  chorus run --system hmg --protocol hmg --workload mst --every 1000 --distributions --html mst.html
  chorus run --system hmg --protocol hmg --trace traces/vectoradd
  chorus run --system tc --protocol gpu-vi --workload stn --record-trace traces/stn
  chorus run --system tc --protocol gpu-vi --workload stn --timeline stn.pftrace --timeline-window 10000..20000
  chorus run --system tc --protocol gpu-vi --program examples/cuda/bfs/program.toml --set workload.n=2^14
  chorus run --system hmg --protocol hmg --workload mst --scale paper --checkpoint-every 10min --checkpoint mst.chk
  chorus run --system hmg --protocol hmg --workload mst --scale paper --checkpoint-every 10min --resume mst.chk";

/// The largest number of threads that is accepted: a machine is divided into no more parts.
const THREADS_MAX: i64 = 256;

/// Begins the name of what is run, where that is a trace.
const TRACE: &str = "trace ";

/// Arguments of `chorus run`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    #[command(flatten)]
    run: RunArguments,
    /// Workload to run: a name, the path of a program file, several that run at the same time (`A+B`), or several on
    /// modules of their own (`A@0-1+B@2-3`).
    #[arg(long, required_unless_present_any = ["program", "trace"])]
    workload: Option<String>,
    /// Program of your own to run: a file that names kernels in PTX and describes the host's side, such as
    /// `program.toml`. It is the same as `--workload FILE`.
    #[arg(long, value_name = "FILE", conflicts_with = "workload")]
    program: Option<String>,
    /// Trace in the format of Accel-Sim to replay instead of a workload: a directory with a `kernelslist.g`, or one
    /// `.traceg` or `.traceg.xz`. It has addresses and no values, so its result is unchecked.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["workload", "program", "graph", "graph_format"])]
    trace: Option<PathBuf>,
    /// Write what the program does as a trace that Accel-Sim reads, into a directory that is empty or does not exist.
    #[arg(long, value_name = "DIR")]
    record_trace: Option<PathBuf>,
    /// Threads that share the run, at most one for each part of the machine that can run alone. The result does not
    /// depend on it.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=THREADS_MAX))]
    threads: u32,
    /// Longest time for which parts of the machine run alone, in ticks; by default as long as the machine allows. The
    /// result does not depend on it, which is what this is for.
    #[arg(long, value_name = "TICKS", hide = true, value_parser = clap::value_parser!(u64).range(1..))]
    window: Option<u64>,
    #[command(flatten)]
    watching: WatchArguments,
    #[command(flatten)]
    timeline: TimelineArguments,
    #[command(flatten)]
    checkpoints: CheckpointArguments,
    #[command(flatten)]
    form: JsonArgument,
}

pub fn run(arguments: &Arguments, session: &mut Session) -> Result<Verdict, Failure> {
    let spec = arguments.run.spec(&arguments.run.protocol, workload(arguments));
    // The setup is resolved here, so that a mistake in a system file is shown with its line.
    let setup = match &arguments.trace {
        Some(path) => traced(&spec, path, session)?,
        None => setup::resolve(session.registry, &spec)?,
    };
    let recorder = arguments.record_trace.as_deref().map(Recorder::create).transpose()?;
    let store = arguments.watching.open_store()?;
    let &Arguments { run: RunArguments { allow_incoherent, .. }, threads, window, .. } = arguments;
    let simulate = |observer: Option<&SharedObserver>| {
        let progress = Progress::default();
        let watch = arguments.watching.watch(&progress, observer);
        let manner =
            Manner { allow_incoherent, threads, window, recorder: recorder.as_ref(), watch, ..Manner::default() };
        let checkpoint = arguments.checkpoints.open(&spec, &setup, &manner)?;
        let manner = Manner { keeping: arguments.checkpoints.keeping()?, resume: checkpoint.as_ref(), ..manner };
        let simulate = || chorus_program::with_printing(true, || simulate_on(&spec, &setup, manner));
        Ok(shown_while(session.style(), &spec.to_string(), &progress, simulate)?)
    };
    let (result, shown) = arguments.timeline.observe(simulate)?;
    arguments.watching.write_page(&result)?;
    if let Some(store) = store {
        keep(&store, &result)?;
    }
    if arguments.form.json {
        let mut json = result.to_json();
        if let (Some(trace), Value::Object(fields)) = (&setup.trace, &mut json) {
            fields.insert("trace".to_owned(), trace_json(trace));
        }
        session.output.json(&json)?;
    } else {
        print(&result, setup.trace.as_deref(), session)?;
        arguments.watching.print(&result.notes, &mut session.output)?;
    }
    if let Some(recorder) = recorder {
        print_recorded(recorder.finish()?, arguments);
    }
    let verdict = arguments.timeline.conclude(&result, shown)?;
    match &result.result {
        CheckResult::Pass | CheckResult::Unchecked => Ok(verdict),
        CheckResult::Fail(message) => {
            print_error(&format!("wrong result: {message}"), None);
            Ok(Verdict::CheckFailed)
        }
    }
}

/// The name of the workload or the trace, for people and for the results. A program file without a separator in its
/// path is named as one in the working directory, so that it is no workload's name.
fn workload(arguments: &Arguments) -> String {
    match (&arguments.trace, &arguments.program, &arguments.workload) {
        (Some(path), ..) => format!("{TRACE}{}", path.display()),
        (None, Some(path), _) if chorus_program::is_path(path) => path.clone(),
        (None, Some(path), _) => format!("./{path}"),
        (None, None, workload) => workload.clone().unwrap_or_default(),
    }
}

/// Reads a trace and resolves the machine that replays it. Says what cannot be replayed faithfully.
fn traced(spec: &RunSpec, path: &Path, session: &Session) -> Result<Setup, Failure> {
    // A mistake in the machine is told before a large trace is read.
    setup::resolve_idle(session.registry, spec)?;
    let trace = Trace::open(path)?;
    trace.warnings().iter().for_each(|warning| print_warning(warning));
    Ok(setup::resolve_trace(session.registry, spec, trace)?)
}

fn trace_json(trace: &Trace) -> Value {
    json!({
        "path": trace.path(),
        "sha256": trace.sha256(),
        "kernels": trace.kernels(),
        "instructions": trace.instructions(),
        "bytes": trace.bytes(),
        "warnings": trace.warnings(),
    })
}

fn print_recorded(recorded: Recorded, arguments: &Arguments) {
    let Recorded { kernels, instructions, cpu_threads } = recorded;
    let folder = arguments.record_trace.as_deref().unwrap_or(Path::new("")).display();
    print_note(&format!("{folder}: {} instructions of {} kernels", count(instructions), count(kernels as u64)));
    if cpu_threads {
        print_warning("a trace has no CPU threads, and those of this program are not in it");
    }
}

fn print(result: &RunResult, trace: Option<&Trace>, session: &mut Session) -> Result<(), Failure> {
    session.output.line(&format!("{}\n", result.spec))?;
    let traced = trace.map(|trace| {
        let (kernels, instructions) = (count(trace.kernels() as u64), count(trace.instructions()));
        let contents = format!("{kernels} kernels, {instructions} instructions, SHA-256 {:.16}…", trace.sha256());
        ("trace", format!("{}: {contents}", trace.path()))
    });
    for (label, value) in summary(result).into_iter().chain(traced) {
        session.output.line(&format!("  {label:<16}{value}"))?;
    }
    session.output.line("")?;
    session.output.table(&traffic(result))
}

fn summary(result: &RunResult) -> Vec<(&'static str, String)> {
    let metric = |key: &str| metric(result, key);
    let counter = |key: &str| count(metric(key) as u64);
    let verdict = match &result.result {
        CheckResult::Fail(message) => format!("FAIL: {message}"),
        CheckResult::Pass => result.result.name().to_owned(),
        CheckResult::Unchecked if result.spec.workload.starts_with(TRACE) => {
            "unchecked: a trace has no values, so nobody knows the right ones".to_owned()
        }
        CheckResult::Unchecked => result.result.name().to_owned(),
    };
    let hits = percent(metric("l1.load_hits"), metric("l1.loads"));
    let latency = metric("l1.load_latency_cycles") / metric("l1.loads_completed").max(1.0);
    let [energy, dynamic, fixed] =
        ["energy.nj", "energy.dynamic_nj", "energy.static_nj"].map(|key| format!("{:.1} µJ", metric(key) / 1000.0));
    let mut summary = vec![
        ("result", verdict),
        ("cycles", count(result.cycles)),
        ("simulated time", format!("{:.1} µs", result.simulated_ns / 1000.0)),
        ("accesses", format!("{} lines", count(result.accesses))),
        ("L1 load hits", format!("{hits} of {} loads", counter("l1.loads"))),
        ("load latency", format!("{latency:.0} cycles on average")),
        ("DRAM", format!("{} reads, {} writes", counter("dram.reads"), counter("dram.writes"))),
        ("network energy", format!("{energy}: {dynamic} dynamic, {fixed} static")),
        ("kernels", count(result.kernels.len() as u64)),
        ("took", took(result)),
        ("configuration", result.config_hash.clone()),
    ];
    if result.metrics.contains_key("l3.hits") {
        let fetches = metric("l3.hits") + metric("l3.misses");
        summary
            .push(("L3 hits", format!("{} of {} fetches", percent(metric("l3.hits"), fetches), count(fetches as u64))));
    }
    if result.metrics.contains_key("boundary.l2_releases") {
        let keys = ["boundary.l2_acquires", "boundary.l2_releases", "boundary.l2_elided", "boundary.written_back"];
        let [emptied, written, elided, lines] = keys.map(counter);
        let done =
            format!("{emptied} L2s emptied, {written} written back, {elided} operations elided, {lines} lines written");
        summary.push(("between kernels", done));
    }
    if let Some(graph) = &result.graph {
        let (nodes, arcs) = (count(graph.nodes.into()), count(graph.arcs.into()));
        summary.push(("graph", format!("{}: {nodes} nodes, {arcs} arcs, SHA-256 {:.16}…", graph.file, graph.sha256)));
    }
    if !result.spec.annotate.is_hand() {
        summary.push(("annotations", result.spec.annotate.to_string()));
    }
    if !result.parameters.is_empty() {
        let values: Vec<String> = result.parameters.iter().map(|(key, value)| format!("{key}={value}")).collect();
        summary.push(("parameters", values.join(", ")));
    }
    summary
}

fn traffic(result: &RunResult) -> Table {
    let total = metric(result, "traffic.flits");
    let mut table = table(["traffic", "flits", "share", "bytes", ""]);
    let mut add = |label: &str, suffix: &str, meaning: &str| {
        let flits = metric(result, &format!("traffic.flits{suffix}"));
        let bytes = metric(result, &format!("traffic.bytes{suffix}"));
        table.add_row([label, &count(flits as u64), &percent(flits, total), &count(bytes as u64), meaning]);
    };
    let classes = TrafficClass::BY_CONTENTS.into_iter().chain(TrafficClass::BY_REQUEST);
    for class in classes.filter(|class| result.metrics.contains_key(&format!("traffic.flits.{}", class.key()))) {
        add(class.label(), &format!(".{}", class.key()), class.contents());
    }
    add("all", "", "");
    align_right(&mut table, 1..4);
    table
}

fn metric(result: &RunResult, key: &str) -> f64 {
    result.metrics.get(key).copied().unwrap_or_default()
}

fn took(result: &RunResult) -> String {
    let rate = result.accesses as f64 / result.user_s.max(1e-9) / 1e6;
    format!("{:.2} s, {:.2} s of processor time ({rate:.2} million accesses per second)", result.wall_s, result.user_s)
}
