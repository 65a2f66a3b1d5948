//! Runs are made once, kept at once, and survive what happens to the process.

use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use chorus_lab::matrix::{Lab, MatrixError, MatrixResult};
use chorus_lab::progress::{Lines, Progress, Silent};
use chorus_lab::run::{Outcome, RunError, RunErrorKind, RunResult, RunSpec, Runner};
use chorus_lab::store::Store;

use crate::fake::{Directory, build, registry, result, spec};

/// Eight runs that differ from each other.
fn specs() -> Vec<RunSpec> {
    let protocols = ["no-l1", "no-coh", "ideal-coh", "gpu-vi"];
    protocols.iter().flat_map(|protocol| ["stn", "dlb"].map(|workload| spec(protocol, workload))).collect()
}

fn run_with(store: &Store, runner: &Runner<'_>, cancel: &AtomicBool, jobs: usize) -> Result<MatrixResult, MatrixError> {
    let (build, progress) = (build(), Silent);
    Lab { registry: registry(), store, runner, build: &build, jobs, cancel, progress: &progress }.run_all(&specs())
}

fn run(store: &Store, runner: &Runner<'_>) -> MatrixResult {
    run_with(store, runner, &AtomicBool::new(false), 2).expect("the matrix runs")
}

fn good(spec: &RunSpec) -> Result<RunResult, RunError> {
    Ok(result(spec))
}

#[test]
fn a_second_matrix_repeats_nothing_and_has_the_same_records() {
    let directory = Directory::new();
    let store = Store::open(&directory.join("results.sqlite")).unwrap();
    let calls = AtomicUsize::new(0);
    let counted = |spec: &RunSpec| {
        calls.fetch_add(1, Ordering::Relaxed);
        good(spec)
    };
    let first = run(&store, &counted);
    assert_eq!((first.ran, first.reused, calls.load(Ordering::Relaxed)), (8, 0, 8));
    let second = run(&store, &counted);
    assert_eq!((second.ran, second.reused, calls.load(Ordering::Relaxed)), (0, 8, 8));
    assert_eq!(first.records, second.records);
}

#[test]
fn a_run_that_is_asked_for_twice_is_made_once() {
    let directory = Directory::new();
    let store = Store::open(&directory.join("results.sqlite")).unwrap();
    let calls = AtomicUsize::new(0);
    let counted = |spec: &RunSpec| {
        calls.fetch_add(1, Ordering::Relaxed);
        good(spec)
    };
    let (build, cancel) = (build(), AtomicBool::new(false));
    let lab = Lab {
        registry: registry(),
        store: &store,
        runner: &counted,
        build: &build,
        jobs: 2,
        cancel: &cancel,
        progress: &Silent,
    };
    let matrix = lab.run_all(&[spec("gpu-vi", "stn"), spec("no-l1", "stn"), spec("gpu-vi", "stn")]).unwrap();
    assert_eq!(calls.load(Ordering::Relaxed), 2);
    assert_eq!(matrix.records.len(), 2);
}

#[test]
fn records_come_in_the_order_asked_for_whatever_the_number_of_threads() {
    for jobs in [1, 3, 0] {
        let directory = Directory::new();
        let store = Store::open(&directory.join("results.sqlite")).unwrap();
        let matrix = run_with(&store, &good, &AtomicBool::new(false), jobs).unwrap();
        let order: Vec<RunSpec> = matrix.records.into_iter().map(|record| record.spec).collect();
        assert_eq!(order, specs());
    }
}

#[test]
fn a_run_that_fails_is_kept_with_its_message_and_stops_nothing() {
    let directory = Directory::new();
    let store = Store::open(&directory.join("results.sqlite")).unwrap();
    let calls = AtomicUsize::new(0);
    let runner = |spec: &RunSpec| {
        calls.fetch_add(1, Ordering::Relaxed);
        match spec.protocol.as_str() {
            "no-coh" => Err(RunError::new(RunErrorKind::Refused, "needs coherence")),
            _ => good(spec),
        }
    };
    let first = run(&store, &runner);
    let refused = first.records.iter().filter(|record| record.trouble() == Some("needs coherence")).count();
    assert_eq!((first.ran, refused), (8, 2));
    let second = run(&store, &runner);
    assert_eq!(calls.load(Ordering::Relaxed), 8, "a refusal is a result and not repeated");
    assert_eq!(first.records, second.records);
}

#[test]
fn a_runner_that_panics_or_miscounts_or_runs_something_else_fails_that_run_alone_and_is_tried_again() {
    let directory = Directory::new();
    let store = Store::open(&directory.join("results.sqlite")).unwrap();
    let runner = |spec: &RunSpec| match (spec.protocol.as_str(), spec.workload.as_str()) {
        ("gpu-vi", "stn") => panic!("slot 3 is taken"),
        ("ideal-coh", "dlb") => Ok(RunResult { config_hash: "0000".to_owned(), ..result(spec) }),
        ("gpu-vi", _) => {
            let mut unsound = result(spec);
            unsound.metrics.insert("l1.hit_rate".to_owned(), f64::NAN);
            Ok(unsound)
        }
        _ => good(spec),
    };
    let first = run(&store, &runner);
    let troubles: Vec<&str> = first.records.iter().filter_map(|record| record.trouble()).collect();
    assert_eq!(troubles.len(), 3, "{troubles:?}");
    for (trouble, expected) in
        troubles.iter().zip(["it ran configuration 0000, not", "slot 3 is taken", "l1.hit_rate is not"])
    {
        assert!(trouble.contains(expected), "{trouble}");
    }
    let second = run(&store, &good);
    assert_eq!((second.ran, second.reused), (3, 5));
    assert!(second.records.iter().all(|record| record.trouble().is_none()));
    assert_eq!(store.records().unwrap().len(), 8);
}

#[test]
fn cancelling_keeps_what_is_finished_and_the_rest_runs_later() {
    let directory = Directory::new();
    let store = Store::open(&directory.join("results.sqlite")).unwrap();
    let (cancel, calls) = (AtomicBool::new(false), AtomicUsize::new(0));
    let runner = |spec: &RunSpec| {
        if calls.fetch_add(1, Ordering::Relaxed) == 2 {
            cancel.store(true, Ordering::Relaxed);
            return Err(RunError::new(RunErrorKind::Stuck, "given up"));
        }
        good(spec)
    };
    let first = run_with(&store, &runner, &cancel, 1).unwrap();
    assert!(first.cancelled);
    assert_eq!((first.ran, first.records.len(), store.records().unwrap().len()), (2, 2, 2));
    let second = run(&store, &good);
    assert_eq!((second.ran, second.reused, second.cancelled), (6, 2, false));
    assert!(second.records.iter().all(|record| matches!(record.outcome, Outcome::Finished(_))));
}

#[test]
fn what_cannot_exist_is_refused_before_the_first_run() {
    let directory = Directory::new();
    let store = Store::open(&directory.join("results.sqlite")).unwrap();
    let calls = AtomicUsize::new(0);
    let counted = |spec: &RunSpec| {
        calls.fetch_add(1, Ordering::Relaxed);
        good(spec)
    };
    let (build, cancel) = (build(), AtomicBool::new(false));
    let lab = Lab {
        registry: registry(),
        store: &store,
        runner: &counted,
        build: &build,
        jobs: 1,
        cancel: &cancel,
        progress: &Silent,
    };
    for (protocol, set, expected) in [
        ("gpu-vi", "l1.wayz=4", "did you mean `l1.ways`"),
        ("tc-strong", "lease.cycles=many", "expected a whole number from 0 to 1000000"),
        ("gpu-vi", "lease.cycles=1", "`lease.cycles` is a parameter of tc-strong, tc-weak-fixed; gpu-vi has none"),
    ] {
        let impossible = RunSpec { set: vec![set.to_owned()], ..spec(protocol, "stn") };
        let message = lab.run_all(&[spec("no-l1", "stn"), impossible]).unwrap_err().to_string();
        assert!(message.contains(set) && message.contains(expected), "{message}");
    }
    assert_eq!(calls.load(Ordering::Relaxed), 0);
}

#[test]
fn lines_count_what_is_there_and_what_is_finished() {
    let directory = Directory::new();
    let log = directory.join("log");
    let progress = Lines::new(std::fs::File::create(&log).unwrap());
    progress.begin(3, 1);
    progress.finished(&result(&spec("gpu-vi", "stn")));
    progress.failed(&spec("no-coh", "stn"), &RunError::new(RunErrorKind::Refused, "needs coherence"));
    progress.end(true);
    assert_eq!(
        std::fs::read_to_string(&log).unwrap(),
        "1 of 3 runs are there already\n\
         [2/3] gpu-vi on stn (tc, quick, seed 1): pass, 4000 cycles, 0.2 s\n\
         [3/3] no-coh on stn (tc, quick, seed 1): refused: needs coherence\n\
         stopped early; finished runs are kept\n"
    );
}

/// The variable that tells the test below that it is the process to be killed.
const VICTIM: &str = "CHORUS_LAB_TEST_STORE";

/// Runs in a process of its own: three runs, then one that never ends.
#[test]
fn victim_of_the_kill_below() {
    let Some(path) = std::env::var_os(VICTIM) else { return };
    let store = Store::open(path.as_ref()).unwrap();
    let calls = AtomicUsize::new(0);
    let runner = |spec: &RunSpec| {
        if calls.fetch_add(1, Ordering::Relaxed) == 3 {
            std::thread::sleep(Duration::from_secs(60));
        }
        good(spec)
    };
    run_with(&store, &runner, &AtomicBool::new(false), 1).unwrap();
}

#[test]
fn a_killed_matrix_keeps_its_finished_runs_and_resumes() {
    let directory = Directory::new();
    let path = directory.join("results.sqlite");
    let mut victim = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "matrices::victim_of_the_kill_below"])
        .env(VICTIM, &path)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let start = Instant::now();
    let kept = || Store::open_existing(&path).and_then(|store| store.records()).map_or(0, |records| records.len());
    while kept() < 3 && start.elapsed() < Duration::from_secs(30) {
        std::thread::sleep(Duration::from_millis(20));
    }
    victim.kill().unwrap();
    victim.wait().unwrap();
    let store = Store::open(&path).unwrap();
    assert_eq!(store.records().unwrap().len(), 3);
    let resumed = run(&store, &good);
    assert_eq!((resumed.ran, resumed.reused), (5, 3));
}

#[test]
fn runs_with_different_parameters_are_different_runs() {
    let directory = Directory::new();
    let store = Store::open(&directory.join("results.sqlite")).unwrap();
    let (build, cancel) = (build(), AtomicBool::new(false));
    let lab = Lab {
        registry: registry(),
        store: &store,
        runner: &good,
        build: &build,
        jobs: 1,
        cancel: &cancel,
        progress: &Silent,
    };
    let leased =
        |set: &[&str]| RunSpec { set: set.iter().map(|&set| set.to_owned()).collect(), ..spec("tc-strong", "stn") };
    let specs = [leased(&[]), leased(&["lease.cycles=400"]), leased(&["lease.cycles=800"])];
    let first = lab.run_all(&specs).unwrap();
    assert_eq!((first.ran, first.reused), (3, 0));
    let hashes: Vec<&str> = first.records.iter().map(|record| record.config_hash.as_str()).collect();
    assert_ne!(hashes[0], hashes[1]);
    assert_eq!(hashes[0], hashes[2], "800 is the length that it has anyway");
    let second = lab.run_all(&specs).unwrap();
    assert_eq!((second.ran, second.reused), (0, 3));
    assert_eq!(first.records, second.records);
    let lease = |index: usize| second.records[index].result().unwrap().parameters["lease.cycles"];
    assert_eq!([lease(0), lease(1), lease(2)], [800, 400, 800]);
}
