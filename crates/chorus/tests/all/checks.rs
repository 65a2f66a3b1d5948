//! The verbs `chorus check`, `chorus litmus` and `chorus table`.

use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

use crate::chorus::{Directory, chorus, command};

#[test]
fn a_sound_protocol_passes_the_smallest_configurations() {
    let json = chorus("check gpu-vi --smoke --json").expect_code(0).json();
    assert_eq!(json["passed"], true);
    let configurations = json["configurations"].as_array().expect("a list");
    assert!(!configurations.is_empty());
    for configuration in configurations {
        assert_eq!(configuration["verdict"], "pass");
        for key in ["states", "transitions", "depth"] {
            assert!(configuration[key].as_u64().is_some_and(|value| value > 0), "{key} of {configuration}");
        }
        assert!(configuration["seconds"].is_number());
    }
}

#[test]
fn the_table_of_a_command_processor_is_checked_with_its_l2s() {
    let json = chorus("check cpelide --config table-smoke --json").expect_code(0).json();
    let table = &json["tables"][0];
    assert_eq!((&json["passed"], &table["verdict"]), (&true.into(), &"pass".into()));
    let [asked, needed] = ["operations", "operations_needed"].map(|key| table[key].as_u64().expect("a count"));
    assert!(table["histories"].as_u64().is_some_and(|count| count > 100) && asked == needed && needed > 0, "{table}");
    assert_eq!(table["operations_beyond"], serde_json::json!({}));
    let ended = chorus("check cpelide --config table-smoke").expect_code(0);
    assert!(ended.stdout.contains("1 of 1 tables pass") && ended.stdout.lines().all(|line| line.chars().count() <= 80));
}

#[test]
fn a_search_beyond_memory_keeps_records_and_counts_the_same() {
    let directory = Directory::new();
    let records = directory.join("records");
    let search = format!("check gpu-vi --config smoke --memory 64 --json --overnight={}", records.display());
    let in_memory = &chorus("check gpu-vi --config smoke --json").expect_code(0).json()["configurations"][0];
    for _ in 0..2 {
        let json = chorus(&search).expect_code(0).json();
        let found = &json["configurations"][0];
        assert!(found["omission_probability"].as_f64().is_some_and(|probability| probability < 1e-6), "{found}");
        for key in ["states", "transitions", "depth", "executions", "verdict"] {
            assert_eq!(found[key], in_memory[key], "{key}");
        }
    }
    assert!(records.join("record").exists());
    let another = search.replace("gpu-vi", "tc-strong");
    chorus(&another).expect_error(&["belongs to another search", "hint: give another directory"]);
    chorus("check gpu-vi --overnight").expect_error(&["--overnight searches one configuration", "--machine"]);
}

#[test]
fn a_seeded_fault_is_drawn_and_fails() {
    let ended = chorus("check gpu-vi --smoke --fault lost-invalidation").expect_code(1);
    for part in ["violated", "L1.0", "Memory", "inclusion broken"] {
        assert!(ended.stdout.contains(part), "no `{part}` in {}", ended.stdout);
    }
    let json = chorus("check gpu-vi --smoke --fault lost-invalidation --json").expect_code(1).json();
    assert_eq!(json["passed"], false);
    assert!(json["configurations"][0]["chart"].as_str().is_some_and(|chart| chart.contains("GETX")));
}

#[test]
fn a_fault_that_small_configurations_miss_is_caught_by_single_programs() {
    let ended = chorus("check no-l1 --fault empty-fence").expect_code(1);
    assert!(ended.stdout.contains("empty-fence") && ended.stdout.contains("caught by program"), "{}", ended.stdout);
}

#[test]
fn litmus_tests_are_chosen_in_any_case_and_shown_with_every_outcome() {
    let ended = chorus("litmus gpu-vi mp MP+FENCES").expect_code(0);
    for part in ["allowed, reached", "must be seen", "2 of 2 tests pass"] {
        assert!(ended.stdout.contains(part), "no `{part}` in {}", ended.stdout);
    }
}

#[test]
fn litmus_json_has_the_outcomes_reached_and_allowed() {
    let lines = chorus("litmus no-coh MP+fences --json").expect_code(0).json_lines();
    let [test, summary] = lines.as_slice() else { panic!("{lines:?}") };
    assert_eq!((&test["kind"], &test["name"]), (&"test".into(), &"MP+fences".into()));
    assert_eq!((&summary["kind"], &summary["passed"], &summary["tests"]), (&"summary".into(), &true.into(), &1.into()));
    assert_eq!(test["telling_outcome_reached"], true, "stale copies survive fences without coherence");
    assert!(test["reached"].as_array().is_some_and(|outcomes| outcomes.len() == 4));
    assert_eq!(test["forbidden_reached"], serde_json::json!([]));
}

#[test]
fn what_a_protocol_cannot_show_is_told_with_its_reason_and_is_no_failure() {
    let ended = chorus("litmus hmg WRC MP").expect_code(0);
    for part in ["not shown: WRC: strong accesses meet at the home of their line", "1 of 2 tests pass, 1 not shown"] {
        assert!(ended.stdout.contains(part), "no `{part}` in {}", ended.stdout);
    }
    let lines = chorus("litmus hmg WRC --json").expect_code(0).json_lines();
    assert_eq!((&lines[0]["verdict"], &lines[0]["vacuous"]), (&"not shown".into(), &false.into()));
    assert!(lines[0]["not_shown"].as_str().is_some_and(|reason| reason.contains("home")), "{}", lines[0]);
    assert_eq!((&lines[1]["passing"], &lines[1]["not_shown"]), (&0.into(), &1.into()));
}

/// The first record is there while the second test, which takes much longer, still runs. After that nobody reads.
#[test]
fn a_litmus_test_is_told_as_soon_as_it_is_known_and_the_run_ends_with_its_reader() {
    let mut command = command("litmus gpu-vi CoRR MP --json --no-progress");
    command.args(["IRIW+ra"; 50]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary starts");
    let mut lines = BufReader::new(child.stdout.take().expect("stdout is a pipe")).lines();
    let first = lines.next().expect("a line").expect("text");
    assert_eq!(serde_json::from_str::<serde_json::Value>(&first).expect("JSON")["name"], "CoRR");
    assert!(child.try_wait().expect("the child can be asked").is_none(), "the run has ended already");
    drop(lines);
    let mut stderr = String::new();
    child.stderr.take().expect("stderr is a pipe").read_to_string(&mut stderr).expect("stderr is text");
    assert_eq!((child.wait().expect("the binary ends").code(), stderr.as_str()), (Some(1), ""));
}

#[test]
fn a_litmus_test_finds_a_seeded_fault() {
    let ended = chorus("litmus gpu-vi MP+fences --fault lost-invalidation").expect_code(1);
    assert!(ended.stdout.contains("violated"), "{}", ended.stdout);
}

#[test]
fn a_table_is_written_in_three_formats() {
    for (format, part) in [("text", "-----"), ("markdown", "|---|"), ("html", "<table>")] {
        let ended = chorus(&format!("table no-l1 --format {format}")).expect_code(0);
        assert!(ended.stdout.contains(part), "no `{part}` in {}", ended.stdout);
    }
}
