//! `chorus reproduce --shard`, `--slurm` and `--status`, and `chorus collect`, where there is no Slurm; and what
//! happens when the disk is full, or when two make runs for one store.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use chorus_lab::reproduce::STORE_FILE;
use chorus_lab::run::Outcome;
use chorus_lab::store::Store;

use crate::chorus::{Directory, Ended, chorus, command, end, experiment, exported};

/// A Slurm that only writes down what it is asked. Its queue and its accounts are the files of these names.
struct FakeSlurm {
    folder: PathBuf,
}

/// Writes its arguments down, and then does what `then` says.
const SBATCH: &str = "for word in \"$@\"; do echo \"$word\"; done > \"$0.arguments\"\n";

impl FakeSlurm {
    fn new(directory: &Directory, sbatch: &str) -> FakeSlurm {
        let folder = directory.join("bin");
        fs::create_dir_all(&folder).unwrap();
        let fake = FakeSlurm { folder };
        fake.program("sbatch", &format!("{SBATCH}{sbatch}"));
        fake.program("squeue", "cat \"$0.says\"");
        fake.program("sacct", "cat \"$0.says\"");
        fake
    }

    fn program(&self, name: &str, text: &str) {
        let path = self.folder.join(name);
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Lets `squeue` or `sacct` say something.
    fn says(&self, name: &str, text: &str) {
        fs::write(self.folder.join(format!("{name}.says")), text).unwrap();
    }

    /// The arguments of the last `sbatch`.
    fn arguments(&self) -> Vec<String> {
        let text = fs::read_to_string(self.folder.join("sbatch.arguments")).unwrap();
        text.lines().map(str::to_owned).collect()
    }

    fn chorus(&self, arguments: &str) -> Ended {
        let mut command = command(arguments);
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{path}", self.folder.display()));
        end(command)
    }
}

#[test]
fn shards_give_what_one_process_gives_and_pages_follow() {
    let directory = Directory::new();
    let small = experiment(&directory, 2);
    let (local, out) = (directory.join("local"), directory.join("out"));
    chorus(&format!("reproduce {} --out {}", small.display(), local.display())).expect_code(0);
    let reproduce = format!("reproduce {} --out {}", small.display(), out.display());
    for part in [3, 1, 2, 2] {
        let ended = chorus(&format!("{reproduce} --shard {part}/3")).expect_code(0);
        assert!(ended.stdout.starts_with(&format!("task {part}: ")), "{}", ended.stdout);
        assert!(ended.stderr.contains(&format!("task {part} of 3 of ")), "{}", ended.stderr);
    }
    let json = chorus(&format!("collect {} --json", out.display())).expect_code(0).json();
    assert_eq!((&json["new"], &json["missing"], &json["shards"]), (&4.into(), &0.into(), &3.into()));
    let again = chorus(&format!("collect {}", out.join("plans/1").display())).expect_code(0).stdout;
    assert!(again.contains("0 runs are new, 4 were there"), "{again}");
    assert_eq!(exported(&out), exported(&local));
    let json = chorus(&format!("{reproduce} --json")).expect_code(0).json();
    assert_eq!((&json["ran"], &json["reused"]), (&0.into(), &4.into()));
    let nothing = chorus(&format!("{reproduce} --shard 1/2")).expect_code(0).stdout;
    assert_eq!(nothing, "nothing is left to run\n");
}

#[test]
fn a_process_that_reads_a_store_takes_nothing_from_one_that_writes_it() {
    let directory = Directory::new();
    let (small, made, out) = (experiment(&directory, 1), directory.join("made"), directory.join("out"));
    chorus(&format!("reproduce {} --out {}", small.display(), made.display())).expect_code(0);
    let path = out.join(STORE_FILE);
    let (store, _another) = (Store::open(&path).unwrap(), Store::open(&path).unwrap());
    assert_eq!(exported(&out).len(), 0);
    for record in Store::open_results(&made).unwrap().records().unwrap() {
        store.insert(&record).unwrap();
    }
    assert_eq!(exported(&out), exported(&made));
}

#[test]
fn a_plan_runs_as_a_whole_and_its_status_is_told() {
    let directory = Directory::new();
    let (small, out) = (experiment(&directory, 2), directory.join("out"));
    let status = format!("reproduce --status --out {}", out.display());
    assert!(chorus(&status).expect_code(0).stdout.contains("has no plans"));
    chorus(&format!("reproduce {} --out {} --shard 2/3", small.display(), out.display())).expect_code(0);
    let json = chorus(&format!("{status} --json")).expect_code(0).json();
    let plan = &json["plans"][0];
    assert_eq!((&plan["queued"], &plan["done"], &plan["job"]), (&2.into(), &1.into(), &serde_json::Value::Null));
    let ended = chorus(&format!("reproduce --plan {}", out.join("plans/1").display())).expect_code(0);
    assert!(ended.stdout.contains("task 2: 0 runs made, 1 there already"), "{}", ended.stdout);
    let text = chorus(&status).expect_code(0).stdout;
    assert!(text.contains("4 of 4 runs are made") && text.contains("0 running, 3 done, 0 failed"), "{text}");
}

#[test]
fn slurm_is_asked_for_what_the_arguments_say() {
    let directory = Directory::new();
    let fake = FakeSlurm::new(&directory, "echo '42;north'");
    let (small, out) = (experiment(&directory, 2), directory.join("o ut%"));
    // The path has a space, so it is not given in a line that is split.
    let mut command = command(
        "--no-progress reproduce --slurm --partition gpu --time 2:00:00 --mem 4G --array-limit 8 --jobs 3 \
         --sbatch-arg=--account=lab --sbatch-arg --exclusive --json",
    );
    let path = std::env::var("PATH").unwrap_or_default();
    command.arg(&small).arg("--out").arg(&out).env("PATH", format!("{}:{path}", fake.folder.display()));
    let json = end(command).expect_code(0).json();
    assert_eq!((&json["job"], &json["runs"], &json["tasks"]), (&"42".into(), &4.into(), &4.into()));
    let arguments = fake.arguments();
    let plan = out.join("plans/1").canonicalize().unwrap();
    let log = |extension: &str| format!("{}/tasks/%a.{extension}", plan.display().to_string().replace('%', "%%"));
    let expected = [
        "--parsable",
        "--job-name=chorus-1",
        "--array=1-4%8",
        "--ntasks=1",
        "--cpus-per-task=3",
        &format!("--chdir={}", std::env::current_dir().unwrap().display()),
        &format!("--output={}", log("out")),
        &format!("--error={}", log("err")),
        "--open-mode=append",
        "--requeue",
        "--partition=gpu",
        "--time=2:00:00",
        "--mem=4G",
        "--account=lab",
        "--exclusive",
        &plan.join("job.sh").display().to_string(),
    ];
    assert_eq!(arguments, expected);
    let script = fs::read_to_string(plan.join("job.sh")).unwrap();
    let line = script.lines().last().unwrap();
    assert!(line.ends_with("--shard \"$SLURM_ARRAY_TASK_ID/4\" --jobs 3"), "{line}");
    // The script runs the program that was kept, wherever the paths lead.
    let run = Command::new("sh").arg(plan.join("job.sh")).env("SLURM_ARRAY_TASK_ID", "4").output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    assert!(plan.join("tasks/4-1.sqlite").is_file());
}

/// Runs every task of the array, as Slurm would, and keeps what the tasks say.
const RUN_ALL: &str = r#"for word in "$@"; do
    case $word in --array=1-*) last=${word#--array=1-} ;; --error=*) log=${word#--error=} ;; esac
done
for task in $(seq "$last"); do
    SLURM_ARRAY_TASK_ID=$task sh "$word" 2>"$(echo "$log" | sed "s/%a/$task/")" >&2
done
echo 42"#;

#[test]
fn who_waits_for_slurm_gets_the_pages() {
    let directory = Directory::new();
    let fake = FakeSlurm::new(&directory, RUN_ALL);
    let (small, out) = (experiment(&directory, 1), directory.join("out"));
    let reproduce = format!("reproduce {} --out {} --slurm --wait", small.display(), out.display());
    let ended = fake.chorus(&reproduce).expect_code(0);
    assert!(ended.stdout.contains("job 42: 2 runs in 2 tasks"), "{}", ended.stdout);
    assert!(ended.stdout.contains("0 runs made, 2 there already"), "{}", ended.stdout);
    assert!(out.join("small.html").is_file());
    assert!(fs::read_to_string(out.join("plans/1/tasks/1.err")).is_ok_and(|log| log.contains("[1/1]")));
    let again = fake.chorus(&reproduce).expect_code(0).stdout;
    assert!(again.starts_with("nothing is left to submit"), "{again}");
}

#[test]
fn runs_that_slurm_has_are_not_submitted_again_and_failed_ones_are() {
    let directory = Directory::new();
    let fake = FakeSlurm::new(&directory, "echo 42");
    let (small, out) = (experiment(&directory, 1), directory.join("out"));
    let submit = format!("reproduce {} --out {} --slurm", small.display(), out.display());
    let status = format!("reproduce --status --out {}", out.display());
    fake.chorus(&submit).expect_code(0);
    fake.says("squeue", "1|PENDING|Resources|0|\n2|RUNNING|None|0|\n");
    let ended = fake.chorus(&submit).expect_code(0);
    assert!(ended.stderr.contains("2 runs wait or are under way already"), "{}", ended.stderr);
    assert_eq!(ended.stdout, "nothing is left to submit\n");
    // The first one was killed by Slurm. It left a log.
    fs::write(out.join("plans/1/tasks/1.err"), "task 1 of 2\nallocating\n").unwrap();
    fake.says("squeue", "1|TIMEOUT|TimeLimit|15|\n2|RUNNING|None|0|\n");
    let text = fake.chorus(&status).expect_code(1).stdout;
    for part in ["job 42", "1 running, 0 done, 1 failed", "timeout (TimeLimit), signal 15", "1.err:\n", "  allocating"]
    {
        assert!(text.contains(part), "no `{part}` in {text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 80 || line.contains("plans/1")), "{text}");
    // When Slurm has forgotten the job, its accounts tell.
    fake.program("squeue", "exit 1");
    fake.says("sacct", "42_1|OUT_OF_MEMORY|0:125\n42_1.batch|OUT_OF_MEMORY|0:125\n42_2|RUNNING|0:0\n");
    let json = fake.chorus(&format!("{status} --json")).expect_code(1).json();
    let task = &json["plans"][0]["tasks"][0];
    assert_eq!(task["reason"], "Slurm: out of memory, signal 125; it never began");
    assert_eq!(task["last_lines"], serde_json::json!(["task 1 of 2", "allocating"]));
    let ended = fake.chorus(&submit).expect_code(0);
    assert!(ended.stdout.contains("1 runs in 1 tasks"), "{}", ended.stdout);
}

#[test]
fn slurm_that_refuses_or_is_not_there_is_named_and_leaves_no_plan() {
    let directory = Directory::new();
    let (small, out) = (experiment(&directory, 1), directory.join("out"));
    let submit = format!("reproduce {} --out {} --slurm --json", small.display(), out.display());
    let refusing = FakeSlurm::new(&directory, "echo 'sbatch: error: invalid partition specified: x' >&2; exit 1");
    let ended = refusing.chorus(&submit).expect_code(2);
    ended.expect_error(&["Slurm refused the job: invalid partition specified: x"]);
    let chatty = FakeSlurm::new(&directory, "echo 'Welcome!'");
    chatty.chorus(&submit).expect_code(2).expect_error(&["`Welcome!`, which is not the number of a job"]);
    let mut command = command(&submit);
    command.env("PATH", directory.join("nowhere"));
    let ended = end(command).expect_code(2);
    ended.expect_error(&["`sbatch` cannot be started, so there is no Slurm here", "hint: `chorus reproduce --shard"]);
    assert!(!out.join("plans/1").exists());
}

#[test]
fn mistakes_about_clusters_are_refused_with_what_is_accepted() {
    let directory = Directory::new();
    let out = directory.join("out");
    let refused = |arguments: &str, parts: &[&str]| {
        chorus(&format!("{arguments} --out {}", out.display())).expect_code(2).expect_error(parts)
    };
    refused("reproduce tc --shard 0/4", &["0/4", "as in 1/16 to 16/16"]);
    refused("reproduce tc --slurm --time soon", &["`soon` is no time", "HH:MM:SS"]);
    refused("reproduce tc --slurm --array-limit 0", &["0 is not in 1.."]);
    refused("reproduce tc --mem 4G", &["--slurm"]);
    refused("reproduce tc --slurm --shard 1/4", &["cannot be used with"]);
    refused("reproduce --plan nowhere", &["nowhere holds no plan", "expected the folder of a plan"]);
    let ended = chorus(&format!("collect {}", out.display())).expect_code(2);
    ended.expect_error(&["holds no plan", "hint: `chorus reproduce --slurm`"]);
}

#[test]
fn a_shard_that_differs_or_is_broken_is_named_and_nothing_else_is_lost() {
    let directory = Directory::new();
    let (small, out) = (experiment(&directory, 2), directory.join("out"));
    let shard = |part: u32| format!("reproduce {} --out {} --shard {part}/3", small.display(), out.display());
    (1..=3).for_each(|part| drop(chorus(&shard(part)).expect_code(0)));
    let file = |name: &str| out.join("plans/1/tasks").join(name);
    // A second attempt at the first task whose machine computes something else.
    let mut other = Store::open_existing(&file("1-1.sqlite")).unwrap().records().unwrap().remove(0);
    let Outcome::Finished(result) = &mut other.outcome else { panic!("it has a result") };
    result.cycles += 1;
    Store::create_shard(&file("1-2.sqlite")).unwrap().insert(&other).unwrap();
    fs::write(file("1-2.jsonl"), "").unwrap();
    let collect = format!("collect {}", out.display());
    let ended = chorus(&collect).expect_code(1);
    let [first, second] = ["1-1.sqlite", "1-2.sqlite"].map(|name| file(name).display().to_string());
    let differs = format!("{first} and {second} have different results of {}", other.spec);
    ended.expect_error(&[&differs, "the store keeps the first", "hint: `chorus run --system tc"]);
    fs::remove_file(file("1-2.jsonl")).unwrap();
    fs::write(file("3-1.sqlite"), "no store").unwrap();
    let ended = chorus(&collect).expect_code(2);
    assert!(ended.stdout.contains("0 runs are new, 3 were there"), "{}", ended.stdout);
    ended.expect_error(&["a shard was left out", "3-1.sqlite is not a Chorus results store"]);
}

#[test]
fn who_forgets_to_collect_is_reminded() {
    let directory = Directory::new();
    let (small, out) = (experiment(&directory, 1), directory.join("out"));
    let reproduce = format!("reproduce {} --out {}", small.display(), out.display());
    chorus(&format!("{reproduce} --shard 1/2")).expect_code(0);
    let said = chorus(&reproduce).expect_code(0).stderr;
    assert!(said.contains(&format!("`chorus collect {}` takes them", out.display())), "{said}");
    let said = chorus(&reproduce).expect_code(0).stderr;
    assert!(!said.contains("chorus collect"), "{said}");
}

/// Starts a matrix and waits until its first run is kept.
fn started(arguments: &str) -> (std::process::Child, BufReader<std::process::ChildStderr>, String) {
    let mut command = command(arguments);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the binary starts");
    let mut stderr = BufReader::new(child.stderr.take().expect("stderr is a pipe"));
    let mut said = String::new();
    while !said.contains("[1/") {
        assert_ne!(stderr.read_line(&mut said).expect("stderr is text"), 0, "ended early: {said}");
    }
    (child, stderr, said)
}

#[test]
fn a_second_who_makes_runs_for_a_store_is_told_who_is_first() {
    let directory = Directory::new();
    let (small, out) = (experiment(&directory, 30), directory.join("out"));
    let reproduce = format!("reproduce {} --jobs 1 --out {}", small.display(), out.display());
    let (mut first, _stderr, _) = started(&reproduce);
    let pid = first.id();
    let second = chorus(&reproduce);
    let compare = chorus(&format!("compare --systems tc --minutes 0 --out {}", out.display()));
    // Reading is for everybody.
    chorus(&format!("export {}", out.display())).expect_code(0);
    first.kill().unwrap();
    first.wait().unwrap();
    for refused in [second, compare] {
        let name = format!("`chorus {reproduce}` (pid {pid} on ");
        refused.expect_code(2).expect_error(&[&name, "makes runs for results store", "hint: wait until it ends"]);
    }
    // A process that was killed holds nothing.
    chorus(&format!("compare --systems tc --minutes 0 --out {}", out.display())).expect_code(0);
}

/// Mounts a small disk in a mount namespace of its own, and runs a command there. When its first run is kept, a file
/// takes all the room that is left. When its log says that it waits, the file goes.
const SMALL_DISK: &str = r#"
    disk=$1; log=$2; shift 2
    mount -t tmpfs -o size=4m none "$disk"
    says() { for _ in $(seq 600); do if grep -q "$1" "$log"; then return; fi; sleep 0.05; done; }
    "$@" 2>"$log" &
    child=$!
    says '^\[1/'
    cat /dev/zero >"$disk/large" 2>/dev/null || true
    says 'waits until then'
    rm "$disk/large"
    wait $child
"#;

#[test]
fn a_full_disk_loses_no_finished_run() {
    let directory = Directory::new();
    let (small, disk, log) = (experiment(&directory, 12), directory.join("disk"), directory.file("log", ""));
    fs::create_dir_all(&disk).unwrap();
    let run = |script: &str, last: &[&Path]| {
        let mut command = Command::new("unshare");
        command.args(["--map-root-user", "--mount", "sh", "-ec", script, "sh"]).args(last);
        command.output()
    };
    // Where namespaces are not allowed, no small disk can be made.
    if !run("mount -t tmpfs -o size=1m none \"$1\"", &[&disk]).is_ok_and(|output| output.status.success()) {
        println!("skipped: no mount namespaces here");
        return;
    }
    let (program, out) = (Path::new(env!("CARGO_BIN_EXE_chorus")), disk.join("out"));
    let [reproduce, jobs, two, to] = ["reproduce", "--jobs", "2", "--out"].map(Path::new);
    let output = run(SMALL_DISK, &[&disk, &log, program, reproduce, &small, jobs, two, to, &out]).unwrap();
    let said = fs::read_to_string(&log).unwrap();
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(stdout.contains("24 runs made, 0 there already"), "{stdout}\n{said}");
    assert!(said.contains("the disk is full, or a quota is used up; make room; "), "{said}");
    assert!(said.matches("waits until then").count() <= 2, "each run that waits says so once: {said}");
}

#[test]
fn a_killed_shard_keeps_its_finished_runs() {
    let directory = Directory::new();
    let (small, out) = (experiment(&directory, 30), directory.join("out"));
    let shard = format!("reproduce {} --jobs 1 --out {} --shard 1/1", small.display(), out.display());
    let (mut child, mut stderr, mut said) = started(&shard);
    child.kill().unwrap();
    child.wait().unwrap();
    stderr.read_to_string(&mut said).unwrap();
    let finished = said.matches(": pass, ").count();
    let text = chorus(&format!("reproduce --status --out {}", out.display())).expect_code(1).stdout;
    assert!(text.contains("1 failed") && text.contains("ended without a word"), "{text}");
    let json = chorus(&format!("collect {} --json", out.display())).expect_code(0).json();
    let new = json["new"].as_u64().unwrap() as usize;
    // One more run may be kept before its line is written.
    assert!((finished..=finished + 1).contains(&new) && new >= 1, "{new} of {finished}");
    let again = chorus(&format!("{shard} --json")).expect_code(0).json();
    assert_eq!((again["attempt"].as_u64(), again["reused"].as_u64()), (Some(2), Some(new as u64)));
}
