//! How the tasks of plans fare: by what they have written, and by what Slurm says where there is one.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::slurm::{self, SlurmTask};
use super::task::{made, made_in};
use super::{Attempt, ClusterError, Fate, Plan, PlannedRun, all_attempts};
use crate::store::Store;

/// The lines of a log that a status shows.
const LAST_LINES: usize = 5;

/// The bytes at the end of a log that are looked at.
const LAST_BYTES: u64 = 4096;

/// The states of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Nobody works on it yet.
    Queued,
    /// A process works on it.
    Running,
    /// All its runs are made.
    Done,
    /// It has ended, and some of its runs are not made.
    Failed,
}

impl State {
    /// Every state, in the order in which a task goes through them.
    pub const ALL: [State; 4] = [State::Queued, State::Running, State::Done, State::Failed];

    /// The word for this state.
    pub fn name(self) -> &'static str {
        match self {
            State::Queued => "queued",
            State::Running => "running",
            State::Done => "done",
            State::Failed => "failed",
        }
    }
}

/// How a task fares.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TaskStatus {
    /// The number of the task, from 1 on.
    pub task: usize,
    /// Its state in one word.
    pub state: State,
    /// The reason why it waits, or why it failed.
    pub reason: Option<String>,
    /// The number of its runs.
    pub runs: usize,
    /// The number of its runs that are made.
    pub made: usize,
    /// The number of attempts at it.
    pub attempts: usize,
    /// The file with the last words of a task that failed, if there is one.
    pub log: Option<PathBuf>,
    /// The last lines of that file.
    pub last_lines: Vec<String>,
}

/// How the tasks of a plan fare.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlanStatus {
    /// The folder of the plan.
    pub folder: PathBuf,
    /// The time at which it was planned, in seconds since 1970.
    pub planned_at: u64,
    /// The number of its job, if Slurm has one.
    pub job: Option<String>,
    /// The tasks, in order.
    pub tasks: Vec<TaskStatus>,
}

impl PlanStatus {
    /// The number of tasks in a state.
    pub fn count(&self, state: State) -> usize {
        self.tasks.iter().filter(|task| task.state == state).count()
    }

    /// The reasons why tasks wait, as far as Slurm tells them.
    pub fn reasons_to_wait(&self) -> BTreeSet<&str> {
        let queued = self.tasks.iter().filter(|task| task.state == State::Queued);
        queued.filter_map(|task| task.reason.as_deref()).collect()
    }

    /// Whether no task waits or runs.
    pub fn is_over(&self) -> bool {
        self.count(State::Queued) + self.count(State::Running) == 0
    }

    /// The runs of a plan that wait or are under way.
    pub fn under_way<'p>(&self, plan: &'p Plan) -> impl Iterator<Item = &'p PlannedRun> {
        let is_open = |task: &TaskStatus| matches!(task.state, State::Queued | State::Running);
        let open: Vec<bool> = self.tasks.iter().map(is_open).collect();
        plan.tasks.iter().zip(open).filter(|(_, open)| *open).flat_map(|(task, _)| &task.runs)
    }
}

/// Looks how the tasks of a plan fare. A run that the store has is made, whoever made it.
pub fn status(store: &Store, plan: &Plan) -> Result<PlanStatus, ClusterError> {
    let submission = slurm::submission(plan)?;
    let known = submission.as_ref().and_then(slurm::tasks);
    let attempts = all_attempts(plan)?;
    let tasks = (1..).zip(plan.tasks.iter().zip(&attempts)).map(|(number, (task, attempts))| {
        let mut found = made_in(store, plan, &task.runs);
        if found.len() < task.runs.len() {
            found.append(&mut made(plan, &task.runs, attempts));
        }
        let made = found.len();
        let seen = Seen {
            is_done: made == task.runs.len(),
            last: attempts.last(),
            slurm: known.as_ref().and_then(|known| known.get(&number)),
            is_submitted: submission.is_some(),
            is_slurm_there: known.is_some(),
        };
        let (state, reason) = seen.judge();
        let log = (state == State::Failed).then(|| last_words(&slurm::logs(plan, number))).flatten();
        let (log, last_lines) = log.unzip();
        TaskStatus {
            task: number,
            state,
            reason,
            runs: task.runs.len(),
            made,
            attempts: attempts.len(),
            log,
            last_lines: last_lines.unwrap_or_default(),
        }
    });
    let tasks = tasks.collect();
    Ok(PlanStatus {
        folder: plan.folder.clone(),
        planned_at: plan.planned_at,
        job: submission.map(|job| job.job),
        tasks,
    })
}

/// Everything that is seen of a task.
#[derive(Clone, Copy)]
struct Seen<'a> {
    is_done: bool,
    last: Option<&'a Attempt>,
    slurm: Option<&'a SlurmTask>,
    is_submitted: bool,
    is_slurm_there: bool,
}

impl Seen<'_> {
    fn judge(self) -> (State, Option<String>) {
        if self.is_done {
            return (State::Done, None);
        }
        match self.slurm {
            Some(task) => self.by_slurm(task),
            None => self.by_attempt(),
        }
    }

    fn by_slurm(self, task: &SlurmTask) -> (State, Option<String>) {
        match task.state.as_str() {
            "PENDING" | "CONFIGURING" | "REQUEUED" | "REQUEUE_FED" | "REQUEUE_HOLD" | "RESV_DEL_HOLD" => {
                (State::Queued, Some(task.reason.clone()).filter(|reason| !reason.is_empty()))
            }
            "RUNNING" | "COMPLETING" | "SUSPENDED" | "STOPPED" | "SIGNALING" | "STAGE_OUT" | "RESIZING" => {
                (State::Running, None)
            }
            _ => (State::Failed, Some(self.why_ended(task))),
        }
    }

    /// Why a task is over that is not done, by Slurm and by its own words.
    fn why_ended(self, task: &SlurmTask) -> String {
        let mut reason = format!("Slurm: {}", task.state.to_lowercase().replace('_', " "));
        if !task.reason.is_empty() {
            reason.push_str(&format!(" ({})", task.reason));
        }
        match (task.signal, task.exit_code) {
            (0, 0) => {}
            (0, code) => reason.push_str(&format!(", exit code {code}")),
            (signal, _) => reason.push_str(&format!(", signal {signal}")),
        }
        match self.last.map(|attempt| &attempt.fate) {
            Some(Fate::Ended(ending)) => reason.extend(ending.error.iter().map(|error| format!("; {error}"))),
            Some(Fate::Silent(runs)) if !runs.is_empty() => {
                reason.push_str(&format!("; it was at {}", runs.join(" and ")));
            }
            Some(Fate::Silent(_) | Fate::GoesOn) => {}
            None => reason.push_str("; it never began"),
        }
        reason
    }

    /// Judges by the last attempt, where no Slurm knows the task.
    fn by_attempt(self) -> (State, Option<String>) {
        let failed = |reason: String| (State::Failed, Some(reason));
        match self.last.map(|attempt| &attempt.fate) {
            Some(Fate::GoesOn) => (State::Running, None),
            Some(Fate::Ended(ending)) => {
                failed(ending.error.clone().unwrap_or_else(|| "it was stopped, or its shard is gone".to_owned()))
            }
            Some(Fate::Silent(runs)) => {
                let at = if runs.is_empty() { String::new() } else { format!(", at {}", runs.join(" and ")) };
                failed(format!("it ended without a word{at}: it was killed, or its machine failed"))
            }
            None if self.is_submitted && self.is_slurm_there => {
                failed("Slurm does not know it any more, and it never began".to_owned())
            }
            None if self.is_submitted => {
                (State::Queued, Some("it has not begun, and no Slurm here knows its job".to_owned()))
            }
            None => (State::Queued, None),
        }
    }
}

/// The last lines of the first log that has any, stderr before stdout.
fn last_words(logs: &[PathBuf; 2]) -> Option<(PathBuf, Vec<String>)> {
    let found = logs.iter().rev().map(|log| (log.clone(), last_lines(log)));
    found.into_iter().find(|(_, lines)| !lines.is_empty())
}

fn last_lines(path: &Path) -> Vec<String> {
    let read = || -> std::io::Result<String> {
        let mut file = File::open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(LAST_BYTES)))?;
        let mut bytes = Vec::new();
        file.take(LAST_BYTES).read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    let text = read().unwrap_or_default();
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(LAST_LINES)..].iter().map(|line| (*line).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::Ending;

    fn attempt(fate: Fate) -> Attempt {
        Attempt { number: 1, process: None, fate, shard: PathBuf::new() }
    }

    fn slurm(state: &str, reason: &str, signal: u32, exit_code: u32) -> SlurmTask {
        SlurmTask { state: state.to_owned(), reason: reason.to_owned(), signal, exit_code }
    }

    /// The judgement on a submitted task that is not done.
    fn judge(last: Option<&Attempt>, slurm: Option<&SlurmTask>, is_slurm_there: bool) -> (State, String) {
        let seen = Seen { is_done: false, last, slurm, is_submitted: true, is_slurm_there };
        let (state, reason) = seen.judge();
        (state, reason.unwrap_or_default())
    }

    #[test]
    fn a_task_whose_runs_are_made_is_done_whatever_slurm_says() {
        let cancelled = slurm("CANCELLED", "", 15, 0);
        let seen =
            Seen { is_done: true, last: None, slurm: Some(&cancelled), is_submitted: true, is_slurm_there: true };
        assert_eq!(seen.judge(), (State::Done, None));
    }

    #[test]
    fn slurm_says_what_waits_what_runs_and_why_something_failed() {
        let of = |task: SlurmTask| judge(None, Some(&task), true);
        assert_eq!(of(slurm("PENDING", "Resources", 0, 0)), (State::Queued, "Resources".to_owned()));
        assert_eq!(of(slurm("RUNNING", "", 0, 0)), (State::Running, String::new()));
        assert_eq!(of(slurm("TIMEOUT", "TimeLimit", 0, 0)).1, "Slurm: timeout (TimeLimit); it never began");
        let killed = attempt(Fate::Silent(vec!["gpu-vi on stn".to_owned()]));
        let said = judge(Some(&killed), Some(&slurm("OUT_OF_MEMORY", "", 9, 0)), true);
        assert_eq!(said, (State::Failed, "Slurm: out of memory, signal 9; it was at gpu-vi on stn".to_owned()));
        let ended = attempt(Fate::Ended(Ending { at: 1, error: Some("the disk is full".to_owned()) }));
        let said = judge(Some(&ended), Some(&slurm("FAILED", "NonZeroExitCode", 0, 2)), true);
        assert_eq!(said.1, "Slurm: failed (NonZeroExitCode), exit code 2; the disk is full");
    }

    #[test]
    fn without_slurm_the_last_attempt_says_it() {
        assert_eq!(judge(Some(&attempt(Fate::GoesOn)), None, false).0, State::Running);
        let (state, reason) = judge(Some(&attempt(Fate::Silent(Vec::new()))), None, false);
        assert_eq!(
            (state, reason.as_str()),
            (State::Failed, "it ended without a word: it was killed, or its machine failed")
        );
        assert_eq!(judge(None, None, false).0, State::Queued);
        assert_eq!(judge(None, None, true).0, State::Failed);
    }
}
