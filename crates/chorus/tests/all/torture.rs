//! The verb `chorus torture`.

use crate::chorus::chorus;

#[test]
fn a_sound_protocol_passes_and_its_coverage_is_told() {
    let json = chorus("torture no-l1 --steps 200000 --json").expect_code(0).json();
    let report = &json["protocols"][0];
    assert_eq!((&json["passed"], &report["failure"]), (&true.into(), &serde_json::Value::Null));
    assert_eq!(report["verdict"], "pass");
    assert!(report["steps"].as_u64().is_some_and(|steps| steps >= 200_000));
    let (covered, reachable) = (report["coverage"]["covered"].as_u64(), report["coverage"]["reachable"].as_u64());
    assert!(covered.is_some_and(|covered| covered > 0) && covered <= reachable, "{covered:?} of {reachable:?}");
}

#[test]
fn a_few_steps_are_not_enough_for_a_pass() {
    // The whole table of the first is met in a few episodes, that of the second is not.
    for protocol in ["no-l1", "mesi"] {
        let ended = chorus(&format!("torture {protocol} --steps 1")).expect_code(1);
        assert!(ended.stdout.contains(&format!("{protocol}: not enough: ")), "{}", ended.stdout);
        assert!(ended.stdout.contains("a pass needs 90 % and"), "{}", ended.stdout);
    }
    let json = chorus("torture no-l1 --steps 1 --json").expect_code(1).json();
    let report = &json["protocols"][0];
    assert_eq!((&json["passed"], &report["passed"]), (&false.into(), &false.into()));
    assert_eq!((&report["verdict"], &report["failure"]), (&"not enough".into(), &serde_json::Value::Null));
}

#[test]
fn a_single_episode_claims_no_pass() {
    let json = chorus("torture no-l1 --episode 3 --json").expect_code(0).json();
    assert_eq!(json["protocols"][0]["verdict"], "no failure");
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
