//! `chorus reproduce`: makes the runs, figures and claims of papers, and a report about them.

mod cluster;
mod estimate;
mod status;
mod verdicts;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use chorus_lab::checkpoint::simulate_kept;
use chorus_lab::figure::{Bar, FigureData, Group};
use chorus_lab::paper::{self, Paper};
use chorus_lab::recorded::Recorded;
use chorus_lab::reproduce::{ReproducedPaper, Reproduction, Request, STORE_FILE, reproduce};
use chorus_lab::setup;
use chorus_lab::simulate::{build, simulate};
use chorus_lab::store::Store;
use chorus_proof::facts;
use chorus_registry::Registry;
use clap::Args;
use comfy_table::Table;

use self::cluster::ClusterArguments;
use super::arguments::{JsonArgument, ScaleArgument, StudyArguments};
use crate::checkpoints::{period, tell_failure};
use crate::failure::{Failure, Verdict, print_error};
use crate::interrupt::{Tally, interruptible};
use crate::output::{align_right, count, ratio, table};
use crate::session::Session;
use crate::{date, definitions};

const EXAMPLES: &str = "\
Examples:
  chorus reproduce                            the headline figure of each paper
  chorus reproduce hmg                        everything about one paper
  chorus reproduce rec cpelide                everything about two
  chorus reproduce tc --seeds 5 --jitter 4    with error bars, and significance beside verdicts
  chorus reproduce tc --scale paper --jobs 8 --out paper-results
  chorus reproduce rec --headline --scale paper --checkpoint-every 10min
  chorus reproduce --scale paper --estimate   how long that will take, before it runs
  chorus reproduce my-experiment.toml --json
  chorus reproduce rec --scale paper --slurm --time 4:00:00 --mem 8G
  chorus reproduce rec --scale paper --shard 3/16    for other schedulers
  chorus reproduce --status                   how the tasks of a cluster fare

Finished runs are kept at once: the same command goes on where it was stopped, and repeats nothing.
`chorus collect` merges what the tasks of a cluster have made.";

/// The folder of checkpoints beside the store.
const CHECKPOINTS: &str = "checkpoints";

/// The most seeds that are accepted: far more than an interval needs.
const SEEDS_MAX: u64 = 1_000;

/// The most cycles by which memory latency may vary, as for `timing.jitter`.
const JITTER_MAX: i64 = 1_000;

/// Arguments of `chorus reproduce`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Papers by name, or paths of experiment files. By default the headline figure of each paper is made.
    papers: Vec<String>,
    #[command(flatten)]
    scale: ScaleArgument,
    #[command(flatten)]
    study: StudyArguments,
    /// Make the headline figure of each paper alone. Without names of papers, this is the default.
    #[arg(long)]
    headline: bool,
    /// Make every run with so many seeds, from 1 on, instead of the experiment's own. Bars and claims then have a mean
    /// and a 95 % interval.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=SEEDS_MAX), allow_negative_numbers = true)]
    seeds: Option<u64>,
    /// Let every read of memory take up to so many core cycles longer, by the seed (`timing.jitter`), so that runs of
    /// several seeds differ as those of real machines do.
    #[arg(long, value_name = "CYCLES", value_parser = clap::value_parser!(u32).range(0..=JITTER_MAX), allow_negative_numbers = true)]
    jitter: Option<u32>,
    /// Give every workload its own input, also where the experiment has a smaller one because the runs take very long.
    #[arg(long)]
    whole_inputs: bool,
    /// Run nothing. Say how many runs are missing, and how long they will take by what earlier runs cost.
    #[arg(long)]
    estimate: bool,
    /// Write the results of headline figures to `DIR/NAME/results.csv`, where pages at other scales show them. Rows of
    /// other runs stay. After Ctrl-C, the finished runs are written.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["estimate", "seeds", "jitter"])]
    record: Option<PathBuf>,
    /// Write the state of every run to `DIR/checkpoints` every so often, as 90s, 10min or 2h. A run that was killed
    /// goes on from there when the same command is given again. It can be written only between kernels.
    #[arg(long, value_name = "TIME", value_parser = period)]
    checkpoint_every: Option<Duration>,
    #[command(flatten)]
    form: JsonArgument,
    #[command(flatten)]
    cluster: ClusterArguments,
}

impl Arguments {
    fn headline_only(&self) -> bool {
        self.headline || self.papers.is_empty()
    }
}

pub fn run(arguments: &Arguments, session: &mut Session) -> Result<Verdict, Failure> {
    if arguments.cluster.status {
        return status::print(&arguments.study.out, arguments.form.json, session);
    }
    match &arguments.cluster.plan {
        Some(plan) => cluster::run_plan(arguments, plan, session),
        None => run_papers(arguments, &papers(arguments, session)?, session),
    }
}

/// The papers that are asked for, with the seeds and the jitter that are asked for.
fn papers(arguments: &Arguments, session: &Session) -> Result<Vec<Paper>, Failure> {
    let asked: Vec<&str> = match arguments.papers.as_slice() {
        [] => session.registry.experiment_names(),
        papers => papers.iter().map(String::as_str).collect(),
    };
    let mut papers = asked.iter().map(|name| paper::load(session.registry, name)).collect::<Result<Vec<_>, _>>()?;
    if arguments.seeds.is_some() || arguments.jitter.is_some() {
        for paper in &mut papers {
            paper.experiment.repeat(arguments.seeds, arguments.jitter);
            // Results at other scales were recorded for the seeds of the experiment.
            paper.recorded = Recorded::default();
        }
    }
    if arguments.whole_inputs {
        papers.iter_mut().for_each(|paper| paper.experiment.take_whole_inputs());
    }
    Ok(papers)
}

fn run_papers(arguments: &Arguments, papers: &[Paper], session: &mut Session) -> Result<Verdict, Failure> {
    if let Some(shard) = arguments.cluster.shard {
        return cluster::run_shard(arguments, papers, shard, session);
    }
    // A directory that cannot be written is reported before anything is computed.
    let store = Store::open(&arguments.study.out.join(STORE_FILE))?;
    if arguments.estimate {
        estimate::print(arguments, papers, &store, session)?;
        return Ok(Verdict::Good);
    }
    if arguments.cluster.slurm {
        let plan = cluster::submit(arguments, papers, &store, session)?;
        let verdict = match plan.filter(|_| arguments.cluster.wait) {
            Some(plan) => cluster::wait(&plan, &store, session)?,
            None => Verdict::Good,
        };
        if !arguments.cluster.wait || verdict != Verdict::Good {
            return Ok(verdict);
        }
    }
    cluster::remind(&store, &arguments.study.out);
    let cancel = AtomicBool::new(false);
    let tally = Tally::new(session.matrix_progress());
    let work = || make(session.registry, arguments, papers, &store, &cancel, &tally);
    let record = || record(session.registry, arguments, papers, &store);
    let stopped = || {
        report_stop(&tally, store.path());
        if let Err(failure) = record() {
            failure.print();
        }
    };
    let reproduction = interruptible(&cancel, work, stopped)?;
    record()?;
    if arguments.form.json {
        session.output.json(&reproduction.to_json())?;
    } else {
        print(&reproduction, session)?;
    }
    let troubled = reproduction.troubled();
    for record in &troubled {
        let trouble = record.trouble().unwrap_or_default();
        print_error(&format!("{}: {}: {trouble}", record.spec, record.status()), None);
    }
    Ok(Verdict::of(troubled.is_empty()))
}

fn make(
    registry: &'static Registry,
    arguments: &Arguments,
    papers: &[Paper],
    store: &Store,
    cancel: &AtomicBool,
    tally: &Tally,
) -> Result<Reproduction, Failure> {
    let checkpoints = arguments.study.out.join(CHECKPOINTS);
    let definitions = definitions::all(registry);
    let definitions: Vec<_> = definitions.iter().map(definitions::as_metric).collect();
    Ok(reproduce(&Request {
        registry,
        papers,
        headline_only: arguments.headline_only(),
        scale: arguments.scale.scale,
        out: &arguments.study.out,
        jobs: arguments.study.jobs(),
        runner: &|spec| match arguments.checkpoint_every {
            None => simulate(registry, spec, false),
            Some(every) => simulate_kept(registry, spec, &checkpoints, every, &tell_failure),
        },
        build: &build(),
        cancel,
        progress: tally,
        date: &date::today(),
        definitions: &definitions,
        facts: &facts::count(registry, papers, store, &build())?,
    })?)
}

/// Keeps the results of headline figures beside the experiments, if that was asked for. Rows of other runs stay as they
/// are.
fn record(registry: &'static Registry, arguments: &Arguments, papers: &[Paper], store: &Store) -> Result<(), Failure> {
    let Some(directory) = &arguments.record else { return Ok(()) };
    let scale = arguments.scale.scale;
    for paper in papers {
        let mut records = Vec::new();
        for spec in
            paper.experiment.headline().into_iter().flat_map(|headline| paper.experiment.runs_of(headline, scale))
        {
            let hash = setup::resolve(registry, &spec)?.config_hash;
            records.extend(store.find(&spec, &hash, &build())?);
        }
        let newer = Recorded::of(&records);
        let directory = directory.join(&paper.experiment.name);
        let path = directory.join("results.csv");
        let older = match fs::read_to_string(&path) {
            Ok(text) => Recorded::read(&path.display().to_string(), &text)?,
            Err(_) => Recorded::default(),
        };
        fs::create_dir_all(&directory)
            .map_err(|error| Failure::bad_input(format!("cannot write {}: {error}", directory.display())))?;
        older.updated(newer).write(&path)?;
    }
    Ok(())
}

/// Says after Ctrl-C how many runs are kept, and how to go on.
pub fn report_stop(tally: &Tally, store: &Path) {
    tally.stop();
    let (kept, total) = tally.counts();
    let text = match total {
        0 => "\nstopped before the first run\n".to_owned(),
        _ => format!(
            "\nstopped: {kept} of {total} runs are kept in {}\n\nhint: the same command goes on from there\n",
            store.display()
        ),
    };
    // If stderr is closed, nobody is left who could be told.
    let _ = io::stderr().write_all(text.as_bytes());
}

fn print(reproduction: &Reproduction, session: &mut Session) -> Result<(), Failure> {
    for paper in &reproduction.papers {
        print_paper(paper, session)?;
    }
    let Reproduction { ran, reused, store, .. } = reproduction;
    session.output.line(&format!("{ran} runs made, {reused} there already, kept in {}", store.display()))?;
    for page in reproduction.papers.iter().filter_map(|paper| paper.page.as_ref()) {
        session.output.line(&format!("report: {}", page.display()))?;
    }
    match &reproduction.index {
        Some(index) => session.output.line(&format!("index:  {}", index.display())),
        None => Ok(()),
    }
}

fn print_paper(paper: &ReproducedPaper, session: &mut Session) -> Result<(), Failure> {
    session.output.line(&format!("{}: {}\n", paper.name, paper.title))?;
    verdicts::print_headlines(paper, session)?;
    for input in &paper.smaller_inputs {
        session.output.paragraph(&input.sentence(paper.scale))?;
        session.output.line("")?;
    }
    for figure in &paper.figures {
        print_figure(figure, session)?;
    }
    verdicts::print_claims(paper, session)?;
    verdicts::print_trends(paper, session)?;
    verdicts::print_predictions(paper, session)?;
    Ok(())
}

fn or_dash(value: Option<f64>) -> String {
    value.map_or_else(|| "–".to_owned(), ratio)
}

fn print_figure(figure: &FigureData, session: &mut Session) -> Result<(), Failure> {
    session.output.line(&format!("{} ({})", figure.title, figure.axis))?;
    let lines = figure.lines_of_means();
    session.output.table(&if lines.is_empty() { groups(figure) } else { lines_of_means(figure, &lines) })?;
    for (series, coefficient) in figure.series.iter().zip(&figure.correlations) {
        let across = figure.swept.as_deref().unwrap_or_default();
        let text = format!("correlation of {} with the {across}: {}", series.label, or_dash(*coefficient));
        session.output.line(&text)?;
    }
    session.output.line("")
}

/// A table with a row for each workload and each mean.
fn groups(figure: &FigureData) -> Table {
    let mut groups = table([]);
    let labels = figure.series.iter().map(|series| series.full_label());
    let marked = figure.markers.iter().map(|markers| markers.label.clone());
    groups.set_header(std::iter::once("workload".to_owned()).chain(labels).chain(marked).collect::<Vec<_>>());
    for (index, group) in figure.workloads.iter().chain(&figure.means).enumerate() {
        let at = figure.markers.iter().map(|markers| markers.at.get(index).copied().flatten());
        let at = at.map(|at| at.map_or_else(|| "–".to_owned(), place));
        groups.add_row(std::iter::once(group.label.clone()).chain(heights(group)).chain(at).collect::<Vec<_>>());
    }
    align_right(&mut groups, 1..=figure.series.len() + 1);
    groups
}

/// A table with a row per line of the figure, and a column per point.
fn lines_of_means(figure: &FigureData, lines: &[Group]) -> Table {
    let mut rows = table([]);
    let points = figure.points();
    let labels = points.iter().map(|series| series.label.clone());
    rows.set_header(std::iter::once(figure.swept.clone().unwrap_or_default()).chain(labels).collect::<Vec<_>>());
    for line in lines {
        rows.add_row(std::iter::once(line.label.clone()).chain(heights(line)).collect::<Vec<_>>());
    }
    align_right(&mut rows, 1..=points.len());
    rows
}

fn heights(group: &Group) -> impl Iterator<Item = String> {
    group.bars.iter().enumerate().map(|(index, bar)| match (bar, group.interval(index)) {
        (Bar::Parts(parts), None) => ratio(parts.iter().sum()),
        (Bar::Parts(parts), Some(interval)) => format!("{}±{:.3}", ratio(parts.iter().sum()), interval.half()),
        (Bar::Missing(why), _) => why.clone(),
    })
}

/// The place of a marker on an axis: values below 100 are shares or ratios, larger ones are counts.
fn place(at: f64) -> String {
    if at < 100.0 { ratio(at) } else { count(at as u64) }
}
