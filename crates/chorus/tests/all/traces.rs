//! `chorus run --trace` and `--record-trace`: traces that are replayed and written.

use crate::chorus::{Directory, chorus};

const RUN: &str = "run --system tc --protocol gpu-vi";

/// Records saxpy in a directory. Returns the path of the trace.
fn recorded(directory: &Directory) -> String {
    let path = directory.join("trace").display().to_string();
    let ended = chorus(&format!("{RUN} --workload saxpy --set workload.elements=5000 --record-trace {path}"));
    let ended = ended.expect_code(0);
    assert!(ended.stdout.contains("result          pass"), "{}", ended.stdout);
    assert!(ended.stderr.contains("instructions of 1 kernels"), "{}", ended.stderr);
    path
}

#[test]
fn a_run_is_recorded_and_its_trace_is_replayed_unchecked() {
    let directory = Directory::new();
    let path = recorded(&directory);
    let ended = chorus(&format!("{RUN} --trace {path}")).expect_code(0);
    assert!(ended.stdout.contains("result          unchecked: a trace has no values"), "{}", ended.stdout);
    let json = |arguments: &str| chorus(&format!("run {arguments} --json")).expect_code(0).json();
    let traced = json(&format!("--system hmg --protocol hmg --trace {path}"));
    assert_eq!((traced["result"].as_str(), traced["trace"]["kernels"].as_u64()), (Some("unchecked"), Some(1)));
    assert_eq!(traced["trace"]["sha256"].as_str().map(str::len), Some(64));
    let saxpy = json("--system hmg --protocol hmg --workload saxpy --set workload.elements=5000");
    assert_eq!(traced["accesses"], saxpy["accesses"]);
    assert_ne!(traced["config_hash"], saxpy["config_hash"]);
}

#[test]
fn nothing_is_overwritten() {
    let directory = Directory::new();
    let path = recorded(&directory);
    let ended = chorus(&format!("{RUN} --workload saxpy --record-trace {path}")).expect_code(2);
    ended.expect_error(&["has files in it; accepted: a directory that is empty or does not exist"]);
}

#[test]
fn a_bad_trace_is_refused_with_its_line() {
    let directory = Directory::new();
    let run = |name: &str| {
        let list = directory.file("kernelslist.g", &format!("{name}\n"));
        chorus(&format!("{RUN} --trace {}", list.parent().unwrap().display())).expect_code(2)
    };
    run("kernel-1.traceg").expect_error(&["kernelslist.g:1: there is no file"]);
    run("kernel-1.tracez").expect_error(&["kernelslist.g:1: kernel-1.tracez: the compact format"]);
    directory.file("kernel-1.traceg", "-accelsim tracer version = 7\n");
    run("kernel-1.traceg").expect_error(&["kernel-1.traceg:1: `accelsim tracer version` is `7`; accepted: a version"]);
}

#[test]
fn a_trace_and_a_workload_exclude_each_other() {
    chorus(&format!("{RUN} --workload saxpy --trace x")).expect_code(2).expect_error(&["--trace <DIR>"]);
    chorus(RUN).expect_code(2).expect_error(&["--workload <WORKLOAD>"]);
    chorus(&format!("{RUN} --trace no-such-folder"))
        .expect_code(2)
        .expect_error(&["no-such-folder: there is no such file"]);
}
