//! The options `--replay`, `--svg` and `--networks`.

use crate::chorus::{Directory, chorus};

const EARLY_ACK: &str = "gpu-vi+early-ack/smoke:w:i0.2,d0";

#[test]
fn a_violation_prints_the_string_that_replays_it() {
    let ended = chorus("check gpu-vi --smoke --fault early-ack").expect_code(1);
    assert!(ended.stdout.contains(&format!("replay: chorus check gpu-vi --replay '{EARLY_ACK}'")), "{}", ended.stdout);
    let chart = ended.stdout.split("\n\n").find(|part| part.contains("violated: ")).expect("a chart");
    let (chart, _) = chart.split_once("replay: ").expect("a chart before the replay");
    let again = chorus(&format!("check gpu-vi --replay {EARLY_ACK}")).expect_code(1);
    assert_eq!(again.stdout, chart);
}

#[test]
fn a_litmus_test_prints_the_string_that_replays_it() {
    let lines = chorus("litmus gpu-vi MP+fences --fault lost-invalidation --json").expect_code(1).json_lines();
    let replay = lines[0]["replay"].as_str().expect("a replay").to_owned();
    let again = chorus(&format!("litmus gpu-vi --json --replay {replay}")).expect_code(1).json();
    assert_eq!(again["chart"], lines[0]["chart"]);
}

#[test]
fn a_replay_that_violates_nothing_is_good() {
    let ended = chorus("check gpu-vi --replay gpu-vi/smoke:w:i0.2,d0").expect_code(0);
    assert!(ended.stdout.contains("nothing is violated after 2 moves"), "{}", ended.stdout);
}

#[test]
fn bad_replays_are_refused() {
    for (replay, part) in [
        ("nonsense", "expected PROTOCOL[+FAULT]/TEST[@NETWORKS]:START:MOVES"),
        ("mesi/smoke:w:", "the replay is of protocol `mesi`, not of `gpu-vi`"),
        ("gpu-vi/smok:w:", "smoke"),
        ("gpu-vi+early-ak/smoke:w:", "early-ack"),
        ("gpu-vi/smoke:w:d7", "move 1 of the replay, `d7`, is not possible there: possible are i0.0"),
        ("gpu-vi/smoke@0.1x1:w:", "the replay has 2 networks; gpu-vi has 4"),
    ] {
        let ended = chorus(&format!("check gpu-vi --replay {replay}")).expect_code(2);
        assert!(ended.stderr.contains(part), "no `{part}` in {}", ended.stderr);
    }
}

#[test]
fn the_first_violation_is_drawn() {
    let directory = Directory::new();
    let path = directory.join("violation.svg");
    chorus(&format!("check gpu-vi --smoke --fault early-ack --svg {}", path.display())).expect_code(1);
    let drawn = std::fs::read_to_string(&path).expect("the drawing was written");
    assert!(drawn.starts_with("<svg") && drawn.contains("inclusion broken"), "{drawn}");
    let replayed = directory.join("replayed.svg");
    chorus(&format!("check gpu-vi --replay {EARLY_ACK} --svg {}", replayed.display())).expect_code(1);
    assert_eq!(std::fs::read_to_string(&replayed).ok(), Some(drawn));
}

#[test]
fn a_drawing_that_cannot_be_written_is_an_error() {
    let directory = Directory::new();
    let path = directory.join("nowhere/violation.svg");
    let ended = chorus(&format!("check gpu-vi --replay {EARLY_ACK} --svg {}", path.display())).expect_code(2);
    ended.expect_error(&["cannot write", "nowhere/violation.svg"]);
}

#[test]
fn the_smallest_number_of_networks_is_found_with_the_deadlock_of_one_fewer() {
    let ended = chorus("check gpu-vi --networks").expect_code(0);
    for part in
        ["network 3: INV_ACK RCL_ACK", "needs 4 to be free of deadlock", "a deadlock with 3 networks", "replay: "]
    {
        assert!(ended.stdout.contains(part), "no `{part}` in {}", ended.stdout);
    }
    let json = chorus("check gpu-vi --networks --json").expect_code(0).json();
    assert_eq!((&json["declared"], &json["smallest"]), (&4.into(), &4.into()));
    assert_eq!(json["declared_is_free"], true);
    let stuck = json["attempts"].as_array().and_then(|attempts| attempts.iter().find(|one| one["count"] == 3));
    let replay = stuck.and_then(|attempt| attempt["replay"].as_str()).expect("a replay of three networks");
    let ended = chorus(&format!("check gpu-vi --replay {replay}")).expect_code(1);
    assert!(ended.stdout.contains("deadlock"), "{}", ended.stdout);
}

#[test]
fn a_search_for_networks_respects_its_bounds() {
    let ended = chorus("check no-l1 --networks --states 10").expect_code(1);
    for part in ["bounded", "which are not shown to be free of deadlock", "since the bound of 10 states was met"] {
        assert!(ended.stdout.contains(part), "no `{part}` in {}", ended.stdout);
    }
    let ended = chorus("check no-l1 --networks --memory 0").expect_code(1);
    assert!(ended.stdout.contains("the bound of 0 MiB of memory was met"), "{}", ended.stdout);
}
