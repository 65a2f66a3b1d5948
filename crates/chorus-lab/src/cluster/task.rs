//! One attempt at a task of a plan: its runs are made and kept in a shard of its own.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;

use chorus_registry::Registry;

use super::attempt::LiveAttempt;
use super::{Attempt, ClusterError, Plan, PlannedRun, attempts};
use crate::matrix::Lab;
use crate::progress::Progress;
use crate::run::{Build, Record, RunError, RunResult, RunSpec, Runner};
use crate::store::{Store, StoreError};

/// A task, and everything that is needed to make its runs.
#[derive(Clone, Copy)]
pub struct TaskRequest<'a> {
    /// Everything that can be named.
    pub registry: &'a Registry,
    /// The plan that has the task.
    pub plan: &'a Plan,
    /// The number of the task, from 1 on.
    pub task: usize,
    /// The number of runs at the same time; 0 means one for each core.
    pub jobs: usize,
    /// The function that makes one run.
    pub runner: &'a Runner<'a>,
    /// The build of Chorus that is running.
    pub build: &'a Build,
    /// The caller sets this flag to stop early.
    pub cancel: &'a AtomicBool,
    /// The display of progress.
    pub progress: &'a dyn Progress,
}

/// The result of an attempt.
#[derive(Clone, Debug)]
pub struct TaskResult {
    /// The number of the attempt, from 1 on.
    pub attempt: u64,
    /// The number of runs that were made now.
    pub ran: usize,
    /// The number of runs that earlier attempts had made.
    pub there: usize,
    /// The runs of this attempt that gave no result or a wrong one.
    pub troubled: Vec<Record>,
}

impl TaskResult {
    /// A run that met a defect of Chorus, if there is one. It counts as not made.
    pub fn unsettled(&self) -> Option<&Record> {
        self.troubled.iter().find(|record| !record.is_settled())
    }
}

/// Makes the runs of a task that no earlier attempt has finished.
pub fn run_task(request: &TaskRequest<'_>) -> Result<TaskResult, ClusterError> {
    let TaskRequest { plan, task, .. } = *request;
    plan.expect_build(request.build)?;
    let runs = &plan.task(task, plan.tasks.len())?.runs;
    let live = LiveAttempt::begin(plan, task)?;
    let result = attempt(request, &live, runs);
    live.end(match &result {
        Ok(made) => made.unsettled().map(|record| format!("{}: {}", record.spec, record.trouble().unwrap_or_default())),
        Err(error) => Some(error.to_string()),
    });
    result
}

fn attempt(request: &TaskRequest<'_>, live: &LiveAttempt, runs: &[PlannedRun]) -> Result<TaskResult, ClusterError> {
    let made = made(request.plan, runs, &attempts(request.plan, request.task)?);
    let open: Vec<RunSpec> = runs.iter().filter(|run| !made.contains(run)).map(|run| run.spec.clone()).collect();
    let there = runs.len() - open.len();
    let progress = Noted { shown: request.progress, live, total: runs.len(), there };
    if open.is_empty() {
        progress.begin(0, 0);
        progress.end(false);
        return Ok(TaskResult { attempt: live.number, ran: 0, there, troubled: Vec::new() });
    }
    let store = Store::create_shard(&live.shard)?;
    let lab = Lab {
        registry: request.registry,
        store: &store,
        runner: request.runner,
        build: request.build,
        jobs: request.jobs,
        cancel: request.cancel,
        progress: &progress,
    };
    let matrix = lab.run_all(&open)?;
    let troubled = matrix.records.into_iter().filter(|record| record.trouble().is_some()).collect();
    Ok(TaskResult { attempt: live.number, ran: matrix.ran, there, troubled })
}

/// The runs of a task that attempts have finished. A shard that cannot be read counts as empty: `collect` says what is
/// wrong with it.
pub(super) fn made(plan: &Plan, runs: &[PlannedRun], attempts: &[Attempt]) -> BTreeSet<PlannedRun> {
    let shards = attempts.iter().filter_map(Attempt::open_shard).flatten();
    shards.flat_map(|shard| made_in(&shard, plan, runs)).collect()
}

/// The runs that a store has.
pub(super) fn made_in(store: &Store, plan: &Plan, runs: &[PlannedRun]) -> BTreeSet<PlannedRun> {
    let found = |run: &PlannedRun| store.find(&run.spec, &run.config_hash, &plan.build);
    let is_made = |run: &&PlannedRun| found(run).is_ok_and(|found| found.is_some_and(|record| record.is_settled()));
    runs.iter().filter(is_made).cloned().collect()
}

/// Notes in the attempt's file which runs are under way, and passes all progress on.
struct Noted<'a> {
    shown: &'a dyn Progress,
    live: &'a LiveAttempt,
    total: usize,
    there: usize,
}

impl Progress for Noted<'_> {
    fn begin(&self, _total: usize, _reused: usize) {
        self.shown.begin(self.total, self.there);
    }

    fn started(&self, spec: &RunSpec) {
        self.live.started(&spec.to_string());
        self.shown.started(spec);
    }

    fn finished(&self, result: &RunResult) {
        self.live.finished(&result.spec.to_string());
        self.shown.finished(result);
    }

    fn failed(&self, spec: &RunSpec, error: &RunError) {
        self.live.finished(&spec.to_string());
        self.shown.failed(spec, error);
    }

    fn waits(&self, spec: &RunSpec, error: &StoreError) {
        self.shown.waits(spec, error);
    }

    fn end(&self, cancelled: bool) {
        self.shown.end(cancelled);
    }
}
