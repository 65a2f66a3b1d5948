//! `chorus compare`: runs every protocol with every workload and makes one table per machine.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::ops::Range;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use chorus_lab::comparison::{Average, Cell, Comparison, MachineTable, Quantity, Request, Selection, compare};
use chorus_lab::reproduce::STORE_FILE;
use chorus_lab::simulate::{build, simulate};
use chorus_lab::store::Store;
use chorus_lab::{jobs, paper};
use chorus_registry::{Registry, unknown};
use chorus_system::Scale;
use clap::Args;
use comfy_table::Table;

use super::arguments::{JsonArgument, ScaleArgument, StudyArguments};
use crate::date;
use crate::failure::{Failure, Verdict, print_error};
use crate::interrupt::{Tally, interruptible};
use crate::output::{align_right, table, width};
use crate::session::Session;

/// The word that means every system of the registry.
const ALL: &str = "all";

/// The largest number of minutes that is accepted; it is more than a year.
const MINUTES_MAX: i64 = 1_000_000;

const EXAMPLES: &str = "\
Examples:
  chorus compare --minutes 10                     as much as ten minutes give; the same command goes on
  chorus compare --systems tc                     everything on one machine
  chorus compare --systems hmg,rec --workloads bfs,mst,lstm
  chorus compare --systems tc --workloads examples/cuda/bfs/program.toml
  chorus compare --systems all --jobs 16          all machines: hours
  chorus compare --minutes 0 --json               what is there already

Finished runs are kept at once, in the same store as those of `chorus reproduce`: nothing is repeated.";

/// Arguments of `chorus compare`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Machines: names or paths of system files, or `all`. By default the machines of the papers' headline figures.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    systems: Vec<String>,
    /// Protocols to compare; by default all.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    protocols: Vec<String>,
    /// Workloads to run: names, or paths of program files; by default all that Chorus ships.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    workloads: Vec<String>,
    /// Protocol that times are relative to. By default it is the baseline of the paper whose machine it is.
    #[arg(long, value_name = "NAME")]
    baseline: Option<String>,
    /// Start no run after this many minutes.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(0..=MINUTES_MAX as u64))]
    minutes: Option<u64>,
    #[command(flatten)]
    scale: ScaleArgument,
    #[command(flatten)]
    study: StudyArguments,
    #[command(flatten)]
    form: JsonArgument,
}

pub fn run(arguments: &Arguments, session: &mut Session) -> Result<Verdict, Failure> {
    let registry = session.registry;
    let selection = selection(registry, arguments)?;
    // A directory that cannot be written is reported before anything is computed.
    drop(Store::open(&arguments.study.out.join(STORE_FILE))?);
    let cancel = AtomicBool::new(false);
    let tally = Tally::new(session.matrix_progress());
    let deadline = arguments.minutes.map(|minutes| Instant::now() + Duration::from_secs(60 * minutes));
    let work = || {
        compare(&Request {
            registry,
            selection: &selection,
            out: &arguments.study.out,
            jobs: arguments.study.jobs(),
            runner: &|spec| simulate(registry, spec, false),
            build: &build(),
            cancel: &cancel,
            deadline,
            progress: &tally,
            date: &date::today(),
        })
    };
    let store = arguments.study.out.join(STORE_FILE);
    let comparison = interruptible(&cancel, work, || super::reproduce::report_stop(&tally, &store))?;
    if arguments.form.json {
        session.output.json(&comparison.to_json())?;
    } else {
        print(&comparison, session)?;
    }
    let troubled = comparison.troubled();
    for (table, protocol, workload, error) in &troubled {
        print_error(&format!("{protocol} on {workload} ({}): {error}", table.system), None);
    }
    if comparison.open > 0 {
        // If stderr is closed, nobody is left who could be told.
        let _ = writeln!(
            io::stderr(),
            "{} runs are still open\n\nhint: the same command goes on from there",
            comparison.open
        );
    }
    Ok(Verdict::of(troubled.is_empty()))
}

/// The selection that the arguments ask for, with every name checked.
fn selection(registry: &Registry, arguments: &Arguments) -> Result<Selection, Failure> {
    let machines = machines_of_papers(registry)?;
    let systems = match arguments.systems.as_slice() {
        [] => machines.keys().cloned().collect(),
        [one] if one == ALL => registry.system_names().into_iter().map(str::to_owned).collect(),
        names => names.to_vec(),
    };
    let known = registry.system_names();
    for system in &systems {
        if !chorus_system::is_path(system) && !known.contains(&system.as_str()) {
            return Err(Failure::bad_input(unknown("system", system, &known)));
        }
    }
    let order = |system: &String| known.iter().position(|name| name == system).unwrap_or(known.len());
    let mut systems = systems;
    systems.sort_by_key(order);
    systems.dedup();
    for protocol in arguments.protocols.iter().chain(&arguments.baseline) {
        registry.expect_protocol(protocol).map_err(Failure::bad_input)?;
    }
    for workload in &arguments.workloads {
        jobs::workload(registry, workload).map_err(Failure::bad_input)?;
    }
    let baselines = match &arguments.baseline {
        Some(baseline) => systems.iter().map(|system| (system.clone(), baseline.clone())).collect(),
        None => machines,
    };
    Ok(Selection {
        systems,
        protocols: chosen(&arguments.protocols, registry.protocol_names()),
        workloads: chosen(&arguments.workloads, registry.workload_names())
            .into_iter()
            .chain(arguments.workloads.iter().filter(|name| chorus_program::is_path(name)).cloned())
            .collect(),
        baselines,
        scale: arguments.scale.scale,
    })
}

/// The names of `all` that are asked for, in the order of `all`. If none is asked for, these are all.
fn chosen(asked: &[String], all: Vec<&'static str>) -> Vec<String> {
    let all = all.into_iter();
    all.filter(|name| asked.is_empty() || asked.iter().any(|asked| asked == name)).map(str::to_owned).collect()
}

/// The machines of the papers' headline figures, each with its baseline. The baseline is the protocol that the figure
/// is relative to. A machine without that protocol has the first protocol that the figure shows on it.
fn machines_of_papers(registry: &Registry) -> Result<BTreeMap<String, String>, Failure> {
    let mut machines = BTreeMap::new();
    for name in registry.experiment_names() {
        let paper = paper::load(registry, name)?;
        let Some(figure) = paper.experiment.headline() else { continue };
        for run in paper.experiment.runs_of(figure, Scale::Quick) {
            let is_baseline = paper.experiment.baseline_of(figure, &run.workload) == Some(&run.protocol);
            if is_baseline || !machines.contains_key(&run.system) {
                machines.insert(run.system, run.protocol);
            }
        }
    }
    Ok(machines)
}

fn print(comparison: &Comparison, session: &mut Session) -> Result<(), Failure> {
    for machine in &comparison.tables {
        session.output.line(&format!("{}: time relative to {}\n", machine.system, machine.baseline))?;
        for columns in chunks(&machine.protocols) {
            session.output.table(&times(machine, columns))?;
            session.output.line("")?;
        }
    }
    let Comparison { ran, reused, store, page, csv, index, .. } = comparison;
    session.output.line(&format!("{ran} runs made, {reused} there already, kept in {}", store.display()))?;
    session.output.line(&format!("report: {}", page.display()))?;
    session.output.line(&format!("data:   {}", csv.display()))?;
    session.output.line(&format!("index:  {}", index.display()))
}

/// The ranges of columns that fit beside each other on the terminal, one range per table.
fn chunks(protocols: &[String]) -> Vec<Range<usize>> {
    /// Columns for the names of workloads.
    const NAMES: usize = 16;
    /// Columns of a ratio.
    const RATIO: usize = 5;
    let available = usize::from(width()).saturating_sub(NAMES);
    let mut chunks: Vec<Range<usize>> = Vec::new();
    let mut used = available;
    for (index, protocol) in protocols.iter().enumerate() {
        let needed = protocol.chars().count().max(RATIO) + 3;
        match chunks.last_mut().filter(|_| used + needed <= available) {
            Some(chunk) => chunk.end = index + 1,
            None => {
                chunks.push(index..index + 1);
                used = 0;
            }
        }
        used += needed;
    }
    chunks
}

/// A table with a row for each workload that ran at all, and a column for each of these protocols.
fn times(machine: &MachineTable, columns: Range<usize>) -> Table {
    let mut times = table([]);
    times.set_header(std::iter::once("workload").chain(machine.protocols[columns.clone()].iter().map(String::as_str)));
    for row in machine.rows.iter().filter(|row| row.cells.iter().any(|cell| *cell != Cell::NotRun)) {
        let cells =
            row.cells.iter().enumerate().filter(|(column, _)| columns.contains(column)).map(|(column, cell)| {
                let ratio = machine.ratio(row, column, Quantity::Time);
                ratio.map_or_else(|| cell.status().to_owned(), |ratio| format!("{ratio:.2}"))
            });
        times.add_row(std::iter::once(row.workload.clone()).chain(cells));
    }
    let shown = columns.len();
    let means = columns.map(|column| match machine.common_average(column, Quantity::Time) {
        Average { mean: Some(mean), .. } => format!("{mean:.2}"),
        Average { mean: None, .. } => "–".to_owned(),
    });
    times.add_row(std::iter::once("common GM".to_owned()).chain(means));
    align_right(&mut times, 1..=shown);
    times
}
