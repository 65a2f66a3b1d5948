//! `chorus run --checkpoint-every` and `--resume`: a run that was killed goes on, and a file that does not fit is
//! refused.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use serde_json::Value;

use crate::chorus::{Directory, Ended, chorus, command, end};

/// A program in PTX whose host reads memory to know when it has ended, on a graph of so many nodes.
fn run_of(nodes: &str) -> String {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/cuda/bfs/program.toml");
    let program = program.canonicalize().expect("the program is shipped");
    format!("run --system tc --protocol gpu-vi --program {} --set workload.n={nodes} --json", program.display())
}

fn run() -> String {
    run_of("2^15")
}

/// The result of a run without the time and the memory that it took.
fn result(ended: Ended) -> Value {
    let mut json = ended.expect_code(0).json();
    if let Value::Object(fields) = &mut json {
        ["wall_s", "user_s", "peak_rss_bytes"].iter().for_each(|field| {
            fields.remove(*field);
        });
    }
    json
}

/// Starts a run that keeps checkpoints in `file`, and waits for the first one.
fn begin(run: &str, file: &Path) -> Child {
    let mut started = command(&format!("{run} --checkpoint-every 20ms --checkpoint {}", file.display()));
    let started = started.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary starts");
    while !file.exists() {
        sleep(Duration::from_millis(2));
    }
    started
}

/// Kills a run behind its first checkpoint and compares what comes of that with the run itself.
fn goes_on(run: &str, file: &Path) {
    let mut killed = begin(run, file);
    killed.kill().expect("the run was started");
    killed.wait().expect("the run was started");
    let resumed = chorus(&format!("{run} --resume {}", file.display()));
    assert_eq!(result(resumed), result(chorus(run)), "{run}");
}

#[test]
fn traces_workloads_and_several_of_them_at_the_same_time_go_on() {
    let directory = Directory::new();
    let trace = directory.join("trace");
    chorus(&format!("run --system tc --protocol gpu-vi --workload stn --record-trace {}", trace.display()))
        .expect_code(0);
    for (number, run) in [
        format!("--system tc --protocol mesi --trace {}", trace.display()),
        "--system hmg --protocol hmg --workload mst --every 5000 --distributions --sharing".to_owned(),
        "--system cpelide --protocol cpelide --workload square@0-1+backprop@2-3".to_owned(),
    ]
    .iter()
    .enumerate()
    {
        goes_on(&format!("run {run} --json"), &directory.join(&number.to_string()));
    }
}

#[test]
fn a_run_that_was_killed_goes_on_to_the_same_result_and_no_other_run_does() {
    let directory = Directory::new();
    let file = directory.join("bfs.checkpoint");
    goes_on(&run(), &file);
    let resume = format!("{} --resume {}", run(), file.display());

    let refused = |options: &str, parts: &[&str]| {
        chorus(&format!("{resume} {options}")).expect_code(2).expect_error(parts);
    };
    refused("--seed 7", &["of another run", "--seed 7", "hint: give the options of the first command again"]);
    refused("--threads 2", &["of another run", "--threads 2"]);
    refused("--set l1.mshrs=3", &["of another run", "l1.mshrs=3"]);
    let bytes = std::fs::read(&file).expect("the checkpoint is there");
    let mut changed = bytes.clone();
    changed[bytes.len() / 2] ^= 4;
    for (name, bytes, part) in [
        ("cut", &bytes[..bytes.len() - 1], "is damaged or cut short"),
        ("changed", &changed, "is damaged or cut short"),
        ("text", &b"[a system]"[..], "is not a checkpoint"),
        ("other", &[&bytes[..18], &[9], &bytes[19..]].concat(), "has format 9, and this Chorus reads format 1"),
    ] {
        let path = directory.join(name);
        std::fs::write(&path, bytes).expect("the directory can be written");
        chorus(&format!("{} --resume {}", run(), path.display())).expect_code(2).expect_error(&[part]);
    }
}

#[test]
fn ctrl_c_writes_a_last_checkpoint() {
    let directory = Directory::new();
    let file = directory.join("bfs.checkpoint");
    let started = begin(&run_of("2^18"), &file);
    let first = std::fs::read(&file).expect("the checkpoint is there");
    let signal = Command::new("kill").args(["-INT", &started.id().to_string()]).status();
    assert!(signal.expect("kill is there").success());
    let output = started.wait_with_output().expect("it was started");
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(130), "{message}");
    assert!(message.contains("a last checkpoint is written"), "{message}");
    assert!(message.contains("--resume") && message.contains("goes on from here"), "{message}");
    assert_ne!(std::fs::read(&file).expect("the checkpoint is there"), first);
}

#[test]
fn options_of_checkpoints_that_cannot_be_are_refused() {
    let directory = Directory::new();
    let refused = |options: &str, part: &str| {
        let mut command = command(&format!("run --system tc --protocol gpu-vi --workload stn {options}"));
        command.current_dir(directory.join(""));
        end(command).expect_code(2).expect_error(&[part]);
    };
    refused("--checkpoint-every 10", "expected a whole number of seconds, minutes or hours");
    refused("--checkpoint-every 10min --checkpoint none/file", "cannot write the checkpoint none/file");
    refused("--checkpoint file", "--checkpoint-every");
    refused("--resume none", "cannot read the checkpoint none");
    refused("--resume none --timeline stn.pftrace", "--timeline");
    refused("--checkpoint-every 1h --record-trace traces", "--record-trace");
}
