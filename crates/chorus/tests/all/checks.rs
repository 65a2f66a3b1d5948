//! The verbs `chorus check`, `chorus litmus` and `chorus table`.

use crate::chorus::chorus;

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
    let json = chorus("litmus no-coh MP+fences --json").expect_code(0).json();
    let test = &json["tests"][0];
    assert_eq!(test["name"], "MP+fences");
    assert_eq!(test["telling_outcome_reached"], true, "stale copies survive fences without coherence");
    assert!(test["reached"].as_array().is_some_and(|outcomes| outcomes.len() == 4));
    assert_eq!(test["forbidden_reached"], serde_json::json!([]));
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
