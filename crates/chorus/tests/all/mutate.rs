//! The verb `chorus mutate`, and single mutants in other verbs.

use crate::chorus::chorus;

#[test]
fn a_stall_is_found_and_the_score_is_told() {
    let json = chorus("mutate no-l1 --operator stall --mutants 2 --no-litmus --json").expect_code(0).json();
    assert_eq!((&json["protocol"], &json["left_out"]), (&"no-l1".into(), &0.into()));
    assert!(json["tried"].as_u64().is_some_and(|tried| (1..=2).contains(&tried)), "{json}");
    assert!(json["found"].as_u64().is_some_and(|found| found >= 1), "{json}");
    let first = &json["mutants"][0];
    assert_eq!(first["operator"], "stall");
    assert!(first["id"].as_str().is_some_and(|id| id.ends_with(":stall")), "{first}");
}

#[test]
fn a_single_mutant_is_checked_tortured_and_replayed() {
    let listed = chorus("mutate no-l1 --operator never-complete --list").expect_code(0).stdout;
    let id = listed.lines().find(|line| line.ends_with("never-complete")).expect("there is one");
    let ended = chorus(&format!("check no-l1 --smoke --mutant {id}")).expect_code(1);
    assert!(ended.stdout.contains(&format!("--mutant '{id}'")), "{}", ended.stdout);
    chorus(&format!("torture no-l1 --steps 10000 --mutant {id}")).expect_code(1);
}

#[test]
fn what_cannot_be_is_refused() {
    chorus("mutate gpu-v").expect_code(2).expect_error(&["unknown protocol `gpu-v`"]);
    chorus("mutate no-l1 --operator dorp").expect_code(2).expect_error(&["unknown operator", "did you mean `drop`?"]);
    chorus("mutate no-l1 --cell A,B").expect_code(2).expect_error(&["unknown cell"]);
    chorus("check no-l1 --mutant x").expect_code(2).expect_error(&["unknown mutant `x`", "chorus mutate no-l1 --list"]);
}
