//! The verbs `chorus reproduce`, `chorus compare` and `chorus export`.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

use crate::chorus::{Directory, Ended, LEASES, chorus, command, experiment, exported};

#[test]
fn the_number_of_jobs_changes_no_metric() {
    let directory = Directory::new();
    let small = experiment(&directory, 2);
    let [one, two] = [1, 2].map(|jobs| {
        let out = directory.join(&format!("jobs-{jobs}"));
        chorus(&format!("reproduce {} --jobs {jobs} --out {}", small.display(), out.display())).expect_code(0);
        exported(&out)
    });
    assert!(one.len() > 100, "{} rows", one.len());
    assert_eq!(one, two);
}

#[test]
fn a_report_is_written_and_named() {
    let directory = Directory::new();
    let (small, out) = (experiment(&directory, 1), directory.join("out"));
    let ended = chorus(&format!("reproduce {} --out {}", small.display(), out.display())).expect_code(0);
    let report = out.join("small.html");
    assert!(ended.stdout.contains(&format!("report: {}", report.display())), "{}", ended.stdout);
    assert!(ended.stdout.contains("2 runs made, 0 there already"), "{}", ended.stdout);
    assert!(std::fs::read_to_string(&report).is_ok_and(|page| page.contains("A small experiment")));
    assert!(out.join("index.html").is_file());
}

#[test]
fn reproduce_json_says_what_ran_and_where_it_is() {
    let directory = Directory::new();
    let (small, out) = (experiment(&directory, 1), directory.join("out"));
    let reproduce = format!("reproduce {} --out {} --json", small.display(), out.display());
    let first = chorus(&reproduce).expect_code(0).json();
    assert_eq!((&first["ran"], &first["reused"]), (&2.into(), &0.into()));
    let second = chorus(&reproduce).expect_code(0).json();
    assert_eq!((&second["ran"], &second["reused"]), (&0.into(), &2.into()));
    assert_eq!(first["papers"][0]["figures"], second["papers"][0]["figures"]);
}

/// A sweep of leases with a marker, without their runs, like the shipped Figure 11.
const SWEEP: &str = r#"
name = "sweep"
title = "A sweep"
source = "none"
system = "tc"

[[matrix]]
name = "plain"
workloads = ["saxpy"]
protocols = ["no-l1", "tc-weak"]
baseline = "no-l1"

[[figure]]
id = "1"
title = "Leases"
axis = "speed-up over NO-L1"
swept = "length of a lease"
headline = true
matrices = ["plain", "leases"]
chart = "lines"
measure = "speed-up"
mean = "harmonic"
marker = { label = "average lease", protocol = "tc-weak", metric = "protocol.lease_cycles", per = "protocol.leases" }
series = [
  { label = "100", at = 100, protocol = "tc-weak-fixed", variant = "short" },
  { label = "6400", at = 6400, protocol = "tc-weak-fixed", variant = "long" },
]
"#;

#[test]
fn a_parameter_is_swept_and_marked() {
    let directory = Directory::new();
    let (sweep, out) = (directory.file("sweep.toml", &[SWEEP, LEASES].concat()), directory.join("out"));
    let json = chorus(&format!("reproduce {} --out {} --json", sweep.display(), out.display())).expect_code(0).json();
    assert_eq!(json["ran"], 4);
    let figure = &json["papers"][0]["figures"][0];
    assert!(figure["markers"]["at"][0].as_f64().is_some_and(|at| at > 0.0), "{figure}");
    assert!(figure["workloads"][0]["bars"].as_array().is_some_and(|bars| bars.len() == 2), "{figure}");
    let rows = exported(&out);
    let sets: BTreeSet<&str> =
        rows.iter().map(|row| row[7].as_str()).filter(|set| set.contains("lease.cycles")).collect();
    assert_eq!(sets, BTreeSet::from(["lease.cycles=100 timestamp.bits=32", "lease.cycles=6400 timestamp.bits=32"]));
    let text = chorus(&format!("reproduce {} --out {}", sweep.display(), out.display())).expect_code(0).stdout;
    assert!(text.contains("average lease"), "{text}");
}

#[test]
fn runs_export_as_csv_and_parquet() {
    let directory = Directory::new();
    let (small, out) = (experiment(&directory, 1), directory.join("out"));
    chorus(&format!("reproduce {} --out {}", small.display(), out.display())).expect_code(0);
    let starts_with = |name: &str, start: &[u8]| {
        let path = directory.join(name);
        chorus(&format!("export {} --output {}", out.display(), path.display())).expect_code(0);
        assert!(std::fs::read(&path).is_ok_and(|bytes| bytes.starts_with(start)), "{name}");
    };
    starts_with("runs.csv", b"system,protocol,workload,");
    starts_with("runs.parquet", b"PAR1");
}

/// Starts a matrix, sends SIGINT after its first finished run, and returns its output.
fn interrupted(arguments: &str) -> Ended {
    let mut command = command(arguments);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary starts");
    let mut stderr = BufReader::new(child.stderr.take().expect("stderr is a pipe"));
    let mut said = String::new();
    while !said.contains("[1/") {
        assert_ne!(stderr.read_line(&mut said).expect("stderr is text"), 0, "ended early: {said}");
    }
    let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(kill.is_ok_and(|status| status.success()), "the signal is sent");
    stderr.read_to_string(&mut said).expect("stderr is text");
    let output = child.wait_with_output().expect("the binary ends");
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    Ended { code: output.status.code(), stdout, stderr: said }
}

#[cfg(unix)]
#[test]
fn an_interrupted_matrix_keeps_what_is_finished_and_goes_on_from_there() {
    const SEEDS: u32 = 30;
    let directory = Directory::new();
    let (small, out) = (experiment(&directory, SEEDS), directory.join("out"));
    let reproduce = format!("reproduce {} --jobs 1 --out {}", small.display(), out.display());
    let ended = interrupted(&reproduce).expect_code(130);
    let stopped = ended.stderr.lines().find(|line| line.starts_with("stopped: ")).expect("it says what is kept");
    assert!(stopped.contains(&format!(" of {} runs are kept in ", 2 * SEEDS)), "{stopped}");
    assert!(ended.stderr.contains("hint: the same command goes on from there"), "{}", ended.stderr);
    let kept: u32 = stopped.split_whitespace().nth(1).and_then(|count| count.parse().ok()).expect("a count");
    assert!((1..2 * SEEDS).contains(&kept), "{stopped}");
    assert!(!out.join("small.html").exists(), "no page of half a matrix");

    let json = chorus(&format!("{reproduce} --json")).expect_code(0).json();
    let count = |key: &str| json[key].as_u64().expect("a count") as u32;
    // One more run may be kept between the count and the end of the process.
    assert!((kept..=kept + 1).contains(&count("reused")), "{kept} kept, {} reused", count("reused"));
    assert_eq!(count("ran") + count("reused"), 2 * SEEDS);
}

#[test]
fn protocols_are_compared_on_a_machine_and_the_page_is_named() {
    let directory = Directory::new();
    let out = directory.join("out");
    let compare = format!(
        "compare --systems tc,hmg --protocols no-l1,no-coh,gpu-vi,sw-flat --workloads saxpy,stn --out {}",
        out.display()
    );
    let json = chorus(&format!("{compare} --json")).expect_code(0).json();
    let [tc, hmg] = json["systems"].as_array().map(Vec::as_slice).unwrap_or_default() else { panic!("{json}") };
    assert_eq!((&tc["baseline"], &hmg["refused"][0]["name"]), (&"no-l1".into(), &"no-l1".into()));
    let statuses = |row: usize| -> Vec<&str> {
        let cells = tc["workloads"][row]["cells"].as_array();
        cells.into_iter().flatten().filter_map(|cell| cell["status"].as_str()).collect()
    };
    assert!(statuses(0).contains(&"refused") || statuses(1).contains(&"refused"), "{tc}");
    let again = chorus(&compare).expect_code(0).stdout;
    assert!(again.contains("0 runs made"), "{again}");
    assert!(again.contains(&format!("report: {}", out.join("comparison.html").display())), "{again}");
    let index = std::fs::read_to_string(out.join("index.html")).unwrap();
    assert!(index.contains("comparison.html"), "{index}");
}

#[test]
fn a_comparison_of_unknown_names_suggests_the_nearest() {
    chorus("compare --systems hgm").expect_code(2).expect_error(&["unknown system `hgm`", "did you mean `hmg`?"]);
    chorus("compare --protocols gpu-vii").expect_code(2).expect_error(&["unknown protocol", "`gpu-vi`"]);
    chorus("compare --workloads safpy").expect_code(2).expect_error(&["unknown workload", "`saxpy`"]);
    chorus("compare --baseline no-l2").expect_code(2).expect_error(&["unknown protocol", "`no-l1`"]);
}

#[test]
fn a_comparison_without_time_shows_what_there_is() {
    let directory = Directory::new();
    let compare = format!(
        "compare --systems tc --protocols no-l1 --workloads saxpy --minutes 0 --out {}",
        directory.join("out").display()
    );
    let ended = chorus(&compare).expect_code(0);
    assert!(ended.stderr.contains("1 runs are still open"), "{}", ended.stderr);
    assert!(directory.join("out/comparison.html").is_file());
}

/// Bind-mounts a directory read-only in a mount namespace of its own, and runs a command there.
const READ_ONLY: &str =
    "mount --bind \"$1\" \"$1\" && mount -o remount,ro,bind \"$1\" && cd \"$1\" && shift && exec \"$@\"";

#[test]
fn an_export_reads_a_disk_that_cannot_be_written() {
    let directory = Directory::new();
    let (small, out) = (experiment(&directory, 1), directory.join("o%ut"));
    chorus(&format!("reproduce {} --out {}", small.display(), out.display())).expect_code(0);
    let expected = chorus(&format!("export {}", out.display())).expect_code(0).stdout;
    let there = |program: &[&str]| {
        let mut command = Command::new("unshare");
        command.args(["--map-root-user", "--mount", "sh", "-ec", READ_ONLY, "sh"]).arg(&out).args(program);
        command.output().map(|output| (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned()))
    };
    // Where namespaces are not allowed, a disk cannot be made read-only.
    if !there(&["true"]).is_ok_and(|(code, _)| code == Some(0)) {
        println!("skipped: no mount namespaces here");
        return;
    }
    assert!(there(&["touch", "new"]).is_ok_and(|(code, _)| code == Some(1)), "the disk can be written");
    let exported = there(&[env!("CARGO_BIN_EXE_chorus"), "export", "."]).expect("the command runs");
    assert_eq!(exported, (Some(0), expected));
}
