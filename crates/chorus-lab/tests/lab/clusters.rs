//! Plans, tasks and shards: whatever is killed or done twice, every run is made, and the store gets it once.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use chorus_lab::cluster::{
    Cut, Fate, Plan, PlannedRun, Planning, Program, State, TaskRequest, TaskResult, attempts, collect, find_or_write,
    plans, run_task, status, unfinished, write,
};
use chorus_lab::progress::Silent;
use chorus_lab::run::{Build, Outcome, Record, RunError, RunErrorKind, RunResult, RunSpec, Runner};
use chorus_lab::store::Store;
use rusqlite::Connection;

use crate::fake::{Directory, build, record, registry, result, spec};

/// Eight runs that differ from each other.
fn specs() -> Vec<RunSpec> {
    let protocols = ["no-l1", "no-coh", "ideal-coh", "gpu-vi"];
    protocols.iter().flat_map(|protocol| ["stn", "dlb"].map(|workload| spec(protocol, workload))).collect()
}

/// A folder of results, and what is planned in it.
struct Results(Directory);

impl Results {
    fn new() -> Results {
        Results(Directory::new())
    }

    fn store(&self) -> Store {
        Store::open(&self.0.join("results.sqlite")).unwrap()
    }

    fn planned(&self, cut: Cut, under_way: &BTreeSet<PlannedRun>) -> Option<Plan> {
        self.make(cut, under_way, write)
    }

    /// A plan of all runs in three tasks.
    fn in_three(&self) -> Plan {
        self.make(Cut::Into(3), &BTreeSet::new(), find_or_write).unwrap()
    }

    fn make(
        &self,
        cut: Cut,
        under_way: &BTreeSet<PlannedRun>,
        make: fn(&Planning<'_>) -> Result<Option<Plan>, chorus_lab::cluster::ClusterError>,
    ) -> Option<Plan> {
        let (build, specs) = (build(), specs());
        let recorded = [record(&specs[0]), record(&specs[1])];
        let program = Program { path: self.0.join("program"), name: "chorus".to_owned() };
        fs::write(&program.path, "the code of a program").unwrap();
        let planning = Planning {
            registry: registry(),
            out: self.0.path(),
            build: &build,
            specs: &specs,
            recorded: &recorded,
            under_way,
            cut,
            program: &program,
        };
        make(&planning).unwrap()
    }
}

fn run_with(plan: &Plan, task: usize, runner: &Runner<'_>) -> Result<TaskResult, String> {
    let (build, cancel) = (build(), AtomicBool::new(false));
    let request = TaskRequest {
        registry: registry(),
        plan,
        task,
        jobs: 2,
        runner,
        build: &build,
        cancel: &cancel,
        progress: &Silent,
    };
    run_task(&request).map_err(|error| error.to_string())
}

fn good(spec: &RunSpec) -> Result<RunResult, RunError> {
    Ok(result(spec))
}

fn run(plan: &Plan, task: usize) -> TaskResult {
    run_with(plan, task, &good).unwrap()
}

fn states(results: &Results, plan: &Plan) -> Vec<State> {
    status(&results.store(), plan).unwrap().tasks.into_iter().map(|task| task.state).collect()
}

/// The records of a store, in an order that does not depend on who wrote them when.
fn sorted(store: &Store) -> Vec<Record> {
    let mut records = store.records().unwrap();
    records.sort_by(|a, b| a.spec.cmp(&b.spec));
    records
}

#[test]
fn shards_give_the_store_that_one_process_gives() {
    let (results, alone) = (Results::new(), Results::new());
    let plan = results.in_three();
    let ran: usize = [2, 3, 1].map(|task| run(&plan, task).ran).iter().sum();
    assert_eq!(ran, 8);
    let collected = collect(&results.store(), &[plan]).unwrap();
    assert_eq!((collected.shards, collected.new, collected.there, collected.missing), (3, 8, 0, 0));
    for spec in specs() {
        alone.store().insert(&record(&spec)).unwrap();
    }
    assert_eq!(sorted(&results.store()), sorted(&alone.store()));
}

#[test]
fn collecting_again_and_again_takes_every_run_once() {
    let results = Results::new();
    let plan = results.in_three();
    run(&plan, 1);
    let plans = [plan];
    let first = collect(&results.store(), &plans).unwrap();
    run(&plans[0], 2);
    let second = collect(&results.store(), &plans).unwrap();
    let third = collect(&results.store(), &plans).unwrap();
    assert_eq!((first.new + second.new, second.there), (results.store().records().unwrap().len(), first.new));
    assert_eq!((third.new, third.missing), (0, second.missing));
}

#[test]
fn many_may_collect_at_once() {
    let results = Results::new();
    let plans = [results.in_three()];
    for task in 1..=3 {
        run(&plans[0], task);
    }
    let new = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| new.fetch_add(collect(&results.store(), &plans).unwrap().new, Ordering::Relaxed));
        }
    });
    assert_eq!((new.into_inner(), results.store().records().unwrap().len()), (8, 8));
}

#[test]
fn a_task_that_is_done_twice_repeats_nothing_and_changes_nothing() {
    let results = Results::new();
    let plan = results.in_three();
    let first = run(&plan, 1);
    let second = run(&plan, 1);
    assert_eq!((first.attempt, second.attempt, second.ran, second.there), (1, 2, 0, first.ran));
    assert_eq!(states(&results, &plan), [State::Done, State::Queued, State::Queued]);
    // Whoever makes the runs: a task is done when the store has them.
    plan.tasks[1].runs.iter().for_each(|run| results.store().insert(&record(&run.spec)).unwrap());
    assert_eq!(states(&results, &plan), [State::Done, State::Done, State::Queued]);
}

#[test]
fn two_processes_may_work_on_one_task_at_the_same_time() {
    let results = Results::new();
    let plan = results.in_three();
    let slow = |spec: &RunSpec| {
        std::thread::sleep(Duration::from_millis(50));
        good(spec)
    };
    let ran: Vec<TaskResult> = std::thread::scope(|scope| {
        let threads = [0, 1, 2].map(|_| scope.spawn(|| run_with(&plan, 1, &slow).unwrap()));
        threads.map(|thread| thread.join().unwrap()).into()
    });
    let numbers: BTreeSet<u64> = ran.iter().map(|result| result.attempt).collect();
    assert_eq!(numbers, BTreeSet::from([1, 2, 3]));
    let collected = collect(&results.store(), std::slice::from_ref(&plan)).unwrap();
    assert_eq!((collected.new, collected.disagreements.len()), (plan.tasks[0].runs.len(), 0));
}

#[test]
fn whoever_comes_first_writes_the_plan_that_all_shards_use() {
    let results = Results::new();
    let folders: Vec<PathBuf> = std::thread::scope(|scope| {
        let threads = [0, 1, 2, 3].map(|_| scope.spawn(|| results.in_three().folder));
        threads.map(|thread| thread.join().unwrap()).into()
    });
    assert!(folders.iter().all(|folder| *folder == results.0.join("plans/1")), "{folders:?}");
    // What the store has by now does not change the plan of those who come later.
    results.store().insert(&record(&specs()[0])).unwrap();
    assert_eq!(results.in_three().tasks.iter().map(|task| task.runs.len()).sum::<usize>(), 8);
}

#[test]
fn a_plan_has_the_runs_that_are_missing_and_that_nobody_makes() {
    let results = Results::new();
    results.store().insert(&record(&specs()[0])).unwrap();
    let first = results.planned(Cut::Lasting(1e9), &BTreeSet::new()).unwrap();
    assert_eq!((first.tasks.len(), first.tasks[0].runs.len()), (1, 7));
    let under_way: BTreeSet<PlannedRun> =
        status(&results.store(), &first).unwrap().under_way(&first).cloned().collect();
    assert_eq!(under_way.len(), 7);
    assert!(results.planned(Cut::Lasting(1e9), &under_way).is_none(), "nothing is left");
    let some: BTreeSet<PlannedRun> = under_way.into_iter().take(3).collect();
    let second = results.planned(Cut::Lasting(0.3), &some).unwrap();
    assert_eq!(second.folder, results.0.join("plans/2"));
    assert_eq!(second.tasks.len(), 3, "runs of 0.2 s by what earlier ones took, in tasks of 0.3 s");
    let all = plans(results.0.path()).unwrap();
    assert_eq!(all, [first, second]);
    assert_eq!(plans(&all[1].folder).unwrap(), [all[1].clone()]);
    assert_eq!(unfinished(&results.store(), &all).unwrap().len(), 2);
}

#[test]
fn the_program_is_kept_beside_the_plans_under_its_hash() {
    let results = Results::new();
    let plan = results.in_three();
    let kept = plan.program();
    assert_eq!(kept, results.0.join("plans/chorus-faba7a28084087a0"));
    assert_eq!(fs::read_to_string(&kept).unwrap(), "the code of a program");
    let other = results.planned(Cut::Into(2), &BTreeSet::new()).unwrap();
    assert_eq!(other.program(), kept);
}

#[test]
fn different_results_of_one_run_name_both_shards_and_the_first_is_kept() {
    let results = Results::new();
    let plan = results.in_three();
    run(&plan, 1);
    let run = &plan.tasks[0].runs[0];
    // A second attempt whose machine computes something else.
    let other = RunResult { cycles: 1, ..result(&run.spec) };
    let other = Record { outcome: Outcome::Finished(Box::new(other)), ..record(&run.spec) };
    fs::write(plan.task_file("1-2.jsonl"), "").unwrap();
    Store::create_shard(&plan.task_file("1-2.sqlite")).unwrap().insert(&other).unwrap();
    for _ in 0..2 {
        let collected = collect(&results.store(), std::slice::from_ref(&plan)).unwrap();
        let [differs] = collected.disagreements.as_slice() else { panic!("{collected:?}") };
        assert_eq!((&differs.spec, collected.unreadable.len()), (&run.spec, 0));
        assert_eq!((&differs.first, &differs.second), (&plan.task_file("1-1.sqlite"), &plan.task_file("1-2.sqlite")));
        let kept = results.store().find(&run.spec, &run.config_hash, &build()).unwrap().unwrap();
        assert_eq!(kept, record(&run.spec));
    }
    // Against a store that had the run before, the store is the first.
    let fresh = Results::new();
    fresh.store().insert(&other).unwrap();
    let collected = collect(&fresh.store(), &[plan]).unwrap();
    assert_eq!(collected.disagreements[0].first, fresh.0.join("results.sqlite"));
    assert_eq!(collected.disagreements.len(), 1, "the second attempt agrees with the store");
}

#[test]
fn what_a_run_costs_may_differ() {
    let results = Results::new();
    let plan = results.in_three();
    run(&plan, 1);
    let run = &plan.tasks[0].runs[0];
    let slower = RunResult { wall_s: 9.0, user_s: 8.0, peak_rss_bytes: Some(7), ..result(&run.spec) };
    results.store().insert(&Record { outcome: Outcome::Finished(Box::new(slower)), ..record(&run.spec) }).unwrap();
    let collected = collect(&results.store(), &[plan]).unwrap();
    assert_eq!((collected.there, collected.disagreements.len()), (1, 0));
}

#[test]
fn a_shard_of_another_version_is_named_and_all_others_are_taken() {
    let results = Results::new();
    let plan = results.in_three();
    for task in 1..=3 {
        run(&plan, task);
    }
    let other = plan.task_file("2-1.sqlite");
    Connection::open(&other).unwrap().execute_batch("PRAGMA user_version = 99").unwrap();
    fs::write(plan.task_file("3-1.sqlite"), "once upon a time ".repeat(100)).unwrap();
    let collected = collect(&results.store(), std::slice::from_ref(&plan)).unwrap();
    assert_eq!((collected.shards, collected.new), (1, plan.tasks[0].runs.len()));
    let said: Vec<String> = collected.unreadable.iter().map(ToString::to_string).collect();
    assert!(said[0].contains("2-1.sqlite is a results store of format 99"), "{said:?}");
    assert!(said[1].contains("3-1.sqlite is not a Chorus results store"), "{said:?}");
    // The task is not done, and another attempt makes its runs again.
    assert_eq!(states(&results, &plan), [State::Done, State::Failed, State::Failed]);
    assert_eq!(run(&plan, 2).ran, plan.tasks[1].runs.len());
}

#[test]
fn a_plan_of_another_format_or_build_is_refused_with_advice() {
    let results = Results::new();
    let plan = results.in_three();
    let path = plan.folder.join("plan.json");
    let text = fs::read_to_string(&path).unwrap();
    let refusal = |text: String| {
        fs::write(&path, text).unwrap();
        Plan::read(&plan.folder).unwrap_err().to_string()
    };
    let message = refusal(text.replace("\"format\": 1", "\"format\": 7"));
    assert!(message.contains("is a plan of format 7; this version of Chorus accepts format 1"), "{message}");
    for broken in [text[..text.len() / 2].to_owned(), "{}".to_owned(), String::new(), "[1]".to_owned()] {
        let message = refusal(broken);
        assert!(message.contains("plan.json: this is no plan that Chorus wrote: "), "{message}");
    }
    let message = Plan::read(results.0.path()).unwrap_err().to_string();
    assert!(message.contains("holds no plan") && message.contains("--shard 1/4"), "{message}");
    let mut other = plan.clone();
    other.build = Build { git_revision: "ffff".to_owned(), ..build() };
    let message = run_with(&other, 1, &good).unwrap_err();
    assert!(message.contains("is for revision ffff, and this Chorus is revision 0123abcd"), "{message}");
    assert!(message.contains(&plan.program().display().to_string()), "{message}");
}

#[test]
fn a_number_that_is_no_task_is_refused() {
    let plan = Results::new().in_three();
    for (task, of) in [(0, 3), (4, 3), (1, 4)] {
        let message = plan.task(task, of).unwrap_err().to_string();
        assert!(message.contains(&format!("has 3 tasks; `{task}/{of}` is none of them")), "{message}");
    }
}

#[test]
fn a_run_without_a_result_is_made_and_a_defect_is_not() {
    let results = Results::new();
    let plan = results.in_three();
    let refused = |_: &RunSpec| Err(RunError::new(RunErrorKind::Refused, "needs coherence"));
    let made = run_with(&plan, 1, &refused).unwrap();
    assert_eq!((made.troubled.len(), made.unsettled()), (plan.tasks[0].runs.len(), None));
    let defect = |_: &RunSpec| Err(RunError::new(RunErrorKind::Defect, "slot 3 is taken"));
    assert!(run_with(&plan, 2, &defect).unwrap().unsettled().is_some());
    let seen = status(&results.store(), &plan).unwrap();
    assert_eq!(states(&results, &plan), [State::Done, State::Failed, State::Queued]);
    let reason = seen.tasks[1].reason.as_deref().unwrap();
    assert!(reason.contains("slot 3 is taken"), "{reason}");
    // A result replaces a defect in the store, and a defect no result.
    collect(&results.store(), std::slice::from_ref(&plan)).unwrap();
    run(&plan, 2);
    collect(&results.store(), std::slice::from_ref(&plan)).unwrap();
    let run = &plan.tasks[1].runs[0];
    let kept = results.store().find(&run.spec, &run.config_hash, &build()).unwrap();
    assert_eq!(kept, Some(record(&run.spec)));
}

/// The variable that tells the test below that it is the process to be killed.
const VICTIM: &str = "CHORUS_LAB_TEST_PLAN";

/// Runs in a process of its own: one run of the task, then one that never ends.
#[test]
fn victim_of_the_kill_below() {
    let Some(folder) = std::env::var_os(VICTIM) else { return };
    let plan = Plan::read(folder.as_ref()).unwrap();
    let calls = AtomicUsize::new(0);
    let runner = |spec: &RunSpec| {
        if calls.fetch_add(1, Ordering::Relaxed) > 0 {
            std::thread::sleep(Duration::from_secs(60));
        }
        good(spec)
    };
    run_with(&plan, 1, &runner).unwrap();
}

#[test]
fn a_killed_task_is_seen_and_goes_on_where_it_was() {
    let results = Results::new();
    let plan = results.in_three();
    let mut victim = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "clusters::victim_of_the_kill_below"])
        .env(VICTIM, &plan.folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let first = || status(&results.store(), &plan).unwrap().tasks.remove(0);
    let start = Instant::now();
    while first().made < 1 && start.elapsed() < Duration::from_secs(30) {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!((first().state, first().made, first().attempts), (State::Running, 1, 1));
    // What is finished can be collected while the task goes on.
    assert_eq!(collect(&results.store(), std::slice::from_ref(&plan)).unwrap().new, 1);
    victim.kill().unwrap();
    victim.wait().unwrap();
    let killed = first();
    assert_eq!(killed.state, State::Failed);
    let reason = killed.reason.unwrap();
    assert!(reason.contains("ended without a word, at ") && reason.contains("killed"), "{reason}");
    let [attempt] = attempts(&plan, 1).unwrap().try_into().unwrap();
    assert!(matches!(&attempt.fate, Fate::Silent(runs) if !runs.is_empty()), "{attempt:?}");
    assert_eq!(attempt.process.map(|process| process.pid), Some(victim.id()));

    let again = run(&plan, 1);
    assert_eq!((again.attempt, again.there, again.ran + again.there), (2, 1, plan.tasks[0].runs.len()));
    assert_eq!(first().state, State::Done);
    let collected = collect(&results.store(), &[plan]).unwrap();
    assert_eq!((collected.new, collected.there, collected.disagreements.len()), (again.ran, 1, 0));
}

#[test]
fn a_task_that_could_not_write_says_so_in_its_status() {
    let results = Results::new();
    let plan = results.in_three();
    // The shard of the first attempt cannot be made, since its name is taken by a folder.
    fs::create_dir(plan.task_file("1-1.sqlite")).unwrap();
    run_with(&plan, 1, &good).unwrap_err();
    let seen = status(&results.store(), &plan).unwrap().tasks.remove(0);
    assert_eq!(seen.state, State::Failed);
    let reason = seen.reason.unwrap();
    assert!(reason.contains("1-1.sqlite"), "{reason}");
}
