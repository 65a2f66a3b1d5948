//! Slurm: a plan becomes a job array, and Slurm says how its tasks fare.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::{Deserialize, Serialize};

use super::{ClusterError, Plan};
use crate::process::now;
use crate::run::shell_word;

/// The name of the file with the number of the job.
const SUBMISSION_FILE: &str = "slurm.json";

/// The name of the script that every task runs.
const SCRIPT_FILE: &str = "job.sh";

/// The wishes of the user for the job.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// The partition that the job goes to.
    pub partition: Option<String>,
    /// The longest time of a task, in one of Slurm's forms.
    pub time: Option<String>,
    /// The memory of a task, as in `4G`.
    pub mem: Option<String>,
    /// The most tasks at the same time.
    pub array_limit: Option<u32>,
    /// Further arguments of `sbatch`.
    pub further: Vec<String>,
    /// The number of runs that a task makes at the same time, and of its processor cores.
    pub jobs: usize,
}

/// A job array that Slurm has accepted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Submission {
    /// The number of the job.
    pub job: String,
    /// The cluster that has the job, where there are several.
    pub cluster: Option<String>,
    /// The time of submission, in seconds since 1970.
    pub at: u64,
    /// The command that submitted it.
    pub command: String,
}

/// A task as Slurm sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct SlurmTask {
    /// Slurm's word for its state, such as `RUNNING`.
    pub state: String,
    /// Slurm's reason for the state; empty if there is none.
    pub reason: String,
    /// The signal that ended it; 0 if none did.
    pub signal: u32,
    /// The exit code of its script.
    pub exit_code: u32,
}

/// Submits a plan as a job array. Tasks begin in the working directory of this process. A plan that Slurm does not take
/// is removed.
pub fn submit(plan: &Plan, options: &Options) -> Result<Submission, ClusterError> {
    let submission = sbatch(plan, options).inspect_err(|_| plan.remove())?;
    let path = plan.folder.join(SUBMISSION_FILE);
    let written = fs::write(&path, format!("{:#}\n", serde_json::json!(submission)));
    written.map_err(ClusterError::file("write", &path))?;
    Ok(submission)
}

fn sbatch(plan: &Plan, options: &Options) -> Result<Submission, ClusterError> {
    let folder = fs::canonicalize(&plan.folder).map_err(ClusterError::file("find", &plan.folder))?;
    let script = folder.join(SCRIPT_FILE);
    fs::write(&script, script_text(plan, &folder, options.jobs)).map_err(ClusterError::file("write", &script))?;
    let working = std::env::current_dir().map_err(ClusterError::file("find", Path::new("the working directory")))?;
    let words = arguments(plan, &folder, &working, options);
    let output = Command::new("sbatch").args(&words).arg(&script).output();
    let output = output.map_err(|error| ClusterError::NoSlurm("sbatch", error.to_string().to_lowercase()))?;
    if !output.status.success() {
        return Err(ClusterError::Refused(what_it_said(&output.stderr)));
    }
    let said = String::from_utf8_lossy(&output.stdout);
    // `--parsable` makes it say JOB or JOB;CLUSTER. A site may have it say more before that.
    let line = said.lines().last().unwrap_or_default().trim();
    let (job, cluster) = line.split_once(';').map_or((line, None), |(job, cluster)| (job, Some(cluster.to_owned())));
    if job.is_empty() || !job.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(ClusterError::Refused(format!("`sbatch` said `{line}`, which is not the number of a job")));
    }
    let quoted = words.iter().map(|word| shell_word(word)).chain([shell_word(&script.display().to_string())]);
    let command = std::iter::once("sbatch".to_owned()).chain(quoted).collect::<Vec<_>>().join(" ");
    Ok(Submission { job: job.to_owned(), cluster, at: now(), command })
}

/// The job array of a plan; none if the plan was not given to Slurm.
pub fn submission(plan: &Plan) -> Result<Option<Submission>, ClusterError> {
    let path = plan.folder.join(SUBMISSION_FILE);
    match fs::read_to_string(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(ClusterError::file("read", &path)(error)),
        Ok(text) => serde_json::from_str(&text)
            .map(Some)
            .map_err(|error| ClusterError::Damaged { path, reason: error.to_string() }),
    }
}

/// The paths of what a task wrote to stdout and to stderr.
pub fn logs(plan: &Plan, task: usize) -> [PathBuf; 2] {
    ["out", "err"].map(|extension| plan.task_file(&format!("{task}.{extension}")))
}

fn arguments(plan: &Plan, folder: &Path, working: &Path, options: &Options) -> Vec<String> {
    let tasks = plan.tasks.len();
    let number = folder.file_name().unwrap_or_default().to_string_lossy();
    let limit = options.array_limit.map_or_else(String::new, |limit| format!("%{limit}"));
    // A percent sign begins a pattern of Slurm.
    let log = |extension: &str| format!("{}/tasks/%a.{extension}", folder.display().to_string().replace('%', "%%"));
    let mut words = vec![
        "--parsable".to_owned(),
        format!("--job-name=chorus-{number}"),
        format!("--array=1-{tasks}{limit}"),
        "--ntasks=1".to_owned(),
        format!("--cpus-per-task={}", options.jobs),
        format!("--chdir={}", working.display()),
        format!("--output={}", log("out")),
        format!("--error={}", log("err")),
        // A task that is requeued writes behind what it wrote before.
        "--open-mode=append".to_owned(),
        "--requeue".to_owned(),
    ];
    let asked = [("partition", &options.partition), ("time", &options.time), ("mem", &options.mem)];
    words.extend(asked.into_iter().filter_map(|(name, value)| Some(format!("--{name}={}", value.as_ref()?))));
    words.extend(options.further.iter().cloned());
    words
}

/// The script of every task. It names the program that was kept, so a later build changes nothing.
fn script_text(plan: &Plan, folder: &Path, jobs: usize) -> String {
    let program = shell_word(&folder.with_file_name(&plan.program).display().to_string());
    let folder = shell_word(&folder.display().to_string());
    let tasks = plan.tasks.len();
    format!(
        "#!/bin/sh\n# Every task of the job array runs this. Its number is in SLURM_ARRAY_TASK_ID.\n\
         exec {program} reproduce --plan {folder} --shard \"$SLURM_ARRAY_TASK_ID/{tasks}\" --jobs {jobs}\n"
    )
}

/// Everything that a command of Slurm wrote to stderr, in one line and without the name of the command.
fn what_it_said(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let lines = text.lines().map(|line| line.trim_start_matches("sbatch: ").trim_start_matches("error: ").trim());
    let lines: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
    if lines.is_empty() { "it did not say why".to_owned() } else { lines.join("; ") }
}

/// The tasks of a job by their numbers, as the queue or the accounts of Slurm have them; none where neither is there or
/// knows the job.
pub fn tasks(submission: &Submission) -> Option<BTreeMap<usize, SlurmTask>> {
    let queued = ask(
        "squeue",
        submission,
        &["--array", "--states=all", "--Format=ArrayTaskID:|,State:|,Reason:|,exit_code:|"],
        queue_line,
    );
    let known = queued.unwrap_or_default();
    let accounted = || ask("sacct", submission, &["--parsable2", "--format=JobID,State,ExitCode"], account_line);
    let known = if known.is_empty() { accounted().unwrap_or_default() } else { known };
    (!known.is_empty()).then_some(known)
}

fn ask(
    program: &str,
    submission: &Submission,
    arguments: &[&str],
    read: fn(&str) -> Option<(usize, SlurmTask)>,
) -> Option<BTreeMap<usize, SlurmTask>> {
    let mut command = Command::new(program);
    command.arg("--noheader").arg(format!("--jobs={}", submission.job)).args(arguments);
    command.args(submission.cluster.iter().map(|cluster| format!("--clusters={cluster}")));
    let output = command.output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).lines().filter_map(read).collect())
}

/// A line of `squeue`: `3|RUNNING|None|0|`. The exit code is that of `wait`.
fn queue_line(line: &str) -> Option<(usize, SlurmTask)> {
    let fields: Vec<&str> = line.split('|').map(str::trim).collect();
    let &[task, state, reason, waited, ..] = fields.as_slice() else { return None };
    let waited: u32 = waited.parse().unwrap_or(0);
    let reason = if reason == "None" { String::new() } else { reason.to_owned() };
    let (signal, exit_code) = (waited & 0x7f, (waited >> 8) & 0xff);
    Some((task.parse().ok()?, SlurmTask { state: state.to_owned(), reason, signal, exit_code }))
}

/// A line of `sacct`: `12_3|CANCELLED by 1000|0:15`. Lines of the steps of a task are left out.
fn account_line(line: &str) -> Option<(usize, SlurmTask)> {
    let fields: Vec<&str> = line.split('|').map(str::trim).collect();
    let &[id, state, code] = fields.as_slice() else { return None };
    let task = id.split_once('_')?.1.parse().ok()?;
    let (state, reason) = state.split_once(' ').unwrap_or((state, ""));
    let (exit_code, signal) = code.split_once(':').unwrap_or((code, "0"));
    let [exit_code, signal] = [exit_code, signal].map(|digits| digits.parse().unwrap_or(0));
    Some((task, SlurmTask { state: state.to_owned(), reason: reason.to_owned(), signal, exit_code }))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn task(state: &str, reason: &str, signal: u32, exit_code: u32) -> SlurmTask {
        SlurmTask { state: state.to_owned(), reason: reason.to_owned(), signal, exit_code }
    }

    #[test]
    fn lines_of_the_queue_are_read() {
        assert_eq!(queue_line("3|RUNNING|None|0|"), Some((3, task("RUNNING", "", 0, 0))));
        assert_eq!(queue_line("12|FAILED|JobLaunchFailure|9|"), Some((12, task("FAILED", "JobLaunchFailure", 9, 0))));
        assert_eq!(queue_line("2|FAILED|NonZeroExitCode|768|"), Some((2, task("FAILED", "NonZeroExitCode", 0, 3))));
        assert_eq!(queue_line("CLUSTER: one"), None);
        assert_eq!(queue_line("N/A|RUNNING|None|0|"), None);
    }

    #[test]
    fn lines_of_the_accounts_are_read_and_those_of_steps_are_not() {
        assert_eq!(account_line("7_3|TIMEOUT|0:15"), Some((3, task("TIMEOUT", "", 15, 0))));
        assert_eq!(account_line("7_3|CANCELLED by 1000|0:0"), Some((3, task("CANCELLED", "by 1000", 0, 0))));
        assert_eq!(account_line("7_3.batch|FAILED|1:0"), None);
        assert_eq!(account_line("7_[4-9%2]|PENDING|0:0"), None);
    }

    #[test]
    fn words_of_slurm_become_one_line() {
        let said = b"sbatch: error: invalid partition specified: x\nsbatch: error: Batch job submission failed\n";
        assert_eq!(what_it_said(said), "invalid partition specified: x; Batch job submission failed");
        assert_eq!(what_it_said(b"\n"), "it did not say why");
    }

    proptest! {
        #[test]
        fn no_line_makes_a_reader_panic(line in "[ -~|]{0,60}") {
            let _ = (queue_line(&line), account_line(&line));
        }
    }
}
