//! `chorus reproduce --slurm` with a real Slurm of one node, which `scripts/slurm-node` starts and stops.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::chorus::{Directory, Ended, chorus, command, end, experiment, exported};
use crate::tidy::root;

/// The exit code of the script where Slurm is not installed.
const ABSENT: i32 = 3;

/// The longest time that any state of a job is waited for.
const PATIENCE: Duration = Duration::from_secs(120);

/// A Slurm of one node. It stops when this value is dropped, or when this process ends in any other way.
struct Node {
    script: Child,
    configuration: String,
}

impl Node {
    /// Starts it; none where Slurm is not installed.
    fn start() -> Option<Node> {
        let mut script = Command::new(root().join("scripts/slurm-node"));
        script.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut script = script.spawn().expect("the script starts");
        let mut line = String::new();
        BufReader::new(script.stdout.take().expect("stdout is a pipe")).read_line(&mut line).expect("it is text");
        if let Some(configuration) = line.trim().strip_prefix("SLURM_CONF=") {
            return Some(Node { script, configuration: configuration.to_owned() });
        }
        let mut said = String::new();
        let mut stderr = script.stderr.take().expect("stderr is a pipe");
        stderr.read_to_string(&mut said).expect("it is text");
        let code = script.wait().expect("the script ends").code();
        assert_eq!(code, Some(ABSENT), "Slurm is installed and does not start: {said}");
        println!("skipped: {said}");
        None
    }

    fn chorus(&self, arguments: &str) -> Ended {
        let mut command = command(arguments);
        command.env("SLURM_CONF", &self.configuration);
        end(command)
    }

    /// Asks Slurm for a change. It may refuse while it is busy with the task.
    fn scontrol(&self, arguments: &[&str]) -> bool {
        let mut scontrol = Command::new("scontrol");
        scontrol.args(arguments).env("SLURM_CONF", &self.configuration).stderr(Stdio::null());
        scontrol.status().is_ok_and(|status| status.success())
    }

    /// The tasks of the first plan, as soon as they are as expected.
    fn tasks(&self, out: &Path, expected: impl Fn(&[Value]) -> bool) -> Vec<Value> {
        let start = Instant::now();
        loop {
            let ended = self.chorus(&format!("reproduce --status --json --out {}", out.display()));
            let tasks = ended.json()["plans"][0]["tasks"].as_array().cloned().unwrap_or_default();
            if expected(&tasks) {
                return tasks;
            }
            assert!(start.elapsed() < PATIENCE, "{}", ended.stdout);
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // The script stops the daemons when its input ends.
        drop(self.script.stdin.take());
        let _ = self.script.wait();
    }
}

/// The process that makes the last attempt at a task, as its file tells.
fn process_of(out: &Path, task: u64) -> u64 {
    let attempt = fs::read_to_string(out.join(format!("plans/1/tasks/{task}-1.jsonl"))).expect("the task has begun");
    let line: Value = serde_json::from_str(attempt.lines().next().unwrap_or_default()).expect("it is JSON");
    line["began"]["pid"].as_u64().expect("a number")
}

/// Kills a task that has made some of its runs and not all, and returns its number.
fn kill_one(node: &Node, out: &Path) -> u64 {
    let is_between = |task: &Value| {
        let (made, runs) = (task["made"].as_u64(), task["runs"].as_u64());
        task["state"] == "running" && made >= Some(1) && made < runs
    };
    loop {
        let tasks = node.tasks(out, |tasks| tasks.iter().any(is_between));
        let task = tasks.iter().find(|task| is_between(task)).expect("it was seen")["task"].as_u64();
        let task = task.expect("a number");
        let mut kill = Command::new("kill");
        kill.args(["-KILL", &process_of(out, task).to_string()]).stderr(Stdio::null());
        // If it has ended meanwhile, another task is killed.
        if kill.status().is_ok_and(|status| status.success()) {
            return task;
        }
    }
}

#[test]
fn a_killed_and_requeued_job_gives_what_a_local_run_gives() {
    const SEEDS: u32 = 24;
    let Some(node) = Node::start() else { return };
    let directory = Directory::new();
    let (local, out) = (directory.join("local"), directory.join("out"));
    // What two runs take tells how long the others will.
    let few = experiment(&directory, 1);
    chorus(&format!("reproduce {} --out {}", few.display(), out.display())).expect_code(0);
    let small = experiment(&directory, SEEDS);
    let submit = format!("reproduce {} --out {} --slurm --task-time 0:04", small.display(), out.display());

    let refused = node.chorus(&format!("{submit} --partition nowhere")).expect_code(2);
    refused.expect_error(&["Slurm refused the job: invalid partition specified: nowhere"]);
    let json = node.chorus(&format!("{submit} --partition other --time 10 --json")).expect_code(0).json();
    let (job, runs) = (json["job"].as_str().expect("a job"), json["runs"].as_u64());
    assert_eq!(runs, Some(u64::from(2 * SEEDS - 2)));

    let task = kill_one(&node, &out);
    let is_killed = |of: &Value| of["task"] == task && of["state"] == "failed";
    let tasks = node.tasks(&out, |tasks| tasks.iter().any(is_killed));
    let killed = tasks.iter().find(|of| is_killed(of)).expect("it was seen");
    let reason = killed["reason"].as_str().unwrap_or_default();
    assert!(reason.contains("signal 9"), "{reason}");
    assert!(killed["last_lines"].as_array().is_some_and(|lines| !lines.is_empty()), "{killed}");

    let id = format!("{job}_{task}");
    node.tasks(&out, |_| node.scontrol(&["requeue", &id]));
    // While the tasks wait or run, nothing is left to submit.
    let again = node.chorus(&submit).expect_code(0);
    assert!(again.stdout.contains("nothing is left to submit"), "{}", again.stdout);
    // A requeued task waits until its old credential has expired. Time enough for the runs in one process.
    chorus(&format!("reproduce {} --out {}", small.display(), local.display())).expect_code(0);
    let tasks = node.tasks(&out, |tasks| tasks.iter().all(|task| task["state"] == "done"));
    let of_killed = tasks.iter().find(|of| of["task"] == task).expect("it was seen");
    assert_eq!(of_killed["attempts"], 2, "{of_killed}");
    let log = fs::read_to_string(out.join(format!("plans/1/tasks/{task}.err"))).expect("the log is kept");
    assert_eq!(log.matches(&format!("task {task} of ")).count(), 2, "{log}");

    chorus(&format!("collect {}", out.display())).expect_code(0);
    let again = chorus(&format!("collect {} --json", out.display())).expect_code(0).json();
    assert_eq!((&again["new"], &again["there"], &again["missing"]), (&0.into(), &runs.into(), &0.into()));
    assert_eq!(exported(&out), exported(&local));

    // One more seed, waited for.
    let more = experiment(&directory, SEEDS + 1);
    let ended = node.chorus(&format!("reproduce {} --out {} --slurm --wait", more.display(), out.display()));
    let ended = ended.expect_code(0);
    assert!(ended.stdout.contains(&format!("0 runs made, {} there already", 2 * SEEDS + 2)), "{}", ended.stdout);
}
