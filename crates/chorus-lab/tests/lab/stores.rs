//! The results store: records that are kept, and files that are refused.

use std::collections::BTreeMap;
use std::path::Path;

use chorus_lab::reproduce::STORE_FILE;
use chorus_lab::run::{Build, RunError, RunErrorKind};
use chorus_lab::store::{FORMAT_VERSION, Merged, Store};
use rusqlite::Connection;

use crate::fake::{Directory, build, failed, record, spec, wrong};

fn refusal(path: &Path) -> String {
    Store::open(path).expect_err("the file must be refused").to_string()
}

#[test]
fn every_kind_of_record_comes_back_as_it_was_kept() {
    let directory = Directory::new();
    let records = [
        record(&spec("gpu-vi", "stn")),
        wrong(&spec("no-coh", "stn"), "word 7 is 1, expected 2"),
        failed(&spec("no-coh", "dlb"), RunError::new(RunErrorKind::Refused, "needs coherence")),
    ];
    let store = Store::open(&directory.join("results.sqlite")).unwrap();
    for record in &records {
        store.insert(record).unwrap();
    }
    drop(store);
    let store = Store::open_existing(&directory.join("results.sqlite")).unwrap();
    assert_eq!(store.records().unwrap(), records);
}

#[test]
fn a_float_comes_back_bit_for_bit() {
    let directory = Directory::new();
    let store = Store::open(&directory.join("results.sqlite")).unwrap();
    let mut kept = crate::fake::result(&spec("gpu-vi", "stn"));
    for (index, value) in [0.1 + 0.2, 1.0 / 3.0, 2.2250738585072014e-308, 9007199254740993.0].into_iter().enumerate() {
        kept.metrics.insert(format!("metric.{index}"), value);
    }
    let kept = chorus_lab::run::Record {
        outcome: chorus_lab::run::Outcome::Finished(Box::new(kept)),
        ..record(&spec("gpu-vi", "stn"))
    };
    store.insert(&kept).unwrap();
    assert_eq!(store.records().unwrap(), [kept]);
}

#[test]
fn a_run_of_another_build_is_not_found() {
    let directory = Directory::new();
    let store = Store::open(&directory.join("results.sqlite")).unwrap();
    let kept = record(&spec("gpu-vi", "stn"));
    store.insert(&kept).unwrap();
    let found = |build: &Build| store.find(&kept.spec, &kept.config_hash, build).unwrap();
    assert_eq!(found(&build()), Some(kept.clone()));
    assert_eq!(found(&Build { git_revision: "ffff".to_owned(), ..build() }), None);
    assert_eq!(found(&Build { chorus_version: "9.9.9".to_owned(), ..build() }), None);
    assert_eq!(store.find(&kept.spec, "0000000000000000", &build()).unwrap(), None);
}

#[test]
fn facts_are_found_by_the_build_that_counted_them_and_by_no_other() {
    let directory = Directory::new();
    let path = directory.join("results.sqlite");
    let facts = BTreeMap::from([("states.l1.gpu-vi".to_owned(), 5.0), ("share".to_owned(), 0.1 + 0.2)]);
    Store::open(&path).unwrap().keep_facts("protocol gpu-vi", &build(), &facts).unwrap();
    let store = Store::open(&path).unwrap();
    assert_eq!(store.facts("protocol gpu-vi", &build()).unwrap(), Some(facts));
    assert_eq!(store.facts("protocol mesi", &build()).unwrap(), None);
    let other = Build { git_revision: "ffff".to_owned(), ..build() };
    assert_eq!(store.facts("protocol gpu-vi", &other).unwrap(), None);
}

#[test]
fn a_store_of_another_format_is_refused_and_left_alone() {
    let directory = Directory::new();
    let path = directory.join("results.sqlite");
    Store::open(&path).unwrap().insert(&record(&spec("gpu-vi", "stn"))).unwrap();
    Connection::open(&path).unwrap().execute_batch("PRAGMA user_version = 99").unwrap();
    let message = refusal(&path);
    assert!(message.contains("format 99"), "{message}");
    assert!(message.contains(&format!("accepts format {FORMAT_VERSION}")), "{message}");
    assert!(message.contains("move that file away"), "{message}");
    let rows: i64 =
        Connection::open(&path).unwrap().query_row("SELECT count(*) FROM runs", [], |row| row.get(0)).unwrap();
    assert_eq!(rows, 1);
}

#[test]
fn a_database_of_something_else_is_refused() {
    let directory = Directory::new();
    let path = directory.join("results.sqlite");
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE songs (title TEXT)").unwrap();
    let message = refusal(&path);
    assert!(message.contains("is not a Chorus results store: it is an SQLite database of something else"), "{message}");
}

#[test]
fn a_file_that_is_no_database_is_refused_and_left_alone() {
    let directory = Directory::new();
    let path = directory.join("results.sqlite");
    let text = "once upon a time ".repeat(100);
    std::fs::write(&path, &text).unwrap();
    let message = refusal(&path);
    assert!(message.contains("is not a Chorus results store: it is not an SQLite database"), "{message}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
}

#[test]
fn a_directory_that_cannot_be_written_is_named() {
    let directory = Directory::new();
    std::fs::write(directory.join("file"), "").unwrap();
    let message = refusal(&directory.join("file/below/results.sqlite"));
    assert!(message.starts_with("cannot write results store"), "{message}");
    assert!(message.contains("file/below/results.sqlite: "), "{message}");
    assert!(message.contains("choose a directory that can be written"), "{message}");
}

#[test]
fn a_store_that_must_exist_and_does_not_is_named() {
    let directory = Directory::new();
    let path = directory.join("results.sqlite");
    let message = Store::open_existing(&path).expect_err("nothing is there").to_string();
    assert!(message.contains("results.sqlite is not a Chorus results store: no such file"), "{message}");
    assert!(!path.exists());
}

#[test]
fn a_writer_that_dies_within_a_transaction_loses_only_that_transaction() {
    let directory = Directory::new();
    let path = directory.join("results.sqlite");
    let store = Store::open(&path).unwrap();
    store.insert(&record(&spec("gpu-vi", "stn"))).unwrap();
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE; DELETE FROM runs;").unwrap();
    drop(other);
    store.insert(&record(&spec("no-l1", "stn"))).unwrap();
    assert_eq!(store.records().unwrap().len(), 2);
}

#[test]
fn a_new_store_may_be_opened_by_many_at_once() {
    for _ in 0..5 {
        let directory = Directory::new();
        let path = directory.join("results.sqlite");
        std::thread::scope(|scope| {
            for protocol in ["no-l1", "no-coh", "ideal-coh", "gpu-vi"] {
                let path = &path;
                scope.spawn(move || Store::open(path).unwrap().insert(&record(&spec(protocol, "stn"))).unwrap());
            }
        });
        assert_eq!(Store::open_existing(&path).unwrap().records().unwrap().len(), 4);
    }
}

#[test]
fn two_stores_on_one_file_see_each_other() {
    let directory = Directory::new();
    let path = directory.join("results.sqlite");
    let (one, two) = (Store::open(&path).unwrap(), Store::open(&path).unwrap());
    one.insert(&record(&spec("gpu-vi", "stn"))).unwrap();
    two.insert(&record(&spec("no-l1", "stn"))).unwrap();
    assert_eq!(one.records().unwrap(), two.records().unwrap());
    assert_eq!(one.records().unwrap().len(), 2);
}

#[test]
fn one_process_at_a_time_makes_runs_and_the_second_is_told_who_is_first() {
    let directory = Directory::new();
    let path = directory.join("results.sqlite");
    let (one, two) = (Store::open(&path).unwrap(), Store::open(&path).unwrap());
    let hold = one.hold().unwrap();
    let message = two.hold().unwrap_err().to_string();
    assert!(message.contains(&format!("(pid {} on ", std::process::id())), "{message}");
    assert!(message.contains("makes runs for results store") && message.contains("hint: wait until"), "{message}");
    two.insert(&record(&spec("gpu-vi", "stn"))).unwrap();
    drop(hold);
    two.hold().unwrap();
}

#[test]
fn a_shard_needs_no_memory_that_machines_share() {
    let directory = Directory::new();
    let path = directory.join("shard.sqlite");
    let shard = Store::create_shard(&path).unwrap();
    shard.insert(&record(&spec("gpu-vi", "stn"))).unwrap();
    // Reading it does not change that.
    assert_eq!(Store::open_existing(&path).unwrap().records().unwrap().len(), 1);
    for suffix in ["-wal", "-shm"] {
        assert!(!directory.join(&format!("shard.sqlite{suffix}")).exists(), "{suffix}");
    }
}

#[test]
fn a_record_that_is_there_already_is_not_taken_again() {
    let directory = Directory::new();
    let store = Store::open(&directory.join("results.sqlite")).unwrap();
    let defect = failed(&spec("gpu-vi", "stn"), RunError::new(RunErrorKind::Defect, "slot 3 is taken"));
    let stuck = failed(&spec("gpu-vi", "stn"), RunError::new(RunErrorKind::Stuck, "no progress"));
    let (good, bad) = (record(&spec("gpu-vi", "stn")), wrong(&spec("gpu-vi", "stn"), "word 7 is 1"));
    let fates = [&defect, &defect, &good, &good, &defect, &bad, &stuck]
        .map(|record| store.merge(std::slice::from_ref(record)).unwrap()[0].clone());
    use Merged::{Differs, New, There};
    assert_eq!(fates, [New, There, New, There, There, Differs, Differs]);
    assert_eq!(store.records().unwrap(), [good]);
}

#[test]
fn a_store_in_memory_keeps_runs_as_long_as_it_lives() {
    let (store, kept) = (Store::in_memory().unwrap(), record(&spec("gpu-vi", "stn")));
    store.insert(&kept).unwrap();
    assert_eq!(store.records().unwrap(), [kept]);
    assert_eq!(Store::in_memory().unwrap().records().unwrap(), []);
}

#[test]
fn results_are_opened_by_their_directory_or_their_file_and_nothing_is_made_where_there_are_none() {
    let directory = Directory::new();
    let message = Store::open_results(directory.path()).unwrap_err().to_string();
    assert!(message.contains("holds no results"), "{message}");
    assert!(!directory.join(STORE_FILE).exists());
    Store::open(&directory.join(STORE_FILE)).unwrap().insert(&record(&spec("gpu-vi", "stn"))).unwrap();
    for path in [directory.path().to_owned(), directory.join(STORE_FILE)] {
        assert_eq!(Store::open_results(&path).unwrap().records().unwrap().len(), 1);
    }
}
