//! The verb `chorus torture`.

use crate::chorus::chorus;

#[test]
fn a_sound_protocol_passes_and_its_coverage_is_told() {
    let json = chorus("torture no-l1 --steps 50000 --json").expect_code(0).json();
    let report = &json["protocols"][0];
    assert_eq!((&json["passed"], &report["failure"]), (&true.into(), &serde_json::Value::Null));
    assert!(report["steps"].as_u64().is_some_and(|steps| steps >= 50_000));
    let (covered, reachable) = (report["coverage"]["covered"].as_u64(), report["coverage"]["reachable"].as_u64());
    assert!(covered.is_some_and(|covered| covered > 0) && covered <= reachable, "{covered:?} of {reachable:?}");
}

#[test]
fn a_seeded_fault_is_found_shrunk_and_repeated() {
    let ended = chorus("torture gpu-vi --fault lost-invalidation").expect_code(1);
    for part in ["fail", "repeat with: chorus torture gpu-vi --fault lost-invalidation --seed 1 --episode", "shrunk to"]
    {
        assert!(ended.stdout.contains(part), "no `{part}` in {}", ended.stdout);
    }
    let command = ended.stdout.lines().find_map(|line| line.strip_prefix("repeat with: chorus ")).expect("a command");
    let first = ended.stdout.split("repeat with").nth(1).expect("a program");
    let again = chorus(command).expect_code(1);
    assert!(again.stdout.contains(first), "{command} gave {}", again.stdout);
}

#[test]
fn what_cannot_be_is_refused() {
    chorus("torture gpu-v").expect_code(2).expect_error(&["unknown protocol `gpu-v`", "did you mean `gpu-vi`?"]);
    chorus("torture gpu-vi --fault lost-ak").expect_code(2).expect_error(&["unknown fault of gpu-vi"]);
    chorus("torture gpu-vi --steps 0").expect_code(2).expect_error(&["--steps"]);
    chorus("torture gpu-vi --seed soon").expect_code(2).expect_error(&["--seed"]);
    chorus("torture").expect_code(2).expect_error(&["<PROTOCOL>"]);
    chorus("torture gpu-vi --all").expect_code(2).expect_error(&["--all"]);
}
