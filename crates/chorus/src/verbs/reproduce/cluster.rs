//! `chorus reproduce` by many processes: `--slurm`, `--shard` and `--plan`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use chorus_lab::cluster::{
    self, Cut, Options, Plan, PlannedRun, Planning, Program, Shard, State, TaskRequest, TaskResult, find_or_write,
    plans, run_task, seconds_of, status,
};
use chorus_lab::paper::Paper;
use chorus_lab::process::Process;
use chorus_lab::reproduce::runs_of;
use chorus_lab::run::RunSpec;
use chorus_lab::simulate::{build, simulate};
use chorus_lab::store::Store;
use clap::Args;
use serde_json::json;

use super::{Arguments, report_stop};
use crate::failure::{Failure, Verdict, print_error, print_note};
use crate::interrupt::{Tally, interruptible};
use crate::session::Session;
use crate::verbs::collect;

/// The length of tasks for Slurm where neither `--task-time` nor `--time` says how long they are.
const TASK_SECONDS: u64 = 30 * 60;

/// The pauses between two looks at the tasks of a job: the first one, and the longest one.
const LOOKS: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(30)];

/// Arguments for runs by many processes.
#[derive(Debug, Args)]
#[command(next_help_heading = "Clusters")]
pub struct ClusterArguments {
    /// Give the runs that are missing to Slurm, as a job array. Runs that it has already are left out. `--jobs` is the
    /// number of simulations at the same time in each task, and of its cores; by default 1.
    #[arg(long, conflicts_with_all = ["estimate", "shard", "plan", "status"])]
    pub slurm: bool,
    /// Wait until Slurm is done, merge the shards, and go on as if the runs had been made here.
    #[arg(long, requires = "slurm")]
    pub wait: bool,
    /// Partition that the job goes to.
    #[arg(long, value_name = "NAME", requires = "slurm")]
    partition: Option<String>,
    /// Longest time of a task, in Slurm's forms: minutes, or HH:MM:SS, or D-HH:MM.
    #[arg(long, value_name = "TIME", requires = "slurm", value_parser = time)]
    time: Option<String>,
    /// Memory of a task, as Slurm writes it: 4G.
    #[arg(long, value_name = "SIZE", requires = "slurm")]
    mem: Option<String>,
    /// Most tasks at the same time.
    #[arg(long, value_name = "N", requires = "slurm", value_parser = clap::value_parser!(u32).range(1..))]
    array_limit: Option<u32>,
    /// Further argument of `sbatch`, as in --sbatch-arg=--account=lab. May be given several times.
    #[arg(long, value_name = "ARG", requires = "slurm", allow_hyphen_values = true)]
    sbatch_arg: Vec<String>,
    /// Time that a task should take by the estimate, in Slurm's forms. By default half of --time, or 30 minutes.
    #[arg(long, value_name = "TIME", requires = "slurm", value_parser = time)]
    task_time: Option<String>,
    /// Make one part of the runs here and keep it in a shard of its own, as in 3/16. For other schedulers than Slurm.
    #[arg(long, value_name = "I/N")]
    pub shard: Option<Shard>,
    /// Make the runs of this plan instead of planning any: those of --shard, or all tasks in turn.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["papers", "headline", "seeds", "jitter", "whole_inputs", "estimate", "status"])]
    pub plan: Option<PathBuf>,
    /// Run nothing. Say which tasks wait, run, are done or have failed, and why.
    #[arg(long, conflicts_with_all = ["papers", "estimate", "shard"])]
    pub status: bool,
}

fn time(text: &str) -> Result<String, String> {
    seconds_of(text).map(|_| text.to_owned())
}

impl ClusterArguments {
    /// The processor time that a task for Slurm should take.
    fn task_seconds(&self) -> u64 {
        let seconds = |text: &String| seconds_of(text).ok();
        let half = || self.time.as_ref().and_then(seconds).map(|seconds| (seconds / 2).max(1));
        self.task_time.as_ref().and_then(seconds).or_else(half).unwrap_or(TASK_SECONDS)
    }

    fn options(&self, jobs: usize) -> Options {
        Options {
            partition: self.partition.clone(),
            time: self.time.clone(),
            mem: self.mem.clone(),
            array_limit: self.array_limit,
            further: self.sbatch_arg.clone(),
            jobs,
        }
    }
}

/// All runs that are asked for.
fn runs(arguments: &Arguments, papers: &[Paper]) -> Vec<RunSpec> {
    let of_paper = |paper| runs_of(paper, arguments.headline_only(), arguments.scale.scale);
    papers.iter().flat_map(of_paper).collect()
}

/// A plan for the runs that are asked for, as `make` finds or writes it.
fn plan(
    arguments: &Arguments,
    papers: &[Paper],
    session: &Session,
    under_way: &BTreeSet<PlannedRun>,
    cut: Cut,
    make: fn(&Planning<'_>) -> Result<Option<Plan>, cluster::ClusterError>,
) -> Result<Option<Plan>, Failure> {
    let recorded: Vec<_> = papers.iter().flat_map(|paper| paper.recorded.records()).collect();
    Ok(make(&Planning {
        registry: session.registry,
        out: &arguments.study.out,
        build: &build(),
        specs: &runs(arguments, papers),
        recorded: &recorded,
        under_way,
        cut,
        program: &Program::this()?,
    })?)
}

/// Makes one part of the runs that are asked for.
pub fn run_shard(
    arguments: &Arguments,
    papers: &[Paper],
    shard: Shard,
    session: &mut Session,
) -> Result<Verdict, Failure> {
    match plan(arguments, papers, session, &BTreeSet::new(), Cut::Into(shard.of), find_or_write)? {
        Some(plan) => run_tasks(arguments, &plan, [shard.part], session),
        None => {
            session.output.line("nothing is left to run")?;
            Ok(Verdict::Good)
        }
    }
}

/// Makes the runs of a plan that exists: one task, or all of them in turn.
pub fn run_plan(arguments: &Arguments, folder: &Path, session: &mut Session) -> Result<Verdict, Failure> {
    let plan = Plan::read(folder)?;
    match arguments.cluster.shard {
        Some(Shard { part, of }) => {
            plan.task(part, of)?;
            run_tasks(arguments, &plan, [part], session)
        }
        None => run_tasks(arguments, &plan, 1..=plan.tasks.len(), session),
    }
}

fn run_tasks(
    arguments: &Arguments,
    plan: &Plan,
    tasks: impl IntoIterator<Item = usize> + Send,
    session: &mut Session,
) -> Result<Verdict, Failure> {
    let registry = session.registry;
    let (cancel, build) = (AtomicBool::new(false), build());
    let tally = Tally::new(session.matrix_progress());
    let run = |task| {
        // Attempts at a task write to one log, one after the other.
        print_note(&format!("task {task} of {} of {}: {}", plan.tasks.len(), plan.folder.display(), Process::this()));
        let made = run_task(&TaskRequest {
            registry,
            plan,
            task,
            jobs: arguments.study.jobs(),
            runner: &|spec| simulate(registry, spec, false),
            build: &build,
            cancel: &cancel,
            progress: &tally,
        });
        made.map(|made| (task, made))
    };
    let work = || tasks.into_iter().map(run).collect::<Result<Vec<_>, _>>();
    let made = interruptible(&cancel, work, || report_stop(&tally, &plan.tasks_folder()))?;
    for (task, TaskResult { attempt, ran, there, .. }) in &made {
        let folder = plan.tasks_folder();
        if arguments.form.json {
            let plan = plan.folder.display().to_string();
            session.output.json_line(&json!({
                "schema_version": 1, "plan": plan, "task": task, "attempt": attempt, "ran": ran, "reused": there,
            }))?;
        } else {
            let text = format!("task {task}: {ran} runs made, {there} there already, kept in {}", folder.display());
            session.output.line(&text)?;
        }
    }
    Ok(Verdict::of(made.iter().all(|(_, made)| made.unsettled().is_none())))
}

/// Says so if shards have runs that the store does not have, before these are made again.
pub fn remind(store: &Store, out: &Path) {
    // A plan that cannot be read is no reason to make no runs.
    let finished = plans(out).and_then(|plans| {
        let unfinished = cluster::unfinished(store, &plans)?;
        unfinished.into_iter().map(|plan| status(store, plan)).collect::<Result<Vec<_>, _>>()
    });
    let shards = finished.is_ok_and(|plans| plans.iter().any(|plan| plan.tasks.iter().any(|task| task.made > 0)));
    if shards {
        print_note(&format!("shards have runs that the store lacks: `chorus collect {}` takes them", out.display()));
    }
}

/// Gives the missing runs to Slurm. Returns the plan, or nothing if there is none to wait for.
pub fn submit(
    arguments: &Arguments,
    papers: &[Paper],
    store: &Store,
    session: &mut Session,
) -> Result<Option<Plan>, Failure> {
    let out = &arguments.study.out;
    // Two that submit at the same time would submit the same runs.
    let _hold = store.hold()?;
    let earlier = plans(out)?;
    if !earlier.is_empty() {
        collect::merge(store, &earlier)?.report(false)?;
    }
    let mut under_way = BTreeSet::new();
    for plan in cluster::unfinished(store, &earlier)? {
        under_way.extend(status(store, plan)?.under_way(plan).cloned());
    }
    if !under_way.is_empty() {
        print_note(&format!("{} runs wait or are under way already", under_way.len()));
    }
    let jobs = arguments.study.jobs().max(1);
    let cut = Cut::Lasting((arguments.cluster.task_seconds() * jobs as u64) as f64);
    let Some(plan) = plan(arguments, papers, session, &under_way, cut, cluster::write)? else {
        session.output.line("nothing is left to submit")?;
        return Ok(None);
    };
    let submission = cluster::submit(&plan, &arguments.cluster.options(jobs))?;
    let runs: usize = plan.tasks.iter().map(|task| task.runs.len()).sum();
    let longest = plan.tasks.iter().map(|task| task.seconds / jobs as f64).fold(0.0, f64::max);
    let folder = plan.folder.display().to_string();
    if arguments.form.json && !arguments.cluster.wait {
        session.output.json(&json!({
            "schema_version": 1, "job": submission.job, "plan": folder, "tasks": plan.tasks.len(), "runs": runs,
            "longest_s": longest, "command": submission.command,
        }))?;
    } else if !arguments.form.json {
        let longest = chorus_lab::estimate::duration(longest);
        let tasks = plan.tasks.len();
        session.output.line(&format!(
            "job {}: {runs} runs in {tasks} tasks, the longest about {longest}, in {folder}",
            submission.job
        ))?;
    }
    Ok(Some(plan))
}

/// Waits until no task of a plan waits or runs, and merges its shards. Says which tasks have failed.
pub fn wait(plan: &Plan, store: &Store, session: &Session) -> Result<Verdict, Failure> {
    let activity = session.activity(Some(plan.tasks.len()));
    let mut ended = BTreeSet::new();
    let mut was_over = false;
    let mut pause = LOOKS[0];
    let last = loop {
        let now = status(store, plan)?;
        let [queued, running] = [State::Queued, State::Running].map(|state| now.count(state));
        activity.begin(format!("{running} running, {queued} queued"));
        for task in now.tasks.iter().filter(|task| matches!(task.state, State::Done | State::Failed)) {
            if ended.insert(task.task) {
                activity.finish(&format!(
                    "task {}: {}; {running} running, {queued} queued",
                    task.task,
                    task.state.name()
                ));
            }
        }
        // A disk that machines share may show the last runs a little later than Slurm shows the end.
        if now.is_over() && (was_over || now.count(State::Failed) == 0) {
            break now;
        }
        was_over = now.is_over();
        std::thread::sleep(pause);
        pause = (pause * 3 / 2).min(LOOKS[1]);
    };
    drop(activity);
    let merged = collect::merge(store, std::slice::from_ref(plan))?.report(false)?;
    for task in last.tasks.iter().filter(|task| task.state == State::Failed) {
        let reason = task.reason.as_deref().unwrap_or("it failed");
        let log = task.log.as_ref().map_or_else(String::new, |log| format!("\nhint: its log is {}", log.display()));
        print_error(&format!("task {}: {} of {} runs made: {reason}{log}", task.task, task.made, task.runs), None);
    }
    Ok(if last.count(State::Failed) > 0 { Verdict::CheckFailed } else { merged })
}
